//! Events: the truth. One JSON line each; what the index holds is computed from them and nothing else.

mod advice;
mod by;
mod fix;
mod gate;
mod gate_review;
mod knowledge;
mod learn;
mod lesson;
mod library;
mod memory;
mod pattern;
mod phase;
mod promotion;
mod receipt;
mod run;
#[cfg(test)]
pub(crate) mod sample;
mod scope;
mod signed_receipt;
mod snapshot;
mod strategy;
mod task;
mod word;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::base::clock::Timestamp;
use crate::base::ids::RunId;

pub(crate) use advice::{Acknowledgement, Delivery, DeliveryArm};
pub(crate) use by::EventAuthor;
pub(crate) use fix::{
    Atom, AtomList, Attempt, AttemptMeans, AttemptOutcome, AttemptTrees, FixNote, FixState, Flake, FlakeProof, Recipe,
    RecipeKind, RecordedCommand, Technique, UnseenAtoms, WeakenedCheckRecord,
};
pub(crate) use gate::{
    GateFinding, GateIssue, GateIssueKind, GateItem, GateItemStatus, GateMemory, GateMemoryAnswer, GateMemoryFindings,
    GateMemoryQuestion, GateNote, GateOutcome, GatePolicyFile, GateResolution, GateStart, GateStep, GateVerdict,
    GateWaiver,
};
pub(crate) use gate_review::{GateDiversity, GateModels, GateReview, GateReviewIssue, GateReviewLink, ReviewSeverity};
pub(crate) use knowledge::{
    EntryChange, EntryChangeKind, EntryNote, EntryOrigin, EntrySource, EntryTypeName, EntryUse, KnowledgeEntry,
};
pub(crate) use learn::{
    CaptureRecord, CrystallisedPage, EvidenceLabel, HarvestNovelty, HarvestRecord, HarvestRuns, HarvestTrees,
    HarvestTrigger, IsolationLevel, JobState, JudgementRecord, LearnNote, LearnStep, ManualReason, MinimalChange,
    MissingScenario, NoPageRule, RunnerLease, ScenarioCommand, ScenarioRecord, ScenarioService, ScenarioSource,
    SignedScenario, SkippedHarvest, SkippedHarvestRule, TrialFailureCause, TrialOutcome, TrialPurpose, TrialRecord,
};
pub(crate) use lesson::{LessonChange, LessonChangeKind};
pub(crate) use library::{LibraryFolderName, LibraryNote, LibraryStep, WrittenPage};
pub(crate) use memory::{MemoryChange, MemoryNote, MemoryType};
pub(crate) use pattern::{NEAR_DUPLICATE, PatternMerge, PatternSplit, Review, ReviewState};
pub(crate) use phase::{PhaseNote, PhaseStep, WorkPhase};
pub(crate) use promotion::{Promotion, PromotionChangeKind, PromotionState, PromotionStep};
pub(crate) use receipt::Receipt;
pub(crate) use run::{
    DiagnosticRecord, ENDED_BY_SIGNAL, Failure, LessonDecision, NAMES_NO_PROBLEM, NoLessonReason, Run,
};
pub(crate) use scope::Scope;
pub(crate) use signed_receipt::SignedReceipt;
pub(crate) use snapshot::{FileChange, FileChangeKind, Snapshot, SnapshotBase};
pub(crate) use strategy::{ErrorMatch, StrategyChange, StrategyMatchKind, StrategyNote};
pub(crate) use task::{TaskNote, TaskOutcome, TaskStep};
pub(crate) use word::ClosedSet;

/// Version of the event format that this binary writes, and the highest one that it reads.
///
/// Raised when the meaning of a kind changes, or a field gets another name. A new kind needs no new version: an unknown kind counts as newer too.
pub(crate) const EVENT_VERSION: u32 = 2;

/// One line of a segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Event {
    /// [`EVENT_VERSION`] of the writer.
    pub v: u32,
    /// Unique everywhere: importing is insert-or-ignore by it. A run's event has the run's id.
    pub id: Uuid,
    /// When it was recorded. Nothing depends on it growing from line to line.
    pub at: Timestamp,
    /// Who wrote it; the first part of the segment's name.
    pub writer: String,
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
}

