//! What a path says about a file: its language, and whether it is a test, a snapshot, a document or something that
//! was never meant to be right. The table is `languages.toml`.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::lazy::{LazyRegex, LazySet};
use super::lexis::Lexis;
use crate::base::glob;

/// How the key that a line belongs to is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LanguageKeys {
    /// Nested by indentation: YAML, formatted JSON and JavaScript.
    Indent,
    /// `[section]`, `key = value`.
    Toml,
    /// `[section]`, `key = value` with further values indented.
    Ini,
}

/// A language or format.
#[derive(Debug)]
pub(super) struct Language {
    pub(super) name: String,
    pub(super) lexis: Lexis,
    pub(super) keys: Option<LanguageKeys>,
    pub(super) cases: Vec<TestSyntax>,
    pub(super) functions: Vec<LazyRegex>,
    pub(super) asserts: LazySet,
    pub(super) guards: LazySet,
    tests: LazySet,
    collected: LazySet,
}

/// The syntax that defines a test.
#[derive(Debug)]
pub(super) struct TestSyntax {
    /// On one of the lines right above.
    pub(super) marker: Option<LazyRegex>,
    /// The definition, with the groups `name`, `name2`, `name3`.
    pub(super) regex: LazyRegex,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LanguageText {
    name: String,
    #[serde(default)]
    extensions: Vec<String>,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    folders: Vec<String>,
    #[serde(default)]
    comments: Vec<String>,
    #[serde(default)]
    spaced: bool,
    #[serde(default)]
    blocks: Vec<(String, String)>,
    #[serde(default)]
    strings: Vec<String>,
    #[serde(default)]
    long: Vec<Vec<String>>,
    #[serde(default)]
    heredoc: bool,
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    collected: Vec<String>,
    #[serde(default, rename = "case")]
    cases: Vec<CaseText>,
    #[serde(default)]
    functions: Vec<String>,
    #[serde(default)]
    asserts: Vec<String>,
    #[serde(default)]
    guards: Vec<String>,
    keys: Option<LanguageKeys>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseText {
    marker: Option<String>,
    regex: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LanguageTable {
    #[serde(rename = "language")]
    languages: Vec<LanguageText>,
}

struct Languages {
    languages: Vec<Language>,
    /// Globs, each with its language.
    names: Vec<(String, usize)>,
    folders: HashMap<String, usize>,
    extensions: HashMap<String, usize>,
}

static LANGUAGES: LazyLock<Languages> = LazyLock::new(|| {
    let table = serde_json::from_str::<LanguageTable>(include_str!(concat!(env!("OUT_DIR"), "/languages.json")));
    let mut all =
        Languages { languages: Vec::new(), names: Vec::new(), folders: HashMap::new(), extensions: HashMap::new() };
    // A broken table would mean that nothing is ever found: a test holds that it is not.
    for mut text in table.map(|table| table.languages).unwrap_or_default() {
        let at = all.languages.len();
        all.names.extend(text.names.drain(..).map(|name| (name, at)));
        all.folders.extend(text.folders.drain(..).map(|folder| (folder, at)));
        all.extensions.extend(text.extensions.drain(..).map(|extension| (extension, at)));
        all.languages.push(Language::from(text));
    }
    all
});

impl From<LanguageText> for Language {
    fn from(text: LanguageText) -> Self {
        let case =
            |case: CaseText| TestSyntax { marker: case.marker.map(LazyRegex::new), regex: LazyRegex::new(case.regex) };
        Language {
            lexis: Lexis::new(text.comments, text.spaced, text.blocks, &text.strings, &text.long, text.heredoc),
            keys: text.keys,
            cases: text.cases.into_iter().map(case).collect(),
            functions: text.functions.into_iter().map(LazyRegex::new).collect(),
            asserts: LazySet::new(text.asserts),
            guards: LazySet::new(text.guards),
            tests: LazySet::new(text.tests),
            collected: LazySet::new(text.collected),
            name: text.name,
        }
    }
}

impl Language {
    /// The language of the file at `path`; `None` for one that the table doesn't have.
    pub(super) fn of_path(path: &str) -> Option<&'static Language> {
        let all = &*LANGUAGES;
        let named = all.names.iter().find(|(name, _)| glob::matches(name, path)).map(|&(_, at)| at);
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let by_folder = || all.folders.get(folders.rsplit('/').next()?).filter(|_| !name.contains('.'));
        // What a build fills in is in the language of what comes out.
        let template = [".in", ".dist"].iter().find_map(|ending| name.strip_suffix(ending));
        let plain = template.filter(|rest| rest.contains('.')).unwrap_or(name);
        let by_extension = || all.extensions.get(plain.rsplit_once('.')?.1.to_ascii_lowercase().as_str());
        let at = named.or_else(|| by_folder().or_else(by_extension).copied())?;
        Some(&all.languages[at])
    }

    /// The language of a file without an ending, by the interpreter that its first line asks for.
    pub(super) fn by_interpreter(path: &str, first: Option<&str>) -> Option<&'static Language> {
        let name = first?.strip_prefix("#!").filter(|_| !has_ending(path)).and_then(interpreted_language)?;
        LANGUAGES.languages.iter().find(|language| language.name == name)
    }

    /// The language of a file without an ending, by its lines: most programs are in one of these. `None` where too few
    /// lines say it.
    pub(super) fn by_lines<'l>(path: &str, lines: impl Iterator<Item = &'l str> + Clone) -> Option<&'static Language> {
        if has_ending(path) {
            return None;
        }
        let counted =
            SPEAKING.iter().map(|(name, regex)| (lines.clone().filter(|line| regex.is_match(line)).count(), *name));
        let (_, name) = counted.filter(|(count, _)| *count >= SPEAKING_LINES_MIN).max_by_key(|(count, _)| *count)?;
        LANGUAGES.languages.iter().find(|language| language.name == name)
    }

    /// Whether `path` is a file of tests by the language's customs.
    pub(super) fn is_test(&self, path: &str) -> bool {
        self.tests.is_match(path)
    }

    /// Whether a line defines a test alone.
    pub(super) fn defines_test(&self, text: &str) -> bool {
        self.cases.iter().any(|case| case.marker.is_none() && case.regex.is_match(text))
    }

    /// Whether a runner takes `path` because of its name.
    pub(super) fn is_collected(&self, path: &str) -> bool {
        self.collected.is_match(path)
    }
}

