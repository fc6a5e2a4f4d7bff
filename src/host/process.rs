//! The one door to the command lines that hosts are configured with: with a time limit, a bounded answer, and a process
//! group of its own that goes when the time is up.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::interrupt::{RunningCommand, stop_with_process};
use crate::base::children::with_known;

/// What is read of an answer, bytes each stream.
const ANSWER_BYTES_MAX: u64 = 256 << 10;
/// What is read of the start and of the end of a long command's output, bytes.
const LONG_HEAD_BYTES_MAX: u64 = 1 << 20;
const LONG_TAIL_BYTES_MAX: u64 = 15 << 20;
/// Between SIGTERM and SIGKILL.
const TERMINATION_TIME: Duration = Duration::from_secs(5);
/// Between two looks for adopted processes that have ended.
const REAP_EVERY: Duration = Duration::from_millis(20);

/// A command that ended, or was ended.
#[derive(Debug)]
pub struct ProcessAnswer {
    /// How it ended; `None` when its time was up.
    pub status: Option<ExitStatus>,
    /// The start of what it printed.
    pub stdout: Vec<u8>,
    /// The start of what it said besides.
    pub stderr: Vec<u8>,
    /// How long it took.
    pub took: Duration,
}

/// A command to run.
#[derive(Debug, Clone, Copy)]
pub struct ProcessCall<'a> {
    /// Program and arguments.
    pub argv: &'a [OsString],
    /// Its working directory.
    pub dir: &'a Path,
    /// Variables that are set; `None` takes one away.
    pub variables: &'a [(&'a str, Option<&'a OsStr>)],
    /// Its arguments.
    pub input: &'a [u8],
    /// How long it may take.
    pub limit: Duration,
}

/// Runs a command to its end, or to the end of its time.
///
/// # Errors
/// When it can't be started.
pub fn run(call: ProcessCall<'_>) -> io::Result<ProcessAnswer> {
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let (status, took) = run_into(call, &stdout, &stderr, Signal::SIGKILL)?;
    let [stdout, stderr] = [read_start(&mut stdout)?, read_start(&mut stderr)?];
    Ok(ProcessAnswer { status, stdout, stderr, took })
}

/// A long command that ended, or was ended.
#[derive(Debug)]
pub struct LongAnswer {
    /// How it ended; `None` when its time was up.
    pub status: Option<ExitStatus>,
    /// What it printed, both streams in their order or standard output alone: its start and its end.
    pub output: Vec<u8>,
    /// Bytes between them that were not read.
    pub cut_bytes: u64,
    /// Where they were.
    pub cut_at: u64,
    /// How long it took.
    pub took: Duration,
}

/// Which streams of a long command are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadStreams {
    /// Both, in the order in which they were written.
    Both,
    /// Standard output.
    Stdout,
}

/// As [`run`], for a command that may take minutes: of its output the first 1 MiB and the last 15 MiB are read. When its
/// time is up its process group gets SIGTERM, and SIGKILL five seconds later.
///
/// # Errors
/// When it can't be started.
pub fn run_long(call: ProcessCall<'_>, streams: ReadStreams) -> io::Result<LongAnswer> {
    let (mut stdout, mut other) = (tempfile::tempfile()?, tempfile::tempfile()?);
    // One open file has one position: what is written to both streams stays in its order.
    let stderr = if streams == ReadStreams::Both { &stdout } else { &other };
    let (status, took) = run_into(call, &stdout, stderr, Signal::SIGTERM)?;
    let (mut output, cut_bytes) = read_ends(&mut stdout)?;
    if output.is_empty() && streams == ReadStreams::Stdout {
        output = read_start(&mut other)?;
    }
    let cut_at = if cut_bytes > 0 { LONG_HEAD_BYTES_MAX } else { output.len() as u64 };
    Ok(LongAnswer { status, output, cut_bytes, cut_at, took })
}

