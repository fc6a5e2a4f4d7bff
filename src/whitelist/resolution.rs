//! The steps from a command line to the check in it.

use super::arguments::{argument_width, is_option};
use super::program::lossy_text;
use super::table::TextList;
use super::{Check, CheckKind};

use crate::base::bytes;

/// What was seen on the way to the command.
#[derive(Debug, Clone, Default)]
pub(super) struct Resolution {
    pub via: Vec<String>,
    pub dir: Option<String>,
    pub selectors: Vec<String>,
    pub elsewhere: bool,
    /// What follows is behind the runner's `--`.
    pub is_past_dashes: bool,
}

impl Resolution {
    pub(super) fn enter_directory(&mut self, dir: &[u8]) {
        let dir = String::from_utf8_lossy(dir);
        self.dir = Some(match self.dir.take() {
            Some(before) if !dir.starts_with('/') => format!("{before}/{dir}"),
            _ => dir.into_owned(),
        });
    }

    /// Adds a workspace, a container or another machine to what is checked. Marked, so that it is not taken for a
    /// path or a filter of that name.
    pub(super) fn add_selector(&mut self, place: &[u8]) {
        self.selectors.push(format!("@{}", lossy_text(place)));
    }

    pub(super) fn build_check(&self, tool: &str, kind: CheckKind) -> Check {
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
pub(super) fn read_option(
    arguments: &[&[u8]],
    at: usize,
    values: &[TextList<'_>],
    taken: [TextList<'_>; 2],
    trail: &mut Resolution,
) -> usize {
    let argument = arguments[at];
    let (option, value, length) = match bytes::find_byte(argument, b'=') {
        Some(end) => (&argument[..end], Some(&argument[end + 1..]), 1),
        None => (argument, arguments.get(at + 1).copied(), argument_width(argument, values)),
    };
    if let Some(value) = value {
        if taken[0].contains(option) {
            trail.enter_directory(value);
        } else if taken[1].contains(option) {
            trail.add_selector(value);
        }
    }
    length
}

/// Reads the options up to `--` that name a directory or belong to the identity; `places` are added to.
pub(super) fn read_options(
    arguments: &[&[u8]],
    taken: [TextList<'_>; 2],
    trail: &mut Resolution,
    places: &mut Vec<usize>,
) {
    let mut at = 0;
    while let Some(argument) = arguments.get(at).filter(|argument| **argument != b"--") {
        let option = argument.split(|byte| *byte == b'=').next().unwrap_or_default();
        if is_option(argument) && taken.iter().any(|list| list.contains(option)) {
            let length = read_option(arguments, at, &taken, taken, trail);
            places.extend(at..at + length);
            at += length;
        } else {
            at += 1;
        }
    }
}
