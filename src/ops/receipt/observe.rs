//! What a check would depend on if it ran now.

use std::collections::{BTreeMap, BTreeSet};
use std::env::consts::{ARCH, OS};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::limits::LOCK_WAIT_MS_MAX;
use crate::base::text;
use crate::capture::{CheckedState, InputDigests, InputHasher, ToolchainState, add_portable_variables, add_variables};
use crate::config::{Places, ReceiptEnvironment, Repository};
use crate::fix::snapshot::{self, DiffLimits, SnapshotOptions, TakenSnapshot};
use crate::fix::{self, CheckInputs, CommandPrograms, InputSearch, ToolchainInputs, UnknownInput};
use crate::gate::receipt::list_some;
use crate::lab::LabLevel;
use crate::ops::request::Request;
use crate::store::lock_store;
use crate::whitelist::{self, Check};

/// Submodules inside submodules.
const SUBMODULE_DEPTH_MAX: usize = 8;
/// Files that differ and are named in an answer.
const FILES_MAX: usize = 100;

/// A command line that may have a receipt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckedCommand<'a> {
    /// What is executed.
    pub argv: &'a [OsString],
    /// The recognised check; `None` of a command that is none.
    pub check: Option<&'a Check>,
    /// Whether the gate runs it as an item of its checklist, which a person approved.
    pub is_item: bool,
    /// Whether its standard input will be empty, whatever this process's is.
    pub has_no_input: bool,
    /// The PATH that it will have; `None` for this process's.
    pub path: Option<&'a OsStr>,
}

impl CheckedCommand<'_> {
    /// Whether its exit code alone counts: it is no known tool, and a person approved it.
    pub(super) fn counts_by_exit_code(&self) -> bool {
        self.is_item && self.check.is_none_or(|check| check.tool.starts_with("script:"))
    }

    /// Whether it may have a receipt.
    pub(crate) fn may_have_receipt(&self) -> bool {
        self.check.is_some() || self.is_item
    }

    /// Digest of the command where its exit code alone counts.
    pub(super) fn approved_digest(&self, request: &Request) -> Option<String> {
        self.counts_by_exit_code().then(|| self.digest_as(b"verify-run receipt approved command 1", request))
    }

    /// Digest of the work tree's path, the folder, the command key and the words.
    pub(super) fn digest(&self, request: &Request) -> String {
        self.digest_as(b"verify-run receipt command 1", request)
    }

    /// The command key.
    pub(super) fn key(&self, request: &Request) -> String {
        let Places { root, repository, .. } = &request.places;
        let worktree = repository.as_ref().and_then(|repository| repository.worktree.as_deref()).unwrap_or(root);
        whitelist::command_key(worktree, &request.cwd, self.check, self.argv)
    }

    fn digest_as(&self, purpose: &[u8], request: &Request) -> String {
        let key = self.key(request);
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(purpose);
        part(request.places.root.as_os_str().as_bytes());
        part(request.cwd.as_os_str().as_bytes());
        part(key.as_bytes());
        self.argv.iter().for_each(|word| part(word.as_bytes()));
        hasher.finalize().to_hex()[..32].to_owned()
    }
}

/// The state of a work tree, with when a file of it changed last.
#[derive(Debug, Clone)]
pub(crate) struct ObservedState {
    pub state: CheckedState,
    pub changed_at: Timestamp,
    /// Why the state has no toolchain although the settings ask for it, a lowercase fragment.
    pub no_toolchain: Option<String>,
}

/// What a command would depend on if it ran now.
///
/// # Errors
/// Why that is not known, a lowercase fragment.
pub(crate) fn observe_state(request: &Request, command: &CheckedCommand<'_>) -> Result<ObservedState, String> {
    if !request.settings().snapshot.enabled {
        return Err("snapshots are off (setting `snapshot.enabled`)".to_owned());
    }
    // git looks at the work tree meanwhile.
    let (inputs, trees) = thread::scope(|scope| {
        let inputs = thread::Builder::new().spawn_scoped(scope, || digest_inputs(request, command));
        let trees = TreeState::observe(&request.places, &options(request));
        let inputs = match inputs {
            Ok(begun) => begun.join().unwrap_or_else(|_| Err("verify-run failed internally".to_owned())),
            Err(_) => digest_inputs(request, command),
        };
        (inputs, trees)
    });
    Ok(observed_state(request, command, &trees?, inputs?))
}

