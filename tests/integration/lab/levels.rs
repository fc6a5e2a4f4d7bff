//! What each level isolates and what works in it, and what is said where a machine does not have it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use verify_run::run::CommandEnd;

use super::{LabUser, has_landlock, has_namespaces, left_by_labs, project, top_of};
use crate::sandbox::{Invocation, Sandbox, VERIFY_RUN};

/// Runs a script in the lab; both streams and how it ended.
fn isolated(user: LabUser, sandbox: &Sandbox, options: &[&str], script: &str) -> String {
    let outcome = user.isolate(sandbox, options, script).outcome();
    format!("{}{}", outcome.stdout(), outcome.stderr())
}

/// `verify-run` where no user namespace can be made, and without the right to do without.
pub(crate) fn without_namespaces<'a>(sandbox: &'a Sandbox, arguments: &[&str]) -> Invocation<'a> {
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all --bounding-set=-all -- \"$0\" \"$@\"";
    let words = ["--user", "--map-current-user", "--keep-caps", "sh", "-c", script, VERIFY_RUN];
    sandbox.bare("unshare").args(words).args(arguments)
}

const NO_NAMESPACES: &str = "namespaces are limited: `sysctl user.max_user_namespaces` is 0";
const NO_NAMESPACES_HINT: &str = "hint: run `sudo sysctl user.max_user_namespaces=10000`\n";

#[test]
fn a_command_is_who_it_is_outside_without_any_right() {
    for user in [LabUser::Own, LabUser::Nobody] {
        if !has_namespaces() || !user.is_here() {
            continue;
        }
        let sandbox = project();
        let outside = user.run(&sandbox, "sh", &["-c", "id -u; id -g; id -un; pwd"]).prints();
        assert_eq!(user.isolate(&sandbox, &[], "id -u; id -g; id -un; pwd").prints(), outside);
        let rights = user.isolate(&sandbox, &[], "grep -E '^(Cap|NoNewPrivs)' /proc/self/status").prints();
        let values: Vec<&str> = rights.lines().filter_map(|line| line.split('\t').nth(1)).collect();
        assert_eq!(values, ["0000000000000000"; 5].into_iter().chain(["1"]).collect::<Vec<_>>(), "{rights}");
    }
}

#[test]
fn a_test_about_permissions_stays_true() {
    let script = "echo x > closed && chmod 000 closed && /usr/bin/python3 -c '\n\
                  try:\n open(\"closed\")\nexcept PermissionError: print(\"refused\")'";
    for (user, level) in [
        (LabUser::Own, "namespaces"),
        (LabUser::Nobody, "namespaces"),
        (LabUser::Own, "landlock"),
        (LabUser::Nobody, "landlock"),
    ] {
        let has_level = if level == "namespaces" { has_namespaces() } else { has_landlock() };
        if has_level && user.is_here() {
            assert_eq!(user.isolate(&project(), &["--level", level], script).prints(), "refused\n", "{user:?} {level}");
        }
    }
}

