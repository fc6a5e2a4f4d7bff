//! What people decide in the browser: by forms with a token, each as an event, and reverted on the audit page.

use std::collections::BTreeMap;

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::{Answer, Dashboard};
use crate::sandbox::{Sandbox, files_in};
use crate::story::discount_story;

/// A browser after its user opened the printed address: it has the cookie.
pub(super) struct Browser<'a> {
    dashboard: &'a Dashboard,
    cookie: String,
}

impl<'a> Browser<'a> {
    pub(super) fn open(dashboard: &'a Dashboard) -> Self {
        let answer = dashboard.ask("GET", &format!("/?token={}", dashboard.token), &[], "");
        let cookie = answer.header("set-cookie").and_then(|it| it.split(';').next()).expect("a cookie").to_owned();
        Browser { dashboard, cookie }
    }

    pub(super) fn page(&self, path: &str) -> String {
        let answer = self.dashboard.ask("GET", path, &[("Cookie", &self.cookie)], "");
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.body
    }

    /// Sends the form with this address that is on a page, with its hidden fields and these.
    #[track_caller]
    pub(super) fn submit(&self, page: &str, action: &str, fields: &[(&str, &str)]) -> Answer {
        let html = self.page(page);
        let form = form_with(&html, action).unwrap_or_else(|| panic!("{page} has no form for {action}: {html}"));
        let typed = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.send(action, &hidden_fields(form).into_iter().chain(typed).collect())
    }

    fn send(&self, action: &str, fields: &BTreeMap<String, String>) -> Answer {
        self.send_from(&format!("http://127.0.0.1:{}", self.dashboard.port), "same-origin", action, fields)
    }

    /// As [`Browser::submit`], from the page of another site that got hold of the form.
    #[track_caller]
    pub(super) fn submit_from_elsewhere(&self, page: &str, action: &str, fields: &[(&str, &str)]) -> Answer {
        let html = self.page(page);
        let form = form_with(&html, action).unwrap_or_else(|| panic!("{page} has no form for {action}: {html}"));
        let typed = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let fields = hidden_fields(form).into_iter().chain(typed).collect();
        self.send_from("http://evil.example", "cross-site", action, &fields)
    }

    fn send_from(&self, origin: &str, site: &str, action: &str, fields: &BTreeMap<String, String>) -> Answer {
        let pairs: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        let headers = [
            ("Cookie", self.cookie.as_str()),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Origin", origin),
            ("Sec-Fetch-Site", site),
        ];
        self.dashboard.ask("POST", action, &headers, &pairs.join("&"))
    }
}

fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

pub(super) fn form_with<'a>(html: &'a str, action: &str) -> Option<&'a str> {
    let forms = html.split("<form").skip(1).filter_map(|rest| rest.split("</form>").next());
    forms.into_iter().find(|form| form.contains(&format!("action=\"{action}\"")))
}

fn hidden_fields(form: &str) -> BTreeMap<String, String> {
    let attribute = |input: &str, name: &str| {
        Some(input.split_once(&format!("{name}=\""))?.1.split('"').next().unwrap_or_default().to_owned())
    };
    let inputs = form.split("<input").skip(1).filter_map(|rest| rest.split('>').next());
    let hidden = inputs.filter(|input| input.contains("type=\"hidden\""));
    hidden.filter_map(|input| Some((attribute(input, "name")?, attribute(input, "value")?))).collect()
}

/// Panics unless a form was taken and leads to this page.
#[track_caller]
pub(super) fn assert_leads_to(answer: &Answer, page: &str) {
    assert_eq!((answer.status, answer.header("location")), (303, Some(page)), "{answer:?}");
}

/// All events, one a line.
pub(super) fn events(sandbox: &Sandbox) -> Vec<Value> {
    let files = files_in(&sandbox.state().join("events"));
    let segments = files.iter().filter(|file| file.extension().is_some_and(|it| it == "jsonl"));
    let text: String = segments.map(|file| std::fs::read_to_string(file).expect("a segment")).collect();
    text.lines().map(|line| serde_json::from_str(line).expect("an event")).collect()
}

