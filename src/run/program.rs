//! The command line in the kernel's form.

use std::ffi::{CStr, CString, OsStr, OsString, c_char, c_int};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use nix::libc;

use super::shim::{FoundProgram, Shim};
use super::sys;

/// Found, but it could not be executed; the code of env(1) and of every shell.
const CANNOT_EXECUTE: c_int = 126;
/// Not found.
const NOT_FOUND: c_int = 127;

/// Where programs are without a PATH, as glibc has it.
const PATH_WHEN_UNSET: &str = "/bin:/usr/bin";

/// A command to execute: at least one word.
#[derive(Debug)]
pub struct Program {
    words: Vec<CString>,
    /// It is searched for past this shim, which was called in its place.
    shim: Option<Shim>,
}

impl Program {
    /// From the words of an argv. `None` without a word, or with a NUL inside of one (which no argv has).
    pub fn new(words: &[OsString]) -> Option<Self> {
        let words: Option<Vec<CString>> = words.iter().map(|word| CString::new(word.clone().into_vec()).ok()).collect();
        words.filter(|words| !words.is_empty()).map(|words| Program { words, shim: None })
    }

    /// The first word of the command.
    pub fn name(&self) -> &OsStr {
        OsStr::from_bytes(self.words[0].as_bytes())
    }

    /// The program that `shim` represents. `words` are the shim's own argv, from `argv[0]` as it was typed.
    pub fn behind(shim: Shim, words: &[OsString]) -> Option<Self> {
        Program::new(words).map(|program| Program { shim: Some(shim), ..program })
    }

    /// Replaces this process, as `exec` in a shell does: searched for in PATH, with the environment as it is.
    ///
    /// Returns only when that failed: says why in one line on stderr, and gives the exit code, 126 or 127.
    pub fn replace_process(&self) -> c_int {
        let error = self.exec();
        sys::write_all(libc::STDERR_FILENO, &self.complaint(&error));
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => NOT_FOUND,
            _ => CANNOT_EXECUTE,
        }
    }

    /// What a person reads: for a shim as a shell says it, since the user did not type verify-run.
    fn complaint(&self, error: &io::Error) -> Vec<u8> {
        let reason = error.to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default();
        match (&self.shim, error.raw_os_error()) {
            (Some(shim), Some(libc::ENOENT | libc::ENOTDIR)) => {
                [shim.name().as_bytes(), b": command not found\n"].concat()
            }
            (Some(shim), _) => [shim.name().as_bytes(), b": ", reason.as_bytes(), b"\n"].concat(),
            (None, _) => {
                [b"verify-run: cannot run '", self.words[0].as_bytes(), b"': ", reason.as_bytes(), b"\n"].concat()
            }
        }
    }

    /// Tries the places in turn as glibc's `execvp` does, whatever C library this is linked with: a place that can't
    /// be searched is passed over, "permission denied" is reported only when no other place has the program, and a
    /// file that is no program of the kernel's is a script for `/bin/sh`.
    fn exec(&self) -> io::Error {
        let name = self.shim.as_ref().map_or(self.words[0].as_bytes(), |shim| shim.name().as_bytes());
        let path = std::env::var_os("PATH").unwrap_or_else(|| PATH_WHEN_UNSET.into()).into_vec();
        let places = if name.contains(&b'/') { vec![&b""[..]] } else { path.split(|byte| *byte == b':').collect() };
        let mut denied = false;
        let mut last = io::Error::from_raw_os_error(libc::ENOENT);
        if name.is_empty() {
            return last;
        }
        let mut round = None;
        for place in places {
            let between = if place.is_empty() { &b""[..] } else { b"/" };
            let Ok(file) = CString::new([place, between, name].concat()) else { continue };
            let error = match self.shim.as_ref().map_or(Ok(FoundProgram::Program), |shim| shim.look_at(place, &file)) {
                Ok(FoundProgram::Program) => self.execute(&file),
                Ok(FoundProgram::Ours) => continue,
                Ok(FoundProgram::Round(with)) => {
                    round = round.or(Some((with, file)));
                    continue;
                }
                Err(error) => error,
            };
            match error.raw_os_error() {
                Some(libc::EACCES) => denied = true,
                Some(libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT) => {}
                _ => return error,
            }
            last = error;
        }
        if let Some((with, file)) = round
            && with.may_go_on()
        {
            return self.execute(&file);
        }
        if denied { io::Error::from_raw_os_error(libc::EACCES) } else { last }
    }

    /// Returns only when `file` could not be executed, neither as a program nor as a script.
    fn execute(&self, file: &CString) -> io::Error {
        let mut words: Vec<&CStr> = self.words.iter().map(CString::as_c_str).collect();
        let told;
        if self.shim.as_ref().is_some_and(Shim::tells_path) {
            // Without a slash it would search for itself all the same.
            let is_path = file.as_bytes().contains(&b'/');
            told = CString::new([if is_path { &b""[..] } else { b"./" }, file.as_bytes()].concat()).unwrap_or_default();
            words[0] = &told;
        }
        match execute(file, &words) {
            error if error.raw_os_error() == Some(libc::ENOEXEC) => {
                words[0] = file;
                words.insert(0, c"/bin/sh");
                execute(c"/bin/sh", &words)
            }
            error => error,
        }
    }
}

/// Returns only when `file` could not be executed.
#[allow(unsafe_code, reason = "execve; std's exec would change the signal mask and SIGPIPE")]
fn execute(file: &CStr, words: &[&CStr]) -> io::Error {
    let mut argv: Vec<*const c_char> = words.iter().map(|word| word.as_ptr()).collect();
    argv.push(std::ptr::null());
    // SAFETY: `argv` is a null-terminated array of C strings that live in `words`; the environment is the process's.
    unsafe { libc::execv(file.as_ptr(), argv.as_ptr()) };
    io::Error::last_os_error()
}
