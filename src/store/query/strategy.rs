//! What was tried against a pattern, in which tasks and sessions, and its outcome.

use std::collections::HashSet;

use rusqlite::params;

use super::pattern::GROUP;
use super::{row_time, row_unsigned};
use crate::base::clock::Timestamp;
use crate::event::{AttemptOutcome, Technique};
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::to_json;

/// Strategies of one pattern that are looked at: those that helped most often.
pub(super) const STRATEGIES_MAX: i64 = 20;
/// Attempts that one strategy's confidence is folded from, the oldest.
const TRIES_MAX: i64 = 10_000;
/// Parts of a task's signature.
const PARTS_MAX: i64 = 10_000;
/// Patterns that a fix made go away, named with it.
const PATTERNS_MAX: i64 = 5;

/// Something that was tried against a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StrategyRow {
    /// `s-…`
    pub id: String,
    /// What was the same: the changed lines, the files, the command.
    pub technique: Technique,
    /// What is the same in all its tries.
    pub recipe: String,
    /// Label for people.
    pub label: String,
    /// How often the pattern was gone afterwards, and stayed away for the rest of the task.
    pub successes: u64,
    /// How often it was not.
    pub failures: u64,
    /// How often some of it was gone.
    pub partials: u64,
    /// Each time, the oldest first.
    pub tries: Vec<StrategyTryRow>,
}

/// One time that it was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StrategyTryRow {
    /// The event that says so.
    pub event: String,
    /// `x-…` of the fix that it is part of.
    pub fix: String,
    /// When its run ended.
    pub at: Timestamp,
    /// Its outcome.
    pub outcome: AttemptOutcome,
    /// It was a success, but the pattern was back in the same task.
    pub recurred: bool,
    /// The whole failure was solved by it.
    pub solved: bool,
    /// Its number among the attempts at that failure, from 1.
    pub number: u64,
    pub task: String,
    /// The sitting.
    pub session: Option<String>,
    /// Agent, the kind of worker.
    pub agent: Option<String>,
}

