//! The store as a whole: whatever happened to its files, it agrees with the events.

mod entries;
mod groups;
mod lines;
mod outcomes;
mod outside;
mod pages;
mod promotions;
mod readers;
pub(super) mod steps;
mod strategies;
mod sums;
mod worlds;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use rusqlite::types::Value;

use super::index::{CatchUpResult, Index};
use super::schema::APPLICATION_ID;
use super::segment::SegmentFolder;
use super::{DayRange, Store, StoreError, SumFilter, lock_store};
use crate::base::clock::{Timestamp, UtcDay};
use crate::base::ids::{self, IdKind};
use crate::base::lossless::Lossless;
use crate::config::{Category, StateDir};
use crate::event::sample::{
    attempt, failed_run, flake, folder, key, merge, of_category, old_failed_run, old_key, passed_run, review, run_id,
    snapshot, split,
};
use crate::event::{AttemptOutcome, Event, EventBody, LessonChange, LessonChangeKind};
pub(super) use worlds::world;

pub(super) fn open(state: &Path) -> Store {
    try_open(state).expect("opens")
}

fn try_open(state: &Path) -> Result<Store, StoreError> {
    let state = StateDir::from(state);
    Store::open(&state, lock_store(&state, Duration::ZERO).expect("the only writer"))
}

/// Every row that people can see, without row numbers.
const ROWS: [&str; 53] = [
    "SELECT event_id, kind, at FROM events",
    "SELECT name, first_at, last_at, signature_hash FROM tasks WHERE task_no IN (SELECT task_no FROM runs)",
    "SELECT run_id, t.name, argv, root, dir, command_key, ended_at, exit_code, signal, passed
     FROM runs JOIN tasks t USING (task_no)",
    "SELECT failure_id, run_id, category, summary, item_count, lesson_id, no_lesson, uncounted FROM failures",
    "SELECT * FROM failure_categories",
    "SELECT run_id, path FROM failure_files JOIN failures USING (failure_no)",
    "SELECT pattern_id, pattern_key, family_key, tool, masked, described_by, first_seen, last_seen, failure_count
     FROM patterns",
    "SELECT pattern_key, run_id, name, at, o.item_count, file, message, flaky FROM occurrences o
     JOIN patterns USING (pattern_no) JOIN failures USING (failure_no) JOIN tasks USING (task_no)",
    "SELECT * FROM lesson_changes",
    "SELECT * FROM forgotten_patterns",
    "SELECT * FROM purged_runs",
    "SELECT fingerprint FROM computed_with",
    "SELECT band, pattern_key, near_scope FROM near_bands JOIN patterns USING (pattern_no)",
    "SELECT recorded_key, recorded_id, pattern_key FROM recorded_keys JOIN patterns USING (pattern_no)",
    "SELECT * FROM pattern_merges",
    "SELECT * FROM pattern_splits",
    "SELECT * FROM pattern_reviews",
    "SELECT p.pattern_key, l.pattern_key FROM pattern_groups g JOIN patterns p USING (pattern_no)
     JOIN patterns l ON l.pattern_no = g.leader_no",
    "SELECT * FROM fix_attempts",
    "SELECT * FROM attempt_patterns",
    "SELECT * FROM attempt_files",
    "SELECT * FROM attempt_recipes",
    "SELECT strategy_id, match, error_pattern, technique, recipe_key, label, steps, successes, failures, partials,
            effectiveness FROM strategies",
    "SELECT strategy_id, event_id, run_id, task, at, outcome, discounted, counts_as FROM strategy_tries
     JOIN strategies USING (strategy_no)",
    "SELECT entry_id, type, pattern_key, event_id, title, properties, globs, tags, source, prevented, fix_applied, at,
            agent, session, leader_id, forms FROM entries",
    "SELECT name FROM knowledge_types",
    "SELECT kind, value, entry_id FROM knowledge_labels JOIN entries USING (entry_no)",
    "SELECT * FROM knowledge_changes",
    "SELECT * FROM entry_uses",
    "SELECT entry_id FROM knowledge_words w JOIN entries e ON e.entry_no = w.rowid
     WHERE knowledge_words MATCH 'entry'",
    "SELECT * FROM strategy_reports",
    "SELECT * FROM agent_memory",
    "SELECT * FROM memory_changes",
    "SELECT name, part, value FROM task_parts JOIN tasks USING (task_no)
     WHERE task_no IN (SELECT task_no FROM runs)",
    "SELECT pattern_key, prevented, failed_anyway, prevention_effectiveness FROM patterns",
    "SELECT pattern_key, class_key, dir, selectors FROM pattern_checks JOIN patterns USING (pattern_no)",
    "SELECT * FROM flakes",
    "SELECT * FROM flake_patterns",
    "SELECT * FROM fix_notes",
    "SELECT * FROM note_patterns",
    "SELECT * FROM fix_states",
    "SELECT * FROM failure_resolutions",
    "SELECT * FROM snapshots",
    "SELECT * FROM snapshot_files",
    "SELECT * FROM task_changes",
    "SELECT * FROM task_files",
    "SELECT name, event_id, warning_id, session, agent, pattern_key, entry_id, family_key, rank, score, arm, holdout_share,
            files, delivered_at, failed_in, passed_in, outcome, text FROM deliveries JOIN tasks USING (task_no)",
    "SELECT * FROM warning_acks",
    "SELECT place, pattern_key, failures FROM pattern_places JOIN patterns USING (pattern_no)",
    "SELECT tasks.name FROM task_words JOIN tasks ON task_no = task_words.rowid WHERE task_words MATCH 'title'",
    "SELECT pattern_key FROM pattern_words JOIN patterns ON pattern_no = pattern_words.rowid
     WHERE pattern_words MATCH 'alpha OR apple'",
    "SELECT * FROM promotion_changes",
    "SELECT * FROM promotion_states",
];

