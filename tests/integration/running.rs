//! Running: what the options decide, what is recorded once, and what a run survives. That a wrapped command looks like
//! a bare one is compared case by case in `tests/fidelity`.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::PermissionsExt;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use verify_run::config::{Environment, Places};
use verify_run::run::CommandEnd;

use crate::lab::{LabUser, NOBODY};
use crate::sandbox::{Sandbox, VERIFY_RUN, ended, files_in, need, skip, wait_until};
use crate::terminal::Terminal;

/// The recorded runs, as (arguments, how they ended).
fn runs(sandbox: &Sandbox) -> Vec<(String, Value)> {
    let events = sandbox.events().into_iter().filter(|event| event["ended"].is_object());
    let argv = |event: &Value| {
        let words = event["argv"].as_array().cloned().unwrap_or_default();
        words.iter().map(|word| word.as_str().unwrap_or("?").to_owned()).collect::<Vec<_>>().join(" ")
    };
    events.map(|event| (argv(&event), event["ended"].clone())).collect()
}

fn exit(code: u8) -> Value {
    serde_json::json!({ "exit": code })
}

#[test]
fn only_what_should_be_recorded_is() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "exit 1");
    sandbox.tool("own-tool", "exit 4");
    sandbox.verify_run(["own-tool"]).expect(CommandEnd::Exit(4), "", "");
    sandbox.verify_run(["--no-record", "eslint"]).expect(CommandEnd::Exit(1), "", "");
    sandbox.verify_run(["eslint"]).env("VERIFY_RUN_DISABLE", "1").expect(CommandEnd::Exit(1), "", "");
    assert_eq!(runs(&sandbox), []);
    sandbox.verify_run(["--record", "own-tool"]).expect(CommandEnd::Exit(4), "", "");
    sandbox.settle();
    sandbox.verify_run(["--", "eslint", "--record"]).expect(CommandEnd::Exit(1), "", "");
    assert_eq!(runs(&sandbox), [("own-tool".into(), exit(4)), ("eslint --record".into(), exit(1))]);
}

#[test]
fn the_program_is_found_as_a_shell_finds_it() {
    let sandbox = Sandbox::repository();
    let executable = |path: &str, mode: u32, content: &str| {
        let path = sandbox.write(path, content);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
    };
    executable("one/tool", 0o644, "");
    executable("two/tool", 0o755, "echo \"script $1\"; exit 3\n");
    let places = ["one", "missing", "two/tool", "two"].map(|place| sandbox.path(place));
    let path = std::env::join_paths(&places).expect("a path");
    for recording in ["--record", "--no-record"] {
        let run = |word: &str| sandbox.verify_run([recording, word, "a"]).env("PATH", &path);
        run("tool").expect(CommandEnd::Exit(3), "script a\n", "");
        run("two/tool").expect(CommandEnd::Exit(3), "script a\n", "");
        run("one/tool").expect(CommandEnd::Exit(126), "", "verify-run: cannot run 'one/tool': Permission denied\n");
        run("two/tool/x").expect(CommandEnd::Exit(127), "", "verify-run: cannot run 'two/tool/x': Not a directory\n");
        let denied = run("tool").env("PATH", &places[0]);
        denied.expect(CommandEnd::Exit(126), "", "verify-run: cannot run 'tool': Permission denied\n");
        run("").expect(CommandEnd::Exit(127), "", "verify-run: cannot run '': No such file or directory\n");
        sandbox.verify_run([recording, "true"]).without("PATH").expect(CommandEnd::Exit(0), "", "");
    }
}

