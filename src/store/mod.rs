//! What happened, kept: event segments (the truth) and the index over them. The only module that knows SQL.
//!
//! [`Store`] writes and holds the recorder's lock; [`Index`] alone reads.

mod about;
mod apply;
pub mod backup;
mod build;
mod error;
mod event;
mod exchange;
pub mod folder;
mod index;
mod journal;
mod masked;
mod memory;
pub mod note;
mod query;
#[cfg(test)]
pub(crate) mod sample;
mod schema;
mod segment;
mod taught;
#[cfg(test)]
mod tests;
mod writer;

pub use error::{StoreError, io_at};
pub use event::{
    Ack, Atom, AtomList, Attempt, Base, Body, By, Change, Command, DECLARED, Delivery, DeliveryArm, ENDED_BY_SIGNAL,
    EVENT_VERSION, Entry, EntryChange, EntryNote, EntrySource, EntryUse, Event, Failure, FileChange, FileChangeKind,
    FixNote, Flake, Item, LessonChange, LessonDecision, Mark, Matches, Means, MemoryChange, MemoryNote, MemorySort,
    Merge, NAMES_NO_PROBLEM, NEAR_DUPLICATE, NoLesson, Origin, Outcome, Promotion, PromotionStep, Proof, Purge, Recipe,
    RecipeKind, Review, ReviewState, Run, Scope, Snapshot, Split, StrategyChange, StrategyNote, TaskNote, TaskOutcome,
    TaskStep, Trees, Unseen, derived_id,
};
pub use event::{Line as EventLine, parse as parse_event};
pub use exchange::{ImportFault, Imported, Trust};
pub use index::Index;
pub use masked::masked;
pub use query::history::{
    HistoryRows, NamedPatternRow, NoteRow, SightingRow, TaskChangeRow, TaskFailureRow, TaskItemRow, TaskRow,
};
pub use query::knowledge::{EntryChangeRow, EntryFilter, EntryRow, EntryUseRow, HELPED, LoggedRow};
pub use query::memory::MemoryRow;
pub use query::recovery::{RecoveryRow, ReportRow};
pub use query::strategy::{StrategyRow, TryRow};
pub use query::{
    AboutRow, AdviceRow, BranchTask, BriefRow, Closing, Counts, DeliveryRow, FailureRow, FixFilter, FixRow,
    FlakeFilter, FlakeRow, Gap, KnownTask, LastRun, LessonRow, MemberRow, MergeRow, NearRow, OccurrenceRow, OpenRun,
    OutcomeRow, PassingTree, PatternRow, PeriodRow, PromotionChangeRow, PromotionRow, RateRow, RecipeRow, ReviewRow,
    RunFilter, SaidRow, SessionFailures, SnapshotRow, SolvedRow, SourceRow, TestFailureRow, ToldRow, TotalsRow,
    TreeUse, WorkedRow,
};
pub use segment::{Segments, free_name};
pub use taught::{TaughtFile, TaughtLesson, TaughtRow};
pub use writer::{Store, lock, own_writer};

/// JSON as a column holds it. These types can't fail to serialise.
fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
