//! `[promotion]`: from when on something may be written into CLAUDE.md or AGENTS.md, where, and how long it stays unasked.

use std::path::PathBuf;

use super::learning::Figure;

/// `[promotion]`
#[derive(Debug, Clone, PartialEq)]
pub struct PromotionSettings {
    /// `effectiveness`: of the tasks that were warned of a pattern so many have to have done without it …
    pub effectiveness: f64,
    /// `tasks`: … it has to have been seen in so many distinct tasks …
    pub tasks: u64,
    /// `confidence`: … and be believed so far.
    pub confidence: f64,
    /// `knowledge_confidence`: what is known to help has to be believed so far …
    pub knowledge_confidence: f64,
    /// `knowledge_occurrences`: … and what it helps against to have happened so often.
    pub knowledge_occurrences: u64,
    /// `evidence`: a proposal is strong when the evidence that warnings prevent is this high; 20, the least, errs in one of twenty
    /// histories.
    pub evidence: f64,
    /// `lines`: a block has no more lines.
    pub lines: u64,
    /// `coverage`: the folder that instructions are for has at least this share of the failures below it.
    pub coverage: f64,
    /// `target`: the file that is written, relative to the root. `None` finds the nearest.
    pub target: Option<PathBuf>,
    /// `rules`: write files of `.claude/rules` instead, which are read with the files that they are about.
    pub rules: bool,
    /// `retire_tasks`: what was seen again in so many tasks after its promotion didn't help by it.
    pub retire_tasks: u64,
    /// `retire_days`: what wasn't seen for so many days needs no line any more.
    pub retire_days: u64,
}

impl Default for PromotionSettings {
    fn default() -> Self {
        PromotionSettings {
            effectiveness: 0.8,
            tasks: 5,
            confidence: 0.8,
            knowledge_confidence: 0.8,
            knowledge_occurrences: 3,
            evidence: 20.0,
            lines: 15,
            coverage: 0.8,
            target: None,
            rules: false,
            retire_tasks: 1,
            retire_days: 90,
        }
    }
}

impl PromotionSettings {
    /// The figure called `key`.
    pub(super) fn figure(&mut self, key: &str) -> Option<Figure<'_>> {
        let share = |value| Figure::Share(value, 0.0..=1.0);
        Some(match key {
            "effectiveness" => share(&mut self.effectiveness),
            "tasks" => Figure::Count(&mut self.tasks, 1..=1_000_000),
            "confidence" => share(&mut self.confidence),
            "knowledge_confidence" => share(&mut self.knowledge_confidence),
            "knowledge_occurrences" => Figure::Count(&mut self.knowledge_occurrences, 1..=1_000_000),
            "evidence" => Figure::Share(&mut self.evidence, 20.0..=1_000_000.0),
            "lines" => Figure::Count(&mut self.lines, 1..=200),
            "coverage" => Figure::Share(&mut self.coverage, 0.5..=1.0),
            "retire_tasks" => Figure::Count(&mut self.retire_tasks, 1..=1_000_000),
            "retire_days" => Figure::Count(&mut self.retire_days, 1..=36_500),
            _ => return None,
        })
    }
}
