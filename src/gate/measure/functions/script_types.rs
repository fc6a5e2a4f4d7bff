//! Types of TypeScript, which are skipped: nothing within them decides.

use crate::gate::measure::scanner::{ScannedSource, TokenKind};

/// How many tokens and brackets a type may have.
const TYPE_STEPS_MAX: usize = 1000;

/// How many tokens and brackets may be between angle brackets that are perhaps a comparison.
const ARGUMENT_STEPS_MAX: usize = 200;

/// How deep conditional types may be nested.
const TYPE_NESTING_MAX: usize = 32;

/// The index behind the type that begins at `index`; `index` if none begins there.
pub(super) fn skip_type(source: &ScannedSource<'_>, index: usize) -> usize {
    let mut steps = TYPE_STEPS_MAX;
    skip_nested_type(source, index, &mut steps, 0)
}

fn skip_nested_type(source: &ScannedSource<'_>, first: usize, steps: &mut usize, nesting: usize) -> usize {
    let mut index = skip_prefixes(source, first);
    while *steps > 0 {
        *steps -= 1;
        let before = index;
        index = skip_primary(source, index, steps);
        if index == before {
            return index;
        }
        if source.code(before) == "<" && source.code(index) == "(" {
            continue;
        }
        if source.code(index) == "=>" && has_parameters(source, before) {
            index = skip_prefixes(source, index + 1);
            continue;
        }
        while source.code(index) == "[" && is_on_line(source, index) {
            index = source.mate(index).max(index) + 1;
        }
        match source.code(index) {
            "is" if is_on_line(source, index) => index = skip_prefixes(source, index + 1),
            "|" | "&" => index = skip_prefixes(source, index + 1),
            "extends" if nesting < TYPE_NESTING_MAX => {
                index = skip_nested_type(source, index + 1, steps, nesting + 1);
                if source.code(index) != "?" {
                    return index;
                }
                index = skip_nested_type(source, index + 1, steps, nesting + 1);
                if source.code(index) != ":" {
                    return index;
                }
                index = skip_prefixes(source, index + 1);
            }
            _ => return index,
        }
    }
    index
}

/// Whether the parentheses that open at `open` have parameters, and no type.
fn has_parameters(source: &ScannedSource<'_>, open: usize) -> bool {
    source.code(open) == "("
        && match source.code(open + 1) {
            ")" | "..." | "{" | "[" => true,
            _ => source.is_word(open + 1) && matches!(source.code(open + 2), ":" | "?" | ","),
        }
}

fn is_on_line(source: &ScannedSource<'_>, index: usize) -> bool {
    index > 0 && source.line_of(index) == source.last_line_of(index - 1)
}

fn skip_prefixes(source: &ScannedSource<'_>, mut index: usize) -> usize {
    loop {
        match source.code(index) {
            "|" | "&" | "-" | "..." | "typeof" | "new" => index += 1,
            "keyof" | "unique" | "readonly" | "infer" | "asserts" | "abstract"
                if source.is_word(index + 1) && source.code(index + 1) != "is"
                    || matches!(source.code(index + 1), "{" | "[" | "(") =>
            {
                index += 1;
            }
            _ => return index,
        }
    }
}

fn skip_primary(source: &ScannedSource<'_>, mut index: usize, steps: &mut usize) -> usize {
    match source.tokens.get(index).map(|token| token.kind) {
        Some(TokenKind::Literal | TokenKind::Number) => index + 1,
        Some(TokenKind::Part) => {
            while source.tokens.get(index).is_some_and(|token| token.kind == TokenKind::Part) && *steps > 0 {
                *steps -= 1;
                index = source.mate(index + 1).max(index + 1) + 1;
            }
            index + 1
        }
        Some(TokenKind::Word) => {
            let is_import = source.code(index) == "import" && source.code(index + 1) == "(";
            index = if is_import { source.mate(index + 1).max(index + 1) + 1 } else { index + 1 };
            while source.code(index) == "." && *steps > 0 {
                *steps -= 1;
                index += 2;
            }
            if source.code(index) == "<" { skip_angles(source, index, steps, true).unwrap_or(index) } else { index }
        }
        Some(TokenKind::Punctuation) => match source.code(index) {
            "(" | "{" | "[" => source.mate(index).max(index) + 1,
            "<" => skip_angles(source, index, steps, true).unwrap_or(index),
            _ => index,
        },
        _ => index,
    }
}

/// The index behind the type parameters whose `<` is at `index`.
pub(super) fn skip_type_parameters(source: &ScannedSource<'_>, index: usize) -> Option<usize> {
    skip_angles(source, index, &mut { TYPE_STEPS_MAX }, true)
}

/// The index behind type arguments if the `<` at `index` opens such, and is no comparison.
pub(super) fn skip_type_arguments(source: &ScannedSource<'_>, index: usize) -> Option<usize> {
    skip_angles(source, index, &mut { ARGUMENT_STEPS_MAX }, false)
}

fn skip_angles(source: &ScannedSource<'_>, first: usize, steps: &mut usize, has_defaults: bool) -> Option<usize> {
    let mut depth = 0_usize;
    let mut index = first;
    while *steps > 0 {
        *steps -= 1;
        let token = source.tokens.get(index)?;
        if token.kind == TokenKind::Punctuation {
            match source.code(index) {
                "<" => depth += 1,
                "<<" => depth += 2,
                ">" => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(index + 1);
                    }
                }
                "(" | "[" | "{" => index = source.mate(index).max(index),
                "=" if has_defaults => {}
                "," | "." | "|" | "&" | "=>" | "?" | ":" | "-" | "..." => {}
                _ => return None,
            }
        }
        index += 1;
    }
    None
}
