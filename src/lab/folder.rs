//! Which of the ignored files and folders of a project a run is lent: installed packages, build caches and generated
//! files, so that it works as in the work tree. Never secrets, and nothing of git.

use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use crate::fix::snapshot::{IgnoredEntry, is_secret};

/// Names of folders that no run needs: what is in them is made again, or is verify-run's.
const NEVER_LENT: [&str; 8] =
    [".git", ".hypothesis", ".lessons", ".prp-session", ".pytest_cache", ".ruff_cache", ".runs", "__pycache__"];
/// Names of folders with installed packages and build caches: thousands of files, none of them the project's secrets.
const DEPENDENCY_FOLDERS: [&str; 14] = [
    "node_modules",
    ".venv",
    "venv",
    "target",
    "vendor",
    ".tox",
    ".nox",
    ".yarn",
    ".pnpm-store",
    ".gradle",
    "build",
    "dist",
    "deps",
    "lua_modules",
];
/// Folders that are lent; further ones are counted.
const FOLDERS_MAX: usize = 200;
/// Ignored files that are lent, their sizes, and all together, bytes.
const FILES_MAX: usize = 2_000;
const FILE_BYTES_MAX: u64 = 32 << 20;
const FILES_BYTES_MAX: u64 = 256 << 20;
/// Entries of lent folders that are looked at for secrets, and how deep.
const ENTRIES_MAX: usize = 5_000;
const DEPTH_MAX: usize = 3;

/// What is lent of a project; paths relative to its root.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct LentFolders {
    /// Folders: read as they are, and what is written is thrown away.
    pub folders: Vec<PathBuf>,
    /// Files: copied.
    pub files: Vec<PathBuf>,
    /// Links: copied as links.
    pub links: Vec<PathBuf>,
    /// What is in the folders and must not be seen.
    pub hidden: Vec<PathBuf>,
    /// Files and folders that are not lent, because of their number or size.
    pub omitted: usize,
}

impl LentFolders {
    /// Sorts the ignored entries of the project at `root`. `named` are files that the settings say checks depend on.
    pub(super) fn choose(root: &Path, ignored: &[IgnoredEntry], named: &[&str]) -> Self {
        let mut lent = LentFolders::default();
        let mut bytes = 0;
        for entry in ignored.iter().filter(|entry| may_be_lent(&entry.path)) {
            let Ok(metadata) = fs::symlink_metadata(root.join(&entry.path)) else { continue };
            let path = entry.path.clone();
            if metadata.is_symlink() {
                lent.links.push(path);
            } else if metadata.is_dir() {
                // One that can't be read can't be layered, and is of no use.
                if access(&root.join(&path), AccessFlags::R_OK | AccessFlags::X_OK).is_ok() {
                    lent.folders.push(path);
                } else {
                    lent.omitted += 1;
                }
            } else if metadata.is_file() {
                let fits = metadata.len() <= FILE_BYTES_MAX && bytes + metadata.len() <= FILES_BYTES_MAX;
                if fits && lent.files.len() < FILES_MAX {
                    bytes += metadata.len();
                    lent.files.push(path);
                } else {
                    lent.omitted += 1;
                }
            }
        }
        let is_known = |path: &PathBuf| {
            Path::new(path).file_name().is_some_and(|name| DEPENDENCY_FOLDERS.iter().any(|it| name == *it))
        };
        lent.folders.sort_by_key(|path| !is_known(path));
        lent.omitted += lent.folders.len().saturating_sub(FOLDERS_MAX);
        lent.folders.truncate(FOLDERS_MAX);
        lent.folders.sort();
        lent.hidden = find_secrets(root, lent.folders.iter().filter(|path| !is_known(path)));
        // The user says that checks need these, whatever they are called.
        let named =
            named.iter().map(PathBuf::from).filter(|path| root.join(path).is_file() && !lent.files.contains(path));
        lent.files.extend(named.filter(|path| may_be_named(path)).collect::<Vec<_>>());
        lent
    }
}

