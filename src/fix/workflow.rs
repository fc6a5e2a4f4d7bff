//! Attempts folded to a workflow: numbered, with the steps that fixed something, and whether the fix held.

use std::time::Duration;

use serde::Serialize;

use crate::base::clock::Timestamp;
use crate::event::{Attempt, AttemptMeans, AttemptOutcome, FixState};
use crate::store::{FixRow, SolvedFixRow};

/// Whether a fix is confirmed; shown with every fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct FixStatus {
    /// It held in the rest of its task, or the same change made the same kind of failure go away elsewhere.
    pub confirmed: bool,
    /// Why, or why not yet.
    pub why: String,
}

/// The status of a fix; `None` of a workflow that has none: not solved, passed without a change, or passed because
/// the check was made weaker. A task is over after `silence`.
pub(crate) fn fix_status(row: &FixRow, now: Timestamp, silence: Duration) -> Option<FixStatus> {
    if row.state != FixState::Success {
        return None;
    }
    let said = |confirmed: bool, why: String| Some(FixStatus { confirmed, why });
    if row.unknown_cause {
        return said(false, "cause of the fix unknown".to_owned());
    }
    if row.suspect {
        return said(false, "one of its failing runs was flaky".to_owned());
    }
    if row.twins > 0 {
        let times = row.twins + 1;
        return said(true, format!("the same change worked {times} times"));
    }
    if row.recurred {
        return said(false, "it failed again in the same task".to_owned());
    }
    let last = row.resolved_at.map_or(row.task_last_at, |resolved| resolved.max(row.task_last_at));
    let is_over = Duration::from_micros(now.micros_since(last)) >= silence;
    if is_over {
        said(true, "no recurrence within its task".to_owned())
    } else {
        said(false, "its task is not over yet".to_owned())
    }
}

/// Whether a fix that solved its failure held, as far as is known without other fixes; `None` where those decide.
pub(crate) fn has_held(row: &SolvedFixRow, now: Timestamp, silence: Duration) -> Option<bool> {
    let last = row.resolved_at.map_or(row.task_last_at, |resolved| resolved.max(row.task_last_at));
    let is_over = Duration::from_micros(now.micros_since(last)) >= silence;
    if row.suspect { Some(false) } else { (!row.recurred && is_over).then_some(true) }
}

/// An attempt in its workflow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NumberedAttempt {
    /// From 1; `None` of a run with nothing changed before it. What a run says of several earlier ones has one number.
    pub number: Option<u64>,
    pub attempt: Attempt,
}

/// Attempts of one workflow in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Workflow {
    /// All of them.
    pub attempts: Vec<NumberedAttempt>,
    /// Attempts that fixed something: more than one make a multi-step fix.
    pub steps: u64,
    /// Solved within the limit of attempts.
    pub high_value: bool,
}

/// Folds attempts; `quickly` is the number of attempts within which a fix is of high value.
pub(crate) fn build_workflow(mut attempts: Vec<Attempt>, quickly: u64) -> Workflow {
    attempts.sort_by_key(|attempt| (attempt.ended_at, attempt.run));
    let mut workflow = Workflow::default();
    let (mut number, mut last, mut last_step) = (0, None, None);
    for attempt in attempts {
        let counts = attempt.means != AttemptMeans::None;
        if counts && last.replace(attempt.run) != Some(attempt.run) {
            number += 1;
        }
        if counts && !attempt.fixed.is_empty() && last_step.replace(attempt.run) != Some(attempt.run) {
            workflow.steps += 1;
        }
        let solved = counts && attempt.outcome == AttemptOutcome::Success && !attempt.is_weakened();
        workflow.high_value |= solved && number <= quickly;
        workflow.attempts.push(NumberedAttempt { number: counts.then_some(number), attempt });
    }
    workflow
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> FixRow {
        FixRow {
            id: "x-1".into(),
            key: "k".into(),
            root: crate::base::lossless::Lossless::from("/r"),
            state: FixState::Success,
            attempts: 1,
            reruns: 0,
            first_at: Timestamp(0),
            last_at: Timestamp(0),
            resolved_at: Some(Timestamp(5_000_000)),
            failure: None,
            category: None,
            summary: None,
            argv: Vec::new(),
            task: "t".into(),
            task_last_at: Timestamp(9_000_000),
            recurred: false,
            twins: 0,
            suspect: false,
            steps: 1,
            unknown_cause: false,
        }
    }

    #[test]
    fn a_fix_is_confirmed_when_it_held_or_was_seen_twice() {
        let hour = Duration::from_secs(3600);
        let at = |seconds: i64| Timestamp(seconds * 1_000_000);
        let confirmed = |row: &FixRow, now| fix_status(row, now, hour).map(|status| status.confirmed);
        assert_eq!(confirmed(&row(), at(3608)), Some(false), "the task goes on");
        assert_eq!(confirmed(&row(), at(3609)), Some(true));
        let recurred = FixRow { recurred: true, ..row() };
        assert_eq!(confirmed(&recurred, at(9000)), Some(false));
        assert_eq!(confirmed(&FixRow { twins: 1, ..recurred }, at(10)), Some(true));
        assert_eq!(confirmed(&FixRow { twins: 1, suspect: true, ..row() }, at(9000)), Some(false));
        for state in [FixState::Failure, FixState::Partial, FixState::Flaky, FixState::Weakened] {
            assert_eq!(confirmed(&FixRow { state, ..row() }, at(9000)), None);
        }
    }
}
