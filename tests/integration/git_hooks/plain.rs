//! Plain hooks: the ones that are there, the ones that the settings make, and what git does around them.

use super::*;
use crate::sandbox::need;

fn checks(line: &str) -> HookSettings {
    HookSettings { pre_commit: vec![line.to_owned()], ..HookSettings::default() }
}

/// A repository with `ruff check .` before each commit.
fn with_check(has_verify_run: bool) -> Option<Sandbox> {
    need("ruff")?;
    let sandbox = repository(has_verify_run);
    write_hook(&sandbox, ".git/hooks/pre-commit", "#!/bin/sh\nset -e\nruff check .\n");
    if has_verify_run {
        assert_eq!(apply(&sandbox, &HookSettings::default()), []);
    }
    Some(sandbox)
}

/// What was committed, and what git then says of the tree.
fn committed(sandbox: &Sandbox) -> String {
    sandbox.git(["ls-tree", "-r", "HEAD"]) + &sandbox.git(["status", "--short"]) + &sandbox.git(["fsck", "--strict"])
}

#[test]
fn a_commit_of_some_paths_or_of_all_is_the_commit_that_it_is_bare() {
    let cases: [&[&str]; 3] = [&["--all"], &["a.py"], &["--include", "b.py"]];
    for arguments in cases {
        let mut results = Vec::new();
        for has_verify_run in [false, true] {
            let Some(sandbox) = with_check(has_verify_run) else { return };
            for name in ["a.py", "b.py", "c.py"] {
                sandbox.write(name, RIGHT);
            }
            sandbox.git(["add", "--all"]);
            sandbox.git(["commit", "--quiet", "--no-verify", "--message", "Files"]);
            sandbox.write("a.py", WRONG);
            sandbox.write("b.py", "print(2)\n");
            sandbox.write("c.py", "print(3)\n");
            sandbox.git(["add", "c.py"]);
            let failed = said(commit(&sandbox).args(arguments), false);
            assert_eq!(failed.0, CommandEnd::Exit(1), "{}", failed.1);
            sandbox.settle();
            sandbox.write("a.py", "print(4)\n");
            let passed = said(commit(&sandbox).args(arguments), false);
            assert_eq!(passed.0, CommandEnd::Exit(0), "{}", passed.1);
            results.push((failed, passed, committed(&sandbox)));
            if has_verify_run {
                assert_eq!(runs(&sandbox).len(), 2);
                assert_eq!(fix(&sandbox)["state"], "success");
            }
        }
        assert_eq!(results[0], results[1], "{arguments:?}: bare, then recorded");
    }
}

#[test]
fn a_commit_in_another_work_tree_is_recorded_there() {
    let Some(sandbox) = with_check(true) else { return };
    sandbox.git(["worktree", "add", "--quiet", "../other"]);
    let other = sandbox.path("../other");
    fs::write(other.join("a.py"), WRONG).expect("a file");
    let in_other = |arguments: &[&str]| sandbox.bare("git").dir("../other").args(arguments).outcome();
    in_other(&["add", "--all"]);
    assert_eq!(in_other(&["commit", "--quiet", "--message", "x"]).ended, CommandEnd::Exit(1));
    sandbox.settle();
    fs::write(other.join("a.py"), RIGHT).expect("a file");
    in_other(&["add", "--all"]);
    assert_eq!(in_other(&["commit", "--quiet", "--message", "x"]).ended, CommandEnd::Exit(0));
    assert_eq!(in_other(&["status", "--short"]).stdout(), "");
    assert_eq!(sandbox.git(["status", "--short"]), "");
    let roots: Vec<_> = sandbox.events().iter().filter_map(|event| event["root"].as_str().map(PathBuf::from)).collect();
    let wanted = other.canonicalize().expect("a folder");
    assert_eq!(roots.len(), 2);
    assert!(roots.iter().all(|root| root.canonicalize().is_ok_and(|root| root == wanted)), "{roots:?}");
    assert_eq!(fix(&sandbox)["state"], "success");
}