#[test]
fn only_checks_refuses_everything_else_before_it_runs() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo linted");
    sandbox.tool("own-tool", "echo ran");
    let outcome = sandbox.verify_run(["--only-checks", "own-tool", "a b"]).outcome();
    assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(125), ""));
    let lines: Vec<&str> = outcome.stderr().lines().collect();
    let [refusal, hint] = lines[..] else { panic!("{lines:?}") };
    assert!(
        refusal.contains("own-tool 'a b'") && hint.starts_with("hint: run `verify-run whitelist explain "),
        "{lines:?}"
    );
    // What turns recording off doesn't turn the refusal off.
    let outcome = sandbox.verify_run(["--only-checks", "--no-record", "own-tool"]).outcome();
    assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(125), ""));
    let disabled = sandbox.verify_run(["--only-checks", "own-tool"]).env("VERIFY_RUN_DISABLE", "1").outcome();
    assert_eq!((disabled.ended, disabled.stdout()), (CommandEnd::Exit(125), ""));
    sandbox.verify_run(["--only-checks", "eslint"]).expect(CommandEnd::Exit(0), "linted\n", "");
    sandbox.verify_run(["--only-checks", "timeout", "9", "eslint", "a.js"]).expect(CommandEnd::Exit(0), "linted\n", "");
    // What has a check in it may run anything else as well.
    for beside in [
        &["--shell", "own-tool; eslint"][..],
        &["--shell", "eslint > own-file"],
        &["sh", "-c", "own-tool && eslint"],
        &["env", "LD_PRELOAD=own.so", "eslint"],
        &["concurrently", "npm test", "own-tool"],
        &["make", "check", "deploy"],
        &["ssh", "host", "eslint"],
    ] {
        let outcome = sandbox.verify_run([&["--only-checks"], beside].concat()).outcome();
        assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(125), ""), "{beside:?}");
    }
}

#[test]
fn a_mistyped_option_runs_nothing() {
    let sandbox = Sandbox::new();
    sandbox.tool("own-tool", "echo ran");
    let outcome = sandbox.verify_run(["--recrod", "own-tool"]).outcome();
    assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(2), ""));
    assert!(outcome.stderr().contains("'--recrod'") && outcome.stderr().contains("hint:"), "{}", outcome.stderr());
}

#[test]
fn a_shell_line_is_recorded_as_the_check_in_it() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo 'a.js:1:1: error: no'; exit 1");
    let outcome = sandbox.verify_run(["--shell", "cd . && eslint a.js"]).outcome();
    assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(1), "a.js:1:1: error: no\n"));
    assert_eq!(runs(&sandbox), [("sh -c cd . && eslint a.js".into(), exit(1))]);
    let event = sandbox.events().into_iter().find(|event| event["ended"].is_object()).expect("a run");
    assert_eq!(event["tool"], "eslint");
}

#[test]
fn a_shell_line_is_what_sh_makes_of_it() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "cat; echo \"$0 $*\" >&2; exit 5");
    for line in [
        "",
        "eslint",
        "eslint | cat; echo \"after $?\"",
        "for file in 'a b' c; do eslint \"$file\" || continue; done; echo \"$0 $# $-\"",
        "eslint <<'END' && exit 1\nin the line\nEND\n",
        "cd / && pwd && VARIABLE=1 env | sort | grep -v ^_=; exec >&2; eslint",
        "echo unfinished 'quote",
        "kill -TERM $$; eslint",
        "eslint() { return 9; }; eslint",
        "# eslint",
    ] {
        let bare = sandbox.bare("sh").args(["-c", line]).stdin("some input\n").outcome();
        for words in [&["--shell", line][..], &["--record", "--shell", line], &["--shell", line, "--"]] {
            assert_eq!(sandbox.verify_run(words).stdin("some input\n").outcome(), bare, "{words:?}");
        }
        assert_eq!(sandbox.verify_run([format!("--shell={line}")]).stdin("some input\n").outcome(), bare, "{line}");
    }
}

#[test]
fn nested_runs_are_recorded_once_and_those_of_another_repository_by_themselves() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "exit 1");
    let own = crate::sandbox::VERIFY_RUN;
    sandbox.verify_run(["--record", "--", "sh", "-c", &format!("{own} eslint .; exit 3")]).expect(
        CommandEnd::Exit(3),
        "",
        "",
    );
    assert_eq!(runs(&sandbox).iter().map(|run| &run.1).collect::<Vec<_>>(), [&exit(3)]);
    // One that executed its command in place is no longer there.
    sandbox.verify_run(["sh", "-c", &format!("{own} eslint .; exit 3")]).expect(CommandEnd::Exit(3), "", "");
    assert_eq!(runs(&sandbox).len(), 2);
    sandbox.git(["init", "--quiet", "other"]);
    let other = format!("cd other && {own} eslint .; exit 3");
    sandbox.verify_run(["--record", "--", "sh", "-c", &other]).expect(CommandEnd::Exit(3), "", "");
    assert_eq!(runs(&sandbox).len(), 3);
    assert_eq!(files_in(&sandbox.path("other/.git/verify-run/events")).len(), 1);
}

