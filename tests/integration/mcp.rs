//! The server as its clients meet it: lines on its standard streams, the official SDKs, and a whole loop from a failure to
//! its fix.

mod calls;
mod clients;
mod fragments;
mod wire;

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::process::Child;

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use crate::sandbox::{Invocation, Sandbox, ended, read_all};

/// The last version of the generation that begins with `initialize`.
const LEGACY: &str = "2025-11-25";
/// The version whose requests each say all that is needed.
const MODERN: &str = "2026-07-28";
/// All tools, as they are listed.
const TOOLS: [&str; 9] = [
    "warnings",
    "known_failure",
    "lessons_search",
    "record_fix",
    "remember",
    "recall",
    "recent_failures",
    "check_diff",
    "gate_status",
];

/// A server and the other ends of its streams.
pub(crate) struct Server {
    child: Child,
    input: PipeWriter,
    output: BufReader<PipeReader>,
    errors: std::thread::JoinHandle<Vec<u8>>,
    asked: u64,
    /// What every request says, in the newer generation.
    meta: Option<Value>,
}

impl Server {
    /// `verify-run mcp` in a sandbox.
    pub(crate) fn start(sandbox: &Sandbox) -> Self {
        Server::of(sandbox.verify_run(["mcp"]))
    }

    fn of(invocation: Invocation<'_>) -> Self {
        let (stdin, input) = std::io::pipe().expect("a pipe");
        let (output, stdout) = std::io::pipe().expect("a pipe");
        let (errors, stderr) = std::io::pipe().expect("a pipe");
        let child = invocation.fd(0, stdin).fd(1, stdout).fd(2, stderr).spawn();
        Server { child, input, output: BufReader::new(output), errors: read_all(errors), asked: 0, meta: None }
    }

    /// After the handshake of the older generation.
    fn legacy(mut self) -> Self {
        let client = json!({"name": "test-client", "version": "1"});
        let answer =
            self.ask("initialize", json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client}));
        assert_eq!(answer["result"]["protocolVersion"], LEGACY, "{answer}");
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        self
    }

    /// As the newer generation asks: without a handshake, each request for itself.
    pub(crate) fn modern(mut self) -> Self {
        self.meta = Some(meta(MODERN));
        self
    }

    /// Writes a line.
    fn say(&mut self, line: impl AsRef<[u8]>) {
        self.input.write_all(&[line.as_ref(), b"\n"].concat()).expect("the server reads");
    }

    /// The next line, which has to be a message of JSON-RPC.
    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server answers in UTF-8");
        message(&line)
    }

    /// Asks, and waits for the answer to just this.
    pub(crate) fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        let answer = self.hear();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool; its result, whether an error or not.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = answer["result"].clone();
        assert!(result["content"][0]["text"].is_string(), "{answer}");
        result
    }

    /// Calls a tool that has to work; its text and its structure.
    #[track_caller]
    pub(crate) fn tool(&mut self, tool: &str, arguments: Value) -> (String, Value) {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{result}");
        assert_eq!(result["structuredContent"]["schema"], 1, "{result}");
        (result["content"][0]["text"].as_str().expect("a text").to_owned(), result["structuredContent"].clone())
    }

    /// Calls a tool that has to refuse; what it says.
    #[track_caller]
    fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    /// Ends its input: exit code 0, nothing more on stdout, nothing on stderr.
    #[track_caller]
    pub(crate) fn ends(self) {
        let Server { mut child, input, mut output, errors, .. } = self;
        drop(input);
        let mut rest = String::new();
        output.read_to_string(&mut rest).expect("its output");
        let status = ended(child.wait().expect("a status"));
        let said = String::from_utf8(errors.join().expect("the reader")).expect("UTF-8");
        assert_eq!((status, rest.as_str(), said.as_str()), (CommandEnd::Exit(0), "", ""));
    }
}

/// What a request of the newer generation says of itself.
fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// A line as a message of JSON-RPC.
#[track_caller]
fn message(line: &str) -> Value {
    assert!(line.ends_with('\n'), "a line ends: {line:?}");
    let message: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("not JSON ({error}): {line}"));
    assert_eq!(message["jsonrpc"], "2.0", "{line}");
    assert!(message.get("result").is_some() != message.get("error").is_some(), "{line}");
    message
}
