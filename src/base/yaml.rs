//! YAML that people write for verify-run: a small tree in which every value knows its line.
//!
//! Only what a settings file needs is accepted. Anchors, aliases, tags, a second document and a key that occurs twice are
//! errors, because each of them lets a file mean something else than it shows.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle};

/// Largest file that is read, bytes.
pub const YAML_BYTES_MAX: u64 = 1 << 20;
/// What a settings file may have.
const SETTINGS_LIMITS: YamlLimits = YamlLimits { depth: 16, values: 50_000 };

/// How large a tree may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct YamlLimits {
    /// Levels of nesting.
    pub depth: usize,
    /// Values, keys included.
    pub values: usize,
}

/// What is wrong with a YAML file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct YamlError {
    /// The line, from 1.
    pub line: usize,
    /// A lowercase fragment.
    pub reason: String,
}

impl YamlError {
    /// An error at a line.
    pub fn new(line: usize, reason: impl Into<String>) -> Self {
        YamlError { line, reason: reason.into() }
    }
}

/// A value with the line where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlNode {
    /// From 1.
    pub line: usize,
    /// The value.
    pub value: YamlValue,
}

/// A value of a YAML file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum YamlValue {
    /// A text, a number or a word; `is_plain` when it was written without quotes.
    Scalar {
        /// The text, unquoted.
        text: String,
        /// Whether it was written without quotes.
        is_plain: bool,
    },
    /// A list.
    List(Vec<YamlNode>),
    /// Keys in the order of the file; no key occurs twice.
    Map(Vec<YamlEntry>),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlEntry {
    /// The key.
    pub key: String,
    /// The line of the key, from 1.
    pub line: usize,
    /// The value.
    pub node: YamlNode,
}

/// A collection whose end was not read yet.
struct OpenCollection {
    line: usize,
    is_map: bool,
    nodes: Vec<YamlNode>,
}

/// Reads a settings file: at most 16 levels deep, at most 50,000 values. An empty one is an empty map.
///
/// # Errors
/// What is wrong with it, at its line.
pub fn parse_yaml(text: &str) -> Result<YamlNode, YamlError> {
    parse_yaml_within(text, SETTINGS_LIMITS)
}

/// Reads a file that may be larger than a settings file, just as strictly.
///
/// # Errors
/// What is wrong with it, at its line.
pub fn parse_yaml_within(text: &str, limits: YamlLimits) -> Result<YamlNode, YamlError> {
    let mut open: Vec<OpenCollection> = Vec::new();
    let mut root = None;
    let mut values = 0_usize;
    for next in Parser::new_from_str(text.strip_prefix('\u{feff}').unwrap_or(text)) {
        let (event, span) = next.map_err(|error| YamlError::new(error.marker().line(), error.info()))?;
        let line = span.start.line();
        let (anchor, tag) = match &event {
            Event::Scalar(_, _, anchor, tag) => (*anchor, tag.is_some()),
            Event::SequenceStart(_, anchor, tag) | Event::MappingStart(_, anchor, tag) => (*anchor, tag.is_some()),
            _ => (0, false),
        };
        if anchor != 0 {
            return Err(YamlError::new(line, "anchors are not supported: write the value out"));
        }
        if tag {
            return Err(YamlError::new(line, "tags are not supported"));
        }
        let node = match event {
            Event::Scalar(value, style, ..) => {
                let is_plain = style == ScalarStyle::Plain;
                YamlNode { line, value: YamlValue::Scalar { text: value.into_owned(), is_plain } }
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                if open.len() >= limits.depth {
                    return Err(YamlError::new(line, format!("nested more than {} levels deep", limits.depth)));
                }
                let is_map = matches!(event, Event::MappingStart(..));
                open.push(OpenCollection { line, is_map, nodes: Vec::new() });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(collection) => close(collection)?,
                None => continue,
            },
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                return Err(YamlError::new(line, "aliases are not supported: write the value out"));
            }
            Event::DocumentStart(..) if root.is_some() => {
                return Err(YamlError::new(line, "a second document: keep one per file"));
            }
            _ => continue,
        };
        values += 1;
        if values > limits.values {
            return Err(YamlError::new(line, format!("more than {} values", limits.values)));
        }
        match open.last_mut() {
            Some(collection) => collection.nodes.push(node),
            None => root = Some(node),
        }
    }
    Ok(root.unwrap_or(YamlNode { line: 1, value: YamlValue::Map(Vec::new()) }))
}

fn close(collection: OpenCollection) -> Result<YamlNode, YamlError> {
    let OpenCollection { line, is_map, nodes } = collection;
    if !is_map {
        return Ok(YamlNode { line, value: YamlValue::List(nodes) });
    }
    let mut entries: Vec<YamlEntry> = Vec::with_capacity(nodes.len() / 2);
    let mut lines: HashMap<String, usize> = HashMap::with_capacity(nodes.len() / 2);
    let mut nodes = nodes.into_iter();
    while let (Some(key), Some(node)) = (nodes.next(), nodes.next()) {
        let YamlValue::Scalar { text, .. } = key.value else {
            return Err(YamlError::new(key.line, "a key must be a text"));
        };
        if let Some(first) = lines.insert(text.clone(), key.line) {
            return Err(YamlError::new(key.line, format!("key {text:?} occurs twice (first in line {first})")));
        }
        entries.push(YamlEntry { key: text, line: key.line, node });
    }
    Ok(YamlNode { line, value: YamlValue::Map(entries) })
}

