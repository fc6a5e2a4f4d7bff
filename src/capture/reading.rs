//! Spool files read back.

use serde::Deserialize;

use super::spool::{SPOOL_SCHEMA, SpoolHeader, SpooledRun};

/// Why a spool file or a line of the pass log can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpoolError {
    /// A newer verify-run wrote it, and will read it.
    #[error("written by a newer verify-run (spool schema {0}, this one knows {SPOOL_SCHEMA})")]
    Newer(u32),
    /// It is not a spool file, or not a whole one.
    #[error("not a spool file: {0}")]
    Bad(String),
}

impl SpoolHeader {
    /// Parses a header line, without its newline.
    ///
    /// # Errors
    /// [`SpoolError`]
    pub fn parse(line: &[u8]) -> Result<Self, SpoolError> {
        #[derive(Deserialize)]
        struct SpoolSchema {
            schema: u32,
        }
        let bad = |error: serde_json::Error| SpoolError::Bad(error.to_string());
        let SpoolSchema { schema } = serde_json::from_slice(line).map_err(bad)?;
        if schema > SPOOL_SCHEMA {
            return Err(SpoolError::Newer(schema));
        }
        serde_json::from_slice(line).map_err(bad)
    }
}

impl SpooledRun {
    /// Parses a whole spool file. Output that is shorter than the header says (a power cut: spool files aren't synced)
    /// is taken as it is. Lines that the cut tore are left out.
    ///
    /// # Errors
    /// [`SpoolError`]
    pub fn parse(bytes: &[u8]) -> Result<Self, SpoolError> {
        let end = memchr::memchr(b'\n', bytes).ok_or_else(|| SpoolError::Bad("no header line".into()))?;
        let header = SpoolHeader::parse(&bytes[..end])?;
        let output = &bytes[end + 1..];
        if header.cut_bytes == 0 || header.redacted {
            return Ok(SpooledRun { header, output: output.to_vec() });
        }
        let cut = usize::try_from(header.cut_at).unwrap_or(usize::MAX).min(output.len());
        let (head, tail) = whole_lines(&output[..cut], &output[cut..]);
        Ok(SpooledRun { header, output: [head, tail].concat() })
    }
}

/// How much of a torn line is left out on each side of the cut, bytes: more than any secret has.
const TORN_LINE_BYTES_MAX: usize = 64 << 10;

/// What comes before the cut and after it, without the lines that it tore: together they would read as one line, and
/// half a secret can't be distinguished from a word.
pub(super) fn whole_lines<'a>(head: &'a [u8], tail: &'a [u8]) -> (&'a [u8], &'a [u8]) {
    let from = head.len().saturating_sub(TORN_LINE_BYTES_MAX);
    let end = memchr::memrchr(b'\n', &head[from..]).map_or(from, |newline| from + newline + 1);
    let until = tail.len().min(TORN_LINE_BYTES_MAX);
    // The newline before it stays where the head ends without one.
    let keep = usize::from(end > 0 && head[end - 1] != b'\n');
    let start = memchr::memchr(b'\n', &tail[..until]).map_or(until, |newline| newline + 1 - keep);
    (&head[..end], &tail[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torn_lines_are_left_out_up_to_a_limit() {
        let whole = |head, tail| {
            let (head, tail) = whole_lines(head, tail);
            (String::from_utf8_lossy(head).into_owned(), String::from_utf8_lossy(tail).into_owned())
        };
        assert_eq!(whole(b"a\nhalf", b"half\nb\n"), ("a\n".to_owned(), "b\n".to_owned()));
        assert_eq!(whole(b"a\n", b"\nb\n"), ("a\n".to_owned(), "b\n".to_owned()));
        assert_eq!(whole(b"", b""), (String::new(), String::new()));
        let long = vec![b'x'; TORN_LINE_BYTES_MAX + 3];
        assert_eq!(whole(&long, b"half\nb"), ("xxx".to_owned(), "\nb".to_owned()));
        assert_eq!(whole(b"a\nhalf", &long), ("a\n".to_owned(), "xxx".to_owned()));
    }
}
