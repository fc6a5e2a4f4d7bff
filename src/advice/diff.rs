//! What a change of one place does to a file, as a unified diff that `git apply` and `patch -p1` take.

use crate::base::text::printable;

/// Lines around the change.
const CONTEXT_LINES: usize = 3;

/// The diff of `path` (relative, with `/`) from `before` (`None`: there is no such file) to `after` (`None`: it goes).
/// Empty when nothing changes. Everything between the first and the last line that differ is one hunk: a block is
/// written in one place.
///
/// Control characters are left out, but for line ends: of a file that has some in these lines the diff is for people.
pub fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let lines = |text: Option<&str>| -> Vec<String> {
        text.unwrap_or_default().split_inclusive('\n').map(str::to_owned).collect()
    };
    let (old, new) = (lines(before), lines(after));
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = (old.len() - head).min(new.len() - head);
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let first = head.saturating_sub(CONTEXT_LINES);
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let after_it = tail.min(CONTEXT_LINES);
    let path = printable(path).replace(['\n', '\t'], " ");
    let name = |side: &str, is_there: bool| if is_there { format!("{side}/{path}") } else { "/dev/null".to_owned() };
    let mut out = format!("--- {}\n+++ {}\n", name("a", before.is_some()), name("b", after.is_some()));
    if old.is_empty() && new.is_empty() {
        return out;
    }
    let range = |end: usize| {
        let count = end + after_it - first;
        // A side without lines is counted from the line before it.
        format!("{},{count}", if count == 0 { first } else { first + 1 })
    };
    out.push_str(&format!("@@ -{} +{} @@\n", range(old_end), range(new_end)));
    let mut put = |sign: char, lines: &[String]| {
        for line in lines {
            out.push(sign);
            out.push_str(&shown(line));
            if !line.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    put(' ', &old[first..head]);
    put('-', &old[head..old_end]);
    put('+', &new[head..new_end]);
    put(' ', &old[old_end..old_end + after_it]);
    out
}

fn shown(line: &str) -> String {
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
        let diff = unified("docs/A.md", Some(before), Some(after));
        assert_eq!(diff, "--- a/docs/A.md\n+++ b/docs/A.md\n@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+new\n 5\n 6\n 7\n");
        assert_eq!(unified("A.md", Some(before), Some(before)), "");
    }

    #[test]
    fn files_that_come_and_go_and_last_lines_without_an_end() {
        assert_eq!(unified("A.md", None, Some("x\n")), "--- /dev/null\n+++ b/A.md\n@@ -0,0 +1,1 @@\n+x\n");
        assert_eq!(unified("A.md", Some("x\n"), None), "--- a/A.md\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n");
        let diff = unified("A.md", Some("a\nb"), Some("a\nb\nc\n"));
        assert_eq!(diff, "--- a/A.md\n+++ b/A.md\n@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+b\n+c\n");
    }

    #[test]
    fn control_characters_are_left_out_but_not_line_ends() {
        let diff = unified("A\x1b.md", Some("a\x1b[31m\u{202e}\r\n"), Some("a\x1b[31m\u{202e}\r\nb\r\n"));
        assert_eq!(diff, "--- a/A.md\n+++ b/A.md\n@@ -1,1 +1,2 @@\n a[31m\r\n+b\r\n");
    }
}
