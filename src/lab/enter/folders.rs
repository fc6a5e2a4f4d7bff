//! What is seen inside: a root folder in memory, and in it only what the plan names.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use nix::libc;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{chdir, pivot_root};

use super::failure::{EnterFailure, at_step};
use super::sys;
use crate::lab::plan::{EnterStep, LabPlace, LabPlan};

/// The devices that every program may use.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// Names in `/dev` that are links.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// Parts of `/proc` that are about the machine, and that its owner can write to without any capability.
const MACHINE_PARTS: [&str; 6] = ["acpi", "bus", "fs", "irq", "sys", "sysrq-trigger"];
/// Parts of `/proc` that no check has a use for.
const HIDDEN_PARTS: [&str; 8] =
    ["asound", "kcore", "keys", "latency_stats", "sched_debug", "scsi", "timer_list", "timer_stats"];
/// Room of the root folder, which holds names only.
const ROOT_OPTIONS: &str = "mode=755,size=16m,nr_inodes=100k";
/// File and folder, in the root folder, that are in the place of what is hidden.
const EMPTY_FILE: &str = ".hidden-file";
const EMPTY_FOLDER: &str = ".hidden-folder";
/// How every mount is made: no privileges by files, and no devices.
const PLAIN: MsFlags = MsFlags::MS_NOSUID.union(MsFlags::MS_NODEV);

/// Folders outside that are still read after the process has left them.
#[derive(Debug)]
pub(super) struct KeptFolders {
    scratch: File,
    written: File,
    layers: Vec<File>,
    edits: Option<File>,
}

impl KeptFolders {
    /// Opens the folders of the plan.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn open(plan: &LabPlan) -> io::Result<Self> {
        Ok(KeptFolders {
            scratch: open_folder(plan.scratch.path())?,
            written: open_folder(plan.written.path())?,
            layers: plan.layers.iter().map(|layer| open_folder(layer.path())).collect::<io::Result<_>>()?,
            edits: plan.edits_from.as_ref().map(|folder| open_folder(folder.path())).transpose()?,
        })
    }

    /// Everything on the disk that the command can write.
    pub(super) fn scratch_path(&self) -> PathBuf {
        path_of(&self.scratch)
    }

    /// What the command wrote of the tree.
    pub(super) fn written_path(&self) -> PathBuf {
        path_of(&self.written)
    }

    /// The layers of the tree, the topmost first.
    pub(super) fn layer_paths(&self) -> Vec<PathBuf> {
        self.layers.iter().map(path_of).collect()
    }

    /// The contents of edits.
    pub(super) fn edits_path(&self) -> Option<PathBuf> {
        self.edits.as_ref().map(path_of)
    }
}

fn open_folder(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC).open(path)
}

/// A path by which an open file is found from anywhere.
fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Makes the folders of the plan, and the only ones that this process sees.
///
/// # Errors
/// The operating system's.
pub(super) fn enter_folders(plan: &LabPlan) -> Result<KeptFolders, EnterFailure> {
    let failed = |what: &str, error: io::Error| at_step(EnterStep::Folders, what, error);
    let root = plan.new_root.path();
    let private = MsFlags::MS_REC | MsFlags::MS_PRIVATE;
    mount_at(None, Path::new("/"), None, private, None)
        .map_err(|error| failed("cannot separate the folders", error))?;
    let new = || -> io::Result<()> {
        mount_at(Some(Path::new("tmpfs")), root, Some("tmpfs"), PLAIN, Some(ROOT_OPTIONS))?;
        File::create_new(root.join(EMPTY_FILE))?;
        DirBuilder::new().mode(0o555).create(root.join(EMPTY_FOLDER))
    };
    new().map_err(|error| failed("cannot make a root folder", error))?;
    if plan.is_in_memory {
        keep_in_memory(plan).map_err(|error| failed("cannot keep in memory what is written", error))?;
    }
    let kept = KeptFolders::open(plan).map_err(|error| failed("cannot open the folders", error))?;
    let view = View { root };
    for place in &plan.places {
        view.add_place(place)?;
    }
    leave_for(root).map_err(|error| failed("cannot change the root folder", error))?;
    Ok(kept)
}

