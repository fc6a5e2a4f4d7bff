//! Fix workflows and their rates, flakes, and notes on fixes.

use rusqlite::{OptionalExtension, Row, params};
use serde::Serialize;

use super::{ambiguous_id, row_time, row_unsigned};
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::event::{Attempt, FixState, FlakeProof};
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::segment::SegmentFolder;

/// Which fixes to list. Empty fields don't filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FixFilter {
    /// The outcome of the failure.
    pub state: Option<FixState>,
    /// The category of the failure.
    pub category: Option<String>,
    /// The task of an attempt.
    pub task: Option<String>,
    /// A file that an attempt changed, or a folder around one.
    pub file: Option<String>,
    /// Only those that a job of the learning pipeline proved; the caller sorts them out.
    pub is_proven: bool,
    /// Without those of proven flakes, which no figure counts.
    pub is_counted: bool,
    /// The agent of the run that failed first, and its tool as [`super::RunFilter::tool`].
    pub agent: Option<String>,
    pub tool: Option<String>,
    /// Only those whose last attempt ended at this time or later.
    pub since: Option<Timestamp>,
    /// Only those whose last attempt ended before this time.
    pub until: Option<Timestamp>,
    /// The limit on results, the last touched first.
    pub limit: usize,
}

/// A fix workflow with what tells whether it held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FixRow {
    /// `x-…`
    pub id: String,
    /// The command key.
    pub key: String,
    /// The work tree.
    pub root: Lossless,
    /// The outcome of the failure.
    pub state: FixState,
    /// Runs with something changed before them.
    pub attempts: u64,
    /// Runs with nothing changed before them.
    pub reruns: u64,
    /// The first attempt.
    pub first_at: Timestamp,
    pub last_at: Timestamp,
    /// When the failure was gone.
    pub resolved_at: Option<Timestamp>,
    /// `f-…` of the failure that began it; `None` when its run is not in the store.
    pub failure: Option<String>,
    pub category: Option<String>,
    /// Its first message.
    pub summary: Option<String>,
    /// What was run, of the first failing run.
    pub argv: Vec<Lossless>,
    /// The task of the last attempt.
    pub task: String,
    /// When a run of that task was last started.
    pub task_last_at: Timestamp,
    /// A pattern that was fixed failed again in that task afterwards.
    pub recurred: bool,
    /// Other workflows in which the same recipe made the same kind of failure go away, by another run; counted up to 20.
    pub twins: u64,
    /// What it fixed is known as a flake of one of its failing runs.
    pub suspect: bool,
    /// Attempts that fixed something.
    pub steps: u64,
    /// Files were changed, but none that has to do with the failure.
    pub unknown_cause: bool,
}

/// What tells soonest whether a fix held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SolvedFixRow {
    /// When the failure was gone.
    pub resolved_at: Option<Timestamp>,
    /// When a run of its task was last started.
    pub task_last_at: Timestamp,
    /// A pattern that was fixed failed again in that task afterwards.
    pub recurred: bool,
    /// One of its failing runs is known as a flake's.
    pub suspect: bool,
}

/// How often failures of a category get fixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FixRateRow {
    /// The category.
    pub category: String,
    /// Workflows; weakened, flaky and undone ones are not counted.
    pub workflows: u64,
    /// Fixed ones.
    pub fixed: u64,
    /// Fixed within the limit of attempts.
    pub quickly: u64,
    /// Attempts in all.
    pub attempts: u64,
}

/// Which flakes to list. Empty fields don't filter.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlakeFilter {
    /// A pattern key.
    pub pattern: Option<String>,
    /// The limit on results, the last seen first.
    pub limit: usize,
}

/// A pattern that comes and goes over the same tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FlakeRow {
    /// The pattern key.
    pub pattern: String,
    /// `p-…`; `None` when its failure is not in the store.
    pub pattern_id: Option<String>,
    /// Its masked text.
    pub title: Option<String>,
    /// The strongest proof.
    pub proof: FlakeProof,
    /// Pairs of runs that show it.
    pub pairs: u64,
    /// Distinct failing runs among them.
    pub failures: u64,
    /// Runs of the same checks.
    pub runs: u64,
    /// The first pair.
    pub first_at: Timestamp,
    /// The last pair.
    pub last_at: Timestamp,
    /// What is known of the last pair.
    pub why: String,
    /// The last pair: the run without it, and the run with it.
    pub last_runs: [String; 2],
}

