//! What tools count themselves: "3 problems (1 error, 2 warnings)", "2 failed, 1 passed".

use super::Engine;

/// The numbers of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ReportedCounts {
    /// Items of any severity.
    pub problems: Option<usize>,
    /// Errors and failing tests.
    pub errors: Option<usize>,
    /// Warnings.
    pub warnings: Option<usize>,
}

/// A line with the tool's own count, and where the items may be that it speaks of.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    /// Index of the tool.
    pub tool: usize,
    /// The line.
    pub line: usize,
    /// What it says.
    pub said: ReportedCounts,
    /// Indices of the items before it, since the tool's last such line in the same stream, and of those behind it, until
    /// the next one: some runners count first and list then.
    pub items: (std::ops::Range<usize>, std::ops::Range<usize>),
    /// The lines between those two neighbours, end exclusive.
    pub lines: std::ops::Range<usize>,
}

impl Engine<'_> {
    /// Remembers what `line` counts, for [`Engine::close_tallies`] to say where it ends.
    pub(super) fn take_counts(&mut self, tool: usize, line: usize, said: ReportedCounts) {
        if said == ReportedCounts::default() || self.outcome.tallies.len() >= TALLIES_MAX {
            return;
        }
        let now = self.outcome.items.len();
        let earlier = self.outcome.tallies[self.began.tallies..].iter_mut().rev().find(|tally| tally.tool == tool);
        let (from, first_line) = match earlier {
            Some(earlier) => {
                (earlier.items.1.end, earlier.lines.end) = (now, line);
                (earlier.items.0.end, earlier.line + 1)
            }
            None => (self.began.items, 0),
        };
        let from = if self.catalog.tools[tool].counts_all { self.began.items } else { from };
        let until = usize::MAX;
        let items = (from..now, now..until);
        self.outcome.tallies.push(Tally { tool, line, said, items, lines: first_line..self.lines.len() });
    }

    /// The stream ends: so does what is behind its last counts.
    pub(super) fn close_tallies(&mut self) {
        let now = self.outcome.items.len();
        for tally in &mut self.outcome.tallies[self.began.tallies..] {
            tally.items.1.end = tally.items.1.end.min(now);
        }
    }
}

/// Where a stream begins.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StreamStart {
    pub items: usize,
    pub tallies: usize,
}

/// Counts of one output that are compared.
const TALLIES_MAX: usize = 1_000;
