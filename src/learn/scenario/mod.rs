//! What is run to show a failure and its fix: mostly what was recorded, else what the change and the stack suggest, else what
//! a person writes.

mod choice;
mod manual;
mod prompt;
mod reach;
mod selector;

pub(crate) use choice::{CandidateCommand, ScenarioInputs, choose_scenario};
pub(crate) use manual::{MANUAL_BYTES_MAX, ManualScenario, render_manual_template};
pub(crate) use prompt::{named_files, quoted_commands};
pub(crate) use reach::{TestTexts, count_unreached, tests_near};
pub(crate) use selector::{ProjectFiles, commands_for_projects, commands_for_tests, is_code, package_scripts};
