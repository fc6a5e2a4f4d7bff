//! How many tests a run ran, from the runner's own closing line, and whether it says that it stopped before all had
//! their turn. What was skipped or left out did not run.
//!
//! The count is a lower bound: a failure outside of tests (a hook, a fixture, a file that can't be loaded) does not
//! count, so that the pass after it has never fewer for that reason.

use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Regex, RegexSet};

use super::{streams, text_of};

/// A longer line is none of a runner's, bytes.
const LINE_BYTES_MAX: usize = 400;

/// How a runner counts, with what adds up: the groups `a` and `b` without `less`, or in `list` the tests that ran.
const CLOSINGS: [&str; 21] = [
    // pytest 8: `== 1 failed, 2 passed, 1 skipped in 0.12s ==`, with -q without the frame.
    r"^(?:=+ )?(?P<list>(?:[0-9]+ [a-z]+(?:, )?)+) in [0-9.]+s",
    // libtest: a line for each target.
    r"^test result: [A-Za-z]+\. (?P<a>[0-9]+) passed; (?P<b>[0-9]+) failed;",
    // cargo-nextest 0.9: `Summary [   1.234s] 29 tests run: 28 passed, 1 failed, 2 skipped`
    r"^ *Summary \[[^\]]*\] +(?:[0-9]+/)?(?P<a>[0-9]+) tests? run",
    // jest 29 and 30: `Tests:       1 failed, 2 passed, 3 total`
    r"^Tests: +(?P<list>(?:[0-9]+ [a-z]+, )+)[0-9]+ total",
    // vitest 1 to 4: `      Tests  1 failed | 2 passed (3)`
    r"^ *Tests +(?P<list>(?:[0-9]+ [a-z]+(?: \| )?)+) \([0-9]+\)",
    // mocha 10 and 11: a line for each result.
    r"^ *(?P<a>[0-9]+) (?:passing|failing)(?: |$)",
    // rspec 3: `3 examples, 1 failure, 1 pending`
    r"^(?P<a>[0-9]+) examples?, [0-9]+ failures?(?:, (?P<less>[0-9]+) pending)?",
    // PHPUnit 9 to 12: `OK (3 tests, 5 assertions)`, `Tests: 3, Assertions: 5, Failures: 1, Skipped: 1.`; JUnit 4's
    // console has the first one without assertions.
    r"^OK \((?P<a>[0-9]+) tests?(?:, [0-9]+ assertions?)?\)",
    r"^Tests: (?P<a>[0-9]+), Assertions: [0-9]+(?:.*Skipped: (?P<less>[0-9]+))?",
    r"^Tests run: (?P<a>[0-9]+),  Failures: [0-9]+$",
    // unittest: `Ran 3 tests in 0.001s`, then `OK (skipped=1)` or `FAILED (failures=1, skipped=1)`. Bun 1: `Ran 4 tests
    // across 2 files.`
    r"^Ran (?P<a>[0-9]+) tests? (?:in|across) [0-9.]+",
    r"^(?:OK|FAILED) \(.*skipped=(?P<less>[0-9]+)",
    // Surefire's total of a module; the lines of the classes say how long they took.
    r"Tests run: (?P<a>[0-9]+), Failures: [0-9]+, Errors: [0-9]+, Skipped: (?P<less>[0-9]+)(?:, Flakes: [0-9]+)?$",
    // dotnet test: `Failed:     0, Passed:     3, Skipped:     0, Total:     3`
    r"Failed: +(?P<a>[0-9]+), Passed: +(?P<b>[0-9]+), Skipped:",
    // CTest: `100% tests passed, 0 tests failed out of 3`
    r"^[0-9]+% tests passed, [0-9]+ tests? failed out of (?P<a>[0-9]+)",
    // node:test 18 to 24 and tape: `# tests 3`, `# skipped 1`; `ℹ` on a terminal.
    r"^(?:#|ℹ) tests (?P<a>[0-9]+)$",
    r"^(?:#|ℹ) (?:skipped|todo) +(?P<less>[0-9]+)$",
    // ExUnit: `1 doctest, 3 tests, 2 failures, 1 skipped`
    r"^(?:[0-9]+ (?:doctests?|properties|property), )*(?P<a>[0-9]+) tests?, [0-9]+ failures?(?:, [0-9]+ (?:invalid|excluded))*(?:, (?P<less>[0-9]+) skipped)?$",
    // prove: `Files=3, Tests=6,  1 wallclock secs`
    r"^Files=[0-9]+, Tests=(?P<a>[0-9]+), ",
    // gtest: `[==========] 3 tests from 1 test suite ran.`
    r"^\[=+\] (?P<a>[0-9]+) tests? from [0-9]+ test (?:suite|case)s? ran\.",
    // busted 2: `2 successes / 1 failure / 0 errors / 0 pending : 0.001 seconds`; an error may be outside of tests.
    r"^(?P<a>[0-9]+) success(?:es)? / (?P<b>[0-9]+) failures? / [0-9]+ errors? / [0-9]+ pending :",
];

