//! The one door to git: which program, which environment, how long, how much.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::{AccessFlags, access};

use super::SkippedSnapshot;
use crate::base::children::KnownChild;
use crate::base::file::read_start;
use crate::base::limits::{SNAPSHOT_LISTING_BYTES_MAX, SNAPSHOT_MESSAGE_BYTES_MAX};
use crate::base::text;

/// How long a git that was killed may take to be gone, milliseconds; a dead network disk must not hold us.
const KILLED_MS_MAX: u64 = 500;

/// Options for git in the user's own repository: its settings hold except for these.
const CALLER_CONFIGURATION: [&str; 7] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.quotePath=false",
    "diff.renameLimit=1000",
    "protocol.allow=never",
    // What it finds from a working directory may have been tracked by the repository around it.
    "safe.bareRepository=explicit",
];
/// The settings by which git runs a program on a file's content; whatever the name between.
const FILTERS: &str = "^filter\\..*\\.(clean|smudge|process|required)$";
/// Variables of the caller that would make git start a program or print something else.
const MISLEADING: [&str; 5] = ["GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS", "GIT_PAGER", "GIT_LITERAL_PATHSPECS", "GIT_TRACE"];

/// Why git did not give an answer.
#[derive(Debug)]
pub(super) enum GitError {
    /// The time is up.
    Late,
    /// It printed more than is read.
    TooMuch,
    /// This work tree is not one for snapshots, and won't be soon.
    Unfit(String),
    /// It ended with an error, or could not be started.
    Failed(String),
}

impl From<io::Error> for GitError {
    fn from(error: io::Error) -> Self {
        GitError::Failed(error.to_string())
    }
}

impl GitError {
    /// For people.
    pub(super) fn reason_text(&self) -> String {
        match self {
            GitError::Late => "git did not finish in time".to_owned(),
            GitError::TooMuch => "git printed more than the limit".to_owned(),
            GitError::Unfit(why) | GitError::Failed(why) => why.clone(),
        }
    }
}

/// git, set up for one work tree.
#[derive(Debug)]
pub(super) struct Git {
    program: PathBuf,
    /// Working directory of every git: the work tree's top.
    root: PathBuf,
    /// Our git folder.
    git_dir: PathBuf,
    /// Our objects.
    objects: PathBuf,
    /// The user's objects, as git wants the list of alternates.
    alternates: OsString,
    /// The user's git folder, for the questions that only it can answer.
    user_git_dir: PathBuf,
    /// Where what goes in and comes out as an error is recorded.
    scratch: PathBuf,
    /// Settings of the user's repository that are emptied.
    emptied: Vec<OsString>,
    /// The index to use in place of that of our git folder.
    index: Option<PathBuf>,
    time: GitTime,
}

/// How long git may take.
#[derive(Debug, Clone, Copy)]
enum GitTime {
    /// All questions together.
    Until(Instant),
    /// Each question.
    Each(Duration),
}

/// Whose repository a git looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitView {
    /// Ours, and only what is in our objects.
    Own,
    /// Ours, with the user's objects to read.
    Both,
    /// The user's: only what reads one file or two, and starts nothing.
    User,
    /// The user's, as it is for the program that called us: git tells its hooks by
    /// variables which index is meant.
    Caller,
}

/// Where everything is; see [`Git`].
#[derive(Debug)]
pub(super) struct GitFolders {
    pub root: PathBuf,
    pub git_dir: PathBuf,
    pub objects: PathBuf,
    pub user_git_dir: PathBuf,
    pub user_objects: PathBuf,
    pub scratch: PathBuf,
}

