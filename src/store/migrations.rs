//! The index's versions. Append-only: an entry that was released is never edited.

use rusqlite::{Connection, Transaction, TransactionBehavior};

/// Entry `n` takes a database from version `n` to `n + 1`.
const MIGRATIONS: [&str; 27] = [
    include_str!("schema_v1.sql"),
    // Version 2: the look-ups that commands and the recorder make.
    "CREATE INDEX runs_by_root ON runs (root, ended_at);
     CREATE INDEX runs_by_key ON runs (command_key, ended_at);
     CREATE INDEX runs_by_task ON runs (task_no);
     CREATE INDEX failures_by_id ON qa_failures (failure_id);
     CREATE INDEX failures_by_lesson ON qa_failures (lesson_id) WHERE lesson_id IS NOT NULL;
     CREATE INDEX failures_by_category ON qa_failures (category);
     CREATE INDEX files_by_path ON failure_files (path);
     CREATE INDEX patterns_by_id ON qa_failure_patterns (pattern_id);
     CREATE INDEX patterns_by_family ON qa_failure_patterns (family_key);
     CREATE INDEX patterns_by_last_seen ON qa_failure_patterns (last_seen);
     CREATE INDEX occurrences_by_failure ON qa_pattern_occurrences (failure_no);
     CREATE INDEX occurrences_by_task ON qa_pattern_occurrences (task_no);
     CREATE INDEX events_by_segment ON events (segment_no, start);
     CREATE INDEX changes_by_lesson ON lesson_changes (lesson_id);",
    include_str!("schema_v3.sql"),
    include_str!("schema_v4.sql"),
    include_str!("schema_v5.sql"),
    // Version 6: the newest failures of a class, however many there are; the pattern that a key of any version names.
    "DROP INDEX runs_by_class;
     CREATE INDEX runs_by_class_and_time ON runs (class_key, passed, ended_at);
     CREATE VIEW known_patterns AS
     SELECT pattern_key AS recorded_key, pattern_no FROM qa_failure_patterns
     UNION ALL SELECT recorded_key, pattern_no FROM recorded_keys;",
    include_str!("schema_v7.sql"),
    include_str!("schema_v8.sql"),
    include_str!("schema_v9.sql"),
    // Version 10: whether a check passed since, however often it failed.
    "CREATE INDEX passes_by_key ON runs (command_key, ended_at) WHERE passed;",
    include_str!("schema_v11.sql"),
    include_str!("schema_v12.sql"),
    // Version 13: what a recorder asks however long the history is: which segments changed, which tasks are not over.
    "ALTER TABLE segments ADD COLUMN stamp TEXT NOT NULL DEFAULT '';
     CREATE INDEX tasks_by_last_at ON tasks (last_at);",
    // Version 14: advice from entries is judged by runs that are in the index already: everything is read anew.
    "DELETE FROM computed_with;",
    // Version 15: what is open is told by the indexes alone.
    "DROP INDEX runs_by_class_and_time;
     CREATE INDEX runs_by_class_and_time ON runs (class_key, passed, ended_at, command_key, branch);
     DROP INDEX passes_by_key;
     CREATE INDEX passes_by_key ON runs (command_key, ended_at, branch, own_status) WHERE passed;",
    // Version 16: entries are found by the very file that they name, and listed in the order of an index. Their labels are
    // made when they are read: everything is read anew.
    "DROP INDEX knowledge_by_time;
     CREATE INDEX knowledge_by_time ON knowledge_entries (at DESC, entry_id) WHERE event_id IS NOT NULL;
     DELETE FROM computed_with;",
    include_str!("schema_v17.sql"),
    // Version 18: what came of advice is asked for without a look at advice of which nothing came.
    "CREATE INDEX deliveries_that_failed ON qa_warning_deliveries (family_key) WHERE failed_in IS NOT NULL;
     DROP INDEX deliveries_by_pattern;
     CREATE INDEX deliveries_by_pattern ON qa_warning_deliveries (pattern_key);
     CREATE INDEX judged_deliveries_by_pattern ON qa_warning_deliveries (pattern_key, arm, failed_in, passed_in)
     WHERE failed_in IS NOT NULL OR passed_in IS NOT NULL;
     CREATE INDEX judged_deliveries_by_entry ON qa_warning_deliveries (entry_id)
     WHERE failed_in IS NOT NULL OR passed_in IS NOT NULL;",
    include_str!("schema_v19.sql"),
    include_str!("schema_v20.sql"),
    // Version 21: whose texts are shown and not used; see `exchange::IMPORTED`.
    "CREATE VIEW imported_events AS
     SELECT event_id FROM events JOIN segments USING (segment_no) WHERE substr(name, 1, 9) = 'imported.';",
    // Version 22: lessons that nobody would read again.
    "CREATE TABLE withdrawn_lessons (run_id TEXT NOT NULL PRIMARY KEY, fix_id TEXT) STRICT, WITHOUT ROWID;",
    // Version 23: how a test failed before.
    "CREATE INDEX occurrences_by_test ON qa_pattern_occurrences (test, at) WHERE test IS NOT NULL;",
    include_str!("schema_v24.sql"),
    include_str!("schema_v25.sql"),
    // Version 26: fixes of which no entry is to be made. What a tool says when it is interrupted is no pattern: everything
    // is read anew.
    "ALTER TABLE fix_notes ADD COLUMN declined TEXT;
     DELETE FROM computed_with;",
    // Version 27: what was written or of use in a task.
    "CREATE INDEX entries_by_task ON entries (task) WHERE event_id IS NOT NULL AND task IS NOT NULL;
     CREATE INDEX uses_by_task ON entry_uses (task) WHERE how IN ('applied', 'validated', 'prevented');",
];

