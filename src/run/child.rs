//! The new process on its way to becoming the command.

use std::ffi::c_int;

use nix::libc;

use super::plan::ChildEnds;
use super::program::Program;
use super::signals::Signals;
use super::sys;

/// Gives everything back as the wrapper found it, puts the channels in place and executes the command. Runs in the
/// wrapper's memory (see [`sys::start`]); returns the code to exit with when that failed.
pub(super) fn become_command(program: &Program, ends: &ChildEnds, signals: &Signals, wrapper: libc::pid_t) -> c_int {
    sys::die_with_parent();
    // (0 after `unshare --pid`: the parent is in another PID namespace.)
    if ![wrapper, 0].contains(&sys::parent_id()) {
        // The wrapper was killed before the line above could take effect.
        return 128 + libc::SIGKILL;
    }
    if ends.install().is_err() {
        return 125;
    }
    signals.restore_for_command();
    program.replace_process()
}
