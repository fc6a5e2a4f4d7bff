//! The smallest part of a proven change: subsets of its edits are run until none of those that are left can go, and the
//! result is run under other circumstances.

use std::collections::BTreeMap;
use std::time::Instant;

use super::job_change::{FileSet, TrialTree, read_versions, tree_with_files};
use super::job_trial::JobTrial;
use super::job_writer::JobWriter;
use crate::event::{LearnStep, MinimalChange, ScenarioRecord, TrialOutcome, TrialPurpose, TrialRecord};
use crate::learn::minimal::{
    ChangeUnit, FileVersions, Reduction, ReductionAnswer, UNITS_MAX, apply_units, cut_elsewhere, reduce_units,
    remove_single_units, split_change,
};
use crate::learn::trial::{Perturbation, is_undo, perturbations_of};
use crate::ops::request::Request;

/// Since when the failure of a job was there.
#[derive(Debug, Clone, Default)]
pub(super) struct FailureOrigin {
    /// The check passed in the same task before.
    pub is_of_task: bool,
    /// The commit that was checked out when it failed.
    pub commit: Option<String>,
}

/// The search for the smallest change of one job.
pub(super) struct ChangeReduction<'a, 'b> {
    request: &'a Request,
    trial: &'a JobTrial<'a>,
    writer: &'a mut JobWriter<'b>,
    until: Instant,
    origin: FailureOrigin,
    runs: u64,
    /// Runs of the result that an interrupted runner has recorded, each to be taken once.
    recorded: Vec<TrialRecord>,
}

impl<'a, 'b> ChangeReduction<'a, 'b> {
    /// Of a job that is proven.
    pub(super) fn new(
        request: &'a Request,
        trial: &'a JobTrial<'a>,
        writer: &'a mut JobWriter<'b>,
        until: Instant,
        origin: FailureOrigin,
    ) -> Self {
        let (searched, others): (Vec<TrialRecord>, Vec<TrialRecord>) =
            writer.job.current_trials().iter().cloned().partition(|ran| ran.purpose == TrialPurpose::Reduced);
        ChangeReduction { request, trial, writer, until, origin, runs: searched.len() as u64, recorded: others }
    }

    /// Looks for it, confirms it, and perturbs it.
    ///
    /// # Errors
    /// When a tree can't be written or checked out, or a command not started.
    pub(super) fn reduce(mut self, scenario: &ScenarioRecord) -> anyhow::Result<MinimalChange> {
        let trial = self.trial;
        let sources = &trial.change.sources;
        let mut units = split_change(sources);
        let before = trial.change.failing_tree(&trial.vault, trial.lab.lab())?;
        let mut why = None;
        let mut reduction = Reduction { kept: (0..units.len()).collect(), is_minimal: units.len() <= 1 };
        if units.len() > UNITS_MAX {
            why = Some(format!("not reduced: it has more than {UNITS_MAX} edits"));
        } else if units.len() > 1 {
            let order = self.order_units(&units);
            reduction = self.search(&units, |ask| reduce_units(&order, ask))?;
            while reduction.is_minimal && self.cut_elsewhere(&mut units, &mut reduction)? {
                // With less beside it, another edit may have become one that can go.
                let kept = reduction.kept.clone();
                reduction = self.search(&units, |ask| remove_single_units(kept, ask))?;
            }
            if !reduction.is_minimal {
                why = Some("not reduced to the end: its runs or its time were used up".to_owned());
            }
        }
        let mut tree = self.tree_of(&units, &reduction.kept)?;
        if reduction.kept.len() < units.len() && !self.passes(TrialPurpose::Confirmed, &tree, None)? {
            // It passed once: what it depends on is not in the change.
            why = Some("not reduced: the smallest change passed once and then failed".to_owned());
            reduction = Reduction { kept: (0..units.len()).collect(), is_minimal: false };
            tree = self.tree_of(&units, &reduction.kept)?;
        }
        let kept: Vec<&ChangeUnit> = reduction.kept.iter().map(|&at| &units[at]).collect();
        let mut minimal = MinimalChange {
            units: units.len() as u64,
            kept: kept.len() as u64,
            runs: self.runs,
            is_minimal: reduction.is_minimal,
            why,
            before: before.id,
            is_undo: self.is_undo(sources, &kept)?,
            ..MinimalChange::default()
        };
        if !minimal.is_undo {
            self.perturb(scenario, &tree, &mut minimal)?;
        }
        minimal.tree = tree.id;
        Ok(minimal)
    }

