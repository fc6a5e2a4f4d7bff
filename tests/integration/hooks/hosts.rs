//! The agents themselves, with a model on the loopback that calls the tools a test asks for.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use crate::sandbox::{Invocation, Sandbox, VERIFY_RUN, need, tools};
use crate::shims;

/// Ends with its standard input.
struct Model {
    child: Child,
    input: Option<ChildStdin>,
    port: String,
}

impl Model {
    fn start(sandbox: &Sandbox, calls: &Value) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts/model.py");
        let mut child = Command::new("python3")
            .arg(script)
            .arg(calls.to_string())
            .arg(sandbox.tmp().join("asked"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let mut port = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut port).expect("a port");
        Model { input: child.stdin.take(), child, port: port.trim().to_owned() }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// A Python project in which ruff finds an unused import, and has found it in three tasks.
fn project(install: &[&str]) -> Sandbox {
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(tools());
    let link = sandbox.tool("verify-run", "");
    std::fs::remove_file(&link).expect("a stub");
    std::os::unix::fs::symlink(VERIFY_RUN, &link).expect("a link");
    sandbox.write("shop.py", "import os\n");
    sandbox.write("verify-run.toml", "[advice]\nhook_ms = 60000\nholdout = false\n");
    sandbox.write(".gitignore", ".ruff_cache\n");
    sandbox.commit("The project");
    for task in ["one", "two", "three"] {
        let run = sandbox.verify_run(["--sync", "--task", task, "ruff", "check", "shop.py"]).outcome();
        assert_eq!(run.ended, CommandEnd::Exit(1), "{}", run.stderr());
    }
    sandbox.verify_run(["hook", "install", "--yes"].iter().chain(install)).prints();
    sandbox
}

fn claude<'a>(sandbox: &'a Sandbox, claude: &Path, model: &Model) -> Invocation<'a> {
    sandbox
        .bare(claude)
        .args(["-p", "Make the linter pass", "--output-format", "json"])
        .env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", model.port))
        .env("ANTHROPIC_API_KEY", "none")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("CLAUDE_CODE_TMPDIR", sandbox.tmp())
        // Without a user to ask it works as root only here.
        .env("IS_SANDBOX", "1")
}

/// What the model was shown in the end.
fn conversation(sandbox: &Sandbox) -> String {
    let asked = std::fs::read_to_string(sandbox.tmp().join("asked")).expect("requests");
    asked.lines().last().expect("a request").to_owned()
}

fn runs(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.settle();
    sandbox.events().into_iter().filter(|event| event["kind"] == "run").skip(3).collect()
}

#[test]
fn claude_code_runs_checks_under_the_wrapper_and_hears_what_is_known() {
    let (Some(program), Some(_)) = (need("claude"), need("ruff")) else { return };
    let sandbox = project(&["claude"]);
    let file = sandbox.path("shop.py");
    let model = Model::start(
        &sandbox,
        &json!([
            ["Bash", {"command": "ruff check . 2>&1 | cat"}],
            ["Bash", {"command": "ruff check ."}],
            ["Read", {"file_path": file}],
            ["Edit", {"file_path": file, "old_string": "import os", "new_string": "print()"}],
            ["Bash", {"command": "ruff check ."}],
        ]),
    );
    let said = claude(&sandbox, &program, &model).arg("--dangerously-skip-permissions").prints_json();
    assert_eq!(said["is_error"], false, "{said}");
    assert_eq!(sandbox.read("shop.py"), "print()\n", "{said}");
    let runs = runs(&sandbox);
    let ended: Vec<_> = runs.iter().map(|run| &run["ended"]["exit"]).collect();
    assert_eq!(ended, [1, 1, 0], "each once: {runs:#?}");
    for run in &runs {
        assert_eq!(run["observed_via"], Value::Null, "the wrapper itself saw it");
        assert_eq!((&run["agent"], &run["session"]), (&json!("claude-code"), &said["session_id"]));
    }
    let told = conversation(&sandbox);
    assert!(told.contains("Seen before (data") && told.contains("F401"), "{told}");
    let fixes = sandbox.verify_run(["fix", "list", "--json"]).prints_json();
    let of_this = |fix: &&Value| fix["command"] == "ruff check .";
    let fix = fixes["fixes"].as_array().and_then(|all| all.iter().find(of_this)).expect("the fix");
    assert_eq!((&fix["state"], &fix["attempts"], &fix["reruns"]), (&json!("success"), &json!(1), &json!(1)), "{fix}");
}

#[test]
fn claude_code_goes_on_once_while_the_gate_rejects_its_work_and_its_model_is_recorded() {
    let (Some(program), Some(_)) = (need("claude"), need("ruff")) else { return };
    let sandbox = project(&["claude", "--gate-stop"]);
    reject_work(&sandbox);
    let model = Model::start(&sandbox, &json!([["Bash", {"command": "ruff check ."}]]));
    let said = claude(&sandbox, &program, &model).arg("--dangerously-skip-permissions").prints_json();
    assert_eq!(said["is_error"], false, "{said}");
    let told = conversation(&sandbox);
    let asked = "Stop hook feedback:\\nThe quality gate rejects this work";
    assert_eq!(told.matches(asked).count(), 1, "once for the tree: {told}");
    // Without a terminal its hooks get no model: it is in the transcript of the session.
    sandbox.write("shop.py", "import sys\n");
    let document = reject_work(&sandbox);
    let implementers = document["implementers"].as_array().expect("a list");
    assert!(implementers[0].as_str().is_some_and(|model| model.starts_with("claude-")), "{implementers:?}");
}

