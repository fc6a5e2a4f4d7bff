//! What helps against a pattern: its attempts, and the gotcha that follows from a fix that worked.

use serde::Serialize;

use super::confidence::{Confidence, ConfidenceIncrement, IncrementKind, unused_increments};
use super::statistics::share_bound;
use super::wording::message_title;
use crate::base::clock::Timestamp;
use crate::config::{ConfidenceSettings, Settings};
use crate::event::{AttemptOutcome, Technique};
use crate::store::{StrategyRow, StrategyTryRow};

/// Fixes named for one strategy, the newest.
const FIXES_MAX: usize = 5;

/// Something that was tried against a pattern.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Strategy {
    /// `s-…`
    pub id: String,
    /// `p-…` of the pattern that it is against.
    pub against: String,
    /// `shape` (the changed lines read alike), `files` (the same files), `command`.
    pub technique: Technique,
    /// What a person recognises it by: the changed line, the files, the command.
    pub label: String,
    /// How often the pattern was gone afterwards and stayed away for the rest of the task …
    pub successes: u64,
    /// … of how often it was tried. What helped in part is tried, and half a success in the rate.
    pub tries: u64,
    /// The share of tries that helped.
    pub success_rate: f64,
    /// The lower bound of that share: what ranks it.
    pub lower_bound: f64,
    /// It solved a whole failure within the limit of attempts (setting `fix.quick_attempts`).
    pub high_value: bool,
    /// Whether one of `fixes` is confirmed.
    pub confirmed: bool,
    /// Fixes that it was part of, `x-…`, the newest first.
    pub fixes: Vec<String>,
    /// Confidence that it helps; `None` of what never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
}

/// A mistake that happens here, and what made it go away.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Gotcha {
    /// `k-…`
    pub id: String,
    /// `p-…` of the pattern that it is about.
    pub pattern: String,
    /// What goes wrong: the pattern's masked message.
    pub pitfall: String,
    /// The newest message of the pattern, as it was printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
    /// Why it happens, as recorded.
    pub cause: Option<String>,
    /// What to do from now on, as recorded.
    pub rule: Option<String>,
    /// `s-…` of the strategy that helps most reliably.
    pub strategy: String,
    /// What that is recognised by.
    pub fix: String,
    /// Number of successes …
    pub successes: u64,
    /// … of this number of attempts.
    pub tries: u64,
    /// The share of tries that helped.
    pub success_rate: f64,
    /// The fix was right within the limit of attempts.
    pub high_value: bool,
    /// Whether the fix is confirmed.
    pub confirmed: bool,
    /// Its confidence: the fix's ledger, and later statements about it.
    pub confidence: Confidence,
    /// It never fades and is never held out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// The entry that is better.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

/// What was tried against a pattern, the most reliable first. Nothing of it is known to be confirmed yet.
pub(crate) fn ranked_strategies(
    against: &str,
    rows: Vec<StrategyRow>,
    settings: &Settings,
    now: Timestamp,
) -> Vec<Strategy> {
    sort_surest_first(rows, settings).into_iter().map(|row| strategy_from_row(against, row, settings, now)).collect()
}

/// Sorts the most reliable first.
pub(crate) fn sort_surest_first(mut rows: Vec<StrategyRow>, settings: &Settings) -> Vec<StrategyRow> {
    let rank = |row: &StrategyRow| match row.technique {
        // What was changed says more than where.
        Technique::Shape => 0,
        Technique::Command => 1,
        _ => 2,
    };
    let bound = |row: &StrategyRow| share_bound(row.successes, row.counted_tries(), settings.confidence.bound);
    rows.sort_by_cached_key(|row| {
        let (bound, tries) = (bound(row), row.counted_tries());
        // Not negative: its bits are in its order.
        (std::cmp::Reverse((bound.to_bits(), tries)), rank(row), row.id.clone())
    });
    rows
}

/// A strategy with its ledger; nothing is known to be confirmed yet.
pub(crate) fn strategy_from_row(against: &str, row: StrategyRow, settings: &Settings, now: Timestamp) -> Strategy {
    let tries = row.counted_tries();
    let mut fixes: Vec<String> = Vec::new();
    for tried in row.tries.iter().rev() {
        if fixes.len() < FIXES_MAX && !fixes.contains(&tried.fix) {
            fixes.push(tried.fix.clone());
        }
    }
    let is_quick =
        |tried: &StrategyTryRow| tried.has_helped() && tried.solved && tried.number <= settings.fix.quick_attempts;
    let increments = strategy_increments(&row.tries, &settings.confidence, now);
    Strategy {
        id: row.id,
        against: against.to_owned(),
        success_rate: (row.successes as f64 + 0.5 * row.partials as f64) / tries.max(1) as f64,
        lower_bound: share_bound(row.successes, tries, settings.confidence.bound),
        high_value: row.tries.iter().any(is_quick),
        confirmed: false,
        confidence: (!increments.is_empty()).then(|| Confidence::from_increments(increments, &settings.confidence)),
        technique: row.technique,
        label: row.label,
        successes: row.successes,
        tries,
        fixes,
    }
}

