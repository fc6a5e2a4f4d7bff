//! `[promotion]`: when a line may be proposed for CLAUDE.md or AGENTS.md, where, and how long it stays without
//! review.

use std::path::PathBuf;

use super::learning::NumericSetting;

/// `[promotion]`: what may be proposed for CLAUDE.md and AGENTS.md.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct PromotionSettings {
    /// `effectiveness`: share of the warned tasks that must have avoided the pattern.
    pub effectiveness: f64,
    /// `tasks`: number of distinct tasks in which the pattern must have been seen.
    pub tasks: u64,
    /// `confidence`: confidence that the pattern must have.
    pub confidence: f64,
    /// `knowledge_confidence`: confidence that an entry or remedy must have.
    pub knowledge_confidence: f64,
    /// `knowledge_occurrences`: number of occurrences of what the entry or remedy helps against.
    pub knowledge_occurrences: u64,
    /// `evidence`: evidence (an e-value) from which a proposal is strong; 20, the minimum, is wrong in one of
    /// twenty histories.
    pub evidence: f64,
    /// `lines`: maximum number of lines of a block.
    pub lines: u64,
    /// `coverage`: share of the failures that must lie below the folder whose file is written.
    pub coverage: f64,
    /// `target`: the file that is written, relative to the root; the nearest one when not set.
    pub target: Option<PathBuf>,
    /// `rules`: write files of `.claude/rules`, which are loaded with the files they are about.
    pub rules: bool,
    /// `retire_tasks`: tasks with the pattern after its promotion from which retirement is proposed.
    pub retire_tasks: u64,
    /// `retire_days`: days without the pattern after which retirement is proposed.
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
    pub(super) fn figure(&mut self, key: &str) -> Option<NumericSetting<'_>> {
        let share = |value| NumericSetting::Share(value, 0.0..=1.0);
        Some(match key {
            "effectiveness" => share(&mut self.effectiveness),
            "tasks" => NumericSetting::Count(&mut self.tasks, 1..=1_000_000),
            "confidence" => share(&mut self.confidence),
            "knowledge_confidence" => share(&mut self.knowledge_confidence),
            "knowledge_occurrences" => NumericSetting::Count(&mut self.knowledge_occurrences, 1..=1_000_000),
            "evidence" => NumericSetting::Share(&mut self.evidence, 20.0..=1_000_000.0),
            "lines" => NumericSetting::Count(&mut self.lines, 1..=200),
            "coverage" => NumericSetting::Share(&mut self.coverage, 0.5..=1.0),
            "retire_tasks" => NumericSetting::Count(&mut self.retire_tasks, 1..=1_000_000),
            "retire_days" => NumericSetting::Count(&mut self.retire_days, 1..=36_500),
            _ => return None,
        })
    }
}
