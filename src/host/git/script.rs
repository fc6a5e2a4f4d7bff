//! A shell script of somebody's, as far as one has to understand it to put something before a command of it: where the
//! simple commands begin. What isn't understood is left alone.

use std::collections::BTreeSet;
use std::ops::Range;

/// Substitutions in quotes in substitutions; deeper ones are beyond us.
const DEPTH_MAX: usize = 64;
/// Commands that take another one as their words and are no program themselves.
const PREFIXES: [&str; 3] = ["exec", "command", "time"];
/// Words after which a command follows.
const BEFORE_A_COMMAND: [&str; 11] = ["if", "then", "else", "elif", "while", "until", "do", "!", "{", "fi", "done"];

/// Places in `script`, ascending, where a command begins for which `is_check` holds: behind its assignments, before its
/// program. `is_check` gets the command's text from there to its end. `None` when the script can't be told apart.
///
/// Left out are commands inside of substitutions, ones with a here-document, and those whose name is a function or an
/// alias in the same script.
pub(super) fn commands(script: &str, is_check: &dyn Fn(&str) -> bool) -> Option<Vec<usize>> {
    let mut reader = ScriptReader {
        text: script.as_bytes(),
        at: 0,
        found: Vec::new(),
        defined: BTreeSet::new(),
        due: Vec::new(),
        is_special: false,
        depth: 0,
    };
    reader.script(&mut Vec::new())?;
    // What is put there runs these two.
    if reader.is_special || ["command", "echo"].iter().any(|name| reader.defined.contains(*name)) {
        return Some(Vec::new());
    }
    let is_wanted = |command: &&Range<usize>| {
        let text = &script[(*command).clone()];
        let program = text.split([' ', '\t', '\n']).next().unwrap_or_default();
        !reader.defined.contains(program) && is_check(text)
    };
    Some(reader.found.iter().filter(is_wanted).map(|command| command.start).collect())
}

/// What surrounds a place of a script.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ScriptContext {
    /// `( … )`
    Group,
    /// `case … esac`, where a pattern stands.
    Pattern,
    /// `case … esac`, behind a pattern.
    Arm,
}

struct ScriptReader<'a> {
    text: &'a [u8],
    at: usize,
    /// Simple commands without their assignments.
    found: Vec<Range<usize>>,
    /// Names of functions and aliases.
    defined: BTreeSet<String>,
    /// Ends of the here-documents that begin on the next line, and whether tabs before them count for nothing.
    due: Vec<(Vec<u8>, bool)>,
    /// The shell prints what it runs (`set -x`), or splits words in a way of its own (`IFS=,`).
    is_special: bool,
    /// Quotes in substitutions in quotes.
    depth: usize,
}

/// What the first word of a command begins.
enum First {
    /// A simple command.
    Command,
    /// One whose program is a later word.
    Prefix,
    /// Something that names no program.
    NoProgram,
    /// It was read, and what follows is another command.
    Compound,
}

/// A word, unquoted as far as it has quotes.
struct ScriptWord {
    start: usize,
    text: Vec<u8>,
    /// Nothing of it was quoted or substituted.
    bare: bool,
}

