//! Basics of every stage: time, ids, files, locks, limits, text, file patterns.

pub mod arena;
pub mod bytes;
pub mod children;
pub mod clock;
pub mod file;
pub(crate) mod first_few;
pub mod folder;
pub mod glob;
#[cfg(any(test, target_env = "musl"))]
pub mod heap;
pub mod ids;
pub mod limits;
pub mod literals;
pub mod lock;
pub mod lossless;
pub mod markdown;
pub mod one_or_many;
pub mod private;
#[cfg(test)]
pub mod random;
pub(crate) mod refusal;
pub mod schema;
pub(crate) mod shared_heap;
pub mod text;
pub mod threads;
pub mod tree;
pub mod words;
pub mod yaml;
