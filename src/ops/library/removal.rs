//! What goes with verify-run's records of a project: the folders of jobs, and candidates that are as they were written.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::candidate::ensure_inside_root;
use super::folder::PageFolders;
use super::job_folder::{RUNS, RUNS_IGNORED};
use super::standing::LibraryView;
use crate::event::LibraryFolderName;
use crate::ops::request::Request;

/// Files and folders that [`remove_job_files`] removes, relative to the root. Links are not followed.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn job_files(request: &Request) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = job_folders(&request.places.root);
    let index = request.open_as_it_is(&mut Vec::new())?;
    let view = LibraryView::read_folders(request, index.as_ref(), &[LibraryFolderName::Candidates])?;
    for page in &view.found {
        let written = view.recorded.pages.get(&page.front_matter.id).and_then(|it| it.written.as_ref());
        if written.is_some_and(|written| written.digest == page.file.digest) {
            found.push(page.path.clone());
        }
    }
    Ok(found)
}

/// `.runs/<task>/learn/<job>` of every task. Other programs have folders there, too.
fn job_folders(root: &Path) -> Vec<PathBuf> {
    let runs = root.join(RUNS);
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    if !is_folder(&runs) || ensure_inside_root(root, &runs).is_err() {
        return Vec::new();
    }
    let folders = |dir: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut entries: Vec<PathBuf> = entries.filter(|path| is_folder(path)).collect();
        entries.sort();
        entries
    };
    let is_job = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("j-"));
    let learn = folders(&runs).into_iter().map(|task| task.join("learn")).filter(|learn| is_folder(learn));
    let jobs = learn.flat_map(|learn| folders(&learn)).filter(is_job);
    jobs.filter_map(|path| Some(path.strip_prefix(root).ok()?.to_path_buf())).collect()
}

/// Removes what [`job_files`] found, and folders that are empty then.
///
/// # Errors
/// When something can't be removed.
pub(crate) fn remove_job_files(request: &Request, found: &[PathBuf]) -> anyhow::Result<()> {
    let root = &request.places.root;
    let pages = PageFolders::of_request(request);
    for path in found {
        if !path.starts_with(RUNS) {
            pages.remove_page(path)?;
            continue;
        }
        fs::remove_dir_all(root.join(path)).with_context(|| format!("cannot remove {}", path.display()))?;
        remove_empty(root, path.parent());
    }
    let runs = root.join(RUNS);
    let ignore = runs.join(".gitignore");
    let is_ours = fs::read(&ignore).is_ok_and(|bytes| bytes == RUNS_IGNORED);
    let is_alone = fs::read_dir(&runs).is_ok_and(|entries| entries.count() == 1);
    if is_ours && is_alone && runs.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        fs::remove_file(&ignore).with_context(|| format!("cannot remove {}", ignore.display()))?;
        remove_empty(root, Some(Path::new(RUNS)));
    }
    remove_empty(root, Some(&request.settings().patterns.dir));
    Ok(())
}

/// Removes a folder and those around it while they are empty. The root stays.
fn remove_empty(root: &Path, folder: Option<&Path>) {
    let around = folder.into_iter().flat_map(Path::ancestors).filter(|dir| !dir.as_os_str().is_empty());
    for dir in around {
        if fs::remove_dir(root.join(dir)).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_folders_of_jobs_are_found_and_links_are_not_followed() {
        let dir = tempfile::tempdir().expect("a folder");
        for folder in [".runs/main/learn/j-1", ".runs/main/learn/other", ".runs/0607/cli", "elsewhere/learn/j-2"] {
            fs::create_dir_all(dir.path().join(folder)).expect("a folder");
        }
        symlink(dir.path().join("elsewhere"), dir.path().join(".runs/linked")).expect("a link");
        assert_eq!(job_folders(dir.path()), [PathBuf::from(".runs/main/learn/j-1")]);
    }
}
