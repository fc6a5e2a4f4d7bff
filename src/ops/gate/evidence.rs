//! Measures the items that commands give figures for: tests, lint, naming, complexity by a tool, and commands of the
//! checklist's own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::base_findings::NewFindings;
use super::execute::{CommandResult, GateCommand, NOTHING_DONE, failure_reason, folder_in};
use super::measurement::Measurement;
use super::memory::known_fix;
use crate::base::text;
use crate::event::{FlakeProof, GateFinding};
use crate::fix::weakened::WeakenedCheck;
use crate::gate::adapter::{
    Adapter, FunctionComplexity, ToolVerdict, judge_exit, read_complexity, read_findings, read_go_test,
};
use crate::gate::judge::ItemEvidence;
use crate::gate::plan::{PlannedItem, PlannedSource};
use crate::gate::policy::{ChecklistItem, MappedCommand, Metric, MetricValue};
use crate::ops::fix::list_flakes;
use crate::ops::last::LastFailure;
use crate::ops::request::Request;
use crate::whitelist::CheckKind;

/// Known flakes that are looked at.
const FLAKES_MAX: usize = 1_000;
impl<'a> Measurement<'a> {
    /// The evidence of a planned item whose figures a command gives.
    pub(super) fn measure_command(
        &self,
        item: &ChecklistItem,
        measure: Option<MappedCommand>,
        planned: &PlannedItem,
        rules: &[String],
    ) -> ItemEvidence {
        let PlannedSource::Command { argv, program, adapter, tool_at, is_shell, .. } = &planned.source else {
            return ItemEvidence::unknown(item, planned.notes.join("; "));
        };
        let Some(program) = program else {
            return ItemEvidence::unknown(item, planned.notes.join("; "));
        };
        let dir = planned.dir.as_deref().unwrap_or_default();
        let files = self.files_of_project(dir, planned.stack.as_deref());
        let needs_files = argv.iter().any(|word| word == "{files}");
        if needs_files && files.is_empty() {
            return ItemEvidence::without_application("the change has no source file of this stack");
        }
        // A package runner in front of an installed tool has nothing left to do.
        let words: Vec<String> = argv[if *is_shell { 0 } else { *tool_at }..]
            .iter()
            .flat_map(|word| if word == "{files}" { files.clone() } else { vec![word.clone()] })
            .collect();
        let mut command = self.command_in(dir, &words, program);
        // What the command printed is in no receipt.
        command.reuses &= item.reuses && item.printed.is_none();
        command.item = measure.is_none().then_some(item.id.as_str());
        command.as_written = (*tool_at > 0 && !*is_shell && !needs_files).then_some(argv.as_slice());
        let (result, flakes) = match self.run_command(measure, &mut command) {
            Ok(ended) => ended,
            Err(error) => return ItemEvidence::unknown(item, format!("{error:#}")),
        };
        let tool = Path::new(&words[0]).file_name().map_or_else(String::new, |it| it.to_string_lossy().into_owned());
        let reused = result.reused.clone();
        let passed_second = !flakes.is_empty() && result.code == Some(0);
        let run = ToolRun { tool, result, adapter: adapter.and_then(Adapter::from_name), dir };
        let mut evidence = match measure {
            Some(MappedCommand::Test) => self.judge_tests(item, &run),
            Some(MappedCommand::Lint | MappedCommand::Typecheck) => match self.old_findings(item, &command, &run) {
                Ok(old) => self.judge_lint(&run, old),
                Err(reason) => ItemEvidence::unknown(item, reason),
            },
            Some(MappedCommand::Naming) => self.judge_naming(item, &run, rules),
            Some(MappedCommand::Complexity | MappedCommand::Duplication) => {
                ItemEvidence::unknown(item, "this measure has an evaluation of its own")
            }
            None => judge_printed(item, &run),
        };
        evidence.commands.push(words.join(" "));
        if passed_second {
            evidence.details.push(format!("passed on the second try: flake {}", flakes.join(", ")));
        }
        evidence.details.extend(reused.map(|receipt| format!("not run again: {receipt}")));
        evidence.details.extend(planned.notes.iter().cloned());
        evidence
    }

