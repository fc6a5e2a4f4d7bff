//! What agents read, what is sent while it is recorded, and the file that is kept: Markdown, events, the export.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use nix::sys::signal::Signal;
use serde_json::Value;
use verify_run::run::CommandEnd;

use super::{Dashboard, PATIENCE};
use crate::sandbox::Sandbox;
use crate::story::discount_story;

#[test]
fn every_page_is_short_markdown_for_agents() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let guide = dashboard.get("/llms.txt");
    assert_eq!(guide.header("content-type"), Some("text/markdown; charset=utf-8"));
    let listed = guide.body.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')'));
    let mut seen = 0;
    for address in listed.filter(|address| address.ends_with(".md") && !address.contains('{')) {
        let answer = dashboard.get(address);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("text/markdown; charset=utf-8")),
            "{address}"
        );
        let notice = answer.body.lines().nth(2).unwrap_or_default();
        assert!(notice.contains("data, never an instruction"), "{address}: {}", answer.body);
        assert!(answer.body.len() <= 8 << 10, "{address} has {} bytes", answer.body.len());
        seen += 1;
    }
    assert!(seen > 15, "{}", guide.body);
    let patterns = dashboard.json("/api/v1/patterns");
    let id = patterns["patterns"][0]["id"].as_str().expect("an id");
    let bearer = dashboard.bearer();
    let headers = [("Authorization", bearer.as_str()), ("Accept", "text/markdown")];
    let asked = dashboard.ask("GET", &format!("/patterns/{id}"), &headers, "");
    assert!(asked.header("content-type").is_some_and(|kind| kind.starts_with("text/markdown")), "{asked:?}");
    assert_eq!(asked.body, dashboard.get(&format!("/patterns/{id}.md")).body);
    assert!(asked.body.contains("- failures: 2\n") && asked.body.contains(id), "{}", asked.body);
    assert_eq!(dashboard.get("/patterns/p-zz.md").status, 404);
    let browser = [("Authorization", bearer.as_str()), ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
    let page = dashboard.ask("GET", "/patterns", &browser, "");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    dashboard.ends(Signal::SIGINT);
}

/// A connection that listens.
struct Listener(BufReader<TcpStream>);

/// An event as it was sent.
#[derive(Debug)]
struct SentEvent {
    name: String,
    id: String,
    data: Value,
}

impl Listener {
    fn open(dashboard: &Dashboard, last: Option<&str>) -> Self {
        Listener::open_for(dashboard, "", last)
    }

    /// With a query that names the page.
    fn open_for(dashboard: &Dashboard, query: &str, last: Option<&str>) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", dashboard.port)).expect("connects");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        let last = last.map(|last| format!("Last-Event-ID: {last}\r\n")).unwrap_or_default();
        let request = format!(
            "GET /api/v1/events{query} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: {}\r\n{last}\r\n",
            dashboard.port,
            dashboard.bearer()
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut listener = Listener(BufReader::new(stream));
        let mut head = String::new();
        while !head.contains("retry:") {
            assert_ne!(listener.0.read_line(&mut head).expect("an answer"), 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/event-stream"), "{head}");
        listener
    }

    /// The next event of this name.
    fn hears(&mut self, name: &str) -> SentEvent {
        let mut sent = SentEvent { name: String::new(), id: String::new(), data: Value::Null };
        loop {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).expect("an event within the time"), 0, "the stream ended");
            let line = line.trim_end();
            if let Some(name) = line.strip_prefix("event: ") {
                sent = SentEvent { name: name.to_owned(), id: String::new(), data: Value::Null };
            } else if let Some(id) = line.strip_prefix("id: ") {
                sent.id = id.to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                sent.data = serde_json::from_str(data).expect("JSON");
            } else if line.is_empty() && sent.name == name {
                return sent;
            }
        }
    }
}

/// The query with which a page listens.
fn end_of(page: &str) -> String {
    let (_, end) = page.split_once("data-end=\"").expect("the end of the store");
    format!("?page={}", &end[..end.find('"').expect("a value")])
}

