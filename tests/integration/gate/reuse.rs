//! What an evaluation does not run again: approved commands that are no known checks, and what a person ran before it.

use std::fs;

use serde_json::Value;
use verify_run::run::CommandEnd;

use super::{checklist, item};
use crate::sandbox::{Invocation, Sandbox, need};

/// A project with a checklist of one command, which notes each of its runs outside of the work tree.
fn project(command: &str, further: &str) -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.write(".gitignore", "build\n");
    sandbox.write("check.sh", "echo ran >>\"$HOME/runs\"\n");
    sandbox.write("src/a.txt", "a\n");
    let list = checklist(&[("X1", command)]);
    sandbox.write(".verify-run/qa-checklist.yml", list.replace("      blocking", &format!("{further}      blocking")));
    sandbox.commit("The project");
    sandbox
}

fn gate(sandbox: &Sandbox) -> Invocation<'_> {
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    sandbox.verify_run(["gate", "run", "--no-prp", "--json", "--trust", digest.trim()])
}

/// Evaluates; how often the command has run by now, and the item.
fn judge(sandbox: &Sandbox) -> (usize, Value) {
    let outcome = gate(sandbox).outcome();
    let document: Value = serde_json::from_str(outcome.stdout()).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    (runs(sandbox), item(&document, "X1").clone())
}

fn runs(sandbox: &Sandbox) -> usize {
    fs::read_to_string(sandbox.home().join("runs")).unwrap_or_default().lines().count()
}

fn is_reused(item: &Value) -> bool {
    assert_eq!(item["status"], "pass", "{item}");
    item["details"].as_str().expect("details").contains("not run again: passed ")
}

#[test]
fn an_approved_command_that_is_no_known_check_is_not_run_again() {
    let sandbox = project("sh tools/licences", "");
    sandbox.write("tools/licences", "echo ran >>\"$HOME/runs\"\n");
    assert_eq!((judge(&sandbox).0, judge(&sandbox).0), (1, 1));
    sandbox.write("tools/licences", "echo ran >>\"$HOME/runs\" # more\n");
    assert_eq!((judge(&sandbox).0, judge(&sandbox).0), (2, 2));
}

#[test]
fn an_approved_script_that_passed_on_this_tree_is_not_run_again() {
    let sandbox = project("sh check.sh", "");
    let (count, first) = judge(&sandbox);
    assert!(count == 1 && !is_reused(&first), "{first}");
    let (count, second) = judge(&sandbox);
    assert!(count == 1 && is_reused(&second), "{second}");
    assert!(
        sandbox.verify_run(["gate", "receipt", "check", "--", "sh", "check.sh"]).outcome().ended == CommandEnd::Exit(0)
    );
    assert_eq!(gate(&sandbox).arg("--fresh").outcome().ended, CommandEnd::Exit(0));
    assert_eq!(runs(&sandbox), 2);
    sandbox.write("src/a.txt", "b\n");
    assert!(!is_reused(&judge(&sandbox).1));
    assert!(!is_reused(
        &serde_json::from_str::<Value>(gate(&sandbox).env("NODE_ENV", "x").outcome().stdout())
            .map(|document| item(&document, "X1").clone())
            .expect("JSON")
    ));
    assert_eq!(runs(&sandbox), 4);
    // A pass that is followed by a failure on the same files proves nothing any more.
    sandbox.write("check.sh", "echo ran >>\"$HOME/runs\"\ntest ! -e \"$HOME/bad\"\n");
    assert_eq!(judge(&sandbox).0, 5);
    fs::write(sandbox.home().join("bad"), "").expect("a file");
    assert_eq!(gate(&sandbox).arg("--fresh").outcome().ended, CommandEnd::Exit(1));
    assert_eq!(judge(&sandbox).0, 7);
}

