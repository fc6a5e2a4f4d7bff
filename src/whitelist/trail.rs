//! What is seen on the way from a command line to the check in it.

use super::arguments::{is_option, width};
use super::program::lossy;
use super::table::List;
use super::{Check, CheckKind};

use crate::base::bytes;

/// What was seen on the way to the command.
#[derive(Debug, Clone, Default)]
pub struct Trail {
    pub via: Vec<String>,
    pub dir: Option<String>,
    pub selectors: Vec<String>,
    pub elsewhere: bool,
    /// What follows is behind the runner's `--`.
    pub is_past_dashes: bool,
}

impl Trail {
    pub fn enter(&mut self, dir: &[u8]) {
        let dir = String::from_utf8_lossy(dir);
        self.dir = Some(match self.dir.take() {
            Some(before) if !dir.starts_with('/') => format!("{before}/{dir}"),
            _ => dir.into_owned(),
        });
    }

    /// Adds a workspace, a container or another machine to what is checked. Marked, so that it is not taken for a
    /// path or a filter of that name.
    pub fn select(&mut self, place: &[u8]) {
        self.selectors.push(format!("@{}", lossy(place)));
    }

    pub fn check(&self, tool: &str, kind: CheckKind) -> Check {
        let mut check = Check::new(tool, kind);
        check.via.clone_from(&self.via);
        check.dir.clone_from(&self.dir);
        check.selectors.clone_from(&self.selectors);
        check.elsewhere = self.elsewhere;
        check
    }
}

/// Reads one option; how many arguments it takes up. `taken` are the options that name a directory, and those that
/// belong to the check's identity.
pub fn take_option(
    arguments: &[&[u8]],
    at: usize,
    values: &[List<'_>],
    taken: [List<'_>; 2],
    trail: &mut Trail,
) -> usize {
    let argument = arguments[at];
    let (option, value, length) = match bytes::find_byte(argument, b'=') {
        Some(end) => (&argument[..end], Some(&argument[end + 1..]), 1),
        None => (argument, arguments.get(at + 1).copied(), width(argument, values)),
    };
    if let Some(value) = value {
        if taken[0].has(option) {
            trail.enter(value);
        } else if taken[1].has(option) {
            trail.select(value);
        }
    }
    length
}

/// Reads the options up to `--` that name a directory or belong to the identity; `places` are added to.
pub fn take_options(arguments: &[&[u8]], taken: [List<'_>; 2], trail: &mut Trail, places: &mut Vec<usize>) {
    let mut at = 0;
    while let Some(argument) = arguments.get(at).filter(|argument| **argument != b"--") {
        let option = argument.split(|byte| *byte == b'=').next().unwrap_or_default();
        if is_option(argument) && taken.iter().any(|list| list.has(option)) {
            let length = take_option(arguments, at, &taken, taken, trail);
            places.extend(at..at + length);
            at += length;
        } else {
            at += 1;
        }
    }
}
