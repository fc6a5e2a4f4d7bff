//! Extensibility by configuration alone (issue 5, item 9): a category, a detector, a formatter and a fix strategy, with
//! nothing but files that a project has.

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use crate::definitions::documented_block;
use crate::sandbox::Sandbox;

/// A tool of the project's own: rules for what it prints, and a detector for what it finds.
const SCANNER: &str = r#"
[[tool]]
name = "acme-scan"
tools = ["acme-scan"]
category = "security_issue"

[[tool.rule]]
kind = "item"
needs = "CVE-"
regex = '^(?P<file>[^: ]+): (?P<code>CVE-[0-9-]+): (?P<message>.+)$'

[[detector]]
name = "vulnerable-packages"
title = "Packages with known holes"
summary = "{hits} of {of} tasks brought a package with a known hole."
rule = "Look a package up before adding it."
category = ["security_issue"]
min_tasks = 2
"#;

const STRATEGY: &str = r#"
[strategies.raise-version]
error = "^(?<package>\\S+) [0-9.]+ .*fixed in (?<version>[0-9.]+)"
category = "security_issue"
technique = "Raise the version of what is vulnerable"
steps = ["set {{ package | shell }} to {{ version }} in {{ file }}", "{{ command }}"]
"#;

/// A project whose scanner finds a hole in each of `tasks`.
fn scanned(tasks: &[&str]) -> Sandbox {
    let sandbox = Sandbox::repository();
    let said = "deps.lock: CVE-2026-1234: left-pad 1.2.0 pads without end, fixed in 1.3.1";
    sandbox.tool("acme-scan", &format!("echo '{said}'; exit 1"));
    let whitelist = "verify_run_schema = 1\n[[tool]]\nname = 'acme-scan'\nkind = 'lint'\nbins = ['acme-scan']\n";
    sandbox.write("whitelist.toml", whitelist);
    sandbox.write("deps.lock", "left-pad 1.2.0\n");
    let settings = [documented_block("[categories]\nsecurity_issue"), STRATEGY, "[advice]\nholdout = false\n"].concat();
    sandbox.write("verify-run.toml", settings);
    sandbox.write(".verify-run/tools/acme-scan.toml", SCANNER);
    let template = "{% for it in warnings %}{{ it.id }} {{ it.what }}\n{% endfor %}";
    sandbox.write(".verify-run/formatters/warnings.brief.jinja", template);
    for task in tasks {
        let run = sandbox.verify_run(["--sync", "--task", task, "acme-scan", "."]);
        run.expect(CommandEnd::Exit(1), &format!("{said}\n"), "");
    }
    sandbox
}

fn in_task(sandbox: &Sandbox, task: &str, arguments: &[&str]) -> (Value, CommandEnd) {
    let run = sandbox.verify_run(arguments.iter().chain(&["--json"])).env("VERIFY_RUN_TASK", task).outcome();
    (serde_json::from_str(run.stdout()).unwrap_or_else(|error| panic!("{error}: {run:?}")), run.ended)
}

