//! Confidence: a ledger of fixed increments, and the same observations as evidence. Both are folds over events;
//! nothing of them is stored.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::statistics::beta_quantile;
use crate::base::clock::Timestamp;
use crate::base::text::count;
use crate::config::ConfidenceSettings;
use crate::event::DeliveryArm;
use crate::store::{DeliveryOutcomeRow, ShownDeliveryRow};

/// The weight of one observation would be without bound where an increment reaches the end of the scale.
const ROOM_MIN: f64 = 0.05;
/// A day, microseconds.
const DAY_US: i64 = 24 * 3600 * 1_000_000;
/// Months of one gap that are counted one by one.
const MONTHS_MAX: u64 = 120;

/// Something that happened and what it adds or takes away.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ConfidenceIncrement {
    /// The event's id; a run's is the run's.
    pub event: String,
    /// When it happened.
    pub at: Timestamp,
    /// What happened, a few words for people.
    pub what: String,
    /// It counts once for each: the same kind in the same task or session again adds nothing.
    pub once: (IncrementKind, String),
    /// What it adds, negative when it takes away.
    pub delta: f64,
}

/// What an increment is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum IncrementKind {
    /// Seen in a further task.
    Task,
    /// Where it comes from.
    Source,
    /// Used again, and it helped.
    Reuse,
    /// Another agent found it to help.
    OtherAgent,
    /// Used again, and it did not help.
    DidNotHelp,
    /// A task that was warned avoided it.
    Prevented,
    /// A task that was warned made it all the same.
    Despite,
    /// Not used for a long time.
    Unused,
    /// Something better is known.
    Superseded,
    /// A user set it: the increment is the value itself.
    Set,
}

/// A line of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ConfidenceStep {
    /// The event that it comes from.
    pub event: String,
    /// Time of the event.
    pub at: Timestamp,
    /// What it is for.
    pub kind: IncrementKind,
    /// What happened, for people.
    pub what: String,
    /// What it adds; 0 if it is only reported.
    pub delta: f64,
    /// The confidence after it.
    pub after: f64,
    /// What it counts once for, beside its kind.
    #[serde(skip)]
    pub scope: String,
}

/// What the observations say when each moves less the more there are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ConfidenceEvidence {
    /// First parameter of the Beta posterior.
    pub alpha: f64,
    /// Second parameter.
    pub beta: f64,
    /// Mean of the posterior, 0 to 1.
    pub mean: f64,
    /// Its lower bound: breaks ties, and says how little may be behind a mean.
    pub lower_bound: f64,
}

/// A confidence and its reasons.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Confidence {
    /// The ledger's last value.
    pub value: f64,
    /// Beside it.
    pub evidence: ConfidenceEvidence,
    /// What it started with.
    pub start: f64,
    /// Every increment in the order of the events.
    pub steps: Vec<ConfidenceStep>,
}

impl Confidence {
    /// Folds increments in the order of their events, each held within the bounds at its step, each once.
    ///
    /// The order in which they are given doesn't matter.
    pub(crate) fn from_increments(mut increments: Vec<ConfidenceIncrement>, settings: &ConfidenceSettings) -> Self {
        increments.sort_by(|a, b| (a.at, &a.event, a.once.0 as u8).cmp(&(b.at, &b.event, b.once.0 as u8)));
        let within = |value: f64| value.max(settings.min).min(settings.max);
        let start = within(settings.start);
        let mut value = start;
        let mut steps = Vec::with_capacity(increments.len());
        let mut seen = HashSet::new();
        let mut counted = Vec::new();
        for ConfidenceIncrement { event, at, what, once, delta } in increments {
            let (kind, scope) = once.clone();
            if !seen.insert(once) {
                continue;
            }
            let before = value;
            // A statement is not an observation: the evidence is unchanged.
            let delta = if kind == IncrementKind::Set { within(delta) - before } else { delta };
            value = within(before + delta);
            if kind != IncrementKind::Set {
                counted.push(delta);
            }
            steps.push(ConfidenceStep { event, at, kind, what, delta, after: value, scope });
        }
        Confidence { value, evidence: compute_evidence(&counted, settings), start, steps }
    }

