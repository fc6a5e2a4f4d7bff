//! What a lesson is made of.

use crate::base::clock::Timestamp;
use crate::base::text;
use crate::diagnose::{Category, Item, Shortfall};
use crate::run::Ended;

/// Everything a lesson file says about one failed run. Texts come from tools: they are redacted already, and made
/// safe for Markdown when rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// `l-…`
    pub id: String,
    /// When the run ended.
    pub recorded_at: Timestamp,
    /// The recognised check's tool, else the program's name.
    pub tool: String,
    /// The command line to type, quoted for a shell; see [`crate::diagnose::redact::redact_args`] and `shell-words`.
    pub command: String,
    /// Where it ran, relative to the root; empty at the root.
    pub dir: String,
    /// How it ended.
    pub ended: Ended,
    /// What kind of failure it is.
    pub category: Category,
    /// Affected files, relative to the root, sorted.
    pub files: Vec<String>,
    /// Files beyond the limit, not in `files`.
    pub files_cut: usize,
    /// Diagnostics and failing tests in output order.
    pub items: Vec<Item>,
    /// Items beyond the limit, not in `items`.
    pub items_cut: usize,
    /// Where a tool counts more than was read of its output.
    pub shortfalls: Vec<Shortfall>,
    /// Lines worth keeping, in output order.
    pub lines: Vec<String>,
    /// Pattern ids (`p-…`) or keys, sorted.
    pub patterns: Vec<String>,
    /// Patterns beyond the limit, not in `patterns`.
    pub patterns_cut: usize,
    /// What was being worked on.
    pub task: Option<String>,
    /// Who worked on it in one sitting.
    pub session: Option<String>,
    /// Which kind of worker.
    pub agent: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The commit.
    pub commit: Option<String>,
    /// Secrets replaced.
    pub redactions: usize,
    /// Bytes of output that were not kept.
    pub cut_bytes: u64,
}

/// Longest slug in a file's name, bytes.
const SLUG_BYTES_MAX: usize = 40;
/// Longest tool name in a file's name, bytes.
const TOOL_BYTES_MAX: usize = 20;

impl Facts {
    /// The file's name, `<date>-<tool>-<slug>-<id>.md`: lower-case letters, digits and dashes. The date is UTC, so that
    /// the name follows from the facts alone.
    pub fn file_name(&self) -> String {
        let date = self.recorded_at.rfc3339();
        let tool = slug(&self.tool, TOOL_BYTES_MAX);
        let what = slug(self.subject(), SLUG_BYTES_MAX);
        let parts = [text::prefix(&date, 10), &tool, &what, &self.id];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        format!("{}.md", parts.join("-"))
    }

    /// What to call the failure: the first test, else code, else message.
    fn subject(&self) -> &str {
        let item = self.items.first();
        let named = item.and_then(|item| item.test.as_deref().or(item.code.as_deref()));
        let message = item.map(|item| item.message.as_str()).filter(|message| !message.is_empty());
        named.or(message).unwrap_or("failure")
    }
}

/// `text` as lower-case words joined by dashes, at most `max` bytes, cut at a word where that leaves enough.
fn slug(text: &str, max: usize) -> String {
    let mut slug = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() > max {
            let cut = slug[..max].rfind('-').filter(|&at| at > max / 2).unwrap_or(max);
            slug.truncate(cut);
            break;
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::slug;

    #[test]
    fn slugs_are_safe_and_bounded() {
        assert_eq!(slug("test_x::adds > two/..", 40), "test-x-adds-two");
        assert_eq!(slug("../../etc/passwd\0\n", 40), "etc-passwd");
        assert_eq!(slug("日本", 40), "");
        assert_eq!(slug("expected one thing but got another", 20), "expected-one-thing");
        assert_eq!(slug(&"x".repeat(100), 20).len(), 20);
    }
}
