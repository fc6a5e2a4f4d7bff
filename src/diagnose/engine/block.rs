//! The open block: which lines belong to it, and what they say about its item.

use std::borrow::Cow;

use crate::base::limits::{BLOCK_LINES_MAX, FRAMES_MAX, MESSAGE_BYTES_MAX};
use crate::base::text::{is_blank, prefix};
use crate::base::tree::ends_with_path;
use crate::diagnose::definition::{DefinitionBody, DefinitionKind, FrameChoice};
use crate::diagnose::paths;

use super::candidates::RuleCandidate;
use super::found::{Frame, LineRole, MatchGroups, RawDiagnostic};
use super::line::{indent_width, line_head};
use super::{Engine, drive};

/// The open block.
#[derive(Debug)]
pub(super) struct OpenBlock {
    pub item: usize,
    pub tool: usize,
    pub rule: usize,
    pub indent: usize,
    pub lines: usize,
    /// Indentation and role of the last frame: lines below it that are deeper share its fate.
    pub frame: Option<(usize, LineRole)>,
    pub end: usize,
    /// Whether its first blank line was seen.
    pub blank: bool,
    /// Whether its stack began.
    pub stack: bool,
}

impl<'a> Engine<'a> {
    /// Looks at a line while a block is open; `false` when the block ended before it.
    pub(super) fn in_block(&mut self, stream: &[(usize, usize)], at: usize, text: &'a str) -> bool {
        let Some(open) = &self.open else { return false };
        let (tool, item) = (open.tool, open.item);
        let body = self.catalog.rules[open.rule].rule_text().body;
        let belongs = open.lines < BLOCK_LINES_MAX && self.belongs_to_block(open, body, stream, at, text);
        if belongs && open.lines == 1 && self.catalog.rules[open.rule].rule_text().test_next {
            self.outcome.items[item].test = Some(prefix(text.trim(), MESSAGE_BYTES_MAX));
            self.keep_as(stream[at].0, LineRole::Detail(item));
            return true;
        }
        if self.catalog.rules[open.rule].rule_text().wraps && self.read_wrapped(stream, at, text) {
            return true;
        }
        for position in 0..self.hits.len() {
            let RuleCandidate { rule, tool: owner, kind, .. } = self.hits[position];
            let (rule, owner) = (usize::from(rule), usize::from(owner));
            let own = owner == tool;
            if !own && !self.catalog.tools[owner].shared {
                continue;
            }
            // What begins something else ends the block, and is read when it is looked at as a free line.
            if own && begins_another(kind) {
                let Some(groups) = self.match_rule(rule, text) else { continue };
                self.read = Some((rule, groups));
                self.close_block();
                return false;
            }
            if !(matches!(kind, DefinitionKind::Frame | DefinitionKind::Drop) || own && is_of_block(kind)) {
                continue;
            }
            let Some(groups) = self.match_rule(rule, text) else { continue };
            match kind {
                DefinitionKind::Continue if self.catalog.rules[rule].rule_text().join.is_some() => {
                    if !self.join_diagnostic(item, &groups, rule) {
                        continue;
                    }
                }
                DefinitionKind::Continue => self.fill_diagnostic(item, &groups, rule),
                DefinitionKind::Frame if belongs || own => {
                    self.stack_began();
                    self.add_frame(stream[at].0, indent_width(text), groups, rule);
                    return true;
                }
                DefinitionKind::Frame => continue,
                DefinitionKind::Drop if belongs || own => {
                    if !own && text.trim_start().starts_with("at ") {
                        self.stack_began();
                    }
                    self.keep_as(stream[at].0, LineRole::Noise);
                    return true;
                }
                DefinitionKind::Drop => continue,
                DefinitionKind::Note => {}
                DefinitionKind::End => {
                    self.fill_diagnostic(item, &groups, rule);
                    self.keep_as(stream[at].0, LineRole::Told(item));
                    self.close_block();
                    return true;
                }
                _ => {
                    self.close_block();
                    return false;
                }
            }
            if self.catalog.rules[rule].rule_text().vital {
                self.outcome.vital.push(stream[at].0);
            }
            let role = if kind == DefinitionKind::Note { LineRole::Note(item) } else { LineRole::Told(item) };
            self.keep_as(stream[at].0, role);
            return true;
        }
        self.read_unmatched(stream[at].0, text, body, belongs)
    }

