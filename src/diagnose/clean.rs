//! Terminal output to plain text: what a person would see on an endless screen.
//!
//! Colours, hyperlink targets and titles go, carriage returns and cursor movement overwrite as on a terminal, tabs stay.
//! Nothing is ever scrolled away: "clear screen" starts a new line instead of erasing what was there.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use vte::{Params, Parser, Perform};

use crate::base::limits::{ERASED_LINES_MAX, SCREEN_COLUMNS_MAX, STRING_SEQUENCE_BYTES_MAX};
use crate::base::text;

use super::generic::{self, FailureStrength};
use super::padded;

/// The text of `output`, lines ended by `\n`; invalid UTF-8 becomes U+FFFD. What is plain text already is not copied.
pub fn clean_output(output: &[u8]) -> Cow<'_, str> {
    match decode_utf16(output) {
        Some(text) => Cow::Owned(clean_utf8(text.as_bytes()).into_owned()),
        None => clean_utf8(output.strip_prefix(b"\xef\xbb\xbf").unwrap_or(output)),
    }
}

/// MSBuild logs and PowerShell redirects are UTF-16 with a byte order mark.
fn decode_utf16(output: &[u8]) -> Option<String> {
    let (bytes, little) = match output {
        [0xff, 0xfe, rest @ ..] => (rest, true),
        [0xfe, 0xff, rest @ ..] => (rest, false),
        _ => return None,
    };
    let unit = |pair: &[u8]| {
        let pair = [pair[0], pair[1]];
        if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
    };
    let units: Vec<u16> = bytes.chunks_exact(2).map(unit).collect();
    Some(String::from_utf16_lossy(&units))
}

fn clean_utf8(output: &[u8]) -> Cow<'_, str> {
    let text = without_remnants(plain_output(output).unwrap_or_else(|| Cow::Owned(on_screen(output))));
    // With them goes a byte order mark behind what wasn't text.
    text::visible(text)
}

/// The text of an output without terminal control.
fn plain_output(output: &[u8]) -> Option<Cow<'_, str>> {
    // Without a branch for each byte, so that many are looked at in one step.
    let is_special = |&byte: &u8| is_control(byte) & (byte != b'\n') & (byte != b'\r');
    if output.chunks(1024).any(|chunk| chunk.iter().fold(false, |any, byte| any | is_special(byte))) {
        return None;
    }
    let mut returns = memchr::memchr_iter(b'\r', output).peekable();
    let windows = returns.peek().is_some();
    if returns.any(|at| output.get(at + 1) != Some(&b'\n')) {
        return None;
    }
    // Nearly every output is valid, which is seen several bytes at a time.
    let text = str::from_utf8(output).map_or_else(|_| String::from_utf8_lossy(output), Cow::Borrowed);
    let mut text = if windows { Cow::Owned(text.replace("\r\n", "\n")) } else { text };
    if !text.is_empty() && !text.ends_with('\n') {
        text.to_mut().push('\n');
    }
    Some(text)
}

/// What a terminal shows of an output.
fn on_screen(output: &[u8]) -> String {
    let mut screen = TerminalScreen { width: padded::padded_width(output), ..TerminalScreen::default() };
    let mut parser: Parser = Parser::new();
    let mut open = None;
    let mut open_bytes = 0;
    for line in output.split_inclusive(|&byte| byte == b'\n') {
        let body = line.strip_suffix(b"\n").unwrap_or(line);
        let body = body.strip_suffix(b"\r").unwrap_or(body);
        // A line without control bytes on a fresh row needs no parser; almost every line is one.
        if open.is_none() && screen.is_fresh() && !body.iter().any(|&byte| is_control(byte)) {
            screen.push_plain(body, line.ends_with(b"\n"));
            continue;
        }
        if open.is_none()
            && screen.is_fresh()
            && let Some(text) = without_colours(body)
        {
            screen.push_plain(&text, line.ends_with(b"\n"));
            continue;
        }
        let line = seven_bit(line);
        parser.advance(&mut screen, &line);
        open = open_string(open, &line);
        open_bytes = if open.is_some() { open_bytes + line.len() } else { 0 };
        if open_bytes > STRING_SEQUENCE_BYTES_MAX {
            open = None;
        }
        // Every other sequence ends with its line.
        if open.is_none() {
            parser.advance(&mut screen, &[CANCEL]);
        }
    }
    screen.into_text()
}

