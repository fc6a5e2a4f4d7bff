//! Which of the changed files may have fixed a failure: those it names, those near them by imports, else settings. The
//! rest was changed as well. Files that went back to an earlier state are an undo.

use std::collections::BTreeSet;

use super::changes::RecordedChange;
use super::context::Recorder;
use crate::base::limits::SNAPSHOT_DIFF_FILES_MAX;
use crate::base::lossless::Lossless;
use crate::event::{Atom, AttemptMeans, FileChange, Run};
use crate::fix::snapshot::GitObjectReader;
use crate::fix::{self, AtomSets, FileReferences, FileRelation, is_derived};
use crate::store::StoreError;
use crate::whitelist::CheckKind;

/// Commits before the failing run's that files may have gone back to.
const COMMITS_MAX: usize = 10;
/// Trees of earlier runs that they may have gone back to.
const TREES_MAX: usize = 8;
/// Files of a failure whose imports are read.
const OWN_MAX: usize = 20;
/// Files between a failing one and a changed one that are read.
const BETWEEN_MAX: usize = 40;

/// What the changed files have to do with a failure.
#[derive(Debug, Default)]
pub(super) struct Attribution {
    /// Those that may have fixed it, the nearest first.
    pub related: Vec<Lossless>,
    /// The others.
    pub also_changed: Vec<Lossless>,
    /// The related ones, or all, are what they were before the failure.
    pub undo: bool,
}

/// A failing run with the first run of its open failure: what was there before that one is an earlier state.
#[derive(Clone, Copy)]
pub(super) struct FailingRun<'a> {
    /// The run whose failure was open.
    pub run: &'a Run,
    /// The commit of the first failing run.
    pub commit: Option<&'a str>,
    /// When the first failing run was started.
    pub since: crate::base::clock::Timestamp,
}

/// Attributes a change to the files of a failure.
///
/// # Errors
/// When the store can't be read. What git can't tell stays unknown: then nothing is related by imports or undone.
pub(super) fn attribute_changes(
    recorder: &mut Recorder<'_>,
    failing: FailingRun<'_>,
    sets: &AtomSets,
    change: &RecordedChange,
) -> Result<Attribution, StoreError> {
    let mut found = Attribution::default();
    if change.means != AttemptMeans::Edit {
        return Ok(found);
    }
    let changed: Vec<&FileChange> =
        change.files.iter().filter(|file| !is_derived(&file.path.display())).take(SNAPSHOT_DIFF_FILES_MAX).collect();
    let trees = recorder.store.index().trees_before(&failing.run.root, failing.since, TREES_MAX)?;
    let mut look = AttributionSearch { recorder, failing: failing.run, change, blobs: None };
    let evidence = FailureEvidence::from_run(failing.run, sets);
    let related = look.related_files(&evidence, &changed);
    let returned = look.find_reverted(&changed, failing.commit, &trees);
    let is_returned = |file: &&FileChange| returned.contains(&file.path.display());
    let looked = if related.is_empty() { &changed } else { &related };
    found.undo = !looked.is_empty() && looked.iter().all(is_returned);
    found.related = related.iter().filter(|file| !is_returned(file)).map(|file| file.path.clone()).collect();
    let others = change.files.iter().filter(|file| found.undo || !found.related.contains(&file.path));
    found.also_changed = if found.undo { Vec::new() } else { others.map(|file| file.path.clone()).collect() };
    if found.undo {
        found.related.clear();
    }
    Ok(found)
}

/// The files and texts that a failure mentions.
struct FailureEvidence {
    /// Files of its items.
    own: BTreeSet<String>,
    /// Files of their stack frames.
    frames: BTreeSet<String>,
    /// Its messages and kept lines.
    said: String,
    /// A finding of a linter is about its own file.
    is_local: bool,
}

