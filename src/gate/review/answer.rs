//! What a reviewer answers on its standard output. It is data: nothing in it approves anything.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::request::REVIEW_SCHEMA;
use crate::base::text;
use crate::diagnose;
use crate::event::{GateReviewIssue, ReviewSeverity};

/// The whole answer, bytes.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Issues that are kept, and links that are tried.
const ISSUES_MAX: usize = 200;
const LINKS_MAX: usize = 20;
/// A text of the answer, and a name in it, bytes.
const TEXT_BYTES_MAX: usize = 1_000;
const NAME_BYTES_MAX: usize = 200;

/// The answer as it is written.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub(crate) struct ReviewAnswer {
    /// Version of the protocol, 1.
    schema: Option<u32>,
    /// The language model that reviewed. An answer without it is none.
    model: String,
    /// `APPROVE` or `REJECT`: shown, without effect.
    verdict: Option<String>,
    /// What is wrong with the change.
    issues: Vec<AnsweredIssue>,
    /// Tests that could prove acceptance criteria. They are run; a test covers a criterion only once it names it.
    criteria: Vec<AnsweredLink>,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
struct AnsweredIssue {
    /// `low`, `medium` or `high`.
    severity: String,
    /// A changed file, relative to the root.
    file: Option<String>,
    /// A changed line of it, from 1.
    line: Option<u32>,
    /// What is wrong.
    text: String,
    /// What helps.
    fix: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
struct AnsweredLink {
    /// `AC-2`
    id: String,
    /// The test: `tests/test_api.py::test_page_size`.
    test: String,
}

/// A review as it counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AnsweredReview {
    /// The model, as it names itself.
    pub model: String,
    /// Its verdict, without effect.
    pub verdict: Option<String>,
    /// Its issues that are about the change.
    pub issues: Vec<GateReviewIssue>,
    /// Issues about anything else, without a text, or beyond the limit.
    pub dropped: u64,
    /// Ids of criteria with the tests that could prove them.
    pub links: Vec<(String, String)>,
}

/// The changed files with their changed lines: issues about anything else are dropped.
pub(crate) type ReviewedLines<'a> = BTreeMap<&'a str, BTreeSet<u32>>;

/// Reads an answer. `wanted` is the configured model.
///
/// # Errors
/// Why it is none, a lowercase fragment.
pub(crate) fn read_review(
    answer: &[u8],
    wanted: Option<&str>,
    lines: &ReviewedLines<'_>,
    may_block: bool,
) -> Result<AnsweredReview, String> {
    if answer.len() > ANSWER_BYTES_MAX {
        return Err(format!("its answer is longer than {} KiB", ANSWER_BYTES_MAX >> 10));
    }
    let read: ReviewAnswer = serde_json::from_slice(answer.trim_ascii())
        .map_err(|error| format!("its answer is no JSON of this kind ({error})"))?;
    if read.schema.is_some_and(|schema| schema > REVIEW_SCHEMA) {
        return Err("its answer is of a newer protocol".to_owned());
    }
    let model = clean(&read.model, NAME_BYTES_MAX);
    if model.is_empty() {
        return Err("its answer names no model".to_owned());
    }
    if let Some(wanted) = wanted.filter(|wanted| !is_model(&model, wanted)) {
        return Err(format!("it was done by {model}, and {wanted} is configured"));
    }
    let mut review = AnsweredReview { model, ..AnsweredReview::default() };
    review.verdict = read.verdict.map(|verdict| clean(&verdict, NAME_BYTES_MAX)).filter(|verdict| !verdict.is_empty());
    for issue in read.issues {
        match read_issue(issue, lines, may_block) {
            Some(issue) if review.issues.len() < ISSUES_MAX => review.issues.push(issue),
            _ => review.dropped += 1,
        }
    }
    let links = read.criteria.into_iter().take(LINKS_MAX);
    let links = links.map(|link| (clean(&link.id, NAME_BYTES_MAX), clean(&link.test, NAME_BYTES_MAX)));
    review.links = links.filter(|(id, test)| !id.is_empty() && !test.is_empty()).collect();
    Ok(review)
}

