//! Events for tests.

use uuid::Uuid;

use crate::base::clock::Timestamp;
use crate::base::ids::{self, RunId};
use crate::base::lossless::Lossless;
use crate::capture::{CheckedState, InputHasher};
use crate::diagnose::{self, Severity};
use crate::event::{
    Acknowledgement, Atom, AtomList, Attempt, AttemptMeans, AttemptOutcome, AttemptTrees, Delivery, DeliveryArm,
    DiagnosticRecord, Event, EventAuthor, EventBody, Failure, FileChange, FileChangeKind, Flake, FlakeProof, GateNote,
    GateOutcome, GateStart, GateStep, LessonDecision, NEAR_DUPLICATE, PatternMerge, PatternSplit, PhaseNote, PhaseStep,
    Promotion, PromotionStep, Receipt, Recipe, RecipeKind, Review, ReviewState, Run, Scope, SignedReceipt, Snapshot,
    SnapshotBase, TaskNote, TaskOutcome, TaskStep, WeakenedCheckRecord, WorkPhase,
};
use crate::fingerprint;
use crate::run::CommandEnd;
use crate::whitelist::CheckKind;

mod learnt;
mod said;

pub(crate) use learnt::{learn_step, library_step};
pub(crate) use said::{
    declared_strategy, entry, entry_change, entry_delivery, gotcha, memory, memory_change, said_strategy,
    strategy_report,
};

/// A folder for a test that is not about durability: in memory where the machine has such a place, because a thousand
/// syncs of a disk take a minute and show nothing.
pub(crate) fn folder() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// A run id that sorts by `n`.
pub(crate) fn run_id(n: u64) -> RunId {
    RunId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 | u128::from(n) << 80 | u128::from(n)))
}

/// The receipt of [`passed_run`] `n`.
pub(crate) fn receipt(n: u64) -> Event {
    let EventBody::Run(run) = passed_run(n, "main").body else { panic!("a run") };
    let mut inputs = InputHasher::default();
    inputs.add("NODE_ENV", b"test");
    let inputs = inputs.finish();
    let state = CheckedState {
        tree: "0".repeat(40),
        submodules: [("lib".to_owned(), "1".repeat(40))].into(),
        command: format!("{n:032}"),
        approved_command: None,
        environment: inputs.clone(),
        programs: inputs.clone(),
        dependencies: inputs,
        toolchain: None,
    };
    let body = EventBody::Receipt(Box::new(Receipt::from_run(run_id(n), &run, state)));
    Event::with_derived_id("receipt", &[&run_id(n).to_string()], run.ended_at, "w", body)
}

/// A passed run, `n` seconds after the epoch.
pub(crate) fn passed_run(n: u64, task: &str) -> Event {
    let at = Timestamp(i64::try_from(n).expect("small") * 1_000_000);
    let run = Run {
        argv: vec![Lossless::from("npm"), Lossless::from("test")],
        root: Lossless::from("/repo"),
        dir: Lossless::from(""),
        key: "00ff".into(),
        scope: Some(Scope { class: "npm-test".into(), subject: "npm-test".into(), ..Scope::default() }),
        tool: Some("npm-test".into()),
        check: Some(CheckKind::Test),
        started_at: at,
        ended_at: at,
        duration_us: 1000,
        ended: CommandEnd::Exit(0),
        task: task.into(),
        phase: n.is_multiple_of(7).then_some(WorkPhase::Green),
        session: Some("tty-1".into()),
        agent: Some("human".into()),
        model: n.is_multiple_of(2).then(|| "claude-opus-4-1".to_owned()),
        branch: Some("main".into()),
        commit: None,
        kept_bytes: 10,
        cut_bytes: 0,
        shared: false,
        partly_seen: false,
        tests: None,
        stopped_early: false,
        // Of some it isn't known.
        environment: (!n.is_multiple_of(3)).then(|| format!("{:032x}", n % 2)),
        program: (!n.is_multiple_of(5)).then(|| format!("{:032x}", n % 2)),
        observed_via: None,
        call: None,
        failure: None,
    };
    Event::from_run(run_id(n), at, "w-test", run)
}

