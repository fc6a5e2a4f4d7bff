//! Harvesting: what a task that is done leaves to learn from. Reads what was recorded and appends events; nothing is run, and
//! the work tree is kept by [`super::capture`] afterwards.

use std::collections::BTreeSet;

use anyhow::Context as _;
use serde::Serialize;

use super::capture::{start_capture, start_capture_process};
use super::harvest_change::whole_change;
use crate::base::clock::Timestamp;
use crate::base::ids::{self, IdKind, RunId};
use crate::base::lossless::Lossless;
use crate::base::text;
use crate::event::{
    AtomList, Attempt, EventAuthor, EventBody, FixState, HarvestNovelty, HarvestRecord, HarvestRuns, HarvestTrees,
    HarvestTrigger, JobState, LearnNote, LearnStep, RecipeKind, SkippedHarvest, SkippedHarvestRule,
};
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::recorder;
use crate::redact::redact_text;
use crate::store::{FixFilter, FixRow, Index, SegmentFolder, Store};

/// Fixes of one task that are harvested, the last touched first.
const FIXES_MAX: usize = 20;
/// Atoms of a harvest.
const ATOMS_MAX: usize = 200;
/// A prompt or a note, bytes.
const TEXT_BYTES_MAX: usize = 4 << 10;
/// Jobs that prove one change, from which on further ones are not run.
const PROOFS_MAX: usize = 3;
/// Merged tasks that are harvested at once, the last ended first.
const MERGED_MAX: usize = 50;

/// What to harvest.
#[derive(Debug, Clone, Default)]
pub(crate) struct HarvestRequest {
    /// The task; the current one without.
    pub task: Option<String>,
    /// Only this fix.
    pub fix: Option<String>,
    /// What led to it.
    pub trigger: HarvestTrigger,
    /// What was asked for.
    pub prompt: Option<String>,
    /// What someone adds.
    pub note: Option<String>,
}

/// A job that a harvest made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HarvestedJob {
    /// `j-…`
    pub job: String,
    /// `x-…` of the fix; absent of a change as a whole.
    pub fix: Option<String>,
    /// What failed, one line.
    pub summary: String,
    /// How new it is.
    pub novelty: HarvestNovelty,
}

/// A fix that is no job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SkippedFix {
    /// `x-…`
    pub fix: Option<String>,
    /// Which rule says so.
    pub rule: SkippedHarvestRule,
    /// Why.
    pub why: String,
}

/// What a harvest found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HarvestReply {
    /// New jobs.
    pub jobs: Vec<HarvestedJob>,
    /// Fixes that are no jobs.
    pub skipped: Vec<SkippedFix>,
}

/// Harvests a task, and records what there is. What was harvested already is not harvested again.
///
/// # Errors
/// When the store can't be read or written.
fn harvest(request: &Request, asked: &HarvestRequest) -> anyhow::Result<HarvestReply> {
    let Some(index) = request.open_for_reading()?.index else { return Ok(HarvestReply::default()) };
    let found = find_harvest(request, &index, asked)?;
    if found.steps.is_empty() {
        return Ok(found.reply);
    }
    let mut store = request.open_store().context("the harvest cannot be recorded")?;
    found.record(request, &mut store)
}

/// As [`harvest`], with a store that is open and has all that waited. The trees are for [`start_capture`], once the store
/// is closed.
///
/// # Errors
/// As [`harvest`].
pub(crate) fn harvest_into(
    request: &Request,
    store: &mut Store,
    asked: &HarvestRequest,
) -> anyhow::Result<HarvestReply> {
    find_harvest(request, store.index(), asked)?.record(request, store)
}

/// What there is to harvest, to be recorded.
struct FoundHarvest {
    task: String,
    reply: HarvestReply,
    steps: Vec<(String, LearnStep)>,
}

impl FoundHarvest {
    fn record(self, request: &Request, store: &mut Store) -> anyhow::Result<HarvestReply> {
        let by = EventAuthor::from_identity(&request.identity, Some(&self.task));
        for (job, step) in self.steps {
            let parts = [job.as_str(), step.kind()].map(str::to_owned);
            let note = LearnNote { job, step, by: by.clone() };
            let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
            store.record_derived("learn", &parts, EventBody::Learn(Box::new(note)))?;
        }
        Ok(self.reply)
    }
}

