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
    Acknowledgement, Atom, AtomList, Attempt, AttemptOutcome, AttemptTrees, SnapshotBase, EventAuthor, DECLARED, Delivery, DeliveryArm,
    DiagnosticRecord, ENDED_BY_SIGNAL, EVENT_VERSION, EntryChange, EntryNote, EntryOrigin, EntrySource, EntryUse,
    Event, EventBody, Failure, FileChange, FileChangeKind, FixNote, Flake, KnowledgeEntry, LessonChange,
    LessonChangeKind, LessonDecision, StrategyMatchKind, AttemptMeans, MemoryChange, MemoryNote, MemoryType, PatternMerge, NAMES_NO_PROBLEM,
    NEAR_DUPLICATE, NoLessonReason, Promotion, PromotionStep, FlakeProof, Purge, Recipe, RecipeKind, RecordedCommand, Review,
    ReviewState, Run, Scope, Snapshot, PatternSplit, StrategyChange, StrategyNote, TaskNote, TaskOutcome, TaskStep, UnseenAtoms,
    WeakenedCheckRecord, derived_id,
};
pub(crate) use event::{EventLine, parse_event_line as parse_event};
pub(crate) use exchange::{ImportLineError, ImportTrust, ImportedSegments};
pub(crate) use index::Index;
pub(crate) use masked::mask_event;
pub(crate) use query::history::{HistoryRows, NamedPatternRow, TaskChangeRow, TaskFailureRow, TaskItemRow, TaskRow};
pub(crate) use query::knowledge::{EntryChangeRow, EntryFilter, EntryRow, EntryUseRow, HELPED, KnowledgeLogRow};
pub(crate) use query::memory::MemoryRow;
pub(crate) use query::recovery::{RemedyRow, RemedyAttemptRow};
pub(crate) use query::strategy::{StrategyRow, StrategyTryRow};
pub(crate) use query::{
    EntryPatternsRow, AdviceRow, PatternBriefRow, StoreCounts, DeliveryRow, FailureRow, FixFilter, FixRow, FlakeFilter, FlakeRow, WorkTreePeriod,
    TaskDetails, RunRow, LessonRow, GroupMemberRow, PatternMergeRow, OccurrenceRow, OpenFailingRun, DeliveryOutcomeRow, PatternRow, PeriodRow,
    PromotionChangeRow, PromotionRow, FixRateRow, RecipeRow, PatternReviewRow, RunFilter, FixNoteRow, SolvedFixRow, ShownDeliveryRow, TreeUse,
    ProvenRemedyRow,
};
pub(crate) use segment::{SegmentFolder, free_name};
pub(crate) use taught::{SharedLessonSource, SharedLessonContent, SharedLessonRow};
pub(crate) use writer::{Store, lock_store, own_writer};

/// JSON as a column holds it. These types can't fail to serialise.
fn to_json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
