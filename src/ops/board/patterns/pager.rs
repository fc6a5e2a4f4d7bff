//! Reads a list of patterns in one of its orders from where it goes on.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::{PatternOrder, PatternQuery, PatternScope};
use crate::advice::promotion::count_outcomes;
use crate::base::clock::Timestamp;
use crate::base::refusal::Refusal;
use crate::ops::board::Board;
use crate::ops::board::cursor::{CursorParts, cursor_number, cursor_time};
use crate::pattern::confidence::{JudgedDelivery, PatternOccurrence, pattern_confidence};
use crate::pattern::statistics::{rate_ratio_bound, share_bound};
use crate::store::{NewestRow, PatternKeyRow, PatternSubset, StoreError};

/// What is trending is compared with the four weeks before the last one.
const RECENT_DAYS: i64 = 7;
const STRETCHES: i64 = 4;
/// Half the width of a 90 % interval, in standard deviations.
const Z_90: f64 = 1.645;
/// Rows that are read at once of a list from which others are left out.
const CHUNK_ROWS: usize = 200;
/// Rows of a list that are looked at for a page; what is beyond is the next page's.
const LOOKED_AT_MAX: usize = 20_000;
/// Tasks of the ledger's closed form.
const LEDGER_TASKS_MAX: u64 = 1_000;
/// Scores are compared as whole numbers.
const SCORE_SCALE: f64 = 1e9;
const LIST: &str = "patterns";
const DAY_US: i64 = 86_400_000_000;

/// Where a pattern comes in an order: the first two numbers falling, the third rising.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct OrderKey(Reverse<i64>, Reverse<i64>, i64);

/// A pattern with its place.
type PlacedPattern = (OrderKey, PatternKeyRow);

/// Where a list goes on.
#[derive(Debug, Clone, Copy)]
struct ListMark {
    /// What was the newest when the first page was read: what came after it moves nothing.
    newest: NewestRow,
    /// The moment of the first page.
    now: Timestamp,
    key: OrderKey,
}

impl ListMark {
    fn encode(&self, order: PatternOrder) -> String {
        let OrderKey(Reverse(first), Reverse(second), tie) = self.key;
        let parts = CursorParts::new(LIST)
            .with(order.as_str())
            .with(self.newest.failure)
            .with(self.newest.run)
            .with(self.now.0);
        parts.with(first).with(second).with(tie).encode()
    }

    fn decode(order: PatternOrder, text: &str) -> anyhow::Result<Self> {
        let parts = CursorParts::decode(LIST, 7, text)?;
        let numbers = parts[1..].iter().map(|part| cursor_number(part)).collect::<anyhow::Result<Vec<_>>>()?;
        anyhow::ensure!(parts[0] == order.as_str(), Refusal::usage("the cursor is one of another order of this list"));
        let key = OrderKey(Reverse(numbers[3]), Reverse(numbers[4]), numbers[5]);
        let newest = NewestRow { failure: numbers[0], run: numbers[1] };
        Ok(ListMark { newest, now: cursor_time(&parts[3])?, key })
    }
}

/// A page of a list.
pub(super) struct FoundPatterns {
    /// Row numbers of the patterns, each with its failures in the filter; `None` of a list of all, or of a category.
    pub numbers: Vec<(i64, Option<u64>)>,
    pub total: Option<u64>,
    /// Cursor of the next page.
    pub next: Option<String>,
}

/// The `limit` patterns of a list that come after the cursor `after`.
///
/// # Errors
/// When the cursor is none of this order, or the store can't be read.
pub(super) fn find_patterns(
    board: &Board<'_>,
    query: &PatternQuery,
    after: Option<&str>,
    limit: usize,
) -> anyhow::Result<FoundPatterns> {
    let after = after.map(|text| ListMark::decode(query.order, text)).transpose()?;
    let mut pager = PatternPager::new(board, query, after)?;
    let mut found = pager.page(limit)?;
    let last = if found.len() > limit { Some(found[limit - 1].0) } else { pager.stopped };
    found.truncate(limit);
    let is_counted = !pager.subset.is_all() && !pager.subset.is_category();
    Ok(FoundPatterns {
        numbers: found.iter().map(|(_, row)| (row.number, is_counted.then_some(row.failures))).collect(),
        total: pager.total()?,
        next: last.map(|key| ListMark { key, ..pager.mark }.encode(query.order)),
    })
}

