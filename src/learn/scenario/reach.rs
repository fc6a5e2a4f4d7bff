//! Which changed files a command reaches, as far as names and import lines tell: tests near a file, and the tests that a
//! command is given.

use std::collections::BTreeMap;

use crate::event::ScenarioCommand;

/// What begins or is part of a line that brings another file in.
const IMPORT_WORDS: [&str; 6] = ["import", "require", "from", "use ", "include", "mod "];
/// What tells the name of a test from the name of what it tests.
const TEST_MARKS: [&str; 12] =
    ["test_", "spec_", "_test", "_spec", ".test", ".spec", "-test", "-spec", "tests_", "_tests", "Tests", "Test"];
/// Names that are in every project: a test of one is no sign of another.
const COMMON_STEMS: [&str; 6] = ["index", "mod", "lib", "main", "init", "__init__"];

/// Texts of the test files of a tree, by path.
pub(crate) type TestTexts = BTreeMap<String, String>;

/// The tests that are about a source: by their name, else by what they import. Of several those by name, in the order of
/// their paths.
pub(crate) fn tests_near<'a>(source: &str, tests: &'a TestTexts) -> Vec<&'a str> {
    let stem = stem_of(source);
    if stem.is_empty() {
        return Vec::new();
    }
    let named: Vec<&str> = tests
        .keys()
        .filter(|path| tested_stem(path).eq_ignore_ascii_case(stem) && path.as_str() != source)
        .map(String::as_str)
        .collect();
    if !named.is_empty() {
        return named;
    }
    let name = if COMMON_STEMS.contains(&stem) { parent_name(source).unwrap_or(stem) } else { stem };
    let importing = tests.iter().filter(|(path, text)| path.as_str() != source && imports_name(text, name));
    importing.map(|(path, _)| path.as_str()).collect()
}

/// The changed files that a command does not reach. `changed` are sources and tests.
pub(crate) fn count_unreached(command: &ScenarioCommand, changed: &[&str], tests: &TestTexts) -> u64 {
    let named: Vec<String> = named_paths(command, changed, tests);
    let is_below = |path: &str, dir: &str| {
        dir.is_empty() || path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_reached = |path: &&&str| {
        if !is_below(path, &command.dir) {
            return false;
        }
        named.is_empty()
            || named.iter().any(|name| is_below(path, name))
            || tests_near(path, tests).iter().any(|test| named.iter().any(|name| is_below(test, name)))
    };
    changed.iter().filter(|path| !is_reached(path)).count() as u64
}

/// The words of a command that name tests, folders of tests or changed files, relative to the root.
fn named_paths(command: &ScenarioCommand, changed: &[&str], tests: &TestTexts) -> Vec<String> {
    let known = |name: &str| {
        let is_it = |path: &str| path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        !name.is_empty() && (tests.keys().any(|path| is_it(path)) || changed.iter().any(|path| is_it(path)))
    };
    let word_path = |word: &String| {
        let file = word.split("::").next().unwrap_or(word).trim_start_matches("./").trim_end_matches('/');
        let path = if command.dir.is_empty() { file.to_owned() } else { format!("{}/{file}", command.dir) };
        known(&path).then_some(path)
    };
    command.argv.iter().skip(1).filter_map(word_path).collect()
}

/// `src/api/users.ts`: `users`
fn stem_of(path: &str) -> &str {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}

/// The name of what a test is about, as its own name says: `tests/test_users.py`, `users.test.ts`, `UsersTest.java`.
fn tested_stem(path: &str) -> String {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let mut stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    for mark in TEST_MARKS {
        stem = stem.strip_suffix(mark).or_else(|| stem.strip_prefix(mark)).unwrap_or(stem);
    }
    stem.to_owned()
}

fn parent_name(path: &str) -> Option<&str> {
    let (dir, _) = path.rsplit_once('/')?;
    Some(dir.rsplit_once('/').map_or(dir, |(_, name)| name))
}

/// Whether a line that brings files in has this name as a word.
fn imports_name(text: &str, name: &str) -> bool {
    let has_word = |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
    text.lines().any(|line| IMPORT_WORDS.iter().any(|word| line.contains(word)) && has_word(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(tests: &[(&str, &str)]) -> TestTexts {
        tests.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
    }

    fn command(line: &str, dir: &str) -> ScenarioCommand {
        ScenarioCommand { argv: line.split(' ').map(str::to_owned).collect(), dir: dir.to_owned() }
    }

    #[test]
    fn a_test_is_near_by_its_name_or_by_what_it_imports() {
        let tests = texts(&[
            ("tests/test_calc.py", ""),
            ("tests/test_all.py", "from shop import calc\nfrom shop.money import round_up\n"),
            ("web/users.test.ts", ""),
            ("web/list.test.ts", "import { rows } from '../api';\n// index\n"),
        ]);
        assert_eq!(tests_near("shop/calc.py", &tests), ["tests/test_calc.py"]);
        assert_eq!(tests_near("shop/money.py", &tests), ["tests/test_all.py"]);
        assert_eq!(tests_near("web/users.ts", &tests), ["web/users.test.ts"]);
        assert_eq!(tests_near("api/index.ts", &tests), ["web/list.test.ts"], "by its folder");
        assert!(tests_near("web/index.css", &tests).is_empty());
        assert!(tests_near("docs/other.md", &tests).is_empty());
    }

    #[test]
    fn a_command_reaches_what_its_tests_are_about_or_everything_below_its_folder() {
        let tests = texts(&[("tests/test_a.py", "import a"), ("tests/test_b.py", "import b")]);
        let unreached = |line: &str, dir: &str, changed: &[&str]| count_unreached(&command(line, dir), changed, &tests);
        assert_eq!(unreached("pytest -q", "", &["a.py", "b.py", "tests/test_a.py"]), 0);
        assert_eq!(unreached("pytest tests/test_a.py", "", &["a.py", "b.py"]), 1);
        assert_eq!(unreached("pytest tests/test_a.py::test_x", "", &["a.py", "tests/test_b.py"]), 1);
        assert_eq!(unreached("pytest tests", "", &["a.py", "tests/test_b.py"]), 0);
        assert_eq!(unreached("npm test", "web", &["a.py", "web/b.js"]), 1);
    }
}
