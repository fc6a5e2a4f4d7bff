//! `known_failure` is asked with what an agent holds: the end of an output, one line of it, with colours or without.

use serde_json::json;
use verify_run::run::CommandEnd;

use super::Server;
use crate::sandbox::{Sandbox, need, tools};

const PRICES: &str = "def total(prices):\n    return sum(prices) + 1\n\n\ndef vat(price):\n    return price * 2\n";
const TESTS: &str = "from app import pricing\n\n\ndef test_total():\n    assert pricing.total([1, 1]) == 2\n\n\n\
                     def test_vat():\n    assert pricing.vat(10) == 12\n";

/// A project in which two tests fail and a linter finds two things.
fn project() -> Option<(Sandbox, String)> {
    need("pytest")?;
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(tools());
    sandbox.write(".gitignore", "__pycache__\n.pytest_cache\n");
    sandbox.write("app/__init__.py", "");
    sandbox.write("app/pricing.py", PRICES);
    sandbox.write("app/test_pricing.py", TESTS);
    sandbox.write("web/util.js", "x");
    sandbox.tool(
        "eslint",
        "printf '\\n%s\\n  1:8  error  %s\\n  2:8  error  %s\\n\\n✖ 2 problems (2 errors)\\n' \"$PWD/web/util.js\" \\
         \"'fs' is defined but never used  no-unused-vars\" \"'path' is defined but never used  no-unused-vars\"; exit 1",
    );
    let pytest = ["--sync", "pytest", "-q", "-p", "no:cacheprovider", "app"];
    let run =
        sandbox.verify_run(pytest).env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONPATH", sandbox.work()).outcome();
    assert_eq!(run.ended, CommandEnd::Exit(1), "{}", run.stdout());
    let lint = sandbox.verify_run(["--sync", "eslint", "."]).outcome();
    assert_eq!(lint.ended, CommandEnd::Exit(1));
    let printed = run.stdout().to_owned();
    Some((sandbox, printed))
}

#[test]
fn a_summary_line_the_last_lines_and_one_finding_are_known() {
    let Some((sandbox, printed)) = project() else { return };
    let mut server = Server::start(&sandbox).modern();
    let lines: Vec<&str> = printed.lines().collect();
    let tail = lines[lines.len().saturating_sub(4)..].join("\n");
    let red = |text: &str| format!("\u{1b}[31m{text}\u{1b}[0m");
    let one = "FAILED app/test_pricing.py::test_total - assert 3 == 2";
    let other = "\u{1b}[31mFAILED\u{1b}[0m app/test_pricing.py::\u{1b}[1mtest_vat\u{1b}[0m - assert 20 == 12";
    let fs = "  1:8  error  'fs' is defined but never used  no-unused-vars";
    let path = "  2:8  error  'path' is defined but never used  no-unused-vars";
    let cases = [
        (one.to_owned(), "test_total"),
        (other.to_owned(), "test_vat"),
        (red(one), "test_total"),
        (fs.to_owned(), "'fs' is defined"),
        (path.to_owned(), "'path' is defined"),
        (red(path), "'path' is defined"),
        ("app/test_pricing.py::test_vat failed again".to_owned(), "test_vat"),
    ];
    for (text, wanted) in cases {
        for command in [None, Some("pytest -q app"), Some("eslint .")] {
            let (_, known) =
                server.tool("known_failure", json!({"text": text, "command": command.unwrap_or_default()}));
            let what = known["patterns"][0]["what"].as_str().unwrap_or_default();
            assert!(what.contains(wanted), "{text:?} under {command:?}: {known}");
        }
    }
    let (text, known) = server.tool("known_failure", json!({"text": tail}));
    let found: Vec<&str> =
        known["patterns"].as_array().expect("a list").iter().filter_map(|it| it["what"].as_str()).collect();
    assert!(found.iter().take(2).any(|what| what.contains("test_total")), "{tail:?}: {text}");
    assert!(found.iter().take(2).any(|what| what.contains("test_vat")), "{tail:?}: {text}");
    for nothing in ["all good", "1 failed, 3 passed in 0.12s", "error: something else entirely happened here"] {
        let (text, _) = server.tool("known_failure", json!({"query": nothing}));
        assert!(text.starts_with("No similar failure is recorded here."), "{nothing}: {text}");
    }
    server.ends();
}
