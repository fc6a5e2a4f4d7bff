//! What a page is made of.

use serde::Serialize;

use crate::learn::library::PageFrontMatter;

/// Everything that a page says, proven or recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PageFacts {
    /// The front matter, with the title.
    pub front_matter: PageFrontMatter,
    /// What failed.
    pub problem: ProblemFacts,
    /// What made it go away: a unified diff, as `git diff` writes it, without secrets.
    pub solution: String,
    /// The change that brought the failure, where it is known.
    pub cause: Option<CauseFacts>,
    /// What people said about the fix, one line each.
    pub said: Vec<String>,
    /// What fails again without any one of the kept edits.
    pub fails_without: Option<String>,
    /// Runs, in their order.
    pub evidence: Vec<EvidenceRow>,
    /// What people should know, one line each.
    pub notes: Vec<String>,
}

/// What failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ProblemFacts {
    /// The message, redacted.
    pub message: String,
    /// The file, relative to the root.
    pub file: Option<String>,
    /// The test.
    pub test: Option<String>,
    /// The tool that reported it.
    pub tool: String,
    /// `p-…`
    pub pattern: Option<String>,
    /// Tasks that had it.
    pub tasks: u64,
}

/// The change that brought a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct CauseFacts {
    /// The files that it touched.
    pub files: Vec<String>,
    /// The lines that it added or removed where the fix is, at most a few, as in a diff.
    pub lines: Vec<String>,
}

/// A run of the proof.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct EvidenceRow {
    /// Which tree: `before`, `after`.
    pub tree: String,
    /// The command as it was run.
    pub command: String,
    /// How it ended: `fails: test_rows`, `41 tests pass`.
    pub result: String,
}