/// What happened; `kind` in the line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum EventBody {
    /// A run, passed or failed.
    Run(Box<Run>),
    /// Something was done to a lesson after it had been written.
    Lesson(LessonChange),
    /// A run of a check that had an open failure.
    Attempt(Box<Attempt>),
    /// Two results from one tree.
    Flake(Box<Flake>),
    /// What a user says about a fix.
    FixNote(FixNote),
    /// Two patterns are one.
    Merge(PatternMerge),
    /// A pattern is split from its group.
    Split(PatternSplit),
    /// A person's review of a pattern.
    Review(Review),
    /// Runs whose text was removed. They stay removed, also when another writer's segment still has them.
    Purge(Purge),
    /// The work tree at a run.
    Snapshot(Box<Snapshot>),
    /// A statement about a task.
    Task(TaskNote),
    /// Advice that was due.
    Delivery(Box<Delivery>),
    /// A user has seen a warning.
    Ack(Acknowledgement),
    /// Something said of an entry of the knowledge base.
    Knowledge(EntryNote),
    /// A statement about a strategy.
    Strategy(StrategyNote),
    /// Something said of what an agent remembers.
    Memory(MemoryNote),
    /// Something said of a promotion.
    Promotion(Box<Promotion>),
    /// A step of the quality gate.
    Gate(Box<GateNote>),
    /// A check passed on exactly this tree.
    Receipt(Box<Receipt>),
    /// A statement about the phase of a task.
    Phase(PhaseNote),
    /// A receipt with a signature.
    SignedReceipt(Box<SignedReceipt>),
    /// A step of a job of the learning pipeline.
    Learn(Box<LearnNote>),
    /// A step of a page of the pattern library.
    Library(Box<LibraryNote>),
}

/// The kinds this binary knows; a line with another one was written by a newer binary.
pub(crate) const KINDS: [&str; 23] = [
    "run",
    "lesson",
    "purge",
    "attempt",
    "flake",
    "fix_note",
    "snapshot",
    "merge",
    "split",
    "review",
    "task",
    "delivery",
    "ack",
    "knowledge",
    "strategy",
    "memory",
    "promotion",
    "gate",
    "receipt",
    "phase",
    "signed_receipt",
    "learn",
    "library",
];

/// Runs whose text was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Purge {
    /// Their ids.
    pub runs: Vec<RunId>,
}

impl Event {
    /// A new event with a fresh id.
    pub(crate) fn new(at: Timestamp, writer: &str, body: EventBody) -> Self {
        Event { v: EVENT_VERSION, id: Uuid::now_v7(), at, writer: writer.to_owned(), body }
    }

    /// The event of a run: its id is the run's, so that recording a run twice is one event.
    pub(crate) fn from_run(id: RunId, at: Timestamp, writer: &str, run: Run) -> Self {
        Event { v: EVENT_VERSION, id: id.0, at, writer: writer.to_owned(), body: EventBody::Run(Box::new(run)) }
    }

    /// An event that follows from others: its id is made of `kind` and `parts` alone, so that a recorder that was
    /// killed and does its work again writes nothing twice. A UUIDv8 (RFC 9562, section 5.8) of BLAKE3.
    pub(crate) fn with_derived_id(kind: &str, parts: &[&str], at: Timestamp, writer: &str, body: EventBody) -> Self {
        Event { v: EVENT_VERSION, id: derived_id(kind, parts), at, writer: writer.to_owned(), body }
    }

    /// The event of a run's work tree.
    pub(crate) fn from_snapshot(at: Timestamp, writer: &str, snapshot: Snapshot) -> Self {
        Event::with_derived_id(
            "snapshot",
            &[&snapshot.run.to_string()],
            at,
            writer,
            EventBody::Snapshot(Box::new(snapshot)),
        )
    }

