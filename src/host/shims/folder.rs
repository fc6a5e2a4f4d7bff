//! The folder of shims: which programs have one, which could, and whether they are what a name finds.
//!
//! A shim is a symbolic link to verify-run, not a hard one: an update of the program is an update of every shim, and
//! when the program is gone a shell passes a dangling link over and finds the real one.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{ShimError, names};
use crate::base::file::{Durability, create_private_dir, is_program, read_start, write_atomic};
use crate::base::limits::CONFIG_FILE_BYTES_MAX;
use crate::config::Environment;
use crate::run::{ROUNDS, SHIMS_MARK, real_program};
use crate::whitelist::Whitelist;

/// Before a folder in the mark that was made for the shims.
const MADE: &str = "made ";
const MARK_TEXT: &str = "\
These links replace the programs that they are named after, and lead to verify-run.
What they do: verify-run shims status. To remove them: verify-run shims uninstall
";

/// What shims are looked at in.
#[derive(Debug, Clone)]
pub(crate) struct ShimFolder {
    /// The folder of shims. Absolute; may not exist.
    pub folder: PathBuf,
    /// The value of `PATH`.
    pub path: OsString,
    /// This program, by the path that an update keeps.
    pub program: PathBuf,
    /// Folders of programs that are on `PATH` at times: those of the project's virtual environments.
    pub environments: Vec<PathBuf>,
}

/// Folders of virtual environments in a project.
const ENVIRONMENTS: [&str; 2] = [".venv/bin", "venv/bin"];

/// State of one program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum ShimState {
    /// Its shim works.
    Ready,
    /// It is installed, and `install` would make a shim for it.
    New,
    /// It has a shim and isn't on `PATH`: the shim says so, as a shell would.
    Missing,
    /// It has a shim, but another folder comes first on `PATH`.
    Shadowed,
    /// Its shim leads to another place than this program; `install` mends it.
    Stale,
    /// A file of that name is in the folder which is not ours.
    Foreign,
}

/// One program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ShimEntry {
    /// What it is called.
    pub name: String,
    /// Its state.
    pub state: ShimState,
    /// The program itself.
    pub program: Option<PathBuf>,
    /// What is found before the shim.
    pub by: Option<PathBuf>,
}

/// Whether the shims are what names find.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum ShimStanding {
    /// There are none.
    NotInstalled,
    /// Their folder is not on `PATH`.
    NotOnPath,
    /// Their folder is on `PATH`, but some of the programs are found before it.
    Shadowed,
    /// Every shim is found first.
    InFront,
}

/// Everything about the folder.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ShimStatus {
    /// The folder of shims.
    pub folder: PathBuf,
    /// Whether they are in front.
    pub path_status: ShimStanding,
    /// By name.
    pub programs: Vec<ShimEntry>,
}

/// What installing or removing did, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ShimsReply {
    /// The folder of shims.
    pub folder: PathBuf,
    /// Shims that are new.
    pub made: Vec<String>,
    /// Shims that led elsewhere.
    pub mended: Vec<String>,
    /// Shims that were there and are right.
    pub kept: Vec<String>,
    /// Shims that are gone.
    pub removed: Vec<String>,
    /// Files that are not ours and were left alone.
    pub foreign: Vec<String>,
}

/// Which programs to make shims for.
#[derive(Debug, Clone)]
pub(crate) enum ShimOptions {
    /// Those in which checks begin, as far as they are installed.
    Usual,
    /// Every program of the whitelist that is installed.
    All,
    /// These, installed or not.
    Named(Vec<String>),
}

