//! Red evidence by trial: the test that covers a criterion runs in the lab, on the sources of the base and on those of the
//! change. Neither run is recorded: the base is no state of the user's work.

use std::cell::{OnceCell, RefCell};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::execute::{GateCommand, failure_reason};
use super::isolated::{GATE_LEVEL, GateLab, TriedCommand};
use super::kept::KeptValues;
use super::measurement::Measurement;
use super::red::{CoveringTest, contains_name};
use crate::fix::find_tool;
use crate::gate::criteria::declaration::TestLanguage;
use crate::lab::LabTree;

/// Outcomes that are kept, the newest.
const TRIALS_MAX: usize = 256;
/// Folders with tests, and with what only tests read.
const TEST_FOLDERS: [&str; 12] = [
    "test",
    "tests",
    "spec",
    "specs",
    "__tests__",
    "e2e",
    "testdata",
    "fixtures",
    "__fixtures__",
    "__mocks__",
    "__snapshots__",
    "features",
];

/// What the trial of a test shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RedOutcome {
    /// It fails on the base's sources, and passes on those of the change.
    Red,
    /// It passes on the base's sources too: it shows nothing of the change.
    PassesOnBase,
    /// Neither, with the reason, a lowercase fragment.
    Unknown(String),
}

/// Trials of one evaluation.
pub(super) struct RedTrial<'a> {
    measurement: &'a Measurement<'a>,
    /// The lab of an evaluation whose commands run in the work tree.
    own_lab: OnceCell<Result<GateLab, String>>,
    kept: RefCell<KeptValues<RedOutcome>>,
}

/// Why a trial shows nothing.
enum NoTrial {
    /// It was not made, or ended by a limit: the next one may go otherwise.
    NotMade(String),
    /// The test does not pass on the sources of the change.
    FailsNow(String),
    /// What the base's sources do with the test.
    OnBase(String),
}

impl<'a> RedTrial<'a> {
    /// Nothing is run yet.
    pub(super) fn new(measurement: &'a Measurement<'a>) -> Self {
        let kept = RefCell::new(KeptValues::read(measurement.request.places.state.gate_red_trials(), TRIALS_MAX));
        RedTrial { measurement, own_lab: OnceCell::new(), kept }
    }

    /// Runs a test on both trees, unless a trial with the same tests, base and surroundings showed already what it does.
    pub(super) fn try_test(&self, test: &CoveringTest) -> RedOutcome {
        let program = match self.find_program(test) {
            Ok(program) => program,
            Err(reason) => return RedOutcome::Unknown(reason),
        };
        let tree = &self.measurement.change.tree;
        let key = self.key_of(test, &program);
        let known = key.as_ref().filter(|_| self.measurement.reuses);
        if let Some(outcome) = known.and_then(|key| self.kept.borrow().find(key, tree)) {
            return outcome;
        }
        let (outcome, of_tree) = match self.try_on_both(test, &program) {
            Ok(outcome) => (outcome, None),
            Err(NoTrial::OnBase(reason)) => (RedOutcome::Unknown(reason), None),
            Err(NoTrial::FailsNow(reason)) => (RedOutcome::Unknown(reason), Some(tree.clone())),
            Err(NoTrial::NotMade(reason)) => return RedOutcome::Unknown(reason),
        };
        if let Some(key) = key {
            self.kept.borrow_mut().keep(key, of_tree, outcome.clone());
        }
        outcome
    }

    /// A digest of what the base's sources show of a test: the base, the tests of the change, the command and its
    /// surroundings. `None` where one of them is not known.
    fn key_of(&self, test: &CoveringTest, program: &Path) -> Option<String> {
        let Measurement { request, change, watch, .. } = self.measurement;
        let command = self.measurement.command_in(&test.dir, &test.words, program);
        let surroundings = watch.digest_surroundings(request, &command, Some(GATE_LEVEL))?;
        let mut hasher = blake3::Hasher::new();
        let mut add = |part: &str| {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        };
        [&surroundings, &change.base.tree, &test.path, &test.name].into_iter().for_each(|part| add(part));
        for file in change.files.iter().filter(|file| is_of_tests(&file.path)) {
            add(&file.path);
            add(change.blob_id(&file.path).unwrap_or("removed"));
        }
        Some(hasher.finalize().to_hex().to_string())
    }

