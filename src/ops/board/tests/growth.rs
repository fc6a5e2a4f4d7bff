//! What a page reads does not grow with what is long past.

use super::{Desk, attempt, days_later, failed_run, word};
use crate::event::{AttemptOutcome, Event};
use crate::ops::board::failures::FailureQuery;
use crate::ops::board::patterns::{PatternOrder, PatternQuery};
use crate::ops::board::{Board, BoardFilter};
use crate::store::{FailureScope, count_steps};

/// Failures of these days, and those of long ago: more than any page reads ahead.
const RECENT: u64 = 20;
const OLD: u64 = 400;
/// Steps that a statement may take more, since trees are deeper: reading one more row takes three.
const MORE_MAX: u64 = 300;

/// A store with failures of these days and `old` ones, which are all resolved.
fn desk(old: u64) -> Desk {
    let mut events: Vec<Event> =
        (0..old).map(|n| failed_run(1_000 + n, "old", &[&word(usize::try_from(n).expect("small"))])).collect();
    events.push(attempt(1_000, 1_000 + OLD + 1, AttemptOutcome::Success));
    events.extend((0..RECENT).map(|n| days_later(failed_run(n, &format!("t{n}"), &["recent"]), 35)));
    Desk::new(&events)
}

/// What a page asks.
type PageQuestion = Box<dyn Fn(&Board<'_>)>;

/// The questions of the pages that are asked most.
fn questions() -> Vec<(&'static str, PageQuestion)> {
    let mut questions: Vec<(&str, PageQuestion)> = vec![
        ("overview", Box::new(|board| drop(board.overview(&BoardFilter::default()).expect("reads")))),
        ("totals", Box::new(|board| drop(board.failure_totals(&BoardFilter::default()).expect("reads")))),
        ("failures", Box::new(|board| drop(board.failures(&FailureQuery::default(), None, 10).expect("reads")))),
        (
            "open failures",
            Box::new(|board| {
                let query = FailureQuery { scope: FailureScope::Open, ..FailureQuery::default() };
                drop(board.failures(&query, None, 10).expect("reads"));
            }),
        ),
    ];
    for order in [PatternOrder::Trending, PatternOrder::Tasks, PatternOrder::LastSeen, PatternOrder::Failures] {
        questions.push((
            "patterns",
            Box::new(move |board| {
                let query = PatternQuery { order, ..PatternQuery::default() };
                drop(board.patterns(&query, None, 1).expect("reads"));
            }),
        ));
    }
    questions
}

#[test]
fn no_statement_of_a_page_reads_what_is_long_past() {
    let (small, large) = (desk(OLD / 2 + 10), desk(OLD));
    for (name, question) in questions() {
        // What detectors look at is read once, and kept.
        let [few, many] = [&small, &large].map(|desk| {
            desk.ask(|board| question(board));
            desk.ask(|board| count_steps(|| question(board)))
        });
        assert!(few.len() > 1, "{name}: {few:?}");
        for (statement, steps) in many {
            let before = few.get(&statement).copied().unwrap_or(0);
            assert!(steps <= before + MORE_MAX, "{name}: {before} steps became {steps}: {statement}");
        }
    }
}
