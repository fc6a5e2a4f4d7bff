//! Does a diff revert what made a failure go away? Compares its lines with those of fixes, without blanks. Pure;
//! cannot fail.
//!
//! A hunk of a fix is reverted where, in the same file, the lines that it removed come back and those that it added
//! go, or where one of both happened because the fix did only that. Half of the lines are enough: the rest may have
//! been changed since. What only moved, and what was replaced by something else again, is not reverted: code goes on.

use std::collections::{HashMap, HashSet};

use super::patch::{FilePatch, Hunk, Patch, PatchChange, PatchKind, PatchLine};
use crate::base::text;
use crate::redact::redact_text;

/// So large a share of a hunk's telling lines has to go, or to come back.
const SHARE_MIN: f64 = 0.5;
/// Lines with fewer letters and digits say nothing about where they come from.
const TELLING_MIN: usize = 3;
/// Lines that are in every program.
const COMMON: [&str; 16] = [
    "else",
    "else{",
    "}else{",
    "end",
    "return",
    "return;",
    "break",
    "break;",
    "continue",
    "continue;",
    "pass",
    "try:",
    "else:",
    "done",
    "then",
    "Ok(())",
];
/// A file that has another path since is the same one by its name and this many of the fix's lines.
const FOLLOWED_LINES_MIN: usize = 2;
/// The text of a line, bytes.
const TEXT_BYTES_MAX: usize = 200;

/// A change that made a failure go away.
#[derive(Debug, Clone)]
pub(crate) struct Fix {
    /// `x-…`
    pub id: String,
    /// What it changed.
    pub patch: Patch,
}

/// Where a diff reverts a fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RevertedFix {
    /// The fix.
    pub id: String,
    /// The file.
    pub path: String,
    /// The first line that comes back, its number now; where none does, the first that goes, its number before.
    pub line: u32,
    /// Whether `line` is one that goes.
    pub deleted: bool,
    /// Its text, without its secrets, at most 200 bytes.
    pub text: String,
}

/// The first hunk of each fix in each file that `patch` reverts.
pub(crate) fn taken_back(patch: &Patch, fixes: &[Fix]) -> Vec<RevertedFix> {
    let everywhere = LineBalance::from_lines(patch.files.iter().flat_map(FilePatch::all_lines));
    let mut found: Vec<RevertedFix> = Vec::new();
    for fix in fixes {
        for changed in &fix.patch.files {
            let Some((file, here)) = find_counterpart(patch, changed) else { continue };
            if found.iter().any(|other| other.id == fix.id && other.path == file.new) {
                continue;
            }
            if let Some(line) =
                changed.hunks.iter().find_map(|hunk| find_undone(hunk, changed, file, &here, &everywhere))
            {
                let deleted = line.kind == PatchKind::Removed;
                found.push(RevertedFix {
                    id: fix.id.clone(),
                    path: file.new.clone(),
                    line: if deleted { line.old } else { line.new },
                    deleted,
                    text: text::ellipsis(&text::one_line(&redact_text(line.text.trim()).0), TEXT_BYTES_MAX),
                });
            }
        }
    }
    found
}

/// The file of `patch` that a fix changed, under whatever path it is now.
fn find_counterpart<'p>(patch: &'p Patch, changed: &FilePatch) -> Option<(&'p FilePatch, LineBalance)> {
    let named = patch.files.iter().find(|file| file.old == changed.new || file.new == changed.new);
    if let Some(file) = named {
        return Some((file, LineBalance::from_lines(file.all_lines())));
    }
    let name = |path: &str| path.rsplit('/').next().map(str::to_owned);
    let lines: HashSet<String> =
        changed.all_lines().filter(|line| line.kind != PatchKind::Context).filter_map(telling_text).collect();
    patch.files.iter().filter(|file| name(&file.old) == name(&changed.new)).find_map(|file| {
        let same = file.all_lines().filter(|line| line.kind != PatchKind::Context).filter_map(telling_text);
        let same = same.filter(|line| lines.contains(line)).count();
        (same >= FOLLOWED_LINES_MIN).then(|| (file, LineBalance::from_lines(file.all_lines())))
    })
}