    /// Runs a command, tests a second time where their failure may be one of proven flakes; then with their patterns.
    fn run_command(
        &self,
        measure: Option<MappedCommand>,
        command: &mut GateCommand<'_>,
    ) -> anyhow::Result<(CommandResult, Vec<String>)> {
        let is_check =
            matches!(measure, None | Some(MappedCommand::Test | MappedCommand::Lint | MappedCommand::Typecheck));
        let result = if is_check { self.run_check(command) } else { self.run_tool(command) }?;
        if measure != Some(MappedCommand::Test) {
            return Ok((result, Vec::new()));
        }
        if result.reused.is_some() && result.count_tests().is_none() {
            // The receipt of a command whose tests verify-run does not count.
            command.reuses = false;
            return Ok((self.run_check(command)?, Vec::new()));
        }
        let flakes = proven_flakes(self.request, &result);
        let result = if flakes.is_empty() { result } else { self.run_check(command)? };
        Ok((result, flakes))
    }

    /// The functions that a complexity tool counts in the changed files of a project, by file and line.
    ///
    /// # Errors
    /// Why it gives no figures.
    pub(super) fn tool_complexity(&self, planned: &PlannedItem) -> Result<ToolComplexity, String> {
        let PlannedSource::Command { argv, program: Some(program), adapter, tool_at, .. } = &planned.source else {
            return Err(planned.notes.join("; "));
        };
        let adapter =
            adapter.and_then(Adapter::from_name).ok_or_else(|| format!("{} has no adapter", argv.join(" ")))?;
        let dir = planned.dir.as_deref().unwrap_or_default();
        let files = self.files_of_project(dir, planned.stack.as_deref());
        let words: Vec<String> = argv[*tool_at..]
            .iter()
            .flat_map(|word| if word == "{files}" { files.clone() } else { vec![word.clone()] })
            .collect();
        let command = self.command_in(dir, &words, program);
        let result = self.run_tool(&command).map_err(|error| format!("{error:#}"))?;
        if result.code.is_none() {
            return Err(failure_reason(&words[0], &result));
        }
        let functions = read_complexity(adapter, &result.text)?;
        let functions = functions.into_iter().map(|it| FunctionComplexity { file: self.relative(dir, &it.file), ..it });
        let (functions, command) = (functions.collect(), words.join(" "));
        Ok(ToolComplexity { functions, command, name: adapter.name(), reused: result.reused })
    }

