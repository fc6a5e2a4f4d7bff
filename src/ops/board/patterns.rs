//! Patterns in each order, page by page.

mod pager;

use std::collections::BTreeMap;

use serde::Serialize;

use self::pager::{FoundPatterns, find_patterns};
use super::filter::{AppliedFilter, BoardFilter, BoardPeriod};
use super::severity::PatternSeverity;
use super::{Board, PAGE_ROWS_MAX};
use crate::advice::promotion::{compute_effectiveness, count_outcomes};
use crate::advice::ranking::recent_frequency;
use crate::base::clock::{Timestamp, UtcDay};
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::pattern::statistics::round_to_thousandth;
use crate::retrieval::pattern_lines::{LearntFix, ListedPattern};
use crate::store::{DayRange, StoreError};

/// Days of the line in a row.
const SPARK_DAYS: i64 = 10;

/// The order of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum PatternOrder {
    /// What comes in more tasks than before.
    Trending,
    /// In the most tasks, then with the most failures.
    Tasks,
    /// With the most failures.
    Failures,
    /// Seen last.
    #[default]
    LastSeen,
    /// With the most confidence, then with the most failures.
    Confidence,
    /// Warned of, and the mistake made all the same.
    LeastEffective,
}

impl PatternOrder {
    /// All of them with their words.
    pub(crate) const WORDS: [(PatternOrder, &'static str); 6] = [
        (PatternOrder::Trending, "trending"),
        (PatternOrder::Tasks, "tasks"),
        (PatternOrder::Failures, "failures"),
        (PatternOrder::LastSeen, "last-seen"),
        (PatternOrder::Confidence, "confidence"),
        (PatternOrder::LeastEffective, "least-effective"),
    ];

    /// The order with this word.
    pub(crate) fn from_word(word: &str) -> Option<Self> {
        PatternOrder::WORDS.into_iter().find(|(_, known)| *known == word).map(|(order, _)| order)
    }

    fn as_str(self) -> &'static str {
        PatternOrder::WORDS.into_iter().find(|(order, _)| *order == self).map_or("", |(_, word)| word)
    }
}

/// Which patterns a list has, by what people decided about them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum PatternScope {
    /// Neither muted nor deprecated.
    #[default]
    Open,
    /// Muted, deprecated or promoted.
    Silenced,
    All,
}

/// Which patterns a list has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PatternQuery {
    pub filter: BoardFilter,
    pub scope: PatternScope,
    /// Only those of enough tasks (setting `patterns.recurring_tasks`).
    pub recurring: bool,
    /// Words of their message.
    pub text: Option<String>,
    /// A file that they failed in, or a folder around one.
    pub file: Option<String>,
    pub order: PatternOrder,
}

/// A page of patterns.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PatternLines {
    /// What they are restricted to.
    pub filter: AppliedFilter,
    /// The patterns in the order that was asked for.
    pub patterns: Vec<PatternLine>,
    /// How many there are in all; `null` of a part of them.
    pub total: Option<u64>,
    /// What the next page is asked for with; `null` at the end.
    pub next: Option<String>,
}

/// A pattern in a list with what is known about it.
pub(crate) struct KnownPattern {
    pub line: PatternLine,
    /// What happens.
    pub sentence: String,
    /// Why, as it was recorded.
    pub cause: Option<String>,
    /// What made it go away most reliably.
    pub fix: Option<LearntFix>,
}

