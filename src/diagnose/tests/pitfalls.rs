//! What went wrong in other parsers of tool output, a test each. The outputs are written after the tools' real formats.

use std::path::PathBuf;

use crate::base::limits::ITEMS_MAX;
use crate::config::CategoryTable;
use crate::diagnose::{Category, DefinitionFile, DefinitionSet, DiagnosisInput, Severity, diagnose_output};
use crate::run::CommandEnd;

use super::{Files, diagnosed, diagnosed_in, places};

#[test]
fn windows_paths() {
    let said = diagnosed(
        "msbuild",
        "  1>C:\\proj\\src\\a.c(12,3): error C2065: 'x': undeclared identifier [C:\\proj\\a.vcxproj]\n\
         1>x.cpp(29): error C2143: syntax error: missing ';' before '}'\n\
         C:\\proj\\src\\b.c:14:3: error: expected ';' after expression\n",
    );
    assert_eq!(places(&said.items), ["C:/proj/src/a.c:12", "x.cpp:29", "C:/proj/src/b.c:14"]);
    assert_eq!(said.items[0].col, Some(3));
}

#[test]
fn spaces_and_odd_characters_in_paths() {
    let said = diagnosed(
        "make",
        "keyboard handler.c(537): error C2143: syntax error\n\
         src/über/größe.c:3:1: error: expected ';'\n\
         app/(shop)/[id]/page.tsx(4,7): error TS2304: Cannot find name 'x'.\n\
         fo:oo.cpp:32:14: error: 'a' was not declared in this scope\n\
         /home/dev/project/my file.go:7:2: undefined: y\n",
    );
    assert_eq!(
        places(&said.items),
        ["keyboard handler.c:537", "src/über/größe.c:3", "app/(shop)/[id]/page.tsx:4", "fo:oo.cpp:32", "my file.go:7"]
    );
}

#[test]
fn urls_and_addresses_are_no_files() {
    let output = "listening on http://localhost:3000/app.js:12\n\
                  GET https://cdn.example.com:8443/lib/a.js:443 200\n\
                  proxy 10.0.0.7:8080 -> db.internal:5432\n\
                  Error: connect ECONNREFUSED 127.0.0.1:5432\n\
                  \x20   at file:///home/dev/project/src/db.mjs:14:9\n";
    let said = diagnosed("node check.mjs", output);
    assert_eq!(said.files, ["src/db.mjs"]);
    assert!(said.items.iter().all(|item| item.file.as_deref().is_none_or(|file| file == "src/db.mjs")), "{said:?}");
    assert_eq!(said.items.iter().find_map(|item| item.line), Some(14));
}

#[test]
fn times_are_no_places() {
    let output = "12:34:56 starting\n\
                  [09:15:37] compiling\n\
                  2026-03-04T12:30:00.123Z src/a.c:3:5: error: expected ';'\n\
                  2026-03-04T12:30:01.001Z done at 12:30:01: 1 error\n";
    assert_eq!(places(&diagnosed("make", output).items), ["src/a.c:3"]);
    // What is kept is what was printed.
    let output = "2026-03-04T12:30:00.123Z cc -c a.c\n2026-03-04T12:30:00.124Z src/a.c:3:5: error: expected ';'\n\
                  2026-03-04T12:30:01.001Z make: *** [Makefile:2: a.o] Error 1\n";
    let said = diagnosed("make", output);
    assert!(said.lines.contains(&"2026-03-04T12:30:00.124Z src/a.c:3:5: error: expected ';'".to_owned()), "{said:?}");
    assert_eq!(said.items[0].message, "expected ';'");
    // The log of a CI: job, step and time before every line, parted by tabs.
    let job = "build\tRun make\t2026-03-04T12:30:00.1234567Z ";
    let output =
        format!("{job}cc -c a.c\n{job}src/a.c:3:5: error: expected ';'\n{job}make: *** [Makefile:2: a.o] Error 1\n");
    assert_eq!(diagnosed("make", output).files, ["src/a.c"]);
}

