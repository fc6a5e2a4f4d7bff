//! The dashboard as browsers and programs meet it: over TCP, with and without the token.

mod answers;
mod api;
mod browser;
mod decisions;
mod entries;
mod gate_and_library;
mod guard;
mod inbox;
mod kept_records;
mod live;
mod markup;
mod not_counted;
mod observed;
mod overview;
mod page_figures;
mod pages;
mod posted;
mod record_pages;
mod reverts;
mod served;

use std::io::{BufRead, BufReader, PipeReader, Read, Write};
use std::net::TcpStream;
use std::process::Child;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use verify_run::run::CommandEnd;

use crate::sandbox::{Sandbox, ended, read_all};

/// How long an answer may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running dashboard.
pub(crate) struct Dashboard {
    child: Child,
    output: BufReader<PipeReader>,
    errors: std::thread::JoinHandle<Vec<u8>>,
    port: u16,
    token: String,
}

/// An answer.
#[derive(Debug)]
struct Answer {
    status: u16,
    /// Names in small letters.
    headers: Vec<(String, String)>,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }
}

impl Dashboard {
    pub(crate) fn start(sandbox: &Sandbox, options: &[&str]) -> Self {
        let arguments = [&["dashboard", "--json"], options].concat();
        let (output, stdout) = std::io::pipe().expect("a pipe");
        let (errors, stderr) = std::io::pipe().expect("a pipe");
        let child = sandbox.verify_run(&arguments).fd(1, stdout).fd(2, stderr).spawn();
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        let address: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no address: {line}"));
        crate::json_replies::assert_valid("dashboard.json", &address, "dashboard --json");
        let port = address["port"].as_u64().and_then(|port| u16::try_from(port).ok()).expect("a port");
        let token = address["token"].as_str().expect("a token").to_owned();
        assert_eq!(address["url"], format!("http://127.0.0.1:{port}/?token={token}").as_str());
        Dashboard { child, output, errors: read_all(errors), port, token }
    }

    /// Starts one that listens at a socket, and waits until it does.
    fn start_at_socket(sandbox: &Sandbox, path: &str) -> Self {
        let (output, stdout) = std::io::pipe().expect("a pipe");
        let (errors, stderr) = std::io::pipe().expect("a pipe");
        let started = sandbox.verify_run(["dashboard", "--json", "--socket", path]).fd(1, stdout).fd(2, stderr);
        let child = started.spawn();
        let mut output = BufReader::new(output);
        let mut line = String::new();
        output.read_line(&mut line).expect("a line");
        let address: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no address: {line}"));
        crate::json_replies::assert_valid("dashboard.json", &address, "dashboard --json --socket");
        assert_eq!(
            (&address["socket"], &address["token"], &address["port"]),
            (&path.into(), &Value::Null, &Value::Null)
        );
        Dashboard { child, output, errors: read_all(errors), port: 0, token: String::new() }
    }

    /// Sends a request as it is, and reads the answer.
    fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("connects");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("it answers and closes");
        let text = String::from_utf8(bytes).expect("UTF-8");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
        Answer { status, headers, body: body.to_owned() }
    }

    /// A request with these further headers.
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request.push_str(&format!("Host: 127.0.0.1:{}\r\n", self.port));
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            request.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        self.send(&format!("{request}\r\n{body}"))
    }

    fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// What a program with the token gets.
    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[("Authorization", &self.bearer())], "")
    }

    /// As [`Dashboard::get`], a document.
    #[track_caller]
    fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
        answer.json()
    }

    /// Sends a document.
    fn post(&self, path: &str, body: &str) -> Answer {
        let headers = [("Authorization", &*self.bearer()), ("Content-Type", "application/json")];
        self.ask("POST", path, &headers, body)
    }

    /// Ends it by a signal: exit code 0, one line on stdout, nothing on stderr.
    #[track_caller]
    pub(crate) fn ends(self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).expect("it runs");
        self.has_ended();
    }

    /// Waits until it has ended on its own.
    #[track_caller]
    fn has_ended(mut self) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("its output");
        let status = ended(self.child.wait().expect("a status"));
        let said = String::from_utf8(self.errors.join().expect("the reader")).expect("UTF-8");
        assert_eq!((status, rest.as_str(), said.as_str()), (CommandEnd::Exit(0), "", ""));
    }
}
