//! The confidence of an entry: its source, and the outcome of its use.

use std::collections::BTreeSet;

use crate::base::clock::Timestamp;
use crate::config::Settings;
use crate::event::{EntryChangeKind, EntrySource, EntryTypeName, EntryUse, EventAuthor};
use crate::pattern::confidence::{
    Confidence, ConfidenceIncrement, IncrementKind, JudgedDelivery, outcome_increments, unused_increments,
};
use crate::store::{EntryChangeRow, EntryRow, EntryUseRow};

/// What happened to an entry after it was written.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct EntryHistory {
    /// The entries that say the same: each is another voice.
    pub merged: Vec<EntryRow>,
    /// What was said of it.
    pub changes: Vec<EntryChangeRow>,
    /// What was done with it.
    pub uses: Vec<EntryUseRow>,
    /// The outcome of the warnings that it was shown as.
    pub told: Vec<JudgedDelivery>,
}

/// What the confidence in an entry is made of: its source, its type, every session and agent that it helped, every
/// task that was warned with it and did without the mistake or made it, a value that a user set.
pub(crate) fn entry_confidence(
    entry: &EntryRow,
    history: &EntryHistory,
    settings: &Settings,
    now: Timestamp,
) -> Confidence {
    let mut found = source_increments(entry, settings);
    for other in history.merged.iter().filter(|other| other.by.agent != entry.by.agent) {
        let Some(agent) = &other.by.agent else { continue };
        let what = format!("also found by another agent, {agent}");
        let delta = settings.confidence.other_agent;
        found.push(make_increment(&other.event, other.at, what, IncrementKind::OtherAgent, agent.clone(), delta));
    }
    found.extend(feedback_increments(&entry.by, history, settings));
    if !entry.pinned {
        let helped = history.uses.iter().filter(|used| used.has_helped());
        let prevented = history.told.iter().filter(|told| !told.failed);
        let moments: BTreeSet<(Timestamp, &str)> = [(entry.at, entry.event.as_str())]
            .into_iter()
            .chain(helped.map(|used| (used.at, used.event.as_str())))
            .chain(prevented.map(|told| (told.by.1, told.by.0.as_str())))
            .collect();
        found.extend(unused_increments(moments, &settings.confidence, now));
    }
    Confidence::from_increments(found, &settings.confidence)
}

/// The outcome of using an entry that `writer` wrote (none for a learnt one), and the statements about it.
pub(crate) fn feedback_increments(
    writer: &EventAuthor,
    history: &EntryHistory,
    settings: &Settings,
) -> Vec<ConfidenceIncrement> {
    let mut found = Vec::new();
    let own_session = writer.session.as_deref().unwrap_or_default();
    for used in &history.uses {
        let session = used.session_or_task();
        let agent = used.by.agent.as_deref().filter(|agent| writer.agent.as_deref() != Some(agent));
        let add = |what: &str, kind, scope: String, delta| {
            make_increment(&used.event, used.at, what.to_owned(), kind, scope, delta)
        };
        match used.how {
            EntryUse::Applied if session != own_session => {
                found.push(add("applied", IncrementKind::Reuse, session, settings.confidence.reuse));
            }
            EntryUse::Validated => match agent {
                Some(agent) => {
                    let what = format!("validated by another agent, {agent}");
                    found.push(add(
                        &what,
                        IncrementKind::OtherAgent,
                        agent.to_owned(),
                        settings.confidence.other_agent,
                    ));
                }
                None => found.push(add("validated", IncrementKind::Reuse, session, settings.confidence.reuse)),
            },
            EntryUse::Prevented => {
                let scope = used.by.task.clone().unwrap_or(session);
                found.push(add("prevented a mistake", IncrementKind::Prevented, scope, settings.knowledge.prevented));
            }
            EntryUse::DidNotHelp => {
                found.push(add("did not help", IncrementKind::DidNotHelp, session, -settings.confidence.did_not_help));
            }
            _ => {}
        }
    }
    found.extend(outcome_increments(&history.told, &settings.confidence));
    for change in &history.changes {
        match change.change {
            EntryChangeKind::Superseded => {
                let what = format!("superseded by {}", change.other.as_deref().unwrap_or("something better"));
                let delta = -settings.knowledge.superseded;
                found.push(make_increment(
                    &change.event,
                    change.at,
                    what,
                    IncrementKind::Superseded,
                    String::new(),
                    delta,
                ));
            }
            EntryChangeKind::ConfidenceSet => {
                let who = change.by.person.as_deref().or(change.by.agent.as_deref()).unwrap_or("a user");
                let what = format!("set by {who}: {}", change.reason.as_deref().unwrap_or_default());
                let value = change.value.unwrap_or(settings.confidence.start);
                found.push(make_increment(
                    &change.event,
                    change.at,
                    what,
                    IncrementKind::Set,
                    change.event.clone(),
                    value,
                ));
            }
            _ => {}
        }
    }
    found
}