    /// The same with more that happened; what never fades takes nothing away by not being used.
    pub(crate) fn with_increments(
        self,
        more: Vec<ConfidenceIncrement>,
        fades: bool,
        settings: &ConfidenceSettings,
    ) -> Self {
        let known = self.steps.into_iter().filter(|step| fades || step.kind != IncrementKind::Unused);
        let known = known.map(|ConfidenceStep { event, at, kind, what, delta, after, scope }| {
            let delta = if kind == IncrementKind::Set { after } else { delta };
            ConfidenceIncrement { event, at, what, once: (kind, scope), delta }
        });
        Confidence::from_increments(known.chain(more).collect(), settings)
    }
}

/// The posterior: a boost of size b is a success of weight n0·b/(1−c0−b), a penalty of size d a failure of weight
/// n0·d/(c0−d), so that the first of either moves the mean exactly as far as the ledger. Order-free by its nature.
fn compute_evidence(deltas: &[f64], settings: &ConfidenceSettings) -> ConfidenceEvidence {
    let (start, prior) = (settings.start.clamp(ROOM_MIN, 1.0 - ROOM_MIN), settings.prior);
    let (mut alpha, mut beta) = (start * prior, (1.0 - start) * prior);
    for &delta in deltas {
        if delta >= 0.0 {
            alpha += prior * delta / (1.0 - start - delta).max(ROOM_MIN);
        } else {
            beta += prior * -delta / (start + delta).max(ROOM_MIN);
        }
    }
    ConfidenceEvidence {
        alpha,
        beta,
        mean: alpha / (alpha + beta),
        lower_bound: beta_quantile(settings.bound, alpha, beta),
    }
}

/// A step for every month without use after the first days, also for gaps that ended. `uses` are the moments at which it
/// was used, each with its event.
pub(crate) fn unused_increments<'a>(
    uses: impl IntoIterator<Item = (Timestamp, &'a str)>,
    settings: &ConfidenceSettings,
    now: Timestamp,
) -> Vec<ConfidenceIncrement> {
    let uses: BTreeMap<Timestamp, &str> = uses.into_iter().collect();
    let grace = i64::try_from(settings.unused_days).unwrap_or(i64::MAX).saturating_mul(DAY_US);
    let ends = uses.keys().skip(1).copied().chain([now]);
    let mut found = Vec::new();
    for ((last, event), end) in uses.iter().zip(ends) {
        let mut due = last.0.saturating_add(grace);
        for month in 1..=MONTHS_MAX {
            due = due.saturating_add(30 * DAY_US);
            if due > end.0 {
                break;
            }
            found.push(ConfidenceIncrement {
                event: (*event).to_owned(),
                at: Timestamp(due),
                what: format!("not used for {} days and {}", settings.unused_days, count(month, "month")),
                once: (IncrementKind::Unused, due.to_string()),
                delta: -settings.unused_month,
            });
        }
    }
    found
}

/// Where a pattern was seen, as far as its confidence goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PatternOccurrence {
    pub run: String,
    /// When it was started.
    pub at: Timestamp,
    pub task: String,
}

/// The outcome of a warning that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JudgedDelivery {
    pub task: String,
    /// When it was shown.
    pub at: Timestamp,
    /// The run that says its outcome, and when that was started.
    pub by: (String, Timestamp),
    /// The mistake was made; else a check passed that would have shown it.
    pub failed: bool,
}

impl JudgedDelivery {
    /// From what a warning asks of the store: tasks by their row numbers.
    pub(crate) fn from_brief_row(row: ShownDeliveryRow) -> Option<Self> {
        let is_failed = row.failed.is_some();
        let by = row.failed.or(row.passed)?;
        Some(JudgedDelivery { task: row.task.to_string(), at: row.at, by, failed: is_failed })
    }

    /// From the store's row; `None` when the warning was held out, or no run says its outcome.
    pub(crate) fn from_outcome_row(row: DeliveryOutcomeRow) -> Option<Self> {
        let failed = row.failed_in.zip(row.failed_at);
        let is_failed = failed.is_some();
        let by = failed.or_else(|| row.passed_in.zip(row.passed_at))?;
        (row.arm == DeliveryArm::Shown).then_some(JudgedDelivery { task: row.task, at: row.at, by, failed: is_failed })
    }
}

