//! `verify-run knowledge`.

mod printing;

pub(super) use printing::{KnowledgeDeclineReply, KnowledgeTypesReply};

use std::path::PathBuf;

use anyhow::bail;
use serde_json::{Map, Value};

use super::{CommandContext, Exit, PagingArgs};
use crate::base::refusal::Refusal;
use crate::capture::Identity;
use crate::config::Settings;
use crate::event::{EntrySource, EntryTypeName, EntryUse};
use crate::knowledge::EntryDraft;
use crate::knowledge::entry_types;
use crate::ops::fix;
use crate::ops::knowledge::{self, EntryAddReply};
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::ops::warn;
use crate::retrieval::entry_search::EntryQueryRequest;
use crate::store::EntryFilter;

/// Record and find gotchas, patterns and decisions
///
/// A gotcha is a mistake and how to avoid it, a pattern is a way that works, a decision is a choice with its reason;
/// `[knowledge.types]` in verify-run.toml adds types. Entries with nearly the same words are merged, whoever wrote
/// them; similar ones are named. The confidence in an entry starts with its source and follows its use. Gotchas learnt
/// from fixes are included.
///
/// JSON: docs/json.md
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: KnowledgeAction,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    paging: PagingArgs,
}

#[derive(Debug, clap::Subcommand)]
enum KnowledgeAction {
    Add(Box<AddArgs>),
    /// Find entries by words, type, file, action or tag; the newest without any
    Query {
        /// Words: entries with all of them, else with some
        text: Vec<String>,
        #[command(flatten)]
        which: EntrySelection,
    },
    /// Show an entry and its confidence
    Show {
        /// Id, or a unique prefix of it
        id: String,
    },
    /// Find entries about the current task or these files
    Relevant {
        /// Name of the task (default: VERIFY_RUN_TASK, the announced task, or the branch)
        #[arg(long)]
        task: Option<String>,
        #[command(flatten)]
        which: EntrySelection,
    },
    /// Replace an entry by a better one
    Supersede {
        /// Id of the old entry
        id: String,
        /// Id of the better entry
        #[arg(long, value_name = "ID")]
        with: String,
    },
    /// Merge two entries
    Merge {
        /// Id of the first entry
        id: String,
        /// Id of another entry of the same type
        #[arg(long, value_name = "ID")]
        into: String,
    },
    /// Report the use of an entry (default: applied)
    Boost {
        /// Id of the entry
        id: String,
        /// The entry was confirmed
        #[arg(long, group = "how")]
        validated: bool,
        /// It prevented a mistake
        #[arg(long, group = "how")]
        prevented: bool,
        /// It was applied and did not help
        #[arg(long, group = "how")]
        did_not_help: bool,
    },
    /// Set the confidence in an entry
    Confidence {
        /// Id of the entry
        id: String,
        /// Confidence, from 0 to 1
        #[arg(long, value_name = "X")]
        set: f64,
        /// Reason
        #[arg(long, value_name = "TEXT")]
        reason: String,
        /// Author (default: the agent, or human)
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
    /// Pin an entry: exempt it from decay and from the holdout
    Pin {
        /// Id of the entry
        id: String,
        /// Unpin it
        #[arg(long)]
        off: bool,
    },
    /// List confirmed fixes that could become a pattern
    Proposals,
    /// Decline to make a pattern of a fix
    Decline {
        /// Id of the fix
        fix: String,
        /// Reason
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// Author (default: the agent, or human)
        #[arg(long, value_name = "NAME")]
        by: Option<String>,
    },
    /// Export all entries as Markdown or JSON
    Export {
        /// Only entries of this type
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
    },
    /// List the latest changes: who, when, what
    Log {
        /// Maximum number of results
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: usize,
    },
    /// List entry types with their JSON Schemas
    Types,
}

/// Add an entry
#[derive(Debug, clap::Args)]
struct AddArgs {
    /// gotcha, pattern, decision, or a type of your own
    #[arg(value_name = "TYPE")]
    kind: String,
    /// Title, one line
    #[arg(long, required_unless_present = "from_fix")]
    title: Option<String>,
    /// Fill in the diff, files and failure of a fix; for a pattern
    #[arg(long, value_name = "ID")]
    from_fix: Option<String>,
    /// A property: `pitfall=…`, `fix=…`; repeat it for each item of a list
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Properties as a JSON object
    #[arg(long, value_name = "JSON")]
    properties: Option<String>,
    /// Files that the entry is about, as globs (`src/db/**`, `**/*.py`)
    #[arg(long, value_name = "GLOB", num_args = 1.., value_delimiter = ',')]
    files: Vec<String>,
    /// Actions for which it matters: CREATE, UPDATE, DELETE, VERIFY, …
    #[arg(long, value_name = "ACTION", num_args = 1.., value_delimiter = ',')]
    action: Vec<String>,
    /// Tags to find it by
    #[arg(long, value_name = "TAG", num_args = 1.., value_delimiter = ',')]
    tag: Vec<String>,
    /// Ids of its sources: a pattern, a fix, a failure; they let warnings from it be measured
    #[arg(long, value_name = "ID", num_args = 1.., value_delimiter = ',')]
    from: Vec<String>,
    /// Source (default: human, or the agent that runs this)
    #[arg(long, value_parser = ["human", "check", "agent"])]
    source: Option<String>,
    /// It prevented a mistake (default: it was learnt from one)
    #[arg(long)]
    prevented: bool,
    /// Its fix worked
    #[arg(long)]
    fix_applied: bool,
    /// Author (default: the agent, or human)
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

#[derive(Debug, clap::Args)]
struct EntrySelection {
    /// Only entries of this type
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// Only entries about these files
    #[arg(long, value_name = "FILE", num_args = 1.., value_delimiter = ',')]
    files: Vec<PathBuf>,
    /// Only entries for this action
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// Only entries with this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only entries with this source id
    #[arg(long, value_name = "ID")]
    from: Option<String>,
    /// Minimum confidence, from 0 to 1
    #[arg(long, default_value_t = 0.0, value_name = "X")]
    min_confidence: f64,
    /// Sort by time instead of by score
    #[arg(long)]
    recent: bool,
    /// Include superseded entries
    #[arg(long)]
    superseded: bool,
    /// Maximum number of results
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Page of the results, from 1
    #[arg(long, default_value_t = 1, value_name = "N")]
    page: usize,
}

impl EntrySelection {
    /// # Errors
    /// When there is no such type, or the confidence is none.
    fn check(&self, settings: &Settings) -> anyhow::Result<()> {
        if let Some(kind) = &self.kind {
            let all = entry_types(&settings.knowledge);
            let known: Vec<&str> = all.keys().map(String::as_str).collect();
            anyhow::ensure!(
                all.contains_key(kind),
                Refusal::usage(format!("unknown type {kind:?}; there are {}", known.join(", ")))
                    .then_run("knowledge types")
            );
        }
        anyhow::ensure!(
            (0.0..=1.0).contains(&self.min_confidence),
            Refusal::usage(format!("confidence must be between 0 and 1, not {}", self.min_confidence))
        );
        Ok(())
    }

