//! `/api/qa/failures/…`: failures in numbers, and their patterns.

use serde::Serialize;
use serde_json::Value;

use crate::base::clock::Timestamp;
use crate::ops::board::Board;
use crate::ops::board::figures::BoardFigure;
use crate::ops::board::patterns::{KnownPattern, PatternLine, PatternOrder, PatternQuery, PatternScope};
use crate::ops::board::severity::PatternSeverity;
use crate::ops::board::totals::{CategoryTotal, FailureTotals};
use crate::ops::reply::Reply;
use crate::surface::http::ask::HttpAsk;
use crate::surface::http::records::pattern_query;

/// What is said where nothing is known: these fields are texts.
const NOT_KNOWN: &str = "not known yet";
/// Rows of a list, unless asked otherwise.
const ROWS: usize = 100;

/// Failures in numbers.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::http) struct DashboardDocument {
    /// All failures that count.
    pub total_failures: FailureTotalDocument,
    /// By category, the most frequent first.
    pub by_category: Vec<CategoryTotal>,
    /// The resolved ones.
    pub resolution_rate: ResolutionDocument,
    /// The patterns with the most failures, at most ten.
    pub top_patterns: Vec<FrequentPatternDocument>,
    /// The figures of the days that were asked for, else of the last 30 days.
    pub figures: Vec<BoardFigure>,
}

/// All failures that count.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::http) struct FailureTotalDocument {
    /// How many.
    pub count: u64,
}

/// The resolved ones of all failures.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::http) struct ResolutionDocument {
    /// Their share, 0 to 1; `null` without a failure.
    pub rate: Option<f64>,
}

/// A pattern with many failures.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::http) struct FrequentPatternDocument {
    /// Its name for people.
    pub pattern_name: String,
    /// Failures that have it; with a filter those of the filter.
    pub occurrences: u64,
    /// Prevented ones of the warned tasks whose outcome is known; 0.5 without any. Observed, with no control
    /// group.
    pub prevention_effectiveness: f64,
    /// From 0 to 1.
    pub confidence: f64,
    /// `p-…`
    pub id: String,
    /// The most frequent category of its failures.
    pub failure_category: String,
    /// Distinct tasks.
    pub tasks: u64,
    /// How urgent it is; `null` when it is not open.
    pub severity: Option<PatternSeverity>,
    /// Its last failure.
    pub last_seen_at: Timestamp,
}

/// A page of patterns.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::http) struct PatternsDocument {
    /// In the order that was asked for.
    pub patterns: Vec<PatternDocument>,
    /// How many are in this answer.
    pub count: u64,
    /// How many there are in all; `null` of a part of them.
    pub total: Option<u64>,
    /// What the next page is asked for with; `null` at the end.
    pub next: Option<String>,
}

/// A pattern.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::http) struct PatternDocument {
    /// `p-…`
    pub id: String,
    /// Its name for people.
    pub pattern_name: String,
    /// The most frequent category of its failures.
    pub failure_category: String,
    /// The message with its variable parts masked.
    pub error_pattern: String,
    /// The files that it belongs to.
    pub file_pattern: Option<String>,
    /// What happens.
    pub description: String,
    /// Why, as far as it is known.
    pub common_cause: String,
    /// What helps, as far as it is known.
    pub recommended_fix: String,
    /// Failures that have it.
    pub occurrences: u64,
    /// Warned tasks without the mistake.
    pub prevention_successes: u64,
    /// Warned tasks that made it.
    pub prevention_failures: u64,
    /// Prevented ones of both; 0.5 without any. Observed, with no control
    /// group.
    pub prevention_effectiveness: f64,
    /// `k-…` of the entry that says what helps.
    pub knowledge_entry_id: Option<String>,
    /// From 0 to 1.
    pub confidence: f64,
    /// Its first failure.
    pub first_seen_at: Timestamp,
    /// Its last failure.
    pub last_seen_at: Timestamp,
    /// As `first_seen_at`.
    pub created_at: Timestamp,
    /// As `last_seen_at`.
    pub updated_at: Timestamp,
}