impl Git {
    /// git for these folders, until that time. Nothing is started yet.
    pub(super) fn new(folders: GitFolders, until: Instant) -> Result<Self, SkippedSnapshot> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let Some(program) = find_program(&path, &folders.root) else {
            return Err(SkippedSnapshot::with_reason("git is not installed"));
        };
        Ok(Git {
            program,
            alternates: alternates_value(&folders.user_objects),
            root: folders.root,
            git_dir: folders.git_dir,
            objects: folders.objects,
            user_git_dir: folders.user_git_dir,
            scratch: folders.scratch,
            emptied: Vec::new(),
            index: None,
            time: GitTime::Until(until),
        })
    }

    /// The program.
    pub(super) fn program_path(&self) -> &Path {
        &self.program
    }

    /// The work tree's top.
    pub(super) fn root_path(&self) -> &Path {
        &self.root
    }

    /// Our objects.
    pub(super) fn objects_path(&self) -> &Path {
        &self.objects
    }

    /// Our git folder.
    pub(super) fn git_dir_path(&self) -> &Path {
        &self.git_dir
    }

    /// A folder for files that are needed for a moment.
    pub(super) fn scratch_path(&self) -> &Path {
        &self.scratch
    }

    /// The same with another time limit.
    pub(super) fn set_deadline(&mut self, until: Instant) {
        self.time = GitTime::Until(until);
    }

    /// From now on every question may take this long, however long ago the first one was.
    pub(super) fn limit_each(&mut self, time: Duration) {
        self.time = GitTime::Each(time);
    }

    /// When a question that is asked now is late.
    fn deadline(&self) -> Instant {
        match self.time {
            GitTime::Until(until) => until,
            GitTime::Each(time) => Instant::now() + time,
        }
    }

    /// Lets [`GitView::Both`] read these objects too.
    pub(super) fn add_alternate(&mut self, objects: &Path) {
        self.alternates.push(":");
        self.alternates.push(quoted_path(objects));
    }

    /// Uses this index file in our git folder.
    pub(super) fn set_index(&mut self, index: PathBuf) {
        self.index = Some(index);
    }

    /// The full name of the branch that is checked out in the user's work tree; `None` for a detached `HEAD`.
    pub(super) fn current_branch(&self) -> Option<String> {
        let head = read_start(&self.user_git_dir.join("HEAD"), 4 << 10).unwrap_or_default();
        let head = String::from_utf8_lossy(&head).trim().strip_prefix("ref: ").map(str::to_owned)?;
        // A repository whose references are in tables says so by a name that no branch has.
        if head != "refs/heads/.invalid" {
            return Some(head);
        }
        let asked = self.run(GitView::User, ["symbolic-ref", "--quiet", "HEAD"], None).ok()?;
        Some(String::from_utf8_lossy(&asked).trim().to_owned())
    }

    /// From now on no filter driver runs in the caller's repository: a configuration that came with a project can name any
    /// program. A file that was changed is compared as it is on the disk.
    pub(super) fn empty_filters(&mut self) -> Result<(), GitError> {
        let listed = match self.run(GitView::Caller, ["config", "--null", "--name-only", "--get-regexp", FILTERS], None)
        {
            Err(GitError::Failed(why)) if why.ends_with(": exit status: 1") => Vec::new(),
            listed => listed?,
        };
        let names = listed.split(|&byte| byte == 0).filter(|name| !name.is_empty());
        self.emptied = names.map(|name| OsString::from_vec(name.to_vec())).collect();
        self.emptied.sort();
        self.emptied.dedup();
        Ok(())
    }

    /// Whether the time is up.
    pub(super) fn check_time(&self) -> Result<(), GitError> {
        if Instant::now() < self.deadline() { Ok(()) } else { Err(GitError::Late) }
    }

    /// Runs git with these arguments and `input` on its standard input; what it printed.
    pub(super) fn run<A: AsRef<OsStr>>(
        &self,
        view: GitView,
        arguments: impl IntoIterator<Item = A>,
        input: Option<&[u8]>,
    ) -> Result<Vec<u8>, GitError> {
        self.run_in(view, self.index.as_deref(), arguments, input)
    }

    /// As [`Git::run`], with this index file.
    pub(super) fn run_with_index<A: AsRef<OsStr>>(
        &self,
        view: GitView,
        index: &Path,
        arguments: impl IntoIterator<Item = A>,
        input: Option<&[u8]>,
    ) -> Result<Vec<u8>, GitError> {
        self.run_in(view, Some(index), arguments, input)
    }

    #[allow(clippy::disallowed_methods, reason = "the one door to git")]
    fn run_in<A: AsRef<OsStr>>(
        &self,
        view: GitView,
        index: Option<&Path>,
        arguments: impl IntoIterator<Item = A>,
        input: Option<&[u8]>,
    ) -> Result<Vec<u8>, GitError> {
        self.check_time()?;
        let arguments: Vec<OsString> = arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
        let mut command = std::process::Command::new(&self.program);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // A hook's git folder is relative to its working directory.
        if view != GitView::Caller || std::env::var_os("GIT_DIR").is_none() {
            command.current_dir(&self.root);
        }
        command.stdin(match input {
            Some(bytes) => Stdio::from(self.input_file(bytes)?),
            None => Stdio::null(),
        });
        self.set_environment(&mut command, view, index);
        if view == GitView::Caller {
            for setting in CALLER_CONFIGURATION {
                command.arg("-c").arg(setting);
            }
        }
        command.arg("--no-pager").args(&arguments);
        let named = arguments.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let started = KnownChild::spawn(&mut command);
        let mut child = started.map_err(|error| GitError::Failed(format!("cannot start git: {error}")))?;
        let (printed, said) = match self.read_output(&mut child) {
            Ok(read) => read,
            Err(trouble) => {
                let _ = child.kill();
                // Its end closes the pipe; one that hangs in a system call is left to hang.
                if let Some(stdout) = &child.stdout {
                    wait_readable(&[stdout.as_fd()], Duration::from_millis(KILLED_MS_MAX));
                }
                let _ = child.try_wait();
                return Err(trouble);
            }
        };
        let status = child.wait()?;
        if status.success() {
            return Ok(printed);
        }
        let said = String::from_utf8_lossy(&said);
        let said = text::one_line(said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default());
        let colon = if said.is_empty() { "" } else { ": " };
        Err(GitError::Failed(format!("git {named}{colon}{said}: {status}")))
    }

    /// What it prints until it closes both its streams: standard output, and the start of standard error.
    fn read_output(&self, child: &mut Child) -> Result<(Vec<u8>, Vec<u8>), GitError> {
        let (Some(stdout), Some(stderr)) = (child.stdout.as_mut(), child.stderr.as_mut()) else {
            return Ok((Vec::new(), Vec::new()));
        };
        let (mut printed, mut said) = (Vec::new(), Vec::new());
        let (mut prints, mut says) = (true, true);
        let mut piece = vec![0; 16 << 10];
        let until = self.deadline();
        while prints || says {
            let left = until.saturating_duration_since(Instant::now());
            let watched: &[BorrowedFd<'_>] = match (prints, says) {
                (true, true) => &[stdout.as_fd(), stderr.as_fd()],
                (true, false) => &[stdout.as_fd()],
                _ => &[stderr.as_fd()],
            };
            let Some(which) = wait_readable(watched, left) else { return Err(GitError::Late) };
            if prints && which == 0 {
                let count = read_piece(stdout, &mut piece)?;
                printed.extend_from_slice(&piece[..count]);
                prints = count > 0;
            } else {
                let count = read_piece(stderr, &mut piece)?;
                let room = SNAPSHOT_MESSAGE_BYTES_MAX.saturating_sub(said.len());
                said.extend_from_slice(&piece[..count.min(room)]);
                says = count > 0;
            }
            if printed.len() > SNAPSHOT_LISTING_BYTES_MAX {
                return Err(GitError::TooMuch);
            }
        }
        Ok((printed, said))
    }

    fn set_environment(&self, command: &mut std::process::Command, view: GitView, index: Option<&Path>) {
        if view == GitView::Caller {
            MISLEADING.iter().for_each(|name| {
                command.env_remove(name);
            });
            command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
            command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "none");
            self.empty_settings(command);
            return;
        }
        for (name, _) in std::env::vars_os() {
            let name_bytes = name.as_bytes();
            // The user's own settings may come by variables, too; anything else is about another git at work.
            let is_setting = view == GitView::User && name_bytes.starts_with(b"GIT_CONFIG");
            if name_bytes.starts_with(b"GIT_") && !is_setting {
                command.env_remove(name);
            }
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0");
        command.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_NO_LAZY_FETCH", "1");
        // It overrides what a configuration allows by a protocol's name.
        command.env("GIT_ALLOW_PROTOCOL", "none");
        if view == GitView::User {
            command.env("GIT_DIR", &self.user_git_dir);
            return;
        }
        command.env("GIT_DIR", &self.git_dir).env("GIT_WORK_TREE", &self.root);
        command.env("GIT_OBJECT_DIRECTORY", &self.objects);
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        if let Some(index) = index {
            command.env("GIT_INDEX_FILE", index);
        }
        if view == GitView::Both {
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", &self.alternates);
        }
    }

    /// Empties them by variables, behind those that the caller has set in this way: unlike `-c`, they take any name.
    fn empty_settings(&self, command: &mut std::process::Command) {
        if self.emptied.is_empty() {
            return;
        }
        let count = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
        for (number, name) in (count..).zip(&self.emptied) {
            let value = if name.as_bytes().ends_with(b".required") { "false" } else { "" };
            command.env(format!("GIT_CONFIG_KEY_{number}"), name).env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command.env("GIT_CONFIG_COUNT", (count + self.emptied.len()).to_string());
    }

    /// A file with this content, open at its start: a pipe would have to be filled while the answer is read. It has no
    /// name, so that several may be asked at once.
    fn input_file(&self, content: &[u8]) -> io::Result<File> {
        let mut file = tempfile::tempfile_in(&self.scratch)?;
        file.write_all(content)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }
}

