//! A reader that is kept answers as one that is opened for each question.

use std::time::{Duration, Instant};

use super::open;
use crate::event::sample::{failed_run, folder, passed_run};
use crate::store::{Index, ReaderPool};

fn read(dir: &std::path::Path, pool: &ReaderPool) -> Index {
    let index = Index::open_kept(&dir.join("store.db"), pool).expect("opens");
    index.expect("is there")
}

/// Whether a reader is the one that was marked before; it is now.
fn mark(index: &Index) -> bool {
    let known = index.connection.prepare("SELECT 1 FROM temp.mark").is_ok();
    if !known {
        index.connection.execute_batch("CREATE TEMP TABLE mark (x)").expect("marks");
    }
    known
}

fn runs(index: &Index) -> u64 {
    index.count_rows().expect("counts").runs
}

#[test]
fn a_kept_reader_sees_what_is_recorded_later() {
    let dir = folder();
    let pool = ReaderPool::new(2);
    let mut store = open(dir.path());
    store.append(&[failed_run(1, "t", &["alpha"])]).expect("appends");
    let first = read(dir.path(), &pool);
    assert!(!mark(&first));
    assert_eq!(runs(&first), 1);
    store.append(&[passed_run(2, "t")]).expect("appends");
    assert_eq!(runs(&first), 1, "a question sees one state");
    let second = read(dir.path(), &pool);
    assert!(!mark(&second), "the first one is in use");
    assert_eq!(runs(&second), 2);
    drop((first, second));
    let again = read(dir.path(), &pool);
    assert!(mark(&again), "it is used again");
    assert_eq!(runs(&again), 2);
    assert!(!mark(&read(dir.path(), &ReaderPool::default())), "elsewhere none is kept");
}

#[test]
fn a_reader_of_another_file_is_not_used_again() {
    let dir = folder();
    let pool = ReaderPool::new(2);
    let mut store = open(dir.path());
    store.append(&[failed_run(1, "t", &["alpha"])]).expect("appends");
    drop(store);
    assert!(!mark(&read(dir.path(), &pool)));
    assert!(mark(&read(dir.path(), &pool)));
    let mut store = open(dir.path());
    store.rebuild_index("").expect("rebuilds");
    store.append(&[passed_run(2, "t")]).expect("appends");
    drop(store);
    let rebuilt = read(dir.path(), &pool);
    assert!(!mark(&rebuilt), "the file is another one");
    assert_eq!(runs(&rebuilt), 2);
    drop(rebuilt);
    std::fs::remove_file(dir.path().join("store.db")).expect("removes");
    assert!(Index::open_kept(&dir.path().join("store.db"), &pool).expect("opens").is_none());
}

#[test]
fn what_is_asked_too_late_ends_and_the_next_question_has_its_own_time() {
    const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let dir = folder();
    let pool = ReaderPool::new(1);
    open(dir.path()).append(&[failed_run(1, "t", &["alpha"])]).expect("appends");
    let mut late = read(dir.path(), &pool);
    mark(&late);
    late.give_up_at(Instant::now() + Duration::from_millis(20)).expect("set");
    let count = |index: &Index| index.connection.query_row(ENDLESS, (), |row| row.get::<_, i64>(0));
    let error = count(&late).expect_err("it would count on and on");
    assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::OperationInterrupted));
    assert!(count(&late).is_err(), "so does what is asked after that");
    drop(late);
    let next = read(dir.path(), &pool);
    assert!(mark(&next), "the connection is the same");
    let far = ENDLESS.replace("FROM n)", "FROM n LIMIT 100000)");
    assert!(next.connection.query_row(&far, (), |row| row.get::<_, i64>(0)).is_ok());
    assert_eq!(runs(&next), 1);
}
