//! `verify-run hook install`, `uninstall` and `status`. What hosts call (`hook AGENT EVENT`) is `surface::hook`.

use super::init::{self, InitOptions};
use super::{CommandContext, Exit};
use crate::ops::init::removal::{self, RemovalOutcome};
use crate::ops::init::standing;

/// Install, inspect and remove hooks
///
/// `verify-run hook AGENT EVENT` is what the installed configuration calls: it reads the agent's JSON from standard
/// input, answers in the agent's own words, and always exits with 0.
///
/// With --json: `install` prints what `init --json` prints; `uninstall` one document with `"schema": 1`, `files` (each with
/// `path`, `hosts`, `outcome`: `restored`, `removed`, `taken_out`, `nothing`, `kept`), `problems`, `notes`; `status` one
/// with `files` (each with `hosts`, `path`, `state`: `as_written`, `edited`, `incomplete`, `outdated`, `gone`,
/// `found_here`, `user`), `problems`, `missing`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: HookSubcommand,
}

#[derive(Debug, clap::Subcommand)]
enum HookSubcommand {
    /// Set these hosts up; without a name those that are found here (as `verify-run init`)
    Install {
        /// claude, codex, cursor, gemini, copilot, vscode, opencode, cline, crush, droid, qwen, pi, kiro, goose, …
        hosts: Vec<String>,
        #[command(flatten)]
        options: InitOptions,
    },
    /// Give every file that was written the bytes from before
    ///
    /// Of a file that was edited since only our entries are taken out. Files and folders that were made are removed.
    Uninstall {
        /// Only for these; without a name for all
        hosts: Vec<String>,
        /// What was written into the home folder
        #[arg(long)]
        user: bool,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Say what is installed, and whether it is still as it was written
    Status {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    match &args.action {
        HookSubcommand::Install { hosts, options } => init::set_up(hosts.clone(), !hosts.is_empty(), options, context),
        HookSubcommand::Uninstall { hosts, user, json } => uninstall(context, hosts, *user, *json),
        HookSubcommand::Status { json } => status(context, *json),
    }
}

fn uninstall(context: &mut CommandContext, hosts: &[String], user: bool, json: bool) -> anyhow::Result<Exit> {
    let report = removal::uninstall(&context.places, &context.environment, user, hosts)?;
    let exit = if report.problems.is_empty() { Exit::Ok } else { Exit::Failure };
    if json {
        context.output.json(&report)?;
        return Ok(exit);
    }
    for file in &report.files {
        let what = match file.outcome {
            RemovalOutcome::Restored => "as before",
            RemovalOutcome::Removed => "removed",
            RemovalOutcome::TakenOut => "edited since: only verify-run's entries were taken out",
            RemovalOutcome::Nothing => "nothing of verify-run was in it any more",
            RemovalOutcome::Gone => "somebody deleted it: nothing to take out",
            RemovalOutcome::Kept => "another host needs it",
        };
        context.output.line(&format!("{}: {what}", file.path.display()))?;
    }
    init::print_problems(&report.problems, &mut context.output)?;
    report.notes.iter().try_for_each(|note| context.output.line(note))?;
    if report.files.is_empty() && report.problems.is_empty() && report.notes.is_empty() {
        context.output.line("nothing is installed")?;
    }
    Ok(exit)
}

fn status(context: &mut CommandContext, json: bool) -> anyhow::Result<Exit> {
    let status = standing::status(&context.places, &context.environment)?;
    if json {
        context.output.json(&status)?;
        return Ok(Exit::Ok);
    }
    let rows = status.files.iter().map(|file| {
        let place = if file.user { "home" } else { "project" };
        vec![file.hosts.join(", "), file.state.words().to_owned(), place.to_owned(), file.path.display().to_string()]
    });
    let rows: Vec<Vec<String>> =
        rows.map(|row| row.iter().map(|cell| crate::base::text::one_line(cell)).collect()).collect();
    if rows.is_empty() {
        context.output.note("nothing is installed");
    } else {
        context.output.table(&["host", "state", "where", "file"], &rows)?;
    }
    for agent in &status.missing {
        context
            .output
            .note(&format!("{agent} is used here and doesn't call verify-run: verify-run hook install {agent}"));
    }
    init::print_problems(&status.problems, &mut context.output)?;
    Ok(Exit::Ok)
}
