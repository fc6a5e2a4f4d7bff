//! A warning's content: what happens, why, how to avoid it, how often, what worked, and its id. What isn't known isn't
//! said.

use serde::Serialize;

use super::ranking::{RankedWarning, WarningCandidate};
use crate::base::clock::Timestamp;
use crate::base::markdown::untagged;
use crate::base::text::{count, ellipsis, one_line};
use crate::event::Technique;
use crate::pattern::statistics::round_to_thousandth;

/// A cause, a rule, a fix, bytes.
const SAID_BYTES_MAX: usize = 200;
/// What happens, bytes.
const WHAT_BYTES_MAX: usize = 160;
/// Files named, and bytes of one.
const FILES_MAX: usize = 3;
const FILE_BYTES_MAX: usize = 120;
/// Warned tasks before which their share is not shown.
const TASKS_MIN: u64 = 2;

/// What is known of what a warning is about, as it was recorded.
#[derive(Debug, Clone, Default)]
pub(crate) struct WarningFacts {
    /// `p-…`, of a pattern.
    pub pattern: Option<String>,
    /// `k-…`, of an entry of the knowledge base.
    pub entry: Option<String>,
    /// The shared lesson that teaches it, its path.
    pub lesson: Option<String>,
    /// A few words for it.
    pub what: String,
    /// Why it happens, as recorded.
    pub cause: Option<String>,
    /// What to do about it, as a user or a detector says.
    pub rule: Option<String>,
    /// What made it go away.
    pub worked: Option<ProvenRemedy>,
    /// Files that it failed in, the most frequent first.
    pub files: Vec<String>,
    /// Distinct tasks.
    pub tasks: u64,
    /// Last failure.
    pub last_seen: Option<Timestamp>,
}

/// The fix and its success rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ProvenRemedy {
    /// What was done: the changed line, the files, the command.
    pub what: String,
    /// `shape` (lines that read alike), `files` (these files), `command`.
    pub technique: Technique,
    /// How often it helped …
    pub successes: u64,
    /// … of how often it was tried.
    pub tries: u64,
    /// It held, or worked twice.
    pub confirmed: bool,
    /// A job proved a fix that it was part of: the check fails without that fix and passes with it.
    pub proven: bool,
    /// All of it in a few words: `worked 3 of 4 times`.
    pub how_often: String,
}

/// A warning as formatters get it. Every text is one line without control characters and tags, bounded, and may hold
/// anything else that a tool printed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Warning {
    /// `w-…`
    pub id: String,
    /// Its place, from 1.
    pub rank: u32,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// What it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
    /// The shared lesson that teaches it, its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lesson: Option<String>,
    /// What happens.
    pub what: String,
    /// Where, up to three files.
    pub files: Vec<String>,
    /// Why.
    pub cause: Option<String>,
    /// How to avoid it.
    pub avoid: Option<String>,
    /// What worked.
    pub worked: Option<ProvenRemedy>,
    /// Failures so far; of an entry how often it was written.
    pub failures: u64,
    /// Distinct tasks.
    pub tasks: u64,
    /// `4 failures in 3 tasks`, `5 of 5 tasks like this one`, `written down 2 times`, the path of a shared lesson.
    pub how_often: String,
    /// What is known about changes of such files: `70 % of tasks that modify database/** fail (7 of 10)`.
    pub finding: Option<String>,
    /// Warned tasks that did without the mistake …
    pub prevented: u64,
    /// … of those in which it could be seen.
    pub warned: u64,
    /// `prevented in 8 of 10 warned tasks`; nothing where hardly any task was warned.
    pub prevention: Option<String>,
    /// Last failure.
    pub last_seen: Option<Timestamp>,
    /// Too young for confidence.
    pub unconfirmed: bool,
    /// Here to find out whether it helps.
    pub exploring: bool,
    /// 0 to 1.
    pub score: f64,
    /// 0 to 1.
    pub relevance: f64,
    /// 0 to 1.
    pub confidence: f64,
    /// 0 to 1.
    pub frequency: f64,
    /// Why it has its place.
    pub reason: String,
}

