//! Where and when a pattern was seen, for advice: all of it in one pass, because there is no time for several.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};
use rusqlite::params;

use super::group::PatternGroupRow;
use super::{parse_time, row_time};
use crate::base::clock::Timestamp;
use crate::event::DeliveryArm;
use crate::store::error::StoreError;
use crate::store::index::Index;

/// Occurrences of one pattern that are looked at.
const SIGHTINGS_MAX: i64 = 100_000;
/// Failures whose message and test represent a pattern.
const NEWEST: usize = 3;
/// Files that a pattern is shown with.
const FILES: usize = 5;

/// A pattern as a warning names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternBriefRow {
    /// Row number of the pattern that represents its group.
    pub number: i64,
    /// `p-…`
    pub id: String,
    /// The tool definition that found it.
    pub tool: String,
    /// Rule or error code.
    pub code: Option<String>,
    /// Masked text, subject kept.
    pub masked: String,
    /// Masked text of the family.
    pub masked_family: String,
    /// Distinct tasks, proven flakes left out.
    pub tasks: u64,
    /// Its last failure.
    pub last_seen: Timestamp,
    /// Files that it failed in with the number of failures, the most frequent first, at most five.
    pub files: Vec<(String, u64)>,
    /// Message and test of its last failures, the newest first, at most three.
    pub newest: Vec<(String, Option<String>)>,
}

/// The outcome of a warning that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownDeliveryRow {
    /// Row number of its task.
    pub task: i64,
    /// When it was shown.
    pub at: Timestamp,
    /// The run that had the mistake in it, and when that was started …
    pub failed: Option<(String, Timestamp)>,
    /// … and the one that passed where it would have been seen.
    pub passed: Option<(String, Timestamp)>,
}

/// What the sightings of a group add up to.
#[derive(Default)]
pub(super) struct GroupOccurrences {
    /// Failures of each file.
    files: HashMap<String, u64>,
    /// Tasks by their row number, each with the first time that was no flake.
    first: HashMap<i64, String>,
    /// The newest failures, the newest first: when, failure and pattern by their row numbers.
    newest: Vec<(String, i64, i64)>,
}

impl GroupOccurrences {
    pub(super) fn from_group(index: &Index, group: &PatternGroupRow) -> rusqlite::Result<Self> {
        let mut statement = index.connection.prepare_cached(
            "SELECT failure_no, task_no, at, file, flaky FROM occurrences WHERE pattern_no = ?1 LIMIT ?2",
        )?;
        let mut all = GroupOccurrences::default();
        // Two patterns of the group in one failure are one failure of the file.
        let mut counted: HashSet<(i64, String)> = HashSet::default();
        for &pattern in &group.members {
            let mut rows = statement.query([pattern, SIGHTINGS_MAX])?;
            while let Some(row) = rows.next()? {
                let (failure, task) = (row.get(0)?, row.get(1)?);
                let at = row.get_ref(2)?.as_str()?;
                let file = row.get_ref(3)?.as_str_or_null()?;
                if let Some(file) = file
                    && (group.members.len() == 1 || counted.insert((failure, file.to_owned())))
                {
                    match all.files.get_mut(file) {
                        Some(failures) => *failures += 1,
                        None => drop(all.files.insert(file.to_owned(), 1)),
                    }
                }
                if !row.get::<_, bool>(4)? {
                    match all.first.get_mut(&task) {
                        Some(first) if first.as_str() <= at => {}
                        Some(first) => at.clone_into(first),
                        None => drop(all.first.insert(task, at.to_owned())),
                    }
                }
                all.add_newest(at, failure, pattern);
            }
        }
        Ok(all)
    }

    fn add_newest(&mut self, at: &str, failure: i64, pattern: i64) {
        let is_older = |(known, number, _): &(String, i64, i64)| (known.as_str(), *number) < (at, failure);
        if self.newest.len() == NEWEST && !self.newest.last().is_some_and(is_older)
            || self.newest.iter().any(|(_, number, _)| *number == failure)
        {
            return;
        }
        let place = self.newest.partition_point(|it| !is_older(it));
        self.newest.insert(place, (at.to_owned(), failure, pattern));
        self.newest.truncate(NEWEST);
    }

    /// The files with the number of failures, the most frequent first.
    pub(super) fn most_frequent_files(&self, limit: usize) -> Vec<(String, u64)> {
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_unstable_by_key(|(file, failures)| (Reverse(**failures), *file));
        files.into_iter().take(limit).map(|(file, failures)| (file.clone(), *failures)).collect()
    }

