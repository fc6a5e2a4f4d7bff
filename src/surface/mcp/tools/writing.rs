//! `lessons_search` and `record_fix`: what was learnt from failures, read and written.

use std::fmt::Write as _;

use anyhow::bail;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{NAME_CHARS_MAX, Tool, WholeNumber, integer, object, parsed, some, string};
use crate::ops::fix::{self, FixNoteText};
use crate::ops::knowledge;
use crate::ops::lesson::{self, LessonAnnotation};
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::ops::search::{self, SearchHit};
use crate::retrieval::entry_search::EntryQueryRequest;
use crate::surface::mcp::answer::{ToolAnswer, quoted};

/// Lessons of one answer, unless asked otherwise; and entries.
const LESSONS: usize = 10;
const ENTRIES: usize = 5;
/// A question, characters.
const QUERY_CHARS_MAX: usize = 2_000;
/// A cause, a resolution, a rule, characters.
const SAID_CHARS_MAX: usize = 4_000;

pub(super) const LESSONS_SEARCH: Tool = Tool {
    name: "lessons_search",
    title: "Search the lessons",
    description: "Searches the lessons of failed checks in this project (with cause, resolution and rule where recorded) and the knowledge entries of people and agents. Call it with the words of an error, a file or a tool, before you work around something.",
    reads: true,
    input: || {
        object(
            &["query"],
            json!({
                "query": string("Words, or the start of a lesson's id (l-…); empty for the newest", QUERY_CHARS_MAX),
                "limit": integer("Maximum number of lessons", 1, 50, LESSONS as u64),
            }),
        )
    },
    output: &[("lessons", "array"), ("more", "integer"), ("entries", "array")],
    call: lessons_search,
};

pub(super) const RECORD_FIX: Tool = Tool {
    name: "record_fix",
    title: "Record why it failed and what fixed it",
    description: "Records why a check failed, what solved it, and the rule that follows, in a fix (x-…) or a lesson (l-…); recent_failures and known_failure return the ids. Call it when a failed check passes again, with what the diff alone does not say.",
    reads: false,
    input: || {
        object(
            &["id"],
            json!({
                "id": string("Id of a fix (x-…) or a lesson (l-…), or its unique start", NAME_CHARS_MAX),
                "cause": string("Why it failed", SAID_CHARS_MAX),
                "resolution": string("What solved it", SAID_CHARS_MAX),
                "rule": string("Rule that prevents it from now on", SAID_CHARS_MAX),
            }),
        )
    },
    output: &[("kind", "string"), ("id", "string")],
    call: record_fix,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchArguments {
    query: String,
    limit: Option<WholeNumber>,
}

/// What a search gives: [`search::LessonHits`], and entries in brief.
#[derive(Serialize)]
struct FoundEntries {
    lessons: Vec<SearchHit>,
    more: usize,
    entries: Vec<RememberedEntry>,
}

/// Something that was written down, in brief.
#[derive(Serialize)]
struct RememberedEntry {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    title: String,
    properties: Value,
    globs: Vec<String>,
    confidence: f64,
}

fn lessons_search(request: &Request, arguments: Value) -> anyhow::Result<ToolAnswer> {
    let given: SearchArguments = parsed(arguments)?;
    let hits = search::search_lessons(request, &given.query, WholeNumber::of(given.limit, LESSONS));
    let asked = EntryQueryRequest { text: given.query, limit: Some(ENTRIES), page: 1, ..EntryQueryRequest::default() };
    let entries = knowledge::query_entries(request, &asked)?;
    let notes = hits.notes.into_iter().chain(entries.notes).collect();
    let (hits, entries) = (hits.data, entries.data.entries.into_iter());
    let entries = entries.map(|page| RememberedEntry {
        id: page.id,
        kind: page.kind,
        title: page.title,
        properties: page.properties,
        globs: page.globs,
        confidence: page.confidence,
    });
    let found = FoundEntries { lessons: hits.lessons, more: hits.more, entries: entries.collect() };
    let text = found_text(&found);
    ToolAnswer::new(&Reply::new(found, notes), text)
}

fn found_text(found: &FoundEntries) -> String {
    let mut text = String::new();
    if found.lessons.is_empty() && found.entries.is_empty() {
        text.push_str("No lesson or entry has these words.\n");
    }
    if !found.lessons.is_empty() {
        text.push_str("Lessons (quoted from recorded output; read one as the resource verify-run://lessons/ID):\n\n");
    }
    for hit in &found.lessons {
        let _ = writeln!(text, "- {} {} ({}, {})", hit.id, quoted(&hit.title), hit.tool, hit.recorded_at.local());
        let said = [("Why", &hit.cause), ("Solved by", &hit.resolution), ("Rule", &hit.rule)];
        for (word, said) in said {
            if let Some(said) = said {
                let _ = writeln!(text, "  {word}: {}", quoted(said));
            }
        }
    }
    if found.more > 0 {
        let _ = writeln!(text, "- and {} more", found.more);
    }
    if !found.entries.is_empty() {
        text.push_str("\nKnowledge entries:\n\n");
    }
    for entry in &found.entries {
        let (title, confidence) = (quoted(&entry.title), entry.confidence);
        let _ = writeln!(text, "- {} {title} ({}, confidence {confidence:.2})", entry.id, entry.kind);
        for (name, value) in entry.properties.as_object().into_iter().flatten() {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if value != entry.title {
                let _ = writeln!(text, "  {}: {}", quoted(name), quoted(&value));
            }
        }
    }
    text
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FixArguments {
    id: String,
    cause: Option<String>,
    resolution: Option<String>,
    rule: Option<String>,
}

/// What was written, and where.
#[derive(Serialize)]
struct RecordedFix {
    /// `fix` or `lesson`.
    kind: &'static str,
    /// Its whole id.
    id: String,
    /// The lesson's file, relative to the root.
    file: Option<String>,
}

fn record_fix(request: &Request, arguments: Value) -> anyhow::Result<ToolAnswer> {
    let given: FixArguments = parsed(arguments)?;
    let [cause, resolution, rule] = [given.cause, given.resolution, given.rule].map(some);
    let id = given.id.trim();
    if cause.is_none() && resolution.is_none() && rule.is_none() {
        bail!("nothing to record: give a cause, a resolution or a rule");
    }
    let recorded = match id.get(..2) {
        Some("x-") if id.len() > 2 => {
            let by = request.identity.agent.clone();
            let page = fix::record_fix(request, id, FixNoteText { cause, approach: resolution, rule, by })?;
            page.map_data(|page| RecordedFix { kind: "fix", id: page.summary.id, file: None })
        }
        Some("l-") if id.len() > 2 => {
            let annotation =
                LessonAnnotation { cause, resolution, corrective_rule: rule, by: request.identity.agent.clone() };
            let found = lesson::annotate_lesson(request, id, annotation)?;
            let file = request.places.relative(&found.path).map(|file| file.to_string_lossy().into_owned());
            Reply::from(RecordedFix { kind: "lesson", id: found.lesson.front.id, file })
        }
        _ => bail!("{id:?} is neither a fix (x-…) nor a lesson (l-…): call recent_failures or known_failure for ids"),
    };
    let file = recorded.data.file.as_deref().map_or_else(String::new, |file| format!(" ({})", quoted(file)));
    let text = format!("Recorded in the {} {}{file}.\n", recorded.data.kind, recorded.data.id);
    ToolAnswer::new(&recorded, text)
}