#[allow(clippy::disallowed_methods, reason = "the one door to the command lines of hosts")]
fn run_into(
    call: ProcessCall<'_>,
    stdout: &File,
    stderr: &File,
    first_signal: Signal,
) -> io::Result<(Option<ExitStatus>, Duration)> {
    let Some((program, arguments)) = call.argv.split_first() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program"));
    };
    // Files, not pipes: no reader is needed while it runs, and processes that it leaves behind hold nothing up.
    let stdin = if call.input.is_empty() {
        Stdio::null()
    } else {
        let mut input = tempfile::tempfile()?;
        input.write_all(call.input)?;
        input.seek(SeekFrom::Start(0))?;
        Stdio::from(input)
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(call.dir);
    command.stdin(stdin).stdout(stdout.try_clone()?).stderr(Stdio::from(stderr.try_clone()?));
    for (name, value) in call.variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let started = Instant::now();
    let (mut child, running) = RunningCommand::start(&mut command)?;
    let group = running.group();
    let (told, heard) = mpsc::channel();
    thread::spawn(move || told.send(child.wait()));
    let ended = loop {
        let left = call.limit.saturating_sub(started.elapsed());
        match heard.recv_timeout(left.min(REAP_EVERY)) {
            Err(_) if started.elapsed() < call.limit => reap_orphans(Some(group)),
            ended => break ended,
        }
    };
    let took = started.elapsed();
    if ended.is_err() {
        let _ = killpg(group, first_signal);
        if first_signal == Signal::SIGKILL || heard.recv_timeout(TERMINATION_TIME).is_err() {
            let _ = killpg(group, Signal::SIGKILL);
            let _ = heard.recv();
        }
    }
    // What it left behind in its group.
    if first_signal == Signal::SIGTERM {
        let _ = killpg(group, Signal::SIGKILL);
    }
    drop(running);
    stop_with_process();
    Ok((ended.ok().and_then(Result::ok), took))
}

/// Takes in what commands leave running, so that it can be waited for. Linux only; elsewhere nothing is taken in.
#[derive(Debug)]
pub struct OrphanReaper(());

impl OrphanReaper {
    /// From here on until it is dropped.
    pub fn open() -> Self {
        #[cfg(target_os = "linux")]
        let _ = nix::sys::prctl::set_child_subreaper(true);
        OrphanReaper(())
    }