    /// A line of the open block that no rule knows.
    fn read_unmatched(&mut self, index: usize, text: &'a str, body: DefinitionBody, belongs: bool) -> bool {
        let Some(open) = &mut self.open else { return false };
        let (item, rule) = (open.item, open.rule);
        if !belongs {
            let closing = (body == DefinitionBody::Traceback && indent_width(text) == open.indent && !is_blank(text))
                .then(|| self.catalog.rules[rule].closing_matcher())
                .flatten()
                .and_then(|matcher| {
                    let said = &text[indent_width(text)..];
                    let seen = if self.drives { drive::as_posix(said) } else { Cow::Borrowed(said.as_bytes()) };
                    MatchGroups::take_groups(matcher, &mut matcher.regex.capture_locations(), said, &seen, self.texts)
                });
            if let Some(groups) = closing {
                self.fill_diagnostic(item, &groups, rule);
                self.keep_as(index, LineRole::Told(item));
                self.close_block();
                return true;
            }
            self.close_block();
            return false;
        }
        let blank = is_blank(text);
        let mut role =
            if self.catalog.rules[rule].rule_text().body_is_noise { LineRole::Noise } else { LineRole::Detail(item) };
        match open.frame {
            Some((depth, frame_role)) if blank || indent_width(text) > depth => role = frame_role,
            _ => open.frame = None,
        }
        let below_frame = open.frame.is_some();
        let found = &mut self.outcome.items[item];
        if !blank && !below_frame && role != LineRole::Noise && found.message.is_empty() && is_telling(text) {
            found.message = prefix(text.trim(), MESSAGE_BYTES_MAX);
            found.guessed = true;
        }
        self.keep_as(index, role);
        true
    }

    fn belongs_to_block(
        &self,
        open: &OpenBlock,
        body: DefinitionBody,
        stream: &[(usize, usize)],
        at: usize,
        text: &'a str,
    ) -> bool {
        let blank = is_blank(text);
        let deeper = indent_width(text) > open.indent;
        match body {
            DefinitionBody::None => false,
            DefinitionBody::Deeper => blank || deeper,
            DefinitionBody::Thrown => blank || deeper || !open.stack && self.leads_to_a_stack(stream, at),
            DefinitionBody::Paragraph => !blank && (deeper || !self.is_of_another(open.tool, text)),
            DefinitionBody::Open => true,
            DefinitionBody::Stack => !(blank && open.stack),
            DefinitionBody::Traceback => !blank && deeper,
            DefinitionBody::Snippet => {
                let after = stream.get(at + 1).map(|&(index, from)| self.lines[index].get(from..).unwrap_or(""));
                !blank && (deeper || is_caret_line(text) || after.is_some_and(is_caret_line))
            }
        }
    }

    /// Whether the stack of what was thrown comes soon behind a line, and nothing else is thrown before it.
    fn leads_to_a_stack(&self, stream: &[(usize, usize)], at: usize) -> bool {
        let mut lines = stream[at..].iter().take(THROWN_LINES_MAX).map(|&(index, from)| {
            let line = self.lines[index];
            line.get(from..).unwrap_or("")
        });
        lines
            .find_map(|line| is_call(line).then_some(true).or(throws_exception(line).then_some(false)))
            .unwrap_or(false)
    }

    /// Whether a line is a diagnostic with its place of another tool than the block's, which the command doesn't name.
    fn is_of_another(&self, tool: usize, text: &'a str) -> bool {
        let begins = |hit: &RuleCandidate| {
            let item =
                usize::from(hit.tool) != tool && matches!(hit.kind, DefinitionKind::Item | DefinitionKind::Start);
            item && self
                .match_rule(usize::from(hit.rule), text)
                .is_some_and(|groups| groups.file.is_some() && groups.line.is_some())
        };
        !self.named[tool] && self.hits.iter().any(begins)
    }

    pub(super) fn keep_as(&mut self, index: usize, role: LineRole) {
        self.outcome.roles[index] = role;
        if let Some(open) = &mut self.open {
            open.lines += 1;
            if is_blank(self.lines[index]) {
                open.blank = true;
            } else {
                open.end = index + 1;
            }
        }
    }

    fn stack_began(&mut self) {
        if let Some(open) = &mut self.open {
            open.stack = true;
        }
    }

    /// A further part of a test's name; `false` behind the block's first blank line.
    fn join_diagnostic(&mut self, item: usize, groups: &MatchGroups<'a>, rule: usize) -> bool {
        let header = self.open.as_ref().is_some_and(|open| !open.blank && !open.stack);
        let found = &mut self.outcome.items[item];
        let (Some(part), true) = (groups.test, header && found.message.is_empty()) else { return false };
        let test = found.test.get_or_insert_default();
        if test.len() + part.len() < MESSAGE_BYTES_MAX {
            let between = self.catalog.rules[rule].rule_text().join.as_deref().unwrap_or(" ");
            *test = self.texts.keep_text(format!("{test}{between}{part}"));
        }
        true
    }

    fn add_frame(&mut self, index: usize, depth: usize, groups: MatchGroups<'a>, rule: usize) {
        let Some(open) = &mut self.open else { return };
        let item = open.item;
        let inside = groups.file.is_some_and(|file| !paths::is_foreign(file));
        let role = if inside { LineRole::Detail(item) } else { LineRole::Noise };
        open.frame = Some((depth, role));
        if inside && self.outcome.items[item].all_frames().len() < FRAMES_MAX {
            let frames = &mut self.outcome.items[item].rest_mut().frames;
            let is_first = frames.is_empty();
            frames.extend(groups.group_location());
            if is_first && self.catalog.rules[rule].rule_text().vital {
                self.outcome.vital.push(index);
            }
        }
        self.keep_as(index, role);
    }

