//! Processes that are killed, that stay, that hold on to something; and a clock that goes back.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::libc;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use verify_run::base::clock::Timestamp;
use verify_run::capture::SpooledRun;
use verify_run::run::CommandEnd;

use crate::sandbox::{Sandbox, VERIFY_RUN, ended, files_in, read_all, wait_until};

fn fifo(path: PathBuf) -> PathBuf {
    nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a FIFO");
    path
}

/// Opens a FIFO for writing as soon as it has a reader.
fn open_gate(gate: &Path) -> File {
    let mut opened = None;
    wait_until("a process waits at the gate", || {
        opened = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(gate).ok();
        opened.is_some()
    });
    opened.expect("just opened")
}

#[test]
fn a_command_substitution_returns_while_the_recorder_is_at_work() {
    let sandbox = Sandbox::repository();
    // The recorder reads this before it writes the first lesson, and is kept there.
    let exclude = sandbox.path(".git/info/exclude");
    fs::remove_file(&exclude).expect("git wrote one");
    let gate = fifo(exclude);
    sandbox.tool("eslint", "echo 'src/a.js:1:1: error: no a'; exit 1");
    let line = format!("x=$({VERIFY_RUN} eslint .); echo \"$? [$x]\"");
    let outcome = sandbox.bare("sh").args(["-c", &line]).outcome();
    let said = "1 [src/a.js:1:1: error: no a]\n";
    assert_eq!((outcome.ended, outcome.stdout(), outcome.stderr()), (CommandEnd::Exit(0), said, ""));
    let waiting = open_gate(&gate);
    fs::remove_file(&gate).expect("our FIFO");
    drop(waiting);
    assert_eq!(sandbox.lesson().field("exit_code"), Some("1"));
    assert_eq!(sandbox.events().len(), 1);
}

#[test]
fn only_a_relay_stays_and_only_while_a_descendant_writes() {
    let sandbox = Sandbox::repository();
    let gate = fifo(sandbox.tmp().join("gate"));
    sandbox.tool("eslint", &format!("(read x <{}; echo late) & echo early; exit 3", gate.display()));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut wrapper = sandbox.verify_run(["eslint"]).fd(1, writer).spawn();
    let read = read_all(reader);
    assert_eq!(ended(wrapper.wait().expect("a status")), CommandEnd::Exit(3));
    let recorded = || files_in(&sandbox.state().join("events")).len() == 1 && sandbox.processes().len() == 2;
    wait_until("the recorder is done; the descendant and the relay stay", recorded);
    let names: Vec<_> = sandbox.processes().into_iter().map(|(_, line)| line).collect();
    assert_eq!(names.iter().filter(|line| line.starts_with(VERIFY_RUN)).count(), 1, "{names:?}");
    drop(open_gate(&gate));
    assert_eq!(read.join().expect("the reader"), b"early\nlate\n");
    sandbox.settle();
}

#[test]
fn nothing_stays_when_the_descendant_writes_nowhere() {
    let sandbox = Sandbox::repository();
    let gate = fifo(sandbox.tmp().join("gate"));
    sandbox.tool("eslint", &format!("(read x <{}) >/dev/null 2>&1 & echo early; exit 3", gate.display()));
    sandbox.verify_run(["eslint"]).expect(CommandEnd::Exit(3), "early\n", "");
    wait_until("only the descendant stays", || sandbox.processes().len() == 1);
    assert!(!sandbox.processes()[0].1.starts_with(VERIFY_RUN));
    drop(open_gate(&gate));
    assert_eq!(sandbox.events().len(), 1);
}

