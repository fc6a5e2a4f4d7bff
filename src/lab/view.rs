//! What is seen inside, as a plan: the system and the tools as they are, the project at its own path, and fresh folders
//! for the rest.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::folder::LentFolders;
use super::hidden::find_sockets;
use super::level::LabLevel;
use super::limits::LabLimits;
use super::plan::{LabPlace, LabPlan};
use super::tools::{LentTools, MachineSearch};
use crate::base::file::create_private_dir;
use crate::base::lossless::Lossless;

/// Room in `/run` inside, bytes.
const RUN_BYTES: u64 = 64 << 20;
/// Of the memory that a run may use, this part may be files of `/dev/shm`.
const SHARED_MEMORY_PART: u64 = 4;
/// The home folder inside of a user who has none.
const HOME_WITHOUT_ONE: &str = "/tmp/home";
/// Devices that every program may use.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// Folders that every user may write to.
const SHARED_FOLDERS: [&str; 2] = ["/tmp", "/var/tmp"];
/// File systems that can't hold the upper folder of a layered one, by `statfs`: overlays, NFS, SMB, FUSE, 9P, eCryptfs,
/// VirtualBox, Ceph.
#[cfg(target_os = "linux")]
const NO_UPPER_FOLDER: [i64; 10] =
    [0x794c_7630, 0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x6573_5546, 0x0102_1997, 0xf15f, 0x786f_4256, 0x00c3_6400];

/// What runs of one project see.
#[derive(Debug, Clone)]
pub(super) struct LabView {
    /// The project's real root.
    pub root: PathBuf,
    /// The path by which the user knows it, where that is another one.
    pub known_as: Option<PathBuf>,
    /// The home folder, at the path that it has outside.
    pub home: PathBuf,
    tools: LentTools,
    folders: LentFolders,
    hidden: Vec<PathBuf>,
}

/// Where the files of one run are on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunFolders {
    /// The run's folder.
    pub dir: PathBuf,
}

impl RunFolders {
    /// Everything that the run can write.
    pub(super) fn scratch(&self) -> PathBuf {
        self.dir.join("rw")
    }

    /// The empty folder that becomes the root folder.
    fn new_root(&self) -> PathBuf {
        self.dir.join("root")
    }

    /// The contents of edits.
    pub(super) fn edits(&self) -> PathBuf {
        self.dir.join("edits")
    }

    /// The tree where nothing is layered.
    pub(super) fn tree(&self) -> PathBuf {
        self.scratch().join("tree")
    }

    fn upper(&self, name: &str) -> PathBuf {
        self.scratch().join(name).join("upper")
    }

    fn work(&self, name: &str) -> PathBuf {
        self.scratch().join(name).join("work")
    }

    fn fresh(&self, name: &str) -> PathBuf {
        self.scratch().join(name)
    }
}

/// A run whose view is planned.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlannedRun<'a> {
    /// The walls.
    pub level: LabLevel,
    /// Its folders on the disk.
    pub folders: &'a RunFolders,
    /// The layers of the tree, the topmost first.
    pub layers: &'a [PathBuf],
    /// Where the command starts, relative to the root.
    pub dir: &'a Path,
    /// What it may use.
    pub limits: LabLimits,
    /// It runs only when nothing else does.
    pub is_idle: bool,
}

impl LabView {
    /// Looks for all that runs of a project see. `tools` were found by the same search; `folders` are lent of the project;
    /// `secrets` are settings of the system that no run may see.
    ///
    /// # Errors
    /// When the root can't be found.
    pub(super) fn find(
        known_as: &Path,
        search: &MachineSearch<'_>,
        mut tools: LentTools,
        folders: LentFolders,
        secrets: Vec<PathBuf>,
    ) -> io::Result<Self> {
        // An environment's programs lead to the interpreter that it was made with.
        for folder in &folders.folders {
            let folder = search.root.join(folder);
            if folder.join("pyvenv.cfg").is_file() {
                tools.lend_programs(&folder.join("bin"), search);
            }
        }
        for link in &folders.links {
            tools.lend_programs(&search.root.join(link), search);
        }
        let home = usable_home(search.home);
        let private = search.private.iter().filter(|path| tools.shows(path)).cloned();
        let sockets = find_sockets().into_iter().filter(|path| tools.shows(path));
        let hidden: BTreeSet<PathBuf> = private.chain(secrets).chain(sockets).collect();
        let hidden = hidden.into_iter().filter(|path| !path.starts_with(search.root)).collect();
        let known_as = (known_as != search.root).then(|| known_as.to_owned());
        Ok(LabView { root: search.root.to_owned(), known_as, home, tools, folders, hidden })
    }

