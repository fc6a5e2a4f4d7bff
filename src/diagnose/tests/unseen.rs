//! Forms of outputs without a definition: what tools of one kind share.

use crate::diagnose::{Category, DefinitionSet, Diagnosis, DiagnosisInput, Severity, diagnose_output};
use crate::run::CommandEnd;
use crate::whitelist::CheckKind;

use super::{Files, diagnosed, diagnosed_in, places};

/// The diagnosis of a recognised check.
fn checked(command: &str, tool: &str, kind: CheckKind, ended: CommandEnd, output: &str) -> Diagnosis {
    diagnose_output(&DiagnosisInput {
        output: output.as_bytes(),
        command,
        tool: Some(tool),
        kind: Some(kind),
        ended,
        dir: "",
        root: "/home/dev/project",
        tree: &Files(&["src/a.zz"]),
        baseline: None,
        definitions: &DefinitionSet::shipped_only(),
    })
}

#[test]
fn a_label_before_a_file_is_no_part_of_its_name() {
    let said =
        diagnosed("frob", "[error] /srv/lib/A.c:14: error: no such type\nError: lib/b.ts:3:7 - error TS2339: no x\n");
    assert_eq!(places(&said.items), ["/srv/lib/A.c:14", "lib/b.ts:3"]);
    let said = diagnosed("frob", "error: the thing that was made is none at lib/a.zz:8:49, they say\n");
    assert_eq!(said.files, ["lib/a.zz"], "a sentence is no name");
}

#[test]
fn message_place_and_rule_between_bullets() {
    let said = diagnosed(
        "frob analyze",
        "  error • No name 'x' • lib/a.zz:12:5 • undefined_name\n  info • Old form at lib/b.zz:8:49 • old_form\n",
    );
    assert_eq!(places(&said.items), ["lib/a.zz:12"]);
    assert_eq!(said.items[0].code.as_deref(), Some("undefined_name"));
    assert_eq!(said.items[0].message, "No name 'x'");
    assert_eq!(places(&said.others), ["lib/b.zz:8"]);
}

#[test]
fn a_place_alone_below_the_first_line_of_a_paragraph_has_its_message_above() {
    let said = diagnosed(
        "frob",
        "[201] Blank at its end\ntop.zz:3\n    - nginx \n\n[207] A mode of a file\ntop.zz:7\n    - mode: 644\n",
    );
    assert_eq!(places(&said.items), ["top.zz:3", "top.zz:7"]);
    assert_eq!(said.items[0].message, "[201] Blank at its end");
}

#[test]
fn a_place_in_quotes_above_its_source_has_its_message_below() {
    let tree = Files(&["src/a.ml", "src/b.ml"]);
    let output = "File \"src/a.ml\", line 12, characters 55-68:\n12 |   assert_equal x y\n       ^^^^^^^^^^^^\nError: Unbound value x\n\
                  File \"src/b.ml\", line 3:\nError: Unbound module B\n";
    let said = diagnosed_in(&tree, "dune runtest", output);
    assert_eq!(places(&said.items), ["src/a.ml:12", "src/b.ml:3"]);
    assert_eq!(said.items[0].message, "Unbound value x");
    assert!(said.lines.contains(&"Error: Unbound value x".to_owned()), "{:?}", said.lines);
    let said = checked("dune runtest", "dune", CheckKind::Test, CommandEnd::Exit(1), output);
    assert_eq!(said.category, Some(Category::BuildError));
}

#[test]
fn a_version_before_a_word_for_failure_is_no_count() {
    let said = diagnosed("frob install", "lib/a.hs:45:31: Not in scope: x\nfrob-0.2.10 failed to build\n");
    assert_eq!(said.category, Some(Category::BuildError));
}

#[test]
fn what_a_line_with_only_a_place_leaves_out_stands_below() {
    let said = diagnosed("frob", "main.zz\n1: error at line 1, col 6\nUse of a big hammer\n#a { color: red }\n");
    assert_eq!(said.items[0].message, "Use of a big hammer");
    assert!(said.lines.contains(&"Use of a big hammer".to_owned()), "{:?}", said.lines);
}

#[test]
fn what_is_only_information_is_not_why_where_an_error_is() {
    let said =
        diagnosed("frob", "render.zz:159: [INFO] a value is set\n==> Looking at x\nERROR: object without a name\n");
    assert_eq!(places(&said.items), ["-:-"]);
    let said = diagnosed("frob", "engine.go:159: [INFO] a value is set\nError: 1 chart failed\n");
    assert!(said.files.is_empty(), "{:?}", said.files);
    assert_eq!(said.others[0].severity, Severity::Info);
}

