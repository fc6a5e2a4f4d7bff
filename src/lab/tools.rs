//! What of the machine programs need: found from PATH and other variables, and lent read-only. Nothing else of it is
//! seen.

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::base::file::read_start;

/// Folders that belong to the system on every machine, or to a package manager on some.
const SYSTEM_FOLDERS: [&str; 13] =
    ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/opt", "/nix", "/gnu", "/snap", "/sys"];
/// The parts of `/var` that programs read.
const SYSTEM_PARTS: [&str; 6] = [
    "/var/lib/gems",
    "/var/lib/texmf",
    "/var/lib/ghc",
    "/var/lib/snapd/snap",
    "/var/cache/fontconfig",
    "/var/guix/profiles",
];
/// Folders of programs that have nothing to be looked for behind their links.
const PLAIN_PROGRAMS: [&str; 4] = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];
/// Folders of the home folder that are lent as they are: tools and what they have fetched.
const TOOL_FOLDERS: [&str; 39] = [
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/git",
    ".cargo/registry",
    ".rustup",
    ".pyenv",
    ".nvm",
    ".npm/_cacache",
    "go/pkg/mod",
    ".asdf",
    ".bun/bin",
    ".cache/Cypress",
    ".cache/ms-playwright",
    ".cache/node/corepack",
    ".cache/pre-commit",
    ".cache/puppeteer",
    ".cache/pypoetry/virtualenvs",
    ".cache/uv",
    ".deno/bin",
    ".dotnet",
    ".gem/ruby",
    ".goenv",
    ".jenv",
    ".local/bin",
    ".local/lib",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/uv",
    ".local/share/virtualenvs",
    ".luarocks",
    ".nodenv",
    ".nuget/packages",
    ".rbenv",
    ".sdkman/candidates",
    ".volta",
    ".yarn/berry/cache",
];
/// Folders of the home folder that tools write to while they read from them: what they write is thrown away.
const CACHE_FOLDERS: [&str; 5] =
    [".cache/go-build", ".gradle/caches", ".gradle/wrapper", ".ivy2/cache", ".m2/repository"];
/// Variables with a folder of a tool, the parts of it that are lent, and whether they are written to.
const TOOL_VARIABLES: [(&str, &[&str], bool); 17] = [
    ("CARGO_HOME", &["bin", "config", "config.toml", "git", "registry"], false),
    ("RUSTUP_HOME", &[""], false),
    ("PYENV_ROOT", &[""], false),
    ("NVM_DIR", &[""], false),
    ("VOLTA_HOME", &[""], false),
    ("ASDF_DATA_DIR", &[""], false),
    ("ASDF_DIR", &[""], false),
    ("SDKMAN_DIR", &["candidates"], false),
    ("GOPATH", &["pkg/mod", "bin"], false),
    ("GOMODCACHE", &[""], false),
    ("GOCACHE", &[""], true),
    ("GRADLE_USER_HOME", &["caches", "wrapper"], true),
    ("npm_config_cache", &["_cacache"], false),
    ("UV_CACHE_DIR", &[""], false),
    ("PLAYWRIGHT_BROWSERS_PATH", &[""], false),
    ("CYPRESS_CACHE_FOLDER", &[""], false),
    ("MISE_DATA_DIR", &[""], false),
];
/// Variables with folders or files that programs read: one, or several with colons between.
const PATH_VARIABLES: [&str; 22] = [
    "CC",
    "CLASSPATH",
    "CONDA_PREFIX",
    "CXX",
    "DOTNET_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "GOROOT",
    "JAVA_HOME",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NODE_PATH",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PYTHONHOME",
    "PYTHONPATH",
    "RUBYLIB",
    "RUSTC",
    "RUSTC_WRAPPER",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    "ZONEINFO",
];
/// Folders of the home folder that are never lent, nor what is in them.
const PRIVATE_FOLDERS: [&str; 16] = [
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".docker",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".local/state",
    ".mozilla",
    ".password-store",
    ".ssh",
    ".terraform.d",
    ".thunderbird",
    ".vault-token",
];
/// Folders of the home folder that hold those of many programs: only parts of them are lent.
const MIXED_FOLDERS: [&str; 5] = [".cache", ".config", ".local", ".local/share", ".npm"];
/// Names of folders that hold the programs of an installation.
const PROGRAM_FOLDERS: [&str; 5] = ["bin", "sbin", "libexec", "shims", "Scripts"];
/// What an installation has beside its programs.
const INSTALLATION_PARTS: [&str; 6] = ["lib", "lib64", "libexec", "include", "share", "pyvenv.cfg"];
/// Programs that are looked at for what they lead to, in one folder.
const PROGRAMS_MAX: usize = 2_000;
/// Links behind each other.
const LINKS_MAX: usize = 40;
/// Interpreters that are scripts themselves.
const SCRIPTS_MAX: usize = 3;
/// The first line of a script, bytes.
const FIRST_LINE_BYTES_MAX: u64 = 256;