/// Reads a list from where it goes on.
struct PatternPager<'a> {
    board: &'a Board<'a>,
    query: &'a PatternQuery,
    subset: PatternSubset,
    mark: ListMark,
    is_first: bool,
    /// What failures of after the first page have, as it was then.
    touched: Vec<PatternKeyRow>,
    /// Those of them that were of another category then than the list's.
    foreign: BTreeSet<i64>,
    /// Runs of after the first page.
    runs: BTreeSet<String>,
    silenced: BTreeMap<i64, String>,
    /// Where reading stopped because enough was looked at.
    stopped: Option<OrderKey>,
}

impl<'a> PatternPager<'a> {
    fn new(board: &'a Board<'a>, query: &'a PatternQuery, after: Option<ListMark>) -> Result<Self, StoreError> {
        let mark = match after {
            Some(mark) => mark,
            None => ListMark {
                newest: board.index().newest_numbers()?,
                now: board.now(),
                key: OrderKey(Reverse(i64::MAX), Reverse(i64::MAX), i64::MIN),
            },
        };
        let words = query.text.as_deref().unwrap_or_default();
        let words = words.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
        let subset = PatternSubset {
            days: query.filter.asked_days(),
            whom: query.filter.whom.clone(),
            words: words.map(str::to_lowercase).take(20).collect(),
            file: query.file.clone(),
        };
        let touched = board.index().patterns_touched_since(mark.newest.failure)?;
        let mut foreign = BTreeSet::new();
        if let Some(category) = &subset.whom.category {
            for row in &touched {
                if board.index().category_until(row.number, mark.newest.failure)?.as_ref() != Some(category) {
                    foreign.insert(row.number);
                }
            }
        }
        Ok(PatternPager {
            runs: board.index().runs_since(mark.newest.run)?,
            touched,
            foreign,
            silenced: board.index().silenced_patterns()?,
            is_first: after.is_none(),
            stopped: None,
            board,
            query,
            subset,
            mark,
        })
    }

    /// The rows that follow, one more than `limit` where there is one.
    fn page(&mut self, limit: usize) -> anyhow::Result<Vec<PlacedPattern>> {
        let wanted = limit + 1;
        let is_walked = self.subset.is_category() && self.query.order == PatternOrder::Failures;
        if !self.subset.is_all() && !is_walked {
            return Ok(self.subset_page(wanted)?);
        }
        let found = match self.query.order {
            PatternOrder::Failures => self.walk(wanted, &BTreeSet::new(), |pager, after, limit| {
                let category = pager.subset.whom.category.as_deref();
                let after = after.map(|OrderKey(Reverse(failures), _, tie)| (unsigned(failures), tie));
                pager.board.index().patterns_by_failures(category, after, limit)
            })?,
            PatternOrder::Tasks => self.walk(wanted, &BTreeSet::new(), |pager, after, limit| {
                let after = after
                    .map(|OrderKey(Reverse(tasks), Reverse(failures), tie)| (unsigned(tasks), unsigned(failures), tie));
                pager.board.index().patterns_by_tasks(after, limit)
            })?,
            PatternOrder::LastSeen => self.walk(wanted, &BTreeSet::new(), |pager, after, limit| {
                let after = after.map(|OrderKey(Reverse(at), _, tie)| (Timestamp(at), tie));
                pager.board.index().patterns_by_last_seen(after, limit)
            })?,
            PatternOrder::Confidence => self.confidence_page(wanted)?,
            PatternOrder::Trending | PatternOrder::LeastEffective => self.computed_page(wanted)?,
        };
        Ok(found)
    }

