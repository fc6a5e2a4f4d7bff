//! D2: whether a decision of a change is recorded (MADR, Nygard and similar forms).

use std::sync::LazyLock;

use regex::Regex;

use super::decision::{DecisionTrigger, LOOKED_FOR, find_triggers};
use super::heading::{
    DocumentHeading, DocumentLine, document_lines, find_headings, front_matter, has_word, section_end,
};
use super::reference::find_referenced;
use super::{ChangedDocument, DocumentAnswer, DocumentFinding};

/// Records of a folder; further ones are not read.
pub(crate) const RECORDS_MAX: usize = 2_000;
/// Lines in which a status outside of a section is looked for.
const STATUS_LINES_MAX: usize = 40;

/// The state of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecisionStatus {
    /// Under discussion.
    Proposed,
    /// In force.
    Accepted,
    /// Decided against.
    Rejected,
    /// No longer followed.
    Deprecated,
    /// Replaced by another one.
    Superseded,
}

impl DecisionStatus {
    /// The beginnings of the words for each status.
    const WORDS: [(DecisionStatus, &'static [&'static str]); 5] = [
        // First, because another status may be listed beside it.
        (DecisionStatus::Superseded, &["superseded", "superceded", "substituído", "substituída", "substituido"]),
        (DecisionStatus::Deprecated, &["deprecated", "depreciado", "depreciada", "obsoleto", "obsoleta"]),
        (DecisionStatus::Rejected, &["rejected", "rejeitado", "rejeitada"]),
        (DecisionStatus::Accepted, &["accepted", "approved", "aceito", "aceita", "aprovado", "aprovada"]),
        (DecisionStatus::Proposed, &["proposed", "draft", "proposto", "proposta"]),
    ];

    /// The status that a text begins with; `None` for a template that lists all of them.
    fn parse(text: &str) -> Option<DecisionStatus> {
        let text = text.trim().trim_matches(['"', '\'', '*', '_', '`', '[']).trim();
        if text.contains('|') || text.starts_with('{') {
            return None;
        }
        let word = text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty())?.to_lowercase();
        let known = DecisionStatus::WORDS.iter().find(|(_, words)| words.contains(&word.as_str()));
        known.map(|(status, _)| *status)
    }
}

/// A decision record, as far as it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecisionRecord {
    /// The file, relative to the root.
    pub path: String,
    /// The number in the file's name.
    pub number: Option<u32>,
    /// The title.
    pub title: Option<String>,
    /// The status.
    pub status: Option<DecisionStatus>,
    /// Whether a section about the context has text.
    pub has_context: bool,
    /// Whether a section about the decision has text.
    pub has_decision: bool,
}

impl DecisionRecord {
    /// Reads a record.
    pub(crate) fn parse(path: &str, text: &str) -> DecisionRecord {
        let lines = document_lines(text);
        let headings = find_headings(&lines);
        let title = headings.first().filter(|heading| !is_section_title(&heading.title));
        let title = title.map(|heading| heading.title.clone()).or_else(|| front_value(text, "title"));
        let has_section = |is_titled: &dyn Fn(&str) -> bool| {
            let named = (0..headings.len()).filter(|index| is_titled(&headings[*index].title));
            named.into_iter().any(|index| has_text(&lines, &headings, index))
        };
        DecisionRecord {
            path: path.to_owned(),
            number: number_of(path),
            title: title.filter(|title| title.chars().any(char::is_alphanumeric)),
            status: find_status(text, &lines, &headings),
            has_context: has_section(&is_context_title),
            has_decision: has_section(&is_decision_title),
        }
    }

    /// What the record lacks, for people; empty for one that counts.
    pub(crate) fn missing_parts(&self) -> Vec<&'static str> {
        let parts = [
            (self.title.is_some(), "a title"),
            (self.status.is_some(), "a status (proposed, accepted, rejected, deprecated, superseded)"),
            (self.has_context, "a context section with text"),
            (self.has_decision, "a decision section with text"),
        ];
        parts.iter().filter(|(is_there, _)| !is_there).map(|(_, part)| *part).collect()
    }
}

