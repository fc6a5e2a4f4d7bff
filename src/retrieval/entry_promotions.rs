//! Entries of the knowledge base as promotions: written by one, used by others, and with enough confidence.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::entry_history::entry_history;
use super::entry_measurement::{EntryMeasurement, measure_entry};
use super::pattern_reader::PatternReader;
use super::promotions::{PromotionItem, PromotionSource, TITLE_BYTES_MAX};
use crate::advice::outcome::{ObservedDelivery, holdout_trial};
use crate::advice::promotion::{
    ApprovalFollowUp, PromotionFigures, ProofLabel, compute_effectiveness, disqualification_reason, find_qualification,
    proof_label, retirement_reason,
};
use crate::advice::proposal::{EntryPromotionFacts, PromotionProposal};
use crate::base::clock::Timestamp;
use crate::base::ids;
use crate::base::markdown::untagged;
use crate::base::text::{ellipsis, one_line, times};
use crate::event::{EntryUse, PromotionState};
use crate::knowledge::ledger::{self, EntryHistory};
use crate::store::{EntryRow, EntryUseRow, HELPED, PromotionRow, StoreError};

/// An entry as a promotion; `None` when it was never proposed and does not pass the gate, or something better is known.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn entry_promotion(
    desk: &PatternReader,
    families: &HashMap<String, Vec<ObservedDelivery>>,
    entry: EntryRow,
    row: Option<PromotionRow>,
) -> Result<Option<PromotionItem>, StoreError> {
    let state = row.as_ref().map_or(PromotionState::Pending, |row| row.state);
    let settings = &desk.settings.promotion;
    let history = entry_history(&desk.index, &entry)?;
    let measured = measure_entry(&desk.index, &entry, &desk.settings, desk.now)?;
    let sightings = entry_occurrences(desk, &entry)?;
    let used = uses_by_others(&entry, &history);
    let helped: Vec<&EntryUseRow> = used.iter().copied().filter(|used| used.has_helped()).collect();
    let figures = entry_figures(desk, families, &entry, &history, &measured, &sightings, &helped)?;
    let way = find_qualification(&figures, settings).filter(|_| entry.superseded_by.is_none());
    if way.is_none() && row.is_none() {
        return Ok(None);
    }
    let better = entry.superseded_by.as_ref().map(|better| format!("{} is better", one_line(better)));
    let lapsed = (way.is_none() && state != PromotionState::Approved)
        .then(|| better.clone().unwrap_or_else(|| disqualification_reason(&figures, settings)));
    let label = match measured.not_measurable {
        Some(why) => ProofLabel { reason: why, ..proof_label(&PromotionFigures::default(), settings) },
        None => proof_label(&figures, settings),
    };
    let merged = &history.merged;
    let written = [&entry].into_iter().chain(merged).map(|entry| entry.at);
    let last_at = helped.iter().map(|used| used.at).chain(written).max();
    let approved = row.as_ref().filter(|_| state == PromotionState::Approved).and_then(|row| row.decided_at);
    let retirement = approved.and_then(|approved| {
        let failed = history.uses.iter().filter(|used| used.how == EntryUse::DidNotHelp && used.at > approved);
        let failed = count_sessions(failed);
        let tasks = sightings.values().filter(|at| **at > approved).count() as u64;
        let last_seen = last_at.into_iter().chain(sightings.values().copied()).max().unwrap_or(entry.at);
        match better {
            Some(better) => Some(better),
            None if failed > 0 && failed >= settings.retire_tasks => {
                Some(format!("it did not help {} after it was promoted", times(failed)))
            }
            None => retirement_reason(&ApprovalFollowUp { approved, tasks, last_seen }, settings, desk.now),
        }
    });
    let facts = entry_facts(&entry, merged, &used, last_at);
    let globs: BTreeSet<&String> = [&entry].into_iter().chain(merged).flat_map(|entry| &entry.globs).collect();
    let item = PromotionItem {
        id: row.as_ref().map_or_else(|| ids::promotion(&entry.id), |row| row.id.clone()),
        entry: Some(entry.id.clone()),
        title: ellipsis(untagged(&one_line(&entry.title)).trim(), TITLE_BYTES_MAX),
        way,
        proposal: PromotionProposal::from_entry(&facts, &figures, way, &label),
        label,
        figures,
        lapsed,
        retirement,
        files: globs.into_iter().map(|glob| (glob.clone(), 1)).collect(),
        glob: None,
        about: PromotionSource::Entry(row.as_ref().and_then(|row| row.entry.clone()).unwrap_or(entry.id)),
        ..PromotionItem::from_row(row)
    };
    Ok(Some(item))
}