fn count_events(sandbox: &Sandbox, part: &str) -> usize {
    events(sandbox).iter().filter(|event| event.to_string().contains(part)).count()
}

#[test]
fn patterns_are_curated_on_their_page_and_reverted_on_the_audit_page() {
    let sandbox = discount_story();
    sandbox.tool("luacheck", "echo 'src/a.lua:1:1: error: undefined variable x'; exit 1");
    sandbox.verify_run(["--sync", "--task", "lua", "luacheck", "."]).outcome();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let browser = Browser::open(&dashboard);
    let patterns = dashboard.json("/api/v1/patterns?state=all");
    let ids: Vec<&str> =
        patterns["patterns"].as_array().expect("patterns").iter().filter_map(|it| it["id"].as_str()).collect();
    let [first, second] = ids[..] else { panic!("{patterns}") };
    let page = format!("/patterns/{first}");
    let state = || dashboard.json(&format!("/api/v1{page}"))["state"].clone();

    for (verb, done, undo) in [("mute", "muted", "unmute"), ("deprecate", "deprecated", "restore")] {
        let said = [("by", "Ada"), ("reason", "fixed upstream <b>")];
        assert_leads_to(&browser.submit(&page, &format!("{page}/{verb}"), &said), &page);
        assert_eq!(state(), done);
        assert_eq!(count_events(&sandbox, &format!("\"state\":\"{done}\"")), 1);
        let audit = browser.page("/audit");
        assert!(audit.contains("Ada") && audit.contains("fixed upstream &lt;b&gt;"), "{audit}");
        assert_leads_to(&browser.submit("/audit", &format!("{page}/{undo}"), &[]), "/audit");
        assert_eq!(state(), "open");
        assert!(form_with(&browser.page("/audit"), &format!("{page}/{undo}")).is_none(), "it is reverted");
    }
    let merged = browser.submit(&page, &format!("{page}/merge"), &[("into", second), ("by", "Ada")]);
    assert_eq!(merged.status, 303, "{merged:?}");
    let shown = dashboard.json(&format!("/api/v1{page}"));
    assert_eq!(shown["group"].as_array().map(Vec::len), Some(2), "{shown}");
    assert_leads_to(&browser.submit("/audit", &format!("{page}/split"), &[]), "/audit");
    let shown = dashboard.json(&format!("/api/v1{page}"));
    assert_eq!(shown["group"].as_array().map(Vec::len), Some(1), "{shown}");
    for part in ["\"kind\":\"merge\"", "\"kind\":\"split\""] {
        assert_eq!(count_events(&sandbox, part), 1, "{part}: {:?}", events(&sandbox).last());
    }
    let unknown = browser.submit(&page, &format!("{page}/merge"), &[("into", "p-nope")]);
    assert_eq!(unknown.status, 404, "{unknown:?}");
    let api = dashboard.post(&format!("/api/v1{page}/mute"), r#"{"by":"Bo","reason":"noise"}"#);
    assert_eq!((api.status, &api.json()["pattern"]), (200, &json!(first)));
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_form_without_its_token_changes_nothing() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let browser = Browser::open(&dashboard);
    let patterns = dashboard.json("/api/v1/patterns");
    let page = format!("/patterns/{}", patterns["patterns"][0]["id"].as_str().expect("an id"));
    let action = format!("{page}/mute");
    let before = events(&sandbox).len();
    for token in [None, Some(""), Some("0000"), Some(dashboard.token.as_str())] {
        let fields = token.map(|token| ("form_token".to_owned(), token.to_owned())).into_iter().collect();
        let refused = browser.send(&action, &fields);
        assert!(refused.status == 403 && refused.body.contains("token of a form"), "{refused:?}");
    }
    let html = browser.page(&page);
    let fields = hidden_fields(form_with(&html, &action).expect("a form"));
    let pairs: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let kind = ("Content-Type", "application/x-www-form-urlencoded");
    let foreign = [("Cookie", browser.cookie.as_str()), kind, ("Origin", "http://evil.example")];
    assert_eq!(dashboard.ask("POST", &action, &foreign, &pairs.join("&")).status, 403);
    assert_eq!(dashboard.ask("POST", &action, &[kind], &pairs.join("&")).status, 401, "no cookie");
    let wrong = [("Cookie", browser.cookie.as_str()), ("Content-Type", "application/json")];
    assert_eq!(dashboard.ask("POST", &action, &wrong, "{}").status, 415);
    assert_eq!(dashboard.ask("GET", &action, &[("Cookie", &browser.cookie)], "").status, 405);
    assert_eq!(events(&sandbox).len(), before, "nothing was recorded");
    dashboard.ends(Signal::SIGINT);

    let reading = Dashboard::start(&sandbox, &["--read-only"]);
    let browser = Browser::open(&reading);
    assert!(!browser.page(&page).contains("method=\"post\""), "no form is offered");
    assert_eq!(browser.send(&action, &fields).status, 403);
    reading.ends(Signal::SIGINT);
}

/// Two mistakes that have each earned a line.
pub(super) fn promotion_story() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.write("verify-run.toml", "[advice]\nholdout = false\n[promotion]\ntasks = 1\nconfidence = 0.5\n");
    sandbox.tool("eslint", "test -s findings || exit 0; cat findings; exit 1");
    let lint = |task: &str, findings: &str, code: u8| {
        sandbox.write("findings", findings);
        let run = sandbox.verify_run(["--sync", "--task", task, "eslint", "."]).env("VERIFY_RUN_SESSION", task);
        assert_eq!(run.outcome().ended, CommandEnd::Exit(code));
    };
    sandbox.write("src/a.js", "if (a) b();\n");
    sandbox.write("src/b.js", "x();\n");
    let findings = "src/a.js:1:1: error: Expected { after 'if' condition  curly\n\
                    src/b.js:1:1: error: 'x' is not defined  no-undef\n";
    lint("A", findings, 1);
    let asked = ["warn", "--task", "B", "--session", "B", "--files", "src/a.js", "src/b.js", "--json"];
    let warnings = sandbox.verify_run(asked).prints_json();
    assert_eq!(warnings["warnings"].as_array().map(Vec::len), Some(2), "{warnings}");
    lint("B", "", 0);
    sandbox.settle();
    sandbox
}

