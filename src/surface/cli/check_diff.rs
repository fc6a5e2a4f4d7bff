//! `verify-run check-diff`.

use anyhow::Context as _;

use super::{CommandContext, Exit, Output};
use crate::base::text;
use crate::fix::snapshot::DiffScope;
use crate::fix::weakened::{RuleSeverity, WeakenedCheck};
use crate::learn::library::ReintroducedChange;
use crate::ops::check_diff::{self, CheckDiffOptions, CheckDiffReport, Regression};
use crate::surface::failure::{FailureKind, FailureReport};

/// Find weakened checks, reverted fixes and deprecated patterns
///
/// A check is weakened when tests are deleted or skipped, when rules are turned off, or when a failing exit status no
/// longer counts. A fix is reverted when the lines that it added are removed, or those that it removed return; only
/// confirmed fixes count (`fix list --confirmed`). Without arguments the work tree is compared with HEAD; with
/// --staged, the staged changes are. Each finding is one line: `path:line: message [rule]: text`. The line number of a
/// deleted line is its old one. Exit codes: 0 nothing found, 1 something found, 2 no such range, 3 no git or no work tree.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
#[command(after_long_help = HOOK)]
pub(super) struct Args {
    /// Change to check, as for `git diff`: A..B, A...B, A^! (the commit A), A (the work tree against A)
    #[arg(value_name = "RANGE", conflicts_with = "staged")]
    range: Option<String>,
    /// Check the staged changes
    #[arg(long)]
    staged: bool,
    /// Leave out findings that are only likely
    #[arg(long)]
    certain: bool,
    /// Find only weakened checks
    #[arg(long)]
    weakened_only: bool,
    /// Find only reverted fixes and deprecated patterns
    #[arg(long, conflicts_with_all = ["weakened_only", "certain"])]
    regressions_only: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const HOOK: &str = "\
As a hook that blocks on findings and never on its own failure, .git/hooks/pre-commit:

  #!/bin/sh
  verify-run check-diff --staged
  [ $? -ne 1 ]";

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    match check(args, context) {
        Ok(report) if report.is_clean() => Ok(Exit::Ok),
        Ok(_) => Ok(Exit::Failure),
        Err(error) => {
            let report = FailureReport::new(&error);
            context.output.failure(&report);
            // Exit code 1 is for findings.
            Ok(if report.kind == FailureKind::Usage { Exit::Usage } else { Exit::Unreadable })
        }
    }
}

fn check(args: &Args, context: &mut CommandContext) -> anyhow::Result<CheckDiffReport> {
    let compared = match &args.range {
        Some(range) => DiffScope::Range(range.clone()),
        None if args.staged => DiffScope::Index,
        None => DiffScope::WorkTree,
    };
    let wanted =
        CheckDiffOptions { weakened: !args.regressions_only, certain: args.certain, regressions: !args.weakened_only };
    let mut reply = check_diff::check_diff(&context.request, &compared, wanted).context("cannot read the change")?;
    if reply.data.cut > 0 {
        let cut = format!("{} left out (files, lines and marks beyond the limits)", reply.data.cut);
        reply.notes.insert(0, cut);
    }
    reply.sign_notes();
    context.output.reply(&reply, args.json, print_report)?;
    Ok(reply.data)
}

fn print_report(report: &CheckDiffReport, output: &mut Output) -> anyhow::Result<()> {
    report.weakened.iter().try_for_each(|mark| print_mark(mark, output))?;
    report.regressions.iter().try_for_each(|it| print_regression(it, output))?;
    report.deprecated.iter().try_for_each(|it| print_deprecated(it, output))
}

fn print_deprecated(change: &ReintroducedChange, output: &mut Output) -> anyhow::Result<()> {
    let place = format!("{}:{}", text::one_line(&change.path), change.line);
    let why = change.reason.as_ref().map_or_else(String::new, |reason| format!(" ({})", text::one_line(reason)));
    let (page, said) = (&change.page, text::one_line(&change.text));
    output.line(&format!("{place}: brings back {page}, a deprecated pattern{why} [deprecated-pattern]: {said}"))
}

fn print_mark(mark: &WeakenedCheck, output: &mut Output) -> anyhow::Result<()> {
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
    let (fix, why) = (&regression.fix, &regression.status_reason);
    output.line(&format!("{place}: reverts {fix} ({why}), which fixed {failure} [regression]: {}", regression.text))
}
