//! The index's schema and its version.

use rusqlite::{Connection, Transaction, TransactionBehavior};

const SCHEMA: &str = include_str!("schema.sql");

/// The version of [`SCHEMA`]. It rises with every change of the file, and when the same events give other rows than before.
pub(super) const INDEX_VERSION: u32 = 45;

/// `application_id` in the database's header: "vrun".
pub(super) const APPLICATION_ID: i32 = 0x7672_756e;

/// The version of an open database; 0 when it is empty.
///
/// # Errors
/// SQLite's.
pub(super) fn schema_version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Gives a database this schema in one transaction; returns the version it had.
///
/// An earlier version is emptied: its rows are computed again from the events. A newer one is not touched, and the caller
/// has to look at the result.
///
/// # Errors
/// SQLite's; the database is then as before.
pub(super) fn prepare_schema(connection: &mut Connection) -> rusqlite::Result<u32> {
    let before = schema_version(connection)?;
    if before >= INDEX_VERSION {
        return Ok(before);
    }
    // Dropping tables in any order needs unchecked references, and the pragma does nothing inside a transaction.
    let is_checked: bool = connection.query_row("PRAGMA foreign_keys", [], |row| row.get(0))?;
    connection.pragma_update(None, "foreign_keys", false)?;
    let result = replace_schema(connection);
    connection.pragma_update(None, "foreign_keys", is_checked)?;
    result
}

fn replace_schema(connection: &mut Connection) -> rusqlite::Result<u32> {
    let transaction = Transaction::new(connection, TransactionBehavior::Immediate)?;
    // Read again: another process may have replaced it while this one waited for the lock.
    let before = schema_version(&transaction)?;
    if before >= INDEX_VERSION {
        return Ok(before);
    }
    drop_all_objects(&transaction)?;
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", INDEX_VERSION)?;
    transaction.commit()?;
    Ok(before)
}

