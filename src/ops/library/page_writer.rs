//! Writes the page about a proven job as a candidate, unless a rule says that there is to be none.

use anyhow::Context as _;

use super::folder::PageFolders;
use super::job_change::read_versions;
use super::job_trial::JobTrial;
use super::job_writer::JobWriter;
use super::wording::word_page;
use crate::base::ids::{self, IdKind};
use crate::base::text;
use crate::event::{
    Atom, CrystallisedPage, EventAuthor, EventBody, EvidenceLabel, HarvestRecord, LearnStep, LibraryFolderName,
    LibraryNote, LibraryStep, MinimalChange, NoPageRule, Run, TrialOutcome, TrialPurpose, TrialRecord, WrittenPage,
};
use crate::learn::crystal::{
    CauseFacts, EvidenceRow, PageFacts, ProblemFacts, page_file_name, render_library_page, title_of_change,
    title_of_failure, words_of_page,
};
use crate::learn::job::Job;
use crate::learn::library::{PageFrontMatter, PageScope, PagesFold, digest_page};
use crate::ops::request::Request;
use crate::redact::redact_text;
use crate::store::{Index, SegmentFolder};

/// Lines of context in the diff of a page.
const CONTEXT_LINES: usize = 3;
/// Files that a page applies to.
const GLOBS_MAX: usize = 10;
/// Lines of a causing change that are quoted.
const CAUSE_LINES_MAX: usize = 8;

/// What pages are written with.
pub(super) struct PageWriter<'a> {
    /// The call.
    pub request: &'a Request,
    /// What is recorded.
    pub index: &'a Index,
    /// The events.
    pub segments: &'a SegmentFolder,
}

