//! `verify-run man`.

use clap::CommandFactory;

use super::{Cli, Context, Exit};

/// Print the manual page (roff)
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    context.output.text(&String::from_utf8(page)?)?;
    Ok(Exit::Ok)
}
