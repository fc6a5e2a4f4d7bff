//! The state folder and the path of everything in it. No other file joins these names.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A state folder: `<git common dir>/verify-run`, one below XDG state, or a fallback of either. May not exist yet.
///
/// Only the recorder, which holds [`StateDir::recorder_lock`], writes outside of `spool`, [`StateDir::pass_log`] and
/// `install`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateDir(PathBuf);

impl StateDir {
    /// Every folder in it that belongs to verify-run, `install` and `lessons` excepted, which outlive the records.
    pub(crate) const FOLDERS: [&str; 12] = [
        "events",
        "spool",
        "raw",
        "objects",
        "snapshots",
        "open",
        "baseline",
        "unwritten",
        "backup",
        "gate",
        "lab",
        "learn",
    ];

    /// Every file in it that belongs to verify-run.
    pub(crate) const FILES: [&str; 13] = [
        "store.db",
        "store.db-wal",
        "store.db-shm",
        "store.db-journal",
        "recorder.lock",
        "recorder.log",
        "recorder.log.1",
        "writer",
        "environment",
        "raw.size",
        "passes.jsonl",
        "versions.json",
        "dashboard.json",
    ];

    /// `events/`: the segments of the event log, the truth.
    pub fn events(&self) -> PathBuf {
        self.0.join("events")
    }

    /// `gate/<work tree>.lock`: held by the one evaluation of the quality gate in a work tree.
    pub(crate) fn gate_lock(&self, work_tree: &Path) -> PathBuf {
        self.gate_sessions().join(format!("{}.lock", work_tree_digest(work_tree)))
    }

    /// `gate/<work tree>/`: what the evaluations of a work tree leave for other programs.
    pub(crate) fn gate_session(&self, work_tree: &Path) -> PathBuf {
        self.gate_sessions().join(work_tree_digest(work_tree))
    }

    /// `gate/cache/rows`: hashes by which the gate finds copies of code; safe to delete.
    pub(crate) fn gate_rows(&self) -> PathBuf {
        self.gate_sessions().join("cache/rows")
    }

    /// `gate/cache/red-trials.json`: what tests showed on the sources of a base; safe to delete.
    pub(crate) fn gate_red_trials(&self) -> PathBuf {
        self.gate_sessions().join("cache/red-trials.json")
    }

    /// `gate/cache/tool-outputs.json`: what measuring tools printed; safe to delete.
    pub(crate) fn gate_tool_outputs(&self) -> PathBuf {
        self.gate_sessions().join("cache/tool-outputs.json")
    }

    /// `gate/<work tree>.base/`: a checkout of the base while a check runs on it.
    pub(crate) fn gate_checkout(&self, work_tree: &Path) -> PathBuf {
        self.gate_sessions().join(format!("{}.base", work_tree_digest(work_tree)))
    }

    /// `gate/<work tree>.stops`: what agents that stop were answered.
    pub(crate) fn gate_stops(&self, work_tree: &Path) -> PathBuf {
        self.gate_sessions().join(format!("{}.stops", work_tree_digest(work_tree)))
    }

    /// `gate/`: the locks of evaluations, and what they leave for other programs.
    fn gate_sessions(&self) -> PathBuf {
        self.0.join("gate")
    }

    /// `lab/`: a folder for each lab that is open, with trees as files.
    pub(crate) fn labs(&self) -> PathBuf {
        self.0.join("lab")
    }

    /// `lab/level.json`: how well runs can be isolated on this machine.
    pub(crate) fn lab_level(&self) -> PathBuf {
        self.labs().join("level.json")
    }

    /// `learn/git/`: the repository that keeps the trees of jobs.
    pub(crate) fn learn_repository(&self) -> PathBuf {
        self.learn_folder().join("git")
    }

    /// `learn/git/objects/`: the objects of that repository.
    pub(crate) fn learn_objects(&self) -> PathBuf {
        self.learn_repository().join("objects")
    }

    /// `learn/scratch/`: files of jobs that are needed for a moment.
    pub(crate) fn learn_scratch(&self) -> PathBuf {
        self.learn_folder().join("scratch")
    }

