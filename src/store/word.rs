//! Words of closed sets, read back from the index as the values that were written.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use crate::event::{
    AttemptOutcome, ClosedSet, DeliveryArm, EntryChangeKind, EntrySource, EntryTypeName, EntryUse, ErrorMatch,
    FixState, FlakeProof, JobState, MemoryType, PromotionChangeKind, PromotionState, RecipeKind, ReviewState,
    TaskOutcome, Technique, WorkPhase,
};

/// A word that is none of its set. These words decide what is counted and advised, so none is guessed: the index is a
/// newer version's, as a whole.
#[derive(Debug, thiserror::Error)]
#[error("{set} {word:?}")]
pub(super) struct UnknownWord {
    /// The set.
    set: &'static str,
    /// The word.
    word: String,
}

fn read_word<T: ClosedSet>(value: ValueRef<'_>) -> FromSqlResult<T> {
    let word = value.as_str()?;
    T::from_word(word).ok_or_else(|| FromSqlError::Other(Box::new(UnknownWord { set: T::NAME, word: word.to_owned() })))
}

/// The unknown word that an error of a read is about, if it is.
pub(super) fn unknown_word(error: &rusqlite::Error) -> Option<&UnknownWord> {
    match error {
        rusqlite::Error::FromSqlConversionFailure(_, _, source) => source.downcast_ref(),
        _ => None,
    }
}

macro_rules! columns {
    ($($set:ident),+ $(,)?) => {$(
        impl FromSql for $set {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                read_word(value)
            }
        }

        impl ToSql for $set {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }
    )+};
}

impl FromSql for EntryTypeName {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str().map(EntryTypeName::from)
    }
}

impl ToSql for EntryTypeName {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}

columns!(
    AttemptOutcome,
    DeliveryArm,
    EntryChangeKind,
    EntrySource,
    EntryUse,
    ErrorMatch,
    FixState,
    FlakeProof,
    JobState,
    MemoryType,
    PromotionChangeKind,
    PromotionState,
    RecipeKind,
    ReviewState,
    TaskOutcome,
    Technique,
    WorkPhase,
);
