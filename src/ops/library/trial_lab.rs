//! Runs of a job in the lab: one command on one tree, and what its output says. Nothing of them is recorded as a run of the
//! user's.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::job_change::TrialTree;
use crate::base::lossless::Lossless;
use crate::capture::{SpoolHeader, SpooledRun};
use crate::diagnose::RunnerSummary;
use crate::event::{
    AtomList, IsolationLevel, ScenarioCommand, ScenarioRecord, TrialOutcome, TrialPurpose, TrialRecord,
};
use crate::fix::atoms_of_items;
use crate::fix::snapshot::SnapshotOptions;
use crate::lab::{Lab, LabCommand, LabLevel, LabLimit, LabLimits, LabOutput, LabRun};
use crate::learn::trial::Perturbation;
use crate::ops::gate::open_lab;
use crate::ops::request::Request;
use crate::ops::unwrapped::{UnwrappedCommand, header_of_run};
use crate::recorder;
use crate::whitelist::{Check, CheckKind, Whitelist};

/// Exit codes of a shell, and of what starts programs, for a program that can't be started.
const NOT_STARTED: [i32; 2] = [126, 127];

/// The exit code of a run whose setup or services failed.
const PREPARATION_FAILED: i32 = 125;
/// How long a service may take to be ready, seconds.
const SERVICE_SECONDS_MAX: u32 = 60;

/// The lab of a job.
pub(super) struct TrialLab<'a> {
    request: &'a Request,
    lab: Lab,
    scenario: &'a ScenarioRecord,
    key: String,
    limits: LabLimits,
    check: Option<Check>,
    is_idle: bool,
    /// The walls.
    pub level: IsolationLevel,
}

impl<'a> TrialLab<'a> {
    /// A lab for a scenario; with `is_idle` its runs get only what no other program wants of the machine.
    ///
    /// # Errors
    /// When the machine does not have the walls, or the state folder can't be written.
    pub(super) fn open(
        request: &'a Request,
        scenario: &'a ScenarioRecord,
        key: &str,
        (level, is_idle): (LabLevel, bool),
        options: &SnapshotOptions,
    ) -> anyhow::Result<Self> {
        let settings = request.settings();
        let argv: Vec<OsString> = scenario.entrypoint.argv.iter().map(OsString::from).collect();
        let whitelist = Whitelist::open(&request.places, &request.environment);
        Ok(TrialLab {
            request,
            lab: open_lab(request, level, options)?,
            scenario,
            key: key.to_owned(),
            limits: LabLimits::from_settings(&settings.lab, is_idle),
            check: whitelist.decide_command(&argv).into_check(),
            level: isolation_level(level),
            is_idle,
        })
    }

    /// The lab itself.
    pub(super) fn lab(&self) -> &Lab {
        &self.lab
    }

    /// What kind of check the entrypoint is, as far as that is known.
    pub(super) fn check_kind(&self) -> Option<CheckKind> {
        self.check.as_ref().map(|check| check.kind)
    }

    /// What tells the command of a run from others.
    pub(super) fn command_digest(&self, perturbation: Option<&Perturbation>) -> String {
        let name = perturbation.filter(|it| !it.is_plain()).map(|it| it.name.as_str()).unwrap_or_default();
        let scenario = serde_json::to_string(self.scenario).unwrap_or_default();
        let mut hasher = blake3::Hasher::new();
        for part in [scenario.as_str(), self.level.as_str(), name] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize().to_hex()[..32].to_owned()
    }

