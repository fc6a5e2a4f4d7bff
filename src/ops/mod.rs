//! The verbs, one function each, shared by every surface.

pub mod record;
