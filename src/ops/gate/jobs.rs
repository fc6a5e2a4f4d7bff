//! Measures the items of an evaluation: commands one after the other, everything else beside them.

use std::thread;

use super::change::{describe_difference, gate_snapshot_options, read_tree};
use super::criteria::{CriteriaContext, measure_criteria};
use super::documents::DocumentContext;
use super::measurement::Measurement;
use super::run::Evaluation;
use crate::base::threads::joined;
use crate::fix::snapshot::TakenSnapshot;
use crate::gate::judge::ItemEvidence;
use crate::gate::plan::{PlannedItem, PlannedSource};
use crate::gate::policy::{ChecklistItem, CommandSpec, ItemSource, MappedCommand, Method, Metric};
use crate::gate::stack::StackProject;
use crate::whitelist::CheckKind;

/// An item in a project, or in the whole work tree.
pub(super) struct ItemJob<'a> {
    /// The item.
    pub item: &'a ChecklistItem,
    /// What would measure it.
    pub planned: &'a PlannedItem,
    /// Why it is not measured: the item is not for this kind of change, or a person says that it does not apply.
    pub is_left_out: Option<String>,
}

impl ItemJob<'_> {
    /// The evidence of a job that is not done, because of what `reason` says.
    pub(super) fn not_measured(&self, reason: &str) -> ItemEvidence {
        match &self.is_left_out {
            Some(left_out) => ItemEvidence::without_application(left_out),
            None => ItemEvidence::unknown(self.item, reason),
        }
    }
}

/// What the jobs of an evaluation are done with.
#[derive(Clone, Copy)]
pub(super) struct ItemWork<'a> {
    /// The evaluation.
    pub evaluation: &'a Evaluation<'a>,
    /// What is measured with.
    pub measurement: &'a Measurement<'a>,
    /// The projects that the change touches.
    pub projects: &'a [StackProject],
}

