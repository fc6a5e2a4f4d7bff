//! Failures whose lesson would be useless: recorded, without a file.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use verify_run::run::CommandEnd;

use crate::sandbox::{Sandbox, wait_until};
use crate::terminal::Terminal;

/// Runs a tool that prints `output` and exits with `code`; how many lessons there are then.
fn lessons_of(command: &[&str], output: &str, code: u8) -> usize {
    let sandbox = Sandbox::repository();
    sandbox.write("tests/test_a.py", "x");
    sandbox.write("src/a.ts", "x");
    sandbox.tool(command[0], &format!("printf '%s' \"$OUTPUT\"; exit {code}"));
    let ended = sandbox.verify_run(command).env("OUTPUT", output).outcome().ended;
    assert_eq!(ended, CommandEnd::Exit(code));
    let lessons = sandbox.lessons().len();
    let run = sandbox.events().into_iter().find(|event| event["kind"] == "run").expect("it is recorded");
    assert!(run["failure"].is_object(), "{run}");
    lessons
}

#[test]
fn a_mistyped_option_or_file_is_no_lesson() {
    let no_files = "\nOops! Something went wrong! :(\n\nESLint: 10.4.0\n\nNo files matching the pattern \"src/nofile.ts\" were \
                    found.\nPlease check for typing mistakes in the pattern.\n\n";
    let nothing =
        "\nNo test files found, exiting with code 1\n\nfilter: tests/nothing\ninclude: **/*.{test,spec}.?(c|m)[jt]s\n";
    for (command, output, code) in [
        (&["eslint", "--nope"][..], "Invalid option '--nope' - perhaps you meant '--no'?\n", 2),
        (&["tsc", "--noEmitt"], "error TS5025: Unknown compiler option '--noEmitt'. Did you mean 'noEmit'?\n", 1),
        (&["eslint", "src/nofile.ts"], no_files, 2),
        (&["vitest", "run", "tests/nothing"], nothing, 1),
        (
            &["pytest", "tests/nothing"],
            "ERROR: file or directory not found: tests/nothing\n\nno tests ran in 0.00s\n",
            4,
        ),
        (
            &["pytest", "tests/test_a.py::test_nope"],
            "ERROR: not found: /w/tests/test_a.py::test_nope\n(no match in any of [<Module test_a.py>])\n",
            4,
        ),
        (&["pytest", "--nope"], "ERROR: usage: pytest [options]\npytest: error: unrecognized arguments: --nope\n", 4),
        (&["cargo", "test", "--nope"], "error: unexpected argument '--nope' found\n\nUsage: cargo test [OPTIONS]\n", 1),
        (&["go", "vet", "-nope", "./..."], "flag provided but not defined: -nope\nusage: go vet [build flags]\n", 2),
        (
            &["ruff", "check", "nofile.py"],
            "nofile.py:1:1: E902 No such file or directory (os error 2)\nFound 1 error.\n",
            1,
        ),
        (&["mypy", "nofile.py"], "mypy: can't read file 'nofile.py': No such file or directory\n", 2),
    ] {
        assert_eq!(lessons_of(command, output, code), 0, "{command:?}");
    }
}

#[test]
fn a_failure_that_reads_like_one_has_its_lesson() {
    for (command, output, code) in [
        (
            &["pytest", "tests/test_a.py"][..],
            "FAILED tests/test_a.py::test_x - FileNotFoundError: [Errno 2] No such file or directory: 'data.txt'\n1 failed in 0.01s\n",
            1,
        ),
        (
            &["pytest", "-q"],
            "FAILED tests/test_a.py::test_cli - AssertionError: assert 'unknown option -v' == ''\n1 failed\n",
            1,
        ),
        (&["tsc", "--noEmit"], "src/a.ts(1,1): error TS2304: Cannot find name 'x'.\n", 2),
        (&["eslint", "src"], "src/a.ts:1:1: error: unknown rule\n", 1),
    ] {
        assert_eq!(lessons_of(command, output, code), 1, "{command:?}");
    }
}

