//! What every answer has whatever its status, and what is answered to requests that no page makes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use nix::sys::signal::Signal;

use super::api::DESCRIPTION;
use super::{Answer, Dashboard, PATIENCE};
use crate::sandbox::Sandbox;
use crate::story::discount_story;

/// Headers of every answer, with their values.
const HEADERS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action \
         'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    ),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=(), clipboard-read=()"),
    ("cache-control", "private, no-cache"),
];

/// Panics unless an answer has this status, and all headers once.
#[track_caller]
fn assert_guarded(answer: &Answer, status: u16) {
    assert_eq!(answer.status, status, "{answer:?}");
    for (name, value) in HEADERS {
        let given: Vec<&str> =
            answer.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect();
        assert_eq!(given, [value], "{name} of {status}: {answer:?}");
    }
    assert!(!answer.headers.iter().any(|(name, _)| name.starts_with("access-control-")), "{answer:?}");
    let content_type = answer.header("content-type").unwrap_or_default();
    let is_problem = content_type == "application/problem+json" || content_type.starts_with("text/html");
    assert!(status < 400 || is_problem, "{answer:?}");
}

#[test]
fn every_answer_has_all_headers_whatever_its_status() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let bearer = dashboard.bearer();
    let token = ("Authorization", bearer.as_str());
    let json = ("Content-Type", "application/json");
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let ask = |method: &str, path: &str, headers: &[(&str, &str)], body: &str| {
        dashboard.ask(method, path, &[&[token], headers].concat(), body)
    };
    let id = dashboard.json("/api/v1/patterns")["patterns"][0]["id"].as_str().expect("an id").to_owned();
    for path in ["/", "/patterns", "/patterns.md", "/api/v1/patterns", "/api/openapi.json", "/llms.txt"] {
        let answer = dashboard.get(path);
        assert_guarded(&answer, 200);
        let tag = answer.header("etag").expect("a tag");
        // A page says how long ago something was, so that its tag may change within the test.
        if path.starts_with("/api/") {
            assert_guarded(&ask("GET", path, &[("If-None-Match", tag)], ""), 304);
        }
        assert_guarded(&ask("HEAD", path, &[], ""), 200);
        assert_guarded(&ask("OPTIONS", path, &[], ""), 204);
        assert_guarded(&ask("PUT", path, &[], ""), 405);
        assert_guarded(&ask("GET", &format!("{path}?surprise=1"), &[], ""), 400);
        assert_guarded(&dashboard.ask("GET", path, &[], ""), 401);
        assert_guarded(&ask("GET", path, &[("Origin", "http://evil.example")], ""), 403);
        assert_guarded(&ask("GET", path, &[("Host", "evil.example")], ""), 421);
    }
    for path in ["/api/knowledge/metrics", "/problems/busy", "/assets/style.css"] {
        assert_guarded(&dashboard.get(path), 200);
    }
    assert_guarded(&ask("HEAD", "/api/v1/events", &[], ""), 200);
    assert_guarded(&dashboard.ask("GET", &format!("/?token={}", dashboard.token), &[], ""), 303);
    assert_guarded(&ask("GET", "/?theme=dark", &[], ""), 303);
    for path in ["/nope", "/api/v1/nope", "/patterns/p-nope", "/api/v1/patterns/p-nope", "/patterns/p-nope.md"] {
        assert_guarded(&dashboard.get(path), 404);
    }
    let large = format!("{{\"reason\":\"{}\"}}", "x".repeat(65 << 10));
    for (address, own, other) in
        [(format!("/api/v1/patterns/{id}/mute"), json, form), (format!("/patterns/{id}/mute"), form, json)]
    {
        assert_guarded(&ask("POST", &address, &[own], &large), 413);
        assert_guarded(&ask("POST", &address, &[other], "{}"), 415);
        assert_guarded(&ask("GET", &address, &[], ""), 405);
        assert_guarded(&dashboard.ask("POST", &address, &[own], "{}"), 401);
    }
    assert_guarded(&ask("POST", &format!("/api/v1/patterns/{id}/mute"), &[json], "[]"), 400);
    assert_guarded(&ask("POST", &format!("/api/v1/patterns/{id}/mute"), &[json], "{\"by\":\"Ada\"}"), 200);
    assert_guarded(&ask("POST", &format!("/patterns/{id}/unmute"), &[form], "by=Ada"), 303);

    // A store that this version can't read.
    let index = rusqlite::Connection::open(sandbox.state().join("store.db")).expect("opens");
    index.pragma_update(None, "user_version", 9_999).expect("a later version");
    drop(index);
    assert_guarded(&dashboard.get("/patterns"), 503);
    assert_guarded(&dashboard.get("/api/v1/patterns"), 503);
    assert_guarded(&dashboard.post(&format!("/api/v1/patterns/{id}/mute"), "{}"), 503);
    dashboard.ends(Signal::SIGINT);

    let empty = Sandbox::repository();
    let reading = Dashboard::start(&empty, &["--read-only"]);
    assert_guarded(&reading.post("/api/v1/patterns/p-x/mute", "{}"), 403);
    reading.ends(Signal::SIGINT);
}

