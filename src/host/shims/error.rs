//! Why shims can't be made or removed.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// What went wrong.
#[derive(Debug, Error)]
pub(crate) enum ShimError {
    /// The folder of shims is below the home folder.
    #[error("no place for shims: set HOME to your home folder")]
    NoHomeFolder,
    /// `PATH` can't name the folder.
    #[error(
        "the shims can't be in {}: a folder on PATH must not have a colon in its name; set XDG_DATA_HOME to another place",
        .folder.display()
    )]
    ColonInFolder {
        /// The folder of shims.
        folder: PathBuf,
    },
    /// The program that shims lead to is not known.
    #[error("cannot find this program's own file")]
    OwnFile {
        /// The system's reason.
        source: io::Error,
    },
    /// A shim of that name would change nothing.
    #[error("no check runs `{name}`: a shim would do nothing")]
    NotInWhitelist {
        /// The program.
        name: String,
    },
    /// There is no shim of that name.
    #[error("no shim `{name}`")]
    NoShim {
        /// The program.
        name: String,
    },
    /// A file or folder does not take what is done with it.
    #[error("cannot {action} {}", .path.display())]
    File {
        /// The verb, with its object.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl ShimError {
    /// What makes an error of the system one with its action and path.
    pub(super) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| ShimError::File { action, path, source }
    }
}