    /// Tasks by their row number, each with the first time, without flakes; the earliest first.
    pub(super) fn first_times_of_tasks(&self) -> Vec<(i64, Timestamp)> {
        let mut found: Vec<_> = self.first.iter().map(|(task, at)| (*task, parse_time(at))).collect();
        found.sort_unstable_by_key(|(task, at)| (*at, *task));
        found
    }
}

impl Index {
    /// What a warning says of the pattern with this key, or that represents it; `None` when there is none.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn brief_of_key(&self, key: &str) -> Result<Option<PatternBriefRow>, StoreError> {
        let number = self.leader_of_key(key)?;
        number.map(|number| self.brief_of_pattern(number)).transpose()
    }

    /// The row number of the pattern with this key, or of the one that represents it.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn leader_of_key(&self, key: &str) -> Result<Option<i64>, StoreError> {
        let find = || self.number_of_key(key)?.map(|number| self.leader_of(number)).transpose();
        self.sql_result("read", find())
    }

    /// What a warning says of a pattern, by its row number or that of another one of its group.
    ///
    /// # Errors
    /// SQLite's; also when there is none.
    pub(crate) fn brief_of_pattern(&self, number: i64) -> Result<PatternBriefRow, StoreError> {
        let read = || {
            let number = self.leader_of(number)?;
            let sightings = GroupOccurrences::from_group(self, &self.group_of(number)?)?;
            let mut statement = self
                .connection
                .prepare_cached("SELECT message, test FROM occurrences WHERE pattern_no = ?1 AND failure_no = ?2")?;
            let newest = sightings.newest.iter().map(|(_, failure, pattern)| (*pattern, *failure));
            let newest = newest.map(|seen| statement.query_row(seen, |row| Ok((row.get(0)?, row.get(1)?))));
            let newest = newest.collect::<rusqlite::Result<_>>()?;
            let last_seen = sightings.newest.first().map(|(at, ..)| at.as_str());
            let sql = "SELECT pattern_id, tool, code, masked, masked_family, last_seen FROM patterns
                WHERE pattern_no = ?1";
            self.connection.prepare_cached(sql)?.query_row([number], |row| {
                let own: String = row.get(5)?;
                Ok(PatternBriefRow {
                    number,
                    id: row.get(0)?,
                    tool: row.get(1)?,
                    code: row.get(2)?,
                    masked: row.get(3)?,
                    masked_family: row.get(4)?,
                    tasks: sightings.first.len() as u64,
                    last_seen: parse_time(last_seen.unwrap_or(&own)),
                    files: sightings.most_frequent_files(FILES),
                    newest,
                })
            })
        };
        self.sql_result("read", read())
    }

    /// The outcome of the warnings about a pattern and those that are counted with it that were shown, as far as a
    /// run tells, the oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn shown_deliveries_of_pattern(&self, pattern: i64) -> Result<Vec<ShownDeliveryRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT event_id, task_no, delivered_at,
                     failed_in, (SELECT started_at FROM runs WHERE run_id = failed_in),
                     passed_in, (SELECT started_at FROM runs WHERE run_id = passed_in)
                 FROM deliveries
                 WHERE pattern_key = ?1 AND arm = ?2 AND (failed_in IS NOT NULL OR passed_in IS NOT NULL) LIMIT ?3",
            )?;
            let mut found = BTreeMap::new();
            for key in self.group_of(pattern)?.distinct_keys() {
                let mut rows = statement.query(params![key, DeliveryArm::Shown.as_str(), SIGHTINGS_MAX])?;
                while let Some(row) = rows.next()? {
                    let run = |column: usize| -> rusqlite::Result<Option<(String, Timestamp)>> {
                        let (run, at): (Option<String>, Option<String>) = (row.get(column)?, row.get(column + 1)?);
                        Ok(run.zip(at.map(|at| parse_time(&at))))
                    };
                    let (event, at): (String, _) = (row.get(0)?, row_time(row, 2)?);
                    found.insert(
                        (at, event),
                        ShownDeliveryRow { task: row.get(1)?, at, failed: run(3)?, passed: run(5)? },
                    );
                }
            }
            Ok(found.into_values().collect())
        };
        self.sql_result("read", read())
    }
}
