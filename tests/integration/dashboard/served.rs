//! How it is served: at a socket, in a browser that it opens, in the scheme that a user chose; and that figures are what
//! their links and commands say.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;

use nix::sys::signal::Signal;
use serde_json::Value;
use verify_run::run::CommandEnd;

use super::markup::linked_texts;
use super::{Answer, Dashboard};
use crate::sandbox::{Sandbox, wait_until};
use crate::story::discount_story;

fn ask_socket(path: &std::path::Path, request: &str) -> String {
    let mut stream = UnixStream::connect(path).expect("connects");
    stream.set_read_timeout(Some(super::PATIENCE)).expect("a limit");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers and closes");
    answer
}

#[test]
fn at_a_socket_its_permissions_decide_who_may_ask() {
    let sandbox = discount_story();
    let path = sandbox.tmp().join("board.sock");
    let name = path.to_string_lossy().into_owned();
    let started = Dashboard::start_at_socket(&sandbox, &name);
    assert_eq!(std::fs::metadata(&path).expect("a socket").permissions().mode() & 0o777, 0o600);
    let get = "GET /api/v1/patterns HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let answer = ask_socket(&path, &format!("{get}\r\n"));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"patterns\""), "{answer}");
    let foreign = ask_socket(&path, &format!("{get}Origin: http://evil.example\r\n\r\n"));
    assert!(foreign.starts_with("HTTP/1.1 403"), "{foreign}");
    let own = format!("/proc/{}/net/tcp", started.child.id());
    let sockets = std::fs::read_dir(format!("/proc/{}/fd", started.child.id())).expect("its files").flatten();
    let inodes: Vec<String> = sockets
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter_map(|target| target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']').map(str::to_owned))
        .collect();
    let tcp = std::fs::read_to_string(own).expect("the kernel's list");
    let is_own = |line: &&str| line.split_whitespace().nth(9).is_some_and(|inode| inodes.iter().any(|it| it == inode));
    assert_eq!(tcp.lines().filter(is_own).count(), 0, "no port");
    started.ends(Signal::SIGINT);
    assert!(!path.exists(), "it is gone with the server");
    // One that a killed server left behind is replaced.
    drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket without a listener"));
    Dashboard::start_at_socket(&sandbox, &name).ends(Signal::SIGTERM);
}

#[test]
fn a_browser_is_opened_with_a_token_that_works_once() {
    let sandbox = discount_story();
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let opened = sandbox.tmp().join("opened");
    sandbox.tool(opener, &format!("printf %s \"$1\" > {0}.part && mv {0}.part {0}", opened.display()));
    let dashboard = Dashboard::start(&sandbox, &["--open"]);
    wait_until("the browser is opened", || opened.exists());
    let address = std::fs::read_to_string(&opened).expect("an address");
    let path = address.strip_prefix(&format!("http://127.0.0.1:{}", dashboard.port)).expect("its address").to_owned();
    assert!(!address.contains(&dashboard.token), "{address}");
    let first = dashboard.ask("GET", &path, &[], "");
    assert_eq!((first.status, first.header("location")), (303, Some("/")), "{first:?}");
    let cookie = first.header("set-cookie").and_then(|it| it.split(';').next()).expect("a cookie").to_owned();
    assert_eq!(dashboard.ask("GET", "/", &[("Cookie", &cookie)], "").status, 200);
    assert_eq!(dashboard.ask("GET", &path, &[], "").status, 401, "it works once");
    let bearer = format!("Bearer {}", path.split_once("token=").expect("a token").1);
    assert_eq!(dashboard.ask("GET", "/", &[("Authorization", &bearer)], "").status, 401);
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_theme_is_chosen_by_a_link_and_kept_in_a_cookie() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let bearer = dashboard.bearer();
    let chosen = dashboard.get("/patterns?state=all&theme=dark");
    assert_eq!((chosen.status, chosen.header("location")), (303, Some("/patterns?state=all")), "{chosen:?}");
    let cookie = chosen.header("set-cookie").and_then(|it| it.split(';').next()).expect("a cookie").to_owned();
    let page = |headers: &[(&str, &str)]| {
        dashboard.ask("GET", "/patterns?state=all", &[&[("Authorization", bearer.as_str())], headers].concat(), "").body
    };
    assert!(page(&[("Cookie", &cookie)]).contains("<html lang=\"en\" data-theme=\"dark\">"));
    let system = page(&[]);
    assert!(system.contains("data-theme=\"system\"") && system.contains("?theme=light&amp;state=all"), "{system}");
    assert_eq!(dashboard.get("/patterns?theme=pink").status, 400);
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_browser_keeps_what_every_page_loads() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let html = dashboard.get("/").body;
    for (name, content_type, kib_max) in [("style.css", "text/css", 16), ("app.js", "text/javascript", 12)] {
        let (_, rest) = html.split_once(&format!("\"/assets/{name}?")).expect("a page loads it");
        let named = rest.split('"').next().expect("its content is named");
        for (query, kept) in [
            (named, "private, max-age=31536000, immutable"),
            ("content=0", "private, no-cache"),
            ("", "private, no-cache"),
        ] {
            let answer = dashboard.ask("GET", &format!("/assets/{name}?{query}"), &[], "");
            let wanted_type = format!("{content_type}; charset=utf-8");
            assert_eq!((answer.status, answer.header("content-type")), (200, Some(wanted_type.as_str())), "{name}");
            assert_eq!(answer.header("cache-control"), Some(kept), "{name} {query}");
            assert!(answer.body.len() <= kib_max << 10, "{name}");
        }
    }
    dashboard.ends(Signal::SIGINT);
}

