//! What has earned a line in CLAUDE.md or AGENTS.md: proposed, reviewed, written, reverted, watched.

use std::path::Path;

use serde_json::Value;
use verify_run::run::CommandEnd;

use super::{UNDEFINED, fail, linter, recorded, warn, whats};
use crate::sandbox::{Outcome, Sandbox, need, tools};

const CURLY: &str = "Expected { after 'if' condition  curly";
const BY: [&str; 4] = ["--by", "Ada", "--reason", "it keeps coming back"];

pub(super) fn pass(sandbox: &Sandbox, task: &str) {
    let outcome = sandbox.verify_run(["--sync", "--task", task, "eslint", "."]).env("MESSAGE", "").outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(0));
}

/// A gate that one prevention passes, for tests that aren't about the gate.
pub(super) fn easy(more: &str) -> Sandbox {
    let sandbox = linter();
    let gate = "[promotion]\ntasks = 1\nconfidence = 0.5\n";
    sandbox.write("verify-run.toml", format!("[advice]\nholdout = false\n[snapshot]\nenabled = false\n{gate}{more}"));
    sandbox
}

/// Makes each mistake in task A, is warned of all in task B, and passes there.
pub(super) fn earn(sandbox: &Sandbox, mistakes: &[(&str, &str)]) {
    for (file, message) in mistakes {
        fail(sandbox, "A", file, message);
    }
    let files = mistakes.iter().map(|(file, _)| *file);
    let asked: Vec<&str> = ["--task", "B", "--limit", "9", "--files"].into_iter().chain(files).collect();
    assert_eq!(whats(&warn(sandbox, "b", &asked)).len(), mistakes.len());
    pass(sandbox, "B");
}

/// The lesson of the mistake, which is gone since the pass.
pub(super) fn earned_lesson(sandbox: &Sandbox) -> String {
    let lessons = sandbox.verify_run(["lesson", "list", "--all", "--json"]).prints_json()["lessons"].clone();
    let [lesson] = lessons.as_array().expect("a list").as_slice() else { panic!("{lessons}") };
    lesson["id"].as_str().expect("an id").to_owned()
}

pub(super) fn promote(sandbox: &Sandbox, arguments: &[&str]) -> Outcome {
    sandbox.verify_run(["promote"].iter().chain(arguments)).outcome()
}

fn decide(sandbox: &Sandbox, decision: &str, ids: &[&str], more: &[&str]) -> Outcome {
    promote(sandbox, &[&[decision], ids, &BY, more].concat())
}

pub(super) fn list(sandbox: &Sandbox, more: &[&str]) -> Vec<Value> {
    let answer = sandbox.verify_run(["promote", "list", "--json"].iter().chain(more)).prints_json();
    assert_eq!(answer["schema"], 1);
    answer["promotions"].as_array().expect("a list").clone()
}

pub(super) fn ids(sandbox: &Sandbox) -> Vec<String> {
    list(sandbox, &[]).iter().map(|item| item["id"].as_str().expect("an id").to_owned()).collect()
}

fn works(outcome: &Outcome) {
    assert_eq!(outcome.ended, CommandEnd::Exit(0), "{}", outcome.stderr());
}

fn refuses(outcome: &Outcome, words: &[&str]) {
    ends_with(outcome, 1, words);
}

/// Refuses because of the command line.
fn misuses(outcome: &Outcome, words: &[&str]) {
    ends_with(outcome, 2, words);
}

#[track_caller]
fn ends_with(outcome: &Outcome, code: u8, words: &[&str]) {
    assert_eq!(outcome.ended, CommandEnd::Exit(code), "{}", outcome.stdout());
    for word in words {
        assert!(outcome.stderr().contains(word), "{word:?} is not in {}", outcome.stderr());
    }
}

