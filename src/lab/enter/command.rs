//! The last steps of the process that becomes the command.

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use nix::errno::Errno;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::unistd::{chdir, execve, setsid};

use super::failure::{EnterFailure, at_step};
use super::{identity, sys, usage, walls};
use crate::base::lossless::Lossless;
use crate::lab::level::LabLevel;
use crate::lab::plan::{EnterStep, LabPlan};
use crate::run::say_on_stderr;

/// Found, but it could not be executed; not found: the codes of every shell.
const CANNOT_EXECUTE: i32 = 126;
const NOT_FOUND: i32 = 127;
/// Where programs are without a PATH.
const PATH_WHEN_UNSET: &[u8] = b"/bin:/usr/bin";

/// Puts the walls around this process.
///
/// # Errors
/// When one of them can't be had: then nothing may be run.
pub(super) fn put_up_walls(plan: &LabPlan, has_users: bool) -> Result<(), EnterFailure> {
    let failed = |what: &str, error: Errno| at_step(EnterStep::Preparation, what, error.into());
    // No terminal of the user's is this process's.
    let _ = setsid();
    if plan.is_idle {
        sys::be_idle();
    } else {
        sys::be_ordinary();
    }
    let limits = [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_FSIZE, plan.limits.file_bytes),
        (Resource::RLIMIT_NPROC, plan.limits.tasks + other_tasks(plan.level)),
    ];
    for (resource, most) in limits {
        setrlimit(resource, most, most).map_err(|error| failed("cannot set limits", error))?;
    }
    identity::give_up_privileges(has_users)?;
    if plan.level != LabLevel::None {
        walls::restrict_files(plan)?;
        walls::refuse_calls(plan.level)?;
    }
    chdir(plan.dir.path()).map_err(|error| failed(&format!("cannot enter {}", plan.dir.display()), error))
}

/// Tasks of the user that count beside those of the run: without a user namespace all of them do.
fn other_tasks(level: LabLevel) -> u64 {
    if level == LabLevel::Namespaces {
        return 0;
    }
    let user = nix::unistd::geteuid().as_raw();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = processes.filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.uid() == user));
    let ids: Vec<i32> = own.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    usage::count_tasks(&ids)
}

/// Becomes the command. Returns only when it could not: says why on standard error, and gives the exit code.
pub(super) fn become_command(plan: &LabPlan) -> i32 {
    let argv: Vec<CString> = plan.argv.iter().filter_map(|word| CString::new(word.0.as_bytes()).ok()).collect();
    let variable = |(name, value): &(Lossless, Lossless)| {
        CString::new([name.0.as_bytes(), b"=", value.0.as_bytes()].concat()).ok()
    };
    let variables: Vec<CString> = plan.variables.iter().filter_map(variable).collect();
    let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
    let Some(name) = argv.first() else { return NOT_FOUND };
    let error = search_program(plan, name, &argv, &variables);
    let reason = io::Error::from(error).to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    say_on_stderr(&format!("verify-run: cannot run '{}': {reason}\n", name.to_string_lossy()));
    if matches!(error, Errno::ENOENT | Errno::ENOTDIR) { NOT_FOUND } else { CANNOT_EXECUTE }
}

/// Tries the folders of the command's PATH in turn. "Permission denied" is the answer only where no other folder has
/// the program.
fn search_program(plan: &LabPlan, name: &CStr, argv: &[CString], variables: &[CString]) -> Errno {
    if name.to_bytes().contains(&b'/') {
        return execute(name, argv, variables);
    }
    let path = plan.variables.iter().find(|(name, _)| name.0 == "PATH").map(|(_, value)| value.0.as_bytes());
    let mut error = Errno::ENOENT;
    for folder in path.unwrap_or(PATH_WHEN_UNSET).split(|byte| *byte == b':').filter(|folder| folder.starts_with(b"/"))
    {
        let Ok(file) = CString::new([folder, b"/", name.to_bytes()].concat()) else { continue };
        match execute(&file, argv, variables) {
            Errno::ENOENT | Errno::ENOTDIR => {}
            Errno::EACCES => error = Errno::EACCES,
            other => return other,
        }
    }
    error
}

/// Returns only when the file could not be executed, neither as a program nor as a script without a first line.
fn execute(file: &CStr, argv: &[CString], variables: &[CString]) -> Errno {
    match execve(file, argv, variables) {
        Err(Errno::ENOEXEC) => {
            let script = [c"/bin/sh".to_owned(), file.to_owned()];
            let argv: Vec<&CString> = script.iter().chain(argv.iter().skip(1)).collect();
            execve(c"/bin/sh", &argv, variables).err().unwrap_or(Errno::ENOEXEC)
        }
        result => result.err().unwrap_or(Errno::ENOEXEC),
    }
}
