//! The lab: commands that are isolated from the machine. Each is run by the built program, as this user and, where that is
//! root, as one without any right.

pub(crate) mod fixtures;
mod gate;
mod hostile;
mod killed;
pub(crate) mod levels;
mod limits;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox::{Invocation, Sandbox, VERIFY_RUN, need, skip};

/// A user and group without any right.
pub(crate) const NOBODY: &str = "65534";

/// Who runs the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LabUser {
    /// The user of the tests.
    Own,
    /// One without rights; only where the tests are root's.
    Nobody,
}

impl LabUser {
    /// Whether this user can be tried here. If not, the calling test is reported as skipped.
    pub(crate) fn is_here(self) -> bool {
        if self == LabUser::Own {
            return true;
        }
        if !nix::unistd::geteuid().is_root() {
            skip("only root can become another user");
            return false;
        }
        let Some(setpriv) = need("setpriv") else { return false };
        let mut trial = Command::new(setpriv);
        trial.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--", VERIFY_RUN, "--version"]);
        let can = trial.output().is_ok_and(|output| output.status.success());
        if !can {
            skip("the program cannot be executed by another user");
        }
        can
    }

    /// `verify-run ARGUMENTS…` by this user.
    pub(crate) fn verify_run<'a>(self, sandbox: &'a Sandbox, arguments: &[&str]) -> Invocation<'a> {
        self.run(sandbox, VERIFY_RUN, arguments)
    }

    /// A program by this user, who owns everything in the sandbox.
    pub(crate) fn run<'a>(self, sandbox: &'a Sandbox, program: &str, arguments: &[&str]) -> Invocation<'a> {
        match self {
            LabUser::Own => sandbox.bare(program).args(arguments),
            LabUser::Nobody => {
                let user = ["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--", program];
                give_away(&top_of(sandbox));
                sandbox.bare("setpriv").args(user).args(arguments)
            }
        }
    }

    /// A command in the lab, through a shell.
    fn isolate<'a>(self, sandbox: &'a Sandbox, options: &[&str], script: &str) -> Invocation<'a> {
        let command = ["--", "sh", "-c", script];
        self.verify_run(sandbox, &[&["gate", "isolate"], options, &command].concat())
    }
}

/// The folder around home, project and temporary folder.
pub(crate) fn top_of(sandbox: &Sandbox) -> PathBuf {
    sandbox.work().parent().expect("a folder").to_owned()
}

/// Makes everything in a folder the other user's.
fn give_away(folder: &Path) {
    let nobody: u32 = NOBODY.parse().expect("a number");
    if fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.uid() == nobody) {
        return;
    }
    for path in paths_below(folder) {
        std::os::unix::fs::lchown(&path, Some(nobody), Some(nobody)).expect("another owner");
    }
    std::os::unix::fs::lchown(folder, Some(nobody), Some(nobody)).expect("another owner");
}

/// Everything in a folder, links not followed.
fn paths_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

/// Kind, mode, time and content of everything in a folder, by path; without what verify-run keeps in the repository.
pub(crate) fn contents_of(folder: &Path) -> BTreeMap<PathBuf, String> {
    let of = |path: &PathBuf| {
        let metadata = fs::symlink_metadata(path).expect("metadata");
        let content = match fs::read_link(path) {
            Ok(target) => target.display().to_string(),
            Err(_) if metadata.is_file() => blake3::hash(&fs::read(path).unwrap_or_default()).to_hex().to_string(),
            Err(_) => String::new(),
        };
        let time = if metadata.is_dir() { 0 } else { metadata.mtime_nsec() + metadata.mtime() };
        format!("{:o} {} {time} {content}", metadata.mode(), metadata.uid())
    };
    let is_own = |path: &&PathBuf| path.components().any(|part| part.as_os_str() == "verify-run");
    paths_below(folder).iter().filter(|path| !is_own(path)).map(|path| (path.clone(), of(path))).collect()
}

/// What labs have left in the state folder: nothing but the lock and the remembered level.
pub(crate) fn left_by_labs(sandbox: &Sandbox) -> Vec<PathBuf> {
    let kept = ["lock", "level.json"];
    let entries = fs::read_dir(sandbox.state().join("lab")).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| !kept.iter().any(|name| path.ends_with(name))).collect()
}

/// Whether this machine has user namespaces with overlays. If not, the calling test is reported as skipped.
pub(crate) fn has_namespaces() -> bool {
    let dir = tempfile::tempdir().expect("a folder");
    for name in ["lower", "upper", "work", "merged"] {
        let folder = dir.path().join(name);
        fs::create_dir(&folder).expect("a folder");
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).expect("a mode");
    }
    let overlay = "mount -t overlay none -o userxattr,lowerdir=lower,upperdir=upper,workdir=work merged";
    let mut trial = Command::new("unshare");
    trial.args([
        "--user",
        "--map-root-user",
        "--mount",
        "--pid",
        "--net",
        "--fork",
        "--mount-proc",
        "sh",
        "-c",
        overlay,
    ]);
    let can = trial.current_dir(dir.path()).output().is_ok_and(|output| output.status.success());
    if !can {
        skip("no user namespaces with overlays");
    }
    can
}

/// Whether this kernel has Landlock. If not, the calling test is reported as skipped.
pub(crate) fn has_landlock() -> bool {
    // The call that tells its version.
    let script = "import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))";
    let version = Command::new("/usr/bin/python3").args(["-c", script]).output();
    let version = version.ok().and_then(|output| String::from_utf8_lossy(&output.stdout).trim().parse::<i32>().ok());
    let has = version.is_some_and(|version| version >= 2);
    if !has {
        skip("no Landlock of version 2");
    }
    has
}

/// A project that has something of everything that is lent, and of what never is.
fn project() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.write(".gitignore", "node_modules\n.env*\nbuild\n*.local\n__pycache__\n");
    sandbox.write("src/app.txt", "the app\n");
    sandbox.write("node_modules/dep/index.js", "module.exports = 1\n");
    sandbox.write("build/cache", "built\n");
    sandbox.write("settings.local", "a setting\n");
    sandbox.write(".env", "KEY=hunter2-env\n");
    sandbox.commit("The project");
    sandbox.git(["remote", "add", "origin", "https://user:hunter2-remote@example.invalid/x.git"]);
    sandbox
}
