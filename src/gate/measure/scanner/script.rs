//! JavaScript and TypeScript, with JSX, template strings and regular expressions.

use super::{Cursor, TokenKind, is_word_byte};
use std::collections::HashSet;

const OPERATORS: [&str; 29] = [
    "...", "===", "!==", "**=", "<<=", "&&=", "||=", "??=", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "++",
    "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "**", "<<",
];

/// Keywords that an expression follows.
const KEYWORDS_BEFORE_EXPRESSION: [&str; 17] = [
    "return",
    "typeof",
    "case",
    "in",
    "of",
    "delete",
    "void",
    "throw",
    "new",
    "instanceof",
    "do",
    "else",
    "yield",
    "await",
    "default",
    "extends",
    "finally",
];

/// The longest regular expression, in bytes.
const REGULAR_EXPRESSION_BYTES_MAX: usize = 4096;

/// What a closing bracket returns to.
#[derive(Clone, Copy)]
enum BracketFrame {
    Parenthesis { follows_control: bool },
    Square,
    Brace { is_value: bool },
    TemplateHole,
    JsxHole(JsxState),
}

/// The most that is read of a JSX element.
#[derive(Clone, Copy)]
struct JsxState {
    depth: u32,
    is_in_tag: bool,
    is_closing_tag: bool,
}

struct ScriptScanner<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    frames: Vec<BracketFrame>,
    /// Whether the closing bracket just read ended a value.
    ended_value: bool,
    is_typescript: bool,
    /// The names of closing tags in a TypeScript text.
    closing_tags: HashSet<&'a str>,
}

pub(super) fn scan(cursor: &mut Cursor<'_>, is_typescript: bool) {
    if cursor.starts_with("#!") {
        cursor.scan_line_comment();
    }
    let closing_tags = if is_typescript { find_closing_tags(cursor.text) } else { HashSet::new() };
    let mut scanner = ScriptScanner { cursor, frames: Vec::new(), ended_value: false, is_typescript, closing_tags };
    while scanner.cursor.position < scanner.cursor.bytes.len() {
        scanner.scan_token();
    }
}

fn find_closing_tags(text: &str) -> HashSet<&str> {
    memchr::memmem::find_iter(text.as_bytes(), b"</").filter_map(|at| name_at(text, at + 2)).collect()
}

/// The tag name that begins at an offset; empty for a fragment.
fn name_at(text: &str, start: usize) -> Option<&str> {
    let rest = text.get(start..)?;
    let length = rest.bytes().take_while(|byte| is_word_byte(*byte) || matches!(byte, b'.' | b'-' | b':')).count();
    rest.get(..length)
}

impl ScriptScanner<'_, '_> {
    fn scan_token(&mut self) {
        self.cursor.skip_blanks();
        let Some(byte) = self.cursor.byte() else { return };
        let start = self.cursor.position;
        match byte {
            b'/' if self.cursor.byte_at(1) == Some(b'/') => self.cursor.scan_line_comment(),
            b'/' if self.cursor.byte_at(1) == Some(b'*') => self.cursor.scan_block_comment(),
            b'/' if self.is_expression_expected() && self.scan_regular_expression() => {}
            b'"' | b'\'' => self.cursor.scan_string(start, byte, false),
            b'`' => {
                self.cursor.position += 1;
                self.scan_template(start);
            }
            b'0'..=b'9' => self.cursor.scan_number(),
            b'.' if self.cursor.byte_at(1).is_some_and(|next| next.is_ascii_digit()) => self.cursor.scan_number(),
            b'#' if self.cursor.byte_at(1).is_some_and(is_word_byte) => {
                self.cursor.position += 1;
                while self.cursor.byte().is_some_and(is_word_byte) {
                    self.cursor.position += 1;
                }
                self.cursor.push(TokenKind::Word, start, self.cursor.line);
            }
            b'(' | b'[' | b'{' => self.open_bracket(byte),
            b')' | b']' | b'}' => self.close_bracket(),
            b'<' if self.is_jsx_start() => {
                self.scan_jsx(JsxState { depth: 0, is_in_tag: false, is_closing_tag: false });
            }
            b'?' if self.cursor.byte_at(1) == Some(b'.')
                && self.cursor.byte_at(2).is_some_and(|next| next.is_ascii_digit()) =>
            {
                self.cursor.scan_punctuation(&[]);
            }
            _ if self.cursor.scan_word() => {}
            _ => self.cursor.scan_punctuation(&OPERATORS),
        }
    }

