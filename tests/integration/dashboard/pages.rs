//! The pages for people: each with its content, hostile text escaped, and an explanation where there is no content.

use nix::sys::signal::Signal;

use super::Dashboard;
use crate::sandbox::Sandbox;
use crate::story::discount_story;

/// The pages that the rail names.
pub(super) const RAIL: [&str; 16] = [
    "/",
    "/inbox",
    "/patterns",
    "/failures",
    "/first-runs",
    "/fixes",
    "/flakes",
    "/files",
    "/effect",
    "/warnings",
    "/knowledge",
    "/promotions",
    "/tasks",
    "/lessons",
    "/audit",
    "/search",
];

/// The only script, which every page works without: what is before and after the name of its content.
const SCRIPT: [&str; 2] = ["<script src=\"/assets/app.js?content=", "\" defer></script>"];

/// Every address that a page links to on this server.
fn links(html: &str) -> Vec<String> {
    let found = html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    found.filter(|link| link.starts_with('/')).map(|link| link.replace("&amp;", "&")).collect()
}

/// The page without its script's element.
fn without_script(html: &str) -> String {
    match html.split_once(SCRIPT[0]) {
        Some((before, rest)) => before.to_owned() + rest.split_once(SCRIPT[1]).expect("the element's end").1,
        None => html.to_owned(),
    }
}

/// Panics when a page has what the policy of its content forbids.
#[track_caller]
fn assert_inert(path: &str, html: &str) {
    let html = without_script(html);
    for wrong in ["<script", " style=", " onload=", " onclick=", " onerror=", "javascript:", "http://", "https://"] {
        assert!(!html.contains(wrong), "{path} has {wrong}: {html}");
    }
}

