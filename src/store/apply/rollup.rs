//! Keeps the sums of the index current, in the transaction of the event that changes what they count.
//!
//! Every sum is a function of the rows that it counts: in whichever order the events come, the last one leaves the
//! same. What an event adds is added; where it changes what was counted before (a flake that is proven, a pass that
//! turns out to be weakened, a merge), the old count is taken out first, or the rows concerned are counted again; those of
//! fixes at the end of the transaction.

mod fix;
mod open;
mod pattern;
mod reuse;
mod run;

use rusqlite::{OptionalExtension, Transaction};

pub(in crate::store) use fix::recount_marked_fixes;
pub(super) use fix::{mark_fix, mark_fixes_of_failure, mark_fixes_of_flake};
pub(super) use open::{CheckEnd, add_open_failure, close_by_attempt, close_by_pass};
pub(super) use pattern::{FailureCell, PatternChanges, SeenPattern, add_failure_to_patterns, recount_patterns};
pub(super) use reuse::{TaskHelp, update_helped_tasks};
pub(super) use run::{
    RunCell, add_failure, add_run, count_run, has_flakes, mark_flakes, recount_flakes, recount_flakes_of_pattern,
    replace_run_count,
};

/// The UTC day of a time as the index has it, as a number since 1970-01-01.
fn day_of(column: &str) -> String {
    format!("unixepoch({column}) / 86400")
}

/// The number of an agent, a tool or a category; given if need be.
pub(super) fn name_number(transaction: &Transaction<'_>, name: &str) -> rusqlite::Result<i64> {
    let known = transaction
        .prepare_cached("SELECT name_no FROM names WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()?;
    match known {
        Some(number) => Ok(number),
        None => transaction
            .prepare_cached("INSERT INTO names (name) VALUES (?1) RETURNING name_no")?
            .query_row([name], |row| row.get(0)),
    }
}
