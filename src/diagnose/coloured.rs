//! The kept text of an output with the colours that its lines had.
//!
//! Secrets are searched for in plain text, so colours are put back afterwards, line by line, and only where the line is
//! still what the tool printed. What a terminal would have overwritten has no such line and stays plain.

use memchr::memchr;

const ESCAPE: u8 = 0x1b;
/// Printed lines that are compared with a kept one before it is taken as changed.
const LINES_AHEAD_MAX: usize = 50;
const RESET: &str = "\x1b[0m";

/// `kept`, the redacted text of `output`, with the colours (SGR sequences, ECMA-48 8.3.117) of every line of it that
/// `output` has as it is.
pub fn with_colours(kept: String, output: &[u8]) -> String {
    if memchr(ESCAPE, output).is_none() {
        return kept;
    }
    let printed: Vec<Option<ColouredLine>> =
        output.split(|&byte| byte == b'\n').map(ColouredLine::from_bytes).collect();
    let mut next = 0;
    let mut coloured = String::with_capacity(kept.len() + kept.len() / 4);
    for line in kept.split_inclusive('\n') {
        let text = line.strip_suffix('\n').unwrap_or(line);
        let ahead = printed.iter().enumerate().skip(next).take(LINES_AHEAD_MAX);
        let found = ahead.filter_map(|(at, line)| line.as_ref().map(|line| (at, line)));
        match found.into_iter().find(|(_, line)| line.text == text) {
            Some((at, line)) => {
                coloured.push_str(&line.coloured);
                next = at + 1;
            }
            None => coloured.push_str(text),
        }
        coloured.push_str(&line[text.len()..]);
    }
    coloured
}

/// `text` without colours.
pub fn without_colours(text: &str) -> String {
    text.split('\n')
        .map(|line| {
            ColouredLine::from_bytes(line.as_bytes())
                .map_or_else(|| crate::base::text::printable(line), |line| line.text)
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// A printed line that has no control sequences but colours.
struct ColouredLine {
    text: String,
    coloured: String,
}

impl ColouredLine {
    /// `None` where the cursor was moved, or anything else was sent to the terminal.
    fn from_bytes(bytes: &[u8]) -> Option<ColouredLine> {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let (mut text, mut coloured) = (Vec::new(), Vec::new());
        let mut rest = bytes;
        while let Some(at) = memchr(ESCAPE, rest) {
            text.extend_from_slice(&rest[..at]);
            coloured.extend_from_slice(&rest[..at]);
            let sequence = rest[at..].strip_prefix(b"\x1b[")?;
            let end = sequence.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':'))?;
            match sequence[end] {
                b'm' => coloured.extend_from_slice(&rest[at..at + 2 + end + 1]),
                // Erases what follows in the line: nothing does yet.
                b'K' => {}
                _ => return None,
            }
            rest = &sequence[end + 1..];
        }
        text.extend_from_slice(rest);
        coloured.extend_from_slice(rest);
        let has_colours = coloured.len() > text.len();
        let text = String::from_utf8(text).ok()?;
        if text.chars().any(|char| char.is_control() && char != '\t') {
            return None;
        }
        let mut coloured = String::from_utf8(coloured).ok()?;
        if has_colours && !coloured.ends_with(RESET) {
            coloured.push_str(RESET);
        }
        Some(ColouredLine { text, coloured })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_as_they_were_printed_keep_their_colours() {
        let output = b"\x1b[31mFAIL\x1b[39m a.test.ts\r\nplain\n\x1b[1mbold\x1b[22m\x1b[K\n";
        let kept = with_colours("FAIL a.test.ts\nplain\nbold\n".to_owned(), output);
        assert_eq!(kept, "\x1b[31mFAIL\x1b[39m a.test.ts\x1b[0m\nplain\n\x1b[1mbold\x1b[22m\x1b[0m\n");
        assert_eq!(without_colours(&kept), "FAIL a.test.ts\nplain\nbold\n");
    }

    #[test]
    fn a_redacted_line_and_what_was_overwritten_stay_plain() {
        let output = b"\x1b[31mtoken=hunter2hunter2\x1b[0m\n50 %\r100 %\n\x1b[2Aup\n\x1b[32mok\x1b[0m\n";
        let kept = with_colours("token=[redacted:token]\n100 %\nup\nok\n".to_owned(), output);
        assert_eq!(kept, "token=[redacted:token]\n100 %\nup\n\x1b[32mok\x1b[0m\n");
    }

    #[test]
    fn nothing_but_colours_is_ever_kept() {
        let output = b"\x1b]0;title\x07a\n\x1b[5;5Hb\n\x1b[31;1mc\n\x1bcd\n";
        let kept = with_colours("a\nb\nc\nd\n".to_owned(), output);
        assert_eq!(kept, "a\nb\n\x1b[31;1mc\x1b[0m\nd\n");
    }
}
