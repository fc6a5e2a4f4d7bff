//! The tests of both sides: which are gone, which have only moved or have another name, and which no runner takes any
//! more.

use std::cell::LazyCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::added::{AddedText, MOVED_SHARE, is_telling, plain_title};
use super::language::{FileRole, Language};
use super::lazy::compile_regex;
use super::lexis::{identifiers_of, without_whitespace};
use super::rule::{RuleSeverity, WeakenedRules};
use super::view::{DiffLine, DiffSide, FileView};
use super::{WeakenedCheckCollector, gone, rule_match};
use crate::fix::patch::PatchChange;

/// Two tests whose words agree in this share are the same test under two names.
const SAME_SHARE: f64 = 0.5;
/// Words that a test got from one that is now a part of it: much may be the same in all tests of a file.
const GAINED_SHARE: f64 = 0.2;
/// Words of a test's name that its successor has.
const NAME_SHARE: f64 = 0.7;
/// Functions that hand tests to a runner.
const SUITES: [&str; 3] = ["test_suite", "test_all", "testsuite"];
/// Tests looked at on one side; a larger diff is not a manual edit.
const TESTS_MAX: usize = 5_000;

/// A test, as far as the hunk shows it.
#[derive(Debug, Clone)]
pub(super) struct Test {
    /// Index of its file.
    pub(super) file: usize,
    /// Index of the hunk.
    pub(super) hunk: usize,
    /// The line of its definition, an index into the hunk's side.
    pub(super) at: usize,
    /// The first of the marker lines right above, or `at`.
    pub(super) start: usize,
    /// Behind its last line.
    pub(super) end: usize,
    /// Whether that last line is in the hunk.
    pub(super) complete: bool,
    pub(super) name: String,
    /// The test on the other side, an index into its list.
    pub(super) twin: Option<usize>,
}

impl Test {
    /// The lines between the definition and the end.
    pub(super) fn body_lines<'s, 'p>(&self, lines: &'s [DiffLine<'p>]) -> &'s [DiffLine<'p>] {
        lines.get(self.at + 1..self.end).unwrap_or_default()
    }
}

/// The tests of both sides.
pub(super) struct TestInventory {
    pub(super) old: Vec<Test>,
    pub(super) new: Vec<Test>,
}

