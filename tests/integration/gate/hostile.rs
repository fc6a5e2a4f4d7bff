//! Hostile names, commands that change the tree or do not end, and evaluations that are killed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use verify_run::run::CommandEnd;

use super::decisions::{failing_project, judge};
use super::{checklist, item, python_project};
use crate::sandbox::{Sandbox, VERIFY_RUN, wait_until};

#[test]
fn a_command_that_changes_a_file_is_not_evaluated() {
    let sandbox = failing_project();
    sandbox.write("check.sh", "echo more >> kept.txt\nexit 0\n");
    let (ended, document) = judge(&sandbox);
    let judged = item(&document, "X1");
    assert_eq!(judged["status"], "not_evaluated", "{document}");
    assert_eq!(judged["reason"], "the command changed 1 file: kept.txt");
    assert_eq!(ended, CommandEnd::Exit(1));
    assert_eq!(document["issues"][0]["kind"], "TREE", "{document}");
    let receipts = sandbox.verify_run(["gate", "receipt", "list", "--json"]).prints_json();
    assert_eq!(receipts["receipts"].as_array().map(Vec::len), Some(0), "{receipts}");
}

#[test]
fn names_are_data_and_never_commands() {
    let sandbox = failing_project();
    sandbox.write("$(touch pwned).py", "def a():\n    return 1\n");
    sandbox.write(
        "prp.md",
        "# PRP: x'; touch pwned; '\n\n## Acceptance Criteria\n\n- AC-1 `|<script>|` | $(touch pwned)\n",
    );
    sandbox.write(
        "check.sh",
        "echo \"$VERIFY_RUN_FEATURE\" > /dev/null\nprintf 'a\\nb|c.py:1: error: `|<script>|`\\n'\nexit 1\n",
    );
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    let run = ["gate", "run", "--prp", "prp.md", "--format", "markdown", "--trust", digest.trim()];
    let outcome = sandbox.verify_run(run).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1), "{outcome:?}");
    assert!(!sandbox.path("pwned").exists());
    let report = outcome.stdout();
    for table in report.split("\n\n").filter(|part| part.starts_with('|')) {
        let columns = |row: &str| row.replace("\\|", "").matches('|').count();
        let widths: Vec<usize> = table.lines().map(columns).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
    }
    assert!(!report.contains("\n<script>"), "{report}");
}

#[test]
fn a_process_that_stays_behind_is_ended() {
    let sandbox = failing_project();
    sandbox.write("check.sh", "setsid sh -c 'echo $$ > \"$TMPDIR/left\"; exec sleep 600' &\nsleep 0.3\nexit 0\n");
    let (ended, document) = judge(&sandbox);
    assert_eq!(ended, CommandEnd::Exit(0), "{document}");
    let left = fs::read_to_string(sandbox.tmp().join("left")).expect("the process began");
    assert!(!fs::exists(format!("/proc/{}", left.trim())).expect("proc"), "it goes on");
}

#[test]
fn a_signal_that_ends_an_evaluation_ends_its_commands() {
    for (signal, trap) in [(Signal::SIGINT, ""), (Signal::SIGTERM, ""), (Signal::SIGHUP, "trap '' TERM\n")] {
        let sandbox = Sandbox::repository();
        sandbox.write(".verify-run/qa-checklist.yml", checklist(&[("X1", "sh check.sh")]));
        let line = "sh -c 'while :; do sleep 0.05; done' &\ntouch \"$TMPDIR/began\"\nwhile :; do wait; done\n";
        sandbox.write("check.sh", format!("{trap}{line}"));
        sandbox.commit("The project");
        let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
        let mut gate = sandbox.verify_run(["gate", "run", "--no-prp", "--trust", digest.trim()]).spawn();
        wait_until("the command began", || sandbox.tmp().join("began").exists());
        kill(Pid::from_raw(gate.id().cast_signed()), signal).expect("sent");
        let ended = gate.wait().expect("it ends");
        assert_eq!(ended.signal(), Some(signal as i32));
        wait_until("nothing of the command runs", || sandbox.processes().is_empty());
        let runs = sandbox.events().into_iter().filter(|event| event["ended"].is_object()).count();
        assert_eq!(runs, 0, "{signal}: a check that was ended from outside proves nothing");
    }
}

#[test]
fn commands_get_no_blocked_signals_and_a_second_one_does_not_wait() {
    let sandbox = Sandbox::repository();
    let mask = "grep -Ex SigBlk:.0+ /proc/self/status";
    let line = "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nopen(os.environ['TMPDIR'] + '/began', 'w')\ntime.sleep(600)\n";
    sandbox.write("check.py", line);
    sandbox.write(".verify-run/qa-checklist.yml", checklist(&[("X1", mask), ("X2", "python3 check.py")]));
    sandbox.commit("The project");
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    if cfg!(target_os = "linux") {
        let only = sandbox.verify_run(["gate", "run", "--no-prp", "--only", "X1", "--trust", digest.trim()]).outcome();
        assert!(only.stdout().starts_with("✅ X1 "), "{only:?}");
    }
    let mut gate = sandbox.verify_run(["gate", "run", "--no-prp", "--trust", digest.trim()]).spawn();
    wait_until("the command began", || sandbox.tmp().join("began").exists());
    let id = Pid::from_raw(gate.id().cast_signed());
    let started = Instant::now();
    wait_until("it ends", || {
        let _ = kill(id, Signal::SIGTERM);
        gate.try_wait().expect("it is ours").is_some()
    });
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    wait_until("nothing of the command runs", || sandbox.processes().is_empty());
}

