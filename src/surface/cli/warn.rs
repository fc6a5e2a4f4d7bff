//! `verify-run warn`.

use std::path::PathBuf;

use super::{CommandContext, Exit};
use crate::capture::Identity;
use crate::ops::request::Request;
use crate::ops::warn;
use crate::retrieval::question::WarnRequest;

/// Show known pitfalls for files, a command or a task
///
/// Looks for earlier failures in the files of a task, under a command, in similar tasks, or with the words of a title,
/// and prints up to five: what happens, how often, why, how to avoid it, what worked, and an id. Failures of the
/// current session are left out, and so are patterns without a known remedy, except in the very file. Patterns that
/// were seen once or twice are marked as unconfirmed. Files named in the title are included; without files, those of
/// the announced task or of its runs are used.
///
/// Some tasks are held out and get no warnings, to measure whether warnings help (setting `advice.holdout`).
/// `advice.warnings = false` or ENABLE_QA_WARNINGS=0 turns warnings off.
///
/// A format is a template: `.verify-run/formatters/warnings.NAME.jinja` in the project or in verify-run's configuration
/// folder; `warnings.AGENT.NAME.jinja` is for one kind of agent. It gets the document that `--format json` prints.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name of the task (default: VERIFY_RUN_TASK, the announced task, or the branch)
    #[arg(long)]
    task: Option<String>,
    /// Title of the task
    #[arg(long)]
    title: Option<String>,
    /// Kind of work
    #[arg(long)]
    category: Option<String>,
    /// Files that the task will change
    #[arg(long, value_name = "FILE", num_args = 1.., value_delimiter = ',')]
    files: Vec<PathBuf>,
    /// Command that is about to run
    #[arg(long, value_name = "LINE")]
    command: Option<String>,
    /// Name of the session (default: VERIFY_RUN_SESSION or the host's)
    #[arg(long)]
    session: Option<String>,
    /// Maximum number of results
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// markdown, text, json, or a template of your own
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Print JSON, the same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let given = Identity { task: args.task.clone(), session: args.session.clone(), ..Identity::default() };
    let is_json = args.json || args.format.as_deref() == Some("json");
    let asked = WarnRequest {
        identity: Request::identify_caller(given),
        title: args.title.clone(),
        category: args.category.clone(),
        files: args.files.clone(),
        command: args.command.clone(),
        limit: args.limit,
        format: args.format.clone(),
        surface: "warn".to_owned(),
        ..WarnRequest::default()
    };
    let mut answer = warn::collect_warnings(&context.request, &asked)?;
    let text = if is_json { None } else { Some(warn::format_reply(&context.request, &asked, &mut answer)?) };
    context.output.notes(&answer.notes);
    match text {
        Some(text) if text.is_empty() && context.output.terminal() => {
            context.output.note("no warnings for this task\n\nhint: run `verify-run warn --files FILE`")
        }
        Some(text) => context.output.text(&text)?,
        None => context.output.json(&answer)?,
    }
    answer.notes.clear();
    warn::record_deliveries(&context.request.places, &mut answer);
    context.output.notes(&answer.notes);
    Ok(Exit::Ok)
}
