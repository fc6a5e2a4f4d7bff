//! Tool definitions of the user and the project: in force when a run is recorded and when output is parsed.

use verify_run::run::CommandEnd;

use crate::sandbox::Sandbox;

const RULE: &str = "verify_run_schema = 1\n[[tool]]\nname = 'acme'\ntools = ['acme']\ncategory = 'lint_error'\n\
                    [[tool.rule]]\nkind = 'item'\nneeds = '!! '\n\
                    regex = '^!! (?P<file>[^@]+)@(?P<line>[0-9]+) (?P<code>[A-Z]+) (?P<message>.+)$'\n\
                    [[tool.test]]\ninput = '!! a.x@3 BAD wrong'\nexpect = [{ file = 'a.x', line = 3, code = 'BAD' }]\n";

/// A project with a tool of its own, which no shipped rule knows.
fn acme() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.tool("acme", "echo '!! src/a.x@3 BAD wrong'; exit 1");
    sandbox.write("src/a.x", "x");
    sandbox.write("whitelist.toml", "verify_run_schema = 1\n[[tool]]\nname = 'acme'\nkind = 'lint'\nbins = ['acme']\n");
    sandbox
}

#[test]
fn the_projects_definition_is_used_when_a_run_is_recorded_and_by_parse() {
    let sandbox = acme();
    sandbox.write(".verify-run/tools/acme.toml", RULE);
    sandbox.verify_run(["--sync", "acme"]).expect(CommandEnd::Exit(1), "!! src/a.x@3 BAD wrong\n", "");
    let item = &sandbox.events()[0]["failure"]["items"][0];
    assert_eq!((&item["tool"], &item["code"], &item["line"]), (&"acme".into(), &"BAD".into(), &3.into()));
    sandbox.write("out.txt", "!! src/a.x@3 BAD wrong\n");
    let parsed = sandbox.verify_run(["parse", "out.txt"]).prints_json();
    assert_eq!(parsed["diagnostics"][0]["code"], "BAD");
    assert_eq!(sandbox.git(["status", "--porcelain", ".lessons"]), "");
}

#[test]
fn the_users_definition_holds_where_the_project_has_none() {
    let sandbox = acme();
    let folder = sandbox.home().join(".config/verify-run/tools");
    std::fs::create_dir_all(&folder).expect("the user's folder");
    std::fs::write(folder.join("acme.toml"), RULE).expect("the user's definition");
    sandbox.write("out.txt", "!! src/a.x@3 BAD wrong\n");
    let code = || sandbox.verify_run(["parse", "out.txt"]).prints_json()["diagnostics"][0]["code"].clone();
    assert_eq!(code(), "BAD");
    sandbox.write(".verify-run/tools/acme.toml", RULE.replace("(?P<code>[A-Z]+)", "[A-Z]+"));
    assert_eq!(code(), serde_json::Value::Null);
}

#[test]
fn check_and_doctor_name_what_is_wrong_and_the_rest_holds() {
    let sandbox = acme();
    let good = sandbox.write(".verify-run/tools/acme.toml", RULE);
    assert!(sandbox.verify_run(["whitelist", "check"]).prints().contains(good.to_str().expect("UTF-8")));
    let bad = sandbox.write(".verify-run/tools/bad.toml", "[[tool]]\nname = 'x'\ncategory = 'odd'\n");
    let outcome = sandbox.verify_run(["whitelist", "check"]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1));
    let place = format!("{}:3: `x`: unknown category `odd`; known are test_failure, ", bad.display());
    assert!(outcome.stdout().starts_with(&place), "{}", outcome.stdout());
    assert!(sandbox.verify_run(["doctor"]).outcome().stdout().contains("unknown category `odd`"));
    sandbox.write("out.txt", "!! src/a.x@3 BAD wrong\n");
    let parsed = sandbox.verify_run(["parse", "out.txt"]).outcome();
    assert!(parsed.stderr().contains("bad.toml:3: `x`: unknown category"), "{}", parsed.stderr());
    assert!(parsed.stdout().contains("\"code\":\"BAD\""), "{}", parsed.stdout());
    std::fs::remove_file(bad).expect("removed");
    sandbox.write(".verify-run/tools/acme.toml", RULE.replace("line = 3", "line = 4"));
    let outcome = sandbox.verify_run(["whitelist", "check"]).outcome();
    let said = outcome.stdout();
    assert!(said.contains("acme.toml:11: `acme`, test 1: expected { file = \"a.x\", line = 4"), "{said}");
    assert!(said.contains("line = 3") && said.contains("rule 1 (item)"), "{said}");
}

