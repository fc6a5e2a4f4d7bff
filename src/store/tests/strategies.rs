//! How attempts and later events change strategies.

use super::{failed_run, flake, folder, key, open, passed_run, snapshot, world};
use crate::event::sample::{merge, tried};
use crate::event::{
    AttemptMeans, AttemptOutcome, Event, EventBody, FlakeProof, Recipe, RecipeKind, Technique, WeakenedCheckRecord,
};
use crate::store::{Store, StrategyRow, count_steps};

/// An attempt at `alpha`, which the second recipe of is a command.
fn at_alpha(before: u64, run: u64, outcome: AttemptOutcome) -> Event {
    let keys = [key("alpha")];
    let (fixed, persisted) =
        if outcome == AttemptOutcome::Failure { (&[][..], &keys[..]) } else { (&keys[..], &[][..]) };
    let mut event = tried(before, run, outcome, fixed, persisted);
    if let EventBody::Attempt(attempt) = &mut event.body {
        attempt.recipes.push(Recipe { kind: RecipeKind::Command, key: "1:cc".into(), label: "npm install".into() });
    }
    event
}

fn store(events: &[Event]) -> (tempfile::TempDir, Store) {
    let dir = folder();
    let mut store = open(dir.path());
    store.append(events).expect("appends");
    (dir, store)
}

fn strategies(store: &Store) -> Vec<StrategyRow> {
    let pattern = store.index().pattern_of_key(&key("alpha")).expect("reads").expect("is there");
    store.index().strategies_of_pattern(pattern.number).expect("reads")
}

/// Successes, failures and partial ones of the first strategy.
fn counts(store: &Store) -> (u64, u64, u64) {
    strategies(store).first().map_or((0, 0, 0), |row| (row.successes, row.failures, row.partials))
}

fn change(event: &mut Event, change: impl FnOnce(&mut crate::event::Attempt)) {
    if let EventBody::Attempt(attempt) = &mut event.body {
        change(attempt);
    }
}

#[test]
fn attempts_are_counted_for_what_was_tried_in_them() {
    let events = [
        failed_run(1, "one", &["alpha"]),
        at_alpha(1, 2, AttemptOutcome::Failure),
        at_alpha(1, 3, AttemptOutcome::Success),
        failed_run(10, "two", &["alpha"]),
        at_alpha(10, 11, AttemptOutcome::Success),
    ];
    let (_dir, store) = store(&events);
    let found = strategies(&store);
    let names: Vec<_> = found.iter().map(|row| (row.technique.as_str(), row.label.as_str())).collect();
    assert_eq!(names, [("command", "npm install"), ("files", "src/a.js")]);
    assert_eq!(counts(&store), (2, 1, 0));
    let numbers: Vec<_> = found[0].tries.iter().map(|row| (row.outcome.as_str(), row.number)).collect();
    assert_eq!(numbers, [("failure", 1), ("success", 2), ("success", 1)]);
    let pattern = store.index().pattern_of_key(&key("alpha")).expect("reads").expect("is there");
    assert!(store.index().gotcha_of_pattern(pattern.number).expect("reads").is_some_and(|id| id.starts_with("k-")));
    let fix = &found[0].tries[2].fix;
    assert_eq!(store.index().patterns_of_fix(fix).expect("reads"), [pattern.number]);
}

#[test]
fn what_did_nothing_or_weakened_the_check_tried_nothing() {
    let (mut rerun, mut weakened) = (at_alpha(1, 2, AttemptOutcome::Success), at_alpha(1, 3, AttemptOutcome::Success));
    change(&mut rerun, |attempt| attempt.means = AttemptMeans::None);
    change(&mut weakened, |attempt| {
        let (path, text, message) = ("a.py".into(), "skip".into(), "skips a test".into());
        let mark =
            WeakenedCheckRecord { rule: "skip".into(), path, line: None, deleted: false, text, message, certain: true };
        attempt.weakened = vec![mark];
    });
    let (_dir, store) = store(&[failed_run(1, "one", &["alpha"]), rerun, weakened]);
    assert_eq!(strategies(&store), []);
    let pattern = store.index().pattern_of_key(&key("alpha")).expect("reads").expect("is there");
    assert_eq!(store.index().gotcha_of_pattern(pattern.number).expect("reads"), None);
}