fn find_harvest(request: &Request, index: &Index, asked: &HarvestRequest) -> anyhow::Result<FoundHarvest> {
    let segments = SegmentFolder::new(request.places.state.events());
    let task = match &asked.task {
        Some(task) => task.clone(),
        None => request.current_task(Some(index))?,
    };
    let harvester = Harvester { request, index, segments: &segments, task: &task, asked };
    let mut reply = HarvestReply::default();
    let mut steps: Vec<(String, LearnStep)> = Vec::new();
    let fixes = harvester.solved_fixes()?;
    // A task whose branch was merged left nothing in the work tree but its fixes.
    if fixes.is_empty() && asked.fix.is_none() && asked.trigger != HarvestTrigger::Merged {
        steps.extend(harvester.whole_change(&mut reply)?);
    }
    for row in fixes {
        if index.jobs_of_fix(&row.id)?.iter().any(|step| !is_superseded(step.at, &row)) {
            continue;
        }
        let id = ids::short(IdKind::Job, format!("{}\0{}", row.id, row.last_at.0).as_bytes());
        let step = harvester.judge_fix(&row)?;
        reply.take(&id, &row, &step);
        steps.push((id, step));
    }
    Ok(FoundHarvest { task, reply, steps })
}

/// Harvests a task, and keeps the trees of what was found in a process of its own. To be called by a process of one thread.
///
/// # Errors
/// As [`harvest`].
pub(crate) fn harvest_now(request: &Request, asked: &HarvestRequest) -> anyhow::Result<Reply<HarvestReply>> {
    let harvested = harvest(request, asked)?;
    if !harvested.jobs.is_empty() {
        start_capture(request);
    }
    Ok(harvested.into())
}

/// Harvests the current task where the quality gate lets the work end. What goes wrong is in the recorder's log: the verdict
/// is the same whatever happens here.
///
/// The caller may have threads: the trees are kept by another program.
pub(crate) fn harvest_at_exit(request: &Request) {
    if !request.settings().learn.harvest {
        return;
    }
    let asked = HarvestRequest { trigger: HarvestTrigger::GateExit, ..HarvestRequest::default() };
    match harvest(request, &asked) {
        Ok(harvested) if harvested.jobs.is_empty() => {}
        Ok(_) => start_capture_process(request),
        Err(error) => recorder::note(&request.places, &[format!("cannot queue what was learnt: {error:#}")]),
    }
}

/// Harvests the tasks of this repository whose branch was merged, and that nothing was harvested of. Their trees
/// are not kept yet.
///
/// # Errors
/// As [`harvest`].
pub(super) fn harvest_merged(request: &Request) -> anyhow::Result<()> {
    if !request.settings().learn.harvest {
        return Ok(());
    }
    let Some(index) = request.open_for_reading()?.index else { return Ok(()) };
    for task in index.merged_tasks_without_jobs(MERGED_MAX)? {
        let asked = HarvestRequest { task: Some(task), trigger: HarvestTrigger::Merged, ..HarvestRequest::default() };
        harvest(request, &asked)?;
    }
    Ok(())
}

/// A fix that was worked on after it was harvested is another one.
fn is_superseded(harvested_at: Timestamp, row: &FixRow) -> bool {
    harvested_at < row.last_at
}

struct Harvester<'a> {
    request: &'a Request,
    index: &'a Index,
    segments: &'a SegmentFolder,
    task: &'a str,
    asked: &'a HarvestRequest,
}

