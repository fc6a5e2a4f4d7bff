//! Receipts: `--reuse` skips what passed on this very tree and nothing else, and receipts prove it to others.

mod attest;
mod elsewhere;
mod never_lies;
mod verdict;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;
use verify_run::run::CommandEnd;

use crate::sandbox::{Invocation, Outcome, Sandbox, need};

/// What the test runner of these tests prints.
const PASSED: &str = "echo '===== 3 passed in 0.01s ====='";

/// A repository with a test runner that passes, ignored files, and a submodule-free tree of a few files.
fn project(runner: &str) -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.tool("pytest", runner);
    sandbox.write("src/a.ts", "export const a = 1;\n");
    sandbox.write(".gitignore", "ignored\nnode_modules\n.local.json\n");
    sandbox.commit("The project");
    sandbox
}

/// `verify-run --reuse pytest`, recorded when it returns.
fn reuse(sandbox: &Sandbox) -> Invocation<'_> {
    sandbox.verify_run(["--reuse", "--sync", "pytest"])
}

/// Whether the command was skipped: nothing on standard output, one line on standard error.
#[track_caller]
fn is_reused(outcome: &Outcome) -> bool {
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{}", outcome.stderr());
    let is_said = outcome.stderr().starts_with("verify-run: reused: passed ");
    assert_eq!(is_said, outcome.stdout().is_empty(), "{} {}", outcome.stdout(), outcome.stderr());
    assert!(!is_said || outcome.stderr().lines().count() == 1, "{}", outcome.stderr());
    is_said
}

/// Runs the check; it has to run, and to say this.
#[track_caller]
fn runs_saying(invocation: Invocation<'_>, said: &str) {
    let outcome = invocation.outcome();
    assert!(!is_reused(&outcome), "{}", outcome.stderr());
    assert_eq!(outcome.stderr(), if said.is_empty() { String::new() } else { format!("verify-run: {said}\n") });
}

#[track_caller]
fn receipts(sandbox: &Sandbox) -> Vec<Value> {
    let list = sandbox.verify_run(["gate", "receipt", "list", "--json"]).prints_json();
    list["receipts"].as_array().expect("a list").clone()
}

#[test]
fn a_check_that_passed_on_this_tree_is_not_run_again() {
    let sandbox = project(PASSED);
    runs_saying(reuse(&sandbox), "");
    let receipts = receipts(&sandbox);
    let id = receipts[0]["id"].as_str().expect("an id");
    assert!(id.starts_with("e-") && receipts[0]["tests"] == 3 && receipts[0]["command"] == "pytest", "{receipts:?}");
    let again = reuse(&sandbox).outcome();
    assert!(is_reused(&again), "{}", again.stderr());
    assert_eq!(again.stderr(), format!("verify-run: reused: passed just now on this tree ({id}), 3 tests\n"));
    // Without the option it runs as ever, and another command was never asked for.
    assert!(!sandbox.verify_run(["pytest"]).outcome().stdout().is_empty());
    runs_saying(sandbox.verify_run(["--reuse", "pytest", "-q"]), "");
}

#[test]
fn each_refusal_names_what_changed() {
    let sandbox = project(PASSED);
    sandbox.write("node_modules/.package-lock.json", "{}");
    runs_saying(reuse(&sandbox), "");
    sandbox.write("src/a.ts", "export const a = 2;\n");
    runs_saying(reuse(&sandbox), "not reused: src/a.ts changed");
    sandbox.write("src/b.ts", "");
    sandbox.write("src/a.ts", "export const a = 3;\n");
    runs_saying(reuse(&sandbox), "not reused: 2 files changed: src/a.ts, src/b.ts");
    sandbox.git(["stash", "--include-untracked", "--quiet"]);
    assert!(is_reused(&reuse(&sandbox).outcome()));
    runs_saying(reuse(&sandbox).env("NODE_ENV", "x"), "not reused: NODE_ENV changed");
    // `npm i left-pad`
    sandbox.write("node_modules/.package-lock.json", "{\"packages\": {\"left-pad\": {}}}");
    sandbox.write("node_modules/left-pad/package.json", "{}");
    runs_saying(reuse(&sandbox), "not reused: node_modules changed");
    let other = sandbox.tmp().join("other");
    fs::create_dir(&other).expect("a folder");
    fs::copy(sandbox.tool("pytest", PASSED), other.join("pytest")).expect("another program");
    let path = format!("{}:/usr/bin:/bin", other.display());
    runs_saying(reuse(&sandbox).env("PATH", path), "not reused: pytest changed");
}