fn is_control(byte: u8) -> bool {
    ((byte < 0x20) & (byte != b'\t')) | (byte == 0x7f) | (byte == 0xc2)
}

/// Ends whatever sequence is open.
const CANCEL: u8 = 0x18;

/// Which string sequence (a title, a link, an image) goes on behind `line`, by the byte behind its ESC; `open` is the
/// one that went on before it.
fn open_string(open: Option<u8>, line: &[u8]) -> Option<u8> {
    let (kind, text) = match memchr::memrchr(0x1b, line) {
        Some(at) => (*line.get(at + 1)?, &line[at..]),
        None => (open?, line),
    };
    let ended = memchr::memchr2(CANCEL, 0x1a, text).is_some() || kind == b']' && memchr::memchr(0x07, text).is_some();
    (matches!(kind, b']' | b'P' | b'^' | b'_' | b'X') && !ended).then_some(kind)
}

/// A line that has colours and nothing else of a terminal, without them; an erased rest of the line at its end counts
/// as one.
fn without_colours(line: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = next_escape(rest) {
        push_piece(&mut text, &rest[..at]);
        let parameters = rest[at..].strip_prefix(b"\x1b[")?;
        let end = parameters.iter().position(|byte| !matches!(byte, b'0'..=b'9' | b';' | b':'))?;
        rest = &parameters[end + 1..];
        if parameters[end] != b'm' && !(rest.is_empty() && matches!(&parameters[..=end], b"K" | b"0K")) {
            return None;
        }
    }
    push_piece(&mut text, rest);
    (!text.iter().any(|&byte| is_control(byte))).then_some(text)
}

/// Where the next escape is.
fn next_escape(text: &[u8]) -> Option<usize> {
    let near = text.len().min(NEAR_BYTES);
    let found = text[..near].iter().position(|&byte| byte == 0x1b);
    found.or_else(|| memchr::memchr(0x1b, &text[near..]).map(|at| near + at))
}

fn push_piece(text: &mut Vec<u8>, piece: &[u8]) {
    if piece.len() > NEAR_BYTES {
        text.extend(piece);
    } else {
        for &byte in piece {
            text.push(byte);
        }
    }
}

/// A call that searches or copies costs more than the few bytes between two colours (half of the time for a line that is
/// all colours, with musl).
const NEAR_BYTES: usize = 16;

/// A line with the 8-bit control characters (U+0080 to U+009F) as the escape sequences that they abbreviate.
fn seven_bit(line: &[u8]) -> Cow<'_, [u8]> {
    let is_short = |pair: &[u8]| pair[0] == 0xc2 && (0x80..0xa0).contains(&pair[1]);
    if memchr::memchr(0xc2, line).is_none() || !line.windows(2).any(is_short) {
        return Cow::Borrowed(line);
    }
    let mut long = Vec::with_capacity(line.len());
    let mut rest = line;
    while let [first, behind @ ..] = rest {
        rest = match behind {
            [second, behind @ ..] if is_short(&[*first, *second]) => {
                long.extend([0x1b, second - 0x40]);
                behind
            }
            _ => {
                long.push(*first);
                behind
            }
        };
    }
    Cow::Owned(long)
}

/// `text` without the colours that something took only the escape characters of (`[31merror[0m`): in lines where one
/// of them ends.
fn without_remnants(text: Cow<'_, str>) -> Cow<'_, str> {
    static ENDS: LazyLock<AhoCorasick> =
        LazyLock::new(|| AhoCorasick::new(["[0m", "[39m", "[22m", "[24m"]).expect("constant literals"));
    if !ENDS.is_match(&*text) {
        return text;
    }
    let mut kept = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        // Source code that writes such a sequence is left alone.
        if !ENDS.is_match(line)
            || ["\\033[", "\\x1b[", "\\x1B[", "\\e[", "\\u001b[", "^["].iter().any(|code| line.contains(code))
        {
            kept.push_str(line);
            continue;
        }
        for c in line.chars() {
            if c == 'm'
                && let before = kept.trim_end_matches(|c: char| c.is_ascii_digit() || c == ';')
                && before.ends_with('[')
            {
                kept.truncate(before.len() - 1);
            } else {
                kept.push(c);
            }
        }
    }
    Cow::Owned(kept)
}