/// As [`observe_state`], for a state of the work tree that is known.
pub(super) fn state_over(
    request: &Request,
    command: &CheckedCommand<'_>,
    trees: &TreeState,
) -> Result<ObservedState, String> {
    Ok(observed_state(request, command, trees, digest_inputs(request, command)?))
}

/// Digests of the programs and dependencies of a command.
fn digest_inputs(request: &Request, command: &CheckedCommand<'_>) -> Result<ObservedInputs, String> {
    let settings = request.settings();
    let own = std::env::var_os("PATH");
    let path = command.path.or(own.as_deref()).ok_or("PATH is not set")?;
    let files = settings.fix.files();
    let programs = CommandPrograms {
        argv: command.argv,
        check: command.check,
        path,
        cwd: &request.cwd,
        root: &request.places.root,
    };
    let search = InputSearch { programs, home: request.environment.home.as_deref(), files: &files };
    let is_portable = settings.receipts.environment == ReceiptEnvironment::Toolchain && !command.counts_by_exit_code();
    ObservedInputs::digest(&search, is_portable).map_err(|error| error.to_string())
}

fn observed_state(
    request: &Request,
    command: &CheckedCommand<'_>,
    trees: &TreeState,
    inputs: ObservedInputs,
) -> ObservedState {
    let variables = request.settings().fix.variables();
    let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
    let mut environment = InputHasher::default();
    add_variables(&mut environment, &variables, command.path);
    trees.line_ends.iter().for_each(|digest| environment.add("line ends of files", digest.as_bytes()));
    let user = nix::unistd::geteuid().as_raw();
    environment.add("user", &user.to_le_bytes());
    let ObservedInputs { here: inputs, toolchain } = inputs;
    let no_toolchain = toolchain.as_ref().and_then(|found| found.as_ref().err()).map(ToString::to_string);
    let toolchain = toolchain.and_then(Result::ok).map(|inputs| ToolchainState {
        environment: portable_environment(&variables, &request.places.root, &trees.line_ends),
        dependencies: inputs.dependencies,
        programs: inputs.programs,
    });
    let state = CheckedState {
        tree: trees.tree.clone(),
        submodules: trees.submodules.clone(),
        command: command.digest(request),
        approved_command: command.approved_digest(request),
        environment: environment.finish(),
        programs: inputs.programs,
        dependencies: inputs.dependencies,
        toolchain,
    };
    ObservedState { state, changed_at: trees.changed_at, no_toolchain }
}

/// What a command would depend on if it ran in the lab on a tree: a pass there is no pass outside, nor the other way round.
///
/// # Errors
/// Why that is not known, a lowercase fragment.
pub(crate) fn observe_isolated_state(
    request: &Request,
    command: &CheckedCommand<'_>,
    tree: &str,
    level: LabLevel,
) -> Result<ObservedState, String> {
    Ok(observe_state(request, command)?.in_lab(tree, level))
}

impl ObservedState {
    /// The state of a run in the lab on another tree.
    pub(super) fn in_lab(self, tree: &str, level: LabLevel) -> ObservedState {
        let environment = self.state.environment.with_part("isolation", level.as_str().as_bytes());
        // What is in submodules is in no copy of the tree.
        let (tree, submodules) = (tree.to_owned(), BTreeMap::new());
        let state = CheckedState { tree, submodules, environment, toolchain: None, ..self.state };
        let no_toolchain = Some("it ran outside of the lab".to_owned());
        ObservedState { state, no_toolchain, ..self }
    }
}

/// What a check depends on outside the tree.
struct ObservedInputs {
    /// On this machine.
    here: CheckInputs,
    /// What another machine can compare; `None` where that is not asked for.
    toolchain: Option<Result<ToolchainInputs, UnknownInput>>,
}

