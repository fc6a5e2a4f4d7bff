//! `verify-run gate isolate`.

use std::ffi::OsString;
use std::time::Duration;

use crate::lab::{CommandOutcome, LabLevel, LabLimit};
use crate::ops::gate::{self, IsolatedCommand};
use crate::surface::cli::{CommandContext, Exit};

/// Run a command on a copy of the work tree, without effects outside
///
/// The command sees the project at its own path, the system and the tools, and nothing else: a fresh home folder, a fresh
/// /tmp, no network but its own loopback device, no credentials. Installed packages and build caches of the project are
/// there; what is written to them is thrown away. Nothing is recorded. docs/concepts/lab.md says what is isolated.
///
/// Exit codes: that of the command, 128 and the signal that ended it, 124 if a limit ended it, 2 if it was not started.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Weakest walls to accept: namespaces, landlock or none
    #[arg(long, value_name = "LEVEL", default_value = "namespaces", value_parser = parse_level)]
    level: LabLevel,
    /// Git tree to run it on (default: the work tree as it is)
    #[arg(long, value_name = "TREE")]
    tree: Option<String>,
    /// Seconds that it may take (default: the setting gate.command_minutes)
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Print on standard error how long the way in took, and the run
    #[arg(long)]
    times: bool,
    /// Command to run
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

fn parse_level(name: &str) -> Result<LabLevel, String> {
    LabLevel::from_name(name).ok_or_else(|| {
        let names = LabLevel::ALL.map(LabLevel::as_str).join(", ");
        format!("use one of {names}")
    })
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    /// What coreutils' `timeout` exits with.
    const ENDED: u8 = 124;
    let command = IsolatedCommand {
        argv: args.command.clone(),
        level: args.level,
        tree: args.tree.clone(),
        time: args.seconds.map(Duration::from_secs),
    };
    let (run, limits) = gate::run_isolated(&context.request, &command)?;
    if args.times {
        let (entered, took) = (run.entered.as_secs_f64() * 1_000.0, run.took.as_secs_f64() * 1_000.0);
        context.output.note(&format!("verify-run: entered in {entered:.1} ms, took {took:.1} ms"));
    }
    if let Some(limit) = run.stopped_by {
        let why = match limit {
            LabLimit::Time => format!("it was ended after {} s", run.took.as_secs()),
            limit => limits.explain_end(limit),
        };
        context.output.note(&format!("verify-run: {why}"));
        return Ok(Exit::Answer(ENDED));
    }
    let code = match run.outcome {
        CommandOutcome::Exited(code) => code,
        CommandOutcome::Killed(signal) => 128 + signal,
    };
    Ok(Exit::Answer(u8::try_from(code).unwrap_or(u8::MAX)))
}
