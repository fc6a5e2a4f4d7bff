//! Problem matchers: of GitHub's `::add-matcher::` files, and of VS Code's `tasks.json` and extensions.
//!
//! The first pattern matches a line, each further one the line after, and the last one may `loop` over the lines that
//! follow (VS Code's `problemMatcher.ts`, GitHub's `IssueMatcher.cs`).

use std::collections::BTreeMap;

use regex::bytes::{Captures, Regex};
use serde_json::Value;

use super::{MatcherHit, javascript};
use crate::base::limits::{BLOCK_LINES_MAX, DEFINITION_RULES_MAX};
use crate::diagnose::{Severity, engine, rule_regex};

/// A matcher.
#[derive(Debug, Clone)]
pub(crate) struct ProblemMatcher {
    patterns: Vec<MatcherPattern>,
    severity: Option<Severity>,
    /// The folder below the workspace that paths start from.
    dir: Option<String>,
}

/// A pattern: a regex and what its groups are.
#[derive(Debug, Clone)]
struct MatcherPattern {
    regex: Regex,
    groups: BTreeMap<CaptureRole, usize>,
    loops: bool,
}

/// What a group holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CaptureRole {
    File,
    FromPath,
    Location,
    Line,
    Column,
    Severity,
    Code,
    Message,
}

/// The property of each role; VS Code's `character` is an older name of `column`.
const PROPERTIES: [(&str, CaptureRole); 9] = [
    ("file", CaptureRole::File),
    ("fromPath", CaptureRole::FromPath),
    ("location", CaptureRole::Location),
    ("line", CaptureRole::Line),
    ("column", CaptureRole::Column),
    ("character", CaptureRole::Column),
    ("severity", CaptureRole::Severity),
    ("code", CaptureRole::Code),
    ("message", CaptureRole::Message),
];

/// The matchers of a file, each with what is wrong with it if it can't be used.
///
/// # Errors
/// When the file is no JSON, or holds no matcher.
pub(super) fn parse(text: &str) -> Result<Vec<Result<ProblemMatcher, String>>, String> {
    let document: Value =
        serde_json::from_str(&without_comments(text)).map_err(|error| format!("not JSON: {error}"))?;
    let mut matchers = Vec::new();
    let mut patterns = BTreeMap::new();
    collect_matchers(&document, 0, &mut matchers, &mut patterns);
    if matchers.is_empty() {
        return Err("contains no problem matcher".to_owned());
    }
    matchers.truncate(DEFINITION_RULES_MAX);
    Ok(matchers.into_iter().map(|matcher| ProblemMatcher::from_json(matcher, &patterns)).collect())
}

/// Folders of JSON that are looked into.
const DEPTH_MAX: usize = 32;

/// Every object with a `pattern` is a matcher, every one with a `name` and a `regexp` a named pattern.
fn collect_matchers<'a>(
    value: &'a Value,
    depth: usize,
    matchers: &mut Vec<&'a Value>,
    named: &mut BTreeMap<&'a str, Vec<&'a Value>>,
) {
    if depth > DEPTH_MAX {
        return;
    }
    match value {
        Value::Array(values) => values.iter().for_each(|value| collect_matchers(value, depth + 1, matchers, named)),
        Value::Object(fields) => {
            let name = fields.get("name").and_then(Value::as_str);
            if fields.contains_key("pattern") {
                matchers.push(value);
            } else if let (Some(name), Some(several)) = (name, fields.get("patterns").and_then(Value::as_array)) {
                named.insert(name, several.iter().collect());
            } else if let (Some(name), true) = (name, fields.contains_key("regexp")) {
                named.insert(name, vec![value]);
            } else {
                fields.values().for_each(|value| collect_matchers(value, depth + 1, matchers, named));
            }
        }
        _ => {}
    }
}

impl ProblemMatcher {
    fn from_json(value: &Value, named: &BTreeMap<&str, Vec<&Value>>) -> Result<Self, String> {
        let owner = ["owner", "name"].iter().find_map(|key| value[*key].as_str()).unwrap_or("a matcher");
        let wrong = |reason: String| format!("{owner}: {reason}");
        let patterns: Vec<&Value> = match &value["pattern"] {
            Value::Array(patterns) => patterns.iter().collect(),
            Value::String(name) => {
                let name = name.trim_start_matches('$');
                let found = named.get(name).cloned();
                found.ok_or_else(|| wrong(format!("the pattern `${name}` is not in this file")))?
            }
            pattern => vec![pattern],
        };
        let alone = patterns.len() == 1;
        let last = patterns.len().saturating_sub(1);
        let patterns: Result<Vec<MatcherPattern>, String> = patterns
            .into_iter()
            .enumerate()
            .map(|(index, pattern)| MatcherPattern::from_value(pattern, alone, index == last))
            .enumerate()
            .map(|(index, pattern)| pattern.map_err(|reason| wrong(format!("pattern {}: {reason}", index + 1))))
            .collect();
        let patterns = patterns?;
        if patterns.is_empty() {
            return Err(wrong("has no pattern".to_owned()));
        }
        let severity = value["severity"].as_str().and_then(engine::severity_of_word);
        Ok(ProblemMatcher { patterns, severity, dir: base_dir(&value["fileLocation"]) })
    }

