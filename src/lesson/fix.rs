//! The one part of a lesson that verify-run updates after it was written: what made the failure go away. It is
//! between two comments, of which the first has the text's hash: an edited part is left alone.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use super::seal;
use super::shared_lesson::SharedLessonFix;
use crate::base::limits::LESSON_BYTES_MAX;
use crate::base::markdown::fence;
use crate::base::text::{count, ellipsis, one_line};

/// Room that a new lesson leaves for the fix, bytes.
pub(super) const FIX_BYTES_RESERVED: usize = 2 << 10;
/// The diff in a lesson, bytes.
const DIFF_BYTES_MAX: usize = 6 << 10;
/// Files, commands listed.
const LISTED_MAX: usize = 20;
/// A command line, bytes.
const COMMAND_BYTES_MAX: usize = 200;
/// An annotation of a fix, bytes.
const TEXT_BYTES_MAX: usize = 500;

const BEGIN: &str = "<!-- verify-run:fix ";
const END: &str = "<!-- /verify-run:fix -->";
const UNKNOWN: &str = "Not known yet.";
/// Replaces attempt and time in a shared lesson.
const FIXED: &str = "Fixed by this change.";
const FIXED_ON: &str = "Fixed on attempt ";
const STATUS: &str = "Current status: verify-run fix show ";
/// The same lines in lessons that earlier versions wrote.
const FIXED_EARLIER: &str = "Gone after this change.";
const FIXED_ON_EARLIER: &str = "Gone at attempt ";
const STATUS_EARLIER: &str = "By now: verify-run fix show ";
const CONFIRMED: &str = "Confirmed when this was written";
const UNCONFIRMED: &str = "Unconfirmed when this was written";
const ALSO_CHANGED: &str = "Also changed:";
const COMMANDS: &str = "Commands that were run in between:";
const TRIED: &str = "Changed before without effect:";
const LEFT_OUT: &str = "Left out: ";
const CAUSE: &str = "Cause";
const APPROACH: &str = "What helped";
const RULE: &str = "Rule";

/// What the part says.
#[derive(Debug, Clone, PartialEq)]
pub enum LessonFixSection {
    /// What made the failure go away.
    Fixed(Box<LessonFixFacts>),
    /// Nothing did: the same tree passed when it was run again. How sure that is, and what is known of it.
    Flake {
        /// `proven` or `suspected`.
        proof: String,
        /// For people.
        why: String,
    },
}

/// What made a failure go away. Texts come from tools: redacted already, made safe for Markdown when rendered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LessonFixFacts {
    /// `x-…`
    pub id: String,
    /// Which attempt it was, from 1.
    pub attempt: u64,
    /// Seconds from the first failing run to the pass.
    pub seconds: u64,
    /// It held, or worked elsewhere too.
    pub confirmed: bool,
    /// Why it is confirmed, or why not yet.
    pub status_reason: String,
    /// Changed files with lines added and removed, where they are text.
    pub files: Vec<(String, Option<u64>, Option<u64>)>,
    /// Files beyond those.
    pub files_cut: usize,
    /// Files that were changed as well and have nothing to do with the failure, as far as is known.
    pub also_changed: Vec<String>,
    /// Files left out because they came with another base.
    pub came_with_base: usize,
    /// Commands run in between.
    pub commands: Vec<String>,
    /// What changed outside of the repository's files.
    pub changed_dependencies: Vec<String>,
    /// The unified diff.
    pub diff: String,
    /// Bytes of it beyond what is here.
    pub diff_cut: usize,
    /// Files of earlier attempts that fixed nothing.
    pub tried: Vec<String>,
    /// Why it failed, as recorded.
    pub cause: Option<String>,
    /// What was done, as recorded.
    pub approach: Option<String>,
    /// What to do from now on, as recorded.
    pub rule: Option<String>,
}

/// The part of a new lesson, with its heading.
pub(super) fn unknown_section() -> String {
    format!("\n## Fix\n\n{}", render_section(UNKNOWN))
}

/// `text` with another fix in its part; `None` when it has no part, or an edited one.
pub fn set_fix(text: &str, fix: &LessonFixSection) -> Option<String> {
    let range = find_untouched_section(text)?;
    let room = LESSON_BYTES_MAX.saturating_sub(text.len() - range.len()).max(FIX_BYTES_RESERVED);
    Some(format!("{}{}{}", &text[..range.start], render_section(&section_content(fix, room)), &text[range.end..]))
}

/// Whether the part is as we wrote it, with whatever in it.
pub fn has_own_fix_section(text: &str) -> bool {
    find_untouched_section(text).is_some()
}

