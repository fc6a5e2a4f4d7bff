//! What is wrong with a file that a person wrote.

use std::path::PathBuf;

/// What is wrong with a settings file, a whitelist or a tool definition, for `doctor` and `whitelist check`. What was
/// understood of the file is in force.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line in it, from 1, where one is known.
    pub line: Option<usize>,
    /// What is wrong, a lowercase fragment.
    pub reason: String,
    /// What to do about it; names the next command to type.
    pub hint: String,
    /// The rest of the file counts all the same.
    pub used: bool,
    /// It works, but not as its writer may think (a key of another version).
    pub warning: bool,
}