    /// `learn/trees.lock`: held by the one process that keeps the trees of jobs.
    pub(crate) fn learn_lock(&self) -> PathBuf {
        self.learn_folder().join("trees.lock")
    }

    /// `learn/`: what jobs of the learning pipeline keep.
    pub(crate) fn learn_folder(&self) -> PathBuf {
        self.0.join("learn")
    }

    /// `dashboard.json`: the address of the dashboard that runs, with its token.
    pub(crate) fn dashboard(&self) -> PathBuf {
        self.0.join("dashboard.json")
    }

    /// `store.db`: the index over the events.
    pub fn index(&self) -> PathBuf {
        self.0.join("store.db")
    }

    /// `store.db.damaged`: an index that could not be read, kept for a person.
    pub(crate) fn damaged_index(&self) -> PathBuf {
        self.0.join("store.db.damaged")
    }

    /// `recorder.lock`: held by the one process that writes to the store.
    pub(crate) fn recorder_lock(&self) -> PathBuf {
        self.0.join("recorder.lock")
    }

    /// `recorder.log`: what the recorder found, repaired, or could not do.
    pub(crate) fn recorder_log(&self) -> PathBuf {
        self.0.join("recorder.log")
    }

    /// `recorder.log.1`: the log before this one.
    pub(crate) fn previous_recorder_log(&self) -> PathBuf {
        self.0.join("recorder.log.1")
    }

    /// `writer`: the name that this machine's segments begin with.
    pub(crate) fn writer(&self) -> PathBuf {
        self.0.join("writer")
    }

    /// `backup/`: a folder per day with the packed segments.
    pub(crate) fn backups(&self) -> PathBuf {
        self.0.join("backup")
    }

    /// `spool/`: finished runs and notes that wait for the recorder.
    pub fn spool(&self) -> PathBuf {
        self.0.join("spool")
    }

    /// `spool/bad/`: files of the spool that could not be parsed.
    pub(crate) fn bad_spool(&self) -> PathBuf {
        self.0.join("spool/bad")
    }

    /// `bad/` beside a file of the spool.
    pub(crate) fn bad_spool_beside(path: &Path) -> PathBuf {
        path.with_file_name("bad")
    }

    /// `passes.jsonl`: a line per passing run that needs no more than its header.
    pub(crate) fn pass_log(&self) -> PathBuf {
        self.0.join("passes.jsonl")
    }

    /// `passes-ID.jsonl`: a pass log that a recorder has claimed; wrappers start a new one.
    pub(crate) fn claimed_pass_log(&self, id: impl fmt::Display) -> PathBuf {
        self.0.join(format!("passes-{id}.jsonl"))
    }

    /// Whether a file of the state folder is [`StateDir::pass_log`] or a claimed one.
    pub(crate) fn is_pass_log(path: &Path) -> bool {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        name.starts_with("passes") && name.ends_with(".jsonl")
    }

    /// `open/`: a marker per check that failed last.
    pub(crate) fn open_markers(&self) -> PathBuf {
        self.0.join("open")
    }

    /// `open/KEY`: exists while a pass of the check would close an open failure, so that the wrapper keeps its output.
    ///
    /// A key that was read from a file goes through [`StateDir::key_name`] first.
    pub(crate) fn open_marker(&self, key: &str) -> PathBuf {
        self.0.join("open").join(key)
    }

    /// `baseline/`: a file per check that passed.
    pub(crate) fn baselines(&self) -> PathBuf {
        self.0.join("baseline")
    }

    /// `baseline/KEY`: hashes of the lines of the check's last passing run.
    ///
    /// A key that was read from a file goes through [`StateDir::key_name`] first.
    pub(crate) fn baseline(&self, key: &str) -> PathBuf {
        self.0.join("baseline").join(key)
    }

