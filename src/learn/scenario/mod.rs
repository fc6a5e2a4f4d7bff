//! What is run to show a failure and its fix: mostly what was recorded, else what the change and the stack suggest, else what
//! a person writes.

mod choice;
mod manual;

pub(crate) use choice::{CandidateCommand, ScenarioInputs, choose_scenario};
pub(crate) use manual::{MANUAL_BYTES_MAX, ManualScenario, render_manual_template};
