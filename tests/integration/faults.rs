//! What the store and its recorder do when the machine doesn't play along: killed anywhere, no space, many at once.

mod git;
mod output;
mod places;
mod processes;
mod secrets;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use serde_json::json;
use verify_run::run::CommandEnd;

use crate::sandbox::{Sandbox, can_mount, files_in, mounts_of_its_own};

const VERIFY_RUN: &str = env!("CARGO_BIN_EXE_verify-run");

/// A project with a check that says `error` about the file named by `PART` and fails.
fn project() -> Sandbox {
    project_in(Sandbox::new())
}

fn project_in(sandbox: Sandbox) -> Sandbox {
    let sandbox = sandbox.with_repository();
    sandbox.tool("luacheck", "echo \"src/$PART.lua:3:1: error: $PART went wrong\"; exit ${CODE:-1}");
    sandbox
}

/// Runs checks while nothing can be recorded: what they leave for the recorder stays in the spool.
fn spool(sandbox: &Sandbox, runs: &[(&str, &str)]) {
    fs::create_dir_all(sandbox.state()).expect("a folder");
    let lock = File::create(sandbox.state().join("recorder.lock")).expect("a file");
    lock.lock().expect("no one else");
    for (part, code) in runs {
        sandbox.verify_run(["luacheck", *part]).env("PART", part).env("CODE", code).outcome();
    }
    sandbox.settle();
}

/// Records what waits; what anybody can see of it then, without times of recording and names made up on the way.
fn outcome(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let status = sandbox.verify_run(["store", "status", "--json"]).outcome();
    let status: serde_json::Value = serde_json::from_str(status.stdout()).expect("JSON");
    let mut seen = BTreeMap::new();
    for mut event in sandbox.events() {
        let event = event.as_object_mut().expect("an object");
        event.remove("at");
        event.remove("writer");
        let id = event["id"].to_string();
        let twice = seen.insert(format!("event {id}"), serde_json::to_string(event).expect("JSON"));
        assert_eq!(twice, None, "recorded twice");
    }
    seen.insert("counts".into(), status["counts"].to_string());
    seen.insert("damage".into(), status["index_damage"].to_string());
    seen.insert("waiting".into(), status["pending"].to_string());
    for lesson in sandbox.lessons() {
        let name = lesson.path.file_name().expect("a name").to_string_lossy().into_owned();
        seen.insert(format!("lesson {name}"), lesson.text);
    }
    for folder in ["raw", "open", "baseline", "spool", "spool/bad", "unwritten"] {
        for file in files_in(&sandbox.state().join(folder)) {
            let name = file.file_name().expect("a name").to_string_lossy().into_owned();
            seen.insert(format!("{folder}/{name}"), String::new());
        }
    }
    seen
}

/// Kills the recorder at its 1st, 2nd, 3rd … system call that changes a file, and lets the next one finish the job.
fn killed_at_every(step: usize, of: usize, with_snapshots: bool) {
    let sandbox = project_in(Sandbox::in_memory());
    sandbox.write("verify-run.toml", format!("[snapshot]\nenabled = {with_snapshots}\n"));
    spool(&sandbox, &[("first", "1"), ("first", "0"), ("second", "2")]);
    let pristine = sandbox.home().join("pristine");
    copy(&sandbox.path(".git"), &pristine);
    let undisturbed = outcome(&sandbox);
    // The first failure's lesson is withdrawn when it passes.
    assert!(undisturbed.keys().any(|key| key.starts_with("lesson")), "{undisturbed:#?}");
    let runs = undisturbed.values().filter(|event| event.contains("\"kind\":\"run\"")).count();
    assert_eq!(runs, 3, "{undisturbed:#?}");
    for kill_at in (step..).step_by(of) {
        for gone in [".git", ".lessons"] {
            let gone = sandbox.path(gone);
            if gone.exists() {
                fs::remove_dir_all(gone).expect("removes");
            }
        }
        copy(&pristine, &sandbox.path(".git"));
        let survived = run_until(&sandbox, kill_at);
        let healed = outcome(&sandbox);
        if healed != undisturbed {
            let missing: Vec<_> = undisturbed.iter().filter(|(key, value)| healed.get(*key) != Some(value)).collect();
            let extra: Vec<_> = healed.iter().filter(|(key, value)| undisturbed.get(*key) != Some(value)).collect();
            panic!("killed at change {kill_at}: missing {missing:#?}, instead {extra:#?}");
        }
        if survived {
            assert!(kill_at > 50, "the recorder made only {kill_at} changes");
            return;
        }
    }
}

