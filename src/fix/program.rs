//! The programs of a run, as files: an update between two runs is visible as another file.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::base::clock::Timestamp;
use crate::base::file::is_program;
use crate::capture::SpoolHeader;
use crate::run::is_shims_folder;
use crate::whitelist::{self, Check};

/// Words of a command line that are looked at.
const WORDS_MAX: usize = 64;
/// Folders between where the check ran and the root that may have programs of their own.
const FOLDERS_MAX: usize = 8;
/// Where package managers put a project's programs.
const PROJECT_PROGRAMS: [&str; 4] = ["node_modules/.bin", ".venv/bin", "venv/bin", "vendor/bin"];
/// Bytes of a script in which its interpreter is named: Linux reads no more.
const INTERPRETER_BYTES_MAX: u64 = 256;

/// BLAKE3, 32 hex digits, over the files that a run executed as far as its command line names them: the program, the
/// tool behind package runners and in a shell line, and what interprets each when it is a script. Of every file: its
/// path, the path behind its links, its size, and when content and attributes changed.
///
/// `None` when the program isn't found, when one of the files changed after the run began, when PATH is not known, and
/// when the check ran elsewhere.
pub(crate) fn digest_programs(header: &SpoolHeader) -> Option<String> {
    if header.check.as_ref().is_some_and(|check| check.elsewhere) {
        return None;
    }
    let search = ProgramSearch {
        path: header.environment.as_ref()?.path.as_ref()?.path().as_os_str(),
        cwd: header.cwd.path(),
        root: header.repository.root.path(),
        changed_dir: header.check.as_ref().and_then(|check| check.dir.as_deref()),
    };
    let mut digest = Digest { hasher: blake3::Hasher::new(), started_at: header.started_at };
    let (first, rest) = header.argv.split_first()?;
    digest.add_file(&search, &search.on_path(first.path())?)?;
    for word in header.check.iter().flat_map(|check| tools_of_check(check, rest.iter().map(|word| word.path()))) {
        match search.in_project(&word).or_else(|| search.on_path(Path::new(&name_of(&word)))) {
            Some(file) => digest.add_file(&search, &file)?,
            // It may be there the next time.
            None => digest.add_part(format!("no {word}").as_bytes()),
        }
    }
    Some(digest.hasher.finalize().to_hex()[..32].to_owned())
}

/// The program of this name that a package runner would start in `dir`: the project's own up to `root`, else the first one
/// on `path` that is neither a shim, nor in a relative folder, nor in the work tree.
pub(crate) fn find_tool(name: &str, dir: &Path, root: &Path, path: &OsStr) -> Option<PathBuf> {
    let folders = path.as_bytes().split(|byte| *byte == b':').map(|folder| Path::new(OsStr::from_bytes(folder)));
    let is_trusted = |folder: &&Path| folder.is_absolute() && !folder.starts_with(root);
    let outside = std::env::join_paths(folders.filter(is_trusted)).ok()?;
    let search = ProgramSearch { path: &outside, cwd: dir, root, changed_dir: None };
    search.in_project(name).or_else(|| search.on_path(Path::new(name)))
}

/// The program that `execvp` finds in `dir` under this name, past shims.
pub(crate) fn find_on_search_path(name: &str, dir: &Path, path: &OsStr) -> Option<PathBuf> {
    ProgramSearch { path, cwd: dir, root: dir, changed_dir: None }.on_path(Path::new(name))
}

/// A command whose programs are looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandPrograms<'a> {
    pub argv: &'a [OsString],
    /// The recognised check; `None` of a command that is none.
    pub check: Option<&'a Check>,
    /// The value of PATH.
    pub path: &'a OsStr,
    /// The working directory, absolute.
    pub cwd: &'a Path,
    /// The top of the work tree.
    pub root: &'a Path,
}

/// A file that a command executes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExecutedFile {
    /// What it is called: its file name.
    pub name: String,
    /// Where it was found.
    pub path: PathBuf,
}

