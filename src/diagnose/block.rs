//! Output that no definition knows, as blocks: a line that reports a failure, with the lines that belong to it.
//!
//! A block is found by its head (a severity word where tools put one, a verdict at the end of a line, a place at the
//! start of one) and grows as long as the lines after it are deeper, part of a stack or of a comparison. Blocks are then
//! rated, and only those near the best one are kept: a log holds many words for failure and few failures.

use std::collections::HashMap;

use crate::base::limits::GENERIC_BLOCK_LINES_MAX;

use super::baseline;
use super::engine::LineRole;
use super::generic::{self, FailureStrength};
use super::{Baseline, Severity, passing};

/// Lines that belong together, and how sure it is that they say why.
#[derive(Debug, Clone)]
pub(super) struct Block {
    /// The line that it was found by.
    pub head: usize,
    /// Its lines in output order, the head among them.
    pub lines: Vec<usize>,
    /// How sure the head is.
    pub strength: FailureStrength,
    /// Whether it says something of a place in a file of the project's, which nothing else explains.
    pub placed: bool,
    /// Compared with the other blocks' only.
    pub score: f32,
}

impl Block {
    /// One line that says something in itself.
    pub(super) fn single_line(line: usize) -> Self {
        Block { head: line, lines: vec![line], strength: FailureStrength::Weak, placed: false, score: 0.0 }
    }
}

/// The cleaned output, seen as streams.
pub(super) struct BlockView<'a> {
    /// All lines.
    pub lines: &'a [&'a str],
    /// For each stream its lines with the byte where their own text starts.
    pub streams: &'a [Vec<(usize, usize)>],
    /// What the definitions made of each line.
    pub roles: &'a [LineRole],
    /// The last passing output.
    pub baseline: Option<&'a Baseline>,
}

impl BlockView<'_> {
    fn text_at(&self, (index, from): (usize, usize)) -> &str {
        self.lines[index].get(from..).unwrap_or("")
    }

    fn is_free(&self, index: usize) -> bool {
        self.roles[index] == LineRole::Free
    }

    fn is_news(&self, index: usize) -> bool {
        self.baseline.is_none_or(|known| !known.contains_line(self.lines[index]))
    }

    /// All blocks, `located` ones among them, in the order of their heads.
    pub(super) fn find_blocks(&self, located: Vec<Block>) -> Vec<Block> {
        let mut blocks = Vec::new();
        let mut located: HashMap<usize, Block> = located.into_iter().map(|block| (block.head, block)).collect();
        for stream in self.streams {
            let mut at = 0;
            while at < stream.len() {
                let index = stream[at].0;
                let known = located.remove(&index);
                let placed = known.as_ref().is_some_and(|block| block.placed);
                let strength = known.as_ref().map(|block| block.strength).or_else(|| self.head_strength(stream[at]));
                at = match strength {
                    Some(strength) => {
                        let end = known.and_then(|block| block.lines.last().copied()).unwrap_or(index);
                        let (from, until) = self.grow_block(stream, at, end);
                        let lines = stream[from..until].iter().map(|&(index, _)| index).collect();
                        blocks.push(Block { head: index, lines, strength, placed, score: 0.0 });
                        until
                    }
                    None => at + 1,
                };
            }
        }
        blocks.extend(located.into_values());
        blocks.sort_by_key(|block| block.head);
        self.rate_blocks(&mut blocks);
        blocks
    }

    /// Whether a block begins with this line, and how sure it is.
    fn head_strength(&self, line: (usize, usize)) -> Option<FailureStrength> {
        if !self.is_free(line.0) {
            return None;
        }
        let text = self.text_at(line);
        generic::line_strength(text).filter(|_| self.is_news(line.0) && !generic::is_wrapper(text))
    }

    /// The positions in `stream` of the block around the head at `at`, which has all lines up to `known`; the end is
    /// exclusive.
    fn grow_block(&self, stream: &[(usize, usize)], at: usize, known: usize) -> (usize, usize) {
        let head = self.text_at(stream[at]);
        let depth = generic::indent_width(head);
        let first = at + 1 + stream[at + 1..].iter().take_while(|(index, _)| *index <= known).count();
        let titled = generic::is_title(head);
        // Commands that a log shows one below the other are no block.
        let is_command = head.trim_start().starts_with("> ");
        let mut announced = titled || first == at + 1 && head.trim_end().ends_with(':');
        // The end of what belongs for certain, and of what is looked at.
        let (mut until, mut end, mut blanks, mut unsure) = (first, first, 0, 0);
        while end < stream.len() && end - at < GENERIC_BLOCK_LINES_MAX && self.is_free(stream[end].0) {
            let text = self.text_at(stream[end]);
            if text.trim().is_empty() {
                // One blank line may be inside; what follows has to be deeper.
                blanks += 1;
                if blanks > 1 || unsure > 0 {
                    break;
                }
                announced &= end == first;
                end += 1;
                continue;
            }
            if titled && generic::is_title(text) {
                break;
            }
            let is_next = is_command && text.trim_start().starts_with("> ");
            let deeper = generic::indent_width(text) > depth || generic::is_source(text);
            let touches = blanks == 0;
            // News beside news belongs together whatever its depth.
            let news = self.baseline.is_some() && touches && self.is_news(stream[end].0) && !generic::is_wrapper(text);
            let detail = touches && !is_next && (generic::is_detail(text) || generic::is_comparison(text));
            if deeper || news || announced || detail {
                until = end + 1;
                (blanks, unsure) = (0, 0);
            } else if touches && unsure < UNSURE_LINES_MAX && generic::line_strength(text).is_none() {
                // A title between a head and what it says.
                unsure += 1;
            } else {
                break;
            }
            end += 1;
        }
        if passing::failed_above(head) {
            let own = |above: &usize| {
                let text = self.text_at(stream[*above]);
                self.is_free(stream[*above].0) && !text.trim().is_empty() && !passing::is_verdict(text)
            };
            let from = (0..at).rev().take(TEST_LINES_MAX).take_while(own).last();
            return (from.unwrap_or(at), until);
        }
        let above = at.checked_sub(1).filter(|&above| {
            let text = self.text_at(stream[above]);
            self.is_free(stream[above].0) && !text.trim().is_empty() && generic::indent_width(text) < depth
        });
        (above.unwrap_or(at), until)
    }

    fn rate_blocks(&self, blocks: &mut [Block]) {
        let mut times: HashMap<u64, usize> = HashMap::new();
        for block in &*blocks {
            *times.entry(baseline::line_key(self.lines[block.head])).or_default() += 1;
        }
        for block in blocks {
            let line = self.lines[block.head];
            let often = times[&baseline::line_key(line)] > OFTEN;
            if often || generic::is_log_record(line) {
                block.strength = FailureStrength::Weak;
            }
            let sure = match (block.strength, generic::severity_of(line)) {
                (FailureStrength::Strong, _) => 4.0,
                (FailureStrength::Weak, Severity::Error) => 1.0,
                (FailureStrength::Weak, _) => -1.0,
            };
            let told = if block.lines.len() > 1 { 1.0 } else { 0.0 };
            #[expect(clippy::cast_precision_loss, reason = "a share of the output")]
            let late = 2.0 * block.head as f32 / self.lines.len().max(SHORT_LINES) as f32;
            block.score = sure + told + late - if often { 2.0 } else { 0.0 };
        }
    }
}

