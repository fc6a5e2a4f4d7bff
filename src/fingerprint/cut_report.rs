//! A failing test of which only a cut summary line was seen, and the same failure seen whole.
//!
//! pytest cuts `FAILED tests/x.py::test_a - AssertionError: assert…` at the terminal's width and leaves the message out
//! where nothing of it fits; `--tb=no` prints nothing else.

use super::tool_class;

/// What a report says of a failing test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReportedFailure<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The rule's code or the exception's class.
    pub code: Option<&'a str>,
    /// The message, as printed.
    pub message: &'a str,
}

/// Whether one of two reports of one failing test is the beginning of the other. Digits are one digit each: line numbers
/// and addresses change.
pub(crate) fn is_cut_copy(one: ReportedFailure<'_>, other: ReportedFailure<'_>) -> bool {
    tool_class(one.tool) == tool_class(other.tool) && (is_beginning_of(one, other) || is_beginning_of(other, one))
}

/// Whether `cut` ends in an ellipsis, or is empty, and `whole` begins with the rest of it.
fn is_beginning_of(cut: ReportedFailure<'_>, whole: ReportedFailure<'_>) -> bool {
    let Some(beginning) = cut_beginning(cut.message) else { return false };
    let beginning = fold_digits(beginning);
    let message = fold_digits(whole.message);
    message.starts_with(&beginning)
        || whole.code.is_some_and(|code| format!("{}: {message}", fold_digits(code)).starts_with(&beginning))
}

/// What is left of a cut message, its first line; `None` of one that is whole.
fn cut_beginning(message: &str) -> Option<&str> {
    let line = message.lines().next().unwrap_or_default().trim_end();
    let left = line.strip_suffix("...").or_else(|| line.strip_suffix('…'));
    left.or(line.is_empty().then_some(line))
}

fn fold_digits(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_one(cut: &str, (code, whole): (Option<&str>, &str)) -> bool {
        let [cut, whole] =
            [(None, cut), (code, whole)].map(|(code, message)| ReportedFailure { tool: "pytest", code, message });
        assert_eq!(is_cut_copy(cut, whole), is_cut_copy(whole, cut), "either may come first");
        is_cut_copy(cut, whole)
    }

    #[test]
    fn the_beginning_of_a_message_is_the_message() {
        let whole = (Some("AssertionError"), "assert 'FAKENAME' == 'fakename'");
        for cut in ["AssertionError: assert 'FAKEN...", "AssertionError...", "assert 'FAK…", "Asse...", "..."] {
            assert!(is_one(cut, whole), "{cut}");
        }
        assert!(is_one("", whole), "nothing of it fitted");
        assert!(is_one("TimeoutError: after 1.52 s at 0x7f...", (None, "TimeoutError: after 2.07 s at 0x1f00")));
    }

    #[test]
    fn another_message_is_another_failure() {
        for cut in
            ["KeyError: 'name...", "assert 'other' == 'fak...", "AssertionError: assert 'FAKENAME' == 'fakename'"]
        {
            assert!(!is_one(cut, (Some("AssertionError"), "assert 'FAKENAME' == 'fakename'")), "{cut}");
        }
        let of = |tool| ReportedFailure { tool, code: None, message: "assert..." };
        assert!(!is_cut_copy(of("pytest"), of("jest")), "another tool's test may have the same name");
    }
}
