//! `library stats`: figures of jobs and pages. Safety first, throughput last; none of the figures is a target alone.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::check::{LibraryFindingKind, library_findings};
use super::page_shapes::page_shapes;
use super::standing::LibraryView;
use crate::base::clock::Timestamp;
use crate::event::{EvidenceLabel, JobState, LibraryFolderName, TrialFailureCause};
use crate::learn::job::Job;
use crate::learn::library::LibraryPage;
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::store::{Index, StoreError};

/// Jobs that are counted, the last changed first.
const JOBS_MAX: usize = 10_000;
/// Causes of a failed job that would have been a wrong page.
const CAUGHT: [TrialFailureCause; 5] = [
    TrialFailureCause::Regressed,
    TrialFailureCause::AfterFails,
    TrialFailureCause::Weakened,
    TrialFailureCause::Flaky,
    TrialFailureCause::TestOnly,
];

/// What `library stats --json` prints.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LibraryStats {
    /// How jobs ended.
    pub validation: ValidationFigures,
    /// What people decided.
    pub review: ReviewFigures,
    /// What would have been a wrong page, and what was one.
    pub regressions: RegressionFigures,
    /// What is no longer right.
    pub hygiene: HygieneFigures,
    /// How much there is and what it is used for.
    pub throughput: ThroughputFigures,
    /// What it cost.
    pub lab: LabFigures,
}

/// How jobs ended.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ValidationFigures {
    /// Jobs in all, without those that were skipped.
    pub jobs: u64,
    /// Jobs with proof.
    pub proven: u64,
    /// Jobs that failed.
    pub failed: u64,
    /// The failed ones by their root cause.
    pub causes: BTreeMap<String, u64>,
    /// Jobs that wait for a person.
    pub waiting_for_person: u64,
    /// Jobs whose kept trees are damaged and that no person decided about.
    pub stalled: u64,
    /// Median hours from damaged trees to a person's decision.
    pub stalled_hours: Option<f64>,
}

/// What people decided.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReviewFigures {
    /// Candidates without a decision.
    pub candidates: u64,
    /// Pages that were approved first.
    pub approved: u64,
    /// Pages that were rejected first.
    pub rejected: u64,
    /// Pages that were approved without proof.
    pub unproven: u64,
    /// Median hours from a candidate to the first decision.
    pub hours: Option<f64>,
}

/// What would have been a wrong page, and what was one.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct RegressionFigures {
    /// Changes that failed validation: they break something, mend nothing, weaken a check, or pass by chance.
    pub caught: u64,
    /// Approved pages whose failure came back in a task in which they were applied.
    pub escaped: u64,
}

/// What is no longer right.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HygieneFigures {
    /// Deprecated pages.
    pub deprecated: u64,
    /// Active pages that should be deprecated.
    pub proposed: u64,
    /// Findings of `library check` about files.
    pub findings: u64,
    /// Active pages that agents do not get to read.
    pub not_served: u64,
}

/// How much there is and what it is used for.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ThroughputFigures {
    /// Pages that were written.
    pub pages: u64,
    /// Proofs of them.
    pub proofs: u64,
    /// Tasks in which a page was shown.
    pub shown: u64,
    /// Those of them in which its change was made.
    pub applied: u64,
    /// Tasks that a page was held out from.
    pub held_out: u64,
    /// Those of them in which its change was made all the same.
    pub applied_anyway: u64,
}

/// What it cost.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LabFigures {
    /// Runs in the lab.
    pub runs: u64,
    /// Minutes of them.
    pub minutes: f64,
}

/// Counts everything that is recorded.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn collect_stats(request: &Request) -> Result<Reply<LibraryStats>, StoreError> {
    let reading = request.open_for_reading()?;
    let mut reply = Reply::new(LibraryStats::default(), reading.notes);
    let Some(index) = &reading.index else { return Ok(reply) };
    let stats = &mut reply.data;
    let mut stalled = Vec::new();
    for row in index.list_jobs(&[], JOBS_MAX)? {
        if let Some(job) = Job::from_steps(&index.job_steps(&row.id)?) {
            stats.count_job(&job);
            stalled.extend(stalled_time(index, &row.id)?);
        }
    }
    stats.validation.stalled_hours = median_hours(stalled);
    let view = LibraryView::read(request, Some(index))?;
    let mut decided = Vec::new();
    for page in view.recorded.pages.values() {
        decided.extend(stats.count_page(page));
        stats.count_uses(index, page)?;
    }
    stats.review.hours = median_hours(decided);
    let findings = library_findings(request)?;
    let count = |kind| findings.iter().filter(|finding| finding.kind == kind).count() as u64;
    stats.hygiene.findings = findings.len() as u64;
    stats.hygiene.not_served = count(LibraryFindingKind::NotServed);
    Ok(reply)
}

