//! The learning pipeline on real projects, by the built program: what a finished task leaves, jobs, pages, who reads them.

mod agents_read;
mod before_edit;
mod by_itself;
mod harvest;
mod hostile;
mod imported;
mod interrupted;
mod kept;
mod proof;
mod proofs_again;
mod quoting;
mod returns;
mod scenarios;
mod stacks;
mod verdicts;
mod weaker_labs;

use std::path::Path;

use serde_json::Value;

use crate::gate::checklist;
use crate::lab::has_namespaces;
use crate::sandbox::{Outcome, Sandbox, need, wait_until};

/// A pytest project with a function that is wrong.
pub(crate) fn python_project() -> Option<Sandbox> {
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
    // A cached module would outlive an edit of the same length within a second.
    sandbox.write("conftest.py", "import sys\n\nsys.dont_write_bytecode = True\n");
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
pub(crate) fn mend(sandbox: &Sandbox, command: &[&str], edit: impl FnOnce(&Sandbox)) -> Value {
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
pub(crate) fn job_in(sandbox: &Sandbox, state: &str) -> Value {
    let mut found = Value::Null;
    wait_until(&format!("a job is {state}"), || {
        let list = sandbox.verify_run(["library", "jobs", "--json"]).prints_json();
        found = list["jobs"].as_array().expect("jobs").iter().find(|job| job["state"] == state).cloned().into();
        !found.is_null()
    });
    found
}

/// One job with everything that was done about it.
pub(crate) fn job_page(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.verify_run(["library", "job", id, "--json"]).prints_json()
}

/// Has the tag of a job's snapshot name the commit before.
pub(crate) fn move_tag(sandbox: &Sandbox, job: &str) {
    let git_dir = sandbox.state().join("learn/git");
    let git_dir = git_dir.to_str().expect("UTF-8");
    let tag = job_page(sandbox, job)["snapshot"]["tag"].as_str().expect("a tag").to_owned();
    let parent = sandbox.git(["--git-dir", git_dir, "rev-parse", &format!("{tag}~1")]);
    sandbox.git(["--git-dir", git_dir, "update-ref", &format!("refs/tags/{tag}"), parent.trim()]);
}

/// The edit of [`python_project`] that mends it.
pub(crate) fn mend_calc(sandbox: &Sandbox) {
    let text = sandbox.read("calc.py").replace("a - b", "a + b");
    sandbox.write(Path::new("calc.py"), text);
}

/// A project for node's own test runner, with an installed package.
fn node_project() -> Option<Sandbox> {
    let (node, npm) = (need("node")?, need("npm")?);
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(node.parent().expect("a folder"));
    sandbox.add_path(npm.parent().expect("a folder"));
    sandbox.write(".gitignore", "node_modules\n");
    sandbox.write("package.json", r#"{"name": "rows", "version": "1.0.0", "scripts": {"test": "node --test"}}"#);
    sandbox.write("node_modules/dep/index.js", "module.exports = 10;\n");
    sandbox.write("node_modules/dep/package.json", r#"{"name": "dep", "version": "1.0.0"}"#);
    let sum = "const size = require('dep');\nexports.first = (page) => page * size + 1;\n";
    sandbox.write("index.js", sum);
    sandbox.write(
        "index.test.js",
        "const test = require('node:test');\nconst assert = require('node:assert');\nconst { first } = \
         require('./index.js');\ntest('the first row of a page', () => assert.strictEqual(first(2), 20));\n",
    );
    sandbox.commit("The project");
    Some(sandbox)
}

/// A person agrees that jobs run.
pub(crate) fn agree(sandbox: &Sandbox) {
    let consent = sandbox.verify_run(["library", "init", "--by", "Ada", "--json"]).prints_json();
    assert_eq!(consent["may_run"], true);
}

/// Runs the queue; the one job that was in it, be it that its trees are not kept yet.
pub(crate) fn work(sandbox: &Sandbox) -> Value {
    let reply = sandbox.verify_run(["library", "work", "--json"]).prints_json();
    assert_eq!(reply["jobs"].as_array().map(Vec::len), Some(1), "{reply}");
    reply["jobs"][0].clone()
}

/// Has the gate evaluate the work tree by a checklist that every change passes.
fn judge(sandbox: &Sandbox, more: &[&str]) -> Outcome {
    sandbox.write(".verify-run/qa-checklist.yml", checklist(&[("X1", "true")]));
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    sandbox.verify_run([&["gate", "run", "--no-prp", "--trust", digest.trim()], more].concat()).outcome()
}

/// A page with what was decided about it.
pub(crate) fn library_page(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.verify_run(["library", "show", id, "--json"]).prints_json()
}

/// A project whose page was approved; the page's id. `None` where nothing can be proven.
fn approved() -> Option<(Sandbox, String)> {
    let sandbox = python_project()?;
    if !has_namespaces() {
        return None;
    }
    mend(&sandbox, &["pytest", "-q"], mend_calc);
    agree(&sandbox);
    let job = work(&sandbox);
    assert_eq!(job["state"], "candidate", "{job}");
    let id = job["artifact"].as_str().expect("a page").to_owned();
    sandbox.verify_run(["library", "approve", &id, "--by", "Ada", "--reason", "it is right"]).prints();
    Some((sandbox, id))
}