    /// The plan of a run without its command, with the folders that it needs on the disk.
    ///
    /// # Errors
    /// When a folder can't be made.
    pub(super) fn plan_run(&self, run: &PlannedRun<'_>) -> io::Result<LabPlan> {
        let folders = run.folders;
        let is_layered = run.level == LabLevel::Namespaces;
        let places = if is_layered { self.plan_places(run) } else { Vec::new() };
        create_private_dir(&folders.new_root())?;
        create_private_dir(&folders.scratch())?;
        let is_in_memory = is_layered && !can_hold_upper(&folders.scratch());
        make_sources(&places)?;
        let root = if is_layered { self.root.clone() } else { folders.tree() };
        let written = if is_layered { folders.upper("tree") } else { folders.tree() };
        let (readable, writable) = if is_layered { inside_rules(&places) } else { self.outside_rules(folders)? };
        Ok(LabPlan {
            level: run.level,
            places,
            readable: to_lossless(readable),
            writable: to_lossless(writable),
            dir: (&root.join(run.dir)).into(),
            root: (&root).into(),
            layers: to_lossless(run.layers.to_vec()),
            written: (&written).into(),
            edits: Vec::new(),
            edits_from: None,
            scratch: (&folders.scratch()).into(),
            is_in_memory,
            new_root: (&folders.new_root()).into(),
            cgroup: None,
            argv: Vec::new(),
            variables: Vec::new(),
            limits: run.limits,
            is_idle: run.is_idle,
        })
    }

    /// The places of the level of namespaces, parents before what is in them.
    fn plan_places(&self, run: &PlannedRun<'_>) -> Vec<LabPlace> {
        let folders = run.folders;
        let fresh =
            |path: &Path, name: &str| LabPlace::Fresh { path: path.into(), from: (&folders.fresh(name)).into() };
        let layered = |path: &Path, lower: &[PathBuf], name: &str| LabPlace::Layered {
            path: path.into(),
            lower: to_lossless(lower.to_vec()),
            upper: (&folders.upper(name)).into(),
            work: (&folders.work(name)).into(),
        };
        let shared = run.limits.memory_bytes / SHARED_MEMORY_PART;
        let mut places = vec![
            LabPlace::Processes,
            LabPlace::Devices,
            LabPlace::Memory { path: "/dev/shm".into(), bytes: shared },
            LabPlace::Memory { path: "/run".into(), bytes: RUN_BYTES },
            LabPlace::Link { path: "/var/run".into(), target: "/run".into() },
            fresh(Path::new("/tmp"), "tmp"),
            fresh(Path::new("/var/tmp"), "var-tmp"),
            fresh(&self.home, "home"),
            layered(&self.root, run.layers, "tree"),
        ];
        // The project is the home folder of a few.
        if self.home == self.root {
            places.retain(|place| !matches!(place, LabPlace::Fresh { path, .. } if path.path() == self.home));
        }
        places.extend(self.tools.lent.iter().map(|path| LabPlace::Lent(path.into())));
        // Links of the project are in its tree, or lent with it.
        let links = self.tools.links.iter().filter(|(path, _)| !path.starts_with(&self.root));
        places.extend(links.map(|(path, target)| LabPlace::Link { path: path.into(), target: target.into() }));
        for (number, path) in self.tools.layered.iter().enumerate() {
            places.push(layered(path, std::slice::from_ref(path), &format!("cache-{number}")));
        }
        for (number, folder) in self.folders.folders.iter().enumerate() {
            let path = self.root.join(folder);
            places.push(layered(&path, std::slice::from_ref(&path), &format!("folder-{number}")));
        }
        let hidden = self.folders.hidden.iter().map(|path| self.root.join(path)).chain(self.hidden.iter().cloned());
        places.extend(hidden.map(|path| LabPlace::Hidden((&path).into())));
        if let Some(known_as) = &self.known_as {
            places.push(LabPlace::Link { path: known_as.into(), target: (&self.root).into() });
        }
        places.sort_by_key(|place| place.path().components().count());
        places
    }

    /// What the command may read and write at the level of Landlock, where it sees the machine as it is.
    fn outside_rules(&self, folders: &RunFolders) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
        for name in ["tmp", "home"] {
            create_private_dir(&folders.fresh(name))?;
        }
        let lent = self.tools.lent.iter().chain(&self.tools.layered);
        let mut readable: Vec<PathBuf> = lent.flat_map(|path| without_hidden(path, &self.hidden)).collect();
        readable.extend(self.folders.folders.iter().map(|folder| self.root.join(folder)));
        readable.push(PathBuf::from("/proc"));
        let mut writable: Vec<PathBuf> = DEVICES.iter().map(PathBuf::from).collect();
        writable.push(folders.scratch());
        Ok((readable, writable))
    }

    /// The folders that are lent of the project, relative to its root.
    pub(super) fn lent_folders(&self) -> &[PathBuf] {
        &self.folders.folders
    }
}

/// What of a folder may be read where some of it may not: a rule for a folder holds for everything in it.
fn without_hidden(path: &Path, hidden: &[PathBuf]) -> Vec<PathBuf> {
    if hidden.iter().any(|hidden| hidden == path) {
        return Vec::new();
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(path)) {
        return vec![path.to_owned()];
    }
    // A rule for a link would be one for what it leads to.
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    entries.flat_map(|entry| without_hidden(&entry.path(), hidden)).collect()
}

