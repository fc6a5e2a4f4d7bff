//! Recorded text as HTML.

use crate::base::text::code_points_shown;

/// A text as the content of an element or of a quoted attribute, with what no screen shows as its code points.
pub(super) fn escape_html(text: &str) -> String {
    let text = code_points_shown(text);
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            c => out.push(c),
        }
    }
    out
}
