//! The shims of real version managers, and of one like asdf, behind ours: they choose the version, we record.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use verify_run::run::CommandEnd;

use super::{install, path_with, recorded, script};
use crate::sandbox::{Invocation, Sandbox, need};

/// A project with a program called `name` of the system's, which says what it is and fails.
fn project(name: &str) -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.tool(name, "echo system \"$@\"; exit 3");
    sandbox
}

/// `name ARGUMENT` with `shims` behind ours.
fn call<'a>(sandbox: &'a Sandbox, shims: &Path, name: &str, argument: &str) -> Invocation<'a> {
    sandbox.bare("env").args([name, argument]).env("PATH", path_with(sandbox, &[shims]))
}

#[test]
fn rbenv() {
    let Some(rbenv) = need("rbenv") else { return };
    let sandbox = project("rspec");
    let root = sandbox.home().join(".rbenv");
    script(&root.join("versions/9.9.9/bin/rspec"), "#!/bin/sh\necho managed \"$@\"; exit 4\n");
    assert_eq!(sandbox.bare(rbenv).arg("rehash").env("RBENV_ROOT", &root).outcome().ended, CommandEnd::Exit(0));
    let shims = root.join("shims");
    assert!(shims.join("rspec").is_file());
    install(&sandbox, &["rspec"]);
    for argument in ["--version", "spec"] {
        let managed = call(&sandbox, &shims, "rspec", argument).env("RBENV_VERSION", "9.9.9");
        managed.expect(CommandEnd::Exit(4), &format!("managed {argument}\n"), "");
        // It searches PATH past its own folder and finds our shim.
        for version in ["system", ""] {
            let system = call(&sandbox, &shims, "rspec", argument).env("RBENV_VERSION", version);
            system.expect(CommandEnd::Exit(3), &format!("system {argument}\n"), "");
        }
    }
    assert_eq!(recorded(&sandbox), ["rspec spec"; 3]);
}

#[test]
fn mise() {
    let Some(mise) = need("mise") else { return };
    let sandbox = project("node");
    let run = |arguments: &[&str]| {
        let outcome = sandbox.bare(&mise).args(arguments).env("MISE_OFFLINE", "1").outcome();
        assert_eq!(outcome.ended, CommandEnd::Exit(0), "mise {arguments:?}: {}", outcome.stderr());
    };
    let own = sandbox.tmp().join("node-9");
    script(&own.join("bin/node"), "#!/bin/sh\necho managed \"$@\"; exit 4\n");
    run(&["link", "node@9.9.9", own.to_str().expect("UTF-8")]);
    sandbox.write("mise.toml", "[tools]\nnode = \"9.9.9\"\n");
    run(&["trust"]);
    run(&["reshim"]);
    let shims = sandbox.home().join(".local/share/mise/shims");
    // One program under many names, as ours is.
    assert!(fs::symlink_metadata(shims.join("node")).expect("a shim").is_symlink());
    install(&sandbox, &["node"]);
    let called = |argument| call(&sandbox, &shims, "node", argument).env("MISE_OFFLINE", "1");
    for argument in ["--version", "--test"] {
        called(argument).expect(CommandEnd::Exit(4), &format!("managed {argument}\n"), "");
    }
    fs::remove_file(sandbox.path("mise.toml")).expect("the configuration");
    for argument in ["--version", "--test"] {
        called(argument).expect(CommandEnd::Exit(3), &format!("system {argument}\n"), "");
    }
    assert_eq!(recorded(&sandbox), ["node --test"; 2]);
}

#[test]
fn one_that_executes_by_name_like_asdf() {
    let sandbox = project("pytest");
    let root = sandbox.home().join(".asdf");
    // The shim calls the manager with the name, and the manager the program by its path, with that folder in front.
    script(&root.join("shims/pytest"), "#!/usr/bin/env bash\nexec \"$HOME/.asdf/bin/asdf\" exec pytest \"$@\"\n");
    script(
        &root.join("bin/asdf"),
        "#!/usr/bin/env bash\nshift\nname=$1\nshift\nbin=$HOME/.asdf/installs/9/bin\n\
         PATH=$bin:$PATH exec \"$bin/$name\" \"$@\"\n",
    );
    script(&root.join("installs/9/bin/pytest"), "#!/bin/sh\necho \"managed $0 $*\"; exit 4\n");
    install(&sandbox, &["pytest"]);
    let shims = root.join("shims");
    let says = |argument: &str| format!("managed {} {argument}\n", root.join("installs/9/bin/pytest").display());
    for argument in ["--version", "tests"] {
        call(&sandbox, &shims, "pytest", argument).expect(CommandEnd::Exit(4), &says(argument), "");
    }
    assert_eq!(recorded(&sandbox), ["pytest tests"]);
}

#[test]
fn one_program_that_is_called_by_many_names() {
    let sandbox = project("npm");
    let place = sandbox.tmp().join("manager");
    script(&place.join("manager"), "#!/bin/bash\necho \"managed ${0##*/} $*\"; exit 4\n");
    symlink("manager", place.join("npm")).expect("a link");
    install(&sandbox, &["npm"]);
    call(&sandbox, &place, "npm", "--version").expect(CommandEnd::Exit(4), "managed npm --version\n", "");
    call(&sandbox, &place, "npm", "test").expect(CommandEnd::Exit(4), "managed npm test\n", "");
    assert_eq!(recorded(&sandbox), ["npm test"]);
}
