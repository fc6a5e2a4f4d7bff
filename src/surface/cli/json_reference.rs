//! `docs/json.md` and `docs/schema/*.json`: the documents that `--json` prints, from the types that are printed.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::{env, fs, path::Path};

use clap::{Command, CommandFactory};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{Cli, knowledge, lesson, parse, whitelist};
use crate::capture::SpoolHeader;
use crate::gate::review;
use crate::host::{install, shims};
use crate::lesson::LessonFrontMatter;
use crate::ops;
use crate::ops::reply::Reply;
use crate::pattern::PatternPage;

/// A document, and the commands that print it.
struct ReplyShape {
    /// Name of the schema's file, without its extension.
    name: &'static str,
    /// The commands, without `verify-run`.
    commands: &'static [&'static str],
    /// What it is, one sentence.
    about: &'static str,
    schema: fn() -> Value,
}

const fn shape(
    name: &'static str,
    commands: &'static [&'static str],
    about: &'static str,
    schema: fn() -> Value,
) -> ReplyShape {
    ReplyShape { name, commands, about, schema }
}

const REPLIES: [ReplyShape; 84] = [
    shape("last", &["last", "show"], "A recorded run with its diagnostics", reply::<ops::last::LastRun>),
    shape("log", &["log"], "Recorded runs, newest first", reply::<ops::log::RunLog>),
    shape("log-failures", &["log --failures"], "Failures, newest first", reply::<ops::board::failures::FailureLines>),
    shape("lesson-list", &["lesson list"], "Lessons with their front matter", reply::<lesson::LessonListReply>),
    shape("lesson-search", &["lesson search"], "Lessons that match words", reply::<ops::search::LessonHits>),
    shape("lesson-show", &["lesson show"], "A lesson with its text", reply::<ops::board::lessons::LessonShowReply>),
    shape("pattern-list", &["pattern list"], "Failures that share a cause", reply::<ops::pattern::PatternList>),
    shape(
        "pattern-lines",
        &["pattern list --order"],
        "Patterns in a chosen order, page by page; also with a filter alone",
        reply::<ops::board::patterns::PatternLines>,
    ),
    shape("pattern-show", &["pattern show"], "A pattern with its occurrences and remedies", reply::<PatternPage>),
    shape(
        "pattern-candidate",
        &["pattern show --candidate"],
        "What was written into the pattern library",
        reply::<ops::library::CandidatePage>,
    ),
    shape(
        "pattern-explain",
        &["pattern explain"],
        "How a failure gets its fingerprint",
        reply::<ops::explain::PatternExplanation>,
    ),
    shape(
        "pattern-change",
        &["pattern merge", "pattern split", "pattern mute", "pattern deprecate"],
        "A pattern after a change",
        reply::<ops::curate::CurationReply>,
    ),
    shape("fix-list", &["fix list"], "Fixes, and success rates by category", reply::<ops::fix::FixList>),
    shape("fix-list-flakes", &["fix list --flakes"], "Flaky checks", reply::<ops::fix::FlakeList>),
    shape(
        "fix-list-recipes",
        &["fix list --recipes"],
        "Changes tried in two or more tasks",
        reply::<ops::fix::RecipeList>,
    ),
    shape("fix-show", &["fix show", "fix record"], "A fix with its attempts", reply::<ops::fix::FixPage>),
    shape("stats", &["stats"], "Figures with their targets and trends", reply::<ops::stats::Stats>),
    shape(
        "stats-page",
        &["stats --page"],
        "Figures of a page with their definitions",
        reply::<ops::board::figures::FigureList>,
    ),
    shape(
        "dashboard",
        &["dashboard", "dashboard url"],
        "Where a dashboard answers",
        reply::<crate::surface::http::listen::DashboardAddress>,
    ),
    shape(
        "check-diff",
        &["check-diff"],
        "Weakened checks and reverted fixes",
        reply::<ops::check_diff::CheckDiffReport>,
    ),
    shape(
        "gate",
        &["gate run", "gate status"],
        "The last evaluation of the quality gate, in its cycle",
        reply::<ops::gate::GateDocument>,
    ),
    shape(
        "gate-partial",
        &["gate run --only"],
        "Some items of the checklist, without a verdict",
        reply::<ops::gate::PartialEvaluation>,
    ),
    shape(
        "gate-phase",
        &["gate status --phase"],
        "A phase of the task with its circuit breaker",
        reply::<ops::gate::PhasePage>,
    ),
    shape(
        "gate-criteria",
        &["gate criteria list"],
        "Acceptance criteria with their evidence",
        reply::<ops::gate::CriteriaList>,
    ),
    shape("gate-plan", &["gate plan"], "What an evaluation would run", reply::<ops::gate::GatePlan>),
    shape("gate-receipt-list", &["gate receipt list"], "Receipts, newest first", reply::<ops::receipt::ReceiptList>),
    shape(
        "gate-receipt-show",
        &["gate receipt show"],
        "A receipt: a check that passed on one tree",
        reply::<ops::receipt::ReceiptPage>,
    ),
    shape(
        "gate-receipt-check",
        &["gate receipt check"],
        "Whether a receipt covers a command",
        reply::<ops::receipt::ReceiptCheckReply>,
    ),
    shape(
        "gate-receipt-verify",
        &["gate receipt verify"],
        "Whether a file proves that a command passed",
        reply::<ops::receipt::VerifiedReceipt>,
    ),
    shape("ci", &["ci"], "What was reported to the CI system", reply::<ops::ci::CiReply>),
    shape("parse", &["parse --print json"], "What an output means", reply::<parse::ParseDocument>),
    shape(
        "parse-diagnostic",
        &["parse --print diagnostics"],
        "One diagnostic; one document for each line",
        schema::<parse::ParsedDiagnostic>,
    ),
    shape("whitelist-list", &["whitelist list"], "The rules of the whitelist", reply::<whitelist::WhitelistListReply>),
    shape(
        "whitelist-check",
        &["whitelist check"],
        "Problems of the whitelist and the definitions",
        reply::<whitelist::WhitelistCheckReply>,
    ),
    shape(
        "whitelist-explain",
        &["whitelist explain"],
        "Why a command is a check or not",
        reply::<whitelist::WhitelistExplainReply>,
    ),
    shape("warn", &["warn"], "Warnings about known pitfalls", reply::<ops::warn::WarnReply>),
    shape("task", &["task start", "task done", "task show"], "A task", reply::<ops::task::TaskPage>),
    shape("task-phase", &["task phase"], "The phase that the task is in", reply::<ops::gate::TaskPhasePage>),
    shape("task-list", &["task list"], "Tasks, most recent first", reply::<ops::task::TaskListReply>),
    shape("task-similar", &["task similar"], "Similar tasks", reply::<ops::task::SimilarTasks>),
    shape("outcome-ack", &["outcome ack"], "The feedback on a warning", reply::<ops::outcome::AcknowledgementReply>),
    shape("knowledge-add", &["knowledge add"], "The entry that was recorded", reply::<ops::knowledge::EntryAddReply>),
    shape(
        "knowledge-query",
        &["knowledge query", "knowledge relevant", "knowledge export"],
        "Entries, the best match first",
        reply::<ops::knowledge::EntryList>,
    ),
    shape(
        "knowledge-show",
        &["knowledge show"],
        "An entry with its evidence",
        reply::<crate::retrieval::entry_page::EntryPage>,
    ),
    shape(
        "knowledge-change",
        &["knowledge supersede", "knowledge merge", "knowledge boost", "knowledge confidence", "knowledge pin"],
        "An entry after a change",
        reply::<ops::knowledge::EntryChangeReply>,
    ),
    shape(
        "knowledge-proposals",
        &["knowledge proposals"],
        "Patterns that fixes suggest",
        reply::<ops::knowledge::EntryProposalList>,
    ),
    shape(
        "knowledge-decline",
        &["knowledge decline"],
        "The declined proposal",
        reply::<knowledge::KnowledgeDeclineReply>,
    ),
    shape("knowledge-log", &["knowledge log"], "Changes of entries", reply::<ops::knowledge::KnowledgeLog>),
    shape("knowledge-types", &["knowledge types"], "Entry types", reply::<knowledge::KnowledgeTypesReply>),
    shape(
        "strategy-list",
        &["strategy list", "strategy suggest"],
        "Strategies, the most reliable first",
        reply::<ops::strategy::StrategyList>,
    ),
    shape(
        "strategy-change",
        &["strategy add", "strategy attempt"],
        "A strategy after a change",
        reply::<ops::strategy::StrategyChangeReply>,
    ),
    shape(
        "memory-recall",
        &["memory recall", "memory remember", "memory validate"],
        "Memories of the agent",
        reply::<ops::memory::MemoryList>,
    ),
    shape("memory-learn", &["memory learn"], "A memory that becomes an entry", reply::<ops::memory::LearnReply>),
    shape(
        "promote-list",
        &["promote list"],
        "Proposals for CLAUDE.md and AGENTS.md",
        reply::<ops::promote::PromotionList>,
    ),
    shape(
        "promote-show",
        &["promote show"],
        "A proposal with its diff and history",
        reply::<ops::promote::PromotionDetail>,
    ),
    shape(
        "promote-decision",
        &["promote approve", "promote reject", "promote rollback"],
        "Decided proposals",
        reply::<ops::promote::review::DecisionReply>,
    ),
    shape("library-init", &["library init"], "Whether jobs may run here", reply::<ops::library::LibraryConsent>),
    shape("library-jobs", &["library jobs"], "Jobs, the last changed first", reply::<ops::library::JobList>),
    shape(
        "library-job",
        &["library job", "library requeue", "library cancel"],
        "A job with its steps",
        reply::<ops::library::JobPage>,
    ),
    shape("library-work", &["library work"], "Jobs that were run", reply::<ops::library::WorkReply>),
    shape("library-learn", &["library learn"], "What was queued", reply::<ops::library::HarvestReply>),
    shape(
        "library-scenario",
        &["library scenario"],
        "The template of a scenario",
        reply::<ops::library::ScenarioTemplate>,
    ),
    shape("library-verify", &["library verify"], "Whether a proof holds", reply::<ops::library::PageVerification>),
    shape("library-export", &["library export"], "An exported proof", reply::<ops::library::ExportedProof>),
    shape("library-list", &["library list"], "Pages of the pattern library", reply::<ops::library::PageList>),
    shape("library-check", &["library check"], "What is wrong in the library", reply::<ops::library::LibraryCheck>),
    shape("library-stats", &["library stats"], "Figures of jobs and pages", reply::<ops::library::LibraryStats>),
    shape("library-show", &["library show"], "A page with its decisions", reply::<ops::library::PageDetail>),
    shape(
        "library-decision",
        &["library approve", "library reject", "library deprecate", "library restore"],
        "A page after a decision",
        reply::<ops::library::PageDecisionReply>,
    ),
    shape("store-status", &["store status"], "Files and counts of the store", reply::<ops::store::StoreStatus>),
    shape(
        "store-change",
        &["store rebuild", "store backup", "store purge"],
        "What was done to the store",
        reply::<ops::store::StoreReply>,
    ),
    shape("store-export", &["store export"], "Exported segments", reply::<ops::exchange::ExportReport>),
    shape("store-import", &["store import"], "Imported events", reply::<ops::exchange::ImportReport>),
    shape("init", &["init", "hook install"], "What is installed, with diffs", reply::<install::InstallPlan>),
    shape("hook-uninstall", &["hook uninstall"], "What was removed from each file", reply::<install::RemovalReport>),
    shape(
        "hook-status",
        &["hook status"],
        "What is installed and whether it is intact",
        reply::<install::InstallStatus>,
    ),
    shape("shims-status", &["shims status"], "The shims on PATH", reply::<shims::ShimStatus>),
    shape(
        "shims-change",
        &["shims install", "shims uninstall"],
        "Which shims were added and removed",
        reply::<shims::ShimsReply>,
    ),
    shape("doctor", &["doctor"], "Findings about the installation", reply::<ops::doctor::DoctorReport>),
    shape("uninstall", &["uninstall"], "What is kept for this project", reply::<ops::uninstall::UninstallPlan>),
    shape(
        "gate-review-request",
        &[],
        "What a reviewer of the gate gets on its standard input",
        schema::<review::ReviewRequest<'static>>,
    ),
    shape(
        "gate-review-answer",
        &[],
        "What a reviewer of the gate answers; other fields are ignored",
        read_schema::<review::ReviewAnswer>,
    ),
    shape("lesson-front-matter", &[], "The front matter of a lesson file, as JSON", read_schema::<LessonFrontMatter>),
    shape("spool-header", &[], "The first line of a spool file", schema::<SpoolHeader>),
];