/// A pattern's confidence: it starts with its first task, and every further one adds to it. Runs of a task it was seen
/// in already add nothing. A warned task adds when it did without the mistake and takes away when it didn't, once,
/// however many sessions were warned; that the mistake was seen there speaks for it no more.
pub(crate) fn pattern_confidence(
    sightings: &[PatternOccurrence],
    told: &[JudgedDelivery],
    settings: &ConfidenceSettings,
) -> Confidence {
    let first = sightings.iter().min_by(|a, b| (a.at, &a.run).cmp(&(b.at, &b.run)));
    let despite = |task: &str| told.iter().filter(|told| told.failed && told.task == task).map(|told| told.at).min();
    let seen = sightings.iter().map(|seen| {
        let is_first = first.is_some_and(|first| first.task == seen.task);
        let is_warned = despite(&seen.task).is_some_and(|warned| warned <= seen.at);
        ConfidenceIncrement {
            event: seen.run.clone(),
            at: seen.at,
            what: format!("{} in task {}", if is_first { "first seen" } else { "seen again" }, seen.task),
            once: (IncrementKind::Task, seen.task.clone()),
            delta: if is_first || is_warned { 0.0 } else { settings.further_task },
        }
    });
    Confidence::from_increments(seen.chain(outcome_increments(told, settings)).collect(), settings)
}

/// The value and the evidence of [`pattern_confidence`] of a pattern without a warning, by the number of tasks.
pub(crate) fn unwarned_confidence(tasks: usize, settings: &ConfidenceSettings) -> (f64, ConfidenceEvidence) {
    let within = |value: f64| value.max(settings.min).min(settings.max);
    let deltas: Vec<f64> = std::iter::once(0.0).chain(std::iter::repeat(settings.further_task)).take(tasks).collect();
    let value = deltas.iter().fold(within(settings.start), |value, delta| within(value + delta));
    (value, compute_evidence(&deltas, settings))
}