#[test]
fn a_problem_matcher_is_read_from_the_repository_and_from_nowhere_else() {
    let sandbox = acme();
    let matcher = r#"{"problemMatcher": [{"owner": "acme", "pattern": [
        {"regexp": "^!! ([^@]+)@(\\d+) ([A-Z]+) (.+)$", "file": 1, "line": 2, "code": 3, "message": 4}]}]}"#;
    sandbox.write(".github/acme.json", matcher);
    std::fs::write(sandbox.home().join("acme.json"), matcher).expect("a file outside");
    let definition = |path: &str| {
        let text = format!("[[tool]]\nname = 'acme'\nmatcher = '{path}'\n");
        sandbox.write(".verify-run/tools/acme.toml", text);
        sandbox.write("out.txt", "!! src/a.x@3 BAD wrong\n");
        sandbox.verify_run(["parse", "out.txt"]).outcome()
    };
    let inside = definition("../../.github/acme.json");
    assert!(inside.stdout().contains("\"line\":3,\"col\":null,\"severity\":\"error\",\"code\":\"BAD\""), "{inside:?}");
    let outside = definition("../../../home/acme.json");
    assert!(!outside.stdout().contains("BAD\"") && outside.stderr().contains("is not below"), "{outside:?}");
}

/// The text of the block of the documentation that begins with `start`.
pub(crate) fn documented_block(start: &str) -> &'static str {
    const PAGES: [&str; 3] = [
        include_str!("../../docs/integrations/whitelist.md"),
        include_str!("../../docs/configuration.md"),
        include_str!("../../docs/concepts/recording.md"),
    ];
    let start = format!("\n{start}");
    let block = PAGES.iter().find_map(|page| page.find(&start).map(|at| &page[at + 1..])).expect("the block");
    block.split_once("```").expect("its end").0
}

#[test]
fn a_tool_is_added_as_documented() {
    let sandbox = Sandbox::repository();
    sandbox.tool("acme-lint", "echo 'src/a.x:3:7: error: wrong thing [no-wrong]'; echo '1 problem'; exit 1");
    sandbox.write("src/a.x", "x");
    let program = std::path::Path::new(crate::sandbox::VERIFY_RUN).parent().expect("a folder");
    let script = documented_block("acme-lint src >sample.txt");
    let path = format!("PATH={}:$PATH\n{script}", program.display());
    let outcome = sandbox.bare("sh").args(["-c", &path]).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(1), "{outcome:?}");
    let said = outcome.stdout();
    assert!(said.contains("wrote .verify-run/tools/acme-lint.toml: 1 problem found in the sample\n"), "{said}");
    assert!(said.contains("wrote whitelist.toml: `acme-lint` is a lint check now\n"), "{said}");
    assert!(said.contains("no problems: "), "{said}");
    let item = &sandbox.events()[0]["failure"]["items"][0];
    assert_eq!((&item["tool"], &item["code"]), (&"acme-lint".into(), &"no-wrong".into()));
    let again = sandbox.verify_run(["whitelist", "new", "acme-lint", "sample.txt"]).outcome();
    assert!(again.ended == CommandEnd::Exit(1) && again.stderr().contains("is there already"), "{again:?}");
    let bad = sandbox.verify_run(["whitelist", "new", "../x", "sample.txt"]).outcome();
    assert!(bad.ended == CommandEnd::Exit(2) && bad.stderr().contains("is no name for a tool"), "{bad:?}");
}

#[test]
fn the_documented_definition_reads_matchers_and_errorformats() {
    let sandbox = acme();
    sandbox.write(".verify-run/tools/acme.toml", documented_block("[[tool]]\nname = \"acme-lint\""));
    sandbox.write(
        ".github/acme-lint.json",
        r#"{"problemMatcher": [{"owner": "acme", "pattern": [{"regexp": "^== (.+) (\\d+)$", "file": 1, "line": 2}]}]}"#,
    );
    assert!(sandbox.verify_run(["whitelist", "check"]).prints().starts_with("no problems"));
    sandbox.write("out.txt", "== src/a.x 4\nsrc/a.x:3: is wrong\n  code\n  ^\n");
    let parsed = sandbox.verify_run(["parse", "--command", "acme-lint", "out.txt"]).prints_json();
    let found = parsed["diagnostics"].as_array().expect("diagnostics").iter();
    let found: Vec<_> = found.map(|item| (item["line"].clone(), item["col"].clone())).collect();
    assert_eq!(found, [(4.into(), serde_json::Value::Null), (3.into(), 3.into())]);
}
