//! From argv or a shell line to the simple commands in it, and what "the same check" means.

mod key;
mod line;
#[cfg(test)]
mod tests;
mod typed;

pub(crate) use key::KeyParts;
pub(crate) use line::{GaveUp, LineStep, ShellLine, Simple};
pub(crate) use typed::typed;
