//! A job: the fold of its recorded steps.

use crate::base::clock::Timestamp;
use crate::event::{
    CaptureRecord, CrystallisedPage, EvidenceLabel, HarvestRecord, JobState, JudgementRecord, LearnStep, MinimalChange,
    MissingScenario, RunnerLease, ScenarioRecord, SignedScenario, SkippedHarvest, TrialFailureCause, TrialRecord,
};
use crate::store::LearnStepRow;

/// Tries to keep the trees of a job.
pub(crate) const CAPTURE_TRIES_MAX: u64 = 3;
/// Runners that may die over a job.
pub(crate) const INTERRUPTIONS_MAX: u64 = 3;

/// What a person decided about a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobDecision {
    /// Who.
    pub person: String,
    /// When.
    pub at: Timestamp,
    /// `requeued` or `cancelled`.
    pub what: &'static str,
    /// Why.
    pub reason: String,
    /// `sha256:…` of the scenario that was signed.
    pub scenario: Option<String>,
}

/// What another store says of a job. Nothing of it was run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobClaim {
    /// The writer that its event names.
    pub writer: String,
    /// How sure the fix is, by its own account.
    pub evidence: EvidenceLabel,
}

/// A job as its steps tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Job {
    /// `j-…`
    pub id: String,
    /// Where it is.
    pub state: JobState,
    /// When it was harvested.
    pub first_at: Timestamp,
    /// When it got to its state.
    pub at: Timestamp,
    /// This store recorded the harvest. Of a job of another one, only what was done here since a person here queued it
    /// counts.
    pub is_own: bool,
    /// What another store says that it showed.
    pub claim: Option<JobClaim>,
    /// What was harvested.
    pub harvest: Option<HarvestRecord>,
    /// Why there is no job.
    pub skipped: Option<SkippedHarvest>,
    /// The kept trees.
    pub capture: Option<CaptureRecord>,
    /// Tries to keep the trees that failed.
    pub capture_failures: u64,
    /// The last runner.
    pub lease: Option<RunnerLease>,
    /// Runners that died since a person last put it into the queue.
    pub interruptions: u64,
    /// What is run.
    pub scenario: Option<ScenarioRecord>,
    /// Why there is no scenario.
    pub missing: Option<MissingScenario>,
    /// What a person signed.
    pub signed: Option<SignedScenario>,
    /// Runs in the lab, in their order.
    pub trials: Vec<TrialRecord>,
    /// How many of these were done before a person last put it into the queue: they prove nothing any more.
    pub earlier_trials: usize,
    /// What they show.
    pub judgement: Option<JudgementRecord>,
    /// The smallest change.
    pub minimal: Option<MinimalChange>,
    /// The page that was written.
    pub page: Option<CrystallisedPage>,
    /// The page that it proves once more.
    pub proves: Option<String>,
    /// The root cause of its failure.
    pub cause: Option<TrialFailureCause>,
    /// Why it is where it is, for people.
    pub why: Option<String>,
    /// What git said of damaged trees.
    pub git_status: Option<String>,
    /// What people decided, the oldest first.
    pub decisions: Vec<JobDecision>,
}

impl Job {
    /// Folds the steps of a job, the oldest first; `None` without any.
    pub(crate) fn from_steps(steps: &[LearnStepRow]) -> Option<Job> {
        let first = steps.first()?;
        let mut job = Job {
            id: first.note.job.clone(),
            state: JobState::Harvested,
            first_at: first.at,
            at: first.at,
            is_own: steps
                .iter()
                .any(|step| step.is_own && matches!(step.note.step, LearnStep::Harvested(_) | LearnStep::Skipped(_))),
            claim: None,
            harvest: None,
            skipped: None,
            capture: None,
            capture_failures: 0,
            lease: None,
            interruptions: 0,
            scenario: None,
            missing: None,
            signed: None,
            trials: Vec::new(),
            earlier_trials: 0,
            judgement: None,
            minimal: None,
            page: None,
            proves: None,
            cause: None,
            why: None,
            git_status: None,
            decisions: Vec::new(),
        };
        let mut is_taken_on = job.is_own;
        for step in steps {
            is_taken_on |= step.is_own;
            match step.is_own {
                true => job.apply(step),
                // A job of this store, or one that was queued here, takes no step from elsewhere.
                false if is_taken_on => {}
                false => job.apply_claim(step),
            }
        }
        Some(job)
    }

