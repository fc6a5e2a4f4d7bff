//! From a path as printed to a path in the repository.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::base::tree::FileTree;

/// Parts of a path that mean third-party code: dependencies, standard libraries, interpreters.
const FOREIGN_PARTS: &[&str] = &[
    "node_modules",
    "bower_components",
    "site-packages",
    "dist-packages",
    ".venv",
    "venv",
    ".pyenv",
    ".rbenv",
    ".nvm",
    ".cargo",
    ".rustup",
    ".gem",
    ".npm",
    ".cache",
    ".m2",
    ".gradle",
    ".tox",
    ".nox",
    ".pnpm",
    ".yarn",
    "rustlib",
    "vendor_ruby",
    "site_ruby",
    "gems",
    "__pycache__",
    ".eggs",
];

/// … and beginnings of one.
const FOREIGN_STARTS: &[&str] = &[
    "/usr/",
    "/lib/",
    "/lib64/",
    "/bin/",
    "/sbin/",
    "/opt/hostedtoolcache/",
    "/rustc/",
    "/proc/",
    "/dev/",
    "/sys/",
    "/nix/store/",
    "/etc/",
    "node:",
    "internal/modules/",
    "internal/process/",
    "internal/main/",
    "internal/timers",
    "internal/deps/",
    "<",
    "java.base/",
    "jdk.",
    "java/lang/",
    "java/util/",
    "java/io/",
    "java/net/",
    "jdk/internal/",
    "sun/reflect/",
    "webpack:",
    "data:",
    "../sysdeps/",
    "../csu/",
    "/snap/",
    "/Library/",
    "/System/",
    "native:",
    "bun:",
    "deno:",
    "ext:",
    "evalmachine",
    "org/junit/",
    "junit/framework/",
    "org/apache/maven/",
    "org/gradle/",
    "kotlin/coroutines/",
    "kotlin/test/",
    "scala/collection/",
    "scala/runtime/",
    "clojure/core",
    "clojure/lang/",
];

/// … and ends of one: files of test runners, which are below every failing test.
const RUNNERS: &[&str] =
    &["testing/testing.go", "_testmain.go", "eunit_proc.erl", "eunit_test.erl", "runtime/panic.go"];

/// Folders of generated files: a place in one is not where a person makes a change.
const GENERATED: &[&str] =
    &["target", "dist", "build", "out", "coverage", ".next", ".nuxt", "_build", "cmake-build-debug"];

/// Whether `path` is a dependency's, the standard library's or the interpreter's.
pub(super) fn is_foreign(path: &str) -> bool {
    let path = without_scheme(path);
    let first = path.as_bytes().first();
    if FOREIGN_STARTS.iter().any(|start| start.as_bytes().first() == first && path.starts_with(start)) {
        return true;
    }
    if RUNNERS.iter().any(|end| path.ends_with(end)) {
        return true;
    }
    path.contains("/libsanitizer/") || path.split(['/', '\\']).any(|part| FOREIGN_PARTS.contains(&part))
}

/// How sure one is that a text is a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathTrust {
    /// The tool's format says that it is a file: taken as printed when it isn't in the tree.
    Format,
    /// It looks like one: taken only if it exists (or nothing is known of the tree).
    Looks,
}

/// Resolves printed paths against the project.
pub(super) struct PathResolver<'a> {
    tree: &'a dyn FileTree,
    root: String,
    dir: &'a str,
    tails: RefCell<HashMap<String, Option<String>>>,
}

impl<'a> PathResolver<'a> {
    /// `root` is the absolute path of the project (`""` unknown), `dir` the working directory below it.
    pub(super) fn new(tree: &'a dyn FileTree, root: &'a str, dir: &'a str) -> Self {
        PathResolver { tree, root: tidy_path(root).trim_end_matches('/').to_owned(), dir, tails: RefCell::default() }
    }

    /// The path in the repository, or `None` for what is none of the project's files.
    ///
    /// `dirs` are folders that the path may be relative to, the likeliest first: absolute, relative to the working
    /// directory, or the name of a module of which a tail is a folder.
    pub(super) fn resolve_path(&self, printed: &str, dirs: &[&str], trust: PathTrust) -> Option<String> {
        // A label of a build's root (`//net/BUILD.gn`).
        let label = printed.strip_prefix("//").filter(|rest| self.tree.is_known() && self.tree.contains(rest));
        let path = tidy_path(label.unwrap_or(printed));
        if path.is_empty() || path.contains("://") || is_foreign(&path) || path.contains(['\n', '\0']) {
            return None;
        }
        if let Some(compiled) = ["o", "obj", "lo"].iter().find_map(|end| path.strip_suffix(end)?.strip_suffix('.')) {
            return self.resolve_object(compiled);
        }
        let found = if is_absolute(&path) { self.resolve_absolute(&path) } else { self.resolve_relative(&path, dirs) };
        let found = found.or_else(|| (trust == PathTrust::Format).then(|| self.behind_label(&path, dirs))?);
        match found {
            Some(found) => Some(found),
            None if !self.tree.is_known() || trust == PathTrust::Format => self.as_printed(&path),
            None => None,
        }
        .filter(|path| !path.is_empty() && (!is_generated(path) || self.tree.contains(path)))
    }

