//! What is known of a failure: of a recorded run, or of an output or message that somebody has at hand.

mod fragment;

use fragment::OutputFragment;
use serde::Serialize;

use super::strategy::{self, ErrorSource};
use super::{knowledge, reading, report, warn};
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::markdown::untagged;
use crate::base::text::{ellipsis, one_line};
use crate::base::tree::FsTree;
use crate::capture::Identity;
use crate::config::{Environment, Places, Settings};
use crate::diagnose::{self, Diagnostic, Input};
use crate::fingerprint::{self, SimilarityVerdict};
use crate::knowledge::remedy::{RemedyEscalation, RemedySuggestion};
use crate::pattern::confidence::{self, JudgedDelivery, PatternOccurrence};
use crate::pattern::knowledge::Strategy;
use crate::pattern::statistics::round_to_thousandth;
use crate::recorder;
use crate::run::Ended;
use crate::store::{Index, PatternRow, SegmentFolder, StoreError};
use crate::whitelist::Whitelist;

/// A text that is looked at, bytes: its first quarter and its end.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// A text that is compared as one message, bytes.
const MESSAGE_BYTES_MAX: usize = 2_000;
/// Items of a failure that are looked up.
const ITEMS_MAX: usize = 50;
/// Items that no pattern has, and that are compared with what reads alike.
const COMPARED_MAX: usize = 10;
/// What was tried against one pattern.
const FIXES_MAX: usize = 3;
/// Strategies of one answer.
const STRATEGIES_MAX: usize = 3;
/// A few words, a message, a command line, bytes.
const LINE_BYTES_MAX: usize = 300;

/// What is asked about.
#[derive(Debug, Clone, Default)]
pub(crate) struct LookupRequest {
    /// The output of a check, or a message in it; without one a recorded run is meant.
    pub text: Option<String>,
    /// The command line that printed the text.
    pub command: Option<String>,
    /// A recorded run, by the id of it, its failure, lesson or pattern; the last one of this work tree without.
    pub run: Option<String>,
    /// At most so many patterns.
    pub limit: usize,
}

/// What is known of a failure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LookupReply {
    /// Version of this shape.
    pub schema: u32,
    /// What this is about.
    pub about: LookupSubject,
    /// What was seen before, the surest match first.
    pub patterns: Vec<MatchedPattern>,
    /// Patterns beyond the limit.
    pub more: usize,
    /// What failed and is like nothing that was recorded.
    pub unknown: usize,
    /// What to do about it, the best first.
    pub strategies: Vec<RemedySuggestion>,
    /// One of these has failed in this task too often.
    pub escalation: Option<RemedyEscalation>,
    /// Bytes of the text that were not looked at.
    pub cut: usize,
    /// For standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// What is asked about. Every text is one line without control characters.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct LookupSubject {
    /// `text`, `run`; `nothing` where no run is recorded.
    pub source: &'static str,
    /// The run's id.
    pub run: Option<String>,
    /// `f-…`, of a run that failed.
    pub failure: Option<String>,
    /// What was run, secrets replaced.
    pub command: Option<String>,
    /// When it ended.
    pub at: Option<Timestamp>,
    /// Whether the run passed; `null` of a text.
    pub passed: Option<bool>,
    /// The failure's category.
    pub category: Option<String>,
    /// Its first message.
    pub summary: Option<String>,
}

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
    /// How far it is believed to be one that comes back, 0 to 1.
    pub confidence: f64,
    /// The lower bound of the evidence behind that.
    pub lower_bound: f64,
    /// Somebody wants no advice about it.
    pub muted: bool,
    /// Somebody said that it can't happen any more, or is no mistake.
    pub deprecated: bool,
    /// Why it happens, as somebody said.
    pub cause: Option<String>,
    /// What to do about it, as somebody said.
    pub rule: Option<String>,
    /// What was tried against it, what most surely helps first.
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
    pub technique: String,
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
    /// How far it is believed to help, 0 to 1; `null` of what never did.
    pub confidence: Option<f64>,
    /// `x-…` of fixes that it was part of, the newest first.
    pub fixes: Vec<String>,
}

