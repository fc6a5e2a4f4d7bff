//! Which lines are kept: what says why first, what explains it while there is room, in the order of the output.
//!
//! The core of an item is its head, its message and the first lines that say more. Its place (which the item has as a
//! field too) and the rest of a comparison are details. The rest of its block is context: source that is in the file
//! anyway, the rest of a stack, notes, the tool's counts. Of an output that fits on a screen all of these are kept;
//! of a longer one up to a share of it, so that its kept lines are more than a list of names and much less than the
//! output: there the first items are kept with their whole blocks.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::base::limits::{CORE_DETAILS_MAX, DETAILS_MAX, EVENT_LINES_BYTES_MAX, LINE_KEEP_BYTES_MAX};
use crate::base::text::{ellipsis, is_blank, trimmed};

use super::{baseline, generic};

/// What a line is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LineWorth {
    /// It says why; the number is the item's rank, 0 is the most important.
    Core(usize),
    /// It says where, or more of a comparison, of the item of this rank.
    Detail(usize),
    /// It helps to understand the item of this rank.
    Context(usize),
    /// Nothing.
    None,
}

impl LineWorth {
    /// The rank of its item.
    pub(super) fn rank(self) -> Option<usize> {
        match self {
            LineWorth::Core(rank) | LineWorth::Detail(rank) | LineWorth::Context(rank) => Some(rank),
            LineWorth::None => None,
        }
    }
}

/// The kept lines.
#[derive(Debug, Default)]
pub(super) struct KeptLines {
    /// In output order; a blank one where there was one between two of them.
    pub lines: Vec<String>,
    /// Which line each of them is; `None` of a blank one.
    pub numbers: Vec<Option<usize>>,
    /// Lines worth keeping that there was no room for.
    pub cut: usize,
}

/// Chooses among lines by what they are worth; both are of the same length.
pub(super) fn choose_lines(lines: &[&str], worths: &[LineWorth]) -> KeptLines {
    let total: usize = lines.iter().map(|line| line.len() + 1).sum();
    let rooms = [
        EVENT_LINES_BYTES_MAX,
        (total / DETAIL_SHARE).clamp(DETAIL_BYTES_MIN, EVENT_LINES_BYTES_MAX),
        (total / CONTEXT_SHARE + total.saturating_sub(LONG_BYTES) * WHOLE_PERCENT / 100)
            .clamp(CONTEXT_BYTES_MIN, EVENT_LINES_BYTES_MAX),
        (total / CONTEXT_SHARE).clamp(CONTEXT_BYTES_MIN, EVENT_LINES_BYTES_MAX),
    ];
    let says = |&index: &usize| worths[index] != LineWorth::None && !is_blank(lines[index]);
    let mut order: Vec<usize> = (0..lines.len()).filter(says).collect();
    order.sort_unstable_by_key(|&index| (worths[index], index));
    let (mut used, mut full) = (0, [false; 4]);
    let mut chosen = vec![false; lines.len()];
    let mut cut = 0;
    let mut matched: HashSet<u64, RandomState> = HashSet::default();
    let hashes = RandomState::default();
    let mut alike: HashMap<u64, usize, RandomState> = HashMap::default();
    for &index in &order {
        let (line, worth) = (lines[index], worths[index]);
        let size = line.trim_end().len().min(LINE_KEEP_BYTES_MAX) + 1;
        let tier = match worth {
            LineWorth::Core(_) => 0,
            LineWorth::Detail(_) => 1,
            LineWorth::Context(rank) if rank < WHOLE_ITEMS_MAX => 2,
            LineWorth::Context(_) | LineWorth::None => 3,
        };
        // In order of rank: once something doesn't fit, nothing less important takes its place.
        full[tier] |= used + size > rooms[tier];
        // In a block lines repeat themselves: what a stack goes through twice is no list. In a comparison each line counts:
        // what is there twice differs twice.
        if tier == 0 && !is_side(line) && !matched.insert(hashes.hash_one(trimmed(line))) {
            cut += usize::from(full[tier]);
            continue;
        }
        // What goes on and on, numbers aside, is chatter, though it is in a block; not so a difference.
        let mut goes_on = || {
            let times = alike.entry(baseline::alike_key(line, &hashes)).or_default();
            *times += 1;
            *times > ALIKE_LINES_MAX
        };
        if full[tier] || tier > 0 && !is_side(line) && goes_on() {
            cut += 1;
        } else {
            used += size;
            chosen[index] = true;
        }
    }
    let (lines, numbers) = emit_lines(lines, &chosen);
    KeptLines { lines, numbers, cut }
}

