//! `verify-run pattern`.

mod explain;

use super::{Context, Exit, Output};
use crate::base::text;
use crate::ops::pattern;
use crate::pattern::Page;

/// Show which failures share a cause and how often they came
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the patterns, the last seen first
    List {
        /// Only those seen in three tasks or more
        #[arg(long)]
        recurring: bool,
        /// At most so many
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: usize,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    Explain(explain::Args),
    /// Show one pattern with its failures, files and lessons
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
        Action::List { recurring, limit, json } => {
            let list = pattern::list(&context.places, *limit, *recurring)?;
            list.notes.iter().for_each(|note| context.output.note(note));
            if *json { context.output.json(&list)? } else { print_list(&list, *recurring, &mut context.output)? }
        }
        Action::Explain(args) => explain::run(args, context)?,
        Action::Show { id, json } => {
            let (page, notes) = pattern::show(&context.places, id)?;
            notes.iter().for_each(|note| context.output.note(note));
            if *json { context.output.json(&page)? } else { print_page(&page, &mut context.output)? }
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
                text::one_line(&label(&pattern.tool, pattern.code.as_deref())),
                pattern.title.clone(),
            ]
        })
        .collect();
    output.table(&["id", "failures", "tasks", "last seen", "tool", "what"], &rows)
}

fn print_page(page: &Page, output: &mut Output) -> anyhow::Result<()> {
    let pattern = &page.summary;
    let label = text::one_line(&label(&pattern.tool, pattern.code.as_deref()));
    let recurring = if pattern.recurring { ", recurring" } else { "" };
    output.line(&format!("{}  {label}: {}", pattern.id, pattern.title))?;
    output.line(&format!("family: {}", page.family_title))?;
    output.line(&format!(
        "{}: {} in {}{recurring}; first {}, last {}",
        pattern.category,
        text::count(pattern.failures, "failure"),
        text::count(pattern.tasks, "task"),
        pattern.first_seen.local(),
        pattern.last_seen.local()
    ))?;
    for file in &page.files {
        output.line(&format!("file: {} ({})", text::one_line(&file.path), file.failures))?;
    }
    for lesson in &page.lessons {
        output.line(&format!("lesson: {lesson}"))?;
    }
    let rows: Vec<Vec<String>> = page
        .occurrences
        .iter()
        .map(|seen| {
            let place = match (&seen.file, seen.line) {
                (Some(file), Some(line)) => format!("{file}:{line}"),
                (Some(file), None) => file.clone(),
                _ => String::new(),
            };
            vec![
                seen.failure.clone(),
                seen.at.local(),
                text::one_line(&seen.task),
                text::one_line(&place),
                text::ellipsis(&text::one_line(&seen.message), 100),
            ]
        })
        .collect();
    output.line("")?;
    output.table(&["failure", "when", "task", "where", "message"], &rows)
}

fn label(tool: &str, code: Option<&str>) -> String {
    code.map_or_else(|| tool.to_owned(), |code| format!("{tool} {code}"))
}
