//! Tests of the documents together: the acceptance list of the gate, and arbitrary texts.

mod adr;
mod changelog;
mod hostile;
mod openapi;
mod readme;

use super::{ChangedDocument, DocumentAnswer};

/// The answer in one line, with the places of its findings.
fn shown_answer(answer: &DocumentAnswer) -> String {
    match answer {
        DocumentAnswer::Met { details } => format!("met: {details}"),
        DocumentAnswer::NotApplicable { reason } => format!("not applicable: {reason}"),
        DocumentAnswer::NotMet { findings } => {
            let place = |line: Option<u32>| line.map_or_else(String::new, |line| format!(":{line}"));
            let finding = |it: &super::DocumentFinding| {
                format!("{}{} {}", it.path.as_deref().unwrap_or("-"), place(it.line), it.message)
            };
            format!("not met: {}", findings.iter().map(finding).collect::<Vec<_>>().join("; "))
        }
    }
}

fn changed<'a>(path: &'a str, before: &'a str, after: &'a str) -> ChangedDocument<'a> {
    ChangedDocument::compare_texts(path, Some(before), Some(after))
}

fn added<'a>(path: &'a str, after: &'a str) -> ChangedDocument<'a> {
    ChangedDocument::compare_texts(path, None, Some(after))
}

#[test]
fn added_lines_are_those_of_a_diff() {
    let document = changed("a", "a\nb\nc\n", "a\nx\nb\n\nc\ny\n");
    assert_eq!(document.added_lines, [2, 4, 6]);
    assert_eq!(document.fresh_texts(), [(2, "x"), (6, "y")]);
    assert_eq!(document.removed_texts(), Vec::<&str>::new());
    let moved = changed("a", "a\nb\nc\nd\n", "d\n  a\nb\nc\n");
    assert!(!moved.added_lines.is_empty() && moved.fresh_texts().is_empty());
    assert_eq!(changed("a", "a\nb\n", "b\n").removed_texts(), ["a"]);
    assert_eq!(added("a", "x\ny\n").added_lines, [1, 2]);
    let known = ChangedDocument::with_added_lines("a", None, Some("x\ny\n"), vec![9, 2, 2]);
    assert_eq!(known.added_texts().collect::<Vec<_>>(), [(2, "y")]);
}

#[test]
fn more_findings_than_the_limit_are_counted() {
    let answer = DocumentAnswer::not_met((0..300).map(|n| super::DocumentFinding::new(n.to_string())).collect());
    let DocumentAnswer::NotMet { findings } = answer else { panic!("not met") };
    assert_eq!((findings.len(), findings[199].message.as_str()), (200, "101 more findings are not listed"));
}
