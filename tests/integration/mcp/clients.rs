//! The official SDKs as clients, each in every generation that it speaks.
//!
//! | SDK | pinned in | older generation | newer generation |
//! | --- | --- | --- | --- |
//! | Python, `mcp` 2 | tests/tools/requirements.txt | `legacy` | `auto`, `2026-07-28` |
//! | TypeScript, `@modelcontextprotocol/sdk` 1 | tests/tools/package.json | all it knows | |
//! | TypeScript, `@modelcontextprotocol/client` 2 | tests/tools/package.json | `legacy` | `auto`, `2026-07-28` |
//! | Rust, `rmcp` 3 | Cargo.toml | `Initialize` | `Auto`, `Discover` |

use rmcp::model::{
    CallToolRequestParams, ErrorCode, GetPromptRequestParams, ProtocolVersion, ReadResourceRequestParams,
};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use rmcp::{ClientLifecycleMode, ClientServiceExt as _};
use serde_json::{Value, json};

use super::{LEGACY, MODERN, TOOLS};
use crate::sandbox::{Invocation, Sandbox, VERIFY_RUN, need, tools};

/// A project with one lesson.
fn project() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.tool(
        "eslint",
        "printf '\\n%s\\n  1:1  error  bad  no-bad\\n\\n✖ 1 problem (1 error)\\n' \"$PWD/shop.js\"; exit 1",
    );
    sandbox.write("shop.js", "x");
    sandbox.verify_run(["--sync", "eslint", "."]).outcome();
    assert_eq!(sandbox.lessons().len(), 1);
    sandbox
}

/// What every client has to have got from the server.
fn is_whole(found: &Value, sandbox: &Sandbox, modern: bool) {
    assert_eq!(found["tools"], json!(TOOLS), "{found}");
    let calls = found["calls"].as_array().expect("calls");
    let errors: Vec<_> = calls.iter().map(|call| &call["error"]).collect();
    assert_eq!(errors, [false, false, true, true], "{found}");
    assert_eq!((&calls[0]["structure"]["schema"], &calls[0]["structure"]["files"]), (&json!(1), &json!(["shop.py"])));
    assert_eq!(calls[1]["structure"]["failures"][0]["tool"], "eslint", "{found}");
    assert_eq!(calls[2]["text"], "these arguments don't fit warnings: files: must be a list", "{found}");
    let lesson = sandbox.lesson();
    let id = lesson.field("id").expect("an id");
    assert_eq!(found["resources"], json!(["verify-run://patterns/active", format!("verify-run://lessons/{id}")]));
    assert!(found["read"].as_str().is_some_and(|text| text.contains(id) && text.contains("no-bad")), "{found}");
    assert_eq!(found["templates"], json!(["verify-run://lessons/{id}", "verify-run://patterns/{id}"]));
    assert_eq!(found["missing"], if modern { -32602 } else { -32002 }, "{found}");
    assert_eq!(found["prompts"], json!(["before-work"]));
    assert!(found["prompt"].as_str().is_some_and(|text| text.contains("Still open") && text.contains("check_diff")));
}

fn ran(client: Invocation<'_>) -> Value {
    client.args([VERIFY_RUN, "mcp"]).prints_json()
}

#[test]
fn the_python_sdk_speaks_with_it_in_both_generations() {
    let Some(python) = need("schema-python") else { return };
    for (mode, version) in [("legacy", LEGACY), ("auto", MODERN), (MODERN, MODERN)] {
        let sandbox = project();
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/integration/mcp/clients/client.py");
        let found = ran(sandbox.bare(&python).args([script, mode]).env("PYTHONDONTWRITEBYTECODE", "1"));
        assert_eq!(found["version"], version, "{mode}: {found}");
        is_whole(&found, &sandbox, version == MODERN);
    }
}

#[test]
fn the_typescript_sdks_speak_with_it_in_both_generations() {
    let (Some(node), packages) = (need("node"), tools().join("../node/node_modules")) else { return };
    if !packages.join("@modelcontextprotocol/client").is_dir() {
        return crate::sandbox::skip("the SDKs for TypeScript are missing");
    }
    let cases = [
        ("sdk", "legacy", LEGACY),
        ("client", "legacy", LEGACY),
        ("client", "auto", MODERN),
        ("client", MODERN, MODERN),
    ];
    for (package, mode, version) in cases {
        let sandbox = project();
        // Packages are looked for from where the script is.
        let client = sandbox.tmp().join("client.mjs");
        std::fs::write(&client, include_str!("clients/client.mjs")).expect("the script");
        std::os::unix::fs::symlink(&packages, sandbox.tmp().join("node_modules")).expect("a link to the packages");
        let found = ran(sandbox.bare(&node).arg(&client).args([package, mode]));
        // Version 1 does not tell which it agreed on; it begins as the older generation does.
        let known = if package == "sdk" { Value::Null } else { version.into() };
        assert_eq!((&found["version"], &found["server"]), (&known, &json!("verify-run")), "{package} {mode}: {found}");
        if mode != "auto" {
            assert_eq!(found["initialized"], version == LEGACY, "{package} {mode}");
        }
        is_whole(&found, &sandbox, version == MODERN);
    }
}

