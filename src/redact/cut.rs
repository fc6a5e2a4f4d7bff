//! Copies of what was replaced: whole ones that are beside no name, and those of which a tool shows only a part
//! (`s3cr3tPassw0r...`, `ghp_a1B2c3D4...2m3N4o5P6q7R8`).

use std::borrow::Cow;
use std::collections::HashSet;

use aho_corasick::Span;
use aho_corasick::packed::Searcher;

use super::alphabet::{Alphabet, bits_per_byte, is_opaque};
use super::{MARKER, run_end};
use crate::base::literals::Literals;

/// Values whose copies are looked for in one text.
const VALUES_MAX: usize = 64;
/// A shorter value is also an ordinary word elsewhere.
const VALUE_BYTES_MIN: usize = 6;
/// A copy is looked for by the value's first bytes.
const SEED_BYTES: usize = 4;
/// More of a value is not compared.
const COMPARED_BYTES_MAX: usize = 1 << 10;

/// What represents the bytes that a tool has left out.
const MARKS: [&[u8]; 5] = [b"[...]", "[…]".as_bytes(), b"(...)", b"...", "…".as_bytes()];

/// The end of such a mark that starts there.
fn mark_end(text: &[u8], at: usize) -> Option<usize> {
    let mark = MARKS.iter().find(|mark| text[at..].starts_with(mark))?;
    Some(at + mark.len())
}

/// If a tool has cut a value there: the end of the mark, and of the rest of the value where its end is shown too.
pub(super) fn tail_end(text: &[u8], at: usize, body: Alphabet) -> Option<usize> {
    let mark = mark_end(text, at)?;
    let end = run_end(text, mark, COMPARED_BYTES_MAX, |b| body.has_byte(b) && b != b'.');
    let rest = &text[mark..end];
    let is_rest = rest.len() >= SEED_BYTES && rest.iter().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase());
    Some(if is_rest { end } else { mark })
}

/// The values that were replaced in a text.
#[derive(Debug, Default)]
pub(super) struct ReplacedValues {
    found: Vec<(String, &'static str)>,
    known: HashSet<String>,
}

impl ReplacedValues {
    /// Remembers a value that was replaced.
    pub(super) fn add_value(&mut self, value: &str, kind: &'static str) {
        let bytes = value.as_bytes();
        let has = |class: fn(&u8) -> bool| bytes.iter().any(class);
        // `hunter` may be anybody's word; a key of many lines is never shown twice.
        let is_word = bytes.iter().all(|b| b.is_ascii_lowercase()) || bytes.iter().all(|b| b.is_ascii_uppercase());
        let is_telling = (has(u8::is_ascii_digit) || has(u8::is_ascii_uppercase) || bytes.len() >= 12)
            && has(u8::is_ascii_alphabetic)
            && !is_word
            && bits_per_byte(bytes) >= 2.2;
        let fits = bytes.len() >= VALUE_BYTES_MIN && !has(|b| *b == b'\n') && !value.contains("[redacted:");
        if fits && is_telling && self.found.len() < VALUES_MAX && self.known.insert(value.to_owned()) {
            self.found.push((value.to_owned(), kind));
        }
    }

    /// `text` without the copies of the values, and how many there were.
    pub(super) fn replace_in<'a>(&self, text: &'a str) -> (Cow<'a, str>, usize) {
        if self.found.is_empty() {
            return (Cow::Borrowed(text), 0);
        }
        let copies = self.copies_in(text.as_bytes());
        if copies.is_empty() {
            return (Cow::Borrowed(text), 0);
        }
        let mut out = String::with_capacity(text.len());
        let mut copied = 0;
        for &(start, end, kind) in &copies {
            out.push_str(&text[copied..start]);
            out.push_str("[redacted:");
            out.push_str(kind);
            out.push(']');
            copied = end;
        }
        out.push_str(&text[copied..]);
        (Cow::Owned(out), copies.len())
    }

    /// Where copies are. Of those that overlap the first, and of those from one place the longest.
    fn copies_in(&self, text: &[u8]) -> Vec<(usize, usize, &'static str)> {
        let mut copies: Vec<(usize, usize, &'static str)> = Vec::new();
        let consider = |start: usize| {
            let is_covered = copies.last().is_some_and(|last| start < last.1);
            if is_covered || text[..start].ends_with(MARKER) {
                return;
            }
            let of =
                |(value, kind): &(String, &'static str)| Some((start, copy_end(text, start, value.as_bytes())?, *kind));
            copies.extend(self.found.iter().filter_map(of).max_by_key(|copy| copy.1));
        };
        find_all(text, self.found.iter().map(|(value, _)| &value.as_bytes()[..SEED_BYTES]), consider);
        copies
    }
}

/// Calls `found` for each place where one of the seeds is.
fn find_all<'a>(text: &[u8], seeds: impl Iterator<Item = &'a [u8]> + Clone, mut found: impl FnMut(usize)) {
    // Where vector instructions are, they find few short literals many times as fast as an automaton.
    let Some(searcher) = Searcher::new(seeds.clone()) else {
        if let Ok(automaton) = Literals::new(seeds, false, text.len()) {
            automaton.each(text, |_, end| found(end - SEED_BYTES));
        }
        return;
    };
    let mut at = 0;
    while let Some(hit) = searcher.find_in(text, Span { start: at, end: text.len() }) {
        found(hit.start());
        at = hit.start() + 1;
    }
}

/// The end of a copy of `value` that starts there.
fn copy_end(text: &[u8], start: usize, value: &[u8]) -> Option<usize> {
    let value = &value[..value.len().min(COMPARED_BYTES_MAX)];
    let same = text[start..].iter().zip(value).take_while(|(a, b)| a == b).count();
    let end = start + same;
    let is_inside_a_word = |at: usize| text.get(at).is_some_and(u8::is_ascii_alphanumeric);
    let starts_a_word = start == 0 || !is_inside_a_word(start - 1) || !value[0].is_ascii_alphanumeric();
    if same == value.len() {
        let ends_a_word = !is_inside_a_word(end) || !value[same - 1].is_ascii_alphanumeric();
        // A value that may be a name (`_bindgen_ty_3`) is an ordinary name elsewhere.
        let is_name = value.iter().all(|&b| Alphabet::Dotted.has_byte(b)) && !is_opaque(value, VALUE_BYTES_MIN);
        return (starts_a_word && ends_a_word && !is_name).then_some(end);
    }
    let part = &value[..same];
    let is_plain = part.iter().all(u8::is_ascii_lowercase) || part.iter().all(u8::is_ascii_digit);
    // `test...` is what tools print all day.
    if is_plain && (same < VALUE_BYTES_MIN || same * 4 < value.len() * 3) {
        return None;
    }
    let mark = mark_end(text, end)?;
    let rest = &value[same..];
    let most = rest.len().min(text.len() - mark);
    let shown = (SEED_BYTES - 1..=most).rev().find(|&length| text[mark..].starts_with(&rest[rest.len() - length..]));
    let end = mark + shown.unwrap_or(0);
    // All that was cut has the same form as characters have: both ends are boundaries.
    std::str::from_utf8(&text[start..end]).is_ok().then_some(end)
}
