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
    Acknowledgement, Atom, AtomList, Attempt, AttemptMeans, AttemptOutcome, AttemptTrees, DECLARED, Delivery,
    DeliveryArm, DiagnosticRecord, ENDED_BY_SIGNAL, EVENT_VERSION, EntryChange, EntryNote, EntryOrigin, EntrySource,
    EntryUse, Event, EventAuthor, EventBody, Failure, FileChange, FileChangeKind, FixNote, Flake, FlakeProof,
    KnowledgeEntry, LessonChange, LessonChangeKind, LessonDecision, MemoryChange, MemoryNote, MemoryType,
    NAMES_NO_PROBLEM, NEAR_DUPLICATE, NoLessonReason, PatternMerge, PatternSplit, Promotion, PromotionStep, Purge,
    Recipe, RecipeKind, RecordedCommand, Review, ReviewState, Run, Scope, Snapshot, SnapshotBase, StrategyChange,
    StrategyMatchKind, StrategyNote, TaskNote, TaskOutcome, TaskStep, UnseenAtoms, WeakenedCheckRecord, derived_id,
};
pub(crate) use event::{EventLine, parse_event_line as parse_event};
pub(crate) use exchange::{ImportLineError, ImportTrust, ImportedSegments};
pub(crate) use index::Index;
pub(crate) use masked::mask_event;
pub(crate) use query::history::{HistoryRows, NamedPatternRow, TaskChangeRow, TaskFailureRow, TaskItemRow, TaskRow};
pub(crate) use query::knowledge::{EntryChangeRow, EntryFilter, EntryRow, EntryUseRow, HELPED, KnowledgeLogRow};
pub(crate) use query::memory::MemoryRow;
pub(crate) use query::recovery::{RemedyAttemptRow, RemedyRow};
pub(crate) use query::strategy::{StrategyRow, StrategyTryRow};
pub(crate) use query::{
    AdviceRow, DeliveryOutcomeRow, DeliveryRow, EntryPatternsRow, FailureRow, FixFilter, FixNoteRow, FixRateRow,
    FixRow, FlakeFilter, FlakeRow, GroupMemberRow, LessonRow, OccurrenceRow, OpenFailingRun, PatternBriefRow,
    PatternMergeRow, PatternReviewRow, PatternRow, PeriodRow, PromotionChangeRow, PromotionRow, ProvenRemedyRow,
    RecipeRow, RunFilter, RunRow, ShownDeliveryRow, SolvedFixRow, StoreCounts, TaskDetails, TreeUse, WorkTreePeriod,
};
pub(crate) use segment::{SegmentFolder, free_name};
pub(crate) use taught::{SharedLessonContent, SharedLessonRow, SharedLessonSource};
pub(crate) use writer::{Store, lock_store, own_writer};

/// JSON as a column holds it. These types can't fail to serialise.
fn to_json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
