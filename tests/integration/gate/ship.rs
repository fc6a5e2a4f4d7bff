//! Shipping: the conditions, the comparison with the approved tree, alerts, and the template.

use std::fs;
use std::time::Duration;

use verify_run::run::CommandEnd;

use super::checklist;
use crate::sandbox::{Outcome, Sandbox, need, wait_until};

/// A project on a branch with a change that its checklist approves, as long as `check.sh` passes.
pub(super) fn approved_project() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.write(".verify-run/qa-checklist.yml", checklist(&[("X1", "sh check.sh")]));
    sandbox.write("check.sh", "exit 0\n");
    sandbox.commit("The project");
    sandbox.git(["switch", "-q", "-c", "feat/add-rows"]);
    sandbox.write("rows.txt", "a row\n");
    sandbox
}

/// Writes a script of the user's, which is outside of the repository.
pub(super) fn user_script(sandbox: &Sandbox, name: &str, script: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let file = sandbox.home().join(name);
    fs::write(&file, format!("#!/bin/sh\n{script}")).expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("a program");
    file.to_str().expect("UTF-8").to_owned()
}

/// Writes the settings of the user.
pub(super) fn user_settings(sandbox: &Sandbox, text: &str) {
    let folder = sandbox.home().join(".config/verify-run");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("verify-run.toml"), text).expect("written");
}

/// Runs the gate with its policy pinned.
pub(super) fn run_gate(sandbox: &Sandbox, further: &[&str]) -> Outcome {
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    sandbox.verify_run(["gate", "run", "--no-prp", "--trust", digest.trim()]).args(further).outcome()
}

fn ship(sandbox: &Sandbox) -> Outcome {
    run_gate(sandbox, &["--exit-signal", "--ship"])
}

/// The document of the last evaluation.
fn status(sandbox: &Sandbox) -> serde_json::Value {
    sandbox.verify_run(["gate", "status", "--json"]).prints_json()
}

/// A command that commits everything, after `before`.
fn committing(sandbox: &Sandbox, before: &str) {
    let script = user_script(sandbox, "ship", &format!("set -e\n{before}\ngit add -A\ngit commit -qm Ship\n"));
    user_settings(sandbox, &format!("[gate.ship]\ncommand = [{script:?}]\n"));
}

#[test]
fn without_a_setting_of_the_user_nothing_is_shipped() {
    let sandbox = approved_project();
    sandbox.write("verify-run.toml", "[gate.ship]\ncommand = [\"touch\", \"shipped\"]\nalways = true\n");
    let outcome = ship(&sandbox);
    assert_eq!(outcome.ended, CommandEnd::Exit(2), "{outcome:?}");
    let said = outcome.stderr();
    assert!(said.contains("gate.ship.command counts only in the user's own file"), "{said}");
    assert!(said.contains("no command ships") && said.contains(".config/verify-run/verify-run.toml"), "{said}");
    let approved = run_gate(&sandbox, &["--exit-signal"]);
    assert_eq!(approved.ended, CommandEnd::Exit(0), "{approved:?}");
    assert!(!sandbox.path("shipped").exists());
    let doctor = sandbox.verify_run(["doctor"]).outcome();
    let said = format!("{}{}", doctor.stdout(), doctor.stderr());
    assert!(said.contains("gate.ship.command"), "{said}");
    user_settings(&sandbox, "[gate.ship]\ncommand = [\"./ship\"]\n");
    let relative = ship(&sandbox);
    assert_eq!(relative.ended, CommandEnd::Exit(2));
    assert!(relative.stderr().contains("relative to the repository"), "{relative:?}");
}