    /// How many patterns the list has; `None` where all would have to be looked at.
    fn total(&self) -> Result<Option<u64>, StoreError> {
        let is_list = matches!(self.query.order, PatternOrder::Trending | PatternOrder::LeastEffective);
        if !self.subset.is_all() || self.query.recurring || is_list {
            return Ok(None);
        }
        let silenced = self.silenced.values().filter(|state| *state != "promoted").count() as u64;
        let all = self.board.index().count_patterns()?;
        Ok(Some(match self.query.scope {
            PatternScope::Open => all.saturating_sub(silenced),
            PatternScope::Silenced => self.silenced.len() as u64,
            PatternScope::All => all,
        }))
    }

    /// Whether the list has a pattern.
    fn has(&self, row: &PatternKeyRow) -> bool {
        let is_silenced = self.silenced.get(&row.number);
        let is_in_scope = match self.query.scope {
            PatternScope::Open => is_silenced.is_none_or(|state| state == "promoted"),
            PatternScope::Silenced => is_silenced.is_some(),
            PatternScope::All => true,
        };
        is_in_scope && (!self.query.recurring || row.tasks >= self.board.settings().patterns.recurring_tasks)
    }

    /// A pattern as it was when the first page was read; `None` when it was not known then.
    fn row_then(&self, row: PatternKeyRow) -> Option<PatternKeyRow> {
        let touched = self.touched.iter().find(|touched| touched.number == row.number).copied();
        Some(touched.unwrap_or(row)).filter(|row| row.last_seen > Timestamp(0))
    }

    /// The outcomes of warnings, as far as they were known when the first page was read.
    fn judged_then(&self, pattern: i64) -> Result<Vec<JudgedDelivery>, StoreError> {
        let mut told = self.board.index().deliveries_of_pattern(pattern)?;
        for row in &mut told {
            row.failed_in = row.failed_in.take().filter(|run| !self.runs.contains(run));
            row.passed_in = row.passed_in.take().filter(|run| !self.runs.contains(run));
        }
        Ok(told.into_iter().filter_map(JudgedDelivery::from_outcome_row).collect())
    }

    /// The confidence in a pattern when the first page was read.
    fn confidence_then(&self, pattern: i64) -> Result<f64, StoreError> {
        let seen = self.board.index().first_occurrences_until(pattern, self.mark.newest.failure)?.into_iter();
        let seen: Vec<_> = seen.map(|row| PatternOccurrence { run: row.run, at: row.at, task: row.task }).collect();
        Ok(pattern_confidence(&seen, &self.judged_then(pattern)?, &self.board.settings().confidence).value)
    }

    fn place(&self, row: PatternKeyRow) -> PlacedPattern {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let (first, second) = match self.query.order {
            PatternOrder::Tasks => (signed(row.tasks), signed(row.failures)),
            PatternOrder::LastSeen => (row.last_seen.0, 0),
            _ => (signed(row.failures), 0),
        };
        (OrderKey(Reverse(first), Reverse(second), row.tie), row)
    }

