//! What a check depends on outside the tree, by content: its programs, what chooses their versions, and what installers
//! write. For receipts, where a change that is not seen would be a lie: what can't be read is an error, and what may not
//! matter is looked at, too.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::program::CommandPrograms;
use crate::base::folder;
use crate::capture::{InputDigests, InputHasher};
use crate::run::is_shims_folder;

/// A larger file is not read, bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Folders from where the check runs up to the root that are looked at.
pub(super) const FOLDERS_MAX: usize = 16;
/// Folders in one of them that are looked at.
pub(super) const CHILDREN_MAX: usize = 256;
/// Entries of a folder of packages.
const ENTRIES_MAX: usize = 20_000;

/// Files that list what is installed in `node_modules`, without places of the machine.
pub(super) const NODE_LISTS: [&str; 4] = [
    "node_modules/.package-lock.json",
    "node_modules/.yarn-integrity",
    "node_modules/.yarn-state.yml",
    "node_modules/.pnpm/lock.yaml",
];
/// pnpm's other list, with places of the machine.
const PNPM_PLACES: &str = "node_modules/.modules.yaml";
/// Files in a project's folder that pin or list packages, where git may not see them.
pub(super) const PACKAGE_LISTS: [&str; 17] = [
    ".pnp.cjs",
    "vendor/composer/installed.json",
    "vendor/modules.txt",
    "Pods/Manifest.lock",
    "package-lock.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "Cargo.lock",
    "go.sum",
    "go.work",
    "go.work.sum",
    "poetry.lock",
    "uv.lock",
    "composer.lock",
    "Gemfile.lock",
    "deno.lock",
];
/// Whether a file pins the packages that a project is run with: where it differs, what is installed may not fit.
pub(crate) fn pins_packages(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name == "requirements.txt" || PACKAGE_LISTS.contains(&name)
}

/// Bundler's settings in a project's folder, with places of the machine.
const BUNDLER_SETTINGS: &str = ".bundle/config";
/// Python environments in a project.
pub(super) const ENVIRONMENTS: [&str; 4] = [".venv", "venv", "env", ".env"];
/// Files in the user's folder that choose versions or configure tools.
const USER_FILES: [&str; 13] = [
    ".asdfrc",
    ".cargo/config",
    ".cargo/config.toml",
    ".config/go/env",
    ".config/mise/config.toml",
    ".config/pip/pip.conf",
    ".nodenv/version",
    ".npmrc",
    ".pyenv/version",
    ".rbenv/version",
    ".rustup/settings.toml",
    ".tool-versions",
    ".volta/tools/user/platform.json",
];

/// Why what a check depends on is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnknownInput {
    /// A program of the command line isn't there.
    #[error("{0} was not found")]
    NoProgram(String),
    /// What a program does is not known by its version: it starts others of its own choice.
    #[error("{0} is not known by its version")]
    NoVersion(String),
    /// A package leads to files that are in no tree and in no list.
    #[error("{0} has files outside of the work tree")]
    Outside(String),
    /// A file or folder can't be read whole.
    #[error("{0} cannot be read")]
    Unreadable(String),
}

/// The programs and the dependencies of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckInputs {
    pub programs: InputDigests,
    pub dependencies: InputDigests,
}

/// Where the inputs of a check are looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputSearch<'a> {
    pub programs: CommandPrograms<'a>,
    /// The user's folder.
    pub home: Option<&'a Path>,
    /// Further files that count, relative to the root.
    pub files: &'a [&'a str],
}

