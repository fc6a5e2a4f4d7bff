//! Which commands are checks. Literal compares only: no regex, no database.

use serde::{Deserialize, Serialize};

/// What a check does; the whitelist's `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckKind {
    /// A test runner.
    Test,
    /// A linter.
    Lint,
    /// A type checker.
    Type,
    /// A formatter in check mode.
    Format,
    /// A compiler or build tool.
    Build,
}

/// A recognised check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The whitelist's name of the tool (`eslint`, `cargo-test`, `script:test`).
    pub tool: String,
    /// What it does.
    pub kind: CheckKind,
    /// Runners seen through, outermost first (`npx`, `timeout`).
    pub via: Vec<String>,
    /// What a person reads when asking why.
    pub why: String,
}
