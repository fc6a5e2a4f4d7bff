//! `verify-run fix`.

use std::collections::HashSet;

use super::{CommandContext, Exit, Output};
use crate::base::clock::Timestamp;
use crate::base::text;
use crate::capture::{self, Identity};
use crate::config::Settings;
use crate::event::{AtomList, FixState, WeakenedCheckRecord};
use crate::ops::fix::{self, FixList, FixNoteText, FixPage, FixStep, Flakes, Recipes};
use crate::store::FixFilter;

/// List failures and what fixed them, flaky checks included
///
/// A fix is a failure with every attempt until its check passed: files changed, commands run, and what each attempt
/// fixed or broke. A fix is confirmed when it lasted for the rest of its task or worked twice; otherwise it is
/// unconfirmed. A check that passes without a change is flaky, and the pass is no fix: see `fix list --flakes`.
///
/// With --json each prints one document with `"schema": 1`: `list` has `fixes` and `rates` (by category), with --flakes
/// `flakes`, with --recipes `recipes`; `show` and `record` print the fix with `steps` (the attempts in order, each with
/// `outcome`, `means`, `fixed`, `introduced`, `persisted`, `not_reached`, `files`, `diff`, `commands`), `recipes`,
/// `strategies` (each with id, against, technique, label, successes, tries, success_rate, lower_bound, high_value,
/// confirmed, fixes, confidence), `gotchas` (id, pattern, pitfall, cause, rule, strategy, fix, successes, tries,
/// success_rate, high_value, confirmed, confidence) and `said` (notes).
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: FixAction,
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
    /// Only fixes of this category
    #[arg(long)]
    category: Option<String>,
    /// Only fixes with an attempt in this task
    #[arg(long)]
    task: Option<String>,
    /// Only fixes with an attempt that changed this file or folder
    #[arg(long, value_name = "PATH")]
    file: Option<String>,
    /// List flaky checks instead
    #[arg(long, conflicts_with_all = ["state", "weakened", "confirmed", "unconfirmed", "category", "task", "file"])]
    flakes: bool,
    /// List changes that were tried in two or more tasks instead, with their success rates
    #[arg(long, conflicts_with_all = ["flakes", "state", "weakened", "confirmed", "unconfirmed", "category", "task", "file"])]
    recipes: bool,
    /// Maximum number of results
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let (settings, _) = Settings::load(&context.places, &context.environment);
    match &args.action {
        FixAction::List(args) => list(args, &settings, context)?,
        FixAction::Show { id, json } => {
            let page = fix::show_fix(&context.places, &settings, id)?;
            print_page(&page, *json, &mut context.output)?;
        }
        FixAction::Record { id, cause, approach, rule, by, json } => {
            let variable = |name: &str| std::env::var(name).ok();
            let agent = || capture::identify(Identity::default(), variable, crate::run::session()).agent;
            let by = by.clone().or_else(agent);
            let said = FixNoteText { cause: cause.clone(), approach: approach.clone(), rule: rule.clone(), by };
            let page = fix::record_fix(&context.places, &settings, id, said)?;
            print_page(&page, *json, &mut context.output)?;
        }
    }
    Ok(Exit::Ok)
}

fn list(args: &ListArgs, settings: &Settings, context: &mut CommandContext) -> anyhow::Result<()> {
    let output = &mut context.output;
    if args.flakes {
        let flakes = fix::list_flakes(&context.places, args.limit)?;
        flakes.notes.iter().for_each(|note| output.note(note));
        return if args.json { output.json(&flakes) } else { print_flakes(&flakes, output) };
    }
    if args.recipes {
        let recipes = fix::list_recipes(&context.places, args.limit)?;
        recipes.notes.iter().for_each(|note| output.note(note));
        return if args.json { output.json(&recipes) } else { print_recipes(&recipes, output) };
    }
    let filter = FixFilter {
        id: None,
        state: if args.weakened {
            Some(FixState::Weakened)
        } else {
            args.state.as_deref().and_then(FixState::from_word)
        },
        category: args.category.clone(),
        task: args.task.clone(),
        file: args.file.as_ref().map(|path| path.trim_start_matches("./").trim_end_matches('/').to_owned()),
        limit: args.limit,
    };
    let confirmed = if args.confirmed { Some(true) } else { args.unconfirmed.then_some(false) };
    let list = fix::list_fixes(&context.places, settings, &filter, confirmed)?;
    list.notes.iter().for_each(|note| output.note(note));
    if args.json {
        return output.json(&list);
    }
    print_list(&list, output)?;
    let marks = list.fixes.iter().filter(|_| args.weakened);
    let mut marks = marks.flat_map(|fix| fix.weakened.iter().map(move |mark| format!("{}\t{}", fix.id, weaker(mark))));
    marks.try_for_each(|line| output.line(&line))
}