/// Digests what a check depends on outside the tree.
///
/// # Errors
/// [`UnknownInput`]
pub(crate) fn digest_inputs(search: &InputSearch<'_>) -> Result<CheckInputs, UnknownInput> {
    let files = search.programs.executed_files().map_err(UnknownInput::NoProgram)?;
    let mut programs = InputHasher::default();
    let mut dependencies = InputHasher::default();
    let mut prefixes = BTreeSet::new();
    for file in &files {
        let real = add_program(&mut programs, &file.name, &file.path)?;
        prefixes.extend([&file.path, &real].into_iter().filter_map(|path| prefix_of(path)));
        add_beside(&mut programs, &file.name, &real)?;
    }
    for file in search.programs.named_files() {
        add_file(&mut programs, &file.name, &file.path)?;
    }
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    prefixes.extend(["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(variable));
    let interpreters = ["python3", "python"].into_iter().filter_map(|name| search.programs.on_path(name));
    for python in interpreters {
        let real = fs::canonicalize(&python).unwrap_or_else(|_| python.clone());
        prefixes.extend([&python, &real].into_iter().filter_map(|path| prefix_of(path)));
    }
    prefixes.extend(search.home.map(|home| home.join(".local")));
    add_search_path(&mut dependencies, search.programs.path);
    add_toolchains(&mut programs, search.home, variable)?;
    let mut project = ProjectFolders { root: search.programs.root, inputs: &mut dependencies };
    project.add_folders(&search.programs.folder())?;
    project.add_named(search.files)?;
    for prefix in prefixes {
        add_python_packages(&mut dependencies, &prefix.to_string_lossy(), &prefix)?;
    }
    for name in USER_FILES {
        if let Some(home) = search.home {
            add_file(&mut dependencies, &format!("~/{name}"), &home.join(name))?;
        }
    }
    Ok(CheckInputs { programs: programs.finish(), dependencies: dependencies.finish() })
}

/// Adds a program's path, the path behind its links, its size and its times; the path behind the links.
fn add_program(inputs: &mut InputHasher, name: &str, path: &Path) -> Result<PathBuf, UnknownInput> {
    let unreadable = |_| UnknownInput::Unreadable(name.to_owned());
    let real = fs::canonicalize(path).map_err(unreadable)?;
    inputs.add(name, path.as_os_str().as_bytes());
    inputs.add(name, real.as_os_str().as_bytes());
    inputs.add(name, &stamp(&real).map_err(unreadable)?);
    Ok(real)
}

/// Adds files beside a program that say which version it is: Go's, Node's headers are the program's own.
fn add_beside(inputs: &mut InputHasher, name: &str, real: &Path) -> Result<(), UnknownInput> {
    match prefix_of(real) {
        Some(prefix) if name == "go" || name == "gofmt" => add_file(inputs, name, &prefix.join("VERSION")),
        _ => Ok(()),
    }
}

/// `/usr` of `/usr/bin/python3`.
pub(super) fn prefix_of(program: &Path) -> Option<PathBuf> {
    let folder = program.parent()?;
    (folder.file_name() == Some(OsStr::new("bin"))).then(|| folder.parent().map(Path::to_owned)).flatten()
}

/// Size, inode and times of a file.
pub(super) fn stamp(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
    let mut bytes: Vec<u8> = times.iter().flat_map(|time| time.to_le_bytes()).collect();
    bytes.extend(metadata.len().to_le_bytes());
    bytes.extend(metadata.ino().to_le_bytes());
    Ok(bytes)
}

/// Adds when something was put into, or taken out of, the folders of PATH: a script may start any of their programs.
fn add_search_path(inputs: &mut InputHasher, path: &OsStr) {
    for folder in path.as_bytes().split(|byte| *byte == b':') {
        if is_shims_folder(folder) || folder.ends_with(b"/git-core") {
            continue;
        }
        let folder = Path::new(OsStr::from_bytes(folder));
        if let Ok(metadata) = fs::metadata(folder) {
            let name = folder.to_string_lossy();
            inputs.add(&name, &metadata.mtime().to_le_bytes());
            inputs.add(&name, &metadata.mtime_nsec().to_le_bytes());
        }
    }
}

/// Adds the toolchains that rustup may choose from: `cargo` on PATH is only a door to them.
pub(super) fn add_toolchains(
    inputs: &mut InputHasher,
    home: Option<&Path>,
    variable: impl Fn(&str) -> Option<PathBuf>,
) -> Result<(), UnknownInput> {
    let Some(rustup) = variable("RUSTUP_HOME").or_else(|| home.map(|home| home.join(".rustup"))) else { return Ok(()) };
    add_file(inputs, "rustup", &rustup.join("settings.toml"))?;
    for name in entry_names(&rustup.join("toolchains"), "rustup")? {
        let toolchain = rustup.join("toolchains").join(OsStr::from_bytes(&name));
        inputs.add("rustup", &name);
        for file in ["bin/rustc", "bin/cargo", "lib/rustlib/components"] {
            // A folder without them is no toolchain.
            inputs.add("rustup", &stamp(&toolchain.join(file)).unwrap_or_default());
        }
    }
    Ok(())
}

/// Adds the packages of a Python installation or environment: their names with versions, and when each was written.
fn add_python_packages(inputs: &mut InputHasher, name: &str, prefix: &Path) -> Result<(), UnknownInput> {
    add_file(inputs, name, &prefix.join("pyvenv.cfg"))?;
    let libraries = [prefix.join("lib"), prefix.join("local/lib"), prefix.join("lib64")];
    for library in libraries {
        for version in entry_names(&library, name)?.into_iter().filter(|version| version.starts_with(b"python")) {
            for kind in ["site-packages", "dist-packages"] {
                add_packages(inputs, name, &library.join(OsStr::from_bytes(&version)).join(kind))?;
            }
        }
    }
    for package in entry_names(&prefix.join("conda-meta"), name)? {
        inputs.add(name, &package);
    }
    Ok(())
}

fn add_packages(inputs: &mut InputHasher, name: &str, folder: &Path) -> Result<(), UnknownInput> {
    const ENDS: [&[u8]; 5] = [b".dist-info", b".egg-info", b".egg-link", b".pth", b"sitecustomize.py"];
    for entry in entry_names(folder, name)?.iter().filter(|entry| ENDS.iter().any(|end| entry.ends_with(end))) {
        inputs.add(name, entry);
        // Reinstalled from elsewhere it has the same name.
        inputs.add(name, &stamp(&folder.join(OsStr::from_bytes(entry))).unwrap_or_default());
    }
    Ok(())
}

/// The folders of a project that may have packages.
struct ProjectFolders<'a> {
    root: &'a Path,
    inputs: &'a mut InputHasher,
}

impl ProjectFolders<'_> {
    /// Adds the folder of the check, those above it up to the root, and those directly in it and in the root.
    fn add_folders(&mut self, inside: &Path) -> Result<(), UnknownInput> {
        let root = self.root;
        let mut folders: BTreeSet<PathBuf> = inside
            .ancestors()
            .take(FOLDERS_MAX)
            .take_while(|folder| folder.starts_with(root))
            .map(Into::into)
            .collect();
        folders.insert(root.to_owned());
        folders.insert(inside.to_owned());
        for above in [root, inside] {
            let names = entry_names(above, "the folder")?;
            let is_project = |name: &&Vec<u8>| !matches!(name.as_slice(), b".git" | b"node_modules" | b"target");
            let below = names.iter().filter(is_project).map(|name| above.join(OsStr::from_bytes(name)));
            folders
                .extend(below.filter(|path| fs::symlink_metadata(path).is_ok_and(|it| it.is_dir())).take(CHILDREN_MAX));
        }
        folders.iter().try_for_each(|folder| self.add_folder(folder))
    }

    fn add_folder(&mut self, folder: &Path) -> Result<(), UnknownInput> {
        let root = self.root;
        let name_in = |name: &str| {
            let below = folder.strip_prefix(root).unwrap_or(folder);
            below.join(name).to_string_lossy().into_owned()
        };
        let mut has_list = false;
        for list in NODE_LISTS.into_iter().chain([PNPM_PLACES]) {
            has_list |= add_file_if_there(self.inputs, &name_in("node_modules"), &folder.join(list))?;
        }
        for file in PACKAGE_LISTS.into_iter().chain([BUNDLER_SETTINGS]) {
            add_file_if_there(self.inputs, &name_in(file), &folder.join(file))?;
        }
        self.add_node_packages(&name_in("node_modules"), &folder.join("node_modules"), has_list)?;
        for packages in ["deps", "elm-stuff", "vendor/bundle"] {
            for entry in entry_names(&folder.join(packages), packages)? {
                self.inputs.add(&name_in(packages), &entry);
            }
        }
        for environment in ENVIRONMENTS {
            let prefix = folder.join(environment);
            if prefix.join("pyvenv.cfg").exists() {
                add_python_packages(self.inputs, &name_in(environment), &prefix)?;
            }
        }
        for name in entry_names(folder, "the folder")? {
            let name = OsStr::from_bytes(&name);
            let is_setting = name == ".env" || name.as_bytes().starts_with(b".env.");
            if is_setting && !folder.join(name).is_dir() {
                add_file(self.inputs, &name_in(&name.to_string_lossy()), &folder.join(name))?;
            }
        }
        Ok(())
    }

    /// The names of what is in `node_modules`, where links lead, and the versions if no list says them.
    fn add_node_packages(&mut self, shown: &str, folder: &Path, has_list: bool) -> Result<(), UnknownInput> {
        let mut packages: Vec<PathBuf> = Vec::new();
        for name in entry_names(folder, shown)? {
            let path = folder.join(OsStr::from_bytes(&name));
            match name.first() {
                Some(b'@') => {
                    let scoped = entry_names(&path, shown)?;
                    packages.extend(scoped.iter().map(|name| path.join(OsStr::from_bytes(name))));
                }
                Some(b'.') => {}
                _ => packages.push(path),
            }
        }
        for package in packages {
            self.inputs.add(shown, package.as_os_str().as_bytes());
            if let Ok(target) = fs::read_link(&package) {
                self.inputs.add(shown, target.as_os_str().as_bytes());
            }
            if !has_list {
                add_file(self.inputs, shown, &package.join("package.json"))?;
            }
        }
        Ok(())
    }

    /// Adds the files that the settings name, and that they are not there.
    fn add_named(&mut self, files: &[&str]) -> Result<(), UnknownInput> {
        for file in files {
            self.inputs.add(file, b"named");
            add_file(self.inputs, file, &self.root.join(file))?;
        }
        Ok(())
    }
}