/// A failed run with one item per pattern name.
pub(crate) fn failed_run(n: u64, task: &str, patterns: &[&str]) -> Event {
    let mut event = passed_run(n, task);
    let id = run_id(n);
    if let EventBody::Run(run) = &mut event.body {
        run.ended = CommandEnd::Exit(1);
        run.failure = Some(Failure {
            category_description: None,
            id: ids::short(ids::IdKind::Failure, id.0.as_bytes()),
            category: "test_failure".into(),
            files: vec!["src/a.js".into(), format!("src/{n}.js")],
            items: patterns.iter().map(|name| recorded(&found(name))).collect(),
            items_cut: 0,
            shortfalls: Vec::new(),
            lines: patterns.iter().map(|name| format!("{name} failed")).collect(),
            lines_cut: 0,
            lines_unread: 0,
            files_cut: 0,
            redactions: 0,
            lesson: LessonDecision::Known,
        });
    }
    event
}

/// A failed run of another category.
pub(crate) fn of_category(mut event: Event, category: &str) -> Event {
    if let EventBody::Run(run) = &mut event.body {
        run.failure.iter_mut().for_each(|failure| failure.category = category.to_owned());
    }
    event
}

/// A failed run that was cancelled: its result does not depend on the code.
pub(crate) fn cancelled(mut event: Event) -> Event {
    if let EventBody::Run(run) = &mut event.body {
        run.failure.iter_mut().for_each(|failure| failure.lesson = LessonDecision::Cancelled);
    }
    event
}

/// A run of an agent.
pub(crate) fn with_agent(mut event: Event, agent: &str) -> Event {
    if let EventBody::Run(run) = &mut event.body {
        run.agent = Some(agent.to_owned());
    }
    event
}

/// A run or an attempt of this many days later.
pub(crate) fn days_later(mut event: Event, days: i64) -> Event {
    let later = |at: &mut Timestamp| at.0 += days * 86_400_000_000;
    match &mut event.body {
        EventBody::Run(run) => [&mut run.started_at, &mut run.ended_at].into_iter().for_each(later),
        EventBody::Attempt(attempt) => later(&mut attempt.ended_at),
        _ => {}
    }
    event
}

/// A place where a check was weakened for certain.
pub(crate) fn weakened_mark() -> WeakenedCheckRecord {
    WeakenedCheckRecord {
        rule: "skipped-test".into(),
        path: "src/a.js".into(),
        line: Some(3),
        deleted: false,
        text: "test.skip()".into(),
        message: "a test is skipped".into(),
        certain: true,
    }
}

/// The work tree at run `n`, compared with a commit.
pub(crate) fn snapshot(n: u64, tree: Option<&str>) -> Event {
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
        late: false,
        skipped: tree.is_none().then(|| "it took too long".to_owned()),
        left_out: 2,
        base: Some(SnapshotBase::Head { tree: "0".repeat(40) }),
        files: vec![file],
        files_cut: 3,
        diff: "+hunter2\n".into(),
        diff_cut: 0,
        unavailable: None,
    };
    Event::from_snapshot(Timestamp(i64::try_from(n).expect("small") * 1_000_000), "w-test", snapshot)
}

/// As [`failed_run`], but with the keys of an algorithm that is older, and distinguished fewer messages: those of
/// names that begin with the same letter had one key.
pub(crate) fn old_failed_run(n: u64, task: &str, patterns: &[&str]) -> Event {
    let mut event = failed_run(n, task, patterns);
    if let EventBody::Run(run) = &mut event.body {
        for item in run.failure.iter_mut().flat_map(|failure| &mut failure.items) {
            item.pattern = old_key(&item.message);
            item.family = "1:family".into();
            item.masked = "something failed".into();
        }
    }
    event
}

/// The key of [`old_failed_run`].
pub(crate) fn old_key(name: &str) -> String {
    format!("1:{}", &name[..1])
}

/// The pattern key of a name.
pub(crate) fn key(name: &str) -> String {
    recorded(&found(name)).pattern
}

/// The ids and the key by which an entry may name the pattern of a name: its own, that of an older algorithm, and its
/// family's key.
pub(crate) fn names(name: &str) -> [String; 3] {
    let id = |key: &str| ids::short(ids::IdKind::Pattern, key.as_bytes());
    [id(&key(name)), id(&old_key(name)), recorded(&found(name)).family]
}

/// What is found of one name.
pub(crate) fn found(name: &str) -> diagnose::Diagnostic {
    diagnose::Diagnostic {
        tool: "jest".into(),
        code: Some("E1".into()),
        severity: Severity::Error,
        file: Some("src/a.js".into()),
        line: Some(3),
        col: None,
        message: format!("{name} could not be parsed"),
        test: None,
        span: (0, 1),
    }
}

