//! Why a command is not a check, for `whitelist explain`.

use std::fmt;

use crate::command::UnparsedReason;

/// The reasons, from the least to the most telling one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum NotACheckReason {
    /// There was no command.
    #[default]
    None,
    /// No rule names this program.
    Unknown(String),
    /// The program is known, but not for a check.
    OtherUse(String),
    /// No script of such a name is taken for a check.
    ScriptName(String),
    /// Part of the script's name says that it changes things or does not end.
    ScriptDenied { name: String, part: String },
    /// The line can't be parsed.
    GaveUp(UnparsedReason),
    /// Runners in runners in runners.
    TooDeep,
    /// An argument that would make it a check is missing.
    Needs { tool: String, one_of: String },
    /// An argument makes it no check.
    Denied { tool: String, argument: String },
}

impl NotACheckReason {
    pub(super) fn specificity_rank(&self) -> u8 {
        match self {
            NotACheckReason::None => 0,
            NotACheckReason::Unknown(_) => 1,
            NotACheckReason::OtherUse(_) => 2,
            NotACheckReason::ScriptName(_) => 3,
            NotACheckReason::ScriptDenied { .. } => 4,
            NotACheckReason::GaveUp(_) => 5,
            NotACheckReason::TooDeep => 6,
            NotACheckReason::Needs { .. } => 7,
            NotACheckReason::Denied { .. } => 8,
        }
    }

    /// A rule knew the call and refused it.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, NotACheckReason::Needs { .. } | NotACheckReason::Denied { .. })
    }
}

impl fmt::Display for NotACheckReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotACheckReason::None => f.write_str("it contains no command"),
            NotACheckReason::Unknown(program) => write!(f, "no rule names `{program}`"),
            NotACheckReason::OtherUse(program) => {
                write!(f, "`{program}` is known, but used like this it is not a check")
            }
            NotACheckReason::ScriptName(name) => write!(f, "`{name}` is not the name of a check script"),
            NotACheckReason::ScriptDenied { name, part } => {
                write!(f, "`{part}` in the script name `{name}` suggests that it changes things or does not end")
            }
            NotACheckReason::GaveUp(gave_up) => write!(f, "the line cannot be analysed without running it: {gave_up}"),
            NotACheckReason::TooDeep => f.write_str("too many nested runners"),
            NotACheckReason::Needs { tool, one_of } => write!(f, "`{tool}` is a check only with one of: {one_of}"),
            NotACheckReason::Denied { tool, argument } => {
                write!(f, "`{tool}` with `{argument}` is not a check")
            }
        }
    }
}
