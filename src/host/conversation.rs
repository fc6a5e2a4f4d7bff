//! A conversation with a program over its standard streams, a line at a time: with a limit on each line, and a process
//! group of its own that goes at the end.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::Pid;

/// A line that is read, bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Lines that wait to be read; the program waits when there are more.
const WAITING_LINES_MAX: usize = 8;
/// What is read of the program's errors, bytes.
const ERRORS_BYTES_MAX: u64 = 4 << 10;
/// Between two looks whether the program has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A program that is talked to. Dropping it ends its process group.
#[derive(Debug)]
pub struct Conversation {
    child: Child,
    /// `None` once nothing more will be said.
    input: Option<Sender<Vec<u8>>>,
    lines: Receiver<ReadLine>,
    errors: File,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadLine {
    /// A line, without its end.
    Line(Vec<u8>),
    /// A line longer than 1 MiB: the rest is not read.
    TooLong,
    /// The program has closed its standard output.
    End,
    /// Nothing came in time.
    Late,
}

impl Conversation {
    /// Starts the program in `dir` with these variables set, in a process group of its own.
    ///
    /// # Errors
    /// When it can't be started.
    #[allow(clippy::disallowed_methods, reason = "one of the two doors to programs that the user configured")]
    pub fn start(argv: &[OsString], dir: &Path, variables: &[(&str, OsString)]) -> io::Result<Self> {
        let Some((program, arguments)) = argv.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program"));
        };
        let errors = tempfile::tempfile()?;
        let mut command = Command::new(program);
        command.args(arguments).current_dir(dir).process_group(0);
        command.envs(variables.iter().map(|(name, value)| (OsStr::new(name), value.as_os_str())));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::from(errors.try_clone()?));
        let mut child = command.spawn()?;
        let (said, lines) = mpsc::sync_channel(WAITING_LINES_MAX);
        let (input, waiting) = mpsc::channel();
        if let Some(output) = child.stdout.take() {
            thread::spawn(move || read_lines(output, &said));
        }
        if let Some(stdin) = child.stdin.take() {
            thread::spawn(move || write_lines(stdin, &waiting));
        }
        Ok(Conversation { child, input: Some(input), lines, errors })
    }

    /// Says a line, which ends in a line end. It is not waited for: a program that does not read is one that does not
    /// answer.
    pub fn say(&self, line: String) {
        if let Some(input) = &self.input {
            // The writer has ended with the program.
            let _ = input.send(line.into_bytes());
        }
    }

    /// The next line; waits at most so long.
    pub fn listen(&self, wait: Duration) -> ReadLine {
        match self.lines.recv_timeout(wait) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => ReadLine::Late,
            Err(RecvTimeoutError::Disconnected) => ReadLine::End,
        }
    }

    /// Tells the program that nothing more comes, waits for its end at most so long, and ends its process group. How it
    /// ended on its own, if it did, and the last line of its errors.
    pub fn close(mut self, wait: Duration) -> (Option<ExitStatus>, Option<String>) {
        self.input = None;
        let until = Instant::now() + wait;
        let status = loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => thread::park_timeout(LOOK_EVERY),
                Ok(status) => break status,
                Err(_) => break None,
            }
        };
        let last_error = self.last_error();
        (status, last_error)
    }

    fn last_error(&mut self) -> Option<String> {
        let size = self.errors.seek(SeekFrom::End(0)).ok()?;
        self.errors.seek(SeekFrom::Start(size.saturating_sub(ERRORS_BYTES_MAX))).ok()?;
        let mut errors = Vec::new();
        Read::by_ref(&mut self.errors).take(ERRORS_BYTES_MAX).read_to_end(&mut errors).ok()?;
        let errors = String::from_utf8_lossy(&errors).into_owned();
        errors.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        if let Ok(group) = i32::try_from(self.child.id()) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}

fn read_lines(output: ChildStdout, said: &SyncSender<ReadLine>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        let read = Read::by_ref(&mut output).take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line);
        let is_whole = line.last() == Some(&b'\n');
        let read = match read {
            Ok(0) | Err(_) => ReadLine::End,
            Ok(_) if !is_whole && line.len() as u64 > LINE_BYTES_MAX => ReadLine::TooLong,
            Ok(_) => {
                line.truncate(line.len() - usize::from(is_whole));
                ReadLine::Line(line)
            }
        };
        let is_last = !matches!(read, ReadLine::Line(_));
        if said.send(read).is_err() || is_last {
            return;
        }
    }
}

fn write_lines(mut stdin: ChildStdin, waiting: &Receiver<Vec<u8>>) {
    // A program that has closed its input is an error of the write, and must not be a signal.
    let mut broken_pipe = SigSet::empty();
    broken_pipe.add(Signal::SIGPIPE);
    if broken_pipe.thread_block().is_err() {
        return;
    }
    while let Ok(line) = waiting.recv() {
        if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn start(script: &str) -> Conversation {
        let argv = ["sh", "-c", script].map(OsString::from);
        Conversation::start(&argv, Path::new("/"), &[("ADDED", "yes".into())]).expect("it starts")
    }

    fn line(text: &str) -> ReadLine {
        ReadLine::Line(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_go_both_ways_and_the_end_is_known() {
        let program = start("while read -r line; do echo \"$ADDED $line\"; done; echo bye >&2; exit 3");
        program.say("one\n".to_owned());
        program.say("two\n".to_owned());
        assert_eq!([program.listen(LONG), program.listen(LONG)], [line("yes one"), line("yes two")]);
        assert_eq!(program.listen(Duration::ZERO), ReadLine::Late);
        let (status, error) = program.close(LONG);
        assert_eq!((status.and_then(|status| status.code()), error.as_deref()), (Some(3), Some("bye")));
    }

    #[test]
    fn a_program_that_is_gone_is_no_signal() {
        let program = start("exec <&-; echo ready; sleep 600");
        assert_eq!(program.listen(LONG), line("ready"));
        (0..100).for_each(|_| program.say("x".repeat(10_000)));
        let gone = start("exit 1");
        assert_eq!(gone.listen(LONG), ReadLine::End);
        gone.say("x\n".to_owned());
        assert_eq!(gone.close(LONG).0.and_then(|status| status.code()), Some(1));
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let program = start("printf 'a\\nb'; head -c 3000000 /dev/zero");
        assert_eq!(program.listen(LONG), line("a"));
        assert_eq!(program.listen(LONG), ReadLine::TooLong);
        assert_eq!(program.listen(LONG), ReadLine::End);
    }

    #[test]
    fn all_that_it_started_goes_with_it() {
        let program = start("sleep 600 & echo $!; wait");
        let ReadLine::Line(id) = program.listen(LONG) else { panic!("an id") };
        let id: i32 = String::from_utf8(id).expect("UTF-8").parse().expect("an id");
        drop(program);
        let is_gone = (0..1_000).any(|_| {
            thread::park_timeout(Duration::from_millis(10));
            let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        });
        assert!(is_gone, "the sleep is still there");
    }
}
