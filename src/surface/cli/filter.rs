//! What figures and lists are restricted to, as options.

use std::collections::BTreeMap;

use crate::base::clock::{Timestamp, UtcDay};
use crate::base::refusal::Refusal;
use crate::ops::board::BoardFilter;
use crate::store::SumFilter;

/// Days, category, agent and tool
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct FilterArgs {
    /// First day, in UTC: a date (`2026-11-01`), an age (`30d`, `4w`) or `today`
    #[arg(long, value_name = "DAY", value_parser = day)]
    from: Option<UtcDay>,
    /// Last day, in UTC
    #[arg(long, value_name = "DAY", value_parser = day)]
    to: Option<UtcDay>,
    /// Only failures of this category
    #[arg(long)]
    category: Option<String>,
    /// Only runs of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only runs of this tool (`pytest`, `eslint`, `test` for a script of that name)
    #[arg(long)]
    tool: Option<String>,
}

impl FilterArgs {
    /// Whether anything is restricted.
    pub(super) fn is_given(&self) -> bool {
        let FilterArgs { from, to, category, agent, tool } = self;
        from.is_some() || to.is_some() || [category, agent, tool].into_iter().any(Option::is_some)
    }

    /// As parameters of the dashboard's pages.
    ///
    /// # Errors
    /// As [`FilterArgs::filter`].
    pub(super) fn parameters(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let BoardFilter { from, to, whom } = self.filter()?;
        let days = [("from", from), ("to", to)].map(|(name, day)| (name, day.map(|day| day.to_string())));
        let texts = [("category", whom.category), ("agent", whom.agent), ("tool", whom.tool)];
        let given = days.into_iter().chain(texts).filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Ok(given.collect())
    }

    /// The filter.
    ///
    /// # Errors
    /// When the last day comes before the first.
    pub(super) fn filter(&self) -> anyhow::Result<BoardFilter> {
        let FilterArgs { from, to, category, agent, tool } = self.clone();
        check_days(BoardFilter { from, to, whom: SumFilter { category, agent, tool } })
    }
}

/// The filter, if it has days.
///
/// # Errors
/// When the last day comes before the first.
pub(super) fn check_days(filter: BoardFilter) -> anyhow::Result<BoardFilter> {
    anyhow::ensure!(!filter.is_empty(), Refusal::usage("the last day (--to) comes before the first (--from)"));
    Ok(filter)
}

/// Reads a day, as clap has it.
pub(super) fn day(typed: &str) -> Result<UtcDay, String> {
    UtcDay::parse(typed, Timestamp::now())
        .ok_or_else(|| "expected a date such as `2026-11-01`, an age such as `30d`, or `today`".into())
}
