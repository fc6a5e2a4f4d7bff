//! `verify-run doctor`.

use super::{CommandContext, Exit, Output};
use crate::base::text::one_line;
use crate::checkup::{CheckDepth, CheckStatus};
use crate::ops::doctor::{self, DoctorReport};

/// Check the installation and every host
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let reply = doctor::diagnose_installation(&context.request, CheckDepth::Whole);
    context.output.reply(&reply, args.json, print)?;
    Ok(if reply.data.has_problems() { Exit::Failure } else { Exit::Ok })
}

fn print(report: &DoctorReport, output: &mut Output) -> anyhow::Result<()> {
    let root = report.root.display();
    output.line(&one_line(&format!("verify-run {} ({}) in {root}", report.version, report.platform)))?;
    for finding in &report.findings {
        let mark = match finding.status {
            CheckStatus::Ok => "ok     ",
            CheckStatus::Warning => "warning",
            CheckStatus::Problem => "problem",
        };
        let line = finding.line.map_or_else(String::new, |line| format!(":{line}"));
        let place = finding.file.as_ref().map_or_else(String::new, |file| format!(" [{}{line}]", file.display()));
        output.line(&one_line(&format!("{mark}  {}: {}{place}", finding.name, finding.message)))?;
        if let Some(hint) = &finding.hint {
            output.line(&format!("         hint: {}", one_line(hint)))?;
        }
    }
    Ok(())
}