pub(super) fn add_file(inputs: &mut InputHasher, name: &str, path: &Path) -> Result<(), UnknownInput> {
    add_file_if_there(inputs, name, path).map(|_| ())
}

/// Adds a file's content; whether it is there.
fn add_file_if_there(inputs: &mut InputHasher, name: &str, path: &Path) -> Result<bool, UnknownInput> {
    let unreadable = || UnknownInput::Unreadable(name.to_owned());
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= FILE_BYTES_MAX => {}
        Ok(_) => return Err(unreadable()),
        Err(error) if is_absent(&error) => return Ok(false),
        Err(_) => return Err(unreadable()),
    }
    let mut hasher = blake3::Hasher::new();
    let mut file = File::open(path).map_err(|_| unreadable())?.take(FILE_BYTES_MAX);
    io::copy(&mut file, &mut hasher).map_err(|_| unreadable())?;
    inputs.add(name, hasher.finalize().as_bytes());
    Ok(true)
}

/// The names in a folder, sorted; none of one that isn't there.
pub(super) fn entry_names(folder: &Path, name: &str) -> Result<Vec<Vec<u8>>, UnknownInput> {
    match folder::entry_names(folder, ENTRIES_MAX) {
        Ok(names) => Ok(names),
        Err(error) if is_absent(&error) => Ok(Vec::new()),
        Err(_) => Err(UnknownInput::Unreadable(name.to_owned())),
    }
}

pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::whitelist::{CheckDecision, Whitelist};

    struct Project(tempfile::TempDir);

    impl Project {
        fn new() -> Self {
            let project = Project(tempfile::tempdir().expect("a folder"));
            project.write("bin/npm", "#!/usr/bin/env node\n");
            project.write("bin/node", "1");
            project.write("root/web/package.json", "{}");
            project
        }

        fn write(&self, path: &str, content: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(&path, content).expect("written");
            fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("executable");
        }

        fn inputs(&self, line: &str) -> Result<CheckInputs, UnknownInput> {
            let argv: Vec<OsString> = line.split(' ').map(Into::into).collect();
            let CheckDecision::Check(check) = Whitelist::shipped_only().decide_command(&argv) else {
                panic!("no check: {line}")
            };
            let (bin, root) = (self.0.path().join("bin"), self.0.path().join("root"));
            let cwd = root.join("web");
            let programs =
                CommandPrograms { argv: &argv, check: Some(&check), path: bin.as_os_str(), cwd: &cwd, root: &root };
            let home = self.0.path().join("home");
            digest_inputs(&InputSearch { programs, home: Some(&home), files: &["config/local.json"] })
        }

        /// The names of the inputs that a change changes.
        fn changed_by(&self, change: impl FnOnce()) -> Vec<String> {
            let before = self.inputs("npm test").expect("known");
            assert_eq!(before, self.inputs("npm test").expect("known"), "nothing changed");
            change();
            let after = self.inputs("npm test").expect("known");
            let groups = [(before.programs, after.programs), (before.dependencies, after.dependencies)];
            let changed = groups.iter().flat_map(|(before, after)| {
                let names: BTreeSet<&String> = before.parts.keys().chain(after.parts.keys()).collect();
                names.into_iter().filter(|name| before.parts.get(*name) != after.parts.get(*name)).cloned()
            });
            changed.collect()
        }
    }

    #[test]
    fn each_input_is_seen_under_its_name() {
        let project = Project::new();
        let written = |path: &'static str, content: &'static str| project.changed_by(|| project.write(path, content));
        assert_eq!(written("bin/node", "22"), ["node"]);
        assert_eq!(written("root/web/node_modules/left-pad/package.json", "{}"), ["web/node_modules"]);
        assert_eq!(written("root/web/node_modules/left-pad/package.json", "{\"version\": 2}"), ["web/node_modules"]);
        assert_eq!(written("root/web/node_modules/.package-lock.json", "{}"), ["web/node_modules"]);
        assert_eq!(written("root/web/node_modules/@shop/ui/package.json", "{}"), ["web/node_modules"]);
        assert_eq!(written("root/.env.test", "A=1"), [".env.test"]);
        assert_eq!(written("root/config/local.json", "1"), ["config/local.json"]);
        assert_eq!(written("root/config/local.json", "2"), ["config/local.json"]);
        assert_eq!(written("root/web/Cargo.lock", ""), ["web/Cargo.lock"]);
        assert_eq!(written("home/.npmrc", "x=1"), ["~/.npmrc"]);
        assert_eq!(written("root/.venv/pyvenv.cfg", "3.11"), [".venv"]);
        assert_eq!(written("root/.venv/lib/python3.11/site-packages/a-1.dist-info/METADATA", ""), [".venv"]);
        assert_eq!(written("root/.venv/lib/python3.11/site-packages/a/b.pyc", ""), Vec::<String>::new());
        let package = project.0.path().join("root/web/node_modules/linked");
        assert_eq!(project.changed_by(|| symlink("../../other", package).expect("a link")), ["web/node_modules"]);
    }

    #[test]
    fn what_is_not_there_or_not_readable_is_unknown() {
        let project = Project::new();
        assert_eq!(project.inputs("npx eslint ."), Err(UnknownInput::NoProgram("npx".to_owned())));
        fs::create_dir_all(project.0.path().join("root/config/local.json")).expect("a folder in place of the file");
        assert_eq!(project.inputs("npm test"), Err(UnknownInput::Unreadable("config/local.json".to_owned())));
    }
}
