//! The patterns that a failure is, or reads like.

use std::collections::BTreeSet;

use serde::Serialize;

use super::fragment::OutputFragment;
use super::pattern_remedies::{cause_and_rule, pattern_remedies};
use super::remedy_candidates::patterns_like;
use crate::base::clock::Timestamp;
use crate::base::markdown::untagged;
use crate::base::text::{ellipsis, one_line};
use crate::config::Settings;
use crate::diagnose::Diagnostic;
use crate::event::Technique;
use crate::fingerprint::{self, SimilarityVerdict};
use crate::pattern::confidence::{self, JudgedDelivery, PatternOccurrence};
use crate::pattern::knowledge::Strategy;
use crate::pattern::statistics::round_to_thousandth;
use crate::pattern::wording::brief_pattern_name;
use crate::store::{Index, PatternRow, SegmentFolder, StoreError};

/// Items of a failure that are looked up.
const ITEMS_MAX: usize = 50;
/// Items that no pattern has, and that are compared with what reads alike.
const COMPARED_MAX: usize = 10;
/// What was tried against one pattern.
const FIXES_MAX: usize = 3;
/// A few words, a message, a command line, bytes.
const LINE_BYTES_MAX: usize = 300;

/// How a pattern was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PatternMatch {
    /// It is the same failure.
    Exact,
    /// It says the same in other words.
    Near,
    /// The text names its test, its rule, or most of its message.
    Named,
    /// It has much the same words.
    Words,
}

/// A failure that was seen before. Every text is one line without control characters and tags.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct MatchedPattern {
    /// `p-…`
    pub id: String,
    /// How it was found.
    pub found: PatternMatch,
    /// What a person would call it.
    pub what: String,
    /// The tool that reported it.
    pub tool: String,
    /// Rule, error code or exception class.
    pub code: Option<String>,
    /// The most frequent category.
    pub category: String,
    /// Failed runs that had it, the one that is asked about included.
    pub failures: u64,
    /// Distinct tasks in which it was seen.
    pub tasks: u64,
    /// First failure.
    pub first_seen: Timestamp,
    /// Last failure.
    pub last_seen: Timestamp,
    /// The confidence that it comes back, 0 to 1.
    pub confidence: f64,
    /// The lower bound of the evidence behind that.
    pub lower_bound: f64,
    /// Muted: no advice is wanted about it.
    pub muted: bool,
    /// Deprecated: it can't happen any more, or is not a mistake.
    pub deprecated: bool,
    /// Why it happens, as recorded.
    pub cause: Option<String>,
    /// What to do about it, as recorded.
    pub rule: Option<String>,
    /// What was tried against it, the most reliable first.
    pub fixes: Vec<KnownRemedy>,
    /// `l-…` of the lessons about it.
    pub lessons: Vec<String>,
}

/// Something that was tried against a pattern.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct KnownRemedy {
    /// `s-…`
    pub strategy: String,
    /// `shape` (the changed lines read alike), `files` (the same files), `command`.
    pub technique: Technique,
    /// What was done: the changed line, the files, the command.
    pub what: String,
    /// How often the pattern was gone afterwards …
    pub successes: u64,
    /// … of how often it was tried.
    pub tries: u64,
    /// The lower bound of that share: what ranks it.
    pub lower_bound: f64,
    /// It held, or worked twice.
    pub confirmed: bool,
    /// A job proved one of its fixes: the check fails without that fix and passes with it.
    pub proven: bool,
    /// Confidence that it helps, 0 to 1; `null` of what never did.
    pub confidence: Option<f64>,
    /// `x-…` of fixes that it was part of, the newest first.
    pub fixes: Vec<String>,
}

/// The patterns of what failed, the surest first, each once; and how many items have none.
pub(crate) fn find_patterns(
    index: &Index,
    settings: &Settings,
    items: &[Diagnostic],
    message: Option<&str>,
    fragment: Option<&OutputFragment>,
) -> Result<(Vec<(PatternMatch, PatternRow)>, usize), StoreError> {
    let mut found: Vec<(PatternMatch, PatternRow)> = Vec::new();
    let mut left = Vec::new();
    let mut keys: Vec<String> = Vec::new();
    for item in items {
        let key = fingerprint::compute_fingerprint(item).pattern;
        if keys.contains(&key) || keys.len() == ITEMS_MAX {
            continue;
        }
        match index.pattern_of_key(&key)? {
            Some(row) => add_match(&mut found, PatternMatch::Exact, row),
            None => left.push(item),
        }
        keys.push(key);
    }
    let mut unknown = left.len().saturating_sub(COMPARED_MAX);
    for item in left.into_iter().take(COMPARED_MAX) {
        if let Some(row) = nearest_pattern(index, settings, item)? {
            add_match(&mut found, PatternMatch::Near, row);
        } else if !add_similar(index, settings, &item.message, &mut found)? {
            unknown += 1;
        }
    }
    if let Some(message) = message
        && !add_similar(index, settings, message, &mut found)?
    {
        unknown += 1;
    }
    let named = fragment.map(|fragment| fragment.find_patterns(index)).transpose()?.unwrap_or_default();
    for named in &named {
        let known = found.iter().any(|(_, row)| row.number == named.pattern);
        if !known {
            add_match(&mut found, PatternMatch::Named, index.pattern_at(named.pattern)?);
            unknown = unknown.saturating_sub(1);
        }
    }
    // What has the same words by and large comes after what the text names.
    let score = |row: &PatternRow| named.iter().find(|it| it.pattern == row.number).map_or(0.0, |it| it.score);
    found.sort_by(|(a, one), (b, other)| {
        let is_exact = |found: &PatternMatch| *found != PatternMatch::Exact;
        let by_score = score(other).total_cmp(&score(one));
        is_exact(a).cmp(&is_exact(b)).then(by_score).then(a.cmp(b)).then(other.failures.cmp(&one.failures))
    });
    Ok((found, unknown))
}