/// Where the search looks.
#[derive(Clone, Copy)]
pub(super) struct MachineSearch<'a> {
    /// The project's real root: what is in it is seen anyhow.
    pub root: &'a Path,
    /// The home folder.
    pub home: Option<&'a Path>,
    /// Folders of git and verify-run that are never lent.
    pub private: &'a [PathBuf],
    /// Reads a variable.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// Folders and files that the user lends.
    pub lend: &'a [String],
}

/// What is lent of the machine.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct LentTools {
    /// Folders and files, read-only; real paths.
    pub lent: Vec<PathBuf>,
    /// Folders whose changes are thrown away; real paths.
    pub layered: Vec<PathBuf>,
    /// Links with their targets.
    pub links: BTreeMap<PathBuf, PathBuf>,
}

impl LentTools {
    /// Finds everything that programs of this user may need.
    pub(super) fn find(search: &MachineSearch<'_>) -> Self {
        let mut tools = LentTools::default();
        for folder in SYSTEM_FOLDERS.iter().chain(&SYSTEM_PARTS) {
            tools.lend_system(Path::new(folder));
        }
        for folder in search.lend.iter().filter_map(|folder| search.expand_home(folder)) {
            tools.lend_path(&folder, &|_| true, LentAs::Read, 0);
        }
        tools.add_tool_folders(search);
        let listed = PATH_VARIABLES.iter().filter_map(|name| (search.variable)(name));
        for path in listed.flat_map(|value| split_paths(&value)) {
            tools.lend_installation(&path, search);
        }
        for folder in (search.variable)("PATH").iter().flat_map(|path| split_paths(path)) {
            tools.lend_programs(&folder, search);
        }
        tools
    }

    /// Whether a real path is seen inside, or would be.
    pub(super) fn shows(&self, path: &Path) -> bool {
        // Real paths are equal letter by letter; as paths they would be taken apart for each comparison.
        let is_lent = |folder: &Path| self.lent.iter().chain(&self.layered).any(|lent| lent.as_os_str() == folder);
        path.ancestors().any(is_lent)
    }

    /// The programs of a folder, with the installations that they belong to.
    pub(super) fn lend_programs(&mut self, folder: &Path, search: &MachineSearch<'_>) {
        if PLAIN_PROGRAMS.iter().any(|plain| folder == Path::new(plain)) {
            return;
        }
        self.lend_installation(folder, search);
        // The programs of a version manager are scripts of one interpreter, by the hundred.
        let mut interpreters = HashSet::new();
        let Ok(real_folder) = folder.canonicalize() else { return };
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(PROGRAMS_MAX) {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let real = if is_file { Some(real_folder.join(entry.file_name())) } else { real_file(&entry.path()) };
            if let Some(real) = real {
                self.lend_program(&entry.path(), &real, search, 0, &mut interpreters);
            }
        }
    }

    /// A program and its real file: the installation in which it is named, the one in which it is, and those of its
    /// interpreter. Each interpreter once, with the number of scripts before it.
    fn lend_program(
        &mut self,
        program: &Path,
        real: &Path,
        search: &MachineSearch<'_>,
        scripts: usize,
        interpreters: &mut HashSet<(PathBuf, usize)>,
    ) {
        if scripts < SCRIPTS_MAX
            && let Some(interpreter) = interpreter_of(real)
            && interpreters.insert((interpreter.clone(), scripts))
            && let Some(real) = real_file(&interpreter)
        {
            self.lend_program(&interpreter, &real, search, scripts + 1, interpreters);
        }
        if self.shows(real) && self.shows(program) {
            return;
        }
        for file in [program, real] {
            if let Some(folder) = file.parent().filter(|folder| !self.shows(folder)) {
                self.lend_installation(folder, search);
            }
        }
        self.lend_path(program, &|path| search.may_lend(path), LentAs::Read, 0);
    }

