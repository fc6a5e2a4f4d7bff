//! Where and when a pattern was seen, for advice: all of it in one pass, because there is no time for several.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use foldhash::HashMap;
use rusqlite::params;

use super::group::Group;
use super::{time, time_of};
use crate::base::clock::Timestamp;
use crate::store::error::StoreError;
use crate::store::event::DeliveryArm;
use crate::store::index::Index;

/// Occurrences of one pattern that are looked at.
const SIGHTINGS_MAX: i64 = 100_000;
/// Failures whose message and test stand for a pattern.
const NEWEST: usize = 3;
/// Files that a pattern is shown with.
const FILES: usize = 5;

/// A pattern as a warning names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BriefRow {
    /// Row number of the pattern that stands for its group.
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
    /// Distinct tasks.
    pub tasks: u64,
    /// Its last failure.
    pub last_seen: Timestamp,
    /// Files that it failed in with the number of failures, the most frequent first, at most five.
    pub files: Vec<(String, u64)>,
    /// Message and test of its last failures, the newest first, at most three.
    pub newest: Vec<(String, Option<String>)>,
}

/// What became of a warning that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldRow {
    /// Row number of its task.
    pub task: i64,
    /// When it was shown.
    pub at: Timestamp,
    /// The run that had the mistake in it, and when that was started …
    pub failed: Option<(String, Timestamp)>,
    /// … and the one that passed where it would have been seen.
    pub passed: Option<(String, Timestamp)>,
}

/// One pattern of a group in one failure.
struct Sighting {
    pattern: i64,
    failure: i64,
    task: i64,
    at: String,
    file: Option<String>,
}

/// All sightings of a group, each failure and file once.
pub(super) struct Sightings(Vec<Sighting>);

impl Sightings {
    pub fn of(index: &Index, group: &Group) -> rusqlite::Result<Self> {
        let mut statement = index.connection.prepare_cached(
            "SELECT failure_no, task_no, at, file FROM qa_pattern_occurrences WHERE pattern_no = ?1 LIMIT ?2",
        )?;
        let mut found = Vec::new();
        for &pattern in &group.members {
            let mut rows = statement.query([pattern, SIGHTINGS_MAX])?;
            while let Some(row) = rows.next()? {
                let (failure, task, at, file) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                found.push(Sighting { pattern, failure, task, at, file });
            }
        }
        Ok(Sightings(found))
    }

    /// The files with the number of failures, the most frequent first.
    pub fn files(&self, limit: usize) -> Vec<(String, u64)> {
        let mut files: HashMap<&str, u64> = HashMap::default();
        // Two patterns of the group in one failure are one failure of the file.
        let mut counted: BTreeSet<(i64, &str)> = BTreeSet::new();
        let is_group = self.0.iter().any(|seen| seen.pattern != self.0[0].pattern);
        for seen in &self.0 {
            let Some(file) = &seen.file else { continue };
            if !is_group || counted.insert((seen.failure, file)) {
                *files.entry(file).or_default() += 1;
            }
        }
        let mut files: Vec<_> = files.into_iter().collect();
        files.sort_unstable_by_key(|(file, failures)| (std::cmp::Reverse(*failures), *file));
        files.into_iter().take(limit).map(|(file, failures)| (file.to_owned(), failures)).collect()
    }

    /// Tasks by their row number, each with the first time, without flakes; the earliest first.
    pub fn first_of_tasks(&self, index: &Index, group: &Group) -> rusqlite::Result<Vec<(i64, Timestamp)>> {
        let flakes = index.flakes_of_group(group)?;
        let mut first: BTreeMap<i64, &str> = BTreeMap::new();
        for seen in self.0.iter().filter(|seen| !flakes.contains(&(seen.pattern, seen.failure))) {
            let at = first.entry(seen.task).or_insert(&seen.at);
            *at = (*at).min(&seen.at);
        }
        let mut found: Vec<_> = first.into_iter().map(|(task, at)| (task, time_of(at))).collect();
        found.sort_by_key(|(_, at)| *at);
        Ok(found)
    }

    fn tasks(&self) -> u64 {
        self.0.iter().map(|seen| seen.task).collect::<BTreeSet<_>>().len() as u64
    }