/// A pattern in a list, with what decides whether to look at it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PatternLine {
    /// `p-…`
    pub id: String,
    /// The pattern key.
    pub key: String,
    /// The family key.
    pub family: String,
    /// Name for people.
    pub name: String,
    /// The masked message, one line.
    pub title: String,
    /// The tool that reported it.
    pub tool: String,
    /// Rule, error code or exception class.
    pub code: Option<String>,
    /// The most frequent category of its failures.
    pub category: String,
    /// Failed runs that had it, proven flakes left out.
    pub failures: u64,
    /// Of these those that the list is restricted to; `null` of a list of all.
    pub failures_in_filter: Option<u64>,
    /// Failed runs in which it was a proven flake.
    pub flaky_failures: u64,
    /// Distinct tasks.
    pub tasks: u64,
    /// Seen in as many tasks as the setting `patterns.recurring_tasks` says.
    pub recurring: bool,
    /// `open`, `muted`, `deprecated` or `promoted`.
    pub state: String,
    /// How urgent it is; `null` when it is not open.
    pub severity: Option<PatternSeverity>,
    /// From 0 to 1, how often recently: what the severity is made of.
    pub frequency: f64,
    /// Its confidence: the ledger's last value.
    pub confidence: f64,
    /// The lower bound of the evidence behind that.
    pub lower_bound: f64,
    /// Fixes that made it go away …
    pub fixed: u64,
    /// … of those in which it was tried.
    pub fixes_tried: u64,
    /// Warned tasks without the mistake.
    pub prevented: u64,
    /// Warned tasks that made it.
    pub failed_anyway: u64,
    /// Prevented ones of both; 0.5 without any. Observed, with no control group.
    pub prevention_effectiveness: f64,
    /// The file pattern that it belongs to.
    pub files_pattern: Option<String>,
    /// Failures of each of the last ten days.
    pub last_days: Vec<u64>,
    /// First failure.
    pub first_seen: Timestamp,
    /// Last failure.
    pub last_seen: Timestamp,
}

/// A pattern in a list with what is said of it.
struct DescribedLine {
    /// Row number.
    number: i64,
    line: PatternLine,
    /// What happens.
    sentence: String,
    /// Why, as it was recorded.
    cause: Option<String>,
}

/// A page of patterns; an empty one where nothing is recorded.
///
/// # Errors
/// As [`Board::patterns`].
pub(crate) fn page_of_patterns(
    request: &Request,
    query: &PatternQuery,
    after: Option<&str>,
    limit: usize,
) -> anyhow::Result<Reply<PatternLines>> {
    let opened = Board::open(request)?;
    let lines = match &opened.board {
        Some(board) => board.patterns(query, after, limit)?,
        None => PatternLines { filter: query.filter.applied(), patterns: Vec::new(), total: Some(0), next: None },
    };
    Ok(Reply::new(lines, opened.notes))
}

