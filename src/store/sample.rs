//! Events for tests.

use uuid::Uuid;

use crate::base::clock::Timestamp;
use crate::base::ids::{self, RunId};
use crate::base::lossless::Lossless;
use crate::diagnose::Severity;
use crate::run::Ended;
use crate::store::event::{
    Atom, AtomList, Attempt, Base, Body, Event, Failure, FileChange, FileChangeKind, Flake, Item, LessonDecision,
    Means, Outcome, Proof, Recipe, RecipeKind, Run, Snapshot, Trees,
};
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
        scope: None,
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
    if let Body::Run(run) = &mut event.body {
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

/// The work tree at run `n`, compared with a commit.
pub fn snapshot(n: u64, tree: Option<&str>) -> Event {
    let file = FileChange {
        path: Lossless::from(&format!("src/{n}.js")),
        kind: FileChangeKind::Modified,
        from: None,
        added: n,
        removed: 1,
        opaque: false,
    };
    let snapshot = Snapshot {
        run: run_id(n),
        tree: tree.map(str::to_owned),
        exact: tree.is_some(),
        skipped: tree.is_none().then(|| "it took too long".to_owned()),
        left_out: 2,
        base: Some(Base::Head { tree: "0".repeat(40) }),
        files: vec![file],
        files_cut: 3,
        diff: "+hunter2\n".into(),
        diff_cut: 0,
        unavailable: None,
    };
    Event::of_snapshot(Timestamp(i64::try_from(n).expect("small") * 1_000_000), "w-test", snapshot)
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

/// An attempt at what failed in run `before`, by run `run`.
pub fn attempt(before: u64, run: u64, outcome: Outcome) -> Event {
    let atom = |name: &str| Atom {
        hash: format!("hash-{name}"),
        pattern: format!("pattern-{name}"),
        file: Some("src/a.js".into()),
        test: None,
        text: format!("{name} failed"),
    };
    let list = |names: &[&str]| AtomList { count: names.len(), first: names.iter().map(|name| atom(name)).collect() };
    let at = Timestamp(i64::try_from(run).expect("small") * 1_000_000);
    let attempt = Attempt {
        key: "00ff".into(),
        run: run_id(run),
        opened_by: run_id(before),
        before: run_id(before),
        root: Lossless::from("/repo"),
        task: "one".into(),
        ended_at: at,
        duration_us: 5,
        outcome,
        means: Means::Edit,
        fixed: list(&["a", "b"]),
        introduced: list(&[]),
        persisted: list(&["c"]),
        not_reached: list(&[]),
        remaining: None,
        trees: Some(Trees { before: "t1".into(), after: "t2".into(), exact: true }),
        files: vec![FileChange {
            path: Lossless::from("src/a.js"),
            kind: FileChangeKind::Modified,
            from: None,
            added: 2,
            removed: 1,
            opaque: false,
        }],
        files_cut: 0,
        diff: "--- a\n+++ b\n".into(),
        diff_cut: 0,
        came_with_base: 0,
        commands: Vec::new(),
        commands_cut: 0,
        surroundings: Vec::new(),
        recipes: vec![Recipe { kind: RecipeKind::Files, key: "1:ab".into(), label: "src/a.js".into() }],
        weakened: Vec::new(),
    };
    let parts = [&*run_id(run).to_string(), &*run_id(before).to_string(), outcome.as_str()];
    Event::derived("attempt", &parts, at, "w-test", Body::Attempt(Box::new(attempt)))
}

/// A flake of run `pass` and run `fail`.
pub fn flake(pass: u64, fail: u64) -> Event {
    let at = Timestamp(i64::try_from(fail).expect("small") * 1_000_000);
    let flake = Flake {
        key: "00ff".into(),
        patterns: vec!["pattern-a".into()],
        atoms: AtomList { count: 1, first: Vec::new() },
        runs: [run_id(pass), run_id(fail)],
        root: Lossless::from("/repo"),
        task: "one".into(),
        ended_at: at,
        proof: Proof::Proven,
        why: "the same tree".into(),
    };
    let parts = [&*run_id(pass).to_string(), &*run_id(fail).to_string()];
    Event::derived("flake", &parts, at, "w-test", Body::Flake(Box::new(flake)))
}
