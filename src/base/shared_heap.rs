//! The C library's heap in a process that stays.
#![allow(unsafe_code, reason = "neither std nor nix offers the calls")]

/// Has all threads take their memory from one heap. glibc gives each thread one of its own: what a thread gave back after
/// a long list stays in its heap, and the next thread fills another one. Elsewhere there is only one anyway.
pub(crate) fn share_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes two numbers and may be made at any time; a limit that it does not know changes nothing.
    unsafe {
        nix::libc::mallopt(nix::libc::M_ARENA_MAX, 1);
    }
}

/// Gives the system back what glibc keeps of blocks that were freed: after work that took much more than what comes next.
pub(crate) fn give_back_freed() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it touches no block that is in use.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}