impl PageWriter<'_> {
    /// Writes the page of a job that is proven and reduced, or records why there is none.
    ///
    /// # Errors
    /// When the store can't be read or written.
    pub(super) fn write(&self, trial: &JobTrial<'_>, writer: &mut JobWriter<'_>) -> anyhow::Result<()> {
        let job = writer.job.clone();
        let (Some(harvest), Some(minimal)) = (&job.harvest, &job.minimal) else { return Ok(()) };
        let no_page = |rule, why: &str| LearnStep::NoArtifact { rule, why: why.to_owned() };
        if minimal.is_undo {
            return writer.record(no_page(NoPageRule::Undo, "it reverts a slip of the same task"));
        }
        let diff = trial
            .vault
            .diff_text(&minimal.before, &minimal.tree, CONTEXT_LINES)
            .map_err(|skipped| anyhow::anyhow!("{skipped}"))
            .context("cannot read the smallest change")?;
        let diff = String::from_utf8_lossy(&diff).into_owned();
        if redact_text(&diff).1 > 0 || text::printable(&diff) != diff {
            return writer.record(no_page(NoPageRule::Secret, "its change has a secret or a control character in it"));
        }
        let artifact = ids::short(IdKind::Artifact, diff_without_places(&diff).as_bytes());
        if let Some(known) = self.known_page(harvest, &job.id, &artifact)? {
            return writer.record(LearnStep::FurtherProof { artifact: known });
        }
        let run = self.read_run(harvest)?;
        let facts = self.collect_facts(trial, &job, harvest, minimal, run.as_ref(), (&artifact, &diff))?;
        let wording = word_page(self.request, &facts, &trial.vault, &trial.change.after);
        let mut facts = facts;
        if let Some(model) = &wording.model {
            facts.front_matter.author = format!("{}, worded by {model}", facts.front_matter.author);
        }
        let Some(page) = render_library_page(&facts, &wording) else {
            return writer.record(no_page(NoPageRule::NoPlace, "its change is too long for a page"));
        };
        if redact_text(&page).1 > 0 {
            return writer.record(no_page(NoPageRule::Secret, "a secret would be in its page"));
        }
        let title = wording.title.as_ref().unwrap_or(&facts.front_matter.title);
        let name = page_file_name(&artifact, title);
        let digest = digest_page(page.as_bytes());
        let quotes: Vec<_> = harvest.runs.before.into_iter().collect();
        let written = WrittenPage {
            file: name.clone(),
            digest: digest.clone(),
            text: page.clone(),
            job: Some(job.id.clone()),
            fix_session: run.and_then(|run| run.session),
            quotes: quotes.clone(),
        };
        let path = match PageFolders::of_request(self.request).write_page(LibraryFolderName::Candidates, &name, &page) {
            Ok(path) => path.to_string_lossy().into_owned(),
            Err(error) => return writer.record(no_page(NoPageRule::NoPlace, &format!("{error:#}"))),
        };
        self.record_page(&artifact, &job, written)?;
        let (model, replaced) = (wording.model, wording.replaced);
        let page = CrystallisedPage { artifact, path, digest, model, replaced, quotes };
        writer.record(LearnStep::Crystallised(Box::new(page)))
    }

    fn record_page(&self, artifact: &str, job: &Job, written: WrittenPage) -> anyhow::Result<()> {
        let task = job.harvest.as_ref().map(|harvest| harvest.task.as_str());
        let by = EventAuthor::from_identity(&self.request.identity, task);
        let digest = written.digest.clone();
        let step = LibraryStep::Written(Box::new(written));
        let note = LibraryNote { artifact: artifact.to_owned(), step, by };
        let mut store = self.request.open_store().context("the page cannot be recorded now")?;
        store.record_derived("library", &[artifact, &job.id, &digest], EventBody::Library(Box::new(note)))?;
        Ok(())
    }

    /// A page that this job proves once more: of the same smallest change, or of a change of the same shape. Not one that a
    /// person rejected.
    fn known_page(&self, harvest: &HarvestRecord, job: &str, artifact: &str) -> anyhow::Result<Option<String>> {
        let pages = PagesFold::from_steps(&self.index.library_steps()?);
        let is_kept = |id: &String| pages.pages.get(id).is_some_and(|page| page.folder.is_some());
        let same = Some(artifact.to_owned()).filter(|id| {
            // The page of this very job, which a runner wrote before it was killed, is written again.
            let written = pages.pages.get(id).and_then(|page| page.written.as_ref());
            is_kept(id) && written.is_some_and(|written| written.job.as_deref() != Some(job))
        });
        if same.is_some() {
            return Ok(same);
        }
        let shapes = self.index.jobs_of_shapes(&harvest.shapes)?;
        Ok(shapes.into_iter().filter(|other| other.job != job).filter_map(|other| other.artifact).find(is_kept))
    }

    fn read_run(&self, harvest: &HarvestRecord) -> anyhow::Result<Option<Run>> {
        match harvest.runs.before {
            Some(run) => Ok(self.index.read_run(self.segments, &run.to_string())?),
            None => Ok(None),
        }
    }

    fn collect_facts(
        &self,
        trial: &JobTrial<'_>,
        job: &Job,
        harvest: &HarvestRecord,
        minimal: &MinimalChange,
        run: Option<&Run>,
        (artifact, diff): (&str, &str),
    ) -> anyhow::Result<PageFacts> {
        let notes = match &harvest.fix {
            Some(fix) => self.index.fix_notes(fix)?,
            None => Vec::new(),
        };
        let said: Vec<String> =
            notes.iter().flat_map(|note| [&note.cause, &note.rule]).chain([&harvest.note]).flatten().cloned().collect();
        let approach = notes.iter().rev().find_map(|note| note.approach.clone());
        let fixed = job.judgement.as_ref().map(|it| it.fixed.first.clone()).unwrap_or_default();
        let failed = fixed.first().or(harvest.fixed.first.first());
        let message = failed.map(|atom| atom.text.clone()).unwrap_or_else(|| "a failure".to_owned());
        let tool = run.and_then(|run| run.tool.clone()).unwrap_or_else(|| "the check".to_owned());
        let pattern = failed.map(|atom| ids::short(IdKind::Pattern, atom.pattern.as_bytes()));
        let title = approach.unwrap_or_else(|| find_title(harvest, failed, diff));
        let category = run.and_then(|run| run.failure.as_ref()).map(|failure| failure.category.clone());
        let mut globs: Vec<String> = changed_files(diff);
        globs.truncate(GLOBS_MAX);
        let front_matter = PageFrontMatter {
            id: artifact.to_owned(),
            title: text::ellipsis(&text::one_line(&title), 72),
            evidence: EvidenceLabel::Proven,
            robust: Some((minimal.robust, minimal.perturbed)).filter(|(_, all)| *all > 0),
            minimal: Some((minimal.kept, minimal.units)),
            level: trial.lab.level,
            applies_to: PageScope {
                globs,
                tools: vec![tool.clone()],
                categories: category.into_iter().collect(),
                words: words_of_page(&message, diff),
            },
            patterns: pattern.iter().cloned().collect(),
            fixes: harvest.fix.iter().cloned().collect(),
            job: Some(job.id.clone()),
            snapshot: job.capture.as_ref().map(|capture| capture.commit.clone()),
            change: Some(digest_page(diff.as_bytes())),
            author: format!("verify-run {}", env!("CARGO_PKG_VERSION")),
            ..PageFrontMatter::default()
        };
        Ok(PageFacts {
            front_matter,
            problem: ProblemFacts {
                message,
                file: failed.and_then(|atom| atom.file.clone()),
                test: failed.and_then(|atom| atom.test.clone()),
                tool,
                pattern,
                tasks: harvest.novelty.tasks,
            },
            solution: diff.to_owned(),
            cause: self.cause_of(trial, harvest, diff)?,
            said,
            fails_without: minimal.is_minimal.then(|| failed.map(name_failed)).flatten(),
            evidence: evidence_rows(job),
            notes: page_notes(job, minimal),
        })
    }

    /// The change that brought the failure, in the files that the fix changes.
    fn cause_of(
        &self,
        trial: &JobTrial<'_>,
        harvest: &HarvestRecord,
        diff: &str,
    ) -> anyhow::Result<Option<CauseFacts>> {
        let Some(base) = &harvest.trees.base else { return Ok(None) };
        let fixed = changed_files(diff);
        let versions = read_versions(&trial.vault, base, &trial.change.before)?;
        let files: Vec<String> = versions.into_keys().filter(|path| fixed.contains(path)).collect();
        if files.is_empty() {
            return Ok(None);
        }
        let cause =
            trial.vault.diff_text(base, &trial.change.before, 0).map_err(|skipped| anyhow::anyhow!("{skipped}"))?;
        let lines = lines_of_files(&String::from_utf8_lossy(&cause), &files);
        let is_clean = |line: &String| redact_text(line).1 == 0 && text::printable(line) == *line;
        Ok(Some(CauseFacts { files, lines: lines.into_iter().filter(is_clean).take(CAUSE_LINES_MAX).collect() }))
    }
}

