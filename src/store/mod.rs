//! The store: event segments (the truth) and the index over them. The only module that knows SQL.
//!
//! [`Store`] writes and holds the recorder's lock; [`Index`] alone reads.

mod about;
mod apply;
pub(crate) mod backup;
mod build;
mod error;
mod exchange;
pub(crate) mod folder;
mod index;
mod index_file;
mod journal;
mod masked;
mod memory;
pub(crate) mod note;
mod query;
mod reader_pool;
mod schema;
mod segment;
mod shared_lesson;
mod stamp;
#[cfg(test)]
mod tests;
mod word;
mod writer;

pub(crate) use error::{StoreError, io_at};
pub(crate) use exchange::{ImportLineError, ImportTrust, ImportedSegments};
pub(crate) use index::Index;
pub(crate) use masked::mask_event;
pub(crate) use query::board::audit::DecisionRow;
pub(crate) use query::board::effect::{MissedOpportunityRow, OutcomeCountRow, ShownTextRow};
pub(crate) use query::board::failures::{FailureFilter, FailureScope};
pub(crate) use query::board::files::TaskFileRow;
pub(crate) use query::board::first_runs::{FirstRunFilter, FirstRunRow};
pub(crate) use query::board::overview::UncountedRow;
pub(crate) use query::board::pattern::PatternFixesRow;
pub(crate) use query::board::pattern_lines::PatternSightings;
pub(crate) use query::board::patterns::{NewestRow, PatternKeyRow, PatternSubset};
pub(crate) use query::board::tasks::{TaskFilter, TaskRunRow, TaskSumsRow};
pub(crate) use query::board::warnings::{WarningFilter, WarningScope};
pub(crate) use query::history::{HistoryRows, NamedPatternRow, TaskChangeRow, TaskFailureRow, TaskItemRow, TaskRow};
pub(crate) use query::knowledge::{EntryChangeRow, EntryFilter, EntryRow, EntryUseRow, HELPED, KnowledgeLogRow};
pub(crate) use query::memory::MemoryRow;
pub(crate) use query::receipt::{ReceiptDoubt, ReceiptFilter};
pub(crate) use query::recovery::{RemedyAttemptRow, RemedyRow};
pub(crate) use query::signed_receipt::SignedSubject;
pub(crate) use query::state::IndexState;
pub(crate) use query::strategy::{StrategyRow, StrategyTryRow};
pub(crate) use query::{
    AdviceRow, CheckDayRow, CheckRunRow, DayRange, DeliveryOutcomeRow, DeliveryRow, EntryPatternsRow, FailedTestRow,
    FailureRow, FixFilter, FixNoteRow, FixRateRow, FixRow, FlakeFilter, FlakeRow, GateStepRow, GroupMemberRow,
    LearnStepRow, LessonRow, LibraryStepRow, OccurrenceRow, OpenFailingRun, PatternBriefRow, PatternMergeRow,
    PatternReviewRow, PatternRow, PromotionChangeRow, PromotionRow, ProvenRemedyRow, RecipeRow, RunFilter, RunRow,
    ShownDeliveryRow, SolvedFailureRow, SolvedFixRow, StoreCounts, SumFilter, TaskDetails, TaskPhase, TreeUse,
    WorkTreePeriod,
};
pub(crate) use reader_pool::ReaderPool;
pub(crate) use segment::{SegmentFolder, free_name};
pub(crate) use shared_lesson::{SharedLessonContent, SharedLessonRow, SharedLessonSource};
pub(crate) use stamp::StoreStamp;
#[cfg(test)]
pub(crate) use tests::steps::count_steps;
pub(crate) use writer::{Store, lock_store, own_writer};

/// JSON as a column holds it. These types can't fail to serialise.
fn to_json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
