//! Entries of the knowledge base as promotions: what somebody wrote down, others used, and is believed.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{About, Item, State, TITLE_BYTES_MAX, review};
use crate::advice::promotion::{Figures, effectiveness, gate, label};
use crate::advice::proposal::{EntryFacts, Proposal};
use crate::base::clock::Timestamp;
use crate::base::ids;
use crate::base::markdown::untagged;
use crate::base::text::{count, ellipsis, one_line};
use crate::config::Places;
use crate::knowledge::ledger;
use crate::ops::pattern::Desk;
use crate::store::{EntryRow, EntryUseRow, PromotionRow, StoreError};

/// What a use that helped is called.
const HELPED: [&str; 3] = ["applied", "validated", "prevented"];

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
    let helped: Vec<&EntryUseRow> = uses.iter().filter(|used| HELPED.contains(&used.how.as_str())).collect();
    let (prevented, failed_anyway) = (sessions(&uses, "prevented"), sessions(&uses, "did_not_help"));
    let figures = Figures {
        confidence: believed.value,
        lower_bound: believed.evidence.lower_bound,
        tasks: helped.iter().filter_map(|used| used.by.task.as_deref()).collect::<BTreeSet<_>>().len() as u64,
        failures: entry.occurrences + HELPED.iter().map(|how| sessions(&uses, how)).sum::<u64>(),
        prevented,
        failed_anyway,
        effectiveness: effectiveness(prevented, failed_anyway),
        knowledge: Some(believed.value),
        ..Figures::default()
    };
    let way = gate(&figures, settings).filter(|_| entry.superseded_by.is_none());
    if way.is_none() && state == State::Pending {
        return Ok(None);
    }
    let label = label(&figures, settings);
    let approved = row.as_ref().filter(|_| state == State::Approved).and_then(|row| row.decided_at);
    let retirement = approved.and_then(|approved| {
        let failed = uses.iter().filter(|used| used.how == "did_not_help" && used.at > approved).count() as u64;
        match &entry.superseded_by {
            Some(better) => Some(format!("{} is better", one_line(better))),
            None => (failed >= settings.retire_tasks)
                .then(|| format!("it did not help {} after it was promoted", times(failed))),
        }
    });
    let last_at = helped.iter().map(|used| used.at).chain(merged.iter().map(|other| other.at)).max();
    let facts = facts(&entry, &merged, &uses, last_at);
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

/// Distinct sessions, else tasks, in which it was used like this.
fn sessions(uses: &[EntryUseRow], how: &str) -> u64 {
    let used = uses.iter().filter(|used| used.how == how);
    used.map(|used| (&used.by.session, &used.by.task)).collect::<BTreeSet<_>>().len() as u64
}

fn times(number: u64) -> String {
    if number == 1 { "once".to_owned() } else { count(number, "time") }
}

fn facts(entry: &EntryRow, merged: &[EntryRow], uses: &[EntryUseRow], last_at: Option<Timestamp>) -> EntryFacts {
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
        used: HELPED.map(|how| (how, sessions(uses, how))).to_vec(),
        first_at: [entry].into_iter().chain(merged).map(|entry| entry.at).min(),
        last_at: last_at.or(Some(entry.at)),
    }
}

/// A promotion whose entry is gone: its line can still be taken out.
pub(super) fn gone(places: &Places, desk: &Desk, id: String, row: PromotionRow) -> Item {
    let figures = Figures::default();
    let label = label(&figures, &desk.settings.promotion);
    let title = "(its entry is not there any more)".to_owned();
    let facts = EntryFacts { title: title.clone(), ..EntryFacts::default() };
    let mut item = Item {
        id: row.id.clone(),
        title,
        proposal: Proposal::of_entry(&facts, &figures, None, &label),
        label,
        figures,
        target: row.target.as_ref().map(Into::into).unwrap_or_default(),
        retirement: Some("its entry is not there any more".to_owned()),
        about: About::Entry(id),
        ..Item::decided(Some(row))
    };
    item.missing = !review::is_in_file(places, &item);
    item
}
