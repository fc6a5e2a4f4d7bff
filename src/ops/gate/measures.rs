//! Measures complexity, comments and duplication of what a change touches.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::evidence::{ToolComplexity, source_endings};
use super::judged_functions::{JudgedFunction, JudgedFunctions};
use super::measurement::Measurement;
use crate::base::text;
use crate::config::ComplexitySource;
use crate::event::GateFinding;
use crate::gate::judge::ItemEvidence;
use crate::gate::measure::FunctionMeasure;
use crate::gate::plan::{PlannedItem, PlannedSource};
use crate::gate::policy::{ChecklistItem, JudgedScope, Metric, MetricValue, Truth};
use crate::gate::stack::{StackProject, is_foreign_folder};

/// Legacy functions that the details name.
const LEGACY_NAMED_MAX: usize = 3;
/// A tool's figure and the built-in one may differ by this without a word.
const DISAGREEMENT_MAX: u32 = 2;

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
        let dir = planned.dir.as_deref().unwrap_or_default();
        let mut judged = match self.judged_functions(item, dir, planned.stack.as_deref()) {
            Ok(judged) => judged,
            Err(error) => return ItemEvidence::unknown(item, format!("{error:#}")),
        };
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
        if let Some(tool) = tool {
            evidence.details.extend(tool.reused.map(|when| format!("not run again: {when}")));
            evidence.commands.push(tool.command);
        }
        evidence
    }

    /// The evidence for an item about comments in complex functions.
    pub(super) fn measure_comments(&self, item: &ChecklistItem, projects: &[StackProject]) -> ItemEvidence {
        let mut judged = JudgedFunctions::default();
        for project in projects {
            match self.judged_functions(item, &project.dir, Some(&project.stack)) {
                Ok(further) => judged.extend(further),
                Err(error) => return ItemEvidence::unknown(item, format!("{error:#}")),
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

    pub(super) fn measure_deadline(&self) -> Instant {
        Instant::now() + Duration::from_secs(self.request.settings().gate.measure_seconds)
    }

    pub(super) fn out_of_time(&self) -> String {
        format!("it was not measured within {} s (gate.measure_seconds)", self.request.settings().gate.measure_seconds)
    }

    /// The functions that are judged in a project: those that the change touches, or all of them. Each project is measured
    /// once.
    fn judged_functions(
        &self,
        item: &ChecklistItem,
        dir: &str,
        stack: Option<&str>,
    ) -> anyhow::Result<JudgedFunctions> {
        let key = (dir.to_owned(), stack.map(str::to_owned), item.scope == JudgedScope::All);
        let mut known = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(judged) = known.get(&key) {
            return Ok(judged.clone());
        }
        let mut judged = JudgedFunctions::default();
        let is_judged = |path: &str| is_source_of(path, dir, stack);
        let deadline = self.measure_deadline();
        if item.scope == JudgedScope::All {
            let paths: Vec<&str> =
                self.change.paths.iter().map(String::as_str).filter(|path| is_judged(path)).collect();
            let mut is_read = vec![false; paths.len()];
            self.change.read_each_text(self.request, &paths, |at, text| {
                anyhow::ensure!(Instant::now() < deadline, self.out_of_time());
                is_read[at] = true;
                judged.add_file(paths[at], text, None, |_| true);
                Ok(())
            })?;
            let unread = paths.iter().zip(is_read).filter(|(_, is_read)| !is_read);
            unread.for_each(|(path, _)| judged.note_unread(path));
        } else {
            for file in self.change.files.iter().filter(|file| is_judged(&file.path)) {
                anyhow::ensure!(Instant::now() < deadline, self.out_of_time());
                if file.is_unread {
                    judged.note_unread(&file.path);
                }
                let Some(after) = &file.after else { continue };
                let touches = |function: &FunctionMeasure| file.touches(function.first_line, function.last_line);
                judged.add_file(&file.path, after, file.before.as_deref(), touches);
            }
        }
        known.insert(key, judged.clone());
        Ok(judged)
    }
}

/// Whether a file is a source file of this stack in a project's folder.
pub(super) fn is_source_of(path: &str, dir: &str, stack: Option<&str>) -> bool {
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