#[test]
fn the_branch_has_exactly_the_approved_tree_and_the_cycle_is_closed() {
    let sandbox = approved_project();
    committing(&sandbox, "env | grep ^VERIFY_RUN_ | sort >../tmp/facts");
    let outcome = ship(&sandbox);
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{outcome:?}");
    let document = status(&sandbox);
    let tree = sandbox.git(["rev-parse", "HEAD^{tree}"]);
    assert_eq!((&document["phase"], &document["tree"]), (&"shipped".into(), &tree.trim().into()), "{document}");
    let commit = sandbox.git(["rev-parse", "HEAD"]);
    assert_eq!(document["shipped_commit"], commit.trim());
    assert!(outcome.stderr().contains(&format!("shipped: {} on feat/add-rows", commit.trim())), "{outcome:?}");
    let facts = fs::read_to_string(sandbox.tmp().join("facts")).expect("written");
    for fact in ["BRANCH=feat/add-rows", "FEATURE=add rows", "KIND=feature", &format!("TREE={}", tree.trim())] {
        assert!(facts.contains(&format!("VERIFY_RUN_{fact}\n")), "{fact} is not in\n{facts}");
    }
    let report = facts.lines().find_map(|line| line.strip_prefix("VERIFY_RUN_REPORT=")).expect("a report");
    assert!(fs::read_to_string(report).expect("the report").contains("APPROVED"));
    let steps: Vec<_> = sandbox.events().into_iter().filter(|event| event["kind"] == "gate").collect();
    let steps: Vec<&str> = steps.iter().filter_map(|event| event["step"].as_str()).collect();
    assert_eq!(steps, ["started", "verdict", "signal", "ship_started", "shipped"]);
    sandbox.verify_run(["store", "rebuild"]).outcome();
    assert_eq!(status(&sandbox), document);
    sandbox.write("check.sh", "exit 1\n");
    run_gate(&sandbox, &[]);
    let next = status(&sandbox);
    assert_ne!(next["cycle"], document["cycle"], "a shipped cycle is closed");
}

#[test]
fn each_condition_is_named_when_it_is_missing() {
    let sandbox = approved_project();
    committing(&sandbox, "");
    let unsignalled = run_gate(&sandbox, &["--ship"]);
    assert_eq!(unsignalled.ended, CommandEnd::Exit(2), "{unsignalled:?}");
    assert!(unsignalled.stderr().contains("not shipped: no exit signal"), "{unsignalled:?}");
    sandbox.write("check.sh", "exit 1\n");
    let rejected = ship(&sandbox);
    assert_eq!(rejected.ended, CommandEnd::Exit(1));
    assert!(rejected.stderr().contains("not shipped: the verdict is REJECT"), "{rejected:?}");
    sandbox.write("check.sh", "exit 0\n");
    sandbox.git(["switch", "-q", "main"]);
    let on_main = ship(&sandbox);
    assert_eq!(on_main.ended, CommandEnd::Exit(2));
    assert!(on_main.stderr().contains("main is the default branch"), "{on_main:?}");
    sandbox.git(["checkout", "-q", "--detach"]);
    assert!(ship(&sandbox).stderr().contains("no branch is checked out"));
    assert_eq!(sandbox.git(["log", "--all", "--format=%s", "--grep=Ship"]), "", "nothing was committed");
    sandbox.git(["switch", "-q", "feat/add-rows"]);
    let settings = sandbox.home().join(".config/verify-run/verify-run.toml");
    let text = fs::read_to_string(&settings).expect("read") + "always = true\n";
    user_settings(&sandbox, &text);
    let always = run_gate(&sandbox, &["--exit-signal"]);
    assert_eq!((always.ended, &status(&sandbox)["phase"]), (CommandEnd::Exit(0), &"shipped".into()), "{always:?}");
}

