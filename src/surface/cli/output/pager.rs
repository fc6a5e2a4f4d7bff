//! The pager that `--pager` asks for.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use crate::run;

/// What runs when PAGER is not set: it keeps colours, and ends at once when everything fits on the screen.
const PAGER: &str = "less -FRX";

/// A running pager that gets standard output's text.
pub(super) struct Pager {
    child: Child,
}

impl Pager {
    /// Starts `$PAGER`, a shell line as everywhere. From here on, a pager that was left early is a failing write.
    pub(super) fn start() -> io::Result<Self> {
        run::ignore_broken_pipes();
        let line = std::env::var("PAGER").ok().filter(|line| !line.trim().is_empty());
        #[allow(clippy::disallowed_methods, reason = "a pager is for the screen: nothing but the surface starts one")]
        let mut command = Command::new("sh");
        let child = command.arg("-c").arg(line.as_deref().unwrap_or(PAGER)).stdin(Stdio::piped()).spawn()?;
        Ok(Pager { child })
    }

    /// Gives `text` to the pager. One that was left early wants no more.
    pub(super) fn write(&mut self, text: &str) -> io::Result<()> {
        let Some(stdin) = &mut self.child.stdin else { return Ok(()) };
        match stdin.write_all(text.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }
}

impl Drop for Pager {
    /// Waits until the pager is left: the shell would take the terminal back before.
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
