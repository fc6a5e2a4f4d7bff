//! Patterns in each order that a list may have, from where another page ended.
//!
//! A page goes on after a key, not after a number of rows: what is recorded meanwhile moves nothing. What a new failure
//! would move is asked for as it was when the first page was read ([`Index::patterns_touched_since`]).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use foldhash::HashMap;
use rusqlite::{OptionalExtension, params, params_from_iter};

use crate::base::clock::{Timestamp, UtcDay};
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::board::overview::OF_CATEGORY;
use crate::store::query::figures::{BY_WHOM, DayRange, SumFilter};
use crate::store::query::pattern::GROUP;
use crate::store::query::words::all_words_query;
use crate::store::query::{row_time, row_unsigned};

/// Patterns that words or a file name.
const NAMED_MAX: i64 = 20_000;

/// A pattern that represents its group, as far as lists are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PatternKeyRow {
    /// Row number.
    pub number: i64,
    /// Failures, proven flakes left out; in a filtered list those that fit.
    pub failures: u64,
    /// Distinct tasks.
    pub tasks: u64,
    /// Its last failure.
    pub last_seen: Timestamp,
    /// Where it comes among equals.
    pub tie: i64,
}

/// In how many tasks a pattern was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ActivePatternRow {
    /// Row number of the pattern that represents its group.
    pub number: i64,
    /// Distinct tasks since a moment …
    pub recent: u64,
    /// … and from an earlier one until then.
    pub before: u64,
}

/// Distinct tasks, given task by task.
#[derive(Debug, Default)]
struct TaskCount {
    tasks: u64,
    /// The last one.
    last: Option<i64>,
}

impl TaskCount {
    fn add(&mut self, task: i64) {
        self.tasks += u64::from(self.last.replace(task) != Some(task));
    }
}

/// The failure and the run that were recorded last; 0 before there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NewestRow {
    pub failure: i64,
    pub run: i64,
}

/// Which patterns a filtered list has. Absent fields match all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PatternSubset {
    pub days: Option<DayRange>,
    pub whom: SumFilter,
    /// Words of its message, letters and digits only.
    pub words: Vec<String>,
    /// A file that it failed in, or a folder around one.
    pub file: Option<String>,
}

impl PatternSubset {
    /// Whether all patterns are in it.
    pub(crate) fn is_all(&self) -> bool {
        *self == PatternSubset::default()
    }

    /// Whether it is a category and nothing else.
    pub(crate) fn is_category(&self) -> bool {
        let category = self.whom.category.clone();
        category.is_some()
            && *self
                == PatternSubset { whom: SumFilter { category, ..SumFilter::default() }, ..PatternSubset::default() }
    }
}

/// A part of an ordered list: a condition on `pattern_figures`, and its parameters.
type OrderedPart = (String, Vec<i64>);

const LAST_SEEN: &str = "
    (SELECT max(last_seen) FROM patterns WHERE pattern_no = g.pattern_no OR pattern_no IN
     (SELECT m.pattern_no FROM pattern_groups m WHERE m.leader_no = g.pattern_no))";

fn key_from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<PatternKeyRow> {
    Ok(PatternKeyRow {
        number: row.get(0)?,
        failures: row_unsigned(row, 1)?,
        tasks: row_unsigned(row, 2)?,
        last_seen: row_time(row, 3)?,
        tie: row.get(4)?,
    })
}