fn has_ending(path: &str) -> bool {
    path.rsplit('/').next().is_none_or(|name| name.contains('.'))
}

/// The language of the program that a script's first line asks for, by its name (`python3`, `bash`).
fn interpreted_language(first: &str) -> Option<&'static str> {
    let mut words = first.split_whitespace().filter(|word| !word.starts_with('-'));
    let name = |word: &'_ str| word.rsplit('/').next().map(str::to_owned);
    let program = words.next().and_then(name)?;
    let program = if program == "env" { words.next().and_then(name)? } else { program };
    let begins = INTERPRETERS.iter().find(|(begin, _)| program.starts_with(begin));
    begins.map(|(_, language)| *language).or_else(|| SHELLS.contains(&program.as_str()).then_some("shell"))
}

/// How the names of interpreters begin, and their languages.
const INTERPRETERS: [(&str, &str); 7] = [
    ("python", "python"),
    ("node", "javascript"),
    ("deno", "javascript"),
    ("ruby", "ruby"),
    ("perl", "perl"),
    ("php", "php"),
    ("lua", "lua"),
];
/// Shells that read what POSIX describes.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ksh", "zsh", "busybox"];

/// Lines that are of one language, by its name.
static SPEAKING: LazyLock<[(&str, LazyRegex); 3]> = LazyLock::new(|| {
    [
        ("python", r"^\s*(?:(?:async\s+)?def|class)\s+\w.*:\s*$|^\s*(?:import|from)\s+[\w.]+|\bself\.\w|^\s*(?:if|elif|for|while|with)\b.*:\s*$"),
        ("shell", r"^\s*(?:fi|done|esac|then|do)\s*$|^\s*(?:el)?if\s+(?:!\s+)?(?:\[|test\s)|;\s*then\s*$|\$\{\w|^\s*\w+\(\)\s*\{"),
        ("perl", r"^\s*(?:my|our|local)\s+[($@%]|^\s*(?:use|sub)\s+[\w:]+.*[;{]\s*$|\$\w+->"),
    ]
    .map(|(name, source)| (name, LazyRegex::new(source.to_owned())))
});
/// This many lines have to be of it.
const SPEAKING_LINES_MIN: usize = 3;

