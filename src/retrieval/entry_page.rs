//! An entry as it is shown. What was imported may be anybody's text: it is made inert here.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::entry_history;
use super::entry_measurement::EntryMeasurement;
use crate::base::clock::Timestamp;
use crate::base::text::{ellipsis, one_line, printable};
use crate::config::Settings;
use crate::event::{EntrySource, EntryTypeName, EntryUse, EventAuthor};
use crate::knowledge::ledger;
use crate::pattern::confidence::Confidence;
use crate::pattern::knowledge::Gotcha;
use crate::pattern::statistics::round_to_thousandth;
use crate::store::{EntryRow, EntryUseRow, Index, StoreError};

/// A title or label that is shown, bytes.
const LINE_BYTES_MAX: usize = 500;
/// A text in a property that is shown, bytes.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// An entry.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EntryPage {
    /// `k-…`
    pub id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// One line.
    pub title: String,
    /// Of a gotcha that was learnt: the newest message that it is about, as it was printed. The title has it masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
    /// What its type asks for.
    pub properties: Value,
    /// Files that it is about.
    pub globs: Vec<String>,
    /// What is being done when it matters.
    pub actions: Vec<String>,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// What it comes from.
    pub sources: Vec<String>,
    /// `human`, `check` or `agent`.
    pub source: EntrySource,
    /// It was learnt from fixes that worked.
    pub learnt: bool,
    /// It was imported from an untrusted source: agents get it only on request.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// It is what a lesson that the team shares teaches, which is shown.
    #[serde(skip)]
    pub from_shared_lesson: bool,
    /// Who wrote it; nothing for a learnt entry.
    pub by: EventAuthor,
    /// When.
    pub at: Option<Timestamp>,
    /// How often it was written, by whomever.
    pub occurrences: u64,
    /// Agents that wrote it, each once.
    pub contributors: Vec<String>,
    /// Its confidence.
    pub confidence: f64,
    /// Why; only where one entry is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Confidence>,
    /// The outcome of warnings from it; only where one written entry is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<EntryMeasurement>,
    /// Entries that were merged into it; only where one entry is shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<String>,
    /// The entry that is better.
    pub superseded_by: Option<String>,
    /// It never fades and is never held out.
    pub pinned: bool,
    /// What was done with it.
    pub uses: EntryUseCounts,
    /// Of a search: how well it fits, times the confidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// What was done with an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EntryUseCounts {
    /// A search found it.
    pub queried: u64,
    /// It was read.
    pub retrieved: u64,
    /// It was done.
    pub applied: u64,
    /// A user confirmed it.
    pub validated: u64,
    /// It prevented the mistake.
    pub prevented: u64,
    /// It was of no help.
    pub did_not_help: u64,
    /// Who used it.
    pub agents: Vec<String>,
}

impl EntryUseCounts {
    fn from_rows(rows: &[EntryUseRow]) -> Self {
        let mut uses = EntryUseCounts::default();
        for row in rows {
            let count = match row.how {
                EntryUse::Queried => &mut uses.queried,
                EntryUse::Retrieved => &mut uses.retrieved,
                EntryUse::Applied => &mut uses.applied,
                EntryUse::Validated => &mut uses.validated,
                EntryUse::Prevented => &mut uses.prevented,
                EntryUse::DidNotHelp => &mut uses.did_not_help,
            };
            *count += 1;
        }
        let agents: BTreeSet<String> = rows.iter().filter_map(|row| row.by.agent.as_deref().map(page_line)).collect();
        uses.agents = agents.into_iter().collect();
        uses
    }
}

