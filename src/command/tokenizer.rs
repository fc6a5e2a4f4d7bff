//! The words, blanks and redirections of a shell text, with their places.
//!
//! What words mean together is the readers' part: [`super::ShellLine`] reads one line, the editor of git hooks whole
//! scripts. Both need the same quoting rules, so these are here and nowhere else.

use std::ops::Range;

use super::UnparsedReason;
use crate::base::bytes;

/// Substitutions inside of quotes inside of substitutions.
const NESTED_SUBSTITUTIONS_MAX: usize = 64;

/// Reads a text from its start; the reader of the tokens decides what may come next.
pub(crate) struct ShellTokenizer<'a> {
    text: &'a [u8],
    at: usize,
    /// Substitutions around the current place.
    depth: usize,
    comment_in_substitution: bool,
}

/// A word, with its quotes removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellWord {
    /// Its place in the text, bytes.
    pub span: Range<usize>,
    /// Quotes and escapes are resolved; expansions (`$x`, `$(…)`, globs) stay as they are written.
    pub text: String,
    /// No part of it was quoted, escaped or substituted by a command: keywords count only then.
    pub is_bare: bool,
    /// It starts with the output of a command.
    pub is_substituted: bool,
    /// It starts with an unquoted `NAME=`.
    pub is_assignment: bool,
    /// It assigns an array, `NAME=(…)`.
    pub is_array: bool,
}

/// A redirection with its target.
pub(crate) struct Redirection {
    /// `>`, `<<-`, …, without a number before it.
    pub operator: &'static str,
    /// The word after the operator.
    pub target: ShellWord,
}

impl Redirection {
    /// Whether the lines that follow are the input.
    pub(crate) fn is_here_document(&self) -> bool {
        matches!(self.operator, "<<" | "<<-")
    }
}

/// The operators, each before those that it starts with.
const OPERATORS: [&str; 12] = ["&>>", "<<<", "<<-", "<<", "&>", ">>", ">&", "<&", ">|", "<>", ">", "<"];

/// A pair of brackets around what is expanded as a whole.
#[derive(Clone, Copy)]
struct BracketPair {
    open: u8,
    close: u8,
    /// A single quote is a quote in it, not a letter.
    has_single_quotes: bool,
}

/// `$(…)`, `<(…)`, `((…))` and the values of an array.
const PARENTHESES: BracketPair = BracketPair { open: b'(', close: b')', has_single_quotes: true };
/// `${…}`.
const BRACES: BracketPair = BracketPair { open: b'{', close: b'}', has_single_quotes: true };
/// `${…}` in double quotes.
const QUOTED_BRACES: BracketPair = BracketPair { has_single_quotes: false, ..BRACES };