/// The version this binary writes.
pub const INDEX_VERSION: u32 = MIGRATIONS.len() as u32;

/// `application_id` in the database's header: "vrun".
pub const APPLICATION_ID: i32 = 0x7672_756e;

/// The version of an open database; 0 when it is empty.
///
/// # Errors
/// SQLite's.
pub fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Brings a database to [`INDEX_VERSION`] in one transaction; the version it had.
///
/// A newer one is not touched: the caller has to look at the result.
///
/// # Errors
/// SQLite's; the database is then as before.
pub fn migrate(connection: &mut Connection) -> rusqlite::Result<u32> {
    let before = version(connection)?;
    if before >= INDEX_VERSION {
        return Ok(before);
    }
    let transaction = Transaction::new(connection, TransactionBehavior::Immediate)?;
    // Asked again: another process may have migrated while this one waited for the lock.
    let before = version(&transaction)?;
    for (from, sql) in (0u32..).zip(MIGRATIONS) {
        if from >= before {
            transaction.execute_batch(sql)?;
        }
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", INDEX_VERSION)?;
    transaction.commit()?;
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Category;

    fn schema(connection: &Connection) -> Vec<String> {
        let mut statement =
            connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").expect("prepares");
        statement.query_map([], |row| row.get(0)).expect("queries").collect::<Result<_, _>>().expect("reads")
    }

    #[test]
    fn a_migrated_database_is_a_new_one_and_keeps_its_rows() {
        let mut fresh = Connection::open_in_memory().expect("opens");
        migrate(&mut fresh).expect("migrates");
        for from in 1..MIGRATIONS.len() {
            let mut old = Connection::open_in_memory().expect("opens");
            for sql in &MIGRATIONS[..from] {
                old.execute_batch(sql).expect("is SQL");
            }
            old.execute_batch(
                "INSERT INTO tasks (task_no, name, first_at, last_at) VALUES (1, 'kept', '2026', '2026')",
            )
            .expect("inserts");
            old.pragma_update(None, "user_version", from as u32).expect("sets");
            assert_eq!(migrate(&mut old).expect("migrates"), from as u32);
            assert_eq!(version(&old).expect("reads"), INDEX_VERSION);
            assert_eq!(schema(&old), schema(&fresh));
            let kept: String = old.query_row("SELECT name FROM tasks", [], |row| row.get(0)).expect("is there");
            assert_eq!(kept, "kept");
        }
    }

    #[test]
    fn the_reference_table_begins_with_the_shipped_categories() {
        let mut connection = Connection::open_in_memory().expect("opens");
        migrate(&mut connection).expect("migrates");
        let mut statement = connection.prepare("SELECT name FROM failure_categories").expect("prepares");
        let names = statement.query_map([], |row| row.get(0)).expect("queries");
        let names: std::collections::BTreeSet<String> = names.collect::<Result<_, _>>().expect("reads");
        assert_eq!(names, Category::SHIPPED.iter().map(|category| category.as_str().to_owned()).collect());
    }

    #[test]
    fn bad_values_are_refused() {
        let mut connection = Connection::open_in_memory().expect("opens");
        connection.pragma_update(None, "foreign_keys", true).expect("sets");
        migrate(&mut connection).expect("migrates");
        connection
            .execute_batch(
                "INSERT INTO tasks (task_no, name, first_at, last_at) VALUES (1, 't', '2026', '2026');
                 INSERT INTO runs (run_id, task_no, argv, root, dir, command_key, started_at, ended_at, duration_us, exit_code)
                 VALUES ('r', 1, '[]', '\"/\"', '\"\"', 'k', '2026', '2026', 0, 1);
                 INSERT INTO segments VALUES (1, 's', 0, '', '');
                 INSERT INTO events VALUES ('e', 'attempt', '2026', 1, 0, 1);
                 INSERT INTO strategies
                     (strategy_no, strategy_id, match, error_pattern, technique, recipe_key, label, described_by)
                 VALUES (1, 's-1', 'pattern', 'p', 'shape', '1:a', 'l', 'e');
                 INSERT INTO strategy_tries VALUES (1, 'e', 'r', 't', '2026', 'success', NULL);
                 INSERT INTO entries (entry_id, type) VALUES ('k-1', 'gotcha');
                 INSERT INTO knowledge_changes (event_id, entry_id, at, change, value)
                 VALUES ('e', 'k-1', '2026', 'confidence_set', 0.5);
                 INSERT INTO entry_uses (event_id, entry_id, at, how) VALUES ('e', 'k-1', '2026', 'applied');
                 INSERT INTO agent_memory (memory_id, event_id, sort, text, importance, at)
                 VALUES ('m-1', 'e', 'context', 't', 0.5, '2026');
                 INSERT INTO promotion_changes (event_id, promotion_id, pattern_key, at, change, reason, person, target)
                 VALUES ('a', 'r-1', 'p', '2026', 'approved', 'why', 'Ada', 'AGENTS.md');",
            )
            .expect("good values are accepted");
        for bad in [
            "INSERT INTO failures VALUES (1, 'f', 'r', 'no_such_category', 's', 1, 0, NULL, NULL, 'known')",
            "INSERT INTO failures VALUES (1, 'f', 'orphan', 'other', 's', 1, 0, NULL, NULL, 'known')",
            "INSERT INTO failures VALUES (1, 'f', 'r', 'other', 's', -1, 0, NULL, NULL, 'known')",
            "INSERT INTO failures VALUES (1, 'f', 'r', 'other', 's', 1, 0, NULL, NULL, 'lost')",
            "INSERT INTO failures VALUES (1, 'f', 'r', 'other', 's', 1, 0, NULL, NULL, NULL)",
            "UPDATE runs SET exit_code = 256",
            "UPDATE runs SET exit_code = NULL",
            "UPDATE runs SET check_kind = 'prayer'",
            "UPDATE runs SET argv = 'not json'",
            "UPDATE runs SET task_no = 7",
            "UPDATE tasks SET last_at = '2025'",
            "UPDATE strategies SET match = 'guess'",
            "UPDATE strategies SET error_pattern = ''",
            "UPDATE strategies SET successes = -1",
            "UPDATE strategies SET effectiveness = 1.2",
            "UPDATE strategy_tries SET outcome = 'luck'",
            "UPDATE strategy_tries SET discounted = 'unwanted'",
            "UPDATE strategy_tries SET outcome = 'failure', discounted = 'recurred'",
            "INSERT INTO strategy_tries VALUES (7, 'e', 'r', 't', '2026', 'success', NULL)",
            "INSERT INTO strategy_tries VALUES (1, 'orphan', 'r', 't', '2026', 'success', NULL)",
            "INSERT INTO entries (entry_id, type) VALUES ('k-2', 'rumour')",
            "UPDATE entries SET properties = 'no json'",
            "UPDATE entries SET source = 'hearsay'",
            "UPDATE knowledge_changes SET value = 1.2",
            "UPDATE knowledge_changes SET change = 'merged'",
            "UPDATE entry_uses SET how = 'admired'",
            "INSERT INTO knowledge_labels VALUES ('tag', 'x', 7)",
            "UPDATE agent_memory SET importance = 1.2",
            "UPDATE agent_memory SET sort = 'dream'",
            "INSERT INTO strategy_reports (event_id, strategy_id, at, outcome) VALUES ('orphan', 's', '2026', 'success')",
            "UPDATE promotion_changes SET change = 'wished'",
            "UPDATE promotion_changes SET person = NULL",
            "UPDATE promotion_changes SET person = ''",
            "UPDATE promotion_changes SET reason = ''",
            "UPDATE promotion_changes SET target = NULL",
            "UPDATE promotion_changes SET entry_id = 'k-1'",
            "UPDATE promotion_changes SET pattern_key = NULL",
            "UPDATE promotion_changes SET strong = 2",
        ] {
            assert!(connection.execute_batch(bad).is_err(), "accepted: {bad}");
        }
    }

    #[test]
    fn effectiveness_is_what_the_attempts_say() {
        let mut connection = Connection::open_in_memory().expect("opens");
        connection.pragma_update(None, "foreign_keys", false).expect("sets");
        migrate(&mut connection).expect("migrates");
        connection
            .execute_batch(
                "INSERT INTO strategies
                     (strategy_no, strategy_id, match, error_pattern, technique, recipe_key, label, described_by)
                 VALUES (1, 's-1', 'pattern', 'p', 'shape', '1:a', 'l', 'e');
                 INSERT INTO strategy_tries VALUES (1, 'e', 'r', 't', '2026', 'success', NULL);",
            )
            .expect("is fine");
        let effectiveness = |connection: &Connection| -> f64 {
            let sql = "SELECT effectiveness FROM strategies";
            connection.query_row(sql, [], |row| row.get(0)).expect("reads")
        };
        assert_eq!(effectiveness(&connection), 1.0);
        connection.execute_batch("UPDATE strategy_tries SET outcome = 'partial'").expect("is fine");
        assert_eq!(effectiveness(&connection), 0.5);
        connection.execute_batch("UPDATE strategy_tries SET outcome = 'failure'").expect("is fine");
        assert_eq!(effectiveness(&connection), 0.0);
        connection.execute_batch("DELETE FROM strategy_tries").expect("is fine");
        assert_eq!(effectiveness(&connection), 0.5, "untried");
    }
}
