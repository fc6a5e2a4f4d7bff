//! Diagnostics in tables: a header line that names the columns, then one diagnostic a line (PMD's and coffeelint's CSV,
//! Polyspace's tab-separated export).

use super::{StructuredFinding, severity_of_word};
use crate::base::limits::{DOCUMENT_ENTRIES_MAX, LINE_MATCH_BYTES_MAX};

/// A column by what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableColumn {
    File,
    Line,
    Col,
    Severity,
    Code,
    Message,
    Other,
}

fn column_kind(name: &str) -> TableColumn {
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    match name.as_str() {
        "file" | "path" | "filename" | "filepath" | "sourcefile" => TableColumn::File,
        "line" | "linenumber" | "lineno" | "startline" | "row" => TableColumn::Line,
        "col" | "column" | "columnnumber" | "position" | "startcolumn" => TableColumn::Col,
        "severity" | "level" => TableColumn::Severity,
        "rule" | "ruleid" | "code" | "check" | "id" | "messagenumber" => TableColumn::Code,
        "message" | "description" | "text" => TableColumn::Message,
        _ => TableColumn::Other,
    }
}

/// The table at the start of `rest`, whose first line is `header`: its bytes and what it says. A table has a column for
/// the line and one for the file or the message.
pub(crate) fn read_table(rest: &str, header: &str, budget: &mut usize) -> Option<(usize, Vec<StructuredFinding>)> {
    // Almost every line stops here.
    let is_parted = || memchr::memchr3(b',', b'\t', b';', header.as_bytes()).is_some();
    if *budget == 0 || header.len() > LINE_MATCH_BYTES_MAX || !is_parted() {
        return None;
    }
    let separator =
        [b'\t', b';', b','].into_iter().find(|separator| header.bytes().filter(|b| b == separator).count() >= 2)?;
    let columns: Vec<TableColumn> = split_cells(header, separator)?.iter().map(|name| column_kind(name)).collect();
    let has = |wanted| columns.iter().filter(|column| **column == wanted).count() == 1;
    if !has(TableColumn::Line) || !(has(TableColumn::File) || columns.contains(&TableColumn::Message)) {
        return None;
    }
    let mut used = header.len();
    let mut entries = Vec::new();
    for row in rest.get(used..)?.split_inclusive('\n') {
        let cells = split_cells(row, separator).filter(|cells| cells.len() == columns.len());
        let Some(cells) = cells.filter(|_| entries.len() < DOCUMENT_ENTRIES_MAX) else { break };
        let cell = |wanted| {
            let at = columns.iter().position(|column| *column == wanted)?;
            Some(cells[at].trim()).filter(|cell| !cell.is_empty()).map(str::to_owned)
        };
        used += row.len();
        let line: Option<u32> = cell(TableColumn::Line).and_then(|line| line.parse().ok()).filter(|line| *line > 0);
        if line.is_some() {
            entries.push(StructuredFinding {
                test: None,
                file: cell(TableColumn::File).filter(|file| file != "stdin"),
                line,
                col: cell(TableColumn::Col).and_then(|col| col.parse().ok()),
                severity: cell(TableColumn::Severity).and_then(|word| severity_of_word(&word)),
                code: cell(TableColumn::Code),
                message: cell(TableColumn::Message).unwrap_or_default(),
            });
        }
    }
    (!entries.is_empty()).then_some((used, entries))
}

/// The cells of a row as RFC 4180 quotes them; `None` when a quoted one does not end in its line.
fn split_cells(row: &str, separator: u8) -> Option<Vec<String>> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut quoted = false;
    let mut chars = row.trim_end_matches(['\n', '\r']).chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if cell.is_empty() => quoted = true,
            c if c == char::from(separator) && !quoted => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    cells.push(cell);
    (!quoted).then_some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(Option<String>, Option<u32>, String)> {
        let header = text.split_inclusive('\n').next().expect("a line");
        let (_, entries) = read_table(text, header, &mut 10_000).unwrap_or_default();
        entries.into_iter().map(|entry| (entry.file, entry.line, entry.message)).collect()
    }

    #[test]
    fn named_columns_are_read() {
        // After PMD 7's documentation of its `csv` renderer.
        let pmd = "\"Problem\",\"Package\",\"File\",\"Priority\",\"Line\",\"Description\",\"Rule set\",\"Rule\"\n\"1\",\"p\",\"/p/A.java\",\"3\",\"8\",\"Avoid \"\"x\"\", please\",\"S\",\"R\"\n";
        assert_eq!(read(pmd), [(Some("/p/A.java".to_owned()), Some(8), "Avoid \"x\", please".to_owned())]);
        let tabs = "ID\tCheck\tFile\tSeverity\tLine\tCol\n1\tDead code\ta.c\tHigh\t30\t4\n\n";
        assert_eq!(read(tabs), [(Some("a.c".to_owned()), Some(30), String::new())]);
    }

    #[test]
    fn prose_with_commas_is_no_table() {
        assert_eq!(read("the line, the file, and so on\na,b,c\n"), []);
        assert_eq!(read("file,line,name\nno numbers,here,x\n"), []);
    }
}
