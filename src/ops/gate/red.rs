//! Red evidence: whether a test that covers a criterion was seen failing before it passed. A test that never failed may
//! test nothing of the change.

use crate::ops::request::Request;
use crate::store::FailedTestRow;

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
pub(super) struct FailedTests {
    rows: Vec<FailedTestRow>,
}

impl FailedTests {
    /// Reads them; none where the store can't be read.
    pub(super) fn of_current_task(request: &Request) -> FailedTests {
        let read = || {
            let index = request.open_as_it_is(&mut Vec::new()).ok()??;
            let task = request.current_task(Some(&index)).ok()?;
            index.failed_tests(&task).ok()
        };
        FailedTests { rows: read().unwrap_or_default() }
    }

    /// Whether one of the runs saw this test fail.
    pub(super) fn include(&self, test: &CoveringTest) -> bool {
        self.rows.iter().any(|row| {
            let is_named = row.test.as_deref().is_some_and(|failed| contains_name(failed, &test.name));
            is_named || row.has_others && row.file.as_ref() == Some(&test.path)
        })
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
    fn a_run_names_the_first_of_tests_that_failed_in_the_same_way() {
        let row = |test: &str, has_others| FailedTestRow {
            file: Some("test_a.py".to_owned()),
            test: Some(test.to_owned()),
            has_others,
        };
        let second = CoveringTest {
            path: "test_a.py".to_owned(),
            line: 1,
            name: "test_two".to_owned(),
            words: Vec::new(),
            dir: String::new(),
        };
        assert!(!FailedTests { rows: vec![row("test_one", false)] }.include(&second));
        assert!(FailedTests { rows: vec![row("test_one", true)] }.include(&second));
    }
}
