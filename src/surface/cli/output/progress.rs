//! One line on standard error that shows that a long operation goes on.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What is over sooner shows nothing.
const SHOWN_AFTER_MS: u64 = 500;
/// Time between two updates.
const UPDATE_MS: u64 = 250;

/// Shows on a terminal what goes on and for how long, until it is dropped, and leaves nothing behind.
pub(super) struct ProgressLine {
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressLine {
    /// `None` where standard error is not a terminal.
    pub(super) fn start(what: &'static str) -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let (stop, stopped) = mpsc::channel();
        let started = Instant::now();
        let draw = move || {
            let mut wait = SHOWN_AFTER_MS;
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(Duration::from_millis(wait)) {
                wait = UPDATE_MS;
                write_text(&format!("\r\x1b[2K{what}: {} s", started.elapsed().as_secs()));
            }
            if wait == UPDATE_MS {
                write_text("\r\x1b[2K");
            }
        };
        let thread = std::thread::Builder::new().name("progress".to_owned()).spawn(draw).ok();
        Some(ProgressLine { stop: Some(stop), thread })
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_text(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}
