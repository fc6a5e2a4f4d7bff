//! `verify-run pattern`.

mod explain;
mod lines;
mod page;

pub(super) use page::{change, print_gotcha};

use super::log::newest;
use super::output::{TableCell, Tone};
use super::{CommandContext, Exit, Output, PagingArgs};
use crate::base::text::{count, one_line};
use crate::event::ReviewState;
use crate::ops::curate::{self, CurationReason, CurationReply};
use crate::ops::library;
use crate::ops::pattern::{self, PatternFilter};
use crate::ops::reply::Reply;
use crate::pattern::PatternSummary;

/// List failures that share a cause
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: PatternAction,
    #[command(flatten)]
    paging: PagingArgs,
}

#[derive(Debug, clap::Subcommand)]
enum PatternAction {
    /// List patterns, most recent first
    ///
    /// A family of many patterns that were each seen in a single task is listed as one row. With an order or a filter, each
    /// pattern is a row, and the list has pages.
    List {
        #[command(flatten)]
        query: Box<lines::Args>,
        /// Only recurring patterns: seen in three or more tasks (setting patterns.recurring_tasks)
        #[arg(long)]
        recurring: bool,
        /// Include muted and deprecated patterns
        #[arg(long)]
        all: bool,
        /// List findings about recent tasks instead
        #[arg(long, conflicts_with_all = ["recurring", "LineArgs"])]
        findings: bool,
        /// Maximum number of results
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    Explain(explain::Args),
    /// Show a pattern with its frequency, confidence, failures and lessons
    Show {
        /// Id, or a unique prefix of it
        id: String,
        /// Write its page into `.agent/patterns/candidates/`, unless it was edited or moved there
        #[arg(long)]
        candidate: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Merge two patterns
    Merge {
        /// Id of the first pattern, or a unique prefix of it
        id: String,
        /// Id of the second pattern
        into: String,
        #[command(flatten)]
        saying: CurationReasonArgs,
    },
    /// Split a pattern from its group
    Split {
        /// Id, or a unique prefix of it
        id: String,
        /// Undo the last split: merge it again with the patterns it was split from
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        saying: CurationReasonArgs,
    },
    /// Mute a pattern
    Mute {
        /// Id, or a unique prefix of it
        id: String,
        /// Unmute it
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        saying: CurationReasonArgs,
    },
    /// Deprecate a pattern: it cannot happen any more, or is no mistake
    Deprecate {
        /// Id, or a unique prefix of it
        id: String,
        /// Undo the deprecation
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        saying: CurationReasonArgs,
    },
}

/// Reason and author of a change
#[derive(Debug, clap::Args)]
struct CurationReasonArgs {
    /// Reason
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Author (default: the agent, or human)
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl CurationReasonArgs {
    fn saying(&self) -> CurationReason {
        CurationReason { by: self.by.clone(), why: self.why.clone() }
    }
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    context.output.use_pager(args.paging.pager);
    match &args.action {
        PatternAction::List { query, recurring, all, limit, json, .. } if query.is_asked() => {
            let query = query.query(*recurring, *all)?;
            lines::run(&query, (*limit, *json), context)?;
        }
        PatternAction::List { recurring, all, findings, limit, json, .. } => {
            let filter = PatternFilter { limit: *limit, recurring: *recurring, all: *all };
            let list = pattern::list_patterns(&context.request, filter)?;
            let tasks = recurring.then_some(context.request.settings().patterns.recurring_tasks);
            context.output.reply(&list, *json, |list, output| match findings {
                true => page::findings(&list.findings, output),
                false => print_list(list, tasks, *limit, output),
            })?;
        }
        PatternAction::Explain(args) => explain::run(args, context)?,
        PatternAction::Show { id, candidate: true, json } => {
            let written = library::write_candidate_page(&context.request, id)?;
            context.output.reply(&written, *json, page::candidate)?;
        }
        PatternAction::Show { id, candidate: false, json } => {
            let page = pattern::show_pattern(&context.request, id)?;
            context.output.reply(&page, *json, page::print)?;
        }
        PatternAction::Merge { id, into, saying } => {
            changed(
                curate::merge_patterns(&context.request, id, into, saying.saying())?,
                saying.json,
                &mut context.output,
            )?;
        }
        PatternAction::Split { id, undo, saying } => {
            let change = if *undo { curate::undo_split } else { curate::split_pattern };
            changed(change(&context.request, id, saying.saying())?, saying.json, &mut context.output)?;
        }
        PatternAction::Mute { id, undo, saying } => {
            let state = if *undo { ReviewState::Unmuted } else { ReviewState::Muted };
            changed(
                curate::review_pattern(&context.request, id, state, saying.saying())?,
                saying.json,
                &mut context.output,
            )?;
        }
        PatternAction::Deprecate { id, undo, saying } => {
            let state = if *undo { ReviewState::Restored } else { ReviewState::Deprecated };
            changed(
                curate::review_pattern(&context.request, id, state, saying.saying())?,
                saying.json,
                &mut context.output,
            )?;
        }
    }
    Ok(Exit::Ok)
}

fn changed(changed: Reply<CurationReply>, json: bool, output: &mut Output) -> anyhow::Result<()> {
    output.reply(&changed, json, |changed, output| output.line(&one_line(&changed.done)))
}

fn print_list(
    list: &pattern::PatternList,
    recurring: Option<u64>,
    limit: usize,
    output: &mut Output,
) -> anyhow::Result<()> {
    if list.patterns.is_empty() {
        output.note(&match recurring {
            Some(tasks) => {
                format!("no pattern was seen in {} yet\n\nhint: run `verify-run pattern list`", count(tasks, "task"))
            }
            None => "no patterns yet: they come from failed checks\n\nhint: run `verify-run npm test`".to_owned(),
        });
        return Ok(());
    }
    let often = list.patterns.iter().filter(|pattern| pattern.recurring).count();
    let often = if often > 0 { format!(", {often} recurring") } else { String::new() };
    output.list_title(&format!("{}{often}", newest(list.patterns.len(), limit, "pattern")))?;
    let row = |pattern: &PatternSummary| {
        let tone = if pattern.recurring { Tone::Bad } else { Tone::Plain };
        let confidence = format!("{:.2}", pattern.confidence);
        vec![
            TableCell::from(pattern.id.as_str()),
            TableCell::new(tone, pattern.failures.to_string()),
            TableCell::new(tone, pattern.tasks.to_string()),
            TableCell::new(Tone::Faint, output.when(pattern.last_seen)),
            // A terminal has better use for the room: `pattern show` has it with its reasons.
            TableCell::from(if output.terminal() { String::new() } else { confidence }),
            TableCell::from(match pattern.stands_for {
                Some(others) => format!("{} and {} like it", pattern.name, others.saturating_sub(1)),
                None => pattern.name.clone(),
            }),
        ]
    };
    let rows: Vec<Vec<TableCell>> = list.patterns.iter().map(row).collect();
    output.table(&["id", "failures", "tasks", "last seen", "confidence", "pattern"], &rows)
}
