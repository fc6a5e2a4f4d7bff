//! A program behind a shim is the program: the same bytes, status, environment and descriptors, found in the same place.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, chown};

use verify_run::run::CommandEnd;

use super::{by_name, folder, install, path_with, script};
use crate::sandbox::{Invocation, Outcome, Sandbox, need, skip};

/// Runs `name` before it has a shim and after, with one and the same PATH: everything has to be the same.
#[track_caller]
fn same<'a>(sandbox: &'a Sandbox, name: &str, with: impl Fn(Invocation<'a>) -> Invocation<'a>) -> Outcome {
    let bare = with(by_name(sandbox, name)).outcome();
    install(sandbox, &[name]);
    let behind = with(by_name(sandbox, name)).outcome();
    sandbox.verify_run(["shims", "uninstall", name]).prints();
    let lines = |outcome: &Outcome| {
        let text = [&outcome.stdout[..], b"\n-- stderr --\n", &outcome.stderr].concat();
        text.split(|byte| matches!(byte, b'\n' | 0)).map(|line| line.escape_ascii().to_string()).collect::<Vec<_>>()
    };
    let differ: Vec<_> = lines(&behind).into_iter().zip(lines(&bare)).filter(|(behind, bare)| behind != bare).collect();
    assert!(behind == bare, "{:?} behind the shim, {:?} bare; lines: {differ:?}", behind.ended, bare.ended);
    behind
}

/// Says everything of its process that a caller decides.
const SAYS_ALL: &str = r#"
printf '%s\n' "$0" "$#" "$@"
cat /proc/$$/environ
pwd; umask; ulimit -a
grep -E '^(SigBlk|SigIgn|Uid|Gid|NoNewPrivs|CapEff)' /proc/self/status
ls /proc/$$/fd
cat; echo error >&2; exit 7
"#;

#[test]
fn a_program_is_given_what_it_is_given_without_a_shim() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", SAYS_ALL);
    let odd = OsString::from_vec(b"caf\xe9 \n*".to_vec());
    // `--version` is never a check, the other is one: executed in place, and watched.
    for first in ["--version", "src"] {
        let outcome = same(&sandbox, "eslint", |command| {
            let command = command.arg(first).arg(&odd).arg("").env("ODD", &odd).stdin("some input\n");
            command.fd(7, File::open("/dev/null").expect("a device"))
        });
        assert_eq!((outcome.ended, outcome.stderr()), (CommandEnd::Exit(7), "error\n"));
        assert!(outcome.stdout.ends_with(b"some input\n"));
    }
}

#[test]
fn what_is_no_check_is_executed_in_place() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo $$ $PPID");
    let line = "echo $$ $PPID; exec eslint --version";
    let bare = sandbox.bare("sh").args(["-c", line]).env("PATH", path_with(&sandbox, &[]));
    install(&sandbox, &["eslint"]);
    let printed = bare.prints();
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines[0], lines[1], "the same process");
    assert!(!sandbox.state().exists(), "nothing is kept of it");
}

#[test]
fn signals_and_statuses_are_the_programs() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "case $2 in sig*) kill -${2#sig} $$;; *) exit $2;; esac");
    for first in ["--version", "src"] {
        for end in ["0", "1", "126", "255", "sigTERM", "sigKILL", "sigSEGV"] {
            let outcome = same(&sandbox, "eslint", |command| command.args([first, end]));
            let wanted = match end {
                "sigTERM" => CommandEnd::Signal(15),
                "sigKILL" => CommandEnd::Signal(9),
                "sigSEGV" => CommandEnd::Signal(11),
                code => CommandEnd::Exit(code.parse().expect("a code")),
            };
            assert_eq!(outcome.ended, wanted);
        }
    }
}

#[test]
fn closed_descriptors_stay_closed_and_input_is_left_for_the_next() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] && echo $fd open >>seen; done; exit 0");
    for first in ["--version", "src"] {
        for closed in 0..3 {
            same(&sandbox, "eslint", |command| command.arg(first).closed_fd(closed));
            let seen = sandbox.read("seen");
            let open: String = (0..3).filter(|fd| *fd != closed).map(|fd| format!("{fd} open\n")).collect();
            assert_eq!(seen, open.repeat(2));
            fs::remove_file(sandbox.path("seen")).expect("the file");
        }
    }
    sandbox.tool("eslint", "read line; echo \"$line\"");
    install(&sandbox, &["eslint"]);
    let line = "while eslint --version; do :; done 2>/dev/null | head -n 3; cat";
    let loops = sandbox.bare("sh").args(["-c", line]).env("PATH", path_with(&sandbox, &[])).stdin("a\nb\nc\n");
    assert_eq!(loops.prints(), "a\nb\nc\n");
}

