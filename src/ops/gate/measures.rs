//! Measures complexity, comments and duplication of what a change touches.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::Context;

use super::change::{ChangedFile, read_texts};
use super::evidence::{Measurement, ToolComplexity, source_endings};
use crate::base::text;
use crate::config::ComplexitySource;
use crate::event::GateFinding;
use crate::gate::judge::ItemEvidence;
use crate::gate::measure::{
    ChangedFile as DuplicationChange, DuplicationIndex, FunctionMeasure, SourceLanguage, find_earlier_version,
    measure_functions,
};
use crate::gate::plan::{PlannedItem, PlannedSource};
use crate::gate::policy::{ChecklistItem, JudgedScope, Metric, MetricValue, Truth};
use crate::gate::stack::{StackProject, is_foreign_folder};

/// Legacy functions that the details name.
const LEGACY_NAMED_MAX: usize = 3;
/// A tool's figure and the built-in one may differ by this without a word.
const DISAGREEMENT_MAX: u32 = 2;
/// With fewer new lines a share of them proves nothing: SonarQube's quality gates have the same limit.
const NEW_LINES_MIN: usize = 20;

/// A function that an item judges.
#[derive(Debug, Clone)]
struct JudgedFunction {
    path: String,
    name: String,
    line: u32,
    complexity: u32,
    /// Its complexity in the base; `None` of a new one.
    before: Option<u32>,
    has_documentation: bool,
}

impl JudgedFunction {
    /// Whether the change made it worse, or made it.
    fn is_worse(&self) -> bool {
        self.before.is_none_or(|before| self.complexity > before)
    }

    fn place(&self) -> String {
        format!("{}, {}:{}", self.name, self.path, self.line)
    }
}

/// The functions of a project that an item judges.
#[derive(Debug, Default)]
struct JudgedFunctions {
    functions: Vec<JudgedFunction>,
    /// Files that could not be measured, with the reason.
    unread: Vec<String>,
}

