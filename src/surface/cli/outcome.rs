//! `verify-run outcome`.

use super::{CommandContext, Exit};
use crate::ops::outcome;

/// Report whether a warning was useful
///
/// verify-run determines automatically whether a warning prevented a failure, from the runs that follow.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: OutcomeAction,
}

#[derive(Debug, clap::Subcommand)]
enum OutcomeAction {
    /// Acknowledge a warning and report whether it was useful
    Ack {
        /// Id of the warning, or a unique prefix of it
        id: String,
        /// It was useful
        #[arg(long, conflicts_with = "not_useful")]
        useful: bool,
        /// It was not useful
        #[arg(long)]
        not_useful: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let OutcomeAction::Ack { id, useful, not_useful, json } = &args.action;
    let said = if *useful { Some(true) } else { not_useful.then_some(false) };
    let found = outcome::acknowledge_warning(&context.request, id, said, None)?;
    context.output.reply(&found, *json, |found, output| {
        let word = match found.useful {
            Some(true) => "useful",
            Some(false) => "not useful",
            None => "seen",
        };
        output.line(&format!("{}\t{word}", found.warning))
    })?;
    Ok(Exit::Ok)
}
