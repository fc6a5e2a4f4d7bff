//! Lines as they come, whatever they are: each that asks is answered, and the server stays.

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::{LEGACY, MODERN, Server, TOOLS, message, meta};
use crate::sandbox::Sandbox;

fn names(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|it| it["name"].as_str().expect("a name")).collect()
}

/// Whether a result is one of the newer generation.
fn is_modern(result: &Value) -> bool {
    result["resultType"] == "complete"
}

#[test]
fn the_older_generation_begins_with_initialize_whatever_version_is_asked_for() {
    for (asked, answered) in [(LEGACY, LEGACY), ("2024-11-05", "2024-11-05"), (MODERN, LEGACY), ("1999-01-01", LEGACY)]
    {
        let sandbox = Sandbox::repository();
        let mut server = Server::start(&sandbox);
        let client = json!({"name": "test-client", "version": "1"});
        let params = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": client});
        let result = server.ask("initialize", params)["result"].clone();
        assert_eq!(result["protocolVersion"], answered, "{asked}");
        assert_eq!(result["serverInfo"], json!({"name": "verify-run", "version": env!("CARGO_PKG_VERSION")}));
        for offered in ["tools", "resources", "prompts"] {
            assert!(result["capabilities"][offered].is_object(), "{result}");
        }
        assert!(result["instructions"].as_str().is_some_and(|text| text.contains("known_failure")), "{result}");
        let listed = server.ask("tools/list", json!({}))["result"].clone();
        assert_eq!((names(&listed["tools"]), is_modern(&listed)), (TOOLS.to_vec(), false));
        assert_eq!(server.ask("ping", json!({}))["result"], json!({}));
        server.ends();
    }
}

#[test]
fn the_newer_generation_needs_no_beginning() {
    let sandbox = Sandbox::repository();
    let mut server = Server::start(&sandbox).modern();
    let discovered = server.ask("server/discover", json!({}))["result"].clone();
    let versions = discovered["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!(MODERN)) && versions.contains(&json!(LEGACY)), "{discovered}");
    assert!(is_modern(&discovered) && discovered["ttlMs"].is_u64() && discovered["cacheScope"].is_string());
    let (text, facts) = server.tool("warnings", json!({"files": ["a.py"]}));
    assert_eq!((text.as_str(), &facts["warnings"]), ("No warnings.", &json!([])));
    for (method, items) in [("tools/list", "tools"), ("resources/list", "resources"), ("prompts/list", "prompts")] {
        let listed = server.ask(method, json!({}))["result"].clone();
        assert!(is_modern(&listed) && listed["ttlMs"].is_u64() && listed[items].is_array(), "{listed}");
    }
    server.meta = Some(meta("2030-01-01"));
    let error = server.ask("tools/call", json!({"name": "warnings", "arguments": {}}))["error"].clone();
    assert_eq!((&error["code"], &error["data"]["requested"]), (&json!(-32022), &json!("2030-01-01")));
    assert!(error["data"]["supported"].as_array().is_some_and(|all| all.contains(&json!(MODERN))), "{error}");
    server.meta = None;
    assert_eq!(server.ask("tools/list", json!({}))["error"]["code"], -32602, "each says all that is needed");
    server.ends();

    // A call may be the very first thing.
    let mut server = Server::start(&sandbox).modern();
    assert!(is_modern(&server.call("recent_failures", json!({}))));
    server.ends();
}

#[test]
fn tools_are_listed_alike_each_time_and_their_schemas_are_strict() {
    let sandbox = Sandbox::repository();
    let mut server = Server::start(&sandbox).legacy();
    let first = server.ask("tools/list", json!({}))["result"].clone();
    assert_eq!(server.ask("tools/list", json!({}))["result"], first);
    for tool in first["tools"].as_array().expect("tools") {
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["annotations"]["destructiveHint"], false, "{tool}");
        assert!(tool["outputSchema"]["required"].as_array().is_some_and(|all| all.contains(&json!("schema"))));
    }
    server.ends();
}

