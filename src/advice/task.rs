//! When a task is over.

use std::time::Duration;

use serde::Serialize;

use crate::base::clock::Timestamp;
use crate::store::TaskDetails;

/// The end of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskEnd {
    /// When.
    pub at: Timestamp,
    /// Why: said so, its branch, silence.
    pub why: String,
}

/// The end of a task as far as is known at `now`: announced, or its branch is merged or gone, and nothing ran since;
/// or nothing happened in it for `silence`. `None` while it goes on.
pub(crate) fn task_end(task: &TaskDetails, now: Timestamp, silence: Duration) -> Option<TaskEnd> {
    if let Some(at) = task.done_at.filter(|done| *done >= task.last_at) {
        let why = task.why.clone().or_else(|| task.outcome.as_ref().map(|outcome| format!("said to be {outcome}")));
        return Some(TaskEnd { at, why: why.unwrap_or_else(|| "said to be over".to_owned()) });
    }
    let micros = u64::try_from(silence.as_micros()).unwrap_or(u64::MAX);
    (now.micros_since(task.last_at) >= micros).then(|| {
        let at = Timestamp(task.last_at.0.saturating_add(i64::try_from(micros).unwrap_or(i64::MAX)));
        TaskEnd { at, why: format!("nothing ran for {} hours", silence.as_secs() / 3_600) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(last: i64, done: Option<i64>) -> TaskDetails {
        TaskDetails {
            number: 1,
            name: "t".into(),
            first_at: Timestamp(0),
            last_at: Timestamp(last),
            title: None,
            category: None,
            started_at: None,
            done_at: done.map(Timestamp),
            outcome: None,
            why: None,
            files: Vec::new(),
            depends_on: Vec::new(),
            runs: 1,
            failures: 0,
        }
    }

    #[test]
    fn a_task_ends_when_it_is_said_and_by_a_day_of_silence_and_a_later_run_reopens_it() {
        let hour = 3_600 * 1_000_000;
        let end_at =
            |task: &TaskDetails, now: i64| task_end(task, Timestamp(now * hour), Duration::from_secs(24 * 3_600));
        assert_eq!(end_at(&task(0, None), 23), None);
        let silent = end_at(&task(0, None), 25).expect("is over");
        assert_eq!((silent.at, silent.why.as_str()), (Timestamp(24 * hour), "nothing ran for 24 hours"));
        assert_eq!(end_at(&task(hour, Some(hour)), 1).expect("is over").why, "said to be over");
        assert_eq!(end_at(&task(2 * hour, Some(hour)), 3), None, "it ran again");
        let merged = TaskDetails { why: Some("its branch was merged".into()), ..task(hour, Some(hour)) };
        assert_eq!(end_at(&merged, 2).expect("is over").why, "its branch was merged");
    }
}