/// In an output of fewer lines no line is much later than another.
const SHORT_LINES: usize = 10;
/// Lines of a failed test above its verdict.
const TEST_LINES_MAX: usize = 10;
/// Lines below one of a block that belong to it if the next one does.
const UNSURE_LINES_MAX: usize = 1;
/// A head that is there more often, numbers aside, is chatter rather than the reason.
const OFTEN: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks<'a>(lines: &[&'a str], baseline: Option<&Baseline>) -> Vec<Vec<&'a str>> {
        let streams = crate::diagnose::streams::split_streams(lines);
        let roles = vec![LineRole::Free; lines.len()];
        let view = BlockView { lines, streams: &streams, roles: &roles, baseline };
        let text = |block: &Block| block.lines.iter().map(|&line| lines[line]).collect();
        view.find_blocks(Vec::new()).iter().map(text).collect()
    }

    #[test]
    fn commands_that_are_shown_are_no_block_with_what_fails_behind_them() {
        let passed = b" > git config core.sparse # timeout=10\n > git config core.depth # timeout=10\nFetching\n";
        let known = Baseline::from_output(passed);
        let lines = [
            " > git fetch -- origin # timeout=10",
            " > git config core.sparse # timeout=10",
            " > git config core.depth # timeout=10",
            "Fetching",
            "FATAL: the channel was closed",
            "\tat Channel.close(Channel.java:1488)",
        ];
        assert_eq!(blocks(&lines, Some(&known)), [lines[..1].to_vec(), lines[4..].to_vec()]);
    }

    #[test]
    fn a_block_is_a_head_with_what_is_deeper_and_its_stack() {
        let lines = [
            "Starting",
            "CalcTest > adds FAILED",
            "    java.lang.AssertionError: 3 != 4",
            "",
            "        at CalcTest.adds(CalcTest.java:7)",
            "Other > passes",
            "[-] names a file -> values differ",
            "Expected: 'a'",
            "at Verify, a.ps1:16",
            "Done",
        ];
        assert_eq!(blocks(&lines, None), [&lines[1..5], &lines[6..9]]);
    }

    #[test]
    fn lines_of_different_tasks_are_different_blocks() {
        let lines = [
            "api:lint: cache miss, executing 1",
            "web:lint: cache miss, executing 2",
            "api:lint: ERROR: broken",
            "web:lint: FATAL: gone",
            "api:lint:   because of this",
            "web:lint:   because of that",
        ];
        assert_eq!(blocks(&lines, None), [[lines[2], lines[4]], [lines[3], lines[5]]]);
    }

    #[test]
    fn what_was_in_the_last_passing_output_is_no_head() {
        let baseline = Baseline::from_output(b"ERROR: the cache is cold, 12 misses\n");
        let lines = ["ERROR: the cache is cold, 31 misses", "ERROR: no such user"];
        assert_eq!(blocks(&lines, Some(&baseline)), [[lines[1]]]);
    }

    #[test]
    fn chatter_is_no_strong_head() {
        let chatter = "12:31:07.104 [main] ERROR app.Store - cannot find file";
        let mut lines = vec![chatter; 3];
        lines.push("users failed on line 195");
        let streams = crate::diagnose::streams::split_streams(&lines);
        let roles = vec![LineRole::Free; lines.len()];
        let view = BlockView { lines: &lines, streams: &streams, roles: &roles, baseline: None };
        let blocks = view.find_blocks(Vec::new());
        assert_eq!(blocks.iter().map(|block| block.strength).max(), Some(FailureStrength::Weak));
        let best = blocks.iter().max_by(|a, b| a.score.total_cmp(&b.score)).expect("there are blocks");
        assert_eq!(best.head, 3, "the last one wins where all are weak");
    }
}
