//! Lua.

use super::{Cursor, TokenKind};

const OPERATORS: [&str; 11] = ["...", "..", "==", "~=", "<=", ">=", "//", "::", "<<", ">>", "->"];

pub(super) fn scan(cursor: &mut Cursor<'_>) {
    if cursor.starts_with("#") {
        cursor.scan_line_comment();
    }
    loop {
        cursor.skip_blanks();
        let Some(byte) = cursor.byte() else { return };
        let start = cursor.position;
        match byte {
            b'-' if cursor.byte_at(1) == Some(b'-') => {
                cursor.position += 2;
                if scan_long_bracket(cursor) {
                    cursor.push_comment(start);
                } else {
                    cursor.position = start;
                    cursor.scan_line_comment();
                }
            }
            b'"' | b'\'' => scan_quoted(cursor, byte),
            b'[' => {
                let line = cursor.line;
                if scan_long_bracket(cursor) {
                    cursor.push(TokenKind::Literal, start, line);
                } else {
                    cursor.scan_punctuation(&[]);
                }
            }
            b'0'..=b'9' => cursor.scan_number(),
            _ if cursor.scan_word() => {}
            _ => cursor.scan_punctuation(&OPERATORS),
        }
    }
}

/// Reads a string that begins here and ends with `quote`. `\z` skips the blanks and line ends behind it.
fn scan_quoted(cursor: &mut Cursor<'_>, quote: u8) {
    let (start, line) = (cursor.position, cursor.line);
    cursor.advance(1);
    while let Some(byte) = cursor.byte() {
        if cursor.starts_with("\\z") {
            cursor.advance(2);
            cursor.advance_until(|byte| !byte.is_ascii_whitespace());
            continue;
        }
        if byte == b'\n' {
            break;
        }
        cursor.advance(if byte == b'\\' { 2 } else { 1 });
        if byte == quote {
            break;
        }
    }
    cursor.push(TokenKind::Literal, start, line);
}

/// Goes behind a long bracket (`[[…]]`, `[==[…]==]`) if one begins here.
fn scan_long_bracket(cursor: &mut Cursor<'_>) -> bool {
    if cursor.byte() != Some(b'[') {
        return false;
    }
    let level = cursor.bytes[cursor.position + 1..].iter().take(LEVEL_MAX).take_while(|byte| **byte == b'=').count();
    if cursor.byte_at(level + 1) != Some(b'[') {
        return false;
    }
    cursor.advance(level + 2);
    cursor.advance_behind(&format!("]{}]", "=".repeat(level)));
    true
}

/// The longest row of equals signs that a long bracket may have.
const LEVEL_MAX: usize = 64;