/// With one of these the count says less than what ran: mocha counts a hook that fails as a test, and turbo prints
/// nothing of what it has done before.
const UNSURE: [&str; 2] = [r#"" hook(?: |$)"#, "cache hit, suppressing (?:logs|output)"];

/// With one of these some tests had no turn: the first failures were enough, or the run was ended.
const STOPS: [&str; 6] = [
    // cargo-nextest 0.9: `Summary [   0.242s] 2/6 tests run: 1 passed, 1 failed`; without a slash it ran all.
    r"^ *Summary \[[^\]]*\] +[0-9]+/[0-9]+ tests? run",
    // pytest 8: `!!!! stopping after 1 failures !!!!`, `!!!! Interrupted: 3 errors during collection !!!!`
    r"^!{3,} (?:stopping after |Interrupted: |.*KeyboardInterrupt|.*Exit: ).* !{3,}$",
    // jest 29 and 30: `Test Suites: 1 failed, 1 of 3 total`
    r"^Test Suites: .*[0-9]+ of [0-9]+ total$",
    // TAP
    r"^Bail out!",
    // Go: the package's other tests are not run.
    r"^panic: ",
    // cargo test: a target that a signal ended.
    r"^ *process didn't exit successfully: .*\(signal: [0-9]+",
];

static SET: LazyLock<Option<RegexSet>> =
    LazyLock::new(|| RegexSet::new(CLOSINGS.iter().chain(&UNSURE).chain(&STOPS)).ok());

/// Compiled when the first line of its runner is seen.
static COMPILED: [OnceLock<Option<Regex>>; CLOSINGS.len()] = [const { OnceLock::new() }; CLOSINGS.len()];

/// The summary that a runner prints at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunnerSummary {
    /// The tests that ran; `None` when it doesn't say, or not for certain.
    pub tests: Option<u64>,
    /// Some had no turn.
    pub stopped_early: bool,
}

/// What ran, as a whole `output` says.
pub fn count_ran(output: &[u8]) -> RunnerSummary {
    let Some(set) = SET.as_ref() else { return RunnerSummary::default() };
    let text = text_of(output);
    let lines: Vec<&str> = text.lines().collect();
    let (mut total, mut unsure, mut stopped_early): (Option<i64>, bool, bool) = (None, false, false);
    for (index, from) in streams::split_streams(&lines).into_iter().flatten() {
        let line = lines[index].get(from..).unwrap_or("").trim_end();
        if line.len() > LINE_BYTES_MAX {
            continue;
        }
        let shapes = set.matches(line);
        stopped_early |= shapes.iter().any(|shape| shape >= CLOSINGS.len() + UNSURE.len());
        // What makes it unsure comes behind all that counts.
        let Some(shape) = shapes.iter().next().filter(|shape| *shape < CLOSINGS.len() + UNSURE.len()) else { continue };
        let Some(compiled) = COMPILED.get(shape) else {
            unsure = true;
            continue;
        };
        let regex = compiled.get_or_init(|| Regex::new(CLOSINGS[shape]).ok());
        if let Some(groups) = regex.as_ref().and_then(|regex| regex.captures(line)) {
            total = Some(total.unwrap_or(0).saturating_add(count_of(&groups)));
        }
    }
    let tests = total.filter(|_| !unsure).and_then(|total| u64::try_from(total).ok());
    RunnerSummary { tests, stopped_early }
}

