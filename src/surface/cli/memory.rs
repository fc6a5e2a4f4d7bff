//! `verify-run memory`.

use super::{CommandContext, Exit, Output};
use crate::base::text::{ellipsis, one_line};
use crate::event::MemoryType;
use crate::ops::memory::{self, MemoryDraft, MemoryList, RecallRequest};

/// A memory on one line, bytes.
const LINE_BYTES_MAX: usize = 400;
const MEMORY_TYPES: [&str; 5] = ["context", "learning", "preference", "error_pattern", "success_pattern"];

/// Remember something for an agent and recall it
///
/// A memory belongs to its agent (VERIFY_RUN_AGENT, else detected). Memories of a task's context expire after 24 hours
/// (setting `knowledge.context_hours`) and are recalled in that task only. A learning that was confirmed becomes a
/// shared entry when its task ends; `learn` writes both at once. A preference always stays with the agent.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: MemoryAction,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum MemoryAction {
    /// Remember something
    Remember {
        #[command(flatten)]
        what: MemoryKind,
    },
    /// Recall memories by importance, age, use and words
    Recall {
        /// Words to look for
        text: Vec<String>,
        /// Only memories of this kind
        #[arg(long = "type", value_name = "TYPE", value_parser = MEMORY_TYPES)]
        memory_type: Option<String>,
        /// Maximum number of results
        #[arg(long, default_value_t = 10, value_name = "N")]
        limit: usize,
    },
    /// Mark a memory as confirmed
    Validate {
        /// Id, or a unique prefix of it
        id: String,
    },
    /// Remember a learning and add it to the shared knowledge
    Learn {
        #[command(flatten)]
        what: MemoryKind,
        /// Files that it is about, as globs
        #[arg(long, value_name = "GLOB", num_args = 1.., value_delimiter = ',')]
        files: Vec<String>,
        /// Ids of its sources: a pattern, a fix, a failure
        #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
        from: Vec<String>,
    },
}

#[derive(Debug, clap::Args)]
struct MemoryKind {
    /// Text to remember
    #[arg(required = true)]
    text: Vec<String>,
    /// Kind of memory
    #[arg(long = "type", value_name = "TYPE", value_parser = MEMORY_TYPES, default_value = "learning")]
    memory_type: String,
    /// Importance, from 0 to 1
    #[arg(long, default_value_t = 0.5, value_name = "X")]
    importance: f64,
    /// Expire after N hours
    #[arg(long, value_name = "HOURS")]
    expires: Option<u64>,
}

impl MemoryKind {
    fn given(&self) -> MemoryDraft {
        MemoryDraft {
            memory_type: MemoryType::from_word(&self.memory_type).unwrap_or(MemoryType::Learning),
            text: self.text.join(" "),
            importance: self.importance,
            hours: self.expires,
        }
    }
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    let found = match &args.action {
        MemoryAction::Remember { what } => memory::add_memory(&context.request, &what.given())?,
        MemoryAction::Validate { id } => memory::validate_memory(&context.request, id)?,
        MemoryAction::Recall { text, memory_type, limit } => {
            let memory_type = memory_type.as_deref().and_then(MemoryType::from_word);
            memory::recall_memories(
                &context.request,
                &RecallRequest { text: text.join(" "), memory_type, limit: *limit },
            )?
        }
        MemoryAction::Learn { what, files, from } => {
            let learnt = memory::learn_entry(&context.request, &what.given(), files, from)?;
            context.output.reply(&learnt, args.json, |learnt, output| {
                let (memory, entry) = (&learnt.memory.id, &learnt.knowledge.data.entry);
                output.line(&format!("{memory}\t{} {}", entry.id, one_line(&entry.title)))
            })?;
            return Ok(Exit::Ok);
        }
    };
    context.output.reply(&found, args.json, print)?;
    Ok(Exit::Ok)
}

fn print(found: &MemoryList, output: &mut Output) -> anyhow::Result<()> {
    let rows: Vec<Vec<String>> = found
        .memories
        .iter()
        .map(|memory| {
            vec![memory.id.clone(), memory.memory_type.to_string(), ellipsis(&one_line(&memory.text), LINE_BYTES_MAX)]
        })
        .collect();
    if rows.is_empty() {
        output.note("no memories found");
        return Ok(());
    }
    output.table(&["id", "type", "text"], &rows)
}
