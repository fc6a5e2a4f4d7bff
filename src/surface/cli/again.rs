//! `verify-run again`.

use super::{CommandContext, Exit, run};
use crate::base::text::one_line;
use crate::ops::again;

/// Run the last check again
///
/// Runs the last recorded command of this project again, in its folder, under verify-run. With --failed it runs only
/// the tests that failed: by node id (pytest), by title (vitest, jest) or by name (cargo test, cargo nextest, go test).
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Run only the tests that failed
    #[arg(long)]
    failed: bool,
    /// Print the command instead of running it
    #[arg(long)]
    print: bool,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let command = again::again_command(&context.request, args.failed)?;
    let line = shell_words::join(command.argv.iter().map(|word| word.to_string_lossy()));
    if args.print {
        context.output.line(&one_line(&line))?;
        return Ok(Exit::Ok);
    }
    context.output.note(&one_line(&line));
    enter(&command.dir)?;
    let code = run::start(["--".into()].into_iter().chain(command.argv).collect());
    Ok(Exit::Answer(u8::try_from(code).unwrap_or(u8::MAX)))
}

#[allow(clippy::disallowed_methods, reason = "the command is to inherit the folder that it ran in before")]
fn enter(dir: &std::path::Path) -> anyhow::Result<()> {
    std::env::set_current_dir(dir).map_err(|error| anyhow::anyhow!("cannot enter {}: {error}", dir.display()))
}
