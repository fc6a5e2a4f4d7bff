//! Runs all definitions over the lines of one output at once.
//!
//! Every line belongs to at most one item. While a block is open, only its own tool (and the shared ones, which know
//! stacks and wrappers) speaks; a free line goes to the first rule that claims it, and the tool that the command names
//! is asked first.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use regex::bytes::CaptureLocations;

use crate::base::limits::MESSAGE_BYTES_MAX;
use crate::base::text::{is_blank, prefix};

use super::Severity;
use super::catalog::{Catalog, DefinitionRule};
use super::definition::{DefinitionBody, DefinitionKind};
use super::texts::TextPool;

mod block;
mod candidates;
mod claim;
mod drive;
mod found;
mod line;
mod tally;
mod wrapped;

use block::OpenBlock;
use candidates::{RuleCandidate, RuleCandidates};
pub(super) use drive::is_in as may_have_drives;
pub(super) use found::{Frame, LineRole, RareFields, RawDiagnostic, TestOutcome};
use found::{MatchGroups, tool_number};
pub(super) use line::severity_of_word;
use line::{indent_width, line_head, logged_severity};
pub(super) use tally::{ReportedCounts, Tally};

/// Matches `catalog` against `lines`. `named` says which tools the command names; `streams` lists the indices of the
/// lines of each interleaved stream, with the byte where its text starts; `texts` keeps what is no piece of a line;
/// `drives` says whether there may be a path with a drive in them.
pub(super) fn run<'a>(
    catalog: &'a Catalog,
    lines: &'a [&'a str],
    streams: &[Vec<(usize, usize)>],
    named: &'a [bool],
    texts: &'a TextPool,
    drives: bool,
) -> TestOutcome<'a> {
    let (live, candidates) = RuleCandidates::look_over(catalog, lines, named, drives);
    let mut engine = Engine {
        catalog,
        lines,
        named,
        texts,
        slots: RefCell::new(vec![None; catalog.rules.len()]),
        drives,
        outcome: TestOutcome {
            items: Vec::new(),
            roles: vec![LineRole::Free; lines.len()],
            live,
            vital: Vec::new(),
            tallies: Vec::new(),
        },
        candidates,
        states: Vec::new(),
        dirs: Vec::new(),
        open: None,
        hits: Vec::new(),
        read: None,
        since: HashMap::new(),
        tentative: HashMap::new(),
        began: tally::StreamStart::default(),
        blanks: 0,
    };
    for stream in streams {
        engine.read_stream(stream);
    }
    engine.outcome.vital.sort_unstable();
    engine.outcome
}

/// What a tool remembers between lines.
#[derive(Debug, Default)]
struct EngineState<'a> {
    file: Option<BlockHeader<'a>>,
    test: Option<&'a str>,
    section: Option<&'a str>,
    base: Option<&'a str>,
}

/// The file that a header names, with its line where it says one.
#[derive(Debug, Clone, Copy)]
struct BlockHeader<'a> {
    file: &'a str,
    line: Option<u32>,
    /// The line of the output that says so.
    index: usize,
}

