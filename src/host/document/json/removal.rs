//! Entries taken out again, wherever they are by now.

use std::collections::BTreeMap;
use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use serde_json::Value;

use super::{ContainerTail, EditError, JsonEntry, WrittenDocument, first_of, last, line, ours, parse, plain, what};
use crate::host::document::reverse;

/// What one version of a value has beyond another.
enum InsertedText {
    /// All of it.
    All(Value),
    /// In members of an object that was there before.
    Members(BTreeMap<String, InsertedText>),
    /// Elements of an array that was there before.
    Elements(Vec<Value>),
}

/// `current` without the entries that came between `written.before` and `written.after`. Those that were edited since
/// are known by what they run; what was put into them stays.
///
/// # Errors
/// When one of the texts can't be read.
pub fn take_out(written: WrittenDocument<'_>, current: &str) -> Result<String, EditError> {
    let (mark, rest) = line::split_mark(current);
    let Some(added) = added(written)? else { return Ok(current.to_owned()) };
    let mut text = rest.to_owned();
    let mut found = Vec::new();
    if let Some(root) = parse(&text)? {
        if find(&root, &added, &mut found) {
            return Ok(String::new());
        }
        // From the end, so that what is before stays where it is.
        found.sort_by_key(|range| std::cmp::Reverse(range.start));
        drop(root);
        for range in found {
            text = without(&text, &range)?;
        }
    }
    parse(&text)?;
    let structural = format!("{mark}{text}");
    // Where what was written is still there as one piece, cutting it out leaves the fewest traces.
    let as_text = reverse::take_out(written, current);
    let same =
        as_text.filter(|text| matches!((super::value(text), super::value(&structural)), (Ok(a), Ok(b)) if a == b));
    Ok(same.unwrap_or(structural))
}

/// Whether `there` came into the document with us, as `entry`.
pub(super) fn was_added(written: WrittenDocument<'_>, entry: &JsonEntry, there: &Value) -> bool {
    let at = |text: &str| {
        let value = super::value(text).ok()?;
        let inner = entry.path().iter().try_fold(&value, |value, key| value.get(key))?.clone();
        Some(inner)
    };
    let has = |text: &str| {
        at(text).is_some_and(|value| match entry {
            JsonEntry::Member { key, .. } => value.get(key) == Some(there),
            JsonEntry::Element { .. } => value.as_array().is_some_and(|list| list.contains(there)),
        })
    };
    has(written.after) && !has(written.before)
}

fn added(written: WrittenDocument<'_>) -> Result<Option<InsertedText>, EditError> {
    let (before, after) = (super::value(written.before)?, super::value(written.after)?);
    Ok(beyond(&before, &after))
}

fn beyond(before: &Value, after: &Value) -> Option<InsertedText> {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let member = |(key, value): (&String, &Value)| {
                let found = match old.get(key) {
                    None => Some(InsertedText::All(value.clone())),
                    Some(old) => beyond(old, value),
                };
                Some((key.clone(), found?))
            };
            let members: BTreeMap<String, InsertedText> = new.iter().filter_map(member).collect();
            (!members.is_empty()).then_some(InsertedText::Members(members))
        }
        (Value::Array(old), Value::Array(new)) => {
            let elements: Vec<Value> = new.iter().filter(|element| !old.contains(element)).cloned().collect();
            (!elements.is_empty()).then_some(InsertedText::Elements(elements))
        }
        (Value::Null, new) if !new.is_null() => Some(InsertedText::All(new.clone())),
        _ => None,
    }
}

/// Finds what is to go from `node`; true when that is all of it. What was there before us is never all ours.
fn find(node: &ast::Value<'_>, added: &InsertedText, found: &mut Vec<Range<usize>>) -> bool {
    match (added, node) {
        (InsertedText::All(value), _) => is_all_ours(node, value, found),
        (InsertedText::Members(members), ast::Value::Object(object)) => {
            for (key, added) in members {
                if let Some(prop) = last(object, key)
                    && find(&prop.value, added, found)
                {
                    found.push(prop.range.start..prop.range.end);
                }
            }
            false
        }
        (InsertedText::Elements(list), ast::Value::Array(array)) => {
            let gone = array.elements.iter().filter(|element| element_goes(element, list, found));
            let gone: Vec<_> = gone.map(|element| element.start()..element.end()).collect();
            found.extend(gone);
            false
        }
        _ => false,
    }
}

