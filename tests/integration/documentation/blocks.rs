//! Every fenced block of README.md and of docs/ is executed, or read as the program reads it.
//!
//! `console` blocks are executed by trycmd and `sh` blocks line by line. Other blocks that show a command with its
//! output belong to a session: of scripts/demo, or one of [`SESSIONS`]. A block that nothing checks fails a test.

use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::{Map, Value, json};
use verify_run::config::{Environment, Places, Settings};
use verify_run::lesson::parse_lesson;
use verify_run::run::CommandEnd;

use crate::fixes::check;
use crate::json_replies::{assert_valid, front_matter};
use crate::pages::redacted;
use crate::sandbox::{Sandbox, need};

/// A fenced block of a page.
pub(super) struct Block {
    /// Page and line, as compilers print them.
    pub place: String,
    /// Language and other words behind the fence.
    pub info: String,
    /// What is inside of the fences.
    pub text: String,
}

/// README.md and all pages below docs, relative to the top of the repository.
pub(super) fn pages() -> Vec<PathBuf> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = files_below(&top.join("docs")).into_iter();
    let docs = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let docs = docs.map(|path| path.strip_prefix(top).expect("below the top").to_owned());
    let pages: Vec<PathBuf> = docs.chain([PathBuf::from("README.md")]).collect();
    assert!(pages.len() > 30, "{pages:?}");
    pages
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn blocks() -> Vec<Block> {
    pages().iter().flat_map(|page| blocks_of(page)).collect()
}

fn blocks_of(page: &Path) -> Vec<Block> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).expect("a page");
    let mut lines = text.lines().enumerate();
    let mut blocks = Vec::new();
    while let Some((index, line)) = lines.next() {
        let line = line.trim_start();
        let info = line.trim_start_matches('`');
        let fence = &line[..line.len() - info.len()];
        if fence.len() < 3 {
            continue;
        }
        let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != fence);
        let text = inside.map(|line| format!("{line}\n")).collect();
        blocks.push(Block { place: format!("{}:{}", page.display(), index + 1), info: info.to_owned(), text });
    }
    blocks
}

/// What checks a block.
#[derive(Debug, Clone, Copy, PartialEq)]
enum BlockCheck {
    /// trycmd, in `the_examples_of_the_documentation_are_true`.
    Trycmd,
    /// `the_demo_and_what_the_documentation_shows_of_it_are_what_the_program_prints`.
    Demo,
    /// A session of [`SESSIONS`].
    Session,
    /// `the_commands_of_the_documentation_are_accepted`.
    Commands,
    /// The reader of `verify-run.toml`, and its schema.
    Settings,
    /// `verify-run whitelist check`, as a whitelist.
    Whitelist,
    /// `verify-run whitelist check`, as tool definitions or detectors.
    Definitions,
    /// What the story of the dates printed and wrote.
    Dates,
    /// `gate::review::the_answer_of_the_documentation_is_a_review`.
    Review,
    /// Comparison with a file of the repository.
    File,
    /// fish, without executing it.
    Fish,
    /// The test that generates the page.
    Generated,
    /// Nothing: it is a picture.
    Picture,
}

/// Pictures made of characters, by their first word.
const PICTURES: [&str; 1] = ["argv"];

fn check_of(block: &Block) -> Option<BlockCheck> {
    let first = block.text.lines().next().unwrap_or_default();
    let is_setting = |key: &str| block.text.lines().any(|line| line.starts_with(key));
    match block.info.as_str() {
        "console" => Some(BlockCheck::Trycmd),
        "sh" => Some(BlockCheck::Commands),
        "fish" => Some(BlockCheck::Fish),
        "text" if block.place.starts_with("docs/cli.md:") => Some(BlockCheck::Generated),
        "text" if session_of(block).is_some() => Some(BlockCheck::Session),
        "text" if is_of_demo(block) => Some(BlockCheck::Demo),
        "text" if PICTURES.iter().any(|word| first.starts_with(word)) => Some(BlockCheck::Picture),
        "toml" if is_setting("bins =") => Some(BlockCheck::Whitelist),
        "toml" if is_setting("[[") => Some(BlockCheck::Definitions),
        "toml" => Some(BlockCheck::Settings),
        "json" if first.contains("mcpServers") => Some(BlockCheck::File),
        "json" if block.text.contains("\"issues\"") => Some(BlockCheck::Review),
        "json" | "markdown" => Some(BlockCheck::Dates),
        "yaml" => Some(BlockCheck::File),
        _ => None,
    }
}

