//! Regexes over the bytes of an output.

use regex::bytes::{Regex, RegexBuilder};

use crate::base::limits::DEFINITION_REGEX_BYTES_MAX;

/// Compiles a rule's regex.
///
/// # Errors
/// Bad syntax, or larger than [`DEFINITION_REGEX_BYTES_MAX`].
pub(super) fn compile_regex(source: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(source)
        .unicode(false)
        .size_limit(DEFINITION_REGEX_BYTES_MAX)
        .dfa_size_limit(DEFINITION_REGEX_BYTES_MAX)
        .build()
}

/// Compiles a regex of the program's own, of bytes as all here: with Unicode's classes it takes several times as long.
pub(super) fn constant_regex(source: &str) -> Regex {
    RegexBuilder::new(source).unicode(false).build().expect("a constant regex, compiled in a test")
}
