//! What waits for a person: exactly what the commands say is waiting.

use nix::sys::signal::Signal;
use serde_json::Value;
use verify_run::base::clock::Timestamp;

use super::Dashboard;
use super::api::assert_described;
use super::decisions::promotion_story;
use super::markup::{addresses, plain_text, table_rows};
use crate::gate::checklist;
use crate::gate::decisions::{decide, failing_project, judge};
use crate::lab::has_namespaces;
use crate::learning::{agree, job_in, mend, mend_calc, move_tag, python_project, work};
use crate::sandbox::Sandbox;

const DAY_US: i64 = 86_400_000_000;

/// What waits: its kind, its id, and what to type.
type Waiting = (String, Option<String>, String);

/// What the commands say is waiting, sorted.
fn waiting_by_commands(sandbox: &Sandbox) -> Vec<Waiting> {
    let printed = |command: &[&str]| -> Value {
        let outcome = sandbox.verify_run([command, &["--json"]].concat()).outcome();
        serde_json::from_str(outcome.stdout()).unwrap_or_else(|error| panic!("{command:?}: {error}: {outcome:?}"))
    };
    let rows = |document: &Value, name: &str| document[name].as_array().expect("a list").clone();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let mut found = Vec::new();
    let mut add = |kind: &str, id: String, command: String| found.push((kind.to_owned(), Some(id), command));
    for line in rows(&printed(&["promote", "list"]), "promotions") {
        let kind = if line["state"] == "pending" { "promotion" } else { "retirement" };
        let id = text(&line["id"]);
        add(kind, id.clone(), format!("verify-run promote show {id}"));
    }
    for page in rows(&printed(&["library", "list", "--candidates"]), "pages") {
        let id = text(&page["id"]);
        add("candidate", id.clone(), format!("verify-run library show {id}"));
    }
    for job in rows(&printed(&["library", "jobs"]), "jobs") {
        let (id, state) = (text(&job["id"]), text(&job["state"]));
        let verb = match state.as_str() {
            "needs_manual_scenario" => "scenario",
            "stalled_snapshot" | "snapshot_failed" => "job",
            _ => continue,
        };
        add("job", id.clone(), format!("verify-run library {verb} {id}"));
    }
    // Where nothing was judged there is no status.
    let gate = sandbox.verify_run(["gate", "status", "--json"]).outcome();
    let gate: Value = serde_json::from_str(gate.stdout()).unwrap_or_default();
    let stopped = match gate["phase"].as_str() {
        Some("escalated") => Some(("escalation", "verify-run gate resolve --by NAME --decision retry --reason WHY")),
        Some("halted") => Some(("breaker", "verify-run gate reset --by NAME --reason WHY")),
        _ => None,
    };
    if let Some((kind, command)) = stopped {
        add(kind, text(&gate["cycle"]), command.to_owned());
    }
    let now = Timestamp::now().0;
    for waiver in sandbox.verify_run(["gate", "waive", "--list"]).outcome().stdout().lines() {
        let until = waiver.split("until ").nth(1).and_then(|rest| Timestamp::parse(rest.trim_end_matches(')')));
        if until.is_some_and(|until| (now..now + 7 * DAY_US).contains(&until.0)) {
            let item = waiver.split(':').next().expect("an item");
            add("waiver", item.to_owned(), "verify-run gate waive --list".to_owned());
        }
    }
    for finding in rows(&printed(&["doctor"]), "findings") {
        if finding["status"] == "problem" && finding["name"] != "definitions" {
            let command = finding["hint"].as_str().unwrap_or("verify-run doctor").to_owned();
            add("problem", text(&finding["name"]), command);
        }
    }
    for _ in rows(&printed(&["whitelist", "check"]), "problems") {
        found.push(("definition".to_owned(), None, "verify-run whitelist check".to_owned()));
    }
    found.sort();
    found
}

