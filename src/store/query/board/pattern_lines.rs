//! What lists show of many patterns: one question for all of them, not one for each.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use foldhash::HashMap;
use serde_json::Value;

use crate::base::clock::Timestamp;
use crate::store::error::StoreError;
use crate::store::index::Index;
use crate::store::query::board::pattern::PatternFixesRow;
use crate::store::query::history::SIGHTINGS_MAX;
use crate::store::query::pattern::{PatternRow, pattern_from_row};
use crate::store::query::strategy::{STRATEGIES_MAX, StrategyRow};
use crate::store::query::{parse_time, row_unsigned};
use crate::store::to_json;

/// Failures whose message and test represent a pattern, the newest.
const NEWEST: usize = 3;

/// Message and test of a failure.
type SeenMessage = (String, Option<String>);
/// Messages of failures by when their runs were started, the newest first, and by the pattern's key.
type PlacedMessages = BTreeMap<(Reverse<(String, String)>, String), (i64, SeenMessage)>;

/// Patterns that represent their groups, each with what belongs to it.
#[derive(Debug, Default)]
pub(crate) struct PatternGroups {
    /// The patterns, by their row numbers.
    wanted: BTreeSet<i64>,
    /// Of each pattern of their groups the one that represents it.
    leaders: BTreeMap<i64, i64>,
    /// Every key that events have for them, and whom it leads to: `{"key": number}`.
    keys: String,
    /// Those with more than one key.
    several: BTreeSet<i64>,
}

/// When a pattern was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PatternSightings {
    /// The first time in each task, proven flakes left out, the oldest first.
    pub first: Vec<Timestamp>,
    /// Message and test of its last failures, the newest first, at most three.
    pub newest: Vec<SeenMessage>,
}

/// What was learnt about a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LearntPatternRow {
    /// `k-…`
    pub entry: String,
    /// What made it go away, of what is looked at of its strategies; without the single tries.
    pub strategies: Vec<StrategyRow>,
}

/// A failure that has a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SeenFailure {
    at: String,
    failure: i64,
    /// The pattern of the group.
    pattern: i64,
}

/// What is known of a pattern while its failures are read.
#[derive(Debug, Default)]
struct SightingsInProgress {
    /// The first time in each task.
    first: HashMap<i64, String>,
    /// The newest failures, the newest first, and all that are as new as the last of them.
    newest: Vec<SeenFailure>,
    /// When the third newest was; `None` before there is one.
    oldest: Option<String>,
}

impl PatternGroups {
    fn members(&self) -> Vec<i64> {
        self.leaders.keys().copied().collect()
    }

    fn leader_of(&self, member: i64) -> i64 {
        self.leaders.get(&member).copied().unwrap_or(member)
    }

    /// Whether events have more than one key for a pattern and its group.
    pub(crate) fn has_several_keys(&self, leader: i64) -> bool {
        self.several.contains(&leader)
    }

    fn count_members(&self, leader: i64) -> u64 {
        self.leaders.values().filter(|known| **known == leader).count() as u64
    }
}