    /// Ends what a command left running, and waits for verify-run's own recorders, which end alone; at most this
    /// long. Children that other threads wait for are left alone.
    #[allow(clippy::disallowed_methods, reason = "an adopted process is no child that was spawned here")]
    pub fn end_strangers(&self, limit: Duration) {
        let until = Instant::now() + limit;
        let own = std::env::current_exe().ok();
        while cfg!(target_os = "linux") && Instant::now() < until {
            let left = with_known(|known| {
                let strangers = child_processes().into_iter().filter(|id| !is_among(known, *id)).map(Pid::from_raw);
                let alive =
                    strangers.filter(|id| waitpid(*id, Some(WaitPidFlag::WNOHANG)) == Ok(WaitStatus::StillAlive));
                alive.collect::<Vec<Pid>>()
            });
            if left.is_empty() {
                return;
            }
            for process in left {
                let file = std::fs::read_link(format!("/proc/{process}/exe")).ok();
                if file.is_some() && file != own {
                    let _ = nix::sys::signal::kill(process, Signal::SIGKILL);
                }
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until all of it has ended, at most so long. Nothing else may be running.
    #[allow(clippy::disallowed_methods, reason = "waiting for any process has no limit of its own")]
    pub fn wait(&self, limit: Duration) {
        let until = Instant::now() + limit;
        while cfg!(target_os = "linux") && Instant::now() < until {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => thread::sleep(Duration::from_millis(2)),
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

impl Drop for OrphanReaper {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        let _ = nix::sys::prctl::set_child_subreaper(false);
    }
}

/// Reaps what was adopted and has ended: a command that waits for its orphans to vanish must see them vanish.
fn reap_orphans(child: Option<Pid>) {
    with_known(|known| {
        let adopted = child_processes().into_iter().filter(|id| !is_among(known, *id)).map(Pid::from_raw);
        for process in adopted.filter(|process| Some(*process) != child) {
            let _ = waitpid(process, Some(WaitPidFlag::WNOHANG));
        }
    });
}

fn is_among(known: &BTreeSet<u32>, id: i32) -> bool {
    u32::try_from(id).is_ok_and(|id| known.contains(&id))
}

/// The children of this process, adopted ones included. Linux only; elsewhere none.
fn child_processes() -> Vec<i32> {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<i32>>()).collect()
}

/// The first 1 MiB and the last 15 MiB, and how much is between them.
fn read_ends(file: &mut File) -> io::Result<(Vec<u8>, u64)> {
    let size = file.seek(SeekFrom::End(0))?;
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    if size <= LONG_HEAD_BYTES_MAX + LONG_TAIL_BYTES_MAX {
        file.take(LONG_HEAD_BYTES_MAX + LONG_TAIL_BYTES_MAX).read_to_end(&mut bytes)?;
        return Ok((bytes, 0));
    }
    Read::by_ref(file).take(LONG_HEAD_BYTES_MAX).read_to_end(&mut bytes)?;
    let tail_at = size - LONG_TAIL_BYTES_MAX;
    file.seek(SeekFrom::Start(tail_at))?;
    file.take(LONG_TAIL_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok((bytes, tail_at - LONG_HEAD_BYTES_MAX))
}

fn read_start(file: &mut File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The program of this name on `PATH`.
pub fn find_on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|file| nix::unistd::access(file, nix::unistd::AccessFlags::X_OK).is_ok() && file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::children::KnownChild;

    fn sh(line: &str, limit: Duration) -> ProcessAnswer {
        let argv = ["sh", "-c", line].map(OsString::from);
        let variables = [("ADDED", Some(OsStr::new("yes"))), ("HOME", None)];
        run(ProcessCall { argv: &argv, dir: Path::new("/"), variables: &variables, input: b"said", limit })
            .expect("it starts")
    }

    #[test]
    fn it_is_told_and_answers() {
        let answer = sh("cat; echo $ADDED ${HOME-none}; pwd >&2; exit 3", Duration::from_secs(60));
        assert_eq!(answer.status.and_then(|status| status.code()), Some(3));
        assert_eq!((answer.stdout.as_slice(), answer.stderr.as_slice()), (&b"saidyes none\n"[..], &b"/\n"[..]));
    }

    #[test]
    fn orphans_vanish_while_the_command_runs() {
        let _reaper = OrphanReaper::open();
        let line = "id=$(sh -c 'sleep 0.05 >/dev/null 2>&1 & echo $!'); n=0; \
                    while kill -0 $id 2>/dev/null && [ $n -lt 500 ]; do sleep 0.02; n=$((n + 1)); done; \
                    kill -0 $id 2>/dev/null && echo there || echo gone";
        let argv = ["sh", "-c", line].map(OsString::from);
        let limit = Duration::from_secs(60);
        let call = ProcessCall { argv: &argv, dir: Path::new("/"), variables: &[], input: b"", limit };
        let answer = run_long(call, ReadStreams::Both).expect("it starts");
        assert_eq!(answer.output, b"gone\n");
    }

    #[test]
    fn a_child_that_another_thread_waits_for_is_left_alone() {
        let reaper = OrphanReaper::open();
        let mut waited = KnownChild::spawn(Command::new("sleep").arg("600")).expect("it starts");
        reaper.end_strangers(Duration::from_secs(60));
        reap_orphans(None);
        assert!(waited.try_wait().expect("it is ours").is_none());
        waited.kill().expect("killed");
        reap_orphans(None);
        assert!(!waited.wait().expect("no other thread waited for it").success());
    }

    #[test]
    fn it_is_ended_with_all_that_it_started_when_its_time_is_up() {
        let answer = sh("sleep 600 & echo $!; wait", Duration::from_millis(300));
        assert!(answer.status.is_none() && answer.took < Duration::from_secs(60));
        let id = String::from_utf8(answer.stdout).expect("UTF-8").trim().parse().expect("an id");
        let gone = (0..1_000).any(|_| {
            thread::sleep(Duration::from_millis(10));
            nix::sys::signal::kill(Pid::from_raw(id), None).is_err()
        });
        assert!(gone, "the sleep is still there");
    }
}
