//! Patterns, with the figures of all that were merged with them.

use std::collections::{BTreeSet, HashSet};

use rusqlite::{OptionalExtension, Row, params};

use super::{LessonRow, ambiguous_id, row_time, row_unsigned};
use crate::base::clock::Timestamp;
use crate::base::ids::{self, IdKind, RunId};
use crate::event::ReviewState;
use crate::store::error::StoreError;
use crate::store::index::Index;

/// Patterns that a name may fit before it is called ambiguous.
const NAMED_MAX: u32 = 20;

/// A pattern with its figures: those of its group, when others were merged with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternRow {
    /// Row number of the pattern that represents the group, for [`Index::occurrences_of_pattern`].
    pub number: i64,
    /// `p-…`.
    pub id: String,
    /// The pattern key.
    pub key: String,
    /// The family key.
    pub family: String,
    /// The tool definition that found it.
    pub tool: String,
    /// Rule or error code.
    pub code: Option<String>,
    /// Masked text, subject kept.
    pub masked: String,
    /// Masked text of the family.
    pub masked_family: String,
    /// First failure.
    pub first_seen: Timestamp,
    /// Last failure.
    pub last_seen: Timestamp,
    /// Failures that have it, proven flakes left out.
    pub failures: u64,
    /// Failures in which it was a proven flake.
    pub flaky: u64,
    /// Distinct tasks, as the failures.
    pub tasks: u64,
    /// Distinct tasks in which a pattern of its family was seen, as well.
    pub family_tasks: u64,
    /// The most frequent category of its failures.
    pub category: String,
    /// Patterns in the group, at least 1.
    pub members: u64,
    /// Muted: no advice is wanted about it.
    pub muted: bool,
    /// It can't happen any more, or is no mistake.
    pub deprecated: bool,
}

/// A pattern in one failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OccurrenceRow {
    /// `f-…`.
    pub failure: String,
    pub run: String,
    /// When the run was started.
    pub at: Timestamp,
    pub task: String,
    /// Items of this pattern in the run.
    pub items: u64,
    /// The first item's file.
    pub file: Option<String>,
    /// The first item's line.
    pub line: Option<u32>,
    /// The first item's test.
    pub test: Option<String>,
    /// The first item's message, one line.
    pub message: String,
    /// The failure's category.
    pub category: String,
    /// It is a proven flake there.
    pub flaky: bool,
}

/// One of the patterns of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GroupMemberRow {
    /// Row number.
    pub number: i64,
    /// `p-…`.
    pub id: String,
    /// The pattern key.
    pub key: String,
    /// Masked text, subject kept.
    pub masked: String,
    /// Failures that have just this one.
    pub failures: u64,
    /// Ids that it had with other versions of the fingerprint.
    pub earlier_ids: Vec<String>,
}

/// A merge of two patterns of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternMergeRow {
    pub at: Timestamp,
    /// Id of the one, as it was then.
    pub from: String,
    /// Id of the other.
    pub into: String,
    /// `near-duplicate`, or who.
    pub by: Option<String>,
    /// From 0 to 1,000, where the recorder found it.
    pub similarity_permille: Option<u16>,
    pub why: Option<String>,
}

/// What users said about a pattern of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternReviewRow {
    pub at: Timestamp,
    /// What they said.
    pub state: ReviewState,
    /// Who.
    pub by: Option<String>,
    pub why: Option<String>,
}

/// The members of the group of the pattern whose number is `?1`, and the keys that events have for them.
pub(super) const GROUP: &str = "
    WITH members (pattern_no) AS (
        SELECT ?1 UNION SELECT other.pattern_no FROM pattern_groups own
        JOIN pattern_groups other ON other.leader_no = own.leader_no WHERE own.pattern_no = ?1
    ), keys (pattern_key) AS (
        SELECT pattern_key FROM members CROSS JOIN patterns USING (pattern_no)
        UNION SELECT recorded_key FROM members CROSS JOIN recorded_keys USING (pattern_no)
    )";

