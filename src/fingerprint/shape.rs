//! Slots described by regexes: times, addresses, paths, numbers.
//!
//! Compiling all of them costs more than everything else that recording a failure does, and a message needs few. So
//! each is compiled when a message contains its required literal.

use std::sync::OnceLock;

use regex::Regex;

use super::scan::SlotClass;

/// A shape, anchored at its start.
struct SlotShape {
    class: SlotClass,
    /// What has to be there: by the rest of the message and its first character, which is ASCII.
    needs: fn(&str, char) -> bool,
    /// With names for parts that several have: `{MONTH}`, `{DAY}`, `{CLOCK}`, `{ZONE}`.
    source: &'static str,
    regex: OnceLock<Regex>,
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

const PARTS: [(&str, &str); 4] = [
    ("{MONTH}", "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"),
    ("{DAY}", "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*"),
    ("{CLOCK}", r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?(?: ?[AP]M\b)?"),
    ("{ZONE}", r"(?: ?(?:Z\b|UTC\b|GMT(?:[+-]\d{4})?|[+-]\d\d:?\d\d\b))?"),
];

/// The first one that matches wins.
static SHAPES: [SlotShape; 22] = [
    new(
        SlotClass::Url,
        |rest, c| c.is_ascii_alphabetic() && rest.contains("://"),
        r#"[A-Za-z][A-Za-z0-9+.-]*://[^\s'"`<>)\]}]*"#,
    ),
    new(SlotClass::Email, |rest, _| rest.contains('@'), r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    new(
        SlotClass::Uuid,
        |rest, c| c.is_ascii_hexdigit() && byte_at(rest, 8) == Some(b'-'),
        r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b",
    ),
    new(SlotClass::Uuid, |rest, c| c.is_digit(8) && rest.len() >= 26, r"[0-7][0-9A-HJKMNP-TV-Z]{25}\b"),
    new(
        SlotClass::Time,
        |rest, c| c.is_ascii_digit() && rest.contains('-'),
        r"\d{4}-\d\d-\d\d(?:[T _-]{CLOCK}{ZONE})?\b",
    ),
    new(
        SlotClass::Time,
        |rest, c| c.is_ascii_digit() && rest.contains('/'),
        r"\d{2,4}/\d\d?/\d{2,4}(?:[ T]{CLOCK}{ZONE})?\b",
    ),
    new(
        SlotClass::Time,
        |rest, c| c.is_ascii_digit() && rest.contains('/'),
        r"\d\d/{MONTH}/\d{4}(?::{CLOCK}{ZONE})?\b",
    ),
    new(
        SlotClass::Time,
        |rest, c| {
            (c.is_ascii_digit() || starts_with_any(rest, &DAYS)) && MONTHS.iter().any(|month| rest.contains(month))
        },
        r"(?:{DAY},? )?\d{1,2}[ -]{MONTH}[ -]\d{2,4}(?: {CLOCK}{ZONE})?\b",
    ),
    new(
        SlotClass::Time,
        |rest, _| starts_with_any(rest, &DAYS) || starts_with_any(rest, &MONTHS),
        r"(?:{DAY},? )?{MONTH} +\d{1,2},? (?:\d{4} )?{CLOCK}{ZONE}(?: \d{4})?\b",
    ),
    new(
        SlotClass::Time,
        |rest, c| c.is_ascii_digit() && rest.contains(':'),
        r"\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M)?{ZONE}\b",
    ),
    new(
        SlotClass::Time,
        |rest, _| rest.starts_with("datetime."),
        r"datetime\.(?:datetime|date|time|timedelta)\([^)]*\)",
    ),
    new(
        SlotClass::Address,
        |rest, c| c.is_ascii_hexdigit() && matches!(byte_at(rest, 2), Some(b':' | b'-')),
        r"(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}\b",
    ),
    new(
        SlotClass::Address,
        |rest, c| c.is_ascii_digit() && rest.contains('.'),
        r"\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d+)?\b",
    ),
    new(
        SlotClass::Address,
        |rest, c| (c == '[' || c.is_ascii_hexdigit()) && rest.bytes().filter(|&byte| byte == b':').count() >= 3,
        r"\[?(?:[0-9a-fA-F]{1,4}:){3,7}[0-9a-fA-F]{1,4}\]?(?::\d+)?",
    ),
    new(
        SlotClass::Address,
        |rest, _| rest.contains(':') && (rest.starts_with("localhost") || rest.contains('.')),
        r"(?:localhost|[\w-]+(?:\.[\w-]+)+):\d{2,5}\b",
    ),
    new(
        SlotClass::Path,
        |rest, c| "/\\~.".contains(c) || c.is_ascii_alphabetic() && byte_at(rest, 1) == Some(b':'),
        r#"(?:[A-Za-z]:[\\/]|\\\\|~[\\/]|\.{1,2}[\\/]|/)[^\s'"`:;,()\[\]{}<>|=]+(?::\d+(?::\d+)?|\(\d+,\d+\))?"#,
    ),
    new(SlotClass::Hex, |rest, _| rest.starts_with("0x") || rest.starts_with("0X"), r"0[xX][0-9a-fA-F]+\b"),
    new(
        SlotClass::Duration,
        |_, c| c.is_ascii_digit() || "+-".contains(c),
        r"[-+]?\d+(?:\.\d+)? ?(?:ns|us|µs|ms|msecs?|milliseconds?|s|secs?|seconds?|min|mins|minutes?|m|h|hrs?|hours?|d|days?)\b",
    ),
    new(
        SlotClass::Size,
        |_, c| c.is_ascii_digit(),
        r"\d[\d,]*(?:\.\d+)? ?(?:[KMGTkmgt]i?[Bb]\b|[Bb]ytes?\b|[KMG]\b|%)",
    ),
    new(
        SlotClass::Version,
        |rest, c| (c.is_ascii_digit() || c == 'v') && rest.contains('.'),
        r"v?\d+\.\d+\.\d+(?:[-+.][\w.]+)*\b",
    ),
    new(
        SlotClass::Number,
        |rest, c| (c.is_ascii_digit() || "+-".contains(c)) && rest.contains(','),
        r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\b",
    ),
    new(
        SlotClass::Number,
        |_, c| c.is_ascii_digit() || "+-.".contains(c),
        r"[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?\b",
    ),
];

const fn new(class: SlotClass, needs: fn(&str, char) -> bool, source: &'static str) -> SlotShape {
    SlotShape { class, needs, source, regex: OnceLock::new() }
}

fn byte_at(rest: &str, index: usize) -> Option<u8> {
    rest.as_bytes().get(index).copied()
}

fn starts_with_any(rest: &str, words: &[&str]) -> bool {
    words.iter().any(|word| rest.starts_with(word))
}

impl SlotShape {
    fn find_end(&self, rest: &str) -> Option<usize> {
        let regex =
            self.regex.get_or_init(|| Regex::new(&format!("^(?:{})", self.expanded_source())).expect("a valid shape"));
        regex.find(rest).map(|found| found.end())
    }

    /// With ASCII's digits: Unicode's take ten times as long to compile, and hardly any tool prints them.
    fn expanded_source(&self) -> String {
        let whole = PARTS.iter().fold(self.source.to_owned(), |source, (name, part)| source.replace(name, part));
        whole.replace(r"\d", "[0-9]")
    }
}

/// The first shape at the start of `rest`, whose first character is `c`: its end, and what it is.
pub(super) fn find_first_shape(rest: &str, c: char) -> Option<(usize, SlotClass)> {
    if !(c.is_ascii_alphanumeric() || "/\\~.-+[_<".contains(c)) {
        return None;
    }
    SHAPES
        .iter()
        .find_map(|shape| (shape.needs)(rest, c).then(|| shape.find_end(rest)).flatten().map(|end| (end, shape.class)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_matches_without_what_it_needs(
            // What shapes are made of, in any order.
            rest in "([0-9]{1,4}|[-/:.,@ TZ+~_\\\\\\[\\]]|0x|v[0-9]|[a-f]{2}|Mon|Jan|Feb |Sunday, |UTC|datetime\\.date\\(1\\)|localhost|://|é|٣|x|ms|KB|%|PM|01ARZ3NDEKTSV4RRFFQ69G5FAV){1,12}"
        ) {
            let Some(c) = rest.chars().next().filter(char::is_ascii) else { return Ok(()) };
            for shape in &SHAPES {
                let found = shape.find_end(&rest);
                prop_assert!(found.is_none() || (shape.needs)(&rest, c), "{}: {rest:?}", shape.source);
            }
        }
    }
}
