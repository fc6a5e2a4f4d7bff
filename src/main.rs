//! The binary: hands the untouched process over to [`verify_run::surface::start`].
//!
//! `no_main`, because Rust's start-up code opens `/dev/null` on closed descriptors and ignores SIGPIPE before
//! `main` runs, and the wrapped command would inherit both.
#![no_main]

use std::ffi::{CStr, OsString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;

use verify_run::base::arena::StartArena;

#[global_allocator]
static MEMORY: StartArena = StartArena::new();

/// Entry point as the C library calls it. The standard library finds the arguments without help only with some of
/// them.
///
/// # Safety
/// `argv` holds `argc` strings.
#[allow(unsafe_code, reason = "the symbol name is what makes this the entry point")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn main(argc: c_int, argv: *const *const c_char) -> c_int {
    let count = usize::try_from(argc).unwrap_or(0);
    // SAFETY: the C library passes `argc` pointers to strings that live as long as the process.
    let argument = |i| unsafe { CStr::from_ptr(*argv.add(i)) };
    let arguments = (0..count).map(|i| OsString::from_vec(argument(i).to_bytes().to_vec())).collect();
    verify_run::surface::start(arguments)
}
