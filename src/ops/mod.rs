//! The verbs, one function each, shared by every surface.
