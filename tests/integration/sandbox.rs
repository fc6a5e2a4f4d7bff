//! A world of its own for one test: folders, environment, repository, and the checks at its end.

mod lesson;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use verify_run::run::CommandEnd;

use crate::json_replies;

pub(crate) use lesson::Lesson;

/// The program under test.
pub(crate) const VERIFY_RUN: &str = env!("CARGO_BIN_EXE_verify-run");

/// How long a condition may take to come true. Generous, because it is only ever waited out by a failing test.
const WAIT: Duration = Duration::from_secs(60);
/// Looks in a row that have to see no process before a sandbox counts as quiet.
const QUIET_LOOKS: u32 = 4;
/// Pause between two looks at a condition.
const LOOK_EVERY: Duration = Duration::from_millis(4);
/// A program is executed within this many of them.
const EXECUTION_LOOKS: usize = 10;
/// Where system programs are looked for, after the sandbox's own `bin`.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Events that follow from runs.
const FOLLOWING: [&str; 6] = ["snapshot", "attempt", "flake", "merge", "receipt", "signed_receipt"];

/// One test's folders. Dropping it waits for every process started in it, and fails the test if one stays.
pub(crate) struct Sandbox {
    folder: TempDir,
    /// Extra folders on PATH, before the system's.
    path: Vec<PathBuf>,
    /// How long its last processes may take to end.
    pub patience: Duration,
}

impl Sandbox {
    /// An empty project folder outside any git repository.
    pub(crate) fn new() -> Self {
        Sandbox::inside(&std::env::temp_dir())
    }