/// All files below a folder.
pub(super) fn all_files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = files_in(folder);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_dir() && !path.is_symlink()).for_each(|folder| files.extend(all_files(&folder)));
    files
}

#[test]
fn looking_at_what_waits_records_nothing() {
    let sandbox = promotion_story();
    let recorded = || {
        let files = all_files(&sandbox.state()).into_iter().filter(|file| {
            let name = file.to_string_lossy().into_owned();
            !name.contains("store.db") && !name.ends_with("dashboard.json") && !name.ends_with(".lock")
        });
        files.map(|file| (file.clone(), std::fs::read(&file).expect("a file"))).collect::<BTreeMap<_, _>>()
    };
    // What other commands left waiting is recorded first.
    sandbox.verify_run(["log"]).outcome();
    sandbox.verify_run(["doctor"]).outcome();
    let before = recorded();
    let dashboard = Dashboard::start(&sandbox, &["--read-only"]);
    let promotions = dashboard.json("/api/v1/promotions");
    let id = promotions["promotions"][0]["id"].as_str().expect("an id").to_owned();
    for path in ["/inbox".to_owned(), "/promotions".to_owned(), format!("/promotions/{id}")] {
        assert_eq!(dashboard.get(&path).status, 200, "{path}");
    }
    dashboard.json("/api/v1/inbox");
    dashboard.ends(Signal::SIGINT);
    let after = recorded();
    let names = |all: &BTreeMap<_, Vec<u8>>| all.keys().cloned().collect::<Vec<std::path::PathBuf>>();
    assert_eq!(names(&before), names(&after));
    assert!(before == after, "a file changed");
}

