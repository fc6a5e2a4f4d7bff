//! `verify-run ci`.

use std::path::PathBuf;

use super::{CommandContext, Exit, Output};
use crate::base::clock::Timestamp;
use crate::base::refusal::Refusal;
use crate::base::text;
use crate::host::ci::{CiJob, CiSystem};
use crate::ops::ci::{CiReply, CiRequest, report_job};
use crate::surface::failure::FailureReport;

/// Report the failures of this job to the CI system
///
/// Runs after the checks, in a step that always runs, and reports the newest run of each check of the job. GitHub gets
/// annotations on standard output (at most ten of a kind), a job summary, and the step outputs `runs`, `failed` and
/// `known`. The others get files in verify-run-report: GitLab junit.xml and gl-code-quality-report.json, Jenkins
/// junit.xml and checkstyle.xml, all others junit.xml and summary.md (with --out, GitHub too: junit.xml and
/// report.sarif). The exit code is 0 even if checks failed or a file could not be written: the steps of the checks have
/// failed already.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// CI system (default: detected from its variables)
    #[arg(long, value_enum)]
    host: Option<SystemChoice>,
    /// Report only checks that started at this time (RFC 3339) or later
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// Folder for report files
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print a template for this CI system instead of reporting
    #[arg(long, value_enum, value_name = "HOST", exclusive = true)]
    template: Option<SystemChoice>,
    /// Print JSON instead of annotations
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum SystemChoice {
    /// GitHub Actions
    Github,
    /// GitLab CI
    Gitlab,
    /// Buildkite
    Buildkite,
    /// Jenkins
    Jenkins,
    /// Any other system
    Other,
}

impl SystemChoice {
    fn host(self) -> CiSystem {
        match self {
            SystemChoice::Github => CiSystem::Github,
            SystemChoice::Gitlab => CiSystem::Gitlab,
            SystemChoice::Buildkite => CiSystem::Buildkite,
            SystemChoice::Jenkins => CiSystem::Jenkins,
            SystemChoice::Other => CiSystem::Other,
        }
    }
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    if let Some(choice) = args.template {
        let template = choice.host().template();
        let template =
            template.ok_or_else(|| Refusal::usage("there is no template for other systems").then_run("ci --help"))?;
        context.output.text(template)?;
        return Ok(Exit::Ok);
    }
    let recognised = CiJob::recognise(|name| std::env::var_os(name));
    let named = args.host.map(|choice| CiJob::of(choice.host(), |name| std::env::var_os(name)));
    let is_in_job = recognised.is_some();
    let Some(job) = named.or(recognised) else {
        let step = "ci --host github|gitlab|buildkite|jenkins|other";
        anyhow::bail!(Refusal::usage("no CI system is recognised here").then_run(step));
    };
    let session = context.request.identity.session.as_deref().filter(|_| is_in_job);
    let wanted = CiRequest { job: &job, session, since: args.since, out: args.out.as_deref() };
    match report_job(&context.request, &wanted) {
        Ok(mut reply) => {
            reply.sign_notes();
            context.output.reply(&reply, args.json, print)?;
        }
        // The checks decide about the job: a problem of verify-run does not fail it.
        Err(error) => {
            let report = FailureReport::new(&anyhow::Error::from(error).context("cannot report"));
            context.output.failure(&report);
        }
    }
    Ok(Exit::Ok)
}

fn print(reported: &CiReply, output: &mut Output) -> anyhow::Result<()> {
    output.text(&reported.commands)?;
    if reported.host != CiSystem::Github {
        reported.files.iter().try_for_each(|file| output.line(&file.display().to_string()))?;
    }
    let checks = text::count(reported.runs, "check");
    output.note(&format!("verify-run: {checks} reported, {} failed, {} seen before", reported.failed, reported.known));
    Ok(())
}

fn time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).ok_or_else(|| "not an RFC 3339 time, such as 2026-11-21T08:30:00Z".to_owned())
}
