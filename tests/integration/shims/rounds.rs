//! Systems of shims that find each other come to an end, at the real program.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use verify_run::run::CommandEnd;

use super::{folder, install, other_installation, path_with, recorded, script};
use crate::sandbox::{Invocation, Sandbox, need};

/// A version manager's folder of shims, one line of shell a shim.
fn manager(sandbox: &Sandbox, folder: &str, name: &str, line: &str) -> PathBuf {
    let place = sandbox.tmp().join(folder);
    script(&place.join(name), &format!("#!/bin/bash\necho {folder} >>\"$TMPDIR/seen\"\n{line}\n"));
    place
}

/// `eslint ARGUMENT` with these folders behind the shims.
fn eslint<'a>(sandbox: &'a Sandbox, behind: &[PathBuf], argument: &str) -> Invocation<'a> {
    let behind: Vec<_> = behind.iter().map(PathBuf::as_path).collect();
    sandbox.bare("env").args(["eslint", argument]).env("PATH", path_with(sandbox, &behind))
}

/// How often each manager was asked since the last time.
fn seen(sandbox: &Sandbox) -> usize {
    let file = sandbox.tmp().join("seen");
    let count = fs::read_to_string(&file).unwrap_or_default().lines().count();
    let _ = fs::remove_file(file);
    count
}

/// The first `eslint` on PATH that is not in this very folder: what a manager does for the system's program.
const SEARCHES: &str = "own=${0%/*}; IFS=:; for place in $PATH; do \
     [ \"$place\" != \"$own\" ] && [ -x \"$place/eslint\" ] && break; done";

#[test]
fn a_manager_that_hands_back_is_asked_once() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo \"linted $1\"; exit 3");
    install(&sandbox, &["eslint"]);
    let shims = manager(&sandbox, "first/shims", "eslint", &format!("{SEARCHES}; exec \"$place/eslint\" \"$@\""));
    for argument in ["--version", "src"] {
        eslint(&sandbox, std::slice::from_ref(&shims), argument).expect(
            CommandEnd::Exit(3),
            &format!("linted {argument}\n"),
            "",
        );
        assert_eq!(seen(&sandbox), 1, "{argument}");
    }
    assert_eq!(recorded(&sandbox), ["eslint src"]);
    // Where the folder can't be written it is noted elsewhere, and where nothing can, a call by a path isn't handed on.
    let notes = folder(&sandbox).join(".rounds");
    fs::remove_file(&notes).expect("the notes");
    fs::create_dir(&notes).expect("a folder in their place");
    eslint(&sandbox, std::slice::from_ref(&shims), "--version").expect(CommandEnd::Exit(3), "linted --version\n", "");
    assert_eq!(seen(&sandbox), 1);
    let elsewhere = fs::read_dir(sandbox.tmp()).expect("a folder").flatten().map(|entry| entry.file_name());
    let names: Vec<_> = elsewhere.filter(|name| name.to_string_lossy().starts_with(".verify-run.rounds-")).collect();
    assert_eq!(names.len(), 1);
    fs::remove_file(sandbox.tmp().join(&names[0])).expect("the notes");
    fs::create_dir(sandbox.tmp().join(&names[0])).expect("a folder in their place");
    eslint(&sandbox, &[shims], "--version").expect(CommandEnd::Exit(3), "linted --version\n", "");
    assert_eq!(seen(&sandbox), 1);
}

#[test]
fn two_managers_that_hand_back_are_asked_once_each() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo linted");
    install(&sandbox, &["eslint"]);
    let line = format!("{SEARCHES}; exec \"$place/eslint\" \"$@\"");
    let both = ["first/shims", "second/shims"].map(|folder| manager(&sandbox, folder, "eslint", &line));
    eslint(&sandbox, &both, "--version").expect(CommandEnd::Exit(0), "linted\n", "");
    assert_eq!(seen(&sandbox), 2);
}

#[test]
fn a_manager_that_hands_back_in_a_new_process_comes_to_an_end() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo linted; exit 3");
    install(&sandbox, &["eslint"]);
    // As compiler caches do: a link to one program, which starts what it finds.
    let line = format!("{SEARCHES}; \"$place/eslint\" \"$@\"");
    manager(&sandbox, "cache", "cache-program", &line);
    let links = sandbox.tmp().join("links");
    fs::create_dir_all(&links).expect("a folder");
    symlink("../cache/cache-program", links.join("eslint")).expect("a link");
    eslint(&sandbox, &[links], "--version").expect(CommandEnd::Exit(3), "linted\n", "");
    assert!((1..=4).contains(&seen(&sandbox)));
}

#[test]
fn a_program_of_the_same_name_that_searches_for_itself_comes_to_an_end() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo linted; exit 3");
    install(&sandbox, &["eslint"]);
    // Not in a folder of shims, no link; by a path, and under the name that was typed.
    for hand in ["exec", "exec -a eslint"] {
        let wrapper = manager(&sandbox, "wrapper", "eslint", &format!("{SEARCHES}; {hand} \"$place/eslint\" \"$@\""));
        eslint(&sandbox, &[wrapper], "--version").expect(CommandEnd::Exit(3), "linted\n", "");
        let rounds = seen(&sandbox);
        assert!((1..=200).contains(&rounds), "{hand}: {rounds}");
    }
}