#[test]
fn real_tests_of_node_are_reused_until_something_changes() {
    let (Some(npm), Some(_)) = (need("npm"), need("node")) else { return };
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(npm.parent().expect("a folder"));
    sandbox.write("package.json", "{\"name\": \"shop\", \"scripts\": {\"test\": \"node --test\"}}");
    sandbox.write("test/price.test.js", "require('node:test')('costs', () => {});\n");
    sandbox.commit("The shop");
    let test = || sandbox.verify_run(["--reuse", "--sync", "npm", "test"]).outcome();
    let first = test();
    assert!(!is_reused(&first) && first.stdout().contains("pass 1"), "{} {}", first.stdout(), first.stderr());
    assert!(test().stderr().ends_with(", 1 test\n"));
    // The runner finds no test: that it passes proves nothing.
    fs::remove_file(sandbox.path("test/price.test.js")).expect("removed");
    sandbox.write("index.js", "\n");
    assert!(!is_reused(&test()));
    assert!(!is_reused(&test()));
}

#[test]
fn commits_that_change_no_file_keep_receipts() {
    let sandbox = project(PASSED);
    runs_saying(reuse(&sandbox), "");
    sandbox.git(["commit", "--quiet", "--amend", "--message", "Another message"]);
    assert!(is_reused(&reuse(&sandbox).outcome()), "amended");
    sandbox.git(["switch", "--quiet", "--create", "topic"]);
    assert!(is_reused(&reuse(&sandbox).outcome()), "on a branch with the same tree");
    sandbox.write("src/a.ts", "changed\n");
    sandbox.commit("There");
    sandbox.write("src/a.ts", "export const a = 1;\n");
    sandbox.commit("And back");
    assert!(is_reused(&reuse(&sandbox).outcome()), "back");
    sandbox.git(["reset", "--quiet", "--soft", "main~1"]);
    sandbox.commit("Squashed");
    assert!(is_reused(&reuse(&sandbox).env("EDITOR", "ed").env("TERM", "dumb").outcome()), "squashed");
}

#[test]
fn a_pre_commit_hook_reuses_what_an_agent_ran() {
    let sandbox = project(PASSED);
    sandbox.write("src/b.ts", "export const b = 1;\n");
    runs_saying(reuse(&sandbox), "");
    let said = sandbox.tmp().join("said");
    let verify_run = crate::sandbox::VERIFY_RUN;
    let hook = format!("#!/bin/sh\nexec {verify_run} --reuse pytest 2>{}\n", said.display());
    let hooks = sandbox.path(".git/hooks");
    fs::create_dir_all(&hooks).expect("a folder");
    fs::write(hooks.join("pre-commit"), hook).expect("a hook");
    fs::set_permissions(hooks.join("pre-commit"), PermissionsExt::from_mode(0o755)).expect("executable");
    sandbox.git(["add", "--all"]);
    sandbox.git(["-c", "core.hooksPath=.git/hooks", "commit", "--quiet", "--message", "Add b"]);
    let said = fs::read_to_string(said).expect("what the hook said");
    assert!(said.starts_with("verify-run: reused: passed "), "{said}");
}

#[test]
fn a_flaky_check_is_run_each_time() {
    let sandbox = project(
        "[ -e \"$HOME/good\" ] || { echo 'FAILED tests/a.py::b - assert 0'; exit 1; }\necho '= 3 passed in 1s ='",
    );
    std::thread::sleep(std::time::Duration::from_millis(20));
    let failed = reuse(&sandbox).outcome();
    assert_eq!((failed.ended, failed.stderr()), (CommandEnd::Exit(1), ""));
    fs::write(sandbox.home().join("good"), "").expect("a file");
    runs_saying(reuse(&sandbox), "");
    sandbox.settle();
    let flakes = sandbox.verify_run(["fix", "list", "--flakes", "--json"]).prints_json();
    assert_eq!(flakes["flakes"][0]["proof"], "proven", "{flakes:#}");
    runs_saying(reuse(&sandbox), "not reused: the check is flaky");
    let doubt =
        sandbox.verify_run(["gate", "receipt", "show", "--json"]).arg(receipts(&sandbox)[0]["id"].as_str().unwrap());
    assert_eq!(doubt.prints_json()["doubt"], "the check is flaky");
}

