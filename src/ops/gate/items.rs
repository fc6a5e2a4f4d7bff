//! Measures and judges the items of an evaluation, and applies waivers.

use std::time::Duration;

use super::change::{Change, JudgedChange};
use super::isolated::GateLab;
use super::jobs::{ItemJob, ItemWork};
use super::measurement::Measurement;
use super::memory::{AskedMemory, MemorySearch};
use super::run::Evaluation;
use crate::config::HeadingLanguage;
use crate::event::{GateItem, GateItemStatus, GateStart};
use crate::fix::find_tool;
use crate::fix::snapshot::TakenSnapshot;
use crate::gate::cycle::WorkTreeGate;
use crate::gate::judge::{ItemEvidence, JudgedItems, judge_item};
use crate::gate::plan::{PlannedItem, PlannedPolicy, plan_items};
use crate::gate::policy::{ChangeKind, ChecklistItem, english_heading};
use crate::gate::report::is_blocking_failure;
use crate::gate::stack::{StackProject, find_projects, judged_projects};

/// What measuring the items needs.
pub(super) struct ItemPreparation<'a> {
    measurement: Measurement<'a>,
    projects: Vec<StackProject>,
    planned: Vec<PlannedItem>,
    kind: ChangeKind,
    change_kind: &'a str,
    judged: &'a TakenSnapshot,
}

impl<'a> ItemPreparation<'a> {
    /// What every measurement works with.
    pub(super) fn measurement(&self) -> &Measurement<'a> {
        &self.measurement
    }

    /// The change.
    pub(super) fn change(&self) -> &'a Change {
        self.measurement.change
    }

    /// The projects that the change is judged in.
    pub(super) fn projects(&self) -> &[StackProject] {
        &self.projects
    }
}