/// Whether an ignored path may be lent, as its names say.
fn may_be_lent(path: &Path) -> bool {
    let is_never = |part: &Path| {
        let name = part.file_name().unwrap_or_default();
        NEVER_LENT.iter().any(|never| name == *never)
    };
    may_be_named(path) && !path.ancestors().any(is_never)
}

/// Whether a path is no secret and nothing of git. A file that begins with `.env` is one, whatever follows.
fn may_be_named(path: &Path) -> bool {
    let is_environment =
        |part: &Path| part.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".env"));
    let is_git = |part: &Path| part.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"));
    !path.ancestors().any(|part| is_environment(part) || is_git(part)) && !is_secret(path)
}

/// Secrets and repositories in lent folders.
fn find_secrets<'a>(root: &Path, folders: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries = 0;
    let mut waiting: Vec<(PathBuf, usize)> = folders.map(|folder| (folder.clone(), 0)).collect();
    while let Some((folder, depth)) = waiting.pop() {
        for entry in fs::read_dir(root.join(&folder)).into_iter().flatten().flatten() {
            entries += 1;
            if entries > ENTRIES_MAX {
                return found;
            }
            let path = folder.join(entry.file_name());
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if !may_be_named(&path) {
                found.push(path);
            } else if is_folder && depth < DEPTH_MAX {
                waiting.push((path, depth + 1));
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn project(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "x").expect("a file");
        }
        dir
    }

    fn entries(paths: &[&str]) -> Vec<IgnoredEntry> {
        let entry =
            |path: &&str| IgnoredEntry { path: path.trim_end_matches('/').into(), is_folder: path.ends_with('/') };
        paths.iter().map(entry).collect()
    }

    fn paths(list: &[&str]) -> Vec<PathBuf> {
        list.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn packages_and_generated_files_are_lent_and_secrets_never() {
        let files = [
            "node_modules/a/index.js",
            "node_modules/a/.env",
            "web/node_modules/b/x",
            "out/.env.local",
            "out/deep/server.key",
            "out/app.js",
            "out/.git/config",
            "src/_version.py",
            ".env",
            ".env.production",
            ".envrc",
            "secrets/id_rsa",
            "credentials.json",
            "src/__pycache__/a.pyc",
            ".lessons/a.md",
        ];
        let dir = project(&files);
        let _listener = UnixListener::bind(dir.path().join("app.sock")).expect("a socket");
        symlink("node_modules", dir.path().join("modules")).expect("a link");
        let ignored = entries(&[
            "node_modules/",
            "web/node_modules/",
            "out/",
            "src/_version.py",
            ".env",
            ".env.production",
            ".envrc",
            "secrets/id_rsa",
            "credentials.json",
            "src/__pycache__/",
            ".lessons/",
            "app.sock",
            "modules",
            "gone/",
        ]);
        let lent = LentFolders::choose(dir.path(), &ignored, &[]);
        assert_eq!(lent.folders, paths(&["node_modules", "out", "web/node_modules"]));
        assert_eq!(lent.files, paths(&["src/_version.py"]));
        assert_eq!(lent.links, paths(&["modules"]));
        assert_eq!(lent.hidden, paths(&["out/.env.local", "out/.git", "out/deep/server.key"]));
        assert_eq!(lent.omitted, 0);
    }

    #[test]
    fn what_the_settings_name_is_lent_unless_it_is_a_secret() {
        let dir = project(&["config/local.json", ".env", "id_rsa"]);
        let lent = LentFolders::choose(dir.path(), &[], &["config/local.json", ".env", "id_rsa", "gone"]);
        assert_eq!(lent.files, paths(&["config/local.json"]));
    }

    #[test]
    fn a_file_that_is_too_large_is_counted() {
        let dir = project(&["small"]);
        let large = fs::File::create(dir.path().join("large")).expect("a file");
        large.set_len(FILE_BYTES_MAX + 1).expect("a length");
        let lent = LentFolders::choose(dir.path(), &entries(&["large", "small"]), &[]);
        assert_eq!((lent.files, lent.omitted), (paths(&["small"]), 1));
    }
}
