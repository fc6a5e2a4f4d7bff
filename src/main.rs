//! The binary: hands the untouched process over to [`verify_run::surface::start`].
//!
//! `no_main`, because Rust's start-up code opens `/dev/null` on closed descriptors and ignores SIGPIPE before
//! `main` runs, and the wrapped command would inherit both.
#![no_main]

/// Entry point as the C library calls it.
#[allow(unsafe_code, reason = "the symbol name is what makes this the entry point")]
#[unsafe(no_mangle)]
pub extern "C" fn main(_argc: std::ffi::c_int, _argv: *const *const std::ffi::c_char) -> std::ffi::c_int {
    verify_run::surface::start()
}
