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
            failed: row.failed_in.is_some(),
            passed: row.passed_in.is_some(),
            any_pass: row.any_pass,
            over: is_task_over(row.task_done.is_some(), row.task_last_at, now, silence),
        }
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
/// its draw; only where the mistake could be made and seen.
pub(crate) fn holdout_trial<'a>(seen: impl IntoIterator<Item = &'a ObservedDelivery>) -> HoldoutTrial {
    let mut exposures: HashMap<(&str, &str), (DeliveryArm, f64, bool)> = HashMap::new();
    for one in seen {
        let failed = match one.outcome() {
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
        ObservedDelivery { task, family, arm, holdout: 0.2, failed, passed, any_pass: passed, over: false }
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
    fn a_task_ends_by_word_or_by_silence() {
        let day = Duration::from_secs(86_400);
        let hour = 3_600_000_000;
        assert!(is_task_over(true, Timestamp(0), Timestamp(1), day));
        assert!(!is_task_over(false, Timestamp(0), Timestamp(23 * hour), day));
        assert!(is_task_over(false, Timestamp(0), Timestamp(24 * hour), day));
    }
}
