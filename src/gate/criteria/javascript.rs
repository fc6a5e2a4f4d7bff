//! The tests of a JavaScript or TypeScript file: calls of `it` and `test` in calls of `describe`, outside of comments,
//! texts and regular expressions.

use super::declaration::{BLOCKS_MAX, FILE_TESTS_MAX, TestDeclaration, bounded_lines, notes_above, tags_in};

/// A name, bytes; what is longer is not one.
const NAME_BYTES_MAX: usize = 1_000;

/// A call of `describe` whose parenthesis is open.
struct OpenSuite {
    depth: usize,
    name: String,
    is_skipped: bool,
}

/// Reads a file from its start to its end, once.
struct JavaScriptReader<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
    line: u32,
    /// Open parentheses.
    depth: usize,
    /// For each open template, the braces that are open in its current `${`.
    templates: Vec<usize>,
    /// The last byte that is neither blank nor comment.
    last: u8,
    suites: Vec<OpenSuite>,
}

/// The tests of a file.
pub(super) fn find_javascript_tests(text: &str) -> Vec<TestDeclaration> {
    let mut reader = JavaScriptReader {
        bytes: text.as_bytes(),
        text,
        at: 0,
        line: 1,
        depth: 0,
        templates: Vec::new(),
        last: b';',
        suites: Vec::new(),
    };
    let lines = bounded_lines(text);
    let mut found = Vec::new();
    while let Some(byte) = reader.peek(0) {
        if byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$') {
            let is_member = reader.last == b'.';
            let line = reader.line;
            let word = reader.read_word();
            if !is_member && let Some(test) = reader.read_call(word, line, &lines) {
                found.push(test);
            }
            if found.len() == FILE_TESTS_MAX {
                break;
            }
        } else {
            reader.read_other(byte);
        }
    }
    found
}

