//! `verify-run fix`.

mod page;

use super::filter::{check_days, day};
use super::output::{TableCell, Tone};
use super::{CommandContext, Exit, Output, PagingArgs};
use crate::base::clock::UtcDay;
use crate::base::text;
use crate::event::FixState;
use crate::ops::board::BoardFilter;
use crate::ops::fix::{self, FixList, FixNoteText, FixSummary, FlakeList, RecipeList};
use crate::store::{FixFilter, SumFilter};

/// List failures and what fixed them, flaky checks included
///
/// A fix is a failure with every attempt until its check passed: files changed, commands run, and what each attempt
/// fixed or broke. A fix is confirmed when it lasted for the rest of its task or worked twice; otherwise it is
/// unconfirmed. A check that passes without a change is flaky, and the pass is no fix: see `fix list --flakes`.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: FixAction,
    #[command(flatten)]
    paging: PagingArgs,
}

#[derive(Debug, clap::Subcommand)]
enum FixAction {
    List(ListArgs),
    /// Show a fix with its attempts and their diffs
    Show {
        /// Id, or a unique prefix of it
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Record the cause, the solution and a rule for a fix
    Record {
        /// Id of the fix, or a unique prefix of it
        id: String,
        /// Cause of the failure
        #[arg(long, value_name = "TEXT")]
        cause: Option<String>,
        /// Solution
        #[arg(long, value_name = "TEXT")]
        approach: Option<String>,
        /// Rule that prevents it
        #[arg(long, value_name = "TEXT")]
        rule: Option<String>,
        /// Author (default: the agent, or human)
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// What restricts the list of fixes.
const FILTERS: [&str; 12] = [
    "state",
    "weakened",
    "confirmed",
    "unconfirmed",
    "proven",
    "from",
    "to",
    "category",
    "agent",
    "tool",
    "task",
    "file",
];

/// List fixes, most recent first; or flaky checks, or recipes
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Only fixes in this state
    #[arg(long, value_parser = ["success", "weakened", "undone", "flaky", "partial", "failure"])]
    state: Option<String>,
    /// Only passes that weakened the check
    #[arg(long, conflicts_with = "state")]
    weakened: bool,
    /// Only confirmed fixes
    #[arg(long, conflicts_with = "unconfirmed")]
    confirmed: bool,
    /// Only unconfirmed fixes
    #[arg(long)]
    unconfirmed: bool,
    /// Only fixes that a job proved (`library work`)
    #[arg(long)]
    proven: bool,
    /// Only fixes last tried from this day on, in UTC: a date, an age (`30d`) or `today`
    #[arg(long, value_name = "DAY", value_parser = day)]
    from: Option<UtcDay>,
    /// Only fixes last tried up to this day, in UTC
    #[arg(long, value_name = "DAY", value_parser = day)]
    to: Option<UtcDay>,
    /// Only fixes of this category
    #[arg(long)]
    category: Option<String>,
    /// Only fixes of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only fixes of failures of this tool
    #[arg(long)]
    tool: Option<String>,
    /// Only fixes with an attempt in this task
    #[arg(long)]
    task: Option<String>,
    /// Only fixes with an attempt that changed this file or folder
    #[arg(long, value_name = "PATH")]
    file: Option<String>,
    /// List flaky checks instead
    #[arg(long, conflicts_with_all = FILTERS)]
    flakes: bool,
    /// List changes that were tried in two or more tasks instead, with their success rates
    #[arg(long, conflicts_with = "flakes", conflicts_with_all = FILTERS)]
    recipes: bool,
    /// Maximum number of results
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    context.output.use_pager(args.paging.pager);
    match &args.action {
        FixAction::List(args) => list(args, context)?,
        FixAction::Show { id, json } => {
            let reply = fix::show_fix(&context.request, id)?;
            context.output.reply(&reply, *json, page::print)?;
        }
        FixAction::Record { id, cause, approach, rule, by, json } => {
            let by = by.clone().or_else(|| context.request.identity.agent.clone());
            let said = FixNoteText { cause: cause.clone(), approach: approach.clone(), rule: rule.clone(), by };
            let reply = fix::record_fix(&context.request, id, said)?;
            context.output.reply(&reply, *json, page::print)?;
        }
    }
    Ok(Exit::Ok)
}

fn list(args: &ListArgs, context: &mut CommandContext) -> anyhow::Result<()> {
    let output = &mut context.output;
    if args.flakes {
        let flakes = fix::list_flakes(&context.request, args.limit)?;
        return output.reply(&flakes, args.json, print_flakes);
    }
    if args.recipes {
        let recipes = fix::list_recipes(&context.request, args.limit)?;
        return output.reply(&recipes, args.json, print_recipes);
    }
    let whom = SumFilter { category: args.category.clone(), agent: args.agent.clone(), tool: args.tool.clone() };
    let asked = check_days(BoardFilter { from: args.from, to: args.to, whom })?;
    let (days, whom) = (asked.asked_days(), asked.whom);
    let filter = FixFilter {
        state: if args.weakened {
            Some(FixState::Weakened)
        } else {
            args.state.as_deref().and_then(FixState::from_word)
        },
        category: whom.category,
        agent: whom.agent,
        tool: whom.tool,
        since: days.map(|days| days.from.begins()),
        until: days.map(|days| days.until.begins()),
        task: args.task.clone(),
        file: args.file.as_ref().map(|path| path.trim_start_matches("./").trim_end_matches('/').to_owned()),
        is_proven: args.proven,
        is_counted: false,
        limit: args.limit,
    };
    let confirmed = if args.confirmed { Some(true) } else { args.unconfirmed.then_some(false) };
    let reply = fix::list_fixes(&context.request, &filter, confirmed)?;
    output.reply(&reply, args.json, |list, output| {
        print_list(list, args.limit, output)?;
        let marks = list.fixes.iter().filter(|_| args.weakened);
        let mut marks = marks
            .flat_map(|fix| fix.weakened.iter().map(move |mark| format!("{}\t{}", fix.id, page::weakened_check(mark))));
        marks.try_for_each(|line| output.line(&line))
    })
}

fn print_list(list: &FixList, limit: usize, output: &mut Output) -> anyhow::Result<()> {
    if list.fixes.is_empty() {
        output.note("no fixes yet: a fix begins when a failed check runs again");
        return Ok(());
    }
    if output.terminal() {
        return print_table(list, limit, output);
    }
    let word = |confirmed: Option<bool>| match confirmed {
        Some(true) => "confirmed",
        Some(false) => "unconfirmed",
        None => "",
    };
    let row = |fix: &FixSummary| {
        vec![
            fix.id.clone(),
            fix.state.to_string(),
            word(fix.confirmed).to_owned(),
            fix.attempts.to_string(),
            fix.last_at.local(),
            text::one_line(fix.category.as_deref().unwrap_or_default()),
            text::one_line(&fix.command),
            fix.summary.clone(),
        ]
    };
    output.table(&[], &list.fixes.iter().map(row).collect::<Vec<_>>())
}

fn print_table(list: &FixList, limit: usize, output: &mut Output) -> anyhow::Result<()> {
    let fixed = list.fixes.iter().filter(|fix| fix.state == FixState::Success).count();
    let failures = super::log::newest(list.fixes.len(), limit, "failure");
    output.list_title(&format!("{failures}, {fixed} fixed"))?;
    let row = |fix: &FixSummary| {
        let (tone, word) = page::state_word(fix);
        vec![
            TableCell::from(fix.id.as_str()),
            TableCell::new(tone, word),
            TableCell::new(Tone::Faint, output.when(fix.last_at)),
            TableCell::from(fix.attempts.to_string()),
            TableCell::from(fix.command.as_str()),
            TableCell::from(fix.summary.as_str()),
        ]
    };
    let rows: Vec<Vec<TableCell>> = list.fixes.iter().map(row).collect();
    output.table(&["id", "state", "when", "attempts", "command", "message"], &rows)
}

fn print_flakes(flakes: &FlakeList, output: &mut Output) -> anyhow::Result<()> {
    if flakes.flakes.is_empty() {
        output.note("no flaky checks: no check failed and passed over the same files");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = flakes
        .flakes
        .iter()
        .map(|flake| {
            vec![
                flake.pattern.clone().unwrap_or_else(|| flake.key.clone()),
                flake.proof.as_str().to_owned(),
                format!("{} of {}", flake.failures, text::count(flake.runs, "run")),
                output.when(flake.last_at),
                flake.title.clone(),
                text::one_line(&flake.why),
            ]
        })
        .collect();
    output.table(&["pattern", "proof", "failed", "last", "what", "why"], &rows)
}

fn print_recipes(recipes: &RecipeList, output: &mut Output) -> anyhow::Result<()> {
    if recipes.recipes.is_empty() {
        output.note("no change was tried in two tasks yet");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = recipes
        .recipes
        .iter()
        .map(|recipe| {
            vec![
                recipe.row.kind.as_str().to_owned(),
                format!("{} of {}", recipe.row.successes, recipe.row.attempts),
                recipe.row.tasks.to_string(),
                text::ellipsis(&text::one_line(&recipe.row.label), 80),
                text::ellipsis(&text::one_line(&recipe.row.against), 100),
            ]
        })
        .collect();
    output.table(&["kind", "worked", "tasks", "change", "against"], &rows)
}
