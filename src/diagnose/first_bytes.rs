//! The bytes that what a regex matches can begin with: most of the rules that are asked about a line are ruled out by its
//! first byte, without their engines.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

/// A set of bytes, a bit each; without limit for a regex that may match further behind, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FirstBytes {
    bytes: [u64; 4],
    /// Whether a text without a byte may match.
    empty: bool,
}

impl FirstBytes {
    const ANY: FirstBytes = FirstBytes { bytes: [u64::MAX; 4], empty: true };
    const NONE: FirstBytes = FirstBytes { bytes: [0; 4], empty: false };
    const EMPTY: FirstBytes = FirstBytes { bytes: [0; 4], empty: true };

    /// Of the texts that a regex over bytes matches.
    pub(super) fn of_regex(source: &str) -> Self {
        let parsed = ParserBuilder::new().unicode(false).utf8(false).build().parse(source);
        match parsed {
            Ok(hir) if hir.properties().look_set_prefix().contains(Look::Start) => match first_bytes(&hir) {
                first if first.empty => Self::ANY,
                first => first,
            },
            _ => Self::ANY,
        }
    }

    /// Whether the regex may match this text; where not, it doesn't.
    pub(super) fn may_begin(&self, text: &[u8]) -> bool {
        match text.first() {
            Some(&byte) => self.has(byte),
            None => self.empty,
        }
    }

    fn has(&self, byte: u8) -> bool {
        self.bytes[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    fn add(&mut self, bytes: impl IntoIterator<Item = u8>) {
        for byte in bytes {
            self.bytes[usize::from(byte >> 6)] |= 1 << (byte & 63);
        }
    }

    /// Of texts of this or of the other form.
    fn or(mut self, other: Self) -> Self {
        for (bits, more) in self.bytes.iter_mut().zip(other.bytes) {
            *bits |= more;
        }
        self.empty |= other.empty;
        self
    }
}

/// What matches of a piece begin with; `empty` where it may match no byte.
fn first_bytes(hir: &Hir) -> FirstBytes {
    let mut first = FirstBytes::NONE;
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => return FirstBytes::EMPTY,
        HirKind::Literal(literal) => first.add(literal.0.first().copied()),
        HirKind::Class(Class::Bytes(class)) => {
            first.add(class.ranges().iter().flat_map(|range| range.start()..=range.end()));
        }
        // Only a regex that asks for it has one; what is no ASCII begins with some byte above.
        HirKind::Class(Class::Unicode(_)) => return FirstBytes { empty: false, ..FirstBytes::ANY },
        HirKind::Repetition(times) => {
            first = first_bytes(&times.sub);
            first.empty |= times.min == 0;
        }
        HirKind::Capture(group) => return first_bytes(&group.sub),
        HirKind::Concat(parts) => {
            for part in parts {
                let next = first_bytes(part);
                first = first.or(next);
                first.empty = next.empty;
                if !next.empty {
                    break;
                }
            }
        }
        HirKind::Alternation(forms) => return forms.iter().map(first_bytes).fold(first, FirstBytes::or),
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_ruled_out_by_what_no_match_begins_with() {
        let cases = [
            (r"^(?P<file>[a-c]\S*):(?P<line>\d+)", "ac", "d :"),
            (r"^\s*(?:error|(?i:warning))\b", " \tewW", "E-"),
            ("^(?:a?b|c*)d", "abcd", "e"),
            (r"^\bx|^y", "xy", "z"),
            ("^.x", "x", "\n"),
            ("^(?:[A-Z]:)?/", "C/", "c"),
        ];
        for (source, may, may_not) in cases {
            let first = FirstBytes::of_regex(source);
            assert!(may.bytes().all(|byte| first.may_begin(&[byte, b'!'])), "{source}: {may}");
            assert!(!may_not.bytes().any(|byte| first.may_begin(&[byte, b'!'])), "{source}: {may_not}");
            assert!(!first.may_begin(b""), "{source}");
        }
    }

    #[test]
    fn a_regex_that_may_match_behind_or_nothing_rules_out_no_text() {
        for source in ["a", "^a|b", "^a*", "^", "^(?:a|)$", "(?m)^a", r"\bx", "("] {
            assert_eq!(FirstBytes::of_regex(source), FirstBytes::ANY, "{source}");
        }
    }
}
