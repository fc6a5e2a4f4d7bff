//! `verify-run init`.

use super::shell_init::{self, Shell};
use super::{CommandContext, Exit, Output};
use crate::base::text::{count, one_line};
use crate::config::Problem;
use crate::host::InstallScope;
use crate::host::install::{InstallOptions, InstallPlan};
use crate::host::shims::ShimFolder;
use crate::ops::init;
use crate::ops::reply::Reply;

/// Set up agents and git hooks in this project
///
/// Detects the agents (Claude Code, Codex, Cursor, Gemini CLI, GitHub Copilot, OpenCode, Cline, Aider, …), git hooks
/// and CI systems of the project, shows the changes as a diff, asks, and writes them: hooks and the MCP server go into
/// the shared settings of the agents that the project uses; all other agents get a few lines in AGENTS.md or CLAUDE.md.
/// Existing content keeps its comments and order, and `verify-run hook uninstall` restores every byte.
///
/// Without a terminal and without --yes nothing is written. Running it again changes nothing.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print the integration of a shell instead, for its start-up file
    #[arg(exclusive = true)]
    shell: Option<Shell>,
    /// Set up this agent even if the project does not use it yet (claude, codex, cursor, …)
    #[arg(long = "agent", value_name = "NAME")]
    hosts: Vec<String>,
    /// Set up only the agents named with --agent
    #[arg(long, requires = "hosts")]
    only: bool,
    #[command(flatten)]
    options: InitOptions,
}

/// What `init` and `hook install` have in common.
#[derive(Debug, clap::Args)]
pub(super) struct InitOptions {
    /// Do not configure the MCP server
    #[arg(long)]
    no_mcp: bool,
    /// Do not add lines to AGENTS.md or CLAUDE.md
    #[arg(long)]
    no_instructions: bool,
    /// Write your own settings in the home folder, for all projects
    #[arg(long)]
    user: bool,
    /// Write your own uncommitted settings of this project (.claude/settings.local.json)
    #[arg(long, conflicts_with = "user")]
    local: bool,
    /// Let Codex, Droid and Qwen Code run checks under verify-run, also without asking
    #[arg(long)]
    rewrite: bool,
    /// Ask agents that end their turn to go on while the quality gate rejects their work
    #[arg(long)]
    gate_stop: bool,
    /// Let Claude Code and Codex run this check under verify-run without asking (may be repeated)
    #[arg(long, value_name = "COMMAND")]
    allow: Vec<String>,
    /// Write without asking
    #[arg(long)]
    yes: bool,
    /// Show the changes without writing them
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Print JSON and do not ask
    #[arg(long)]
    json: bool,
}

impl InitOptions {
    fn scope(&self) -> InstallScope {
        match (self.user, self.local) {
            (true, _) => InstallScope::User,
            (_, true) => InstallScope::Local,
            _ => InstallScope::Project,
        }
    }
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    if let Some(shell) = args.shell {
        let folder = ShimFolder::from_process(&context.request.environment)?.folder;
        context.output.text(&shell_init::script(shell, &folder)?)?;
        return Ok(Exit::Ok);
    }
    set_up(args.hosts.clone(), args.only, &args.options, context)
}