impl Warning {
    /// The warning called `id`, from its place and what is known.
    pub(crate) fn from_ranked(id: String, ranked: &RankedWarning, known: WarningFacts) -> Self {
        let said = |text: Option<String>| {
            let text = text.map(|text| bounded_text(&text, SAID_BYTES_MAX));
            text.map(|text| text.trim_end_matches('.').to_owned()).filter(|text| !text.is_empty())
        };
        let failures = ranked.candidate.failures;
        let WarningCandidate { prevented, warned, .. } = ranked.candidate;
        let lesson = known.lesson.map(|path| bounded_text(&path, FILE_BYTES_MAX));
        let how_often = match (known.entry.is_some(), ranked.candidate.concern.similar) {
            (true, _) if lesson.is_some() => lesson.clone().unwrap_or_default(),
            (true, _) => format!("written down {}", count(failures, "time")),
            (_, Some((hits, of))) => format!("in {hits} of {of} tasks like this one"),
            _ => format!("{} in {}", count(failures, "failure"), count(known.tasks, "task")),
        };
        Warning {
            id,
            rank: ranked.rank,
            pattern: known.pattern,
            entry: known.entry,
            lesson,
            what: bounded_text(&known.what, WHAT_BYTES_MAX),
            files: known.files.iter().take(FILES_MAX).map(|file| bounded_text(file, FILE_BYTES_MAX)).collect(),
            cause: said(known.cause),
            avoid: said(known.rule),
            worked: known.worked,
            failures,
            tasks: known.tasks,
            how_often,
            finding: said(ranked.candidate.concern.finding.clone()),
            prevented,
            warned,
            prevention: prevention_text(prevented, warned),
            last_seen: known.last_seen,
            unconfirmed: ranked.unconfirmed,
            exploring: ranked.exploring,
            score: round_to_thousandth(ranked.score),
            relevance: round_to_thousandth(ranked.relevance),
            confidence: round_to_thousandth(ranked.confidence),
            frequency: round_to_thousandth(ranked.candidate.frequency),
            reason: bounded_text(&ranked.reason, 2 * SAID_BYTES_MAX),
        }
    }
}

impl Warning {
    /// All of it in one line, as it is kept.
    pub(crate) fn to_line(&self) -> String {
        let what = match &self.finding {
            Some(finding) => format!("{finding}: {}", self.what),
            None => self.what.clone(),
        };
        let said = |label: &str, text: &Option<String>| text.as_ref().map(|text| format!("{label}: {text}"));
        let worked = self.worked.as_ref().map(|worked| format!("Fix that {}: {}", worked.how_often, worked.what));
        let how_often = format!("{what} ({})", self.how_often);
        let parts = [Some(how_often), said("Why", &self.cause), said("Avoid", &self.avoid), worked];
        parts.into_iter().flatten().collect::<Vec<_>>().join(". ")
    }
}

/// How often warnings prevented the mistake, where enough tasks were warned for a figure.
pub(crate) fn prevention_text(prevented: u64, warned: u64) -> Option<String> {
    (warned >= TASKS_MIN).then(|| format!("prevented in {prevented} of {warned} warned tasks"))
}

impl ProvenRemedy {
    /// From what was done and its figures.
    pub(crate) fn from_figures(what: &str, technique: Technique, successes: u64, tries: u64, confirmed: bool) -> Self {
        let what = bounded_text(what, SAID_BYTES_MAX);
        let how_often = String::new();
        ProvenRemedy { what, technique, successes, tries, confirmed, proven: false, how_often }.with_words()
    }

    /// The same as part of a proven fix.
    pub(crate) fn in_proven_fix(self) -> Self {
        ProvenRemedy { proven: true, ..self }.with_words()
    }

    fn with_words(self) -> Self {
        let sure = match (self.proven, self.confirmed) {
            (true, _) => ", in a proven fix",
            (false, true) => "",
            (false, false) => ", unconfirmed",
        };
        let how_often = match self.tries {
            1 => format!("worked once{sure}"),
            _ => format!("worked {} of {} times{sure}", self.successes, self.tries),
        };
        ProvenRemedy { how_often, ..self }
    }

    /// How sure it is, one word.
    pub(crate) fn sure_word(&self) -> &'static str {
        match (self.proven, self.confirmed) {
            (true, _) => "proven",
            (false, true) => "confirmed",
            (false, false) => "unconfirmed",
        }
    }
}

/// Also what `--json` prints may be read by a model: nothing in it looks like a tag that gives orders.
fn bounded_text(text: &str, max: usize) -> String {
    ellipsis(untagged(&one_line(text)).trim(), max)
}