#[test]
fn where_there_is_nothing_behind_a_manager_nothing_is_found() {
    let sandbox = Sandbox::repository();
    install(&sandbox, &["eslint"]);
    let shims = manager(&sandbox, "first/shims", "eslint", &format!("{SEARCHES}; exec \"$place/eslint\" \"$@\""));
    eslint(&sandbox, &[shims], "--version").expect(CommandEnd::Exit(127), "", "eslint: command not found\n");
    assert!((1..=10).contains(&seen(&sandbox)));
    // Nor behind one that starts it again each time.
    let shims = manager(&sandbox, "second/shims", "eslint", &format!("{SEARCHES}; \"$place/eslint\" \"$@\""));
    eslint(&sandbox, &[shims], "--version").expect(CommandEnd::Exit(127), "", "eslint: command not found\n");
    assert!((1..=20).contains(&seen(&sandbox)));
}

#[test]
fn a_program_that_starts_itself_anew_by_its_path_is_no_round() {
    let sandbox = Sandbox::repository();
    install(&sandbox, &["eslint", "mypy"]);
    // As a server does on a restart, by what `command -v` says: in the same process, and in a new one.
    for (start, times) in [("exec", 6), ("", 12)] {
        let line = format!("[ \"$1\" = 0 ] && echo done && exit; {start} \"$(command -v eslint)\" $(($1 - 1))");
        sandbox.tool("eslint", &line);
        eslint(&sandbox, &[], &times.to_string()).expect(CommandEnd::Exit(0), "done\n", "");
    }
    // Also when a link makes it look like a shim of another kind.
    let links = sandbox.tmp().join("links");
    fs::create_dir_all(&links).expect("a folder");
    let line = "[ \"$1\" = 0 ] && echo done && exit; exec \"$(command -v mypy)\" $(($1 - 1))";
    let real = sandbox.tool("real", line);
    symlink(real, links.join("mypy")).expect("a link");
    let run = sandbox.bare("env").args(["mypy", "5"]).env("PATH", path_with(&sandbox, &[&links]));
    run.expect(CommandEnd::Exit(0), "done\n", "");
}

#[test]
fn a_program_may_call_itself_by_its_name_again_and_again() {
    let sandbox = Sandbox::repository();
    // A manager's program: in its folder the count goes down, the real one is never asked.
    sandbox.tool("eslint", "echo real");
    install(&sandbox, &["eslint"]);
    let line = "if [ \"$1\" -gt 0 ]; then LEFT=$(($1 - 1)); eslint $LEFT; else echo managed; fi";
    let shims = manager(&sandbox, "first/shims", "eslint", line);
    eslint(&sandbox, std::slice::from_ref(&shims), "30").expect(CommandEnd::Exit(0), "managed\n", "");
    assert_eq!(seen(&sandbox), 31);
    // Found by its path, by one that looks for it.
    let line = "if [ \"$1\" -gt 0 ]; then \"$(command -v eslint)\" $(($1 - 1)); else echo managed; fi";
    let shims = manager(&sandbox, "first/shims", "eslint", line);
    eslint(&sandbox, &[shims], "1").expect(CommandEnd::Exit(0), "managed\n", "");
}

#[test]
fn shims_of_another_installation_are_passed_over() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo linted; exit 3");
    install(&sandbox, &["eslint"]);
    let other = other_installation(&sandbox, &["eslint"]);
    for argument in ["--version", "src"] {
        eslint(&sandbox, std::slice::from_ref(&other), argument).expect(CommandEnd::Exit(3), "linted\n", "");
        let places = [other.clone(), folder(&sandbox)];
        let path = std::env::join_paths(places.iter().cloned().chain(std::env::split_paths(&path_with(&sandbox, &[]))));
        let turned = sandbox.bare("env").args(["eslint", argument]).env("PATH", path.expect("a path"));
        turned.expect(CommandEnd::Exit(3), "linted\n", "");
    }
    assert_eq!(recorded(&sandbox), ["eslint src", "eslint src"]);
}

#[test]
fn a_link_to_verify_run_that_somebody_else_made_is_passed_over() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo linted");
    install(&sandbox, &["eslint"]);
    let own = sandbox.tmp().join("own");
    fs::create_dir_all(&own).expect("a folder");
    symlink(crate::sandbox::VERIFY_RUN, own.join("eslint")).expect("a link");
    eslint(&sandbox, &[own], "--version").expect(CommandEnd::Exit(0), "linted\n", "");
}

#[test]
fn npm_calls_node_calls_npm() {
    let Some(_) = need("npm") else { return };
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(crate::sandbox::tools());
    sandbox.write("package.json", r#"{ "name": "a", "version": "1.0.0", "scripts": { "own": "node own.js" } }"#);
    sandbox
        .write("own.js", "console.log(require('child_process').execSync('npm prefix', { encoding: 'utf8' }).trim())\n");
    install(&sandbox, &["npm", "node"]);
    let printed = super::by_name(&sandbox, "npm").args(["run", "own", "--silent"]).prints();
    assert_eq!(printed, format!("{}\n", sandbox.work().display()));
}
