//! Figures and pages of stores that are made of events.

pub(crate) mod effect;
mod growth;
mod paging;

use super::failures::FailureQuery;
use super::figures::BoardFigure;
use super::overview::Overview;
use super::patterns::PatternQuery;
use super::{Board, BoardFilter};
use crate::base::clock::{Timestamp, UtcDay};
use crate::config::{Environment, Places, StateDir};
use crate::event::sample::{
    attempt, cancelled, days_later, failed_run, flake, folder, key, of_category, passed_run, weakened_mark, with_agent,
};
use crate::event::{AttemptOutcome, Event, EventBody};
use crate::ops::request::Request;
use crate::store::{FailureScope, Store, SumFilter, lock_store};

const DAY: i64 = 86_400_000_000;
/// The day on which everything is asked.
const TODAY: i64 = 40;

/// A store of events, and who asks it.
pub(crate) struct Desk {
    _dir: tempfile::TempDir,
    state: StateDir,
    pub request: Request,
}

impl Desk {
    pub(crate) fn new(events: &[Event]) -> Self {
        let dir = folder();
        let (root, state) = (dir.path().join("root"), StateDir::from(dir.path().join("state")));
        std::fs::create_dir_all(&root).expect("a folder");
        let places = Places { root, repository: None, state: state.clone(), fallbacks: Vec::new() };
        let clock = || Timestamp(TODAY * DAY + DAY / 2);
        let request = Request::at_places(places, Environment::default()).with_clock(clock);
        let desk = Desk { _dir: dir, state, request };
        desk.record(events);
        desk
    }

    fn record(&self, events: &[Event]) {
        let lock = lock_store(&self.state, std::time::Duration::ZERO).expect("no one else");
        Store::open(&self.state, lock).expect("opens").append(events).expect("appends");
    }

    fn ask<T>(&self, question: impl FnOnce(&Board<'_>) -> T) -> T {
        let opened = Board::open(&self.request).expect("opens");
        question(&opened.board.expect("something is recorded"))
    }

    fn overview(&self, filter: &BoardFilter) -> Overview {
        self.ask(|board| board.overview(filter).expect("reads"))
    }
}

/// A word that no rule about messages masks.
fn word(n: usize) -> String {
    let letter = |n: usize| char::from(b'g' + u8::try_from(n % 20).expect("small"));
    format!("{}{}{}w", letter(n), letter(n / 20), letter(7 * n))
}

fn figure<'a>(overview: &'a Overview, name: &str) -> &'a BoardFigure {
    overview.figures.iter().find(|figure| figure.name == name).expect("a figure")
}

fn proven(pass: u64, fail: u64, names: &[&str]) -> Event {
    let mut event = flake(pass, fail);
    if let EventBody::Flake(flake) = &mut event.body {
        flake.patterns = names.iter().map(|name| key(name)).collect();
    }
    event
}

fn weakened(before: u64, run: u64) -> Event {
    let mut event = attempt(before, run, AttemptOutcome::Success);
    if let EventBody::Attempt(attempt) = &mut event.body {
        attempt.weakened = vec![weakened_mark()];
    }
    event
}

/// 40 failures of tests, 30 of builds, 20 of linters and 10 of type checkers in 25 tasks, spread over the last 30 days;
/// every second one by codex; one is fixed at the second attempt.
fn hundred() -> Vec<Event> {
    let categories = [("test_failure", 40), ("build_error", 30), ("lint_error", 20), ("type_error", 10)];
    let categories = categories.into_iter().flat_map(|(name, count)| std::iter::repeat_n(name, count));
    let mut events: Vec<Event> = categories
        .enumerate()
        .map(|(at, category)| {
            let n = at as u64 + 1;
            let failed = failed_run(n, &format!("t{}", at % 25), &[&word(at % 7)]);
            let agent = if at % 2 == 0 { "codex" } else { "human" };
            with_agent(of_category(days_later(failed, TODAY - at as i64 % 30), category), agent)
        })
        .collect();
    events.extend([days_later(passed_run(150, "t1"), TODAY), days_later(passed_run(151, "t2"), TODAY)]);
    let attempts = [attempt(20, 140, AttemptOutcome::Partial), attempt(20, 151, AttemptOutcome::Success)];
    events.extend(attempts.map(|event| days_later(event, TODAY)));
    events
}