/// The tasks in which the mistake of an entry was seen, each with the first time.
fn entry_occurrences(desk: &PatternReader, entry: &EntryRow) -> Result<BTreeMap<String, Timestamp>, StoreError> {
    let mut found: BTreeMap<String, Timestamp> = BTreeMap::new();
    for pattern in desk.index.patterns_of_entry(&entry.id)?.patterns {
        for seen in desk.index.first_occurrences(pattern)? {
            let at = found.entry(seen.task).or_insert(seen.at);
            *at = (*at).min(seen.at);
        }
    }
    Ok(found)
}

/// What is known of an entry: its confidence, how often it was met, and the outcome of warnings from it.
fn entry_figures(
    desk: &PatternReader,
    families: &HashMap<String, Vec<ObservedDelivery>>,
    entry: &EntryRow,
    history: &EntryHistory,
    measured: &EntryMeasurement,
    sightings: &BTreeMap<String, Timestamp>,
    helped: &[&EntryUseRow],
) -> Result<PromotionFigures, StoreError> {
    let believed = ledger::entry_confidence(entry, history, &desk.settings, desk.now);
    let family = desk.index.entry_family(&entry.id)?;
    let family = family.and_then(|family| families.get(&family)).map_or(measured.trial, holdout_trial);
    let helped_in = helped.iter().filter_map(|used| used.by.task.as_deref()).collect::<BTreeSet<_>>().len();
    let tasks = if measured.patterns.is_empty() { helped_in } else { sightings.len() };
    Ok(PromotionFigures {
        confidence: believed.value,
        lower_bound: believed.evidence.lower_bound,
        tasks: tasks as u64,
        failures: entry.occurrences + count_sessions(helped.iter().copied()),
        prevented: measured.prevented,
        failed_anyway: measured.failed_anyway,
        effectiveness: compute_effectiveness(measured.prevented, measured.failed_anyway),
        knowledge: Some(believed.value),
        own: measured.trial,
        family,
    })
}

/// Its uses outside of the sessions in which it was written.
fn uses_by_others<'u>(entry: &EntryRow, history: &'u EntryHistory) -> Vec<&'u EntryUseRow> {
    let own: BTreeSet<&String> =
        [entry].into_iter().chain(&history.merged).filter_map(|entry| entry.by.session.as_ref()).collect();
    history.uses.iter().filter(|used| used.by.session.as_ref().is_none_or(|session| !own.contains(session))).collect()
}

/// In how many sessions, else tasks, these were.
fn count_sessions<'u>(uses: impl Iterator<Item = &'u EntryUseRow>) -> u64 {
    uses.map(EntryUseRow::session_or_task).collect::<BTreeSet<_>>().len() as u64
}

fn entry_facts(
    entry: &EntryRow,
    merged: &[EntryRow],
    uses: &[&EntryUseRow],
    last_at: Option<Timestamp>,
) -> EntryPromotionFacts {
    let text = |names: &[&str]| {
        names.iter().find_map(|name| entry.properties.get(*name).and_then(Value::as_str)).map(str::to_owned)
    };
    let writers = [entry]
        .into_iter()
        .chain(merged)
        .filter_map(|entry| entry.by.person.as_deref().or(entry.by.agent.as_deref()).map(str::to_owned));
    let globs: BTreeSet<String> = [entry].into_iter().chain(merged).flat_map(|entry| entry.globs.clone()).collect();
    EntryPromotionFacts {
        kind: entry.kind.to_string(),
        title: entry.title.clone(),
        problem: text(&["pitfall", "context"]),
        cause: text(&["cause", "rationale"]),
        solution: text(&["fix", "usage", "choice", "description"]),
        code: text(&["template"]),
        globs: globs.into_iter().collect(),
        writers: writers.collect::<BTreeSet<_>>().into_iter().collect(),
        written: entry.occurrences,
        used: HELPED
            .map(|how| (how.as_str(), count_sessions(uses.iter().copied().filter(|used| used.how == how))))
            .to_vec(),
        first_at: [entry].into_iter().chain(merged).map(|entry| entry.at).min(),
        last_at,
    }
}