static RECORD_NUMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)^(?:adr[-_]?)?0*(\d{1,6})(?:\D|$)").expect("a valid pattern"));

fn number_of(path: &str) -> Option<u32> {
    let name = path.rsplit('/').next().unwrap_or(path);
    RECORD_NUMBER.captures(name)?.get(1)?.as_str().parse().ok()
}

fn is_context_title(title: &str) -> bool {
    has_word(title, &["context", "contexto", "problem", "problema", "background"])
}

fn is_decision_title(title: &str) -> bool {
    has_word(title, &["decision", "outcome", "decisão", "decisao", "decisión", "resolution"])
        && !has_word(title, &["drivers", "driver", "makers", "criteria", "fatores", "considered"])
}

fn is_section_title(title: &str) -> bool {
    has_word(title, &["status", "estado"]) || is_context_title(title) && title.split(' ').count() <= 2
}

/// Whether the section has a visible line that is neither a heading nor a placeholder.
fn has_text(lines: &[DocumentLine<'_>], headings: &[DocumentHeading], index: usize) -> bool {
    let (start, end) = (headings[index].body_line, section_end(headings, index));
    let is_title = |number: u32| {
        let at = headings.partition_point(|heading| heading.body_line <= number);
        headings.get(at).is_some_and(|heading| heading.line <= number)
    };
    let from = lines.partition_point(|line| line.number < start);
    lines[from..]
        .iter()
        .take_while(|line| line.number < end)
        .any(|line| line.is_visible() && !is_title(line.number) && !is_placeholder(line.text.trim()))
}

fn is_placeholder(text: &str) -> bool {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '{' | '}'));
    let is_template = text.starts_with('{') && text.ends_with('}');
    let word = text.to_lowercase();
    is_template || ["", "todo", "tbd", "n/a", "none", "wip", "a definir"].contains(&word.as_str())
}

/// The value of a key in the front matter, unquoted.
fn front_value(text: &str, key: &str) -> Option<String> {
    let (matter, _) = front_matter(text)?;
    let value = matter.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':'))?;
    let value = value.trim().trim_matches(['"', '\'']).trim();
    (!value.is_empty()).then(|| value.to_owned())
}

static STATUS_LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*(?:[-*+]\s+|\|\s*)?[*_]{0,3}(?:status|estado)[*_]{0,3}\s*[:|][*_]{0,3}\s*(.+)$")
        .expect("a valid pattern")
});

/// The status in the front matter, in a line `* Status: accepted` near the top, or in a section of this name.
fn find_status(text: &str, lines: &[DocumentLine<'_>], headings: &[DocumentHeading]) -> Option<DecisionStatus> {
    if let Some(status) = front_value(text, "status") {
        return DecisionStatus::parse(&status);
    }
    for line in lines.iter().filter(|line| line.is_visible()).take(STATUS_LINES_MAX) {
        if let Some(value) = STATUS_LINE.captures(&line.text).and_then(|groups| groups.get(1)) {
            return DecisionStatus::parse(value.as_str().trim_end_matches([' ', '|']));
        }
    }
    let index = headings.iter().position(|heading| has_word(&heading.title, &["status", "estado"]))?;
    let (start, end) = (headings[index].body_line, section_end(headings, index));
    let body = lines.iter().filter(|line| line.number >= start && line.number < end && line.is_visible());
    let found: Vec<DecisionStatus> = body
        .filter_map(|line| DecisionStatus::parse(line.text.trim_start().trim_start_matches(['-', '*', '+'])))
        .collect();
    // adr-tools appends "Superseded by …" below the first status.
    found.iter().find(|status| **status == DecisionStatus::Superseded).or(found.first()).copied()
}

/// The folders of decision records that exist among these files: the one that `.adr-dir` names, else those of the list.
/// A name that leads out of the tree is ignored.
pub(crate) fn adr_folders(adr_dir: Option<&str>, places: &[String], files: &[String]) -> Vec<String> {
    let named = adr_dir.and_then(|text| text.lines().next()).map(str::trim).unwrap_or_default();
    let named = named.trim_start_matches("./").trim_end_matches('/').to_owned();
    let is_inside = !named.is_empty() && !named.starts_with('/') && !named.split('/').any(|part| part == "..");
    let listed = places.iter().filter(|place| *place != ".adr-dir").map(|place| place.trim_end_matches('/').to_owned());
    let is_used = |folder: &String| files.iter().any(|file| is_below(file, folder));
    is_inside.then_some(named).into_iter().chain(listed).filter(is_used).collect()
}

fn is_below(file: &str, folder: &str) -> bool {
    file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a file is a decision record by its place and name: no index, no template.
pub(crate) fn is_adr_file(path: &str, folders: &[String]) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let is_other = ["readme", "index", "template", "_index", "contributing", "summary"].contains(&stem)
        || stem.starts_with("template")
        || stem.ends_with("template");
    ["md", "markdown", "adoc", "rst"].contains(&extension) && !is_other && folders.iter().any(|it| is_below(path, it))
}

/// What the decision records of a change are judged by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AdrInputs<'a> {
    /// The folders that were looked at, for people.
    pub places: &'a [String],
    /// Every record of the tree, with its text in the base.
    pub records: &'a [ChangedDocument<'a>],
    /// The PRP.
    pub prp: Option<&'a str>,
    /// The messages of the change's commits.
    pub commit_messages: &'a [&'a str],
    /// The changed files, manifests with their texts.
    pub changes: &'a [ChangedDocument<'a>],
    /// The files of the base.
    pub base_paths: &'a [String],
}

