//! The assertions that a diff adds: where one that is gone may be now.

use std::collections::{HashMap, HashSet};

use super::census::TestInventory;
use super::language::FileRole;
use super::lexis::{identifiers_of, without_whitespace};
use super::view::{DiffLine, DiffSide, FileView};

/// An assertion of which this many words are in another one has moved.
const MOVED_SHARE: f64 = 0.75;
/// New assertions looked at in one file.
const ASSERTIONS_MAX: usize = 500;

/// The assertions that the new side has and the old one lacks.
pub(super) struct AddedAssertions {
    /// Without blanks.
    lines: HashSet<String>,
    /// The words of each assertion.
    words: Vec<HashSet<String>>,
    /// The assertions of each file in tests that are new.
    fresh: HashMap<usize, usize>,
}

impl AddedAssertions {
    pub(super) fn from_views(views: &[FileView<'_>], census: &TestInventory) -> Self {
        let mut asserted = AddedAssertions { lines: HashSet::new(), words: Vec::new(), fresh: HashMap::new() };
        for line in views.iter().flat_map(|view| view.changed_lines(DiffSide::New)) {
            asserted.lines.insert(without_whitespace(&line.masked.text));
        }
        for view in views.iter().filter(|view| !matches!(view.part, FileRole::Foreign | FileRole::Document)) {
            let Some(language) = view.language else { continue };
            let asserts = view.changed_lines(DiffSide::New).filter(|line| language.asserts.is_match(&line.masked.code));
            asserted.words.extend(asserts.take(ASSERTIONS_MAX).map(line_words));
        }
        for test in census.new.iter().filter(|test| test.twin.is_none()) {
            let Some(language) = views[test.file].language else { continue };
            let body = test.body_lines(&views[test.file].hunks[test.hunk].new);
            let count = body.iter().filter(|line| language.asserts.is_match(&line.masked.code)).count();
            *asserted.fresh.entry(test.file).or_default() += count;
        }
        asserted
    }

    /// Whether an assertion is elsewhere now, maybe in other words.
    pub(super) fn has_line(&self, line: &DiffLine<'_>) -> bool {
        let own = line_words(line);
        let there = |other: &HashSet<String>| {
            own.intersection(other).count() as f64 >= MOVED_SHARE * own.len().max(other.len()) as f64
        };
        self.lines.contains(&without_whitespace(&line.masked.text)) || !own.is_empty() && self.words.iter().any(there)
    }

    pub(super) fn count_fresh(&self, file: usize) -> usize {
        self.fresh.get(&file).copied().unwrap_or_default()
    }
}

fn line_words(line: &DiffLine<'_>) -> HashSet<String> {
    identifiers_of(&line.masked.text).map(str::to_owned).collect()
}
