//! The walls that a process puts around itself: Landlock, and a filter of system calls.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus,
    Scope, path_beneath_rules,
};
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};

use super::failure::{EnterFailure, at_step};
use super::sys;
use crate::base::lossless::Lossless;
use crate::lab::level::LabLevel;
use crate::lab::plan::{EnterStep, LabPlan};

/// What this version knows of Landlock; an older kernel does less.
const KNOWN: ABI = ABI::V9;
/// Without the first of these a file can't be moved from one folder to another.
const MOVES: ABI = ABI::V2;
/// From here on Landlock keeps connections to sockets of files inside.
const SOCKETS: i32 = 9;
/// On x86-64 every system call has a second number.
const SECOND_NUMBER: i64 = 0x4000_0000;

/// Families of sockets that belong to a namespace: files, the network, and messages of the kernel about it.
const FAMILIES: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// System calls that lead out of the process and its files, or that would get around the filter; at the level of
/// Landlock alone, where no namespace keeps them inside.
const REFUSED: [libc::c_long; 9] = [
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
];

/// Restricts this process and all that it starts to the places of the plan.
///
/// # Errors
/// At the level of Landlock, when the kernel does not have it. At the level of namespaces it is a second wall only.
pub(super) fn restrict_files(plan: &LabPlan) -> Result<(), EnterFailure> {
    let failed = |why: String| at_step(EnterStep::Landlock, "cannot restrict the process", io::Error::other(why));
    let is_needed = plan.level == LabLevel::Landlock;
    match try_restrict_files(plan) {
        Ok(_) if !is_needed => Ok(()),
        Ok(RulesetStatus::NotEnforced) => Err(failed("the kernel has no Landlock, or an old one".to_owned())),
        Ok(_) => Ok(()),
        Err(error) => Err(failed(error.to_string())),
    }
}

fn try_restrict_files(plan: &LabPlan) -> Result<RulesetStatus, RulesetError> {
    if sys::landlock_version() < MOVES as i32 {
        return Ok(RulesetStatus::NotEnforced);
    }
    let paths = |list: &[Lossless]| -> Vec<PathBuf> { list.iter().map(|path| path.path().to_owned()).collect() };
    let mut rules = Ruleset::default().handle_access(AccessFs::from_all(KNOWN))?.scope(Scope::from_all(KNOWN))?;
    if plan.level == LabLevel::Landlock {
        rules = rules.handle_access(AccessNet::from_all(KNOWN))?;
    }
    let read: BitFlags<AccessFs> = AccessFs::from_read(KNOWN);
    let status = rules
        .create()?
        .add_rules(path_beneath_rules(paths(&plan.readable), read))?
        .add_rules(path_beneath_rules(paths(&plan.writable), AccessFs::from_all(KNOWN)))?
        .restrict_self()?;
    Ok(status.ruleset)
}

/// Refuses system calls that the other walls let pass. In namespaces these are sockets that do not belong to one: those
/// between a virtual machine and its host. At the level of Landlock these are all sockets of the network, and connections
/// to the sockets of other programs, which do what they are asked for outside.
///
/// # Errors
/// The kernel's.
pub(super) fn refuse_calls(level: LabLevel) -> Result<(), EnterFailure> {
    let refused = match level {
        LabLevel::Landlock => refused_without_namespaces(),
        _ => refused_in_namespaces(),
    };
    let applied = refused.and_then(|refused| {
        refused.apply(libc::EPERM)?;
        // It does what any system call does, unseen by a filter; programs know kernels without it.
        let mut unseen = RefusedCalls::default();
        unseen.add(libc::SYS_io_uring_setup, Vec::new());
        unseen.apply(libc::ENOSYS)
    });
    applied.map_err(|why| at_step(EnterStep::Filter, "cannot filter system calls", io::Error::other(why)))
}

fn refused_in_namespaces() -> Result<RefusedCalls, String> {
    let mut refused = RefusedCalls::default();
    let other_families: Vec<SeccompCondition> =
        FAMILIES.iter().map(|family| compare_argument(0, SeccompCmpOp::Ne, *family)).collect::<Result<_, _>>()?;
    refused.add(libc::SYS_socket, vec![all_of(other_families)?]);
    Ok(refused)
}

fn refused_without_namespaces() -> Result<RefusedCalls, String> {
    let mut refused = RefusedCalls::default();
    REFUSED.iter().for_each(|call| refused.add(*call, Vec::new()));
    // The kind has flags beside it. Datagrams name their receiver each, without a connection.
    let kind = |kind| compare_argument(1, SeccompCmpOp::MaskedEq(0xf), kind);
    let rules = [compare_argument(0, SeccompCmpOp::Ne, libc::AF_UNIX)?, kind(libc::SOCK_DGRAM)?, kind(libc::SOCK_RAW)?];
    let rules = rules.into_iter().map(|condition| all_of(vec![condition])).collect::<Result<_, _>>()?;
    refused.add(libc::SYS_socket, rules);
    if sys::landlock_version() < SOCKETS {
        refused.add(libc::SYS_connect, Vec::new());
    }
    // Every process of the user.
    refused.add(libc::SYS_kill, vec![all_of(vec![compare_argument(0, SeccompCmpOp::Eq, -1)?])?]);
    Ok(refused)
}

/// System calls that are refused, each always or where one of its rules holds.
#[derive(Default)]
struct RefusedCalls(BTreeMap<i64, Vec<SeccompRule>>);

impl RefusedCalls {
    fn add(&mut self, call: libc::c_long, rules: Vec<SeccompRule>) {
        if cfg!(target_arch = "x86_64") {
            self.0.insert(call | SECOND_NUMBER, rules.clone());
        }
        self.0.insert(call, rules);
    }

    fn apply(self, errno: libc::c_int) -> Result<(), String> {
        let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
        let answer = SeccompAction::Errno(errno.cast_unsigned());
        let filter = SeccompFilter::new(self.0, SeccompAction::Allow, answer, arch);
        let program: BpfProgram =
            filter.and_then(TryInto::try_into).map_err(|error: seccompiler::BackendError| error.to_string())?;
        apply_filter(&program).map_err(|error| error.to_string())
    }
}

fn compare_argument(number: u8, operator: SeccompCmpOp, value: libc::c_int) -> Result<SeccompCondition, String> {
    let value = u64::from(value.cast_unsigned());
    SeccompCondition::new(number, SeccompCmpArgLen::Dword, operator, value).map_err(|error| error.to_string())
}

fn all_of(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, String> {
    SeccompRule::new(conditions).map_err(|error| error.to_string())
}
