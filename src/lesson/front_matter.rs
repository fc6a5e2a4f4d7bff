//! The front matter. Written by hand in the one form that prettier leaves alone whatever its options are, read with a
//! small budget.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Error, LessonFacts, conflict};
use crate::base::clock::Timestamp;
use crate::run::CommandEnd;

/// Version of the front matter; a reader refuses a higher one.
pub const LESSON_SCHEMA: u32 = 1;
/// A list of files longer than this is written by folder, bytes.
const FILES_BYTES_MAX: usize = 11 << 10;
/// … and what takes more than this is cut, bytes.
const FOLDERS_BYTES_MAX: usize = 40 << 10;
/// Patterns that are listed.
const PATTERNS_MAX: usize = 500;
/// A value with spaces may be folded by a formatter when its line is longer than this, characters.
const LINE_CHARS_MAX: usize = 40;
/// Quotes, indentation and width differ from project to project; behind this comment prettier leaves them.
const AS_IT_IS: &str = "# prettier-ignore\n";
/// Who met the failure, when and at what: another value in every clone.
const PERSONAL: [&str; 6] = ["recorded_at", "task", "session", "agent", "branch", "commit"];
/// A folder's name as a YAML key, bytes: longer keys are not portable.
const FOLDER_BYTES_MAX: usize = 500;

/// What was cut before it got into the lesson.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct LessonCutCounts {
    /// Bytes of output that were not kept.
    pub output_bytes: u64,
    /// Diagnostics and tests beyond the limit.
    pub items: u64,
    /// Affected files beyond the limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub files: u64,
    /// Patterns beyond the limit.
    #[serde(skip_serializing_if = "is_zero")]
    pub patterns: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// A lesson's front matter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LessonFrontMatter {
    /// [`LESSON_SCHEMA`] of the writer.
    pub schema: u32,
    /// `l-…`
    pub id: String,
    /// When the run ended; in a lesson that the team shares, when its file was last written here.
    #[serde(default)]
    pub recorded_at: Timestamp,
    /// The check.
    #[serde(default)]
    pub tool: String,
    /// The tool that found it, where that is another one than the check (a script, a build tool).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_by: Option<String>,
    /// The command line.
    #[serde(default)]
    pub command: String,
    /// Where it ran, relative to the root; empty at the root.
    #[serde(default)]
    pub directory: String,
    /// The exit code, unless a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// The signal's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// The category's name.
    #[serde(default)]
    pub category: String,
    /// Affected files, all of them.
    #[serde(default, deserialize_with = "deserialize_files")]
    #[cfg_attr(test, schemars(schema_with = "files_schema"))]
    pub files: Vec<String>,
    /// Patterns of its items.
    #[serde(default)]
    pub patterns: Vec<String>,
    /// Task of the run.
    #[serde(default)]
    pub task: Option<String>,
    /// Session of the worker.
    #[serde(default)]
    pub session: Option<String>,
    /// Agent, the kind of worker.
    #[serde(default)]
    pub agent: Option<String>,
    /// The branch.
    #[serde(default)]
    pub branch: Option<String>,
    /// The commit.
    #[serde(default)]
    pub commit: Option<String>,
    /// Secrets replaced.
    #[serde(default)]
    pub redactions: u64,
    /// What was cut.
    #[serde(default)]
    pub cut: LessonCutCounts,
    /// Why it happened. Empty until annotated.
    #[serde(default)]
    pub cause: Option<String>,
    /// What made it go away.
    #[serde(default)]
    pub resolution: Option<String>,
    /// What to do so that it does not happen again.
    #[serde(default)]
    pub corrective_rule: Option<String>,
}

/// A lesson file, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Lesson {
    /// Its front matter.
    pub front: LessonFrontMatter,
    /// What follows it, as it is.
    pub body: String,
}

impl Lesson {
    /// The body's first heading, without its mark.
    pub fn title(&self) -> &str {
        self.body.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default().trim()
    }

