//! One JSON document a line: from standard input, and to standard output.
//!
//! rmcp's own transport leaves what it can't read unanswered, and its server ends when the first message is a
//! notification. Here every line that asks for something is answered, only requests get further, and the end of the
//! input waits for the answers that are still to come.

use std::collections::HashSet;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

/// A line, bytes. An argument of 10 MB may be six times as long, when all of it is escaped.
const LINE_BYTES_MAX: usize = 64 << 20;
/// Lines that were read and not taken yet.
const LINES_WAITING_MAX: usize = 4;
/// How long answers may take after the end of the input, seconds: as long as the slowest tool.
const END_SECONDS_MAX: u64 = 70;

/// Standard input and output as a transport.
pub(super) struct LineTransport {
    incoming: mpsc::Receiver<ProtocolLine>,
    asked: Arc<LineRequest>,
    out: Box<dyn Write + Send>,
}

/// Requests without an answer yet.
#[derive(Default)]
struct LineRequest {
    ids: Mutex<HashSet<RequestId>>,
    answered: Notify,
}

/// What a reader finds.
#[derive(Debug, PartialEq, Eq)]
enum ProtocolLine {
    Text(Vec<u8>),
    TooLong,
}

/// What a line says.
enum LineReply {
    Request(Box<ClientJsonRpcMessage>, RequestId),
    Cancelled(RequestId),
    /// Nothing that is answered.
    Nothing,
    Bad(ErrorData, Option<RequestId>),
}

impl LineTransport {
    /// Those of the process. A thread of its own reads: it may wait forever.
    pub(super) fn of_process() -> Self {
        LineTransport::new(io::BufReader::with_capacity(64 << 10, io::stdin()), Box::new(io::stdout()))
    }

    fn new(mut input: impl BufRead + Send + 'static, out: Box<dyn Write + Send>) -> Self {
        let (sender, incoming) = mpsc::channel(LINES_WAITING_MAX);
        std::thread::spawn(move || {
            while let Some(line) = next_line(&mut input, LINE_BYTES_MAX) {
                if sender.blocking_send(line).is_err() {
                    break;
                }
            }
        });
        LineTransport { incoming, asked: Arc::default(), out }
    }

    /// Writes a message; an answer only to what is still asked.
    fn write(&mut self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        let id = match message {
            ServerJsonRpcMessage::Response(response) => Some(&response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if id.is_some_and(|id| !self.asked.remove(id)) {
            return Ok(());
        }
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let written = self.out.write_all(&line).and_then(|()| self.out.flush());
        self.asked.answered.notify_one();
        written
    }

    /// Answers what can't be taken for a request. A client that can't be answered is gone.
    fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) {
        if let Some(id) = &id {
            self.asked.add(id);
        }
        let _ = self.write(&ServerJsonRpcMessage::error(error, id));
    }
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        std::future::ready(self.write(&message))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        while let Some(line) = self.incoming.recv().await {
            let said = match line {
                ProtocolLine::Text(line) => said(&line),
                ProtocolLine::TooLong => LineReply::Bad(
                    ErrorData::invalid_request(format!("a line has at most {LINE_BYTES_MAX} bytes"), None),
                    None,
                ),
            };
            match said {
                LineReply::Request(request, id) => {
                    if self.asked.add(&id) {
                        return Some(*request);
                    }
                    self.refuse(ErrorData::invalid_request("a request with this id is not answered yet", None), None);
                }
                LineReply::Cancelled(id) => {
                    self.asked.remove(&id);
                }
                LineReply::Nothing => {}
                LineReply::Bad(error, id) => self.refuse(error, id),
            }
        }
        let answers = async {
            while !self.asked.is_empty() {
                self.asked.answered.notified().await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(END_SECONDS_MAX), answers).await;
        None
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.out.flush()
    }
}

impl LineRequest {
    fn with<T>(&self, change: impl FnOnce(&mut HashSet<RequestId>) -> T) -> T {
        change(&mut self.ids.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, id: &RequestId) -> bool {
        self.with(|ids| ids.insert(id.clone()))
    }

    fn remove(&self, id: &RequestId) -> bool {
        self.with(|ids| ids.remove(id))
    }

    fn is_empty(&self) -> bool {
        self.with(|ids| ids.is_empty())
    }
}

/// The next line without its end, also one that the end of the input cuts off; `None` at the end. Of a line of more than
/// `max` bytes nothing is kept.
fn next_line(input: &mut impl BufRead, max: usize) -> Option<ProtocolLine> {
    let (mut line, mut is_too_long, mut is_any) = (Vec::new(), false, false);
    loop {
        let piece = match input.fill_buf() {
            Ok(piece) => piece,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        if piece.is_empty() {
            return match (is_any, is_too_long) {
                (false, _) => None,
                (true, true) => Some(ProtocolLine::TooLong),
                (true, false) => Some(ProtocolLine::Text(line)),
            };
        }
        is_any = true;
        let end = memchr::memchr(b'\n', piece);
        let length = end.unwrap_or(piece.len());
        is_too_long |= line.len() + length > max;
        if is_too_long {
            line = Vec::new()
        } else {
            line.extend_from_slice(&piece[..length])
        }
        input.consume(length + usize::from(end.is_some()));
        if end.is_some() {
            return Some(if is_too_long { ProtocolLine::TooLong } else { ProtocolLine::Text(line) });
        }
    }
}

/// What a line says: JSON-RPC 2.0, section 4 and 5, as MCP narrows it (no batches, ids are strings or whole numbers).
fn said(line: &[u8]) -> LineReply {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return LineReply::Nothing;
    }
    let value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return LineReply::Bad(ErrorData::parse_error(format!("not JSON: {error}"), None), None),
    };
    let bad = |reason: &str, id| LineReply::Bad(ErrorData::invalid_request(reason.to_owned(), None), id);
    let Value::Object(fields) = &value else { return bad("a message is one JSON object", None) };
    let id = fields.get("id").map(|id| serde_json::from_value::<RequestId>(id.clone()));
    let Some(method) = fields.get("method").and_then(Value::as_str) else {
        // Nothing is asked of the client, so no answer of its is waited for.
        let is_answer = fields.contains_key("result") || fields.contains_key("error");
        return if is_answer { LineReply::Nothing } else { bad("a request has a method", id.and_then(Result::ok)) };
    };
    match id {
        None if method == "notifications/cancelled" => {
            let id = fields.get("params").and_then(|params| params.get("requestId"));
            match id.map(|id| serde_json::from_value(id.clone())) {
                Some(Ok(id)) => LineReply::Cancelled(id),
                _ => LineReply::Nothing,
            }
        }
        None => LineReply::Nothing,
        Some(Err(_)) => bad("an id is a string or a whole number", None),
        Some(Ok(id)) => {
            let is_call = method == "tools/call";
            match request(value, is_call) {
                Some(request) => LineReply::Request(Box::new(request), id),
                None => bad("not a request of JSON-RPC 2.0", Some(id)),
            }
        }
    }
}

/// The request; a call whose parameters are no object goes on without them, for its tool to say so.
fn request(mut value: Value, is_call: bool) -> Option<ClientJsonRpcMessage> {
    if let Value::Object(fields) = &mut value
        && is_call
        && fields.get("params").is_some_and(|params| !params.is_object())
    {
        fields.remove("params");
    }
    let message = serde_json::from_value(value).ok();
    message.filter(|message| matches!(message, ClientJsonRpcMessage::Request(_)))
}

#[cfg(test)]
mod tests {
    use rmcp::model::ErrorCode;

