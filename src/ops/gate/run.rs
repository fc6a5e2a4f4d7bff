//! `gate run`: one evaluation, from the tree before the first command to the verdict after the last one.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;

use super::change::{Change, gate_snapshot_options, read_change, read_tree};
use super::criteria::{CriteriaContext, measure_criteria};
use super::documents::{DocumentContext, LoadedPrp};
use super::evidence::Measurement;
use super::memory::ask_memory;
use super::policy::{PolicyFile, PolicyFiles};
use super::trust::{UntrustedFile, policy_digest, review_trust};
use crate::base::file::create_private_dir;
use crate::base::ids::{self, IdKind};
use crate::base::lock::{self, Lock};
use crate::base::lossless::Lossless;
use crate::base::refusal::Refusal;
use crate::base::text;
use crate::capture::RepositoryHead;
use crate::event::{
    EventAuthor, EventBody, GateIssue, GateIssueKind, GateItem, GateItemStatus, GateMemory, GateNote, GateOutcome,
    GateStart, GateStep, GateVerdict,
};
use crate::fix::find_tool;
use crate::fix::snapshot::patch_between;
use crate::gate::cycle::{BreakerThresholds, CyclePhase, CycleState, GateCounts, WorkTreeGate};
use crate::gate::judge::{ItemEvidence, judge_item};
use crate::gate::plan::{PlannedItem, PlannedPolicy, PlannedSource, PolicyOrigin, plan_items};
use crate::gate::policy::{
    ChangeKind, Checklist, ChecklistItem, CommandSpec, ItemSource, MappedCommand, Method, english_heading, weaker_items,
};
use crate::gate::stack::{StackProject, find_projects, judged_projects};
use crate::ops::request::Request;
use crate::store::GateStepRow;

/// How long a second evaluation waits for the first one.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// How long one command may take.
const COMMAND_TIME: Duration = Duration::from_secs(15 * 60);
/// Changed files that an event names.
const FILES_MAX: usize = 200;

/// What to evaluate, and how.
#[derive(Debug, Clone, Default)]
pub(crate) struct EvaluationOptions {
    /// A checklist to use instead of the one that is looked up.
    pub checklist: Option<PathBuf>,
    /// A tools mapping to use instead.
    pub mapping: Option<PathBuf>,
    /// The PRP of the feature.
    pub prp: Option<PathBuf>,
    /// The change has no PRP.
    pub has_no_prp: bool,
    /// The feature's name.
    pub feature: Option<String>,
    /// The kind of the change.
    pub kind: Option<ChangeKind>,
    /// The revision that the change is compared with.
    pub base: Option<String>,
    /// Only these items; empty for all.
    pub only: Vec<String>,
    /// The caller says that the work is done.
    pub signals_exit: bool,
    /// Every command runs, whatever passed on this tree before.
    pub is_fresh: bool,
    /// The digest of policy files that the caller trusts.
    pub trusted_digest: Option<String>,
}

/// How an evaluation ended.
#[derive(Debug)]
pub(crate) enum EvaluationEnd {
    /// With a verdict, which is recorded.
    Judged(Box<GateStanding>),
    /// With the states of some items only: nothing is recorded.
    Partial(Vec<GateItem>),
    /// It did not begin: a person has to decide first.
    Stopped(Box<GateStanding>),
    /// It did not begin: commands of these files are not approved.
    Untrusted(Vec<UntrustedFile>),
}

/// The last evaluation of a work tree, in its cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GateStanding {
    /// The cycle; its last evaluation is the one that is meant.
    pub cycle: CycleState,
    /// Whether the checklist gives its categories titles.
    pub is_titled: bool,
}

/// An evaluation that is under way.
struct Evaluation<'a> {
    request: &'a Request,
    options: &'a EvaluationOptions,
    policy: PolicyFiles,
    origins: [PolicyOrigin; 2],
    prp: Option<LoadedPrp>,
    id: String,
    started: Instant,
}

