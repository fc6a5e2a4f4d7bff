//! The body: what a person or an agent reads. Every text of a tool stands in a code span or a fence, so that it can't
//! be anything but text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Facts;
use super::fix;
use super::front::signal_name;
use crate::base::markdown::{clean_line, code, fence};
use crate::base::text::{count, ellipsis, one_line, prefix, printable};
use crate::diagnose::{Item, Severity, Shortfall};
use crate::run::Ended;

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
pub(super) fn render(facts: &Facts, lines_bytes: usize, budget: usize) -> String {
    let head = head(facts);
    let tail = reproduce(facts) + &fix::unknown();
    let budget = budget.saturating_sub(head.len() + tail.len() + fix::FIX_BYTES_RESERVED);
    let output = output(facts, lines_bytes.min(budget / 2));
    let files = files(facts, (budget.saturating_sub(output.len()) / 4).min(2_000));
    let failures = failures(facts, budget.saturating_sub(output.len() + files.len()));
    head + &failures + &output + &files + &tail
}

fn head(facts: &Facts) -> String {
    let ended = match facts.ended {
        Ended::Exit(code) => format!("exited with code {code}"),
        Ended::Signal(signal) => format!("was ended by {}", signal_name(signal)),
    };
    let items = facts.items.len() + facts.items_cut;
    let found = match (items, facts.files.len() + facts.files_cut) {
        (0, 0) => String::new(),
        (0, files) => format!("; {} affected", count(files, "file")),
        (items, 0) => format!("; {} found", count(items, "problem")),
        (items, files) => format!("; {} in {}", count(items, "problem"), count(files, "file")),
    };
    let category = facts.category.as_str().replace('_', " ");
    // Output and messages are as long as they are; MD014 takes quoted commands for instructions.
    let mut head = format!(
        "# {}\n\n<!-- markdownlint-disable MD013 MD014 -->\n\n{} {ended} ({category}{found}).\n\n",
        title(facts),
        code(&ellipsis(&facts.command, COMMAND_BYTES_MAX)),
    );
    for short in facts.shortfalls.iter().take(SHORTFALLS_MAX) {
        let (tool, Shortfall { said, found, .. }) = (code(&ellipsis(&short.tool, MESSAGE_BYTES_MAX)), short);
        let _ = write!(head, "{tool} itself counts {said}; {found} of them could be read, and its lines are kept.\n\n");
    }
    head
}

/// What says most of a failure: of the worst item that says anything the test, else the message, else its code.
fn telling(items: &[Item]) -> Option<&str> {
    let worst = items.iter().map(|item| item.severity).max()?;
    let says = |text: &&str| !text.trim().is_empty();
    let mut worst = items.iter().filter(|item| item.severity == worst);
    let item =
        worst.clone().find(|item| item.test.is_some() || !item.message.trim().is_empty()).or_else(|| worst.next())?;
    let first = item.message.trim().lines().next();
    item.test.as_deref().filter(says).or(first.filter(says)).or(item.code.as_deref().filter(says))
}

fn title(facts: &Facts) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "./:-+ ".contains(c) { c } else { '-' };
    // Nobody types the whitelist's name of a script.
    let tool = if facts.tool.starts_with("script:") { &facts.command } else { &facts.tool };
    let tool: String = prefix(tool, 30).chars().map(safe).collect();
    let tool = tool.replace("//", "-");
    let tool = tool.trim_matches(['-', '.', ':', ' ']);
    let tool = if tool.is_empty() { "check" } else { tool };
    let Some(what) = telling(&facts.items) else { return format!("{tool} failed") };
    let others = if facts.items.len() + facts.items_cut > 1 { " and others" } else { "" };
    let room = TITLE_CHARS_MAX.saturating_sub(tool.len() + others.len() + 14);
    let mut what = one_line(what).trim().to_owned();
    if what.chars().count() > room {
        what = what.chars().take(room.saturating_sub(1)).collect::<String>() + "…";
    }
    format!("{tool} failed: {}{others}", code(&what))
}