/// `path:line: what it does [rule]: text`, as `check-diff` says it.
fn weaker(mark: &WeakenedCheckRecord) -> String {
    let line = mark.line.map_or_else(String::new, |line| format!(":{line}"));
    let (path, text) = (text::one_line(&mark.path), text::one_line(&mark.text));
    let colon = if path.is_empty() { "" } else { ": " };
    format!("{path}{line}{colon}{} [{}]: {text}", text::one_line(&mark.message), mark.rule)
}

fn print_list(list: &FixList, output: &mut Output) -> anyhow::Result<()> {
    if list.fixes.is_empty() {
        output.note("no such fix yet: one begins with the second run of a check that failed");
        return Ok(());
    }
    let word = |confirmed: Option<bool>| match confirmed {
        Some(true) => "confirmed",
        Some(false) => "unconfirmed",
        None => "",
    };
    let rows: Vec<Vec<String>> = list
        .fixes
        .iter()
        .map(|fix| {
            vec![
                fix.id.clone(),
                fix.state.to_string(),
                word(fix.confirmed).to_owned(),
                format!("{}{}", fix.attempts, if fix.high_value { "*" } else { "" }),
                fix.last_at.local(),
                text::one_line(fix.category.as_deref().unwrap_or_default()),
                text::one_line(&text::ellipsis(&fix.command, 60)),
                text::ellipsis(&fix.summary, 100),
            ]
        })
        .collect();
    output.table(&["id", "state", "", "attempts", "last", "category", "command", "what"], &rows)?;
    if output.terminal() && list.fixes.iter().any(|fix| fix.high_value) {
        output.line("* fixed within the first attempts (fix.quick_attempts)")?;
    }
    Ok(())
}

fn print_flakes(flakes: &Flakes, output: &mut Output) -> anyhow::Result<()> {
    if flakes.flakes.is_empty() {
        output.note("no flakes: no check had two results over the same tree");
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
                flake.last_at.local(),
                flake.title.clone(),
                text::one_line(&flake.why),
            ]
        })
        .collect();
    output.table(&["pattern", "proof", "failed", "last", "what", "why"], &rows)
}

fn print_recipes(recipes: &Recipes, output: &mut Output) -> anyhow::Result<()> {
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

fn print_page(page: &FixPage, json: bool, output: &mut Output) -> anyhow::Result<()> {
    page.notes.iter().for_each(|note| output.note(note));
    if json {
        return output.json(page);
    }
    let fix = &page.summary;
    output.line(&format!("{}  {}: {}", fix.id, text::one_line(&fix.command), fix.summary))?;
    let standing = match (fix.confirmed, &fix.standing) {
        (Some(true), Some(why)) => format!(", confirmed: {why}"),
        (Some(false), Some(why)) => format!(", unconfirmed: {why}"),
        _ => String::new(),
    };
    let flags = [(fix.high_value, ", high value"), (fix.multi_step, ", in several steps")];
    let flags: String = flags.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word).collect();
    output.line(&format!("{} after {}{flags}{standing}", fix.state, text::count(fix.attempts, "attempt")))?;
    output.line(&format!("task: {}", text::one_line(&fix.task)))?;
    for said in &page.said {
        let by = said.by.as_deref().map_or_else(String::new, |by| format!(" ({})", text::one_line(by)));
        let texts = [("cause", &said.cause), ("approach", &said.approach), ("rule", &said.rule)];
        for (word, text) in texts.into_iter().chain([("no pattern of it", &said.declined)]) {
            if let Some(text) = text {
                output.line(&format!("{word}{by}: {text}"))?;
            }
        }
    }
    for recipe in &page.recipes {
        let row = &recipe.row;
        let label = text::one_line(&row.label);
        output.line(&format!(
            "recipe: {} {label}: worked {} of {} times",
            row.kind.as_str(),
            row.successes,
            row.attempts
        ))?;
    }
    // A strategy is one for each pattern that it made go away: what was done is said once.
    let mut said = HashSet::new();
    let strategies = page.strategies.iter().filter(|it| said.insert((it.technique, it.label.clone())));
    super::pattern::helps(&page.gotchas, &strategies.cloned().collect::<Vec<_>>(), output)?;
    let earlier = std::iter::once(None).chain(page.steps.iter().map(Some));
    earlier.zip(&page.steps).try_for_each(|(earlier, step)| print_step(earlier, step, output))
}

