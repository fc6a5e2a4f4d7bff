//! One command in one tree: started, watched, ended, with what it printed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::cgroup::RunGroup;
use super::level::LabLevel;
use super::limits::{LabLimit, LabLimits};
use super::place::{Lab, LabError, file_error};
use super::plan::{CommandOutcome, EndedCommand, LabPlan, LabReport, PlannedEdit};
use super::removal::remove_tree;
use super::start::{InsideProcess, parse_report};
use super::tree::{LabTree, copy_layers};
use super::view::{PlannedRun, RunFolders};
use crate::base::clock::Timestamp;
use crate::base::file::{Durability, create_private_dir, write_atomic};
use crate::base::lossless::Lossless;
use crate::run::Transcript;

/// How long the process inside may take to end all that it has started.
const END_TIME_MAX: Duration = Duration::from_secs(5);
/// What is read of an output at once, bytes.
const PIECE_BYTES: usize = 64 << 10;
/// Ignored folders that builds write to. Where nothing is layered a run gets its own, empty.
const BUILD_FOLDERS: [&str; 12] = [
    "target",
    "build",
    "dist",
    "out",
    ".next",
    ".nuxt",
    "coverage",
    ".gradle",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".cache",
];
/// Variables that lead to tools in the home folder, where that is another one inside.
const HOME_VARIABLES: [(&str, &str); 5] = [
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("PYENV_ROOT", ".pyenv"),
    ("NVM_DIR", ".nvm"),
    ("GOMODCACHE", "go/pkg/mod"),
];

/// What to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabCommand<'a> {
    /// Program and arguments.
    pub argv: &'a [OsString],
    /// The working directory, relative to the root.
    pub dir: &'a Path,
    /// Variables beside those that every run gets.
    pub variables: &'a [(&'a str, OsString)],
    /// Where its output goes.
    pub output: LabOutput,
    /// How long it may take.
    pub time: Duration,
    /// What it may use.
    pub limits: LabLimits,
    /// It runs only when nothing else does.
    pub is_idle: bool,
}

/// Where the output of a run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LabOutput {
    /// Both streams are kept, in the order in which they were written.
    Both,
    /// Standard output is kept; of standard error only what is said where that is empty.
    Stdout,
    /// It is that of this process.
    Inherited,
}

/// A run that ended.
#[derive(Debug)]
pub(crate) struct LabRun {
    /// How.
    pub outcome: CommandOutcome,
    /// The limit that ended it.
    pub stopped_by: Option<LabLimit>,
    /// What it printed, bounded.
    pub transcript: Transcript,
    /// What it said besides, where only standard output is kept.
    pub stderr: Transcript,
    /// Files of the tree that are other than before, relative to the root, sorted; ignored ones among them.
    pub changed: Vec<PathBuf>,
    /// Further ones.
    pub changed_cut: u64,
    /// When it was started.
    pub started_at: Timestamp,
    /// How long it took, the way in and out included.
    pub took: Duration,
    /// How long the way in took.
    pub entered: Duration,
}

impl Lab {
    /// Runs a command in a tree, to its end or to that of a limit. Nothing of it is left then.
    ///
    /// # Errors
    /// When the command was not started.
    pub(crate) fn run_command(&self, tree: &LabTree, command: &LabCommand<'_>) -> Result<LabRun, LabError> {
        let folders = self.new_run();
        let ran = self.run_in(&folders, tree, command);
        // What can't be removed now, the end of the lab removes.
        let _ = remove_tree(&folders.dir);
        ran
    }

    fn run_in(&self, folders: &RunFolders, tree: &LabTree, command: &LabCommand<'_>) -> Result<LabRun, LabError> {
        let in_folder = |what: &str| file_error(what.to_owned());
        let planned = PlannedRun {
            level: self.level(),
            folders,
            layers: &tree.layers,
            dir: command.dir,
            limits: command.limits,
            is_idle: command.is_idle,
        };
        create_private_dir(&folders.dir).map_err(in_folder("cannot make a folder for a run"))?;
        let mut plan = self.view().plan_run(&planned).map_err(in_folder("cannot make the folders of a run"))?;
        if self.level() != LabLevel::Namespaces {
            self.copy_tree(folders, tree).map_err(in_folder("cannot copy the tree"))?;
        }
        plan_edits(&mut plan, folders, tree).map_err(in_folder("cannot write the edits of the tree"))?;
        plan.argv = command.argv.iter().map(Lossless::from).collect();
        plan.variables = self.run_variables(folders, command);
        let name = folders.dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let group = RunGroup::make(&format!("{}-{name}", std::process::id()), &command.limits);
        plan.cgroup = group.as_ref().map(|group| group.path().into());
        let (started_at, clock) = (Timestamp::now(), Instant::now());
        let watched = watch_run(&plan, command, clock).map_err(in_folder("cannot run the command"))?;
        let mut ended = match watched.report.map_err(in_folder("cannot hear of the command"))? {
            LabReport::Ended(ended) => ended,
            LabReport::Failed { what, .. } => return Err(LabError::Inside(what)),
            LabReport::Ready => return Err(LabError::Inside("there is nothing to run".to_owned())),
        };
        if watched.is_late {
            ended.stopped_by = Some(LabLimit::Time);
        } else if ended.stopped_by.is_none() && group.is_some_and(|group| group.is_out_of_memory()) {
            ended.stopped_by = Some(LabLimit::Memory);
        }
        Ok(LabRun::from_parts(ended, self.view().lent_folders(), watched.outputs, started_at, clock.elapsed()))
    }

