//! What the shape of a change in a test says, whatever its words are: assertions that stand in a new condition, though no
//! deeper than before; a statement that some builds leave out; a row that is gone from a table of cases.

use std::cell::LazyCell;
use std::sync::LazyLock;

use regex::Regex;

use super::census::TestInventory;
use super::language::Language;
use super::lazy::compile_regex;
use super::lexis::without_whitespace;
use super::rule::RuleSeverity;
use super::view::{DiffLine, DiffSide, FileView, HunkSides};
use super::{WeakenedCheckCollector, gone, view};
use crate::fix::patch::PatchChange;

/// Lines of a block that are looked at.
const BLOCK_LINES_MAX: usize = 60;
/// Lines of a row of a table.
const ROW_LINES_MAX: usize = 120;
/// Opens a block that is gone through only sometimes.
static OPENS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:if|unless|when)\b.*\{\s*$|^\s*(?:if|unless)\b.*\bthen\s*$").expect("a regex")
});
/// Leaves the next statement out of some builds.
static BUILDS: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"^\s*#\[cfg\(").expect("a regex"));
/// Calls a macro that writes tests.
static WRITES_TESTS: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^\s*(?:\w+::)*tests?(?:_\w+)?!\s*[({\[]").expect("a regex"));
/// Begins a list of what may fail.
static EXCEPTIONS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)\b\w*(?:unstable|known_?fail|flaky|skip|ignored|expected_?fail|quarantine)\w*\s*(?::[^=]*)?:?=")
        .expect("a regex")
});
/// What such an attribute may as well be above of: no statement.
static ITEM: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:#|//|\}|(?:pub(?:\([^)]*\))?\s+)?(?:use|mod|fn|async|unsafe|struct|enum|trait|impl|type|const|static|extern|macro_rules)\b)").expect("a regex")
});

/// Marks what the shapes of the changes in test files say.
pub(super) fn mark_shapes(census: &TestInventory, sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    let subjects = LazyCell::new(|| gone::tested_subjects(views, census));
    for (file, hunk, name) in view::hunks_of_tests(views) {
        let (view, sides) = (&views[file], &views[file].hunks[hunk]);
        let Some(language) = view.language.filter(|_| view.file.change == PatchChange::Modified) else { continue };
        if let Some(line) = encloses(sides, language) {
            sheet.add_named("assertion-conditional", (file, DiffSide::New, line), RuleSeverity::Certain, name);
        }
        if let Some(line) = leaves_out(sides, view) {
            sheet.add_named("rust-skip-if", (file, DiffSide::New, line), RuleSeverity::Certain, "");
        }
        // Where anything is written, a row may have become another one.
        let writes = || view.changed_lines(DiffSide::New).any(DiffLine::has_code);
        let excepts = |text: &str| EXCEPTIONS.is_match(text);
        let heading = view.file.hunks[hunk].heading.as_str();
        let of_exceptions = || excepts(heading) || sides.old.iter().any(|line| excepts(&line.masked.code));
        let row = removed_row(&sides.old).filter(|_| has_tables(language) && !writes() && !of_exceptions());
        if let Some(row) = row.filter(|row| !gone::mentions_subject(&subjects, *row)) {
            sheet.add_named("test-row-removed", (file, DiffSide::Old, &row[0]), RuleSeverity::Likely, "");
        }
    }
}

/// The new condition whose block, closed by a new line, has assertions that were there before.
fn encloses<'s, 'p>(sides: &'s HunkSides<'p>, language: &Language) -> Option<&'s DiffLine<'p>> {
    let opens = |line: &DiffLine<'_>| line.changed && OPENS.is_match(&line.masked.code);
    let replaced = sides.old.iter().any(opens);
    sides.new.iter().enumerate().filter(|(_, line)| !replaced && opens(line)).find_map(|(at, line)| {
        let mut depth = 0_i32;
        let mut asserts = false;
        for inner in sides.new[at..].iter().take(BLOCK_LINES_MAX) {
            depth += depth_change(&inner.masked.code);
            if depth <= 0 {
                return (asserts && inner.changed).then_some(line);
            }
            asserts |= !inner.changed && language.asserts.is_match(&inner.masked.code);
        }
        None
    })
}

/// By how much deeper a line ends than it begins: braces, and a shell's words for them.
fn depth_change(code: &str) -> i32 {
    let count = |sign: char| i32::try_from(code.matches(sign).count()).unwrap_or(i32::MAX);
    let word = |word: &str| i32::from(code.split(|c: char| !c.is_alphanumeric()).any(|part| part == word));
    count('{') - count('}') + word("then") - word("fi")
}

/// The new attribute that leaves a statement of before out of some builds.
fn leaves_out<'s, 'p>(sides: &'s HunkSides<'p>, view: &FileView<'_>) -> Option<&'s DiffLine<'p>> {
    let is_statement = |line: &DiffLine<'_>| {
        !line.changed && (line.indent > 0 && !ITEM.is_match(line.raw) || WRITES_TESTS.is_match(&line.masked.code))
    };
    // One in another one's place is compared with it elsewhere.
    let is_new = |at: usize| !sides.removed_in_place(at).any(|line| BUILDS.is_match(line.raw));
    let pairs = sides.new.windows(2).enumerate();
    let mut pairs = pairs.filter(|(_, pair)| view.is("rust") && pair[0].changed && is_statement(&pair[1]));
    pairs.find(|(at, pair)| BUILDS.is_match(pair[0].raw) && is_new(*at)).map(|(_, pair)| &pair[0])
}

/// Whether tables of cases are written in the language with brackets.
fn has_tables(language: &Language) -> bool {
    let known = ["go", "rust", "javascript", "python", "java", "dotnet", "c", "php", "ruby", "swift", "dart", "perl"];
    known.contains(&language.name.as_str())
}

/// The first row of several lines that is gone, whole, from among others of its form.
fn removed_row<'s, 'p>(lines: &'s [DiffLine<'p>]) -> Option<&'s [DiffLine<'p>]> {
    let begins = |at: usize| lines[at].changed && at.checked_sub(1).is_some_and(|before| !lines[before].changed);
    let code = |line: &DiffLine<'_>| without_whitespace(&line.masked.code);
    let opens = |line: &DiffLine<'_>| ["{", "(", "["].contains(&code(line).as_str());
    let ends = |line: &DiffLine<'_>| ["},", "),", "],"].contains(&code(line).as_str());
    (0..lines.len()).filter(|&at| begins(at)).find_map(|at| {
        let count = lines[at..].iter().take_while(|line| line.changed).count();
        let row = &lines[at..at + count];
        let (first, last) = (row.first()?, row.last()?);
        let above = lines[..at].iter().rfind(|line| !line.is_idle())?;
        let below = lines[at + count..].iter().find(|line| !line.is_idle())?;
        // Of two rows that begin alike a comparison may name the first line of the next one.
        let plain = opens(first) && ends(last) && (ends(above) || opens(below));
        let shifted = opens(above) && opens(last) && row.iter().any(ends);
        let whole =
            count <= ROW_LINES_MAX && row.iter().map(|line| bracket_change(&line.masked.code)).sum::<i32>() == 0;
        ((plain || shifted) && whole && last.indent > 0).then_some(row)
    })
}

/// By how many brackets more a line opens than it closes.
fn bracket_change(code: &str) -> i32 {
    code.chars().map(|c| i32::from("{([".contains(c)) - i32::from("})]".contains(c))).sum()
}
