//! Tests of the sandbox and the terminal themselves: a test bench that lies would pass everything.

use std::io::Write;
use std::time::Duration;

use verify_run::run::CommandEnd;

use crate::sandbox::{Sandbox, read_all};
use crate::terminal::Terminal;

#[test]
fn a_repository_has_one_commit_by_the_test_identity() {
    let sandbox = Sandbox::repository();
    assert_eq!(sandbox.git(["log", "--format=%an %s"]), "Test Start\n");
    assert_eq!(sandbox.git(["branch", "--show-current"]), "main\n");
    assert_eq!(sandbox.git(["status", "--short"]), "");
}

#[test]
fn the_environment_is_the_sandbox_and_nothing_else() {
    let sandbox = Sandbox::new();
    let mut names: Vec<_> =
        sandbox.bare("env").prints().lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect();
    names.sort();
    let wanted = [
        "GIT_CONFIG_NOSYSTEM",
        "HOME",
        "LANG",
        "PATH",
        "TMPDIR",
        "TZ",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_STATE_HOME",
    ];
    assert_eq!(names, wanted);
}

#[test]
fn status_stdout_and_stderr_are_compared() {
    let sandbox = Sandbox::new();
    sandbox.tool("tool", "cat; echo trouble >&2; exit 3");
    sandbox.bare("tool").stdin("words").expect(CommandEnd::Exit(3), "words", "trouble\n");
    sandbox.bare("sh").args(["-c", "kill -9 $$"]).expect(CommandEnd::Signal(9), "", "");
}

#[test]
fn descriptors_are_laid_over_the_childs_numbers() {
    let sandbox = Sandbox::new();
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    writer.write_all(b"through seven").expect("a write");
    drop(writer);
    let script = "cat <&7; if { true <&8; } 2>/dev/null; then echo open; else echo closed; fi";
    let child = sandbox.bare("sh").args(["-c", script]).fd(7, reader).closed_fd(8);
    assert_eq!(child.prints(), "through sevenclosed\n");
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut child = sandbox.bare("echo").arg("hello").fd(1, writer).spawn();
    assert_eq!(read_all(reader).join().expect("the reader"), b"hello\n");
    assert!(child.wait().expect("a status").success());
}

#[test]
fn a_terminal_is_typed_into_resized_and_read() {
    let sandbox = Sandbox::new();
    let script = "tty >/dev/null && echo ready; read line; stty size; echo \"got $line\"; exit 4";
    let mut terminal = Terminal::start(sandbox.bare("bash").args(["-c", script]));
    terminal.shows("ready\r\n");
    terminal.resize(30, 100);
    terminal.types("words\n");
    terminal.shows("30 100\r\n");
    terminal.shows("got words\r\n");
    let (ended, bytes) = terminal.ends();
    assert_eq!(ended, CommandEnd::Exit(4));
    assert!(bytes.ends_with(b"got words\r\n"), "{}", String::from_utf8_lossy(&bytes));
}

#[test]
fn a_process_left_behind_fails_its_test() {
    let outcome = std::panic::catch_unwind(|| {
        let mut sandbox = Sandbox::new();
        sandbox.patience = Duration::ZERO;
        let script = "sleep 600 >/dev/null 2>&1 & echo started";
        sandbox.bare("sh").args(["-c", script]).expect(CommandEnd::Exit(0), "started\n", "");
    });
    let message = *outcome.expect_err("a panic").downcast::<String>().expect("a message");
    assert!(message.starts_with("processes left behind") && message.contains("sleep 600"), "{message}");
}

#[test]
fn lessons_are_read_as_their_front_matter_says() {
    let sandbox = Sandbox::repository();
    sandbox.write(
        "lessons/a.md",
        "---\ntool: eslint\nfiles:\n  - src/a.js\n  - \"b c.js\"\ncause:\nkeys: [x, 'y']\n---\nbody\n",
    );
    let lesson = sandbox.lesson();
    assert_eq!((lesson.field("tool"), lesson.field("cause")), (Some("eslint"), None));
    assert_eq!((lesson.list("files"), lesson.list("keys")), (vec!["src/a.js", "b c.js"], vec!["x", "y"]));
}