#[test]
fn a_wrapper_that_is_killed_takes_its_command_along_and_leaves_nothing_half_done() {
    let sandbox = Sandbox::repository();
    let gate = fifo(sandbox.tmp().join("gate"));
    sandbox.tool("eslint", &format!("echo $$; [ -n \"$QUICK\" ] || read x <{}; exit 3", gate.display()));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let mut wrapper = sandbox.verify_run(["eslint"]).fd(1, writer).spawn();
    let mut output = BufReader::new(reader);
    let mut line = String::new();
    output.read_line(&mut line).expect("the command's id");
    kill(Pid::from_raw(wrapper.id().cast_signed()), Signal::SIGKILL).expect("our child");
    assert_eq!(ended(wrapper.wait().expect("a status")), CommandEnd::Signal(9));
    // The pipe has no holder, and no process is left.
    assert_eq!(output.read_to_end(&mut Vec::new()).expect("the end"), 0);
    sandbox.settle();
    assert!(!sandbox.state().exists(), "{:?}", fs::read_dir(sandbox.state()).map(Iterator::count));
    sandbox.verify_run(["eslint"]).env("QUICK", "1").outcome();
    assert_eq!(sandbox.events().len(), 1);
}

#[test]
fn a_spool_file_that_was_not_finished_is_no_run() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo 'src/a.js:1:1: error: no'; exit 3");
    let spool = sandbox.state().join("spool");
    fs::create_dir_all(&spool).expect("the spool");
    fs::write(spool.join(".tmp-0193b1b6-0000-7000-8000-000000000000"), "{\"schema\":1,").expect("half a file");
    fs::write(spool.join("0193b1b6-0000-7000-8000-000000000001.spool"), "{\"schema\":1,").expect("half a file");
    sandbox.as_bare(&["eslint", "."], |run| run);
    assert_eq!(sandbox.events().len(), 1);
    assert_eq!(files_in(&spool.join("bad")).len(), 1);
    let doctor = sandbox.verify_run(["doctor"]).outcome();
    assert!(doctor.stdout().contains("bad"), "{}", doctor.stdout());
}

#[test]
fn a_project_that_is_removed_while_it_is_recorded_stays_removed() {
    let sandbox = Sandbox::new();
    sandbox.tool("eslint", "echo 'src/a.js:1:1: error: no'; cd ..; rm -r project; exit 3");
    for name in ["project", "untouched"] {
        fs::create_dir(sandbox.path(name)).expect("a folder");
        fs::write(sandbox.path(name).join("package.json"), "{}").expect("a file");
    }
    let outcome = sandbox.verify_run(["eslint", "."]).dir("project").outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(3));
    sandbox.settle();
    let left: Vec<_> = fs::read_dir(sandbox.work()).expect("reads").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["untouched"]);
}

#[test]
fn a_run_is_recorded_though_somebody_who_records_nothing_held_the_lock() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo 'src/a.js:1:1: error: wrong'; exit 1");
    sandbox.verify_run(["eslint", "src"]).outcome();
    let runs = |sandbox: &Sandbox| sandbox.events().iter().filter(|event| event["kind"] == "run").count();
    assert_eq!(runs(&sandbox), 1);
    let lock = File::create(sandbox.state().join("recorder.lock")).expect("a file");
    lock.lock().expect("no one else");
    sandbox.verify_run(["eslint", "src", "again"]).outcome();
    std::thread::sleep(std::time::Duration::from_millis(300));
    drop(lock);
    assert_eq!(runs(&sandbox), 2, "nothing has to run after it");
}

