//! The kinds of check. In a file of its own because the build script compiles it too.

use serde::{Deserialize, Serialize};

/// What a check does; the whitelist's `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
