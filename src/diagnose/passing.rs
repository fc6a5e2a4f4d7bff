//! What a failed run prints that is not about its failure: what passing tests print between their verdicts, and the
//! commands that a shell traces.
//!
//! A verdict is a line that a runner begins with a word for it. What is between two passing tests belongs to one of
//! them whether the runner prints its verdicts before or behind a test's output, so that it needs no more knowledge;
//! where a line says that a test begins, or the verdict has automake's form, it is known that the verdict comes last.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use regex::bytes::Regex;

use crate::base::limits::LINE_MATCH_BYTES_MAX;
use crate::base::text::prefix;

use super::generic;
use super::rule_regex::constant_regex;

/// Lines between two verdicts that are taken for one test's.
const TEST_LINES_MAX: usize = 400;
/// Lines above a run of lines with a plus that may show that it is part of a difference.
const DIFFERENCE_LINES_MAX: usize = 30;

/// What a line is to the tests around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PassingMark {
    /// A test begins; its verdict comes behind what it prints.
    Begins,
    /// A test begins, and what it prints goes on in this line (`test_a (m.T) ... log`).
    Open,
    /// A test passed.
    Passed,
    /// … and what it printed precedes it.
    PassedAbove,
    /// The bare word for it.
    Ok,
    /// A test failed, or was skipped.
    Other,
}

fn passing_mark(line: &str) -> Option<PassingMark> {
    static MARKS: LazyLock<[(PassingMark, Regex); 6]> = LazyLock::new(|| {
        [
            (PassingMark::Begins, constant_regex(r"^(?:=== (?:RUN|CONT) +[^ ]|\[ RUN +\] |Test Case '.+' started)")),
            (PassingMark::PassedAbove, constant_regex(r"^PASS: [^ ]")),
            (
                PassingMark::Passed,
                constant_regex(
                    r"^[ \t]*(?:--- PASS: |\[ +OK \] |Test Case '.+' passed|ok [0-9]+(?: |$)|PASS(?:ED)? [^ ]|(?:\xe2\x9c\x93|\xe2\x9c\x94|\xe2\x88\x9a|\(pass\)) )|^[^ \t].* (?:\.\.\. ?(?:ok|OK|PASS(?:ED)?)|\[ok\]|\[OK\]|PASSED)(?: +\[[^\]]*\])?$",
                ),
            ),
            (PassingMark::Ok, constant_regex(r"^(?:ok|OK)$")),
            (
                PassingMark::Other,
                constant_regex(
                    r"^[ \t]*(?:--- (?:FAIL|SKIP): |\[ +(?:FAILED|SKIPPED) +\]|Test Case '.+' failed|not ok |(?:FAIL|FAILED|XFAIL|XPASS|SKIP):? [^ ]|(?:ERROR|ABORT): [^ ]|(?:\xe2\x9c\x97|\xe2\x9c\x98|\xe2\x9c\x96|\xc3\x97|\xe2\x9c\x95|\(fail\)|\(skip\)) |[=-]{20})|^[^ \t].* (?:\.\.\. ?(?:FAIL|FAILED|ERROR|skip.*|SKIP.*)|\[(?:FAIL|ERROR|SKIPPED)\]|FAILED|SKIPPED)(?: +\[[^\]]*\])?$",
                ),
            ),
            (PassingMark::Open, constant_regex(r"^[^ \t].{0,200}[^ .] \.\.\. [^ ]")),
        ]
    });
    let bytes = prefix(line, LINE_MATCH_BYTES_MAX).as_bytes();
    // What begins with a sign of its own (`✓ adds`) is none of those that begin with a word.
    let is_sign = bytes.first().is_some_and(|&byte| byte >= 0x80);
    let may_be = |mark| !is_sign || !matches!(mark, PassingMark::Begins | PassingMark::PassedAbove | PassingMark::Ok);
    may_mark(line)
        .then(|| MARKS.iter().find(|(mark, regex)| may_be(*mark) && regex.is_match(bytes)).map(|(mark, _)| *mark))?
}

/// A cheap look before the regexes.
fn may_mark(line: &str) -> bool {
    static DOTS: LazyLock<Finder> = LazyLock::new(|| Finder::new("..."));
    let text = line.trim_start().as_bytes();
    let begins = |words: &[&str]| words.iter().any(|word| text.starts_with(word.as_bytes()));
    let marked = match text.first() {
        None => return false,
        Some(b'-') => begins(&["--- ", "--------------------"]),
        Some(b'=') => begins(&["=== ", "===================="]),
        Some(b'[') => begins(&["[ "]),
        Some(b'T') => begins(&["Test Case '"]),
        Some(b'o' | b'O') => begins(&["ok ", "ok", "OK"]) && (text.len() == 2 || begins(&["ok "])),
        Some(b'n') => begins(&["not ok "]),
        Some(b'P') => begins(&["PASS"]),
        Some(b'F') => begins(&["FAIL"]),
        Some(b'X') => begins(&["XFAIL", "XPASS"]),
        Some(b'S') => begins(&["SKIP"]),
        Some(b'E') => begins(&["ERROR: "]),
        Some(b'A') => begins(&["ABORT: "]),
        Some(b'(') => begins(&["(pass) ", "(fail) ", "(skip) "]),
        Some(byte) => *byte >= 0x80,
    };
    let ends = ["PASSED", "FAILED", "SKIPPED", "[ok]", "[OK]", "[FAIL]", "[ERROR]", "%]"];
    let ended = || matches!(line.as_bytes().last(), Some(b'D' | b']')) && ends.iter().any(|end| line.ends_with(end));
    marked || ended() || DOTS.find(text).is_some()
}

