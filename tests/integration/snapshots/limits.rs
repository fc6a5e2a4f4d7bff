//! How long, how much, how old; and what happens where there can be none.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{fail, files_of, pass, paths_of};
use crate::sandbox::{Sandbox, files_in};

/// Puts a git before the real one that takes its time over one of its commands.
fn slow_git(sandbox: &Sandbox, command: &str) {
    let line = format!("case \" $* \" in *\" {command} \"*) exec sleep 30;; esac; exec /usr/bin/git \"$@\"");
    sandbox.tool("git", &line);
}

#[test]
fn what_takes_too_long_is_given_up_and_left_alone_for_a_while() {
    let sandbox = Sandbox::repository();
    sandbox.write("verify-run.toml", "[snapshot]\ntime_ms = 300\n");
    slow_git(&sandbox, "ls-files");
    let started = std::time::Instant::now();
    let event = fail(&sandbox);
    assert!(started.elapsed().as_secs() < 10);
    assert_eq!((&event["tree"], &event["skipped"]), (&Value::Null, &json!("it took longer than 0.3 s")));
    assert!(fail(&sandbox)["skipped"].is_string(), "a second try");
    // Even were it fast now.
    sandbox.tool("git", "exec /usr/bin/git \"$@\"");
    let event = fail(&sandbox);
    let skipped = event["skipped"].as_str().expect("a reason");
    assert!(skipped.starts_with("it took longer than 0.3 s; next attempt after 20"), "{skipped}");
    let doctor = sandbox.verify_run(["doctor"]).outcome();
    assert!(
        doctor.stdout().contains("warning  snapshots: ") && doctor.stdout().contains("took longer"),
        "{}",
        doctor.stdout()
    );
    let status = sandbox.verify_run(["store", "status", "--json"]).prints_json();
    assert_eq!(status["snapshots"]["work_trees"][0]["skipped"], json!("it took longer than 0.3 s"));
    let told = sandbox.verify_run(["store", "status"]).prints();
    assert!(told.contains("no snapshot of "), "{told}");
    // When the time has come it goes on as if nothing had been.
    let status_file = files_in(
        &fs::read_dir(sandbox.state().join("snapshots"))
            .expect("reads")
            .flatten()
            .find(|it| it.path().is_dir())
            .expect("one")
            .path(),
    );
    let status_file = status_file.into_iter().find(|path| path.ends_with("status.json")).expect("is there");
    let mut kept: Value = serde_json::from_slice(&fs::read(&status_file).expect("reads")).expect("JSON");
    kept["not_before"] = json!("2001-01-01T00:00:00Z");
    fs::write(&status_file, kept.to_string()).expect("writes");
    assert_eq!(paths_of(&sandbox, &fail(&sandbox)), ["README", "verify-run.toml"]);
    let doctor = sandbox.verify_run(["doctor"]).prints();
    assert!(doctor.contains("ok       snapshots: 1 tree"), "{doctor}");
}

#[test]
fn without_git_everything_else_works() {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "echo 'src/a.lua:3:1: error: wrong'; exit 3");
    let own = sandbox.tool("luacheck", "echo 'src/a.lua:3:1: error: wrong'; exit 3");
    let path = own.parent().expect("a folder");
    std::os::unix::fs::symlink("/bin/sh", path.join("sh")).expect("a link");
    sandbox.verify_run(["--sync", "luacheck", "."]).env("PATH", path).outcome();
    assert_eq!((sandbox.events().len(), sandbox.lessons().len()), (1, 1));
    assert_eq!(sandbox.snapshots()[0]["skipped"], "git is not installed");
    // It may be there the next time.
    assert!(fail(&sandbox)["tree"].is_string());
}

#[test]
fn one_setting_turns_them_off() {
    let sandbox = Sandbox::repository();
    sandbox.write("verify-run.toml", "[snapshot]\nenabled = false\n");
    sandbox.tool("luacheck", "echo 'src/a.lua:3:1: error: wrong'; exit 3");
    sandbox.verify_run(["--sync", "luacheck", "."]).outcome();
    assert_eq!((sandbox.events().len(), sandbox.snapshots().len()), (1, 0));
    assert!(!sandbox.state().join("objects").exists());
}

