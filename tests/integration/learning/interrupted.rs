//! Runners that are killed at any moment: the next one ends the job as if nothing had happened.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::{agree, job_in, job_page, mend};
use crate::lab::{has_namespaces, left_by_labs, top_of};
use crate::sandbox::{Sandbox, wait_until};

/// Rounds of one of five tests; in each the runner of a job is killed twice, once fewer than a job gives up after.
const ROUNDS: u64 = 3;
/// Rounds at most, where the moments came too late.
const ROUNDS_MAX: u64 = 12;
const KILLS: u64 = 2;
const CHECK: [&str; 4] = ["/usr/bin/python3", "-m", "unittest", "-q"];

/// A project whose check takes hardly any time, with a job that waits.
fn waiting_job() -> Option<(Sandbox, String)> {
    if !has_namespaces() {
        return None;
    }
    let sandbox = Sandbox::repository();
    sandbox.write(".gitignore", "__pycache__\n");
    sandbox.write(
        "calc.py",
        "def add(a, b):\n    return a - b\n\n\ndef name():\n    return 'calc'\n\n\ndef two():\n    return 2\n",
    );
    let test = "import unittest\nfrom calc import add, name\n\n\nclass TestCalc(unittest.TestCase):\n    def test_add(self):\n        \
                self.assertEqual(add(1, 2), 3)\n\n    def test_name(self):\n        self.assertEqual(name(), 'calc')\n";
    sandbox.write("test_calc.py", test);
    sandbox.commit("The project");
    mend(&sandbox, &CHECK, |sandbox| {
        let text = sandbox
            .read("calc.py")
            .replace("a - b", "a + b")
            .replace("'calc'", "\"calc\"")
            .replace("return 2", "return 1 + 1");
        sandbox.write("calc.py", text);
    });
    agree(&sandbox);
    let id = job_in(&sandbox, "queued")["id"].as_str().expect("an id").to_owned();
    sandbox.settle();
    Some((sandbox, id))
}

/// What a job came to, without times: its verdict, its smallest change and its runs.
fn result_of(page: &Value) -> Value {
    let trials: Vec<Value> = page["trials"]
        .as_array()
        .expect("trials")
        .iter()
        .map(|trial| {
            serde_json::json!([trial["purpose"], trial["tree"], trial["command"], trial["outcome"], trial["tests"]])
        })
        .collect();
    serde_json::json!({
        "state": page["state"], "cause": page["cause"], "evidence": page["judgement"]["evidence"],
        "fixed": page["judgement"]["fixed"], "minimal": page["minimal"], "trials": trials,
    })
}

/// Everything that a job can change.
fn kept_folders(sandbox: &Sandbox) -> [PathBuf; 4] {
    [sandbox.state(), sandbox.path(".agent"), sandbox.path(".runs"), sandbox.home()]
}

fn copy_all(from: &Path, to: &Path) {
    if from.exists() {
        let done = Command::new("cp").arg("-a").arg(from).arg(to).status().expect("cp starts");
        assert!(done.success());
    }
}

/// Copies of everything that a job can change.
fn keep(sandbox: &Sandbox) -> PathBuf {
    let kept = sandbox.tmp().join("kept");
    std::fs::create_dir(&kept).expect("a folder");
    for (number, folder) in kept_folders(sandbox).iter().enumerate() {
        copy_all(folder, &kept.join(number.to_string()));
    }
    kept
}

fn restore(sandbox: &Sandbox, kept: &Path) {
    for (number, folder) in kept_folders(sandbox).iter().enumerate() {
        if folder.exists() {
            std::fs::remove_dir_all(folder).expect("removed");
        }
        copy_all(&kept.join(number.to_string()), folder);
    }
}

/// Names of what is in the state folder, but for names that are drawn and databases' own files.
fn names_in_state(sandbox: &Sandbox) -> BTreeMap<String, usize> {
    let mut names = BTreeMap::new();
    for folder in ["", "learn", "lab", "spool", "snapshots"] {
        for entry in std::fs::read_dir(sandbox.state().join(folder)).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.contains("-wal") && !name.contains("-shm") {
                *names.entry(format!("{folder}/{name}")).or_default() += 1;
            }
        }
    }
    names
}