/// Whether a line may be one side of a difference, also behind the mark of a failing test's lines.
fn is_side(line: &str) -> bool {
    let text = trimmed(line);
    text.strip_prefix("E ").unwrap_or(text).trim_start().starts_with(['-', '+'])
}

/// The chosen lines with their numbers. A blank one stays between two blocks, but not between single lines: those are
/// a list. What is only blank between two chosen ones is as it was printed.
fn emit_lines(lines: &[&str], chosen: &[bool]) -> (Vec<String>, Vec<Option<usize>>) {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut blank = true;
    for (number, (line, &chosen)) in lines.iter().zip(chosen).enumerate() {
        if chosen {
            match groups.last_mut().filter(|_| !blank) {
                Some(group) => group.push(number),
                None => groups.push(vec![number]),
            }
            blank = false;
        } else {
            blank |= is_blank(line);
        }
    }
    let mut numbers = Vec::new();
    let mut alone = true;
    for group in groups {
        let single = group.len() == 1;
        let list = alone && single;
        if let (Some(&Some(last)), Some(&first), false) = (numbers.last(), group.first(), list) {
            let between = || lines[last + 1..first].iter();
            numbers.push((between().all(|line| line.trim().is_empty())).then_some(last + 1));
        }
        alone = single;
        numbers.extend(group.into_iter().map(Some));
    }
    let text = |number: usize| ellipsis(lines[number].trim_end(), LINE_KEEP_BYTES_MAX);
    (numbers.iter().map(|number| number.map(text).unwrap_or_default()).collect(), numbers)
}

/// What the lines of an item's block beside its head are worth.
pub(super) struct BlockDetails {
    /// The item's rank.
    rank: usize,
    /// Whether its head is enough of it, but for a message that no other item has.
    brief: bool,
    /// Whether another item already has its message.
    repeated: bool,
    /// Whether it holds a difference between two files: what is to change, not why it failed.
    files_differ: bool,
    /// Whether the head of a difference was seen: below it `-` and `+` begin a side, however deep the text is.
    differs: bool,
    /// How deep the advice is that the lines below, as far as they are deeper, belong to.
    advice: Option<usize>,
    /// Lines that say more and were seen.
    said: usize,
    /// Whether the line before was core and ended with a colon: this one says what it announced.
    open: bool,
    message: Option<String>,
    /// What precedes a message too short to be known alone (`KeyError: 'EUR'`); empty where nothing does.
    code: String,
    /// The failing test's name, until a line has it.
    test: Option<String>,
    /// Lines directly below the head that are details whatever they say: of a block that no definition reads.
    near: usize,
    /// The file and the number of the line.
    place: Option<(String, String)>,
}

impl BlockDetails {
    /// For an item of this rank with this message and place (as printed).
    pub(super) fn new(rank: usize, message: &str, place: Option<(&str, Option<u32>)>) -> Self {
        let number = |line: Option<u32>| line.map(|line| line.to_string()).unwrap_or_default();
        let first = message.lines().next().unwrap_or_default().trim();
        BlockDetails {
            rank,
            brief: rank >= TOLD_IN_FULL,
            repeated: false,
            files_differ: false,
            differs: false,
            advice: None,
            said: 0,
            open: false,
            test: None,
            near: 0,
            message: (!first.is_empty()).then(|| first.to_owned()),
            code: String::new(),
            place: place.filter(|(file, _)| !file.is_empty()).map(|(file, line)| (file.to_owned(), number(line))),
        }
    }

    /// For a block that no definition reads: what is nearest to its head says most.
    pub(super) fn for_generic(rank: usize, message: &str) -> Self {
        BlockDetails { near: NEAR_LINES_MAX, ..BlockDetails::new(rank, message, None) }
    }