    /// The id of the event of a run's work tree.
    pub(crate) fn snapshot_id(run: RunId) -> Uuid {
        derived_id("snapshot", &[&run.to_string()])
    }

    /// The line, with its newline.
    pub(crate) fn to_line(&self) -> Vec<u8> {
        // Serialising these types can't fail: no map has keys that aren't strings.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// The id of [`Event::with_derived_id`].
pub(crate) fn derived_id(kind: &str, parts: &[&str]) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    for part in [kind].iter().chain(parts) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

impl EventBody {
    /// When what it tells of ended, as far as it says so itself.
    pub(crate) fn ended_at(&self) -> Option<Timestamp> {
        match self {
            EventBody::Run(run) => Some(run.ended_at),
            EventBody::Attempt(attempt) => Some(attempt.ended_at),
            _ => None,
        }
    }

    /// The name in the line.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            EventBody::Run(_) => KINDS[0],
            EventBody::Lesson(_) => KINDS[1],
            EventBody::Purge(_) => KINDS[2],
            EventBody::Attempt(_) => KINDS[3],
            EventBody::Flake(_) => KINDS[4],
            EventBody::FixNote(_) => KINDS[5],
            EventBody::Snapshot(_) => KINDS[6],
            EventBody::Merge(_) => KINDS[7],
            EventBody::Split(_) => KINDS[8],
            EventBody::Review(_) => KINDS[9],
            EventBody::Task(_) => KINDS[10],
            EventBody::Delivery(_) => KINDS[11],
            EventBody::Ack(_) => KINDS[12],
            EventBody::Knowledge(_) => KINDS[13],
            EventBody::Strategy(_) => KINDS[14],
            EventBody::Memory(_) => KINDS[15],
            EventBody::Promotion(_) => KINDS[16],
            EventBody::Gate(_) => KINDS[17],
            EventBody::Receipt(_) => KINDS[18],
            EventBody::Phase(_) => KINDS[19],
            EventBody::SignedReceipt(_) => KINDS[20],
            EventBody::Learn(_) => KINDS[21],
            EventBody::Library(_) => KINDS[22],
        }
    }

    /// Its author, if it is a statement.
    pub(crate) fn author_mut(&mut self) -> Option<&mut EventAuthor> {
        match self {
            EventBody::Task(note) => Some(&mut note.by),
            EventBody::Delivery(delivery) => Some(&mut delivery.by),
            EventBody::Ack(ack) => Some(&mut ack.by),
            EventBody::Knowledge(note) => Some(&mut note.by),
            EventBody::Strategy(note) => Some(&mut note.by),
            EventBody::Memory(note) => Some(&mut note.by),
            EventBody::Promotion(said) => Some(&mut said.by),
            EventBody::Gate(note) => Some(&mut note.by),
            EventBody::Phase(note) => Some(&mut note.by),
            EventBody::Learn(note) => Some(&mut note.by),
            EventBody::Library(note) => Some(&mut note.by),
            _ => None,
        }
    }

    /// The runs whose text is in it: it goes with any of them when that is purged.
    pub(crate) fn quoted_runs(&self) -> Vec<RunId> {
        match self {
            EventBody::Attempt(attempt) => {
                let between = attempt.commands.iter().map(|command| command.run);
                [attempt.run, attempt.opened_by, attempt.before].into_iter().chain(between).collect()
            }
            EventBody::Flake(flake) => flake.runs.to_vec(),
            EventBody::Snapshot(snapshot) => match snapshot.base {
                Some(SnapshotBase::Pass { run, .. }) => vec![snapshot.run, run],
                _ => vec![snapshot.run],
            },
            EventBody::Delivery(delivery) => delivery.runs.clone(),
            EventBody::Receipt(receipt) => vec![receipt.run],
            EventBody::SignedReceipt(signed) => vec![signed.run],
            EventBody::Learn(note) => note.step.quoted_runs(),
            EventBody::Library(note) => note.step.quoted_runs(),
            EventBody::Run(_)
            | EventBody::Lesson(_)
            | EventBody::FixNote(_)
            | EventBody::Merge(_)
            | EventBody::Split(_)
            | EventBody::Review(_)
            | EventBody::Task(_)
            | EventBody::Ack(_)
            | EventBody::Knowledge(_)
            | EventBody::Strategy(_)
            | EventBody::Memory(_)
            | EventBody::Promotion(_)
            | EventBody::Gate(_)
            | EventBody::Phase(_)
            | EventBody::Purge(_) => Vec::new(),
        }
    }
}