    /// This one, with what the other side of a merge has beyond it.
    fn merge_with(mut self, other: LessonFrontMatter) -> Self {
        for (list, others) in [(&mut self.front.files, other.files), (&mut self.front.patterns, other.patterns)] {
            list.extend(others);
            list.sort();
            list.dedup();
        }
        let front = &mut self.front;
        for (text, others) in [
            (&mut front.cause, other.cause),
            (&mut front.resolution, other.resolution),
            (&mut front.corrective_rule, other.corrective_rule),
        ] {
            *text = text.take().or(others);
        }
        self
    }
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum FrontMatterFiles {
    /// Paths.
    List(Vec<String>),
    /// Names by folder, of long lists.
    Folders(BTreeMap<String, Vec<String>>),
}

/// Replies list paths; a lesson file may have names by folder instead.
#[cfg(test)]
fn files_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    if generator.contract().is_serialize() {
        generator.subschema_for::<Vec<String>>()
    } else {
        generator.subschema_for::<FrontMatterFiles>()
    }
}

fn deserialize_files<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match FrontMatterFiles::deserialize(deserializer)? {
        FrontMatterFiles::List(files) => files,
        FrontMatterFiles::Folders(folders) => {
            let join = |folder: &str, name: String| if folder == "." { name } else { format!("{folder}/{name}") };
            let mut files: Vec<String> = folders
                .into_iter()
                .flat_map(|(folder, names)| names.into_iter().map(move |name| join(&folder, name)).collect::<Vec<_>>())
                .collect();
            files.sort();
            files
        }
    })
}

/// Reads a lesson file's text. Unknown keys are ignored; line ends and a byte order mark don't matter. Of conflicts that a
/// merge left the first side is read, with what only the other one says and the lists of both.
///
/// # Errors
/// When it has no front matter, the front matter is not what it should be, or a newer version wrote it.
pub fn parse_lesson(text: &str, path: Option<&Path>) -> Result<Lesson, Error> {
    let Some(conflict) = conflict::parse_conflict(text) else { return parse_without_conflict(text, path) };
    let [ours, theirs] = conflict.sides.map(|side| parse_without_conflict(&side, path));
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => Ok(ours.merge_with(theirs.front)),
        (Ok(only), Err(_)) | (Err(_), Ok(only)) => Ok(only),
        (Err(Error::Parse { path, reason, .. }), Err(_)) => Err(Error::Parse { path, line: conflict.line, reason }),
        (Err(error), Err(_)) => Err(error),
    }
}

fn parse_without_conflict(text: &str, path: Option<&Path>) -> Result<Lesson, Error> {
    let fail = |line, reason: String| Error::Parse { path: path.map(Path::to_owned), line, reason };
    let Some(range) = find_front_matter(text) else {
        return Err(fail(1, "no front matter between two lines `---`".to_owned()));
    };
    let body = &text[range.end..];
    let body = body.split_once('\n').map_or("", |(_, body)| body);
    let budget = serde_saphyr::budget! { max_events: 100_000, max_aliases: 0, max_anchors: 0, flow_nesting_limit: 8 };
    let options = serde_saphyr::options! { budget: budget };
    let front: LessonFrontMatter = serde_saphyr::from_str_with_options(&text[range], options).map_err(|error| {
        let line = error.location().map_or(1, |location| usize::try_from(location.line()).unwrap_or(1) + 1);
        fail(line, error.without_snippet().to_string().lines().next().unwrap_or_default().to_owned())
    })?;
    if front.schema > LESSON_SCHEMA {
        return Err(Error::Newer { path: path.map(Path::to_owned), schema: front.schema });
    }
    Ok(Lesson { front, body: body.to_owned() })
}

/// The bytes between the two lines `---`.
fn find_front_matter(text: &str) -> Option<Range<usize>> {
    let mut at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut start = None;
    for line in text[at..].split_inclusive('\n') {
        let fence = line.trim_end() == "---";
        match start {
            None if fence => start = Some(at + line.len()),
            None => return None,
            Some(start) if fence => return Some(start..at),
            Some(_) => {}
        }
        at += line.len();
    }
    None
}

/// `text` with one top-level text of the front matter set, everything else byte for byte as it was.
///
/// `None` when there is no front matter.
pub fn set_front_matter_text(text: &str, key: &str, value: &str) -> Option<String> {
    let range = find_front_matter(text)?;
    let newline = if text[..range.end].contains("\r\n") { "\r\n" } else { "\n" };
    let place = find_key_range(text, &range, key).unwrap_or(range.end..range.end);
    let line = yaml_line(key, &yaml_scalar(value)).replace('\n', newline);
    Some(format!("{}{line}{}", &text[..place.start], &text[place.end..]))
}