/// Finds the tests of a diff and which are the same on both sides.
pub(super) fn take_inventory(views: &[FileView<'_>]) -> TestInventory {
    let mut census = TestInventory { old: list_tests(views, DiffSide::Old), new: list_tests(views, DiffSide::New) };
    census.pair_by_name(views);
    census.pair_by_words(views);
    census.pair_by_place(views);
    census
}

fn list_tests(views: &[FileView<'_>], side: DiffSide) -> Vec<Test> {
    let mut found = Vec::new();
    for (file, view) in views.iter().enumerate() {
        let Some(language) = view.language.filter(|language| !language.cases.is_empty()) else { continue };
        if matches!(view.part, FileRole::Foreign | FileRole::Document | FileRole::Snapshot) {
            continue;
        }
        for (hunk, sides) in view.hunks.iter().enumerate() {
            in_hunk(sides.side_lines(side), language, |test| found.push(Test { file, hunk, ..test }));
        }
    }
    found.truncate(TESTS_MAX);
    found
}

fn in_hunk(lines: &[DiffLine<'_>], language: &Language, mut found: impl FnMut(Test)) {
    // The lines right above that can only be attributes, annotations and comments.
    let mut above: Option<usize> = None;
    for (at, line) in lines.iter().enumerate() {
        let marked = |case: &super::language::TestSyntax| match &case.marker {
            None => true,
            Some(marker) => lines[above.unwrap_or(at)..=at].iter().any(|line| {
                marker.is_match(&line.masked.text) || is_documented(line) && marker.is_match(&line.masked.comment)
            }),
        };
        let name = language.cases.iter().filter(|case| marked(case)).find_map(|case| {
            let groups = case.regex.get()?.captures(&line.masked.text)?;
            // What a test writes to a file of its own is text.
            let all = groups.get(0)?;
            let first = all.start() + all.as_str().find(|c: char| !c.is_whitespace())?;
            if line.masked.code.as_bytes().get(first).is_none_or(u8::is_ascii_whitespace) {
                return None;
            }
            let name = ["name", "name2", "name3"].iter().find_map(|group| groups.name(group))?;
            Some(name.as_str().trim().to_owned())
        });
        if let Some(name) = name.filter(|name| !SUITES.contains(&name.as_str())) {
            let (end, complete) = end_of_block(lines, at);
            found(Test { file: 0, hunk: 0, at, start: above.unwrap_or(at), end, complete, name, twin: None });
            above = None;
        } else if is_attribute(line) || above.is_some() && (line.raw.trim().is_empty() || is_continued(lines, at)) {
            above = above.or(Some(at));
        } else {
            above = None;
        }
    }
}

/// Whether a line is of a comment that documents something, not of code that was made one.
fn is_documented(line: &DiffLine<'_>) -> bool {
    line.raw.trim_start().starts_with(['*', '/']) && !line.raw.trim_start().starts_with("//")
}

/// Whether a line is in front of a definition: an attribute, an annotation, a comment.
pub(super) fn is_attribute(line: &DiffLine<'_>) -> bool {
    let code = line.masked.code.trim_start();
    code.starts_with(['#', '@', '[']) || code.is_empty() && !line.masked.comment.trim().is_empty()
}

/// Whether a line goes on with what was opened above: the arguments of an attribute on lines of their own.
pub(super) fn is_continued(lines: &[DiffLine<'_>], at: usize) -> bool {
    let line = &lines[at];
    let before = lines[..at].iter().rev().find(|line| !line.raw.trim().is_empty());
    let closes = line.masked.code.trim_start().starts_with([')', ']']);
    let opener = lines[..at].iter().rev().find(|other| !other.raw.trim().is_empty() && other.indent < line.indent);
    let is_argument = opener
        .is_some_and(|opener| is_attribute(opener) && opener.masked.code.trim_end().ends_with(['(', '[', '{', ',']));
    closes
        || is_argument
        || before.is_some_and(|before| {
            let preprocessed = before.masked.code.starts_with('#') && !before.masked.code.starts_with("#[");
            !preprocessed && line.indent > before.indent && !before.masked.code.trim_end().ends_with(['{', ';', ':'])
        })
}

/// Where the block that begins at `at` ends, by indentation: behind the first line that is not deeper. Its closing
/// bracket or `end` belongs to it.
pub(super) fn end_of_block(lines: &[DiffLine<'_>], at: usize) -> (usize, bool) {
    let indent = lines[at].indent;
    let mut opened = false;
    for (index, line) in lines.iter().enumerate().skip(at + 1) {
        let code = line.masked.code.trim();
        if line.raw.trim().is_empty() || line.indent > indent {
            opened = true;
            continue;
        }
        // Text and comments as far left as they like, and a preprocessor's lines.
        if code.is_empty() || code.starts_with('#') && !code.starts_with("#[") {
            continue;
        }
        // The rest of a definition that goes over lines, and a bracket on a line of its own.
        let goes_on = code.starts_with([')', ']']) && code.ends_with([':', '{', '>']) || !opened && code == "{";
        if goes_on {
            continue;
        }
        let closes = code.starts_with(['}', ')', ']']) || code == "end" || code.starts_with("end)");
        return (if closes { index + 1 } else { index }, true);
    }
    (lines.len(), false)
}

impl TestInventory {
    /// The tests of a side.
    pub(super) fn tests_of_side(&self, side: DiffSide) -> &[Test] {
        match side {
            DiffSide::Old => &self.old,
            DiffSide::New => &self.new,
        }
    }

    /// The test that line `at` of a hunk belongs to or is right above.
    pub(super) fn test_around(&self, side: DiffSide, file: usize, hunk: usize, at: usize) -> Option<&Test> {
        let mut here = self.tests_of_side(side).iter().filter(|test| test.file == file && test.hunk == hunk);
        here.rfind(|test| test.start <= at && at < test.end)
    }

    fn join_tests(&mut self, old: usize, new: usize) {
        self.old[old].twin = Some(new);
        self.new[new].twin = Some(old);
    }

    /// Tests of the same name, in the same file first.
    fn pair_by_name(&mut self, views: &[FileView<'_>]) {
        for same_file in [true, false] {
            let mut free: HashMap<(&str, String), Vec<usize>> = HashMap::new();
            for (index, test) in self.new.iter().enumerate().rev().filter(|(_, test)| test.twin.is_none()) {
                free.entry((test_language(views, test), test.name.clone())).or_default().push(index);
            }
            for index in 0..self.old.len() {
                let test = &self.old[index];
                let Some(places) = free.get_mut(&(test_language(views, test), test.name.clone())) else { continue };
                let fits = |&new: &usize| {
                    let other = &self.new[new];
                    if same_file { other.file == test.file } else { stays_collected(views, test.file, other.file) }
                };
                if test.twin.is_none()
                    && let Some(place) = places.iter().rposition(fits)
                {
                    let new = places.remove(place);
                    self.join_tests(index, new);
                }
            }
        }
    }

    /// Tests in the place of one that is gone, under a name with most of its words.
    fn pair_by_place(&mut self, views: &[FileView<'_>]) {
        let place = |test: &Test, side: DiffSide| {
            let lines = views[test.file].hunks[test.hunk].side_lines(side);
            let unchanged = lines[..test.at].iter().filter(|line| !line.changed).count();
            lines[test.at].changed.then_some((test.file, test.hunk, unchanged))
        };
        let words = |name: &str| -> HashSet<String> {
            let parts = name.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1);
            parts.map(str::to_ascii_lowercase).collect()
        };
        for old in 0..self.old.len() {
            let test = &self.old[old];
            let Some(own_place) = place(test, DiffSide::Old).filter(|_| test.twin.is_none()) else { continue };
            let own = words(&test.name);
            let fits = |new: &&Test| {
                let shared = words(&new.name).intersection(&own).count();
                new.twin.is_none()
                    && place(new, DiffSide::New) == Some(own_place)
                    && shared as f64 >= NAME_SHARE * own.len().max(words(&new.name).len()) as f64
            };
            let found = self.new.iter().position(|new| own.len() > 2 && fits(&new));
            if let Some(new) = found {
                self.join_tests(old, new);
            }
        }
    }

    /// Tests that say the same under other names.
    fn pair_by_words(&mut self, views: &[FileView<'_>]) {
        let fresh: Vec<usize> = (0..self.new.len()).filter(|&index| self.new[index].twin.is_none()).collect();
        let words: HashMap<usize, BTreeMap<&str, usize>> =
            fresh.iter().map(|&index| (index, word_counts(&self.new[index], views, DiffSide::New))).collect();
        for index in 0..self.old.len() {
            if self.old[index].twin.is_some() {
                continue;
            }
            let test = &self.old[index];
            let own = self::word_counts(test, views, DiffSide::Old);
            let free = fresh.iter().filter(|&&new| {
                let other = &self.new[new];
                other.twin.is_none()
                    && test_language(views, other) == test_language(views, test)
                    && stays_collected(views, test.file, other.file)
            });
            let scored = free.map(|&new| (shared_share(&own, &words[&new]), new));
            let best = scored.filter(|(share, _)| *share >= SAME_SHARE).max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((_, new)) = best {
                self.join_tests(index, new);
            }
        }
    }

    /// Marks the tests that are gone.
    pub(super) fn mark_tests(&self, sheet: &mut WeakenedCheckCollector<'_, '_>) {
        let views = sheet.views;
        let added = AddedText::from_views(views);
        let subjects = LazyCell::new(|| gone::tested_subjects(views, self));
        let texts = LazyCell::new(|| gone::lost_texts(views));
        let loses_deprecated = LazyCell::new(|| gone::loses_deprecated(views));
        let mut lost: BTreeMap<usize, Vec<&Test>> = BTreeMap::new();
        for test in self.old.iter().filter(|test| test.twin.is_none()) {
            let lines = &views[test.file].hunks[test.hunk].old;
            // It didn't run before either.
            if lines[test.start..=test.at].iter().any(|line| rule_match::is_skip(sheet.rules, &views[test.file], line))
            {
                continue;
            }
            match self.find_fate(test, views, &added) {
                TestFate::Moved => {}
                TestFate::Uncollected => sheet.add_named(
                    "test-uncollected",
                    (test.file, DiffSide::Old, &lines[test.at]),
                    RuleSeverity::Certain,
                    &test.name,
                ),
                TestFate::Commented => sheet.add_named(
                    "test-commented-out",
                    (test.file, DiffSide::Old, &lines[test.at]),
                    RuleSeverity::Certain,
                    &test.name,
                ),
                TestFate::Gone if gone::mentions_subject(&subjects, &lines[with_group(test, lines)..test.end]) => {}
                TestFate::Gone
                    if lines[test.at..test.end].iter().any(|line| texts.iter().any(|text| line.raw.contains(text))) => {
                }
                TestFate::Gone if *loses_deprecated && lines[test.at..test.end].iter().any(gone::is_deprecated) => {}
                TestFate::Gone => lost.entry(test.file).or_default().push(test),
            }
        }
        let fresh = |file| self.new.iter().filter(|test| test.twin.is_none() && test.file == file).count();
        let fresh_anywhere = self.new.iter().filter(|test| test.twin.is_none()).count();
        for (file, tests) in lost {
            let view = &views[file];
            let deleted = view.file.change == PatchChange::Deleted;
            // As many new ones as were lost: rewritten, by the look of it.
            let rewritten = if deleted { fresh_anywhere } else { fresh(file) } >= tests.len();
            let severity = if rewritten { RuleSeverity::Likely } else { RuleSeverity::Certain };
            if deleted && gone::subject_of_file(views, &view.file.old) {
                continue;
            }
            if let (true, Some(first)) = (deleted && tests.len() > 1, tests.first()) {
                let count = crate::base::text::count(tests.len(), "test");
                let line = &view.hunks[first.hunk].old[first.at];
                sheet.add_named("test-file-deleted", (file, DiffSide::Old, line), severity, &count);
                continue;
            }
            for test in tests {
                let line = &view.hunks[test.hunk].old[test.at];
                sheet.add_named("test-deleted", (file, DiffSide::Old, line), severity, &test.name);
            }
        }
        self.mark_files(sheet, &added);
    }

    /// The outcome of a test that no test on the new side is.
    fn find_fate(&self, test: &Test, views: &[FileView<'_>], added: &AddedText<'_>) -> TestFate {
        let view = &views[test.file];
        let (old, new) = (&view.hunks[test.hunk].old, &view.hunks[test.hunk].new);
        let body = test.body_lines(old);
        let telling: Vec<&DiffLine<'_>> = body.iter().filter(|line| is_telling(line)).collect();
        let kept = telling.iter().filter(|line| !line.changed).count();
        if !old[test.at].changed {
            // The definition is still there: what made it a test is not.
            return TestFate::Uncollected;
        }
        let definition = without_whitespace(&old[test.at].masked.text);
        if !definition.is_empty() && added.comments.iter().any(|comment| comment.contains(&definition)) {
            return TestFate::Commented;
        }
        if added.titles.contains(&plain_title(&test.name)) || added.macros.contains(&test.name) {
            return TestFate::Moved;
        }
        let Some(language) = view.language else { return TestFate::Gone };
        let renamed = new.iter().enumerate().filter(|(_, line)| line.changed).find_map(|(at, line)| {
            let functions = language.functions.iter();
            let name =
                functions.filter_map(|regex| regex.get()?.captures(&line.masked.text)?.name("name")).next()?.as_str();
            let (end, _) = end_of_block(new, at);
            let same = new[at + 1..end.max(at + 1)].iter().filter(|line| is_telling(line)).filter(|line| {
                telling.iter().any(|old| without_whitespace(&old.masked.text) == without_whitespace(&line.masked.text))
            });
            let is_test = self.test_around(DiffSide::New, test.file, test.hunk, at).is_some_and(|test| test.at == at);
            (!telling.is_empty() && same.count() as f64 >= MOVED_SHARE * telling.len() as f64)
                .then_some((name, is_test))
        });
        if let Some((name, is_test)) = renamed {
            return if is_test || added.has_call(name) { TestFate::Moved } else { TestFate::Uncollected };
        }
        // Without its first line the rest runs on as part of the test above.
        if !telling.is_empty() && kept as f64 >= MOVED_SHARE * telling.len() as f64 {
            return TestFate::Moved;
        }
        if self.is_merged(test, views) || is_row(test, view) {
            return TestFate::Moved;
        }
        let moved = telling.iter().filter(|line| added.code.contains(&without_whitespace(&line.masked.text))).count();
        if moved > 0 && moved as f64 >= MOVED_SHARE * telling.len() as f64 { TestFate::Moved } else { TestFate::Gone }
    }

    /// Whether a test on the new side that has another name says what this one said: several became one.
    fn is_merged(&self, test: &Test, views: &[FileView<'_>]) -> bool {
        let own = word_counts(test, views, DiffSide::Old);
        let all: usize = own.values().sum();
        // Words that only this test had, of those that the diff shows.
        let rare = LazyCell::new(|| -> Vec<&str> {
            let beside = self.old.iter().filter(|other| other.file == test.file && !std::ptr::eq(*other, test));
            let common: HashSet<&str> =
                beside.flat_map(|other| word_counts(other, views, DiffSide::Old).into_keys()).collect();
            own.keys().copied().filter(|word| !common.contains(word)).collect()
        });
        let others = self.new.iter().filter(|other| other.twin.is_none_or(|twin| self.old[twin].name != other.name));
        others.filter(|other| test_language(views, other) == test_language(views, test)).any(|other| {
            let theirs = word_counts(other, views, DiffSide::New);
            let before = other.twin.map(|twin| word_counts(&self.old[twin], views, DiffSide::Old)).unwrap_or_default();
            let shared = |said: &dyn Fn(&str) -> usize| -> usize {
                own.iter().map(|(word, count)| said(word).min(*count)).sum()
            };
            let says = |word: &str| theirs.get(word).copied().unwrap_or_default();
            let gains = |word: &str| says(word).saturating_sub(before.get(word).copied().unwrap_or_default());
            all > 0
                && shared(&says) as f64 >= MOVED_SHARE * all as f64
                && shared(&gains) as f64 >= GAINED_SHARE * all as f64
                && 2 * rare.iter().filter(|word| says(word) > 0).count() >= rare.len()
        })
    }

    /// Marks test files that have another name, or none any more.
    fn mark_files(&self, sheet: &mut WeakenedCheckCollector<'_, '_>, added: &AddedText<'_>) {
        let views = sheet.views;
        let collected = |path: &str| Language::of_path(path).is_some_and(|language| language.is_collected(path));
        for (index, view) in views.iter().enumerate().filter(|(_, view)| view.part != FileRole::Foreign) {
            let (old, new) = (&view.file.old, &view.file.new);
            let (rule, side, path) = match view.file.change {
                PatchChange::Renamed if collected(old) && !collected(new) => {
                    ("test-file-uncollected", DiffSide::New, new)
                }
                // With tests that can be distinguished it has been judged by them.
                PatchChange::Deleted
                    if collected(old)
                        && !self.old.iter().any(|test| test.file == index)
                        && !gone::is_helper(view)
                        && !never_ran(sheet.rules, view)
                        && !gone::subject_of_file(views, old)
                        && !added.has_most_of(view.all_lines(DiffSide::Old)) =>
                {
                    ("test-file-deleted", DiffSide::Old, old)
                }
                _ => continue,
            };
            if let Some(rule) = sheet.rules.find_rule(rule) {
                sheet.push(rule, index, side, 1, path, RuleSeverity::Certain, "tests");
            }
        }
    }
}

/// Gives a test its values from a table.
static TABLE: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"\bparametrize\(|\.each\b|@ParameterizedTest|@Test\(.*\barguments:|\[Theory|\bInlineData\(|\bTestCase\(|#\[(?:case|rstest|test_case)\b|\[\](?:struct\b|\w+\{)|(?i)data_?provider|\bsubTest\(|\bwhere:|\bwithData\(|\bTEST_P\(|\bfor\b.+\bin\s*[\[(]")
        .expect("a regex")
});
/// A value that a test is about.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r#""(?P<a>[^"]+)"|'(?P<b>[^']+)'|`(?P<c>[^`]+)`|\b(?P<d>[0-9][0-9_.]*[0-9]|[0-9])\b"#)
        .expect("a regex")
});

/// Whether all the values of a test are in a table that came in its place: several tests became one with rows.
fn is_row(test: &Test, view: &FileView<'_>) -> bool {
    let sides = &view.hunks[test.hunk];
    let added: Vec<&DiffLine<'_>> = sides.new.iter().filter(|line| line.changed).collect();
    if !added.iter().any(|line| TABLE.is_match(&line.masked.text)) {
        return false;
    }
    let body = test.body_lines(&sides.old);
    let lines = if body.iter().any(|line| line.has_code()) { body } else { &sides.old[test.at..=test.at] };
    let values = |line: &DiffLine<'_>| -> Vec<String> {
        let found = VALUE.captures_iter(&line.masked.text);
        let found = found.filter_map(|groups| ["a", "b", "c", "d"].iter().find_map(|name| groups.name(name)));
        found.map(|value| value.as_str().to_owned()).collect()
    };
    // A row may have several in one text.
    let rows: HashSet<String> = added
        .iter()
        .flat_map(|line| values(line))
        .flat_map(|value| {
            value.split(',').map(|part| part.trim().to_owned()).chain([value.clone()]).collect::<Vec<_>>()
        })
        .collect();
    let own: Vec<String> = lines.iter().flat_map(values).collect();
    if !own.is_empty() {
        return own.iter().all(|value| rows.contains(value));
    }
    // What is called without values is called there.
    let words: HashSet<&str> = added.iter().flat_map(|line| identifiers_of(&line.masked.code)).collect();
    let called: Vec<&str> = lines.iter().flat_map(|line| identifiers_of(&line.masked.code)).collect();
    let there = called.iter().filter(|word| words.contains(*word)).count();
    !called.is_empty() && 3 * there >= 2 * called.len()
}

/// Whether all that a file of tests said is that it is to be written.
fn never_ran(rules: &WeakenedRules, view: &FileView<'_>) -> bool {
    let asserts =
        |line: &DiffLine<'_>| view.language.is_some_and(|language| language.asserts.is_match(&line.masked.code));
    view.all_lines(DiffSide::Old).any(|line| rule_match::is_skip(rules, view, line))
        && !view.all_lines(DiffSide::Old).any(asserts)
}

/// Where a test begins, or the group that is gone with it.
fn with_group(test: &Test, lines: &[DiffLine<'_>]) -> usize {
    let outer = lines[..test.at].iter().rposition(|line| line.has_code() && line.indent < lines[test.at].indent);
    outer.filter(|&at| lines[at..test.at].iter().all(|line| line.changed)).unwrap_or(test.at)
}

/// The outcome of a test.
enum TestFate {
    /// Its lines are elsewhere.
    Moved,
    /// It is there, but no runner takes it.
    Uncollected,
    /// It is a comment now.
    Commented,
    Gone,
}

fn test_language(views: &[FileView<'_>], test: &Test) -> &'static str {
    views[test.file].language.map_or("", |language| language.name.as_str())
}

/// Whether a test that goes from one file to another is still run, as far as names decide that.
fn stays_collected(views: &[FileView<'_>], from: usize, to: usize) -> bool {
    let Some(language) = views[from].language else { return true };
    !language.is_collected(views[from].path_of_side(DiffSide::Old))
        || language.is_collected(views[to].path_of_side(DiffSide::New))
}

fn word_counts<'v>(test: &Test, views: &'v [FileView<'_>], side: DiffSide) -> BTreeMap<&'v str, usize> {
    let lines = views[test.file].hunks[test.hunk].side_lines(side);
    let mut words = BTreeMap::new();
    for line in &lines[test.at..test.end] {
        for word in identifiers_of(&line.masked.text) {
            *words.entry(word).or_default() += 1;
        }
    }
    words
}

/// The share of words in common: twice those in both to all in either (Sørensen and Dice).
fn shared_share(a: &BTreeMap<&str, usize>, b: &BTreeMap<&str, usize>) -> f64 {
    let both: usize = a.iter().map(|(word, count)| count.min(b.get(word).unwrap_or(&0))).sum();
    let all: usize = a.values().chain(b.values()).sum();
    if all == 0 { 0.0 } else { 2.0 * both as f64 / all as f64 }
}