/// Rows of text and a cursor. The row under the cursor is held as characters, all others as strings.
#[derive(Default)]
struct TerminalScreen {
    rows: Vec<String>,
    row: usize,
    cells: Vec<char>,
    col: usize,
    saved: HashSet<String>,
    /// Of the terminal, where rows are painted that it wraps.
    width: Option<usize>,
}

impl TerminalScreen {
    fn is_fresh(&self) -> bool {
        self.col == 0 && self.cells.is_empty() && self.row == self.rows.len()
    }

    fn push_plain(&mut self, body: &[u8], ended: bool) {
        let text = String::from_utf8_lossy(body);
        if ended {
            self.rows.push(text.into_owned());
            self.row += 1;
        } else {
            self.cells.extend(text.chars());
            self.col = self.cells.len();
        }
    }

    /// Stores the row under the cursor and takes up row `to`, which exists or is the one after the last.
    fn move_to_row(&mut self, to: usize) {
        let text: String = self.cells.iter().collect();
        if self.row < self.rows.len() {
            self.rows[self.row] = text;
        } else if to > self.row || !text.is_empty() {
            self.rows.push(text);
        }
        self.row = to.min(self.rows.len());
        self.cells.clear();
        if let Some(text) = self.rows.get(self.row) {
            self.cells.extend(text.chars());
        }
    }

    fn line_feed(&mut self) {
        self.move_to_row(self.row + 1);
        self.col = 0;
    }

    fn put_character(&mut self, c: char) {
        // What is not padded was not painted for the width, and stays one line.
        if Some(self.col) == self.width && self.cells.get(self.col - 1) == Some(&' ') {
            self.line_feed();
        }
        if self.col > self.cells.len() {
            self.cells.resize(self.col, ' ');
        }
        match self.cells.get_mut(self.col) {
            Some(cell) => *cell = c,
            None => self.cells.push(c),
        }
        self.col += 1;
    }

    fn erase_in_line(&mut self, mode: u16) {
        match mode {
            0 => self.cells.truncate(self.col),
            1 => {
                let until = (self.col + 1).min(self.cells.len());
                self.cells[..until].fill(' ');
            }
            _ => {
                self.save_before_erasing();
                self.cells.clear();
            }
        }
    }

    fn erase_below(&mut self) {
        if self.col == 0 {
            self.save_before_erasing();
        }
        self.cells.truncate(self.col);
        let below = self.rows.split_off((self.row + 1).min(self.rows.len()));
        for row in below {
            if self.is_worth_saving(&row) {
                self.rows.insert(self.row.min(self.rows.len()), row);
                self.row += 1;
            }
        }
    }

    /// Repainting screens erase what they printed. A finished line that says that something failed is kept once.
    fn save_before_erasing(&mut self) {
        let text: String = self.cells.iter().collect();
        if self.row < self.rows.len() && self.is_worth_saving(&text) {
            self.rows.insert(self.row, text);
            self.row += 1;
        }
    }

    fn is_worth_saving(&mut self, row: &str) -> bool {
        generic::line_strength(row) == Some(FailureStrength::Strong)
            && self.saved.len() < ERASED_LINES_MAX
            && self.saved.insert(row.to_owned())
    }

    /// A jump to a place that is unknown here (absolute positions, clear screen): what follows is a new line.
    fn jump_to_column(&mut self) {
        if !self.cells.is_empty() || self.row < self.rows.len() {
            let last = self.rows.len().max(self.row + 1);
            self.move_to_row(last);
        }
        self.col = 0;
    }