// In parts, so that they run side by side.
#[test]
fn a_recorder_killed_at_any_change_loses_and_doubles_nothing() {
    killed_at_every(1, 4, false);
}

#[test]
fn a_recorder_killed_at_any_change_loses_and_doubles_nothing_second_part() {
    killed_at_every(2, 4, false);
}

#[test]
fn a_recorder_killed_at_any_change_loses_and_doubles_nothing_third_part() {
    killed_at_every(3, 4, false);
}

#[test]
fn a_recorder_killed_at_any_change_loses_and_doubles_nothing_fourth_part() {
    killed_at_every(4, 4, false);
}

/// Every change would take minutes: git is started for most of them.
#[test]
fn a_recorder_killed_at_any_change_around_a_snapshot_loses_and_doubles_nothing() {
    killed_at_every(1, 13, true);
}

/// Runs the recorder under ptrace and kills it on entering its `kill_at`th file-changing call; whether it lived.
fn run_until(sandbox: &Sandbox, kill_at: usize) -> bool {
    let (child, mut changes) = (trace(sandbox), 0);
    loop {
        match waitpid(child, None).expect("our child") {
            WaitStatus::PtraceSyscall(_) => {
                let info = ptrace::syscall_info(child).expect("stopped at a call");
                #[allow(unsafe_code, reason = "the kernel's answer is a union")]
                let entry = match info.op {
                    // SAFETY: the kernel fills the part of the union that `op` names.
                    libc::PTRACE_SYSCALL_INFO_ENTRY => Some(unsafe { info.u.entry }),
                    _ => None,
                };
                if entry.is_some_and(|entry| changes_a_file(entry.nr, entry.args)) {
                    changes += 1;
                    if changes == kill_at {
                        nix::sys::signal::kill(child, Signal::SIGKILL).expect("our child");
                        waitpid(child, None).expect("our child");
                        return false;
                    }
                }
            }
            WaitStatus::Exited(_, code) => {
                assert_eq!(code, 0);
                return true;
            }
            WaitStatus::Stopped(_, Signal::SIGTRAP | Signal::SIGCHLD) | WaitStatus::PtraceEvent(..) => {}
            other => panic!("{other:?}"),
        }
        ptrace::syscall(child, None).expect("our child");
    }
}

/// Starts `verify-run store status`, which records what waits in its own process, stopped at its first instruction.
#[allow(unsafe_code, reason = "a process asks to be traced between fork and exec")]
fn trace(sandbox: &Sandbox) -> Pid {
    use std::os::unix::process::CommandExt;
    let mut command = std::process::Command::new(VERIFY_RUN);
    command.args(["store", "status"]).current_dir(sandbox.work()).env_clear().envs(sandbox.environment());
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    // SAFETY: ptrace(PTRACE_TRACEME) is a bare system call.
    unsafe { command.pre_exec(|| ptrace::traceme().map_err(Into::into)) };
    let child = Pid::from_raw(command.spawn().expect("starts").id().try_into().expect("a process id"));
    assert!(matches!(waitpid(child, None), Ok(WaitStatus::Stopped(_, Signal::SIGTRAP))));
    let options = ptrace::Options::PTRACE_O_TRACESYSGOOD | ptrace::Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(child, options).expect("our child");
    ptrace::syscall(child, None).expect("our child");
    child
}

/// Whether a call changes what is on disk. (`fsync` changes nothing that a killed process could lose.)
fn changes_a_file(number: u64, args: [u64; 6]) -> bool {
    let number = i64::try_from(number).unwrap_or(-1);
    let creates = |flags: u64| flags & u64::from((libc::O_CREAT | libc::O_TRUNC).unsigned_abs()) != 0;
    match number {
        libc::SYS_openat => creates(args[2]),
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_ftruncate | libc::SYS_fallocate => true,
        libc::SYS_renameat | libc::SYS_renameat2 | libc::SYS_unlinkat | libc::SYS_mkdirat | libc::SYS_linkat => true,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename | libc::SYS_unlink | libc::SYS_mkdir | libc::SYS_rmdir | libc::SYS_link => true,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open => creates(args[1]),
        _ => false,
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("reads").flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copies");
        }
    }
}