impl Index {
    /// What was tried against a pattern and those that are counted with it, the most successful first. What only a
    /// flake seemed to need is left out.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn strategies_of_pattern(&self, pattern: i64) -> Result<Vec<StrategyRow>, StoreError> {
        let mut found = self.strategies_without_tries(pattern)?;
        for strategy in &mut found {
            strategy.tries = self.tries_of_strategy(pattern, strategy)?;
        }
        Ok(found)
    }

    /// The same without the single tries.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn strategies_without_tries(&self, pattern: i64) -> Result<Vec<StrategyRow>, StoreError> {
        let read = || {
            // Merged patterns have a strategy each; `min` picks the one that names them all.
            let mut statement = self.connection.prepare_cached(&format!(
                "{GROUP} SELECT min(strategy_id), technique, recipe_key, label, sum(successes), sum(failures),
                                sum(partials)
                 FROM keys CROSS JOIN strategies ON error_pattern = pattern_key
                 WHERE match = 'pattern' GROUP BY technique, recipe_key
                 HAVING sum(successes + failures + partials) > 0
                 ORDER BY 5 DESC, 6, 7, technique, recipe_key LIMIT ?2"
            ))?;
            let rows = statement.query_map(params![pattern, STRATEGIES_MAX], |row| {
                Ok(StrategyRow {
                    id: row.get(0)?,
                    technique: row.get(1)?,
                    recipe: row.get(2)?,
                    label: row.get(3)?,
                    successes: row_unsigned(row, 4)?,
                    failures: row_unsigned(row, 5)?,
                    partials: row_unsigned(row, 6)?,
                    tries: Vec::new(),
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// The tries of a strategy against a pattern, the oldest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn tries_of_strategy(
        &self,
        pattern: i64,
        strategy: &StrategyRow,
    ) -> Result<Vec<StrategyTryRow>, StoreError> {
        self.sql_result("read", self.read_tries(pattern, strategy.technique, &strategy.recipe))
    }

    fn read_tries(&self, pattern: i64, technique: Technique, recipe: &str) -> rusqlite::Result<Vec<StrategyTryRow>> {
        let mut statement = self.connection.prepare_cached(&format!(
            "{GROUP} SELECT s.event_id, fix_id, s.at, s.outcome, discounted IS 'recurred', a.outcome = 'success',
                    (SELECT count(DISTINCT b.run_id) FROM fix_attempts b WHERE b.fix_id = a.fix_id AND b.means <> 'none'
                     AND (b.at, b.event_id) <= (a.at, a.event_id)),
                    s.task, session, agent
             FROM keys CROSS JOIN strategies ON error_pattern = pattern_key
             JOIN strategy_tries s USING (strategy_no) JOIN fix_attempts a USING (event_id)
             LEFT JOIN runs r ON r.run_id = s.run_id
             WHERE match = 'pattern' AND technique = ?2 AND recipe_key = ?3 AND counts_as IS NOT NULL
             GROUP BY s.event_id ORDER BY s.at, s.event_id LIMIT ?4"
        ))?;
        let rows = statement.query_map(params![pattern, technique, recipe, TRIES_MAX], |row| {
            Ok(StrategyTryRow {
                event: row.get(0)?,
                fix: row.get(1)?,
                at: row_time(row, 2)?,
                outcome: row.get(3)?,
                recurred: row.get(4)?,
                solved: row.get(5)?,
                number: row_unsigned(row, 6)?,
                task: row.get(7)?,
                session: row.get(8)?,
                agent: row.get(9)?,
            })
        })?;
        rows.collect()
    }

    /// `k-…` of the gotcha about a pattern, or about one that is counted with it. `None` when no fix made it go away.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn gotcha_of_pattern(&self, pattern: i64) -> Result<Option<String>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(&format!(
                "{GROUP} SELECT entry_id FROM keys CROSS JOIN entries USING (pattern_key) WHERE type = 'gotcha'
                 ORDER BY pattern_key NOT IN (SELECT pattern_key FROM patterns WHERE pattern_no = ?1),
                          entry_id LIMIT 1"
            ))?;
            statement.query([pattern])?.next()?.map(|row| row.get(0)).transpose()
        };
        self.sql_result("read", read())
    }

    /// Those of the patterns with these row numbers that have a gotcha, or are counted with one that has.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn filter_learnt(&self, patterns: &[i64]) -> Result<HashSet<i64>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT wanted.value FROM json_each(?1) wanted WHERE EXISTS (
                     SELECT 1 FROM (SELECT wanted.value AS pattern_no
                                    UNION ALL SELECT other.pattern_no FROM pattern_groups own
                                    JOIN pattern_groups other ON other.leader_no = own.leader_no
                                    WHERE own.pattern_no = wanted.value)
                     CROSS JOIN known_patterns USING (pattern_no)
                     CROSS JOIN entries ON pattern_key = recorded_key WHERE type = 'gotcha')",
            )?;
            statement.query_map([to_json(&patterns.to_vec())], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// Row numbers of the patterns that a fix made go away, of a group that of the one that represents it.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_of_fix(&self, fix: &str) -> Result<Vec<i64>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT DISTINCT leader_no FROM fix_attempts JOIN attempt_patterns p USING (event_id)
                 JOIN known_patterns n ON n.recorded_key = p.pattern_key JOIN pattern_leaders USING (pattern_no)
                 WHERE fix_id = ?1 AND role = 'fixed' ORDER BY leader_no LIMIT ?2",
            )?;
            statement.query_map(params![fix, PATTERNS_MAX], |row| row.get(0))?.collect()
        };
        self.sql_result("read", read())
    }

    /// What is recorded of a task that tells it from others: pairs of `label`, `tool`, `category` or `file` and its
    /// value; at most 10,000.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn task_signature(&self, task: &str) -> Result<Vec<(String, String)>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT part, value FROM task_parts WHERE task_no = (SELECT task_no FROM tasks WHERE name = ?1)
                 ORDER BY part, value LIMIT ?2",
            )?;
            statement.query_map(params![task, PARTS_MAX], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        };
        self.sql_result("read", read())
    }

    /// The pattern with this row number, or that represents it.
    ///
    /// # Errors
    /// SQLite's; also when there is none.
    pub(crate) fn pattern_at(&self, number: i64) -> Result<super::PatternRow, StoreError> {
        self.sql_result("read", self.leader_of(number).and_then(|leader| self.pattern_row(leader)))
    }
}