impl ItemWork<'_> {
    /// The evidence of each job, and the tree after the last command. `tree` becomes the one that the commands left.
    pub(super) fn measure_jobs(
        self,
        jobs: &[&ItemJob<'_>],
        judged: &TakenSnapshot,
        tree: &mut String,
    ) -> anyhow::Result<(Vec<ItemEvidence>, String)> {
        let needs_command: Vec<bool> =
            jobs.iter().map(|job| job.is_left_out.is_none() && self.needs_command(job)).collect();
        let with_commands = || jobs.iter().zip(&needs_command).filter(|(_, needs)| **needs).map(|(job, _)| *job);
        let (beside, ran) = thread::scope(|scope| {
            let beside = scope.spawn(|| -> Vec<Option<ItemEvidence>> {
                self.prepare_commands(with_commands());
                jobs.iter().zip(&needs_command).map(|(job, needs)| (!needs).then(|| self.measure_job(job))).collect()
            });
            let ran = self.run_commands(jobs, judged, tree, &needs_command);
            (joined(beside), ran)
        });
        let (ran, after) = ran?;
        let has_many = |item: &ChecklistItem| jobs.iter().filter(|job| job.item.id == item.id).count() > 1;
        let evidence = jobs.iter().zip(ran.into_iter().zip(beside)).map(|(job, (ran, measured))| {
            let dir = job.planned.dir.as_deref().filter(|_| has_many(job.item));
            let project = dir.map(|dir| if dir.is_empty() { ".".to_owned() } else { dir.to_owned() });
            ItemEvidence { project, ..ran.or(measured).unwrap_or_default() }
        });
        Ok((evidence.collect(), after))
    }

    /// Finds out, while the first command runs, what is asked after it.
    fn prepare_commands<'j>(self, jobs: impl Iterator<Item = &'j ItemJob<'j>>) {
        let mut jobs = jobs.peekable();
        if jobs.peek().is_some() {
            self.measurement.weakened();
        }
        let has_criteria = self.evaluation.prp.as_ref().is_some_and(|loaded| !loaded.prp.criteria.is_empty());
        if has_criteria && jobs.any(|job| matches!(job.item.source, ItemSource::Method(Method::ParsePrpAndVerify))) {
            // The job says what went wrong.
            let _ = self.measurement.tests_of(self.projects);
        }
    }

    /// Does the jobs that need commands, in their order, and looks at the tree after the last one.
    fn run_commands(
        self,
        jobs: &[&ItemJob<'_>],
        judged: &TakenSnapshot,
        tree: &mut String,
        needs_command: &[bool],
    ) -> anyhow::Result<(Vec<Option<ItemEvidence>>, String)> {
        let Measurement { request, watch, reuses, lab, .. } = self.measurement;
        watch.begin(judged);
        if *reuses && needs_command.contains(&true) {
            watch.open_receipts(request);
        }
        let measure = |(&job, &needs): (_, &bool)| needs.then(|| self.measure_and_look(job, tree)).transpose();
        let evidence = jobs.iter().zip(needs_command).map(measure).collect::<anyhow::Result<Vec<_>>>()?;
        let is_partial = !self.evaluation.options.only.is_empty();
        // What ran on a copy is no evidence about what was edited meanwhile: the verdict is about the copy.
        let after = if is_partial || lab.is_some() || watch.is_known() {
            tree.clone()
        } else {
            read_tree(request, &gate_snapshot_options(request))?.tree
        };
        Ok((evidence, after))
    }

    /// Whether a job may start a program. What it says of a job that starts none only costs time.
    fn needs_command(self, job: &ItemJob<'_>) -> bool {
        let has_program = matches!(&job.planned.source, PlannedSource::Command { program: Some(_), .. });
        match &job.item.source {
            ItemSource::Method(Method::ParsePrpAndVerify) => true,
            ItemSource::Method(Method::ValidateOpenapi) => !self.document_context().openapi_documents().is_empty(),
            ItemSource::Method(_) => false,
            ItemSource::Mapped(MappedCommand::Duplication) => false,
            ItemSource::Mapped(MappedCommand::Complexity) => has_program,
            ItemSource::Mapped(_) | ItemSource::Command { .. } => true,
        }
    }

    /// Measures a job with commands, and whether they changed the tree.
    fn measure_and_look(self, job: &ItemJob<'_>, tree: &mut String) -> anyhow::Result<ItemEvidence> {
        let request = self.measurement.request;
        let mut evidence = self.measure_job(job);
        let watch = &self.measurement.watch;
        let changed = match self.measurement.lab {
            Some(lab) => lab.take_changes(),
            None if watch.is_in_doubt() => match watch.look(request, tree)? {
                Some(before) => Some(describe_difference(request, &before, tree)?),
                None => None,
            },
            None => None,
        };
        let is_untouched = changed.is_none() && watch.is_untouched();
        self.measurement.outputs.settle(request, &self.measurement.change.tree, is_untouched);
        if let Some(changed) = changed {
            let commands = std::mem::take(&mut evidence.commands);
            let reason = format!("the command changed {changed}");
            evidence = ItemEvidence { commands, ..ItemEvidence::unknown(job.item, reason) };
        }
        Ok(evidence)
    }

    fn measure_job(self, job: &ItemJob<'_>) -> ItemEvidence {
        if let Some(reason) = &job.is_left_out {
            return ItemEvidence::without_application(reason);
        }
        let mut evidence = match &job.item.source {
            ItemSource::Method(method) => self.measure_method(job.item, *method),
            ItemSource::Command { .. } => self.measurement.measure_command(job.item, None, job.planned, &[]),
            ItemSource::Mapped(mapped) => self.measure_mapped(job.item, *mapped, job.planned),
        };
        let asks_for_weakened = job.item.expression.metrics().contains(&Metric::Weakened);
        if asks_for_weakened && !evidence.values.contains_key(&Metric::Weakened) {
            self.measurement.add_weakened(&mut evidence, CheckKind::Lint);
        }
        evidence
    }

    fn measure_method(self, item: &ChecklistItem, method: Method) -> ItemEvidence {
        let ItemWork { evaluation, measurement, projects } = self;
        match method {
            Method::ParsePrpAndVerify => {
                let context = CriteriaContext {
                    prp: evaluation.prp.as_ref(),
                    last_prp: evaluation.last_prp.as_deref(),
                    has_no_prp: evaluation.options.has_no_prp,
                    file: evaluation.policy.criteria_file.as_ref(),
                    projects,
                };
                measure_criteria(measurement, item, &context)
            }
            Method::CheckComplexityComments => measurement.measure_comments(item, projects),
            Method::GrepReadme | Method::CheckDocsAdr | Method::ValidateOpenapi | Method::GrepChangelog => {
                let context = self.document_context();
                let evidence = context.measure_documents(item, method);
                if method == Method::ValidateOpenapi {
                    return measurement.add_openapi_tool(evidence, &context.openapi_documents());
                }
                evidence
            }
        }
    }

    fn document_context(&self) -> DocumentContext<'_> {
        let ItemWork { evaluation, measurement, projects } = *self;
        DocumentContext {
            request: measurement.request,
            change: measurement.change,
            places: &evaluation.policy.mapping.documents,
            projects,
            prp: evaluation.prp.as_ref(),
            feature: measurement.feature,
        }
    }

    fn measure_mapped(self, item: &ChecklistItem, mapped: MappedCommand, planned: &PlannedItem) -> ItemEvidence {
        let measurement = self.measurement;
        match (mapped, &planned.source) {
            (MappedCommand::Complexity, _) => measurement.measure_complexity(item, planned),
            (MappedCommand::Duplication, _) => measurement.measure_duplication(item, planned),
            (_, PlannedSource::Nothing) => ItemEvidence::unknown(item, planned.notes.join("; ")),
            (MappedCommand::Naming, _) => {
                let rules = self.rules_of(planned, mapped);
                measurement.measure_command(item, Some(mapped), planned, &rules)
            }
            _ => measurement.measure_command(item, Some(mapped), planned, &[]),
        }
    }

    /// The rules that count of a mapped command.
    fn rules_of(self, planned: &PlannedItem, mapped: MappedCommand) -> Vec<String> {
        let PlannedSource::Command { line, .. } = &planned.source else { return Vec::new() };
        let stack = planned.stack.as_deref().and_then(|stack| self.evaluation.policy.mapping.stack(stack));
        let specs = stack.map_or(&[][..], |stack| stack.specs(mapped));
        let rules = specs.iter().find_map(|spec| match spec {
            CommandSpec::Command { line: known, rules, .. } if known == line => Some(rules.clone()),
            _ => None,
        });
        rules.unwrap_or_default()
    }
}
