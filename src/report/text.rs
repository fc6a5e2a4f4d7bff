//! Text escaped for its destination.

use std::fmt::Write as _;

use crate::base::limits::MESSAGE_BYTES_MAX;
use crate::base::text::{ellipsis, printable};

/// `text` without control characters and cut to a message's length.
pub(super) fn bounded_text(text: &str) -> String {
    ellipsis(&printable(text), MESSAGE_BYTES_MAX)
}

/// `text` for XML 1.0, in content or an attribute: characters that it has no way to write are left out (section 2.2).
pub(super) fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in bounded_text(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            // An attribute's line ends would be read as spaces.
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c => escaped.push(c),
        }
    }
    escaped
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
