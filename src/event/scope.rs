//! The scope of a run: decides which failures its pass can close.

use serde::{Deserialize, Serialize};

use crate::base::lossless::Lossless;

/// What a run checked, from the parts of its command key. Redacted as the command line is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Scope {
    /// The command key without directory and selectors ([`crate::command::KeyParts::class`]): runs of different
    /// classes never look at the same thing.
    pub class: String,
    /// The tool class (`pytest`, `package.json:test`), or `command:` and the program of a run that is not a check.
    pub subject: String,
    /// The sub-command, where the tool has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub: Option<String>,
    /// Where it ran, relative to the root; empty at its top, absolute when outside.
    pub dir: Lossless,
    /// Paths, filters, packages and options that change what is checked, without the sub-command; sorted. The
    /// arguments in their order of a run that is not a check.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub selectors: Vec<String>,
    /// Further checks in the same line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// The line's status is not the check's own (a pipe, `;`, `||`): a status of 0 doesn't say that it passed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign_status: bool,
}
