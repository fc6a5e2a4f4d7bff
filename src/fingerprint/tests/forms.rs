//! One diagnostic in all the forms that its tool prints: one key, regardless of the reporter, the width, the colours
//! and the folder. The outputs are those of the real tools, shortened to one diagnostic, with another project's path.

use std::collections::BTreeSet;

use super::compute_fingerprint;
use crate::base::tree::EmptyTree;
use crate::diagnose::{DefinitionSet, DiagnosisInput, Diagnostic, diagnose_output};
use crate::run::CommandEnd;

/// How an output was printed: the command, the folder that it ran in, and the text.
type Form = (&'static str, &'static str, &'static str);

fn items(definitions: &DefinitionSet, (command, dir, output): &Form) -> Vec<Diagnostic> {
    let tool =
        ["eslint", "ruff", "mypy", "vitest", "prettier", "pytest"].into_iter().find(|tool| command.contains(tool));
    let input = DiagnosisInput {
        output: output.as_bytes(),
        command,
        tool: tool.or(command.contains("clippy").then_some("cargo-clippy")),
        kind: None,
        ended: CommandEnd::Exit(1),
        dir,
        root: "/home/dev/project",
        tree: &EmptyTree,
        baseline: None,
        definitions,
    };
    diagnose_output(&input).items
}

/// Asserts that all forms are one pattern, found in one file.
fn assert_one(what: &str, file: &str, forms: &[Form]) {
    let definitions = DefinitionSet::shipped_only();
    let mut patterns = BTreeSet::new();
    for form in forms {
        let found = items(&definitions, form);
        assert!(!found.is_empty(), "{what}: nothing found of {form:?}");
        for item in &found {
            assert_eq!(item.file.as_deref(), Some(file), "{what}: {item:?}");
            patterns.insert((compute_fingerprint(item).pattern, item.tool.clone()));
        }
    }
    assert_eq!(patterns.len(), 1, "{what}: {patterns:?}");
}

#[test]
fn a_lint_of_clippy_is_one_with_and_without_its_name() {
    const HELP: &str = "  = help: for further information visit https://rust-lang.github.io/rust-clippy/rust-1.95.0/index.html#len_zero\n";
    let block = |more: &str| {
        format!(
            "error: length comparison to zero\n --> src/lib.rs:3:33\n  |\n3 | pub fn g(x: Vec<u32>) -> bool {{ x.len() == 0 }}\n  |                                 ^^^^^^^^^^^^ help: using `is_empty` is clearer and more explicit: `x.is_empty()`\n  |\n{more}\nerror: could not compile `top` (lib) due to 1 previous error\n"
        )
    };
    let named: &str =
        Box::leak(block(&format!("{HELP}  = note: `-D clippy::len-zero` implied by `-D warnings`\n")).into());
    let linked: &str = Box::leak(block(HELP).into());
    let bare: &str = Box::leak(block("").into());
    let json = r#"{"reason":"compiler-message","package_id":"top","message":{"$message_type":"diagnostic","message":"length comparison to zero","code":{"code":"clippy::len_zero","explanation":null},"level":"error","spans":[{"file_name":"src/lib.rs","line_start":3,"column_start":33,"is_primary":true}],"children":[],"rendered":"error: length comparison to zero\n --> src/lib.rs:3:33\n  |\n3 | pub fn g(x: Vec<u32>) -> bool { x.len() == 0 }\n  |\n\n"}}"#;
    assert_one(
        "clippy",
        "src/lib.rs",
        &[
            ("cargo clippy -- -D warnings", "", named),
            ("cargo clippy -- -D warnings", "", linked),
            ("cargo clippy -- -D warnings", "", bare),
            ("cargo clippy --message-format short", "", "src/lib.rs:3:33: error: length comparison to zero\n"),
            ("cargo clippy --message-format json", "", json),
        ],
    );
}

#[test]
fn an_error_of_mypy_is_one_at_every_width() {
    assert_one(
        "mypy",
        "app/mod.py",
        &[
            (
                "mypy .",
                "",
                "app/mod.py:5: error: Incompatible default for parameter \"parameter_with_long_name\" (default has type \"None\", parameter has type \"dict[str, int]\")  [assignment]\nFound 1 error in 1 file (checked 1 source file)\n",
            ),
            (
                "mypy .",
                "",
                "app/mod.py:5: error: Incompatible default for parameter \"parameter_with_long_name\"\n(default has type \"None\", parameter has type \"dict[str, int]\")  [assignment]\n    ...her_long_name(parameter_with_long_name: dict[str, int] = None) -> int:\n                                                                ^~~~\nFound 1 error in 1 file (checked 1 source file)\n",
            ),
            (
                "mypy .",
                "",
                "app/mod.py:5: \u{1b}[1m\u{1b}[31merror:\u{1b}(B\u{1b}[m Incompatible default for\nparameter \u{1b}(B\u{1b}[m\u{1b}[1m\"parameter_with_long_name\"\u{1b}(B\u{1b}[m (default has\ntype \u{1b}[1m\"None\"\u{1b}(B\u{1b}[m, parameter has type \u{1b}[1m\"dict[str, int]\"\u{1b}(B\u{1b}[m) \n\u{1b}[33m[assignment]\u{1b}(B\u{1b}[m\n    def f(parameter_with_long_name...\n                    ^~~~\nFound 1 error in 1 file (checked 1 source file)\n",
            ),
            (
                "mypy .",
                "app",
                "mod.py:5: error: Incompatible default for parameter \"parameter_with_long_name\" (default has type \"None\", parameter has type \"dict[str, int]\")  [assignment]\n",
            ),
            (
                "mypy --output json .",
                "",
                "{\"file\": \"app/mod.py\", \"line\": 5, \"column\": 64, \"message\": \"Incompatible default for parameter \\\"parameter_with_long_name\\\" (default has type \\\"None\\\", parameter has type \\\"dict[str, int]\\\")\", \"hint\": null, \"code\": \"assignment\", \"severity\": \"error\"}\n",
            ),
        ],
    );
}

#[test]
fn a_test_of_vitest_is_one_in_every_project_colour_and_reporter() {
    const FRAME: &str = " ❯ tests/basic.test.js:4:15\n      3|   const store = {}\n";
    let plain = |head: &str| -> &'static str {
        Box::leak(format!(" RUN  v5.1.1 /home/dev/project\n\n⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯\n\n{head}tests/basic.test.js > can set the store\nTypeError: store.get(...).setState2 is not a function\n{FRAME}\n⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/1]⎯\n").into())
    };
    assert_one(
        "vitest",
        "tests/basic.test.js",
        &[
            ("vitest run", "", plain(" FAIL  ")),
            ("vitest run", "", plain(" FAIL  |zustand| ")),
            (
                "vitest run",
                "",
                plain(
                    "\u{1b}[41m\u{1b}[1m FAIL \u{1b}[22m\u{1b}[49m \u{1b}[30m\u{1b}[42m zustand \u{1b}[49m\u{1b}[39m ",
                ),
            ),
            (
                "vitest run --reporter=tap",
                "",
                "TAP version 13\n1..1\nnot ok 1 - tests/basic.test.js # time=93.09ms {\n    1..1\n    not ok 1 - can set the store # time=31.26ms\n        ---\n        error:\n            name: \"TypeError\"\n            message: \"store.get(...).setState2 is not a function\"\n        at: \"/home/dev/project/tests/basic.test.js:4:15\"\n        ...\n}\n",
            ),
            (
                "vitest run --reporter=json",
                "",
                r#"{"numTotalTests":1,"testResults":[{"assertionResults":[{"ancestorTitles":[],"fullName":"can set the store","status":"failed","title":"can set the store","failureMessages":["TypeError: store.get(...).setState2 is not a function\n    at /home/dev/project/tests/basic.test.js:4:15"]}],"message":"","name":"/home/dev/project/tests/basic.test.js","status":"failed"}]}"#,
            ),
        ],
    );
}

