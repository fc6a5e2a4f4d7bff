//! From what was found to a diagnosis: paths resolved, duplicates merged, lines chosen.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};
use std::hash::BuildHasher;
use std::rc::Rc;

use foldhash::fast::RandomState;

use crate::base::limits::{FRAMES_MAX, ITEMS_MAX, LINE_KEEP_BYTES_MAX, TAIL_LINES};
use crate::base::text::{ellipsis, is_blank};

use self::caller::{CommandHints, canonical_code};
use super::block::{Block, BlockView};
use super::catalog::Catalog;
use super::engine::{Frame, LineRole, RawDiagnostic, TestOutcome};
use super::generic::{self, FailureStrength};
use super::located::says_error;
use super::paths::{PathResolver, PathTrust};
use super::structured::StructuredDocument;
use super::{
    Baseline, Category, DiagnosisInput, Diagnostic, Severity, Shortfall, category, passing, shortfall, surroundings,
};

mod caller;
mod documents;
mod located;
mod named;
mod place;
mod said;

/// The items with the lines that belong to them.
pub(super) struct AssembledDiagnostics<'a> {
    catalog: &'a Catalog,
    by: CommandHints<'a>,
    lines: &'a [&'a str],
    streams: Vec<Vec<(usize, usize)>>,
    outcome: TestOutcome<'a>,
    /// Whether an item is one of those that made the run fail, and not a repetition.
    failing: Vec<bool>,
    /// Items of the generic layer.
    generic: Vec<Diagnostic>,
    /// What is kept of the generic layer, the best first.
    blocks: Vec<Block>,
    /// … and those of its that did not make the run fail.
    beside: Vec<Diagnostic>,
    /// Lines written for what a document says, by the line that it begins in.
    written: BTreeMap<usize, Vec<String>>,
    files: BTreeSet<String>,
    /// Files that failing lines name and the tree doesn't have; affected only if no file that exists is.
    missing: BTreeSet<String>,
    places: Vec<Option<Rc<str>>>,
    /// Tests whose printed name begins with a file seen from the run's folder, with their name seen from the root.
    tests: HashMap<&'a str, String>,
    /// Items that repeat an earlier one, with that one.
    first_of: HashMap<usize, usize>,
    /// Items that were printed several times and begin where more is said than at first, with the line.
    head_of: HashMap<usize, usize>,
    shortfalls: Vec<Shortfall>,
    /// Lines that nothing knew where a tool counts more than was read.
    unread: Vec<usize>,
}

