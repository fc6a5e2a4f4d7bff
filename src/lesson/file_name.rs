//! Names of lesson files.

/// Whether a file of this name is a lesson.
pub(super) fn is_lesson_name(name: &str) -> bool {
    lesson_id(name).is_some()
}

/// The id in `<anything>-l-<8 base32 characters>.md`.
pub(super) fn lesson_id(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".md")?;
    let (before, id) = stem.rsplit_once("l-")?;
    let is_id = (before.is_empty() || before.ends_with('-'))
        && id.len() == 8
        && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    is_id.then(|| &stem[before.len()..])
}
