//! Labs whose processes are killed at any moment: nothing is left of them, at the latest after the next one.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use verify_run::run::CommandEnd;

use super::{contents_of, has_namespaces, left_by_labs, project, top_of};
use crate::sandbox::{Sandbox, wait_until};

/// Moments at which a process is killed.
const KILLS: u64 = 30;
/// The last of them, milliseconds after the start: the command has begun long before.
const LAST_MS: u64 = 700;
/// A command that leaves as much behind as it can.
const SCRIPT: &str = "setsid sleep 600 & (trap '' TERM HUP; sleep 600) & dd if=/dev/zero of=large bs=1M count=8 2>/dev/null; \
                      mkdir -p closed/deep; chmod 000 closed; exec sleep 600";

/// Which process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    /// The program that the user started.
    Outside,
    /// The process that made the namespaces.
    Parent,
    /// The first process in them.
    First,
}

/// A number that depends on the last one, the same in every run of the tests.
fn next_number(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// The processes inside that verify-run is, the first one last.
fn own_processes(sandbox: &Sandbox) -> Vec<Pid> {
    let mut ids: Vec<i32> =
        sandbox.processes().into_iter().filter(|(_, line)| line.contains("lab-init")).map(|(id, _)| id).collect();
    ids.sort_unstable();
    ids.into_iter().map(Pid::from_raw).collect()
}

#[test]
fn a_lab_that_is_killed_at_any_moment_leaves_nothing() {
    if !has_namespaces() {
        return;
    }
    let sandbox = project();
    sandbox.verify_run(["gate", "isolate", "--", "true"]).expect(CommandEnd::Exit(0), "", "");
    let before = contents_of(&top_of(&sandbox));
    let mut seed = 20_261_126;
    let mut killed = [0_usize; 3];
    for number in 0..KILLS {
        let delay = Duration::from_millis(next_number(&mut seed) % LAST_MS);
        let target = [Target::Outside, Target::Parent, Target::First][usize::try_from(number % 3).expect("small")];
        let mut child = sandbox.verify_run(["gate", "isolate", "--", "sh", "-c", SCRIPT]).spawn();
        let outside = Pid::from_raw(i32::try_from(child.id()).expect("an id"));
        // A moment, not a condition: whatever it is doing then is interrupted.
        std::thread::sleep(delay);
        let victim = match (target, &own_processes(&sandbox)[..]) {
            (Target::Parent, [parent, ..]) => *parent,
            (Target::First, [_, first, ..]) => *first,
            // It has not come so far.
            _ => outside,
        };
        killed[target as usize] += usize::from(victim != outside || target == Target::Outside);
        kill(victim, Signal::SIGKILL).expect("killed");
        if victim != outside {
            let status = child.wait().expect("it ends");
            // Either the command counts as killed, or as one that was not started.
            assert!([Some(137), Some(2)].contains(&status.code()), "{target:?} after {delay:?}: {status:?}");
        }
        let _ = child.wait();
        wait_until("every process of the lab ends", || sandbox.processes().is_empty());
    }
    assert!(killed.iter().all(|count| *count > 2), "{killed:?}");
    sandbox.verify_run(["gate", "isolate", "--", "true"]).expect(CommandEnd::Exit(0), "", "");
    assert_eq!(left_by_labs(&sandbox).len(), 0, "{:?}", left_by_labs(&sandbox));
    let mounts = std::fs::read_to_string("/proc/self/mounts").expect("mounts");
    assert!(!mounts.contains(&top_of(&sandbox).display().to_string()), "{mounts}");
    assert_eq!(contents_of(&top_of(&sandbox)), before);
}

#[test]
fn labs_beside_each_other_do_not_disturb_each_other() {
    if !has_namespaces() {
        return;
    }
    let sandbox = project();
    // Each waits for a file of its own, which no other one sees.
    let script = "echo $0 > /tmp/own; n=0; while [ $n -lt 50 ]; do [ \"$(cat /tmp/own)\" = $0 ] || exit 1; n=$((n+1)); done; ls /tmp";
    let labs: Vec<_> = (0..4)
        .map(|number| sandbox.verify_run(["gate", "isolate", "--", "sh", "-c", script, &number.to_string()]).spawn())
        .collect();
    for mut lab in labs {
        assert_eq!(lab.wait().expect("it ends").code(), Some(0));
    }
    assert_eq!(left_by_labs(&sandbox).len(), 0);
}