/// A proven flake, a cancelled run, and a pass of a weakened check.
fn not_counted() -> Vec<Event> {
    vec![
        days_later(failed_run(201, "u1", &["flaky"]), TODAY),
        proven(150, 201, &["flaky"]),
        days_later(cancelled(failed_run(202, "u2", &["stopped"])), TODAY),
        days_later(passed_run(203, "u3"), TODAY),
        days_later(weakened(3, 203), TODAY),
    ]
}

#[test]
fn a_hundred_failures_are_40_30_20_and_10_percent_of_their_categories() {
    let overview = Desk::new(&hundred()).overview(&BoardFilter::default());
    let shares: Vec<_> = overview
        .categories
        .iter()
        .map(|row| (row.category.as_str(), row.failures, (row.share * 100.0).round() as u64))
        .collect();
    let expected = [("test_failure", 40, 40), ("build_error", 30, 30), ("lint_error", 20, 20), ("type_error", 10, 10)];
    assert_eq!(shares, expected);
    for row in &overview.categories {
        assert_eq!(row.trend.iter().sum::<u64>(), row.failures, "the line of {} has all of them", row.category);
        assert_eq!(row.trend.len(), 30);
    }
    let failing = figure(&overview, "failing_tasks");
    assert_eq!((failing.value, failing.hits, failing.cases), (Some(1.0), Some(25), 25));
    assert_eq!(figure(&overview, "failures").value, Some(100.0));
    let attempts = figure(&overview, "attempts_to_fix");
    assert_eq!((attempts.value, attempts.cases), (Some(2.0), 1));
    let points: (u64, u64) =
        overview.trend.points.iter().fold((0, 0), |sum, day| (sum.0 + day.runs, sum.1 + day.failures));
    assert_eq!(points, (102, 100));
    assert_eq!(overview.patterns.len(), 7);
    assert_eq!(overview.patterns.iter().filter_map(|line| line.failures_in_filter).sum::<u64>(), 100);
    let falling = overview.patterns.windows(2).all(|two| two[0].failures_in_filter >= two[1].failures_in_filter);
    assert!(falling, "{:#?}", overview.patterns);
}

#[test]
fn flakes_cancelled_runs_and_weakened_passes_change_no_rate_and_are_listed() {
    let plain = Desk::new(&hundred()).overview(&BoardFilter::default());
    let desk = Desk::new(&[hundred(), not_counted()].concat());
    let overview = desk.overview(&BoardFilter::default());
    for figure in &plain.figures {
        let same = overview.figures.iter().find(|other| other.name == figure.name).expect("is there");
        assert_eq!((same.value, same.cases), (figure.value, figure.cases), "{}", figure.name);
    }
    let shares = |overview: &Overview| {
        overview.categories.iter().map(|row| (row.category.clone(), row.failures)).collect::<Vec<_>>()
    };
    assert_eq!(shares(&overview), shares(&plain));
    let apart = &overview.not_counted;
    assert_eq!((apart.cancelled, apart.flaky_failures, apart.flaky_patterns, apart.weakened), (1, 1, 1, 1));

    let list = |scope| {
        let query = FailureQuery { scope, ..FailureQuery::default() };
        desk.ask(|board| board.failures(&query, None, 1000).expect("reads"))
    };
    let counted = list(FailureScope::Counted);
    assert_eq!((counted.failures.len(), counted.total, counted.next), (100, Some(100), None));
    let uncounted = list(FailureScope::Uncounted);
    let why: Vec<_> = uncounted.failures.iter().filter_map(|line| line.not_counted.as_deref()).collect();
    assert_eq!(why, ["cancelled", "flaky"], "the newest first");
}