impl<'a> AssembledDiagnostics<'a> {
    /// Puts the definitions' outcome and the generic layer's together.
    pub(super) fn new(
        input: &DiagnosisInput<'a>,
        catalog: &'a Catalog,
        named: &'a [bool],
        lines: &'a [&'a str],
        streams: Vec<Vec<(usize, usize)>>,
        outcome: TestOutcome<'a>,
        documents: Vec<StructuredDocument>,
    ) -> Self {
        let resolver = PathResolver::new(input.tree, input.root, input.dir);
        let baseline = input.baseline.filter(|baseline| baseline.is_usable());
        let mut failing = mark_failing(catalog, &outcome.items, lines);
        let is_news =
            |found: &RawDiagnostic<'_>| baseline.is_none_or(|known| !known.contains_line(lines[found.span.0]));
        let mut both = outcome.items.iter().zip(&failing);
        if both.any(|(found, failing)| *failing && is_news(found)) {
            // What the last passing run said, too, is not why this one fails.
            failing.iter_mut().zip(&outcome.items).for_each(|(failing, found)| *failing &= is_news(found));
        }
        let mut this = AssembledDiagnostics {
            catalog,
            by: CommandHints::new(input, catalog, named),
            lines,
            streams,
            outcome,
            failing,
            generic: Vec::new(),
            beside: Vec::new(),
            written: BTreeMap::new(),
            blocks: Vec::new(),
            files: BTreeSet::new(),
            missing: BTreeSet::new(),
            places: Vec::new(),
            tests: HashMap::new(),
            first_of: HashMap::new(),
            head_of: HashMap::new(),
            shortfalls: Vec::new(),
            unread: Vec::new(),
        };
        this.give_way_to(&documents);
        this.leave_out_what_passed();
        this.resolve_locations(&resolver);
        this.merge_repeats();
        this.take_documents(documents, &resolver);
        let known = this.is_known(baseline);
        this.take_located(known, &resolver, baseline);
        this.look_generically(known, &resolver, baseline);
        this.take_named(known, category::kind_of(input), input.command, &resolver, baseline);
        this.check_counts();
        if this.files.is_empty() {
            this.files = std::mem::take(&mut this.missing);
        }
        this
    }

    /// The items that made the run fail.
    pub(super) fn failing_diagnostics(&self) -> impl Iterator<Item = &RawDiagnostic<'a>> + Clone {
        self.outcome.items.iter().zip(&self.failing).filter(|(_, failing)| **failing).map(|(found, _)| found)
    }

    /// What no definition knows and was found at a place.
    pub(super) fn located_diagnostics(&self) -> impl Iterator<Item = &Diagnostic> + Clone {
        self.generic.iter().filter(|item| item.file.is_some() && item.line.is_some())
    }

    /// Tools whose output was seen.
    pub(super) fn live_tools(&self) -> &[bool] {
        &self.outcome.live
    }

    /// Takes what passing tests printed, and the commands that a shell traced, for noise. What a definition of a test runner or
    /// a compiler reads there is as it was; a stack that only its form knows was caught.
    fn leave_out_what_passed(&mut self) {
        let passed = passing::mark_passed(self.lines, &self.streams);
        let traced = passing::mark_traced(self.lines);
        for (index, found) in self.outcome.items.iter().enumerate() {
            let is_caught = self.catalog.tools[found.tool()].category == Some(Category::RuntimeError);
            if passed[found.span.0] && is_caught && found.category.is_none() && self.failing[index] {
                self.failing[index] = false;
                self.outcome.roles[found.span.0..found.span.1].fill(LineRole::Noise);
            }
        }
        let lines = self.outcome.roles.iter_mut().zip(passed.iter().zip(&traced));
        lines
            .filter(|(role, (passed, traced))| **role == LineRole::Free && (**passed || **traced))
            .for_each(|(role, _)| *role = LineRole::Noise);
    }

    /// A failure that is printed live and again in a summary is one item.
    fn merge_repeats(&mut self) {
        let hasher = RandomState::default();
        let items = 0..self.outcome.items.len();
        let keys: Vec<u64> = items.clone().map(|index| self.merge_key(index, &hasher)).collect();
        // Lists are kept only of what there is several times.
        let mut sorted: Vec<u64> =
            items.clone().filter(|&index| self.failing[index]).map(|index| keys[index]).collect();
        sorted.sort_unstable();
        let several = sorted.chunk_by(|a, b| a == b).filter(|alike| alike.len() > 1);
        let mut seen: HashMap<u64, Vec<usize>, RandomState> = several.map(|alike| (alike[0], Vec::new())).collect();
        drop(sorted);
        for index in items {
            if !self.failing[index] || self.outcome.items[index].repeats && self.was_found(index) {
                continue;
            }
            let Some(known) = seen.get_mut(&keys[index]) else { continue };
            match known.iter().copied().take(NAMESAKES_MAX).find(|&earlier| self.is_same(earlier, index)) {
                Some(earlier) => self.merge_into(earlier, index),
                None => known.push(index),
            }
        }
    }

    /// The same for items that may be the same failure.
    fn merge_key(&self, index: usize, hasher: &RandomState) -> u64 {
        let found = &self.outcome.items[index];
        match found.test {
            Some(test) => hasher.hash_one((found.tool(), plain_test_name(test))),
            None => {
                let position = found.place.as_ref().map(|place| (place.line, place.col));
                hasher.hash_one((found.tool(), &self.places[index], position, found.message))
            }
        }
    }

    /// Takes an item that only repeats what was found in its file as a note to that; whether there is any.
    fn was_found(&mut self, index: usize) -> bool {
        let found = &self.outcome.items[index];
        let mut earlier = (0..index).rev().take(NAMESAKES_MAX);
        let first = earlier.find(|&earlier| {
            let other = &self.outcome.items[earlier];
            let covers = self.places[index].is_none() || self.places[earlier] == self.places[index];
            self.failing[earlier] && other.tool() == found.tool() && covers
        });
        let Some(first) = first else { return false };
        let (from, until) = found.span;
        self.failing[index] = false;
        self.first_of.insert(index, first);
        for role in &mut self.outcome.roles[from..until] {
            if matches!(role, LineRole::Head(item) | LineRole::Told(item) | LineRole::Detail(item) | LineRole::Note(item) if *item == index)
            {
                *role = LineRole::Note(first);
            }
        }
        true
    }

    fn is_same(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.outcome.items[a], &self.outcome.items[b]);
        let fits = |a: Option<&str>, b: Option<&str>| a.is_none() || b.is_none() || a == b;
        let files = fits(self.places[a].as_deref(), self.places[b].as_deref());
        let ids = first.test.zip(second.test).is_some_and(|(a, b)| a.contains("::") || b.contains("::"));
        (files || ids) && (first.message.is_empty() || second.message.is_empty() || first.test.is_some())
            || first.message == second.message && files
    }

    fn merge_into(&mut self, first: usize, second: usize) {
        self.failing[second] = false;
        self.first_of.insert(second, first);
        let RawDiagnostic { place: other_place, code, message, test, span, .. } = self.outcome.items[second];
        let more = self.outcome.items[second].more_frames().to_vec();
        let (from, until) = span;
        let place = self.places[second].clone();
        let found = &mut self.outcome.items[first];
        let repeated = found.span.1 - found.span.0 > 1 && message == found.message && test == found.test;
        let says_why = found.message.is_empty() && !message.is_empty();
        if says_why {
            found.message = message;
        }
        let same_test = test == found.test;
        let says_more = test.map(str::len) > found.test.map(str::len);
        if says_more {
            found.test = test;
        }
        found.code = found.code.or(code);
        match (found.place, other_place) {
            (None, place_there) => {
                found.place = place_there;
                self.places[first] = place;
            }
            (Some(here), Some(there)) if here.line != there.line && there.line.is_some() => {
                found.rest_mut().more.push((there, message));
            }
            _ => {}
        }
        if !more.is_empty() {
            found.rest_mut().more.extend(more);
        }
        if let Some(rest) = &mut found.rest {
            rest.more.truncate(FRAMES_MAX);
        }
        // One head is enough: the one that says more, or that has its block below it. The other one only announces.
        let lines = |span: (usize, usize)| span.1 - span.0;
        let better = says_more || lines(span) > 1 && lines(found.span) == 1 && same_test;
        let old_head = self.head_of.get(&first).copied().unwrap_or(found.span.0);
        if better && self.outcome.roles[old_head] == LineRole::Head(first) {
            self.outcome.roles[old_head] = LineRole::Note(first);
            self.head_of.insert(first, from);
        }
        // A block that says the same again is noise; anything else is further lines of the item.
        for role in &mut self.outcome.roles[from..until] {
            *role = match *role {
                LineRole::Head(item) | LineRole::Told(item) | LineRole::Detail(item) | LineRole::Note(item)
                    if item != second =>
                {
                    *role
                }
                LineRole::Head(_) | LineRole::Told(_) | LineRole::Detail(_) | LineRole::Note(_) if repeated => {
                    LineRole::Noise
                }
                LineRole::Head(_) if better => LineRole::Head(first),
                LineRole::Told(_) => LineRole::Told(first),
                LineRole::Head(_) if !says_why => LineRole::Note(first),
                LineRole::Note(_) => LineRole::Note(first),
                LineRole::Head(_) | LineRole::Detail(_) => LineRole::Detail(first),
                other => other,
            };
        }
    }

    /// Compares what was read with what the tools say they found. Where it is less, the lines that nothing knew stay.
    fn check_counts(&mut self) {
        for tally in std::mem::take(&mut self.outcome.tallies) {
            let generic = self.generic.len();
            let short = shortfall::compare_counts(&tally, &self.outcome.items, &self.first_of, generic);
            let Some((said, found)) = short else { continue };
            self.shortfalls.push(Shortfall { tool: self.catalog.tools[tally.tool].name.clone(), said, found });
            let unknown = |&line: &usize| self.outcome.roles[line] == LineRole::Free && !is_blank(self.lines[line]);
            let before = (tally.lines.start..tally.line).rev().filter(unknown).take(UNKNOWN_LINES_MAX);
            let behind = (tally.line + 1..tally.lines.end).filter(unknown).take(UNKNOWN_LINES_MAX);
            let lines: Vec<usize> = before.chain(behind).collect();
            self.unread.extend(lines);
        }
    }

    /// Where a tool counts more than was read.
    pub(super) fn find_shortfalls(&self) -> Vec<Shortfall> {
        self.shortfalls.clone()
    }

    /// What no definition knows: lines that say that something failed, or the news, or the tail.
    fn look_generically(&mut self, known: bool, resolver: &PathResolver<'_>, baseline: Option<&Baseline>) {
        let streams = std::mem::take(&mut self.streams);
        let view = BlockView { lines: self.lines, streams: &streams, roles: &self.outcome.roles, baseline };
        let mut blocks = view.find_blocks(std::mem::take(&mut self.blocks));
        let strong = blocks.iter().any(|block| block.strength == FailureStrength::Strong);
        if !known && strong {
            // Warnings and wrappers are the reason only where there is no other.
            self.failing.fill(false);
        }
        if known || strong {
            blocks.retain(|block| block.strength == FailureStrength::Strong || block.placed);
        }
        let best = blocks.iter().map(|block| block.score).fold(0.0, f32::max);
        for block in &blocks {
            // Located ones are items already.
            if self.outcome.roles[block.head] == LineRole::Free {
                self.generic_item(block, resolver, known);
            }
        }
        blocks.retain(|block| block.placed || block.score >= best - NEAR_BEST);
        blocks.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.head.cmp(&b.head)));
        self.blocks = blocks;
        if !known && !strong {
            self.add_tail(resolver, baseline);
        }
        self.streams = streams;
    }

    /// Whether definitions or documents explain the failure.
    fn is_known(&self, baseline: Option<&Baseline>) -> bool {
        let is_news =
            |found: &RawDiagnostic<'_>| baseline.is_none_or(|known| !known.contains_line(self.lines[found.span.0]));
        let mut failing = self.outcome.items.iter().zip(&self.failing);
        failing.any(|(found, failing)| *failing && is_news(found) && self.counts_as_failure(found))
            || !self.generic.is_empty()
    }

    /// Whether an item explains the failure: a warning does only where the tool says that its warnings fail.
    fn counts_as_failure(&self, found: &RawDiagnostic<'_>) -> bool {
        let wrapper = generic::is_wrapper(self.lines[found.span.0]);
        let fails =
            found.severity == Severity::Error || self.catalog.tools[found.tool()].warnings_fail || found.decides;
        fails && !wrapper
    }

    /// One item of the generic layer.
    fn generic_item(&mut self, block: &Block, resolver: &PathResolver<'_>, known: bool) {
        let head = self.lines[block.head];
        let mut place = None;
        // A name with blanks in it is more often the end of a sentence.
        let words = |file: &str| file.split(' ').count();
        let whole =
            |place: &Frame<'_>| words(place.file) <= NAME_WORDS_MAX || resolver.exists_as_printed(Some(place.file));
        let leading = generic::leading_place(head).filter(whole);
        for &index in &block.lines {
            let first = leading.filter(|_| index == block.head);
            let places = first.map_or_else(|| generic::find_locations(self.lines[index]), |leading| vec![leading]);
            for frame in places {
                let named = resolver.widest_path(self.lines[index], frame.file);
                match resolver.resolve_path(named, &[], PathTrust::Looks) {
                    Some(file) => {
                        self.files.insert(file.clone());
                        place = place.or(Some((file, frame.line, frame.col)));
                    }
                    None => self.missing.extend(resolver.missing_path(frame.file)),
                }
            }
        }
        let (file, line, col) = place.map_or((None, None, None), |(file, line, col)| (Some(file), line, col));
        if !known || file.is_some() {
            let span = (block.lines[0], block.lines[block.lines.len() - 1] + 1);
            self.generic.push(Diagnostic {
                tool: "generic".to_owned(),
                code: None,
                severity: generic::severity_of(head),
                file,
                line,
                col,
                message: ellipsis(head.trim(), LINE_KEEP_BYTES_MAX),
                test: None,
                span,
            });
        }
    }

    /// Nothing is known: the lines that were not in the last passing output, else the last paragraphs.
    fn add_tail(&mut self, resolver: &PathResolver<'_>, baseline: Option<&Baseline>) {
        let (room, looks) =
            if baseline.is_some() { (NEWS_LINES_MAX, usize::MAX) } else { (TAIL_LINES, TAIL_LOOKS_MAX) };
        let mut taken = 0;
        for index in (0..self.lines.len()).rev().take(looks) {
            let line = self.lines[index];
            let blank = is_blank(line);
            if taken == room || blank && baseline.is_none() && taken >= TAIL_LINES_MIN {
                break;
            }
            let news = baseline.is_none_or(|known| !known.contains_line(line));
            if blank
                || !news
                || self.outcome.roles[index] == LineRole::Noise
                || generic::is_wrapper(line)
                || generic::is_harmless(line)
                || surroundings::says_nothing(line)
            {
                continue;
            }
            taken += 1;
            self.blocks.push(Block::single_line(index));
            let files = generic::find_locations(line).into_iter();
            self.files.extend(files.filter_map(|frame| resolver.resolve_path(frame.file, &[], PathTrust::Looks)));
        }
    }

    /// All affected files.
    pub(super) fn affected_files(&self) -> Vec<String> {
        self.files.iter().cloned().collect()
    }

    /// The items, and how many there are beyond the limit.
    pub(super) fn listed_diagnostics(&self) -> (Vec<Diagnostic>, usize) {
        let known = (0..self.outcome.items.len()).filter(|&index| self.failing[index]);
        let known = known.map(|index| (self.outcome.items[index].span, index));
        let behind = self.outcome.items.len();
        let generic = self.generic.iter().enumerate().map(|(index, item)| (item.span, behind + index));
        let mut first: BinaryHeap<((usize, usize), usize)> = BinaryHeap::with_capacity(ITEMS_MAX + 1);
        let mut cut = 0;
        for item in known.chain(generic) {
            if first.len() == ITEMS_MAX {
                cut += 1;
                if first.peek().is_some_and(|last| *last < item) {
                    continue;
                }
                first.pop();
            }
            first.push(item);
        }
        let item = |index: usize| {
            index.checked_sub(behind).map_or_else(|| self.build_diagnostic(index), |at| self.generic[at].clone())
        };
        (first.into_sorted_vec().into_iter().map(|(_, index)| item(index)).collect(), cut)
    }

    /// Diagnostics that did not make the run fail.
    pub(super) fn other_diagnostics(&self) -> Vec<Diagnostic> {
        let beside =
            |found: &RawDiagnostic<'_>| !found.tentative && found.severity < Severity::Error && found.place.is_some();
        let all = self.outcome.items.iter().enumerate();
        let others = all.filter(|(index, found)| !self.failing[*index] && beside(found));
        let more = (0..self.outcome.items.len()).filter(|&index| self.failing[index]);
        let more = more.flat_map(|index| self.further_locations(index));
        others
            .map(|(index, _)| self.build_diagnostic(index))
            .chain(self.beside.iter().cloned())
            .chain(more)
            .take(ITEMS_MAX)
            .collect()
    }

    /// What an item says about further places, as notes.
    fn further_locations(&self, index: usize) -> impl Iterator<Item = Diagnostic> {
        let found = &self.outcome.items[index];
        let same = |place: &Frame<'_>| found.place.is_some_and(|own| own.file == place.file);
        found.more_frames().iter().map(move |(place, message)| Diagnostic {
            severity: Severity::Info,
            file: Some(self.places[index].as_deref().filter(|_| same(place)).unwrap_or(place.file).to_owned()),
            line: place.line,
            col: place.col,
            message: (*message).to_owned(),
            ..self.build_diagnostic(index)
        })
    }

    fn build_diagnostic(&self, index: usize) -> Diagnostic {
        let found = &self.outcome.items[index];
        Diagnostic {
            tool: self.by.tool_of(self.catalog, found).to_owned(),
            code: found.code.map(canonical_code),
            severity: found.severity,
            file: self.places[index].as_deref().map(str::to_owned),
            line: found.place.and_then(|place| place.line),
            col: found.place.and_then(|place| place.col),
            message: found.message.to_owned(),
            test: found.test.map(|test| self.tests.get(test).map_or(test, String::as_str).to_owned()),
            span: found.span,
        }
    }
}

