//! Regexes that are asked only of a text that has a word which each of their matches has.
//!
//! What anybody may print has a hundred forms, and an output has a few of them. A regex takes longer to compile than an
//! output to search for a word.

use std::sync::OnceLock;

use regex::bytes::Regex;

use super::rule_regex::constant_regex;

/// A form that a text may have.
#[derive(Debug)]
pub(super) struct TextForm {
    /// In lower case; whatever the regex matches has one of them, in any case.
    words: &'static [&'static str],
    source: &'static str,
    regex: OnceLock<Regex>,
}

impl TextForm {
    pub(super) const fn new(words: &'static [&'static str], source: &'static str) -> Self {
        TextForm { words, source, regex: OnceLock::new() }
    }
}

/// A text that is asked for forms.
#[derive(Debug)]
pub(super) struct FormedText<'t> {
    text: &'t str,
    lower: String,
}

impl<'t> FormedText<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        FormedText { text, lower: text.to_ascii_lowercase() }
    }

    /// Whether the text has one of these forms.
    pub(super) fn has_any(&self, forms: &[TextForm]) -> bool {
        forms.iter().any(|form| {
            form.words.iter().any(|word| self.lower.contains(word))
                && form.regex.get_or_init(|| constant_regex(form.source)).is_match(self.text.as_bytes())
        })
    }
}

/// Whether all that a form matches has one of its words.
#[cfg(test)]
pub(super) fn has_its_words(form: &TextForm) -> bool {
    use regex_syntax::hir::{Class, Hir, HirKind};

    fn letter(class: &Class) -> Option<String> {
        let Class::Bytes(class) = class else { return None };
        let bytes = class.ranges().iter().flat_map(|range| range.start()..=range.end());
        let mut letters: Vec<u8> = bytes.map(|byte| byte.to_ascii_lowercase()).collect();
        letters.dedup();
        String::from_utf8(letters).ok().filter(|letters| letters.len() == 1)
    }
    fn is_in(words: &[&str], hir: &Hir) -> bool {
        let has_word = |text: &str| words.iter().any(|word| text.contains(word));
        let text = |hir: &Hir| match hir.kind() {
            HirKind::Literal(literal) => Some(String::from_utf8_lossy(&literal.0).to_ascii_lowercase()),
            HirKind::Class(class) => letter(class),
            HirKind::Look(_) => Some(String::new()),
            _ => None,
        };
        match hir.kind() {
            HirKind::Alternation(forms) => forms.iter().all(|form| is_in(words, form)),
            HirKind::Capture(group) => is_in(words, &group.sub),
            HirKind::Repetition(times) => times.min > 0 && is_in(words, &times.sub),
            HirKind::Concat(parts) => {
                let mut run = String::new();
                parts.iter().any(|part| match text(part) {
                    Some(text) => {
                        run.push_str(&text);
                        has_word(&run)
                    }
                    None => {
                        run.clear();
                        is_in(words, part)
                    }
                })
            }
            _ => text(hir).is_some_and(|text| has_word(&text)),
        }
    }
    let mut parser = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build();
    let lower = form.words.iter().all(|word| !word.is_empty() && *word == word.to_ascii_lowercase());
    lower && is_in(form.words, &parser.parse(form.source).expect("a constant regex"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_asked_where_a_word_of_it_is() {
        let forms =
            [TextForm::new(&["fail", "error"], r"(?i)[1-9] (?:failed|errors)"), TextForm::new(&["x y"], "X y$")];
        for text in ["2 FAILED", "it has 3 errors", "an X y"] {
            assert!(FormedText::new(text).has_any(&forms), "{text}");
        }
        for text in ["0 failed", "2 warnings", "X y z", ""] {
            assert!(!FormedText::new(text).has_any(&forms), "{text}");
        }
    }

    #[test]
    fn words_that_a_match_may_lack_are_seen() {
        assert!(has_its_words(&TextForm::new(&["ab"], r"(?i)x?AB\b|(?:.ab){1,2}|A\bb")));
        for (words, source) in [(&["ab"], "abc|a"), (&["ab"], "(?:ab)?c"), (&["ab"], "a.?b"), (&["AB"], "AB")] {
            assert!(!has_its_words(&TextForm::new(words, source)), "{source}");
        }
    }
}
