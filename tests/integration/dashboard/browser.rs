//! The dashboard in a real browser, and under the checkers of other people: of HTML, of HTTP APIs, of metrics.

use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use verify_run::run::CommandEnd;

use super::Dashboard;
use crate::sandbox::{Sandbox, need, tools};
use crate::story::discount_story;

/// The suites that a browser runs.
fn suites() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/browser")
}

/// Runs a suite of `tests/browser` against a dashboard. Reports the test as skipped when a browser or Node is missing.
#[track_caller]
fn browse(sandbox: &Sandbox, dashboard: &Dashboard, suite: &str, more: &[&Path]) {
    browse_address(sandbox, &format!("http://127.0.0.1:{}/?token={}", dashboard.port, dashboard.token), suite, more);
}

/// As [`browse`], against an address.
#[track_caller]
fn browse_address(sandbox: &Sandbox, address: &str, suite: &str, more: &[&Path]) {
    let (Some(node), Some(chromium)) = (need("node"), need("chromium")) else { return };
    let outcome =
        sandbox.bare(node).arg(suites().join(suite)).arg(address).args(more).env("CHROMIUM", chromium).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{suite}: {}{}", outcome.stdout(), outcome.stderr());
    assert!(outcome.stdout().contains(" checks passed"), "{suite}: {outcome:?}");
}

/// Four weeks of a team, up to today. `None` when what makes days pass is missing.
fn team_story() -> Option<Sandbox> {
    need("faketime")?;
    let python = need("python3")?;
    let mut sandbox = Sandbox::new();
    sandbox.add_path(tools());
    let outcome = sandbox
        .bare(python)
        .arg(suites().join("team.py"))
        .arg(sandbox.work())
        .arg(env!("CARGO_BIN_EXE_verify-run"))
        .outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{}{}", outcome.stdout(), outcome.stderr());
    Some(sandbox)
}

#[test]
fn everybody_can_use_every_page() {
    browse_team("pages.mjs", &["node", "chromium", "pytest", "vnu"]);
}

#[test]
fn people_find_what_they_come_for_with_the_keyboard() {
    browse_team("people.mjs", &["node", "chromium", "pytest", "pdftotext"]);
}

/// Runs a suite against the dashboard of a team, where its tools are.
#[track_caller]
fn browse_team(suite: &str, tools: &[&str]) {
    if tools.iter().any(|tool| need(tool).is_none()) {
        return;
    }
    let Some(sandbox) = team_story() else { return };
    let dashboard = Dashboard::start(&sandbox, &[]);
    browse(&sandbox, &dashboard, suite, &[&sandbox.work(), Path::new(env!("CARGO_BIN_EXE_verify-run"))]);
    dashboard.ends(Signal::SIGINT);
}

/// What the payloads have of characters that no screen shows.
const INVISIBLE: [char; 6] = ['\u{200b}', '\u{200d}', '\u{202c}', '\u{202e}', '\u{2066}', '\u{2069}'];

/// The texts that pages are attacked with.
fn payloads() -> Vec<String> {
    let text = std::fs::read_to_string(suites().join("payloads.json")).expect("the payloads");
    let payloads: Vec<String> = serde_json::from_str(&text).expect("a list of texts");
    assert_eq!(payloads.len(), 60);
    payloads
}

/// Runs whose messages, tests, tasks, agents and branches are payloads.
fn hostile_runs(payloads: &[String]) -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "printf 'src/a.lua:1:1: error: %s\\n' \"$MESSAGE\"; exit 1");
    let failed = "printf 'FAILED tests/%s.py::test_%s - %s\\n1 failed in 0.1s\\n'";
    sandbox.tool("pytest", &format!("{failed} \"$MESSAGE\" \"$MESSAGE\" \"$MESSAGE\"; exit 1"));
    for (number, payload) in payloads.iter().enumerate() {
        // Lists name tasks without the characters that no screen shows.
        let task = format!("t{number} {}", payload.replace(|c: char| c.is_control() || INVISIBLE.contains(&c), ""));
        let check = if number % 2 == 0 { ["luacheck", "."] } else { ["pytest", "-q"] };
        let run = [&["--task", task.as_str(), "--agent", payload][..], &check].concat();
        sandbox.verify_run(run).env("MESSAGE", payload).outcome();
    }
    // A task without a name has that of its branch.
    sandbox.commit("A commit to branch from");
    for payload in payloads.iter().filter(|payload| is_branch(payload)) {
        sandbox.git(["switch", "--quiet", "--create", payload.as_str()]);
        sandbox.verify_run(["luacheck", "."]).env("MESSAGE", "undefined variable x").outcome();
    }
    sandbox.tool("luacheck", "exit 0");
    sandbox.verify_run(["--sync", "luacheck", "."]).outcome();
    sandbox
}

