//! Why a statement does not prove what is asked.

/// Why a statement does not prove what is asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum StatementMismatch {
    /// The check did not pass.
    #[error("the result is {0}, not PASSED")]
    NotPassed(String),
    /// It is about other files.
    #[error("it is about the tree {0}")]
    OtherTree(String),
    /// It is about another command, or another folder.
    #[error("it is about another command or folder: {0}")]
    OtherCommand(String),
    /// It does not say that this property holds.
    #[error("it does not have the property {0}")]
    NoProperty(String),
    /// A command was asked for, and it is about a verdict.
    #[error("it is about a verdict of the gate, not about a command")]
    NotOfCommand,
    /// Properties were asked for, and it is about a check.
    #[error("it is about a check, which has no properties: {0}")]
    NotOfVerdict(String),
}