    /// The source of an object file of CMake's, below the folder of its target (`CMakeFiles/app.dir/src/a.c.o`). Of another one
    /// the name doesn't say it, and it is no file that a person changes.
    fn resolve_object(&self, path: &str) -> Option<String> {
        let (_, source) = path.split_once("CMakeFiles/")?.1.split_once(".dir/")?;
        self.resolve_relative(source, &[]).filter(|source| self.tree.contains(source))
    }

    /// Whether it is known which files the project has.
    pub(super) fn knows_files(&self) -> bool {
        self.tree.is_known()
    }

    /// Whether the printed path is known to be one of the project's files.
    pub(super) fn exists_as_printed(&self, printed: Option<&str>) -> bool {
        let exists = |printed: &str| self.resolve_path(printed, &[], PathTrust::Looks).is_some();
        self.knows_files() && printed.is_some_and(exists)
    }

    /// `file`, which `line` names, with the words before it where only with them it is one of the project's files: a name may
    /// have blanks in it.
    pub(super) fn widest_path<'l>(&self, line: &'l str, file: &'l str) -> &'l str {
        let Some(at) = line.find(file).filter(|_| self.knows_files() && !self.exists_as_printed(Some(file))) else {
            return file;
        };
        let starts = line[..at].char_indices().rev().filter(|(_, c)| *c == ' ').map(|(blank, _)| blank);
        // The first blank is the one before `file`; a word begins behind each further one, or with the line.
        let starts = starts.skip(1).map(|blank| blank + 1).chain([0]).take(NAME_WORDS_MAX);
        let mut wider = starts.map(|start| &line[start..at + file.len()]).map(|name| {
            let quoted = name.rfind(['"', '\'', '`', '(', '[']).filter(|quote| quote + 1 < name.len() - file.len());
            quoted.map_or(name, |quote| &name[quote + 1..])
        });
        wider.find(|name| self.exists_as_printed(Some(name))).unwrap_or(file)
    }

    /// The path by which people know the file: in the repository where it is one of its files, else as printed.
    pub(super) fn shown_path(&self, printed: &str, dirs: &[&str]) -> String {
        self.resolve_path(printed, dirs, PathTrust::Format).unwrap_or_else(|| {
            let path = tidy_path(printed);
            let absolute = dirs.iter().find(|dir| dir.starts_with('/') && path.starts_with("../"));
            let joined = absolute.and_then(|dir| Some(format!("/{}", join_path(dir.trim_start_matches('/'), &path)?)));
            // The root itself has no other name than the printed one.
            joined.or(Some(path).filter(|path| !path.is_empty())).unwrap_or_else(|| printed.trim().to_owned())
        })
    }

    /// The path of a file that is not in the tree, if it is one of a source: relative, in a folder, with an extension.
    pub(super) fn missing_path(&self, printed: &str) -> Option<String> {
        let path = tidy_path(printed);
        let name = path.rsplit('/').next()?;
        let plausible = path.contains('/') && !path.starts_with('/') && name.contains('.') && !is_foreign(&path);
        (plausible && !path.contains("://")).then(|| self.as_printed(&path))?.filter(|path| !is_generated(path))
    }

    /// The file behind what a runner put in front of a line: `[lint] src/a.c`, `17:4>src/a.c`, `11% src/a.c`.
    fn behind_label(&self, path: &str, dirs: &[&str]) -> Option<String> {
        let rest = path.get(path.rfind([' ', '>', ']'])? + 1..)?;
        rest.contains(['.', '/']).then(|| self.resolve_relative(rest, dirs))?
    }

    fn resolve_absolute(&self, path: &str) -> Option<String> {
        if let Some(inside) = self.below_root(path) {
            return Some(inside);
        }
        // Recorded elsewhere (a container, a CI runner): the longest tail that exists is the file.
        let mut rest = path;
        while let Some((_, tail)) = rest.split_once('/') {
            if self.tree.contains(tail) {
                return Some(tail.to_owned());
            }
            rest = tail;
        }
        self.resolve_tail(
            path.rsplitn(3, '/').take(2).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("/").as_str(),
        )
    }