fn ends_as_undisturbed_when_killed(seed: u64) {
    let Some((sandbox, id)) = waiting_job() else { return };
    let kept = keep(&sandbox);
    let started = Instant::now();
    let undisturbed = work_to_the_end(&sandbox, &id);
    let mut took = u64::try_from(started.elapsed().as_millis()).expect("a short time");
    let names = names_in_state(&sandbox);
    let (mut seed, mut interrupted) = (seed, 0);
    for round in 0..ROUNDS_MAX {
        if round >= ROUNDS && interrupted > 1 {
            break;
        }
        restore(&sandbox, &kept);
        let (mut known, before) = (0, interrupted);
        for _ in 0..KILLS {
            let mut runner = sandbox.verify_run(["library", "work"]).spawn();
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // A moment, not a condition: whatever it is doing then is interrupted.
            std::thread::sleep(Duration::from_millis((seed >> 33) % took));
            let _ = kill(Pid::from_raw(i32::try_from(runner.id()).expect("an id")), Signal::SIGKILL);
            interrupted += u32::from(!runner.wait().expect("it ends").success());
            wait_until("every process of the lab ends", || sandbox.processes().is_empty());
            let trials = job_page(&sandbox, &id)["trials"].as_array().map_or(0, Vec::len);
            assert!(trials >= known, "runs that were recorded are gone: {trials} of {known}");
            known = trials;
        }
        let result = work_to_the_end(&sandbox, &id);
        // With the same runs in the same order: none was done again.
        assert_eq!(result, undisturbed, "round {round}");
        assert_eq!(names_in_state(&sandbox), names, "round {round}");
        assert_eq!(left_by_labs(&sandbox), Vec::<PathBuf>::new());
        let mounts = std::fs::read_to_string("/proc/self/mounts").expect("mounts");
        assert!(!mounts.contains(&top_of(&sandbox).display().to_string()), "{mounts}");
        if interrupted == before {
            // The machine is faster than it was when the time was taken.
            took = (took / 2).max(1);
        }
    }
    assert!(interrupted > 1, "{interrupted}");
}

/// Runs what is in the queue; what the job came to.
fn work_to_the_end(sandbox: &Sandbox, id: &str) -> Value {
    sandbox.verify_run(["library", "work"]).outcome();
    sandbox.settle();
    let page = job_page(sandbox, id);
    assert_eq!(page["state"], "candidate", "{page:#}");
    let list = sandbox.verify_run(["library", "list", "--json"]).prints_json();
    assert_eq!(list["pages"].as_array().map(Vec::len), Some(1), "{list}");
    result_of(&page)
}

#[test]
fn what_a_runner_that_was_killed_after_its_last_job_left_is_removed_without_another() {
    let Some((sandbox, id)) = waiting_job() else { return };
    work_to_the_end(&sandbox, &id);
    let left = sandbox.state().join("lab/01a219e09fff75b395427838075c543f");
    std::fs::create_dir_all(left.join("run-0/rw/tree")).expect("folders");
    let worked = sandbox.verify_run(["library", "work", "--json"]).prints_json();
    assert_eq!(worked["jobs"].as_array().map(Vec::len), Some(0), "{worked}");
    assert!(!left.exists());
}

#[test]
fn a_job_whose_runner_is_killed_ends_as_an_undisturbed_one() {
    ends_as_undisturbed_when_killed(20_261_126);
}

#[test]
fn a_job_whose_runner_is_killed_at_other_moments_ends_as_an_undisturbed_one() {
    ends_as_undisturbed_when_killed(1_984);
}

#[test]
fn a_job_whose_runner_is_killed_at_further_moments_ends_as_an_undisturbed_one() {
    ends_as_undisturbed_when_killed(42);
}

#[test]
fn a_job_whose_runner_is_killed_at_more_moments_ends_as_an_undisturbed_one() {
    ends_as_undisturbed_when_killed(7);
}

#[test]
fn a_job_whose_runner_is_killed_at_the_last_moments_ends_as_an_undisturbed_one() {
    ends_as_undisturbed_when_killed(65_537);
}
