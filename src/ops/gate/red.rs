//! Red evidence: whether a test that covers a criterion was seen failing before it passed. A test that never failed may
//! test nothing of the change.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::event::DiagnosticRecord;
use crate::ops::request::Request;
use crate::store::{FailedTestRow, SegmentFolder};

/// A test that covers a criterion.
#[derive(Debug, Clone)]
pub(super) struct CoveringTest {
    /// Its file, relative to the root.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// Its own name.
    pub name: String,
    /// The words that run it and no other, in `dir`.
    pub words: Vec<String>,
    /// The project's folder, relative to the root.
    pub dir: String,
}

/// The tests that recorded runs of the current task saw failing.
pub(super) struct FailedTests<'a> {
    request: &'a Request,
    rows: Vec<FailedTestRow>,
    /// What is known of the runs that were read.
    runs: RefCell<HashMap<String, Vec<FailedItem>>>,
}

/// What failed in a run, once or several times.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FailedItem {
    file: Option<String>,
    tests: Vec<String>,
    /// It represents tests that it does not name.
    has_unnamed: bool,
}

impl FailedItem {
    fn from_record(item: DiagnosticRecord) -> FailedItem {
        let tests: Vec<String> = item.tests().cloned().collect();
        // Before all of them were named, an item named its first test only.
        let has_unnamed = item.count as usize > tests.len() && item.other_tests.is_empty();
        FailedItem { file: item.file, tests, has_unnamed }
    }

    fn includes(&self, test: &CoveringTest) -> bool {
        let is_named = self.tests.iter().any(|failed| contains_name(failed, &test.name));
        is_named || self.has_unnamed && self.file.as_ref() == Some(&test.path)
    }
}

impl<'a> FailedTests<'a> {
    /// Reads them; none where the store can't be read.
    pub(super) fn of_current_task(request: &'a Request) -> FailedTests<'a> {
        let read = || {
            let index = request.open_as_it_is(&mut Vec::new()).ok()??;
            let task = request.current_task(Some(&index)).ok()?;
            index.failed_tests(&task).ok()
        };
        FailedTests { request, rows: read().unwrap_or_default(), runs: RefCell::default() }
    }

    /// Whether one of the runs saw this test fail.
    pub(super) fn include(&self, test: &CoveringTest) -> bool {
        self.rows.iter().any(|row| {
            let is_named = row.test.as_deref().is_some_and(|failed| contains_name(failed, &test.name));
            is_named || row.has_others && self.items_of(&row.run).iter().any(|item| item.includes(test))
        })
    }

    /// What failed in a run, from its event.
    fn items_of(&self, run: &str) -> Vec<FailedItem> {
        let read = || {
            let index = self.request.open_as_it_is(&mut Vec::new()).ok()??;
            let segments = SegmentFolder::new(self.request.places.state.events());
            let failure = index.read_run(&segments, run).ok()??.failure?;
            Some(failure.items.into_iter().map(FailedItem::from_record).collect())
        };
        self.runs.borrow_mut().entry(run.to_owned()).or_insert_with(|| read().unwrap_or_default()).clone()
    }
}

/// Whether `name` is in `text` with no letter or digit next to it.
pub(super) fn contains_name(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty()
        && text.match_indices(name).any(|(at, _)| {
            let (before, after) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_no_part_of_a_longer_one() {
        assert!(contains_name("test_rows.py::test_add", "test_add"));
        assert!(contains_name("rows > adds [1]", "adds"));
        assert!(!contains_name("test_rows.py::test_add_two", "test_add"));
        assert!(!contains_name("a", ""));
    }

    #[test]
    fn a_test_failed_if_an_item_names_it_or_has_tests_without_names() {
        let item = |tests: &[&str], has_unnamed| FailedItem {
            file: Some("test_a.py".to_owned()),
            tests: tests.iter().map(|test| (*test).to_owned()).collect(),
            has_unnamed,
        };
        let second = CoveringTest {
            path: "test_a.py".to_owned(),
            line: 1,
            name: "test_two".to_owned(),
            words: Vec::new(),
            dir: String::new(),
        };
        assert!(!item(&["test_one"], false).includes(&second));
        assert!(item(&["test_one", "test_a.py::test_two"], false).includes(&second));
        assert!(item(&["test_one"], true).includes(&second));
        let elsewhere = CoveringTest { path: "test_b.py".to_owned(), ..second };
        assert!(!item(&["test_one"], true).includes(&elsewhere));
    }
}
