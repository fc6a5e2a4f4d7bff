//! Commands for a change of which no failing run was recorded, in the order of their confidence: checks that passed in
//! its task, in its folder recently, that its prompt names, that its files suggest, that its stack has.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

use super::scenario_inputs::{candidate_of_run, read_run};
use crate::base::clock::Timestamp;
use crate::event::{HarvestRecord, Run, ScenarioCommand, ScenarioSource};
use crate::fix::snapshot::{KeptFile, TreeVault};
use crate::learn::scenario::{
    CandidateCommand, ProjectFiles, TestTexts, commands_for_projects, commands_for_tests, count_unreached, is_code,
    named_files, package_scripts, quoted_commands, tests_near,
};
use crate::ops::gate::is_of_tests;
use crate::ops::request::Request;
use crate::store::{Index, RunFilter, SegmentFolder};
use crate::whitelist::{CheckKind, Whitelist};

/// Recorded runs that are looked at, the newest first.
const RUNS_MAX: usize = 200;
/// Different commands among them.
const COMMANDS_MAX: usize = 20;
/// How long a passing run says what works.
const KNOWN_GOOD_TIME: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Test files that are read, and bytes of one.
const TESTS_MAX: usize = 500;
const TEST_BYTES_MAX: u64 = 64 << 10;
/// Packages that are read, and bytes of one's manifest.
const PACKAGES_MAX: usize = 50;
const PACKAGE_BYTES_MAX: u64 = 256 << 10;

/// What commands are looked for with.
pub(super) struct ScenarioGuesses<'a> {
    /// The call.
    pub request: &'a Request,
    /// What is recorded.
    pub index: &'a Index,
    /// The events.
    pub segments: &'a SegmentFolder,
    /// The kept trees.
    pub vault: &'a TreeVault,
}

/// A changed tree.
struct ChangedTree {
    files: ProjectFiles,
    tests: TestTexts,
    /// Changed code that is still there.
    changed: Vec<String>,
}

