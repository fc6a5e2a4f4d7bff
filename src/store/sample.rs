//! Events for tests.

use uuid::Uuid;

use crate::base::clock::Timestamp;
use crate::base::ids::{self, RunId};
use crate::base::lossless::Lossless;
use crate::diagnose::Severity;
use crate::run::Ended;
use crate::store::event::{Event, Failure, Item, LessonDecision, Run};
use crate::whitelist::CheckKind;

/// A run id that sorts by `n`.
pub fn run_id(n: u64) -> RunId {
    RunId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 | u128::from(n) << 80 | u128::from(n)))
}

/// A passed run, `n` seconds after the epoch.
pub fn passed_run(n: u64, task: &str) -> Event {
    let at = Timestamp(i64::try_from(n).expect("small") * 1_000_000);
    let run = Run {
        argv: vec![Lossless::from("npm"), Lossless::from("test")],
        root: Lossless::from("/repo"),
        dir: Lossless::from(""),
        key: "00ff".into(),
        tool: Some("npm-test".into()),
        check: Some(CheckKind::Test),
        started_at: at,
        ended_at: at,
        duration_us: 1000,
        ended: Ended::Exit(0),
        task: task.into(),
        session: Some("tty-1".into()),
        agent: Some("human".into()),
        branch: Some("main".into()),
        commit: None,
        kept_bytes: 10,
        cut_bytes: 0,
        shared: false,
        failure: None,
    };
    Event::of_run(run_id(n), at, "w-test", run)
}

/// A failed run with one item per pattern name.
pub fn failed_run(n: u64, task: &str, patterns: &[&str]) -> Event {
    let mut event = passed_run(n, task);
    let id = run_id(n);
    if let super::Body::Run(run) = &mut event.body {
        run.ended = Ended::Exit(1);
        run.failure = Some(Failure {
            id: ids::short(ids::Kind::Failure, id.0.as_bytes()),
            category: "test_failure".into(),
            files: vec!["src/a.js".into(), format!("src/{n}.js")],
            items: patterns.iter().map(|name| item(name)).collect(),
            items_cut: 0,
            shortfalls: Vec::new(),
            lines: patterns.iter().map(|name| format!("{name} failed")).collect(),
            lines_cut: 0,
            redactions: 0,
            lesson: LessonDecision::Known,
        });
    }
    event
}

fn item(name: &str) -> Item {
    Item {
        tool: "jest".into(),
        code: Some("E1".into()),
        severity: Severity::Error,
        file: Some("src/a.js".into()),
        line: Some(3),
        col: None,
        test: None,
        message: format!("{name} failed"),
        count: 1,
        exact: format!("exact-{name}"),
        pattern: format!("pattern-{name}"),
        family: "family".into(),
        masked: format!("{name} failed"),
        masked_family: "<*> failed".into(),
    }
}
