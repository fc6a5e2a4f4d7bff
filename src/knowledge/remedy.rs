//! Which strategy is next against an error: what helped most reliably, without those that have failed here often enough.

use regex::{Regex, RegexBuilder};
use serde::Serialize;

use crate::base::limits::DEFINITION_REGEX_BYTES_MAX;
use crate::config::Settings;
use crate::event::{AttemptOutcome, ErrorMatch, Technique};
use crate::pattern::statistics::{round_to_thousandth, share_bound};
use crate::store::{RemedyAttemptRow, RemedyRow};

/// Steps of one strategy.
pub(crate) const STEPS_MAX: usize = 30;

/// A strategy that fits the error, with the times that it was tried, the newest first.
#[derive(Debug, Clone)]
pub(crate) struct RemedyCandidate {
    /// The strategy.
    pub row: RemedyRow,
    /// The times that count.
    pub attempts: Vec<RemedyAttemptRow>,
    /// Its name in the settings, of one that they have.
    pub declared: Option<String>,
}

/// Where it is to help.
#[derive(Debug, Clone, Default)]
pub(crate) struct RemedySituation {
    /// The task that is being worked on.
    pub task: String,
    /// What kind of task it is.
    pub category: Option<String>,
    /// What kind of file.
    pub file_type: Option<String>,
}

/// A strategy with what speaks for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RemedySuggestion {
    /// `s-…`
    pub id: String,
    /// What to do, in a few words.
    pub technique: String,
    /// `said` by a user, `declared` by settings, or learnt from what was changed: `shape`, `files`, `command`.
    pub origin: Technique,
    /// Its name in the settings, of one that they have.
    pub declared: Option<String>,
    /// How the error is known: `substring`, `regex`, `pattern`; of one of settings without a text `category` or `tool`.
    pub matches: ErrorMatch,
    /// How, one after the other.
    pub steps: Vec<String>,
    /// How often it helped …
    pub successes: u64,
    /// … and how often in part …
    pub partials: u64,
    /// … of how often it was tried.
    pub tries: u64,
    /// Successes and half of those in part, by tries; 0.5 of an untried one.
    pub effectiveness: f64,
    /// The lower bound of its share of successes: what ranks it.
    pub lower_bound: f64,
    /// Untried.
    pub untested: bool,
    /// How often it helped, of how often it was tried, in tasks and with files of this kind.
    pub alike: [u64; 2],
    /// Times that it failed in this task since it last helped there.
    pub failed_here: u64,
    /// It has failed here too often to be tried again.
    pub exhausted: bool,
}

/// One technique has failed too often: something else has to be done.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RemedyEscalation {
    /// `s-…` of the one that failed.
    pub failed: String,
    /// What it was.
    pub technique: String,
    /// How often.
    pub failures: u64,
    /// `s-…` of the next; `null` when no other strategy is known: ask a person.
    pub next: Option<String>,
}

/// Whether a strategy was learnt from what was changed, and not said or declared.
pub(crate) fn is_learnt(row: &RemedyRow) -> bool {
    row.technique.is_learnt()
}

/// What to do, the best first, what has failed here too often last; and whether that calls for something else.
pub(crate) fn rank_remedies(
    candidates: Vec<RemedyCandidate>,
    situation: &RemedySituation,
    settings: &Settings,
) -> (Vec<RemedySuggestion>, Option<RemedyEscalation>) {
    let mut found: Vec<RemedySuggestion> =
        candidates.iter().map(|it| build_suggestion(it, situation, settings)).collect();
    found.sort_by(|a, b| {
        let known = a.exhausted.cmp(&b.exhausted).then(evidence_rank(a).cmp(&evidence_rank(b)));
        let known = known.then(b.lower_bound.total_cmp(&a.lower_bound));
        known.then(b.alike[0].cmp(&a.alike[0])).then(b.effectiveness.total_cmp(&a.effectiveness)).then(a.id.cmp(&b.id))
    });
    found.dedup_by(|a, b| a.id == b.id);
    let worst = found.iter().filter(|it| it.exhausted).max_by_key(|it| it.failed_here);
    let escalation = worst.map(|worst| RemedyEscalation {
        failed: worst.id.clone(),
        technique: worst.technique.clone(),
        failures: worst.failed_here,
        next: found.first().filter(|first| !first.exhausted).map(|first| first.id.clone()),
    });
    (found, escalation)
}

/// What is tried after what: what helped, even in part, and what a user says of this very error; untried proposals of
/// settings; what never helped.
fn evidence_rank(it: &RemedySuggestion) -> u8 {
    match it.successes + it.partials {
        0 if !it.untested => 2,
        0 if it.origin == Technique::Declared => 1,
        _ => 0,
    }
}

/// The regex that an error is known by.
///
/// # Errors
/// Bad syntax, or larger than [`DEFINITION_REGEX_BYTES_MAX`].
pub(crate) fn compile_error_regex(text: &str) -> Result<Regex, regex::Error> {
    let limit = DEFINITION_REGEX_BYTES_MAX;
    RegexBuilder::new(text).multi_line(true).size_limit(limit).dfa_size_limit(limit).build()
}

