//! A message that its tool broke at a width, so that it is one text and its code is found whatever the width was.

use crate::base::limits::MESSAGE_BYTES_MAX;
use crate::base::text::prefix;

use super::Engine;
use super::found::LineRole;
use super::line::line_head;

impl<'a> Engine<'a> {
    /// Takes a line as the rest of the open block's message, when it is: all lines up to the one that ends in the code
    /// begin at the margin, and none of them is a diagnostic of its own.
    pub(super) fn read_wrapped(&mut self, stream: &[(usize, usize)], at: usize, text: &'a str) -> bool {
        let Some(open) = &self.open else { return false };
        let (item, lines) = (open.item, open.lines);
        if lines > WRAPPED_LINES_MAX || self.outcome.items[item].code.is_some() {
            return false;
        }
        let line = |&(index, from): &(usize, usize)| line_head(self.lines[index].get(from..).unwrap_or(""));
        let mut rest = stream[at..].iter().take(WRAPPED_LINES_MAX).map(line).take_while(|line| goes_on(line));
        if !rest.any(|line| split_code(line).is_some()) {
            return false;
        }
        let (said, code) = split_code(text).map_or((text, None), |(said, code)| (said, Some(code)));
        let found = &mut self.outcome.items[item];
        let message = format!("{} {}", found.message, said.trim());
        found.message = prefix(self.texts.keep_text(message).trim_end(), MESSAGE_BYTES_MAX);
        found.code = code;
        self.keep_as(stream[at].0, LineRole::Told(item));
        true
    }
}

/// Whether a line may be the rest of a message.
fn goes_on(line: &str) -> bool {
    !line.is_empty()
        && !line.starts_with([' ', '\t'])
        && ![": error: ", ": note: "].iter().any(|mark| line.contains(mark))
}

/// `text  [code]` in its two parts.
fn split_code(line: &str) -> Option<(&str, &str)> {
    let (before, code) = line.trim_end().strip_suffix(']')?.rsplit_once('[')?;
    let is_code = !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    (is_code && (before.is_empty() || before.ends_with("  "))).then_some((before, code))
}

/// Lines that one message is broken into.
const WRAPPED_LINES_MAX: usize = 20;
