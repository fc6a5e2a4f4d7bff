//! One fix as text: what failed, whether the fix lasted, and every attempt with its diff.

use crate::base::clock::Timestamp;
use crate::base::text;
use crate::event::{Atom, AtomList, Attempt, AttemptMeans, AttemptOutcome, WeakenedCheckRecord};
use crate::ops::fix::{FixPage, FixStep, FixSummary};
use crate::surface::cli::Output;
use crate::surface::cli::output::{StyledText, Tone};
use crate::surface::cli::pattern;

/// Diagnostics of a set that are printed.
const ATOMS_SHOWN_MAX: usize = 10;

pub(super) fn print(page: &FixPage, output: &mut Output) -> anyhow::Result<()> {
    let fix = &page.summary;
    output.title(&fix.summary)?;
    output.spans(&state_line(fix))?;
    output.field("command", &fix.command)?;
    output.field("task", &fix.task)?;
    for said in &page.said {
        let by = said.by.as_deref().map_or_else(String::new, |by| format!(" ({})", text::one_line(by)));
        let texts = [("cause", &said.cause), ("solution", &said.approach), ("rule", &said.rule)];
        for (word, text) in texts.into_iter().chain([("declined as a pattern", &said.declined)]) {
            if let Some(text) = text {
                output.field(&format!("{word}{by}"), text)?;
            }
        }
    }
    // What was tried once was tried here: the diff below shows it.
    for recipe in page.recipes.iter().filter(|recipe| recipe.row.attempts > 1) {
        let row = &recipe.row;
        let times = text::count(row.attempts, "time");
        output.field(
            "also tried",
            &format!("{} (worked {} of {times})", pattern::change(row.kind.as_str(), &row.label), row.successes),
        )?;
    }
    let known =
        page.gotchas.iter().filter(|gotcha| gotcha.tries > 1 || gotcha.cause.is_some() || gotcha.rule.is_some());
    known.cloned().try_for_each(|gotcha| pattern::print_gotcha(&gotcha, output))?;
    let earlier = std::iter::once(None).chain(page.steps.iter().map(Some));
    earlier.zip(&page.steps).try_for_each(|(earlier, step)| print_step(earlier, step, output))
}

/// The state in a word or two, with what it means.
pub(super) fn state_word(fix: &FixSummary) -> (Tone, &str) {
    match (fix.state.as_str(), fix.confirmed) {
        ("success", Some(true)) => (Tone::Good, "confirmed"),
        ("success", _) => (Tone::Unsure, "unconfirmed"),
        ("partial", _) => (Tone::Unsure, "partly fixed"),
        ("failure", _) => (Tone::Bad, "not fixed"),
        ("weakened", _) => (Tone::Bad, "weakened"),
        (state, _) => (Tone::Unsure, state),
    }
}

fn state_line(fix: &FixSummary) -> Vec<StyledText> {
    let attempts = text::count(fix.attempts, "attempt");
    let steps = if fix.multi_step { " in several steps" } else { "" };
    let what = match fix.state.as_str() {
        "success" => format!("fixed after {attempts}{steps}, "),
        "partial" => format!(", {attempts}"),
        "failure" => format!(" after {attempts}"),
        "weakened" => ": the check passes because it was weakened".to_owned(),
        "undone" => ": the files went back to an earlier state, which is no fix".to_owned(),
        "flaky" => ": the check passed without a change".to_owned(),
        _ => String::new(),
    };
    let (tone, word) = state_word(fix);
    let word = StyledText::new(tone, word);
    let why = fix.status_reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    let id = StyledText::new(Tone::Faint, format!("{}: ", fix.id));
    match fix.state.as_str() {
        "success" => vec![id, StyledText::plain(what), word, StyledText::plain(why)],
        _ => vec![id, word, StyledText::plain(what)],
    }
}

