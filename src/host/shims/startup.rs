//! The start-up files of shells, which load verify-run.

use std::path::PathBuf;

use crate::base::file::read_start;
use crate::base::limits::CONFIG_FILE_BYTES_MAX;
use crate::config::Environment;

/// Where the shells' start-up files are, below the home folder.
const START_UP: [&str; 8] = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".config/fish/config.fish",
];

/// The lines of shells' start-up files that load verify-run, each with its number from 1.
pub(crate) fn find_startup_lines(environment: &Environment) -> Vec<(PathBuf, usize)> {
    let files = environment.home.iter().flat_map(|home| START_UP.map(|file| home.join(file)));
    let mut found = Vec::new();
    for path in files {
        let bytes = read_start(&path, CONFIG_FILE_BYTES_MAX).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let is_ours = |line: &str| !line.trim_start().starts_with('#') && line.contains("verify-run init ");
        let lines = text.lines().enumerate().filter(|(_, line)| is_ours(line));
        found.extend(lines.map(|(number, _)| (path.clone(), number + 1)));
    }
    found
}
