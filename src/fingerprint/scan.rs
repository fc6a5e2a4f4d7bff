//! One pass from left to right over a message: what is text, and what is a slot that changes from run to run. The
//! first rule that matches at a position wins.

use std::sync::LazyLock;

use regex::Regex;

use super::bracket::{attached_len, representation_len};
use super::shape;
use super::vocabulary::{
    AWAITABLES, EXTENSIONS, HOST_KEEPERS, KEYWORDS, NAMING_NOUNS, NUMBER_KEEPERS, RESERVED_WORDS, STRING_PREFIXES,
    SYNTAX, SYNTAX_NOUNS, WORDS_WITH_DIGITS,
};

/// What a slot is; its name is for people, the hash sees `<*>` for all: a slot is a number one day and a name the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotClass {
    Url,
    Email,
    Uuid,
    Time,
    Address,
    Path,
    Hex,
    Duration,
    Size,
    Version,
    Number,
    Id,
    Quoted,
    Name,
    Repr,
    Value,
}

impl SlotClass {
    /// As people read it, also in a placeholder.
    pub(super) fn name(self) -> &'static str {
        match self {
            SlotClass::Url => "url",
            SlotClass::Email => "email",
            SlotClass::Uuid => "uuid",
            SlotClass::Time => "time",
            SlotClass::Address => "address",
            SlotClass::Path => "path",
            SlotClass::Hex => "hex",
            SlotClass::Duration => "duration",
            SlotClass::Size => "size",
            SlotClass::Version => "version",
            SlotClass::Number => "num",
            SlotClass::Id => "id",
            SlotClass::Quoted => "str",
            SlotClass::Name => "name",
            SlotClass::Repr => "repr",
            SlotClass::Value => "value",
        }
    }
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MessagePiece<'a> {
    Text(&'a str),
    /// The slot's text, for a quoted one without its quotes.
    Slot(SlotClass, &'a str),
}

/// How much is masked: each step is for messages of which the one before leaves no word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MaskLevel {
    /// Numbers and the like; quotes and names stay.
    Values,
    /// Quotes too.
    Quotes,
    /// Bare names too.
    All,
}

/// Cuts `text` into text and slots.
pub(super) fn scan_message(text: &str, level: MaskLevel) -> Vec<MessagePiece<'_>> {
    let lower = text.to_lowercase();
    let syntax = SYNTAX.iter().any(|word| lower.contains(word));
    let mut pieces = Vec::new();
    let (mut at, mut plain) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        let inside = text[..at].chars().next_back().is_some_and(is_word);
        let found = if inside { None } else { find_slot(text, at, c, level, syntax) };
        let Some((end, piece)) = found else {
            at += if is_word(c) && !inside { word_end(text, at) } else { at + c.len_utf8() } - at;
            continue;
        };
        if let Some(piece) = piece {
            if plain < at {
                pieces.push(MessagePiece::Text(&text[plain..at]));
            }
            pieces.push(piece);
            plain = end;
        }
        at = end;
    }
    if plain < text.len() {
        pieces.push(MessagePiece::Text(&text[plain..]));
    }
    pieces
}

