//! `verify-run stats`.

use super::{CommandContext, Exit, Output, PagingArgs};
use crate::base::text;
use crate::ops::stats::{self, FigureUnit, PromotionCounts, Stats, StatsFigure};
use crate::retrieval::effect::{AdviceEffect, DeliveryOutcomeCounts};

/// Show trends, targets and the effect of warnings
///
/// Trends compare the first 30 days of the history with the last 30, or its halves if it is shorter. With fewer than 20
/// cases in a period no trend is shown.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    paging: PagingArgs,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let stats = stats::collect_stats(&context.request)?;
    context.output.reply(&stats, args.json, |stats, output| print(stats, args.paging.pager, output))?;
    Ok(Exit::Ok)
}

fn print(stats: &Stats, pager: bool, output: &mut Output) -> anyhow::Result<()> {
    let rows: Vec<Vec<String>> = stats.figures.iter().map(row).collect();
    if rows.is_empty() {
        output.line("nothing is recorded here yet")?;
        return Ok(());
    }
    output.use_pager(pager);
    output.table(&["figure", "measured", "before", "target", "cases"], &rows)?;
    print_counts(stats, output)?;
    print_effect(&stats.effect, output)?;
    if !stats.warnings.harmful.is_empty() {
        let harmful = stats.warnings.harmful.join(", ");
        output.field("no more warnings, because warned tasks made the mistake more often", &harmful)?;
    }
    for ignored in &stats.warnings.ignored {
        let (when, task) = (output.when(ignored.at), text::one_line(&ignored.task));
        let value = format!("{}, {when}, in task {task}, run {}", ignored.warning, ignored.run);
        output.field("ignored warning", &value)?;
    }
    Ok(())
}

/// What there is none of is left out.
fn print_counts(stats: &Stats, output: &mut Output) -> anyhow::Result<()> {
    let warnings = &stats.warnings;
    output.field("warnings", &outcomes(&warnings.all, 0))?;
    if warnings.from_entries.shown + warnings.from_entries.held_out > 0 {
        output.field("warnings from entries", &outcomes(&warnings.from_entries, warnings.not_measurable))?;
    }
    if warnings.missed_opportunities > 0 {
        output.field("known mistakes repeated without a warning", &warnings.missed_opportunities.to_string())?;
    }
    let knowledge = &stats.knowledge;
    if knowledge.uses > 0 {
        let (uses, tokens) = (text::times(knowledge.uses), knowledge.tokens_saved_estimate);
        let reused = format!("{} of {} entries helped in another session, {uses}", knowledge.reused, knowledge.entries);
        output.field("knowledge", &format!("{reused}; about {tokens} tokens saved (estimate)"))?;
    }
    let PromotionCounts { promoted, waiting, rejected, retired } = stats.promotions;
    let lines = counted(&[(promoted, "promoted"), (waiting, "waiting"), (rejected, "rejected"), (retired, "retired")]);
    if !lines.is_empty() {
        output.field("lines for CLAUDE.md and AGENTS.md", &lines)?;
    }
    Ok(())
}

fn print_effect(effect: &AdviceEffect, output: &mut Output) -> anyhow::Result<()> {
    if effect.trial.shown.exposures + effect.trial.held_out.exposures == 0 {
        return output.field("effect of warnings", "not measured yet");
    }
    output.field("effect of warnings", &effect.words)?;
    let Some(lift) = effect.lift else { return Ok(()) };
    let (value, low, high) = (percent(lift.value), percent(lift.low), percent(lift.high));
    let lift = format!("{value} (95 % interval {low} to {high}), evidence {:.1} (20 is enough)", effect.e_value);
    output.field("mistakes avoided", &lift)
}

fn outcomes(became: &DeliveryOutcomeCounts, not_measurable: u64) -> String {
    if became.shown + became.held_out == 0 {
        return "none shown yet".to_owned();
    }
    let outcomes = counted(&[
        (became.prevented, "prevented"),
        (became.failed_anyway, "failed anyway"),
        (became.no_opportunity, "without an opportunity"),
        (became.task_incomplete, "incomplete"),
        (became.open, "open"),
        (not_measurable, "not measurable"),
    ]);
    let colon = if outcomes.is_empty() { "" } else { ": " };
    format!("{} shown, {} held out{colon}{outcomes}", became.shown, became.held_out)
}

/// `1 prevented, 2 open`: what is not zero.
fn counted(counts: &[(u64, &str)]) -> String {
    let counts = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    counts.collect::<Vec<_>>().join(", ")
}

fn row(figure: &StatsFigure) -> Vec<String> {
    let shown = |value: f64| match figure.unit {
        FigureUnit::Share => percent(value),
        FigureUnit::Number => format!("{value:.1}"),
        FigureUnit::Change => format!("{}{}", if value > 0.0 { "+" } else { "" }, percent(value)),
    };
    let before = figure.before.map(|before| match figure.unit {
        FigureUnit::Number => format!("{before:.1}"),
        FigureUnit::Share | FigureUnit::Change => percent(before),
    });
    vec![
        figure.what.to_owned(),
        figure.value.map_or_else(|| "too few cases".to_owned(), shown),
        before.unwrap_or_default(),
        shown(figure.target),
        figure.cases.to_string(),
    ]
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
