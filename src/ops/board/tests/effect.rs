//! What the page about advice says of simulated histories.

use super::Desk;
use crate::advice::TrialVerdict;
use crate::event::sample::{delivery, failed_run, key, passed_run, review};
use crate::event::{DeliveryArm, Event, EventBody, ReviewState};
use crate::ops::board::BoardFilter;
use crate::ops::board::effect::{EffectPage, MissedReason};
use crate::store::SumFilter;

/// Half of 80 tasks are warned of `alpha`; this many of each half make the mistake.
pub(crate) fn trial(shown: u64, held_out: u64) -> Vec<Event> {
    let mut events = vec![failed_run(1, "zero", &["alpha"])];
    for at in 0..80 {
        let (second, task) = (10 * at + 10, format!("task{at}"));
        let arm = if at < 40 { DeliveryArm::Shown } else { DeliveryArm::Holdout };
        let mut warned = delivery(second, &task, &key("alpha"));
        if let EventBody::Delivery(delivery) = &mut warned.body {
            (delivery.arm, delivery.holdout_permille) = (arm, 500);
        }
        let recurs = at % 40 < if at < 40 { shown } else { held_out };
        let run = if recurs { failed_run(second + 2, &task, &["alpha"]) } else { passed_run(second + 2, &task) };
        events.extend([warned, run]);
    }
    events
}

fn page(desk: &Desk, filter: &BoardFilter) -> EffectPage {
    desk.ask(|board| board.effect(filter).expect("reads"))
}

#[test]
fn an_effect_no_effect_and_harm_are_told_apart() {
    let of = |shown, held_out| page(&Desk::new(&trial(shown, held_out)), &BoardFilter::default());

    let strong = of(4, 30);
    assert_eq!(strong.effect.verdict, TrialVerdict::Prevents);
    assert!(strong.effect.e_value >= 20.0 && strong.effect.lift.expect("a lift").low > 0.0, "{strong:#?}");
    assert!(strong.shown_interval[1] < strong.held_out_interval[0], "{strong:#?}");
    let last = strong.history.last().expect("points");
    assert_eq!((last.exposures, last.e_value), (80, strong.effect.e_value));
    assert!(strong.history.len() <= 40 && strong.history.windows(2).all(|two| two[0].at < two[1].at));
    assert_eq!((strong.observed.prevented, strong.observed.failed_anyway), (36, 4));
    assert_eq!((strong.families.len(), strong.families[0].verdict), (1, TrialVerdict::Prevents));
    assert!(strong.harmful.is_empty());

    let none = of(10, 10);
    assert_eq!(none.effect.verdict, TrialVerdict::NoMeasurableEffect);
    assert!(none.effect.words.contains("no measurable effect") && !none.effect.words.contains("prevents"), "{none:#?}");
    let needed = of(20, 20).needed.expect("can be said");
    assert_eq!((needed.points, needed.missing), (0.2, needed.held_out - 40));
    assert_eq!(needed.weeks.map(|weeks| weeks == (needed.missing as f64 / 5.0 * 10.0).round() / 10.0), Some(true));

    let harm = of(30, 4);
    assert_eq!(harm.effect.verdict, TrialVerdict::Harms);
    assert!(harm.effect.lift.expect("a lift").high < 0.0 && harm.harmful.len() == 1, "{harm:#?}");
}

#[test]
fn a_filter_counts_again_what_it_leaves() {
    let desk = Desk::new(&trial(4, 30));
    let of = |whom: SumFilter| page(&desk, &BoardFilter { whom, ..BoardFilter::default() });
    let all = of(SumFilter { category: Some("test_failure".into()), ..SumFilter::default() });
    assert_eq!(all.effect.trial.shown.exposures, 40);
    let other = of(SumFilter { category: Some("lint_error".into()), ..SumFilter::default() });
    assert_eq!((other.effect.trial.shown.exposures, other.observed.prevented), (0, 0));
    let agent = of(SumFilter { agent: Some("codex".into()), ..SumFilter::default() });
    assert_eq!(agent.effect.trial.held_out.exposures, 40);
    assert_eq!(of(SumFilter { agent: Some("other".into()), ..SumFilter::default() }).effect.trial.shown.exposures, 0);
}

#[test]
fn what_was_not_said_has_its_reason() {
    let mut events = Vec::new();
    for task in 0..5 {
        events.push(failed_run(10 + task, &format!("t{task}"), &["alpha", "bravo"]));
    }
    events.push(review(90, &key("bravo"), ReviewState::Muted));
    events.extend([failed_run(20, "u0", &["cargo"]), failed_run(21, "u1", &["cargo"])]);
    // Something else was said.
    events.extend([delivery(31, "t4", &key("delta")), failed_run(32, "v0", &["delta"])]);
    let missed = page(&Desk::new(&events), &BoardFilter::default()).missed;
    let reasons: Vec<_> = missed.reasons.iter().map(|row| (row.reason, row.count)).collect();
    let expected = [
        (MissedReason::Silenced, 4),
        (MissedReason::LowConfidence, 1),
        (MissedReason::NotAsked, 3),
        (MissedReason::NotRelevant, 1),
    ];
    assert_eq!(reasons, expected);
    assert_eq!((missed.total, missed.newest.len()), (9, 9));
}

#[test]
fn advice_costs_what_its_texts_have() {
    let mut events = trial(4, 30);
    for event in &mut events {
        if let EventBody::Delivery(delivery) = &mut event.body {
            delivery.text = Some("x".repeat(400));
        }
    }
    let cost = page(&Desk::new(&events), &BoardFilter::default()).cost;
    assert_eq!((cost.warnings, cost.tokens_shown_estimate), (40, 4_000));
}
