//! JSON with comments: entries are added and taken out, everything else keeps its bytes.

mod removal;

use jsonc_parser::ast::{self, ObjectProp};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions};
use serde_json::{Map, Value};

use super::{EditError, WrittenDocument, line, ours};

pub use removal::take_out;

/// Indentation where the document shows none.
const UNIT: &str = "  ";
/// Members that come before others in what we write.
const FIRST: [&str; 8] = ["matcher", "name", "type", "command", "bash", "powershell", "args", "hooks"];

/// An entry to write into a document.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonEntry {
    /// A member of the object at `path`, called `key`.
    Member {
        /// Keys from the top.
        path: Vec<&'static str>,
        /// Its name.
        key: &'static str,
        /// Its value.
        value: Value,
    },
    /// An element of the array at `path`. One that runs the same verify-run command counts as the same
    /// ([`super::ours()`]).
    Element {
        /// Keys from the top.
        path: Vec<&'static str>,
        /// The element.
        value: Value,
        /// The same as earlier versions of us wrote it.
        earlier: Vec<Value>,
    },
}

impl JsonEntry {
    fn path(&self) -> &[&'static str] {
        match self {
            JsonEntry::Member { path, .. } | JsonEntry::Element { path, .. } => path,
        }
    }
}

/// A document with the entries in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedMember {
    /// Its text.
    pub text: String,
    /// Entries that a user has changed, and that stay so.
    pub kept: Vec<String>,
    /// Entries as an earlier version wrote them, which were replaced.
    pub upgraded: usize,
}

/// The document as plain values; `Null` for an empty one.
///
/// # Errors
/// When it can't be read.
pub fn value(text: &str) -> Result<Value, EditError> {
    Ok(parse(text)?.as_ref().map_or(Value::Null, plain))
}

/// `text` (empty: there is no such file) with the entries. What is there already stays as it is, unless it is as
/// `written` says that verify-run wrote it: then it is replaced.
///
/// # Errors
/// When the document can't be read, or something on the way to an entry is of another kind.
pub fn add(text: &str, entries: &[JsonEntry], written: Option<WrittenDocument<'_>>) -> Result<AddedMember, EditError> {
    let (mark, rest) = line::split_mark(text);
    let mut added = AddedMember { text: rest.to_owned(), kept: Vec::new(), upgraded: 0 };
    for entry in entries {
        add_one(&mut added, entry, written)?;
    }
    if added.text != rest {
        // A new file ends with a line end; of another the end stays as it is.
        if rest.trim().is_empty() {
            added.text.push('\n');
        }
        value(&added.text)?;
    }
    added.text.insert_str(0, mark);
    Ok(added)
}

fn add_one(added: &mut AddedMember, entry: &JsonEntry, written: Option<WrittenDocument<'_>>) -> Result<(), EditError> {
    let text = added.text.clone();
    let Some(root) = parse(&text)? else {
        // Comments of an empty file stay in front.
        let gap = if text.trim().is_empty() { "" } else { line::end_of(&text) };
        added.text = format!("{}{gap}{}", text.trim_end(), shown(&nested(entry.path(), entry), UNIT, "", "\n"));
        return Ok(());
    };
    let mut node = &root;
    for (depth, key) in entry.path().iter().enumerate() {
        let ast::Value::Object(object) = node else { return Err(other_kind(&text, node, &entry.path()[..depth])) };
        match last(object, key) {
            Some(prop) => node = &prop.value,
            None => {
                let inner = nested(&entry.path()[depth + 1..], entry);
                added.text = insert(&text, node, Some(key), &inner);
                return Ok(());
            }
        }
    }
    match (entry, node) {
        (JsonEntry::Member { key, value, .. }, ast::Value::Object(object)) => match last(object, key) {
            None => added.text = insert(&text, node, Some(key), value),
            Some(prop) => differs(added, &text, &prop.value, value, entry, written),
        },
        (JsonEntry::Element { value, .. }, ast::Value::Array(array)) => {
            let wanted = what(value);
            match array.elements.iter().find(|element| is_same(&plain(element), value, &wanted)) {
                None => added.text = insert(&text, node, None, value),
                Some(element) => differs(added, &text, element, value, entry, written),
            }
        }
        _ => return Err(other_kind(&text, node, entry.path())),
    }
    Ok(())
}

