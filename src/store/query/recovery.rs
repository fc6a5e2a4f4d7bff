//! Strategies against an error: what users proposed and what was learnt, with the outcomes of their attempts.

use rusqlite::{Row, params};

use super::{ambiguous_id, row_time, row_unsigned};
use crate::base::clock::Timestamp;
use crate::event::{AttemptOutcome, ErrorMatch, Technique};
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::to_json;

/// Strategies that are looked at for one error, of each way of matching.
const STRATEGIES_MAX: i64 = 500;
/// Attempts of one strategy, the newest.
const REPORTS_MAX: i64 = 200;

const COLUMNS: &str = "strategy_no, strategy_id, match, error_pattern, technique, label, steps, successes, failures,
    partials, (SELECT count(DISTINCT agent) FROM strategy_reports r WHERE r.strategy_id = s.strategy_id),
    EXISTS (SELECT 1 FROM imported_events i WHERE i.event_id = s.described_by)";

/// A strategy.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RemedyRow {
    /// Row number.
    pub number: i64,
    /// `s-…`
    pub id: String,
    /// How the error is known.
    pub matches: ErrorMatch,
    /// The error: a text, a regex, a pattern's key.
    pub error: String,
    /// Where it comes from.
    pub technique: Technique,
    /// What to do, in a few words.
    pub label: String,
    /// How, if recorded.
    pub steps: Vec<String>,
    /// Number of successes.
    pub successes: u64,
    /// Number of failures.
    pub failures: u64,
    /// Number of partial successes.
    pub partials: u64,
    /// Agents that reported an attempt.
    pub agents: u64,
    /// It was imported, and not trusted here.
    pub imported: bool,
}

/// One time that a strategy was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RemedyAttemptRow {
    pub event: String,
    pub at: Timestamp,
    pub task: String,
    /// What counts.
    pub outcome: AttemptOutcome,
    /// Name of the agent, if reported.
    pub agent: Option<String>,
    /// Kind of task.
    pub category: Option<String>,
    /// Kind of file.
    pub file_type: Option<String>,
    /// The user's note.
    pub note: Option<String>,
}

impl Index {
    /// The strategy whose id starts with `id` (`s-` may be left out).
    ///
    /// # Errors
    /// [`StoreError::NoSuchId`], [`StoreError::Ambiguous`], SQLite's, as for all methods here.
    pub(crate) fn find_remedy(&self, id: &str) -> Result<RemedyRow, StoreError> {
        let full = if id.starts_with("s-") { id.to_owned() } else { format!("s-{id}") };
        let condition = "strategy_id BETWEEN ?1 AND ?1 || '~' AND ?1 <> 's-'";
        let mut found = self.remedies_where(condition, &full)?;
        found.dedup_by(|a, b| a.id == b.id);
        match found.len() {
            0 => Err(StoreError::NoSuchId { id: full }),
            1 => Ok(found.remove(0)),
            count => Err(ambiguous_id(id, count, found.iter().map(|row| row.id.as_str()))),
        }
    }

    /// The strategies proposed against a text in an error, which is given in lower case.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn remedies_in_text(&self, error: &str) -> Result<Vec<RemedyRow>, StoreError> {
        self.remedies_where("match = 'substring' AND instr(?1, error_pattern) > 0", error)
    }

    /// The strategies proposed against a regex; without those of settings, which say themselves where they are to be
    /// proposed.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn remedies_by_regex(&self) -> Result<Vec<RemedyRow>, StoreError> {
        self.remedies_where("match = 'regex' AND technique <> ?1", Technique::Declared.as_str())
    }

    /// What is recorded of a strategy of the settings; `None` without a reported attempt.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn declared_remedy(&self, id: &str) -> Result<Option<RemedyRow>, StoreError> {
        let found = self.remedies_where("strategy_id = ?1", id)?;
        Ok(found.into_iter().find(|row| row.technique == Technique::Declared))
    }

    /// The strategies against patterns with these keys and those that are counted with them, learnt or proposed.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn remedies_of_patterns(&self, keys: &[String]) -> Result<Vec<RemedyRow>, StoreError> {
        let condition = "match = 'pattern' AND error_pattern IN (
            SELECT value FROM json_each(?1)
            UNION SELECT other.recorded_key FROM json_each(?1) w JOIN known_patterns k ON k.recorded_key = w.value
            JOIN known_patterns other ON other.pattern_no = k.pattern_no
            UNION SELECT other.recorded_key FROM json_each(?1) w JOIN known_patterns k ON k.recorded_key = w.value
            JOIN pattern_groups own ON own.pattern_no = k.pattern_no
            JOIN pattern_groups g ON g.leader_no = own.leader_no
            JOIN known_patterns other ON other.pattern_no = g.pattern_no)";
        self.remedies_where(condition, &to_json(&keys.to_vec()))
    }

    /// All strategies, those that were tried most often first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn list_remedies(&self, limit: usize) -> Result<Vec<RemedyRow>, StoreError> {
        let mut found = self.remedies_where("?1 = ''", "")?;
        found.truncate(limit);
        Ok(found)
    }

    fn remedies_where(&self, condition: &str, parameter: &str) -> Result<Vec<RemedyRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM strategies s WHERE {condition}
                 ORDER BY successes + failures + partials DESC, strategy_id, error_pattern LIMIT ?2"
            ))?;
            statement.query_map(params![parameter, STRATEGIES_MAX], remedy_from_row)?.collect()
        };
        self.sql_result("read", read())
    }

    /// The times that a strategy was tried and that count, the newest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn attempts_of_remedy(&self, strategy: i64) -> Result<Vec<RemedyAttemptRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT a.event_id, a.at, a.task, counts_as, agent, category, file_type, note
                 FROM strategy_tries a LEFT JOIN strategy_reports USING (event_id)
                 WHERE strategy_no = ?1 AND counts_as IS NOT NULL ORDER BY a.at DESC, a.event_id DESC LIMIT ?2",
            )?;
            let rows = statement.query_map(params![strategy, REPORTS_MAX], |row| {
                Ok(RemedyAttemptRow {
                    event: row.get(0)?,
                    at: row_time(row, 1)?,
                    task: row.get(2)?,
                    outcome: row.get(3)?,
                    agent: row.get(4)?,
                    category: row.get(5)?,
                    file_type: row.get(6)?,
                    note: row.get(7)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }
}

fn remedy_from_row(row: &Row<'_>) -> rusqlite::Result<RemedyRow> {
    Ok(RemedyRow {
        number: row.get(0)?,
        id: row.get(1)?,
        matches: row.get(2)?,
        error: row.get(3)?,
        technique: row.get(4)?,
        label: row.get(5)?,
        steps: serde_json::from_str(&row.get::<_, Option<String>>(6)?.unwrap_or_default()).unwrap_or_default(),
        successes: row_unsigned(row, 7)?,
        failures: row_unsigned(row, 8)?,
        partials: row_unsigned(row, 9)?,
        agents: row_unsigned(row, 10)?,
        imported: row.get(11)?,
    })
}
