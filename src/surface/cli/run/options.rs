//! The run options, taken apart by hand: what follows them belongs to the command, down to its `--help`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::base::bytes::find_byte;
use crate::base::refusal::NextStep;
use crate::capture::Identity;

/// Whether the run is to be recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recording {
    /// If it is a recognised check.
    Checks,
    /// `--record`
    Always,
    /// `--no-record`
    Never,
}

/// The command line, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RunOptions {
    pub recording: Recording,
    /// `--only-checks`
    pub only_checks: bool,
    /// `--reuse`
    pub reuse: bool,
    /// `--sync`
    pub sync: bool,
    /// `--task`, `--session`, `--agent`
    pub identity: Identity,
    /// `--hint stderr` or `--hint off`
    pub hint: Option<bool>,
    /// `--shell LINE`
    pub line: Option<OsString>,
    /// What to execute: the command, or a shell with the line. Never empty.
    pub argv: Vec<OsString>,
}

/// A command line that can't be understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum UsageError {
    /// Not a run option.
    #[error("unknown run option '{0}'")]
    Unknown(String),
    /// An option that needs a value has none.
    #[error("run option '{0}' needs a value")]
    NoValue(&'static str),
    /// An option that takes no value has one.
    #[error("run option '{0}' takes no value")]
    Value(&'static str),
    /// The value is none of those that are possible.
    #[error("'{1}' is not a value of run option '{0}' (possible values: {2})")]
    NoSuchValue(&'static str, String, &'static str),
    /// Nothing to run.
    #[error("no command to run")]
    NoCommand,
    /// Two things to run.
    #[error("'--shell' runs its line: no command may follow")]
    TwoCommands,
}

impl UsageError {
    /// What helps.
    pub(super) fn next_step(&self) -> NextStep {
        match self {
            UsageError::Unknown(_) => {
                NextStep::Do("run `verify-run -- COMMAND` if the command begins with a dash".to_owned())
            }
            _ => NextStep::Run("--help".to_owned()),
        }
    }
}

/// Applies an option, with or without a value.
enum OptionHandler {
    Flag(fn(&mut RunOptions)),
    Value(fn(&mut RunOptions, OsString) -> Result<(), UsageError>),
}

const OPTIONS: [(&str, OptionHandler); 10] = [
    ("--record", OptionHandler::Flag(|options| options.recording = Recording::Always)),
    ("--no-record", OptionHandler::Flag(|options| options.recording = Recording::Never)),
    ("--only-checks", OptionHandler::Flag(|options| options.only_checks = true)),
    ("--reuse", OptionHandler::Flag(|options| options.reuse = true)),
    ("--sync", OptionHandler::Flag(|options| options.sync = true)),
    ("--shell", OptionHandler::Value(|options, value| set(&mut options.line, value))),
    ("--task", OptionHandler::Value(|options, value| set(&mut options.identity.task, text(value)))),
    ("--session", OptionHandler::Value(|options, value| set(&mut options.identity.session, text(value)))),
    ("--agent", OptionHandler::Value(|options, value| set(&mut options.identity.agent, text(value)))),
    ("--hint", OptionHandler::Value(|options, value| set(&mut options.hint, hint(&value)?))),
];

impl RunOptions {
    /// Those of a command without any option.
    pub(super) fn of_command(argv: Vec<OsString>) -> Self {
        RunOptions {
            recording: Recording::Checks,
            only_checks: false,
            reuse: false,
            sync: false,
            identity: Identity::default(),
            hint: None,
            line: None,
            argv,
        }
    }
}

/// Takes the arguments (without the program's name) apart. The last one of an option given twice counts.
///
/// # Errors
/// When they can't be understood; nothing may be run then.
pub(super) fn parse(args: Vec<OsString>) -> Result<RunOptions, UsageError> {
    let mut options = RunOptions::of_command(Vec::new());
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        if !arg.as_bytes().starts_with(b"-") {
            options.argv.push(arg);
            break;
        }
        if arg == "--" {
            break;
        }
        let (name, value) = split(&arg);
        let Some((name, takes)) = OPTIONS.iter().find(|(known, _)| *known == name) else {
            return Err(UsageError::Unknown(name.to_string_lossy().into_owned()));
        };
        match (takes, value) {
            (OptionHandler::Flag(act), None) => act(&mut options),
            (OptionHandler::Flag(_), Some(_)) => return Err(UsageError::Value(name)),
            (OptionHandler::Value(act), value) => {
                act(&mut options, value.or_else(|| args.next()).ok_or(UsageError::NoValue(name))?)?;
            }
        }
    }
    options.argv.extend(args);
    match (&options.line, options.argv.is_empty()) {
        (Some(line), true) => options.argv = vec!["sh".into(), "-c".into(), line.clone()],
        (Some(_), false) => return Err(UsageError::TwoCommands),
        (None, true) => return Err(UsageError::NoCommand),
        (None, false) => {}
    }
    Ok(options)
}

