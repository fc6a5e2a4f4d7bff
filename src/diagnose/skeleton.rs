//! A first definition of a tool from a sample of its output: what `whitelist new` writes.
//!
//! Forms that tools print places in are tried on every line of the sample; the one that most lines have wins, then
//! the one that distinguishes most of them. Its inline test is a part of the sample with what is found in it now.

use std::fmt::Write as _;

use regex::bytes::Regex;

use crate::base::limits::LINE_MATCH_BYTES_MAX;
use crate::base::text::prefix;
use crate::base::tree::EmptyTree;
use crate::config::CategoryTable;
use crate::run::CommandEnd;

use super::definition::SCHEMA;
use super::generic::{self, looks_like_a_file};
use super::rule_regex;
use super::{
    Category, DefinitionFile, DefinitionSet, Diagnosis, DiagnosisInput, Diagnostic, diagnose_output, plain_text,
};

/// What was made of a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skeleton {
    /// The definition file.
    pub text: String,
    /// Problems that its rules find in the whole sample.
    pub found: usize,
}

/// Lines of the sample that the inline test takes at most.
const TEST_LINES_MAX: usize = 40;
/// Lines of the sample that are looked at.
const SAMPLE_LINES_MAX: usize = 20_000;

/// How a place is written, the regex's beginning, and a literal that is in it.
const PLACES: [(&str, &str); 7] = [
    (r"(?P<file>[^\s:(][^:(]*):(?P<line>[0-9]+):(?P<col>[0-9]+)", ":"),
    (r"(?P<file>[^\s:(][^:(]*)\((?P<line>[0-9]+),(?P<col>[0-9]+)\)", "("),
    (r"(?P<file>[^\s:(][^:(]*):(?P<line>[0-9]+)", ":"),
    (r"(?P<file>[^\s:(][^:(]*)\((?P<line>[0-9]+)\)", "("),
    (r#"File "(?P<file>[^"]+)", line (?P<line>[0-9]+)"#, "File \""),
    (r"(?P<file>[^\s:,][^:,]*), line (?P<line>[0-9]+)", ", line "),
    (r"(?P<file>[^\s:,]+):? +(?P<line>[0-9]+):(?P<col>[0-9]+)", ":"),
];
/// What is between a place and what follows.
const BETWEEN: [&str; 3] = [r":? *-? *", r":? +", r""];
/// The severity, in words that the engine knows.
const SEVERITIES: [&str; 3] =
    [r"\[?(?P<severity>(?i:error|warning|info|note|fatal|hint))\]?(?:: *| +)", r"(?P<severity>[EWIF]):? ", ""];
/// The code and the message.
const SAID: [&str; 5] = [
    r"(?P<code>[A-Za-z]+[-_]?[0-9]+):? +(?P<message>[^\s].*)",
    r"(?P<message>.*[^\s]) +[\[(](?P<code>[A-Za-z0-9@][A-Za-z0-9@/_.-]*)[\])]",
    r"\[(?P<code>[A-Za-z0-9@/_.-]+)\] +(?P<message>[^\s].*)",
    r"(?P<message>.*[^\s])  +(?P<code>[A-Za-z0-9@][A-Za-z0-9@/_.-]*)",
    r"(?P<message>[^\s].*)",
];
/// A place below a file's own line.
const BELOW: &str = r" +(?P<line>[0-9]+)(?:[:,](?P<col>[0-9]+))?:? +";
/// A file's own line.
const HEADER: &str = r"^(?P<file>[^\s:][^:]*\.[A-Za-z0-9]+):?$";

/// A rule to be written.
struct DraftRule {
    kind: &'static str,
    needs: String,
    regex: String,
}

/// The definition of `name` for output like `sample`.
///
/// # Errors
/// When no line of the sample says where or what went wrong.
pub fn draft_skeleton(name: &str, category: Category, sample: &[u8]) -> Result<Skeleton, String> {
    let text = plain_text(sample);
    let lines: Vec<&str> = text.lines().map(|line| prefix(line, LINE_MATCH_BYTES_MAX)).take(SAMPLE_LINES_MAX).collect();
    let rules = draft_rules(&lines).ok_or("no line of the sample names a file and a line, or reports a failure")?;
    let head = head_text(name, category, &rules);
    let found = try_definition(&head, name, &text)?.items.iter().filter(|item| item.tool == name).count();
    let part = test_text(&lines, &rules);
    let items = try_definition(&head, name, &part)?.items;
    let mut test =
        format!("\n[[tool.test]]\ntool = {}\ninput = {}\nexpect = [\n", quoted_text(name), block_text(&part));
    for item in &items {
        let _ = writeln!(test, "  {},", expectation_text(item));
    }
    test.push_str("]\n");
    Ok(Skeleton { text: head + &test, found })
}

fn head_text(name: &str, category: Category, rules: &[DraftRule]) -> String {
    let mut text = format!(
        "verify_run_schema = {SCHEMA}\n\n[[tool]]\nname = {0}\nfrom = \"\" # the version whose output this was written from\n\
         tools = [{0}] # names in whitelist.toml; a run of one of them prefers these rules\n\
         markers = [{0}] # the rules apply when one of these is in the output, or the command names the tool\n\
         category = \"{1}\"\n",
        quoted_text(name),
        category.as_str()
    );
    for rule in rules {
        let _ = write!(
            text,
            "\n[[tool.rule]]\nkind = \"{}\"\nneeds = {} # is in every line that the regex matches\nregex = {}\n",
            rule.kind,
            quoted_text(&rule.needs),
            quoted_text(&rule.regex)
        );
    }
    text
}

/// What is found in `output` with the definition in force.
fn try_definition(definition: &str, name: &str, output: &str) -> Result<Diagnosis, String> {
    let file = DefinitionFile { file: name.into(), layer: 0, text: definition.to_owned(), attached: Vec::new() };
    let (definitions, faults) = DefinitionSet::from_layers(&[file], &CategoryTable::default());
    if let Some(fault) = faults.first() {
        return Err(fault.reason.clone());
    }
    Ok(diagnose_output(&DiagnosisInput {
        output: output.as_bytes(),
        command: "",
        tool: Some(name),
        kind: None,
        ended: CommandEnd::Exit(1),
        dir: "",
        root: super::inline::ROOT,
        tree: &EmptyTree,
        baseline: None,
        definitions: &definitions,
    }))
}

/// The rules that fit the sample best.
fn draft_rules(lines: &[&str]) -> Option<Vec<DraftRule>> {
    let mut best: Option<(usize, usize, DraftRule)> = None;
    for (place, needs) in PLACES {
        let plain = lines.iter().filter(|line| leads_with(place, line)).count();
        if plain > 0 {
            best_of(lines, &format!("^{place}"), needs, &mut best);
        }
    }
    let header = rule_regex::compile_regex(HEADER).ok()?;
    let is_header =
        |line: &&&str| header.captures(line.as_bytes()).is_some_and(|_| looks_like_a_file(line.trim_end_matches(':')));
    if let Some(file) = lines.iter().find(is_header) {
        let mut below = None;
        best_of(lines, &format!("^{BELOW}"), "  ", &mut below);
        let wins = below.as_ref().is_some_and(|(count, ..)| best.as_ref().is_none_or(|(other, ..)| count > other));
        if let (true, Some((_, _, item))) = (wins, below) {
            let needs = if file.contains('/') { "/" } else { "." };
            return Some(vec![DraftRule { kind: "file", needs: needs.to_owned(), regex: HEADER.to_owned() }, item]);
        }
    }
    best.map(|(_, _, draft)| vec![draft]).or_else(|| draft_from_words(lines))
}

/// Whether the line begins with such a place and the place's file looks like one.
fn leads_with(place: &str, line: &str) -> bool {
    let captures = rule_regex::compile_regex(&format!("^{place}")).ok().and_then(|regex| {
        let file = regex.captures(line.as_bytes())?.name("file")?.as_bytes().to_vec();
        String::from_utf8(file).ok()
    });
    captures.is_some_and(|file| looks_like_a_file(&file))
}

/// Tries everything that may follow a place.
fn best_of(lines: &[&str], start: &str, needs: &str, best: &mut Option<(usize, usize, DraftRule)>) {
    for severity in SEVERITIES {
        for said in SAID {
            for between in BETWEEN {
                let source = format!("{start}{between}{severity}{said}$");
                let Ok(regex) = rule_regex::compile_regex(&source) else { continue };
                let count = lines.iter().filter(|line| line.contains(needs) && fits_line(&regex, line)).count();
                let groups = regex.capture_names().flatten().count();
                let better = best.as_ref().is_none_or(|(other, theirs, _)| (count, groups) > (*other, *theirs));
                if count > 0 && better {
                    *best = Some((count, groups, DraftRule { kind: "item", needs: needs.to_owned(), regex: source }));
                }
            }
        }
    }
}

fn fits_line(regex: &Regex, line: &str) -> bool {
    let Some(captures) = regex.captures(line.as_bytes()) else { return false };
    captures.name("file").is_none_or(|file| std::str::from_utf8(file.as_bytes()).is_ok_and(looks_like_a_file))
}

/// No line has a place: lines that say that something failed.
fn draft_from_words(lines: &[&str]) -> Option<Vec<DraftRule>> {
    let telling = lines.iter().find(|line| generic::line_strength(line).is_some())?;
    let word = ["error", "Error", "ERROR", "failed", "FAILED", "FAIL", "fail"]
        .into_iter()
        .find(|word| telling.contains(word))?;
    Some(vec![DraftRule { kind: "item", needs: word.to_owned(), regex: format!("^(?P<message>.*{word}.*)$") }])
}

/// The part of the sample that the inline test shows: from the first line that a rule matches, with the line before.
fn test_text(lines: &[&str], rules: &[DraftRule]) -> String {
    let regexes: Vec<Regex> = rules.iter().filter_map(|rule| rule_regex::compile_regex(&rule.regex).ok()).collect();
    let first = lines.iter().position(|line| regexes.iter().any(|regex| fits_line(regex, line))).unwrap_or(0);
    let from = first.saturating_sub(1);
    lines[from..].iter().take(TEST_LINES_MAX).map(|line| format!("{line}\n")).collect()
}

fn expectation_text(item: &Diagnostic) -> String {
    let mut fields = Vec::new();
    let mut text = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            fields.push(format!("{name} = {}", quoted_text(value)));
        }
    };
    text("file", item.file.as_deref());
    text("code", item.code.as_deref());
    text("severity", Some(item.severity.as_str()));
    text("message", item.message.lines().next());
    for (name, value) in [("line", item.line), ("col", item.col)] {
        fields.extend(value.map(|value| format!("{name} = {value}")));
    }
    format!("{{ {} }}", fields.join(", "))
}

/// A TOML string in one line, without escapes where it can be.
fn quoted_text(text: &str) -> String {
    let plain = !text.chars().any(char::is_control);
    if plain && !text.contains(['"', '\\']) {
        format!("\"{text}\"")
    } else if plain && !text.contains('\'') {
        format!("'{text}'")
    } else {
        toml::Value::from(text).to_string()
    }
}

/// A TOML string in several lines.
fn block_text(text: &str) -> String {
    let plain = !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    if plain && !text.contains("'''") && !text.ends_with('\'') {
        format!("'''\n{text}'''")
    } else {
        // JSON's escapes are TOML's, too (toml.io, "String").
        serde_json::Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests;
