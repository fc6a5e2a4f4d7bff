//! Candidates for warnings, found by indexes: by file, by folder and kind of file, by tool class, by words.

use rusqlite::{OptionalExtension, params};

use super::group::PatternGroupRow;
use super::pattern::GROUP;
use super::sightings::GroupOccurrences;
use super::words::rarest_words_query;
use super::{ambiguous_id, row_time, row_unsigned};
use crate::base::clock::Timestamp;
use crate::event::{DeliveryArm, Technique};
use crate::store::apply::places_of_file;
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::to_json;

/// Failures of one file that are looked at, the newest.
const FAILURES_MAX: i64 = 60;
/// Patterns of one folder, kind of file or tool class: those of the most failures.
const PLACE_MAX: i64 = 30;
/// Patterns found by words.
const WORDS_MAX: i64 = 30;
/// Patterns with such words that are compared, the oldest: what recurs is old.
const SCORED_MAX: i64 = 300;
/// A failure with more items tells nothing about the files that were changed before it.
const TELLING_ITEMS_MAX: i64 = 5;
/// A change of more files tells nothing about each of them.
const TELLING_FILES_MAX: i64 = 10;
/// Things that worked against one pattern.
const WORKED_MAX: i64 = 20;
/// Failures of one pattern whose session is looked at, the newest.
const SESSION_FAILURES_MAX: i64 = 2_000;
/// Failures whose test is looked at, the newest.
const TESTS_MAX: i64 = 20_000;
/// Files of one pattern.
const FILES_MAX: usize = 100;

/// Where a pattern failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PatternSessions {
    /// In one session.
    pub here: bool,
    /// In another, or in none.
    pub elsewhere: bool,
}

/// A pattern that may be worth a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AdviceRow {
    /// Row number of the pattern that represents its group.
    pub number: i64,
    /// The pattern key.
    pub key: String,
    /// The family key.
    pub family: String,
    /// Its masked message.
    pub masked: String,
    /// Failures of its group.
    pub failures: u64,
    /// Muted, deprecated, or promoted: every agent reads it anyway.
    pub silenced: bool,
    /// Warnings about it that were due before, shown or held out.
    pub exposures: u64,
    /// The files of its failures, each with how many of them.
    pub files: Vec<(String, u64)>,
    /// The tasks that it was seen in, each by its row number and with the first time; flakes are left out.
    pub seen: Vec<(i64, Timestamp)>,
}

/// Something that made a pattern go away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProvenRemedyRow {
    /// What it is known by.
    pub technique: Technique,
    /// What a person recognises it by.
    pub label: String,
    /// Number of successes …
    pub successes: u64,
    /// … of this number of attempts.
    pub tries: u64,
    /// Row number of its strategy, for [`Index::last_successful_fix`].
    pub strategy: i64,
}

/// A warning that was due.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DeliveryRow {
    /// `w-…`
    pub warning: String,
    pub task: String,
    pub session: String,
    /// When it was due.
    pub at: Timestamp,
    /// Whether it was shown.
    pub arm: DeliveryArm,
    /// Its place in the list.
    pub rank: u64,
    /// Its score, 0 to 1.
    pub score: f64,
    /// `p-…`, where the pattern is in the store.
    pub pattern: Option<String>,
    /// `k-…`
    pub entry: Option<String>,
    /// The latest rating.
    pub useful: Option<bool>,
    /// Whether a user acknowledged it.
    pub acknowledged: bool,
}

