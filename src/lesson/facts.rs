//! The facts of a lesson.

use crate::base::clock::Timestamp;
use crate::diagnose::{Category, Diagnostic, Shortfall};
use crate::run::CommandEnd;

/// Everything a lesson file says about one failed run. Texts come from tools: they are redacted already, and made
/// safe for Markdown when rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct LessonFacts {
    /// `l-…`
    pub id: String,
    /// When the run ended.
    pub recorded_at: Timestamp,
    /// The recognised check's tool, else the program's name.
    pub tool: String,
    /// What to call the file: what the leading pattern has in every clone.
    pub about: String,
    /// The command line to type, quoted for a shell; see [`crate::redact::redact_args`] and `shell-words`.
    pub command: String,
    /// Where it ran, relative to the root; empty at the root.
    pub dir: String,
    /// How it ended.
    pub ended: CommandEnd,
    /// What kind of failure it is.
    pub category: Category,
    /// Affected files, relative to the root, sorted.
    pub files: Vec<String>,
    /// Files beyond the limit, not in `files`.
    pub files_cut: usize,
    /// Diagnostics and failing tests in output order.
    pub items: Vec<Diagnostic>,
    /// Items beyond the limit, not in `items`.
    pub items_cut: usize,
    /// Problems that were found, those in `items_cut` too; an item that only says how the run ended is none.
    pub problems: usize,
    /// Where a tool counts more than was read of its output.
    pub shortfalls: Vec<Shortfall>,
    /// Lines worth keeping, in output order.
    pub lines: Vec<String>,
    /// Pattern ids (`p-…`) or keys, sorted.
    pub patterns: Vec<String>,
    /// Patterns beyond the limit, not in `patterns`.
    pub patterns_cut: usize,
    /// Task of the run.
    pub task: Option<String>,
    /// Agent, the kind of worker.
    pub agent: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The commit.
    pub commit: Option<String>,
    /// Secrets replaced.
    pub redactions: usize,
    /// Bytes of output that were not kept.
    pub cut_bytes: u64,
    /// Why it happened, if recorded.
    pub cause: Option<String>,
    /// What made it go away, if recorded.
    pub resolution: Option<String>,
    /// What to do so that it does not happen again, if recorded.
    pub corrective_rule: Option<String>,
}

/// Longest slug in a file's name, bytes.
const SLUG_BYTES_MAX: usize = 40;
/// Longest tool name in a file's name, bytes.
const TOOL_BYTES_MAX: usize = 20;

impl LessonFacts {
    /// The file's name, `<tool>-<slug>-<id>.md`: lower-case letters, digits and dashes. The same in every clone, so that a
    /// pattern has one file.
    pub fn file_name(&self) -> String {
        lesson_file_name(self.items.first().map_or(&self.tool, |item| &item.tool), &self.about, &self.id)
    }
}

/// The name of the file of the lesson `id`, from the tool that failed and what it said; see [`LessonFacts::file_name`].
pub fn lesson_file_name(tool: &str, about: &str, id: &str) -> String {
    let (tool, what) = (make_slug(tool, TOOL_BYTES_MAX), make_slug(about, SLUG_BYTES_MAX));
    let parts: Vec<&str> = [tool.as_str(), &what, id].into_iter().filter(|part| !part.is_empty()).collect();
    format!("{}.md", parts.join("-"))
}

/// `text` as lower-case words joined by dashes, at most `max` bytes, cut at a word where that leaves enough.
fn make_slug(text: &str, max: usize) -> String {
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
    use super::make_slug;

    #[test]
    fn slugs_are_safe_and_bounded() {
        assert_eq!(make_slug("test_x::adds > two/..", 40), "test-x-adds-two");
        assert_eq!(make_slug("../../etc/passwd\0\n", 40), "etc-passwd");
        assert_eq!(make_slug("日本", 40), "");
        assert_eq!(make_slug("expected one thing but got another", 20), "expected-one-thing");
        assert_eq!(make_slug(&"x".repeat(100), 20).len(), 20);
    }
}
