//! `[gate]`: limits of the quality gate, and what of it only the user's own file may say.

use serde::Deserialize;

use super::hooks::{COMMAND_BYTES_MAX, COMMANDS_MAX};
use super::layer::SettingsLayer;
use super::learning::NumericSetting;

/// Settings that a repository must not decide: who may wave work through, how often, and programs of the user.
const USER_KEYS: [&str; 22] = [
    "gate.people",
    "gate.alert",
    "gate.attempts",
    "gate.progress_against",
    "gate.breaker.no_progress",
    "gate.breaker.same_error",
    "gate.breaker.red_no_progress",
    "gate.breaker.red_same_error",
    "gate.breaker.green_no_progress",
    "gate.breaker.green_same_error",
    "gate.breaker.refactor_no_progress",
    "gate.breaker.refactor_same_error",
    "gate.breaker.document_no_progress",
    "gate.breaker.document_same_error",
    "gate.memory.command",
    "gate.review.command",
    "gate.review.model",
    "gate.review.diversity",
    "gate.review.unknown",
    "gate.ship.command",
    "gate.ship.always",
    "gate.ship.makes_branch",
];

/// Where figures of complexity come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "lowercase")]
pub enum ComplexitySource {
    /// The stack's tool, and the built-in measure where it is missing.
    #[default]
    Tool,
    /// The built-in measure.
    Builtin,
    /// Both; the higher figure counts.
    Both,
}

/// What an evaluation must be better than.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "lowercase")]
pub enum ProgressReference {
    /// The best one of the cycle.
    #[default]
    Best,
    /// The one before it.
    Last,
}

/// The language of the checklist's headings in a report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "lowercase")]
pub enum HeadingLanguage {
    /// Portuguese.
    #[default]
    Pt,
    /// English.
    En,
}

/// How different the models of the author and the reviewer must be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "lowercase")]
pub enum ModelDiversity {
    /// Another family of models.
    #[default]
    Family,
    /// Another vendor.
    Vendor,
}

/// What an unknown author means for a review.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "lowercase")]
pub enum UnknownAuthor {
    /// A warning.
    #[default]
    Warn,
    /// No approval.
    Block,
}

/// `[gate]`: evaluations of `verify-run gate run`. Keys marked with "user's file" count only there; in a repository's
/// file they are reported and left out.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct GateSettings {
    /// `command_minutes`: minutes that one command of an evaluation may take.
    pub command_minutes: u64,
    /// `memory_ms`: milliseconds that all questions to the memory may take.
    pub memory_ms: u64,
    /// `measure_seconds`: seconds that the built-in measures may take.
    pub measure_seconds: u64,
    /// `review_seconds`: seconds that a reviewer may take.
    pub review_seconds: u64,
    /// `base`: the revision that a change is compared with.
    pub base: Option<String>,
    /// `stack`: the stack of a repository in which none is recognised.
    pub stack: Option<String>,
    /// `complexity`: where figures of complexity come from: `tool`, `builtin` or `both`.
    pub complexity: ComplexitySource,
    /// `headings`: language of a report's headings where the checklist has no titles: `pt` or `en`.
    pub headings: HeadingLanguage,
    /// `status_blocked`: the status block of an escalated or halted cycle says `STATUS: BLOCKED`.
    pub status_blocked: bool,
    /// `attempts`: rejected trees after which a person has to decide (user's file).
    pub attempts: u64,
    /// `progress_against`: what an evaluation must be better than: `best` of the cycle or `last` (user's file).
    pub progress_against: ProgressReference,
    /// `people`: names that may waive, reset and resolve without a terminal (user's file).
    pub people: Vec<String>,
    /// `alert`: the words of a command that is started at escalations, halts and failed ships (user's file).
    pub alert: Vec<String>,
    /// `[gate.breaker]`
    pub breaker: GateBreakerSettings,
    /// `[gate.memory]`
    pub memory: GateMemorySettings,
    /// `[gate.review]`
    pub review: GateReviewSettings,
    /// `[gate.ship]`
    pub ship: GateShipSettings,
}

/// `[gate.breaker]`: when the circuit breakers of the gate and of the phases before it open (user's file).
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct GateBreakerSettings {
    /// `no_progress`: evaluations in a row without progress.
    pub no_progress: u64,
    /// `same_error`: evaluations in a row that fail in the same way.
    pub same_error: u64,
    /// `red_no_progress`: runs of the phase RED in a row without progress.
    pub red_no_progress: u64,
    /// `red_same_error`: runs of the phase RED in a row that fail in the same way.
    pub red_same_error: u64,
    /// `green_no_progress`: runs of the phase GREEN in a row without progress.
    pub green_no_progress: u64,
    /// `green_same_error`: runs of the phase GREEN in a row that fail in the same way.
    pub green_same_error: u64,
    /// `refactor_no_progress`: runs of the phase REFACTOR in a row without progress.
    pub refactor_no_progress: u64,
    /// `refactor_same_error`: runs of the phase REFACTOR in a row that fail in the same way.
    pub refactor_same_error: u64,
    /// `document_no_progress`: runs of the phase DOCUMENT in a row without progress.
    pub document_no_progress: u64,
    /// `document_same_error`: runs of the phase DOCUMENT in a row that fail in the same way.
    pub document_same_error: u64,
}

