//! A pattern's page for the pattern library: its figures and remedies, for people to complete and to keep in git.

use std::fmt::Write as _;

use super::knowledge::Gotcha;
use super::summary::{FailureOccurrence, PatternPage};
use crate::base::markdown::{code, fence};
use crate::base::text::{count, ellipsis};

/// A page, bytes.
const PAGE_BYTES_MAX: usize = 16 << 10;
/// A sentence or a message, bytes.
const TEXT_BYTES_MAX: usize = 400;
/// Files, findings and failures listed.
const LISTED_MAX: usize = 10;
/// The heading, characters: markdownlint allows 80.
const TITLE_CHARS_MAX: usize = 72;
/// The start of the last line, by which an unedited page is recognised.
const SEAL: &str = "<!-- verify-run: written from the records, ";

/// The page as Markdown, with its seal.
pub(crate) fn render_page(page: &PatternPage) -> String {
    let pattern = &page.summary;
    let mut body =
        format!("# Pattern {}\n\n<!-- markdownlint-disable MD013 MD014 -->\n\n", heading_title(&pattern.name));
    let _ = writeln!(body, "{}", fence("text", &ellipsis(&pattern.summary, TEXT_BYTES_MAX), false));
    let recurring = if pattern.recurring { ", recurring" } else { "" };
    let _ = write!(
        body,
        "- id: {}\n- {} in {}{recurring}; first {}, last {}\n- category: {}\n- reported by: {}{}\n\
         - confidence: {:.2} (lower bound {:.2})\n\n",
        code(&pattern.id),
        count(pattern.failures, "failure"),
        count(pattern.tasks, "task"),
        pattern.first_seen.rfc3339(),
        pattern.last_seen.rfc3339(),
        code(&pattern.category),
        code(&pattern.tool),
        pattern.code.as_deref().map(|name| format!(" {}", code(name))).unwrap_or_default(),
        pattern.confidence,
        pattern.lower_bound,
    );
    let _ = write!(body, "## What it says\n\n{}\n", fence("text", &ellipsis(&pattern.title, TEXT_BYTES_MAX), false));
    let findings =
        page.findings.iter().map(|found| format!("{}: {}", code(&found.detector), sentence_code(&found.summary)));
    push_list_section(&mut body, "What was found", findings.collect());
    let files = page
        .files
        .iter()
        .map(|file| format!("{} ({})", code(&bounded_text(&file.path)), count(file.failures, "failure")));
    push_list_section(&mut body, "Where", files.collect());
    push_list_section(
        &mut body,
        "What to do",
        page.findings.iter().filter_map(|found| found.rule.as_deref()).map(sentence_code).collect(),
    );
    push_list_section(&mut body, "What helped", page.gotcha.iter().map(remedy_line).collect());
    push_list_section(&mut body, "Lessons", page.lessons.iter().map(|file| code(file)).collect());
    push_list_section(&mut body, "Seen", page.occurrences.iter().map(occurrence_line).collect());
    // Whole lines only: a span or a fence that is cut would swallow the rest.
    let body = if body.len() > PAGE_BYTES_MAX {
        format!(
            "{}\n\n… and more: {}\n",
            cut_to_sections(&body),
            code(&format!("verify-run pattern show {}", pattern.id))
        )
    } else {
        body.trim_end().to_owned() + "\n"
    };
    format!("{body}\n{SEAL}{} -->\n", compute_seal(&body))
}

/// Whether the page is unedited since it was written.
pub(crate) fn is_untouched(text: &str) -> bool {
    let Some((body, last)) = text.trim_end().rsplit_once('\n') else { return false };
    let sealed = last.strip_prefix(SEAL).and_then(|rest| rest.strip_suffix(" -->"));
    sealed.is_some_and(|hash| body.strip_suffix('\n').is_some_and(|body| compute_seal(&format!("{body}\n")) == hash))
}

/// The name of the page's file: the id first, so that it is found again under another name.
pub(crate) fn file_name(page: &PatternPage) -> String {
    let mut words = String::new();
    for c in page.summary.name.chars() {
        match c.is_ascii_alphanumeric() {
            true => words.push(c.to_ascii_lowercase()),
            false if !words.ends_with('-') => words.push('-'),
            false => {}
        }
        if words.len() >= 50 {
            break;
        }
    }
    format!("{}-{}.md", page.summary.id, words.trim_matches('-')).replace("-.md", ".md")
}

fn compute_seal(body: &str) -> String {
    blake3::hash(body.as_bytes()).to_hex()[..16].to_owned()
}