impl CommandPrograms<'_> {
    /// The files that [`digest_programs`] is about.
    ///
    /// # Errors
    /// The name of the program or tool that isn't there: which one would be run is unknown.
    pub(super) fn executed_files(&self) -> Result<Vec<ExecutedFile>, String> {
        Ok(self.program_files(&[])?.into_iter().map(|(file, _)| file).collect())
    }

    /// As [`CommandPrograms::executed_files`], with further tools that a script starts; each with whether it only interprets
    /// another one.
    ///
    /// # Errors
    /// As there.
    pub(super) fn program_files(&self, further: &[String]) -> Result<Vec<(ExecutedFile, bool)>, String> {
        let search = self.search();
        let (first, rest) = self.argv.split_first().ok_or("the command")?;
        let first = Path::new(first);
        let program = search.on_path(first).ok_or_else(|| first.to_string_lossy().into_owned())?;
        let mut files = vec![program];
        let mut tools = self.check.map(|check| tools_of_check(check, rest.iter().map(Path::new))).unwrap_or_default();
        tools.extend(further.iter().cloned());
        for word in tools {
            let found = search.in_project(&word).or_else(|| search.on_path(Path::new(&name_of(&word))));
            files.push(found.ok_or(word)?);
        }
        let interpreters: Vec<PathBuf> = files
            .iter()
            .filter_map(|file| interpreter_of(file))
            .map(|name| search.on_path(Path::new(&name)).ok_or(name))
            .collect::<Result<_, _>>()?;
        let named = |path: PathBuf| ExecutedFile {
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            path,
        };
        let files =
            files.into_iter().map(|path| (path, false)).chain(interpreters.into_iter().map(|path| (path, true)));
        Ok(files.map(|(path, is_interpreter)| (named(path), is_interpreter)).collect())
    }

    /// The files of the work tree that the words of the command name: a script that git ignores is in no tree.
    pub(super) fn named_files(&self) -> Vec<ExecutedFile> {
        let folders = [self.cwd.to_owned(), self.folder()];
        let words = self.argv.iter().take(WORDS_MAX).flat_map(|word| {
            let text = word.to_string_lossy().into_owned();
            // A shell line is one word.
            if text.contains(' ') { shell_words::split(&text).unwrap_or_default() } else { vec![text] }
        });
        let values = words.map(|word| word.split_once('=').map_or(word.clone(), |(_, value)| value.to_owned()));
        let files = values.filter_map(|name| {
            let mut paths = folders.iter().map(|folder| folder.join(&name));
            let path = paths.find(|path| path.is_file() && path.starts_with(self.root))?;
            Some(ExecutedFile { name, path })
        });
        files.collect()
    }

    /// What PATH has of a name, past shims.
    pub(super) fn on_path(&self, name: &str) -> Option<PathBuf> {
        self.search().on_path(Path::new(name))
    }

    /// The folder in which the check runs.
    pub(super) fn folder(&self) -> PathBuf {
        self.search().inside()
    }

    fn search(&self) -> ProgramSearch<'_> {
        let CommandPrograms { path, cwd, root, check, .. } = *self;
        ProgramSearch { path, cwd, root, changed_dir: check.and_then(|check| check.dir.as_deref()) }
    }
}

/// The words that name what the whitelist saw in a command line: runners, and the tools behind them.
fn tools_of_check<'a>(check: &Check, words: impl Iterator<Item = &'a Path>) -> BTreeSet<String> {
    let tools: Vec<&str> = std::iter::once(&check.tool).chain(&check.also).map(String::as_str).collect();
    let runners: Vec<&str> = check.via.iter().filter_map(|via| via.split_whitespace().next()).collect();
    let is_named = |word: &str| {
        let name = name_of(word);
        // `cargo-test` is `cargo`.
        let is_tool =
            |tool: &&str| tool.strip_prefix(name.as_str()).is_some_and(|end| end.is_empty() || end.starts_with('-'));
        !name.is_empty() && (tools.iter().any(is_tool) || runners.contains(&name.as_str()))
    };
    let mut found = BTreeSet::new();
    for word in words.take(WORDS_MAX) {
        let text = word.to_string_lossy();
        // A shell line is one word.
        let words = if text.contains(' ') { shell_words::split(&text).unwrap_or_default() } else { vec![text.into()] };
        found.extend(words.into_iter().take(WORDS_MAX).filter(|word| is_named(word)));
    }
    found
}

/// `eslint` of `node_modules/.bin/eslint` and of `eslint@9`.
fn name_of(word: &str) -> String {
    String::from_utf8_lossy(whitelist::base_name(whitelist::package_name(word.as_bytes()))).into_owned()
}

/// Where programs are.
struct ProgramSearch<'a> {
    path: &'a OsStr,
    cwd: &'a Path,
    root: &'a Path,
    changed_dir: Option<&'a str>,
}