impl Index {
    /// Those of `keys` (pattern keys) that have a lesson, also under another pattern of their group; withdrawn ones don't
    /// count.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn patterns_with_lesson(&self, keys: &[&str]) -> Result<HashSet<String>, StoreError> {
        self.filter_keys(
            keys,
            "SELECT 1 FROM members CROSS JOIN occurrences USING (pattern_no) JOIN failures USING (failure_no)
             WHERE lesson_id IS NOT NULL AND (
                 run_id NOT IN (SELECT run_id FROM withdrawn_lessons)
                 OR EXISTS (SELECT 1 FROM lesson_changes c WHERE c.lesson_id = failures.lesson_id AND change = 'annotated')
             ) LIMIT 1",
        )
    }

    /// Whether one of `keys` (pattern keys), or another pattern of its group, was seen in more than one task.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn is_seen_in_several_tasks(&self, keys: &[&str]) -> Result<bool, StoreError> {
        let seen = self.filter_keys(
            keys,
            "SELECT 1 FROM (SELECT count(DISTINCT task_no) AS tasks
                 FROM members CROSS JOIN occurrences USING (pattern_no)) WHERE tasks > 1",
        )?;
        Ok(!seen.is_empty())
    }

    /// Those of `keys` (pattern keys) whose lesson a user forgot, also under another pattern of their group or under
    /// a key of another version.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn forgotten_patterns(&self, keys: &[&str]) -> Result<HashSet<String>, StoreError> {
        let find = || {
            let mut forgotten = HashSet::new();
            let mut statement = self
                .connection
                .prepare_cached("SELECT 1 FROM forgotten_patterns WHERE pattern_key IN (?1, ?2) LIMIT 1")?;
            for key in keys {
                let mut names = vec![(*key).to_owned()];
                if let Some(number) = self.number_of_key(key)? {
                    names.extend(self.keys_of_group(number)?);
                }
                for name in names {
                    // A lesson whose run isn't in this store was forgotten by its patterns' ids.
                    if statement.exists([&ids::short(IdKind::Pattern, name.as_bytes()), &name])? {
                        forgotten.insert((*key).to_owned());
                        break;
                    }
                }
            }
            Ok(forgotten)
        };
        self.sql_result("read", find())
    }

    fn filter_keys(&self, keys: &[&str], sql: &str) -> Result<HashSet<String>, StoreError> {
        let filter = || {
            let mut statement = self.connection.prepare_cached(&format!("{GROUP} {sql}"))?;
            let mut found = HashSet::new();
            for key in keys {
                if let Some(number) = self.number_of_key(key)?
                    && statement.exists([number])?
                {
                    found.insert((*key).to_owned());
                }
            }
            Ok(found)
        };
        self.sql_result("read", filter())
    }

    pub(super) fn number_of_key(&self, key: &str) -> rusqlite::Result<Option<i64>> {
        self.connection
            .prepare_cached("SELECT pattern_no FROM patterns WHERE pattern_key = ?1")?
            .query_row([key], |row| row.get(0))
            .optional()
    }

    fn keys_of_group(&self, number: i64) -> rusqlite::Result<Vec<String>> {
        let mut statement = self.connection.prepare_cached(&format!("{GROUP} SELECT pattern_key FROM keys"))?;
        let rows = statement.query_map([number], |row| row.get(0))?;
        rows.collect()
    }

    /// Patterns, the last seen first, without the first `offset`; of a group the one that represents it. With
    /// `failures_min` only those that may have this many failures, themselves, their group or their family: fewer
    /// failures can't be of more tasks.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn list_patterns(
        &self,
        offset: usize,
        limit: usize,
        failures_min: Option<u64>,
    ) -> Result<Vec<PatternRow>, StoreError> {
        const AT_LEAST: &str = "WHERE failure_count >= ?1 OR leader_no IS NOT NULL OR family_key IN
            (SELECT family_key FROM patterns GROUP BY family_key HAVING sum(failure_count) >= ?1)";
        let read = || {
            let condition = if failures_min.is_some() { AT_LEAST } else { "WHERE ?1 = 0" };
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT coalesce(leader_no, pattern_no) FROM patterns
                 LEFT JOIN pattern_groups USING (pattern_no) {condition} ORDER BY last_seen DESC, pattern_key"
            ))?;
            let mut rows = statement.query([i64::try_from(failures_min.unwrap_or(0)).unwrap_or(i64::MAX)])?;
            let (mut seen, mut found) = (HashSet::new(), Vec::new());
            while found.len() < limit
                && let Some(row) = rows.next()?
            {
                let leader: i64 = row.get(0)?;
                if seen.insert(leader) && seen.len() > offset {
                    found.push(self.pattern_row(leader)?);
                }
            }
            Ok(found)
        };
        self.sql_result("read", read())
    }

    /// The pattern whose id, or the id that it had with another version of the fingerprint, starts with `id` (`p-`
    /// may be left out): the one that represents its group.
    ///
    /// # Errors
    /// [`StoreError::NoSuchId`], [`StoreError::Ambiguous`], SQLite's.
    pub(crate) fn find_pattern(&self, id: &str) -> Result<PatternRow, StoreError> {
        let leader = self.find_pattern_number(id)?;
        self.sql_result("read", self.pattern_row(leader))
    }

    /// The row number of the same pattern, without a look at its family, which may be large.
    ///
    /// # Errors
    /// As [`Index::find_pattern`].
    pub(crate) fn find_pattern_number(&self, id: &str) -> Result<i64, StoreError> {
        let named = self.members_named(id)?;
        let leaders =
            || named.iter().map(|member| self.leader_of(member.number)).collect::<rusqlite::Result<BTreeSet<_>>>();
        let leaders = self.sql_result("read", leaders())?;
        match (leaders.first(), leaders.len()) {
            (Some(&leader), 1) => Ok(leader),
            (_, 0) => Err(StoreError::NoSuchId { id: id.to_owned() }),
            (_, count) => Err(ambiguous_id(id, count, named.iter().map(|member| member.id.as_str()))),
        }
    }

    /// Just the pattern whose id starts with `id`, whichever group it is in.
    ///
    /// # Errors
    /// As [`Index::find_pattern`].
    pub(crate) fn find_member(&self, id: &str) -> Result<GroupMemberRow, StoreError> {
        let mut named = self.members_named(id)?;
        match named.len() {
            0 => Err(StoreError::NoSuchId { id: id.to_owned() }),
            1 => Ok(named.remove(0)),
            count => Err(ambiguous_id(id, count, named.iter().map(|member| member.id.as_str()))),
        }
    }

    fn members_named(&self, id: &str) -> Result<Vec<GroupMemberRow>, StoreError> {
        let full = if id.starts_with("p-") { id.to_owned() } else { format!("p-{id}") };
        let read = || {
            // A range, so that the index is used; `~` comes after every letter of an id.
            let mut statement = self.connection.prepare_cached(
                "SELECT pattern_no FROM patterns WHERE pattern_id BETWEEN ?1 AND ?1 || '~'
                 UNION SELECT pattern_no FROM recorded_keys WHERE recorded_id BETWEEN ?1 AND ?1 || '~' LIMIT ?2",
            )?;
            let numbers = statement.query_map(params![full, NAMED_MAX], |row| row.get(0))?;
            numbers.map(|number| self.member_row(number?)).collect()
        };
        self.sql_result("read", read())
    }

    /// The run whose item gave a pattern its texts.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn describing_run(&self, number: i64) -> Result<String, StoreError> {
        let sql = "SELECT described_by FROM patterns WHERE pattern_no = ?1";
        let find = || self.connection.prepare_cached(sql)?.query_row([number], |row| row.get(0));
        self.sql_result("read", find())
    }

    /// The pattern with this key, or that represents it.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn pattern_of_key(&self, key: &str) -> Result<Option<PatternRow>, StoreError> {
        let find = || match self.number_of_key(key)? {
            Some(number) => Ok(Some(self.pattern_row(self.leader_of(number)?)?)),
            None => Ok(None),
        };
        self.sql_result("read", find())
    }

    /// Those of `keys` that are patterns' keys in this store.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn known_patterns(&self, keys: &[&str]) -> Result<HashSet<String>, StoreError> {
        let find = || {
            let mut known = HashSet::new();
            for key in keys {
                if self.number_of_key(key)?.is_some() {
                    known.insert((*key).to_owned());
                }
            }
            Ok(known)
        };
        self.sql_result("read", find())
    }

    pub(super) fn leader_of(&self, number: i64) -> rusqlite::Result<i64> {
        let leader = self
            .connection
            .prepare_cached("SELECT leader_no FROM pattern_groups WHERE pattern_no = ?1")?
            .query_row([number], |row| row.get(0))
            .optional()?;
        Ok(leader.unwrap_or(number))
    }

    pub(super) fn pattern_row(&self, leader: i64) -> rusqlite::Result<PatternRow> {
        let sql = format!("{GROUP} {}", PATTERN_COLUMNS.replace("{family_tasks}", FAMILY_TASKS));
        self.connection.prepare_cached(&sql)?.query_row([leader], pattern_from_row)
    }

    /// A pattern that represents its group, by its row number, without a look at its family, which may be large: its own
    /// tasks are given as those of the family.
    ///
    /// # Errors
    /// SQLite's; also when there is none.
    pub(crate) fn brief_pattern_row(&self, leader: i64) -> Result<PatternRow, StoreError> {
        let sql = format!("{GROUP} {}", PATTERN_COLUMNS.replace("{family_tasks}", "g.tasks"));
        let find = || self.connection.prepare_cached(&sql)?.query_row([leader], pattern_from_row);
        self.sql_result("read", find())
    }

    /// The row number of the pattern that represents the one with this key, of whatever version.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn pattern_number(&self, key: &str) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT leader_no FROM known_patterns JOIN pattern_leaders USING (pattern_no)
            WHERE recorded_key = ?1 LIMIT 1";
        let find = || self.connection.prepare_cached(sql)?.query_row([key], |row| row.get(0)).optional();
        self.sql_result("read", find())
    }

    fn member_row(&self, number: i64) -> rusqlite::Result<GroupMemberRow> {
        let earlier_ids = self
            .connection
            .prepare_cached("SELECT recorded_id FROM recorded_keys WHERE pattern_no = ?1 ORDER BY recorded_id")?
            .query_map([number], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        self.connection
            .prepare_cached(
                "SELECT pattern_id, pattern_key, masked, failure_count FROM patterns WHERE pattern_no = ?1",
            )?
            .query_row([number], |row| {
                Ok(GroupMemberRow {
                    number,
                    id: row.get(0)?,
                    key: row.get(1)?,
                    masked: row.get(2)?,
                    failures: row_unsigned(row, 3)?,
                    earlier_ids,
                })
            })
    }

    /// The patterns of a pattern's group, the one that represents it first, then those with the most failures.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn members_of_group(&self, pattern: i64) -> Result<Vec<GroupMemberRow>, StoreError> {
        let read = || {
            let leader = self.leader_of(pattern)?;
            let mut statement = self.connection.prepare_cached(&format!(
                "{GROUP} SELECT pattern_no FROM members CROSS JOIN patterns USING (pattern_no)
                 ORDER BY pattern_no <> ?2, failure_count DESC, pattern_key"
            ))?;
            let numbers = statement.query_map([pattern, leader], |row| row.get(0))?;
            numbers.map(|number| self.member_row(number?)).collect()
        };
        self.sql_result("read", read())
    }

    /// The merges between patterns of a pattern's group, oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn merges_of_group(&self, pattern: i64) -> Result<Vec<PatternMergeRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&format!(
                "{GROUP} SELECT at, from_key, into_key, by, similarity_permille, why FROM pattern_merges
                 WHERE from_key IN (SELECT pattern_key FROM keys) AND into_key IN (SELECT pattern_key FROM keys)
                 ORDER BY at, event_id"
            ))?;
            let rows = statement.query_map([pattern], |row| {
                let id = |column| {
                    Ok::<_, rusqlite::Error>(ids::short(IdKind::Pattern, row.get::<_, String>(column)?.as_bytes()))
                };
                Ok(PatternMergeRow {
                    at: row_time(row, 0)?,
                    from: id(1)?,
                    into: id(2)?,
                    by: row.get(3)?,
                    similarity_permille: row.get(4)?,
                    why: row.get(5)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// What people said about the patterns of a pattern's group, oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn reviews_of_group(&self, pattern: i64) -> Result<Vec<PatternReviewRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&format!(
                "{GROUP} SELECT at, state, by, why FROM keys CROSS JOIN pattern_reviews USING (pattern_key)
                 ORDER BY at, event_id"
            ))?;
            let rows = statement.query_map([pattern], |row| {
                Ok(PatternReviewRow { at: row_time(row, 0)?, state: row.get(1)?, by: row.get(2)?, why: row.get(3)? })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// A pattern's failures, the newest first; with those of its group.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn occurrences_of_pattern(&self, pattern: i64, limit: usize) -> Result<Vec<OccurrenceRow>, StoreError> {
        self.pattern_failures(pattern, None, limit)
    }

    /// Files in which the items of a pattern's group were, with the number of failures; the most frequent first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn pattern_files(&self, pattern: i64, limit: usize) -> Result<Vec<(String, u64)>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&format!(
                "{GROUP} SELECT file, count(DISTINCT failure_no) AS failures
                 FROM members CROSS JOIN occurrences USING (pattern_no) WHERE file IS NOT NULL
                 GROUP BY file ORDER BY failures DESC, file LIMIT ?2"
            ))?;
            let rows = statement.query_map(params![pattern, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
                Ok((row.get(0)?, row_unsigned(row, 1)?))
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// Lessons that were decided on for failures with a pattern of this one's group.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn pattern_lessons(&self, pattern: i64) -> Result<Vec<LessonRow>, StoreError> {
        self.lessons_where(
            "failure_no IN (
                 SELECT failure_no FROM occurrences WHERE pattern_no = ?1 OR pattern_no IN (
                     SELECT other.pattern_no FROM pattern_groups own
                     JOIN pattern_groups other ON other.leader_no = own.leader_no WHERE own.pattern_no = ?1))",
            pattern,
        )
    }

    /// The runs whose texts represent a pattern (by its key): the one that describes it, the newest, and those of the
    /// edits that made it go away; at most a dozen.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn quoted_runs_of_pattern(&self, key: &str) -> Result<Vec<RunId>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT described_by AS run_id FROM known_patterns JOIN patterns USING (pattern_no) WHERE recorded_key = ?1
                 UNION SELECT run_id FROM (
                     SELECT run_id FROM known_patterns JOIN occurrences o USING (pattern_no) JOIN failures USING (failure_no)
                     WHERE recorded_key = ?1 ORDER BY o.at DESC LIMIT 4)
                 UNION SELECT run_id FROM (
                     SELECT e.run_id FROM strategies s JOIN event_runs e ON e.event_id = s.described_by
                     WHERE s.match = 'pattern' AND s.error_pattern = ?1 AND s.successes > 0
                     ORDER BY s.successes DESC, e.run_id LIMIT 6)",
            )?;
            let rows = statement.query_map([key], |row| row.get::<_, String>(0))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let runs = self.sql_result("read", read())?;
        Ok(runs.iter().filter_map(|run| uuid::Uuid::parse_str(run).ok()).map(RunId).collect())
    }

    /// The runs of the failures with a pattern of the group that `id` names.
    pub(super) fn runs_of_pattern(&self, id: &str) -> Result<Vec<RunId>, StoreError> {
        let pattern = self.find_pattern_number(id)?;
        let read = || {
            let mut statement = self.connection.prepare_cached(&format!(
                "{GROUP} SELECT DISTINCT run_id FROM members CROSS JOIN occurrences USING (pattern_no)
                 JOIN failures USING (failure_no) ORDER BY run_id"
            ))?;
            let rows = statement.query_map([pattern], |row| row.get::<_, String>(0))?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        let runs = self.sql_result("read", read())?;
        Ok(runs.iter().filter_map(|run| uuid::Uuid::parse_str(run).ok()).map(RunId).collect())
    }
}