/// [`ROWS`] and the sums of an index.
pub(super) fn dump(index: &Index) -> Vec<String> {
    let mut rows = Vec::new();
    for sql in ROWS.into_iter().chain(sums::SUMS.iter().map(|sum| sum.kept)) {
        rows.push(sql.to_owned());
        rows.extend(sorted_rows(index, sql));
    }
    rows
}

/// The rows of a query as text, sorted.
fn sorted_rows(index: &Index, sql: &str) -> Vec<String> {
    let mut statement = index.connection.prepare(sql).expect("prepares");
    let columns = statement.column_count();
    let mut found: Vec<String> = statement
        .query_map([], |row| {
            let values: Result<Vec<_>, _> =
                (0..columns).map(|column| row.get::<_, Value>(column).map(|value| format!("{value:?}"))).collect();
            Ok(values?.join("|"))
        })
        .expect("queries")
        .collect::<Result<_, _>>()
        .expect("reads");
    found.sort();
    found
}

fn history() -> Vec<Event> {
    vec![
        failed_run(1, "one", &["a", "b"]),
        passed_run(2, "one"),
        failed_run(3, "two", &["b", "b", "c"]),
        failed_run(4, "one", &["a"]),
        passed_run(5, "three"),
    ]
}

#[test]
fn everything_in_the_state_folder_is_private() {
    let dir = folder();
    let state = dir.path().join("state");
    open(&state).append(&history()).expect("appends");
    let _reader = Index::open_read(&state.join("store.db")).expect("opens");
    for path in [state.clone(), state.join("events")] {
        assert_eq!(fs::metadata(&path).expect("is there").permissions().mode() & 0o777, 0o700, "{}", path.display());
    }
    for folder in [state.clone(), state.join("events")] {
        for entry in fs::read_dir(folder).expect("reads").flatten() {
            let metadata = entry.metadata().expect("is there");
            if metadata.is_file() {
                assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{}", entry.path().display());
            }
        }
    }
}

