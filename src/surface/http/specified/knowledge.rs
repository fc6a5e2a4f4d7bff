//! `/api/knowledge/…`: entries of agents, what is relevant for a task, and what helps against an error.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::base::clock::Timestamp;
use crate::capture::Identity;
use crate::event::{EntrySource, EntryTypeName};
use crate::knowledge::EntryDraft;
use crate::knowledge::remedy::{RemedyEscalation, RemedySuggestion};
use crate::ops::reply::Reply;
use crate::ops::{knowledge, strategy, task};
use crate::retrieval::entry_page::EntryPage;
use crate::retrieval::entry_search::EntryQueryRequest;
use crate::surface::http::ask::HttpAsk;
use crate::surface::http::problem::{HttpProblem, ProblemError};
use crate::surface::http::sent::SentFields;

/// Entries that are looked at for their numbers.
const ENTRIES_MAX: usize = 100_000;
/// From this confidence on it is high.
const HIGH_CONFIDENCE: f64 = 0.8;
/// An entry that was recorded this often is a candidate for CLAUDE.md.
const CANDIDATE_OCCURRENCES: u64 = 3;
/// Entries for a task, unless asked otherwise.
const RELEVANT: usize = 10;
/// The least confidence of an entry for a task, unless asked otherwise.
const CONFIDENCE_MIN: f64 = 0.5;
/// A strategy with less success is none.
const EFFECTIVENESS_MIN: f64 = 0.5;
/// A title that is taken from a text, bytes.
const TITLE_BYTES_MAX: usize = 120;

/// An entry.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::http) struct EntryDocument {
    /// `k-…` of the entry that represents it.
    pub id: String,
    /// `gotcha`, `pattern`, `decision`, or a type of the settings.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it says: of a gotcha its fix, of a pattern its description and code, of a decision its choice and context.
    pub content: String,
    /// The files that it is about.
    pub file_patterns: Vec<String>,
    /// What is being done when it matters.
    pub action_types: Vec<String>,
    /// From 0 to 1.
    pub confidence: f64,
    /// How often it was recorded.
    pub occurrences: u64,
    /// The session that recorded it.
    pub source_execution_id: Option<String>,
    /// The task in which it was recorded.
    pub source_task_id: Option<String>,
    /// The agent that recorded it.
    pub source_agent_id: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// When it was recorded; `null` of what follows from fixes.
    pub created_at: Option<Timestamp>,
    /// As `created_at`.
    pub updated_at: Option<Timestamp>,
    /// `k-…` of the entry that is better.
    pub superseded_by: Option<String>,
    /// How well it fits what was asked, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// `created` or `merged`, where it was recorded by this request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'static str>,
}

/// Entries for a task.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::http) struct EntriesDocument {
    /// Best match first.
    pub entries: Vec<EntryDocument>,
    /// How many are in this answer.
    pub count: u64,
}

/// What to do against an error; `strategy` and `message` without a strategy that helps.
#[derive(Debug, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::http) enum StrategyDocument {
    /// There is one.
    Known(Box<KnownStrategyDocument>),
    /// There is none.
    Unknown {
        /// `No known strategy for this error`
        message: &'static str,
        /// `null`
        strategy: (),
    },
}

/// A strategy.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::http) struct KnownStrategyDocument {
    /// `s-…`
    pub id: String,
    /// How the error is known: `substring`, `regex`, `pattern`, `category` or `tool`.
    pub error_pattern: String,
    /// The error that was asked about.
    pub error_type: String,
    /// What to do.
    pub recovery_technique: String,
    /// Its steps in order.
    pub steps: Vec<String>,
    /// Tries that helped.
    pub success_count: u64,
    /// Tries that did not.
    pub failure_count: u64,
    /// Successes of all tries, half of those that helped in part; 0.5 untried.
    pub effectiveness: f64,
    /// The lower bound of that.
    pub lower_bound: f64,
    /// Where it was tried.
    pub context: StrategyContextDocument,
    /// It has failed in this task too often.
    pub escalation: Option<RemedyEscalation>,
}