/// What failed, as far as it is to be looked up.
struct FailureSubject {
    about: LookupSubject,
    against: Option<ErrorSource>,
    items: Vec<Diagnostic>,
    /// The text as one message, where no item was found in it.
    message: Option<String>,
    /// The text without terminal control.
    fragment: Option<OutputFragment>,
    cut: usize,
}

/// What is known of a failure. Nothing is recorded of the question.
///
/// # Errors
/// No such run, or the store can't be read.
pub(crate) fn look_up_failure(
    places: &Places,
    environment: &Environment,
    identity: &Identity,
    asked: &LookupRequest,
) -> anyhow::Result<LookupReply> {
    let (settings, _) = Settings::load(places, environment);
    let mut notes = Vec::new();
    let subject = match &asked.text {
        Some(text) => subject_from_text(places, environment, &settings, text, asked.command.as_deref()),
        None => subject_from_run(places, asked.run.as_deref(), &mut notes)?,
    };
    let FailureSubject { about, against, items, message, fragment, cut } = subject;
    let mut known = LookupReply {
        schema: 1,
        about,
        patterns: Vec::new(),
        more: 0,
        unknown: 0,
        strategies: Vec::new(),
        escalation: None,
        cut,
        notes,
    };
    let reading = reading::open_for_reading(places)?;
    known.notes.extend(reading.notes);
    known.unknown = items.len() + usize::from(message.is_some());
    if let Some(index) = &reading.index {
        let (found, unknown) = find_patterns(index, &settings, &items, message.as_deref(), fragment.as_ref())?;
        known.more = found.len().saturating_sub(asked.limit);
        known.unknown = unknown;
        for (found, row) in found.into_iter().take(asked.limit) {
            known.patterns.push(matched_pattern(index, &reading.segments, &settings, found, row)?);
        }
    }
    if let Some(against) = against.filter(|_| settings.advice.injection) {
        let suggested = strategy::suggest_strategies(places, &settings, identity, &against, None, STRATEGIES_MAX)?;
        known.notes.extend(suggested.notes);
        (known.strategies, known.escalation) = (suggested.strategies, suggested.escalation);
    }
    known.notes.sort();
    known.notes.dedup();
    Ok(known)
}

fn subject_from_run(places: &Places, id: Option<&str>, notes: &mut Vec<String>) -> anyhow::Result<FailureSubject> {
    let nothing =
        |about| FailureSubject { about, against: None, items: Vec::new(), message: None, fragment: None, cut: 0 };
    let (subject, more) = report::find_reported_run(places, id)?;
    notes.extend(more);
    let Some(crate::report::ReportedRun { id, record: run }) = subject else {
        return Ok(nothing(LookupSubject { source: "nothing", ..LookupSubject::default() }));
    };
    let about = LookupSubject {
        source: "run",
        run: Some(id.clone()),
        command: Some(bounded_line(&shell_words::join(run.argv.iter().map(Lossless::display)))),
        at: Some(run.ended_at),
        passed: Some(run.ended.passed()),
        ..LookupSubject::default()
    };
    let Some(failure) = run.failure else { return Ok(nothing(about)) };
    let about = LookupSubject {
        failure: Some(failure.id),
        category: Some(bounded_line(&failure.category)),
        summary: failure.items.first().map(|item| bounded_line(&item.message)),
        ..about
    };
    let items = failure.items.iter().map(crate::event::DiagnosticRecord::to_diagnostic).collect();
    Ok(FailureSubject {
        about,
        against: Some(ErrorSource::Run(Some(id))),
        items,
        message: None,
        fragment: None,
        cut: 0,
    })
}

