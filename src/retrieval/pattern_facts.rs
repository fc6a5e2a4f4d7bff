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

/// The family of a pattern: thousands of patterns may be of one.
#[derive(Debug)]
pub(crate) struct PatternFamily {
    /// Distinct tasks in which one of its patterns was seen.
    pub tasks: u64,
    /// Row numbers of its patterns; of a group that of the one that represents it.
    pub patterns: Vec<i64>,
}

/// The patterns that were asked for, and the index that they are from. Its clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct PatternFactsCache(Arc<Mutex<Option<KeptFacts>>>);

#[derive(Debug)]
struct KeptFacts {
    state: IndexState,
    patterns: BTreeMap<i64, Arc<PatternFacts>>,
    /// The family that was asked for last, by the pattern's row number.
    family: Option<(i64, Arc<PatternFamily>)>,
}

impl PatternFactsCache {
    /// The family of a pattern. It is counted when another one was asked for last, or something was recorded since.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(super) fn family_of(&self, index: &Index, row: &PatternRow) -> Result<Arc<PatternFamily>, StoreError> {
        let state = index.state()?;
        if let Some((number, family)) =
            self.kept().as_ref().filter(|kept| kept.state == state).and_then(|it| it.family.as_ref())
            && *number == row.number
        {
            return Ok(Arc::clone(family));
        }
        let family = PatternFamily {
            tasks: index.count_family_tasks(row.number)?,
            patterns: index.patterns_of_family(&row.family)?,
        };
        let family = Arc::new(family);
        let mut kept = self.kept();
        let patterns = kept.take().filter(|kept| kept.state == state).map(|kept| kept.patterns).unwrap_or_default();
        *kept = Some(KeptFacts { state, patterns, family: Some((row.number, Arc::clone(&family))) });
        Ok(family)
    }

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
            None => *kept = Some(KeptFacts { state, patterns, family: None }),
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
