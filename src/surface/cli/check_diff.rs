//! `verify-run check-diff`.

use super::{CommandContext, Exit, Output};
use crate::base::text;
use crate::config::Settings;
use crate::fix::snapshot::Compared;
use crate::fix::weakened::{Mark, RuleSeverity};
use crate::ops::check_diff::{self, CheckDiffOptions, CheckDiffReport, Regression};

/// Find where a change weakens a check or reverts a fix
///
/// Weakened is a check by tests that are deleted or skipped, rules that are turned off, verdicts that no longer count.
/// Taken back is a fix when its lines go or those that it removed return; only fixes that held count (`fix list
/// --confirmed`). Compares the work tree with HEAD, with --staged what is about to be committed. Prints a line for each
/// place, `path:line: what it does [rule]: text`; the number of a deleted line is the one it had. Exit codes: 0 nothing
/// was found, 1 something was, 2 it could not be looked at.
///
/// JSON (--json): {"schema": 1, "weakened": [{"rule", "family", "language", "path", "line", "deleted", "text",
/// "message", "severity": "certain" or "likely"}], "regressions": [{"fix", "failure", "category", "summary", "standing",
/// "path", "line", "deleted", "text"}], "cut"}. What is empty, 0 or false in a mark is left out; "cut" counts what was
/// not read or not listed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = HOOK)]
pub(super) struct Args {
    /// What to look at, as `git diff` understands it: A..B, A...B, A^! (what A changed), A (the work tree against A)
    #[arg(value_name = "RANGE", conflicts_with = "staged")]
    range: Option<String>,
    /// Look at what is staged
    #[arg(long)]
    staged: bool,
    /// Leave out what is only likely to weaken a check
    #[arg(long)]
    certain: bool,
    /// Look only for checks that are weakened
    #[arg(long)]
    weakened_only: bool,
    /// Look only for fixes that are taken back
    #[arg(long, conflicts_with_all = ["weakened_only", "certain"])]
    regressions_only: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

const HOOK: &str = "\
As a hook that blocks for what it finds and never for trouble of its own, .git/hooks/pre-commit:

  #!/bin/sh
  verify-run check-diff --staged
  [ $? -ne 1 ]";

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    match check(args, context) {
        Ok(report) if report.is_clean() => Ok(Exit::Ok),
        Ok(_) => Ok(Exit::Failure),
        Err(error) => {
            context.output.error(&error);
            Ok(Exit::Usage)
        }
    }
}

fn check(args: &Args, context: &mut CommandContext) -> anyhow::Result<CheckDiffReport> {
    let compared = match &args.range {
        Some(range) => Compared::Range(range.clone()),
        None if args.staged => Compared::Index,
        None => Compared::WorkTree,
    };
    let settings = Settings::load(&context.places, &context.environment).0;
    let wanted =
        CheckDiffOptions { weakened: !args.regressions_only, certain: args.certain, regressions: !args.weakened_only };
    let report = check_diff::check_diff(&context.places, &settings, &compared, wanted)
        .map_err(|skipped| anyhow::anyhow!("cannot look at the change: {skipped}"))?;
    if report.cut > 0 {
        context.output.note(&format!("verify-run: {} left out (files, lines and marks beyond the limits)", report.cut));
    }
    report.notes.iter().for_each(|note| context.output.note(&format!("verify-run: {note}")));
    if args.json {
        context.output.json(&report)?;
    } else {
        report.weakened.iter().try_for_each(|mark| print_mark(mark, &mut context.output))?;
        report.regressions.iter().try_for_each(|it| print_regression(it, &mut context.output))?;
    }
    Ok(report)
}

fn print_mark(mark: &Mark, output: &mut Output) -> anyhow::Result<()> {
    let likely = if mark.severity == RuleSeverity::Likely { ", likely" } else { "" };
    let place = text::one_line(&mark.place());
    let message = text::one_line(&mark.message);
    output.line(&format!("{place}: {message} [{}{likely}]: {}", mark.rule, text::one_line(&mark.text)))
}

fn print_regression(regression: &Regression, output: &mut Output) -> anyhow::Result<()> {
    let place = format!("{}:{}", text::one_line(&regression.path), regression.line);
    let failure = match (&regression.failure, &regression.summary) {
        (Some(id), Some(summary)) => format!("{id}: {summary}"),
        (Some(id), None) => id.clone(),
        _ => "its failure is not in the store".to_owned(),
    };
    let (fix, why) = (&regression.fix, &regression.standing);
    output.line(&format!("{place}: takes back {fix} ({why}), which fixed {failure} [regression]: {}", regression.text))
}