fn add_match(found: &mut Vec<(PatternMatch, PatternRow)>, how: PatternMatch, row: PatternRow) {
    if found.iter().all(|(_, known)| known.number != row.number) {
        found.push((how, row));
    }
}

/// The pattern that says the same in other words, if there is one.
fn nearest_pattern(index: &Index, settings: &Settings, item: &Diagnostic) -> Result<Option<PatternRow>, StoreError> {
    let Some(near) = fingerprint::sketch_message(item) else { return Ok(None) };
    let compared = index.near_patterns(&near)?.into_iter().filter_map(|row| {
        let compared = fingerprint::compare_messages(&near.text, &row.text, settings.patterns.similarity);
        (compared.verdict == SimilarityVerdict::Same).then_some((compared.similarity, row.key))
    });
    match compared.max_by(|(a, _), (b, _)| a.total_cmp(b)) {
        Some((_, key)) => index.pattern_of_key(&key),
        None => Ok(None),
    }
}

/// Adds the patterns that have much the same words; whether there is one.
fn add_similar(
    index: &Index,
    settings: &Settings,
    message: &str,
    found: &mut Vec<(PatternMatch, PatternRow)>,
) -> Result<bool, StoreError> {
    let mut is_known = false;
    for key in patterns_like(index, settings, message)? {
        if let Some(row) = index.pattern_of_key(&key)? {
            add_match(found, PatternMatch::Words, row);
            is_known = true;
        }
    }
    Ok(is_known)
}

/// A pattern with what is known of it.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn matched_pattern(
    index: &Index,
    segments: &SegmentFolder,
    settings: &Settings,
    found: PatternMatch,
    row: PatternRow,
) -> Result<MatchedPattern, StoreError> {
    let now = Timestamp::now();
    let sightings = index.first_occurrences(row.number)?.into_iter();
    let sightings: Vec<_> = sightings.map(|it| PatternOccurrence { run: it.run, at: it.at, task: it.task }).collect();
    let told: Vec<_> =
        index.deliveries_of_pattern(row.number)?.into_iter().filter_map(JudgedDelivery::from_outcome_row).collect();
    let confidence = confidence::pattern_confidence(&sightings, &told, &settings.confidence);
    let (mut cause, mut rule, mut fixes) = (None, None, Vec::new());
    if settings.advice.injection {
        (cause, rule) = cause_and_rule(index, segments, row.number)?;
        let known = pattern_remedies(index, segments, &row, settings, now)?;
        let proven = index.proven_fixes()?;
        let strategies = known.strategies.into_iter().take(FIXES_MAX);
        fixes = strategies.map(|strategy| KnownRemedy::from_strategy(strategy, &proven)).collect();
    }
    let lessons = index.pattern_lessons(row.number)?.into_iter().filter(|lesson| !lesson.forgotten);
    Ok(MatchedPattern {
        found,
        what: bounded_line(&brief_pattern_name(&index.brief_of_pattern(row.number)?)),
        tool: bounded_line(&row.tool),
        code: row.code.as_deref().map(bounded_line),
        category: bounded_line(&row.category),
        failures: row.failures,
        tasks: row.tasks,
        first_seen: row.first_seen,
        last_seen: row.last_seen,
        confidence: round_to_thousandth(confidence.value),
        lower_bound: round_to_thousandth(confidence.evidence.lower_bound),
        muted: row.muted,
        deprecated: row.deprecated,
        cause: cause.as_deref().map(bounded_line),
        rule: rule.as_deref().map(bounded_line),
        fixes,
        lessons: lessons.map(|lesson| lesson.id).collect(),
        id: row.id,
    })
}

impl KnownRemedy {
    fn from_strategy(strategy: Strategy, proven_fixes: &BTreeSet<String>) -> Self {
        KnownRemedy {
            proven: strategy.successes > 0 && strategy.fixes.iter().any(|fix| proven_fixes.contains(fix)),
            strategy: strategy.id,
            technique: strategy.technique,
            what: bounded_line(&strategy.label),
            successes: strategy.successes,
            tries: strategy.tries,
            lower_bound: round_to_thousandth(strategy.lower_bound),
            confirmed: strategy.confirmed,
            confidence: strategy.confidence.map(|confidence| round_to_thousandth(confidence.value)),
            fixes: strategy.fixes,
        }
    }
}

/// One line, also for a model: nothing in it looks like a tag that gives orders.
pub(crate) fn bounded_line(text: &str) -> String {
    ellipsis(untagged(&one_line(text)).trim(), LINE_BYTES_MAX)
}