/// An entry that is there: current, as an earlier version wrote it, or changed by a user.
fn differs(
    added: &mut AddedMember,
    text: &str,
    node: &ast::Value<'_>,
    value: &Value,
    entry: &JsonEntry,
    written: Option<WrittenDocument<'_>>,
) {
    let there = plain(node);
    if there == *value {
        return;
    }
    let name = match entry {
        JsonEntry::Member { path, key, .. } => path.iter().chain([key]).copied().collect::<Vec<_>>().join("."),
        JsonEntry::Element { path, .. } => path.join("."),
    };
    let is_earlier = matches!(entry, JsonEntry::Element { earlier, .. } if earlier.contains(&there));
    added.upgraded += usize::from(is_earlier);
    if !is_earlier && !written.is_some_and(|written| removal::was_added(written, entry, &there)) {
        added.kept.push(name);
        return;
    }
    let range = node.range();
    let (indent, unit) = (line::indent(text, range.start), unit_of(text));
    let new = shown(value, &unit, indent, line::end_of(text));
    added.text = format!("{}{new}{}", &text[..range.start], &text[range.end..]);
}

fn other_kind(text: &str, node: &ast::Value<'_>, path: &[&'static str]) -> EditError {
    let (name, kind) = (path.join("."), kind_of(node));
    let what = if name.is_empty() { format!("it is {kind}") } else { format!("`{name}` is {kind}") };
    EditError::at(text, node.range().start, format!("{what}, which can't take an entry"))
}

fn kind_of(node: &ast::Value<'_>) -> &'static str {
    match node {
        ast::Value::StringLit(_) => "a string",
        ast::Value::NumberLit(_) => "a number",
        ast::Value::BooleanLit(_) => "true or false",
        ast::Value::NullKeyword(_) => "null",
        ast::Value::Object(_) => "an object",
        ast::Value::Array(_) => "an array",
    }
}

/// The entry inside of objects for the rest of its path.
fn nested(path: &[&'static str], entry: &JsonEntry) -> Value {
    let innermost = match entry {
        JsonEntry::Member { key, value, .. } => Value::Object(Map::from_iter([((*key).to_owned(), value.clone())])),
        JsonEntry::Element { value, .. } => Value::Array(vec![value.clone()]),
    };
    path.iter().rev().fold(innermost, |inner, key| Value::Object(Map::from_iter([((*key).to_owned(), inner)])))
}

/// The verify-run commands anywhere in a value.
fn what(value: &Value) -> Vec<String> {
    let inner: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Object(object) => Box::new(object.values()),
        Value::Array(list) => Box::new(list.iter()),
        _ => Box::new(std::iter::empty()),
    };
    ours(value).into_iter().chain(inner.flat_map(what)).collect()
}

fn is_same(there: &Value, wanted: &Value, runs: &[String]) -> bool {
    there == wanted || !runs.is_empty() && what(there).iter().any(|run| runs.contains(run))
}

/// `text` with `value` as the last thing in `container`, as the member `key` of an object.
fn insert(text: &str, container: &ast::Value<'_>, key: Option<&str>, value: &Value) -> String {
    let range = container.range();
    let last = match container {
        ast::Value::Object(object) => object.properties.last().map(|prop| prop.range.end),
        ast::Value::Array(array) => array.elements.last().map(Ranged::end),
        _ => None,
    };
    let (end, unit) = (line::end_of(text), unit_of(text));
    let base = line::indent(text, range.start);
    let is_one_line = last.is_some() && !text[range.start..range.end].contains('\n');
    let head = key.map_or_else(String::new, |key| format!("{}: ", Value::from(key)));
    let from = last.unwrap_or(range.start + 1);
    let tail = ContainerTail::of(text, from, range.end - 1);
    let comma = if last.is_some() && tail.comma.is_none() { "," } else { "" };
    let own = if last.is_some() && tail.comma.is_some() { "," } else { "" };
    let (before, between, after) = (&text[..from], &text[from..tail.end], &text[tail.end..]);
    if is_one_line {
        return format!("{before}{comma}{between} {head}{}{own}{after}", on_one_line(value));
    }
    let indent = match last {
        // As its neighbours, where these are on lines of their own.
        Some(last) => {
            let first = first_of(container).unwrap_or(last);
            let starts = text[line::start(text, first)..first].trim().is_empty();
            if starts { line::indent(text, first).to_owned() } else { format!("{base}{unit}") }
        }
        None => format!("{base}{unit}"),
    };
    let new = format!("{end}{indent}{head}{}{own}", shown(value, &unit, &indent, end));
    let closes = if text[tail.end..range.end].contains('\n') { String::new() } else { format!("{end}{base}") };
    format!("{before}{comma}{between}{new}{closes}{after}")
}

fn first_of(container: &ast::Value<'_>) -> Option<usize> {
    match container {
        ast::Value::Object(object) => object.properties.first().map(|prop| prop.range.start),
        ast::Value::Array(array) => array.elements.first().map(Ranged::start),
        _ => None,
    }
}

/// What is between the last thing in a container and its end.
struct ContainerTail {
    /// Where a comma is.
    comma: Option<usize>,
    /// Behind the comma and the last comment.
    end: usize,
}

impl ContainerTail {
    fn of(text: &str, from: usize, to: usize) -> Self {
        let mut tail = ContainerTail { comma: None, end: from };
        let mut at = from;
        while at < to {
            let rest = &text[at..to];
            let length = if rest.starts_with("//") {
                rest.find(['\r', '\n']).unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                let first = rest.chars().next();
                if first == Some(',') {
                    tail.comma = Some(at);
                    tail.end = at + 1;
                }
                at += first.map_or(1, char::len_utf8);
                continue;
            };
            at += length;
            tail.end = at;
        }
        tail
    }
}

/// What one more level is indented by.
fn unit_of(text: &str) -> String {
    let Ok(Some(root)) = parse(text) else { return UNIT.to_owned() };
    let Some(first) = first_of(&root) else { return UNIT.to_owned() };
    let (outer, inner) = (line::indent(text, root.start()), line::indent(text, first));
    let is_own_line = text[line::start(text, first)..first].trim().is_empty();
    match inner.strip_prefix(outer) {
        Some(unit) if is_own_line && !unit.is_empty() => unit.to_owned(),
        _ => UNIT.to_owned(),
    }
}

/// A value on lines that are indented by `indent` and `unit`; short lists of plain things stay on one.
fn shown(value: &Value, unit: &str, indent: &str, end: &str) -> String {
    let inner = format!("{indent}{unit}");
    let lines = |items: Vec<String>, open: char, close: char| {
        let items = items.join(&format!(",{end}{inner}"));
        format!("{open}{end}{inner}{items}{end}{indent}{close}")
    };
    match value {
        Value::Object(object) if !object.is_empty() => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), shown(value, unit, &inner, end))
            };
            lines(in_order(object).map(member).collect(), '{', '}')
        }
        Value::Array(list) if list.iter().any(|item| item.is_object() || item.is_array()) => {
            lines(list.iter().map(|item| shown(item, unit, &inner, end)).collect(), '[', ']')
        }
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(Value::to_string).collect();
            format!("[{}]", items.join(", "))
        }
        plain => plain.to_string(),
    }
}