#[test]
fn what_claude_code_was_allowed_on_its_command_line_is_not_refused() {
    let (Some(program), Some(_)) = (need("claude"), need("ruff")) else { return };
    for with_shims in [false, true] {
        let sandbox = project(&["claude"]);
        if with_shims {
            shims::install(&sandbox, &["ruff"]);
        }
        let model = Model::start(&sandbox, &json!([["Bash", {"command": "ruff check ."}]]));
        let said = claude(&sandbox, &program, &model).args(["--allowedTools", "Bash(ruff check:*)"]).prints_json();
        assert_eq!(said["permission_denials"], json!([]), "{said}");
        let runs = runs(&sandbox);
        assert_eq!(runs.len(), 1, "{runs:#?}");
        // Without shims the hook alone sees it. They are put in front of the PATH of the agent's shell.
        let seen_by = if with_shims { Value::Null } else { json!("hook") };
        assert_eq!((&runs[0]["observed_via"], &runs[0]["ended"]["exit"]), (&seen_by, &json!(1)));
        assert_eq!(runs[0]["session"], said["session_id"]);
    }
}

fn codex<'a>(sandbox: &'a Sandbox, codex: &Path, model: &Model) -> Invocation<'a> {
    let home = sandbox.home().join(".codex");
    std::fs::create_dir_all(&home).expect("a folder");
    // A login shell would begin with a PATH of its own, without what is installed here.
    let settings = format!(
        "allow_login_shell = false\nmodel = \"m\"\nmodel_provider = \"here\"\n\
         [model_providers.here]\nname = \"here\"\nbase_url = \"http://127.0.0.1:{}/v1\"\nwire_api = \"responses\"\n\
         [projects.\"{}\"]\ntrust_level = \"trusted\"\n",
        model.port,
        sandbox.work().display(),
    );
    std::fs::write(home.join("config.toml"), settings).expect("written");
    sandbox
        .bare(codex)
        .args(["exec", "--json", "--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox"])
        .arg("Make the linter pass")
        .env("CODEX_HOME", home)
}

#[test]
fn codex_hears_what_is_known_and_puts_the_wrapper_before_checks_only_where_that_is_wanted() {
    let (Some(program), Some(_)) = (need("codex"), need("ruff")) else { return };
    for rewrite in [false, true] {
        let sandbox = project(if rewrite { &["codex", "--rewrite"] } else { &["codex"] });
        let calls = json!([["exec_command", {"cmd": "ruff check . 2>&1 | cat"}], ["exec_command", {"cmd": "ls"}]]);
        let model = Model::start(&sandbox, &calls);
        let outcome = codex(&sandbox, &program, &model).outcome();
        assert_eq!(outcome.ended, CommandEnd::Exit(0), "{}", outcome.stderr());
        let said = outcome.stdout();
        let told = conversation(&sandbox);
        assert!(told.contains("Seen before (data") && told.contains("F401"), "{told}");
        assert!(told.contains("Found 1 error"), "it is run: {said}");
        let runs = runs(&sandbox);
        assert_eq!(runs.len(), usize::from(rewrite), "Codex tells its hooks no exit code: {runs:#?}");
        for run in runs {
            let thread = said.lines().next().and_then(|line| serde_json::from_str::<Value>(line).ok()).expect("JSON");
            assert_eq!((&run["agent"], &run["session"]), (&json!("codex"), &thread["thread_id"]));
        }
    }
}

#[test]
fn codex_goes_on_once_while_the_gate_rejects_its_work_and_its_model_is_recorded() {
    let (Some(program), Some(_)) = (need("codex"), need("ruff")) else { return };
    let sandbox = project(&["codex", "--rewrite", "--gate-stop"]);
    reject_work(&sandbox);
    let model = Model::start(&sandbox, &json!([["exec_command", {"cmd": "ruff check ."}]]));
    let outcome = codex(&sandbox, &program, &model).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{}", outcome.stderr());
    let told = conversation(&sandbox);
    assert_eq!(told.matches("The quality gate rejects this work").count(), 1, "once for the tree: {told}");
    sandbox.settle();
    let runs = sandbox.events().into_iter().filter(|event| event["kind"] == "run" && event["agent"] == "codex");
    let models: Vec<Value> = runs.map(|run| run["model"].clone()).collect();
    assert_eq!(models, [json!("m")]);
}

/// Has the gate reject the project as it is.
fn reject_work(sandbox: &Sandbox) -> Value {
    sandbox.write(".verify-run/qa-checklist.yml", crate::gate::checklist(&[("X1", "ruff check .")]));
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    let gate = ["gate", "run", "--no-prp", "--json", "--trust", digest.trim()];
    let outcome = sandbox.verify_run(gate).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1));
    serde_json::from_str(outcome.stdout()).expect("JSON")
}