#[test]
fn a_message_at_a_place_stays_beside_a_line_with_more_words_for_failure() {
    let tree = Files(&["shop/fast.zz"]);
    let said = diagnosed_in(
        &tree,
        "frobc shop/fast.zz",
        "Error compiling Frob file:\n-------\n    return self.y +\n-------\nshop/fast.zz:7:23: Expected a name\n",
    );
    assert!(said.lines.contains(&"shop/fast.zz:7:23: Expected a name".to_owned()), "{:?}", said.lines);
}

#[test]
fn the_few_files_that_an_output_speaks_of_are_taken_where_it_blames_none() {
    let tree = Files(&["src/shop.py", "src/ok.py"]);
    let output = "Reading src/ok.py\n3.1, 3.10     /home/dev/project/src/shop.py\n  match statement wants 3.10\n";
    assert_eq!(diagnosed_in(&tree, "frob src", output).files, ["src/shop.py"]);
    assert!(diagnosed_in(&tree, "frob src", "all is lost\nsee src/ok.py.\n").files.is_empty());
    let log = "step src/shop.py a\nstep src/ok.py b\n".repeat(4);
    assert!(diagnosed_in(&tree, "frob src", log).files.is_empty(), "a log speaks of many");
}

#[test]
fn a_chain_of_files_goes_on_below_its_first_line() {
    let tree = Files(&["src/a.js", "src/b.js", "src/c.js"]);
    let output = "  error no-circular: src/a.js → \n      src/b.js →\n      src/a.js\n\n1 problem\n";
    assert_eq!(diagnosed_in(&tree, "frob src", output).files, ["src/a.js", "src/b.js"]);
}

#[test]
fn what_passing_tests_print_is_noise_and_what_failing_ones_print_is_not() {
    let tree = Files(&["src/calc.c", "web/http.c", "tests/fake.py", "tests/test_a.py"]);
    let automake = "PASS: t1\nt2: expected 4, got 5 at src/calc.c:18\nFAIL: t2\n\
                    ERROR 404 as expected (web/http.c:77)\nPASS: t3\nmake: *** [check] Error 1\n";
    let said = diagnosed_in(&tree, "make check", automake);
    assert_eq!(said.files, ["src/calc.c"]);
    assert!(said.lines.iter().any(|line| line.contains("expected 4, got 5")), "{:?}", said.lines);
    assert!(!said.lines.iter().any(|line| line.contains("404")), "{:?}", said.lines);
    let verbose = "test_ok (t.T.test_ok) ... Traceback (most recent call last):\n  File \"/home/dev/project/tests/fake.py\", line 5, in f\n    \
                   open('x')\nOSError: no x\nok\ntest_b (t.T.test_b) ... FAIL\n\n======================\nFAIL: test_b (t.T.test_b)\n\
                   ----------------------\nTraceback (most recent call last):\n  File \"/home/dev/project/tests/test_a.py\", line 9, in test_b\n    \
                   self.assertEqual(1, 2)\nAssertionError: 1 != 2\n\n----------------------\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n";
    let said = diagnosed_in(&tree, "python -m unittest -v", verbose);
    assert_eq!(said.files, ["tests/test_a.py"]);
    assert!(!said.lines.iter().any(|line| line.contains("no x")), "{:?}", said.lines);
}

#[test]
fn commands_that_a_shell_traces_are_noise() {
    let tree = Files(&["src/error_util.c", "src/a.c"]);
    let output = "+ set -e\n+ IMAGE=shop/api:1.2.0-beta1\n+ cc -c src/error_util.c\n++ basename src/a.c\n+ cc -c src/a.c\n\
                  src/a.c:1:15: error: no such name\n";
    let said = diagnosed_in(&tree, "bash -x build.sh", output);
    assert_eq!(said.files, ["src/a.c"]);
    assert_eq!(said.lines, ["src/a.c:1:15: error: no such name"]);
}

#[test]
fn a_name_with_a_version_and_a_count_of_lines_are_no_places() {
    let said = diagnosed(
        "frob",
        "pulling docker.io/shop/api.x:1.2.0-beta1\n\"po/de.po\" 7097 lines, 12 errors\nFAILED for shop/api:3.4.1\n\
         \torg.tukaani:xz:1.9:test (113 KB)\n\tjavax.inject:javax.inject:1:compile (2 KB)\n",
    );
    assert!(said.items.iter().all(|item| item.line.is_none()), "{:?}", said.items);
}

