//! `verify-run hook install`, `uninstall` and `status`. What hosts call (`hook AGENT EVENT`) is `surface::hook`.

use super::init::{InitOptions, print_problems, set_up};
use super::{CommandContext, Exit, Output};
use crate::host::InstallScope;
use crate::host::install::{InstallStatus, RemovalOutcome, RemovalReport};
use crate::ops::init;

/// Install, inspect and remove hooks
///
/// The installed configuration calls `verify-run hook AGENT EVENT`. It reads the agent's JSON from standard input,
/// replies in the agent's format, and always exits with 0.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: HookSubcommand,
}

#[derive(Debug, clap::Subcommand)]
enum HookSubcommand {
    /// Set up these hosts; without a name, those found here (as `verify-run init` does)
    Install {
        /// claude, codex, cursor, gemini, copilot, vscode, opencode, cline, crush, droid, qwen, pi, kiro, goose, …
        hosts: Vec<String>,
        #[command(flatten)]
        options: InitOptions,
    },
    /// Restore every file that was written
    ///
    /// If a file was edited since, only verify-run's entries are removed. Files and folders that verify-run created are
    /// removed.
    Uninstall {
        /// Only these hosts (default: all)
        hosts: Vec<String>,
        /// Files in the home folder
        #[arg(long)]
        user: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what is installed, and whether it was changed since
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    match &args.action {
        HookSubcommand::Install { hosts, options } => set_up(hosts.clone(), !hosts.is_empty(), options, context),
        HookSubcommand::Uninstall { hosts, user, json } => {
            let scope = if *user { InstallScope::User } else { InstallScope::Project };
            uninstall(context, hosts, scope, *json)
        }
        HookSubcommand::Status { json } => status(context, *json),
    }
}

fn uninstall(context: &mut CommandContext, hosts: &[String], scope: InstallScope, json: bool) -> anyhow::Result<Exit> {
    let report = init::uninstall_hosts(&context.request, scope, hosts)?;
    let exit = if report.data.problems.is_empty() { Exit::Ok } else { Exit::Failure };
    context.output.reply(&report, json, print_removal)?;
    Ok(exit)
}

fn print_removal(report: &RemovalReport, output: &mut Output) -> anyhow::Result<()> {
    for file in &report.files {
        let what = match file.outcome {
            RemovalOutcome::Restored => "as before",
            RemovalOutcome::Removed => "removed",
            RemovalOutcome::TakenOut => "edited since: only verify-run's entries were removed",
            RemovalOutcome::Nothing => "verify-run's entries were already gone",
            RemovalOutcome::Gone => "was deleted: nothing to remove",
            RemovalOutcome::Kept => "another host needs it",
        };
        output.line(&format!("{}: {what}", file.path.display()))?;
    }
    print_problems(&report.problems, output)?;
    report.notes.iter().try_for_each(|note| output.line(note))?;
    if report.files.is_empty() && report.problems.is_empty() && report.notes.is_empty() {
        output.line("nothing is installed")?;
    }
    Ok(())
}

fn status(context: &mut CommandContext, json: bool) -> anyhow::Result<Exit> {
    let status = init::installation_status(&context.request)?;
    context.output.reply(&status, json, print_status)?;
    Ok(Exit::Ok)
}

fn print_status(status: &InstallStatus, output: &mut Output) -> anyhow::Result<()> {
    let rows = status.files.iter().map(|file| {
        let place = if file.scope.is_user() { "home" } else { "project" };
        vec![
            file.hosts.join(", "),
            file.state.state_text().to_owned(),
            place.to_owned(),
            file.path.display().to_string(),
        ]
    });
    let rows: Vec<Vec<String>> =
        rows.map(|row| row.iter().map(|cell| crate::base::text::one_line(cell)).collect()).collect();
    if rows.is_empty() {
        output.note("nothing is installed");
    } else {
        output.table(&["host", "state", "where", "file"], &rows)?;
    }
    for agent in &status.missing {
        output.note(&format!("{agent} is used here but does not call verify-run: verify-run hook install {agent}"));
    }
    print_problems(&status.problems, output)
}
