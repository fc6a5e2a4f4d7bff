//! The policy: a checklist, and the tools that measure it. Text in, values out.

mod checklist;
mod expression;
mod mapping;
mod metric;
#[cfg(test)]
mod tests;
mod weaker;

pub(crate) use checklist::{
    ChangeKind, Checklist, ChecklistItem, ItemSource, JudgedScope, MappedCommand, Method, RedEvidence,
    english_category, english_heading,
};
pub(crate) use expression::{MetricValue, Truth};
pub(crate) use mapping::{CommandSpec, DocumentPlaces, StackMarkers, ToolsMapping};
pub(crate) use metric::Metric;

pub(crate) use weaker::weaker_items;

use crate::base::yaml::YamlError;

/// The shipped checklist.
pub(crate) const SHIPPED_CHECKLIST: &str = include_str!("../templates/qa-checklist.yml");
/// The shipped tools mapping.
pub(crate) const SHIPPED_MAPPING: &str = include_str!("../templates/qa-tools-mapping.yml");

/// What is wrong with a policy file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {reason}")]
pub(crate) struct PolicyError {
    /// The file, as people know it.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// A lowercase fragment.
    pub reason: String,
}

impl PolicyError {
    fn new(file: &str, error: YamlError) -> PolicyError {
        PolicyError { file: file.to_owned(), line: error.line, reason: error.reason }
    }
}

/// Whether a command line can be executed as it is written.
///
/// # Errors
/// Why not: it needs a shell and does not say so, or its quotes are not closed.
fn check_command_line(line: &str, is_shell: bool) -> Result<(), String> {
    if is_shell {
        return Ok(());
    }
    if shell_words::split(line).is_err() {
        return Err("a quote is not closed".to_owned());
    }
    let mut quote = None;
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, '|' | ';' | '&' | '<' | '>' | '`') => {
                return Err(format!("{letter:?} needs a shell: add `shell: true`"));
            }
            (None | Some('"'), '$') if line[at..].starts_with("$(") => {
                return Err("\"$(\" needs a shell: add `shell: true`".to_owned());
            }
            _ => {}
        }
    }
    Ok(())
}
