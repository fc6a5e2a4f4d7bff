//! Files that are named without a line number, where no place names one.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use crate::base::limits::LINE_KEEP_BYTES_MAX;
use crate::base::text::ellipsis;
use crate::diagnose::block::Block;
use crate::diagnose::engine::LineRole;
use crate::diagnose::generic;
use crate::diagnose::paths::{PathResolver, PathTrust};
use crate::diagnose::{Baseline, Diagnostic, Severity, located, named};
use crate::whitelist::CheckKind;

use super::AssembledDiagnostics;

/// Files that a line names.
struct FileMention {
    line: usize,
    files: Vec<String>,
}

/// Lines at the end of an output that are asked for names.
const NAMED_LINES_MAX: usize = 5_000;

/// Lines of one chain of imports.
const CHAIN_LINES_MAX: usize = 40;
/// Lines of an output that only speaks of files.
const SPOKEN_LINES_MAX: usize = 200;
/// Lines that may speak of files where none says what is wrong with them: more are a log.
const SPOKEN_OF_MAX: usize = 5;

impl AssembledDiagnostics<'_> {
    /// Takes what lines say of files where nothing else named one: what is wrong with them, else lists of them. `known` says
    /// whether it is known why the run failed.
    pub(super) fn take_named(
        &mut self,
        known: bool,
        kind: Option<CheckKind>,
        command: &str,
        resolver: &PathResolver<'_>,
        baseline: Option<&Baseline>,
    ) {
        // Where places name some files, the heads of blocks may name others (`FAIL src/a.test.js > adds`).
        let further = !self.files.is_empty();
        if further && known || !resolver.knows_files() {
            return;
        }
        let heads: HashSet<usize> = self.blocks.iter().map(|block| block.head).collect();
        let scanned: Vec<&str> = command.split_whitespace().filter(|word| !word.starts_with('-')).collect();
        let resolved = RefCell::new(HashMap::new());
        let resolve = |name: &&str| -> Option<String> {
            // A log names the same files over and over.
            let mut resolved = resolved.borrow_mut();
            if !resolved.contains_key(*name) {
                let found = resolver.resolve_path(name, &[], PathTrust::Looks);
                let found = found.or_else(|| resolver.resolve_path(name, &scanned, PathTrust::Looks));
                resolved.insert((*name).to_owned(), found);
            }
            resolved.get(*name)?.clone()
        };
        let from = self.lines.len().saturating_sub(NAMED_LINES_MAX);
        let lines: Vec<usize> = (from..self.lines.len())
            .filter(|&line| {
                (!further || heads.contains(&line))
                    && named::may_name(self.lines[line])
                    && self.may_name(line)
                    && baseline.is_none_or(|known| !known.contains_line(self.lines[line]))
            })
            .collect();
        let mut mentions = self.blamed_files(&lines, resolve);
        if mentions.is_empty() && !further {
            mentions = self.listed_files(&lines, kind, resolve);
        }
        // What is said of these isn't known to be why.
        let mut known = known;
        if mentions.is_empty() && !further {
            mentions = self.spoken_of(&lines, resolve);
            known = true;
        }
        for mention in mentions {
            self.take_mention(&mention, known);
            self.files.extend(mention.files);
        }
    }

    /// Whether a line is none that is known to be about something else.
    fn may_name(&self, line: usize) -> bool {
        let counts = match self.outcome.roles[line] {
            LineRole::Free | LineRole::Summary => true,
            LineRole::Head(item) | LineRole::Told(item) | LineRole::Detail(item) | LineRole::Note(item) => {
                self.failing[item]
            }
            LineRole::Noise => false,
        };
        counts && !generic::is_wrapper(self.lines[line])
    }

    fn blamed_files(&self, lines: &[usize], resolve: impl Fn(&&str) -> Option<String>) -> Vec<FileMention> {
        let mention = |&line: &usize| {
            let text = self.lines[line];
            if let Some(names) = named::differing_files(text, self.lines.get(line + 1).copied()) {
                let files = names.iter().find_map(&resolve).into_iter().collect();
                return Some(FileMention { line, files });
            }
            let about = || {
                let said = |(_, said): &(&str, &str)| said.trim_start().starts_with(|c: char| c.is_alphabetic());
                let head = text.split_once(": ").or_else(|| text.split_once(':')).filter(said)?.0;
                (named::is_name(head.trim()) && !named::clears_files(text)).then(|| resolve(&head.trim()))?
            };
            // A line with a number is more than a name.
            if let Some(bare) = located::bare_place(text) {
                return Some(FileMention { line, files: vec![resolve(&bare.place.file)?] });
            }
            if !named::blames_files(text) {
                return Some(FileMention { line, files: vec![about()?] });
            }
            let mut files: Vec<String> = Vec::new();
            let mut taken: Vec<&str> = Vec::new();
            for name in named::candidate_names(text) {
                let inside = taken.iter().any(|other| other.contains(name));
                if let Some(file) = (!inside).then(|| resolve(&name)).flatten() {
                    taken.push(name);
                    files.push(file);
                }
            }
            // A chain goes on below (`a.js →`).
            let goes_on = |line: &usize| self.lines[*line].trim_end().ends_with(['→', '>']);
            let mut at = line;
            while goes_on(&at) && !files.is_empty() && at + 1 < self.lines.len() && at - line < CHAIN_LINES_MAX {
                at += 1;
                let name = self.lines[at].trim().trim_end_matches(['→', '>', '-', '=', ' ']);
                let Some(file) = resolve(&name) else { break };
                if !files.contains(&file) {
                    files.push(file);
                }
            }
            Some(FileMention { line, files })
        };
        lines.iter().filter_map(mention).filter(|mention| !mention.files.is_empty()).collect()
    }

    /// Lists of files. What a formatter or a linter lists is what it would change; of others a list counts where the lines around
    /// it say what it is.
    fn listed_files(
        &self,
        lines: &[usize],
        kind: Option<CheckKind>,
        resolve: impl Fn(&&str) -> Option<String>,
    ) -> Vec<FileMention> {
        let mention = |&line: &usize| {
            let names = named::listed_names(self.lines[line])?;
            let files: Vec<String> = names.iter().filter_map(&resolve).collect();
            (files.len() == names.len()).then_some(FileMention { line, files })
        };
        let mut mentions: Vec<FileMention> = lines.iter().filter_map(mention).collect();
        let entries: Vec<usize> = mentions.iter().map(|mention| mention.line).collect();
        let around = |step: &dyn Fn(usize) -> Option<usize>, from: usize| {
            let mut at = step(from);
            while let Some(line) = at.filter(|&line| line < self.lines.len()) {
                if !self.lines[line].trim().is_empty() && entries.binary_search(&line).is_err() {
                    return Some(self.lines[line]);
                }
                at = step(line);
            }
            None
        };
        mentions.retain(|mention| {
            let above = around(&|line| line.checked_sub(1), mention.line);
            let below = around(&|line| line.checked_add(1), mention.line);
            let opened = above.filter(|above| above.trim_end().ends_with(':'));
            let progress = opened.is_some_and(named::clears_files);
            let announced = named::is_headed(self.lines[mention.line])
                || opened.is_some() && !progress
                || [above, below].into_iter().flatten().any(named::blames_files);
            match kind {
                Some(CheckKind::Lint | CheckKind::Format) => !progress || announced,
                _ => announced,
            }
        });
        mentions
    }

    /// The few files that an output speaks of which names no other, but for lines that say what is being done.
    fn spoken_of(&self, lines: &[usize], resolve: impl Fn(&&str) -> Option<String>) -> Vec<FileMention> {
        if self.lines.len() > SPOKEN_LINES_MAX {
            return Vec::new();
        }
        let mention = |&line: &usize| {
            let text = self.lines[line];
            if named::clears_files(text) || named::refers_to_files(text) || generic::is_frame(text) {
                return None;
            }
            // A list of what is being worked on.
            let mut above = self.lines[..line].iter().rev().filter(|line| !line.trim().is_empty());
            let heading = above.find(|line| named::listed_names(line).is_none());
            if named::listed_names(text).is_some() && heading.is_some_and(|heading| named::clears_files(heading)) {
                return None;
            }
            let file = named::candidate_names(text).iter().find_map(&resolve)?;
            Some(FileMention { line, files: vec![file] })
        };
        let mentions: Vec<FileMention> = lines.iter().filter_map(mention).take(SPOKEN_OF_MAX + 1).collect();
        if mentions.len() > SPOKEN_OF_MAX { Vec::new() } else { mentions }
    }

    /// Keeps the line, and makes an item of it unless it is known why the run failed, or an item has it.
    fn take_mention(&mut self, mention: &FileMention, known: bool) {
        let line = mention.line;
        if self.outcome.roles[line] != LineRole::Free {
            return;
        }
        if !self.blocks.iter().any(|block| block.lines.contains(&line)) {
            self.blocks.push(Block::single_line(line));
        }
        let file = mention.files.first().cloned();
        let covering = self.generic.iter_mut().find(|item| (item.span.0..item.span.1).contains(&line));
        match covering {
            Some(item) => item.file = item.file.take().or(file),
            None if !known => self.generic.push(Diagnostic {
                tool: "generic".to_owned(),
                code: None,
                severity: Severity::Error,
                file,
                line: None,
                col: None,
                message: ellipsis(self.lines[line].trim(), LINE_KEEP_BYTES_MAX),
                test: None,
                span: (line, line + 1),
            }),
            None => {}
        }
    }
}