#[test]
fn only_the_gate_makes_receipts_of_commands_that_are_no_known_checks() {
    let no_tests = "verify-run: no receipt: its output does not say that a test ran\n";
    for (script, said) in [("tools/licences", ""), ("check.sh", no_tests)] {
        let sandbox = project(&format!("sh {script}"), "");
        sandbox.write(script, "echo ran >>\"$HOME/runs\"\n");
        let typed = || sandbox.verify_run(["--sync", "--record", "--reuse", "sh", script]);
        for run in 1..=2 {
            typed().expect(CommandEnd::Exit(0), "", said);
            assert_eq!(runs(&sandbox), run);
        }
        let list = sandbox.verify_run(["gate", "receipt", "list", "--json"]).prints_json();
        assert_eq!(list["receipts"], serde_json::json!([]));
        judge(&sandbox);
        typed().expect(CommandEnd::Exit(0), "", said);
        assert_eq!(runs(&sandbox), 4, "nor does a typed command use one");
        assert!(is_reused(&judge(&sandbox).1));
    }
}

#[test]
fn a_script_that_counts_its_tests_serves_both() {
    let sandbox = project("sh check.sh", "");
    sandbox.write("check.sh", "echo ran >>\"$HOME/runs\"\necho '= 3 passed in 1s ='\n");
    let typed = || sandbox.verify_run(["--sync", "--reuse", "sh", "check.sh"]).outcome();
    typed();
    assert!(is_reused(&judge(&sandbox).1));
    sandbox.write("src/a.txt", "b\n");
    judge(&sandbox);
    assert!(typed().stderr().starts_with("verify-run: reused: "));
    assert_eq!(runs(&sandbox), 2);
}

#[test]
fn a_verify_run_in_a_command_of_the_gate_records_nothing_more() {
    let verify_run = crate::sandbox::VERIFY_RUN;
    let sandbox = project("sh check.sh", "");
    sandbox.tool("pytest", "echo '= 3 passed in 1s ='");
    sandbox.write("check.sh", format!("{verify_run} --sync pytest\n"));
    judge(&sandbox);
    let runs: Vec<Value> = sandbox.events().into_iter().filter(|event| event["ended"].is_object()).collect();
    assert_eq!(runs.iter().map(|run| &run["argv"]).collect::<Vec<_>>(), [&serde_json::json!(["sh", "check.sh"])]);
}

#[test]
fn what_depends_on_more_than_the_files_is_run_each_time() {
    let count = |sandbox: &Sandbox| {
        let first = judge(sandbox).0;
        judge(sandbox).0 - first
    };
    assert_eq!(count(&project("sh check.sh", "")), 0);
    assert_eq!(count(&project("sh check.sh", "      reuse: false\n")), 1, "by the checklist");
    let audit = project("sh tools/licence-audit", "");
    audit.write("tools/licence-audit", "echo ran >>\"$HOME/runs\"\n");
    assert_eq!(count(&audit), 1, "it asks others");
    let container = project("sh docker", "");
    container.write("docker", "echo ran >>\"$HOME/runs\"\n");
    assert_eq!(count(&container), 1, "it may run elsewhere");
    let writing = project("sh check.sh", "");
    writing.write("check.sh", "echo ran >>\"$HOME/runs\"\necho x >src/a.txt; echo a >src/a.txt\n");
    assert_eq!(count(&writing), 1, "it writes files that git tracks");
    // A number that is printed is in no receipt.
    let metric = "      metric: {name: errors, regex: \"(\\\\d+) errors\"}\n";
    let printing = project("sh check.sh", metric);
    printing.write("check.sh", "echo ran >>\"$HOME/runs\"\necho 0 errors\n");
    let list = printing.read(".verify-run/qa-checklist.yml").replace("exit_code == 0", "errors == 0");
    printing.write(".verify-run/qa-checklist.yml", list);
    for run in 1..=2 {
        let (count, judged) = judge(&printing);
        assert_eq!(
            (count, &judged["status"], &judged["details"]),
            (run, &"pass".into(), &"exit code 0; errors 0".into())
        );
    }
    // So it is of a known check.
    let known = project("pytest", metric);
    known.tool("pytest", "echo ran >>\"$HOME/runs\"\necho '0 errors'\necho '= 3 passed in 1s ='");
    known.write(
        ".verify-run/qa-checklist.yml",
        known.read(".verify-run/qa-checklist.yml").replace("exit_code", "errors"),
    );
    for run in 1..=2 {
        let (count, judged) = judge(&known);
        assert_eq!((count, &judged["status"]), (run, &"pass".into()), "{judged}");
    }
}

