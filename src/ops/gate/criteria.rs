//! Measures the acceptance criteria of a PRP: each needs evidence that was executed on this very tree.

use std::collections::BTreeMap;

use super::change::Change;
use super::documents::LoadedPrp;
use super::measurement::Measurement;
use super::policy::PolicyFile;
use super::red::{CoveringTest, FailedTests};
use super::red_trial::{RedOutcome, RedTrial};
use crate::base::text;
use crate::event::{GateFinding, GateReviewLink};
use crate::fix::find_tool;
use crate::gate::criteria::file::{CriteriaFile, CriterionEvidence};
use crate::gate::criteria::link::{
    SelectableTest, TestIndex, TestSource, find_links, find_selected, index_tests, is_test_file,
};
use crate::gate::criteria::suggestion::suggest_tests;
use crate::gate::judge::ItemEvidence;
use crate::gate::policy::{ChecklistItem, Metric, MetricValue, RedEvidence};
use crate::gate::prp::AcceptanceCriterion;
use crate::gate::stack::StackProject;
use crate::ops::request::Request;

/// What the PRP and the caller say about criteria.
pub(super) struct CriteriaContext<'a> {
    /// The PRP.
    pub prp: Option<&'a LoadedPrp>,
    /// The PRP of the last evaluation.
    pub last_prp: Option<&'a str>,
    /// The caller says that there is none.
    pub has_no_prp: bool,
    /// Links that people wrote.
    pub file: Option<&'a PolicyFile>,
    /// The projects that the change touches.
    pub projects: &'a [StackProject],
}

/// What proves a criterion, or why nothing does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum CriterionState {
    /// It was executed and passed, or a person answers for it.
    Covered(String),
    /// Evidence is named, and it did not hold.
    Failed(String),
    /// Nothing names it.
    Open(Option<String>),
}

/// The tests of a project with the folder that they are run in.
#[derive(Debug)]
pub(super) struct ProjectTests {
    /// The project.
    pub project: StackProject,
    /// Its tests.
    pub index: TestIndex,
}

/// The evidence of the item about acceptance criteria.
pub(super) fn measure_criteria(
    measurement: &Measurement<'_>,
    item: &ChecklistItem,
    context: &CriteriaContext<'_>,
) -> ItemEvidence {
    let Some(loaded) = context.prp else {
        if context.has_no_prp {
            return ItemEvidence::without_application("the change has no PRP (said by --no-prp)");
        }
        let reason = match context.last_prp {
            Some(last) => format!("no PRP is given: the last evaluation had --prp {last}; else give --no-prp"),
            None => "no PRP is known: give --prp FILE or --no-prp".to_owned(),
        };
        return ItemEvidence::unknown(item, reason);
    };
    if loaded.prp.criteria.is_empty() {
        return ItemEvidence::unknown(item, format!("{} has no acceptance criteria", loaded.path));
    }
    let written = match context.file.map(|file| parse_criteria_file(file, loaded)).transpose() {
        Ok(written) => written,
        Err(reason) => return ItemEvidence::unknown(item, reason),
    };
    let tests = match measurement.tests_of(context.projects) {
        Ok(tests) => tests,
        Err(reason) => return ItemEvidence::unknown(item, reason),
    };
    let (ended, commands, covering) = (BTreeMap::new(), Vec::new(), None);
    let mut runs = SelectorRuns { measurement, item: &item.id, ended, commands, covering };
    let failed = (item.red_evidence != RedEvidence::Off).then(|| FailedTests::of_current_task(measurement.request));
    let trial = RedTrial::new(measurement);
    let mut never_red = Vec::new();
    let mut evidence = ItemEvidence::default();
    let mut covered = 0_usize;
    for criterion in &loaded.prp.criteria {
        let mut state = judge_criterion(criterion, loaded, written.as_ref(), tests, &mut runs);
        if let (Some(test), Some(failed)) = (runs.covering.take(), &failed)
            && matches!(state, CriterionState::Covered(_))
            && !failed.include(&test)
            && let Some(why) = doubt_of_red(&trial.try_test(&test))
        {
            if item.red_evidence == RedEvidence::Block {
                let place = format!("{}:{} ({})", test.path, test.line, test.name);
                state = CriterionState::Failed(format!("{place} was never seen failing: {why}"));
            } else {
                never_red.push(format!("{} ({why})", criterion.id));
            }
        }
        match state {
            CriterionState::Covered(_) => covered += 1,
            CriterionState::Failed(why) => evidence.findings.push(finding(loaded, criterion, &why, None)),
            CriterionState::Open(suggestion) => {
                let why = format!("no test names {}", criterion.id);
                let fix = suggestion.unwrap_or_else(|| format!("name {} in the test that proves it", criterion.id));
                evidence.findings.push(finding(loaded, criterion, &why, Some(fix)));
            }
        }
    }
    let total = loaded.prp.criteria.len() + loaded.prp.omitted_criteria;
    // 100 % only where every criterion is covered.
    let share = if covered == total { 100 } else { ((covered * 200 + total) / (total * 2)).min(99) };
    evidence.values.extend([
        (Metric::CriteriaTotal, MetricValue::Number(total as f64)),
        (Metric::CriteriaCovered, MetricValue::Number(covered as f64)),
        (Metric::CriteriaCoverage, MetricValue::Number(share as f64)),
    ]);
    evidence
        .details
        .push(format!("{share}% ({covered} of {})", text::count(total, "criterion").replace("criterions", "criteria")));
    if !never_red.is_empty() {
        evidence.details.push(format!("no run saw the tests of {} fail", never_red.join(", ")));
    }
    evidence.commands = runs.commands;
    evidence
}