/// `GET /api/qa/failures/dashboard`
pub(in crate::surface::http) fn dashboard(ask: &HttpAsk) -> anyhow::Result<Value> {
    let filter = ask.filter()?;
    let opened = Board::open(&ask.request)?;
    let document = match &opened.board {
        Some(board) => DashboardDocument::from_totals(board.failure_totals(&filter)?),
        None => DashboardDocument::empty(),
    };
    Ok(serde_json::to_value(Reply::from(document))?)
}

/// `GET /api/qa/failures/patterns`
pub(in crate::surface::http) fn patterns(ask: &HttpAsk) -> anyhow::Result<PatternsDocument> {
    let mut query = pattern_query(ask, PatternOrder::Confidence)?;
    if ask.parameter("state").is_none() {
        query.scope = PatternScope::All;
    }
    let limit = if ask.parameter("limit").is_none() { ROWS } else { ask.limit()? };
    let opened = Board::open(&ask.request)?;
    match &opened.board {
        Some(board) => read_patterns(board, &query, ask.parameter("after"), limit),
        None => Ok(PatternsDocument { patterns: Vec::new(), count: 0, total: Some(0), next: None }),
    }
}

fn read_patterns(
    board: &Board<'_>,
    query: &PatternQuery,
    after: Option<&str>,
    limit: usize,
) -> anyhow::Result<PatternsDocument> {
    let (patterns, total, next) = board.known_patterns(query, after, limit)?;
    let patterns: Vec<_> = patterns.into_iter().map(PatternDocument::new).collect();
    Ok(PatternsDocument { count: patterns.len() as u64, patterns, total, next })
}

impl DashboardDocument {
    fn from_totals(totals: FailureTotals) -> Self {
        DashboardDocument {
            total_failures: FailureTotalDocument { count: totals.failures },
            by_category: totals.categories,
            resolution_rate: ResolutionDocument { rate: totals.resolution_rate },
            top_patterns: totals.patterns.into_iter().map(FrequentPatternDocument::from_line).collect(),
            figures: totals.figures,
        }
    }

    fn empty() -> Self {
        DashboardDocument {
            total_failures: FailureTotalDocument { count: 0 },
            by_category: Vec::new(),
            resolution_rate: ResolutionDocument { rate: None },
            top_patterns: Vec::new(),
            figures: Vec::new(),
        }
    }
}

impl FrequentPatternDocument {
    fn from_line(line: PatternLine) -> Self {
        FrequentPatternDocument {
            pattern_name: line.name,
            occurrences: line.failures_in_filter.unwrap_or(line.failures),
            prevention_effectiveness: line.prevention_effectiveness,
            confidence: line.confidence,
            id: line.id,
            failure_category: line.category,
            tasks: line.tasks,
            severity: line.severity,
            last_seen_at: line.last_seen,
        }
    }
}

impl PatternDocument {
    fn new(KnownPattern { line, sentence, cause, fix }: KnownPattern) -> Self {
        let known = |text: Option<&String>| {
            let text = text.map(|text| text.trim()).filter(|text| !text.is_empty());
            text.unwrap_or(NOT_KNOWN).to_owned()
        };
        let fix = fix.as_ref();
        PatternDocument {
            description: known(Some(&sentence)),
            // The cause comes with what helped, or not at all.
            common_cause: known(fix.and(cause.as_ref())),
            recommended_fix: known(fix.map(|it| &it.fix)),
            knowledge_entry_id: fix.map(|it| it.id.clone()),
            id: line.id,
            pattern_name: line.name,
            failure_category: line.category,
            error_pattern: line.title,
            file_pattern: line.files_pattern,
            occurrences: line.failures,
            prevention_successes: line.prevented,
            prevention_failures: line.failed_anyway,
            prevention_effectiveness: line.prevention_effectiveness,
            confidence: line.confidence,
            first_seen_at: line.first_seen,
            last_seen_at: line.last_seen,
            created_at: line.first_seen,
            updated_at: line.last_seen,
        }
    }
}