    /// Fills what the open block has not said yet.
    fn fill_diagnostic(&mut self, item: usize, groups: &MatchGroups<'a>, rule: usize) {
        let catalog = self.catalog;
        let text = catalog.rules[rule].rule_text();
        let code = self.rule_code(rule, groups);
        let found = &mut self.outcome.items[item];
        if text.replaces {
            (found.message, found.code) = ("", None);
        }
        if text.message_next && found.guessed && found.place.is_none() {
            found.message = "";
        }
        if let Some(place) = groups.group_location().filter(|place| !paths::is_foreign(place.file)) {
            if found.place.is_none() {
                found.place = Some(place);
            } else if found.all_frames().len() < FRAMES_MAX {
                if let Some(message) = groups.message {
                    found.rest_mut().more.push((place, prefix(message, MESSAGE_BYTES_MAX)));
                }
                found.rest_mut().frames.push(place);
            }
        }
        if let (Some(message), true) = (groups.message, found.message.is_empty() || found.guessed) {
            found.message = prefix(message, MESSAGE_BYTES_MAX);
            found.guessed = false;
        }
        found.code = found.code.or(code);
        found.test = found.test.or(groups.test);
        found.category = text.category.as_ref().or(found.category);
        found.severity = text.severity.unwrap_or(found.severity);
        found.decides |= text.decides;
    }

    pub(super) fn close_block(&mut self) {
        if let Some(open) = self.open.take() {
            let found = &mut self.outcome.items[open.item];
            found.span.1 = open.end;
            if self.catalog.rules[open.rule].rule_text().needs_body {
                let mine = LineRole::Detail(open.item);
                found.tentative = !(found.span.0 + 1..found.span.1).any(|line| self.outcome.roles[line] == mine);
            }
            if found.message.is_empty() {
                let body = (found.span.0 + 1..found.span.1)
                    .filter(|&index| matches!(self.outcome.roles[index], LineRole::Detail(item) | LineRole::Told(item) if item == open.item));
                let said = body.map(|index| line_head(self.lines[index]).trim()).find(|line| !line.is_empty());
                found.message = said.map_or("", |line| prefix(line, MESSAGE_BYTES_MAX));
                found.guessed = true;
            }
            if found.guessed && found.code.is_none() {
                split_exception(found);
            }
            // An empty line explains nothing.
            found.tentative |= found.message.is_empty()
                && found.code.is_none()
                && found.test.is_none()
                && found.place.is_none()
                && found.all_frames().is_empty();
            let mut frames = found.all_frames().iter().copied();
            match found.place {
                None => {
                    found.place = match self.catalog.tools[open.tool].frames {
                        FrameChoice::First => frames.next(),
                        FrameChoice::Last => frames.next_back(),
                    };
                }
                Some(place) if place.line.is_none() => {
                    if let Some(Frame { line, col, .. }) = frames.find(|frame| same_file(frame.file, place.file)) {
                        found.place = Some(Frame { line, col, ..place });
                    }
                }
                Some(_) => {}
            }
        }
    }
}

/// Whether a rule of this kind is about something else than the block before it.
fn begins_another(kind: DefinitionKind) -> bool {
    use DefinitionKind::{File, Item, SectionEnd, SectionStart, Start, Summary, TestName};
    matches!(kind, Item | Start | File | TestName | Summary | SectionStart | SectionEnd)
}

/// Whether a rule of this kind is about the lines of its own tool's blocks.
fn is_of_block(kind: DefinitionKind) -> bool {
    matches!(kind, DefinitionKind::Continue | DefinitionKind::Note | DefinitionKind::End)
}

/// `TypeError: x is undefined` and `RangeError [ERR_OUT_OF_RANGE]: …` are a class and a message.
fn split_exception(found: &mut RawDiagnostic<'_>) {
    let Some((class, message)) = found.message.split_once(": ") else { return };
    let class = class.split_once(" [").map_or(class, |(class, _)| class);
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let is_class = class.ends_with("Error") || class.ends_with("Exception");
    if is_class && class.chars().all(is_name) && !message.trim().is_empty() {
        (found.code, found.message) = (Some(class), message.trim());
    }
}

/// Whether a line can represent a message: it has words, and is not a line of source under a `>` or behind a number.
fn is_telling(text: &str) -> bool {
    let text = text.trim_start();
    text.contains(|c: char| c.is_alphabetic())
        && !text.starts_with(['>', '|', '@'])
        && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn is_caret_line(text: &str) -> bool {
    memchr::memchr2(b'^', b'~', text.as_bytes()).is_some()
        && text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'^' | b'~' | b'|' | b'-' | b'.' | b'0'..=b'9'))
}

/// Whether a line is a frame of JavaScript's.
fn is_call(line: &str) -> bool {
    line.starts_with([' ', '\t']) && line.trim_start().starts_with("at ")
}

/// Whether a line begins with the class of an error and a colon.
fn throws_exception(line: &str) -> bool {
    let class = line.split([':', ' ']).next().unwrap_or_default();
    class.len() < line.len() && (class.ends_with("Error") || class.ends_with("Exception"))
}

/// Lines between what was thrown and its stack.
const THROWN_LINES_MAX: usize = 60;

fn same_file(a: &str, b: &str) -> bool {
    ends_with_path(a, b) || ends_with_path(b, a)
}