/// The steps of the gate in this work tree, the oldest first.
///
/// # Errors
/// When the store can't be read.
pub(super) fn read_steps(request: &Request) -> anyhow::Result<Vec<GateStepRow>> {
    let index = request.open_as_it_is(&mut Vec::new())?;
    let root = Lossless::from(&request.places.root);
    Ok(index.map(|index| index.gate_steps(&root)).transpose()?.unwrap_or_default())
}

/// The state of the gate in this work tree.
///
/// # Errors
/// When the store can't be read.
pub(super) fn read_gate(request: &Request) -> anyhow::Result<WorkTreeGate> {
    Ok(WorkTreeGate::from_steps(&read_steps(request)?, BreakerThresholds::default()))
}

/// Records a step of the gate in this work tree.
///
/// # Errors
/// When the store can't be written.
pub(super) fn record_step(
    request: &Request,
    evaluation: &str,
    cycle: &str,
    step: GateStep,
    person: Option<String>,
) -> anyhow::Result<()> {
    let index = request.open_as_it_is(&mut Vec::new())?;
    let task = request.current_task(index.as_ref())?;
    drop(index);
    let by = EventAuthor { person, ..EventAuthor::from_identity(&request.identity, Some(&task)) };
    let (evaluation, cycle) = (evaluation.to_owned(), cycle.to_owned());
    let note = GateNote { work_tree: Lossless::from(&request.places.root), evaluation, cycle, step, by };
    request
        .open_store()
        .context("the gate's state cannot be recorded")?
        .record_event(EventBody::Gate(Box::new(note)))?;
    Ok(())
}

/// Evaluates the change of the work tree.
///
/// # Errors
/// When there is no verdict: a broken policy, a tree that cannot be read or that changed meanwhile, another evaluation, or
/// a store that cannot be written.
pub(crate) fn run_gate(request: &Request, options: &EvaluationOptions) -> anyhow::Result<EvaluationEnd> {
    let _lock = lock_gate(request)?;
    let prp_path = options.prp.as_ref().map(|path| request.cwd.join(path));
    let policy = PolicyFiles::load(
        &request.places,
        &request.environment,
        options.checklist.as_deref(),
        options.mapping.as_deref(),
        prp_path.as_deref(),
    )?;
    check_only(&policy.checklist, &options.only)?;
    let review = review_trust(&request.places, &request.environment, &policy)?;
    let is_pinned = options.trusted_digest.is_some() && options.trusted_digest == policy_digest(&policy);
    if !review.untrusted.is_empty() && !is_pinned {
        return Ok(EvaluationEnd::Untrusted(review.untrusted));
    }
    let origin = |file: &PolicyFile| PolicyOrigin { file: file.name.clone(), trusted: true };
    let origins = [origin(&policy.checklist_file), origin(&policy.mapping_file)];
    let id = ids::short(IdKind::Evaluation, uuid::Uuid::now_v7().as_bytes());
    let prp = options.prp.as_deref().map(|path| LoadedPrp::read(request, path)).transpose()?;
    Evaluation { request, options, policy, origins, prp, id, started: Instant::now() }.evaluate()
}

