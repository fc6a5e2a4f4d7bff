//! Why a verb refuses, as a value. The surfaces choose the exit code and word the hint.

/// Why a verb does not do what was asked. What files, git and the store answer are errors of their own stages.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refusal {
    /// What decides the exit code.
    pub kind: RefusalKind,
    /// What happened to what, a lowercase fragment.
    message: String,
    /// What helps, where that is known.
    pub next: Option<NextStep>,
}

/// What a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    /// An argument is missing, out of range, or contradicts another one.
    Usage,
    /// What was named is not recorded, not configured, or not there.
    NotFound,
    /// The state of what was named does not allow it.
    Conflict,
}

/// What the user can do about an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// Run verify-run with these arguments.
    Run(String),
    /// Anything else, imperative.
    Do(String),
}

impl Refusal {
    /// A refusal because of the arguments.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Refusal { kind: RefusalKind::Usage, message: message.into(), next: None }
    }

    /// A refusal because something is missing.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Refusal { kind: RefusalKind::NotFound, message: message.into(), next: None }
    }

    /// A refusal because of a state.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Refusal { kind: RefusalKind::Conflict, message: message.into(), next: None }
    }

    /// Adds the arguments of the verify-run command that helps.
    pub(crate) fn then_run(self, arguments: impl Into<String>) -> Self {
        Refusal { next: Some(NextStep::Run(arguments.into())), ..self }
    }

    /// Adds what helps, where that is no command of verify-run.
    pub(crate) fn then_do(self, step: impl Into<String>) -> Self {
        Refusal { next: Some(NextStep::Do(step.into())), ..self }
    }
}
