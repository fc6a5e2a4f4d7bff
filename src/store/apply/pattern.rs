//! Applies merges, splits and reviews to their tables, and computes the groups of patterns.
//!
//! A merge joins all patterns that have one of its two keys now, but those that were split off later: a split reverts
//! what was merged before it, and permanently the automatic merges of the recorder. Groups are the connected
//! components. Only the groups around a change are rebuilt, from what is there then: in whichever order the events
//! come, the last one finds the same.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension, Transaction, params};

use super::outcome;
use super::rollup::{self, PatternChanges};
use crate::event::{PatternMerge, PatternSplit, Review};

/// When something was said, and its event: what is later wins.
type EventMoment = (String, String);

pub(super) fn insert_merge(
    transaction: &Transaction<'_>,
    event_id: &str,
    at: &str,
    merge: &PatternMerge,
) -> rusqlite::Result<()> {
    let similarity = merge.similarity_permille.map(|similarity| similarity.min(1_000));
    transaction.prepare_cached("INSERT INTO pattern_merges VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")?.execute(
        params![event_id, at, merge.from, merge.into, merge.by, similarity, merge.why, merge.is_automatic()],
    )?;
    let mut around = patterns_with_key(transaction, &merge.from)?;
    around.extend(patterns_with_key(transaction, &merge.into)?);
    recompute_and_recount(transaction, around)
}

pub(super) fn insert_split(
    transaction: &Transaction<'_>,
    event_id: &str,
    at: &str,
    split: &PatternSplit,
) -> rusqlite::Result<()> {
    transaction.prepare_cached("INSERT INTO pattern_splits VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(params![
        event_id,
        at,
        split.pattern,
        split.by,
        split.why
    ])?;
    recompute_and_recount(transaction, patterns_with_key(transaction, &split.pattern)?)
}

fn recompute_and_recount(transaction: &Transaction<'_>, around: BTreeSet<i64>) -> rusqlite::Result<()> {
    let mut changes = PatternChanges::default();
    recompute_groups(transaction, around, &mut changes)?;
    rollup::recount_patterns(transaction, &changes.regrouped).map(drop)
}

pub(super) fn insert_review(
    transaction: &Transaction<'_>,
    event_id: &str,
    at: &str,
    review: &Review,
) -> rusqlite::Result<()> {
    transaction.prepare_cached("INSERT INTO pattern_reviews VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(params![
        event_id,
        at,
        review.pattern,
        review.state.as_str(),
        review.by,
        review.why
    ])?;
    Ok(())
}

/// Takes a pattern that got a new failure, or (with `is_new`) a new key, into account. Whether it is in a group.
pub(super) fn update_pattern_group(
    transaction: &Transaction<'_>,
    pattern: i64,
    is_new: bool,
    changes: &mut PatternChanges,
) -> rusqlite::Result<bool> {
    if is_new {
        let mut merged = transaction.prepare_cached(
            "SELECT 1 FROM pattern_merges WHERE from_key = ?1 UNION SELECT 1 FROM pattern_merges WHERE into_key = ?1",
        )?;
        let is_merged = keys_of_pattern(transaction, pattern)?
            .iter()
            .map(|key| merged.exists([key]))
            .collect::<Result<Vec<_>, _>>()?;
        if is_merged.contains(&true) {
            recompute_groups(transaction, BTreeSet::from([pattern]), changes)?;
            return Ok(true);
        }
    }
    let leader: Option<i64> = transaction
        .prepare_cached("SELECT leader_no FROM pattern_groups WHERE pattern_no = ?1")?
        .query_row([pattern], |row| row.get(0))
        .optional()?;
    match leader {
        Some(leader) => {
            let members = members_of_group(transaction, leader)?;
            write_group(transaction, &members, changes)?;
            Ok(true)
        }
        None => Ok(false),
    }
}

/// Computes the groups of these patterns again, and of those they were or are grouped with.
fn recompute_groups(
    transaction: &Transaction<'_>,
    around: BTreeSet<i64>,
    changes: &mut PatternChanges,
) -> rusqlite::Result<()> {
    let mut open = around;
    for pattern in open.clone() {
        let leader: Option<i64> = transaction
            .prepare_cached("SELECT leader_no FROM pattern_groups WHERE pattern_no = ?1")?
            .query_row([pattern], |row| row.get(0))
            .optional()?;
        if let Some(leader) = leader {
            open.extend(members_of_group(transaction, leader)?);
        }
    }
    let mut concerned = open.clone();
    while let Some(pattern) = open.pop_first() {
        let group = connected_patterns(transaction, pattern)?;
        open.retain(|other| !group.contains(other));
        write_group(transaction, &group, changes)?;
        concerned.extend(group);
    }
    outcome::judge_deliveries_of_patterns(transaction, &concerned)
}

/// Writes who represents these patterns, where that is not so yet.
fn write_group(
    transaction: &Transaction<'_>,
    group: &BTreeSet<i64>,
    changes: &mut PatternChanges,
) -> rusqlite::Result<()> {
    let leader = if group.len() < 2 { None } else { find_leader(transaction, group)? };
    let mut known = transaction.prepare_cached("SELECT leader_no FROM pattern_groups WHERE pattern_no = ?1")?;
    let mut delete = transaction.prepare_cached("DELETE FROM pattern_groups WHERE pattern_no = ?1")?;
    let mut write = transaction.prepare_cached("INSERT OR REPLACE INTO pattern_groups VALUES (?1, ?2)")?;
    for &pattern in group {
        let before: Option<i64> = known.query_row([pattern], |row| row.get(0)).optional()?;
        if before == leader {
            continue;
        }
        // Whoever was represented by the same one before counts otherwise, too.
        changes.regrouped.extend(before);
        changes.regrouped.insert(pattern);
        match leader {
            Some(leader) => write.execute([pattern, leader])?,
            None => delete.execute([pattern])?,
        };
    }
    Ok(())
}