#[test]
fn a_full_disk_is_a_reason_and_options_of_the_virtual_machine_are_none() {
    let full = "cp: error writing 'out/a.bin': No space left on device";
    let said = diagnosed("./frob.sh", format!("[ERROR] Picked up JAVA_TOOL_OPTIONS: -Dfile.encoding=UTF8\n{full}\n"));
    assert_eq!(said.lines, [full]);
    let said = diagnosed("./frob.sh", "bash: line 169: out/b.xml: No space left on device\n");
    assert_eq!(said.items[0].message, "out/b.xml: No space left on device");
}

#[test]
fn the_kind_of_a_check_speaks_where_only_the_form_of_a_line_does() {
    use CheckKind::{Build, Lint, Test};
    let of = |command, tool, kind, code, output| {
        checked(command, tool, kind, CommandEnd::Exit(code), output).category.expect("it failed")
    };
    // A stylesheet's compiler ends with an exception of what it compiles; a linter's message begins with a word.
    let thrown = "NameError: variable @x is undefined in /home/dev/project/src/a.zz on line 2, column 13:\n";
    assert_eq!(of("frobc a.zz", "frobc", Build, 1, thrown), Category::BuildError);
    assert_eq!(of("frob lint", "frob", Lint, 1, "Error: 1 chart(s) linted, 1 chart(s) failed\n"), Category::LintError);
    // An assertion in the form of a compiler's error.
    let assertion = "src/a.zz:44: error: -[T test_a] : XCTAssertEqual failed: (1) is not equal to (2)\n";
    assert_eq!(of("frob test", "frob", Test, 1, assertion), Category::TestFailure);
    // No such command, or a script that can't be read.
    assert_eq!(
        of("frob -n a", "frob", Lint, 127, "src/a.zz (line 4): 'end' outside of a block\n"),
        Category::LintError
    );
    assert_eq!(of("frob -n a", "frob", Lint, 127, "frob\n"), Category::MissingDependency);
    // A runner of many kinds of checks.
    let style = "/home/dev/project/src/A.kt:9:1: Wildcard import\n\nFAILURE: Build failed with an exception.\n";
    assert_eq!(of("gradle ktlint", "gradle", Lint, 1, style), Category::LintError);
    assert_eq!(of("buf build", "buf", Build, 1, "a/b.proto:5:3:cannot find `X` in this scope\n"), Category::BuildError);
    // Warnings with rules, in the form of a compiler's.
    let rules =
        "R/tax.R:1:5: warning: [assignment_linter] Use <-.\nR/tax.R:2:5: style: [spaces_linter] Place a space.\n";
    assert_eq!(of("Rscript -e x", "Rscript", Test, 1, rules), Category::LintError);
}

#[test]
fn the_last_part_of_a_programs_name_says_what_it_is_for() {
    let of = |command: &str| diagnosed(command, "src/a.zz is wrong: expected 3, got 4\n").category;
    for command in
        ["spec-validator api.zz", "slotscheck -m x", "npmPkgJsonLint .", "docformatter --check src", "frob --check"]
    {
        assert_eq!(of(command), Some(Category::LintError), "{command}");
    }
    // One that crashed did not do its job.
    let own = "Traceback (most recent call last):\n  File \"/opt/x/site-packages/frob/cli.py\", line 9, in run\n    go()\nfrob.Invalid: `v` must be text\n";
    assert_eq!(diagnosed("validate-frob a.zz", own).category, Some(Category::ConfigError));
    assert_eq!(of("frob test"), Some(Category::TestFailure));
    assert_eq!(of("frob type-check"), Some(Category::TypeError));
}

#[test]
fn a_wrong_command_line_is_one_whatever_the_tool() {
    for output in [
        "error: the following required arguments were not provided:\n  <PATTERN>\n\nUsage: frob <PATTERN>\n",
        "error: invalid value 'x' for '--jobs <N>': invalid digit\n",
        "error: unrecognized subcommand 'chek'\n",
    ] {
        let said = checked("frob chek", "frob", CheckKind::Lint, CommandEnd::Exit(2), output);
        assert_eq!((said.items[0].tool.as_str(), said.category), ("frob", Some(Category::ConfigError)), "{output}");
    }
}