/// Judges the decision records: one that the change adds or edits, or one that the PRP or a commit message names.
pub(crate) fn judge_adr(inputs: &AdrInputs<'_>) -> DocumentAnswer {
    let mut findings = Vec::new();
    let mut records = Vec::new();
    for document in inputs.records.iter().take(RECORDS_MAX) {
        let Some(text) = document.after else { continue };
        let record = DecisionRecord::parse(document.path, text);
        let missing = record.missing_parts();
        if !document.fresh_texts().is_empty() {
            if missing.is_empty() {
                let verb = if document.is_new() { "added" } else { "changed" };
                return DocumentAnswer::met(format!("{verb} {}", document.path));
            }
            if document.is_new() {
                let message = format!("the decision record lacks {}", missing.join(", "));
                findings.push(DocumentFinding::in_file(document.path, None, message));
            }
        }
        records.push(record);
    }
    let has_unfinished_record = !findings.is_empty();
    let prp = inputs.prp.map(|text| ("the PRP", super::bounded(text)));
    let messages = inputs.commit_messages.iter().map(|text| ("a commit message", super::bounded(text)));
    for (source, text) in prp.into_iter().chain(messages) {
        for record in find_referenced(text, &records) {
            let missing = record.missing_parts();
            let message = match record.status {
                Some(DecisionStatus::Superseded) => {
                    format!("{source} names this decision record, but it is superseded")
                }
                _ if missing.is_empty() => return DocumentAnswer::met(format!("{source} names {}", record.path)),
                _ => format!("{source} names this decision record, but it lacks {}", missing.join(", ")),
            };
            findings.push(DocumentFinding::in_file(&record.path, None, message));
        }
    }
    let triggers = find_triggers(inputs.prp, inputs.changes, inputs.base_paths);
    if triggers.is_empty() && !has_unfinished_record {
        return DocumentAnswer::not_applicable(format!("nothing asks for a decision record; looked for {LOOKED_FOR}"));
    }
    if findings.is_empty() {
        let places = if inputs.places.is_empty() { "no folder".to_owned() } else { inputs.places.join(", ") };
        let message = format!("no decision record is added, changed or named by this change (looked in {places})");
        findings.push(DocumentFinding::new(message));
    }
    let finding = |trigger: DecisionTrigger| DocumentFinding {
        path: trigger.path,
        line: trigger.line,
        message: format!("asks for a decision record: {}", super::shown(&trigger.reason)),
    };
    findings.extend(triggers.into_iter().map(finding));
    DocumentAnswer::not_met(findings)
}
