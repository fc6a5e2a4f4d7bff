//! Where a page ends and the next one begins: a text that callers hand back as they got it.
//!
//! It names the last row, not a number of rows, so that what is recorded meanwhile neither hides nor repeats one.

use anyhow::bail;
use data_encoding::BASE64URL_NOPAD;

use crate::base::clock::Timestamp;
use crate::base::refusal::Refusal;

/// Bytes of a cursor.
const CURSOR_BYTES_MAX: usize = 2_000;

/// The parts of a cursor, of a list with this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CursorParts {
    list: &'static str,
    parts: Vec<String>,
}

impl CursorParts {
    /// For a list.
    pub(crate) fn new(list: &'static str) -> Self {
        CursorParts { list, parts: Vec::new() }
    }

    /// With one more part.
    pub(crate) fn with(mut self, part: impl ToString) -> Self {
        self.parts.push(part.to_string());
        self
    }

    /// As callers get it.
    pub(crate) fn encode(&self) -> String {
        let text = std::iter::once(self.list).chain(self.parts.iter().map(String::as_str)).collect::<Vec<_>>();
        BASE64URL_NOPAD.encode(serde_json::json!(text).to_string().as_bytes())
    }

    /// The parts of a cursor of `list` that has this many.
    ///
    /// # Errors
    /// When it is none of this list.
    pub(crate) fn decode(list: &'static str, count: usize, text: &str) -> anyhow::Result<Vec<String>> {
        let decoded = (text.len() <= CURSOR_BYTES_MAX).then(|| BASE64URL_NOPAD.decode(text.as_bytes()).ok()).flatten();
        let parts: Option<Vec<String>> = decoded.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        match parts {
            Some(parts) if parts.len() == count + 1 && parts[0] == list => Ok(parts.into_iter().skip(1).collect()),
            _ => bail!(bad_cursor()),
        }
    }
}

/// Leaves the first `limit` of the rows that were read, one more of which says that there is a next page; its cursor is made
/// of the last row that stays.
pub(crate) fn cut_page<T>(rows: &mut Vec<T>, limit: usize, mark: impl FnOnce(&T) -> String) -> Option<String> {
    let is_more = rows.len() > limit;
    rows.truncate(limit);
    rows.last().filter(|_| is_more).map(mark)
}

/// A cursor of a list whose rows do not move: the last row's time and name.
pub(crate) fn standing_mark(list: &'static str, (at, name): (Timestamp, &str)) -> String {
    CursorParts::new(list).with(at.0).with(name).encode()
}

/// A cursor of a list whose rows move to the top when something is recorded of them: the moment at which the list was
/// begun, and the last row's time and name.
pub(crate) fn moving_mark(list: &'static str, moment: Timestamp, (at, name): (Timestamp, &str)) -> String {
    CursorParts::new(list).with(moment.0).with(at.0).with(name).encode()
}

/// Reads a cursor of [`moving_mark`]: the moment, which is `now` without one, and the last row.
///
/// # Errors
/// When it is none of this list.
pub(crate) fn read_moving_mark(
    list: &'static str,
    text: Option<&str>,
    now: Timestamp,
) -> anyhow::Result<(Timestamp, Option<(Timestamp, String)>)> {
    let Some(text) = text else { return Ok((now, None)) };
    let [moment, at, name] = CursorParts::decode(list, 3, text)?.try_into().map_err(|_| bad_cursor())?;
    Ok((cursor_time(&moment)?, Some((cursor_time(&at)?, name))))
}

/// Reads a cursor of [`standing_mark`].
///
/// # Errors
/// When it is none of this list.
pub(crate) fn read_mark(list: &'static str, text: Option<&str>) -> anyhow::Result<Option<(Timestamp, String)>> {
    let Some(text) = text else { return Ok(None) };
    let [at, name] = CursorParts::decode(list, 2, text)?.try_into().map_err(|_| bad_cursor())?;
    Ok(Some((cursor_time(&at)?, name)))
}

/// A number of a cursor.
///
/// # Errors
/// When it is none.
pub(crate) fn cursor_number(part: &str) -> anyhow::Result<i64> {
    part.parse().map_err(|_| bad_cursor().into())
}

/// A time of a cursor, in microseconds.
///
/// # Errors
/// When it is none.
pub(crate) fn cursor_time(part: &str) -> anyhow::Result<Timestamp> {
    let time = Timestamp(cursor_number(part)?);
    // What has no four-digit year was not made here.
    let is_known = (0..253_402_300_800_000_000).contains(&time.0);
    if is_known { Ok(time) } else { Err(bad_cursor().into()) }
}

fn bad_cursor() -> Refusal {
    Refusal::usage("the cursor is not one of this list: take `next` of the page before as it is")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_and_another_lists_is_refused() {
        let text = CursorParts::new("tasks").with(7).with("feature/\"ü\"").encode();
        assert_eq!(CursorParts::decode("tasks", 2, &text).expect("is one"), ["7", "feature/\"ü\""]);
        for (list, count, text) in [("fixes", 2, &*text), ("tasks", 3, &text), ("tasks", 2, "x"), ("tasks", 0, "")] {
            assert!(CursorParts::decode(list, count, text).is_err(), "{list} {count} {text}");
        }
        assert!(cursor_number("7").is_ok() && cursor_number("7x").is_err());
        assert!(cursor_time("0").is_ok() && cursor_time("-1").is_err() && cursor_time(&i64::MAX.to_string()).is_err());
    }
}