#[test]
fn frames_of_dependencies_are_not_where_it_is() {
    let node = "TypeError: Cannot read properties of undefined (reading 'id')\n\
                \x20   at get (/home/dev/project/node_modules/lodash/get.js:10:5)\n\
                \x20   at order (/home/dev/project/src/order.js:21:14)\n\
                \x20   at node:internal/main/run_main_module:28:49\n";
    let said = diagnosed("node src/order.js", node);
    assert_eq!(said.files, ["src/order.js"]);
    assert_eq!(places(&said.items), ["src/order.js:21"]);
    let python = "Traceback (most recent call last):\n\
                  \x20 File \"/home/dev/project/app/main.py\", line 8, in <module>\n    load()\n\
                  \x20 File \"/usr/lib/python3.12/json/__init__.py\", line 346, in loads\n    return _default_decoder.decode(s)\n\
                  json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n";
    let said = diagnosed("python app/main.py", python);
    assert_eq!(said.files, ["app/main.py"]);
    assert_eq!(places(&said.items), ["app/main.py:8"]);
    let java = "java.lang.IllegalStateException: closed\n\
                \tat java.base/java.util.Objects.requireNonNull(Objects.java:233)\n\
                \tat org.junit.jupiter.api.AssertionUtils.fail(AssertionUtils.java:38)\n\
                \tat com.example.shop.Cart.total(Cart.java:41)\n";
    let said = diagnosed("mvn test", java);
    assert!(!said.files.iter().any(|file| file.contains("Objects") || file.contains("AssertionUtils")), "{said:?}");
}

#[test]
fn what_passing_tests_print_is_no_failure() {
    let verbose = "=== RUN   TestGood\n    good_test.go:9: error: only logged\n--- PASS: TestGood (0.00s)\n\
                   === RUN   TestBad\n    bad_test.go:12: got 1, want 2\n--- FAIL: TestBad (0.00s)\n\
                   FAIL\nFAIL\texample.com/shop\t0.003s\nFAIL\n";
    let said = diagnosed("go test -v ./...", verbose);
    assert_eq!(places(&said.items), ["bad_test.go:12"]);
    let jest = "PASS src/good.test.js\n  ● Console\n\n    console.error\n      Error: expected in this test\n          at src/good.js:3:1\n\n\
                FAIL src/bad.test.js\n  ● adds\n\n    expect(received).toBe(expected) // Object.is equality\n\n    Expected: 3\n    Received: 4\n\n\
                \x20     at Object.toBe (src/bad.test.js:5:21)\n\nTests:       1 failed, 1 passed, 2 total\n";
    let said = diagnosed("npx jest", jest);
    assert_eq!(said.files, ["src/bad.test.js"]);
    assert_eq!(said.items.iter().filter_map(|item| item.test.as_deref()).collect::<Vec<_>>(), ["adds"]);
}

#[test]
fn notes_belong_to_their_error() {
    let gcc = "In file included from src/main.c:1:\n\
               src/list.h: In function 'push':\n\
               src/list.h:7:3: error: too few arguments to function 'grow'\n    7 |   grow();\n      |   ^~~~\n\
               src/list.h:2:5: note: declared here\n    2 | int grow(int n);\n      |     ^~~~\n";
    let said = diagnosed("make", format!("{}{gcc}", "cc -c other.c -o other.o\n".repeat(200)));
    assert_eq!(places(&said.items), ["src/list.h:7"]);
    assert!(said.lines.iter().any(|line| line.contains("declared here")), "the note is kept: {:?}", said.lines);
    let template = "src/v.cpp: In instantiation of 'T id(T) [with T = int]':\nsrc/main.cpp:9:12:   required from here\n\
                    src/v.cpp:4:10: error: invalid operands to binary expression\n\
                    src/v.cpp:1:5: note: previous declaration at src/v.cpp:1:5\n";
    assert_eq!(places(&diagnosed("make", template).items), ["src/v.cpp:4"]);
}

