//! The worth of lines, by their use in items.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::base::limits::LINE_KEEP_BYTES_MAX;
use crate::base::text::ellipsis;
use crate::diagnose::Severity;
use crate::diagnose::choice::{self, BlockDetails, KeptLines, LineWorth};
use crate::diagnose::engine::{LineRole, RawDiagnostic};
use crate::diagnose::{baseline, surroundings};

use super::AssembledDiagnostics;

/// Items whose vital lines are core, where they have a code: of a longer list, and of what is wrong by its form alone, the
/// messages are.
const VITAL_ITEMS_MAX: usize = 2;
/// Items with the same code, or without one with the same message, that come before items of other kinds.
const ALIKE_ITEMS_MAX: usize = 20;

impl<'a> AssembledDiagnostics<'a> {
    /// The lines worth keeping, each with what was printed before it (`times`, of every line or of none).
    pub(crate) fn kept_lines(&self, times: &[String]) -> KeptLines {
        let (lines, worths) = self.worded_lines(self.whole_worths());
        let mut kept = choice::choose_lines(&lines, &worths);
        if !times.is_empty() {
            for (line, number) in kept.lines.iter_mut().zip(&kept.numbers) {
                let printed = number.and_then(|number| self.printed_line(number));
                if let Some(time) = printed.and_then(|line| times.get(line)) {
                    *line = ellipsis(format!("{time}{line}").trim_end(), LINE_KEEP_BYTES_MAX);
                }
            }
        }
        kept
    }

    /// What each line is worth, with what belongs to a kept one.
    fn whole_worths(&self) -> Vec<LineWorth> {
        let mut worths = self.line_worths();
        let is_noise = |line: usize| matches!(self.outcome.roles[line], LineRole::Noise | LineRole::Summary);
        surroundings::complete_worths(self.lines, &self.streams, is_noise, &mut worths);
        worths
    }

    /// The number of a line of the output among [`Self::worded_lines`]; `None` of one that was written for a document.
    fn printed_line(&self, number: usize) -> Option<usize> {
        let mut more = 0;
        for (line, written) in &self.written {
            match number.checked_sub(line + more) {
                None => break,
                Some(behind) if behind < written.len() => return None,
                Some(_) => more += written.len(),
            }
        }
        Some(number - more)
    }

    /// All lines that have to do with the failure, as one text.
    pub(crate) fn relevant_text(&self) -> String {
        let (lines, worths) = self.worded_lines(self.line_worths());
        let said = lines.iter().zip(&worths).filter(|(_, worth)| **worth != LineWorth::None);
        said.map(|(line, _)| format!("{}\n", ellipsis(line.trim_end(), LINE_KEEP_BYTES_MAX))).collect()
    }

    /// The lines and what each is worth, with those written for documents before the line that the document begins in.
    fn worded_lines(&self, worths: Vec<LineWorth>) -> (Cow<'_, [&str]>, Vec<LineWorth>) {
        if self.written.is_empty() {
            return (Cow::Borrowed(self.lines), worths);
        }
        let (mut lines, mut said) = (Vec::with_capacity(self.lines.len()), Vec::with_capacity(worths.len()));
        let mut from = 0;
        for (&line, written) in &self.written {
            lines.extend(self.lines[from..line].iter().copied().chain(written.iter().map(String::as_str)));
            said.extend_from_slice(&worths[from..line]);
            said.resize(lines.len(), LineWorth::Core(0));
            from = line;
        }
        lines.extend_from_slice(&self.lines[from..]);
        said.extend_from_slice(&worths[from..]);
        (Cow::Owned(lines), said)
    }

    /// What each line of the output is worth. Errors come before warnings, definitions before what is known generally.
    fn line_worths(&self) -> Vec<LineWorth> {
        let mut worths = vec![LineWorth::None; self.lines.len()];
        let first = self.rate_diagnostics(|line, worth| worths[line] = worth);
        for &line in &self.unread {
            worths[line] = worths[line].min(LineWorth::Core(first));
        }
        let messages = self.generic.iter().map(|item| (item.span.0, item.message.as_str()));
        let messages: HashMap<usize, &str> = messages.collect();
        for (place, block) in self.blocks.iter().enumerate() {
            let told = messages.get(&block.head).copied().unwrap_or_default();
            let mut details = BlockDetails::for_generic(first + place, told);
            details.see_head(self.lines[block.head]);
            for &index in &block.lines {
                let line = self.lines[index];
                worths[index] = match index == block.head {
                    true => LineWorth::Core(first + place),
                    false if surroundings::says_nothing(line) => LineWorth::None,
                    false => details.rate_line(line, false),
                };
            }
        }
        worths
    }

    /// Whether a line of an item has its message and this code.
    fn is_printed_with(&self, item: usize, code: &str) -> bool {
        let RawDiagnostic { message, span, .. } = self.outcome.items[item];
        self.lines[span.0..span.1].iter().any(|line| line.contains(message) && line.contains(code))
    }

