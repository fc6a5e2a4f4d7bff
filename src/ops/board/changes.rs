//! What was recorded after a moment, for those who watch: names, ids and places, and no text of tools.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Board;
use crate::base::clock::Timestamp;
use crate::base::ids::{self, RunId};
use crate::event::{AttemptOutcome, EntryChange, EntryUse, Event, EventBody, PromotionStep};
use crate::store::StoreError;

/// Changes that are listed one by one; more are reported as one change.
pub(crate) const CHANGES_MAX: usize = 1_000;

/// The end of what was read of each segment, bytes by name.
pub(crate) type StorePosition = BTreeMap<String, u64>;

/// Something that was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RecordedChange {
    /// The event's id; `null` of what only says that something changed.
    pub id: Option<String>,
    /// What happened.
    #[serde(skip)]
    pub name: &'static str,
    /// When.
    pub at: Timestamp,
    /// The event's kind.
    pub kind: String,
    /// The record's id.
    #[serde(rename = "ref")]
    pub record: Option<String>,
    /// The record's page.
    pub href: Option<String>,
}

/// What was recorded after a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedChanges {
    /// In the order in which it was recorded.
    pub changes: Vec<RecordedChange>,
    /// Where the next ones begin.
    pub position: StorePosition,
}

impl Board<'_> {
    /// The end of the store now.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn position(&self) -> Result<StorePosition, StoreError> {
        Ok(self.index().segment_ends()?.into_iter().collect())
    }

    /// The position after an event; `None` of one that is not in the store.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn position_after(&self, event: &str) -> Result<Option<StorePosition>, StoreError> {
        let Some((segment, end)) = self.index().event_end(event)? else { return Ok(None) };
        // Segments are indexed in the order in which they were begun: later ones have nothing that was known then.
        let known = self.index().segment_ends()?.into_iter();
        let mut position: StorePosition = known.take_while(|(name, _)| *name != segment).collect();
        position.insert(segment, end);
        Ok(Some(position))
    }

    /// What was recorded after a position. What is more than 1,000 events, and a store that is another one by now, is one
    /// change.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn changes_after(&self, position: &StorePosition) -> Result<RecordedChanges, StoreError> {
        let ends: StorePosition = self.position()?;
        let is_other = position.iter().any(|(name, read)| ends.get(name).is_none_or(|end| end < read));
        let mut changes = Vec::new();
        if is_other {
            changes.push(self.store_changed());
            return Ok(RecordedChanges { changes, position: ends });
        }
        for (name, end) in self.index().segment_ends()? {
            let from = position.get(&name).copied().unwrap_or(0);
            if end <= from {
                continue;
            }
            let events = self.index().events_of_segment(&name, from, CHANGES_MAX + 1)?;
            if changes.len() + events.len() > CHANGES_MAX {
                return Ok(RecordedChanges { changes: vec![self.store_changed()], position: ends });
            }
            for span in events {
                changes.extend(self.segments().read_event(&name, span)?.map(|event| RecordedChange::of_event(&event)));
            }
        }
        Ok(RecordedChanges { changes, position: ends })
    }

    /// That something changed, whatever it was.
    pub(crate) fn store_changed(&self) -> RecordedChange {
        let (name, at) = ("store:changed", self.now());
        RecordedChange { id: None, name, at, kind: "store".to_owned(), record: None, href: None }
    }
}

impl RecordedChange {
    fn of_event(event: &Event) -> Self {
        let (name, record) = name_of(&event.body, event);
        let href = record.as_deref().and_then(page_of);
        let kind = event.body.kind().to_owned();
        RecordedChange { id: Some(event.id.to_string()), name, at: event.at, kind, record, href }
    }
}

/// What an event is called, and the record that it is about.
fn name_of(body: &EventBody, event: &Event) -> (&'static str, Option<String>) {
    match body {
        EventBody::Run(run) if run.failure.is_some() => ("failure:recorded", Some(ids::failure(RunId(event.id)))),
        EventBody::Attempt(attempt) if attempt.outcome == AttemptOutcome::Success => {
            ("fix:confirmed", Some(ids::fix(&attempt.key, attempt.opened_by)))
        }
        EventBody::Knowledge(note) => match &note.change {
            EntryChange::Created(_) => ("knowledge:created", Some(note.entry.clone())),
            EntryChange::Used { how: EntryUse::Applied | EntryUse::Validated | EntryUse::Prevented, .. } => {
                ("pattern:reused", Some(note.entry.clone()))
            }
            _ => ("store:changed", Some(note.entry.clone())),
        },
        EventBody::Promotion(promotion) => match promotion.step {
            PromotionStep::Approved { .. } => ("knowledge:promoted", Some(promotion.promotion.clone())),
            _ => ("inbox:changed", Some(promotion.promotion.clone())),
        },
        EventBody::Gate(_) | EventBody::Learn(_) | EventBody::Library(_) => ("inbox:changed", None),
        _ => ("store:changed", None),
    }
}

/// The page of a record.
fn page_of(id: &str) -> Option<String> {
    let pages = [("f-", "failures"), ("x-", "fixes"), ("k-", "knowledge"), ("r-", "promotions")];
    let (_, page) = pages.iter().find(|(start, _)| id.starts_with(start))?;
    Some(format!("/{page}/{id}"))
}
