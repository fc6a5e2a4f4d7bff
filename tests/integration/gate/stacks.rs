//! What each stack's own tools say, and what is built in where they are missing.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use verify_run::run::CommandEnd;

use super::item;
use super::items::{branch_of, function_of_complexity, some_items};
use crate::sandbox::{Sandbox, need};

/// A folder on the PATH with this program alone.
fn add_program(sandbox: &mut Sandbox, name: &str) -> Option<()> {
    let program = need(name)?;
    let folder = sandbox.tmp().join("programs");
    std::fs::create_dir_all(&folder).expect("a folder");
    symlink(program, folder.join(name)).expect("a link");
    sandbox.add_path(folder);
    Some(())
}

#[test]
fn a_test_command_that_ran_nothing_is_no_pass() {
    let mut empty_crate = branch_of(&[
        ("Cargo.toml", "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n"),
        (".gitignore", "target\nCargo.lock\n"),
        ("src/lib.rs", "pub fn one() -> u8 {\n    1\n}\n"),
    ]);
    empty_crate.add_path(Path::new(env!("CARGO")).parent().expect("a folder").to_owned());
    empty_crate.write("src/lib.rs", "pub fn two() -> u8 {\n    2\n}\n");
    let judged = some_items(&empty_crate, "F1");
    let tests = item(&judged, "F1");
    assert_eq!((&tests["status"], &tests["reason"]), (&"not_evaluated".into(), &"no test ran".into()), "{judged}");
    let Some(_) = need("go") else { return };
    let empty_module = branch_of(&[("go.mod", "module x\n\ngo 1.19\n"), ("a.go", "package x\n")]);
    empty_module.write("a.go", "package x\n\nfunc One() int { return 1 }\n");
    let judged = some_items(&empty_module, "F1");
    let tests = item(&judged, "F1");
    assert_eq!((&tests["status"], &tests["reason"]), (&"not_evaluated".into(), &"no test ran".into()), "{judged}");
}

/// Writes functions of complexity 10 and 9 into `source`: one fails, the other passes.
fn judges_ten_and_nine((marker, text): (&str, &str), source: &str, function: impl Fn(usize) -> String) {
    let sandbox = branch_of(&[(marker, text)]);
    for (complexity, status) in [(10, "fail"), (9, "pass")] {
        sandbox.write(source, function(complexity));
        let judged = some_items(&sandbox, "C2");
        let details = item(&judged, "C2")["details"].as_str().expect("details");
        assert!(details.starts_with(&format!("Max: {complexity} (")), "{source}: {details}");
        assert_eq!(item(&judged, "C2")["status"], status, "{judged}");
    }
}

#[test]
fn a_function_of_ten_fails_and_one_of_nine_passes_in_go_and_rust() {
    judges_ten_and_nine(("go.mod", "module x\n\ngo 1.19\n"), "a.go", |complexity| {
        let branches: String =
            (1..complexity).map(|n| format!("\tif value == {n} {{\n\t\treturn {n}\n\t}}\n")).collect();
        format!("package x\n\n// Pick chooses.\nfunc Pick(value int) int {{\n{branches}\treturn 0\n}}\n")
    });
    let manifest = "[package]\nname = \"x\"\nversion = \"0.1.0\"\n";
    judges_ten_and_nine(("Cargo.toml", manifest), "src/lib.rs", |complexity| {
        let branches: String =
            (1..complexity).map(|n| format!("    if value == {n} {{\n        return {n};\n    }}\n")).collect();
        format!("/// Chooses.\npub fn pick(value: u8) -> u8 {{\n{branches}    0\n}}\n")
    });
}

#[test]
fn without_tools_complexity_is_built_in_and_lint_is_not_evaluated() {
    let mut sandbox = branch_of(&[("pyproject.toml", "[project]\nname = \"x\"\nversion = \"1\"\n")]);
    sandbox.write("choose.py", function_of_complexity(7));
    let judged = some_items(&sandbox, "C1,C2");
    assert_eq!(item(&judged, "C2")["details"], "Max: 7 (choose, choose.py:1; builtin); radon is not installed");
    let lint = item(&judged, "C1");
    assert_eq!((&lint["status"], &lint["reason"]), (&"not_evaluated".into(), &"ruff is not installed".into()));
    let Some(()) = add_program(&mut sandbox, "radon") else { return };
    let judged = some_items(&sandbox, "C2");
    assert_eq!(item(&judged, "C2")["details"], "Max: 7 (choose, choose.py:1; radon)", "{judged}");
    sandbox.write("verify-run.toml", "[gate]\ncomplexity = \"both\"\n");
    let judged = some_items(&sandbox, "C2");
    assert_eq!(item(&judged, "C2")["details"], "Max: 7 (choose, choose.py:1; radon, builtin)", "{judged}");
}

#[test]
fn nothing_is_fetched_for_a_missing_tool() {
    let Some(strace) = need("strace") else { return };
    let sandbox = branch_of(&[("package.json", "{\"scripts\": {\"test\": \"true\"}}\n")]);
    sandbox.write("a.js", "export const a = 1;\n");
    let trace = sandbox.tmp().join("trace");
    let program = sandbox.verify_run(["gate", "run", "--no-prp", "--only", "C1,C2,C4"]).into_parts().0;
    let arguments = ["-f".as_ref(), "-e".as_ref(), "trace=connect".as_ref(), "-o".as_ref(), trace.as_os_str()];
    let outcome = sandbox.bare(strace).args(arguments).args(program).outcome();
    assert_eq!(outcome.ended, CommandEnd::Exit(5), "{outcome:?}");
    let traced = std::fs::read_to_string(&trace).expect("a trace");
    assert!(traced.contains("+++ exited with"), "nothing was traced: {traced}");
    let connects: Vec<&str> = traced.lines().filter(|line| line.contains("AF_INET")).collect();
    assert_eq!(connects, [""; 0]);
    assert!(!sandbox.home().join(".npm").exists(), "npm was asked");
}

