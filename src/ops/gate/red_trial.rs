//! Red evidence by trial: the test that covers a criterion runs in the lab, on the sources of the base and on those of the
//! change. Neither run is recorded: the base is no state of the user's work.

use std::cell::OnceCell;

use super::execute::{GateCommand, failure_reason};
use super::isolated::{GateLab, TriedCommand};
use super::measurement::Measurement;
use super::red::{CoveringTest, contains_name};
use crate::fix::find_tool;
use crate::gate::criteria::declaration::TestLanguage;
use crate::lab::LabTree;

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
#[derive(Debug, Clone, PartialEq, Eq)]
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
}

impl<'a> RedTrial<'a> {
    /// Nothing is run yet.
    pub(super) fn new(measurement: &'a Measurement<'a>) -> Self {
        RedTrial { measurement, own_lab: OnceCell::new() }
    }

    /// Runs a test on both trees.
    pub(super) fn try_test(&self, test: &CoveringTest) -> RedOutcome {
        match self.try_on_both(test) {
            Ok(outcome) => outcome,
            Err(reason) => RedOutcome::Unknown(reason),
        }
    }

    fn try_on_both(&self, test: &CoveringTest) -> Result<RedOutcome, String> {
        if !is_of_tests(&test.path) {
            return Err("it is in a source file, so the sources of the base cannot be tried with it".to_owned());
        }
        let lab = self.lab()?;
        // The environment is tested before the sources: what fails with the change, too, shows nothing.
        let with_change = self.run(lab, lab.tree(), test)?;
        let result = &with_change.result;
        if result.code != Some(0) || result.count_tests() == Some(0) {
            let tool = test.words.first().map_or("the command", String::as_str);
            return Err(format!("it does not pass in isolation: {}", failure_reason(tool, result)));
        }
        let base = self.base_with_tests(lab)?;
        let on_base = self.run(lab, &base, test)?;
        match on_base.result.code {
            Some(0) if on_base.result.count_tests() == Some(0) => {
                Err("it does not run on the base's sources".to_owned())
            }
            Some(0) => Ok(RedOutcome::PassesOnBase),
            // Any command can fail in many ways; that this test does is what counts.
            Some(_) if names_failing(test, &on_base) => Ok(RedOutcome::Red),
            _ => Err("on the base's sources the run fails before the test does".to_owned()),
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

    fn run(&self, lab: &GateLab, tree: &LabTree, test: &CoveringTest) -> Result<TriedCommand, String> {
        let request = self.measurement.request;
        let root = &request.places.root;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let tool = test.words.first().map_or("", String::as_str);
        let program = find_tool(tool, &root.join(&test.dir), root, &path);
        let program = program.ok_or_else(|| format!("{tool} is not installed"))?;
        let command = self.measurement.command_in(&test.dir, &test.words, &program);
        lab.try_on(request, tree, &GateCommand { reuses: false, ..command }).map_err(|error| format!("{error:#}"))
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
