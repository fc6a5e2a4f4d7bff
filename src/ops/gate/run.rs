//! `gate run`: one evaluation, from the tree before the first command to the verdict after the last one.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;

use super::change::{Change, JudgedChange, describe_difference, read_change_from, read_tree_and_base};
use super::documents::LoadedPrp;
use super::implementers::named_implementers;
use super::isolated::{GATE_LEVEL, GateLab};
use super::memory::{MemoryReading, MemorySearch};
use super::patience::{open_index, open_store};
use super::policy::{PolicyFile, PolicyFiles};
use super::ship::close_interrupted_ship;
use super::trust::{UntrustedFile, policy_digest, review_trust};
use crate::base::file::create_private_dir;
use crate::base::ids::{self, IdKind};
use crate::base::lock::{self, Lock};
use crate::base::lossless::Lossless;
use crate::base::refusal::Refusal;
use crate::capture::RepositoryHead;
use crate::event::{
    EventAuthor, EventBody, GateIssue, GateIssueKind, GateItem, GateItemStatus, GateNote, GateOutcome, GateStart,
    GateStep, GateVerdict,
};
use crate::gate::cycle::{CyclePhase, CycleRules, CycleState, GateCounts, WorkTreeGate, differences_from_last};
use crate::gate::judge::JudgedItems;
use crate::gate::plan::PolicyOrigin;
use crate::gate::policy::{ChangeKind, Checklist};
use crate::gate::report::ReportStyle;
use crate::gate::stack::StackProject;
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::ops::warn::{WarnReply, record_deliveries};
use crate::store::{Index, Store};

/// How long a second evaluation waits for the first one.
const LOCK_WAIT: Duration = Duration::from_secs(5);
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
    /// Language models that wrote the change, as the caller names them.
    pub implementer_models: Vec<String>,
    /// Every command runs, whatever passed on this tree before.
    pub is_fresh: bool,
    /// Nothing is measured after the first blocking item that does not pass.
    pub fails_fast: bool,
    /// The digest of policy files that the caller trusts.
    pub trusted_digest: Option<String>,
    /// Commands run on a copy of the tree, without effects outside.
    pub is_isolated: bool,
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
    /// How headings of its report are written.
    pub style: ReportStyle,
    /// Rejected trees after which a person has to decide.
    pub attempts_max: u64,
    /// The status block of an escalated or halted cycle says so.
    pub says_blocked: bool,
}

/// An evaluation that is under way.
pub(super) struct Evaluation<'a> {
    pub(super) request: &'a Request,
    pub(super) options: &'a EvaluationOptions,
    pub(super) policy: PolicyFiles,
    pub(super) origins: [PolicyOrigin; 2],
    pub(super) prp: Option<LoadedPrp>,
    /// The PRP of the last evaluation of the cycle, relative to the root.
    pub(super) last_prp: Option<String>,
    pub(super) id: String,
    started: Instant,
}

/// The state of the gate in this work tree.
///
/// # Errors
/// When the store can't be read.
pub(super) fn read_gate(request: &Request) -> anyhow::Result<WorkTreeGate> {
    gate_in(request, open_index(request)?.as_ref())
}

fn gate_in(request: &Request, index: Option<&Index>) -> anyhow::Result<WorkTreeGate> {
    let root = Lossless::from(&request.places.root);
    let steps = index.map(|index| index.gate_steps(&root)).transpose()?.unwrap_or_default();
    Ok(WorkTreeGate::from_steps(&steps, CycleRules::from_settings(&request.settings().gate)))
}

/// As [`read_gate`], with the current task.
fn read_gate_and_task(request: &Request) -> anyhow::Result<(WorkTreeGate, String)> {
    let index = open_index(request)?;
    Ok((gate_in(request, index.as_ref())?, request.current_task(index.as_ref())?))
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
    record_steps(request, evaluation, cycle, vec![step], person).map(drop)
}

/// As [`record_step`], of steps one after the other; the store with them, and without any other process's.
fn record_steps(
    request: &Request,
    evaluation: &str,
    cycle: &str,
    steps: Vec<GateStep>,
    person: Option<String>,
) -> anyhow::Result<Store> {
    let mut store = open_store(request).context("the gate's state cannot be recorded")?;
    let task = request.current_task(Some(store.index()))?;
    let by = EventAuthor { person, ..EventAuthor::from_identity(&request.identity, Some(&task)) };
    for step in steps {
        let (evaluation, cycle) = (evaluation.to_owned(), cycle.to_owned());
        let work_tree = Lossless::from(&request.places.root);
        let note = GateNote { work_tree, evaluation, cycle, step, by: by.clone() };
        store.record_event(EventBody::Gate(Box::new(note)))?;
    }
    Ok(store)
}

