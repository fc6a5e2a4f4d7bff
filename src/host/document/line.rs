//! Lines of a text: their ends, what they are indented by.

/// A byte order mark, which stays where it is.
const MARK: char = '\u{feff}';

/// How lines of `text` end.
pub(super) fn end_of(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Where the line of `offset` starts.
pub(super) fn start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |at| at + 1)
}

/// Spaces and tabs that the line of `offset` starts with.
pub(super) fn indent(text: &str, offset: usize) -> &str {
    let line = &text[start(text, offset)..];
    let line = line.strip_prefix(MARK).unwrap_or(line);
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The byte order mark of `text`, and the rest.
pub(super) fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(MARK) { MARK.len_utf8() } else { 0 })
}

/// `text` with `chunk` (lines that end with `\n`) behind its last line, in the line ends that it has.
pub(super) fn append(text: &str, chunk: &str) -> String {
    let end = end_of(text);
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { end };
    let chunk = if end == "\n" { chunk.to_owned() } else { chunk.replace('\n', end) };
    format!("{text}{gap}{chunk}")
}
