//! Lines and headings of Markdown, reStructuredText, AsciiDoc and plain text.

use std::borrow::Cow;

/// Lines of front matter; a longer block is text.
const FRONT_MATTER_LINES_MAX: usize = 500;
/// A heading, bytes; a longer line is text.
const HEADING_BYTES_MAX: usize = 1_000;

/// What a line of a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentLineKind {
    /// Text.
    Prose,
    /// A line of a fenced block, or its fence.
    Code,
    /// A comment or front matter, which no reader sees.
    Hidden,
}

/// A line of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentLine<'a> {
    /// From 1.
    pub number: u32,
    /// The line without comments.
    pub text: Cow<'a, str>,
    /// What it is.
    pub kind: DocumentLineKind,
}

impl DocumentLine<'_> {
    /// Whether a reader sees something in it.
    pub(crate) fn is_visible(&self) -> bool {
        self.kind != DocumentLineKind::Hidden && !self.text.trim().is_empty()
    }
}

/// A heading and the lines below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocumentHeading {
    /// The line of the title, from 1.
    pub line: u32,
    /// The first line below it.
    pub body_line: u32,
    /// From 1, for the outermost.
    pub level: u8,
    /// The title without its markup.
    pub title: String,
}

/// The front matter of a text (without its fences) and the number of its first line.
pub(crate) fn front_matter(text: &str) -> Option<(&str, u32)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let mut end = 0;
    for line in rest.split_inclusive('\n').take(FRONT_MATTER_LINES_MAX) {
        if matches!(line.trim_end(), "---" | "...") {
            return Some((&rest[..end], 2));
        }
        end += line.len();
    }
    None
}

/// The lines of a text, each with what it is.
pub(crate) fn document_lines(text: &str) -> Vec<DocumentLine<'_>> {
    let hidden = front_matter(text).map_or(0, |(matter, _)| matter.lines().count() + 2);
    let mut fence: Option<(char, usize)> = None;
    let mut is_comment = false;
    let mut found = Vec::new();
    for (number, line) in (1_u32..).zip(text.lines()) {
        let line = if number == 1 { line.strip_prefix('\u{feff}').unwrap_or(line) } else { line };
        let (kind, text) = if number as usize <= hidden {
            (DocumentLineKind::Hidden, Cow::Borrowed(line))
        } else if let Some((mark, length)) = fence {
            let rest = line.trim();
            if rest.chars().all(|c| c == mark) && rest.len() >= length {
                fence = None;
            }
            (DocumentLineKind::Code, Cow::Borrowed(line))
        } else if is_comment {
            match line.split_once("-->") {
                Some((_, rest)) => {
                    is_comment = false;
                    let kind = if rest.trim().is_empty() { DocumentLineKind::Hidden } else { DocumentLineKind::Prose };
                    (kind, Cow::Borrowed(rest))
                }
                None => (DocumentLineKind::Hidden, Cow::Borrowed(line)),
            }
        } else if let Some(opened) = opening_fence(line) {
            fence = Some(opened);
            (DocumentLineKind::Code, Cow::Borrowed(line))
        } else {
            let (text, opens) = without_comments(line);
            is_comment = opens;
            let is_hidden = text.trim().is_empty() && !line.trim().is_empty();
            (if is_hidden { DocumentLineKind::Hidden } else { DocumentLineKind::Prose }, text)
        };
        found.push(DocumentLine { number, text, kind });
    }
    found
}

fn opening_fence(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    (length >= 3 && !(mark == '`' && line[length..].contains('`'))).then_some((mark, length))
}

/// A line without its comments, and whether one stays open. A comment that ends in a later line has to begin the line.
fn without_comments(line: &str) -> (Cow<'_, str>, bool) {
    if !line.contains("<!--") {
        return (Cow::Borrowed(line), false);
    }
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("<!--") {
        text.push_str(before);
        match after.split_once("-->") {
            // In a code span it is text.
            Some((comment, after)) if !text.matches('`').count().is_multiple_of(2) => {
                text.push_str("<!--");
                text.push_str(comment);
                text.push_str("-->");
                rest = after;
            }
            Some((_, after)) => rest = after,
            None if text.trim().is_empty() => return (Cow::Owned(text), true),
            None => {
                text.push_str("<!--");
                text.push_str(after);
                return (Cow::Owned(text), false);
            }
        }
    }
    text.push_str(rest);
    (Cow::Owned(text), false)
}

/// The headings of a document: `# title`, `= title`, and titles underlined with `=`, `-`, `~`, `^` or `"`.
pub(crate) fn find_headings(lines: &[DocumentLine<'_>]) -> Vec<DocumentHeading> {
    let mut found: Vec<DocumentHeading> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if line.kind != DocumentLineKind::Prose || line.text.len() > HEADING_BYTES_MAX {
            continue;
        }
        if let Some((level, title)) = marked_heading(&line.text) {
            found.push(DocumentHeading { line: line.number, body_line: line.number + 1, level, title });
            continue;
        }
        let Some(above) = index.checked_sub(1).and_then(|above| lines.get(above)) else { continue };
        let is_title = above.kind == DocumentLineKind::Prose && above.text.len() <= HEADING_BYTES_MAX;
        if let Some(level) = underline_level(&line.text, &above.text).filter(|_| is_title) {
            let title = above.text.trim().to_owned();
            found.push(DocumentHeading { line: above.number, body_line: line.number + 1, level, title });
        }
    }
    found
}

fn marked_heading(line: &str) -> Option<(u8, String)> {
    let trimmed = line.trim_start_matches(' ');
    if line.len() - trimmed.len() > 3 {
        return None;
    }
    let mark = trimmed.chars().next().filter(|c| matches!(c, '#' | '='))?;
    let level = trimmed.chars().take_while(|c| *c == mark).count();
    let rest = &trimmed[level..];
    if level > 6 || !rest.starts_with([' ', '\t']) {
        return None;
    }
    let title = rest.trim();
    let bare = title.trim_end_matches(mark);
    let title = if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { title };
    Some((u8::try_from(level).unwrap_or(6), title.to_owned()))
}

fn underline_level(line: &str, above: &str) -> Option<u8> {
    let (line, title) = (line.trim_end(), above.trim());
    let mark = line.chars().next()?;
    let level = "=-~^\"".find(mark)? + 1;
    let length = line.chars().count();
    let is_short = if level <= 2 { length < 2 } else { length < 3 || length < title.chars().count() };
    if is_short || !line.chars().all(|c| c == mark) || title.is_empty() || above.starts_with([' ', '\t']) {
        return None;
    }
    let is_other = ["- ", "* ", "+ ", ">", "|", "#"].iter().any(|start| title.starts_with(start));
    let is_rule = title.chars().all(|c| !c.is_alphanumeric());
    (!is_other && !is_rule).then(|| u8::try_from(level).unwrap_or(5))
}

/// The line after the last one of a heading's section: sections below it belong to it.
pub(crate) fn section_end(headings: &[DocumentHeading], index: usize) -> u32 {
    let Some(heading) = headings.get(index) else { return u32::MAX };
    let next = headings[index + 1..].iter().find(|next| next.level <= heading.level);
    next.map_or(u32::MAX, |next| next.line)
}

/// Whether a heading has one of these words, whatever their case.
pub(crate) fn has_word(title: &str, words: &[&str]) -> bool {
    let title = title.to_lowercase();
    title.split(|c: char| !c.is_alphanumeric()).any(|word| words.contains(&word))
}
