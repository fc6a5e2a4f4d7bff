//! Python. Code within f-strings becomes tokens between the parts of the string.

use super::{Cursor, TokenKind, is_word_byte};

const OPERATORS: [&str; 21] = [
    "**=", "//=", ">>=", "<<=", "...", "->", ":=", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
    "^=", "**", "//",
];

/// How deep f-strings may be nested in each other.
const NESTING_MAX: usize = 8;

pub(super) fn scan(cursor: &mut Cursor<'_>) {
    while cursor.position < cursor.bytes.len() {
        scan_token(cursor, 0);
    }
}

fn scan_token(cursor: &mut Cursor<'_>, nesting: usize) {
    cursor.skip_blanks();
    let Some(byte) = cursor.byte() else { return };
    let start = cursor.position;
    match byte {
        b'#' => cursor.scan_line_comment(),
        b'\\' => cursor.position += 1,
        b'"' | b'\'' => scan_quoted(cursor, start, nesting, false),
        b'0'..=b'9' => cursor.scan_number(),
        b'.' if cursor.byte_at(1).is_some_and(|next| next.is_ascii_digit()) => cursor.scan_number(),
        _ if is_word_byte(byte) => {
            let prefix = cursor.bytes[start..].iter().take(3).take_while(|byte| byte.is_ascii_alphabetic()).count();
            let is_prefix = prefix < 3
                && matches!(cursor.byte_at(prefix), Some(b'"' | b'\''))
                && cursor.bytes[start..start + prefix].iter().all(|byte| b"rRbBuUfFtT".contains(byte));
            if is_prefix {
                let is_format =
                    cursor.bytes[start..start + prefix].iter().any(|byte| matches!(byte, b'f' | b'F' | b't' | b'T'));
                cursor.position += prefix;
                scan_quoted(cursor, start, nesting, is_format);
            } else {
                cursor.scan_word();
            }
        }
        _ => cursor.scan_punctuation(&OPERATORS),
    }
}

/// Reads a string; the cursor is at its first quote, `start` at its prefix.
fn scan_quoted(cursor: &mut Cursor<'_>, start: usize, nesting: usize, is_format: bool) {
    let Some(quote) = cursor.byte() else { return };
    let is_triple = cursor.byte_at(1) == Some(quote) && cursor.byte_at(2) == Some(quote);
    if !is_triple && !is_format {
        cursor.scan_string(start, quote, false);
        return;
    }
    let mut line = cursor.line;
    let mut start = start;
    let mut has_parts = false;
    cursor.position += if is_triple { 3 } else { 1 };
    while let Some(byte) = cursor.byte() {
        match byte {
            b'\\' => cursor.advance(2),
            b'\n' if !is_triple => break,
            b'{' if is_format && cursor.byte_at(1) == Some(b'{') => cursor.position += 2,
            b'{' if is_format && nesting < NESTING_MAX => {
                cursor.push(TokenKind::Part, start, line);
                has_parts = true;
                scan_replacement(cursor, nesting, quote, is_triple);
                start = cursor.position;
                line = cursor.line;
            }
            _ if byte == quote && !is_triple => {
                cursor.position += 1;
                break;
            }
            _ if byte == quote && cursor.byte_at(1) == Some(quote) && cursor.byte_at(2) == Some(quote) => {
                cursor.position += 3;
                break;
            }
            _ => cursor.advance(1),
        }
    }
    cursor.push(if has_parts { TokenKind::LastPart } else { TokenKind::Literal }, start, line);
}

/// Reads `{code}` of an f-string, with a format specification behind a colon.
fn scan_replacement(cursor: &mut Cursor<'_>, nesting: usize, quote: u8, is_triple: bool) {
    cursor.scan_punctuation(&[]);
    let mut depth = 1_usize;
    while let Some(byte) = cursor.byte() {
        if byte == b'\n' && !is_triple {
            return;
        }
        // Before Python 3.12 the string's own quote ends it, and later one opens a string within.
        if byte == quote && !is_triple && depth == 1 && !has_quote_before_brace(cursor, quote) {
            return;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => cursor.advance(1),
            b':' if depth == 1 && cursor.byte_at(1) != Some(b'=') => {
                scan_format_specification(cursor, nesting, quote, is_triple);
            }
            b'(' | b'[' | b'{' => {
                depth += 1;
                cursor.scan_punctuation(&[]);
            }
            b')' | b']' | b'}' => {
                depth -= 1;
                cursor.scan_punctuation(&[]);
                if depth == 0 {
                    return;
                }
            }
            _ => scan_token(cursor, nesting + 1),
        }
    }
}

/// Whether a quote that follows within the next bytes of this line is followed by a closing brace: then the quote at
/// the cursor opens a string.
fn has_quote_before_brace(cursor: &Cursor<'_>, quote: u8) -> bool {
    let rest = cursor.bytes.get(cursor.position + 1..).unwrap_or_default();
    let rest = &rest[..rest.len().min(200)];
    let close = rest.iter().position(|byte| *byte == quote || *byte == b'\n');
    close.is_some_and(|at| rest[at] == quote && rest[at..].iter().take(80).any(|byte| *byte == b'}'))
}

fn scan_format_specification(cursor: &mut Cursor<'_>, nesting: usize, quote: u8, is_triple: bool) {
    while let Some(byte) = cursor.byte() {
        match byte {
            b'{' if nesting < NESTING_MAX => scan_replacement(cursor, nesting + 1, quote, is_triple),
            b'}' => return,
            b'\n' => return,
            _ if byte == quote => return,
            _ => cursor.advance(1),
        }
    }
}