    fn try_on_both(&self, test: &CoveringTest, program: &Path) -> Result<RedOutcome, NoTrial> {
        if !is_of_tests(&test.path) {
            let reason = "it is in a source file, so the sources of the base cannot be tried with it";
            return Err(NoTrial::NotMade(reason.to_owned()));
        }
        self.measurement.memory.finish();
        let lab = self.lab().map_err(NoTrial::NotMade)?;
        // The environment is tested before the sources: what fails with the change, too, shows nothing.
        let with_change = self.run(lab, lab.tree(), test, program).map_err(NoTrial::NotMade)?;
        let result = &with_change.result;
        if result.code != Some(0) || result.count_tests() == Some(0) {
            let tool = test.words.first().map_or("the command", String::as_str);
            let reason = format!("it does not pass in isolation: {}", failure_reason(tool, result));
            return Err(if result.code.is_some() { NoTrial::FailsNow(reason) } else { NoTrial::NotMade(reason) });
        }
        let base = self.base_with_tests(lab).map_err(NoTrial::NotMade)?;
        let on_base = self.run(lab, &base, test, program).map_err(NoTrial::NotMade)?;
        let fails_before = "on the base's sources the run fails before the test does".to_owned();
        match on_base.result.code {
            Some(0) if on_base.result.count_tests() == Some(0) => {
                Err(NoTrial::OnBase("it does not run on the base's sources".to_owned()))
            }
            Some(0) => Ok(RedOutcome::PassesOnBase),
            // Any command can fail in many ways; that this test does is what counts.
            Some(_) if names_failing(test, &on_base) => Ok(RedOutcome::Red),
            Some(_) => Err(NoTrial::OnBase(fails_before)),
            None => Err(NoTrial::NotMade(fails_before)),
        }
    }

    fn lab(&self) -> Result<&GateLab, String> {
        if let Some(lab) = self.measurement.lab {
            return Ok(lab);
        }
        let open = || {
            GateLab::open(self.measurement.request, &self.measurement.change.tree).map_err(|error| format!("{error:#}"))
        };
        self.own_lab.get_or_init(open).as_ref().map_err(String::clone)
    }

    /// The tree of the base with the tests of the change.
    fn base_with_tests(&self, lab: &GateLab) -> Result<LabTree, String> {
        let change = self.measurement.change;
        let base = lab.lab().check_out(&change.base.tree).map_err(|error| error.to_string())?;
        let tests = change.files.iter().filter(|file| is_of_tests(&file.path));
        let edits = tests.map(|file| lab.tree().edit_of_file(file.path.as_ref())).collect::<Result<_, _>>();
        Ok(base.with_edits(edits.map_err(|error| format!("cannot read the tests of the change: {error}"))?))
    }

    fn find_program(&self, test: &CoveringTest) -> Result<PathBuf, String> {
        let root = &self.measurement.request.places.root;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let tool = test.words.first().map_or("", String::as_str);
        find_tool(tool, &root.join(&test.dir), root, &path).ok_or_else(|| format!("{tool} is not installed"))
    }

    fn run(&self, lab: &GateLab, tree: &LabTree, test: &CoveringTest, program: &Path) -> Result<TriedCommand, String> {
        let command = self.measurement.command_in(&test.dir, &test.words, program);
        let command = GateCommand { reuses: false, ..command };
        lab.try_on(self.measurement.request, tree, &command).map_err(|error| format!("{error:#}"))
    }
}

/// Whether the output of a failing run names this test as failing.
fn names_failing(test: &CoveringTest, tried: &TriedCommand) -> bool {
    let mut failed = tried.items.items.iter().flat_map(|item| item.tests());
    failed.any(|failed| contains_name(failed, &test.name))
}

/// Whether a file has tests, or what only tests read, and no sources.
pub(in crate::ops) fn is_of_tests(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_in_tests = folder.split('/').any(|part| TEST_FOLDERS.contains(&part));
    // Every file of Rust may have tests beside its sources.
    let is_test_file = !name.ends_with(".rs") && TestLanguage::of_test_file(path).is_some();
    is_in_tests || is_test_file || name == "conftest.py"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_from_tests_by_their_place_and_name() {
        for path in [
            "tests/api.rs",
            "test_api.py",
            "src/a.test.ts",
            "a_test.go",
            "spec/a_spec.lua",
            "conftest.py",
            "tests/data/x.json",
        ] {
            assert!(is_of_tests(path), "{path}");
        }
        for path in ["src/lib.rs", "api.py", "src/a.ts", "a.go", "contest/a.py", "latest.js"] {
            assert!(!is_of_tests(path), "{path}");
        }
    }
}