#[test]
fn sixteen_failing_at_once_lose_and_double_nothing() {
    let sandbox = project();
    let parts: Vec<String> =
        (0..16).map(|n| format!("part{}", ["a", "b", "c", "d"][n % 4].repeat(n / 4 + 1))).collect();
    let running: Vec<_> = parts
        .iter()
        .map(|part| sandbox.verify_run(["luacheck", part]).env("PART", part).env("CODE", "3").spawn())
        .collect();
    for mut child in running {
        assert_eq!(child.wait().expect("ends").code(), Some(3));
    }
    let events = sandbox.events();
    assert_eq!(events.len(), 16);
    let counts = sandbox.verify_run(["store", "status", "--json"]).prints_json()["counts"].clone();
    assert_eq!((&counts["runs"], &counts["failures"]), (&16.into(), &16.into()), "{counts}");
    assert_eq!(sandbox.verify_run(["store", "status", "--json"]).prints_json()["pending"], serde_json::json!([]));
}

#[test]
fn the_last_run_is_told_with_its_own_code() {
    let sandbox = project();
    let answer = sandbox.verify_run(["last", "--exit-code"]).outcome();
    assert_eq!((answer.ended, answer.stdout()), (CommandEnd::Exit(1), ""));
    assert!(answer.stderr().contains("no run is recorded"), "{}", answer.stderr());
    assert!(!sandbox.state().exists(), "reading creates nothing");
    sandbox.verify_run(["luacheck", "."]).env("PART", "a").env("CODE", "7").outcome();
    sandbox.verify_run(["last", "--exit-code"]).expect(CommandEnd::Exit(7), "", "");
    sandbox.verify_run(["luacheck", "."]).env("PART", "a").env("CODE", "0").outcome();
    sandbox.verify_run(["last", "--exit-code"]).expect(CommandEnd::Exit(0), "", "");
    let last = sandbox.verify_run(["last", "--json"]).prints_json();
    assert_eq!((&last["schema"], &last["passed"], &last["tool"]), (&1.into(), &true.into(), &"luacheck".into()));
    // Also while nothing can be recorded.
    spool(&sandbox, &[("b", "9")]);
    let lock = File::create(sandbox.state().join("recorder.lock")).expect("a file");
    lock.lock().expect("no one else");
    sandbox.verify_run(["last", "--exit-code"]).expect(CommandEnd::Exit(9), "", "");
}

#[test]
fn a_pattern_is_listed_and_shown_by_the_start_of_its_id() {
    let sandbox = project();
    for task in ["one", "two", "three"] {
        sandbox.verify_run(["--task", task, "luacheck", "."]).env("PART", "a").outcome();
    }
    sandbox.settle();
    let list = sandbox.verify_run(["pattern", "list", "--recurring", "--json"]).prints_json();
    let pattern = &list["patterns"][0];
    assert_eq!((&pattern["failures"], &pattern["tasks"], &pattern["recurring"]), (&3.into(), &3.into(), &true.into()));
    let id = pattern["id"].as_str().expect("an id");
    let page = sandbox.verify_run(["pattern", "show", &id[..5], "--json"]).prints_json();
    assert_eq!(page["id"], pattern["id"]);
    assert_eq!(page["files"][0]["path"], "src/a.lua");
    assert_eq!(page["lessons"].as_array().expect("a list").len(), 1);
    assert_eq!(page["occurrences"].as_array().expect("a list").len(), 3);
    let unknown = sandbox.verify_run(["pattern", "show", "p-nothing"]).outcome();
    assert_eq!(unknown.ended, CommandEnd::Exit(1));
    assert!(unknown.stderr().contains("verify-run pattern list"), "{}", unknown.stderr());
}

