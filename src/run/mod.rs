//! Running the command as if it were run bare.
//!
//! The wrapper puts itself between the command and a descriptor only where it has to (pipe, socket, terminal), hands
//! over an object of the same kind, and touches nothing else. One thread, one `poll` loop, no `std::process`: that
//! would empty the signal mask, reset SIGPIPE and rebuild the environment.
//!
//! - [`Program`] is the command line as C strings; it replaces the process or is started by [`supervise()`]
//! - [`Shim`] is this program under another one's name; `rounds` keeps it and other shims from going round
//! - `process` is what `/proc` says of one, and `nested` looks for a recording wrapper above us
//! - `plan` decides per descriptor, `channel` relays one stream, `pty` is the half terminal and `keys` what is
//!   typed for it, `files` reads back what went to a file, `input` looks at what there is to read
//! - `signals` receives what is sent to us and `canary` tells a signal to the group from one to us alone
//! - `linger` keeps relaying for a descendant that outlives the command
//! - [`Transcript`] is the bounded copy of the output; [`CommandEnd`] how it ended, and ending the same way

mod canary;
mod channel;
mod child;
mod detach;
mod ended;
mod files;
mod input;
mod keys;
mod linger;
mod nested;
mod plan;
mod process;
mod program;
mod pty;
mod rounds;
mod say;
mod shim;
mod signals;
mod supervise;
mod sys;
mod transcript;

pub use detach::{is_init, privileged, run_detached, session, start_detached, wait_for_end};
pub use ended::{CommandEnd, end_as};
pub use files::{FileExcerpt, FileRegion};
pub use input::has_input;
pub use nested::recording_ancestors;
pub use program::Program;
pub use pty::columns;
pub use rounds::ROUNDS;
pub use say::{has_stderr, say_on_stderr};
pub use shim::{MARK as SHIMS_MARK, Shim, as_command, is_shims_folder, real_program};
pub use signals::{ignore_broken_pipes, is_ignored};
pub use supervise::{FinishedCommand, RecordingName, release_signals, supervise};
pub use transcript::Transcript;
