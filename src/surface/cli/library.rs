//! `verify-run library`.

mod figures;
mod job;
mod page;
mod work;

use super::{CommandContext, Exit, PagingArgs};
use crate::base::refusal::Refusal;
use crate::ops::library::{self, LibraryConsent};
use crate::ops::reply::Reply;
use crate::redact::sanitize_name;

/// Prove fixes in isolation, and govern the pattern library
///
/// A finished task leaves a job for each of its fixes. A job shows on kept trees, isolated from the machine, that the
/// check fails without the fix and passes with it, looks for the smallest change that does it, and writes a page into
/// `.agent/patterns/candidates/`. Agents read a page only after a person approved it. Harvesting runs nothing; jobs run
/// only after `library init`.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: LibraryAction,
    #[command(flatten)]
    paging: PagingArgs,
}

#[derive(Debug, clap::Subcommand)]
enum LibraryAction {
    /// Agree that jobs run recorded checks of this work tree
    Init(InitArgs),
    /// Queue what a task has left to learn from, now
    Learn(work::LearnArgs),
    /// List jobs, the last changed first
    Jobs(job::JobsArgs),
    /// Show a job with everything that was done about it
    Job(job::JobArgs),
    /// Run queued jobs, isolated, until none is left
    Work(work::WorkArgs),
    /// Write the template of a scenario for a job that needs a person to write one
    Scenario(job::ScenarioArgs),
    /// Queue a job again that waits for a person or failed
    Requeue(job::RequeueArgs),
    /// End a job that waits
    Cancel(job::DecisionArgs),
    /// List the pages of the library
    List(page::ListArgs),
    /// Show a page
    Show(page::ShowArgs),
    /// Run the proof of a page again
    Verify(page::VerifyArgs),
    /// Write the proof of a page as a git bundle
    Export(page::ExportArgs),
    /// Approve a candidate: agents get to read it
    Approve(page::ApproveArgs),
    /// Reject a candidate and remove its file
    Reject(page::ReviewArgs),
    /// Take an active page away from agents
    Deprecate(page::DeprecateArgs),
    /// Give a deprecated page back to agents
    Restore(page::ReviewArgs),
    /// Find pages that are not what or where the records say, and pages to deprecate
    Check(figures::CheckArgs),
    /// Show figures of jobs and pages
    Stats(figures::StatsArgs),
    /// Keep the trees of jobs that wait for it
    #[command(hide = true)]
    Keep,
}

#[derive(Debug, clap::Args)]
struct InitArgs {
    /// Name of the person who agrees, where there is no terminal to ask on
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Withdraw the consent
    #[arg(long, conflicts_with = "by")]
    withdraw: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    context.output.use_pager(args.paging.pager);
    match &args.action {
        LibraryAction::Init(args) => init(args, context),
        LibraryAction::Jobs(args) => job::list(args, context),
        LibraryAction::Job(args) => job::show(args, context),
        LibraryAction::Work(args) => work::run(args, context),
        LibraryAction::Learn(args) => work::learn(args, context),
        LibraryAction::Scenario(args) => job::scenario(args, context),
        LibraryAction::Requeue(args) => job::requeue(args, context),
        LibraryAction::Cancel(args) => job::cancel(args, context),
        LibraryAction::List(args) => page::list(args, context),
        LibraryAction::Show(args) => page::show(args, context),
        LibraryAction::Verify(args) => page::verify(args, context),
        LibraryAction::Export(args) => page::export(args, context),
        LibraryAction::Approve(args) => page::approve(args, context),
        LibraryAction::Reject(args) => page::reject(args, context),
        LibraryAction::Deprecate(args) => page::deprecate(args, context),
        LibraryAction::Restore(args) => page::restore(args, context),
        LibraryAction::Check(args) => figures::check(args, context),
        LibraryAction::Stats(args) => figures::stats(args, context),
        LibraryAction::Keep => {
            library::keep_waiting_trees(&context.request)?;
            Ok(Exit::Ok)
        }
    }
}

/// What a person agrees to.
const TERMS: &str = "\
Jobs of this work tree run checks that were recorded here, on kept copies of the sources:
  - isolated: no network, no writable files of yours, no secrets, limits on time, memory and disk
  - never a command that another machine recorded
  - pages go to .agent/patterns/candidates/, what jobs did to .runs/
The consent is kept in your state folder, outside of the repository.";

fn init(args: &InitArgs, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let reply = if args.withdraw {
        library::withdraw_consent(&context.request)?
    } else {
        let person = match &args.by {
            Some(by) => sanitize_name(by),
            None => {
                context.output.note(TERMS);
                let name = context.output.ask_text("Type your name to agree, nothing to leave it:")?;
                name.as_deref().and_then(sanitize_name)
            }
        };
        let Some(person) = person else {
            return Err(Refusal::usage("no person agreed: give the name of the person who does: --by NAME").into());
        };
        library::give_consent(&context.request, &person)?
    };
    print_consent(&reply, args.json, context)?;
    Ok(Exit::Ok)
}

fn print_consent(reply: &Reply<LibraryConsent>, json: bool, context: &mut CommandContext) -> anyhow::Result<()> {
    context.output.reply(reply, json, |consent, output| match (&consent.person, consent.at) {
        (Some(person), Some(at)) => {
            let when = output.when(at);
            output.line(&format!("jobs may run here: {person} agreed, {when}"))
        }
        _ => output.line("jobs may not run here"),
    })
}