#[test]
fn a_category_of_another_clone_is_indexed_and_what_is_no_name_counts_as_other() {
    let dir = folder();
    let events = ["security_issue", "Security Issue", "lint_error"].into_iter().zip(1..);
    let events: Vec<Event> = events.map(|(name, n)| of_category(failed_run(n, "one", &["a"]), name)).collect();
    let mut store = open(dir.path());
    store.append(&events).expect("appends");
    let rows = |store: &Store, sql: &str| -> Vec<String> {
        let mut statement = store.index().connection.prepare(sql).expect("prepares");
        statement.query_map([], |row| row.get(0)).expect("queries").collect::<Result<_, _>>().expect("reads")
    };
    let categories = "SELECT category FROM failures ORDER BY run_id";
    assert_eq!(rows(&store, categories), ["security_issue", "other", "lint_error"]);
    assert_eq!(rows(&store, "SELECT name FROM failure_categories").len(), Category::SHIPPED.len() + 1);
    let days = DayRange { from: UtcDay(0), until: UtcDay(1) };
    let counted = store.index().count_categories(days, &SumFilter::default()).expect("reads");
    let mut counted: Vec<_> = counted.into_iter().map(|row| (row.category, row.failures)).collect();
    counted.sort();
    assert_eq!(counted, ["lint_error", "other", "security_issue"].map(|name| (name.to_owned(), 1)));
    assert_eq!(store.index().count_categorised(days, &SumFilter::default()).expect("reads"), (3, 2));
    let before = dump(store.index());
    store.rebuild_index("is tested").expect("rebuilds");
    assert_eq!(dump(store.index()), before);
}

#[test]
fn a_rebuilt_index_has_everything_that_a_new_one_has_and_is_sound() {
    let schema = |index: &Index| -> Vec<String> {
        let sql = "SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name";
        let mut statement = index.connection.prepare(sql).expect("prepares");
        statement.query_map([], |row| row.get(0)).expect("queries").collect::<Result<_, _>>().expect("reads")
    };
    let (old, new) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let mut store = open(old.path());
    store.append(&history()).expect("appends");
    store.append(&[attempt(1, 2, AttemptOutcome::Success)]).expect("appends");
    store.rebuild_index("is tested").expect("rebuilds");
    assert_eq!(schema(store.index()), schema(open(new.path()).index()));
    assert_eq!(store.index().check_integrity().expect("checks"), None);
    let orphans: i64 = store
        .index()
        .connection
        .query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0))
        .expect("counts");
    assert_eq!(orphans, 0);
    let left: Vec<_> = fs::read_dir(old.path()).expect("reads").flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".tmp-")), "{left:?}");
}

#[test]
fn a_missing_damaged_or_short_index_is_rebuilt_and_said_so() {
    let dir = folder();
    let state = dir.path();
    open(state).append(&history()).expect("appends");
    let before = dump(open(state).index());
    let path = state.join("store.db");
    let whole = fs::read(&path).expect("reads");
    let pages = whole.len() / 4096;
    let mut zeroed = whole.clone();
    zeroed[4096..].fill(0);
    let mut header = whole.clone();
    header[..64].fill(b'x');
    let mut nonsense: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("text", b"this is not a database".to_vec()),
        ("half a page", whole[..2000].to_vec()),
        ("pages of zeros", zeroed),
        ("no header", header),
    ];
    for keep in 1..pages {
        nonsense.push(("short", whole[..keep * 4096].to_vec()));
    }
    for (what, bytes) in nonsense {
        fs::write(&path, &bytes).expect("writes");
        let mut store = open(state);
        let notes = store.take_notes().join("; ");
        assert!(notes.contains("rebuilt it from 5 events"), "{what}: {notes:?}");
        assert_eq!(dump(store.index()), before, "{what}");
        drop(store);
        assert_eq!(open(state).take_notes(), Vec::<String>::new(), "{what}: sound again");
    }
    fs::remove_file(&path).expect("removes");
    let mut store = open(state);
    assert!(store.take_notes().join("; ").contains("was missing"));
    assert_eq!(dump(store.index()), before);
}

