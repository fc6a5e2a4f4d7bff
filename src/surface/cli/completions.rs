//! `verify-run completions`.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Cli, Context, Exit};

/// Print the completion script for a shell
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "verify-run", &mut script);
    context.output.text(&String::from_utf8(script)?)?;
    Ok(Exit::Ok)
}