#[test]
fn a_command_that_leaves_another_tree_has_failed_and_alerts() {
    for (before, why) in [
        ("echo more >>rows.txt", "the command changed 1 file: rows.txt"),
        ("git switch -qc other; git reset -q --hard; exit 0", "the command changed 1 file: rows.txt"),
        (
            "git commit -q --allow-empty -m Empty; exit 0",
            "the commit has another tree than the approved one: 1 file: rows.txt",
        ),
        ("exit 7", "the command ended with exit status: 7"),
    ] {
        let sandbox = approved_project();
        sandbox.git(["add", "-A"]);
        let script = format!(
            "set -e\n{}\ngit add -A\ngit commit -qm Ship\n",
            before.replace("git commit -q --allow-empty", "git reset -q; git commit -q --allow-empty")
        );
        let script = user_script(&sandbox, "ship", &script);
        let alert = user_script(&sandbox, "alert", "env >\"$HOME/alerted\"\nexit 9\n");
        user_settings(&sandbox, &format!("[gate]\nalert = [{alert:?}]\n[gate.ship]\ncommand = [{script:?}]\n"));
        let outcome = ship(&sandbox);
        assert_eq!(outcome.ended, CommandEnd::Exit(2), "{before}: {outcome:?}");
        assert!(outcome.stderr().contains(&format!("SHIP_FAILED: {why}")), "{before}: {outcome:?}");
        assert!(outcome.stderr().contains("warning: the command of `[gate] alert` ended with exit status: 9"));
        assert_eq!((&status(&sandbox)["phase"], &status(&sandbox)["ship_failed"]), (&"approved".into(), &why.into()));
        let alerted = fs::read_to_string(sandbox.home().join("alerted")).expect("an alert");
        assert!(alerted.contains("VERIFY_RUN_ALERT=ship_failed\n"), "{alerted}");
        assert!(alerted.contains(&format!("VERIFY_RUN_REASON={why}\n")), "{alerted}");
    }
}

#[test]
fn an_escalation_alerts_once_with_its_facts() {
    let sandbox = approved_project();
    let alert = user_script(&sandbox, "alert", "echo \"$VERIFY_RUN_ALERT $VERIFY_RUN_FEATURE\" >>\"$HOME/alerted\"\n");
    user_settings(&sandbox, &format!("[gate]\nalert = [{alert:?}]\n"));
    for attempt in 1..=3 {
        sandbox.write("check.sh", format!("echo 'a.py:{attempt}: error: kind {attempt}'\nexit 1\n"));
        run_gate(&sandbox, &[]);
    }
    run_gate(&sandbox, &[]);
    let alerted = fs::read_to_string(sandbox.home().join("alerted")).expect("an alert");
    assert_eq!(alerted, "escalated add rows\n");
}

#[test]
fn a_ship_that_was_killed_is_named_and_not_repeated() {
    let sandbox = approved_project();
    committing(&sandbox, "echo begun >>\"$HOME/begun\"\n[ -e \"$HOME/go\" ] || exec sleep 300");
    let begun = || fs::read_to_string(sandbox.home().join("begun")).unwrap_or_default();
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    let arguments = ["gate", "run", "--no-prp", "--exit-signal", "--ship", "--trust", digest.trim()];
    let mut child = sandbox.verify_run(arguments).spawn();
    wait_until("the ship begins", || begun() == "begun\n");
    child.kill().expect("killed");
    child.wait().expect("ended");
    for (pid, _) in sandbox.processes().into_iter().filter(|(_, line)| line.contains("sleep 300")) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGKILL);
    }
    std::thread::sleep(Duration::from_millis(10));
    let next = ship(&sandbox);
    assert_eq!(next.ended, CommandEnd::Exit(2), "{next:?}");
    assert!(next.stderr().contains("a ship was begun at 20"), "{next:?}");
    assert!(next.stderr().contains("did not end: look before you try again"), "{next:?}");
    assert_eq!(begun(), "begun\n");
    assert_eq!(status(&sandbox)["ship_failed"], "it was interrupted");
    fs::write(sandbox.home().join("go"), "").expect("written");
    let again = ship(&sandbox);
    assert_eq!((again.ended, begun().as_str()), (CommandEnd::Exit(0), "begun\nbegun\n"), "{again:?}");
}