#[test]
fn an_index_behind_catches_up_and_one_ahead_is_rebuilt() {
    let dir = folder();
    let state = dir.path();
    let all = history();
    let mut store = open(state);
    store.append(&all[..2]).expect("appends");
    let name = store.segments().list_segments().expect("lists")[0].name.clone();
    let two = dump(store.index());
    // As after a crash between the append and the index.
    store.segments().append(&name, &all[2..]).expect("appends");
    drop(store);
    let mut store = open(state);
    assert_eq!(store.take_notes(), Vec::<String>::new());
    assert_eq!(store.index().count_rows().expect("counts").events, 5);
    let segment = store.segments().path(&name);
    drop(store);

    let bytes = fs::read(&segment).expect("reads");
    let second_end = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').nth(1).expect("two lines").0 + 1;
    fs::write(&segment, &bytes[..second_end]).expect("cuts");
    let mut store = open(state);
    assert!(store.take_notes().join("; ").contains("shorter than what was indexed"));
    assert_eq!(dump(store.index()), two);
    drop(store);

    fs::remove_file(&segment).expect("removes");
    let mut store = open(state);
    assert!(store.take_notes().join("; ").contains("is gone"));
    assert_eq!(store.index().count_rows().expect("counts").events, 0);
}

#[test]
fn a_torn_line_is_set_aside_and_the_rest_is_kept() {
    let dir = folder();
    let state = dir.path();
    let mut store = open(state);
    store.append(&history()).expect("appends");
    let segment = store.segments().path(&store.segments().list_segments().expect("lists")[0].name);
    drop(store);
    let mut bytes = fs::read(&segment).expect("reads");
    bytes.extend_from_slice(b"{\"v\":1,\"id\":\"0190");
    fs::write(&segment, &bytes).expect("writes");
    let mut store = open(state);
    assert!(store.take_notes().join("; ").contains("was torn (17 bytes)"));
    store.append(&[passed_run(9, "one")]).expect("appends");
    assert_eq!(store.index().count_rows().expect("counts").events, 6);
    assert_eq!(store.segments().torn_files().len(), 1);
}

#[test]
fn a_newer_store_is_left_as_it_is() {
    let dir = folder();
    let state = dir.path();
    open(state).append(&history()).expect("appends");
    let path = state.join("store.db");
    let newer = rusqlite::Connection::open(&path).expect("opens");
    newer.pragma_update(None, "user_version", 99).expect("sets");
    drop(newer);
    let before = fs::read(&path).expect("reads");
    let error = try_open(state).expect_err("newer");
    assert!(error.is_newer(), "{error}");
    assert!(error.to_string().contains("newer verify-run"), "{error}");
    assert!(Index::open_read(&path).expect_err("newer").is_newer());
    assert_eq!(fs::read(&path).expect("reads"), before);
}

#[test]
fn a_newer_event_is_left_as_it_is() {
    let dir = folder();
    let state = dir.path();
    let mut store = open(state);
    store.append(&history()).expect("appends");
    let segment = store.segments().path(&store.segments().list_segments().expect("lists")[0].name);
    drop(store);
    let mut bytes = fs::read(&segment).expect("reads");
    bytes.extend_from_slice(b"{\"v\":1,\"id\":\"x\",\"kind\":\"dream\"}\n");
    fs::write(&segment, &bytes).expect("writes");
    assert!(try_open(state).expect_err("newer").is_newer());
    fs::remove_file(state.join("store.db")).expect("removes");
    assert!(try_open(state).expect_err("newer").is_newer());
    assert_eq!(fs::read(&segment).expect("reads"), bytes);
}

#[test]
fn an_older_index_is_computed_again_from_the_events() {
    let dir = folder();
    let state = dir.path();
    open(state).append(&history()).expect("appends");
    let before = dump(open(state).index());
    let path = state.join("store.db");
    fs::remove_file(&path).expect("removes");
    let old = rusqlite::Connection::open(&path).expect("opens");
    old.execute_batch("CREATE TABLE tasks (task_no INTEGER PRIMARY KEY); INSERT INTO tasks VALUES (1)")
        .expect("sets up");
    old.pragma_update(None, "application_id", APPLICATION_ID).expect("sets");
    old.pragma_update(None, "user_version", 1).expect("sets");
    drop(old);
    assert!(Index::open_read(&path).expect("opens").is_none(), "readers wait for a writer");
    let mut store = open(state);
    assert_eq!(store.take_notes(), Vec::<String>::new());
    assert_eq!(dump(store.index()), before);
    assert!(Index::open_read(&path).expect("opens").is_some());
}