#[test]
fn the_gate_s_numbers_make_a_candidate_labelled_weak_with_its_reason() {
    let sandbox = linter();
    for task in ["A", "B", "C", "D"] {
        fail(&sandbox, task, "src/x.js", UNDEFINED);
    }
    warn(&sandbox, "f", &["--task", "F", "--files", "src/x.js"]);
    pass(&sandbox, "F");
    assert!(list(&sandbox, &[]).is_empty(), "4 tasks, confidence 0.75");
    assert_eq!(promote(&sandbox, &["list"]).stderr(), "no pending proposals\n");
    fail(&sandbox, "E", "src/x.js", UNDEFINED);
    let found = list(&sandbox, &[]);
    let [item] = &found[..] else { panic!("{found:?}") };
    assert_eq!(
        (&item["state"], &item["way"], &item["target"]),
        (&"pending".into(), &"prevention".into(), &"AGENTS.md".into())
    );
    assert_eq!((&item["figures"]["effectiveness"], &item["figures"]["tasks"]), (&1.0.into(), &5.into()));
    assert_eq!(item["label"]["strength"], "weak");
    assert_eq!(item["label"]["reason"], "no task was held out yet for comparison");
    let row = promote(&sandbox, &["list"]).stdout().to_owned();
    let id = item["id"].as_str().expect("an id");
    assert_eq!(
        row,
        format!(
            "{id}\tpending\tweak\tAGENTS.md\t'x' is not defined (eslint no-undef)\tno task was held out yet for comparison\n"
        )
    );
    assert!(!sandbox.path("AGENTS.md").exists(), "nothing is written without a review");
}

#[test]
fn a_candidate_is_labelled_strong_when_held_out_tasks_prove_it() {
    let sandbox = linter();
    sandbox.write(
        "verify-run.toml",
        "[advice]\nholdout_share = 0.3\n[snapshot]\nenabled = false\n[promotion]\ntasks = 1\nconfidence = 0.5\nevidence = 2\n",
    );
    fail(&sandbox, "A", "src/x.js", UNDEFINED);
    let (mut held, mut shown) = (0, 0);
    for n in 0..60 {
        let task = format!("T{n}");
        let asked = warn(&sandbox, &task, &["--task", &task, "--files", "src/x.js"]);
        if asked["held_out"] == 1 && held < 5 {
            held += 1;
            fail(&sandbox, &task, "src/x.js", UNDEFINED);
        } else if asked["held_out"] == 0 && shown < 3 {
            shown += 1;
            pass(&sandbox, &task);
        }
        if held == 5 && shown == 3 {
            break;
        }
    }
    // Five of five from three of ten: 68 times as likely if warnings prevent, by a guess made beforehand.
    let found = list(&sandbox, &[]);
    assert_eq!(found[0]["label"]["strength"], "strong", "{found:?}");
    let reason = found[0]["label"]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("warnings about it prevent it: 0 of 3 warned tasks and 5 of 5 held-out"), "{reason}");
}