impl StrategyRow {
    /// How often it was tried, as far as that counts.
    fn counted_tries(&self) -> u64 {
        self.successes + self.failures + self.partials
    }
}

impl StrategyTryRow {
    fn has_helped(&self) -> bool {
        self.outcome == AttemptOutcome::Success && !self.recurred
    }
}

impl Gotcha {
    /// The gotcha called `id` about a pattern, given by id and masked text, from what was tried against it; `said` is the
    /// cause and the rule. `None` when nothing ever made it go away.
    pub(crate) fn from_strategies(
        id: String,
        (pattern, masked): (&str, &str),
        strategies: &[Strategy],
        said: (Option<String>, Option<String>),
    ) -> Option<Self> {
        let (surest, confidence) =
            strategies.iter().find_map(|strategy| Some((strategy, strategy.confidence.clone()?)))?;
        Some(Gotcha {
            id,
            pattern: pattern.to_owned(),
            pitfall: message_title(masked),
            example: None,
            cause: said.0,
            rule: said.1,
            strategy: surest.id.clone(),
            fix: surest.label.clone(),
            successes: surest.successes,
            tries: surest.tries,
            success_rate: surest.success_rate,
            high_value: surest.high_value,
            confirmed: surest.confirmed,
            confidence,
            pinned: false,
            superseded_by: None,
        })
    }
}

