//! Spool files read back.

use serde::Deserialize;

use super::spool::{Header, SPOOL_SCHEMA, Spooled};

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

impl Header {
    /// Parses a header line, without its newline.
    ///
    /// # Errors
    /// [`SpoolError`]
    pub fn parse(line: &[u8]) -> Result<Self, SpoolError> {
        #[derive(Deserialize)]
        struct Schema {
            schema: u32,
        }
        let bad = |error: serde_json::Error| SpoolError::Bad(error.to_string());
        let Schema { schema } = serde_json::from_slice(line).map_err(bad)?;
        if schema > SPOOL_SCHEMA {
            return Err(SpoolError::Newer(schema));
        }
        serde_json::from_slice(line).map_err(bad)
    }
}

impl Spooled {
    /// Parses a whole spool file. Output that is shorter than the header says (a power cut: spool files aren't synced)
    /// is taken as it is.
    ///
    /// # Errors
    /// [`SpoolError`]
    pub fn parse(bytes: &[u8]) -> Result<Self, SpoolError> {
        let end = memchr::memchr(b'\n', bytes).ok_or_else(|| SpoolError::Bad("no header line".into()))?;
        let header = Header::parse(&bytes[..end])?;
        Ok(Spooled { header, output: bytes[end + 1..].to_vec() })
    }
}
