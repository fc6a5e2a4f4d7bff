//! `pattern merge|split|mute|deprecate`: reviews of patterns by people.

use serde::Serialize;

use super::reply::Reply;
use super::request::Request;
use crate::base::refusal::Refusal;
use crate::event::{EventBody, PatternMerge, PatternSplit, Review, ReviewState};
use crate::pattern::PatternGroupSummary;
use crate::store::{Store, StoreError};

/// The author of a change and the reason for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CurationReason {
    pub by: Option<String>,
    pub why: Option<String>,
}

/// What changing a pattern led to.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct CurationReply {
    /// One line: what was done.
    pub done: String,
    /// The pattern that represents the group now.
    pub pattern: String,
    /// Patterns of the group now.
    #[serde(flatten)]
    pub together: PatternGroupSummary,
}

/// Counts two patterns together from now on, with everything that was recorded of them.
///
/// # Errors
/// When one of the ids names none or more than one, both name the same, or the store can't be written.
pub(crate) fn merge_patterns(
    request: &Request,
    from: &str,
    into: &str,
    saying: CurationReason,
) -> anyhow::Result<Reply<CurationReply>> {
    let mut open = PatternWriter::new(request)?;
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

/// Splits a pattern from its group.
///
/// # Errors
/// When the id names none or more than one, it isn't merged with any, or the store can't be written.
pub(crate) fn split_pattern(
    request: &Request,
    id: &str,
    saying: CurationReason,
) -> anyhow::Result<Reply<CurationReply>> {
    let mut open = PatternWriter::new(request)?;
    let member = open.store.index().find_member(id)?;
    let others = open.store.index().members_of_group(member.number)?.len() - 1;
    anyhow::ensure!(others > 0, Refusal::conflict(format!("{} is merged with no other pattern", member.id)));
    open.store.record_event(EventBody::Split(PatternSplit { pattern: member.key, by: saying.by, why: saying.why }))?;
    Ok(open.changed_reply(format!("{} is a pattern of its own again", member.id), &member.id)?)
}

/// Reverts the last split of a pattern: merges it again with the patterns that it was split from.
///
/// # Errors
/// When the id names none or more than one, it was not split from any or is counted with them again, or the store can't
/// be written.
pub(crate) fn undo_split(request: &Request, id: &str, saying: CurationReason) -> anyhow::Result<Reply<CurationReply>> {
    let mut open = PatternWriter::new(request)?;
    let member = open.store.index().find_member(id)?;
    let reverted = open.store.index().merges_before_split(member.number)?;
    anyhow::ensure!(
        !reverted.is_empty(),
        Refusal::conflict(format!("{} was not split from another pattern", member.id))
    );
    let mut merged = 0;
    for [from, into] in reverted {
        let index = open.store.index();
        let groups = (index.pattern_of_key(&from)?, index.pattern_of_key(&into)?);
        if let (Some(one), Some(other)) = groups
            && one.number == other.number
        {
            continue;
        }
        let CurationReason { by, why } = saying.clone();
        open.store.record_event(EventBody::Merge(PatternMerge { from, into, by, similarity_permille: None, why }))?;
        merged += 1;
    }
    anyhow::ensure!(
        merged > 0,
        Refusal::conflict(format!("{} is merged again with what it was split from", member.id))
    );
    Ok(open.changed_reply(format!("{} is merged again with what it was split from", member.id), &member.id)?)
}

/// Says what a person thinks of a pattern and of those that it was merged with.
///
/// # Errors
/// When the id names none or more than one, or the store can't be written.
pub(crate) fn review_pattern(
    request: &Request,
    id: &str,
    state: ReviewState,
    saying: CurationReason,
) -> anyhow::Result<Reply<CurationReply>> {
    let mut open = PatternWriter::new(request)?;
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
    fn new(request: &Request) -> Result<Self, StoreError> {
        let (store, notes) = request.open_for_writing()?;
        Ok(PatternWriter { store, notes })
    }

    fn changed_reply(mut self, done: String, id: &str) -> Result<Reply<CurationReply>, StoreError> {
        let index = self.store.index();
        let row = index.find_pattern(id)?;
        let together = PatternGroupSummary::from_rows(
            index.members_of_group(row.number)?,
            index.merges_of_group(row.number)?,
            index.reviews_of_group(row.number)?,
        );
        self.notes.extend(self.store.take_notes());
        Ok(Reply::new(CurationReply { done, pattern: row.id, together }, self.notes))
    }
}
