//! Near-duplicates among the patterns that a run shows for the first time.

use std::collections::HashMap;

use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::event::{DiagnosticRecord, Event, EventBody, NEAR_DUPLICATE, PatternMerge};
use crate::fingerprint::{
    self, MessageComparison, NearDuplicateSketch, PatternLeaders, ReportedFailure, SimilarityVerdict,
};
use crate::pattern::statistics::to_permille;
use crate::store::{Store, StoreError};

/// New patterns of one run for which near-duplicates are looked up; further ones stay separate.
const LOOKUPS_MAX: usize = 200;

/// The merges of patterns that the recorder makes.
#[derive(Debug, Default)]
pub(super) struct PatternMerges {
    /// The events.
    pub events: Vec<Event>,
    /// The key of each new pattern that was merged, and the key of the pattern that it was merged with.
    into: HashMap<String, String>,
}

impl PatternMerges {
    /// Looks for patterns that say the same as the new ones of a run: in the store, else among the run's own.
    ///
    /// Their events are derived from the run, so that finding them twice is finding them once.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(super) fn from_leaders(
        store: &Store,
        run: RunId,
        items: &[DiagnosticRecord],
        similarity_min: f64,
    ) -> Result<Self, StoreError> {
        let mut merges = PatternMerges::default();
        let keys: Vec<&str> = items.iter().map(|item| item.pattern.as_str()).collect();
        let mut known = store.index().known_patterns(&keys)?;
        let mut own = PatternLeaders::default();
        let mut own_keys: Vec<&str> = Vec::new();
        for item in items.iter().filter(|item| !item.is_uninformative()) {
            if known.len() >= keys.len() || own_keys.len() + merges.events.len() >= LOOKUPS_MAX {
                break;
            }
            if !known.insert(item.pattern.clone()) {
                continue;
            }
            if similarity_min <= 1.0
                && let Some(into) = cut_copy(store, item)?
            {
                merges.push(store.writer_name(), run, item, into, &MergeReason::CutCopy);
                continue;
            }
            let Some(near) = fingerprint::sketch_message(&item.to_diagnostic()) else { continue };
            let found = match in_store(store, &near, similarity_min)? {
                Some(found) => Some(found),
                None => own.find_nearest(&near, similarity_min).map(|(own, found)| (own_keys[own].to_owned(), found)),
            };
            match found {
                Some((into, compared)) => {
                    merges.push(store.writer_name(), run, item, into, &MergeReason::Near(compared))
                }
                None => {
                    own.push(near);
                    own_keys.push(&item.pattern);
                }
            }
        }
        Ok(merges)
    }

    /// The key by which a pattern is known after the merges.
    pub(super) fn known_as<'a>(&'a self, key: &'a str) -> &'a str {
        self.into.get(key).map_or(key, String::as_str)
    }

    fn push(&mut self, writer: &str, run: RunId, item: &DiagnosticRecord, into: String, reason: &MergeReason) {
        let from = item.pattern.clone();
        let parts = [&*run.to_string(), &from, &into];
        let body = EventBody::Merge(PatternMerge {
            from: from.clone(),
            into: into.clone(),
            by: Some(NEAR_DUPLICATE.to_owned()),
            similarity_permille: match reason {
                MergeReason::Near(compared) => Some(to_permille(compared.similarity)),
                MergeReason::CutCopy => None,
            },
            why: matches!(reason, MergeReason::CutCopy).then(|| "the same test's failure, cut by the tool".to_owned()),
        });
        self.events.push(Event::with_derived_id("merge", &parts, Timestamp::now(), writer, body));
        self.into.insert(from, into);
    }
}

/// Why two patterns are the same.
enum MergeReason {
    /// Their texts are almost the same.
    Near(MessageComparison),
    /// One is the beginning of the other, of the same test.
    CutCopy,
}

/// The newest pattern of the item's test that is the same one, of which either was seen cut.
fn cut_copy(store: &Store, item: &DiagnosticRecord) -> Result<Option<String>, StoreError> {
    let Some(test) = &item.test else { return Ok(None) };
    let here = ReportedFailure { tool: &item.tool, code: item.code.as_deref(), message: &item.message };
    let before = store.index().failures_of_test(test)?;
    let same = before.into_iter().find(|row| {
        let there = ReportedFailure { tool: &row.tool, code: row.code.as_deref(), message: &row.message };
        row.key != item.pattern && fingerprint::is_cut_copy(here, there)
    });
    Ok(same.map(|row| row.key))
}

/// The most similar pattern of the store that may be the same.
fn in_store(
    store: &Store,
    near: &NearDuplicateSketch,
    similarity_min: f64,
) -> Result<Option<(String, MessageComparison)>, StoreError> {
    let mut best: Option<(String, MessageComparison)> = None;
    for row in store.index().near_patterns(near)? {
        let compared = fingerprint::compare_messages(&near.text, &row.text, similarity_min);
        let is_better = best.as_ref().is_none_or(|(_, best)| compared.similarity > best.similarity);
        if compared.verdict == SimilarityVerdict::Same && is_better {
            best = Some((row.key, compared));
        }
    }
    Ok(best)
}
