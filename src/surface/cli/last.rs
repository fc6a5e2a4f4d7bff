//! `verify-run last`.

use super::output::{StyledText, Tone};
use super::{CommandContext, Exit, Output, PagingArgs};
use crate::base::refusal::Refusal;
use crate::base::text;
use crate::diagnose::coloured::without_colours;
use crate::ops::last::{self, LastRun};
use crate::ops::reply::Reply;
use crate::run::CommandEnd;

/// Changed files that are named.
const FILES_MAX: usize = 10;

/// Show how the last check here ended
///
/// With --exit-code nothing is printed, and the exit code is the recorded one. After `verify-run npm test | tail` that
/// is the real result: the shell only knows the status of `tail`.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long, conflicts_with = "exit_code")]
    json: bool,
    /// Print nothing and exit with the recorded exit code
    #[arg(long)]
    exit_code: bool,
    /// Print the output of a failed run, with its colours on a terminal
    #[arg(long, conflicts_with_all = ["json", "exit_code"])]
    output: bool,
    #[command(flatten)]
    paging: PagingArgs,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let Some(last) = last::last_run(&context.request)? else {
        let message = format!("no run is recorded for {}", context.request.places.root.display());
        anyhow::bail!(Refusal::not_found(message).then_run("COMMAND"))
    };
    if args.exit_code {
        return Ok(Exit::Answer(u8::try_from(last.data.exit_code).unwrap_or(u8::MAX)));
    }
    show_run(&last, (args.output, args.json), args.paging.pager, context)
}

/// Prints a run: its output, the JSON document, or what it was, as the two flags say.
pub(super) fn show_run(
    run: &Reply<LastRun>,
    (output, json): (bool, bool),
    pager: bool,
    context: &mut CommandContext,
) -> anyhow::Result<Exit> {
    // A pager takes over the screen: notes come before it.
    context.output.notes(&run.notes);
    context.output.use_pager(pager);
    if output {
        print_output(&run.data, context)?;
    } else if json {
        context.output.json(run)?;
    } else {
        print(&run.data, &mut context.output)?;
    }
    Ok(Exit::Ok)
}

/// Prints what a run printed, as far as it is kept.
fn print_output(last: &LastRun, context: &mut CommandContext) -> anyhow::Result<()> {
    let output = last::kept_output(&context.request.places, last)?;
    context.output.text(&if context.output.colour() { output } else { without_colours(&output) })
}

fn print(last: &LastRun, output: &mut Output) -> anyhow::Result<()> {
    let command = shell_words::join(last.argv.iter().map(|arg| arg.display()));
    let (tone, result) = match last.ended {
        CommandEnd::Exit(0) => (Tone::Good, "passed".to_owned()),
        CommandEnd::Exit(code) => (Tone::Bad, format!("failed with exit code {code}")),
        CommandEnd::Signal(signal) => (Tone::Bad, format!("was ended by signal {signal}")),
    };
    let seconds = std::time::Duration::from_micros(last.duration_us).as_secs_f64();
    let when = output.when(last.ended_at);
    output.spans(&[
        StyledText::new(Tone::Title, text::one_line(&command)),
        StyledText::plain(" "),
        StyledText::new(tone, result),
        StyledText::plain(format!(", {when} ({seconds:.1} s)")),
    ])?;
    if let (Some(category), Some(summary)) = (&last.category, &last.summary) {
        let category = output.word(category);
        output.field(&category, summary)?;
    }
    if !last.files.is_empty() {
        output.field("files", &first_files(&last.files, last.files.len() as u64))?;
    }
    if let Some(changed) = last.changed.as_ref().filter(|changed| changed.count > 0) {
        let shown = first_files(&changed.files, changed.count);
        let since = if changed.since == "pass" { "it last passed" } else { "the commit" };
        output.field(&format!("changed since {since}"), &shown)?;
    }
    if let Some(file) = &last.lesson_file {
        output.field("lesson", file)?;
    }
    if !last.recorded {
        output.line("not recorded yet")?;
    }
    Ok(())
}

/// The first of `count` files, and how many more there are.
fn first_files(files: &[String], count: u64) -> String {
    let shown: Vec<String> = files.iter().take(FILES_MAX).map(|file| text::one_line(file)).collect();
    let more = count.saturating_sub(shown.len() as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