    /// Reduces with runs as the answers.
    fn search(
        &mut self,
        units: &[ChangeUnit],
        reduce: impl FnOnce(&mut dyn FnMut(&[usize]) -> ReductionAnswer) -> Reduction,
    ) -> anyhow::Result<Reduction> {
        let mut trouble = None;
        let reduction = reduce(&mut |subset| {
            if trouble.is_some() {
                return ReductionAnswer::BudgetOver;
            }
            self.ask(units, subset).unwrap_or_else(|error| {
                trouble = Some(error);
                ReductionAnswer::BudgetOver
            })
        });
        trouble.map_or(Ok(reduction), Err)
    }

    /// Cuts neighbouring edits that are both needed at another place, and tries to leave out one of them. Whether one
    /// was left out.
    fn cut_elsewhere(&mut self, units: &mut [ChangeUnit], reduction: &mut Reduction) -> anyhow::Result<bool> {
        let kept = reduction.kept.len();
        for at in 1..units.len() {
            let (first, second) = (&units[at - 1], &units[at]);
            let is_pair = first.path == second.path && [at - 1, at].iter().all(|it| reduction.kept.contains(it));
            let versions = self.trial.change.sources.get(&first.path).filter(|_| is_pair);
            let Some(cut) = versions.and_then(|versions| cut_elsewhere(versions, first, second)) else { continue };
            let before = (first.clone(), second.clone());
            (units[at - 1], units[at]) = cut;
            let mut is_smaller = false;
            for left_out in [at - 1, at] {
                let rest: Vec<usize> = reduction.kept.iter().copied().filter(|it| *it != left_out).collect();
                match self.ask(units, &rest)? {
                    ReductionAnswer::Works => {
                        (reduction.kept, is_smaller) = (rest, true);
                        break;
                    }
                    ReductionAnswer::Fails => {}
                    ReductionAnswer::BudgetOver => reduction.is_minimal = false,
                }
            }
            if !is_smaller {
                (units[at - 1], units[at]) = before;
            }
        }
        Ok(reduction.kept.len() < kept)
    }

    /// Edits of files that no failure names come first: they are the ones that are needed least.
    fn order_units(&self, units: &[ChangeUnit]) -> Vec<usize> {
        let fixed = self.writer.job.judgement.as_ref().map(|it| it.fixed.first.clone()).unwrap_or_default();
        let is_named = |unit: &ChangeUnit| fixed.iter().any(|atom| atom.file.as_deref() == Some(unit.path.as_str()));
        let mut order: Vec<usize> = (0..units.len()).collect();
        order.sort_by_key(|&at| is_named(&units[at]));
        order
    }

    fn ask(&mut self, units: &[ChangeUnit], subset: &[usize]) -> anyhow::Result<ReductionAnswer> {
        let tree = self.tree_of(units, subset)?;
        let command = self.trial.lab.command_digest(None);
        let known = self.writer.job.find_trial(&tree.id, &command).map(|known| self.works(known));
        let works = match known {
            Some(works) => works,
            None if self.runs >= self.request.settings().learn.minimise_runs || Instant::now() >= self.until => {
                return Ok(ReductionAnswer::BudgetOver);
            }
            None => self.passes(TrialPurpose::Reduced, &tree, None)?,
        };
        Ok(if works { ReductionAnswer::Works } else { ReductionAnswer::Fails })
    }

