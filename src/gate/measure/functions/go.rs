//! Functions of Go: declarations. Function literals count where they are, as gocyclo counts them.

use super::FunctionDraft;
use crate::gate::measure::complexity::is_go_decision;
use crate::gate::measure::scanner::ScannedSource;

pub(super) fn find_functions(source: &ScannedSource<'_>) -> Vec<FunctionDraft> {
    let mut drafts = Vec::new();
    let mut index = 0;
    while index < source.tokens.len() {
        match source.code(index) {
            "func" if is_statement_start(source, index) => index = read_function(source, index, &mut drafts),
            "{" | "(" | "[" => index = source.mate(index).max(index) + 1,
            _ => index += 1,
        }
    }
    drafts
}

/// Whether the token before ends a statement: it is on an earlier line or a semicolon.
fn is_statement_start(source: &ScannedSource<'_>, index: usize) -> bool {
    let Some(before) = index.checked_sub(1) else { return true };
    source.code(before) == ";" || source.last_line_of(before) < source.line_of(index)
}

/// Reads a declaration at `func` and returns the index behind it.
fn read_function(source: &ScannedSource<'_>, first: usize, drafts: &mut Vec<FunctionDraft>) -> usize {
    let mut index = first + 1;
    let mut receiver = "";
    if source.code(index) == "(" {
        let end = source.mate(index);
        receiver = receiver_type(source, index, end);
        index = end.max(index) + 1;
    }
    if !source.is_word(index) {
        // A function literal or a function type outside of a declaration.
        return first + 1;
    }
    let name = source.text_of(index);
    index += 1;
    if source.code(index) == "[" {
        index = source.mate(index).max(index) + 1;
    }
    let Some(body) = find_body(source, index) else { return index };
    let end = source.mate(body).max(body) + 1;
    let name = if receiver.is_empty() { name.to_owned() } else { format!("{receiver}.{name}") };
    let mut draft = FunctionDraft::new(name, first, first);
    draft.end_token = end;
    let decisions = (body..end).filter(|token| is_go_decision(source, *token)).count();
    draft.complexity = draft.complexity.saturating_add(u32::try_from(decisions).unwrap_or(u32::MAX));
    drafts.push(draft);
    end
}

/// The name of the type in a receiver: `T` of `(t *T[K])`.
fn receiver_type<'a>(source: &ScannedSource<'a>, open: usize, close: usize) -> &'a str {
    let generics = (open..close).find(|index| source.code(*index) == "[").unwrap_or(close);
    (open..generics).rev().find(|index| source.is_word(*index)).map_or("", |index| source.text_of(index))
}

/// The index of the brace that opens the body, from the parameters on; nothing for a declaration without a body.
fn find_body(source: &ScannedSource<'_>, parameters: usize) -> Option<usize> {
    let mut index = source.mate(parameters).max(parameters) + 1;
    loop {
        let is_on_line = source.line_of(index) == source.last_line_of(index.saturating_sub(1));
        match source.code(index) {
            _ if index >= source.tokens.len() || !is_on_line => return None,
            "struct" | "interface" if source.code(index + 1) == "{" => index = source.mate(index + 1) + 1,
            "{" => return Some(index),
            ";" | "}" => return None,
            "(" | "[" => index = source.mate(index).max(index) + 1,
            _ => index += 1,
        }
    }
}
