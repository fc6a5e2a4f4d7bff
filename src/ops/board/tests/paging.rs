//! Pages of a list that is read while runs are being recorded.

use super::{DAY, Desk, TODAY, word};
use crate::event::sample::{attempt, days_later, delivery, failed_run, key, of_category, passed_run, with_agent};
use crate::event::{AttemptOutcome, Event};
use crate::ops::board::BoardFilter;
use crate::ops::board::failures::FailureQuery;
use crate::ops::board::fixes::FixQuery;
use crate::ops::board::patterns::{PatternOrder, PatternQuery, PatternScope};
use crate::ops::board::tasks::TaskQuery;
use crate::store::{FailureScope, SumFilter};

const PATTERNS: usize = 30;

/// Thirty patterns in one to five tasks each; of some was warned, with and without success.
fn many() -> Vec<Event> {
    let mut events = Vec::new();
    let mut n = 0;
    for at in 0..PATTERNS {
        for task in 0..=at % 5 {
            n += 1;
            let failed = failed_run(n, &format!("t{}", (at + 3 * task) % 11), &[&word(at)]);
            let agent = if at % 3 == 0 { "codex" } else { "human" };
            let category = if at % 4 == 0 { "lint_error" } else { "test_failure" };
            let days = TODAY - 1 - ((7 * at + 5 * task) % 30) as i64;
            events.push(with_agent(of_category(days_later(failed, days), category), agent));
        }
    }
    for at in 0..8_usize {
        let (task, second) = (format!("w{at}"), 1_000 + 20 * at as u64);
        events.extend([delivery(second + 1, &task, &key(&word(3 * at))), passed_run(second + 2, &task)]);
        if at % 2 == 0 {
            events.push(failed_run(second + 3, &task, &[&word(3 * at)]));
        }
        events.extend([
            delivery(second + 11, &format!("x{at}"), &key(&word(3 * at))),
            passed_run(second + 12, &format!("x{at}")),
        ]);
    }
    events
}

/// What is recorded between two pages: known patterns and a new one, in a new task and in a warned one.
fn meanwhile(round: usize) -> Vec<Event> {
    let n = 5_000 + 10 * round as u64;
    let late = |n, names: &[&str]| days_later(failed_run(n, &format!("later{round}"), names), TODAY);
    vec![
        late(n, &[&word(round * 11 % PATTERNS), &word((round * 17 + 5) % PATTERNS)]),
        late(n + 1, &[&word(100 + round)]),
        // A warning has another outcome now.
        days_later(failed_run(n + 3, &format!("x{}", round % 8), &[&word(3 * (round % 8))]), TODAY),
        with_agent(late(n + 2, &[&word((round * 23 + 9) % PATTERNS)]), "codex"),
    ]
}

/// Reads pages until the end, recording something after each.
fn read_all(
    desk: &Desk,
    page: impl Fn(Option<&str>) -> (Vec<String>, Option<String>),
    extra: impl Fn(usize) -> Vec<Event>,
) -> Vec<String> {
    let (mut read, mut after) = (Vec::new(), None);
    for round in 0..500 {
        let (rows, next) = page(after.as_deref());
        read.extend(rows);
        match next {
            Some(next) => after = Some(next),
            None => return read,
        }
        desk.record(&extra(round));
    }
    panic!("there is always another page after {read:?}");
}

