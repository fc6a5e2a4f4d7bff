//! Where subcommands print: text and tables for people, JSON for programs.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::base::refusal::NextStep;
use crate::base::text::{one_line, printable, visible_json};
use crate::run;
use crate::surface::failure::{FailureReport, hint_line};

/// What columns are cut to, one after the other until the table fits: texts first, then times, then all but the first
/// column, which is typed again.
const COLUMN_WIDTHS: [usize; 3] = [20, 12, 6];
/// Space around the text of a column.
const PADDING: usize = 2;

/// The process's standard output and error, with what is known about them.
pub struct Output {
    terminal: bool,
    colour: bool,
    /// What fits on one line of the terminal.
    columns: Option<usize>,
}

impl Output {
    /// Colour only on a terminal and without `NO_COLOR` (<https://no-color.org>).
    pub fn from_process() -> Self {
        let terminal = io::stdout().is_terminal();
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let columns = if terminal { run::columns() } else { None };
        Output { terminal, colour: terminal && !no_colour, columns }
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

    /// Prints `value` as one JSON document, indented on a terminal; characters that no screen shows as escapes.
    ///
    /// # Errors
    /// As [`Output::text`].
    pub fn json(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        let json = if self.terminal { serde_json::to_string_pretty(value)? } else { serde_json::to_string(value)? };
        self.text(&format!("{}\n", visible_json(json)))
    }

    /// Draws `rows` under `header`: on a terminal a table that fits its width, else tab-separated lines without the header.
    ///
    /// # Errors
    /// As [`Output::text`].
    pub fn table(&mut self, header: &[&str], rows: &[Vec<String>]) -> anyhow::Result<()> {
        if !self.terminal {
            let lines: String = rows.iter().map(|row| format!("{}\n", row.join("\t"))).collect();
            return self.text(&lines);
        }
        let mut rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|cell| one_line(cell)).collect()).collect();
        if let Some(columns) = self.columns {
            fit(header, &mut rows, columns);
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

    /// Prints an error with its causes and what helps: `verify-run: message: cause`, then the hint.
    pub(super) fn failure(&mut self, report: &FailureReport) {
        self.note(&format!("verify-run: {}", report.to_text()));
    }

    /// Prints what the user can do next.
    pub(super) fn hint(&mut self, next: &NextStep) {
        self.note(&hint_line(next));
    }
}

/// Cuts what stands in the widest columns until a line has at most `columns`.
fn fit(header: &[&str], rows: &mut [Vec<String>], columns: usize) {
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column)).map(|cell| cell.width());
    let mut widths: Vec<usize> = header
        .iter()
        .enumerate()
        .map(|(column, title)| cells(column).chain([title.width()]).max().unwrap_or(0))
        .collect();
    let mut excess = (widths.iter().sum::<usize>() + PADDING * widths.len()).saturating_sub(columns);
    for least in COLUMN_WIDTHS {
        let own = usize::from(Some(&least) == COLUMN_WIDTHS.last());
        while let Some(widest) = widths.iter_mut().skip(own).max().filter(|width| excess > 0 && **width > least) {
            *widest -= 1;
            excess -= 1;
        }
    }
    for row in rows {
        row.iter_mut().zip(&widths).for_each(|(cell, &width)| *cell = cut(cell, width));
    }
}

/// `text` in at most `width` columns, with an ellipsis where something is left out.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let fits = |c: &char| {
        let needed = c.width().unwrap_or(0);
        let fits = needed <= room;
        room = room.saturating_sub(needed);
        fits
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_columns_are_cut_until_a_line_fits() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let mut rows = vec![
            row(["f-01234567", "cargo test", &"long words ".repeat(20)]),
            row(["f-1", "日本語の文章です日本語の文章です", "ok"]),
        ];
        fit(&["id", "command", "what"], &mut rows, 60);
        for row in &rows {
            assert!(row.iter().map(|cell| cell.width() + PADDING).sum::<usize>() <= 60, "{row:?}");
        }
        assert_eq!((rows[0][0].as_str(), rows[0][1].as_str(), rows[1][2].as_str()), ("f-01234567", "cargo test", "ok"));
        assert!(rows[0][2].starts_with("long words") && rows[0][2].ends_with('…'), "{rows:?}");
        let wide = rows.clone();
        fit(&["id", "command", "what"], &mut rows, 200);
        assert_eq!(rows, wide, "what fits stays");
        fit(&["id", "command", "what"], &mut rows, 10);
        assert_eq!(rows[0][0], "f-01234567", "too narrow for any table");
    }
}