    /// Of each message of an item with details, the rank of the item that tells it first.
    fn telling_lines(&self, rank: &[usize], last_detail: &[usize]) -> HashMap<&'a str, usize> {
        let items = &self.outcome.items;
        let detailed = (0..items.len()).filter(|&item| self.failing[item] && last_detail[item] > 0);
        let mut tellers: HashMap<&str, usize> = detailed.map(|item| (items[item].message, usize::MAX)).collect();
        if !tellers.is_empty() {
            for item in (0..items.len()).filter(|&item| self.failing[item]) {
                if let Some(first) = tellers.get_mut(items[item].message) {
                    *first = rank[item].min(*first);
                }
            }
        }
        tellers
    }

    /// Marks the items of which there are many of the same kind already. Where there isn't room for all, they come
    /// last: the log of a job has the thousand complaints of one step in front of the one error that ended another.
    fn mark_surplus(&self) -> Vec<bool> {
        let items = &self.outcome.items;
        if items.len() <= ALIKE_ITEMS_MAX {
            return vec![false; items.len()];
        }
        let hashes = RandomState::default();
        let mut seen: HashMap<(usize, u64), usize, RandomState> = HashMap::default();
        let mut count = |item: &RawDiagnostic<'_>| {
            let kind = match item.code {
                Some(code) => hashes.hash_one(code),
                None if item.message.is_empty() => return 0,
                None => baseline::alike_key(item.message, &hashes),
            };
            let count = seen.entry((item.tool(), kind)).or_default();
            *count += 1;
            *count
        };
        items.iter().zip(&self.failing).map(|(item, failing)| *failing && count(item) > ALIKE_ITEMS_MAX).collect()
    }

    /// Says what the lines of items and the tools' counts are worth; the rank of what comes behind all items.
    fn rate_diagnostics(&self, mut say: impl FnMut(usize, LineWorth)) -> usize {
        let items = &self.outcome.items;
        let mut rank = vec![0; items.len()];
        let mut first = 0;
        let surplus = self.mark_surplus();
        for severity in [Severity::Error, Severity::Warning, Severity::Info] {
            for behind in [false, true] {
                let own = |&index: &usize| items[index].severity == severity && surplus[index] == behind;
                for index in (0..items.len()).filter(|&index| self.failing[index]).filter(own) {
                    rank[index] = first;
                    first += 1;
                }
            }
        }
        // What was announced during the run and repeated afterwards is kept once, with the rest of it.
        let mut last_head = vec![0; items.len()];
        // Nearly every item of a long list has one line, and no details then.
        let mut last_detail = vec![0; items.len()];
        for (index, role) in self.outcome.roles.iter().enumerate() {
            match *role {
                LineRole::Head(item) => last_head[item] = index,
                LineRole::Told(item) | LineRole::Detail(item) => last_detail[item] = index,
                _ => {}
            }
        }
        let tellers = self.telling_lines(&rank, &last_detail);
        let details_of = |item: usize| {
            let place = items[item].place.map(|place| (place.file, place.line));
            let mut details = BlockDetails::new(rank[item], items[item].message, place)
                .of_test(items[item].test)
                .of_code(items[item].code.filter(|code| self.is_printed_with(item, code)));
            if tellers.get(items[item].message).is_some_and(|&first| first < rank[item]) {
                details.count_repeat();
            }
            details
        };
        let mut details: HashMap<usize, BlockDetails> = HashMap::new();
        for (index, role) in self.outcome.roles.iter().enumerate() {
            let line = self.lines[index];
            match *role {
                LineRole::Head(item) if self.failing[item] && index < items[item].span.0 => {
                    say(index, LineWorth::Core(rank[item]));
                }
                LineRole::Head(item) if self.failing[item] && index < last_head[item] => {
                    say(index, LineWorth::Context(rank[item]));
                }
                LineRole::Head(item) if self.failing[item] => {
                    if last_detail[item] > index {
                        details.entry(item).or_insert_with(|| details_of(item)).see_head(line);
                    }
                    say(index, LineWorth::Core(rank[item]));
                }
                LineRole::Told(item) | LineRole::Detail(item) if self.failing[item] => {
                    let own = details.entry(item).or_insert_with(|| details_of(item));
                    let worth = own.rate_line(line, matches!(role, LineRole::Told(_)));
                    let is_told = rank[item] < VITAL_ITEMS_MAX && items[item].code.is_some();
                    let worth = match (self.outcome.vital.binary_search(&index).is_ok(), is_told) {
                        (true, true) => LineWorth::Core(rank[item]),
                        (true, false) => worth.max(LineWorth::Detail(rank[item])),
                        (false, _) => worth,
                    };
                    say(index, worth);
                    if last_detail[item] == index {
                        details.remove(&item);
                    }
                }
                LineRole::Note(item) if self.failing[item] => say(index, LineWorth::Context(rank[item])),
                LineRole::Summary => say(index, LineWorth::Context(0)),
                _ => {}
            }
        }
        first
    }
}