#[test]
fn real_programs_find_themselves() {
    let sandbox = Sandbox::repository();
    sandbox.write("Makefile", "all:\n\t@echo $(MAKE) $(MAKE_COMMAND) $(MAKELEVEL)\n\t@$(MAKE) --no-print-directory inner\ninner:\n\t@env | sort\n");
    sandbox.write("a.c", "int main(void) { return 0; }\n");
    let python = "import sys; print(sys.argv, sys.executable, sys.prefix, sys.flags); import json";
    let cases: [(&str, &[&str]); 10] = [
        ("python3", &["-c", python, "a b", ""]),
        ("python3", &["--version"]),
        ("python3", &["-m", "venv", "--without-pip", "--clear", "venv"]),
        ("python3", &["-m", "py_compile", "nothing.py"]),
        ("make", &["all"]),
        ("make", &["nothing"]),
        ("gcc", &["-print-search-dirs"]),
        ("gcc", &["-c", "a.c", "-o", "a.o"]),
        ("gcc", &["-c", "b.c"]),
        ("perl", &["-e", "print \"$0 $^X @ARGV\\n\"; exit 3", "a"]),
    ];
    for (program, arguments) in cases {
        if need(program).is_some() {
            same(&sandbox, program, |command| command.args(arguments));
        }
    }
    if let Some(python) = need("python3") {
        // The environment that it makes is of the real program.
        let link = fs::read_link(sandbox.path("venv/bin/python3")).expect("a link");
        assert!(!link.starts_with(sandbox.home()), "{} of {}", link.display(), python.display());
    }
}