/// What the document lists, sorted. The page has the same lines in the same order, and a link where there is a page.
fn waiting_by_dashboard(dashboard: &Dashboard) -> Vec<Waiting> {
    let document = dashboard.json("/api/v1/inbox");
    let items = document["items"].as_array().expect("items");
    assert_eq!(document["total"].as_u64(), Some(items.len() as u64), "{document}");
    let times: Vec<Option<&str>> = items.iter().map(|item| item["at"].as_str()).collect();
    let known: Vec<&str> = times.iter().copied().flatten().collect();
    assert!(known.is_sorted() && times[..known.len()].iter().all(Option::is_some), "the oldest first: {times:?}");

    let html = dashboard.get("/inbox").body;
    let main = html.split("<main").nth(1).expect("a page");
    let rows = table_rows(main);
    assert_eq!(rows.len(), items.len(), "{main}");
    for (row, item) in rows.iter().zip(items) {
        let cells: Vec<String> = row.iter().map(|cell| plain_text(cell)).collect();
        let kind = item["kind"].as_str().expect("a kind");
        assert_eq!(cells[0], kind.replace('_', " "));
        assert_eq!(cells[1], plain_text(&item["what"].as_str().expect("words").replace('<', "&lt;")));
        assert_eq!(cells[3], item["command"].as_str().expect("a command"));
        let links = addresses(row[1]);
        assert_eq!(links.len(), usize::from(!["problem", "definition", "waiver"].contains(&kind)), "{row:?}");
        for link in links {
            assert!(link.ends_with(item["id"].as_str().expect("an id")), "{link}: {item}");
            assert_eq!(dashboard.get(&link).status, 200, "{link}");
        }
    }
    let count = items.len();
    let head = match count {
        0 => "Nothing waits for a decision.".to_owned(),
        1 => "1 thing waits, the oldest first.".to_owned(),
        _ => format!("{count} things wait, the oldest first."),
    };
    assert!(plain_text(main).contains(&head), "{head}: {main}");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let lines = items.iter().map(|item| {
        (text(&item["kind"]).expect("a kind"), text(&item["id"]), text(&item["command"]).expect("a command"))
    });
    let mut lines: Vec<Waiting> = lines.collect();
    lines.sort();
    lines
}

/// What waits, by the dashboard and by the commands alike.
#[track_caller]
fn waiting(sandbox: &Sandbox) -> Vec<Waiting> {
    let dashboard = Dashboard::start(sandbox, &[]);
    let listed = waiting_by_dashboard(&dashboard);
    dashboard.ends(Signal::SIGINT);
    assert_eq!(listed, waiting_by_commands(sandbox), "listed, then printed");
    listed
}

fn kinds(waiting: &[Waiting]) -> Vec<&str> {
    waiting.iter().map(|(kind, _, _)| kind.as_str()).collect()
}

fn ids_of(waiting: &[Waiting], kind: &str) -> Vec<String> {
    waiting.iter().filter(|(known, _, _)| known == kind).filter_map(|(_, id, _)| id.clone()).collect()
}

/// Has the gate reject three trees, one after the other.
fn escalate(sandbox: &Sandbox) {
    sandbox.write(".verify-run/qa-checklist.yml", checklist(&[("X1", "sh check.sh")]));
    for attempt in 1..=3 {
        sandbox.write("check.sh", format!("# {attempt}\necho 'a.py:{attempt}: error: kind {attempt}'\nexit 1\n"));
        judge(sandbox);
    }
}

#[test]
fn what_waits_is_what_the_commands_say_until_it_is_decided() {
    let sandbox = promotion_story();
    assert_eq!(kinds(&waiting(&sandbox)), ["promotion", "promotion"]);
    escalate(&sandbox);
    assert_eq!(kinds(&waiting(&sandbox)), ["escalation", "promotion", "promotion"]);
    // A definition that can't be read, and lessons that can't be written.
    sandbox.write(".verify-run/tools/broken.toml", "name = 7\n");
    sandbox.write("lessons-file", "");
    let settings = sandbox.read("verify-run.toml");
    sandbox.write("verify-run.toml", format!("{settings}[lesson]\ndir = \"lessons-file\"\n"));
    let all = waiting(&sandbox);
    for kind in ["definition", "escalation", "problem", "promotion"] {
        assert!(kinds(&all).contains(&kind), "{kind}: {all:?}");
    }

    std::fs::remove_file(sandbox.path(".verify-run/tools/broken.toml")).expect("the definition");
    sandbox.write("verify-run.toml", settings);
    assert_eq!(kinds(&waiting(&sandbox)), ["escalation", "promotion", "promotion"], "what works again waits no more");

    // A mistake that is made again after its rule was promoted asks for its retirement.
    let decided = |verb: &str, id: &str| {
        sandbox.verify_run(["promote", verb, id, "--by", "Ada", "--reason", "noise"]).prints();
    };
    sandbox.write("AGENTS.md", "# Rules\n");
    decided("approve", &ids_of(&waiting(&sandbox), "promotion")[0]);
    assert_eq!(kinds(&waiting(&sandbox)), ["escalation", "promotion"]);
    let findings = "src/a.js:1:1: error: Expected { after 'if' condition  curly\n\
                    src/b.js:1:1: error: 'x' is not defined  no-undef\n";
    sandbox.write("findings", findings);
    sandbox.verify_run(["--sync", "--task", "C", "eslint", "."]).outcome();
    let again = waiting(&sandbox);
    assert_eq!(kinds(&again), ["escalation", "promotion", "retirement"]);
    decided("rollback", &ids_of(&again, "retirement")[0]);
    decided("reject", &ids_of(&again, "promotion")[0]);
    assert_eq!(kinds(&waiting(&sandbox)), ["escalation"]);
    let resolve = ["gate", "resolve", "--by", "Ada", "--decision", "abort", "--reason", "it is not worth it"];
    decide(&sandbox, &resolve, "Ada");
    assert_eq!(waiting(&sandbox), [], "nothing waits, and the page says so");
}