fn queries() -> Vec<(&'static str, PatternQuery)> {
    let whom = |category: Option<&str>, agent: Option<&str>| BoardFilter {
        whom: SumFilter { category: category.map(Into::into), agent: agent.map(Into::into), tool: None },
        ..BoardFilter::default()
    };
    let days = BoardFilter {
        from: Some(crate::base::clock::UtcDay(TODAY - 20)),
        to: Some(crate::base::clock::UtcDay(TODAY - 5)),
        ..BoardFilter::default()
    };
    let all = PatternQuery::default();
    vec![
        ("all", all.clone()),
        ("recurring", PatternQuery { recurring: true, ..all.clone() }),
        ("category", PatternQuery { filter: whom(Some("lint_error"), None), ..all.clone() }),
        ("agent", PatternQuery { filter: whom(None, Some("codex")), ..all.clone() }),
        ("days", PatternQuery { filter: days, ..all.clone() }),
        ("words", PatternQuery { text: Some("could be PARSED".into()), ..all.clone() }),
        ("file", PatternQuery { file: Some("src".into()), scope: PatternScope::All, ..all }),
    ]
}

#[test]
fn pages_of_patterns_have_each_exactly_once_in_every_order() {
    for (order, name) in PatternOrder::WORDS {
        for (what, query) in queries() {
            let query = PatternQuery { order, ..query };
            let desk = Desk::new(&many());
            let page = |after: Option<&str>, limit| {
                let lines = desk.ask(|board| board.patterns(&query, after, limit).expect("reads"));
                (lines.patterns.into_iter().map(|line| line.id).collect::<Vec<_>>(), lines.next)
            };
            let (whole, next) = page(None, 1_000);
            assert_eq!(next, None);
            assert!(whole.len() > 1, "{what} by {name}: {whole:?}");
            let limit = 1 + whole.len() / 4;
            let read = read_all(&desk, |after| page(after, limit), meanwhile);
            assert_eq!(read, whole, "{what} by {name}");
        }
    }
}

#[test]
fn orders_are_what_they_say() {
    let desk = Desk::new(&many());
    let list = |order| {
        let query = PatternQuery { order, ..PatternQuery::default() };
        desk.ask(|board| board.patterns(&query, None, 1_000).expect("reads"))
    };
    let falls = |numbers: Vec<f64>| assert!(numbers.windows(2).all(|two| two[0] >= two[1]), "{numbers:?}");
    let tasks = list(PatternOrder::Tasks);
    assert_eq!((tasks.patterns.len(), tasks.total), (PATTERNS, Some(PATTERNS as u64)));
    falls(tasks.patterns.iter().map(|line| line.tasks as f64).collect());
    falls(list(PatternOrder::Failures).patterns.iter().map(|line| line.failures as f64).collect());
    falls(list(PatternOrder::LastSeen).patterns.iter().map(|line| line.last_seen.0 as f64).collect());
    falls(list(PatternOrder::Confidence).patterns.iter().map(|line| line.confidence).collect());
    let least = list(PatternOrder::LeastEffective);
    assert_eq!(least.patterns.len(), 8, "those that were warned of");
    assert_eq!(least.patterns[0].prevention_effectiveness, 0.5, "{:#?}", least.patterns[0]);
    assert_eq!(least.patterns[7].prevention_effectiveness, 1.0);
    let trending = list(PatternOrder::Trending).patterns;
    let recent = |last_seen: i64| last_seen >= (TODAY - 7) * DAY;
    assert!(trending.iter().all(|line| recent(line.last_seen.0)), "what was not seen this week is left out");
}

#[test]
fn pages_of_failures_have_each_exactly_once() {
    let queries = [
        FailureQuery::default(),
        FailureQuery { scope: FailureScope::Open, ..FailureQuery::default() },
        FailureQuery { text: Some("COULD".into()), ..FailureQuery::default() },
        FailureQuery { file: Some("src/a.js".into()), ..FailureQuery::default() },
        FailureQuery { task: Some("t3".into()), ..FailureQuery::default() },
    ];
    for query in queries {
        let desk = Desk::new(&many());
        let page = |after: Option<&str>, limit| {
            let lines = desk.ask(|board| board.failures(&query, after, limit).expect("reads"));
            (lines.failures.into_iter().map(|line| line.failure.id).collect::<Vec<_>>(), lines.next)
        };
        let (whole, next) = page(None, 1_000);
        assert!(next.is_none() && whole.len() > 6, "{query:?}: {whole:?}");
        assert_eq!(read_all(&desk, |after| page(after, 4), meanwhile), whole, "{query:?}");
    }
}

