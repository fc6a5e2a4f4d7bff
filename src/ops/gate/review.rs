//! The review of an evaluation: asks the program that the user configured, and compares its model with those that wrote the
//! change. Whatever it answers or does is a remark or a warning; it never approves.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::process::ExitStatus;
use std::time::Duration;

use super::change::{Change, describe_difference, gate_snapshot_options, read_tree};
use super::criteria::try_links;
use super::implementers::recorded_implementers;
use super::items::ItemPreparation;
use super::own_program::{check_own_program, outside_path};
use super::run::Evaluation;
use crate::base::text;
use crate::capture::GATE_AGENT;
use crate::diagnose;
use crate::event::{GateIssue, GateIssueKind, GateModels, GateOutcome, GateReview, GateStart};
use crate::fix::snapshot::{DiffLimits, diff_trees};
use crate::gate::cycle::{CycleState, WorkTreeGate};
use crate::gate::policy::{ItemSource, Method};
use crate::gate::review::{
    ANSWER_BYTES_MAX, AnsweredReview, DIFF_BYTES_MAX, ReviewCriterion, ReviewPrp, ReviewRequest, ReviewText,
    ReviewedLines, judge_diversity, read_review,
};
use crate::host::process::{self, OrphanReaper, ProcessAnswer, ProcessCall};

/// Files of a change that a reviewer is shown.
const DIFF_FILES_MAX: usize = 5_000;
/// Time that processes of a reviewer have to end after it.
const ORPHAN_TIME: Duration = Duration::from_secs(1);
/// A line of a reviewer's errors, bytes.
const ERROR_BYTES_MAX: usize = 200;

