//! Text for people: control characters removed, lengths bounded, quoting for the place it goes to.

use std::borrow::Cow;
use std::path::Path;

/// `text` with every control character but tab removed, and the invisible and direction-changing ones of Unicode
/// that can make a line read differently from what it is (CVE-2021-42574); newlines become spaces.
pub fn one_line(text: &str) -> String {
    if !any_special(text, |c| matches!(c, '\n' | '\t' | '\r') || is_unsafe(c)) {
        return text.to_owned();
    }
    text.chars()
        .filter_map(|c| match c {
            '\n' | '\t' | '\r' => Some(' '),
            c if is_unsafe(c) => None,
            c => Some(c),
        })
        .collect()
}

/// As [`one_line`], but newlines and tabs stay.
pub fn printable(text: &str) -> String {
    text.chars().filter(|&c| matches!(c, '\n' | '\t') || !is_unsafe(c)).collect()
}

fn is_unsafe(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_invisible(c)
}

/// What no screen shows, and what makes a line read in another order: zero-width characters, direction marks, and the
/// tags and supplementary variation selectors in which a text for a model can be hidden.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

/// `text` without characters that no screen shows; nearly every text has none and is not copied.
pub fn visible(text: Cow<'_, str>) -> Cow<'_, str> {
    // All of them begin with one of these bytes.
    let may_have = text.bytes().fold(false, |any, b| any | matches!(b, 0xd8 | 0xe1 | 0xe2 | 0xef | 0xf3));
    if !may_have || !text.chars().any(is_invisible) {
        return text;
    }
    Cow::Owned(text.chars().filter(|&c| !is_invisible(c)).collect())
}

/// JSON with the characters that no screen shows, and those that change the order of others, as `\u` escapes: its values
/// stay what they are, and nothing is hidden in it.
pub fn visible_json(json: String) -> String {
    if json.is_ascii() || !any_special(&json, is_hidden_in_json) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        // Outside of strings there are no such characters.
        if is_hidden_in_json(c) {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")))
        } else {
            out.push(c)
        }
    }
    out
}

fn is_hidden_in_json(c: char) -> bool {
    c != '\n' && is_unsafe(c)
}

/// `text` with every character that [`printable`] removes as its code point: `U+202E`. Nothing of it is lost from view.
pub fn code_points_shown(text: &str) -> Cow<'_, str> {
    let is_shown = |c: char| matches!(c, '\n' | '\t') || !is_unsafe(c);
    if !any_special(text, |c| !is_shown(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_shown(c) {
            out.push(c);
        } else {
            out.push_str(&format!("U+{:04X}", u32::from(c)));
        }
    }
    Cow::Owned(out)
}

/// Whether `fits` is true of a character that is not printable ASCII: nearly all of them are, and are not looked at.
fn any_special(text: &str, fits: impl Fn(char) -> bool) -> bool {
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !matches!(byte, b' '..=b'~')) {
        let mut after = rest[at..].chars();
        if after.next().is_some_and(&fits) {
            return true;
        }
        rest = after.as_str();
    }
    false
}

/// `text` without blanks around it. Most texts have none, which their first and last byte tell.
pub fn trimmed(text: &str) -> &str {
    match text.as_bytes() {
        [first, .., last] if first.is_ascii_graphic() && last.is_ascii_graphic() => text,
        _ => text.trim(),
    }
}

/// Whether there is nothing but blanks in `text`.
pub fn is_blank(text: &str) -> bool {
    !text.as_bytes().first().is_some_and(u8::is_ascii_graphic) && text.trim().is_empty()
}

/// The lines of [`str::lines`], of which long ones are found in a fraction of the time.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (line, behind) = match memchr::memchr(b'\n', rest.as_bytes()) {
            Some(at) => (rest[..at].strip_suffix('\r').unwrap_or(&rest[..at]), &rest[at + 1..]),
            None if rest.is_empty() => return None,
            None => (rest, ""),
        };
        rest = behind;
        Some(line)
    })
}

/// The longest prefix of at most `max` bytes that ends on a character boundary.
pub fn prefix(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// `text` cut to at most `max` bytes, with `…` in place of what was cut.
pub fn ellipsis(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    format!("{}…", prefix(text, max.saturating_sub('…'.len_utf8())))
}

/// The number of the line that `offset` is in, from 1.
pub fn line_number(text: impl AsRef<[u8]>, offset: usize) -> usize {
    text.as_ref().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

/// A path as a word that a POSIX shell takes for itself and nothing else: log lines and hints are copied into shells, and
/// a log may get where one reads it.
pub fn path(path: &Path) -> String {
    shell_words::quote(&one_line(&path.to_string_lossy())).into_owned()
}

/// `1 file`, `3 files`.
pub fn count(n: impl TryInto<u64>, noun: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// `once`, `3 times`.
pub fn times(n: u64) -> String {
    if n == 1 { "once".to_owned() } else { count(n, "time") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_are_those_of_the_standard_library(text in "[a\r\n]{0,12}") {
            prop_assert_eq!(lines(&text).collect::<Vec<_>>(), text.lines().collect::<Vec<_>>());
        }

        #[test]
        fn what_is_not_plain_is_found_wherever_it_is(text in "[ -~]{0,9}([ -~\u{1}\n\u{7f}\u{85}é…\u{202e}\u{e0041}]{0,3}[ -~]{0,9}){0,3}") {
            prop_assert_eq!(any_special(&text, is_unsafe), text.chars().any(is_unsafe));
            let lines = text.chars().filter(|c| *c == '\n' || !is_unsafe(*c)).map(|c| if c == '\n' { ' ' } else { c });
            prop_assert_eq!(one_line(&text), lines.collect::<String>());
        }
    }

    #[test]
    fn control_and_direction_characters_are_gone() {
        assert_eq!(one_line("a\x1b[31m\tb\n\u{202e}c\u{200b}"), "a[31m b c");
        assert_eq!(printable("a\n\tb\x07"), "a\n\tb");
    }

    #[test]
    fn a_path_is_one_word_for_a_shell() {
        assert_eq!(path(Path::new("/a/b-1.jsonl")), "/a/b-1.jsonl");
        assert_eq!(path(Path::new("/a/$(touch${IFS}x)'\n")), "'/a/$(touch${IFS}x)'\\'' '");
    }

    #[test]
    fn what_no_screen_shows_is_gone() {
        let hidden: String = "ignore all".chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect();
        let text = format!("a{hidden}\u{e0101}\u{2067}b\u{200d}\u{61c}c");
        assert_eq!(
            (one_line(&text), printable(&text), visible(Cow::Borrowed(&*text))),
            ("abc".into(), "abc".into(), "abc".into())
        );
        let shown = "“é” … 🦀 ✓ \u{2028}";
        assert!(matches!(visible(Cow::Borrowed(shown)), Cow::Borrowed(same) if same == shown));
    }

    #[test]
    fn cuts_never_split_a_character() {
        assert_eq!(prefix("aé", 2), "a");
        assert_eq!(ellipsis("abcdef", 5), "ab…");
        assert_eq!(ellipsis("abc", 3), "abc");
    }
}
