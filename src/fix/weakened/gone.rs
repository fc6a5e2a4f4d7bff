//! What a diff takes out of the program: a test of removed code is not missed.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::census::TestInventory;
use super::language::FileRole;
use super::lazy::compile_regex;
use super::lexis::identifiers_of;
use super::view::{DiffLine, DiffSide, FileView};
use crate::fix::patch::PatchChange;

/// Names as they are defined in the languages of the table: after a keyword, as a function, a field, a variant, an
/// option of a command line.
static DEFINED: LazyLock<[Regex; 4]> = LazyLock::new(|| {
    [
        r"\b(?:fn|def|defp|class|struct|enum|trait|interface|type|func|function|fun|const|let|var|val|static|mod|module|macro_rules!|sub|record|object|protocol|union|namespace|template|typedef|#define)\s+(?:mut\s+|self\.|async\s+|\([^)]*\)\s*)?(\w+)",
        r"^\s*(?:[\w<>\[\],:&*~]+\s+)+[*&]*(\w+)\s*\([^;]*\)?\s*(?:\{|throws\b.*|const|noexcept)?\s*$",
        r"^\s*(?:pub(?:\([^)]*\))?\s+)?(\w+)\s*[:=]",
        r"^\s*([A-Z]\w*)\s*(?:[,({=]|$)",
    ]
    .map(|source| compile_regex(source).expect("a regex"))
});

/// Shorter names are everywhere, bytes.
const NAME_BYTES_MIN: usize = 4;

/// A name of several words that only one thing has, bytes.
const DISTINCTIVE_BYTES_MIN: usize = 10;

/// Whether a name has several words, so that whoever says it means the same thing.
fn is_distinctive(word: &str) -> bool {
    let humps = || word.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    word.len() >= DISTINCTIVE_BYTES_MIN && (word.trim_matches('_').contains('_') || humps())
}

/// Names that the diff takes out of the program and doesn't write elsewhere: what it defined, and what it called by a
/// name of several words.
pub(super) fn tested_subjects<'v>(views: &'v [FileView<'_>], census: &TestInventory) -> HashSet<&'v str> {
    let sources = || views.iter().filter(|view| view.part == FileRole::Source);
    let mut names = HashSet::new();
    // Tests among the code that they test are no part of it, and no more are their inputs.
    let is_subject = |view: &FileView<'_>| {
        view.part == FileRole::Source && (view.language.is_some() || !is_among_tests(&view.file.old))
    };
    let lines = views.iter().enumerate().filter(|(_, view)| is_subject(view)).flat_map(|(file, view)| {
        view.hunks.iter().enumerate().flat_map(move |(hunk, sides)| {
            let lines = sides.old.iter().enumerate().filter(|(_, line)| line.changed);
            lines.filter(move |(at, _)| census.test_around(DiffSide::Old, file, hunk, *at).is_none())
        })
    });
    for (_, line) in lines {
        for regex in DEFINED.iter() {
            let found = regex.captures_iter(&line.masked.code).filter_map(|groups| groups.get(1));
            names.extend(found.map(|name| name.as_str()).filter(|name| name.len() >= NAME_BYTES_MIN));
        }
        names.extend(identifiers_of(&line.masked.code).filter(|word| is_distinctive(word)));
    }
    if !names.is_empty() {
        for line in sources().flat_map(|view| view.all_lines(DiffSide::New)) {
            for word in identifiers_of(&line.masked.code) {
                names.remove(word);
            }
        }
    }
    names
}

/// Whether a file is in a folder of tests.
fn is_among_tests(path: &str) -> bool {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(|folder| matches!(folder.to_ascii_lowercase().as_str(), "test" | "tests" | "spec" | "specs"))
}

/// A text in a line of source.
static TEXT: LazyLock<Regex> = LazyLock::new(|| compile_regex(r#""([^"\\]{8,})"|'([^'\\]{8,})'"#).expect("a regex"));

/// Texts that the program said and no longer says.
pub(super) fn lost_texts<'v>(views: &'v [FileView<'_>]) -> Vec<&'v str> {
    let sources = || views.iter().filter(|view| view.part == FileRole::Source);
    let lines = sources().flat_map(|view| view.changed_lines(DiffSide::Old)).filter(|line| line.has_code());
    let texts = lines.flat_map(|line| TEXT.captures_iter(&line.masked.text));
    let texts = texts.filter_map(|groups| groups.get(1).or_else(|| groups.get(2))).map(|text| text.as_str());
    let is_said =
        |text: &str| sources().flat_map(|view| view.all_lines(DiffSide::New)).any(|line| line.raw.contains(text));
    // A sentence, or a name in several parts.
    let tells = |text: &&str| text.contains(' ') || text.matches(['.', '-', '_', '/', ':']).count() > 1;
    texts.filter(tells).take(TEXTS_MAX).filter(|text| !is_said(text)).collect()
}

/// Texts that are looked for in tests.
const TEXTS_MAX: usize = 100;

/// Whether any of `lines` speaks of one of `subjects`.
pub(super) fn mentions_subject<'l, 'p: 'l>(
    subjects: &HashSet<&str>,
    lines: impl IntoIterator<Item = &'l DiffLine<'p>>,
) -> bool {
    !subjects.is_empty()
        && lines.into_iter().any(|line| {
            let words = identifiers_of(&line.masked.text);
            // A test's own name says what it is about in one word: `test_parse_date`.
            words.flat_map(|word| [word, word.trim_start_matches("test_")]).any(|word| subjects.contains(word))
        })
}

/// Whether the diff takes something out of the program that it calls deprecated.
pub(super) fn loses_deprecated(views: &[FileView<'_>]) -> bool {
    let sources = || views.iter().filter(|view| view.part == FileRole::Source);
    let count = |side| sources().flat_map(|view| view.changed_lines(side)).filter(|line| is_deprecated(line)).count();
    count(DiffSide::Old) > count(DiffSide::New)
}

/// Whether a line says that something is deprecated.
pub(super) fn is_deprecated(line: &DiffLine<'_>) -> bool {
    line.masked.text.to_ascii_lowercase().contains("deprecat")
}

/// Inherits from a test, or is marked as one.
static INHERITS: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"\b(?:extends|:|<)\s*\w*(?:Test|Spec)\w*|\bTests?\(|@\w*Test\b").expect("a regex"));

/// Whether a deleted file is one that tests only use: of Java's kin, where a name may say more, it asserts nothing and
/// inherits no test.
pub(super) fn is_helper(view: &FileView<'_>) -> bool {
    let Some(language) = view.language.filter(|_| view.is("java")) else { return false };
    let tells =
        |line: &DiffLine<'_>| language.asserts.is_match(&line.masked.code) || INHERITS.is_match(&line.masked.code);
    !view.all_lines(DiffSide::Old).any(tells)
}

/// Whether the file that the test file `path` is named after is deleted as well.
pub(super) fn subject_of_file(views: &[FileView<'_>], path: &str) -> bool {
    let stem = path_stem(path);
    let deleted = views.iter().filter(|view| view.file.change == PatchChange::Deleted && view.part == FileRole::Source);
    !stem.is_empty() && deleted.into_iter().any(|view| self::path_stem(&view.file.old) == stem)
}

/// The name of a file without folders, ending, and what makes it a test's.
fn path_stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.split('.').next().unwrap_or(name).to_ascii_lowercase();
    let name = name.strip_prefix("test_").unwrap_or(&name);
    let ends = ["_test", "_tests", "_spec", "tests", "test", "spec"];
    ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name).to_owned()
}