impl Index {
    /// The groups of patterns that represent them, by their row numbers.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn groups_of_patterns(&self, wanted: &[i64]) -> Result<PatternGroups, StoreError> {
        let read = || {
            let mut leaders: BTreeMap<i64, i64> = wanted.iter().map(|leader| (*leader, *leader)).collect();
            let mut others = self.connection.prepare_cached(
                "SELECT pattern_no, leader_no FROM json_each(?1) CROSS JOIN pattern_groups ON leader_no = value",
            )?;
            let rows = others.query_map([to_json(&wanted)], |row| Ok((row.get(0)?, row.get(1)?)))?;
            leaders.extend(rows.collect::<rusqlite::Result<Vec<(i64, i64)>>>()?);
            let wanted = wanted.iter().copied().collect();
            let mut groups = PatternGroups { wanted, leaders, ..PatternGroups::default() };
            let mut named = self.connection.prepare_cached(
                "SELECT pattern_no, pattern_key FROM json_each(?1) CROSS JOIN patterns ON pattern_no = value
                 UNION ALL SELECT pattern_no, recorded_key FROM json_each(?1) CROSS JOIN recorded_keys ON pattern_no = value",
            )?;
            let keys = named.query_map([to_json(&groups.members())], |row| Ok((row.get(1)?, row.get(0)?)))?;
            let keys: BTreeSet<(String, i64)> =
                keys.map(|key| key.map(|(key, member)| (key, groups.leader_of(member)))).collect::<Result<_, _>>()?;
            let mut seen = BTreeSet::new();
            groups.several =
                keys.iter().filter(|(_, leader)| !seen.insert(*leader)).map(|(_, leader)| *leader).collect();
            // A key that patterns of two groups have is there twice.
            let keys: Vec<String> =
                keys.into_iter().map(|(key, leader)| format!("{}:{leader}", Value::String(key))).collect();
            groups.keys = format!("{{{}}}", keys.join(","));
            Ok(groups)
        };
        self.sql_result("read", read())
    }

    /// The patterns, as [`Index::brief_pattern_row`] has them, by their row numbers.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn brief_pattern_rows(&self, groups: &PatternGroups) -> Result<BTreeMap<i64, PatternRow>, StoreError> {
        // Of a pattern with others in its group those are looked at, too.
        const OF_GROUP: &str = "FROM patterns m WHERE m.pattern_no = p.pattern_no
            OR m.pattern_no IN (SELECT o.pattern_no FROM pattern_groups o WHERE o.leader_no = p.pattern_no)";
        let sql = format!(
            "SELECT p.pattern_no, pattern_id, pattern_key, family_key, tool, code, masked, masked_family,
                    (SELECT min(first_seen) {OF_GROUP}), (SELECT max(last_seen) {OF_GROUP}), failures, tasks,
                    (SELECT name FROM names WHERE name_no = category_no),
                    tasks, 1, 0, 0, flaky
             FROM json_each(?1) CROSS JOIN patterns p ON p.pattern_no = value JOIN pattern_figures USING (pattern_no)"
        );
        // Of the group and the reviews nothing is asked here: they are known of all patterns at once.
        let reviewed = self.reviewed_patterns()?;
        let read = || {
            let mut statement = self.connection.prepare_cached(&sql)?;
            let rows = statement.query_map([to_json(&groups.wanted)], |row| {
                let row = pattern_from_row(row)?;
                let [muted, deprecated] = reviewed.get(&row.number).copied().unwrap_or_default();
                Ok(PatternRow { members: groups.count_members(row.number), muted, deprecated, ..row })
            })?;
            rows.map(|row| row.map(|row| (row.number, row))).collect()
        };
        self.sql_result("read", read())
    }

    /// When the patterns were seen, each with its group.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn sightings_of_patterns(
        &self,
        groups: &PatternGroups,
    ) -> Result<BTreeMap<i64, PatternSightings>, StoreError> {
        let read = || {
            let mut reading: BTreeMap<i64, SightingsInProgress> = BTreeMap::new();
            let mut statement = self.connection.prepare_cached(
                "SELECT pattern_no, failure_no, task_no, at, flaky FROM json_each(?1)
                 CROSS JOIN occurrences ON pattern_no = value",
            )?;
            let mut rows = statement.query([to_json(&groups.members())])?;
            while let Some(row) = rows.next()? {
                let (pattern, failure, task) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let seen = reading.entry(groups.leader_of(pattern)).or_default();
                seen.add(pattern, failure, task, row.get_ref(3)?.as_str()?, row.get(4)?);
            }
            let mut messages = self.newest_messages(&reading)?;
            let sightings = reading.into_iter().map(|(leader, seen)| {
                let newest = messages.remove(&leader).unwrap_or_default();
                (leader, PatternSightings { first: seen.first_times(), newest })
            });
            Ok(sightings.collect())
        };
        self.sql_result("read", read())
    }

    /// Message and test of the newest failures: of one with two patterns of a group those of the one whose key is smaller.
    fn newest_messages(
        &self,
        reading: &BTreeMap<i64, SightingsInProgress>,
    ) -> rusqlite::Result<BTreeMap<i64, Vec<SeenMessage>>> {
        let wanted: Vec<(i64, i64, i64, bool)> = reading
            .iter()
            .flat_map(|(leader, all)| {
                all.newest.iter().map(|seen| (*leader, seen.pattern, seen.failure, all.has_equal(seen)))
            })
            .collect();
        // The runs of failures are far apart, and decide only between those of one moment.
        let mut statement = self.connection.prepare_cached(
            "SELECT value ->> 0, failure_no, o.at,
                    iif(value ->> 3, (SELECT run_id FROM failures f WHERE f.failure_no = o.failure_no), ''),
                    pattern_key, message, test FROM json_each(?1)
             CROSS JOIN occurrences o ON pattern_no = value ->> 1 AND failure_no = value ->> 2
             CROSS JOIN patterns USING (pattern_no)",
        )?;
        let mut rows = statement.query([to_json(&wanted)])?;
        let mut found: BTreeMap<i64, PlacedMessages> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let place = (Reverse((row.get(2)?, row.get(3)?)), row.get(4)?);
            found.entry(row.get(0)?).or_default().insert(place, (row.get(1)?, (row.get(5)?, row.get(6)?)));
        }
        let newest = |seen: PlacedMessages| {
            let (mut failures, mut newest) = (BTreeSet::new(), Vec::new());
            for (failure, message) in seen.into_values() {
                if newest.len() < NEWEST && failures.insert(failure) {
                    newest.push(message);
                }
            }
            newest
        };
        Ok(found.into_iter().map(|(leader, seen)| (leader, newest(seen))).collect())
    }

    /// Fixes that the patterns were in, as [`Index::count_pattern_fixes`] counts them.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn count_fixes_of_patterns(
        &self,
        groups: &PatternGroups,
    ) -> Result<BTreeMap<i64, PatternFixesRow>, StoreError> {
        let read = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT pattern_no, fixed, tried FROM json_each(?1) CROSS JOIN pattern_figures ON pattern_no = value",
            )?;
            let rows = statement.query_map([to_json(&groups.wanted)], |row| {
                Ok((row.get(0)?, PatternFixesRow { fixed: row_unsigned(row, 1)?, tried: row_unsigned(row, 2)? }))
            })?;
            rows.collect()
        };
        self.sql_result("read", read())
    }

    /// Those of the patterns about which advice was due, shown or held out.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_with_deliveries(&self, groups: &PatternGroups) -> Result<BTreeSet<i64>, StoreError> {
        let sql = "SELECT DISTINCT value FROM json_each(?1) CROSS JOIN deliveries ON pattern_key = key";
        let read = || self.connection.prepare_cached(sql)?.query_map([&groups.keys], |row| row.get(0))?.collect();
        self.sql_result("read", read())
    }

    /// Those of the patterns that people may have explained: in a lesson, or with a fix.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn patterns_with_notes(&self, groups: &PatternGroups) -> Result<BTreeSet<i64>, StoreError> {
        let read = || {
            let mut noted = self.connection.prepare_cached(
                "SELECT DISTINCT value FROM json_each(?1) CROSS JOIN note_patterns ON pattern_key = key",
            )?;
            let mut found: BTreeSet<i64> =
                noted.query_map([&groups.keys], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            // By lesson: people write fewer of them than there are failures of a page of patterns.
            let mut annotated = self.connection.prepare_cached(
                "SELECT DISTINCT pattern_no FROM (SELECT DISTINCT lesson_id FROM lesson_changes WHERE change = 'annotated')
                 CROSS JOIN failures USING (lesson_id) CROSS JOIN occurrences USING (failure_no)
                 WHERE pattern_no IN (SELECT value FROM json_each(?1))",
            )?;
            let mut rows = annotated.query([to_json(&groups.members())])?;
            while let Some(row) = rows.next()? {
                found.insert(groups.leader_of(row.get(0)?));
            }
            Ok(found)
        };
        self.sql_result("read", read())
    }

    /// What was learnt about the patterns, as [`Index::gotcha_of_pattern`] and [`Index::strategies_without_tries`] find it.
    /// What no fix made go away is left out.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn learnt_of_patterns(
        &self,
        groups: &PatternGroups,
    ) -> Result<BTreeMap<i64, LearntPatternRow>, StoreError> {
        let read = || {
            let mut learnt = self.connection.prepare_cached(
                "SELECT value, entry_id FROM json_each(?1) CROSS JOIN entries ON pattern_key = key WHERE entries.type = 'gotcha'
                 ORDER BY value, key NOT IN (SELECT pattern_key FROM patterns WHERE pattern_no = value), entry_id",
            )?;
            let mut found: BTreeMap<i64, LearntPatternRow> = BTreeMap::new();
            let mut rows = learnt.query([&groups.keys])?;
            while let Some(row) = rows.next()? {
                let (leader, entry) = (row.get(0)?, row.get(1)?);
                found.entry(leader).or_insert(LearntPatternRow { entry, strategies: Vec::new() });
            }
            for (leader, strategy, has_helped) in self.strategies_of_keys(groups)? {
                if let Some(learnt) = found.get_mut(&leader).filter(|_| has_helped) {
                    learnt.strategies.push(strategy);
                }
            }
            Ok(found)
        };
        self.sql_result("read", read())
    }

    /// The strategies against each pattern that are looked at, and whether a try of one made it go away.
    fn strategies_of_keys(&self, groups: &PatternGroups) -> rusqlite::Result<Vec<(i64, StrategyRow, bool)>> {
        // Merged patterns have a strategy each; `min` picks the one that names them all.
        let mut statement = self.connection.prepare_cached(
            "SELECT value, min(strategy_id), technique, recipe_key, label, sum(successes), sum(failures), sum(partials),
                    sum(EXISTS (SELECT 1 FROM strategy_tries t JOIN fix_attempts USING (event_id)
                                WHERE t.strategy_no = s.strategy_no AND counts_as IS NOT NULL
                                  AND t.outcome = 'success')) > 0
             FROM json_each(?1) CROSS JOIN strategies s ON error_pattern = key
             WHERE match = 'pattern' GROUP BY value, technique, recipe_key
             HAVING sum(successes + failures + partials) > 0
             ORDER BY value, 6 DESC, 7, 8, technique, recipe_key",
        )?;
        let rows = statement.query_map([&groups.keys], |row| {
            let strategy = StrategyRow {
                id: row.get(1)?,
                technique: row.get(2)?,
                recipe: row.get(3)?,
                label: row.get(4)?,
                successes: row_unsigned(row, 5)?,
                failures: row_unsigned(row, 6)?,
                partials: row_unsigned(row, 7)?,
                tries: Vec::new(),
            };
            Ok((row.get(0)?, strategy, row.get(8)?))
        })?;
        let mut counts: BTreeMap<i64, i64> = BTreeMap::new();
        let mut found = Vec::new();
        for row in rows {
            let row: (i64, StrategyRow, bool) = row?;
            let count = counts.entry(row.0).or_default();
            *count += 1;
            if *count <= STRATEGIES_MAX {
                found.push(row);
            }
        }
        Ok(found)
    }
}

