//! Repositories of every make: none, bare, linked work trees, submodules, and paths that are not text.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use verify_run::run::CommandEnd;

use crate::sandbox::{Lesson, Sandbox, files_in};

/// A check that fails about the file named by `PART`.
const CHECK: &str = "echo \"src/$PART.lua:3:1: error: $PART went wrong\"; exit ${CODE:-3}";

fn with_check(sandbox: Sandbox) -> Sandbox {
    sandbox.tool("luacheck", CHECK);
    sandbox
}

/// Lets the check fail in `dir`, about `part`.
fn fail(sandbox: &Sandbox, dir: impl AsRef<Path>, part: &str) {
    sandbox.as_bare(&["luacheck", "."], |run| run.dir(dir.as_ref()).env("PART", part));
    sandbox.settle();
}

/// What git says in `dir` has changed.
fn changes(sandbox: &Sandbox, dir: impl AsRef<Path>) -> String {
    sandbox.bare("git").args(["status", "--short"]).dir(dir).prints()
}

fn one(mut lessons: Vec<Lesson>) -> Lesson {
    assert_eq!(lessons.len(), 1);
    lessons.remove(0)
}

#[test]
fn outside_git_paths_are_relative_to_the_project_and_the_lessons_are_in_the_state_folder() {
    let sandbox = with_check(Sandbox::new());
    sandbox.write("package.json", "{}");
    sandbox.write("web/src/a.lua", "");
    fail(&sandbox, "web", "a");
    let lesson = sandbox.lesson();
    assert_eq!((lesson.list("files"), lesson.field("branch")), (vec!["web/src/a.lua"], None), "{}", lesson.text);
    assert_eq!(sandbox.verify_run(["last", "--json"]).dir("web/src").prints_json()["exit_code"], 3);
    let kept: Vec<_> = fs::read_dir(sandbox.work()).expect("reads").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
}

#[test]
fn what_only_looks_like_a_repository_gets_nothing_of_ours() {
    let sandbox = with_check(Sandbox::new());
    sandbox.git(["init", "--quiet", "--bare", "store.git"]);
    fail(&sandbox, "store.git", "a");
    assert!(!sandbox.path("store.git/verify-run").exists());
    assert_eq!(sandbox.verify_run(["last", "--json"]).dir("store.git").prints_json()["exit_code"], 3);
}

#[test]
fn linked_work_trees_share_one_state_and_keep_their_own_lessons() {
    let sandbox = with_check(Sandbox::repository());
    sandbox.git(["worktree", "add", "--quiet", "-b", "topic", "../linked"]);
    fail(&sandbox, "", "a");
    sandbox.as_bare(&["luacheck", "."], |run| run.dir("../linked").env("PART", "b").env("CODE", "4"));
    let events = sandbox.events();
    let branches: Vec<_> = events.iter().map(|event| event["branch"].as_str().expect("a branch")).collect();
    assert_eq!(branches, ["main", "topic"]);
    assert!(!sandbox.path(".git/worktrees/linked/verify-run").exists());
    let (main, linked) = (sandbox.lesson(), one(sandbox.lessons_in(&sandbox.path("../linked"))));
    assert_eq!((main.field("branch"), main.list("files")), (Some("main"), vec!["src/a.lua"]));
    assert_eq!((linked.field("branch"), linked.list("files")), (Some("topic"), vec!["src/b.lua"]));
    assert_eq!((changes(&sandbox, "").as_str(), changes(&sandbox, "../linked").as_str()), ("", ""));
    // Each work tree has a last run of its own.
    sandbox.verify_run(["last", "--exit-code"]).expect(CommandEnd::Exit(3), "", "");
    sandbox.verify_run(["last", "--exit-code"]).dir("../linked").expect(CommandEnd::Exit(4), "", "");
}

#[test]
fn a_run_in_a_work_tree_that_is_gone_is_recorded() {
    let sandbox = with_check(Sandbox::repository());
    sandbox.git(["worktree", "add", "--quiet", "-b", "topic", "../linked"]);
    fs::create_dir_all(sandbox.state()).expect("the state folder");
    let lock = fs::File::create(sandbox.state().join("recorder.lock")).expect("a file");
    lock.lock().expect("no one else");
    fail(&sandbox, "../linked", "b");
    sandbox.git(["worktree", "remove", "--force", "../linked"]);
    drop(lock);
    fail(&sandbox, "", "a");
    assert_eq!((sandbox.events().len(), sandbox.lessons().len()), (2, 2));
    assert!(!sandbox.path("../linked").exists());
}

#[test]
fn a_submodule_is_a_project_of_its_own() {
    let sandbox = with_check(Sandbox::repository());
    sandbox.git(["init", "--quiet", "../library"]);
    let in_library = |arguments: &[&str]| sandbox.bare("git").args(arguments).dir("../library").prints();
    in_library(&["commit", "--quiet", "--allow-empty", "--message", "Start"]);
    sandbox.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../library", "vendor/library"]);
    sandbox.commit("Add the library");
    fail(&sandbox, "vendor/library", "a");
    let state = sandbox.path(".git/modules/vendor/library/verify-run");
    assert_eq!(sandbox.events_in(&state).len(), 1);
    assert_eq!(one(sandbox.lessons_in(&sandbox.path("vendor/library"))).list("files"), ["src/a.lua"]);
    assert!(!sandbox.state().exists() && !sandbox.path(".lessons").exists());
    assert_eq!((changes(&sandbox, "").as_str(), changes(&sandbox, "vendor/library").as_str()), ("", ""));
}

#[test]
fn paths_and_arguments_that_are_not_text_are_recorded_as_they_are() {
    let sandbox = Sandbox::new();
    sandbox.tool("luacheck", "printf '%s:3:1: error: went wrong in %s\\n' \"$1\" \"$PWD\"; exit 3");
    let project = Path::new(OsStr::from_bytes(b"with space \xff and 'quotes'\n"));
    fs::create_dir(sandbox.path(project)).expect("a folder");
    sandbox.bare("git").args(["init", "--quiet"]).dir(project).prints();
    let argument = OsStr::from_bytes(b"sub folder/caf\xe9 \xf0.lua");
    fs::create_dir(sandbox.path(project).join("sub folder")).expect("a folder");
    fs::write(sandbox.path(project).join(argument), "x").expect("a file");
    sandbox.as_bare(&["luacheck".as_ref(), argument], |run| run.dir(project));
    let state = sandbox.path(project).join(".git/verify-run");
    let events = sandbox.events_in(&state);
    assert_eq!(events.len(), 1);
    assert!(events[0]["argv"][1]["b64"].is_string() && events[0]["root"]["b64"].is_string(), "{}", events[0]);
    assert_eq!(files_in(&state.join("spool")).len(), 0);
    let lesson = one(sandbox.lessons_in(&sandbox.path(project)));
    assert!(lesson.text.contains("went wrong"), "{}", lesson.text);
    for words in [&["last"][..], &["lesson", "list"], &["pattern", "list"], &["store", "status"], &["doctor"]] {
        sandbox.verify_run(words).dir(project).prints();
    }
    assert_eq!(changes(&sandbox, project), "?? \"sub folder/\"\n");
    // The same run again is the same check and the same failure.
    sandbox.as_bare(&["luacheck".as_ref(), argument], |run| run.dir(project));
    let events = sandbox.events_in(&state);
    assert_eq!(events[0]["key"], events[1]["key"]);
    assert_eq!(sandbox.lessons_in(&sandbox.path(project)).len(), 1);
}
