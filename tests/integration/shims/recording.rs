//! What is recorded through shims: what `verify-run -- NAME ARG…` records, once.

use verify_run::run::CommandEnd;

use super::{by_name, install, path_with, recorded};
use crate::sandbox::{Invocation, Sandbox, need, tools};

#[test]
fn a_check_is_recorded_as_under_the_prefix() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo 'a.js:1:1: error: no-undef'; exit 1");
    install(&sandbox, &["eslint"]);
    let path = path_with(&sandbox, &[]);
    // What differs between any two runs of one check.
    let own = ["id", "failure", "duration_us", "session"];
    let recorded = |command: Invocation<'_>| {
        let command =
            command.arg("a.js").env("PATH", &path).env("VERIFY_RUN_TASK", "T").env("VERIFY_RUN_AGENT", "robot");
        command.expect(CommandEnd::Exit(1), "a.js:1:1: error: no-undef\n", "");
        let mut run = sandbox.events().into_iter().rfind(|event| event["argv"].is_array()).expect("a run");
        let run = run.as_object_mut().expect("an object");
        run.retain(|name, _| !own.contains(&name.as_str()) && !name.ends_with("_at") && name != "at");
        run.clone()
    };
    let through = recorded(by_name(&sandbox, "eslint"));
    let prefixed = recorded(sandbox.verify_run(["--", "eslint"]));
    assert_eq!(through, prefixed);
    let is = |name: &str, value: serde_json::Value| assert_eq!(through[name], value, "{through:?}");
    is("argv", serde_json::json!(["eslint", "a.js"]));
    is("task", "T".into());
    is("agent", "robot".into());
    assert!(through["program"].is_string(), "the program is known: {through:?}");
}

#[test]
fn an_update_of_the_program_behind_a_shim_is_seen() {
    let sandbox = Sandbox::repository();
    let program = |text: &str| {
        sandbox.tool("eslint", text);
        // A program that is changed in the clock's very tick may have changed later than the run began.
        std::thread::sleep(std::time::Duration::from_millis(50));
        by_name(&sandbox, "eslint").outcome();
        let run = sandbox.events().into_iter().rfind(|event| event["argv"].is_array()).expect("a run");
        run["program"].as_str().expect("a digest").to_owned()
    };
    install(&sandbox, &["eslint"]);
    let first = program("exit 1");
    assert_ne!(program("exit 2"), first);
}

#[test]
fn an_npm_script_that_calls_other_shims_is_one_run() {
    let Some(_) = need("npm") else { return };
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(tools());
    sandbox.tool("eslint", "echo linted");
    sandbox.tool("mypy", "echo typed; exit 2");
    sandbox.write(
        "package.json",
        r#"{ "name": "a", "version": "1.0.0", "scripts": { "test": "eslint . && node -e 1 && npm run types", "types": "mypy ." } }"#,
    );
    sandbox.commit("A project");
    install(&sandbox, &["npm", "npx", "node", "eslint", "mypy"]);
    let outcome = by_name(&sandbox, "npm").args(["test", "--silent"]).outcome();
    assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(2), "linted\ntyped\n"), "{}", outcome.stderr());
    assert_eq!(recorded(&sandbox), ["npm test --silent"]);
    by_name(&sandbox, "npm").arg("--version").prints();
    by_name(&sandbox, "node").args(["-e", "1"]).prints();
    assert_eq!(recorded(&sandbox).len(), 1, "what is not a check leaves no trace");
}

#[test]
fn a_prefix_and_shims_inside_of_one_another_are_one_run() {
    let sandbox = Sandbox::repository();
    sandbox.tool("pytest", "eslint && exit 3");
    sandbox.tool("eslint", "mypy; verify-run -- mypy; exit 0");
    sandbox.tool("mypy", "echo typed; exit 1");
    std::os::unix::fs::symlink(
        crate::sandbox::VERIFY_RUN,
        sandbox.home().parent().expect("a folder").join("bin/verify-run"),
    )
    .expect("a link");
    install(&sandbox, &["pytest", "eslint", "mypy"]);
    let path = path_with(&sandbox, &[]);
    let prefixed = sandbox.verify_run(["--", "pytest", "one"]).env("PATH", &path);
    prefixed.expect(CommandEnd::Exit(3), "typed\ntyped\n", "");
    assert_eq!(recorded(&sandbox), ["pytest one"]);
    // A shim under the prefix under a shim.
    sandbox.tool("pytest", "verify-run -- eslint && exit 3");
    by_name(&sandbox, "pytest").arg("two").expect(CommandEnd::Exit(3), "typed\ntyped\n", "");
    assert_eq!(recorded(&sandbox), ["pytest one", "pytest two"]);
}

#[test]
fn a_shim_of_what_is_not_installed_is_a_missing_command() {
    let sandbox = Sandbox::repository();
    install(&sandbox, &["pytest"]);
    by_name(&sandbox, "pytest").arg("--version").expect(CommandEnd::Exit(127), "", "pytest: command not found\n");
    assert_eq!(recorded(&sandbox), Vec::<String>::new());
    by_name(&sandbox, "pytest").expect(CommandEnd::Exit(127), "", "pytest: command not found\n");
    assert_eq!(recorded(&sandbox), ["pytest"]);
    assert_eq!(sandbox.lesson().field("category"), Some("missing_dependency"));
    // Facts of every system of shims: a shell that looks for the program finds the shim.
    let line = "command -v pytest; which pytest";
    let found = sandbox.bare("sh").args(["-c", line]).env("PATH", path_with(&sandbox, &[])).prints();
    let shim = super::folder(&sandbox).join("pytest").display().to_string();
    assert_eq!(found, format!("{shim}\n{shim}\n"));
}

#[test]
fn a_shell_line_with_shims_in_it_is_one_run() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo linted");
    sandbox.tool("pytest", "cat; echo failed >&2; exit 1");
    install(&sandbox, &["eslint", "pytest"]);
    let line = "cd . && eslint . 2>&1 | cat && pytest -q";
    let run = sandbox.verify_run(["--shell", line]).env("PATH", path_with(&sandbox, &[])).stdin("input\n");
    run.expect(CommandEnd::Exit(1), "linted\ninput\n", "failed\n");
    let shell = sandbox.events().into_iter().find(|event| event["argv"].is_array()).expect("a run");
    assert_eq!(shell["argv"], serde_json::json!(["sh", "-c", line]));
    assert_eq!(recorded(&sandbox).len(), 1);
}
