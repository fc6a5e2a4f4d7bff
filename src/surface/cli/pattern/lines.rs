//! `verify-run pattern list` with an order or a filter.

use crate::base::text::count;
use crate::ops::board::patterns::{
    PatternLine, PatternLines, PatternOrder, PatternQuery, PatternScope, page_of_patterns,
};
use crate::surface::cli::filter::FilterArgs;
use crate::surface::cli::output::{TableCell, Tone};
use crate::surface::cli::stats::severity_cell;
use crate::surface::cli::{CommandContext, Output};

/// In which order, and which patterns
#[derive(Debug, clap::Args)]
#[group(id = "LineArgs", multiple = true)]
pub(super) struct Args {
    /// Order of the list
    #[arg(long, value_parser = ["trending", "tasks", "failures", "last-seen", "confidence", "least-effective"])]
    order: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
    /// Only patterns that failed in this file or folder
    #[arg(long, value_name = "PATH")]
    file: Option<String>,
    /// Only patterns whose message has these words
    #[arg(long, value_name = "WORDS")]
    text: Option<String>,
    /// Only muted, deprecated and promoted patterns
    #[arg(long, conflicts_with = "all")]
    silenced: bool,
    /// Continue after this page: its `next`
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
}

/// A list that was asked for.
pub(super) struct AskedList {
    query: PatternQuery,
    after: Option<String>,
}

impl Args {
    /// Whether an order, a filter or a further page was asked for.
    pub(super) fn is_asked(&self) -> bool {
        let Args { order, filter, file, text, silenced, after } = self;
        *silenced || filter.is_given() || [order, file, text, after].into_iter().any(Option::is_some)
    }

    /// The list that is asked for.
    ///
    /// # Errors
    /// When the last day comes before the first.
    pub(super) fn query(&self, recurring: bool, all: bool) -> anyhow::Result<AskedList> {
        let query = PatternQuery {
            filter: self.filter.filter()?,
            scope: match () {
                () if self.silenced => PatternScope::Silenced,
                () if all => PatternScope::All,
                () => PatternScope::Open,
            },
            recurring,
            text: self.text.clone(),
            file: self.file.as_ref().map(|path| path.trim_start_matches("./").trim_end_matches('/').to_owned()),
            order: self.order.as_deref().and_then(PatternOrder::from_word).unwrap_or_default(),
        };
        Ok(AskedList { query, after: self.after.clone() })
    }
}

/// Lists patterns.
pub(super) fn run(asked: &AskedList, (limit, json): (usize, bool), context: &mut CommandContext) -> anyhow::Result<()> {
    let lines = page_of_patterns(&context.request, &asked.query, asked.after.as_deref(), limit)?;
    context.output.reply(&lines, json, print)
}

fn print(lines: &PatternLines, output: &mut Output) -> anyhow::Result<()> {
    if lines.patterns.is_empty() && lines.next.is_none() {
        output.note("no recorded pattern matches");
        return Ok(());
    }
    let shown = count(lines.patterns.len(), "pattern");
    output.list_title(&match lines.total {
        Some(total) if total > lines.patterns.len() as u64 => format!("{shown} of {total}"),
        _ => shown,
    })?;
    let row = |line: &PatternLine| {
        let of = |part: u64, whole: u64| if whole == 0 { String::new() } else { format!("{part} of {whole}") };
        vec![
            TableCell::from(line.id.as_str()),
            severity_cell(line),
            TableCell::from(line.failures_in_filter.unwrap_or(line.failures).to_string()),
            TableCell::from(line.tasks.to_string()),
            TableCell::new(Tone::Faint, output.when(line.last_seen)),
            TableCell::from(format!("{:.2}", line.confidence)),
            TableCell::from(of(line.fixed, line.fixes_tried)),
            TableCell::from(of(line.prevented, line.prevented + line.failed_anyway)),
            TableCell::from(line.name.as_str()),
        ]
    };
    let rows: Vec<Vec<TableCell>> = lines.patterns.iter().map(row).collect();
    let header = ["id", "severity", "failures", "tasks", "last seen", "confidence", "fixed", "prevented", "pattern"];
    output.table(&header, &rows)?;
    if let Some(next) = &lines.next {
        output.note(&format!("more: add --after {next}"));
    }
    Ok(())
}