/// What starts at `at`: a slot, or with `None` a stretch that stays text although it looks like more.
fn find_slot(
    text: &str,
    at: usize,
    c: char,
    level: MaskLevel,
    syntax: bool,
) -> Option<(usize, Option<MessagePiece<'_>>)> {
    let rest = &text[at..];
    if c == '<'
        && let Some(end) = representation_len(rest)
    {
        return Some((at + end, Some(MessagePiece::Slot(SlotClass::Repr, &rest[..end]))));
    }
    if let Some(end) = ipv6_len(rest, c) {
        return Some((at + end, Some(MessagePiece::Slot(SlotClass::Address, &rest[..end]))));
    }
    if let Some((end, class)) = find_shape(rest, c) {
        let kept = class == SlotClass::Number && follows_number_keeper(&text[..at]);
        return Some((at + end, (!kept).then(|| MessagePiece::Slot(class, &rest[..end]))));
    }
    if level >= MaskLevel::Quotes
        && let Some((end, inner)) = find_quoted(rest, c)
    {
        if let Some(kind) = awaitable_name(inner) {
            return Some((at + end, Some(MessagePiece::Text(kind))));
        }
        let demanded = syntax && is_literal(inner) && is_demanded(&text[..at], &rest[end..]);
        let stays = demanded || RESERVED_WORDS.contains(&inner) && !is_named(&text[..at]);
        return Some((at + end, (!stays).then_some(MessagePiece::Slot(SlotClass::Quoted, inner))));
    }
    if c == '\\'
        && let Some(end) = escape_len(rest)
    {
        return Some((at + end, Some(MessagePiece::Slot(SlotClass::Id, &rest[..end]))));
    }
    if !is_word(c) && c != '@' && c != '$' {
        return None;
    }
    find_word(text, at, level)
}

/// The word at `at` with what belongs to it.
fn find_word(text: &str, at: usize, level: MaskLevel) -> Option<(usize, Option<MessagePiece<'_>>)> {
    let end = word_end(text, at);
    let word = &text[at..end];
    let slot = |class, end: usize| Some((end, Some(MessagePiece::Slot(class, &text[at..end]))));
    if is_value(&text[..at]) {
        return slot(SlotClass::Value, end + attached_len(&text[end..]));
    }
    if let Some(port) = port_len(&text[..at], word, &text[end..]) {
        return slot(SlotClass::Address, end + port);
    }
    match classify_word(word, &text[end..], level) {
        Some(SlotClass::Path) => slot(SlotClass::Path, end + location_len(&text[end..])),
        Some(class) => slot(class, end + attached_len(&text[end..])),
        None if level == MaskLevel::All && word.starts_with(char::is_alphabetic) => match attached_len(&text[end..]) {
            0 => Some((end, None)),
            more => slot(SlotClass::Name, end + more),
        },
        None => Some((end, None)),
    }
}

/// Whether what follows is the value of `key=`: a word today, a number tomorrow.
fn is_value(before: &str) -> bool {
    let Some(key) = before.strip_suffix('=') else { return false };
    key.ends_with(is_word) || key.ends_with([']', '"', '\''])
}

/// `:8080` of `db:8080`, where the message talks to a host.
fn port_len(before: &str, word: &str, after: &str) -> Option<usize> {
    let talks = before.is_empty()
        || before.strip_suffix(' ').is_some_and(|before| {
            let last = before.rsplit(' ').next().unwrap_or(before).trim_matches(|c: char| !is_word(c));
            HOST_KEEPERS.contains(&last.to_ascii_lowercase().as_str())
        });
    let digits = after.strip_prefix(':')?.bytes().take_while(u8::is_ascii_digit).count();
    let ends = !after[1 + digits..].starts_with(|c: char| is_word(c) || c == ':' || c == '.');
    (talks && ends && (2..=5).contains(&digits) && word.starts_with(char::is_alphabetic)).then_some(1 + digits)
}

/// An IPv6 address with its zeros left out (`::1`, `fe80::1%eth0`, `2001:db8::/32`), RFC 4291 section 2.2.
fn ipv6_len(rest: &str, c: char) -> Option<usize> {
    if !(c == ':' || c == '[' || c.is_ascii_hexdigit()) {
        return None;
    }
    let open = usize::from(c == '[');
    let len = rest[open..].bytes().take_while(|&b| b.is_ascii_hexdigit() || b == b':').count();
    let address = &rest[open..open + len];
    let groups = address.split(':').filter(|group| !group.is_empty());
    let plain = groups.clone().all(|group| group.len() <= 4) && groups.clone().count() <= 7;
    // `a::b` is a name in C++ and Rust.
    let numeric = address.starts_with("::") || address.bytes().any(|b| b.is_ascii_digit());
    // `::` alone is an operator, but `::/0` is every address.
    let any = groups.count() > 0 || rest[open + len..].starts_with("/0");
    if !(plain && numeric && address.matches("::").count() == 1 && any) {
        return None;
    }
    let mut end = open + len;
    if open == 1 {
        end += rest[end..].starts_with(']').then_some(1)?;
    }
    for mark in ['%', ':', '/'] {
        if let Some(more) = rest[end..].strip_prefix(mark) {
            let len = more.bytes().take_while(u8::is_ascii_alphanumeric).count();
            end += if len > 0 { 1 + len } else { 0 };
        }
    }
    (!rest[end..].starts_with(is_word)).then_some(end)
}

