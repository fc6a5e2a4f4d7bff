//! `verify-run report`.

use super::{CommandContext, Exit};
use crate::base::refusal::Refusal;
use crate::ops::report::find_reported_run;
use crate::report::{ReportFormat, render_report};

/// Export a run as SARIF, JUnit, GitLab, GitHub or Checkstyle
///
/// Prints the document to standard output, with paths relative to the project's root. The exit code is 0 whether or not
/// the run failed; for the recorded one, see `verify-run last --exit-code`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Format of the report
    #[arg(long, value_enum)]
    format: FormatChoice,
    /// Id of the run, or of its failure or lesson, or a unique prefix (default: the last run of this project)
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum FormatChoice {
    /// SARIF 2.1.0
    Sarif,
    /// JUnit XML
    Junit,
    /// GitLab's code quality report
    Gitlab,
    /// GitHub's workflow commands: annotations of the step that prints them
    Github,
    /// Checkstyle's XML
    Checkstyle,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let (run, notes) = find_reported_run(&context.request, args.run.as_deref())?;
    notes.iter().for_each(|note| context.output.note(note));
    let Some(run) = run else {
        let message = format!("no run is recorded for {}", context.request.places.root.display());
        anyhow::bail!(Refusal::not_found(message).then_run("COMMAND"))
    };
    let format = match args.format {
        FormatChoice::Sarif => ReportFormat::Sarif,
        FormatChoice::Junit => ReportFormat::Junit,
        FormatChoice::Gitlab => ReportFormat::Gitlab,
        FormatChoice::Github => ReportFormat::Github,
        FormatChoice::Checkstyle => ReportFormat::Checkstyle,
    };
    let rendered = render_report(&[run], format);
    rendered.notes.iter().for_each(|note| context.output.note(note));
    context.output.text(&rendered.text)?;
    Ok(Exit::Ok)
}