/// Makes `root` the root folder, and nothing else be there.
fn leave_for(root: &Path) -> io::Result<()> {
    chdir(root)?;
    // The old root folder is over the new one for a moment, and then gone.
    pivot_root(".", ".")?;
    umount2(".", MntFlags::MNT_DETACH)?;
    chdir("/")?;
    let read_only = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
    mount_at(None, Path::new("/"), None, read_only | PLAIN, None)
}

/// Where the file system can't hold the upper folder of a layered one, what is written is in memory.
fn keep_in_memory(plan: &LabPlan) -> io::Result<()> {
    let options = format!("mode=700,size={}", plan.limits.disk_bytes);
    mount_at(Some(Path::new("tmpfs")), plan.scratch.path(), Some("tmpfs"), PLAIN, Some(&options))?;
    let folders = plan.places.iter().flat_map(|place| match place {
        LabPlace::Fresh { from, .. } => vec![from],
        LabPlace::Layered { upper, work, .. } => vec![upper, work],
        _ => Vec::new(),
    });
    folders.map(|folder| folder.path()).try_for_each(make_folders)
}

/// The new root folder while it is made.
struct View<'a> {
    root: &'a Path,
}

impl View<'_> {
    fn add_place(&self, place: &LabPlace) -> Result<(), EnterFailure> {
        let (step, done) = match place {
            LabPlace::Lent(path) => (EnterStep::Folders, self.lend(path.path())),
            LabPlace::Link { path, target } => (EnterStep::Folders, self.link(path.path(), target.path())),
            LabPlace::Fresh { path, from } => (EnterStep::Folders, self.bind(from.path(), path.path())),
            LabPlace::Memory { path, bytes } => (EnterStep::Folders, self.add_memory(path.path(), *bytes)),
            LabPlace::Layered { path, lower, upper, work } => {
                let lower: Vec<&Path> = lower.iter().map(|layer| layer.path()).collect();
                (EnterStep::Layers, self.layer(path.path(), &lower, upper.path(), work.path()))
            }
            LabPlace::Hidden(path) => (EnterStep::Folders, self.hide(path.path())),
            LabPlace::Processes => (EnterStep::Processes, self.add_processes()),
            LabPlace::Devices => (EnterStep::Folders, self.add_devices()),
        };
        done.map_err(|error| at_step(step, &format!("cannot make {} inside", place.path().display()), error))
    }

    /// A folder or file as it is outside, read-only. One that is gone since the plan was made is left out.
    fn lend(&self, path: &Path) -> io::Result<()> {
        match self.bind(path, path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => sys::protect_mount(&self.inside(path)?),
        }
    }

    fn bind(&self, from: &Path, path: &Path) -> io::Result<()> {
        let target = self.make_point(path, fs::metadata(from)?.is_dir())?;
        mount_at(Some(from), &target, None, MsFlags::MS_BIND | MsFlags::MS_REC, None)
    }

    fn link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let at = self.inside(path)?;
        if let Some(parent) = at.parent() {
            make_folders(parent)?;
        }
        match symlink(target, &at) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            result => result,
        }
    }

    fn add_memory(&self, path: &Path, bytes: u64) -> io::Result<()> {
        let target = self.make_point(path, true)?;
        let options = format!("mode=1777,size={bytes}");
        mount_at(Some(Path::new("tmpfs")), &target, Some("tmpfs"), PLAIN, Some(&options))
    }

    fn layer(&self, path: &Path, lower: &[&Path], upper: &Path, work: &Path) -> io::Result<()> {
        let target = self.make_point(path, true)?;
        // By number: in an option a path would have to be quoted, and many of them are too long for it.
        let lower: Vec<File> = lower.iter().map(|folder| open_folder(folder)).collect::<io::Result<_>>()?;
        let (upper, work) = (open_folder(upper)?, open_folder(work)?);
        let layers: Vec<String> = lower.iter().map(|folder| path_of(folder).display().to_string()).collect();
        let (layers, upper, work) = (layers.join(":"), path_of(&upper).display().to_string(), path_of(&work));
        let options = format!("lowerdir={layers},upperdir={upper},workdir={},userxattr", work.display());
        // Nothing of it is worth a wait for the disk.
        let hasty = format!("{options},volatile");
        let overlay =
            |options: &str| mount_at(Some(Path::new("overlay")), &target, Some("overlay"), PLAIN, Some(options));
        overlay(&hasty).or_else(|_| overlay(&options))
    }

    fn hide(&self, path: &Path) -> io::Result<()> {
        let Ok(target) = self.inside(path) else { return Ok(()) };
        let empty = match fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_dir() => EMPTY_FOLDER,
            Ok(metadata) if !metadata.is_symlink() => EMPTY_FILE,
            // What is not there, or can't be reached, is hidden.
            _ => return Ok(()),
        };
        mount_at(Some(&self.root.join(empty)), &target, None, MsFlags::MS_BIND, None)?;
        sys::protect_mount(&target)
    }

    fn add_processes(&self) -> io::Result<()> {
        let target = self.make_point(Path::new("/proc"), true)?;
        mount_at(Some(Path::new("proc")), &target, Some("proc"), PLAIN | MsFlags::MS_NOEXEC, None)?;
        for part in MACHINE_PARTS.map(|part| target.join(part)).iter().filter(|part| part.exists()) {
            mount_at(Some(part), part, None, MsFlags::MS_BIND | MsFlags::MS_REC, None)?;
            sys::protect_mount(part)?;
        }
        HIDDEN_PARTS.iter().try_for_each(|part| self.hide(&Path::new("/proc").join(part)))
    }

    fn add_devices(&self) -> io::Result<()> {
        let folder = self.make_point(Path::new("/dev"), true)?;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC;
        mount_at(Some(Path::new("tmpfs")), &folder, Some("tmpfs"), flags, Some("mode=755,size=1m"))?;
        for name in DEVICES {
            let (from, target) = (Path::new("/dev").join(name), folder.join(name));
            if from.exists() {
                File::create_new(&target)?;
                mount_at(Some(&from), &target, None, MsFlags::MS_BIND, None)?;
            }
        }
        DEVICE_LINKS.iter().try_for_each(|(name, target)| symlink(target, folder.join(name)))?;
        ["pts", "shm"].iter().try_for_each(|name| DirBuilder::new().create(folder.join(name)))?;
        let terminals = Some("newinstance,ptmxmode=0666,mode=620");
        mount_at(Some(Path::new("devpts")), &folder.join("pts"), Some("devpts"), flags, terminals)?;
        let read_only = MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY;
        mount_at(None, &folder, None, read_only | flags, None)
    }

    /// A folder or an empty file to mount something at.
    fn make_point(&self, path: &Path, is_folder: bool) -> io::Result<PathBuf> {
        let target = self.inside(path)?;
        if is_folder {
            make_folders(&target)?;
        } else {
            target.parent().map_or(Ok(()), make_folders)?;
            match File::create_new(&target) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(target)
    }

    /// Where a path of the inside is made. As long as the old root folder is the root folder, a link on the way would
    /// lead there.
    fn inside(&self, path: &Path) -> io::Result<PathBuf> {
        let mut target = self.root.to_owned();
        for part in path.strip_prefix("/").unwrap_or(path) {
            target.push(part);
            if fs::symlink_metadata(&target).is_ok_and(|metadata| metadata.is_symlink()) {
                return Err(io::Error::from_raw_os_error(libc::ELOOP));
            }
        }
        Ok(target)
    }
}

fn make_folders(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(folder)
}

fn mount_at(
    from: Option<&Path>,
    target: &Path,
    kind: Option<&str>,
    flags: MsFlags,
    options: Option<&str>,
) -> io::Result<()> {
    Ok(mount(from, target, kind, flags, options)?)
}
