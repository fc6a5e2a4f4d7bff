//! What the process inside is asked to do, and what it answers: one JSON document each way, over a pair of sockets.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::level::LabLevel;

use super::limits::{LabLimit, LabLimits};
use crate::base::lossless::Lossless;

/// The signal that no process survives, as its number.
const SIGKILL: i32 = 9;

/// A lab to be entered, and the command to be run there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct LabPlan {
    /// The walls.
    pub level: LabLevel,
    /// What is seen inside, parents before what is in them; at the level of namespaces only.
    pub places: Vec<LabPlace>,
    /// Folders and files that the command may read and execute.
    pub readable: Vec<Lossless>,
    /// Folders that the command may write to.
    pub writable: Vec<Lossless>,
    /// The tree, as the command sees it: an absolute path.
    pub root: Lossless,
    /// Where the command starts, an absolute path.
    pub dir: Lossless,
    /// The layers that the tree is made of, the topmost first: what a change is compared with.
    pub layers: Vec<Lossless>,
    /// What the command wrote of the tree; the tree itself where nothing is layered.
    pub written: Lossless,
    /// Edits of the tree, done before the command starts.
    pub edits: Vec<PlannedEdit>,
    /// The folder with their contents.
    pub edits_from: Option<Lossless>,
    /// Everything on the disk that the command can write, one folder.
    pub scratch: Lossless,
    /// Whether that is in memory, because its file system can't hold layers.
    pub is_in_memory: bool,
    /// An empty folder that becomes the root folder inside.
    pub new_root: Lossless,
    /// A group of the kernel's for memory and processes, to join.
    pub cgroup: Option<Lossless>,
    /// Program and arguments. Without any nothing is run: the walls are tried out.
    pub argv: Vec<Lossless>,
    /// The whole environment of the command.
    pub variables: Vec<(Lossless, Lossless)>,
    /// What it may use.
    pub limits: LabLimits,
    /// It runs only when nothing else does.
    pub is_idle: bool,
}

/// Something that is seen inside, at the path that it has outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LabPlace {
    /// A folder or file as it is outside, read-only.
    Lent(Lossless),
    /// A link to `target`.
    Link { path: Lossless, target: Lossless },
    /// A writable folder that is thrown away: `from` on the disk.
    Fresh { path: Lossless, from: Lossless },
    /// A writable folder in memory, of this size.
    Memory { path: Lossless, bytes: u64 },
    /// Folders one above the other, the topmost first; what is written goes to `upper`.
    Layered { path: Lossless, lower: Vec<Lossless>, upper: Lossless, work: Lossless },
    /// Something that must not be seen: an empty file or folder is in its place.
    Hidden(Lossless),
    /// The processes inside.
    Processes,
    /// The devices that every program may use.
    Devices,
}

impl LabPlace {
    /// Where it is seen.
    pub(super) fn path(&self) -> &Path {
        match self {
            LabPlace::Lent(path) | LabPlace::Hidden(path) => path.path(),
            LabPlace::Link { path, .. }
            | LabPlace::Fresh { path, .. }
            | LabPlace::Memory { path, .. }
            | LabPlace::Layered { path, .. } => path.path(),
            LabPlace::Processes => Path::new("/proc"),
            LabPlace::Devices => Path::new("/dev"),
        }
    }
}

/// A file of the tree that is other than in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PlannedEdit {
    /// Relative to the tree.
    pub path: Lossless,
    /// The file with its content, in [`LabPlan::edits_from`]; `None` for a file that is not there.
    pub from: Option<String>,
    /// Whether it may be executed.
    pub is_executable: bool,
}

/// A step on the way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EnterStep {
    /// Reading the plan, limits, files of our own.
    Preparation,
    /// A user namespace.
    UserNamespace,
    /// The other namespaces.
    Namespaces,
    /// The user inside is the user outside.
    Identity,
    /// The folders.
    Folders,
    /// Layered folders.
    Layers,
    /// `/proc`.
    Processes,
    /// The loopback device.
    Network,
    /// Edits of the tree.
    Edits,
    /// No privileges.
    Privileges,
    /// Landlock.
    Landlock,
    /// The filter of system calls.
    Filter,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CommandOutcome {
    /// With this code.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

/// The answer of the process inside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum LabReport {
    /// The walls are up; there was nothing to run.
    Ready,
    /// The command ran.
    Ended(EndedCommand),
    /// It was not started.
    Failed {
        /// What failed.
        step: EnterStep,
        /// The operating system's number of the error; 0 for one of our own.
        errno: i32,
        /// What happened to what, a lowercase fragment.
        what: String,
    },
}

/// A command that ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EndedCommand {
    /// How it ended.
    pub outcome: CommandOutcome,
    /// The limit that ended it.
    pub stopped_by: Option<LabLimit>,
    /// From the start of the process inside to the start of the command, microseconds.
    pub entered_us: u64,
    /// Files of the tree that are other than before, relative to it.
    pub changed: Vec<Lossless>,
    /// Further ones.
    pub changed_cut: u64,
}

impl EndedCommand {
    /// One that was killed, and of which nothing else is known.
    pub(super) fn killed() -> Self {
        EndedCommand {
            outcome: CommandOutcome::Killed(SIGKILL),
            stopped_by: None,
            entered_us: 0,
            changed: Vec::new(),
            changed_cut: 0,
        }
    }
}
