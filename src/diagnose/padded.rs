//! How wide the terminal was that an output was painted on.
//!
//! Progress bars write whole rows, padded with blanks to the width, without a line feed between them: the terminal wraps
//! them, and the bars then move up by as many rows. Text that is as wide as several rows and moves up by as many tells the
//! width.

use memchr::memchr_iter;

/// The width, where what was painted tells it.
pub(super) fn padded_width(output: &[u8]) -> Option<usize> {
    // By the letter and not by the escapes, of which a painted output has many more.
    if memchr_iter(b'A', output).filter(|&at| moves_up(&output[..at])).take(TEXTS_MIN).count() < TEXTS_MIN {
        return None;
    }
    let mut found = PaintedTexts::default();
    let mut at = 0;
    while let Some(&byte) = output.get(at) {
        at += 1;
        match byte {
            0x1b if output.get(at) == Some(&b'[') => {
                let parameters = &output[at + 1..];
                let length = parameters.iter().position(|byte| (0x40..0x7f).contains(byte))?;
                found.apply_control(parameters[length], &parameters[..length]);
                at += length + 2;
            }
            b' '.. => found.print_byte(byte),
            _ => found.end_line(),
        }
    }
    found.painted_width()
}

/// Whether an `A` behind this text ends a sequence that moves the cursor up.
fn moves_up(before: &[u8]) -> bool {
    let digits = before.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    before[..before.len() - digits].ends_with(b"\x1b[")
}

/// The texts that rows were painted with.
#[derive(Default)]
struct PaintedTexts {
    /// Cells of the text so far, and how many blanks it ends with.
    cells: usize,
    blanks: usize,
    /// Texts that were followed by a move up, with the rows of the move.
    texts: Vec<(usize, usize)>,
}

impl PaintedTexts {
    fn print_byte(&mut self, byte: u8) {
        // A character's further bytes take no cell.
        self.cells += usize::from(byte & 0xc0 != 0x80);
        self.blanks = if byte == b' ' { self.blanks + 1 } else { 0 };
    }

    fn apply_control(&mut self, action: u8, parameters: &[u8]) {
        if action == b'm' {
            return;
        }
        let rows = std::str::from_utf8(parameters).ok().and_then(|rows| rows.parse().ok()).unwrap_or(1);
        if action == b'A' && self.blanks >= BLANKS_MIN && self.texts.len() < TEXTS_MAX {
            self.texts.push((self.cells, rows));
        }
        self.end_line();
    }

    fn end_line(&mut self) {
        (self.cells, self.blanks) = (0, 0);
    }

    fn painted_width(&self) -> Option<usize> {
        let width = self.texts.iter().fold(0, |width, (cells, _)| common_divisor(width, *cells));
        let fits = |(cells, rows): &(usize, usize)| cells / width > *rows;
        (self.texts.len() >= TEXTS_MIN && WIDTHS.contains(&width) && self.texts.iter().all(fits)).then_some(width)
    }
}

fn common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Blanks that a padded text ends with at least.
const BLANKS_MIN: usize = 2;
/// Texts that have to agree, and those that are looked at.
const TEXTS_MIN: usize = 2;
const TEXTS_MAX: usize = 1_000;
/// Widths that a terminal may have.
const WIDTHS: std::ops::RangeInclusive<usize> = 20..=1_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> String {
        format!("{text:40}")
    }

    #[test]
    fn padded_rows_and_moves_tell_the_width() {
        let bars = format!("\x1b[2K{}\x1b[32m{}\x1b[0m\x1b[1A\r", row("██ 1/5"), row("running a"));
        let more = format!("\x1b[2K{}{}{}\x1b[1A\r", row("PASS a"), row("██ 2/5"), row("running b"));
        assert_eq!(padded_width(format!("{bars}{more}").as_bytes()), Some(40));
    }

    #[test]
    fn other_outputs_tell_none() {
        assert_eq!(padded_width(b"one  \ntwo  \x1b[1A\x1b[2Kthree\n\x1b[1A\n"), None);
        assert_eq!(padded_width(format!("{}\n{}\n", row("a"), row("b")).as_bytes()), None);
        assert_eq!(padded_width(b"\x1b["), None);
    }
}