/// When one circuit breaker opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerThresholds {
    /// Runs or evaluations in a row without progress.
    pub no_progress: u64,
    /// Runs or evaluations in a row that fail in the same way.
    pub same_error: u64,
}

impl Default for GateBreakerSettings {
    fn default() -> Self {
        GateBreakerSettings {
            no_progress: 3,
            same_error: 3,
            red_no_progress: 3,
            red_same_error: 5,
            green_no_progress: 2,
            green_same_error: 3,
            refactor_no_progress: 5,
            refactor_same_error: 5,
            document_no_progress: 3,
            document_same_error: 5,
        }
    }
}

impl GateBreakerSettings {
    /// The thresholds of a phase; those of the gate for any other word.
    pub fn of_phase(&self, phase: &str) -> BreakerThresholds {
        let (no_progress, same_error) = match phase {
            "RED" => (self.red_no_progress, self.red_same_error),
            "GREEN" => (self.green_no_progress, self.green_same_error),
            "REFACTOR" => (self.refactor_no_progress, self.refactor_same_error),
            "DOCUMENT" => (self.document_no_progress, self.document_same_error),
            _ => (self.no_progress, self.same_error),
        };
        BreakerThresholds { no_progress, same_error }
    }

    /// The figure called `name`.
    fn figure(&mut self, name: &str) -> Option<&mut u64> {
        Some(match name {
            "no_progress" => &mut self.no_progress,
            "same_error" => &mut self.same_error,
            "red_no_progress" => &mut self.red_no_progress,
            "red_same_error" => &mut self.red_same_error,
            "green_no_progress" => &mut self.green_no_progress,
            "green_same_error" => &mut self.green_same_error,
            "refactor_no_progress" => &mut self.refactor_no_progress,
            "refactor_same_error" => &mut self.refactor_same_error,
            "document_no_progress" => &mut self.document_no_progress,
            "document_same_error" => &mut self.document_same_error,
            _ => return None,
        })
    }
}

/// `[gate.memory]`: a memory server that is asked beside the project's own memory (user's file).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct GateMemorySettings {
    /// `command`: the words of a command that serves MCP on its standard streams.
    pub command: Vec<String>,
}

/// `[gate.review]`: a reviewer, such as a language model, whose remarks go into the report (user's file).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct GateReviewSettings {
    /// `command`: the words of the reviewer's command.
    pub command: Vec<String>,
    /// `model`: the model that it must say it is.
    pub model: Option<String>,
    /// `diversity`: whether the reviewer must be of another `family` of models or of another `vendor`.
    pub diversity: ModelDiversity,
    /// `unknown`: what an unknown author means: `warn` or `block`.
    pub unknown: UnknownAuthor,
    /// `may_block`: remarks of high severity block.
    pub may_block: bool,
}

/// `[gate.ship]`: the command that ships an approved tree (user's file).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct GateShipSettings {
    /// `command`: its words.
    pub command: Vec<String>,
    /// `always`: ship without `--ship` once the work may end.
    pub always: bool,
    /// `makes_branch`: the command makes a branch, so that it may begin on the default one.
    pub makes_branch: bool,
}

impl Default for GateSettings {
    fn default() -> Self {
        GateSettings {
            command_minutes: 15,
            memory_ms: 3_000,
            measure_seconds: 20,
            review_seconds: 120,
            base: None,
            stack: None,
            complexity: ComplexitySource::default(),
            headings: HeadingLanguage::default(),
            status_blocked: false,
            attempts: 3,
            progress_against: ProgressReference::default(),
            people: Vec::new(),
            alert: Vec::new(),
            breaker: GateBreakerSettings::default(),
            memory: GateMemorySettings::default(),
            review: GateReviewSettings::default(),
            ship: GateShipSettings::default(),
        }
    }
}