/// The part that a file plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileRole {
    /// The program, its configuration, anything else.
    Source,
    Test,
    /// Recorded output that a test compares with.
    Snapshot,
    /// Text for people.
    Document,
    /// Input of tests, other people's code, generated code: never held to the project's rules.
    Foreign,
}

/// Recorded output.
static SNAPSHOTS: LazyLock<LazySet> = LazyLock::new(|| {
    LazySet::from_sources(&[
        r"\.snap(?:shot)?$",
        r"(?:^|/)__snapshots__/",
        r"(?:^|/)__image_snapshots__/",
        r"\.(?:approved|verified|received)\.[\w.]+$",
        r"\.golden(?:\.\w+)?$",
        r"(?:^|[/._-])goldens?/",
        r"(?:^|/)(?:testdata|tests?|specs?|fixtures)/(?:.*/)?(?:expected|snapshots|golden[^/]*|baselines?)(?:/|\.)",
        r"\.ambr$",
    ])
});
/// One of these is in every such path.
const SNAPSHOT_WORDS: [&str; 8] =
    ["snap", "approved", "verified", "received", "golden", "expected", "baseline", ".ambr"];

static FOREIGN: LazyLock<LazySet> = LazyLock::new(|| {
    LazySet::from_sources(&[
        r"(?:^|/)(?:fixtures?|__fixtures__|test-?[dD]ata|corpus|corpora|samples?)/",
        r"(?:^|/)(?:it|e2e|specs?|\w*[tT]ests?)/resources/",
        r"(?:^|/)(?:node_modules|vendor|vendored|third[_-]?party|external|dist|generated|__generated__|\.yarn)/",
        r"\.min\.\w+$",
        r"(?:^|[._-])(?:generated|gen|pb)\.\w+$",
        r"_pb2(?:_grpc)?\.pyi?$",
        // Written by this program.
        r"(?:^|/)\.?lessons/",
        r"(?:^|/)\.agent/patterns/",
    ])
});
/// One of these is in every such path.
const FOREIGN_WORDS: [&str; 20] = [
    "fixture",
    "testdata",
    "testData",
    "test-data",
    "corp",
    "sample",
    "resources",
    "node_modules",
    "vendor",
    "third",
    "external",
    "dist",
    "generated",
    ".yarn",
    ".min.",
    "gen.",
    "pb.",
    "_pb2",
    "lessons",
    ".agent/patterns",
];

/// Endings of texts for people, beside the sections of a manual (`.1`).
const DOCUMENT_EXTENSIONS: [&str; 10] =
    ["md", "markdown", "mdx", "rst", "txt", "adoc", "asciidoc", "org", "tex", "pod"];
/// How the name of such a text begins where its ending is none of a language.
const DOCUMENT_NAMES: [&str; 8] =
    ["readme", "changelog", "changes", "license", "copying", "authors", "notice", "contributing"];

fn is_document(path: &str, language: Option<&Language>) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_manual = extension.len() == 1 && extension.as_bytes()[0].is_ascii_digit();
    is_manual
        || DOCUMENT_EXTENSIONS.contains(&extension) && name != "cmakelists.txt"
        || language.is_none() && DOCUMENT_NAMES.iter().any(|start| name.starts_with(start))
}

