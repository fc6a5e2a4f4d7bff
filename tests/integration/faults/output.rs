//! Output that is no text, too long, too much, or written to deceive.

use serde_json::Value;
use verify_run::run::CommandEnd;

use crate::sandbox::{Lesson, Sandbox, need, tools};

/// A check that prints the file `output` of the project's surroundings and fails.
fn printing(output: impl AsRef<[u8]>) -> Sandbox {
    let sandbox = Sandbox::repository();
    let file = sandbox.tmp().join("output");
    std::fs::write(&file, output).expect("the output");
    sandbox.tool("luacheck", &format!("cat {}; exit 1", file.display()));
    sandbox
}

fn fail(sandbox: &Sandbox) -> (Lesson, Value) {
    let outcome = sandbox.as_bare(&["luacheck", "."], |run| run);
    assert_eq!(outcome.ended, CommandEnd::Exit(1));
    (sandbox.lesson(), sandbox.events().remove(0))
}

#[test]
fn output_that_is_not_utf8_keeps_its_text() {
    let sandbox = printing(
        b"src/a.lua:3:1: error: caf\xe9 \xff\xfe is \xf0\x9f\x92\xa9 \xc3(\nsrc/b\xe9.lua:1:1: error: other\n",
    );
    sandbox.write("src/a.lua", "");
    let (lesson, event) = fail(&sandbox);
    assert!(lesson.text.contains("caf\u{fffd} \u{fffd}\u{fffd} is \u{1f4a9} \u{fffd}("), "{}", lesson.text);
    assert!(lesson.list("files").contains(&"src/a.lua"), "{event}");
}

#[test]
fn a_line_of_five_megabytes_hides_nothing_and_is_cut() {
    let long = "x".repeat(5_000_000);
    let sandbox =
        printing(format!("src/a.lua:1:1: error: before\nsrc/b.lua:2:1: error: {long}\nsrc/c.lua:3:1: error: after\n"));
    let (lesson, event) = fail(&sandbox);
    assert_eq!(lesson.list("files"), ["src/a.lua", "src/b.lua", "src/c.lua"]);
    assert!(lesson.text.contains("before") && lesson.text.contains("after"), "{}", lesson.text);
    assert!(lesson.text.len() <= 16 << 10, "{} bytes", lesson.text.len());
    assert!(event.to_string().len() < 64 << 10, "{} bytes", event.to_string().len());
}

#[test]
fn the_one_error_in_200_000_lines_is_in_the_lesson() {
    let quiet = |from: usize, to: usize| (from..to).map(|n| format!("step {n}: compiled module_{n} and linked it\n"));
    let error = "src/the one.lua:41:7: error: attempt to call a nil value\n".to_owned();
    let output: String = quiet(0, 100_000).chain([error]).chain(quiet(100_000, 200_000)).collect();
    let sandbox = printing(output);
    sandbox.write("src/the one.lua", "");
    let (lesson, event) = fail(&sandbox);
    assert!(lesson.text.contains("attempt to call a nil value"), "{}", lesson.text);
    assert_eq!((lesson.list("files"), &event["cut_bytes"]), (vec!["src/the one.lua"], &Value::from(0)));
}

/// What a tool may print to be taken for something else.
const HOSTILE: &str = "src/a.lua:1:1: error: first
src/a.lua:2:1: error: ```
src/a.lua:3:1: error: ~~~~~~~~~~
src/a.lua:4:1: error: `````````` ` `` closes
error: ```
```
---
id: l-deceive
tool: other
---
error: ---
src/a.lua:5:1: error: <!-- markdownlint-disable --> <script>alert(1)</script> [x](javascript:x)
src/a.lua:6:1: error: \x1b]0;title\x07\x1b]8;;http://example.invalid\x07link\x1b]8;;\x07 \x1b[31mred\x1b[0m \x1b[2J\x1bc
src/a.lua:7:1: error: \u{202e}drowssap\u{202c} \u{2066}x\u{2069} \u{200b}\u{feff}\u{9b}31m\u{85}
src/a.lua:8:1: error: nul \0 backspace \x08\x08 bell \x07 delete \x7f
src/a.lua:9:1: error: over\rsrc/b.lua:9:1: error: written
# error: a heading
- error: an item
error: | a | table |
error: $(touch pwned) `touch pwned` ; touch pwned
";