    /// A folder or file, with the rest of the installation that it is a part of.
    fn lend_installation(&mut self, path: &Path, search: &MachineSearch<'_>) {
        let Ok(real) = path.canonicalize() else { return };
        let whole = installation_of(&real).filter(|whole| search.may_lend(whole));
        if let Some(whole) = whole {
            self.lend_path(whole, &|path| search.may_lend(path), LentAs::Read, 0);
        }
        self.lend_path(path, &|path| search.may_lend(path), LentAs::Read, 0);
    }

    fn lend_system(&mut self, folder: &Path) {
        // Links to folders of the system, as `/bin` is on many.
        if let Ok(target) = fs::read_link(folder) {
            self.links.insert(folder.to_owned(), target);
        } else if folder.is_dir() {
            self.lent.push(folder.to_owned());
        }
    }

    fn add_tool_folders(&mut self, search: &MachineSearch<'_>) {
        let may_lend = |path: &Path| search.may_lend(path);
        for (name, parts, is_written) in TOOL_VARIABLES {
            let Some(folder) = (search.variable)(name).map(PathBuf::from).filter(|folder| folder.is_absolute()) else {
                continue;
            };
            let kind = if is_written { LentAs::Layer } else { LentAs::Read };
            parts.iter().for_each(|part| self.lend_path(&folder.join(part), &may_lend, kind, 0));
        }
        let Some(home) = search.home else { return };
        for (folders, kind) in [(&TOOL_FOLDERS[..], LentAs::Read), (&CACHE_FOLDERS[..], LentAs::Layer)] {
            folders.iter().for_each(|folder| self.lend_path(&home.join(folder), &may_lend, kind, 0));
        }
    }

    /// Lends what is at a path, with the links on the way to it.
    fn lend_path(&mut self, path: &Path, may_lend: &dyn Fn(&Path) -> bool, kind: LentAs, links: usize) {
        let mut current = PathBuf::from("/");
        let mut parts = path.components();
        while let Some(part) = parts.next() {
            match part {
                Component::Normal(name) => current.push(name),
                Component::ParentDir => drop(current.pop()),
                _ => continue,
            }
            let Ok(target) = fs::read_link(&current) else { continue };
            if links == LINKS_MAX {
                return;
            }
            let parent = current.parent().unwrap_or(Path::new("/")).to_owned();
            if !self.shows(&current) {
                self.links.insert(current, target.clone());
            }
            return self.lend_path(&parent.join(target).join(parts.as_path()), may_lend, kind, links + 1);
        }
        let Ok(metadata) = fs::symlink_metadata(&current) else { return };
        let is_usable = metadata.is_dir() || metadata.is_file();
        if !is_usable || self.shows(&current) || !may_lend(&current) {
            return;
        }
        // What was lent of it is a part of it now.
        self.lent.retain(|lent| !lent.starts_with(&current));
        self.links.retain(|link, _| !link.starts_with(&current));
        match kind {
            LentAs::Layer if metadata.is_dir() => self.layered.push(current),
            _ => self.lent.push(current),
        }
    }
}

/// How a folder is lent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LentAs {
    /// Read-only.
    Read,
    /// What is written to it is thrown away.
    Layer,
}