#[test]
fn the_template_pushes_what_was_approved_and_names_a_missing_gh() {
    let Some(shellcheck) = need("shellcheck") else { return };
    let template = concat!(env!("CARGO_MANIFEST_DIR"), "/hooks/gate/ship.sh");
    let sandbox = approved_project();
    let checked = sandbox.bare(&shellcheck).arg(template).outcome();
    assert_eq!((checked.ended, checked.stdout()), (CommandEnd::Exit(0), ""));
    let remote = sandbox.tmp().join("remote.git");
    sandbox.git(["init", "-q", "--bare", remote.to_str().expect("UTF-8")]);
    sandbox.git(["remote", "add", "origin", remote.to_str().expect("UTF-8")]);
    sandbox.git(["push", "-q", "origin", "main"]);
    sandbox.git(["switch", "-q", "main"]);
    sandbox.git(["branch", "-q", "-D", "feat/add-rows"]);
    sandbox.verify_run(["gate", "init", "--session"]).outcome();
    user_settings(&sandbox, &format!("[gate.ship]\ncommand = [{template:?}]\nmakes_branch = true\n"));
    let outcome = run_gate(&sandbox, &["--exit-signal", "--ship", "--feature", "Add rows"]);
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{outcome:?}");
    assert!(outcome.stderr().contains("gh is not installed: there is no pull request"), "{outcome:?}");
    let pushed = sandbox.git(["--git-dir", remote.to_str().expect("UTF-8"), "rev-parse", "feat/add-rows^{tree}"]);
    assert_eq!(status(&sandbox)["tree"], pushed.trim());
    assert_eq!(sandbox.git(["log", "-1", "--format=%s"]).trim(), "feat: Add rows");
    assert_eq!(sandbox.git(["status", "--short"]), "");
    sandbox.write("rows.txt", "another row\n");
    let other = user_script(&sandbox, "other", &format!("VERIFY_RUN_TREE=0 exec {template}\n"));
    user_settings(&sandbox, &format!("[gate.ship]\ncommand = [{other:?}]\n"));
    let other_tree = ship(&sandbox);
    assert_eq!(other_tree.ended, CommandEnd::Exit(2), "{other_tree:?}");
    assert!(other_tree.stderr().contains("nothing was pushed"), "{other_tree:?}");
    let pushed =
        sandbox.git(["--git-dir", remote.to_str().expect("UTF-8"), "log", "-1", "--format=%H", "feat/add-rows"]);
    assert_ne!(pushed, sandbox.git(["rev-parse", "HEAD"]));
}

#[test]
fn the_template_opens_a_pull_request_with_githubs_own_client() {
    let (Some(gh), Some(python)) = (need("gh"), need("python3")) else { return };
    let template = concat!(env!("CARGO_MANIFEST_DIR"), "/hooks/gate/ship.sh");
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gate/github.py");
    let mut sandbox = approved_project();
    let programs = sandbox.tmp().join("programs");
    fs::create_dir(&programs).expect("a folder");
    std::os::unix::fs::symlink(gh, programs.join("gh")).expect("a link");
    sandbox.add_path(programs);
    let (socket, log) = (sandbox.tmp().join("github"), sandbox.tmp().join("requests"));
    let remote = sandbox.tmp().join("remote.git");
    let remote = remote.to_str().expect("UTF-8");
    sandbox.git(["init", "-q", "--bare", remote]);
    sandbox.git(["remote", "add", "origin", "https://github.com/ada/rows.git"]);
    sandbox.git(["config", "remote.origin.pushurl", remote]);
    let settings = sandbox.home().join(".config/gh");
    fs::create_dir_all(&settings).expect("a folder");
    fs::write(settings.join("config.yml"), format!("http_unix_socket: {}\n", socket.display())).expect("written");
    fs::write(settings.join("hosts.yml"), "github.com:\n    user: ada\n    oauth_token: none\n").expect("written");
    let mut api = sandbox.bare(python).args([server.as_ref(), socket.as_os_str(), log.as_os_str()]).spawn();
    wait_until("the server listens", || std::os::unix::net::UnixStream::connect(&socket).is_ok());
    sandbox.verify_run(["gate", "init", "--session"]).outcome();
    user_settings(&sandbox, &format!("[gate.ship]\ncommand = [{template:?}]\n"));
    let outcome = run_gate(&sandbox, &["--exit-signal", "--ship", "--feature", "Add rows"]);
    api.kill().expect("killed");
    api.wait().expect("ended");
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{outcome:?}");
    let requests = fs::read_to_string(&log).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    assert_eq!(requests, "[\"feat: Add rows\", \"feat/add-rows\", \"# QA VALIDATION REPORT\"]\n");
    assert!(outcome.stderr().contains("https://github.com/ada/rows/pull/1"), "{outcome:?}");
    let pushed = sandbox.git(["--git-dir", remote, "rev-parse", "feat/add-rows^{tree}"]);
    assert_eq!(status(&sandbox)["tree"], pushed.trim());
}
