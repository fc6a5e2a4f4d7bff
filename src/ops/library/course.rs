//! The course of one job in the runner: its kept trees are checked, a scenario is chosen, both trees are run, the smallest
//! change is looked for, and a page is written. Each step is recorded before the next one begins.

use std::time::Instant;

use anyhow::Context as _;

use super::alert::alert_operator;
use super::capture::kept_trees;
use super::job_change::{JobChange, TrialTree};
use super::job_folder::write_job_folder;
use super::job_page::JobSummary;
use super::job_trial::{GIT_TIME_MAX, JobTrial, job_snapshot_options};
use super::job_writer::JobWriter;
use super::page_writer::PageWriter;
use super::proof::keep_proof;
use super::reduction::{ChangeReduction, FailureOrigin};
use super::scenario_inputs::scenario_inputs;
use super::trial_lab::TrialLab;
use crate::base::ids::RunId;
use crate::event::{
    Atom, AtomList, EvidenceLabel, HarvestRecord, LearnStep, NAMES_NO_PROBLEM, NoPageRule, ScenarioRecord,
    TrialFailureCause, TrialPurpose,
};
use crate::fix::patch::{CONTEXT_LINES, Patch};
use crate::fix::snapshot::TreeVault;
use crate::fix::weakened;
use crate::lab::LabLevel;
use crate::learn::scenario::choose_scenario;
use crate::learn::trial::{TrialFacts, TrialStep, next_trial};
use crate::ops::request::Request;
use crate::store::{Index, SegmentFolder};

/// A claimed job on its way.
pub(super) struct JobCourse<'a> {
    request: &'a Request,
    index: &'a Index,
    segments: SegmentFolder,
    writer: JobWriter<'a>,
    level: LabLevel,
    /// Its runs get only what no other program wants of the machine.
    is_idle: bool,
    until: Instant,
}

impl<'a> JobCourse<'a> {
    /// Of a job that was claimed. It gives up at `until`.
    pub(super) fn new(
        request: &'a Request,
        index: &'a Index,
        writer: JobWriter<'a>,
        (level, is_idle): (LabLevel, bool),
        until: Instant,
    ) -> Self {
        let segments = SegmentFolder::new(request.places.state.events());
        JobCourse { request, index, segments, writer, level, is_idle, until }
    }

    /// Works on it to its end; how it is then.
    ///
    /// # Errors
    /// When the store can't be read or written. The job is then in no hands, and the next runner takes it.
    pub(super) fn run(mut self) -> anyhow::Result<JobSummary> {
        if let Some(vault) = self.check_snapshot()?
            && let Some(scenario) = self.choose_scenario(&vault)?
        {
            self.run_scenario(vault, &scenario)?;
        }
        let job = &self.writer.job;
        write_job_folder(self.request, job);
        if job.state.waits_for_person() {
            alert_operator(self.request, job, job.state, job.why.as_deref().unwrap_or_default());
        }
        Ok(JobSummary::from_job(job))
    }

    /// Opens the kept trees, if they are what they were.
    fn check_snapshot(&mut self) -> anyhow::Result<Option<TreeVault>> {
        let stalled = |why: String, status: String| LearnStep::Stalled { why, status };
        let vault = match TreeVault::open(&self.request.places, GIT_TIME_MAX) {
            Ok(vault) => vault,
            Err(skipped) => {
                let why = "the kept trees cannot be read".to_owned();
                self.writer.record(stalled(why, skipped.to_string()))?;
                return Ok(None);
            }
        };
        let Some(capture) = self.writer.job.capture.clone() else {
            self.writer.record(stalled("its trees are not on this machine".to_owned(), String::new()))?;
            return Ok(None);
        };
        let kept = kept_trees(&capture);
        if let Err(damage) = vault.check_kept(&capture.tag, &capture.commit, &capture.tree, &kept) {
            self.writer.record(stalled(damage.why, damage.status))?;
            return Ok(None);
        }
        Ok(Some(vault))
    }

