//! Text escaped for its destination.

use std::fmt::Write as _;

use crate::base::limits::MESSAGE_BYTES_MAX;
use crate::base::text::{ellipsis, printable};

/// `text` without control characters and cut to a message's length.
pub(super) fn bounded_text(text: &str) -> String {
    ellipsis(&printable(text), MESSAGE_BYTES_MAX)
}

/// A path as a URI reference: relative to the root with `/`, absolute ones as `file://…` (RFC 3986, RFC 8089).
pub(super) fn percent_encoded_uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}
