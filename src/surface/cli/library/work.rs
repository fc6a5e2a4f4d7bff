//! `library work`.

use crate::base::text::{count, one_line};
use crate::ops::library::{self, WorkRequest};
use crate::surface::cli::{CommandContext, Exit};

#[derive(Debug, clap::Args)]
pub(super) struct WorkArgs {
    /// Run only this job
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    /// Run only the first job of the queue
    #[arg(long, conflicts_with = "job")]
    once: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &WorkArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    context.output.busy("running jobs");
    let asked = WorkRequest { job: args.job.clone(), is_once: args.once };
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