/// All addresses with the methods that they have: of the description, and of the pages that agents read of.
fn all_addresses(dashboard: &Dashboard) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for (address, methods) in DESCRIPTION["paths"].as_object().expect("addresses") {
        let is_write = methods.get("post").is_some();
        found.push((address.clone(), if is_write { "POST" } else { "GET" }));
        // What is decided by the API is decided by a form of a page too.
        if let Some(page) = address.strip_prefix("/api/v1").filter(|_| is_write) {
            found.push((page.to_owned(), "POST"));
        }
    }
    let guide = dashboard.get("/llms.txt").body;
    let pages = guide.lines().filter_map(|line| line.split_once("](")?.1.strip_suffix(')')).map(str::to_owned);
    for page in pages.filter(|page| page.ends_with(".md")) {
        found.push((page.trim_end_matches(".md").replace("/index", "/"), "GET"));
        found.push((page, "GET"));
    }
    found.extend(["/llms.txt", "/problems/busy", "/nope", "/api/nope"].map(|path| (path.to_owned(), "GET")));
    found
}

#[test]
fn without_the_token_every_address_but_the_assets_refuses() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let addresses = all_addresses(&dashboard);
    let writes = addresses.iter().filter(|(_, method)| *method == "POST").count();
    assert!(addresses.len() > 130 && writes > 40, "{} addresses, {writes} of them write", addresses.len());
    let (work, cookie) = (sandbox.work(), format!("verify_run_{}={}", dashboard.port, dashboard.token));
    for (address, method) in addresses {
        let path = address.replace(['{', '}'], "");
        let body = if method == "POST" { "{}" } else { "" };
        let strangers: [&[(&str, &str)]; 4] = [
            &[],
            &[("Authorization", "Bearer x"), ("X-Verify-Run", "1")],
            // The cookie has a value of its own.
            &[("Cookie", &cookie), ("X-Verify-Run", "1")],
            &[("Content-Type", "application/json"), ("Sec-Fetch-Site", "same-origin")],
        ];
        for headers in strangers {
            let answer = dashboard.ask(method, &path, headers, body);
            assert_guarded(&answer, 401);
            assert!(answer.body.contains("verify-run dashboard url"), "{path}: {answer:?}");
            assert!(!answer.body.contains(&*work.to_string_lossy()), "{path}: {answer:?}");
        }
    }
    for name in ["style.css", "app.js"] {
        assert_guarded(&dashboard.ask("GET", &format!("/assets/{name}"), &[], ""), 200);
    }
    for path in ["/assets/", "/assets/nope.js", "/assets/style.css/x"] {
        assert_eq!(dashboard.ask("GET", path, &[], "").status, 401, "{path}");
    }
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_path_of_a_stranger_leads_nowhere() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let long = "x".repeat(8 << 10);
    let ids = ["..%2f..%2fetc%2fpasswd", "%2e%2e", "%00", "p-%00", "%ff", "%27%22%3Cscript%3E", "%", "%zz", &long];
    let pages = all_addresses(&dashboard).into_iter().filter(|(address, method)| {
        *method == "GET" && address.contains('{') && !address.starts_with("/api/") && !address.ends_with(".md")
    });
    let mut asked: Vec<String> = Vec::new();
    for (page, _) in pages {
        let (before, after) = page.split_once('{').expect("a place for a name");
        let after = after.split_once('}').expect("its end").1;
        asked.extend(ids.iter().map(|id| format!("{before}{id}{after}")));
        asked.extend(["../../../etc/passwd", "../patterns/p-nope"].map(|id| format!("{before}{id}{after}")));
    }
    assert!(asked.len() > 100, "{}", asked.len());
    for path in
        ["/../../../etc/passwd", "/assets/../../../etc/passwd", "/assets/..%2f..%2fetc%2fpasswd", "//etc/passwd"]
    {
        asked.push(path.to_owned());
    }
    asked.push(format!("/{long}"));
    for path in asked {
        let answer = dashboard.get(&path);
        let shown: String = path.chars().take(80).collect();
        assert!(matches!(answer.status, 400 | 404), "{shown}: {answer:?}");
        assert_guarded(&answer, answer.status);
        assert!(!answer.body.contains("root:") && !answer.body.contains("<script>"), "{shown}: {answer:?}");
    }
    // Longer than any address may be: refused before anything reads it.
    assert_eq!(dashboard.get(&format!("/patterns/{}", "x".repeat(70_000))).status, 414);
    assert_eq!(dashboard.get("/").status, 200, "it goes on");
    let log = std::fs::read_to_string(sandbox.state().join("recorder.log")).unwrap_or_default();
    assert!(!log.contains("panic"), "{log}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn what_is_no_request_is_refused_and_the_next_one_answered() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let many: String = (0..200).map(|number| format!("X-{number}: a\r\n")).collect();
    for (request, status) in [
        ("garbage\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n".to_owned(), "400"),
        (format!("GET / HTTP/1.1\r\n{many}\r\n"), "431"),
    ] {
        let mut stream = TcpStream::connect(("127.0.0.1", dashboard.port)).expect("connects");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers and closes");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer:?}");
        assert!(answer.ends_with("\r\n\r\n"), "without content: {answer:?}");
    }
    assert_eq!(dashboard.get("/").status, 200);
    dashboard.ends(Signal::SIGINT);
}