/// `--name=value` in two.
fn split(arg: &OsStr) -> (&OsStr, Option<OsString>) {
    let bytes = arg.as_bytes();
    match find_byte(bytes, b'=') {
        Some(at) => (OsStr::from_bytes(&bytes[..at]), Some(OsString::from_vec(bytes[at + 1..].to_vec()))),
        None => (arg, None),
    }
}

fn set<T>(place: &mut Option<T>, value: T) -> Result<(), UsageError> {
    *place = Some(value);
    Ok(())
}

fn text(value: OsString) -> String {
    value.to_string_lossy().into_owned()
}

/// Whether a failure that is known is said to be.
fn hint(value: &OsStr) -> Result<bool, UsageError> {
    match value.to_str() {
        Some("off") => Ok(false),
        Some("stderr") => Ok(true),
        _ => Err(UsageError::NoSuchValue("--hint", value.to_string_lossy().into_owned(), "off, stderr")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<RunOptions, UsageError> {
        parse(args.iter().map(OsString::from).collect())
    }

    fn argv(args: &[&str]) -> Vec<String> {
        let options = parsed(args).expect("valid");
        options.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_follows_the_command_belongs_to_it() {
        assert_eq!(argv(&["npm", "test", "--record", "--", "-x"]), ["npm", "test", "--record", "--", "-x"]);
        assert_eq!(argv(&["--sync", "--", "--help", "--"]), ["--help", "--"]);
        assert_eq!(argv(&["--", "last"]), ["last"]);
    }

    #[test]
    fn values_come_behind_a_space_or_an_equals_sign() {
        let options = parsed(&["--task", "T 1", "--agent=a=b", "--session=", "true"]).expect("valid");
        let identity = options.identity;
        assert_eq!(
            (identity.task.as_deref(), identity.agent.as_deref(), identity.session.as_deref()),
            (Some("T 1"), Some("a=b"), Some(""))
        );
    }

    #[test]
    fn a_line_is_given_to_a_shell() {
        assert_eq!(argv(&["--shell", "npm test && tsc"]), ["sh", "-c", "npm test && tsc"]);
        assert_eq!(parsed(&["--shell", "a", "b"]), Err(UsageError::TwoCommands));
    }

    #[test]
    fn what_is_not_understood_is_not_run() {
        assert_eq!(parsed(&["--recrod", "true"]), Err(UsageError::Unknown("--recrod".into())));
        assert_eq!(parsed(&["-x", "true"]), Err(UsageError::Unknown("-x".into())));
        assert_eq!(parsed(&["--record=yes", "true"]), Err(UsageError::Value("--record")));
        assert_eq!(parsed(&["--task"]), Err(UsageError::NoValue("--task")));
        assert_eq!(parsed(&["--sync", "--"]), Err(UsageError::NoCommand));
        assert!(matches!(parsed(&["--hint", "loud", "true"]), Err(UsageError::NoSuchValue(..))));
    }

    #[test]
    fn the_last_one_counts() {
        assert_eq!(parsed(&["--record", "--no-record", "true"]).expect("valid").recording, Recording::Never);
    }
}
