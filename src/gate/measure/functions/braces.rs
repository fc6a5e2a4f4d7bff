//! Functions of Rust and Java.

use super::{FunctionDraft, find_head, join_names};
use crate::gate::measure::complexity::{is_java_decision, is_rust_decision};
use crate::gate::measure::scanner::ScannedSource;

/// The functions of Rust. Closures count where they are.
pub(super) fn find_rust_functions(source: &ScannedSource<'_>) -> Vec<FunctionDraft> {
    let mut spans = BraceSpans::default();
    for index in 0..source.tokens.len() {
        spans.close_before(index);
        match source.code(index) {
            "impl" | "trait" if is_rust_item_start(source, index) => {
                if let Some((name, end)) = rust_block_name(source, index) {
                    spans.names.push((name.to_owned(), end));
                }
            }
            "fn" if source.is_word(index + 1) => {
                if let Some(body) = find_rust_body(source, index + 2) {
                    let end = source.mate(body).max(body) + 1;
                    spans.open_function(source.text_of(index + 1), find_head(source, index), index, end);
                }
            }
            _ if is_rust_decision(source, index) => spans.add_decision(),
            _ => {}
        }
    }
    spans.drafts
}

/// The names and functions around the current token.
#[derive(Default)]
struct BraceSpans {
    drafts: Vec<FunctionDraft>,
    /// The open functions, by their index.
    open: Vec<usize>,
    /// The open types and functions: their names and the index behind them.
    names: Vec<(String, usize)>,
}

impl BraceSpans {
    fn close_before(&mut self, index: usize) {
        while self.open.last().is_some_and(|innermost| self.drafts[*innermost].end_token <= index) {
            self.open.pop();
        }
        while self.names.last().is_some_and(|(_, end)| *end <= index) {
            self.names.pop();
        }
    }

    fn open_function(&mut self, name: &str, head: usize, first: usize, end: usize) {
        let outer = self.names.last().map_or("", |(outer, _)| outer.as_str());
        let name = join_names(outer, name);
        self.names.push((name.clone(), end));
        self.open.push(self.drafts.len());
        let mut draft = FunctionDraft::new(name, head, first);
        draft.end_token = end;
        self.drafts.push(draft);
    }

    fn add_decision(&mut self) {
        if let Some(innermost) = self.open.last() {
            let complexity = &mut self.drafts[*innermost].complexity;
            *complexity = complexity.saturating_add(1);
        }
    }
}

/// Whether `impl` or `trait` begins an item here, and no type.
fn is_rust_item_start(source: &ScannedSource<'_>, index: usize) -> bool {
    let before = index.checked_sub(1).map_or("", |before| source.code(before));
    index == 0 || matches!(before, ";" | "{" | "}" | "]" | ")" | "pub" | "unsafe" | "default" | "auto" | "const")
}

/// The name of the type of an `impl` or `trait` block, and the index behind the block.
fn rust_block_name<'a>(source: &ScannedSource<'a>, first: usize) -> Option<(&'a str, usize)> {
    let mut name = "";
    let mut angles = 0_i32;
    let mut index = first + 1;
    let mut is_complete = false;
    for _ in 0..HEADER_STEPS_MAX {
        match source.code(index) {
            "{" => return Some((name, source.mate(index).max(index) + 1)),
            ";" => return None,
            "<" => angles += 1,
            ">" => angles -= 1,
            "(" | "[" => index = source.mate(index).max(index),
            "for" if angles == 0 && source.code(index + 1) != "<" => is_complete = false,
            "where" | ":" if angles == 0 => is_complete = true,
            _ if angles == 0 && !is_complete && source.is_word(index) => name = source.text_of(index),
            _ => {}
        }
        index += 1;
    }
    None
}

/// How many tokens and brackets the header of a type or function may have.
const HEADER_STEPS_MAX: usize = 2000;

/// The index of the brace that opens the body, from behind the name on; nothing for a declaration without a body.
fn find_rust_body(source: &ScannedSource<'_>, behind_name: usize) -> Option<usize> {
    let mut index = behind_name;
    for _ in 0..HEADER_STEPS_MAX {
        match source.code(index) {
            "{" => return Some(index),
            ";" | "}" => return None,
            "(" | "[" => index = source.mate(index).max(index) + 1,
            _ if index >= source.tokens.len() => return None,
            _ => index += 1,
        }
    }
    None
}