#[test]
fn every_block_of_the_documentation_is_checked_by_a_test() {
    let blocks = blocks();
    let unchecked = blocks.iter().filter(|block| check_of(block).is_none());
    let unchecked: Vec<String> =
        unchecked.map(|block| format!("{}: ```{}\n{}", block.place, block.info, block.text)).collect();
    assert!(unchecked.is_empty(), "no test checks these blocks:\n{}", unchecked.join("\n"));
    let count = |check: BlockCheck| blocks.iter().filter(|block| check_of(block) == Some(check)).count();
    assert_eq!(count(BlockCheck::Demo), super::DEMO_BLOCKS);
    assert_eq!(count(BlockCheck::Picture), PICTURES.len());
    let shows_command = |block: &&Block| block.text.lines().any(|line| line.starts_with("$ "));
    for block in blocks.iter().filter(shows_command).filter(|block| !block.place.starts_with("docs/cli.md:")) {
        let check = check_of(block);
        let is_executed = [BlockCheck::Trycmd, BlockCheck::Demo, BlockCheck::Session].map(Some).contains(&check);
        assert!(is_executed, "{}: shows a command that nothing executes", block.place);
    }
}

/// Whether scripts/demo executes all commands of a block.
fn is_of_demo(block: &Block) -> bool {
    let commands: Vec<&str> = block.text.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    let has_line = |command: &&str| include_str!("../../../scripts/demo").contains(&format!("('{command}', "));
    !commands.is_empty() && commands.iter().all(has_line)
}

/// A block of the documentation that shows one command, and the files that the command needs.
struct Session {
    /// The command line, as the block shows it.
    command: &'static str,
    prepare: fn(&Sandbox),
}

const SESSIONS: [Session; 4] = [
    Session {
        command: "verify-run whitelist explain 'scripts/acceptance.sh --suite slow'",
        prepare: |sandbox| {
            let blocks = blocks_of(Path::new("docs/formats.md"));
            let block = blocks.iter().find(|block| check_of(block) == Some(BlockCheck::Whitelist));
            sandbox.write("whitelist.toml", &block.expect("a whitelist").text);
        },
    },
    Session {
        command: "verify-run whitelist new acme-lint --kind lint sample.txt",
        prepare: |sandbox| {
            sandbox.write("sample.txt", "src/a.x:3:7: error: wrong thing [no-wrong]\n1 problem\n");
            sandbox.write("src/a.x", "x");
        },
    },
    Session {
        command: "verify-run parse --command 'ruff check' --print diagnostics out.txt",
        prepare: |sandbox| {
            sandbox.write("out.txt", "src/a.py:3:8: F401 [*] `os` imported but unused\nFound 1 error.\n");
            sandbox.write("src/a.py", "\n\nimport os\n");
        },
    },
    // Its output is the block that follows it.
    Session { command: "verify-run warn --files dates.py --json", prepare: |_| {} },
];

fn session_of(block: &Block) -> Option<&'static Session> {
    let command = block.text.lines().next()?.strip_prefix("$ ")?;
    SESSIONS.iter().find(|session| session.command == command)
}