/// What a user said about a fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FixNoteRow {
    /// Time of the note.
    pub at: Timestamp,
    /// Why it failed.
    pub cause: Option<String>,
    /// Approach that fixed it.
    pub approach: Option<String>,
    /// Rule that follows.
    pub rule: Option<String>,
    /// Why no entry is to be made of it; empty without a reason.
    pub declined: Option<String>,
    /// Author of the statement.
    pub by: Option<String>,
}

/// A failure's own lesson that a fix belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FixLessonRow {
    /// `l-…`
    pub lesson: String,
    /// The run whose lesson it is.
    pub run: String,
}

impl Index {
    /// Fix workflows, the last touched first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn list_fixes(&self, filter: &FixFilter) -> Result<Vec<FixRow>, StoreError> {
        let read = || self.read_fixes(self.choose_fixes(filter, None, None)?.into_iter().map(|(id, _)| id).collect());
        self.sql_result("read", read())
    }

    /// Fix workflows after one that was last touched then and has this id, in the list as it was at a moment: each with
    /// when it was last touched until then.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn page_of_fixes(
        &self,
        filter: &FixFilter,
        moment: Timestamp,
        after: Option<&(Timestamp, String)>,
    ) -> Result<Vec<(FixRow, Timestamp)>, StoreError> {
        let read = || {
            let (ids, times): (Vec<String>, Vec<Timestamp>) =
                self.choose_fixes(filter, Some(moment), after)?.into_iter().unzip();
            Ok(self.read_fixes(ids)?.into_iter().zip(times).collect())
        };
        self.sql_result("read", read())
    }

    fn choose_fixes(
        &self,
        filter: &FixFilter,
        moment: Option<Timestamp>,
        after: Option<&(Timestamp, String)>,
    ) -> rusqlite::Result<Vec<(String, Timestamp)>> {
        let sql = CHOSEN.replace("{which}", CHOSEN_WHICH).replace("{where}", CHOSEN_WHERE);
        let mut chosen = self.connection.prepare_cached(&sql)?;
        let time = |at: Option<Timestamp>| at.map(Timestamp::rfc3339);
        let (after, after_id) = after.cloned().unzip();
        let parameters = params![
            filter.state,
            filter.category,
            filter.task,
            filter.file,
            filter.agent,
            filter.tool,
            time(filter.since),
            time(filter.until),
            time(after),
            after_id,
            i64::try_from(filter.limit).unwrap_or(i64::MAX),
            time(moment).unwrap_or_else(|| "~".to_owned()),
            filter.is_counted,
        ];
        chosen.query_map(parameters, |row| Ok((row.get(0)?, row_time(row, 1)?)))?.collect()
    }

    /// Fixes by their whole ids, in this order.
    pub(super) fn read_fixes(&self, ids: Vec<String>) -> rusqlite::Result<Vec<FixRow>> {
        let mut row = self.connection.prepare_cached(&FIX.replace("{recurred}", RECURRED))?;
        ids.iter().map(|id| row.query_row(params![id, FAMILY_FIXES_MAX], fix_row)).collect()
    }

    /// What tells soonest whether a fix, by its whole id, held. `None` of one that solved nothing.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn solved_fix(&self, fix: &str) -> Result<Option<SolvedFixRow>, StoreError> {
        let read = || {
            let row = |row: &Row<'_>| {
                Ok(SolvedFixRow {
                    resolved_at: optional_time(row, 0)?,
                    task_last_at: optional_time(row, 1)?.unwrap_or(Timestamp(0)),
                    recurred: row.get(2)?,
                    suspect: row.get(3)?,
                })
            };
            self.connection.prepare_cached(&SOLVED.replace("{recurred}", RECURRED))?.query_row([fix], row).optional()
        };
        self.sql_result("read", read())
    }

    /// The fix whose id starts with `id` (`x-` may be left out).
    ///
    /// # Errors
    /// [`StoreError::NoSuchId`], [`StoreError::Ambiguous`], SQLite's.
    pub(crate) fn find_fix(&self, id: &str) -> Result<FixRow, StoreError> {
        let full = if id.starts_with("x-") { id.to_owned() } else { format!("x-{id}") };
        let read = || {
            // As a range, so that it is looked up.
            let sql =
                "SELECT fix_id FROM fix_figures WHERE fix_id >= ?1 AND fix_id < ?1 || '~' ORDER BY fix_id LIMIT 20";
            let mut named = self.connection.prepare_cached(sql)?;
            let ids = named.query_map([&full], |row| row.get(0))?;
            self.read_fixes(ids.collect::<rusqlite::Result<_>>()?)
        };
        let mut found = self.sql_result("read", read())?;
        match found.len() {
            0 => Err(StoreError::NoSuchId { id: full }),
            1 => Ok(found.remove(0)),
            count => Err(ambiguous_id(id, count, found.iter().map(|row| row.id.as_str()))),
        }
    }

    /// A fix's attempts in their order, from their events.
    ///
    /// # Errors
    /// SQLite's and I/O.
    pub(crate) fn read_attempts(&self, segments: &SegmentFolder, fix: &str) -> Result<Vec<Attempt>, StoreError> {
        let read = || {
            let mut statement = self
                .connection
                .prepare_cached("SELECT event_id FROM fix_attempts WHERE fix_id = ?1 ORDER BY at, event_id")?;
            let ids = statement.query_map([fix], |row| row.get::<_, String>(0))?;
            ids.collect::<rusqlite::Result<Vec<_>>>()
        };
        let ids = self.sql_result("read", read())?;
        let attempts = ids.iter().map(|id| self.read_attempt(segments, id));
        attempts.filter_map(Result::transpose).collect()
    }

    /// How often failures get fixed, by category; `quickly` is a number of attempts.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn fix_rates(&self, quickly: u64) -> Result<Vec<FixRateRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT name, count(*), sum(state = 'success'), sum(state = 'success' AND attempts <= ?1), sum(attempts)
                 FROM fix_figures JOIN names ON name_no = category_no
                 WHERE name <> '' AND state NOT IN ('weakened', 'flaky', 'undone') AND NOT suspect
                 GROUP BY name_no ORDER BY count(*) DESC, name",
            )?;
            let rows = statement.query_map([i64::try_from(quickly).unwrap_or(i64::MAX)], |row| {
                Ok(FixRateRow {
                    category: row.get(0)?,
                    workflows: row_unsigned(row, 1)?,
                    fixed: row_unsigned(row, 2)?,
                    quickly: row_unsigned(row, 3)?,
                    attempts: row_unsigned(row, 4)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// How many fixes there are of each state.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_fix_states(&self) -> Result<Vec<(FixState, u64)>, StoreError> {
        let sql = "SELECT state, count(*) FROM fix_figures GROUP BY state ORDER BY state";
        let read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            statement.query_map([], |row| Ok((row.get(0)?, row_unsigned(row, 1)?)))?.collect()
        };
        self.sql_result("read", read())
    }

    /// Patterns that come and go over the same tree.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn list_flakes(&self, filter: &FlakeFilter) -> Result<Vec<FlakeRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(FLAKES)?;
            let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![filter.pattern, limit], |row| {
                Ok(FlakeRow {
                    pattern: row.get(0)?,
                    pattern_id: row.get(1)?,
                    title: row.get(2)?,
                    proof: row.get(3)?,
                    pairs: row_unsigned(row, 4)?,
                    failures: row_unsigned(row, 5)?,
                    runs: row_unsigned(row, 6)?,
                    first_at: row_time(row, 7)?,
                    last_at: row_time(row, 8)?,
                    why: row.get(9)?,
                    last_runs: [row.get(10)?, row.get(11)?],
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// What was said about a fix, the newest last.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn fix_notes(&self, fix: &str) -> Result<Vec<FixNoteRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT at, cause, approach, rule, author, declined FROM fix_notes WHERE fix_id = ?1 ORDER BY at, \
                 event_id",
            )?;
            let rows = statement.query_map([fix], |row| {
                Ok(FixNoteRow {
                    at: row_time(row, 0)?,
                    cause: row.get(1)?,
                    approach: row.get(2)?,
                    rule: row.get(3)?,
                    by: row.get(4)?,
                    declined: row.get(5)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// The lessons of these pattern keys, the newest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn lessons_of_patterns(&self, keys: &[&str], limit: usize) -> Result<Vec<FixLessonRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT lesson_id, run_id FROM known_patterns
                 JOIN occurrences USING (pattern_no) JOIN failures USING (failure_no)
                 WHERE recorded_key = ?1 AND lesson_id IS NOT NULL
                   AND run_id NOT IN (SELECT run_id FROM withdrawn_lessons) ORDER BY run_id DESC LIMIT ?2",
            )?;
            let mut found: Vec<FixLessonRow> = Vec::new();
            for key in keys {
                let most = i64::try_from(limit).unwrap_or(i64::MAX);
                let rows = statement
                    .query_map(params![key, most], |row| Ok(FixLessonRow { lesson: row.get(0)?, run: row.get(1)? }))?;
                for row in rows {
                    let row = row?;
                    if found.len() < limit && !found.contains(&row) {
                        found.push(row);
                    }
                }
            }
            Ok(found)
        };
        self.sql_result("read", read())
    }
}

/// Of a family of many thousand messages.
const FAMILY_FIXES_MAX: i64 = 500;

/// Whether a pattern that was fixed failed again in the task `t` after the workflow `w` was over.
const RECURRED: &str = "EXISTS (SELECT 1 FROM fix_attempts a JOIN attempt_patterns p USING (event_id)
                   JOIN known_patterns n ON n.recorded_key = p.pattern_key
                   JOIN occurrences o USING (pattern_no)
                   WHERE a.fix_id = w.fix_id AND p.role = 'fixed' AND o.task_no = t.task_no
                     AND o.at > coalesce(w.resolved_at, w.last_at))";

const SOLVED: &str = "
    SELECT w.resolved_at, t.last_at, {recurred}, (SELECT suspect FROM fix_figures WHERE fix_id = ?1) FROM fix_states w
    LEFT JOIN tasks t ON t.name = (SELECT task FROM fix_attempts x WHERE x.fix_id = w.fix_id
                                   ORDER BY at DESC, event_id DESC LIMIT 1)
    WHERE w.fix_id = ?1 AND w.state = 'success'";

/// Fixes are chosen before anything else is asked about them, one by one: those that were last touched until the moment
/// `?12`, and where later ones were then.
const CHOSEN: &str = "
    SELECT * FROM (
        SELECT fix_id, last_at FROM fix_figures w WHERE {which} AND {where} AND last_at <= ?12
        ORDER BY last_at DESC, fix_id LIMIT ?11)
    UNION ALL SELECT * FROM (
        SELECT fix_id, (SELECT max(at) FROM fix_attempts a WHERE a.fix_id = w.fix_id AND at <= ?12) AS last_at
        FROM fix_figures w WHERE {which} AND w.last_at > ?12) WHERE {where}
    ORDER BY last_at DESC, fix_id LIMIT ?11";
const CHOSEN_WHICH: &str = "
    (?1 IS NULL OR state = ?1) AND NOT (?13 AND suspect)
    AND (?2 IS NULL OR category_no = (SELECT name_no FROM names WHERE name = ?2))
    AND (?3 IS NULL OR EXISTS (SELECT 1 FROM fix_attempts a WHERE a.fix_id = w.fix_id AND a.task = ?3))
    AND (?4 IS NULL OR EXISTS (SELECT 1 FROM fix_attempts a JOIN attempt_files f USING (event_id)
                               WHERE a.fix_id = w.fix_id
                                 AND (f.path = ?4 OR substr(f.path, 1, length(?4) + 1) = ?4 || '/')))
    AND (?5 IS NULL OR agent_no = (SELECT name_no FROM names WHERE name = ?5))
    AND (?6 IS NULL OR tool_no IN (SELECT name_no FROM names WHERE name = ?6 OR name LIKE '%:' || ?6))";
const CHOSEN_WHERE: &str = "last_at >= coalesce(?7, '') AND last_at < coalesce(?8, '~')
    AND (?9 IS NULL OR last_at <= ?9 AND (last_at < ?9 OR fix_id > ?10))";

/// Whether another one helped against the same family in the same way is asked of [`FAMILY_FIXES_MAX`] of that family's.
const FIX: &str = "
    SELECT w.fix_id, w.command_key, w.root, w.state, w.attempts, w.reruns, w.first_at, w.last_at, w.resolved_at,
           w.failure_id, w.category, w.summary, r.argv, l.task, t.last_at,
           {recurred},
           (SELECT count(*) FROM (SELECT DISTINCT b.fix_id
            FROM fix_attempts a CROSS JOIN fix_attempts b ON b.event_id IN (
                SELECT u.event_id FROM attempt_patterns p
                CROSS JOIN patterns q
                    ON q.pattern_no IN (SELECT pattern_no FROM known_patterns WHERE recorded_key = p.pattern_key)
                CROSS JOIN patterns s ON s.family_key = q.family_key
                CROSS JOIN attempt_patterns u ON u.role = 'fixed' AND u.pattern_key IN (
                    SELECT s.pattern_key UNION SELECT recorded_key FROM recorded_keys k WHERE k.pattern_no = s.pattern_no)
                WHERE p.event_id = a.event_id AND p.role = 'fixed' LIMIT ?2)
            WHERE a.fix_id = w.fix_id AND a.outcome = 'success' AND b.fix_id <> w.fix_id AND b.outcome = 'success'
              AND b.run_id <> a.run_id
              AND b.weakened = 0 AND b.means <> 'none'
              AND EXISTS (SELECT 1 FROM attempt_recipes c JOIN attempt_recipes d USING (recipe_key)
                          WHERE c.event_id = a.event_id AND d.event_id = b.event_id) LIMIT 20)),
           (SELECT suspect FROM fix_figures WHERE fix_id = ?1),
           (SELECT count(DISTINCT a.run_id) FROM fix_attempts a
            WHERE a.fix_id = w.fix_id AND a.means <> 'none' AND a.fixed > 0),
           NOT EXISTS (SELECT 1 FROM fix_attempts a WHERE a.fix_id = w.fix_id AND a.outcome = 'success'
                       AND (a.means <> 'edit' OR EXISTS (SELECT 1 FROM attempt_recipes c WHERE c.event_id = a.event_id)))
    FROM fix_states w
    JOIN fix_attempts l ON l.event_id = (SELECT event_id FROM fix_attempts x WHERE x.fix_id = ?1
                                         ORDER BY at DESC, event_id DESC LIMIT 1)
    LEFT JOIN runs r ON r.run_id = w.opened_by LEFT JOIN tasks t ON t.name = l.task
    WHERE w.fix_id = ?1";

const FLAKES: &str = "
    SELECT p.pattern_key, q.pattern_id, q.masked, min(k.proof), count(*), count(DISTINCT k.fail_run),
           (SELECT count(*) FROM runs r WHERE r.command_key IN
            (SELECT command_key FROM flakes JOIN flake_patterns u USING (event_id) WHERE u.pattern_key = p.pattern_key)),
           min(k.at), max(k.at), l.why, l.pass_run, l.fail_run
    FROM flake_patterns p JOIN flakes k USING (event_id)
    LEFT JOIN known_patterns n ON n.recorded_key = p.pattern_key LEFT JOIN patterns q USING (pattern_no)
    JOIN flakes l ON l.event_id = (SELECT event_id FROM flakes x JOIN flake_patterns y USING (event_id)
                                   WHERE y.pattern_key = p.pattern_key ORDER BY x.at DESC, event_id DESC LIMIT 1)
    WHERE ?1 IS NULL OR p.pattern_key = ?1
    GROUP BY p.pattern_key ORDER BY 9 DESC, 1 LIMIT ?2";

fn optional_time(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row.get::<_, Option<String>>(column)?.and_then(|text| Timestamp::parse(&text)))
}

fn fix_row(row: &Row<'_>) -> rusqlite::Result<FixRow> {
    let argv: Option<String> = row.get(12)?;
    Ok(FixRow {
        id: row.get(0)?,
        key: row.get(1)?,
        root: serde_json::from_str(&row.get::<_, String>(2)?).unwrap_or_default(),
        state: row.get(3)?,
        attempts: row_unsigned(row, 4)?,
        reruns: row_unsigned(row, 5)?,
        first_at: row_time(row, 6)?,
        last_at: row_time(row, 7)?,
        resolved_at: optional_time(row, 8)?,
        failure: row.get(9)?,
        category: row.get(10)?,
        summary: row.get(11)?,
        argv: argv.and_then(|argv| serde_json::from_str(&argv).ok()).unwrap_or_default(),
        task: row.get(13)?,
        task_last_at: optional_time(row, 14)?.unwrap_or(Timestamp(0)),
        recurred: row.get(15)?,
        twins: row_unsigned(row, 16)?,
        suspect: row.get(17)?,
        steps: row_unsigned(row, 18)?,
        unknown_cause: row.get(19)?,
    })
}
