//! What another store says of jobs and pages (`store import`): shown as its claim, never run, and no proof, whatever writer
//! its events name and however much the import is trusted.

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::agents_read::with_candidate;
use super::{agree, job_in, job_page, mend, mend_calc, passes, python_project, work};
use crate::lab::has_namespaces;
use crate::sandbox::Sandbox;

const PYTEST: [&str; 2] = ["pytest", "-q"];

/// How an import is made: whether it is trusted, and whether its events name the writer of this store.
const WAYS: [(bool, bool); 3] = [(false, false), (false, true), (true, true)];

/// The writer of a store.
fn writer(sandbox: &Sandbox) -> String {
    let text = std::fs::read_to_string(sandbox.state().join("writer")).expect("a writer");
    text.split(' ').next().expect("a name").to_owned()
}

/// Imports events, one a line.
fn import(sandbox: &Sandbox, events: &[Value], (is_trusted, is_forged): (bool, bool)) {
    let own = writer(sandbox);
    let line = |event: &Value| {
        let mut event = event.clone();
        if is_forged {
            event["writer"] = json!(own);
        }
        format!("{event}\n")
    };
    let file = sandbox.tmp().join("theirs.jsonl");
    std::fs::write(&file, events.iter().map(line).collect::<String>()).expect("a file");
    let more: &[&str] = if is_trusted { &["--trust"] } else { &[] };
    let imported = sandbox.verify_run(["store", "import", "--json"]).arg(&file).args(more).prints_json();
    assert_eq!((&imported["events"], &imported["bad"]), (&json!(events.len()), &json!(0)), "{imported}");
}

/// Steps of a job as another store would have recorded them.
fn steps(job: &str, at: &Value, steps: Vec<Value>) -> Vec<Value> {
    let row = |(number, step): (usize, Value)| {
        let mut event = json!({
            "v": 2, "id": format!("{number:08x}-0000-4000-8000-000000000000"), "at": at, "writer": "w9",
            "kind": "learn", "job": job, "by": { "person": "Mallory" },
        });
        let fields = step.as_object().expect("fields").clone();
        event.as_object_mut().expect("an event").extend(fields);
        event
    };
    steps.into_iter().enumerate().map(row).collect()
}

fn scenario(sandbox: &Sandbox) -> Value {
    json!({ "source": "manual", "score": 100, "entrypoint": { "argv": ["touch", sandbox.path("pwned")] },
            "time_limit_s": 30 })
}