impl ProgramSearch<'_> {
    /// What `execvp` finds, past shims: a shim leads to the next program of the name.
    fn on_path(&self, name: &Path) -> Option<PathBuf> {
        if name.as_os_str().as_bytes().contains(&b'/') {
            return Some(self.cwd.join(name)).filter(|file| is_program(file));
        }
        let folders =
            self.path.as_bytes().split(|byte| *byte == b':').map(|folder| self.cwd.join(OsStr::from_bytes(folder)));
        let mut files = folders.map(|folder| (folder.join(name), folder)).filter(|(file, _)| is_program(file));
        files.find(|(_, folder)| !is_shims_folder(folder.as_os_str().as_bytes())).map(|(file, _)| file)
    }

    fn inside(&self) -> PathBuf {
        self.changed_dir.map_or_else(|| self.cwd.to_owned(), |dir| self.cwd.join(dir))
    }

    /// What package runners find.
    fn in_project(&self, word: &str) -> Option<PathBuf> {
        let inside = self.inside();
        if word.contains('/') && is_program(&inside.join(word)) {
            return Some(inside.join(word));
        }
        let name = name_of(word);
        let folders = inside.ancestors().take(FOLDERS_MAX).take_while(|folder| folder.starts_with(self.root));
        let files = folders.flat_map(|folder| PROJECT_PROGRAMS.map(|place| folder.join(place).join(&name)));
        files.into_iter().find(|file| is_program(file))
    }
}

struct Digest {
    hasher: blake3::Hasher,
    started_at: Timestamp,
}

impl Digest {
    fn add_part(&mut self, bytes: &[u8]) {
        self.hasher.update(&(bytes.len() as u64).to_le_bytes());
        self.hasher.update(bytes);
    }

    /// A file and its interpreter; `None` when one of them isn't what it was when the run began.
    fn add_file(&mut self, search: &ProgramSearch<'_>, file: &Path) -> Option<()> {
        self.add_stamp(file)?;
        if let Some(interpreter) = interpreter_of(file)
            && let Some(file) = search.on_path(Path::new(&interpreter))
        {
            self.add_stamp(&file)?;
        }
        Some(())
    }

    fn add_stamp(&mut self, file: &Path) -> Option<()> {
        let real = fs::canonicalize(file).ok()?;
        let metadata = fs::metadata(&real).ok()?;
        // By the kernel: package managers set the other time to what the archive says.
        let changed_at = metadata.ctime().saturating_mul(1_000_000).saturating_add(metadata.ctime_nsec() / 1_000);
        if changed_at > self.started_at.0 {
            return None;
        }
        self.add_part(file.as_os_str().as_bytes());
        self.add_part(real.as_os_str().as_bytes());
        let times = [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()];
        times.iter().for_each(|time| self.add_part(&time.to_le_bytes()));
        self.add_part(&metadata.len().to_le_bytes());
        Some(())
    }
}

