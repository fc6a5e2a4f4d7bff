//! `pattern merge|split|mute|deprecate`: what people say about patterns.

use std::time::Duration;

use serde::Serialize;

use crate::base::limits::LOCK_WAIT_MS_MAX;
use crate::base::refusal::Refusal;
use crate::config::Places;
use crate::event::{EventBody, PatternMerge, PatternSplit, Review, ReviewState};
use crate::pattern::PatternGroupSummary;
use crate::recorder;
use crate::store::{Store, StoreError, lock_store};

/// What a person says with a change: who they are and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Saying {
    /// Who.
    pub by: Option<String>,
    /// Why.
    pub why: Option<String>,
}

/// What changing a pattern led to.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CurationReply {
    /// Version of this shape.
    pub schema: u32,
    /// One line: what was done.
    pub done: String,
    /// The pattern that stands for the group now.
    pub pattern: String,
    /// What is counted together now.
    #[serde(flatten)]
    pub together: PatternGroupSummary,
    /// For standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// Counts two patterns together from now on, with everything that was recorded of them.
///
/// # Errors
/// When one of the ids names none or more than one, both name the same, or the store can't be written.
pub(crate) fn merge_patterns(places: &Places, from: &str, into: &str, saying: Saying) -> anyhow::Result<CurationReply> {
    let mut open = PatternWriter::new(places)?;
    let (from, into) = (open.store.index().find_member(from)?, open.store.index().find_member(into)?);
    let group = open.store.index().members_of_group(from.number)?;
    anyhow::ensure!(
        group.iter().all(|member| member.id != into.id),
        Refusal::conflict(format!("{} and {} are counted together already", from.id, into.id))
    );
    let merge =
        PatternMerge { from: from.key, into: into.key, by: saying.by, similarity_permille: None, why: saying.why };
    open.store.record_event(EventBody::Merge(merge))?;
    Ok(open.changed_reply(format!("counts {} and {} together", from.id, into.id), &into.id)?)
}

/// Lets a pattern stand by itself again.
///
/// # Errors
/// When the id names none or more than one, it isn't merged with any, or the store can't be written.
pub(crate) fn split_pattern(places: &Places, id: &str, saying: Saying) -> anyhow::Result<CurationReply> {
    let mut open = PatternWriter::new(places)?;
    let member = open.store.index().find_member(id)?;
    let others = open.store.index().members_of_group(member.number)?.len() - 1;
    anyhow::ensure!(others > 0, Refusal::conflict(format!("{} is merged with no other pattern", member.id)));
    open.store.record_event(EventBody::Split(PatternSplit { pattern: member.key, by: saying.by, why: saying.why }))?;
    Ok(open.changed_reply(format!("{} stands by itself", member.id), &member.id)?)
}

/// Says what a person thinks of a pattern and of those that it was merged with.
///
/// # Errors
/// When the id names none or more than one, or the store can't be written.
pub(crate) fn review_pattern(
    places: &Places,
    id: &str,
    state: ReviewState,
    saying: Saying,
) -> anyhow::Result<CurationReply> {
    let mut open = PatternWriter::new(places)?;
    let row = open.store.index().find_pattern(id)?;
    open.store.record_event(EventBody::Review(Review { pattern: row.key, state, by: saying.by, why: saying.why }))?;
    Ok(open.changed_reply(format!("{} is {} now", row.id, state.as_str()), &row.id)?)
}

/// The store, open for writing after what waited was recorded.
struct PatternWriter {
    store: Store,
    notes: Vec<String>,
}

impl PatternWriter {
    fn new(places: &Places) -> Result<Self, StoreError> {
        let notes = recorder::drain_for_reading(places)?.notes;
        let lock = lock_store(&places.state, Duration::from_millis(LOCK_WAIT_MS_MAX))?;
        Ok(PatternWriter { store: Store::open(&places.state, lock)?, notes })
    }

    fn changed_reply(mut self, done: String, id: &str) -> Result<CurationReply, StoreError> {
        let index = self.store.index();
        let row = index.find_pattern(id)?;
        let together = PatternGroupSummary::from_rows(
            index.members_of_group(row.number)?,
            index.merges_of_group(row.number)?,
            index.reviews_of_group(row.number)?,
        );
        self.notes.extend(self.store.take_notes());
        Ok(CurationReply { schema: 1, done, pattern: row.id, together, notes: self.notes })
    }
}
