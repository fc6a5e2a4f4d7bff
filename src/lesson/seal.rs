//! Whether a person has edited a lesson: a comment in it has the hash of all the rest but the part about the fix.

use super::fix;

/// Hex digits of a hash.
const DIGITS: usize = 16;
const BEGIN: &str = "<!-- verify-run:lesson ";
const END: &str = " -->";

/// The comment without its hash.
pub(super) const EMPTY: &str = "<!-- verify-run:lesson  -->";

/// The hash of a text, short.
pub(super) fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..DIGITS].to_owned()
}

/// `text`, which has the empty comment, with its hash in it.
pub(super) fn sealed(text: &str) -> String {
    let hash = digest(&fix::without_content(text).unwrap_or_default());
    text.replacen(EMPTY, &format!("{BEGIN}{hash}{END}"), 1)
}

/// `text` with the hash of what it says now.
pub(super) fn renewed(text: &str) -> String {
    match hash_at(text) {
        Some(start) => sealed(&format!("{}{}", &text[..start], &text[start + DIGITS..])),
        None => text.to_owned(),
    }
}

/// Where the hash begins.
fn hash_at(text: &str) -> Option<usize> {
    let start = text.find(&format!("\n{BEGIN}"))? + 1 + BEGIN.len();
    text.get(start..start + DIGITS)?;
    text[start + DIGITS..].starts_with(END).then_some(start)
}

/// Whether the lesson is as verify-run wrote it.
pub fn is_untouched(text: &str) -> bool {
    let Some(start) = hash_at(text) else { return false };
    let said = &text[start..start + DIGITS];
    let empty = format!("{}{}", &text[..start], &text[start + DIGITS..]);
    fix::without_content(&empty).is_some_and(|rest| digest(&rest) == said)
}
