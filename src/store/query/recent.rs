//! The newest failures and their state.

use rusqlite::{Row, params};

use super::{ambiguous_id, parse_time, row_time, row_unsigned};
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::run::CommandEnd;
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::to_json;

/// Failures that are looked at for those that are still open, the newest.
const LOOKED_AT_MAX: i64 = 500;
/// Patterns of one failure.
const PATTERNS_MAX: i64 = 5;
/// Failures that an id may fit before it is called ambiguous.
const NAMED_MAX: i64 = 20;

/// A recorded failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailureRow {
    /// `f-…`
    pub failure: String,
    /// The run's id.
    pub run: String,
    /// What was run, secrets replaced.
    pub argv: Vec<Lossless>,
    /// Where, relative to the root.
    pub dir: Lossless,
    /// The tool, of a recognised check.
    pub tool: Option<String>,
    pub category: String,
    /// Its first message.
    pub summary: String,
    /// Number of diagnostics.
    pub items: u64,
    /// When the run ended.
    pub at: Timestamp,
    pub ended: CommandEnd,
    pub task: String,
    /// Agent, the kind of worker.
    pub agent: Option<String>,
    /// Affected files.
    pub files: Vec<String>,
    /// `p-…`, the first few.
    pub patterns: Vec<String>,
    /// `l-…`, when a lesson was written for it.
    pub lesson: Option<String>,
    /// When the check passed again on its branch, or a run of another one showed that all of it was gone.
    pub resolved_at: Option<Timestamp>,
    /// `x-…` of what was tried until it was gone.
    pub fix: Option<String>,
    /// When the run was started.
    pub started_at: Timestamp,
    /// Why no rate counts it: `cancelled` or `flaky`.
    pub uncounted: Option<String>,
    /// The work tree.
    pub root: Lossless,
    pub command_key: String,
    pub branch: Option<String>,
}

/// What [`Index::failure_row`] reads.
const FAILURE_COLUMNS: &str = "
    SELECT failure_no, failure_id, r.run_id, argv, dir, tool, f.category, f.summary, item_count, ended_at,
           exit_code, signal, t.name, agent, lesson_id,
           (SELECT min(p.ended_at) FROM runs p INDEXED BY passes_by_key
            WHERE p.command_key = r.command_key AND p.ended_at > r.ended_at AND p.branch IS r.branch
              AND p.own_status AND p.passed),
           (SELECT min(a.at) FROM fix_attempts a
            WHERE a.command_key = r.command_key AND a.at >= r.ended_at AND a.outcome = 'success'),
           (SELECT a.fix_id FROM fix_attempts a
            WHERE a.command_key = r.command_key AND a.at >= r.ended_at AND a.outcome = 'success'
            ORDER BY a.at LIMIT 1),
           r.started_at, f.uncounted, root, r.command_key, r.branch
    FROM runs r JOIN failures f USING (run_id) JOIN tasks t USING (task_no)";

impl Index {
    /// The failures of a work tree up to `now`, the newest first; with `open` only those that nothing resolved, of
    /// the newest 500, and none whose result does not depend on the code.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn recent_failures(
        &self,
        root: &Lossless,
        now: Timestamp,
        open: bool,
        limit: usize,
    ) -> Result<Vec<FailureRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&format!(
                "{FAILURE_COLUMNS} WHERE root = ?1 AND passed = 0 AND ended_at <= ?2
                   AND NOT (?4 AND no_lesson IS 'cancelled') ORDER BY ended_at DESC, r.run_id DESC LIMIT ?3"
            ))?;
            let mut rows = statement.query(params![to_json(root), now.rfc3339(), LOOKED_AT_MAX, open])?;
            let mut found = Vec::new();
            while found.len() < limit
                && let Some(row) = rows.next()?
            {
                let failure = self.failure_row(row)?;
                if !open || failure.resolved_at.is_none() {
                    found.push(failure);
                }
            }
            Ok(found)
        };
        self.sql_result("read", read())
    }

    /// A failure by its row number.
    pub(super) fn failure_details(&self, failure_no: i64) -> rusqlite::Result<FailureRow> {
        let sql = format!("{FAILURE_COLUMNS} WHERE failure_no = ?1");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([failure_no])?;
        match rows.next()? {
            Some(row) => self.failure_row(row),
            None => Err(rusqlite::Error::QueryReturnedNoRows),
        }
    }

    /// The failure whose id starts with `id` (`f-` may be left out).
    ///
    /// # Errors
    /// [`StoreError::NoSuchId`], [`StoreError::Ambiguous`], SQLite's.
    pub(crate) fn find_failure(&self, id: &str) -> Result<FailureRow, StoreError> {
        let full = if id.starts_with("f-") { id.to_owned() } else { format!("f-{id}") };
        let read = || {
            // A range, so that the index is used; `~` comes after every letter of an id.
            let sql = "SELECT failure_no FROM failures WHERE failure_id BETWEEN ?1 AND ?1 || '~' LIMIT ?2";
            let mut named = self.connection.prepare_cached(sql)?;
            let numbers = named.query_map(params![full, NAMED_MAX], |row| row.get(0))?;
            numbers.map(|number| self.failure_details(number?)).collect::<rusqlite::Result<Vec<_>>>()
        };
        let mut found = self.sql_result("read", read())?;
        match found.len() {
            0 => Err(StoreError::NoSuchId { id: full }),
            1 => Ok(found.remove(0)),
            count => Err(ambiguous_id(id, count, found.iter().map(|row| row.failure.as_str()))),
        }
    }

    fn failure_row(&self, row: &Row<'_>) -> rusqlite::Result<FailureRow> {
        let number: i64 = row.get(0)?;
        let ended = match row.get::<_, Option<u8>>(10)? {
            Some(code) => CommandEnd::Exit(code),
            None => CommandEnd::Signal(row.get(11)?),
        };
        let [passed, gone] = [15, 16].map(|column| row.get::<_, Option<String>>(column));
        let resolved = [passed?, gone?].into_iter().flatten().map(|at| parse_time(&at)).min();
        let mut patterns = self.connection.prepare_cached(
            "SELECT pattern_id FROM occurrences JOIN patterns USING (pattern_no)
             WHERE failure_no = ?1 ORDER BY pattern_id LIMIT ?2",
        )?;
        let patterns = patterns.query_map([number, PATTERNS_MAX], |row| row.get(0))?;
        Ok(FailureRow {
            failure: row.get(1)?,
            run: row.get(2)?,
            argv: serde_json::from_str(&row.get::<_, String>(3)?).unwrap_or_default(),
            dir: serde_json::from_str(&row.get::<_, String>(4)?).unwrap_or_default(),
            tool: row.get(5)?,
            category: row.get(6)?,
            summary: row.get(7)?,
            items: row_unsigned(row, 8)?,
            at: row_time(row, 9)?,
            ended,
            task: row.get(12)?,
            agent: row.get(13)?,
            files: self.files_of_failure(number)?,
            patterns: patterns.collect::<rusqlite::Result<_>>()?,
            lesson: row.get(14)?,
            resolved_at: resolved,
            fix: row.get(17)?,
            started_at: row_time(row, 18)?,
            uncounted: row.get(19)?,
            root: serde_json::from_str(&row.get::<_, String>(20)?).unwrap_or_default(),
            command_key: row.get(21)?,
            branch: row.get(22)?,
        })
    }
}