#[test]
fn purged_text_is_nowhere() {
    let dir = folder();
    let state = dir.path();
    let mut store = open(state);
    let mut events = history();
    events.push(failed_run(6, "two", &["huntersecret"]));
    let mut fixed = attempt(6, 7, AttemptOutcome::Success);
    if let EventBody::Attempt(attempt) = &mut fixed.body {
        attempt.diff = "-password = huntersecret\n".into();
    }
    events.push(fixed.clone());
    events.push(snapshot(6, None));
    store.append(&events).expect("appends");
    let pattern = store
        .index()
        .list_patterns(0, 10, None)
        .expect("reads")
        .into_iter()
        .find(|p| p.masked.contains("hunter"))
        .expect("is there");
    for nothing in ["", "p-"] {
        assert!(matches!(store.index().runs_of_id(nothing), Err(StoreError::NoSuchId { .. })), "{nothing:?}");
    }
    let runs = store.index().runs_of_id(&pattern.id[..6]).expect("one pattern");
    assert_eq!(runs, [run_id(6)]);
    assert_eq!(store.purge_runs(&runs).expect("purges"), 3, "the run, its work tree, and the attempt that quotes it");
    assert_eq!(store.index().count_rows().expect("counts").failures, 3);
    drop(store);
    for folder in [state.to_owned(), state.join("events")] {
        for entry in fs::read_dir(folder).expect("reads").flatten().filter(|entry| entry.path().is_file()) {
            let bytes = fs::read(entry.path()).expect("reads");
            assert!(memchr::memmem::find(&bytes, b"hunter").is_none(), "{}", entry.path().display());
        }
    }
    // A colleague's segment still has it.
    fs::write(state.join("events/other-2026-01.jsonl"), [events[5].to_line(), fixed.to_line()].concat())
        .expect("writes");
    let store = open(state);
    assert!(dump(store.index()).iter().all(|row| !row.contains(&ids::fix("00ff", run_id(6)))));
    assert_eq!(store.index().count_rows().expect("counts").failures, 3);
}

#[test]
fn the_last_run_survives_a_clock_set_back() {
    let dir = folder();
    let mut store = open(dir.path());
    store.append(&[failed_run(5000, "one", &["a"])]).expect("appends");
    store.append(&[passed_run(100, "one")]).expect("appends");
    let last = |now: i64| {
        let run = store.index().last_run(&Lossless::from("/repo"), Timestamp(now * 1_000_000)).expect("reads");
        run.expect("is there").id
    };
    assert_eq!(last(101), run_id(100).to_string());
    assert_eq!(last(5001), run_id(5000).to_string());
    assert_eq!(last(1), run_id(5000).to_string());
}

#[test]
fn the_last_passing_tree_is_the_key_s_and_before_the_run() {
    let dir = folder();
    let mut store = open(dir.path());
    let other = |n, key: &str| {
        let mut event = passed_run(n, "one");
        if let EventBody::Run(run) = &mut event.body {
            run.key = key.into();
        }
        event
    };
    let runs = [passed_run(1, "one"), other(2, "elsewhere"), failed_run(3, "one", &["a"]), passed_run(5, "one")];
    let trees = [1, 2, 3, 5].map(|n| snapshot(n, Some(&format!("tree {n}"))));
    store.append(&[runs.as_slice(), &trees, &[passed_run(4, "one"), snapshot(4, None)]].concat()).expect("appends");
    let before = |n: i64| {
        let (key, root) = ("00ff", Lossless::from("/repo"));
        let at = Timestamp(n * 1_000_000);
        let found = store.index().last_passing_tree(key, &root, at, run_id(u64::try_from(n).expect("small")));
        found.expect("reads").map(|pass| pass.tree)
    };
    assert_eq!(before(1), None, "its own tree is no base");
    assert_eq!(before(3).as_deref(), Some("tree 1"));
    assert_eq!(before(5).as_deref(), Some("tree 1"), "a pass without a tree is passed over");
    assert_eq!(before(6).as_deref(), Some("tree 5"));
    let needed: Vec<_> =
        store.index().list_trees().expect("reads").into_iter().map(|it| (it.tree, it.needed)).collect();
    let wanted = [("tree 5", true), ("tree 3", false), ("tree 2", true), ("tree 1", false)];
    assert_eq!(needed, wanted.map(|(tree, needed)| (tree.to_owned(), needed)));
    let row = store.index().snapshot_of_run(&run_id(3).to_string()).expect("reads").expect("is there");
    assert_eq!((row.files, row.file_count), (vec!["src/3.js".to_owned()], 4));
    assert!(store.index().snapshot_event(store.segments(), run_id(3)).expect("reads").is_some());
}