    /// A command of this evaluation in a project's folder.
    pub(super) fn command_in<'b>(&'b self, dir: &str, argv: &'b [String], program: &'b Path) -> GateCommand<'b> {
        GateCommand {
            argv,
            program,
            dir: folder_in(&self.request.places.root, dir),
            evaluation: self.evaluation,
            feature: self.feature,
            limit: self.limit,
            reuses: self.reuses,
            item: None,
            as_written: None,
        }
    }

    /// The changed source files of a stack in a project, relative to the project's folder.
    pub(super) fn files_of_project(&self, dir: &str, stack: Option<&str>) -> Vec<String> {
        let endings = stack.map_or(&[][..], source_endings);
        let inside = |path: &String| {
            let inside = if dir.is_empty() { Some(path.as_str()) } else { path.strip_prefix(dir)?.strip_prefix('/') };
            inside.map(str::to_owned)
        };
        let is_source = |path: &String| endings.iter().any(|ending| path.ends_with(ending));
        self.change.present_paths().iter().filter_map(inside).filter(is_source).map(safe_argument).collect()
    }

    /// A path that a tool printed in `dir`, relative to the root.
    fn relative(&self, dir: &str, printed: &str) -> String {
        let root = &self.request.places.root;
        let path = root.join(dir).join(printed);
        let path: PathBuf = path.components().filter(|part| !matches!(part, std::path::Component::CurDir)).collect();
        path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned()
    }

    fn judge_tests(&self, item: &ChecklistItem, run: &ToolRun<'_>) -> ItemEvidence {
        if run.result.is_late || run.result.stopped.is_some() {
            return ItemEvidence::unknown(item, failure_reason(&run.tool, &run.result));
        }
        let mut evidence = ItemEvidence::default();
        let counted = match run.adapter {
            Some(Adapter::GoTest) if run.result.reused.is_none() => {
                read_go_test(&run.result.text).ok().map(|counts| counts.ran())
            }
            _ => run.result.count_tests(),
        };
        let failing = run.result.count_failures();
        let passing = counted.map(|ran| ran.saturating_sub(failing));
        let exit = match (run.exit_code(), counted) {
            (Ok(0), None) if item.has_guards => Err("how many tests ran cannot be read from the output".to_owned()),
            (Ok(0), Some(0)) => Err("no test ran".to_owned()),
            (exit, _) => exit.map_err(|reason| if counted == Some(0) { "no test ran".to_owned() } else { reason }),
        };
        let unknown = || MetricValue::Unknown("how many tests ran cannot be read from the output".to_owned());
        let number = |count: Option<u64>| count.map_or_else(unknown, |count| MetricValue::Number(count as f64));
        evidence.values.extend([
            (Metric::TestsRun, number(counted)),
            (Metric::TestsPassing, number(passing)),
            (Metric::TestsFailing, MetricValue::Number(failing as f64)),
        ]);
        evidence
            .values
            .insert(Metric::ExitCode, exit.map_or_else(MetricValue::Unknown, |code| MetricValue::Number(code.into())));
        evidence.details.extend(passing.map(|passing| format!("{passing} passing")));
        if failing > 0 {
            evidence.details.push(format!("{failing} failing"));
        }
        evidence.findings.extend(run.result.failures.iter().map(|failure| finding_of(failure, self, run.dir)));
        self.add_weakened(&mut evidence, CheckKind::Test);
        evidence
    }

    /// Judges a linter; of `new` findings alone where the base is subtracted.
    fn judge_lint(&self, run: &ToolRun<'_>, new: Option<NewFindings>) -> ItemEvidence {
        let mut evidence = ItemEvidence::default();
        let mut exit = run.exit_code();
        let is_clean = exit == Ok(0);
        let (mut errors, mut failures) = (run.result.count_failures(), run.result.failures.clone());
        if let Some(new) = new {
            evidence.details.push(format!("{} new, {} as before", new.count, new.as_before));
            evidence.values.insert(Metric::Introduced, MetricValue::Number(new.count as f64));
            if new.is_all_that_counts {
                // A linter that finds nothing new is as good as a clean one.
                exit = exit.map(|code| if new.count == 0 { 0 } else { code });
                (errors, failures) = (new.count, new.findings);
            }
        } else if exit.is_ok() {
            evidence.details.push(text::count(if is_clean { 0 } else { errors.max(1) }, "error"));
            if is_clean {
                evidence.values.insert(Metric::Introduced, MetricValue::Number(0.0));
            }
        }
        evidence.values.insert(Metric::Errors, MetricValue::Number(errors as f64));
        evidence
            .values
            .insert(Metric::ExitCode, exit.map_or_else(MetricValue::Unknown, |code| MetricValue::Number(code.into())));
        evidence.findings.extend(failures.iter().map(|failure| finding_of(failure, self, run.dir)));
        self.add_weakened(&mut evidence, CheckKind::Lint);
        evidence
    }

    /// What of a linter's findings is new, where the item asks for that.
    ///
    /// # Errors
    /// Why the base could not be looked at.
    fn old_findings(
        &self,
        item: &ChecklistItem,
        command: &GateCommand<'_>,
        run: &ToolRun<'_>,
    ) -> Result<Option<NewFindings>, String> {
        let is_asked = item.holds_the_line || item.expression.metrics().contains(&Metric::Introduced);
        let has_failed = run.exit_code().is_ok_and(|code| code != 0);
        if !is_asked || !has_failed {
            return Ok(None);
        }
        let recorded = run.result.run.as_ref().ok_or("the run of the linter is not in the store")?;
        let new = self.subtract_base(recorded, command, run.dir)?;
        Ok(Some(NewFindings { is_all_that_counts: item.holds_the_line, ..new }))
    }

    /// Adds where the change weakens checks of this kind.
    pub(super) fn add_weakened(&self, evidence: &mut ItemEvidence, kind: CheckKind) {
        const LINT_FAMILIES: [&str; 4] = ["disabled-rule", "excluded-file", "swallowed-status", "removed-check"];
        const TEST_FAMILIES: [&str; 1] = ["disabled-rule"];
        let concerns = |mark: &&WeakenedCheck| match kind {
            CheckKind::Lint => LINT_FAMILIES.contains(&mark.family.as_str()),
            _ => !TEST_FAMILIES.contains(&mark.family.as_str()) && mark.concerns(Some(CheckKind::Test)),
        };
        let marks: Vec<&WeakenedCheck> = self.weakened().iter().filter(concerns).collect();
        evidence.values.insert(Metric::Weakened, MetricValue::Fact(!marks.is_empty()));
        if !marks.is_empty() {
            evidence.details.push(format!("weakened in {}", text::count(marks.len(), "place")));
        }
        evidence.findings.extend(marks.into_iter().map(|mark| GateFinding {
            path: (!mark.path.is_empty()).then(|| mark.path.clone()),
            line: (mark.line > 0).then_some(mark.line),
            message: format!("this {}: {}", mark.message, text::one_line(&mark.text)),
            fix: Some("restore the check, or have a person waive the item with `verify-run gate waive`".to_owned()),
            pattern: None,
        }));
    }

    fn judge_naming(&self, item: &ChecklistItem, run: &ToolRun<'_>, rules: &[String]) -> ItemEvidence {
        let Some(adapter) = run.adapter else {
            return ItemEvidence::unknown(item, format!("{} has no adapter that reads names", run.tool));
        };
        if judge_exit(&run.tool, run.result.code.unwrap_or(-1)) == ToolVerdict::Failed {
            return ItemEvidence::unknown(item, failure_reason(&run.tool, &run.result));
        }
        let found = match read_findings(adapter, &run.result.text) {
            Ok(found) => found,
            Err(reason) => return ItemEvidence::unknown(item, reason),
        };
        let changed = self.changed_lines();
        let mut evidence = ItemEvidence::default();
        for finding in found {
            let path = self.relative(run.dir, &finding.file);
            let is_changed = changed.get(path.as_str()).is_some_and(|lines| lines.contains(&finding.line));
            if (rules.is_empty() || rules.contains(&finding.rule)) && is_changed {
                evidence.findings.push(GateFinding {
                    path: Some(path),
                    line: Some(finding.line),
                    message: format!("{} ({})", text::one_line(&finding.message), finding.rule),
                    ..GateFinding::default()
                });
            }
        }
        let count = evidence.findings.len();
        evidence.values.insert(Metric::NamingViolations, MetricValue::Number(count as f64));
        evidence.details.push(text::count(count, "violation"));
        evidence
    }

    /// The new lines of each changed file.
    pub(super) fn changed_lines(&self) -> BTreeMap<&str, BTreeSet<u32>> {
        let lines = |file: &'a super::change::ChangedFile| (file.path.as_str(), file.added.iter().copied().collect());
        self.change.files.iter().map(lines).collect()
    }
}