const PATTERN_COLUMNS: &str = "
    SELECT pattern_no, pattern_id, pattern_key, family_key, tool, code, masked, masked_family,
           (SELECT min(first_seen) FROM members CROSS JOIN patterns USING (pattern_no)),
           (SELECT max(last_seen) FROM members CROSS JOIN patterns USING (pattern_no)),
           g.failures, g.tasks, (SELECT name FROM names WHERE name_no = g.category_no),
           {family_tasks},
           (SELECT count(*) FROM members),
           coalesce((SELECT state = 'muted' FROM keys CROSS JOIN pattern_reviews USING (pattern_key)
                     WHERE state IN ('muted', 'unmuted') ORDER BY at DESC, event_id DESC LIMIT 1), 0),
           coalesce((SELECT state = 'deprecated' FROM keys CROSS JOIN pattern_reviews USING (pattern_key)
                     WHERE state IN ('deprecated', 'restored') ORDER BY at DESC, event_id DESC LIMIT 1), 0),
           g.flaky
    FROM patterns JOIN pattern_figures g USING (pattern_no) WHERE pattern_no = ?1";

/// Distinct tasks of the families of `members`.
pub(super) const FAMILY_TASKS: &str = "
    (SELECT count(DISTINCT task_no) FROM occurrences WHERE NOT flaky AND pattern_no IN (
        SELECT f.pattern_no FROM members CROSS JOIN patterns m USING (pattern_no)
        JOIN patterns f ON f.family_key = m.family_key))";

/// A pattern from columns in the order of [`PATTERN_COLUMNS`].
pub(super) fn pattern_from_row(row: &Row<'_>) -> rusqlite::Result<PatternRow> {
    Ok(PatternRow {
        number: row.get(0)?,
        id: row.get(1)?,
        key: row.get(2)?,
        family: row.get(3)?,
        tool: row.get(4)?,
        code: row.get(5)?,
        masked: row.get(6)?,
        masked_family: row.get(7)?,
        first_seen: row_time(row, 8)?,
        last_seen: row_time(row, 9)?,
        failures: row_unsigned(row, 10)?,
        tasks: row_unsigned(row, 11)?,
        category: row.get::<_, Option<String>>(12)?.unwrap_or_default(),
        family_tasks: row_unsigned(row, 13)?,
        members: row_unsigned(row, 14)?,
        muted: row.get(15)?,
        deprecated: row.get(16)?,
        flaky: row_unsigned(row, 17)?,
    })
}
