//! The outer terminal of a test: a command on a real pseudo-terminal, its screen bytes and its keyboard.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use verify_run::run::CommandEnd;

use crate::sandbox::{Invocation, wait_until};

/// Size of every test's terminal.
const SIZE: PtySize = PtySize { rows: 24, cols: 80, pixel_width: 0, pixel_height: 0 };

/// A command running on a terminal.
pub(crate) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    screen: Arc<Mutex<Vec<u8>>>,
    reader: std::thread::JoinHandle<()>,
}

impl Terminal {
    /// Starts the command with stdin, stdout and stderr on a new terminal of 24 rows and 80 columns.
    pub(crate) fn start(invocation: Invocation<'_>) -> Self {
        let (argv, directory, variables) = invocation.into_parts();
        let pair = native_pty_system().openpty(SIZE).expect("a pseudo-terminal");
        let mut builder = CommandBuilder::from_argv(argv);
        builder.cwd(directory);
        builder.env_clear();
        for (name, value) in variables {
            builder.env(name, value);
        }
        builder.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(builder).expect("the program starts");
        drop(pair.slave);
        let screen = Arc::new(Mutex::new(Vec::new()));
        let source = pair.master.try_clone_reader().expect("the terminal's output");
        let reader = std::thread::spawn({
            let screen = Arc::clone(&screen);
            move || copy(source, &screen)
        });
        let keyboard = pair.master.take_writer().expect("the terminal's input");
        Terminal { child, master: pair.master, keyboard, screen, reader }
    }

    /// Types `bytes`.
    pub(crate) fn types(&mut self, bytes: impl AsRef<[u8]>) {
        self.keyboard.write_all(bytes.as_ref()).and_then(|()| self.keyboard.flush()).expect("typing");
    }

    /// Waits until the screen has shown `text`.
    pub(crate) fn shows(&self, text: &str) {
        wait_until(&format!("the terminal shows {text:?}"), || {
            memchr::memmem::find(&self.screen.lock().expect("the screen"), text.as_bytes()).is_some()
        });
    }

    /// What the screen has shown so far.
    pub(crate) fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().expect("the screen")).into_owned()
    }

    /// Changes the terminal's size, as a user dragging a window does.
    pub(crate) fn resize(&self, rows: u16, cols: u16) {
        self.master.resize(PtySize { rows, cols, ..SIZE }).expect("a new size");
    }

    /// The process id of the command.
    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.child.process_id().expect("a process id")).expect("ids fit")
    }

    /// Waits for the end: how the command ended, and every byte the terminal received.
    pub(crate) fn ends(mut self) -> (CommandEnd, Vec<u8>) {
        let status = self.child.wait().expect("the program's status");
        // The screen ends when the last process closes the terminal. The keyboard goes after that: dropping it types.
        self.reader.join().expect("the reading thread");
        drop((self.keyboard, self.master));
        let bytes = self.screen.lock().expect("the screen").clone();
        let ended = match status.signal() {
            Some(name) => panic!("killed: {name}"),
            None => CommandEnd::Exit(u8::try_from(status.exit_code()).expect("exit codes have eight bits")),
        };
        (ended, bytes)
    }
}

fn copy(mut source: Box<dyn Read + Send>, screen: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    // A terminal whose other side is gone reads as an error instead of an end.
    while let Ok(count @ 1..) = source.read(&mut buffer) {
        screen.lock().expect("the screen").extend_from_slice(&buffer[..count]);
    }
}