impl Harvester<'_> {
    /// Fixes of the task in this work tree that are over, one way or the other.
    fn solved_fixes(&self) -> anyhow::Result<Vec<FixRow>> {
        let fixes = match &self.asked.fix {
            Some(fix) => vec![self.index.find_fix(fix)?],
            None => {
                let filter = FixFilter { task: Some(self.task.to_owned()), limit: FIXES_MAX, ..FixFilter::default() };
                self.index.list_fixes(&filter)?
            }
        };
        let root = Lossless::from(&self.request.places.root);
        let is_over = |row: &FixRow| {
            let over = [FixState::Success, FixState::Weakened, FixState::Undone, FixState::Flaky];
            row.root == root && over.contains(&row.state)
        };
        Ok(fixes.into_iter().filter(is_over).collect())
    }

    fn judge_fix(&self, row: &FixRow) -> anyhow::Result<LearnStep> {
        let attempts = self.index.read_attempts(self.segments, &row.id)?;
        let skipped = |rule, why: &str| {
            let (task, fix) = (self.task.to_owned(), Some(row.id.clone()));
            Ok(LearnStep::Skipped(Box::new(SkippedHarvest { task, fix, rule, why: why.to_owned() })))
        };
        match row.state {
            FixState::Weakened => return skipped(SkippedHarvestRule::Weakened, "the check was made weaker"),
            FixState::Flaky => return skipped(SkippedHarvestRule::Flaky, "it fails and passes over the same tree"),
            FixState::Undone | FixState::Success | FixState::Partial | FixState::Failure => {}
        }
        if row.suspect {
            return skipped(SkippedHarvestRule::Flaky, "one of its failing runs was flaky");
        }
        let record = self.record_of_fix(row, &attempts)?;
        if row.state == FixState::Undone && !self.corrects_old_code(record.as_ref())? {
            return skipped(SkippedHarvestRule::Undone, "the files went back to an earlier state");
        }
        let Some(record) = record else {
            return skipped(SkippedHarvestRule::NoTrees, "its trees are not known");
        };
        let proofs = self.index.jobs_of_shapes(&record.shapes)?;
        if proofs.iter().filter(|job| job.artifact.is_some()).count() >= PROOFS_MAX {
            return skipped(SkippedHarvestRule::Known, "the same change is proven often enough");
        }
        Ok(LearnStep::Harvested(Box::new(record)))
    }

    /// Whether what failed may have been committed since another task, in which the check passed. Then the way back is a
    /// correction, and no slip; the job looks into the commit.
    fn corrects_old_code(&self, record: Option<&HarvestRecord>) -> anyhow::Result<bool> {
        let runs = record.map(|record| &record.runs);
        let (Some(base), Some(before)) = (runs.and_then(|runs| runs.base), runs.and_then(|runs| runs.before)) else {
            return Ok(false);
        };
        let read = |run: RunId| self.index.read_run(self.segments, &run.to_string());
        let (Some(base), Some(before)) = (read(base)?, read(before)?) else { return Ok(false) };
        Ok(base.task != self.task && before.commit.is_some() && base.commit != before.commit)
    }

    /// What the attempts of a fix say; `None` where the trees are unknown and no command did it.
    fn record_of_fix(&self, row: &FixRow, attempts: &[Attempt]) -> anyhow::Result<Option<HarvestRecord>> {
        let (Some(first), Some(last)) =
            (attempts.iter().find(|attempt| !attempt.fixed.is_empty()).or(attempts.last()), attempts.last())
        else {
            return Ok(None);
        };
        let trees = match (&first.trees, &last.trees) {
            (Some(before), Some(after)) => HarvestTrees {
                before: Some(before.before.clone()),
                pass: Some(after.after.clone()),
                base: None,
                exact: before.exact && after.exact,
            },
            _ if last.changed_dependencies.is_empty() => return Ok(None),
            _ => HarvestTrees::default(),
        };
        let root = Lossless::from(&self.request.places.root);
        let base = self.index.last_passing_tree(&row.key, &root, first.ended_at, last.run)?;
        let mut runs = HarvestRuns { before: Some(first.before), pass: Some(last.run), base: None };
        let mut trees = trees;
        if let Some(base) = base.filter(|base| base.run != last.run && is_earlier(base.run, first.before)) {
            (runs.base, trees.base) = (Some(base.run), Some(base.tree));
        }
        let shapes: BTreeSet<String> = attempts
            .iter()
            .flat_map(|attempt| &attempt.recipes)
            .filter(|recipe| recipe.kind == RecipeKind::Shape)
            .map(|recipe| recipe.key.clone())
            .collect();
        let fixed = merge_atoms(attempts);
        let command = last.commands.iter().rev().find(|command| command.passed && !command.check);
        let shapes: Vec<String> = shapes.into_iter().collect();
        Ok(Some(HarvestRecord {
            task: self.task.to_owned(),
            trigger: self.asked.trigger,
            root,
            fix: Some(row.id.clone()),
            key: Some(row.key.clone()),
            runs,
            trees,
            novelty: self.novelty_of(&fixed, &shapes)?,
            fixed,
            shapes,
            changed_dependencies: last.changed_dependencies.clone(),
            command: command.map(|command| command.line.clone()),
            ..self.described()?
        }))
    }

    /// The change of the task as a whole.
    fn whole_change(&self, reply: &mut HarvestReply) -> anyhow::Result<Option<(String, LearnStep)>> {
        let found = whole_change(self.request, self.index, self.task, self.asked.trigger)?;
        let Some((job, HarvestRecord { trees, novelty, .. })) = found else { return Ok(None) };
        reply.jobs.push(HarvestedJob {
            job: job.clone(),
            fix: None,
            summary: "the change of the task".to_owned(),
            novelty: novelty.clone(),
        });
        let harvest = HarvestRecord {
            task: self.task.to_owned(),
            trigger: self.asked.trigger,
            root: Lossless::from(&self.request.places.root),
            trees,
            novelty,
            ..self.described()?
        };
        Ok(Some((job, LearnStep::Harvested(Box::new(harvest)))))
    }

    /// What was asked for, and what someone adds.
    fn described(&self) -> anyhow::Result<HarvestRecord> {
        let clean = |said: &str| {
            let said = text::printable(&redact_text(said).0);
            (!said.trim().is_empty()).then(|| text::ellipsis(said.trim(), TEXT_BYTES_MAX))
        };
        let title = self.index.find_task(self.task)?.and_then(|task| task.title);
        let prompt = self.asked.prompt.as_deref().or(title.as_deref()).and_then(clean);
        Ok(HarvestRecord { prompt, note: self.asked.note.as_deref().and_then(clean), ..HarvestRecord::default() })
    }

    fn novelty_of(&self, fixed: &AtomList, shapes: &[String]) -> anyhow::Result<HarvestNovelty> {
        let mut novelty = HarvestNovelty { is_new_shape: true, ..HarvestNovelty::default() };
        for atom in &fixed.first {
            let Some(pattern) = self.index.pattern_of_key(&atom.pattern)? else { continue };
            novelty.tasks = novelty.tasks.max(pattern.tasks);
            novelty.is_new_family |= pattern.family_tasks <= 1;
        }
        for job in self.index.jobs_of_shapes(shapes)? {
            novelty.is_new_shape = false;
            novelty.page = novelty.page.take().or(job.artifact);
        }
        Ok(novelty)
    }
}