#[test]
fn a_bad_call_is_the_tools_error_in_both_generations() {
    let sandbox = Sandbox::repository();
    for newer in [false, true] {
        let server = Server::start(&sandbox);
        let mut server = if newer { server.modern() } else { server.legacy() };
        let cases = [
            ("warnings", json!({"files": {"a.py": 1}}), "files: must be a list"),
            ("warnings", json!({"files": [1]}), "files.0: must be a string"),
            ("warnings", json!({"limit": 0}), "limit: 0 is out of range"),
            ("warnings", json!({"file": []}), "file: is not known; there are category, command, files"),
            ("known_failure", json!({"text": {"a": 1}}), "text: must be a string"),
            ("known_failure", json!({"run": "f-00000000"}), "no record has the id f-00000000"),
            ("known_failure", json!({"text": "x", "run": "f-1"}), "not both"),
            ("lessons_search", json!({}), "query: is missing"),
            ("record_fix", json!({"id": "x-00000000"}), "nothing to record"),
            ("record_fix", json!({"id": "l-00000000", "cause": "x"}), "no lesson has the id"),
            ("record_fix", json!({"id": "x-00000000", "cause": "x"}), "no record has the id"),
            ("record_fix", json!({"id": "", "cause": "x"}), "neither a fix"),
            ("remember", json!({"text": ""}), "text: has 0 characters, too few"),
            ("remember", json!({"text": " \u{7} "}), "nothing to remember"),
            ("remember", json!({"text": "x", "type": "mood"}), "type: must be one of"),
            ("remember", json!({"text": "x", "importance": 7}), "importance: 7 is out of range"),
            ("recall", json!({"limit": "all"}), "limit: must be an integer"),
            ("recent_failures", json!({"open": "yes"}), "open: must be a boolean"),
            ("check_diff", json!({"range": "--output=stolen"}), "not a commit or range"),
            ("check_diff", json!({"range": "no..such"}), "cannot read the change"),
            ("check_diff", json!({"range": "a\u{0}b"}), "cannot read the change"),
            ("check_diff", json!({"range": "HEAD", "staged": true}), "not both"),
            ("no_such_tool", json!({}), "there is no tool \"no_such_tool\"; there are warnings, "),
            ("", json!({}), "there is no tool \"\""),
        ];
        for (tool, arguments, wanted) in cases {
            let said = server.refusal(tool, arguments.clone());
            assert!(said.contains(wanted), "{tool} {arguments}: {said}");
        }
        // What is no call at all is one, too, as long as it says that it is.
        for params in [json!({}), json!({"name": 5}), json!({"name": "warnings", "arguments": "x"})] {
            let result = server.ask("tools/call", params)["result"].clone();
            assert_eq!((&result["isError"], is_modern(&result)), (&json!(true), newer), "{result}");
        }
        assert!(!sandbox.path("stolen").exists());
        server.tool("recent_failures", json!({}));
        server.ends();
    }
}

#[test]
fn what_a_client_may_not_ask_is_an_error_of_the_protocol() {
    let sandbox = Sandbox::repository();
    let mut server = Server::start(&sandbox).legacy();
    assert_eq!(server.ask("no/such", json!({}))["error"]["code"], -32601);
    assert_eq!(server.ask("resources/read", json!({"uri": "file:///etc/passwd"}))["error"]["code"], -32002);
    assert_eq!(server.ask("resources/read", json!({"uri": "verify-run://lessons/../x"}))["error"]["code"], -32002);
    assert_eq!(server.ask("resources/read", json!({"uri": 5}))["error"]["code"], -32602);
    assert_eq!(server.ask("resources/list", json!({"cursor": "l-gone"}))["error"]["code"], -32602);
    assert_eq!(server.ask("prompts/get", json!({"name": "no-such"}))["error"]["code"], -32602);
    server.ends();
    let mut server = Server::start(&sandbox).modern();
    assert_eq!(server.ask("resources/read", json!({"uri": "verify-run://patterns/p-"}))["error"]["code"], -32602);
    server.ends();
}

