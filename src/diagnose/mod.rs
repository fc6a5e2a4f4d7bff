//! From output to items, affected files, kept lines and a category. No I/O; cannot fail.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::base::arena;
use crate::base::text::lines;
use crate::base::tree::FileTree;
use crate::redact;
use crate::run::CommandEnd;
use crate::whitelist::CheckKind;

mod assemble;
mod baseline;
mod block;
mod catalog;
mod category;
mod choice;
mod clean;
mod collected;
pub mod coloured;
mod definition;
mod engine;
mod first_bytes;
mod form;
mod generic;
mod imported;
mod inline;
mod jsonlines;
mod layers;
mod located;
mod missing;
mod named;
mod padded;
mod passing;
mod paths;
mod progress;
mod rule_regex;
mod shortfall;
mod skeleton;
mod streams;
mod structured;
mod surroundings;
mod texts;
mod volume;

pub use crate::config::Category;
pub use baseline::Baseline;
pub use clean::clean_output;
pub use collected::{RunnerSummary, count_ran};
pub use layers::{DefinitionFault, DefinitionFile, DefinitionSet, attachment_names};
pub use shortfall::Shortfall;
pub use skeleton::{Skeleton, draft_skeleton};

/// How bad an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Informational.
    Info,
    /// A warning.
    Warning,
    /// An error or a failing test.
    Error,
}

impl Severity {
    /// The word that definitions, events and reports use.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// One diagnostic or failing test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The tool definition that found it (`eslint`, `generic`).
    pub tool: String,
    /// Rule code, error code or exception class (`no-undef`, `E0308`, `TypeError`).
    pub code: Option<String>,
    /// The severity.
    pub severity: Severity,
    /// The file, relative to the root when it is inside.
    pub file: Option<String>,
    /// Line, 1-based.
    pub line: Option<u32>,
    /// Column, 1-based, as printed.
    pub col: Option<u32>,
    /// The message, without location and code; may have several lines.
    pub message: String,
    /// The failing test's name as the runner prints it.
    pub test: Option<String>,
    /// Lines of the cleaned output that the item covers, 0-based, end exclusive.
    pub span: (usize, usize),
}

/// What was found in one run's output.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// `None` when nothing failed.
    pub category: Option<Category>,
    /// Affected files: sorted, unique, relative to the root.
    pub files: Vec<String>,
    /// Items in output order.
    pub items: Vec<Diagnostic>,
    /// Diagnostics that did not make the run fail: warnings beside errors, in output order.
    #[serde(default)]
    pub others: Vec<Diagnostic>,
    /// Items beyond the limit, not listed.
    pub items_cut: usize,
    /// Where a tool counts more than was read of its output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortfalls: Vec<Shortfall>,
    /// The lines worth keeping, in output order, at most `EVENT_LINES_BYTES_MAX` (the lesson applies its own budget).
    pub lines: Vec<String>,
    /// Lines worth keeping beyond that.
    #[serde(default)]
    pub lines_cut: usize,
    /// Lines of an output with very many that were not looked at.
    #[serde(default)]
    pub lines_unread: usize,
    /// Secrets replaced in the output.
    pub redactions: usize,
}

/// What a diagnosis looks at.
#[derive(Clone, Copy)]
pub struct DiagnosisInput<'a> {
    /// The captured output, both streams in the order they came, as raw bytes.
    pub output: &'a [u8],
    /// The shell-quoted command line; `""` when unknown.
    pub command: &'a str,
    /// The whitelist's name of the tool.
    pub tool: Option<&'a str>,
    /// What the check does.
    pub kind: Option<CheckKind>,
    /// How the command ended.
    pub ended: CommandEnd,
    /// The working directory relative to the root; `""` is the root.
    pub dir: &'a str,
    /// The root's absolute path; `""` when unknown.
    pub root: &'a str,
    /// The project's files.
    pub tree: &'a dyn FileTree,
    /// The masked lines of the last passing output of the same command.
    pub baseline: Option<&'a Baseline>,
    /// What is known of tools.
    pub definitions: &'a DefinitionSet,
}

/// The output as it may be kept: terminal control resolved, secrets replaced.
pub fn plain_text(output: &[u8]) -> String {
    redact::redact_text(&clean::clean_output(output)).0.into_owned()
}

/// [`plain_text`] with the colours of every line that is as it was printed.
pub fn coloured_text(output: &[u8]) -> String {
    coloured::with_colours(plain_text(output), output)
}

/// The text that is read: terminal control resolved, wrapped text unwrapped, without the times of a log. Secrets are
/// still in it.
pub fn text_of(output: &[u8]) -> Cow<'_, str> {
    timed_text_of(output).0
}

/// [`text_of`], with the times.
fn timed_text_of(output: &[u8]) -> (Cow<'_, str>, Vec<String>) {
    let (text, times, _) = bounded_text_of(output);
    (text, times)
}

/// [`timed_text_of`], with how many lines are left out.
fn bounded_text_of(output: &[u8]) -> (Cow<'_, str>, Vec<String>, usize) {
    let (text, unread) = volume::bound_text(jsonlines::unwrap_json_lines(clean::clean_output(output)));
    let (text, times) = streams::without_times(text);
    (text, times, unread)
}

