//! Looking back: the runs of a project, one of them with its output, and the last one again.

use verify_run::run::CommandEnd;

use crate::sandbox::{Sandbox, need, tools};
use crate::terminal::Terminal;

#[test]
fn runs_are_listed_by_tool_outcome_and_time() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "printf 'src/a.js:1:1: error: broken\\n'; exit $CODE");
    sandbox.tool("tsc", "exit 0");
    sandbox.verify_run(["--sync", "eslint", "."]).env("CODE", "1").outcome();
    sandbox.verify_run(["--sync", "eslint", "."]).env("CODE", "0").outcome();
    sandbox.verify_run(["--sync", "tsc"]).outcome();
    let log = |arguments: &[&str]| -> Vec<(String, bool)> {
        let words = ["log", "--json"].iter().chain(arguments);
        let runs = sandbox.verify_run(words).prints_json()["runs"].clone();
        let run = |run: &serde_json::Value| (run["tool"].as_str().expect("a tool").to_owned(), run["passed"] == true);
        runs.as_array().expect("runs").iter().map(run).collect()
    };
    let eslint = |passed| ("eslint".to_owned(), passed);
    assert_eq!(log(&[]), [("tsc".to_owned(), true), eslint(true), eslint(false)]);
    assert_eq!(log(&["--tool", "eslint", "-n", "1"]), [eslint(true)]);
    assert_eq!(log(&["--failed"]), [eslint(false)]);
    assert_eq!(log(&["--passed", "--since", "1h"]).len(), 2);
    assert_eq!(log(&["--since", "2099-01-01"]), []);
    let refused = sandbox.verify_run(["log", "--since", "yesterday"]).outcome();
    assert_eq!(refused.ended, CommandEnd::Exit(2));
    assert!(refused.stderr().contains("an age such as `2h`"), "{}", refused.stderr());
}

#[test]
fn a_run_is_shown_with_its_output_in_colour() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "printf '\\033[31msrc/a.js:1:1: error: broken\\033[0m\\napi_key=%s\\n' sk-live-4eC39HqLyjWDarjtT1zdp7dc; exit 1");
    sandbox.verify_run(["--sync", "eslint", "."]).outcome();
    let failure = sandbox.verify_run(["last", "--json"]).prints_json()["failure"].as_str().expect("an id").to_owned();
    assert!(sandbox.verify_run(["show", &failure[..5]]).prints().contains("failed with exit code 1"));
    let plain = sandbox.verify_run(["last", "--output"]).prints();
    assert!(plain.starts_with("src/a.js:1:1: error: broken\napi_key=[redacted:"), "{plain}");
    let (_, screen) = Terminal::start(sandbox.verify_run(["show", "--output", &failure])).ends();
    let screen = String::from_utf8_lossy(&screen);
    assert!(screen.contains("\u{1b}[31msrc/a.js:1:1: error: broken\u{1b}[0m"), "{screen:?}");
    assert!(!screen.contains("sk-live"), "{screen:?}");
    sandbox.tool("eslint", "exit 0");
    sandbox.verify_run(["--sync", "eslint", "."]).outcome();
    let nothing = sandbox.verify_run(["last", "--output"]).outcome();
    assert_eq!(nothing.ended, CommandEnd::Exit(1));
    assert!(nothing.stderr().contains("is not kept: it passed"), "{}", nothing.stderr());
}

#[test]
fn the_last_check_runs_again_where_it_ran() {
    let sandbox = Sandbox::repository();
    sandbox.write("web/package.json", "{}");
    sandbox.tool("eslint", "echo \"in ${PWD##*/}: $*\"; exit 1");
    sandbox.verify_run(["--sync", "eslint", "a b.js"]).dir("web").outcome();
    sandbox.verify_run(["again"]).expect(CommandEnd::Exit(1), "in web: a b.js\n", "eslint 'a b.js'\n");
    sandbox.settle();
    assert_eq!(sandbox.verify_run(["log", "--json"]).prints_json()["runs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_can_not_be_run_again_is_said_with_the_reason() {
    let sandbox = Sandbox::repository();
    let again = |arguments: &[&str]| {
        let outcome = sandbox.verify_run(["again"].iter().chain(arguments)).outcome();
        assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(1), ""));
        outcome.stderr().to_owned()
    };
    assert!(again(&[]).contains("no run is recorded"));
    sandbox.tool("eslint", "exit ${CODE:-0}");
    sandbox.verify_run(["--sync", "eslint", "."]).outcome();
    assert!(again(&["--failed"]).contains("nothing failed in the last run: eslint ."));
    sandbox.verify_run(["--sync", "eslint", "."]).env("CODE", "1").outcome();
    assert!(again(&["--failed"]).contains("no failing test has a known name"));
    sandbox.verify_run(["--sync", "eslint", "--token=sk-live-4eC39HqLyjWDarjtT1zdp7dc"]).outcome();
    assert!(again(&[]).contains("held a secret"));
}

