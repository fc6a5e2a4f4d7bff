//! Every non-zero exit of a recognised check is recorded, whatever the tool and whatever the exit.

use std::collections::BTreeMap;

use nix::sys::signal::Signal;
use verify_run::run::CommandEnd;

use crate::sandbox::{Sandbox, files_in};
use crate::terminal::Terminal;

/// Tools of the shipped whitelist that are recognised by their name alone.
const TOOLS: [&str; 20] = [
    "eslint",
    "tsc",
    "jest",
    "mocha",
    "pytest",
    "flake8",
    "mypy",
    "pylint",
    "shellcheck",
    "rspec",
    "rubocop",
    "phpunit",
    "phpstan",
    "pyright",
    "hadolint",
    "yamllint",
    "markdownlint",
    "ctest",
    "stylelint",
    "luacheck",
];

/// Ways to die that a check may meet: cancelled, crashed, killed by its surroundings.
const SIGNALS: [Signal; 9] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGABRT,
    Signal::SIGKILL,
    Signal::SIGSEGV,
    Signal::SIGPIPE,
    Signal::SIGTERM,
    Signal::SIGXCPU,
];

#[test]
fn every_exit_code_and_every_death_of_twenty_tools_is_recorded() {
    let sandbox = Sandbox::repository();
    for tool in TOOLS {
        sandbox.tool(tool, "echo \"src/$NAME.c:3:1: error: $NAME went wrong\"\nulimit -c 0\neval \"$ENDING\"");
    }
    let codes = (1..=u8::MAX).map(|code| (format!("exit {code}"), CommandEnd::Exit(code)));
    let deaths = SIGNALS.map(|signal| (format!("kill -{} $$", signal as i32), CommandEnd::Signal(signal as i32)));
    let endings: Vec<_> = codes.chain(deaths).collect();
    let mut wanted = BTreeMap::new();
    for (index, (ending, ended)) in endings.iter().enumerate() {
        let tool = TOOLS[index % TOOLS.len()];
        let run = sandbox.verify_run([tool, "."]).env("NAME", format!("part{index}")).env("ENDING", ending);
        run.expect(*ended, &format!("src/part{index}.c:3:1: error: part{index} went wrong\n"), "");
        *wanted.entry((tool.to_owned(), serde_json::to_string(ended).expect("JSON"))).or_insert(0) += 1;
    }
    let recorded = failures(&sandbox);
    let lost: Vec<_> = wanted.iter().filter(|(run, count)| recorded.get(*run) != Some(count)).collect();
    assert!(lost.is_empty(), "{} of {} runs are lost or doubled: {lost:?}", lost.len(), wanted.len());
    assert_eq!(recorded.len(), wanted.len());
    assert!(files_in(&sandbox.state().join("spool")).is_empty(), "the spool is drained");
}

#[test]
fn a_check_that_is_missing_or_not_executable_is_recorded() {
    let sandbox = Sandbox::repository();
    // (The machine may have the tool.)
    let outcome = sandbox.verify_run(["luacheck", "."]).env("PATH", sandbox.path("nowhere")).outcome();
    assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(127), ""));
    assert!(outcome.stderr().contains("luacheck"), "{}", outcome.stderr());
    std::fs::write(sandbox.path("eslint"), "not a program").expect("a file");
    let outcome = sandbox.verify_run(["./eslint", "."]).outcome();
    assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(126), ""));
    let wanted = [("eslint", 126), ("luacheck", 127)];
    let wanted = wanted.map(|(tool, code)| ((tool.to_owned(), format!("{{\"exit\":{code}}}")), 1));
    assert_eq!(failures(&sandbox), BTreeMap::from(wanted));
}

#[test]
fn the_end_of_a_terminal_does_not_take_the_recorder_with_it() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo 'src/a.js:1:1: error: wrong'; exit 1");
    // The end of a terminal's first process sends SIGHUP to whatever is in the foreground at that moment.
    for runs in 1..=10 {
        let (ended, _) = Terminal::start(sandbox.verify_run(["eslint", "."])).ends();
        assert_eq!(ended, CommandEnd::Exit(1));
        assert_eq!(failures(&sandbox).values().sum::<usize>(), runs);
    }
}