/// Whether git takes a text as the name of a branch: no blank, no control character, none of what has a meaning for it.
fn is_branch(text: &str) -> bool {
    let is_wrong = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\".contains(c);
    let parts_are_names =
        text.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && !part.ends_with('.'));
    !text.contains(is_wrong) && !text.contains("..") && !text.starts_with('-') && parts_are_names
}

#[test]
fn hostile_records_do_nothing_in_a_browser() {
    if ["node", "chromium"].iter().any(|tool| need(tool).is_none()) {
        return;
    }
    let payloads = payloads();
    let branches = payloads.iter().filter(|payload| is_branch(payload)).count();
    assert!(branches >= 5, "{branches} payloads are names of branches");
    let sandbox = hostile_runs(&payloads);
    sandbox.verify_run(["store", "status"]).outcome();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let first = |list: &str, pointer: &str| {
        let document = dashboard.json(list);
        document
            .pointer(pointer)
            .and_then(|it| it.as_str())
            .unwrap_or_else(|| panic!("{pointer}: {document}"))
            .to_owned()
    };
    let pattern = first("/api/v1/patterns", "/patterns/0/id");
    let fix = first("/api/v1/fixes", "/fixes/0/id");
    let lesson = first("/api/v1/lessons", "/lessons/0/id");
    let decided = [
        (format!("/api/v1/patterns/{pattern}/mute"), vec!["reason", "by"]),
        (format!("/api/v1/fixes/{fix}/note"), vec!["cause", "approach", "rule", "by"]),
        (format!("/api/v1/lessons/{lesson}/annotate"), vec!["cause", "resolution", "rule", "by"]),
        ("/api/knowledge/decision".to_owned(), vec!["decision", "context", "agentId"]),
        ("/api/knowledge/gotcha".to_owned(), vec!["title", "pitfall", "fix", "agentId"]),
    ];
    for payload in &payloads {
        for (address, fields) in &decided {
            let fields = fields.iter().map(|name| ((*name).to_owned(), serde_json::Value::from(payload.as_str())));
            let mut body = serde_json::Value::Object(fields.collect());
            if address.starts_with("/api/knowledge/") {
                body["tags"] = serde_json::json!([payload]);
            }
            if address.ends_with("/gotcha") {
                (body["filePattern"], body["actionType"]) = ("src/**".into(), "UPDATE".into());
            }
            let answer = dashboard.post(address, &body.to_string());
            assert_eq!(answer.status, 200, "{address} {payload}: {answer:?}");
        }
    }
    browse(&sandbox, &dashboard, "hostile.mjs", &[&suites().join("payloads.json")]);
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn an_exported_file_is_read_from_a_disk_without_a_network() {
    if ["node", "chromium"].iter().any(|tool| need(tool).is_none()) {
        return;
    }
    // What was fixed, and what was printed to do harm.
    let sandbox = discount_story();
    sandbox.tool("luacheck", "printf 'src/a.lua:1:1: error: %s\\n' \"$MESSAGE\"; exit 1");
    for payload in payloads() {
        sandbox.verify_run(["--agent", &payload, "luacheck", "."]).env("MESSAGE", &payload).outcome();
    }
    let exported = sandbox.verify_run(["dashboard", "export", "report.html"]).outcome();
    assert_eq!(exported.ended, CommandEnd::Exit(0), "{exported:?}");
    let file = sandbox.path("report.html");
    assert!(std::fs::metadata(&file).expect("the file").len() <= 3 << 20);
    browse_address(&sandbox, &format!("file://{}", file.display()), "exported.mjs", &[]);
}

#[test]
fn a_dashboard_without_records_can_be_used_by_everybody() {
    let sandbox = Sandbox::repository();
    let dashboard = Dashboard::start(&sandbox, &[]);
    browse(&sandbox, &dashboard, "empty.mjs", &[]);
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn severities_are_told_apart_without_colours() {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "echo \"src/a.lua:1:1: error: $MESSAGE\"; exit 1");
    let patterns =
        [(12, "undefined variable x"), (5, "unreachable code"), (2, "empty statement"), (1, "shadowed definition y")];
    for (tasks, message) in patterns {
        for task in 0..tasks {
            let run = ["--task", &format!("{message} {task}"), "luacheck", "."];
            sandbox.verify_run(run).env("MESSAGE", message).outcome();
        }
    }
    sandbox.verify_run(["store", "status"]).outcome();
    let dashboard = Dashboard::start(&sandbox, &[]);
    browse(&sandbox, &dashboard, "severity.mjs", &[]);
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn the_description_holds_for_whatever_is_asked() {
    let (Some(schemathesis), Some(validator)) = (need("schemathesis"), need("openapi-spec-validator")) else { return };
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let description = sandbox.write("openapi.json", dashboard.get("/api/openapi.json").body);
    let valid = sandbox.bare(validator).arg(&description).outcome();
    assert_eq!(valid.ended, CommandEnd::Exit(0), "{}{}", valid.stdout(), valid.stderr());
    let outcome = sandbox
        .bare(schemathesis)
        .arg("--config-file")
        .arg(suites().join("schemathesis.toml"))
        .args(["run", &format!("http://127.0.0.1:{}/api/openapi.json", dashboard.port)])
        .args(["--checks", "all", "--max-examples", "5", "--seed", "1", "--no-color", "--continue-on-failure"])
        .args(["--generation-database", "none", "--header", &format!("Authorization: {}", dashboard.bearer())])
        .outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{}{}", outcome.stdout(), outcome.stderr());
    dashboard.ends(Signal::SIGINT);
}

/// Reads both forms with the client that Prometheus publishes.
const READ_METRICS: &str = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as text
read = open_metrics if sys.argv[1] == 'open' else text
families = list(read(sys.stdin.read()))
print(len(families), sum(len(family.samples) for family in families))
";

#[test]
fn prometheus_reads_the_figures_in_both_forms() {
    let (Some(promtool), Some(python)) = (need("promtool"), need("metrics-python")) else { return };
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let get = |accept: &str| {
        let headers = [("Authorization", &*dashboard.bearer()), ("Accept", accept)];
        let answer = dashboard.ask("GET", "/api/knowledge/metrics", &headers, "");
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    };
    let text = get("text/plain");
    let checked = sandbox.bare(promtool).args(["check", "metrics"]).stdin(text.as_bytes()).outcome();
    assert_eq!((checked.ended, checked.stdout(), checked.stderr()), (CommandEnd::Exit(0), "", ""));
    let counted = |form: &str, body: &str| {
        let read = sandbox.bare(&python).args(["-c", READ_METRICS, form]).stdin(body.as_bytes()).outcome();
        assert_eq!(read.ended, CommandEnd::Exit(0), "{form}: {}\n{body}", read.stderr());
        let numbers: Vec<u32> = read.stdout().split_whitespace().map(|it| it.parse().expect("a number")).collect();
        (numbers[0], numbers[1])
    };
    let open = get("application/openmetrics-text; version=1.0.0");
    assert!(open.ends_with("# EOF\n"), "{open}");
    let ((families, samples), (open_families, _)) = (counted("text", &text), counted("open", &open));
    assert!(families >= 10 && families == open_families && samples > families, "{families} {samples} {open_families}");
    dashboard.ends(Signal::SIGINT);
}