    /// Reads on in an order of the index. What was touched since the first page comes where it was then, and `apart` is
    /// left to the caller.
    fn walk(
        &mut self,
        wanted: usize,
        apart: &BTreeSet<i64>,
        read: impl Fn(&Self, Option<OrderKey>, usize) -> Result<Vec<PatternKeyRow>, StoreError>,
    ) -> Result<Vec<PlacedPattern>, StoreError> {
        let touched: BTreeSet<i64> = self.touched.iter().map(|row| row.number).collect();
        let mut found: Vec<PlacedPattern> = self.touched_rows(apart);
        let mut after = (!self.is_first).then_some(self.mark.key);
        let (mut walked, mut looked_at) = (0, 0);
        while walked < wanted {
            let rows = read(self, after, CHUNK_ROWS.max(wanted))?;
            let is_end = rows.len() < CHUNK_ROWS.max(wanted);
            for row in rows {
                let placed = self.place(row);
                after = Some(placed.0);
                looked_at += 1;
                if !touched.contains(&row.number) && !apart.contains(&row.number) && self.has(&row) && walked < wanted {
                    walked += 1;
                    found.push(placed);
                }
            }
            if is_end {
                break;
            }
            if looked_at >= LOOKED_AT_MAX && walked < wanted {
                self.stopped = after;
                break;
            }
        }
        found.sort_by_key(|(key, _)| *key);
        // What was touched may lie beyond the place where reading stopped.
        if let Some(stopped) = self.stopped {
            found.retain(|(key, _)| *key <= stopped);
        }
        found.truncate(wanted);
        Ok(found)
    }

    /// What was touched since the first page and comes after the mark, as it was then.
    fn touched_rows(&self, apart: &BTreeSet<i64>) -> Vec<PlacedPattern> {
        let is_then = |row: &&PatternKeyRow| {
            row.last_seen > Timestamp(0) && !apart.contains(&row.number) && !self.foreign.contains(&row.number)
        };
        let rows = self.touched.iter().filter(is_then).filter(|row| self.has(row));
        rows.map(|row| self.place(*row)).filter(|(key, _)| self.is_first || *key > self.mark.key).collect()
    }

    /// By the ledger's value: without a judged warning a closed form of the tasks, so that the index's order can be read;
    /// the few with one are folded.
    fn confidence_page(&mut self, wanted: usize) -> Result<Vec<PlacedPattern>, StoreError> {
        let ledger = LedgerByTasks::new(&self.board.settings().confidence);
        let warned = self.board.index().warned_patterns()?;
        let apart: BTreeSet<i64> = warned.iter().map(|row| row.number).collect();
        let mut found = Vec::new();
        for row in warned.into_iter().filter_map(|row| self.row_then(row)).filter(|row| self.has(row)) {
            found.push((confidence_key(self.confidence_then(row.number)?, &row), row));
        }
        let by_ledger = |row: &PatternKeyRow| confidence_key(ledger.value(row.tasks), row);
        found.extend(self.touched_rows(&apart).into_iter().map(|(_, row)| (by_ledger(&row), row)));
        let touched: BTreeSet<i64> = self.touched.iter().map(|row| row.number).collect();
        found.retain(|(key, _)| self.is_first || *key > self.mark.key);
        let mut walked = 0;
        for tasks in (0..=ledger.full).rev() {
            let value = ledger.value(tasks);
            let best = OrderKey(Reverse(scaled(value)), Reverse(i64::MAX), i64::MIN);
            let worst = OrderKey(Reverse(scaled(value)), Reverse(i64::MIN), i64::MAX);
            // These come before the mark, or after as many as are wanted.
            if !self.is_first && self.mark.key >= worst || walked >= wanted {
                continue;
            }
            let OrderKey(_, Reverse(failures), tie) = self.mark.key;
            let mut after = (!self.is_first && self.mark.key > best).then(|| (unsigned(failures), tie));
            while walked < wanted {
                let chunk = CHUNK_ROWS.max(wanted);
                let rows = self.board.index().patterns_of_tasks(tasks, tasks == ledger.full, after, chunk)?;
                let is_end = rows.len() < chunk;
                for row in rows {
                    after = Some((row.failures, row.tie));
                    if walked < wanted
                        && !touched.contains(&row.number)
                        && !apart.contains(&row.number)
                        && self.has(&row)
                    {
                        walked += 1;
                        found.push((by_ledger(&row), row));
                    }
                }
                if is_end {
                    break;
                }
            }
        }
        found.sort_by_key(|(key, _)| *key);
        found.truncate(wanted);
        Ok(found)
    }

