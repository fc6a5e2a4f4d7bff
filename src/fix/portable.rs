//! What installers write, by contents that are the same on every machine: no path of it, no time.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::check_inputs::{
    CHILDREN_MAX, ENVIRONMENTS, FOLDERS_MAX, NODE_LISTS, PACKAGE_LISTS, UnknownInput, add_file, entry_names, is_absent,
    prefix_of,
};
use super::content::FolderContent;
use crate::base::bytes;
use crate::capture::InputHasher;

/// A larger file is not read, bytes.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Keys of `~/.npmrc` that say where packages come from, or who may fetch them.
const NPM_SOURCES: [&str; 12] = [
    "_auth",
    "_authtoken",
    "always-auth",
    "cache",
    "cafile",
    "email",
    "globalconfig",
    "init-author-name",
    "prefix",
    "registry",
    "store-dir",
    "update-notifier",
];

/// The installations whose packages the interpreters see: an environment alone, else the interpreter's own and the user's.
pub(super) fn python_prefixes(
    pythons: &[PathBuf],
    virtual_env: Option<PathBuf>,
    home: Option<&Path>,
) -> BTreeSet<PathBuf> {
    let is_environment = |prefix: &PathBuf| prefix.join("pyvenv.cfg").exists();
    let mut prefixes: BTreeSet<PathBuf> = virtual_env.into_iter().collect();
    for python in pythons {
        match prefix_of(python).filter(is_environment) {
            Some(environment) if !sees_system(&environment) => drop(prefixes.insert(environment)),
            environment => {
                prefixes.extend(environment);
                let real = fs::canonicalize(python).unwrap_or_else(|_| python.clone());
                prefixes.extend([python, &real].into_iter().filter_map(|path| prefix_of(path)));
                prefixes.extend(home.map(|home| home.join(".local")));
            }
        }
    }
    prefixes
}

/// Whether an environment also has the packages of the installation that it was made of.
fn sees_system(environment: &Path) -> bool {
    let lines = read_lines(&environment.join("pyvenv.cfg"), "pyvenv.cfg").unwrap_or_default();
    let is_yes = |(key, value): (&str, &str)| {
        key.trim() == "include-system-site-packages" && value.trim().eq_ignore_ascii_case("true")
    };
    lines.iter().filter_map(|line| line.split_once('=')).any(is_yes)
}

/// Inputs whose contents are the same on every machine.
pub(super) struct PortableInputs<'a> {
    /// The top of the work tree.
    pub root: &'a Path,
    /// What was added.
    pub inputs: InputHasher,
}