    /// Where nothing is layered, every run has a copy; what is lent is linked to.
    fn copy_tree(&self, folders: &RunFolders, tree: &LabTree) -> io::Result<()> {
        let to = folders.tree();
        copy_layers(&tree.layers, &to)?;
        for folder in self.view().lent_folders() {
            let is_built = folder.file_name().is_some_and(|name| BUILD_FOLDERS.iter().any(|built| name == *built));
            let place = to.join(folder);
            if !is_built && fs::remove_dir(&place).is_ok() {
                symlink(self.view().root.join(folder), place)?;
            }
        }
        Ok(())
    }

    /// The whole environment of a run.
    fn run_variables(&self, folders: &RunFolders, command: &LabCommand<'_>) -> Vec<(Lossless, Lossless)> {
        let mut variables = self.variables().clone();
        if self.level() != LabLevel::Namespaces {
            move_home(&mut variables, &self.view().home, &folders.scratch());
        }
        variables.extend(command.variables.iter().map(|(name, value)| (OsString::from(name), value.clone())));
        variables.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }
}

/// Makes the home folder and the temporary one those of the run; tools in the user's home folder are still found.
fn move_home(variables: &mut BTreeMap<OsString, OsString>, home: &Path, scratch: &Path) {
    for (name, folder) in HOME_VARIABLES {
        let folder = home.join(folder);
        if folder.is_dir() {
            variables.entry(name.into()).or_insert(folder.into());
        }
    }
    variables.insert("HOME".into(), scratch.join("home").into());
    variables.insert("TMPDIR".into(), scratch.join("tmp").into());
}

/// Writes the contents of edits to where the process inside takes them from.
fn plan_edits(plan: &mut LabPlan, folders: &RunFolders, tree: &LabTree) -> io::Result<()> {
    if tree.edits.is_empty() {
        return Ok(());
    }
    create_private_dir(&folders.edits())?;
    for (number, edit) in tree.edits.iter().enumerate() {
        let name = edit.content.as_ref().map(|_| number.to_string());
        if let (Some(name), Some(content)) = (&name, &edit.content) {
            write_atomic(&folders.edits().join(name), content, 0o600, Durability::Cached)?;
        }
        plan.edits.push(PlannedEdit { path: (&edit.path).into(), from: name, is_executable: edit.is_executable });
    }
    plan.edits_from = Some((&folders.edits()).into());
    Ok(())
}

/// What was seen of a run from outside.
struct WatchedRun {
    report: io::Result<LabReport>,
    outputs: [Transcript; 2],
    is_late: bool,
}

/// Starts the run, reads what it prints, and ends it when its time is up.
fn watch_run(plan: &LabPlan, command: &LabCommand<'_>, clock: Instant) -> io::Result<WatchedRun> {
    let (streams, [stdout, stderr]) = OutputStreams::open(command.output)?;
    let mut inside = InsideProcess::start(plan, stdout, stderr)?;
    let mut streams = streams;
    let mut answer = Vec::new();
    let mut is_answered = false;
    let mut is_late = false;
    let mut until = clock + command.time;
    while !is_answered || streams.are_open() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            if is_late {
                // It does not end alone, or something that it started holds an output.
                inside.kill();
                break;
            }
            (is_late, until) = (true, Instant::now() + END_TIME_MAX);
            inside.ask_to_end();
            continue;
        }
        let ready = wait_for_any(&inside, is_answered, &streams, left);
        if ready.answer {
            is_answered = inside.read_piece(&mut answer).map_or(true, |count| count == 0);
        }
        streams.read_ready(ready.streams);
        // What it left behind in a namespace is gone with it; elsewhere it may hold an output.
        if is_answered && plan.level != LabLevel::Namespaces {
            until = until.min(Instant::now() + END_TIME_MAX);
        }
    }
    inside.wait();
    let report = match parse_report(&answer) {
        // It was too busy to answer.
        Err(_) if is_late => Ok(LabReport::Ended(EndedCommand::killed())),
        report => report,
    };
    Ok(WatchedRun { report, outputs: streams.into_transcripts(), is_late })
}

