//! The outcome of advice, judged by the runs that followed it in its task.

use std::collections::HashMap;
use std::time::Duration;

use serde::Serialize;

use super::trial::HoldoutTrial;
use crate::base::clock::Timestamp;
use crate::event::DeliveryArm;
use crate::store::DeliveryOutcomeRow;

/// The outcome of advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum DeliveryOutcome {
    /// A check that would have shown the mistake passed, and none had it.
    Prevented,
    /// The mistake was made after it.
    FailedAnyway,
    /// The task ended without any check that passed.
    TaskIncomplete,
    /// The task ended, but nothing that could have had the mistake was changed and checked.
    NoOpportunity,
    /// The task goes on, and no check has shown anything so far.
    Open,
}

/// What is known of one piece of advice.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ObservedDelivery {
    /// The task.
    pub task: String,
    /// What is held out together.
    pub family: String,
    /// Whether it was shown.
    pub arm: DeliveryArm,
    /// The share of tasks that was held out then.
    pub holdout: f64,
    /// When it was due.
    pub at: Timestamp,
    /// When the run was that had the mistake, and the one that passed.
    pub seen_at: [Option<Timestamp>; 2],
    /// A run after it had the mistake.
    pub failed: bool,
    /// A run after it passed where the mistake would have been seen.
    pub passed: bool,
    /// Any check passed after it.
    pub any_pass: bool,
    /// The task is over: announced, or without activity for `silence`.
    pub over: bool,
}

/// Whether a task that was last heard of at `last` is over at `now`.
pub(crate) fn is_task_over(done: bool, last: Timestamp, now: Timestamp, silence: Duration) -> bool {
    let silence = i64::try_from(silence.as_micros()).unwrap_or(i64::MAX);
    done || now.0.saturating_sub(last.0) >= silence
}

impl ObservedDelivery {
    /// What is known of a delivery at `now`; a task of which nothing was heard for `silence` is over.
    pub(crate) fn from_row(row: &DeliveryOutcomeRow, now: Timestamp, silence: Duration) -> Self {
        ObservedDelivery {
            task: row.task.clone(),
            family: row.family.clone(),
            arm: row.arm,
            holdout: row.holdout,
            at: row.at,
            seen_at: [row.failed_at, row.passed_at],
            failed: row.failed_in.is_some(),
            passed: row.passed_in.is_some(),
            any_pass: row.any_pass,
            over: is_task_over(row.task_done.is_some(), row.task_last_at, now, silence),
        }
    }

    /// What had been seen of it until `end`.
    fn until(&self, end: Timestamp) -> ObservedDelivery {
        let [failed, passed] = self.seen_at.map(|at| at.is_some_and(|at| at <= end));
        ObservedDelivery { failed: self.failed && failed, passed: self.passed && passed, over: false, ..self.clone() }
    }

    /// Its outcome.
    pub(crate) fn outcome(&self) -> DeliveryOutcome {
        match self {
            ObservedDelivery { failed: true, .. } => DeliveryOutcome::FailedAnyway,
            ObservedDelivery { passed: true, .. } => DeliveryOutcome::Prevented,
            ObservedDelivery { over: false, .. } => DeliveryOutcome::Open,
            ObservedDelivery { any_pass: false, .. } => DeliveryOutcome::TaskIncomplete,
            _ => DeliveryOutcome::NoOpportunity,
        }
    }
}