#[test]
fn what_is_wrong_in_a_library_s_header_is_wrong_where_it_is_used() {
    let error = "/usr/include/v:7:3: error: no matching function\n    7 | f();\n      | ^~~\n";
    let tree = Files(&["src/pool.cpp", "include/pool.hpp"]);
    let said = |above: &str| diagnosed_in(&tree, "make", format!("{above}{error}"));
    let gcc = "In file included from /usr/include/w:1,\n                 from include/pool.hpp:4,\n                 from src/pool.cpp:1:\n";
    assert_eq!(places(&said(gcc).items), ["include/pool.hpp:4"]);
    let clang = "In file included from src/pool.cpp:1:\nIn file included from include/pool.hpp:4:\nIn file included from /usr/include/w:1:\n";
    assert_eq!(places(&said(clang).items), ["include/pool.hpp:4"]);
    let used = "/usr/include/v: In instantiation of 'T id(T)':\nsrc/pool.cpp:12:44:   required from here\n";
    let used = said(&format!("{gcc}{used}"));
    assert_eq!(places(&used.items), ["src/pool.cpp:12"]);
    assert!(used.lines.contains(&"src/pool.cpp:12:44:   required from here".to_owned()), "{:?}", used.lines);
}

#[test]
fn words_inside_names_and_counts_of_nothing_are_no_failure() {
    let output = "cc -c errorItem.c -o errorItem.o\n[ 12%] Building CXX object ErrorHandling.cpp.o\n\
                  ok 3 - reports a fatal error when failed\n  ✓ fails with an exception (3 ms)\n0 errors, 0 failed\n\
                  warning: non-fatal error ignored\nsrc/real.c:9:1: error: expected ';'\n";
    let said = diagnosed("make", output);
    assert_eq!(places(said.items.iter().filter(|item| item.severity == Severity::Error)), ["src/real.c:9"]);
    assert_eq!(said.files, ["src/real.c"]);
}

#[test]
fn words_of_other_languages() {
    let output = "src/a.c:3:5: erreur: « x » non déclaré\nsrc/b.c:4:1: Fehler: »y« nicht deklariert\n\
                  src/c.c:5:2: ошибка: «z» не описан\nsrc/d.c:6:2: 错误：expected ‘;’\n";
    let said = diagnosed("make", output);
    assert_eq!(places(&said.items), ["src/a.c:3", "src/b.c:4", "src/c.c:5", "src/d.c:6"]);
    assert!(said.items.iter().all(|item| item.severity == Severity::Error));
    let mixed = "src/a.c:3:5: attention : variable « x » inutilisée\nsrc/b.c:4:1: Warnung: unbenutzt\n\
                 src/d.c:5:1: предупреждение: unused\nsrc/c.c:5:2: erreur: « z » non déclaré\n";
    assert_eq!(places(&diagnosed("make", mixed).items), ["src/c.c:5"]);
}

#[test]
fn paths_relative_to_somewhere_else() {
    let tree = Files(&["lib/util/a.c", "src/b.c", "packages/api/src/c.ts", "app/d.py", "e.go"]);
    let make = "make[1]: Entering directory '/home/dev/project/lib/util'\na.c:3:1: error: expected ';'\n\
                make[1]: Leaving directory '/home/dev/project/lib/util'\nmake[1]: Entering directory '/home/dev/project/build'\n\
                ../src/b.c:4:1: error: expected ';'\nmake[1]: Leaving directory '/home/dev/project/build'\n";
    assert_eq!(places(&diagnosed_in(&tree, "make", make).items), ["lib/util/a.c:3", "src/b.c:4"]);
    let others = "@shop/api:build: cache miss, executing 5f1c\n@shop/api:build: src/c.ts(2,3): error TS2304: Cannot find name 'x'.\n";
    assert_eq!(places(&diagnosed_in(&tree, "turbo run build", others).items), ["packages/api/src/c.ts:2"]);
    for place in
        ["/builds/shop/app/d.py", "/__w/project/project/app/d.py", "/home/runner/work/project/project/app/d.py"]
    {
        let said = diagnosed_in(
            &tree,
            "ruff check",
            format!("{place}:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n"),
        );
        assert_eq!(places(&said.items), ["app/d.py:1"], "{place}");
    }
}

