//! What the index knows that answers a question: which warnings are due, which entries fit, which tasks are alike, what
//! helps against a pattern, what has earned a line that everybody reads. Reads rows and lets the pure stages judge them;
//! writes nothing.

mod candidates;
pub(crate) mod delivery;
pub(crate) mod detector_cache;
pub(crate) mod detectors;
pub(crate) mod due;
pub(crate) mod effect;
mod entry_history;
pub(crate) mod entry_measurement;
pub(crate) mod entry_page;
mod entry_promotions;
pub(crate) mod entry_proposals;
pub(crate) mod entry_search;
pub(crate) mod fragment;
mod gotchas;
mod harm;
pub(crate) mod hint;
pub(crate) mod history_cache;
pub(crate) mod pattern_facts;
pub(crate) mod pattern_lines;
pub(crate) mod pattern_match;
pub(crate) mod pattern_reader;
pub(crate) mod pattern_remedies;
pub(crate) mod promotions;
pub(crate) mod question;
pub(crate) mod remedy_candidates;
mod shared_lessons;
pub(crate) mod similar_tasks;
#[cfg(test)]
mod tests;
