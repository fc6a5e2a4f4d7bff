//! Why a shell text can't be understood without running it.

use std::fmt;

/// Why a line can't be parsed without running it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnparsedReason {
    /// A quote, substitution or group without its end.
    Unfinished,
    /// Substitutions in substitutions, deeper than the tokenizer follows them.
    TooDeep,
    /// A here-document.
    HereDocument,
    /// `case`, `select`, a function, a loop that counts.
    Compound,
    /// `eval` of anything but one plain command.
    Eval,
    /// The program's name is substituted (`$(…)` in command position).
    SubstitutedProgram,
    /// Not a line a shell would accept.
    Syntax,
}

impl fmt::Display for UnparsedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnparsedReason::Unfinished => "a quote or group has no end",
            UnparsedReason::TooDeep => "its substitutions are nested too deeply",
            UnparsedReason::HereDocument => "it has a here-document",
            UnparsedReason::Compound => "it has a `case`, a function or a loop that counts",
            UnparsedReason::Eval => "it uses eval",
            UnparsedReason::SubstitutedProgram => "the program's name is the output of another command",
            UnparsedReason::Syntax => "it is not a line that a shell accepts",
        })
    }
}