/// What the confidence in a fix is made of. It comes from a check and a fix that was applied; it rises with every session
/// and every agent that it helped again, and falls with every session in which it did not help or not for long, and with
/// disuse.
fn strategy_increments(
    tries: &[StrategyTryRow],
    settings: &ConfidenceSettings,
    now: Timestamp,
) -> Vec<ConfidenceIncrement> {
    let Some(first) = tries.iter().position(|tried| tried.outcome == AttemptOutcome::Success) else {
        return Vec::new();
    };
    let (first, later) = (&tries[first], &tries[first..]);
    let session = |tried: &StrategyTryRow| tried.session.clone().unwrap_or_else(|| format!("task {}", tried.task));
    let step = |tried: &StrategyTryRow, what: String, kind, scope: String, delta| ConfidenceIncrement {
        event: tried.event.clone(),
        at: tried.at,
        what,
        once: (kind, scope),
        delta,
    };
    let mut found = vec![
        step(first, "learnt from a check".into(), IncrementKind::Source, "check".into(), settings.from_check),
        step(
            first,
            format!("fixed it in task {}", first.task),
            IncrementKind::Source,
            "fix".into(),
            settings.fix_applied,
        ),
    ];
    for tried in later {
        let (scope, task) = (session(tried), &tried.task);
        if tried.has_helped() && scope != session(first) {
            found.push(step(
                tried,
                format!("helped again in task {task}"),
                IncrementKind::Reuse,
                scope,
                settings.reuse,
            ));
            if let Some(agent) = tried.agent.as_ref().filter(|agent| first.agent.as_ref() != Some(agent)) {
                let what = format!("helped another agent, {agent}");
                found.push(step(tried, what, IncrementKind::OtherAgent, agent.clone(), settings.other_agent));
            }
        } else if tried.recurred || tried.outcome == AttemptOutcome::Failure {
            let how = if tried.recurred { "did not help for long" } else { "did not help" };
            let what = format!("{how} in task {task}");
            found.push(step(tried, what, IncrementKind::DidNotHelp, scope, -settings.did_not_help));
        }
    }
    found.extend(unused_increments(later.iter().map(|tried| (tried.at, tried.event.as_str())), settings, now));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_US: i64 = 24 * 3600 * 1_000_000;

    fn tried(day: i64, outcome: &str, session: &str, agent: &str) -> StrategyTryRow {
        StrategyTryRow {
            event: format!("{day:04}"),
            fix: format!("x-{day}"),
            at: Timestamp(day * DAY_US),
            outcome: AttemptOutcome::from_word(outcome).expect("an outcome"),
            recurred: false,
            solved: outcome == "success",
            number: 1,
            task: format!("t{day}"),
            session: Some(session.into()),
            agent: Some(agent.into()),
        }
    }

    fn row(technique: &str, tries: Vec<StrategyTryRow>) -> StrategyRow {
        let of = |outcome: AttemptOutcome| {
            tries.iter().filter(|tried| tried.outcome == outcome && !tried.recurred).count() as u64
        };
        let recurred = tries.iter().filter(|tried| tried.recurred).count() as u64;
        StrategyRow {
            id: format!("s-{technique}"),
            technique: Technique::from_word(technique).expect("a technique"),
            recipe: String::new(),
            label: "import the name".into(),
            successes: of(AttemptOutcome::Success),
            failures: of(AttemptOutcome::Failure) + recurred,
            partials: of(AttemptOutcome::Partial),
            tries,
        }
    }

    fn one(tries: Vec<StrategyTryRow>, today: i64) -> Strategy {
        ranked_strategies("p-1", vec![row("shape", tries)], &Settings::default(), Timestamp(today * DAY_US)).remove(0)
    }

    #[track_caller]
    fn believed(strategy: &Strategy, wanted: f64) {
        let value = strategy.confidence.as_ref().expect("it helped once").value;
        assert!((value - wanted).abs() < 1e-9, "{value} is not {wanted}: {strategy:#?}");
    }

    #[test]
    fn confidence_follows_success() {
        let good = one(vec![tried(1, "success", "a", "human"), tried(2, "success", "a", "human")], 2);
        // Learnt, and applied; the second time in the same session adds nothing.
        believed(&good, 0.70);
        let again = one(vec![tried(1, "success", "a", "human"), tried(2, "success", "b", "codex")], 2);
        believed(&again, 0.85);
        let failures = vec![tried(2, "failure", "b", "human"), tried(3, "failure", "b", "human")];
        let bad = one([vec![tried(1, "success", "a", "human")], failures].concat(), 3);
        believed(&bad, 0.60);
        assert_eq!((bad.successes, bad.tries, good.successes, good.tries), (1, 3, 2, 2));
        assert!(good.lower_bound > bad.lower_bound && good.success_rate > bad.success_rate);
        assert_eq!(one(vec![tried(1, "failure", "a", "human")], 1).confidence, None);
    }

    #[test]
    fn what_came_back_in_its_task_did_not_help() {
        let back = StrategyTryRow { recurred: true, ..tried(1, "success", "a", "human") };
        let one = one(vec![back], 1);
        believed(&one, 0.60);
        assert_eq!((one.successes, one.tries, one.high_value), (0, 1, false));
        let steps = one.confidence.expect("it seemed to help").steps;
        assert_eq!(steps.last().map(|step| step.what.as_str()), Some("did not help for long in task t1"));
    }

    #[test]
    fn disuse_takes_a_little_a_month() {
        let unused = |today| one(vec![tried(1, "success", "a", "human")], today);
        believed(&unused(1 + 59), 0.70);
        believed(&unused(1 + 60), 0.69);
        believed(&unused(1 + 30 + 10 * 30), 0.60);
        // A use in between ends the gap, and what the gap took stays taken.
        believed(&one(vec![tried(1, "success", "a", "human"), tried(101, "success", "b", "human")], 101), 0.73);
    }

    #[test]
    fn the_surest_comes_first_not_the_luckiest_and_makes_the_gotcha() {
        let lucky = row("shape", vec![tried(1, "success", "a", "human")]);
        let outcomes = (1..=9).map(|n| tried(n, if n == 5 { "failure" } else { "success" }, "a", "human"));
        let sure = row("command", outcomes.collect());
        let never = row("files", (1..=9).map(|n| tried(n, "failure", "a", "human")).collect());
        let found = ranked_strategies("p-1", vec![lucky, never, sure], &Settings::default(), Timestamp(9 * DAY_US));
        assert_eq!((found[0].technique.as_str(), found[0].successes, found[0].tries), ("command", 8, 9));
        assert_eq!(found[0].fixes, ["x-9", "x-8", "x-7", "x-6", "x-5"]);
        assert_eq!(found[2].technique, Technique::Files);
        let about = ("p-1", "No such\nname");
        let gotcha =
            |found: &[Strategy]| Gotcha::from_strategies("k-1".into(), about, found, (None, Some("Import it.".into())));
        let shown = gotcha(&found).expect("a fix worked");
        assert_eq!((shown.strategy.as_str(), shown.successes, shown.tries), ("s-command", 8, 9));
        assert_eq!((shown.pitfall.as_str(), shown.rule.as_deref()), ("No such name", Some("Import it.")));
        assert_eq!(gotcha(&found[2..]), None);
    }

    #[test]
    fn a_fix_that_was_right_at_once_is_of_high_value() {
        let third = StrategyTryRow { number: 3, ..tried(1, "success", "a", "human") };
        let part = StrategyTryRow { solved: false, ..tried(1, "success", "a", "human") };
        assert!(!one(vec![third.clone(), part], 1).high_value);
        assert!(one(vec![third.clone(), StrategyTryRow { number: 2, ..third }], 1).high_value);
    }
}