#[test]
fn hostile_output_stays_text_wherever_it_is_shown() {
    let sandbox = printing(HOSTILE);
    let odd = "it's ``` \n---\nid: l-deceive\n--- \x1b[31m\u{202e} $(touch pwned)";
    let outcome = sandbox.as_bare(&["luacheck", odd], |run| run);
    assert_eq!(outcome.stdout(), HOSTILE);
    let lesson = sandbox.lesson();
    let name = lesson.path.file_stem().and_then(|name| name.to_str()).expect("a name");
    assert!(lesson.field("id").is_some_and(|id| name.ends_with(id)), "{}", lesson.text);
    assert_eq!(lesson.field("tool"), Some("luacheck"));
    for expected in ["first", "closes", "red", "drowssap", "a | table"] {
        assert!(lesson.text.contains(expected), "{expected} is missing: {}", lesson.text);
    }
    assert_eq!(
        headings(&lesson.text),
        [
            "# luacheck failed: `first` and others",
            "## What failed",
            "## Output",
            "## Affected files",
            "## Reproduce",
            "## Fix"
        ]
    );
    assert_plain("the lesson", &lesson.text);
    let id = lesson.field("id").expect("an id");
    let pattern = lesson.list("patterns")[0];
    for words in [
        &["last"][..],
        &["lesson", "list"],
        &["lesson", "show", id],
        &["pattern", "list"],
        &["pattern", "show", pattern],
        &["store", "status"],
        &["doctor"],
    ] {
        let shown = sandbox.verify_run(words).prints();
        assert_plain(&words.join(" "), &shown);
    }
    let shown = sandbox.verify_run(["lesson", "show", id, "--json"]).prints_json();
    assert_eq!(shown["lesson"]["tool"], "luacheck", "the front matter is one");
    assert!(!sandbox.path("pwned").exists());
}

/// The headings outside of fences; every fence is closed.
fn headings(lesson: &str) -> Vec<&str> {
    let (_, body) = lesson.strip_prefix("---\n").and_then(|text| text.split_once("\n---\n")).expect("front matter");
    let mut open: Option<usize> = None;
    let mut found = Vec::new();
    for line in body.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match open {
            Some(fence) if ticks >= fence && line.trim_start_matches('`').trim().is_empty() => open = None,
            None if ticks >= 3 && !line.trim_start_matches('`').contains('`') => open = Some(ticks),
            None if line.starts_with('#') => found.push(line),
            _ => {}
        }
    }
    assert_eq!(open, None, "a fence is not closed:\n{lesson}");
    found
}

/// Nothing in it acts on a terminal or turns text around.
#[track_caller]
fn assert_plain(what: &str, text: &str) {
    let acts = |c: &char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    let found: Vec<char> = text.chars().filter(acts).collect();
    assert!(found.is_empty(), "{what} has {found:?}:\n{text}");
}

#[test]
fn checks_over_everything_pass_with_our_files_in_the_repository() {
    let (Some(prettier), Some(markdownlint)) = (need("prettier"), need("markdownlint")) else { return };
    let mut sandbox = printing(HOSTILE);
    sandbox.add_path(tools());
    sandbox.write("README.md", "# A project\n");
    sandbox.commit("The project");
    fail(&sandbox);
    assert_eq!(sandbox.lessons().len(), 1);
    // A state folder that can't be written leaves a spool file beside the lessons.
    let state = sandbox.state();
    std::fs::rename(&state, sandbox.tmp().join("state")).expect("the state folder");
    std::fs::write(&state, "in the way").expect("a file");
    sandbox.verify_run(["luacheck", "again"]).outcome();
    sandbox.settle();
    assert!(sandbox.path(".lessons/.state/spool").is_dir());
    let checks = [(prettier, &["--check", "."][..]), (markdownlint, &["**/*.md"])];
    for (check, arguments) in &checks {
        let outcome = sandbox.bare(check).args(*arguments).outcome();
        assert_eq!(outcome.ended, CommandEnd::Exit(0), "{}{}", outcome.stdout(), outcome.stderr());
    }
    assert_eq!(sandbox.git(["status", "--short"]), "");
    // They do look.
    sandbox.write("bad.md", "*  a list\n\n\n\n");
    for (check, arguments) in &checks {
        assert_eq!(sandbox.bare(check).args(*arguments).outcome().ended, CommandEnd::Exit(1));
    }
}
