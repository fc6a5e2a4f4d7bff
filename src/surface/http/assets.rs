//! What every page loads: its style sheet and the script. Pages ask for them by an address that names the content, so that
//! a browser keeps them: without that it asks again before it shows anything of a page.

use std::sync::LazyLock;

use super::reply::digest_text;

/// The style sheet.
pub(super) const STYLE: &str = include_str!("style.css");
/// The script.
pub(super) const SCRIPT: &str = include_str!("app.js");

/// The parameter that names the content.
pub(super) const CONTENT: &str = "content";

/// How it is kept where its content was named: a year.
pub(super) const KEPT: &str = "private, max-age=31536000, immutable";

/// What names the content of both.
pub(super) fn content_name() -> &'static str {
    static NAME: LazyLock<String> = LazyLock::new(|| digest_text([STYLE, SCRIPT].concat().as_bytes()));
    &NAME
}
