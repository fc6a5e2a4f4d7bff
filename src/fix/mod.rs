//! What made a failure go away: atoms and their sets, what a run's selectors cover, attempts and their fold to a
//! workflow, recipes, flakes. [`snapshot`] keeps the work tree at a run, outside the user's objects, and compares two;
//! [`patch`] reads what it compared, and [`weakened`] says whether a pass came from checking less.

mod atom;
mod coverage;
mod derived;
mod imports;
pub mod patch;
mod program;
mod reach;
mod recipe;
pub mod regression;
mod relation;
mod sets;
mod sight;
pub mod snapshot;
mod surroundings;
#[cfg(test)]
mod tests;
pub mod weakened;
mod workflow;

pub use atom::{Atoms, of_run as atoms_of_run};
pub use coverage::{Reach, covering_scopes, reach};
pub use derived::is_derived;
pub use imports::References;
pub use program::program;
pub use reach::{StopsAt, selects_anew, stops_at};
pub use recipe::recipes;
pub use relation::{Relation, is_setting, only_related, related_first};
pub use sets::{Sets, compare};
pub use sight::{Sight, is_same_call, is_seen_whole, is_silent, known_as_new};
pub use surroundings::{Surroundings, surroundings};
pub use workflow::{Numbered, Standing, Workflow, has_held, standing, workflow};
