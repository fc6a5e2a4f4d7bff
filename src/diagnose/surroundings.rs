//! What belongs to a kept line and no rule reads: the frames below it, what it announces, the few lines between two
//! that are kept, the title above it. It is all context of the item, and each look is bounded.

use super::choice::LineWorth;
use super::{generic, passing, progress};

/// Gives the surroundings of valued lines the worth of context, within each stream of the output. `is_noise` says of
/// which lines a definition knows that they don't matter.
pub(super) fn complete_worths(
    lines: &[&str],
    streams: &[Vec<(usize, usize)>],
    is_noise: impl Fn(usize) -> bool,
    worths: &mut [LineWorth],
) {
    for stream in streams {
        FailureSurroundings { lines, stream, is_noise: &is_noise }.complete_all(worths);
    }
}

struct FailureSurroundings<'a, N> {
    lines: &'a [&'a str],
    /// The lines of the stream, each with the byte where its own text starts.
    stream: &'a [(usize, usize)],
    is_noise: &'a N,
}

impl<N: Fn(usize) -> bool> FailureSurroundings<'_, N> {
    fn text_at(&self, at: usize) -> &str {
        let (index, from) = self.stream[at];
        self.lines[index].get(from..).unwrap_or("")
    }

    fn is_blank(&self, at: usize) -> bool {
        self.text_at(at).trim().is_empty()
    }

    fn complete_all(&self, worths: &mut [LineWorth]) {
        let kept: Vec<usize> =
            (0..self.stream.len()).filter(|&at| worths[self.stream[at].0] != LineWorth::None).collect();
        for (position, &at) in kept.iter().enumerate() {
            let Some(rank) = worths[self.stream[at].0].rank() else { continue };
            let next = kept.get(position + 1).copied().unwrap_or(self.stream.len());
            let taken = position.checked_sub(1).map_or(0, |before| kept[before] + 1);
            // What a line announces says more than what only follows.
            let next_filled = (at + 1..next.min(at + 3)).find(|&at| !self.is_blank(at));
            let announced = next_filled.filter(|_| self.text_at(at).trim_end().ends_with(':'));
            // … and what differs more than what is around it.
            let in_diff = self.text_at(at).starts_with("--- ");
            let says = |at: usize| Some(at) == announced || in_diff && self.text_at(at).starts_with(['+', '-']);
            let worth = |at: usize| if says(at) { LineWorth::Detail(rank) } else { LineWorth::Context(rank) };
            let below = (at + 1..self.lines_below(at, next)).map(|at| (at, worth(at)));
            for (at, worth) in (self.lines_above(at, taken)..at).map(|at| (at, LineWorth::Detail(rank))).chain(below) {
                let (index, _) = self.stream[at];
                if worths[index] == LineWorth::None && self.belongs_to_failure(at) {
                    worths[index] = worth;
                }
            }
        }
    }

    /// Whether a line may be part of a block. A frame may, though a definition knows that it is in another's code.
    fn belongs_to_failure(&self, at: usize) -> bool {
        let text = self.text_at(at);
        !says_nothing(text) && (generic::is_frame(text) || !(self.is_noise)(self.stream[at].0))
    }

    /// The end of what belongs to the line at `at`, at most up to the next kept one.
    fn lines_below(&self, at: usize, next: usize) -> usize {
        let near = (at + 1..next).filter(|&at| !self.is_blank(at)).take(GAP_LINES_MAX + 1).count() <= GAP_LINES_MAX;
        if near && next < self.stream.len() {
            return next;
        }
        let frames = self.run(at + 1..next, FRAME_LINES_MAX, |at| generic::is_frame(self.text_at(at)));
        let depth = generic::indent_width(self.text_at(at));
        let announces = self.text_at(at).trim_end().ends_with(':');
        let deeper = |at: usize| !self.is_blank(at) && (announces || generic::indent_width(self.text_at(at)) > depth);
        // What is announced may follow a blank line.
        let from = if announces && at + 2 < next && self.is_blank(at + 1) { at + 2 } else { at + 1 };
        let paragraph = self.run(from..next, PARAGRAPH_LINES_MAX, deeper);
        let below = |at: usize| if at + 1 < next { self.text_at(at + 1) } else { "" };
        let heads = self.text_at(at).starts_with("--- ") && below(at).starts_with("+++ ");
        let is_diff =
            |at: usize| self.text_at(at).is_empty() || self.text_at(at).starts_with(['+', '-', ' ', '@', '\\']);
        let diff = if heads { self.run(at + 1..next, DIFF_LINES_MAX, is_diff) } else { at };
        frames.max(paragraph).max(diff)
    }

    /// The end of the lines from the start of `range` on that are like this, at most `limit`.
    fn run(&self, range: std::ops::Range<usize>, limit: usize, is_like: impl Fn(usize) -> bool) -> usize {
        let start = range.start;
        start + range.take(limit).take_while(|&at| is_like(at)).count()
    }

    /// The first line above the one at `at` that announces it.
    fn lines_above(&self, at: usize, taken: usize) -> usize {
        let Some(above) = at.checked_sub(1).filter(|above| *above >= taken) else { return at };
        let text = self.text_at(above);
        let titles =
            generic::indent_width(text) < generic::indent_width(self.text_at(at)) || text.trim_end().ends_with(':');
        if titles && !self.is_blank(above) { above } else { at }
    }
}

