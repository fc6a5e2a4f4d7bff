//! The tests that a source file declares, with the words around them that may name a criterion.

use std::sync::LazyLock;

use regex::Regex;

use super::javascript::find_javascript_tests;
use crate::base::text;

/// A test file is read up to here, bytes.
pub(crate) const TEST_FILE_BYTES_MAX: usize = 1 << 20;
/// Tests of one file; further ones are not looked for.
pub(crate) const FILE_TESTS_MAX: usize = 5_000;
/// A line is read up to here, bytes.
const LINE_BYTES_MAX: usize = 1_000;
/// Comment lines directly above a test.
const NOTES_MAX: usize = 50;
/// Blocks around a test.
pub(super) const BLOCKS_MAX: usize = 32;

/// The language of a test file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestLanguage {
    /// JavaScript and TypeScript.
    JavaScript,
    /// Python.
    Python,
    /// Go.
    Go,
    /// Lua.
    Lua,
    /// Rust.
    Rust,
    /// Java.
    Java,
}

impl TestLanguage {
    /// The language of a file that is a test by its place and name; `None` for every other file. In Rust each source may
    /// hold tests.
    pub(crate) fn of_test_file(path: &str) -> Option<TestLanguage> {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let (stem, extension) = name.rsplit_once('.')?;
        let is_in = |folders: &[&str]| folder.split('/').any(|part| folders.contains(&part));
        let is_in_tests = is_in(&["test", "tests", "spec", "specs", "__tests__", "e2e"]);
        match extension {
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => {
                let is_named =
                    [".test", ".spec", "-test", "_test", ".e2e", ".cy"].iter().any(|end| stem.ends_with(end));
                (is_named || is_in_tests || stem == "test").then_some(TestLanguage::JavaScript)
            }
            "py" => (stem.starts_with("test_") || stem.ends_with("_test")).then_some(TestLanguage::Python),
            "go" => stem.ends_with("_test").then_some(TestLanguage::Go),
            "lua" => (stem.ends_with("_spec") || stem.ends_with("_test") || is_in_tests).then_some(TestLanguage::Lua),
            "rs" => Some(TestLanguage::Rust),
            "java" => {
                let is_named =
                    stem.starts_with("Test") || ["Test", "Tests", "TestCase", "IT"].iter().any(|it| stem.ends_with(it));
                is_named.then_some(TestLanguage::Java)
            }
            _ => None,
        }
    }
}

/// A test as it is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestDeclaration {
    /// The test's own name.
    pub name: String,
    /// The names of the blocks around it (suites, classes, modules), from outside.
    pub blocks: Vec<String>,
    /// The line, from 1.
    pub line: u32,
    /// Comments, tags and decorators directly above it, and tags in its line.
    pub notes: Vec<String>,
    /// Whether the names are identifiers, not sentences.
    pub is_identifier: bool,
    /// Whether its declaration says that it is not run.
    pub is_skipped: bool,
}

/// The tests of a file.
pub(crate) fn find_tests(language: TestLanguage, text: &str) -> Vec<TestDeclaration> {
    let text = text::prefix(text, TEST_FILE_BYTES_MAX);
    match language {
        TestLanguage::JavaScript => find_javascript_tests(text),
        TestLanguage::Python => find_python_tests(text),
        TestLanguage::Go => find_go_tests(text),
        TestLanguage::Lua => find_lua_tests(text),
        TestLanguage::Rust => find_rust_tests(text),
        TestLanguage::Java => find_java_tests(text),
    }
}

/// The lines of a text, each cut at its limit.
pub(super) fn bounded_lines(text: &str) -> Vec<&str> {
    text.lines().map(|line| text::prefix(line, LINE_BYTES_MAX)).collect()
}

/// The comments, decorators and attributes in the lines directly above a line (an index), without a blank line between.
pub(super) fn notes_above(lines: &[&str], index: usize) -> Vec<String> {
    const STARTS: [&str; 7] = ["//", "#", "--", "*", "/*", "@", "\"\"\""];
    let above = lines[..index.min(lines.len())].iter().rev().take(NOTES_MAX);
    // An attribute with the code that it is about belongs to that code.
    let is_code =
        |line: &str| line.starts_with(['@', '#']) && line.ends_with(['{', '}', ';']) && !line.starts_with("# ");
    let is_note =
        |line: &&&str| STARTS.iter().any(|start| line.trim_start().starts_with(start)) && !is_code(line.trim());
    above.take_while(is_note).map(|line| line.trim().to_owned()).collect()
}

static TAGS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\btags?\b\s*[:=(]\s*([^)}]*)").expect("a valid pattern"));

