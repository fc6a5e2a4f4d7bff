//! What the engine finds, and how it is read from a match.

use regex::bytes::Regex;

use crate::diagnose::{Category, Severity};

use super::tally::{Said, Tally};

/// What a line is to the item that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
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
#[derive(Debug, Clone)]
pub struct Frame {
    /// As printed.
    pub file: String,
    /// 1-based.
    pub line: Option<u32>,
    /// 1-based.
    pub col: Option<u32>,
}

/// An item before its paths are resolved.
#[derive(Debug, Clone)]
pub struct Found {
    /// Index of the tool.
    pub tool: usize,
    /// How bad.
    pub severity: Severity,
    /// What it makes of the run, where the rule says so.
    pub category: Option<Category>,
    /// Whether that decides alone.
    pub decides: bool,
    /// Where, as printed.
    pub place: Option<Frame>,
    /// Rule or error code.
    pub code: Option<String>,
    /// The message.
    pub message: String,
    /// The failing test.
    pub test: Option<String>,
    /// Lines, end exclusive.
    pub span: (usize, usize),
    /// Places inside the project that its block names, in order.
    pub frames: Vec<Frame>,
    /// Further places that it speaks of, with what it says there (a Go test that reports two mistakes).
    pub more: Vec<(Frame, String)>,
    /// Whether it counts only once a later line says that its test failed.
    pub tentative: bool,
    /// Whether it only repeats what its tool found in its file.
    pub repeats: bool,
    /// Whether the message is only the block's first line, until a rule says better.
    pub guessed: bool,
    /// Folders that its paths may be relative to, the likeliest first.
    pub dirs: Vec<String>,
}

/// What the definitions made of the output.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The items in output order.
    pub items: Vec<Found>,
    /// A role for every line.
    pub roles: Vec<Role>,
    /// Tools whose output was seen.
    pub live: Vec<bool>,
    /// What the tools counted themselves.
    pub tallies: Vec<Tally>,
}

/// The named groups of a match.
#[derive(Debug, Default)]
pub(super) struct Groups {
    pub file: Option<String>,
    pub line: Option<u32>,
    pub col: Option<u32>,
    pub severity: Option<String>,
    pub code: Option<String>,
    pub message: Option<String>,
    pub test: Option<String>,
    pub dir: Option<String>,
    /// What the line counts.
    pub said: Said,
}

impl Groups {
    pub fn take(regex: &Regex, text: &str) -> Option<Self> {
        // Most candidates don't match, and to say that costs less without their groups.
        if !regex.is_match(text.as_bytes()) {
            return None;
        }
        let captures = regex.captures(text.as_bytes())?;
        let mut groups = Groups::default();
        let mut package = None;
        for (name, group) in regex.capture_names().zip(captures.iter()) {
            let (Some(name), Some(group)) = (name, group) else { continue };
            let value = String::from_utf8_lossy(group.as_bytes());
            let value = value.trim();
            if value.is_empty() {
                continue;
            }
            let counted = || value.replace(',', "").parse::<usize>().ok();
            match name {
                "file" => groups.file = Some(value.to_owned()),
                "package" => package = Some(value.replace('.', "/")),
                // cpplint says 0 of what concerns the whole file.
                "line" => groups.line = value.parse().ok().filter(|&line| line > 0),
                "col" => groups.col = value.parse().ok(),
                "severity" => groups.severity = Some(value.to_owned()),
                "code" => groups.code = Some(value.to_owned()),
                "message" => groups.message = Some(value.to_owned()),
                "test" => groups.test = Some(value.to_owned()),
                "dir" => groups.dir = Some(value.to_owned()),
                "problems" => groups.said.problems = counted(),
                "errors" | "more_errors" => {
                    let sum = |more: usize| groups.said.errors.unwrap_or(0).saturating_add(more);
                    groups.said.errors = counted().map(sum).or(groups.said.errors);
                }
                "warnings" => groups.said.warnings = counted(),
                _ => {}
            }
        }
        if let (Some(package), Some(file)) = (package, &mut groups.file) {
            *file = format!("{package}/{file}");
        }
        Some(groups)
    }

    pub fn place(&self) -> Option<Frame> {
        Some(Frame { file: self.file.clone()?, line: self.line, col: self.col })
    }
}

/// The severity that a tool's word or letter means.
pub fn severity(word: &str) -> Option<Severity> {
    let word = word.to_ascii_lowercase();
    Some(match word.trim_end_matches(':') {
        "error"
        | "fatal"
        | "fatal error"
        | "err"
        | "e"
        | "f"
        | "critical"
        | "high"
        | "severe"
        | "fail"
        | "failed"
        | "internal compiler error"
        | "syntaxerror" => Severity::Error,
        "warning" | "warn" | "w" | "medium" => Severity::Warning,
        "info" | "note" | "hint" | "help" | "style" | "convention" | "refactor" | "performance" | "portability"
        | "information" | "low" | "c" | "r" | "i" | "n" | "suggestion" => Severity::Info,
        _ => return None,
    })
}
