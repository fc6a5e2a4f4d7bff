//! The body: what a person or an agent reads. Every text of a tool is in a fence, or in the heading in a code span:
//! it can't be anything but text, and no width makes a formatter wrap it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::LessonFacts;
use super::front_matter::signal_name;
use super::{fix, seal};
use crate::base::markdown::{clean_line, code, fence};
use crate::base::text::{count, ellipsis, one_line, prefix, printable};
use crate::command::typed;
use crate::diagnose::{Diagnostic, Severity, Shortfall};
use crate::run::CommandEnd;

/// A message in a list, bytes.
const MESSAGE_BYTES_MAX: usize = 400;
/// A failing test's own block, bytes.
const BLOCK_BYTES_MAX: usize = 1_500;
/// A command line, bytes.
const COMMAND_BYTES_MAX: usize = 1_000;
/// Sentences about counts that were not reached.
const SHORTFALLS_MAX: usize = 3;
/// The heading, characters: markdownlint allows 80.
const TITLE_CHARS_MAX: usize = 76;

/// The body in at most about `budget` bytes; the parts that can shrink do.
pub(super) fn render_body(facts: &LessonFacts, lines_bytes: usize, budget: usize) -> String {
    let head = render_head(facts);
    let tail = render_reproduction(facts) + &fix::unknown_section();
    let budget = budget.saturating_sub(head.len() + tail.len() + fix::FIX_BYTES_RESERVED);
    let output = render_output(facts, lines_bytes.min(budget / 2));
    let files = render_files(facts, (budget.saturating_sub(output.len()) / 4).min(2_000));
    let failures = render_failures(facts, budget.saturating_sub(output.len() + files.len()));
    head + &failures + &output + &files + &tail
}

fn render_head(facts: &LessonFacts) -> String {
    let ended = match facts.ended {
        CommandEnd::Exit(code) => format!("exited with code {code}"),
        CommandEnd::Signal(signal) => format!("was ended by {}", signal_name(signal)),
    };
    let found = match (facts.problems, facts.files.len() + facts.files_cut) {
        (0, 0) => String::new(),
        (0, files) => format!(", {} affected", count(files, "file")),
        (items, 0) => format!(", {} found", count(items, "problem")),
        (items, files) => format!(", {} in {}", count(items, "problem"), count(files, "file")),
    };
    let category = facts.category.as_str().replace('_', " ");
    let mut said = format!("{}\n{ended} ({category}{found})\n", ellipsis(&facts.command, COMMAND_BYTES_MAX));
    for short in facts.shortfalls.iter().take(SHORTFALLS_MAX) {
        let (tool, Shortfall { said: counts, found, .. }) = (ellipsis(&short.tool, MESSAGE_BYTES_MAX), short);
        let _ =
            writeln!(said, "{tool} itself reports {counts}; {found} of them could be parsed, and its lines are kept");
    }
    // Output and messages are as long as they are; MD014 takes quoted commands for instructions.
    let rules = "<!-- markdownlint-disable MD013 MD014 -->";
    format!("# {}\n\n{rules}\n{}\n\n{}\n", lesson_title(facts), seal::EMPTY, fence("text", &said, false))
}

/// What says most of a failure: of the worst item that says anything the test, else the message, else its code.
fn most_telling_text(items: &[Diagnostic]) -> Option<&str> {
    let worst = items.iter().map(|item| item.severity).max()?;
    let says = |text: &&str| !text.trim().is_empty();
    let mut worst = items.iter().filter(|item| item.severity == worst);
    let item =
        worst.clone().find(|item| item.test.is_some() || !item.message.trim().is_empty()).or_else(|| worst.next())?;
    let first = item.message.trim().lines().next();
    // A file that could not be collected is no test.
    let test = item.test.as_deref().filter(|test| item.file.as_deref() != Some(*test) || first.is_none());
    test.filter(says).or(first.filter(says)).or(item.code.as_deref().filter(says))
}

fn lesson_title(facts: &LessonFacts) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "./:-+ ".contains(c) { c } else { '-' };
    let tool = typed(&facts.tool, &facts.command);
    let tool: String = prefix(&tool, 30).chars().map(safe).collect();
    let tool = tool.replace("//", "-");
    let tool = tool.trim_matches(['-', '.', ':', ' ']);
    let tool = if tool.is_empty() { "check" } else { tool };
    let Some(what) = most_telling_text(&facts.items) else { return format!("{tool} failed") };
    let others = if facts.items.len() + facts.items_cut > 1 { " and others" } else { "" };
    let room = TITLE_CHARS_MAX.saturating_sub(tool.len() + others.len() + 14);
    let mut what = one_line(what).trim().to_owned();
    if what.chars().count() > room {
        what = what.chars().take(room.saturating_sub(1)).collect::<String>() + "…";
    }
    format!("{tool} failed: {}{others}", code(&what))
}

