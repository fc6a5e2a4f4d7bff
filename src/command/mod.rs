//! From argv or a shell line to the simple commands in it, and what "the same check" means.

mod gave_up;
mod key;
mod line;
#[cfg(test)]
mod tests;
mod tokenizer;
mod typed;

pub(crate) use gave_up::UnparsedReason;
pub(crate) use key::KeyParts;
pub(crate) use line::{LineStep, ShellLine, SimpleCommand};
pub(crate) use tokenizer::{ShellTokenizer, ShellWord};
pub(crate) use typed::typed;
