//! Coverage and sets.

use proptest::prelude::*;

use super::*;
use crate::base::lossless::Lossless;
use crate::event::{Atom, AttemptOutcome, Scope};

fn scope(subject: &str, dir: &str, selectors: &[&str]) -> Scope {
    let mut selectors: Vec<String> = selectors.iter().map(|selector| (*selector).to_owned()).collect();
    selectors.sort();
    Scope { class: subject.into(), subject: subject.into(), dir: Lossless::from(dir), selectors, ..Scope::default() }
}

fn atom(file: &str, test: &str, message: &str) -> Atom {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Atom {
        hash: format!("{file}|{test}|{message}"),
        pattern: "1:p".into(),
        file: some(file),
        test: some(test),
        text: message.into(),
    }
}

/// What a later run's selectors cover of a failure at `file`, in `test`.
fn covers(tool: &str, later: (&str, &[&str]), earlier: (&str, &[&str]), file: &str, test: &str) -> bool {
    let reach = compare_scopes(&scope(tool, later.0, later.1), &scope(tool, earlier.0, earlier.1));
    reach.covers_atom(&atom(file, test, "m"))
}

#[test]
fn a_larger_run_closes_what_a_smaller_one_left_open_and_not_the_other_way_round() {
    let all: (&str, &[&str]) = ("", &[]);
    let a: (&str, &[&str]) = ("", &["a.py"]);
    assert!(covers("pytest", all, a, "a.py", "test_x"));
    assert!(covers("pytest", a, all, "a.py", "test_x"), "what it names it looked at");
    assert!(!covers("pytest", a, all, "b.py", "test_x"));
    assert!(!covers("pytest", ("", &["b.py"]), a, "a.py", "test_x"));
    assert!(covers("pytest", ("", &["tests"]), ("", &["tests/a.py"]), "tests/a.py", ""));
    assert!(!covers("pytest", ("", &["tests"]), all, "tests2/a.py", ""));
    assert!(covers("pytest", ("", &["a.py", "b.py"]), a, "", ""), "all that was named, named again");
    assert!(!covers("pytest", a, ("", &["a.py", "b.py"]), "", ""), "an item without a place may be of the other file");
    assert!(covers("pytest", ("", &["a.py::test_x"]), a, "a.py", "test_x"));
    assert!(!covers("pytest", ("", &["a.py::test_x"]), a, "a.py", "test_xy"));
    assert!(covers("pytest", ("", &["a.py::T::test_x"]), a, "a.py", "a.py::T::test_x[1]"));
    assert!(covers("eslint", ("", &["src/**/*.ts"]), all, "src/deep/a.ts", ""));
    assert!(!covers("eslint", ("", &["src/*.ts"]), all, "src/deep/a.ts", ""));
}

#[test]
fn options_that_narrow_may_be_dropped_and_others_may_not() {
    let all: (&str, &[&str]) = ("", &[]);
    assert!(covers("pytest", all, ("", &["-k=fast"]), "a.py", "test_x"));
    assert!(covers("pytest", all, ("", &["-kfast"]), "a.py", "test_x"));
    assert!(covers("cargo-test", all, ("", &["--package=core", "parse"]), "", "parse::it"));
    assert!(!covers("pytest", all, ("", &["-p=no:cacheprovider"]), "a.py", "test_x"), "a plugin");
    assert!(!covers("tsc", all, ("", &["--strict"]), "a.ts", ""), "a pass without it proves nothing about it");
    assert!(!covers("tsc", ("", &["--strict"]), all, "a.ts", ""));
    assert!(covers("cargo-test", ("", &["--workspace"]), all, "src/lib.rs", "it"));
    assert!(!covers("cargo-test", all, ("", &["--workspace"]), "src/lib.rs", "it"));
    assert!(covers("pytest", ("", &["-k=test_x"]), all, "a.py", "test_x"));
    assert!(!covers("pytest", ("", &["-k=test_x"]), all, "a.py", "test_y"));
    assert!(!covers("pytest", ("", &["-k=not test_x"]), all, "a.py", "test_y"));
    assert!(covers("cargo-test", ("", &["parse"]), all, "src/parse.rs", "parse::it_works"));
    assert!(covers("vitest", ("", &["utils"]), all, "src/utils/a.test.ts", "adds"));
    assert!(!covers("eslint", ("", &["utils"]), all, "src/utils/a.ts", ""));
}

#[test]
fn another_folder_counts_only_for_tools_that_walk() {
    assert!(covers("pytest", ("", &[]), ("web", &["a.py"]), "web/a.py", ""));
    assert!(!covers("pytest", ("web", &[]), ("", &[]), "api/a.py", ""));
    assert!(covers("ruff-check", ("", &["web"]), ("web", &["."]), "web/a.py", ""));
    assert!(covers("ruff-check", ("web", &["."]), ("", &[]), "web/a.py", ""));
    assert!(!covers("tsc", ("", &[]), ("web", &[]), "web/a.ts", ""), "another configuration");
    assert!(!covers("package.json:test", ("", &[]), ("web", &[]), "web/a.ts", ""), "another script");
    assert!(covers("go-test", ("", &["..."]), ("", &["pkg/a"]), "pkg/a/x_test.go", "TestX"));
    assert!(!covers("command:make", ("", &[]), ("", &["all"]), "a.c", ""));
    assert!(covers("command:make", ("", &["all"]), ("", &["all"]), "a.c", ""));
    let line = Scope { also: vec!["tsc".into()], ..scope("eslint", "", &[]) };
    assert_eq!(
        compare_scopes(&scope("eslint", "", &[]), &line),
        FailureCoverage::Nothing,
        "tsc failed in that line, perhaps"
    );
    assert_eq!(compare_scopes(&line, &scope("eslint", "", &[])), FailureCoverage::All);
}