impl Index {
    /// What was recorded last.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn newest_numbers(&self) -> Result<NewestRow, StoreError> {
        let sql =
            "SELECT coalesce((SELECT max(failure_no) FROM failures), 0), coalesce((SELECT max(run_no) FROM runs), 0)";
        let read =
            || self.connection.query_row(sql, [], |row| Ok(NewestRow { failure: row.get(0)?, run: row.get(1)? }));
        self.sql_result("read", read())
    }

    /// The ids of the runs that were recorded after run number `newest`.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn runs_since(&self, newest: i64) -> Result<BTreeSet<String>, StoreError> {
        let sql = "SELECT run_id FROM runs WHERE run_no > ?1";
        let read = || self.connection.prepare_cached(sql)?.query_map([newest], |row| row.get(0))?.collect();
        self.sql_result("read", read())
    }

    /// How many patterns there are, groups counted once.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_patterns(&self) -> Result<u64, StoreError> {
        let sql = "SELECT value FROM totals WHERE name = 'patterns'";
        self.sql_result("read", self.connection.query_row(sql, [], |row| row_unsigned(row, 0)))
    }

    /// The patterns that failures recorded after number `newest` have, as they were before; those that were not there
    /// have no tasks and no failures.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_touched_since(&self, newest: i64) -> Result<Vec<PatternKeyRow>, StoreError> {
        let read = || {
            let mut touched = self.connection.prepare_cached(
                "SELECT DISTINCT leader_no FROM failures CROSS JOIN occurrences USING (failure_no)
                 JOIN pattern_leaders USING (pattern_no) WHERE failure_no > ?1",
            )?;
            let leaders: Vec<i64> = touched.query_map([newest], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            let mut before = self.connection.prepare_cached(
                "SELECT g.pattern_no, count(DISTINCT iif(o.flaky, NULL, failure_no)),
                        count(DISTINCT iif(o.flaky, NULL, task_no)), coalesce(max(at), ''), g.tie
                 FROM pattern_figures g LEFT JOIN occurrences o ON failure_no <= ?2 AND o.pattern_no IN (
                     SELECT ?1 UNION SELECT m.pattern_no FROM pattern_groups m WHERE m.leader_no = ?1)
                 WHERE g.pattern_no = ?1",
            )?;
            leaders.iter().map(|leader| before.query_row([*leader, newest], key_from_row)).collect()
        };
        self.sql_result("read", read())
    }

    /// The most frequent category of a pattern's failures up to failure number `newest`; `None` without any.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn category_until(&self, pattern: i64, newest: i64) -> Result<Option<String>, StoreError> {
        let sql = format!(
            "{GROUP} SELECT category FROM members CROSS JOIN occurrences USING (pattern_no) JOIN failures USING (failure_no)
             WHERE failure_no <= ?2 GROUP BY category ORDER BY count(DISTINCT failure_no) DESC, category LIMIT 1"
        );
        let read = || self.connection.prepare_cached(&sql)?.query_row([pattern, newest], |row| row.get(0)).optional();
        self.sql_result("read", read())
    }

    /// The patterns with the most failures, of a category or of all, after one with these failures and this place among
    /// equals.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_by_failures(
        &self,
        category: Option<&str>,
        after: Option<(u64, i64)>,
        limit: usize,
    ) -> Result<Vec<PatternKeyRow>, StoreError> {
        let read = || {
            let sql = "SELECT name_no FROM names JOIN failure_categories USING (name) WHERE ?1 IS NULL OR name = ?1";
            let mut categories = self.connection.prepare_cached(sql)?;
            let categories: Vec<i64> =
                categories.query_map([category], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            let mut found: Vec<PatternKeyRow> = Vec::new();
            for category in categories {
                let parts = fewer_failures_than(after, &format!("category_no = {category}"), &[]);
                found.extend(self.read_keys(&parts, "failures DESC, tie", limit)?);
            }
            found.sort_by_key(|row| (std::cmp::Reverse(row.failures), row.tie));
            found.truncate(limit);
            Ok(found)
        };
        self.sql_result("read", read())
    }

    /// The patterns of the most tasks, then with the most failures, after one with these tasks, failures and place among
    /// equals.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_by_tasks(
        &self,
        after: Option<(u64, u64, i64)>,
        limit: usize,
    ) -> Result<Vec<PatternKeyRow>, StoreError> {
        let mut parts = Vec::new();
        match after {
            Some((tasks, failures, tie)) => {
                parts = fewer_failures_than(Some((failures, tie)), "tasks = ?1", &[to_sql(tasks)]);
                parts.push(("tasks < ?1".to_owned(), vec![to_sql(tasks)]));
            }
            None => parts.push(("TRUE".to_owned(), Vec::new())),
        }
        self.sql_result("read", self.read_keys(&parts, "tasks DESC, failures DESC, tie", limit))
    }

    /// The patterns of exactly this many tasks, or with `or_more` of at least as many, with the most failures, after one
    /// with these failures and this place among equals.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_of_tasks(
        &self,
        tasks: u64,
        or_more: bool,
        after: Option<(u64, i64)>,
        limit: usize,
    ) -> Result<Vec<PatternKeyRow>, StoreError> {
        let which = if or_more { "tasks >= ?1" } else { "tasks = ?1" };
        let parts = fewer_failures_than(after, which, &[to_sql(tasks)]);
        self.sql_result("read", self.read_keys(&parts, "failures DESC, tie", limit))
    }

    /// The first rows of the parts, one part after the other.
    fn read_keys(&self, parts: &[OrderedPart], order: &str, limit: usize) -> rusqlite::Result<Vec<PatternKeyRow>> {
        let mut found: Vec<PatternKeyRow> = Vec::new();
        for (condition, parameters) in parts {
            let mut parameters = parameters.clone();
            parameters.push(to_sql((limit - found.len()) as u64));
            let sql = format!(
                "SELECT g.pattern_no, g.failures, g.tasks, {LAST_SEEN}, g.tie FROM pattern_figures g WHERE {condition}
                 ORDER BY {order} LIMIT ?{}",
                parameters.len()
            );
            let mut statement = self.connection.prepare_cached(&sql)?;
            for row in statement.query_map(params_from_iter(parameters), key_from_row)? {
                found.push(row?);
            }
        }
        Ok(found)
    }

    /// The patterns that were seen last, after one that was last seen then and has this place among equals.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_by_last_seen(
        &self,
        after: Option<(Timestamp, i64)>,
        limit: usize,
    ) -> Result<Vec<PatternKeyRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT coalesce(leader_no, pattern_no), last_seen FROM patterns LEFT JOIN pattern_groups USING (pattern_no)
                 WHERE last_seen <= ?1 ORDER BY last_seen DESC",
            )?;
            let mut key = self
                .connection
                .prepare_cached(&format!("SELECT g.pattern_no, g.failures, g.tasks, {LAST_SEEN}, g.tie FROM pattern_figures g WHERE g.pattern_no = ?1"))?;
            let until = after.map_or_else(|| "~".to_owned(), |(at, _)| at.rfc3339());
            let mut rows = statement.query([until])?;
            let (mut found, mut seen): (Vec<PatternKeyRow>, HashSet<i64>) = (Vec::new(), HashSet::new());
            while let Some(row) = rows.next()? {
                let (leader, at) = (row.get(0)?, row_time(row, 1)?);
                // Equals are read to the last one, since their order is not the index's.
                if found.len() >= limit && found.last().is_some_and(|last| last.last_seen != at) {
                    break;
                }
                let row = key.query_row([leader], key_from_row)?;
                // Others of its group were seen later: it had its place there.
                let is_after = after.is_none_or(|(at, tie)| row.last_seen < at || row.tie > tie);
                if row.last_seen == at && is_after && seen.insert(leader) {
                    found.push(row);
                }
            }
            found.sort_by_key(|row| (std::cmp::Reverse(row.last_seen), row.tie));
            found.truncate(limit);
            Ok(found)
        };
        self.sql_result("read", read())
    }

    /// All patterns of a subset in no order, each with those of its failures that fit; when it was last seen is looked up
    /// only if it is asked for. Those with a row number of `touched` may be of any category.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_of_subset(
        &self,
        subset: &PatternSubset,
        touched: &[i64],
        with_times: bool,
    ) -> Result<Vec<PatternKeyRow>, StoreError> {
        let PatternSubset { days, whom, words, file } = subset;
        let last_seen = if with_times { LAST_SEEN } else { "''" };
        let read = || {
            let named = self.patterns_named(words, file.as_deref())?;
            let is_sum_of_all = days.is_none() && whom.agent.is_none() && whom.tool.is_none();
            // The sums are ordered by days: what few patterns have of all days is known without them.
            let counted = match named {
                Some(_) if is_sum_of_all => "SELECT pattern_no, failures AS counted FROM json_each(?6)
                     CROSS JOIN pattern_figures ON pattern_no = value WHERE ?1 IS ?2 AND ?3 <= ?4"
                    .to_owned(),
                _ => format!(
                    "SELECT pattern_no, sum(failures) AS counted FROM pattern_days
                     WHERE day >= ?3 AND day < ?4 AND {BY_WHOM} AND {OF_CATEGORY}
                       AND (?6 IS NULL OR pattern_no IN (SELECT value FROM json_each(?6))) GROUP BY pattern_no"
                ),
            };
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT g.pattern_no, counted, g.tasks, {last_seen}, g.tie FROM ({counted})
                 CROSS JOIN pattern_figures g USING (pattern_no)
                 WHERE ?5 IS NULL OR g.category_no = (SELECT name_no FROM names WHERE name = ?5)
                    OR g.pattern_no IN (SELECT value FROM json_each(?7))"
            ))?;
            let (from, until) = days.map_or((i64::MIN, i64::MAX), |days| (days.from.0, days.until.0));
            let named = named.map(|named| serde_json::to_string(&named).unwrap_or_default());
            let touched = serde_json::to_string(touched).unwrap_or_default();
            let parameters = params![whom.agent, whom.tool, from, until, whom.category, named, touched];
            statement.query_map(parameters, key_from_row)?.collect()
        };
        self.sql_result("read", read())
    }

    /// How many failures that were recorded after number `newest` patterns have in a subset, its words and file apart.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn failures_since(&self, newest: i64, subset: &PatternSubset) -> Result<Vec<(i64, u64)>, StoreError> {
        let PatternSubset { days, whom, .. } = subset;
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT leader_no, count(DISTINCT failure_no) FROM failures CROSS JOIN runs r USING (run_id)
                 CROSS JOIN occurrences USING (failure_no) JOIN pattern_leaders USING (pattern_no)
                 WHERE failure_no > ?1 AND NOT flaky AND (?2 IS NULL OR unixepoch(started_at) / 86400 >= ?2)
                   AND (?3 IS NULL OR unixepoch(started_at) / 86400 < ?3) AND (?4 IS NULL OR category = ?4)
                   AND (?5 IS NULL OR agent = ?5)
                   AND (?6 IS NULL OR coalesce(r.tool, check_kind) = ?6 OR coalesce(r.tool, check_kind) LIKE '%:' || ?6)
                 GROUP BY leader_no",
            )?;
            let (from, until) = days.map(|days| (days.from.0, days.until.0)).unzip();
            let parameters = params![newest, from, until, whom.category, whom.agent, whom.tool];
            statement.query_map(parameters, |row| Ok((row.get(0)?, row_unsigned(row, 1)?)))?.collect()
        };
        self.sql_result("read", read())
    }

    /// The patterns that words and a file name; `None` without either.
    fn patterns_named(&self, words: &[String], file: Option<&str>) -> rusqlite::Result<Option<BTreeSet<i64>>> {
        let mut named: Option<BTreeSet<i64>> = None;
        if !words.is_empty() {
            let question = all_words_query(words);
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT leader_no FROM (SELECT rowid AS pattern_no FROM pattern_words
                                                 WHERE pattern_words MATCH ?1 ORDER BY rowid LIMIT ?2) JOIN pattern_leaders USING (pattern_no)",
            )?;
            let rows = statement.query_map(params![question, NAMED_MAX], |row| row.get(0))?;
            named = Some(rows.collect::<rusqlite::Result<_>>()?);
        }
        if let Some(file) = file {
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT leader_no FROM (
                     SELECT pattern_no FROM occurrences WHERE file = ?1
                     UNION SELECT pattern_no FROM occurrences WHERE file >= ?1 || '/' AND file < ?1 || '0' LIMIT ?2)
                 JOIN pattern_leaders USING (pattern_no)",
            )?;
            let rows = statement.query_map(params![file, NAMED_MAX], |row| row.get(0))?;
            let in_file: BTreeSet<i64> = rows.collect::<rusqlite::Result<_>>()?;
            named = Some(match named {
                Some(named) => named.intersection(&in_file).copied().collect(),
                None => in_file,
            });
        }
        Ok(named)
    }

    /// The patterns that were seen since `recent`, with their tasks since then and those before it since `from`; in no
    /// order. Without failures that were recorded after number `newest`.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn active_patterns(
        &self,
        from: Timestamp,
        recent: Timestamp,
        newest: i64,
    ) -> Result<Vec<ActivePatternRow>, StoreError> {
        let read = || {
            // By task: what was seen recently is in the tasks of these days. SQLite would sort all of it once for each of
            // the two counts, and look up the group of each.
            let mut grouped = self.connection.prepare_cached("SELECT pattern_no, leader_no FROM pattern_groups")?;
            let leaders = grouped.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            let leaders: HashMap<i64, i64> = leaders.collect::<rusqlite::Result<_>>()?;
            let mut statement = self.connection.prepare_cached(
                "SELECT task_no, pattern_no, o.at >= ?2 FROM tasks CROSS JOIN occurrences o USING (task_no)
                 WHERE last_at >= ?1 AND o.at >= ?1 AND NOT flaky AND failure_no <= ?3 ORDER BY last_at, task_no",
            )?;
            let mut rows = statement.query(params![from.rfc3339(), recent.rfc3339(), newest])?;
            let mut active: HashMap<i64, [TaskCount; 2]> = HashMap::default();
            while let Some(row) = rows.next()? {
                let (task, pattern, is_recent): (i64, i64, bool) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let leader = leaders.get(&pattern).copied().unwrap_or(pattern);
                active.entry(leader).or_default()[usize::from(is_recent)].add(task);
            }
            let active = active.into_iter().filter(|(_, [_, recent])| recent.tasks > 0);
            let row = |(number, [before, recent]): (i64, [TaskCount; 2])| ActivePatternRow {
                number,
                recent: recent.tasks,
                before: before.tasks,
            };
            Ok(active.map(row).collect())
        };
        self.sql_result("read", read())
    }

    /// What orders a pattern among equals, by its row number.
    ///
    /// # Errors
    /// SQLite's; also when there is none.
    pub(crate) fn tie_of_pattern(&self, number: i64) -> Result<i64, StoreError> {
        let read = || {
            let sql = "SELECT tie FROM patterns WHERE pattern_no = ?1";
            self.connection.prepare_cached(sql)?.query_row([number], |row| row.get(0))
        };
        self.sql_result("read", read())
    }

    /// The patterns about which a warning's outcome is known.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn warned_patterns(&self) -> Result<Vec<PatternKeyRow>, StoreError> {
        let sql = format!(
            "SELECT g.pattern_no, g.failures, g.tasks, {LAST_SEEN}, g.tie FROM (
                 SELECT DISTINCT leader_no FROM patterns JOIN pattern_leaders USING (pattern_no)
                 WHERE prevented + failed_anyway > 0) CROSS JOIN pattern_figures g ON g.pattern_no = leader_no"
        );
        let read = || self.connection.prepare_cached(&sql)?.query_map([], key_from_row)?.collect();
        self.sql_result("read", read())
    }

    /// The patterns that users or a promotion silenced: `muted`, `deprecated` or `promoted`, by row number.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn silenced_patterns(&self) -> Result<BTreeMap<i64, String>, StoreError> {
        let reviewed = self.reviewed_patterns()?;
        let read = || {
            let mut promoted = self.connection.prepare_cached(
                "SELECT DISTINCT leader_no FROM promotion_states s JOIN known_patterns ON recorded_key = s.pattern_key
                 JOIN pattern_leaders USING (pattern_no) WHERE state = 'approved'",
            )?;
            let promoted = promoted.query_map([], |row| Ok((row.get(0)?, "promoted".to_owned())))?;
            let mut found: BTreeMap<i64, String> = promoted.collect::<rusqlite::Result<_>>()?;
            for (leader, [muted, deprecated]) in reviewed {
                if muted || deprecated {
                    found.insert(leader, if deprecated { "deprecated" } else { "muted" }.to_owned());
                }
            }
            Ok(found)
        };
        self.sql_result("read", read())
    }

    /// The patterns that users said something about: whether they are muted, and whether deprecated, by row number.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn reviewed_patterns(&self) -> Result<BTreeMap<i64, [bool; 2]>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT leader_no, state FROM pattern_reviews
                 JOIN known_patterns ON recorded_key = pattern_key JOIN pattern_leaders USING (pattern_no)
                 ORDER BY at, event_id",
            )?;
            let mut reviewed: BTreeMap<i64, [bool; 2]> = BTreeMap::new();
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                // The last word on each of the two questions.
                let [muted, deprecated] = reviewed.entry(row.get(0)?).or_default();
                match row.get::<_, String>(1)?.as_str() {
                    "muted" => *muted = true,
                    "unmuted" => *muted = false,
                    state => *deprecated = state == "deprecated",
                }
            }
            Ok(reviewed)
        };
        self.sql_result("read", read())
    }

    /// Failures of each day of some patterns that represent their groups: row number, day, failures.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn days_of_patterns(
        &self,
        patterns: &[i64],
        range: DayRange,
    ) -> Result<Vec<(i64, UtcDay, u64)>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT pattern_no, day, sum(failures) FROM pattern_days
                 WHERE day >= ?2 AND day < ?3 AND pattern_no IN (SELECT value FROM json_each(?1))
                 GROUP BY pattern_no, day",
            )?;
            let parameters = params![crate::store::to_json(&patterns), range.from.0, range.until.0];
            let rows =
                statement.query_map(parameters, |row| Ok((row.get(0)?, UtcDay(row.get(1)?), row_unsigned(row, 2)?)))?;
            rows.collect()
        };
        self.sql_result("read", read())
    }
}

/// What follows a pattern with these failures and this place among equals, among those of `which`: its equals first,
/// because as one condition all of them would be read for each page.
fn fewer_failures_than(after: Option<(u64, i64)>, which: &str, parameters: &[i64]) -> Vec<OrderedPart> {
    let Some((failures, tie)) = after else { return vec![(which.to_owned(), parameters.to_vec())] };
    let next = parameters.len() + 1;
    let with = |more: &[i64]| [parameters, more].concat();
    vec![
        (format!("{which} AND failures = ?{next} AND tie > ?{}", next + 1), with(&[to_sql(failures), tie])),
        (format!("{which} AND failures < ?{next}"), with(&[to_sql(failures)])),
    ]
}

fn to_sql(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
