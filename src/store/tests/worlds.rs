//! Random stores with at least one event of every kind.

use proptest::prelude::*;

use crate::base::clock::Timestamp;
use crate::base::ids;
use crate::event::sample::{
    ack, declared_strategy, delivery, entry, entry_change, entry_delivery, failed_run, flake, gate_step, gotcha, key,
    learn_step, library_step, memory, memory_change, merge, names, of_category, old_failed_run, old_key, passed_run,
    phase, promotion, receipt, review, run_id, said_strategy, signed_receipt, snapshot, split, strategy_report,
    task_done, task_started, tried,
};
use crate::event::{
    AttemptMeans, AttemptOutcome, Event, EventBody, FixNote, LessonChange, LessonChangeKind, Purge, Recipe, RecipeKind,
    ReviewState,
};

/// Two begin with the same letter: an older fingerprint took them for one.
const NAMES: [&str; 5] = ["alpha", "apple", "bravo", "cargo", "delta"];

fn any_key() -> impl Strategy<Value = String> + Clone {
    let name = prop::sample::select(NAMES.to_vec());
    prop_oneof![4 => name.clone().prop_map(key), 1 => name.prop_map(old_key)]
}

fn outcomes() -> impl Strategy<Value = AttemptOutcome> + Clone {
    prop::sample::select(vec![
        AttemptOutcome::Success,
        AttemptOutcome::Success,
        AttemptOutcome::Partial,
        AttemptOutcome::Failure,
    ])
}

/// Attempts at patterns that fail elsewhere, with recipes that others have too.
fn attempts() -> impl Strategy<Value = Event> {
    let outcome = outcomes();
    let means =
        prop::sample::select(vec![AttemptMeans::Edit, AttemptMeans::Edit, AttemptMeans::Command, AttemptMeans::None]);
    let (fixed, persisted) = (prop::collection::vec(any_key(), 1..3), prop::option::of(any_key()));
    let parts = (1..20u64, 10..60u64, outcome, means, fixed, persisted);
    parts.prop_map(|(before, run, outcome, means, fixed, persisted)| {
        let mut event = tried(before, run, outcome, &fixed, persisted.as_slice());
        if let EventBody::Attempt(attempt) = &mut event.body {
            attempt.means = means;
            let label = format!("as {before}");
            attempt.recipes.push(Recipe { kind: RecipeKind::Shape, key: "1:cd".into(), label });
        }
        event
    })
}

/// Gotchas that name a pattern as their source in each way, or say what its message says.
fn gotchas() -> impl Strategy<Value = Event> + Clone {
    let parts = (0..20u64, prop::sample::select(NAMES.to_vec()), 0..5usize);
    parts.prop_map(|(n, name, how)| {
        let sources: Vec<String> = names(name).get(how).cloned().into_iter().collect();
        gotcha(n, &format!("{name} could not be parsed"), &sources)
    })
}

fn event(id: u64, body: EventBody) -> Event {
    Event { id: run_id(id).0, ..Event::new(Timestamp(0), "w", body) }
}

/// A note on a fix of those that [`attempts`] may make.
fn note(n: u64) -> Event {
    let (cause, rule) = (Some(format!("because of {n}")), None);
    let fix = ids::fix("00ff", run_id(n + 1));
    event(3000 + n, EventBody::FixNote(FixNote { fix, cause, rule, ..FixNote::default() }))
}

/// A flake of a pattern that runs may have.
fn flaky(pass: u64, fail: u64) -> Event {
    let mut event = flake(pass, fail);
    if let EventBody::Flake(flake) = &mut event.body {
        flake.patterns = vec![key(NAMES[usize::try_from(pass + fail).expect("small") % NAMES.len()])];
    }
    event
}

fn forget(n: u64, pattern: String) -> Event {
    let change = LessonChangeKind::Forgotten { patterns: vec![pattern] };
    event(2000 + n, EventBody::Lesson(LessonChange { lesson: format!("l-{n}"), change, by: None }))
}