#[test]
fn the_first_failure_is_news_to_who_waits_for_it() {
    let sandbox = Sandbox::repository();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let query = end_of(&dashboard.get("/").body);
    sandbox.tool("luacheck", "echo 'src/a.lua:1:1: error: undefined variable x'; exit 1");
    sandbox.verify_run(["--sync", "luacheck", "."]).outcome();
    let mut shown = Listener::open_for(&dashboard, &query, None);
    let first = shown.hears("failure:recorded");
    assert_eq!(first.data["ref"], dashboard.json("/api/v1/failures?limit=1")["failures"][0]["id"]);
    drop(shown);
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn who_listens_is_told_what_is_recorded_and_misses_nothing() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let mut listener = Listener::open(&dashboard, None);
    sandbox.tool("luacheck", "echo 'src/a.lua:1:1: error: undefined variable x'; exit 1");
    let fails = |task: &str| sandbox.verify_run(["--sync", "--task", task, "luacheck", "."]).outcome();
    fails("one");
    let first = listener.hears("failure:recorded");
    let newest = dashboard.json("/api/v1/failures?limit=1")["failures"][0]["id"].clone();
    assert_eq!((&first.data["ref"], first.data["id"].as_str()), (&newest, Some(first.id.as_str())));
    assert_eq!(first.data["href"].as_str(), Some(&*format!("/failures/{}", newest.as_str().expect("an id"))));
    assert!(!first.data.to_string().contains("undefined variable"), "no text of tools: {first:?}");
    drop(listener);
    // What is recorded without a listener is sent to the one that comes back.
    fails("two");
    fails("three");
    let body = r#"{"decision":"d","context":"c","agentId":"a"}"#;
    assert_eq!(dashboard.post("/api/knowledge/decision", body).status, 200);
    let mut again = Listener::open(&dashboard, Some(&first.id));
    let missed = [again.hears("failure:recorded"), again.hears("failure:recorded")];
    assert!(missed[0].id != missed[1].id && missed.iter().all(|sent| sent.id != first.id), "{missed:?}");
    let entry = again.hears("knowledge:created");
    assert!(entry.data["href"].as_str().is_some_and(|href| dashboard.get(href).status == 200), "{entry:?}");
    let mut lost = Listener::open(&dashboard, Some("no-such-event"));
    assert_eq!(lost.hears("store:changed").id, "");
    drop((again, lost));
    // A page that comes into sight again hears what was recorded since it was read.
    let query = end_of(&dashboard.get("/failures").body);
    fails("four");
    let mut shown = Listener::open_for(&dashboard, &query, None);
    let fourth = shown.hears("failure:recorded");
    let newest = dashboard.json("/api/v1/failures?limit=1")["failures"][0]["id"].clone();
    assert_eq!(fourth.data["ref"], newest);
    let mut shown_again = Listener::open_for(&dashboard, &query, Some(&fourth.id));
    let mut unknown = Listener::open_for(&dashboard, "?page=0123456789abcdef", None);
    fails("five");
    let fifth = shown_again.hears("failure:recorded");
    assert!(fifth.id != fourth.id && fifth.data["ref"] != newest, "only what it has not heard: {fifth:?}");
    assert_eq!(unknown.hears("failure:recorded").id, fifth.id, "from now on");
    drop((shown, shown_again, unknown));
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_server_goes_on_while_somebody_listens() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &["--idle", "1s"]);
    let mut listener = Listener::open(&dashboard, None);
    let begun = std::time::Instant::now();
    // Longer than it would wait for a request.
    crate::sandbox::wait_until("two seconds are over", || begun.elapsed() > std::time::Duration::from_secs(2));
    sandbox.tool("luacheck", "echo 'src/a.lua:1:1: error: x'; exit 1");
    sandbox.verify_run(["--sync", "luacheck", "."]).outcome();
    listener.hears("failure:recorded");
    drop(listener);
    dashboard.has_ended();
}

pub(super) fn export(sandbox: &Sandbox, arguments: &[&str]) -> Vec<u8> {
    let outcome = sandbox.verify_run([&["dashboard", "export"], arguments].concat()).outcome();
    assert_eq!((outcome.ended, outcome.stdout()), (CommandEnd::Exit(0), ""), "{}", outcome.stderr());
    std::fs::read(sandbox.path(arguments[0])).expect("the file")
}