/// Rows of a list, over all of its pages.
pub(super) fn list_rows(dashboard: &Dashboard, address: &str, rows: &str) -> Vec<Value> {
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = dashboard.json(&format!("/api/v1{address}{after}"));
        found.extend(page[rows].as_array().expect("rows").iter().cloned());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return found,
        }
    }
}

/// How many rows a list of the overview has, over all of its pages.
#[track_caller]
pub(super) fn count_rows(dashboard: &Dashboard, link: &str) -> u64 {
    let list = link.split('?').next().unwrap_or_default();
    let rows = if list == "/first-runs" { "runs" } else { list.trim_start_matches('/') };
    assert_eq!(dashboard.get(link).status, 200, "{link}");
    list_rows(dashboard, &format!("{link}&limit=1"), rows).len() as u64
}

/// Failures, fixes, first runs and warnings of several tasks, agents and tools.
pub(super) fn warned_story() -> Sandbox {
    let sandbox = discount_story();
    sandbox.write("src/x.lua", "x");
    sandbox.tool("luacheck", "test -z \"$MESSAGE\" && exit 0\necho \"src/x.lua:1:1: error: $MESSAGE\"; exit 1");
    let run = |task: &str, agent: &str, message: &str| {
        let command = ["--sync", "--task", task, "--agent", agent, "luacheck", "."];
        sandbox.verify_run(command).env("MESSAGE", message).outcome();
    };
    for (task, agent, message) in [("a", "codex", "one"), ("a", "codex", "one"), ("b", "ada", "one"), ("c", "ada", "")]
    {
        run(task, agent, message);
    }
    // Warned, and then without the mistake, with it, and not known.
    for (task, agent, message) in [("d", "codex", Some("")), ("e", "ada", Some("one")), ("f", "ada", None)] {
        let warn = ["warn", "--json", "--session", task, "--task", task, "--files", "src/x.lua"];
        let warned = sandbox.verify_run(warn).env("VERIFY_RUN_AGENT", agent).prints_json();
        assert_eq!(warned["warnings"].as_array().map(Vec::len), Some(1), "{warned}");
        if let Some(message) = message {
            run(task, agent, message);
        }
    }
    sandbox
}

