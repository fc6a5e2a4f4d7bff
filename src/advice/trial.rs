//! Does advice prevent anything? A part of the tasks is held out by chance, and where the mistake comes back tells.
//!
//! Only recurrences are looked at. If advice does nothing, each of them comes from a held-out task with exactly the
//! probability with which tasks are held out; a mixture of all other probabilities against that one is a test
//! martingale, so that it may be looked at after every task and still errs in one of twenty histories at most (Ville's
//! inequality; Ramdas et al. 2023, "Game-theoretic statistics and safe anytime-valid inference", section 4).

use serde::Serialize;

use crate::event::DeliveryArm;
use crate::pattern::statistics::ln_beta;

/// From here on the test speaks: 1 of 20 histories without an effect ever gets there.
const DECLARED_AT: f64 = 20.0;
/// Half the width of a 95 % interval, in standard deviations.
const Z_95: f64 = 1.959_963_984_540_054;
/// The quantile of the normal distribution behind "in four of five trials".
const Z_POWER: f64 = 0.841_621_233_572_914;

impl DeliveryArm {
    /// The arm of a task for a family: the same answer in every process and on every machine, without anything stored.
    /// `share` of all are held out, 0 to 1; `salt` makes another draw of it.
    pub(crate) fn draw_for_task(task: &str, family: &str, share: f64, salt: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in [salt, task, family] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        // 53 bits: as many as a float tells apart.
        let drawn = (u64::from_le_bytes(bytes) >> 11) as f64 / (1_u64 << 53) as f64;
        if drawn < share { DeliveryArm::Holdout } else { DeliveryArm::Shown }
    }
}

/// Tasks of one arm in which the mistake could have been made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ArmTally {
    /// All of them.
    pub exposures: u64,
    /// Those in which it was.
    pub recurrences: u64,
}

impl ArmTally {
    /// The share in which it was; `None` before there was one.
    pub(crate) fn recurrence_rate(self) -> Option<f64> {
        (self.exposures > 0).then(|| self.recurrences as f64 / self.exposures as f64)
    }
}

/// What was seen in both arms. Sums only: in whatever order exposures come, it is the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HoldoutTrial {
    /// Tasks that were shown the advice.
    pub shown: ArmTally,
    /// Tasks that were not.
    pub held_out: ArmTally,
    /// Logarithm of the probability of these recurrences' arms if advice does nothing.
    #[serde(skip)]
    null: f64,
    /// Recurrences held out that were expected then.
    #[serde(skip)]
    expected: f64,
}

/// What a trial says so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum TrialVerdict {
    /// Mistakes come back less often where the advice is shown.
    Prevents,
    /// More often.
    Harms,
    /// There is no measurable effect so far.
    NoMeasurableEffect,
}

