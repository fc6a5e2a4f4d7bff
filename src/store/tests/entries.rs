//! What the runs after advice from an entry say of it, in whichever order they come to be known.

use super::{failed_run, flake, folder, key, merge, old_failed_run, open, passed_run, snapshot, split};
use crate::event::FileChangeKind;
use crate::event::sample::{delivery, entry_change, entry_delivery, gotcha, names};
use crate::event::{EntryChange, Event, EventBody};
use crate::store::{DeliveryOutcomeRow, Store};

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

/// A warning from `k-3` in task `two`, which has `alpha` of task `one` as its source.
fn warned(source: &str) -> Vec<Event> {
    let written = gotcha(3, "Something else entirely happens", &[source.to_owned()]);
    vec![failed_run(1, "one", &["alpha"]), written, entry_delivery(11, "two", 3)]
}

/// A run in second `n` of task `two` that sees a change of `path`.
fn changed(n: u64, path: &str, kind: FileChangeKind) -> Event {
    let mut event = snapshot(n, Some("00"));
    if let EventBody::Snapshot(snapshot) = &mut event.body {
        (snapshot.files[0].path, snapshot.files[0].kind) = (path.into(), kind);
    }
    event
}

#[test]
fn an_entry_is_settled_by_the_pattern_that_it_names() {
    let [id, _, family] = names("alpha");
    for source in [id, family] {
        let (_dir, mut store) = store(&warned(&source));
        assert_eq!(outcome(&store), (false, false));
        store.append(&[passed_run(12, "three"), passed_run(10, "two")]).expect("appends");
        assert_eq!(outcome(&store), (false, false), "another task, and before the warning");
        store.append(&[passed_run(13, "two"), failed_run(14, "two", &["bravo"])]).expect("appends");
        assert_eq!(outcome(&store), (false, true), "another mistake");
        store.append(&[failed_run(15, "two", &["alpha"])]).expect("appends");
        assert_eq!(outcome(&store), (true, true), "the same mistake, whatever passed");
    }
}

#[test]
fn a_flake_is_no_mistake_for_an_entry_either() {
    let [id, ..] = names("alpha");
    let (_dir, mut store) = store(&[warned(&id), vec![failed_run(14, "two", &["alpha"])]].concat());
    assert_eq!(outcome(&store), (true, false));
    let mut event = flake(12, 14);
    if let EventBody::Flake(flake) = &mut event.body {
        flake.patterns = vec![key("alpha")];
    }
    store.append(&[event]).expect("appends");
    assert_eq!(outcome(&store), (false, false));
}

#[test]
fn an_id_of_an_older_fingerprint_names_what_has_those_failures_now() {
    let [_, old, _] = names("alpha");
    let (_dir, mut store) = store(&[warned(&old), vec![passed_run(13, "two")]].concat());
    assert_eq!(outcome(&store), (false, false), "nothing has that id");
    store.append(&[old_failed_run(61, "four", &["alpha"])]).expect("appends");
    assert_eq!(outcome(&store), (false, true));
}

#[test]
fn what_was_merged_with_its_pattern_or_with_the_entry_counts_for_it() {
    let [id, ..] = names("alpha");
    let events = [failed_run(2, "one", &["bravo"]), failed_run(14, "two", &["bravo"])];
    let (_dir, mut store) = store(&[&warned(&id)[..], &events].concat());
    assert_eq!(outcome(&store), (false, false));
    store.append(&[merge(20, &key("bravo"), &key("alpha"), None)]).expect("appends");
    assert_eq!(outcome(&store), (true, false));
    store.append(&[split(21, &key("bravo"))]).expect("appends");
    assert_eq!(outcome(&store), (false, false));
    // Another entry that is one with it has another source.
    let [bravo, ..] = names("bravo");
    store.append(&[gotcha(4, "Nothing of the kind happens", &[bravo])]).expect("appends");
    assert_eq!(outcome(&store), (false, false));
    let mut merged = entry_change(33, 4, 3);
    if let EventBody::Knowledge(note) = &mut merged.body {
        note.change = EntryChange::Merged { into: "k-3".into() };
    }
    store.append(&[merged]).expect("appends");
    assert_eq!(outcome(&store), (true, false));
    let all = store.index().deliveries_of_entry("k-3").expect("reads");
    assert_eq!((all.len(), all[0].entry.as_deref()), (1, Some("k-3")));
    assert_eq!(store.index().entry_exposures("k-3").expect("reads"), 1);
}