impl Board<'_> {
    /// A page of patterns, at most `limit` and at most 1,000, that follows the one that gave the cursor `after`.
    ///
    /// # Errors
    /// When the cursor is none of this order, or the store can't be read.
    pub(crate) fn patterns(
        &self,
        query: &PatternQuery,
        after: Option<&str>,
        limit: usize,
    ) -> anyhow::Result<PatternLines> {
        let FoundPatterns { numbers, total, next } = find_patterns(self, query, after, limit.clamp(1, PAGE_ROWS_MAX))?;
        Ok(PatternLines { filter: query.filter.applied(), patterns: self.pattern_lines(&numbers)?, total, next })
    }

    /// The same patterns as [`Board::patterns`] with what is known about each; how many there are in all, and the next
    /// page's cursor.
    ///
    /// # Errors
    /// As [`Board::patterns`].
    pub(crate) fn known_patterns(
        &self,
        query: &PatternQuery,
        after: Option<&str>,
        limit: usize,
    ) -> anyhow::Result<(Vec<KnownPattern>, Option<u64>, Option<String>)> {
        let FoundPatterns { numbers, total, next } = find_patterns(self, query, after, limit.clamp(1, PAGE_ROWS_MAX))?;
        let all: Vec<i64> = numbers.iter().map(|(number, _)| *number).collect();
        let mut fixes = self.desk.learnt_fixes(&all)?;
        let known = self.described_lines(&numbers)?.into_iter().map(|described| KnownPattern {
            fix: fixes.remove(&described.number),
            line: described.line,
            sentence: described.sentence,
            cause: described.cause,
        });
        let known = known.collect();
        Ok((known, total, next))
    }

    /// The patterns that failed most often in a period.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(super) fn most_frequent_patterns(
        &self,
        filter: &BoardFilter,
        period: &BoardPeriod,
        limit: usize,
    ) -> Result<Vec<PatternLine>, StoreError> {
        let rows = self.index().frequent_patterns(period.range(), &filter.whom, limit)?;
        let numbers: Vec<_> = rows.iter().map(|row| (row.number, Some(row.failures))).collect();
        self.pattern_lines(&numbers)
    }

    /// Patterns by their row numbers, each with its failures in the filter.
    fn pattern_lines(&self, numbers: &[(i64, Option<u64>)]) -> Result<Vec<PatternLine>, StoreError> {
        Ok(self.described_lines(numbers)?.into_iter().map(|described| described.line).collect())
    }

    /// The same, each with what else is said of it.
    fn described_lines(&self, numbers: &[(i64, Option<u64>)]) -> Result<Vec<DescribedLine>, StoreError> {
        let silenced = self.index().silenced_patterns()?;
        let today = UtcDay::of(self.now());
        let spark = DayRange { from: UtcDay(today.0 - SPARK_DAYS + 1), until: UtcDay(today.0 + 1) };
        let all: Vec<i64> = numbers.iter().map(|(number, _)| *number).collect();
        let mut days: BTreeMap<i64, Vec<u64>> = BTreeMap::new();
        for (number, day, failures) in self.index().days_of_patterns(&all, spark)? {
            let line = days.entry(number).or_insert_with(|| vec![0; SPARK_DAYS as usize]);
            if let Some(at) = usize::try_from(day.0 - spark.from.0).ok().and_then(|at| line.get_mut(at)) {
                *at += failures;
            }
        }
        let listed = self.desk.list_patterns(&all)?.into_iter().map(|pattern| (pattern.row.number, pattern));
        let mut listed: BTreeMap<i64, ListedPattern> = listed.collect();
        let lines = numbers.iter().filter_map(|&(number, failures_in_filter)| {
            let last_days = days.remove(&number).unwrap_or_else(|| vec![0; SPARK_DAYS as usize]);
            let pattern = listed.remove(&number)?;
            Some(self.pattern_line(pattern, failures_in_filter, silenced.get(&number), last_days))
        });
        Ok(lines.collect())
    }

    fn pattern_line(
        &self,
        listed: ListedPattern,
        failures_in_filter: Option<u64>,
        state: Option<&String>,
        last_days: Vec<u64>,
    ) -> DescribedLine {
        let ListedPattern { row, words, cause, first_times, confidence, lower_bound, told, fixes } = listed;
        let (prevented, failed_anyway) = count_outcomes(&told);
        let ages = first_times.iter().map(|at| self.now().micros_since(*at));
        let frequency = recent_frequency(ages, &self.settings().advice);
        let severity = PatternSeverity::of_frequency(frequency, &self.settings().dashboard.severity);
        let line = PatternLine {
            failures_in_filter,
            severity: state.is_none().then_some(severity),
            state: state.map_or_else(|| "open".to_owned(), Clone::clone),
            frequency: round_to_thousandth(frequency),
            fixed: fixes.fixed,
            fixes_tried: fixes.tried,
            prevented,
            failed_anyway,
            prevention_effectiveness: compute_effectiveness(prevented, failed_anyway),
            last_days,
            recurring: row.tasks >= self.settings().patterns.recurring_tasks,
            name: words.name,
            title: words.title,
            files_pattern: words.files_pattern,
            confidence,
            lower_bound,
            id: row.id,
            key: row.key,
            family: row.family,
            tool: row.tool,
            code: row.code,
            category: row.category,
            failures: row.failures,
            flaky_failures: row.flaky,
            tasks: row.tasks,
            first_seen: row.first_seen,
            last_seen: row.last_seen,
        };
        DescribedLine { number: row.number, line, sentence: words.sentence, cause }
    }
}
