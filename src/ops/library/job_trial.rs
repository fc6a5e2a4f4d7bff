//! What the runs of one job need: its kept trees, what differs between them, and the lab.

use std::time::Duration;

use super::job_change::JobChange;
use super::trial_lab::TrialLab;
use crate::fix::snapshot::{SnapshotOptions, TreeVault};
use crate::lesson::LessonFolder;
use crate::ops::request::Request;
use crate::recorder;

/// Time for one question to git about a job.
pub(super) const GIT_TIME_MAX: Duration = Duration::from_secs(120);

/// A job in the lab.
pub(super) struct JobTrial<'a> {
    /// The kept trees.
    pub vault: TreeVault,
    /// What differs between them.
    pub change: JobChange,
    /// Where commands run.
    pub lab: TrialLab<'a>,
}

/// What snapshots of a job leave out, and how long git may take.
pub(super) fn job_snapshot_options(request: &Request) -> SnapshotOptions {
    let settings = request.settings();
    let lessons = LessonFolder::find(&request.places, settings);
    let mut options = recorder::snapshot_options(&request.places, settings, &lessons);
    options.time_max = options.time_max.max(GIT_TIME_MAX);
    options
}