#[test]
fn colour_inside_of_words() {
    let plain = "src/a.js:3:7: error: 'x' is not defined\n";
    let painted = "\x1b[4msrc/a\x1b[1m.js\x1b[24m:\x1b[33m3\x1b[39m:7: \x1b[31;1merr\x1b[91mor\x1b[0m: 'x' is \u{9b}32mnot\u{9b}0m defined\x1b[K\n";
    assert_eq!(diagnosed("make", painted).items, diagnosed("make", plain).items);
    // What is left where a log viewer took only the escape character out.
    let remnants = "[4msrc/a.js[24m:[33m3[39m:7: [31;1merror[0m: 'x' is not defined\n";
    assert_eq!(diagnosed("make", remnants).items, diagnosed("make", plain).items);
    assert_eq!(diagnosed("make", "src/a.js:3:7: error: waited [5m] for [1m\n").items[0].message, "waited [5m] for [1m");
}

#[test]
fn hyperlinks() {
    let plain = diagnosed("make", "src/a(b).js:3:7: error: 'x' is not defined [no-undef]\n");
    assert_eq!(places(&plain.items), ["src/a(b).js:3"]);
    for end in ["\x1b\\", "\x07", "\u{9c}"] {
        let linked = format!(
            "\x1b]8;;file:///home/dev/project/src/a(b).js#3:7{end}src/a(b).js\x1b]8;;{end}:3:7: error: 'x' is not defined \
             [\x1b]8;id=1;https://example.org/rules/no-undef(1){end}no-undef\x1b]8;;{end}]\n"
        );
        assert_eq!(diagnosed("make", linked).items, plain.items, "ended by {end:?}");
    }
}

#[test]
fn progress_that_overwrites_itself() {
    let output = "Downloading 1%\rDownloading 50% error: nothing\rDownloading 100% of everything\r\n\
                  |\x08/\x08-\x08\x1b[K\x1b[1Gsrc/a.c:3:1: error: expected ';'\r\n\
                  step 1\nstep 2\n\x1b[2A\x1b[2Kdone 1\n\x1b[2Kdone 2\n";
    let said = diagnosed("make", output);
    assert_eq!(places(&said.items), ["src/a.c:3"]);
    assert_eq!(said.items[0].span, (1, 2), "a carriage return is no line end");
}

#[test]
fn lines_wider_than_a_terminal() {
    let long = "a very long path ".repeat(300);
    let said = diagnosed("make", format!("src/a.c:3:1: error: {long}end\nsrc/b.c:4:1: error: short\n"));
    assert_eq!(places(&said.items), ["src/a.c:3", "src/b.c:4"]);
    // mypy wraps its messages itself when it knows the width.
    let pretty = "app/main.py:3: error: Incompatible types in assignment (expression has type\n\"str\", variable has type \"int\")  [assignment]\n\
                  \x20   count: int = \"a\"\n                 ^~~\nFound 1 error in 1 file (checked 1 source file)\n";
    let said = diagnosed("mypy --pretty app", pretty);
    assert_eq!(places(&said.items), ["app/main.py:3"]);
    assert_eq!(said.category, Some(Category::TypeError));
}

#[test]
fn encodings() {
    let text = "src/größe.c:3:1: error: expected ';'\r\nnext\r\n";
    let want = diagnosed("make", text).items;
    assert_eq!(places(&want), ["src/größe.c:3"]);
    let little: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect();
    let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    for (name, output) in [("little", little), ("big", big), ("marked", marked)] {
        assert_eq!(diagnosed("make", output).items, want, "{name}");
    }
    let broken = [b"src/\xff\xfe.c:1:1: error: a\n", b"src/b.c:2:1: err\0or: \xc3\x28 b\n".as_slice()].concat();
    let said = diagnosed("make", broken);
    assert_eq!(places(&said.items), ["src/\u{fffd}\u{fffd}.c:1", "src/b.c:2"]);
    assert_eq!(said.items[1].message, "\u{fffd}( b");
}

#[test]
fn giant_lines() {
    let bundle = "function a(){throw new Error('x')};".repeat(30_000);
    let output = format!("{bundle}\nsrc/a.js:3:1: error: bad {bundle}\nsrc/b.js:4:1: error: worse\n");
    let said = diagnosed("make", &output);
    assert_eq!(places(said.items.iter().filter(|item| item.file.is_some())), ["src/a.js:3", "src/b.js:4"]);
    let kept: usize = said.lines.iter().map(String::len).sum();
    assert!(kept < 20_000, "{kept} bytes kept");
    assert!(said.lines.iter().any(|line| line.ends_with('…')), "the cut is marked");
}

