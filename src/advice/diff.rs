//! What a change does to a file, as a unified diff that `git apply` and `patch -p1` take.

use similar::{DiffTag, TextDiff};

use crate::base::text::printable;

/// Lines around the change.
const CONTEXT_LINES: usize = 3;

/// The diff of `path` (relative, with `/`) from `before` (`None`: there is no such file) to `after` (`None`: it goes).
/// Empty when nothing changes.
///
/// Control characters are left out, but for line ends: of a file that has some in these lines the diff is for people.
pub(crate) fn unified_diff(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let path = printable(path).replace(['\n', '\t'], " ");
    let name = |side: &str, is_there: bool| if is_there { format!("{side}/{path}") } else { "/dev/null".to_owned() };
    let mut out = format!("--- {}\n+++ {}\n", name("a", before.is_some()), name("b", after.is_some()));
    let old_lines: Vec<&str> = before.unwrap_or_default().split_inclusive('\n').collect();
    let new_lines: Vec<&str> = after.unwrap_or_default().split_inclusive('\n').collect();
    let diff = TextDiff::from_slices(&old_lines, &new_lines);
    for hunk in diff.grouped_ops(CONTEXT_LINES) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { continue };
        // A side without lines is counted from the line before it.
        let range = |start: usize, end: usize| format!("{},{}", start + usize::from(end > start), end - start);
        let old = range(first.old_range().start, last.old_range().end);
        let new = range(first.new_range().start, last.new_range().end);
        out.push_str(&format!("@@ -{old} +{new} @@\n"));
        for op in &hunk {
            let (tag, old, new) = op.as_tag_tuple();
            let (old, new) = (old_lines[old].iter(), new_lines[new].iter());
            if tag == DiffTag::Equal {
                old.for_each(|line| push_line(&mut out, ' ', line));
            } else {
                old.for_each(|line| push_line(&mut out, '-', line));
                new.for_each(|line| push_line(&mut out, '+', line));
            }
        }
    }
    out
}

fn push_line(out: &mut String, sign: char, line: &str) {
    out.push(sign);
    out.push_str(&printable_line(line));
    if !line.ends_with('\n') {
        out.push_str("\n\\ No newline at end of file\n");
    }
}

fn printable_line(line: &str) -> String {
    let end = if line.ends_with("\r\n") {
        "\r\n"
    } else if line.ends_with('\n') {
        "\n"
    } else {
        ""
    };
    format!("{}{end}", printable(line.trim_end_matches(['\r', '\n'])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_in_the_middle_has_three_lines_around_it() {
        let before = "1\n2\n3\n4\n5\n6\n7\n8\n";
        let after = "1\n2\n3\n4\nnew\n5\n6\n7\n8\n";
        let diff = unified_diff("docs/A.md", Some(before), Some(after));
        assert_eq!(diff, "--- a/docs/A.md\n+++ b/docs/A.md\n@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+new\n 5\n 6\n 7\n");
        assert_eq!(unified_diff("A.md", Some(before), Some(before)), "");
    }

    #[test]
    fn changes_far_apart_are_shown_one_by_one() {
        let before: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let after = before.replacen("2\n", "2\nnew\n", 1).replacen("18\n", "eighteen\n", 1);
        let diff = unified_diff("A.md", Some(&before), Some(&after));
        let hunks =
            "@@ -1,5 +1,6 @@\n 1\n 2\n+new\n 3\n 4\n 5\n@@ -15,6 +16,6 @@\n 15\n 16\n 17\n-18\n+eighteen\n 19\n 20\n";
        assert_eq!(diff, format!("--- a/A.md\n+++ b/A.md\n{hunks}"));
    }

    #[test]
    fn files_that_come_and_go_and_last_lines_without_an_end() {
        assert_eq!(unified_diff("A.md", None, Some("x\n")), "--- /dev/null\n+++ b/A.md\n@@ -0,0 +1,1 @@\n+x\n");
        assert_eq!(unified_diff("A.md", Some("x\n"), None), "--- a/A.md\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n");
        let diff = unified_diff("A.md", Some("a\nb"), Some("a\nb\nc\n"));
        assert_eq!(diff, "--- a/A.md\n+++ b/A.md\n@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+b\n+c\n");
    }

    #[test]
    fn control_characters_are_left_out_but_not_line_ends() {
        let diff = unified_diff("A\x1b.md", Some("a\x1b[31m\u{202e}\r\n"), Some("a\x1b[31m\u{202e}\r\nb\r\n"));
        assert_eq!(diff, "--- a/A.md\n+++ b/A.md\n@@ -1,1 +1,2 @@\n a[31m\r\n+b\r\n");
    }
}
