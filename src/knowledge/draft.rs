//! An entry as it is given, before it is checked.

use serde_json::{Map, Value};

use crate::event::{EntrySource, EntryTypeName};

/// An entry as it is given.
#[derive(Debug, Clone, Default)]
pub(crate) struct EntryDraft {
    /// Its type.
    pub kind: EntryTypeName,
    /// One line.
    pub title: String,
    /// What its type asks for.
    pub properties: Map<String, Value>,
    /// Files that it is about.
    pub globs: Vec<String>,
    /// What is being done when it matters.
    pub actions: Vec<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What it comes from.
    pub sources: Vec<String>,
    /// Who knows it; else who says so.
    pub source: Option<EntrySource>,
    /// It prevented the mistake.
    pub prevented: bool,
    /// Its fix was seen to work.
    pub fix_applied: bool,
    /// The name of a person.
    pub person: Option<String>,
}

impl EntryDraft {
    /// This over `other`: what is said here holds, what isn't is taken from there.
    pub(crate) fn merge_over(self, mut other: EntryDraft) -> EntryDraft {
        if !self.title.is_empty() {
            other.title = self.title;
        }
        other.properties.extend(self.properties);
        let both = |mut own: Vec<String>, theirs: Vec<String>| {
            own.extend(theirs);
            own
        };
        other.globs = if self.globs.is_empty() { other.globs } else { self.globs };
        other.actions = both(self.actions, other.actions);
        other.tags = both(self.tags, other.tags);
        other.sources = both(self.sources, other.sources);
        other.source = self.source.or(other.source);
        other.prevented |= self.prevented;
        other.fix_applied |= self.fix_applied;
        other.person = self.person.or(other.person);
        other
    }
}