impl<'a> ShellTokenizer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        ShellTokenizer { text: text.as_bytes(), at: 0, depth: 0, comment_in_substitution: false }
    }

    /// Where it is, bytes.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// The byte `ahead` of the current place; 0 behind the end.
    pub(crate) fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// The text that is still to be read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The text at `span`, as it is written.
    pub(crate) fn raw(&self, span: Range<usize>) -> &'a [u8] {
        &self.text[span]
    }

    /// Moves on by `length` bytes.
    pub(crate) fn advance(&mut self, length: usize) {
        self.at = (self.at + length).min(self.text.len());
    }

    /// Whether a substitution that was read had what may be a comment. Brackets in a comment close nothing, and whether
    /// `#` starts one is not certain in every case: the ends of such words are a guess.
    pub(crate) fn has_comment_in_substitution(&self) -> bool {
        self.comment_in_substitution
    }

    /// Skips blanks, comments and escaped newlines.
    pub(crate) fn skip_blanks(&mut self) {
        loop {
            match self.peek(0) {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\\' if self.peek(1) == b'\n' => self.at += 2,
                b'#' => {
                    while self.at < self.text.len() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// As [`ShellTokenizer::skip_blanks`], where a command may start: newlines too.
    pub(crate) fn skip_blank_lines(&mut self) {
        loop {
            self.skip_blanks();
            if self.peek(0) != b'\n' {
                return;
            }
            self.at += 1;
        }
    }

    /// `<(` or `>(`.
    pub(crate) fn is_at_process_substitution(&self) -> bool {
        matches!(self.peek(0), b'<' | b'>') && self.peek(1) == b'('
    }

    /// Whether `word`, which was just read, is the number of the redirection after it: `2` of `2>&1`.
    pub(crate) fn is_redirected_number(&self, word: &ShellWord) -> bool {
        word.is_bare
            && matches!(self.peek(0), b'<' | b'>')
            && !word.text.is_empty()
            && word.text.bytes().all(|byte| byte.is_ascii_digit())
            && !self.is_at_process_substitution()
    }

    /// Reads a redirection with its target.
    ///
    /// # Errors
    /// When there is no operator or no target.
    pub(crate) fn read_redirection(&mut self) -> Result<Redirection, UnparsedReason> {
        let rest = self.rest();
        let operator = OPERATORS.into_iter().find(|operator| rest.starts_with(operator.as_bytes()));
        let operator = operator.ok_or(UnparsedReason::Syntax)?;
        self.at += operator.len();
        self.skip_blanks();
        Ok(Redirection { operator, target: self.read_word()? })
    }

    /// Skips the rest of `[[ … ]]`, whose `&&` and `<` are its own. Whether a word of it touches a parenthesis, as in a
    /// pattern (`@(a|b)`).
    ///
    /// # Errors
    /// When it has no end.
    pub(crate) fn skip_double_bracket(&mut self) -> Result<bool, UnparsedReason> {
        let mut touches_parenthesis = false;
        loop {
            self.skip_blank_lines();
            if self.is_at_end() {
                return Err(UnparsedReason::Unfinished);
            }
            if matches!(self.peek(0), b'&' | b'|' | b'<' | b'>' | b'(' | b')' | b';') {
                self.at += 1;
                continue;
            }
            let word = self.read_word()?;
            if word.is_bare && word.text == "]]" {
                return Ok(touches_parenthesis);
            }
            touches_parenthesis |= self.peek(0) == b'(';
        }
    }

    /// Reads a word up to the blank, operator or parenthesis after it.
    ///
    /// # Errors
    /// When none starts here, or it has no end.
    pub(crate) fn read_word(&mut self) -> Result<ShellWord, UnparsedReason> {
        let start = self.at;
        let mut bytes = Vec::new();
        let mut word = ShellWord {
            span: start..start,
            text: String::new(),
            is_bare: true,
            is_substituted: false,
            is_assignment: false,
            is_array: false,
        };
        while self.at < self.text.len() {
            match self.peek(0) {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'|' | b'&' | b')' => break,
                b'(' => {
                    if bytes.last() != Some(&b'=') || !word.is_bare {
                        break;
                    }
                    word.is_bare = false;
                    word.is_array = true;
                    self.copy_bracketed(PARENTHESES, &mut bytes)?;
                }
                b'<' | b'>' => {
                    if !bytes.is_empty() || !self.is_at_process_substitution() {
                        break;
                    }
                    word.is_substituted = true;
                    bytes.push(self.peek(0));
                    self.at += 1;
                    self.copy_bracketed(PARENTHESES, &mut bytes)?;
                }
                b'\'' => {
                    word.is_bare = false;
                    self.read_single_quoted(&mut bytes)?;
                }
                b'"' => {
                    word.is_bare = false;
                    let is_first = bytes.is_empty();
                    self.read_double_quoted(&mut bytes)?;
                    word.is_substituted |= is_first && (bytes.starts_with(b"$(") || bytes.starts_with(b"`"));
                }
                b'\\' => {
                    if self.at + 1 >= self.text.len() {
                        return Err(UnparsedReason::Unfinished);
                    }
                    if self.peek(1) != b'\n' {
                        word.is_bare = false;
                        bytes.push(self.peek(1));
                    }
                    self.at += 2;
                }
                b'$' | b'`' => self.read_expansion(&mut word, &mut bytes)?,
                b'=' => {
                    word.is_assignment |= word.is_bare && is_variable_name(&bytes);
                    bytes.push(b'=');
                    self.at += 1;
                }
                byte => {
                    bytes.push(byte);
                    self.at += 1;
                }
            }
        }
        if self.at == start {
            return Err(UnparsedReason::Syntax);
        }
        word.span.end = self.at;
        word.text = text_of(bytes);
        Ok(word)
    }

    /// Reads `$` or a backquote outside of double quotes.
    fn read_expansion(&mut self, word: &mut ShellWord, bytes: &mut Vec<u8>) -> Result<(), UnparsedReason> {
        let (first, second) = (self.peek(0), self.peek(1));
        word.is_substituted |= bytes.is_empty() && (first == b'`' || second == b'(');
        word.is_bare &= first != b'`' && !matches!(second, b'(' | b'{' | b'\'' | b'"');
        match (first, second) {
            (b'$', b'\'') => {
                self.at += 1;
                self.read_ansi_quoted(bytes)
            }
            (b'$', b'"') => {
                self.at += 1;
                self.read_double_quoted(bytes)
            }
            _ => self.copy_substitution(BRACES, bytes),
        }
    }

    fn read_single_quoted(&mut self, bytes: &mut Vec<u8>) -> Result<(), UnparsedReason> {
        let start = self.at + 1;
        self.skip_single_quoted()?;
        bytes.extend_from_slice(&self.text[start..self.at - 1]);
        Ok(())
    }

    fn read_double_quoted(&mut self, bytes: &mut Vec<u8>) -> Result<(), UnparsedReason> {
        self.at += 1;
        loop {
            match self.peek(0) {
                0 if self.is_at_end() => return Err(UnparsedReason::Unfinished),
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' if matches!(self.peek(1), b'"' | b'\\' | b'$' | b'`') => {
                    bytes.push(self.peek(1));
                    self.at += 2;
                }
                b'\\' if self.peek(1) == b'\n' => self.at += 2,
                b'$' | b'`' => self.copy_substitution(QUOTED_BRACES, bytes)?,
                byte => {
                    bytes.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    /// `$'…'`: the common escapes; others stay as they are written.
    fn read_ansi_quoted(&mut self, bytes: &mut Vec<u8>) -> Result<(), UnparsedReason> {
        self.at += 1;
        loop {
            match (self.peek(0), self.peek(1)) {
                (0, _) if self.is_at_end() => return Err(UnparsedReason::Unfinished),
                (b'\'', _) => {
                    self.at += 1;
                    return Ok(());
                }
                (b'\\', escaped @ (b'n' | b't' | b'r' | b'\\' | b'\'' | b'"')) => {
                    bytes.push(match escaped {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        other => other,
                    });
                    self.at += 2;
                }
                (byte, _) => {
                    bytes.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    /// Copies `$name`, `${…}`, `$(…)` or a backquoted command as it is written.
    fn copy_substitution(&mut self, braces: BracketPair, bytes: &mut Vec<u8>) -> Result<(), UnparsedReason> {
        if self.peek(0) == b'`' {
            let start = self.at;
            self.skip_backquoted()?;
            bytes.extend_from_slice(&self.text[start..self.at]);
            return Ok(());
        }
        bytes.push(b'$');
        self.at += 1;
        match self.peek(0) {
            b'(' => self.copy_bracketed(PARENTHESES, bytes),
            b'{' => self.copy_bracketed(braces, bytes),
            _ => Ok(()),
        }
    }

    fn copy_bracketed(&mut self, pair: BracketPair, bytes: &mut Vec<u8>) -> Result<(), UnparsedReason> {
        let start = self.at;
        self.skip_bracketed(pair)?;
        bytes.extend_from_slice(&self.text[start..self.at]);
        Ok(())
    }

    /// Skips `(…)` with everything nested in it.
    ///
    /// # Errors
    /// When it has no end, or is nested too deeply.
    pub(crate) fn skip_parenthesised(&mut self) -> Result<(), UnparsedReason> {
        self.skip_bracketed(PARENTHESES)
    }

    /// Moves behind a bracketed part with everything nested in it; quotes inside hide brackets.
    fn skip_bracketed(&mut self, pair: BracketPair) -> Result<(), UnparsedReason> {
        if self.depth == NESTED_SUBSTITUTIONS_MAX {
            return Err(UnparsedReason::TooDeep);
        }
        self.depth += 1;
        let mut open = 0_usize;
        loop {
            match (self.peek(0), self.peek(1)) {
                (0, _) if self.is_at_end() => return Err(UnparsedReason::Unfinished),
                (b'\\', _) => self.at += 2,
                (b'\'', _) if pair.has_single_quotes => self.skip_single_quoted()?,
                (b'$', b'\'') if pair.has_single_quotes => self.skip_ansi_quoted()?,
                (b'"', _) => self.skip_double_quoted()?,
                (b'$', b'(') => {
                    self.at += 1;
                    self.skip_bracketed(PARENTHESES)?;
                }
                (b'$', b'{') => {
                    self.at += 1;
                    self.skip_bracketed(if pair.has_single_quotes { BRACES } else { QUOTED_BRACES })?;
                }
                (byte, _) => {
                    match byte {
                        b'#' if open > 0 => {
                            self.comment_in_substitution |= matches!(self.text[self.at - 1], b' ' | b'\t' | b'\n');
                        }
                        byte if byte == pair.open => open += 1,
                        byte if byte == pair.close => open -= 1,
                        _ => {}
                    }
                    self.at += 1;
                    if open == 0 {
                        self.depth -= 1;
                        return Ok(());
                    }
                }
            }
        }
    }

    fn skip_single_quoted(&mut self) -> Result<(), UnparsedReason> {
        let length = bytes::find_byte(&self.text[self.at + 1..], b'\'').ok_or(UnparsedReason::Unfinished)?;
        self.at += length + 2;
        Ok(())
    }

    fn skip_double_quoted(&mut self) -> Result<(), UnparsedReason> {
        self.at += 1;
        loop {
            match (self.peek(0), self.peek(1)) {
                (0, _) if self.is_at_end() => return Err(UnparsedReason::Unfinished),
                (b'"', _) => {
                    self.at += 1;
                    return Ok(());
                }
                (b'\\', _) => self.at += 2,
                (b'`', _) => self.skip_backquoted()?,
                (b'$', b'(') => {
                    self.at += 1;
                    self.skip_bracketed(PARENTHESES)?;
                }
                (b'$', b'{') => {
                    self.at += 1;
                    self.skip_bracketed(QUOTED_BRACES)?;
                }
                _ => self.at += 1,
            }
        }
    }

    /// Moves behind `$'…'`.
    fn skip_ansi_quoted(&mut self) -> Result<(), UnparsedReason> {
        self.at += 2;
        self.skip_escaped_to(b'\'')
    }

    fn skip_backquoted(&mut self) -> Result<(), UnparsedReason> {
        self.at += 1;
        self.skip_escaped_to(b'`')
    }

    /// Moves behind the next `end` that has no backslash before it.
    fn skip_escaped_to(&mut self, end: u8) -> Result<(), UnparsedReason> {
        while self.peek(0) != end {
            if self.is_at_end() {
                return Err(UnparsedReason::Unfinished);
            }
            self.at += if self.peek(0) == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        Ok(())
    }
}

/// Whether `bytes` may stand before the `=` of an assignment (`NAME`, `NAME+`, `NAME[i]`).
pub(super) fn is_variable_name(bytes: &[u8]) -> bool {
    let name = bytes.strip_suffix(b"+").unwrap_or(bytes);
    name.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'[' | b']'))
}

/// The pieces come from a `&str` and are cut at ASCII bytes only; an escaped byte may still split a character.
pub(super) fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
