//! A shell line as the simple commands in it.
//!
//! The POSIX grammar as far as recognising a command needs it: quoting, joins, subshells and brace groups are
//! understood, redirections are left out, and what is only known when the line runs (here-documents, loops, `eval`, a
//! substituted program name) is given up on instead of guessed.

use std::fmt;

use crate::base::bytes;

/// A shell line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ShellLine {
    /// Commands and subshells in the line's order.
    pub steps: Vec<LineStep>,
    /// Every join is `&&` and nothing turns the status around: the line passes only if every command in it passed.
    pub all_joined_by_and: bool,
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LineStep {
    /// `(`: a change of directory inside ends with it.
    Open,
    /// `)`.
    Close,
    /// A simple command.
    Run(Simple),
}

/// A simple command; redirections are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Simple {
    /// Its words with quotes removed. Expansions (`$x`, `$(…)`, globs) stay as they are written.
    pub words: Vec<String>,
    /// Where each word starts in the line, bytes.
    pub starts: Vec<usize>,
    /// `NAME=value` before them, quotes removed.
    pub assignments: Vec<String>,
}

/// Why a line can't be parsed without running it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GaveUp {
    /// A quote, substitution or group without its end.
    Unfinished,
    HereDocument,
    /// `case`, a loop, `if`, a function.
    Compound,
    /// `eval`.
    Eval,
    /// The program's name is substituted (`$(…)` in command position).
    SubstitutedProgram,
    /// Not a line a shell would accept.
    Syntax,
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GaveUp::Unfinished => "a quote or group has no end",
            GaveUp::HereDocument => "it has a here-document",
            GaveUp::Compound => "it has a loop, condition or function",
            GaveUp::Eval => "it uses eval",
            GaveUp::SubstitutedProgram => "the program's name is the output of another command",
            GaveUp::Syntax => "it is not valid shell syntax",
        })
    }
}

impl ShellLine {
    /// Splits `line`.
    ///
    /// # Errors
    /// When the line can't be parsed without running it; the reason.
    pub(crate) fn parse(line: &str) -> Result<ShellLine, GaveUp> {
        let mut parser = Parser {
            text: line.as_bytes(),
            at: 0,
            line: ShellLine { steps: Vec::new(), all_joined_by_and: true },
            open: Vec::new(),
        };
        parser.line()?;
        Ok(parser.line)
    }
}

/// Words that start something this parser does not look into, in command position and unquoted.
const COMPOUND: &str = " if then else elif fi for while until do done case esac select function coproc ";

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    line: ShellLine,
    /// The groups around the current position: `(` or `{`.
    open: Vec<u8>,
}