    fn text_back(&self, back: usize) -> Option<(TokenKind, &str)> {
        let index = self.cursor.tokens.len().checked_sub(back)?;
        let token = self.cursor.tokens.get(index)?;
        Some((token.kind, self.cursor.text.get(token.start as usize..token.end as usize)?))
    }

    /// Whether an expression, and not an operator, comes next.
    fn is_expression_expected(&self) -> bool {
        let Some((kind, text)) = self.text_back(1) else { return true };
        match kind {
            TokenKind::Word => {
                KEYWORDS_BEFORE_EXPRESSION.contains(&text)
                    && !matches!(self.text_back(2), Some((TokenKind::Punctuation, "." | "?.")))
            }
            TokenKind::Punctuation => match text {
                ")" | "}" => !self.ended_value,
                "]" | "++" | "--" => false,
                "!" if self.is_typescript => !matches!(
                    self.text_back(2),
                    Some((TokenKind::Word, word)) if !KEYWORDS_BEFORE_EXPRESSION.contains(&word)
                ),
                _ => true,
            },
            _ => false,
        }
    }

    fn open_bracket(&mut self, byte: u8) {
        let frame = match byte {
            b'(' => BracketFrame::Parenthesis {
                follows_control: matches!(
                    self.text_back(1),
                    Some((TokenKind::Word, "if" | "while" | "for" | "with" | "await"))
                ),
            },
            b'[' => BracketFrame::Square,
            _ => {
                let is_value = match self.text_back(1) {
                    None => false,
                    Some((TokenKind::Word, word)) => matches!(word, "return" | "typeof" | "default" | "in" | "of"),
                    Some((TokenKind::Punctuation, ":")) => {
                        !matches!(self.frames.last(), None | Some(BracketFrame::Brace { is_value: false }))
                    }
                    Some((TokenKind::Punctuation, text)) => !matches!(text, ")" | "=>" | ";" | "{" | "}" | ">" | "]"),
                    Some(_) => false,
                };
                BracketFrame::Brace { is_value }
            }
        };
        self.frames.push(frame);
        self.cursor.scan_punctuation(&[]);
    }

    fn close_bracket(&mut self) {
        let frame = self.frames.pop();
        let start = self.cursor.position;
        self.cursor.scan_punctuation(&[]);
        match frame {
            Some(BracketFrame::Parenthesis { follows_control }) => self.ended_value = !follows_control,
            Some(BracketFrame::Brace { is_value }) => self.ended_value = is_value,
            Some(BracketFrame::TemplateHole) => self.scan_template(start + 1),
            Some(BracketFrame::JsxHole(state)) => self.scan_jsx(state),
            Some(BracketFrame::Square) | None => self.ended_value = true,
        }
    }

    /// Reads a template string from within it to its end or to code in braces.
    fn scan_template(&mut self, start: usize) {
        let line = self.cursor.line;
        let has_parts = self.cursor.bytes.get(start) != Some(&b'`') || start + 1 != self.cursor.position;
        loop {
            self.cursor.advance_until(|byte| matches!(byte, b'`' | b'\\' | b'$'));
            match self.cursor.byte() {
                None => break,
                Some(b'\\') => self.cursor.advance(2),
                Some(b'`') => {
                    self.cursor.position += 1;
                    break;
                }
                Some(_) if self.cursor.byte_at(1) == Some(b'{') => {
                    self.cursor.position += 1;
                    self.cursor.push(TokenKind::Part, start, line);
                    self.cursor.scan_punctuation(&[]);
                    self.frames.push(BracketFrame::TemplateHole);
                    return;
                }
                Some(_) => self.cursor.advance(1),
            }
        }
        self.cursor.push(if has_parts { TokenKind::LastPart } else { TokenKind::Literal }, start, line);
    }

