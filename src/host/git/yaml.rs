//! A user's YAML, with the place of every scalar: text is put into one without touching anything around it.

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle};

/// Levels of a document; deeper ones are not configurations.
const DEPTH_MAX: usize = 64;

/// A node of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A text.
    Scalar(Scalar),
    /// A list.
    List {
        /// Its items.
        items: Vec<Node>,
        /// It is on lines of its own, not in brackets.
        is_block: bool,
    },
    /// Keys, in their order.
    Map {
        /// The pairs.
        entries: Vec<(Node, Node)>,
        /// It is on lines of its own, not in braces.
        is_block: bool,
    },
    /// `*name`: its content is elsewhere.
    Alias,
}

/// A text in the document.
#[derive(Debug, Clone)]
pub(super) struct Scalar {
    /// Its value.
    pub value: String,
    /// The line where it begins, from 1.
    pub line: usize,
    /// Column of its first character, from 0.
    pub column: usize,
    style: ScalarStyle,
    span: Range<usize>,
}

/// Places say nothing about whether two documents mean the same.
impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl Eq for Scalar {}

/// Why a document can't be read: the line, from 1, and the reason.
pub(super) type YamlFault = (usize, String);

/// The first document of `text`; `None` when there is none. A second document is a fault: whose is it?
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(text: &str) -> Result<Option<Node>, YamlFault> {
    let mut open: Vec<(Vec<Node>, bool, bool)> = Vec::new();
    let mut root = None;
    for next in Parser::new_from_str(text) {
        let (event, span) = next.map_err(|error| (error.marker().line(), error.info().to_owned()))?;
        let line = span.start.line();
        let node = match event {
            Event::Scalar(value, style, ..) => {
                let (Some(start), Some(end)) = (span.start.byte_offset(), span.end.byte_offset()) else {
                    return Err((line, "has a text without a place".to_owned()));
                };
                let value = value.into_owned();
                Node::Scalar(Scalar { value, line, column: span.start.col(), style, span: start..end })
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => Node::Alias,
            Event::SequenceStart(style, ..) => {
                open.push((Vec::new(), false, style == StructureStyle::Block));
                continue;
            }
            Event::MappingStart(style, ..) => {
                open.push((Vec::new(), true, style == StructureStyle::Block));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some((nodes, true, is_block)) => Node::Map { entries: pairs(nodes), is_block },
                Some((items, false, is_block)) => Node::List { items, is_block },
                None => return Err((line, "has an end without a begin".to_owned())),
            },
            _ => continue,
        };
        if open.len() > DEPTH_MAX {
            return Err((line, format!("has more than {DEPTH_MAX} levels")));
        }
        match open.last_mut() {
            Some((nodes, ..)) => nodes.push(node),
            None if root.is_some() => return Err((line, "has a second document".to_owned())),
            None => root = Some(node),
        }
    }
    Ok(root)
}

fn pairs(nodes: Vec<Node>) -> Vec<(Node, Node)> {
    let mut entries = Vec::with_capacity(nodes.len() / 2);
    let mut nodes = nodes.into_iter();
    while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
        entries.push((key, value));
    }
    entries
}

impl Node {
    /// The text, of a scalar.
    pub(super) fn text(&self) -> Option<&str> {
        self.scalar().map(|scalar| scalar.value.as_str())
    }