#[test]
fn what_nobody_saw_and_what_a_formatter_mends_is_no_lesson() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo 'src/a.js:1:1: error: wrong'; exit 1");
    sandbox
        .tool("prettier", "echo '[warn] src/a.js'; echo '[warn] Code style issues found in the above file.'; exit 1");
    let line = format!("{} eslint . >/dev/null 2>&1", crate::sandbox::VERIFY_RUN);
    assert_eq!(sandbox.bare("sh").args(["-c", &line]).outcome().ended, CommandEnd::Exit(1));
    sandbox.verify_run(["prettier", "--check", "."]).outcome();
    assert_eq!(sandbox.lessons().len(), 0);
    let line = line.replace(">/dev/null 2>&1", "2>/dev/null");
    assert_eq!(sandbox.bare("sh").args(["-c", &line]).outcome().ended, CommandEnd::Exit(1));
    let lesson = sandbox.lesson();
    assert_eq!(lesson.field("tool"), Some("eslint"), "all that it says was seen");
    // The user wants them all.
    sandbox.keep_lessons();
    sandbox.verify_run(["prettier", "--check", "."]).outcome();
    assert_eq!(sandbox.lessons().len(), 2);
}

#[test]
fn what_a_program_says_of_a_reader_that_left_is_no_failure_of_the_project() {
    let sandbox = Sandbox::repository();
    sandbox.tool(
        "vitest",
        "yes 'progress' | head -c 300000; sleep 0.1; echo more; echo 'Error: write EPIPE' >&2; echo '    at src/a.js:1:2' >&2; exit 1",
    );
    let line = format!("{} vitest run | head -1", crate::sandbox::VERIFY_RUN);
    assert_eq!(sandbox.bare("sh").args(["-c", &line]).outcome().ended, CommandEnd::Exit(0));
    let run = sandbox.events().into_iter().find(|event| event["kind"] == "run").expect("it is recorded");
    let items = run["failure"]["items"].as_array().expect("what it says").clone();
    assert!(items.iter().all(|item| !item["message"].to_string().contains("EPIPE")), "{run}");
    assert_eq!(sandbox.lessons().len(), 0);
}

#[test]
fn an_interrupted_run_is_no_lesson_whatever_its_exit_code() {
    let sandbox = Sandbox::repository();
    // As pytest does: it says so and exits with a code of its own.
    let end = "echo '=== no tests ran in 3.33s ==='; exit 2";
    sandbox.tool("pytest", &format!("trap \"{end}\" INT; echo ready; while :; do sleep 0.1; done"));
    let mut terminal = Terminal::start(sandbox.verify_run(["pytest"]));
    terminal.shows("ready");
    terminal.types("\x03");
    let (ended, _) = terminal.ends();
    assert_eq!(ended, CommandEnd::Exit(2));
    assert_eq!(sandbox.lessons().len(), 0);
    let run = sandbox.events().into_iter().find(|event| event["kind"] == "run").expect("it is recorded");
    assert_eq!(run["failure"]["lesson"]["unwanted"]["why"], "interrupted", "{run}");
    assert_eq!(run["failure"]["category"], "other");
    let patterns = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    assert_eq!(patterns["patterns"], serde_json::json!([]), "it is no pattern either");
}

#[test]
fn a_run_whose_time_was_up_is_no_lesson_whatever_its_exit_code() {
    let sandbox = Sandbox::repository();
    // As cargo-nextest does: it ends its tests, reports what it has and exits with a code of its own.
    let end = "echo 'FAIL a.rs::adds'; exit 100";
    sandbox.tool("pytest", &format!("trap \"{end}\" TERM; touch ready; while :; do sleep 0.1; done"));
    let child = sandbox.verify_run(["pytest"]).spawn();
    wait_until("it runs", || sandbox.path("ready").exists());
    kill(Pid::from_raw(i32::try_from(child.id()).expect("a pid")), Signal::SIGTERM).expect("a signal");
    assert_eq!(child.wait_with_output().expect("it ends").status.code(), Some(100));
    sandbox.verify_run(["log"]).outcome();
    let run = sandbox.events().into_iter().find(|event| event["kind"] == "run").expect("it is recorded");
    assert_eq!(run["failure"]["lesson"]["unwanted"]["why"], "interrupted", "{run}");
    assert_eq!(sandbox.lessons().len(), 0);
}

#[test]
fn a_watch_run_that_its_user_ends_is_no_lesson() {
    let sandbox = Sandbox::repository();
    sandbox.tool("vitest", "echo 'FAIL a.test.js > adds'; exit 1");
    let (ended, _) = Terminal::start(sandbox.verify_run(["vitest"])).ends();
    assert_eq!((ended, sandbox.lessons().len()), (CommandEnd::Exit(1), 0));
    let (ended, _) = Terminal::start(sandbox.verify_run(["vitest", "run"])).ends();
    assert_eq!((ended, sandbox.lessons().len()), (CommandEnd::Exit(1), 1));
}
