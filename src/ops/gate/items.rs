//! Measures and judges the items of an evaluation, and applies waivers.

use std::time::Duration;

use super::change::{Change, describe_difference, gate_snapshot_options, read_tree};
use super::criteria::{CriteriaContext, measure_criteria};
use super::documents::DocumentContext;
use super::evidence::Measurement;
use super::run::Evaluation;
use crate::config::HeadingLanguage;
use crate::event::{GateItem, GateItemStatus, GateStart};
use crate::fix::find_tool;
use crate::gate::cycle::WorkTreeGate;
use crate::gate::judge::{ItemEvidence, judge_item};
use crate::gate::plan::{PlannedItem, PlannedPolicy, PlannedSource, plan_items};
use crate::gate::policy::{ChangeKind, ChecklistItem, CommandSpec, ItemSource, MappedCommand, Method, english_heading};
use crate::gate::report::is_blocking_failure;
use crate::gate::stack::{StackProject, find_projects, judged_projects};

impl Evaluation<'_> {
    /// Judges the items one after the other, with the waivers of `gate`. `tree` becomes the tree after the last command.
    pub(super) fn measure_items(
        &self,
        change: &Change,
        kind: ChangeKind,
        start: &GateStart,
        (tree, gate): (&mut String, &WorkTreeGate),
    ) -> anyhow::Result<Vec<GateItem>> {
        let limit = Duration::from_secs(self.request.settings().gate.command_minutes * 60);
        let measurement =
            Measurement::new(self.request, change, &self.id, &start.feature, limit, !self.options.is_fresh);
        let projects = self.judged_projects(change);
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
        let planned = plan_items(policy, &projects, Some(kind), &find);
        let language = self.request.settings().gate.headings;
        let mut items: Vec<GateItem> = Vec::new();
        let mut stopped_by = None;
        for category in &self.policy.checklist.categories {
            let heading = category.title.clone().unwrap_or_else(|| category_heading(&category.key, language));
            for item in &category.items {
                if !self.options.only.is_empty() && !self.options.only.contains(&item.id) {
                    continue;
                }
                let evidence = match (not_applicable_by_kind(item, kind, &start.change_kind), &stopped_by) {
                    (Some(evidence), _) => vec![evidence],
                    (None, Some(first)) => {
                        vec![ItemEvidence::unknown(item, format!("{first} does not pass, and --fail-fast stops there"))]
                    }
                    (None, None) => self.gather_evidence(&measurement, item, (&planned, &projects), tree)?,
                };
                let mut judged = judge_item(item, &heading, evidence);
                self.apply_waivers(&mut judged, gate);
                if self.options.fails_fast && stopped_by.is_none() && is_blocking_failure(&judged) {
                    stopped_by = Some(judged.id.clone());
                }
                items.push(judged);
            }
        }
        Ok(items)
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

    fn gather_evidence(
        &self,
        measurement: &Measurement<'_>,
        item: &ChecklistItem,
        (planned, projects): (&[PlannedItem], &[StackProject]),
        tree: &mut String,
    ) -> anyhow::Result<Vec<ItemEvidence>> {
        let planned: Vec<&PlannedItem> = planned.iter().filter(|planned| planned.item == item.id).collect();
        let has_many = planned.len() > 1;
        let mut gathered = Vec::new();
        for planned in planned {
            let mut evidence = match &item.source {
                ItemSource::Method(method) => self.measure_method(measurement, item, *method, projects),
                ItemSource::Command { .. } => measurement.measure_command(item, None, planned, &[]),
                ItemSource::Mapped(mapped) => self.measure_mapped(measurement, item, *mapped, planned),
            };
            if !evidence.commands.is_empty() {
                let after = read_tree(self.request, &gate_snapshot_options(self.request))?.tree;
                if after != *tree {
                    let commands = std::mem::take(&mut evidence.commands);
                    let reason = format!("the command changed {}", describe_difference(self.request, tree, &after)?);
                    evidence = ItemEvidence { commands, ..ItemEvidence::unknown(item, reason) };
                    *tree = after;
                }
            }
            let dir = planned.dir.as_deref().filter(|_| has_many);
            evidence.project = dir.map(|dir| if dir.is_empty() { ".".to_owned() } else { dir.to_owned() });
            gathered.push(evidence);
        }
        Ok(gathered)
    }

    fn measure_method(
        &self,
        measurement: &Measurement<'_>,
        item: &ChecklistItem,
        method: Method,
        projects: &[StackProject],
    ) -> ItemEvidence {
        match method {
            Method::ParsePrpAndVerify => {
                let context = CriteriaContext {
                    prp: self.prp.as_ref(),
                    has_no_prp: self.options.has_no_prp,
                    file: self.policy.criteria_file.as_ref(),
                    projects,
                };
                measure_criteria(measurement, item, &context)
            }
            Method::CheckComplexityComments => measurement.measure_comments(item, projects),
            Method::GrepReadme | Method::CheckDocsAdr | Method::ValidateOpenapi | Method::GrepChangelog => {
                let context = DocumentContext {
                    request: self.request,
                    change: measurement.change,
                    places: &self.policy.mapping.documents,
                    projects,
                    prp: self.prp.as_ref(),
                    feature: measurement.feature,
                };
                let evidence = context.measure_documents(item, method);
                if method == Method::ValidateOpenapi {
                    return measurement.add_openapi_tool(evidence, &context.openapi_documents());
                }
                evidence
            }
        }
    }

    fn measure_mapped(
        &self,
        measurement: &Measurement<'_>,
        item: &ChecklistItem,
        mapped: MappedCommand,
        planned: &PlannedItem,
    ) -> ItemEvidence {
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
    fn rules_of(&self, planned: &PlannedItem, mapped: MappedCommand) -> Vec<String> {
        let PlannedSource::Command { line, .. } = &planned.source else { return Vec::new() };
        let stack = planned.stack.as_deref().and_then(|stack| self.policy.mapping.stack(stack));
        let specs = stack.map_or(&[][..], |stack| stack.specs(mapped));
        let rules = specs.iter().find_map(|spec| match spec {
            CommandSpec::Command { line: known, rules, .. } if known == line => Some(rules.clone()),
            _ => None,
        });
        rules.unwrap_or_default()
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

fn not_applicable_by_kind(item: &ChecklistItem, kind: ChangeKind, said: &str) -> Option<ItemEvidence> {
    if item.applies_to.is_empty() || item.applies_to.contains(&kind) {
        return None;
    }
    let kinds: Vec<&str> = item.applies_to.iter().map(|kind| kind.name()).collect();
    Some(ItemEvidence::without_application(format!("the change is a {said}; this is for {}", kinds.join(", "))))
}
