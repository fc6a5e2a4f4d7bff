//! Lists of tests that are skipped, or that may fail, and got longer.
//!
//! Every project calls its list something else: `SKIP`, `knownFailures`, `tests_to_skip`, `qtests_disabled`,
//! `CART_EXCLUDED_SUITES`. So the words of a name decide, however it is written. What counts is how many more values
//! are under a name than before; a value in the place of another is the same test under its new name.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::WeakenedCheckCollector;
use super::census::TestInventory;
use super::language::{FileRole, LanguageKeys};
use super::lazy::compile_regex;
use super::rule::RuleSeverity;
use super::view::{DiffLine, DiffSide, FileView};
use crate::fix::patch::PatchChange;

/// A part of a name that may say so: few lines have one.
static SAYS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex("(?i)skip|fail|quarantin|flak|deselect|disable|broken|unsupported|ignore|exclude|blacklist|bug|issue")
        .expect("a regex")
});
/// Gives a name its values: `NAME = [`, `"name": {`, `name.update(`, `set(NAME a b)`, `list(APPEND NAME a`.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(concat!(
        r#"^\s*(?:(?:export|local|readonly|declare|const|let|var|val|static|pub|public|private|protected|internal|final|my|our|type)\s+(?:-\w+\s+)?)*"#,
        r#"(?:&?'?\w[\w<>\[\],?]*\s+)?(?:[\w$]+(?:\.|->|::))*["':@$%]*(?P<name>[A-Za-z_][\w-]*)["']?\]?\s*"#,
        r#"(?::\s*[\w<&'\[\]][^=(]*)?(?:(?:[+:?|.]|::)?=(?:[^=~>]|$)|=>|:(?:\s|$)|\.(?:update|extend|append|add|push|union)\()(?P<values>.*)$"#,
        r#"|^\s*(?i:set|list)\(\s*(?:APPEND\s+)?(?P<name2>\w+)(?P<values2>.*)$"#
    ))
    .expect("a regex")
});
/// Defines a function whose answer says whether a test is skipped.
static DECIDES: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:(?:pub|async|static|export|private|public|bool|boolean|override)\s+)*(?:(?:fn|def|function|func|fun|sub|bool|boolean|const|let)\s+)(?P<name>\w+)\s*(?:=\s*)?\(")
        .expect("a regex")
});
/// A value between quotes.
static QUOTED: LazyLock<Regex> = LazyLock::new(|| compile_regex(r#""([^"]+)"|'([^']+)'|`([^`]+)`"#).expect("a regex"));
/// A member of a table that is used as a set.
static KEYED: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^\s*(?P<name>[A-Za-z_][\w-]*)\s*[:=]\s*true\s*,?\s*$").expect("a regex"));
/// What is no test's name, but says whether or how.
static SETTING: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)^(?:true|false|yes|no|on|off|[0-9]+|null|none|nil|undefined|[|>~&-]+|\W*|\$.*)$")
        .expect("a regex")
});

/// Words of a name that says what it is of.
const WORDS_MAX: usize = 6;
/// Words that leave a test out, whatever is called so.
const SKIPS: [&str; 9] =
    ["skip", "skips", "skipped", "skiplist", "xfail", "xfails", "xfailed", "quarantine", "quarantined"];
/// Words that leave out what they are said of.
const LEFT_OUT: [&str; 15] = [
    "flaky",
    "flakes",
    "deselect",
    "deselected",
    "disabled",
    "disable",
    "broken",
    "failing",
    "unsupported",
    "ignore",
    "ignored",
    "exclude",
    "excluded",
    "excludes",
    "blacklist",
];
/// Words of what they leave out.
const TESTS: [&str; 17] = [
    "test",
    "tests",
    "testcase",
    "testcases",
    "suite",
    "suites",
    "case",
    "cases",
    "spec",
    "specs",
    "reftests",
    "examples",
    "qtests",
    "list",
    "files",
    "scripts",
    "benchmarks",
];
/// Words in front of `failures` and `bugs` that expect them.
const KNOWN: [&str; 6] = ["known", "expected", "allowed", "expect", "may", "can"];

/// A value of a list.
struct Entry<'v, 'p> {
    list: String,
    value: String,
    line: &'v DiffLine<'p>,
}