#[test]
fn entries_are_one_by_way_of_an_entry_that_is_not_there() {
    let [id, ..] = names("alpha");
    let failed = failed_run(14, "two", &["bravo"]);
    let (_dir, mut store) = store(&[&warned(&id)[..], &[failed]].concat());
    let [bravo, ..] = names("bravo");
    store.append(&[gotcha(4, "Nothing of the kind happens", &[bravo])]).expect("appends");
    let merge_of = |n: u64, into: &str| {
        let mut merged = entry_change(n, 9, 3);
        if let EventBody::Knowledge(note) = &mut merged.body {
            note.change = EntryChange::Merged { into: into.into() };
        }
        merged
    };
    store.append(&[merge_of(33, "k-3")]).expect("appends");
    assert_eq!(outcome(&store), (false, false));
    store.append(&[merge_of(34, "k-4")]).expect("appends");
    assert_eq!(outcome(&store), (true, false), "the second one's mistake was made");
    store.rebuild_index("is tested").expect("rebuilds");
    assert_eq!(outcome(&store), (true, false));
}

#[test]
fn without_a_source_a_message_that_says_the_pitfall_is_the_same_mistake() {
    let written = gotcha(4, "Alpha could NOT be parsed!", &["m-1".to_owned()]);
    let (_dir, mut store) = store(&[written, entry_delivery(11, "two", 4), failed_run(12, "two", &["bravo"])]);
    assert_eq!(outcome(&store), (false, false), "another message");
    store.append(&[failed_run(13, "two", &["alpha"])]).expect("appends");
    assert_eq!(outcome(&store), (true, false));
    let about = store.index().patterns_of_entry("k-4").expect("reads");
    assert_eq!((about.patterns.len(), about.named), (1, false));
}

#[test]
fn without_a_source_only_a_checked_change_of_its_files_is_an_opportunity() {
    let seen = failed_run(1, "one", &["alpha"]);
    let written = gotcha(4, "alpha could not be parsed", &[]);
    let asked = entry_delivery(11, "two", 4);
    let (_dir, mut store) = store(&[seen, written, asked, passed_run(12, "two")]);
    assert_eq!(outcome(&store), (false, false), "nothing was changed");
    store.append(&[changed(12, "docs/a.md", FileChangeKind::Modified)]).expect("appends");
    assert_eq!(outcome(&store), (false, false), "another file");
    store.append(&[passed_run(13, "two"), changed(13, "src/a.js", FileChangeKind::Removed)]).expect("appends");
    assert_eq!(outcome(&store), (false, false), "its action is UPDATE");
    store.append(&[passed_run(15, "two"), changed(15, "src/a.js", FileChangeKind::Modified)]).expect("appends");
    assert_eq!(outcome(&store), (false, true));
    let passed = store.index().list_deliveries().expect("reads")[0].passed_at.expect("a time");
    assert_eq!(passed.0, 15_000_000, "the check after the change");
}

#[test]
fn of_what_no_failure_says_nothing_is_claimed() {
    let [id, ..] = names("unheard of");
    for sources in [vec![], vec![id], vec!["f-1".to_owned(), "nonsense".to_owned()]] {
        let written = gotcha(4, "The schema of the database is old", &sources);
        let runs = [passed_run(12, "two"), changed(12, "src/a.js", FileChangeKind::Modified)];
        let failed = failed_run(13, "two", &["alpha"]);
        let (_dir, store) = store(&[&[written, entry_delivery(11, "two", 4), failed], &runs[..]].concat());
        assert_eq!(outcome(&store), (false, false), "{sources:?}");
        assert!(store.index().patterns_of_entry("k-4").expect("reads").patterns.is_empty());
    }
}

#[test]
fn sources_are_named_by_the_start_of_their_id() {
    let [id, ..] = names("alpha");
    let (_dir, store) = store(&[failed_run(1, "one", &["alpha", "bravo"]), failed_run(2, "one", &["cargo"])]);
    let index = store.index();
    let named = index.find_source(&id[..7]).expect("reads").expect("is there");
    assert_eq!((&named.id, &named.patterns), (&id, &vec![id.clone()]));
    let failure = index.occurrences_of_pattern(index.find_pattern(&id).expect("is there").number, 1).expect("reads")[0]
        .failure
        .clone();
    let of_failure = index.find_source(&failure).expect("reads").expect("is there");
    assert_eq!((&of_failure.id, of_failure.patterns.len()), (&failure, 2));
    for nothing in ["p-", "f-", "", "é", "p-nothing", "m-1", "db"] {
        assert_eq!(index.find_source(nothing).expect("reads"), None, "{nothing}");
    }
    let family = index.find_pattern(&id).expect("is there").family;
    let (_dir, store) = self::store(&warned(&id));
    assert_eq!(store.index().entry_family("k-3").expect("reads"), Some(family));
    assert_eq!(store.index().entry_family("k-9").expect("reads"), None);
}

#[test]
fn a_task_that_was_told_by_an_entry_was_told() {
    let [id, ..] = names("alpha");
    let missed = |events: &[Event]| store(events).1.index().total_figures().expect("reads").missed;
    let again = failed_run(14, "two", &["alpha"]);
    assert_eq!(missed(&[failed_run(1, "one", &["alpha"]), again.clone()]), 1);
    assert_eq!(missed(&[failed_run(1, "one", &["alpha"]), delivery(11, "two", &key("alpha")), again.clone()]), 0);
    assert_eq!(missed(&[warned(&id), vec![again]].concat()), 0);
}