#[test]
fn a_run_that_proves_too_little_leaves_no_receipt() {
    let cases = [
        ("echo changed > src/a.ts; echo '= 3 passed in 1s ='", "no receipt: src/a.ts changed while it ran"),
        ("echo new > new.txt; echo '= 3 passed in 1s ='", "no receipt: new.txt changed while it ran"),
        (
            "cp src/a.ts x; cp x src/a.ts; rm x; echo '= 3 passed in 1s ='",
            "no receipt: a file was written while it ran",
        ),
        ("echo '= no tests ran in 1s ='", "no receipt: its output does not say that a test ran"),
        ("echo fine", "no receipt: its output does not say that a test ran"),
    ];
    for (runner, said) in cases {
        let sandbox = project(runner);
        runs_saying(reuse(&sandbox), said);
        assert!(receipts(&sandbox).is_empty(), "{runner}");
    }
    let sandbox = project(PASSED);
    let elsewhere = sandbox.verify_run(["--reuse", "--sync", "--shell", "pytest; true"]).outcome();
    assert_eq!(elsewhere.stderr(), "verify-run: no receipt: its exit code is not the check's own\n");
    let silent = sandbox.verify_run(["--reuse", "--sync", "pytest", "-"]).outcome();
    assert_eq!(silent.stderr(), "verify-run: no receipt: it may read its standard input\n");
    assert!(receipts(&sandbox).is_empty());
}

#[test]
fn what_is_not_recorded_is_run_as_ever() {
    let sandbox = project(PASSED);
    runs_saying(reuse(&sandbox), "");
    runs_saying(reuse(&sandbox).env("VERIFY_RUN_DISABLE", "1"), "");
    runs_saying(sandbox.verify_run(["--reuse", "--no-record", "pytest"]), "");
    let inside =
        sandbox.verify_run(["--record", "sh", "-c"]).arg(format!("{} --reuse pytest", crate::sandbox::VERIFY_RUN));
    assert!(!inside.outcome().stdout().is_empty());
    let other = sandbox.verify_run(["--reuse", "echo", "hello"]).outcome();
    assert_eq!((other.stdout(), other.stderr()), ("hello\n", ""));
    // Outside of a repository nothing is known of the files.
    let outside = Sandbox::new();
    outside.tool("pytest", PASSED);
    runs_saying(reuse(&outside), "no receipt: not in a git work tree");
}

#[test]
fn line_ends_that_no_tree_has_count() {
    let sandbox = project(PASSED);
    sandbox.write(".gitattributes", "*.ts text=auto eol=lf\n");
    sandbox.commit("Attributes");
    runs_saying(reuse(&sandbox), "");
    assert!(is_reused(&reuse(&sandbox).outcome()));
    sandbox.write("src/a.ts", "export const a = 1;\r\n");
    runs_saying(reuse(&sandbox), "not reused: line ends of files changed");
    sandbox.write("src/a.ts", "export const a = 1;\nb\r\n");
    runs_saying(reuse(&sandbox), "not reused: src/a.ts has lines with both kinds of ends");
}

#[test]
fn files_that_git_is_asked_to_overlook_count() {
    let sandbox = project(PASSED);
    for option in ["--assume-unchanged", "--skip-worktree"] {
        sandbox.git(["checkout", "--quiet", "."]);
        runs_saying_or_reused(&sandbox);
        sandbox.git(["update-index", option, "src/a.ts"]);
        sandbox.write("src/a.ts", format!("export const a = '{option}';\n"));
        runs_saying(reuse(&sandbox), "not reused: src/a.ts changed");
        sandbox.git(["update-index", &option.replace("--", "--no-"), "src/a.ts"]);
    }
}