    /// Applies a step of another store: what the job is about and where it is, but nothing that it says was run, signed
    /// or shown.
    fn apply_claim(&mut self, row: &LearnStepRow) {
        match &row.note.step {
            LearnStep::Judged(judgement) => {
                let (writer, evidence) = (row.writer.clone(), judgement.evidence);
                self.claim = Some(JobClaim { writer, evidence });
            }
            LearnStep::Claimed(_)
            | LearnStep::Scenario(_)
            | LearnStep::Requeued { .. }
            | LearnStep::Trial(_)
            | LearnStep::Minimised(_)
            | LearnStep::Crystallised(_)
            | LearnStep::FurtherProof { .. }
            | LearnStep::Cancelled { .. } => {}
            _ => return self.apply(row),
        }
        if let Some(state) = row.note.step.leads_to() {
            (self.state, self.at) = (state, row.at);
        }
    }

    fn apply(&mut self, row: &LearnStepRow) {
        if let Some(state) = row.note.step.leads_to() {
            (self.state, self.at) = (state, row.at);
        }
        match &row.note.step {
            LearnStep::Harvested(harvest) => {
                self.harvest = Some((**harvest).clone());
            }
            LearnStep::Skipped(skipped) => self.skipped = Some((**skipped).clone()),
            LearnStep::Captured(capture) => {
                (self.capture, self.capture_failures, self.why) = (Some((**capture).clone()), 0, None);
            }
            LearnStep::SnapshotFailed { why, .. } => {
                self.capture_failures += 1;
                self.why = Some(why.clone());
            }
            LearnStep::Dropped { why } | LearnStep::NoArtifact { why, .. } => self.why = Some(why.clone()),
            LearnStep::Claimed(lease) => {
                (self.lease, self.why, self.missing, self.cause) = (Some(lease.clone()), None, None, None);
            }
            LearnStep::Stalled { why, status } => {
                (self.why, self.git_status) = (Some(why.clone()), Some(status.clone()));
            }
            LearnStep::Scenario(scenario) => self.scenario = Some((**scenario).clone()),
            LearnStep::NeedsManual(missing) => {
                (self.why, self.missing) = (Some(missing.why.clone()), Some((**missing).clone()));
            }
            LearnStep::Requeued { reason, scenario } => {
                self.interruptions = 0;
                self.git_status = None;
                self.earlier_trials = self.trials.len();
                (self.judgement, self.minimal) = (None, None);
                if let Some(signed) = scenario {
                    self.signed = Some((**signed).clone());
                }
                self.decide(row, "requeued", reason, scenario.as_ref().map(|signed| signed.digest.clone()));
            }
            LearnStep::Trial(trial) => self.trials.push((**trial).clone()),
            LearnStep::Judged(judgement) => self.judgement = Some((**judgement).clone()),
            LearnStep::Minimised(minimal) => self.minimal = Some((**minimal).clone()),
            LearnStep::Crystallised(page) => self.page = Some((**page).clone()),
            LearnStep::FurtherProof { artifact } => self.proves = Some(artifact.clone()),
            LearnStep::Interrupted => self.interruptions += 1,
            LearnStep::Failed { cause, why } => (self.cause, self.why) = (Some(*cause), Some(why.clone())),
            LearnStep::Cancelled { reason } => self.decide(row, "cancelled", reason, None),
            LearnStep::Expired => {}
        }
    }

    fn decide(&mut self, row: &LearnStepRow, what: &'static str, reason: &str, scenario: Option<String>) {
        let person = row.note.by.person.clone().unwrap_or_default();
        self.decisions.push(JobDecision { person, at: row.at, what, reason: reason.to_owned(), scenario });
    }

    /// Whether a person may queue it again.
    pub(crate) fn can_requeue(&self) -> bool {
        self.state.waits_for_person() || self.state == JobState::Failed || self.claim.is_some()
    }

    /// Whether a person may end it.
    pub(crate) fn can_cancel(&self) -> bool {
        !self.state.is_over() && !self.state.is_running()
    }

    /// The runs since a person last put it into the queue.
    pub(crate) fn current_trials(&self) -> &[TrialRecord] {
        self.trials.get(self.earlier_trials..).unwrap_or_default()
    }

