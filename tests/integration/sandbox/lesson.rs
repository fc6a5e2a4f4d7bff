//! A lesson file, read as its front matter says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use verify_run::config::{Environment, Places};

use super::{Sandbox, files_in};

/// A lesson file as a user finds it.
pub(crate) struct Lesson {
    /// Where it is.
    pub path: PathBuf,
    /// All of it.
    pub text: String,
}

impl Lesson {
    /// The value of a one-line front matter field, without quotes; `None` when the field is missing or empty.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let (front, _) = self.text.strip_prefix("---\n")?.split_once("\n---\n")?;
        let line = front.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let value = line.trim().trim_matches(['"', '\'']);
        (!value.is_empty() && value != "null").then_some(value)
    }

    /// The entries of a front matter list, without quotes.
    pub(crate) fn list(&self, name: &str) -> Vec<&str> {
        let front = self.text.strip_prefix("---\n").and_then(|text| text.split_once("\n---\n")).map_or("", |it| it.0);
        let mut lines =
            front.lines().skip_while(|line| line.strip_prefix(name).is_none_or(|rest| !rest.starts_with(':')));
        let Some(first) = lines.next() else { return Vec::new() };
        let inline = first[name.len() + 1..].trim();
        if let Some(inside) = inline.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            return inside.split(',').map(unquoted).filter(|entry| !entry.is_empty()).collect();
        }
        lines.map_while(|line| line.trim_start().strip_prefix("- ")).map(unquoted).collect()
    }
}

impl Sandbox {
    /// The lesson files written so far, sorted by name, once the recorder is done.
    pub(crate) fn lessons(&self) -> Vec<Lesson> {
        self.lessons_in(&self.work())
    }

    /// As [`Sandbox::lessons`], of another project.
    pub(crate) fn lessons_in(&self, project: &Path) -> Vec<Lesson> {
        self.settle();
        let state = Places::find(project, &self.places_environment()).state;
        let folders = BTreeSet::from([project.join("lessons"), project.join(".lessons"), state.join("lessons")]);
        let files = folders.iter().flat_map(|dir| files_in(dir));
        files
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
            .map(|path| Lesson { text: fs::read_to_string(&path).expect("a lesson is UTF-8"), path })
            .collect()
    }

    fn places_environment(&self) -> Environment {
        Environment {
            home: Some(self.home()),
            xdg_state_home: Some(self.home().join(".local/state")),
            tmpdir: Some(self.tmp()),
            ..Environment::default()
        }
    }

    /// Every lesson is kept in this sandbox, not only those that are worth it once they are fixed.
    pub(crate) fn keep_lessons(&self) {
        let folder = self.home().join(".config/verify-run");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("verify-run.toml"), "[lesson]\nwrite = \"always\"\n").expect("the settings");
    }

    /// The one lesson written so far.
    pub(crate) fn lesson(&self) -> Lesson {
        let mut lessons = self.lessons();
        let names: Vec<_> = lessons.iter().map(|lesson| lesson.path.clone()).collect();
        assert_eq!(lessons.len(), 1, "expected one lesson, found {names:?}");
        lessons.remove(0)
    }
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}
