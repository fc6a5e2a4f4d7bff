//! One pattern, and what was found, as text.

use crate::base::text;
use crate::ops::library::{CandidatePage, CandidatePageOutcome};
use crate::pattern::confidence::Confidence;
use crate::pattern::detector::DetectorFinding;
use crate::pattern::knowledge::{Gotcha, Strategy};
use crate::pattern::wording::how_often;
use crate::pattern::{FailureOccurrence, PatternPage};
use crate::surface::cli::Output;
use crate::surface::cli::output::{StyledText, Tone};

/// Strategies printed; `--json` has them all.
const STRATEGIES_MAX: usize = 5;
/// Increments printed; `--json` has them all.
const STEPS_MAX: usize = 30;
/// An increment that two digits show.
const STEP_MIN: f64 = 0.005;

pub(super) fn print(page: &PatternPage, output: &mut Output) -> anyhow::Result<()> {
    let pattern = &page.summary;
    output.title(&pattern.name)?;
    let category = output.word(&pattern.category);
    let recurring = if pattern.recurring { StyledText::new(Tone::Bad, ", recurring") } else { StyledText::plain("") };
    output.spans(&[
        StyledText::new(Tone::Faint, format!("{}: ", pattern.id)),
        StyledText::plain(format!(
            "{category}, {}",
            how_often(pattern.failures, pattern.tasks, pattern.flaky_failures)
        )),
        recurring,
    ])?;
    let (first, last) = (output.when(pattern.first_seen), output.when(pattern.last_seen));
    let lately = &pattern.frequency;
    let lately = if lately.failures_30_days == pattern.failures {
        String::new()
    } else {
        format!("; {} in the last 30 days", how_often(lately.failures_30_days, lately.tasks_30_days, 0))
    };
    output.field("seen", &format!("first {first}, last {last}{lately}"))?;
    if let Some(example) = page.occurrences.first().map(|seen| &seen.message) {
        let code = pattern.code.as_deref().map(|code| format!(" {code}")).unwrap_or_default();
        output.field("message", &format!("{example} ({}{code})", pattern.tool))?;
    }
    if pattern.family_tasks > pattern.tasks {
        output.field("with similar messages", &text::count(pattern.family_tasks, "task"))?;
    }
    if !page.files.is_empty() {
        let named = page.files.iter().map(|file| format!("{} ({})", file.path, file.failures));
        output.field("files", &named.collect::<Vec<_>>().join(", "))?;
    }
    for lesson in &page.lessons {
        output.field("lesson", lesson)?;
    }
    together(page, output)?;
    for finding in &page.findings {
        output.field(&finding.detector, &finding.summary)?;
    }
    ledger("confidence", &page.ledger, output)?;
    page.gotcha.iter().try_for_each(|gotcha| print_gotcha(gotcha, output))?;
    // The one of the gotcha is printed with it.
    let of_gotcha = page.gotcha.as_ref().map(|gotcha| &gotcha.strategy);
    let others = page.strategies.iter().filter(|strategy| Some(&strategy.id) != of_gotcha);
    others.take(STRATEGIES_MAX).try_for_each(|strategy| print_strategy(strategy, output))?;
    output.line("")?;
    occurrences(page, output)
}

/// What is known about a mistake: its cause, the rule, and the most reliable fix.
pub(in crate::surface::cli) fn print_gotcha(gotcha: &Gotcha, output: &mut Output) -> anyhow::Result<()> {
    let pitfall = gotcha.example.as_ref().unwrap_or(&gotcha.pitfall);
    output.spans(&[
        StyledText::new(Tone::Faint, "gotcha: "),
        StyledText::plain(format!("{} ", gotcha.id)),
        StyledText::plain(text::one_line(pitfall)),
        StyledText::new(Tone::Faint, format!(" (confidence {:.2})", gotcha.confidence.value)),
    ])?;
    for (label, said) in [("  cause", &gotcha.cause), ("  rule", &gotcha.rule)] {
        if let Some(said) = said {
            output.field(label, said)?;
        }
    }
    output.spans(&[
        StyledText::new(Tone::Faint, "  fix: "),
        StyledText::plain(text::one_line(&gotcha.fix)),
        StyledText::plain(format!(" (worked {} of {}, ", gotcha.successes, text::count(gotcha.tries, "time"))),
        confirmed(gotcha.confirmed),
        StyledText::plain(")"),
    ])
}