    fn below_root(&self, path: &str) -> Option<String> {
        if self.root.is_empty() {
            return None;
        }
        path.strip_prefix(&self.root)?.strip_prefix('/').map(str::to_owned).filter(|path| self.tree.contains(path))
    }

    fn resolve_relative(&self, path: &str, dirs: &[&str]) -> Option<String> {
        for dir in dirs {
            if let Some(found) = self.below_dir(dir, path) {
                return Some(found);
            }
        }
        let candidates = [join_path(self.dir, path), join_path("", path)];
        candidates
            .into_iter()
            .flatten()
            .find(|candidate| self.tree.contains(candidate))
            .or_else(|| self.resolve_tail(path.trim_start_matches("../")))
            // Printed below the name of a module, a chart, or where a container has the project.
            .or_else(|| self.resolve_tail(path.split_once('/').filter(|(_, below)| below.contains('/'))?.1))
    }

    /// `path` below `dir`, where `dir` may be absolute or begin with parts that are no folders.
    fn below_dir(&self, dir: &str, path: &str) -> Option<String> {
        let dir = self.below_root(dir).unwrap_or_else(|| dir.to_owned());
        if let Some(found) =
            join_path(self.dir, &dir).and_then(|dir| join_path(&dir, path)).filter(|found| self.tree.contains(found))
        {
            return Some(found);
        }
        let mut rest = dir.as_str();
        loop {
            if let Some(found) = join_path(rest, path).filter(|found| self.tree.contains(found)) {
                return Some(found);
            }
            match rest.split_once('/') {
                Some((_, tail)) => rest = tail,
                None => return None,
            }
        }
    }

    fn resolve_tail(&self, tail: &str) -> Option<String> {
        if tail.is_empty() {
            return None;
        }
        self.tails.borrow_mut().entry(tail.to_owned()).or_insert_with(|| self.tree.find_tail(tail)).clone()
    }

    /// A file that is not there (deleted, misspelt, or nothing is known of the tree).
    fn as_printed(&self, path: &str) -> Option<String> {
        match is_absolute(path) {
            false => join_path(self.dir, path),
            true if self.root.is_empty() => Some(path.to_owned()).filter(|_| !self.tree.is_known()),
            true => path.strip_prefix(&self.root)?.strip_prefix('/').map(str::to_owned),
        }
    }
}

/// Words before the last one of a name with blanks in it.
const NAME_WORDS_MAX: usize = 4;

fn is_generated(path: &str) -> bool {
    path.split('/').next().is_some_and(|first| GENERATED.contains(&first))
}

/// Whether a tidy path begins with `/` or a drive.
fn is_absolute(path: &str) -> bool {
    let rest = path.strip_prefix(|first: char| first.is_ascii_alphabetic()).and_then(|rest| rest.strip_prefix(':'));
    rest.unwrap_or(path).starts_with('/')
}

/// Without quotes, `file://`, `./` and Windows separators.
fn tidy_path(printed: &str) -> String {
    let path = printed.trim().trim_matches(['"', '\'', '`']).trim();
    let path = without_scheme(path);
    let mut path = if path.contains('\\') && !path.contains('/') { path.replace('\\', "/") } else { path.to_owned() };
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.to_owned();
    }
    if path.contains("/../") { without_detours(&path) } else { path }
}

/// Without `file://` or `file:/`.
fn without_scheme(path: &str) -> &str {
    let bare = path.strip_prefix("file:").filter(|path| path.starts_with('/'));
    bare.map_or(path, |path| path.strip_prefix("//").unwrap_or(path))
}

