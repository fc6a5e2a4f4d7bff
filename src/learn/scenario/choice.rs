//! The choice among the commands that may show a change. Nothing is guessed where something was recorded.

use crate::event::{ManualReason, MissingScenario, ScenarioCommand, ScenarioRecord, ScenarioSource};

/// What a scenario has to reach in the first try, and in the second, which also looks at templates.
const SCORE_MIN: [u64; 2] = [40, 20];
/// Taken off for every changed source file that the command cannot reach.
const UNREACHED_PENALTY: u64 = 10;
/// Seconds that a run may take beside three times the recorded duration.
const TIME_EXTRA_S: u64 = 30;
/// Seconds of a run at most.
const TIME_MAX_S: u64 = 600;
/// Seconds of a run of a command that was never run here.
const TIME_UNKNOWN_S: u64 = 300;

/// A command that may show the change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CandidateCommand {
    /// The command.
    pub command: ScenarioCommand,
    /// Where it comes from.
    pub source: ScenarioSource,
    /// It is the run that closed the failure.
    pub is_closing: bool,
    /// This machine recorded it, or made it itself.
    pub is_own: bool,
    /// A word of it was a secret and is not known.
    pub is_redacted: bool,
    /// Changed source files that it cannot reach.
    pub unreached: u64,
    /// How long it took when it passed, milliseconds.
    pub duration_ms: u64,
    /// Tests that ran then.
    pub tests: Option<u64>,
}

impl CandidateCommand {
    fn score(&self) -> u64 {
        let base: u64 = match (self.source, self.is_closing) {
            (ScenarioSource::Manual, _) | (ScenarioSource::ExecutionHistory, true) => 100,
            (ScenarioSource::ExecutionHistory, false) => 80,
            (ScenarioSource::LastKnownGood, _) => 60,
            (ScenarioSource::Prompt, _) => 50,
            (ScenarioSource::Diff, _) => 40,
            (ScenarioSource::Template, _) => 20,
        };
        // What closed the failure reaches it: that was seen.
        let unreached = if self.is_closing { 0 } else { self.unreached };
        base.saturating_sub(UNREACHED_PENALTY * unreached)
    }

    /// It was run here before.
    fn is_recorded(&self) -> bool {
        self.duration_ms > 0
    }

    fn may_run(&self) -> bool {
        self.is_own && !self.is_redacted && !self.command.argv.is_empty()
    }
}

/// What a scenario is chosen from.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScenarioInputs {
    /// Commands, those that are tried first in front.
    pub candidates: Vec<CandidateCommand>,
    /// Installed packages or their lock file differ between the trees.
    pub changes_dependencies: bool,
    /// What installs them without a network.
    pub offline_setup: Vec<ScenarioCommand>,
    /// The failing tests of the closing command, as one command.
    pub narrow: Option<ScenarioCommand>,
}

/// The best scenario of the inputs. Two tries: the first without templates.
///
/// # Errors
/// Why there is none, with the best command so far.
pub(crate) fn choose_scenario(inputs: &ScenarioInputs) -> Result<ScenarioRecord, Box<MissingScenario>> {
    let best = SCORE_MIN.iter().find_map(|score_min| best_candidate(inputs, *score_min));
    let record = best.map(|best| record_of(best, inputs));
    if inputs.changes_dependencies && inputs.offline_setup.is_empty() {
        let why = "installed packages differ between the trees, and nothing installs them without a network";
        return Err(missing(ManualReason::Dependencies, why, record));
    }
    if let Some(record) = record {
        return Ok(record);
    }
    let closing = inputs.candidates.iter().find(|candidate| candidate.is_closing);
    // What is known, so that a person only has to fill in the rest.
    let partial = Some(inputs.candidates.first().map(|first| record_of(first, inputs)).unwrap_or_default());
    Err(match closing {
        Some(closing) if closing.is_redacted => {
            missing(ManualReason::RedactedArgument, "a word of the recorded command was a secret", partial)
        }
        Some(closing) if !closing.is_own => {
            missing(ManualReason::ForeignHistory, "another machine recorded the command", partial)
        }
        _ => missing(ManualReason::NothingFound, "no check was found that reaches the change", partial),
    })
}

fn best_candidate(inputs: &ScenarioInputs, score_min: u64) -> Option<&CandidateCommand> {
    let fit = inputs.candidates.iter().filter(|candidate| candidate.may_run() && candidate.score() >= score_min);
    // The first of equals.
    fit.rev().max_by_key(|candidate| candidate.score())
}