/// Ids of runs sort by time.
fn is_earlier(one: RunId, other: RunId) -> bool {
    one < other
}

/// Everything that the attempts fixed, each atom once.
fn merge_atoms(attempts: &[Attempt]) -> AtomList {
    let mut list = AtomList::default();
    for attempt in attempts {
        list.count += attempt.fixed.count;
        for atom in &attempt.fixed.first {
            if list.first.len() < ATOMS_MAX && list.first.iter().all(|known| known.hash != atom.hash) {
                list.first.push(atom.clone());
            }
        }
    }
    list.count = list.count.max(list.first.len());
    list
}

impl HarvestReply {
    fn take(&mut self, job: &str, row: &FixRow, step: &LearnStep) {
        match step {
            LearnStep::Harvested(harvest) => self.jobs.push(HarvestedJob {
                job: job.to_owned(),
                fix: Some(row.id.clone()),
                summary: text::one_line(row.summary.as_deref().unwrap_or("a failure")),
                novelty: harvest.novelty.clone(),
            }),
            LearnStep::Skipped(skipped) => {
                self.skipped.push(SkippedFix { fix: skipped.fix.clone(), rule: skipped.rule, why: skipped.why.clone() })
            }
            other => debug_assert_eq!(other.leads_to(), Some(JobState::Harvested), "a harvest"),
        }
    }
}
