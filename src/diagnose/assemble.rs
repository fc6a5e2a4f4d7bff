//! From what was found to a diagnosis: paths resolved, duplicates merged, lines chosen.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use crate::base::limits::{FRAMES_MAX, ITEMS_MAX, LINE_KEEP_BYTES_MAX, TAIL_LINES};
use crate::base::text::ellipsis;

use super::block::{Block, View};
use super::catalog::Catalog;
use super::choice::{self, Details, Kept, Worth};
use super::engine::{Found, Frame, Outcome, Role};
use super::generic::{self, Strength, looks_like_a_file};
use super::paths::{Resolver, Trust};
use super::structured::Document;
use super::{Baseline, Input, Item, Severity, Shortfall, shortfall};

mod documents;
mod located;

/// The items with the lines that belong to them.
pub struct Assembled<'a> {
    catalog: &'a Catalog,
    lines: &'a [&'a str],
    streams: &'a [Vec<(usize, usize)>],
    outcome: Outcome,
    /// Whether an item is one of those that made the run fail, and not a repetition.
    failing: Vec<bool>,
    /// Items of the generic layer.
    generic: Vec<Item>,
    /// What is kept of the generic layer, the best first.
    blocks: Vec<Block>,
    /// … and those of its that did not make the run fail.
    beside: Vec<Item>,
    /// Lines written for what a document says, by the line that it begins in.
    written: BTreeMap<usize, Vec<String>>,
    files: BTreeSet<String>,
    /// Files that failing lines name and the tree doesn't have; affected only if no file that exists is.
    missing: BTreeSet<String>,
    places: Vec<Option<String>>,
    /// For each item the earlier one that it repeats, else itself.
    first_of: Vec<usize>,
    /// For each item its first line, the one that says most where it was printed several times.
    head_of: Vec<usize>,
    shortfalls: Vec<Shortfall>,
    /// Lines that nothing knew where a tool counts more than was read.
    unread: Vec<usize>,
}

