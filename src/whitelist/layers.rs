//! The layers of the whitelist: shipped, user, repository.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Check, CheckKind, Decision, ExitMeaning};
use crate::config::{Environment, Places};

/// What is wrong with a layer, for `doctor` and `whitelist check`. The run goes on without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line in it, from 1, where one is known.
    pub line: Option<usize>,
    /// What is wrong, a lowercase fragment.
    pub reason: String,
    /// What to do about it; names the next command to type.
    pub hint: String,
}

/// The whitelist in force.
#[derive(Debug, Default)]
pub struct Whitelist {}

impl Whitelist {
    /// The shipped layer alone.
    pub fn shipped() -> Self {
        Whitelist {}
    }

    /// All layers for a place, for the run path: the user's and the repository's files are parsed only when a
    /// command asks for them, so what is wrong with them is not known yet. See [`Whitelist::load`].
    pub fn open(_places: &Places, _environment: &Environment) -> Self {
        Whitelist {}
    }

    /// As [`Whitelist::open`], with every layer parsed and everything that is wrong with them.
    pub fn load(places: &Places, environment: &Environment) -> (Self, Vec<Problem>) {
        (Self::open(places, environment), Vec::new())
    }

    /// Whether `argv` is a check.
    pub fn decide(&self, argv: &[OsString]) -> Decision {
        let program = argv.first().map(Path::new).and_then(Path::file_name).and_then(|name| name.to_str());
        let kind = match program {
            Some("pytest" | "jest" | "vitest" | "mocha") => CheckKind::Test,
            Some("eslint" | "ruff" | "shellcheck") => CheckKind::Lint,
            Some("tsc" | "mypy") => CheckKind::Type,
            Some("gcc" | "make") => CheckKind::Build,
            _ => return Decision::NotACheck { why: "no rule names this program".to_owned() },
        };
        let mut check = Check::new(program.unwrap_or_default(), kind);
        check.why = "a rule names this program".to_owned();
        Decision::Check(check)
    }

    /// Whether a shell line has a check in it.
    pub fn decide_line(&self, line: &str) -> Decision {
        self.decide(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    /// What a non-zero exit code of `tool` means; [`ExitMeaning::Mixed`] for everything that was not measured.
    pub fn exit_meaning(&self, _tool: &str, code: u8) -> ExitMeaning {
        if matches!(code, 126 | 127) { ExitMeaning::DidNotRun } else { ExitMeaning::Mixed }
    }

    /// The kind of a tool, by its name.
    pub fn kind(&self, _tool: &str) -> Option<CheckKind> {
        None
    }
}