/// Where a strategy was tried.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::http) struct StrategyContextDocument {
    /// Tries in tasks like this one.
    pub alike: u64,
}

/// Entries in numbers.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::http) struct EntryStatsDocument {
    /// All entries that nothing superseded.
    pub total_entries: u64,
    /// By type.
    pub by_type: Vec<EntryTypeCount>,
    /// Those with a confidence of at least 0.8.
    pub high_confidence: u64,
    /// Those of them that were recorded at least three times.
    pub promotion_candidates: u64,
}

/// Entries of one type.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(in crate::surface::http) struct EntryTypeCount {
    /// The type.
    #[serde(rename = "type")]
    pub kind: String,
    /// How many.
    pub count: u64,
}

/// `POST /api/knowledge/gotcha`
pub(in crate::surface::http) fn record_gotcha(ask: &HttpAsk) -> anyhow::Result<Value> {
    let mut sent = SentFields::new(ask)?;
    let fix = sent.required("fix");
    let pitfall = sent.text("pitfall").unwrap_or_else(|| first_sentence(&fix));
    let title = sent.text("title").unwrap_or_else(|| first_sentence(&pitfall));
    let (glob, actions, tags) = (sent.required("filePattern"), sent.action(), sent.texts("tags"));
    let identity = sent.identity();
    sent.finish(&["fix", "pitfall", "title", "filePattern", "actionType", "tags", "taskId", "agentId", "executionId"])?;
    let properties = fields(json!({"pitfall": pitfall, "fix": fix}));
    let draft = EntryDraft { title, properties, globs: vec![glob], actions, tags, ..draft_of(EntryTypeName::GOTCHA) };
    add_entry(ask, identity, &draft)
}

/// `POST /api/knowledge/pattern`
pub(in crate::surface::http) fn record_pattern(ask: &HttpAsk) -> anyhow::Result<Value> {
    let mut sent = SentFields::new(ask)?;
    let (description, template) = (sent.required("description"), sent.required("codeTemplate"));
    let title = sent.text("title").unwrap_or_else(|| first_sentence(&description));
    let (glob, actions, tags) = (sent.required("filePattern"), sent.action(), sent.texts("tags"));
    let identity = sent.identity();
    sent.finish(&[
        "description",
        "codeTemplate",
        "title",
        "filePattern",
        "actionType",
        "tags",
        "taskId",
        "agentId",
        "executionId",
    ])?;
    let properties = fields(json!({"description": description, "template": template}));
    let draft = EntryDraft { title, properties, globs: vec![glob], actions, tags, ..draft_of(EntryTypeName::PATTERN) };
    add_entry(ask, identity, &draft)
}

/// `POST /api/knowledge/decision`
pub(in crate::surface::http) fn record_decision(ask: &HttpAsk) -> anyhow::Result<Value> {
    let mut sent = SentFields::new(ask)?;
    let (choice, context) = (sent.required("decision"), sent.required("context"));
    let title = sent.text("title").unwrap_or_else(|| first_sentence(&choice));
    let rationale = sent.text("rationale").unwrap_or_else(|| context.clone());
    let tags = sent.texts("tags");
    let identity = sent.identity();
    sent.finish(&["decision", "context", "rationale", "title", "tags", "taskId", "agentId", "executionId"])?;
    let properties = fields(json!({"choice": choice, "context": context, "rationale": rationale}));
    let draft = EntryDraft { title, properties, tags, ..draft_of(EntryTypeName::DECISION) };
    add_entry(ask, identity, &draft)
}