#[test]
fn the_hooks_folder_is_the_one_that_git_uses() {
    if need("ruff").is_none() {
        return;
    }
    let sandbox = repository(true);
    sandbox.git(["config", "core.hooksPath", "tools/hooks"]);
    write_hook(&sandbox, "tools/hooks/pre-commit", "#!/usr/bin/env bash\nruff check a.py || exit 3\n");
    write_hook(&sandbox, ".git/hooks/pre-commit", "#!/bin/sh\nruff check a.py\n");
    apply(&sandbox, &HookSettings::default());
    assert!(
        sandbox.read("tools/hooks/pre-commit").contains(GUARD)
            && !sandbox.read(".git/hooks/pre-commit").contains(GUARD)
    );
    sandbox.write("a.py", WRONG);
    sandbox.git(["add", "--all"]);
    assert_eq!(commit(&sandbox).outcome().ended, CommandEnd::Exit(1));
    assert_eq!(runs(&sandbox), [("ruff check a.py".to_owned(), false)]);
}

#[test]
fn the_settings_checks_come_after_the_hook_that_was_there() {
    if need("ruff").is_none() {
        return;
    }
    let sandbox = repository(true);
    write_hook(&sandbox, ".git/hooks/pre-commit", "#!/bin/sh\necho mine\n[ ! -e stop ] || exit 7\n");
    assert_eq!(apply(&sandbox, &checks("cd . && ruff check a.py # fast")), []);
    sandbox.write("a.py", WRONG);
    sandbox.git(["add", "--all"]);
    let failed = commit(&sandbox).outcome();
    assert_eq!(failed.ended, CommandEnd::Exit(1));
    assert!(failed.stderr().starts_with("mine\n") && failed.stderr().contains("F821"), "{failed:?}");
    sandbox.write("stop", "");
    assert_eq!(commit(&sandbox).outcome().stderr(), "mine\n", "the check is not reached");
    sandbox.settle();
    fs::remove_file(sandbox.path("stop")).expect("gone");
    sandbox.write("a.py", RIGHT);
    sandbox.git(["add", "--all"]);
    assert_eq!(commit(&sandbox).outcome().ended, CommandEnd::Exit(0));
    assert_eq!(runs(&sandbox).len(), 2);
    assert_eq!(fix(&sandbox)["state"], "success");

    // The same without verify-run.
    uninstall(&sandbox);
    sandbox.write("a.py", WRONG);
    sandbox.git(["add", "--all"]);
    let failed = commit(&sandbox).outcome();
    assert!(failed.stderr().contains("F821") && failed.ended == CommandEnd::Exit(1), "{failed:?}");
}

#[test]
fn a_graphical_client_s_short_path_is_enough() {
    let Some(ruff) = need("ruff") else { return };
    let sandbox = repository(false);
    assert_eq!(apply(&sandbox, &checks(&format!("{} check a.py", ruff.display()))), []);
    let own = sandbox.home().join(".local/bin");
    fs::create_dir_all(&own).expect("a folder");
    symlink(VERIFY_RUN, own.join("verify-run")).expect("verify-run beside PATH");
    sandbox.write("a.py", WRONG);
    sandbox.git(["add", "--all"]);
    let failed = commit(&sandbox).env("PATH", "/usr/bin:/bin").outcome();
    assert_eq!(failed.ended, CommandEnd::Exit(1), "{failed:?}");
    assert_eq!(runs(&sandbox).len(), 1);
}