/// What a page is called that no person named: by the failure that it mends; of a change as a whole by what was asked for.
fn find_title(harvest: &HarvestRecord, failed: Option<&Atom>, diff: &str) -> String {
    let asked =
        harvest.prompt.as_deref().and_then(|prompt| prompt.lines().map(str::trim).find(|line| !line.is_empty()));
    let by_failure = || failed.and_then(|atom| title_of_failure(atom.test.as_deref(), &atom.text));
    let title = match harvest.fix {
        Some(_) => by_failure().or_else(|| title_of_change(diff)),
        None => asked.map(str::to_owned).or_else(|| title_of_change(diff)).or_else(by_failure),
    };
    title.unwrap_or_else(|| "Change some files".to_owned())
}

fn name_failed(atom: &Atom) -> String {
    atom.test.clone().unwrap_or_else(|| atom.text.clone())
}

/// The paths that a diff changes.
fn changed_files(diff: &str) -> Vec<String> {
    let path = |line: &str| Some(line.strip_prefix("diff --git a/")?.split_once(" b/")?.1.to_owned());
    diff.lines().filter_map(path).collect()
}

/// Added and removed lines of these files.
fn lines_of_files(diff: &str, files: &[String]) -> Vec<String> {
    let mut is_in = false;
    let mut lines = Vec::new();
    for line in diff.lines() {
        if let Some(rest) = line.strip_prefix("diff --git a/") {
            is_in = rest.split_once(" b/").is_some_and(|(_, path)| files.iter().any(|file| file == path));
        } else if is_in
            && (line.starts_with('+') && !line.starts_with("+++ ")
                || line.starts_with('-') && !line.starts_with("--- "))
        {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// A diff without blob ids and line numbers: the same edit elsewhere in a file is the same page.
fn diff_without_places(diff: &str) -> String {
    let kept = diff.lines().filter(|line| !line.starts_with("index "));
    let kept = kept.map(|line| if line.starts_with("@@ ") { "@@" } else { line });
    kept.collect::<Vec<_>>().join("\n")
}

/// The runs that prove it, for people.
fn evidence_rows(job: &Job) -> Vec<EvidenceRow> {
    let command = job.scenario.as_ref().map(|it| shell_words::join(&it.entrypoint.argv)).unwrap_or_default();
    let tree = |purpose| match purpose {
        TrialPurpose::KnownGood | TrialPurpose::AfterAgain => Some("after"),
        TrialPurpose::Before | TrialPurpose::BeforeAgain => Some("before"),
        TrialPurpose::BeforeWithTests => Some("before, with the new tests"),
        TrialPurpose::Confirmed => Some("smallest change"),
        TrialPurpose::AfterWithoutTests | TrialPurpose::Reduced | TrialPurpose::Perturbed => None,
    };
    let row = |trial: &TrialRecord| {
        Some(EvidenceRow {
            tree: tree(trial.purpose)?.to_owned(),
            command: command.clone(),
            result: describe_result(trial),
        })
    };
    job.current_trials().iter().filter_map(row).collect()
}

/// `41 tests pass`, `fails: test_rows`.
fn describe_result(trial: &TrialRecord) -> String {
    let failed = trial.atoms.first.first().map(name_failed);
    match (trial.outcome, trial.tests, failed) {
        (TrialOutcome::Passed, Some(1), _) => "1 test passes".to_owned(),
        (TrialOutcome::Passed, Some(tests), _) => format!("{tests} tests pass"),
        (TrialOutcome::Passed, None, _) => "passes".to_owned(),
        (_, _, Some(failed)) => format!("fails: {failed}"),
        _ => "fails".to_owned(),
    }
}

fn page_notes(job: &Job, minimal: &MinimalChange) -> Vec<String> {
    let mut notes = job.judgement.as_ref().map(|it| it.notes.clone()).unwrap_or_default();
    notes.extend(minimal.why.clone().map(|why| format!("The change is {why}.")));
    if !minimal.breaks_under.is_empty() {
        notes.push(format!("It fails with {}.", minimal.breaks_under.join(", ")));
    }
    let differing = job.capture.as_ref().map(|capture| capture.differing.clone()).unwrap_or_default();
    if !differing.is_empty() {
        notes.push(format!("The approved tree differs from the one that was tested in {}.", differing.join(", ")));
    }
    notes
}
