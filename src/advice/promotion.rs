//! What has earned a line in CLAUDE.md or AGENTS.md, how well that is proven, and when the line has to go again.

use std::collections::BTreeMap;

use serde::Serialize;

use super::trial::{HoldoutTrial, TrialVerdict};
use crate::base::clock::Timestamp;
use crate::base::text::count;
use crate::config::PromotionSettings;
use crate::pattern::confidence::JudgedDelivery;
use crate::pattern::statistics::round_to_thousandth;

/// Sums of increments such as 0.05 are a little off.
const ROUNDING: f64 = 1e-9;
const DAY_US: u64 = 86_400_000_000;

/// What is known of something that may be promoted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PromotionFigures {
    /// The pattern's confidence: the ledger's value.
    pub confidence: f64,
    /// The lower bound of the evidence behind that.
    pub lower_bound: f64,
    /// Distinct tasks in which it was seen.
    pub tasks: u64,
    /// Failures.
    pub failures: u64,
    /// Warned tasks that avoided it.
    pub prevented: u64,
    /// Warned tasks that made it all the same.
    pub failed_anyway: u64,
    /// `prevented` of both; 0.5 before the first result of a warned task. Observed, with no
    /// control group.
    pub effectiveness: f64,
    /// Confidence of what helps; `null` when nothing is known.
    pub knowledge: Option<f64>,
    /// What its warned and held-out tasks say.
    pub own: HoldoutTrial,
    /// What those of its whole family say.
    pub family: HoldoutTrial,
}

/// By what something has earned its proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Qualification {
    /// Warnings about it prevented it.
    Prevention,
    /// What helps against it has enough confidence.
    Knowledge,
}

/// How well a proposal is proven.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProofStrength {
    /// The held-out tasks say that saying it prevents it.
    Strong,
    /// They don't, so far.
    #[default]
    Weak,
}

/// How well a proposal is proven, and why.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ProofLabel {
    /// In a word.
    pub strength: ProofStrength,
    /// In a sentence.
    pub reason: String,
    /// The evidence, as many times better as the best guess explains what was seen; 1 before anything was.
    pub e_value: f64,
}

/// The outcome of the warned tasks of a pattern: prevented, failed anyway. A task counts once.
pub(crate) fn count_outcomes(told: &[JudgedDelivery]) -> (u64, u64) {
    let mut tasks: BTreeMap<&str, bool> = BTreeMap::new();
    for one in told {
        *tasks.entry(&one.task).or_default() |= one.failed;
    }
    let failed = tasks.values().filter(|failed| **failed).count() as u64;
    (tasks.len() as u64 - failed, failed)
}

/// The share of warned tasks that did without the mistake; 0.5 before the first result.
pub(crate) fn compute_effectiveness(prevented: u64, failed_anyway: u64) -> f64 {
    match prevented + failed_anyway {
        0 => 0.5,
        all => prevented as f64 / all as f64,
    }
}

/// By what something may be proposed; `None` when it may not. What does harm when it is said never may.
pub(crate) fn find_qualification(figures: &PromotionFigures, settings: &PromotionSettings) -> Option<Qualification> {
    if [figures.own, figures.family].iter().any(|trial| trial.verdict() == TrialVerdict::Harms) {
        return None;
    }
    let reaches = |value: f64, least: f64| value + ROUNDING >= least;
    let prevents = figures.prevented > 0
        && reaches(figures.effectiveness, settings.effectiveness)
        && figures.tasks >= settings.tasks
        && reaches(figures.confidence, settings.confidence);
    let is_known = figures.failures >= settings.knowledge_occurrences
        && figures.knowledge.is_some_and(|believed| reaches(believed, settings.knowledge_confidence));
    match (prevents, is_known) {
        (true, _) => Some(Qualification::Prevention),
        (_, true) => Some(Qualification::Knowledge),
        _ => None,
    }
}