/// What `path` is, a file of `language`.
pub(super) fn file_role(path: &str, language: Option<&Language>) -> FileRole {
    let has = |words: &[&str]| words.iter().any(|word| path.contains(word));
    if has(&SNAPSHOT_WORDS) && SNAPSHOTS.is_match(path) {
        FileRole::Snapshot
    } else if has(&FOREIGN_WORDS) && FOREIGN.is_match(path) {
        FileRole::Foreign
    } else if language.is_some_and(|language| language.is_test(path)) {
        FileRole::Test
    } else if is_document(path, language) {
        FileRole::Document
    } else {
        FileRole::Source
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::weakened::lazy::compile_regex;

    #[test]
    fn the_table_is_sound() {
        let table: LanguageTable =
            toml::from_str(include_str!("languages.toml")).expect("TOML of the documented shape");
        for text in &table.languages {
            let cases = text.cases.iter().flat_map(|case| case.marker.iter().chain([&case.regex]));
            let all = [&text.tests, &text.collected, &text.functions, &text.asserts, &text.guards];
            for source in all.into_iter().flatten().chain(cases) {
                compile_regex(source).unwrap_or_else(|error| panic!("{}: {error}", text.name));
            }
        }
        assert_eq!(table.languages.len(), LANGUAGES.languages.len());
        assert!([&SNAPSHOTS, &FOREIGN].iter().all(|set| set.is_sound()));
    }

    fn part_at(path: &str) -> FileRole {
        file_role(path, Language::of_path(path))
    }

    #[test]
    fn the_lines_of_a_file_without_an_ending_say_what_it_is() {
        let name = |path, lines: &str| Language::by_lines(path, lines.lines()).map(|language| language.name.as_str());
        let python = "import os\n\ndef total(prices):\n    return sum(prices)\n\nclass Cart:\n    pass";
        assert_eq!(name("test/cart-test", python), Some("python"));
        assert_eq!(name("test/cart.dat", python), None);
        assert_eq!(name("tools/run", "if [ -z \"$1\" ]; then\n  exit 1\nfi\nmake \"${1}\""), Some("shell"));
        assert_eq!(name("tools/run", "one\ntwo\nthree"), None);
    }

    #[test]
    fn a_script_is_in_the_language_of_its_interpreter() {
        let name = |path, first| Language::by_interpreter(path, Some(first)).map(|language| language.name.as_str());
        assert_eq!(name("bin/run", "#!/usr/bin/env python3"), Some("python"));
        assert_eq!(name("bin/run", "#!/bin/bash"), Some("shell"));
        assert_eq!(name("bin/run", "#!/usr/share/awk/awk -f"), None);
        assert_eq!(name("bin/run.txt", "#!/bin/bash"), None);
    }

    #[test]
    fn a_path_says_what_its_file_is() {
        let name = |path| Language::of_path(path).map(|language| language.name.as_str());
        assert_eq!(name("web/src/App.tsx"), Some("javascript"));
        assert_eq!(name("Makefile"), Some("make"));
        assert_eq!(name("scripts/test"), Some("shell"));
        assert_eq!(name("CMakeLists.txt"), Some("cmake"));
        assert_eq!(name("tests/cart.py.in"), Some("python"));
        assert_eq!(name("phpunit.xml.dist"), Some("markup"));
        assert_eq!(name("src/meson.build"), Some("build"));
        assert_eq!(name("debian/rules"), Some("make"));
        assert_eq!(name("logo.png"), None);
        let parts = [
            ("src/cart.ts", FileRole::Source),
            ("src/cart.test.ts", FileRole::Test),
            ("src/__snapshots__/cart.test.ts.snap", FileRole::Snapshot),
            ("tests/snapshots/cli__help.snap", FileRole::Snapshot),
            ("pkg/testdata/bad.go", FileRole::Foreign),
            ("docs/rules.md", FileRole::Document),
            ("src/store/tests.rs", FileRole::Test),
            ("CMakeLists.txt", FileRole::Source),
            ("t/basic.t", FileRole::Test),
            ("LICENSE-MIT", FileRole::Document),
            ("man/verify-run.1", FileRole::Document),
            ("src/license.rs", FileRole::Source),
            ("bin/changes", FileRole::Source),
        ];
        for (path, wanted) in parts {
            assert_eq!(part_at(path), wanted, "{path}");
        }
    }

    #[test]
    fn a_path_of_recorded_or_foreign_files_has_one_of_the_words() {
        let snapshots = ["a.snap", "a.snapshot", "__snapshots__/a", "a/__image_snapshots__/b", "a.approved.txt"];
        let more = [
            "a.verified.xml",
            "a.received.json",
            "a.golden",
            "a/goldens/b",
            "spec/expected/a",
            "tests/a/baselines/b",
            "a.ambr",
        ];
        for path in snapshots.into_iter().chain(more) {
            assert!(SNAPSHOTS.is_match(path) && part_at(path) == FileRole::Snapshot, "{path}");
        }
        let folders = "fixture fixtures __fixtures__ testdata test-data corpus corpora sample samples \
                       src/test/resources tests/resources node_modules vendor vendored thirdparty third_party third-party external dist generated __generated__ .yarn \
                       lessons .lessons";
        let names = ["a.min.js", "a.gen.ts", "gen.go", "a_generated.rs", "a.pb.go", "a_pb2.py", "a_pb2_grpc.pyi"];
        let paths = folders.split_whitespace().map(|folder| format!("{folder}/a.rs"));
        for path in paths.chain(names.map(str::to_owned)) {
            assert!(FOREIGN.is_match(&path) && part_at(&path) == FileRole::Foreign, "{path}");
        }
    }
}