    /// A command key as a file name. One that comes from a file is not trusted to be hexadecimal.
    pub(crate) fn key_name(key: &str) -> Cow<'_, str> {
        let is_plain = !key.is_empty() && key.len() <= 64 && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_plain { Cow::Borrowed(key) } else { blake3::hash(key.as_bytes()).to_hex()[..32].to_owned().into() }
    }

    /// `raw/`: the redacted output of failed runs.
    pub(crate) fn raw_outputs(&self) -> PathBuf {
        self.0.join("raw")
    }

    /// `raw/RUN.zst`: the redacted output of one failed run.
    pub(crate) fn raw_output(&self, run: impl fmt::Display) -> PathBuf {
        self.0.join("raw").join(format!("{run}.zst"))
    }

    /// `raw.size`: how large `raw` is, and the day on which it was measured.
    pub(crate) fn raw_size(&self) -> PathBuf {
        self.0.join("raw.size")
    }

    /// `unwritten/`: an empty file per run whose lesson could not be written yet.
    pub(crate) fn unwritten_lessons(&self) -> PathBuf {
        self.0.join("unwritten")
    }

    /// `lessons/`: lessons of a project whose work tree must not have them.
    pub(crate) fn lessons(&self) -> PathBuf {
        self.0.join("lessons")
    }

    /// `environment`: the names of variables that the project's settings count besides the built-in ones.
    pub(crate) fn environment_names(&self) -> PathBuf {
        self.0.join("environment")
    }

    /// `versions.json`: what programs said that their versions are.
    pub(crate) fn tool_versions(&self) -> PathBuf {
        self.0.join("versions.json")
    }

    /// `objects/`: the git objects of all snapshots.
    pub(crate) fn objects(&self) -> PathBuf {
        self.0.join("objects")
    }

    /// `snapshots/`: per work tree a git folder with its index, and how its last snapshot went.
    pub(crate) fn snapshots(&self) -> PathBuf {
        self.0.join("snapshots")
    }

    /// `snapshots/pruned`: its time is that of the last pruning of the objects.
    pub(crate) fn prune_mark(&self) -> PathBuf {
        self.0.join("snapshots/pruned")
    }

    /// `install/`: what `init` wrote, with what was there before.
    pub(crate) fn installation(&self) -> PathBuf {
        self.0.join("install")
    }

    /// Folders in which a recorder replaces files, so that a killed one may have left half a file. `raw` is left out: it
    /// may hold thousands of files, and is cleaned when it is rotated.
    pub(crate) fn rewritten_folders(&self) -> [PathBuf; 5] {
        [self.0.clone(), self.events(), self.open_markers(), self.baselines(), self.unwritten_lessons()]
    }
}

impl Deref for StateDir {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl AsRef<Path> for StateDir {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl From<PathBuf> for StateDir {
    fn from(path: PathBuf) -> Self {
        StateDir(path)
    }
}

impl From<&Path> for StateDir {
    fn from(path: &Path) -> Self {
        StateDir(path.to_owned())
    }
}

/// A folder or file name for a work tree: 16 hexadecimal digits.
fn work_tree_digest(work_tree: &Path) -> String {
    blake3::hash(work_tree.as_os_str().as_encoded_bytes()).to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_one_of_the_known_names() {
        let state = StateDir::from(Path::new("/s"));
        let folders = [
            state.events(),
            state.spool(),
            state.raw_outputs(),
            state.objects(),
            state.snapshots(),
            state.open_markers(),
            state.baselines(),
            state.unwritten_lessons(),
            state.backups(),
            state.gate_sessions(),
            state.labs(),
            state.learn_folder(),
        ];
        assert_eq!(folders, StateDir::FOLDERS.map(|name| state.join(name)));
        let files = [
            state.index(),
            state.recorder_lock(),
            state.recorder_log(),
            state.previous_recorder_log(),
            state.writer(),
            state.environment_names(),
            state.raw_size(),
            state.pass_log(),
            state.tool_versions(),
        ];
        for file in files {
            assert!(StateDir::FILES.iter().any(|name| file == state.join(name)), "{}", file.display());
        }
        assert!(StateDir::is_pass_log(&state.pass_log()) && StateDir::is_pass_log(&state.claimed_pass_log(7)));
        assert!(!StateDir::is_pass_log(&state.index()));
    }

    #[test]
    fn a_key_that_is_no_file_name_is_hashed() {
        assert_eq!(StateDir::key_name("0a1b"), "0a1b");
        for key in ["", "../../evil", "a/b", &"a".repeat(65)] {
            let name = StateDir::key_name(key);
            assert!(name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{key}: {name}");
        }
    }
}
