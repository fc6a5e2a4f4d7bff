//! What the engine finds, and how it is read from a match.

use regex::bytes::CaptureLocations;

use crate::base::text::trimmed;
use crate::diagnose::catalog::{DefinitionGroup, RuleMatcher};
use crate::diagnose::texts::TextPool;
use crate::diagnose::{Category, Severity};

use super::line::severity_of_word;
use super::tally::{ReportedCounts, Tally};

/// What a line is to the item that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LineRole {
    /// No definition knows it.
    #[default]
    Free,
    /// The first line of this item, or a header that it needs to be understood.
    Head(usize),
    /// A further line of it that one of its definition's rules reads.
    Told(usize),
    /// A further line of it.
    Detail(usize),
    /// A note to it.
    Note(usize),
    /// The tool's own count.
    Summary,
    /// Known not to matter.
    Noise,
}

/// A place as printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    /// As printed.
    pub file: &'a str,
    /// 1-based.
    pub line: Option<u32>,
    /// 1-based.
    pub col: Option<u32>,
}

/// An item before its paths are resolved. There may be as many as the output has lines, so that it owns no text, and
/// what few items have is apart.
#[derive(Debug)]
pub(crate) struct RawDiagnostic<'a> {
    /// Index of the tool; see [`tool_number`].
    pub(super) tool: u16,
    /// The severity.
    pub severity: Severity,
    /// What it makes of the run, where the rule says so.
    pub category: Option<&'a Category>,
    /// Whether that decides alone.
    pub decides: bool,
    /// Where, as printed.
    pub place: Option<Frame<'a>>,
    /// Rule or error code.
    pub code: Option<&'a str>,
    /// The message.
    pub message: &'a str,
    /// The failing test.
    pub test: Option<&'a str>,
    /// Lines, end exclusive.
    pub span: (usize, usize),
    /// Whether it counts only once a later line says that its test failed.
    pub tentative: bool,
    /// Whether it only repeats what its tool found in its file.
    pub repeats: bool,
    /// Whether the message is only the block's first line, until a rule says better.
    pub guessed: bool,
    /// What few items have.
    pub rest: Option<Box<RareFields<'a>>>,
}

/// The fields that few items have.
#[derive(Debug, Default)]
pub(crate) struct RareFields<'a> {
    /// Places inside the project that its block names, in order.
    pub frames: Vec<Frame<'a>>,
    /// Further places that it speaks of, with what it says there (a Go test that reports two mistakes).
    pub more: Vec<(Frame<'a>, &'a str)>,
    /// Folders that its paths may be relative to, the likeliest first.
    pub dirs: Vec<&'a str>,
}

/// The index of a tool in the two bytes that an item has for it: all layers' tools together are far fewer than 65,536.
pub(super) fn tool_number(tool: usize) -> u16 {
    u16::try_from(tool).unwrap_or(u16::MAX)
}

impl<'a> RawDiagnostic<'a> {
    /// Index of the tool.
    pub(crate) fn tool(&self) -> usize {
        self.tool.into()
    }

    /// Places inside the project that its block names, in order.
    pub(crate) fn all_frames(&self) -> &[Frame<'a>] {
        self.rest.as_ref().map_or(&[], |rest| &rest.frames)
    }

    /// Further places that it speaks of, with what it says there.
    pub(crate) fn more_frames(&self) -> &[(Frame<'a>, &'a str)] {
        self.rest.as_ref().map_or(&[], |rest| &rest.more)
    }

    /// Folders that its paths may be relative to, the likeliest first.
    pub(crate) fn stack_dirs(&self) -> &[&'a str] {
        self.rest.as_ref().map_or(&[], |rest| &rest.dirs)
    }

    /// What few items have, to add to.
    pub(crate) fn rest_mut(&mut self) -> &mut RareFields<'a> {
        self.rest.get_or_insert_default()
    }
}

