//! Applies snapshots to their tables.

use rusqlite::{Transaction, params};

use super::fix::insert_quoted_runs;
use super::{outcome, to_sql};
use crate::base::ids::RunId;
use crate::event::{Snapshot, SnapshotBase};

pub(super) fn insert_snapshot(
    transaction: &Transaction<'_>,
    event_id: &str,
    at: &str,
    snapshot: &Snapshot,
    quoted: &[RunId],
) -> rusqlite::Result<()> {
    let run = snapshot.run.to_string();
    if !insert_quoted_runs(transaction, event_id, quoted)? {
        return Ok(());
    }
    let (base, base_run) = match &snapshot.base {
        Some(SnapshotBase::Pass { run, .. }) => (Some("pass"), Some(run.to_string())),
        Some(SnapshotBase::Head { .. }) => (Some("head"), None),
        None => (None, None),
    };
    let skipped = snapshot.tree.is_none().then(|| snapshot.skipped.as_deref().unwrap_or("no reason is known"));
    let new = transaction
        .prepare_cached(
            "INSERT INTO snapshots (run_id, event_id, at, tree, exact, late, skipped, left_out, base, base_tree,
                                    base_run, file_count, unavailable)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            run,
            event_id,
            at,
            snapshot.tree,
            snapshot.exact && snapshot.tree.is_some(),
            snapshot.late && snapshot.tree.is_some(),
            skipped,
            to_sql(snapshot.left_out),
            base,
            snapshot.base.as_ref().map(SnapshotBase::tree_id),
            base_run,
            to_sql(snapshot.files.len() as u64 + snapshot.files_cut),
            snapshot.unavailable,
        ])?;
    let mut insert =
        transaction.prepare_cached("INSERT INTO snapshot_files VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING")?;
    for file in snapshot.files.iter().filter(|_| new > 0) {
        let (added, removed) = (to_sql(file.added), to_sql(file.removed));
        insert.execute(params![run, file.path.display(), file.kind.as_str(), added, removed])?;
    }
    outcome::judge_deliveries_of_run(transaction, &run)
}