    /// By a score that has to be computed: few patterns have one.
    fn computed_page(&mut self, wanted: usize) -> Result<Vec<PlacedPattern>, StoreError> {
        let mut found: Vec<PlacedPattern> = Vec::new();
        if self.query.order == PatternOrder::Trending {
            let now = self.mark.now;
            let recent = Timestamp(now.0 - RECENT_DAYS * DAY_US);
            let from = Timestamp(recent.0 - STRETCHES * RECENT_DAYS * DAY_US);
            let active = self.board.index().active_patterns(from, recent, self.mark.newest.failure)?;
            let placed = active.into_iter().map(|row| {
                let score = rate_ratio_bound(row.recent, row.before, STRETCHES as f64, Z_90);
                let tasks = row.recent + row.before;
                let key = PatternKeyRow { number: row.number, failures: 0, tasks, last_seen: now, tie: i64::MAX };
                (OrderKey(Reverse(scaled(score)), Reverse(i64::try_from(row.recent).unwrap_or(0)), i64::MAX), key)
            });
            found = placed.filter(|(key, row)| self.has(row) && (self.is_first || *key > self.mark.key)).collect();
            found.sort_by_key(|(key, _)| *key);
            // What orders equals is looked up for those that may be on the page. Of the mark's equals some are before it.
            let is_at_mark = |key: &OrderKey| (key.0, key.1) == (self.mark.key.0, self.mark.key.1);
            let last = found.iter().filter(|(key, _)| !is_at_mark(key)).nth(wanted - 1).map(|(key, _)| *key);
            found.retain(|(key, _)| last.is_none_or(|last| *key <= last));
            for (key, row) in &mut found {
                row.tie = self.board.index().tie_of_pattern(row.number)?;
                key.2 = row.tie;
            }
        } else {
            let warned = self.board.index().warned_patterns()?;
            for row in warned.into_iter().filter_map(|row| self.row_then(row)) {
                let (prevented, failed) = count_outcomes(&self.judged_then(row.number)?);
                if prevented + failed == 0 {
                    continue;
                }
                // The lower bound of the share that made the mistake all the same: one case says little.
                let bound = share_bound(failed, prevented + failed, self.board.settings().confidence.bound);
                let failures = i64::try_from(row.failures).unwrap_or(i64::MAX);
                found.push((OrderKey(Reverse(scaled(bound)), Reverse(failures), row.tie), row));
            }
        }
        found.retain(|(key, row)| self.has(row) && (self.is_first || *key > self.mark.key));
        found.sort_by_key(|(key, _)| *key);
        found.truncate(wanted);
        Ok(found)
    }

    /// A part of the patterns: all of them, in the order, from the mark on.
    fn subset_page(&mut self, wanted: usize) -> Result<Vec<PlacedPattern>, StoreError> {
        let with_times = self.query.order == PatternOrder::LastSeen;
        let touched: Vec<i64> = self.touched.iter().map(|row| row.number).collect();
        let mut rows = self.board.index().patterns_of_subset(&self.subset, &touched, with_times)?;
        let more: BTreeMap<i64, u64> =
            self.board.index().failures_since(self.mark.newest.failure, &self.subset)?.into_iter().collect();
        for row in &mut rows {
            // As it was when the first page was read.
            if let Some(touched) = self.touched.iter().find(|touched| touched.number == row.number) {
                let failures = row.failures.saturating_sub(more.get(&row.number).copied().unwrap_or(0));
                *row = PatternKeyRow { failures, ..*touched };
            }
        }
        rows.retain(|row| row.failures > 0 && !self.foreign.contains(&row.number) && self.has(row));
        let mut found: Vec<PlacedPattern> = match self.query.order {
            PatternOrder::Failures | PatternOrder::Tasks | PatternOrder::LastSeen => {
                rows.into_iter().map(|row| self.place(row)).collect()
            }
            PatternOrder::Confidence => {
                let ledger = LedgerByTasks::new(&self.board.settings().confidence);
                let warned = self.board.index().warned_patterns()?;
                let warned: BTreeSet<i64> = warned.iter().map(|row| row.number).collect();
                let mut placed = Vec::new();
                for row in rows {
                    let value = if warned.contains(&row.number) {
                        self.confidence_then(row.number)?
                    } else {
                        ledger.value(row.tasks)
                    };
                    placed.push((confidence_key(value, &row), row));
                }
                placed
            }
            PatternOrder::Trending | PatternOrder::LeastEffective => {
                let in_subset: BTreeMap<i64, PatternKeyRow> = rows.into_iter().map(|row| (row.number, row)).collect();
                let placed = self.computed_page(usize::MAX)?.into_iter();
                placed.filter_map(|(key, row)| Some((key, *in_subset.get(&row.number)?))).collect()
            }
        };
        found.retain(|(key, _)| self.is_first || *key > self.mark.key);
        found.sort_by_key(|(key, _)| *key);
        found.truncate(wanted);
        Ok(found)
    }
}