impl<'a> Assembled<'a> {
    /// Puts the definitions' outcome and the generic layer's together.
    pub fn new(
        input: &Input<'_>,
        catalog: &'a Catalog,
        lines: &'a [&'a str],
        streams: &'a [Vec<(usize, usize)>],
        outcome: Outcome,
        documents: Vec<Document>,
    ) -> Self {
        let resolver = Resolver::new(input.tree, input.root, input.dir);
        let baseline = input.baseline.filter(|baseline| baseline.is_usable());
        let mut failing = failing(catalog, &outcome.items);
        let is_news = |found: &Found| baseline.is_none_or(|known| !known.contains(lines[found.span.0]));
        let mut both = outcome.items.iter().zip(&failing);
        if both.any(|(found, failing)| *failing && is_news(found)) {
            // What the last passing run said, too, is not why this one fails.
            failing.iter_mut().zip(&outcome.items).for_each(|(failing, found)| *failing &= is_news(found));
        }
        let mut this = Assembled {
            catalog,
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
            first_of: Vec::new(),
            head_of: Vec::new(),
            shortfalls: Vec::new(),
            unread: Vec::new(),
        };
        this.give_way_to(&documents);
        this.resolve(&resolver);
        this.merge();
        this.take(documents, &resolver);
        let known = this.is_known(baseline);
        this.take_located(known, &resolver, baseline);
        this.look_generically(known, &resolver, baseline);
        this.check_counts();
        if this.files.is_empty() {
            this.files = std::mem::take(&mut this.missing);
        }
        this
    }

    /// The items that made the run fail.
    pub fn failing(&self) -> Vec<&Found> {
        self.outcome.items.iter().zip(&self.failing).filter(|(_, failing)| **failing).map(|(found, _)| found).collect()
    }

    /// Tools whose output was seen.
    pub fn live(&self) -> &[bool] {
        &self.outcome.live
    }

    fn resolve(&mut self, resolver: &Resolver<'_>) {
        for index in 0..self.outcome.items.len() {
            if self.failing[index] && self.outcome.items[index].place.is_none() {
                self.search_block(index, resolver);
            }
        }
        for (found, failing) in self.outcome.items.iter().zip(&self.failing) {
            // What only its position says to be a file (`%f:%l: %m` on `step:3: done`) has to exist.
            let trust = |file: &str| if looks_like_a_file(file) { Trust::Format } else { Trust::Looks };
            let resolved = |place: &Frame| resolver.resolve(&place.file, &found.dirs, trust(&place.file));
            let file = found.place.as_ref().and_then(resolved);
            if *failing {
                self.files.extend(file.clone());
                let frames = found.frames.iter();
                self.files.extend(frames.filter_map(|frame| resolver.resolve(&frame.file, &found.dirs, Trust::Looks)));
            }
            // What an item says of somebody else's file stays its place, though the file is not an affected one.
            let shown = || {
                let place = found.place.as_ref().filter(|place| place.line.is_some() && !place.file.contains('<'))?;
                Some(resolver.shown(&place.file, &found.dirs))
            };
            self.places.push(file.or_else(shown));
        }
    }

    /// A block whose rules name no file may still hold one that exists.
    fn search_block(&mut self, index: usize, resolver: &Resolver<'_>) {
        let (from, until) = self.outcome.items[index].span;
        let mine =
            |role: &Role| matches!(role, Role::Head(item) | Role::Told(item) | Role::Detail(item) if *item == index);
        let lines = (from..until).filter(|&line| mine(&self.outcome.roles[line]));
        let places: Vec<Frame> = lines.flat_map(|line| generic::places(self.lines[line])).collect();
        let found = &mut self.outcome.items[index];
        for place in places {
            if resolver.resolve(&place.file, &found.dirs, Trust::Looks).is_none() {
                self.missing.extend(resolver.missing(&place.file));
            } else if found.place.is_none() {
                found.place = Some(place);
            } else if found.frames.len() < FRAMES_MAX {
                found.frames.push(place);
            }
        }
    }

    /// A failure that is printed live and again in a summary is one item.
    fn merge(&mut self) {
        let mut seen: HashMap<u64, Vec<usize>> = HashMap::new();
        let hasher = RandomState::new();
        self.first_of = (0..self.outcome.items.len()).collect();
        self.head_of = self.outcome.items.iter().map(|found| found.span.0).collect();
        for index in 0..self.outcome.items.len() {
            if !self.failing[index] {
                continue;
            }
            let found = &self.outcome.items[index];
            let key = match &found.test {
                Some(test) => hasher.hash_one((found.tool, plain_test_name(test))),
                None => {
                    let position = found.place.as_ref().map(|place| (place.line, place.col));
                    hasher.hash_one((found.tool, &self.places[index], position, &found.message))
                }
            };
            if found.repeats && self.was_found(index) {
                continue;
            }
            let known = seen.entry(key).or_default();
            match known.iter().copied().take(NAMESAKES_MAX).find(|&earlier| self.is_same(earlier, index)) {
                Some(earlier) => self.merge_into(earlier, index),
                None => known.push(index),
            }
        }
    }

    /// Takes an item that only repeats what was found in its file as a note to that; whether there is any.
    fn was_found(&mut self, index: usize) -> bool {
        let found = &self.outcome.items[index];
        let mut earlier = (0..index).rev().take(NAMESAKES_MAX);
        let first = earlier.find(|&earlier| {
            let other = &self.outcome.items[earlier];
            self.failing[earlier] && other.tool == found.tool && self.places[earlier] == self.places[index]
        });
        let Some(first) = first else { return false };
        let (from, until) = found.span;
        self.failing[index] = false;
        self.first_of[index] = first;
        for role in &mut self.outcome.roles[from..until] {
            if matches!(role, Role::Head(item) | Role::Told(item) | Role::Detail(item) | Role::Note(item) if *item == index)
            {
                *role = Role::Note(first);
            }
        }
        true
    }

    fn is_same(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.outcome.items[a], &self.outcome.items[b]);
        let fits = |a: Option<&str>, b: Option<&str>| a.is_none() || b.is_none() || a == b;
        let files = fits(self.places[a].as_deref(), self.places[b].as_deref());
        let ids = first
            .test
            .as_deref()
            .zip(second.test.as_deref())
            .is_some_and(|(a, b)| a.contains("::") || b.contains("::"));
        (files || ids) && (first.message.is_empty() || second.message.is_empty() || first.test.is_some())
            || first.message == second.message && files
    }

    fn merge_into(&mut self, first: usize, second: usize) {
        self.failing[second] = false;
        self.first_of[second] = first;
        let other = self.outcome.items[second].clone();
        let (from, until) = other.span;
        let place = self.places[second].clone();
        let found = &mut self.outcome.items[first];
        let repeated = found.span.1 - found.span.0 > 1 && other.message == found.message && other.test == found.test;
        let other_message = other.message.clone();
        let says_why = found.message.is_empty() && !other.message.is_empty();
        if says_why {
            found.message = other.message;
        }
        let same_test = other.test == found.test;
        let says_more = other.test.as_ref().map(String::len) > found.test.as_ref().map(String::len);
        if says_more {
            found.test = other.test;
        }
        found.code = found.code.take().or(other.code);
        match (&found.place, other.place) {
            (None, place_there) => {
                found.place = place_there;
                self.places[first] = place;
            }
            (Some(here), Some(there)) if here.line != there.line && there.line.is_some() => {
                found.more.push((there, other_message));
            }
            _ => {}
        }
        found.more.extend(other.more);
        found.more.truncate(FRAMES_MAX);
        // One head is enough: the one that says more, or that has its block below it. The other one only announces.
        let lines = |span: (usize, usize)| span.1 - span.0;
        let better = says_more || lines(other.span) > 1 && lines(found.span) == 1 && same_test;
        let old_head = self.head_of[first];
        if better && self.outcome.roles[old_head] == Role::Head(first) {
            self.outcome.roles[old_head] = Role::Note(first);
            self.head_of[first] = from;
        }
        // A block that says the same again is noise; anything else is further lines of the item.
        for role in &mut self.outcome.roles[from..until] {
            *role = match *role {
                Role::Head(item) | Role::Told(item) | Role::Detail(item) | Role::Note(item) if item != second => *role,
                Role::Head(_) | Role::Told(_) | Role::Detail(_) | Role::Note(_) if repeated => Role::Noise,
                Role::Head(_) if better => Role::Head(first),
                Role::Told(_) => Role::Told(first),
                Role::Head(_) if !says_why => Role::Note(first),
                Role::Note(_) => Role::Note(first),
                Role::Head(_) | Role::Detail(_) => Role::Detail(first),
                other => other,
            };
        }
    }

    /// Compares what was read with what the tools say they found. Where it is less, the lines that nothing knew stay.
    fn check_counts(&mut self) {
        for tally in std::mem::take(&mut self.outcome.tallies) {
            let generic = self.generic.len();
            let short = shortfall::compare(&tally, &self.outcome.items, &self.first_of, generic);
            let Some((said, found)) = short else { continue };
            self.shortfalls.push(Shortfall { tool: self.catalog.tools[tally.tool].name.clone(), said, found });
            let unknown = |&line: &usize| self.outcome.roles[line] == Role::Free && !self.lines[line].trim().is_empty();
            let before = (tally.lines.start..tally.line).rev().filter(unknown).take(UNKNOWN_LINES_MAX);
            let behind = (tally.line + 1..tally.lines.end).filter(unknown).take(UNKNOWN_LINES_MAX);
            let lines: Vec<usize> = before.chain(behind).collect();
            self.unread.extend(lines);
        }
    }

    /// Where a tool counts more than was read.
    pub fn shortfalls(&self) -> Vec<Shortfall> {
        self.shortfalls.clone()
    }

    /// What no definition knows: lines that say that something failed, or the news, or the tail.
    fn look_generically(&mut self, known: bool, resolver: &Resolver<'_>, baseline: Option<&Baseline>) {
        let view = View { lines: self.lines, streams: self.streams, roles: &self.outcome.roles, baseline };
        let mut blocks = view.blocks(std::mem::take(&mut self.blocks));
        let strong = blocks.iter().any(|block| block.strength == Strength::Strong);
        if !known && strong {
            // Warnings and wrappers are the reason only where there is no other.
            self.failing.fill(false);
        }
        if known || strong {
            blocks.retain(|block| block.strength == Strength::Strong);
        }
        let best = blocks.iter().map(|block| block.score).fold(0.0, f32::max);
        for block in &blocks {
            // Located ones are items already.
            if self.outcome.roles[block.head] == Role::Free {
                self.generic_item(block, resolver, known);
            }
        }
        blocks.retain(|block| block.score >= best - NEAR_BEST);
        blocks.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.head.cmp(&b.head)));
        self.blocks = blocks;
        if !known && !strong {
            self.tail(resolver, baseline);
        }
    }

    /// Whether definitions or documents explain the failure.
    fn is_known(&self, baseline: Option<&Baseline>) -> bool {
        let is_news = |found: &Found| baseline.is_none_or(|known| !known.contains(self.lines[found.span.0]));
        let mut failing = self.outcome.items.iter().zip(&self.failing);
        failing.any(|(found, failing)| *failing && is_news(found) && self.counts(found)) || !self.generic.is_empty()
    }

    /// Whether an item explains the failure: a warning does only where the tool says that its warnings fail.
    fn counts(&self, found: &Found) -> bool {
        let wrapper = generic::is_wrapper(self.lines[found.span.0]);
        let fails = found.severity == Severity::Error || self.catalog.tools[found.tool].warnings_fail || found.decides;
        fails && !wrapper
    }

    /// One item of the generic layer.
    fn generic_item(&mut self, block: &Block, resolver: &Resolver<'_>, known: bool) {
        let head = self.lines[block.head];
        let mut place = None;
        let leading = generic::leading_place(head);
        for &index in &block.lines {
            let first = leading.clone().filter(|_| index == block.head);
            let places = first.map_or_else(|| generic::places(self.lines[index]), |leading| vec![leading]);
            for frame in places {
                match resolver.resolve(&frame.file, &[], Trust::Looks) {
                    Some(file) => {
                        self.files.insert(file.clone());
                        place = place.or(Some((file, frame.line, frame.col)));
                    }
                    None => self.missing.extend(resolver.missing(&frame.file)),
                }
            }
        }
        let (file, line, col) = place.map_or((None, None, None), |(file, line, col)| (Some(file), line, col));
        if !known || file.is_some() {
            let span = (block.lines[0], block.lines[block.lines.len() - 1] + 1);
            self.generic.push(Item {
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
    fn tail(&mut self, resolver: &Resolver<'_>, baseline: Option<&Baseline>) {
        let room = if baseline.is_some() { NEWS_LINES_MAX } else { TAIL_LINES };
        let mut taken = 0;
        for index in (0..self.lines.len()).rev() {
            let line = self.lines[index];
            let blank = line.trim().is_empty();
            if taken == room || blank && baseline.is_none() && taken >= TAIL_LINES_MIN {
                break;
            }
            let news = baseline.is_none_or(|known| !known.contains(line));
            if blank || !news || self.outcome.roles[index] == Role::Noise || generic::is_wrapper(line) {
                continue;
            }
            taken += 1;
            self.blocks.push(Block { head: index, lines: vec![index], strength: Strength::Weak, score: 0.0 });
            let files = generic::places(line).into_iter();
            self.files.extend(files.filter_map(|frame| resolver.resolve(&frame.file, &[], Trust::Looks)));
        }
    }

    /// The lines worth keeping.
    pub fn kept(&self) -> Kept {
        choice::choose(&self.said())
    }

    /// All lines that have to do with the failure, as one text.
    pub fn relevant(&self) -> String {
        let said = self.said().into_iter().filter(|(_, worth)| *worth != Worth::None);
        said.map(|(line, _)| format!("{}\n", ellipsis(line.trim_end(), LINE_KEEP_BYTES_MAX))).collect()
    }

    /// All lines, and those written for documents before the line that the document begins in.
    fn said(&self) -> Vec<(&str, Worth)> {
        let mut said = Vec::with_capacity(self.lines.len());
        for (index, worth) in self.worth().into_iter().enumerate() {
            let written = self.written.get(&index).into_iter().flatten();
            said.extend(written.map(|line| (line.as_str(), Worth::Core(0))));
            said.push((self.lines[index], worth));
        }
        said
    }

    /// What each line is worth. Errors come before warnings, definitions before what is known generally.
    fn worth(&self) -> Vec<Worth> {
        let items = &self.outcome.items;
        let mut order: Vec<usize> = (0..items.len()).filter(|&index| self.failing[index]).collect();
        order.sort_by_key(|&index| (std::cmp::Reverse(items[index].severity), index));
        let mut rank = vec![0; items.len()];
        for (place, &index) in order.iter().enumerate() {
            rank[index] = place;
        }
        let mut details: Vec<Details> = items
            .iter()
            .zip(&rank)
            .map(|(found, &rank)| {
                Details::new(rank, &found.message, found.place.as_ref().map(|place| (place.file.as_str(), place.line)))
            })
            .collect();
        // What was announced while it ran and told afterwards is told once, where the rest of it is.
        let mut last_head = vec![0; items.len()];
        for (index, role) in self.outcome.roles.iter().enumerate() {
            if let Role::Head(item) = *role {
                last_head[item] = index;
            }
        }
        let mut told = HashSet::new();
        for &index in &order {
            if !told.insert(items[index].message.as_str()) {
                details[index].repeat();
            }
        }
        let mut worth = vec![Worth::None; self.lines.len()];
        for (index, role) in self.outcome.roles.iter().enumerate() {
            let line = self.lines[index];
            worth[index] = match *role {
                Role::Head(item) if self.failing[item] && index < items[item].span.0 => Worth::Core(rank[item]),
                Role::Head(item) if self.failing[item] && index < last_head[item] => Worth::Context(rank[item]),
                Role::Head(item) if self.failing[item] => {
                    details[item].see_head(line);
                    Worth::Core(rank[item])
                }
                Role::Told(item) | Role::Detail(item) if self.failing[item] => {
                    details[item].rate(line, matches!(role, Role::Told(_)))
                }
                Role::Note(item) if self.failing[item] => Worth::Context(rank[item]),
                Role::Summary => Worth::Context(0),
                _ => Worth::None,
            };
        }
        let first = order.len();
        for &line in &self.unread {
            worth[line] = worth[line].min(Worth::Core(first));
        }
        for (place, block) in self.blocks.iter().enumerate() {
            let mut details = Details::new(first + place, "", None);
            for &index in &block.lines {
                let core = Worth::Core(first + place);
                worth[index] = if index == block.head { core } else { details.rate(self.lines[index], false) };
            }
        }
        worth
    }

    /// All affected files.
    pub fn files(&self) -> Vec<String> {
        self.files.iter().cloned().collect()
    }

    /// The items, and how many there are beyond the limit.
    pub fn items(&self) -> (Vec<Item>, usize) {
        let known = (0..self.outcome.items.len()).filter(|&index| self.failing[index]);
        let known = known.map(|index| (self.outcome.items[index].span, Ok(index)));
        let generic = self.generic.iter().map(|item| (item.span, Err(item)));
        let mut all: Vec<_> = known.chain(generic).collect();
        all.sort_by_key(|(span, _)| *span);
        let cut = all.len().saturating_sub(ITEMS_MAX);
        all.truncate(ITEMS_MAX);
        let item = |(_, item): (_, Result<usize, &Item>)| item.map_or_else(Item::clone, |index| self.item(index));
        (all.into_iter().map(item).collect(), cut)
    }

    /// Diagnostics that did not make the run fail.
    pub fn others(&self) -> Vec<Item> {
        let beside = |found: &Found| !found.tentative && found.severity < Severity::Error && found.place.is_some();
        let all = self.outcome.items.iter().enumerate();
        let others = all.filter(|(index, found)| !self.failing[*index] && beside(found));
        let more = (0..self.outcome.items.len()).filter(|&index| self.failing[index]);
        let more = more.flat_map(|index| self.further(index));
        others
            .map(|(index, _)| self.item(index))
            .chain(self.beside.iter().cloned())
            .chain(more)
            .take(ITEMS_MAX)
            .collect()
    }

    /// What an item says about further places, as notes.
    fn further(&self, index: usize) -> impl Iterator<Item = Item> {
        let found = &self.outcome.items[index];
        let same = |place: &Frame| found.place.as_ref().is_some_and(|own| own.file == place.file);
        found.more.iter().map(move |(place, message)| Item {
            severity: Severity::Info,
            file: Some(
                if same(place) { self.places[index].clone() } else { None }.unwrap_or_else(|| place.file.clone()),
            ),
            line: place.line,
            col: place.col,
            message: message.clone(),
            ..self.item(index)
        })
    }

    fn item(&self, index: usize) -> Item {
        let found = &self.outcome.items[index];
        Item {
            tool: self.catalog.tools[found.tool].name.clone(),
            code: found.code.clone(),
            severity: found.severity,
            file: self.places[index].clone(),
            line: found.place.as_ref().and_then(|place| place.line),
            col: found.place.as_ref().and_then(|place| place.col),
            message: found.message.clone(),
            test: found.test.clone(),
            span: found.span,
        }
    }
}

/// Earlier failures of one test's name that a further one is compared with.
const NAMESAKES_MAX: usize = 100;
/// Lines kept before and behind a tool's count that is higher than what was read.
const UNKNOWN_LINES_MAX: usize = 100;
/// How far below the best block's score one may be that is kept.
const NEAR_BEST: f32 = 3.0;
/// Last paragraphs are taken until there are so many lines.
const TAIL_LINES_MIN: usize = 6;
/// New lines kept of an output of which nothing else is known.
const NEWS_LINES_MAX: usize = 100;

/// Warnings make a run fail only where the tool says so, or where there is nothing worse.
fn failing(catalog: &Catalog, items: &[Found]) -> Vec<bool> {
    let counts = |found: &Found| !found.tentative;
    let fails = |found: &Found| found.severity == Severity::Error || catalog.tools[found.tool].warnings_fail;
    let worst = items.iter().filter(|found| counts(found)).map(|found| found.severity).max();
    let any = items.iter().any(|found| counts(found) && fails(found));
    let verdict = |found: &Found| if any { fails(found) } else { Some(found.severity) == worst };
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