#[test]
fn an_index_that_is_gone_is_rebuilt_and_said_so() {
    let sandbox = project();
    sandbox.verify_run(["luacheck", "."]).env("PART", "a").outcome();
    sandbox.settle();
    let before = sandbox.verify_run(["pattern", "list"]).prints();
    fs::remove_file(sandbox.state().join("store.db")).expect("removes");
    let after = sandbox.verify_run(["pattern", "list"]).outcome();
    assert_eq!((after.ended, after.stdout()), (CommandEnd::Exit(0), before.as_str()));
    assert!(after.stderr().contains("the index was missing; rebuilt it from 2 events"), "{}", after.stderr());
    assert_eq!(sandbox.verify_run(["pattern", "list"]).prints(), before);
}

#[test]
fn an_index_that_opening_computes_again_is_not_rebuilt_twice() {
    let sandbox = project();
    sandbox.verify_run(["luacheck", "."]).env("PART", "a").outcome();
    sandbox.settle();
    fs::remove_file(sandbox.state().join("store.db")).expect("removes");
    let rebuild = || sandbox.verify_run(["store", "rebuild", "--json"]).prints_json()["done"].clone();
    assert_eq!(rebuild(), json!(["the index was missing; rebuilt it from 2 events"]));
    assert_eq!(rebuild(), json!(["rebuilt the index from 2 events"]));
}

#[test]
fn a_backup_brings_back_lost_events() {
    let sandbox = project();
    sandbox.verify_run(["luacheck", "."]).env("PART", "a").outcome();
    sandbox.settle();
    let status = sandbox.verify_run(["store", "status", "--json"]).prints_json();
    let backup = status["backups"][0].as_str().expect("a path").to_owned();
    fs::remove_dir_all(sandbox.state().join("events")).expect("removes");
    let done = sandbox.verify_run(["store", "rebuild", "--from", &backup]).prints();
    assert!(done.contains("restored"), "{done}");
    let counts = sandbox.verify_run(["store", "status", "--json"]).prints_json()["counts"].clone();
    assert_eq!(counts["failures"], 1);
}

#[test]
fn a_full_disk_keeps_the_run_and_the_next_one_is_recorded() {
    if !can_mount() {
        return;
    }
    let sandbox = project();
    // The repository on a disk of 40 KiB: enough for a spool file, not for an index.
    let script = format!(
        "mount -t tmpfs -o size=40k none .git/verify-run || exit 99
         PART=a {VERIFY_RUN} --sync luacheck . ; echo \"first $?\"
         ls .git/verify-run/spool
         mount -o remount,size=40m .git/verify-run
         PART=b {VERIFY_RUN} --sync luacheck . ; echo \"second $?\"
         {VERIFY_RUN} store status --json; ls .git/verify-run/spool"
    );
    fs::create_dir_all(sandbox.state()).expect("a folder");
    let outcome = sandbox.bare("unshare").args([mounts_of_its_own(), "sh", "-c", &script]).outcome();
    let text = outcome.stdout();
    assert!(text.contains("src/a.lua:3:1: error: a went wrong\nfirst 1\n"), "{text}");
    assert!(text.contains("src/b.lua:3:1: error: b went wrong\nsecond 1\n"), "{text}");
    assert!(text.contains("\"failures\":2"), "{text}");
    assert!(!text.trim_end().ends_with(".spool"), "{text}");
}

#[test]
fn uninstalling_says_what_it_removes_and_leaves_the_lessons() {
    let sandbox = project();
    sandbox.verify_run(["luacheck", "."]).env("PART", "a").outcome();
    let lesson: PathBuf = sandbox.lesson().path;
    let last = sandbox.verify_run(["last", "--json"]).prints_json();
    assert_eq!(sandbox.path(last["lesson_file"].as_str().expect("a path")), lesson);
    let plan = sandbox.verify_run(["uninstall"]).outcome();
    assert!(plan.stdout().contains("would remove"), "{}", plan.stdout());
    assert!(sandbox.state().exists());
    let done = sandbox.verify_run(["uninstall", "--purge"]).prints();
    assert!(done.contains("removing") && done.contains("keeping the lessons"), "{done}");
    assert!(!sandbox.state().exists());
    assert!(lesson.exists());
    assert!(sandbox.verify_run(["uninstall"]).prints().contains("nothing is kept"));
}