/// Marks lists of skipped tests that got longer.
pub(super) fn mark_skip_lists(census: &TestInventory, sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    let judged = |view: &FileView<'_>| {
        view.file.change == PatchChange::Modified
            && matches!(view.part, FileRole::Test | FileRole::Source)
            && view.language.is_some()
    };
    for (file, view) in views.iter().enumerate().filter(|(_, view)| judged(view)) {
        let entries = |side| list_entries(census, view, file, side);
        let (old, new) = (entries(DiffSide::Old), entries(DiffSide::New));
        let values =
            |entries: &[Entry<'_, '_>]| entries.iter().map(|entry| entry.value.clone()).collect::<HashSet<_>>();
        let (was, is) = (values(&old), values(&new));
        let count = |entries: &[Entry<'_, '_>], known: &HashSet<String>| {
            let mut counts: HashMap<String, usize> = HashMap::new();
            for entry in entries.iter().filter(|entry| !known.contains(&entry.value)) {
                *counts.entry(entry.list.clone()).or_default() += 1;
            }
            counts
        };
        let (gone, come) = (count(&old, &is), count(&new, &was));
        let mut told = HashSet::new();
        // What comes with the change never ran.
        let comes = |value: &str| {
            let name = value.rsplit('/').next().unwrap_or(value);
            views
                .iter()
                .any(|view| view.file.change == PatchChange::Added && view.file.new.rsplit('/').next() == Some(name))
        };
        for entry in new.iter().filter(|entry| !was.contains(&entry.value) && !comes(&entry.value)) {
            let longer = come.get(&entry.list) > gone.get(&entry.list);
            if longer && told.insert(entry.list.as_str()) {
                let place = (file, DiffSide::New, entry.line);
                sheet.add_named("skip-list", place, RuleSeverity::Certain, &entry.value);
            }
        }
    }
}

/// The values on the changed lines of a side that are in a list of skipped tests.
fn list_entries<'v, 'p>(
    census: &TestInventory,
    view: &'v FileView<'p>,
    file: usize,
    side: DiffSide,
) -> Vec<Entry<'v, 'p>> {
    let mut found = Vec::new();
    for (hunk, sides) in view.hunks.iter().enumerate() {
        let heading = view.file.hunks[hunk].heading.as_str();
        let mut heading = opened_by(view, heading, list_on(view, heading));
        // What the lines above begin, each deeper than those before it.
        let mut open: Vec<(usize, Option<&str>)> = Vec::new();
        for (at, line) in sides.side_lines(side).iter().enumerate().filter(|(_, line)| !line.is_idle()) {
            let text = line.masked.text.as_str();
            // A preprocessor's lines are at the edge wherever they are.
            if view.is("c") && text.starts_with('#') {
                continue;
            }
            if line.has_code() {
                // What began above the hunk ends before the next that begins at the edge.
                heading = heading.filter(|_| line.indent > 0 || text.starts_with('-'));
                while open.last().is_some_and(|(indent, _)| *indent >= line.indent) {
                    open.pop();
                }
            }
            let around = open.iter().rev().find_map(|(_, list)| *list).or(heading);
            let own = list_on(view, text);
            if line.has_code() {
                open.push((line.indent, opened_by(view, text, own)));
            }
            let own = own.filter(|(name, values)| !is_one_text(view, name, values));
            let Some((list, values)) = own.or(around.map(|list| (list, text))).filter(|_| line.changed) else {
                continue;
            };
            // What a test does with a list of this name is its own affair.
            if census.test_around(side, file, hunk, at).is_none() {
                let values = values_in(view, values).into_iter();
                found.extend(values.map(|value| Entry { list: list.to_owned(), value, line }));
            }
        }
    }
    found
}

/// The list of skipped tests that a line names, and what it says behind the name.
fn list_on<'t>(view: &FileView<'_>, text: &'t str) -> Option<(&'t str, &'t str)> {
    let groups = Some(text).filter(|text| SAYS.is_match(text)).and_then(|text| NAMED.captures(text))?;
    let name = groups.name("name").or_else(|| groups.name("name2"))?.as_str();
    let values = groups.name("values").or_else(|| groups.name("values2"))?.as_str();
    // Perl has labels of this name.
    (is_skip_list(view, name) && !(view.is("perl") && text.trim_start().starts_with("SKIP:"))).then_some((name, values))
}