impl Measurement<'_> {
    /// The evidence for an item about the complexity of functions.
    pub(super) fn measure_complexity(&self, item: &ChecklistItem, planned: &PlannedItem) -> ItemEvidence {
        let source = self.request.settings().gate.complexity;
        let tool = match &planned.source {
            PlannedSource::Command { program: Some(_), .. } if source != ComplexitySource::Builtin => {
                match self.tool_complexity(planned) {
                    Ok(tool) => Some(tool),
                    Err(reason) => return ItemEvidence::unknown(item, reason),
                }
            }
            _ => None,
        };
        let mut judged = JudgedFunctions::default();
        let dir = planned.dir.as_deref().unwrap_or_default();
        if let Err(error) = self.add_judged_functions(item, dir, planned.stack.as_deref(), &mut judged) {
            return ItemEvidence::unknown(item, format!("{error:#}"));
        }
        if let Some(unread) = judged.unread.first() {
            return ItemEvidence::unknown(item, unread.clone());
        }
        if judged.functions.is_empty() {
            return ItemEvidence::without_application("the change has no function");
        }
        let takes_both = source == ComplexitySource::Both;
        let disagreements =
            tool.as_ref().map(|tool| take_figures(&mut judged.functions, tool, takes_both)).unwrap_or_default();
        let source = match &tool {
            Some(tool) if takes_both => format!("{}, builtin", tool.name),
            Some(tool) => tool.name.to_owned(),
            None => "builtin".to_owned(),
        };
        let mut evidence = judge_complexity(item, judged.functions, &source);
        evidence.details.extend(disagreements);
        evidence.details.extend(planned.notes.iter().cloned());
        evidence.commands.extend(tool.map(|tool| tool.command));
        evidence
    }

    /// The evidence for an item about comments in complex functions.
    pub(super) fn measure_comments(&self, item: &ChecklistItem, projects: &[StackProject]) -> ItemEvidence {
        let mut judged = JudgedFunctions::default();
        for project in projects {
            if let Err(error) = self.add_judged_functions(item, &project.dir, Some(&project.stack), &mut judged) {
                return ItemEvidence::unknown(item, format!("{error:#}"));
            }
        }
        if let Some(unread) = judged.unread.first() {
            return ItemEvidence::unknown(item, unread.clone());
        }
        let complex: Vec<JudgedFunction> =
            judged.functions.into_iter().filter(|it| u64::from(it.complexity) >= item.complex_from).collect();
        if complex.is_empty() {
            let least = item.complex_from;
            return ItemEvidence::without_application(format!(
                "the change has no function of complexity {least} or more"
            ));
        }
        let mut evidence = ItemEvidence::default();
        let bare = complex.iter().filter(|function| !function.has_documentation);
        evidence.findings.extend(bare.map(|function| GateFinding {
            path: Some(function.path.clone()),
            line: Some(function.line),
            message: format!("{} has a complexity of {} and no comment", function.name, function.complexity),
            ..GateFinding::default()
        }));
        let is_met = evidence.findings.is_empty();
        evidence.values.insert(Metric::ComplexFuncsDocumented, MetricValue::Fact(is_met));
        evidence.details.push(format!(
            "{} of {}",
            complex.len() - evidence.findings.len(),
            text::count(complex.len(), "function")
        ));
        evidence
    }

    /// The evidence for an item about duplicated code: the new lines of a project's sources against the whole tree.
    pub(super) fn measure_duplication(&self, item: &ChecklistItem, planned: &PlannedItem) -> ItemEvidence {
        let dir = planned.dir.as_deref().unwrap_or_default();
        let stack = planned.stack.as_deref();
        let is_all = item.scope == JudgedScope::All;
        let is_judged_file = |path: &str| is_source_of(path, dir, stack) && !is_generated(path);
        if let Some(unread) = self.change.files.iter().find(|file| file.is_unread && is_judged_file(&file.path)) {
            return ItemEvidence::unknown(item, format!("{} is larger than 2 MiB or no text", unread.path));
        }
        let lines: BTreeMap<&str, BTreeSet<u32>> = self
            .change
            .files
            .iter()
            .filter(|file| file.after.is_some() && is_judged_file(&file.path))
            .map(|file| (file.path.as_str(), file.added.iter().copied().collect()))
            .collect();
        let new_lines: usize = lines.values().map(BTreeSet::len).sum();
        if !is_all && new_lines < NEW_LINES_MIN {
            return ItemEvidence::without_application(format!("too few new lines to judge ({new_lines})"));
        }
        let measured = self.index_sources(dir, stack).map(|mut index| {
            let changed: Vec<DuplicationChange<'_>> =
                lines.iter().map(|(path, lines)| DuplicationChange { path, lines }).collect();
            if is_all { index.measure_tree() } else { index.measure_change(&changed) }
        });
        let measure = match measured {
            Ok(measure) => measure,
            Err(error) => return ItemEvidence::unknown(item, format!("{error:#}")),
        };
        let mut evidence = ItemEvidence::default();
        let percentage = measure.percentage();
        evidence.values.insert(Metric::DuplicationPercentage, MetricValue::Number(percentage));
        evidence.values.insert(Metric::DuplicatedLines, MetricValue::Number(measure.duplicated_lines as f64));
        evidence.details.push(format!("{percentage:.1}% ({} of {} lines)", measure.duplicated_lines, measure.lines));
        evidence.findings.extend(measure.blocks.into_iter().map(|block| GateFinding {
            message: format!(
                "lines {} to {} are also {}:{}-{}",
                block.place.first_line,
                block.place.last_line,
                block.other.path,
                block.other.first_line,
                block.other.last_line
            ),
            path: Some(block.place.path),
            line: Some(block.place.first_line),
            ..GateFinding::default()
        }));
        evidence
    }

    fn measure_deadline(&self) -> Instant {
        Instant::now() + Duration::from_secs(self.request.settings().gate.measure_seconds)
    }

    fn out_of_time(&self) -> String {
        format!("it was not measured within {} s (gate.measure_seconds)", self.request.settings().gate.measure_seconds)
    }

    /// The sources of a stack in the whole tree.
    fn index_sources(&self, dir: &str, stack: Option<&str>) -> anyhow::Result<DuplicationIndex> {
        let is_judged = |path: &&String| is_source_of(path, dir, stack) && !is_generated(path);
        let paths: Vec<String> = self.change.paths.iter().filter(is_judged).cloned().collect();
        let deadline = self.measure_deadline();
        let texts = read_texts(self.request, &self.change.tree, &paths)?;
        let mut index = DuplicationIndex::default();
        for (path, text) in paths.iter().zip(texts) {
            anyhow::ensure!(Instant::now() < deadline, self.out_of_time());
            if let (Some(language), Some(text)) = (SourceLanguage::from_path(path), text) {
                index.add_file(path, language, &text).with_context(|| format!("cannot measure {path}"))?;
            }
        }
        Ok(index)
    }

    /// Adds the functions that are judged in a project: those that the change touches, or all of them.
    fn add_judged_functions(
        &self,
        item: &ChecklistItem,
        dir: &str,
        stack: Option<&str>,
        judged: &mut JudgedFunctions,
    ) -> anyhow::Result<()> {
        let is_judged = |path: &str| is_source_of(path, dir, stack);
        let deadline = self.measure_deadline();
        if item.scope == JudgedScope::All {
            let paths: Vec<String> = self.change.paths.iter().filter(|path| is_judged(path)).cloned().collect();
            let texts = read_texts(self.request, &self.change.tree, &paths)?;
            for (path, text) in paths.iter().zip(texts) {
                anyhow::ensure!(Instant::now() < deadline, self.out_of_time());
                match text {
                    Some(text) => judged.add_file(path, &text, None, |_| true),
                    None => judged.note_unread(path),
                }
            }
            return Ok(());
        }
        for file in self.change.files.iter().filter(|file| is_judged(&file.path)) {
            anyhow::ensure!(Instant::now() < deadline, self.out_of_time());
            if file.is_unread {
                judged.note_unread(&file.path);
            }
            let Some(after) = &file.after else { continue };
            let touches = |function: &FunctionMeasure| file.touches(function.first_line, function.last_line);
            judged.add_file(&file.path, after, file.before.as_deref(), touches);
        }
        Ok(())
    }
}