impl Evaluation<'_> {
    /// Adds who wrote the change, the review, and what follows from them. `tree` becomes the tree after the reviewer.
    pub(super) fn add_review(
        &self,
        preparation: &ItemPreparation<'_>,
        (start, cycle, gate): (&GateStart, &CycleState, &WorkTreeGate),
        task: &str,
        outcome: &mut GateOutcome,
        tree: &mut String,
    ) -> anyhow::Result<()> {
        let mut implementers = cycle.implementers.clone();
        implementers.extend(start.implementers.iter().cloned());
        implementers.extend(recorded_implementers(self.request, task));
        let settings = &self.request.settings().gate.review;
        if !settings.command.is_empty() {
            let review = self.review(preparation, start, &implementers, outcome);
            outcome.review = Some(review);
            let after = read_tree(self.request, &gate_snapshot_options(self.request))?.tree;
            if after != *tree {
                let difference = describe_difference(self.request, tree, &after)?;
                let message = format!("the reviewer changed {difference}");
                outcome.issues.push(GateIssue { kind: GateIssueKind::Tree, message });
                *tree = after;
            }
        }
        let reviewer = outcome.review.as_ref().and_then(|review| review.model.as_deref());
        let found = judge_diversity(&implementers, reviewer, (settings.diversity, settings.unknown));
        let now = self.request.now();
        let is_waived = gate.waivers.iter().any(|(_, it)| it.item == GateIssueKind::Model.as_str() && it.until > now);
        if let Some(message) = found.issue.filter(|_| !is_waived) {
            outcome.issues.push(GateIssue { kind: GateIssueKind::Model, message });
        }
        outcome.models = GateModels { implementers: implementers.into_iter().collect(), diversity: found.diversity };
        Ok(())
    }

    /// Asks the reviewer, and tries the tests that it proposes.
    fn review(
        &self,
        preparation: &ItemPreparation<'_>,
        start: &GateStart,
        implementers: &BTreeSet<String>,
        outcome: &mut GateOutcome,
    ) -> GateReview {
        let change = preparation.change();
        let input = match self.write_request(change, start, implementers, outcome) {
            Ok(input) => input,
            Err(error) => return GateReview::failed(&text::one_line(&format!("{error:#}"))),
        };
        let settings = &self.request.settings().gate.review;
        let (answer, took) = match self.ask_reviewer(&input) {
            Ok(answer) => answer,
            Err(why) => return GateReview::failed(&why),
        };
        let lines = reviewed_lines(change);
        let AnsweredReview { model, verdict, issues, dropped, links } =
            match read_review(&answer, settings.model.as_deref(), &lines, settings.may_block) {
                Ok(review) => review,
                Err(why) => return GateReview::failed(&why),
            };
        let mut review = GateReview { verdict, issues, dropped, ..GateReview::default() };
        if let Some(loaded) = &self.prp {
            review.links = try_links(preparation.measurement(), loaded, preparation.projects(), &links);
            self.suggest_links(&model, &review, outcome);
        }
        review.took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        review.model = Some(model);
        review
    }

    fn write_request(
        &self,
        change: &Change,
        start: &GateStart,
        implementers: &BTreeSet<String>,
        outcome: &GateOutcome,
    ) -> anyhow::Result<Vec<u8>> {
        let limits = DiffLimits { files: DIFF_FILES_MAX, file_bytes: DIFF_BYTES_MAX, bytes: DIFF_BYTES_MAX };
        let options = gate_snapshot_options(self.request);
        let diff = diff_trees(&self.request.places, &change.base.tree, &change.tree, &options, limits)
            .map_err(|skipped| anyhow::anyhow!("the change cannot be shown to it: {skipped}"))?;
        let prp = self.prp.as_ref().map(|loaded| ReviewPrp {
            path: &loaded.path,
            text: ReviewText::from_prp(&loaded.text),
            criteria: loaded.prp.criteria.iter().map(|it| ReviewCriterion { id: &it.id, text: &it.text }).collect(),
        });
        let request = ReviewRequest {
            tree: &start.tree,
            base: &start.base,
            feature: &start.feature,
            change_kind: &start.change_kind,
            implementers: implementers.iter().map(String::as_str).collect(),
            prp,
            diff: ReviewText { text: diff.text, cut_bytes: diff.text_cut },
            ..ReviewRequest::new(&self.id, &outcome.items, &outcome.memory)
        };
        Ok(request.to_json())
    }

    /// Runs the reviewer's command; what it printed, and how long it took.
    fn ask_reviewer(&self, input: &[u8]) -> Result<(Vec<u8>, Duration), String> {
        let settings = &self.request.settings().gate;
        let words = &settings.review.command;
        check_own_program(words, "[gate.review]").map_err(|error| error.to_string())?;
        let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
        let path = outside_path(self.request);
        let variables = [
            ("PATH", Some(path.as_os_str())),
            ("VERIFY_RUN_EVALUATION", Some(OsStr::new(&self.id))),
            // What the reviewer runs is no work on the change.
            ("VERIFY_RUN_AGENT", Some(OsStr::new(GATE_AGENT))),
            ("VERIFY_RUN_MODEL", None),
        ];
        let limit = Duration::from_secs(settings.review_seconds);
        let dir = &self.request.places.root;
        let reaper = OrphanReaper::open();
        let answer = process::run(ProcessCall { argv: &argv, dir, variables: &variables, input, limit });
        reaper.end_strangers(ORPHAN_TIME);
        let ProcessAnswer { status, stdout, stderr, took } = answer
            .map_err(|error| format!("{} cannot be started: {error}", words.first().map_or("", String::as_str)))?;
        match status {
            None => Err(format!("it took longer than {} s", limit.as_secs())),
            Some(status) if !status.success() => Err(describe_failure(status, &stderr)),
            // One byte more than is read of an answer tells that it is too long.
            Some(_) => Ok((stdout.into_iter().take(ANSWER_BYTES_MAX + 1).collect(), took)),
        }
    }

    /// Says at each criterion without evidence which proposed test passes: a test covers it once it names it.
    fn suggest_links(&self, model: &str, review: &GateReview, outcome: &mut GateOutcome) {
        let Some(loaded) = &self.prp else { return };
        let is_about_criteria = |id: &str| {
            self.policy
                .checklist
                .items()
                .any(|item| item.id == id && matches!(item.source, ItemSource::Method(Method::ParsePrpAndVerify)))
        };
        for link in review.links.iter().filter(|link| link.passed) {
            let Some(criterion) = loaded.prp.criterion(&link.criterion) else { continue };
            let items = outcome.items.iter_mut().filter(|item| is_about_criteria(&item.id));
            let findings = items.flat_map(|item| &mut item.findings);
            for finding in
                findings.filter(|it| it.line == Some(criterion.line) && it.path.as_ref() == Some(&loaded.path))
            {
                let said = format!("{model} proposes {}, which passes: name {} in it", link.test, criterion.id);
                finding.fix = Some(said);
            }
        }
    }
}

fn describe_failure(status: ExitStatus, stderr: &[u8]) -> String {
    let said = diagnose::plain_text(stderr);
    match said.lines().map(str::trim).rfind(|line| !line.is_empty()) {
        Some(line) => format!("it ended with {status}: {}", text::ellipsis(&text::one_line(line), ERROR_BYTES_MAX)),
        None => format!("it ended with {status}"),
    }
}

/// The changed files with the numbers of their changed lines.
fn reviewed_lines(change: &Change) -> ReviewedLines<'_> {
    let lines = change.files.iter().map(|file| (file.path.as_str(), file.touched.iter().copied().collect()));
    lines.collect::<BTreeMap<&str, BTreeSet<u32>>>()
}