/// Runs the check, so that there is a receipt.
fn runs_saying_or_reused(sandbox: &Sandbox) {
    assert_eq!(reuse(sandbox).outcome().ended, CommandEnd::Exit(0));
    assert!(is_reused(&reuse(sandbox).outcome()));
}

#[test]
fn an_old_receipt_is_not_reused() {
    let sandbox = project(PASSED);
    sandbox.write("verify-run.toml", "[receipts]\ndays = 0\n");
    runs_saying(reuse(&sandbox), "");
    runs_saying(reuse(&sandbox), "not reused: it passed just now (setting `receipts.days` = 0)");
}

#[test]
fn a_later_failure_on_the_same_tree_counts() {
    let sandbox =
        project("[ ! -e \"$HOME/bad\" ] || { echo 'FAILED a.py::b - assert 0'; exit 1; }\necho '= 3 passed in 1s ='");
    runs_saying(reuse(&sandbox), "");
    fs::write(sandbox.home().join("bad"), "").expect("a file");
    let failed = sandbox.verify_run(["--sync", "pytest"]).outcome();
    assert_eq!(failed.ended, CommandEnd::Exit(1));
    let outcome = reuse(&sandbox).outcome();
    let said = outcome.stderr();
    assert!(
        said == "verify-run: not reused: it failed since\n" || said == "verify-run: not reused: the check is flaky\n"
    );
    assert_eq!(outcome.ended, CommandEnd::Exit(1));
}

#[test]
fn what_a_commit_would_have_is_compared_with_the_index() {
    let sandbox = project(PASSED);
    sandbox.write("src/a.ts", "export const a = 2;\n");
    runs_saying(reuse(&sandbox), "");
    let check = || sandbox.verify_run(["gate", "receipt", "check", "--staged", "--json", "--", "pytest"]).outcome();
    let read = |outcome: &Outcome| -> Value { serde_json::from_str(outcome.stdout()).expect("JSON") };
    let unstaged = check();
    assert_eq!(unstaged.ended, CommandEnd::Exit(1));
    let said = read(&unstaged);
    assert_eq!((&said["covered"], &said["files"]), (&false.into(), &serde_json::json!(["src/a.ts"])), "{said:#}");
    assert_eq!(said["reason"], "src/a.ts changed");
    sandbox.git(["add", "src/a.ts"]);
    let staged = check();
    assert_eq!((staged.ended, &read(&staged)["covered"]), (CommandEnd::Exit(0), &true.into()), "{}", staged.stdout());
    let objects = |sandbox: &Sandbox| sandbox.git(["count-objects"]);
    let before = objects(&sandbox);
    check();
    assert_eq!(objects(&sandbox), before, "the user's objects are not written");
    let never = sandbox.verify_run(["gate", "receipt", "check", "--", "pytest", "-q"]).outcome();
    assert_eq!((never.ended, never.stdout()), (CommandEnd::Exit(1), "not covered: no receipt of this command\n"));
}

#[test]
fn receipts_are_rebuilt_from_events_and_purged_with_their_run() {
    let sandbox = project(PASSED);
    runs_saying(reuse(&sandbox), "");
    fs::remove_file(sandbox.state().join("store.db")).expect("removed");
    for name in ["store.db-wal", "store.db-shm"] {
        let _ = fs::remove_file(sandbox.state().join(name));
    }
    let list = sandbox.verify_run(["gate", "receipt", "list"]).outcome();
    assert!(list.stdout().starts_with("e-") && list.stderr().contains("rebuilt"), "{}", list.stderr());
    assert!(is_reused(&reuse(&sandbox).outcome()));
    let run =
        receipts(&sandbox)[0]["id"].as_str().map(|id| sandbox.verify_run(["gate", "receipt", "show", "--json", id]));
    let run = run.expect("a receipt").prints_json()["run"].as_str().expect("a run").to_owned();
    assert_eq!(sandbox.verify_run(["store", "purge", &run]).outcome().ended, CommandEnd::Exit(0));
    assert!(receipts(&sandbox).is_empty());
    assert!(!is_reused(&reuse(&sandbox).outcome()));
}

/// Runs a program of the machine in the sandbox; whether it worked.
fn works(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}