struct Engine<'a> {
    catalog: &'a Catalog,
    lines: &'a [&'a str],
    named: &'a [bool],
    texts: &'a TextPool,
    /// By rule: where its groups are, to be used again for the next line.
    slots: RefCell<Vec<Option<CaptureLocations>>>,
    /// Whether a line may have a path with a drive.
    drives: bool,
    outcome: TestOutcome<'a>,
    candidates: RuleCandidates<'a>,
    /// By tool.
    states: Vec<EngineState<'a>>,
    dirs: Vec<&'a str>,
    open: Option<OpenBlock>,
    hits: Vec<RuleCandidate>,
    /// What this rule read from the current line when it ended the block before it.
    read: Option<(usize, MatchGroups<'a>)>,
    /// For each tool (or all, for a shared one) the first item that the next `dir_after` speaks of.
    since: HashMap<usize, usize>,
    /// Blocks whose test may still pass.
    tentative: HashMap<(usize, &'a str), Vec<usize>>,
    began: tally::StreamStart,
    /// Blank lines just before the current one.
    blanks: usize,
}

impl<'a> Engine<'a> {
    fn read_stream(&mut self, stream: &[(usize, usize)]) {
        self.states.clear();
        self.states.resize_with(self.catalog.tools.len(), EngineState::default);
        self.dirs.clear();
        self.began = tally::StreamStart { items: self.outcome.items.len(), tallies: self.outcome.tallies.len() };
        let mut claims = self.find_claims(stream);
        for at in 0..stream.len() {
            let (index, from) = stream[at];
            let text = line_head(self.lines[index].get(from..).unwrap_or(""));
            if claims.is_taken(at) || self.claim_lines(stream, at, &mut claims, true) {
                self.blanks = 0;
                continue;
            }
            self.read = None;
            self.find_hits(index);
            let blanks = self.blanks_after(text);
            if self.open.is_none() || !self.in_block(stream, at, text) {
                self.read_free_line(index, text);
                self.claim_lines(stream, at, &mut claims, false);
            }
            self.blanks = blanks;
        }
        self.close_block();
        self.close_tallies();
    }

    /// The blank lines before the next line: `text` is one of them, begins a section, or none.
    fn blanks_after(&self, text: &str) -> usize {
        let begins = |hit: &RuleCandidate| hit.kind == DefinitionKind::SectionStart;
        match is_blank(text) {
            true => self.blanks + 1,
            false if self.hits.iter().any(begins) => 2,
            false => 0,
        }
    }

    /// The rules that may match a line, those of the named tools first.
    fn find_hits(&mut self, line: usize) {
        let mut hits = std::mem::take(&mut self.hits);
        hits.clear();
        let candidates = self.candidates.candidates_of_line(line, self.lines[line], &self.outcome.live);
        hits.extend_from_slice(candidates);
        hits.retain(|hit| !hit.conditional || self.is_in_force(&self.catalog.rules[usize::from(hit.rule)]));
        self.hits = hits;
    }

    fn is_in_force(&self, rule: &DefinitionRule) -> bool {
        rule.rule_text().blank_before <= self.blanks
            && match &rule.rule_text().when {
                None => true,
                Some(when) => self.states[rule.tool].section == Some(when.as_str()),
            }
    }

    /// What a rule reads from a text.
    fn match_rule(&self, rule: usize, text: &'a str) -> Option<MatchGroups<'a>> {
        let seen = self.visible_bytes(text);
        let matcher = self.catalog.rules[rule].matcher_for(&seen)?;
        let mut slots = self.slots.borrow_mut();
        let slots = slots[rule].get_or_insert_with(|| matcher.regex.capture_locations());
        MatchGroups::take_groups(matcher, slots, text, &seen, self.texts)
    }

    /// A text as regexes are matched on it.
    fn visible_bytes<'t>(&self, text: &'t str) -> Cow<'t, [u8]> {
        if self.drives { drive::as_posix(text) } else { Cow::Borrowed(text.as_bytes()) }
    }

    /// Looks at a line that belongs to no open block.
    fn read_free_line(&mut self, index: usize, text: &'a str) {
        for position in 0..self.hits.len() {
            let RuleCandidate { rule, kind, .. } = self.hits[position];
            let rule = usize::from(rule);
            if matches!(kind, DefinitionKind::Continue | DefinitionKind::End | DefinitionKind::Frame) {
                continue;
            }
            // A file header holds until something else is known of the tool; it must not shadow a better rule.
            let read = self.read.take_if(|(of, _)| *of == rule).map(|(_, groups)| groups);
            let Some(groups) = read.or_else(|| self.match_rule(rule, text)) else { continue };
            if self.apply_rule(index, text, rule, kind, groups) {
                return;
            }
        }
    }

    /// Applies a rule to a free line; whether it claims the line.
    fn apply_rule(
        &mut self,
        index: usize,
        text: &'a str,
        rule: usize,
        kind: DefinitionKind,
        groups: MatchGroups<'a>,
    ) -> bool {
        let tool = self.catalog.rules[rule].tool;
        let state = &mut self.states[tool];
        match kind {
            DefinitionKind::Item | DefinitionKind::Start => {
                // A line number has no meaning without the file that a header named.
                let homeless = groups.line.is_some() && groups.file.is_none() && state.file.is_none();
                if !homeless {
                    self.add_diagnostic(index, text, rule, kind, groups);
                }
                return !homeless;
            }
            DefinitionKind::Drop => {
                self.outcome.roles[index] = LineRole::Noise;
                return true;
            }
            DefinitionKind::Summary => {
                self.outcome.roles[index] = LineRole::Summary;
                self.take_counts(tool, index, groups.said);
                return true;
            }
            DefinitionKind::Note => {
                let last = self.outcome.items.len().wrapping_sub(1);
                let Some(found) = self.outcome.items.get(last).filter(|found| found.tool() == tool) else {
                    return false;
                };
                let role = if found.span.1 + 8 >= index { LineRole::Note(last) } else { LineRole::Noise };
                self.outcome.roles[index] = role;
                return true;
            }
            DefinitionKind::File => state.file = groups.file.map(|file| BlockHeader { file, line: groups.line, index }),
            DefinitionKind::TestName => state.test = groups.test,
            DefinitionKind::SectionStart => {
                state.section = self.catalog.rules[rule].rule_text().section.as_deref();
                state.test = None;
                self.outcome.roles[index] = LineRole::Noise;
                self.take_counts(tool, index, groups.said);
                return true;
            }
            DefinitionKind::SectionEnd => {
                state.section = None;
                state.test = None;
                self.outcome.roles[index] = LineRole::Noise;
                self.take_counts(tool, index, groups.said);
                return true;
            }
            DefinitionKind::DirBase => state.base = groups.dir,
            DefinitionKind::DirEnter => self.dirs.extend(groups.dir),
            DefinitionKind::DirLeave => {
                self.dirs.pop();
            }
            DefinitionKind::DirAfter => self.dir_after(tool, groups.dir),
            DefinitionKind::Continue | DefinitionKind::End | DefinitionKind::Frame => {}
        }
        false
    }

    /// A verdict on a test is one on the blocks that were printed before it.
    fn settle_diagnostic(&mut self, item: usize) {
        let found = &self.outcome.items[item];
        let Some(test) = found.test else { return };
        let key = (found.tool(), test);
        if found.tentative {
            self.tentative.entry(key).or_default().push(item);
        } else if found.severity == Severity::Error {
            for earlier in self.tentative.remove(&key).unwrap_or_default() {
                self.outcome.items[earlier].tentative = false;
                self.outcome.items[earlier].severity = Severity::Error;
            }
        }
    }

    fn dir_after(&mut self, tool: usize, dir: Option<&'a str>) {
        let from = self.since.insert(tool, self.outcome.items.len()).unwrap_or(0);
        let shared = self.catalog.tools[tool].shared;
        let Some(dir) = dir else { return };
        for found in self.outcome.items[from..].iter_mut().filter(|found| shared || found.tool() == tool) {
            found.rest_mut().dirs.insert(0, dir);
        }
    }

    /// The code that a rule's match says.
    fn rule_code(&self, rule: usize, groups: &MatchGroups<'a>) -> Option<&'a str> {
        let said = self.catalog.rules[rule].rule_text();
        match (groups.code, &said.code_prefix) {
            (Some(code), Some(before)) => Some(self.texts.keep_text(format!("{before}{code}"))),
            (Some(code), None) => Some(code),
            (None, _) => said.code.as_deref(),
        }
    }

    fn add_diagnostic(&mut self, index: usize, text: &str, rule: usize, kind: DefinitionKind, groups: MatchGroups<'a>) {
        let catalog = self.catalog;
        let (tool, said) = (catalog.rules[rule].tool, catalog.rules[rule].rule_text());
        let state = &mut self.states[tool];
        let item = self.outcome.items.len();
        let mut place = groups.group_location();
        if place.is_none()
            && let Some(BlockHeader { file, line, index: header }) = state.file
        {
            place = Some(Frame { file, line: groups.line.or(line), col: groups.col });
            // The header stays with the first item that counts.
            let weak = |&item: &usize| self.outcome.items[item].severity < Severity::Error;
            match self.outcome.roles[header] {
                LineRole::Free => self.outcome.roles[header] = LineRole::Head(item),
                LineRole::Head(other) if weak(&other) => self.outcome.roles[header] = LineRole::Head(item),
                _ => {}
            }
        }
        let dirs: Vec<&str> = state.base.iter().chain(self.dirs.last()).copied().collect();
        let said_so = groups.severity.and_then(severity_of_word).or(said.severity);
        let severity = said_so.unwrap_or_else(|| logged_severity(groups.message.unwrap_or_default()));
        let test = groups.test.or(state.test);
        let code = self.rule_code(rule, &groups);
        self.outcome.items.push(RawDiagnostic {
            tool: tool_number(tool),
            severity,
            category: said.category.as_ref(),
            decides: said.decides,
            place,
            code,
            message: said.message.as_deref().or(groups.message).map_or("", |text| prefix(text, MESSAGE_BYTES_MAX)),
            test,
            span: (index, index + 1),
            tentative: said.tentative,
            repeats: said.repeats,
            guessed: false,
            rest: (!dirs.is_empty()).then(|| Box::new(RareFields { dirs, ..Default::default() })),
        });
        self.outcome.roles[index] = LineRole::Head(item);
        self.settle_diagnostic(item);
        if kind == DefinitionKind::Start || said.body != DefinitionBody::None {
            let indent = indent_width(text);
            let (blank, stack) = (false, false);
            self.open =
                Some(OpenBlock { item, tool, rule, indent, lines: 1, frame: None, end: index + 1, blank, stack });
        }
    }
}
