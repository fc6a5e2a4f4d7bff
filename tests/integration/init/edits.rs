//! What people do to the files in between.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use verify_run::run::CommandEnd;

use super::{below, done, project, rust};

#[test]
fn edits_stay_and_only_ours_is_taken_out() {
    let sandbox =
        project(&[(".claude/settings.json", b"{\n  // mine\n  \"model\": \"opus\"\n}\n"), (".codex/config.toml", b"")]);
    done(&sandbox, &["init", "--yes"]);
    let settings = sandbox.read(".claude/settings.json");
    sandbox.write(
        ".claude/settings.json",
        settings.replacen("\"opus\"", "\"sonnet\", // cheaper", 1).replacen("\"timeout\": 5", "\"timeout\": 9", 1),
    );
    let servers = sandbox.read(".codex/config.toml");
    sandbox.write(
        ".codex/config.toml",
        servers.replacen("[\"mcp\"]", "[\"mcp\"]\nenv = { A = \"b\" }\n\n[mcp_servers.db]\ncommand = \"db\"", 1),
    );
    sandbox.write("AGENTS.md", format!("# Rules\n\n{}\nMore.\n", sandbox.read("AGENTS.md")));
    let status = done(&sandbox, &["hook", "status"]);
    assert!(status.contains("claude\tedited since\tproject\t"), "{status}");
    let again = done(&sandbox, &["init", "--yes"]);
    assert!(again.ends_with("nothing to do\n"), "edits are no reason to write: {again}");
    let out = done(&sandbox, &["hook", "uninstall"]);
    assert!(out.contains(".claude/settings.json: edited since: only verify-run's entries were removed"), "{out}");
    assert_eq!(sandbox.read(".claude/settings.json"), "{\n  // mine\n  \"model\": \"sonnet\" // cheaper,\n}\n");
    assert_eq!(sandbox.read(".codex/config.toml"), "\n[mcp_servers.db]\ncommand = \"db\"\n");
    assert_eq!(sandbox.read("AGENTS.md"), "# Rules\n\n\nMore.\n");
    assert!(!sandbox.path(".mcp.json").exists() && !sandbox.path(".codex/hooks.json").exists());
}

#[test]
fn a_second_set_up_after_an_edit_gives_back_the_edited_file() {
    let sandbox = project(&[(".claude/settings.json", b"{\n  \"model\": \"opus\"\n}\n")]);
    done(&sandbox, &["hook", "install", "--yes", "--no-mcp", "claude"]);
    let settings = sandbox.read(".claude/settings.json");
    sandbox.write(".claude/settings.json", settings.replacen("\"opus\"", "\"sonnet\"", 1));
    done(&sandbox, &["hook", "install", "--yes", "claude", "--allow", "npm test"]);
    done(&sandbox, &["hook", "uninstall"]);
    assert_eq!(sandbox.read(".claude/settings.json"), "{\n  \"model\": \"sonnet\"\n}\n");
}

#[test]
fn an_edited_block_and_an_edited_script_are_left_with_a_message() {
    let sandbox = project(&[(".clinerules/a.md", b"a\n")]);
    done(&sandbox, &["init", "--yes"]);
    let agents = sandbox.read("AGENTS.md").replacen("Put", "Never put", 1);
    sandbox.write("AGENTS.md", &agents);
    let script = sandbox.path(".clinerules/hooks/PreToolUse");
    assert_eq!(fs::metadata(&script).expect("a script").permissions().mode() & 0o111, 0o111);
    fs::write(&script, "#!/bin/sh\necho mine\n").expect("written");
    let outcome = sandbox.verify_run(["hook", "uninstall"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1));
    let said = outcome.stdout();
    assert!(said.contains("AGENTS.md:1: left alone: the lines between verify-run's marks were edited"), "{said}");
    assert!(said.contains("PreToolUse: left alone: verify-run's entries in it changed since"), "{said}");
    assert_eq!(sandbox.read("AGENTS.md"), agents);
    assert!(!sandbox.path(".clinerules/hooks/PostToolUse").exists());
    // Once the person has decided, the rest goes, too.
    fs::remove_file(&script).expect("removed");
    sandbox.write("AGENTS.md", "");
    done(&sandbox, &["hook", "uninstall"]);
    assert!(!sandbox.path(".clinerules/hooks").exists() && !sandbox.path(".git/verify-run/install").exists());
}

#[test]
fn a_script_of_the_users_is_never_written_over() {
    let sandbox = project(&[
        (".clinerules/hooks/PreToolUse", b"#!/bin/sh\necho mine\n"),
        (".aider.conf.yml", b"test-cmd: mine\n"),
        ("Cargo.toml", b"[package]\n"),
    ]);
    let shown = done(&sandbox, &["init", "--yes"]);
    assert!(shown.contains("PreToolUse: left alone: another file has this name"), "{shown}");
    assert_eq!(sandbox.read(".clinerules/hooks/PreToolUse"), "#!/bin/sh\necho mine\n");
    assert_eq!(sandbox.read(".aider.conf.yml"), "test-cmd: mine\n");
}

#[test]
fn entries_that_came_with_the_repository_are_known_and_go_by_name() {
    let sandbox = project(&[(".claude/settings.json", b"{\n  \"model\": \"opus\" // best\n}\n")]);
    let before = below(&sandbox.work());
    done(&sandbox, &["init", "--yes"]);
    // As in a fresh clone of what was committed: no ledger lists it.
    fs::remove_dir_all(sandbox.state()).expect("removed");
    let status = done(&sandbox, &["hook", "status"]);
    assert!(status.contains("claude\tnot written from here\tproject\t"), "{status}");
    assert!(done(&sandbox, &["init", "--yes"]).ends_with("nothing to do\n"));
    let out = done(&sandbox, &["hook", "uninstall"]);
    assert!(out.contains("to remove that: verify-run hook uninstall claude"), "{out}");
    done(&sandbox, &["hook", "uninstall", "claude", "instructions"]);
    assert_eq!(below(&sandbox.work()), before);
}

#[test]
fn what_was_promised_by_a_crash_is_not_missed() {
    let sandbox = rust();
    let before = below(&sandbox.work());
    done(&sandbox, &["init", "--yes"]);
    // The record is written first: as if nothing after it had been.
    sandbox.write(".claude/settings.json", "{}\n");
    fs::remove_file(sandbox.path("AGENTS.md")).expect("removed");
    let out = done(&sandbox, &["hook", "uninstall"]);
    assert!(out.contains("AGENTS.md: was deleted: nothing to remove"), "{out}");
    assert_eq!(below(&sandbox.work()), before);
}