#[test]
fn node_and_npm_find_themselves() {
    let Some(_) = need("npm") else { return };
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(crate::sandbox::tools());
    let says = "console.log(process.argv, process.argv0, process.execPath, process.env)";
    same(&sandbox, "node", |command| command.args(["-e", says, "a"]));
    sandbox.write("package.json", r#"{ "name": "a", "version": "1.0.0", "scripts": { "own": "env" } }"#);
    for arguments in [&["--version"][..], &["run", "own", "--silent"], &["prefix"], &["run", "missing"]] {
        let bare = by_name(&sandbox, "npm").args(arguments).env("npm_config_update_notifier", "false").outcome();
        install(&sandbox, &["npm", "node"]);
        let behind = by_name(&sandbox, "npm").args(arguments).env("npm_config_update_notifier", "false").outcome();
        sandbox.verify_run(["shims", "uninstall"]).prints();
        let without_log = |outcome: &Outcome| {
            let text = format!("{:?}\n{}\n{}", outcome.ended, outcome.stdout(), outcome.stderr());
            text.lines().filter(|line| !line.contains("_logs")).map(|line| format!("{line}\n")).collect::<String>()
        };
        assert_eq!(without_log(&behind), without_log(&bare), "npm {arguments:?}");
    }
}

#[test]
fn odd_paths_are_searched_as_a_shell_does() {
    let sandbox = Sandbox::repository();
    let says = "#!/bin/sh\necho \"$0 $1\"\n";
    script(&sandbox.path("rel/eslint"), says);
    script(&sandbox.path("mypy"), says);
    fs::create_dir_all(sandbox.path("folders/eslint")).expect("a folder called so");
    script(&sandbox.path("denied/eslint"), says);
    fs::set_permissions(sandbox.path("denied/eslint"), fs::Permissions::from_mode(0o644)).expect("a mode");
    script(&sandbox.path("plain/eslint"), "echo plain \"$1\"\n");
    install(&sandbox, &["eslint", "mypy"]);
    let shims = folder(&sandbox).display().to_string();
    let system = "/usr/bin:/bin";
    let called = |path: &str, line: &str| {
        sandbox.bare("/bin/sh").args(["-c", line]).env("PATH", path.replace("SHIMS", &shims)).outcome()
    };
    let says = |path: &str, line: &str| {
        let outcome = called(path, line);
        (outcome.ended, format!("{}{}", outcome.stdout(), outcome.stderr()))
    };
    let passed = |text: &str| (CommandEnd::Exit(0), format!("{text}\n"));
    assert_eq!(says(&format!("SHIMS:rel:{system}"), "eslint --version"), passed("rel/eslint --version"));
    // An empty entry is the working directory, at the beginning, in the middle and at the end.
    for path in [":SHIMS", "SHIMS::/nowhere", "SHIMS:/nowhere:"] {
        assert_eq!(says(path, "mypy --version"), passed("mypy --version"), "{path}");
    }
    // What can't be executed is passed over: folders, files without the right, the shims themselves by other names.
    let path = format!("SHIMS:SHIMS/:folders:denied:SHIMS/../shims:rel:{system}");
    assert_eq!(says(&path, "eslint --version"), passed("rel/eslint --version"));
    assert_eq!(says("SHIMS:plain:/bin", "eslint --version"), passed("plain --version"));
    assert_eq!(says("SHIMS:denied", "eslint --version"), (CommandEnd::Exit(126), "eslint: Permission denied\n".into()));
    for path in ["SHIMS", "SHIMS:/nowhere:SHIMS"] {
        assert_eq!(says(path, "eslint --version"), (CommandEnd::Exit(127), "eslint: command not found\n".into()));
    }
    // By its path a shim is the same shim, and from the folder itself.
    let path = format!("rel:{system}");
    assert_eq!(says(&path, &format!("{shims}/eslint --version")), passed("rel/eslint --version"));
    let path = format!("{}:{system}", sandbox.path("rel").display());
    let said = says(&path, &format!("cd {shims} && PATH=:$PATH && ./eslint --version"));
    assert_eq!(said, passed(&format!("{}/eslint --version", sandbox.path("rel").display())));
}

#[test]
fn a_script_may_name_a_shim_as_its_interpreter() {
    let Some(_) = need("python3") else { return };
    let sandbox = Sandbox::repository();
    install(&sandbox, &["python3"]);
    let shim = folder(&sandbox).join("python3");
    let text = "import sys; print(sys.argv[1:], sys.executable.startswith('/usr'))";
    script(&sandbox.path("direct"), &format!("#!{}\n{text}\n", shim.display()));
    script(&sandbox.path("searched"), &format!("#!/usr/bin/env python3\n{text}\n"));
    for path in ["direct", "searched"] {
        let run = sandbox.bare(sandbox.path(path)).arg("a").env("PATH", path_with(&sandbox, &[]));
        assert_eq!(run.prints(), "['a'] True\n", "{path}");
    }
}

#[test]
fn a_program_with_rights_of_its_own_keeps_them() {
    if !nix::unistd::geteuid().is_root() {
        return skip("only root can make a program with another user's rights");
    }
    let sandbox = Sandbox::repository();
    let tool = sandbox.tool("tap", "");
    fs::copy("/usr/bin/id", &tool).expect("a program");
    chown(&tool, Some(65534), Some(65534)).expect("another owner");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o6755)).expect("a mode");
    let outcome = same(&sandbox, "tap", |command| command.arg("-u"));
    assert_eq!(outcome.stdout(), "65534\n");
}

#[test]
fn whatever_fails_in_us_the_program_runs() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo linted; exit 4");
    install(&sandbox, &["eslint"]);
    sandbox.write("whitelist.toml", "verify_run_schema = 1\n[[tool]\n");
    let places = ["cd $(mktemp -d) && rmdir \"$PWD\"", "unset HOME"];
    for before in places {
        let run = by_name(&sandbox, "eslint").after(before).outcome();
        assert_eq!((run.ended, run.stdout()), (CommandEnd::Exit(4), "linted\n"), "{before}: {}", run.stderr());
    }
    // No descriptor is left for a pipe, or for reading anything.
    let tool = sandbox.tool("tap", "");
    fs::copy("/usr/bin/id", &tool).expect("a program");
    for descriptors in ["ulimit -n 4", "ulimit -n 5"] {
        same(&sandbox, "tap", |command| command.after(descriptors));
    }
    let disabled = by_name(&sandbox, "eslint").env("VERIFY_RUN_DISABLE", "1");
    disabled.expect(CommandEnd::Exit(4), "linted\n", "");
    // Without its mark the folder still is one of shims, by its name.
    fs::remove_file(folder(&sandbox).join(".verify-run-shims")).expect("the mark");
    by_name(&sandbox, "eslint").expect(CommandEnd::Exit(4), "linted\n", "");
}