#[test]
fn candidates_and_jobs_wait_until_a_person_decided() {
    let Some(sandbox) = python_project() else { return };
    if !has_namespaces() {
        return;
    }
    mend(&sandbox, &["pytest", "-q"], mend_calc);
    assert_eq!(waiting(&sandbox), [], "a job that is queued waits for no person");
    agree(&sandbox);
    work(&sandbox);
    assert_eq!(kinds(&waiting(&sandbox)), ["candidate"]);
    // The command of the next one had a secret in it: only a person can say how it is run.
    sandbox.commit("Sums");
    sandbox.write("calc.py", sandbox.read("calc.py").replace("'calc'", "'sums'"));
    let command = ["pytest", "-q", "-o", "cache_dir=ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"];
    mend(&sandbox, &command, |sandbox| {
        sandbox.write("calc.py", sandbox.read("calc.py").replace("'sums'", "'ca' + 'lc'"));
    });
    assert_eq!(work(&sandbox)["state"], "needs_manual_scenario");
    let all = waiting(&sandbox);
    assert_eq!(kinds(&all), ["candidate", "job"]);
    let [candidate, job] = [0, 1].map(|row: usize| all[row].1.clone().expect("an id"));
    let said = ["--by", "Ada", "--reason", "not here"];
    sandbox.verify_run([&["library", "cancel", &job], &said[..]].concat()).prints();
    assert_eq!(kinds(&waiting(&sandbox)), ["candidate"]);
    // As a program does it.
    let dashboard = Dashboard::start(&sandbox, &[]);
    let reject = r#"{"by":"Ada","reason":"not here"}"#;
    let answer = dashboard.post(&format!("/api/v1/library/{candidate}/reject"), reject);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_described("/api/v1/library/{id}/reject", &answer.json());
    dashboard.ends(Signal::SIGINT);
    assert_eq!(waiting(&sandbox), []);
}

#[test]
fn what_the_gate_stopped_and_a_waiver_that_ends_soon_wait_too() {
    let sandbox = failing_project();
    sandbox.write("note.txt", "a change\n");
    for _ in 1..=3 {
        judge(&sandbox);
    }
    assert_eq!(kinds(&waiting(&sandbox)), ["breaker"]);
    let reset = ["gate", "reset", "--by", "Ada", "--reason", "the tool was broken"];
    decide(&sandbox, &reset, "Ada");
    assert_eq!(waiting(&sandbox), []);
    let waive = |until: &str| {
        decide(&sandbox, &["gate", "waive", "X1", "--by", "Ada", "--reason", "known", "--until", until], "Ada");
    };
    waive("2999-12-31");
    assert_eq!(waiting(&sandbox), [], "it ends in centuries");
    waive(&Timestamp(Timestamp::now().0 + 3 * DAY_US).rfc3339()[..10]);
    assert_eq!(ids_of(&waiting(&sandbox), "waiver"), ["X1"]);
}

#[test]
fn a_job_whose_snapshot_is_not_what_it_was_waits_for_a_person() {
    let Some(sandbox) = python_project() else { return };
    if !has_namespaces() {
        return;
    }
    mend(&sandbox, &["pytest", "-q"], mend_calc);
    sandbox.settle();
    agree(&sandbox);
    let job = job_in(&sandbox, "queued")["id"].as_str().expect("an id").to_owned();
    move_tag(&sandbox, &job);
    assert_eq!(work(&sandbox)["state"], "stalled_snapshot");
    let command = format!("verify-run library job {job}");
    assert_eq!(waiting(&sandbox), [("job".to_owned(), Some(job), command)]);
}

#[test]
fn of_many_lesson_files_those_that_were_changed_last_are_looked_at() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "echo \"src/a.js:1:1: error: 'x' is not defined  no-undef\"; exit 1");
    sandbox.verify_run(["--sync", "eslint", "."]).outcome();
    let text = sandbox.lesson().text;
    let names: Vec<String> = (0..1100).map(|number| format!(".lessons/old-l-{number:08x}.md")).collect();
    for name in &names {
        sandbox.write(name, &text);
    }
    assert_eq!(waiting(&sandbox), []);
    // Neither the first nor the last thousand by name has both.
    for name in [&names[0], &names[1099]] {
        sandbox.write(name, "no front matter\n");
    }
    assert_eq!(kinds(&waiting(&sandbox)), ["problem", "problem"]);
}
