//! The queue of waiting jobs: how many may wait, and for how long.

use std::time::Duration;

/// Jobs that may wait; of more, the last in order expire.
pub(crate) const WAITING_MAX: usize = 200;
/// How long a job may wait.
pub(crate) const WAITING_TIME_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The ids of waiting jobs, and of those that are not waited for any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JobQueue {
    /// The next one first.
    pub waiting: Vec<String>,
    /// Too old, or one too many.
    pub expired: Vec<String>,
}

impl JobQueue {
    /// Of the jobs that wait, in their order, and those that have waited for too long.
    pub(crate) fn new(mut waiting: Vec<String>, mut expired: Vec<String>) -> JobQueue {
        expired.extend(waiting.split_off(WAITING_MAX.min(waiting.len())));
        JobQueue { waiting, expired }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_may_wait_expire() {
        let jobs = (0..203).map(|n| format!("j-{n:03}")).collect();
        let queue = JobQueue::new(jobs, vec!["j-old".into()]);
        assert_eq!((queue.waiting.len(), queue.expired.len()), (200, 4));
        assert_eq!(queue.expired[..2], ["j-old", "j-200"]);
    }
}