    /// Runs the entrypoint on a tree.
    ///
    /// # Errors
    /// When it was not started.
    pub(super) fn run(
        &self,
        number: u64,
        purpose: TrialPurpose,
        tree: &TrialTree,
        perturbation: Option<&Perturbation>,
    ) -> anyhow::Result<TrialRecord> {
        let argv = self.words(perturbation);
        let mut variables: Vec<(&str, OsString)> =
            self.scenario.environment.iter().map(|(name, value)| (name.as_str(), value.into())).collect();
        let further = perturbation.map_or(&[][..], |it| &it.environment);
        variables.extend(further.iter().map(|(name, value)| (*name, OsString::from(value))));
        let run = self.lab.run_command(
            &tree.files,
            &LabCommand {
                argv: &argv,
                dir: Path::new(if self.has_preparation() { "" } else { &self.scenario.entrypoint.dir }),
                variables: &variables,
                output: LabOutput::Both,
                time: Duration::from_secs(self.scenario.time_limit_s),
                limits: self.limits,
                is_idle: self.is_idle,
            },
        )?;
        let mut trial = TrialRecord {
            n: number,
            purpose,
            tree: tree.id.clone(),
            command: self.command_digest(perturbation),
            exit: run.exit_code(),
            duration_ms: u64::try_from(run.took.as_millis()).unwrap_or(u64::MAX),
            level: self.level,
            note: perturbation.map(|it| it.name.clone()),
            ..TrialRecord::default()
        };
        self.judge_run(&run, &mut trial);
        Ok(trial)
    }

    /// The words of the command: the entrypoint to the letter, with what a perturbation adds.
    fn words(&self, perturbation: Option<&Perturbation>) -> Vec<OsString> {
        let mut argv: Vec<OsString> = self.scenario.entrypoint.argv.iter().map(OsString::from).collect();
        if let Some(perturbation) = perturbation {
            argv.extend(perturbation.arguments.iter().map(OsString::from));
            if let Some(umask) = perturbation.umask {
                let line = format!("umask {umask:03o} && exec \"$@\"");
                argv = ["sh", "-c", &line, "sh"].iter().map(OsString::from).chain(argv).collect();
            }
        }
        if self.has_preparation() {
            let line = preparation_script(self.scenario);
            argv = ["sh", "-c", &line, "sh"].iter().map(OsString::from).chain(argv).collect();
        }
        argv
    }

    /// Whether something is done before the entrypoint, in the same run: nothing of a run is left for the next.
    fn has_preparation(&self) -> bool {
        !self.scenario.setup.is_empty() || !self.scenario.services.is_empty()
    }

    /// How a run ended, and what failed in it.
    fn judge_run(&self, run: &LabRun, trial: &mut TrialRecord) {
        let say = |trial: &mut TrialRecord, what: String| trial.note = Some(what);
        match run.stopped_by {
            Some(LabLimit::Time) => {
                trial.outcome = TrialOutcome::TimedOut;
                return say(trial, format!("it took longer than {} s", self.scenario.time_limit_s));
            }
            Some(limit) => {
                trial.outcome = TrialOutcome::OverLimits;
                return say(trial, self.limits.explain_end(limit));
            }
            None => {}
        }
        let output = run.transcript.pieces().concat();
        let spooled = SpooledRun { header: self.header_of(run), output };
        let RunnerSummary { tests, .. } = recorder::ran_from_header(&spooled.header, &spooled.output);
        trial.tests = tests;
        let is_test = self.check.as_ref().is_some_and(|check| check.kind == CheckKind::Test);
        match trial.exit {
            Some(0) if is_test && tests == Some(0) => {
                trial.outcome = TrialOutcome::NotRun;
                return say(trial, "no test ran".to_owned());
            }
            Some(0) => {
                trial.outcome = TrialOutcome::Passed;
                return;
            }
            Some(PREPARATION_FAILED) if self.has_preparation() => {
                trial.outcome = TrialOutcome::NotRun;
                return say(trial, "the setup or a service of the scenario failed".to_owned());
            }
            Some(code) if NOT_STARTED.contains(&code) => {
                trial.outcome = TrialOutcome::NotRun;
                let program = self.scenario.entrypoint.argv.first().map_or("the command", String::as_str);
                return say(trial, format!("{program} cannot be started in isolation"));
            }
            _ => trial.outcome = TrialOutcome::Failed,
        }
        let (places, environment) = (&self.request.places, &self.request.environment);
        let items = recorder::diagnose_items(places, environment, self.request.settings(), &spooled).items;
        trial.atoms = atoms_of_items(&items).to_list();
        let is_known_good = trial.purpose == TrialPurpose::KnownGood;
        if is_known_good && let Some(why) = self.missing_in_lab(&spooled.output, &trial.atoms) {
            say(trial, why);
        }
    }