    /// As [`Sandbox::new`], in memory where the machine has such a place: for tests that make hundreds of stores and are
    /// not about durability. What a process was killed in the middle of is there either way.
    pub(crate) fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() { Sandbox::inside(memory) } else { Sandbox::new() }
    }

    fn inside(place: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("verify-run-test-").tempdir_in(place).expect("a temporary folder");
        let sandbox = Sandbox { folder, path: Vec::new(), patience: WAIT };
        for dir in ["home/.config/git", "bin", "tmp", "work"] {
            fs::create_dir_all(sandbox.folder.path().join(dir)).expect("a folder in the sandbox");
        }
        let identity = "[user]\n\tname = Test\n\temail = test@example.invalid\n[init]\n\tdefaultBranch = main\n\
                        [core]\n\thooksPath = /dev/null\n[gc]\n\tauto = 0\n";
        fs::write(sandbox.home().join(".config/git/config"), identity).expect("git's configuration");
        sandbox
    }

    /// A project folder that is a git repository with one commit on `main`.
    pub(crate) fn repository() -> Self {
        Sandbox::new().with_repository()
    }

    /// Makes the project folder a git repository with one commit on `main`.
    pub(crate) fn with_repository(self) -> Self {
        let sandbox = self;
        sandbox.git(["init", "--quiet"]);
        sandbox.write("README", "a project\n");
        sandbox.commit("Start");
        sandbox
    }

    /// The project folder: the working directory of every command.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// The sandbox's own home.
    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// TMPDIR of every command.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.folder.path().join("tmp")
    }

    /// A path in the project folder.
    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.work().join(relative)
    }

    /// Writes a file of the project, with its folders.
    pub(crate) fn write(&self, relative: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().expect("a parent")).expect("the file's folder");
        fs::write(&path, content).expect("the project's file");
        path
    }

    /// Reads a file of the project.
    pub(crate) fn read(&self, relative: impl AsRef<Path>) -> String {
        let path = self.path(relative);
        String::from_utf8(fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))).expect("UTF-8")
    }

    /// Puts a shell script called `name` first on PATH, so that a test decides what a tool prints and returns.
    pub(crate) fn tool(&self, name: &str, script: &str) -> PathBuf {
        let path = self.folder.path().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("the tool's script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("an executable script");
        path
    }

    /// Adds a folder to PATH, before the system's.
    pub(crate) fn add_path(&mut self, dir: impl Into<PathBuf>) {
        self.path.push(dir.into());
    }

    /// Runs git in the project folder; its stdout. Panics when git fails.
    pub(crate) fn git<const N: usize>(&self, arguments: [&str; N]) -> String {
        let outcome = self.bare("git").args(arguments).outcome();
        assert_eq!(outcome.ended, CommandEnd::Exit(0), "git {arguments:?}: {}", outcome.stderr());
        outcome.stdout().to_owned()
    }

    /// Commits everything.
    pub(crate) fn commit(&self, message: &str) {
        self.git(["add", "--all"]);
        self.git(["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    /// `verify-run ARGUMENTS…`, to be completed and run.
    pub(crate) fn verify_run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Invocation<'_> {
        self.bare(VERIFY_RUN).args(arguments)
    }

    /// Any program in the same environment: what the wrapped one is compared with.
    pub(crate) fn bare(&self, program: impl AsRef<OsStr>) -> Invocation<'_> {
        Invocation {
            sandbox: self,
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            directory: self.work(),
            variables: self.environment(),
            stdin: None,
            descriptors: Vec::new(),
        }
    }

    /// Runs a command bare, then wrapped, both completed by `with`: how it ended, stdout and stderr have to be the same.
    #[track_caller]
    pub(crate) fn as_bare<'a>(
        &'a self,
        command: &[&(impl AsRef<OsStr> + ?Sized)],
        with: impl Fn(Invocation<'a>) -> Invocation<'a>,
    ) -> Outcome {
        let bare = with(self.bare(command[0]).args(&command[1..])).outcome();
        let wrapped = with(self.verify_run(command)).outcome();
        assert_eq!(wrapped, bare, "wrapped, then bare");
        wrapped
    }

    /// The whole environment of a command in this sandbox.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let own_bin = std::iter::once(self.folder.path().join("bin"));
        let path = own_bin.chain(self.path.iter().cloned()).chain(std::env::split_paths(SYSTEM_PATH));
        let home = self.home();
        vec![
            ("PATH".into(), std::env::join_paths(path).expect("folders without a colon")),
            ("HOME".into(), home.clone().into()),
            ("XDG_CONFIG_HOME".into(), home.join(".config").into()),
            ("XDG_STATE_HOME".into(), home.join(".local/state").into()),
            ("XDG_CACHE_HOME".into(), home.join(".cache").into()),
            ("TMPDIR".into(), self.tmp().into()),
            ("LANG".into(), "C.UTF-8".into()),
            ("TZ".into(), "UTC".into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ]
    }

    /// The state folder of the project's repository.
    pub(crate) fn state(&self) -> PathBuf {
        self.path(".git/verify-run")
    }

    /// Waits until everything started in this sandbox has ended, the detached recorder included.
    pub(crate) fn settle(&self) {
        // A process in the middle of its exec shows no environment for an instant, hence more than one look.
        let mut quiet = 0;
        wait_until("the sandbox's processes end", || {
            quiet = if self.processes().is_empty() { quiet + 1 } else { 0 };
            quiet == QUIET_LOOKS
        });
    }

    /// The events recorded so far, in the order of the segment files, once the recorder is done. What is written beside
    /// each run is left out ([`Sandbox::snapshots`]), and so is what follows from several runs.
    pub(crate) fn events(&self) -> Vec<serde_json::Value> {
        self.events_in(&self.state())
    }

    /// As [`Sandbox::events`], from the state folder of another repository.
    pub(crate) fn events_in(&self, state: &Path) -> Vec<serde_json::Value> {
        self.all_events_in(state)
            .into_iter()
            .filter(|event| !FOLLOWING.contains(&event["kind"].as_str().unwrap_or_default()))
            .filter(|event| event["change"] != "withdrawn")
            .collect()
    }

    fn all_events_in(&self, state: &Path) -> Vec<serde_json::Value> {
        self.settle();
        let mut lines = Vec::new();
        for path in files_in(&state.join("events")) {
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                let text = fs::read_to_string(&path).expect("an event segment");
                lines.extend(text.lines().map(|line| serde_json::from_str(line).expect("an event is JSON")));
            }
        }
        lines
    }

    /// As [`Sandbox::events`], the ones that say what the work tree was at each run.
    pub(crate) fn snapshots(&self) -> Vec<serde_json::Value> {
        self.snapshots_in(&self.state())
    }

    /// As [`Sandbox::snapshots`], from the state folder of another repository.
    pub(crate) fn snapshots_in(&self, state: &Path) -> Vec<serde_json::Value> {
        self.all_events_in(state).into_iter().filter(|event| event["kind"] == "snapshot").collect()
    }

    /// Ids and command lines of the processes that have this sandbox anywhere in their environment.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let mark = memchr::memmem::Finder::new(self.folder.path().as_os_str().as_encoded_bytes());
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        ids.filter_map(|id| {
            let environment = environment_of(id)?;
            mark.find(&environment).is_some().then(|| {
                let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
                (id, String::from_utf8_lossy(&line).replace('\0', " "))
            })
        })
        .collect()
    }
}

