//! Entries of the knowledge base as promotions: what somebody wrote down, others used, and is believed.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{About, Item, State, TITLE_BYTES_MAX};
use crate::advice::promotion::{Figures, Label, gate, label, unseen};
use crate::advice::proposal::{EntryFacts, Proposal};
use crate::base::clock::Timestamp;
use crate::base::ids;
use crate::base::markdown::untagged;
use crate::base::text::{ellipsis, one_line, times};
use crate::config::Places;
use crate::knowledge::ledger;
use crate::ops::pattern::Desk;
use crate::store::{EntryRow, EntryUseRow, HELPED, PromotionRow, StoreError};

/// Why an entry is never called strong.
const NOT_COMPARED: &str = "what comes of an entry isn't compared with held-out tasks";

/// An entry as a promotion; `None` when it was never decided on and does not pass the gate, or something better is known.
///
/// # Errors
/// When the store can't be read.
pub(super) fn item(
    places: &Places,
    desk: &Desk,
    entry: EntryRow,
    row: Option<PromotionRow>,
) -> Result<Option<Item>, StoreError> {
    let state = row.as_ref().map_or(State::Pending, |row| State::of(&row.state));
    let settings = &desk.settings.promotion;
    let (changes, uses) = (desk.index.entry_changes(&entry.id)?, desk.index.entry_uses(&entry.id)?);
    let merged = if entry.occurrences > 1 { desk.index.merged_entries(&entry.id)? } else { Vec::new() };
    let believed = ledger::confidence(&entry, &merged, &changes, &uses, &desk.settings, desk.now);
    let used = by_others(&entry, &merged, &uses);
    let helped = used.iter().copied().filter(|used| used.helped());
    // What its warnings prevented isn't measured, so that it earns its line by being known to help.
    let figures = Figures {
        confidence: believed.value,
        lower_bound: believed.evidence.lower_bound,
        tasks: helped.clone().filter_map(|used| used.by.task.as_deref()).collect::<BTreeSet<_>>().len() as u64,
        failures: entry.occurrences + sittings(helped.clone()),
        knowledge: Some(believed.value),
        ..Figures::default()
    };
    let way = gate(&figures, settings).filter(|_| entry.superseded_by.is_none());
    if way.is_none() && state == State::Pending {
        return Ok(None);
    }
    let label = Label { reason: NOT_COMPARED.to_owned(), ..label(&figures, settings) };
    let last_at = helped.map(|used| used.at).chain([&entry].into_iter().chain(&merged).map(|entry| entry.at)).max();
    let approved = row.as_ref().filter(|_| state == State::Approved).and_then(|row| row.decided_at);
    let retirement = approved.and_then(|approved| {
        let failed = sittings(uses.iter().filter(|used| used.how == "did_not_help" && used.at > approved));
        match &entry.superseded_by {
            Some(better) => Some(format!("{} is better", one_line(better))),
            None if failed > 0 && failed >= settings.retire_tasks => {
                Some(format!("it did not help {} after it was promoted", times(failed)))
            }
            None => unseen(last_at.unwrap_or(entry.at).max(approved), settings, desk.now),
        }
    });
    let facts = facts(&entry, &merged, &used, last_at);
    let globs: BTreeSet<&String> = [&entry].into_iter().chain(&merged).flat_map(|entry| &entry.globs).collect();
    let item = Item {
        id: row.as_ref().map_or_else(|| ids::promotion(&entry.id), |row| row.id.clone()),
        entry: Some(entry.id.clone()),
        title: ellipsis(untagged(&one_line(&entry.title)).trim(), TITLE_BYTES_MAX),
        way,
        proposal: Proposal::of_entry(&facts, &figures, way, &label),
        label,
        figures,
        retirement,
        files: globs.into_iter().map(|glob| (glob.clone(), 1)).collect(),
        glob: None,
        about: About::Entry(row.as_ref().and_then(|row| row.entry.clone()).unwrap_or(entry.id)),
        ..Item::decided(row)
    };
    Ok(Some(item.placed(places, desk)))
}

/// Its uses outside of the sessions in which it was written.
fn by_others<'u>(entry: &EntryRow, merged: &[EntryRow], uses: &'u [EntryUseRow]) -> Vec<&'u EntryUseRow> {
    let own: BTreeSet<&String> =
        [entry].into_iter().chain(merged).filter_map(|entry| entry.by.session.as_ref()).collect();
    uses.iter().filter(|used| used.by.session.as_ref().is_none_or(|session| !own.contains(session))).collect()
}

/// In how many sessions, else tasks, these were.
fn sittings<'u>(uses: impl Iterator<Item = &'u EntryUseRow>) -> u64 {
    uses.map(EntryUseRow::sitting).collect::<BTreeSet<_>>().len() as u64
}

fn facts(entry: &EntryRow, merged: &[EntryRow], uses: &[&EntryUseRow], last_at: Option<Timestamp>) -> EntryFacts {
    let text = |names: &[&str]| {
        names.iter().find_map(|name| entry.properties.get(*name).and_then(Value::as_str)).map(str::to_owned)
    };
    let writers = [entry]
        .into_iter()
        .chain(merged)
        .filter_map(|entry| entry.by.person.as_deref().or(entry.by.agent.as_deref()).map(str::to_owned));
    EntryFacts {
        kind: entry.kind.clone(),
        title: entry.title.clone(),
        problem: text(&["pitfall", "context"]),
        cause: text(&["cause", "rationale"]),
        solution: text(&["fix", "usage", "choice", "description"]),
        code: text(&["template"]),
        globs: [entry].into_iter().chain(merged).flat_map(|entry| entry.globs.clone()).collect(),
        writers: writers.collect::<BTreeSet<_>>().into_iter().collect(),
        written: entry.occurrences,
        used: HELPED.map(|how| (how, sittings(uses.iter().copied().filter(|used| used.how == how)))).to_vec(),
        first_at: [entry].into_iter().chain(merged).map(|entry| entry.at).min(),
        last_at,
    }
}
