//! What is recorded, as the commands print it with `--json`.

use serde_json::Value;

use super::ask::HttpAsk;
use crate::base::refusal::Refusal;
use crate::event::{FixState, JobState};
use crate::ops::board::failures::FailureQuery;
use crate::ops::board::first_runs::FirstRunQuery;
use crate::ops::board::fixes::FixQuery;
use crate::ops::board::patterns::{PatternOrder, PatternQuery, PatternScope};
use crate::ops::board::tasks::TaskQuery;
use crate::ops::board::warnings::WarningQuery;
use crate::ops::promote;
use crate::ops::reply::Reply;
use crate::ops::{fix, knowledge, last, library};
use crate::retrieval::entry_search::EntryQueryRequest;
use crate::store::{FailureScope, WarningScope};

/// The figures of some days, and what is behind them.
pub(super) fn overview(ask: &HttpAsk) -> anyhow::Result<Value> {
    let filter = ask.filter()?;
    ask.read_board(|board| Ok(board.overview(&filter)?))
}

/// The figures, each with its definition.
pub(super) fn figures(ask: &HttpAsk) -> anyhow::Result<Value> {
    let filter = ask.filter()?;
    ask.read_board(|board| board.list_figures(&filter))
}

/// A figure with its definition, and the command that prints it.
pub(super) fn figure(ask: &HttpAsk) -> anyhow::Result<Value> {
    let filter = ask.filter()?;
    ask.read_board(|board| board.find_figure(ask.path_value(0), ask.parameter("pattern"), &filter))
}

/// What waits for a person.
pub(super) fn inbox(ask: &HttpAsk) -> anyhow::Result<Value> {
    ask.read_board(|board| board.inbox())
}

/// The query of a list of patterns.
pub(super) fn pattern_query(ask: &HttpAsk, order: PatternOrder) -> anyhow::Result<PatternQuery> {
    let scopes = [("open", PatternScope::Open), ("silenced", PatternScope::Silenced), ("all", PatternScope::All)];
    let orders = PatternOrder::WORDS.map(|(order, word)| (word, order));
    Ok(PatternQuery {
        filter: ask.filter()?,
        scope: ask.word("state", &scopes)?.unwrap_or_default(),
        recurring: ask.is_on("recurring")?,
        text: ask.parameter("q").map(str::to_owned),
        file: path_of(ask),
        order: ask.word("order", &orders)?.unwrap_or(order),
    })
}

/// A file or folder as the index names it.
fn path_of(ask: &HttpAsk) -> Option<String> {
    ask.parameter("file").map(|path| path.trim_start_matches("./").trim_end_matches('/').to_owned())
}

pub(super) fn patterns(ask: &HttpAsk) -> anyhow::Result<Value> {
    let (query, limit) = (pattern_query(ask, PatternOrder::default())?, ask.limit()?);
    ask.read_board(|board| board.patterns(&query, ask.parameter("after"), limit))
}

pub(super) fn pattern(ask: &HttpAsk) -> anyhow::Result<Value> {
    let id = ask.path_value(0);
    let mut page = ask.read_board(|board| Ok(board.pattern(id)?))?;
    if let Some(after) = ask.parameter("after") {
        let further = ask.read_board(|board| board.occurrences(id, Some(after), 50))?;
        page["occurrences"] = further["occurrences"].clone();
    }
    Ok(page)
}

pub(super) fn occurrences(ask: &HttpAsk) -> anyhow::Result<Value> {
    let limit = ask.limit()?;
    ask.read_board(|board| board.occurrences(ask.path_value(0), ask.parameter("after"), limit))
}

pub(super) fn failures(ask: &HttpAsk) -> anyhow::Result<Value> {
    let scopes =
        [("counted", FailureScope::Counted), ("open", FailureScope::Open), ("not-counted", FailureScope::Uncounted)];
    let query = FailureQuery {
        filter: ask.filter()?,
        scope: ask.word("state", &scopes)?.unwrap_or_default(),
        task: ask.parameter("task").map(str::to_owned),
        pattern: ask.parameter("pattern").map(str::to_owned),
        file: path_of(ask),
        text: ask.parameter("q").map(str::to_owned),
    };
    let limit = ask.limit()?;
    ask.read_board(|board| board.failures(&query, ask.parameter("after"), limit))
}

pub(super) fn failure(ask: &HttpAsk) -> anyhow::Result<Value> {
    ask.read_board(|board| Ok(board.failure(ask.path_value(0))?))
}

pub(super) fn run(ask: &HttpAsk) -> anyhow::Result<Value> {
    to_document(&last::run_by_id(&ask.request, ask.path_value(0))?)
}

/// What a failed run printed.
pub(super) fn run_output(ask: &HttpAsk) -> anyhow::Result<Value> {
    to_document(&last::read_run_output(&ask.request, ask.path_value(0))?)
}

/// First runs of checks in tasks.
pub(super) fn first_runs(ask: &HttpAsk) -> anyhow::Result<Value> {
    let passed = ask.word("state", &[("passed", true), ("failed", false)])?;
    let (query, limit) = (FirstRunQuery { filter: ask.filter()?, passed }, ask.limit()?);
    ask.read_board(|board| board.first_runs(&query, ask.parameter("after"), limit))
}

/// Warnings that were shown.
pub(super) fn warnings(ask: &HttpAsk) -> anyhow::Result<Value> {
    let scopes = [
        ("all", WarningScope::All),
        ("known", WarningScope::Known),
        ("prevented", WarningScope::Prevented),
        ("failed-anyway", WarningScope::FailedAnyway),
    ];
    let query = WarningQuery { filter: ask.filter()?, scope: ask.word("state", &scopes)?.unwrap_or_default() };
    let limit = ask.limit()?;
    ask.read_board(|board| board.warnings(&query, ask.parameter("after"), limit))
}

