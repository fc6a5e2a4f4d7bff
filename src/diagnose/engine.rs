//! Runs all definitions over the lines of one output at once.
//!
//! Every line belongs to at most one item. While a block is open, only its own tool (and the shared ones, which know
//! stacks and wrappers) speaks; a free line goes to the first rule that claims it, and the tool that the command names
//! is asked first.

use std::collections::HashMap;

use crate::base::limits::{BLOCK_LINES_MAX, FRAMES_MAX, LINE_MATCH_BYTES_MAX, MESSAGE_BYTES_MAX};
use crate::base::text::prefix;
use crate::base::tree::ends_with_path;

use super::catalog::{Catalog, Meaning, Rule};
use super::definition::{Body, Frames, Kind};
use super::paths;
use super::{Category, Severity};

/// What a line is to the item that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// No definition knows it.
    #[default]
    Free,
    /// The first line of this item, or a header that it needs to be understood.
    Head(usize),
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
    /// Whether it counts only once a later line says that its test failed.
    pub tentative: bool,
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
}

/// Matches `catalog` against `lines`. `named` says which tools the command names; `streams` lists the indices of the
/// lines of each interleaved stream, with the byte where its text starts.
pub fn run(catalog: &Catalog, lines: &[&str], streams: &[Vec<(usize, usize)>], named: &[bool]) -> Outcome {
    let mut engine = Engine {
        catalog,
        lines,
        named,
        outcome: Outcome {
            items: Vec::new(),
            roles: vec![Role::Free; lines.len()],
            live: live_tools(catalog, lines, named),
        },
        states: HashMap::new(),
        dirs: Vec::new(),
        open: None,
        hits: Vec::new(),
        since: HashMap::new(),
        tentative: HashMap::new(),
    };
    for stream in streams {
        engine.stream(stream);
    }
    engine.outcome
}

fn live_tools(catalog: &Catalog, lines: &[&str], named: &[bool]) -> Vec<bool> {
    let mut live: Vec<bool> =
        catalog.tools.iter().zip(named).map(|(tool, &named)| named || tool.markers.is_empty()).collect();
    for line in lines {
        catalog.scan(head(line).as_bytes(), |what| {
            if let Meaning::Marker(tool) = what {
                live[tool] = true;
            }
        });
    }
    live
}

fn head(line: &str) -> &str {
    prefix(line, LINE_MATCH_BYTES_MAX)
}

fn indent(text: &str) -> usize {
    text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// What a tool remembers between lines.
#[derive(Debug, Default)]
struct State {
    file: Option<(String, usize)>,
    test: Option<String>,
    section: Option<String>,
    base: Option<String>,
}

/// The open block.
#[derive(Debug)]
struct Open {
    item: usize,
    tool: usize,
    rule: usize,
    indent: usize,
    lines: usize,
    /// Indentation and role of the last frame: lines below it that are deeper share its fate.
    frame: Option<(usize, Role)>,
    end: usize,
}

struct Engine<'a> {
    catalog: &'a Catalog,
    lines: &'a [&'a str],
    named: &'a [bool],
    outcome: Outcome,
    states: HashMap<usize, State>,
    dirs: Vec<String>,
    open: Option<Open>,
    hits: Vec<usize>,
    /// For each tool (or all, for a shared one) the first item that the next `dir_after` speaks of.
    since: HashMap<usize, usize>,
    /// Blocks whose test may still pass.
    tentative: HashMap<(usize, String), Vec<usize>>,
}

/// The named groups of a match.
#[derive(Debug, Default)]
struct Groups {
    file: Option<String>,
    line: Option<u32>,
    col: Option<u32>,
    severity: Option<String>,
    code: Option<String>,
    message: Option<String>,
    test: Option<String>,
    dir: Option<String>,
}

impl Groups {
    fn take(regex: &regex::bytes::Regex, text: &str) -> Option<Self> {
        let captures = regex.captures(text.as_bytes())?;
        let group = |name: &str| {
            let value = captures.name(name)?.as_bytes();
            let value = String::from_utf8_lossy(value).trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        let number = |name: &str| group(name)?.parse().ok();
        let file = match (group("package"), group("file")) {
            (Some(package), Some(file)) => Some(format!("{}/{file}", package.replace('.', "/"))),
            (_, file) => file,
        };
        Some(Groups {
            file,
            line: number("line"),
            col: number("col"),
            severity: group("severity"),
            code: group("code"),
            message: group("message"),
            test: group("test"),
            dir: group("dir"),
        })
    }

    fn place(&self) -> Option<Frame> {
        Some(Frame { file: self.file.clone()?, line: self.line, col: self.col })
    }
}

impl<'a> Engine<'a> {
    fn stream(&mut self, stream: &[(usize, usize)]) {
        self.states.clear();
        self.dirs.clear();
        for at in 0..stream.len() {
            let (index, from) = stream[at];
            let text = head(self.lines[index].get(from..).unwrap_or(""));
            self.find_hits(text);
            if self.open.is_some() && self.in_block(stream, at, text) {
                continue;
            }
            self.free(index, text);
        }
        self.close();
    }

