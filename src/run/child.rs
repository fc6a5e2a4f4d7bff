//! The forked process on its way to becoming the command.

use nix::libc;

use super::plan::Ends;
use super::program::Program;
use super::signals::Signals;
use super::sys;

/// Gives everything back as the wrapper found it, puts the channels in place and executes the command.
pub fn become_command(program: &Program, ends: &Ends, signals: &Signals, wrapper: libc::pid_t) -> ! {
    sys::die_with_parent();
    // (0 after `unshare --pid`: the parent is in another PID namespace.)
    if ![wrapper, 0].contains(&sys::parent_id()) {
        // The wrapper was killed before the line above could take effect.
        sys::exit_now(128 + libc::SIGKILL);
    }
    if ends.install().is_err() {
        sys::exit_now(125);
    }
    signals.restore();
    sys::exit_now(program.replace_process())
}
