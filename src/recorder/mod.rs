//! The recorder: takes finished runs from the spool into the store, one at a time, in the order in which they ended.
//!
//! Single by the recorder's lock and idempotent by run id, so that it may be killed anywhere. For each run the order
//! is: event, index, what follows from it, markers; all of it synced; lesson, raw output, and last of all the spool
//! file's removal. Whatever was cut off is done by the next recorder, which finds the spool file still there.

mod assemble;
mod attempts;
mod attribution;
mod changes;
mod comparison;
mod context;
pub(crate) mod definitions;
mod diagnosis;
mod drain;
mod drained;
mod flakes;
mod head;
mod in_flight;
mod lessons;
mod log;
mod markers;
mod merges;
mod notes;
mod observed;
mod open_failures;
mod projects;
mod queue;
mod receipts;
mod record;
mod reports;
pub(crate) mod shared_lessons;
mod snapshots;
mod task;
#[cfg(test)]
pub(crate) mod tests;
mod unwanted;
mod upkeep;

use crate::config::Places;

pub(crate) use assemble::{lesson_facts, ran_from_header};
pub(crate) use diagnosis::{RecordedItems, diagnose_items, pattern_keys};
pub(crate) use drain::{drain, drain_for_reading, drain_sync};
pub(crate) use drained::DrainReport;
pub(crate) use lessons::fix_facts;
pub(crate) use log::recent_lines as recent_log;
pub(crate) use projects::{local_machine, snapshot_options};
pub(crate) use queue::{SpoolEntryKind, bad_files, pending_entries, waiting_headers};
pub(crate) use receipts::refusal_of_run;
pub(crate) use task::{current_task, default_tip};

/// Writes what was found and put right elsewhere into the recorder's log.
pub(crate) fn note(places: &Places, lines: &[String]) {
    log::append_lines(&places.state, lines);
}