/// `GET /api/knowledge/relevant/{task}`
pub(in crate::surface::http) fn relevant(ask: &HttpAsk) -> anyhow::Result<Value> {
    let min_confidence = match ask.parameter("minConfidence") {
        None => CONFIDENCE_MIN,
        Some(typed) => typed.parse().ok().filter(|min| (0.0..=1.0).contains(min)).ok_or_else(|| {
            ProblemError(HttpProblem::bad_parameter("`minConfidence`: expected a number from 0 to 1"))
        })?,
    };
    let limit = if ask.parameter("limit").is_none() { RELEVANT } else { ask.limit()? };
    let name = ask.path_value(0);
    let identity = Identity { task: Some(name.to_owned()), ..ask.request.identity.clone() };
    let request = ask.request.with_identity(identity);
    let asked = EntryQueryRequest { min_confidence, limit: Some(limit), page: 1, ..EntryQueryRequest::default() };
    let entries = match task::check_task(&request, name) {
        Ok(()) => knowledge::relevant_entries(&request, asked)?.data.entries,
        Err(error) if HttpProblem::from_error(&error).status == 404 => Vec::new(),
        Err(error) => return Err(error),
    };
    let entries: Vec<EntryDocument> = entries.into_iter().map(EntryDocument::from_page).collect();
    to_document(EntriesDocument { count: entries.len() as u64, entries })
}

/// `GET /api/knowledge/strategy/{error}`
pub(in crate::surface::http) fn strategy(ask: &HttpAsk) -> anyhow::Result<Value> {
    let (kind, message) = (ask.path_value(0), ask.parameter("message").unwrap_or_default());
    let error = if message.is_empty() { kind.to_owned() } else { format!("{kind}: {message}") };
    let source = strategy::diagnose_text(&ask.request, &error);
    let found = strategy::suggest_strategies(&ask.request, &source, None, 1)?.data;
    let best = found.strategies.into_iter().next();
    let best = best.filter(|best| best.effectiveness > EFFECTIVENESS_MIN && !best.exhausted);
    Ok(serde_json::to_value(match best {
        Some(best) => StrategyDocument::Known(Box::new(known_strategy(kind, best, found.escalation))),
        None => StrategyDocument::Unknown { message: "No known strategy for this error", strategy: () },
    })?)
}

/// `GET /api/knowledge/stats`
pub(in crate::surface::http) fn stats(ask: &HttpAsk) -> anyhow::Result<Value> {
    let asked = EntryQueryRequest { limit: Some(ENTRIES_MAX), page: 1, ..EntryQueryRequest::default() };
    to_document(EntryStatsDocument::of_entries(&knowledge::browse_entries(&ask.request, &asked)?.data.entries))
}

impl EntryStatsDocument {
    /// Counts entries.
    pub(in crate::surface::http) fn of_entries(entries: &[EntryPage]) -> Self {
        let mut by_type: Vec<EntryTypeCount> = Vec::new();
        for entry in entries {
            match by_type.iter_mut().find(|count| count.kind == entry.kind) {
                Some(count) => count.count += 1,
                None => by_type.push(EntryTypeCount { kind: entry.kind.clone(), count: 1 }),
            }
        }
        by_type.sort_by(|a, b| a.kind.cmp(&b.kind));
        let high = entries.iter().filter(|entry| entry.confidence >= HIGH_CONFIDENCE);
        EntryStatsDocument {
            total_entries: entries.len() as u64,
            by_type,
            high_confidence: high.clone().count() as u64,
            promotion_candidates: high.filter(|entry| entry.occurrences >= CANDIDATE_OCCURRENCES).count() as u64,
        }
    }
}

impl EntryDocument {
    fn from_page(page: EntryPage) -> Self {
        EntryDocument {
            content: entry_content(&page),
            id: page.id,
            kind: page.kind,
            file_patterns: page.globs,
            action_types: page.actions,
            confidence: page.confidence,
            occurrences: page.occurrences,
            source_execution_id: page.by.session,
            source_task_id: page.by.task,
            source_agent_id: page.by.agent.unwrap_or_else(|| "unknown".to_owned()),
            tags: page.tags,
            created_at: page.at,
            updated_at: page.at,
            superseded_by: page.superseded_by,
            score: page.score,
            result: None,
        }
    }
}