#[test]
fn the_whole_tree_can_be_judged() {
    let sandbox = branch_of(&[
        ("pyproject.toml", "[project]\nname = \"x\"\nversion = \"1\"\n"),
        ("choose.py", &function_of_complexity(41)),
    ]);
    sandbox.write("other.py", "def one():\n    return 1\n");
    assert_eq!(item(&some_items(&sandbox, "C2"), "C2")["status"], "pass");
    sandbox.verify_run(["gate", "init"]).outcome();
    let checklist = sandbox.read(".verify-run/qa-checklist.yml").replace("scope: changed", "scope: all");
    sandbox.write(".verify-run/qa-checklist.yml", checklist);
    let judged = some_items(&sandbox, "C2");
    assert_eq!(item(&judged, "C2")["findings"][0]["message"], "choose has a complexity of 41", "{judged}");
}

#[test]
fn busted_counts_the_tests_of_lua() {
    let Some(_) = need("busted") else { return };
    let sandbox = branch_of(&[
        ("lua/m.lua", "return {add = function(a, b) return a + b end}\n"),
        (
            "spec/m_spec.lua",
            "package.path = 'lua/?.lua;' .. package.path\ndescribe('m', function()\n  it('adds', function()\n    \
             assert.are.equal(3, require('m').add(1, 2))\n  end)\n  it('adds zero', function()\n    \
             assert.are.equal(1, require('m').add(1, 0))\n  end)\nend)\n",
        ),
    ]);
    sandbox.write("lua/n.lua", "return {}\n");
    let judged = some_items(&sandbox, "F1,C4");
    assert_eq!(item(&judged, "F1")["details"], "2 passing", "{judged}");
    assert_eq!(item(&judged, "C4")["status"], "not_evaluated");
    sandbox.write("lua/m.lua", "return {add = function(a, b) return a - b end}\n");
    let judged = some_items(&sandbox, "F1");
    assert_eq!(item(&judged, "F1")["details"], "1 passing; 1 failing", "{judged}");
    assert_eq!(item(&judged, "F1")["findings"][0]["path"], "spec/m_spec.lua", "{judged}");
}

#[test]
fn installed_packages_are_no_duplicates_and_a_few_new_lines_are_not_judged() {
    let body: String = (0..60).map(|n| format!("  total += value * {n} + offset_{n};\n")).collect();
    let function = format!("export function sum(value) {{\n  let total = 0;\n{body}  return total;\n}}\n");
    let mut files = vec![("package.json".to_owned(), "{}\n".to_owned())];
    files.extend((0..200).map(|n| (format!("node_modules/p{n}/index.js"), function.clone())));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let sandbox = branch_of(&files);
    sandbox.write("sum.js", &function);
    let started = Instant::now();
    let judged = some_items(&sandbox, "C3");
    assert!(started.elapsed() < Duration::from_secs(20), "packages were read");
    assert_eq!(item(&judged, "C3")["details"], "0.0% (0 of 64 lines)", "{judged}");
    sandbox.write("sum.js", "export const a = 1;\n");
    let judged = some_items(&sandbox, "C3");
    assert_eq!(item(&judged, "C3")["reason"], "too few new lines to judge (1)", "{judged}");
}

#[test]
fn redocly_judges_a_document_whose_structure_is_in_order() {
    let document = |operation: &str| {
        format!(
            "openapi: 3.1.0\ninfo:\n  title: Rows\n  version: \"1\"\n  license:\n    name: MIT\n    identifier: MIT\n\
             servers:\n  - url: https://rows.test\nsecurity: []\npaths:\n  /rows:\n    get:\n      operationId: listRows\n      \
             summary: Lists rows\n{operation}"
        )
    };
    let answers = "      responses:\n        \"200\":\n          description: The rows\n        \"404\":\n          \
                   description: None\n";
    let mut sandbox = branch_of(&[("package.json", "{}\n"), ("openapi.yaml", &document(answers))]);
    sandbox.write("a.js", "export const a = 1;\n");
    let judged = some_items(&sandbox, "D3");
    assert_eq!(item(&judged, "D3")["status"], "pass", "{judged}");
    let (Some(()), Some(node)) = (add_program(&mut sandbox, "redocly"), need("node")) else { return };
    sandbox.add_path(node.parent().expect("a folder").to_owned());
    let judged = some_items(&sandbox, "D3");
    assert!(item(&judged, "D3")["details"].as_str().is_some_and(|it| it.contains("redocly: valid")), "{judged}");
    sandbox.write("openapi.yaml", document("      responses: {}\n      tags: 7\n"));
    let judged = some_items(&sandbox, "D3");
    assert_eq!(item(&judged, "D3")["status"], "fail", "{judged}");
    assert!(item(&judged, "D3")["details"].as_str().is_some_and(|it| it.contains("redocly: not valid")), "{judged}");
}