fn build_suggestion(candidate: &RemedyCandidate, situation: &RemedySituation, settings: &Settings) -> RemedySuggestion {
    let row = &candidate.row;
    let tries = row.successes + row.failures + row.partials;
    let is_alike = |it: &&RemedyAttemptRow| {
        let same = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
        same(&it.category, &situation.category) || same(&it.file_type, &situation.file_type)
    };
    let alike: Vec<&RemedyAttemptRow> = candidate.attempts.iter().filter(is_alike).collect();
    let helped = alike.iter().filter(|it| it.outcome == AttemptOutcome::Success).count() as u64;
    let here = candidate.attempts.iter().filter(|it| it.task == situation.task);
    let failed_here = here
        .take_while(|it| it.outcome != AttemptOutcome::Success)
        .filter(|it| it.outcome == AttemptOutcome::Failure)
        .count() as u64;
    let effectiveness = match tries {
        0 => 0.5,
        tries => (row.successes as f64 + 0.5 * row.partials as f64) / tries as f64,
    };
    RemedySuggestion {
        id: row.id.clone(),
        technique: row.label.clone(),
        origin: row.technique,
        declared: candidate.declared.clone(),
        matches: row.matches,
        steps: row.steps.clone(),
        successes: row.successes,
        partials: row.partials,
        tries,
        effectiveness: round_to_thousandth(effectiveness),
        lower_bound: round_to_thousandth(share_bound(row.successes, tries, settings.confidence.bound)),
        untested: tries == 0,
        alike: [helped, alike.len() as u64],
        failed_here,
        exhausted: failed_here >= settings.knowledge.escalate_attempts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Timestamp;

    /// A strategy with the outcomes of its attempts, the oldest first: `+`, `-` or `~` in the task, upper-case letters
    /// `S` and `F` for success and failure in another.
    fn candidate(id: &str, outcomes: &str) -> RemedyCandidate {
        let outcome = |letter: char| match letter {
            '+' | 'S' => AttemptOutcome::Success,
            '~' => AttemptOutcome::Partial,
            _ => AttemptOutcome::Failure,
        };
        let attempts: Vec<RemedyAttemptRow> = outcomes
            .chars()
            .rev()
            .map(|letter| RemedyAttemptRow {
                event: String::new(),
                at: Timestamp(0),
                task: if letter.is_ascii_uppercase() { "other" } else { "here" }.into(),
                outcome: outcome(letter),
                agent: None,
                category: letter.is_ascii_uppercase().then(|| "bugfix".into()),
                file_type: None,
                note: None,
            })
            .collect();
        let of = |wanted: AttemptOutcome| attempts.iter().filter(|it| it.outcome == wanted).count() as u64;
        let row = RemedyRow {
            number: 0,
            id: id.into(),
            matches: ErrorMatch::Substring,
            error: "e".into(),
            technique: Technique::Said,
            label: format!("do {id}"),
            steps: Vec::new(),
            successes: of(AttemptOutcome::Success),
            failures: of(AttemptOutcome::Failure),
            partials: of(AttemptOutcome::Partial),
            agents: 0,
            imported: false,
        };
        RemedyCandidate { row, attempts, declared: None }
    }

    fn ranked(candidates: &[(&str, &str)]) -> (Vec<RemedySuggestion>, Option<RemedyEscalation>) {
        let candidates = candidates.iter().map(|(id, outcomes)| candidate(id, outcomes)).collect();
        let situation = RemedySituation { task: "here".into(), category: Some("bugfix".into()), file_type: None };
        rank_remedies(candidates, &situation, &Settings::default())
    }

    fn ids(found: &[RemedySuggestion]) -> Vec<&str> {
        found.iter().map(|it| it.id.as_str()).collect()
    }

    #[test]
    fn the_surest_comes_first_and_the_untested_before_what_failed() {
        let (found, escalation) = ranked(&[("s-bad", "FF"), ("s-new", ""), ("s-once", "S"), ("s-sure", "SSSSF")]);
        assert_eq!(ids(&found), ["s-sure", "s-once", "s-new", "s-bad"]);
        assert_eq!((found[0].alike, found[0].effectiveness), ([4, 5], 0.8));
        assert_eq!((found[2].untested, found[2].effectiveness), (true, 0.5));
        assert_eq!(escalation, None);
    }

    #[test]
    fn what_settings_have_comes_after_what_ever_helped_and_before_what_never_did() {
        let mut of_settings = candidate("s-a", "");
        of_settings.row.technique = Technique::Declared;
        of_settings.declared = Some("a".into());
        let others = [("s-part", "~"), ("s-said", ""), ("s-bad", "F"), ("s-seldom", "SFFFFFFFFF")];
        let mut candidates: Vec<RemedyCandidate> = others.map(|(id, outcomes)| candidate(id, outcomes)).into();
        candidates.push(of_settings);
        let (found, _) = rank_remedies(candidates, &RemedySituation::default(), &Settings::default());
        assert_eq!(ids(&found), ["s-said", "s-seldom", "s-part", "s-a", "s-bad"]);
        assert_eq!((found[3].origin, found[3].declared.as_deref()), (Technique::Declared, Some("a")));
    }

    #[test]
    fn after_three_failures_in_the_task_the_next_is_proposed() {
        let (found, escalation) = ranked(&[("s-sure", "SSSSSSSS---"), ("s-new", "")]);
        assert_eq!(ids(&found), ["s-new", "s-sure"]);
        let escalation = escalation.expect("too often");
        assert_eq!((escalation.failed.as_str(), escalation.failures), ("s-sure", 3));
        assert_eq!(escalation.next.as_deref(), Some("s-new"));
        let (_, alone) = ranked(&[("s-sure", "S---")]);
        assert_eq!(alone.expect("too often").next, None, "ask a person");
        assert_eq!(ranked(&[("s-sure", "--+--")]).1, None, "it helped in between");
        assert_eq!(ranked(&[("s-sure", "--~-")]).1.map(|it| it.failures), Some(3), "in part is no help");
        assert_eq!(ranked(&[("s-sure", "FFFF")]).1, None, "elsewhere");
    }
}