#[test]
fn patterns_are_forgotten_by_key_or_id() {
    let dir = folder();
    let mut store = open(dir.path());
    let patterns = vec!["1:a".to_owned(), ids::short(IdKind::Pattern, b"1:b")];
    let change = LessonChangeKind::Forgotten { patterns };
    store.record_event(EventBody::Lesson(LessonChange { lesson: "l-x".into(), change, by: None })).expect("records");
    let forgotten = store.index().forgotten_patterns(&["1:a", "1:b", "1:c"]).expect("reads");
    assert_eq!(forgotten.len(), 2, "{forgotten:?}");
    assert!(!forgotten.contains("1:c"));
}

#[test]
fn an_append_that_was_not_indexed_is_found_by_the_next() {
    let dir = folder();
    let mut store = open(dir.path());
    let (lost, next) = (passed_run(1, "t"), passed_run(2, "t"));
    let segment = format!("{}-{}.jsonl", store.writer_name(), next.at.month());
    store.segments().append(&segment, &[lost]).expect("appends");
    store.append(&[next]).expect("appends");
    assert!(store.index().has_event(run_id(1)).expect("reads"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Events come in any order, in any number of segments, some twice: appended one by one, imported in one go and
    /// replayed from nothing they give the same rows.
    #[test]
    fn incremental_is_replayed(
        unique in world(8),
        order in prop::collection::vec(any::<u32>(), 40),
    ) {
        let one_by_one = folder();
        let mut store = open(one_by_one.path());
        for event in &unique {
            store.append(std::slice::from_ref(event)).expect("appends");
        }
        let incremental = dump(store.index());
        for sum in sums::SUMS {
            let [kept, recounted] = sum.both(store.index());
            prop_assert_eq!(kept, recounted, "{}", sum.kept);
        }
        store.rebuild_index("is tested").expect("rebuilds");
        prop_assert_eq!(&dump(store.index()), &incremental);

        let imported = folder();
        drop(open(imported.path()));
        let mut shuffled: Vec<_> = order.iter().zip(unique.clone()).collect();
        shuffled.sort_by_key(|(order, _)| **order);
        let shuffled: Vec<Event> = shuffled.into_iter().map(|(_, event)| event).collect();
        let (first, second) = shuffled.split_at(shuffled.len() / 2);
        let segments = SegmentFolder::new(imported.path().join("events"));
        segments.append("z-2026-01.jsonl", first).expect("appends");
        drop(open(imported.path()));
        segments.append("a-2026-01.jsonl", second).expect("appends");
        segments.append("m-2026-01.jsonl", first).expect("appends");
        let store = open(imported.path());
        prop_assert_eq!(&dump(store.index()), &incremental);
        drop(store);
        // Computed by an older fingerprint, everything in it is rebuilt.
        let older = rusqlite::Connection::open(imported.path().join("store.db")).expect("opens");
        older.execute_batch("UPDATE computed_with SET fingerprint = 1; UPDATE patterns SET masked = '?'").expect("sets");
        drop(older);
        let mut store = open(imported.path());
        prop_assert!(store.take_notes().join("; ").contains("fingerprint version 1"));
        prop_assert_eq!(&dump(store.index()), &incremental);
        let segments = SegmentFolder::new(imported.path().join("events"));
        let known = store.index().known_segments().expect("reads");
        let again = store.index_mut().catch_up(&segments, &segments.list_segments().expect("lists"), &known).expect("reads");
        prop_assert_eq!(again, CatchUpResult::CaughtUp { events: 0, bad_lines: 0 });
    }
}
