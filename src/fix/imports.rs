//! Which files a file names: a cheap look at its import statements and the paths in its strings. It needs no parser and
//! knows no search path, so it compares the ends of paths.

use std::collections::HashSet;

/// Lines of a file that are looked at.
const LINES_MAX: usize = 20_000;
/// A string that may be a path, bytes.
const LITERAL_BYTES_MAX: usize = 200;
/// A folder's name in a string without a slash has this many letters: shorter ones and these are words like any
/// other.
const FOLDER_BYTES_MIN: usize = 4;
const COMMON_WORDS: [&str; 10] = ["test", "tests", "true", "false", "none", "null", "utf8", "utf-8", "name", "main"];
/// Files that represent their folder.
const INDEXES: [&str; 5] = ["index", "mod", "__init__", "lib", "main"];
/// How a path in one's own crate begins in Rust.
const OWN_CRATE: &str = concat!("crate", "::");
/// Extensions of one language each: a module is looked for in its own.
const LANGUAGES: [&[&str]; 9] = [
    &["py", "pyi", "pyx"],
    &["js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte", "astro"],
    &["rs"],
    &["go"],
    &["java", "kt", "kts", "scala", "groovy"],
    &["c", "h", "cc", "cpp", "cxx", "hpp", "hh", "m", "mm"],
    &["rb"],
    &["php"],
    &["cs", "fs", "vb"],
];

/// The modules, paths and folders that one file refers to.
#[derive(Debug, Default)]
pub(crate) struct FileReferences {
    /// Modules by their path with slashes, as an import names them.
    modules: HashSet<String>,
    /// Paths in strings, those that begin with a dot seen from the root.
    paths: HashSet<String>,
    /// Words in strings that may be folders.
    folders: HashSet<String>,
    language: Option<usize>,
}

impl FileReferences {
    /// What the text of the file at `path` names; of a text that is no file's, such as a message, `path` is empty.
    pub(crate) fn from_text(path: &str, text: &str) -> Self {
        let mut found = FileReferences { language: language_index(path), ..FileReferences::default() };
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for line in text.lines().take(LINES_MAX) {
            let statement = line.trim_start();
            found.add_strings(folder, statement);
            if found.language.is_some() {
                found.add_statement(folder, statement);
            }
        }
        found
    }

    /// Whether the file at `path` is one of what is named.
    pub(crate) fn names_path(&self, path: &str) -> bool {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
        let join = |name: &str| if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let mut forms = vec![path.to_owned(), join(name.rsplit_once('.').map_or(name, |(stem, _)| stem)), join(stem)];
        if INDEXES.contains(&stem) && !folder.is_empty() {
            forms.push(folder.to_owned());
        }
        let same_language = self.language.is_some() && self.language == language_index(path);
        let is_named = |form: &String| {
            path_tails(form).any(|tail| self.paths.contains(tail) || (same_language && self.modules.contains(tail)))
        };
        forms.iter().any(is_named)
            || path_tails(folder).any(|tail| self.folders.contains(tail) || self.paths.contains(tail))
            // A package of Go is a folder, named with its module in front.
            || (name.ends_with(".go")
                && !folder.is_empty()
                && self.paths.iter().any(|path| path.ends_with(&format!("/{folder}"))))
    }

    fn add_strings(&mut self, folder: &str, line: &str) {
        let included = line.strip_prefix("#include").and_then(|rest| rest.trim().strip_prefix('<')?.strip_suffix('>'));
        self.paths.extend(included.map(str::to_owned));
        let mut rest = line;
        while let Some(start) = rest.find(['"', '\'', '`']) {
            let quote = rest.as_bytes()[start];
            let inside = &rest[start + 1..];
            let Some(end) = inside.find(quote as char) else { return };
            self.add_string(folder, &inside[..end]);
            rest = &inside[end + 1..];
        }
    }

    fn add_string(&mut self, folder: &str, text: &str) {
        if text.is_empty()
            || text.len() > LITERAL_BYTES_MAX
            || text.contains(char::is_whitespace)
            || text.contains("://")
        {
            return;
        }
        let text = text.split('*').next().unwrap_or_default().trim_end_matches('/');
        let path = if text.starts_with("./") || text.starts_with("../") || text == "." || text == ".." {
            join_path(folder, text)
        } else {
            text.trim_start_matches(['@', '~', '#']).trim_start_matches('/').to_owned()
        };
        if path.contains(['/', '.']) || text.starts_with('.') {
            // TypeScript imports `./a.js` and means `./a.ts`.
            if let Some((stem, kind)) = path.rsplit_once('.')
                && matches!(kind, "js" | "jsx" | "mjs" | "cjs")
            {
                self.paths.insert(stem.to_owned());
            }
            if path.len() > 1 {
                self.paths.insert(path);
            }
        } else if path.len() >= FOLDER_BYTES_MIN && !COMMON_WORDS.contains(&path.as_str()) {
            self.folders.insert(path);
        }
    }

