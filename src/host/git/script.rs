//! A user's shell script, as far as needed to put something before one of its commands: where the simple commands
//! begin. What isn't understood is left alone.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::command::{ShellTokenizer, ShellWord};

/// Commands that take another one as their words and are no program themselves.
const PREFIXES: [&str; 3] = ["exec", "command", "time"];
/// Words after which a command follows.
const BEFORE_A_COMMAND: [&str; 11] = ["if", "then", "else", "elif", "while", "until", "do", "!", "{", "fi", "done"];

/// Places in `script`, ascending, where a command begins for which `is_check` holds: behind its assignments, before
/// its program. `is_check` gets the command's text from there to its end. `None` when the script can't be parsed.
///
/// Left out are commands inside of substitutions, ones with a here-document, and those whose name is a function or an
/// alias in the same script.
pub(super) fn commands(script: &str, is_check: &dyn Fn(&str) -> bool) -> Option<Vec<usize>> {
    let mut reader = ScriptReader {
        tokens: ShellTokenizer::new(script),
        found: Vec::new(),
        defined: BTreeSet::new(),
        due: Vec::new(),
        is_special: false,
    };
    reader.script(&mut Vec::new())?;
    // Where such a word ends is a guess, and so is what comes after it.
    if reader.tokens.has_comment_in_substitution() {
        return None;
    }
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
    /// `case … esac`, at the place of a pattern.
    Pattern,
    /// `case … esac`, behind a pattern.
    Arm,
}

struct ScriptReader<'a> {
    tokens: ShellTokenizer<'a>,
    /// Simple commands without their assignments.
    found: Vec<Range<usize>>,
    /// Names of functions and aliases.
    defined: BTreeSet<String>,
    /// Ends of the here-documents that begin on the next line, and whether tabs before them count for nothing.
    due: Vec<(String, bool)>,
    /// The shell prints what it runs (`set -x`), or splits words in a way of its own (`IFS=,`).
    is_special: bool,
}

/// What the first word of a command begins.
enum FirstWordRole {
    /// A simple command.
    Command,
    /// One whose program is a later word.
    Prefix,
    /// Something that names no program.
    NoProgram,
    /// It was read, and what follows is another command.
    Compound,
}