#[test]
fn a_pass_that_would_close_it_is_waited_for() {
    let keys: Vec<(String, Vec<String>)> =
        covering_scopes(&scope("pytest", "web", &["t/a.py::test_x", "-k=fast", "-c=x.ini"]))
            .into_iter()
            .map(|scope| (scope.dir.display(), scope.selectors))
            .collect();
    let expected = [
        ("web", vec!["-c=x.ini"]),
        ("web", vec!["-c=x.ini", "t/a.py"]),
        ("web", vec!["-c=x.ini", "t"]),
        ("web", vec!["-c=x.ini", "."]),
        ("", vec!["-c=x.ini"]),
    ];
    let expected: Vec<(String, Vec<String>)> = expected
        .into_iter()
        .map(|(dir, selectors)| (dir.to_owned(), selectors.into_iter().map(str::to_owned).collect()))
        .collect();
    assert_eq!(keys, expected);
    for scope in covering_scopes(&scope("pytest", "web", &["t/a.py"])) {
        assert!(
            compare_scopes(&scope, &self::scope("pytest", "web", &["t/a.py"])).covers_atom(&atom(
                "web/t/a.py",
                "x",
                ""
            )),
            "{scope:?}"
        );
    }
}

fn atoms(names: &[u8]) -> RunAtoms {
    RunAtoms(names.iter().map(|name| atom("a.py", "", &name.to_string())).collect())
}

#[test]
fn outcomes_are_those_of_the_sets() {
    let outcome = |before: &[u8], after: &[u8], same| {
        compare_atoms(&atoms(before), &atoms(after), |_| true).attempt_outcome(same)
    };
    assert_eq!(outcome(&[1, 2], &[], true), AttemptOutcome::Success);
    assert_eq!(outcome(&[1, 2], &[2], true), AttemptOutcome::Partial);
    assert_eq!(outcome(&[1, 2], &[1, 2], true), AttemptOutcome::Failure);
    assert_eq!(outcome(&[1, 2], &[1, 2, 3], true), AttemptOutcome::Failure);
    assert_eq!(outcome(&[1], &[2], true), AttemptOutcome::Partial, "the check is still failing");
    assert_eq!(outcome(&[1], &[2], false), AttemptOutcome::Success, "the other is the other check's failure");
    let unseen = compare_atoms(&atoms(&[1, 2]), &atoms(&[]), |atom| atom.text == "1");
    assert_eq!((unseen.fixed, unseen.not_reached), (atoms(&[1]), atoms(&[2])));
}

#[test]
fn a_test_that_fails_with_another_message_is_not_fixed() {
    let before = RunAtoms(vec![atom("a.py", "test_x", "AssertionError"), atom("a.py", "test_y", "AssertionError")]);
    let after = RunAtoms(vec![atom("a.py", "test_x", "NameError"), atom("a.py", "test_z", "NameError")]);
    let sets = compare_atoms(&before, &after, |_| true);
    let tests = |atoms: &RunAtoms| atoms.0.iter().filter_map(|atom| atom.test.clone()).collect::<Vec<_>>();
    assert_eq!((tests(&sets.fixed), tests(&sets.persisted)), (vec!["test_y".into()], vec!["test_x".into()]));
    assert_eq!(tests(&sets.introduced), ["test_z"]);
}

proptest! {
    /// Each atom of the failure is in one set; what persists or is new is in the later run, what is fixed is not.
    #[test]
    fn sets_part_the_atoms(before: std::collections::BTreeSet<u8>, after: std::collections::BTreeSet<u8>, seen: u8) {
        let list = |names: &std::collections::BTreeSet<u8>| atoms(&names.iter().copied().collect::<Vec<_>>());
        let sets = compare_atoms(&list(&before), &list(&after), |atom| atom.text.parse::<u8>().expect("a number") < seen);
        let names = |atoms: &RunAtoms| -> std::collections::BTreeSet<u8> {
            atoms.0.iter().map(|atom| atom.text.parse().expect("a number")).collect()
        };
        let gone: std::collections::BTreeSet<u8> = before.difference(&after).copied().collect();
        prop_assert_eq!(names(&sets.persisted), before.intersection(&after).copied().collect());
        prop_assert_eq!(names(&sets.introduced), after.difference(&before).copied().collect());
        prop_assert_eq!(names(&sets.fixed), gone.iter().copied().filter(|name| *name < seen).collect());
        prop_assert_eq!(names(&sets.not_reached), gone.iter().copied().filter(|name| *name >= seen).collect());
    }
}
