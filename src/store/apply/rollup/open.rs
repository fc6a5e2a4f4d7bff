//! Failures that nothing resolved.
//!
//! A failure is open until its check passes on its branch, or until an attempt of its check succeeds on any. Either
//! may be recorded before the failure itself: the last of each is kept, so that a failure that comes late is compared
//! with it.

use rusqlite::{Transaction, params};

/// How a run of a check ended.
pub(in crate::store::apply) struct CheckEnd<'a> {
    /// Its command key.
    pub key: &'a str,
    pub branch: Option<&'a str>,
    /// When it ended, as the index has times.
    pub at: &'a str,
}

/// Adds a failure, by its row number, unless it is resolved already.
pub(in crate::store::apply) fn add_open_failure(
    transaction: &Transaction<'_>,
    failure_no: i64,
    end: &CheckEnd<'_>,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO open_failures SELECT ?1, ?2, ?3, ?4
             WHERE NOT EXISTS (SELECT 1 FROM last_passes WHERE command_key = ?1 AND branch = ?4 AND ended_at > ?2)
               AND NOT EXISTS (SELECT 1 FROM last_solutions WHERE command_key = ?1 AND at >= ?2)",
        )?
        .execute(params![end.key, end.at, failure_no, end.branch.unwrap_or_default()])?;
    Ok(())
}

/// Resolves the failures of a check that its own pass came after.
pub(in crate::store::apply) fn close_by_pass(
    transaction: &Transaction<'_>,
    end: &CheckEnd<'_>,
) -> rusqlite::Result<()> {
    let pass = [end.key, end.branch.unwrap_or_default(), end.at];
    transaction
        .prepare_cached(
            "INSERT INTO last_passes VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET ended_at = max(ended_at, excluded.ended_at)",
        )?
        .execute(pass)?;
    transaction
        .prepare_cached("DELETE FROM open_failures WHERE command_key = ?1 AND branch = ?2 AND ended_at < ?3")?
        .execute(pass)?;
    Ok(())
}

/// Resolves the failures of a check that were over when an attempt of it succeeded.
pub(in crate::store::apply) fn close_by_attempt(
    transaction: &Transaction<'_>,
    key: &str,
    at: &str,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO last_solutions VALUES (?1, ?2) ON CONFLICT DO UPDATE SET at = max(at, excluded.at)",
        )?
        .execute([key, at])?;
    transaction
        .prepare_cached("DELETE FROM open_failures WHERE command_key = ?1 AND ended_at <= ?2")?
        .execute([key, at])?;
    Ok(())
}
