//! Tables: columns as wide as their text, cut to the terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{StyledText, Tone};
use crate::base::text::one_line;

/// What the widest columns are cut to, one width after the other until the table fits.
const COLUMN_WIDTHS: [usize; 2] = [20, 12];
/// What columns are cut to at last, from the right to the left.
const WIDTH_MIN: usize = 6;
/// A first column up to this width is an id and is never cut.
const ID_WIDTH_MAX: usize = 16;
/// Space between columns.
const GAP: usize = 2;

/// One cell of a table.
#[derive(Debug, Clone)]
pub(in crate::surface::cli) struct TableCell {
    text: String,
    tone: Tone,
}

impl TableCell {
    /// A cell whose text means something.
    pub(in crate::surface::cli) fn new(tone: Tone, text: impl Into<String>) -> Self {
        TableCell { text: text.into(), tone }
    }
}

impl From<String> for TableCell {
    fn from(text: String) -> Self {
        TableCell { text, tone: Tone::Plain }
    }
}

impl From<&str> for TableCell {
    fn from(text: &str) -> Self {
        TableCell::from(text.to_owned())
    }
}

/// The lines of a table without its padding: cells separated by tabs.
pub(super) fn tab_separated(rows: &[Vec<TableCell>]) -> String {
    let line = |row: &Vec<TableCell>| row.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join("\t") + "\n";
    rows.iter().map(line).collect()
}

/// The lines of a table as spans. Columns without any text are left out; columns of numbers are aligned to the right.
pub(super) fn layout(header: &[&str], rows: &[Vec<TableCell>], columns: Option<usize>) -> Vec<Vec<StyledText>> {
    let used: Vec<usize> = (0..header.len())
        .filter(|&at| rows.iter().any(|row| row.get(at).is_some_and(|cell| !cell.text.is_empty())))
        .collect();
    let header: Vec<&str> = used.iter().map(|&at| header[at]).collect();
    let mut rows: Vec<Vec<TableCell>> = rows
        .iter()
        .map(|row| {
            let cell = |&at: &usize| {
                row.get(at).map_or_else(|| TableCell::from(""), |cell| TableCell::new(cell.tone, one_line(&cell.text)))
            };
            used.iter().map(cell).collect()
        })
        .collect();
    let is_number: Vec<bool> = (0..header.len()).map(|at| rows.iter().all(|row| is_number(&row[at].text))).collect();
    let widths = fit(&header, &mut rows, columns);
    let head =
        header.iter().zip(&widths).map(|(title, &width)| TableCell::new(Tone::Faint, cut(title, width))).collect();
    std::iter::once(head).chain(rows).map(|row: Vec<TableCell>| spans(row, &widths, &is_number)).collect()
}

fn is_number(text: &str) -> bool {
    text.is_empty() || text.strip_suffix(" %").unwrap_or(text).trim_start_matches(['+', '-']).parse::<f64>().is_ok()
}

fn spans(row: Vec<TableCell>, widths: &[usize], is_number: &[bool]) -> Vec<StyledText> {
    let mut spans = Vec::with_capacity(2 * row.len());
    let mut owed = 0;
    for (at, (cell, &width)) in row.into_iter().zip(widths).enumerate() {
        let room = width.saturating_sub(cell.text.width());
        let (before, after) = if is_number[at] { (room, 0) } else { (0, room) };
        let is_empty = cell.text.is_empty();
        if !is_empty {
            spans.push(StyledText::new(Tone::Plain, " ".repeat(owed + before)));
            spans.push(StyledText::new(cell.tone, cell.text));
            owed = 0;
        }
        owed += GAP + after + if is_empty { before } else { 0 };
    }
    spans
}

/// Cuts the widest columns until a line has at most `columns`; the widths of all.
fn fit(header: &[&str], rows: &mut [Vec<TableCell>], columns: Option<usize>) -> Vec<usize> {
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column)).map(|cell| cell.text.width());
    let mut widths: Vec<usize> = header
        .iter()
        .enumerate()
        .map(|(column, title)| cells(column).chain([title.width()]).max().unwrap_or(0))
        .collect();
    let Some(columns) = columns else { return widths };
    let whole = widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    let mut excess = whole.saturating_sub(columns);
    let own = usize::from(widths.first().is_some_and(|&first| first <= ID_WIDTH_MAX));
    for least in COLUMN_WIDTHS {
        while let Some(widest) = widths.iter_mut().skip(own).max().filter(|width| excess > 0 && **width > least) {
            *widest -= 1;
            excess -= 1;
        }
    }
    // What is left is short: times and counts are worth more than the rest of a text.
    for width in widths.iter_mut().skip(1).rev() {
        let taken = excess.min(width.saturating_sub(WIDTH_MIN));
        *width -= taken;
        excess -= taken;
    }
    for row in rows {
        row.iter_mut().zip(&widths).for_each(|(cell, &width)| cell.text = cut(&cell.text, width));
    }
    widths
}

/// `text` in at most `width` columns, with an ellipsis where something is left out.
pub(super) fn cut(text: &str, width: usize) -> String {
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

    fn rows(texts: &[[&str; 3]]) -> Vec<Vec<TableCell>> {
        texts.iter().map(|row| row.iter().copied().map(TableCell::from).collect()).collect()
    }

    fn lines(header: [&str; 3], texts: &[[&str; 3]], columns: usize) -> Vec<String> {
        let table = layout(&header, &rows(texts), Some(columns));
        table.iter().map(|line| line.iter().map(StyledText::text).collect()).collect()
    }

    #[test]
    fn the_widest_columns_are_cut_until_a_line_fits() {
        let words = "long words ".repeat(20);
        let texts = [["f-01234567", "cargo test", words.as_str()], ["f-1", "日本語の文章です日本語の文章です", "ok"]];
        let narrow = lines(["id", "command", "what"], &texts, 60);
        assert!(narrow.iter().all(|line| line.width() <= 60), "{narrow:?}");
        assert!(narrow[1].starts_with("f-01234567  cargo test") && narrow[1].ends_with('…'), "{narrow:?}");
        assert!(narrow[2].ends_with("  ok"), "{narrow:?}");
        let wide = lines(["id", "command", "what"], &texts, 300);
        assert!(wide[1].ends_with("long words ") && !wide.concat().contains('…'), "{wide:?}");
        let tiny = lines(["id", "command", "what"], &texts, 10);
        assert!(tiny[1].starts_with("f-01234567  "), "too narrow for any table: {tiny:?}");
    }

    #[test]
    fn numbers_are_aligned_and_empty_columns_are_left_out() {
        let table = lines(["id", "runs", "note"], &[["a", "9", ""], ["b", "120", ""]], 80);
        assert_eq!(table, ["id  runs", "a      9", "b    120"]);
        let table = lines(["id", "note", "what"], &[["a", "", "x"], ["b", "no", "y"]], 80);
        assert_eq!(table, ["id  note  what", "a         x", "b   no    y"]);
    }
}