#[test]
fn pages_of_the_failures_of_a_pattern_have_each_exactly_once() {
    let desk = Desk::new(&many());
    let query = PatternQuery { order: PatternOrder::Failures, ..PatternQuery::default() };
    let most = desk.ask(|board| board.patterns(&query, None, 1).expect("reads")).patterns.remove(0);
    let page = |after: Option<&str>, limit| {
        let lines = desk.ask(|board| board.occurrences(&most.id, after, limit).expect("reads"));
        (lines.occurrences.into_iter().map(|one| one.failure).collect::<Vec<_>>(), lines.next)
    };
    let (whole, _) = page(None, 200);
    assert_eq!(whole.len() as u64, most.failures);
    assert_eq!(read_all(&desk, |after| page(after, 2), meanwhile), whole);
}

#[test]
fn tasks_that_move_to_the_top_meanwhile_are_neither_missed_nor_repeated() {
    let desk = Desk::new(&many());
    for filter in
        [BoardFilter::default(), BoardFilter { from: Some(crate::base::clock::UtcDay(1)), ..BoardFilter::default() }]
    {
        let query = TaskQuery { filter, failed: false };
        let page = |after: Option<&str>, limit| {
            let lines = desk.ask(|board| board.tasks(&query, after, limit).expect("reads"));
            (lines.tasks.into_iter().map(|task| task.name).collect::<Vec<_>>(), lines.next)
        };
        let (whole, _) = page(None, 1_000);
        assert!(whole.len() > 10, "{whole:?}");
        // Every task that is still to come is touched: after the moment of the first page.
        let touch = |round: usize| {
            let n = 9_000 + 20 * round as u64;
            (0..11).map(|task| days_later(passed_run(n + task, &format!("t{task}")), TODAY + 1)).collect()
        };
        assert_eq!(read_all(&desk, |after| page(after, 3), touch), whole);
    }
}

#[test]
fn fixes_that_move_to_the_top_meanwhile_are_neither_missed_nor_repeated() {
    let fixes = 9;
    let mut events = many();
    events.extend((1..=fixes).map(|n| attempt(n, 100 + n, AttemptOutcome::Partial)));
    let desk = Desk::new(&events);
    let page = |after: Option<&str>, limit| {
        let lines = desk.ask(|board| board.fixes(&FixQuery::default(), after, limit).expect("reads"));
        (lines.fixes.into_iter().map(|fix| fix.id).collect::<Vec<_>>(), lines.next)
    };
    let (whole, _) = page(None, 1_000);
    assert_eq!(whole.len() as u64, fixes);
    let later = |round: usize| {
        let run = |n: u64| (TODAY as u64 + 1) * 86_400 + 100 * round as u64 + n;
        (1..=fixes).map(|n| attempt(n, run(n), AttemptOutcome::Partial)).collect()
    };
    assert_eq!(read_all(&desk, |after| page(after, 2), later), whole);
}

#[test]
fn a_cursor_of_another_list_is_refused() {
    let desk = Desk::new(&many());
    let tasks = desk.ask(|board| board.tasks(&TaskQuery::default(), None, 2).expect("reads")).next.expect("more");
    desk.ask(|board| {
        assert!(board.failures(&FailureQuery::default(), Some(&tasks), 2).is_err());
        assert!(board.fixes(&FixQuery::default(), Some("nonsense"), 2).is_err());
        let query = PatternQuery { order: PatternOrder::Tasks, ..PatternQuery::default() };
        let next = board.patterns(&query, None, 2).expect("reads").next.expect("more");
        let other = PatternQuery { order: PatternOrder::Failures, ..query };
        assert!(board.patterns(&other, Some(&next), 2).is_err(), "it is one of another order");
    });
}
