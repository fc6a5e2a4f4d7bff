//! `verify-run stats`.

mod overview;

pub(super) use overview::severity_cell;

use super::filter::FilterArgs;
use super::{CommandContext, Exit, Output, PagingArgs};
use crate::base::text;
use crate::ops::board::figures::FigureUnit;
use crate::ops::board::page_figures::FigurePage;
use crate::ops::stats::{self, PromotionCounts, Stats, StatsFigure};
use crate::retrieval::effect::{AdviceEffect, DeliveryOutcomeCounts};

/// Show figures, trends, targets and the effect of warnings
///
/// Figures are about the last 30 days, or the days that you choose, and are compared with as many days before. Cancelled
/// runs, proven flakes and passes that weakened their check are in no rate; they are listed as not counted.
///
/// Trends compare the first 30 days of the history, or of the days that you choose, with the last 30; with fewer than 60
/// days the first half of the cases with the last. With fewer than 20 cases on a side no change is shown.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    filter: FilterArgs,
    /// Figures of a page of the dashboard: `effect`, `gate`, `library`, or the id of a pattern
    #[arg(long)]
    page: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    paging: PagingArgs,
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    if let Some(page) = &args.page {
        let page = FigurePage::from_word(page);
        let list = stats::list_page_figures(&context.request, &page, &args.filter.filter()?)?;
        context.output.reply(&list, args.json, |list, output| overview::print_figures(&list.figures, output))?;
        return Ok(Exit::Ok);
    }
    let stats = stats::collect_stats(&context.request, &args.filter.filter()?)?;
    context.output.reply(&stats, args.json, |stats, output| print(stats, args.paging.pager, output))?;
    Ok(Exit::Ok)
}

fn print(stats: &Stats, pager: bool, output: &mut Output) -> anyhow::Result<()> {
    let Some(overview) = &stats.overview else {
        return output.line("nothing is recorded here yet");
    };
    output.use_pager(pager);
    overview::print(overview, output)?;
    output.title("Trends and targets")?;
    let rows: Vec<Vec<String>> = stats.figures.iter().map(row).collect();
    output.table(&["figure", "measured", "before", "target", "cases", "last 30 days"], &rows)?;
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
    // What changes is a share.
    let measured = if figure.unit == FigureUnit::Change { FigureUnit::Share } else { figure.unit };
    vec![
        figure.what.to_owned(),
        figure.value.map_or_else(|| "too few cases".to_owned(), |value| shown(value, figure.unit)),
        figure.before.map(|before| shown(before, measured)).unwrap_or_default(),
        shown(figure.target, figure.unit),
        figure.cases.to_string(),
        figure.now.map(|now| shown(now, measured)).unwrap_or_default(),
    ]
}

/// A figure's value as its unit has it.
fn shown(value: f64, unit: FigureUnit) -> String {
    match unit {
        FigureUnit::Share => percent(value),
        FigureUnit::Number => format!("{value:.1}"),
        FigureUnit::Count => format!("{value:.0}"),
        FigureUnit::Change => format!("{}{}", if value > 0.0 { "+" } else { "" }, percent(value)),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
