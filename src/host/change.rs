//! What installing changes: files, before and after.

use std::path::PathBuf;

use serde::Serialize;

use crate::config::Problem;

/// What an installation is planned for.
#[derive(Debug, Clone)]
pub struct Site {
    /// Top of the work tree.
    pub root: PathBuf,
    /// `HOME`; without one nothing of the user's is looked at.
    pub home: Option<PathBuf>,
    /// The folder that git takes hooks from (`core.hooksPath`, else that of the repository); `None` outside of git.
    pub git_hooks: Option<PathBuf>,
    /// What the hosts call us by: `verify-run`, or the absolute path where their `PATH` doesn't have it.
    pub program: String,
}

/// A file that installing writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ConfigFileChange {
    /// Absolute.
    pub path: PathBuf,
    /// A few words for the person who is asked.
    pub why: String,
    /// What is in it now; `None` where there is no such file.
    #[serde(skip)]
    pub before: Option<Vec<u8>>,
    /// What shall be in it.
    #[serde(skip)]
    pub after: Vec<u8>,
    /// It has to be executable.
    pub executable: bool,
}

/// What one host needs.
#[derive(Debug, Clone, Default)]
pub struct Planned {
    /// Files to write; those that are as they should be are left out.
    pub changes: Vec<ConfigFileChange>,
    /// Files of the user's that are left alone, with the reason.
    pub problems: Vec<Problem>,
}
