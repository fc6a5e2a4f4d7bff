//! Whether a person has edited a lesson: a comment in it has the hash of all the rest but the part about the fix.

use super::fix;

/// Hex digits of a hash.
const DIGITS: usize = 16;
const BEGIN: &str = "<!-- verify-run:lesson ";
const END: &str = " -->";

/// The comment without its hash.
pub(super) const EMPTY: &str = "<!-- verify-run:lesson  -->";

/// The hash of a text, short.
pub(super) fn short_digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..DIGITS].to_owned()
}

/// `text`, which has the empty comment, with its hash in it.
pub(super) fn seal_text(text: &str) -> String {
    let hash = short_digest(&fix::without_fix_content(text).unwrap_or_default());
    text.replacen(EMPTY, &format!("{BEGIN}{hash}{END}"), 1)
}

/// `text` with the hash of what it says now.
pub(super) fn renew_seal(text: &str) -> String {
    match find_hash(text) {
        Some(start) => seal_text(&format!("{}{}", &text[..start], &text[start + DIGITS..])),
        None => text.to_owned(),
    }
}

/// Where the hash begins.
fn find_hash(text: &str) -> Option<usize> {
    let start = text.find(&format!("\n{BEGIN}"))? + 1 + BEGIN.len();
    text.get(start..start + DIGITS)?;
    text[start + DIGITS..].starts_with(END).then_some(start)
}

/// Whether the lesson is as verify-run wrote it.
pub fn is_untouched(text: &str) -> bool {
    let Some(start) = find_hash(text) else { return false };
    let said = &text[start..start + DIGITS];
    let empty = format!("{}{}", &text[..start], &text[start + DIGITS..]);
    fix::without_fix_content(&empty).is_some_and(|rest| short_digest(&rest) == said)
}