#[test]
fn a_run_of_another_user_is_recorded_by_that_user() {
    let nobody = LabUser::Nobody;
    if !nobody.is_here() {
        return;
    }
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "exit 1");
    sandbox.git(["init", "--quiet", "other"]);
    nobody.run(&sandbox, "true", &[]).prints();
    let script = format!(
        "cd other && setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups -- {} --sync eslint .; exit 3",
        crate::sandbox::VERIFY_RUN
    );
    sandbox.verify_run(["--record", "--", "sh", "-c", &script]).expect(CommandEnd::Exit(3), "", "");
    assert_eq!(files_in(&sandbox.path("other/.git/verify-run/events")).len(), 1);
}

#[test]
fn passes_are_recorded_too() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "exit \"$CODE\"");
    for code in ["0", "0", "1", "0", "0"] {
        sandbox.verify_run(["--sync", "eslint", "."]).env("CODE", code).outcome();
    }
    let ends: Vec<Value> = runs(&sandbox).into_iter().map(|run| run.1).collect();
    assert_eq!(ends, [exit(0), exit(0), exit(1), exit(0), exit(0)]);
}

#[test]
fn long_output_is_kept_at_both_ends() {
    let sandbox = Sandbox::repository();
    let script = "echo first; head -c 20000000 /dev/zero; echo; echo last; exit 1";
    let outcome = sandbox.verify_run(["--record", "--", "sh", "-c", script]).outcome();
    assert_eq!((outcome.ended, outcome.stdout.len()), (CommandEnd::Exit(1), 20_000_000 + 6 + 1 + 5));
    let event = sandbox.events().into_iter().find(|event| event["ended"].is_object()).expect("a run");
    assert_eq!(event["kept_bytes"], 16 << 20);
    assert_eq!(event["cut_bytes"], 20_000_012 - (16 << 20));
}

#[test]
fn output_to_files_is_read_back_from_where_the_run_began() {
    let sandbox = Sandbox::repository();
    let script = "echo 'src/a.c:1:2: error: out'; echo 'src/b.c:3:4: error: err' >&2; exit 1";
    sandbox.tool("gcc", script);
    let path = sandbox.write("log", "what was there\n");
    let open = || OpenOptions::new().append(true).open(&path).expect("the log");
    let mut child = sandbox.verify_run(["gcc", "a.c"]).fd(1, open()).fd(2, open()).spawn();
    assert_eq!(ended(child.wait().expect("a status")), CommandEnd::Exit(1));
    let log = "what was there\nsrc/a.c:1:2: error: out\nsrc/b.c:3:4: error: err\n";
    assert_eq!(fs::read_to_string(&path).expect("the log"), log);
    let event = sandbox.events().into_iter().find(|event| event["ended"].is_object()).expect("a run");
    assert_eq!((&event["kept_bytes"], &event["shared"]), (&Value::from(48), &Value::from(true)));
}

#[test]
fn without_a_state_folder_the_spool_goes_to_the_lessons_without_secrets() {
    let sandbox = Sandbox::repository();
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    sandbox.tool("eslint", &format!("echo 'token {secret}'; exit 1"));
    // A file where the folder would be: even root can't write there.
    fs::write(sandbox.state(), "in the way").expect("a file");
    sandbox.verify_run(["eslint", "."]).expect(CommandEnd::Exit(1), &format!("token {secret}\n"), "");
    sandbox.settle();
    let folder = sandbox.path(".lessons/.state");
    let files = files_in(&folder.join("spool"));
    let [file] = files.as_slice() else { panic!("one spool file: {files:?}") };
    let spool = fs::read_to_string(file).expect("the spool file");
    assert!(spool.contains("redacted") && !spool.contains(&secret), "{spool}");
    let mode = |folder: &std::path::Path| fs::metadata(folder).expect("the folder").permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_ne!(mode(&sandbox.path(".lessons")), 0o700, "the lessons' own folder is not private");
    assert_eq!(sandbox.git(["status", "--short"]), "");
}

#[test]
fn a_timer_set_by_the_caller_ends_the_command() {
    let Some(perl) = need("perl") else { return skip("perl") };
    let sandbox = Sandbox::repository();
    let line = "alarm 1; exec @ARGV";
    let own = crate::sandbox::VERIFY_RUN;
    sandbox.bare(perl).args(["-e", line, own, "--record", "sleep", "600"]).expect(CommandEnd::Signal(14), "", "");
}

