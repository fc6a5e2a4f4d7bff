//! What made a failure go away: atoms and their sets, what a run's selectors cover, attempts and their fold to a
//! workflow, recipes, flakes. [`snapshot`] keeps the work tree at a run, outside the user's objects, and compares two;
//! [`patch`] reads what it compared, and [`weakened`] says whether a pass came from checking less.

mod atom;
mod check_inputs;
mod content;
mod coverage;
mod dependencies;
mod derived;
mod imports;
pub(crate) mod patch;
mod portable;
mod program;
mod reach;
mod recipe;
pub(crate) mod regression;
mod relation;
mod script;
mod sets;
mod sight;
pub(crate) mod snapshot;
#[cfg(test)]
mod tests;
mod toolchain;
pub(crate) mod weakened;
mod workflow;

pub(crate) use atom::{RunAtoms, of_item as atom_of_item, of_items as atoms_of_items, of_run as atoms_of_run};
pub(crate) use check_inputs::{CheckInputs, InputSearch, UnknownInput, digest_inputs, pins_packages};
pub(crate) use coverage::{FailureCoverage, compare_scopes, covering_scopes};
pub(crate) use dependencies::{DependencyChanges, dependency_changes};
pub(crate) use derived::is_derived;
pub(crate) use imports::FileReferences;
pub(crate) use program::{CommandPrograms, digest_programs, find_on_search_path, find_tool};
pub(crate) use reach::{has_choosing_option, selects_anew, stops_at};
pub(crate) use recipe::recipes_of_attempt;
pub(crate) use relation::{FileRelation, is_setting, only_related, related_first};
pub(crate) use sets::{AtomSets, compare_atoms};
pub(crate) use sight::{AtomVisibility, is_same_call, is_seen_whole, is_silent, known_as_new};
pub(crate) use toolchain::{ToolchainInputs, ToolchainProgram, digest_program, digest_toolchain, toolchain_programs};
pub(crate) use workflow::{NumberedAttempt, build_workflow, fix_status, has_held};
