//! Lines that an imported matcher claims. A matcher that the user or the project brought is asked before the rules,
//! with one exception: where the command names other tools, their rules come first.

use std::collections::HashMap;

use crate::base::limits::MESSAGE_BYTES_MAX;
use crate::base::text::prefix;
use crate::diagnose::Severity;
use crate::diagnose::imported::MatcherHit;

use super::Engine;
use super::found::{Frame, LineRole, RareFields, RawDiagnostic, tool_number};
use super::line::line_head;

/// What imported matchers see in a stream, by the position of the first line.
#[derive(Debug, Default)]
pub(super) struct MatcherClaims {
    by_start: HashMap<usize, Vec<(usize, MatcherHit)>>,
    taken: Vec<bool>,
}

impl MatcherClaims {
    /// Whether the line belongs to an item that was claimed.
    pub(super) fn is_taken(&self, at: usize) -> bool {
        self.taken.get(at).copied().unwrap_or(false)
    }
}

impl Engine<'_> {
    /// Runs the imported matchers of the live tools.
    pub(super) fn find_claims(&self, stream: &[(usize, usize)]) -> MatcherClaims {
        let mut claims = MatcherClaims::default();
        let live = self.catalog.imported.iter().filter(|(tool, _)| self.outcome.live[*tool]);
        let mut texts: Vec<&str> = Vec::new();
        for (tool, imported) in live {
            if texts.is_empty() {
                texts = stream
                    .iter()
                    .map(|&(index, from)| line_head(self.lines[index].get(from..).unwrap_or("")))
                    .collect();
                claims.taken = vec![false; stream.len()];
            }
            // A time is no place, whatever a pattern that fits everything makes of it.
            let named = |seen: &MatcherHit| seen.file.as_ref().is_none_or(|file| file.contains(char::is_alphabetic));
            for seen in imported.run(&texts).into_iter().filter(named) {
                if let Some(&start) = seen.lines.first() {
                    claims.by_start.entry(start).or_default().push((*tool, seen));
                }
            }
        }
        claims
    }

    /// Gives the line at `at` to the first matcher that claims it and what follows; `first` is the turn before the
    /// rules. Whether one did.
    pub(super) fn claim_lines(
        &mut self,
        stream: &[(usize, usize)],
        at: usize,
        claims: &mut MatcherClaims,
        first: bool,
    ) -> bool {
        let Some(seen) = claims.by_start.get(&at) else { return false };
        let any_named = self.named.contains(&true);
        let turn = |tool: usize| first == (self.named[tool] || !any_named);
        let untouched = first || self.outcome.roles[stream[at].0] == LineRole::Free;
        let free = |seen: &MatcherHit| seen.lines.iter().all(|line| !claims.taken[*line]);
        let Some((tool, seen)) = seen.iter().find(|(tool, seen)| turn(*tool) && untouched && free(seen)).cloned()
        else {
            return false;
        };
        if first {
            self.close_block();
        }
        for line in &seen.lines {
            claims.taken[*line] = true;
        }
        self.take_hit(stream, tool, seen);
        true
    }

    fn take_hit(&mut self, stream: &[(usize, usize)], tool: usize, seen: MatcherHit) {
        let item = self.outcome.items.len();
        let lines: Vec<usize> = seen.lines.iter().map(|line| stream[*line].0).collect();
        let (Some(&start), Some(&last)) = (lines.first(), lines.last()) else { return };
        for line in lines {
            self.outcome.roles[line] = if line == start { LineRole::Head(item) } else { LineRole::Detail(item) };
        }
        let texts = self.texts;
        let MatcherHit { file, line, col, severity, code, message, dir, .. } = seen;
        self.outcome.items.push(RawDiagnostic {
            tool: tool_number(tool),
            severity: severity.unwrap_or(Severity::Error),
            category: None,
            decides: false,
            place: file.map(|file| Frame { file: texts.keep_text(file), line, col }),
            code: code.map(|code| texts.keep_text(code)),
            message: texts.keep_text(prefix(&message, MESSAGE_BYTES_MAX).to_owned()),
            test: None,
            span: (start, last + 1),
            tentative: false,
            repeats: false,
            guessed: false,
            rest: dir.map(|dir| Box::new(RareFields { dirs: vec![texts.keep_text(dir)], ..Default::default() })),
        });
    }
}
