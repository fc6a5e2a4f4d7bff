//! Finds patterns by the words of an output fragment: a test, a rule, the words of a message, a file. The last lines
//! of a run, a line of its summary, one finding without the line that said in which file: no definition reads those
//! as it reads the whole.

use std::collections::{BTreeMap, HashSet};

use crate::advice::mention;
use crate::store::{Index, PatternBriefRow, StoreError};

/// A text that is looked at, bytes of its end.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Words of it that are looked for, the longest.
const WORDS_MAX: usize = 60;
/// A word, letters and digits: names of one letter tell messages apart.
const WORD_LETTERS_MIN: usize = 1;
/// Patterns that are compared.
const COMPARED_MAX: usize = 80;
/// A message with fewer words may be anywhere by chance.
const MESSAGE_WORDS_MIN: usize = 2;
/// Characters of a message that a fragment must have to be taken for it.
const MESSAGE_SHARE: f64 = 0.75;
/// … and in addition to the rule's name.
const MESSAGE_SHARE_WITH_CODE: f64 = 0.5;

/// A pattern that a fragment names.
pub(crate) struct NamedPattern {
    /// Its row number.
    pub pattern: i64,
    /// How much of it is there; only for comparing.
    pub score: f64,
}

/// A text that is compared with patterns.
pub(crate) struct OutputFragment {
    text: String,
    words: HashSet<String>,
    names: HashSet<String>,
}

impl OutputFragment {
    /// From a text without terminal control.
    pub(crate) fn from_text(text: &str) -> Self {
        let text = &text[text.ceil_char_boundary(text.len().saturating_sub(TEXT_BYTES_MAX))..];
        let names = text.split(|letter: char| letter.is_whitespace() || "()[]{}\"'`,;".contains(letter));
        // A test's id is its name and those of what it is in.
        let names = names.flat_map(|name| {
            let last = name.rsplit("::").next().unwrap_or(name).trim_end_matches([':', '.']);
            [name.trim_end_matches([':', '.']).to_owned(), last.to_owned()]
        });
        OutputFragment {
            words: message_words(text).collect(),
            names: names.filter(|name| !name.is_empty()).collect(),
            text: text.to_owned(),
        }
    }

    /// The patterns that it names, what it names most of first.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn find_patterns(&self, index: &Index) -> Result<Vec<NamedPattern>, StoreError> {
        let mut candidates: BTreeMap<i64, ()> = BTreeMap::new();
        let mut words: Vec<&String> = self.words.iter().collect();
        words.sort_by_key(|word| (std::cmp::Reverse(word.len()), *word));
        let words: Vec<String> = words.into_iter().take(WORDS_MAX).cloned().collect();
        candidates.extend(index.patterns_with_words(&words)?.into_iter().map(|(pattern, _)| (pattern, ())));
        for (pattern, test) in index.tests_of_patterns()? {
            if self.has_test(&test) {
                candidates.insert(pattern, ());
            }
        }
        for file in mention::mentioned_files(&self.text.replace("::", " ")) {
            candidates.extend(index.patterns_of_file(&file)?.into_iter().map(|pattern| (pattern, ())));
        }
        let chosen: Vec<i64> = candidates.into_keys().collect();
        let chosen =
            if chosen.len() > COMPARED_MAX { index.most_frequent_patterns(&chosen, COMPARED_MAX)? } else { chosen };
        let mut found = Vec::new();
        for pattern in chosen {
            let row = index.brief_of_pattern(pattern)?;
            if let Some(score) = self.score_pattern(&row) {
                found.push(NamedPattern { pattern: row.number, score });
            }
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.pattern.cmp(&b.pattern)));
        Ok(found)
    }

    /// How much of a pattern it names: `None` where that may be chance.
    fn score_pattern(&self, row: &PatternBriefRow) -> Option<f64> {
        let test = row.newest.iter().any(|(_, test)| test.as_deref().is_some_and(|test| self.has_test(test)));
        let code = row.code.as_deref().is_some_and(|code| self.names.contains(code));
        let file = row.files.iter().any(|(file, _)| self.text.contains(file.as_str()));
        let messages = row.newest.iter().map(|(message, _)| message.as_str()).chain([row.masked.as_str()]);
        let (share, count) = messages
            .map(|message| self.message_share(message))
            .fold((0.0, 0), |best: (f64, usize), next| if next.0 > best.0 { next } else { best });
        let is_message = count >= MESSAGE_WORDS_MIN && share >= MESSAGE_SHARE
            || code && count > 0 && share >= MESSAGE_SHARE_WITH_CODE;
        let is_named = test || is_message || code && file;
        let part = |is: bool, weight: f64| if is { weight } else { 0.0 };
        is_named.then(|| part(test, 2.0) + share + part(code, 0.5) + part(file, 0.5))
    }

    fn has_test(&self, test: &str) -> bool {
        let name = test.rsplit("::").next().unwrap_or(test);
        // Names of several words are in the text as they are.
        self.names.contains(name) || name.contains(' ') && self.text.contains(name)
    }

    /// The share of a message's words that are there, and how many words it has.
    fn message_share(&self, message: &str) -> (f64, usize) {
        let words: HashSet<String> = message_words(message.lines().next().unwrap_or_default()).collect();
        let there = words.iter().filter(|word| self.words.contains(*word)).count();
        (there as f64 / words.len().max(1) as f64, words.len())
    }
}

fn message_words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).map(str::to_lowercase);
    words.filter(|word| word.len() >= WORD_LETTERS_MIN && word.chars().any(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Timestamp;

    fn pattern(code: Option<&str>, message: &str, test: Option<&str>, file: &str) -> PatternBriefRow {
        PatternBriefRow {
            number: 1,
            id: "p-1".into(),
            tool: "tool".into(),
            code: code.map(str::to_owned),
            masked: message.to_owned(),
            masked_family: message.to_owned(),
            tasks: 1,
            last_seen: Timestamp(0),
            files: vec![(file.to_owned(), 1)],
            newest: vec![(message.to_owned(), test.map(str::to_owned))],
        }
    }

    #[test]
    fn a_summary_line_names_its_test_and_one_finding_its_rule() {
        let total = pattern(
            Some("AssertionError"),
            "assert 2 == 3",
            Some("app/test_pricing.py::test_total"),
            "app/test_pricing.py",
        );
        let other = pattern(
            Some("AssertionError"),
            "assert 2 == 3",
            Some("app/test_pricing.py::test_vat"),
            "app/test_pricing.py",
        );
        let line = OutputFragment::from_text("FAILED app/test_pricing.py::test_total - assert 2 == 3");
        assert!(line.score_pattern(&total) > Some(2.0));
        assert_eq!(line.score_pattern(&other), None, "the file alone, and a word of the message");

        let fs = pattern(Some("no-unused-vars"), "'fs' is defined but never used", None, "web/src/util.js");
        let path = pattern(Some("no-unused-vars"), "'path' is defined but never used", None, "web/src/util.js");
        let line = OutputFragment::from_text("  1:8  error  'path' is defined but never used  no-unused-vars");
        assert!(line.score_pattern(&path) > line.score_pattern(&fs), "the right one first");
        assert_eq!(OutputFragment::from_text("1 problem (1 error, 0 warnings)").score_pattern(&fs), None);
        assert_eq!(OutputFragment::from_text("").score_pattern(&fs), None);
    }
}