/// What can be read.
struct ReadyStreams {
    answer: bool,
    streams: [bool; 2],
}

fn wait_for_any(inside: &InsideProcess, is_answered: bool, streams: &OutputStreams, limit: Duration) -> ReadyStreams {
    let answers = inside.answers();
    let files: [Option<BorrowedFd<'_>>; 3] = [
        (!is_answered).then(|| answers.as_fd()),
        streams.open[0].as_ref().map(AsFd::as_fd),
        streams.open[1].as_ref().map(AsFd::as_fd),
    ];
    let mut watched: Vec<PollFd<'_>> =
        files.iter().flatten().map(|file| PollFd::new(*file, PollFlags::POLLIN)).collect();
    // Rounded up: a rest of less than a millisecond would be asked about without waiting.
    let millis = u16::try_from(limit.as_millis() + 1).unwrap_or(u16::MAX);
    let _ = poll(&mut watched, PollTimeout::from(millis));
    let mut events = watched.iter().map(|it| it.revents().is_some_and(|events| !events.is_empty()));
    let [answer, one, other] = files.map(|file| file.is_some() && events.next().unwrap_or(false));
    ReadyStreams { answer, streams: [one, other] }
}

/// The outputs of a run, as far as they are kept.
struct OutputStreams {
    open: [Option<PipeReader>; 2],
    transcripts: [Transcript; 2],
}

impl OutputStreams {
    /// The pipes to read from, and what the process inside gets as its streams.
    fn open(output: LabOutput) -> io::Result<(Self, [Stdio; 2])> {
        let transcripts = [Transcript::default(), Transcript::default()];
        let (open, ends) = match output {
            LabOutput::Inherited => ([None, None], [Stdio::inherit(), Stdio::inherit()]),
            LabOutput::Both => {
                // One pipe: what is written to both streams stays in its order.
                let (reader, writer) = io::pipe()?;
                ([Some(reader), None], [Stdio::from(writer.try_clone()?), Stdio::from(writer)])
            }
            LabOutput::Stdout => {
                let ((out, stdout), (other, stderr)) = (io::pipe()?, io::pipe()?);
                ([Some(out), Some(other)], [Stdio::from(stdout), Stdio::from(stderr)])
            }
        };
        Ok((OutputStreams { open, transcripts }, ends))
    }

    fn are_open(&self) -> bool {
        self.open.iter().any(Option::is_some)
    }

    fn read_ready(&mut self, ready: [bool; 2]) {
        let mut piece = vec![0; PIECE_BYTES];
        for (number, _) in ready.into_iter().enumerate().filter(|(_, is_ready)| *is_ready) {
            let Some(stream) = &mut self.open[number] else { continue };
            match stream.read(&mut piece) {
                Ok(count) if count > 0 => self.transcripts[number].append(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => self.open[number] = None,
            }
        }
    }

    fn into_transcripts(self) -> [Transcript; 2] {
        self.transcripts
    }
}

impl LabRun {
    fn from_parts(
        ended: EndedCommand,
        lent: &[PathBuf],
        outputs: [Transcript; 2],
        started_at: Timestamp,
        took: Duration,
    ) -> Self {
        let [transcript, stderr] = outputs;
        // A folder that is lent is another one inside, or a link.
        let is_of_tree = |path: &PathBuf| !lent.iter().any(|folder| path.starts_with(folder));
        let changed = ended.changed.into_iter().map(|path| PathBuf::from(path.0)).filter(is_of_tree).collect();
        LabRun {
            outcome: ended.outcome,
            stopped_by: ended.stopped_by,
            transcript,
            stderr,
            changed,
            changed_cut: ended.changed_cut,
            started_at,
            took,
            entered: Duration::from_micros(ended.entered_us),
        }
    }

    /// The exit code; `None` of a run that was ended by a signal or a limit.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        match self.outcome {
            CommandOutcome::Exited(code) if self.stopped_by.is_none() => Some(code),
            _ => None,
        }
    }
}