    /// The scalar, if it is one.
    pub(super) fn scalar(&self) -> Option<&Scalar> {
        match self {
            Node::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The value of a key.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        self.entries().find_map(|(key, value)| (key.text() == Some(name)).then_some(value))
    }

    /// The same with every text as `change` makes it.
    pub(super) fn map(self, change: &dyn Fn(&str) -> String) -> Node {
        match self {
            Node::Scalar(scalar) => Node::Scalar(Scalar { value: change(&scalar.value), ..scalar }),
            Node::List { items, is_block } => {
                Node::List { items: items.into_iter().map(|item| item.map(change)).collect(), is_block }
            }
            Node::Map { entries, is_block } => {
                let pair = |(key, value): (Node, Node)| (key.map(change), value.map(change));
                Node::Map { entries: entries.into_iter().map(pair).collect(), is_block }
            }
            Node::Alias => Node::Alias,
        }
    }

    /// The pairs of a map.
    pub(super) fn entries(&self) -> impl Iterator<Item = &(Node, Node)> {
        match self {
            Node::Map { entries, .. } => entries.iter(),
            _ => [].iter(),
        }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> impl Iterator<Item = &Node> {
        match self {
            Node::List { items, .. } => items.iter(),
            _ => [].iter(),
        }
    }
}

/// Texts to put into scalars: each with its place in the document.
#[derive(Debug, Default)]
pub(super) struct ScalarInsertions {
    found: Vec<(usize, String)>,
}

impl ScalarInsertions {
    /// Puts `text` before the byte `at` of a scalar's value. False when the value isn't written as it is, so that the
    /// place of that byte is unknown.
    pub(super) fn put(&mut self, document: &str, scalar: &Scalar, at: usize, text: &str) -> bool {
        let Some(place) = scalar.place(document, at) else { return false };
        let written = match scalar.style {
            ScalarStyle::DoubleQuoted => text.replace('\\', "\\\\").replace('"', "\\\""),
            ScalarStyle::SingleQuoted => text.replace('\'', "''"),
            _ => text.to_owned(),
        };
        self.found.push((place, written));
        true
    }

    /// Whether there is nothing to put anywhere.
    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The document with all of them.
    pub(super) fn apply(mut self, document: &str) -> String {
        self.found.sort_by_key(|(place, _)| *place);
        let mut written = String::with_capacity(document.len() + 64 * self.found.len());
        let mut from = 0;
        for (place, text) in &self.found {
            written.push_str(&document[from..*place]);
            written.push_str(text);
            from = *place;
        }
        written + &document[from..]
    }
}

impl Scalar {
    /// Where the byte `at` of the value is in the document.
    fn place(&self, document: &str, at: usize) -> Option<usize> {
        let written = document.get(self.span.clone())?;
        match self.style {
            ScalarStyle::Plain => self.within(written, self.span.start, at),
            ScalarStyle::SingleQuoted => self.within(unquoted(written, '\'')?, self.span.start + 1, at),
            ScalarStyle::DoubleQuoted => self.within(unquoted(written, '"')?, self.span.start + 1, at),
            ScalarStyle::Literal | ScalarStyle::Folded => self.in_block(document, at),
        }
    }

    /// In what is written on one line and as it is; the beginning is where it is in any case.
    fn within(&self, written: &str, start: usize, at: usize) -> Option<usize> {
        let is_same = written == self.value;
        (is_same || at == 0 && written.chars().next() == self.value.chars().next()).then_some(start + at)
    }

    /// In a block: the line below its header that has the byte, behind its indentation.
    fn in_block(&self, document: &str, at: usize) -> Option<usize> {
        let before = self.value.get(..at)?;
        let (line, column) = (before.matches('\n').count(), at - before.rfind('\n').map_or(0, |end| end + 1));
        if self.style == ScalarStyle::Folded && line > 0 {
            return None;
        }
        let wanted = self.value.lines().nth(line)?;
        // The span may begin at the header or at the first line.
        let mut start = document[..self.span.start].rfind('\n').map_or(0, |end| end + 1);
        if document[self.span.start..].starts_with(['|', '>']) {
            start = self.span.start + document[self.span.start..].find('\n')? + 1;
        }
        let found = document[start..].split_inclusive('\n').nth(line)?;
        let indent = found.len() - found.trim_start_matches(' ').len();
        let lead = wanted.len() - wanted.trim_start_matches(' ').len();
        let content = found.get(indent.checked_sub(lead)?..)?.trim_end_matches(['\n', '\r']);
        let is_there = match self.style {
            ScalarStyle::Literal => content == wanted,
            _ => column < content.len().max(1) && wanted.starts_with(content.trim_end()),
        };
        if !is_there {
            return None;
        }
        let skipped: usize = document[start..].split_inclusive('\n').take(line).map(str::len).sum();
        Some(start + skipped + indent - lead + column)
    }
}

fn unquoted(written: &str, quote: char) -> Option<&str> {
    written.strip_prefix(quote)?.strip_suffix(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts `<>` before a word of the value of `run`.
    fn put(document: &str, word: &str) -> Option<String> {
        let node = parse(document).expect("YAML").expect("a document");
        let scalar = node.get("run").and_then(Node::scalar).expect("run");
        let mut insertions = ScalarInsertions::default();
        insertions
            .put(document, scalar, scalar.value.find(word).expect("the word"), "<'\">")
            .then(|| insertions.apply(document))
    }

    #[test]
    fn text_is_put_into_every_style_and_nothing_else_changes() {
        let cases = [
            ("# é\nrun: cd web && test # why\nb: 1\n", "test", "# é\nrun: cd web && <'\">test # why\nb: 1\n"),
            ("{a: é, run: test, b: [1]}", "test", "{a: é, run: <'\">test, b: [1]}"),
            ("run:   'cd x; test'\r\nb: 1\r\n", "test", "run:   'cd x; <''\">test'\r\nb: 1\r\n"),
            ("run: \"cd x; test\"\n", "test", "run: \"cd x; <'\\\">test\"\n"),
            ("run: &a !!str test\nb: *a\n", "test", "run: &a !!str <'\">test\nb: *a\n"),
            (
                "run: |\n  set -e\n\n    cd x && test\nb: 1\n",
                "test",
                "run: |\n  set -e\n\n    cd x && <'\">test\nb: 1\n",
            ),
            ("run: |2-\n    test\nb: 1\n", "test", "run: |2-\n    <'\">test\nb: 1\n"),
            ("run: >-\n  test\n  more\nb: 1\n", "test", "run: >-\n  <'\">test\n  more\nb: 1\n"),
            ("run: test\n  more\n", "test", "run: <'\">test\n  more\n"),
        ];
        for (document, word, expected) in cases {
            let changed = put(document, word);
            assert_eq!(changed.as_deref(), Some(expected), "{document}");
        }
    }

    #[test]
    fn what_is_written_otherwise_is_not_touched() {
        for document in
            ["run: 'it''s; test'", "run: \"a\\tb; test\"", "run: >\n  cd x\n  && test\n", "run: a;\n  test\n"]
        {
            assert_eq!(put(document, "test"), None, "{document}");
        }
    }

    #[test]
    fn a_broken_document_is_a_fault_with_its_line() {
        for (document, line) in [("a: 1\nb: [\n", 3), ("a: 1\n---\nb: 1\n", 3), ("a: *b\n", 1), ("a: 'x\n", 2)] {
            let (found, reason) = parse(document).expect_err(document);
            assert!(found >= line - 1 && found <= line + 1 && !reason.is_empty(), "{document}: {found} {reason}");
        }
        assert_eq!(parse("# nothing\n"), Ok(None));
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert!(parse(&deep).is_err());
    }
}