/// The environment of a process. It is empty for a moment while a program is executed, which is waited for.
fn environment_of(id: i32) -> Option<Vec<u8>> {
    for _ in 0..EXECUTION_LOOKS {
        let environment = fs::read(format!("/proc/{id}/environ")).ok()?;
        // Threads of the kernel and the dead have no program.
        if !environment.is_empty() || fs::read_link(format!("/proc/{id}/exe")).is_err() {
            return Some(environment);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    None
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let deadline = Instant::now() + if std::thread::panicking() { Duration::ZERO } else { self.patience };
        while !self.processes().is_empty() && Instant::now() < deadline {
            std::thread::sleep(LOOK_EVERY);
        }
        let left = self.processes();
        for (id, _) in &left {
            let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(*id), nix::sys::signal::Signal::SIGKILL);
        }
        if !left.is_empty() && !std::thread::panicking() {
            panic!("processes left behind: {left:?}");
        }
    }
}

/// A command being put together.
pub(crate) struct Invocation<'a> {
    sandbox: &'a Sandbox,
    program: OsString,
    arguments: Vec<OsString>,
    directory: PathBuf,
    variables: Vec<(OsString, OsString)>,
    stdin: Option<Vec<u8>>,
    descriptors: Vec<(RawFd, Option<OwnedFd>)>,
}

