//! A reader that is kept answers as one that is opened for each question.

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