/// `\d`, `\x1`, `\n`: an escape sequence alone.
fn escape_len(rest: &str) -> Option<usize> {
    let len = rest[1..].bytes().take_while(u8::is_ascii_alphanumeric).count();
    let ends = !rest[1 + len..].starts_with(|c: char| is_word(c) || c == '\\');
    ((1..=9).contains(&len) && ends).then_some(1 + len)
}

/// A slot that a regex says best, and its end.
fn find_shape(rest: &str, c: char) -> Option<(usize, SlotClass)> {
    let (end, class) = shape::find_first_shape(rest, c)?;
    // `3rd`, `1.5x`, `10-abc`: part of something longer.
    let next = rest[end..].chars().next();
    let longer = next.is_some_and(|c| is_word(c) || c == '-' && rest[end + 1..].starts_with(is_word));
    let numeric = matches!(class, SlotClass::Number | SlotClass::Version | SlotClass::Duration | SlotClass::Size);
    (end > 0 && !(numeric && longer)).then_some((end, class))
}

/// `'…'`, `"…"`, `` `…` `` and the curly ones, with the letters that mark a kind of string before them (`b'…'`): the
/// end, and what is inside.
fn find_quoted(rest: &str, open: char) -> Option<(usize, &str)> {
    if open.is_ascii_alphabetic() {
        let letters = rest.find(['\'', '"']).filter(|&at| STRING_PREFIXES.contains(&&rest[..at]))?;
        let open = rest[letters..].chars().next()?;
        return find_quoted(&rest[letters..], open).map(|(end, inner)| (letters + end, inner));
    }
    let close = match open {
        '\'' | '"' | '`' => open,
        '‘' => '’',
        '“' => '”',
        _ => return None,
    };
    let start = open.len_utf8();
    let mut escaped = false;
    for (n, c) in rest[start..].char_indices().take(400) {
        if escaped {
            escaped = false;
            continue;
        }
        match c {
            '\n' => return None,
            '\\' if open == '"' => escaped = true,
            c if c == close => {
                let end = start + n + close.len_utf8();
                // The apostrophe of `don't` closes nothing.
                if close == '\'' && rest[end..].starts_with(is_word) {
                    continue;
                }
                return Some((end, &rest[start..start + n]));
            }
            _ => {}
        }
    }
    None
}

/// The outer name of a type that has to be awaited: a missing `await` is a cause of its own, whatever the type inside.
fn awaitable_name(inner: &str) -> Option<&str> {
    let name = &inner[..inner.find(['<', '['])?];
    AWAITABLES.contains(&name).then_some(name)
}

/// In a message about syntax, punctuation and words of the language stay: `expected ';'`, `unexpected 'await'`.
fn is_literal(inner: &str) -> bool {
    let punctuation = inner.len() <= 3 && !inner.is_empty() && inner.bytes().all(|b| b.is_ascii_punctuation());
    punctuation || KEYWORDS.contains(&inner)
}

/// Whether what follows is a name although it looks like a word of a language: it may be one of another language.
fn is_named(before: &str) -> bool {
    let last = before.trim_end().rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    NAMING_NOUNS.contains(&last.to_ascii_lowercase().as_str())
}