#[test]
fn a_proposal_is_markdown_with_every_part_and_the_diff_that_git_applies() {
    let sandbox = easy("");
    sandbox.write("AGENTS.md", "# Rules\n\nBe kind.\n");
    earn(&sandbox, &[("src/x.js", UNDEFINED)]);
    let lesson = &earned_lesson(&sandbox);
    let (cause, rule) = ("x was renamed", "Import x where it is used.");
    sandbox.verify_run(["lesson", "annotate", lesson, "--cause", cause, "--rule", rule]).prints();
    let id = &ids(&sandbox)[0];
    assert_eq!(list(&sandbox, &[])[0]["title"], cause, "the name that a person gave");
    let page = promote(&sandbox, &["show", id]).stdout().to_owned();
    let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(
        headings,
        ["Context", "Problem", "Solution", "Frequency", "Example", "Evidence", "Change", "History"],
        "{page}"
    );
    for part in [
        "**weak**: no task was held out",
        "Why: x was renamed.",
        rule,
        "'x' is not defined",
        "1 failure in 1 task",
        "src/x.js",
        " proposed",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let diff = promote(&sandbox, &["show", id, "--diff"]).stdout().to_owned();
    assert!(page.contains(diff.trim_end()), "{page}");
    sandbox.git(["add", "AGENTS.md"]);
    sandbox.write("change.diff", &diff);
    sandbox.git(["apply", "--check", "change.diff"]);
    sandbox.git(["apply", "change.diff"]);
    let applied = sandbox.read("AGENTS.md");
    sandbox.write("AGENTS.md", "# Rules\n\nBe kind.\n");
    works(&decide(&sandbox, "approve", &[id], &[]));
    assert_eq!(sandbox.read("AGENTS.md"), applied, "the exact diff");
    // By its pattern's id, too; approved, it shows how it would be taken out.
    let pattern = list(&sandbox, &["--all"])[0]["pattern"].as_str().expect("an id").to_owned();
    let back = promote(&sandbox, &["show", &pattern, "--diff"]).stdout().to_owned();
    assert!(back.lines().any(|line| line.starts_with("-- x was renamed: `'x' is not defined")), "{back}");
}

#[test]
fn rolling_back_gives_the_identical_bytes() {
    for before in [Some("# Rules\n\nBe kind.\n"), Some("no end"), Some("a\r\nb\r\n"), Some(""), None] {
        let sandbox = easy("");
        if let Some(before) = before {
            sandbox.write("AGENTS.md", before);
        }
        earn(&sandbox, &[("src/x.js", UNDEFINED), ("src/y.js", CURLY)]);
        let both = ids(&sandbox);
        let both: Vec<&str> = both.iter().map(String::as_str).collect();
        let approved = decide(&sandbox, "approve", &both, &[]);
        works(&approved);
        assert_eq!(approved.stdout().lines().count(), 2, "a batch: {}", approved.stdout());
        let text = sandbox.read("AGENTS.md");
        assert!(text.starts_with(before.unwrap_or_default()), "{text}");
        assert_eq!(text.matches("verify-run begin").count(), 1, "{text}");
        assert_eq!(text.matches(" (`r-").count(), 2, "{text}");
        works(&decide(&sandbox, "rollback", &both[..1], &[]));
        assert_eq!(sandbox.read("AGENTS.md").matches(" (`r-").count(), 1);
        let last = decide(&sandbox, "rollback", &both[1..], &["--json"]);
        works(&last);
        let after = std::fs::read(sandbox.path("AGENTS.md")).ok();
        assert_eq!(after.as_deref(), before.map(str::as_bytes), "{before:?}");
        refuses(&decide(&sandbox, "rollback", &both[1..], &[]), &["rolled_back", "nothing to roll back"]);
        // The file comes back with it, from another branch.
        sandbox.write("AGENTS.md", &text);
        works(&decide(&sandbox, "rollback", &both, &[]));
        assert!(!std::fs::read_to_string(sandbox.path("AGENTS.md")).unwrap_or_default().contains("verify-run"));
    }
}

#[test]
fn a_line_whose_failures_were_purged_can_be_taken_out() {
    let sandbox = easy("");
    sandbox.write("AGENTS.md", "# Rules\n");
    earn(&sandbox, &[("src/x.js", UNDEFINED)]);
    let id = &ids(&sandbox)[0];
    works(&decide(&sandbox, "approve", &[id], &[]));
    for run in recorded(&sandbox, "run").iter().filter(|run| !run["failure"].is_null()) {
        sandbox.verify_run(["store", "purge", run["id"].as_str().expect("an id")]).prints();
    }
    let waiting = list(&sandbox, &[]);
    assert_eq!(waiting[0]["retirement"], "its failures are no longer recorded", "{waiting:?}");
    works(&decide(&sandbox, "rollback", &[id], &[]));
    assert_eq!(sandbox.read("AGENTS.md"), "# Rules\n");
}

#[test]
fn a_decision_needs_a_name_and_a_reason_and_is_kept_with_when_who_and_where() {
    let sandbox = easy("");
    earn(&sandbox, &[("src/x.js", UNDEFINED)]);
    let id = &ids(&sandbox)[0];
    for bare in [&["approve", id][..], &["approve", id, "--by", "Ada"]] {
        assert_eq!(promote(&sandbox, bare).ended, CommandEnd::Exit(2));
    }
    misuses(&promote(&sandbox, &["approve", id, "--by", " ", "--reason", "x"]), &["--by NAME --reason TEXT"]);
    let by_agent = sandbox.verify_run(["promote", "approve", id, "--reason", "x"]).env("VERIFY_RUN_AGENT", "codex");
    misuses(&by_agent.outcome(), &["--by NAME --reason TEXT"]);
    misuses(&promote(&sandbox, &["approve", id, "--by", "Ada", "--reason", "\n"]), &["--by NAME --reason TEXT"]);
    assert!(!sandbox.path("AGENTS.md").exists());
    refuses(&decide(&sandbox, "approve", &["r-nothing"], &[]), &["promote list --all"]);

    works(&decide(&sandbox, "reject", &[id], &[]));
    assert!(list(&sandbox, &[]).is_empty(), "not proposed again");
    let item = &list(&sandbox, &["--all"])[0];
    assert_eq!(
        (&item["state"], &item["by"], &item["reason"]),
        (&"rejected".into(), &"Ada".into(), &"it keeps coming back".into())
    );
    // The user changes their mind.
    works(&decide(&sandbox, "approve", &[id], &[]));
    refuses(&decide(&sandbox, "reject", &[id], &[]), &["is approved", "promote rollback"]);
    works(&decide(&sandbox, "rollback", &[id], &[]));
    let shown = sandbox.verify_run(["promote", "show", id, "--json"]).prints_json();
    let history = shown["history"].as_array().expect("a list");
    let told: Vec<_> = history.iter().map(|one| one["change"].as_str().expect("a word")).collect();
    assert_eq!(told, ["proposed", "rejected", "approved", "rolled_back"]);
    assert_eq!((&history[2]["person"], &history[2]["target"]), (&"Ada".into(), &"AGENTS.md".into()));
    assert!(history.iter().all(|one| one["at"].as_str().is_some_and(|at| at.starts_with("20"))));
    // The index is rebuilt: it is the same.
    sandbox.verify_run(["store", "rebuild"]).outcome();
    assert_eq!(list(&sandbox, &["--all"])[0]["state"], "rolled_back");
}

#[test]
fn a_block_that_somebody_edited_is_refused_and_the_edits_may_stay() {
    let sandbox = easy("");
    sandbox.write("AGENTS.md", "# Rules\n");
    earn(&sandbox, &[("src/x.js", UNDEFINED), ("src/y.js", CURLY)]);
    let both = ids(&sandbox);
    works(&decide(&sandbox, "approve", &[&both[0]], &[]));
    let edited = sandbox.read("AGENTS.md").replace("1 failure", "one failure");
    sandbox.write("AGENTS.md", &edited);
    let way_out = ["AGENTS.md: line 3", "--edits keep"];
    refuses(&decide(&sandbox, "approve", &[&both[1]], &[]), &way_out);
    refuses(&decide(&sandbox, "rollback", &[&both[0]], &[]), &way_out);
    refuses(&promote(&sandbox, &["show", &both[1]]), &way_out);
    assert_eq!(sandbox.read("AGENTS.md"), edited, "nothing was written");
    works(&decide(&sandbox, "approve", &[&both[1]], &["--edits", "keep"]));
    let kept = sandbox.read("AGENTS.md");
    assert!(kept.contains("one failure") && kept.matches(" (`r-").count() == 2, "{kept}");
    works(&decide(&sandbox, "rollback", &[&both[0], &both[1]], &[]));
    assert_eq!(sandbox.read("AGENTS.md"), "# Rules\n");
}

#[test]
fn a_batch_is_decided_as_a_whole_and_the_block_has_a_size() {
    let sandbox = easy("lines = 1\n");
    earn(&sandbox, &[("src/x.js", UNDEFINED), ("src/y.js", CURLY)]);
    let both = ids(&sandbox);
    refuses(&decide(&sandbox, "approve", &[&both[0], &both[1]], &[]), &["promotion.lines", "promote rollback"]);
    assert!(!sandbox.path("AGENTS.md").exists());
    assert_eq!(list(&sandbox, &[]).len(), 2, "both still wait");
    refuses(&decide(&sandbox, "approve", &[&both[0], "r-nothing"], &[]), &["r-nothing"]);
    assert!(!sandbox.path("AGENTS.md").exists());
    works(&decide(&sandbox, "reject", &[&both[0], &both[1]], &[]));
    assert!(list(&sandbox, &[]).is_empty());
}

#[test]
fn approvals_at_the_same_time_lose_nothing() {
    let sandbox = easy("");
    sandbox.write("AGENTS.md", "# Rules\n");
    let rules = ["curly", "eqeqeq", "radix", "yoda"];
    let messages: Vec<(String, String)> = rules
        .iter()
        .map(|rule| (format!("src/{rule}.js"), format!("Something is wrong with {rule}  {rule}")))
        .collect();
    let mistakes: Vec<_> = messages.iter().map(|(file, message)| (file.as_str(), message.as_str())).collect();
    earn(&sandbox, &mistakes);
    let all = ids(&sandbox);
    assert_eq!(all.len(), 4);
    let spawned: Vec<_> =
        all.iter().map(|id| sandbox.verify_run(["promote", "approve", id].iter().chain(&BY)).spawn()).collect();
    for mut child in spawned {
        assert!(child.wait().expect("ends").success());
    }
    let text = sandbox.read("AGENTS.md");
    assert!(all.iter().all(|id| text.contains(&format!("(`{id}`)"))), "{text}");
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    works(&decide(&sandbox, "rollback", &all, &[]));
    assert_eq!(sandbox.read("AGENTS.md"), "# Rules\n");
}

fn target(sandbox: &Sandbox) -> String {
    list(sandbox, &[])[0]["target"].as_str().expect("a path").to_owned()
}

#[test]
fn the_target_is_the_nearest_file_of_the_files_concerned() {
    let sandbox = easy("");
    earn(&sandbox, &[("web/src/x.js", UNDEFINED)]);
    assert_eq!(target(&sandbox), "AGENTS.md", "made where there is none");
    sandbox.write("CLAUDE.md", "# For one\n");
    assert_eq!(target(&sandbox), "CLAUDE.md", "an AGENTS.md beside it would not be read by it");
    sandbox.write("AGENTS.md", "# For all\n");
    assert_eq!(target(&sandbox), "CLAUDE.md");
    sandbox.write("CLAUDE.md", "@AGENTS.md\n");
    assert_eq!(target(&sandbox), "AGENTS.md", "it reads that one, too");
    sandbox.write("web/AGENTS.md", "# The web\n");
    sandbox.write("db/AGENTS.md", "# The database\n");
    assert_eq!(target(&sandbox), "web/AGENTS.md");
    let id = &ids(&sandbox)[0];
    works(&decide(&sandbox, "approve", &[id], &[]));
    assert!(sandbox.read("web/AGENTS.md").contains(id.as_str()));
    assert_eq!(sandbox.read("AGENTS.md"), "# For all\n");
    works(&decide(&sandbox, "rollback", &[id], &[]));

    // Where the user wants it, but nowhere else than in Markdown inside the project.
    works(&decide(&sandbox, "approve", &[id], &["--target", "db/AGENTS.md"]));
    assert!(sandbox.read("db/AGENTS.md").contains(id.as_str()));
    refuses(&decide(&sandbox, "approve", &[id], &["--target", "AGENTS.md"]), &["is in db/AGENTS.md already"]);
    works(&decide(&sandbox, "rollback", &[id], &[]));
    for bad in ["../AGENTS.md", "/tmp/AGENTS.md", ".git/AGENTS.md", "src/main.rs"] {
        refuses(
            &decide(&sandbox, "approve", &[id], &["--target", bad]),
            &["is not a Markdown file inside the project"],
        );
    }
    // A link is followed, and stays one; out of the project it isn't.
    std::fs::remove_file(sandbox.path("web/AGENTS.md")).expect("removed");
    std::os::unix::fs::symlink("../AGENTS.md", sandbox.path("web/AGENTS.md")).expect("a link");
    works(&decide(&sandbox, "approve", &[id], &[]));
    assert!(sandbox.read("AGENTS.md").contains(id.as_str()));
    assert!(std::fs::symlink_metadata(sandbox.path("web/AGENTS.md")).expect("is there").is_symlink());
    works(&decide(&sandbox, "rollback", &[id], &[]));
    assert_eq!(sandbox.read("AGENTS.md"), "# For all\n");
    let outside = sandbox.home().join("AGENTS.md");
    std::fs::write(&outside, "mine\n").expect("written");
    std::fs::remove_file(sandbox.path("web/AGENTS.md")).expect("removed");
    std::os::unix::fs::symlink(&outside, sandbox.path("web/AGENTS.md")).expect("a link");
    refuses(&decide(&sandbox, "approve", &[id], &[]), &["leads out of the work tree"]);
    assert_eq!(std::fs::read_to_string(&outside).expect("reads"), "mine\n");
}

#[test]
fn rules_with_paths_are_files_of_their_own() {
    let sandbox = easy("");
    earn(&sandbox, &[("web/src/x.js", UNDEFINED)]);
    let id = &ids(&sandbox)[0];
    works(&decide(&sandbox, "approve", &[id], &["--rules"]));
    let path = format!(".claude/rules/verify-run-{id}.md");
    let text = sandbox.read(&path);
    assert!(text.starts_with("---\npaths:\n  - \"web/src/x.js\"\n---\n\n<!-- verify-run begin"), "{text}");
    assert!(text.contains(&format!("(`{id}`)\n<!-- verify-run end -->\n")), "{text}");
    works(&decide(&sandbox, "rollback", &[id], &[]));
    assert!(!sandbox.path(".claude").exists(), "nor its folders, which it made");
    let settings = sandbox.read("verify-run.toml");
    sandbox.write("verify-run.toml", format!("{settings}rules = true\n"));
    let shown = sandbox.verify_run(["promote", "show", id, "--json"]).prints_json();
    assert_eq!(shown["target"].as_str().map(Path::new), Some(Path::new(&path)));
    sandbox.write("verify-run.toml", format!("{settings}target = \"docs/AGENTS.md\"\n"));
    let shown = sandbox.verify_run(["promote", "show", id, "--json"]).prints_json();
    assert_eq!(shown["target"], "docs/AGENTS.md");
}

#[test]
fn what_was_promoted_is_not_warned_of_and_asks_for_retirement_when_it_comes_back() {
    let sandbox = easy("");
    sandbox.write("AGENTS.md", "# Rules\n");
    earn(&sandbox, &[("src/x.js", UNDEFINED)]);
    let id = &ids(&sandbox)[0];
    let asked = |task: &str| whats(&warn(&sandbox, task, &["--task", task, "--files", "src/x.js"])).len();
    assert_eq!(asked("C"), 1);
    works(&decide(&sandbox, "approve", &[id], &[]));
    assert_eq!(asked("D"), 0);
    assert!(list(&sandbox, &[]).is_empty(), "nothing waits");

    fail(&sandbox, "E", "src/x.js", UNDEFINED);
    let waiting = list(&sandbox, &[]);
    let why = "it came back in 1 task after it was promoted";
    assert_eq!((&waiting[0]["state"], &waiting[0]["retirement"]), (&"approved".into(), &why.into()));
    assert!(promote(&sandbox, &["list"]).stdout().contains("\tretire?\t"));
    let page = promote(&sandbox, &["show", id]).stdout().to_owned();
    assert!(page.contains(&format!("## Retirement proposed\n\n{why}.\n")), "{page}");
    assert!(page.contains(" retirement proposed") && page.contains(&format!(": {why}\n")), "in its history: {page}");
    assert!(sandbox.read("AGENTS.md").contains(id.as_str()), "a person takes it out");

    // It stays: watching starts over. Or it goes, and warnings are back.
    works(&decide(&sandbox, "approve", &[id], &[]));
    assert!(list(&sandbox, &[]).is_empty());
    works(&decide(&sandbox, "rollback", &[id], &[]));
    assert_eq!(sandbox.read("AGENTS.md"), "# Rules\n", "the bytes from before it was approved first");
    assert_eq!(asked("F"), 1);
}

#[test]
fn a_proposal_that_does_not_pass_any_more_says_why_and_is_not_approved() {
    let sandbox = easy("");
    earn(&sandbox, &[("src/x.js", UNDEFINED)]);
    let id = &ids(&sandbox)[0];
    assert_eq!(whats(&warn(&sandbox, "c", &["--task", "C", "--files", "src/x.js"])).len(), 1);
    fail(&sandbox, "C", "src/x.js", UNDEFINED);
    assert!(list(&sandbox, &[]).is_empty(), "one of two avoided it");
    let why = "1 of 2 warned tasks avoided the mistake, but 80 % are needed";
    refuses(&decide(&sandbox, "approve", &[id], &[]), &["is no longer proposed", why]);
    let all = promote(&sandbox, &["list", "--all"]).stdout().to_owned();
    assert!(all.contains("\tlapsed\t") && all.contains(why), "{all}");
    let page = promote(&sandbox, &["show", id]).stdout().to_owned();
    assert!(page.contains(&format!("## No longer proposed\n\n{why}.\n")), "{page}");
    assert!(!sandbox.path("AGENTS.md").exists());
    works(&decide(&sandbox, "reject", &[id], &[]));
}

#[test]
fn a_line_that_somebody_took_out_by_hand_is_missing_and_can_be_written_again() {
    let sandbox = easy("");
    earn(&sandbox, &[("src/x.js", UNDEFINED)]);
    let id = &ids(&sandbox)[0];
    works(&decide(&sandbox, "approve", &[id], &[]));
    sandbox.write("AGENTS.md", "# Rules\n");
    assert!(promote(&sandbox, &["list", "--all"]).stdout().contains("\tmissing\t"));
    works(&decide(&sandbox, "approve", &[id], &[]));
    assert!(sandbox.read("AGENTS.md").contains(id.as_str()));
    works(&decide(&sandbox, "rollback", &[id], &[]));
    assert_eq!(sandbox.read("AGENTS.md"), "# Rules\n");
}

#[test]
fn what_is_known_to_help_is_proposed_by_its_own_confidence() {
    let sandbox = linter();
    sandbox.write("verify-run.toml", "[advice]\nwarnings = false\n");
    for (n, task) in ["A", "B", "C"].iter().enumerate() {
        fail(&sandbox, task, "src/x.js", UNDEFINED);
        sandbox.write("src/x.js", format!("import x from 'x';\n// {n}"));
        let agent = if n == 1 { "codex" } else { "human" };
        let run = sandbox.verify_run(["--sync", "--task", task, "--agent", agent, "eslint", "."]);
        assert_eq!(run.env("MESSAGE", "").env("VERIFY_RUN_SESSION", task).outcome().ended, CommandEnd::Exit(0));
    }
    let found = list(&sandbox, &[]);
    assert_eq!((found.len(), &found[0]["way"]), (1, &"knowledge".into()), "{found:?}");
    assert!(found[0]["figures"]["knowledge"].as_f64().is_some_and(|believed| believed >= 0.8 - 1e-9));
    let line = found[0]["proposal"]["line"].as_str().expect("a text");
    assert!(line.contains("What made it go away: "), "{line}");
}

#[test]
fn the_whole_loop_with_a_real_tool_from_the_failure_to_the_block_and_back() {
    let Some(_) = need("pytest") else { return };
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(tools());
    sandbox.write(".gitignore", "__pycache__\n.pytest_cache\n");
    sandbox.write("verify-run.toml", "[advice]\nholdout = false\n");
    sandbox.write("AGENTS.md", "# Rules\n\nBe kind.");
    sandbox.write("test_shop.py", "import shop\n\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n");
    let pytest = |task: &str, sum: &str, ended: CommandEnd| {
        sandbox.write("shop.py", format!("def total(prices):\n    return {sum}\n"));
        let run = sandbox.verify_run(["--sync", "--task", task, "pytest", "-q", "-p", "no:cacheprovider"]);
        let outcome = run.env("PYTHONDONTWRITEBYTECODE", "1").env("VERIFY_RUN_SESSION", task).outcome();
        assert_eq!(outcome.ended, ended, "{task}: {}", outcome.stdout());
    };
    let (right, wrong) = ("sum(prices)", "sum(prices) + 1");
    let told = |task: &str| {
        let asked =
            ["warn", "--task", task, "--session", task, "--format", "text", "--files", "shop.py", "test_shop.py"];
        sandbox.verify_run(asked).prints()
    };
    let figures = || {
        let found = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
        let id = found["patterns"][0]["id"].as_str().expect("an id").to_owned();
        let page = sandbox.verify_run(["pattern", "show", &id, "--json"]).prints_json();
        page["confidence"].as_f64().expect("a number")
    };
    let stats = || sandbox.verify_run(["stats", "--json"]).prints_json()["warnings"].clone();

    // A failure in task A and its fix; in B a warning with it in its text, a clean pass, a prevention.
    pytest("A", wrong, CommandEnd::Exit(1));
    pytest("A", right, CommandEnd::Exit(0));
    let warning = told("B");
    assert!(warning.contains("test_total fails") && warning.contains("return sum(prices)"), "{warning}");
    let before = figures();
    pytest("B", right, CommandEnd::Exit(0));
    assert_eq!((&stats()["prevented"], &stats()["failed_anyway"]), (&1.into(), &0.into()));
    let prevented = figures();
    assert!(prevented > before, "{before} {prevented}");
    // In C it is made again all the same.
    assert!(!told("C").is_empty());
    pytest("C", wrong, CommandEnd::Exit(1));
    assert_eq!((&stats()["prevented"], &stats()["failed_anyway"]), (&1.into(), &1.into()));
    assert!(figures() < prevented);
    pytest("C", right, CommandEnd::Exit(0));

    // Five tasks had it, four of five warned ones avoided it: not before that it is proposed as prevented.
    for task in ["D", "E", "F"] {
        pytest(task, wrong, CommandEnd::Exit(1));
        pytest(task, right, CommandEnd::Exit(0));
    }
    for task in ["G", "H", "I"] {
        let way = list(&sandbox, &[]).first().map(|item| item["way"].clone());
        assert_ne!(way, Some("prevention".into()), "{task}");
        assert!(!told(task).is_empty());
        pytest(task, right, CommandEnd::Exit(0));
    }
    let found = list(&sandbox, &[]);
    let [item] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&item["way"], &item["figures"]["effectiveness"]), (&"prevention".into(), &0.8.into()));
    let id = item["id"].as_str().expect("an id");
    works(&decide(&sandbox, "approve", &[id], &[]));
    let text = sandbox.read("AGENTS.md");
    assert!(
        text.starts_with("# Rules\n\nBe kind.\n\n<!-- verify-run begin ") && text.contains("return sum(prices)"),
        "{text}"
    );
    assert!(told("J").is_empty(), "everybody reads of it");
    let back = decide(&sandbox, "rollback", &[id], &[]);
    assert_eq!(back.stdout(), format!("{id}\trolled_back\tAGENTS.md\tas before\n"));
    assert_eq!(sandbox.read("AGENTS.md"), "# Rules\n\nBe kind.");
}

#[test]
fn a_person_who_gives_no_name_decides_by_the_one_that_git_knows() {
    let sandbox = easy("");
    earn(&sandbox, &[("src/x.js", UNDEFINED)]);
    let id = &ids(&sandbox)[0];
    works(&promote(&sandbox, &["approve", id, "--reason", "it is true"]));
    let said = recorded(&sandbox, "promotion");
    assert!(said.iter().any(|said| said["by"]["person"] == "Test"), "{said:?}");
}