/// A line read back.
#[derive(Debug)]
pub(crate) enum EventLine {
    /// An event that this binary understands.
    Event(Box<Event>),
    /// Written by a newer binary.
    Newer {
        /// Its version.
        v: u32,
        kind: String,
    },
    /// Not an event.
    Bad,
}

/// Parses one line, without its newline.
pub(crate) fn parse_event_line(line: &[u8]) -> EventLine {
    #[derive(Deserialize)]
    struct EventKind {
        v: u32,
        kind: String,
    }
    #[derive(Deserialize)]
    struct EventHead {
        v: u32,
        kind: String,
        id: Option<Uuid>,
        at: Option<Timestamp>,
        writer: Option<String>,
    }
    let head = match serde_json::from_slice::<EventHead>(line) {
        Ok(head) => head,
        // A newer binary's id may be something else.
        Err(_) => match serde_json::from_slice::<EventKind>(line) {
            Ok(EventKind { v, kind }) => EventHead { v, kind, id: None, at: None, writer: None },
            Err(_) => return EventLine::Bad,
        },
    };
    if head.v > EVENT_VERSION || !KINDS.contains(&head.kind.as_str()) {
        return EventLine::Newer { v: head.v, kind: head.kind };
    }
    let (Some(id), Some(at), Some(writer)) = (head.id, head.at, head.writer) else { return EventLine::Bad };
    match parse_body(&head.kind, line) {
        Ok(body) => EventLine::Event(Box::new(Event { v: head.v, id, at, writer, body })),
        Err(_) => EventLine::Bad,
    }
}

/// What [`EventBody`] itself would read, without what serde collects first to find the kind: half of a rebuild's time.
fn parse_body(kind: &str, line: &[u8]) -> serde_json::Result<EventBody> {
    Ok(match kind {
        "run" => EventBody::Run(serde_json::from_slice(line)?),
        "attempt" => EventBody::Attempt(serde_json::from_slice(line)?),
        "snapshot" => EventBody::Snapshot(serde_json::from_slice(line)?),
        _ => serde_json::from_slice::<Event>(line)?.body,
    })
}