impl ScriptReader<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.tokens.peek(ahead)
    }

    /// A word that touches no parenthesis of its own.
    fn word(&mut self) -> Option<ShellWord> {
        self.tokens.read_word().ok().filter(|word| !word.is_array)
    }

    /// Reads all of it; `None` for what no shell would take or what is beyond us.
    fn script(&mut self, around: &mut Vec<ScriptContext>) -> Option<()> {
        loop {
            self.tokens.skip_blanks();
            if self.tokens.is_at_end() {
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
                    self.tokens.advance(2 + usize::from(self.peek(2) == b'&'));
                }
                (b'(', b'(') => self.tokens.skip_parenthesised().ok()?,
                (b'(', _) => {
                    around.push(ScriptContext::Group);
                    self.tokens.advance(1);
                }
                (b')', _) => {
                    if around.pop() != Some(ScriptContext::Group) {
                        return None;
                    }
                    self.tokens.advance(1);
                }
                (b';' | b'|' | b'&', _) => self.tokens.advance(1),
                _ => self.command(around)?,
            }
        }
    }

    /// `word | word)` of a `case`, or its end.
    fn pattern(&mut self, around: &mut Vec<ScriptContext>) -> Option<()> {
        match self.peek(0) {
            b'\n' => self.line_end(),
            b'(' | b'|' | b';' => {
                self.tokens.advance(1);
                Some(())
            }
            b')' => {
                around.pop();
                around.push(ScriptContext::Arm);
                self.tokens.advance(1);
                Some(())
            }
            _ => {
                let word = self.word()?;
                if word.is_bare && word.text == "esac" {
                    around.pop();
                }
                Some(())
            }
        }
    }

    /// Reads a simple command, or a word that begins a compound one.
    fn command(&mut self, around: &mut Vec<ScriptContext>) -> Option<()> {
        let mut is_plain = true;
        let mut words: Vec<ShellWord> = Vec::new();
        let mut splits = false;
        loop {
            self.tokens.skip_blanks();
            let (here, next) = (self.peek(0), self.peek(1));
            if self.tokens.is_at_end() || matches!(here, b'\n' | b';' | b'|' | b')') || here == b'&' && next != b'>' {
                break;
            }
            if here == b'(' {
                // `name()` defines a function; anything else is beyond us.
                let name = words.pop().filter(|name| words.is_empty() && name.is_bare)?;
                self.tokens.advance(1);
                self.tokens.skip_blanks();
                if self.peek(0) != b')' {
                    return None;
                }
                self.tokens.advance(1);
                self.define(&name.text);
                return Some(());
            }
            if here == b'&' || matches!(here, b'<' | b'>') && !self.tokens.is_at_process_substitution() {
                is_plain &= self.redirection()?;
                continue;
            }
            let word = self.word()?;
            if self.tokens.is_redirected_number(&word) {
                continue;
            }
            if words.is_empty() && word.is_assignment {
                splits |= is_split(&word.text);
                continue;
            }
            if words.is_empty() && word.is_bare {
                match self.first(&word, around)? {
                    FirstWordRole::Command => {}
                    FirstWordRole::Prefix => continue,
                    FirstWordRole::NoProgram => is_plain = false,
                    FirstWordRole::Compound => return Some(()),
                }
            }
            words.push(word);
        }
        self.effect(&words, splits);
        if let Some(first) = words.first().filter(|first| is_plain && is_program(first)) {
            self.found.push(first.span.start..self.trimmed(first.span.start));
        }
        Some(())
    }

    /// What the first word of a command begins.
    fn first(&mut self, word: &ShellWord, around: &mut Vec<ScriptContext>) -> Option<FirstWordRole> {
        Some(match word.text.as_str() {
            "}" => FirstWordRole::Compound,
            keyword if BEFORE_A_COMMAND.contains(&keyword) => FirstWordRole::Compound,
            prefix if PREFIXES.contains(&prefix) => FirstWordRole::Prefix,
            "for" | "select" => FirstWordRole::NoProgram,
            "[[" => {
                self.tokens.skip_double_bracket().ok()?;
                FirstWordRole::NoProgram
            }
            "case" => {
                self.case(around)?;
                FirstWordRole::Compound
            }
            "esac" => {
                if around.pop() != Some(ScriptContext::Arm) {
                    return None;
                }
                FirstWordRole::Compound
            }
            "function" => {
                self.tokens.skip_blanks();
                let name = self.word()?;
                self.define(&name.text);
                FirstWordRole::Compound
            }
            _ => FirstWordRole::Command,
        })
    }

    fn define(&mut self, name: &str) {
        self.defined.insert(name.to_owned());
    }

    /// What a command does to those after it. `splits`: it was given words to be split in another way.
    fn effect(&mut self, words: &[ShellWord], splits: bool) {
        let Some((first, arguments)) = words.split_first() else {
            self.is_special |= splits;
            return;
        };
        match first.text.as_str() {
            "alias" => {
                for argument in arguments {
                    self.define(argument.text.split('=').next().unwrap_or_default());
                }
            }
            "set" => self.is_special |= arguments.iter().any(|argument| is_tracing(&argument.text)),
            "export" | "local" | "declare" | "typeset" | "readonly" => {
                self.is_special |= arguments.iter().any(|argument| is_split(&argument.text));
            }
            _ => {}
        }
    }

    /// The end of a command that began at `start`, without the blanks before it.
    fn trimmed(&self, start: usize) -> usize {
        let text = self.tokens.raw(start..self.tokens.offset());
        start + text.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |last| last + 1)
    }

    /// `case WORD in`.
    fn case(&mut self, around: &mut Vec<ScriptContext>) -> Option<()> {
        self.tokens.skip_blanks();
        self.word()?;
        self.tokens.skip_blanks();
        while self.peek(0) == b'\n' {
            self.line_end()?;
            self.tokens.skip_blanks();
        }
        (self.word()?.text == "in").then(|| around.push(ScriptContext::Pattern))
    }

    /// A line end, and the here-documents behind it.
    fn line_end(&mut self) -> Option<()> {
        self.tokens.advance(1);
        for (end, tabs) in std::mem::take(&mut self.due) {
            loop {
                if self.tokens.is_at_end() {
                    return None;
                }
                let rest = self.tokens.rest();
                let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                let line = &rest[..length];
                self.tokens.advance(length + 1);
                let indented = if tabs { line.iter().take_while(|byte| **byte == b'\t').count() } else { 0 };
                if line[indented..] == *end.as_bytes() {
                    break;
                }
            }
        }
        Some(())
    }

    /// Skips a redirection; false for a here-document.
    fn redirection(&mut self) -> Option<bool> {
        let redirection = self.tokens.read_redirection().ok().filter(|redirection| !redirection.target.is_array)?;
        if redirection.is_here_document() {
            self.due.push((redirection.target.text, redirection.operator == "<<-"));
            return Some(false);
        }
        Some(true)
    }
}

/// Whether a word names a program as it is written: no variable, no substitution.
fn is_program(word: &ShellWord) -> bool {
    !word.text.starts_with(['$', '`', '-'])
}

/// An argument of `set` that makes the shell print what it runs.
fn is_tracing(word: &str) -> bool {
    word == "xtrace" || word.starts_with('-') && !word.starts_with("--") && word.contains('x')
}

/// An assignment that makes the shell split words at something else than line ends. A variable's value is one from before.
fn is_split(word: &str) -> bool {
    let Some(value) = word.strip_prefix("IFS=") else { return false };
    let is_variable = value.starts_with('$') && value.len() > 1;
    !is_variable && !value.contains('\n') && !value.contains("\\n")
}