    /// What the check asks for that no run gets, as far as its output names it.
    fn missing_in_lab(&self, output: &[u8], atoms: &AtomList) -> Option<String> {
        let says = |words: &[&str]| words.iter().any(|word| memchr::memmem::find(output, word.as_bytes()).is_some());
        let first = atoms.first.first().map(|atom| format!(": {}", atom.text)).unwrap_or_default();
        if self.request.places.root.join(".env").is_file() && says(&[".env"]) {
            return Some(format!("the check fails here, and .env is not lent{first}"));
        }
        let network = ["getaddrinfo", "ENETUNREACH", "Network is unreachable", "Temporary failure in name resolution"];
        says(&network).then(|| format!("the check needs a network{first}"))
    }

    /// The run as the recorder would have got it.
    fn header_of(&self, run: &LabRun) -> SpoolHeader {
        let places = &self.request.places;
        let dir: PathBuf = places.root.join(&self.scenario.entrypoint.dir);
        let command = UnwrappedCommand {
            argv: self.scenario.entrypoint.argv.iter().map(|word| Lossless::from(word.as_str())).collect(),
            dir: &dir.components().collect::<PathBuf>(),
            check: self.check.clone(),
            key: self.key.clone(),
        };
        header_of_run(places, command, run.into())
    }
}

/// A script that does the setup, starts services and waits for them, and becomes the command. Its words are quoted: no part of
/// a scenario is read by the shell.
fn preparation_script(scenario: &ScenarioRecord) -> String {
    let folder = |dir: &str| if dir.is_empty() { ".".to_owned() } else { shell_words::quote(dir).into_owned() };
    let line = |command: &ScenarioCommand| {
        format!("(cd {} && exec {})", folder(&command.dir), shell_words::join(&command.argv))
    };
    let mut script = String::new();
    for command in &scenario.setup {
        script.push_str(&format!("{} >/dev/null || exit {PREPARATION_FAILED}\n", line(command)));
    }
    for service in &scenario.services {
        script.push_str(&format!("{} >/dev/null 2>&1 &\n", line(&service.command)));
        script.push_str(&format!(
            "n=0; until {} >/dev/null 2>&1; do n=$((n+1)); [ $n -lt {SERVICE_SECONDS_MAX} ] || exit {PREPARATION_FAILED}; \
             sleep 1; done\n",
            line(&service.health)
        ));
    }
    script.push_str(&format!("cd {} && exec \"$@\"", folder(&scenario.entrypoint.dir)));
    script
}

/// The level in records.
pub(super) fn isolation_level(level: LabLevel) -> IsolationLevel {
    match level {
        LabLevel::None => IsolationLevel::None,
        LabLevel::Landlock => IsolationLevel::Landlock,
        LabLevel::Namespaces => IsolationLevel::Namespaces,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ScenarioService;

    fn command(words: &[&str], dir: &str) -> ScenarioCommand {
        ScenarioCommand { argv: words.iter().map(|word| (*word).to_owned()).collect(), dir: dir.to_owned() }
    }

    #[test]
    fn no_word_of_a_scenario_is_read_by_the_shell() {
        let scenario = ScenarioRecord {
            setup: vec![command(&["make", "a;b", "$(touch x)"], "a b")],
            services: vec![ScenarioService { command: command(&["serve"], ""), health: command(&["ask", "it"], "") }],
            entrypoint: command(&["pytest"], "web"),
            ..ScenarioRecord::default()
        };
        let script = preparation_script(&scenario);
        let lines: Vec<&str> = script.lines().collect();
        assert_eq!(lines[0], "(cd 'a b' && exec make 'a;b' '$(touch x)') >/dev/null || exit 125");
        assert_eq!(lines[1], "(cd . && exec serve) >/dev/null 2>&1 &");
        assert!(lines[2].starts_with("n=0; until (cd . && exec ask it) >/dev/null 2>&1; do"), "{script}");
        assert_eq!(lines[3], "cd web && exec \"$@\"");
    }
}