    /// Whether a run shows that the change still does its work: everything passes, and no test is gone.
    fn works(&self, ran: &TrialRecord) -> bool {
        let good = self.writer.job.current_trials().iter().find(|trial| trial.purpose == TrialPurpose::KnownGood);
        let tests = good.and_then(|good| good.tests);
        ran.outcome == TrialOutcome::Passed && tests.is_none_or(|tests| ran.tests.is_none_or(|ran| ran >= tests))
    }

    fn passes(
        &mut self,
        purpose: TrialPurpose,
        tree: &TrialTree,
        perturbation: Option<&Perturbation>,
    ) -> anyhow::Result<bool> {
        self.runs += 1;
        if let Some(ran) = self.take_recorded(purpose, tree, perturbation) {
            return Ok(self.works(&ran));
        }
        let number = self.writer.job.trials.len() as u64;
        let ran = self.trial.lab.run(number, purpose, tree, perturbation)?;
        let works = self.works(&ran);
        self.writer.record(LearnStep::Trial(Box::new(ran)))?;
        Ok(works)
    }

    /// The same run for the same purpose, if an interrupted runner has recorded it.
    fn take_recorded(
        &mut self,
        purpose: TrialPurpose,
        tree: &TrialTree,
        perturbation: Option<&Perturbation>,
    ) -> Option<TrialRecord> {
        let command = self.trial.lab.command_digest(perturbation);
        let is_same = |ran: &TrialRecord| ran.purpose == purpose && ran.tree == tree.id && ran.command == command;
        let at = self.recorded.iter().position(is_same)?;
        Some(self.recorded.remove(at))
    }

    /// The failing tree with the tests of the change and some of its edits.
    fn tree_of(&self, units: &[ChangeUnit], subset: &[usize]) -> anyhow::Result<TrialTree> {
        let change = &self.trial.change;
        let picked: Vec<&ChangeUnit> = subset.iter().map(|&at| &units[at]).collect();
        let mut files: FileSet = apply_units(&change.sources, &picked);
        files.retain(|path, file| change.sources.get(path).is_some_and(|versions| &versions.before != file));
        files.extend(change.tests_after());
        tree_with_files(&self.trial.vault, self.trial.lab.lab(), &change.before, &files)
    }

    /// Whether the edits only revert a slip of the same task. What was committed since another task is old code, and its
    /// correction is none.
    fn is_undo(&self, sources: &BTreeMap<String, FileVersions>, kept: &[&ChangeUnit]) -> anyhow::Result<bool> {
        let base = self.writer.job.harvest.as_ref().and_then(|harvest| harvest.trees.base.clone());
        let Some(base) = base else { return Ok(false) };
        let cause = read_versions(&self.trial.vault, &base, &self.trial.change.before)?;
        if !is_undo(sources, kept, &cause) {
            return Ok(false);
        }
        let commit = self.origin.commit.as_ref().filter(|_| !self.origin.is_of_task);
        // A commit that is gone proves nothing.
        let committed = commit.and_then(|commit| read_versions(&self.trial.vault, &base, commit).ok());
        Ok(!committed.is_some_and(|committed| is_undo(sources, kept, &committed)))
    }

    /// Runs the result again and under other circumstances. What breaks is named; nothing is dropped for it.
    fn perturb(
        &mut self,
        scenario: &ScenarioRecord,
        tree: &TrialTree,
        minimal: &mut MinimalChange,
    ) -> anyhow::Result<()> {
        for perturbation in perturbations_of(&scenario.entrypoint.argv) {
            if Instant::now() >= self.until {
                break;
            }
            minimal.perturbed += 1;
            if self.passes(TrialPurpose::Perturbed, tree, Some(&perturbation))? {
                minimal.robust += 1;
            } else {
                minimal.breaks_under.push(perturbation.name);
            }
        }
        Ok(())
    }
}
