//! `[advice]`: warnings, their ranking, the holdout, and the switches.

use std::ffi::OsString;

use super::learning::NumericSetting;

/// `[advice]`: warnings, their ranking and the holdout. Each switch turns off one thing.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct AdviceSettings {
    /// `warnings` (or `ENABLE_QA_WARNINGS`): warn before an edit or a command.
    pub warnings: bool,
    /// `learning` (or `ENABLE_QA_LEARNING`): learn fixes, merge near-duplicate patterns, and measure warnings.
    pub learning: bool,
    /// `injection` (or `ENABLE_KNOWLEDGE_INJECTION`): include causes, rules, fixes and entries in warnings.
    pub injection: bool,
    /// `holdout`: hold some tasks out of warnings, to measure whether warnings help.
    pub holdout: bool,
    /// `holdout_share`: the share of tasks and families that is held out.
    pub holdout_share: f64,
    /// `salt`: changes which tasks are held out.
    pub salt: String,
    /// `limit`: maximum number of warnings, unless a number is asked for.
    pub limit: u64,
    /// `confidence_min`: a pattern with less confidence is marked as unconfirmed.
    pub confidence_min: f64,
    /// `occurrences_min`: a pattern with fewer failures is marked as unconfirmed.
    pub occurrences_min: u64,
    /// `relevance_min`: a warning that is less relevant to the task is not shown.
    pub relevance_min: f64,
    /// `score_min`: a warning with a lower score is not shown.
    pub score_min: f64,
    /// `weight_file`: relevance of a pattern by a file of the task alone.
    pub weight_file: f64,
    /// `weight_command`: relevance by the command alone.
    pub weight_command: f64,
    /// `weight_text`: relevance by the words of the task alone.
    pub weight_text: f64,
    /// `weight_similar`: relevance when every similar task failed with the pattern.
    pub weight_similar: f64,
    /// `folder`: weight of a folder relative to the very file.
    pub folder: f64,
    /// `extension`: weight of a file extension relative to the very file.
    pub extension: f64,
    /// `coverage`: share of a pattern's failures that a folder or an extension must hold to represent it.
    pub coverage: f64,
    /// `young_confidence`: upper bound of the confidence in an unconfirmed pattern.
    pub young_confidence: f64,
    /// `half_life_days`: days after which a task counts half.
    pub half_life_days: u64,
    /// `frequency_tasks`: number of tasks at which the frequency factor is one half.
    pub frequency_tasks: f64,
    /// `explore_exposures`: a pattern that was due less often may take the last place of a full list, so that its
    /// effect can be measured.
    pub explore_exposures: u64,
    /// `similar_paths`: weight of paths in the similarity of two tasks.
    pub similar_paths: f64,
    /// `similar_words`: weight of the words of their titles.
    pub similar_words: f64,
    /// `similar_commands`: weight of the commands that ran in them.
    pub similar_commands: f64,
    /// `similar_category`: weight of the kind of work, where it is known; the other weights shrink accordingly.
    pub similar_category: f64,
    /// `alike`: share of common words or paths from which two tasks are similar.
    pub alike: f64,
    /// `hint_ms`: time limit of the hint after a failure, in milliseconds; a late hint is not shown.
    pub hint_ms: u64,
    /// `hook_ms`: time limit of an agent's hook in milliseconds, from when its input was read; a late hook
    /// prints nothing.
    pub hook_ms: u64,
}

impl Default for AdviceSettings {
    fn default() -> Self {
        AdviceSettings {
            warnings: true,
            learning: true,
            injection: true,
            holdout: true,
            holdout_share: 0.10,
            salt: String::new(),
            limit: 5,
            confidence_min: 0.6,
            occurrences_min: 2,
            relevance_min: 0.25,
            score_min: 0.05,
            weight_file: 0.9,
            weight_command: 0.6,
            weight_text: 0.5,
            weight_similar: 0.7,
            folder: 0.7,
            extension: 0.4,
            coverage: 0.8,
            young_confidence: 0.5,
            half_life_days: 90,
            frequency_tasks: 3.0,
            explore_exposures: 5,
            similar_paths: 0.5,
            similar_words: 0.3,
            similar_commands: 0.2,
            similar_category: 0.2,
            alike: 0.5,
            hint_ms: 50,
            hook_ms: 200,
        }
    }
}

impl AdviceSettings {
    /// The share of tasks that is held out: 0 when that is turned off.
    pub fn held_out(&self) -> f64 {
        if self.holdout { self.holdout_share } else { 0.0 }
    }