/// Without folders that are left at once: `lib/a.pm` of `bin/../lib/a.pm`.
fn without_detours(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match parts.last() {
            Some(&before) if part == ".." && !before.is_empty() && before != ".." => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// `path` below `dir` with `.` and `..` resolved; `None` when it leaves the root.
fn join_path(dir: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in dir.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Files(&'static [&'static str]);

    impl FileTree for Files {
        fn contains(&self, path: &str) -> bool {
            self.0.contains(&path)
        }

        fn find_tail(&self, tail: &str) -> Option<String> {
            let mut fits = self.0.iter().filter(|path| crate::base::tree::ends_with_path(path, tail));
            fits.next().filter(|_| fits.next().is_none()).map(|path| (*path).to_owned())
        }
    }

    #[test]
    fn absolute_paths_of_other_machines_become_relative() {
        let tree = Files(&["src/a.ts", "pkg/calc/calc_test.go"]);
        let resolver = PathResolver::new(&tree, "/srv/here", "");
        assert_eq!(
            resolver.resolve_path("/home/dev/project/src/a.ts", &[], PathTrust::Looks).as_deref(),
            Some("src/a.ts")
        );
        assert_eq!(resolver.resolve_path("file:///app/src/a.ts", &[], PathTrust::Looks).as_deref(), Some("src/a.ts"));
        assert_eq!(
            resolver.resolve_path("CMakeFiles/app.dir/src/a.ts.o", &[], PathTrust::Format).as_deref(),
            Some("src/a.ts")
        );
        assert_eq!(resolver.resolve_path("build/src/a.o", &[], PathTrust::Format), None);
        assert_eq!(resolver.resolve_path("file:/app/src/a.ts", &[], PathTrust::Looks).as_deref(), Some("src/a.ts"));
        assert_eq!(resolver.resolve_path("/app/bin/../src/a.ts", &[], PathTrust::Format).as_deref(), Some("src/a.ts"));
        assert_eq!(resolver.resolve_path("/home/dev/node_modules/src/a.ts", &[], PathTrust::Format), None);
        assert_eq!(resolver.resolve_path("/elsewhere/x.ts", &[], PathTrust::Format), None);
        assert_eq!(resolver.resolve_path("/srv/here/gone.ts", &[], PathTrust::Format).as_deref(), Some("gone.ts"));
        let resolver = PathResolver::new(&tree, r"C:\srv\here", "");
        assert_eq!(resolver.resolve_path(r"C:\srv\here\gone.ts", &[], PathTrust::Format).as_deref(), Some("gone.ts"));
        assert_eq!(resolver.resolve_path(r"D:\other\src\a.ts", &[], PathTrust::Looks).as_deref(), Some("src/a.ts"));
        assert_eq!(resolver.resolve_path(r"D:\elsewhere\x.ts", &[], PathTrust::Format), None);
    }

    #[test]
    fn relative_paths_are_looked_up_where_the_tool_was() {
        let tree =
            Files(&["backend/tests/a.py", "tests/a.py", "pkg/m1/m_test.go", "pkg/m2/m_test.go", "lib/deep/only.c"]);
        let resolver = PathResolver::new(&tree, "", "backend");
        assert_eq!(resolver.resolve_path("tests/a.py", &[], PathTrust::Looks).as_deref(), Some("backend/tests/a.py"));
        assert_eq!(resolver.resolve_path("../tests/a.py", &[], PathTrust::Looks).as_deref(), Some("tests/a.py"));
        let module = ["example.com/shop/pkg/m2"];
        assert_eq!(resolver.resolve_path("m_test.go", &module, PathTrust::Looks).as_deref(), Some("pkg/m2/m_test.go"));
        assert_eq!(resolver.resolve_path("m_test.go", &[], PathTrust::Looks), None);
        assert_eq!(resolver.resolve_path("only.c", &[], PathTrust::Looks).as_deref(), Some("lib/deep/only.c"));
        assert_eq!(resolver.resolve_path("new.py", &[], PathTrust::Format).as_deref(), Some("backend/new.py"));
        assert_eq!(resolver.resolve_path("new.py", &[], PathTrust::Looks), None);
        assert_eq!(
            resolver.resolve_path("chart/lib/deep/only.c", &[], PathTrust::Looks).as_deref(),
            Some("lib/deep/only.c")
        );
        assert_eq!(resolver.resolve_path("chart/only.c", &[], PathTrust::Looks), None);
    }

    #[test]
    fn what_a_runner_puts_in_front_of_a_path_is_none_of_it() {
        let tree = Files(&["src/a.c", "a b/c.c"]);
        let resolver = PathResolver::new(&tree, "", "");
        for printed in ["11% src/a.c", "17:4>src/a.c", "[step 1] src/a.c", "src/a.c"] {
            assert_eq!(resolver.resolve_path(printed, &[], PathTrust::Format).as_deref(), Some("src/a.c"), "{printed}");
        }
        assert_eq!(resolver.resolve_path("a b/c.c", &[], PathTrust::Format).as_deref(), Some("a b/c.c"));
        assert_eq!(resolver.resolve_path("could not read src/a.c", &[], PathTrust::Looks), None);
    }

    #[test]
    fn without_a_tree_paths_are_taken_as_printed() {
        let resolver = PathResolver::new(&crate::base::tree::EmptyTree, "", "");
        assert_eq!(resolver.resolve_path("./src/a.c", &[], PathTrust::Looks).as_deref(), Some("src/a.c"));
        assert_eq!(resolver.resolve_path("/x/a.c", &[], PathTrust::Looks).as_deref(), Some("/x/a.c"));
        assert_eq!(resolver.resolve_path("https://x/a.c", &[], PathTrust::Format), None);
        assert_eq!(resolver.resolve_path("././", &[], PathTrust::Format), None, "the root is no file");
        assert_eq!(resolver.shown_path("./", &[]), "./");
    }
}