/// Shows what setting up would write, asks, and writes.
pub(super) fn set_up(
    hosts: Vec<String>,
    only: bool,
    options: &InitOptions,
    context: &mut CommandContext,
) -> anyhow::Result<Exit> {
    let mut wanted = InstallOptions {
        hosts,
        only,
        no_servers: options.no_mcp,
        no_instructions: options.no_instructions,
        scope: options.scope(),
        rewrite: options.rewrite,
        gate_stop: options.gate_stop,
        allow: options.allow.clone(),
    };
    let mut plan = init::plan_installation(&context.request, &wanted)?;
    let is_asked = !(plan.offers_rewrite.is_empty() || options.json || options.yes || options.dry_run);
    let question = format!(
        "{} passes no exit codes to hooks. Let it run its checks under verify-run without asking you, to record them?",
        plan.offers_rewrite.join(" and ")
    );
    if is_asked && context.output.ask(&question)? {
        wanted.rewrite = true;
        plan = init::plan_installation(&context.request, &wanted)?;
    }
    if !options.json {
        show(&plan, &wanted, &mut context.output)?;
    }
    let is_wanted = !options.dry_run && (options.yes || !options.json && is_agreed(&plan, &mut context.output)?);
    if is_wanted {
        init::apply_plan(&context.request, &mut plan)?;
    }
    let exit = if plan.has_problems() && (is_wanted || options.json) { Exit::Failure } else { Exit::Ok };
    if options.json {
        context.output.json(&Reply::from(plan))?;
        return Ok(exit);
    }
    if is_wanted && !plan.files.is_empty() {
        context.output.line(&format!("wrote {}", count(plan.files.len(), "file")))?;
        plan.notes.iter().try_for_each(|note| context.output.line(&format!("next: {note}")))?;
        context.output.line("to see whether it works: verify-run doctor")?;
        context.output.line(&format!("to remove it: verify-run hook uninstall{}", wanted.scope.folder_option()))?;
    } else if !options.dry_run && !is_wanted && !plan.files.is_empty() {
        context.output.line(&format!("nothing was changed; to write this: {}", repeated(&wanted)))?;
    }
    Ok(exit)
}

/// Whether the user agrees; without a terminal there is no user to ask.
fn is_agreed(plan: &InstallPlan, output: &mut Output) -> anyhow::Result<bool> {
    if plan.files.is_empty() {
        // Files that are as they should be may be for one host more now.
        return Ok(true);
    }
    output.ask(&format!("write {}?", count(plan.files.len(), "file")))
}

fn show(plan: &InstallPlan, wanted: &InstallOptions, output: &mut Output) -> anyhow::Result<()> {
    let found = &plan.found;
    let stacks: Vec<&str> = found.stacks.iter().map(|stack| stack.name).collect();
    let lists =
        [("made with", &stacks), ("agents", &found.agents), ("git hooks", &found.hook_managers), ("CI", &found.ci)];
    let told: Vec<String> = lists
        .iter()
        .filter(|(_, list)| !list.is_empty() && !wanted.scope.is_user())
        .map(|(name, list)| format!("{name}: {}", list.join(", ")))
        .collect();
    if !told.is_empty() {
        output.line(&told.join("; "))?;
    }
    for file in &plan.files {
        output.line(&format!("\n# {}{}", file.why, if file.executable { " (executable)" } else { "" }))?;
        output.text(&file.diff)?;
    }
    if !plan.files.is_empty() {
        output.line("")?;
    }
    if !wanted.allow.is_empty() {
        output.line(&format!("this lets agents run without asking: {}", wanted.allow.join(", ")))?;
    }
    print_problems(&plan.problems, output)?;
    if plan.files.is_empty() {
        plan.notes.iter().try_for_each(|note| output.line(note))?;
        output.line("nothing to do")?;
    }
    Ok(())
}

/// Files that were left alone, with the reason and what to type.
pub(super) fn print_problems(problems: &[Problem], output: &mut Output) -> anyhow::Result<()> {
    for problem in problems {
        let line = problem.line.map_or_else(String::new, |line| format!(":{line}"));
        output.line(&one_line(&format!("{}{line}: {}", problem.file.display(), problem.reason)))?;
        output.line(&format!("  hint: {}", one_line(&problem.hint)))?;
    }
    Ok(())
}

/// The command line that writes what was shown.
fn repeated(wanted: &InstallOptions) -> String {
    let mut words = vec!["verify-run".to_owned(), "init".to_owned()];
    for host in &wanted.hosts {
        words.extend(["--agent".to_owned(), host.clone()]);
    }
    let flags = [
        (wanted.only, "--only"),
        (wanted.no_servers, "--no-mcp"),
        (wanted.no_instructions, "--no-instructions"),
        (wanted.scope.is_user(), "--user"),
        (wanted.scope == InstallScope::Local, "--local"),
        (wanted.rewrite, "--rewrite"),
        (wanted.gate_stop, "--gate-stop"),
    ];
    words.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| (*flag).to_owned()));
    for command in &wanted.allow {
        words.extend(["--allow".to_owned(), command.clone()]);
    }
    words.push("--yes".to_owned());
    shell_words::join(words)
}