#[test]
fn the_rust_sdk_speaks_with_it_in_both_generations() {
    let modern = || vec![ProtocolVersion::V_2026_07_28];
    let cases = [
        (ClientLifecycleMode::Initialize, LEGACY),
        (ClientLifecycleMode::Auto { preferred_versions: modern(), legacy_version: None }, MODERN),
        (ClientLifecycleMode::Discover { preferred_versions: modern() }, MODERN),
    ];
    for (mode, version) in cases {
        let sandbox = project();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let (mut child, client) = child(&sandbox);
        let found = runtime.block_on(async {
            let client = ().serve_with_lifecycle(client, mode).await.expect("they agree");
            let found = asked(&client).await;
            client.cancel().await.expect("it ends");
            found
        });
        drop(runtime);
        assert!(child.wait().expect("a status").success());
        assert_eq!(found["version"], version, "{found}");
        is_whole(&found, &sandbox, version == MODERN);
    }
}

/// The server, and its streams as the client's: files that tokio reads and writes on threads.
fn child(sandbox: &Sandbox) -> (std::process::Child, (tokio::fs::File, tokio::fs::File)) {
    let (stdin, input) = std::io::pipe().expect("a pipe");
    let (output, stdout) = std::io::pipe().expect("a pipe");
    let child = sandbox.verify_run(["mcp"]).fd(0, stdin).fd(1, stdout).spawn();
    let file = |end: std::os::fd::OwnedFd| tokio::fs::File::from_std(end.into());
    (child, (file(output.into()), file(input.into())))
}

async fn asked(client: &RunningService<RoleClient, ()>) -> Value {
    let version = client.peer_info().map(|info| info.protocol_version.to_string());
    let tools = client.list_all_tools().await.expect("tools");
    let mut calls = Vec::new();
    for (name, arguments) in [
        ("warnings", json!({"files": ["shop.py"]})),
        ("recent_failures", json!({"limit": 1})),
        ("warnings", json!({"files": 5})),
        ("no_such_tool", json!({})),
    ] {
        let arguments = arguments.as_object().cloned().expect("an object");
        let result =
            client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments)).await.expect("a result");
        let result = serde_json::to_value(result).expect("JSON");
        calls.push(json!({
            "error": result["isError"] == true,
            "text": result["content"][0]["text"],
            "structure": result["structuredContent"],
        }));
    }
    let resources = client.list_all_resources().await.expect("resources");
    let last = resources.last().expect("a lesson").uri.clone();
    let read = client.read_resource(ReadResourceRequestParams::new(last)).await.expect("a text");
    let missing = client.read_resource(ReadResourceRequestParams::new("verify-run://lessons/l-00000000")).await;
    let Err(ServiceError::McpError(missing)) = missing else { panic!("there is no such lesson: {missing:?}") };
    let templates = client.list_all_resource_templates().await.expect("templates");
    let prompts = client.list_all_prompts().await.expect("prompts");
    let arguments = json!({"files": "shop.py"}).as_object().cloned().expect("an object");
    let prompt = client.get_prompt(GetPromptRequestParams::new("before-work").with_arguments(arguments)).await;
    let prompt = serde_json::to_value(prompt.expect("a prompt")).expect("JSON");
    let ErrorCode(code) = missing.code;
    json!({
        "version": version,
        "tools": tools.iter().map(|tool| &tool.name).collect::<Vec<_>>(),
        "calls": calls,
        "resources": resources.iter().map(|it| &it.uri).collect::<Vec<_>>(),
        "read": serde_json::to_value(read).expect("JSON")["contents"][0]["text"],
        "missing": code,
        "templates": templates.iter().map(|it| &it.uri_template).collect::<Vec<_>>(),
        "prompts": prompts.iter().map(|it| &it.name).collect::<Vec<_>>(),
        "prompt": prompt["messages"][0]["content"]["text"],
    })
}
