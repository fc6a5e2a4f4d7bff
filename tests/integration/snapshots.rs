//! The work tree at each run: what is in the snapshot, what is not, and that the user's repository never knows.

mod changes;
mod contents;
mod limits;
mod repositories;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use verify_run::run::CommandEnd;

use crate::sandbox::Sandbox;

/// Runs a check that fails, in `dir`, and records it before it returns. The event of its work tree.
#[track_caller]
fn fail_in(sandbox: &Sandbox, dir: &str) -> Value {
    run_in(sandbox, dir, "echo 'src/a.lua:3:1: error: wrong'; exit 3", 3)
}

/// As [`fail_in`], at the top.
#[track_caller]
fn fail(sandbox: &Sandbox) -> Value {
    fail_in(sandbox, "")
}

/// A check that passes.
#[track_caller]
fn pass(sandbox: &Sandbox) -> Value {
    run_in(sandbox, "", "exit 0", 0)
}

/// Runs the check `luacheck .` as a shell `script`, and records it before it returns. The event of its work tree.
#[track_caller]
fn run_in(sandbox: &Sandbox, dir: &str, script: &str, code: u8) -> Value {
    // What was written just before is not younger than the run.
    std::thread::sleep(std::time::Duration::from_millis(12));
    sandbox.tool("luacheck", script);
    let outcome = sandbox.verify_run(["--sync", "luacheck", "."]).dir(dir).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(code), "{}", outcome.stderr());
    let places =
        sandbox.bare("git").args(["rev-parse", "--path-format=absolute", "--git-common-dir"]).dir(dir).outcome();
    let state = Path::new(OsStr::from_bytes(places.stdout.trim_ascii_end())).join("verify-run");
    let mut snapshots = sandbox.snapshots_in(&state);
    snapshots.sort_by_key(|event| event["at"].as_str().map(str::to_owned));
    snapshots.pop().expect("a snapshot's event")
}

/// The files of a snapshot's tree: mode and content (of a submodule its commit) by path, bytes as Latin-1.
#[track_caller]
fn files_of(sandbox: &Sandbox, event: &Value) -> BTreeMap<String, (String, String)> {
    let tree = event["tree"].as_str().unwrap_or_else(|| panic!("no tree: {event}"));
    let listing = git_with_objects(sandbox, &["ls-tree", "-r", "-z", tree]);
    let entries = listing.split(|&byte| byte == 0).filter(|entry| !entry.is_empty());
    let text = |bytes: &[u8]| bytes.iter().map(|&byte| char::from(byte)).collect::<String>();
    entries
        .map(|entry| {
            let tab = entry.iter().position(|&byte| byte == b'\t').expect("a tab");
            let head: Vec<String> = entry[..tab].split(|&byte| byte == b' ').map(text).collect();
            let content = match head[1].as_str() {
                "blob" => text(&git_with_objects(sandbox, &["cat-file", "blob", &head[2]])),
                _ => head[2].clone(),
            };
            (text(&entry[tab + 1..]), (head[0].clone(), content))
        })
        .collect()
}

/// The paths of a snapshot's tree.
#[track_caller]
fn paths_of(sandbox: &Sandbox, event: &Value) -> Vec<String> {
    files_of(sandbox, event).into_keys().collect()
}

/// The paths that differ from the base.
fn changed(event: &Value) -> Vec<&str> {
    let files = event["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    files.iter().map(|file| file["path"].as_str().expect("a path")).collect()
}

/// What git prints that reads our objects and the repository's.
#[track_caller]
fn git_with_objects(sandbox: &Sandbox, arguments: &[&str]) -> Vec<u8> {
    let common = sandbox.path(".git");
    let mut command = Command::new("git");
    command.env_clear().envs(sandbox.environment()).current_dir(sandbox.work()).args(arguments);
    command.env("GIT_DIR", &common).env("GIT_OBJECT_DIRECTORY", common.join("verify-run/objects"));
    command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", common.join("objects"));
    let output = command.output().expect("git starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Everything in a folder that isn't ours: kind, mode, times, content. Times included: to git an object that is used
/// again is a younger one.
fn listing(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("reads").flatten() {
            let path = entry.path();
            // The lessons are hidden from git there, by whoever writes the first one.
            if path.ends_with("verify-run") || path.ends_with("info/exclude") {
                continue;
            }
            let metadata = fs::symlink_metadata(&path).expect("is there");
            let content = if metadata.is_file() {
                blake3::hash(&fs::read(&path).expect("reads")).to_hex().to_string()
            } else {
                String::new()
            };
            if metadata.is_dir() && !path.join("verify-run").exists() {
                folders.push(path.clone());
            }
            // A folder's own time changes with what is made beside: ours is, in the top one.
            let time = if metadata.is_dir() { (0, 0) } else { (metadata.mtime(), metadata.mtime_nsec()) };
            let line = format!("{:o} {time:?} {} {content}", metadata.mode(), metadata.ino());
            found.insert(path.to_string_lossy().into_owned(), line);
        }
    }
    found
}

/// Runs `work` and compares the repository's folder before and after.
#[track_caller]
fn untouched<T>(sandbox: &Sandbox, work: impl FnOnce() -> T) -> T {
    let before = listing(&sandbox.path(".git"));
    let result = work();
    sandbox.settle();
    let after = listing(&sandbox.path(".git"));
    let differs: Vec<_> = before.iter().filter(|(path, line)| after.get(*path) != Some(line)).collect();
    let new: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    assert!(differs.is_empty() && new.is_empty(), "changed or gone: {differs:#?}, new: {new:#?}");
    result
}
