//! Recipes: changes that were tried in several tasks, and against which failures they worked.

use rusqlite::params;
use serde::Serialize;

use super::row_unsigned;
use crate::event::RecipeKind;
use crate::store::error::StoreError;
use crate::store::index::Index;

/// A recipe and how often it worked against one family of failures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RecipeRow {
    /// What was compared.
    pub kind: RecipeKind,
    /// Key of the recipe.
    pub key: String,
    /// Label for people.
    pub label: String,
    /// The family's masked text.
    pub against: String,
    /// The family's key.
    pub family: String,
    /// Distinct tasks in which it was tried.
    pub tasks: u64,
    /// Number of attempts.
    pub attempts: u64,
    /// How often the family was gone afterwards.
    pub successes: u64,
}

impl Index {
    /// Recipes that were tried in at least `tasks` tasks, or all of one fix; the most widely tried first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn list_recipes(
        &self,
        fix: Option<&str>,
        tasks: u64,
        limit: usize,
    ) -> Result<Vec<RecipeRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(RECIPES)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![fix, i64::try_from(tasks).unwrap_or(i64::MAX), limit], |row| {
                Ok(RecipeRow {
                    kind: row.get(0)?,
                    key: row.get(1)?,
                    label: row.get(2)?,
                    against: row.get(3)?,
                    family: row.get(4)?,
                    tasks: row_unsigned(row, 5)?,
                    attempts: row_unsigned(row, 6)?,
                    successes: row_unsigned(row, 7)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }
}

/// An attempt worked against a family when it fixed something of it and left nothing. Flakes count for nothing, and one
/// run that closed a failure under several commands counts once.
///
/// The attempts that count first, then what they met: from the patterns on, a family with a sixth of all patterns is looked at
/// for each attempt.
const RECIPES: &str = "
    WITH tried AS MATERIALIZED (
        SELECT event_id, kind, recipe_key, label FROM attempt_recipes WHERE ?1 IS NULL
        UNION ALL SELECT event_id, kind, recipe_key, label FROM attempt_recipes
                  WHERE recipe_key IN (SELECT recipe_key FROM attempt_recipes JOIN fix_attempts USING (event_id)
                                       WHERE fix_id = ?1)),
    met AS MATERIALIZED (
        SELECT p.event_id, p.role, p.pattern_key FROM (SELECT DISTINCT event_id FROM tried)
        CROSS JOIN attempt_patterns p USING (event_id) WHERE p.role IN ('fixed', 'persisted')),
    known AS (
        SELECT m.event_id, m.role, q.pattern_no FROM met m CROSS JOIN patterns q USING (pattern_key)
        UNION ALL SELECT m.event_id, m.role, r.pattern_no FROM met m CROSS JOIN recorded_keys r
                  ON r.recorded_key = m.pattern_key),
    families AS MATERIALIZED (
        SELECT event_id, family_key, max(masked_family) AS masked_family,
               max(role = 'fixed') AND NOT max(role = 'persisted') AS works
        FROM known CROSS JOIN patterns USING (pattern_no) GROUP BY event_id, family_key)
    SELECT c.kind, c.recipe_key, max(c.label), max(f.masked_family), f.family_key, count(DISTINCT a.task),
           count(DISTINCT a.run_id), count(DISTINCT iif(f.works, a.run_id, NULL))
    FROM tried c CROSS JOIN fix_attempts a USING (event_id) CROSS JOIN families f USING (event_id)
    WHERE a.means <> 'none' AND a.weakened = 0
      AND NOT EXISTS (SELECT 1 FROM flakes k CROSS JOIN flake_patterns h USING (event_id)
                      CROSS JOIN known_patterns n ON n.recorded_key = h.pattern_key
                      CROSS JOIN patterns q USING (pattern_no)
                      WHERE k.fail_run IN (a.before_run, a.opened_by) AND k.proof = 'proven'
                        AND q.family_key = f.family_key)
    GROUP BY c.kind, c.recipe_key, f.family_key HAVING count(DISTINCT a.task) >= ?2
    ORDER BY 6 DESC, 8 DESC, 7, 1, 2, 5 LIMIT ?3";