/// Whether a name is given one text, as a reason is, and not the names of tests.
fn is_one_text(view: &FileView<'_>, name: &str, values: &str) -> bool {
    let names_tests = words_of(name).iter().any(|word| TESTS.contains(&word.as_str()));
    let lists = ["make", "shell", "cmake", "m4", "ini", "build"].iter().any(|language| view.is(language));
    !names_tests
        && !lists
        && !values.trim_start().starts_with(['[', '(', '{', '&'])
        && !values.trim_end().ends_with(')')
}

/// The list, or the function that decides, that a line begins and leaves open. `own` is the list that it names.
fn opened_by<'t>(view: &FileView<'_>, text: &'t str, own: Option<(&'t str, &'t str)>) -> Option<&'t str> {
    if let Some((name, values)) = own {
        let rest = values.trim_end();
        let nests = view.language.is_some_and(|language| language.keys == Some(LanguageKeys::Indent));
        let open = rest.ends_with(['[', '{', '(', '\\', ',']) || rest.is_empty() && (nests || text.contains('('));
        return open.then_some(name);
    }
    let name =
        Some(text).filter(|text| SAYS.is_match(text)).and_then(|text| DECIDES.captures(text))?.name("name")?.as_str();
    let words = words_of(name);
    // A sentence is a test's name; `ignore_case` is about letters.
    if words.len() > WORDS_MAX || words.last().is_some_and(|last| last == "case") {
        return None;
    }
    let decides = view.part == FileRole::Test || view.path_of_side(DiffSide::New).ends_with("build.rs");
    let leaves_out =
        words.iter().any(|word| ["skip", "ignore", "ignored", "skipped", "exclude", "xfail"].contains(&word.as_str()));
    (decides && leaves_out && words.first().is_some_and(|first| first != "test")).then_some(name)
}

/// Whether a list of this name holds tests that are skipped or may fail.
fn is_skip_list(view: &FileView<'_>, name: &str) -> bool {
    let words = words_of(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    if name.starts_with("collect_ignore") {
        return true;
    }
    // How letters are written.
    if words.windows(2).any(|pair| pair[0].starts_with("ignor") && pair[1] == "case") {
        return false;
    }
    // A pattern of paths is a setting of a runner's.
    if has(&[
        "path",
        "paths",
        "pattern",
        "patterns",
        "reason",
        "message",
        "messages",
        "warnings",
        "errors",
        "deprecations",
        "if",
        "dirs",
    ]) {
        return false;
    }
    let loud = name.bytes().all(|b| !b.is_ascii_lowercase()) && name.len() > 2;
    let expects = words.windows(2).any(|pair| {
        let fails = ["fail", "bug", "issue", "broken", "flak"].iter().any(|stem| pair[1].starts_with(stem));
        KNOWN.contains(&pair[0].as_str()) && fails
    });
    let in_tests = view.part == FileRole::Test;
    let excepts = in_tests && has(&["exception", "exceptions"]) && has(&["list"]);
    expects
        || excepts
        || has(&SKIPS) && (in_tests || loud || has(&TESTS))
        || has(&LEFT_OUT) && (in_tests && loud || has(&TESTS))
}

/// The words of a name in lower case: `knownFailures`, `KNOWN_FAILURES`, `known-failures`.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("one word at least").extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The values of a part of a list: what is between quotes, or the words of a format that needs none.
fn values_in(view: &FileView<'_>, text: &str) -> Vec<String> {
    let quoted: Vec<String> = QUOTED
        .captures_iter(text)
        .filter_map(|groups| groups.iter().skip(1).flatten().next().map(|value| value.as_str().to_owned()))
        .collect();
    let bare = ["make", "shell", "cmake", "m4", "yaml", "ini", "toml", "build"].iter().any(|name| view.is(name));
    let keyed = || KEYED.captures(text).map(|groups| groups["name"].to_owned());
    let values = match (quoted.is_empty(), bare) {
        (true, true) => vec![text.to_owned()],
        (true, false) => keyed().into_iter().collect(),
        _ => quoted,
    };
    let words = values.iter().flat_map(|value| value.split([' ', '\t', ',', '|', '\\', '(', ')', '[', ']']));
    words.map(|word| word.trim_start_matches("- ").to_owned()).filter(|word| !SETTING.is_match(word)).collect()
}