#[test]
fn a_clock_that_goes_back_hides_no_later_run() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo \"src/$PART.js:1:1: error: no $PART\"; exit $CODE");
    fs::create_dir_all(sandbox.state()).expect("the state folder");
    let lock = File::create(sandbox.state().join("recorder.lock")).expect("a file");
    lock.lock().expect("no one else");
    sandbox.verify_run(["eslint", "."]).env("PART", "a").env("CODE", "9").outcome();
    sandbox.settle();
    // As if the clock had been 70 years ahead.
    let files = files_in(&sandbox.state().join("spool"));
    let SpooledRun { mut header, output } =
        SpooledRun::parse(&fs::read(&files[0]).expect("reads")).expect("a spool file");
    header.started_at = Timestamp::parse("2096-01-01T00:00:00Z").expect("a time");
    header.ended_at = Timestamp::parse("2096-01-01T00:00:01Z").expect("a time");
    fs::write(&files[0], [header.line(), output].concat()).expect("writes");
    drop(lock);
    for code in ["4", "0", "5"] {
        // Another tree each time: over the same one it would be a flake.
        sandbox.write("src/b.js", code);
        sandbox.as_bare(&["eslint", "."], |run| run.env("PART", "b").env("CODE", code));
        sandbox.settle();
        let told = sandbox.verify_run(["last", "--exit-code"]).outcome();
        assert_eq!(told.ended, CommandEnd::Exit(code.parse().expect("a code")), "{}", told.stderr());
    }
    assert_eq!((sandbox.events().len(), sandbox.lessons().len()), (4, 2));
    let key = header.key;
    assert!(sandbox.state().join("open").join(&key).exists(), "the last run of the key failed");
    sandbox.as_bare(&["eslint", "."], |run| run.env("PART", "b").env("CODE", "0"));
    sandbox.settle();
    assert!(!sandbox.state().join("open").join(&key).exists(), "the last run of the key passed");
}

#[test]
fn a_recorder_that_is_killed_is_followed_by_the_next() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo \"src/$PART.js:1:1: error: no $PART\"; exit 3");
    let exclude = sandbox.path(".git/info/exclude");
    let before = fs::read(&exclude).expect("git wrote one");
    fs::remove_file(&exclude).expect("git wrote one");
    let gate = fifo(exclude.clone());
    sandbox.verify_run(["eslint", "."]).env("PART", "a").outcome();
    // It is kept before it has recorded anything.
    let waiting = open_gate(&gate);
    for (id, _) in sandbox.processes() {
        kill(Pid::from_raw(id), Signal::SIGKILL).expect("the recorder");
    }
    drop(waiting);
    sandbox.settle();
    fs::remove_file(&gate).expect("our FIFO");
    fs::write(&exclude, before).expect("git's own");
    assert_eq!((sandbox.events().len(), sandbox.lessons().len()), (0, 0));
    sandbox.as_bare(&["eslint", "."], |run| run.env("PART", "b"));
    assert_eq!((sandbox.events().len(), sandbox.lessons().len()), (2, 2));
}

#[test]
fn a_killed_relay_ends_the_stream_and_nothing_else() {
    let sandbox = Sandbox::repository();
    let gate = fifo(sandbox.tmp().join("gate"));
    sandbox.tool("eslint", &format!("(read x <{}; echo late; :) & echo early; exit 3", gate.display()));
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut wrapper = sandbox.verify_run(["eslint"]).fd(1, writer).spawn();
    assert_eq!(ended(wrapper.wait().expect("a status")), CommandEnd::Exit(3));
    wait_until("the descendant and the relay stay", || {
        files_in(&sandbox.state().join("events")).len() == 1 && sandbox.processes().len() == 2
    });
    let relay = sandbox.processes().into_iter().find(|(_, line)| line.starts_with(VERIFY_RUN)).expect("the relay");
    kill(Pid::from_raw(relay.0), Signal::SIGKILL).expect("the relay");
    let mut output = Vec::new();
    reader.read_to_end(&mut output).expect("the end");
    assert_eq!(output, b"early\n");
    open_gate(&gate).write_all(b"go\n").expect("the descendant reads");
    assert_eq!(sandbox.events().len(), 1);
}

#[test]
fn a_caller_with_few_descriptors_gets_its_run() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo checked; exit 3");
    // From too few to supervise anything to enough.
    for limit in 5..16 {
        let line = format!("ulimit -n {limit}");
        let bare = sandbox.bare("eslint").after(&line).outcome();
        let wrapped = sandbox.verify_run(["eslint"]).after(&line).outcome();
        assert_eq!(wrapped, bare, "with {limit} descriptors");
    }
}
