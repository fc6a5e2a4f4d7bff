//! `library jobs`, `job`, `requeue` and `cancel`.

use std::path::PathBuf;

use crate::base::text::{count, one_line};
use crate::event::{JobState, TrialRecord};
use crate::ops::library::{self, JobPage, JobReview, JobReviewDecision, JobSummary};
use crate::surface::cli::{CommandContext, Exit, Output};

#[derive(Debug, clap::Args)]
pub(super) struct JobsArgs {
    /// Only jobs in this state, such as queued or failed
    #[arg(long, value_name = "STATE", value_parser = parse_state)]
    state: Vec<JobState>,
    /// Maximum number of results
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct JobArgs {
    /// Id of the job or a unique prefix
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct DecisionArgs {
    /// Id of the job or a unique prefix
    id: String,
    /// Name of the person who decides
    #[arg(long, value_name = "NAME")]
    by: String,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct RequeueArgs {
    #[command(flatten)]
    said: DecisionArgs,
    /// A scenario that this person wrote and signed
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(super) struct ScenarioArgs {
    /// Id of the job or a unique prefix
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn parse_state(word: &str) -> Result<JobState, String> {
    JobState::from_word(word).ok_or_else(|| "unknown state; `library jobs` shows the known ones".to_owned())
}

pub(super) fn list(args: &JobsArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let list = library::list_jobs(&context.request, &args.state, args.limit)?;
    context.output.reply(&list, args.json, |list, output| {
        if list.jobs.is_empty() {
            output.note("no jobs: `verify-run task done` leaves one for each fix of the task");
            return Ok(());
        }
        output.list_title(&count(list.jobs.len(), "job"))?;
        let rows: Vec<Vec<String>> = list.jobs.iter().map(|job| row(job, output)).collect();
        output.table(&["job", "state", "changed", "task", "what"], &rows)
    })?;
    Ok(Exit::Ok)
}

fn row(job: &JobSummary, output: &Output) -> Vec<String> {
    let what = job.why.as_ref().or(job.summary.as_ref());
    vec![
        job.id.clone(),
        output.word(job.state.as_str()),
        output.when(job.at),
        one_line(&job.task),
        what.map(|what| one_line(what)).unwrap_or_default(),
    ]
}

pub(super) fn show(args: &JobArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let page = library::show_job(&context.request, &args.id)?;
    context.output.reply(&page, args.json, print_page)?;
    Ok(Exit::Ok)
}

pub(super) fn scenario(args: &ScenarioArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let template = library::write_scenario_template(&context.request, &args.id)?;
    context.output.reply(&template, args.json, |template, output| {
        output.line(&template.path.display().to_string())?;
        if !template.is_new {
            output.note("it was there already and is left as it is");
        }
        output.note(&format!(
            "hint: fill it in, sign it, and run `verify-run library requeue {} --by NAME --reason TEXT --scenario {}`",
            template.job,
            template.path.display()
        ));
        Ok(())
    })?;
    Ok(Exit::Ok)
}

pub(super) fn requeue(args: &RequeueArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    decide(&args.said, JobReviewDecision::Requeue, args.scenario.clone(), context)
}

pub(super) fn cancel(args: &DecisionArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    decide(args, JobReviewDecision::Cancel, None, context)
}

fn decide(
    args: &DecisionArgs,
    decision: JobReviewDecision,
    scenario: Option<PathBuf>,
    context: &mut CommandContext,
) -> anyhow::Result<Exit> {
    let (id, person, reason) = (args.id.clone(), args.by.clone(), args.reason.clone());
    let page =
        library::review_job(&context.request, &JobReview { decision, id, person, reason, scenario, shown: None })?;
    context
        .output
        .reply(&page, args.json, |page, output| output.line(&format!("{}\t{}", page.summary.id, page.summary.state)))?;
    Ok(Exit::Ok)
}

pub(super) fn print_page(page: &JobPage, output: &mut Output) -> anyhow::Result<()> {
    let job = &page.summary;
    output.title(&format!("{} {}", job.id, job.summary.as_deref().unwrap_or("the change of a task")))?;
    let (state, when) = (output.word(job.state.as_str()), output.when(job.at));
    output.field("state", &format!("{state}, {when}"))?;
    for (label, value) in [
        ("why", &job.why),
        ("cause", &job.cause.map(|cause| cause.as_str().to_owned())),
        ("task", &Some(job.task.clone())),
        ("fix", &job.fix),
        ("page", &job.artifact),
        ("file", &page.path),
        ("snapshot", &page.snapshot.as_ref().map(|kept| format!("{} {}", kept.tag, kept.commit))),
    ] {
        if let Some(value) = value {
            output.field(label, value)?;
        }
    }
    if let Some(kept) = page.snapshot.as_ref().filter(|kept| !kept.differing.is_empty()) {
        output.field("differs from what was tested", &kept.differing.join(", "))?;
    }
    if let Some(scenario) = &page.scenario {
        let source = output.word(scenario.source.as_str());
        output.field("runs", &format!("{} ({source})", shell_words::join(&scenario.entrypoint.argv)))?;
    }
    page.trials.iter().try_for_each(|trial| print_trial(trial, output))?;
    if let Some(judgement) = &page.judgement {
        output.field("evidence", judgement.evidence.as_str())?;
        judgement.notes.iter().try_for_each(|note| output.field("note", note))?;
    }
    if let Some(claim) = &page.claim {
        output.field("evidence", &claim.claim_text())?;
    }
    if let Some(minimal) = &page.minimal {
        let why = minimal.why.as_ref().map(|why| format!("; {why}")).unwrap_or_default();
        output.field("minimal", &format!("{} of {}{why}", minimal.kept, count(minimal.units, "change")))?;
        if minimal.perturbed > 0 {
            let breaks = minimal.breaks_under.join(", ");
            let breaks = if breaks.is_empty() { String::new() } else { format!("; fails with {breaks}") };
            output.field("robust", &format!("{}/{}{breaks}", minimal.robust, minimal.perturbed))?;
        }
    }
    for decision in &page.decisions {
        let when = output.when(decision.at);
        output.field(decision.decision, &format!("{when} by {}: {}", decision.person, decision.reason))?;
    }
    if let Some(status) = &page.git_status {
        output.field("git", status)?;
    }
    Ok(())
}

fn print_trial(trial: &TrialRecord, output: &mut Output) -> anyhow::Result<()> {
    let tests = trial.tests.map(|tests| format!(", {}", count(tests, "test"))).unwrap_or_default();
    let note = trial.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    let purpose = output.word(trial.purpose.as_str());
    let outcome = output.word(trial.outcome.as_str());
    output.field(&purpose, &format!("{outcome}{tests}, {} ms{note}", trial.duration_ms))
}