/// The tags in the line of a declaration: `it("…", { tags: ["AC-2"] }, …`.
pub(super) fn tags_in(line: &str) -> Option<String> {
    Some(TAGS.captures(line)?.get(1)?.as_str().to_owned())
}

/// The identifier after a keyword, and the indentation of the line.
fn captured<'t>(pattern: &Regex, line: &'t str) -> Option<(usize, &'t str)> {
    let groups = pattern.captures(line)?;
    Some((line.len() - line.trim_start().len(), groups.get(1)?.as_str()))
}

fn has_skip(notes: &[String], marks: &[&str]) -> bool {
    notes.iter().any(|note| marks.iter().any(|mark| note.contains(mark)))
}

static PYTHON_CLASS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s*class\s+(\w+)").expect("a valid pattern"));
static PYTHON_TEST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?:async\s+)?def\s+(test\w*)\s*\(").expect("a valid pattern"));

fn find_python_tests(text: &str) -> Vec<TestDeclaration> {
    let lines = bounded_lines(text);
    let mut classes: Vec<(usize, String)> = Vec::new();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        if let Some((indent, name)) = captured(&PYTHON_CLASS, line) {
            classes.retain(|(outer, _)| *outer < indent);
            if classes.len() < BLOCKS_MAX {
                classes.push((indent, name.to_owned()));
            }
        } else if let Some((indent, name)) = captured(&PYTHON_TEST, line) {
            classes.retain(|(outer, _)| *outer < indent);
            let notes = notes_above(&lines, index);
            let is_skipped = has_skip(&notes, &["mark.skip", "unittest.skip", "@skip"]);
            // A function in a function is no test; one in a class is.
            if indent > 0 && classes.is_empty() {
                continue;
            }
            found.push(TestDeclaration {
                name: name.to_owned(),
                blocks: classes.iter().map(|(_, name)| name.clone()).collect(),
                line: line_number(index),
                notes,
                is_identifier: true,
                is_skipped,
            });
        } else if indent == 0 && !line.trim().is_empty() && !line.starts_with('#') {
            classes.clear();
        }
        if found.len() == FILE_TESTS_MAX {
            break;
        }
    }
    found
}

fn line_number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

