//! What detectors know about a pattern or about changes of a file: shipped ones and those of the user and the project.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;

use crate::advice::WarningFacts;
use crate::base::glob;
use crate::config::Settings;
use crate::diagnose::DefinitionFile;
use crate::pattern::detector::{DetectorFinding, DetectorRegistry, DetectorSubject};
use crate::pattern::history::{HistoryPattern, HistoryTask, TaskHistory};
use crate::store::{Index, NamedPatternRow, PatternBriefRow, StoreError};

/// Findings about files that are looked at.
const FINDINGS_MAX: usize = 20;

/// The detectors in force and what they look at. Empty where knowledge is not to be put into what is said.
#[derive(Default)]
pub(crate) struct DetectorInsight {
    registry: Option<DetectorRegistry>,
    history: TaskHistory,
}

type ReadInsight<'a> = Box<dyn FnOnce() -> Result<DetectorInsight, StoreError> + 'a>;

/// What detectors know, which is read beside something else: who needs it waits for it.
pub(crate) struct PendingInsight<'a> {
    read: Cell<Option<ReadInsight<'a>>>,
    known: OnceCell<DetectorInsight>,
}

impl<'a> PendingInsight<'a> {
    /// What `read` gives, once it is asked for.
    pub(crate) fn new(read: impl FnOnce() -> Result<DetectorInsight, StoreError> + 'a) -> Self {
        PendingInsight { read: Cell::new(Some(Box::new(read))), known: OnceCell::new() }
    }

    /// What detectors know.
    ///
    /// # Errors
    /// When the store can't be read; after that they know nothing.
    pub(super) fn get(&self) -> Result<&DetectorInsight, StoreError> {
        if let Some(read) = self.read.take() {
            let _ = self.known.set(read()?);
        }
        Ok(self.known.get_or_init(DetectorInsight::default))
    }
}

/// What is known about changes of a file, and the pattern that it is shown with.
pub(crate) struct FileChangeFinding {
    /// The pattern's row number.
    pub pattern: i64,
    /// The file that was asked about.
    pub file: String,
    /// The sentence.
    pub summary: String,
    /// Tasks that changed such a file and failed …
    pub hits: u64,
    /// … of those that changed one.
    pub of: u64,
}

impl DetectorInsight {
    /// The detectors that these files define, and what the index has for them to look at.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn from_index(files: &[DefinitionFile], settings: &Settings, index: &Index) -> Result<Self, StoreError> {
        let (registry, _) = DetectorRegistry::new(files, &settings.categories);
        Ok(DetectorInsight { registry: Some(registry), history: TaskHistory::from_rows(index.brief_history()?) })
    }

    /// Adds what detectors know of a pattern to what people said, which comes first.
    pub(crate) fn complete_facts(&self, known: &mut WarningFacts, row: &PatternBriefRow, settings: &Settings) {
        let Some(registry) = &self.registry else { return };
        let (title, rule) = detector_advice(registry, &self.history, row, settings);
        known.cause = known.cause.take().or(title);
        known.rule = known.rule.take().or(rule);
    }

    /// Whether detectors know anything of a pattern; `file` is the one in which it failed most often.
    pub(super) fn has_advice(&self, row: NamedPatternRow, file: Option<&str>, settings: &Settings) -> bool {
        let Some(registry) = &self.registry else { return false };
        let number = row.number;
        let (title, rule) = advise(registry, &self.history, (number, &row.into(), file), settings);
        title.is_some() || rule.is_some()
    }

    /// What is known about changes of these files, each with the pattern that failed in most of those tasks.
    pub(crate) fn findings_for_files(&self, files: &[String], settings: &Settings) -> Vec<FileChangeFinding> {
        let Some(registry) = &self.registry else { return Vec::new() };
        if files.is_empty() {
            return Vec::new();
        }
        let findings = registry.examine_changes(&self.history, settings).into_iter().take(FINDINGS_MAX);
        findings.filter_map(|finding| self.match_finding(&finding, files)).collect()
    }

    fn match_finding(&self, finding: &DetectorFinding, files: &[String]) -> Option<FileChangeFinding> {
        let files_of = finding.files.as_deref()?;
        let file = files.iter().find(|file| glob::matches(files_of, file))?;
        let changed = |task: &&HistoryTask| task.changed.keys().any(|path| glob::matches(files_of, path));
        let mut counted: BTreeMap<i64, u64> = BTreeMap::new();
        for task in self.history.tasks.iter().filter(changed) {
            let mut patterns: Vec<i64> =
                task.failures.iter().flat_map(|failure| &failure.items).map(|seen| seen.pattern).collect();
            patterns.sort_unstable();
            patterns.dedup();
            patterns.into_iter().for_each(|pattern| *counted.entry(pattern).or_default() += 1);
        }
        // The newest of equally frequent ones.
        let (pattern, _) = counted.into_iter().max_by_key(|(pattern, tasks)| (*tasks, *pattern))?;
        let DetectorFinding { hits, of, .. } = *finding;
        Some(FileChangeFinding { pattern, file: file.clone(), summary: finding.summary.clone(), hits, of })
    }
}

/// What detectors know of a pattern: a title that says why, where its tasks did what the detector is about, and a rule.
pub(crate) fn detector_advice(
    registry: &DetectorRegistry,
    history: &TaskHistory,
    row: &PatternBriefRow,
    settings: &Settings,
) -> (Option<String>, Option<String>) {
    let file = row.files.first().map(|(path, _)| path.as_str());
    advise(registry, history, (row.number, &history_pattern(row), file), settings)
}

/// As [`detector_advice`], of a pattern by its row number and the file in which it failed most often.
fn advise(
    registry: &DetectorRegistry,
    history: &TaskHistory,
    (number, known, file): (i64, &HistoryPattern, Option<&str>),
    settings: &Settings,
) -> (Option<String>, Option<String>) {
    let patterns = [number];
    let of_it = BTreeMap::from([(number, known.clone())]);
    let subject = DetectorSubject { id: &known.id, patterns: &patterns, family: &patterns, known: &of_it };
    let found = registry.find_advice(&subject, history, settings);
    let named = found.iter().find(|finding| finding.names_pattern);
    let rule = found.iter().find_map(|finding| finding.rule.as_deref()).or_else(|| registry.find_rule(known, file));
    (named.map(|finding| finding.title.clone()), rule.map(str::to_owned))
}

/// What the detectors that go by the message alone say to do about a pattern.
pub(crate) fn detector_rule(registry: &DetectorRegistry, row: &PatternBriefRow) -> Option<String> {
    let file = row.files.first().map(|(path, _)| path.as_str());
    registry.find_rule(&history_pattern(row), file).map(str::to_owned)
}

fn history_pattern(row: &PatternBriefRow) -> HistoryPattern {
    HistoryPattern { id: row.id.clone(), tool: row.tool.clone(), code: row.code.clone(), masked: row.masked.clone() }
}