fn record_of(candidate: &CandidateCommand, inputs: &ScenarioInputs) -> ScenarioRecord {
    let seconds = candidate.duration_ms.div_ceil(1_000);
    let recorded_s = (3 * seconds + TIME_EXTRA_S).min(TIME_MAX_S);
    ScenarioRecord {
        source: candidate.source,
        score: candidate.score(),
        setup: if inputs.changes_dependencies { inputs.offline_setup.clone() } else { Vec::new() },
        entrypoint: candidate.command.clone(),
        narrow: inputs.narrow.clone().filter(|_| candidate.is_closing),
        tests_min: candidate.tests,
        time_limit_s: if candidate.is_recorded() { recorded_s } else { TIME_UNKNOWN_S },
        ..ScenarioRecord::default()
    }
}

fn missing(reason: ManualReason, why: &str, partial: Option<ScenarioRecord>) -> Box<MissingScenario> {
    Box::new(MissingScenario { reason, why: why.to_owned(), partial })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(line: &str, source: ScenarioSource) -> CandidateCommand {
        let argv = line.split(' ').map(str::to_owned).collect();
        let command = ScenarioCommand { argv, dir: String::new() };
        CandidateCommand { command, source, is_own: true, duration_ms: 2_100, ..CandidateCommand::default() }
    }

    fn closing(line: &str) -> CandidateCommand {
        CandidateCommand { is_closing: true, tests: Some(41), ..candidate(line, ScenarioSource::ExecutionHistory) }
    }

    fn choose(candidates: Vec<CandidateCommand>) -> Result<ScenarioRecord, Box<MissingScenario>> {
        choose_scenario(&ScenarioInputs { candidates, ..ScenarioInputs::default() })
    }

    #[test]
    fn what_closed_the_failure_is_run_to_the_letter() {
        let other = candidate("make test", ScenarioSource::LastKnownGood);
        let record = choose(vec![other, CandidateCommand { unreached: 9, ..closing("pytest -q") }]).expect("found");
        assert_eq!((record.score, record.entrypoint.argv.join(" ").as_str()), (100, "pytest -q"));
        assert_eq!((record.source, record.tests_min), (ScenarioSource::ExecutionHistory, Some(41)));
        assert_eq!(record.time_limit_s, 39);
    }

    #[test]
    fn a_command_that_misses_changed_files_is_worth_less() {
        let far = CandidateCommand { unreached: 3, ..candidate("npm test", ScenarioSource::LastKnownGood) };
        let near = candidate("pytest tests/test_b.py", ScenarioSource::Diff);
        let record = choose(vec![far.clone(), near]).expect("found");
        assert_eq!(record.source, ScenarioSource::Diff);
        assert_eq!(choose(vec![far]).expect("in the second try").score, 30);
        let template = candidate("cargo test", ScenarioSource::Template);
        assert_eq!(choose(vec![template.clone()]).expect("in the second try").score, 20);
        let far = CandidateCommand { unreached: 1, ..template };
        assert_eq!(choose(vec![far]).expect_err("too little").reason, ManualReason::NothingFound);
    }

    #[test]
    fn secrets_and_strangers_commands_are_never_run_by_themselves() {
        let secret = CandidateCommand { is_redacted: true, ..closing("pytest --token [redacted:token]") };
        assert_eq!(choose(vec![secret]).expect_err("a secret").reason, ManualReason::RedactedArgument);
        let foreign = CandidateCommand { is_own: false, ..closing("touch pwned") };
        let missing = choose(vec![foreign]).expect_err("a stranger's");
        assert_eq!(missing.reason, ManualReason::ForeignHistory);
        assert_eq!(missing.partial.expect("what it was").entrypoint.argv, ["touch", "pwned"]);
    }

    #[test]
    fn changed_packages_need_an_installation_without_a_network() {
        let mut inputs = ScenarioInputs {
            candidates: vec![closing("npm test")],
            changes_dependencies: true,
            ..ScenarioInputs::default()
        };
        assert_eq!(choose_scenario(&inputs).expect_err("packages").reason, ManualReason::Dependencies);
        let setup = ScenarioCommand { argv: vec!["npm".into(), "ci".into(), "--offline".into()], dir: String::new() };
        inputs.offline_setup = vec![setup.clone()];
        assert_eq!(choose_scenario(&inputs).expect("found").setup, [setup]);
    }
}