pub(super) fn fixes(ask: &HttpAsk) -> anyhow::Result<Value> {
    let state =
        match ask.parameter("state") {
            None => None,
            Some(word) => Some(FixState::from_word(word).ok_or_else(|| {
                Refusal::usage("`state`: expected success, partial, failure, weakened, undone or flaky")
            })?),
        };
    let query = FixQuery {
        filter: ask.filter()?,
        state,
        is_counted: ask.is_on("counted")?,
        task: ask.parameter("task").map(str::to_owned),
        file: path_of(ask),
    };
    let limit = ask.limit()?;
    ask.read_board(|board| {
        let lines = board.fixes(&query, ask.parameter("after"), limit)?;
        Ok(FixesDocument { lines, counts: board.fix_counts()? })
    })
}

/// A page of fixes, with what has been fixed in numbers.
#[derive(Debug, serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct FixesDocument {
    #[serde(flatten)]
    lines: crate::ops::board::fixes::FixLines,
    /// What has been fixed, in numbers, of all that was recorded.
    counts: crate::ops::board::fixes::FixCounts,
}

pub(super) fn fix(ask: &HttpAsk) -> anyhow::Result<Value> {
    to_document(&fix::show_fix(&ask.request, ask.path_value(0))?)
}

pub(super) fn flakes(ask: &HttpAsk) -> anyhow::Result<Value> {
    to_document(&fix::list_flakes(&ask.request, ask.limit()?)?)
}

pub(super) fn files(ask: &HttpAsk) -> anyhow::Result<Value> {
    let filter = ask.filter()?;
    ask.read_board(|board| Ok(board.files(&filter)?))
}

pub(super) fn effect(ask: &HttpAsk) -> anyhow::Result<Value> {
    let filter = ask.filter()?;
    ask.read_board(|board| Ok(board.effect(&filter)?))
}

pub(super) fn knowledge(ask: &HttpAsk) -> anyhow::Result<Value> {
    let text = ask.parameter("q").unwrap_or_default().to_owned();
    let asked = EntryQueryRequest { text, limit: Some(ask.limit()?), page: 1, ..EntryQueryRequest::default() };
    to_document(&knowledge::browse_entries(&ask.request, &asked)?)
}

pub(super) fn entry(ask: &HttpAsk) -> anyhow::Result<Value> {
    to_document(&knowledge::show_entry(&ask.request, ask.path_value(0))?)
}

pub(super) fn promotions(ask: &HttpAsk) -> anyhow::Result<Value> {
    to_document(&promote::read_promotions(&ask.request, ask.is_on("all")?)?)
}

pub(super) fn promotion(ask: &HttpAsk) -> anyhow::Result<Value> {
    to_document(&promote::read_promotion(&ask.request, ask.path_value(0))?)
}

pub(super) fn gate_cycles(ask: &HttpAsk) -> anyhow::Result<Value> {
    ask.read_board(|board| Ok(board.gate_cycles()?))
}

pub(super) fn gate_cycle(ask: &HttpAsk) -> anyhow::Result<Value> {
    ask.read_board(|board| board.gate_cycle(ask.path_value(0)))
}

pub(super) fn gate_report(ask: &HttpAsk) -> anyhow::Result<Value> {
    ask.read_board(|board| board.gate_report(ask.path_value(0)))
}

pub(super) fn library(ask: &HttpAsk) -> anyhow::Result<Value> {
    ask.read_board(|board| board.library())
}

pub(super) fn library_page(ask: &HttpAsk) -> anyhow::Result<Value> {
    to_document(&library::show_page(&ask.request, ask.path_value(0))?)
}

pub(super) fn library_jobs(ask: &HttpAsk) -> anyhow::Result<Value> {
    let state = match ask.parameter("state") {
        None => None,
        Some(word) => Some(JobState::from_word(word).ok_or_else(|| Refusal::usage("`state`: no job has this state"))?),
    };
    to_document(&library::list_jobs(&ask.request, state.as_slice(), ask.limit()?)?)
}

pub(super) fn library_job(ask: &HttpAsk) -> anyhow::Result<Value> {
    to_document(&library::show_job(&ask.request, ask.path_value(0))?)
}

pub(super) fn tasks(ask: &HttpAsk) -> anyhow::Result<Value> {
    let query = TaskQuery { filter: ask.filter()?, failed: ask.is_on("failed")? };
    let limit = ask.limit()?;
    ask.read_board(|board| board.tasks(&query, ask.parameter("after"), limit))
}

pub(super) fn task(ask: &HttpAsk) -> anyhow::Result<Value> {
    ask.read_board(|board| board.task(ask.path_value(0)))
}

pub(super) fn lessons(ask: &HttpAsk) -> anyhow::Result<Value> {
    let (filter, limit) = (ask.filter()?, ask.limit()?);
    ask.read_board(|board| board.lessons(&filter, ask.parameter("after"), limit))
}

pub(super) fn lesson(ask: &HttpAsk) -> anyhow::Result<Value> {
    ask.read_board(|board| board.lesson(ask.path_value(0)))
}

pub(super) fn audit(ask: &HttpAsk) -> anyhow::Result<Value> {
    let limit = ask.limit()?;
    ask.read_board(|board| board.audit(ask.parameter("after"), limit))
}

pub(super) fn search(ask: &HttpAsk) -> anyhow::Result<Value> {
    ask.read_board(|board| board.search(ask.parameter("q").unwrap_or_default()))
}

fn to_document<T: serde::Serialize>(reply: &Reply<T>) -> anyhow::Result<Value> {
    Ok(serde_json::to_value(reply)?)
}
