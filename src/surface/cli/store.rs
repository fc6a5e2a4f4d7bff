//! `verify-run store`.

use std::path::PathBuf;

use super::{Context, Exit, Output};
use crate::base::text;
use crate::ops::store::{self, Done, Status};

/// Look after what was recorded
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show where the records are, how many, and whether they are sound
    Status {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Compute the index anew from the events
    Rebuild {
        /// First put back from this backup what is missing or shorter now
        #[arg(long, value_name = "FOLDER")]
        from: Option<PathBuf>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Make today's backup again (the recorder makes one a day and keeps seven)
    Backup {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Remove the text of a run, failure, lesson or pattern for good: a secret that got through
    Purge {
        /// Its id, or a unique start of it
        id: String,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

pub fn run(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    let places = &context.places;
    match &args.action {
        Action::Status { json } => {
            let status = store::status(places)?;
            status.notes.iter().for_each(|note| context.output.note(note));
            if *json {
                context.output.json(&status)?
            } else {
                print_status(&status, &mut context.output)?
            }
            if status.index_damage.is_some() {
                return Ok(Exit::Failure);
            }
        }
        Action::Rebuild { from, json } => {
            let done = store::rebuild(places, from.as_deref())?;
            print_done(&done, *json, &mut context.output)?;
        }
        Action::Backup { json } => {
            let done = store::back_up(places)?;
            print_done(&done, *json, &mut context.output)?;
        }
        Action::Purge { id, json } => {
            let done = store::purge(places, id)?;
            print_done(&done, *json, &mut context.output)?;
        }
    }
    Ok(Exit::Ok)
}

fn print_status(status: &Status, output: &mut Output) -> anyhow::Result<()> {
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
        output
            .line(&format!("index is damaged ({}); to repair it: verify-run store rebuild", text::one_line(damage)))?;
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
    for standing in &snapshots.work_trees {
        if let Some(why) = &standing.skipped {
            let root = standing.root.display();
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

fn print_done(done: &Done, json: bool, output: &mut Output) -> anyhow::Result<()> {
    if json {
        return output.json(done);
    }
    done.done.iter().try_for_each(|line| output.line(line))
}
