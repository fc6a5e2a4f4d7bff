//! A shell line as the simple commands in it.
//!
//! The POSIX grammar as far as recognising a command needs it: quoting, joins, subshells, brace groups, `if` and loops
//! are understood, redirections are left out, and what is only known when the line runs (here-documents, `case`, `eval`
//! of more than one plain command, a substituted program name) is given up on instead of guessed.

use super::UnparsedReason;
use super::tokenizer::{ShellTokenizer, ShellWord, is_variable_name, text_of};

/// A shell line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ShellLine {
    /// Commands and subshells in the line's order.
    pub steps: Vec<LineStep>,
    /// Every join is `&&` and nothing turns the status around: the line passes only if every command in it passed.
    pub all_joined_by_and: bool,
    /// Something in it may run many times.
    pub has_loop: bool,
}

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LineStep {
    /// `(`: a change of directory inside ends with it.
    Open,
    /// `)`.
    Close,
    /// A simple command.
    Run(SimpleCommand),
}

/// A simple command; redirections are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SimpleCommand {
    /// Its words with quotes removed. Expansions (`$x`, `$(…)`, globs) stay as they are written.
    pub words: Vec<String>,
    /// Where each word starts in the line, bytes.
    pub starts: Vec<usize>,
    /// `NAME=value` before them, quotes removed.
    pub assignments: Vec<String>,
}

impl ShellLine {
    /// Splits `line`.
    ///
    /// # Errors
    /// When the line can't be parsed without running it; the reason.
    pub(crate) fn parse(line: &str) -> Result<ShellLine, UnparsedReason> {
        let mut parser = Parser {
            tokens: ShellTokenizer::new(line),
            line: ShellLine { steps: Vec::new(), all_joined_by_and: true, has_loop: false },
            open: Vec::new(),
        };
        parser.line()?;
        Ok(parser.line)
    }
}

/// Words that start something this parser does not look into, in command position and unquoted.
const COMPOUND: [&str; 5] = ["case", "esac", "select", "function", "coproc"];

struct Parser<'a> {
    tokens: ShellTokenizer<'a>,
    line: ShellLine,
    /// What is open around the current position.
    open: Vec<OpenGroup>,
}

/// What ends with a word or sign of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenGroup {
    /// `( … )`.
    Subshell,
    /// `{ … }`.
    Brace,
    /// Between `if` or `elif` and `then`.
    Condition,
    /// Between `then` or `else` and `fi`.
    Branch,
    /// Between `for`, `while` or `until` and `do`.
    LoopHead,
    /// Between `do` and `done`.
    LoopBody,
}

/// What a word in command position does.
enum WordEffect {
    /// It is a command's.
    Begins,
    /// A command follows it.
    Precedes,
    /// It ends a group; a join may follow.
    Ends,
}