#[test]
fn the_sessions_of_the_documentation_are_what_the_program_prints() {
    let blocks = blocks();
    for session in &SESSIONS {
        let shown = blocks.iter().find(|block| session_of(block).is_some_and(|it| it.command == session.command));
        let block = shown.unwrap_or_else(|| panic!("no page shows {}", session.command));
        let (_, shown) = block.text.split_once('\n').expect("a line");
        if shown.is_empty() {
            continue;
        }
        let sandbox = Sandbox::repository();
        (session.prepare)(&sandbox);
        let outcome = sandbox.bare("sh").args(["-c", &with_program(session.command)]).outcome();
        let (printed, shown) = (session_lines(outcome.stdout()), session_lines(shown));
        assert_eq!(printed.len(), shown.len(), "{}: stale; it prints\n{}", block.place, outcome.stdout());
        for (printed, shown) in printed.iter().zip(&shown) {
            // An ellipsis replaces any text.
            let mut parts = shown.split('…');
            let (head, tail) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            let fits = if shown.contains('…') {
                printed.starts_with(head) && printed.ends_with(tail)
            } else {
                printed == shown
            };
            assert!(fits, "{}: stale; it prints\n{}", block.place, outcome.stdout());
        }
    }
}

/// Lines without what differs from folder to folder.
fn session_lines(text: &str) -> Vec<String> {
    let key = Regex::new(r"\b[0-9a-f]{32}\b").expect("a pattern");
    text.lines().map(|line| key.replace_all(&redacted(line), "[key]").into_owned()).collect()
}

/// A shell line that finds the program under test by its name.
fn with_program(line: &str) -> String {
    let folder = Path::new(crate::sandbox::VERIFY_RUN).parent().expect("a folder");
    format!("PATH={}:$PATH\n{line}", folder.display())
}

/// Lines of `sh` blocks that are not executed, by how they begin.
const NOT_EXECUTED: [(&str, &str); 9] = [
    ("scripts/", "they build this repository"),
    ("tests/fidelity/run", "it builds this repository"),
    ("cargo install", "it builds this repository"),
    ("claude plugin", "it changes another program; tests/hosts does it"),
    ("#!/bin/sh", "a comment"),
    ("[ $? -ne 1 ]", "not a command of verify-run"),
    ("acme-lint ", "not a command of verify-run; tests/integration/definitions.rs executes the block"),
    ("command -v verify-run >/dev/null && eval \"$(verify-run init bash)\"", "tests/integration/shims.rs executes it"),
    ("command -v verify-run >/dev/null && eval \"$(verify-run init zsh)\"", "tests/integration/shims.rs executes it"),
];

