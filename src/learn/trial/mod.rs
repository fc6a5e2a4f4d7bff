//! What is run of a job, and what it shows. Pure: the next run is asked for, and its record comes back.

mod cause;
mod perturb;
mod verdict;

pub(crate) use cause::is_undo;
pub(crate) use perturb::{Perturbation, perturbations_of};
pub(crate) use verdict::{TrialFacts, TrialStep, next_trial, shows_atom};