fn confirmed(is_confirmed: bool) -> StyledText {
    if is_confirmed { StyledText::new(Tone::Good, "confirmed") } else { StyledText::new(Tone::Unsure, "unconfirmed") }
}

/// What was tried, and how often it helped.
fn print_strategy(strategy: &Strategy, output: &mut Output) -> anyhow::Result<()> {
    output.spans(&[
        StyledText::new(Tone::Faint, "strategy: "),
        StyledText::plain(format!("{} {}", strategy.id, change(strategy.technique.as_str(), &strategy.label))),
        StyledText::plain(format!(" (worked {} of {}, ", strategy.successes, text::count(strategy.tries, "time"))),
        confirmed(strategy.confirmed),
        StyledText::plain(")"),
    ])
}

/// What was done: the line that changed, the files that did, or the command.
pub(in crate::surface::cli) fn change(technique: &str, label: &str) -> String {
    let label = text::one_line(label);
    match technique {
        "files" => format!("change {label}"),
        "command" => format!("run {label}"),
        _ => label,
    }
}

/// The value with what raised and lowered it.
fn ledger(name: &str, ledger: &Confidence, output: &mut Output) -> anyhow::Result<()> {
    output.field(name, &format!("{:.2}, from {:.2}", ledger.value, ledger.start))?;
    let steps = ledger.steps.iter().filter(|step| step.delta.abs() >= STEP_MIN);
    for step in steps.clone().take(STEPS_MAX) {
        let (what, when) = (text::one_line(&step.what), output.when(step.at));
        let tone = if step.delta < 0.0 { Tone::Bad } else { Tone::Good };
        output.spans(&[
            StyledText::new(tone, format!("  {:+.2}", step.delta)),
            StyledText::plain(format!(" {what}")),
            StyledText::new(Tone::Faint, format!(", {when}")),
        ])?;
    }
    match steps.count().saturating_sub(STEPS_MAX) {
        0 => Ok(()),
        more => output.line(&format!("  … and {more} more; all of them: --json")),
    }
}

fn occurrences(page: &PatternPage, output: &mut Output) -> anyhow::Result<()> {
    let row = |seen: &FailureOccurrence| {
        let place = match (&seen.file, seen.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            (Some(file), None) => file.clone(),
            _ => String::new(),
        };
        let when = output.when(seen.at);
        let texts = [&seen.failure, &when, &seen.task, &place, &seen.message];
        texts.map(|text| text::one_line(text)).to_vec()
    };
    let rows: Vec<Vec<String>> = page.occurrences.iter().map(row).collect();
    output.table(&["failure", "when", "task", "place", "message"], &rows)
}

/// What holds for the newest tasks as a whole.
pub(super) fn findings(findings: &[DetectorFinding], output: &mut Output) -> anyhow::Result<()> {
    if findings.is_empty() {
        output.note("no findings: nothing holds for several patterns of the recent tasks");
        return Ok(());
    }
    let row = |finding: &DetectorFinding| vec![finding.detector.clone(), text::one_line(&finding.summary)];
    output.table(&["detector", "what"], &findings.iter().map(row).collect::<Vec<_>>())
}

/// What is counted together, and why.
fn together(page: &PatternPage, output: &mut Output) -> anyhow::Result<()> {
    for member in &page.together.group {
        if page.together.group.len() > 1 {
            output.field("counts", &format!("{} ({}) {}", member.id, member.failures, member.title))?;
        }
        if !member.earlier_ids.is_empty() {
            output.field(&format!("{} was", member.id), &member.earlier_ids.join(", "))?;
        }
    }
    for merge in &page.together.merges {
        let similar =
            merge.similarity_permille.map(|similarity| format!(", {} % similar", f64::from(similarity) / 10.0));
        let said = said(merge.by.as_deref(), merge.why.as_deref());
        let when = output.when(merge.at);
        let similar = similar.unwrap_or_default();
        output.field("merged", &format!("{} and {}, {when}{said}{similar}", merge.from, merge.into))?;
    }
    for review in &page.together.reviews {
        let said = said(review.by.as_deref(), review.why.as_deref());
        let when = output.when(review.at);
        output.field(review.state.as_str(), &format!("{when}{said}"))?;
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
            output.note("it was edited and is left as it is; to write it again, remove it first")
        }
        CandidatePageOutcome::Reviewed => output.note("it is in the library already and is left there"),
    }
    Ok(())
}