/// The pattern of a group with the most failures, then the one that was seen first.
fn find_leader(transaction: &Transaction<'_>, group: &BTreeSet<i64>) -> rusqlite::Result<Option<i64>> {
    let mut rank = transaction
        .prepare_cached("SELECT failure_count, described_by, pattern_key FROM patterns WHERE pattern_no = ?1")?;
    let mut best: Option<((i64, String, String), i64)> = None;
    for &pattern in group {
        let key = rank.query_row([pattern], |row| Ok((-row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?)))?;
        if best.as_ref().is_none_or(|(other, _)| key < *other) {
            best = Some((key, pattern));
        }
    }
    Ok(best.map(|(_, leader)| leader))
}

fn members_of_group(transaction: &Transaction<'_>, leader: i64) -> rusqlite::Result<BTreeSet<i64>> {
    transaction
        .prepare_cached("SELECT pattern_no FROM pattern_groups WHERE leader_no = ?1")?
        .query_map([leader], |row| row.get(0))?
        .collect()
}

/// All patterns that merges connect with this one.
fn connected_patterns(transaction: &Transaction<'_>, start: i64) -> rusqlite::Result<BTreeSet<i64>> {
    let mut splits: BTreeMap<i64, Option<EventMoment>> = BTreeMap::new();
    let mut found = BTreeSet::from([start]);
    let mut open = vec![start];
    while let Some(pattern) = open.pop() {
        for merge in merges_of_pattern(transaction, pattern)? {
            if !is_merge_in_force(transaction, &mut splits, &merge, pattern)? {
                continue;
            }
            let mut others = patterns_with_key(transaction, &merge.from)?;
            others.extend(patterns_with_key(transaction, &merge.into)?);
            for other in others {
                if !found.contains(&other) && is_merge_in_force(transaction, &mut splits, &merge, other)? {
                    found.insert(other);
                    open.push(other);
                }
            }
        }
    }
    Ok(found)
}

struct AppliedMerge {
    moment: EventMoment,
    from: String,
    into: String,
    automatic: bool,
}

/// Whether `pattern` still has part in `merge`.
fn is_merge_in_force(
    transaction: &Transaction<'_>,
    splits: &mut BTreeMap<i64, Option<EventMoment>>,
    merge: &AppliedMerge,
    pattern: i64,
) -> rusqlite::Result<bool> {
    let split = match splits.get(&pattern) {
        Some(split) => split.clone(),
        None => {
            let split = last_split(transaction, pattern)?;
            splits.insert(pattern, split.clone());
            split
        }
    };
    Ok(split.is_none_or(|split| !merge.automatic && merge.moment > split))
}

fn last_split(transaction: &Transaction<'_>, pattern: i64) -> rusqlite::Result<Option<EventMoment>> {
    let mut find = transaction.prepare_cached("SELECT at, event_id FROM pattern_splits WHERE pattern_key = ?1")?;
    let mut last = None;
    for key in keys_of_pattern(transaction, pattern)? {
        for moment in find.query_map([key], |row| Ok((row.get(0)?, row.get(1)?)))? {
            last = last.max(Some(moment?));
        }
    }
    Ok(last)
}

fn merges_of_pattern(transaction: &Transaction<'_>, pattern: i64) -> rusqlite::Result<Vec<AppliedMerge>> {
    let mut find = transaction.prepare_cached(
        "SELECT at, event_id, from_key, into_key, automatic FROM pattern_merges WHERE from_key = ?1
         UNION SELECT at, event_id, from_key, into_key, automatic FROM pattern_merges WHERE into_key = ?1",
    )?;
    let mut merges = Vec::new();
    for key in keys_of_pattern(transaction, pattern)? {
        let rows = find.query_map([key], |row| {
            let moment = (row.get(0)?, row.get(1)?);
            Ok(AppliedMerge { moment, from: row.get(2)?, into: row.get(3)?, automatic: row.get(4)? })
        })?;
        for row in rows {
            merges.push(row?);
        }
    }
    Ok(merges)
}

/// The key of a pattern and those that its failures were recorded with by other versions.
fn keys_of_pattern(transaction: &Transaction<'_>, pattern: i64) -> rusqlite::Result<Vec<String>> {
    transaction
        .prepare_cached(
            "SELECT pattern_key FROM patterns WHERE pattern_no = ?1
             UNION SELECT recorded_key FROM recorded_keys WHERE pattern_no = ?1",
        )?
        .query_map([pattern], |row| row.get(0))?
        .collect()
}

/// The patterns that have a key now.
fn patterns_with_key(transaction: &Transaction<'_>, key: &str) -> rusqlite::Result<BTreeSet<i64>> {
    transaction
        .prepare_cached(
            "SELECT pattern_no FROM patterns WHERE pattern_key = ?1
             UNION SELECT pattern_no FROM recorded_keys WHERE recorded_key = ?1",
        )?
        .query_map([key], |row| row.get(0))?
        .collect()
}
