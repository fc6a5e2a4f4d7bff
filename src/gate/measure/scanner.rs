//! Splits source text of seven languages into tokens, with comments apart. The scanner never fails: text that is not
//! valid in its language gives tokens that are less useful.

mod lua;
mod python;
mod script;
mod system;

use super::SourceLanguage;

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// An identifier or a keyword.
    Word,
    /// A number.
    Number,
    /// A whole string, character or regular expression.
    Literal,
    /// A part of a template string, an f-string or a JSX element that code in braces follows.
    Part,
    /// The last part of a template string, an f-string or a JSX element.
    LastPart,
    /// An operator or a bracket.
    Punctuation,
}

/// One token of a source text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    /// The kind.
    pub(crate) kind: TokenKind,
    /// The offset of the first byte.
    pub(crate) start: u32,
    /// The offset after the last byte.
    pub(crate) end: u32,
    /// The line of the first byte, from 1.
    pub(crate) line: u32,
}

/// One comment of a source text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Comment {
    /// The offset of the first byte.
    pub(crate) start: u32,
    /// The offset after the last byte.
    pub(crate) end: u32,
    /// The line of the last byte, from 1.
    pub(crate) last_line: u32,
}

/// The tokens and comments of one source text.
#[derive(Debug)]
pub(crate) struct ScannedSource<'a> {
    /// The text that was scanned.
    pub(crate) text: &'a str,
    /// The tokens, by position.
    pub(crate) tokens: Vec<Token>,
    /// The comments, by position.
    pub(crate) comments: Vec<Comment>,
    /// For each opening bracket the index of its closing bracket, and the other way around; for every other token and
    /// for a bracket without a partner its own index.
    pub(crate) mates: Vec<u32>,
}

impl<'a> ScannedSource<'a> {
    /// The text of a token; empty behind the last token.
    pub(crate) fn text_of(&self, index: usize) -> &'a str {
        let Some(token) = self.tokens.get(index) else { return "" };
        self.text.get(token.start as usize..token.end as usize).unwrap_or("")
    }

    /// The line of a token, from 1; behind the last token the last token's line.
    pub(crate) fn line_of(&self, index: usize) -> u32 {
        self.tokens.get(index).or(self.tokens.last()).map_or(1, |token| token.line)
    }

    /// Whether a token is a word.
    pub(crate) fn is_word(&self, index: usize) -> bool {
        self.tokens.get(index).is_some_and(|token| token.kind == TokenKind::Word)
    }

    /// The text of a token that is a word or punctuation; empty for every other token.
    pub(crate) fn code(&self, index: usize) -> &'a str {
        match self.tokens.get(index).map(|token| token.kind) {
            Some(TokenKind::Word | TokenKind::Punctuation) => self.text_of(index),
            _ => "",
        }
    }

    /// The index of the bracket that closes the one at `index`; `index` itself if there is none.
    pub(crate) fn mate(&self, index: usize) -> usize {
        self.mates.get(index).map_or(index, |mate| *mate as usize)
    }

    /// The line of the last byte of a token, from 1.
    pub(crate) fn last_line_of(&self, index: usize) -> u32 {
        let breaks = self.text_of(index).bytes().filter(|byte| *byte == b'\n').count();
        self.line_of(index).saturating_add(u32::try_from(breaks).unwrap_or(0))
    }
}

/// Splits a text into tokens and comments.
pub(crate) fn scan_source(language: SourceLanguage, text: &str) -> ScannedSource<'_> {
    let mut cursor = Cursor::new(text);
    match language {
        SourceLanguage::JavaScript | SourceLanguage::TypeScript => {
            script::scan(&mut cursor, language == SourceLanguage::TypeScript);
        }
        SourceLanguage::Python => python::scan(&mut cursor),
        SourceLanguage::Lua => lua::scan(&mut cursor),
        SourceLanguage::Go | SourceLanguage::Rust | SourceLanguage::Java => system::scan(&mut cursor, language),
    }
    let mates = pair_brackets(text, &cursor.tokens);
    ScannedSource { text, tokens: cursor.tokens, comments: cursor.comments, mates }
}

/// Finds the partner of each bracket. A closing bracket closes the nearest open one of its kind, so that one bracket
/// too many does not shift all that follow.
fn pair_brackets(text: &str, tokens: &[Token]) -> Vec<u32> {
    let mut mates: Vec<u32> = (0..u32::try_from(tokens.len()).unwrap_or(u32::MAX)).collect();
    let mut open: Vec<(u8, usize)> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.kind != TokenKind::Punctuation {
            continue;
        }
        let wanted = match text.as_bytes().get(token.start as usize) {
            Some(byte @ (b'(' | b'[' | b'{')) => {
                open.push((*byte, index));
                continue;
            }
            Some(b')') => b'(',
            Some(b']') => b'[',
            Some(b'}') => b'{',
            _ => continue,
        };
        let nearest = open.iter().rev().take(NESTED_BRACKETS_LOOKED_AT).position(|(byte, _)| *byte == wanted);
        let Some(back) = nearest else { continue };
        open.truncate(open.len() - back);
        if let Some((_, first)) = open.pop() {
            mates[first] = u32::try_from(index).unwrap_or(u32::MAX);
            mates[index] = u32::try_from(first).unwrap_or(u32::MAX);
        }
    }
    mates
}