    /// With the name of the test that failed.
    pub(super) fn of_test(self, test: Option<&str>) -> Self {
        BlockDetails { test: test.map(str::to_owned), ..self }
    }

    /// With the code of a message that may be in any line of the source that is shown.
    pub(super) fn of_code(self, code: Option<&str>) -> Self {
        let is_short = self.message.as_ref().is_some_and(|message| message.len() < MESSAGE_BYTES_MIN);
        BlockDetails { code: code.filter(|_| is_short).unwrap_or_default().to_owned(), ..self }
    }

    /// An item of a lower rank already has the message.
    pub(super) fn count_repeat(&mut self) {
        self.repeated = true;
    }

    /// The head says what it says; only what it leaves out is looked for.
    pub(super) fn see_head(&mut self, line: &str) {
        self.take_detail(line);
        self.test.take_if(|test| line.contains(test.as_str()));
        self.files_differ |= generic::differing_file(line).is_some();
        self.open = line.trim_end().ends_with(':');
    }

    /// The worth of this further line; `matched` means that a rule of the item's definition reads it.
    pub(super) fn rate_line(&mut self, line: &str, matched: bool) -> LineWorth {
        // Also the mark of a failing test's lines with nothing behind it.
        if matches!(line.trim(), "" | "E") {
            return LineWorth::Context(self.rank);
        }
        let near = self.near > 0;
        self.near = self.near.saturating_sub(1);
        let title = self.test.take_if(|test| line.contains(test.as_str())).is_some();
        let (message, place) = self.take_detail(line);
        if title && !self.brief {
            return LineWorth::Core(self.rank);
        }
        if !message && (self.is_aside(line) || generic::is_drawn(line)) {
            return if place { LineWorth::Detail(self.rank) } else { LineWorth::Context(self.rank) };
        }
        let leads = generic::leading_place(line).is_some();
        // Behind the mark of a failing test's lines, too.
        let bare = line.strip_prefix("E ").unwrap_or(line).trim_start();
        let side = self.differs && bare.starts_with(['-', '+']);
        let compares = side || generic::is_comparison(line);
        let says = matched
            || std::mem::take(&mut self.open)
            || leads
            || compares
            || (generic::line_strength(line).is_some() && !generic::is_announcement(line));
        // One side of a comparison is nothing without the other.
        let room = if compares { COMPARED_MAX } else { DETAILS_MAX };
        let counts = !message && !place && says && self.said < room;
        self.said += usize::from(counts);
        self.open = (message || place || counts) && line.trim_end().ends_with(':');
        let core = if compares { !self.files_differ } else { self.said <= CORE_DETAILS_MAX && (matched || !leads) };
        let core = core && !self.brief;
        if message && !(self.brief && self.repeated) || counts && core {
            LineWorth::Core(self.rank)
        } else if message || place || counts || near {
            LineWorth::Detail(self.rank)
        } else {
            LineWorth::Context(self.rank)
        }
    }

    /// Whether the line is no part of the failure: the head of a difference, or advice with what is shown for it.
    fn is_aside(&mut self, line: &str) -> bool {
        let depth = generic::indent_width(line);
        self.files_differ |= generic::differing_file(line).is_some();
        if generic::is_advice(line) {
            self.advice = Some(depth);
        } else if self.advice.is_some_and(|advice| depth <= advice) && !generic::is_source(line) {
            self.advice = None;
        }
        let head = generic::is_difference_head(line);
        self.differs |= head;
        self.advice.is_some() || head
    }

    /// Whether the line has the item's message, and its place, for the first time.
    fn take_detail(&mut self, line: &str) -> (bool, bool) {
        let says = |message: &mut String| line.contains(message.as_str()) && line.contains(self.code.as_str());
        let message = self.message.take_if(says).is_some();
        let place = self
            .place
            .take_if(|(file, number)| line.contains(file.as_str()) && line.contains(number.as_str()))
            .is_some();
        (message, place)
    }
}