/// Whether a line is a verdict of automake's form on a test that failed: the test's output is above it.
pub(super) fn failed_above(line: &str) -> bool {
    line.starts_with("FAIL: ")
}

/// Whether a line is a verdict on a test, or begins one.
pub(super) fn is_verdict(line: &str) -> bool {
    passing_mark(line).is_some()
}

/// Whether a line is a verdict on a test that passed.
pub(super) fn is_passed(line: &str) -> bool {
    matches!(passing_mark(line), Some(PassingMark::Passed | PassingMark::PassedAbove | PassingMark::Ok))
}

/// Of each line whether a passing test printed it. Nothing is where no test failed: then the reason may be anywhere.
pub(super) fn mark_passed(lines: &[&str], streams: &[Vec<(usize, usize)>]) -> Vec<bool> {
    let mut passed = vec![false; lines.len()];
    for stream in streams {
        let text = |at: usize| {
            let (index, from): (usize, usize) = stream[at];
            lines[index].get(from..).unwrap_or("")
        };
        let mut last: Option<(usize, PassingMark)> = None;
        let mut parts: Vec<std::ops::Range<usize>> = Vec::new();
        let mut fails = false;
        for at in 0..stream.len() {
            let Some(mark) = passing_mark(text(at)) else { continue };
            fails |= mark == PassingMark::Other;
            // What is indented below a failed test may be why.
            let free = |from: usize| {
                (from + 1..at).find(|&at| !text(at).trim().is_empty() && generic::indent_width(text(at)) == 0)
            };
            let part = match (last, mark) {
                (Some((from, PassingMark::Other | PassingMark::Open)), PassingMark::PassedAbove) => {
                    free(from).map(|first| first..at)
                }
                (
                    Some((
                        from,
                        PassingMark::Begins | PassingMark::Passed | PassingMark::PassedAbove | PassingMark::Ok,
                    )),
                    PassingMark::Passed,
                )
                | (Some((from, _)), PassingMark::PassedAbove) => Some(from + 1..at),
                (Some((from, PassingMark::Open)), PassingMark::Ok) => Some(from..at),
                _ => None,
            };
            parts.extend(part.filter(|part| part.len() <= TEST_LINES_MAX));
            last = Some((at, mark));
        }
        if fails {
            parts.into_iter().flatten().for_each(|at| passed[stream[at].0] = true);
        }
    }
    passed
}

/// Of each line whether a shell traced a command with it (`+ make check`), and it is no side of a difference.
pub(super) fn mark_traced(lines: &[&str]) -> Vec<bool> {
    let is_trace = |line: &str| {
        let command = line.trim_start_matches('+');
        line.len() > command.len()
            && line.len() - command.len() < 8
            && command.strip_prefix(' ').is_some_and(|command| {
                command.starts_with(|c: char| {
                    c.is_ascii_alphabetic() || matches!(c, '/' | '.' | '_' | '[' | '\'' | '"' | '$' | '(' | ':')
                })
            })
    };
    let mut traced = vec![false; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        if !is_trace(lines[at]) {
            at += 1;
            continue;
        }
        let end = at + lines[at..].iter().take_while(|line| is_trace(line)).count();
        let near = [at.checked_sub(1), Some(end)].into_iter().flatten().filter_map(|line| lines.get(line));
        let sides = near.into_iter().any(|line| line.trim_start().starts_with(['-', '+', '?', '@']));
        let mut above = lines[at.saturating_sub(DIFFERENCE_LINES_MAX)..at].iter();
        let differs =
            sides || above.any(|line| line.starts_with("@@") || line.starts_with("--- ") || line.starts_with("- "));
        traced[at..end].fill(!differs);
        at = end;
    }
    traced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passing(lines: &[&str]) -> Vec<usize> {
        let streams = vec![(0..lines.len()).map(|index| (index, 0)).collect()];
        let passed = mark_passed(lines, &streams);
        (0..lines.len()).filter(|&index| passed[index]).collect()
    }

    #[test]
    fn what_stands_between_two_passing_tests_is_theirs_and_what_stands_beside_a_failing_one_may_be_why() {
        assert_eq!(passing(&["ok 1 - a", "error: x", "ok 2 - b", "not ok 3 - c", "# got 7", "ok 4 - d"]), [1]);
        assert_eq!(
            passing(&["=== RUN   A", "a.go:3: x", "--- PASS: A", "=== RUN   B", "b.go:4: y", "--- FAIL: B"]),
            [1]
        );
        assert_eq!(passing(&["a (m.T) ... log", "more", "ok", "b (m.T) ... FAIL"]), [0, 1]);
        assert_eq!(passing(&["PASS: a", "x", "FAIL: b", "    why", "y", "PASS: c"]), [4]);
        assert!(passing(&["ok 1 - a", "ERROR: x", "ok 2 - b"]).is_empty(), "nothing failed, so anything may be why");
    }

    #[test]
    fn traced_commands_are_told_from_sides_of_a_difference() {
        let all = |lines: &[&str]| {
            let traced = mark_traced(lines);
            (0..lines.len()).filter(|&index| traced[index]).collect::<Vec<_>>()
        };
        assert_eq!(all(&["+ set -e", "++ pwd", "done", "+ '[' -n x ']'", "x"]), [0, 1, 3]);
        assert!(all(&["- {'a': 5}", "?  ^", "", "+ {'a': 6}", "?  ^"]).is_empty());
        assert!(all(&["--- a", "+++ b", "@@ -1 +1,2 @@", " x", "+ y"]).is_empty());
    }
}
