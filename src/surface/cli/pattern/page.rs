//! One pattern, and what was found, as text.

use crate::base::text;
use crate::ops::library::{CandidatePage, CandidatePageOutcome};
use crate::pattern::PatternPage;
use crate::pattern::confidence::Confidence;
use crate::pattern::detector::DetectorFinding;
use crate::pattern::knowledge::{Gotcha, Strategy};
use crate::surface::cli::Output;

/// Strategies printed; `--json` has them all.
const STRATEGIES_MAX: usize = 5;
/// Increments printed; `--json` has them all.
const STEPS_MAX: usize = 30;

pub(super) fn print(page: &PatternPage, output: &mut Output) -> anyhow::Result<()> {
    let pattern = &page.summary;
    let code = pattern.code.as_deref().map(|code| format!(" {code}")).unwrap_or_default();
    let recurring = if pattern.recurring { ", recurring" } else { "" };
    output.line(&format!("{}  {}", pattern.id, pattern.name))?;
    output.line(&pattern.summary)?;
    output.line(&format!("message: {} ({})", pattern.title, text::one_line(&format!("{}{code}", pattern.tool))))?;
    output.line(&format!("family: {} ({})", page.family_title, text::count(pattern.family_tasks, "task")))?;
    output.line(&format!(
        "{}: {} in {}{recurring}; {} in {} of the last 30 days; first {}, last {}",
        text::one_line(&pattern.category),
        text::count(pattern.failures, "failure"),
        text::count(pattern.tasks, "task"),
        text::count(pattern.frequency.failures_30_days, "failure"),
        text::count(pattern.frequency.tasks_30_days, "task"),
        pattern.first_seen.local(),
        pattern.last_seen.local()
    ))?;
    together(page, output)?;
    for finding in &page.findings {
        output.line(&format!("{}: {}", finding.detector, text::one_line(&finding.summary)))?;
    }
    ledger("confidence", &page.ledger, output)?;
    helps(page.gotcha.as_slice(), &page.strategies, output)?;
    if let Some(gotcha) = &page.gotcha {
        ledger(&format!("{} confidence", gotcha.id), &gotcha.confidence, output)?;
    }
    for file in &page.files {
        output.line(&format!("file: {} ({})", text::one_line(&file.path), file.failures))?;
    }
    for lesson in &page.lessons {
        output.line(&format!("lesson: {lesson}"))?;
    }
    output.line("")?;
    occurrences(page, output)
}

/// What made patterns go away, and how often it did.
pub(in crate::surface::cli) fn helps(
    gotchas: &[Gotcha],
    strategies: &[Strategy],
    output: &mut Output,
) -> anyhow::Result<()> {
    let standing = |confirmed, high_value| {
        let quick = if high_value { ", high value" } else { "" };
        format!("{}{quick}", if confirmed { "confirmed" } else { "unconfirmed" })
    };
    for gotcha in gotchas {
        let standing = standing(gotcha.confirmed, gotcha.high_value);
        let (id, worked, of) = (&gotcha.id, gotcha.successes, text::count(gotcha.tries, "time"));
        let (pitfall, fix, confidence) = (&gotcha.pitfall, text::one_line(&gotcha.fix), gotcha.confidence.value);
        output.line(&format!("gotcha {id}: {pitfall}: {fix} worked {worked} of {of} ({standing}), {confidence:.2}"))?;
    }
    for strategy in strategies.iter().take(STRATEGIES_MAX) {
        let standing = standing(strategy.confirmed, strategy.high_value);
        output.line(&format!(
            "strategy {} against {}: {} {}: worked {} of {} ({standing})",
            strategy.id,
            strategy.against,
            strategy.technique,
            text::one_line(&strategy.label),
            strategy.successes,
            text::count(strategy.tries, "time"),
        ))?;
    }
    Ok(())
}

