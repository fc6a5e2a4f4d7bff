//! Where subcommands print: text and tables for people, JSON for programs.

mod pager;
mod progress;
mod table;

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

pub(super) use table::TableCell;

use crate::base::clock::Timestamp;
use crate::base::refusal::NextStep;
use crate::base::text::{one_line, printable, visible_json};
use crate::ops::reply::Reply;
use crate::run;
use crate::surface::failure::{FailureReport, hint_line};
use pager::Pager;
use progress::ProgressLine;

/// What a text means. On a terminal it is a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// Nothing special.
    Plain,
    /// The title of a page.
    Title,
    /// It passed, was fixed, is confirmed.
    Good,
    /// It failed.
    Bad,
    /// It is uncertain.
    Unsure,
    /// Labels, headers, ids of little interest.
    Faint,
    /// A place in a diff.
    Place,
}

impl Tone {
    fn code(self) -> Option<&'static str> {
        match self {
            Tone::Plain => None,
            Tone::Title => Some("1"),
            Tone::Good => Some("32"),
            Tone::Bad => Some("31"),
            Tone::Unsure => Some("33"),
            Tone::Faint => Some("2"),
            Tone::Place => Some("36"),
        }
    }
}

/// A piece of a line.
#[derive(Debug, Clone)]
pub(super) struct StyledText {
    tone: Tone,
    text: String,
}

impl StyledText {
    /// A text that means something.
    pub(super) fn new(tone: Tone, text: impl Into<String>) -> Self {
        StyledText { tone, text: text.into() }
    }

    /// A text that means nothing special.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        StyledText::new(Tone::Plain, text)
    }

    #[cfg(test)]
    fn text(&self) -> &str {
        &self.text
    }
}

/// The process's standard output and error, with what is known about them.
pub struct Output {
    terminal: bool,
    colour: bool,
    /// What fits on one line of the terminal.
    columns: Option<usize>,
    /// What ages are counted from.
    now: Timestamp,
    pager: Option<Pager>,
    progress: Option<ProgressLine>,
}

impl Output {
    /// Colour only on a terminal and without `NO_COLOR` (<https://no-color.org>).
    pub fn from_process() -> Self {
        let terminal = io::stdout().is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let columns = if terminal { run::columns() } else { None };
        Output { terminal, colour: terminal && !no_colour, columns, now: Timestamp::now(), pager: None, progress: None }
    }

    /// Whether tables may be drawn.
    pub fn terminal(&self) -> bool {
        self.terminal
    }

    /// Whether colour may be used.
    pub fn colour(&self) -> bool {
        self.colour
    }

    /// Sends what follows through `$PAGER` when `wanted` on a terminal. Without a pager it is printed as always.
    pub(super) fn use_pager(&mut self, wanted: bool) {
        if wanted && self.terminal && self.pager.is_none() {
            self.progress = None;
            match Pager::start() {
                Ok(pager) => self.pager = Some(pager),
                Err(error) => self.note(&format!("cannot start the pager: {error}")),
            }
        }
    }

    /// A time: how long ago on a terminal, the local date and time elsewhere.
    pub(super) fn when(&self, time: Timestamp) -> String {
        if self.terminal { time.age_at(self.now) } else { time.local() }
    }

    /// A word of a closed set, such as `test_failure`: with spaces on a terminal.
    pub(super) fn word(&self, word: &str) -> String {
        let word = one_line(word);
        if self.terminal { word.replace('_', " ") } else { word }
    }

    /// Prints `text` as it is. The caller has made it printable ([`crate::base::text`]).
    ///
    /// # Errors
    /// When standard output can't be written.
    pub fn text(&mut self, text: &str) -> anyhow::Result<()> {
        self.progress = None;
        if let Some(pager) = &mut self.pager {
            return Ok(pager.write(text)?);
        }
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Standard output itself, for what is written line by line.
    pub fn stream(&mut self) -> io::StdoutLock<'static> {
        self.progress = None;
        io::stdout().lock()
    }

    /// Prints one line, without control characters: names of files and folders may have them.
    ///
    /// # Errors
    /// As [`Output::text`].
    pub fn line(&mut self, line: &str) -> anyhow::Result<()> {
        self.text(&format!("{}\n", printable(line)))
    }

    /// Prints one line of texts that mean something, without control characters.
    ///
    /// # Errors
    /// As [`Output::text`].
    pub(super) fn spans(&mut self, spans: &[StyledText]) -> anyhow::Result<()> {
        let mut line: String = spans.iter().map(|span| self.painted(span)).collect();
        line.truncate(line.trim_end_matches(' ').len());
        line.push('\n');
        self.text(&line)
    }

    fn painted(&self, StyledText { tone, text }: &StyledText) -> String {
        let text = printable(text);
        match tone.code().filter(|_| self.colour && !text.trim().is_empty()) {
            Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
            None => text,
        }
    }

    /// Prints the title of a page.
    ///
    /// # Errors
    /// As [`Output::text`].
    pub(super) fn title(&mut self, title: &str) -> anyhow::Result<()> {
        self.spans(&[StyledText::new(Tone::Title, one_line(title))])
    }

