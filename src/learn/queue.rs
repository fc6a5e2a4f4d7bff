//! The order of waiting jobs, and which of them have waited for too long.

use std::cmp::Reverse;
use std::time::Duration;

use super::job::Job;
use crate::base::clock::Timestamp;

/// Jobs that may wait; of more, the last in order expire.
pub(crate) const WAITING_MAX: usize = 200;
/// How long a job may wait.
pub(crate) const WAITING_TIME_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);
/// A failure of this many tasks recurs.
const RECURRING_TASKS: u64 = 3;

/// Waiting jobs in their order, and those that are not waited for any more.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JobQueue {
    /// The next one first.
    pub waiting: Vec<Job>,
    /// Too old, or one too many.
    pub expired: Vec<Job>,
}

impl JobQueue {
    /// Orders jobs that wait: recurring failures first, then by tasks, then new families, then the oldest. A change that has
    /// a page waits behind the others.
    pub(crate) fn order(mut jobs: Vec<Job>, now: Timestamp) -> JobQueue {
        jobs.sort_by_cached_key(|job| {
            let novelty = job.harvest.as_ref().map(|harvest| harvest.novelty.clone()).unwrap_or_default();
            let is_known = novelty.page.is_some() || novelty.alike.is_some();
            let is_recurring = novelty.tasks >= RECURRING_TASKS;
            let first = (Reverse(is_recurring), Reverse(novelty.tasks), Reverse(novelty.is_new_family));
            (is_known, first, job.first_at, job.id.clone())
        });
        let (mut waiting, mut expired): (Vec<Job>, Vec<Job>) =
            jobs.into_iter().partition(|job| Duration::from_micros(now.micros_since(job.at)) <= WAITING_TIME_MAX);
        if waiting.len() > WAITING_MAX {
            expired.extend(waiting.split_off(WAITING_MAX));
        }
        JobQueue { waiting, expired }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventAuthor, HarvestNovelty, HarvestRecord, LearnNote, LearnStep};
    use crate::store::LearnStepRow;

    fn job(id: &str, day: i64, tasks: u64, page: Option<&str>) -> Job {
        let at = Timestamp(day * 86_400 * 1_000_000);
        let novelty = HarvestNovelty { tasks, page: page.map(str::to_owned), ..HarvestNovelty::default() };
        let step = LearnStep::Harvested(Box::new(HarvestRecord { novelty, ..HarvestRecord::default() }));
        let note = LearnNote { job: id.into(), step, by: EventAuthor::default() };
        Job::from_steps(&[LearnStepRow { at, writer: "w".into(), note }]).expect("a job")
    }

    #[test]
    fn what_recurs_comes_first_and_what_is_too_old_expires() {
        let jobs = vec![
            job("j-old", 0, 9, None),
            job("j-new", 35, 1, None),
            job("j-known", 34, 5, Some("a-1")),
            job("j-recurs", 36, 4, None),
            job("j-older", 34, 1, None),
        ];
        let queue = JobQueue::order(jobs, Timestamp(40 * 86_400 * 1_000_000));
        let ids = |jobs: &[Job]| jobs.iter().map(|job| job.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&queue.waiting), ["j-recurs", "j-older", "j-new", "j-known"]);
        assert_eq!(ids(&queue.expired), ["j-old"]);
    }

    #[test]
    fn more_than_may_wait_expire() {
        let jobs = (0..203).map(|n| job(&format!("j-{n:03}"), 1, 1, None)).collect();
        let queue = JobQueue::order(jobs, Timestamp(86_400 * 1_000_000));
        assert_eq!((queue.waiting.len(), queue.expired.len()), (200, 3));
        assert_eq!(queue.expired[0].id, "j-200");
    }
}