/// Evaluates the change of the work tree. `interrupted` gets a sentence about a ship that was interrupted before.
///
/// # Errors
/// When there is no verdict: a broken policy, a tree that cannot be read or that changed meanwhile, another evaluation, or
/// a store that cannot be written.
pub(crate) fn run_gate(
    request: &Request,
    options: &EvaluationOptions,
    interrupted: &mut dyn FnMut(String),
) -> anyhow::Result<EvaluationEnd> {
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
    Evaluation { request, options, policy, origins, prp, last_prp: None, id, started: Instant::now() }
        .evaluate(interrupted)
}

/// Keeps other evaluations of this work tree away.
///
/// # Errors
/// When another evaluation is running for longer than five seconds, or the lock can't be made.
pub(super) fn lock_gate(request: &Request) -> anyhow::Result<Lock> {
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
    fn evaluate(mut self, interrupted: &mut dyn FnMut(String)) -> anyhow::Result<EvaluationEnd> {
        let written = || self.prp.as_ref()?.prp.front_matter.base.as_deref();
        let settings = &self.request.settings().gate;
        let base = self.options.base.as_deref().or_else(written).or(settings.base.as_deref());
        let (before, base) = read_tree_and_base(self.request, base)?;
        let change = read_change_from(self.request, before.tree.clone(), base)?;
        let (kind, kind_source) = self.decide_kind();
        let mut start = self.describe_start(&change, format!("{} ({kind_source})", kind.name()));
        let is_whole = self.options.only.is_empty();
        // Before the store is needed for anything else: memory has a time of its own, whoever holds the store.
        let projects = self.judged_projects(&change);
        let memory = is_whole.then(|| self.ask_memory(&change, &projects, &start.feature));
        let (mut gate, task) = read_gate_and_task(self.request)?;
        if let Some(what) = close_interrupted_ship(self.request, &gate)? {
            interrupted(what);
            gate = read_gate(self.request)?;
        }
        gate.prepare(Some(&task), &start, &self.id);
        let cycle = gate.cycle().cloned().unwrap_or_default();
        if matches!(cycle.phase, CyclePhase::Escalated | CyclePhase::Halted) && is_whole {
            return Ok(EvaluationEnd::Stopped(Box::new(self.standing(cycle))));
        }
        start.iteration = cycle.iterations + 1;
        self.last_prp = cycle.last.as_ref().and_then(|last| last.start.prp.clone());
        start.differences = differences_from_last(cycle.last.as_ref().map(|last| &last.start), &start);
        let issues = self.find_issues(&change, &gate)?;
        let lab = self.options.is_isolated.then(|| GateLab::open(self.request, &change.tree)).transpose()?;
        if is_whole {
            self.close_unfinished(&cycle)?;
            self.record(&cycle, GateStep::Started(Box::new(start.clone())))?;
        }
        let mut tree = before.tree.clone();
        let judged = JudgedChange { change: &change, projects, tree: &before };
        let preparation = self.prepare_items(judged, kind, &start, lab.as_ref(), memory);
        let judged = self.measure_items(&preparation, &gate, &mut tree);
        preparation.measurement().record_waiting();
        let JudgedItems { items, tree_after } = judged?;
        let reading = preparation.measurement().memory.take_reading();
        let Some(MemoryReading { memory, told }) = reading else { return Ok(EvaluationEnd::Partial(items)) };
        let mut outcome = GateOutcome { tree: start.tree.clone(), items, issues, memory, ..GateOutcome::default() };
        if tree != before.tree {
            let message = "a command of the gate changed the work tree".to_owned();
            outcome.issues.push(GateIssue { kind: GateIssueKind::Tree, message });
        }
        self.check_unchanged(&cycle, &tree, &tree_after)?;
        self.add_review(&preparation, (&start, &cycle, &gate), &task, &mut outcome, &mut tree)?;
        self.finish(&cycle, outcome, told)
    }

    /// Nothing is approved where another task worked meanwhile.
    fn check_unchanged(&self, cycle: &CycleState, tree: &str, tree_after: &str) -> anyhow::Result<()> {
        if tree_after != tree {
            let difference = describe_difference(self.request, tree, tree_after)?;
            let why = format!("while it was checked, the work tree changed in {difference}");
            self.record(cycle, GateStep::Abandoned { why: why.clone() })?;
            anyhow::bail!(why);
        }
        Ok(())
    }

    fn ask_memory(&self, change: &Change, projects: &[StackProject], feature: &str) -> MemorySearch {
        let stacks = projects.iter().map(|project| project.stack.clone()).collect();
        MemorySearch::begin(self.request, change, (&self.id, feature, stacks))
    }

    fn describe_start(&self, change: &Change, change_kind: String) -> GateStart {
        GateStart {
            tree: change.tree.clone(),
            base: change.base.name.clone(),
            base_tree: Some(change.base.tree.clone()),
            policy: self.describe_policy(),
            policy_files: self.policy.digests(),
            feature: self.feature_name(),
            prp: self.prp.as_ref().map(|prp| prp.path.clone()),
            change_kind,
            files: change.files.iter().map(|file| file.path.clone()).take(FILES_MAX).collect(),
            implementers: named_implementers(self.request, &self.options.implementer_models).into_iter().collect(),
            iteration: 0,
            differences: Vec::new(),
            isolation: self.options.is_isolated.then(|| GATE_LEVEL.as_str().to_owned()),
        }
    }

    /// What stops an approval before anything runs.
    fn find_issues(&mut self, change: &Change, gate: &WorkTreeGate) -> anyhow::Result<Vec<GateIssue>> {
        let mut issues = self.policy_issues(change, gate)?;
        if change.patch.cut > 0 {
            let message = "the change is too large to be read whole: judge it in parts, with --base".to_owned();
            issues.push(GateIssue { kind: GateIssueKind::Tree, message });
        }
        Ok(issues)
    }

    fn finish(
        self,
        cycle: &CycleState,
        mut outcome: GateOutcome,
        told: Option<Reply<WarnReply>>,
    ) -> anyhow::Result<EvaluationEnd> {
        outcome.error = error_digest(&outcome);
        outcome.duration_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        outcome.verdict = GateCounts::from_outcome(&outcome).verdict();
        let (tree, is_approved) = (outcome.tree.clone(), outcome.verdict == GateVerdict::Approve);
        let signal = self.options.signals_exit && is_approved;
        let signal = signal.then_some(GateStep::Signal { tree, withdrawn: false });
        let steps = std::iter::once(GateStep::Verdict(Box::new(outcome))).chain(signal).collect();
        let store = record_steps(self.request, &self.id, &cycle.id, steps, None)?;
        let gate = gate_in(self.request, Some(store.index()))?;
        drop(store);
        if let Some(mut told) = told {
            record_deliveries(&self.request.places, &mut told);
        }
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
        GateStanding::new(self.request, cycle, &self.policy.checklist)
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
}

/// The branch that is checked out; `None` for a detached `HEAD`.
pub(super) fn current_branch(request: &Request) -> Option<String> {
    let head = RepositoryHead::now(&request.places).head?;
    head.strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// BLAKE3 of what fails: items, states and patterns of their findings, without places, times and figures.
/// Of a review, whose remarks differ each time, only that it stops the approval.
fn error_digest(outcome: &GateOutcome) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    for item in
        outcome.items.iter().filter(|it| matches!(it.status, GateItemStatus::Fail | GateItemStatus::NotEvaluated))
    {
        add(&item.id);
        add(item.status.as_str());
        let keys: BTreeSet<&str> =
            item.findings.iter().map(|it| it.pattern.as_deref().or(it.path.as_deref()).unwrap_or_default()).collect();
        keys.into_iter().for_each(&mut add);
    }
    outcome.issues.iter().for_each(|issue| add(issue.kind.as_str()));
    if outcome.review.as_ref().is_some_and(|review| review.blocking_issues() > 0) {
        add("REVIEW");
    }
    hasher.finalize().to_hex()[..32].to_owned()
}

/// What `gate run --only` prints as JSON.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PartialEvaluation {
    /// The items that were asked for. There is no verdict over some items.
    pub items: Vec<GateItem>,
}