#[test]
fn servers_and_terminals_work_inside() {
    if !has_namespaces() {
        return;
    }
    let script = "exec /usr/bin/python3 -c '
import socket, os, pty, multiprocessing, tempfile
for family, address in ((socket.AF_INET, (\"127.0.0.1\", 0)), (socket.AF_INET6, (\"::1\", 0)), (socket.AF_UNIX, \"/tmp/s\")):
    server = socket.socket(family); server.bind(address); server.listen()
    client = socket.socket(family); client.connect(server.getsockname())
    server.accept()[0].sendall(b\"ok\"); assert client.recv(2) == b\"ok\"
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind((\"127.0.0.1\", 0)); udp.sendto(b\"x\", udp.getsockname()); udp.recv(1)
assert socket.gethostbyname(\"localhost\") == \"127.0.0.1\"
assert os.isatty(pty.openpty()[1])
multiprocessing.Semaphore(1).acquire()
tempfile.NamedTemporaryFile().write(b\"x\")
open(os.path.expanduser(\"~/state\"), \"w\").write(\"x\")
assert os.listdir(\"/tmp\") and not os.path.exists(\"/home\")
print(\"done\")'";
    for user in [LabUser::Own, LabUser::Nobody] {
        if user.is_here() {
            let printed = isolated(user, &project(), &[], script);
            assert_eq!(printed, "done\n", "{user:?}");
        }
    }
}

#[test]
fn the_tree_is_the_present_one_with_what_is_ignored_and_no_secret() {
    if !has_namespaces() {
        return;
    }
    let sandbox = project();
    sandbox.write("src/app.txt", "edited\n");
    sandbox.write("src/new.txt", "new\n");
    fs::remove_file(sandbox.path("README")).expect("removed");
    let script =
        "cat src/app.txt src/new.txt settings.local build/cache node_modules/dep/index.js; ls -a; git status --short";
    let printed = isolated(LabUser::Own, &sandbox, &[], script);
    let expected = "edited\nnew\nmodule.exports = 1\n";
    assert_eq!(
        printed.replace("built\n", "").replace("a setting\n", "").get(..expected.len()),
        Some(expected),
        "{printed}"
    );
    let listed = printed.split_once("module.exports = 1\n").expect("the package").1;
    assert_eq!(listed, ".\n..\n.git\n.gitignore\nbuild\nnode_modules\nsettings.local\nsrc\n");
    // A commit has its own id inside, an edited tree another one.
    let head = sandbox.git(["rev-parse", "HEAD"]);
    assert_ne!(isolated(LabUser::Own, &sandbox, &[], "git rev-parse HEAD"), head);
    sandbox.commit("The edits");
    let head = sandbox.git(["rev-parse", "HEAD"]);
    let inside = isolated(
        LabUser::Own,
        &sandbox,
        &[],
        "git rev-parse HEAD; git branch --show-current; git log --oneline | wc -l",
    );
    assert_eq!(inside, format!("{head}main\n1\n"));
}

#[test]
fn another_tree_can_be_tried() {
    if !has_namespaces() {
        return;
    }
    let sandbox = project();
    let before = sandbox.git(["rev-parse", "HEAD^{tree}"]);
    sandbox.write("src/app.txt", "edited\n");
    sandbox.commit("An edit");
    let printed = isolated(LabUser::Own, &sandbox, &["--tree", before.trim()], "cat src/app.txt; cat build/cache");
    assert_eq!(printed, "the app\nbuilt\n");
    let refused = isolated(LabUser::Own, &sandbox, &["--tree", "HEAD"], "true");
    assert_eq!(refused, "verify-run: cannot check out the tree: not a tree\n");
}

#[test]
fn tools_are_found_wherever_they_are() {
    if !has_namespaces() {
        return;
    }
    let mut sandbox = project();
    let top = top_of(&sandbox);
    let tool = |path: &str, text: &str| {
        let path = top.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, format!("#!/bin/sh\necho {text}\n")).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    };
    tool("home/.local/bin/of-home", "home");
    tool("sdk/v2/bin/of-sdk", "$(cat \"$(dirname \"$0\")\"/../lib/data)");
    fs::create_dir_all(top.join("sdk/v2/lib")).expect("a folder");
    fs::write(top.join("sdk/v2/lib/data"), "sdk\n").expect("a file");
    symlink("v2", top.join("sdk/current")).expect("a link");
    tool("store/package/bin/of-link", "link");
    fs::create_dir_all(top.join("links")).expect("a folder");
    symlink("../store/package/bin/of-link", top.join("links/of-link")).expect("a link");
    tool("work/node_modules/.bin/of-project", "project");
    for folder in ["home/.local/bin", "sdk/current/bin", "links", "work/node_modules/.bin"] {
        sandbox.add_path(top.join(folder));
    }
    let printed = isolated(LabUser::Own, &sandbox, &[], "of-home; of-sdk; of-link; of-project");
    assert_eq!(printed, "home\nsdk\nlink\nproject\n");
    // What the user lends.
    let config = sandbox.home().join(".config/verify-run");
    fs::create_dir_all(&config).expect("a folder");
    fs::create_dir_all(top.join("data")).expect("a folder");
    fs::write(top.join("data/model"), "a model\n").expect("a file");
    let read = format!("cat {0}/data/model; touch {0}/data/new || echo kept", top.display());
    assert!(isolated(LabUser::Own, &sandbox, &[], &read).contains("No such file"));
    fs::write(config.join("verify-run.toml"), format!("[lab]\nlend = [\"{}/data\"]\n", top.display()))
        .expect("settings");
    let printed = isolated(LabUser::Own, &sandbox, &[], &read);
    assert!(printed.contains("a model\n") && printed.contains("kept\n"), "{printed}");
}

#[test]
fn the_exit_code_is_that_of_the_command() {
    if !has_namespaces() {
        return;
    }
    let sandbox = project();
    for (script, code) in [("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", 143), ("exit 255", 255)] {
        let outcome = LabUser::Own.isolate(&sandbox, &[], script).outcome();
        assert_eq!(outcome.ended, CommandEnd::Exit(code), "{script}: {outcome:?}");
    }
    let missing = sandbox.verify_run(["gate", "isolate", "--", "no-such-program"]);
    missing.expect(CommandEnd::Exit(127), "", "verify-run: cannot run 'no-such-program': No such file or directory\n");
    sandbox.write("plain.txt", "x\n");
    let plain = sandbox.verify_run(["gate", "isolate", "--", "./plain.txt"]);
    plain.expect(CommandEnd::Exit(126), "", "verify-run: cannot run './plain.txt': Permission denied\n");
    let below = sandbox.verify_run(["gate", "isolate", "--", "pwd"]).dir(sandbox.path("src"));
    assert_eq!(below.prints(), format!("{}\n", sandbox.path("src").display()));
}

#[test]
fn where_namespaces_are_forbidden_the_setting_is_named() {
    if !has_namespaces() || !has_landlock() {
        return;
    }
    let sandbox = project();
    let doctor = without_namespaces(&sandbox, &["doctor"]).outcome();
    let line = format!(
        "isolation: commands can be isolated in part (landlock): {NO_NAMESPACES}\n         {NO_NAMESPACES_HINT}"
    );
    assert!(doctor.stdout().contains(&line), "{}", doctor.stdout());
    let refused = format!("verify-run: cannot isolate commands here: {NO_NAMESPACES}\n{NO_NAMESPACES_HINT}");
    without_namespaces(&sandbox, &["gate", "isolate", "--", "true"]).expect(CommandEnd::Exit(2), "", &refused);
    let run = ["gate", "run", "--isolated", "--no-prp", "--base", "HEAD"];
    without_namespaces(&sandbox, &run).expect(CommandEnd::Exit(2), "", &refused);
    // Without the option, the gate works as it does elsewhere.
    let plain = without_namespaces(&sandbox, &["gate", "run", "--no-prp", "--base", "HEAD"]).outcome();
    assert_eq!(plain.ended, CommandEnd::Exit(1), "{plain:?}");
    let weaker = ["gate", "isolate", "--level", "landlock", "--", "cat", "src/app.txt"];
    without_namespaces(&sandbox, &weaker).expect(CommandEnd::Exit(0), "the app\n", "");
    // What was remembered there is not taken for what is possible here.
    sandbox.verify_run(["gate", "isolate", "--", "true"]).expect(CommandEnd::Exit(0), "", "");
}

#[test]
fn a_privileged_process_needs_no_user_namespace() {
    if !has_namespaces() {
        return;
    }
    let sandbox = project();
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" gate isolate -- sh -c \
                  'grep CapEff /proc/self/status; id -u; touch /usr/x; cat ../home/.config/git/config; cat src/app.txt'";
    let outcome = sandbox.bare("unshare").args(["--user", "--map-root-user", "sh", "-c", script, VERIFY_RUN]).outcome();
    assert_eq!(outcome.stdout(), "CapEff:\t0000000000000000\n0\nthe app\n", "{outcome:?}");
    assert!(
        outcome.stderr().contains("Read-only file system") && outcome.stderr().contains("No such file"),
        "{outcome:?}"
    );
    assert_eq!(left_by_labs(&sandbox).len(), 0);
}

#[test]
#[allow(unsafe_code, reason = "a filter of system calls is set between fork and exec")]
fn a_filter_as_containers_have_it_is_recognised() {
    if !has_landlock() {
        return;
    }
    let sandbox = project();
    let refused = [(nix::libc::SYS_unshare, Vec::new())].into_iter().collect();
    let arch = TargetArch::try_from(std::env::consts::ARCH).expect("a known machine");
    let errno = nix::libc::EPERM.cast_unsigned();
    let filter = SeccompFilter::new(refused, SeccompAction::Allow, SeccompAction::Errno(errno), arch);
    let program: BpfProgram = filter.expect("a filter").try_into().expect("a program");
    let mut doctor = Command::new(VERIFY_RUN);
    doctor.arg("doctor").current_dir(sandbox.work()).env_clear().envs(sandbox.environment());
    // SAFETY: the filter was compiled before; applying it makes two system calls and allocates nothing.
    unsafe { doctor.pre_exec(move || seccompiler::apply_filter(&program).map_err(std::io::Error::other)) };
    let output = doctor.output().expect("an answer");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let line = "commands can be isolated in part (landlock): a seccomp filter refuses namespaces, as containers have it\n         \
                hint: start the container with `--security-opt seccomp=unconfined`";
    assert!(printed.contains(line), "{printed}");
}

#[test]
fn without_walls_the_same_commands_have_effects() {
    let sandbox = project();
    let other = top_of(&sandbox).join("other");
    fs::create_dir(&other).expect("a folder");
    let script = format!("echo x > {}/new; cat src/app.txt; pwd", other.display());
    let printed = isolated(LabUser::Own, &sandbox, &["--level", "none"], &script);
    assert!(
        printed.starts_with("the app\n") && !printed.contains(&format!("{}\n", sandbox.work().display())),
        "{printed}"
    );
    assert_eq!(fs::read_to_string(other.join("new")).expect("a file"), "x\n");
    // Its end is the end of all that it started, all the same.
    isolated(LabUser::Own, &sandbox, &["--level", "none"], "setsid sleep 600 & exit 0");
    assert_eq!((sandbox.processes().len(), left_by_labs(&sandbox).len()), (0, 0));
}

#[test]
fn landlock_keeps_the_present_sources_unreadable() {
    if !has_landlock() {
        return;
    }
    for user in [LabUser::Own, LabUser::Nobody] {
        if !user.is_here() {
            continue;
        }
        let sandbox = project();
        let script = format!(
            "cat src/app.txt node_modules/dep/index.js; cat {0}/src/app.txt {0}/.git/config; touch node_modules/new",
            sandbox.work().display()
        );
        let outcome = user.isolate(&sandbox, &["--level", "landlock"], &script).outcome();
        assert_eq!(outcome.stdout(), "the app\nmodule.exports = 1\n", "{outcome:?}");
        assert_eq!(outcome.stderr().matches("Permission denied").count(), 3, "{outcome:?}");
    }
}