/// A word as it was read.
struct ShellWord {
    text: String,
    /// No part of it was quoted or escaped: keywords and assignments count only then.
    bare: bool,
    /// It starts with a substitution.
    substituted: bool,
    /// It starts with an unquoted `NAME=`.
    assignment: bool,
}

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn line(&mut self) -> Result<(), GaveUp> {
        loop {
            self.blanks(true);
            if self.at >= self.text.len() {
                return if self.open.is_empty() { Ok(()) } else { Err(GaveUp::Unfinished) };
            }
            if self.command()? {
                self.join()?;
            }
        }
    }

    /// Skips blanks, comments and escaped newlines; newlines too where a command may start.
    fn blanks(&mut self, newlines: bool) {
        loop {
            match self.peek(0) {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\n' if newlines => self.at += 1,
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

    /// Reads one command or the start of a group. Whether a join may follow.
    fn command(&mut self) -> Result<bool, GaveUp> {
        if self.peek(0) == b'(' {
            if self.peek(1) == b'(' {
                return Err(GaveUp::Compound);
            }
            self.at += 1;
            self.open.push(b'(');
            self.line.steps.push(LineStep::Open);
            return Ok(false);
        }
        let mut simple = Simple::default();
        let mut read_something = false;
        loop {
            self.blanks(false);
            match self.peek(0) {
                0 if self.at >= self.text.len() => break,
                b'\n' | b';' | b'|' | b')' => break,
                b'&' if self.peek(1) != b'>' => break,
                b'(' => return Err(if read_something { GaveUp::Compound } else { GaveUp::Syntax }),
                b'<' | b'>' | b'&' if !self.at_process_substitution() => self.redirection()?,
                _ => {
                    let start = self.at;
                    let word = self.word()?;
                    if self.is_redirected_number(&word) {
                        continue;
                    }
                    if simple.words.is_empty() && word.bare && !read_something {
                        match word.text.as_str() {
                            "{" => {
                                self.open.push(b'{');
                                return Ok(false);
                            }
                            "}" => return self.close(b'{').map(|()| true),
                            "!" => {
                                self.line.all_joined_by_and = false;
                                return Ok(false);
                            }
                            "[[" => {
                                self.double_bracket()?;
                                read_something = true;
                                continue;
                            }
                            _ => {}
                        }
                    }
                    read_something = true;
                    self.take(&mut simple, word, start)?;
                }
            }
        }
        if !read_something {
            // Only a group's end may be here; a join without a command is no line.
            return if self.peek(0) == b')' { Ok(true) } else { Err(GaveUp::Syntax) };
        }
        self.line.steps.push(LineStep::Run(simple));
        Ok(true)
    }

    fn take(&self, simple: &mut Simple, word: ShellWord, start: usize) -> Result<(), GaveUp> {
        if simple.words.is_empty() {
            if word.assignment {
                simple.assignments.push(word.text);
                return Ok(());
            }
            // `$(NAME)` is how make and templates write a variable; no program has a name in capitals.
            if word.substituted && !is_variable(word.text.as_bytes()) {
                return Err(GaveUp::SubstitutedProgram);
            }
            if word.bare && COMPOUND.split(' ').any(|keyword| !keyword.is_empty() && keyword == word.text) {
                return Err(GaveUp::Compound);
            }
            if word.text == "eval" {
                return Err(GaveUp::Eval);
            }
        }
        let is_program = |text: &str| [".ps1", ".bat", ".cmd", ".exe"].iter().any(|end| text.ends_with(end));
        let may = simple.words.is_empty() || is_program(&word.text);
        let windows = may.then(|| windows_path(&self.text[start..self.at])).flatten();
        simple.words.push(windows.unwrap_or(word.text));
        simple.starts.push(start);
        Ok(())
    }

    /// Reads what is between two commands.
    fn join(&mut self) -> Result<(), GaveUp> {
        loop {
            self.blanks(false);
            let (length, and) = match (self.peek(0), self.peek(1)) {
                (0, _) if self.at >= self.text.len() => return Ok(()),
                (b')', _) => {
                    self.close(b'(')?;
                    self.group_redirections()?;
                    continue;
                }
                (b'&', b'&') => (2, true),
                (b';', b';') => return Err(GaveUp::Compound),
                (b'|', b'|' | b'&') => (2, false),
                (b'|' | b'&' | b';' | b'\n', _) => (1, false),
                // `{ … } word` and `( … ) word` are no lines.
                _ => return Err(GaveUp::Syntax),
            };
            let ends_a_command = matches!(self.peek(0), b';' | b'\n');
            let background = self.peek(0) == b'&' && length == 1;
            self.at += length;
            self.blanks(true);
            let nothing_follows = self.at >= self.text.len();
            if nothing_follows && !ends_a_command && !background {
                return Err(GaveUp::Unfinished);
            }
            let closes = matches!(self.peek(0), b')' | b'}');
            if background || (!and && !((nothing_follows || closes) && ends_a_command)) {
                self.line.all_joined_by_and = false;
            }
            if self.peek(0) != b')' {
                return Ok(());
            }
            if !ends_a_command && !background {
                return Err(GaveUp::Syntax);
            }
        }
    }

    fn close(&mut self, kind: u8) -> Result<(), GaveUp> {
        if self.open.pop() != Some(kind) {
            return Err(GaveUp::Syntax);
        }
        if kind == b'(' {
            self.at += 1;
            self.line.steps.push(LineStep::Close);
        }
        if kind == b'{' {
            self.group_redirections()?;
        }
        Ok(())
    }

    fn group_redirections(&mut self) -> Result<(), GaveUp> {
        loop {
            self.blanks(false);
            let digits = self.text[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            match (self.peek(digits), self.peek(digits + 1)) {
                (b'<' | b'>', _) | (b'&', b'>') => {
                    self.at += digits;
                    self.redirection()?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn at_process_substitution(&self) -> bool {
        matches!(self.peek(0), b'<' | b'>') && self.peek(1) == b'('
    }

    /// `2` of `2>&1`: a number that touches the redirection after it.
    fn is_redirected_number(&self, word: &ShellWord) -> bool {
        word.bare
            && !word.text.is_empty()
            && word.text.bytes().all(|byte| byte.is_ascii_digit())
            && matches!(self.peek(0), b'<' | b'>')
            && !self.at_process_substitution()
    }

    /// Skips a redirection with its target.
    fn redirection(&mut self) -> Result<(), GaveUp> {
        let rest = &self.text[self.at..];
        if rest.starts_with(b"<<") && !rest.starts_with(b"<<<") {
            return Err(GaveUp::HereDocument);
        }
        let operator = ["&>>", "<<<", "&>", ">>", ">&", "<&", ">|", "<>", ">", "<"]
            .into_iter()
            .find(|operator| rest.starts_with(operator.as_bytes()))
            .ok_or(GaveUp::Syntax)?;
        self.at += operator.len();
        self.blanks(false);
        if matches!(self.peek(0), b'\n' | b';' | b'|' | b'&' | b')') || self.at >= self.text.len() {
            return Err(GaveUp::Syntax);
        }
        self.word().map(drop)
    }

    /// Skips `[[ … ]]`, whose `&&` and `<` are its own.
    fn double_bracket(&mut self) -> Result<(), GaveUp> {
        loop {
            self.blanks(true);
            if self.at >= self.text.len() {
                return Err(GaveUp::Unfinished);
            }
            if matches!(self.peek(0), b'&' | b'|' | b'<' | b'>' | b'(' | b')' | b';') {
                self.at += 1;
                continue;
            }
            let word = self.word()?;
            if word.bare && word.text == "]]" {
                return Ok(());
            }
        }
    }

    fn word(&mut self) -> Result<ShellWord, GaveUp> {
        let mut bytes = Vec::new();
        let mut word = ShellWord { text: String::new(), bare: true, substituted: false, assignment: false };
        let start = self.at;
        while self.at < self.text.len() {
            match self.peek(0) {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'|' | b'&' | b')' => break,
                b'(' => {
                    // An array assignment has words of its own; anything else is a function or an extended glob.
                    if bytes.last() != Some(&b'=') || !word.bare {
                        return Err(GaveUp::Compound);
                    }
                    self.balanced(&mut bytes)?;
                    word.bare = false;
                }
                b'<' | b'>' => {
                    if bytes.is_empty() && self.at_process_substitution() {
                        word.substituted = true;
                        bytes.push(self.peek(0));
                        self.at += 1;
                        self.balanced(&mut bytes)?;
                    } else {
                        break;
                    }
                }
                b'\'' => {
                    word.bare = false;
                    self.single_quoted(&mut bytes)?;
                }
                b'"' => {
                    word.bare = false;
                    let first = bytes.is_empty();
                    self.double_quoted(&mut bytes)?;
                    word.substituted |= first && (bytes.starts_with(b"$(") || bytes.starts_with(b"`"));
                }
                b'\\' => {
                    if self.at + 1 >= self.text.len() {
                        return Err(GaveUp::Unfinished);
                    }
                    if self.peek(1) != b'\n' {
                        word.bare = false;
                        bytes.push(self.peek(1));
                    }
                    self.at += 2;
                }
                b'$' | b'`' => {
                    word.substituted |= bytes.is_empty() && (self.peek(0) == b'`' || self.peek(1) == b'(');
                    self.dollar(&mut bytes, &mut word.bare)?;
                }
                b'=' => {
                    word.assignment |= word.bare && is_name(&bytes);
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
            return Err(GaveUp::Syntax);
        }
        word.text = text(bytes);
        Ok(word)
    }

    fn single_quoted(&mut self, bytes: &mut Vec<u8>) -> Result<(), GaveUp> {
        let length = bytes::find_byte(&self.text[self.at + 1..], b'\'').ok_or(GaveUp::Unfinished)?;
        bytes.extend_from_slice(&self.text[self.at + 1..self.at + 1 + length]);
        self.at += length + 2;
        Ok(())
    }

    fn double_quoted(&mut self, bytes: &mut Vec<u8>) -> Result<(), GaveUp> {
        self.at += 1;
        loop {
            match self.peek(0) {
                0 if self.at >= self.text.len() => return Err(GaveUp::Unfinished),
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' if matches!(self.peek(1), b'"' | b'\\' | b'$' | b'`') => {
                    bytes.push(self.peek(1));
                    self.at += 2;
                }
                b'\\' if self.peek(1) == b'\n' => self.at += 2,
                b'$' | b'`' => self.substitution(bytes)?,
                byte => {
                    bytes.push(byte);
                    self.at += 1;
                }
            }
        }
    }

    /// `$` or a backquote outside double quotes.
    fn dollar(&mut self, bytes: &mut Vec<u8>, bare: &mut bool) -> Result<(), GaveUp> {
        match (self.peek(0), self.peek(1)) {
            (b'$', b'\'') => {
                *bare = false;
                self.at += 2;
                self.ansi_quoted(bytes)
            }
            (b'$', b'"') => {
                *bare = false;
                self.at += 1;
                self.double_quoted(bytes)
            }
            _ => self.substitution(bytes),
        }
    }

    /// `$name`, `${…}`, `$(…)` or a backquoted command, copied as it is written.
    fn substitution(&mut self, bytes: &mut Vec<u8>) -> Result<(), GaveUp> {
        if self.peek(0) == b'`' {
            let start = self.at;
            self.at += 1;
            while self.peek(0) != b'`' {
                if self.at >= self.text.len() {
                    return Err(GaveUp::Unfinished);
                }
                self.at += if self.peek(0) == b'\\' { 2 } else { 1 };
            }
            self.at += 1;
            bytes.extend_from_slice(&self.text[start..self.at.min(self.text.len())]);
            return Ok(());
        }
        bytes.push(b'$');
        self.at += 1;
        if matches!(self.peek(0), b'(' | b'{') { self.balanced(bytes) } else { Ok(()) }
    }

    /// Copies a bracketed part with everything nested in it; quotes inside hide brackets.
    fn balanced(&mut self, bytes: &mut Vec<u8>) -> Result<(), GaveUp> {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            match self.peek(0) {
                0 if self.at >= self.text.len() => return Err(GaveUp::Unfinished),
                b'(' | b'{' => depth += 1,
                b')' | b'}' => depth -= 1,
                b'\\' => self.at += 1,
                b'\'' => {
                    let rest = self.text.get(self.at + 1..).unwrap_or_default();
                    self.at += bytes::find_byte(rest, b'\'').ok_or(GaveUp::Unfinished)? + 1;
                }
                b'"' => self.skip_double_quoted()?,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                bytes.extend_from_slice(&self.text[start..self.at.min(self.text.len())]);
                return Ok(());
            }
        }
    }

    /// Moves from an opening double quote to its closing one.
    fn skip_double_quoted(&mut self) -> Result<(), GaveUp> {
        self.at += 1;
        while self.peek(0) != b'"' {
            if self.at >= self.text.len() {
                return Err(GaveUp::Unfinished);
            }
            self.at += if self.peek(0) == b'\\' { 2 } else { 1 };
        }
        Ok(())
    }

    /// `$'…'`: the common escapes; others stay as they are written.
    fn ansi_quoted(&mut self, bytes: &mut Vec<u8>) -> Result<(), GaveUp> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (0, _) if self.at >= self.text.len() => return Err(GaveUp::Unfinished),
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
}

/// Whether `bytes` may precede the `=` of an assignment (`NAME`, `NAME+`, `NAME[i]`). `$(NAME)`, and `$(NAME)/path`.
fn is_variable(word: &[u8]) -> bool {
    let Some(inner) = word.strip_prefix(b"$(") else { return false };
    let end = inner.iter().position(|byte| *byte == b')').unwrap_or(inner.len());
    is_name(&inner[..end]) && !inner[..end].iter().any(u8::is_ascii_lowercase)
}

/// A program's path as Windows writes it (`.\gradlew.bat`, `scripts\test.ps1`): no shell escapes a letter in the middle of one.
fn windows_path(word: &[u8]) -> Option<String> {
    let is_step = |at: usize| {
        let around = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let before = at.checked_sub(1).and_then(|at| word.get(at));
        before.is_some_and(|byte| around(*byte) || b".:".contains(byte))
            && word.get(at + 1).is_some_and(|byte| around(*byte))
    };
    let mut places = word.iter().enumerate().filter(|(_, byte)| **byte == b'\\').map(|(at, _)| at).peekable();
    places.peek()?;
    let is_plain = word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-:\\".contains(byte));
    (is_plain && places.all(is_step)).then(|| text(word.to_vec()).replace('\\', "/"))
}

fn is_name(bytes: &[u8]) -> bool {
    let name = bytes.strip_suffix(b"+").unwrap_or(bytes);
    name.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'[' | b']'))
}

/// The pieces come from a `&str` and are cut at ASCII bytes only; an escaped byte may still split a character.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
