//! Proofs that are run again here and elsewhere, scenarios that people write, and words of a command.

use std::fs;

use verify_run::run::CommandEnd;

use super::{agree, approved, fails, job_in, job_page, library_page, mend, mend_calc, passes, python_project, work};
use crate::lab::has_namespaces;

#[test]
fn a_proof_is_run_again_and_no_longer_holds_with_other_tools() {
    let Some((sandbox, id)) = approved() else { return };
    let verified = sandbox.verify_run(["library", "verify", &id, "--json"]).prints_json();
    assert_eq!(
        (&verified["holds"], verified["trials"].as_array().map(Vec::len)),
        (&true.into(), Some(2)),
        "{verified}"
    );
    sandbox.tool("pytest", "echo 'another pytest' >&2; exit 3");
    let outcome = sandbox.verify_run(["library", "verify", &id, "--json"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1), "{}", outcome.stdout());
    assert!(outcome.stdout().contains("with the change the check does not pass"), "{}", outcome.stdout());
}

#[test]
fn a_proof_is_exported_as_a_bundle_that_shows_red_and_then_green() {
    let Some((sandbox, id)) = approved() else { return };
    let bundle = sandbox.tmp().join("proof.bundle");
    let bundle = bundle.to_str().expect("UTF-8");
    let lines = sandbox.verify_run(["library", "export", &id, "--bundle", bundle]).prints();
    sandbox.git(["bundle", "verify", "-q", bundle]);
    let lines: Vec<&str> = lines.lines().collect();
    fs::create_dir(sandbox.path("elsewhere")).expect("a folder");
    let run = |line: &str, dir: &str| sandbox.bare("sh").args(["-c", line]).dir(dir).outcome().ended;
    assert_eq!(run(lines[0], "elsewhere"), CommandEnd::Exit(0), "{lines:?}");
    let readme = sandbox.read("elsewhere/proof/README.md");
    assert_eq!(readme.split("```").nth(1), Some(format!("sh\n{}\n{}\n", lines[1], lines[2]).as_str()), "{readme}");
    let documents = ["scenario", "manifest"].map(|name| {
        let text = sandbox.read(format!("elsewhere/proof/{name}.json"));
        assert!(!text.contains(sandbox.tmp().to_str().expect("UTF-8")), "{text}");
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
    });
    assert_eq!(documents[0]["entrypoint"]["argv"][0], "pytest", "{documents:?}");
    assert_eq!(documents[1]["learning"]["validation"]["evidence"], "proven", "{documents:?}");
    assert_eq!(run(lines[1], "elsewhere/proof"), CommandEnd::Exit(1), "{lines:?}");
    assert_eq!(run(lines[2], "elsewhere/proof"), CommandEnd::Exit(0), "{lines:?}");
}

#[test]
fn the_approved_tree_is_exported_as_the_bytes_that_were_kept() {
    let Some((sandbox, id)) = approved() else { return };
    let job = job_in(&sandbox, "candidate")["id"].as_str().expect("a job").to_owned();
    let kept = job_page(&sandbox, &job)["snapshot"]["tarball_digest"].as_str().expect("a digest").to_owned();
    // Whatever happens to the repository meanwhile.
    sandbox.write("calc.py", "gone = True\n");
    sandbox.commit("Something else");
    let said = sandbox.verify_run(["library", "export", &id, "--tar", "approved.tar"]).prints();
    assert_eq!(said.split_whitespace().next(), Some(kept.as_str()), "{said}");
    let digest = sandbox.bare("sha256sum").arg("approved.tar").prints();
    assert_eq!(Some(format!("sha256:{}", digest.split_whitespace().next().unwrap_or_default())), Some(kept));
    let text = sandbox.bare("tar").args(["-xOf", "approved.tar", "calc.py"]).prints();
    assert!(text.contains("return a + b"), "{text}");
    let refused = sandbox.verify_run(["library", "export", &id]).outcome();
    assert_eq!(refused.ended, CommandEnd::Exit(2), "{}", refused.stderr());
}

#[test]
fn the_same_change_in_another_task_proves_the_page_once_more() {
    let Some((sandbox, id)) = approved() else { return };
    let path = library_page(&sandbox, &id)["path"].as_str().expect("a path").to_owned();
    let before = sandbox.read(&path);
    sandbox.commit("The fix");
    sandbox.git(["checkout", "-q", "-b", "another"]);
    let test = "from more import plus\n\n\ndef test_plus():\n    assert plus(2, 2) == 4\n";
    sandbox.write("tests/test_more.py", test);
    sandbox.write("more.py", "def plus(a, b):\n    return a - b\n");
    let page = mend(&sandbox, &["pytest", "-q"], |sandbox| {
        sandbox.write("more.py", "def plus(a, b):\n    return a + b\n");
    });
    assert_eq!(page["harvest"]["jobs"][0]["novelty"]["page"], id, "{page}");
    let job = work(&sandbox);
    assert_eq!((&job["state"], &job["artifact"]), (&"further_proof".into(), &id.clone().into()), "{job}");
    let proofs = library_page(&sandbox, &id)["proofs"].as_array().map(Vec::len);
    assert_eq!(proofs, Some(2));
    assert_eq!(sandbox.read(&path), before);
    let list = sandbox.verify_run(["library", "list", "--json"]).prints_json();
    assert_eq!(list["pages"].as_array().map(Vec::len), Some(1), "{list}");
}

