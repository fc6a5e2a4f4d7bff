//! Builds the index from scratch, in a separate file that replaces the old one at the end.
//!
//! Row by row into indexes that don't fit into memory is a page read and written for each. So what is only looked up
//! afterwards is made at the end, sorted: the secondary indexes, and the tables whose keys come in no order, which
//! are beside it under their own names until then (SQLite looks for temporary tables first). There is no journal: a
//! build that is cut off is thrown away.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rusqlite::{OpenFlags, Transaction, TransactionBehavior};

use super::apply::recount_marked_fixes;
use super::error::{StoreError, io_at, sql_at};
use super::index;
use super::journal;
use super::schema;
use super::segment::{Segment, SegmentFolder, sync_dir};

/// Pages that the build keeps in memory, KiB; a sort takes as much again.
const CACHE_KIB: i64 = 96 << 10;

/// Tables with random keys that applying an event only writes to: filled at the end, in the order of their keys.
const SORTED: [&str; 4] = ["near_bands", "attempt_patterns", "attempt_files", "attempt_recipes"];

/// Tables whose indexes applying an event doesn't need: made at the end. (What was tried is judged by attempts, so theirs
/// are not among them: without them each failure would look at all before it.)
const INDEXED_LAST: [&str; 16] = [
    "events",
    "runs",
    "failures",
    "failure_files",
    "occurrences",
    "patterns",
    "lesson_changes",
    "attempt_patterns",
    "attempt_files",
    "attempt_recipes",
    "snapshots",
    "snapshot_files",
    "pattern_places",
    "pattern_days",
    "pattern_figures",
    "fix_figures",
];

/// Indexes of these tables that applying an event does need: by them an entry names what it is about, and what was tried is
/// judged.
const KEPT: [&str; 4] = ["patterns_by_id", "patterns_by_family", "occurrences_by_failure", "occurrences_by_task"];

/// What was read.
pub(super) struct IndexBuild {
    /// Events applied.
    pub events: usize,
    /// Lines skipped because they aren't events.
    pub bad_lines: usize,
}

/// Computes the index at `path` again. The caller holds the recorder's lock and has closed the old one.
///
/// # Errors
/// As [`index::Index::catch_up`]; the old index is then as before.
pub(super) fn build_index(path: &Path, segments: &SegmentFolder) -> Result<IndexBuild, StoreError> {
    let part = part_path(path);
    index::remove_index(&part)?;
    let built = fill_index(&part, segments).inspect_err(|_| {
        let _ = index::remove_index(&part);
    })?;
    File::open(&part).and_then(|file| file.sync_all()).map_err(io_at("sync", &part))?;
    // An old journal must never meet a new database.
    journal::remove_journal(path);
    fs::rename(&part, path).map_err(io_at("rename", &part))?;
    if let Some(folder) = path.parent() {
        sync_dir(folder);
    }
    Ok(built)
}

/// Beside the index, with a name by which the next recorder knows that it is unfinished.
fn part_path(path: &Path) -> PathBuf {
    path.with_file_name(".tmp-store.db")
}

fn fill_index(part: &Path, segments: &SegmentFolder) -> Result<IndexBuild, StoreError> {
    index::create_file(part)?;
    let failed = || sql_at("write", part);
    let mut connection = index::open_connection(part, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed())?;
    schema::prepare_schema(&mut connection).map_err(failed())?;
    let pragmas = format!(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;
         PRAGMA temp_store = FILE; PRAGMA foreign_keys = ON; PRAGMA cache_size = -{CACHE_KIB}"
    );
    connection.execute_batch(&pragmas).map_err(failed())?;
    let transaction = Transaction::new(&mut connection, TransactionBehavior::Immediate).map_err(failed())?;
    let indexes = drop_indexes(&transaction).map_err(failed())?;
    create_temporary_tables(&transaction).map_err(failed())?;
    index::prepare_empty_index(&transaction, segments, part)?;
    let listed = segments.list_segments()?;
    let all: Vec<(&Segment, u64)> = listed.iter().map(|segment| (segment, 0)).collect();
    let read = index::read_segments(&transaction, segments, &all, part)?;
    copy_temporary_tables(&transaction).map_err(failed())?;
    for sql in indexes {
        transaction.execute_batch(&sql).map_err(failed())?;
    }
    recount_marked_fixes(&transaction).and_then(|()| transaction.commit()).map_err(failed())?;
    Ok(IndexBuild { events: read.events, bad_lines: read.bad_lines })
}

/// Drops the indexes that are made last; the statements that make them.
fn drop_indexes(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<String>> {
    let mut find = transaction
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?1 AND sql IS NOT NULL")?;
    let mut found: Vec<(String, String)> = Vec::new();
    for table in INDEXED_LAST {
        for row in find.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))? {
            found.push(row?);
        }
        found.retain(|(name, _)| !KEPT.contains(&name.as_str()));
    }
    for (name, _) in &found {
        transaction.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    Ok(found.into_iter().map(|(_, sql)| sql).collect())
}

/// Puts temporary tables in front of those that are filled in the order of their keys.
fn create_temporary_tables(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    for table in SORTED {
        transaction.execute_batch(&format!("CREATE TEMP TABLE {table} AS SELECT * FROM main.{table} WHERE 0"))?;
    }
    Ok(())
}

fn copy_temporary_tables(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    for table in SORTED {
        // They begin with their keys; ON CONFLICT DO NOTHING has still to be done.
        let columns: i64 =
            transaction.query_row("SELECT count(*) FROM pragma_table_info(?1)", [table], |row| row.get(0))?;
        let order: Vec<String> = (1..=columns).map(|column| column.to_string()).collect();
        transaction.execute_batch(&format!(
            "INSERT OR IGNORE INTO main.{table} SELECT * FROM temp.{table} ORDER BY {};
             DROP TABLE temp.{table}",
            order.join(", ")
        ))?;
    }
    Ok(())
}
