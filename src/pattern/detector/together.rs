//! Patterns that fail together: they have the runs in common, so they may have the cause in common.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::{HashMap, HashMapExt};

use super::{Detector, DetectorFinding, DetectorSubject};
use crate::base::text::{count, ellipsis};
use crate::config::Settings;
use crate::pattern::history::{HistoryFailure, HistoryPattern, TaskHistory};
use crate::pattern::wording;

/// Different sets of runs in one run that are compared with each other; a run in which more failed says little.
const SETS_MAX: usize = 64;
/// Patterns named in a sentence.
const NAMED_MAX: usize = 3;
/// A pattern's name in a sentence, bytes.
const NAME_BYTES_MAX: usize = 60;

/// Jaccard's similarity of the sets of runs (Parry et al. 2025: three quarters of flaky tests fail in such groups).
#[derive(Debug)]
pub(super) struct FailsTogetherDetector;

impl Detector for FailsTogetherDetector {
    fn name(&self) -> &str {
        "fails-together"
    }

    fn examine_pattern(
        &self,
        subject: &DetectorSubject<'_>,
        history: &TaskHistory,
        settings: &Settings,
    ) -> Option<DetectorFinding> {
        let known = |pattern| subject.known.get(&pattern);
        let groups = find_groups(history, settings);
        let mine = groups.into_iter().find(|group| group.patterns.iter().any(|one| subject.patterns.contains(one)))?;
        let others: Vec<i64> =
            mine.patterns.iter().copied().filter(|pattern| !subject.patterns.contains(pattern)).collect();
        if others.is_empty() {
            return None;
        }
        let summary = format!(
            "It fails together with {}: {} of {} that had one of them had them all.",
            join_pattern_names(&others, known),
            mine.all,
            count(mine.any, "run")
        );
        Some(mine.to_finding(self.name(), known, summary))
    }

    fn examine_history(&self, history: &TaskHistory, settings: &Settings) -> Vec<DetectorFinding> {
        let known = |pattern| history.named_pattern(pattern);
        let mut groups = find_groups(history, settings);
        groups.sort_by(|a, b| b.any.cmp(&a.any).then(a.patterns.cmp(&b.patterns)));
        let findings = groups.into_iter().map(|group| {
            let summary = format!(
                "{} fail together ({} of {}): {}.",
                count(group.patterns.len(), "pattern"),
                group.all,
                count(group.any, "run"),
                join_pattern_names(&group.patterns, known)
            );
            group.to_finding(self.name(), known, summary)
        });
        findings.collect()
    }
}

/// Patterns that fail together.
struct CoFailureGroup {
    /// At least two.
    patterns: BTreeSet<i64>,
    /// Runs with all of them.
    all: u64,
    /// Runs with any of them.
    any: u64,
}

impl CoFailureGroup {
    fn to_finding<'a>(
        &self,
        detector: &str,
        known: impl Fn(i64) -> Option<&'a HistoryPattern>,
        summary: String,
    ) -> DetectorFinding {
        let known = self.patterns.iter().filter_map(|pattern| known(*pattern));
        DetectorFinding {
            detector: detector.to_owned(),
            title: format!("{} fail together", count(self.patterns.len(), "pattern")),
            summary,
            patterns: known.map(|known| known.id.clone()).collect(),
            hits: self.all,
            of: self.any,
            ..DetectorFinding::default()
        }
    }
}

fn find_groups(history: &TaskHistory, settings: &Settings) -> Vec<CoFailureGroup> {
    let failures: Vec<&HistoryFailure> = history.tasks.iter().flat_map(|task| &task.failures).collect();
    let mut runs_of: HashMap<i64, Vec<usize>> = HashMap::new();
    for (run, failure) in failures.iter().enumerate() {
        for seen in &failure.items {
            let runs = runs_of.entry(seen.pattern).or_default();
            if runs.last() != Some(&run) {
                runs.push(run);
            }
        }
    }
    // A hundred tests that break at once have one set of runs: compared as one. Sets are ascending numbers.
    let mut by_runs: BTreeMap<Vec<usize>, BTreeSet<i64>> = BTreeMap::new();
    for (pattern, runs) in runs_of.into_iter().filter(|(_, runs)| runs.len() as u64 >= settings.patterns.together_runs)
    {
        by_runs.entry(runs).or_default().insert(pattern);
    }
    let sets: Vec<(Vec<usize>, BTreeSet<i64>)> = by_runs.into_iter().collect();
    let mut in_run: Vec<Vec<usize>> = vec![Vec::new(); failures.len()];
    for (index, (runs, _)) in sets.iter().enumerate() {
        for &run in runs {
            if in_run[run].len() < SETS_MAX {
                in_run[run].push(index);
            }
        }
    }
    // Leaders first: the set with the most runs, so that the result doesn't depend on what was looked at first.
    let mut order: Vec<usize> = (0..sets.len()).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse(sets[index].0.len()), index));
    let mut taken = vec![false; sets.len()];
    let mut groups = Vec::new();
    for leader in order {
        if std::mem::replace(&mut taken[leader], true) {
            continue;
        }
        let near: BTreeSet<usize> =
            sets[leader].0.iter().flat_map(|run| &in_run[*run]).copied().filter(|&other| !taken[other]).collect();
        let mut members = vec![leader];
        for other in near {
            let (all, any) = count_overlap(&sets[leader].0, &sets[other].0);
            let similar = all as f64 >= settings.patterns.together_similarity * any as f64;
            if similar && all >= settings.patterns.together_runs {
                taken[other] = true;
                members.push(other);
            }
        }
        let patterns: BTreeSet<i64> = members.iter().flat_map(|&member| &sets[member].1).copied().collect();
        if patterns.len() > 1 {
            let mut all = sets[leader].0.clone();
            let mut any: BTreeSet<usize> = all.iter().copied().collect();
            for &member in &members {
                all.retain(|run| sets[member].0.binary_search(run).is_ok());
                any.extend(&sets[member].0);
            }
            groups.push(CoFailureGroup { patterns, all: all.len() as u64, any: any.len() as u64 });
        }
    }
    groups
}

/// Runs in both, and in either; both ascending.
fn count_overlap(a: &[usize], b: &[usize]) -> (u64, u64) {
    let mut rest = b.iter().peekable();
    let is_in_both = |run: &&usize| {
        while rest.next_if(|other| other < run).is_some() {}
        rest.peek() == Some(run)
    };
    let both = a.iter().filter(is_in_both).count() as u64;
    (both, a.len() as u64 + b.len() as u64 - both)
}

fn join_pattern_names<'p, 'a>(
    patterns: impl IntoIterator<Item = &'p i64>,
    known: impl Fn(i64) -> Option<&'a HistoryPattern>,
) -> String {
    let known: Vec<_> = patterns.into_iter().filter_map(|pattern| known(*pattern)).collect();
    let mut names: Vec<String> = known
        .iter()
        .take(NAMED_MAX)
        .map(|known| format!("{} ({})", ellipsis(&wording::plain_message(&known.masked), NAME_BYTES_MAX), known.id))
        .collect();
    if known.len() > NAMED_MAX {
        names.push(format!("{} more", known.len() - NAMED_MAX));
    }
    names.join(", ")
}