impl Invocation<'_> {
    /// Adds one argument.
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds arguments.
    pub(crate) fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// Runs in a folder of the project instead of its top.
    pub(crate) fn dir(mut self, relative: impl AsRef<Path>) -> Self {
        self.directory = self.sandbox.path(relative);
        self
    }

    /// Does a shell line first, in the process that becomes the command.
    pub(crate) fn after(mut self, line: &str) -> Self {
        let line = format!("{line} && exec \"$@\"");
        let arguments = std::mem::take(&mut self.arguments);
        let words = ["-c".into(), line.into(), "sh".into(), std::mem::replace(&mut self.program, "sh".into())];
        self.arguments = words.into_iter().chain(arguments).collect();
        self
    }

    /// As [`Invocation::after`], with mounts of its own that the shell line makes; see [`can_mount`].
    pub(crate) fn after_mounting(self, line: &str) -> Self {
        let mut command = self.after(line);
        let arguments = std::mem::take(&mut command.arguments);
        let words = [mounts_of_its_own().into(), std::mem::replace(&mut command.program, "unshare".into())];
        command.arguments = words.into_iter().chain(arguments).collect();
        command
    }

    /// Sets a variable.
    pub(crate) fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.variables.retain(|(other, _)| other != name.as_ref());
        self.variables.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Removes a variable.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.variables.retain(|(other, _)| other != name);
        self
    }

    /// Bytes on stdin, through a pipe; without it stdin is `/dev/null`.
    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    /// Gives the command `descriptor` under the number `number`; 0, 1 and 2 replace the usual streams.
    pub(crate) fn fd(mut self, number: RawFd, descriptor: impl Into<OwnedFd>) -> Self {
        self.descriptors.push((number, Some(descriptor.into())));
        self
    }

    /// Starts the command with the descriptor `number` closed.
    pub(crate) fn closed_fd(mut self, number: RawFd) -> Self {
        self.descriptors.push((number, None));
        self
    }

    /// Runs to the end; stdout and stderr through pipes. What a command of verify-run prints for `--json` has to be
    /// what its schema describes, in every test.
    #[track_caller]
    pub(crate) fn outcome(self) -> Outcome {
        let arguments = (self.program == VERIFY_RUN).then(|| self.arguments.clone());
        let stdin = self.stdin.clone().unwrap_or_default();
        let mut command = self.command();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let feeder = child.stdin.take().map(|mut pipe| {
            // A command that doesn't read its stdin closes it: that is not the test's failure.
            std::thread::spawn(move || pipe.write_all(&stdin).ok())
        });
        let output = child.wait_with_output().expect("the program's output");
        if let Some(feeder) = feeder {
            feeder.join().expect("the feeding thread");
        }
        let outcome = Outcome { ended: ended(output.status), stdout: output.stdout, stderr: output.stderr };
        if let Some(arguments) = arguments {
            json_replies::assert_documented(&arguments, &outcome);
        }
        outcome
    }

    /// Runs to the end and compares all three: how it ended, stdout and stderr.
    #[track_caller]
    pub(crate) fn expect(self, wanted: CommandEnd, stdout: &str, stderr: &str) -> Outcome {
        let outcome = self.outcome();
        let got = (outcome.ended, outcome.stdout(), outcome.stderr());
        assert_eq!(got, (wanted, stdout, stderr));
        outcome
    }

    /// Runs to the end; exit code 0 and nothing on stderr. What it printed.
    #[track_caller]
    pub(crate) fn prints(self) -> String {
        let outcome = self.outcome();
        assert_eq!((outcome.ended, outcome.stderr()), (CommandEnd::Exit(0), ""), "stdout: {}", outcome.stdout());
        outcome.stdout().to_owned()
    }

    /// Like [`Invocation::prints`], and what it printed is JSON.
    #[track_caller]
    pub(crate) fn prints_json(self) -> serde_json::Value {
        let text = self.prints();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}"))
    }

    /// Starts without waiting; streams that were not set with [`Invocation::fd`] are `/dev/null`.
    pub(crate) fn spawn(self) -> Child {
        self.command().spawn().expect("the program starts")
    }

    /// The parts a terminal needs: program and arguments, folder, environment.
    pub(crate) fn into_parts(self) -> (Vec<OsString>, PathBuf, Vec<(OsString, OsString)>) {
        (std::iter::once(self.program).chain(self.arguments).collect(), self.directory, self.variables)
    }

    fn command(self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.directory).env_clear().envs(self.variables);
        command.stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::null()).stderr(Stdio::null());
        give_descriptors(&mut command, self.descriptors);
        command
    }
}

/// Lays `descriptors` over the child's own numbers, after the standard streams have been set up.
#[allow(unsafe_code, reason = "descriptors other than the three streams can only be set between fork and exec")]
fn give_descriptors(command: &mut Command, descriptors: Vec<(RawFd, Option<OwnedFd>)>) {
    if descriptors.is_empty() {
        return;
    }
    let lay = move || {
        for (number, descriptor) in &descriptors {
            match descriptor {
                // SAFETY: dup2 and fcntl are async-signal-safe and touch no memory of this process.
                Some(descriptor) => unsafe {
                    if descriptor.as_raw_fd() == *number {
                        nix::libc::fcntl(*number, nix::libc::F_SETFD, 0);
                    } else {
                        nix::libc::dup2(descriptor.as_raw_fd(), *number);
                    }
                },
                // SAFETY: closing a number of the child that nothing owns after exec.
                None => unsafe {
                    nix::libc::close(*number);
                },
            }
        }
        Ok(())
    };
    // SAFETY: the closure calls only async-signal-safe functions and allocates nothing.
    unsafe { command.pre_exec(lay) };
}