#[test]
fn a_command_that_did_it_is_the_technique_not_the_lock_file_it_wrote() {
    let mut installed = at_alpha(1, 2, AttemptOutcome::Success);
    change(&mut installed, |attempt| attempt.means = AttemptMeans::Command);
    let (_dir, store) = store(&[failed_run(1, "one", &["alpha"]), installed]);
    let techniques: Vec<_> = strategies(&store).into_iter().map(|row| row.technique).collect();
    assert_eq!(techniques, [Technique::Command]);
}

#[test]
fn what_came_back_in_its_task_was_no_success() {
    let (_dir, mut store) = store(&[failed_run(1, "one", &["alpha"]), at_alpha(1, 2, AttemptOutcome::Success)]);
    assert_eq!(counts(&store), (1, 0, 0));
    store.append(&[failed_run(3, "two", &["alpha"]), failed_run(4, "one", &["bravo"])]).expect("appends");
    assert_eq!(counts(&store), (1, 0, 0), "another task, another pattern");
    store.append(&[failed_run(5, "one", &["alpha"])]).expect("appends");
    assert_eq!(counts(&store), (0, 1, 0));
    assert!(strategies(&store)[0].tries[0].recurred);
}

#[test]
fn only_a_proven_flake_of_the_very_pattern_discounts_what_it_seemed_to_need() {
    let flaky = |pass, pattern: &str, proof| {
        let mut event = flake(pass, 1);
        if let EventBody::Flake(flake) = &mut event.body {
            (flake.patterns, flake.proof) = (vec![key(pattern)], proof);
        }
        event
    };
    let (_dir, mut store) = store(&[failed_run(1, "one", &["alpha"]), at_alpha(1, 2, AttemptOutcome::Success)]);
    assert_eq!(counts(&store), (1, 0, 0));
    store.append(&[flaky(7, "alpha", FlakeProof::Suspected), flaky(8, "bravo", FlakeProof::Proven)]).expect("appends");
    assert_eq!(counts(&store), (1, 0, 0));
    store.append(&[flaky(9, "alpha", FlakeProof::Proven)]).expect("appends");
    assert_eq!(strategies(&store), []);
}

#[test]
fn one_pass_that_closes_two_commands_counts_once() {
    let narrow = at_alpha(1, 9, AttemptOutcome::Success);
    let mut wide = at_alpha(2, 9, AttemptOutcome::Success);
    change(&mut wide, |attempt| attempt.key = "wide".into());
    let runs = [failed_run(1, "one", &["alpha"]), failed_run(2, "one", &["alpha"])];
    let (_dir, store) = store(&[&runs[..], &[narrow, wide]].concat());
    assert_eq!(counts(&store), (1, 0, 0));
    let fixes = store.index().list_fixes(&crate::store::FixFilter { limit: 9, ..Default::default() }).expect("reads");
    assert_eq!((fixes.len(), fixes[0].twins, fixes[1].twins), (2, 0, 0), "one pass confirms nothing twice");
    let recipes = store.index().list_recipes(None, 1, 9).expect("reads");
    assert_eq!((recipes[0].attempts, recipes[0].successes), (1, 1));
}

#[test]
fn recipes_of_a_fix_are_found_without_a_look_at_all_others() {
    let steps = |others: u64| {
        let runs = [failed_run(1, "one", &["alpha"]), at_alpha(1, 2, AttemptOutcome::Success)];
        let (_dir, mut store) = store(&runs);
        let fixes = store.index().list_fixes(&crate::store::FixFilter { limit: 9, ..Default::default() });
        let fix = fixes.expect("reads").remove(0).id;
        for n in (10..).step_by(2).take(usize::try_from(others).expect("small")) {
            let mut other = tried(n, n + 1, AttemptOutcome::Success, &[key("alpha")], &[]);
            change(&mut other, |attempt| {
                attempt.recipes =
                    vec![Recipe { kind: RecipeKind::Shape, key: format!("1:{n}"), label: "other".into() }];
            });
            store.append(&[failed_run(n, &format!("t{n}"), &["alpha"]), other]).expect("appends");
        }
        let steps = count_steps(|| {
            let recipes = store.index().list_recipes(Some(&fix), 1, 9).expect("reads");
            assert!(recipes.iter().any(|recipe| recipe.label == "npm install"), "{recipes:?}");
        });
        steps.values().sum::<u64>()
    };
    let [few, many] = [20, 80].map(steps);
    assert!(many <= few + 100, "{few} steps became {many}");
}