/// What the definitions made of the output.
#[derive(Debug, Default)]
pub(crate) struct TestOutcome<'a> {
    /// The items in output order.
    pub items: Vec<RawDiagnostic<'a>>,
    /// A role for every line.
    pub roles: Vec<LineRole>,
    /// Tools whose output was seen.
    pub live: Vec<bool>,
    /// Lines of items that their rules call vital, in order of the streams.
    pub vital: Vec<usize>,
    /// What the tools counted themselves.
    pub tallies: Vec<Tally>,
}

/// The named groups of a match.
#[derive(Debug, Default)]
pub(super) struct MatchGroups<'a> {
    pub file: Option<&'a str>,
    pub line: Option<u32>,
    pub col: Option<u32>,
    pub severity: Option<&'a str>,
    pub code: Option<&'a str>,
    pub message: Option<&'a str>,
    pub test: Option<&'a str>,
    pub dir: Option<&'a str>,
    /// What the line counts.
    pub said: ReportedCounts,
}

impl<'a> MatchGroups<'a> {
    /// What `matcher` reads from `text`, matched on `seen`, which is as long; `slots` are of its regex.
    pub(super) fn take_groups(
        matcher: &RuleMatcher,
        slots: &mut CaptureLocations,
        text: &'a str,
        seen: &[u8],
        texts: &'a TextPool,
    ) -> Option<Self> {
        matcher.regex.captures_read(slots, seen)?;
        let mut groups = MatchGroups::default();
        let mut package = None;
        for &(number, group) in &matcher.groups {
            let Some((from, until)) = slots.get(number) else { continue };
            let value = match text.get(from..until) {
                Some(value) => trimmed(value),
                // A regex of bytes may have cut a character.
                None => texts.keep_text(String::from_utf8_lossy(&text.as_bytes()[from..until]).into_owned()).trim(),
            };
            if value.is_empty() {
                continue;
            }
            let counted = || value.replace(',', "").parse::<usize>().ok();
            match group {
                DefinitionGroup::File => groups.file = Some(without_label(value)),
                DefinitionGroup::Package => package = Some(value.replace('.', "/")),
                // cpplint says 0 of what concerns the whole file.
                DefinitionGroup::Line => groups.line = value.parse().ok().filter(|&line| line > 0),
                DefinitionGroup::Col => groups.col = value.parse().ok(),
                DefinitionGroup::Severity => groups.severity = Some(value),
                DefinitionGroup::Code => groups.code = Some(value),
                DefinitionGroup::Message => groups.message = Some(value),
                DefinitionGroup::Test => groups.test = Some(value),
                DefinitionGroup::Dir => groups.dir = Some(value),
                DefinitionGroup::Problems => groups.said.problems = counted(),
                DefinitionGroup::Errors => {
                    let sum = |more: usize| groups.said.errors.unwrap_or(0).saturating_add(more);
                    groups.said.errors = counted().map(sum).or(groups.said.errors);
                }
                DefinitionGroup::Warnings => groups.said.warnings = counted(),
            }
        }
        if let (Some(package), Some(file)) = (package, &mut groups.file) {
            *file = texts.keep_text(format!("{package}/{file}"));
        }
        Some(groups)
    }

    pub(super) fn group_location(&self) -> Option<Frame<'a>> {
        Some(Frame { file: self.file?, line: self.line, col: self.col })
    }
}

/// A file without the label that a runner puts before each line, which a rule for the tool alone takes for part of the name
/// (`[error] src/A.scala`, `Error: src/a.ts`).
fn without_label(file: &str) -> &str {
    let mut file = file;
    while let Some(at) = memchr::memchr(b' ', file.as_bytes()) {
        let (label, rest) = (&file[..at], &file[at + 1..]);
        let bracketed = label.strip_prefix('[').and_then(|label| label.strip_suffix(']'));
        let Some(word) = bracketed.or_else(|| label.strip_suffix(':')) else { break };
        if severity_of_word(word).is_none() || rest.trim_start().is_empty() {
            break;
        }
        file = rest.trim_start();
    }
    file
}