impl YamlNode {
    /// The entries of a map.
    ///
    /// # Errors
    /// When it is something else; `what` names it.
    pub fn as_map(&self, what: &str) -> Result<&[YamlEntry], YamlError> {
        match &self.value {
            YamlValue::Map(entries) => Ok(entries),
            // `key:` with nothing after it.
            YamlValue::Scalar { text, is_plain: true } if text.is_empty() => Ok(&[]),
            _ => Err(YamlError::new(self.line, format!("{what} must be a map of keys and values"))),
        }
    }

    /// The items of a list.
    ///
    /// # Errors
    /// When it is something else; `what` names it.
    pub fn as_list(&self, what: &str) -> Result<&[YamlNode], YamlError> {
        match &self.value {
            YamlValue::List(nodes) => Ok(nodes),
            _ => Err(YamlError::new(self.line, format!("{what} must be a list"))),
        }
    }

    /// The text of a scalar.
    ///
    /// # Errors
    /// When it is something else, or nothing; `what` names it.
    pub fn as_text(&self, what: &str) -> Result<&str, YamlError> {
        match &self.value {
            YamlValue::Scalar { text, .. } if !text.trim().is_empty() => Ok(text),
            _ => Err(YamlError::new(self.line, format!("{what} must be a text"))),
        }
    }

    /// `true` or `false`, written without quotes.
    ///
    /// # Errors
    /// When it is something else; `what` names it.
    pub fn as_bool(&self, what: &str) -> Result<bool, YamlError> {
        match &self.value {
            YamlValue::Scalar { text, is_plain: true } if text == "true" => Ok(true),
            YamlValue::Scalar { text, is_plain: true } if text == "false" => Ok(false),
            _ => Err(YamlError::new(self.line, format!("{what} must be true or false"))),
        }
    }

    /// A whole number that is not negative.
    ///
    /// # Errors
    /// When it is something else; `what` names it.
    pub fn as_number(&self, what: &str) -> Result<u64, YamlError> {
        let text = self.as_text(what)?;
        text.parse().map_err(|_| YamlError::new(self.line, format!("{what} must be a whole number")))
    }

    /// A text, or a list of texts.
    ///
    /// # Errors
    /// When it is something else; `what` names it.
    pub fn as_texts(&self, what: &str) -> Result<Vec<String>, YamlError> {
        match &self.value {
            YamlValue::List(nodes) => nodes.iter().map(|node| node.as_text(what).map(str::to_owned)).collect(),
            _ => Ok(vec![self.as_text(what)?.to_owned()]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_knows_its_line() {
        let root = parse_yaml("a: 1\nb:\n  - x\n  - {c: \"2\", d: [e]}\n").expect("YAML");
        let entries = root.as_map("the file").expect("a map");
        assert_eq!(
            entries.iter().map(|entry| (entry.key.as_str(), entry.line)).collect::<Vec<_>>(),
            [("a", 1), ("b", 2)]
        );
        let items = entries[1].node.as_list("b").expect("a list");
        assert_eq!((items[0].line, items[1].line), (3, 4));
        assert_eq!(items[1].as_map("item").expect("a map")[0].node.as_text("c").expect("a text"), "2");
        assert_eq!(parse_yaml("").expect("an empty file").as_map("the file"), Ok(&[][..]));
    }

    #[test]
    fn what_hides_a_meaning_is_refused_at_its_line() {
        let cases = [
            ("a: 1\nb: &x 2\n", 2, "anchors"),
            ("a: 1\nb: *x\n", 2, ""),
            ("a: !!int 1\n", 1, "tags"),
            ("a: 1\nb: 2\na: 3\n", 3, "occurs twice (first in line 1)"),
            ("a: 1\n---\nb: 2\n", 2, "second document"),
            ("a: [1\n", 1, ""),
            ("? [a]\n: b\n", 1, "a key must be a text"),
        ];
        for (text, line, reason) in cases {
            let error = parse_yaml(text).expect_err(text);
            assert_eq!(error.line, line, "{text}: {error}");
            assert!(error.reason.contains(reason), "{text}: {error}");
        }
        let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
        assert!(parse_yaml(&deep).expect_err("too deep").reason.contains("levels"));
    }

    #[test]
    fn a_value_of_another_kind_is_named() {
        let root = parse_yaml("blocking: \"true\"\nscope: [a]\nnumber: -1\n").expect("YAML");
        let entries = root.as_map("the file").expect("a map");
        assert_eq!(
            entries[0].node.as_bool("blocking").expect_err("quoted").to_string(),
            "line 1: blocking must be true or false"
        );
        assert!(entries[1].node.as_text("scope").is_err() && entries[2].node.as_number("number").is_err());
        assert_eq!(entries[1].node.as_texts("scope").expect("texts"), ["a"]);
    }
}
