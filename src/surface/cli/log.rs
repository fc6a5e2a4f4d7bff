//! `verify-run log`.

use super::{CommandContext, Exit, Output};
use crate::base::clock::Timestamp;
use crate::base::text::{ellipsis, one_line};
use crate::ops::log::{self, LogEntry};
use crate::store::RunFilter;

/// A command in a table, bytes.
const COMMAND_BYTES_MAX: usize = 60;
/// A message in a table, bytes.
const SUMMARY_BYTES_MAX: usize = 80;

/// List recorded runs, newest first
///
/// The columns are id, time, outcome, duration in seconds, command and first message. `verify-run show ID` has the rest.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only runs of this tool (`pytest`, `eslint`, `test` for a script of that name)
    #[arg(long)]
    tool: Option<String>,
    /// Only runs that failed
    #[arg(long, conflicts_with = "passed")]
    failed: bool,
    /// Only runs that passed
    #[arg(long)]
    passed: bool,
    /// Only runs since an age (`30m`, `2h`, `7d`), a day (`2026-11-21`) or a time
    #[arg(long, value_name = "WHEN", value_parser = since)]
    since: Option<Timestamp>,
    /// Maximum number of runs
    #[arg(long, short = 'n', default_value_t = 20)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn since(typed: &str) -> Result<Timestamp, String> {
    Timestamp::now()
        .before(typed)
        .ok_or_else(|| "expected an age such as `2h` or `7d`, a day, or an RFC 3339 time".into())
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let passed = (args.failed || args.passed).then_some(args.passed);
    let filter = RunFilter { tool: args.tool.clone(), passed, since: args.since };
    let log = log::list_runs(&context.places, &filter, args.limit)?;
    log.notes.iter().for_each(|note| context.output.note(note));
    if args.json {
        context.output.json(&log)?;
    } else if log.runs.is_empty() {
        context.output.note("no recorded run matches");
    } else {
        print(&log.runs, &mut context.output)?;
    }
    Ok(Exit::Ok)
}

fn print(runs: &[LogEntry], output: &mut Output) -> anyhow::Result<()> {
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            let command = shell_words::join(run.argv.iter().map(|word| word.display()));
            let place = run.dir.display();
            let command = if place.is_empty() { command } else { format!("{command} (in {place})") };
            vec![
                run.failure.clone().unwrap_or_else(|| run.run.clone()),
                run.ended_at.local(),
                if run.passed { "passed".to_owned() } else { format!("failed ({})", run.exit_code) },
                format!("{:.1}", std::time::Duration::from_micros(run.duration_us).as_secs_f64()),
                ellipsis(&one_line(&command), COMMAND_BYTES_MAX),
                ellipsis(&one_line(run.summary.as_deref().unwrap_or_default()), SUMMARY_BYTES_MAX),
            ]
        })
        .collect();
    output.table(&["id", "time", "outcome", "seconds", "command", "message"], &rows)
}