fn print_step(earlier: Option<&FixStep>, step: &FixStep, output: &mut Output) -> anyhow::Result<()> {
    let attempt = &step.attempt;
    let number = step.number.map_or_else(|| "rerun".to_owned(), |number| format!("attempt {number}"));
    let (tone, result) = result_of(attempt);
    output.line("")?;
    let when = output.when(attempt.ended_at);
    output.spans(&[
        StyledText::new(Tone::Title, number),
        StyledText::plain(format!(", {when}: ")),
        StyledText::new(tone, result),
    ])?;
    if earlier.is_some_and(|earlier| earlier.attempt.run == attempt.run) {
        let micros = i64::try_from(attempt.duration_us).unwrap_or(i64::MAX);
        let failed = Timestamp(attempt.ended_at.0.saturating_sub(micros));
        let failed = output.when(failed);
        output.field("  compared with the failure", &failed)?;
    }
    let sets = [
        ("fixed", &attempt.fixed),
        ("new", &attempt.introduced),
        ("still there", &attempt.persisted),
        ("not checked", &attempt.not_reached),
    ];
    for (word, atoms) in sets {
        print_atoms(word, atoms, output)?;
    }
    for command in &attempt.commands {
        let result = if command.passed { "" } else { " (failed)" };
        output.field("  ran", &format!("{}{result}", command.line))?;
    }
    for name in &attempt.changed_dependencies {
        output.field("  changed", name)?;
    }
    for file in &attempt.files {
        let lines = if file.opaque { String::new() } else { format!(" (+{} -{})", file.added, file.removed) };
        let word = if attempt.also_changed.contains(&file.path) { "  also changed" } else { "  changed" };
        output.field(word, &format!("{}{lines}", file.path.display()))?;
    }
    if attempt.has_unknown_cause() && !attempt.fixed.is_empty() {
        output.line("  cause of the fix unknown: no changed file is named by the failure or imported near it")?;
    }
    if attempt.came_with_base > 0 {
        let files = text::count(attempt.came_with_base, "file");
        output.line(&format!("  left out: {files} that came with a new base"))?;
    }
    for mark in &attempt.weakened {
        let word = if mark.certain { "  weakened" } else { "  probably weakened" };
        output.field(word, &weakened_check(mark))?;
    }
    output.diff(&attempt.diff)?;
    if attempt.diff_cut > 0 {
        output.line(&format!("… {} of the diff are not kept", text::count(attempt.diff_cut, "byte")))?;
    }
    Ok(())
}

fn result_of(attempt: &Attempt) -> (Tone, String) {
    if attempt.undo {
        return (Tone::Unsure, "passes again after a revert".to_owned());
    }
    let (tone, result) = match attempt.outcome {
        AttemptOutcome::Success => (Tone::Good, "fixed"),
        AttemptOutcome::Partial => (Tone::Unsure, "partly fixed"),
        AttemptOutcome::Failure => (Tone::Bad, "not fixed"),
    };
    let means = match attempt.means {
        AttemptMeans::Edit => " by an edit",
        AttemptMeans::Command => " by a command",
        AttemptMeans::None => " without a change",
        AttemptMeans::Unknown => ", changes unknown",
    };
    // What did not help is listed below.
    let means =
        if attempt.outcome == AttemptOutcome::Failure && attempt.means != AttemptMeans::None { "" } else { means };
    (tone, format!("{result}{means}"))
}

/// `path:line: what it does [rule]: text`, as `check-diff` prints it.
pub(super) fn weakened_check(mark: &WeakenedCheckRecord) -> String {
    let line = mark.line.map_or_else(String::new, |line| format!(":{line}"));
    let (path, text) = (text::one_line(&mark.path), text::one_line(&mark.text));
    let colon = if path.is_empty() { "" } else { ": " };
    format!("{path}{line}{colon}{} [{}]: {text}", text::one_line(&mark.message), mark.rule)
}

fn print_atoms(word: &str, atoms: &AtomList, output: &mut Output) -> anyhow::Result<()> {
    let word = format!("  {word}");
    for atom in atoms.first.iter().take(ATOMS_SHOWN_MAX) {
        output.field(&word, &atom_text(atom))?;
    }
    match atoms.count.saturating_sub(ATOMS_SHOWN_MAX.min(atoms.first.len())) {
        0 => Ok(()),
        more => output.field(&word, &format!("… and {more} more")),
    }
}

/// The place and the message. Most test ids begin with their file.
fn atom_text(atom: &Atom) -> String {
    let is_named = |file: &&String| atom.test.as_ref().is_none_or(|test| !test.contains(file.as_str()));
    let file = atom.file.as_ref().filter(is_named);
    let parts: Vec<&str> =
        [file, atom.test.as_ref(), Some(&atom.text)].into_iter().flatten().map(String::as_str).collect();
    parts.join(" ")
}
