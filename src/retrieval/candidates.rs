//! What may be worth a warning, from the index, with what ranking needs to know of it.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::detectors::{DetectorInsight, FileChangeFinding};
use super::question::{CurrentFailure, WarnQuestion};
use super::similar_tasks::patterns_in_similar_tasks;
use crate::advice::ranking::{self, FileReach, WarningCandidate, WarningConcern};
use crate::base::clock::Timestamp;
use crate::config::Settings;
use crate::pattern::confidence::{self, JudgedDelivery, PatternOccurrence};
use crate::store::{AdviceRow, Index, StoreError};

/// Patterns that are looked at closely.
const LOOKED_AT_MAX: usize = 30;
/// … of them found by their very files.
const OF_FILES_MAX: usize = 20;
/// Patterns of a failure that are looked up.
const OF_FAILURE_MAX: usize = 20;
/// Files of the question that are looked for.
const FILES_MAX: usize = 30;

/// The patterns that a question may be about. What detectors know is asked for last.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn find_candidates<'a>(
    index: &Index,
    question: &WarnQuestion,
    insight: impl FnOnce() -> Result<&'a DetectorInsight, StoreError>,
    settings: &Settings,
    now: Timestamp,
) -> Result<Vec<WarningCandidate>, StoreError> {
    let least = settings.advice.occurrences_min;
    let mut of_files: BTreeMap<i64, HashSet<&str>> = BTreeMap::new();
    let mut others: Vec<i64> = Vec::new();
    for file in question.files.iter().take(FILES_MAX) {
        for pattern in index.patterns_of_file(file)? {
            of_files.entry(pattern).or_default().insert(file);
        }
        others.extend(index.patterns_near_file(file, least)?);
    }
    if let Some(class) = &question.class {
        others.extend(index.patterns_of_tool(class, least)?);
    }
    let by_words: HashMap<i64, f64> =
        ranking::score_shares(&index.patterns_with_words(&question.words)?).into_iter().collect();
    others.extend(by_words.keys());
    let alike = patterns_in_similar_tasks(index, question, settings)?;
    others.extend(alike.keys());
    others.sort_unstable();
    others.dedup();
    others.retain(|pattern| !of_files.contains_key(pattern));
    let mut chosen: Vec<i64> = of_files.keys().copied().collect();
    if chosen.len() > OF_FILES_MAX {
        chosen = index.most_frequent_patterns(&chosen, OF_FILES_MAX)?;
    }
    let room = LOOKED_AT_MAX - chosen.len();
    if others.len() > room {
        others = index.most_frequent_patterns(&others, room)?;
    }
    chosen.extend(others);
    let none = HashSet::new();
    let mut found = Vec::with_capacity(chosen.len());
    for pattern in chosen {
        let exact = of_files.get(&pattern).unwrap_or(&none);
        let found_by = CandidateMatch {
            exact,
            text: by_words.get(&pattern).copied().unwrap_or(0.0),
            similar: alike.get(&pattern).copied(),
        };
        found.extend(pattern_candidate(index, pattern, question, &found_by, settings, now)?);
    }
    for finding in insight()?.findings_for_files(&question.files, settings) {
        add_finding(index, finding, &mut found, settings, now)?;
    }
    Ok(found)
}

/// Adds a finding about changes of a file: to the pattern that it is shown with, or instead of a weaker reason.
fn add_finding(
    index: &Index,
    finding: FileChangeFinding,
    found: &mut Vec<WarningCandidate>,
    settings: &Settings,
    now: Timestamp,
) -> Result<(), StoreError> {
    let row = index.advice_row(finding.pattern)?;
    let FileChangeFinding { file, summary, hits, of, .. } = finding;
    let frequency = hits as f64 / (hits as f64 + settings.advice.frequency_tasks);
    let share = hits as f64 / of.max(1) as f64;
    let concern =
        WarningConcern { file: Some((file, FileReach::Folder)), finding: Some(summary), ..WarningConcern::default() };
    if let Some(known) = found.iter_mut().find(|known| known.key == row.key) {
        known.concern.finding = concern.finding;
        if known.concern.file.is_none() {
            known.concern.file = concern.file;
        }
        known.confidence = known.confidence.max(share);
        known.frequency = known.frequency.max(frequency);
        return Ok(());
    }
    if row.silenced {
        return Ok(());
    }
    if let Some(candidate) = weighed_candidate(index, row.number, row, concern, settings, now)? {
        let (confidence, frequency) = (candidate.confidence.max(share), candidate.frequency.max(frequency));
        found.push(WarningCandidate { confidence, frequency, ..candidate });
    }
    Ok(())
}