/// The items: failing tests with their own block first, then a list of the rest, then how many more there are.
fn failures(facts: &Facts, budget: usize) -> String {
    if facts.items.is_empty() {
        return String::new();
    }
    let mut out = String::from("## What failed\n\n");
    let more_room = 100;
    let mut shown = BTreeSet::new();
    let worst = |item: &Item| item.severity == Severity::Error;
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
        let fence = fence("text", prefix(&item.message, BLOCK_BYTES_MAX), item.message.len() > BLOCK_BYTES_MAX);
        let block = format!("{}:\n\n{fence}\n", subject(item));
        if out.len() + block.len() + more_room > budget / 2 {
            break;
        }
        out.push_str(&block);
        shown.insert(i);
    }
    let mut listed = 0;
    for &i in order.iter().filter(|&i| !shown.contains(i)).collect::<Vec<_>>() {
        let line = format!("- {}\n", bullet(&facts.items[i]));
        if out.len() + line.len() + more_room > budget {
            continue;
        }
        out.push_str(&line);
        listed += 1;
        shown.insert(i);
    }
    if listed > 0 {
        out.push('\n');
    }
    let hidden = facts.items.len() - shown.len() + facts.items_cut;
    if hidden > 0 {
        let files: BTreeSet<_> = (0..facts.items.len())
            .filter(|i| !shown.contains(i))
            .filter_map(|i| facts.items[i].file.as_deref())
            .collect();
        let files = if files.is_empty() { String::new() } else { format!(" in {}", count(files.len(), "file")) };
        let _ = write!(out, "… and {hidden} more{files}.\n\n");
    }
    out
}

/// Test or place of an item.
fn subject(item: &Item) -> String {
    let place = item.file.as_deref().map(|file| {
        let line = item.line.map(|line| format!(":{line}")).unwrap_or_default();
        let col = item.line.and(item.col).map(|col| format!(":{col}")).unwrap_or_default();
        code(&format!("{}{line}{col}", ellipsis(file, MESSAGE_BYTES_MAX)))
    });
    match (&item.test, place) {
        (Some(test), Some(place)) => format!("{} in {place}", code(&ellipsis(test, MESSAGE_BYTES_MAX))),
        (Some(test), None) => code(&ellipsis(test, MESSAGE_BYTES_MAX)),
        (None, Some(place)) => place,
        (None, None) => String::new(),
    }
}

fn bullet(item: &Item) -> String {
    let subject = subject(item);
    let message = item.message.trim().lines().next().unwrap_or_default();
    let code_name = item.code.as_deref().filter(|name| !name.trim().is_empty()).map(code);
    let message = (!message.trim().is_empty()).then(|| code(&ellipsis(message, MESSAGE_BYTES_MAX)));
    let said: Vec<String> = code_name.into_iter().chain(message).collect();
    let said = said.join(" ");
    match (subject.is_empty(), said.is_empty()) {
        (true, true) => "a failure without a message".to_owned(),
        (true, false) => said,
        (false, true) => subject,
        (false, false) => format!("{subject}: {said}"),
    }
}

/// The kept lines: when they don't fit, the first two thirds and the last third of what does.
fn output(facts: &Facts, budget: usize) -> String {
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

fn files(facts: &Facts, budget: usize) -> String {
    if facts.files.is_empty() {
        return String::new();
    }
    let mut out = String::from("## Affected files\n\n");
    for (shown, file) in facts.files.iter().enumerate() {
        let line = format!("- {}\n", code(file));
        if out.len() + line.len() + 60 > budget && shown > 0 {
            let _ =
                write!(out, "\n… and {} more, all of them listed above under `files`.\n", facts.files.len() - shown);
            break;
        }
        out.push_str(&line);
    }
    out.push('\n');
    out
}

fn reproduce(facts: &Facts) -> String {
    let dir = printable(&facts.dir);
    let cd = if dir.is_empty() { String::new() } else { format!("cd {} && ", shell_words::quote(&dir)) };
    let command = ellipsis(&facts.command, COMMAND_BYTES_MAX);
    format!("## Reproduce\n\n{}", fence("sh", &format!("{cd}{command}"), false))
}