impl FailureEvidence {
    fn from_run(run: &Run, sets: &AtomSets) -> Self {
        let (gone, rest) = if sets.fixed.is_empty() {
            (&sets.persisted, &[][..])
        } else {
            (&sets.fixed, &[&sets.persisted, &sets.not_reached][..])
        };
        let files = |atom: &Atom| -> Vec<String> {
            let test = atom.test.as_deref().and_then(|test| test.split_once("::")).map(|(file, _)| file.to_owned());
            atom.file.iter().cloned().chain(test.filter(|file| file.contains('.'))).collect()
        };
        let own: BTreeSet<String> = gone.0.iter().flat_map(files).collect();
        let others: BTreeSet<String> = rest.iter().flat_map(|atoms| &atoms.0).flat_map(files).collect();
        let failure = run.failure.as_ref();
        let frames = failure.map_or(&[][..], |failure| &failure.files).iter();
        let frames = frames.filter(|file| !own.contains(*file) && !others.contains(*file)).cloned().collect();
        let lines = failure.map_or(&[][..], |failure| &failure.lines);
        // Lines of what is still wrong say nothing about what is gone.
        let kept = lines.iter().filter(|_| others.is_empty()).map(String::as_str);
        let said = gone.0.iter().map(|atom| atom.text.as_str()).chain(kept).collect::<Vec<_>>().join("\n");
        let is_local = matches!(run.check, Some(CheckKind::Lint | CheckKind::Format));
        FailureEvidence { own, frames, said, is_local }
    }

    /// How a changed file is named by the failure itself.
    fn names_file(&self, file: &FileChange, said: &FileReferences) -> Option<FileRelation> {
        let paths: Vec<String> = std::iter::once(&file.path).chain(file.from.as_ref()).map(Lossless::display).collect();
        let is_in = |files: &BTreeSet<String>| paths.iter().any(|path| files.contains(path));
        // A test configuration is there without an import.
        let is_around = |path: &String| {
            let folder = path.strip_suffix("conftest.py");
            folder.is_some_and(|folder| self.own.iter().any(|own| own.starts_with(folder)))
        };
        if is_in(&self.own) {
            Some(FileRelation::Own)
        } else if is_in(&self.frames) {
            Some(FileRelation::Frame)
        } else {
            paths.iter().any(|path| is_around(path) || said.names_path(path)).then_some(FileRelation::Import)
        }
    }
}

/// Looks at a change with git.
struct AttributionSearch<'a, 'b, 'c> {
    recorder: &'a mut Recorder<'c>,
    failing: &'b Run,
    change: &'b RecordedChange,
    blobs: Option<GitObjectReader>,
}