#[test]
fn a_tree_that_nobody_needs_goes_when_it_is_old_and_the_rest_is_packed() {
    let sandbox = Sandbox::repository();
    sandbox.write("file", "kept as of the pass\n");
    let passed = pass(&sandbox);
    sandbox.write("file", "kept as of the open failure\n");
    let open = fail(&sandbox);
    sandbox.write("verify-run.toml", "[snapshot]\ndays = 0\n");
    sandbox.write("file", "another check's, which passed later\n");
    sandbox.tool("flake8", "exit ${CODE:-0}");
    sandbox.write("file", "gone\n");
    sandbox.verify_run(["--sync", "flake8", "."]).env("CODE", "1").outcome();
    let gone = sandbox.snapshots().pop().expect("one");
    sandbox.write("file", "the newest\n");
    sandbox.verify_run(["--sync", "flake8", "."]).outcome();
    let newest = sandbox.snapshots().pop().expect("one");
    // A day later.
    let mark = fs::File::options().append(true).open(sandbox.state().join("snapshots/pruned")).expect("is there");
    mark.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 86_400)).expect("sets");
    let last = fail(&sandbox);
    for (event, content) in [
        (&passed, "kept as of the pass\n"),
        (&open, "kept as of the open failure\n"),
        (&newest, "the newest\n"),
        (&last, "the newest\n"),
    ] {
        assert_eq!(files_of(&sandbox, event)["file"].1, content);
    }
    let objects = sandbox.state().join("objects");
    let packs: Vec<_> = files_in(&objects.join("pack"))
        .into_iter()
        .filter(|it| it.extension().is_some_and(|it| it == "pack"))
        .collect();
    assert_eq!(packs.len(), 1, "{packs:?}");
    let loose = fs::read_dir(&objects).expect("reads").flatten().filter(|it| it.file_name().len() == 2).count();
    assert_eq!(loose, 0);
    let tree = gone["tree"].as_str().expect("a tree");
    assert!(!has_object(&sandbox, &objects, tree));
    // And it goes on from there.
    sandbox.write("file", "later\n");
    let later = fail(&sandbox);
    assert_eq!(files_of(&sandbox, &later)["file"].1, "later\n");
    assert_eq!(later["unavailable"], Value::Null);
}

fn has_object(sandbox: &Sandbox, objects: &Path, id: &str) -> bool {
    let outcome = sandbox.bare("git").args(["cat-file", "-e", id]).env("GIT_OBJECT_DIRECTORY", objects).outcome();
    outcome.ended == verify_run::run::CommandEnd::Exit(0)
}

#[test]
fn what_was_purged_is_in_no_snapshot_either() {
    let sandbox = Sandbox::repository();
    sandbox.write("file", "hunter2 in no known shape\n");
    let event = fail(&sandbox);
    let objects = sandbox.state().join("objects");
    let tree = event["tree"].as_str().expect("a tree");
    assert!(has_object(&sandbox, &objects, tree) && event["diff"].to_string().contains("hunter2"));
    fs::remove_file(sandbox.path("file")).expect("removes");
    let purged = sandbox.verify_run(["store", "purge", event["run"].as_str().expect("an id")]).prints();
    assert!(purged.starts_with("purged 1 run and "), "the result comes first: {purged}");
    assert_eq!(sandbox.snapshots(), Vec::<Value>::new());
    assert!(!has_object(&sandbox, &objects, tree));
    assert_eq!(paths_of(&sandbox, &fail(&sandbox)), ["README"]);
}

#[test]
fn lost_objects_are_made_again() {
    let sandbox = Sandbox::repository();
    sandbox.write("untracked", "x\n");
    fail(&sandbox);
    fs::remove_dir_all(sandbox.state().join("objects")).expect("removes");
    assert_eq!(files_of(&sandbox, &fail(&sandbox))["untracked"].1, "x\n");
    let folder =
        fs::read_dir(sandbox.state().join("snapshots")).expect("reads").flatten().find(|it| it.path().is_dir());
    let git = folder.expect("one").path().join("git");
    for name in ["index", "config", "HEAD"] {
        fs::write(git.join(name), "rubbish").expect("writes");
        sandbox.write("untracked", format!("after {name}\n"));
        let event = fail(&sandbox);
        let event = if event["tree"].is_null() { fail(&sandbox) } else { event };
        assert_eq!(files_of(&sandbox, &event)["untracked"].1, format!("after {name}\n"));
    }
}

#[test]
fn a_pass_that_took_its_time_has_its_tree_at_once_and_a_short_one_only_if_nothing_changed() {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "sleep ${TIME:-0}");
    let run = |time: &str| {
        sandbox.verify_run(["luacheck", "."]).env("TIME", time).outcome();
        sandbox.settle();
    };
    // The first of the day is recorded with its output.
    run("0");
    assert_eq!(sandbox.snapshots().len(), 1);
    run("0");
    assert_eq!(sandbox.snapshots().len(), 1, "a short pass starts no recorder");
    sandbox.write("file", "x\n");
    std::thread::sleep(std::time::Duration::from_millis(12));
    run("0.6");
    let snapshots = sandbox.snapshots();
    assert_eq!(snapshots.len(), 3);
    assert_eq!(snapshots[1]["skipped"], "files changed before the run was recorded");
    assert_eq!(
        (&snapshots[2]["exact"], paths_of(&sandbox, &snapshots[2])),
        (&json!(true), vec!["README".into(), "file".into()])
    );
}
