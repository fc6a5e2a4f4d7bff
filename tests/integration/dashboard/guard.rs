//! Who gets an answer, where the server listens, and how it ends.

use std::io::{BufRead as _, BufReader};

use nix::sys::signal::Signal;
use verify_run::run::CommandEnd;

use super::Dashboard;
use crate::sandbox::{Sandbox, read_all};
use crate::story::discount_story;

/// Headers that every answer has.
const GUARDS: [&str; 6] = [
    "content-security-policy",
    "x-content-type-options",
    "referrer-policy",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "cache-control",
];

#[test]
fn it_has_a_port_of_its_own_and_leaves_nothing_behind() {
    let sandbox = discount_story();
    let first = Dashboard::start(&sandbox, &[]);
    let file = sandbox.state().join("dashboard.json");
    assert_eq!(
        std::fs::metadata(&file).map(|it| std::os::unix::fs::PermissionsExt::mode(&it.permissions()) & 0o777).ok(),
        Some(0o600)
    );
    let url = format!("http://127.0.0.1:{}/?token={}\n", first.port, first.token);
    sandbox.verify_run(["dashboard", "url"]).expect(CommandEnd::Exit(0), &url, "");
    let taken = first.port.to_string();
    let second = Dashboard::start(&sandbox, &[]);
    assert_ne!(second.port, first.port, "the port is taken");
    assert_ne!(second.token, first.token);
    let refused = sandbox.verify_run(["dashboard", "--port", &taken]).outcome();
    assert_eq!(refused.ended, CommandEnd::Exit(1));
    assert!(refused.stderr().contains("hint: run `verify-run dashboard url`"), "{}", refused.stderr());
    let port = first.port;
    first.ends(Signal::SIGINT);
    assert!(file.exists(), "the file is the second one's by now");
    second.ends(Signal::SIGTERM);
    assert!(!file.exists());
    let gone = sandbox.verify_run(["dashboard", "url"]).outcome();
    assert_eq!((gone.ended, gone.stdout()), (CommandEnd::Exit(1), ""));
    let again = Dashboard::start(&sandbox, &[]);
    assert_eq!(again.port, port, "the same for a store every time");
    assert!(file.exists());
    again.ends(Signal::SIGINT);
    assert!(!file.exists(), "an interrupt removes it too");
}

#[test]
fn it_prints_one_line_with_the_address_and_ends_when_it_is_interrupted() {
    let sandbox = discount_story();
    let (output, stdout) = std::io::pipe().expect("a pipe");
    let (errors, stderr) = std::io::pipe().expect("a pipe");
    let child = sandbox.verify_run(["dashboard"]).fd(1, stdout).fd(2, stderr).spawn();
    let mut output = BufReader::new(output);
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    let address = line.strip_prefix("http://127.0.0.1:").and_then(|rest| rest.strip_suffix('\n'));
    let (port, token) = address.and_then(|rest| rest.split_once("/?token=")).unwrap_or_else(|| panic!("{line:?}"));
    let (port, token) = (port.parse().expect("a port"), token.to_owned());
    let dashboard = Dashboard { child, output, errors: read_all(errors), port, token };
    assert_eq!(dashboard.get("/").status, 200);
    // It prints nothing more, and exits with 0.
    dashboard.ends(Signal::SIGINT);
    assert!(!sandbox.state().join("dashboard.json").exists());
}

#[test]
fn it_listens_on_the_loopback_only_and_ends_by_itself() {
    let sandbox = Sandbox::repository();
    let dashboard = Dashboard::start(&sandbox, &["--idle", "1s"]);
    let sockets = std::fs::read_to_string("/proc/net/tcp").expect("the kernel's list");
    let port = format!(":{:04X}", dashboard.port);
    let listening: Vec<&str> = sockets
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .filter(|local| local.ends_with(&port))
        .collect();
    assert!(!listening.is_empty() && listening.iter().all(|local| local.starts_with("0100007F:")), "{listening:?}");
    // A machine without IPv6 has no such list.
    let sockets = std::fs::read_to_string("/proc/net/tcp6").unwrap_or_default();
    let is_listening = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        fields.get(1).is_some_and(|local| local.ends_with(&port)) && fields.get(3) == Some(&"0A")
    };
    assert_eq!(sockets.lines().find(|line| is_listening(line)), None);
    assert_eq!(dashboard.get("/").status, 200);
    dashboard.has_ended();
}