    /// Prints what a list has, on a terminal only: elsewhere the lines are counted by who reads them.
    ///
    /// # Errors
    /// As [`Output::text`].
    pub(super) fn list_title(&mut self, title: &str) -> anyhow::Result<()> {
        if self.terminal { self.title(title) } else { Ok(()) }
    }

    /// Prints `label: value` on one line.
    ///
    /// # Errors
    /// As [`Output::text`].
    pub(super) fn field(&mut self, label: &str, value: &str) -> anyhow::Result<()> {
        self.spans(&[StyledText::new(Tone::Faint, format!("{label}: ")), StyledText::plain(one_line(value))])
    }

    /// Prints a unified diff.
    ///
    /// # Errors
    /// As [`Output::text`].
    pub(super) fn diff(&mut self, diff: &str) -> anyhow::Result<()> {
        let tone = |line: &str| match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'd', b'i', b'f', b'f', ..] => Tone::Faint,
            [b'i', b'n', b'd', b'e', b'x', b' ', ..] => Tone::Faint,
            [b'+', ..] => Tone::Good,
            [b'-', ..] => Tone::Bad,
            [b'@', b'@', ..] => Tone::Place,
            _ => Tone::Plain,
        };
        diff.trim_end().lines().try_for_each(|line| {
            let painted = self.painted(&StyledText::new(tone(line), line));
            self.text(&format!("{painted}\n"))
        })
    }

    /// Prints `value` as one JSON document, indented on a terminal; characters that no screen shows as escapes.
    ///
    /// # Errors
    /// As [`Output::text`].
    pub fn json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let json = if self.terminal { serde_json::to_string_pretty(value)? } else { serde_json::to_string(value)? };
        self.text(&format!("{}\n", visible_json(json)))
    }

    /// Prints what a verb replies: its notes, then the document as JSON, or `page` for people.
    ///
    /// # Errors
    /// As [`Output::text`].
    pub(super) fn reply<T: Serialize>(
        &mut self,
        reply: &Reply<T>,
        json: bool,
        page: impl FnOnce(&T, &mut Output) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.notes(&reply.notes);
        if json { self.json(reply) } else { page(&reply.data, self) }
    }

    /// Draws `rows` under `header`: on a terminal a table that fits its width, else tab-separated lines without the header.
    ///
    /// # Errors
    /// As [`Output::text`].
    pub(super) fn table<C: Clone + Into<TableCell>>(&mut self, header: &[&str], rows: &[Vec<C>]) -> anyhow::Result<()> {
        let rows: Vec<Vec<TableCell>> = rows.iter().map(|row| row.iter().cloned().map(Into::into).collect()).collect();
        if !self.terminal {
            return self.text(&table::tab_separated(&rows));
        }
        table::layout(header, &rows, self.columns).iter().try_for_each(|line| self.spans(line))
    }

    /// Shows on a terminal what takes long from here on, until something is printed.
    pub(super) fn busy(&mut self, what: &'static str) {
        // The line of before is erased first.
        self.progress = None;
        self.progress = ProgressLine::start(what);
    }

    /// Prints to standard error what is not part of the answer, without control characters.
    pub fn note(&mut self, text: &str) {
        self.note_as_is(&printable(text));
    }

    /// Prints each note on a line of standard error.
    pub(super) fn notes(&mut self, notes: &[String]) {
        notes.iter().for_each(|note| self.note(note));
    }

    /// As [`Output::note`], for verify-run's own text, which may be coloured. A closed standard error is ignored.
    pub fn note_as_is(&mut self, text: &str) {
        self.progress = None;
        let mut line = text.trim_end().to_owned();
        line.push('\n');
        let _ = io::stderr().lock().write_all(line.as_bytes());
    }

    /// Asks a person, who has to type `y` or `yes`. Without a terminal to ask on and to be answered on, the answer is no.
    ///
    /// # Errors
    /// As [`Output::text`], and when the answer can't be read.
    pub fn ask(&mut self, question: &str) -> anyhow::Result<bool> {
        if !self.terminal || !io::stdin().is_terminal() {
            return Ok(false);
        }
        self.text(&format!("{} [y/N] ", printable(question)))?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// Asks a person for a text; `None` without a terminal to ask on and to be answered on.
    ///
    /// # Errors
    /// As [`Output::text`], and when the answer can't be read.
    pub(super) fn ask_text(&mut self, question: &str) -> anyhow::Result<Option<String>> {
        if !self.terminal || !io::stdin().is_terminal() {
            return Ok(None);
        }
        self.text(&format!("{} ", printable(question)))?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(Some(answer.trim().to_owned()))
    }

    /// Prints an error with its causes and what helps: `verify-run: message: cause`, then the hint.
    pub(super) fn failure(&mut self, report: &FailureReport) {
        self.note(&format!("verify-run: {}", report.to_text()));
    }

    /// Prints what the user can do next.
    pub(super) fn hint(&mut self, next: &NextStep) {
        self.note(&hint_line(next));
    }
}