/// Whether a line is about what went well, about the run itself, or a frame of the runtime or of an installed package.
pub(super) fn says_nothing(text: &str) -> bool {
    let of_others = || {
        ["node:internal/", "/node_modules/", "clojure.core$", "clojure.lang.", "clojure.main$"]
            .iter()
            .any(|part| text.contains(part))
            && generic::is_frame(text)
    };
    generic::counts_nothing(text) || passing::is_passed(text) || progress::is_progress(text) || of_others()
}

/// Lines between two kept ones that are kept with them.
const GAP_LINES_MAX: usize = 6;
/// Frames below a kept line.
const FRAME_LINES_MAX: usize = 40;
/// Lines of a difference below its head.
const DIFF_LINES_MAX: usize = 60;
/// Lines of a paragraph below a kept line.
const PARAGRAPH_LINES_MAX: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// What `complete` makes of lines of which those that begin with `*` are core and those with `~` are noise.
    fn completed(lines: &[&str]) -> Vec<LineWorth> {
        let core = |line: &&str| if line.starts_with('*') { LineWorth::Core(7) } else { LineWorth::None };
        let mut worths: Vec<LineWorth> = lines.iter().map(core).collect();
        let streams =
            [(0..lines.len()).map(|index| (index, usize::from(lines[index].starts_with(['*', '~'])))).collect()];
        complete_worths(lines, &streams, |index| lines[index].starts_with('~'), &mut worths);
        worths
    }

    const CORE: LineWorth = LineWorth::Core(7);
    const DETAIL: LineWorth = LineWorth::Detail(7);
    const CONTEXT: LineWorth = LineWorth::Context(7);

    #[test]
    fn the_frames_below_a_kept_line_belong_to_it_and_those_of_the_runtime_do_not() {
        let lines =
            ["*boom", "~  at a.b(C.java:3)", "  at run (node:internal/x:7:1)", "  at d.e(F.java:9)", "next", "more"];
        assert_eq!(completed(&lines), [CORE, CONTEXT, LineWorth::None, CONTEXT, LineWorth::None, LineWorth::None]);
        let stack = vec!["  at a.b(C.java:3)"; FRAME_LINES_MAX + 5];
        let found = completed(&[&["*boom"], stack.as_slice()].concat());
        assert_eq!(found.iter().filter(|worth| **worth == CONTEXT).count(), FRAME_LINES_MAX);
    }

    #[test]
    fn a_difference_belongs_to_its_head() {
        let lines = ["*", "--- old/a", "+++ new/a", "@@ -1 +1 @@", " same", "-was", "+is", "next"];
        let streams = [(0..lines.len()).map(|index| (index, 0)).collect()];
        let mut worths = vec![LineWorth::None; lines.len()];
        worths[1] = CORE;
        complete_worths(&lines, &streams, |_| false, &mut worths);
        assert_eq!(worths[1..], [CORE, DETAIL, CONTEXT, CONTEXT, DETAIL, DETAIL, LineWorth::None]);
    }

    #[test]
    fn the_few_lines_between_two_kept_ones_are_kept_but_for_noise() {
        let lines = ["*Expected:", "[1, 2]", "", "~ok 7", "passed in", "*Actual:"];
        assert_eq!(completed(&lines), [CORE, DETAIL, CONTEXT, LineWorth::None, CONTEXT, CORE]);
        let far = [&["*one"], ["step"; GAP_LINES_MAX + 1].as_slice(), &["*two"]].concat();
        assert_eq!(completed(&far)[1], LineWorth::None);
    }

    #[test]
    fn a_line_is_kept_with_its_title_and_with_what_it_announces() {
        let lines = ["start", "Suite > adds:", "  *", "*", "* broken:", "src/a.zz", "src/b.zz", "", "done"];
        assert_eq!(completed(&lines)[1..7], [LineWorth::None, LineWorth::None, CORE, CORE, DETAIL, CONTEXT]);
        assert_eq!(completed(&["start", "Suite > adds", "* failed", "done"])[..2], [LineWorth::None, DETAIL]);
        assert_eq!(completed(&["* failed", "", "done"])[2], LineWorth::None);
        assert_eq!(
            completed(&["* some issues:", "", "a.b: old", "", "done"])[2..],
            [DETAIL, LineWorth::None, LineWorth::None]
        );
    }
}