#[test]
fn every_link_of_every_page_leads_to_a_page() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let mut waiting: Vec<String> = RAIL.iter().map(|path| (*path).to_owned()).collect();
    let mut seen = std::collections::BTreeSet::new();
    while let Some(path) = waiting.pop() {
        if !seen.insert(path.clone()) || seen.len() > 300 {
            continue;
        }
        let answer = dashboard.get(&path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        if answer.header("content-type") == Some("text/html; charset=utf-8") {
            assert_inert(&path, &answer.body);
            assert!(answer.body.len() < 150 << 10, "{path} has {} bytes", answer.body.len());
            waiting.extend(links(&answer.body));
        }
    }
    for kind in ["/patterns/p-", "/failures/f-", "/fixes/x-", "/lessons/l-", "/tasks/discount", "/runs/"] {
        assert!(seen.iter().any(|path| path.starts_with(kind)), "{kind} is linked nowhere: {seen:?}");
    }
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn pages_show_what_was_recorded() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let overview = dashboard.get("/").body;
    for text in [
        "tasks that fail",
        "100 %",
        ">2</a> of <a ",
        "test failure",
        "test_total_with_discount",
        "verify-run stats --json",
    ] {
        assert!(overview.contains(text), "{text}: {overview}");
    }
    let fixes = dashboard.get("/fixes?state=success").body;
    assert!(fixes.contains("/fixes/x-") && fixes.contains("pytest -q"), "{fixes}");
    let effect = dashboard.get("/effect").body;
    assert!(effect.contains("No control group") && !effect.contains("prevents"), "{effect}");
    let none = dashboard.get("/patterns?agent=nobody").body;
    assert!(none.contains("No pattern matches") && none.contains("Clear the filters"), "{none}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn what_a_run_printed_is_shown_as_far_as_a_page_goes() {
    let sandbox = Sandbox::repository();
    let dashboard_of = |script: &str| {
        sandbox.tool("luacheck", script);
        sandbox.verify_run(["--sync", "luacheck", "."]).outcome();
        Dashboard::start(&sandbox, &[])
    };
    let newest = |dashboard: &Dashboard| dashboard.json("/api/v1/failures")["failures"][0].clone();
    let dashboard = dashboard_of("echo 'src/x.lua:1:1: error: <b>undefined</b>'; exit 1");
    let failure = newest(&dashboard);
    let [id, run] = ["id", "run"].map(|name| failure[name].as_str().expect("an id").to_owned());
    let output = format!("/runs/{run}/output");
    assert!(dashboard.get(&format!("/failures/{id}")).body.contains(&format!("href=\"{output}\"")));
    let page = dashboard.get(&output);
    assert!(page.status == 200 && page.body.contains("error: &lt;b&gt;undefined&lt;/b&gt;"), "{page:?}");
    assert_inert(&output, &page.body);
    let shown = sandbox.verify_run(["show", &id, "--output"]).prints();
    let document = dashboard.json(&format!("/api/v1{output}"));
    assert_eq!((&document["head"], &document["left_out"]), (&shown.into(), &0.into()), "what the command prints");
    dashboard.ends(Signal::SIGINT);

    let dashboard = dashboard_of("seq 1 20000; echo 'src/x.lua:1:1: error: the last'; exit 1");
    let run = newest(&dashboard)["run"].as_str().expect("an id").to_owned();
    let page = dashboard.get(&format!("/runs/{run}/output"));
    assert!(page.body.contains("bytes are left out here") && page.body.contains("error: the last"), "{page:?}");
    assert!(page.body.len() < 150 << 10, "{}", page.body.len());
    sandbox.tool("luacheck", "exit 0");
    sandbox.verify_run(["--sync", "luacheck", "."]).outcome();
    let all = sandbox.verify_run(["log", "--passed", "--json"]).prints_json();
    let passed = all["runs"][0]["run"].as_str().expect("a run");
    let none = dashboard.get(&format!("/runs/{passed}/output"));
    assert!(none.status == 404 && none.body.contains("is not kept: it passed"), "{none:?}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn hostile_text_is_shown_and_does_nothing() {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "printf 'src/a.lua:1:1: error: %s\\n' \"$MESSAGE\"; exit 1");
    let payloads = [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "\"><svg onload=alert(1)>",
        "' onmouseover='alert(1)",
        "{{ 7*7 }}{% raw %}",
        "</title><script>alert(2)</script>",
        "javascript:alert(1)",
        "&lt;b&gt;&#x27;",
        "\u{202e}gnirts\u{200b}",
    ];
    for (number, payload) in payloads.iter().enumerate() {
        // Lists name tasks without the characters that no screen shows.
        let task = format!("t{number} {}", payload.replace(['\u{202e}', '\u{200b}'], ""));
        let run = ["--sync", "--task", task.as_str(), "--agent", payload, "luacheck", "."];
        sandbox.verify_run(run).env("MESSAGE", payload).outcome();
    }
    let dashboard = Dashboard::start(&sandbox, &[]);
    for payload in payloads {
        let body = serde_json::json!({"decision": payload, "context": payload, "agentId": payload, "tags": [payload]});
        assert_eq!(dashboard.post("/api/knowledge/decision", &body.to_string()).status, 200, "{payload}");
    }
    let mut waiting: Vec<String> = RAIL.iter().map(|path| (*path).to_owned()).collect();
    waiting.extend(payloads.iter().map(|payload| format!("/search?q={}", encode(payload))));
    let mut seen = std::collections::BTreeSet::new();
    let mut all = String::new();
    while let Some(path) = waiting.pop() {
        if !seen.insert(path.clone()) || seen.len() > 150 || path.starts_with("/api/") {
            continue;
        }
        let answer = dashboard.get(&path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        if answer.header("content-type") == Some("text/html; charset=utf-8") {
            for wrong in ["<script", "<img", "<svg onload", "onmouseover='", "\u{202e}", "\u{200b}"] {
                let body = without_script(&answer.body);
                assert!(!body.contains(wrong), "{path} has {wrong:?}: {body}");
            }
            waiting.extend(links(&answer.body));
            all.push_str(&answer.body);
        }
    }
    for shown in ["&lt;script&gt;alert(1)&lt;/script&gt;", "{{ 7*7 }}{% raw %}", "&amp;lt;b&amp;gt;&amp;#x27;"] {
        assert!(all.contains(shown), "{shown} is not shown");
    }
    assert!(!all.contains(">49<"), "nothing was evaluated");
    dashboard.ends(Signal::SIGINT);
}

fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn where_there_is_no_content_a_page_says_why() {
    let sandbox = Sandbox::repository();
    let dashboard = Dashboard::start(&sandbox, &[]);
    for path in RAIL {
        let answer = dashboard.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert_inert(path, &answer.body);
    }
    assert!(dashboard.get("/").body.contains("verify-run npm test"));
    assert_eq!(dashboard.get("/api/v1/overview").json()["type"], "/problems/no-records");
    let numbers = dashboard.json("/api/qa/failures/dashboard");
    assert_eq!(numbers["total_failures"]["count"], 0);
    assert_eq!(dashboard.get("/patterns/p-zz").status, 200, "before the first run the page explains that");

    sandbox.tool("luacheck", "echo 'a.lua:1:1: error: x'; exit 1");
    sandbox.verify_run(["--sync", "luacheck", "."]).outcome();
    assert!(dashboard.get("/").body.contains("tasks that fail"), "what is recorded meanwhile is there");
    let unknown = dashboard.get("/patterns/p-zz");
    assert!(unknown.status == 404 && unknown.body.contains("verify-run pattern list"), "{unknown:?}");

    let index = rusqlite::Connection::open(sandbox.state().join("store.db")).expect("opens");
    index.pragma_update(None, "user_version", 9_999).expect("a later version");
    drop(index);
    let newer = dashboard.get("/patterns");
    assert!(newer.status == 503 && newer.body.contains("newer version"), "{newer:?}");
    assert_eq!(dashboard.get("/api/v1/patterns").json()["type"], "/problems/newer-store");

    std::fs::remove_dir_all(sandbox.state()).expect("removes the records");
    assert!(dashboard.get("/patterns").body.contains("verify-run npm test"), "nothing is recorded any more");
    dashboard.ends(Signal::SIGINT);
}