impl ObservedInputs {
    fn digest(search: &InputSearch<'_>, is_portable: bool) -> Result<Self, UnknownInput> {
        let toolchain = is_portable.then(|| fix::digest_toolchain(search));
        Ok(ObservedInputs { here: fix::digest_inputs(search)?, toolchain })
    }
}

/// The variables that count on every machine, with what else of the machine a check may see.
fn portable_environment(variables: &[&str], root: &Path, line_ends: &[String]) -> InputDigests {
    let mut environment = InputHasher::default();
    add_portable_variables(&mut environment, variables, root);
    // One that only this machine's settings name was not looked at where it passed.
    let named: BTreeSet<&str> = variables.iter().copied().collect();
    named.iter().for_each(|name| environment.add("the setting `fix.environment`", name.as_bytes()));
    line_ends.iter().for_each(|digest| environment.add("line ends of files", digest.as_bytes()));
    environment.add("system", OS.as_bytes());
    environment.add("processor", ARCH.as_bytes());
    // What root may do others may not.
    environment.add("user", &[u8::from(nix::unistd::geteuid().is_root())]);
    environment.finish()
}

/// The tree of the index: what a commit would have.
///
/// # Errors
/// Why it can't be known.
pub(super) fn staged_tree(request: &Request) -> Result<String, String> {
    let repository = request.places.repository.as_ref().ok_or("not in a git repository")?;
    // Git tells its hooks which index is to be committed.
    let index = match std::env::var_os("GIT_INDEX_FILE").filter(|file| !file.is_empty()) {
        Some(file) => request.places.root.join(file),
        None => repository.git_dir.join("index"),
    };
    let _lock = lock(&request.places)?;
    let time_max = options(request).time_max;
    snapshot::index_tree(&request.places, &index, time_max).map_err(|skipped| skipped.reason)
}

/// The files that differ between two trees of the work tree, and how many there are; none when that can't be known.
pub(super) fn changed_files(request: &Request, from: &str, to: &str) -> (Vec<String>, usize) {
    let limits = DiffLimits { files: FILES_MAX, file_bytes: 0, bytes: 0 };
    match snapshot::diff_trees(&request.places, from, to, &options(request), limits) {
        Ok(diff) => {
            let count = diff.files.len() + usize::try_from(diff.files_cut).unwrap_or(0);
            (diff.files.iter().map(|file| file.path.display()).collect(), count)
        }
        Err(_) => (Vec::new(), 0),
    }
}

/// `src/a.ts changed`, `2 files changed: a, b`.
pub(super) fn changed_files_text(files: &[String], count: usize) -> String {
    match (files, count) {
        ([], _) => "the files changed".to_owned(),
        ([file], 1) => format!("{} changed", text::one_line(file)),
        _ => format!("{} changed: {}", text::count(count as u64, "file"), list_some(files, count)),
    }
}

/// Everything counts: nothing is left out but what git leaves out.
fn options(request: &Request) -> SnapshotOptions {
    let settings = &request.settings().snapshot;
    SnapshotOptions {
        time_max: Duration::from_millis(settings.time_ms),
        file_bytes_max: settings.file_bytes,
        excluded: Vec::new(),
    }
}

fn lock(places: &Places) -> Result<crate::base::lock::Lock, String> {
    lock_store(&places.state, Duration::from_millis(LOCK_WAIT_MS_MAX)).map_err(|error| error.to_string())
}

/// The trees of a work tree and of its submodules.
#[derive(Debug)]
pub(super) struct TreeState {
    tree: String,
    submodules: BTreeMap<String, String>,
    changed_at: Timestamp,
    /// Digests of line ends that the trees don't have.
    line_ends: Vec<String>,
}

impl TreeState {
    /// The state of a work tree without submodules of which a snapshot was taken.
    pub(super) fn of_snapshot(request: &Request, taken: &TakenSnapshot) -> Result<Self, String> {
        let places = &request.places;
        let worktree = places.repository.as_ref().and_then(|repository| repository.worktree.as_ref());
        if worktree != Some(&places.root) || !request.settings().snapshot.enabled {
            return Err("there are no snapshots here".to_owned());
        }
        if taken.blind || taken.left_out > 0 || taken.has_excluded {
            return Err("the snapshot is not the whole work tree".to_owned());
        }
        let _lock = lock(places)?;
        let line_ends = snapshot::digest_line_ends(places, taken, options(request).time_max);
        Ok(TreeState {
            tree: taken.tree.clone(),
            submodules: BTreeMap::new(),
            changed_at: taken.changed_at,
            line_ends: line_ends.map_err(|skipped| skipped.reason)?.into_iter().collect(),
        })
    }