    fn into_text(mut self) -> String {
        if !self.cells.is_empty() || self.row < self.rows.len() {
            self.move_to_row(self.row + 1);
        }
        let mut text = String::with_capacity(self.rows.iter().map(|row| row.len() + 1).sum());
        for row in &self.rows {
            text.push_str(if self.width.is_some() { row.trim_end() } else { row });
            text.push('\n');
        }
        text
    }
}

impl Perform for TerminalScreen {
    fn print(&mut self, c: char) {
        if !c.is_control() {
            self.put_character(c);
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' | 0x0b | 0x0c => self.line_feed(),
            b'\r' => self.col = 0,
            0x08 => self.col = self.col.saturating_sub(1),
            b'\t' => self.put_character('\t'),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _ignore: bool, action: char) {
        if !intermediates.is_empty() {
            return;
        }
        let first = params.iter().next().and_then(|param| param.first().copied()).unwrap_or(0);
        let count = usize::from(first.max(1));
        match action {
            'A' | 'F' => self.move_to_row(self.row.saturating_sub(count)),
            'B' | 'E' => self.move_to_row((self.row + count).min(self.rows.len())),
            'C' => self.col = (self.col + count).min(SCREEN_COLUMNS_MAX.max(self.col)),
            'D' => self.col = self.col.saturating_sub(count),
            'G' | '`' => self.col = (count - 1).min(SCREEN_COLUMNS_MAX),
            'H' | 'f' => self.jump_to_column(),
            'J' if first == 0 => self.erase_below(),
            'J' if first >= 2 => self.jump_to_column(),
            'K' => self.erase_in_line(first),
            'P' => {
                let until = (self.col + count).min(self.cells.len());
                if self.col < until {
                    self.cells.drain(self.col..until);
                }
            }
            'X' => {
                let until = (self.col + count).min(self.cells.len());
                if self.col < until {
                    self.cells[self.col..until].fill(' ');
                }
            }
            _ => {}
        }
        if matches!(action, 'E' | 'F') {
            self.col = 0;
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _ignore: bool, byte: u8) {
        match byte {
            b'E' if intermediates.is_empty() => self.line_feed(),
            b'M' if intermediates.is_empty() => self.move_to_row(self.row.saturating_sub(1)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(output: &str) -> String {
        clean_output(output.as_bytes()).into_owned()
    }

    #[test]
    fn colours_titles_and_link_targets_go_and_the_text_stays() {
        assert_eq!(cleaned("\x1b[1m\x1b[31merror\x1b[0m: x\n"), "error: x\n");
        assert_eq!(cleaned("\x1b]0;title\x07a\x1b]8;;file:///a(b)\x1b\\src/a.js\x1b]8;;\x1b\\:1\n"), "asrc/a.js:1\n");
        assert_eq!(cleaned("\x1b[4ma.c\x1b[24m:3\tend\n"), "a.c:3\tend\n");
    }

    #[test]
    fn returns_and_backspaces_overwrite_as_on_a_terminal() {
        assert_eq!(cleaned("10 %\r50 %\rdone\nnext\r\n"), "done\nnext\n");
        assert_eq!(cleaned("long text\rshort\x1b[K\n"), "short\n");
        assert_eq!(cleaned("ab\x08c\n"), "ac\n");
        assert_eq!(cleaned("abc\x1b[2Dx\n"), "axc\n");
    }

    /// The bars of a test runner: rows are padded to the width, and the terminal wraps them.
    #[test]
    fn rows_that_are_painted_for_a_width_are_lines() {
        let row = |text: &str| format!("{text:40}");
        let bars = |done: usize| {
            format!("{}{}\x1b[1A\r\x1b[2K\x1b[1B\r\x1b[2K\x1b[1A", row(&format!("{done}/2")), row("running"))
        };
        let output = format!("start\n{}{}{}{}", bars(0), row("        FAIL a"), bars(1), "done\n");
        assert_eq!(cleaned(&output), "start\n        FAIL a\ndone\n\n");
    }

    #[test]
    fn the_cursor_goes_back_to_earlier_lines() {
        assert_eq!(cleaned("one\ntwo\n\x1b[2A\x1b[2KONE\x1b[2B\rthree\n"), "ONE\ntwo\nthree\n");
        assert_eq!(cleaned("one\n\x1b[9A1\n"), "1ne\n");
        assert_eq!(cleaned("spin\x1b[1G\x1b[0Jok\n"), "ok\n");
    }

    #[test]
    fn a_cleared_screen_loses_nothing() {
        assert_eq!(cleaned("first\n\x1b[2J\x1b[Hsecond\n"), "first\nsecond\n");
        assert_eq!(cleaned("first\x1b[2J\x1b[3J\x1b[Hsecond\n"), "first\nsecond\n");
    }

    #[test]
    fn an_erased_line_stays_if_it_says_that_something_failed() {
        assert_eq!(
            cleaned("src/a.ts:1:2: error: bad\n\x1b[1A\x1b[2K\x1b[1Bend\n"),
            "src/a.ts:1:2: error: bad\n\nend\n"
        );
        let repainted = "working\nerror: bad\n\x1b[2A\x1b[0J".repeat(3) + "end\n";
        assert_eq!(cleaned(&repainted), "error: bad\nend\n");
    }

    #[test]
    fn encodings() {
        assert_eq!(clean_output(b"\xff\xfea\0b\0\r\0\n\0"), "ab\n");
        assert_eq!(clean_output(b"\xef\xbb\xbfa\xffb\nno end"), "a\u{fffd}b\nno end\n");
        assert_eq!(clean_output(b"\x01\xef\xbb\xbfa\n"), "a\n");
        assert_eq!(clean_output("größe ✖\n".as_bytes()), "größe ✖\n");
        assert_eq!(clean_output(b""), "");
    }

    #[test]
    fn a_far_column_is_no_memory_bomb() {
        let text = cleaned("\x1b[65535Cx\x1b[65535Cy\n");
        assert!(text.len() < 3 * SCREEN_COLUMNS_MAX);
    }

    #[test]
    fn a_sequence_without_an_end_hides_no_more_than_itself() {
        assert_eq!(cleaned("a\x1b[3\nb\x1b\nc\x1b(\nd\n"), "a\nb\nc\nd\n");
        let hidden = "x\n".repeat(STRING_SEQUENCE_BYTES_MAX);
        for start in ["\x1b]0;", "\x1bP", "\x1b_", "\u{9d}"] {
            let text = cleaned(&format!("{start}title\n{hidden}error: seen\nnext\n"));
            assert!(text.ends_with("error: seen\nnext\n"), "{start:?}");
        }
        assert_eq!(cleaned("\x1bPimage\x07\nmore\x1b\\a\nb\n"), "a\nb\n");
    }

    #[test]
    fn eight_bit_sequences_are_those_that_they_abbreviate() {
        assert_eq!(cleaned("\u{9b}31merror\u{9b}0m: \u{9d}0;title\u{9c}x\n"), "error: x\n");
        assert_eq!(cleaned("caf\u{e9} \u{a0}\u{bb}x\n"), "caf\u{e9} \u{a0}\u{bb}x\n");
    }

    #[test]
    fn colours_without_their_escape_character_go_too() {
        assert_eq!(cleaned("[31;1merror[0m: [4ma.c[24m\n"), "error: a.c\n");
        assert_eq!(cleaned("a[0[0mm\n"), "a\n");
        for text in ["waited [5m] for [1m\n", "printf(\"\\033[31mred\\033[0m\")\n", "a[m]\n"] {
            assert_eq!(cleaned(text), text);
        }
    }

    #[test]
    fn what_no_screen_shows_is_taken_out() {
        let hidden: String = "do it".chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect();
        assert_eq!(cleaned(&format!("err{hidden}or: \u{202e}a\u{200b}.c\n")), "error: a.c\n");
        assert_eq!(cleaned(&format!("\x1b[31merr{hidden}or\x1b[0m\n")), "error\n");
    }

    #[test]
    fn a_title_over_two_lines_ends_where_it_ends() {
        assert_eq!(cleaned("a\x1b]0;title\nmore\nmore\x07b\n"), "ab\n");
    }
}