/// The home folder inside: the user's own path, if it can be made there.
fn usable_home(home: Option<&Path>) -> PathBuf {
    let is_usable = |home: &&Path| {
        let is_in_system =
            ["/usr", "/etc", "/bin", "/sbin", "/lib", "/proc", "/dev", "/sys"].iter().any(|it| home.starts_with(it));
        home.is_absolute() && home.parent().is_some() && (!is_in_system || home.is_dir())
    };
    let home = home.filter(is_usable).map(|home| home.canonicalize().unwrap_or_else(|_| home.to_owned()));
    home.unwrap_or_else(|| PathBuf::from(HOME_WITHOUT_ONE))
}

/// Everything may be read, as far as it is seen; what is thrown away may be written.
fn inside_rules(places: &[LabPlace]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let is_written = |place: &&LabPlace| {
        matches!(
            place,
            LabPlace::Fresh { .. }
                | LabPlace::Memory { .. }
                | LabPlace::Layered { .. }
                | LabPlace::Processes
                | LabPlace::Devices
        )
    };
    let writable = places.iter().filter(is_written).map(|place| place.path().to_owned()).collect();
    (vec![PathBuf::from("/")], writable)
}

/// Makes the folders on the disk that the places are made from. What is seen of an upper folder are its rights.
fn make_sources(places: &[LabPlace]) -> io::Result<()> {
    for place in places {
        match place {
            LabPlace::Fresh { path, from } => {
                create_private_dir(from.path())?;
                if SHARED_FOLDERS.iter().any(|shared| path.path() == Path::new(shared)) {
                    fs::set_permissions(from.path(), Permissions::from_mode(0o1777))?;
                }
            }
            LabPlace::Layered { lower, upper, work, .. } => {
                create_private_dir(upper.path())?;
                create_private_dir(work.path())?;
                if let Some(metadata) = lower.last().and_then(|folder| fs::metadata(folder.path()).ok()) {
                    fs::set_permissions(upper.path(), metadata.permissions())?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether the file system of a folder can hold the upper folder of a layered one.
#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_cast, reason = "the type differs between C libraries")]
fn can_hold_upper(folder: &Path) -> bool {
    let kind = nix::sys::statfs::statfs(folder).map(|about| about.filesystem_type().0 as i64 & 0xffff_ffff);
    kind.is_ok_and(|kind| !NO_UPPER_FOLDER.contains(&kind))
}

/// Nothing is layered here.
#[cfg(not(target_os = "linux"))]
fn can_hold_upper(_folder: &Path) -> bool {
    false
}

fn to_lossless(paths: Vec<PathBuf>) -> Vec<Lossless> {
    paths.into_iter().map(|path| Lossless(path.into_os_string())).collect()
}

/// The plan of an empty lab, below `folder`: whether the walls can be put up here.
///
/// # Errors
/// When a folder can't be made.
pub(super) fn plan_of_trial(level: LabLevel, folder: &Path) -> io::Result<LabPlan> {
    let layer = folder.join("layer");
    create_private_dir(&layer)?;
    let folders = RunFolders { dir: folder.join("run") };
    if level != LabLevel::Namespaces {
        create_private_dir(&folders.tree())?;
    }
    let variable = |_: &str| None;
    let root = Path::new("/tmp/lab");
    let search = MachineSearch { root, home: None, private: &[], variable: &variable, lend: &[] };
    let tools = LentTools::find(&search);
    let view = LabView {
        root: root.to_owned(),
        known_as: None,
        home: PathBuf::from(HOME_WITHOUT_ONE),
        tools,
        folders: LentFolders::default(),
        hidden: Vec::new(),
    };
    let limits = LabLimits { tasks: 64, file_bytes: 1 << 20, disk_bytes: 16 << 20, memory_bytes: 64 << 20 };
    let layers = [layer];
    let run = PlannedRun { level, folders: &folders, layers: &layers, dir: Path::new(""), limits, is_idle: false };
    view.plan_run(&run)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_with_something_hidden_is_lent_in_parts() {
        let dir = tempfile::tempdir().expect("a folder");
        let top = dir.path();
        for file in ["a/open", "a/deep/open", "a/deep/secret", "b/open"] {
            let path = top.join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, "x").expect("a file");
        }
        symlink(top.join("a/deep/secret"), top.join("a/deep/link")).expect("a link");
        let hidden = [top.join("a/deep/secret")];
        let mut lent = without_hidden(top, &hidden);
        lent.sort();
        assert_eq!(lent, ["a/deep/open", "a/open", "b"].map(|path| top.join(path)));
        assert_eq!(without_hidden(&top.join("b"), &hidden), [top.join("b")]);
        assert!(without_hidden(&hidden[0], &hidden).is_empty());
    }

    #[test]
    fn a_home_folder_that_cannot_be_made_is_another_one() {
        assert_eq!(usable_home(None), Path::new(HOME_WITHOUT_ONE));
        for home in ["/", "/usr/nobody", "relative"] {
            assert_eq!(usable_home(Some(Path::new(home))), Path::new(HOME_WITHOUT_ONE), "{home}");
        }
        assert_eq!(usable_home(Some(Path::new("/nonexistent"))), Path::new("/nonexistent"));
    }
}
