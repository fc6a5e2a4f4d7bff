//! Why hosts can't be set up, or given back what they had.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// What went wrong.
#[derive(Debug, Error)]
pub(crate) enum InstallError {
    /// There is no place for the user's own configuration.
    #[error("there is no home folder: HOME is not set")]
    NoHomeFolder,
    /// A host was named that is not known.
    #[error("`{name}` ; known are: {known}")]
    UnknownHost {
        /// As it was named.
        name: String,
        /// The names that are known.
        known: String,
    },
    /// No agent is set up that takes rules for commands.
    #[error("--allow needs Claude Code or Codex: --agent claude or --agent codex")]
    NoAgentTakesRules,
    /// A command that shall run unasked is more than a check.
    #[error(
        "`{}` is not exactly one recognised check",
        crate::base::text::one_line(.command)
    )]
    NotACheck {
        /// The command line.
        command: String,
    },
    /// A file or folder does not take what is done with it.
    #[error("cannot {action} {}", .path.display())]
    File {
        /// The verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The ledger is no JSON of its shape.
    #[error("cannot read {}", .path.display())]
    Ledger {
        /// The ledger.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The ledger was written by a later version.
    #[error("{} was written by a newer verify-run", .path.display())]
    NewerLedger {
        /// The ledger.
        path: PathBuf,
    },
    /// A content of the ledger does not have its hash.
    #[error("{} was damaged", .path.display())]
    Damaged {
        /// The content's file.
        path: PathBuf,
    },
    /// The lock of the ledger can't be taken.
    #[error("cannot lock the installation")]
    Lock {
        /// The system's reason.
        source: io::Error,
    },
    /// Another process holds the lock.
    #[error("another verify-run is changing the installation; try again")]
    Busy,
    /// A file is no longer as it was planned.
    #[error("{} changed meanwhile: nothing was written; try again", .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A file can't be written; those before it were restored.
    #[error("cannot write {}; nothing was changed", .path.display())]
    RolledBack {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl InstallError {
    /// What makes an error of the system one with its action and path.
    pub(super) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| InstallError::File { action, path, source }
    }
}