/// The functions of Java: methods and constructors, also of anonymous classes. Lambdas count where they are.
pub(super) fn find_java_functions(source: &ScannedSource<'_>) -> Vec<FunctionDraft> {
    let mut spans = BraceSpans::default();
    // The braces of class bodies, by their closing index.
    let mut class_ends: Vec<usize> = Vec::new();
    let mut index = 0;
    while index < source.tokens.len() {
        spans.close_before(index);
        while class_ends.last().is_some_and(|end| *end <= index) {
            class_ends.pop();
        }
        let code = source.code(index);
        match code {
            "class" | "interface" | "enum" | "record"
                if source.is_word(index + 1) && is_java_type_start(source, index) =>
            {
                if let Some(body) = find_java_type_body(source, index + 2) {
                    let end = source.mate(body).max(body);
                    let outer = spans.names.last().map_or("", |(outer, _)| outer.as_str());
                    spans.names.push((join_names(outer, source.text_of(index + 1)), end));
                    class_ends.push(end);
                    index = body + 1;
                    continue;
                }
            }
            "{" if is_anonymous_class_body(source, index) => {
                class_ends.push(source.mate(index).max(index));
            }
            _ if source.is_word(index) => {
                let is_member = is_at_member_level(source, &spans, &class_ends, index);
                if is_member && let Some(body) = find_java_body(source, index) {
                    let end = source.mate(body).max(body) + 1;
                    spans.open_function(code, find_head(source, index), index, end);
                    index = body + 1;
                    continue;
                }
            }
            _ => {}
        }
        if is_java_decision(source, index) {
            spans.add_decision();
        }
        index += 1;
    }
    spans.drafts
}

/// Whether a type is declared by the word at `index`: no `Foo.class`, no variable named `record`.
fn is_java_type_start(source: &ScannedSource<'_>, index: usize) -> bool {
    let before = index.checked_sub(1).map_or("", |before| source.code(before));
    before != "."
        && before != "::"
        && (source.code(index) != "record" || source.code(index + 2) == "(" || source.code(index + 2) == "<")
}

fn find_java_type_body(source: &ScannedSource<'_>, behind_name: usize) -> Option<usize> {
    let mut index = behind_name;
    for _ in 0..HEADER_STEPS_MAX {
        match source.code(index) {
            "{" => return Some(index),
            ";" | "}" | "=" => return None,
            "(" | "[" => index = source.mate(index).max(index) + 1,
            _ if index >= source.tokens.len() => return None,
            _ => index += 1,
        }
    }
    None
}

/// Whether a brace opens the body of an anonymous class or of an enum constant: `new Type<…>(…) {`, `CONSTANT(…) {`.
fn is_anonymous_class_body(source: &ScannedSource<'_>, brace: usize) -> bool {
    let Some(close) = brace.checked_sub(1).filter(|close| source.code(*close) == ")") else { return false };
    let mut index = source.mate(close);
    for _ in 0..HEADER_STEPS_MAX {
        let Some(before) = index.checked_sub(1) else { return false };
        match source.code(before) {
            "new" => return true,
            ">" | "<" | "," | "." | "?" | "&" | "[" | "]" | "@" => {}
            _ if source.is_word(before)
                && !matches!(source.code(before), "if" | "while" | "for" | "switch" | "catch") => {}
            _ => return false,
        }
        index = before;
    }
    false
}

/// Whether a token is a member of the innermost class body, and not within a method of it.
fn is_at_member_level(source: &ScannedSource<'_>, spans: &BraceSpans, class_ends: &[usize], index: usize) -> bool {
    let Some(class_end) = class_ends.last() else { return false };
    let is_in_method = spans.open.last().is_some_and(|innermost| spans.drafts[*innermost].end_token <= *class_end);
    !is_in_method && source.code(index + 1) == "("
}

/// The index of the brace that opens the body of the method whose name is at `name`: behind the parameters, empty
/// brackets and thrown types. A compact constructor has no parameters and is none.
fn find_java_body(source: &ScannedSource<'_>, name: usize) -> Option<usize> {
    let before = name.checked_sub(1).map_or("", |before| source.code(before));
    if matches!(before, "new" | "." | "@" | "=" | "::" | "->" | "(" | ",") || is_java_statement(source.code(name)) {
        return None;
    }
    let mut index = source.mate(name + 1).max(name + 1) + 1;
    for _ in 0..HEADER_STEPS_MAX {
        match source.code(index) {
            "{" => return Some(index),
            "throws" | "," | "." | "[" | "]" | "@" | "<" | ">" => index += 1,
            _ if source.is_word(index) => index += 1,
            _ => return None,
        }
    }
    None
}

fn is_java_statement(word: &str) -> bool {
    matches!(
        word,
        "if" | "for" | "while" | "switch" | "catch" | "synchronized" | "try" | "do" | "else" | "return" | "static"
    )
}