#[test]
fn only_what_failed_runs_again_in_pytest_and_vitest() {
    let (Some(_), Some(_)) = (need("pytest"), need("vitest")) else { return };
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(tools());
    sandbox.write("app/test_price.py", "def test_net():\n    assert 1 == 2\n\ndef test_gross():\n    pass\n");
    sandbox.verify_run(["--sync", "pytest", "-q", "app"]).outcome();
    let command = sandbox.verify_run(["again", "--failed", "--print"]).prints();
    assert_eq!(command, "pytest -q app/test_price.py::test_net\n");
    let again = sandbox.verify_run(["again", "--failed"]).outcome();
    assert!(again.stdout().contains("1 failed in"), "{}", again.stdout());

    let packages = tools().join("../node/node_modules");
    std::os::unix::fs::symlink(packages, sandbox.path("node_modules")).expect("a link");
    sandbox.write(
        "sum.test.js",
        "import { describe, expect, test } from 'vitest';\n\
         describe('sums', () => {\n  test('adds (two)', () => expect(1).toBe(2));\n  test('adds none', () => {});\n});\n",
    );
    sandbox.verify_run(["--sync", "vitest", "run"]).outcome();
    let command = sandbox.verify_run(["again", "--failed", "--print"]).prints();
    assert_eq!(command, "vitest run -t 'sums (> )?adds \\(two\\)'\n");
    let again = sandbox.verify_run(["again", "--failed"]).env("NO_COLOR", "1").outcome();
    assert!(again.stdout().contains("1 failed | 1 skipped"), "{}", again.stdout());
}

#[test]
fn a_table_fits_its_terminal_and_is_whole_anywhere_else() {
    let sandbox = Sandbox::repository();
    let message = "a finding with many words ".repeat(6);
    sandbox.tool("eslint", &format!("printf '\\n%s\\n  1:1  error  {message} no-undef\\n' \"$PWD/src/a.js\"; exit 1"));
    sandbox.write("src/a.js", "x");
    sandbox.verify_run(["--sync", "eslint", "src", "--max-warnings", "0", "--rule", "no-undef"]).outcome();
    sandbox.verify_run(["--sync", "eslint", "src", "--max-warnings", "0", "--rule", "no-undef"]).outcome();
    for arguments in [&["log"][..], &["lesson", "list"], &["pattern", "list"], &["fix", "list"]] {
        let whole = sandbox.verify_run(arguments).prints();
        assert!(whole.lines().next().is_some_and(|line| line.contains('\t') && line.len() > 80), "{whole}");
        let (_, screen) = Terminal::start(sandbox.verify_run(arguments).env("NO_COLOR", "1")).ends();
        let screen = String::from_utf8(screen).expect("text");
        let longest = screen.lines().map(|line| line.trim_end().chars().count()).max();
        assert!(longest.is_some_and(|longest| longest <= 80) && screen.contains('…'), "{arguments:?}:\n{screen}");
        let header = screen.lines().next().expect("a header");
        assert_eq!(header, header.to_lowercase());
    }
}

#[test]
fn json_hides_no_character_of_a_path_or_an_argument() {
    const HIDDEN: [char; 5] = ['\u{202e}', '\u{200b}', '\u{2066}', '\u{feff}', '\u{e0041}'];
    let sandbox = Sandbox::repository();
    let name: String = "a".chars().chain(HIDDEN).chain("b.js".chars()).collect();
    sandbox.tool("eslint", "printf '%s:1:1: error: broken\\n' \"$1\"; exit 1");
    sandbox.write(&name, "x");
    sandbox.verify_run(["--sync", "eslint", &name]).outcome();
    for arguments in [&["last"][..], &["log"], &["lesson", "list"]] {
        let printed = sandbox.verify_run(arguments.iter().chain(&["--json"])).prints();
        assert!(!printed.contains(HIDDEN), "{arguments:?}: {printed:?}");
        let escaped = "a\\u202e\\u200b\\u2066\\ufeff\\udb40\\udc41b.js";
        assert!(printed.contains(escaped), "{arguments:?}: {printed}");
        let value: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
        assert!(value.to_string().contains(&name), "the value is what it was: {printed}");
    }
}

#[test]
fn the_last_run_names_ten_files_and_counts_the_rest() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "for n in $(seq 10 40); do echo \"src/f$n.js:1:1: error: broken $n\"; done; exit 1");
    for n in 10..=40 {
        sandbox.write(format!("src/f{n}.js"), "x");
    }
    sandbox.verify_run(["--sync", "eslint", "."]).outcome();
    let printed = sandbox.verify_run(["last"]).prints();
    let files = printed.lines().find(|line| line.starts_with("files: ")).expect("files");
    assert!(files.ends_with("src/f19.js and 21 more"), "{files}");
    let json = sandbox.verify_run(["last", "--json"]).prints_json();
    assert_eq!(json["files"].as_array().map(Vec::len), Some(31));
}
