//! Where things are that installing has to know.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::{Environment, Places};
use crate::host::process::{ProcessCall, find_on_path, run};
use crate::host::{InstallScope, InstallSite};

/// What everybody calls us by.
const NAME: &str = "verify-run";
/// How long git may take to say where its hooks are, milliseconds.
const GIT_MS_MAX: u64 = 2_000;

/// The site of a project, or of the home folder: what is written there is for this machine alone, and may
/// name the program by its path. What is written into a project is for everybody who has it.
pub(super) fn find_site(places: &Places, environment: &Environment, scope: InstallScope) -> InstallSite {
    let own = env::current_exe().ok();
    let program = own.filter(|own| {
        scope.is_user() && find_on_path(NAME).and_then(|it| it.canonicalize().ok()) != own.canonicalize().ok()
    });
    InstallSite {
        root: places.root.clone(),
        home: environment.home.clone(),
        git_hooks: git_hooks(places),
        program: program.and_then(|own| own.into_os_string().into_string().ok()).unwrap_or_else(|| NAME.to_owned()),
    }
}

/// As git says; without an answer the folder in its own.
fn git_hooks(places: &Places) -> Option<PathBuf> {
    let repository = places.repository.as_ref()?;
    let own = repository.common_dir.join("hooks");
    let Some(git) = find_on_path("git").filter(|git| !git.starts_with(&places.root)) else { return Some(own) };
    let argv: Vec<OsString> = [git.as_os_str(), OsStr::new("rev-parse"), OsStr::new("--git-path"), OsStr::new("hooks")]
        .map(OsStr::to_owned)
        .into();
    // Inside a hook these say which repository is meant: the one that the hook is of.
    let variables =
        ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX"].map(|name| (name, None));
    let limit = Duration::from_millis(GIT_MS_MAX);
    let said = run(ProcessCall { argv: &argv, dir: &places.root, variables: &variables, input: b"", limit }).ok();
    let said = said.filter(|answer| answer.status.is_some_and(|status| status.success()));
    let line = said.map(|answer| answer.stdout.strip_suffix(b"\n").unwrap_or(&answer.stdout).to_vec());
    let named = line.filter(|line| !line.is_empty()).map(|line| PathBuf::from(OsString::from_vec(line)));
    Some(named.map_or(own, |named| absolute_path(&places.root, &named)))
}

/// Whether git leaves a file of the project out; `None` without an answer.
pub(super) fn is_ignored(places: &Places, path: &Path) -> Option<bool> {
    places.repository.as_ref()?;
    let git = find_on_path("git").filter(|git| !git.starts_with(&places.root))?;
    let words =
        [git.as_os_str(), OsStr::new("check-ignore"), OsStr::new("--quiet"), OsStr::new("--"), path.as_os_str()];
    let argv: Vec<OsString> = words.map(OsStr::to_owned).into();
    let limit = Duration::from_millis(GIT_MS_MAX);
    let said = run(ProcessCall { argv: &argv, dir: &places.root, variables: &[], input: b"", limit }).ok()?;
    match said.status?.code()? {
        0 => Some(true),
        1 => Some(false),
        _ => None,
    }
}

fn absolute_path(root: &Path, path: &Path) -> PathBuf {
    if path.is_absolute() { path.to_owned() } else { root.join(path) }
}
