//! What users have for other programs: problem matchers of VS Code and GitHub, `errorformat` of Vim.
//!
//! They are interpreted as those programs do it, not turned into rules: both match runs of lines, and an `errorformat`
//! keeps state that rules don't have. What they ask for and can't be had (lookaround, `\zs`) is said when they are read.

use crate::base::one_or_many::OneOrMany;
use crate::diagnose::Severity;

mod errorformat;
mod javascript;
mod matcher;
mod vim;

/// Looks at the lines of one stream and says what it sees.
#[derive(Debug, Clone)]
pub(super) enum ImportedFormat {
    /// A problem matcher.
    Matcher(matcher::ProblemMatcher),
    /// An `errorformat`.
    Format(errorformat::ErrorFormat),
}

/// One problem that was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MatcherHit {
    /// Its lines, as positions in what was looked at; at least one, rising.
    pub lines: Vec<usize>,
    /// The file as printed.
    pub file: Option<String>,
    /// 1-based.
    pub line: Option<u32>,
    /// 1-based.
    pub col: Option<u32>,
    /// How bad, where it is said.
    pub severity: Option<Severity>,
    /// Rule or error code.
    pub code: Option<String>,
    /// The message; several lines are joined by line ends.
    pub message: String,
    /// The folder that the file is relative to.
    pub dir: Option<String>,
}

impl ImportedFormat {
    /// What is seen in `lines`, in their order.
    pub(super) fn run(&self, lines: &[&str]) -> Vec<MatcherHit> {
        match self {
            ImportedFormat::Matcher(matcher) => matcher.run(lines),
            ImportedFormat::Format(format) => format.run(lines),
        }
    }
}

/// What a definition imports by its `errorformat` and the files of its `matcher`. `attached` gives the text of a file that it names.
///
/// # Errors
/// For each part that can't be used, what is wrong with it. The other parts hold.
pub(super) fn import_formats(
    errorformat: Option<&OneOrMany>,
    matchers: Option<&OneOrMany>,
    attached: impl Fn(&str) -> Result<String, String>,
) -> (Vec<ImportedFormat>, Vec<String>) {
    let mut imported = Vec::new();
    let mut faults = Vec::new();
    if let Some(format) = errorformat {
        match errorformat::ErrorFormat::parse(format) {
            Ok(format) => imported.push(ImportedFormat::Format(format)),
            Err(reason) => faults.push(format!("errorformat: {reason}")),
        }
    }
    for name in matchers.into_iter().flat_map(|names| names.as_slice()) {
        match attached(name).and_then(|text| matcher::parse(&text)) {
            Ok(found) => {
                for found in found {
                    match found {
                        Ok(matcher) => imported.push(ImportedFormat::Matcher(matcher)),
                        Err(reason) => faults.push(format!("{name}: {reason}")),
                    }
                }
            }
            Err(reason) => faults.push(format!("{name}: {reason}")),
        }
    }
    (imported, faults)
}

#[cfg(test)]
mod tests;
