//! From output to items, affected files, kept lines and a category. No I/O; cannot fail.

use serde::{Deserialize, Serialize};

use crate::base::tree::Tree;
use crate::run::Ended;
use crate::whitelist::CheckKind;

mod baseline;
pub mod redact;

pub use baseline::Baseline;

/// How bad an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Informational.
    Info,
    /// A warning.
    Warning,
    /// An error or a failing test.
    Error,
}

/// What kind of failure a run is; the reference table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Tests ran and failed, or a coverage threshold was missed.
    TestFailure,
    /// A compiler or bundler found an error.
    BuildError,
    /// A linter or formatter found something.
    LintError,
    /// A type checker found something.
    TypeError,
    /// A program crashed.
    RuntimeError,
    /// Something that should be installed is not.
    MissingDependency,
    /// The tool did not do its job: configuration, usage, nothing to check.
    ConfigError,
    /// None of these.
    Other,
}

/// One diagnostic or failing test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// The tool definition that found it (`eslint`, `generic`).
    pub tool: String,
    /// Rule code, error code or exception class (`no-undef`, `E0308`, `TypeError`).
    pub code: Option<String>,
    /// How bad.
    pub severity: Severity,
    /// The file, relative to the root when it is inside.
    pub file: Option<String>,
    /// Line, 1-based.
    pub line: Option<u32>,
    /// Column, 1-based, as printed.
    pub col: Option<u32>,
    /// The message, without location and code; may have several lines.
    pub message: String,
    /// The failing test's name as the runner prints it.
    pub test: Option<String>,
    /// Lines of the cleaned output that the item covers, 0-based, end exclusive.
    pub span: (usize, usize),
}

/// What was found in one run's output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// `None` when nothing failed.
    pub category: Option<Category>,
    /// Affected files: sorted, unique, relative to the root.
    pub files: Vec<String>,
    /// Items in output order.
    pub items: Vec<Item>,
    /// Items beyond the limit, not listed.
    pub items_cut: usize,
    /// The lines worth keeping, in output order, whole (the lesson applies its own byte budget).
    pub lines: Vec<String>,
    /// Secrets replaced in the output.
    pub redactions: usize,
}

/// What a diagnosis looks at.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The captured output, both streams in the order they came, as raw bytes.
    pub output: &'a [u8],
    /// The shell-quoted command line; `""` when unknown.
    pub command: &'a str,
    /// The whitelist's name of the tool.
    pub tool: Option<&'a str>,
    /// What the check does.
    pub kind: Option<CheckKind>,
    /// How the command ended.
    pub ended: Ended,
    /// The working directory relative to the root; `""` is the root.
    pub dir: &'a str,
    /// The root's absolute path; `""` when unknown.
    pub root: &'a str,
    /// The project's files.
    pub tree: &'a dyn Tree,
    /// The masked lines of the last passing output of the same command.
    pub baseline: Option<&'a Baseline>,
}

/// Turns a run's output into items, affected files, kept lines and a category.
pub fn diagnose(input: &Input<'_>) -> Diagnosis {
    if input.ended.passed() {
        return Diagnosis::default();
    }
    let text = String::from_utf8_lossy(input.output);
    let lines = text.lines().map(str::to_owned).collect();
    Diagnosis { category: Some(Category::Other), lines, ..Diagnosis::default() }
}
