//! What is known of a failure: of a recorded run, or of an output or message that the caller has at hand.

use serde::Serialize;

use super::reply::Reply;
use super::report;
use super::request::Request;
use super::strategy::{self, ErrorSource};
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::tree::FsTree;
use crate::diagnose::{self, DiagnosisInput, Diagnostic};
use crate::knowledge::remedy::{RemedyEscalation, RemedySuggestion};
use crate::recorder;
use crate::retrieval::fragment::OutputFragment;
use crate::retrieval::pattern_match::{MatchedPattern, bounded_line, find_patterns, matched_pattern};
use crate::run::CommandEnd;
use crate::whitelist::Whitelist;

/// A text that is looked at, bytes: its first quarter and its end.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// A text that is compared as one message, bytes.
const MESSAGE_BYTES_MAX: usize = 2_000;
/// Strategies of one answer.
const STRATEGIES_MAX: usize = 3;

/// Subject of a lookup.
#[derive(Debug, Clone, Default)]
pub(crate) struct LookupRequest {
    /// The output of a check, or a message in it; without one a recorded run is meant.
    pub text: Option<String>,
    /// The command line that printed the text.
    pub command: Option<String>,
    /// A recorded run, by the id of it, its failure, lesson or pattern; the last one of this work tree without.
    pub run: Option<String>,
    /// At most this many patterns.
    pub limit: usize,
}

/// What is known of a failure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LookupReply {
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
pub(crate) fn look_up_failure(request: &Request, asked: &LookupRequest) -> anyhow::Result<Reply<LookupReply>> {
    let settings = request.settings();
    let mut notes = Vec::new();
    let subject = match &asked.text {
        Some(text) => subject_from_text(request, text, asked.command.as_deref()),
        None => subject_from_run(request, asked.run.as_deref(), &mut notes)?,
    };
    let FailureSubject { about, against, items, message, fragment, cut } = subject;
    let mut known = Reply::new(
        LookupReply { about, patterns: Vec::new(), more: 0, unknown: 0, strategies: Vec::new(), escalation: None, cut },
        notes,
    );
    let reading = request.open_for_reading()?;
    known.notes.extend(reading.notes);
    known.data.unknown = items.len() + usize::from(message.is_some());
    if let Some(index) = &reading.index {
        let (found, unknown) = find_patterns(index, settings, &items, message.as_deref(), fragment.as_ref())?;
        known.data.more = found.len().saturating_sub(asked.limit);
        known.data.unknown = unknown;
        for (found, row) in found.into_iter().take(asked.limit) {
            known.data.patterns.push(matched_pattern(index, &reading.segments, settings, found, row)?);
        }
    }
    if let Some(against) = against.filter(|_| settings.advice.injection) {
        let suggested = strategy::suggest_strategies(request, &against, None, STRATEGIES_MAX)?;
        known.notes.extend(suggested.notes);
        (known.data.strategies, known.data.escalation) = (suggested.data.strategies, suggested.data.escalation);
    }
    known.notes.sort();
    known.notes.dedup();
    Ok(known)
}

fn subject_from_run(request: &Request, id: Option<&str>, notes: &mut Vec<String>) -> anyhow::Result<FailureSubject> {
    let nothing =
        |about| FailureSubject { about, against: None, items: Vec::new(), message: None, fragment: None, cut: 0 };
    let (subject, more) = report::find_reported_run(request, id)?;
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

fn subject_from_text(request: &Request, text: &str, command: Option<&str>) -> FailureSubject {
    let (text, cut) = shorten_text(text);
    let loaded =
        recorder::definitions::load_definitions(&request.places, &request.environment, &request.settings().categories);
    let command = command.unwrap_or_default();
    let check = Whitelist::open(&request.places, &request.environment).decide_line(command).into_check();
    let dir = check.as_ref().and_then(|check| check.dir.clone()).unwrap_or_default();
    let diagnosis = diagnose::diagnose_output(&DiagnosisInput {
        output: text.as_bytes(),
        command,
        tool: check.as_ref().map(|check| check.tool.as_str()),
        kind: check.as_ref().map(|check| check.kind),
        ended: CommandEnd::Exit(1),
        dir: &dir,
        root: &request.places.root.to_string_lossy(),
        tree: &FsTree::new(&request.places.root),
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