#[test]
fn filters_change_what_is_counted_and_lists_have_as_many_rows_as_the_figure_says() {
    let desk = Desk::new(&[hundred(), not_counted()].concat());
    let day = |age: i64| Some(UtcDay(TODAY - age));
    let whom = |category: Option<&str>, agent: Option<&str>| SumFilter {
        category: category.map(str::to_owned),
        agent: agent.map(str::to_owned),
        tool: None,
    };
    let filters = [
        (BoardFilter { from: day(9), ..BoardFilter::default() }, 40),
        (BoardFilter { from: day(29), to: day(20), ..BoardFilter::default() }, 30),
        (BoardFilter { whom: whom(Some("lint_error"), None), ..BoardFilter::default() }, 20),
        (BoardFilter { whom: whom(None, Some("codex")), ..BoardFilter::default() }, 50),
        (BoardFilter { whom: whom(Some("build_error"), Some("human")), ..BoardFilter::default() }, 15),
        (
            BoardFilter {
                whom: SumFilter { tool: Some("npm-test".into()), ..SumFilter::default() },
                ..BoardFilter::default()
            },
            100,
        ),
        (
            BoardFilter {
                whom: SumFilter { tool: Some("cargo".into()), ..SumFilter::default() },
                ..BoardFilter::default()
            },
            0,
        ),
    ];
    for (filter, failures) in filters {
        let overview = desk.overview(&filter);
        assert_eq!(figure(&overview, "failures").cases, failures, "{filter:?}");
        assert_eq!(overview.categories.iter().map(|row| row.failures).sum::<u64>(), failures, "{filter:?}");
        let query = FailureQuery { filter: filter.clone(), ..FailureQuery::default() };
        let lines = desk.ask(|board| board.failures(&query, None, 1000).expect("reads"));
        assert_eq!(lines.failures.len() as u64, failures, "{filter:?}");
        let tasks = super::tasks::TaskQuery { filter: filter.clone(), failed: true };
        let tasks = desk.ask(|board| board.tasks(&tasks, None, 1000).expect("reads")).tasks.len() as u64;
        assert_eq!(figure(&overview, "failing_tasks").hits, Some(tasks), "{filter:?}");
    }
}

#[test]
fn a_task_is_found_by_the_name_that_lists_show() {
    let name = "login\u{202e}\u{200b}gnp";
    let desk = Desk::new(&[failed_run(1, name, &["alpha"]), failed_run(2, "other", &["alpha"])]);
    let listed = desk.ask(|board| board.failures(&FailureQuery::default(), None, 10).expect("reads")).failures;
    let shown = &listed.last().expect("the first one").failure.task;
    assert_ne!(shown, name, "the list leaves out what no screen shows");
    for asked in [name, shown] {
        assert_eq!(desk.ask(|board| board.task(asked).expect("is found")).page.name, name, "{asked}");
    }
    assert!(desk.ask(|board| board.task("login").is_err()), "a part of it is another name");
}

#[test]
fn the_period_before_is_compared_only_with_enough_cases() {
    let mut events = hundred();
    events.extend((0..25).map(|n| days_later(failed_run(300 + n, &format!("old{n}"), &["old"]), 5)));
    let desk = Desk::new(&events);
    let overview = desk.overview(&BoardFilter::default());
    let failing = figure(&overview, "failing_tasks");
    assert_eq!((failing.previous, failing.previous_cases, failing.change), (Some(1.0), 25, Some(0.0)));
    let attempts = figure(&overview, "attempts_to_fix");
    assert_eq!((attempts.previous, attempts.change), (None, None));
    assert_eq!(overview.categories[0].previous_failures, 25);
    assert_eq!(overview.trend.previous.len(), 1);
    let open = figure(&overview, "open_failures");
    assert_eq!((open.previous, open.change), (None, None), "it is about now");
}

#[test]
fn the_family_of_a_pattern_is_counted_again_once_something_is_recorded() {
    let desk = Desk::new(&[failed_run(1, "t", &["alpha"])]);
    let id = desk.ask(|board| board.patterns(&PatternQuery::default(), None, 1).expect("reads").patterns[0].id.clone());
    let tasks = || {
        let detail = desk.ask(|board| board.pattern(&id).expect("is there"));
        serde_json::to_value(detail).expect("is JSON")["family_tasks"].as_u64()
    };
    assert_eq!([tasks(), tasks()], [Some(1), Some(1)]);
    desk.record(&[failed_run(2, "u", &["alpha"])]);
    assert_eq!(tasks(), Some(2));
}