    /// The newest failures: pattern and failure by their row numbers.
    fn newest(&self) -> Vec<(i64, i64)> {
        let mut by_time: Vec<_> = self.0.iter().map(|seen| (&seen.at, seen.failure, seen.pattern)).collect();
        by_time.sort_unstable_by(|a, b| b.cmp(a));
        by_time.dedup_by_key(|(_, failure, _)| *failure);
        by_time.into_iter().take(NEWEST).map(|(_, failure, pattern)| (pattern, failure)).collect()
    }
}

impl Index {
    /// What of a group was a flake: pattern and failure by their row numbers.
    fn flakes_of_group(&self, group: &Group) -> rusqlite::Result<HashSet<(i64, i64)>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT failure_no FROM flake_patterns CROSS JOIN flakes USING (event_id)
             CROSS JOIN qa_failures ON run_id = fail_run WHERE pattern_key = ?1",
        )?;
        let mut found = HashSet::new();
        for (key, pattern) in &group.keys {
            let mut rows = statement.query([key])?;
            while let Some(row) = rows.next()? {
                found.insert((*pattern, row.get(0)?));
            }
        }
        Ok(found)
    }

    /// What a warning says of the pattern with this key, or that stands for it; `None` when there is none.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub fn brief_of_key(&self, key: &str) -> Result<Option<BriefRow>, StoreError> {
        let number = self.sql("read", self.number_of_key(key))?;
        number.map(|number| self.brief(number)).transpose()
    }

    /// What a warning says of a pattern, by its row number or that of another one of its group.
    ///
    /// # Errors
    /// SQLite's; also when there is none.
    pub fn brief(&self, number: i64) -> Result<BriefRow, StoreError> {
        let read = || {
            let number = self.leader_of(number)?;
            let sightings = Sightings::of(self, &self.group_of(number)?)?;
            let mut statement = self.connection.prepare_cached(
                "SELECT message, test FROM qa_pattern_occurrences WHERE pattern_no = ?1 AND failure_no = ?2",
            )?;
            let newest = sightings.newest().into_iter();
            let newest = newest.map(|seen| statement.query_row(seen, |row| Ok((row.get(0)?, row.get(1)?))));
            let newest = newest.collect::<rusqlite::Result<_>>()?;
            let last_seen = sightings.0.iter().map(|seen| seen.at.as_str()).max();
            let sql = "SELECT pattern_id, tool, code, masked, masked_family, last_seen FROM qa_failure_patterns
                WHERE pattern_no = ?1";
            self.connection.prepare_cached(sql)?.query_row([number], |row| {
                let own: String = row.get(5)?;
                Ok(BriefRow {
                    number,
                    id: row.get(0)?,
                    tool: row.get(1)?,
                    code: row.get(2)?,
                    masked: row.get(3)?,
                    masked_family: row.get(4)?,
                    tasks: sightings.tasks(),
                    last_seen: time_of(last_seen.unwrap_or(&own)),
                    files: sightings.files(FILES),
                    newest,
                })
            })
        };
        self.sql("read", read())
    }

    /// What became of the warnings about a pattern and those that are counted with it that were shown, as far as a run
    /// tells, the oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub fn told_about(&self, pattern: i64) -> Result<Vec<ToldRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT event_id, task_no, delivered_at,
                     failed_in, (SELECT started_at FROM runs WHERE run_id = failed_in),
                     passed_in, (SELECT started_at FROM runs WHERE run_id = passed_in)
                 FROM qa_warning_deliveries
                 WHERE pattern_key = ?1 AND arm = ?2 AND (failed_in IS NOT NULL OR passed_in IS NOT NULL) LIMIT ?3",
            )?;
            let mut found = BTreeMap::new();
            for key in self.group_of(pattern)?.names() {
                let mut rows = statement.query(params![key, DeliveryArm::Shown.as_str(), SIGHTINGS_MAX])?;
                while let Some(row) = rows.next()? {
                    let run = |column: usize| -> rusqlite::Result<Option<(String, Timestamp)>> {
                        let (run, at): (Option<String>, Option<String>) = (row.get(column)?, row.get(column + 1)?);
                        Ok(run.zip(at.map(|at| time_of(&at))))
                    };
                    let (event, at): (String, _) = (row.get(0)?, time(row, 2)?);
                    found.insert((at, event), ToldRow { task: row.get(1)?, at, failed: run(3)?, passed: run(5)? });
                }
            }
            Ok(found.into_values().collect())
        };
        self.sql("read", read())
    }
}
