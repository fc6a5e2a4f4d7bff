//! The command key: two runs with the same key are the same check, so that the second one's pass can close the
//! first one's failure.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// What a command key is made of; see [`KeyParts::hash`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyParts {
    /// Top of the work tree: two work trees of one repository have different keys.
    pub worktree: PathBuf,
    /// The tool class (`pytest`, `package.json:test`), or the program of a command that is not a check.
    pub subject: String,
    /// The check's kind, empty for a command that is not a check.
    pub kind: String,
    /// Where it runs, relative to the work tree; empty at its top, absolute when outside.
    pub directory: PathBuf,
    /// Paths, test filters, packages and options that change what is checked, sorted. The arguments in their order
    /// for a command that is not a check.
    pub selectors: Vec<OsString>,
}

impl KeyParts {
    /// Names the directory that `directory` is, seen from `cwd`, relative to `worktree`. `..` and `.` are taken out
    /// of the text; the file system is not asked, because this is on the run path.
    pub fn directory(worktree: &Path, cwd: &Path, directory: Option<&Path>) -> PathBuf {
        let absolute = directory.map_or_else(|| cwd.to_owned(), |directory| cwd.join(directory));
        let mut clean = PathBuf::new();
        for component in absolute.components() {
            match component {
                Component::ParentDir => {
                    clean.pop();
                }
                Component::CurDir => {}
                other => clean.push(other),
            }
        }
        clean.strip_prefix(worktree).map(Path::to_owned).unwrap_or(clean)
    }

    /// As [`KeyParts::hash`], of what two runs need to have in common so that one can look at what the other found:
    /// without directory and selectors.
    pub fn class(&self) -> String {
        let parts = [self.worktree.as_os_str(), OsStr::new(&self.subject), OsStr::new(&self.kind)];
        hash(b"verify-run command class 1", parts.into_iter())
    }

    /// 32 hex characters of BLAKE3 over the parts, each with its length, so that no two lists of parts read the same.
    pub fn hash(&self) -> String {
        let parts = [self.worktree.as_os_str(), OsStr::new(&self.subject), OsStr::new(&self.kind)];
        let rest = self.selectors.iter().map(OsString::as_os_str);
        let parts = parts.into_iter().chain([self.directory.as_os_str()]).chain(rest);
        hash(b"verify-run command key 1", parts)
    }
}

fn hash<'a>(domain: &[u8], parts: impl Iterator<Item = &'a OsStr>) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(domain);
    parts.for_each(|bytes| part(bytes.as_bytes()));
    hasher.finalize().to_hex()[..32].to_owned()
}