fn subject_from_text(
    places: &Places,
    environment: &Environment,
    settings: &Settings,
    text: &str,
    command: Option<&str>,
) -> FailureSubject {
    let (text, cut) = shorten_text(text);
    let loaded = recorder::definitions::load_definitions(places, environment, &settings.categories);
    let command = command.unwrap_or_default();
    let check = Whitelist::open(places, environment).decide_line(command).into_check();
    let dir = check.as_ref().and_then(|check| check.dir.clone()).unwrap_or_default();
    let diagnosis = diagnose::diagnose_output(&Input {
        output: text.as_bytes(),
        command,
        tool: check.as_ref().map(|check| check.tool.as_str()),
        kind: check.as_ref().map(|check| check.kind),
        ended: Ended::Exit(1),
        dir: &dir,
        root: &places.root.to_string_lossy(),
        tree: &FsTree::new(&places.root),
        baseline: None,
        definitions: &loaded.definitions,
    });
    let message = diagnosis.items.is_empty() && text.len() <= MESSAGE_BYTES_MAX;
    let fragment = Some(OutputFragment::from_text(&diagnose::clean_output(text.as_bytes())));
    let about = LookupSubject {
        source: "text",
        command: (!command.is_empty()).then(|| bounded_line(command)),
        category: diagnosis.category.map(|category| bounded_line(category.as_str())),
        summary: diagnosis.items.first().map(|item| bounded_line(&item.message)),
        ..LookupSubject::default()
    };
    let against = (!text.trim().is_empty()).then(|| ErrorSource::Error(text.clone()));
    FailureSubject { about, against, items: diagnosis.items, message: message.then_some(text), fragment, cut }
}

/// The start and the end of a long text: what was run, and how it ended.
fn shorten_text(text: &str) -> (String, usize) {
    if text.len() <= TEXT_BYTES_MAX {
        return (text.to_owned(), 0);
    }
    let head = &text[..text.floor_char_boundary(TEXT_BYTES_MAX / 4)];
    let tail = &text[text.ceil_char_boundary(text.len() - TEXT_BYTES_MAX / 4 * 3)..];
    (format!("{head}\n{tail}"), text.len() - head.len() - tail.len())
}

/// The patterns of what failed, the surest first, each once; and how many items have none.
fn find_patterns(
    index: &Index,
    settings: &Settings,
    items: &[Diagnostic],
    message: Option<&str>,
    fragment: Option<&OutputFragment>,
) -> anyhow::Result<(Vec<(PatternMatch, PatternRow)>, usize)> {
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
) -> anyhow::Result<bool> {
    let mut is_known = false;
    for key in strategy::patterns_like(index, settings, message)? {
        if let Some(row) = index.pattern_of_key(&key)? {
            add_match(found, PatternMatch::Words, row);
            is_known = true;
        }
    }
    Ok(is_known)
}

fn matched_pattern(
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
        (cause, rule) = knowledge::cause_and_rule(index, segments, row.number)?;
        let known = knowledge::pattern_remedies(index, segments, &row, settings, now)?;
        fixes = known.strategies.into_iter().take(FIXES_MAX).map(KnownRemedy::from_strategy).collect();
    }
    let lessons = index.pattern_lessons(row.number)?.into_iter().filter(|lesson| !lesson.forgotten);
    Ok(MatchedPattern {
        found,
        what: bounded_line(&warn::pattern_name(&index.brief_of_pattern(row.number)?)),
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
    fn from_strategy(strategy: Strategy) -> Self {
        KnownRemedy {
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
fn bounded_line(text: &str) -> String {
    ellipsis(untagged(&one_line(text)).trim(), LINE_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_start_and_its_end() {
        let text = format!("{}é{}", "a".repeat(TEXT_BYTES_MAX), "z".repeat(TEXT_BYTES_MAX));
        let (kept, cut) = shorten_text(&text);
        assert!(kept.starts_with('a') && kept.ends_with('z') && kept.len() <= TEXT_BYTES_MAX + 1, "{}", kept.len());
        assert_eq!(kept.len() - 1 + cut, text.len());
        assert_eq!(shorten_text("short"), ("short".to_owned(), 0));
    }

    #[test]
    fn what_is_said_of_it_is_one_line_without_tags() {
        assert_eq!(bounded_line("a\x1b[31m\n</system>\u{202e}"), "a[31m ‹/system›");
    }
}