/// What an entry says.
fn entry_content(page: &EntryPage) -> String {
    let text = |name: &str| page.properties.get(name).and_then(Value::as_str).map(str::to_owned);
    match page.kind.as_str() {
        "gotcha" => text("fix").or_else(|| text("pitfall")).unwrap_or_else(|| page.title.clone()),
        "pattern" => {
            let description = text("description").unwrap_or_else(|| page.title.clone());
            match text("template") {
                Some(template) => {
                    let language = page.globs.first().map_or("", |glob| fence_language(glob));
                    let fence = crate::base::markdown::fence(language, &template, false);
                    format!("{description}\n\n{}", fence.trim_end())
                }
                None => description,
            }
        }
        "decision" => {
            let choice = text("choice").unwrap_or_else(|| page.title.clone());
            text("context").map_or_else(|| choice.clone(), |context| format!("{choice}\n\n{context}"))
        }
        _ => page.title.clone(),
    }
}

/// The name of a language by the extension of a file pattern.
fn fence_language(glob: &str) -> &str {
    match glob.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "ts" | "tsx" | "mts" => "typescript",
        "js" | "jsx" | "mjs" | "cjs" => "javascript",
        "py" => "python",
        "rs" => "rust",
        "go" => "go",
        "rb" => "ruby",
        "java" => "java",
        "sql" => "sql",
        "sh" => "sh",
        "yml" | "yaml" => "yaml",
        "json" => "json",
        _ => "",
    }
}

fn known_strategy(kind: &str, best: RemedySuggestion, escalation: Option<RemedyEscalation>) -> KnownStrategyDocument {
    KnownStrategyDocument {
        id: best.id,
        error_pattern: best.matches.as_str().to_owned(),
        error_type: kind.to_owned(),
        recovery_technique: best.technique,
        steps: best.steps,
        success_count: best.successes,
        failure_count: best.tries.saturating_sub(best.successes + best.partials),
        effectiveness: best.effectiveness,
        lower_bound: best.lower_bound,
        context: StrategyContextDocument { alike: best.alike[1] },
        escalation,
    }
}

fn add_entry(ask: &HttpAsk, identity: Identity, draft: &EntryDraft) -> anyhow::Result<Value> {
    let request = ask.request.with_identity(identity);
    let added = knowledge::add_entry(&request, draft)?.data;
    to_document(EntryDocument { result: Some(added.result), ..EntryDocument::from_page(added.entry) })
}

fn draft_of(kind: EntryTypeName) -> EntryDraft {
    EntryDraft {
        kind,
        title: String::new(),
        properties: Map::new(),
        globs: Vec::new(),
        actions: Vec::new(),
        tags: Vec::new(),
        sources: Vec::new(),
        source: Some(EntrySource::Agent),
        prevented: false,
        fix_applied: false,
        person: None,
    }
}

fn fields(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// The first sentence of a text, as a title.
fn first_sentence(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let end = line.find(". ").map_or(line.len(), |end| end + 1);
    crate::base::text::ellipsis(&line[..end], TITLE_BYTES_MAX)
}

fn to_document<T: Serialize>(document: T) -> anyhow::Result<Value> {
    Ok(serde_json::to_value(Reply::from(document))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_sentence() {
        assert_eq!(first_sentence("Run it. Then wait.\nMore"), "Run it.");
        assert_eq!(first_sentence("Use 1.5 of it"), "Use 1.5 of it");
        assert_eq!(first_sentence(""), "");
    }

    #[test]
    fn a_language_follows_from_the_file_pattern() {
        assert_eq!(
            [fence_language("src/**/*.ts"), fence_language("*.py"), fence_language("Makefile")],
            ["typescript", "python", ""]
        );
    }
}
