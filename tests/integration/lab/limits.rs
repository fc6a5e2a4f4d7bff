//! What a run may use: time, memory, processes, disk, output. Whatever it tries, it ends, and nothing of it is left.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use verify_run::run::CommandEnd;

use super::{LabUser, has_landlock, has_namespaces, left_by_labs, project};
use crate::sandbox::{Outcome, Sandbox};

/// Small limits, so that what goes beyond them does so soon.
const SETTINGS: &str = "[lab]\nprocesses = 16\nmemory_bytes = 134217728\nfile_bytes = 8388608\ndisk_bytes = 33554432\n";
/// Every attempt ends sooner than this, on a slow machine too.
const END_MAX: Duration = Duration::from_secs(60);
/// Another program of the machine answers within this, on a busy machine too.
const ANSWER_MAX: Duration = Duration::from_secs(10);
const ENDED_BY_LIMIT: CommandEnd = CommandEnd::Exit(124);

/// A script that goes beyond a limit, and what is said of it.
struct Excess {
    script: &'static str,
    says: &'static str,
}

const EXCESSES: [Excess; 7] = [
    Excess {
        script: "exec /usr/bin/python3 -c 'x=[]\nwhile True: x.append(b\"1\"*(8<<20))'",
        says: "it used more than 128 MiB of memory (setting lab.memory_bytes)",
    },
    Excess {
        // What no process has mapped: files without a name, in memory.
        script: "exec /usr/bin/python3 -c 'import os\nk=[]\nwhile True:\n k.append(os.memfd_create(\"m\")); os.write(k[-1],b\"1\"*(4<<20))'",
        says: "it used more than 128 MiB of memory (setting lab.memory_bytes)",
    },
    Excess {
        script: "n=0; while true; do dd if=/dev/zero of=f$n bs=1M count=4 2>/dev/null; n=$((n+1)); done",
        says: "it wrote more than 32 MiB, or the disk was nearly full (setting lab.disk_bytes)",
    },
    Excess {
        script: "n=0; while true; do dd if=/dev/zero of=$HOME/f$n bs=1M count=2 2>/dev/null; dd if=/dev/zero of=/tmp/f$n bs=1M count=2 2>/dev/null; n=$((n+1)); done",
        says: "it wrote more than 32 MiB, or the disk was nearly full (setting lab.disk_bytes)",
    },
    Excess {
        // Files that have no name any more.
        script: "exec /usr/bin/python3 -c 'import os\nk=[]\nwhile True:\n k.append(os.open(\"f\",os.O_CREAT|os.O_WRONLY)); os.unlink(\"f\"); os.write(k[-1],b\"1\"*(4<<20))'",
        says: "it wrote more than 32 MiB, or the disk was nearly full (setting lab.disk_bytes)",
    },
    Excess { script: "sleep 600", says: "it was ended after " },
    Excess { script: "trap '' TERM INT HUP; while :; do sleep 600; done", says: "it was ended after " },
];

fn sandbox_with_limits() -> Sandbox {
    let sandbox = project();
    let folder = sandbox.home().join(".config/verify-run");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("verify-run.toml"), SETTINGS).expect("settings");
    sandbox
}

/// Runs a script, and looks at what is left of it.
fn run_limited(user: LabUser, options: &[&str], script: &str) -> Outcome {
    let sandbox = sandbox_with_limits();
    let begun = Instant::now();
    let outcome = user.isolate(&sandbox, options, script).outcome();
    assert!(begun.elapsed() < END_MAX, "{script}: {:?}", begun.elapsed());
    assert_eq!(sandbox.processes(), [], "{script}");
    assert_eq!(left_by_labs(&sandbox), [""; 0].map(std::path::PathBuf::from), "{script}");
    outcome
}

fn ends_excesses(user: LabUser, level: &str) {
    for excess in &EXCESSES {
        let seconds = if excess.says.contains("after") { "1" } else { "50" };
        let outcome = run_limited(user, &["--level", level, "--seconds", seconds], excess.script);
        assert_eq!(outcome.ended, ENDED_BY_LIMIT, "{}: {outcome:?}", excess.script);
        assert!(outcome.stderr().contains(excess.says), "{}: {outcome:?}", excess.script);
    }
}

#[test]
fn a_run_beyond_a_limit_is_ended() {
    if has_namespaces() {
        ends_excesses(LabUser::Own, "namespaces");
    }
}

#[test]
fn a_run_beyond_a_limit_is_ended_for_a_user_without_rights() {
    if has_namespaces() && LabUser::Nobody.is_here() {
        ends_excesses(LabUser::Nobody, "namespaces");
    }
}

#[test]
fn a_run_beyond_a_limit_is_ended_within_landlock() {
    if has_landlock() {
        ends_excesses(LabUser::Own, "landlock");
    }
}

#[test]
fn a_fork_bomb_leaves_the_machine_usable() {
    for (user, level) in [
        (LabUser::Own, "namespaces"),
        (LabUser::Nobody, "namespaces"),
        (LabUser::Own, "landlock"),
        (LabUser::Nobody, "landlock"),
    ] {
        let has_level = if level == "namespaces" { has_namespaces() } else { has_landlock() };
        if !has_level || !user.is_here() {
            continue;
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        // Other programs of the same machine still answer all the while.
        let watch = std::thread::spawn(move || {
            let mut slowest = Duration::ZERO;
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                assert!(std::process::Command::new("true").status().expect("an answer").success());
                slowest = slowest.max(begun.elapsed());
            }
            slowest
        });
        let options = ["--level", level, "--seconds", "8"];
        let outcome = run_limited(user, &options, "exec bash -c 'b() { b | b & }; b; sleep 2' 2>/dev/null");
        // Either it came to nothing, or it was ended.
        assert!([ENDED_BY_LIMIT, CommandEnd::Exit(0)].contains(&outcome.ended), "{user:?} {level}: {outcome:?}");
        is_over.store(true, Ordering::Relaxed);
        let slowest = watch.join().expect("the watch");
        assert!(slowest < ANSWER_MAX, "{user:?} {level}: {slowest:?}");
    }
}

#[test]
fn a_file_has_a_limit_of_its_own() {
    if !has_namespaces() {
        return;
    }
    let script = "dd if=/dev/zero of=large bs=1M count=20 2>/dev/null; stat -c %s large";
    let outcome = run_limited(LabUser::Own, &[], script);
    assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(0), "8388608\n"), "{outcome:?}");
}

#[test]
fn endless_output_ends_with_its_time() {
    if !has_namespaces() {
        return;
    }
    let sandbox = sandbox_with_limits();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let command = ["gate", "isolate", "--seconds", "1", "--", "yes"];
    let mut child = sandbox.verify_run(command).fd(1, writer).spawn();
    // What is not read is not written: nothing is kept anywhere.
    let mut reader = reader;
    let read = std::io::copy(&mut std::io::Read::take(&mut reader, 1 << 20), &mut std::io::sink()).expect("output");
    assert_eq!(read, 1 << 20);
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(124));
    assert_eq!(left_by_labs(&sandbox).len(), 0);
}
