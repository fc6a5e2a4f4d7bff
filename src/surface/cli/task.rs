//! `verify-run task`.

use std::path::PathBuf;

use super::gate::phase::PhaseChoice;
use super::log::newest;
use super::{CommandContext, Exit, Output, PagingArgs};
use crate::base::text::{count, ellipsis, one_line};
use crate::event::TaskOutcome;
use crate::ops::gate;
use crate::ops::library::HarvestReply;
use crate::ops::reply::Reply;
use crate::ops::task::{self, TaskAnnouncement, TaskPage};
use crate::retrieval::similar_tasks::SimilarTask;

/// Start and end tasks, and find similar ones
///
/// Tasks need not be announced: by default a task is the branch, or the day on the default branch, and it ends when the
/// branch is merged or deleted, or after a day of silence. An announced task makes warnings more relevant, and the runs
/// of a session belong to it on any branch.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: TaskAction,
    #[command(flatten)]
    paging: PagingArgs,
}

#[derive(Debug, clap::Subcommand)]
enum TaskAction {
    /// Start a task; the runs of this session belong to it
    Start {
        /// Name of the task (default: VERIFY_RUN_TASK or the branch)
        name: Option<String>,
        #[command(flatten)]
        about: TaskDescription,
        /// Tasks that it depends on
        #[arg(long, value_name = "TASK", num_args = 1.., value_delimiter = ',')]
        depends_on: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// End a task
    Done {
        /// Name of the task (default: the current task)
        name: Option<String>,
        /// Result of the task
        #[arg(long, value_parser = ["completed", "failed", "abandoned"])]
        outcome: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a task: its runs, its signature and similar tasks
    Show {
        /// Name of the task (default: the current task)
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Say which phase the task is in: the runs that follow belong to it
    Phase {
        /// Phase that begins (default: print the current one)
        #[arg(value_enum, ignore_case = true, conflicts_with = "end")]
        phase: Option<PhaseChoice>,
        /// The task is in no phase any more
        #[arg(long)]
        end: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List tasks, newest first
    List {
        /// Maximum number of results
        #[arg(long, default_value_t = 20, value_name = "N")]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Find tasks similar to a description: files, words, tools
    Similar {
        /// Name of a known task
        name: Option<String>,
        #[command(flatten)]
        about: TaskDescription,
        /// Tools that the task runs
        #[arg(long, value_name = "TOOL", num_args = 1.., value_delimiter = ',')]
        command: Vec<String>,
        /// Maximum number of results
        #[arg(long, default_value_t = 10, value_name = "N")]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
struct TaskDescription {
    /// Title of the task
    #[arg(long)]
    title: Option<String>,
    /// Kind of work
    #[arg(long)]
    category: Option<String>,
    /// Files that the task will change
    #[arg(long, value_name = "FILE", num_args = 1.., value_delimiter = ',')]
    files: Vec<PathBuf>,
}

impl TaskDescription {
    fn announced(&self, name: Option<&String>, depends_on: &[String]) -> TaskAnnouncement {
        TaskAnnouncement {
            name: name.cloned(),
            title: self.title.clone(),
            category: self.category.clone(),
            files: self.files.clone(),
            depends_on: depends_on.to_vec(),
        }
    }
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    context.output.use_pager(args.paging.pager);
    let (page, json) = match &args.action {
        TaskAction::Start { name, about, depends_on, json } => {
            let announced = about.announced(name.as_ref(), depends_on);
            (task::start_task(&context.request, &announced)?, json)
        }
        TaskAction::Done { name, outcome, json } => {
            let outcome = outcome.as_deref().map(|outcome| match outcome {
                "completed" => TaskOutcome::Completed,
                "failed" => TaskOutcome::Failed,
                _ => TaskOutcome::Abandoned,
            });
            (task::end_task(&context.request, name.as_deref(), outcome)?, json)
        }
        TaskAction::Show { name, json } => (task::show_task(&context.request, name.as_deref())?, json),
        TaskAction::Phase { phase, end, json } => {
            let request = &context.request;
            let page = match (phase, end) {
                (None, false) => gate::current_phase(request)?,
                (phase, _) => gate::announce_phase(request, phase.map(PhaseChoice::phase))?.into(),
            };
            context.output.reply(&page, *json, |page, output| {
                let phase = page.phase.map_or_else(|| "no phase".to_owned(), |phase| phase.to_string());
                output.line(&format!("{}: {phase}", one_line(&page.task)))
            })?;
            return Ok(Exit::Ok);
        }
        TaskAction::List { limit, json } => {
            let list = task::list_tasks(&context.request, *limit)?;
            context.output.reply(&list, *json, |list, output| print_list(&list.tasks, *limit, output))?;
            return Ok(Exit::Ok);
        }
        TaskAction::Similar { name, about, command, limit, json } => {
            let described = about.announced(name.as_ref(), &[]);
            let found = task::similar_tasks(&context.request, &described, command, *limit)?;
            context.output.reply(&found, *json, |found, output| print_similar(&found.tasks, output))?;
            return Ok(Exit::Ok);
        }
    };
    context.output.reply(&page, *json, print_page)?;
    Ok(Exit::Ok)
}

fn print_page(page: &TaskPage, output: &mut Output) -> anyhow::Result<()> {
    let title = page.title.as_ref().map(|title| format!(": {title}")).unwrap_or_default();
    output.title(&format!("{}{title}", page.name))?;
    match &page.end {
        Some(end) => {
            let when = output.when(end.at);
            output.field("done", &format!("{when}, {}", end.why))?
        }
        None => {
            let when = output.when(page.first_at);
            output.field("open since", &when)?
        }
    }
    output.field("recorded", &format!("{}, {}", count(page.runs, "run"), count(page.failures, "failure")))?;
    for (label, values) in
        [("files", &page.files), ("depends on", &page.depends_on), ("works in", &page.signature.globs)]
    {
        if !values.is_empty() {
            output.field(label, &ellipsis(&values.join(", "), 400))?;
        }
    }
    if let Some(harvest) = &page.harvest {
        print_harvest(harvest, output)?;
    }
    for proposal in &page.proposals {
        output.field("worth recording", &format!("{}: {}", proposal.title, proposal.accept))?;
    }
    if let Some(proposal) = page.proposals.first() {
        output.note(&format!("\nhint: to decline, run `verify-run knowledge decline {}`", proposal.fix));
    }
    if !page.similar.is_empty() {
        output.line("\nsimilar tasks:")?;
        print_similar(&page.similar, output)?;
    }
    Ok(())
}

pub(super) fn print_harvest(harvest: &HarvestReply, output: &mut Output) -> anyhow::Result<()> {
    for job in &harvest.jobs {
        let known = match job.novelty.tasks {
            0 | 1 => "new here".to_owned(),
            tasks => format!("failed in {}", count(tasks, "task")),
        };
        output.field("queued", &format!("{}: {} ({known})", job.job, job.summary))?;
    }
    for skipped in &harvest.skipped {
        let fix = skipped.fix.as_deref().unwrap_or("the change");
        output.field("not queued", &format!("{fix}: {}", skipped.why))?;
    }
    Ok(())
}

fn print_similar(tasks: &[SimilarTask], output: &mut Output) -> anyhow::Result<()> {
    if tasks.is_empty() {
        output.note("no similar tasks");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = tasks
        .iter()
        .map(|task| {
            vec![
                format!("{:.2}", task.similarity.score),
                one_line(&task.name),
                if output.terminal() { task.failures.to_string() } else { count(task.failures, "failure") },
                one_line(task.title.as_deref().unwrap_or_default()),
            ]
        })
        .collect();
    output.table(&["similarity", "task", "failures", "title"], &rows)
}

fn print_list(pages: &[Reply<TaskPage>], limit: usize, output: &mut Output) -> anyhow::Result<()> {
    if pages.is_empty() {
        output.note("no tasks yet: a task begins with the first run of a check");
        return Ok(());
    }
    let open = pages.iter().filter(|page| page.data.end.is_none()).count();
    output.list_title(&format!("{}, {open} open", newest(pages.len(), limit, "task")))?;
    let row = |page: &TaskPage| {
        let failures = if output.terminal() { page.failures.to_string() } else { count(page.failures, "failure") };
        vec![
            one_line(&page.name),
            page.state.to_owned(),
            output.when(page.last_at),
            failures,
            one_line(page.title.as_deref().unwrap_or_default()),
        ]
    };
    let rows: Vec<Vec<String>> = pages.iter().map(|page| row(&page.data)).collect();
    output.table(&["task", "state", "last run", "failures", "title"], &rows)
}