#[test]
fn a_message_is_checked_and_a_push_tells_the_hook_that_was_there_its_refs() {
    let sandbox = repository(true);
    sandbox.tool("commitlint", "grep -q '^fix' \"$2\" || { echo 'subject has no type'; exit 1; }");
    sandbox.tool("pytest", "cat; exit $(cat code)");
    sandbox.write("code", "0");
    write_hook(&sandbox, ".git/hooks/pre-push", "#!/bin/sh\nread -r _ _ ref _\necho \"pushing to $1: $ref\"\n");
    let hooks = HookSettings {
        commit_msg: vec!["commitlint --edit \"$1\"".into()],
        pre_push: vec!["pytest -q".into(), "verify-run check-diff --staged".into()],
        ..HookSettings::default()
    };
    assert_eq!(apply(&sandbox, &hooks), []);
    sandbox.git(["add", "--all"]);
    let refused = commit(&sandbox).outcome();
    assert_eq!((refused.ended, refused.stderr()), (CommandEnd::Exit(1), "subject has no type\n"));
    sandbox.git(["commit", "--quiet", "--message", "fix: x"]);

    sandbox.git(["init", "--quiet", "--bare", "../remote"]);
    sandbox.git(["remote", "add", "origin", "../remote"]);
    sandbox.write("code", "4");
    let push = || sandbox.bare("git").args(["push", "--quiet", "origin", "main"]).outcome();
    let refused = push();
    assert_eq!(refused.ended, CommandEnd::Exit(1));
    assert!(refused.stdout().starts_with("pushing to origin: refs/heads/main\n"), "{refused:?}");
    sandbox.write("code", "0");
    assert_eq!(push().ended, CommandEnd::Exit(0));
    let commands = ["commitlint --edit .git/COMMIT_EDITMSG", "pytest -q"];
    let expected = commands.iter().flat_map(|line| [((*line).to_owned(), false), ((*line).to_owned(), true)]);
    assert_eq!(runs(&sandbox), expected.collect::<Vec<_>>());

    // Neither its own failure nor its absence blocks anyone.
    sandbox.write("x.test.js", "it('x', () => {});\n");
    sandbox.git(["add", "x.test.js"]);
    sandbox.git(["commit", "--quiet", "--no-verify", "--message", "fix: y"]);
    sandbox.write("x.test.js", "it.skip('x', () => {});\n");
    sandbox.git(["add", "x.test.js"]);
    assert_eq!(sandbox.verify_run(["check-diff", "--staged"]).outcome().ended, CommandEnd::Exit(1));
    assert_eq!(push().ended, CommandEnd::Exit(1), "check-diff found something");
    uninstall(&sandbox);
    assert_eq!(push().ended, CommandEnd::Exit(0));
}

#[test]
fn init_sets_hooks_up_and_taking_it_out_gives_back_what_was_there() {
    if need("ruff").is_none() {
        return;
    }
    let sandbox = repository(true);
    let (mine, off) = ("#!/bin/sh\nruff check a.py\n", "#!/bin/sh\nruff check .\n");
    write_hook(&sandbox, ".git/hooks/pre-commit", mine);
    sandbox.write(".git/hooks/pre-merge-commit", off);
    sandbox.write("verify-run.toml", "[hooks]\npre_push = [\"ruff check a.py\"]\n");
    sandbox.write("a.py", WRONG);
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--no-verify", "--message", "Files"]);
    let init = sandbox.verify_run(["init", "--yes"]).outcome();
    assert_eq!(init.ended, CommandEnd::Exit(0), "{}{}", init.stdout(), init.stderr());
    assert!(sandbox.read(".git/hooks/pre-commit").contains(GUARD));
    assert_eq!(sandbox.read(".git/hooks/pre-merge-commit"), off, "git ignores it, so nothing is changed");
    let mode = |name: &str| fs::metadata(sandbox.path(name)).expect("a hook").permissions().mode() & 0o777;
    assert_eq!((mode(".git/hooks/pre-commit"), mode(".git/hooks/pre-push") & 0o111), (0o755, 0o111));
    sandbox.git(["init", "--quiet", "--bare", "../remote"]);
    let push = sandbox.bare("git").args(["push", "--quiet", "../remote", "main"]).outcome();
    assert_eq!(push.ended, CommandEnd::Exit(1), "{push:?}");
    assert_eq!(runs(&sandbox).last(), Some(&("ruff check a.py".to_owned(), false)));

    let out = sandbox.verify_run(["hook", "uninstall"]).outcome();
    assert_eq!(out.ended, CommandEnd::Exit(0), "{}{}", out.stdout(), out.stderr());
    assert_eq!((sandbox.read(".git/hooks/pre-commit").as_str(), mode(".git/hooks/pre-commit")), (mine, 0o755));
    assert!(!sandbox.path(".git/hooks/pre-push").exists());
}