/// Figures of a complexity tool.
#[derive(Debug)]
pub(super) struct ToolComplexity {
    /// Functions, with their files relative to the root.
    pub functions: Vec<FunctionComplexity>,
    /// The command as it was executed.
    pub command: String,
    /// The tool.
    pub name: &'static str,
    /// When it was measured before, and need not be again.
    pub reused: Option<String>,
}

/// A tool that ran.
struct ToolRun<'a> {
    tool: String,
    result: CommandResult,
    adapter: Option<Adapter>,
    dir: &'a str,
}

impl ToolRun<'_> {
    /// The exit code of a tool that did its job.
    ///
    /// # Errors
    /// Why it did not.
    fn exit_code(&self) -> Result<i32, String> {
        match self.result.code {
            Some(code) if judge_exit(&self.tool, code) != ToolVerdict::Failed => {
                // The placeholder of a missing test script exits with 1 as well.
                let nothing = NOTHING_DONE.iter().find(|(words, _)| code != 0 && self.result.text.contains(words));
                nothing.map_or(Ok(code), |(_, reason)| Err((*reason).to_owned()))
            }
            _ => Err(failure_reason(&self.tool, &self.result)),
        }
    }
}

/// A command of the checklist's own: its exit code, and the number that it prints.
fn judge_printed(item: &ChecklistItem, run: &ToolRun<'_>) -> ItemEvidence {
    let mut evidence = ItemEvidence::default();
    let exit = run.exit_code();
    evidence.details.extend(exit.as_ref().ok().map(|code| format!("exit code {code}")));
    if let Some(printed) = &item.printed {
        let number = regex::Regex::new(&printed.pattern).ok().and_then(|regex| {
            let last = regex.captures_iter(&run.result.text).last()?;
            last.get(1)?.as_str().parse::<f64>().ok()
        });
        let value = number.map_or_else(
            || MetricValue::Unknown(format!("the command printed nothing that matches {:?}", printed.pattern)),
            MetricValue::Number,
        );
        evidence.details.extend(number.map(|number| format!("{} {number}", printed.metric)));
        evidence.values.insert(printed.metric, value);
    }
    evidence
        .values
        .insert(Metric::ExitCode, exit.map_or_else(MetricValue::Unknown, |code| MetricValue::Number(code.into())));
    evidence.findings.extend(run.result.failures.iter().map(|it| GateFinding {
        path: it.file.clone(),
        line: it.line,
        message: text::one_line(&it.message),
        fix: None,
        pattern: Some(it.pattern.clone()),
    }));
    evidence
}