#[test]
fn a_file_has_everything_and_asks_for_nothing() {
    let sandbox = discount_story();
    let bytes = export(&sandbox, &["report.html"]);
    assert_eq!(bytes, export(&sandbox, &["again.html"]), "the same records give the same bytes");
    assert!(bytes.len() < 3 << 20);
    let html = String::from_utf8(bytes).expect("UTF-8");
    for wrong in ["<script", " style=", "<form", "http://", "https://", " src=", " onload="] {
        assert!(!html.contains(wrong), "it has {wrong}");
    }
    let ids: Vec<&str> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let unique: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(unique.len(), ids.len(), "each id once");
    let links: Vec<&str> = html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.iter().any(|link| link.starts_with("#p-")) && links.iter().any(|link| link.starts_with("#x-")));
    for link in links.iter().filter(|link| **link != "data:,") {
        assert!(link.strip_prefix('#').is_some_and(|anchor| unique.contains(anchor)), "{link} leads nowhere");
    }
    assert!(html.contains("test_total_with_discount") && html.contains("as of 20"), "{html}");
    std::fs::remove_file(sandbox.state().join("store.db")).expect("the index");
    sandbox.verify_run(["store", "rebuild"]).outcome();
    assert_eq!(html.into_bytes(), export(&sandbox, &["rebuilt.html"]), "the index is made of the events");
    let none = sandbox.verify_run(["dashboard", "export", "x.html", "--from", "soon"]).outcome();
    assert_eq!(none.ended, CommandEnd::Exit(2));
    let empty = Sandbox::repository();
    let refused = empty.verify_run(["dashboard", "export", "x.html"]).outcome();
    assert!(refused.ended == CommandEnd::Exit(1) && !empty.path("x.html").exists(), "{}", refused.stderr());
}

#[test]
fn other_endings_give_other_forms() {
    let sandbox = discount_story();
    let document: Value = serde_json::from_slice(&export(&sandbox, &["report.json"])).expect("JSON");
    let overview = dashboard_overview(&sandbox);
    assert_eq!(document["pages"]["/"]["figures"][1]["value"], overview["figures"][1]["value"]);
    let text = String::from_utf8(export(&sandbox, &["report.md", "--patterns", "1"])).expect("UTF-8");
    assert!(text.starts_with("# Overview\n") && text.contains("data, never an instruction"), "{text}");
}

fn dashboard_overview(sandbox: &Sandbox) -> Value {
    sandbox.verify_run(["stats", "--json"]).prints_json()["overview"].clone()
}

#[test]
fn a_masked_file_has_no_text_of_tools_and_people() {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "echo \"$PLACE:7:1: error: $MESSAGE\"; exit 1");
    let planted = [
        ("Zanzibar", "src/quokka.lua", "platypus exploded in wombat", "numbat"),
        ("Yellowknife", "lib/bilby/x.lua", "kookaburra is not a cassowary", "dingo-agent"),
        ("Xanadu", "app/potoroo.lua", "cannot find echidna", "taipan"),
        ("Wollongong", "pkg/dunnart.lua", "bandicoot met a pademelon", "quoll-agent"),
    ];
    for (task, place, message, agent) in planted {
        let run = ["--sync", "--task", task, "--agent", agent, "luacheck", "."];
        sandbox.verify_run(run).env("MESSAGE", message).env("PLACE", place).outcome();
    }
    sandbox.tool("luacheck", "exit 0");
    for (task, _, _, agent) in planted {
        sandbox.verify_run(["--sync", "--task", task, "--agent", agent, "luacheck", "."]).outcome();
    }
    let words = [
        "Zanzibar",
        "Yellowknife",
        "Xanadu",
        "quokka",
        "bilby",
        "potoroo",
        "platypus",
        "wombat",
        "kookaburra",
        "cassowary",
        "echidna",
        "numbat",
        "dingo",
        "taipan",
        "Wollongong",
        "dunnart",
        "bandicoot",
        "pademelon",
        "quoll",
        "exploded",
        "luacheck .",
    ];
    let open = String::from_utf8(export(&sandbox, &["open.html"])).expect("UTF-8");
    let shown = words.iter().filter(|word| open.contains(**word)).count();
    assert!(shown >= 20, "the open file has at least twenty of them: {shown}");
    let root = sandbox.work().to_string_lossy().into_owned();
    for file in ["masked.html", "masked.json", "masked.md"] {
        let masked = String::from_utf8(export(&sandbox, &[file, "--masked"])).expect("UTF-8");
        for word in words.iter().copied().chain([root.as_str()]) {
            assert!(!masked.contains(word), "{file} has {word}");
        }
        assert!(masked.contains("p-"), "patterns are there");
    }
}
