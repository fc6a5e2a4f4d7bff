//! The learning pipeline: what a finished task left to learn from, whether it can be shown again, the smallest change that
//! still works, and the page about it. Pure: jobs are folds over recorded steps, and whatever has to be run or read is
//! asked for by value.

pub(crate) mod crystal;
pub(crate) mod job;
pub(crate) mod library;
pub(crate) mod minimal;
pub(crate) mod queue;
pub(crate) mod scenario;
pub(crate) mod trial;
