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
    let run = crate::ops::last::run_by_id(&context.request, &args.run)?;
    last::show_run(&run, (args.output, args.json), args.paging.pager, context)
}
