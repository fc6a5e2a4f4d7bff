//! What the runs after advice say of it, in whichever order they come to be known.

use super::{failed_run, flake, folder, key, merge, open, passed_run, snapshot, split};
use crate::event::sample::{delivery, task_done};
use crate::event::{Event, EventBody};
use crate::store::{DayRange, DeliveryOutcomeRow, Store, SumFilter};

fn store(events: &[Event]) -> (tempfile::TempDir, Store) {
    let dir = folder();
    let mut store = open(dir.path());
    store.append(events).expect("appends");
    (dir, store)
}

/// Of the only delivery: the run that failed, the one that passed.
fn outcome(store: &Store) -> (bool, bool) {
    let rows = store.index().list_deliveries().expect("reads");
    let [DeliveryOutcomeRow { failed_in, passed_in, .. }] = &rows[..] else { panic!("{rows:?}") };
    (failed_in.is_some(), passed_in.is_some())
}

/// Prevented, failed anyway, effectiveness of `alpha`.
fn figures(store: &Store) -> (i64, i64, f64) {
    let sql = "SELECT prevented, failed_anyway, prevention_effectiveness FROM patterns WHERE pattern_key = ?1";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    store.index().connection.query_row(sql, [key("alpha")], read).expect("is there")
}

fn change(mut event: Event, change: impl FnOnce(&mut crate::event::Run)) -> Event {
    if let EventBody::Run(run) = &mut event.body {
        change(run);
    }
    event
}

/// A warning in task `two` about what failed in task `one`.
fn warned() -> Vec<Event> {
    vec![failed_run(1, "one", &["alpha"]), delivery(11, "two", &key("alpha"))]
}

#[test]
fn a_pass_where_it_would_have_been_seen_is_a_prevention() {
    let (_dir, mut store) = store(&warned());
    assert_eq!((outcome(&store), figures(&store)), ((false, false), (0, 0, 0.5)));
    store.append(&[passed_run(12, "three"), passed_run(10, "two")]).expect("appends");
    assert_eq!(outcome(&store), (false, false), "another task, and before the warning");
    store.append(&[passed_run(13, "two")]).expect("appends");
    assert_eq!((outcome(&store), figures(&store)), ((false, true), (1, 0, 1.0)));
}

#[test]
fn a_pass_elsewhere_says_nothing() {
    let narrow = |n, what: &str| {
        change(passed_run(n, "two"), |run| {
            run.scope.as_mut().expect("has one").selectors = vec![what.to_owned()];
        })
    };
    let other = change(passed_run(13, "two"), |run| run.scope.as_mut().expect("has one").class = "lint".into());
    let piped = change(passed_run(14, "two"), |run| run.scope.as_mut().expect("has one").foreign_status = true);
    let below = change(passed_run(15, "two"), |run| run.dir = "web".into());
    let (_dir, mut store) = store(&[warned(), vec![narrow(12, "a.js"), other, piped, below]].concat());
    assert_eq!(outcome(&store), (false, false));
    // It is seen in that part too: the pass from before would have shown it.
    let seen = change(failed_run(2, "three", &["alpha"]), |run| {
        run.scope.as_mut().expect("has one").selectors = vec!["a.js".to_owned()];
    });
    store.append(&[seen]).expect("appends");
    assert_eq!(outcome(&store), (false, true));
}

#[test]
fn the_same_mistake_after_it_is_a_failure_whatever_passes() {
    let (_dir, mut store) = store(&[warned(), vec![passed_run(12, "two"), failed_run(13, "two", &["bravo"])]].concat());
    assert_eq!((outcome(&store), figures(&store)), ((false, true), (1, 0, 1.0)), "another pattern");
    store.append(&[failed_run(14, "two", &["alpha"])]).expect("appends");
    assert_eq!((outcome(&store), figures(&store)), ((true, true), (0, 1, 0.0)));
    // What was only a flake was no mistake.
    let event = flake(12, 14);
    let event = Event {
        body: match event.body {
            EventBody::Flake(mut flake) => {
                flake.patterns = vec![key("alpha")];
                EventBody::Flake(flake)
            }
            other => other,
        },
        ..event
    };
    store.append(&[event]).expect("appends");
    assert_eq!(figures(&store), (1, 0, 1.0));
}