/// How much more often each distinctive line is added than removed.
struct LineBalance(HashMap<String, i64>);

impl LineBalance {
    fn from_lines<'l>(lines: impl Iterator<Item = &'l PatchLine>) -> Self {
        let mut counts: HashMap<String, i64> = HashMap::new();
        for line in lines {
            let step = match line.kind {
                PatchKind::Added => 1,
                PatchKind::Removed => -1,
                PatchKind::Context => continue,
            };
            if let Some(text) = telling_text(line) {
                *counts.entry(text).or_default() += step;
            }
        }
        LineBalance(counts)
    }

    fn get(&self, text: &str) -> i64 {
        self.0.get(text).copied().unwrap_or_default()
    }
}

/// The line of `file` that shows that `hunk` is undone.
fn find_undone<'p>(
    hunk: &Hunk,
    changed: &FilePatch,
    file: &'p FilePatch,
    here: &LineBalance,
    everywhere: &LineBalance,
) -> Option<&'p PatchLine> {
    // What a file was deleted with is not missed there, unless the fix brought the file.
    if file.change == PatchChange::Deleted && changed.change != PatchChange::Added {
        return None;
    }
    let own = LineBalance::from_lines(hunk.lines.iter());
    let of = |kind, sign: i64| -> Vec<String> {
        let lines = hunk.lines.iter().filter(|line| line.kind == kind).filter_map(telling_text);
        lines.filter(|text| own.get(text) * sign > 0).collect()
    };
    let (added, removed) = (of(PatchKind::Added, 1), of(PatchKind::Removed, -1));
    let gone: HashSet<&str> =
        added.iter().map(String::as_str).filter(|text| here.get(text) < 0 && everywhere.get(text) < 0).collect();
    let back: HashSet<&str> = removed.iter().map(String::as_str).filter(|text| here.get(text) > 0).collect();
    let most = |part: &HashSet<&str>, all: &[String]| {
        let there = all.iter().filter(|text| part.contains(text.as_str())).count();
        !all.is_empty() && there as f64 >= SHARE_MIN * all.len() as f64
    };
    let comes_back = most(&back, &removed) && (added.is_empty() || most(&gone, &added));
    let goes = most(&gone, &added) && !is_replaced(file, &gone);
    if comes_back {
        return file
            .lines_of_kind(PatchKind::Added)
            .find(|line| telling_text(line).is_some_and(|text| back.contains(text.as_str())));
    }
    goes.then(|| {
        file.lines_of_kind(PatchKind::Removed)
            .find(|line| telling_text(line).is_some_and(|text| gone.contains(text.as_str())))
    })?
}

/// Whether something else is where these lines were.
fn is_replaced(file: &FilePatch, gone: &HashSet<&str>) -> bool {
    file.hunks.iter().any(|hunk| {
        let blocks = hunk.lines.split(|line| line.kind == PatchKind::Context);
        blocks.into_iter().any(|block| {
            let goes = |line: &PatchLine| {
                line.kind == PatchKind::Removed && telling_text(line).is_some_and(|text| gone.contains(text.as_str()))
            };
            block.iter().any(goes)
                && block.iter().any(|line| line.kind == PatchKind::Added && telling_text(line).is_some())
        })
    })
}