#[test]
fn each_number_of_the_overview_is_a_link_to_that_many_rows() {
    let sandbox = warned_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let mut positive = std::collections::BTreeSet::new();
    for query in [
        "",
        "?agent=codex",
        "?tool=luacheck",
        "?category=lint_error&agent=ada",
        "?from=90d",
        "?from=2020-01-01&to=2020-01-02",
    ] {
        let figures =
            dashboard.json(&format!("/api/v1/overview{query}"))["figures"].as_array().expect("figures").clone();
        let html = dashboard.get(&format!("/{query}")).body;
        let shown: Vec<&str> = html.split("<li><h2>").skip(1).collect();
        assert_eq!(shown.len(), figures.len(), "{html}");
        for (figure, html) in figures.iter().zip(shown) {
            let name = figure["name"].as_str().expect("a name");
            let links = linked_texts(html.split("<details>").next().expect("its numbers"));
            // Of a share the cases that it counts, of a mean all of its cases.
            let counted = figure["hits"].as_u64().or(figure["cases"].as_u64()).expect("a number");
            assert_eq!(count_rows(&dashboard, &links[0].0), counted, "{query} {figure} {}", links[0].0);
            for (link, text) in &links[1..] {
                let number: u64 = text.split(' ').next().and_then(|it| it.parse().ok()).expect("a number");
                assert_eq!(count_rows(&dashboard, link), number, "{query} {figure} {link}");
                assert!([&figure["hits"], &figure["cases"]].contains(&&number.into()), "{figure} {number}");
            }
            positive.extend((counted > 0).then(|| name.to_owned()));
        }
    }
    assert_eq!(positive.len(), 7, "each figure has a case: {positive:?}");
    for row in dashboard.json("/api/v1/patterns")["patterns"].as_array().expect("patterns") {
        let link = format!("/failures?pattern={}", row["id"].as_str().expect("an id"));
        assert_eq!(row["failures"].as_u64(), Some(list_rows(&dashboard, &link, "failures").len() as u64), "{link}");
    }
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn first_runs_and_warnings_are_listed_with_what_followed() {
    let sandbox = warned_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let column = |address: &str, rows: &str, field: &str| {
        let mut found: Vec<String> = list_rows(&dashboard, &format!("{address}&limit=2"), rows)
            .iter()
            .map(|row| format!("{} {}", row["task"].as_str().expect("a task"), row[field]))
            .collect();
        found.sort();
        found
    };
    let first = column("/first-runs?tool=luacheck", "runs", "passed");
    assert_eq!(first, ["a false", "b false", "c true", "d true", "e false"]);
    assert_eq!(column("/first-runs?tool=luacheck&state=failed&agent=codex", "runs", "passed"), ["a false"]);
    let warned = column("/warnings?state=all", "warnings", "outcome");
    assert_eq!(warned, ["d \"prevented\"", "e \"failed_anyway\"", "f \"open\""]);
    for (state, expected) in [("prevented", "d"), ("failed-anyway", "e")] {
        let found = list_rows(&dashboard, &format!("/warnings?state={state}"), "warnings");
        assert_eq!((found.len(), &found[0]["task"]), (1, &expected.into()), "{found:?}");
        assert!(found[0]["run"].is_string() && found[0]["pattern"].is_string(), "{found:?}");
    }
    assert_eq!(dashboard.get("/warnings?state=held-out").status, 400);
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_figure_explains_itself_and_names_the_command_that_prints_it() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let list = dashboard.json("/api/v1/figures?agent=");
    for figure in list["figures"].as_array().expect("figures") {
        let name = figure["name"].as_str().expect("a name");
        let mut one = dashboard.json(&format!("/api/v1/figures/{name}"));
        one.as_object_mut().expect("an object").remove("schema");
        assert_eq!(one, *figure);
        let command = figure["command"].as_str().and_then(|it| it.strip_prefix("verify-run ")).expect("a command");
        let printed: Value = sandbox.verify_run(command.split(' ')).prints_json();
        assert_eq!(printed.pointer(figure["pointer"].as_str().expect("a pointer")), Some(&figure["value"]), "{name}");
        let page = dashboard.get(&format!("/figures/{name}"));
        assert!(page.status == 200 && page.body.contains("verify-run stats --json"), "{page:?}");
    }
    let unknown: Answer = dashboard.get("/api/v1/figures/nope");
    assert!(unknown.status == 404 && unknown.body.contains("failing_tasks"), "{unknown:?}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_repository_does_not_decide_how_it_is_served() {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "echo 'a.lua:1:1: error: x'; exit 1");
    sandbox.verify_run(["--sync", "luacheck", "."]).outcome();
    let severity = |dashboard: &Dashboard| dashboard.json("/api/v1/patterns")["patterns"][0]["severity"].clone();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let before = severity(&dashboard);
    sandbox.write("verify-run.toml", "[dashboard]\nseverity = [0.03, 0.02, 0.01]\n");
    assert_eq!(severity(&dashboard), before);
    let doctor = sandbox.verify_run(["doctor", "--json"]).outcome();
    let report: Value = serde_json::from_str(doctor.stdout()).expect("JSON");
    let mut findings = report["findings"].as_array().expect("findings").iter();
    let of_settings = findings.find(|finding| finding["name"] == "settings").expect("the settings");
    let file = sandbox.path("verify-run.toml");
    assert_eq!(
        (&of_settings["status"], &of_settings["message"], &of_settings["file"], &of_settings["line"]),
        (
            &"warning".into(),
            &"dashboard.severity counts only in the user's own file: it is left out".into(),
            &file.to_string_lossy().into(),
            &2.into()
        )
    );
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn what_is_held_out_for_a_task_is_named_once_it_is_over() {
    let sandbox = Sandbox::repository();
    sandbox.write("verify-run.toml", "[advice]\nholdout_share = 0.5\n");
    sandbox.write("src/x.lua", "x");
    sandbox.tool("luacheck", "echo 'src/x.lua:1:1: error: accessing undefined variable'; exit 1");
    for task in ["one", "two"] {
        sandbox.verify_run(["--sync", "--task", task, "luacheck", "."]).outcome();
    }
    let warn = |task: &str| {
        let asked = ["warn", "--json", "--session", task, "--task", task, "--files", "src/x.lua"];
        sandbox.verify_run(asked).prints_json()
    };
    let mut tasks = (0..64).map(|number| format!("draw-{number}-"));
    let task = tasks.find(|task| warn(task)["held_out"] == 1).expect("half of them are held out");
    let pattern = sandbox.verify_run(["pattern", "list", "--json"]).prints_json()["patterns"][0]["id"].clone();
    let pattern = pattern.as_str().expect("a pattern");
    let told = || sandbox.verify_run(["stats", "--json"]).prints_json()["warnings"].clone();
    let before = told();

    let dashboard = Dashboard::start(&sandbox, &[]);
    let of_task = format!("/tasks/{task}");
    let advice = &dashboard.json(&format!("/api/v1{of_task}"))["warnings"];
    assert_eq!((&advice["shown"], &advice["held_out"]), (&0.into(), &1.into()), "how many is known: {advice}");
    let of_pattern = format!("/patterns/{pattern}");
    for (page, wrong) in [(&*of_task, pattern), (&of_pattern, &task), ("/warnings", &task), ("/effect", &task)] {
        let as_text = [("Authorization", &*dashboard.bearer()), ("Accept", "text/markdown")];
        let api = format!("/api/v1{page}");
        for answer in [dashboard.get(page), dashboard.ask("GET", page, &as_text, ""), dashboard.get(&api)] {
            assert!(answer.status == 200 && !answer.body.contains(wrong), "{page} has {wrong}: {answer:?}");
        }
    }
    let relevant = dashboard.get(&format!("/api/knowledge/relevant/{task}"));
    assert!(relevant.status == 200 && !relevant.body.contains(pattern), "{relevant:?}");
    assert_eq!(told(), before, "reading is no warning");
    for name in ["held.html", "held.md", "held.json"] {
        assert_eq!(sandbox.verify_run(["dashboard", "export", name]).outcome().ended, CommandEnd::Exit(0));
        assert!(!sandbox.read(name).contains(&task), "{name} has {task}");
    }

    sandbox.verify_run(["task", "done", &task]).prints();
    let newest = dashboard.json(&format!("/api/v1{of_pattern}"))["warned"]["newest"].clone();
    let named = newest.as_array().into_iter().flatten().find(|line| line["task"] == *task).expect("it is over");
    assert_eq!(named["arm"], "holdout");
    assert!(dashboard.get(&of_pattern).body.contains(&task), "so says the page");
    dashboard.ends(Signal::SIGTERM);
}