impl Index {
    /// The patterns that name this very file, or that a change of it mended; of groups those that represent them.
    ///
    /// A pattern names the files of its items, and those of its failure's output (a stack, say) that no other pattern
    /// claims. What happened to be changed at a failure is no evidence; what was changed when it went away is, unless
    /// a file that the pattern names was changed as well.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn patterns_of_file(&self, path: &str) -> Result<Vec<i64>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "WITH fixed AS MATERIALIZED (
                     SELECT p.event_id, p.pattern_key FROM (SELECT event_id FROM attempt_files WHERE path = ?1
                                                            ORDER BY event_id DESC LIMIT ?2)
                     JOIN fix_attempts USING (event_id) JOIN attempt_patterns p USING (event_id)
                     WHERE p.role = 'fixed' AND weakened = 0 AND NOT undo AND files <= ?4)
                 SELECT DISTINCT leader_no FROM (
                     SELECT pattern_no FROM (SELECT pattern_no FROM occurrences WHERE file = ?1
                                             ORDER BY at DESC LIMIT ?2)
                     UNION SELECT o.pattern_no FROM (SELECT failure_no FROM failure_files WHERE path = ?1
                                                     ORDER BY failure_no DESC LIMIT ?2)
                     JOIN failures f USING (failure_no) JOIN occurrences o USING (failure_no)
                     JOIN patterns p USING (pattern_no)
                     WHERE f.item_count <= ?3 AND o.file IS NOT NULL AND NOT EXISTS (
                         SELECT 1 FROM occurrences other
                         JOIN patterns q ON q.pattern_no = other.pattern_no
                         WHERE other.failure_no = o.failure_no AND other.pattern_no <> o.pattern_no
                           AND (other.file = ?1 OR q.tool <> p.tool))
                     UNION SELECT pattern_no FROM fixed JOIN known_patterns n ON n.recorded_key = fixed.pattern_key
                     WHERE NOT EXISTS (
                         SELECT 1 FROM attempt_files named
                         CROSS JOIN occurrences o ON o.pattern_no = n.pattern_no AND o.file = named.path
                         WHERE named.event_id = fixed.event_id AND named.path <> ?1))
                 JOIN pattern_leaders USING (pattern_no)",
            )?;
            let parameters = params![path, FAILURES_MAX, TELLING_ITEMS_MAX, TELLING_FILES_MAX];
            statement.query_map(parameters, |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// In how many failures before `before` the pattern with this key, or one of its group, was seen in other sessions than
    /// this one.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_failures_elsewhere(
        &self,
        key: &str,
        session: &str,
        before: Option<Timestamp>,
    ) -> Result<u64, StoreError> {
        let read = || {
            let Some(pattern) = self.number_of_key(key)? else { return Ok(0) };
            let sql = format!(
                "{GROUP}, failed AS (SELECT failure_no FROM members CROSS JOIN occurrences USING (pattern_no)
                    WHERE ?3 IS NULL OR at < ?3 ORDER BY at DESC LIMIT ?4)
                 SELECT count(DISTINCT failure_no)
                 FROM failed CROSS JOIN failures f USING (failure_no) CROSS JOIN runs r USING (run_id)
                 WHERE r.session IS NOT ?2"
            );
            let parameters = params![pattern, session, before.map(Timestamp::rfc3339), SESSION_FAILURES_MAX];
            self.connection.prepare_cached(&sql)?.query_row(parameters, |row| row_unsigned(row, 0))
        };
        self.sql_result("read", read())
    }

    /// Whether the pattern with this key, or one of its group, was seen in a session and in others; of the session's own
    /// failures only those that name `file` count, if there is one.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn sessions_of_pattern(
        &self,
        key: &str,
        session: &str,
        file: Option<&str>,
    ) -> Result<PatternSessions, StoreError> {
        let read = || {
            let Some(pattern) = self.number_of_key(key)? else { return Ok(PatternSessions::default()) };
            // A session has few failures, and a pattern may have thousands: the first of another session is enough.
            let sql = format!(
                "{GROUP} SELECT
                    EXISTS (SELECT 1 FROM runs r CROSS JOIN failures f USING (run_id)
                        CROSS JOIN occurrences o USING (failure_no)
                        WHERE r.session = ?2 AND NOT r.passed AND o.pattern_no IN (SELECT pattern_no FROM members)
                          AND (?3 IS NULL OR o.file IS ?3 OR EXISTS (
                              SELECT 1 FROM failure_files n WHERE n.failure_no = f.failure_no AND n.path = ?3))),
                    EXISTS (SELECT 1 FROM members CROSS JOIN occurrences USING (pattern_no)
                        CROSS JOIN failures USING (failure_no) CROSS JOIN runs r USING (run_id)
                        WHERE r.session IS NOT ?2)"
            );
            self.connection.prepare_cached(&sql)?.query_row(params![pattern, session, file], |row| {
                Ok(PatternSessions { here: row.get(0)?, elsewhere: row.get(1)? })
            })
        };
        self.sql_result("read", read())
    }

    /// The patterns that failed most often in the folder of a file and in its kind of files, at least `failures_min`
    /// times.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_near_file(&self, path: &str, failures_min: u64) -> Result<Vec<i64>, StoreError> {
        let mut found = Vec::new();
        for place in places_of_file(path) {
            found.extend(self.patterns_at_place(&place, failures_min)?);
        }
        Ok(found)
    }

    /// The patterns that a tool class reported most often, at least `failures_min` times.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_of_tool(&self, class: &str, failures_min: u64) -> Result<Vec<i64>, StoreError> {
        self.patterns_at_place(&format!("t:{class}"), failures_min)
    }

    fn patterns_at_place(&self, place: &str, failures_min: u64) -> Result<Vec<i64>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT leader_no FROM (SELECT pattern_no FROM pattern_places WHERE place = ?1 AND failures >= ?2
                                                 ORDER BY failures DESC LIMIT ?3)
                 JOIN pattern_leaders USING (pattern_no)",
            )?;
            let least = i64::try_from(failures_min).unwrap_or(i64::MAX);
            statement.query_map(params![place, least, PLACE_MAX], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// The patterns with one of these words in their message, the likeliest first, each with its BM25 score (higher is
    /// likelier). `words` are letters and digits only.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_with_words(&self, words: &[String]) -> Result<Vec<(i64, f64)>, StoreError> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let read = || {
            let question = rarest_words_query(&self.connection, "pattern_words", words)?;
            let mut statement = self.connection.prepare_cached(
                "SELECT leader_no, score FROM (
                     SELECT * FROM (SELECT rowid AS pattern_no, -bm25(pattern_words, 3.0, 2.0, 1.0) AS score
                                    FROM pattern_words WHERE pattern_words MATCH ?1 ORDER BY rowid LIMIT ?3)
                     ORDER BY score DESC, pattern_no LIMIT ?2)
                 JOIN pattern_leaders USING (pattern_no) ORDER BY score DESC, leader_no",
            )?;
            let parameters = params![question, WORDS_MAX, SCORED_MAX];
            let rows = statement.query_map(parameters, |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// Whether a tool class reported a pattern.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn is_reported_by_tool(&self, pattern: i64, class: &str) -> Result<bool, StoreError> {
        let read = || {
            let sql = "SELECT 1 FROM pattern_places WHERE place = 't:' || ?1 AND pattern_no = ?2";
            let mut statement = self.connection.prepare_cached(sql)?;
            for member in self.group_of(pattern)?.members {
                if statement.exists(params![class, member])? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        self.sql_result("read", read())
    }

    /// The tests that patterns failed in, the newest failures first: pattern by its row number, test.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn tests_of_patterns(&self) -> Result<Vec<(i64, String)>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT leader_no, test FROM (SELECT pattern_no, test FROM occurrences
                                                       WHERE test IS NOT NULL ORDER BY at DESC LIMIT ?1)
                 JOIN pattern_leaders USING (pattern_no)",
            )?;
            statement.query_map([TESTS_MAX], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        };
        self.sql_result("read", read())
    }

    /// Of these patterns those with the most failures, the last seen first among equals.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn most_frequent_patterns(&self, patterns: &[i64], limit: usize) -> Result<Vec<i64>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT pattern_no FROM json_each(?1) wanted CROSS JOIN patterns ON pattern_no = wanted.value
                 ORDER BY failure_count DESC, last_seen DESC, pattern_key LIMIT ?2",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            statement.query_map(params![to_json(&patterns.to_vec()), limit], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// What ranking needs to know of a pattern that represents its group.
    ///
    /// # Errors
    /// SQLite's; also when there is none.
    pub(crate) fn advice_row(&self, pattern: i64) -> Result<AdviceRow, StoreError> {
        let read = || {
            let group = self.group_of(pattern)?;
            let sql = "SELECT pattern_key, family_key, masked, failure_count FROM patterns WHERE pattern_no = ?1";
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut row = statement.query_row([pattern], |row| {
                Ok(AdviceRow {
                    number: pattern,
                    key: row.get(0)?,
                    family: row.get(1)?,
                    masked: row.get(2)?,
                    failures: row_unsigned(row, 3)?,
                    silenced: false,
                    exposures: 0,
                    files: Vec::new(),
                    seen: Vec::new(),
                })
            })?;
            for other in group.members.iter().filter(|&&member| member != pattern) {
                row.failures += statement.query_row([other], |row| row_unsigned(row, 3))?;
            }
            row.silenced = self.is_silenced(&group)?;
            let sql = "SELECT count(*) FROM deliveries WHERE pattern_key = ?1 AND arm <> 'gate'";
            let mut statement = self.connection.prepare_cached(sql)?;
            for key in group.distinct_keys() {
                row.exposures += statement.query_row([key], |row| row_unsigned(row, 0))?;
            }
            let sightings = GroupOccurrences::from_group(self, &group)?;
            Ok(AdviceRow {
                files: sightings.most_frequent_files(FILES_MAX),
                seen: sightings.first_times_of_tasks(),
                ..row
            })
        };
        self.sql_result("read", read())
    }

    /// Whether a group is muted, deprecated or promoted.
    fn is_silenced(&self, group: &PatternGroupRow) -> rusqlite::Result<bool> {
        let sql = "SELECT state, at, event_id FROM pattern_reviews WHERE pattern_key = ?1";
        let mut reviews = self.connection.prepare_cached(sql)?;
        let sql = "SELECT 1 FROM promotion_states WHERE pattern_key = ?1 AND state = 'approved'";
        let mut promotions = self.connection.prepare_cached(sql)?;
        // The last word on each of the two questions.
        let (mut muted, mut deprecated) = (None, None);
        for key in group.distinct_keys() {
            if promotions.exists([key])? {
                return Ok(true);
            }
            let mut rows = reviews.query([key])?;
            while let Some(row) = rows.next()? {
                let (state, at, event): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let last = if matches!(state.as_str(), "muted" | "unmuted") { &mut muted } else { &mut deprecated };
                *last = std::mem::take(last).max(Some((at, event, state)));
            }
        }
        let is = |last: Option<(String, String, String)>, word: &str| last.is_some_and(|(_, _, state)| state == word);
        Ok(is(muted, "muted") || is(deprecated, "deprecated"))
    }

    /// What made a pattern, or one that is counted with it, go away at least once, the most successful first. Without the
    /// single attempts: a warning has no time for them.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn proven_remedies(&self, pattern: i64) -> Result<Vec<ProvenRemedyRow>, StoreError> {
        let read = || {
            let sql = format!(
                "{GROUP} SELECT min(strategy_no), technique, label, sum(successes), sum(successes + failures + partials)
                 FROM keys CROSS JOIN strategies ON error_pattern = pattern_key
                 WHERE match = 'pattern'
                 AND NOT EXISTS (SELECT 1 FROM imported_events i WHERE i.event_id = described_by)
                 GROUP BY technique, recipe_key HAVING sum(successes) > 0
                 ORDER BY 4 DESC, 5, technique, recipe_key LIMIT ?2"
            );
            let mut statement = self.connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params![pattern, WORKED_MAX], |row| {
                Ok(ProvenRemedyRow {
                    strategy: row.get(0)?,
                    technique: row.get(1)?,
                    label: row.get(2)?,
                    successes: row_unsigned(row, 3)?,
                    tries: row_unsigned(row, 4)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// `x-…` of the fix that a strategy last worked in.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn last_successful_fix(&self, strategy: i64) -> Result<Option<String>, StoreError> {
        let sql = "SELECT fix_id FROM strategy_tries s JOIN fix_attempts USING (event_id)
            WHERE strategy_no = ?1 AND counts_as = 'success' ORDER BY s.at DESC, event_id DESC LIMIT 1";
        let read = || self.connection.prepare_cached(sql)?.query_row([strategy], |row| row.get(0)).optional();
        self.sql_result("read", read())
    }

    /// The warning whose id starts with `id` (`w-` may be left out).
    ///
    /// # Errors
    /// [`StoreError::NoSuchId`], [`StoreError::Ambiguous`], SQLite's.
    pub(crate) fn find_delivery(&self, id: &str) -> Result<DeliveryRow, StoreError> {
        let full = if id.starts_with("w-") { id.to_owned() } else { format!("w-{id}") };
        let mut found = self.deliveries_where("warning_id BETWEEN ?1 AND ?1 || '~'", &full, 20)?;
        match found.len() {
            0 => Err(StoreError::NoSuchId { id: full }),
            1 => Ok(found.remove(0)),
            count => Err(ambiguous_id(id, count, found.iter().map(|row| row.warning.as_str()))),
        }
    }

    /// The files that a warning was asked about, by its event; `None` when it is not recorded.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn files_of_delivery(&self, event: &str) -> Result<Option<Vec<String>>, StoreError> {
        let sql = "SELECT files FROM deliveries WHERE event_id = ?1";
        let read = || self.connection.prepare_cached(sql)?.query_row([event], |row| row.get(0)).optional();
        let files: Option<String> = self.sql_result("read", read())?;
        Ok(files.map(|files| serde_json::from_str(&files).unwrap_or_default()))
    }

    fn deliveries_where(&self, condition: &str, parameter: &str, limit: i64) -> Result<Vec<DeliveryRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT warning_id, name, session, delivered_at, arm, rank, score,
                        (SELECT pattern_id FROM known_patterns JOIN pattern_leaders USING (pattern_no)
                         JOIN patterns p ON p.pattern_no = leader_no
                         WHERE recorded_key = d.pattern_key LIMIT 1),
                        entry_id,
                        (SELECT useful FROM warning_acks a WHERE a.warning_id = d.warning_id AND useful IS NOT NULL
                         ORDER BY at DESC, event_id DESC LIMIT 1),
                        EXISTS (SELECT 1 FROM warning_acks a WHERE a.warning_id = d.warning_id)
                 FROM deliveries d JOIN tasks USING (task_no) WHERE {condition}
                 ORDER BY delivered_at, rank, event_id LIMIT ?2"
            ))?;
            let rows = statement.query_map(params![parameter, limit], |row| {
                Ok(DeliveryRow {
                    warning: row.get(0)?,
                    task: row.get(1)?,
                    session: row.get(2)?,
                    at: row_time(row, 3)?,
                    arm: row.get(4)?,
                    rank: row_unsigned(row, 5)?,
                    score: row.get(6)?,
                    pattern: row.get(7)?,
                    entry: row.get(8)?,
                    useful: row.get(9)?,
                    acknowledged: row.get(10)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// How often a pattern of this key was seen before `before`: failures of its group, distinct tasks, and the row
    /// number of the pattern that represents it. `None` when it never was.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_occurrences_before(
        &self,
        key: &str,
        before: Timestamp,
    ) -> Result<Option<(u64, u64, i64)>, StoreError> {
        let read = || {
            let sql = "SELECT leader_no FROM known_patterns JOIN pattern_leaders USING (pattern_no)
                WHERE recorded_key = ?1 LIMIT 1";
            let leader: Option<i64> =
                self.connection.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional()?;
            let Some(leader) = leader else { return Ok(None) };
            let sql = format!(
                "{GROUP} SELECT count(DISTINCT failure_no), count(DISTINCT task_no)
                 FROM members CROSS JOIN occurrences USING (pattern_no) WHERE at < ?2"
            );
            let (failures, tasks) =
                self.connection.prepare_cached(&sql)?.query_row(params![leader, before.rfc3339()], |row| {
                    Ok((row_unsigned(row, 0)?, row_unsigned(row, 1)?))
                })?;
            Ok((failures > 0).then_some((failures, tasks, leader)))
        };
        self.sql_result("read", read())
    }
}