fn read_issue(issue: AnsweredIssue, lines: &ReviewedLines<'_>, may_block: bool) -> Option<GateReviewIssue> {
    let message = clean(&issue.text, TEXT_BYTES_MAX);
    if message.is_empty() {
        return None;
    }
    let path = issue.file.map(|file| file.trim_start_matches("./").to_owned()).filter(|file| !file.is_empty());
    match (&path, issue.line) {
        (Some(path), Some(line)) if !lines.get(path.as_str())?.contains(&line) => return None,
        (Some(path), None) if !lines.contains_key(path.as_str()) => return None,
        (None, Some(_)) => return None,
        _ => {}
    }
    let severity = match issue.severity.to_lowercase().as_str() {
        "high" | "critical" | "error" => ReviewSeverity::High,
        "low" | "info" | "note" => ReviewSeverity::Low,
        _ => ReviewSeverity::Medium,
    };
    let fix = issue.fix.map(|fix| clean(&fix, TEXT_BYTES_MAX)).filter(|fix| !fix.is_empty());
    let blocking = may_block && severity == ReviewSeverity::High;
    Some(GateReviewIssue { severity, path, line: issue.line, message, fix, blocking })
}

/// One line without secrets and control characters.
fn clean(said: &str, most: usize) -> String {
    let line = text::one_line(&diagnose::plain_text(said.as_bytes()));
    text::ellipsis(line.trim(), most)
}

/// Whether a model is the configured one, perhaps with a date or a release behind its name.
fn is_model(model: &str, wanted: &str) -> bool {
    let (model, wanted) = (model.to_lowercase(), wanted.trim().to_lowercase());
    let rest = model.strip_prefix(&wanted);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(|c: char| !c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> ReviewedLines<'static> {
        BTreeMap::from([("src/a.py", BTreeSet::from([3, 4])), ("b.py", BTreeSet::new())])
    }

    fn read(answer: &str, wanted: Option<&str>) -> Result<AnsweredReview, String> {
        read_review(answer.as_bytes(), wanted, &lines(), true)
    }

    #[test]
    fn remarks_about_the_change_are_kept_and_all_others_counted() {
        let answer = r#"{"schema": 1, "model": "claude-sonnet-5", "verdict": "APPROVE", "issues": [
            {"severity": "high", "file": "./src/a.py", "line": 4, "text": "off by\none", "fix": "add 1", "more": 1},
            {"severity": "odd", "file": "b.py", "text": "a name"},
            {"severity": "low", "text": "in general"},
            {"severity": "high", "file": "src/a.py", "line": 5, "text": "elsewhere"},
            {"severity": "high", "file": "c.py", "text": "another file"},
            {"severity": "high", "line": 3, "text": "no file"},
            {"severity": "high", "file": "b.py", "text": " \u001b[31m "}],
            "criteria": [{"id": "AC-1", "test": "t.py::t"}, {"id": "", "test": "x"}]}"#;
        let review = read(answer, None).expect("a review");
        let kept: Vec<_> = review.issues.iter().map(|it| (it.severity, it.message.as_str(), it.blocking)).collect();
        let expected = [
            (ReviewSeverity::High, "off by one", true),
            (ReviewSeverity::Medium, "a name", false),
            (ReviewSeverity::Low, "in general", false),
        ];
        assert_eq!((kept.as_slice(), review.dropped), (&expected[..], 4));
        assert_eq!((review.issues[0].path.as_deref(), review.issues[0].line), (Some("src/a.py"), Some(4)));
        assert_eq!(review.links, [("AC-1".to_owned(), "t.py::t".to_owned())]);
        let harmless = read_review(answer.as_bytes(), None, &lines(), false).expect("a review");
        assert!(harmless.issues.iter().all(|issue| !issue.blocking));
    }

    #[test]
    fn what_is_no_answer_says_why() {
        let why = |answer: &str, wanted| read(answer, wanted).expect_err("no review");
        assert!(why("", None).starts_with("its answer is no JSON"));
        assert!(why("\"APPROVE\"", None).starts_with("its answer is no JSON"));
        assert_eq!(why("{}", None), "its answer names no model");
        assert_eq!(why(r#"{"model": "m", "schema": 2}"#, None), "its answer is of a newer protocol");
        assert_eq!(why(r#"{"model": "opus-41"}"#, Some("opus-4")), "it was done by opus-41, and opus-4 is configured");
        assert!(read(r#"{"model": "Opus-4-20250805"}"#, Some("opus-4")).is_ok());
        let long = format!(r#"{{"model": "{}"}}"#, "m".repeat(ANSWER_BYTES_MAX));
        assert_eq!(why(&long, None), "its answer is longer than 64 KiB");
    }
}
