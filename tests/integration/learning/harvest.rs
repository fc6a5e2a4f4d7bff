//! What a finished task leaves: jobs whose trees are kept whatever happens to the repository.

use super::{done, job_in, job_page, mend, mend_calc, passes, python_project};
use crate::sandbox::need;

#[test]
fn a_fix_of_a_finished_task_becomes_a_job_and_the_repository_stays_as_it_is() {
    let Some(sandbox) = python_project() else { return };
    let about = |sandbox: &crate::sandbox::Sandbox| {
        [
            sandbox.git(["tag"]),
            sandbox.git(["stash", "list"]),
            sandbox.git(["for-each-ref"]),
            sandbox.git(["count-objects", "-v"]),
        ]
    };
    let before = about(&sandbox);
    let page = mend(&sandbox, &["pytest", "-q"], mend_calc);
    let queued = page["harvest"]["jobs"].as_array().expect("jobs").clone();
    assert_eq!(queued.len(), 1, "{page}");
    let id = queued[0]["job"].as_str().expect("an id");
    assert_eq!(about(&sandbox), before);
    let job = job_in(&sandbox, "queued");
    assert_eq!((&job["id"], &job["trigger"]), (&id.into(), &"task_done".into()));
    let job = job_page(&sandbox, id);
    let tag = job["snapshot"]["tag"].as_str().expect("a tag");
    assert!(tag.starts_with("learning-snapshot-"), "{job}");
    assert_eq!((&job["snapshot"]["tree"], &job["snapshot"]["is_copied"]), (&job["trees"]["pass"], &true.into()));
    sandbox.settle();
    // Done again, there is nothing new.
    assert!(done(&sandbox)["harvest"].is_null());
}

#[test]
fn a_weakened_check_is_no_job_and_the_record_says_why() {
    let Some(sandbox) = python_project() else { return };
    let page = mend(&sandbox, &["pytest", "-q"], |sandbox| {
        let text = sandbox.read("tests/test_calc.py").replace("    assert add(1, 2) == 3\n", "    assert True\n");
        sandbox.write("tests/test_calc.py", text);
    });
    assert_eq!(page["harvest"]["jobs"].as_array().map(Vec::len), Some(0), "{page}");
    let list = sandbox.verify_run(["library", "jobs", "--json"]).prints_json();
    assert_eq!(
        (&list["jobs"][0]["state"], &list["jobs"][0]["why"]),
        (&"skipped".into(), &"the check was made weaker".into())
    );
}

#[test]
fn a_linter_that_is_silenced_is_no_job_and_the_record_says_why() {
    let (Some(sandbox), Some(ruff)) = (python_project(), need("ruff")) else { return };
    let ruff = [ruff.to_str().expect("a path"), "check", "--no-cache"];
    sandbox.write("calc.py", format!("import os\n\n\n{}", sandbox.read("calc.py")));
    sandbox.commit("An import too many");
    let page = mend(&sandbox, &ruff, |sandbox| {
        sandbox.write("calc.py", sandbox.read("calc.py").replace("import os\n", "import os  # noqa: F401\n"));
    });
    assert_eq!(page["harvest"]["jobs"].as_array().map(Vec::len), Some(0), "{page}");
    let list = sandbox.verify_run(["library", "jobs", "--json"]).prints_json();
    assert_eq!(
        (&list["jobs"][0]["state"], &list["jobs"][0]["why"]),
        (&"skipped".into(), &"the check was made weaker".into()),
        "{list:#}"
    );
}

#[test]
fn a_flaky_check_is_no_job_and_the_record_says_why() {
    let Some(sandbox) = python_project() else { return };
    let seen = sandbox.tmp().join("seen");
    let test = format!(
        "import os\n\n\ndef test_once():\n    if not os.path.exists({seen:?}):\n        open({seen:?}, 'w').close()\n        \
         assert False\n"
    );
    sandbox.write("tests/test_once.py", test);
    sandbox.commit("A test that fails once");
    let page = mend(&sandbox, &["pytest", "-q", "tests/test_once.py"], |_| {});
    assert_eq!(page["harvest"]["jobs"].as_array().map_or(0, Vec::len), 0, "{page}");
    let list = sandbox.verify_run(["library", "jobs", "--json"]).prints_json();
    assert_eq!(
        (&list["jobs"][0]["state"], &list["jobs"][0]["why"]),
        (&"skipped".into(), &"it fails and passes over the same tree".into()),
        "{list:#}"
    );
}

#[test]
fn a_task_without_a_fix_or_without_success_leaves_no_job() {
    let Some(sandbox) = python_project() else { return };
    mend_calc(&sandbox);
    passes(&sandbox, &["pytest", "-q"]);
    assert!(done(&sandbox)["harvest"].is_null());
    let Some(sandbox) = python_project() else { return };
    super::fails(&sandbox, &["pytest", "-q"]);
    mend_calc(&sandbox);
    passes(&sandbox, &["pytest", "-q"]);
    let page = sandbox.verify_run(["task", "done", "--outcome", "abandoned", "--json"]).prints_json();
    assert!(page["harvest"].is_null(), "{page}");
}