impl EntryPage {
    /// The page of an entry that represents itself and those that were merged with it.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn from_row(
        index: &Index,
        row: EntryRow,
        settings: &Settings,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let history = entry_history::entry_history(index, &row)?;
        let believed = ledger::entry_confidence(&row, &history, settings, now);
        let merged = history.merged;
        let agents = [&row].into_iter().chain(&merged).filter_map(|row| row.by.agent.as_deref().map(page_line));
        let contributors: BTreeSet<String> = agents.collect();
        let lines = |texts: &[String]| -> Vec<String> { texts.iter().map(|text| page_line(text)).collect() };
        // What was merged is about its files too.
        let union = |of: fn(&EntryRow) -> &Vec<String>| -> Vec<String> {
            let all: BTreeSet<String> =
                [&row].into_iter().chain(&merged).flat_map(of).map(|text| page_line(text)).collect();
            all.into_iter().collect()
        };
        Ok(EntryPage {
            globs: union(|row| &row.globs),
            actions: union(|row| &row.actions),
            tags: union(|row| &row.tags),
            sources: union(|row| &row.sources),
            id: page_line(&row.id),
            kind: page_line(row.kind.as_str()),
            title: page_line(&row.title),
            example: None,
            properties: make_inert(&row.properties),
            source: row.source,
            learnt: false,
            imported: row.imported,
            from_shared_lesson: row.from_shared_lesson,
            by: EventAuthor {
                agent: row.by.agent.as_deref().map(page_line),
                session: row.by.session.as_deref().map(page_line),
                task: row.by.task.as_deref().map(page_line),
                person: row.by.person.as_deref().map(page_line),
            },
            at: Some(row.at),
            occurrences: row.occurrences,
            contributors: contributors.into_iter().collect(),
            confidence: round_to_thousandth(believed.value),
            ledger: Some(believed),
            measured: None,
            merged: lines(&merged.iter().map(|row| row.id.clone()).collect::<Vec<_>>()),
            superseded_by: row.superseded_by.as_deref().map(page_line),
            pinned: row.pinned,
            uses: EntryUseCounts::from_rows(&history.uses),
            score: None,
        })
    }

    /// The page of a gotcha that was learnt from fixes.
    pub(crate) fn from_gotcha(gotcha: Gotcha, uses: &[EntryUseRow], files: Vec<String>) -> Self {
        let uses = EntryUseCounts::from_rows(uses);
        let at = gotcha.confidence.steps.first().map(|step| step.at);
        let mut properties = json!({"pitfall": gotcha.pitfall, "fix": gotcha.fix});
        for (name, said) in [("cause", gotcha.cause), ("rule", gotcha.rule)] {
            if let Some(said) = said {
                properties[name] = Value::String(said);
            }
        }
        EntryPage {
            id: gotcha.id,
            kind: EntryTypeName::GOTCHA.to_string(),
            title: page_line(&gotcha.pitfall),
            example: gotcha.example.as_deref().map(page_line),
            properties: make_inert(&properties),
            globs: files.iter().map(|file| page_line(file)).collect(),
            actions: Vec::new(),
            tags: Vec::new(),
            sources: vec![gotcha.pattern, gotcha.strategy],
            source: EntrySource::Check,
            learnt: true,
            imported: false,
            from_shared_lesson: false,
            by: EventAuthor::default(),
            at,
            occurrences: gotcha.tries,
            contributors: Vec::new(),
            confidence: round_to_thousandth(gotcha.confidence.value),
            ledger: Some(gotcha.confidence),
            measured: None,
            merged: Vec::new(),
            superseded_by: gotcha.superseded_by.as_deref().map(page_line),
            pinned: gotcha.pinned,
            uses: EntryUseCounts { applied: uses.applied + gotcha.tries, ..uses },
            score: None,
        }
    }
}

/// One line, bounded, without control characters.
pub(crate) fn page_line(text: &str) -> String {
    ellipsis(one_line(text).trim(), LINE_BYTES_MAX)
}

fn make_inert(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(ellipsis(&printable(text), TEXT_BYTES_MAX)),
        Value::Array(items) => items.iter().map(make_inert).collect(),
        Value::Object(fields) => fields.iter().map(|(name, field)| (page_line(name), make_inert(field))).collect(),
        other => other.clone(),
    }
}