/// `text` without what only one contributor's copy of the lesson says.
pub(super) fn shared_front_matter(text: &str) -> String {
    let mut text = text.to_owned();
    for key in PERSONAL {
        if let Some(place) = find_front_matter(&text).and_then(|range| find_key_range(&text, &range, key)) {
            text.replace_range(place, "");
        }
    }
    text
}

/// Where the front matter has a top-level key, with its value and our comment above it.
fn find_key_range(text: &str, range: &Range<usize>, key: &str) -> Option<Range<usize>> {
    let line_of = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
    let (mut at, mut place) = (range.start, None);
    for line in text[range.clone()].split_inclusive('\n') {
        let next = at + line.len();
        match place {
            None if line_of(line) => place = Some(at..next),
            // A block or a folded text goes on while lines are indented or empty.
            Some(ref mut place) if place.end == at && (line.starts_with([' ', '\t']) || line.trim().is_empty()) => {
                place.end = next;
            }
            _ => {}
        }
        at = next;
    }
    let mut place = place?;
    if text[..place.start].replace("\r\n", "\n").ends_with(AS_IT_IS) {
        let comment = text[..place.start].trim_end_matches(['\r', '\n']);
        place.start = comment.rfind('\n').map_or(0, |at| at + 1);
    }
    Some(place)
}

/// The front matter with its two fences and the empty line after it.
pub(super) fn render_front_matter(facts: &LessonFacts) -> String {
    // No dictionary has the words of every tool.
    let mut out = format!("---\n# cspell:disable\nschema: {LESSON_SCHEMA}\n");
    out.push_str(&yaml_line("id", &yaml_scalar(&facts.id)));
    // Of digits and colons alone: it needs no quotes, and every reader takes it for a string or a time.
    out.push_str(&format!("recorded_at: {}\n", facts.recorded_at.rfc3339()));
    out.push_str(&yaml_line("tool", &yaml_scalar(&facts.tool)));
    let found_by = facts.items.first().map(|item| &item.tool);
    if let Some(found_by) = found_by.filter(|tool| !tool.is_empty() && **tool != facts.tool) {
        out.push_str(&yaml_line("found_by", &yaml_scalar(found_by)));
    }
    out.push_str(&yaml_line("command", &yaml_scalar(&facts.command)));
    if !facts.dir.is_empty() {
        out.push_str(&yaml_line("directory", &yaml_scalar(&facts.dir)));
    }
    out.push_str(&match facts.ended {
        CommandEnd::Exit(code) => format!("exit_code: {code}\n"),
        CommandEnd::Signal(signal) => yaml_line("signal", &yaml_scalar(&signal_name(signal))),
    });
    out.push_str(&yaml_line("category", facts.category.as_str()));
    let (files, files_cut) = files_block(&facts.files);
    out.push_str(&files);
    let patterns = &facts.patterns[..facts.patterns.len().min(PATTERNS_MAX)];
    out.push_str(&yaml_list("patterns", patterns));
    let named = [("task", &facts.task), ("agent", &facts.agent), ("branch", &facts.branch), ("commit", &facts.commit)];
    for (key, value) in named {
        if let Some(value) = value {
            out.push_str(&yaml_line(key, &yaml_scalar(value)));
        }
    }
    if facts.redactions > 0 {
        out.push_str(&format!("redactions: {}\n", facts.redactions));
    }
    let cut = [
        ("output_bytes", facts.cut_bytes),
        ("items", facts.items_cut as u64),
        ("files", (facts.files_cut + files_cut) as u64),
        ("patterns", (facts.patterns_cut + facts.patterns.len() - patterns.len()) as u64),
    ];
    if cut.iter().any(|(_, n)| *n > 0) {
        let _ = writeln!(out, "{AS_IT_IS}cut:");
        cut.iter().filter(|(_, n)| *n > 0).for_each(|(key, n)| {
            let _ = writeln!(out, "  {key}: {n}");
        });
    }
    for (key, value) in
        [("cause", &facts.cause), ("resolution", &facts.resolution), ("corrective_rule", &facts.corrective_rule)]
    {
        match value {
            Some(value) => out.push_str(&yaml_line(key, &yaml_scalar(value))),
            None => {
                let _ = writeln!(out, "{key}:");
            }
        }
    }
    out.push_str("---\n\n");
    out
}

