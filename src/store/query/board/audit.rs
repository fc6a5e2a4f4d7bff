//! Decisions about what is recorded: who made them, and what reverted them.

use rusqlite::params;

use crate::base::clock::Timestamp;
use crate::base::ids::{self, IdKind};
use crate::base::lossless::Lossless;
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::learn::is_own_step;
use crate::store::query::row_time;

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecisionRow {
    /// The event's id.
    pub event: String,
    /// `pattern`, `promotion`, `entry`, `fix`, `lesson`, `warning`, `gate`, `page` or `job`.
    pub kind: String,
    pub at: Timestamp,
    /// The person who decided, else the agent; `None` when the recorder did, or nothing is known.
    pub who: Option<String>,
    /// What was done, one word: `muted`, `merged`, `approved`, …
    pub action: String,
    /// What it is about: `p-…`, `r-…`, `k-…`, `x-…`, `l-…`, `w-…`, `g-…`, `a-…`, `j-…`, or the item that a waiver is for.
    pub about: String,
    /// The second thing that it is about.
    pub other: Option<String>,
    pub why: Option<String>,
    /// When it was reverted …
    pub reverted_at: Option<Timestamp>,
    /// … and by whom.
    pub reverted_by: Option<String>,
}

/// Of each kind of decision the event, the time, a word, what it is about, the person or agent, and why. Patterns are
/// named by their keys.
const DECISIONS: &str = "
    SELECT event_id, at, state AS action, pattern_key AS about, NULL AS other, by AS who, why, 'pattern' AS kind
    FROM pattern_reviews
    UNION ALL SELECT event_id, at, 'merged', from_key, into_key, iif(automatic, NULL, by),
        iif(automatic, printf('near-duplicate, %.2f', similarity_permille / 1000.0), why), 'pattern' FROM pattern_merges
    UNION ALL SELECT event_id, at, 'split', pattern_key, NULL, by, why, 'pattern' FROM pattern_splits
    UNION ALL SELECT event_id, at, change, promotion_id, NULL, coalesce(person, agent), reason, 'promotion'
    FROM promotion_changes
    UNION ALL SELECT event_id, at, change, entry_id, other_id, coalesce(person, agent), reason,
        'entry' FROM knowledge_changes
    UNION ALL SELECT event_id, at, iif(declined IS NULL, 'annotated', 'declined'), fix_id, NULL, author,
        coalesce(declined, cause, rule, approach), 'fix' FROM fix_notes
    UNION ALL SELECT event_id, at, change, lesson_id, NULL, author, why, 'lesson' FROM lesson_changes
    WHERE change IN ('annotated', 'forgotten')
    UNION ALL SELECT event_id, at, iif(useful IS NULL, 'acknowledged', iif(useful, 'useful', 'not_useful')), warning_id,
        NULL, coalesce(person, agent), NULL, 'warning' FROM warning_acks
    UNION ALL SELECT event_id, at,
        CASE step WHEN 'waiver' THEN iif(body ->> '$.withdrawn', 'unwaived', 'waived')
            WHEN 'resolved' THEN 'resolved' ELSE 'reset' END,
        coalesce(nullif(evaluation, ''), body ->> '$.item'), NULL, body ->> '$.by.person', body ->> '$.reason', 'gate'
    FROM gate_steps WHERE step IN ('waiver', 'reset', 'resolved')
    UNION ALL SELECT event_id, at, step, artifact_id, NULL, body ->> '$.by.person', body ->> '$.reason', 'page'
    FROM library_steps WHERE step IN ('approved', 'rejected', 'deprecated', 'restored')
    UNION ALL SELECT event_id, at, step, job_id, NULL, body ->> '$.by.person', body ->> '$.reason', 'job'
    FROM learn_steps s WHERE step IN ('requeued', 'cancelled') AND {is_own}";

