//! `verify-run uninstall`.

use super::{CommandContext, Exit, Output};
use crate::ops::reply::Reply;
use crate::ops::uninstall::{self, UninstallPlan};

/// Remove what verify-run keeps for this project
///
/// Restores the files of the hosts that were set up (`verify-run init`). Lessons are kept. Remove the program itself
/// with the tool that installed it (cargo uninstall verify-run).
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Remove verify-run from the project's hosts, and delete the records and the exclude line
    #[arg(long)]
    purge: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let plan = uninstall::plan_removal(&context.request)?;
    if !args.json {
        print(&plan, args.purge, &mut context.output)?;
    }
    let plan = if args.purge { uninstall::purge_state(&context.request, plan)? } else { plan };
    if args.json {
        context.output.json(&Reply::from(plan))?;
    }
    Ok(Exit::Ok)
}

fn print(plan: &UninstallPlan, purge: bool, output: &mut Output) -> anyhow::Result<()> {
    if plan.is_empty() {
        output.line("nothing is kept for this project")?;
    }
    let verb = if purge { "removing" } else { "would remove" };
    for file in &plan.installed {
        let verb = if purge { "taking" } else { "would take" };
        output.line(&format!("{verb} verify-run out of {}", file.display()))?;
    }
    for dir in &plan.folders {
        output.line(&format!("{verb} {} with all records in it", dir.display()))?;
    }
    for path in &plan.job_files {
        output.line(&format!("{verb} {}", path.display()))?;
    }
    if plan.hidden {
        output.line(&format!("{verb} the line in git's info/exclude"))?;
    }
    if let Some(dir) = &plan.lessons {
        output.line(&format!("keeping the lessons in {}", dir.display()))?;
    }
    if !plan.installed_at_home.is_empty() {
        output.note("your own settings in the home folder also call verify-run: verify-run hook uninstall --user");
    }
    if let Some(dir) = &plan.shims {
        output.note(&format!("the shims in {} are for all projects: verify-run shims uninstall", dir.display()));
    }
    for (file, line) in &plan.shell_lines {
        output.note(&format!("{}:{line} loads verify-run when a shell starts: delete that line", file.display()));
    }
    if !purge && !plan.is_empty() {
        output.note("to remove it: verify-run uninstall --purge");
    }
    Ok(())
}