#[test]
fn a_signal_ends_us_when_only_the_reader_keeps_us() {
    let sandbox = Sandbox::repository();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    // More than the caller's pipe takes, less than what the command can get rid of.
    let script = "head -c 120000 /dev/zero; echo $$ >ended; exit 1";
    let mut child = sandbox.verify_run(["--record", "sh", "-c", script]).fd(1, writer).spawn();
    let pid = sandbox.path("ended");
    wait_until("the command has written everything", || {
        fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))
    });
    let command = fs::read_to_string(&pid).expect("its process id").trim().to_owned();
    wait_until("the command is gone", || {
        fs::read_to_string(format!("/proc/{command}/stat")).map_or(true, |stat| stat.contains(") Z "))
    });
    let own = Pid::from_raw(i32::try_from(child.id()).expect("ids fit"));
    kill(own, Signal::SIGTERM).expect("a signal");
    assert_eq!(ended(child.wait().expect("a status")), CommandEnd::Signal(15));
    drop(reader);
    assert_eq!(runs(&sandbox).iter().map(|run| &run.1).collect::<Vec<_>>(), [&exit(1)]);
}

#[test]
fn a_run_outside_of_everything_needs_no_folder() {
    let sandbox = Sandbox::new();
    sandbox.tool("eslint", "exit 1");
    let log = File::create(sandbox.path("log")).expect("a file");
    let run = sandbox.verify_run(["eslint"]).without("HOME").without("XDG_STATE_HOME").without("XDG_CONFIG_HOME");
    let mut child = run.without("TMPDIR").fd(1, log).spawn();
    assert_eq!(ended(child.wait().expect("a status")), CommandEnd::Exit(1));
    sandbox.settle();
    let state = Places::find(&sandbox.work(), &Environment::default()).state;
    assert!(state.starts_with("/tmp"), "{}", state.display());
    fs::remove_dir_all(state).expect("what was recorded");
}

#[test]
fn a_pager_whose_input_is_a_pipe_gets_its_keys_and_nobody_else_s() {
    let Some(_) = need("less") else { return };
    let sandbox = Sandbox::new();
    // A pager asks the terminal behind its standard error for keys, by its name; what comes after it reads the real one.
    let line = "seq 1 500 | less; echo over; read -r line; echo \"got $line\"";
    let mut terminal = Terminal::start(sandbox.verify_run(["--record", "sh", "-c", line]).env("LESS", ""));
    terminal.shows("\n20");
    terminal.types("G");
    terminal.shows("500");
    terminal.types("q");
    terminal.shows("over");
    terminal.types("a line\r");
    terminal.shows("got a line");
    assert_eq!(terminal.ends().0, CommandEnd::Exit(0));
}

/// The calls of a command and of all that it starts which open a socket or run a program.
#[cfg(target_os = "linux")]
fn traced_calls(sandbox: &Sandbox, strace: &std::path::Path, command: &[&str]) -> Vec<String> {
    let trace = sandbox.tmp().join("trace");
    let options = ["-f", "-qq", "-e", "trace=socket,execve", "-o"].map(std::ffi::OsString::from);
    let words = command.iter().map(std::ffi::OsString::from);
    sandbox.bare(strace).args(options.into_iter().chain([trace.clone().into_os_string()]).chain(words)).outcome();
    let calls = fs::read_to_string(&trace).expect("the calls");
    calls.lines().map(str::to_owned).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn neither_a_run_nor_its_recorder_opens_a_network_socket() {
    let (Some(strace), Some(python)) = (need("strace"), need("python3")) else { return };
    let is_network = |call: &String| call.contains("socket(AF_INET");
    let sandbox = Sandbox::repository();
    let python = python.to_string_lossy();
    let control = traced_calls(&sandbox, &strace, &[&python, "-c", "import socket; socket.socket()"]);
    assert!(control.iter().any(is_network), "a program that opens one is seen");

    sandbox.tool("eslint", "printf '\\nsrc/a.js\\n  1:1  error  broken  no-undef\\n'; exit 1");
    let calls = traced_calls(&sandbox, &strace, &[VERIFY_RUN, "eslint", "src"]);
    for program in ["eslint", "verify-run"] {
        assert!(calls.iter().any(|call| call.contains("execve(") && call.contains(program)), "{program} is seen");
    }
    let opened: Vec<&String> = calls.iter().filter(|call| is_network(call)).take(3).collect();
    assert!(opened.is_empty(), "{opened:?}");
    wait_until("the run is recorded", || runs(&sandbox).len() == 1);
}