#[test]
fn a_script_that_git_ignores_counts_with_its_content() {
    let sandbox = project("sh build/check.sh", "");
    let script = |note: &str| sandbox.write("build/check.sh", format!("echo ran >>\"$HOME/runs\" # {note}\n"));
    script("1");
    assert_eq!((judge(&sandbox).0, judge(&sandbox).0), (1, 1));
    script("2");
    assert_eq!((judge(&sandbox).0, judge(&sandbox).0), (2, 2));
}

#[test]
fn a_change_that_lets_an_item_be_answered_by_earlier_passes_is_weaker() {
    let sandbox = project("sh check.sh", "      reuse: false\n");
    sandbox.git(["switch", "-q", "-c", "chore/reuse"]);
    let list = sandbox.read(".verify-run/qa-checklist.yml");
    sandbox.write(".verify-run/qa-checklist.yml", list.replace("      reuse: false\n", ""));
    let outcome = gate(&sandbox).args(["--base", "main"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1));
    assert!(outcome.stdout().contains("X1 may be answered by an earlier pass"), "{}", outcome.stdout());
}

#[test]
fn what_a_person_ran_behind_a_package_runner_serves_the_gate() {
    let (Some(npx), Some(eslint)) = (need("npx"), need("eslint")) else { return };
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(npx.parent().expect("a folder").to_owned());
    let modules = fs::canonicalize(&eslint).expect("eslint");
    let modules = modules.ancestors().find(|folder| folder.ends_with("node_modules")).expect("node_modules").to_owned();
    std::os::unix::fs::symlink(modules, sandbox.path("node_modules")).expect("a link");
    sandbox.write(".gitignore", "node_modules\n");
    sandbox.write("package.json", "{\"name\": \"shop\", \"type\": \"module\"}\n");
    sandbox.write("eslint.config.js", "export default [{ rules: { \"no-undef\": \"error\" } }];\n");
    sandbox.write("shop.js", "export const price = 1;\n");
    sandbox.commit("The shop");
    let typed = || sandbox.verify_run(["--reuse", "--sync", "npx", "eslint", "."]).outcome();
    let first = typed();
    assert_eq!((first.ended, first.stderr()), (CommandEnd::Exit(0), ""), "{first:?}");
    let lint = || {
        let outcome = sandbox.verify_run(["gate", "run", "--no-prp", "--only", "C1", "--json"]).outcome();
        let document: Value =
            serde_json::from_str(outcome.stdout()).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
        item(&document, "C1").clone()
    };
    let judged = lint();
    assert!(is_reused(&judged), "{judged}");
    sandbox.write("shop.js", "export const price = unknown;\n");
    let judged = lint();
    assert_eq!((&judged["status"], &judged["findings"][0]["path"]), (&"fail".into(), &"shop.js".into()), "{judged}");
}

