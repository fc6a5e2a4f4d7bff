//! Which tests name which criteria.

use super::declaration::{TestDeclaration, TestLanguage, find_tests};
use super::mention::{CriterionMention, mentions_in_name, mentions_in_text};
use super::selector::TestRunner;
use crate::base::text;
use crate::gate::prp::AcceptanceCriterion;

/// Test files that are read; further ones are counted.
pub(crate) const TEST_FILES_MAX: usize = 5_000;
/// Tests of all files; further ones are not looked at.
pub(crate) const TESTS_MAX: usize = 50_000;
/// Links of all criteria; further ones are counted.
pub(crate) const LINKS_MAX: usize = 2_000;
/// The name of a test as it is shown, bytes.
const SHOWN_NAME_BYTES_MAX: usize = 300;

/// A file that may hold tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TestSource<'a> {
    /// The path, relative to the project's folder, with `/`.
    pub path: &'a str,
    /// The text.
    pub text: &'a str,
}

/// A test with the words that run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SelectableTest {
    /// The file, relative to the project's folder.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// The names of its blocks and its own, in one line, for people.
    pub shown_name: String,
    /// The test's own name.
    pub name: String,
    /// The argument words that run only this test, from the project's folder; empty where that is not possible.
    pub selector: Vec<String>,
    /// Whether its declaration says that it is not run.
    pub is_skipped: bool,
    mentions: Vec<CriterionMention>,
    /// The names of its blocks and its own, with `::` between them.
    full_name: String,
}

/// A test that names a criterion. It covers it only when it is run and passes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CriterionLink {
    /// The id of the criterion.
    pub criterion: String,
    /// An index into the tests.
    pub test: usize,
}

/// The tests of a project, and what they name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TestIndex {
    /// The tests, by file and line.
    pub tests: Vec<SelectableTest>,
    /// Test files beyond [`TEST_FILES_MAX`] or [`TESTS_MAX`], which were not read.
    pub omitted_files: usize,
}

/// Whether a file may hold tests, by its path in the project's folder.
pub(crate) fn is_test_file(path: &str) -> bool {
    TestLanguage::of_test_file(path).is_some()
}

/// The tests in these files; files that are no tests are ignored. `package_json` is that of the project.
pub(crate) fn index_tests(sources: &[TestSource<'_>], package_json: Option<&str>) -> TestIndex {
    let mut index = TestIndex::default();
    let mut read = 0;
    for source in sources {
        let Some(language) = TestLanguage::of_test_file(source.path) else { continue };
        if read == TEST_FILES_MAX || index.tests.len() >= TESTS_MAX {
            index.omitted_files += 1;
            continue;
        }
        read += 1;
        let runner = TestRunner::of_file(language, source.text, package_json);
        let tests = find_tests(language, source.text);
        index.tests.extend(tests.iter().map(|test| selectable(source.path, runner, test)));
    }
    index.tests.truncate(TESTS_MAX);
    index
}

/// The tests that a selector of `qa-criteria.yml` names: `tests/test_api.py::TestPages::test_size`, with the names of the
/// blocks or without them. The path has to be the whole one.
pub(crate) fn find_selected(index: &TestIndex, selector: &str) -> Vec<usize> {
    let Some((path, names)) = selector.split_once("::") else { return Vec::new() };
    let path = path.trim_start_matches("./");
    let is_named = |test: &SelectableTest| test.name == names || test.full_name == names;
    let tests = index.tests.iter().enumerate();
    tests.filter(|(_, test)| test.path == path && is_named(test)).map(|(index, _)| index).collect()
}

fn selectable(path: &str, runner: TestRunner, test: &TestDeclaration) -> SelectableTest {
    let mut mentions: Vec<CriterionMention> = test.notes.iter().flat_map(|note| mentions_in_text(note)).collect();
    for name in test.blocks.iter().chain([&test.name]) {
        mentions.extend(mentions_in_text(name));
        if test.is_identifier {
            mentions.extend(mentions_in_name(name));
        }
    }
    let names: Vec<&str> = test.blocks.iter().chain([&test.name]).map(String::as_str).collect();
    SelectableTest {
        path: path.to_owned(),
        line: test.line,
        shown_name: text::ellipsis(&text::one_line(&names.join(" ")), SHOWN_NAME_BYTES_MAX),
        name: test.name.clone(),
        selector: runner.selector_words(path, test),
        is_skipped: test.is_skipped,
        mentions,
        full_name: names.join("::"),
    }
}

/// The tests that name each criterion, in the order of the criteria; and how many links beyond [`LINKS_MAX`] there are.
pub(crate) fn find_links(
    index: &TestIndex,
    criteria: &[AcceptanceCriterion],
    slug: Option<&str>,
) -> (Vec<CriterionLink>, usize) {
    let mut by_criterion: Vec<Vec<usize>> = vec![Vec::new(); criteria.len()];
    let naming = index.tests.iter().enumerate().filter(|(_, test)| !test.mentions.is_empty());
    for (test_index, test) in naming {
        for (criterion, tests) in criteria.iter().zip(&mut by_criterion) {
            if test.mentions.iter().any(|mention| mention.names_criterion(criterion.number, slug)) {
                tests.push(test_index);
            }
        }
    }
    let link = |(criterion, tests): (&AcceptanceCriterion, Vec<usize>)| {
        let id = criterion.id.clone();
        tests.into_iter().map(move |test| CriterionLink { criterion: id.clone(), test }).collect::<Vec<_>>()
    };
    let mut links: Vec<CriterionLink> = criteria.iter().zip(by_criterion).flat_map(link).collect();
    let omitted = links.len().saturating_sub(LINKS_MAX);
    links.truncate(LINKS_MAX);
    (links, omitted)
}

#[cfg(test)]
#[path = "link/tests.rs"]
mod tests;