#[test]
fn parallel_output() {
    let go = "=== RUN   TestA\n=== PAUSE TestA\n=== RUN   TestB\n=== PAUSE TestB\n=== CONT  TestA\n=== CONT  TestB\n\
              \x20   b_test.go:7: b is fine\n=== NAME  TestA\n    a_test.go:5: a is wrong\n--- PASS: TestB (0.00s)\n--- FAIL: TestA (0.00s)\n\
              FAIL\nFAIL\texample.com/shop\t0.004s\nFAIL\n";
    let said = diagnosed("go test -v ./...", go);
    assert_eq!(places(&said.items), ["a_test.go:5"]);
    assert_eq!(said.items[0].test.as_deref(), Some("TestA"));
    let turbo = "web:lint: cache miss, executing 1\napi:lint: cache miss, executing 2\nweb:lint: \nweb:lint: /home/dev/project/web/a.js\n\
                 api:lint: \napi:lint: /home/dev/project/api/b.js\nweb:lint:   1:1  error  'x' is not defined  no-undef\n\
                 api:lint:   2:2  error  'y' is not defined  no-undef\nweb:lint: \nweb:lint: ✖ 1 problem (1 error, 0 warnings)\n\
                 api:lint: \napi:lint: ✖ 1 problem (1 error, 0 warnings)\n";
    let mut found = places(&diagnosed("turbo run lint", turbo).items);
    found.sort();
    assert_eq!(found, ["api/b.js:2", "web/a.js:1"]);
}

#[test]
fn the_same_failure_live_and_in_the_summary() {
    let pytest = "tests/test_a.py F                                                        [100%]\n\n\
                  =================================== FAILURES ===================================\n\
                  __________________________________ test_adds ___________________________________\n\n    def test_adds():\n>       assert 1 + 1 == 3\nE       assert (1 + 1) == 3\n\n\
                  tests/test_a.py:4: AssertionError\n=========================== short test summary info ============================\n\
                  FAILED tests/test_a.py::test_adds - assert (1 + 1) == 3\n============================== 1 failed in 0.02s ===============================\n";
    let said = diagnosed("pytest", pytest);
    assert_eq!(places(&said.items), ["tests/test_a.py:4"]);
    let vitest = " ❯ src/a.test.ts (1 test | 1 failed) 5ms\n   × adds 4ms\n     → expected 2 to be 3 // Object.is equality\n\n\
                  ⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯\n\n FAIL  src/a.test.ts > adds\nAssertionError: expected 2 to be 3 // Object.is equality\n\n\
                  - Expected\n+ Received\n\n- 3\n+ 2\n\n ❯ src/a.test.ts:4:17\n\n Test Files  1 failed (1)\n      Tests  1 failed (1)\n";
    let said = diagnosed("npx vitest run", vitest);
    assert_eq!(places(&said.items), ["src/a.test.ts:4"]);
}

#[test]
fn definitions_that_match_everything() {
    let output =
        "step:3: done\n12:34: hello\nretry:1:2: again\nversion 1.2.3:4: x\n[info] queue:9: empty\nsrc/a.zz:3:1: bad\n";
    let said = diagnosed("make", output);
    assert_eq!(places(&said.items), ["src/a.zz:3"]);
    let wide = "[[tool]]\nname = \"wide\"\nerrorformat = '%f:%l:%c: %m,%f:%l: %m'\n";
    let files =
        [DefinitionFile { file: PathBuf::from("wide.toml"), layer: 0, text: wide.to_owned(), attached: Vec::new() }];
    let (definitions, faults) = DefinitionSet::from_layers(&files, &CategoryTable::default());
    assert_eq!(faults, []);
    let said = diagnose_output(&DiagnosisInput {
        output: output.as_bytes(),
        command: "wide",
        tool: None,
        kind: None,
        ended: CommandEnd::Exit(1),
        dir: "",
        root: "",
        tree: &Files(&["src/a.zz"]),
        baseline: None,
        definitions: &definitions,
    });
    assert_eq!(said.files, ["src/a.zz"]);
}

