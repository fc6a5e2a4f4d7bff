//! Go, Rust and Java.

use super::{Cursor, TokenKind, is_word_byte};
use crate::gate::measure::SourceLanguage;

const OPERATORS: [&str; 24] = [
    "...", "..=", "&&=", "||=", "&&", "||", "==", "!=", "<=", "=>", "->", "<-", ":=", "::", "++", "--", "+=", "-=",
    "*=", "/=", "|=", "&=", "^=", "..",
];

pub(super) fn scan(cursor: &mut Cursor<'_>, language: SourceLanguage) {
    loop {
        cursor.skip_blanks();
        let Some(byte) = cursor.byte() else { return };
        let start = cursor.position;
        match byte {
            b'/' if cursor.byte_at(1) == Some(b'/') => cursor.scan_line_comment(),
            b'/' if cursor.byte_at(1) == Some(b'*') && language == SourceLanguage::Rust => {
                scan_nested_comment(cursor);
            }
            b'/' if cursor.byte_at(1) == Some(b'*') => cursor.scan_block_comment(),
            b'"' if language == SourceLanguage::Java && cursor.starts_with("\"\"\"") => scan_text_block(cursor),
            b'"' => cursor.scan_string(start, byte, language == SourceLanguage::Rust),
            b'`' if language == SourceLanguage::Go => {
                let line = cursor.line;
                cursor.position += 1;
                cursor.advance_behind("`");
                cursor.push(TokenKind::Literal, start, line);
            }
            b'\'' if language == SourceLanguage::Rust => scan_character_or_lifetime(cursor),
            b'\'' => cursor.scan_string(start, byte, false),
            b'0'..=b'9' => cursor.scan_number(),
            b'r' | b'b' | b'c' if language == SourceLanguage::Rust && scan_prefixed_string(cursor) => {}
            _ if cursor.scan_word() => {}
            _ => cursor.scan_punctuation(&OPERATORS),
        }
    }
}

fn scan_nested_comment(cursor: &mut Cursor<'_>) {
    let start = cursor.position;
    let mut depth = 0_usize;
    loop {
        if cursor.starts_with("/*") {
            depth += 1;
            cursor.advance(2);
        } else if cursor.starts_with("*/") {
            depth -= 1;
            cursor.advance(2);
            if depth == 0 {
                break;
            }
        } else if cursor.byte().is_none() {
            break;
        } else {
            cursor.advance(1);
            cursor.advance_until(|byte| matches!(byte, b'/' | b'*'));
        }
    }
    cursor.push_comment(start);
}

fn scan_text_block(cursor: &mut Cursor<'_>) {
    let (start, line) = (cursor.position, cursor.line);
    cursor.advance(3);
    while cursor.byte().is_some() {
        if cursor.starts_with("\"\"\"") {
            cursor.advance(3);
            break;
        }
        cursor.advance(if cursor.byte() == Some(b'\\') { 2 } else { 1 });
    }
    cursor.push(TokenKind::Literal, start, line);
}

/// Reads `'a'`, `'\n'` or `'lifetime`.
fn scan_character_or_lifetime(cursor: &mut Cursor<'_>) {
    let (start, line) = (cursor.position, cursor.line);
    let rest = cursor.text.get(start + 1..).unwrap_or("");
    let first = rest.chars().next();
    if first == Some('\\') {
        cursor.scan_string(start, b'\'', false);
        return;
    }
    let length = first.map_or(0, char::len_utf8);
    if rest.as_bytes().get(length) == Some(&b'\'') {
        cursor.advance(length + 2);
        cursor.push(TokenKind::Literal, start, line);
        return;
    }
    cursor.position += 1;
    while cursor.byte().is_some_and(is_word_byte) {
        cursor.position += 1;
    }
    cursor.push(TokenKind::Literal, start, line);
}

/// Reads `r"…"`, `r#"…"#`, `b"…"`, `br#"…"#`, `c"…"` and `b'…'` if one begins here.
fn scan_prefixed_string(cursor: &mut Cursor<'_>) -> bool {
    let (start, line) = (cursor.position, cursor.line);
    let prefix = cursor.bytes[start..].iter().take(2).take_while(|byte| matches!(byte, b'r' | b'b' | b'c')).count();
    let is_raw = cursor.bytes[start..start + prefix].contains(&b'r');
    let fence = cursor.bytes[start + prefix..].iter().take(256).take_while(|byte| **byte == b'#').count();
    match cursor.byte_at(prefix + fence) {
        Some(b'"') if is_raw => {
            cursor.advance(prefix + fence + 1);
            cursor.advance_behind(&format!("\"{}", "#".repeat(fence)));
            cursor.push(TokenKind::Literal, start, line);
            true
        }
        Some(b'"') if fence == 0 => {
            cursor.position += prefix;
            cursor.scan_string(start, b'"', true);
            true
        }
        Some(b'\'') if fence == 0 && prefix == 1 && !is_raw => {
            cursor.position += prefix;
            cursor.scan_string(start, b'\'', false);
            true
        }
        _ => false,
    }
}
