//! What lists show of patterns, kept from one question to the next: counting it is most of the time of a list, and it
//! changes only when something is recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::store::{Index, IndexState, PatternFixesRow, PatternRow, PatternSightings, StoreError};

/// Patterns that are asked for at once: of a long list not everything is in memory at the same time.
const CHUNK: usize = 100;
/// Patterns that are kept.
const KEPT_MAX: usize = 2_000;

/// What the index says of a pattern in a list.
#[derive(Debug, Clone)]
pub(super) struct PatternFacts {
    /// As it is recorded; its own tasks are given as those of its family.
    pub row: PatternRow,
    pub sightings: PatternSightings,
    /// Fixes that it was in.
    pub fixes: PatternFixesRow,
    /// Advice about it was due.
    pub is_warned: bool,
    /// People may have explained it.
    pub is_noted: bool,
}

/// The patterns that were asked for, and the index that they are from. Its clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct PatternFactsCache(Arc<Mutex<Option<KeptFacts>>>);

#[derive(Debug)]
struct KeptFacts {
    state: IndexState,
    patterns: BTreeMap<i64, Arc<PatternFacts>>,
}

impl PatternFactsCache {
    /// What the index says of patterns, by their row numbers, in this order. Only those are counted that were not asked
    /// for since something was recorded.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(super) fn read(&self, index: &Index, numbers: &[i64]) -> Result<Vec<Arc<PatternFacts>>, StoreError> {
        let state = index.state()?;
        let mut known: BTreeMap<i64, Arc<PatternFacts>> = match self.kept().as_ref() {
            Some(kept) if kept.state == state => {
                numbers.iter().filter_map(|number| Some((*number, Arc::clone(kept.patterns.get(number)?)))).collect()
            }
            _ => BTreeMap::new(),
        };
        let missing: Vec<i64> = numbers.iter().copied().filter(|number| !known.contains_key(number)).collect();
        for numbers in missing.chunks(CHUNK) {
            known.extend(read_facts(index, numbers)?.into_iter().map(|facts| (facts.row.number, Arc::new(facts))));
        }
        let found = numbers.iter().filter_map(|number| known.get(number).map(Arc::clone)).collect();
        if !missing.is_empty() {
            self.keep(state, known);
        }
        Ok(found)
    }

    fn keep(&self, state: IndexState, patterns: BTreeMap<i64, Arc<PatternFacts>>) {
        let mut kept = self.kept();
        match kept.as_mut().filter(|kept| kept.state == state && kept.patterns.len() + patterns.len() <= KEPT_MAX) {
            Some(kept) => kept.patterns.extend(patterns),
            None => *kept = Some(KeptFacts { state, patterns }),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Option<KeptFacts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_facts(index: &Index, numbers: &[i64]) -> Result<Vec<PatternFacts>, StoreError> {
    let groups = index.groups_of_patterns(numbers)?;
    let mut sightings = index.sightings_of_patterns(&groups)?;
    let fixes = index.count_fixes_of_patterns(&groups)?;
    let warned: BTreeSet<i64> = index.patterns_with_deliveries(&groups)?;
    let noted: BTreeSet<i64> = index.patterns_with_notes(&groups)?;
    let facts = index.brief_pattern_rows(&groups)?.into_iter().map(|(number, row)| PatternFacts {
        row,
        sightings: sightings.remove(&number).unwrap_or_default(),
        fixes: fixes.get(&number).copied().unwrap_or_default(),
        is_warned: warned.contains(&number),
        is_noted: noted.contains(&number),
    });
    Ok(facts.collect())
}
