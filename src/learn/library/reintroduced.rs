//! Whether a change brings back what a deprecated page shows: the lines that it adds are all among those that the change adds to
//! one file.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::fix::patch::{FilePatch, Patch, PatchChange, PatchKind};

/// Letters and digits of a line that tell it from others.
const LINE_CHARS_MIN: usize = 8;
/// Places that are named.
const PLACES_MAX: usize = 100;

/// The change of a deprecated page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeprecatedChange {
    /// `a-…`
    pub page: String,
    /// Its title.
    pub title: String,
    /// Why it is deprecated, if that is recorded.
    pub reason: Option<String>,
    /// The telling lines that it adds, without blanks at their ends.
    lines: BTreeSet<String>,
}

/// Where a deprecated change is brought back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ReintroducedChange {
    /// `a-…`
    pub page: String,
    /// Its title.
    pub title: String,
    /// Why it is deprecated, if that is recorded.
    pub reason: Option<String>,
    /// The file.
    pub path: String,
    /// The first line of it, its number now.
    pub line: u32,
    /// Text of the line.
    pub text: String,
}

impl DeprecatedChange {
    /// Of a page's text; `None` when it adds no telling line.
    pub(crate) fn from_page(page: &str, title: &str, reason: Option<String>, text: &str) -> Option<Self> {
        let block = text.split("```diff\n").nth(1)?.split("\n```").next()?;
        let added = block.lines().filter(|line| !line.starts_with("+++ ")).filter_map(|line| line.strip_prefix('+'));
        let lines: BTreeSet<String> = added.filter_map(telling_line).collect();
        let (page, title) = (page.to_owned(), title.to_owned());
        (!lines.is_empty()).then_some(DeprecatedChange { page, title, reason, lines })
    }

    fn find_in(&self, file: &FilePatch, removed: &BTreeSet<String>) -> Option<ReintroducedChange> {
        let added = file.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind == PatchKind::Added);
        let mut left = self.lines.clone();
        let mut first = None;
        for line in added {
            let Some(text) = telling_line(&line.text) else { continue };
            if left.remove(&text) && first.is_none() {
                first = Some((line.new, text));
            }
        }
        // Lines that only move were there before.
        let is_moved = self.lines.iter().all(|line| removed.contains(line));
        let (line, text) = first.filter(|_| left.is_empty() && !is_moved)?;
        let (page, title, reason) = (self.page.clone(), self.title.clone(), self.reason.clone());
        Some(ReintroducedChange { page, title, reason, path: file.new.clone(), line, text })
    }
}

/// Where a change brings back deprecated ones, in the order of its files.
pub(crate) fn find_reintroduced(patch: &Patch, deprecated: &[DeprecatedChange]) -> Vec<ReintroducedChange> {
    if deprecated.is_empty() {
        return Vec::new();
    }
    let lines = patch.files.iter().flat_map(|file| &file.hunks).flat_map(|hunk| &hunk.lines);
    let removed: BTreeSet<String> =
        lines.filter(|line| line.kind == PatchKind::Removed).filter_map(|line| telling_line(&line.text)).collect();
    let kept = patch.files.iter().filter(|file| file.change != PatchChange::Deleted);
    kept.flat_map(|file| deprecated.iter().filter_map(|change| change.find_in(file, &removed)))
        .take(PLACES_MAX)
        .collect()
}

/// A line that says something, with one blank between its words.
fn telling_line(line: &str) -> Option<String> {
    let says = line.chars().filter(|c| c.is_alphanumeric()).count() >= LINE_CHARS_MIN;
    says.then(|| line.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A\n\n```diff\n--- a/a.py\n+++ b/a.py\n@@ -1 +1,3 @@\n-old\n+    rows = await query()\n+    }\n+    return rows[:10]\n```\n";

    fn found(body: &str) -> Vec<(String, u32)> {
        let change = DeprecatedChange::from_page("a-1", "Await", None, PAGE).expect("a change");
        let text = format!("diff --git a/b.py b/b.py\n--- a/b.py\n+++ b/b.py\n@@ -1,2 +1,3 @@\n{body}");
        let found = find_reintroduced(&Patch::parse(text.as_bytes()), &[change]);
        found.into_iter().map(|it| (it.path, it.line)).collect()
    }

    #[test]
    fn all_telling_lines_in_one_file_bring_it_back() {
        assert_eq!(found(" x\n+  return  rows[:10]\n+\trows = await query()\n"), [("b.py".to_owned(), 2)]);
        assert!(found(" x\n+    rows = await query()\n").is_empty(), "only a part of it");
        assert!(found("-    rows = await query()\n-    return rows[:10]\n").is_empty(), "it goes");
    }

    #[test]
    fn lines_that_move_are_not_brought_back() {
        let moved = "-    rows = await query()\n-    return rows[:10]\n+  rows = await query()\n+  return rows[:10]\n";
        assert!(found(moved).is_empty());
    }

    #[test]
    fn a_page_that_adds_nothing_telling_is_never_brought_back() {
        let page = "```diff\n+++ b/a\n@@ -1 +1 @@\n-old line of code\n+    }\n```\n";
        assert_eq!(DeprecatedChange::from_page("a-1", "t", None, page), None);
        assert_eq!(DeprecatedChange::from_page("a-1", "t", None, "no diff"), None);
    }
}