impl ScenarioGuesses<'_> {
    /// The commands that may show the change from the tree before to `approved`.
    ///
    /// # Errors
    /// When objects are gone, or the store can't be read.
    pub(super) fn find_candidates(
        &self,
        harvest: &HarvestRecord,
        approved: &str,
    ) -> anyhow::Result<Vec<CandidateCommand>> {
        let Some(before) = &harvest.trees.before else { return Ok(Vec::new()) };
        let tree = self.read_tree(before, approved)?;
        if tree.changed.is_empty() {
            return Ok(Vec::new());
        }
        let changed: Vec<&str> = tree.changed.iter().map(String::as_str).collect();
        let mut found = self.recorded_checks(harvest)?;
        found.extend(self.prompted_commands(harvest, &tree)?);
        let tests: Vec<&str> = changed.iter().copied().filter(|path| is_of_tests(path)).collect();
        let near: BTreeSet<&str> = changed.iter().flat_map(|path| tests_near(path, &tree.tests)).collect();
        let chosen = if tests.is_empty() { near.into_iter().collect() } else { tests };
        let suggested = [
            (ScenarioSource::Diff, commands_for_tests(&chosen, &tree.files)),
            (ScenarioSource::Diff, package_scripts(&changed, &tree.files)),
            (ScenarioSource::Template, commands_for_projects(&changed, &tree.files)),
        ];
        for (source, commands) in suggested {
            found.extend(commands.into_iter().map(|command| self.guess(source, command)));
        }
        found.retain(|candidate| candidate.duration_ms > 0 || self.is_test(&candidate.command.argv));
        // Who gave the prompt knows what shows the change.
        for candidate in found.iter_mut().filter(|candidate| candidate.source != ScenarioSource::Prompt) {
            candidate.unreached = count_unreached(&candidate.command, &changed, &tree.tests);
        }
        // What reaches nothing shows nothing.
        found.retain(|candidate| candidate.unreached < changed.len() as u64);
        Ok(found)
    }

    fn read_tree(&self, before: &str, approved: &str) -> anyhow::Result<ChangedTree> {
        let trouble = |skipped| anyhow::anyhow!("{skipped}");
        let changed = self.vault.read_change(before, approved).map_err(trouble)?;
        let changed = changed.into_iter().filter(|(path, versions)| versions.after.is_some() && is_code(path));
        let listed = self.vault.list_files(approved).map_err(trouble)?;
        let is_package = |file: &&KeptFile| file.path.ends_with("package.json") && file.bytes <= PACKAGE_BYTES_MAX;
        let is_test = |file: &&KeptFile| is_of_tests(&file.path) && is_code(&file.path) && file.bytes <= TEST_BYTES_MAX;
        let packages: Vec<&KeptFile> = listed.iter().filter(is_package).take(PACKAGES_MAX).collect();
        let tests: Vec<&KeptFile> = listed.iter().filter(is_test).take(TESTS_MAX).collect();
        let texts = |files: &[&KeptFile]| -> anyhow::Result<Vec<(String, String)>> {
            let texts = self.vault.read_files(files).map_err(trouble)?;
            Ok(files.iter().map(|file| file.path.clone()).zip(texts).collect())
        };
        Ok(ChangedTree {
            changed: changed.map(|(path, _)| path).collect(),
            files: ProjectFiles {
                paths: listed.iter().map(|file| file.path.clone()).collect(),
                packages: texts(&packages)?,
            },
            tests: texts(&tests)?.into_iter().collect(),
        })
    }

    /// Checks that passed in this work tree: in the task, or recently. The narrowest first.
    fn recorded_checks(&self, harvest: &HarvestRecord) -> anyhow::Result<Vec<CandidateCommand>> {
        let age = i64::try_from(KNOWN_GOOD_TIME.as_micros()).unwrap_or(i64::MAX);
        let since = Some(Timestamp(self.request.now().0.saturating_sub(age)));
        let filter = RunFilter { passed: Some(true), since, ..RunFilter::default() };
        let mut found: Vec<CandidateCommand> = Vec::new();
        for row in self.index.runs_under(&harvest.root, &filter, RUNS_MAX)? {
            let Some((run, is_own)) = read_run(self.request, self.index, self.segments, &row.id)? else { continue };
            let candidate = self.recorded(&run, is_own, harvest);
            let is_known = |known: &CandidateCommand| known.command == candidate.command;
            if run.check == Some(CheckKind::Test) && !found.iter().any(is_known) && found.len() < COMMANDS_MAX {
                found.push(candidate);
            }
        }
        found.sort_by_key(|it| std::cmp::Reverse((it.command.dir.len(), it.command.argv.len())));
        Ok(found)
    }

    fn recorded(&self, run: &Run, is_own: bool, harvest: &HarvestRecord) -> CandidateCommand {
        let is_of_task = run.task == harvest.task;
        CandidateCommand {
            source: if is_of_task { ScenarioSource::ExecutionHistory } else { ScenarioSource::LastKnownGood },
            is_own: is_own && !run.dir.path().is_absolute(),
            // The tests of another task's tree say nothing of this one.
            tests: run.tests.filter(|_| is_of_task),
            ..candidate_of_run(run)
        }
    }

    /// Commands that the prompt names and that were run here before, and tests that it names.
    fn prompted_commands(&self, harvest: &HarvestRecord, tree: &ChangedTree) -> anyhow::Result<Vec<CandidateCommand>> {
        let Some(prompt) = &harvest.prompt else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        let quoted = quoted_commands(prompt);
        let rows = if quoted.is_empty() {
            Vec::new()
        } else {
            self.index.runs_under(&harvest.root, &RunFilter::default(), RUNS_MAX)?
        };
        for words in quoted {
            let is_it = |argv: &[crate::base::lossless::Lossless]| {
                argv.len() == words.len() && argv.iter().zip(&words).all(|(one, other)| one.display() == *other)
            };
            let Some(row) = rows.iter().find(|row| is_it(&row.argv)) else { continue };
            let Some((run, is_own)) = read_run(self.request, self.index, self.segments, &row.id)? else { continue };
            let source = ScenarioSource::Prompt;
            found.push(CandidateCommand { source, tests: None, ..self.recorded(&run, is_own, harvest) });
        }
        let named = named_files(prompt, |path| tree.tests.contains_key(path));
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        let commands = commands_for_tests(&named, &tree.files);
        found.extend(commands.into_iter().map(|command| self.guess(ScenarioSource::Prompt, command)));
        Ok(found)
    }

    fn guess(&self, source: ScenarioSource, command: ScenarioCommand) -> CandidateCommand {
        CandidateCommand { command, source, is_own: true, ..CandidateCommand::default() }
    }

    /// Whether the whitelist knows these words as tests.
    fn is_test(&self, argv: &[String]) -> bool {
        let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
        let whitelist = Whitelist::open(&self.request.places, &self.request.environment);
        whitelist.decide_command(&argv).into_check().is_some_and(|check| check.kind == CheckKind::Test)
    }
}