#[test]
fn the_documented_settings_write_the_lessons_that_are_left_out_by_default() {
    let settings = crate::definitions::documented_block("[lesson]\n");
    for (settings, lessons) in [("", 1), (settings, 2)] {
        let sandbox = Sandbox::repository();
        sandbox.write("verify-run.toml", settings);
        sandbox.tool("eslint", "echo \"src/a.js:1:1: error: $WRONG\"; exit $CODE");
        for (wrong, code) in [("one thing", 1), ("one thing", 1), ("another thing", 130)] {
            let run = sandbox.verify_run(["eslint", "."]).env("WRONG", wrong).env("CODE", code.to_string());
            run.expect(CommandEnd::Exit(code), &format!("src/a.js:1:1: error: {wrong}\n"), "");
            sandbox.settle();
        }
        assert_eq!(failures(&sandbox).values().sum::<usize>(), 3);
        assert_eq!(sandbox.lessons().len(), lessons, "with {settings:?}");
    }
}

#[test]
fn a_cancelled_run_is_recorded_and_gets_a_lesson_when_asked() {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "echo \"src/$NAME.c:3:1: error: $NAME went wrong\"; eval \"$ENDING\"");
    let exits = [124, 129, 130, 137, 141, 143].map(|code| format!("exit {code}"));
    let deaths = ["HUP", "INT", "KILL", "PIPE", "TERM"].map(|signal| format!("kill -{signal} $$"));
    let endings: Vec<String> = exits.into_iter().chain(deaths).collect();
    for (setting, lessons) in [("", 0), ("[lesson]\ncancelled = true\n", endings.len())] {
        sandbox.write("verify-run.toml", setting);
        for (index, ending) in endings.iter().enumerate() {
            let name = format!("part{}", ["a", "b", "c", "d"][index % 4].repeat(index / 4 + 1));
            sandbox.verify_run(["luacheck", "."]).env("NAME", name).env("ENDING", ending).outcome();
        }
        assert_eq!(sandbox.lessons().len(), lessons);
    }
    assert_eq!(failures(&sandbox).values().sum::<usize>(), 2 * endings.len());
}

/// How often each tool ended how, over the recorded failures.
fn failures(sandbox: &Sandbox) -> BTreeMap<(String, String), usize> {
    let mut found = BTreeMap::new();
    for event in sandbox.events().iter().filter(|event| event["kind"] == "run" && !event["failure"].is_null()) {
        let tool = event["tool"].as_str().expect("a recognised tool").to_owned();
        *found.entry((tool, event["ended"].to_string())).or_insert(0) += 1;
    }
    found
}

#[test]
fn a_failure_is_recorded_in_full_and_shown() {
    let sandbox = Sandbox::repository();
    let printed = "Checking src/db/a.lua    1 warning\n\n    src/db/a.lua:3:7: (W211) unused variable total\n\n\
                   Total: 1 warning / 0 errors in 1 file\n";
    sandbox.tool("luacheck", &format!("printf '{printed}'; exit 1"));
    sandbox.write("src/db/a.lua", "x\n");
    let identity = ["--task", "fix-login 42", "--session", "s1", "--agent", "codex"];
    sandbox.verify_run(identity).args(["luacheck", "."]).outcome();
    sandbox.settle();
    let last = sandbox.verify_run(["last", "--json"]).prints_json();
    let said = ["task", "session", "agent", "tool", "check", "category"].map(|name| last[name].as_str().unwrap_or("-"));
    assert_eq!(said, ["fix-login 42", "s1", "codex", "luacheck", "lint", "lint_error"]);
    assert!(last["run"].as_str().is_some_and(|run| run.len() == 36) && last["failure"].is_string(), "{last}");
    let item = &last["items"][0];
    assert_eq!(
        (&item["file"], &item["line"], &item["message"]),
        (&"src/db/a.lua".into(), &3.into(), &"unused variable total".into())
    );
    assert_eq!((&last["files"][0], &last["changed"]["files"][0]), (&"src/db/a.lua".into(), &"src/db/a.lua".into()));
    assert_eq!(last["changed"]["since"], "head");
    assert!(last["changed"]["diff"].as_str().is_some_and(|diff| diff.contains("\n+x\n")), "{last}");
    let signature = serde_json::json!({
        "words": ["fix", "login"], "tools": ["luacheck"], "categories": ["lint_error"], "globs": ["src/db/**", "**/*.lua"]
    });
    assert_eq!(last["signature"], signature);
    let pattern = item["pattern"].as_str().expect("an id");
    assert_eq!(sandbox.verify_run(["pattern", "show", pattern, "--json"]).prints_json()["id"], pattern);
}