/// A line without blanks, if it says enough to be known again.
fn telling_text(line: &PatchLine) -> Option<String> {
    let text: String = line.text.chars().filter(|c| !c.is_whitespace()).collect();
    let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
    (letters >= TELLING_MIN && !COMMON.contains(&text.as_str())).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(body: &str) -> Patch {
        let mut diff = String::new();
        for line in body.trim_start().lines() {
            match line.strip_prefix("# ") {
                Some(path) => diff.push_str(&format!(
                    "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -10,99 +10,99 @@\n"
                )),
                None => diff.push_str(&format!("{line}\n")),
            }
        }
        Patch::parse(diff.as_bytes())
    }

    fn places(fix: &str, diff: &str) -> Vec<(String, u32, bool)> {
        let fixes = [Fix { id: "x-1".into(), patch: patch(fix) }];
        taken_back(&patch(diff), &fixes).into_iter().map(|it| (it.path, it.line, it.deleted)).collect()
    }

    const FIX: &str = "# src/cart.py\n def total(prices):\n-    return sum(prices)\n+    return sum(prices or [])\n";

    #[test]
    fn a_fix_read_backwards_is_taken_back_whatever_its_blanks() {
        let back =
            "# src/cart.py\n def total(prices):\n-        return sum(prices or [])\n+        return sum( prices )\n";
        assert_eq!(places(FIX, back), [("src/cart.py".to_owned(), 11, false)]);
    }

    #[test]
    fn what_a_fix_added_is_missed_where_nothing_stands_in_its_place() {
        let fix = "# a.py\n def f(x):\n+    if x is None:\n+        raise ValueError(x)\n     return x.y\n";
        let gone = "# a.py\n def f(x):\n-    if x is None:\n-        raise ValueError(x)\n     return x.y\n";
        assert_eq!(places(fix, gone), [("a.py".to_owned(), 11, true)]);
        let other =
            "# a.py\n def f(x):\n-    if x is None:\n-        raise ValueError(x)\n+    check(x)\n     return x.y\n";
        assert!(places(fix, other).is_empty());
        let moved = "# a.py\n def f(x):\n-    if x is None:\n-        raise ValueError(x)\n     return x.y\n# b.py\n def g(x):\n+    if x is None:\n+        raise ValueError(x)\n";
        assert!(places(fix, moved).is_empty());
    }

    #[test]
    fn what_a_fix_removed_is_noticed_when_it_comes_back() {
        let fix = "# a.py\n import os\n-import left_pad\n";
        assert_eq!(places(fix, "# a.py\n import os\n+import left_pad\n"), [("a.py".to_owned(), 11, false)]);
        assert!(places(fix, "# b.py\n import os\n+import left_pad\n").is_empty());
    }

    #[test]
    fn code_goes_on() {
        let further = "# src/cart.py\n def total(prices):\n-    return sum(prices or [])\n+    return sum(prices or [], start=0)\n";
        assert!(places(FIX, further).is_empty());
        let again = "# src/cart.py\n def other(prices):\n+    return sum(prices)\n";
        assert!(places(FIX, again).is_empty(), "the fix is still there");
        let brackets = "# a.c\n x\n+}\n+else {\n";
        assert!(places(brackets, "# a.c\n x\n-}\n-else {\n").is_empty());
    }

    #[test]
    fn a_file_is_known_under_another_path() {
        let renamed = "diff --git a/src/cart.py b/lib/basket.py\nrename from src/cart.py\nrename to lib/basket.py\n\
                       --- a/src/cart.py\n+++ b/lib/basket.py\n@@ -1,2 +1,2 @@\n def total(prices):\n\
                       -    return sum(prices or [])\n+    return sum(prices)\n";
        let fixes = [Fix { id: "x-1".into(), patch: patch(FIX) }];
        assert_eq!(taken_back(&Patch::parse(renamed.as_bytes()), &fixes)[0].path, "lib/basket.py");
        let earlier = "# lib/cart.py\n def total(prices):\n-    return sum(prices or [])\n+    return sum(prices)\n";
        assert_eq!(places(FIX, earlier), [("lib/cart.py".to_owned(), 11, false)]);
    }

    #[test]
    fn a_deleted_file_takes_its_fixes_along_but_not_one_that_brought_it() {
        let gone = |body: &str| {
            Patch::parse(format!("diff --git a/a.py b/a.py\ndeleted file mode 100644\n--- a/a.py\n+++ /dev/null\n@@ -1,9 +0,0 @@\n{body}").as_bytes())
        };
        let changed = Fix { id: "x-1".into(), patch: patch("# a.py\n def f(x):\n+    check(x)\n") };
        assert!(taken_back(&gone("-def f(x):\n-    check(x)\n"), &[changed]).is_empty());
        let mut brought = Patch::default();
        brought.add_new_file("a.py", b"def f(x):\n    check(x)\n");
        assert_eq!(
            taken_back(&gone("-def f(x):\n-    check(x)\n"), &[Fix { id: "x-2".into(), patch: brought }]).len(),
            1
        );
    }
}