const HEAD: &str = "\
# JSON

Commands that print information take `--json` and print one JSON document on standard output, with the version of its
shape as `schema`; notes for people go to standard error. The schemas are JSON Schema (2020-12) and complete: a document
has no field that its schema does not describe. A later version may add fields without raising `schema`.

This page and the schemas are generated from the types that are printed (`UPDATE_DOCS=1 cargo nextest run --lib
reference`). A test runs every command and validates what it prints.
";

/// The schema of what is written of `T`, closed: no other fields.
pub(in crate::surface) fn schema<T: JsonSchema>() -> Value {
    closed_schema::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// As [`schema`], of what `T` is read from: fields with a default may be missing.
fn read_schema<T: JsonSchema>() -> Value {
    closed_schema::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

fn closed_schema<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    close(&mut schema);
    schema
}

/// The schema of the document of a reply with `T`.
pub(in crate::surface) fn reply<T: JsonSchema>() -> Value {
    schema::<Reply<T>>()
}

/// Forbids other fields wherever fields are listed, and takes the brackets of links out of descriptions.
fn close(schema: &mut Value) {
    let Value::Object(keywords) = schema else { return };
    if keywords.contains_key("properties") && !keywords.contains_key("additionalProperties") {
        let is_composed = ["allOf", "anyOf", "oneOf", "$ref"].iter().any(|key| keywords.contains_key(*key));
        let keyword = if is_composed { "unevaluatedProperties" } else { "additionalProperties" };
        keywords.insert(keyword.to_owned(), false.into());
    }
    if let Some(Value::String(text)) = keywords.get_mut("description") {
        *text = text.replace("[`", "`").replace("`]", "`").replace('\n', " ");
    }
    for (keyword, value) in keywords {
        match (keyword.as_str(), value) {
            ("properties" | "$defs", Value::Object(named)) => named.values_mut().for_each(close),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(all)) => all.iter_mut().for_each(close),
            ("items" | "additionalProperties" | "not", one) => close(one),
            _ => {}
        }
    }
}