/// Whether a literal is what a message about syntax asks for (`expected ';'`, `',' delimiter`, `',' or ';'`), not what
/// it found instead.
fn is_demanded(before: &str, after: &str) -> bool {
    let next = after.trim_start().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    if SYNTAX_NOUNS.contains(&next.to_ascii_lowercase().as_str()) {
        return true;
    }
    let words = before.rsplit(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in words.map(str::to_ascii_lowercase).take(6) {
        if SYNTAX.iter().any(|syntax| word.contains(syntax)) {
            return true;
        }
        // A list of what may come, and what says of which kind it is.
        if !(SYNTAX_NOUNS.contains(&word.as_str())
            || KEYWORDS.contains(&word.as_str())
            || matches!(word.as_str(), "a" | "an" | "the" | "one" | "of" | "or" | "either" | "missing"))
        {
            return false;
        }
    }
    false
}

/// What a word is besides a word.
fn classify_word(word: &str, after: &str, level: MaskLevel) -> Option<SlotClass> {
    let has = |class: fn(u8) -> bool| word.bytes().any(class);
    let lower = word.to_ascii_lowercase();
    if WORDS_WITH_DIGITS.contains(&lower.as_str()) || matches!(lower.as_str(), "e.g" | "i.e" | "node.js" | "n/a") {
        return None;
    }
    let (digits, letters) = (has(|b| b.is_ascii_digit()), has(|b| b.is_ascii_alphabetic()));
    let separators = word.bytes().filter(|b| b"/\\".contains(b)).count();
    let extension = word.rsplit_once('.').is_some_and(|(_, extension)| EXTENSIONS.contains(&extension));
    if (extension && !after.starts_with('(')) || (separators > 1 && !word.starts_with('@')) {
        return Some(SlotClass::Path);
    }
    if digits && letters {
        if word.len() >= 7 && word.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Some(SlotClass::Hex);
        }
        return if is_rule_code(word) { None } else { Some(SlotClass::Id) };
    }
    if digits {
        return Some(SlotClass::Number);
    }
    if level < MaskLevel::All || !letters {
        return None;
    }
    let interior_capital =
        word.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let called = after.starts_with('(') && attached_len(after) > 0;
    let joined = word.contains(['_', '.', '@', '$']) || word.contains("::") || word.contains("->");
    (interior_capital || called || joined).then_some(SlotClass::Name)
}

/// `E0308`, `TS2307`, `SC2086`.
fn is_rule_code(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    (1..=5).contains(&letters)
        && (2..=5).contains(&(word.len() - letters))
        && word.bytes().skip(letters).all(|b| b.is_ascii_digit())
}

fn follows_number_keeper(before: &str) -> bool {
    let before = before.trim_end_matches([' ', ':', '=', '(']).to_ascii_lowercase();
    NUMBER_KEEPERS.iter().any(|keeper| before.ends_with(keeper))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The end of the word at `at`, with the parts that `.`, `::`, `->`, `-`, `/`, `@` and `~` join to it.
fn word_end(text: &str, at: usize) -> usize {
    let mut end = at;
    let mut rest = &text[at..];
    loop {
        let part = rest.find(|c: char| !(is_word(c) || c == '$' || c == '@')).unwrap_or(rest.len());
        end += part;
        rest = &rest[part..];
        let joint = ["::", "->", ".", "-", "/", "\\", "~", "#"].iter().find(|joint| {
            rest.strip_prefix(**joint).is_some_and(|next| next.starts_with(|c: char| is_word(c) || c == '$'))
        });
        let Some(joint) = joint else { return end };
        end += joint.len();
        rest = &rest[joint.len()..];
    }
}

/// `:12:3` or `(12,3)` behind a path.
fn location_len(after: &str) -> usize {
    static PLACE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))").expect("a valid pattern"));
    PLACE.find(after).map_or(0, |found| found.end())
}
