//! The quality gate: a checklist, the tools that measure it, and a verdict about one exact tree. `docs/concepts/gate.md`
//! explains the words.

pub(crate) mod adapter;
pub(crate) mod criteria;
pub(crate) mod cycle;
pub(crate) mod document;
pub(crate) mod judge;
pub(crate) mod measure;
pub(crate) mod memory;
pub(crate) mod phase;
pub(crate) mod plan;
pub(crate) mod policy;
pub(crate) mod prp;
pub(crate) mod receipt;
pub(crate) mod report;
pub(crate) mod review;
pub(crate) mod stack;