fn render_page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("\n| command | schema | content |\n| --- | --- | --- |\n");
    for reply in &REPLIES {
        for command in reply.commands {
            let flag = if command.starts_with("parse") { "" } else { " --json" };
            let file = format!("[{0}.json](schema/{0}.json)", reply.name);
            writeln!(page, "| `{command}{flag}` | {file} | {} |", reply.about).expect("a string takes it");
        }
    }
    page.push_str("\nOther documents are described in the same way:\n\n| schema | content |\n| --- | --- |\n");
    for reply in REPLIES.iter().filter(|reply| reply.commands.is_empty()) {
        writeln!(page, "| [{0}.json](schema/{0}.json) | {1} |", reply.name, reply.about).expect("a string takes it");
    }
    page
}

#[test]
fn the_json_reference_is_up_to_date() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let schemas = REPLIES.iter().map(|reply| {
        let text = serde_json::to_string_pretty(&(reply.schema)()).expect("serializes") + "\n";
        (format!("schema/{}.json", reply.name), text)
    });
    for (file, text) in schemas.chain([("json.md".to_owned(), render_page())]) {
        let path = docs.join(&file);
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &text).expect("writes the page");
        }
        let written = fs::read_to_string(&path).unwrap_or_default();
        assert!(written == text, "docs/{file} is out of date: UPDATE_DOCS=1 cargo nextest run --lib reference");
    }
    let known: BTreeMap<String, ()> = REPLIES.iter().map(|reply| (format!("{}.json", reply.name), ())).collect();
    for entry in fs::read_dir(docs.join("schema")).expect("reads docs/schema") {
        let name = entry.expect("an entry").file_name().into_string().expect("UTF-8");
        assert!(name == "settings.json" || known.contains_key(&name), "docs/schema/{name} belongs to no command");
    }
}

