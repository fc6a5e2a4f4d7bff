//! `library work` and `library learn`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::base::file::read_start;
use crate::base::text::{count, one_line};
use crate::event::HarvestTrigger;
use crate::ops::library::{self, HarvestRequest, WorkRequest};
use crate::surface::cli::task::print_harvest;
use crate::surface::cli::{CommandContext, Exit};

#[derive(Debug, clap::Args)]
pub(super) struct WorkArgs {
    /// Run only this job
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    /// Run only the first job of the queue
    #[arg(long, conflicts_with = "job")]
    once: bool,
    /// Run jobs only while the machine has little else to do, within the minutes of a day
    #[arg(long, conflicts_with_all = ["job", "once"])]
    background: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A prompt, bytes.
const PROMPT_BYTES_MAX: u64 = 64 << 10;

#[derive(Debug, clap::Args)]
pub(super) struct LearnArgs {
    /// Name of the task (default: the current task)
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only this fix
    #[arg(long, value_name = "FIX")]
    fix: Option<String>,
    /// File with what was asked for; - for standard input
    #[arg(long, value_name = "FILE")]
    prompt: Option<PathBuf>,
    /// What others should know of the fix
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn learn(args: &LearnArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let prompt = args.prompt.as_deref().map(|file| read_prompt(file, context)).transpose()?;
    let asked = HarvestRequest {
        task: args.task.clone(),
        fix: args.fix.clone(),
        trigger: HarvestTrigger::Asked,
        prompt,
        note: args.note.clone(),
    };
    let harvested = library::harvest_now(&context.request, &asked)?;
    context.output.reply(&harvested, args.json, |harvest, output| {
        if harvest.jobs.is_empty() && harvest.skipped.is_empty() {
            output.note("nothing new to learn from: the task has no fix, or it was queued already");
        }
        print_harvest(harvest, output)
    })?;
    Ok(Exit::Ok)
}

fn read_prompt(file: &Path, context: &CommandContext) -> anyhow::Result<String> {
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().take(PROMPT_BYTES_MAX).read_to_end(&mut bytes).context("cannot read the prompt")?;
        bytes
    } else {
        let path = context.request.cwd.join(file);
        read_start(&path, PROMPT_BYTES_MAX).with_context(|| format!("cannot read {}", path.display()))?
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

pub(super) fn run(args: &WorkArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    context.output.busy("running jobs");
    let asked = WorkRequest { job: args.job.clone(), is_once: args.once, is_background: args.background };
    let reply = library::work_on_jobs(&context.request, &asked)?;
    context.output.reply(&reply, args.json, |work, output| {
        for job in &work.jobs {
            let what = job.why.as_ref().or(job.artifact.as_ref()).or(job.summary.as_ref());
            let what = what.map(|what| one_line(what)).unwrap_or_default();
            output.line(&format!("{}\t{}\t{what}", job.id, job.state))?;
        }
        if work.busy {
            output.note("another process runs jobs");
        } else if let Some(blocked) = &work.blocked {
            output.note(&one_line(blocked));
        } else if work.jobs.is_empty() {
            output.note("no jobs wait");
        } else if work.waiting > 0 {
            output.note(&format!("{} left", count(work.waiting, "job")));
        }
        Ok(())
    })?;
    let waits = |job: &library::JobSummary| job.state.waits_for_person();
    Ok(if args.job.is_some() && reply.data.jobs.iter().any(waits) { Exit::Escalated } else { Exit::Ok })
}