/// A shorter message is also in lines of source that are shown; its code has to be on the line, too. Bytes.
const MESSAGE_BYTES_MIN: usize = 16;
/// Lines below the head of a block that no definition reads that are details in any case.
const NEAR_LINES_MAX: usize = 3;
/// Lines of a comparison that are kept with one item.
const COMPARED_MAX: usize = 2 * DETAILS_MAX;
/// Items kept with their whole core; in further ones a repeated message is a detail, and so are the lines that say
/// more.
const TOLD_IN_FULL: usize = 20;
/// Details may fill the kept lines up to one part in this many of the output.
const DETAIL_SHARE: usize = 5;
/// … and in any case up to this many bytes: what fits on half a screen is not worth cutting.
const DETAIL_BYTES_MIN: usize = 1_000;
/// Context may fill the kept lines up to one part in this many of the output.
const CONTEXT_SHARE: usize = 10;
/// … and in any case up to this many bytes.
const CONTEXT_BYTES_MIN: usize = 1_000;
/// … and that of the first items, in an output that is longer than this, up to this many bytes more of the rest.
const LONG_BYTES: usize = 4_000;
const WHOLE_PERCENT: usize = 30;
/// Lines that are the same but for their numbers, of those that don't say why.
const ALIKE_LINES_MAX: usize = 20;
/// Items whose blocks are kept whole while there is such room.
const WHOLE_ITEMS_MAX: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(lines: &[(&str, LineWorth)]) -> KeptLines {
        let (lines, worths): (Vec<&str>, Vec<LineWorth>) = lines.iter().copied().unzip();
        choose_lines(&lines, &worths)
    }

    #[test]
    fn what_says_why_goes_before_what_explains_it() {
        let (long, noise) = ("x".repeat(700), "noise ".repeat(300));
        let lines = [
            ("why", LineWorth::Core(1)),
            (&long, LineWorth::Context(1)),
            ("", LineWorth::None),
            (&noise, LineWorth::None),
            ("and why", LineWorth::Core(0)),
            ("where", LineWorth::Detail(0)),
            (&long, LineWorth::Context(0)),
        ];
        let kept = chosen(&lines);
        assert_eq!(kept.lines, ["why", "", "and why", "where", &long], "the context of the more important one fits");
        assert_eq!(kept.cut, 1);
    }

    #[test]
    fn an_output_of_half_a_screen_is_kept_with_its_context() {
        let lines = [
            ("why", LineWorth::Core(0)),
            ("where", LineWorth::Detail(0)),
            ("source", LineWorth::Context(0)),
            ("passed", LineWorth::None),
            ("note", LineWorth::Context(3)),
        ];
        assert_eq!(chosen(&lines).lines, ["why", "where", "source", "note"]);
    }

    #[test]
    fn what_goes_on_and_on_in_a_block_is_kept_a_few_times() {
        let steps: Vec<String> = (1..=200).map(|n| format!("    step {n} is done")).collect();
        let sides: Vec<String> = (0..30).map(|n| format!("+ {n}")).collect();
        let all = steps.iter().chain(&sides).map(|line| (line.as_str(), LineWorth::Context(0)));
        let lines: Vec<(&str, LineWorth)> =
            [("Error: it is broken", LineWorth::Core(0))].into_iter().chain(all).collect();
        let kept = chosen(&lines);
        assert_eq!(kept.lines.iter().filter(|line| line.contains("step")).count(), ALIKE_LINES_MAX);
        assert_eq!(kept.lines.iter().filter(|line| line.starts_with('+')).count(), sides.len());
        assert_eq!(kept.cut, steps.len() - ALIKE_LINES_MAX);
    }

    #[test]
    fn the_budget_holds_and_what_is_cut_is_counted() {
        let lines: Vec<String> = (0..5_000).map(|n| format!("größe {n}: error ✖")).collect();
        let lines: Vec<(&str, LineWorth)> =
            lines.iter().zip(0..).map(|(line, n)| (line.as_str(), LineWorth::Core(n))).collect();
        let kept = chosen(&lines);
        assert!(kept.lines.iter().map(|line| line.len() + 1).sum::<usize>() <= EVENT_LINES_BYTES_MAX);
        assert_eq!(kept.lines.len() + kept.cut, lines.len());
        assert_eq!(kept.lines[0], lines[0].0);
    }

    #[test]
    fn the_core_of_a_block_is_its_message_and_the_first_lines_that_say_more() {
        let mut details = BlockDetails::new(7, "totals differ", Some(("src/a.rs", Some(3))));
        details.see_head("---- test_total ----");
        let block = [
            ("  fn total() -> u32 {", LineWorth::Context(7)),
            ("totals differ", LineWorth::Core(7)),
            ("  --> src/a.rs:3", LineWorth::Detail(7)),
            ("  see src/a.rs, too", LineWorth::Context(7)),
            ("expected: 3", LineWorth::Core(7)),
            ("Traceback (most recent call last):", LineWorth::Context(7)),
            ("undefined thing:", LineWorth::Core(7)),
            ("   the thing", LineWorth::Detail(7)),
            ("ValueError: bad", LineWorth::Detail(7)),
            ("   another thing", LineWorth::Context(7)),
        ];
        for (line, worth) in block {
            assert_eq!(details.rate_line(line, false), worth, "{line}");
        }
        assert_eq!(details.rate_line("E   what a rule reads", true), LineWorth::Context(7), "there are N, and no more");
    }

    #[test]
    fn marks_below_a_place_that_ends_with_a_colon_are_not_what_it_announces() {
        let mut details = BlockDetails::new(0, "unexpected thing", Some(("src/a.zz", Some(3))));
        details.see_head("✘ unexpected thing");
        for (line, worth) in [
            ("    src/a.zz:3:20:", LineWorth::Detail(0)),
            ("      3 │ const x = a(;", LineWorth::Context(0)),
            ("        ╵             ^", LineWorth::Context(0)),
        ] {
            assert_eq!(details.rate_line(line, false), worth, "{line}");
        }
    }

    #[test]
    fn what_is_shown_beside_a_failure_is_context() {
        let mut details = BlockDetails::new(0, "missing thing", Some(("src/a.py", Some(7))));
        details.see_head("error: missing thing");
        let block = [
            ("6 | if x is not expected:", LineWorth::Context(0)),
            (" --> src/a.py", LineWorth::Context(0)),
            (" --> src/a.py:7", LineWorth::Detail(0)),
            ("help: an error can be avoided", LineWorth::Context(0)),
            ("1 | import b", LineWorth::Context(0)),
            ("  - expected = 1", LineWorth::Context(0)),
            ("- Expected  - 1", LineWorth::Context(0)),
            ("@@ @@", LineWorth::Context(0)),
            ("-    one", LineWorth::Core(0)),
            ("+    two", LineWorth::Core(0)),
        ];
        for (line, worth) in block {
            assert_eq!(details.rate_line(line, false), worth, "{line}");
        }
    }

    #[test]
    fn what_a_formatter_would_change_is_a_detail() {
        let mut details = BlockDetails::new(0, "", None);
        details.see_head("--- src/a.py");
        for (line, worth) in
            [("@@ -1,2 +1,2 @@", LineWorth::Context(0)), ("-a", LineWorth::Detail(0)), ("+b", LineWorth::Detail(0))]
        {
            assert_eq!(details.rate_line(line, false), worth, "{line}");
        }
    }

    #[test]
    fn of_many_items_the_later_ones_only_say_what_is_new() {
        let worth = |repeated: bool| {
            let mut details = BlockDetails::new(TOLD_IN_FULL, "totals differ", None);
            if repeated {
                details.count_repeat();
            }
            [details.rate_line("totals differ", false), details.rate_line("expected: 3", false)]
        };
        assert_eq!(worth(false), [LineWorth::Core(TOLD_IN_FULL), LineWorth::Detail(TOLD_IN_FULL)]);
        assert_eq!(worth(true), [LineWorth::Detail(TOLD_IN_FULL); 2]);
    }

    #[test]
    fn lines_that_stand_alone_are_a_list() {
        let lines = ["a", "", "b", "", "c", "d", "", "e"].map(|line| (line, LineWorth::Core(0)));
        assert_eq!(chosen(&lines).lines, ["a", "b", "", "c", "d", "", "e"]);
    }
}