/// What was found as it is in an event.
pub(crate) fn recorded(found: &diagnose::Diagnostic) -> DiagnosticRecord {
    DiagnosticRecord::new(found, fingerprint::compute_fingerprint(found))
}

fn event(n: u64, base: u64, body: EventBody) -> Event {
    let at = Timestamp(i64::try_from(n).expect("small") * 1_000_000);
    Event { id: run_id(base + n).0, ..Event::new(at, "w-test", body) }
}

/// Two keys are one, said in second `n`; found by the recorder when there is a similarity.
pub(crate) fn merge(n: u64, from: &str, into: &str, similarity_permille: Option<u16>) -> Event {
    let by = similarity_permille.map(|_| NEAR_DUPLICATE.to_owned());
    let merge = PatternMerge { from: from.into(), into: into.into(), by, similarity_permille, why: None };
    event(n, if similarity_permille.is_some() { 4000 } else { 5000 }, EventBody::Merge(merge))
}

/// The split of a key in second `n`.
pub(crate) fn split(n: u64, pattern: &str) -> Event {
    event(n, 6000, EventBody::Split(PatternSplit { pattern: pattern.into(), by: Some("ann".into()), why: None }))
}

/// A user's review in second `n`.
pub(crate) fn review(n: u64, pattern: &str, state: ReviewState) -> Event {
    event(n, 7000, EventBody::Review(Review { pattern: pattern.into(), state, by: None, why: Some("so".into()) }))
}

/// An attempt at what failed in run `before`, by run `run`.
pub(crate) fn attempt(before: u64, run: u64, outcome: AttemptOutcome) -> Event {
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
        means: AttemptMeans::Edit,
        fixed: list(&["a", "b"]),
        introduced: list(&[]),
        persisted: list(&["c"]),
        not_reached: list(&[]),
        remaining: None,
        unseen: Vec::new(),
        trees: Some(AttemptTrees { before: "t1".into(), after: "t2".into(), exact: true }),
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
        changed_dependencies: Vec::new(),
        recipes: vec![Recipe { kind: RecipeKind::Files, key: "1:ab".into(), label: "src/a.js".into() }],
        also_changed: Vec::new(),
        undo: false,
        weakened: Vec::new(),
    };
    let parts = [&*run_id(run).to_string(), &*run_id(before).to_string(), outcome.as_str()];
    Event::with_derived_id("attempt", &parts, at, "w-test", EventBody::Attempt(Box::new(attempt)))
}

/// An attempt at patterns with these keys.
pub(crate) fn tried(before: u64, run: u64, outcome: AttemptOutcome, fixed: &[String], persisted: &[String]) -> Event {
    let mut event = attempt(before, run, outcome);
    let atoms = |keys: &[String]| AtomList {
        count: keys.len(),
        first: keys
            .iter()
            .map(|key| Atom {
                hash: format!("hash of {key}"),
                pattern: key.clone(),
                file: None,
                test: None,
                text: "so it is".into(),
            })
            .collect(),
    };
    if let EventBody::Attempt(attempt) = &mut event.body {
        attempt.fixed = atoms(fixed);
        attempt.persisted = atoms(persisted);
    }
    event
}

/// A flake of run `pass` and run `fail`.
pub(crate) fn flake(pass: u64, fail: u64) -> Event {
    let at = Timestamp(i64::try_from(fail).expect("small") * 1_000_000);
    let flake = Flake {
        key: "00ff".into(),
        patterns: vec!["pattern-a".into()],
        atoms: AtomList { count: 1, first: Vec::new() },
        runs: [run_id(pass), run_id(fail)],
        root: Lossless::from("/repo"),
        task: "one".into(),
        ended_at: at,
        proof: FlakeProof::Proven,
        why: "the same tree".into(),
    };
    let parts = [&*run_id(pass).to_string(), &*run_id(fail).to_string()];
    Event::with_derived_id("flake", &parts, at, "w-test", EventBody::Flake(Box::new(flake)))
}

fn by() -> EventAuthor {
    EventAuthor { agent: Some("codex".into()), session: Some("s".into()), ..EventAuthor::default() }
}

/// A task that begins in second `n`.
pub(crate) fn task_started(n: u64, name: &str, title: &str) -> Event {
    let (files, depends_on) = (vec!["src/a.js".into()], vec!["another".into()]);
    let step = TaskStep::Started { title: Some(title.into()), category: Some("bugfix".into()), files, depends_on };
    event(n, 8000, EventBody::Task(TaskNote { name: name.into(), step, by: by() }))
}

