//! The learning pipeline on real projects, by the built program: what a finished task leaves, jobs, pages, who reads them.

mod harvest;

use std::path::Path;

use serde_json::Value;

use crate::sandbox::{Sandbox, need, wait_until};

/// A pytest project with a function that is wrong.
fn python_project() -> Option<Sandbox> {
    let pytest = need("pytest")?;
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(pytest.parent().expect("a folder"));
    sandbox.write(".gitignore", "__pycache__\n.pytest_cache\n");
    sandbox.write("calc.py", "def add(a, b):\n    return a - b\n\n\ndef name():\n    return 'calc'\n");
    sandbox.write(
        "tests/test_calc.py",
        "from calc import add, name\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\ndef test_name():\n    assert \
         name() == 'calc'\n",
    );
    sandbox.write("conftest.py", "");
    sandbox.commit("The project");
    Some(sandbox)
}

/// Runs a check that fails.
fn fails(sandbox: &Sandbox, command: &[&str]) {
    let outcome = sandbox.verify_run([&["--sync"], command].concat()).outcome();
    assert_ne!(outcome.ended, verify_run::run::CommandEnd::Exit(0), "{}", outcome.stdout());
}

/// Runs a check that passes.
fn passes(sandbox: &Sandbox, command: &[&str]) {
    let outcome = sandbox.verify_run([&["--sync"], command].concat()).outcome();
    assert_eq!(outcome.ended, verify_run::run::CommandEnd::Exit(0), "{}", outcome.stdout());
}

/// Fails, is mended, passes, and the task is over; what `task done` says.
fn mend(sandbox: &Sandbox, command: &[&str], edit: impl FnOnce(&Sandbox)) -> Value {
    fails(sandbox, command);
    edit(sandbox);
    passes(sandbox, command);
    sandbox.settle();
    done(sandbox)
}

/// What `task done` says.
fn done(sandbox: &Sandbox) -> Value {
    sandbox.verify_run(["task", "done", "--json"]).prints_json()
}

/// The one job that is in a state, once it is.
fn job_in(sandbox: &Sandbox, state: &str) -> Value {
    let mut found = Value::Null;
    wait_until(&format!("a job is {state}"), || {
        let list = sandbox.verify_run(["library", "jobs", "--json"]).prints_json();
        found = list["jobs"].as_array().expect("jobs").iter().find(|job| job["state"] == state).cloned().into();
        !found.is_null()
    });
    found
}

/// One job with everything that was done about it.
fn job_page(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.verify_run(["library", "job", id, "--json"]).prints_json()
}

/// The edit of [`python_project`] that mends it.
fn mend_calc(sandbox: &Sandbox) {
    let text = sandbox.read("calc.py").replace("a - b", "a + b");
    sandbox.write(Path::new("calc.py"), text);
}
