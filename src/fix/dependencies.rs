//! What no tree of the repository holds and a check still depends on: installed packages, local settings. Recognised
//! by the times of a few files that package managers write whenever they install.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::base::clock::Timestamp;

/// Folders looked at, from where the check ran up to the root.
const FOLDERS_MAX: usize = 8;
/// Packages looked at in one Python environment.
const PACKAGES_MAX: usize = 2_000;
/// Entries of a folder that are looked at for local settings.
const ENTRIES_MAX: usize = 2_000;

/// What package managers write: the file, and what it represents. Of each name the first that exists counts.
const MARKERS: [(&str, &str); 12] = [
    // npm, yarn 1, yarn 2 and later, pnpm; else the folder itself.
    ("node_modules", "node_modules/.package-lock.json"),
    ("node_modules", "node_modules/.yarn-integrity"),
    ("node_modules", "node_modules/.yarn-state.yml"),
    ("node_modules", "node_modules/.modules.yaml"),
    ("node_modules", "node_modules"),
    (".pnp.cjs", ".pnp.cjs"),
    ("vendor", "vendor/composer/installed.json"),
    ("vendor", "vendor/modules.txt"),
    (".bundle", ".bundle/config"),
    ("Pods", "Pods/Manifest.lock"),
    ("deps", "deps"),
    ("elm-stuff", "elm-stuff/i.dat"),
];
/// Python environments in a project.
const ENVIRONMENTS: [&str; 3] = [".venv", "venv", "env"];

/// What changed around a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DependencyChanges {
    /// What changed in the gap, relative to the root, sorted.
    pub changed: Vec<String>,
    /// Something changed later, which hides whether it changed in the gap, too.
    pub unsure: bool,
}

/// What changed around a check in `dir` below `root`, after `from` and before `to`: from the end of one run to the
/// start of the next.
pub(crate) fn dependency_changes(root: &Path, dir: &Path, from: Timestamp, to: Timestamp) -> DependencyChanges {
    let mut found = DependencyChanges::default();
    let inside = if dir.is_absolute() { Path::new("") } else { dir };
    for folder in inside.ancestors().take(FOLDERS_MAX) {
        for (name, changed_at) in package_states(&root.join(folder)) {
            if changed_at > to.0 {
                found.unsure = true;
            } else if changed_at > from.0 {
                found.changed.push(folder.join(name).to_string_lossy().into_owned());
            }
        }
    }
    found.changed.sort();
    found.changed.dedup();
    found
}

/// What there is in one folder, with the time of its last change in microseconds.
fn package_states(folder: &Path) -> Vec<(String, i64)> {
    let mut found: Vec<(String, i64)> = Vec::new();
    for (name, marker) in MARKERS {
        if found.iter().all(|(known, _)| known != name)
            && let Some(at) = changed_at(&folder.join(marker))
        {
            found.push((name.to_owned(), at));
        }
    }
    for name in ENVIRONMENTS {
        let latest = site_packages(&folder.join(name)).into_iter().filter_map(|dir| packages_changed_at(&dir)).max();
        found.extend(latest.map(|at| (name.to_owned(), at)));
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES_MAX) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == ".env" || name.starts_with(".env.") {
            found.extend(changed_at(&entry.path()).map(|at| (name, at)));
        }
    }
    found
}

/// `lib/python3.12/site-packages` of an environment.
fn site_packages(environment: &Path) -> Vec<PathBuf> {
    let versions = fs::read_dir(environment.join("lib")).into_iter().flatten().flatten().take(ENTRIES_MAX);
    versions.map(|version| version.path().join("site-packages")).filter(|dir| dir.is_dir()).collect()
}

/// When a package was installed last. The folder's own time changes with every cache that an import writes.
fn packages_changed_at(site_packages: &Path) -> Option<i64> {
    let entries = fs::read_dir(site_packages).ok()?.flatten();
    let installed = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        [".dist-info", ".egg-info", ".egg-link", ".pth"].iter().any(|end| name.ends_with(end))
    });
    installed.take(PACKAGES_MAX).filter_map(|entry| changed_at(&entry.path())).max()
}

/// When content or attributes changed, by the kernel: package managers set the other time to what the archive says.
fn changed_at(path: &Path) -> Option<i64> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some(metadata.ctime().saturating_mul(1_000_000).saturating_add(metadata.ctime_nsec() / 1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_install_between_two_runs_is_seen_and_a_cache_is_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path();
        let packages = root.join("api/.venv/lib/python3.12/site-packages");
        fs::create_dir_all(packages.join("old-1.dist-info")).expect("a folder");
        fs::create_dir_all(root.join("web/node_modules")).expect("a folder");
        fs::write(root.join("web/node_modules/.package-lock.json"), "{}").expect("a file");
        // File times come from a clock that ticks, and on a busy machine not often.
        let later_than = |time: Timestamp| {
            let probe = root.join("probe");
            while fs::write(&probe, "").is_ok() && changed_at(&probe).expect("a file") <= time.0 {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        };
        let now = || {
            later_than(Timestamp::now());
            let now = Timestamp::now();
            later_than(now);
            now
        };
        let first = now();
        fs::write(root.join("web/node_modules/.package-lock.json"), "{\"a\":1}").expect("a file");
        fs::create_dir(packages.join("__pycache__")).expect("a folder");
        fs::write(root.join(".env"), "A=1").expect("a file");
        let second = now();
        let changed = |dir: &str, from, to| dependency_changes(root, Path::new(dir), from, to);
        let seen = changed("web", first, second);
        assert_eq!((seen.changed, seen.unsure), (vec![".env".to_owned(), "web/node_modules".to_owned()], false));
        assert_eq!(changed("api", first, second).changed, [".env"]);
        fs::create_dir(packages.join("new-1.dist-info")).expect("a folder");
        let third = now();
        assert_eq!(changed("api", second, third).changed, ["api/.venv"]);
        assert!(changed("api", first, second).unsure);
        assert_eq!(changed("web", second, third), DependencyChanges::default());
    }
}