/// As [`find`], of a value that came with us.
fn is_all_ours(node: &ast::Value<'_>, value: &Value, found: &mut Vec<Range<usize>>) -> bool {
    let there = plain(node);
    if there == *value || ours(&there).is_some() {
        return true;
    }
    match (value, node) {
        (Value::Object(members), ast::Value::Object(object)) => {
            let (mut gone, mut beside) = (Vec::new(), 0);
            for (key, value) in members {
                let Some(prop) = last(object, key) else { continue };
                // A version number that we put beside our entries belongs to whatever is left of them.
                let is_beside = !value.is_object() && !value.is_array();
                if is_all_ours(&prop.value, value, found) {
                    beside += usize::from(is_beside);
                    gone.push((prop.range.start..prop.range.end, is_beside));
                }
            }
            let all = gone.len() == object.properties.len() && gone.len() > beside;
            if !all {
                found.extend(gone.into_iter().filter(|(_, is_beside)| !is_beside).map(|(range, _)| range));
            }
            all
        }
        (Value::Array(list), ast::Value::Array(array)) => {
            let gone: Vec<_> = array.elements.iter().filter(|element| element_goes(element, list, found)).collect();
            let all = !gone.is_empty() && gone.len() == array.elements.len();
            if !all {
                found.extend(gone.iter().map(|element| element.start()..element.end()));
            }
            all
        }
        _ => false,
    }
}

/// Whether an element of an array is ours as a whole. Of a group with others in it only ours are found.
fn element_goes(element: &ast::Value<'_>, list: &[Value], found: &mut Vec<Range<usize>>) -> bool {
    let there = plain(element);
    if list.contains(&there) {
        return true;
    }
    let runs: Vec<String> = list.iter().flat_map(what).collect();
    let is_ours = |value: &Value| ours(value).is_some_and(|run| runs.contains(&run));
    if is_ours(&there) {
        return true;
    }
    let group = element.as_object().and_then(|object| last(object, "hooks")).and_then(|prop| prop.value.as_array());
    let Some(group) = group else { return false };
    let mine: Vec<_> = group.elements.iter().filter(|handler| is_ours(&plain(handler))).collect();
    if mine.len() < group.elements.len() {
        found.extend(mine.iter().map(|handler| handler.start()..handler.end()));
        return false;
    }
    !mine.is_empty()
}

/// `text` without the member or element at `range`, and the comma that goes with it.
fn without(text: &str, range: &Range<usize>) -> Result<String, EditError> {
    let Some(root) = parse(text)? else { return Ok(text.to_owned()) };
    let Some(container) = innermost(&root, range) else { return Ok(text.to_owned()) };
    let ends = items(container);
    let previous = ends.iter().rfind(|item| item.end <= range.start).map(|item| item.end);
    let next = ends.iter().find(|item| item.start >= range.end).map(|item| item.start);
    let own = ContainerTail::of(text, range.end, next.unwrap_or(container.end() - 1)).comma;
    let mut cuts = Vec::new();
    let end = match own {
        Some(comma) if text[range.end..comma].trim().is_empty() => comma + 1,
        Some(comma) => {
            cuts.push(comma..comma + 1);
            range.end
        }
        None => {
            let before = previous.and_then(|end| ContainerTail::of(text, end, range.start).comma);
            cuts.extend(before.map(|comma| comma..comma + 1));
            range.end
        }
    };
    cuts.push(around(text, range.start, end, container.start()));
    cuts.sort_by_key(|cut| std::cmp::Reverse(cut.start));
    let mut out = text.to_owned();
    for cut in cuts {
        out.replace_range(cut, "");
    }
    Ok(out)
}

/// What goes with the text from `start` to `end`: its lines where nothing else is on them, else the blanks before it.
fn around(text: &str, start: usize, end: usize, opened: usize) -> Range<usize> {
    let line = line::start(text, start);
    let rest = &text[end..];
    let is_line_end = rest.starts_with(['\r', '\n']);
    let blanks = |from: usize| text[..start].trim_end_matches([' ', '\t']).len().max(from);
    if line > opened && text[line..start].trim().is_empty() {
        // Alone on its lines, or before the end of the container on the same line.
        let before = text[..line].trim_end_matches('\n').trim_end_matches('\r').len();
        let closes = rest.trim_start_matches([' ', '\t']).starts_with(['}', ']']);
        return if is_line_end || closes { before.max(opened + 1)..end } else { start..end };
    }
    if is_line_end || rest.starts_with(['}', ']']) || rest.starts_with(" }") || rest.starts_with(" ]") {
        return blanks(opened + 1)..end;
    }
    let after = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    start..end + after
}

/// The innermost object or array with a member or element at `range`.
fn innermost<'a, 'b>(node: &'b ast::Value<'a>, range: &Range<usize>) -> Option<&'b ast::Value<'a>> {
    first_of(node)?;
    if items(node).contains(range) {
        return Some(node);
    }
    match node {
        ast::Value::Object(object) => object.properties.iter().find_map(|prop| innermost(&prop.value, range)),
        ast::Value::Array(array) => array.elements.iter().find_map(|element| innermost(element, range)),
        _ => None,
    }
}

fn items(node: &ast::Value<'_>) -> Vec<Range<usize>> {
    match node {
        ast::Value::Object(object) => object.properties.iter().map(|prop| prop.range.start..prop.range.end).collect(),
        ast::Value::Array(array) => array.elements.iter().map(|element| element.start()..element.end()).collect(),
        _ => Vec::new(),
    }
}