/// The outcome of a command: all three are compared, always.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Exit code or signal.
    pub ended: CommandEnd,
    /// Bytes on stdout.
    pub stdout: Vec<u8>,
    /// Bytes on stderr.
    pub stderr: Vec<u8>,
}

impl Outcome {
    /// Stdout as text.
    pub(crate) fn stdout(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("stdout is UTF-8")
    }

    /// Stderr as text.
    pub(crate) fn stderr(&self) -> &str {
        std::str::from_utf8(&self.stderr).expect("stderr is UTF-8")
    }
}

/// How a child ended, in the program's own words.
pub(crate) fn ended(status: ExitStatus) -> CommandEnd {
    match (status.code(), status.signal()) {
        (Some(code), _) => CommandEnd::Exit(u8::try_from(code).expect("exit codes have eight bits")),
        (None, Some(signal)) => CommandEnd::Signal(signal),
        (None, None) => panic!("neither exited nor killed: {status:?}"),
    }
}

/// Looks again and again until `condition` holds; fails the test when it never does.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + WAIT;
    while !condition() {
        assert!(Instant::now() < deadline, "waited {} s without success until {what}", WAIT.as_secs());
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Reads everything from `source` on a thread of its own.
pub(crate) fn read_all(mut source: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // A terminal whose other side is gone reads as an error instead of an end.
        let _ = source.read_to_end(&mut bytes);
        bytes
    })
}

/// The regular files directly in `dir`, sorted; none when it doesn't exist.
pub(crate) fn files_in(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// Makes `unshare` give a command mounts of its own, also for one who is not root: that takes a user namespace, out
/// of which a verify-run around the tests can't be distinguished from one around the command.
pub(crate) fn mounts_of_its_own() -> &'static str {
    if nix::unistd::geteuid().is_root() { "-m" } else { "-rm" }
}

/// Whether a command can have mounts of its own here. If not, the calling test is reported as skipped.
pub(crate) fn can_mount() -> bool {
    let sandbox = Sandbox::new();
    let mut trial = Command::new("unshare");
    trial.args([mounts_of_its_own(), "mount", "-t", "tmpfs", "none"]).arg(sandbox.tmp());
    let can = trial.output().is_ok_and(|output| output.status.success());
    if !can {
        skip("no right to mount anything");
    }
    can
}

/// Where a program is that not every machine has: in `.tools/bin`, which `scripts/test-tools` fills, else on PATH.
/// `None` reports the calling test as skipped, so use it as `let Some(strace) = need("strace") else { return };`.
pub(crate) fn need(program: &str) -> Option<PathBuf> {
    let own = std::iter::once(tools());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = own.chain(std::env::split_paths(&path)).map(|dir| dir.join(program)).find(|path| path.is_file());
    if found.is_none() {
        skip(&format!("{program} is missing"));
    }
    found
}

/// Reports the calling test as skipped: `scripts/test` lists these at its end, by name.
pub(crate) fn skip(reason: &str) {
    let line = format!("{}: {reason}\n", std::thread::current().name().unwrap_or("a test"));
    let _ = std::io::stderr().write_all(format!("skipped: {line}").as_bytes());
    if let Some(list) = std::env::var_os("VERIFY_RUN_TEST_SKIPS") {
        let file = fs::OpenOptions::new().append(true).create(true).open(list);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the list of skipped tests");
    }
}

/// The folder that `scripts/test-tools` fills.
pub(crate) fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".tools/bin")
}
