//! Why a shell text can't be understood without running it.

use std::fmt;

/// Why a line can't be parsed without running it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GaveUp {
    /// A quote, substitution or group without its end.
    Unfinished,
    /// Substitutions in substitutions, deeper than the tokenizer follows them.
    TooDeep,
    /// A here-document.
    HereDocument,
    /// `case`, a loop, `if`, a function.
    Compound,
    /// `eval`.
    Eval,
    /// The program's name is substituted (`$(…)` in command position).
    SubstitutedProgram,
    /// Not a line a shell would accept.
    Syntax,
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GaveUp::Unfinished => "a quote or group has no end",
            GaveUp::TooDeep => "its substitutions are nested too deeply",
            GaveUp::HereDocument => "it has a here-document",
            GaveUp::Compound => "it has a loop, condition or function",
            GaveUp::Eval => "it uses eval",
            GaveUp::SubstitutedProgram => "the program's name is the output of another command",
            GaveUp::Syntax => "it is not a line that a shell accepts",
        })
    }
}
