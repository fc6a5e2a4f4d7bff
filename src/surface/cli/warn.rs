//! `verify-run warn`.

use std::path::PathBuf;

use super::{CommandContext, Exit};
use crate::capture::{self, Identity};
use crate::ops::warn::{self, WarnRequest};

/// Show known pitfalls for files, a command or a task
///
/// Looks for failures that happened before in the files of a task, under a command, in tasks like it, or with the words of
/// its title, and prints at most five: what happens, how often, why, how to avoid it, what worked, and an id. What failed
/// in one's own session only is left out, and so is what nothing is known to do about, except in the very file. What was
/// seen once or twice is marked as unconfirmed. Files that the title names are looked at; without any, those of the task,
/// as announced (`task start`) or as its runs changed them.
///
/// A part of the tasks is not warned, so that it can be known whether warnings help (setting `advice.holdout`).
/// `advice.warnings = false` or ENABLE_QA_WARNINGS=0 turns warnings off.
///
/// A format is a template: `.verify-run/formatters/warnings.NAME.jinja` of the project, or in verify-run's configuration
/// folder; `warnings.AGENT.NAME.jinja` is for one kind of agent. It gets what `--format json` prints.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// What is being worked on (else VERIFY_RUN_TASK, the announced task, or the branch)
    #[arg(long)]
    task: Option<String>,
    /// What the task is about
    #[arg(long)]
    title: Option<String>,
    /// What kind of work it is
    #[arg(long)]
    category: Option<String>,
    /// Files that it will touch
    #[arg(long, value_name = "FILE", num_args = 1.., value_delimiter = ',')]
    files: Vec<PathBuf>,
    /// A command that is about to run
    #[arg(long, value_name = "LINE")]
    command: Option<String>,
    /// Who works on it in one sitting (else VERIFY_RUN_SESSION or the host's)
    #[arg(long)]
    session: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// markdown, text, json, or a template of one's own
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Print one JSON document: the same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let variable = |name: &str| std::env::var(name).ok();
    let given = Identity { task: args.task.clone(), session: args.session.clone(), agent: None };
    let is_json = args.json || args.format.as_deref() == Some("json");
    let asked = WarnRequest {
        identity: capture::identify(given, variable, crate::run::session()),
        title: args.title.clone(),
        category: args.category.clone(),
        files: args.files.clone(),
        command: args.command.clone(),
        limit: args.limit,
        format: args.format.clone(),
        surface: "warn".to_owned(),
        ..WarnRequest::default()
    };
    let cwd = std::env::current_dir()?;
    let mut answer = warn::collect_warnings(&context.places, &context.environment, &cwd, &asked)?;
    let text = if is_json {
        None
    } else {
        Some(warn::format_reply(&context.places, &context.environment, &asked, &mut answer)?)
    };
    answer.notes.iter().for_each(|note| context.output.note(note));
    match text {
        Some(text) => context.output.text(&text)?,
        None => context.output.json(&answer)?,
    }
    answer.notes.clear();
    warn::record_deliveries(&context.places, &mut answer);
    answer.notes.iter().for_each(|note| context.output.note(note));
    Ok(Exit::Ok)
}