    /// The signed scenario, or the best one that may be run.
    fn choose_scenario(&mut self, vault: &TreeVault) -> anyhow::Result<Option<ScenarioRecord>> {
        if let Some(signed) = &self.writer.job.signed {
            let scenario = signed.scenario.clone();
            self.writer.record(LearnStep::Scenario(Box::new(scenario.clone())))?;
            return Ok(Some(scenario));
        }
        let inputs = match scenario_inputs(self.request, self.index, &self.segments, vault, &self.writer.job) {
            Ok(inputs) => inputs,
            Err(error) => {
                let why = "what the fix changed cannot be read".to_owned();
                self.writer.record(LearnStep::Stalled { why, status: format!("{error:#}") })?;
                return Ok(None);
            }
        };
        match choose_scenario(&inputs) {
            Ok(scenario) => {
                self.writer.record(LearnStep::Scenario(Box::new(scenario.clone())))?;
                Ok(Some(scenario))
            }
            Err(missing) => {
                self.writer.record(LearnStep::NeedsManual(missing))?;
                Ok(None)
            }
        }
    }

    fn run_scenario(&mut self, vault: TreeVault, scenario: &ScenarioRecord) -> anyhow::Result<()> {
        let request = self.request;
        let options = job_snapshot_options(request);
        let job = &self.writer.job;
        let harvest = job.harvest.clone().unwrap_or_default();
        let approved = job.capture.as_ref().map(|capture| capture.tree.clone()).unwrap_or_default();
        let change = match JobChange::read(&vault, &harvest, &approved) {
            Ok(change) => change,
            Err(error) => {
                let why = "what the fix changed cannot be read".to_owned();
                return self.writer.record(LearnStep::Stalled { why, status: format!("{error:#}") });
            }
        };
        let key = harvest.key.clone().unwrap_or_default();
        let lab = match TrialLab::open(request, scenario, &key, (self.level, self.is_idle), &options) {
            Ok(lab) => lab,
            Err(error) => return self.fail(TrialFailureCause::LabUnsuitable, format!("{error:#}")),
        };
        let trial = JobTrial { vault, change, lab };
        match self.run_trials(&trial, &harvest, scenario) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => return self.fail(TrialFailureCause::LabUnsuitable, format!("{error:#}")),
        }
        let origin = self.failure_origin(&harvest)?;
        let reduced = ChangeReduction::new(request, &trial, &mut self.writer, self.until, origin).reduce(scenario);
        let kept = reduced.and_then(|minimal| {
            keep_proof(request, &trial.vault, &self.writer.job, &minimal)?;
            Ok(minimal)
        });
        match kept {
            Ok(minimal) => self.writer.record(LearnStep::Minimised(Box::new(minimal)))?,
            Err(error) => return self.fail(TrialFailureCause::LabUnsuitable, format!("{error:#}")),
        }
        PageWriter { request, index: self.index, segments: &self.segments }.write(&trial, &mut self.writer)
    }

    fn failure_origin(&self, harvest: &HarvestRecord) -> anyhow::Result<FailureOrigin> {
        let read = |run: Option<RunId>| match run {
            Some(run) => self.index.read_run(&self.segments, &run.to_string()),
            None => Ok(None),
        };
        let is_of_task = read(harvest.runs.base)?.is_some_and(|run| run.task == harvest.task);
        Ok(FailureOrigin { is_of_task, commit: read(harvest.runs.before)?.and_then(|run| run.commit) })
    }

    fn fail(&mut self, cause: TrialFailureCause, why: String) -> anyhow::Result<()> {
        self.writer.record(LearnStep::Failed { cause, why })
    }

    /// Runs both trees until there is a verdict; whether there is proof.
    fn run_trials(
        &mut self,
        trial: &JobTrial<'_>,
        harvest: &HarvestRecord,
        scenario: &ScenarioRecord,
    ) -> anyhow::Result<bool> {
        let weakened = find_weakened(trial, harvest)?;
        let expected = without_uninformative(&harvest.fixed);
        let has_recorded_failure = harvest.runs.before.is_some() && !harvest.fixed.is_empty();
        let budget = usize::try_from(self.request.settings().learn.validation_runs).unwrap_or(usize::MAX);
        loop {
            let job = &self.writer.job;
            let facts = TrialFacts {
                expected: &expected,
                tests_recorded: scenario.tests_min,
                is_tested_tree: harvest.trees.pass.as_deref() == Some(trial.change.after.as_str()),
                changes_tests: !trial.change.tests.is_empty(),
                changes_sources: !trial.change.sources.is_empty(),
                weakened: weakened.as_deref(),
                left_out: job.capture.as_ref().map_or(0, |capture| capture.left_out),
                has_recorded_failure,
            };
            match next_trial(&facts, job.current_trials()) {
                TrialStep::Run(purpose) => {
                    if job.current_trials().len() >= budget || Instant::now() >= self.until {
                        let why = "the runs or the time of a job are used up (settings learn.validation_runs, \
                                   learn.job_minutes)";
                        self.fail(TrialFailureCause::TimedOut, why.to_owned())?;
                        return Ok(false);
                    }
                    let tree = trial.change.tree_for(purpose, has_recorded_failure, &trial.vault, trial.lab.lab())?;
                    self.run_trial(trial, purpose, &tree)?;
                }
                TrialStep::Judged(judgement) => {
                    let (evidence, notes) = (judgement.evidence, judgement.notes.clone());
                    self.writer.record(LearnStep::Judged(Box::new(judgement)))?;
                    if evidence == EvidenceLabel::Proven {
                        return Ok(true);
                    }
                    let why = notes.into_iter().next().unwrap_or_else(|| "the failure could not be shown".to_owned());
                    self.writer.record(LearnStep::NoArtifact { rule: NoPageRule::NotShown, why })?;
                    return Ok(false);
                }
                TrialStep::Failed { cause, why } => {
                    self.fail(cause, why)?;
                    return Ok(false);
                }
            }
        }
    }

    fn run_trial(&mut self, trial: &JobTrial<'_>, purpose: TrialPurpose, tree: &TrialTree) -> anyhow::Result<()> {
        let number = self.writer.job.trials.len() as u64;
        let ran = trial.lab.run(number, purpose, tree, None)?;
        self.writer.record(LearnStep::Trial(Box::new(ran)))
    }
}