fn lock_gate(request: &Request) -> anyhow::Result<Lock> {
    let path = request.places.state.gate_lock(&request.places.root);
    if let Some(folder) = path.parent() {
        create_private_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let held = lock::exclusive(&path, LOCK_WAIT).with_context(|| format!("cannot lock {}", path.display()))?;
    held.context("another evaluation of this work tree is running")
}

fn check_only(checklist: &Checklist, only: &[String]) -> anyhow::Result<()> {
    let ids: Vec<&str> = checklist.items().map(|item| item.id.as_str()).collect();
    match only.iter().find(|id| !ids.contains(&id.as_str())) {
        Some(unknown) => {
            Err(Refusal::not_found(format!("the checklist has no item {unknown}: its items are {}", ids.join(", ")))
                .into())
        }
        None => Ok(()),
    }
}

impl Evaluation<'_> {
    fn evaluate(mut self) -> anyhow::Result<EvaluationEnd> {
        let snapshot_options = gate_snapshot_options(self.request);
        let before = read_tree(self.request, &snapshot_options)?;
        let base = self.options.base.as_deref().or_else(|| self.prp.as_ref()?.prp.front_matter.base.as_deref());
        let change = read_change(self.request, before.tree.clone(), base)?;
        let (kind, kind_source) = self.decide_kind();
        let mut start = GateStart {
            tree: change.tree.clone(),
            base: change.base.name.clone(),
            base_tree: Some(change.base.tree.clone()),
            policy: self.describe_policy(),
            feature: self.feature_name(),
            prp: self.prp.as_ref().map(|prp| prp.path.clone()),
            change_kind: format!("{} ({kind_source})", kind.name()),
            files: change.files.iter().map(|file| file.path.clone()).take(FILES_MAX).collect(),
            iteration: 0,
        };
        let is_whole = self.options.only.is_empty();
        let mut gate = read_gate(self.request)?;
        let index = self.request.open_as_it_is(&mut Vec::new())?;
        let task = self.request.current_task(index.as_ref())?;
        drop(index);
        gate.prepare(Some(&task), &start, &self.id);
        let cycle = gate.cycle().cloned().unwrap_or_default();
        if matches!(cycle.phase, CyclePhase::Escalated | CyclePhase::Halted) && is_whole {
            return Ok(EvaluationEnd::Stopped(Box::new(self.standing(cycle))));
        }
        start.iteration = cycle.iterations + 1;
        let mut issues = self.policy_issues(&change, &gate);
        if change.patch.cut > 0 {
            let message = "the change is too large to be read whole: judge it in parts, with --base".to_owned();
            issues.push(GateIssue { kind: GateIssueKind::Tree, message });
        }
        if is_whole {
            self.close_unfinished(&cycle)?;
            self.record(&cycle, GateStep::Started(Box::new(start.clone())))?;
        }
        let stacks: Vec<String> = self.judged_projects(&change).into_iter().map(|project| project.stack).collect();
        let memory = ask_memory(self.request, &change, &start.feature, &stacks);
        let mut tree = before.tree.clone();
        let mut items = self.measure_items(&change, kind, &start, &mut tree)?;
        self.apply_waivers(&mut items, &gate);
        if !is_whole {
            return Ok(EvaluationEnd::Partial(items));
        }
        let after = read_tree(self.request, &snapshot_options)?;
        if after.tree != tree {
            let names = changed_names(self.request, &tree, &after.tree)?;
            let why = format!("the work tree changed while it was checked: {}", names.join(", "));
            self.record(&cycle, GateStep::Abandoned { why: why.clone() })?;
            anyhow::bail!(why);
        }
        if tree != before.tree {
            let message = "a command of the gate changed the work tree".to_owned();
            issues.push(GateIssue { kind: GateIssueKind::Tree, message });
        }
        self.finish(&cycle, &start, items, issues, memory)
    }

    fn finish(
        self,
        cycle: &CycleState,
        start: &GateStart,
        items: Vec<GateItem>,
        issues: Vec<GateIssue>,
        memory: GateMemory,
    ) -> anyhow::Result<EvaluationEnd> {
        let mut outcome = GateOutcome {
            tree: start.tree.clone(),
            verdict: GateVerdict::Reject,
            error: error_digest(&items, &issues),
            items,
            issues,
            memory,
            duration_us: u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
        };
        outcome.verdict = GateCounts::from_outcome(&outcome).verdict();
        let is_approved = outcome.verdict == GateVerdict::Approve;
        self.record(cycle, GateStep::Verdict(Box::new(outcome)))?;
        if self.options.signals_exit && is_approved {
            self.record(cycle, GateStep::Signal { tree: start.tree.clone(), withdrawn: false })?;
        }
        let gate = read_gate(self.request)?;
        let cycle = gate.cycle().cloned().unwrap_or_default();
        Ok(EvaluationEnd::Judged(Box::new(self.standing(cycle))))
    }

    fn record(&self, cycle: &CycleState, step: GateStep) -> anyhow::Result<()> {
        record_step(self.request, &self.id, &cycle.id, step, None)
    }

    /// An evaluation that was killed leaves its beginning.
    fn close_unfinished(&self, cycle: &CycleState) -> anyhow::Result<()> {
        let Some(unfinished) = &cycle.unfinished else { return Ok(()) };
        let why = "it was killed".to_owned();
        record_step(self.request, unfinished, &cycle.id, GateStep::Abandoned { why }, None)
    }

    fn standing(&self, cycle: CycleState) -> GateStanding {
        let is_titled = self.policy.checklist.categories.iter().any(|category| category.title.is_some());
        GateStanding { cycle, is_titled }
    }

    /// The kind of the change, and who says so. Without any word it is a feature, for which most items apply.
    fn decide_kind(&self) -> (ChangeKind, String) {
        if let Some(kind) = self.options.kind {
            return (kind, "by --kind".to_owned());
        }
        let written = self.prp.as_ref().and_then(|prp| prp.prp.front_matter.kind.as_deref());
        if let Some(kind) = written.and_then(ChangeKind::from_name) {
            return (kind, "by the PRP".to_owned());
        }
        let branch = current_branch(self.request).unwrap_or_default();
        let prefix = branch.split_once('/').map_or("", |(prefix, _)| prefix);
        let kind = match prefix {
            "feat" | "feature" => Some(ChangeKind::Feature),
            "fix" | "bugfix" | "hotfix" => Some(ChangeKind::Fix),
            "refactor" => Some(ChangeKind::Refactor),
            "docs" => Some(ChangeKind::Docs),
            "chore" => Some(ChangeKind::Chore),
            _ => None,
        };
        kind.map_or((ChangeKind::Feature, "by default".to_owned()), |kind| (kind, format!("by the branch {branch}")))
    }

    fn feature_name(&self) -> String {
        if let Some(feature) = &self.options.feature {
            return feature.clone();
        }
        if let Some(feature) = self.prp.as_ref().and_then(|prp| prp.prp.feature_name()) {
            return feature.to_owned();
        }
        let branch = current_branch(self.request).unwrap_or_else(|| "detached HEAD".to_owned());
        let name = branch.split_once('/').map_or(branch.as_str(), |(_, name)| name);
        name.replace(['-', '_'], " ")
    }

    fn describe_policy(&self) -> String {
        let name = |origin: &PolicyOrigin| origin.file.clone().unwrap_or_else(|| "shipped".to_owned());
        let [checklist, mapping] = &self.origins;
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.policy.checklist_file.text.as_bytes());
        hasher.update(&[0]);
        hasher.update(self.policy.mapping_file.text.as_bytes());
        let digest = hasher.finalize().to_hex();
        format!("checklist {}, tools {}, blake3:{}", name(checklist), name(mapping), &digest[..16])
    }

    /// What of the policy the change makes weaker than it was in the base, whose list then judges.
    fn policy_issues(&mut self, change: &Change, gate: &WorkTreeGate) -> Vec<GateIssue> {
        let Some(name) =
            self.policy.checklist_file.name.clone().filter(|_| self.policy.checklist_file.is_from_repository)
        else {
            return Vec::new();
        };
        let changed = change.files.iter().find(|file| file.path == name);
        let Some(before) = changed.and_then(|file| file.before.as_deref()) else { return Vec::new() };
        let Ok(base) = Checklist::parse(before, &name) else { return Vec::new() };
        let weaker = weaker_items(&base, &self.policy.checklist);
        let now = self.request.now();
        let is_waived = gate.waivers.iter().any(|(_, waiver)| waiver.item == "POLICY" && waiver.until > now);
        if weaker.is_empty() || is_waived {
            return Vec::new();
        }
        self.policy.checklist = base;
        let message = format!("the change makes {name} weaker: {}; the list of the base judges", weaker.join(", "));
        vec![GateIssue { kind: GateIssueKind::Policy, message }]
    }

    /// Judges the items one after the other. `tree` becomes the tree after the last command.
    fn measure_items(
        &self,
        change: &Change,
        kind: ChangeKind,
        start: &GateStart,
        tree: &mut String,
    ) -> anyhow::Result<Vec<GateItem>> {
        let measurement =
            Measurement::new(self.request, change, &self.id, &start.feature, COMMAND_TIME, !self.options.is_fresh);
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
        let mut items = Vec::new();
        for category in &self.policy.checklist.categories {
            let heading = category.title.clone().unwrap_or_else(|| appendix_heading(&category.key));
            for item in &category.items {
                if !self.options.only.is_empty() && !self.options.only.contains(&item.id) {
                    continue;
                }
                let evidence = match not_applicable_by_kind(item, kind, &start.change_kind) {
                    Some(evidence) => vec![evidence],
                    None => self.gather_evidence(&measurement, item, (&planned, &projects), tree)?,
                };
                items.push(judge_item(item, &heading, evidence));
            }
        }
        Ok(items)
    }

    /// The projects that the change is judged in.
    fn judged_projects(&self, change: &Change) -> Vec<StackProject> {
        let projects = find_projects(&change.paths, &self.policy.mapping);
        let changed: Vec<String> = change.files.iter().map(|file| file.path.clone()).collect();
        judged_projects(projects, &changed)
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
                    let names = changed_names(self.request, tree, &after)?;
                    let commands = std::mem::take(&mut evidence.commands);
                    let count = text::count(names.len(), "file");
                    let reason = format!("the command changed {count}: {}", names.join(", "));
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
                context.measure_documents(item, method)
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

    fn apply_waivers(&self, items: &mut [GateItem], gate: &WorkTreeGate) {
        let now = self.request.now();
        for item in items.iter_mut() {
            if !matches!(item.status, GateItemStatus::Fail | GateItemStatus::NotEvaluated) {
                continue;
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
}

fn current_branch(request: &Request) -> Option<String> {
    let head = RepositoryHead::now(&request.places).head?;
    head.strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// The files that differ between two trees of this work tree, the first ones.
fn changed_names(request: &Request, from: &str, to: &str) -> anyhow::Result<Vec<String>> {
    const NAMES_MAX: usize = 5;
    let patch = patch_between(&request.places, from, to, &gate_snapshot_options(request))
        .map_err(|skipped| anyhow::anyhow!("cannot compare two trees: {skipped}"))?;
    Ok(patch.files.into_iter().map(|file| file.new).take(NAMES_MAX).collect())
}

/// The heading of a category in Appendix A of the specification.
fn appendix_heading(key: &str) -> String {
    match english_heading(key) {
        Some("Functionality") => "Funcionalidade".to_owned(),
        Some("Code quality") => "Qualidade de Código".to_owned(),
        Some("Documentation") => "Documentação".to_owned(),
        _ => key.to_owned(),
    }
}

fn not_applicable_by_kind(item: &ChecklistItem, kind: ChangeKind, said: &str) -> Option<ItemEvidence> {
    if item.applies_to.is_empty() || item.applies_to.contains(&kind) {
        return None;
    }
    let kinds: Vec<&str> = item.applies_to.iter().map(|kind| kind.name()).collect();
    Some(ItemEvidence::without_application(format!("the change is a {said}; this is for {}", kinds.join(", "))))
}

/// BLAKE3 of what fails: items, states and patterns of their findings, without places, times and figures.
fn error_digest(items: &[GateItem], issues: &[GateIssue]) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    for item in items.iter().filter(|it| matches!(it.status, GateItemStatus::Fail | GateItemStatus::NotEvaluated)) {
        add(&item.id);
        add(item.status.as_str());
        let keys: BTreeSet<&str> =
            item.findings.iter().map(|it| it.pattern.as_deref().or(it.path.as_deref()).unwrap_or_default()).collect();
        keys.into_iter().for_each(&mut add);
    }
    issues.iter().for_each(|issue| add(issue.kind.as_str()));
    hasher.finalize().to_hex()[..32].to_owned()
}

/// What `gate run --only` prints as JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PartialEvaluation {
    /// The items that were asked for. There is no verdict over some items.
    pub items: Vec<GateItem>,
}
