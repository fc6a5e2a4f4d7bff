//! Text of tools and people in Markdown: in a code span or a fence, so that it can't be anything but text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::text::{ellipsis, one_line, printable};

/// A line in a block, bytes.
const LINE_BYTES_MAX: usize = 400;

/// A code span that holds `text` whatever is in it: as many backticks as no run inside it has.
pub fn code(text: &str) -> String {
    let text = without_commands(one_line(text));
    let text = text.trim();
    if text.is_empty() {
        return "` `".to_owned();
    }
    let runs: BTreeSet<usize> = text.split(|c| c != '`').map(str::len).collect();
    let ticks = "`".repeat((1..).find(|n| !runs.contains(n)).unwrap_or(1));
    let gap = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{gap}{text}{gap}{ticks}")
}

/// A fenced block that `text` can't close: longer than any run of backticks in it.
pub fn fence(language: &str, text: &str, cut: bool) -> String {
    let mut lines: Vec<String> = text.lines().map(clean_line).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let lead = lines.iter().take_while(|line| line.is_empty()).count();
    let mut text = lines[lead..].join("\n");
    if cut {
        text.push_str("\n…");
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(3.max(longest + 1));
    format!("{ticks}{language}\n{text}\n{ticks}\n")
}

/// One line without control characters, tabs or trailing space (MD009, MD010), and not too long.
pub fn clean_line(line: &str) -> String {
    let line = without_commands(printable(line));
    let line = ellipsis(line.replace('\t', "    ").replace('\n', " ").trim_end(), LINE_BYTES_MAX);
    // Conflict markers quoted from a tool are not conflicts of the file that quotes them.
    if line.starts_with("<<<<<<<") { format!(" {line}") } else { line }
}

/// markdownlint takes its comments even inside a fence; a tool's output gives it no orders.
fn without_commands(text: String) -> String {
    if text.contains("<!--") && text.to_ascii_lowercase().contains("markdownlint") {
        return text.replace("<!--", "<! --");
    }
    text
}

/// Markdown's own characters with a backslash, angle brackets as they can't open a tag.
pub fn escaped(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '<' => found.push_str("&lt;"),
            '>' => found.push_str("&gt;"),
            '&' => found.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' => {
                let _ = write!(found, "\\{c}");
            }
            c => found.push(c),
        }
    }
    found
}

/// Angle brackets that could open or close a tag as ones that only look like them: in a code span there is no escape.
pub fn untagged(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut is_open = false;
    while let Some(c) = rest.next() {
        let opens = c == '<'
            && rest.peek().is_some_and(|next| next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?' | '|'));
        match c {
            '<' if opens => {
                is_open = true;
                found.push('‹');
            }
            '>' if is_open => {
                is_open = false;
                found.push('›');
            }
            c => found.push(c),
        }
    }
    found
}