#[test]
fn a_signal_that_the_caller_ignores_ends_nothing() {
    let sandbox = Sandbox::repository();
    sandbox.write(".verify-run/qa-checklist.yml", checklist(&[("X1", "sh check.sh")]));
    sandbox.write("check.sh", "touch \"$TMPDIR/began\"\nuntil test -e \"$TMPDIR/go\"; do sleep 0.05; done\n");
    sandbox.commit("The project");
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    let line = format!("trap '' HUP; exec {VERIFY_RUN} gate run --no-prp --trust {}", digest.trim());
    let mut gate = sandbox.bare("sh").args(["-c", &line]).spawn();
    wait_until("the command began", || sandbox.tmp().join("began").exists());
    kill(Pid::from_raw(gate.id().cast_signed()), Signal::SIGHUP).expect("sent");
    fs::write(sandbox.tmp().join("go"), "").expect("a file");
    assert_eq!(gate.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_verdict_that_the_index_does_not_have_counts() {
    let sandbox = failing_project();
    assert_eq!(judge(&sandbox).1["attempt"], 1);
    sandbox.settle();
    let index = sandbox.state().join("store.db");
    let before = fs::read(&index).expect("an index");
    sandbox.write("a.py", "a = 2\n");
    assert_eq!(judge(&sandbox).1["attempt"], 2);
    sandbox.settle();
    let status = sandbox.verify_run(["gate", "status", "--json"]).prints_json();
    // As a process leaves it that is killed between the two writes.
    fs::write(&index, before).expect("an index");
    for log in ["store.db-wal", "store.db-shm"] {
        let _ = fs::remove_file(sandbox.state().join(log));
    }
    assert_eq!(sandbox.verify_run(["gate", "status", "--json"]).prints_json(), status);
    sandbox.write("a.py", "a = 3\n");
    assert_eq!(judge(&sandbox).1["attempt"], 3);
}

/// A seeded row of numbers below 1, each as likely as any other.
struct RandomMoments(u64);

impl Iterator for RandomMoments {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Some((self.0 >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

#[test]
fn an_evaluation_that_is_killed_at_any_moment_is_no_attempt_and_its_passes_count() {
    let Some(sandbox) = python_project() else { return };
    let items = [("X1", "pytest"), ("X2", "sh check.sh")];
    sandbox.write(".verify-run/qa-checklist.yml", checklist(&items));
    sandbox
        .write("check.sh", "until test -e \"$TMPDIR/go\"; do sleep 0.05; done\necho 'a.py:1: error: wrong'\nexit 1\n");
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    let run = ["gate", "run", "--no-prp", "--json", "--trust", digest.trim()];
    let has_receipt = || {
        let listed = sandbox.verify_run(["gate", "receipt", "list", "--json"]).outcome();
        listed.stdout().contains("\"command\":\"pytest\"") || listed.stdout().contains("\"command\": \"pytest\"")
    };
    // The last command does not end before it may: the first evaluation is killed within it, the others before or in it.
    let mut longest = None;
    for moment in RandomMoments(43).take(20) {
        let started = Instant::now();
        let mut child = sandbox.verify_run(run).spawn();
        match longest {
            None => wait_until("the first command passed", has_receipt),
            Some(longest) => std::thread::sleep(Duration::mul_f64(longest, moment)),
        }
        longest.get_or_insert(started.elapsed());
        child.kill().expect("killed");
        child.wait().expect("it ends");
        for (id, _) in sandbox.processes() {
            let _ = kill(Pid::from_raw(id), Signal::SIGKILL);
        }
        wait_until("nothing runs", || sandbox.processes().is_empty());
    }
    let evaluations = |step: &str| -> BTreeSet<String> {
        let steps = sandbox.events().into_iter().filter(|event| event["kind"] == "gate" && event["step"] == step);
        steps.filter_map(|event| event["evaluation"].as_str().map(str::to_owned)).collect()
    };
    let begun = evaluations("started");
    assert!(!begun.is_empty(), "no evaluation got as far as its first event");
    fs::write(sandbox.tmp().join("go"), "").expect("a file");
    let (ended, document) = judge(&sandbox);
    assert_eq!((ended, &document["attempt"]), (CommandEnd::Exit(1), &1.into()), "{document}");
    let passed = item(&document, "X1")["details"].as_str().expect("details");
    assert!(passed.contains("not run again: passed "), "{document}");
    // One that was killed between two writes may say so twice.
    assert_eq!(evaluations("abandoned"), begun, "each evaluation that began and was killed is abandoned");
    let counts = ["no_progress_count", "same_error_count"].map(|key| document[key].as_u64());
    assert_eq!((counts, &document["circuit_breaker"]), ([Some(0), Some(1)], &"CLOSED".into()), "{document}");
    let status = sandbox.verify_run(["gate", "status", "--json"]).prints_json();
    sandbox.verify_run(["store", "rebuild"]).outcome();
    assert_eq!(sandbox.verify_run(["gate", "status", "--json"]).prints_json(), status);
}