    /// The switch called `key`.
    pub(super) fn switch(&mut self, key: &str) -> Option<&mut bool> {
        Some(match key {
            "warnings" => &mut self.warnings,
            "learning" => &mut self.learning,
            "injection" => &mut self.injection,
            "holdout" => &mut self.holdout,
            _ => return None,
        })
    }

    /// The figure called `key`.
    pub(super) fn figure(&mut self, key: &str) -> Option<NumericSetting<'_>> {
        let share = |value| NumericSetting::Share(value, 0.0..=1.0);
        Some(match key {
            "holdout_share" => NumericSetting::Share(&mut self.holdout_share, 0.0..=0.9),
            "limit" => NumericSetting::Count(&mut self.limit, 0..=50),
            "confidence_min" => share(&mut self.confidence_min),
            "occurrences_min" => NumericSetting::Count(&mut self.occurrences_min, 1..=1_000_000),
            "relevance_min" => share(&mut self.relevance_min),
            "score_min" => share(&mut self.score_min),
            "weight_file" => share(&mut self.weight_file),
            "weight_command" => share(&mut self.weight_command),
            "weight_text" => share(&mut self.weight_text),
            "weight_similar" => share(&mut self.weight_similar),
            "folder" => share(&mut self.folder),
            "extension" => share(&mut self.extension),
            "coverage" => share(&mut self.coverage),
            "young_confidence" => share(&mut self.young_confidence),
            "half_life_days" => NumericSetting::Count(&mut self.half_life_days, 1..=36_500),
            "frequency_tasks" => NumericSetting::Share(&mut self.frequency_tasks, 0.1..=1_000.0),
            "explore_exposures" => NumericSetting::Count(&mut self.explore_exposures, 0..=1_000_000),
            "similar_paths" => share(&mut self.similar_paths),
            "similar_words" => share(&mut self.similar_words),
            "similar_commands" => share(&mut self.similar_commands),
            "similar_category" => share(&mut self.similar_category),
            "alike" => share(&mut self.alike),
            "hint_ms" => NumericSetting::Count(&mut self.hint_ms, 1..=60_000),
            "hook_ms" => NumericSetting::Count(&mut self.hook_ms, 1..=60_000),
            _ => return None,
        })
    }

    /// Lets the environment turn off (`0`, `false`, `off`, `no`) or on (`1`, `true`, `on`, `yes`) what a file says
    /// otherwise. Other values say nothing.
    pub(super) fn apply_environment(&mut self, variable: impl Fn(&str) -> Option<OsString>) {
        let switches = [
            ("ENABLE_QA_WARNINGS", &mut self.warnings),
            ("ENABLE_QA_LEARNING", &mut self.learning),
            ("ENABLE_KNOWLEDGE_INJECTION", &mut self.injection),
        ];
        for (name, switch) in switches {
            let value = variable(name).and_then(|value| value.into_string().ok());
            match value.unwrap_or_default().trim().to_ascii_lowercase().as_str() {
                "0" | "false" | "off" | "no" => *switch = false,
                "1" | "true" | "on" | "yes" => *switch = true,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_turns_each_off_alone_and_has_the_last_word() {
        let with = |set: &'static str, value: &'static str, settings: AdviceSettings| {
            let mut settings = settings;
            settings.apply_environment(|name| (name == set).then(|| value.into()));
            (settings.warnings, settings.learning, settings.injection, settings.holdout)
        };
        let on = AdviceSettings::default;
        assert_eq!(with("ENABLE_QA_WARNINGS", "0", on()), (false, true, true, true));
        assert_eq!(with("ENABLE_QA_LEARNING", "False", on()), (true, false, true, true));
        assert_eq!(with("ENABLE_KNOWLEDGE_INJECTION", " off ", on()), (true, true, false, true));
        assert!(with("ENABLE_QA_WARNINGS", "yes", AdviceSettings { warnings: false, ..on() }).0);
        for nothing in ["", "perhaps", "2"] {
            assert_eq!(with("ENABLE_QA_WARNINGS", nothing, on()), (true, true, true, true));
        }
    }

    #[test]
    fn without_a_holdout_nobody_is_held_out() {
        assert_eq!(AdviceSettings::default().held_out(), 0.10);
        assert_eq!(AdviceSettings { holdout: false, ..AdviceSettings::default() }.held_out(), 0.0);
    }
}