    /// A run of the same command on the same tree that need not be done again. Runs that a limit ended are not repeated
    /// evidence: they may have been unlucky.
    pub(crate) fn find_trial(&self, tree: &str, command: &str) -> Option<&TrialRecord> {
        use crate::event::TrialOutcome::{Failed, NotRun, Passed};
        self.current_trials().iter().rev().find(|trial| {
            trial.tree == tree && trial.command == command && matches!(trial.outcome, Passed | Failed | NotRun)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{EventAuthor, IsolationLevel, LearnNote, TrialOutcome};

    fn steps(steps: Vec<LearnStep>) -> Vec<LearnStepRow> {
        let by = EventAuthor { person: Some("Ada".into()), ..EventAuthor::default() };
        let row = |(n, step): (usize, LearnStep)| LearnStepRow {
            at: Timestamp(i64::try_from(n).expect("small")),
            writer: "w".into(),
            is_own: true,
            note: LearnNote { job: "j-1".into(), step, by: by.clone() },
        };
        steps.into_iter().enumerate().map(row).collect()
    }

    fn claimed() -> LearnStep {
        let (boot, level) = ("b".to_owned(), IsolationLevel::Namespaces);
        LearnStep::Claimed(RunnerLease { pid: 7, boot, level, until: Timestamp(100) })
    }

    #[test]
    fn a_job_is_where_its_last_step_led() {
        let captured = LearnStep::Captured(Box::default());
        let job = |list: Vec<LearnStep>| Job::from_steps(&steps(list)).expect("a job");
        let harvested = || LearnStep::Harvested(Box::default());
        let failed = |attempt| LearnStep::SnapshotFailed { why: "disk full".into(), attempt };
        let retried = job(vec![harvested(), failed(1), failed(2)]);
        assert_eq!((retried.state, retried.capture_failures), (JobState::SnapshotFailed, 2));
        assert_eq!(job(vec![harvested(), failed(1), captured.clone()]).state, JobState::Queued);
        let interrupted = job(vec![harvested(), captured.clone(), claimed(), LearnStep::Interrupted]);
        assert_eq!((interrupted.state, interrupted.interruptions), (JobState::Queued, 1));
        let requeued = LearnStep::Requeued { reason: "mended".into(), scenario: None };
        let stalled = LearnStep::Stalled { why: "an object is missing".into(), status: "bad".into() };
        let again = job(vec![harvested(), captured, claimed(), LearnStep::Interrupted, stalled, requeued]);
        assert_eq!((again.state, again.interruptions, again.git_status), (JobState::Queued, 0, None));
        assert_eq!(again.decisions[0].person, "Ada");
        assert!(Job::from_steps(&[]).is_none());
    }

    #[test]
    fn a_run_is_found_again_by_tree_and_command_unless_a_limit_ended_it() {
        let trial = |tree: &str, outcome| {
            let record = TrialRecord { tree: tree.into(), command: "c".into(), outcome, ..TrialRecord::default() };
            LearnStep::Trial(Box::new(record))
        };
        let list = vec![trial("aa", TrialOutcome::Passed), trial("bb", TrialOutcome::TimedOut)];
        let job = Job::from_steps(&steps(list)).expect("a job");
        assert!(job.find_trial("aa", "c").is_some() && job.find_trial("aa", "d").is_none());
        assert!(job.find_trial("bb", "c").is_none());
    }

    #[test]
    fn what_another_store_says_of_a_job_is_a_claim_and_is_never_added_to_an_own_one() {
        let judged =
            || LearnStep::Judged(Box::new(JudgementRecord { evidence: EvidenceLabel::Proven, ..Default::default() }));
        let signed = || LearnStep::Requeued { reason: "mine".into(), scenario: Some(Box::default()) };
        let all =
            || vec![LearnStep::Harvested(Box::default()), LearnStep::Captured(Box::default()), signed(), judged()];
        let mut foreign = steps(all());
        foreign.iter_mut().for_each(|step| step.is_own = false);
        let job = Job::from_steps(&foreign).expect("a job");
        let claim = JobClaim { writer: "w".into(), evidence: EvidenceLabel::Proven };
        assert_eq!((job.is_own, &job.claim, &job.judgement), (false, &Some(claim), &None));
        assert_eq!((&job.signed, job.decisions.len()), (&None, 0));
        let mut mixed = steps(all());
        mixed[2..].iter_mut().for_each(|step| step.is_own = false);
        let job = Job::from_steps(&mixed).expect("a job");
        assert_eq!((job.is_own, job.state, &job.claim, &job.signed), (true, JobState::Queued, &None, &None));
        // What a person here queued is shown here, whatever was claimed.
        let mut requeued =
            steps([all(), vec![LearnStep::Requeued { reason: "here".into(), scenario: None }, judged()]].concat());
        requeued[..4].iter_mut().for_each(|step| step.is_own = false);
        let job = Job::from_steps(&requeued).expect("a job");
        assert_eq!(job.judgement.map(|it| it.evidence), Some(EvidenceLabel::Proven));
        assert_eq!((job.is_own, &job.signed, job.decisions.len()), (false, &None, 1));
    }
}