impl ScriptReader<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn ended(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Reads all of it; `None` for what no shell would take or what is beyond us.
    fn script(&mut self, around: &mut Vec<ScriptContext>) -> Option<()> {
        loop {
            self.blanks();
            if self.ended() {
                return (around.is_empty() && self.due.is_empty()).then_some(());
            }
            if around.last() == Some(&ScriptContext::Pattern) {
                self.pattern(around)?;
                continue;
            }
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => self.line_end()?,
                (b';', b';') => {
                    if around.pop() != Some(ScriptContext::Arm) {
                        return None;
                    }
                    around.push(ScriptContext::Pattern);
                    self.at += 2 + usize::from(self.peek(2) == b'&');
                }
                (b'(', b'(') => self.balanced(b'(', b')')?,
                (b'(', _) => {
                    around.push(ScriptContext::Group);
                    self.at += 1;
                }
                (b')', _) => {
                    if around.pop() != Some(ScriptContext::Group) {
                        return None;
                    }
                    self.at += 1;
                }
                (b';' | b'|' | b'&', _) => self.at += 1,
                _ => self.command(around)?,
            }
        }
    }

    /// `word | word)` of a `case`, or its end.
    fn pattern(&mut self, around: &mut Vec<ScriptContext>) -> Option<()> {
        match self.peek(0) {
            b'\n' => self.line_end(),
            b'(' | b'|' | b';' => {
                self.at += 1;
                Some(())
            }
            b')' => {
                around.pop();
                around.push(ScriptContext::Arm);
                self.at += 1;
                Some(())
            }
            _ => {
                let word = self.word()?;
                if word.bare && word.text == b"esac" {
                    around.pop();
                }
                Some(())
            }
        }
    }

    /// Reads a simple command, or a word that begins a compound one.
    fn command(&mut self, around: &mut Vec<ScriptContext>) -> Option<()> {
        let mut is_plain = true;
        let mut words: Vec<ScriptWord> = Vec::new();
        let mut splits = false;
        loop {
            self.blanks();
            let (here, next) = (self.peek(0), self.peek(1));
            if self.ended() || matches!(here, b'\n' | b';' | b'|' | b')') || here == b'&' && next != b'>' {
                break;
            }
            if here == b'(' {
                // `name()` defines a function; anything else is beyond us.
                let name = words.pop().filter(|name| words.is_empty() && name.bare)?;
                self.at += 1;
                self.blanks();
                if self.peek(0) != b')' {
                    return None;
                }
                self.at += 1;
                return self.define(&name.text);
            }
            if here == b'&' || matches!(here, b'<' | b'>') && next != b'(' {
                is_plain &= self.redirection()?;
                continue;
            }
            let word = self.word()?;
            let is_number = || word.bare && word.text.iter().all(u8::is_ascii_digit);
            if matches!(self.peek(0), b'<' | b'>') && is_number() {
                continue;
            }
            if words.is_empty() && is_assignment(&word.text) {
                splits |= is_split(&word.text);
                continue;
            }
            if words.is_empty() && word.bare {
                match self.first(&word, around)? {
                    First::Command => {}
                    First::Prefix => continue,
                    First::NoProgram => is_plain = false,
                    First::Compound => return Some(()),
                }
            }
            words.push(word);
        }
        self.effect(&words, splits)?;
        if let Some(first) = words.first().filter(|first| is_plain && is_program(first)) {
            self.found.push(first.start..self.trimmed(first.start));
        }
        Some(())
    }

    /// What the first word of a command begins.
    fn first(&mut self, word: &ScriptWord, around: &mut Vec<ScriptContext>) -> Option<First> {
        let text = std::str::from_utf8(&word.text).ok()?;
        Some(match text {
            "}" => First::Compound,
            keyword if BEFORE_A_COMMAND.contains(&keyword) => First::Compound,
            prefix if PREFIXES.contains(&prefix) => First::Prefix,
            "for" | "select" => First::NoProgram,
            "[[" => {
                self.double_bracket()?;
                First::NoProgram
            }
            "case" => {
                self.case(around)?;
                First::Compound
            }
            "esac" => {
                if around.pop() != Some(ScriptContext::Arm) {
                    return None;
                }
                First::Compound
            }
            "function" => {
                self.blanks();
                let name = self.word()?;
                self.define(&name.text)?;
                First::Compound
            }
            _ => First::Command,
        })
    }

    fn define(&mut self, name: &[u8]) -> Option<()> {
        self.defined.insert(String::from_utf8(name.to_vec()).ok()?);
        Some(())
    }

    /// What a command does to those after it. `splits`: it was given words to be split in another way.
    fn effect(&mut self, words: &[ScriptWord], splits: bool) -> Option<()> {
        let Some((first, arguments)) = words.split_first() else {
            self.is_special |= splits;
            return Some(());
        };
        match first.text.as_slice() {
            b"alias" => {
                for argument in arguments {
                    self.define(argument.text.split(|byte| *byte == b'=').next().unwrap_or_default())?;
                }
            }
            b"set" => self.is_special |= arguments.iter().any(|argument| is_tracing(&argument.text)),
            b"export" | b"local" | b"declare" | b"typeset" | b"readonly" => {
                self.is_special |= arguments.iter().any(|argument| is_split(&argument.text));
            }
            _ => {}
        }
        Some(())
    }

    /// The end of a command that began at `start`, without the blanks before it.
    fn trimmed(&self, start: usize) -> usize {
        let text = &self.text[start..self.at];
        start + text.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |last| last + 1)
    }

    /// `case WORD in`.
    fn case(&mut self, around: &mut Vec<ScriptContext>) -> Option<()> {
        self.blanks();
        self.word()?;
        while matches!(self.peek(0), b' ' | b'\t' | b'\n' | b'\\') {
            self.blanks();
            if self.peek(0) == b'\n' {
                self.line_end()?;
            }
        }
        (self.word()?.text == b"in").then(|| around.push(ScriptContext::Pattern))
    }

    /// Skips `[[ … ]]` up to its end; its `&&` and `<` are its own.
    fn double_bracket(&mut self) -> Option<()> {
        while !self.ended() {
            self.blanks();
            if matches!(self.peek(0), b'\n' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' | b';') {
                self.at += 1;
                continue;
            }
            if self.word()?.text == b"]]" {
                return Some(());
            }
        }
        None
    }

    /// Skips blanks, escaped line ends and comments.
    fn blanks(&mut self) {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b' ' | b'\t' | b'\r', _) => self.at += 1,
                (b'\\', b'\n') => self.at += 2,
                (b'#', _) => {
                    while !self.ended() && self.peek(0) != b'\n' {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// A line end, and the here-documents behind it.
    fn line_end(&mut self) -> Option<()> {
        self.at += 1;
        for (end, tabs) in std::mem::take(&mut self.due) {
            loop {
                if self.ended() {
                    return None;
                }
                let rest = &self.text[self.at..];
                let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                let line = &rest[..length];
                self.at = (self.at + length + 1).min(self.text.len());
                let indented = if tabs { line.iter().take_while(|byte| **byte == b'\t').count() } else { 0 };
                if line[indented..] == end {
                    break;
                }
            }
        }
        Some(())
    }

    /// Skips a redirection; false for a here-document.
    fn redirection(&mut self) -> Option<bool> {
        let rest = &self.text[self.at..];
        let operators = ["<<<", "&>>", "<<-", "<<", "&>", ">>", ">&", "<&", ">|", "<>", ">", "<"];
        let operator = operators.into_iter().find(|operator| rest.starts_with(operator.as_bytes()))?;
        self.at += operator.len();
        self.blanks();
        let target = self.word()?;
        if operator == "<<" || operator == "<<-" {
            self.due.push((target.text, operator == "<<-"));
            return Some(false);
        }
        Some(true)
    }

    fn word(&mut self) -> Option<ScriptWord> {
        let mut word = ScriptWord { start: self.at, text: Vec::new(), bare: true };
        while !self.ended() {
            let from = self.at;
            match (self.peek(0), self.peek(1)) {
                (b' ' | b'\t' | b'\r' | b'\n' | b';' | b'|' | b'&' | b')' | b'(', _) => break,
                (b'<' | b'>', b'(') if word.text.is_empty() => {
                    self.at += 1;
                    self.balanced(b'(', b')')?;
                }
                (b'<' | b'>', _) => break,
                (b'\\', b'\n') => {
                    self.at += 2;
                    continue;
                }
                (b'\\', escaped) => {
                    self.at += 2;
                    word.text.push(escaped);
                    word.bare = false;
                    continue;
                }
                (b'\'' | b'"', _) => {
                    self.quoted()?;
                    word.text.extend_from_slice(&self.text[from + 1..self.at - 1]);
                    word.bare = false;
                    continue;
                }
                (b'$', b'\'' | b'"') => {
                    self.at += 1;
                    self.quoted()?;
                    word.bare = false;
                }
                (b'$', b'(') => {
                    self.at += 1;
                    self.balanced(b'(', b')')?;
                    word.bare = false;
                }
                (b'$', b'{') => {
                    self.at += 1;
                    self.balanced(b'{', b'}')?;
                    word.bare = false;
                }
                (b'`', _) => {
                    self.backquoted()?;
                    word.bare = false;
                }
                _ => self.at += 1,
            }
            word.text.extend_from_slice(&self.text[from..self.at]);
        }
        (self.at > word.start && self.at <= self.text.len()).then_some(word)
    }

    /// Moves behind a quoted part; `$'…'` has escapes, which single quotes have not.
    fn quoted(&mut self) -> Option<()> {
        let quote = self.peek(0);
        let escapes = quote == b'"' || self.at > 0 && self.text[self.at - 1] == b'$';
        self.at += 1;
        while !self.ended() {
            match self.peek(0) {
                byte if byte == quote => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' if escapes => self.at += 2,
                b'$' if quote == b'"' && self.peek(1) == b'(' => {
                    self.at += 1;
                    self.balanced(b'(', b')')?;
                }
                b'`' if quote == b'"' => self.backquoted()?,
                _ => self.at += 1,
            }
        }
        None
    }

    fn backquoted(&mut self) -> Option<()> {
        self.at += 1;
        while self.peek(0) != b'`' {
            if self.ended() {
                return None;
            }
            self.at += if self.peek(0) == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        Some(())
    }

    /// Moves behind a bracketed part; quotes in it hide brackets.
    fn balanced(&mut self, open: u8, close: u8) -> Option<()> {
        if self.depth == DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let read = self.bracketed(open, close);
        self.depth -= 1;
        read
    }

    fn bracketed(&mut self, open: u8, close: u8) -> Option<()> {
        let mut depth = 0_usize;
        while !self.ended() {
            match self.peek(0) {
                b'\\' => self.at += 1,
                b'\'' | b'"' => {
                    self.quoted()?;
                    continue;
                }
                // A bracket in a comment closes nothing; whether `#` begins one can't be told in every case.
                b'#' if depth > 0 && matches!(self.text[self.at - 1], b' ' | b'\t' | b'\n') => return None,
                byte if byte == open => depth += 1,
                byte if byte == close => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
        None
    }
}

/// Whether a word names a program as it is written: no variable, no substitution.
fn is_program(word: &ScriptWord) -> bool {
    !word.text.starts_with(b"$") && !word.text.starts_with(b"`") && !word.text.starts_with(b"-")
}

/// An argument of `set` that makes the shell print what it runs.
fn is_tracing(word: &[u8]) -> bool {
    word == b"xtrace" || word.starts_with(b"-") && !word.starts_with(b"--") && word.contains(&b'x')
}

/// An assignment that makes the shell split words at something else than line ends. A variable's value is one from before.
fn is_split(word: &[u8]) -> bool {
    let Some(value) = word.strip_prefix(b"IFS=") else { return false };
    let is_variable = value.starts_with(b"$") && !value.starts_with(b"$'");
    !is_variable && !value.contains(&b'\n') && !value.windows(2).any(|pair| pair == b"\\n")
}

/// `NAME=…`
fn is_assignment(word: &[u8]) -> bool {
    let Some(end) = word.iter().position(|byte| *byte == b'=') else { return false };
    let name = word[..end].strip_suffix(b"+").unwrap_or(&word[..end]);
    name.first().is_some_and(|first| first.is_ascii_alphabetic() || *first == b'_')
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}
