//! What happened, kept: event segments (the truth) and the index over them. The only module that knows SQL.
//!
//! [`Store`] writes and holds the recorder's lock; [`Index`] alone reads.

mod about;
mod apply;
pub(crate) mod backup;
mod build;
mod error;
mod event;
mod exchange;
pub(crate) mod folder;
mod index;
mod journal;
mod masked;
mod memory;
pub(crate) mod note;
mod query;
#[cfg(test)]
pub(crate) mod sample;
mod schema;
mod segment;
mod taught;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use error::{StoreError, io_at};
pub(crate) use event::{
    Ack, Atom, AtomList, Attempt, AttemptOutcome, AttemptTrees, Base, By, DECLARED, Delivery, DeliveryArm,
    DiagnosticRecord, ENDED_BY_SIGNAL, EVENT_VERSION, EntryChange, EntryNote, EntryOrigin, EntrySource, EntryUse,
    Event, EventBody, Failure, FileChange, FileChangeKind, FixNote, Flake, KnowledgeEntry, LessonChange,
    LessonChangeKind, LessonDecision, Matches, Means, MemoryChange, MemoryNote, MemorySort, Merge, NAMES_NO_PROBLEM,
    NEAR_DUPLICATE, NoLesson, Promotion, PromotionStep, Proof, Purge, Recipe, RecipeKind, RecordedCommand, Review,
    ReviewState, Run, Scope, Snapshot, Split, StrategyChange, StrategyNote, TaskNote, TaskOutcome, TaskStep, Unseen,
    WeakenedMark, derived_id,
};
pub(crate) use event::{EventLine, parse as parse_event};
pub(crate) use exchange::{ImportFault, ImportTrust, ImportedSegments};
pub(crate) use index::Index;
pub(crate) use masked::masked;
pub(crate) use query::history::{HistoryRows, NamedPatternRow, TaskChangeRow, TaskFailureRow, TaskItemRow, TaskRow};
pub(crate) use query::knowledge::{EntryChangeRow, EntryFilter, EntryRow, EntryUseRow, HELPED, LoggedRow};
pub(crate) use query::memory::MemoryRow;
pub(crate) use query::recovery::{RecoveryRow, ReportRow};
pub(crate) use query::strategy::{StrategyRow, TryRow};
pub(crate) use query::{
    AboutRow, AdviceRow, BriefRow, Counts, DeliveryRow, FailureRow, FixFilter, FixRow, FlakeFilter, FlakeRow, Gap,
    KnownTask, LastRun, LessonRow, MemberRow, MergeRow, OccurrenceRow, OpenRun, OutcomeRow, PatternRow, PeriodRow,
    PromotionChangeRow, PromotionRow, RateRow, RecipeRow, ReviewRow, RunFilter, SaidRow, SolvedRow, ToldRow, TreeUse,
    WorkedRow,
};
pub(crate) use segment::{Segments, free_name};
pub(crate) use taught::{TaughtFile, TaughtLesson, TaughtRow};
pub(crate) use writer::{Store, lock, own_writer};

/// JSON as a column holds it. These types can't fail to serialise.
fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
