//! Gotchas that somebody wrote down, as candidates for a warning: by the files that they are about.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Question;
use crate::advice::Known;
use crate::advice::ranking::{self, Candidate, Concern, Reach};
use crate::base::clock::Timestamp;
use crate::base::glob;
use crate::config::Settings;
use crate::knowledge::ledger;
use crate::ops::entry::history;
use crate::store::{EntryRow, Index, StoreError};

/// Files of the question that are looked for.
const FILES_MAX: usize = 30;
/// Entries about one file that are looked at.
const OF_FILE_MAX: usize = 60;
/// Entries that are looked at closely.
const ENTRIES_MAX: usize = 20;

/// The gotchas that the files of a question are about.
///
/// # Errors
/// When the store can't be read.
pub(super) fn find(
    index: &Index,
    question: &Question,
    settings: &Settings,
    now: Timestamp,
) -> Result<Vec<Candidate>, StoreError> {
    let mut rows: BTreeMap<i64, (EntryRow, String, Reach)> = BTreeMap::new();
    for file in question.files.iter().take(FILES_MAX) {
        for number in index.entries_of_file(file, OF_FILE_MAX)? {
            if rows.len() >= ENTRIES_MAX || rows.contains_key(&number) {
                continue;
            }
            let row = index.entry_at(number)?;
            let fits = row.kind == "gotcha" && row.superseded_by.is_none() && !row.imported;
            let reach = row.globs.iter().filter(|glob| fits && glob::matches(glob, file)).map(|glob| reach(glob));
            if let Some(reach) = reach.min_by_key(|reach| *reach as u8) {
                rows.insert(number, (row, file.clone(), reach));
            }
        }
    }
    let mut found = Vec::new();
    for (row, file, reach) in rows.into_values() {
        // It is read all the time.
        if index.is_promoted_entry(&row.id)? {
            continue;
        }
        let exposures = index.entry_exposures(&row.id)?;
        let history = history::with(index, &row, exposures)?;
        let believed = ledger::confidence(&row, &history, settings, now);
        let helped = history.uses.iter().filter(|used| used.helped()).map(|used| used.at);
        let moments = [row.at].into_iter().chain(history.merged.iter().map(|row| row.at)).chain(helped);
        let family = match row.sources.is_empty() && row.occurrences == 1 {
            true => None,
            false => index.entry_family(&row.id)?,
        };
        found.push(Candidate {
            // It is said and held out together with what it is about.
            family: family.unwrap_or_else(|| row.id.clone()),
            failures: row.occurrences,
            confidence: believed.value,
            evidence: believed.evidence,
            frequency: ranking::frequency(moments.map(|at| now.micros_since(at)), &settings.advice),
            exposures,
            has_files: true,
            prevented: 0,
            warned: 0,
            concern: Concern { file: Some((file, reach)), ..Concern::default() },
            key: row.id,
        });
    }
    Ok(found)
}

/// What a glob says of a file that it matches.
fn reach(glob: &str) -> Reach {
    match glob {
        exact if !exact.contains(['*', '?']) => Reach::File,
        anywhere if anywhere.starts_with('*') => Reach::Kind,
        _ => Reach::Folder,
    }
}

/// What is known of an entry.
///
/// # Errors
/// When it is gone, or the store can't be read.
pub(super) fn known(index: &Index, id: &str) -> Result<Known, StoreError> {
    let row = index.entry(id)?;
    let text = |name: &str| row.properties.get(name).and_then(Value::as_str).map(str::to_owned);
    Ok(Known {
        what: text("pitfall").unwrap_or_else(|| row.title.clone()),
        cause: text("cause"),
        rule: text("fix"),
        entry: Some(row.id),
        ..Known::default()
    })
}
