//! The command line as the kernel takes it.

use std::ffi::{CString, OsString, c_char, c_int};
use std::io;
use std::os::unix::ffi::OsStringExt;

use nix::libc;

use super::sys;

/// Found, but it could not be executed; the code of env(1) and of every shell.
const CANNOT_EXECUTE: c_int = 126;
/// Not found.
const NOT_FOUND: c_int = 127;

/// A command to execute: at least one word.
#[derive(Debug)]
pub struct Program {
    words: Vec<CString>,
}

impl Program {
    /// From the words of an argv. `None` without a word, or with a NUL inside of one (which no argv has).
    pub fn new(words: &[OsString]) -> Option<Self> {
        let words: Option<Vec<CString>> = words.iter().map(|word| CString::new(word.clone().into_vec()).ok()).collect();
        words.filter(|words| !words.is_empty()).map(|words| Program { words })
    }

    /// Replaces this process, as `exec` in a shell does: libc's own search of PATH, the environment as it is.
    ///
    /// Returns only when that failed: says why in one line on stderr, and gives the exit code, 126 or 127.
    pub fn replace_process(&self) -> c_int {
        let error = self.exec();
        let reason = error.to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default();
        let mut line = b"verify-run: cannot run '".to_vec();
        line.extend_from_slice(self.words[0].as_bytes());
        line.extend_from_slice(format!("': {reason}\n").as_bytes());
        sys::write_all(libc::STDERR_FILENO, &line);
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => NOT_FOUND,
            _ => CANNOT_EXECUTE,
        }
    }

    #[allow(unsafe_code, reason = "execvp; std's exec would change the signal mask and SIGPIPE")]
    fn exec(&self) -> io::Error {
        let mut argv: Vec<*const c_char> = self.words.iter().map(|word| word.as_ptr()).collect();
        argv.push(std::ptr::null());
        // SAFETY: `argv` is a null-terminated array of C strings that live in `self`.
        unsafe { libc::execvp(argv[0], argv.as_ptr()) };
        io::Error::last_os_error()
    }
}
