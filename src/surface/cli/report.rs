//! `verify-run report`.

use super::{CommandContext, Exit};
use crate::ops::report::{self, Format};

/// Export a run as SARIF, JUnit, GitLab, GitHub or Checkstyle
///
/// The document goes to standard output. Paths are relative to the project's root. The exit code is 0 whether or not
/// that run failed; `verify-run last --exit-code` tells that.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The format
    #[arg(long, value_enum)]
    format: FormatChoice,
    /// The run: its id, or that of its failure or lesson, or the start of one. The last one of this project by default
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
    let (subject, notes) = report::find(&context.places, args.run.as_deref())?;
    notes.iter().for_each(|note| context.output.note(note));
    let Some(subject) = subject else {
        anyhow::bail!("no run is recorded for {}; run one: verify-run COMMAND", context.places.root.display())
    };
    let format = match args.format {
        FormatChoice::Sarif => Format::Sarif,
        FormatChoice::Junit => Format::Junit,
        FormatChoice::Gitlab => Format::Gitlab,
        FormatChoice::Github => Format::Github,
        FormatChoice::Checkstyle => Format::Checkstyle,
    };
    let rendered = report::render(&[subject], format);
    rendered.notes.iter().for_each(|note| context.output.note(note));
    context.output.text(&rendered.text)?;
    Ok(Exit::Ok)
}