    /// The rules that may match `text`, those of the named tools first.
    fn find_hits(&mut self, text: &str) {
        let mut hits = std::mem::take(&mut self.hits);
        hits.clear();
        self.catalog.scan(text.as_bytes(), |what| {
            if let Meaning::Rule(rule) = what {
                hits.push(rule);
            }
        });
        hits.sort_unstable_by_key(|&rule| (!self.named[self.catalog.rules[rule].tool], rule));
        hits.dedup();
        hits.retain(|&rule| self.holds(&self.catalog.rules[rule]));
        self.hits = hits;
    }

    fn holds(&self, rule: &Rule) -> bool {
        self.outcome.live[rule.tool]
            && match &rule.text.when {
                None => true,
                Some(when) => self.states.get(&rule.tool).is_some_and(|state| state.section.as_ref() == Some(when)),
            }
    }

    fn matching(&self, rule: usize, text: &str) -> Option<Groups> {
        Groups::take(self.catalog.rules[rule].regex()?, text)
    }

    /// Looks at a line while a block is open; `false` when the block ended before it.
    fn in_block(&mut self, stream: &[(usize, usize)], at: usize, text: &str) -> bool {
        let Some(open) = &self.open else { return false };
        let (tool, item) = (open.tool, open.item);
        let body = self.catalog.rules[open.rule].text.body;
        let belongs = open.lines < BLOCK_LINES_MAX && self.belongs(open, body, stream, at, text);
        for position in 0..self.hits.len() {
            let rule = self.hits[position];
            let (owner, kind) = (self.catalog.rules[rule].tool, self.catalog.rules[rule].text.kind);
            let own = owner == tool;
            if !own && !self.catalog.tools[owner].shared {
                continue;
            }
            match kind {
                Kind::Item
                | Kind::Start
                | Kind::File
                | Kind::TestName
                | Kind::Summary
                | Kind::SectionStart
                | Kind::SectionEnd
                | Kind::End
                    if own => {}
                Kind::Continue | Kind::Note if own => {}
                Kind::Frame | Kind::Drop => {}
                _ => continue,
            }
            let Some(groups) = self.matching(rule, text) else { continue };
            match kind {
                Kind::Continue => self.fill(item, &groups, rule),
                Kind::Frame if belongs || own => {
                    self.frame(stream[at].0, indent(text), groups);
                    return true;
                }
                Kind::Frame => continue,
                Kind::Drop if belongs || own => {
                    self.keep_as(stream[at].0, Role::Noise);
                    return true;
                }
                Kind::Drop => continue,
                Kind::Note => {}
                Kind::End => {
                    self.fill(item, &groups, rule);
                    self.keep_as(stream[at].0, Role::Detail(item));
                    self.close();
                    return true;
                }
                _ => {
                    self.close();
                    return false;
                }
            }
            let role = if kind == Kind::Note { Role::Note(item) } else { Role::Detail(item) };
            self.keep_as(stream[at].0, role);
            return true;
        }
        self.unmatched(stream[at].0, text, body, belongs)
    }

    /// A line of the open block that no rule knows.
    fn unmatched(&mut self, index: usize, text: &str, body: Body, belongs: bool) -> bool {
        let Some(open) = &mut self.open else { return false };
        let (item, rule) = (open.item, open.rule);
        if !belongs {
            let closing = (body == Body::Traceback && indent(text) == open.indent && !text.trim().is_empty())
                .then(|| self.catalog.rules[rule].closing())
                .flatten()
                .and_then(|regex| Groups::take(regex, &text[indent(text)..]));
            if let Some(groups) = closing {
                self.fill(item, &groups, rule);
                self.keep_as(index, Role::Detail(item));
                self.close();
                return true;
            }
            self.close();
            return false;
        }
        let blank = text.trim().is_empty();
        let mut role = if self.catalog.rules[rule].text.body_is_noise { Role::Noise } else { Role::Detail(item) };
        match open.frame {
            Some((depth, frame_role)) if blank || indent(text) > depth => role = frame_role,
            _ => open.frame = None,
        }
        let below_frame = open.frame.is_some();
        let found = &mut self.outcome.items[item];
        if !blank && !below_frame && role != Role::Noise && found.message.is_empty() && is_telling(text) {
            found.message = prefix(text.trim(), MESSAGE_BYTES_MAX).to_owned();
            found.guessed = true;
        }
        self.keep_as(index, role);
        true
    }