fn parse_criteria_file(file: &PolicyFile, loaded: &LoadedPrp) -> Result<CriteriaFile, String> {
    let name = file.name.clone().unwrap_or_default();
    let parsed = CriteriaFile::parse(&file.text, &name).map_err(|error| error.to_string())?;
    if let Some(reason) = parsed.stale_reason(&loaded.prp) {
        return Err(format!("{name}: {reason}"));
    }
    if let Some(unknown) = parsed.unknown_entries(&loaded.prp).first() {
        return Err(format!("{name}:{}: {} has no criterion {}", unknown.line, loaded.path, unknown.id));
    }
    Ok(parsed)
}

/// Reads the tests of a project.
///
/// # Errors
/// When the tree can't be read.
pub(super) fn index_project(request: &Request, change: &Change, project: StackProject) -> anyhow::Result<ProjectTests> {
    let inside = |path: &&String| project.contains_path(path);
    let prefix = if project.dir.is_empty() { 0 } else { project.dir.len() + 1 };
    let is_test_file = |path: &&String| path.get(prefix..).is_some_and(is_test_file);
    let paths: Vec<String> = change.paths.iter().filter(inside).filter(is_test_file).cloned().collect();
    let texts = change.read_texts(request, &paths)?;
    let sources: Vec<TestSource<'_>> = paths
        .iter()
        .zip(&texts)
        .filter_map(|(path, text)| Some(TestSource { path: path.get(prefix..)?, text: text.as_deref()? }))
        .collect();
    let manifest =
        if project.dir.is_empty() { "package.json".to_owned() } else { format!("{}/package.json", project.dir) };
    let manifest = change.read_documents(request, &[manifest])?.pop().flatten();
    let index = index_tests(&sources, manifest.as_deref());
    Ok(ProjectTests { project, index })
}

fn judge_criterion(
    criterion: &AcceptanceCriterion,
    loaded: &LoadedPrp,
    written: Option<&CriteriaFile>,
    tests: &[ProjectTests],
    runs: &mut SelectorRuns<'_>,
) -> CriterionState {
    let entries = written.map_or(&[][..], |file| &file.entries);
    let entry = entries.iter().find(|entry| loaded.prp.criterion(&entry.id).is_some_and(|it| it.id == criterion.id));
    match entry.map(|entry| &entry.evidence) {
        Some(CriterionEvidence::Manual { by, .. }) => return CriterionState::Covered(format!("seen by {by}")),
        Some(CriterionEvidence::Command { line }) => {
            let words = shell_words::split(line).unwrap_or_default();
            return runs.run_words(&words, "", false);
        }
        Some(CriterionEvidence::Test { selector }) => return judge_selector(selector, tests, runs),
        None => {}
    }
    let slug = loaded.prp.slug(&loaded.path);
    let mut state = CriterionState::Open(None);
    for project in tests {
        let (links, _) = find_links(&project.index, std::slice::from_ref(criterion), Some(slug));
        for link in links {
            let Some(test) = project.index.tests.get(link.test) else { continue };
            state = runs.run_test(test, &project.project.dir);
            if matches!(state, CriterionState::Covered(_)) {
                return state;
            }
        }
    }
    if state == CriterionState::Open(None) {
        let suggested = tests.iter().find_map(|project| {
            let first = suggest_tests(&project.index, std::slice::from_ref(criterion)).pop()?.into_iter().next()?;
            let test = project.index.tests.get(first.test)?;
            Some(format!("maybe {}:{} ({}): name {} in it", test.path, test.line, test.shown_name, criterion.id))
        });
        state = CriterionState::Open(suggested);
    }
    state
}