impl ShimFolder {
    /// That of this process.
    ///
    /// # Errors
    /// When there is no home folder, or one that can't be on a `PATH`.
    pub(crate) fn from_process(environment: &Environment) -> Result<Self, ShimError> {
        let folder = environment.shims_dir().ok_or(ShimError::NoHomeFolder)?;
        if folder.as_os_str().as_bytes().contains(&b':') {
            return Err(ShimError::ColonInFolder { folder });
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = std::env::current_exe().map_err(|source| ShimError::OwnFile { source })?;
        let program = lasting_path(&own, &path);
        Ok(ShimFolder { folder, path, program, environments: Vec::new() })
    }

    /// The same with the virtual environments of a project, and the one that is active.
    #[must_use]
    pub(crate) fn in_project(self, root: &Path) -> Self {
        let active = std::env::var_os("VIRTUAL_ENV").map(|dir| PathBuf::from(dir).join("bin"));
        let environments = ENVIRONMENTS.iter().map(|dir| root.join(dir)).chain(active).filter(|dir| dir.is_dir());
        ShimFolder { environments: environments.collect(), ..self }
    }

    /// Programs of virtual environments that would get a shim and have none, sorted.
    pub(crate) fn unshimmed_programs(&self, whitelist: &Whitelist) -> Vec<String> {
        let links = self.own_links();
        let has_none = |name: &String| !links.iter().any(|(link, _)| link == name);
        let names = names::usual_names(whitelist).into_iter();
        names.filter(|name| has_none(name) && self.of_environment(name).is_some()).collect()
    }

    fn of_environment(&self, name: &str) -> Option<PathBuf> {
        self.environments.iter().map(|dir| dir.join(name)).find(|file| is_program(file))
    }

    /// Whether the shims are what names find: what `doctor` asks.
    pub(crate) fn path_status(&self) -> ShimStanding {
        let shims: Vec<_> =
            self.own_links().into_iter().filter(|(_, is_ours)| *is_ours).map(|(name, _)| name).collect();
        if shims.is_empty() {
            ShimStanding::NotInstalled
        } else if !std::env::split_paths(&self.path).any(|place| self.is_folder(&place)) {
            ShimStanding::NotOnPath
        } else if shims.iter().any(|name| self.find_shadow(name).is_some()) {
            ShimStanding::Shadowed
        } else {
            ShimStanding::InFront
        }
    }

    /// The files in the folder, by name, and whether they are verify-run's shims. Hidden ones are left out.
    fn own_links(&self) -> Vec<(String, bool)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut links: Vec<_> =
            names.filter(|name| !name.starts_with('.')).map(|name| (name.clone(), self.is_ours(&name))).collect();
        links.sort();
        links
    }

    /// Whether the file called `name` is a link to verify-run, to this one or another.
    fn is_ours(&self, name: &str) -> bool {
        let path = self.folder.join(name);
        let Ok(target) = fs::read_link(&path) else { return false };
        target == self.program
            || target.file_name() == Some(OsStr::new("verify-run"))
            || is_same_file(&path, &self.program)
    }

    fn is_folder(&self, place: &Path) -> bool {
        place == self.folder || is_same_file(place, &self.folder)
    }

    /// What is found under `name` before the shim; `None` also when the folder isn't on `PATH` at all.
    fn find_shadow(&self, name: &str) -> Option<PathBuf> {
        let places: Vec<_> = std::env::split_paths(&self.path).collect();
        let end = places.iter().position(|place| self.is_folder(place))?;
        places[..end].iter().map(|place| place.join(name)).find(|file| is_program(file))
    }

    fn find_program(&self, name: &str) -> Option<PathBuf> {
        real_program(OsStr::new(name), &self.path, &self.program)
    }

    fn shim_entry(&self, name: &str, is_ours: Option<bool>) -> ShimEntry {
        let (on_path, by) = (self.find_program(name), self.find_shadow(name));
        let program = on_path.clone().or_else(|| self.of_environment(name));
        let is_right = || fs::read_link(self.folder.join(name)).is_ok_and(|target| target == self.program);
        let state = match is_ours {
            None => ShimState::New,
            Some(false) => ShimState::Foreign,
            Some(true) if !is_right() => ShimState::Stale,
            Some(true) if on_path.is_none() => ShimState::Missing,
            Some(true) if by.is_some() => ShimState::Shadowed,
            Some(true) => ShimState::Ready,
        };
        ShimEntry { name: name.to_owned(), state, program, by: by.filter(|_| state == ShimState::Shadowed) }
    }
}

/// Every shim, and every program that would get one.
pub(crate) fn find_status(shims: &ShimFolder, whitelist: &Whitelist) -> ShimStatus {
    let links = shims.own_links();
    let mut programs: Vec<ShimEntry> =
        links.iter().map(|(name, is_ours)| shims.shim_entry(name, Some(*is_ours))).collect();
    let new = names::usual_names(whitelist).into_iter().filter(|name| !links.iter().any(|(link, _)| link == name));
    programs.extend(new.map(|name| shims.shim_entry(&name, None)).filter(|entry| entry.program.is_some()));
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    ShimStatus { folder: shims.folder.clone(), path_status: shims.path_status(), programs }
}

/// Makes the shims that are wanted, and mends those that are there. A file that isn't ours stays as it is.
///
/// # Errors
/// When a name is no program of the whitelist (nothing is done then), or a link can't be made.
pub(crate) fn install_shims(
    shims: &ShimFolder,
    whitelist: &Whitelist,
    wanted: &ShimOptions,
) -> Result<ShimsReply, ShimError> {
    let names = wanted_names(shims, whitelist, wanted)?;
    prepare_folder(&shims.folder).map_err(ShimError::file("make the folder", &shims.folder))?;
    let mut done = ShimsReply { folder: shims.folder.clone(), ..ShimsReply::default() };
    for name in names {
        let path = shims.folder.join(&name);
        let is_there = fs::symlink_metadata(&path).is_ok();
        let list = if is_there && !shims.is_ours(&name) {
            &mut done.foreign
        } else if fs::read_link(&path).is_ok_and(|target| target == shims.program) {
            &mut done.kept
        } else {
            create_link(&shims.program, &path).map_err(ShimError::file("make the shim", &path))?;
            if is_there { &mut done.mended } else { &mut done.made }
        };
        list.push(name);
    }
    Ok(done)
}