#[test]
fn every_command_with_json_has_a_schema() {
    let mut command = Cli::command();
    command.build();
    let mut paths = Vec::new();
    collect_json_commands(&command, "", &mut paths);
    let listed: Vec<&str> = REPLIES.iter().flat_map(|reply| reply.commands.iter().copied()).collect();
    let missing: Vec<&String> = paths.iter().filter(|path| !listed.contains(&path.as_str())).collect();
    assert!(paths.len() > 50 && missing.is_empty(), "without a schema: {missing:?}");
}

#[test]
fn every_verb_with_json_names_the_page_of_the_schemas_once() {
    let mut command = Cli::command();
    command.build();
    let names_page = |command: &Command| {
        command.get_long_about().is_some_and(|about| about.to_string().ends_with("\n\nJSON: docs/json.md"))
    };
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let mut paths = Vec::new();
        collect_json_commands(verb, "", &mut paths);
        // It prints JSON without an option.
        let has_json = !paths.is_empty() || verb.get_name() == "parse";
        assert_eq!(names_page(verb), has_json, "{}", verb.get_name());
        let below = verb.get_subcommands().find(|inner| names_page(inner));
        assert!(below.is_none(), "{} {}", verb.get_name(), below.map_or("", Command::get_name));
    }
}

fn collect_json_commands(command: &Command, path: &str, paths: &mut Vec<String>) {
    let subcommands: Vec<&Command> = command.get_subcommands().filter(|sub| sub.get_name() != "help").collect();
    if subcommands.is_empty() && command.get_arguments().any(|argument| argument.get_id() == "json") {
        paths.push(path.trim_start().to_owned());
    }
    for subcommand in subcommands {
        collect_json_commands(subcommand, &format!("{path} {}", subcommand.get_name()), paths);
    }
}