/// Runs the tests that a reviewer proposes for criteria, as any that `qa-criteria.yml` names. Unknown criteria are left
/// out.
pub(super) fn try_links(
    measurement: &Measurement<'_>,
    loaded: &LoadedPrp,
    projects: &[StackProject],
    links: &[(String, String)],
) -> Vec<GateReviewLink> {
    let known: Vec<(&AcceptanceCriterion, &String)> =
        links.iter().filter_map(|(id, test)| Some((loaded.prp.criterion(id)?, test))).collect();
    if known.is_empty() {
        return Vec::new();
    }
    let tests = measurement.tests_of(projects);
    let mut runs = SelectorRuns { measurement, item: "", ended: BTreeMap::new(), commands: Vec::new(), covering: None };
    let mut tried = Vec::new();
    for (criterion, test) in known {
        let state = match &tests {
            Ok(tests) => judge_selector(test, tests, &mut runs),
            Err(error) => CriterionState::Failed(error.clone()),
        };
        let reason = match state {
            CriterionState::Covered(_) => None,
            CriterionState::Failed(why) => Some(why),
            CriterionState::Open(_) => Some("nothing names it".to_owned()),
        };
        let (criterion, passed) = (criterion.id.clone(), reason.is_none());
        tried.push(GateReviewLink { criterion, test: test.clone(), passed, reason });
    }
    tried
}

/// A test that `qa-criteria.yml` names: `tests/test_api.py::test_page_size`.
fn judge_selector(selector: &str, tests: &[ProjectTests], runs: &mut SelectorRuns<'_>) -> CriterionState {
    for project in tests {
        let found = find_selected(&project.index, selector);
        if let Some(test) = found.first().and_then(|at| project.index.tests.get(*at)) {
            return runs.run_test(test, &project.project.dir);
        }
    }
    CriterionState::Failed(format!("there is no test {selector}"))
}

/// Runs of single tests, each of which is done once.
struct SelectorRuns<'a> {
    measurement: &'a Measurement<'a>,
    /// The id of the item about criteria.
    item: &'a str,
    ended: BTreeMap<(String, Vec<String>), CriterionState>,
    commands: Vec<String>,
    /// The last test that passed.
    covering: Option<CoveringTest>,
}

impl SelectorRuns<'_> {
    fn run_test(&mut self, test: &SelectableTest, dir: &str) -> CriterionState {
        let place = format!("{}:{} ({})", test.path, test.line, test.shown_name);
        if test.is_skipped {
            return CriterionState::Failed(format!("{place} is skipped"));
        }
        if test.selector.is_empty() {
            return CriterionState::Failed(format!("{place} cannot be run alone"));
        }
        match self.run_words(&test.selector, dir, true) {
            CriterionState::Failed(why) => CriterionState::Failed(format!("{place}: {why}")),
            state => {
                let path = if dir.is_empty() { test.path.clone() } else { format!("{dir}/{}", test.path) };
                let (words, dir) = (without_runner(&test.selector).to_vec(), dir.to_owned());
                self.covering = Some(CoveringTest { path, line: test.line, name: test.name.clone(), words, dir });
                state
            }
        }
    }

    /// Runs a command; `is_test` asks for a test that ran.
    fn run_words(&mut self, words: &[String], dir: &str, is_test: bool) -> CriterionState {
        let key = (dir.to_owned(), words.to_vec());
        if let Some(known) = self.ended.get(&key) {
            return known.clone();
        }
        let state = self.execute(words, dir, is_test);
        self.ended.insert(key, state.clone());
        state
    }

    fn execute(&mut self, words: &[String], dir: &str, is_test: bool) -> CriterionState {
        let root = &self.measurement.request.places.root;
        let words = without_runner(words);
        let Some(tool) = words.first() else { return CriterionState::Failed("the command is empty".to_owned()) };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let Some(program) = find_tool(tool, &root.join(dir), root, &path) else {
            return CriterionState::Failed(format!("{tool} is not installed"));
        };
        let mut command = self.measurement.command_in(dir, words, &program);
        // A person approved what is no test.
        command.item = (!is_test).then_some(self.item);
        self.commands.push(words.join(" "));
        match self.measurement.run_check(&command) {
            Err(error) => CriterionState::Failed(format!("{error:#}")),
            Ok(result) if result.code != Some(0) => CriterionState::Failed("it does not pass".to_owned()),
            Ok(result) if is_test && result.count_tests().unwrap_or(0) == 0 => {
                CriterionState::Failed("it did not run".to_owned())
            }
            Ok(_) => CriterionState::Covered(words.join(" ")),
        }
    }
}

/// Why a test that no recorded run saw failing is no red evidence; `None` where the trial showed it.
fn doubt_of_red(outcome: &RedOutcome) -> Option<String> {
    match outcome {
        RedOutcome::Red => None,
        RedOutcome::PassesOnBase => Some("it passes on the base's sources, too".to_owned()),
        RedOutcome::Unknown(reason) => Some(format!("no recorded run of this task, and {reason}")),
    }
}

/// A package runner in front of an installed tool has nothing left to do.
fn without_runner(words: &[String]) -> &[String] {
    match words {
        [runner, rest @ ..] if runner == "npx" => rest,
        words => words,
    }
}

fn finding(loaded: &LoadedPrp, criterion: &AcceptanceCriterion, why: &str, fix: Option<String>) -> GateFinding {
    GateFinding {
        path: Some(loaded.path.clone()),
        line: Some(criterion.line),
        message: format!("{} is not covered: {why}", criterion.id),
        fix,
        pattern: None,
    }
}