impl Evaluation<'_> {
    /// Everything that measuring the items needs.
    pub(super) fn prepare_items<'a>(
        &'a self,
        judged: JudgedChange<'a>,
        kind: ChangeKind,
        start: &'a GateStart,
        lab: Option<&'a GateLab>,
        memory: Option<MemorySearch>,
    ) -> ItemPreparation<'a> {
        let JudgedChange { change, projects, tree } = judged;
        let limit = Duration::from_secs(self.request.settings().gate.command_minutes * 60);
        let mut measurement =
            Measurement::new(self.request, change, &self.id, &start.feature, limit, !self.options.is_fresh, lab);
        measurement.memory = AskedMemory::new(memory);
        let planned = self.plan_items(&projects, kind);
        ItemPreparation { measurement, projects, planned, kind, change_kind: &start.change_kind, judged: tree }
    }

    /// Judges the items, with the waivers of `gate`. `tree` becomes the tree that the last command left. Commands run one
    /// after the other, while what needs none is measured beside them; with `--fail-fast` item after item.
    pub(super) fn measure_items(
        &self,
        preparation: &ItemPreparation<'_>,
        gate: &WorkTreeGate,
        tree: &mut String,
    ) -> anyhow::Result<JudgedItems> {
        let ItemPreparation { measurement, projects, judged, .. } = preparation;
        let wanted: Vec<(&ChecklistItem, String)> = self.wanted_items();
        let jobs: Vec<Vec<ItemJob<'_>>> = wanted.iter().map(|(item, _)| self.jobs_of(item, preparation)).collect();
        let work = ItemWork { evaluation: self, measurement, projects };
        let mut measure = |jobs: &[&ItemJob<'_>]| work.measure_jobs(jobs, judged, tree);
        let mut tree_after = None;
        let mut measured = Vec::new().into_iter();
        if !self.options.fails_fast {
            let (evidence, after) = measure(&jobs.iter().flatten().collect::<Vec<_>>())?;
            (measured, tree_after) = (evidence.into_iter(), Some(after));
        }
        let mut items: Vec<GateItem> = Vec::new();
        let mut stopped_by: Option<String> = None;
        for ((item, heading), jobs) in wanted.iter().zip(&jobs) {
            let mut own: Vec<ItemEvidence> = measured.by_ref().take(jobs.len()).collect();
            if let Some(first) = &stopped_by {
                let reason = format!("{first} does not pass, and --fail-fast stops there");
                own = jobs.iter().map(|job| job.not_measured(&reason)).collect();
            } else if self.options.fails_fast {
                let (evidence, after) = measure(&jobs.iter().collect::<Vec<_>>())?;
                (own, tree_after) = (evidence, Some(after));
            }
            let mut judged = judge_item(item, heading, own);
            self.apply_waivers(&mut judged, gate);
            if self.options.fails_fast && stopped_by.is_none() && is_blocking_failure(&judged) {
                stopped_by = Some(judged.id.clone());
            }
            items.push(judged);
        }
        Ok(JudgedItems { items, tree_after: tree_after.unwrap_or_else(|| tree.clone()) })
    }

    /// The items that are evaluated, in their order, each with the heading of its category.
    fn wanted_items(&self) -> Vec<(&ChecklistItem, String)> {
        let language = self.request.settings().gate.headings;
        let mut wanted = Vec::new();
        for category in &self.policy.checklist.categories {
            let heading = category.title.clone().unwrap_or_else(|| category_heading(&category.key, language));
            let items = category.items.iter().filter(|item| self.is_wanted(&item.id));
            wanted.extend(items.map(|item| (item, heading.clone())));
        }
        wanted
    }

    fn jobs_of<'a>(&self, item: &'a ChecklistItem, preparation: &'a ItemPreparation<'_>) -> Vec<ItemJob<'a>> {
        let ItemPreparation { planned, kind, change_kind, .. } = preparation;
        let stated = item.not_applicable.as_ref().map(|stated| stated.reason.clone());
        let reason = stated.or_else(|| not_applicable_by_kind(item, *kind, change_kind));
        let planned = planned.iter().filter(|planned| planned.item == item.id);
        planned.map(|planned| ItemJob { item, planned, is_left_out: reason.clone() }).collect()
    }

    fn is_wanted(&self, id: &String) -> bool {
        self.options.only.is_empty() || self.options.only.contains(id)
    }

    fn plan_items(&self, projects: &[StackProject], kind: ChangeKind) -> Vec<PlannedItem> {
        let root = &self.request.places.root;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let find = |name: &str, dir: &str| find_tool(name, &root.join(dir), root, &path);
        let [checklist_origin, mapping_origin] = &self.origins;
        let policy = PlannedPolicy {
            checklist: &self.policy.checklist,
            checklist_origin,
            mapping: &self.policy.mapping,
            mapping_origin,
        };
        plan_items(policy, projects, Some(kind), &find)
    }

    /// The projects that the change is judged in.
    pub(super) fn judged_projects(&self, change: &Change) -> Vec<StackProject> {
        let projects = find_projects(&change.paths, &self.policy.mapping);
        let changed: Vec<String> = change.files.iter().map(|file| file.path.clone()).collect();
        if !projects.is_empty() {
            return judged_projects(projects, &changed);
        }
        // Nothing is recognised: whoever knows better says what it is.
        let written = self.prp.as_ref().and_then(|prp| prp.prp.front_matter.stack.as_deref());
        let named = written.map(|stack| (stack, "the PRP"));
        let named =
            named.or(self.request.settings().gate.stack.as_deref().map(|stack| (stack, "the setting gate.stack")));
        let known = named.filter(|(stack, _)| self.policy.mapping.stack(stack).is_some());
        known
            .map(|(stack, by)| StackProject { dir: String::new(), stack: stack.to_owned(), marker: by.to_owned() })
            .into_iter()
            .collect()
    }

    fn apply_waivers(&self, item: &mut GateItem, gate: &WorkTreeGate) {
        let now = self.request.now();
        if !matches!(item.status, GateItemStatus::Fail | GateItemStatus::NotEvaluated) {
            return;
        }
        for (person, waiver) in gate.waivers.iter().filter(|(_, it)| it.item == item.id && it.until > now) {
            let covers = |path: &Option<String>| {
                waiver
                    .file
                    .as_ref()
                    .is_none_or(|glob| path.as_ref().is_some_and(|path| crate::base::glob::matches(glob, path)))
            };
            let is_covered = item.findings.iter().all(|finding| covers(&finding.path));
            if is_covered && (waiver.file.is_none() || !item.findings.is_empty()) {
                item.status = GateItemStatus::Waived;
                item.reason = Some(format!("{} ({person}, until {})", waiver.reason, waiver.until.rfc3339()));
            }
        }
    }
}

/// The heading of a category without a title; in Portuguese that of Appendix A of the specification.
fn category_heading(key: &str, language: HeadingLanguage) -> String {
    let heading = match (english_heading(key), language) {
        (Some(heading), HeadingLanguage::En) => heading,
        (Some("Functionality"), _) => "Funcionalidade",
        (Some("Code quality"), _) => "Qualidade de Código",
        (Some("Documentation"), _) => "Documentação",
        _ => key,
    };
    heading.to_owned()
}

fn not_applicable_by_kind(item: &ChecklistItem, kind: ChangeKind, said: &str) -> Option<String> {
    if item.applies_to.is_empty() || item.applies_to.contains(&kind) {
        return None;
    }
    let kinds: Vec<&str> = item.applies_to.iter().map(|kind| kind.name()).collect();
    Some(format!("the change is a {said}; this is for {}", kinds.join(", ")))
}
