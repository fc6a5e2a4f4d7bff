//! Functions of Lua: each `function` is one of its own. The main chunk is none.

use super::{ANONYMOUS, FunctionDraft, join_names};
use crate::gate::measure::complexity::is_lua_branch;
use crate::gate::measure::scanner::ScannedSource;

/// What an `end` or `until` closes.
#[derive(Clone, Copy, PartialEq)]
enum LuaBlock {
    Function(usize),
    LoopHeader,
    BareDo,
    Other,
}

pub(super) fn find_functions(source: &ScannedSource<'_>) -> Vec<FunctionDraft> {
    let mut drafts: Vec<FunctionDraft> = Vec::new();
    let mut blocks: Vec<LuaBlock> = Vec::new();
    // The open functions, each with the number of bare `do` blocks around the current token within it.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut target_end = 0;
    for index in 0..source.tokens.len() {
        if !source.is_word(index) {
            if index >= target_end && source.code(index) == "[" && is_assigned(source, index) {
                target_end = source.mate(index);
            }
            continue;
        }
        let word = source.text_of(index);
        if let Some((innermost, bare_blocks)) = open.last() {
            // luacheck does not look for statements within a bare `do` block, nor at what is assigned to.
            let is_decision =
                matches!(word, "and" | "or") && index >= target_end || *bare_blocks == 0 && is_lua_branch(word);
            drafts[*innermost].complexity = drafts[*innermost].complexity.saturating_add(u32::from(is_decision));
        }
        match word {
            "function" => {
                let outer = open.last().map_or("", |(outer, _)| drafts[*outer].name.as_str());
                let (name, head) = name_function(source, index);
                let name = join_names(outer, &name);
                open.push((drafts.len(), 0));
                blocks.push(LuaBlock::Function(drafts.len()));
                drafts.push(FunctionDraft::new(name, head, index));
            }
            "while" | "for" => blocks.push(LuaBlock::LoopHeader),
            "if" | "repeat" => blocks.push(LuaBlock::Other),
            "do" => {
                if let Some(header @ LuaBlock::LoopHeader) = blocks.last_mut() {
                    *header = LuaBlock::Other;
                } else {
                    blocks.push(LuaBlock::BareDo);
                    open.iter_mut().last().into_iter().for_each(|(_, bare_blocks)| *bare_blocks += 1);
                }
            }
            "end" | "until" => match blocks.pop() {
                Some(LuaBlock::Function(closed)) => {
                    drafts[closed].end_token = index + 1;
                    open.pop();
                }
                Some(LuaBlock::BareDo) => {
                    open.iter_mut().last().into_iter().for_each(|(_, bare_blocks)| *bare_blocks -= 1);
                }
                _ => {}
            },
            _ => {}
        }
    }
    for (unclosed, _) in open {
        drafts[unclosed].end_token = source.tokens.len();
    }
    drafts
}

/// Whether the bracket at `open` is part of what an assignment assigns to: `a[…].b = `.
fn is_assigned(source: &ScannedSource<'_>, open: usize) -> bool {
    let is_index = open > 0 && (source.is_word(open - 1) || matches!(source.code(open - 1), ")" | "]"));
    let mut index = source.mate(open);
    if !is_index || index <= open {
        return false;
    }
    index += 1;
    for _ in 0..ACCESSES_MAX {
        match source.code(index) {
            "=" => return true,
            "." => index += 2,
            "[" => index = source.mate(index).max(index) + 1,
            _ => return false,
        }
    }
    false
}

/// How many further accesses are looked at for the `=` of an assignment.
const ACCESSES_MAX: usize = 16;

/// The name of the function at `function`, and the first token of its declaration.
fn name_function(source: &ScannedSource<'_>, function: usize) -> (String, usize) {
    if source.is_word(function + 1) {
        let name: String = (function + 1..function + 32)
            .take_while(|index| source.is_word(*index) || matches!(source.code(*index), "." | ":"))
            .map(|index| source.text_of(index))
            .collect();
        let is_local = function > 0 && source.code(function - 1) == "local";
        return (name, if is_local { function - 1 } else { function });
    }
    if function < 2 || source.code(function - 1) != "=" {
        return (ANONYMOUS.to_owned(), function);
    }
    let mut head = function - 1;
    while head > 0 && function - head < 32 {
        let is_part = source.is_word(head - 1) && source.code(head) != "local"
            || matches!(source.code(head - 1), "." | ":")
            || source.code(head - 1) == "local";
        let is_same_line = source.line_of(head - 1) == source.line_of(function - 1);
        let is_separate = head < function - 1 && source.is_word(head) && source.is_word(head - 1);
        if !is_part || !is_same_line || is_separate && source.code(head - 1) != "local" {
            break;
        }
        head -= 1;
    }
    let name: String =
        (head..function - 1).map(|index| source.text_of(index)).filter(|text| *text != "local").collect();
    if name.is_empty() { (ANONYMOUS.to_owned(), function) } else { (name, head) }
}