#[test]
fn every_json_field_is_described() {
    let mut silent = Vec::new();
    for reply in &REPLIES {
        let schema = (reply.schema)();
        collect_silent_fields(&schema, reply.name, &mut silent);
    }
    silent.sort();
    silent.dedup();
    assert!(silent.is_empty(), "without a description:\n{}", silent.join("\n"));
}

fn collect_silent_fields(schema: &Value, path: &str, silent: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else { return };
    for (name, property) in keywords.get("properties").and_then(Value::as_object).unwrap_or(&Map::new()) {
        let path = format!("{path}.{name}");
        let is_tag = property.get("const").is_some();
        if !is_tag && property["description"].as_str().is_none_or(|text| text.trim().len() < 2) {
            silent.push(path.clone());
        }
        collect_silent_fields(property, &path, silent);
    }
    for (name, definition) in keywords.get("$defs").and_then(Value::as_object).unwrap_or(&Map::new()) {
        collect_silent_fields(definition, name, silent);
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        for one in keywords.get(key).and_then(Value::as_array).unwrap_or(&Vec::new()) {
            // The one field that names a variant is described with the variant.
            let is_variant = one["properties"].as_object().is_some_and(|fields| fields.len() == 1);
            if !is_variant || one["description"].is_null() {
                collect_silent_fields(one, path, silent);
            }
        }
    }
    if let Some(items) = keywords.get("items") {
        collect_silent_fields(items, path, silent);
    }
}

#[test]
fn a_closed_schema_lists_its_fields_and_no_others() {
    let mut schema = json!({"properties": {"a": {"properties": {}}}, "oneOf": [], "description": "see [`A`]"});
    close(&mut schema);
    assert_eq!(schema["properties"]["a"]["additionalProperties"], false);
    assert_eq!((&schema["unevaluatedProperties"], &schema["description"]), (&false.into(), &"see `A`".into()));
}
