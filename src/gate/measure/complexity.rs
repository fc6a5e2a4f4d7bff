//! What adds to the cyclomatic complexity in languages where one token decides it. `docs/gate-measures.md` names the
//! sources of the rules.

use super::scanner::ScannedSource;

/// Go, by gocyclo: `if`, `for`, each `case` and `&&`, `||`.
pub(super) fn is_go_decision(source: &ScannedSource<'_>, index: usize) -> bool {
    matches!(source.code(index), "if" | "for" | "case" | "&&" | "||")
}

/// Lua, by luacheck, of a statement: `if`, `elseif`, `while`, `for` and `repeat`.
pub(super) fn is_lua_branch(word: &str) -> bool {
    matches!(word, "if" | "elseif" | "while" | "for" | "repeat")
}

/// Rust, by lizard: `if`, `for`, `while`, `match`, `where`, `&&`, `||` and `?`. Match arms add nothing.
pub(super) fn is_rust_decision(source: &ScannedSource<'_>, index: usize) -> bool {
    matches!(source.code(index), "if" | "for" | "while" | "catch" | "match" | "where" | "&&" | "||" | "?")
}

/// Java, by lizard: `if`, `for`, `while`, `catch`, each `case`, `&&`, `||` and `?:`. The `?` of a wildcard type adds
/// nothing.
pub(super) fn is_java_decision(source: &ScannedSource<'_>, index: usize) -> bool {
    match source.code(index) {
        "if" | "for" | "while" | "catch" | "case" | "&&" | "||" => true,
        "?" => !matches!(source.code(index + 1), ">" | "," | "extends" | "super"),
        _ => false,
    }
}

/// Python, by radon, of an expression: a condition, a comprehension and its conditions, `and` and `or`.
pub(super) fn is_python_decision(word: &str) -> bool {
    matches!(word, "if" | "elif" | "for" | "while" | "and" | "or")
}
