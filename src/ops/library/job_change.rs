//! The change of a job as files: what differs between its kept trees, cut into tests and sources, and trees with a part of it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context as _;

use crate::event::{HarvestRecord, TrialPurpose};
use crate::fix::snapshot::{TreeFile, TreeFileChange, TreeVault};
use crate::lab::{Lab, LabTree, TreeEdit};
use crate::learn::minimal::{FileContent, FileVersions};
use crate::ops::gate::is_of_tests;

/// Files with their contents; `None` of one that is not there.
pub(super) type FileSet = BTreeMap<String, Option<FileContent>>;

/// The change from the failing tree to the approved one.
#[derive(Debug)]
pub(super) struct JobChange {
    /// The failing tree, hex.
    pub before: String,
    /// The approved tree, hex.
    pub after: String,
    /// Changed files with tests, or with what only tests read.
    pub tests: BTreeMap<String, FileVersions>,
    /// The other changed files.
    pub sources: BTreeMap<String, FileVersions>,
}

/// A tree in the lab, with its id in git.
#[derive(Debug, Clone)]
pub(super) struct TrialTree {
    /// The git tree, hex.
    pub id: String,
    /// As files.
    pub files: LabTree,
}

impl JobChange {
    /// Reads it from the kept trees.
    ///
    /// # Errors
    /// When it is too large, or objects are gone.
    pub(super) fn read(vault: &TreeVault, harvest: &HarvestRecord, approved: &str) -> anyhow::Result<Self> {
        let before = harvest.trees.before.clone().context("the tree before the fix is not known")?;
        let (tests, sources) =
            read_versions(vault, &before, approved)?.into_iter().partition(|(path, _)| is_of_tests(path));
        Ok(JobChange { before, after: approved.to_owned(), tests, sources })
    }

    /// The tests as they are after the change.
    pub(super) fn tests_after(&self) -> FileSet {
        self.tests.iter().map(|(path, versions)| (path.clone(), versions.after.clone())).collect()
    }

    /// The failing tree with the tests of the change.
    ///
    /// # Errors
    /// When it can't be written or checked out.
    pub(super) fn failing_tree(&self, vault: &TreeVault, lab: &Lab) -> anyhow::Result<TrialTree> {
        tree_with_files(vault, lab, &self.before, &self.tests_after())
    }

    /// The tree of a run. `has_recorded_failure`: the tree before fails without the tests of the change.
    ///
    /// # Errors
    /// When it can't be written or checked out.
    pub(super) fn tree_for(
        &self,
        purpose: TrialPurpose,
        has_recorded_failure: bool,
        vault: &TreeVault,
        lab: &Lab,
    ) -> anyhow::Result<TrialTree> {
        let none = FileSet::new();
        match purpose {
            TrialPurpose::BeforeAgain if !has_recorded_failure => self.failing_tree(vault, lab),
            TrialPurpose::Before | TrialPurpose::BeforeAgain => tree_with_files(vault, lab, &self.before, &none),
            TrialPurpose::BeforeWithTests => self.failing_tree(vault, lab),
            TrialPurpose::AfterWithoutTests => {
                let old = self.tests.iter().map(|(path, versions)| (path.clone(), versions.before.clone())).collect();
                tree_with_files(vault, lab, &self.after, &old)
            }
            TrialPurpose::KnownGood
            | TrialPurpose::AfterAgain
            | TrialPurpose::Reduced
            | TrialPurpose::Confirmed
            | TrialPurpose::Perturbed => tree_with_files(vault, lab, &self.after, &none),
        }
    }
}

/// The files that differ between two trees.
///
/// # Errors
/// When there are too many, or objects are gone.
pub(super) fn read_versions(vault: &TreeVault, from: &str, to: &str) -> anyhow::Result<BTreeMap<String, FileVersions>> {
    let changed = vault.read_change(from, to).map_err(|skipped| anyhow::anyhow!("{skipped}"))?;
    let content = |file: Option<TreeFile>| file.map(|(mode, bytes)| FileContent { bytes, mode });
    let versions = |TreeFileChange { before, after }| FileVersions { before: content(before), after: content(after) };
    Ok(changed.into_iter().map(|(path, change)| (path, versions(change))).collect())
}

/// A tree with some of its files replaced, as files. Where only regular files are replaced they are edits over the tree,
/// which need no checkout of their own.
///
/// # Errors
/// When it can't be written or checked out.
pub(super) fn tree_with_files(vault: &TreeVault, lab: &Lab, base: &str, files: &FileSet) -> anyhow::Result<TrialTree> {
    if files.is_empty() {
        return Ok(TrialTree { id: base.to_owned(), files: lab.check_out(base)? });
    }
    let written =
        files.iter().map(|(path, file)| (path.clone(), file.as_ref().map(|it| (it.mode.clone(), it.bytes.clone()))));
    let id = vault.write_tree(base, &written.collect()).map_err(|skipped| anyhow::anyhow!("{skipped}"))?;
    let is_plain = |file: &Option<FileContent>| file.as_ref().is_none_or(|file| file.mode.starts_with("100"));
    if !files.values().all(is_plain) {
        return Ok(TrialTree { files: lab.check_out(&id)?, id });
    }
    let edits = files.iter().map(|(path, file)| TreeEdit {
        path: PathBuf::from(path),
        content: file.as_ref().map(|file| file.bytes.clone()),
        is_executable: file.as_ref().is_some_and(|file| file.mode == "100755"),
    });
    Ok(TrialTree { files: lab.check_out(base)?.with_edits(edits.collect()), id })
}