impl MachineSearch<'_> {
    /// Whether a real path may be lent without being named by the user: it holds neither the home folder nor the
    /// project, and is no place of secrets.
    fn may_lend(&self, path: &Path) -> bool {
        let is_general = path.components().count() <= 2 || path == Path::new("/var/lib");
        let holds_ours = self.home.is_some_and(|home| home.starts_with(path)) || self.root.starts_with(path);
        let is_in_project = path.starts_with(self.root);
        let is_mixed = |name: &str| self.home.is_some_and(|home| path == home.join(name));
        let is_private = |name: &str| self.home.is_some_and(|home| path.starts_with(home.join(name)));
        let is_ours = |private: &PathBuf| path.starts_with(private) || private.starts_with(path);
        !is_general
            && !holds_ours
            && !is_in_project
            && !MIXED_FOLDERS.iter().any(|name| is_mixed(name))
            && !PRIVATE_FOLDERS.iter().any(|name| is_private(name))
            && !self.private.iter().any(is_ours)
    }

    /// A folder of the setting, with the home folder in place of `~`.
    fn expand_home(&self, folder: &str) -> Option<PathBuf> {
        match folder.strip_prefix("~/") {
            Some(rest) => self.home.map(|home| home.join(rest)),
            None => Some(PathBuf::from(folder)),
        }
    }
}

/// The installation whose programs are in this folder, or whose package this file belongs to.
fn installation_of(path: &Path) -> Option<&Path> {
    // The outermost of nested packages.
    let packages = path.ancestors().filter(|folder| folder.file_name() == Some(OsStr::new("node_modules"))).last();
    if packages.is_some() {
        return packages;
    }
    let name = path.file_name()?.to_str()?;
    let above = path.parent()?;
    let is_whole = INSTALLATION_PARTS.iter().any(|part| above.join(part).exists());
    (PROGRAM_FOLDERS.contains(&name) && is_whole).then_some(above)
}

/// The interpreter that a script names in its first line.
fn interpreter_of(file: &Path) -> Option<PathBuf> {
    let start = read_start(file, FIRST_LINE_BYTES_MAX).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let word = line.split(|byte| byte.is_ascii_whitespace()).find(|word| !word.is_empty())?;
    let path = Path::new(OsStr::from_bytes(word));
    path.is_absolute().then(|| path.to_owned())
}

/// The file that a path leads to.
fn real_file(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok().filter(|real| real.is_file())
}

