//! `remember` and `recall`: an agent's own memory.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, WholeNumber, integer, object, parsed, string};
use crate::event::MemoryType;
use crate::ops::memory::{self, MemoryDraft, MemoryList, RecallRequest};
use crate::ops::request::Request;
use crate::surface::mcp::answer::{ToolAnswer, quoted};

/// A memory, characters.
const TEXT_CHARS_MAX: usize = 4_000;
/// Memories of one answer, unless asked otherwise.
const MEMORIES: usize = 10;
/// How important a memory is, unless it is said.
const IMPORTANCE: f64 = 0.5;
/// A year, hours.
const HOURS_MAX: u64 = 8_760;
const MEMORY_TYPES: [&str; 5] = ["context", "learning", "preference", "error_pattern", "success_pattern"];

pub(super) const REMEMBER: Tool = Tool {
    name: "remember",
    title: "Remember",
    description: "Stores a note for later sessions of this agent in this project: a learning, an error_pattern or success_pattern, a preference; or the context of the current task, which expires after a day. Call it when you learn something that neither the code nor a lesson says.",
    reads: false,
    input: || {
        object(
            &["text"],
            json!({
                "text": {"type": "string", "description": "Text of the note", "minLength": 1,
                    "maxLength": TEXT_CHARS_MAX},
                "type": {"type": "string", "description": "Kind of note", "enum": MEMORY_TYPES, "default": "learning"},
                "importance": {"type": "number", "description": "Importance", "minimum": 0, "maximum": 1,
                    "default": IMPORTANCE},
                "expires_hours": {"type": "integer", "description": "Hours until the note expires", "minimum": 1,
                    "maximum": HOURS_MAX},
            }),
        )
    },
    output: &[("memories", "array")],
    call: remember,
};

pub(super) const RECALL: Tool = Tool {
    name: "recall",
    title: "Recall",
    description: "Lists notes that this agent stored in this project, ranked by importance, age, use and matching words. Call it at the start of a task, and when something seems familiar.",
    reads: true,
    input: || {
        object(
            &[],
            json!({
                "text": string("Words to search for", TEXT_CHARS_MAX),
                "type": {"type": "string", "description": "Only of this kind", "enum": MEMORY_TYPES},
                "limit": integer("Maximum number of results", 1, 50, MEMORIES as u64),
            }),
        )
    },
    output: &[("memories", "array")],
    call: recall,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RememberArguments {
    text: String,
    #[serde(rename = "type")]
    memory_type: Option<String>,
    importance: Option<f64>,
    expires_hours: Option<WholeNumber>,
}

fn remember(request: &Request, arguments: Value) -> anyhow::Result<ToolAnswer> {
    let given: RememberArguments = parsed(arguments)?;
    let remembered = MemoryDraft {
        memory_type: given.memory_type.as_deref().and_then(MemoryType::from_word).unwrap_or(MemoryType::Learning),
        text: given.text,
        importance: given.importance.unwrap_or(IMPORTANCE),
        hours: given.expires_hours.map(|hours| WholeNumber::of(Some(hours), 0) as u64),
    };
    let kept = memory::add_memory(request, &remembered)?;
    let ids: Vec<&str> = kept.data.memories.iter().map(|memory| memory.id.as_str()).collect();
    ToolAnswer::new(&kept, format!("Remembered as {}.\n", ids.join(", ")))
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RecallArguments {
    text: String,
    #[serde(rename = "type")]
    memory_type: Option<String>,
    limit: Option<WholeNumber>,
}

fn recall(request: &Request, arguments: Value) -> anyhow::Result<ToolAnswer> {
    let given: RecallArguments = parsed(arguments)?;
    let memory_type = given.memory_type.as_deref().and_then(MemoryType::from_word);
    let asked = RecallRequest { text: given.text, memory_type, limit: WholeNumber::of(given.limit, MEMORIES) };
    let found = memory::recall_memories(request, &asked)?;
    let text = if found.data.memories.is_empty() { "No notes found.\n".to_owned() } else { recalled_text(&found.data) };
    ToolAnswer::new(&found, text)
}

/// A line for each memory.
pub(crate) fn recalled_text(found: &MemoryList) -> String {
    let mut text = String::new();
    for memory in &found.memories {
        let sure = if memory.validated { ", validated" } else { "" };
        let _ = writeln!(text, "- {} ({}{sure}): {}", memory.id, memory.memory_type, quoted(&memory.text));
    }
    text
}