impl JudgedFunctions {
    fn note_unread(&mut self, path: &str) {
        self.unread.push(format!("{path} cannot be measured: it is larger than 2 MiB or no text"));
    }

    fn add_file(
        &mut self,
        path: &str,
        after: &str,
        before: Option<&str>,
        is_judged: impl Fn(&FunctionMeasure) -> bool,
    ) {
        let Some(language) = SourceLanguage::from_path(path) else { return };
        let now = match measure_functions(language, after) {
            Ok(now) => now,
            Err(error) => {
                self.unread.push(format!("{path} cannot be measured: {error}"));
                return;
            }
        };
        let earlier = before.and_then(|before| measure_functions(language, before).ok()).unwrap_or_default();
        for function in now.iter().filter(|function| is_judged(function)) {
            let before = find_earlier_version(function, &now, &earlier).map(|earlier| earlier.complexity);
            self.functions.push(JudgedFunction {
                path: path.to_owned(),
                name: function.name.clone(),
                line: function.first_line,
                complexity: function.complexity,
                before,
                has_documentation: function.has_documentation,
            });
        }
    }
}

impl ChangedFile {
    /// Whether the change adds a line within these, or removes one between them.
    fn touches(&self, first: u32, last: u32) -> bool {
        self.touched.iter().any(|line| (first..=last).contains(line))
    }
}

/// Whether a file is a source file of this stack in a project's folder.
fn is_source_of(path: &str, dir: &str, stack: Option<&str>) -> bool {
    let is_inside = dir.is_empty() || path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
    let endings = stack.map_or(&[][..], source_endings);
    is_inside && endings.iter().any(|ending| path.ends_with(ending)) && !path.split('/').any(is_foreign_folder)
}

/// Takes over the tool's figure of each function that it begins in the same line; of two figures the higher one where
/// both count. Returns where the two are far from each other then.
fn take_figures(functions: &mut [JudgedFunction], tool: &ToolComplexity, takes_both: bool) -> Vec<String> {
    let mut figures: BTreeMap<(&str, u32), u32> = BTreeMap::new();
    for function in &tool.functions {
        figures.insert((&function.file, function.line), function.complexity);
    }
    let mut disagreements = Vec::new();
    for function in functions {
        // A decorator or a parameter list may be where the tool has its line.
        let near = (0..=2).find_map(|offset| figures.get(&(function.path.as_str(), function.line + offset)));
        let Some(&figure) = near else { continue };
        let own = function.complexity;
        if takes_both && figure.abs_diff(own) > DISAGREEMENT_MAX && disagreements.len() < LEGACY_NAMED_MAX {
            disagreements.push(format!("{}: {} counts {figure}, builtin {own}", function.place(), tool.name));
        }
        function.complexity = if takes_both { figure.max(own) } else { figure };
    }
    disagreements
}

/// A function is a finding if it breaks the condition and the change made it worse. What was as complex before is named.
fn judge_complexity(item: &ChecklistItem, functions: Vec<JudgedFunction>, source: &str) -> ItemEvidence {
    let breaks = |complexity: u32| {
        let values = BTreeMap::from([(Metric::MaxComplexity, MetricValue::Number(complexity.into()))]);
        item.expression.evaluate(&values) == Truth::False
    };
    let mut evidence = ItemEvidence::default();
    let (legacy, judged): (Vec<JudgedFunction>, Vec<JudgedFunction>) =
        functions.into_iter().partition(|function| breaks(function.complexity) && !function.is_worse());
    let highest = judged.iter().max_by_key(|function| function.complexity);
    let value = highest.map_or(0, |function| function.complexity);
    evidence.values.insert(Metric::MaxComplexity, MetricValue::Number(value.into()));
    evidence.details.push(match highest {
        Some(function) => format!("Max: {value} ({}; {source})", function.place()),
        None => format!("Max: 0 ({source})"),
    });
    let named: Vec<String> =
        legacy.iter().take(LEGACY_NAMED_MAX).map(|it| format!("{} ({})", it.complexity, it.place())).collect();
    if !legacy.is_empty() {
        let more = legacy.len().saturating_sub(named.len());
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        evidence.details.push(format!("as complex as before: {}{more}", named.join(", ")));
    }
    evidence.findings.extend(judged.into_iter().filter(|it| breaks(it.complexity)).map(|function| {
        let before = function.before.map_or_else(String::new, |before| format!(", before {before}"));
        GateFinding {
            message: format!("{} has a complexity of {}{before}", function.name, function.complexity),
            path: Some(function.path),
            line: Some(function.line),
            fix: Some("split the function".to_owned()),
            pattern: None,
        }
    }));
    evidence
}

/// Files that no person writes.
fn is_generated(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let folders: BTreeSet<&str> = path.split('/').collect();
    [".min.js", "_pb2.py", ".pb.go", ".generated.ts", ".d.ts"].iter().any(|ending| name.ends_with(ending))
        || ["fixtures", "testdata", "snapshots", "__snapshots__", "generated"].iter().any(|it| folders.contains(it))
}