/// What keeps something from being proposed: the first number of [`find_qualification`] that it does not reach.
pub(crate) fn disqualification_reason(figures: &PromotionFigures, settings: &PromotionSettings) -> String {
    let below = |value: f64, least: f64| value + ROUNDING < least;
    if [figures.own, figures.family].iter().any(|trial| trial.verdict() == TrialVerdict::Harms) {
        "warned tasks made the mistake more often than held-out ones".to_owned()
    } else if figures.prevented == 0 {
        "no warned task avoided the mistake".to_owned()
    } else if below(figures.effectiveness, settings.effectiveness) {
        let warned = figures.prevented + figures.failed_anyway;
        format!(
            "{} of {} avoided the mistake, but {:.0} % are needed",
            figures.prevented,
            count(warned, "warned task"),
            settings.effectiveness * 100.0
        )
    } else if figures.tasks < settings.tasks {
        format!("it was seen in {}, but {} are needed", count(figures.tasks, "task"), settings.tasks)
    } else {
        format!("its confidence is {:.2}, but {:.2} is needed", figures.confidence, settings.confidence)
    }
}

/// How well a proposal is proven. Its own trial and its family's are one test: the mean of two test martingales is one
/// again, so that however often it is looked at, what does nothing is called strong in one of twenty histories at most
/// (with the setting `promotion.evidence` at 20; Vovk and Wang 2021, "E-values", section 3).
pub(crate) fn proof_label(figures: &PromotionFigures, settings: &PromotionSettings) -> ProofLabel {
    let trials = [figures.own, figures.family];
    let e_value = trials.iter().map(HoldoutTrial::e_value).sum::<f64>() / 2.0;
    let proves = trials.iter().any(|trial| trial.verdict() == TrialVerdict::Prevents);
    let (shown, held_out) = (figures.family.shown, figures.family.held_out);
    let counted = format!(
        "{} of {} warned tasks and {} of {} held-out ones made the mistake again",
        shown.recurrences, shown.exposures, held_out.recurrences, held_out.exposures
    );
    let is_strong = e_value >= settings.evidence && proves;
    let reason = if is_strong {
        format!("warnings about it prevent it: {counted} (evidence {})", format_figure(e_value))
    } else if held_out.exposures == 0 {
        "no task was held out yet for comparison".to_owned()
    } else {
        format!(
            "no measurable effect so far: {counted} (evidence {} of {})",
            format_figure(e_value),
            format_figure(settings.evidence)
        )
    };
    ProofLabel {
        strength: if is_strong { ProofStrength::Strong } else { ProofStrength::Weak },
        reason,
        e_value: round_to_thousandth(e_value),
    }
}

/// A figure for people: as many digits as say something.
fn format_figure(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

/// What was seen of something since a person approved it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ApprovalFollowUp {
    /// When it was approved last.
    pub approved: Timestamp,
    /// Distinct tasks in which it was seen after that.
    pub tasks: u64,
    /// When it was seen last, before or after.
    pub last_seen: Timestamp,
}

/// Why a line should go again; `None` while it may stay.
pub(crate) fn retirement_reason(
    since: &ApprovalFollowUp,
    settings: &PromotionSettings,
    now: Timestamp,
) -> Option<String> {
    if since.tasks >= settings.retire_tasks {
        return Some(format!("it came back in {} after it was promoted", count(since.tasks, "task")));
    }
    let days = now.micros_since(since.last_seen.max(since.approved)) / DAY_US;
    (days >= settings.retire_days).then(|| format!("it was not seen for {}", count(days, "day")))
}

