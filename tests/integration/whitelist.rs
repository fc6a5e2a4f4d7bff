//! `verify-run whitelist`: what is a check here, why, and what is wrong with the files that say so.

use verify_run::run::CommandEnd;

use crate::sandbox::Sandbox;

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn explain_answers_for_checks_and_for_everything_else() {
    let sandbox = Sandbox::repository();
    let check = sandbox.verify_run(["whitelist", "explain", "--json", "cd web && npx eslint ."]).prints();
    let check = json(&check);
    assert_eq!(check["recognised"], true);
    assert_eq!((&check["tool"], &check["kind"]), (&"eslint".into(), &"lint".into()));
    assert_eq!(check["via"], serde_json::json!(["npx"]));
    let other = json(&sandbox.verify_run(["whitelist", "explain", "--json", "pytest --version"]).prints());
    assert_eq!((&other["recognised"], &other["tool"]), (&false.into(), &serde_json::Value::Null));
    assert!(other["why"].as_str().expect("a reason").contains("--version"));
    let words = sandbox.verify_run(["whitelist", "explain", "sh", "-c", "pytest -q; true"]).prints();
    assert!(
        words.starts_with("pytest: a test check\n") && words.contains("the line's status is not the check's"),
        "{words}"
    );
}

#[test]
fn check_names_file_line_and_reason_and_the_other_layers_stay_in_force() {
    let sandbox = Sandbox::repository();
    assert!(sandbox.verify_run(["whitelist", "check"]).prints().starts_with("no problems"));
    let file = sandbox.write("whitelist.toml", "verify_run_schema = 1\n[[tool]]\nname = 'a'\nkind = 'tests'\n");
    let hint = "  hint: the file is left out until then: correct it, then run `verify-run whitelist check`\n";
    let reason = "unknown variant `tests`, expected one of `test`, `lint`, `type`, `format`, `build`";
    let expected = format!("{}:4: {reason}\n{hint}", file.display());
    sandbox.verify_run(["whitelist", "check"]).expect(CommandEnd::Exit(1), &expected, "");
    assert!(sandbox.verify_run(["whitelist", "explain", "pytest"]).prints().starts_with("pytest:"));
    sandbox.write("whitelist.toml", "verify_run_schema = 1\n[[tool]]\nname = 'a'\nkind = 'test'\nbins = ['a']\n");
    let listed = sandbox.verify_run(["whitelist", "list"]).prints();
    assert!(listed.lines().next().expect("a rule").starts_with("a\ttest\t\ta\t"), "{listed}");
    assert!(listed.lines().any(|line| line.starts_with("cargo-nextest\ttest\trust\t")));
}