#[test]
fn the_commands_of_the_documentation_are_accepted() {
    let sandbox = Sandbox::repository();
    ["npm", "acme-lint"].iter().for_each(|name| drop(sandbox.tool(name, "exit 0")));
    sandbox.write("sample.txt", "src/a.x:3:7: error: wrong thing [no-wrong]\n1 problem\n");
    sandbox.git(["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let mut executed = 0;
    for block in blocks().iter().filter(|block| check_of(block) == Some(BlockCheck::Commands)) {
        for line in block.text.replace("\\\n", "").lines() {
            if NOT_EXECUTED.iter().any(|(start, _)| line.starts_with(start)) {
                continue;
            }
            assert!(line.starts_with("verify-run "), "{}: nothing executes `{line}`", block.place);
            let outcome = sandbox.bare("sh").args(["-c", &with_program(line)]).env("CI", "true").outcome();
            // What is asked for need not be there, but the command line has to be right.
            let is_accepted = matches!(outcome.ended, CommandEnd::Exit(0 | 1 | 3));
            assert!(is_accepted, "{}: `{line}` ends with {:?}: {}", block.place, outcome.ended, outcome.stderr());
            executed += 1;
        }
    }
    assert!(executed > 60, "only {executed} commands");
}

#[test]
fn the_settings_and_definitions_of_the_documentation_are_read_without_a_complaint() {
    for block in blocks().iter().filter(|block| block.info == "toml") {
        let sandbox = Sandbox::repository();
        let file = match check_of(block) {
            Some(BlockCheck::Whitelist) => "whitelist.toml",
            Some(BlockCheck::Definitions) => ".verify-run/tools/documented.toml",
            _ => "verify-run.toml",
        };
        if file == "verify-run.toml" {
            // The user's own file may say everything.
            sandbox.write(sandbox.home().join(".config/verify-run").join(file), &block.text);
            let environment = Environment { home: Some(sandbox.home()), ..Environment::default() };
            let (_, problems) = Settings::load(&Places::find(&sandbox.work(), &environment), &environment);
            assert!(problems.is_empty(), "{}: {problems:?}", block.place);
            let document: Value = toml::from_str(&block.text).expect("TOML");
            assert_valid("settings.json", &document, &block.place);
        } else {
            sandbox.write(file, &block.text);
        }
        // What the blocks name.
        sandbox.write(
            ".github/acme-lint.json",
            r#"{"problemMatcher": [{"owner": "acme", "pattern": [{"regexp": "^== (.+) (\\d+)$", "file": 1, "line": 2}]}]}"#,
        );
        let said = sandbox.verify_run(["whitelist", "check"]).outcome();
        assert_eq!(said.ended, CommandEnd::Exit(0), "{}: {}", block.place, said.stdout());
        assert!(said.stdout().starts_with("no problems"), "{}: {}", block.place, said.stdout());
    }
}

#[test]
fn the_fish_blocks_of_the_documentation_are_fish() {
    let Some(fish) = need("fish") else { return };
    for block in blocks().iter().filter(|block| check_of(block) == Some(BlockCheck::Fish)) {
        let sandbox = Sandbox::new();
        sandbox.write("block.fish", &block.text);
        sandbox.bare(&fish).args(["--no-execute", "block.fish"]).prints();
        let line = block.text.split_once("; and ").and_then(|(_, rest)| rest.split_once(" |")).expect("a command").0;
        sandbox.verify_run(line.split(' ').skip(1)).prints();
    }
}

#[test]
fn the_blocks_that_show_files_are_like_these_files() {
    for block in blocks().iter().filter(|block| check_of(block) == Some(BlockCheck::File)) {
        let document: Value = serde_saphyr::from_str(&block.text).expect("YAML, or its subset JSON");
        if let Some(jobs) = document.pointer("/pre-commit/jobs") {
            let ours: Value = serde_saphyr::from_str(include_str!("../../../hooks/git/lefthook.yml")).expect("YAML");
            let keys = |jobs: &Value| jobs[0].as_object().expect("a job").keys().cloned().collect::<Vec<_>>();
            let theirs = ours.pointer("/pre-commit/jobs").expect("the jobs that hooks/git has");
            assert!(keys(jobs).iter().all(|key| keys(theirs).contains(key)), "{}", block.place);
        } else if let Some(values) = document.pointer("/0/with") {
            let action: Value =
                serde_saphyr::from_str(include_str!("../../../hooks/ci/github/action.yml")).expect("YAML");
            let unknown = values.as_object().expect("inputs").keys().filter(|name| action["inputs"][*name].is_null());
            assert_eq!(unknown.collect::<Vec<_>>(), [""; 0], "{}", block.place);
        } else {
            let sandbox = Sandbox::repository();
            sandbox.verify_run(["init", "--agent", "claude", "--only", "--yes"]).outcome();
            let written: Value = serde_json::from_str(&sandbox.read(".mcp.json")).expect("JSON");
            assert_eq!(document, written, "{}", block.place);
        }
    }
}

/// What Python prints of the failing test.
const UNITTEST: &str = r#"if grep -q 'last - first + 1' dates.py; then
printf '.\n----------------------------------------------------------------------\nRan 1 test in 0.000s\n\nOK\n' >&2; exit 0; fi
cat >&2 <<'OUT'
F
======================================================================
FAIL: test_week (test_dates.Days.test_week)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "PROJECT/test_dates.py", line 7, in test_week
    self.assertEqual(days(1, 7), 7)
AssertionError: 6 != 7

----------------------------------------------------------------------
Ran 1 test in 0.000s

FAILED (failures=1)
OUT
exit 1"#;

/// The documents that docs/formats.md shows, from the story that scripts/demo plays.
struct DatesStory {
    /// The lesson of the first failure, before it was fixed.
    lesson: String,
    /// The event of the run that passed.
    event: Value,
    /// `verify-run warn --files dates.py --json` in the next task.
    warnings: Value,
}

fn dates_story() -> DatesStory {
    let sandbox = Sandbox::new();
    sandbox.write("dates.py", "def days(first, last):\n    return last - first\n");
    let test = "import unittest\nfrom dates import days\n\n\nclass Days(unittest.TestCase):\n    \
                def test_week(self):\n        self.assertEqual(days(1, 7), 7)\n";
    sandbox.write("test_dates.py", test);
    sandbox.write("verify-run.toml", "[advice]\nholdout = false\n");
    let sandbox = sandbox.with_repository();
    sandbox.tool("python3", &UNITTEST.replace("PROJECT", &sandbox.work().display().to_string()));
    let unittest = || {
        let command = ["--task", "monday", "--session", "first", "--agent", "human", "python3", "-m", "unittest"];
        check(&sandbox, &command);
    };
    unittest();
    let lesson = sandbox.lesson().text;
    sandbox.write("dates.py", "def days(first, last):\n    return last - first + 1\n");
    unittest();
    let event = sandbox.events().into_iter().find(|event| event["kind"] == "run" && event["ended"]["exit"] == 0);
    let asked = ["warn", "--files", "dates.py", "--json", "--task", "friday", "--session", "second"];
    let warnings = sandbox.verify_run(asked).prints_json();
    DatesStory { lesson, event: event.expect("the run that passed"), warnings }
}

/// A document in which every value that differs from run to run is the same.
fn comparable(value: &Value) -> Value {
    let differing = r"^(?:[0-9a-f]{32}|[0-9a-f]{40}|w[0-9a-z]{8}|/.*|[0-9-]{10}T[0-9:.]+Z)$";
    let differing = Regex::new(differing).expect("a pattern");
    match value {
        Value::Object(fields) => Value::Object(Map::from_iter(fields.iter().map(|(name, field)| {
            let differs = name == "duration_us";
            (name.clone(), if differs { Value::Null } else { comparable(field) })
        }))),
        Value::Array(items) => items.iter().map(comparable).collect(),
        Value::String(text) if differing.is_match(text) => json!("[differs]"),
        Value::String(text) => redacted(text).into(),
        other => other.clone(),
    }
}

#[test]
fn the_lesson_the_event_and_the_warning_of_the_documentation_are_what_the_program_writes() {
    let story = dates_story();
    let mut compared = 0;
    for block in blocks().iter().filter(|block| check_of(block) == Some(BlockCheck::Dates)) {
        compared += 1;
        if block.info == "markdown" {
            let lesson = parse_lesson(&block.text, None).unwrap_or_else(|error| panic!("{}: {error}", block.place));
            assert_eq!(lesson.front.schema, 1);
            assert_valid("lesson-front-matter.json", &front_matter(&block.text), &block.place);
            assert_eq!(lesson_lines(&block.text), lesson_lines(&story.lesson), "{}", block.place);
            continue;
        }
        let shown: Value = serde_json::from_str(&block.text).expect("JSON");
        let is_event = shown.get("kind").is_some();
        let real = if is_event {
            story.event.clone()
        } else if shown.get("warnings").is_some() {
            assert_valid("warn.json", &shown, &block.place);
            story.warnings.clone()
        } else {
            // Some fields of a warning.
            let fields = shown.as_object().expect("an object").keys();
            fields.map(|name| (name.clone(), story.warnings["warnings"][0][name].clone())).collect()
        };
        assert_eq!(comparable(&shown), comparable(&real), "{}: stale; it is\n{real}", block.place);
    }
    assert_eq!(compared, 4);
}

fn lesson_lines(text: &str) -> Vec<String> {
    let differing =
        Regex::new(r"[0-9a-f]{40}|verify-run:lesson [0-9a-f]{16}|T?\d\d:\d\d:\d\d\.\d+Z").expect("a pattern");
    text.lines().map(|line| differing.replace_all(&redacted(line), "[differs]").into_owned()).collect()
}
