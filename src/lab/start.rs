//! Starts the process inside, and hears its answer.

use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::sys::socket::{MsgFlags, Shutdown, send, shutdown};
use nix::unistd::Pid;

use super::plan::{LabPlan, LabReport};

/// The first word that makes this program the process inside. Reserved; not a command for people.
pub(crate) const LAB_WORD: &str = "lab-init";
/// The variable by which a process list shows where a lab is; all that the process inside has of an environment.
const FOLDER_VARIABLE: &str = "VERIFY_RUN_LAB";
/// An answer, bytes.
const REPORT_BYTES_MAX: u64 = 64 << 20;
/// How long a trial of the walls may take.
const TRIAL_TIME_MAX: Duration = Duration::from_secs(10);

/// A process inside.
pub(super) struct InsideProcess {
    child: Child,
    socket: UnixStream,
}

impl InsideProcess {
    /// Starts it with a plan.
    ///
    /// # Errors
    /// The operating system's.
    #[allow(clippy::disallowed_methods, reason = "the one door to processes in the lab")]
    pub(super) fn start(plan: &LabPlan, stdout: Stdio, stderr: Stdio) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        // By this name the program is itself, even where its file was replaced since.
        let mut command = Command::new("/proc/self/exe");
        command.arg0("verify-run").arg(LAB_WORD).env_clear().env(FOLDER_VARIABLE, plan.scratch.path()).current_dir("/");
        // A signal of the terminal is for the caller, whose end is the end of this process.
        command.process_group(0).stdin(OwnedFd::from(theirs)).stdout(stdout).stderr(stderr);
        let child = command.spawn()?;
        // The command holds what it got until it is dropped: the end of an output would never be seen.
        drop(command);
        let inside = InsideProcess { child, socket: ours };
        let plan = serde_json::to_vec(plan)?;
        inside.send_all(&(plan.len() as u64).to_le_bytes())?;
        inside.send_all(&plan)?;
        Ok(inside)
    }

    /// Without SIGPIPE where the process has ended already.
    fn send_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match send(self.socket.as_raw_fd(), bytes, MsgFlags::from_bits_retain(nix::libc::MSG_NOSIGNAL)) {
                Ok(count) => bytes = &bytes[count..],
                Err(nix::errno::Errno::EINTR) => {}
                // It says why, or ends without a word.
                Err(nix::errno::Errno::EPIPE) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// What becomes readable when there is an answer.
    pub(super) fn answers(&self) -> impl AsFd {
        &self.socket
    }

    /// Reads a piece of the answer; nothing at its end.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn read_piece(&mut self, answer: &mut Vec<u8>) -> io::Result<usize> {
        let mut piece = vec![0; 64 << 10];
        // A read with a time limit is not taken up again by the kernel after a debugger or a stopped shell let go of it.
        let count = loop {
            match self.socket.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if answer.len() as u64 + count as u64 <= REPORT_BYTES_MAX {
            answer.extend_from_slice(&piece[..count]);
        }
        Ok(count)
    }

    /// Asks it to end all that it has started, and itself.
    pub(super) fn ask_to_end(&self) {
        let _ = shutdown(self.socket.as_raw_fd(), Shutdown::Write);
    }

    /// Ends it without asking. In namespaces all others go with it; elsewhere, the group of the command.
    pub(super) fn kill(&mut self) {
        let process = self.child.id();
        let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
        let _ = self.child.kill();
        for child in children.split_ascii_whitespace().filter_map(|id| id.parse().ok()) {
            let _ = killpg(Pid::from_raw(child), Signal::SIGKILL);
        }
    }

    /// Waits for its end.
    pub(super) fn wait(&mut self) {
        let _ = self.child.wait();
    }
}

/// Reads an answer.
///
/// # Errors
/// `UnexpectedEof` without one.
pub(super) fn parse_report(answer: &[u8]) -> io::Result<LabReport> {
    if answer.is_empty() {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the process inside ended without an answer"));
    }
    Ok(serde_json::from_slice(answer)?)
}

/// Starts a plan without a command, and waits for its answer.
///
/// # Errors
/// The operating system's.
pub(super) fn ask_inside(plan: &LabPlan) -> io::Result<LabReport> {
    let mut inside = InsideProcess::start(plan, Stdio::null(), Stdio::null())?;
    inside.socket.set_read_timeout(Some(TRIAL_TIME_MAX))?;
    let mut answer = Vec::new();
    let read = loop {
        match inside.read_piece(&mut answer) {
            Ok(0) => break Ok(()),
            Ok(_) => {}
            Err(error) => break Err(error),
        }
    };
    if read.is_err() {
        inside.kill();
    }
    inside.wait();
    read?;
    parse_report(&answer)
}