impl LibraryStats {
    fn count_job(&mut self, job: &Job) {
        if job.state == JobState::Skipped {
            return;
        }
        let validation = &mut self.validation;
        validation.jobs += 1;
        let is_proven = job.judgement.as_ref().is_some_and(|it| it.evidence == EvidenceLabel::Proven);
        validation.proven += u64::from(is_proven);
        validation.failed += u64::from(job.state == JobState::Failed);
        validation.waiting_for_person += u64::from(job.state.waits_for_person());
        validation.stalled += u64::from(job.state == JobState::StalledSnapshot);
        if let Some(cause) = job.cause.filter(|_| job.state == JobState::Failed) {
            *validation.causes.entry(cause.as_str().to_owned()).or_default() += 1;
            self.regressions.caught += u64::from(CAUGHT.contains(&cause));
        }
        self.throughput.proofs += u64::from(job.page.is_some() || job.proves.is_some());
        self.lab.runs += job.trials.len() as u64;
        #[allow(clippy::cast_precision_loss, reason = "a figure for people")]
        let minutes = job.trials.iter().map(|trial| trial.duration_ms).sum::<u64>() as f64 / 60_000.0;
        self.lab.minutes += minutes;
    }

    /// Counts a page; how long it waited for its first decision.
    fn count_page(&mut self, page: &LibraryPage) -> Option<(Timestamp, Timestamp)> {
        self.throughput.pages += u64::from(page.written.is_some());
        self.review.unproven += u64::from(page.is_unproven);
        self.hygiene.deprecated += u64::from(page.folder == Some(LibraryFolderName::Deprecated));
        self.hygiene.proposed += u64::from(page.proposed.is_some());
        let Some(first) = page.decisions.first() else {
            self.review.candidates += u64::from(page.folder == Some(LibraryFolderName::Candidates));
            return None;
        };
        match first.what {
            "approved" => self.review.approved += 1,
            "rejected" => self.review.rejected += 1,
            _ => {}
        }
        page.written_at.map(|written| (written, first.at))
    }

    fn count_uses(&mut self, index: &Index, page: &LibraryPage) -> Result<(), StoreError> {
        let deliveries = index.page_deliveries(&page.id)?;
        let was_approved = page.decisions.iter().any(|decision| decision.what == "approved");
        if deliveries.is_empty() && !was_approved {
            return Ok(());
        }
        let shapes = page_shapes(index, &page.id)?;
        let applied: BTreeSet<String> = index.tasks_where_shapes_helped(&shapes)?.into_iter().collect();
        for delivery in deliveries {
            let is_applied = u64::from(applied.contains(&delivery.task));
            let throughput = &mut self.throughput;
            if delivery.is_shown {
                throughput.shown += 1;
                throughput.applied += is_applied;
            } else {
                throughput.held_out += 1;
                throughput.applied_anyway += is_applied;
            }
        }
        let came_back = was_approved && !index.tasks_where_shapes_failed(&shapes)?.is_empty();
        self.regressions.escaped += u64::from(came_back);
        Ok(())
    }
}

/// When a job's trees were found damaged, and when a person decided about it.
fn stalled_time(index: &Index, job: &str) -> Result<Vec<(Timestamp, Timestamp)>, StoreError> {
    let mut found = Vec::new();
    let mut since = None;
    for step in index.job_steps(job)? {
        match (step.note.step.kind(), since) {
            ("stalled", _) => since = Some(step.at),
            ("requeued" | "cancelled", Some(at)) => {
                found.push((at, step.at));
                since = None;
            }
            _ => {}
        }
    }
    Ok(found)
}

/// The median of these times in hours, to a tenth.
fn median_hours(times: Vec<(Timestamp, Timestamp)>) -> Option<f64> {
    let mut hours: Vec<u64> = times.into_iter().map(|(from, to)| to.micros_since(from)).collect();
    hours.sort_unstable();
    let middle = *hours.get(hours.len() / 2)?;
    #[allow(clippy::cast_precision_loss, reason = "a figure for people")]
    let hours = middle as f64 / 3_600_000_000.0;
    Some((hours * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_in_hours_to_a_tenth() {
        let time = |hours: i64| (Timestamp(0), Timestamp(hours * 360_000_000));
        assert_eq!(median_hours(vec![time(5), time(100), time(15)]), Some(1.5));
        assert_eq!(median_hours(Vec::new()), None);
    }
}
