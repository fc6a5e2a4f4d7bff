//! F2: the acceptance criteria of a PRP and what proves them: tests that name them, `qa-criteria.yml`, suggestions.

pub(crate) mod declaration;
pub(crate) mod edit;
pub(crate) mod file;
pub(crate) mod javascript;
pub(crate) mod link;
pub(crate) mod mention;
pub(crate) mod selector;
pub(crate) mod suggestion;