/// How many open brackets are looked at for the partner of a closing one.
const NESTED_BRACKETS_LOOKED_AT: usize = 64;

/// A position in a text, with what was found before it.
struct Cursor<'a> {
    text: &'a str,
    bytes: &'a [u8],
    position: usize,
    line: u32,
    tokens: Vec<Token>,
    comments: Vec<Comment>,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Self {
        let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
        let tokens = Vec::with_capacity(text.len() / 5);
        Self { text, bytes: text.as_bytes(), position: start, line: 1, tokens, comments: Vec::new() }
    }

    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn byte_at(&self, offset: usize) -> Option<u8> {
        self.bytes.get(self.position.saturating_add(offset)).copied()
    }

    fn starts_with(&self, word: &str) -> bool {
        self.bytes.get(self.position..).is_some_and(|rest| rest.starts_with(word.as_bytes()))
    }

    /// Goes on by some bytes, counting the lines; stops at the end of the text.
    fn advance(&mut self, bytes: usize) {
        let end = self.position.saturating_add(bytes).min(self.bytes.len());
        let breaks = self.bytes[self.position..end].iter().filter(|byte| **byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(breaks).unwrap_or(0));
        self.position = end;
    }

    /// Goes on to the first byte that is one of `stops`, or to the end.
    fn advance_until(&mut self, stops: impl Fn(u8) -> bool) {
        while let Some(byte) = self.byte() {
            if stops(byte) {
                return;
            }
            self.line += u32::from(byte == b'\n');
            self.position += 1;
        }
    }

    /// Goes on behind the next `end`, or to the end of the text.
    fn advance_behind(&mut self, end: &str) {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let found = memchr::memmem::find(rest, end.as_bytes());
        self.advance(found.map_or(rest.len(), |at| at + end.len()));
    }

    fn push(&mut self, kind: TokenKind, start: usize, line: u32) {
        let (start, end) = (to_offset(start), to_offset(self.position));
        self.tokens.push(Token { kind, start, end, line });
    }

    fn push_comment(&mut self, start: usize) {
        let (start, end) = (to_offset(start), to_offset(self.position));
        self.comments.push(Comment { start, end, last_line: self.line });
    }

    /// Reads a word if one begins here.
    fn scan_word(&mut self) -> bool {
        let start = self.position;
        while self.byte().is_some_and(is_word_byte) {
            self.position += 1;
        }
        if self.position == start {
            return false;
        }
        self.push(TokenKind::Word, start, self.line);
        true
    }

    /// Reads a number that begins here, with its suffix and exponent.
    fn scan_number(&mut self) {
        let start = self.position;
        let is_hexadecimal = self.byte() == Some(b'0') && matches!(self.byte_at(1), Some(b'x' | b'X'));
        let mut has_point = false;
        while let Some(byte) = self.byte() {
            let previous = self.bytes.get(self.position.wrapping_sub(1)).copied();
            let is_sign = matches!(byte, b'+' | b'-') && matches!(previous, Some(b'e' | b'E')) && !is_hexadecimal;
            let is_point = byte == b'.' && !has_point && self.byte_at(1) != Some(b'.');
            if !(is_word_byte(byte) || is_point || is_sign && self.position > start) {
                break;
            }
            has_point |= is_point;
            self.position += 1;
        }
        self.push(TokenKind::Number, start, self.line);
    }

    /// Reads a string that begins here and ends with `quote`. A backslash escapes the next byte; without `spans_lines`
    /// the string ends at the end of its line.
    fn scan_string(&mut self, start: usize, quote: u8, spans_lines: bool) {
        let line = self.line;
        self.position += 1;
        while let Some(byte) = self.byte() {
            if byte == b'\\' {
                self.advance(2);
                continue;
            }
            if byte == b'\n' && !spans_lines {
                break;
            }
            self.advance(1);
            if byte == quote {
                break;
            }
        }
        self.push(TokenKind::Literal, start, line);
    }

    /// Reads the longest of the operators, or one character.
    fn scan_punctuation(&mut self, operators: &[&str]) {
        let start = self.position;
        if self.byte().is_some_and(|byte| b"()[]{};,".contains(&byte)) {
            self.position += 1;
            self.push(TokenKind::Punctuation, start, self.line);
            return;
        }
        let length = operators.iter().find(|operator| self.starts_with(operator)).map_or(1, |operator| operator.len());
        self.position += length;
        while self.position < self.bytes.len() && !self.text.is_char_boundary(self.position) {
            self.position += 1;
        }
        self.push(TokenKind::Punctuation, start, self.line);
    }

    fn scan_line_comment(&mut self) {
        let start = self.position;
        let rest = self.bytes.get(start..).unwrap_or_default();
        self.position += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.push_comment(start);
    }

    fn scan_block_comment(&mut self) {
        let start = self.position;
        self.advance(2);
        self.advance_behind("*/");
        self.push_comment(start);
    }

    /// Skips blanks and line breaks.
    fn skip_blanks(&mut self) {
        while let Some(byte) = self.byte() {
            match byte {
                b'\n' => self.line += 1,
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {}
                _ => return,
            }
            self.position += 1;
        }
    }
}

fn to_offset(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// Whether a byte may be within a word. All bytes of characters beyond ASCII may.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}