/// Drops views and virtual tables before the tables that they read and own.
fn drop_all_objects(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    const NEXT: &str = r"SELECT type, name FROM sqlite_schema
        WHERE type IN ('view', 'table') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
        ORDER BY type = 'table', sql NOT LIKE 'CREATE VIRTUAL%' LIMIT 1";
    loop {
        let next = transaction.query_row(NEXT, [], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
        match next {
            Ok((kind, name)) => transaction.execute_batch(&format!("DROP {kind} \"{name}\""))?,
            Err(rusqlite::Error::QueryReturnedNoRows) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Category;

    /// The names and statements of all tables, indexes, views and triggers.
    fn objects(connection: &Connection) -> Vec<(String, Option<String>)> {
        let mut statement = connection.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").expect("prepares");
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("queries");
        rows.collect::<Result<_, _>>().expect("reads")
    }

    #[test]
    fn an_index_of_an_earlier_version_is_emptied_and_gets_this_schema() {
        let mut fresh = Connection::open_in_memory().expect("opens");
        prepare_schema(&mut fresh).expect("prepares");
        let mut old = Connection::open_in_memory().expect("opens");
        old.pragma_update(None, "foreign_keys", true).expect("sets");
        old.execute_batch(
            "CREATE TABLE tasks (task_no INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
             CREATE TABLE runs (run_id TEXT PRIMARY KEY, task_no INTEGER NOT NULL REFERENCES tasks) STRICT;
             CREATE INDEX runs_by_task ON runs (task_no);
             CREATE VIEW gone AS SELECT name FROM tasks;
             CREATE VIRTUAL TABLE task_words USING fts5(name);
             INSERT INTO tasks VALUES (1, 'old');
             INSERT INTO runs VALUES ('r', 1);
             PRAGMA user_version = 1;",
        )
        .expect("is SQL");
        assert_eq!(prepare_schema(&mut old).expect("prepares"), 1);
        assert_eq!(schema_version(&old).expect("reads"), INDEX_VERSION);
        assert_eq!(objects(&old), objects(&fresh));
        let tasks: u32 = old.query_row("SELECT count(*) FROM tasks", [], |row| row.get(0)).expect("reads");
        assert_eq!(tasks, 0);
        let checked: bool = old.query_row("PRAGMA foreign_keys", [], |row| row.get(0)).expect("reads");
        assert!(checked, "as it was before");
        assert_eq!(prepare_schema(&mut old).expect("prepares"), INDEX_VERSION, "nothing to do");
    }

    #[test]
    fn the_reference_table_begins_with_the_shipped_categories() {
        let mut connection = Connection::open_in_memory().expect("opens");
        prepare_schema(&mut connection).expect("prepares");
        let mut statement = connection.prepare("SELECT name FROM failure_categories").expect("prepares");
        let names = statement.query_map([], |row| row.get(0)).expect("queries");
        let names: std::collections::BTreeSet<String> = names.collect::<Result<_, _>>().expect("reads");
        assert_eq!(names, Category::SHIPPED.iter().map(|category| category.as_str().to_owned()).collect());
    }

    const BAD_STATEMENTS: [&str; 43] = [
        "INSERT INTO failures VALUES (1, 'f', 'r', 'no_such_category', 's', 1, 0, NULL, NULL, 'known', NULL)",
        "INSERT INTO failures VALUES (1, 'f', 'orphan', 'other', 's', 1, 0, NULL, NULL, 'known', NULL)",
        "INSERT INTO failures VALUES (1, 'f', 'r', 'other', 's', -1, 0, NULL, NULL, 'known', NULL)",
        "INSERT INTO failures VALUES (1, 'f', 'r', 'other', 's', 1, 0, NULL, NULL, 'lost', NULL)",
        "INSERT INTO failures VALUES (1, 'f', 'r', 'other', 's', 1, 0, NULL, NULL, NULL, NULL)",
        "INSERT INTO failures VALUES (1, 'f', 'r', 'other', 's', 1, 0, NULL, NULL, 'known', 'dull')",
        "INSERT INTO run_days VALUES (1, 1, 1, 1, 1, 1, 1)",
        "INSERT INTO failure_days VALUES (1, 1, 1, 1, 1, 0)",
        "INSERT INTO fix_figures VALUES ('x', '2026', NULL, 'luck', 0, 0, 1, 1, 1, NULL)",
        "INSERT INTO totals VALUES ('wishes', 1)",
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
        "UPDATE agent_memory SET type = 'dream'",
        "INSERT INTO strategy_reports (event_id, strategy_id, at, outcome) VALUES ('orphan', 's', '2026', 'success')",
        "UPDATE promotion_changes SET change = 'wished'",
        "UPDATE promotion_changes SET person = NULL",
        "UPDATE promotion_changes SET person = ''",
        "UPDATE promotion_changes SET reason = ''",
        "UPDATE promotion_changes SET target = NULL",
        "UPDATE promotion_changes SET entry_id = 'k-1'",
        "UPDATE promotion_changes SET pattern_key = NULL",
        "UPDATE promotion_changes SET strong = 2",
    ];

    #[test]
    fn bad_values_are_refused() {
        let mut connection = Connection::open_in_memory().expect("opens");
        connection.pragma_update(None, "foreign_keys", true).expect("sets");
        prepare_schema(&mut connection).expect("prepares");
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
                 INSERT INTO agent_memory (memory_id, event_id, type, text, importance, at)
                 VALUES ('m-1', 'e', 'context', 't', 0.5, '2026');
                 INSERT INTO promotion_changes (event_id, promotion_id, pattern_key, at, change, reason, person, target)
                 VALUES ('a', 'r-1', 'p', '2026', 'approved', 'why', 'Ada', 'AGENTS.md');",
            )
            .expect("good values are accepted");
        for bad in BAD_STATEMENTS {
            assert!(connection.execute_batch(bad).is_err(), "accepted: {bad}");
        }
    }

    #[test]
    fn effectiveness_is_what_the_attempts_say() {
        let mut connection = Connection::open_in_memory().expect("opens");
        connection.pragma_update(None, "foreign_keys", false).expect("sets");
        prepare_schema(&mut connection).expect("prepares");
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
