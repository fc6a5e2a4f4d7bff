//! Lines of the Model Context Protocol, as far as a client needs them that calls tools: one JSON-RPC message a line.

use serde_json::{Value, json};

use crate::base::text;
use crate::diagnose;

/// The version that is asked for. Servers of other versions answer with theirs, and these messages are the same in all.
const PROTOCOL_VERSION: &str = "2025-06-18";
/// An error of a server, bytes.
const ERROR_BYTES_MAX: usize = 200;
/// Code of JSON-RPC for a method that is not known.
const UNKNOWN_METHOD: i64 = -32_601;

/// A message of a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ServerMessage {
    /// The answer to the request with this id.
    Answer {
        /// The id.
        id: u64,
        /// The result, or what the error says.
        result: Result<Value, String>,
    },
    /// A request of the server's own, which wants a reply.
    Request {
        /// Its id.
        id: Value,
        /// What is asked for.
        method: String,
    },
    /// A notification, or an answer to no request.
    Other,
}

/// The request that begins a session.
pub(crate) fn initialize_line(id: u64) -> String {
    let client = json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")});
    request_line(
        id,
        "initialize",
        &json!({"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}),
    )
}

/// The notification that ends the beginning of a session.
pub(crate) fn initialized_line() -> String {
    line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
}

/// The request for a page of the tools.
pub(crate) fn list_tools_line(id: u64, cursor: Option<&str>) -> String {
    let parameters = cursor.map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
    request_line(id, "tools/list", &parameters)
}

/// The call of a tool.
pub(crate) fn call_line(id: u64, tool: &str, arguments: &Value) -> String {
    request_line(id, "tools/call", &json!({"name": tool, "arguments": arguments}))
}

/// The reply to a request of a server: `ping` is answered, everything else is not known.
pub(crate) fn reply_line(id: &Value, method: &str) -> String {
    match method {
        "ping" => line(&json!({"jsonrpc": "2.0", "id": id, "result": {}})),
        _ => {
            let error = json!({"code": UNKNOWN_METHOD, "message": "this client only calls tools"});
            line(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
        }
    }
}

fn request_line(id: u64, method: &str, parameters: &Value) -> String {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}))
}

fn line(message: &Value) -> String {
    format!("{message}\n")
}

/// What a line says; `None` for one that is no message at all, such as a greeting.
///
/// # Errors
/// When it begins as a message and is none.
pub(crate) fn parse_message(line: &[u8]) -> Result<Option<ServerMessage>, String> {
    if !line.trim_ascii_start().starts_with(b"{") {
        return Ok(None);
    }
    let message: Value = serde_json::from_slice(line).map_err(|error| format!("it answers broken JSON ({error})"))?;
    let (id, method) = (message.get("id").filter(|id| !id.is_null()), message.get("method").and_then(Value::as_str));
    Ok(Some(match (id, method) {
        (Some(id), Some(method)) => ServerMessage::Request { id: id.clone(), method: method.to_owned() },
        (Some(id), None) => match id.as_u64() {
            Some(id) => ServerMessage::Answer { id, result: read_result(&message) },
            None => ServerMessage::Other,
        },
        (None, _) => ServerMessage::Other,
    }))
}

fn read_result(message: &Value) -> Result<Value, String> {
    match (message.get("result"), message.get("error")) {
        (_, Some(error)) if !error.is_null() => {
            let said = error.get("message").and_then(Value::as_str).unwrap_or("an error without a message");
            let said = text::one_line(&diagnose::plain_text(said.as_bytes()));
            Err(text::ellipsis(said.trim(), ERROR_BYTES_MAX))
        }
        (Some(result), _) => Ok(result.clone()),
        (None, _) => Err("an answer without a result".to_owned()),
    }
}

/// The names of a page of tools, and where the next page begins.
pub(crate) fn read_tool_names(result: &Value) -> (Vec<String>, Option<String>) {
    let tools = result.get("tools").and_then(Value::as_array);
    let names = tools.into_iter().flatten().filter_map(|tool| tool.get("name")?.as_str().map(str::to_owned));
    let next = result.get("nextCursor").and_then(Value::as_str).filter(|cursor| !cursor.is_empty());
    (names.collect(), next.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_one_message() {
        let lines = [
            initialize_line(1),
            initialized_line(),
            list_tools_line(2, Some("page 2")),
            call_line(3, "t", &json!({"query": "two\nlines"})),
            reply_line(&json!("a"), "ping"),
            reply_line(&json!(7), "sampling/createMessage"),
        ];
        for line in &lines {
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            let message: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(message["jsonrpc"], "2.0");
        }
        assert!(lines[4].contains(r#""result":{}"#) && lines[5].contains("-32601"), "{lines:?}");
    }

    #[test]
    fn messages_are_told_from_greetings_and_from_broken_ones() {
        let parse = |line: &str| parse_message(line.as_bytes());
        assert_eq!(parse("Welcome to the server"), Ok(None));
        assert!(parse("{\"jsonrpc\": ").is_err());
        assert_eq!(parse(r#"{"method": "notifications/message", "params": {}}"#), Ok(Some(ServerMessage::Other)));
        let result = Ok(json!({"a": 1}));
        assert_eq!(parse(r#" {"id": 3, "result": {"a": 1}}"#), Ok(Some(ServerMessage::Answer { id: 3, result })));
        let error = parse(r#"{"id": 3, "error": {"code": 1, "message": "no\u001b[31m such\ntool"}}"#);
        let result = Err("no such tool".to_owned());
        assert_eq!(error, Ok(Some(ServerMessage::Answer { id: 3, result })));
        let request = ServerMessage::Request { id: json!("x"), method: "ping".into() };
        assert_eq!(parse(r#"{"id": "x", "method": "ping"}"#), Ok(Some(request)));
    }

    #[test]
    fn tools_are_read_page_by_page() {
        let page = json!({"tools": [{"name": "a"}, {"title": "nameless"}, {"name": "b"}], "nextCursor": "2"});
        assert_eq!(read_tool_names(&page), (vec!["a".to_owned(), "b".to_owned()], Some("2".to_owned())));
        assert_eq!(read_tool_names(&json!({"tools": 7})), (Vec::new(), None));
    }
}