/// One key with its value as YAML, in a form that no option of a formatter changes.
fn yaml_line(key: &str, value: &str) -> String {
    let is_quoted = value.starts_with(['"', '\'']);
    let may_fold = value.contains(' ') && key.chars().count() + 2 + value.chars().count() > LINE_CHARS_MAX;
    let comment = if is_quoted || may_fold { AS_IT_IS } else { "" };
    format!("{comment}{key}: {value}\n")
}

/// `SIGSEGV`, or the number of one without a name.
pub(super) fn signal_name(signal: i32) -> String {
    nix::sys::signal::Signal::try_from(signal).map_or_else(|_| signal.to_string(), |signal| signal.as_str().to_owned())
}

fn yaml_list(key: &str, values: &[String]) -> String {
    if values.is_empty() {
        return format!("{key}: []\n");
    }
    let mut out = format!("{AS_IT_IS}{key}:\n");
    for value in values {
        let _ = writeln!(out, "  - {}", yaml_scalar(value));
    }
    out
}

/// The files: a list, or when that is long a map from folder to names; and how many are not in it.
fn files_block(files: &[String]) -> (String, usize) {
    let plain = yaml_list("files", files);
    if plain.len() <= FILES_BYTES_MAX {
        return (plain, 0);
    }
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in files {
        // An absolute file right below `/` has no folder that could be joined again.
        let (folder, name) = match file.rsplit_once('/') {
            Some((folder, name)) if !folder.is_empty() && folder != "." && folder.len() <= FOLDER_BYTES_MAX => {
                (folder, name)
            }
            Some(_) => return shortened_files(files),
            None => (".", file.as_str()),
        };
        folders.entry(folder).or_default().push(name);
    }
    let mut grouped = format!("{AS_IT_IS}files:\n");
    let mut left = files.len();
    for (folder, names) in folders {
        let before = grouped.len();
        let _ = writeln!(grouped, "  {}:", yaml_scalar(folder));
        for name in &names {
            let _ = writeln!(grouped, "    - {}", yaml_scalar(name));
        }
        if grouped.len() > FOLDERS_BYTES_MAX {
            grouped.truncate(before);
            break;
        }
        left -= names.len();
    }
    if left == files.len() || left == 0 && grouped.len() >= plain.len() {
        shortened_files(files)
    } else {
        (grouped, left)
    }
}

/// As many files as fit, as a list.
fn shortened_files(files: &[String]) -> (String, usize) {
    let mut bytes = 0;
    let fits = |file: &&String| {
        bytes += yaml_scalar(file).len() + 5;
        bytes <= FOLDERS_BYTES_MAX
    };
    let kept = files.iter().take_while(fits).count();
    (yaml_list("files", &files[..kept]), files.len() - kept)
}

/// One string as YAML on one line: plain where every YAML reader takes it for a string, else quoted the way prettier
/// quotes.
fn yaml_scalar(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    if text.chars().any(needs_escape) {
        let mut out = String::from('"');
        for c in text.chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                c if needs_escape(c) => {
                    let _ = write!(out, "\\u{:04X}", u32::from(c));
                }
                c => out.push(c),
            }
        }
        return out + "\"";
    }
    if text.contains('"') { format!("'{}'", text.replace('\'', "''")) } else { format!("\"{text}\"") }
}

/// What YAML can't hold raw, and what could make a line read differently from what it is.
fn needs_escape(c: char) -> bool {
    c == '\\'
        || c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// A commit's hash, as far as it can't be a number.
fn is_commit(text: &str) -> bool {
    let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    matches!(text.len(), 40 | 64) && text.bytes().all(is_hex) && text.bytes().any(|b| matches!(b, b'a'..=b'd' | b'f'))
}

/// Letters first, then what paths and commands are made of, and none of the words that are not strings in YAML 1.1.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    (text.starts_with(|c: char| c.is_ascii_alphabetic()) || is_commit(text))
        && !text.ends_with(' ')
        && !text.contains("  ")
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_./ -+@=".contains(&b))
        && !WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}