/// What the fix is said to have fixed, without what only says that the check failed: that is another text on every way of
/// running it.
fn without_uninformative(fixed: &AtomList) -> AtomList {
    let names_problem = |atom: &&Atom| atom.test.is_some() || !atom.text.ends_with(NAMES_NO_PROBLEM);
    AtomList { count: fixed.count, first: fixed.first.iter().filter(names_problem).cloned().collect() }
}

/// How the change makes the check weaker for certain, if it does.
fn find_weakened(trial: &JobTrial<'_>, harvest: &HarvestRecord) -> anyhow::Result<Option<String>> {
    let diff = trial
        .vault
        .diff_text(&trial.change.before, &trial.change.after, CONTEXT_LINES)
        .map_err(|skipped| anyhow::anyhow!("{skipped}"))
        .with_context(|| format!("cannot read what {} changed", harvest.task))?;
    let found = weakened::detect(&Patch::parse(&diff), None);
    let is_certain = |mark: &&weakened::WeakenedCheck| mark.severity == weakened::RuleSeverity::Certain;
    let mark =
        found.marks.iter().filter(is_certain).find(|mark| mark.decides() && mark.concerns(trial.lab.check_kind()));
    Ok(mark.map(|mark| format!("this {} ({})", mark.message, mark.place())))
}