/// What a script's first line names: `/bin/sh`, and `node` of `/usr/bin/env node`.
fn interpreter_of(file: &Path) -> Option<String> {
    let mut head = Vec::new();
    File::open(file).ok()?.take(INTERPRETER_BYTES_MAX).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_whitespace();
    let program = words.next()?;
    if !program.ends_with("/env") {
        return Some(program.to_owned());
    }
    words.find(|word| !word.starts_with('-') && !word.contains('=')).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::base::ids::RunId;
    use crate::base::lossless::Lossless;
    use crate::capture::{EnvironmentDigest, Identity, RepositoryHead};
    use crate::run::CommandEnd;
    use crate::whitelist::{CheckDecision, CheckKind, Whitelist};

    struct Project(tempfile::TempDir);

    impl Project {
        fn new() -> Self {
            let project = Project(tempfile::tempdir().expect("a folder"));
            for name in ["npx", "timeout", "sh", "cargo", "node"] {
                project.install(&format!("bin/{name}"), "1");
            }
            project.install("root/web/node_modules/.bin/eslint", "#!/usr/bin/env node\n1");
            project
        }

        fn install(&self, path: &str, content: &str) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(&path, content).expect("written");
            fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("executable");
        }

        /// A run that begins now, after every file time.
        fn run(&self, argv: &[&str], check: Option<Check>) -> SpoolHeader {
            let root = self.0.path().join("root");
            std::thread::sleep(std::time::Duration::from_millis(20));
            SpoolHeader {
                schema: 1,
                run: RunId::fresh(),
                argv: argv.iter().map(Lossless::from).collect(),
                cwd: Lossless::from(&root),
                repository: RepositoryHead { root: Lossless::from(&root), head: None, commit: None },
                started_at: Timestamp::now(),
                ended_at: Timestamp::now(),
                duration_us: 1,
                ended: CommandEnd::Exit(1),
                check,
                key: String::new(),
                identity: Identity::default(),
                kept_bytes: 0,
                cut_bytes: 0,
                cut_at: 0,
                shared: false,
                partly_seen: false,
                reader_left: false,
                interrupted: false,
                on_terminal: false,
                redacted: false,
                observed_via: None,
                call: None,
                checked_state: None,
                tree: None,
                environment: Some(EnvironmentDigest {
                    digest: String::new(),
                    path: Some(Lossless::from(&format!("/nowhere:{}", self.0.path().join("bin").display()))),
                }),
            }
        }

        /// Of a command line, as the shipped whitelist sees it.
        fn program(&self, line: &str) -> Option<String> {
            let argv = if line.contains("&&") {
                vec!["sh".to_owned(), "-c".to_owned(), line.to_owned()]
            } else {
                shell_words::split(line).expect("words")
            };
            let words: Vec<std::ffi::OsString> = argv.iter().map(Into::into).collect();
            let CheckDecision::Check(check) = Whitelist::shipped_only().decide_command(&words) else {
                panic!("no check: {line}")
            };
            digest_programs(&self.run(&argv.iter().map(String::as_str).collect::<Vec<_>>(), Some(check)))
        }
    }

    #[test]
    fn an_update_of_what_runs_is_seen_and_of_nothing_else() {
        let project = Project::new();
        let lines =
            ["npx eslint web", "cd web && npx eslint .", "timeout 9 cargo test", "node node_modules/.bin/eslint"];
        let seen = |line: &str| project.program(line).unwrap_or_else(|| panic!("{line} is found"));
        let all = || lines.map(seen);
        let before = all();
        assert_eq!(before, all());
        let changed = |path: &str, content: &str| {
            let before = all();
            project.install(path, content);
            let after = all();
            [0, 1, 2, 3].map(|index| before[index] != after[index])
        };
        assert_eq!(changed("bin/other", "1"), [false; 4]);
        assert_eq!(changed("bin/npx", "2"), [true, true, false, false]);
        assert_eq!(changed("bin/cargo", "2"), [false, false, true, false]);
        // Of the same size, and seen through the runner, where the line goes.
        assert_eq!(changed("root/web/node_modules/.bin/eslint", "#!/usr/bin/env node\n2"), [false, true, false, false]);
        // It interprets the script, and is the last one's program.
        assert_eq!(changed("bin/node", "2"), [false, true, false, true]);
        assert_eq!(changed("root/node_modules/.bin/eslint", "1"), [true, false, false, true]);
    }

    #[test]
    fn a_link_that_goes_elsewhere_is_another_program() {
        let project = Project::new();
        let (one, two) = (project.0.path().join("one"), project.0.path().join("two"));
        project.install("one", "1");
        project.install("two", "1");
        let link = project.0.path().join("bin/pytest");
        symlink(one, &link).expect("a link");
        let before = project.program("pytest -q");
        assert!(before.is_some());
        fs::remove_file(&link).expect("removed");
        symlink(two, &link).expect("a link");
        assert_ne!(project.program("pytest -q"), before);
    }

    #[test]
    fn a_shim_is_the_program_behind_it() {
        let project = Project::new();
        let before = project.program("cargo test");
        project.install("nowhere/verify-run/shims/cargo", "ours");
        let header = project.run(&["cargo", "test"], None);
        let bin = project.0.path().join("bin");
        let with_shims = format!("{}:{}", project.0.path().join("nowhere/verify-run/shims").display(), bin.display());
        let environment = header
            .environment
            .clone()
            .map(|environment| EnvironmentDigest { path: Some(Lossless::from(&with_shims)), ..environment });
        assert_eq!(digest_programs(&SpoolHeader { environment, ..header.clone() }), digest_programs(&header));
        assert_eq!(project.program("cargo test"), before);
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        let project = Project::new();
        assert_eq!(digest_programs(&project.run(&["missing"], None)), None);
        assert!(digest_programs(&project.run(&["cargo", "test"], None)).is_some());
        let header = project.run(&["cargo", "test"], None);
        // As an update while the run was under way, or before it was recorded. On a busy virtual machine the clock of
        // file times stops for longer than its tick.
        let file = project.0.path().join("bin/cargo");
        let is_later = || {
            project.install("bin/cargo", "2");
            let changed = fs::metadata(&file).expect("there");
            changed.ctime() * 1_000_000 + changed.ctime_nsec() / 1_000 > header.started_at.0
        };
        while !is_later() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(digest_programs(&header), None);
        let header = project.run(&["cargo", "test"], None);
        assert_eq!(digest_programs(&SpoolHeader { environment: None, ..header.clone() }), None);
        let elsewhere = Check { elsewhere: true, ..Check::new("cargo-test", CheckKind::Test) };
        assert_eq!(digest_programs(&SpoolHeader { check: Some(elsewhere), ..header }), None);
    }
}