#[test]
fn what_nobody_asked_about_needs_a_changed_file() {
    let mut asked = delivery(11, "two", &key("alpha"));
    if let EventBody::Delivery(delivery) = &mut asked.body {
        delivery.files.clear();
    }
    let failed = failed_run(1, "one", &["alpha"]);
    let (_dir, mut store) = store(&[failed, asked, passed_run(12, "two")]);
    assert_eq!(outcome(&store), (false, false), "it may never have been near");
    let mut event = snapshot(12, Some("00"));
    if let EventBody::Snapshot(snapshot) = &mut event.body {
        snapshot.files[0].path = "src/a.js".into();
    }
    store.append(&[event]).expect("appends");
    assert_eq!(outcome(&store), (false, true));
}

#[test]
fn a_task_counts_once_and_a_held_out_one_not_at_all() {
    let mut second = delivery(12, "two", &key("alpha"));
    if let EventBody::Delivery(delivery) = &mut second.body {
        delivery.session = "another".into();
    }
    let held_out = delivery(15, "three", &key("alpha"));
    let (_dir, store) =
        store(&[warned(), vec![second, held_out, passed_run(20, "two"), passed_run(21, "three")]].concat());
    assert_eq!(figures(&store), (1, 0, 1.0));
    let passed = store.index().list_deliveries().expect("reads").iter().filter(|row| row.passed_in.is_some()).count();
    assert_eq!(passed, 3);
}

#[test]
fn merged_patterns_are_one_mistake_until_they_are_split() {
    let events = [failed_run(2, "one", &["bravo"]), failed_run(14, "two", &["bravo"])];
    let (_dir, mut store) = store(&[&warned()[..], &events].concat());
    assert_eq!(outcome(&store), (false, false));
    store.append(&[merge(20, &key("bravo"), &key("alpha"), None)]).expect("appends");
    assert_eq!(outcome(&store), (true, false));
    store.append(&[split(21, &key("bravo"))]).expect("appends");
    assert_eq!(outcome(&store), (false, false));
}

#[test]
fn the_task_says_when_it_is_over() {
    let (_dir, mut store) = store(&warned());
    let done = |store: &Store| store.index().list_deliveries().expect("reads")[0].task_done.clone();
    assert_eq!(done(&store), None);
    store.append(&[task_done(30, "two")]).expect("appends");
    assert_eq!(done(&store), Some(Some("completed".into())));
    store.append(&[passed_run(31, "two")]).expect("appends");
    assert_eq!(done(&store), None, "a later run reopens it");
}

#[test]
fn figures_over_time_count_what_is_in_them() {
    use crate::base::clock::{Timestamp, UtcDay};
    let events = [warned(), vec![passed_run(13, "two"), passed_run(14, "two"), failed_run(16, "four", &["alpha"])]];
    let (_dir, store) = store(&events.concat());
    let index = store.index();
    let (first, last) = index.recorded_period().expect("reads").expect("has runs");
    assert_eq!((first, last), (Timestamp(1_000_000), Timestamp(16_000_000)));
    let range = DayRange { from: UtcDay(0), until: UtcDay(1) };
    let days = index.check_days(range, &SumFilter::default()).expect("reads");
    let counts: Vec<_> = days.iter().map(|day| (day.runs, day.failed, day.first_runs, day.first_passed)).collect();
    assert_eq!(counts, [(4, 2, 3, 1)]);
    let runs = index.check_runs_of_day(UtcDay(0), &SumFilter::default()).expect("reads");
    let runs: Vec<_> = runs.iter().map(|run| (run.at.0 / 1_000_000, run.failed, run.first)).collect();
    assert_eq!(runs, [(1, true, true), (13, false, true), (14, false, false), (16, true, true)]);
    let totals = index.total_figures().expect("reads");
    assert_eq!(totals.missed, 1, "task four was shown nothing");
}