fn heading_title(name: &str) -> String {
    let name = name.trim().trim_end_matches(['.', ',', ';', ':', '!']);
    if name.chars().count() <= TITLE_CHARS_MAX {
        return code(name);
    }
    code(&(name.chars().take(TITLE_CHARS_MAX - 1).collect::<String>().trim_end().to_owned() + "…"))
}

/// The most reliable fix, its success rate, and why it was needed.
fn remedy_line(gotcha: &Gotcha) -> String {
    let said = [("why", &gotcha.cause), ("from now on", &gotcha.rule)];
    let said =
        said.into_iter().filter_map(|(lead, text)| Some(format!("; {lead}: {}", sentence_code(text.as_deref()?))));
    let times = format!("worked {} of {}", gotcha.successes, count(gotcha.tries, "time"));
    format!("{} {times}{}", sentence_code(&gotcha.fix), said.collect::<String>())
}

fn bounded_text(text: &str) -> String {
    ellipsis(text, TEXT_BYTES_MAX)
}

fn sentence_code(text: &str) -> String {
    code(&bounded_text(text))
}

fn occurrence_line(one: &FailureOccurrence) -> String {
    let place = match (&one.file, one.line) {
        (Some(file), Some(line)) => format!(", {}", code(&format!("{}:{line}", bounded_text(file)))),
        (Some(file), None) => format!(", {}", code(&bounded_text(file))),
        _ => String::new(),
    };
    format!("{} {}, task {}{place}", code(&one.failure), one.at.rfc3339(), code(&bounded_text(&one.task)))
}

fn push_list_section(body: &mut String, heading: &str, items: Vec<String>) {
    if items.is_empty() {
        return;
    }
    let _ = write!(body, "## {heading}\n\n");
    for item in items.iter().take(LISTED_MAX) {
        let _ = writeln!(body, "- {item}");
    }
    if items.len() > LISTED_MAX {
        let _ = writeln!(body, "- … and {} more", items.len() - LISTED_MAX);
    }
    body.push('\n');
}

/// The sections that fit.
fn cut_to_sections(body: &str) -> &str {
    let room = &body[..body.floor_char_boundary(PAGE_BYTES_MAX)];
    room.rfind("\n## ").map_or(room, |at| &room[..at]).trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Timestamp;
    use crate::config::Settings;
    use crate::pattern::PatternGroupSummary;
    use crate::pattern::summary::{FileCount, PatternSummary, SummaryParts};
    use crate::store::PatternRow;

    fn page(masked: &str) -> PatternPage {
        let row = PatternRow {
            number: 1,
            id: "p-12345678".into(),
            key: "k".into(),
            family: "f".into(),
            tool: "eslint".into(),
            code: Some("no-undef".into()),
            masked: masked.into(),
            masked_family: String::new(),
            members: 1,
            muted: false,
            deprecated: false,
            first_seen: Timestamp(1),
            last_seen: Timestamp(2),
            failures: 9,
            flaky: 0,
            tasks: 3,
            family_tasks: 3,
            category: "lint_error".into(),
        };
        let summary = PatternSummary::from_row(row, &SummaryParts::default(), &Settings::default(), Timestamp(9));
        let mut page = PatternPage::from_parts(
            summary,
            "",
            PatternGroupSummary::default(),
            Vec::new(),
            Vec::new(),
            Vec::new(),
            Vec::new(),
        );
        page.files = (0..30).map(|n| FileCount { path: format!("src/{n}.js"), failures: n }).collect();
        page
    }

    #[test]
    fn a_page_that_nobody_changed_is_told_from_one_that_somebody_did() {
        let text = render_page(&page("'x' is not defined"));
        assert!(is_untouched(&text), "{text}");
        assert!(!is_untouched(&text.replace("9 failures", "8 failures")));
        assert!(!is_untouched(&format!("{text}\nmore\n")));
        assert!(!is_untouched(""));
        assert_eq!(file_name(&page("'x' is not defined")), "p-12345678-x-is-not-defined-eslint-no-undef.md");
        assert_eq!(file_name(&page("../../x\u{202e}")).matches('/').count(), 0);
    }

    #[test]
    fn hostile_text_stays_text() {
        let hostile = "a``b `c` </script> <!-- markdownlint-enable --> [x](javascript:1) \u{1b}[31m\u{202e}word";
        let text = render_page(&page(hostile));
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
        assert!(!text.contains("<!-- markdownlint-enable"), "{text}");
        assert!(is_untouched(&text));
        let long = render_page(&page(&"word ".repeat(50_000)));
        assert!(long.len() < PAGE_BYTES_MAX + 400 && is_untouched(&long));
        assert!(long.contains("… and 20 more"));
    }
}