/// Item 9: "a category, a detector, a formatter and a fix-strategy template added by configuration alone".
#[test]
fn a_category_a_detector_a_formatter_and_a_strategy_are_added_by_configuration_alone() {
    let sandbox = scanned(&["one", "two"]);
    assert!(sandbox.verify_run(["whitelist", "check"]).prints().starts_with("no problems"));

    // The category, wherever failures are listed and counted.
    assert_eq!(sandbox.verify_run(["last", "--json"]).prints_json()["category"], "security_issue");
    let pattern = sandbox.verify_run(["pattern", "list", "--json"]).prints_json();
    let (pattern, findings) = (&pattern["patterns"][0], pattern["findings"].as_array().expect("a list"));
    assert_eq!(pattern["category"], "security_issue");
    let summary = pattern["summary"].as_str().expect("a sentence");
    let lesson = sandbox.lesson();
    assert_eq!(lesson.field("category"), Some("security_issue"));
    let stats = sandbox.verify_run(["stats", "--json"]).prints_json();
    let categorised = stats["figures"].as_array().expect("a list").iter().find(|it| it["name"] == "categorised");
    assert_eq!(categorised.expect("is there")["value"], 1.0, "{stats}");
    let listed = |category: &str| {
        let list = sandbox.verify_run(["fix", "list", "--category", category, "--json"]);
        list.prints_json()["fixes"].as_array().expect("a list").len()
    };
    assert_eq!((listed("security_issue") > 0, listed("lint_error")), (true, 0));

    // The detector.
    let found = findings.iter().find(|finding| finding["detector"] == "vulnerable-packages").expect("a finding");
    assert_eq!(found["summary"], "2 of 2 tasks brought a package with a known hole.");
    assert!(summary.ends_with("Look a package up before adding it."), "{summary}");
    assert!(summary.contains("A scanner found a vulnerability"), "what it means: {summary}");

    // The formatter.
    let warned = ["warn", "--session", "s", "--files", "deps.lock", "--format", "brief"];
    let warned = sandbox.verify_run(warned).env("VERIFY_RUN_TASK", "three").prints();
    assert!(warned.starts_with("w-") && warned.contains("left-pad"), "{warned}");

    // The strategy: where it fits, with what the failure says in it; it has no evidence, and says so.
    let suggest = ["strategy", "suggest", "--run", "last"];
    let (suggested, _) = in_task(&sandbox, "three", &suggest);
    let strategy = &suggested["strategies"][0];
    assert_eq!((&strategy["origin"], &strategy["declared"]), (&"declared".into(), &"raise-version".into()));
    assert_eq!(
        (&strategy["untested"], &strategy["tries"], &strategy["matches"]),
        (&true.into(), &0.into(), &"regex".into())
    );
    assert_eq!(strategy["steps"], json!(["set left-pad to 1.3.1 in deps.lock", "acme-scan ."]));
    let printed = sandbox.verify_run(suggest).prints();
    let plain = "Raise the version of what is vulnerable ([strategies.raise-version] of verify-run.toml, untested)\n  1. set left-pad to 1.3.1 in deps.lock\n  2. acme-scan .\n";
    assert!(printed.ends_with(plain), "{printed}");
    let other = sandbox.verify_run(["strategy", "suggest", "--error", "left-pad is broken"]).outcome();
    assert_eq!(other.stdout(), "", "{other:?}");
}

#[test]
fn attempts_with_a_strategy_of_the_settings_count_and_it_escalates_like_any_other() {
    let sandbox = scanned(&["one"]);
    let suggest = ["strategy", "suggest", "--run", "last"];
    let id = in_task(&sandbox, "one", &suggest).0["strategies"][0]["id"].as_str().expect("an id").to_owned();
    let attempt = |outcome: &str| in_task(&sandbox, "one", &["strategy", "attempt", &id, "--outcome", outcome]);
    let (first, _) = attempt("success");
    let of =
        |it: &Value| (it["successes"].clone(), it["tries"].clone(), it["untested"].clone(), it["declared"].clone());
    assert_eq!(of(&first["strategy"]), (1.into(), 1.into(), false.into(), "raise-version".into()));
    for _ in 0..2 {
        assert_eq!(attempt("failure").1, CommandEnd::Exit(0));
    }
    let (third, ended) = attempt("failure");
    assert_eq!((ended, &third["escalation"]["failed"]), (CommandEnd::Exit(3), &id.as_str().into()));
    let (suggested, ended) = in_task(&sandbox, "one", &suggest);
    assert_eq!((ended, &suggested["escalation"]["failures"]), (CommandEnd::Exit(3), &3.into()));
    assert_eq!(of(&suggested["strategies"][0]), (1.into(), 4.into(), false.into(), "raise-version".into()));
    assert_eq!(suggested["strategies"][0]["steps"][0], "set left-pad to 1.3.1 in deps.lock");
    assert_eq!(suggested["strategies"].as_array().map(Vec::len), Some(1), "it is one, tried or not");
    let stats = sandbox.verify_run(["stats", "--json"]).prints_json();
    let effective = stats["figures"].as_array().expect("a list").iter().find(|it| it["name"] == "strategies_effective");
    assert_eq!(effective.expect("is there")["value"], 0.25, "{stats}");

    // The index is computed from the events, and what no settings propose is not proposed.
    sandbox.verify_run(["store", "rebuild"]).outcome();
    assert_eq!(of(&in_task(&sandbox, "two", &suggest).0["strategies"][0]).1, 4);
    sandbox.write("verify-run.toml", "[categories]\nsecurity_issue = \"x\"\n");
    assert_eq!(in_task(&sandbox, "two", &suggest).0["strategies"], json!([]));
    assert_eq!(in_task(&sandbox, "two", &["strategy", "list"]).0["strategies"][0]["tries"], 4);
}