impl SightingsInProgress {
    fn add(&mut self, pattern: i64, failure: i64, task: i64, at: &str, flaky: bool) {
        if !flaky {
            match self.first.get_mut(&task) {
                Some(first) if first.as_str() <= at => {}
                Some(first) => at.clone_into(first),
                None => drop(self.first.insert(task, at.to_owned())),
            }
        }
        if self.oldest.as_deref().is_none_or(|oldest| at >= oldest) {
            let place = self.newest.partition_point(|known| (known.at.as_str(), known.failure) >= (at, failure));
            self.newest.insert(place, SeenFailure { at: at.to_owned(), failure, pattern });
            self.drop_older();
        }
    }

    /// Drops what is older than the third newest failure.
    fn drop_older(&mut self) {
        let mut failures: Vec<i64> = self.newest.iter().map(|known| known.failure).collect();
        failures.dedup();
        let Some(third) = failures.get(NEWEST - 1) else { return };
        self.oldest = self.newest.iter().find(|known| known.failure == *third).map(|known| known.at.clone());
        let oldest = self.oldest.as_deref().unwrap_or_default();
        self.newest.retain(|known| known.at.as_str() >= oldest);
    }

    /// Whether another of the newest failures was at the same time.
    fn has_equal(&self, seen: &SeenFailure) -> bool {
        self.newest.iter().any(|other| other.at == seen.at && other.failure != seen.failure)
    }

    fn first_times(self) -> Vec<Timestamp> {
        let mut times: Vec<Timestamp> = self.first.values().map(|at| parse_time(at)).collect();
        times.sort_unstable();
        times.truncate(usize::try_from(SIGHTINGS_MAX).unwrap_or(usize::MAX));
        times
    }
}
