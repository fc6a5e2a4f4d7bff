//! The first part of `verify-run stats`: what was recorded in some days.

use super::{percent, shown};
use crate::base::text::{count, one_line};
use crate::ops::board::figures::{BoardFigure, FigureUnit};
use crate::ops::board::overview::{CategoryShare, NotCounted, Overview};
use crate::ops::board::patterns::PatternLine;
use crate::surface::cli::Output;
use crate::surface::cli::output::{TableCell, Tone};

/// Prints the figures of some days, what is behind them, and what they leave out.
pub(super) fn print(overview: &Overview, output: &mut Output) -> anyhow::Result<()> {
    let period = &overview.period;
    let filter = &overview.filter;
    let chosen = [("category", &filter.category), ("agent", &filter.agent), ("tool", &filter.tool)];
    let chosen: String =
        chosen.iter().filter_map(|(name, value)| Some(format!(", {name} {}", one_line(value.as_deref()?)))).collect();
    output.title(&format!("{} to {}{chosen}", period.from, period.to))?;
    let rows: Vec<Vec<String>> = overview.figures.iter().map(figure_row).collect();
    output.table(&["figure", "value", "before", "change", "cases"], &rows)?;
    let not_counted = not_count(&overview.not_counted);
    if !not_counted.is_empty() {
        output.field("not counted", &not_counted)?;
    }
    if !overview.categories.is_empty() {
        output.title("Categories")?;
        let rows: Vec<Vec<String>> = overview.categories.iter().map(category_row).collect();
        output.table(&["category", "failures", "share", "tasks", "failures before"], &rows)?;
    }
    if !overview.patterns.is_empty() {
        output.title("Most frequent patterns")?;
        let rows: Vec<Vec<TableCell>> = overview.patterns.iter().map(|line| pattern_row(line, output)).collect();
        output.table(&["id", "failures", "tasks", "fixed", "prevented", "last seen", "severity", "pattern"], &rows)?;
    }
    Ok(())
}

/// Prints the figures of a page.
pub(super) fn print_figures(figures: &[BoardFigure], output: &mut Output) -> anyhow::Result<()> {
    if figures.is_empty() {
        return output.line("nothing is recorded here yet");
    }
    let rows: Vec<Vec<String>> =
        figures.iter().map(|figure| vec![figure.what.to_owned(), value_of(figure), figure.cases.to_string()]).collect();
    output.table(&["figure", "value", "cases"], &rows)
}

/// The value with its hits.
fn value_of(figure: &BoardFigure) -> String {
    let value = figure.value.map_or_else(|| "no case".to_owned(), |value| shown(value, figure.unit));
    match figure.hits.filter(|_| figure.cases > 0) {
        Some(hits) => format!("{value} ({hits} of {})", figure.cases),
        None => value,
    }
}

fn figure_row(figure: &BoardFigure) -> Vec<String> {
    let text = |value: f64| shown(value, figure.unit);
    let change = figure.change.map(|change| match figure.unit {
        FigureUnit::Share => format!("{:+.0} points", change * 100.0),
        _ => format!("{}{}", if change > 0.0 { "+" } else { "" }, text(change)),
    });
    vec![
        figure.what.to_owned(),
        value_of(figure),
        figure.previous.map(text).unwrap_or_default(),
        change.unwrap_or_default(),
        figure.cases.to_string(),
    ]
}

fn category_row(share: &CategoryShare) -> Vec<String> {
    vec![
        one_line(&share.category),
        share.failures.to_string(),
        percent(share.share),
        share.tasks.to_string(),
        share.previous_failures.to_string(),
    ]
}

fn pattern_row(line: &PatternLine, output: &Output) -> Vec<TableCell> {
    let of = |part: u64, whole: u64| if whole == 0 { String::new() } else { format!("{part} of {whole}") };
    vec![
        TableCell::from(line.id.as_str()),
        TableCell::from(line.failures_in_filter.unwrap_or(line.failures).to_string()),
        TableCell::from(line.tasks.to_string()),
        TableCell::from(of(line.fixed, line.fixes_tried)),
        TableCell::from(of(line.prevented, line.prevented + line.failed_anyway)),
        TableCell::new(Tone::Faint, output.when(line.last_seen)),
        severity_cell(line),
        TableCell::from(line.name.as_str()),
    ]
}

/// The severity of a pattern, or its state.
pub(in crate::surface::cli) fn severity_cell(line: &PatternLine) -> TableCell {
    use crate::ops::board::severity::PatternSeverity::{Critical, High, Low, Medium};
    match line.severity {
        Some(severity @ Critical) => TableCell::new(Tone::Bad, severity.as_str()),
        Some(severity @ (High | Medium)) => TableCell::from(severity.as_str()),
        Some(severity @ Low) => TableCell::new(Tone::Faint, severity.as_str()),
        None => TableCell::new(Tone::Faint, line.state.as_str()),
    }
}

fn not_count(counts: &NotCounted) -> String {
    let NotCounted { cancelled, flaky_failures, flaky_patterns, weakened } = *counts;
    let mut parts = Vec::new();
    if flaky_failures > 0 {
        parts.push(format!("{} of {}", count(flaky_failures, "failure"), count(flaky_patterns, "proven flake")));
    }
    if weakened > 0 {
        let passes = if weakened == 1 { "pass" } else { "passes" };
        parts.push(format!("{weakened} {passes} with a weakened check"));
    }
    if cancelled > 0 {
        parts.push(count(cancelled, "cancelled run"));
    }
    parts.join(", ")
}