fn on_one_line(value: &Value) -> String {
    match value {
        Value::Object(object) if !object.is_empty() => {
            let members =
                in_order(object).map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), on_one_line(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(on_one_line).collect::<Vec<_>>().join(", ")),
        plain => plain.to_string(),
    }
}

/// The members as people write them: what it is, what it runs, then the rest.
fn in_order(object: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let rank = |key: &str| FIRST.iter().position(|first| *first == key).unwrap_or(FIRST.len());
    let mut members: Vec<_> = object.iter().collect();
    members.sort_by_key(|(key, _)| rank(key));
    members.into_iter()
}

fn last<'a, 'b>(object: &'b ast::Object<'a>, key: &str) -> Option<&'b ObjectProp<'a>> {
    // Of two of a name the later one counts for those who read it.
    object.properties.iter().rfind(|prop| prop.name.as_str() == key)
}

/// The text's value, with positions in the text without its byte order mark; `None` where it has none.
fn parse(text: &str) -> Result<Option<ast::Value<'_>>, EditError> {
    let (_, text) = line::split_mark(text);
    let strict = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &strict);
    let parsed = parsed.map_err(|error| {
        let reason = error.kind().to_string();
        let reason = reason.chars().next().map(|first| reason.replacen(first, &first.to_lowercase().to_string(), 1));
        EditError::at(text, error.range().start, format!("this is not JSON: {}", reason.unwrap_or_default()))
    })?;
    Ok(parsed.value)
}

fn plain(node: &ast::Value<'_>) -> Value {
    match node {
        ast::Value::StringLit(text) => Value::from(text.value.as_ref()),
        ast::Value::NumberLit(number) => {
            serde_json::from_str(number.value).unwrap_or_else(|_| Value::from(number.value))
        }
        ast::Value::BooleanLit(truth) => Value::from(truth.value),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Object(object) => {
            let members = object.properties.iter().map(|prop| (prop.name.as_str().to_owned(), plain(&prop.value)));
            Value::Object(members.collect())
        }
        ast::Value::Array(array) => Value::Array(array.elements.iter().map(plain).collect()),
    }
}

#[cfg(test)]
mod tests;
