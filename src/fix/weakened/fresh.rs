//! The assertions that a diff adds: where one that is gone may be now.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::census::TestInventory;
use super::language::FileRole;
use super::lazy::compile_regex;
use super::lexis::{identifiers_of, plain_spelling, without_whitespace};
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
            // One that was there, with other quotes, has come from nowhere.
            let spelling = |line: &DiffLine<'_>| plain_spelling(&line.masked.text);
            let was: HashSet<String> = view.changed_lines(DiffSide::Old).map(spelling).collect();
            let lines = view
                .hunks
                .iter()
                .flat_map(|sides| sides.new.iter().enumerate().map(|(at, line)| (&sides.new[..at], line)));
            let asserts = lines.filter(|(_, line)| {
                line.changed && language.asserts.is_match(&line.masked.code) && !was.contains(&spelling(line))
            });
            let words =
                asserts.take(ASSERTIONS_MAX).map(|(above, line)| line_words(line, guard_above(above.iter(), line)));
            asserted.words.extend(words);
        }
        for test in census.new.iter().filter(|test| test.twin.is_none()) {
            let Some(language) = views[test.file].language else { continue };
            let body = test.body_lines(&views[test.file].hunks[test.hunk].new);
            let count = body.iter().filter(|line| language.asserts.is_match(&line.masked.code)).count();
            *asserted.fresh.entry(test.file).or_default() += count;
        }
        asserted
    }

    /// Whether an assertion is elsewhere now, maybe in other words; `guard` is the condition that it fails under.
    pub(super) fn has_line(&self, line: &DiffLine<'_>, guard: Option<&DiffLine<'_>>) -> bool {
        let own = line_words(line, guard);
        let there = |other: &HashSet<String>| {
            own.intersection(other).count() as f64 >= MOVED_SHARE * own.len().max(other.len()) as f64
        };
        guard.is_none() && self.lines.contains(&without_whitespace(&line.masked.text))
            || !own.is_empty() && self.words.iter().any(there)
    }

    pub(super) fn count_fresh(&self, file: usize) -> usize {
        self.fresh.get(&file).copied().unwrap_or_default()
    }
}

/// Fails the test, whatever it is that is wrong: Go's assertions.
static FAILS: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"^\s*\w+\.(?:Error|Fatal)f?\(").expect("a regex"));

/// The condition right above a call that only fails the test: what is asserted.
pub(super) fn guard_above<'l, 'p: 'l>(
    above: impl DoubleEndedIterator<Item = &'l DiffLine<'p>>,
    line: &DiffLine<'_>,
) -> Option<&'l DiffLine<'p>> {
    if !FAILS.is_match(&line.masked.code) {
        return None;
    }
    let guard = above.rev().find(|other| other.has_code() && other.indent < line.indent);
    guard.filter(|guard| guard.masked.code.contains("if "))
}

fn line_words(line: &DiffLine<'_>, guard: Option<&DiffLine<'_>>) -> HashSet<String> {
    [Some(line), guard]
        .into_iter()
        .flatten()
        .flat_map(|line| identifiers_of(&line.masked.text))
        .map(str::to_owned)
        .collect()
}
