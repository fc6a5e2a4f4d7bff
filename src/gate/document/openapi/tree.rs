//! A JSON or YAML document as one tree, with lines where the format gives them, and JSON pointers into it.

use std::collections::BTreeMap;

use crate::base::yaml::{YamlLimits, YamlNode, YamlValue, parse_yaml_within};

/// What an API document may have: more than a settings file, since schemas are nested.
const API_LIMITS: YamlLimits = YamlLimits { depth: 96, values: 400_000 };

/// A value of an API document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiNode {
    /// From 1; `None` for JSON.
    pub line: Option<u32>,
    pub value: ApiValue,
}

/// What the value is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ApiValue {
    /// A text, a number or a word.
    Scalar(String),
    List(Vec<ApiNode>),
    /// Values with the lines of their keys.
    Map(BTreeMap<String, (Option<u32>, ApiNode)>),
}

impl ApiNode {
    /// Reads a document; `.json` is JSON, everything else YAML.
    ///
    /// # Errors
    /// What is wrong with it, with the line from 1.
    pub(super) fn parse(path: &str, text: &str) -> Result<ApiNode, (Option<u32>, String)> {
        if path.ends_with(".json") {
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            let value = serde_json::from_str(text).map_err(|error| {
                (u32::try_from(error.line()).ok().filter(|line| *line > 0), format!("not JSON: {error}"))
            })?;
            return Ok(node_of_json(value));
        }
        let node =
            parse_yaml_within(text, API_LIMITS).map_err(|error| (u32::try_from(error.line).ok(), error.reason))?;
        Ok(node_of_yaml(node))
    }

    /// The value of a key; `None` when this is no map.
    pub(super) fn get(&self, key: &str) -> Option<&ApiNode> {
        match &self.value {
            ApiValue::Map(entries) => entries.get(key).map(|(_, node)| node),
            _ => None,
        }
    }

    /// The keys with their lines and values; none when this is no map.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&str, Option<u32>, &ApiNode)> {
        let entries = match &self.value {
            ApiValue::Map(entries) => Some(entries),
            _ => None,
        };
        entries.into_iter().flatten().map(|(key, (line, node))| (key.as_str(), *line, node))
    }

    /// As [`ApiNode::entries`], in the order of the lines.
    pub(super) fn entries_by_line(&self) -> Vec<(&str, Option<u32>, &ApiNode)> {
        let mut entries: Vec<_> = self.entries().collect();
        entries.sort_by_key(|(_, line, _)| *line);
        entries
    }

    /// The items; none when this is no list.
    pub(super) fn items(&self) -> &[ApiNode] {
        match &self.value {
            ApiValue::List(items) => items,
            _ => &[],
        }
    }

    /// The text of a scalar that is not blank.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            ApiValue::Scalar(text) if !text.trim().is_empty() => Some(text),
            _ => None,
        }
    }

    /// The value at a local reference: `#` or `#/components/schemas/User`.
    pub(super) fn resolve(&self, reference: &str) -> Option<&ApiNode> {
        let pointer = percent_decoded(reference.strip_prefix('#')?)?;
        if pointer.is_empty() {
            return Some(self);
        }
        let mut node = self;
        for part in pointer.strip_prefix('/')?.split('/') {
            let key = part.replace("~1", "/").replace("~0", "~");
            node = match &node.value {
                ApiValue::Map(entries) => &entries.get(&key)?.1,
                ApiValue::List(items) => items.get(key.parse::<usize>().ok()?)?,
                ApiValue::Scalar(_) => return None,
            };
        }
        Some(node)
    }
}

fn node_of_json(value: serde_json::Value) -> ApiNode {
    use serde_json::Value;
    let value = match value {
        Value::Null => ApiValue::Scalar(String::new()),
        Value::Bool(value) => ApiValue::Scalar(value.to_string()),
        Value::Number(value) => ApiValue::Scalar(value.to_string()),
        Value::String(value) => ApiValue::Scalar(value),
        Value::Array(items) => ApiValue::List(items.into_iter().map(node_of_json).collect()),
        Value::Object(entries) => {
            ApiValue::Map(entries.into_iter().map(|(key, value)| (key, (None, node_of_json(value)))).collect())
        }
    };
    ApiNode { line: None, value }
}

fn node_of_yaml(node: YamlNode) -> ApiNode {
    let value = match node.value {
        YamlValue::Scalar { text, is_plain } => {
            let is_null = is_plain && (text == "~" || text == "null");
            ApiValue::Scalar(if is_null { String::new() } else { text })
        }
        YamlValue::List(nodes) => ApiValue::List(nodes.into_iter().map(node_of_yaml).collect()),
        YamlValue::Map(entries) => {
            let line = |line: usize| u32::try_from(line).ok();
            ApiValue::Map(
                entries.into_iter().map(|entry| (entry.key, (line(entry.line), node_of_yaml(entry.node)))).collect(),
            )
        }
    };
    ApiNode { line: u32::try_from(node.line).ok(), value }
}

/// A text with `%41` as `A`; `None` when that is not UTF-8. What is no escape stays as it is.
fn percent_decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut found = Vec::with_capacity(bytes.len());
    let digit = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match (byte, digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                found.push(u8::try_from(high * 16 + low).ok()?);
                at += 3;
            }
            _ => {
                found.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8(found).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_has_two_kinds_of_escapes() {
        let node = ApiNode::parse("a.yaml", "paths:\n  /a~b/{id}:\n    get: [x, {y: 1}]\n").expect("YAML");
        assert_eq!(node.resolve("#/paths/~1a~0b~1%7Bid%7D/get/1/y").and_then(ApiNode::text), Some("1"));
        assert!(node.resolve("#/paths/~1a").is_none() && node.resolve("#/paths/x/get/9").is_none());
        assert_eq!(node.resolve("#"), Some(&node));
        assert!(node.resolve("#/%ff").is_none() && node.resolve("#/%zz").is_none());
    }
}