/// Begins to read the shipped definitions, on a thread of its own; whoever needs them before they are there waits.
/// That work is for nothing where there are definitions of the user's or the project's, and then nothing waits for
/// it.
pub fn prepare_catalog() {
    // Without a thread they are read when they are needed.
    let _ = std::thread::Builder::new().spawn(|| arena::apart(|| catalog::shipped_catalog().literal_count()));
}

/// Turns a run's output into items, affected files, kept lines and a category.
pub fn diagnose_output(input: &DiagnosisInput<'_>) -> Diagnosis {
    examine_output(input, None)
}

/// The diagnosis. `relevant` gets all lines that have to do with the failure, before the budget chose among them.
fn examine_output(input: &DiagnosisInput<'_>, relevant: Option<&mut String>) -> Diagnosis {
    if input.ended.passed() {
        return Default::default();
    }
    let (text, mut times, lines_unread) = bounded_text_of(input.output);
    let (text, redactions) = redact::redact_text(&text);
    let lines: Vec<&str> = lines(&text).collect();
    // A secret of several lines was replaced: which time belongs to which line isn't known any more.
    if times.len() != lines.len() {
        times.clear();
    }
    let catalog = input.definitions.catalog();
    let kept_texts = texts::TextPool::new();
    let named = named_tools(input, catalog, &lines);
    let streams = streams::split_streams(&lines);
    let outcome = engine::run(catalog, &lines, &streams, &named, &kept_texts, engine::may_have_drives(&text));
    let documents = structured::find_documents(&text);
    let assembled = assemble::AssembledDiagnostics::new(input, catalog, &named, &lines, streams, outcome, documents);
    let kept = assembled.kept_lines(&times);
    if let Some(relevant) = relevant {
        *relevant = assembled.relevant_text();
    }
    let relevant = || assembled.relevant_text();
    let category = category::decide_category(
        input,
        catalog,
        assembled.failing_diagnostics(),
        &named,
        assembled.live_tools(),
        (assembled.located_diagnostics(), relevant),
        &lines,
    );
    let (mut items, items_cut) = assembled.listed_diagnostics();
    let (mut files, mut others, shortfalls) =
        (assembled.affected_files(), assembled.other_diagnostics(), assembled.find_shortfalls());
    let named = items.iter_mut().chain(&mut others).filter_map(|item| item.file.as_mut());
    redact_paths(files.iter_mut().chain(named));
    Diagnosis {
        category: Some(category),
        files,
        items,
        others,
        items_cut,
        shortfalls,
        lines: kept.lines,
        lines_cut: kept.cut,
        lines_unread,
        redactions,
    }
}

/// Replaces the secrets that came into paths from the names of folders, not from the output.
fn redact_paths<'a>(paths: impl Iterator<Item = &'a mut String>) {
    let mut known: HashMap<String, Option<String>> = HashMap::new();
    for path in paths {
        let clean = known.entry(path.clone()).or_insert_with_key(|path| match redact::redact_text(path) {
            (_, 0) => None,
            (clean, _) => Some(clean.into_owned()),
        });
        if let Some(clean) = clean {
            path.clone_from(clean);
        }
    }
}

/// Which definitions the command names, by the whitelist's name, by its words, or by the words of the commands that a
/// script runner shows (`> eslint .`).
fn named_tools(input: &DiagnosisInput<'_>, catalog: &catalog::Catalog, lines: &[&str]) -> Vec<bool> {
    let mut commands = vec![command_words(input.command)];
    let shown = lines.iter().filter(|line| line.len() < SHOWN_COMMAND_BYTES_MAX);
    let shown = shown.filter_map(|line| line.trim_start().strip_prefix("> ").or_else(|| line.strip_prefix("$ ")));
    commands.extend(shown.take(SHOWN_COMMANDS_MAX).map(command_words));
    let is_named = |name: &String| input.tool == Some(name) || commands.iter().any(|words| names_program(words, name));
    catalog.tools.iter().map(|tool| tool.tools.iter().any(is_named)).collect()
}

/// Commands shown by script runners that are looked at, and the bytes of one.
const SHOWN_COMMANDS_MAX: usize = 50;
const SHOWN_COMMAND_BYTES_MAX: usize = 400;

/// The words of a command line, programs without their folders. What a shell is given to run is looked into
/// (`sh -c 'eslint .'`), so quotes only part words here; the tokenizer of `command` would keep them together.
fn command_words(command: &str) -> Vec<String> {
    let split = |c: char| c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '\'' | '"');
    let words = command.split(split).filter(|word| !word.is_empty());
    words.map(|word| word.rsplit('/').next().unwrap_or(word).to_owned()).collect()
}

/// Whether the words hold the whitelist's name: as one word (`vue-tsc`) or as several (`cargo-test`: `cargo test`).
fn names_program(words: &[String], name: &str) -> bool {
    if words.iter().any(|word| word == name) {
        return true;
    }
    let parts: Vec<&str> = name.split('-').collect();
    parts.len() > 1
        && words.windows(parts.len()).any(|window| window.iter().zip(&parts).all(|(word, part)| word == part))
}

#[cfg(test)]
mod tests;
