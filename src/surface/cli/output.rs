//! Where subcommands print: text and tables for people, JSON for programs.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use crate::base::text::printable;

/// The process's standard output and error, with what is known about them.
pub struct Output {
    terminal: bool,
    colour: bool,
}

impl Output {
    /// Colour only on a terminal and without `NO_COLOR` (<https://no-color.org>).
    pub fn from_process() -> Self {
        let terminal = io::stdout().is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Output { terminal, colour: terminal && !no_colour }
    }

    /// Whether tables may be drawn.
    pub fn terminal(&self) -> bool {
        self.terminal
    }

    /// Whether colour may be used.
    pub fn colour(&self) -> bool {
        self.colour
    }

    /// Prints `text` as it is. The caller has made it printable ([`crate::base::text`]).
    ///
    /// # Errors
    /// When standard output can't be written.
    pub fn text(&mut self, text: &str) -> anyhow::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Standard output itself, for what is written line by line.
    pub fn stream(&mut self) -> io::StdoutLock<'static> {
        io::stdout().lock()
    }

    /// Prints one line, without control characters: names of files and folders may have them.
    ///
    /// # Errors
    /// As [`Output::text`].
    pub fn line(&mut self, line: &str) -> anyhow::Result<()> {
        self.text(&format!("{}\n", printable(line)))
    }

    /// Prints `value` as one JSON document, indented on a terminal.
    ///
    /// # Errors
    /// As [`Output::text`].
    pub fn json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let json = if self.terminal { serde_json::to_string_pretty(value)? } else { serde_json::to_string(value)? };
        self.text(&format!("{json}\n"))
    }

    /// Draws `rows` under `header`: a table on a terminal, else tab-separated lines without the header.
    ///
    /// # Errors
    /// As [`Output::text`].
    pub fn table(&mut self, header: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
        if !self.terminal {
            let lines: String = rows.iter().map(|row| format!("{}\n", row.join("\t"))).collect();
            return self.text(&lines);
        }
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::NOTHING).set_header(header);
        for row in rows {
            table.add_row(row);
        }
        self.line(&table.to_string())
    }

    /// Prints to standard error what is not part of the answer, without control characters.
    pub fn note(&mut self, text: &str) {
        self.note_as_is(&printable(text));
    }

    /// As [`Output::note`], for a text of our own that may be coloured. A closed standard error is nobody's problem.
    pub fn note_as_is(&mut self, text: &str) {
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

    /// Prints an error with its causes, `verify-run: message: cause`.
    pub fn error(&mut self, error: &anyhow::Error) {
        self.note(&format!("verify-run: {error:#}"));
    }
}