/// The first of these from which something can be read, or whose other end is closed; `None` when the time is up.
fn wait_readable(files: &[BorrowedFd<'_>], limit: Duration) -> Option<usize> {
    let until = Instant::now() + limit;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        // Rounded up: a rest of less than a millisecond would be asked about without waiting.
        let millis = u16::try_from(left.as_millis() + 1).unwrap_or(u16::MAX);
        let mut watched: Vec<_> = files.iter().map(|file| PollFd::new(*file, PollFlags::POLLIN)).collect();
        let answer = poll(&mut watched, PollTimeout::from(millis));
        if let Some(which) = watched.iter().position(|it| it.revents().is_some_and(|events| !events.is_empty())) {
            return Some(which);
        }
        let goes_on = matches!(answer, Ok(_) | Err(nix::errno::Errno::EINTR));
        if !goes_on || Instant::now() >= until {
            return None;
        }
    }
}

fn read_piece(file: &mut impl Read, piece: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// The git that PATH has first. A folder that is relative or inside the work tree doesn't count: what a repository
/// brings along must not run here.
fn find_program(path: &OsStr, root: &Path) -> Option<PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute() && !folder.starts_with(root));
    folders.map(|folder| folder.join("git")).find(|program| {
        access(program, AccessFlags::X_OK).is_ok() && fs::metadata(program).is_ok_and(|it| it.is_file())
    })
}