impl<'a> JavaScriptReader<'a> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn step(&mut self) -> Option<u8> {
        let byte = self.peek(0)?;
        self.at += 1;
        self.line += u32::from(byte == b'\n');
        Some(byte)
    }

    fn read_word(&mut self) -> &'a str {
        let start = self.at;
        while self
            .peek(0)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80)
        {
            self.at += 1;
        }
        let word = self.text.get(start..self.at).unwrap_or_default();
        // After these words a slash begins a regular expression.
        self.last = if ["return", "typeof", "case", "in", "of", "await", "void"].contains(&word) { b'(' } else { b'a' };
        word
    }

    /// Skips what is no word: blanks, comments, texts, regular expressions, marks.
    fn read_other(&mut self, byte: u8) {
        match (byte, self.peek(1)) {
            (b'/', Some(b'/')) => self.skip_to_line_end(),
            (b'/', Some(b'*')) => self.skip_block_comment(),
            (b'/', _)
                if matches!(
                    self.last,
                    b'(' | b',' | b'=' | b':' | b'[' | b'!' | b'&' | b'|' | b'?' | b'{' | b'}' | b';' | b'>'
                ) =>
            {
                self.skip_regular_expression();
                self.last = b'a';
            }
            (b'"' | b'\'', _) => {
                self.read_text(byte);
                self.last = b'a';
            }
            (b'`', _) => {
                self.at += 1;
                self.templates.push(0);
                self.skip_template();
            }
            (b'{', _) => {
                if let Some(braces) = self.templates.last_mut() {
                    *braces += 1;
                }
                self.mark(byte);
            }
            (b'}', _) => {
                self.mark(byte);
                match self.templates.last_mut() {
                    Some(0) => self.skip_template(),
                    Some(braces) => *braces -= 1,
                    None => {}
                }
            }
            (b'(', _) => {
                self.depth += 1;
                self.mark(byte);
            }
            (b')', _) => {
                self.depth = self.depth.saturating_sub(1);
                let depth = self.depth;
                while self.suites.last().is_some_and(|suite| suite.depth > depth) {
                    self.suites.pop();
                }
                self.mark(byte);
            }
            _ if byte.is_ascii_whitespace() => {
                self.step();
            }
            _ => self.mark(byte),
        }
    }

    fn mark(&mut self, byte: u8) {
        self.step();
        self.last = byte;
    }

    fn skip_to_line_end(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    fn skip_block_comment(&mut self) {
        self.at += 2;
        while let Some(byte) = self.step() {
            if byte == b'*' && self.peek(0) == Some(b'/') {
                self.at += 1;
                return;
            }
        }
    }

    fn skip_regular_expression(&mut self) {
        self.at += 1;
        let mut is_class = false;
        while let Some(byte) = self.peek(0).filter(|byte| *byte != b'\n') {
            self.at += 1;
            match byte {
                b'\\' if self.peek(0).is_some_and(|byte| byte != b'\n') => self.at += 1,
                b'[' => is_class = true,
                b']' => is_class = false,
                b'/' if !is_class => return,
                _ => {}
            }
        }
    }

    /// Skips to the end of the innermost template, or to its next `${`.
    fn skip_template(&mut self) {
        while let Some(byte) = self.step() {
            match (byte, self.peek(0)) {
                (b'\\', _) => {
                    self.step();
                }
                (b'$', Some(b'{')) => {
                    self.at += 1;
                    self.last = b'(';
                    return;
                }
                (b'`', _) => {
                    self.templates.pop();
                    self.last = b'a';
                    return;
                }
                _ => {}
            }
        }
    }

    /// The text between quotes, unescaped, with `None` when it does not end in its line.
    fn read_text(&mut self, quote: u8) -> Option<String> {
        self.at += 1;
        let start = self.at;
        while let Some(byte) = self.peek(0).filter(|byte| *byte != b'\n') {
            self.at += 1;
            match byte {
                b'\\' => {
                    self.step();
                }
                _ if byte == quote => return self.unescaped(start, self.at - 1),
                _ => {}
            }
        }
        None
    }

    /// A template without `${`: a name that is computed is none.
    fn read_plain_template(&mut self) -> Option<String> {
        let start = self.at + 1;
        let length = self.bytes[start..].iter().take(NAME_BYTES_MAX).position(|byte| matches!(byte, b'`' | b'\\'))?;
        let name = self.text.get(start..start + length)?;
        if self.bytes.get(start + length) != Some(&b'`') || name.contains("${") {
            return None;
        }
        while self.at <= start + length {
            self.step();
        }
        Some(name.to_owned())
    }

    fn unescaped(&self, start: usize, end: usize) -> Option<String> {
        let written = self.text.get(start..end).filter(|written| written.len() <= NAME_BYTES_MAX)?;
        let mut letters = written.chars();
        let mut found = String::with_capacity(written.len());
        while let Some(letter) = letters.next() {
            match letter {
                '\\' => found.extend(letters.next().map(|escaped| match escaped {
                    'n' => '\n',
                    't' => '\t',
                    other => other,
                })),
                other => found.push(other),
            }
        }
        Some(found)
    }

    fn skip_blanks(&mut self) {
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b'/'), Some(b'/')) => self.skip_to_line_end(),
                (Some(b'/'), Some(b'*')) => self.skip_block_comment(),
                (Some(byte), _) if byte.is_ascii_whitespace() => {
                    self.step();
                }
                _ => return,
            }
        }
    }

    /// After `describe`, `it` or `test`: the rest of `.skip.each(…)("name"`. A suite is opened, a test returned.
    fn read_call(&mut self, word: &str, line: u32, lines: &[&str]) -> Option<TestDeclaration> {
        let is_suite = ["describe", "suite", "context", "xdescribe", "fdescribe"].contains(&word);
        let is_test = ["it", "test", "specify", "xit", "fit", "xtest"].contains(&word);
        if !is_suite && !is_test {
            return None;
        }
        let mut is_skipped = word.starts_with('x');
        while self.peek(0) == Some(b'.') {
            self.at += 1;
            let modifier = self.read_word();
            is_skipped |= ["skip", "todo", "fixme"].contains(&modifier);
            if ["each", "for", "skipIf", "runIf"].contains(&modifier) {
                self.skip_arguments();
            } else if modifier == "describe" {
                return self.read_call("describe", line, lines);
            } else if ![
                "only",
                "skip",
                "todo",
                "concurrent",
                "sequential",
                "serial",
                "failing",
                "fails",
                "parallel",
                "fixme",
            ]
            .contains(&modifier)
            {
                return None;
            }
        }
        self.skip_blanks();
        if self.peek(0) != Some(b'(') {
            return None;
        }
        self.mark(b'(');
        self.depth += 1;
        self.skip_blanks();
        let name = match self.peek(0)? {
            quote @ (b'"' | b'\'') => self.read_text(quote)?,
            b'`' => self.read_plain_template()?,
            _ => return None,
        };
        self.last = b'a';
        let outer_skips = self.suites.iter().any(|suite| suite.is_skipped);
        if is_suite {
            if self.suites.len() < BLOCKS_MAX {
                self.suites.push(OpenSuite { depth: self.depth, name, is_skipped });
            }
            return None;
        }
        let index = line as usize - 1;
        let mut notes = notes_above(lines, index);
        notes.extend(lines.get(index).and_then(|line| tags_in(line)));
        Some(TestDeclaration {
            name,
            blocks: self.suites.iter().map(|suite| suite.name.clone()).collect(),
            line,
            notes,
            is_identifier: false,
            is_skipped: is_skipped || outer_skips,
        })
    }

    /// Skips `(…)` or `` `…` `` after `.each`, with what is nested in it.
    fn skip_arguments(&mut self) {
        self.skip_blanks();
        let depth = self.depth;
        let templates = self.templates.len();
        if !matches!(self.peek(0), Some(b'(' | b'`')) {
            return;
        }
        while let Some(byte) = self.peek(0) {
            if byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$') {
                self.read_word();
            } else {
                self.read_other(byte);
            }
            if self.depth <= depth && self.templates.len() <= templates {
                return;
            }
        }
    }
}