fn print_step(earlier: Option<&FixStep>, step: &FixStep, output: &mut Output) -> anyhow::Result<()> {
    let attempt = &step.attempt;
    let number = step.number.map_or_else(|| "rerun".to_owned(), |number| format!("attempt {number}"));
    let means = if attempt.undo { "undo" } else { attempt.means.as_str() };
    output.line(&format!("\n{number} at {}: {} by {means}", attempt.ended_at.local(), attempt.outcome.as_str()))?;
    if earlier.is_some_and(|earlier| earlier.attempt.run == attempt.run) {
        let micros = i64::try_from(attempt.duration_us).unwrap_or(i64::MAX);
        let failed = Timestamp(attempt.ended_at.0.saturating_sub(micros));
        output.line(&format!("  compared with the failure at {}", failed.local()))?;
    }
    let sets = [
        ("fixed", &attempt.fixed),
        ("introduced", &attempt.introduced),
        ("persisted", &attempt.persisted),
        ("not reached", &attempt.not_reached),
    ];
    for (word, atoms) in sets {
        print_atoms(word, atoms, output)?;
    }
    for command in &attempt.commands {
        let how = if command.passed { "" } else { " (failed)" };
        output.line(&format!("  ran: {}{how}", text::one_line(&command.line)))?;
    }
    for name in &attempt.surroundings {
        output.line(&format!("  changed: {}", text::one_line(name)))?;
    }
    for file in &attempt.files {
        let lines = if file.opaque { String::new() } else { format!(" (+{} -{})", file.added, file.removed) };
        let word = if attempt.also_changed.contains(&file.path) { "also changed" } else { "file" };
        output.line(&format!("  {word}: {}{lines}", text::one_line(&file.path.display())))?;
    }
    if attempt.has_unknown_cause() && !attempt.fixed.is_empty() {
        output.line("  cause of the fix unknown: no changed file is named by the failure or imported near it")?;
    }
    if attempt.came_with_base > 0 {
        output
            .line(&format!("  left out: {} that came with a new base", text::count(attempt.came_with_base, "file")))?;
    }
    for mark in &attempt.weakened {
        output.line(&format!("  {}: {}", if mark.certain { "weaker" } else { "weaker, probably" }, weaker(mark)))?;
    }
    if !attempt.diff.is_empty() {
        output.line(attempt.diff.trim_end())?;
    }
    if attempt.diff_cut > 0 {
        output.line(&format!("… {} of the diff are not kept", text::count(attempt.diff_cut, "byte")))?;
    }
    Ok(())
}

/// Items of a set that are printed.
const ATOMS_SHOWN_MAX: usize = 10;

fn print_atoms(word: &str, atoms: &AtomList, output: &mut Output) -> anyhow::Result<()> {
    for atom in atoms.first.iter().take(ATOMS_SHOWN_MAX) {
        let place: Vec<&str> = [&atom.file, &atom.test].into_iter().flatten().map(String::as_str).collect();
        output.line(&format!("  {word}: {} {}", text::one_line(&place.join(" ")), text::one_line(&atom.text)))?;
    }
    match atoms.count.saturating_sub(ATOMS_SHOWN_MAX) {
        0 => Ok(()),
        more => output.line(&format!("  {word}: … and {more} more")),
    }
}