/// What the warned tasks add: each once, for a mistake in any of its sessions or else for doing without it.
pub(crate) fn outcome_increments<'a>(
    told: &'a [JudgedDelivery],
    settings: &'a ConfidenceSettings,
) -> impl Iterator<Item = ConfidenceIncrement> + 'a {
    let failed: HashSet<&str> = told.iter().filter(|told| told.failed).map(|told| told.task.as_str()).collect();
    told.iter().filter(move |told| told.failed || !failed.contains(told.task.as_str())).map(|told| {
        let (kind, what, delta) = if told.failed {
            (IncrementKind::Despite, "made despite a warning", -settings.failed_despite)
        } else {
            (IncrementKind::Prevented, "prevented", settings.prevented)
        };
        let what = format!("{what} in task {}", told.task);
        ConfidenceIncrement { event: told.by.0.clone(), at: told.by.1, what, once: (kind, told.task.clone()), delta }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::random::Random;

    #[test]
    fn without_a_warning_it_depends_on_the_number_of_tasks_alone() {
        let settings = ConfidenceSettings::default();
        for tasks in 0..25 {
            let seen: Vec<_> = (0..tasks)
                .map(|n| PatternOccurrence { run: n.to_string(), at: Timestamp(n), task: n.to_string() })
                .collect();
            let folded = pattern_confidence(&seen, &[], &settings);
            assert_eq!(unwarned_confidence(seen.len(), &settings), (folded.value, folded.evidence), "{tasks} tasks");
        }
    }

    fn increment(n: i64, kind: IncrementKind, scope: &str, delta: f64) -> ConfidenceIncrement {
        ConfidenceIncrement {
            event: format!("{n:04}"),
            at: Timestamp(n),
            what: String::new(),
            once: (kind, scope.into()),
            delta,
        }
    }

    fn sighting(n: i64, task: &str) -> PatternOccurrence {
        PatternOccurrence { run: format!("{n:04}"), at: Timestamp(n), task: task.into() }
    }

    #[test]
    fn every_further_task_counts_once_and_names_its_run() {
        let settings = ConfidenceSettings::default();
        let seen = [sighting(5, "b"), sighting(1, "a"), sighting(2, "a"), sighting(9, "c"), sighting(7, "b")];
        let confidence = pattern_confidence(&seen, &[], &settings);
        let steps: Vec<_> = confidence.steps.iter().map(|step| (step.event.as_str(), step.delta, step.after)).collect();
        assert_eq!(steps, [("0001", 0.0, 0.5), ("0005", 0.05, 0.55), ("0009", 0.05, 0.6000000000000001)]);
        assert_eq!(confidence.value, 0.6000000000000001);
    }

    #[test]
    fn a_warned_task_counts_once_for_what_it_did() {
        let settings = ConfidenceSettings::default();
        let told = |task: &str, at: i64, failed| JudgedDelivery {
            task: task.into(),
            at: Timestamp(at),
            by: (format!("{:04}", at + 1), Timestamp(at + 1)),
            failed,
        };
        let seen = [sighting(1, "a"), sighting(5, "b"), sighting(21, "d")];
        let value = |told: &[JudgedDelivery]| pattern_confidence(&seen, told, &settings).value;
        let close = |got: f64, wanted: f64| assert!((got - wanted).abs() < 1e-9, "{got} is not {wanted}");
        close(value(&[]), 0.60);
        // Task c was warned and avoided it, in two sessions.
        close(value(&[told("c", 10, false), told("c", 12, false)]), 0.70);
        // Task d was warned in two sessions and made it in the second: that it was seen there speaks for nothing.
        close(value(&[told("d", 18, false), told("d", 20, true)]), 0.50);
        let ledger = pattern_confidence(&seen, &[told("d", 20, true)], &settings).steps;
        let last: Vec<_> = ledger[2..].iter().map(|step| (step.what.as_str(), step.delta)).collect();
        assert_eq!(last, [("seen again in task d", 0.0), ("made despite a warning in task d", -0.05)]);
    }

    #[test]
    fn each_step_is_held_within_the_bounds() {
        let settings = ConfidenceSettings::default();
        let up = (0..20).map(|n| increment(n, IncrementKind::Reuse, &n.to_string(), 0.10));
        let down = increment(50, IncrementKind::DidNotHelp, "x", -0.10);
        let confidence = Confidence::from_increments(up.chain([down]).collect(), &settings);
        // Clamped at .95 first, then taken away from: not 2.5 - .1 clamped at the end.
        assert!((confidence.value - 0.85).abs() < 1e-12, "{}", confidence.value);
        let down = (0..20).map(|n| increment(n, IncrementKind::DidNotHelp, &n.to_string(), -0.10)).collect();
        assert_eq!(Confidence::from_increments(down, &settings).value, 0.10);
    }

    #[test]
    fn the_first_observation_moves_the_evidence_as_far_as_the_ledger() {
        let settings = ConfidenceSettings::default();
        for delta in [0.10, 0.05, 0.15, -0.10, -0.05, -0.15] {
            let one = Confidence::from_increments(vec![increment(1, IncrementKind::Reuse, "x", delta)], &settings);
            assert!((one.evidence.mean - (0.5 + delta)).abs() < 1e-12, "{delta}: {:?}", one.evidence);
        }
        // The weights of the design: n0 = 4, c0 = .5; +.10 is 1.0 success, -.15 is 1.714 failures.
        let both = Confidence::from_increments(
            vec![increment(1, IncrementKind::Reuse, "x", 0.10), increment(2, IncrementKind::DidNotHelp, "x", -0.15)],
            &settings,
        );
        assert!((both.evidence.alpha - 3.0).abs() < 1e-12 && (both.evidence.beta - (2.0 + 0.6 / 0.35)).abs() < 1e-12);
        assert!(both.evidence.lower_bound < both.evidence.mean);
    }

    /// A pattern after a year in which two tasks a week ran into what it is about: a fifth of them was held out, without
    /// a warning the share `made` makes the mistake, and a warning keeps the share `effect` of those from it.
    fn after_a_year(effect: f64, made: f64, random: &mut Random) -> Confidence {
        const TASKS: i64 = 104;
        let (mut seen, mut told) = (vec![sighting(0, "first")], Vec::new());
        for n in 1..=TASKS {
            let (task, at) = (format!("t{n}"), n * 7 * DAY_US / 2);
            let is_shown = random.unit() >= 0.2;
            let failed = random.unit() < if is_shown { made * (1.0 - effect) } else { made };
            if failed {
                seen.push(sighting(at + 2, &task));
            }
            if is_shown {
                let by = (format!("r{n}"), Timestamp(at + 2));
                told.push(JudgedDelivery { task, at: Timestamp(at + 1), by, failed });
            }
        }
        pattern_confidence(&seen, &told, &ConfidenceSettings::default())
    }

    /// Pearson's r.
    fn correlation(pairs: &[(f64, f64)]) -> f64 {
        let count = pairs.len() as f64;
        let (x, y) = pairs.iter().fold((0.0, 0.0), |(x, y), pair| (x + pair.0 / count, y + pair.1 / count));
        let sum = |of: fn(f64, f64) -> f64| pairs.iter().map(|pair| of(pair.0 - x, pair.1 - y)).sum::<f64>();
        sum(|x, y| x * y) / (sum(|x, _| x * x) * sum(|_, y| y * y)).sqrt()
    }

    /// How closely the evidence's mean and the ledger's value follow the true effect of a hundred patterns' warnings.
    fn followed(made: f64, seed: u64) -> (f64, f64) {
        let mut random = Random(seed);
        let effects = (0..100).map(|n| f64::from(n) / 99.0);
        let year: Vec<_> = effects.map(|effect| (effect, after_a_year(effect, made, &mut random))).collect();
        let mean: Vec<_> = year.iter().map(|(effect, confidence)| (*effect, confidence.evidence.mean)).collect();
        let ledger: Vec<_> = year.iter().map(|(effect, confidence)| (*effect, confidence.value)).collect();
        (correlation(&mean), correlation(&ledger))
    }

    #[test]
    fn in_a_simulated_year_confidence_follows_the_true_effect() {
        for seed in 1..=5 {
            // A mistake that whoever isn't warned makes: what the ledger counts is what the warning did.
            let (mean, ledger) = followed(1.0, seed);
            assert!(mean > 0.7 && ledger > 0.7, "seed {seed}: {mean:.2}, the ledger {ledger:.2}");
            // Of one that most tasks do without anyhow the ledger rises for nearly all: it gains twice for each task
            // without the mistake what it loses for one with it. The evidence still tells them apart.
            let (mean, _) = followed(0.4, seed);
            assert!(mean > 0.7, "seed {seed}: {mean:.2}");
        }
    }

    proptest! {
        /// Whatever the order in which events come to be known, the fold is the same.
        #[test]
        fn the_order_of_arrival_changes_nothing(
            parts in prop::collection::vec((0..50i64, 0..4u8, 0..3u8, -20..20i32), 0..30),
            seed in any::<prop::sample::Index>(),
        ) {
            let settings = ConfidenceSettings::default();
            let kinds = [IncrementKind::Task, IncrementKind::Reuse, IncrementKind::DidNotHelp, IncrementKind::OtherAgent];
            let mut increments: Vec<ConfidenceIncrement> = parts
                .iter()
                .enumerate()
                .map(|(index, &(at, kind, scope, delta))| {
                    let one = increment(at, kinds[usize::from(kind)], &scope.to_string(), f64::from(delta) / 100.0);
                    ConfidenceIncrement { event: format!("{index:03}"), ..one }
                })
                .collect();
            let before = Confidence::from_increments(increments.clone(), &settings);
            prop_assert!((settings.min..=settings.max).contains(&before.value));
            if !increments.is_empty() {
                let at = seed.index(increments.len());
                increments.rotate_left(at);
                increments.reverse();
            }
            prop_assert_eq!(Confidence::from_increments(increments, &settings), before);
        }
    }
}
