//! Regexes that are compiled when they are first needed: there are hundreds, and a change concerns few of them.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// A compiled regex of a rule, bytes.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// One regex.
#[derive(Debug)]
pub(super) struct LazyRegex {
    source: String,
    compiled: OnceLock<Option<Regex>>,
}

impl LazyRegex {
    pub(super) fn new(source: String) -> Self {
        LazyRegex { source, compiled: OnceLock::new() }
    }

    /// `None` of a broken one; a shipped one always compiles, a test holds that.
    pub(super) fn get(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile_regex(&self.source).ok()).as_ref()
    }

    /// Whether it matches.
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.get().is_some_and(|regex| regex.is_match(text))
    }
}

/// Several at once.
#[derive(Debug)]
pub(super) struct LazySet {
    sources: Vec<String>,
    compiled: OnceLock<RegexSet>,
}

impl LazySet {
    pub(super) fn new(sources: Vec<String>) -> Self {
        LazySet { sources, compiled: OnceLock::new() }
    }

    /// The same of constants.
    pub(super) fn from_sources(sources: &[&str]) -> Self {
        LazySet::new(sources.iter().map(ToString::to_string).collect())
    }

    /// Whether one of them matches.
    pub(super) fn is_match(&self, text: &str) -> bool {
        !self.sources.is_empty() && self.regex_set().is_match(text)
    }

    fn regex_set(&self) -> &RegexSet {
        let compile = || {
            let mut builder = RegexSetBuilder::new(self.sources.iter().map(|source| plain_source(source)));
            builder.size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX).build().unwrap_or_default()
        };
        self.compiled.get_or_init(compile)
    }

    /// Whether they compile.
    #[cfg(test)]
    pub(super) fn is_sound(&self) -> bool {
        !self.sources.is_empty() && self.regex_set().len() == self.sources.len()
    }
}

/// Compiles a regex of a rule.
///
/// # Errors
/// Bad syntax, or larger than [`REGEX_BYTES_MAX`].
pub(super) fn compile_regex(source: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&plain_source(source)).size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX).build()
}

/// The regex with simpler classes: `\w` is ASCII's and all that is not ASCII, `\d` is ASCII's. Unicode's tables of
/// them are most of what a regex costs to compile, and each process compiles its own. For the same reason a class
/// with `\w`, which has both cases of every letter, is not folded where case is ignored. No class is in another one
/// here.
fn plain_source(source: &str) -> String {
    const WORD: &str = r"0-9A-Za-z_\u{80}-\u{10FFFF}";
    const UNFOLDED: &str = "(?-i:";
    let mut plain = String::with_capacity(2 * source.len());
    // Where the class begins that is being read, and whether it has words in it.
    let (mut class, mut has_word) = (None, false);
    let mut rest = source.chars();
    while let Some(next) = rest.next() {
        match next {
            '\\' => match (rest.next(), class) {
                (Some('w'), Some(_)) => {
                    plain.push_str(WORD);
                    has_word = true;
                }
                (Some('w'), None) => plain.extend([UNFOLDED, "[", WORD, "])"]),
                (Some('d'), Some(_)) => plain.push_str("0-9"),
                (Some('d'), None) => plain.push_str("[0-9]"),
                (escaped, _) => plain.extend(['\\'].into_iter().chain(escaped)),
            },
            '[' => {
                class = Some(plain.len());
                plain.push('[');
            }
            ']' => {
                plain.push(']');
                if let Some(begin) = class.take().filter(|_| std::mem::take(&mut has_word)) {
                    plain.insert_str(begin, UNFOLDED);
                    plain.push(')');
                }
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_made_simple_and_mean_the_same() {
        assert_eq!(plain_source(r"a\.[^\]\w]\d[x]"), r"a\.(?-i:[^\]0-9A-Za-z_\u{80}-\u{10FFFF}])[0-9][x]");
        let folded = compile_regex(r"(?i)^é[\w.]\wx$").expect("a regex");
        assert!(folded.is_match("ÉÄbX") && !folded.is_match("é-bx"));
        let regex = compile_regex(r"^def\s+(?P<name>test\w*)\b\(").expect("a regex");
        let name = |line: &'static str| Some(regex.captures(line)?.name("name")?.as_str());
        assert_eq!(name("def test_größe("), Some("test_größe"));
        assert_eq!(name("def  test_2("), Some("test_2"));
        assert_eq!(name("def tes("), None);
    }
}