#[test]
fn the_window_does_not_change_the_verdict() {
    let block = "src/a.c: In function 'main':\nsrc/a.c:3:5: error: 'x' undeclared (first use in this function)\n    3 |     x;\n      |     ^\n";
    let want = diagnosed("make", block);
    let before: String = (0..3000).map(|i| format!("[{i:>4}/3000] cc -c part{i}.c -o part{i}.o\n")).collect();
    let behind = "cc -c z.c -o z.o\n".repeat(500);
    for output in [format!("{before}{block}"), format!("{block}{behind}"), format!("{before}{block}{behind}")] {
        let said = diagnosed("make", output);
        assert_eq!(
            (places(&said.items), said.files, said.category),
            (places(&want.items), want.files.clone(), want.category.clone())
        );
        // (A longer output has room for more of the context.)
        assert!(want.lines.iter().all(|line| said.lines.contains(line)), "{:?}", said.lines);
    }
}

#[test]
fn of_more_diagnostics_than_are_listed_all_are_counted_and_every_file_is_affected() {
    let all = ITEMS_MAX + 500;
    let line = |number: usize| format!("src/f{number:05}.c:{}:5: error: thing {number} is bad\n", number + 1);
    let printed: String = (0..all).map(line).collect();
    // What is printed again at the end is the same.
    let said = diagnosed("make", format!("{printed}{}", line(7)));
    assert_eq!((said.items.len(), said.items_cut, said.files.len()), (ITEMS_MAX, 500, all));
    let numbers: Vec<_> = said.items.iter().map(|item| item.line).collect();
    assert!(numbers.iter().zip(1..).all(|(line, number)| *line == Some(number)), "the first ones are listed");
    assert_eq!(said.lines.len() + said.lines_cut, all + 1, "every line is kept or counted");
}

#[test]
fn files_without_a_line_number_are_affected_where_a_line_blames_them() {
    let tree = Files(&["lib/x.py", "src/a b.ts", "src/b.ts", "src/main.js", "docs/a.md", "pyproject.toml"]);
    let files = |command: &str, output: &str| diagnosed_in(&tree, command, output).files;
    for (command, output) in [
        ("fmtx --check lib", "lib/x.py: not formatted\n1 file left alone\n"),
        ("fmtx --check lib", "src/b.ts: no issues\nlib/x.py: unused imports\n"),
        ("fmtx --check", "Error: File \"lib/x.py\" is not formatted.\n"),
        ("fmtx --diff", "--- lib/x.py\t(original)\n+++ lib/x.py\t(fixed)\n@@ -1 +1 @@\n-a\n+b\n"),
        ("headers", "Files without a header, which is an error:\n  * lib/x.py\n\n"),
        ("build", "We've found a bug!\n  /home/dev/project/lib/x.py:1:23-25\n\n  1 | x\n"),
        ("load", "; file: lib/x.py\n; in: f\nUnhandled condition\n"),
        ("chart", "[ERROR] lib/: cannot parse (py/lib/x.py)\n"),
    ] {
        assert_eq!(files(command, output), ["lib/x.py"], "{output}");
    }
    let chain = "Found 1 circular dependency!\n\n1) main.js > b.ts\n";
    assert_eq!(files("cycles src", chain), ["src/b.ts", "src/main.js"]);
    let required = "Error: Cannot find module './gone'\nRequire stack:\n- /home/dev/project/src/main.js\n";
    assert_eq!(files("node src/main.js", required), ["src/main.js"]);
    assert_eq!(files("fmtx --check", "Checking...\nsrc/a b.ts (3ms)\nIssues found in 1 file.\n"), ["src/a b.ts"]);
    assert_eq!(files("build", "The given `pyproject.toml` file is invalid.\n"), ["pyproject.toml"]);
}

#[test]
fn files_that_are_only_worked_on_are_not_affected() {
    let tree = Files(&["src/a.ts", "src/b.ts"]);
    for output in [
        "running src/a.ts\nrunning src/b.ts\nError: port in use\n",
        "Linting files:\n  src/a.ts\n  src/b.ts\nnothing to do\n",
        "PASS src/a.ts\nok src/b.ts\nError: worker gone\n",
        "src/a.ts unchanged\nsrc/b.ts: no errors\nError: no plugin\n",
    ] {
        assert!(diagnosed_in(&tree, "checkx", output).files.is_empty(), "{output}");
    }
}