#[test]
fn lines_that_are_no_requests_end_nothing() {
    let sandbox = Sandbox::repository();
    let mut server = Server::start(&sandbox);
    // Before anything was asked: rmcp's own server ends at the first of these.
    server.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    server.say(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    server.say("");
    server.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#);
    let deep = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{}", "[".repeat(100_000));
    let bad: [(&[u8], i64); 8] = [
        (b"garbage", -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,", -32700),
        (b"\xff\xfe\x00{", -32700),
        (br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud800"}}"#, -32700),
        (deep.as_bytes(), -32700),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (b"null", -32600),
    ];
    for (line, code) in bad {
        server.say(line);
        let answer = server.hear();
        assert_eq!((&answer["error"]["code"], answer.get("id")), (&json!(code), None), "{answer}");
    }
    server.say(r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#);
    let answer = server.hear();
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &json!("a")));
    let mut server = server.legacy();
    server.tool("recent_failures", json!({}));
    server.ends();
}

#[test]
fn ten_megabytes_and_control_characters_are_answered() {
    let sandbox = Sandbox::repository();
    let long = "error: something is wrong\n".repeat(400_000);
    assert!(long.len() > 10_000_000);
    let mut server = Server::start(&sandbox).legacy();
    let (_, facts) = server.tool("known_failure", json!({"text": long}));
    assert!(facts["cut"].as_u64().is_some_and(|cut| cut > 9_000_000), "{facts}");
    for (tool, arguments) in [
        ("remember", json!({"text": long})),
        ("recall", json!({"text": long})),
        ("warnings", json!({"files": [long]})),
        ("warnings", json!({"command": long})),
        ("lessons_search", json!({"query": long})),
        ("record_fix", json!({"id": long, "cause": "x"})),
        ("record_fix", json!({"id": "l-00000000", "cause": long})),
        ("check_diff", json!({"range": long})),
        ("recent_failures", json!({"limit": long})),
    ] {
        let said = server.refusal(tool, arguments);
        assert!(said.len() < 3_000, "{tool}: {} bytes", said.len());
    }
    assert!(server.refusal(&long, json!({})).len() < 1_000, "a tool of such a name");
    // Every character of it is escaped: six times as long.
    let control: String = (0..1_000_000).map(|n| char::from(n as u8 % 32)).collect();
    server.tool("known_failure", json!({"text": control}));
    server.tool("recall", json!({"text": "\u{1b}[31m\u{202e}\u{0}"}));
    server.tool("warnings", json!({"files": ["\u{0}\u{1b}]0;x\u{7}", "../../etc"], "command": "\u{0}'"}));
    let (text, _) = server.tool("remember", json!({"text": "a\u{1b}[31mb\u{202e}\u{0}c\nd"}));
    assert!(text.starts_with("Remembered as m-"), "{text}");
    let (text, facts) = server.tool("recall", json!({}));
    assert!(text.contains("`a[31mbc d`") && facts["memories"][0]["text"] == "a[31mbc\nd", "{text} {facts}");
    server.ends();
}

#[test]
fn a_line_has_a_limit_and_the_next_is_read() {
    let sandbox = Sandbox::repository();
    let mut server = Server::start(&sandbox).legacy();
    server.say("x".repeat((64 << 20) + 1));
    let answer = server.hear();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert!(answer["error"]["message"].as_str().is_some_and(|said| said.contains("at most 67108864 bytes")));
    server.tool("recent_failures", json!({}));
    server.ends();
}

#[test]
fn the_end_of_the_input_ends_it_after_what_was_asked_is_answered() {
    let sandbox = Sandbox::repository();
    sandbox.verify_run(["mcp"]).stdin("").expect(CommandEnd::Exit(0), "", "");
    sandbox.verify_run(["mcp"]).expect(CommandEnd::Exit(0), "", "");
    let call = |id: u64, name: &str| {
        let params = json!({"name": name, "arguments": {}, "_meta": meta(MODERN)});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
    };
    let asked: Vec<String> = (1..=9).map(|id| call(id, TOOLS[usize::try_from(id).expect("small") % 9])).collect();
    // The last line has no end, and every answer is written after the input has ended.
    let outcome = sandbox.verify_run(["mcp"]).stdin(asked.join("\n")).outcome();
    assert_eq!((outcome.ended, outcome.stderr()), (CommandEnd::Exit(0), ""));
    let mut ids: Vec<u64> = outcome
        .stdout()
        .split_inclusive('\n')
        .map(|line| message(line)["id"].as_u64().expect("an answer to one of them"))
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=9).collect::<Vec<_>>());
}

#[test]
fn a_cancelled_request_and_an_id_that_is_used_twice_hold_nothing_up() {
    let sandbox = Sandbox::repository();
    let call = json!({"name": "check_diff", "arguments": {}, "_meta": meta(MODERN)});
    let line = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call}).to_string();
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let lines = [line(1), cancel.to_owned(), line(2), line(2), line(3)].join("\n");
    let outcome = sandbox.verify_run(["mcp"]).stdin(lines + "\n").outcome();
    assert_eq!((outcome.ended, outcome.stderr()), (CommandEnd::Exit(0), ""));
    let answers: Vec<Value> = outcome.stdout().split_inclusive('\n').map(message).collect();
    let of = |id: u64| answers.iter().filter(|answer| answer["id"] == id).count();
    assert_eq!((of(2), of(3)), (1, 1), "{answers:?}");
    assert!(of(1) <= 1, "answered before it was cancelled, or not at all");
    let refused = answers.iter().filter(|answer| answer.get("id").is_none()).count();
    assert_eq!(refused, 1, "the second request of one id: {answers:?}");
}
