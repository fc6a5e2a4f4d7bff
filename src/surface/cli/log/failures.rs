//! `verify-run log --failures`.

use super::ID_CHARACTERS;
use crate::base::clock::UtcDay;
use crate::base::text::{count, prefix};
use crate::ops::board::BoardFilter;
use crate::ops::board::failures::{FailureLine, FailureLines, FailureQuery, list_failures};
use crate::store::{FailureScope, SumFilter};
use crate::surface::cli::filter::{check_days, day};
use crate::surface::cli::output::{TableCell, Tone};
use crate::surface::cli::{CommandContext, Exit, Output};

/// Which failures to list
#[derive(Debug, clap::Args)]
pub(super) struct FailureArgs {
    /// List failures instead of runs
    #[arg(long, conflicts_with_all = ["failed", "passed", "since"])]
    failures: bool,
    /// Only failures that nothing resolved yet
    #[arg(long, requires = "failures", conflicts_with = "not_counted")]
    open: bool,
    /// Only failures that no rate counts: cancelled runs and proven flakes
    #[arg(long, requires = "failures")]
    not_counted: bool,
    /// Only failures from this day on, in UTC: a date (`2026-11-01`), an age (`30d`) or `today`
    #[arg(long, requires = "failures", value_name = "DAY", value_parser = day)]
    from: Option<UtcDay>,
    /// Only failures up to this day, in UTC
    #[arg(long, requires = "failures", value_name = "DAY", value_parser = day)]
    to: Option<UtcDay>,
    /// Only failures of this category
    #[arg(long, requires = "failures")]
    category: Option<String>,
    /// Only failures of this agent
    #[arg(long, requires = "failures", value_name = "NAME")]
    agent: Option<String>,
    /// Only failures in this task
    #[arg(long, requires = "failures")]
    task: Option<String>,
    /// Only failures with this pattern, by its id or a unique prefix of it
    #[arg(long, requires = "failures", value_name = "ID")]
    pattern: Option<String>,
    /// Only failures in this file or folder
    #[arg(long, requires = "failures", value_name = "PATH")]
    file: Option<String>,
    /// Only failures whose first message or command has this text
    #[arg(long, requires = "failures")]
    text: Option<String>,
    /// Continue after this page: its `next`
    #[arg(long, requires = "failures", value_name = "CURSOR")]
    after: Option<String>,
}

impl FailureArgs {
    /// Whether failures are to be listed.
    pub(super) fn is_asked(&self) -> bool {
        self.failures
    }

    fn query(&self, tool: Option<String>) -> anyhow::Result<FailureQuery> {
        let whom = SumFilter { category: self.category.clone(), agent: self.agent.clone(), tool };
        let scope = match () {
            () if self.open => FailureScope::Open,
            () if self.not_counted => FailureScope::Uncounted,
            () => FailureScope::Counted,
        };
        Ok(FailureQuery {
            filter: check_days(BoardFilter { from: self.from, to: self.to, whom })?,
            scope,
            task: self.task.clone(),
            pattern: self.pattern.clone(),
            file: self.file.as_ref().map(|path| path.trim_start_matches("./").trim_end_matches('/').to_owned()),
            text: self.text.clone(),
        })
    }
}

/// Lists failures.
pub(super) fn run(args: &super::Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let query = args.failures.query(args.tool.clone())?;
    let lines = list_failures(&context.request, &query, args.failures.after.as_deref(), args.limit)?;
    context.output.reply(&lines, args.json, |lines, output| {
        output.use_pager(args.paging.pager);
        print(lines, output)
    })?;
    Ok(Exit::Ok)
}

fn print(lines: &FailureLines, output: &mut Output) -> anyhow::Result<()> {
    if lines.failures.is_empty() && lines.next.is_none() {
        output.note("no recorded failure matches");
        return Ok(());
    }
    let shown = count(lines.failures.len(), "failure");
    output.list_title(&match lines.total {
        Some(total) if total > lines.failures.len() as u64 => format!("{shown} of {total}"),
        _ => shown,
    })?;
    let rows: Vec<Vec<TableCell>> = lines.failures.iter().map(|line| row(line, output)).collect();
    output.table(&["id", "when", "state", "category", "task", "pattern", "message"], &rows)?;
    if let Some(next) = &lines.next {
        output.note(&format!("more: add --after {next}"));
    }
    Ok(())
}

fn row(line: &FailureLine, output: &Output) -> Vec<TableCell> {
    let failure = &line.failure;
    let state = match (&line.not_counted, &failure.fix, failure.open) {
        (Some(why), _, _) => TableCell::new(Tone::Faint, why.as_str()),
        (None, _, true) => TableCell::new(Tone::Bad, "open"),
        (None, Some(fix), false) => TableCell::new(Tone::Good, fix.as_str()),
        (None, None, false) => TableCell::new(Tone::Good, "gone"),
    };
    let id = failure.id.as_str();
    vec![
        TableCell::from(if output.terminal() { prefix(id, ID_CHARACTERS) } else { id }),
        TableCell::new(Tone::Faint, output.when(failure.at)),
        state,
        TableCell::from(output.word(&failure.category)),
        TableCell::from(failure.task.as_str()),
        TableCell::from(failure.patterns.first().map_or("", String::as_str)),
        TableCell::from(failure.summary.as_str()),
    ]
}