/// Every kind with how often it comes; runs with patterns of this fingerprint's version and of an older one.
fn kinds() -> Vec<(u32, BoxedStrategy<Event>)> {
    let names = || prop::collection::vec(prop::sample::select(NAMES.to_vec()), 1..4);
    let task = prop::sample::select(vec!["one", "two", "three"]);
    // Some categories are not declared here, and some are not valid names.
    let category = |n: u64| ["test_failure", "lint_error", "security_issue", "Not a name"][n as usize % 4];
    let failed = (1..40u64, task.clone(), names())
        .prop_map(move |(n, task, names)| of_category(failed_run(n, task, &names), category(n)));
    let older = (61..80u64, task.clone(), names()).prop_map(|(n, task, names)| old_failed_run(n, task, &names));
    let merges = (0..90u64, any_key(), any_key(), prop::option::of(851..=1000u16));
    let states = prop::sample::select(vec![ReviewState::Muted, ReviewState::Restored]);
    let purge = |n| event(1000 + n, EventBody::Purge(Purge { runs: vec![run_id(n)] }));
    vec![
        (4, failed.boxed()),
        (2, older.boxed()),
        (2, (40..60u64, task.clone()).prop_map(|(n, task)| passed_run(n, task)).boxed()),
        (4, merges.prop_map(|(n, from, into, similarity)| merge(n, &from, &into, similarity)).boxed()),
        (2, (0..90u64, any_key()).prop_map(|(n, pattern)| split(n, &pattern)).boxed()),
        (1, (0..90u64, any_key(), states).prop_map(|(n, pattern, state)| review(n, &pattern, state)).boxed()),
        (4, attempts().boxed()),
        (2, (1..60u64, 1..30u64).prop_map(|(pass, fail)| flaky(pass, fail)).boxed()),
        (2, (0..19u64).prop_map(note).boxed()),
        (2, (1..60u64).prop_map(|n| snapshot(n, Some(&format!("{n:040x}")))).boxed()),
        (2, (40..60u64).prop_map(receipt).boxed()),
        (2, (40..60u64).prop_map(signed_receipt).boxed()),
        (2, (0..20u64).prop_map(gate_step).boxed()),
        (2, (0..9u64).prop_map(phase).boxed()),
        (3, (0..40u64).prop_map(learn_step).boxed()),
        (3, (0..40u64).prop_map(library_step).boxed()),
        (1, (1..60u64).prop_map(purge).boxed()),
        (2, (0..9u64, task.clone()).prop_map(|(n, task)| task_started(n, task, &format!("Title {n}"))).boxed()),
        (1, (0..9u64, task.clone()).prop_map(|(n, task)| task_done(n, task)).boxed()),
        (3, (0..30u64, task.clone(), any_key()).prop_map(|(n, task, key)| delivery(n, task, &key)).boxed()),
        (1, (0..9u64).prop_map(ack).boxed()),
        (3, (0..30u64, any_key()).prop_map(|(n, key)| promotion(n, &key)).boxed()),
        (1, (0..9u64, any_key()).prop_map(|(n, pattern)| forget(n, pattern)).boxed()),
        (3, (0..20u64).prop_map(|n| entry(n, &format!("Entry {n}"))).boxed()),
        (4, gotchas().boxed()),
        (4, (0..60u64, task.clone(), 0..5u64).prop_map(|(n, task, about)| entry_delivery(n, task, about)).boxed()),
        (4, (0..40u64, 0..5u64, 0..5u64).prop_map(|(n, about, other)| entry_change(n, about, other)).boxed()),
        (2, (0..20u64, any_key()).prop_map(|(n, key)| said_strategy(n, &key, "do it")).boxed()),
        (
            3,
            (0..40u64, any_key(), outcomes())
                .prop_map(|(n, key, outcome)| strategy_report(n, &key, "do it", outcome))
                .boxed(),
        ),
        (2, (0..20u64, outcomes()).prop_map(|(n, outcome)| declared_strategy(n, outcome)).boxed()),
        (2, (0..20u64).prop_map(memory).boxed()),
        (2, (0..40u64, 0..5u64).prop_map(|(n, about)| memory_change(n, about)).boxed()),
    ]
}

/// One event of every kind and up to `more` of any, in any order. One id has one content, wherever it comes from.
pub(in crate::store) fn world(more: usize) -> impl Strategy<Value = Vec<Event>> {
    let each: Vec<BoxedStrategy<Event>> = kinds().into_iter().map(|(_, kind)| kind).collect();
    let any = prop::strategy::Union::new_weighted(kinds());
    (each, prop::collection::vec(any, 0..=more))
        .prop_map(|(each, more)| {
            let mut unique: Vec<Event> = Vec::new();
            for event in each.into_iter().chain(more) {
                if unique.iter().all(|other| other.id != event.id) {
                    unique.push(event);
                }
            }
            unique
        })
        .prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn a_world_has_every_kind_that_there_is(events in world(3)) {
        let mut kinds: Vec<&str> = events.iter().map(|event| event.body.kind()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        prop_assert_eq!(kinds.len(), crate::event::KINDS.len(), "{:?}", kinds);
    }
}