/// The decision that reverted the decision `d`: the first later one that says the opposite of the same thing.
const REVERTED: &str = "
    SELECT r.at, r.who FROM decisions r WHERE r.kind = d.kind AND (r.at, r.event_id) > (d.at, d.event_id)
      AND r.action = CASE d.kind || d.action WHEN 'patternmuted' THEN 'unmuted' WHEN 'patterndeprecated' THEN 'restored'
          WHEN 'patternmerged' THEN 'split' WHEN 'patternsplit' THEN 'merged'
          WHEN 'promotionapproved' THEN 'rolled_back' WHEN 'entrypinned' THEN 'unpinned'
          WHEN 'gatewaived' THEN 'unwaived'
          WHEN 'pageapproved' THEN 'deprecated' WHEN 'pagedeprecated' THEN 'restored' END
      AND (r.about = d.about OR d.action = 'merged' AND r.about = d.other OR d.action = 'split' AND r.other = d.about)
      -- Only the same two patterns merged again, by a person, are what the split was from.
      AND (d.kind <> 'pattern' OR d.action <> 'split' OR EXISTS (
          SELECT 1 FROM pattern_merges again JOIN pattern_merges earlier
            ON min(earlier.from_key, earlier.into_key) = min(again.from_key, again.into_key)
            AND max(earlier.from_key, earlier.into_key) = max(again.from_key, again.into_key)
          WHERE again.event_id = r.event_id AND NOT again.automatic AND (earlier.at, earlier.event_id) < (d.at, d.event_id)))
    ORDER BY r.at, r.event_id LIMIT 1";

impl Index {
    /// Decisions, the newest first, after one of this time with this event.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn list_decisions(
        &self,
        after: Option<&(Timestamp, String)>,
        limit: usize,
    ) -> Result<Vec<DecisionRow>, StoreError> {
        let reverted = |column: &str| REVERTED.replace("r.at, r.who FROM", &format!("{column} FROM"));
        // What another store decided about a job counts for nothing here.
        let decisions = DECISIONS.replace("{is_own}", &is_own_step("s", "?4"));
        let sql = format!(
            "WITH decisions AS MATERIALIZED ({decisions}),
             page AS MATERIALIZED (
                 SELECT * FROM decisions WHERE ?1 IS NULL OR (at, event_id) < (?1, ?2)
                 ORDER BY at DESC, event_id DESC LIMIT ?3)
             SELECT event_id, at, who, action, about, other, why, ({}), ({}), kind FROM page d
             ORDER BY at DESC, event_id DESC",
            reverted("r.at"),
            reverted("r.who")
        );
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let (at, event) = after.map(|(at, event)| (at.rfc3339(), event)).unzip();
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![at, event, limit, self.own_name()], |row| {
                let is_pattern = row.get::<_, String>(9)? == "pattern";
                let name = |key: String| if is_pattern { ids::short(IdKind::Pattern, key.as_bytes()) } else { key };
                Ok(DecisionRow {
                    event: row.get(0)?,
                    kind: row.get(9)?,
                    at: row_time(row, 1)?,
                    who: row.get(2)?,
                    action: row.get(3)?,
                    about: name(row.get(4)?),
                    other: row.get::<_, Option<String>>(5)?.map(name),
                    why: row.get(6)?,
                    reverted_at: row.get::<_, Option<String>>(7)?.map(|_| row_time(row, 7)).transpose()?,
                    reverted_by: row.get(8)?,
                })
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// The work trees in which the gate took a step, at most 100.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn gate_work_trees(&self) -> Result<Vec<Lossless>, StoreError> {
        let sql = "SELECT DISTINCT work_tree FROM gate_steps ORDER BY work_tree LIMIT 100";
        let read = || self.connection.prepare_cached(sql)?.query_map([], |row| row.get::<_, String>(0))?.collect();
        let trees: Vec<String> = self.sql_result("read", read())?;
        Ok(trees.iter().filter_map(|tree| serde_json::from_str(tree).ok()).collect())
    }
}
