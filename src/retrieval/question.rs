//! A question about what is going to fail: as it is asked, and as the index understands it.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::base::clock::Timestamp;
use crate::capture::Identity;
use crate::config::Places;
use crate::redact::redact_text;

/// Files of one question.
const FILES_MAX: usize = 200;

/// What is asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct WarnRequest {
    /// Who asks, and for which task.
    pub identity: Identity,
    /// What the task is about.
    pub title: Option<String>,
    /// What kind of work it is.
    pub category: Option<String>,
    /// Files that it will touch, as typed.
    pub files: Vec<PathBuf>,
    /// A command that is about to run.
    pub command: Option<String>,
    /// Maximum number of results (else setting `advice.limit`).
    pub limit: Option<usize>,
    /// `text`, `markdown`, or the name of a template of the user's.
    pub format: Option<String>,
    /// Where it is shown.
    pub surface: String,
    /// Only what this session has neither been shown nor seen itself, and was not held out from.
    pub news: bool,
    /// The files are about to be edited, or the command to be run: not only mentioned.
    pub at_hand: bool,
    /// The quality gate asks: nothing is held out, and nothing that it shows counts as a warning.
    pub for_gate: bool,
    /// A check that has just failed: what is known of its failure is asked for, and nothing else.
    pub failed: Option<CurrentFailure>,
}

/// A failure of this moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CurrentFailure {
    /// The keys of its patterns, in the order of the output.
    pub keys: Vec<String>,
    /// When the check was started. What is recorded of it already counts for nothing.
    pub started_at: Timestamp,
}

/// The question as the index understands it.
#[derive(Debug, Default)]
pub(crate) struct WarnQuestion {
    /// The task that it is for.
    pub task: String,
    /// The session.
    pub session: String,
    /// Files, relative to the root.
    pub files: Vec<String>,
    /// The tool class of the command.
    pub class: Option<String>,
    /// What the task is about.
    pub title: String,
    /// What kind of work it is.
    pub category: Option<String>,
    /// The telling words of the title.
    pub words: Vec<String>,
}

/// Paths as they were typed in `cwd`, relative to the root with `/`; those outside of it are left out.
pub(crate) fn relative_files(places: &Places, cwd: &Path, files: &[PathBuf]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for file in files {
        let mut path = PathBuf::new();
        for part in cwd.join(file).components() {
            match part {
                Component::ParentDir => drop(path.pop()),
                Component::CurDir => {}
                part => path.push(part),
            }
        }
        let Some(relative) = places.relative(&path).or_else(|| relative_by_links(places, &path)) else { continue };
        let relative = redact_text(&relative.to_string_lossy()).0.into_owned();
        if !relative.is_empty() && !found.contains(&relative) && found.len() < FILES_MAX {
            found.push(relative);
        }
    }
    found
}

/// The path relative to the root where one of the two is named by way of a link, as a host may do.
fn relative_by_links(places: &Places, path: &Path) -> Option<OsString> {
    let root = places.root.canonicalize().ok()?;
    // The file may be about to be made, and its folder with it.
    let known = path.ancestors().find_map(|dir| Some((dir, dir.canonicalize().ok()?)))?;
    let rest = path.strip_prefix(known.0).ok()?;
    let parts = known.1.strip_prefix(root).ok()?.components().chain(rest.components());
    Some(parts.collect::<PathBuf>().into_os_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_from_where_they_were_typed() {
        let dir = tempfile::tempdir().expect("a folder");
        let places = Places {
            root: dir.path().to_owned(),
            repository: None,
            state: dir.path().join("state").into(),
            fallbacks: Vec::new(),
        };
        let asked = ["a.py", "./a.py", "../web/b.ts", "../../outside", "/etc/passwd", ".."].map(PathBuf::from);
        let found = relative_files(&places, &dir.path().join("src"), &asked);
        assert_eq!(found, ["src/a.py", "web/b.ts"]);
    }

    #[test]
    fn a_link_to_the_project_names_its_files() {
        let dir = tempfile::tempdir().expect("a folder");
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        std::fs::create_dir_all(real.join("src")).expect("a folder");
        std::fs::write(real.join("src/a.py"), "").expect("a file");
        std::os::unix::fs::symlink(&real, &link).expect("a link");
        for (root, named) in [(&real, &link), (&link, &real)] {
            let places = Places {
                root: root.clone(),
                repository: None,
                state: dir.path().join("state").into(),
                fallbacks: Vec::new(),
            };
            let asked = [named.join("src/a.py"), named.join("new/b.py"), dir.path().join("c.py")];
            assert_eq!(relative_files(&places, root, &asked), ["src/a.py", "new/b.py"]);
        }
    }
}
