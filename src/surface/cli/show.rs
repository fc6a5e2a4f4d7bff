//! `verify-run show`.

use super::{CommandContext, Exit, PagingArgs, last};

/// Show a recorded run
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Id of the run, or of its failure or lesson, or a unique prefix
    #[arg(value_name = "RUN")]
    run: String,
    /// Print the recorded output
    #[arg(long, conflicts_with = "json")]
    output: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    paging: PagingArgs,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let (run, notes) = crate::ops::last::run_by_id(&context.request, &args.run)?;
    notes.iter().for_each(|note| context.output.note(note));
    context.output.use_pager(args.paging.pager);
    if args.output {
        last::print_output(&run, context)?;
    } else if args.json {
        context.output.json(&run)?;
    } else {
        last::print(&run, &mut context.output)?;
    }
    Ok(Exit::Ok)
}