#[test]
fn a_proof_of_another_store_is_a_claim_and_serves_as_none() {
    let Some((theirs, id)) = with_candidate("") else { return };
    let pages = theirs.verify_run(["library", "list", "--json"]).prints_json();
    let (page, job) = (&pages["pages"][0], pages["pages"][0]["job"].as_str().expect("a job"));
    let path = page["path"].as_str().expect("a path");
    let events = theirs.events();
    for way in WAYS {
        let Some(sandbox) = python_project() else { return };
        passes(&sandbox, &["pytest", "-q", "-k", "name"]);
        sandbox.write("verify-run.toml", "[advice]\nholdout = false\n");
        import(&sandbox, &events, way);
        sandbox.write(path, theirs.read(path));
        let claimed = job_page(&sandbox, job);
        assert_eq!((&claimed["judgement"], &claimed["scenario"]), (&Value::Null, &Value::Null), "{way:?} {claimed:#}");
        assert_eq!((&claimed["claim"]["evidence"], &claimed["trials"]), (&json!("proven"), &json!([])));
        let listed = sandbox.verify_run(["library", "list", "--json"]).prints_json()["pages"][0].clone();
        assert_eq!((&listed["evidence"], &listed["claim"]["evidence"]), (&json!("recorded"), &json!("proven")));
        let shown = sandbox.verify_run(["library", "show", &id]).outcome();
        let claim =
            format!("claimed proven by {}, not run here", listed["claim"]["writer"].as_str().expect("a writer"));
        assert!(shown.stderr().contains(&claim) || shown.stdout().contains(&claim), "{shown:?}");
        let proven = sandbox.verify_run(["fix", "list", "--proven", "--json"]).prints_json();
        assert_eq!(proven["fixes"], json!([]), "{way:?}");
        let approve = ["library", "approve", &id, "--by", "Ada", "--reason", "they say so"];
        let refused = sandbox.verify_run(approve).outcome();
        assert_eq!(refused.ended, CommandEnd::Exit(2), "{way:?} {refused:?}");
        assert!(refused.stderr().contains("--accept-unproven") && refused.stderr().contains(&claim), "{refused:?}");
        agree(&sandbox);
        let verified = sandbox.verify_run(["library", "verify", &id]).outcome();
        assert!(verified.stderr().contains("has no proof on this machine"), "{verified:?}");
        sandbox.verify_run([&approve[..], &["--accept-unproven"]].concat()).prints();
        let asked = ["warn", "--files", "calc.py", "--format", "json"];
        let served = sandbox.verify_run(asked).prints_json();
        assert_eq!((&served["pages"][0]["id"], &served["pages"][0]["evidence"]), (&json!(id), &json!("recorded")));
        assert!(!served["warnings"].to_string().contains(r#""proven":true"#), "{served}");
    }
}

#[test]
fn nobody_adds_a_signature_or_a_verdict_to_a_job_from_elsewhere() {
    for way in WAYS {
        let Some(sandbox) = python_project() else { return };
        if !has_namespaces() {
            return;
        }
        mend(&sandbox, &PYTEST, mend_calc);
        let id = job_in(&sandbox, "queued")["id"].as_str().expect("an id").to_owned();
        sandbox.settle();
        let signed = json!({ "digest": "sha256:0", "path": "s.md", "approver": "Mallory", "date": "2026-01-01",
                             "scenario": scenario(&sandbox) });
        // After the last one of its own; what is dated in the future is no event.
        let now = sandbox.events().last().expect("an event")["at"].clone();
        let theirs = steps(
            &id,
            &now,
            vec![
                json!({ "step": "requeued", "reason": "run it", "scenario": signed }),
                json!({ "step": "judged", "evidence": "proven" }),
                json!({ "step": "cancelled", "reason": "go away" }),
            ],
        );
        import(&sandbox, &theirs, way);
        let page = job_page(&sandbox, &id);
        assert_eq!(
            (&page["state"], &page["judgement"], &page["decisions"]),
            (&json!("queued"), &Value::Null, &json!([]))
        );
        agree(&sandbox);
        let job = work(&sandbox);
        assert_eq!(job["state"], "candidate", "{way:?} {job}");
        assert_eq!(job_page(&sandbox, &id)["scenario"]["entrypoint"]["argv"], json!(PYTEST));
    }
}

#[test]
fn a_command_that_another_store_recorded_is_shown_and_not_run() {
    let Some(theirs) = python_project() else { return };
    if !has_namespaces() {
        return;
    }
    mend(&theirs, &PYTEST, mend_calc);
    let id = job_in(&theirs, "queued")["id"].as_str().expect("an id").to_owned();
    theirs.settle();
    for way in WAYS {
        let Some(sandbox) = python_project() else { return };
        passes(&sandbox, &["pytest", "-q", "-k", "name"]);
        // As if it was about this work tree, with the trees at hand.
        let place = |dir: std::path::PathBuf| dir.to_str().expect("UTF-8").to_owned();
        let events = json!(theirs.events()).to_string().replace(&place(theirs.work()), &place(sandbox.work()));
        let events: Vec<Value> = serde_json::from_str(&events.replace("\"-q\"", "\"-qqq\"")).expect("events");
        let copied = sandbox.bare("cp").arg("-r").arg(theirs.state().join("learn")).arg(sandbox.state()).outcome();
        assert_eq!(copied.ended, CommandEnd::Exit(0), "{copied:?}");
        import(&sandbox, &events, way);
        agree(&sandbox);
        let job = work(&sandbox);
        assert_eq!(job["state"], "needs_manual_scenario", "{way:?} {job}");
        let page = job_page(&sandbox, &id);
        assert_eq!((&page["trials"], &page["why"]), (&json!([]), &json!("another machine recorded the command")));
        let template = sandbox.verify_run(["library", "scenario", &id, "--json"]).prints_json();
        let template = sandbox.read(template["path"].as_str().expect("a path"));
        assert!(template.contains("pytest -qqq"), "{template}");
        assert_eq!(sandbox.verify_run(["library", "work", "--json"]).prints_json()["jobs"], json!([]));
    }
}
