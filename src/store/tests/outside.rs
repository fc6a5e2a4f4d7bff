//! The views for queries from outside: the names and columns of the specification, and the values behind them.

use rusqlite::types::Value;

use super::open;
use crate::event::sample::{ack, attempt, delivery, failed_run, folder, key, of_category, passed_run, task_started};
use crate::event::{AttemptOutcome, Event, EventBody};

/// Each view's columns, in the specification's order.
const COLUMNS: [(&str, &str); 11] = [
    (
        "qa_failures",
        "id task_id session_id execution_id failed_checks failure_category error_messages files_modified diff_summary
         task_signature_hash resolved resolved_at fix_attempts created_at",
    ),
    (
        "qa_failure_patterns",
        "id pattern_name failure_category error_pattern file_pattern description common_cause recommended_fix occurrences
         prevention_successes prevention_failures prevention_effectiveness knowledge_entry_id confidence first_seen_at
         last_seen_at created_at updated_at",
    ),
    ("qa_pattern_occurrences", "id pattern_id failure_id matched_error matched_files created_at"),
    (
        "qa_fix_workflows",
        "id initial_failure_id task_id fix_approach fix_attempt_number files_changed changes_summary outcome qa_result
         extracted_gotcha_id created_at",
    ),
    (
        "qa_warning_deliveries",
        "id session_id task_id pattern_id warning_text relevance_score shown_at outcome outcome_recorded_at",
    ),
    (
        "knowledge_entries",
        "id type content file_patterns action_types confidence occurrences source_execution_id source_task_id
         source_agent_id tags created_at updated_at last_used_at superseded_by",
    ),
    (
        "error_recovery_strategies",
        "id error_pattern error_type recovery_technique steps success_count failure_count effectiveness context
         knowledge_entry_id created_at updated_at",
    ),
    ("strategy_attempts", "id strategy_id task_id session_id agent_id error_message outcome notes created_at"),
    (
        "task_signatures",
        "id task_id signature_hash title_normalized category file_patterns dependency_count created_at",
    ),
    ("knowledge_reuse", "id knowledge_entry_id task_id agent_id match_type applied outcome created_at"),
    (
        "knowledge_promotions",
        "id knowledge_entry_id target_file proposed_content status review_notes created_at reviewed_at promoted_at",
    ),
];

fn store_of(events: &[Event]) -> (tempfile::TempDir, crate::store::Store) {
    let dir = folder();
    let mut store = open(dir.path());
    store.append(events).expect("appends");
    (dir, store)
}

fn row(store: &crate::store::Store, sql: &str) -> Vec<Value> {
    let mut statement = store.index().connection.prepare(sql).expect("prepares");
    let columns = statement.column_count();
    statement.query_row([], |row| (0..columns).map(|column| row.get(column)).collect()).expect("a row")
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn queries_by_the_specification_s_columns_run() {
    let (_dir, store) = store_of(&[failed_run(1, "t", &["a"])]);
    for (view, columns) in COLUMNS {
        let names: Vec<&str> = columns.split_whitespace().collect();
        let sql = format!("SELECT {} FROM {view}", names.join(", "));
        let mut statement = store.index().connection.prepare(&sql).unwrap_or_else(|error| panic!("{view}: {error}"));
        assert!(statement.query([]).is_ok(), "{view}");
    }
}

#[test]
fn a_failure_its_pattern_and_its_fix_are_rows() {
    let events = [
        task_started(0, "t", "Mend the Parser"),
        failed_run(1, "t", &["a"]),
        passed_run(2, "t"),
        attempt(1, 2, AttemptOutcome::Success),
    ];
    let (_dir, store) = store_of(&events);
    let failure = row(
        &store,
        "SELECT task_id, failure_category, json_array_length(error_messages), resolved, fix_attempts,
                task_signature_hash = (SELECT signature_hash FROM task_signatures) FROM qa_failures",
    );
    let one = Value::Integer(1);
    assert_eq!(failure[..2], [text("t"), text("test_failure")]);
    assert_eq!(failure[2..], [one.clone(), one.clone(), one.clone(), one.clone()]);
    assert_eq!(
        row(&store, "SELECT title_normalized, category, dependency_count FROM task_signatures"),
        [text("mend the parser"), text("bugfix"), one.clone()]
    );
    assert_eq!(
        row(&store, "SELECT occurrences, confidence, prevention_effectiveness FROM qa_failure_patterns"),
        [one.clone(), Value::Real(0.5), Value::Real(0.5)]
    );
    assert_eq!(row(&store, "SELECT fix_attempt_number, outcome FROM qa_fix_workflows"), [one, text("success")]);
    let said = row(&store, "SELECT error_message <> '' FROM strategy_attempts LIMIT 1");
    assert_eq!(said, [Value::Integer(1)], "the error that was open");
}

#[test]
fn a_warning_is_kept_as_it_was_shown_until_what_it_quotes_is_purged() {
    let mut shown = delivery(2, "t", &key("a"));
    if let EventBody::Delivery(delivery) = &mut shown.body {
        delivery.runs = vec![crate::event::sample::run_id(1)];
    }
    let (_dir, mut store) = store_of(&[failed_run(1, "t", &["a"]), shown, ack(2)]);
    let sql = "SELECT task_id, warning_text FROM qa_warning_deliveries";
    assert_eq!(row(&store, sql), [text("t"), text("text of 2")]);
    store.purge_runs(&[crate::event::sample::run_id(1)]).expect("purges");
    assert_eq!(row(&store, "SELECT count(*) FROM deliveries"), [Value::Integer(0)]);
}

#[test]
fn the_same_announcement_is_the_same_signature() {
    let events =
        [task_started(1, "one", "Mend it"), task_started(2, "two", " mend it "), task_started(3, "three", "Other")];
    let (_dir, store) = store_of(&events);
    let sql = "SELECT count(DISTINCT signature_hash) FROM task_signatures WHERE task_id IN ('one', 'two')";
    assert_eq!(row(&store, sql), [Value::Integer(1)]);
    let sql = "SELECT count(DISTINCT signature_hash) FROM task_signatures WHERE task_id IN ('one', 'three')";
    assert_eq!(row(&store, sql), [Value::Integer(2)]);
}

#[test]
fn a_declared_category_says_what_it_means() {
    let mut event = of_category(failed_run(1, "t", &["a"]), "security_issue");
    if let EventBody::Run(run) = &mut event.body {
        run.failure.as_mut().expect("failed").category_description = Some("a hole".to_owned());
    }
    let (_dir, store) = store_of(&[event, of_category(failed_run(2, "t", &["a"]), "security_issue")]);
    let sql = "SELECT description FROM failure_categories WHERE name = 'security_issue'";
    assert_eq!(row(&store, sql), [text("a hole")]);
}