    use super::*;

    fn kind(line: &str) -> String {
        match said(line.as_bytes()) {
            LineReply::Request(_, id) => format!("request {id}"),
            LineReply::Cancelled(id) => format!("cancelled {id}"),
            LineReply::Nothing => "nothing".to_owned(),
            LineReply::Bad(error, id) => format!("{} {:?}", error.code.0, id.map(|id| id.to_string())),
        }
    }

    #[test]
    fn lines_say_what_they_are() {
        let cases = [
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "request 1"),
            (r#"{"jsonrpc":"2.0","id":"a","method":"no/such","params":{"x":1}}"#, "request a"),
            ("\u{feff}  {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\r", "request 2"),
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "nothing"),
            (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#, "cancelled 7"),
            (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}"#, "nothing"),
            (r#"{"jsonrpc":"2.0","id":3,"result":{}}"#, "nothing"),
            ("", "nothing"),
            ("not JSON", "-32700 None"),
            (r#"{"jsonrpc":"2.0","id":4"#, "-32700 None"),
            ("[]", "-32600 None"),
            ("5", "-32600 None"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "-32600 None"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "-32600 None"),
            (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, "-32600 Some(\"5\")"),
            (r#"{"id":6,"method":"ping"}"#, "-32600 Some(\"6\")"),
            (r#"{"jsonrpc":"2.0","id":8,"method":9}"#, "-32600 Some(\"8\")"),
            (r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":[1]}"#, "request 9"),
            (r#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":1,"arguments":"x"}}"#, "request 10"),
            (r#"{"jsonrpc":"2.0","id":11,"method":"prompts/get","params":[1]}"#, "-32600 Some(\"11\")"),
        ];
        for (line, wanted) in cases {
            assert_eq!(kind(line), wanted, "{line}");
        }
        let deep = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}}}", "[".repeat(100_000));
        assert_eq!(kind(&deep), "-32700 None");
        assert!(matches!(said(b"\xff\xfe{}"), LineReply::Bad(error, None) if error.code == ErrorCode::PARSE_ERROR));
    }

    #[test]
    fn a_line_has_a_limit_and_the_last_needs_no_end() {
        let mut input = io::BufReader::with_capacity(3, &b"abc\n\n123456789\nxyz"[..]);
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut input, 5) {
            lines.push(line);
        }
        let text = |text: &str| ProtocolLine::Text(text.into());
        assert_eq!(lines, [text("abc"), text(""), ProtocolLine::TooLong, text("xyz")]);
        assert_eq!(next_line(&mut &b"123456"[..], 5), Some(ProtocolLine::TooLong));
    }
}
