//! `verify-run stats`.

use super::{CommandContext, Exit};
use crate::base::text;
use crate::config::Settings;
use crate::ops::stats::{self, FigureUnit, PromotionCounts, StatsFigure};
use crate::retrieval::effect::DeliveryOutcomeCounts;

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
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let settings = Settings::load(&context.places, &context.environment).0;
    let stats = stats::collect_stats(&context.places, &settings)?;
    stats.notes.iter().for_each(|note| context.output.note(note));
    if args.json {
        context.output.json(&stats)?;
        return Ok(Exit::Ok);
    }
    let rows: Vec<Vec<String>> = stats.figures.iter().map(row).collect();
    if rows.is_empty() {
        context.output.line("nothing was recorded here yet")?;
        return Ok(Exit::Ok);
    }
    context.output.table(&["figure", "measured", "before", "target", "cases"], &rows)?;
    let warnings = &stats.warnings;
    let missed = warnings.missed_opportunities;
    context.output.line(&format!("{}; {missed} missed", counted(&warnings.all)))?;
    if warnings.from_entries.shown + warnings.from_entries.held_out > 0 {
        let (counted, unknown) = (counted(&warnings.from_entries), warnings.not_measurable);
        context.output.line(&format!("of these from entries: {counted}; {unknown} not measurable"))?;
    }
    let knowledge = &stats.knowledge;
    if knowledge.entries > 0 {
        context.output.line(&format!(
            "{} of {} entries helped somebody else, {}: about {} tokens saved (an estimate)",
            knowledge.reused,
            knowledge.entries,
            text::count(knowledge.uses, "time"),
            knowledge.tokens_saved_estimate
        ))?;
    }
    let PromotionCounts { promoted, waiting, rejected, retired } = &stats.promotions;
    context.output.line(&format!(
        "{} promoted, {waiting} waiting, {rejected} rejected, {retired} retired",
        text::count(*promoted, "line")
    ))?;
    context.output.line(&stats.effect.words)?;
    if let Some(lift) = stats.effect.lift {
        context.output.line(&format!(
            "lift {} (95 % interval {} to {}), evidence {:.1} (20 is enough)",
            percent(lift.value),
            percent(lift.low),
            percent(lift.high),
            stats.effect.e_value
        ))?;
    }
    if !stats.warnings.harmful.is_empty() {
        let harmful = stats.warnings.harmful.join(", ");
        context.output.line(&format!("not warned of any more, because warned tasks made it more often: {harmful}"))?;
    }
    for ignored in &stats.warnings.ignored {
        let task = text::one_line(&ignored.task);
        context.output.line(&format!("shown in vain: {} in task {task}, run {}", ignored.warning, ignored.run))?;
    }
    Ok(Exit::Ok)
}

fn counted(became: &DeliveryOutcomeCounts) -> String {
    format!(
        "{} shown, {} held out: {} prevented, {} failed anyway, {} without an opportunity, {} incomplete, {} open",
        text::count(became.shown, "warning"),
        became.held_out,
        became.prevented,
        became.failed_anyway,
        became.no_opportunity,
        became.task_incomplete,
        became.open
    )
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
        figure.value.map_or_else(|| "too little to say".to_owned(), shown),
        before.unwrap_or_default(),
        shown(figure.target),
        figure.cases.to_string(),
    ]
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