/// The value with every increment and its event.
fn ledger(name: &str, ledger: &Confidence, output: &mut Output) -> anyhow::Result<()> {
    let evidence = &ledger.evidence;
    output.line(&format!(
        "{name}: {:.2}, lower bound {:.2} (Beta {:.2}, {:.2}); started at {:.2}",
        ledger.value, evidence.lower_bound, evidence.alpha, evidence.beta, ledger.start
    ))?;
    for step in ledger.steps.iter().take(STEPS_MAX) {
        let what = text::one_line(&step.what);
        output.line(&format!(
            "  {:+.2} -> {:.2}  {} {what} ({})",
            step.delta,
            step.after,
            step.at.local(),
            step.event
        ))?;
    }
    if ledger.steps.len() > STEPS_MAX {
        output.line(&format!("  ... and {} more; all of them: --json", ledger.steps.len() - STEPS_MAX))?;
    }
    Ok(())
}

fn occurrences(page: &PatternPage, output: &mut Output) -> anyhow::Result<()> {
    let rows: Vec<Vec<String>> = page
        .occurrences
        .iter()
        .map(|seen| {
            let place = match (&seen.file, seen.line) {
                (Some(file), Some(line)) => format!("{file}:{line}"),
                (Some(file), None) => file.clone(),
                _ => String::new(),
            };
            vec![
                seen.failure.clone(),
                seen.at.local(),
                text::one_line(&seen.task),
                text::one_line(&place),
                text::ellipsis(&text::one_line(&seen.message), 100),
            ]
        })
        .collect();
    output.table(&["failure", "when", "task", "where", "message"], &rows)
}

/// What holds for the newest tasks as a whole.
pub(super) fn findings(findings: &[DetectorFinding], output: &mut Output) -> anyhow::Result<()> {
    if findings.is_empty() {
        output.note("nothing yet that holds for more than single patterns; those are in: verify-run pattern list");
        return Ok(());
    }
    let row = |finding: &DetectorFinding| vec![finding.detector.clone(), text::one_line(&finding.summary)];
    output.table(&["detector", "what"], &findings.iter().map(row).collect::<Vec<_>>())
}

/// What is counted together, and why.
fn together(page: &PatternPage, output: &mut Output) -> anyhow::Result<()> {
    for member in &page.together.group {
        if page.together.group.len() > 1 {
            output.line(&text::one_line(&format!("counts: {} ({}) {}", member.id, member.failures, member.title)))?;
        }
        if !member.earlier_ids.is_empty() {
            output.line(&format!("{} was: {}", member.id, member.earlier_ids.join(", ")))?;
        }
    }
    for merge in &page.together.merges {
        let similar =
            merge.similarity_permille.map(|similarity| format!(", {} % similar", f64::from(similarity) / 10.0));
        let said = said(merge.by.as_deref(), merge.why.as_deref());
        let when = merge.at.local();
        let similar = similar.unwrap_or_default();
        output.line(&text::one_line(&format!("merged: {} and {}, {when}{said}{similar}", merge.from, merge.into)))?;
    }
    for review in &page.together.reviews {
        let said = said(review.by.as_deref(), review.why.as_deref());
        output.line(&text::one_line(&format!("{}: {}{said}", review.state, review.at.local())))?;
    }
    Ok(())
}

fn said(by: Option<&str>, why: Option<&str>) -> String {
    let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    format!("{by}{why}")
}

/// The outcome of a page of the pattern library.
pub(super) fn candidate(written: &CandidatePage, output: &mut Output) -> anyhow::Result<()> {
    output.line(&written.path.display().to_string())?;
    match written.outcome {
        CandidatePageOutcome::Written | CandidatePageOutcome::Updated => {}
        CandidatePageOutcome::Edited => {
            output.note("somebody changed it: left as it is; remove it to have it written anew")
        }
        CandidatePageOutcome::Reviewed => output.note("it is in the library already: left there"),
    }
    Ok(())
}