/// The items: failing tests with their own block first, then a line for each of the rest, then how many more there are.
fn render_failures(facts: &LessonFacts, budget: usize) -> String {
    const HEADING: &str = "## What failed\n\n";
    const OVERHEAD: usize = 160;
    if facts.items.is_empty() {
        return String::new();
    }
    let budget = budget.saturating_sub(OVERHEAD);
    let mut out = String::new();
    let mut shown = BTreeSet::new();
    let worst = |item: &Diagnostic| item.severity == Severity::Error;
    let order: Vec<usize> = (0..facts.items.len())
        .filter(|&i| worst(&facts.items[i]))
        .chain((0..facts.items.len()).filter(|&i| !worst(&facts.items[i])))
        .collect();
    // Blocks take at most half, so that a hundred names follow two long diffs.
    for &i in &order {
        let item = &facts.items[i];
        if item.test.is_none() || item.message.trim().lines().count() < 2 {
            continue;
        }
        let message: Vec<String> =
            ellipsis(item.message.trim_end(), BLOCK_BYTES_MAX).lines().map(|line| format!("  {line}")).collect();
        let block = format!("{}\n{}\n\n", diagnostic_subject(item), message.join("\n"));
        if out.len() + block.len() > budget / 2 {
            break;
        }
        out.push_str(&block);
        shown.insert(i);
    }
    for &i in order.iter().filter(|&i| !shown.contains(i)).collect::<Vec<_>>() {
        let line = format!("{}\n", diagnostic_bullet(&facts.items[i]));
        if out.len() + line.len() > budget {
            continue;
        }
        out.push_str(&line);
        shown.insert(i);
    }
    let hidden = facts.items.len() - shown.len() + facts.items_cut;
    if hidden > 0 {
        let files: BTreeSet<_> = (0..facts.items.len())
            .filter(|i| !shown.contains(i))
            .filter_map(|i| facts.items[i].file.as_deref())
            .collect();
        let files = if files.is_empty() { String::new() } else { format!(" in {}", count(files.len(), "file")) };
        let _ = writeln!(out, "… and {hidden} more{files}");
    }
    format!("{HEADING}{}\n", fence("text", &out, false))
}

/// Place and test of an item.
fn diagnostic_subject(item: &Diagnostic) -> String {
    let place = item.file.as_deref().map(|file| {
        let line = item.line.map(|line| format!(":{line}")).unwrap_or_default();
        let col = item.line.and(item.col).map(|col| format!(":{col}")).unwrap_or_default();
        format!("{}{line}{col}", one_line(&ellipsis(file, MESSAGE_BYTES_MAX)))
    });
    let test = item.test.as_deref().map(|test| one_line(&ellipsis(test, MESSAGE_BYTES_MAX)));
    place.into_iter().chain(test).collect::<Vec<_>>().join(": ")
}

fn diagnostic_bullet(item: &Diagnostic) -> String {
    let message = item.message.trim().lines().next().unwrap_or_default();
    let parts =
        [&diagnostic_subject(item), item.code.as_deref().unwrap_or_default(), &ellipsis(message, MESSAGE_BYTES_MAX)];
    let parts: Vec<String> = parts.into_iter().map(one_line).filter(|part| !part.trim().is_empty()).collect();
    if parts.is_empty() { "a failure without a message".to_owned() } else { parts.join(": ") }
}

/// The kept lines: when they don't fit, the first two thirds and the last third of what does.
fn render_output(facts: &LessonFacts, budget: usize) -> String {
    const OVERHEAD: usize = 80;
    let lines: Vec<String> = facts.lines.iter().map(|line| clean_line(line)).collect();
    let size = |line: &String| line.len() + 1;
    if lines.iter().all(|line| line.trim().is_empty()) || budget <= OVERHEAD {
        return String::new();
    }
    let room = budget - OVERHEAD;
    let (mut first, mut used) = (0, 0);
    let total: usize = lines.iter().map(size).sum();
    let head_room = if total <= room { total } else { room * 2 / 3 };
    while first < lines.len() && used + size(&lines[first]) <= head_room {
        used += size(&lines[first]);
        first += 1;
    }
    let mut last = lines.len();
    while last > first && used + size(&lines[last - 1]) <= room {
        last -= 1;
        used += size(&lines[last]);
    }
    let mut kept = lines[..first].to_vec();
    if last > first {
        kept.push(format!("… {} left out …", count(last - first, "line")));
    }
    kept.extend_from_slice(&lines[last..]);
    format!("## Output\n\n{}\n", fence("text", &kept.join("\n"), false))
}

fn render_files(facts: &LessonFacts, budget: usize) -> String {
    if facts.files.is_empty() {
        return String::new();
    }
    let mut out = String::new();
    for (shown, file) in facts.files.iter().enumerate() {
        let line = format!("{}\n", one_line(file));
        if out.len() + line.len() + 120 > budget && shown > 0 {
            let _ = writeln!(out, "… and {} more, listed above under `files`", facts.files.len() - shown);
            break;
        }
        out.push_str(&line);
    }
    format!("## Affected files\n\n{}\n", fence("text", &out, false))
}

fn render_reproduction(facts: &LessonFacts) -> String {
    let dir = printable(&facts.dir);
    let cd = if dir.is_empty() { String::new() } else { format!("cd {} && ", shell_words::quote(&dir)) };
    let command = ellipsis(&facts.command, COMMAND_BYTES_MAX);
    // Not `sh`: there are plugins that would format it.
    format!("## Reproduce\n\n{}", fence("text", &format!("{cd}{command}"), false))
}