static GO_TEST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^func\s+((?:Test|Fuzz|Example)\w*)\s*\(").expect("a valid pattern"));
static GO_SUBTEST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"^\s+\w+\.Run\(\s*(?:"((?:[^"\\]|\\.)*)"|`([^`]*)`)\s*,"#).expect("a valid pattern"));

fn find_go_tests(text: &str) -> Vec<TestDeclaration> {
    let lines = bounded_lines(text);
    let mut around: Vec<(usize, String)> = Vec::new();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let (name, is_identifier) = if let Some((_, name)) = captured(&GO_TEST, line) {
            around.clear();
            (name.to_owned(), true)
        } else if let Some(groups) = GO_SUBTEST.captures(line).filter(|_| !around.is_empty()) {
            around.retain(|(outer, _)| *outer < indent);
            let name = groups.get(1).or(groups.get(2)).map_or("", |group| group.as_str());
            (name.replace("\\\"", "\"").replace("\\\\", "\\"), false)
        } else {
            if line.starts_with('}') {
                around.clear();
            }
            continue;
        };
        let blocks = around.iter().map(|(_, name)| name.clone()).collect();
        if around.len() < BLOCKS_MAX {
            around.push((indent, name.clone()));
        }
        let skips = lines.get(index + 1).is_some_and(|next| next.trim_start().starts_with("t.Skip"));
        found.push(TestDeclaration {
            name,
            blocks,
            line: line_number(index),
            notes: notes_above(&lines, index),
            is_identifier,
            is_skipped: skips,
        });
        if found.len() == FILE_TESTS_MAX {
            break;
        }
    }
    found
}

static LUA_BLOCK: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"^\s*(describe|context|insulate|expose|it|spec|test|pending)\s*\(?\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|\[\[([^\]]*)\]\])"#;
    Regex::new(pattern).expect("a valid pattern")
});

fn find_lua_tests(text: &str) -> Vec<TestDeclaration> {
    let lines = bounded_lines(text);
    let mut around: Vec<(usize, String)> = Vec::new();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some(groups) = LUA_BLOCK.captures(line) else { continue };
        let indent = line.len() - line.trim_start().len();
        around.retain(|(outer, _)| *outer < indent);
        let word = groups.get(1).map_or("", |group| group.as_str());
        let name = (2..=4).find_map(|group| groups.get(group)).map_or("", |group| group.as_str());
        let name = name.replace("\\\"", "\"").replace("\\'", "'");
        if ["describe", "context", "insulate", "expose"].contains(&word) {
            if around.len() < BLOCKS_MAX {
                around.push((indent, name));
            }
            continue;
        }
        found.push(TestDeclaration {
            name,
            blocks: around.iter().map(|(_, name)| name.clone()).collect(),
            line: line_number(index),
            notes: notes_above(&lines, index),
            is_identifier: false,
            is_skipped: word == "pending",
        });
        if found.len() == FILE_TESTS_MAX {
            break;
        }
    }
    found
}

static RUST_MODULE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*\{").expect("a valid pattern"));
static RUST_FUNCTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(?:r#)?(\w+)\s*[(<]").expect("a valid pattern")
});
static RUST_ATTRIBUTE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck)\b").expect("a valid pattern"));

fn find_rust_tests(text: &str) -> Vec<TestDeclaration> {
    let lines = bounded_lines(text);
    let mut modules: Vec<(usize, String)> = Vec::new();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        if line.trim_start().starts_with('}') {
            modules.retain(|(outer, _)| *outer < indent);
        } else if let Some((indent, name)) = captured(&RUST_MODULE, line) {
            modules.retain(|(outer, _)| *outer < indent);
            if !line.trim_end().ends_with('}') && modules.len() < BLOCKS_MAX {
                modules.push((indent, name.to_owned()));
            }
        } else if let Some((_, name)) = captured(&RUST_FUNCTION, after_attributes(line)) {
            let mut notes = notes_above(&lines, index);
            // The attributes may be in the line of their function.
            notes.extend(attributes_of(line).map(str::to_owned));
            if notes.iter().any(|note| RUST_ATTRIBUTE.is_match(note)) {
                let is_skipped = has_skip(&notes, &["[ignore"]);
                found.push(TestDeclaration {
                    name: name.to_owned(),
                    blocks: modules.iter().map(|(_, name)| name.clone()).collect(),
                    line: line_number(index),
                    notes,
                    is_identifier: true,
                    is_skipped,
                });
            }
        }
        if found.len() == FILE_TESTS_MAX {
            break;
        }
    }
    found
}

/// The attributes that a line of Rust begins with: `#[test]`.
fn attributes_of(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line.trim_start();
    std::iter::from_fn(move || {
        let end = attribute_end(rest)?;
        let attribute = &rest[..end];
        rest = rest[end..].trim_start();
        Some(attribute)
    })
}

/// What follows the attributes of a line.
fn after_attributes(line: &str) -> &str {
    let mut rest = line;
    while let Some(end) = attribute_end(rest.trim_start()) {
        rest = &rest.trim_start()[end..];
    }
    rest
}

/// Where the attribute that a text begins with ends.
fn attribute_end(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.strip_prefix("#[")?;
    for (at, letter) in text.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' if depth == 1 => return Some(at + 1),
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

static JAVA_CLASS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:(?:public|protected|private|static|final|abstract)\s+)*class\s+(\w+)").expect("a valid pattern")
});
static JAVA_METHOD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:(?:public|protected|private|final)\s+)*void\s+(\w+)\s*\(").expect("a valid pattern")
});

fn find_java_tests(text: &str) -> Vec<TestDeclaration> {
    let lines = bounded_lines(text);
    let mut classes: Vec<(usize, String)> = Vec::new();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        // An annotation may be in the line of its method.
        let mut rest = *line;
        while let Some((_, after)) = rest.trim_start().strip_prefix('@').and_then(|it| it.split_once([' ', '\t'])) {
            rest = after;
        }
        let indent = line.len() - line.trim_start().len();
        if let Some((_, name)) = captured(&JAVA_CLASS, rest) {
            classes.retain(|(outer, _)| *outer < indent);
            if classes.len() < BLOCKS_MAX {
                classes.push((indent, name.to_owned()));
            }
        } else if let Some((_, name)) = captured(&JAVA_METHOD, rest) {
            let mut notes = notes_above(&lines, index);
            notes.extend(line.trim_start().starts_with('@').then(|| (*line).trim().to_owned()));
            let is_test = |note: &String| {
                ["@Test", "@ParameterizedTest", "@RepeatedTest"]
                    .iter()
                    .any(|it| note.starts_with(it) || note.contains(&format!(" {it}")))
            };
            if notes.iter().any(is_test) {
                let is_skipped = has_skip(&notes, &["@Disabled", "@Ignore"]);
                let blocks =
                    classes.iter().filter(|(outer, _)| *outer < indent).map(|(_, name)| name.clone()).collect();
                found.push(TestDeclaration {
                    name: name.to_owned(),
                    blocks,
                    line: line_number(index),
                    notes,
                    is_identifier: true,
                    is_skipped,
                });
            }
        }
        if found.len() == FILE_TESTS_MAX {
            break;
        }
    }
    found
}