/// What the part says of the fix; `None` where it has none, or was edited.
pub(super) fn parse_shared_fix(text: &str) -> Option<SharedLessonFix> {
    let part = &text[find_untouched_section(text)?];
    let (said, diff) = part.split_once("`diff\n").unwrap_or((part, ""));
    let line = |start: &str| said.lines().find_map(|line| line.strip_prefix(start)).map(str::to_owned);
    let named = |name: &str| line(&format!("{name}: "));
    let id = line(STATUS).or_else(|| line(STATUS_EARLIER));
    if id.is_none() && line(FIXED).or_else(|| line(FIXED_EARLIER)).is_none() {
        return None;
    }
    Some(SharedLessonFix {
        id,
        cause: named(CAUSE),
        approach: named(APPROACH),
        rule: named(RULE),
        diff: diff.lines().take_while(|line| !line.starts_with("```")).map(|line| format!("{line}\n")).collect(),
    })
}

/// `text` with a part that says only what anybody else's attempt would say of the same fix, too.
pub(super) fn shared_fix_text(text: &str) -> String {
    let changed = find_untouched_section(text).and_then(|range| {
        let content = text[range.clone()].split_once("-->\n\n")?.1.rsplit_once(END)?.0;
        Some(format!("{}{}{}", &text[..range.start], render_section(&without_details(content)?), &text[range.end..]))
    });
    changed.unwrap_or_else(|| text.to_owned())
}

/// `None` of a part that says no fix.
fn without_details(content: &str) -> Option<String> {
    let (opening, rest) = content.split_once('\n')?;
    let ticks = opening.strip_suffix("text")?;
    let (said, diff) = rest.split_once(&format!("\n{ticks}\n"))?;
    if !said.starts_with(FIXED_ON) && !said.starts_with(FIXED_ON_EARLIER) {
        return None;
    }
    let paragraphs = || said.split("\n\n").skip(1).filter(|paragraph| !paragraph.is_empty());
    let also: BTreeSet<&str> = paragraphs()
        .find_map(|it| it.strip_prefix(ALSO_CHANGED))
        .into_iter()
        .flat_map(str::lines)
        .map(str::trim)
        .collect();
    let diff = diff.split_once("`diff\n").map_or_else(String::new, |(_, diff)| diff_without(diff, &also));
    // Without a diff the commands are what is known.
    let is_detail = |paragraph: &str| {
        [ALSO_CHANGED, TRIED, LEFT_OUT].iter().any(|title| paragraph.starts_with(title))
            || paragraph.starts_with(COMMANDS) && !diff.is_empty()
    };
    let numbers = [FIXED_ON, FIXED_ON_EARLIER, CONFIRMED, UNCONFIRMED, STATUS, STATUS_EARLIER];
    let is_number = |line: &&str| numbers.iter().any(|start| line.starts_with(start));
    let head = said.split_once("\n\n").map_or(said, |(head, _)| head);
    let head: Vec<&str> = std::iter::once(FIXED).chain(head.lines().filter(|line| !is_number(line))).collect();
    let lists = paragraphs().filter(|paragraph| !is_detail(paragraph)).map(str::to_owned);
    let said: Vec<String> = std::iter::once(head.join("\n")).chain(lists).collect();
    let said = fence("text", &said.join("\n\n"), false);
    Some(if diff.is_empty() { said } else { format!("{said}\n{}", fence("diff", &diff, false)) })
}

/// The lines of a diff in its fence, but those of the files of these names.
fn diff_without(fenced: &str, names: &BTreeSet<&str>) -> String {
    let mut is_kept = true;
    let lines = fenced.lines().take_while(|line| !line.starts_with("```"));
    let kept = lines.filter(|line| {
        if let Some(paths) = line.strip_prefix("diff --git ") {
            is_kept = paths.split_once(" b/").is_none_or(|(_, path)| !names.contains(path));
        }
        is_kept
    });
    kept.map(|line| format!("{line}\n")).collect()
}

fn render_section(content: &str) -> String {
    // A diff that has our own end in it must not end the part.
    let content = content.trim_end().replace("<!-- /verify-run", "<! -- /verify-run");
    format!("{BEGIN}{} -->\n\n{content}\n\n{END}\n", content_digest(&content))
}

fn content_digest(content: &str) -> String {
    seal::short_digest(content)
}

/// `text` without the content of its own part; `None` when the part was edited.
pub(super) fn without_fix_content(text: &str) -> Option<String> {
    let range = find_untouched_section(text)?;
    Some(format!("{}{}", &text[..range.start], &text[range.end..]))
}

/// Where the part is, if it is as we wrote it: from its first comment to the end of the line of its second one.
fn find_untouched_section(text: &str) -> Option<Range<usize>> {
    let start = text.match_indices(BEGIN).map(|(at, _)| at).find(|&at| at == 0 || text[..at].ends_with('\n'))?;
    let rest = &text[start..];
    let end = rest.find(&format!("\n{END}\n"))? + 1;
    let line_end = rest.find('\n')?;
    let said = rest[..line_end].strip_prefix(BEGIN)?.strip_suffix(" -->")?;
    let content = rest.get(line_end + 1..end)?.strip_prefix('\n')?.strip_suffix("\n\n")?;
    (said == content_digest(content)).then_some(start..start + end + END.len() + 1)
}

