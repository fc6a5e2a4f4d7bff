//! A shim: this program under the name of another one, in a folder of such links at the front of PATH.
//!
//! The program it represents is searched for at every call, as a shell does, past every folder of shims and
//! everything else that is this program. So nothing has to be remembered that a version manager, a virtual
//! environment or an update changes, and no variable has to be set.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::libc;

use super::rounds::{LoopCandidate, PassedProgram};
use super::sys;

/// The file that makes a folder one of shims, whatever the folder is called.
pub const MARK: &str = ".verify-run-shims";
/// How the folder's path ends unless the user chose another one.
const USUAL_END: &[u8] = b"/verify-run/shims";
/// Our own name: under it we are no shim, wherever we are.
const OWN_NAME: &[u8] = b"verify-run";

/// Programs that search PATH for their own `argv[0]` to find what belongs to them. They would find the shim, and not
/// their library (`python`, `cmake`), their compiler proper (`gcc`) or themselves (`php`), so they are given the path
/// that was found. Every other program gets `argv[0]` as it was typed. Names without a version.
const FINDS_ITSELF: [&str; 20] = [
    "python", "pypy", "php", "cmake", "ctest", "cpack", "gcc", "g++", "cc", "c++", "cpp", "gfortran", "gcov", "nvcc",
    "icx", "icpx", "ifort", "ifx", "tclsh", "wish",
];

/// What is in a place of PATH under a shim's name.
pub enum FoundProgram {
    /// What may be executed.
    Program,
    /// A shim, ours or of another installation.
    Ours,
    /// What would hand the call back here.
    Round(PassedProgram),
}

/// The call of a shim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shim {
    /// The program it represents.
    name: OsString,
    /// The shim itself, as it was called.
    path: CString,
    /// `argv[0]` is a path: whoever called has searched PATH itself, as other version managers do.
    by_path: bool,
}

impl Shim {
    /// The shim that this process was started as; `typed` is its `argv[0]`. `None` for verify-run itself, under whatever
    /// name it was installed.
    pub fn called(typed: &OsStr) -> Option<Self> {
        let by_path = typed.as_bytes().contains(&b'/');
        // A script whose first line names the shim is executed as the script; the shim is then what is typed.
        let typed = by_path.then(|| typed.as_bytes().to_vec());
        sys::executed_as().into_iter().chain(typed).find_map(|path| Shim::at(path, by_path))
    }

    fn at(path: Vec<u8>, by_path: bool) -> Option<Self> {
        let (folder, name) = split(&path);
        if name.is_empty() || name == OWN_NAME || !is_shims_folder(folder) {
            return None;
        }
        Some(Shim { name: OsStr::from_bytes(name).to_owned(), path: CString::new(path).ok()?, by_path })
    }

    /// The name of the program it represents.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Whether the program needs the path where it was found instead of what was typed.
    pub fn tells_path(&self) -> bool {
        let name = self.name.as_bytes();
        let end = name.iter().rposition(|byte| !byte.is_ascii_digit() && *byte != b'.').map_or(0, |at| at + 1);
        let stem = name[..end].strip_suffix(b"-").unwrap_or(&name[..end]);
        // `x86_64-linux-gnu-gcc` is a `gcc`.
        let last = stem.rsplit(|byte| *byte == b'-').next().unwrap_or(stem);
        self.by_path || FINDS_ITSELF.iter().any(|known| known.as_bytes() == last)
    }

    /// What `file`, in the folder `place` of PATH, is to this call.
    ///
    /// # Errors
    /// When it isn't there, or can't be reached.
    pub fn look_at(&self, place: &[u8], file: &CStr) -> io::Result<FoundProgram> {
        let folder = split(self.path.as_bytes()).0;
        if place == folder {
            return Ok(FoundProgram::Ours);
        }
        let found = sys::stat_file(file)?;
        if is_ours(&found, &self.path) || is_shims_folder(place) {
            return Ok(FoundProgram::Ours);
        }
        let candidate = LoopCandidate { shim: self, folder, place, file, found };
        Ok(candidate.round().map_or(FoundProgram::Program, FoundProgram::Round))
    }