/// The absolute paths in a list with colons.
fn split_paths(value: &OsStr) -> Vec<PathBuf> {
    let separators = [b':', b' '];
    let parts =
        value.as_bytes().split(|byte| separators.contains(byte)).map(|part| PathBuf::from(OsStr::from_bytes(part)));
    parts.filter(|path| path.is_absolute()).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    struct Machine {
        dir: tempfile::TempDir,
    }

    impl Machine {
        fn with_files(files: &[&str]) -> Self {
            let dir = tempfile::tempdir().expect("a folder");
            let machine = Machine { dir };
            files.iter().for_each(|file| machine.write(file, ""));
            machine
        }

        fn path(&self, relative: &str) -> PathBuf {
            self.dir.path().canonicalize().expect("a folder").join(relative)
        }

        fn write(&self, file: &str, text: &str) {
            let path = self.path(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, text).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        }

        fn link(&self, target: impl AsRef<Path>, at: &str) {
            let at = self.path(at);
            fs::create_dir_all(at.parent().expect("a folder")).expect("a folder");
            symlink(target, at).expect("a link");
        }

        /// What is lent with these variables, without the system, relative to the machine.
        fn lends(&self, variables: &[(&str, &str)], lend: &[String]) -> LentTools {
            let (root, home) = (self.path("home/u/project"), self.path("home/u"));
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name)?;
                let paths = found.1.split(':').map(|path| self.path(path));
                Some(std::env::join_paths(paths).expect("a list"))
            };
            let private = [self.path("state")];
            let search = MachineSearch { root: &root, home: Some(&home), private: &private, variable: &variable, lend };
            let tools = LentTools::find(&search);
            let top = self.path("");
            let relative = |path: &PathBuf| path.strip_prefix(&top).ok().map(Path::to_owned);
            let mut lent: Vec<PathBuf> = tools.lent.iter().filter_map(relative).collect();
            lent.sort();
            LentTools {
                lent,
                layered: tools.layered.iter().filter_map(relative).collect(),
                links: tools.links.iter().filter_map(|(at, to)| Some((relative(at)?, to.clone()))).collect(),
            }
        }
    }

    fn paths(list: &[&str]) -> Vec<PathBuf> {
        list.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn an_installation_is_lent_whole_and_a_folder_of_programs_alone() {
        let machine = Machine::with_files(&[
            "sdk/tool/bin/run",
            "sdk/tool/lib/a",
            "sdk/tool/x",
            "home/u/bin/mine",
            "sdk/other/y",
        ]);
        let tools = machine.lends(&[("PATH", "sdk/tool/bin:home/u/bin:home/u/project/bin:missing")], &[]);
        assert_eq!(tools.lent, paths(&["home/u/bin", "sdk/tool"]));
        assert!(tools.links.is_empty());
    }

    #[test]
    fn what_programs_lead_to_is_lent_with_the_links_on_the_way() {
        let machine = Machine::with_files(&[
            "store/v1/bin/node",
            "store/v1/lib/x",
            "venv/pyvenv.cfg",
            "deep/py/bin/python3",
            "deep/py/lib/x",
        ]);
        machine.link("../store/current/bin/node", "tools/node");
        machine.link("v1", "store/current");
        machine.link(machine.path("deep/py/bin/python3"), "venv/bin/python");
        machine.write("store/v1/bin/check", &format!("#!{}\n", machine.path("venv/bin/python").display()));
        machine.link("../store/v1/bin/check", "tools/check");
        let tools = machine.lends(&[("PATH", "tools")], &[]);
        assert_eq!(tools.lent, paths(&["deep/py", "store/v1", "tools", "venv"]));
        assert_eq!(tools.links, BTreeMap::from([(PathBuf::from("store/current"), PathBuf::from("v1"))]));
    }

    #[test]
    fn packages_are_lent_with_those_beside_them() {
        let machine = Machine::with_files(&["n/node_modules/a/node_modules/b/cli.js", "n/node_modules/.bin/x"]);
        machine.link("../a/node_modules/b/cli.js", "n/node_modules/.bin/b");
        machine.link("../n/node_modules/.bin/b", "tools/b");
        assert_eq!(machine.lends(&[("PATH", "tools")], &[]).lent, paths(&["n/node_modules", "tools"]));
    }

    #[test]
    fn secrets_homes_and_the_state_are_never_lent_unless_the_user_says_so() {
        let files = [
            "home/u/.ssh/id_rsa",
            "home/u/.local/share/keyrings/k",
            "home/u/.local/lib/x",
            "home/u/.local/bin/tool",
            "home/u/.cargo/credentials.toml",
            "home/u/.cargo/registry/x",
            "home/u/.m2/repository/x",
            "home/u/.m2/settings.xml",
            "home/v/.ssh/id_rsa",
            "state/bin/x",
            "state/lib/x",
            "data/models/x",
        ];
        let machine = Machine::with_files(&files);
        machine.link(machine.path("home/u/.ssh/id_rsa"), "home/u/.local/bin/key");
        let path = [("PATH", "home/u/.local/bin:home/u/.ssh:state/bin:home/u:home:home/v/..")];
        let tools = machine.lends(&path, &[]);
        assert_eq!(tools.lent, paths(&["home/u/.cargo/registry", "home/u/.local/bin", "home/u/.local/lib"]));
        assert_eq!(tools.layered, paths(&["home/u/.m2/repository"]));
        let lend = ["~/.ssh".to_owned(), machine.path("data").display().to_string()];
        assert_eq!(machine.lends(&[], &lend).lent[..1], paths(&["data"]));
        assert!(machine.lends(&[], &lend).lent.contains(&PathBuf::from("home/u/.ssh")));
    }

    #[test]
    fn tools_elsewhere_are_found_by_their_variables() {
        let machine = Machine::with_files(&[
            "rust/cargo/registry/x",
            "rust/cargo/credentials",
            "go/build/x",
            "jdk/bin/java",
            "jdk/lib/x",
        ]);
        let variables = [("CARGO_HOME", "rust/cargo"), ("GOCACHE", "go/build"), ("JAVA_HOME", "jdk")];
        let tools = machine.lends(&variables, &[]);
        assert_eq!(tools.lent, paths(&["jdk", "rust/cargo/registry"]));
        assert_eq!(tools.layered, paths(&["go/build"]));
    }
}
