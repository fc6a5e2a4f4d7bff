//! Written gotchas and shared lessons, as candidates for a warning: by the files, the command and the failure that
//! they are about.

use std::collections::BTreeMap;
use std::path::Path;

use super::entry_history;
use super::question::WarnQuestion;
use super::shared_lessons::{lessons_of_patterns, shared_lesson_remedy};
use crate::advice::WarningFacts;
use crate::advice::ranking::{self, FileReach, WarningCandidate, WarningConcern};
use crate::base::clock::Timestamp;
use crate::base::glob;
use crate::base::lossless::Lossless;
use crate::config::Settings;
use crate::event::EntryTypeName;
use crate::knowledge::ledger;
use crate::store::{EntryRow, Index, StoreError};

/// Files of the question that are looked for.
const FILES_MAX: usize = 30;
/// Entries about one file that are looked at.
const OF_FILE_MAX: usize = 60;
/// Entries that are looked at closely.
const ENTRIES_MAX: usize = 20;

/// Where entries are looked up.
pub(crate) struct EntryLookup<'a> {
    /// What is recorded.
    pub index: &'a Index,
    /// The work tree, whose shared lessons are shown.
    pub root: &'a Path,
    /// The settings.
    pub settings: &'a Settings,
    /// This moment.
    pub now: Timestamp,
}

impl EntryLookup<'_> {
    /// The gotchas that the files of a question are about, and what shared lessons teach about those and the command.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn candidates_for_question(&self, question: &WarnQuestion) -> Result<Vec<WarningCandidate>, StoreError> {
        let index = self.index;
        let mut rows: BTreeMap<i64, (EntryRow, WarningConcern)> = BTreeMap::new();
        for file in question.files.iter().take(FILES_MAX) {
            for number in index.entries_of_file(file, OF_FILE_MAX)? {
                if rows.len() >= ENTRIES_MAX || rows.contains_key(&number) {
                    continue;
                }
                let row = index.entry_at(number)?;
                let fits =
                    row.kind == EntryTypeName::GOTCHA && row.superseded_by.is_none() && self.is_shown_unasked(&row)?;
                let reach =
                    row.globs.iter().filter(|glob| fits && glob::matches(glob, file)).map(|glob| glob_reach(glob));
                if let Some(reach) = reach.min_by_key(|reach| *reach as u8) {
                    let file = Some((file.clone(), reach));
                    rows.insert(number, (row, WarningConcern { file, ..WarningConcern::default() }));
                }
            }
        }
        if let Some(class) = &question.class {
            self.add_lessons_of_tool(class, !question.files.is_empty(), &mut rows)?;
        }
        rows.into_values().filter_map(|(row, concern)| self.entry_candidate(row, concern).transpose()).collect()
    }

    /// Adds what shared lessons teach about a tool, where they say more than that it fails; where it is known which files
    /// will change, only of those.
    fn add_lessons_of_tool(
        &self,
        class: &str,
        has_files: bool,
        rows: &mut BTreeMap<i64, (EntryRow, WarningConcern)>,
    ) -> Result<(), StoreError> {
        for number in self.index.shared_lessons_of_tool(&Lossless::from(self.root), class)? {
            if let Some((_, concern)) = rows.get_mut(&number) {
                concern.command = Some(class.to_owned());
                continue;
            }
            let row = self.index.entry_at(number)?;
            let says = ["cause", "rule", "fix"].iter().any(|name| row.text(name).is_some());
            let is_elsewhere = has_files && !row.globs.is_empty();
            if says && !is_elsewhere && row.superseded_by.is_none() && rows.len() < ENTRIES_MAX {
                let command = Some(class.to_owned());
                rows.insert(number, (row, WarningConcern { command, ..WarningConcern::default() }));
            }
        }
        Ok(())
    }

    /// What shared lessons teach about the patterns of a failure of this moment.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn candidates_for_failure(&self, keys: &[String]) -> Result<Vec<WarningCandidate>, StoreError> {
        let taught = lessons_of_patterns(self.index, self.root, keys)?.into_iter().take(ENTRIES_MAX);
        let failed = WarningConcern { failed: true, ..WarningConcern::default() };
        taught.filter_map(|(row, _)| self.entry_candidate(row, failed.clone()).transpose()).collect()
    }

    /// Whether an entry is shown without a request: one of this store, or of a lesson that is shared in this work
    /// tree and about nothing that is muted.
    fn is_shown_unasked(&self, row: &EntryRow) -> Result<bool, StoreError> {
        Ok(!row.imported || self.index.shared_lesson_of_entry(&Lossless::from(self.root), &row.id)?.is_some())
    }

    /// An entry with its figures; `None` where it is read all the time, or its subject is muted.
    fn entry_candidate(&self, row: EntryRow, concern: WarningConcern) -> Result<Option<WarningCandidate>, StoreError> {
        let EntryLookup { index, settings, now, .. } = *self;
        if index.is_promoted_entry(&row.id)? || row.from_shared_lesson && self.is_silenced(&row)? {
            return Ok(None);
        }
        let exposures = index.entry_exposures(&row.id)?;
        let history = entry_history::history_with_exposures(index, &row, exposures)?;
        let believed = ledger::entry_confidence(&row, &history, settings, now);
        let helped = history.uses.iter().filter(|used| used.has_helped()).map(|used| used.at);
        // What a team keeps in its tree is as true today.
        let written = if row.from_shared_lesson { now } else { row.at };
        let moments = [written].into_iter().chain(history.merged.iter().map(|row| row.at)).chain(helped);
        let family = if row.sources.is_empty() && row.occurrences == 1 { None } else { index.entry_family(&row.id)? };
        Ok(Some(WarningCandidate {
            // It is said and held out together with what it is about.
            family: family.unwrap_or_else(|| row.id.clone()),
            failures: row.occurrences,
            confidence: believed.value,
            evidence: believed.evidence,
            frequency: ranking::recent_frequency(moments.map(|at| now.micros_since(at)), &settings.advice),
            exposures,
            has_files: concern.command.is_none() || !row.globs.is_empty(),
            main_file: None,
            prevented: 0,
            warned: 0,
            concern,
            key: row.id,
        }))
    }

    /// Whether one of the patterns that a lesson is about is muted, deprecated or promoted here.
    fn is_silenced(&self, row: &EntryRow) -> Result<bool, StoreError> {
        for pattern in self.index.patterns_of_entry(&row.id)?.patterns {
            if self.index.advice_row(pattern)?.silenced {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// What a glob says of a file that it matches.
fn glob_reach(glob: &str) -> FileReach {
    match glob {
        exact if !exact.contains(['*', '?']) => FileReach::File,
        anywhere if anywhere.starts_with('*') => FileReach::Kind,
        _ => FileReach::Folder,
    }
}

/// What is known of an entry.
///
/// # Errors
/// When it is gone, or the store can't be read.
pub(crate) fn entry_facts(index: &Index, root: &Path, id: &str) -> Result<WarningFacts, StoreError> {
    let row = index.find_entry(id)?;
    let lesson = if row.from_shared_lesson { index.shared_lesson_of_entry(&Lossless::from(root), id)? } else { None };
    let text = |name: &str| row.text(name);
    Ok(WarningFacts {
        what: text("pitfall").unwrap_or_else(|| row.title.clone()),
        cause: text("cause"),
        rule: text(if lesson.is_some() { "rule" } else { "fix" }),
        worked: lesson.as_ref().and_then(|_| shared_lesson_remedy(&row)),
        files: if lesson.is_some() { row.globs.clone() } else { Vec::new() },
        lesson,
        entry: Some(row.id),
        ..WarningFacts::default()
    })
}