#[test]
fn the_documented_strategy_is_proposed_for_a_run_and_for_a_text() {
    let sandbox = Sandbox::repository();
    let error = "Could not find a declaration file for module 'left-pad'.";
    sandbox.tool("tsc", &format!("echo \"src/a.ts(1,2): error TS7016: {error}\"; exit 2"));
    sandbox.write("src/a.ts", "x");
    sandbox.write("verify-run.toml", documented_block("[strategies.install-types]"));
    let of_text = ["strategy", "suggest", "--error", error];
    let steps = |arguments: &[&str]| in_task(&sandbox, "one", arguments).0["strategies"][0]["steps"].clone();
    assert_eq!(steps(&of_text), json!(["npm install --save-dev @types/left-pad"]), "nothing was ever recorded");
    sandbox.verify_run(["--sync", "tsc", "-p", "."]).outcome();
    let run = json!(["npm install --save-dev @types/left-pad", "tsc -p ."]);
    assert_eq!(steps(&["strategy", "suggest", "--run", "last"]), run);
}

#[test]
fn what_is_wrong_in_the_settings_is_named_with_its_line_and_the_rest_goes_on() {
    let sandbox = scanned(&["one"]);
    let good = sandbox.read("verify-run.toml");
    let bad = "[strategies.broken]\ntool = \"acme-scan\"\ntechnique = \"{{ nothing }}\"\n";
    sandbox.write(
        "verify-run.toml",
        format!("{bad}{}", good.replace("[categories]\n", "[categories]\nlint_error = \"x\"\n")),
    );
    let said = "strategies.broken.technique: unknown variable `nothing`; known are tool, code, message, file, command";
    let doctor = sandbox.verify_run(["doctor"]).outcome();
    for part in [said, "verify-run.toml:3", "categories.lint_error: is a built-in category", "verify-run.toml:5"] {
        assert!(doctor.stdout().contains(part), "{part}: {}", doctor.stdout());
    }
    let suggested = sandbox.verify_run(["strategy", "suggest", "--run", "last"]).outcome();
    assert!(suggested.stdout().contains("Raise the version"), "{suggested:?}");
    let told = suggested.stderr();
    assert!(told.contains(&format!("verify-run.toml:3: {said}")) && told.contains("correct it"), "{told}");

    // A definition of a category that is not declared is left out; what was recorded with it stays.
    sandbox.write("verify-run.toml", "[advice]\nholdout = false\n");
    let check = sandbox.verify_run(["whitelist", "check"]).outcome();
    for part in
        ["acme-scan.toml:5: `acme-scan`: unknown category `security_issue`", "`vulnerable-packages`: unknown category"]
    {
        assert!(check.stdout().contains(part), "{part}: {}", check.stdout());
    }
    assert_eq!(sandbox.verify_run(["last", "--json"]).prints_json()["category"], "security_issue");
    let segment = sandbox.verify_run(["store", "rebuild"]).outcome();
    assert_eq!(segment.ended, CommandEnd::Exit(0), "{segment:?}");
    assert_eq!(sandbox.verify_run(["pattern", "list", "--json"]).outcome().ended, CommandEnd::Exit(0));
    assert_eq!(sandbox.verify_run(["last", "--json"]).prints_json()["category"], "security_issue");
}