    /// What is seen in `lines`.
    pub(crate) fn run(&self, lines: &[&str]) -> Vec<MatcherHit> {
        let mut seen = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let before = seen.len();
            at = self.match_at(lines, at, &mut seen);
            if seen.len() == before {
                at += 1;
            }
        }
        seen
    }

    /// Tries the patterns from a line on; the position after what matched.
    fn match_at(&self, lines: &[&str], start: usize, seen: &mut Vec<MatcherHit>) -> usize {
        let (last, before) = match self.patterns.split_last() {
            Some(parts) if start + parts.1.len() < lines.len() => parts,
            _ => return start,
        };
        let mut known = CapturedProperties::default();
        for (pattern, at) in before.iter().zip(start..) {
            let Some(captures) = pattern.regex.captures(lines[at].as_bytes()) else { return start };
            known.fill_properties(pattern, &captures);
        }
        let first = start + before.len();
        let mut at = first;
        while at < lines.len() && at - first < BLOCK_LINES_MAX {
            let Some(captures) = last.regex.captures(lines[at].as_bytes()) else { break };
            let mut said = known.clone();
            said.fill_properties(last, &captures);
            let lines = if at == first { (start..=at).collect() } else { vec![at] };
            seen.push(said.into_hit(self, lines));
            at += 1;
            if !last.loops {
                break;
            }
        }
        at
    }
}

/// `["relative", "${workspaceFolder}/web"]`: `web`.
fn base_dir(location: &Value) -> Option<String> {
    let base = location.get(1)?.as_str()?;
    let below = ["${workspaceFolder}", "${workspaceRoot}", "${cwd}"].iter().find_map(|root| base.strip_prefix(root));
    let below = below.unwrap_or(base).trim_matches('/');
    (!below.is_empty() && !below.contains("${")).then(|| below.to_owned())
}

impl MatcherPattern {
    fn from_value(value: &Value, alone: bool, last: bool) -> Result<Self, String> {
        let source = value["regexp"].as_str().ok_or("has no `regexp`")?;
        let translated = javascript::translate_regex(source)?;
        let regex = rule_regex::compile_regex(&translated)
            .map_err(|error| error.to_string().lines().last().unwrap_or_default().to_owned())?;
        let group = |key: &str| value[key].as_u64().and_then(|group| usize::try_from(group).ok());
        let mut groups: BTreeMap<CaptureRole, usize> =
            PROPERTIES.iter().filter_map(|(key, role)| Some((*role, group(key)?))).collect();
        if alone {
            // What VS Code takes a pattern to mean that doesn't say it.
            let mut default = |role, group| {
                groups.entry(role).or_insert(group);
            };
            default(CaptureRole::File, 1);
            default(CaptureRole::Message, 0);
            if value["kind"] != "file" && value["location"].is_null() && value["fromPath"].is_null() {
                default(CaptureRole::Line, 2);
                default(CaptureRole::Column, 3);
            }
        }
        let loops = value["loop"].as_bool().unwrap_or(false);
        if loops && !last {
            return Err("only the last pattern can loop".to_owned());
        }
        if let Some((role, group)) = groups.iter().find(|(_, group)| **group >= regex.captures_len())
            && !alone
        {
            return Err(format!("`{role:?}` names group {group}, which the regexp doesn't have").to_lowercase());
        }
        Ok(MatcherPattern { regex, groups, loops: loops && !alone })
    }
}

/// The properties that the patterns have captured so far.
#[derive(Debug, Clone, Default)]
struct CapturedProperties(BTreeMap<CaptureRole, String>);

impl CapturedProperties {
    fn fill_properties(&mut self, pattern: &MatcherPattern, captures: &Captures<'_>) {
        for (role, group) in &pattern.groups {
            let Some(value) = captures.get(*group) else { continue };
            let value = String::from_utf8_lossy(value.as_bytes()).trim().to_owned();
            match self.0.get_mut(role) {
                // A message may go on over several lines.
                Some(known) if *role == CaptureRole::Message => {
                    known.push('\n');
                    known.push_str(&value);
                }
                Some(_) => {}
                None => {
                    self.0.insert(*role, value);
                }
            }
        }
    }

    fn into_hit(mut self, matcher: &ProblemMatcher, lines: Vec<usize>) -> MatcherHit {
        let mut take = |role| self.0.remove(&role).filter(|value: &String| !value.is_empty());
        let place = take(CaptureRole::Location).unwrap_or_default();
        let mut numbers = place.split(',').map(|number| number.trim().parse::<u32>().ok());
        let (line, col) = (numbers.next().flatten(), numbers.next().flatten());
        let number = |value: Option<String>| value?.parse::<u32>().ok().filter(|number| *number > 0);
        let severity = take(CaptureRole::Severity).as_deref().and_then(engine::severity_of_word).or(matcher.severity);
        // The project file that the path is relative to.
        let project = take(CaptureRole::FromPath);
        let above = project.as_deref().and_then(|file| Some(file.rsplit_once('/')?.0.to_owned()));
        MatcherHit {
            lines,
            file: take(CaptureRole::File),
            line: number(take(CaptureRole::Line)).or(line),
            col: number(take(CaptureRole::Column)).or(col),
            severity,
            code: take(CaptureRole::Code),
            message: take(CaptureRole::Message).unwrap_or_default(),
            dir: above.or_else(|| matcher.dir.clone()),
        }
    }
}

/// JSON without the comments and trailing commas that VS Code allows.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => {
                out.push('"');
                while let Some(c) = rest.next() {
                    out.push(c);
                    match c {
                        '\\' => out.extend(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '/' if rest.peek() == Some(&'/') => while rest.next_if(|c| *c != '\n').is_some() {},
            '/' if rest.peek() == Some(&'*') => {
                let mut before = ' ';
                rest.next();
                for c in rest.by_ref() {
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
            }
            ']' | '}' => {
                let end = out.trim_end().len();
                if out[..end].ends_with(',') {
                    out.truncate(end - 1);
                }
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out.trim_start_matches('\u{feff}').to_owned()
}
