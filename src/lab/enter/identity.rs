//! Who the processes inside are: the user outside, without any privilege.

use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::unistd::{getegid, geteuid};

use super::failure::{EnterFailure, at_step};
use super::sys;
use crate::lab::plan::EnterStep;

/// Ids of processes for each that may be there at the same time, and at least.
const IDS_PER_PROCESS: u64 = 4;
const IDS_MIN: u64 = 4_096;

/// The namespaces beside the one of users.
fn other_namespaces() -> CloneFlags {
    CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWCGROUP
}

/// Enters namespaces of its own. Without user namespaces the capabilities that the process has must do; whether it has a
/// user namespace.
///
/// # Errors
/// When the kernel gives none.
pub(super) fn enter_namespaces() -> Result<bool, EnterFailure> {
    let has_users = match enter_user_namespace() {
        Ok(()) => true,
        // A privileged process needs none.
        Err(_) if unshare(other_namespaces()).is_ok() => return Ok(false),
        Err(failure) => return Err(failure),
    };
    unshare(other_namespaces())
        .map_err(|error| at_step(EnterStep::Namespaces, "cannot make namespaces", error.into()))?;
    Ok(has_users)
}

/// A user namespace in which this user is the one that it is outside. This process has every capability in it until it
/// executes a program.
///
/// # Errors
/// When the kernel gives none, or does not let it be named.
pub(super) fn enter_user_namespace() -> Result<(), EnterFailure> {
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER)
        .map_err(|error| at_step(EnterStep::UserNamespace, "cannot make a user namespace", error.into()))?;
    let write = |name: &str, text: String| {
        sys::tell_kernel(&format!("/proc/self/{name}"), &text)
            .map_err(|error| at_step(EnterStep::Identity, &format!("cannot write {name}"), error))
    };
    // Without it no unprivileged process may name its group.
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{user} {user} 1\n"))?;
    write("gid_map", format!("{group} {group} 1\n"))
}

/// From here on only one more user namespace can be made: the one without privileges that the command gets. What the
/// kernel offers in user namespaces is a larger part of it than any check needs.
pub(super) fn allow_one_user_namespace() {
    // Read-only in some containers; there the command may make more of them, without more rights.
    let _ = sys::tell_kernel("/proc/sys/user/max_user_namespaces", "1");
}

/// Limits the processes of this namespace by their ids, where it has ids of its own (Linux 6.14): the kernel does not count
/// those of root. There are more ids than processes, so that none has the one of a process that has just ended.
pub(super) fn limit_process_ids(tasks: u64) {
    if kernel_version().is_some_and(|version| version >= (6, 14)) {
        let most = (tasks * IDS_PER_PROCESS).max(IDS_MIN);
        // It is read-only for the command.
        let _ = sys::tell_kernel("/proc/sys/kernel/pid_max", &most.to_string());
    }
}

/// Major and minor number of the kernel.
fn kernel_version() -> Option<(u32, u32)> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let mut numbers = release.split(['.', '-']).map(|number| number.trim().parse::<u32>());
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Gives up everything that the command must not have: in a user namespace of its own it has no capability over what was
/// set up outside of that, and no program that it executes gains any.
///
/// # Errors
/// The operating system's.
pub(super) fn give_up_privileges(has_users: bool) -> Result<(), EnterFailure> {
    if has_users {
        enter_user_namespace()?;
    }
    let failed = |error: io::Error| at_step(EnterStep::Privileges, "cannot give up privileges", error);
    sys::leave_keyring();
    prctl::set_no_new_privs().map_err(|error| failed(error.into()))?;
    sys::drop_capabilities().map_err(failed)
}