/// What an entry starts with: what a person says most, then what a check showed; more when a fix was seen to work,
/// and most of all when it prevented the mistake.
fn source_increments(entry: &EntryRow, settings: &Settings) -> Vec<ConfidenceIncrement> {
    let mut found = Vec::new();
    let mut add = |is: bool, what: &str, delta| {
        if is {
            found.push(make_increment(
                &entry.event,
                entry.at,
                what.to_owned(),
                IncrementKind::Source,
                what.to_owned(),
                delta,
            ));
        }
    };
    add(entry.source == EntrySource::Human, "said by a person", settings.knowledge.from_person);
    add(entry.source == EntrySource::Check, "learnt from a check", settings.confidence.from_check);
    add(entry.source == EntrySource::Agent, "said by an agent", 0.0);
    add(entry.kind == EntryTypeName::PATTERN, "a pattern", settings.knowledge.pattern_type);
    add(entry.fix_applied, "its fix was applied", settings.confidence.fix_applied);
    add(entry.prevented, "prevented a mistake before it was made", settings.knowledge.prevented);
    found
}

fn make_increment(
    event: &str,
    at: Timestamp,
    what: String,
    kind: IncrementKind,
    scope: String,
    delta: f64,
) -> ConfidenceIncrement {
    ConfidenceIncrement { event: event.to_owned(), at, what, once: (kind, scope), delta }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_US: i64 = 24 * 3_600_000_000;

    fn by(agent: &str, session: &str) -> EventAuthor {
        EventAuthor { agent: Some(agent.into()), session: Some(session.into()), ..EventAuthor::default() }
    }

    fn entry(kind: &str, source: &str) -> EntryRow {
        EntryRow {
            event: "0000".into(),
            kind: kind.into(),
            source: EntrySource::from_word(source).expect("a source"),
            by: by("codex", "s0"),
            ..EntryRow::default()
        }
    }

    fn used(n: i64, how: &str, agent: &str, session: &str) -> EntryUseRow {
        EntryUseRow {
            event: format!("{n:04}"),
            entry: "k-1".into(),
            at: Timestamp(n * DAY_US),
            how: EntryUse::from_word(how).expect("a use"),
            by: by(agent, session),
        }
    }

    fn changed(n: i64, change: &str, value: Option<f64>) -> EntryChangeRow {
        EntryChangeRow {
            event: format!("{n:04}"),
            entry: "k-1".into(),
            at: Timestamp(n * DAY_US),
            change: EntryChangeKind::from_word(change).expect("a change"),
            value,
            other: None,
            reason: Some("so".into()),
            by: EventAuthor { person: Some("ann".into()), ..EventAuthor::default() },
        }
    }

    #[track_caller]
    fn value(entry: &EntryRow, changes: &[EntryChangeRow], uses: &[EntryUseRow], day: i64, wanted: f64) {
        let history = EntryHistory { changes: changes.to_vec(), uses: uses.to_vec(), ..EntryHistory::default() };
        let found = entry_confidence(entry, &history, &Settings::default(), Timestamp(day * DAY_US));
        assert!((found.value - wanted).abs() < 1e-9, "{} is not {wanted}: {:#?}", found.value, found.steps);
    }

    #[test]
    fn the_start_follows_the_source_prevention_before_reaction_and_a_fix_that_was_applied() {
        value(&entry("gotcha", "agent"), &[], &[], 0, 0.50);
        value(&entry("gotcha", "check"), &[], &[], 0, 0.60);
        value(&entry("gotcha", "human"), &[], &[], 0, 0.70);
        value(&entry("pattern", "check"), &[], &[], 0, 0.65);
        let fixed = EntryRow { fix_applied: true, ..entry("gotcha", "check") };
        value(&fixed, &[], &[], 0, 0.70);
        let prevented = EntryRow { prevented: true, ..entry("gotcha", "check") };
        value(&prevented, &[], &[], 0, 0.75);
        value(&EntryRow { prevented: true, fix_applied: true, ..entry("pattern", "human") }, &[], &[], 0, 0.95);
    }

    #[test]
    fn reuse_counts_once_a_session_and_another_agent_more() {
        let one = entry("gotcha", "agent");
        value(&one, &[], &[used(1, "applied", "codex", "s0")], 1, 0.50);
        value(&one, &[], &[used(1, "applied", "codex", "s1"), used(2, "applied", "codex", "s1")], 2, 0.55);
        value(&one, &[], &[used(1, "validated", "claude", "s2"), used(2, "validated", "claude", "s3")], 2, 0.60);
        value(&one, &[], &[used(1, "prevented", "codex", "s1")], 1, 0.65);
        value(&one, &[], &[used(1, "did_not_help", "codex", "s1"), used(1, "retrieved", "x", "y")], 1, 0.40);
    }

    #[test]
    fn a_warned_task_counts_once_as_it_does_for_a_pattern() {
        let told = |day: i64, task: &str, failed| JudgedDelivery {
            task: task.into(),
            at: Timestamp(day * DAY_US),
            by: (format!("{day:04}"), Timestamp(day * DAY_US + 1)),
            failed,
        };
        let close = |told: &[JudgedDelivery], uses: &[EntryUseRow], day: i64, wanted: f64| {
            let history = EntryHistory { told: told.to_vec(), uses: uses.to_vec(), ..EntryHistory::default() };
            let now = Timestamp(day * DAY_US);
            let found = entry_confidence(&entry("gotcha", "human"), &history, &Settings::default(), now);
            assert!((found.value - wanted).abs() < 1e-9, "{} is not {wanted}: {:#?}", found.value, found.steps);
        };
        close(&[told(1, "a", false), told(2, "a", false)], &[], 3, 0.80);
        close(&[told(1, "a", false), told(2, "b", false)], &[], 3, 0.90);
        close(&[told(1, "a", false), told(2, "a", true), told(3, "a", true)], &[], 3, 0.65);
        // A user said so of the same task: one prevention.
        let mut said = used(2, "prevented", "codex", "s1");
        said.by.task = Some("a".into());
        close(&[told(1, "a", false)], &[said], 3, 0.80);
        // What prevents is used: it fades from there on.
        close(&[told(50, "a", false)], &[], 109, 0.80);
        close(&[told(50, "a", true)], &[], 109, 0.70 - 0.05 - 0.02);
    }

    #[test]
    fn what_another_agent_wrote_down_too_is_believed_more() {
        let other = EntryRow { event: "0001".into(), by: by("claude", "s9"), ..entry("gotcha", "agent") };
        let same = EntryRow { event: "0002".into(), ..entry("gotcha", "agent") };
        let one = entry("gotcha", "agent");
        let of = |merged: EntryRow| {
            let history = EntryHistory { merged: vec![merged], ..EntryHistory::default() };
            entry_confidence(&one, &history, &Settings::default(), Timestamp(0)).value
        };
        assert!((of(other) - 0.60).abs() < 1e-9);
        assert!((of(same) - 0.50).abs() < 1e-9);
    }

    #[test]
    fn a_person_s_word_is_the_value_and_the_ledger_goes_on_from_there() {
        let one = entry("gotcha", "human");
        let set = changed(2, "confidence_set", Some(0.30));
        value(&one, std::slice::from_ref(&set), &[used(1, "applied", "codex", "s1")], 2, 0.30);
        value(&one, std::slice::from_ref(&set), &[used(3, "applied", "codex", "s1")], 3, 0.35);
        let history = EntryHistory { changes: vec![set], ..EntryHistory::default() };
        let ledger = entry_confidence(&one, &history, &Settings::default(), Timestamp(2 * DAY_US));
        let last = ledger.steps.last().expect("a step");
        assert_eq!((last.what.as_str(), last.after), ("set by ann: so", 0.30));
        assert!((last.delta + 0.40).abs() < 1e-9, "{last:?}");
    }

    #[test]
    fn disuse_and_better_knowledge_take_away_but_not_from_what_is_pinned() {
        let one = entry("gotcha", "human");
        value(&one, &[], &[], 59, 0.70);
        value(&one, &[], &[], 60, 0.69);
        value(&one, &[changed(1, "superseded", None)], &[], 1, 0.50);
        value(&EntryRow { pinned: true, ..one }, &[], &[], 400, 0.70);
    }
}
