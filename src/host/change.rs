//! What installing changes: files, before and after.

use std::path::PathBuf;

use serde::Serialize;

use crate::config::Problem;

/// What an installation is planned for.
#[derive(Debug, Clone)]
pub struct InstallSite {
    /// Top of the work tree.
    pub root: PathBuf,
    /// `HOME`; without one nothing of the user's is looked at.
    pub home: Option<PathBuf>,
    /// The folder that git takes hooks from (`core.hooksPath`, else that of the repository); `None` outside of git.
    pub git_hooks: Option<PathBuf>,
    /// What the hosts call us by: `verify-run`, or the absolute path where their `PATH` doesn't have it.
    pub program: String,
}

/// Whose configuration is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InstallScope {
    /// The project's, for everybody who has it: committed files.
    #[default]
    Project,
    /// Your own in the project: files that are not committed.
    Local,
    /// Your own in every project: the home folder.
    User,
}

impl InstallScope {
    /// Whether the files are in the home folder, else in the project.
    pub fn is_user(self) -> bool {
        self == InstallScope::User
    }

    /// The option of `init` and `hook` for files of this folder, behind a space; empty for the project.
    pub fn folder_option(self) -> &'static str {
        if self.is_user() { " --user" } else { "" }
    }
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
    /// The content to write.
    #[serde(skip)]
    pub after: Vec<u8>,
    /// It has to be executable.
    pub executable: bool,
}

/// The changes that one host needs.
#[derive(Debug, Clone, Default)]
pub struct PlannedHost {
    /// Files to write; those that are as they should be are left out.
    pub changes: Vec<ConfigFileChange>,
    /// Files of the user's that are left alone, with the reason.
    pub problems: Vec<Problem>,
}