fn count_of(groups: &Captures<'_>) -> i64 {
    let number = |name| groups.name(name).and_then(|digits| digits.as_str().parse::<i64>().ok()).unwrap_or(0);
    let list = groups.name("list").map_or("", |list| list.as_str());
    let words: Vec<&str> = list.split([' ', ',', '|']).filter(|word| !word.is_empty()).collect();
    let ran = words.chunks(2).filter(|pair| matches!(pair, [_, "passed" | "failed" | "xfailed" | "xpassed"]));
    let listed = ran.filter_map(|pair| pair[0].parse::<i64>().ok()).fold(0, i64::saturating_add);
    let counted = number("a").saturating_add(number("b")).saturating_sub(number("less"));
    listed.saturating_add(counted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_compiles() {
        assert!(SET.is_some());
    }

    #[test]
    fn the_runners_own_count_is_read_without_what_did_not_run() {
        let cases = [
            ("===== 1 failed, 2 passed, 4 skipped, 1 warning in 0.12s =====", Some(3)),
            ("3 passed, 1 deselected in 0.01s", Some(3)),
            // The error of a fixture's end comes with a test that passed.
            ("1 passed, 1 error in 0.01s", Some(1)),
            (
                "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n\
              test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
                Some(4),
            ),
            ("     Summary [   1.234s] 29 tests run: 28 passed, 1 failed, 2 skipped", Some(29)),
            ("Tests:       1 failed, 1 skipped, 2 passed, 4 total", Some(3)),
            ("      Tests  1 failed | 2 passed | 1 skipped (4)", Some(3)),
            ("\x1b[2m      Tests \x1b[22m \x1b[32m2 passed\x1b[39m (2)", Some(2)),
            ("  3 passing (5ms)\n  1 pending\n  2 failing", Some(5)),
            ("  3 passing (5ms)\n  1 failing\n\n  1) \"after all\" hook for \"adds\":", None),
            ("3 examples, 1 failure, 1 pending", Some(2)),
            ("OK (3 tests, 5 assertions)", Some(3)),
            ("Tests: 3, Assertions: 5, Failures: 1, Skipped: 1.", Some(2)),
            ("Ran 3 tests in 0.001s\n\nOK (skipped=1)", Some(2)),
            (
                "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in A\n\
              [INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 1",
                Some(1),
            ),
            ("Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4", Some(3)),
            ("# tests 3\n# skipped 1", Some(2)),
            ("2 doctests, 3 tests, 1 failure, 1 skipped", Some(2)),
            ("+-\n1 success / 1 failure / 1 error / 2 pending : 0.0008 seconds", Some(2)),
            ("●●\n2 successes / 0 failures / 0 errors / 0 pending : 0.0 seconds", Some(2)),
            (
                "api:test: cache miss, executing 1\nweb:test: cache miss, executing 2\nweb:test: Tests:  2 passed, 2 total\n\
              api:test: Tests:  3 passed, 3 total",
                Some(5),
            ),
            ("api:test: cache hit, suppressing logs 1\nweb:test: Tests:  2 passed, 2 total", None),
            ("compiled 3 files in 0.2s", None),
            ("ok  \texample.com/shop\t0.012s", None),
            ("", None),
        ];
        for (output, wanted) in cases {
            assert_eq!(count_ran(output.as_bytes()).tests, wanted, "{output}");
        }
    }

    #[test]
    fn a_run_that_did_not_get_to_all_tests_says_so() {
        let stopped = [
            "     Summary [   0.242s] 2/6 tests run: 1 passed, 1 failed, 1 skipped",
            "!!!!!!!!!! stopping after 1 failures !!!!!!!!!!!",
            "!!!!!!!!!! Interrupted: 3 errors during collection !!!!!!!!!!",
            "!!!!!!!!!! KeyboardInterrupt !!!!!!!!!!",
            "Test Suites: 1 failed, 1 of 3 total",
            "Bail out! no database",
            "panic: test timed out after 1s",
            "  process didn't exit successfully: `/t/shop-1` (signal: 11, SIGSEGV: invalid memory reference)",
        ];
        for output in stopped {
            assert!(count_ran(output.as_bytes()).stopped_early, "{output}");
        }
        assert_eq!(count_ran(stopped[0].as_bytes()).tests, Some(6), "what it was to run counts");
        let whole = [
            "     Summary [   1.234s] 29 tests run: 28 passed, 1 failed, 2 skipped",
            "===== 1 failed, 2 passed in 0.12s =====",
            "Test Suites: 1 failed, 2 passed, 3 total",
            "  process didn't exit successfully: `/t/shop-1` (exit status: 101)",
            "thread 'main' panicked at src/a.rs:1:1:",
        ];
        for output in whole {
            assert!(!count_ran(output.as_bytes()).stopped_early, "{output}");
        }
        let recorded = [("pytest-20-fail-fast", true), ("pytest-07-collection-errors", true), ("jest-01-basic", false)];
        let cases = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/cases");
        for (case, stopped) in recorded {
            for variant in ["output.txt", "output.tty"] {
                let output = std::fs::read(cases.join(case).join(variant)).expect("is recorded");
                assert_eq!(count_ran(&output).stopped_early, stopped, "{case}/{variant}");
            }
        }
    }

    #[test]
    fn recorded_outputs_say_how_many_ran() {
        // Read from the outputs by eye: what their tests' names add up to.
        let recorded = [
            ("bun-test-01-basic", Some(4)),
            ("ctest-01-failures", Some(3)),
            ("jest-01-basic", Some(9)),
            ("junit-01-junitcore", Some(4)),
            ("mix-01-test", Some(3)),
            ("mocha-01-basic", Some(6)),
            ("node-test-01-basic", Some(4)),
            ("phpunit-01-basic", Some(5)),
            ("prove-01-recursive", Some(6)),
            ("rspec-01-progress", Some(5)),
            ("tape-01-basic", Some(4)),
            ("unittest-01-discover", Some(6)),
            ("vitest-03-suite-errors", Some(1)),
            // These print none.
            ("go-test-01-all", None),
            ("eslint-01-basic", None),
        ];
        let cases = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/cases");
        for (case, tests) in recorded {
            for variant in ["output.txt", "output.tty"] {
                let output = std::fs::read(cases.join(case).join(variant)).expect("is recorded");
                assert_eq!(count_ran(&output).tests, tests, "{case}/{variant}");
            }
        }
    }
}
