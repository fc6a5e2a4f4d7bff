//! `verify-run store`.

use std::path::PathBuf;

use super::{CommandContext, Exit, Output};
use crate::base::clock::Timestamp;
use crate::base::refusal::NextStep;
use crate::base::text;
use crate::ops::exchange::{self, ExportOptions, ExportReport, ImportReport};
use crate::ops::store::{self, StoreReply, StoreStatus};
use crate::store::ImportTrust;

/// Inspect and maintain the records
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: StoreAction,
}

#[derive(Debug, clap::Subcommand)]
enum StoreAction {
    /// Show the location, size and health of the records
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Rebuild the index from the event log
    Rebuild {
        /// Restore missing or truncated segments from this backup first
        #[arg(long, value_name = "FOLDER")]
        from: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Back up the event log now (a backup is made daily, and seven are kept)
    Backup {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Export the records as segments (JSON lines) for another clone
    ///
    /// Writes one file per writer and month.
    Export {
        /// Leave out messages, output, diffs, command lines and branches (patterns are still counted)
        #[arg(long)]
        masked: bool,
        /// Folder for the segments
        #[arg(long, value_name = "FOLDER", default_value = "verify-run-events")]
        out: PathBuf,
        /// Only events since a day (2026-11-21), an RFC 3339 time, or an age (30d)
        #[arg(long, value_name = "TIME", value_parser = since)]
        since: Option<Timestamp>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Import segments of another clone, a CI job or a backup
    ///
    /// Segments can be imported in any order and repeatedly: known events change nothing, and purged events stay
    /// purged. Lines that are not events, or that are dated in the future, are named and left out. Texts of other
    /// people are shown as imported and not given to agents, unless --trust is set, now or later.
    Import {
        /// Segments (*.jsonl, *.jsonl.zst), or folders with segments
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Give imported texts (knowledge, strategies, notes) to agents like local ones
        #[arg(long)]
        trust: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove the text of a run, failure, lesson or pattern for good, such as a leaked secret
    Purge {
        /// Id, or a unique prefix of it
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Args {
    /// What may take long.
    pub(super) fn long_part(&self) -> &'static str {
        match self.action {
            StoreAction::Status { .. } => "checking the index",
            StoreAction::Rebuild { .. } => "rebuilding the index",
            StoreAction::Backup { .. } => "making a backup",
            StoreAction::Export { .. } => "exporting",
            StoreAction::Import { .. } => "importing",
            StoreAction::Purge { .. } => "purging",
        }
    }
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    match &args.action {
        StoreAction::Status { json } => {
            let status = store::store_status(&context.request)?;
            context.output.reply(&status, *json, print_status)?;
            if status.data.index_damage.is_some() {
                return Ok(Exit::Failure);
            }
        }
        StoreAction::Rebuild { from, json } => {
            let done = store::rebuild_index(&context.request, from.as_deref())?;
            context.output.reply(&done, *json, print_done)?;
        }
        StoreAction::Backup { json } => {
            let done = store::back_up(&context.request)?;
            context.output.reply(&done, *json, print_done)?;
        }
        StoreAction::Export { masked, out, since, json } => {
            let wanted = ExportOptions { out, masked: *masked, since: *since };
            let exported = exchange::export_events(&context.request, &wanted)?;
            context.output.reply(&exported, *json, print_exported)?;
        }
        StoreAction::Import { paths, trust, json } => {
            let trust = if *trust { ImportTrust::Used } else { ImportTrust::Shown };
            let merged = exchange::import_events(&context.request, paths, trust)?;
            context.output.reply(&merged, *json, print_merged)?;
        }
        StoreAction::Purge { id, json } => {
            let done = store::purge_record(&context.request, id)?;
            context.output.reply(&done, *json, print_done)?;
        }
    }
    Ok(Exit::Ok)
}

fn print_status(status: &StoreStatus, output: &mut Output) -> anyhow::Result<()> {
    output.line(&format!("state: {}", status.state.display()))?;
    match &status.counts {
        Some(counts) => {
            let rows = [
                (counts.runs, "run"),
                (counts.failures, "failure"),
                (counts.patterns, "pattern"),
                (counts.tasks, "task"),
                (counts.lessons, "lesson"),
            ];
            let rows = rows.map(|(n, noun)| text::count(n, noun)).join(", ");
            output.line(&format!("index: {}: {rows}", text::count(counts.events, "event")))?
        }
        None => output.line("index: none yet")?,
    }
    if let Some(damage) = &status.index_damage {
        output.line(&format!("index is damaged: {}", text::one_line(damage)))?;
        output.hint(&NextStep::Run("store rebuild".to_owned()));
    }
    let events: u64 = status.segments.iter().map(|segment| segment.bytes).sum();
    output.line(&format!(
        "size: events {} KiB in {}, index {} KiB, raw output {} KiB",
        events.div_ceil(1024),
        text::count(status.segments.len(), "segment"),
        status.index_bytes.div_ceil(1024),
        status.raw_bytes.div_ceil(1024)
    ))?;
    let snapshots = &status.snapshots;
    output.line(&format!(
        "snapshots: {}, {} KiB",
        text::count(snapshots.trees, "tree"),
        snapshots.bytes.div_ceil(1024)
    ))?;
    for work_tree in &snapshots.work_trees {
        if let Some(why) = &work_tree.skipped {
            let root = work_tree.root.display();
            output.line(&text::one_line(&format!("no snapshot of {root}: {why}")))?;
        }
    }
    match status.backups.last() {
        Some(last) => output.line(&format!("backups: {}, the last {}", status.backups.len(), last.display()))?,
        None => output.line("backups: none yet")?,
    }
    for (what, paths) in [("waiting", &status.pending), ("unreadable", &status.bad), ("torn", &status.torn)] {
        for path in paths {
            output.line(&format!("{what}: {}", path.display()))?;
        }
    }
    for line in &status.log {
        output.line(&format!("log: {}", text::one_line(line)))?;
    }
    Ok(())
}

/// A day, a time, or an age in days.
fn since(text: &str) -> Result<Timestamp, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok());
    let ago = days.map(|days| Timestamp(Timestamp::now().0.saturating_sub(days.saturating_mul(24 * 3600 * 1_000_000))));
    let time = ago.or_else(|| Timestamp::parse(text)).or_else(|| Timestamp::parse(&format!("{text}T00:00:00Z")));
    time.ok_or_else(|| "not a day (2026-11-21), a time (RFC 3339) or a number of days (30d)".to_owned())
}

fn print_exported(exported: &ExportReport, output: &mut Output) -> anyhow::Result<()> {
    exported.files.iter().try_for_each(|file| output.line(&file.display().to_string()))?;
    if exported.bad > 0 {
        output.note(&format!("left out {} that are no events", text::count(exported.bad, "line")));
    }
    let files = text::count(exported.files.len(), "segment");
    output.note(&format!(
        "{} in {files}; to import them elsewhere: verify-run store import FOLDER",
        text::count(exported.events, "event")
    ));
    Ok(())
}

fn print_merged(merged: &ImportReport, output: &mut Output) -> anyhow::Result<()> {
    let new = text::count(merged.events, "new event");
    let files = text::count(merged.files, "segment");
    output.line(&format!("{new} from {files}; {} already known, {} purged", merged.known, merged.purged))?;
    for fault in &merged.faults {
        output.note(&format!("{}:{}: {}", fault.file.display(), fault.line, fault.reason));
    }
    let more = merged.newer + merged.bad - merged.faults.len().min(merged.newer + merged.bad);
    if more > 0 {
        output.note(&format!("... and {} more", text::count(more, "line")));
    }
    if merged.newer > 0 {
        output
            .note("lines of a newer verify-run are left out; upgrade with `cargo install verify-run` and import again");
    }
    Ok(())
}

fn print_done(done: &StoreReply, output: &mut Output) -> anyhow::Result<()> {
    done.done.iter().try_for_each(|line| output.line(line))
}