/// The user's objects, and what they borrow by relative paths, which git follows only from the repository itself.
fn alternates_value(objects: &Path) -> OsString {
    let mut list = quoted_path(objects);
    let borrowed = read_start(&objects.join("info/alternates"), 64 << 10).unwrap_or_default();
    for line in borrowed.split(|&byte| byte == b'\n').filter(|line| !line.is_empty() && !b"#\"/".contains(&line[0])) {
        list.push(":");
        list.push(quoted_path(&objects.join(OsStr::from_bytes(line))));
    }
    list
}

/// A path quoted as in C: a colon in git's list of alternates, a line end in a list of files, is no separator.
pub(super) fn quoted_path(path: &Path) -> OsString {
    let mut text = vec![b'"'];
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'"' | b'\\' => text.extend([b'\\', byte]),
            b'\n' => text.extend(b"\\n"),
            _ => text.push(byte),
        }
    }
    text.push(b'"');
    OsString::from_vec(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_git_that_the_repository_brings_along_is_not_run() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().join("root");
        for folder in [root.join("bin"), dir.path().join("bin")] {
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join("git"), "").expect("a file");
            let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(folder.join("git"), executable).expect("permissions");
        }
        let path = std::env::join_paths([Path::new("bin"), &root.join("bin"), &dir.path().join("bin")]).expect("PATH");
        assert_eq!(find_program(&path, &root), Some(dir.path().join("bin/git")));
        assert_eq!(find_program(OsStr::new(""), &root), None);
    }

    #[test]
    fn a_colon_in_a_path_is_no_separator() {
        let list = alternates_value(Path::new("/a:b/\"c\"/objects"));
        assert_eq!(list, "\"/a:b/\\\"c\\\"/objects\"");
    }

    #[test]
    fn a_time_for_each_question_is_not_used_up_by_the_one_before() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = || dir.path().to_owned();
        let folders = GitFolders {
            root: path(),
            git_dir: path(),
            objects: path(),
            user_git_dir: path(),
            user_objects: path(),
            scratch: path(),
        };
        let mut git = Git::new(folders, Instant::now()).expect("git");
        let ask = |git: &Git| git.run(GitView::Own, ["version"], None);
        assert!(matches!(ask(&git), Err(GitError::Late)));
        git.limit_each(Duration::from_secs(60));
        assert!(ask(&git).is_ok_and(|printed| printed.starts_with(b"git version")));
    }
}
