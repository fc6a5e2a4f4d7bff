//! `verify-run pattern`.

mod explain;
mod page;

pub(super) use page::helps;

use super::{CommandContext, Exit, Output};
use crate::base::text::{count, one_line};
use crate::config::Settings;
use crate::ops::curate::{self, CurationReply, Saying};
use crate::ops::library;
use crate::ops::pattern::{self, Filter};
use crate::store::ReviewState;

/// List failures that share a cause
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: PatternAction,
}

#[derive(Debug, clap::Subcommand)]
enum PatternAction {
    /// List the patterns, the last seen first
    ///
    /// A family of many patterns that were each seen in one task only stands as one row. With --json one document:
    /// `{"schema": 1, "patterns": [...], "findings": [...]}`; a pattern has id, key, family, name, summary, title, tool,
    /// code, category, failures, tasks, family_tasks, members, muted, deprecated, recurring, confidence, lower_bound,
    /// frequency, files_pattern, stands_for, first_seen, last_seen; a finding has detector, title, summary, files,
    /// category, patterns, hits, of, lower_bound, lift, rule.
    List {
        /// Only those seen in three tasks or more (setting patterns.recurring_tasks)
        #[arg(long)]
        recurring: bool,
        /// Muted and deprecated ones too
        #[arg(long)]
        all: bool,
        /// Instead of the patterns: what holds for the newest tasks as a whole
        #[arg(long, conflicts_with = "recurring")]
        findings: bool,
        /// At most so many
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: usize,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    Explain(explain::Args),
    /// Show one pattern: how often, where, with what, why it is believed, its failures and lessons
    ///
    /// With --json one document: `"schema": 1`, what `pattern list` has of a pattern, and family_title, group (id, title,
    /// failures, earlier_ids), merges (at, from, into, by, similarity_permille, why), reviews (at, state, by, why),
    /// findings, ledger (value, start, evidence, steps with event, at, kind, what, delta, after), gotcha and strategies as
    /// `fix show` has them, files, lessons, occurrences.
    Show {
        /// Its id, or a unique start of it
        id: String,
        /// Write its page into the pattern library (`.agent/patterns/candidates/`) instead of printing it
        ///
        /// A page that somebody changed, or moved to another part of the library, is left as it is. With --json
        /// `{"schema": 1, "path": …, "outcome": "written" | "updated" | "edited" | "reviewed"}`.
        #[arg(long)]
        candidate: bool,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Count two patterns together from now on, with all that was recorded of them
    Merge {
        /// The id of the one, or a unique start of it
        id: String,
        /// The id of the other
        into: String,
        #[command(flatten)]
        saying: SayingArgs,
    },
    /// Let a pattern stand by itself again
    Split {
        /// Its id, or a unique start of it
        id: String,
        #[command(flatten)]
        saying: SayingArgs,
    },
    /// Want no advice about a pattern
    Mute {
        /// Its id, or a unique start of it
        id: String,
        /// Want it again
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        saying: SayingArgs,
    },
    /// Say that a pattern can't happen any more, or is no mistake
    Deprecate {
        /// Its id, or a unique start of it
        id: String,
        /// Say that it can, or is
        #[arg(long)]
        undo: bool,
        #[command(flatten)]
        saying: SayingArgs,
    },
}

/// What is remembered with a change. `--json` prints {"schema": 1, "done", "pattern", "group", "merges",
/// "reviews"}.
#[derive(Debug, clap::Args)]
struct SayingArgs {
    /// Why
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Who says so
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl SayingArgs {
    fn saying(&self) -> Saying {
        Saying { by: self.by.clone(), why: self.why.clone() }
    }
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    match &args.action {
        PatternAction::List { recurring, all, findings, limit, json } => {
            let filter = Filter { limit: *limit, recurring: *recurring, all: *all };
            let list = pattern::list(&context.places, &context.environment, filter)?;
            list.notes.iter().for_each(|note| context.output.note(note));
            match (json, findings) {
                (true, _) => context.output.json(&list)?,
                (false, true) => page::findings(&list.findings, &mut context.output)?,
                (false, false) => {
                    let (settings, _) = Settings::load(&context.places, &context.environment);
                    let tasks = recurring.then_some(settings.patterns.recurring_tasks);
                    print_list(&list, tasks, &mut context.output)?;
                }
            }
        }
        PatternAction::Explain(args) => explain::run(args, context)?,
        PatternAction::Show { id, candidate: true, json } => {
            let written = library::write_candidate_page(&context.places, &context.environment, id)?;
            written.notes.iter().for_each(|note| context.output.note(note));
            if *json { context.output.json(&written)? } else { page::candidate(&written, &mut context.output)? }
        }
        PatternAction::Show { id, candidate: false, json } => {
            let (page, notes) = pattern::show(&context.places, &context.environment, id)?;
            notes.iter().for_each(|note| context.output.note(note));
            if *json { context.output.json(&page)? } else { page::print(&page, &mut context.output)? }
        }
        PatternAction::Merge { id, into, saying } => {
            changed(curate::merge(&context.places, id, into, saying.saying())?, saying.json, &mut context.output)?;
        }
        PatternAction::Split { id, saying } => {
            changed(curate::split(&context.places, id, saying.saying())?, saying.json, &mut context.output)?;
        }
        PatternAction::Mute { id, undo, saying } => {
            let state = if *undo { ReviewState::Unmuted } else { ReviewState::Muted };
            changed(curate::review(&context.places, id, state, saying.saying())?, saying.json, &mut context.output)?;
        }
        PatternAction::Deprecate { id, undo, saying } => {
            let state = if *undo { ReviewState::Restored } else { ReviewState::Deprecated };
            changed(curate::review(&context.places, id, state, saying.saying())?, saying.json, &mut context.output)?;
        }
    }
    Ok(Exit::Ok)
}

fn changed(changed: CurationReply, json: bool, output: &mut Output) -> anyhow::Result<()> {
    changed.notes.iter().for_each(|note| output.note(note));
    if json { output.json(&changed) } else { output.line(&one_line(&changed.done)) }
}

fn print_list(list: &pattern::PatternList, recurring: Option<u64>, output: &mut Output) -> anyhow::Result<()> {
    if list.patterns.is_empty() {
        output.note(&match recurring {
            Some(tasks) => {
                format!("no pattern was seen in {} yet; all of them: verify-run pattern list", count(tasks, "task"))
            }
            None => "no patterns yet: they come from failing checks, such as: verify-run npm test".to_owned(),
        });
        return Ok(());
    }
    let rows: Vec<Vec<String>> = list
        .patterns
        .iter()
        .map(|pattern| {
            vec![
                pattern.id.clone(),
                pattern.failures.to_string(),
                pattern.tasks.to_string(),
                pattern.last_seen.local(),
                format!("{:.2}", pattern.confidence),
                match pattern.stands_for {
                    Some(others) => format!("{} and {} like it", pattern.name, others.saturating_sub(1)),
                    None => pattern.name.clone(),
                },
            ]
        })
        .collect();
    output.table(&["id", "failures", "tasks", "last seen", "confidence", "what"], &rows)
}