/// A task that is over in second `n`.
pub(crate) fn task_done(n: u64, name: &str) -> Event {
    let step = TaskStep::Done { outcome: Some(TaskOutcome::Completed), why: None };
    event(n, 9000, EventBody::Task(TaskNote { name: name.into(), step, by: EventAuthor::default() }))
}

/// A warning in second `n`.
pub(crate) fn delivery(n: u64, task: &str, pattern: &str) -> Event {
    let delivery = Delivery {
        warning: format!("w-{n}"),
        task: task.into(),
        session: "s".into(),
        pattern: Some(pattern.into()),
        entry: None,
        family: "f".into(),
        rank: 1,
        score_permille: 500,
        arm: if n.is_multiple_of(5) { DeliveryArm::Holdout } else { DeliveryArm::Shown },
        holdout_permille: 100,
        surface: "warn".into(),
        files: vec!["src/a.js".into()],
        command: None,
        text: n.is_multiple_of(2).then(|| format!("text of {n}")),
        runs: if n.is_multiple_of(2) { vec![run_id(n)] } else { Vec::new() },
        by: by(),
    };
    event(n, 10_000, EventBody::Delivery(Box::new(delivery)))
}

/// A user's rating of the warning of second `n`.
pub(crate) fn ack(n: u64) -> Event {
    event(
        n,
        11_000,
        EventBody::Ack(Acknowledgement { warning: format!("w-{n}"), useful: Some(n.is_multiple_of(2)), by: by() }),
    )
}

/// The beginning (an even `n`) or the end of an evaluation of the quality gate in second `n`.
pub(crate) fn gate_step(n: u64) -> Event {
    let step = if n.is_multiple_of(2) {
        let start =
            GateStart { tree: "aa".into(), base: "b".into(), change_kind: "fix".into(), ..GateStart::default() };
        GateStep::Started(Box::new(start))
    } else {
        GateStep::Verdict(Box::new(GateOutcome { tree: "aa".into(), ..GateOutcome::default() }))
    };
    let (evaluation, cycle) = ("g-1".to_owned(), "g-1".to_owned());
    let note = GateNote { work_tree: Lossless::from("/w"), evaluation, cycle, step, by: EventAuthor::default() };
    event(n, 13_000, EventBody::Gate(Box::new(note)))
}

/// A signed receipt of the check that passed in second `n`.
pub(crate) fn signed_receipt(n: u64) -> Event {
    let EventBody::Receipt(receipt) = receipt(n).body else { unreachable!("a receipt") };
    let signed = SignedReceipt {
        receipt: receipt.receipt,
        run: receipt.run,
        key: format!("{:064x}", n % 3),
        command: format!("{:064x}", n % 5),
        tree: receipt.state.tree,
        ended_at: receipt.ended_at,
        envelope: "{}".into(),
    };
    let id = signed.event_id();
    Event { id, ..event(n, 15_000, EventBody::SignedReceipt(Box::new(signed))) }
}

/// What is said of the phase of a task in second `n`.
pub(crate) fn phase(n: u64) -> Event {
    let step = match n % 3 {
        0 => PhaseStep::Ended,
        1 => PhaseStep::Began { phase: WorkPhase::Green },
        _ => PhaseStep::Reset { phase: WorkPhase::Green, reason: "the plan was wrong".into() },
    };
    let by = EventAuthor { person: Some("Ada".into()), ..by() };
    event(n, 14_000, EventBody::Phase(PhaseNote { work_tree: Lossless::from("/repo"), task: "main".into(), step, by }))
}

/// What is said of the promotion of a pattern in second `n`.
pub(crate) fn promotion(n: u64, pattern: &str) -> Event {
    let (reason, why, target) = (format!("because of {n}"), "it is weak".to_owned(), "AGENTS.md".to_owned());
    let step = match n % 5 {
        0 => PromotionStep::Proposed { strong: n.is_multiple_of(2), why },
        1 => PromotionStep::Approved { reason, target, before: None, after: "00".into() },
        2 => PromotionStep::Rejected { reason },
        3 => PromotionStep::RolledBack { reason, after: None },
        _ => PromotionStep::RetirementProposed { why },
    };
    let by = EventAuthor { person: Some("Ada".into()), ..by() };
    let said = Promotion { promotion: format!("r-{pattern}"), pattern: Some(pattern.into()), entry: None, step, by };
    event(n, 12_000, EventBody::Promotion(Box::new(said)))
}