/// The folder that instructions about these files (each with its number of failures) are for: the deepest that has
/// `coverage` of the failures in it or below; empty for the top.
pub(crate) fn common_folder(files: &[(String, u64)], coverage: f64) -> String {
    let all: u64 = files.iter().map(|(_, failures)| failures).sum();
    let mut folders: BTreeMap<&str, u64> = BTreeMap::new();
    for (path, failures) in files {
        for (at, _) in path.match_indices('/') {
            *folders.entry(&path[..at]).or_default() += failures;
        }
    }
    let covers = folders.iter().filter(|(_, failures)| **failures as f64 + ROUNDING >= coverage * all as f64);
    let deepest = covers.max_by_key(|(folder, failures)| (folder.matches('/').count() + 1, **failures));
    deepest.map(|(folder, _)| (*folder).to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::random::Random;
    use crate::event::DeliveryArm;

    const DAY_US: i64 = 86_400_000_000;

    fn proven() -> PromotionFigures {
        let (prevented, failed_anyway) = (4, 1);
        PromotionFigures {
            confidence: 0.5 + 4.0 * 0.05 + 0.10,
            tasks: 5,
            failures: 9,
            prevented,
            failed_anyway,
            effectiveness: compute_effectiveness(prevented, failed_anyway),
            ..PromotionFigures::default()
        }
    }

    #[test]
    fn the_gate_is_effectiveness_tasks_and_confidence_at_its_numbers() {
        let settings = PromotionSettings::default();
        let way = |figures: PromotionFigures| find_qualification(&figures, &settings);
        assert_eq!(way(proven()), Some(Qualification::Prevention), "exactly at all three");
        assert_eq!(way(PromotionFigures { effectiveness: 0.79, ..proven() }), None);
        assert_eq!(way(PromotionFigures { tasks: 4, ..proven() }), None);
        assert_eq!(way(PromotionFigures { confidence: 0.79, ..proven() }), None);
        let stricter = PromotionSettings { tasks: 6, ..settings.clone() };
        assert_eq!(find_qualification(&proven(), &stricter), None, "each is a setting");
        // What is known to help: by its own confidence, and how often it happened.
        let known = PromotionFigures { knowledge: Some(0.8), failures: 3, ..PromotionFigures::default() };
        assert_eq!(way(known.clone()), Some(Qualification::Knowledge));
        assert_eq!(way(PromotionFigures { failures: 2, ..known.clone() }), None);
        assert_eq!(way(PromotionFigures { knowledge: Some(0.79), ..known.clone() }), None);
        // What does harm is never proposed.
        let mut harmful = HoldoutTrial::default();
        (0..400).for_each(|_| harmful.add_task(DeliveryArm::Shown, true, 0.2));
        assert_eq!(way(PromotionFigures { own: harmful, ..proven() }), None);
        assert_eq!(way(PromotionFigures { family: harmful, ..known }), None);
    }

    #[test]
    fn a_task_counts_once_for_the_effectiveness() {
        let told = |task: &str, failed| JudgedDelivery {
            task: task.into(),
            at: Timestamp(1),
            by: ("e".into(), Timestamp(2)),
            failed,
        };
        assert_eq!(count_outcomes(&[told("a", false), told("a", true), told("b", false), told("b", false)]), (1, 1));
        assert_eq!((compute_effectiveness(1, 1), compute_effectiveness(0, 0)), (0.5, 0.5));
    }

    #[test]
    fn each_label_has_its_reason() {
        let settings = PromotionSettings::default();
        let weak = proof_label(&proven(), &settings);
        assert_eq!(weak.strength, ProofStrength::Weak);
        assert_eq!(weak.reason, "no task was held out yet for comparison");
        let mut trial = HoldoutTrial::default();
        (0..4).for_each(|_| trial.add_task(DeliveryArm::Holdout, true, 0.1));
        trial.add_task(DeliveryArm::Shown, false, 0.1);
        let strong = proof_label(&PromotionFigures { own: trial, family: trial, ..proven() }, &settings);
        assert_eq!(strong.strength, ProofStrength::Strong);
        assert_eq!(
            strong.reason,
            "warnings about it prevent it: 0 of 1 warned tasks and 4 of 4 held-out ones made the mistake again \
             (evidence 2000)"
        );
        let unclear = proof_label(
            &PromotionFigures { own: trial, family: trial, ..proven() },
            &PromotionSettings { evidence: 3_000.0, ..settings },
        );
        assert_eq!(unclear.strength, ProofStrength::Weak);
        assert!(unclear.reason.ends_with("(evidence 2000 of 3000)"), "{}", unclear.reason);
    }

    /// The share of histories of 200 exposures that are ever called strong, looked at after each exposure. In half of
    /// the exposures of its family it is another pattern's turn.
    fn ever_strong(base: f64, prevented: f64, alone: bool) -> f64 {
        const HISTORIES: u32 = 400;
        let settings = PromotionSettings::default();
        let mut random = Random(7);
        let mut strong = 0;
        for _ in 0..HISTORIES {
            let mut figures = PromotionFigures::default();
            let mut exposures = 0;
            while exposures < 200 {
                let arm = if random.unit() < 0.2 { DeliveryArm::Holdout } else { DeliveryArm::Shown };
                let rate = if arm == DeliveryArm::Shown { base * (1.0 - prevented) } else { base };
                let recurred = random.unit() < rate;
                figures.family.add_task(arm, recurred, 0.2);
                if alone || random.unit() < 0.5 {
                    figures.own.add_task(arm, recurred, 0.2);
                    exposures += 1;
                }
                if proof_label(&figures, &settings).strength == ProofStrength::Strong {
                    strong += 1;
                    break;
                }
            }
        }
        f64::from(strong) / f64::from(HISTORIES)
    }

    #[test]
    fn a_useless_warning_is_hardly_ever_called_strong_and_a_good_one_mostly_is() {
        for (base, alone) in [(0.2, true), (0.4, true), (0.4, false)] {
            let useless = ever_strong(base, 0.0, alone);
            assert!(useless <= 0.05, "{base} {alone}: {useless}");
        }
        for alone in [true, false] {
            let good = ever_strong(0.4, 0.8, alone);
            assert!(good >= 0.80, "{alone}: {good}");
        }
    }

    #[test]
    fn coming_back_or_90_unseen_days_ask_for_retirement() {
        let settings = PromotionSettings::default();
        let since = |tasks, last_day: i64| ApprovalFollowUp {
            approved: Timestamp(10 * DAY_US),
            tasks,
            last_seen: Timestamp(last_day * DAY_US),
        };
        let ask = |since: ApprovalFollowUp, day: i64| retirement_reason(&since, &settings, Timestamp(day * DAY_US));
        assert_eq!(ask(since(0, 9), 99), None);
        assert_eq!(ask(since(0, 9), 100).as_deref(), Some("it was not seen for 90 days"));
        assert_eq!(ask(since(1, 11), 12).as_deref(), Some("it came back in 1 task after it was promoted"));
        let patient = PromotionSettings { retire_tasks: 2, retire_days: 10, ..PromotionSettings::default() };
        assert_eq!(retirement_reason(&since(1, 11), &patient, Timestamp(20 * DAY_US)), None);
        assert!(retirement_reason(&since(1, 11), &patient, Timestamp(21 * DAY_US)).is_some());
    }

    #[test]
    fn the_folder_is_the_deepest_that_has_most_of_it() {
        let of = |files: &[(&str, u64)]| {
            let files: Vec<_> = files.iter().map(|(path, failures)| ((*path).to_owned(), *failures)).collect();
            common_folder(&files, 0.8)
        };
        assert_eq!(of(&[("web/src/a.js", 3), ("web/src/b.js", 1)]), "web/src");
        assert_eq!(of(&[("web/src/a.js", 4), ("web/b.js", 2)]), "web");
        assert_eq!(of(&[("web/src/a.js", 8), ("db/b.sql", 2)]), "web/src");
        assert_eq!(of(&[("web/a.js", 1), ("db/b.sql", 1)]), "");
        assert_eq!(of(&[("a.js", 1)]), "");
        assert_eq!(of(&[]), "");
    }
}