impl GateSettings {
    /// Takes a value of `section` (`gate`, or a table below it) from a layer.
    pub(super) fn apply(&mut self, layer: &mut SettingsLayer<'_>, section: &str, key: &str, value: &toml::Value) {
        if let (toml::Value::Table(keys), "breaker" | "memory" | "review" | "ship") = (value, key) {
            return keys.iter().for_each(|(name, value)| self.apply(layer, &format!("gate.{key}"), name, value));
        }
        let full = format!("{section}.{key}");
        if !layer.is_user && USER_KEYS.contains(&full.as_str()) {
            return layer.leave_to_user(section, key);
        }
        match full.as_str() {
            "gate.base" => layer.set_option(&mut self.base, section, key, value),
            "gate.stack" => layer.set_option(&mut self.stack, section, key, value),
            "gate.complexity" => layer.set(&mut self.complexity, section, key, value),
            "gate.headings" => layer.set(&mut self.headings, section, key, value),
            "gate.status_blocked" => layer.set(&mut self.status_blocked, section, key, value),
            "gate.progress_against" => layer.set(&mut self.progress_against, section, key, value),
            "gate.review.model" => layer.set_option(&mut self.review.model, section, key, value),
            "gate.review.diversity" => layer.set(&mut self.review.diversity, section, key, value),
            "gate.review.unknown" => layer.set(&mut self.review.unknown, section, key, value),
            "gate.review.may_block" => layer.set(&mut self.review.may_block, section, key, value),
            "gate.ship.always" => layer.set(&mut self.ship.always, section, key, value),
            "gate.ship.makes_branch" => layer.set(&mut self.ship.makes_branch, section, key, value),
            name => match self.words(name) {
                Some(target) => match read_words(value) {
                    Ok(words) => *target = words,
                    Err(reason) => layer.refuse(section, key, &reason),
                },
                None => layer.set_figure(self.figure(name), section, key, value),
            },
        }
    }

    /// The list called `name`, with its section.
    fn words(&mut self, name: &str) -> Option<&mut Vec<String>> {
        Some(match name {
            "gate.people" => &mut self.people,
            "gate.alert" => &mut self.alert,
            "gate.memory.command" => &mut self.memory.command,
            "gate.review.command" => &mut self.review.command,
            "gate.ship.command" => &mut self.ship.command,
            _ => return None,
        })
    }

    /// The figure called `name`, with its section.
    fn figure(&mut self, name: &str) -> Option<NumericSetting<'_>> {
        Some(match name {
            "gate.command_minutes" => NumericSetting::Count(&mut self.command_minutes, 1..=1_440),
            "gate.memory_ms" => NumericSetting::Count(&mut self.memory_ms, 0..=60_000),
            "gate.measure_seconds" => NumericSetting::Count(&mut self.measure_seconds, 1..=3_600),
            "gate.review_seconds" => NumericSetting::Count(&mut self.review_seconds, 1..=3_600),
            "gate.attempts" => NumericSetting::Count(&mut self.attempts, 1..=100),
            name => NumericSetting::Count(self.breaker.figure(name.strip_prefix("gate.breaker.")?)?, 1..=100),
        })
    }
}

/// A list of words.
pub(super) fn read_words(value: &toml::Value) -> Result<Vec<String>, String> {
    let list = value.as_array().filter(|list| list.len() <= COMMANDS_MAX);
    let list = list.ok_or_else(|| format!("not a list of at most {COMMANDS_MAX} words: {value}"))?;
    let word = |value: &toml::Value| {
        let word = value.as_str().filter(|word| !word.is_empty() && word.len() <= COMMAND_BYTES_MAX);
        word.filter(|word| !word.chars().any(char::is_control))
            .map(str::to_owned)
            .ok_or_else(|| format!("not a word on one line: {value}"))
    };
    list.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, Places, SETTINGS_FILE, Settings};

    #[test]
    fn tables_below_the_gate_are_read_and_what_is_wrong_is_named_with_its_line() {
        let text = "[gate]\nmemory_ms = 2\ncomplexity = \"both\"\n[gate.breaker]\nno_progress = 5\nsame = 1\n\
                    [gate.review]\ncommand = [\"review\", \"--json\"]\ndiversity = \"none\"\n[gate.ship]\ncommand = \"x\"\n";
        let (settings, problems) = Settings::of(text);
        let gate = settings.gate;
        assert_eq!((gate.memory_ms, gate.complexity, gate.breaker.no_progress), (2, ComplexitySource::Both, 5));
        assert_eq!((gate.review.command.len(), gate.review.diversity), (2, ModelDiversity::Family));
        let lines: Vec<_> = problems.iter().map(|problem| (problem.line, problem.warning)).collect();
        assert_eq!(lines, [(Some(6), true), (Some(9), false), (Some(11), false)], "{problems:?}");
        assert!(problems[1].reason.contains("gate.review.diversity: unknown variant `none`"), "{problems:?}");
    }

    #[test]
    fn what_the_user_decides_is_left_out_of_a_repository_and_named() {
        let dir = tempfile::tempdir().expect("a folder");
        let environment = Environment::default();
        std::fs::write(dir.path().join("Makefile"), "").expect("a file");
        let text = "[gate]\npeople = [\"Eve\"]\nmemory_ms = 5\n[gate.ship]\ncommand = [\"x\"]\n";
        std::fs::write(dir.path().join(SETTINGS_FILE), text).expect("a file");
        let (settings, problems) = Settings::load(&Places::find(dir.path(), &environment), &environment);
        assert_eq!((settings.gate.people.len(), settings.gate.ship.command.len(), settings.gate.memory_ms), (0, 0, 5));
        let lines: Vec<_> = problems.iter().map(|problem| (problem.line, problem.warning)).collect();
        assert_eq!(lines, [(Some(2), true), (Some(5), true)], "{problems:?}");
        assert!(problems[0].reason.contains("counts only in the user's own file"), "{problems:?}");
    }
}