    fn belongs(&self, open: &Open, body: Body, stream: &[(usize, usize)], at: usize, text: &str) -> bool {
        let blank = text.trim().is_empty();
        let deeper = indent(text) > open.indent;
        match body {
            Body::None => false,
            Body::Deeper => blank || deeper,
            Body::Paragraph => !blank,
            Body::Open => true,
            Body::Traceback => !blank && deeper,
            Body::Snippet => {
                let after = stream.get(at + 1).map(|&(index, from)| self.lines[index].get(from..).unwrap_or(""));
                !blank && (deeper || is_caret_line(text) || after.is_some_and(is_caret_line))
            }
        }
    }

    fn keep_as(&mut self, index: usize, role: Role) {
        self.outcome.roles[index] = role;
        if let Some(open) = &mut self.open {
            open.lines += 1;
            if !self.lines[index].trim().is_empty() {
                open.end = index + 1;
            }
        }
    }

    fn frame(&mut self, index: usize, depth: usize, groups: Groups) {
        let Some(open) = &mut self.open else { return };
        let item = open.item;
        let inside = groups.file.as_deref().is_some_and(|file| !paths::is_foreign(file));
        let role = if inside { Role::Detail(item) } else { Role::Noise };
        open.frame = Some((depth, role));
        if inside && self.outcome.items[item].frames.len() < FRAMES_MAX {
            self.outcome.items[item].frames.extend(groups.place());
        }
        self.keep_as(index, role);
    }

    /// Fills what the open block has not said yet.
    fn fill(&mut self, item: usize, groups: &Groups, rule: usize) {
        let text = &self.catalog.rules[rule].text;
        let found = &mut self.outcome.items[item];
        if let Some(place) = groups.place().filter(|place| !paths::is_foreign(&place.file)) {
            if found.place.is_none() {
                found.place = Some(place);
            } else if found.frames.len() < FRAMES_MAX {
                found.frames.push(place);
            }
        }
        if let (Some(message), true) = (&groups.message, found.message.is_empty() || found.guessed) {
            found.message = prefix(message, MESSAGE_BYTES_MAX).to_owned();
            found.guessed = false;
        }
        found.code = found.code.take().or_else(|| groups.code.clone()).or_else(|| text.code.clone());
        found.test = found.test.take().or_else(|| groups.test.clone());
        found.category = text.category.or(found.category);
        found.decides |= text.decides;
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            let found = &mut self.outcome.items[open.item];
            found.span.1 = open.end;
            if found.message.is_empty() {
                let body = (found.span.0 + 1..found.span.1)
                    .filter(|&index| self.outcome.roles[index] == Role::Detail(open.item));
                let said = body.map(|index| head(self.lines[index]).trim()).find(|line| !line.is_empty());
                found.message = said.map(|line| prefix(line, MESSAGE_BYTES_MAX).to_owned()).unwrap_or_default();
            }
            let mut frames = found.frames.iter();
            match &mut found.place {
                None => {
                    found.place = match self.catalog.tools[open.tool].frames {
                        Frames::First => frames.next().cloned(),
                        Frames::Last => frames.next_back().cloned(),
                    };
                }
                Some(place) if place.line.is_none() => {
                    if let Some(frame) = frames.find(|frame| same_file(&frame.file, &place.file)) {
                        (place.line, place.col) = (frame.line, frame.col);
                    }
                }
                Some(_) => {}
            }
        }
    }

    /// Looks at a line that belongs to no open block.
    fn free(&mut self, index: usize, text: &str) {
        for position in 0..self.hits.len() {
            let rule = self.hits[position];
            let kind = self.catalog.rules[rule].text.kind;
            if matches!(kind, Kind::Continue | Kind::End | Kind::Frame) {
                continue;
            }
            // A file header holds until something else is known of the tool; it must not shadow a better rule.
            let Some(groups) = self.matching(rule, text) else { continue };
            if self.apply(index, text, rule, kind, groups) {
                return;
            }
        }
    }

