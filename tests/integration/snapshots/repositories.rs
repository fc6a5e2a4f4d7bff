//! Repositories of every make, and everything in them that could be touched, run or waited for.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use super::{changed, fail, fail_in, files_of, pass, paths_of, untouched};
use crate::sandbox::{Sandbox, skip};

#[test]
fn nothing_of_the_user_s_is_touched_run_or_waited_for() {
    let sandbox = Sandbox::repository();
    let canary = sandbox.home().join("canary");
    let program = sandbox.tool("sing", &format!("echo \"$0 $*\" >> {}; cat", canary.display()));
    let program = program.to_str().expect("text").to_owned();
    sandbox.write(".gitattributes", "*.secret filter=crypt diff=crypt\n*.txt diff=crypt merge=crypt\n");
    sandbox.write("a.secret", "cipher\n");
    sandbox.write("b.txt", "text\n");
    sandbox.commit("Files");
    sandbox.write("b.txt", "stashed\n");
    sandbox.git(["stash", "--quiet"]);
    sandbox.git(["gc", "--quiet", "--prune=now"]);
    let settings = [
        ("filter.crypt.clean", program.as_str()),
        ("filter.crypt.smudge", &program),
        ("filter.crypt.process", &program),
        ("filter.crypt.required", "true"),
        ("diff.crypt.textconv", &program),
        ("diff.crypt.command", &program),
        ("diff.external", &program),
        ("core.fsmonitor", &program),
        ("core.sshCommand", &program),
        ("core.pager", &program),
        ("core.hooksPath", "hooks"),
        ("credential.helper", &program),
        ("core.untrackedCache", "true"),
        ("trace2.eventTarget", canary.to_str().expect("text")),
    ];
    for (key, value) in settings {
        let place = if key.starts_with("trace2") { "--global" } else { "--local" };
        fs::write(sandbox.home().join("none"), "").expect("a file");
        sandbox.git(["config", place, key, value]);
    }
    for hook in ["post-index-change", "pre-commit", "fsmonitor-watchman", "reference-transaction"] {
        let path = sandbox.write(format!("hooks/{hook}"), format!("#!/bin/sh\n{program} {hook}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
    }
    let _ = fs::remove_file(&canary);
    sandbox.write("a.secret", "the plain text of it\n");
    sandbox.write("b.txt", "changed\n");
    // Whoever holds these is at work: verify-run does not wait for it.
    for lock in ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock"] {
        fs::write(sandbox.path(".git").join(lock), "").expect("a file");
    }
    let (passed, failed) = untouched(&sandbox, || (pass(&sandbox), fail(&sandbox)));
    let hooks = ["fsmonitor-watchman", "post-index-change", "pre-commit", "reference-transaction"];
    let hooks = hooks.map(|name| format!("hooks/{name}"));
    let wanted: Vec<&str> = ["a.secret", "b.txt"].into_iter().chain(hooks.iter().map(String::as_str)).collect();
    assert_eq!(changed(&passed), wanted, "{passed}");
    assert_eq!(failed["tree"], passed["tree"]);
    // `trace2` is git's own, and asked for by the user: `git config` reads the user's settings.
    let sung = fs::read_to_string(&canary).unwrap_or_default();
    assert!(!sung.contains("sing"), "{sung}");
    // Encrypted text is kept nowhere.
    let content = &files_of(&sandbox, &passed)["a.secret"].1;
    assert!(content.starts_with("verify-run: ") && !content.contains("plain"), "{content}");
    sandbox.write("a.secret", "another text\n");
    let third = fail(&sandbox);
    assert_eq!(changed(&third), ["a.secret"]);
    assert_eq!((&third["files"][0]["opaque"], &third["diff"]), (&true.into(), &serde_json::Value::Null));
}

#[test]
fn before_the_first_commit_and_without_an_index_there_is_a_tree() {
    let sandbox = Sandbox::new();
    sandbox.git(["init", "--quiet"]);
    sandbox.write("a", "x\n");
    let event = untouched(&sandbox, || fail(&sandbox));
    assert_eq!(paths_of(&sandbox, &event), ["a"]);
    assert_eq!((&event["base"], &event["exact"]), (&serde_json::Value::Null, &true.into()));
    sandbox.git(["checkout", "--quiet", "--orphan", "other"]);
    sandbox.commit("Start");
    sandbox.git(["checkout", "--quiet", "--detach"]);
    sandbox.git(["pack-refs", "--all"]);
    sandbox.write("a", "y\n");
    let event = fail(&sandbox);
    assert_eq!((&event["base"]["what"], changed(&event)), (&"head".into(), vec!["a"]));
}

#[test]
fn a_branch_in_packed_references_is_compared_with() {
    let sandbox = Sandbox::repository();
    sandbox.git(["pack-refs", "--all"]);
    sandbox.write("README", "changed\n");
    assert_eq!(changed(&fail(&sandbox)), ["README"]);
}

#[test]
fn outside_git_there_are_none() {
    let sandbox = Sandbox::new();
    sandbox.tool("luacheck", "echo 'src/a.lua:3:1: error: wrong'; exit 3");
    sandbox.verify_run(["--sync", "luacheck", "."]).outcome();
    assert_eq!(sandbox.lessons().len(), 1);
    let state = fs::read_dir(sandbox.home().join(".local/state/verify-run")).expect("reads").flatten().next();
    assert_eq!(sandbox.snapshots_in(&state.expect("a state folder").path()).len(), 0);
}

#[test]
fn linked_work_trees_have_each_their_own() {
    let sandbox = Sandbox::repository();
    sandbox.git(["worktree", "add", "--quiet", "-b", "topic", "../linked"]);
    sandbox.write("here", "x\n");
    sandbox.write("../linked/there", "x\n");
    let (here, there) = untouched(&sandbox, || (fail(&sandbox), fail_in(&sandbox, "../linked")));
    assert_eq!(paths_of(&sandbox, &here), ["README", "here"]);
    assert_eq!(paths_of(&sandbox, &there), ["README", "there"]);
    assert_eq!(fail(&sandbox)["tree"], here["tree"]);
    // One recorder for runs of both.
    fs::create_dir_all(sandbox.state()).expect("the state folder");
    let lock = fs::File::open(sandbox.state().join("recorder.lock")).expect("a file");
    lock.lock().expect("no one else");
    for dir in ["", "../linked"] {
        sandbox.verify_run(["luacheck", "."]).dir(dir).outcome();
        sandbox.settle();
    }
    drop(lock);
    sandbox.verify_run(["store", "status"]).prints();
    let snapshots = sandbox.snapshots();
    let newest: Vec<_> = snapshots[snapshots.len() - 2..].iter().map(|event| &event["tree"]).collect();
    assert_eq!(newest, [&here["tree"], &there["tree"]]);
}

#[test]
fn submodules_are_their_commit_and_other_repositories_are_left_out() {
    let sandbox = Sandbox::repository();
    sandbox.git(["init", "--quiet", "../library"]);
    let git_in = |dir: &str, arguments: &[&str]| sandbox.bare("git").args(arguments).dir(dir).prints();
    git_in("../library", &["commit", "--quiet", "--allow-empty", "--message", "Start"]);
    sandbox.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../library", "vendor/library"]);
    sandbox.commit("Add the library");
    let first = untouched(&sandbox, || fail(&sandbox));
    let commit = git_in("../library", &["rev-parse", "HEAD"]);
    let wanted = ("160000".to_owned(), commit.trim().to_owned());
    assert_eq!(files_of(&sandbox, &first)["vendor/library"], wanted);
    // What is changed inside doesn't show: such a tree is never known exactly.
    assert_eq!(first["exact"], serde_json::Value::Null);
    git_in("vendor/library", &["commit", "--quiet", "--allow-empty", "--message", "More"]);
    assert_eq!(changed(&fail(&sandbox)), ["vendor/library"]);
    for name in ["empty", "full"] {
        sandbox.git(["init", "--quiet", name]);
        sandbox.write(format!("{name}/file"), "x\n");
    }
    git_in("full", &["add", "file"]);
    git_in("full", &["commit", "--quiet", "--message", "Start"]);
    let event = untouched(&sandbox, || fail(&sandbox));
    assert_eq!(paths_of(&sandbox, &event), [".gitmodules", "README", "vendor/library"]);
    assert_eq!(event["left_out"], 2);
    // In the submodule itself it is a repository like any other.
    sandbox.write("vendor/library/inside", "x\n");
    let inside = fail_in(&sandbox, "vendor/library");
    assert_eq!(changed(&inside), ["inside"]);
}

#[test]
fn a_sparse_checkout_keeps_what_is_not_checked_out() {
    for sparse_index in ["false", "true"] {
        let sandbox = Sandbox::repository();
        for name in ["in/a", "out/b", "out/deep/c"] {
            sandbox.write(name, "x\n");
        }
        sandbox.commit("Files");
        sandbox.git(["config", "index.sparse", sparse_index]);
        sandbox.git(["sparse-checkout", "set", "--cone", "in"]);
        sandbox.git(["gc", "--quiet", "--prune=now"]);
        assert!(!sandbox.path("out").exists());
        sandbox.write("in/new", "x\n");
        // To unfold such an index git makes the trees again, and a pack that has one is in use: its time changes.
        let event = if sparse_index == "true" { fail(&sandbox) } else { untouched(&sandbox, || fail(&sandbox)) };
        assert_eq!(paths_of(&sandbox, &event), ["README", "in/a", "in/new", "out/b", "out/deep/c"], "{sparse_index}");
        assert_eq!(changed(&event), ["in/new"]);
        // A file that is there although it should not be.
        sandbox.write("out/b", "changed\n");
        assert_eq!(changed(&fail(&sandbox)), ["in/new", "out/b"]);
    }
}

#[test]
fn indexes_of_every_format_are_taken_over() {
    for settings in [&["core.splitIndex", "true"], &["index.version", "4"], &["feature.manyFiles", "true"]] {
        let sandbox = Sandbox::repository();
        sandbox.git(["config", settings[0], settings[1]]);
        sandbox.git(["update-index", "--index-version", "4"]);
        for name in 0..20 {
            sandbox.write(format!("folder/file{name}"), "x\n");
        }
        sandbox.commit("Files");
        sandbox.write("folder/file3", "changed\n");
        sandbox.git(["add", "folder/file3"]);
        sandbox.git(["status"]);
        let event = untouched(&sandbox, || fail(&sandbox));
        assert_eq!(paths_of(&sandbox, &event).len(), 21, "{settings:?}");
        assert_eq!(changed(&event), ["folder/file3"], "{settings:?}");
        sandbox.write("folder/file4", "changed\n");
        assert_eq!(changed(&fail(&sandbox)).len(), 2);
    }
}

#[test]
fn sha_256_is_as_good() {
    let sandbox = Sandbox::new();
    sandbox.git(["init", "--quiet", "--object-format=sha256"]);
    sandbox.write("a", "x\n");
    sandbox.write("gone", "x\n");
    sandbox.commit("Start");
    fs::remove_file(sandbox.path("gone")).expect("removes");
    sandbox.write("a", "y\n");
    let event = untouched(&sandbox, || fail(&sandbox));
    assert_eq!(event["tree"].as_str().map(str::len), Some(64));
    assert_eq!(changed(&event), ["a", "gone"]);
}

#[test]
fn a_conflict_is_what_lies_there() {
    let sandbox = Sandbox::repository();
    for (branch, text) in [("left", "left\n"), ("right", "right\n")] {
        sandbox.git(["checkout", "--quiet", "-b", branch, "main"]);
        sandbox.write("README", text);
        sandbox.commit(branch);
    }
    let merge = sandbox.bare("git").args(["merge", "left"]).outcome();
    assert!(merge.stdout().contains("CONFLICT"), "{}", merge.stdout());
    let event = untouched(&sandbox, || fail(&sandbox));
    assert!(files_of(&sandbox, &event)["README"].1.contains("<<<<<<<"));
    fs::remove_file(sandbox.path("README")).expect("removes");
    assert_eq!(paths_of(&sandbox, &fail(&sandbox)), Vec::<String>::new());
}

#[test]
fn replaced_grafted_borrowed_and_missing_objects_are_no_surprise() {
    let origin = Sandbox::repository();
    origin.write("big/file", "x\n");
    origin.commit("More");
    let from = origin.work();
    let from = from.to_str().expect("text");
    for how in [&["--shared"][..], &["--filter=blob:none", "--no-checkout"], &["--depth=1"]] {
        let sandbox = Sandbox::new();
        let url = format!("file://{from}");
        let url = if how[0] == "--shared" { from } else { &url };
        origin.git(["config", "uploadpack.allowFilter", "true"]);
        let clone = sandbox.bare("git").args(["clone", "--quiet"]).args(how).args([url, "."]).outcome();
        assert_eq!(clone.stderr(), "", "{how:?}");
        if how.len() > 1 {
            sandbox.git(["sparse-checkout", "set", "--no-cone", "/README"]);
            sandbox.git(["checkout", "--quiet", "main"]);
        } else {
            let alternates = sandbox.path(".git/objects/info/alternates");
            if alternates.exists() {
                // Git follows relative ones only from the repository itself.
                let up = "../".repeat(sandbox.path(".git/objects").components().count() - 1);
                fs::write(alternates, format!("{up}{}\n", &origin.path(".git/objects").display().to_string()[1..]))
                    .expect("a file");
                sandbox.git(["fsck"]);
            }
            let (new, old) = (sandbox.git(["rev-parse", "HEAD"]), origin.git(["rev-parse", "HEAD~"]));
            if how[0] == "--shared" {
                sandbox.git(["replace", new.trim(), old.trim()]);
            }
        }
        sandbox.write("README", "changed\n");
        let event = untouched(&sandbox, || fail(&sandbox));
        assert_eq!(changed(&event), ["README"], "{how:?}: {event}");
        assert_eq!(event["unavailable"], serde_json::Value::Null, "{event}");
    }
}

#[test]
fn a_repository_of_somebody_else_s_is_read_without_its_settings() {
    if !nix::unistd::geteuid().is_root() {
        return skip("only root can give a repository away");
    }
    let sandbox = Sandbox::repository();
    sandbox.write("README", "changed\n");
    let mut folders = vec![sandbox.work()];
    while let Some(folder) = folders.pop() {
        chown(&folder, Some(12_345), Some(12_345)).expect("gives away");
        for entry in fs::read_dir(&folder).expect("reads").flatten() {
            if entry.file_type().expect("a type").is_dir() {
                folders.push(entry.path())
            } else {
                chown(entry.path(), Some(12_345), Some(12_345)).expect("gives away")
            }
        }
    }
    assert!(sandbox.bare("git").args(["status"]).outcome().stderr().contains("dubious ownership"));
    sandbox.tool("luacheck", "echo 'src/a.lua:3:1: error: wrong'; exit 3");
    sandbox.verify_run(["--sync", "luacheck", "."]).outcome();
    assert_eq!(changed(&sandbox.snapshots()[0]), ["README"]);
}

#[test]
fn variables_about_another_git_at_work_are_not_ours() {
    let sandbox = Sandbox::repository();
    sandbox.write("README", "changed\n");
    sandbox.tool("luacheck", "echo 'src/a.lua:3:1: error: wrong'; exit 3");
    let elsewhere = sandbox.home().join("elsewhere");
    let mut run = sandbox.verify_run(["--sync", "luacheck", "."]);
    for name in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_TRACE", "GIT_NAMESPACE"] {
        run = run.env(name, &elsewhere);
    }
    run.env("GIT_LITERAL_PATHSPECS", "1").env("GIT_EXTERNAL_DIFF", "false").outcome();
    assert_eq!(changed(&sandbox.snapshots()[0]), ["README"]);
    assert!(!elsewhere.exists());
}

#[test]
fn folders_with_separators_in_their_names_are_no_problem() {
    let sandbox = Sandbox::new();
    let dir = Path::new("a:b \"c\"\n#d");
    fs::create_dir(sandbox.path(dir)).expect("a folder");
    let git = |arguments: &[&str]| sandbox.bare("git").args(arguments).dir(dir).prints();
    git(&["init", "--quiet"]);
    sandbox.write(dir.join("a"), "x\n");
    git(&["add", "a"]);
    git(&["commit", "--quiet", "--message", "Start"]);
    sandbox.write(dir.join("a"), "y\n");
    sandbox.tool("luacheck", "echo 'src/a.lua:3:1: error: wrong'; exit 3");
    sandbox.verify_run(["--sync", "luacheck", "."]).dir(dir).outcome();
    let event = sandbox.snapshots_in(&sandbox.path(dir).join(".git/verify-run")).remove(0);
    assert_eq!((changed(&event), &event["unavailable"]), (vec!["a"], &serde_json::Value::Null), "{event}");
}
