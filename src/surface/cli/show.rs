//! `verify-run show`.

use super::{CommandContext, Exit, last};

/// Show a recorded run
///
/// With --json the document of `verify-run last --json`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, or that of its failure or lesson, or the start of one
    #[arg(value_name = "RUN")]
    run: String,
    /// Print its kept output
    #[arg(long, conflicts_with = "json")]
    output: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let (run, notes) = crate::ops::last::of(&context.places, &context.environment, &args.run)?;
    notes.iter().for_each(|note| context.output.note(note));
    if args.output {
        last::print_output(&run, context)?;
    } else if args.json {
        context.output.json(&run)?;
    } else {
        last::print(&run, &mut context.output)?;
    }
    Ok(Exit::Ok)
}
