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

/// F1 blocks, and says that nothing was tested, although the command may have ended with 0.
fn ran_no_test(sandbox: &Sandbox, why: &str) {
    let outcome = sandbox.verify_run(["gate", "run", "--no-prp", "--only", "F1"]).outcome();
    let said = format!("❌ F1 All tests pass (not evaluated: no test ran{why}");
    assert!(outcome.stdout().starts_with(&said), "{said}\n{outcome:?}");
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
    ran_no_test(&empty_crate, ": 0 passing)");
    let Some(_) = need("go") else { return };
    let empty_module = branch_of(&[("go.mod", "module x\n\ngo 1.19\n"), ("a.go", "package x\n")]);
    empty_module.write("a.go", "package x\n\nfunc One() int { return 1 }\n");
    ran_no_test(&empty_module, ": 0 passing)");
}

#[test]
fn skipped_tests_and_the_script_of_a_new_package_are_no_pass() {
    let (Some(pytest), Some(npm), Some(_)) = (need("pytest"), need("npm"), need("node")) else { return };
    let skipped = "import pytest\n\n\n@pytest.mark.skip\ndef test_one():\n    assert True\n";
    let mut python = branch_of(&[
        ("pyproject.toml", "[project]\nname = \"x\"\nversion = \"1\"\n"),
        (".gitignore", "__pycache__\n.pytest_cache\n"),
        ("test_one.py", skipped),
    ]);
    python.add_path(pytest.parent().expect("a folder").to_owned());
    python.write("one.py", "def one():\n    return 1\n");
    ran_no_test(&python, ": 0 passing)");
    let script = "echo \\\"Error: no test specified\\\" && exit 1";
    let manifest = format!("{{\"name\": \"x\", \"version\": \"1.0.0\", \"scripts\": {{\"test\": \"{script}\"}}}}\n");
    let mut node = branch_of(&[("package.json", &manifest)]);
    node.add_path(npm.parent().expect("a folder").to_owned());
    node.write("a.js", "export const a = 1;\n");
    ran_no_test(&node, ": package.json has no test script: 1 failing)");
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
fn a_function_of_ten_fails_and_one_of_nine_passes_by_eslint_and_luacheck() {
    let (Some(eslint), Some(_), Some(_)) = (need("eslint"), need("node"), need("luacheck")) else { return };
    let mut javascript = branch_of(&[
        ("package.json", "{\"name\": \"n\", \"type\": \"module\"}\n"),
        ("eslint.config.js", "export default [{rules: {}}];\n"),
    ]);
    javascript.add_path(eslint.parent().expect("a folder").to_owned());
    let lua = branch_of(&[(".luacheckrc", "std = \"lua51\"\n")]);
    for (complexity, status) in [(10, "fail"), (9, "pass")] {
        let branches: String = (1..complexity).map(|n| format!("  if (value === {n}) return {n};\n")).collect();
        javascript.write("pick.js", format!("export function pick(value) {{\n{branches}  return 0;\n}}\n"));
        let branches: String = (1..complexity).map(|n| format!("   if value == {n} then return {n} end\n")).collect();
        lua.write(
            "lua/m.lua",
            format!("local M = {{}}\nfunction M.pick(value)\n{branches}   return 0\nend\nreturn M\n"),
        );
        for (sandbox, place) in [(&javascript, "pick, pick.js:1; eslint"), (&lua, "M.pick, lua/m.lua:2; luacheck")] {
            let judged = some_items(sandbox, "C2");
            assert_eq!(item(&judged, "C2")["details"], format!("Max: {complexity} ({place})"), "{judged}");
            assert_eq!(item(&judged, "C2")["status"], status, "{judged}");
        }
    }
}

#[test]
fn the_exit_code_of_luacheck_decides_whether_lua_is_clean() {
    let Some(_) = need("luacheck") else { return };
    let sandbox = branch_of(&[(".luacheckrc", "std = \"lua51\"\n")]);
    let clean = "local M = {}\nfunction M.one() return 1 end\nreturn M\n";
    let cases = [
        (clean.to_owned(), "pass", "0 errors"),
        // Exit code 1: a warning.
        (clean.replace("return 1 end", "local left = 1; return 1 end"), "fail", "1 error"),
        // Exit code 2: the file cannot be parsed.
        (clean.replace("return 1 end", "return ( end"), "fail", "1 error"),
    ];
    for (text, status, details) in cases {
        sandbox.write("lua/m.lua", &text);
        let judged = some_items(&sandbox, "C1");
        let lint = item(&judged, "C1");
        assert_eq!((&lint["status"], &lint["details"]), (&status.into(), &details.into()), "{text}: {judged}");
    }
    // Exit code 3: it did not do its job.
    sandbox.write(".luacheckrc", "std = {\n");
    let judged = some_items(&sandbox, "C1");
    assert_eq!(item(&judged, "C1")["status"], "not_evaluated", "{judged}");
}

/// A project with code of each stack that has no tool, and a function of complexity 7 without a comment.
const SIX_STACKS: [(&str, &str, &str, &str); 6] = [
    ("package.json", "{}\n", "a.js", "export function pick(value) {\n@\n  return 0;\n}\n"),
    ("pyproject.toml", "[project]\nname = \"x\"\nversion = \"1\"\n", "a.py", "def pick(value):\n@\n    return 0\n"),
    ("go.mod", "module x\n\ngo 1.19\n", "a.go", "package x\n\nfunc Pick(value int) int {\n@\n\treturn 0\n}\n"),
    (".luacheckrc", "std = \"lua51\"\n", "lua/a.lua", "local function pick(value)\n@\n   return 0\nend\nreturn pick\n"),
    ("Cargo.toml", "[package]\nname = \"x\"\n", "src/lib.rs", "pub fn pick(value: u8) -> u8 {\n@\n    0\n}\n"),
    ("pom.xml", "<project/>\n", "src/A.java", "class A {\n  int pick(int value) {\n@\n    return 0;\n  }\n}\n"),
];

/// One branch in the syntax of a file.
fn branch(path: &str, number: usize) -> String {
    match path.rsplit('.').next().expect("an ending") {
        "py" => format!("    if value == {number}:\n        return {number}"),
        "lua" => format!("   if value == {number} then\n      return {number}\n   end"),
        "js" | "java" => format!("    if (value == {number}) {{\n      return {number};\n    }}"),
        "rs" => format!("    if value == {number} {{\n        return {number};\n    }}"),
        _ => format!("\tif value == {number} {{\n\t\treturn {number}\n\t}}"),
    }
}

#[test]
fn complexity_copies_and_comments_of_six_stacks_need_no_tool() {
    let bare = Sandbox::new();
    let programs = bare.tmp().join("only");
    std::fs::create_dir(&programs).expect("a folder");
    for name in ["git", "sh"] {
        symlink(need(name).expect("a system program"), programs.join(name)).expect("a link");
    }
    for (marker, manifest, path, code) in SIX_STACKS {
        let branches: Vec<String> = (1..7).map(|number| branch(path, number)).collect();
        let text = code.replace('@', &branches.join("\n"));
        let sandbox = branch_of(&[(marker, manifest)]);
        sandbox.write(path, &text);
        let copy = path.replace("a.", "b.").replace("lib.", "main.").replace("A.", "B.");
        sandbox.write(&copy, &text);
        let run = ["gate", "run", "--no-prp", "--json", "--only", "C2,C3,D4"];
        let outcome = sandbox.verify_run(run).env("PATH", &programs).outcome();
        let judged: serde_json::Value =
            serde_json::from_str(outcome.stdout()).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
        let complexity = item(&judged, "C2")["details"].as_str().expect("details");
        assert!(complexity.starts_with("Max: 7 (") && complexity.contains("builtin"), "{path}: {judged}");
        let copied = &item(&judged, "C3")["findings"][0];
        let message = copied["message"].as_str().unwrap_or_else(|| panic!("{path}: {judged}"));
        let places = [copied["path"].as_str().expect("a path"), message];
        assert!(places.iter().any(|it| it.contains(path)) && places.iter().any(|it| it.contains(&copy)), "{judged}");
        let comments = item(&judged, "D4");
        assert_eq!(
            (&comments["status"], &comments["details"]),
            (&"fail".into(), &"0 of 2 functions".into()),
            "{judged}"
        );
    }
}

#[test]
fn copies_are_found_whatever_is_kept_of_the_tree() {
    let function = |number: usize| -> String {
        let lines: String =
            (0..12).map(|n| format!("    total_{n} = rate_{number} * {n} + offset_{n}(value)\n")).collect();
        format!("def total_{number}(value):\n{lines}    return value\n")
    };
    let mut files = vec![("pyproject.toml".to_owned(), "[project]\nname = \"x\"\nversion = \"1\"\n".to_owned())];
    files.extend((0..40).map(|number| (format!("part{number}.py"), function(number))));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let sandbox = branch_of(&files);
    sandbox.write("new.py", format!("{}{}", function(100), function(7)));
    let judged = some_items(&sandbox, "C3");
    let message = item(&judged, "C3")["findings"][0]["message"].as_str().unwrap_or_else(|| panic!("{judged}"));
    assert!(message.contains("are also part7.py:1-14"), "{judged}");
    let kept = sandbox.state().join("gate/cache/rows");
    let bytes = std::fs::read(&kept).expect("hashes are kept");
    assert_eq!(some_items(&sandbox, "C3"), judged, "with what is kept");
    let damaged = [&bytes[..bytes.len() / 2], b"", b"vrunrows\x01\0\0\0 and something else"];
    for damaged in damaged.iter().map(|bytes| bytes.to_vec()).chain([bytes.iter().map(|byte| byte ^ 0x55).collect()]) {
        std::fs::write(&kept, &damaged).expect("written");
        assert_eq!(some_items(&sandbox, "C3"), judged, "with {} damaged bytes", damaged.len());
        assert_eq!(std::fs::read(&kept).expect("kept").len(), bytes.len(), "it is written again");
    }
    std::fs::remove_file(&kept).expect("removed");
    std::os::unix::fs::symlink(sandbox.tmp().join("elsewhere"), &kept).expect("a link");
    assert_eq!(some_items(&sandbox, "C3"), judged, "behind a link nothing is read or written");
    assert!(!sandbox.tmp().join("elsewhere").exists());
}

#[test]
fn copied_lines_among_new_ones_are_a_share_and_ten_lines_are_none() {
    let mut files = vec![("package.json", "{}\n"), ("tsconfig.json", "{}\n")];
    let body = |from: usize, count: usize| -> String {
        (from..from + count).map(|n| format!("  total += rate_{n} * {n} - offset_{n};\n")).collect()
    };
    let function = |name: &str, lines: String| {
        format!("export function {name}(total: number): number {{\n{lines}  return total;\n}}\n")
    };
    let known = function("known", body(0, 60));
    files.push(("known.ts", &known));
    let sandbox = branch_of(&files);
    let new: String = (0..10).map(|n| function(&format!("new{n}"), body(1_000 + 100 * n, 31))).collect();
    sandbox.write("new.ts", format!("{new}{}", function("copied", body(0, 60))));
    let judged = some_items(&sandbox, "C3");
    let duplication = item(&judged, "C3");
    // 60 copied lines, and those around them but for the name, of 403.
    assert_eq!(duplication["details"], "15.6% (63 of 403 lines)", "{judged}");
    assert_eq!((&duplication["status"], &duplication["blocking"]), (&"fail".into(), &false.into()));
    let finding = &duplication["findings"][0];
    let message = finding["message"].as_str().expect("a message");
    assert!(finding["path"] == "new.ts" && message.contains("are also known.ts:1-63"), "{judged}");
    let outcome = sandbox.verify_run(["gate", "run", "--no-prp", "--only", "C3"]).outcome();
    assert!(outcome.stdout().starts_with("⚠️  C3 "), "{outcome:?}");
    sandbox.write("new.ts", function("few", body(0, 7)));
    let judged = some_items(&sandbox, "C3");
    let expected = (&"not_applicable".into(), &"too few new lines to judge (10)".into());
    assert_eq!((&item(&judged, "C3")["status"], &item(&judged, "C3")["reason"]), expected, "{judged}");
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
