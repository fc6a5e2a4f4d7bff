//! Who asks, and about which files.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use crate::capture::Identity;
use crate::config::Places;
use crate::event::EventAuthor;
use crate::host::process::{self, ProcessCall};
use crate::redact::{redact_text, sanitize_name};

/// How long git may take to say a setting.
const GIT_LIMIT: Duration = Duration::from_secs(2);
/// Files of one question.
pub(super) const FILES_MAX: usize = 200;

/// The user's name as git knows it.
pub(super) fn user_name(places: &Places) -> Option<String> {
    let argv = ["git", "config", "user.name"].map(OsString::from);
    let call = ProcessCall { argv: &argv, dir: &places.root, variables: &[], input: b"", limit: GIT_LIMIT };
    let answer = process::run(call).ok().filter(|answer| answer.status.is_some_and(|status| status.success()))?;
    sanitize_name(&String::from_utf8_lossy(&answer.stdout))
}

/// Who says something, without secrets.
pub(super) fn author_of(identity: &Identity, task: Option<&str>) -> EventAuthor {
    let clean = |text: Option<&String>| text.and_then(|text| sanitize_name(text));
    EventAuthor {
        agent: clean(identity.agent.as_ref()),
        session: clean(identity.session.as_ref()),
        task: task.and_then(sanitize_name),
        person: None,
    }
}

/// Paths as they were typed in `cwd`, relative to the root with `/`; those outside of it are left out.
pub(super) fn relative_files(places: &Places, cwd: &Path, files: &[PathBuf]) -> Vec<String> {
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
        let Some(relative) = places.relative(&path) else { continue };
        let relative = redact_text(&relative.to_string_lossy()).0.into_owned();
        if !relative.is_empty() && !found.contains(&relative) && found.len() < FILES_MAX {
            found.push(relative);
        }
    }
    found
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
}
