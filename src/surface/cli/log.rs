//! `verify-run log`.

mod failures;

use super::output::{TableCell, Tone};
use super::{CommandContext, Exit, Output, PagingArgs};
use crate::base::clock::Timestamp;
use crate::base::text::{count, one_line, prefix};
use crate::ops::log::{self, LogEntry};
use crate::store::RunFilter;

/// Characters of a run's id that a terminal shows: they hold the millisecond it began, and `show` takes them.
const ID_CHARACTERS: usize = 13;

/// List recorded runs, newest first
///
/// The columns are id, time, outcome, duration in seconds, command and first message. `verify-run show ID` has the rest.
///
/// With --failures the failures of all work trees are listed, each with its category, pattern, lesson and fix, page by page.
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
    #[command(flatten)]
    failures: failures::FailureArgs,
    /// Maximum number of runs or failures
    #[arg(long, short = 'n', default_value_t = 20)]
    limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    paging: PagingArgs,
}

fn since(typed: &str) -> Result<Timestamp, String> {
    Timestamp::now()
        .before(typed)
        .ok_or_else(|| "expected an age such as `2h` or `7d`, a day, or an RFC 3339 time".into())
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    if args.failures.is_asked() {
        return failures::run(args, context);
    }
    let passed = (args.failed || args.passed).then_some(args.passed);
    let filter = RunFilter { tool: args.tool.clone(), passed, since: args.since };
    let log = log::list_runs(&context.request, &filter, args.limit)?;
    context.output.reply(&log, args.json, |log, output| {
        if log.runs.is_empty() {
            output.note("no recorded run matches");
            return Ok(());
        }
        output.use_pager(args.paging.pager);
        print(&log.runs, args.limit, output)
    })?;
    Ok(Exit::Ok)
}

fn print(runs: &[LogEntry], limit: usize, output: &mut Output) -> anyhow::Result<()> {
    let failed = runs.iter().filter(|run| !run.passed).count();
    output.list_title(&format!("{}, {failed} failed", newest(runs.len(), limit, "run")))?;
    let row = |run: &LogEntry| {
        let command = shell_words::join(run.argv.iter().map(|word| word.display()));
        let place = run.dir.display();
        let command = if place.is_empty() { command } else { format!("{command} (in {place})") };
        let id = run.failure.as_ref().unwrap_or(&run.run);
        let result = if run.passed {
            TableCell::new(Tone::Good, "passed")
        } else {
            TableCell::new(Tone::Bad, format!("failed ({})", run.exit_code))
        };
        vec![
            TableCell::from(if output.terminal() { prefix(id, ID_CHARACTERS) } else { id }),
            TableCell::new(Tone::Faint, output.when(run.ended_at)),
            result,
            TableCell::from(format!("{:.1}", std::time::Duration::from_micros(run.duration_us).as_secs_f64())),
            TableCell::from(one_line(&command)),
            TableCell::from(one_line(run.summary.as_deref().unwrap_or_default())),
        ]
    };
    let rows: Vec<Vec<TableCell>> = runs.iter().map(row).collect();
    output.table(&["id", "when", "result", "seconds", "command", "message"], &rows)
}

/// `3 runs`, or `newest 20 runs` when a list has as many as were asked for.
pub(super) fn newest(shown: usize, limit: usize, noun: &str) -> String {
    let newest = if shown == limit { "newest " } else { "" };
    format!("{newest}{}", count(shown, noun))
}