fn section_content(fix: &LessonFixSection, room: usize) -> String {
    match fix {
        LessonFixSection::Flake { proof, why } => {
            let why = one_line(&ellipsis(why, COMMAND_BYTES_MAX));
            fence("text", &format!("None: this is a {} flake.\n{why}", one_line(proof)), false)
        }
        LessonFixSection::Fixed(facts) => fixed_content(facts, room),
    }
}

fn fixed_content(facts: &LessonFixFacts, room: usize) -> String {
    let mut out = format!(
        "{FIXED_ON}{}, {} after the first failure.\n{}: {}.\n{STATUS}{}\n",
        facts.attempt,
        duration_text(facts.seconds),
        if facts.confirmed { CONFIRMED } else { UNCONFIRMED },
        one_line(&facts.status_reason),
        one_line(&facts.id),
    );
    for (name, text) in [(CAUSE, &facts.cause), (APPROACH, &facts.approach), (RULE, &facts.rule)] {
        if let Some(text) = text {
            let _ = writeln!(out, "{name}: {}", one_line(&ellipsis(text, TEXT_BYTES_MAX)));
        }
    }
    let mut list = |title: &str, lines: Vec<String>, cut: usize| {
        if lines.is_empty() {
            return;
        }
        let hidden = lines.len().saturating_sub(LISTED_MAX) + cut;
        let _ = write!(out, "\n{title}\n");
        lines.iter().take(LISTED_MAX).for_each(|line| {
            let _ = writeln!(out, "  {}", one_line(line));
        });
        if hidden > 0 {
            let _ = writeln!(out, "  … and {hidden} more");
        }
    };
    let lines = |added: &Option<u64>, removed: &Option<u64>| match (added, removed) {
        (None, None) => String::new(),
        (added, removed) => format!(" (+{} -{})", added.unwrap_or(0), removed.unwrap_or(0)),
    };
    let file = |(path, added, removed): &(String, Option<u64>, Option<u64>)| format!("{path}{}", lines(added, removed));
    list("Changed files:", facts.files.iter().map(file).collect(), facts.files_cut);
    list(ALSO_CHANGED, facts.also_changed.clone(), 0);
    list("Changed outside the repository:", facts.changed_dependencies.clone(), 0);
    let commands = facts.commands.iter().map(|line| ellipsis(line, COMMAND_BYTES_MAX));
    list(COMMANDS, commands.collect(), 0);
    list(TRIED, facts.tried.clone(), 0);
    if facts.came_with_base > 0 {
        let _ = write!(out, "\n{LEFT_OUT}{} that came with a new base\n", count(facts.came_with_base, "file"));
    }
    let room = room.saturating_sub(out.len() + 200).min(DIFF_BYTES_MAX);
    let (diff, cut) = whole_lines(&facts.diff, room);
    if facts.diff_cut + cut > 0 {
        let _ = write!(out, "\n{} of the diff left out\n", count(facts.diff_cut + cut, "byte"));
    }
    let mut out = fence("text", &out, false);
    if !diff.trim().is_empty() {
        let _ = write!(out, "\n{}", fence("diff", diff, false));
    }
    out
}

/// The lines that fit, and how many bytes don't.
fn whole_lines(text: &str, room: usize) -> (&str, usize) {
    if text.len() <= room {
        return (text, 0);
    }
    let end = text[..text.floor_char_boundary(room)].rfind('\n').map_or(0, |end| end + 1);
    (&text[..end], text.len() - end)
}

fn duration_text(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_earlier_versions_are_read_and_shared() {
        let facts = LessonFixFacts {
            id: "x-0123abcd".into(),
            attempt: 2,
            seconds: 240,
            status_reason: "its task is not over yet".into(),
            rule: Some("import it".into()),
            diff: "diff --git a/a b/a\n-x\n+y\n".into(),
            ..LessonFixFacts::default()
        };
        let content = section_content(&LessonFixSection::Fixed(Box::new(facts)), FIX_BYTES_RESERVED);
        let earlier = content.replace(FIXED_ON, FIXED_ON_EARLIER).replace(STATUS, STATUS_EARLIER);
        assert!(
            earlier.contains("Gone at attempt 2, 4 min") && earlier.contains("By now: verify-run fix show x-0123abcd")
        );
        let (text, earlier) = (render_section(&content), render_section(&earlier));
        assert_eq!(parse_shared_fix(&earlier), parse_shared_fix(&text));
        assert_eq!(parse_shared_fix(&earlier).expect("a fix").id.as_deref(), Some("x-0123abcd"));
        assert_eq!(shared_fix_text(&earlier), shared_fix_text(&text));
        let shared = without_details(&content).expect("a fix").replace(FIXED, FIXED_EARLIER);
        assert_eq!(parse_shared_fix(&render_section(&shared)).expect("a fix").rule.as_deref(), Some("import it"));
    }
}