/// Removes the shims called `names`, all of them if none is named. With the last one goes the folder, unless a file in it
/// isn't ours.
///
/// # Errors
/// When a name has no shim (nothing is done then), or one can't be removed.
pub(crate) fn uninstall_shims(shims: &ShimFolder, names: &[String]) -> Result<ShimsReply, ShimError> {
    let mut done = ShimsReply { folder: shims.folder.clone(), ..ShimsReply::default() };
    let links = shims.own_links();
    let is_known = |name: &String| links.iter().any(|(link, is_ours)| link == name && *is_ours);
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        return Err(ShimError::NoShim { name: name.clone() });
    }
    for (name, is_ours) in links {
        let is_named = names.is_empty() || names.contains(&name);
        if is_ours && is_named {
            let path = shims.folder.join(&name);
            fs::remove_file(&path).map_err(ShimError::file("remove", &path))?;
            done.removed.push(name);
        } else if is_ours {
            done.kept.push(name);
        } else {
            done.foreign.push(name);
        }
    }
    if done.kept.is_empty() {
        clear_folder(&shims.folder).map_err(ShimError::file("remove", &shims.folder))?;
    }
    Ok(done)
}

fn wanted_names(
    shims: &ShimFolder,
    whitelist: &Whitelist,
    wanted: &ShimOptions,
) -> Result<BTreeSet<String>, ShimError> {
    let is_installed = |name: &String| shims.find_program(name).is_some() || shims.of_environment(name).is_some();
    let installed = |names: BTreeSet<String>| names.into_iter().filter(is_installed);
    let mut names: BTreeSet<String> = match wanted {
        ShimOptions::Usual => installed(names::usual_names(whitelist)).collect(),
        ShimOptions::All => installed(whitelist.program_names()).collect(),
        ShimOptions::Named(names) => {
            for name in names {
                let is_name = !name.starts_with('.') && !name.contains('/') && name != "verify-run";
                if !is_name || !whitelist.names_program(OsStr::new(name)) {
                    return Err(ShimError::NotInWhitelist { name: name.clone() });
                }
            }
            return Ok(names.iter().cloned().collect());
        }
    };
    // Those that were asked for stay as right as the others.
    names.extend(shims.own_links().into_iter().filter(|(_, is_ours)| *is_ours).map(|(name, _)| name));
    Ok(names)
}

/// Makes the folder with its mark, which also says what else had to be made.
fn prepare_folder(folder: &Path) -> io::Result<()> {
    let new: Vec<&Path> = folder.ancestors().skip(1).take_while(|dir| !dir.exists()).collect();
    create_private_dir(folder)?;
    let mark = folder.join(SHIMS_MARK);
    if mark.exists() {
        return Ok(());
    }
    let made = new.iter().filter_map(|dir| Some(format!("{MADE}{}\n", dir.to_str()?)));
    let text: String = [MARK_TEXT.to_owned()].into_iter().chain(made).collect();
    write_atomic(&mark, text.as_bytes(), 0o644, Durability::Cached)
}

/// Removes what [`prepare_folder`] has made, as far as nothing else uses it.
fn clear_folder(folder: &Path) -> io::Result<()> {
    let mark = folder.join(SHIMS_MARK);
    let text = read_start(&mark, CONFIG_FILE_BYTES_MAX).unwrap_or_default();
    for file in [mark, folder.join(ROUNDS)] {
        match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let text = String::from_utf8_lossy(&text);
    let made = text.lines().filter_map(|line| line.strip_prefix(MADE)).map(Path::new);
    // The innermost first; one with something in it stays.
    for dir in std::iter::once(folder).chain(made.filter(|made| folder.starts_with(made))) {
        if fs::remove_dir(dir).is_err() {
            break;
        }
    }
    Ok(())
}

/// A link in place of whatever is there, at once.
fn create_link(target: &Path, path: &Path) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let new = tempfile::Builder::new().prefix(".tmp-").make_in(dir, |new| symlink(target, new))?;
    fs::rename(new.path(), path)?;
    // It has been moved: there is nothing to remove.
    let _ = new.into_temp_path().keep();
    Ok(())
}

/// The path by which `PATH` has this program, rather than the one where the links end: an update may end them elsewhere.
fn lasting_path(own: &Path, path: &OsStr) -> PathBuf {
    let mut places = std::env::split_paths(path).filter(|place| place.is_absolute());
    let found = places.find_map(|place| Some(place.join("verify-run")).filter(|file| is_same_file(file, own)));
    found.unwrap_or_else(|| own.to_owned())
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    id(one).is_some_and(|one| id(other) == Some(one))
}