    /// Applies a rule to a free line; whether it claims the line.
    fn apply(&mut self, index: usize, text: &str, rule: usize, kind: Kind, groups: Groups) -> bool {
        let tool = self.catalog.rules[rule].tool;
        let state = self.states.entry(tool).or_default();
        match kind {
            Kind::Item | Kind::Start => {
                // A line number alone says nothing without the file that a header named.
                let homeless = groups.line.is_some() && groups.file.is_none() && state.file.is_none();
                if !homeless {
                    self.item(index, text, rule, kind, groups);
                }
                return !homeless;
            }
            Kind::Drop => {
                self.outcome.roles[index] = Role::Noise;
                return true;
            }
            Kind::Summary => {
                self.outcome.roles[index] = Role::Summary;
                return true;
            }
            Kind::Note => {
                let last = self.outcome.items.len().wrapping_sub(1);
                let Some(found) = self.outcome.items.get(last).filter(|found| found.tool == tool) else { return false };
                let role = if found.span.1 + 8 >= index { Role::Note(last) } else { Role::Noise };
                self.outcome.roles[index] = role;
                return true;
            }
            Kind::File => state.file = groups.file.map(|file| (file, index)),
            Kind::TestName => state.test = groups.test,
            Kind::SectionStart => {
                state.section.clone_from(&self.catalog.rules[rule].text.section);
                state.test = None;
                self.outcome.roles[index] = Role::Noise;
                return true;
            }
            Kind::SectionEnd => {
                state.section = None;
                state.test = None;
                self.outcome.roles[index] = Role::Noise;
                return true;
            }
            Kind::DirBase => state.base = groups.dir,
            Kind::DirEnter => self.dirs.extend(groups.dir),
            Kind::DirLeave => {
                self.dirs.pop();
            }
            Kind::DirAfter => self.dir_after(tool, groups.dir),
            Kind::Continue | Kind::End | Kind::Frame => {}
        }
        false
    }

    /// A verdict on a test is one on the blocks that were printed before it.
    fn settle(&mut self, item: usize) {
        let found = &self.outcome.items[item];
        let Some(test) = &found.test else { return };
        let key = (found.tool, test.clone());
        if found.tentative {
            self.tentative.entry(key).or_default().push(item);
        } else if found.severity == Severity::Error {
            for earlier in self.tentative.remove(&key).unwrap_or_default() {
                self.outcome.items[earlier].tentative = false;
                self.outcome.items[earlier].severity = Severity::Error;
            }
        }
    }

    fn dir_after(&mut self, tool: usize, dir: Option<String>) {
        let from = self.since.insert(tool, self.outcome.items.len()).unwrap_or(0);
        let shared = self.catalog.tools[tool].shared;
        let Some(dir) = dir else { return };
        for found in self.outcome.items[from..].iter_mut().filter(|found| shared || found.tool == tool) {
            found.dirs.insert(0, dir.clone());
        }
    }

    fn item(&mut self, index: usize, text: &str, rule: usize, kind: Kind, groups: Groups) {
        let Rule { tool, text: ref said, .. } = self.catalog.rules[rule];
        let state = self.states.entry(tool).or_default();
        let item = self.outcome.items.len();
        let mut place = groups.place();
        if place.is_none()
            && let Some((file, header)) = &state.file
        {
            place = Some(Frame { file: file.clone(), line: groups.line, col: groups.col });
            // The header stays with the first item that counts.
            let weak = |&item: &usize| self.outcome.items[item].severity < Severity::Error;
            match self.outcome.roles[*header] {
                Role::Free => self.outcome.roles[*header] = Role::Head(item),
                Role::Head(other) if weak(&other) => self.outcome.roles[*header] = Role::Head(item),
                _ => {}
            }
        }
        let dirs = state.base.iter().chain(self.dirs.last()).cloned().collect();
        let severity = groups.severity.as_deref().and_then(severity).or(said.severity).unwrap_or(Severity::Error);
        self.outcome.items.push(Found {
            tool,
            severity,
            category: said.category,
            decides: said.decides,
            place,
            code: groups.code.or_else(|| said.code.clone()),
            message: groups.message.map(|message| prefix(&message, MESSAGE_BYTES_MAX).to_owned()).unwrap_or_default(),
            test: groups.test.or_else(|| state.test.clone()),
            span: (index, index + 1),
            frames: Vec::new(),
            tentative: said.tentative,
            guessed: false,
            dirs,
        });
        self.outcome.roles[index] = Role::Head(item);
        self.settle(item);
        if kind == Kind::Start || said.body != Body::None {
            let indent = indent(text);
            self.open = Some(Open { item, tool, rule, indent, lines: 1, frame: None, end: index + 1 });
        }
    }
}

/// Whether a line can stand for a message: it has words, and is not a line of source under a `>` or behind a number.
fn is_telling(text: &str) -> bool {
    let text = text.trim_start();
    text.contains(|c: char| c.is_alphabetic())
        && !text.starts_with(['>', '|', '@'])
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn is_caret_line(text: &str) -> bool {
    text.contains(['^', '~'])
        && text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'^' | b'~' | b'|' | b'-' | b'.' | b'0'..=b'9'))
}

fn same_file(a: &str, b: &str) -> bool {
    ends_with_path(a, b) || ends_with_path(b, a)
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
