//! The project's files, as the diagnosis sees them.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::base::limits::{TREE_DEPTH_MAX, TREE_FILES_MAX};

/// Answers which files a project has. Paths are relative to its root, with `/`.
pub trait FileTree {
    /// Whether `path` is an existing file.
    fn contains(&self, path: &str) -> bool;

    /// The one file whose path ends with `tail` at a `/` boundary; `None` when there is none or several.
    fn find_tail(&self, tail: &str) -> Option<String>;

    /// Whether the tree can be asked at all: where it can't, a path that is not found may still exist.
    fn is_known(&self) -> bool {
        true
    }
}

/// A tree without files: every path is taken as it is printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct EmptyTree;

impl FileTree for EmptyTree {
    fn contains(&self, _path: &str) -> bool {
        false
    }

    fn find_tail(&self, _tail: &str) -> Option<String> {
        None
    }

    fn is_known(&self) -> bool {
        false
    }
}

/// Folders that hold no file a person edits; they are not walked.
const SKIPPED: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "node_modules",
    "bower_components",
    "target",
    "__pycache__",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".gradle",
    ".idea",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".turbo",
    ".cache",
    "_build",
    "deps",
    "Pods",
    "DerivedData",
    ".build",
    ".bundle",
    ".terraform",
    "site-packages",
    ".eggs",
    ".yarn",
];

/// A tree on disk. A question for an existing path is one `stat`; the first question for a tail walks the tree once,
/// at most [`TREE_FILES_MAX`] files deep.
#[derive(Debug)]
pub struct FsTree {
    root: PathBuf,
    by_name: OnceLock<HashMap<String, BTreeSet<String>>>,
}

impl FsTree {
    /// The tree under `root`; nothing is read yet.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        FsTree { root: root.into(), by_name: OnceLock::new() }
    }

    fn by_name(&self) -> &HashMap<String, BTreeSet<String>> {
        self.by_name.get_or_init(|| {
            let mut index: HashMap<String, BTreeSet<String>> = HashMap::new();
            let mut left = TREE_FILES_MAX;
            walk(&self.root, "", TREE_DEPTH_MAX, &mut left, &mut |relative, name| {
                index.entry(name.to_owned()).or_default().insert(relative);
            });
            index
        })
    }
}

impl FileTree for FsTree {
    fn contains(&self, path: &str) -> bool {
        !path.is_empty() && !path.contains('\0') && self.root.join(path).is_file()
    }

    fn find_tail(&self, tail: &str) -> Option<String> {
        let name = tail.rsplit('/').next()?;
        let mut fits = self.by_name().get(name)?.iter().filter(|path| ends_with_path(path, tail));
        match (fits.next(), fits.next()) {
            (Some(path), None) => Some(path.clone()),
            _ => None,
        }
    }
}

/// Whether `path` is `tail` or ends with it after a `/`.
pub fn ends_with_path(path: &str, tail: &str) -> bool {
    path.strip_suffix(tail).is_some_and(|head| head.is_empty() || head.ends_with('/'))
}

fn walk(dir: &Path, relative: &str, depth: usize, left: &mut usize, found: &mut impl FnMut(String, &str)) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    let mut folders = Vec::new();
    for entry in entries.flatten() {
        if *left == 0 {
            return;
        }
        let name = entry.file_name();
        let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else { continue };
        let path = if relative.is_empty() { name.to_owned() } else { format!("{relative}/{name}") };
        if kind.is_dir() {
            if !SKIPPED.contains(&name) {
                folders.push((entry.path(), path));
            }
        } else {
            *left -= 1;
            found(path, name);
        }
    }
    if depth > 0 {
        for (folder, path) in folders {
            walk(&folder, &path, depth - 1, left, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_is_found_only_when_one_file_has_it() {
        let dir = tempfile::tempdir().expect("temporary folder");
        for path in ["src/a/main.c", "src/b/main.c", "src/only.c", "node_modules/x/only.c"] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folders");
            std::fs::write(path, "").expect("file");
        }
        let tree = FsTree::new(dir.path());
        assert!(tree.contains("src/only.c"));
        assert!(!tree.contains("src"));
        assert_eq!(tree.find_tail("only.c").as_deref(), Some("src/only.c"));
        assert_eq!(tree.find_tail("main.c"), None);
        assert_eq!(tree.find_tail("b/main.c").as_deref(), Some("src/b/main.c"));
        assert_eq!(tree.find_tail("nly.c"), None);
    }
}
