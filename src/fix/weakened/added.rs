//! What a diff adds, as words and lines: where a test that is gone may be now.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::language::FileRole;
use super::lazy::compile_regex;
use super::lexis::{identifiers_of, without_whitespace};
use super::view::{DiffLine, DiffSide, FileView};

/// A test of which this many lines are elsewhere now has moved.
pub(super) const MOVED_SHARE: f64 = 0.6;
/// Lines shorter than this say nothing about where they come from, bytes.
const TELLING_BYTES_MIN: usize = 8;

/// What the new side has that the old one hadn't, without blanks.
#[derive(Debug, Default)]
pub(super) struct AddedText<'v> {
    pub(super) code: HashSet<String>,
    pub(super) comments: Vec<String>,
    words: HashMap<&'v str, usize>,
    /// Texts of test files that may be a test's name in another framework, as `plain_title` gives them.
    pub(super) titles: HashSet<String>,
    /// Names that a macro gets first, as one that makes a test does.
    pub(super) macros: HashSet<String>,
}

impl<'v> AddedText<'v> {
    pub(super) fn from_views(views: &'v [FileView<'_>]) -> Self {
        let mut added = AddedText::default();
        for (view, line) in views
            .iter()
            .filter(|view| view.part != FileRole::Document)
            .flat_map(|view| view.changed_lines(DiffSide::New).map(move |line| (view, line)))
        {
            if view.part == FileRole::Test {
                let titles = TITLE.captures_iter(&line.masked.text).map(|groups| plain_title(&groups[1]));
                added.titles.extend(titles.filter(|title| title.len() >= TITLE_BYTES_MIN));
                added.macros.extend(MACRO.captures(&line.masked.code).map(|groups| groups[1].to_owned()));
            }
            if line.has_code() {
                added.code.insert(without_whitespace(&line.masked.text));
                for word in identifiers_of(&line.masked.code) {
                    *added.words.entry(word).or_default() += 1;
                }
            }
            let comment = without_whitespace(&line.masked.comment);
            if !comment.is_empty() {
                added.comments.push(comment);
            }
        }
        added
    }

    /// Whether most of what these lines say is among them; also when they are empty.
    pub(super) fn has_most_of<'l>(&self, lines: impl Iterator<Item = &'l DiffLine<'l>>) -> bool {
        let (mut all, mut there) = (0_u32, 0_u32);
        for line in lines.filter(|line| is_telling(line)) {
            all += 1;
            there += u32::from(self.code.contains(&without_whitespace(&line.masked.text)));
        }
        f64::from(there) >= MOVED_SHARE * f64::from(all)
    }

    /// Whether a function of this name is used besides being defined.
    pub(super) fn has_call(&self, name: &str) -> bool {
        self.words.get(name).is_some_and(|count| *count > 1)
    }
}

/// The text that a test is called by where it is no function's name.
static TITLE: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r#"(?:\b(?:it|test|specify|should|scenario|example|Test|TEST_CASE|Run)\s*\(?|^)\s*["'`]([^"'`]+)["'`]"#,
    )
    .expect("a regex")
});
/// What a macro is given first.
static MACRO: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"^\s*\w+!\s*[({]\s*(\w+)\s*,").expect("a regex"));
/// Shorter titles are everywhere, bytes.
const TITLE_BYTES_MIN: usize = 8;

/// What a test is called in every framework: `basic logging works` and `test_BasicLoggingWorks`.
pub(super) fn plain_title(name: &str) -> String {
    let letters: String = name.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    letters.strip_prefix("test").unwrap_or(&letters).to_owned()
}

pub(super) fn is_telling(line: &DiffLine<'_>) -> bool {
    line.has_code() && line.masked.text.trim().len() >= TELLING_BYTES_MIN
}
