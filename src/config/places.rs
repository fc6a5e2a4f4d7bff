//! Places: the repository, the state folder, the lessons folder. Found with stats and two small reads, never by
//! running git, because the hot path asks too.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::StateDir;
use crate::base::file::read_start;
use crate::base::limits::GIT_FILE_BYTES_MAX;

/// A git repository around a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// Top of the work tree; `None` in a bare repository.
    pub worktree: Option<PathBuf>,
    /// The work tree's own git folder (`.git`, or `.git/worktrees/<name>`).
    pub git_dir: PathBuf,
    /// The git folder shared by all work trees.
    pub common_dir: PathBuf,
}

/// The variables that decide places. `HOME` only, never the password database: the binary is linked statically.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// `HOME`
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`
    pub xdg_config_home: Option<PathBuf>,
    /// `XDG_STATE_HOME`
    pub xdg_state_home: Option<PathBuf>,
    /// `XDG_DATA_HOME`
    pub xdg_data_home: Option<PathBuf>,
    /// `TMPDIR`
    pub tmpdir: Option<PathBuf>,
}

impl Environment {
    /// From the process's environment. Relative values are ignored, as the XDG specification asks.
    pub fn from_process() -> Self {
        let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        Environment {
            home: absolute("HOME"),
            xdg_config_home: absolute("XDG_CONFIG_HOME"),
            xdg_state_home: absolute("XDG_STATE_HOME"),
            xdg_data_home: absolute("XDG_DATA_HOME"),
            tmpdir: absolute("TMPDIR"),
        }
    }

    /// `$XDG_CONFIG_HOME/verify-run`, else `~/.config/verify-run`.
    pub fn config_dir(&self) -> Option<PathBuf> {
        let base = self.xdg_config_home.clone();
        base.or_else(|| self.home.as_ref().map(|home| home.join(".config"))).map(|dir| dir.join("verify-run"))
    }

    /// `$XDG_STATE_HOME/verify-run`, else `~/.local/state/verify-run`.
    pub fn state_dir(&self) -> Option<PathBuf> {
        let base = self.xdg_state_home.clone();
        base.or_else(|| self.home.as_ref().map(|home| home.join(".local/state"))).map(|dir| dir.join("verify-run"))
    }

    /// Where the shims are: `$XDG_DATA_HOME/verify-run/shims`, else `~/.local/share/verify-run/shims`.
    pub fn shims_dir(&self) -> Option<PathBuf> {
        let base = self.xdg_data_home.clone();
        base.or_else(|| self.home.as_ref().map(|home| home.join(".local/share")))
            .map(|dir| dir.join("verify-run/shims"))
    }
}

/// Everything that has a place, for one working directory.
#[derive(Debug, Clone)]
pub struct Places {
    /// What paths are relative to: the work tree's top, else the nearest folder that looks like a project, else the
    /// working directory. Absolute, not resolved.
    pub root: PathBuf,
    /// The repository, if there is one.
    pub repository: Option<Repository>,
    /// The state folder: `<git common dir>/verify-run`, outside git one below XDG state. May not exist yet.
    pub state: StateDir,
    /// Where spool files go when `state` can't be written, in order of preference.
    pub fallbacks: Vec<StateDir>,
}

/// Files that make a folder outside git a project.
const PROJECT_MARKERS: [&str; 12] = [
    "verify-run.toml",
    "whitelist.toml",
    "package.json",
    "Cargo.toml",
    "pyproject.toml",
    "go.mod",
    "Makefile",
    "pom.xml",
    "build.gradle",
    "composer.json",
    "Gemfile",
    "setup.py",
];

impl Places {
    /// Finds the places for `cwd` (absolute).
    pub fn find(cwd: &Path, environment: &Environment) -> Self {
        let repository = Repository::find(cwd);
        let root = match &repository {
            Some(repository) => repository.worktree.clone().unwrap_or_else(|| repository.common_dir.clone()),
            None => project_root(cwd, environment),
        };
        let key = root_key(&root);
        let outside = environment.state_dir().map(|dir| dir.join(&key));
        let temporary =
            environment.tmpdir.clone().unwrap_or_else(|| PathBuf::from("/tmp")).join(format!("verify-run-{key}"));
        // Outside of a work tree the root may be the home folder.
        let in_tree = repository.as_ref().and_then(|repository| repository.worktree.as_ref());
        let mut fallbacks: Vec<StateDir> =
            in_tree.map(|root| root.join(".lessons/.state").into()).into_iter().collect();
        let state = match &repository {
            Some(repository) => {
                fallbacks.extend(outside.map(StateDir::from));
                repository.common_dir.join("verify-run")
            }
            None => outside.unwrap_or_else(|| temporary.clone()),
        };
        fallbacks.push(temporary.into());
        Places { root, repository, state: state.into(), fallbacks }
    }

    /// Every folder that may hold spool files for this root: `state` first, then the fallbacks.
    pub fn state_dirs(&self) -> impl Iterator<Item = &StateDir> {
        std::iter::once(&self.state).chain(&self.fallbacks)
    }

    /// The folders of tool definitions above the shipped ones, the strongest first: the project's, the user's.
    pub fn definition_dirs(&self, environment: &Environment) -> Vec<PathBuf> {
        let user = environment.config_dir().map(|dir| dir.join("tools"));
        std::iter::once(self.root.join(".verify-run/tools")).chain(user).collect()
    }

    /// `path` relative to the root, with `/`; `None` when it is outside.
    pub fn relative(&self, path: &Path) -> Option<OsString> {
        path.strip_prefix(&self.root).ok().map(|rest| rest.as_os_str().to_owned())
    }
}

impl Repository {
    /// Walks up from `start` to the first folder with a `.git` of its own.
    ///
    /// A folder that only looks like a bare repository is none: a repository can track such a folder, with a state folder
    /// in it (git's `safe.bareRepository=explicit`). git refuses to check out anything called `.git`.
    ///
    /// `GIT_*` variables are not read: inside a hook they describe the hook's index, not where we are.
    pub fn find(start: &Path) -> Option<Self> {
        for dir in start.ancestors() {
            let dot_git = dir.join(".git");
            if let Ok(metadata) = fs::metadata(&dot_git) {
                if metadata.is_dir() {
                    if dot_git.join("HEAD").exists() {
                        return Some(Self::of_git_dir(Some(dir.to_owned()), dot_git));
                    }
                } else if let Some(git_dir) = git_file_target(dir, &dot_git) {
                    return Some(Self::of_git_dir(Some(dir.to_owned()), git_dir));
                }
            }
        }
        None
    }

    fn of_git_dir(worktree: Option<PathBuf>, git_dir: PathBuf) -> Self {
        let common_dir = read_line(&git_dir.join("commondir"))
            .map(|line| git_dir.join(line))
            .map_or_else(|| git_dir.clone(), |dir| dir.canonicalize().unwrap_or(dir));
        Repository { worktree, git_dir, common_dir }
    }
}

/// `gitdir: PATH` of a work tree's or a submodule's `.git` file.
fn git_file_target(dir: &Path, dot_git: &Path) -> Option<PathBuf> {
    let line = read_line(dot_git)?;
    let target = line.to_str()?.strip_prefix("gitdir: ")?;
    Some(dir.join(target))
}

fn read_line(path: &Path) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let bytes = read_start(path, GIT_FILE_BYTES_MAX).ok()?;
    let line = bytes.split(|&b| b == b'\n').next()?;
    (!line.is_empty()).then(|| PathBuf::from(OsString::from_vec(line.to_vec())))
}

/// The nearest folder with a project marker, not above or at `HOME`; else `cwd`.
fn project_root(cwd: &Path, environment: &Environment) -> PathBuf {
    cwd.ancestors()
        .take_while(|dir| Some(*dir) != environment.home.as_deref() && dir.parent().is_some())
        .find(|dir| PROJECT_MARKERS.iter().any(|marker| dir.join(marker).exists()))
        .unwrap_or(cwd)
        .to_owned()
}

/// 16 hex characters that name a root in shared folders.
fn root_key(root: &Path) -> String {
    blake3::hash(root.as_os_str().as_bytes()).to_hex()[..16].to_owned()
}