#[test]
fn host_origin_and_token_are_checked_on_every_address() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &["--allow-host", "box.lan"]);
    let bearer = dashboard.bearer();
    let token = ("Authorization", bearer.as_str());
    for path in ["/", "/patterns", "/api/v1/patterns", "/api/qa/failures/dashboard", "/api/openapi.json", "/nope"] {
        let status = |headers: &[(&str, &str)]| dashboard.ask("GET", path, headers, "").status;
        let fine = if path == "/nope" { 404 } else { 200 };
        assert_eq!(status(&[token]), fine, "{path}");
        let local = format!("localhost:{}", dashboard.port);
        assert_eq!(status(&[token, ("Host", &local)]), fine, "{path}");
        assert_eq!(status(&[token, ("Host", "box.lan")]), fine, "{path}");
        assert_eq!(status(&[token, ("Host", "evil.example")]), 421, "{path}");
        assert_eq!(status(&[token, ("Origin", "http://evil.example")]), 403, "{path}");
        assert_eq!(status(&[token, ("Sec-Fetch-Site", "cross-site")]), 403, "{path}");
        assert_eq!(status(&[]), 401, "{path}");
        assert_eq!(status(&[("Authorization", "Bearer x")]), 401, "{path}");
        let answer = dashboard.ask("GET", path, &[], "");
        for name in GUARDS {
            assert!(answer.header(name).is_some(), "{path}: no {name} in {answer:?}");
        }
        assert!(answer.header("access-control-allow-origin").is_none());
    }
    let style = dashboard.ask("GET", "/assets/style.css", &[], "");
    assert_eq!((style.status, style.header("content-type")), (200, Some("text/css; charset=utf-8")));
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn the_printed_address_is_exchanged_for_a_cookie() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let answer = dashboard.ask("GET", &format!("/?token={}", dashboard.token), &[], "");
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
    let cookie = answer.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.contains("HttpOnly; SameSite=Strict") && !cookie.contains(&dashboard.token), "{cookie}");
    let cookie = cookie.split(';').next().expect("a pair").to_owned();
    assert_eq!(dashboard.ask("GET", "/", &[("Cookie", &cookie)], "").status, 200);
    assert_eq!(dashboard.ask("GET", "/?token=wrong", &[], "").status, 401);
    let body = r#"{"decision":"d","context":"c","agentId":"a"}"#;
    let post = |headers: &[(&str, &str)]| {
        let headers = [headers, &[("Cookie", cookie.as_str()), ("Content-Type", "application/json")]].concat();
        dashboard.ask("POST", "/api/knowledge/decision", &headers, body).status
    };
    assert_eq!(post(&[]), 403, "a form of another page could send this");
    assert_eq!(post(&[("X-Verify-Run", "1"), ("Origin", "http://evil.example")]), 403);
    for site in ["cross-site", "same-site"] {
        assert_eq!(post(&[("X-Verify-Run", "1"), ("Sec-Fetch-Site", site)]), 403, "{site}");
    }
    let decisions = || {
        let listed = sandbox.verify_run(["knowledge", "query", "--json"]).prints_json();
        let entries = listed["entries"].as_array().expect("entries").clone();
        entries.iter().filter(|entry| entry["type"] == "decision").count()
    };
    assert_eq!(decisions(), 0);
    assert_eq!(post(&[("X-Verify-Run", "1"), ("Sec-Fetch-Site", "same-origin")]), 200);
    assert_eq!(decisions(), 1);
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_read_only_server_writes_nothing() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &["--read-only"]);
    let refused = dashboard.post("/api/knowledge/decision", r#"{"decision":"d","context":"c","agentId":"a"}"#);
    assert_eq!((refused.status, refused.json()["type"].as_str()), (403, Some("/problems/read-only")));
    assert_eq!(dashboard.get("/").status, 200);
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn slow_clients_hold_nobody_up() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let slow: Vec<_> = (0..200)
        .map(|_| {
            let mut stream = std::net::TcpStream::connect(("127.0.0.1", dashboard.port)).expect("connects");
            std::io::Write::write_all(&mut stream, b"GET / HTTP/1.1\r\nHost: ").expect("writes");
            stream
        })
        .collect();
    assert_eq!(dashboard.get("/patterns").status, 200);
    let status = std::fs::read_to_string(format!("/proc/{}/status", dashboard.child.id())).expect("the kernel's words");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    assert!(peak.is_some_and(|kib: u64| kib < 120 << 10), "{peak:?} KiB");
    drop(slow);
    dashboard.ends(Signal::SIGINT);
}
