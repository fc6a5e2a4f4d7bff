//! Programs that the user's settings name: a repository can neither replace them nor put others in their place.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::base::refusal::Refusal;
use crate::ops::request::Request;

/// Checks that the repository cannot replace the program of a command in the user's settings.
///
/// # Errors
/// When it is named relative to the repository: a usage error.
pub(super) fn check_own_program(command: &[String], setting: &str) -> anyhow::Result<()> {
    match command.first().filter(|program| program.contains('/') && !Path::new(program).is_absolute()) {
        Some(program) => {
            let message = format!("the command of {setting} is relative to the repository, which could replace it");
            let step = format!("write the absolute path of {program}, or a name on PATH");
            Err(Refusal::usage(message).then_do(step).into())
        }
        None => Ok(()),
    }
}

/// The process's PATH without folders that the repository could fill.
pub(super) fn outside_path(request: &Request) -> OsString {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let is_outside = |folder: &PathBuf| folder.is_absolute() && !folder.starts_with(&request.places.root);
    std::env::join_paths(std::env::split_paths(&search).filter(is_outside)).unwrap_or_default()
}