    fn add_statement(&mut self, folder: &str, line: &str) {
        if let Some(rest) = line.find(OWN_CRATE).map(|at| &line[at..]) {
            self.add_segments(rest);
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let bare = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
        if let Some(rest) = bare.strip_prefix("use ").or_else(|| bare.strip_prefix("mod ")) {
            return self.add_segments(rest);
        }
        if line.contains(['"', '\'', '`']) {
            return;
        }
        let dotted =
            |text: &str| text.trim().trim_end_matches(';').split(" as ").next().unwrap_or_default().trim().to_owned();
        if let Some((module, names)) = line.strip_prefix("from ").and_then(|rest| rest.split_once(" import ")) {
            let module = module_path(folder, module.trim());
            for name in names.split(',').map(|name| dotted(name.trim_matches(['(', ')', ' ']))) {
                self.modules.insert(if module.is_empty() { name } else { format!("{module}/{name}") });
            }
            self.modules.insert(module);
        } else if let Some(rest) = line.strip_prefix("import ") {
            let rest = rest.strip_prefix("static ").unwrap_or(rest);
            self.modules.extend(rest.split(',').map(|name| dotted(name).replace('.', "/")));
        }
        self.modules.remove("");
    }

    /// Each name of a path with `::` or `\`, and the groups in it.
    fn add_segments(&mut self, text: &str) {
        let names = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        let names = names.filter(|name| name.len() > 1 && !matches!(*name, "crate" | "self" | "super" | "std" | "as"));
        self.modules.extend(names.map(str::to_owned));
    }
}

fn language_index(path: &str) -> Option<usize> {
    let kind = path.rsplit_once('.')?.1;
    LANGUAGES.iter().position(|kinds| kinds.contains(&kind))
}

/// `.models` in `app/api` is `app/api/models`, `..models` is `app/models`.
fn module_path(folder: &str, module: &str) -> String {
    let dots = module.bytes().take_while(|byte| *byte == b'.').count();
    let rest = module[dots..].replace('.', "/");
    if dots == 0 {
        return rest;
    }
    let parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let kept = parts.len().saturating_sub(dots - 1);
    let parts = parts[..kept].iter().copied().chain((!rest.is_empty()).then_some(rest.as_str()));
    parts.collect::<Vec<_>>().join("/")
}

/// A path that begins with a dot, seen from the root.
fn join_path(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The path and each shorter end of it.
fn path_tails(path: &str) -> impl Iterator<Item = &str> {
    let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
    starts.map(|start| &path[start..]).filter(|tail| !tail.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn names(path: &str, text: &str, wanted: &[&str], others: &[&str]) {
        let found = FileReferences::from_text(path, text);
        for wanted in wanted {
            assert!(found.names_path(wanted), "{wanted}: {found:?}");
        }
        for other in others {
            assert!(!found.names_path(other), "{other}: {found:?}");
        }
    }

    #[test]
    fn imports_of_each_language_name_files() {
        let text =
            "import shop\nfrom app.models import user, order as o\nfrom . import forms\nfrom ..core.db import get\n";
        let wanted = [
            "shop.py",
            "src/shop.py",
            "app/models/user.py",
            "app/models/__init__.py",
            "api/v1/forms.py",
            "api/core/db.py",
        ];
        names("api/v1/test_x.py", text, &wanted, &["shop.js", "app/views.py", "workshop.py", "aaa_geometry.py"]);
        let text = "import { a } from './vanilla'\nexport * from '../core/store.js'\nconst x = require(\"@/lib/x\")\nimport lodash from 'lodash'\n";
        let wanted = ["src/ui/vanilla.ts", "src/core/store.ts", "src/lib/x.tsx", "src/ui/vanilla/index.ts"];
        names("src/ui/index.ts", text, &wanted, &["src/vanilla.ts", "src/other.ts"]);
        let text = "use crate::store::{Run, event};\npub mod fix;\nlet x = crate::base::text::count(1);\n";
        let wanted = ["src/store/mod.rs", "src/store/event.rs", "src/fix.rs", "src/base/text.rs"];
        names("src/lib.rs", text, &wanted, &["src/host.rs", "src/store.py"]);
        names(
            "a/x_test.go",
            "import (\n\t\"example.org/m/pkg/shop\"\n)\n",
            &["pkg/shop/total.go"],
            &["pkg/other/a.go"],
        );
        names(
            "src/a.c",
            "#include \"util/list.h\"\n#include <core.h>\n",
            &["src/util/list.h", "inc/core.h"],
            &["list.c"],
        );
        names("A.java", "import org.shop.Total;\n", &["src/org/shop/Total.java"], &["src/org/shop/Sum.java"]);
    }

    #[test]
    fn strings_name_data_and_folders() {
        let text = "SQL = open('schema/users.sql')\nfor file in Path(\"migrations\").glob('*.sql'):\n    x('name')\n";
        names(
            "tests/test_db.py",
            text,
            &["schema/users.sql", "db/migrations/001.sql"],
            &["schema/orders.sql.bak", "x/name/a.py"],
        );
        // A message names files too.
        names("", "Cannot find module './vanilla' from 'src/index.ts'", &["src/index.ts"], &["src/other.ts"]);
    }
}