impl PortableInputs<'_> {
    /// Adds the folder of the check, those above it up to the root, and those directly in it and in the root.
    ///
    /// # Errors
    /// [`UnknownInput`]
    pub(super) fn add_project(&mut self, inside: &Path, has_environments: bool) -> Result<(), UnknownInput> {
        let root = self.root;
        let above = inside.ancestors().take(FOLDERS_MAX).take_while(|folder| folder.starts_with(root));
        let mut folders: BTreeSet<PathBuf> = above.map(Into::into).collect();
        folders.extend([root.to_owned(), inside.to_owned()]);
        for above in [root, inside] {
            let names = entry_names(above, "the folder")?;
            let is_project = |name: &&Vec<u8>| !matches!(name.as_slice(), b".git" | b"node_modules" | b"target");
            let below = names.iter().filter(is_project).map(|name| above.join(OsStr::from_bytes(name)));
            let is_folder = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
            folders.extend(below.filter(is_folder).take(CHILDREN_MAX));
        }
        folders.iter().try_for_each(|folder| self.add_folder(folder, has_environments))
    }

    fn add_folder(&mut self, folder: &Path, has_environments: bool) -> Result<(), UnknownInput> {
        let below = folder.strip_prefix(self.root).unwrap_or(folder).to_owned();
        let name_in = |name: &str| below.join(name).to_string_lossy().into_owned();
        for list in NODE_LISTS {
            add_file(&mut self.inputs, &name_in("node_modules"), &folder.join(list))?;
        }
        self.add_node_packages(&name_in("node_modules"), &folder.join("node_modules"))?;
        for list in PACKAGE_LISTS {
            add_file(&mut self.inputs, &name_in(list), &folder.join(list))?;
        }
        for environment in ENVIRONMENTS.iter().filter(|_| has_environments) {
            let prefix = folder.join(environment);
            if prefix.join("pyvenv.cfg").exists() {
                self.add_python_packages(&name_in(environment), &prefix)?;
            }
        }
        for name in entry_names(folder, "the folder")? {
            let name = OsStr::from_bytes(&name);
            let is_setting = name == ".env" || name.as_bytes().starts_with(b".env.");
            if is_setting && !folder.join(name).is_dir() {
                add_file(&mut self.inputs, &name_in(&name.to_string_lossy()), &folder.join(name))?;
            }
        }
        Ok(())
    }

    /// The names of what is in `node_modules`, where links lead, and the content of what no list says.
    fn add_node_packages(&mut self, shown: &str, folder: &Path) -> Result<(), UnknownInput> {
        let lists = NodeLists::read(folder)?;
        let mut content = FolderContent::new(shown, folder);
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
            let name = package.strip_prefix(folder).unwrap_or(&package);
            self.inputs.add(shown, name.as_os_str().as_bytes());
            if let Ok(target) = fs::read_link(&package) {
                self.check_inside(shown, &package)?;
                let target = self.without_root(target.as_os_str().as_bytes());
                self.inputs.add(shown, &target);
                continue;
            }
            if !lists.describe(&name.to_string_lossy()) {
                content.add(&mut self.inputs, &package)?;
            }
        }
        Ok(())
    }

    /// What is outside of the work tree no other machine can compare.
    fn check_inside(&self, shown: &str, path: &Path) -> Result<(), UnknownInput> {
        let is_inside = match (fs::canonicalize(path), fs::canonicalize(self.root)) {
            (Ok(real), Ok(root)) => real.starts_with(root),
            _ => false,
        };
        if is_inside { Ok(()) } else { Err(UnknownInput::Outside(shown.to_owned())) }
    }

    /// What Node finds above the work tree is in no tree.
    ///
    /// # Errors
    /// [`UnknownInput::Outside`]
    pub(super) fn check_above(&self) -> Result<(), UnknownInput> {
        let mut above = self.root.ancestors().skip(1).map(|folder| folder.join("node_modules"));
        match above.find(|folder| folder.exists()) {
            Some(folder) => Err(UnknownInput::Outside(folder.to_string_lossy().into_owned())),
            None => Ok(()),
        }
    }

    /// The packages of a Python installation: names with versions, and the digests that their installer wrote down.
    ///
    /// # Errors
    /// [`UnknownInput`]
    pub(super) fn add_python_packages(&mut self, shown: &str, prefix: &Path) -> Result<(), UnknownInput> {
        for line in read_lines(&prefix.join("pyvenv.cfg"), shown)? {
            let key = line.split('=').next().unwrap_or_default().trim();
            if ["version", "version_info", "include-system-site-packages"].contains(&key) {
                self.inputs.add(shown, line.trim().as_bytes());
            }
        }
        let libraries = [prefix.join("lib"), prefix.join("local/lib"), prefix.join("lib64")];
        let mut folders = BTreeSet::new();
        for library in libraries {
            for version in entry_names(&library, shown)?.into_iter().filter(|version| version.starts_with(b"python")) {
                for kind in ["site-packages", "dist-packages"] {
                    let folder = library.join(OsStr::from_bytes(&version)).join(kind);
                    // `lib64` is often a link to `lib`.
                    folders.extend(fs::canonicalize(folder).ok());
                }
            }
        }
        folders.iter().try_for_each(|folder| self.add_packages(shown, folder))?;
        entry_names(&prefix.join("conda-meta"), shown)?.iter().for_each(|package| self.inputs.add(shown, package));
        Ok(())
    }

    fn add_packages(&mut self, shown: &str, folder: &Path) -> Result<(), UnknownInput> {
        let entries = entry_names(folder, shown)?;
        // What a list with digests says is not read.
        let mut listed: BTreeSet<Vec<u8>> = BTreeSet::from([b"__pycache__".to_vec()]);
        for entry in entries.iter().filter(|entry| entry.ends_with(b".dist-info")) {
            self.inputs.add(shown, entry);
            let path = folder.join(OsStr::from_bytes(entry));
            self.check_editable(shown, &path)?;
            for line in sorted_record(&path, shown)? {
                self.inputs.add(shown, line.as_bytes());
                listed.extend(line.split(['/', ',']).next().map(|name| name.as_bytes().to_owned()));
            }
            listed.insert(entry.clone());
        }
        let mut content = FolderContent::new(shown, folder);
        for entry in &entries {
            let path = folder.join(OsStr::from_bytes(entry));
            if entry.ends_with(b".pth") || entry.ends_with(b".egg-link") {
                self.inputs.add(shown, entry);
                let lines = read_lines(&path, shown)?;
                self.add_paths(shown, folder, &lines)?;
            } else if !listed.contains(entry) {
                content.add(&mut self.inputs, &path)?;
            }
        }
        Ok(())
    }

    /// Lines that name folders with packages: these are in the work tree, or in the installation.
    fn add_paths(&mut self, shown: &str, folder: &Path, lines: &[String]) -> Result<(), UnknownInput> {
        for line in lines.iter().map(|line| line.trim()) {
            let is_path = !line.is_empty() && !line.starts_with('#') && !line.starts_with("import");
            let leads_to = folder.join(line);
            if is_path && leads_to.exists() && !leads_to.starts_with(folder) {
                self.check_inside(shown, &leads_to)?;
            }
            let line = self.without_root(line.as_bytes());
            self.inputs.add(shown, &line);
        }
        Ok(())
    }

    /// The sources of a package that is installed from where they are edited have to be in the work tree.
    fn check_editable(&self, shown: &str, package: &Path) -> Result<(), UnknownInput> {
        let origin = read_lines(&package.join("direct_url.json"), shown)?.join("\n");
        let origin: serde_json::Value = serde_json::from_str(&origin).unwrap_or_default();
        if origin.pointer("/dir_info/editable") != Some(&true.into()) {
            return Ok(());
        }
        let sources = origin["url"].as_str().and_then(|url| url.strip_prefix("file://")).unwrap_or_default();
        self.check_inside(shown, Path::new(sources))
    }

    /// The lines of `~/.npmrc` that change more than where packages come from.
    ///
    /// # Errors
    /// [`UnknownInput`]
    pub(super) fn add_npm_settings(&mut self, path: &Path) -> Result<(), UnknownInput> {
        for line in read_lines(path, "~/.npmrc")? {
            let line = line.trim();
            let key = line.split('=').next().unwrap_or_default().trim().to_ascii_lowercase();
            let is_source = line.starts_with("//") || key.ends_with(":registry") || NPM_SOURCES.contains(&key.as_str());
            if !line.is_empty() && !line.starts_with(['#', ';']) && !is_source {
                self.inputs.add("~/.npmrc", line.as_bytes());
            }
        }
        Ok(())
    }

    /// A text with a dot in place of the work tree's path.
    fn without_root(&self, text: &[u8]) -> Vec<u8> {
        bytes::replace_path(text, self.root.as_os_str().as_bytes(), b".")
    }
}