impl Parser<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.tokens.peek(ahead)
    }

    fn line(&mut self) -> Result<(), UnparsedReason> {
        loop {
            self.tokens.skip_blank_lines();
            if self.tokens.is_at_end() {
                return if self.open.is_empty() { Ok(()) } else { Err(UnparsedReason::Unfinished) };
            }
            if self.command()? {
                self.join()?;
            }
        }
    }

    /// Reads one command or the start of a group. Whether a join may follow.
    fn command(&mut self) -> Result<bool, UnparsedReason> {
        if self.peek(0) == b'(' {
            if self.peek(1) == b'(' {
                return Err(UnparsedReason::Compound);
            }
            self.tokens.advance(1);
            self.open.push(OpenGroup::Subshell);
            self.line.steps.push(LineStep::Open);
            return Ok(false);
        }
        let mut simple = SimpleCommand::default();
        let mut read_something = false;
        loop {
            self.tokens.skip_blanks();
            match self.peek(0) {
                0 if self.tokens.is_at_end() => break,
                b'\n' | b';' | b'|' | b')' => break,
                b'&' if self.peek(1) != b'>' => break,
                b'(' => return Err(if read_something { UnparsedReason::Compound } else { UnparsedReason::Syntax }),
                b'<' | b'>' | b'&' if !self.tokens.is_at_process_substitution() => self.redirection()?,
                _ => {
                    let word = self.tokens.read_word()?;
                    self.check_word_end()?;
                    if self.tokens.is_redirected_number(&word) {
                        continue;
                    }
                    if simple.words.is_empty() && word.is_bare && !read_something {
                        if word.text == "[[" {
                            if self.tokens.skip_double_bracket()? {
                                return Err(UnparsedReason::Compound);
                            }
                            read_something = true;
                            continue;
                        }
                        match self.reserved_word(&word.text)? {
                            WordEffect::Precedes => return Ok(false),
                            WordEffect::Ends => return Ok(true),
                            WordEffect::Begins => {}
                        }
                    }
                    read_something = true;
                    self.take(&mut simple, word)?;
                }
            }
        }
        if !read_something {
            // Only a group's end may be here; a join without a command is no line.
            return if self.peek(0) == b')' { Ok(true) } else { Err(UnparsedReason::Syntax) };
        }
        if simple.words.first().is_some_and(|word| word == "eval") && !is_constant_eval(&simple.words[1..]) {
            return Err(UnparsedReason::Eval);
        }
        self.line.steps.push(LineStep::Run(simple));
        Ok(true)
    }

    /// Looks at an unquoted word where a command may begin.
    fn reserved_word(&mut self, word: &str) -> Result<WordEffect, UnparsedReason> {
        use OpenGroup::{Brace, Branch, Condition, LoopBody, LoopHead};
        let opens = match word {
            "{" => Brace,
            "if" => Condition,
            "while" | "until" => LoopHead,
            "for" => {
                self.skip_values()?;
                LoopHead
            }
            "then" => self.turn(Condition, Branch)?,
            "elif" => self.turn(Branch, Condition)?,
            "else" => self.turn(Branch, Branch)?,
            "do" => self.turn(LoopHead, LoopBody)?,
            "}" | "fi" | "done" => {
                let kind = if word == "}" {
                    Brace
                } else if word == "fi" {
                    Branch
                } else {
                    LoopBody
                };
                return self.close(kind).map(|()| WordEffect::Ends);
            }
            "!" => {
                self.line.all_joined_by_and = false;
                return Ok(WordEffect::Precedes);
            }
            "time" => {
                self.tokens.skip_blanks();
                let group = matches!(self.peek(0), b'(' | b'{');
                return Ok(if group { WordEffect::Precedes } else { WordEffect::Begins });
            }
            _ if COMPOUND.contains(&word) => return Err(UnparsedReason::Compound),
            _ => return Ok(WordEffect::Begins),
        };
        // What is asked or repeated decides nothing about the line's status.
        self.line.all_joined_by_and &= opens == Brace;
        self.line.has_loop |= opens == LoopHead;
        self.open.push(opens);
        Ok(WordEffect::Precedes)
    }

    /// Ends the group `from` where `to` begins.
    fn turn(&mut self, from: OpenGroup, to: OpenGroup) -> Result<OpenGroup, UnparsedReason> {
        if self.open.pop() == Some(from) { Ok(to) } else { Err(UnparsedReason::Syntax) }
    }

    /// Skips the name and the values of a `for`.
    fn skip_values(&mut self) -> Result<(), UnparsedReason> {
        loop {
            self.tokens.skip_blanks();
            match self.peek(0) {
                0 if self.tokens.is_at_end() => return Err(UnparsedReason::Unfinished),
                b';' | b'\n' => {
                    self.tokens.advance(1);
                    self.tokens.skip_blank_lines();
                    return Ok(());
                }
                b'(' => return Err(UnparsedReason::Compound),
                _ => drop(self.tokens.read_word()?),
            }
        }
    }

    fn take(&self, simple: &mut SimpleCommand, word: ShellWord) -> Result<(), UnparsedReason> {
        if simple.words.is_empty() {
            if word.is_assignment {
                simple.assignments.push(word.text);
                return Ok(());
            }
            // `$(NAME)` is how make and templates write a variable; no program has a name in capitals. Of `$(npm bin)/tsc`
            // another command says the folder alone.
            if word.is_substituted && !is_variable(word.text.as_bytes()) && !is_in_substituted_folder(&word.text) {
                return Err(UnparsedReason::SubstitutedProgram);
            }
        }
        let is_program = |text: &str| [".ps1", ".bat", ".cmd", ".exe"].iter().any(|end| text.ends_with(end));
        let may = simple.words.is_empty() || is_program(&word.text);
        let windows = may.then(|| windows_path(self.tokens.raw(word.span.clone()))).flatten();
        simple.words.push(windows.unwrap_or(word.text));
        simple.starts.push(word.span.start);
        Ok(())
    }

    /// Reads what is between two commands.
    fn join(&mut self) -> Result<(), UnparsedReason> {
        loop {
            self.tokens.skip_blanks();
            let (length, and) = match (self.peek(0), self.peek(1)) {
                (0, _) if self.tokens.is_at_end() => return Ok(()),
                (b')', _) => {
                    self.close(OpenGroup::Subshell)?;
                    continue;
                }
                (b'&', b'&') => (2, true),
                (b';', b';') => return Err(UnparsedReason::Compound),
                (b'|', b'|' | b'&') => (2, false),
                (b'|' | b'&' | b';' | b'\n', _) => (1, false),
                // `{ … } word` and `( … ) word` are no lines.
                _ => return Err(UnparsedReason::Syntax),
            };
            let ends_a_command = matches!(self.peek(0), b';' | b'\n');
            let background = self.peek(0) == b'&' && length == 1;
            self.tokens.advance(length);
            self.tokens.skip_blank_lines();
            let nothing_follows = self.tokens.is_at_end();
            if nothing_follows && !ends_a_command && !background {
                return Err(UnparsedReason::Unfinished);
            }
            let closes = matches!(self.peek(0), b')' | b'}');
            if background || (!and && !((nothing_follows || closes) && ends_a_command)) {
                self.line.all_joined_by_and = false;
            }
            if self.peek(0) != b')' {
                return Ok(());
            }
            if !ends_a_command && !background {
                return Err(UnparsedReason::Syntax);
            }
        }
    }

    fn close(&mut self, kind: OpenGroup) -> Result<(), UnparsedReason> {
        if self.open.pop() != Some(kind) {
            return Err(UnparsedReason::Syntax);
        }
        if kind == OpenGroup::Subshell {
            self.tokens.advance(1);
            self.line.steps.push(LineStep::Close);
        }
        self.group_redirections()
    }

    fn group_redirections(&mut self) -> Result<(), UnparsedReason> {
        loop {
            self.tokens.skip_blanks();
            let digits = self.tokens.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
            match (self.peek(digits), self.peek(digits + 1)) {
                (b'<' | b'>', _) | (b'&', b'>') => {
                    self.tokens.advance(digits);
                    self.redirection()?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Skips a redirection with its target.
    fn redirection(&mut self) -> Result<(), UnparsedReason> {
        let redirection = self.tokens.read_redirection()?;
        if redirection.is_here_document() {
            return Err(UnparsedReason::HereDocument);
        }
        self.check_word_end()
    }

    /// A parenthesis that touches a word makes it a function or an extended glob.
    fn check_word_end(&self) -> Result<(), UnparsedReason> {
        if self.peek(0) == b'(' { Err(UnparsedReason::Compound) } else { Ok(()) }
    }
}

/// Whether what `eval` is given is one command of known words, that changes nothing for those after it.
fn is_constant_eval(words: &[String]) -> bool {
    const CHANGING: [&str; 10] = ["cd", "pushd", "popd", "export", "unset", "set", "source", ".", "alias", "exit"];
    let text = words.join(" ");
    if text.contains(['$', '`', '(']) || text.contains("eval") {
        return false;
    }
    let Ok(line) = ShellLine::parse(&text) else { return false };
    match line.steps.as_slice() {
        [LineStep::Run(simple)] => simple.words.first().is_some_and(|word| !CHANGING.contains(&word.as_str())),
        _ => false,
    }
}

/// `$(NAME)`, and `$(NAME)/path`.
fn is_variable(word: &[u8]) -> bool {
    let Some(inner) = word.strip_prefix(b"$(") else { return false };
    let end = inner.iter().position(|byte| *byte == b')').unwrap_or(inner.len());
    is_variable_name(&inner[..end]) && !inner[..end].iter().any(u8::is_ascii_lowercase)
}

/// Whether a word is a program in a folder that a command says: `$(go env GOPATH)/bin/golint`.
fn is_in_substituted_folder(word: &str) -> bool {
    let rest = ["$(", "`"].into_iter().zip([")", "`"]).find_map(|(opens, closes)| {
        let (_, rest) = word.strip_prefix(opens)?.rsplit_once(closes)?;
        rest.strip_prefix('/')
    });
    let is_plain = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
    rest.is_some_and(|rest| is_plain(rest) && !rest.is_empty() && !rest.ends_with('/'))
}

/// A program's path as Windows writes it (`.\gradlew.bat`, `scripts\test.ps1`): no shell escapes a letter in the middle of one.
fn windows_path(word: &[u8]) -> Option<String> {
    let is_step = |at: usize| {
        let around = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let is_bin = word[at + 1..].starts_with(b".bin\\");
        let before = at.checked_sub(1).and_then(|at| word.get(at));
        before.is_some_and(|byte| around(*byte) || b".:".contains(byte))
            && (is_bin || word.get(at + 1).is_some_and(|byte| around(*byte)))
    };
    let mut places = word.iter().enumerate().filter(|(_, byte)| **byte == b'\\').map(|(at, _)| at).peekable();
    places.peek()?;
    let is_plain = word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-:\\".contains(byte));
    (is_plain && places.all(is_step)).then(|| text_of(word.to_vec()).replace('\\', "/"))
}
