//! Regexes that are compiled when they are first needed: there are hundreds, and a change concerns few of them.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

/// A compiled regex of a rule, bytes.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// One regex.
#[derive(Debug)]
pub(super) struct Lazy {
    source: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Lazy {
    pub(super) fn new(source: String) -> Self {
        Lazy { source, compiled: OnceLock::new() }
    }

    /// `None` of a broken one; a shipped one always compiles, a test holds that.
    pub(super) fn get(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(&self.source).ok()).as_ref()
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

    /// Whether one of them matches.
    pub(super) fn is_match(&self, text: &str) -> bool {
        !self.sources.is_empty() && self.set().is_match(text)
    }

    /// The first one that matches.
    pub(super) fn first(&self, text: &str) -> Option<usize> {
        self.set().matches(text).iter().next()
    }

    fn set(&self) -> &RegexSet {
        let compile = || {
            let mut builder = RegexSetBuilder::new(&self.sources);
            builder.size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX).build().unwrap_or_default()
        };
        self.compiled.get_or_init(compile)
    }
}

/// Compiles a regex of a rule.
///
/// # Errors
/// Bad syntax, or larger than [`REGEX_BYTES_MAX`].
pub(super) fn compile(source: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(source).size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX).build()
}