    /// Whether it was called by a path.
    pub fn by_path(&self) -> bool {
        self.by_path
    }
}

/// Where the program `name` is on `path` (the value of `PATH`) when no shim is in front of it. `own` is this program.
pub fn real_program(name: &OsStr, path: &OsStr, own: &Path) -> Option<PathBuf> {
    let own = CString::new(own.as_os_str().as_bytes()).ok()?;
    std::env::split_paths(path).find_map(|place| {
        let file = place.join(name);
        let as_c = CString::new(file.as_os_str().as_bytes()).ok()?;
        let found = sys::stat_file(&as_c).ok()?;
        let is_program = found.st_mode & libc::S_IFMT == libc::S_IFREG && sys::may_execute(&as_c);
        (is_program && !is_ours(&found, &own) && !is_shims_folder(place.as_os_str().as_bytes())).then_some(file)
    })
}

/// Whether `folder` (empty for the working directory) is one of shims.
pub fn is_shims_folder(folder: &[u8]) -> bool {
    let trimmed = folder.iter().rposition(|byte| *byte != b'/').map_or(&folder[..0], |last| &folder[..=last]);
    if trimmed.ends_with(USUAL_END) {
        return true;
    }
    let between: &[u8] = if folder.is_empty() { b"" } else { b"/" };
    let mark = CString::new([folder, between, MARK.as_bytes()].concat());
    mark.is_ok_and(|mark| sys::stat_file(&mark).is_ok())
}

/// Whether a file is this program, which is at `own`.
fn is_ours(found: &libc::stat, own: &CStr) -> bool {
    sys::stat_file(own).is_ok_and(|own| (own.st_dev, own.st_ino) == (found.st_dev, found.st_ino))
}

/// Folder and name of a path; the folder is empty when there is none.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at.max(1).min(path.len())], &path[at + 1..]),
        None => (b"", path),
    }
}

/// The words of a shim's call as a command: the name, then the arguments.
pub fn as_command(shim: &Shim, typed: Vec<OsString>) -> Vec<OsString> {
    std::iter::once(shim.name.clone()).chain(typed.into_iter().skip(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str, by_path: bool) -> Option<Shim> {
        Shim::at(path.as_bytes().to_vec(), by_path)
    }

    #[test]
    fn only_what_is_in_a_folder_of_shims_is_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
        assert_eq!(at(&path("npm"), false), None);
        std::fs::write(path(MARK), "").expect("the mark");
        assert_eq!(at(&path("npm"), false).expect("a shim").name(), "npm");
        assert_eq!(at(&path("verify-run"), false), None);
        let usual = at("/home/u/.local/share/verify-run/shims/cargo", false).expect("a shim");
        assert_eq!(usual.name(), "cargo");
        assert_eq!(at("/usr/bin/vr", false), None);
        assert_eq!(at("vr", false), None);
    }

    #[test]
    fn programs_that_search_for_themselves_are_told_where_they_are() {
        let tells =
            |name: &str, by_path| at(&format!("/verify-run/shims/{name}"), by_path).expect("a shim").tells_path();
        for name in ["python", "python3", "python3.12", "gcc-12", "g++", "php8.2", "cmake", "arm-none-eabi-gcc"] {
            assert!(tells(name, false), "{name}");
        }
        for name in ["npm", "make", "pythonic", "3", "cargo"] {
            assert!(!tells(name, false), "{name}");
            assert!(tells(name, true), "{name} by a path");
        }
    }

    #[test]
    fn a_path_is_split_where_its_name_begins() {
        assert_eq!(split(b"/a/b/c"), (&b"/a/b"[..], &b"c"[..]));
        assert_eq!(split(b"/c"), (&b"/"[..], &b"c"[..]));
        assert_eq!(split(b"c"), (&b""[..], &b"c"[..]));
        assert_eq!(split(b"a/"), (&b"a"[..], &b""[..]));
    }
}