#[test]
fn words_of_a_parser_of_command_lines_are_the_called_tools() {
    let said = checked(
        "ruff check --frob",
        "ruff",
        CheckKind::Lint,
        CommandEnd::Exit(2),
        "error: unexpected argument '--frob' found\n",
    );
    assert_eq!((said.items[0].tool.as_str(), said.category), ("ruff", Some(Category::ConfigError)));
    let said = checked(
        "cargo build --frob",
        "cargo-build",
        CheckKind::Build,
        CommandEnd::Exit(1),
        "error: unexpected argument '--frob' found\n",
    );
    assert_eq!((said.items[0].tool.as_str(), said.category), ("rustc", Some(Category::ConfigError)));
}

#[test]
fn places_behind_an_at_sign_a_system_s_mark_and_a_word_for_where_it_is_from() {
    let said = diagnosed("frob lint", "src/a.zz@3:4 NoBare: do not use bare words\n");
    assert_eq!(places(&said.items), ["src/a.zz:3"]);
    let marked = "2024-05-01T10:00:00.1234567Z ##[error]src/a.zz(5,13): Error ZZ1002: ; expected\n";
    let said = diagnosed("frob build", marked);
    assert_eq!(places(&said.items), ["src/a.zz:5"]);
    let said =
        diagnosed("frob play", "[ERROR]: unexpected parameter\nOrigin: /srv/site/play.yml:3:5\n\n1 - hosts: all\n");
    assert_eq!(places(&said.items), ["/srv/site/play.yml:3"]);
}

#[test]
fn a_name_has_blanks_where_only_so_it_is_a_file() {
    let tree = Files(&["docs/a guide.zz", "src/b.zz"]);
    let said = diagnosed_in(&tree, "frob", "docs/a guide.zz:3: teh ==> the\nsrc/b.zz:4: adn ==> and\n");
    assert_eq!(places(&said.items), ["docs/a guide.zz:3", "src/b.zz:4"]);
    let said = diagnosed_in(&tree, "frob", "docs/a guide.zz:\n  1:3  error  bad form\n");
    assert_eq!(places(&said.items), ["docs/a guide.zz:1"]);
    let said = diagnosed_in(&tree, "frob", "Error: boom\n    at adds (/home/dev/project/docs/a guide.zz:7:3)\n");
    assert_eq!(said.files, ["docs/a guide.zz"]);
    let said = diagnosed_in(&Files(&["src/b.zz"]), "frob", "error: see the form at src/b.zz:8:2\n");
    assert_eq!(said.files, ["src/b.zz"], "a sentence is no name");
}

#[test]
fn heads_of_blocks_name_files_beside_the_located_ones() {
    let tree = Files(&["src/a.zz", "test/b.zz"]);
    let said =
        diagnosed_in(&tree, "frob", "FAILED: test/b.zz hangs\n  too slow\n\nsrc/a.zz(3,1): error Q1: bad thing\n");
    assert_eq!(said.files, ["src/a.zz", "test/b.zz"]);
}

#[test]
fn what_was_thrown_goes_on_to_its_stack() {
    let tree = Files(&["tools/rules.js", "src/a.js"]);
    let output = "TypeError: it is null\nOccurred while looking at src/a.js\nRule: \"x/no-big\"\n    at f (file:///home/dev/project/tools/rules.js:1:7)\n\ndone\n";
    let said = diagnosed_in(&tree, "node x.js", output);
    assert_eq!(places(&said.items), ["tools/rules.js:1"]);
    assert!(said.lines.iter().any(|line| line.starts_with("Rule:")), "{:?}", said.lines);
    let said = diagnosed_in(
        &tree,
        "node x.js",
        "TypeError: it is null\nunrelated\nRangeError: other\n    at f (src/a.js:1:7)\n",
    );
    assert_eq!(said.items.len(), 2, "each has its own stack");
}

#[test]
fn a_place_alone_above_its_source_has_the_error_below_it() {
    let output = "In src/a.zz:4:11\n\n 4 | puts totl\n          ^---\nError: no such name 'totl'\n";
    let said = diagnosed_in(&Files(&["src/a.zz"]), "frob", output);
    assert_eq!(said.files, ["src/a.zz"]);
    assert_eq!(places(&said.items)[0], "src/a.zz:4");
}

#[test]
fn a_frame_of_the_project_goes_before_one_of_a_library_without_its_folder() {
    let output = "==7== Invalid read of size 1\n==7==    by 0x48: puts (ioputs.c:35)\n==7==    by 0x10: main (main.c:3)\n==7== \n==7== ERROR SUMMARY: 1 errors\n";
    let said = diagnosed_in(&Files(&["src/main.c"]), "valgrind ./a", output);
    assert_eq!(said.files, ["src/main.c"]);
}