/// The runs that a line purges; none where it says something else. Only a line that looks like one is parsed.
pub(crate) fn purged_runs_in_line(line: &[u8]) -> Vec<RunId> {
    if memchr::memmem::find(line, b"\"purge\"").is_none() {
        return Vec::new();
    }
    match parse_event_line(line) {
        EventLine::Event(event) => match event.body {
            EventBody::Purge(purge) => purge.runs,
            _ => Vec::new(),
        },
        EventLine::Newer { .. } | EventLine::Bad => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_read_back_is_the_event() {
        let events = [
            sample::failed_run(1, "main", &["a", "b"]),
            sample::passed_run(2, "main"),
            Event::new(
                Timestamp(7),
                "w",
                EventBody::Lesson(LessonChange {
                    lesson: "l-x".into(),
                    change: LessonChangeKind::Forgotten { patterns: vec!["k".into()] },
                    by: None,
                }),
            ),
            sample::attempt(1, 2, AttemptOutcome::Partial),
            sample::flake(1, 2),
            sample::merge(1, "a", "b", None),
            sample::merge(1, "a", "b", Some(900)),
            sample::split(1, "a"),
            sample::review(1, "a", ReviewState::Muted),
            sample::snapshot(3, Some("00")),
            sample::snapshot(4, None),
            sample::task_started(1, "main", "Fix the login"),
            sample::task_done(2, "main"),
            sample::delivery(1, "main", "a"),
            sample::ack(1),
            sample::entry(1, "Run the migration first"),
            sample::entry_change(2, 1, 3),
            sample::entry_change(3, 1, 3),
            sample::entry_change(4, 1, 3),
            sample::entry_change(5, 1, 3),
            sample::entry_change(6, 1, 3),
            sample::said_strategy(1, "alpha", "install it"),
            sample::strategy_report(2, "alpha", "install it", AttemptOutcome::Failure),
            sample::memory(1),
            sample::memory_change(2, 1),
            sample::memory_change(3, 1),
            sample::memory_change(4, 1),
            sample::gate_step(1),
            sample::gate_step(2),
            sample::receipt(2),
            sample::phase(1),
            sample::phase(2),
            sample::phase(3),
            sample::learn_step(1),
            sample::learn_step(2),
            sample::learn_step(3),
            sample::library_step(1),
            sample::library_step(2),
            Event::new(Timestamp(7), "w", EventBody::Purge(Purge { runs: vec![RunId::fresh()] })),
        ];
        for event in events {
            let line = event.to_line();
            match parse_event_line(line.strip_suffix(b"\n").expect("ends in a newline")) {
                EventLine::Event(read) => assert_eq!(*read, event),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn a_run_of_an_older_binary_is_read() {
        let mut event = sample::passed_run(1, "main");
        let EventBody::Run(run) = &mut event.body else { panic!("a run") };
        assert!(run.environment.is_some() && run.program.is_some());
        (run.environment, run.program) = (None, None);
        let line = event.to_line();
        assert!(!line.windows(11).any(|word| word == b"environment"), "what isn't known takes no room");
        assert!(matches!(parse_event_line(&line), EventLine::Event(read) if *read == event));
    }

    #[test]
    fn names_of_an_earlier_version_are_read() {
        let mut attempt = sample::attempt(1, 2, AttemptOutcome::Success);
        let EventBody::Attempt(of) = &mut attempt.body else { panic!("an attempt") };
        of.changed_dependencies = vec!["node_modules".into()];
        let mut failed = sample::failed_run(1, "main", &["a"]);
        let EventBody::Run(run) = &mut failed.body else { panic!("a run") };
        run.failure.as_mut().expect("failed").category_description = Some("a hole".into());
        for (event, name, before) in
            [(attempt, "changed_dependencies", "surroundings"), (failed, "category_description", "category_means")]
        {
            let line = String::from_utf8(event.to_line()).expect("JSON");
            let older = line.replace(name, before);
            assert_ne!(older, line);
            assert!(matches!(parse_event_line(older.as_bytes()), EventLine::Event(read) if *read == event), "{older}");
        }
    }

    #[test]
    fn a_derived_event_has_one_id() {
        assert_eq!(sample::flake(1, 2).id, sample::flake(1, 2).id);
        assert_ne!(sample::flake(1, 2).id, sample::flake(1, 3).id);
        assert_ne!(derived_id("a", &["bc"]), derived_id("ab", &["c"]));
        assert_eq!(derived_id("a", &[]).get_version_num(), 8);
    }

    #[test]
    fn newer_versions_and_unknown_kinds_are_told_from_rubbish() {
        assert!(matches!(parse_event_line(br#"{"v":3,"kind":"run","x":1}"#), EventLine::Newer { v: 3, .. }));
        assert!(matches!(parse_event_line(br#"{"v":1,"kind":"warning"}"#), EventLine::Newer { .. }));
        assert!(matches!(parse_event_line(br#"{"v":3,"kind":"run","id":7,"at":[]}"#), EventLine::Newer { v: 3, .. }));
        assert!(matches!(parse_event_line(br#"{"v":1,"kind":"run"}"#), EventLine::Bad));
        assert!(matches!(parse_event_line(br#"{"v":1,"kind":"run","id":7}"#), EventLine::Bad));
        assert!(matches!(parse_event_line(br#"{"v":1,"ki"#), EventLine::Bad));
    }
}
