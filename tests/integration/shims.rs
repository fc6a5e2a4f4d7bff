//! Shims: programs called by their own names, with verify-run in front of them on PATH.

mod folder;
mod managers;
mod recording;
mod rounds;
mod shells;
mod transparent;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::sandbox::{Invocation, Sandbox, VERIFY_RUN};

/// Where the shims of a sandbox are.
fn folder(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".local/share/verify-run/shims")
}

/// Makes shims of these names.
#[track_caller]
pub(crate) fn install(sandbox: &Sandbox, names: &[&str]) {
    let outcome = sandbox.verify_run(["shims", "install"].iter().chain(names)).outcome();
    assert_eq!(outcome.ended, verify_run::run::CommandEnd::Exit(0), "{}", outcome.stderr());
}

/// PATH with the shims in front, and `more` right behind them.
pub(crate) fn path_with(sandbox: &Sandbox, more: &[&Path]) -> OsString {
    let usual = sandbox.environment().into_iter().find(|(name, _)| name == "PATH").expect("a PATH").1;
    let places = std::iter::once(folder(sandbox)).chain(more.iter().map(PathBuf::from));
    std::env::join_paths(places.chain(std::env::split_paths(&usual))).expect("folders without a colon")
}

/// A program that is found on PATH, with the shims in front.
fn by_name<'a>(sandbox: &'a Sandbox, name: impl AsRef<OsStr>) -> Invocation<'a> {
    // The harness itself must search the PATH that the program gets.
    sandbox.bare("env").arg(name).env("PATH", path_with(sandbox, &[]))
}

/// Writes an executable file with its folders.
fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("the script's folder");
    fs::write(path, text).expect("the script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("an executable script");
}

/// A folder of shims that another installation has made elsewhere, with a program of its own.
fn other_installation(sandbox: &Sandbox, names: &[&str]) -> PathBuf {
    let place = sandbox.tmp().join("other");
    let program = place.join("bin/verify-run");
    fs::create_dir_all(place.join("bin")).expect("a folder");
    fs::copy(VERIFY_RUN, &program).expect("a copy of the program");
    let shims = place.join("verify-run/shims");
    fs::create_dir_all(&shims).expect("a folder");
    for name in names {
        symlink(&program, shims.join(name)).expect("a shim");
    }
    shims
}

/// The command lines of the recorded runs.
fn recorded(sandbox: &Sandbox) -> Vec<String> {
    let events = sandbox.events().into_iter().filter(|event| event["ended"].is_object());
    let line = |event: &serde_json::Value| {
        let words = event["argv"].as_array().cloned().unwrap_or_default();
        words.iter().map(|word| word.as_str().unwrap_or("?").to_owned()).collect::<Vec<_>>().join(" ")
    };
    events.map(|event| line(&event)).collect()
}
