//! What a list asks once for all of its patterns is what each of them answers alone.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{open, world};
use crate::base::clock::Timestamp;
use crate::event::AttemptOutcome;
use crate::event::sample::folder;
use crate::store::{Index, PatternRow};

/// The row numbers of all patterns that represent their groups.
fn leaders(index: &Index) -> Vec<i64> {
    let mut statement = index.connection.prepare("SELECT pattern_no FROM pattern_figures").expect("prepares");
    let rows = statement.query_map([], |row| row.get(0)).expect("reads");
    rows.collect::<rusqlite::Result<_>>().expect("reads")
}

/// Compares the answers about `wanted`.
fn compare(index: &Index, wanted: &[i64]) -> Result<(), TestCaseError> {
    let groups = index.groups_of_patterns(wanted).expect("reads");
    let rows = index.brief_pattern_rows(&groups).expect("reads");
    let sightings = index.sightings_of_patterns(&groups).expect("reads");
    let fixes = index.count_fixes_of_patterns(&groups).expect("reads");
    let learnt = index.learnt_of_patterns(&groups).expect("reads");
    let with_gotcha = index.filter_learnt(wanted).expect("reads");
    let warned = index.patterns_with_deliveries(&groups).expect("reads");
    let noted = index.patterns_with_notes(&groups).expect("reads");
    prop_assert_eq!(rows.len(), wanted.len());
    for number in wanted {
        let row = index.brief_pattern_row(*number).expect("reads");
        prop_assert_eq!(&rows[number], &row);
        let whole = index.find_pattern(&row.id).expect("is there");
        prop_assert_eq!(index.count_family_tasks(*number).expect("reads"), whole.family_tasks);
        prop_assert_eq!(PatternRow { family_tasks: row.tasks, ..whole }, row.clone());
        prop_assert_eq!(index.pattern_id_of_key(&row.key).expect("reads"), Some(row.id));
        let seen = sightings.get(number).cloned().unwrap_or_default();
        let first: Vec<_> = index.first_occurrences(*number).expect("reads").iter().map(|row| row.at).collect();
        prop_assert_eq!(seen.first, first);
        let newest = index.occurrences_of_pattern(*number, 3).expect("reads").into_iter();
        let newest: Vec<_> = newest.map(|row| (row.message, row.test)).collect();
        prop_assert_eq!(seen.newest, newest);
        let counted = index.count_pattern_fixes(*number).expect("reads");
        prop_assert_eq!(fixes.get(number).copied().unwrap_or_default(), counted);
        let known = learnt.get(number);
        prop_assert_eq!(known.map(|known| known.entry.clone()), index.gotcha_of_pattern(*number).expect("reads"));
        prop_assert_eq!(with_gotcha.contains(number), known.is_some());
        let strategies = index.strategies_of_pattern(*number).expect("reads").into_iter();
        let helped = strategies.filter(|row| row.tries.iter().any(|it| it.outcome == AttemptOutcome::Success));
        let helped: Vec<_> = helped.map(|row| (row.id, row.label, row.successes, row.failures, row.partials)).collect();
        let found = known.into_iter().flat_map(|known| known.strategies.clone());
        let found: Vec<_> = found.map(|row| (row.id, row.label, row.successes, row.failures, row.partials)).collect();
        let helped = if known.is_some() { helped } else { Vec::new() };
        // Of merged patterns one try may be a success against one and a failure against another: either counts alone.
        prop_assert!(helped.iter().all(|row| found.contains(row)), "{:?} {:?}", found, helped);
        prop_assert!(groups.has_several_keys(*number) || found == helped, "{:?} {:?}", found, helped);
        let is_warned = !index.deliveries_of_pattern(*number).expect("reads").is_empty();
        prop_assert_eq!(warned.contains(number), is_warned);
        let note = index.pattern_note(*number).expect("reads");
        let is_noted = note.cause.is_some() || note.rule.is_some() || note.approach.is_some();
        let is_annotated = !index.annotations_of_pattern(*number).expect("reads").is_empty();
        prop_assert!(noted.contains(number) || !is_noted && !is_annotated, "{} is explained", number);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_list_has_what_each_of_its_patterns_has_alone(events in world(150)) {
        let dir = folder();
        let mut store = open(dir.path());
        store.append(&events).expect("appends");
        let all = leaders(store.index());
        compare(store.index(), &all)?;
        let some: BTreeSet<i64> = all.iter().copied().filter(|number| number % 2 == 0).collect();
        compare(store.index(), &some.into_iter().collect::<Vec<_>>())?;
    }

    #[test]
    fn active_patterns_are_counted_as_sqlite_counts_them(events in world(150), first in 0..20_usize, second in 0..20_usize) {
        let dir = folder();
        let mut store = open(dir.path());
        store.append(&events).expect("appends");
        let index = store.index();
        let mut times = index.connection.prepare("SELECT DISTINCT at FROM occurrences ORDER BY at").expect("prepares");
        let times = times.query_map([], |row| row.get::<_, String>(0)).expect("reads");
        let times: Vec<String> = times.collect::<rusqlite::Result<_>>().expect("reads");
        let moment = |at: usize| times.get(at * times.len() / 20).and_then(|at| Timestamp::parse(at)).unwrap_or(Timestamp(0));
        let (from, recent) = (moment(first.min(second)), moment(first.max(second)));
        let newest = index.newest_numbers().expect("reads").failure * 3 / 4;
        let found = index.active_patterns(from, recent, newest).expect("reads").into_iter();
        let found: BTreeSet<_> = found.map(|row| (row.number, row.recent, row.before)).collect();
        let mut counted = index.connection.prepare(
            "SELECT * FROM (SELECT leader_no, count(DISTINCT iif(at >= ?2, task_no, NULL)) AS recent,
                        count(DISTINCT iif(at < ?2, task_no, NULL))
                 FROM occurrences JOIN pattern_leaders USING (pattern_no)
                 WHERE at >= ?1 AND NOT flaky AND failure_no <= ?3 GROUP BY leader_no) WHERE recent > 0",
        ).expect("prepares");
        let parameters = (from.rfc3339(), recent.rfc3339(), newest);
        let counted = counted.query_map(parameters, |row| {
            let tasks = |column| row.get(column).map(|tasks: i64| tasks.unsigned_abs());
            Ok((row.get(0)?, tasks(1)?, tasks(2)?))
        });
        let counted: BTreeSet<_> = counted.expect("reads").collect::<rusqlite::Result<_>>().expect("reads");
        prop_assert_eq!(found, counted);
    }
}