/// By what a pattern was found.
struct CandidateMatch<'a> {
    /// The files that are known to be its own.
    exact: &'a HashSet<&'a str>,
    /// How well words fit.
    text: f64,
    /// In how many tasks like this one it failed, of how many.
    similar: Option<(u64, u64)>,
}

/// A pattern with its figures; `None` if it is muted or was never more than a flake.
fn pattern_candidate(
    index: &Index,
    pattern: i64,
    question: &WarnQuestion,
    found_by: &CandidateMatch<'_>,
    settings: &Settings,
    now: Timestamp,
) -> Result<Option<WarningCandidate>, StoreError> {
    let row = index.advice_row(pattern)?;
    if row.silenced {
        return Ok(None);
    }
    let file = ranking::file_reach(&question.files, found_by.exact, &row.files, &settings.advice);
    // Where it is known which files will change, what happens in others is no reason to warn of a command.
    let is_elsewhere = file.is_none() && !question.files.is_empty() && !row.files.is_empty();
    let command = match &question.class {
        Some(class) if !is_elsewhere && index.is_reported_by_tool(pattern, class)? => Some(class.clone()),
        _ => None,
    };
    let text = if has_telling_words(&question.words, &row.masked) { found_by.text } else { 0.0 };
    let similar = found_by.similar;
    if file.is_none() && command.is_none() && text <= 0.0 && similar.is_none() {
        return Ok(None);
    }
    let concern = WarningConcern { file, command, text, similar, ..WarningConcern::default() };
    weighed_candidate(index, pattern, row, concern, settings, now)
}

/// The patterns of a failure of this moment that were seen before it.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn candidates_for_failure(
    index: &Index,
    failed: &CurrentFailure,
    settings: &Settings,
    now: Timestamp,
) -> Result<Vec<WarningCandidate>, StoreError> {
    let mut found: Vec<WarningCandidate> = Vec::new();
    for key in failed.keys.iter().take(OF_FAILURE_MAX) {
        let Some((failures, _, pattern)) = index.count_occurrences_before(key, failed.started_at)? else { continue };
        let mut row = index.advice_row(pattern)?;
        if row.silenced || found.iter().any(|known| known.key == row.key) {
            continue;
        }
        row.failures = failures;
        row.seen.retain(|(_, at)| *at < failed.started_at);
        let concern = WarningConcern { failed: true, ..WarningConcern::default() };
        found.extend(weighed_candidate(index, pattern, row, concern, settings, now)?);
    }
    Ok(found)
}

/// A pattern with its confidence; `None` if every sighting was a flake.
fn weighed_candidate(
    index: &Index,
    pattern: i64,
    row: AdviceRow,
    concern: WarningConcern,
    settings: &Settings,
    now: Timestamp,
) -> Result<Option<WarningCandidate>, StoreError> {
    if row.seen.is_empty() {
        return Ok(None);
    }
    let told: Vec<JudgedDelivery> =
        index.shown_deliveries_of_pattern(pattern)?.into_iter().filter_map(JudgedDelivery::from_brief_row).collect();
    let failed: HashSet<&str> = told.iter().filter(|it| it.failed).map(|it| it.task.as_str()).collect();
    let warned: HashSet<&str> = told.iter().map(|it| it.task.as_str()).collect();
    let (warned, prevented) = (warned.len() as u64, (warned.len() - failed.len()) as u64);
    let (confidence, evidence) = if told.is_empty() {
        confidence::unwarned_confidence(row.seen.len(), &settings.confidence)
    } else {
        // The ledger's events are not needed here.
        let sighting =
            |(task, at): &(i64, Timestamp)| PatternOccurrence { run: String::new(), at: *at, task: task.to_string() };
        let seen: Vec<PatternOccurrence> = row.seen.iter().map(sighting).collect();
        let believed = confidence::pattern_confidence(&seen, &told, &settings.confidence);
        (believed.value, believed.evidence)
    };
    Ok(Some(WarningCandidate {
        key: row.key,
        family: row.family,
        failures: row.failures,
        confidence,
        evidence,
        frequency: ranking::recent_frequency(row.seen.iter().map(|(_, at)| now.micros_since(*at)), &settings.advice),
        exposures: row.exposures,
        has_files: !row.files.is_empty(),
        main_file: row.files.into_iter().next().map(|(file, _)| file),
        prevented,
        warned,
        concern,
    }))
}

/// One matching word of several is no evidence: two are.
fn has_telling_words(words: &[String], masked: &str) -> bool {
    let masked = masked.to_lowercase();
    let fitting = words.iter().filter(|word| masked.contains(word.as_str())).count();
    fitting >= words.len().clamp(1, 2)
}
