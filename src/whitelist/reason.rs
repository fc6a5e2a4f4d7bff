//! Why a command is no check, for `whitelist explain`.

use std::fmt;

use crate::command::GaveUp;

/// The reasons, from the least to the most telling one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Reason {
    /// There was no command.
    #[default]
    None,
    /// No rule names this program.
    Unknown(String),
    /// The program is known, what it is asked to do is no check.
    OtherUse(String),
    /// No script of such a name is taken for a check.
    ScriptName(String),
    /// Part of the script's name says that it changes things or does not end.
    ScriptDenied { name: String, part: String },
    /// The line can't be told apart.
    GaveUp(GaveUp),
    /// Runners in runners in runners.
    TooDeep,
    /// An argument that would make it a check is missing.
    Needs { tool: String, one_of: String },
    /// An argument makes it no check.
    Denied { tool: String, argument: String },
}

impl Reason {
    pub fn rank(&self) -> u8 {
        match self {
            Reason::None => 0,
            Reason::Unknown(_) => 1,
            Reason::OtherUse(_) => 2,
            Reason::ScriptName(_) => 3,
            Reason::ScriptDenied { .. } => 4,
            Reason::GaveUp(_) => 5,
            Reason::TooDeep => 6,
            Reason::Needs { .. } => 7,
            Reason::Denied { .. } => 8,
        }
    }

    /// A rule knew the call and refused it.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Reason::Needs { .. } | Reason::Denied { .. })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::None => f.write_str("there is no command in it"),
            Reason::Unknown(program) => write!(f, "no rule names `{program}`"),
            Reason::OtherUse(program) => write!(f, "`{program}` is known, but no check when it is used like this"),
            Reason::ScriptName(name) => write!(f, "`{name}` is not the name of a check script"),
            Reason::ScriptDenied { name, part } => {
                write!(f, "`{part}` in the script's name `{name}` says that it changes things or does not end")
            }
            Reason::GaveUp(gave_up) => write!(f, "the line can't be told apart without running it: {gave_up}"),
            Reason::TooDeep => f.write_str("too many runners inside each other"),
            Reason::Needs { tool, one_of } => write!(f, "`{tool}` is a check only with one of: {one_of}"),
            Reason::Denied { tool, argument } => write!(f, "`{argument}` makes this call of `{tool}` no check"),
        }
    }
}
