//! The checkup of an installation: what keeps checks from being recorded here, and what to type about it.

mod agents;
mod finding;
mod isolation;
mod learning;
mod lessons;
mod records;
mod settings;
mod shells;
mod trial;

pub(crate) use agents::host_findings;
pub(crate) use finding::{CheckDepth, CheckStatus, Finding, findings_of_problems};
pub(crate) use isolation::check_isolation;
pub(crate) use learning::{check_waiting_jobs, library_finding, library_unreadable};
pub(crate) use lessons::{check_lesson_files, check_lessons_folder, check_packagers};
pub(crate) use records::{check_promotions, check_snapshots, check_state_folder, check_store, check_waiting_runs};
pub(crate) use settings::{check_advice, check_platform};
