//! From argv or a shell line to the simple commands in it, and what "the same check" means.

mod key;

pub use key::KeyParts;