#[test]
fn counts_of_failed_tests_and_lists_of_findings_decide() {
    let of = |output: &str| diagnosed("./t", output).category;
    assert_eq!(
        of("a.zz:5: ERROR: 3 == 4 is wrong\ntest cases: 4 | 1 passed | 3 failed\n"),
        Some(Category::TestFailure)
    );
    assert_eq!(of("ouch\nRun:  3   Failures: 1   Errors: 1\n"), Some(Category::TestFailure));
    assert_eq!(of("E: shop: no-copyright-file\nW: shop: old-form\n"), Some(Category::LintError));
    assert_eq!(of("Unused files (1)\nleft-over\n"), Some(Category::LintError));
    assert_eq!(
        diagnosed("haproxy -c -f a.cfg", "[ALERT] parsing [a.cfg:3] : unknown word 'chek'\n").category,
        Some(Category::ConfigError)
    );
}

#[test]
fn what_a_tool_does_is_not_kept() {
    let said = diagnosed("frob", "Scanning 3 files...\nERROR: bad thing\n  why it is bad\nFinished in 0.21 seconds\n");
    assert_eq!(said.lines, ["ERROR: bad thing", "  why it is bad"]);
}

#[test]
fn what_is_there_again_and_again_does_not_displace_the_rest() {
    let many: String =
        (1..2_000).map(|n| format!("src/a.c:{n}:5: error: no such character in this encoding\n")).collect();
    let said = diagnosed("frob", format!("{many}src/b.c:7:5: error: no such member\n"));
    assert!(said.lines.iter().any(|line| line.contains("no such member")), "{} lines", said.lines.len());
    assert!(said.lines.iter().any(|line| line.starts_with("src/a.c:1:5")), "the first ones stay");
}

#[test]
fn a_place_behind_a_corner_and_a_word_is_one() {
    let output = "ERROR AB12: no name 'y'.\n   :\n 2 │ return y;\n   │        ~\n   └─ in src/a.zz(2,8)\n";
    assert_eq!(diagnosed("frob", output).files, ["src/a.zz"]);
}

#[test]
fn what_a_thrown_error_had_said_of_a_file_is_why() {
    let tree = Files(&["setup.py", "sum.pyx"]);
    let output = "sum.pyx:10:20: Call with wrong number of arguments\nTraceback (most recent call last):\n  \
                  File \"/home/dev/project/setup.py\", line 4, in <module>\n    build(\"sum\")\nlib.CompileError: sum.pyx\n";
    let said = diagnosed_in(&tree, "python setup.py build_ext", output);
    assert!(said.files.contains(&"sum.pyx".to_owned()), "{:?}", said.files);
    assert!(said.lines.iter().any(|line| line.contains("wrong number of arguments")), "{:?}", said.lines);
}

#[test]
fn a_program_that_is_asked_for_its_configuration_finds_that_wrong() {
    let output = "Checking 'routes.yml'  FAILED: undefined receiver \"pager\" used in route\n\nfrob: error: failed to validate 1 file(s)\n";
    let said = diagnosed("frob check-config routes.yml", output);
    assert_eq!(said.category, Some(Category::ConfigError));
    assert!(said.lines.iter().any(|line| line.contains("undefined receiver")), "{:?}", said.lines);
}

#[test]
fn a_message_without_a_place_is_judged_by_its_words() {
    assert_eq!(diagnosed("frob", "Error: unknown option --fast\n").category, Some(Category::ConfigError));
    assert_eq!(diagnosed("frob", "Error: the port is taken\n").category, Some(Category::RuntimeError));
}

#[test]
fn warnings_give_way_to_an_error_that_no_definition_knows() {
    let tree = Files(&["schema/chat.zz"]);
    let output =
        "lib/disk.c++:1703: warning: the folder is another one\nschema/chat.zz:7:12-20: error: Not defined: Markdown\n";
    assert_eq!(diagnosed_in(&tree, "frob compile schema/chat.zz", output).files, ["schema/chat.zz"]);
}

#[test]
fn what_cargo_cannot_resolve_is_kept_to_its_end() {
    let output = "error: failed to select a version for `helper`.\n    ... required by package `agent v1.0.0`\n\npackage `agent` depends on \
                  `helper` with feature `tls` but `helper` does not have that feature.\n";
    let said = diagnosed("cargo build", output);
    assert!(said.lines.iter().any(|line| line.contains("does not have that feature")), "{:?}", said.lines);
}