#[test]
fn an_approval_writes_what_was_shown_or_nothing_and_is_rolled_back() {
    let sandbox = promotion_story();
    let agents = "# Rules\n";
    sandbox.write("AGENTS.md", agents);
    let dashboard = Dashboard::start(&sandbox, &[]);
    let browser = Browser::open(&dashboard);
    let listed = dashboard.json("/api/v1/promotions");
    let id = listed["promotions"][0]["id"].as_str().expect("an id").to_owned();
    let page = format!("/promotions/{id}");
    let approve = format!("{page}/approve");
    let said = [("by", "Ada"), ("reason", "we all trip over this")];
    for missing in [&said[..1], &said[1..], &[("by", "\u{1}"), said[1]]] {
        let refused = browser.submit(&page, &approve, missing);
        assert_eq!(refused.status, 400, "{refused:?}");
    }
    let stale = hidden_fields(form_with(&browser.page(&page), &approve).expect("a form"));
    sandbox.write("AGENTS.md", "# Rules\n\nBe kind.\n");
    let typed = said.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let refused = browser.send(&approve, &stale.into_iter().chain(typed).collect());
    assert!(refused.status == 409 && refused.body.contains("changed since"), "{refused:?}");
    assert_eq!(sandbox.read("AGENTS.md"), "# Rules\n\nBe kind.\n");
    sandbox.write("AGENTS.md", agents);

    let shown = dashboard.json(&format!("/api/v1{page}"));
    assert_leads_to(&browser.submit(&page, &approve, &said), &page);
    let written = sandbox.read("AGENTS.md");
    let added: Vec<&str> = shown["diff"].as_str().expect("a diff").lines().filter(|it| it.starts_with('+')).collect();
    let lines: Vec<&str> = added.iter().filter(|it| !it.starts_with("+++")).map(|it| &it[1..]).collect();
    assert_eq!(written, format!("{agents}{}\n", lines.join("\n")), "{shown}");
    let all = sandbox.verify_run(["promote", "list", "--all", "--json"]).prints_json();
    let of = |all: &Value| all["promotions"].as_array().expect("a list").iter().find(|it| it["id"] == id).cloned();
    assert_eq!(of(&all).expect("it")["state"], "approved");
    let audit = browser.page("/audit");
    assert!(audit.contains("we all trip over this") && audit.contains(&format!("{page}#decide")), "{audit}");
    assert_leads_to(&browser.submit(&page, &format!("{page}/rollback"), &[("by", "Bo"), ("reason", "no")]), &page);
    assert_eq!(sandbox.read("AGENTS.md"), agents, "the bytes from before");
    let other = listed["promotions"][1]["id"].as_str().expect("an id");
    let (page, reject) = (format!("/promotions/{other}"), format!("/promotions/{other}/reject"));
    assert_leads_to(&browser.submit(&page, &reject, &said), &page);
    let all = sandbox.verify_run(["promote", "list", "--all", "--json"]).prints_json();
    let states = all["promotions"].as_array().expect("a list").iter().map(|it| it["state"].to_string());
    assert_eq!(states.collect::<std::collections::BTreeSet<_>>().len(), 2, "{all}");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn entries_are_pinned_and_superseded_on_their_page() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let browser = Browser::open(&dashboard);
    let add = |text: &str| {
        let body = json!({"decision": text, "context": text, "agentId": "codex"}).to_string();
        dashboard.post("/api/knowledge/decision", &body).json()["id"].as_str().expect("an id").to_owned()
    };
    let (old, new) = (add("Retry failed requests three times"), add("Use a queue for all requests"));
    let page = format!("/knowledge/{old}");
    let entry = || dashboard.json(&format!("/api/v1{page}"));
    assert_leads_to(&browser.submit(&page, &format!("{page}/pin"), &[]), &page);
    assert_eq!(entry()["pinned"], true);
    assert_leads_to(&browser.submit("/audit", &format!("{page}/unpin"), &[]), "/audit");
    assert_eq!(entry()["pinned"], false);
    let set = [("value", "0.9"), ("by", "Ada"), ("reason", "it is true")];
    assert_leads_to(&browser.submit(&page, &format!("{page}/confidence"), &set), &page);
    assert_eq!(entry()["confidence"], 0.9);
    assert_leads_to(&browser.submit(&page, &format!("{page}/supersede"), &[("with", &new)]), &page);
    assert_eq!(entry()["superseded_by"], new.as_str());
    dashboard.ends(Signal::SIGINT);
}

