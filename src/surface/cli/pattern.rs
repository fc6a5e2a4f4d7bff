//! `verify-run pattern`.

mod explain;
mod page;

use super::{Context, Exit, Output};
use crate::ops::pattern;

/// Show which failures share a cause and how often they came
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the patterns, the last seen first
    ///
    /// A family of many patterns that were each seen in one task only stands as one row. With --json one document:
    /// `{"schema": 1, "patterns": [...], "findings": [...]}`; a pattern has id, key, family, name, summary, title, tool,
    /// code, category, failures, tasks, family_tasks, recurring, confidence, lower_bound, frequency, files_pattern,
    /// stands_for, first_seen, last_seen; a finding has detector, title, summary, files, category, patterns, hits, of,
    /// lower_bound, lift, rule.
    List {
        /// Only those seen in three tasks or more (setting patterns.recurring_tasks)
        #[arg(long)]
        recurring: bool,
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
    /// With --json one document: `"schema": 1`, what `pattern list` has of a pattern, and family_title, findings, ledger
    /// (value, start, evidence, steps with event, at, kind, what, delta, after), files, lessons, occurrences.
    Show {
        /// Its id, or a unique start of it
        id: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

pub fn run(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    match &args.action {
        Action::List { recurring, findings, limit, json } => {
            let list = pattern::list(&context.places, &context.environment, *limit, *recurring)?;
            list.notes.iter().for_each(|note| context.output.note(note));
            match (json, findings) {
                (true, _) => context.output.json(&list)?,
                (false, true) => page::findings(&list.findings, &mut context.output)?,
                (false, false) => print_list(&list, *recurring, &mut context.output)?,
            }
        }
        Action::Explain(args) => explain::run(args, context)?,
        Action::Show { id, json } => {
            let (page, notes) = pattern::show(&context.places, &context.environment, id)?;
            notes.iter().for_each(|note| context.output.note(note));
            if *json { context.output.json(&page)? } else { page::print(&page, &mut context.output)? }
        }
    }
    Ok(Exit::Ok)
}

fn print_list(list: &pattern::List, recurring: bool, output: &mut Output) -> anyhow::Result<()> {
    if list.patterns.is_empty() {
        output.note(if recurring {
            "no pattern was seen in three tasks yet; all of them: verify-run pattern list"
        } else {
            "no patterns yet: they come from failing checks, such as: verify-run npm test"
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
