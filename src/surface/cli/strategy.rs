//! `verify-run strategy`.

use super::{CommandContext, Exit, Output};
use crate::base::refusal::{NextStep, Refusal};
use crate::base::text::{count, one_line};
use crate::event::{AttemptOutcome, StrategyMatchKind, Technique};
use crate::knowledge::remedy::{RemedyEscalation, RemedySuggestion};
use crate::ops::reply::Reply;
use crate::ops::strategy::{self, ErrorSource, StrategyAttempt, StrategyDraft, StrategyList};

/// Record fixes for recurring errors and suggest the best one
///
/// Strategies learnt from fixes are suggested too, and so are templates of verify-run.toml (`[strategies.NAME]`) that
/// match. verify-run never runs their steps. If a strategy failed three times in the current task (setting
/// `knowledge.escalate_attempts`) since it last helped, the next one is suggested, and `suggest` and `attempt` exit
/// with 3.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: StrategyAction,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum StrategyAction {
    /// Add a strategy against an error
    #[command(group = clap::ArgGroup::new("against").required(true))]
    Add {
        /// Text of the error, case-insensitive
        #[arg(long, value_name = "TEXT", group = "against")]
        error: Option<String>,
        /// Regular expression for the error
        #[arg(long, value_name = "REGEX", group = "against")]
        regex: Option<String>,
        /// Id of a pattern
        #[arg(long, value_name = "ID", group = "against")]
        pattern: Option<String>,
        /// What to do, in a few words
        #[arg(long, value_name = "TEXT")]
        technique: String,
        /// A step; repeat it for each step
        #[arg(long, value_name = "TEXT")]
        step: Vec<String>,
        /// Author (default: the agent, or human)
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
    /// Record the outcome of a strategy
    Attempt {
        /// Id, or a unique prefix of it
        id: String,
        /// Outcome of the attempt
        #[arg(long, value_parser = ["success", "failure", "partial"])]
        outcome: String,
        /// Kind of task (default: the current task's)
        #[arg(long)]
        category: Option<String>,
        /// Kind of file
        #[arg(long, value_name = "EXTENSION")]
        file_type: Option<String>,
        /// Notes
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
    },
    /// Suggest strategies for an error
    #[command(group = clap::ArgGroup::new("asked").required(true))]
    Suggest {
        /// Error message
        #[arg(long, value_name = "TEXT", group = "asked")]
        error: Option<String>,
        /// A recorded failure: `last`, or the id of a run, failure, lesson or pattern
        #[arg(long, value_name = "RUN", group = "asked")]
        run: Option<String>,
        /// Kind of file
        #[arg(long, value_name = "EXTENSION")]
        file_type: Option<String>,
        /// Maximum number of results
        #[arg(long, default_value_t = 3, value_name = "N")]
        limit: usize,
    },
    /// List strategies, most tried first
    List {
        /// Maximum number of results
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: usize,
    },
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let changed = match &args.action {
        StrategyAction::Add { error, regex, pattern, technique, step, by } => {
            let against = [
                (error, StrategyMatchKind::Substring),
                (regex, StrategyMatchKind::Regex),
                (pattern, StrategyMatchKind::Pattern),
            ];
            let given = against.into_iter().find_map(|(text, matches)| Some((text.clone()?, matches)));
            let Some((error, matches)) = given else {
                anyhow::bail!(Refusal::usage("give what it is against: --error, --regex or --pattern"))
            };
            let (technique, steps) = (technique.clone(), step.clone());
            strategy::add_strategy(
                &context.request,
                &StrategyDraft { matches, error, technique, steps, person: by.clone() },
            )?
        }
        StrategyAction::Attempt { id, outcome, category, file_type, note } => {
            let outcome = match outcome.as_str() {
                "success" => AttemptOutcome::Success,
                "partial" => AttemptOutcome::Partial,
                _ => AttemptOutcome::Failure,
            };
            let (category, file_type) = (category.clone(), file_type.clone());
            let tried = StrategyAttempt { outcome, category, file_type, note: note.clone() };
            strategy::record_attempt(&context.request, id, &tried)?
        }
        StrategyAction::Suggest { error, run, file_type, limit } => {
            let against = match error {
                Some(error) => strategy::diagnose_text(&context.request, error),
                None => ErrorSource::Run(run.clone().filter(|run| run != "last")),
            };
            let found = strategy::suggest_strategies(&context.request, &against, file_type.as_deref(), *limit)?;
            return show_list(&found, args.json, &mut context.output);
        }
        StrategyAction::List { limit } => {
            let found = strategy::list_strategies(&context.request, *limit)?;
            return show_list(&found, args.json, &mut context.output);
        }
    };
    context.output.reply(&changed, args.json, |changed, output| {
        print(&changed.strategy, output)?;
        print_escalation(changed.escalation.as_ref(), output);
        Ok(())
    })?;
    Ok(exit(changed.data.escalation.as_ref()))
}

fn exit(escalation: Option<&RemedyEscalation>) -> Exit {
    if escalation.is_some() { Exit::Escalated } else { Exit::Ok }
}

fn show_list(found: &Reply<StrategyList>, json: bool, output: &mut Output) -> anyhow::Result<Exit> {
    output.reply(found, json, print_list)?;
    Ok(exit(found.data.escalation.as_ref()))
}

fn print_list(found: &StrategyList, output: &mut Output) -> anyhow::Result<()> {
    if found.strategies.is_empty() {
        output.note("no strategy is known for this error");
        output.hint(&NextStep::Run("strategy add".to_owned()));
    }
    for strategy in &found.strategies {
        print(strategy, output)?;
    }
    print_escalation(found.escalation.as_ref(), output);
    Ok(())
}

fn print(strategy: &RemedySuggestion, output: &mut Output) -> anyhow::Result<()> {
    let evidence = match (strategy.successes, strategy.tries) {
        (_, 0) if strategy.origin == Technique::Declared => "untested".to_owned(),
        (_, 0) => "untested".to_owned(),
        (successes, tries) => format!("worked {successes} of {}", count(tries, "time")),
    };
    let partly = if strategy.partials > 0 { format!(", {} in part", strategy.partials) } else { String::new() };
    let here = match strategy.failed_here {
        0 => String::new(),
        times => format!(", failed {} in this task", count(times, "time")),
    };
    let from = match &strategy.declared {
        Some(name) => format!("[strategies.{}] of verify-run.toml, ", one_line(name)),
        None => String::new(),
    };
    output.line(&format!("{}\t{} ({from}{evidence}{partly}{here})", strategy.id, one_line(&strategy.technique)))?;
    for (number, step) in (1..).zip(&strategy.steps) {
        output.line(&format!("  {number}. {}", one_line(step)))?;
    }
    Ok(())
}

fn print_escalation(escalation: Option<&RemedyEscalation>, output: &mut Output) {
    let Some(it) = escalation else { return };
    let next = match &it.next {
        Some(next) => format!("try {next} next"),
        None => "no other strategy is known: ask a person".to_owned(),
    };
    let times = count(it.failures, "time");
    output.note(&format!("{} ({}) failed {times} in this task: {next}", it.failed, one_line(&it.technique)));
}