/// A project with a runner in a folder of its own, which is on PATH by a relative name.
fn project_with_runner(script: &str) -> (Sandbox, String) {
    let sandbox = project("pytest", "");
    sandbox.write(".gitignore", "build\nvendor\n");
    sandbox.commit("Ignore it");
    let runner = sandbox.write("vendor/bin/pytest", format!("#!/bin/sh\necho ran >>\"$HOME/runs\"\n{script}\n"));
    fs::set_permissions(runner, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
    (sandbox, "vendor/bin:/usr/local/bin:/usr/bin:/bin".to_owned())
}

#[test]
fn a_typed_run_of_the_projects_own_tool_and_one_of_the_gate_serve_each_other() {
    let (sandbox, path) = project_with_runner("echo '= 3 passed in 1s ='");
    let typed = || sandbox.verify_run(["--reuse", "--sync", "pytest"]).env("PATH", &path).outcome();
    let judge = || gate(&sandbox).env("PATH", &path).outcome();
    typed();
    assert_eq!((judge().ended, runs(&sandbox)), (CommandEnd::Exit(0), 1));
    sandbox.write("src/a.txt", "b\n");
    judge();
    assert!(typed().stderr().starts_with("verify-run: reused: "), "{:?}", typed());
    assert_eq!(runs(&sandbox), 2);
    // Another program of the name comes first: the gate runs the project's, and it is another run.
    sandbox.tool("pytest", "echo '= 3 passed in 1s ='");
    let before_all = format!("{}:{path}", sandbox.tool("pytest", "exit 1").parent().expect("a folder").display());
    let judged = gate(&sandbox).env("PATH", &before_all).outcome();
    assert_eq!((judged.ended, runs(&sandbox)), (CommandEnd::Exit(0), 3));
}

#[test]
fn a_typed_run_and_one_of_the_gate_prove_a_flake_together() {
    let (sandbox, path) = project_with_runner(
        "[ -e \"$HOME/good\" ] || { echo 'FAILED tests/a.py::b - assert 0'; exit 1; }\necho '= 3 passed in 1s ='",
    );
    std::thread::sleep(std::time::Duration::from_millis(20));
    let failed = sandbox.verify_run(["--sync", "pytest"]).env("PATH", &path).outcome();
    assert_eq!(failed.ended, CommandEnd::Exit(1));
    fs::write(sandbox.home().join("good"), "").expect("a file");
    assert_eq!(gate(&sandbox).env("PATH", &path).outcome().ended, CommandEnd::Exit(0));
    sandbox.settle();
    let flakes = sandbox.verify_run(["fix", "list", "--flakes", "--json"]).prints_json();
    assert_eq!(flakes["flakes"][0]["proof"], "proven", "{flakes:#}");
}

/// A Python project whose ruff notes its runs, and does `also` in each.
fn project_with_ruff(also: &str) -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.tool("ruff", &format!("echo ran >>\"$HOME/runs\"; {also} echo '[]'"));
    sandbox.write("pyproject.toml", "[project]\nname = \"rows\"\nversion = \"1\"\n");
    sandbox.write("rows.py", "def add(a, b):\n    return a - b\n");
    sandbox.commit("The project");
    sandbox.git(["switch", "-q", "-c", "fix/add"]);
    sandbox.write("rows.py", "def add(a, b):\n    return a + b\n");
    sandbox
}

/// Evaluates the names; how often ruff has run by now, and whether what it had printed was taken.
fn judge_names(sandbox: &Sandbox, option: Option<&str>, environment: &str) -> (usize, bool) {
    let arguments = ["gate", "run", "--no-prp", "--base", "main", "--only", "C4", "--json"];
    let invocation = sandbox.verify_run(arguments.into_iter().chain(option));
    let outcome = invocation.env("VIRTUAL_ENV", environment).outcome();
    let document: Value = serde_json::from_str(outcome.stdout()).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    let judged = item(&document, "C4");
    assert_eq!(judged["status"], "pass", "{judged}");
    (runs(sandbox), judged["details"].as_str().expect("details").contains("not run again: measured "))
}

#[test]
fn a_measuring_tool_is_not_run_again_over_the_same_tree() {
    let sandbox = project_with_ruff("");
    assert_eq!(judge_names(&sandbox, None, ""), (1, false));
    assert_eq!(judge_names(&sandbox, None, ""), (1, true));
    assert_eq!(judge_names(&sandbox, Some("--fresh"), ""), (2, false));
    assert_eq!(judge_names(&sandbox, None, "/elsewhere"), (3, false));
    sandbox.write("rows.py", "def add(a, b):\n    return b + a\n");
    assert_eq!(judge_names(&sandbox, None, ""), (4, false));
    assert_eq!(judge_names(&sandbox, None, ""), (4, true));
    sandbox.tool("ruff", "echo ran >>\"$HOME/runs\"; echo '[]' # another one");
    assert_eq!(judge_names(&sandbox, None, ""), (5, false));
}

#[test]
fn what_a_tool_printed_while_a_file_was_written_is_not_kept() {
    // The file is as before afterwards: only its time says that something was going on.
    let sandbox = project_with_ruff("touch rows.py;");
    assert_eq!(judge_names(&sandbox, None, ""), (1, false));
    assert_eq!(judge_names(&sandbox, None, ""), (2, false));
}