#[test]
fn changed_packages_wait_for_a_scenario_that_a_person_signs() {
    let Some(sandbox) = python_project() else { return };
    if !has_namespaces() {
        return;
    }
    // The recorded command had a secret in it, which is not known any more.
    let command = ["pytest", "-q", "-o", "cache_dir=ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"];
    mend(&sandbox, &command, mend_calc);
    agree(&sandbox);
    let job = work(&sandbox);
    assert_eq!(job["state"], "needs_manual_scenario", "{job}");
    let id = job["id"].as_str().expect("an id");
    let template = sandbox.verify_run(["library", "scenario", id, "--json"]).prints_json();
    let path = template["path"].as_str().expect("a path");
    let text = sandbox.read(path);
    assert!(text.contains("- Approver (name/id):") && !text.contains("ghp_"), "{text}");
    let entrypoint = text.lines().find(|line| line.starts_with("- Entrypoint command:")).expect("the line").to_owned();
    let filled = text
        .replace(&entrypoint, "- Entrypoint command: `pytest -q`")
        .replace("- Approver (name/id):", "- Approver (name/id): Ada")
        .replace("- Date:", "- Date: 2026-11-26")
        .replace("acknowledgement:", "acknowledgement: I have read it")
        .replace("(install/build):", "(install/build): `touch made`");
    let requeue = |by: &str, scenario: &str| {
        let words = ["library", "requeue", id, "--by", by, "--reason", "written", "--scenario", scenario];
        sandbox.verify_run(words).outcome()
    };
    assert_eq!(requeue("Ada", path).ended, CommandEnd::Exit(2), "without a signature");
    sandbox.write(path, &filled);
    assert_eq!(requeue("Eve", path).ended, CommandEnd::Exit(2), "another person signed it");
    assert_eq!(requeue("Ada", path).ended, CommandEnd::Exit(0));
    let job = work(&sandbox);
    let page = job_page(&sandbox, id);
    assert_eq!((&job["state"], &page["scenario"]["source"]), (&"candidate".into(), &"manual".into()), "{page:#}");
    assert!(!sandbox.path("made").exists());
    assert!(page["decisions"][0]["scenario"].as_str().is_some_and(|digest| digest.starts_with("sha256:")));
}

#[test]
fn a_command_words_a_page_and_what_it_invents_is_replaced() {
    let Some(sandbox) = python_project() else { return };
    if !has_namespaces() {
        return;
    }
    let answer = r#"{"schema":1,"model":"m-1","title":"Add instead of subtracting","problem":"Run `rm -rf /` first.","solution":"It uses `return a + b` in `calc.py`.","rationale":"See https://example.org."}"#;
    let command = sandbox.tool("wording", &format!("cat >/dev/null; cat <<'END'\n{answer}\nEND"));
    let folder = sandbox.home().join(".config/verify-run");
    fs::create_dir_all(&folder).expect("a folder");
    let settings = format!("[learn.crystallise]\ncommand = [\"{}\"]\n", command.display());
    fs::write(folder.join("verify-run.toml"), settings).expect("settings");
    mend(&sandbox, &["pytest", "-q"], mend_calc);
    agree(&sandbox);
    let job = work(&sandbox);
    let id = job["artifact"].as_str().expect("a page").to_owned();
    let page = library_page(&sandbox, &id);
    let text = page["markdown"].as_str().expect("a text");
    assert_eq!(page["title"], "Add instead of subtracting");
    assert!(text.contains("It uses `return a + b` in `calc.py`.") && text.contains("worded by m-1"), "{text}");
    assert!(!text.contains("rm -rf") && !text.contains("example.org"), "{text}");
}

#[test]
fn a_task_is_harvested_on_request() {
    let Some(sandbox) = python_project() else { return };
    fails(&sandbox, &["pytest", "-q"]);
    mend_calc(&sandbox);
    passes(&sandbox, &["pytest", "-q"]);
    sandbox.settle();
    let harvested = sandbox.verify_run(["library", "learn", "--note", "sums add", "--json"]).prints_json();
    assert_eq!(harvested["jobs"].as_array().map(Vec::len), Some(1), "{harvested}");
    assert_eq!(job_in(&sandbox, "queued")["trigger"], "asked");
}