    fn asked(&self, text: String) -> EntryQueryRequest {
        EntryQueryRequest {
            text,
            files: self.files.clone(),
            filter: EntryFilter {
                kind: self.kind.as_deref().map(EntryTypeName::from),
                tag: self.tag.as_ref().map(|tag| tag.to_lowercase()),
                action: self.action.as_ref().map(|action| action.to_uppercase()),
                source: self.from.clone(),
                superseded: self.superseded,
            },
            min_confidence: self.min_confidence,
            recent: self.recent,
            limit: self.limit,
            page: self.page,
        }
    }
}

pub(super) fn run(args: &Args, context: &mut CommandContext) -> anyhow::Result<Exit> {
    if let KnowledgeAction::Relevant { task, .. } = &args.action {
        let given = Identity { task: task.clone(), ..Identity::default() };
        context.request.identity = Request::identify_caller(given);
    }
    context.output.use_pager(args.paging.pager);
    let CommandContext { request, output } = context;
    match &args.action {
        KnowledgeAction::Add(add) => output.reply(&add_entry(add, request)?, args.json, printing::added)?,
        KnowledgeAction::Query { text, which } => {
            which.check(request.settings())?;
            let found = knowledge::query_entries(request, &which.asked(text.join(" ")))?;
            output.reply(&found, args.json, printing::found)?;
        }
        KnowledgeAction::Relevant { which, .. } => {
            which.check(request.settings())?;
            let (found, mut served) = knowledge::relevant_knowledge(request, which.asked(String::new()))?;
            output.reply(&found, args.json, printing::found)?;
            let mut notes: Vec<String> = Vec::new();
            warn::record_pages(&request.places, &mut served, &mut notes);
            notes.iter().for_each(|note| output.note(note));
        }
        KnowledgeAction::Show { id } => {
            output.reply(&knowledge::show_entry(request, id)?, args.json, printing::shown)?;
        }
        KnowledgeAction::Proposals => {
            output.reply(&knowledge::list_proposals(request)?, args.json, printing::proposed)?;
        }
        KnowledgeAction::Decline { fix: id, reason, by } => {
            let fix = fix::decline_pattern(request, id, reason.clone(), by.clone())?;
            output.reply(&KnowledgeDeclineReply { declined: &fix }.into(), args.json, printing::declined)?;
        }
        KnowledgeAction::Export { kind } => {
            let filter = EntryFilter {
                kind: kind.as_deref().map(EntryTypeName::from),
                superseded: true,
                ..EntryFilter::default()
            };
            output.reply(&knowledge::export_entries(request, &filter)?, args.json, printing::exported)?;
        }
        KnowledgeAction::Log { limit } => {
            output.reply(&knowledge::read_log(request, *limit)?, args.json, printing::logged)?;
        }
        KnowledgeAction::Types => {
            let types = entry_types(&request.settings().knowledge);
            output.reply(&KnowledgeTypesReply { types: &types }.into(), args.json, printing::listed)?;
        }
        KnowledgeAction::Supersede { id, with } => {
            output.reply(&knowledge::supersede_entry(request, id, with)?, args.json, printing::changed)?;
        }
        KnowledgeAction::Merge { id, into } => {
            output.reply(&knowledge::merge_entries(request, id, into)?, args.json, printing::changed)?;
        }
        KnowledgeAction::Boost { id, validated, prevented, did_not_help } => {
            let how = match (validated, prevented, did_not_help) {
                (true, _, _) => EntryUse::Validated,
                (_, true, _) => EntryUse::Prevented,
                (_, _, true) => EntryUse::DidNotHelp,
                _ => EntryUse::Applied,
            };
            output.reply(&knowledge::boost_entry(request, id, how)?, args.json, printing::changed)?;
        }
        KnowledgeAction::Confidence { id, set, reason, by } => {
            let changed = knowledge::set_confidence(request, id, *set, (reason, by.as_deref()))?;
            output.reply(&changed, args.json, printing::changed)?;
        }
        KnowledgeAction::Pin { id, off } => {
            output.reply(&knowledge::pin_entry(request, id, !off)?, args.json, printing::changed)?;
        }
    }
    Ok(Exit::Ok)
}

fn add_entry(add: &AddArgs, request: &Request) -> anyhow::Result<Reply<EntryAddReply>> {
    let mut given = given(add, request.settings())?;
    if let Some(fix) = &add.from_fix {
        if add.kind != EntryTypeName::PATTERN.as_str() {
            let step = format!("knowledge add pattern --from-fix {fix}");
            bail!(Refusal::usage("a fix makes an entry of type pattern").then_run(step));
        }
        given = given.merge_over(knowledge::draft_from_fix(request, fix)?);
    }
    knowledge::add_entry(request, &given)
}

fn given(args: &AddArgs, settings: &Settings) -> anyhow::Result<EntryDraft> {
    let source = args.source.as_deref().map(|source| match source {
        "human" => EntrySource::Human,
        "check" => EntrySource::Check,
        _ => EntrySource::Agent,
    });
    let mut properties = match &args.properties {
        None => Map::new(),
        Some(text) => match serde_json::from_str(text)
            .map_err(|error| Refusal::usage(format!("--properties is not JSON: {error}")))?
        {
            Value::Object(properties) => properties,
            _ => bail!(Refusal::usage("--properties is not a JSON object, such as '{\"pitfall\": \"…\"}'")),
        },
    };
    let schema = entry_types(&settings.knowledge).remove(&args.kind).map(|entry_type| entry_type.schema);
    for set in &args.set {
        let Some((name, value)) = set.split_once('=') else {
            bail!(Refusal::usage(format!("--set {set:?} has no `=`: write NAME=VALUE")))
        };
        let (name, value) = (name.trim().to_owned(), Value::String(value.to_owned()));
        if schema.as_ref().is_some_and(|schema| schema.is_list(&name)) {
            match properties.entry(name).or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(items) => items.push(value),
                other => *other = value,
            }
        } else {
            drop(properties.insert(name, value))
        }
    }
    Ok(EntryDraft {
        kind: EntryTypeName::from(args.kind.as_str()),
        title: args.title.clone().unwrap_or_default(),
        properties,
        globs: args.files.clone(),
        actions: args.action.clone(),
        tags: args.tag.clone(),
        sources: args.from.clone(),
        source,
        prevented: args.prevented,
        fix_applied: args.fix_applied,
        person: args.by.clone(),
    })
}