/// A recorded failure as a finding, with the fix that helped before.
pub(super) fn finding_of(failure: &LastFailure, measurement: &Measurement<'_>, dir: &str) -> GateFinding {
    let message = match &failure.test {
        Some(test) => format!("{test}: {}", text::one_line(&failure.message)),
        None => text::one_line(&failure.message),
    };
    let is_known = |file: &String| measurement.change.paths.binary_search(file).is_ok();
    let path = failure.file.clone().map(|file| if is_known(&file) { file } else { measurement.relative(dir, &file) });
    let fix = known_fix(measurement.request, &failure.pattern);
    GateFinding { path, line: failure.line, message, fix, pattern: Some(failure.pattern.clone()) }
}

/// The patterns of what failed, where all of it is proven to come and go over the same tree.
fn proven_flakes(request: &Request, result: &CommandResult) -> Vec<String> {
    let failed: BTreeSet<&str> = result.failures.iter().map(|failure| failure.pattern.as_str()).collect();
    if failed.is_empty() {
        return Vec::new();
    }
    let flakes = list_flakes(request, FLAKES_MAX).map(|reply| reply.data.flakes).unwrap_or_default();
    let is_proven = |pattern: &&str| {
        flakes.iter().any(|flake| flake.pattern.as_deref() == Some(*pattern) && flake.proof == FlakeProof::Proven)
    };
    if failed.iter().all(is_proven) { failed.into_iter().map(str::to_owned).collect() } else { Vec::new() }
}

/// Endings of the source files of a stack.
pub(super) fn source_endings(stack: &str) -> &'static [&'static str] {
    match stack {
        "node_typescript" => &[".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"],
        "javascript" => &[".js", ".jsx", ".mjs", ".cjs"],
        "python" => &[".py"],
        "golang" => &[".go"],
        "lua" => &[".lua"],
        "rust" => &[".rs"],
        "java" => &[".java"],
        _ => &[],
    }
}

/// A path that no tool takes for an option.
fn safe_argument(path: String) -> String {
    if path.starts_with('-') { format!("./{path}") } else { path }
}
