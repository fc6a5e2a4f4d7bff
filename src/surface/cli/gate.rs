//! `verify-run gate`.

mod receipt;

use super::{CommandContext, Exit};

/// Show what checks proved, and reuse it
///
/// A receipt says that a check passed on exactly this tree, with these programs, variables and dependencies.
/// `verify-run --reuse COMMAND` leaves receipts and uses them.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: GateAction,
}

#[derive(Debug, clap::Subcommand)]
enum GateAction {
    Receipt(receipt::Args),
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    match &args.action {
        GateAction::Receipt(args) => receipt::run(args, context),
    }
}
