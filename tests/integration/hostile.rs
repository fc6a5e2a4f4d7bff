//! Projects of strangers: what a clone, an archive or a file to import must not get us to do.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::sandbox::Sandbox;

/// A check that fails.
fn with_check(sandbox: Sandbox) -> Sandbox {
    sandbox.tool("luacheck", "echo 'src/a.lua:3:1: error: a went wrong'; exit 3");
    sandbox
}

/// A folder of a repository that looks like a bare one with a state folder of ours: its log is a link to a file of the
/// user's, and a segment's name is a command.
fn plant(dir: &Path, target: &Path) {
    fs::create_dir_all(dir.join("objects")).expect("a folder");
    fs::create_dir_all(dir.join("refs")).expect("a folder");
    fs::write(dir.join("HEAD"), "ref: refs/heads/main\n").expect("a file");
    plant_state(&dir.join("verify-run"), target);
}

fn plant_state(state: &Path, target: &Path) {
    fs::create_dir_all(state.join("events")).expect("a folder");
    for name in ["recorder.log", "passes.jsonl", "store.db", "recorder.lock", "writer"] {
        symlink(target, state.join(name)).expect("a link");
    }
    symlink("nowhere", state.join("events/;$(touch${IFS}PWNED);.jsonl")).expect("a link");
}

#[test]
fn a_tracked_folder_that_looks_like_a_repository_is_none() {
    let sandbox = with_check(Sandbox::repository());
    let profile = sandbox.home().join(".bashrc");
    fs::write(&profile, "# mine\n").expect("a file");
    plant(&sandbox.path("web"), &profile);
    let before = fs::read_dir(sandbox.path("web/verify-run")).expect("reads").count();
    for _ in 0..2 {
        sandbox.as_bare(&["luacheck", "."], |run| run.dir("web"));
        sandbox.settle();
    }
    assert_eq!(fs::read_to_string(&profile).expect("reads"), "# mine\n");
    assert_eq!(fs::read_dir(sandbox.path("web/verify-run")).expect("reads").count(), before);
    assert_eq!(sandbox.events().len(), 2, "recorded in the repository around it");
}

#[test]
fn links_in_the_state_folder_are_not_followed_and_their_names_are_quoted() {
    let sandbox = with_check(Sandbox::repository());
    let profile = sandbox.home().join(".bashrc");
    fs::write(&profile, "# mine\n").expect("a file");
    // As from an archive: git itself checks out nothing that is called `.git`.
    plant_state(&sandbox.state(), &profile);
    sandbox.tool("pytest", "exit 0");
    for check in ["luacheck", "pytest", "pytest", "luacheck"] {
        sandbox.as_bare(&[check, "."], |run| run);
        sandbox.settle();
    }
    sandbox.verify_run(["last"]).outcome();
    assert_eq!(fs::read_to_string(&profile).expect("reads"), "# mine\n");
    let runs = sandbox.events().into_iter().filter(|event| event["kind"] == "run").count();
    assert!(runs >= 3, "{runs} recorded");
    let log = fs::read_to_string(sandbox.state().join("recorder.log")).expect("a log of its own");
    assert!(log.contains("/;$(touch${IFS}PWNED);.jsonl' is not a file"), "{log}");
    // The log as a start file of a shell: a line of it may fail, none may start anything.
    sandbox.bare("bash").arg(sandbox.state().join("recorder.log")).outcome();
    assert!(!sandbox.path("PWNED").exists());
}