/// The trial that deliveries are together, all or those of one family. A task counts once for a family, in the arm of
/// its draw; only where the mistake could be made and seen. Once the quality gate has shown the family to a task, which
/// it does whatever was drawn, nothing that is seen in the task counts any more.
pub(crate) fn holdout_trial<'a>(seen: impl IntoIterator<Item = &'a ObservedDelivery>) -> HoldoutTrial {
    let seen: Vec<&ObservedDelivery> = seen.into_iter().collect();
    let mut told_by_gate: HashMap<(&str, &str), Timestamp> = HashMap::new();
    for one in seen.iter().filter(|one| one.arm == DeliveryArm::Gate) {
        let at = told_by_gate.entry((&one.task, &one.family)).or_insert(one.at);
        *at = one.at.min(*at);
    }
    let mut exposures: HashMap<(&str, &str), (DeliveryArm, f64, bool)> = HashMap::new();
    for one in seen.into_iter().filter(|one| one.arm != DeliveryArm::Gate) {
        let end = told_by_gate.get(&(one.task.as_str(), one.family.as_str()));
        let failed = match end.map_or_else(|| one.outcome(), |end| one.until(*end).outcome()) {
            DeliveryOutcome::FailedAnyway => true,
            DeliveryOutcome::Prevented => false,
            DeliveryOutcome::TaskIncomplete | DeliveryOutcome::NoOpportunity | DeliveryOutcome::Open => continue,
        };
        let exposure = exposures.entry((&one.task, &one.family)).or_insert((one.arm, one.holdout, false));
        exposure.2 |= failed;
        // The share was changed in between: the draw that held it out is the one that counts.
        if one.arm == DeliveryArm::Holdout && exposure.0 == DeliveryArm::Shown {
            (exposure.0, exposure.1) = (one.arm, one.holdout);
        }
    }
    // In a fixed order: sums of floats depend on it.
    let mut exposures: Vec<_> = exposures.into_iter().collect();
    exposures.sort_by_key(|(exposure, _)| *exposure);
    let mut trial = HoldoutTrial::default();
    for (_, (arm, share, failed)) in exposures {
        trial.add_task(arm, failed, share);
    }
    trial
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(task: &str, arm: DeliveryArm, failed: bool, passed: bool) -> ObservedDelivery {
        let (task, family) = (task.to_owned(), "f".to_owned());
        let seen_at = [failed, passed].map(|is_seen| is_seen.then_some(Timestamp(5)));
        let at = Timestamp(1);
        ObservedDelivery { task, family, arm, holdout: 0.2, at, seen_at, failed, passed, any_pass: passed, over: false }
    }

    #[test]
    fn what_became_of_it_is_what_the_runs_say() {
        let open = seen("t", DeliveryArm::Shown, false, false);
        assert_eq!(open.outcome(), DeliveryOutcome::Open);
        assert_eq!(seen("t", DeliveryArm::Shown, false, true).outcome(), DeliveryOutcome::Prevented);
        assert_eq!(
            seen("t", DeliveryArm::Shown, true, true).outcome(),
            DeliveryOutcome::FailedAnyway,
            "a pass before or after it"
        );
        let over = ObservedDelivery { over: true, ..open };
        assert_eq!(over.outcome(), DeliveryOutcome::TaskIncomplete);
        assert_eq!(ObservedDelivery { any_pass: true, ..over }.outcome(), DeliveryOutcome::NoOpportunity);
    }

    #[test]
    fn a_task_counts_once_and_only_where_something_could_be_seen() {
        let all = [
            seen("a", DeliveryArm::Shown, false, true),
            seen("a", DeliveryArm::Shown, true, true),
            seen("b", DeliveryArm::Holdout, true, false),
            seen("c", DeliveryArm::Holdout, false, true),
            ObservedDelivery { over: true, ..seen("d", DeliveryArm::Shown, false, false) },
        ];
        let mut trial = super::holdout_trial(&all);
        assert_eq!((trial.shown.exposures, trial.shown.recurrences), (1, 1));
        assert_eq!((trial.held_out.exposures, trial.held_out.recurrences), (2, 1));
        let backwards = super::holdout_trial(all.iter().rev());
        assert_eq!(backwards, trial);
        trial.add_task(DeliveryArm::Shown, true, 0.2);
        assert_ne!(backwards, trial);
    }

    #[test]
    fn what_follows_the_word_of_the_gate_is_no_evidence() {
        let told = |at| ObservedDelivery { at: Timestamp(at), ..seen("a", DeliveryArm::Gate, true, false) };
        let held_out = [seen("a", DeliveryArm::Holdout, true, true), seen("b", DeliveryArm::Holdout, false, true)];
        let count = |gate: &[ObservedDelivery]| {
            let trial = super::holdout_trial(held_out.iter().chain(gate));
            (trial.held_out.exposures, trial.held_out.recurrences)
        };
        assert_eq!(count(&[]), (2, 1));
        assert_eq!(count(&[told(9)]), (2, 1), "it was seen before");
        assert_eq!(count(&[told(9), told(3)]), (1, 0));
        assert_eq!(count(&[ObservedDelivery { family: "g".to_owned(), ..told(3) }]), (2, 1), "another family");
    }

    #[test]
    fn a_task_ends_by_word_or_by_silence() {
        let day = Duration::from_secs(86_400);
        let hour = 3_600_000_000;
        assert!(is_task_over(true, Timestamp(0), Timestamp(1), day));
        assert!(!is_task_over(false, Timestamp(0), Timestamp(23 * hour), day));
        assert!(is_task_over(false, Timestamp(0), Timestamp(24 * hour), day));
    }
}