#[test]
fn merged_patterns_share_what_helps() {
    let runs = [failed_run(1, "one", &["alpha"]), failed_run(2, "two", &["bravo"])];
    let other = tried(2, 4, AttemptOutcome::Success, &[key("bravo")], &[]);
    let merged = merge(5, &key("bravo"), &key("alpha"), None);
    let (_dir, store) = store(&[&runs[..], &[at_alpha(1, 3, AttemptOutcome::Success), other, merged]].concat());
    let of_files =
        strategies(&store).into_iter().find(|row| row.technique == Technique::Files).expect("both changed it");
    assert_eq!((of_files.successes, of_files.tries.len()), (2, 2));
}

#[test]
fn a_weakened_pass_resolves_nothing() {
    let mut weakened = at_alpha(1, 3, AttemptOutcome::Success);
    change(&mut weakened, |attempt| {
        let (path, text, message) = ("a.py".into(), "skip".into(), "skips a test".into());
        let mark =
            WeakenedCheckRecord { rule: "skip".into(), path, line: None, deleted: false, text, message, certain: true };
        attempt.weakened = vec![mark];
    });
    let (_dir, mut store) = store(&[failed_run(1, "one", &["alpha"]), weakened]);
    let resolved = |store: &Store| -> i64 {
        let sql = "SELECT count(*) FROM failure_resolutions";
        store.index().connection.query_row(sql, [], |row| row.get(0)).expect("reads")
    };
    assert_eq!(resolved(&store), 0);
    store.append(&[at_alpha(1, 4, AttemptOutcome::Success)]).expect("appends");
    assert_eq!(resolved(&store), 1);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 30, ..Default::default() })]

    /// The figures of a strategy are those of its attempts, whatever made them count or not.
    #[test]
    fn a_strategy_s_figures_are_its_attempts(events in world(15)) {
        let (_dir, store) = store(&events);
        let wrong = "SELECT count(*) FROM strategies s WHERE
            (successes, failures, partials) IS NOT
            (SELECT count(*) FILTER (WHERE counts_as = 'success'), count(*) FILTER (WHERE counts_as = 'failure'),
                    count(*) FILTER (WHERE counts_as = 'partial')
             FROM strategy_tries a WHERE a.strategy_no = s.strategy_no)
            OR abs(effectiveness - iif(successes + failures + partials = 0, 0.5,
                (successes + 0.5 * partials) / (successes + failures + partials))) > 1e-12";
        let wrong: i64 = store.index().connection.query_row(wrong, [], |row| row.get(0)).expect("reads");
        proptest::prop_assert_eq!(wrong, 0);
    }
}

#[test]
fn only_what_had_changed_when_a_task_began_to_fail_counts_for_it() {
    let mut events = vec![failed_run(1, "one", &["alpha"]), failed_run(2, "one", &["alpha"]), passed_run(3, "one")];
    events.extend([passed_run(4, "two"), passed_run(5, "two"), failed_run(6, "three", &["bravo"])]);
    // The file of run n is src/n.js: 2 and 3 are what was tried and what helped.
    events.extend((1..=6).map(|n| snapshot(n, Some("tree"))));
    let (_dir, store) = store(&events);
    let history = store.index().recent_history().expect("reads");
    let changed = |name: &str| -> Vec<&str> {
        let task = history.tasks.iter().find(|task| task.name == name).expect("a task").number;
        let mut paths: Vec<&str> =
            history.changes.iter().filter(|row| row.task == task).map(|row| row.path.as_str()).collect();
        paths.sort_unstable();
        paths
    };
    assert_eq!(changed("one"), ["src/1.js"]);
    assert_eq!(changed("two"), ["src/4.js", "src/5.js"]);
    assert_eq!(changed("three"), ["src/6.js"]);
}

#[test]
fn a_word_of_a_newer_version_is_named_and_no_row_is_lost() {
    let (_dir, store) = store(&[failed_run(1, "one", &["alpha"]), at_alpha(1, 2, AttemptOutcome::Success)]);
    let known = strategies(&store);
    let set = |from: &str, to: &str| {
        let sql = "UPDATE strategies SET technique = ?2 WHERE technique = ?1";
        store.index().connection.execute(sql, [from, to]).expect("updates")
    };
    assert!(set("files", "incantation") > 0);
    let error = store.index().list_remedies(10).expect_err("a word that this version does not know");
    assert!(error.is_newer() && error.to_string().contains("Technique \"incantation\""), "{error}");
    set("incantation", "files");
    assert_eq!(strategies(&store), known);
}