/// What the ledger makes of a number of tasks when no warning was judged.
struct LedgerByTasks {
    /// By tasks, from none.
    values: Vec<f64>,
    /// From this many tasks on it is the same.
    full: u64,
}

impl LedgerByTasks {
    fn new(settings: &crate::config::ConfidenceSettings) -> Self {
        let within = |value: f64| value.max(settings.min).min(settings.max);
        let start = within(settings.start);
        let mut values = vec![start, start];
        while values.len() as u64 <= LEDGER_TASKS_MAX {
            let last = values.last().copied().unwrap_or(start);
            let next = within(last + settings.further_task);
            if next == last {
                break;
            }
            values.push(next);
        }
        LedgerByTasks { full: values.len() as u64 - 1, values }
    }

    fn value(&self, tasks: u64) -> f64 {
        let at = usize::try_from(tasks.min(self.full)).unwrap_or(0);
        self.values.get(at).copied().unwrap_or_default()
    }
}

fn confidence_key(value: f64, row: &PatternKeyRow) -> OrderKey {
    OrderKey(Reverse(scaled(value)), Reverse(i64::try_from(row.failures).unwrap_or(i64::MAX)), row.tie)
}

#[allow(clippy::cast_possible_truncation, reason = "a float that is too large becomes the largest number")]
fn scaled(score: f64) -> i64 {
    (score * SCORE_SCALE).round() as i64
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Settings;

    #[test]
    fn the_closed_form_is_the_ledger_s_value_to_the_last_bit() {
        for further_task in [0.05, 0.07, 0.0, 0.5] {
            let mut settings = Settings::default().confidence;
            settings.further_task = further_task;
            let ledger = LedgerByTasks::new(&settings);
            for tasks in 0..15_i64 {
                let seen: Vec<_> = (0..tasks)
                    .map(|n| PatternOccurrence { run: n.to_string(), at: Timestamp(n), task: n.to_string() })
                    .collect();
                let folded = pattern_confidence(&seen, &[], &settings).value;
                assert_eq!(ledger.value(tasks as u64).to_bits(), folded.to_bits(), "{tasks} at {further_task}");
            }
        }
    }

    #[test]
    fn a_mark_is_of_one_order() {
        let key = OrderKey(Reverse(7), Reverse(-3), 5);
        let mark = ListMark { newest: NewestRow { failure: 9, run: 12 }, now: Timestamp(11), key };
        let text = mark.encode(PatternOrder::Tasks);
        let read = ListMark::decode(PatternOrder::Tasks, &text).expect("is one");
        assert_eq!((read.newest, read.now, read.key), (mark.newest, mark.now, key));
        assert!(ListMark::decode(PatternOrder::Failures, &text).is_err());
        assert!(OrderKey(Reverse(7), Reverse(0), 0) < OrderKey(Reverse(6), Reverse(9), 0), "more comes first");
    }
}