impl AttributionSearch<'_, '_, '_> {
    /// The changed files that may have fixed the failure, the nearest first.
    fn related_files<'f>(&mut self, evidence: &FailureEvidence, changed: &[&'f FileChange]) -> Vec<&'f FileChange> {
        let said = FileReferences::from_text("", &evidence.said);
        let named: Vec<Option<FileRelation>> = changed.iter().map(|file| evidence.names_file(file, &said)).collect();
        let mut found: Vec<(FileRelation, &FileChange)> =
            changed.iter().zip(&named).filter_map(|(file, relation)| Some((((*relation)?), *file))).collect();
        if evidence.is_local && found.iter().any(|(relation, _)| *relation == FileRelation::Own) {
            found.retain(|(relation, _)| *relation == FileRelation::Own);
        } else if found.len() < changed.len() {
            let rest: Vec<&FileChange> =
                changed.iter().zip(&named).filter(|(_, relation)| relation.is_none()).map(|(file, _)| *file).collect();
            let near =
                self.find_neighbours(evidence, &rest, found.is_empty()).unwrap_or_else(|| vec![false; rest.len()]);
            let near = rest.into_iter().zip(near).filter(|(_, near)| *near);
            found.extend(near.map(|(file, _)| (FileRelation::Import, file)));
        }
        found.sort_by_key(|(relation, _)| *relation);
        if found.is_empty() {
            // What a failure needs besides its own files: packages, settings.
            found = changed
                .iter()
                .filter(|file| fix::is_setting(&file.path.display()))
                .map(|it| (FileRelation::Setting, *it))
                .collect();
        }
        if let ([only], true, true) = (changed, found.is_empty(), evidence.own.is_empty() && evidence.frames.is_empty())
        {
            // It names no file at all, and this is all that was changed.
            return vec![only];
        }
        found.into_iter().map(|(_, file)| file).collect()
    }

    /// Which of these files the failing ones import or are imported by; with `deep` also through one file between.
    fn find_neighbours(
        &mut self,
        evidence: &FailureEvidence,
        changed: &[&FileChange],
        deep: bool,
    ) -> Option<Vec<bool>> {
        let trees = self.change.trees.as_ref()?;
        let (before, after) = (trees.before.clone(), trees.after.clone());
        let own: Vec<&str> = evidence.own.iter().chain(&evidence.frames).take(OWN_MAX).map(String::as_str).collect();
        if own.is_empty() {
            return None;
        }
        let paths: Vec<String> = changed.iter().map(|file| file.path.display()).collect();
        let all: Vec<&str> = own.iter().copied().chain(paths.iter().map(String::as_str)).collect();
        let mut texts = self.read_texts(&after, &all)?;
        let gone: Vec<usize> = (0..all.len()).filter(|at| texts[*at].is_empty()).collect();
        let old: Vec<&str> = gone.iter().map(|at| all[*at]).collect();
        for (at, text) in gone.into_iter().zip(self.read_texts(&before, &old)?) {
            texts[at] = text;
        }
        let references: Vec<FileReferences> =
            all.iter().zip(&texts).map(|(path, text)| FileReferences::from_text(path, text)).collect();
        let (of_own, of_changed) = references.split_at(own.len());
        let mut near: Vec<bool> = paths
            .iter()
            .zip(of_changed)
            .map(|(path, theirs)| {
                of_own.iter().any(|mine| mine.names_path(path)) || own.iter().any(|file| theirs.names_path(file))
            })
            .collect();
        if deep && !near.contains(&true) {
            let listed = self.blobs_of_run()?.tree_paths(&after).ok()?;
            let is_between = |path: &&String| of_own.iter().any(|mine| mine.names_path(path)) && !is_derived(path);
            let between: Vec<&str> = listed.iter().filter(is_between).take(BETWEEN_MAX).map(String::as_str).collect();
            let texts = self.read_texts(&after, &between)?;
            let between: Vec<FileReferences> =
                between.iter().zip(&texts).map(|(path, text)| FileReferences::from_text(path, text)).collect();
            near = paths.iter().map(|path| between.iter().any(|middle| middle.names_path(path))).collect();
        }
        Some(near)
    }

    /// The changed files that are what they were in one earlier tree or commit: the one that most of them went back to.
    fn find_reverted(&mut self, changed: &[&FileChange], commit: Option<&str>, trees: &[String]) -> BTreeSet<String> {
        let Some(after) = self.change.trees.as_ref().map(|trees| trees.after.clone()) else { return BTreeSet::new() };
        let commits =
            commit.into_iter().flat_map(|commit| (0..=COMMITS_MAX).map(move |back| format!("{commit}~{back}")));
        let earlier: Vec<String> = commits.chain(trees.iter().cloned()).collect();
        let paths: Vec<String> = changed.iter().map(|file| file.path.display()).collect();
        let mut names: Vec<(String, &str)> = Vec::new();
        for tree in std::iter::once(&after).chain(&earlier) {
            names.push((tree.clone(), ""));
            names.extend(paths.iter().map(|path| (tree.clone(), path.as_str())));
        }
        let Some(found) = self.blobs_of_run().and_then(|blobs| blobs.find_blobs(&names).ok()) else {
            return BTreeSet::new();
        };
        let mut rows = found.chunks(paths.len() + 1);
        let Some(now) = rows.next() else { return BTreeSet::new() };
        let same = rows.filter(|row| row[0].is_some()).map(|row| -> BTreeSet<String> {
            let files = paths.iter().zip(row[1..].iter().zip(&now[1..]));
            files.filter(|(_, (then, now))| then == now).map(|(path, _)| path.clone()).collect()
        });
        same.max_by_key(BTreeSet::len).unwrap_or_default()
    }

    fn read_texts(&mut self, tree: &str, paths: &[&str]) -> Option<Vec<String>> {
        let blobs = self.blobs_of_run()?;
        let names: Vec<(String, &str)> = paths.iter().map(|path| (tree.to_owned(), *path)).collect();
        blobs.find_blobs(&names).and_then(|found| blobs.read_texts(&found)).ok()
    }

    fn blobs_of_run(&mut self) -> Option<&GitObjectReader> {
        if self.blobs.is_none() {
            let (places, options) = self.recorder.projects.snapshot_options(self.failing.root.path())?;
            match GitObjectReader::open_blobs(&places, &options) {
                Ok(blobs) => self.blobs = Some(blobs),
                Err(skipped) => self.recorder.report.notes.push(format!("cannot tell what fixed a failure: {skipped}")),
            }
        }
        self.blobs.as_ref()
    }
}