    fn scan_regular_expression(&mut self) -> bool {
        let start = self.cursor.position;
        let mut position = start + 1;
        let mut is_in_class = false;
        loop {
            match self.cursor.bytes.get(position) {
                None | Some(b'\n') => return false,
                Some(_) if position - start > REGULAR_EXPRESSION_BYTES_MAX => return false,
                Some(b'\\') => position += 1,
                Some(b'[') => is_in_class = true,
                Some(b']') => is_in_class = false,
                Some(b'/') if !is_in_class => break,
                Some(_) => {}
            }
            position += 1;
        }
        position += 1;
        while self.cursor.bytes.get(position).is_some_and(u8::is_ascii_alphabetic) {
            position += 1;
        }
        self.cursor.position = position;
        self.cursor.push(TokenKind::Literal, start, self.cursor.line);
        true
    }

    /// Whether a JSX element begins at the `<` under the cursor.
    fn is_jsx_start(&self) -> bool {
        let Some(next) = self.cursor.byte_at(1) else { return false };
        if !(next.is_ascii_alphabetic() || matches!(next, b'_' | b'$' | b'>')) || !self.is_expression_expected() {
            return false;
        }
        if !self.is_typescript {
            return true;
        }
        let Some(name) = name_at(self.cursor.text, self.cursor.position + 1) else { return false };
        let behind = self.cursor.bytes.get(self.cursor.position + 1 + name.len()..).unwrap_or_default();
        let rest = behind.get(..behind.len().min(200)).unwrap_or_default().trim_ascii_start();
        if self.closing_tags.contains(name) || rest.starts_with(b"/>") {
            return rest.first() != Some(&b',') && !rest.starts_with(b"extends ");
        }
        let attribute = rest.iter().take_while(|byte| is_word_byte(**byte) || **byte == b'-').count();
        rest.starts_with(b"{...")
            || attribute > 0 && rest.get(attribute) == Some(&b'=') && !rest.starts_with(b"extends")
    }

    /// Reads a JSX element to its end or to code in braces.
    fn scan_jsx(&mut self, mut state: JsxState) {
        let (start, line) = (self.cursor.position, self.cursor.line);
        while let Some(byte) = self.cursor.byte() {
            match byte {
                b'{' => {
                    self.cursor.push(TokenKind::Part, start, line);
                    self.cursor.scan_punctuation(&[]);
                    self.frames.push(BracketFrame::JsxHole(state));
                    return;
                }
                b'"' | b'\'' if state.is_in_tag => {
                    self.cursor.advance(1);
                    self.cursor.advance_until(|other| other == byte);
                    self.cursor.advance(1);
                }
                // Between attributes there may be comments, and behind the name type arguments.
                b'/' if state.is_in_tag && self.cursor.byte_at(1) == Some(b'/') => {
                    self.cursor.advance_until(|other| other == b'\n');
                }
                b'/' if state.is_in_tag && self.cursor.byte_at(1) == Some(b'*') => {
                    self.cursor.advance(2);
                    self.cursor.advance_behind("*/");
                }
                b'<' if state.is_in_tag => self.skip_type_arguments(),
                b'/' if state.is_in_tag && self.cursor.byte_at(1) == Some(b'>') => {
                    self.cursor.advance(2);
                    state = JsxState { depth: state.depth.saturating_sub(1), is_in_tag: false, is_closing_tag: false };
                }
                b'>' if state.is_in_tag => {
                    self.cursor.advance(1);
                    state.depth = state.depth.saturating_sub(u32::from(state.is_closing_tag));
                    state.is_in_tag = false;
                }
                b'<' if !state.is_in_tag => {
                    state.is_closing_tag = self.cursor.byte_at(1) == Some(b'/');
                    state.depth += u32::from(!state.is_closing_tag);
                    state.is_in_tag = true;
                    self.cursor.advance(if state.is_closing_tag { 2 } else { 1 });
                    continue;
                }
                _ => {
                    self.cursor.advance(1);
                    continue;
                }
            }
            if state.depth == 0 && !state.is_in_tag {
                break;
            }
        }
        self.cursor.push(TokenKind::LastPart, start, line);
    }

    /// Goes behind the type arguments that begin here.
    fn skip_type_arguments(&mut self) {
        let mut depth = 0_u32;
        while let Some(byte) = self.cursor.byte() {
            let is_arrow = self.cursor.starts_with("=>");
            depth = match byte {
                b'<' => depth + 1,
                b'>' => depth.saturating_sub(1),
                _ => depth,
            };
            self.cursor.advance(if is_arrow { 2 } else { 1 });
            if depth == 0 {
                return;
            }
        }
    }
}