#[test]
fn a_finding_of_eslint_is_one_in_text_and_json() {
    assert_one(
        "eslint",
        "src/a.js",
        &[
            (
                "eslint src",
                "",
                "\n/home/dev/project/src/a.js\n  1:11  error  'undefinedThing' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)\n",
            ),
            (
                "eslint .",
                "",
                "\n\u{1b}[4m/home/dev/project/src/a.js\u{1b}[24m\n  \u{1b}[2m1:11\u{1b}[22m  \u{1b}[31merror\u{1b}[39m  'undefinedThing' is not defined  \u{1b}[2mno-undef\u{1b}[22m\n\n\u{1b}[31m\u{1b}[1m✖ 1 problem (1 error, 0 warnings)\u{1b}[22m\u{1b}[39m\n",
            ),
            (
                "eslint -f json src",
                "",
                r#"[{"filePath":"/home/dev/project/src/a.js","messages":[{"ruleId":"no-undef","severity":2,"message":"'undefinedThing' is not defined.","line":1,"column":11}],"errorCount":1}]"#,
            ),
        ],
    );
}

#[test]
fn a_finding_of_ruff_is_one_in_every_format() {
    assert_one(
        "ruff",
        "app/mod.py",
        &[
            (
                "ruff check .",
                "",
                "LOG015 `exception()` call on root logger\n --> app/mod.py:7:5\n  |\n7 |     logging.exception(\"hi\")\n  |     ^^^^^^^^^^^^^^^^^^^^^^^\n  |\n\nFound 1 error.\n",
            ),
            (
                "ruff check --output-format concise .",
                "",
                "app/mod.py:7:5: LOG015 `exception()` call on root logger\nFound 1 error.\n",
            ),
            ("ruff check .", "app", "mod.py:7:5: LOG015 `exception()` call on root logger\nFound 1 error.\n"),
            (
                "ruff check --output-format json .",
                "",
                r#"[{"cell":null,"code":"LOG015","end_location":{"column":28,"row":7},"filename":"/home/dev/project/app/mod.py","fix":null,"location":{"column":5,"row":7},"message":"`exception()` call on root logger","noqa_row":7,"url":"https://docs.astral.sh/ruff/rules/root-logger-call"}]"#,
            ),
        ],
    );
}

#[test]
fn a_file_that_is_not_formatted_is_one_item() {
    let definitions = DefinitionSet::shipped_only();
    let of = |command, output| items(&definitions, &(command, "", output));
    let diff = of(
        "cargo fmt --check",
        "Diff in /home/dev/project/src/lib.rs:1:\n use std::fmt;\n-fn  a() {}\n+fn a() {}\n\nDiff in /home/dev/project/src/lib.rs:40:\n }\n-fn  b() {}\n+fn b() {}\n",
    );
    assert_eq!(diff.len(), 1, "{diff:?}");
    let check = of(
        "prettier --check .",
        "Checking formatting...\n[warn] src/a.js\n[warn] Code style issues found in the above file. Run Prettier with --write to fix.\n",
    );
    let list = of("prettier --list-different .", "src/a.js\n");
    assert_eq!(check.len(), 1, "{check:?}");
    assert_eq!(list.len(), 1, "{list:?}");
    assert_eq!(compute_fingerprint(&check[0]).pattern, compute_fingerprint(&list[0]).pattern);
    assert_eq!(check[0].message, "not formatted");
}