/// What package managers say that they installed in a `node_modules`.
struct NodeLists {
    /// The packages of npm's list that have digests; `None` where npm left no list.
    npm: Option<BTreeSet<String>>,
    /// Yarn's lists, which name packages that the lock file has the digests of.
    yarn: String,
}

impl NodeLists {
    fn read(folder: &Path) -> Result<Self, UnknownInput> {
        let text = |name: &str| Ok(read_lines(&folder.join(name), "node_modules")?.join("\n"));
        let yarn = [text(".yarn-integrity")?, text(".yarn-state.yml")?].join("\n");
        let npm = text(".package-lock.json")?;
        let npm = (!npm.is_empty()).then(|| {
            let list: serde_json::Value = serde_json::from_str(&npm).unwrap_or_default();
            let packages = list.get("packages").and_then(|packages| packages.as_object()).into_iter().flatten();
            let has_digest = packages.filter(|(_, package)| package.get("integrity").is_some_and(|it| it.is_string()));
            has_digest.filter_map(|(path, _)| path.strip_prefix("node_modules/").map(str::to_owned)).collect()
        });
        Ok(NodeLists { npm, yarn })
    }

    /// Whether a list describes the content of a package. Those of pnpm are links, and what is none it did not install.
    fn describe(&self, package: &str) -> bool {
        match &self.npm {
            Some(packages) => packages.contains(package),
            None => self.yarn.contains(&format!("\"{package}@")),
        }
    }
}