/// Panics unless a document is refused, with where it is wrong.
#[track_caller]
pub(super) fn assert_bad_body(dashboard: &Dashboard, path: &str, body: &Value, pointer: &str) {
    let refused = dashboard.post(path, &body.to_string());
    let problem = refused.json();
    assert_eq!((refused.status, &problem["errors"][0]["pointer"]), (400, &json!(pointer)), "{path} {body}: {problem}");
}

#[test]
fn what_people_know_of_a_fix_is_recorded_on_its_page() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let browser = Browser::open(&dashboard);
    let fixes = dashboard.json("/api/v1/fixes?state=success");
    let page = format!("/fixes/{}", fixes["fixes"][0]["id"].as_str().expect("a fix"));
    let (note, api) = (format!("{page}/note"), format!("/api/v1{page}/note"));
    let before = events(&sandbox).len();
    for (body, pointer) in [
        (json!({}), "/cause"),
        (json!({"by": "Ada"}), "/cause"),
        (json!({"cause": 7, "rule": "x"}), "/cause"),
        (json!({"cause": "x", "why": "y"}), "/why"),
    ] {
        assert_bad_body(&dashboard, &api, &body, pointer);
    }
    assert_eq!(browser.submit(&page, &note, &[("by", "Ada")]).status, 400, "nothing is said");
    assert_eq!(browser.submit_from_elsewhere(&page, &note, &[("cause", "planted")]).status, 403);
    assert_eq!(dashboard.post("/api/v1/fixes/x-nope/note", r#"{"cause":"x"}"#).status, 404);
    assert_eq!(events(&sandbox).len(), before, "nothing was recorded");

    let said = [("cause", "The discount is <b>a share</b>"), ("rule", "Multiply by what is left"), ("by", "Ada")];
    assert_leads_to(&browser.submit(&page, &note, &said), &page);
    let html = browser.page(&page);
    assert!(html.contains("The discount is &lt;b&gt;a share&lt;/b&gt;") && html.contains("Ada"), "{html}");
    let answer = dashboard.post(&api, r#"{"approach":"Use a factor","by":"Bo"}"#);
    assert_eq!(answer.status, 200, "{answer:?}");
    super::api::assert_described("/api/v1/fixes/{id}/note", &answer.json());
    let shown = sandbox.verify_run(["fix", "show", &page["/fixes/".len()..], "--json"]).prints_json();
    assert_eq!(answer.json(), shown, "what the command prints");
    assert_eq!((&shown["said"][0]["by"], &shown["said"][1]["approach"]), (&json!("Ada"), &json!("Use a factor")));
    let audit = dashboard.json("/api/v1/audit");
    let line = &audit["decisions"][1];
    assert_eq!(
        (&line["kind"], &line["who"], &line["why"]),
        (&json!("fix"), &json!("Ada"), &json!("The discount is <b>a share</b>"))
    );
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn a_lesson_is_annotated_on_its_page() {
    let sandbox = discount_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let browser = Browser::open(&dashboard);
    let lessons = dashboard.json("/api/v1/lessons");
    let id = lessons["lessons"][0]["id"].as_str().expect("a lesson");
    let page = format!("/lessons/{id}");
    let (annotate, api) = (format!("{page}/annotate"), format!("/api/v1{page}/annotate"));
    let before = events(&sandbox).len();
    assert_bad_body(&dashboard, &api, &json!({"by": "Ada"}), "/cause");
    assert_bad_body(&dashboard, &api, &json!({"rule": ["x"]}), "/rule");
    assert_eq!(browser.submit(&page, &annotate, &[("cause", " ")]).status, 400, "nothing is said");
    assert_eq!(browser.submit_from_elsewhere(&page, &annotate, &[("cause", "planted")]).status, 403);
    assert_eq!(events(&sandbox).len(), before, "nothing was recorded");

    let said = [("cause", "A discount is a share"), ("rule", "Multiply <i>once</i>"), ("by", "Ada")];
    assert_leads_to(&browser.submit(&page, &annotate, &said), &page);
    let html = browser.page(&page);
    assert!(html.contains("A discount is a share") && html.contains("Multiply &lt;i&gt;once"), "{html}");
    let answer = dashboard.post(&api, r#"{"resolution":"Use a factor","by":"Bo"}"#);
    assert_eq!(answer.status, 200, "{answer:?}");
    super::api::assert_described("/api/v1/lessons/{id}/annotate", &answer.json());
    let shown = sandbox.verify_run(["lesson", "show", id, "--json"]).prints_json();
    assert_eq!(answer.json(), shown, "what the command prints");
    let texts = ["cause", "resolution", "corrective_rule"].map(|name| shown["lesson"][name].as_str());
    assert_eq!(texts, [Some("A discount is a share"), Some("Use a factor"), Some("Multiply <i>once</i>")]);
    let audit = dashboard.json("/api/v1/audit");
    let who: Vec<&Value> = audit["decisions"].as_array().expect("decisions").iter().map(|line| &line["who"]).collect();
    assert_eq!(who, [&json!("Bo"), &json!("Ada")]);
    let line = &audit["decisions"][1];
    assert_eq!((&line["kind"], &line["why"]), (&json!("lesson"), &json!("A discount is a share")));
    assert!(browser.page("/audit").contains(&format!("href=\"{page}\"")), "the audit page leads to it");
    sandbox.verify_run(["lesson", "annotate", id, "--rule", "Once", "--by", "Cy"]).prints();
    assert_eq!(dashboard.json("/api/v1/audit")["decisions"][0]["who"], "Cy");
    dashboard.ends(Signal::SIGINT);
}

#[test]
fn warnings_are_rated_in_their_list() {
    let sandbox = promotion_story();
    let dashboard = Dashboard::start(&sandbox, &[]);
    let browser = Browser::open(&dashboard);
    let warnings = || dashboard.json("/api/v1/warnings")["warnings"].clone();
    let listed = warnings();
    let [first, second] = [0, 1].map(|row: usize| listed[row]["warning"].as_str().expect("a warning").to_owned());
    let rating = |id: &str| {
        let listed = warnings();
        let line = listed.as_array().expect("warnings").iter().find(|line| line["warning"] == *id);
        line.expect("it is listed")["useful"].clone()
    };
    let (ack, api) = (format!("/warnings/{first}/ack"), format!("/api/v1/warnings/{second}/ack"));
    let before = events(&sandbox).len();
    assert_bad_body(&dashboard, &api, &json!({"useful": "very"}), "/useful");
    assert_bad_body(&dashboard, &api, &json!({"useful": true, "why": "x"}), "/why");
    assert_eq!(browser.submit_from_elsewhere("/warnings", &ack, &[]).status, 403);
    assert_eq!(dashboard.post("/api/v1/warnings/w-nope/ack", "{}").status, 404);
    assert_eq!((events(&sandbox).len(), rating(&first)), (before, Value::Null), "nothing was recorded");

    let taken = browser.submit("/warnings", &ack, &[]);
    assert_leads_to(&taken, &format!("/warnings#{first}"));
    assert!(browser.page("/warnings").contains(&format!("<tr id=\"{first}\"")), "there it is");
    let answer = dashboard.post(&api, r#"{"useful":false,"by":"Ada"}"#);
    assert_eq!((answer.status, &answer.json()["useful"]), (200, &json!(false)), "{answer:?}");
    super::api::assert_described("/api/v1/warnings/{id}/ack", &answer.json());
    assert_eq!((rating(&first), rating(&second)), (json!(true), json!(false)));
    let line = dashboard.json("/api/v1/audit")["decisions"][0].clone();
    assert_eq!(
        (&line["kind"], &line["who"], &line["action"]),
        (&json!("warning"), &json!("Ada"), &json!("not_useful"))
    );
    assert!(browser.page("/audit").contains("rated as not useful"), "it is on the audit page");
    dashboard.ends(Signal::SIGINT);
}