/// Earlier failures of one test's name that a further one is compared with.
const NAMESAKES_MAX: usize = 100;
/// Lines kept before and behind a tool's count that is higher than what was read.
const UNKNOWN_LINES_MAX: usize = 100;
/// The largest difference to the best block's score at which a block is kept.
const NEAR_BEST: f32 = 3.0;
/// Words of a file's name that isn't known.
const NAME_WORDS_MAX: usize = 3;
/// Last lines that are looked at for those that say something.
const TAIL_LOOKS_MAX: usize = 2_000;
/// Last paragraphs are taken until there are this many lines.
const TAIL_LINES_MIN: usize = 6;
/// New lines kept of an output of which nothing else is known.
const NEWS_LINES_MAX: usize = 100;

/// Warnings make a run fail only where the tool or the output says so, or where there is nothing worse.
fn mark_failing(catalog: &Catalog, items: &[RawDiagnostic<'_>], lines: &[&str]) -> Vec<bool> {
    let counts = |found: &RawDiagnostic<'_>| !found.tentative;
    let located = |found: &RawDiagnostic<'_>| found.severity == Severity::Error && found.place.is_some();
    let is_warning = |found: &RawDiagnostic<'_>| found.severity == Severity::Warning;
    // All lines are asked only where it matters.
    let strict = items.iter().any(is_warning)
        && !items.iter().any(|found| counts(found) && located(found))
        && generic::warnings_fail(lines);
    let warns = |found: &RawDiagnostic<'_>| is_warning(found) && strict;
    let fails = |found: &RawDiagnostic<'_>| {
        found.severity == Severity::Error || catalog.tools[found.tool()].warnings_fail || warns(found)
    };
    let worst = items.iter().filter(|found| counts(found)).map(|found| found.severity).max();
    let any = items.iter().any(|found| counts(found) && fails(found));
    // What no definition knows may say that there is an error.
    let is_unknown = |line: &usize| !items.iter().any(|found| (found.span.0..found.span.1).contains(line));
    let mut unknown = (0..lines.len()).filter(|&line| says_error(lines[line])).filter(is_unknown);
    if !any && worst == Some(Severity::Warning) && unknown.next().is_some() {
        return vec![false; items.len()];
    }
    let verdict = |found: &RawDiagnostic<'_>| if any { fails(found) } else { Some(found.severity) == worst };
    items.iter().map(|found| counts(found) && verdict(found)).collect()
}

/// `tests/a.py::TestX::test_y` and `TestX.test_y` are one test.
fn plain_test_name(name: &str) -> String {
    let name = match name.split_once("::") {
        Some((file, rest)) if file.contains(['/', '.']) => rest,
        _ => name,
    };
    name.replace("::", ".")
}