/// The lines of a package's list that have digests, without what the installer notes, and scripts, which have the
/// interpreter's path in them.
fn sorted_record(package: &Path, shown: &str) -> Result<Vec<String>, UnknownInput> {
    let mut record = read_lines(&package.join("RECORD"), shown)?;
    record.retain(|line| line.contains("sha256=") && !line.starts_with("..") && !line.contains(".dist-info/"));
    record.sort_unstable();
    Ok(record)
}

/// The lines of a file; none of one that isn't there.
///
/// # Errors
/// [`UnknownInput::Unreadable`]
pub(super) fn read_lines(path: &Path, name: &str) -> Result<Vec<String>, UnknownInput> {
    let unreadable = || UnknownInput::Unreadable(name.to_owned());
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= FILE_BYTES_MAX => {
            let content = fs::read(path).map_err(|_| unreadable())?;
            Ok(String::from_utf8_lossy(&content).lines().map(str::to_owned).collect())
        }
        Err(error) if is_absent(&error) => Ok(Vec::new()),
        _ => Err(unreadable()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const PACKAGES: &str = ".venv/lib/python3.11/site-packages";

    struct Project(tempfile::TempDir);

    impl Project {
        fn new() -> Self {
            let project = Project(tempfile::tempdir().expect("a folder"));
            project.write("root/.venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.11\n");
            project.write(
                &format!("root/{PACKAGES}/shop-1.dist-info/RECORD"),
                "shop/a.py,sha256=aa,1\n../../bin/x,sha256=b,1\n",
            );
            project.write(
                "root/node_modules/.package-lock.json",
                "{\"packages\": {\"node_modules/a\": {\"integrity\": \"x\"}}}",
            );
            project.write("root/node_modules/a/index.js", "1");
            project
        }

        fn write(&self, path: &str, content: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, content).expect("written");
        }

        fn digest(&self) -> Result<String, UnknownInput> {
            let root = self.0.path().join("root");
            let mut inputs = PortableInputs { root: &root, inputs: InputHasher::default() };
            inputs.add_project(&root, true)?;
            inputs.check_above()?;
            Ok(inputs.inputs.finish().digest)
        }
    }

    #[test]
    fn the_place_of_a_project_does_not_count_and_what_is_installed_does() {
        let project = Project::new();
        let digest = project.digest().expect("known");
        assert_eq!(Project::new().digest().as_ref(), Ok(&digest));
        // Where Python was, and what a list with digests describes already.
        project.write("root/.venv/pyvenv.cfg", "home = /opt/bin\nversion = 3.11\n");
        project.write(&format!("root/{PACKAGES}/shop/a.py"), "other");
        project.write("root/node_modules/a/index.js", "2");
        assert_eq!(project.digest().as_ref(), Ok(&digest));
        let mut seen = vec![digest];
        let changes = [
            ("root/.venv/pyvenv.cfg".to_owned(), "version = 3.12\n"),
            (format!("root/{PACKAGES}/shop-1.dist-info/RECORD"), "shop/a.py,sha256=bb,1\n"),
            (format!("root/{PACKAGES}/unlisted/b.py"), "1"),
            (format!("root/{PACKAGES}/unlisted/b.py"), "2"),
            (format!("root/{PACKAGES}/hook.pth"), "import hook\n"),
            ("root/node_modules/b/index.js".to_owned(), "1"),
            ("root/node_modules/b/index.js".to_owned(), "2"),
            ("root/node_modules/@s/c/index.js".to_owned(), "1"),
            ("root/.env.test".to_owned(), "A=1"),
        ];
        for (path, content) in changes {
            project.write(&path, content);
            let digest = project.digest().expect("known");
            assert!(!seen.contains(&digest), "{path}");
            seen.push(digest);
        }
    }

    #[test]
    fn packages_that_a_package_manager_did_not_install_count_by_their_bytes() {
        for (list, content) in [
            (".package-lock.json", "{\"packages\": {\"node_modules/a\": {\"integrity\": \"x\"}}}"),
            (".yarn-integrity", "{\"lockfileEntries\": {\"a@^1.0.0\": \"x\"}}"),
            (".yarn-state.yml", "\"a@npm:1.0.0\":\n  locations:\n    - \"node_modules/a\"\n"),
            (".pnpm/lock.yaml", "packages:\n"),
        ] {
            let project = Project::new();
            fs::remove_file(project.0.path().join("root/node_modules/.package-lock.json")).expect("removed");
            project.write(&format!("root/node_modules/{list}"), content);
            let mut seen = Vec::new();
            for (package, content) in [("a", "1"), ("a", "2"), ("ab", "1"), ("ab", "2")] {
                project.write(&format!("root/node_modules/{package}/index.js"), content);
                seen.push(project.digest().expect("known"));
            }
            // What pnpm installs are links.
            assert_eq!(seen[0] == seen[1], !list.starts_with(".pnpm"), "{list}");
            assert_ne!(seen[2], seen[3], "{list}");
        }
    }

    #[test]
    fn what_leads_out_of_the_work_tree_is_not_known() {
        let outside = |name: &str| Err(UnknownInput::Outside(name.to_owned()));
        let project = Project::new();
        project.write("library/index.js", "1");
        project.write("root/packages/own/index.js", "1");
        symlink("../packages/own", project.0.path().join("root/node_modules/own")).expect("linked");
        assert!(project.digest().is_ok(), "a workspace");
        symlink("../../library", project.0.path().join("root/node_modules/linked")).expect("linked");
        assert_eq!(project.digest(), outside("node_modules"));

        let project = Project::new();
        project.write("library/lib.py", "1");
        let library = project.0.path().join("library");
        let url = format!("{{\"url\": \"file://{}\", \"dir_info\": {{\"editable\": true}}}}", library.display());
        project.write(&format!("root/{PACKAGES}/shop-1.dist-info/direct_url.json"), &url);
        assert_eq!(project.digest(), outside(".venv"));

        let project = Project::new();
        project.write("library/lib.py", "1");
        project.write(&format!("root/{PACKAGES}/lib.pth"), &format!("{}\n", library_of(&project)));
        assert_eq!(project.digest(), outside(".venv"));

        let project = Project::new();
        project.write("node_modules/a/index.js", "1");
        let above = project.0.path().join("node_modules").to_string_lossy().into_owned();
        assert_eq!(project.digest(), outside(&above));
    }

    fn library_of(project: &Project) -> String {
        project.0.path().join("library").to_string_lossy().into_owned()
    }
}