    fn observe(places: &Places, options: &SnapshotOptions) -> Result<Self, String> {
        let worktree = places.repository.as_ref().and_then(|repository| repository.worktree.as_ref());
        if worktree != Some(&places.root) {
            return Err("not in a git work tree".to_owned());
        }
        // No recorder may take a snapshot in the same folder meanwhile.
        let _lock = lock(places)?;
        let mut state = TreeState {
            tree: String::new(),
            submodules: BTreeMap::new(),
            changed_at: Timestamp(i64::MIN),
            line_ends: Vec::new(),
        };
        state.tree = state.add_tree(places, options, Path::new(""), 0)?;
        Ok(state)
    }

    /// The tree of the work tree of `places`, which is at `path`, after those of its submodules were added.
    fn add_tree(
        &mut self,
        places: &Places,
        options: &SnapshotOptions,
        path: &Path,
        depth: usize,
    ) -> Result<String, String> {
        let taken = snapshot::take_snapshot(places, options).map_err(|skipped| skipped.reason)?;
        if taken.has_unseen || taken.left_out > 0 {
            let count = text::count(taken.left_out, "file");
            return Err(match taken.left_out {
                0 => "something in the work tree is out of git's sight".to_owned(),
                _ => format!("{count} too large, unreadable or in another repository"),
            });
        }
        self.changed_at = self.changed_at.max(taken.changed_at);
        let line_ends =
            snapshot::digest_line_ends(places, &taken, options.time_max).map_err(|skipped| skipped.reason)?;
        self.line_ends.extend(line_ends);
        for submodule in &taken.submodules {
            let root = places.root.join(submodule);
            let below = path.join(submodule);
            let name = below.to_string_lossy().into_owned();
            let repository = Repository::find(&root).filter(|found| found.worktree.as_ref() == Some(&root));
            let inside = Places { root, repository, ..places.clone() };
            if depth == SUBMODULE_DEPTH_MAX {
                return Err(format!("{name} is a submodule too deep"));
            }
            let tree = self.add_tree(&inside, options, &below, depth + 1)?;
            self.submodules.insert(name, tree);
        }
        Ok(taken.tree)
    }
}

/// Whether standard input may be part of what a command checks: a file, or a pipe that has something to read.
pub(super) fn has_input(command: &CheckedCommand<'_>) -> bool {
    let reads_input = |word: &OsString| word == "-" || word.as_bytes().starts_with(b"--stdin");
    !command.has_no_input && crate::run::has_input() || command.argv.iter().any(reads_input)
}

/// A path of the command line that leads out of the work tree, to something that no tree has.
pub(super) fn path_outside(request: &Request, command: &CheckedCommand<'_>) -> Option<PathBuf> {
    let words = command.argv.iter().skip(1).flat_map(|word| {
        let text = word.to_string_lossy().into_owned();
        if text.contains(' ') { shell_words::split(&text).unwrap_or_default() } else { vec![text] }
    });
    let temporary = request.environment.tmpdir.as_deref().unwrap_or(Path::new("/tmp"));
    let mut paths = words.map(|word| word.split_once('=').map_or(word.clone(), |(_, value)| value.to_owned()));
    paths.find_map(|word| {
        let leads_out = word.starts_with('/') || word.starts_with("..") || word.contains("/../");
        let path = leads_out.then(|| request.cwd.join(OsStr::new(&word)).canonicalize().ok()).flatten()?;
        let is_harmless = path.starts_with(&request.places.root)
            || path.starts_with("/dev")
            || path.starts_with(temporary) && path.is_dir()
            || crate::base::file::is_program(&path);
        (!is_harmless).then_some(path)
    })
}