/// How much less often the mistake comes back with advice than without: 1 is never, 0 as often, below 0 more often.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TrialLift {
    /// 1 − rate with advice / rate without.
    pub value: f64,
    /// Lower end of its 95 % interval, for a look that was planned beforehand.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl HoldoutTrial {
    /// Adds one task in which the mistake could have been made; `share` is the share of tasks that was held out when its
    /// arm was drawn. Where nothing is held out, or everything, nothing can be learnt, and it isn't counted.
    pub(crate) fn add_task(&mut self, arm: DeliveryArm, recurred: bool, share: f64) {
        if !(share > 0.0 && share < 1.0) {
            return;
        }
        let (tally, probability) = match arm {
            DeliveryArm::Shown => (&mut self.shown, 1.0 - share),
            DeliveryArm::Holdout => (&mut self.held_out, share),
            DeliveryArm::Gate => return,
        };
        tally.exposures += 1;
        if recurred {
            tally.recurrences += 1;
            self.null += probability.ln();
            self.expected += share;
        }
    }

    /// The evidence against "advice does nothing": how many times better the best guess that was made without looking
    /// ahead explains the recurrences. 1 before there is one.
    pub(crate) fn e_value(&self) -> f64 {
        let (held_out, shown) = (self.held_out.recurrences as f64, self.shown.recurrences as f64);
        (ln_beta(1.0 + held_out, 1.0 + shown) - self.null).exp()
    }

    /// What it says.
    pub(crate) fn verdict(&self) -> TrialVerdict {
        let held_out = self.held_out.recurrences as f64;
        if self.e_value() < DECLARED_AT {
            TrialVerdict::NoMeasurableEffect
        } else if held_out > self.expected {
            TrialVerdict::Prevents
        } else {
            TrialVerdict::Harms
        }
    }

    /// How many held-out tasks a trial needs in which the mistake can be made, to see in four of five trials that shown
    /// advice lowers the share of recurrences by `points` (0.2 is 20 percentage points) from what it is in the held-out
    /// ones; `share` of all tasks are held out. `None` where it could not be lowered by that, or nothing is held out.
    ///
    /// The sample size of the two-sided test of two shares at 5 % (Fleiss 1981), for arms of different size.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of tasks")]
    pub(crate) fn needed_held_out(&self, points: f64, share: f64) -> Option<u64> {
        let without = self.held_out.recurrence_rate()?;
        let with = without - points;
        if with < 0.0 || !(share > 0.0 && share < 1.0) {
            return None;
        }
        let ratio = (1.0 - share) / share;
        let mean = (without + ratio * with) / (1.0 + ratio);
        let by_chance = Z_95 * ((1.0 + 1.0 / ratio) * mean * (1.0 - mean)).sqrt();
        let seen = Z_POWER * (without * (1.0 - without) + with * (1.0 - with) / ratio).sqrt();
        Some(((by_chance + seen) / points).powi(2).ceil() as u64)
    }

    /// The size of the effect; `None` before both arms had a task and the held-out one a recurrence.
    ///
    /// The interval is that of a ratio of two shares (Katz et al. 1978), with half a case added to each count.
    pub(crate) fn lift(&self) -> Option<TrialLift> {
        let (shown, held_out) = (self.shown.recurrence_rate()?, self.held_out.recurrence_rate()?);
        if self.held_out.recurrences == 0 {
            return None;
        }
        let parts = |tally: ArmTally| (tally.recurrences as f64 + 0.5, tally.exposures as f64 + 0.5);
        let ((a, n), (b, m)) = (parts(self.shown), parts(self.held_out));
        let middle = (a / n / (b / m)).ln();
        let spread = Z_95 * (1.0 / a - 1.0 / n + 1.0 / b - 1.0 / m).max(0.0).sqrt();
        Some(TrialLift {
            value: 1.0 - shown / held_out,
            low: 1.0 - (middle + spread).exp(),
            high: 1.0 - (middle - spread).exp(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;

    const SHARE: f64 = 0.2;
    const HISTORIES: u64 = 500;

    /// The share of histories of `exposures` tasks in which `verdict` is given at any time, looked at after every task.
    fn declared(exposures: u32, base: f64, prevented: f64, verdict: fn(TrialVerdict) -> bool) -> f64 {
        let mut random = Random(1);
        let declared = (0..HISTORIES).filter(|_| {
            let mut trial = HoldoutTrial::default();
            (0..exposures).any(|_| {
                let held_out = random.unit() < SHARE;
                let rate = if held_out { base } else { base * (1.0 - prevented) };
                trial.add_task(
                    if held_out { DeliveryArm::Holdout } else { DeliveryArm::Shown },
                    random.unit() < rate,
                    SHARE,
                );
                verdict(trial.verdict())
            })
        });
        declared.count() as f64 / HISTORIES as f64
    }

    #[test]
    fn a_useless_warning_is_declared_effective_in_one_of_twenty_histories_at_most() {
        let wrong = declared(600, 0.2, 0.0, |verdict| verdict != TrialVerdict::NoMeasurableEffect);
        assert!(wrong <= 0.05, "{wrong}");
    }

    /// All histories at once: the probability of each number of held-out recurrences that was not declared yet.
    #[test]
    fn the_bound_holds_exactly_for_all_histories_of_five_hundred_recurrences() {
        for share in [0.05, 0.1, 0.2, 0.5] {
            let (mut open, mut declared) = (vec![1.0], 0.0);
            for recurrences in 1..=500_usize {
                let mut next = vec![0.0; recurrences + 1];
                for (held_out, probability) in open.iter().enumerate() {
                    next[held_out + 1] += probability * share;
                    next[held_out] += probability * (1.0 - share);
                }
                for (held_out, probability) in
                    next.iter_mut().enumerate().filter(|(_, probability)| **probability > 0.0)
                {
                    if of_recurrences(held_out, recurrences - held_out, share).verdict()
                        != TrialVerdict::NoMeasurableEffect
                    {
                        declared += std::mem::take(probability);
                    }
                }
                open = next;
            }
            assert!((0.005..=0.05).contains(&declared), "{declared} at {share}");
        }
    }

    fn of_recurrences(held_out: usize, shown: usize, share: f64) -> HoldoutTrial {
        let tally = |count: usize| ArmTally { exposures: count as u64, recurrences: count as u64 };
        let null = held_out as f64 * share.ln() + shown as f64 * (1.0 - share).ln();
        let expected = (held_out + shown) as f64 * share;
        HoldoutTrial { shown: tally(shown), held_out: tally(held_out), null, expected }
    }

    #[test]
    fn a_warning_that_prevents_most_of_a_rare_mistake_is_found() {
        let found = declared(600, 0.2, 0.8, |verdict| verdict == TrialVerdict::Prevents);
        assert!(found >= 0.95, "{found}");
    }

    #[test]
    fn strong_is_rarely_said_of_a_useless_warning_and_mostly_of_one_that_prevents() {
        let strong = |verdict| verdict == TrialVerdict::Prevents;
        let useless = declared(200, 0.4, 0.0, strong);
        assert!(useless <= 0.05, "{useless}");
        let useful = declared(200, 0.4, 0.8, strong);
        assert!(useful >= 0.80, "{useful}");
    }

    #[test]
    fn advice_that_brings_the_mistake_about_is_found_to_harm() {
        let mut trial = HoldoutTrial::default();
        for n in 0..400 {
            let arm = if n % 5 == 0 { DeliveryArm::Holdout } else { DeliveryArm::Shown };
            trial.add_task(arm, arm == DeliveryArm::Shown && n % 2 == 0, SHARE);
        }
        assert_eq!(trial.verdict(), TrialVerdict::Harms);
        assert_eq!(trial.lift(), None, "nothing came back without the advice");
    }

    #[test]
    fn without_a_held_out_share_there_is_nothing_to_compare() {
        let mut trial = HoldoutTrial::default();
        (0..1_000).for_each(|_| trial.add_task(DeliveryArm::Shown, true, 0.0));
        assert_eq!(trial.verdict(), TrialVerdict::NoMeasurableEffect);
        assert!((trial.e_value() - 1.0).abs() < 1e-9);
        assert_eq!(trial.lift(), None);
    }

    #[test]
    fn the_lift_is_in_its_interval() {
        let mut trial = HoldoutTrial::default();
        for n in 0..500 {
            let arm = if n % 5 == 0 { DeliveryArm::Holdout } else { DeliveryArm::Shown };
            let recurred = if arm == DeliveryArm::Holdout { n % 10 == 0 } else { n % 20 == 1 };
            trial.add_task(arm, recurred, SHARE);
        }
        let lift = trial.lift().expect("both arms have recurrences");
        assert!((lift.value - (1.0 - (25.0 / 400.0) / 0.5)).abs() < 1e-9, "{lift:?}");
        assert!(lift.low < lift.value && lift.value < lift.high && lift.high <= 1.0, "{lift:?}");
    }

    #[test]
    fn the_needed_sample_is_as_published() {
        let trial = |recurrences, exposures| HoldoutTrial {
            held_out: ArmTally { exposures, recurrences },
            ..HoldoutTrial::default()
        };
        // Equal arms, as tables without a continuity correction have it: 93 each from 50 % to 30 %.
        assert_eq!(trial(5, 10).needed_held_out(0.2, 0.5), Some(93));
        assert_eq!(trial(4, 10).needed_held_out(0.2, 0.5), Some(82));
        assert!(trial(5, 10).needed_held_out(0.2, 0.1) < Some(93), "nine shown ones for each");
        assert_eq!(trial(1, 10).needed_held_out(0.2, 0.5), None, "it can't be lowered by this many");
        assert_eq!(trial(0, 0).needed_held_out(0.2, 0.5), None);
        assert_eq!(trial(5, 10).needed_held_out(0.2, 0.0), None);
    }

    #[test]
    fn the_share_is_held_out_and_everybody_agrees_who() {
        let arms: Vec<DeliveryArm> =
            (0..10_000).map(|n| DeliveryArm::draw_for_task(&format!("task-{n}"), "f", 0.1, "")).collect();
        let held_out = arms.iter().filter(|arm| **arm == DeliveryArm::Holdout).count();
        assert!((850..=1_150).contains(&held_out), "{held_out}");
        assert_eq!(DeliveryArm::draw_for_task("task-7", "f", 0.1, ""), arms[7]);
        assert!((0..100).all(|n| DeliveryArm::draw_for_task(&n.to_string(), "f", 0.0, "") == DeliveryArm::Shown));
        assert!((0..100).all(|n| DeliveryArm::draw_for_task(&n.to_string(), "f", 1.0, "") == DeliveryArm::Holdout));
    }
}
