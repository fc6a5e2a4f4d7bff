//! `again`: reruns the last command, whole or only its failed tests.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::last::{self, LastRun};
use super::reply::Reply;
use super::request::Request;
use crate::store::StoreError;
use crate::whitelist::Whitelist;

/// Failing tests that are named in one command line.
const TESTS_MAX: usize = 500;
/// What represents a secret in a recorded argument ([`crate::redact`]).
const REDACTED: &str = "[redacted:";

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgainCommand {
    /// The command.
    pub argv: Vec<OsString>,
    /// Where to run it.
    pub dir: PathBuf,
}

/// Why there is nothing to run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AgainError {
    /// The store can't be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No run is recorded.
    #[error("no run is recorded for {0}")]
    Nothing(String),
    /// Records have no secrets.
    #[error("the arguments of the last run held a secret, which was not recorded: {0}")]
    Redacted(String),
    /// `--failed` after a pass.
    #[error("nothing failed in the last run: {0}")]
    Passed(String),
    /// `--failed` where no test names are known, or the runner takes none.
    #[error("cannot run only what failed of {command}: {why}")]
    NotNarrowed {
        /// The recorded command.
        command: String,
        /// The reason.
        why: &'static str,
    },
}

/// The last run of this work tree as a command; with `failed` narrowed to the tests that failed in it.
///
/// # Errors
/// When there is nothing to run, or it is not known how to run less.
pub(crate) fn again_command(request: &Request, failed: bool) -> Result<AgainCommand, AgainError> {
    let Some(Reply { data: last, .. }) = last::last_run(request)? else {
        return Err(AgainError::Nothing(request.places.root.display().to_string()));
    };
    let words: Vec<String> = last.argv.iter().map(|word| word.display()).collect();
    let line = shell_words::join(&words);
    if words.iter().any(|word| word.contains(REDACTED)) {
        return Err(AgainError::Redacted(line));
    }
    let dir = request.places.root.join(last.dir.path());
    let argv = last.argv.iter().map(|word| word.0.clone()).collect();
    if !failed {
        return Ok(AgainCommand { argv, dir });
    }
    if last.passed {
        return Err(AgainError::Passed(line));
    }
    let check = Whitelist::open(&request.places, &request.environment).decide_command(&argv).into_check();
    let is_script = check.as_ref().is_some_and(|check| check.manifest.is_some());
    let selectors = check.map(|check| check.selectors).unwrap_or_default();
    let narrowed =
        RerunCommand { words: &words, selectors: &selectors, is_script, dir: last.dir.path() }.narrow_to_failed(&last);
    match narrowed {
        Ok(words) => Ok(AgainCommand { argv: words.into_iter().map(OsString::from).collect(), dir }),
        Err(why) => Err(AgainError::NotNarrowed { command: line, why }),
    }
}

/// A recorded command, about to be narrowed.
struct RerunCommand<'a> {
    words: &'a [String],
    /// Its paths and filters.
    selectors: &'a [String],
    /// A script of a manifest, which hands arguments on.
    is_script: bool,
    /// Relative to the root.
    dir: &'a Path,
}

impl RerunCommand<'_> {
    fn narrow_to_failed(&self, last: &LastRun) -> Result<Vec<String>, &'static str> {
        let mut tests: Vec<&str> = last.items.iter().filter_map(|item| item.test.as_deref()).collect();
        tests.sort_unstable();
        tests.dedup();
        if tests.is_empty() {
            return Err("no failing test has a known name");
        }
        if last.items_cut > 0 || tests.len() > TESTS_MAX {
            return Err("too many tests failed");
        }
        if self.words.first().is_some_and(|word| matches!(word.as_str(), "sh" | "bash")) {
            return Err("it is a shell line");
        }
        let has = |name: &str| self.words.iter().any(|word| file_name(word) == name);
        let tool = |name: &str| last.items.iter().any(|item| item.test.is_some() && item.tool == name);
        if has("pytest") || has("py.test") {
            return Ok(self.pytest_arguments(&tests));
        }
        if has("cargo") {
            return self.cargo_arguments(&tests);
        }
        if has("go") {
            return Ok(self.go_arguments(&tests));
        }
        if has("vitest") || has("jest") || self.is_script && (tool("vitest") || tool("jest")) {
            return self.by_title(&tests);
        }
        Err("verify-run does not know how to pass test names to this runner")
    }

    /// Node ids in place of the paths that were typed.
    fn pytest_arguments(&self, tests: &[&str]) -> Vec<String> {
        let dir = self.dir.as_os_str().as_bytes();
        let here = |id: &str| match (dir.is_empty(), id.as_bytes().strip_prefix(dir)) {
            (false, Some([b'/', rest @ ..])) => String::from_utf8_lossy(rest).into_owned(),
            _ => id.to_owned(),
        };
        let mut words = self.without_selected();
        words.extend(tests.iter().map(|id| here(id)));
        words
    }

    /// Names as filters of libtest, behind `--`, or of cargo-nextest.
    fn cargo_arguments(&self, tests: &[&str]) -> Result<Vec<String>, &'static str> {
        let mut words = self.without_selected();
        let names = tests.iter().map(|test| (*test).to_owned());
        if words.iter().any(|word| word == "nextest") {
            words.extend(names);
            return Ok(words);
        }
        if !words.iter().any(|word| matches!(word.as_str(), "test" | "t")) {
            return Err("it runs no tests");
        }
        if !words.iter().any(|word| word == "--") {
            words.push("--".to_owned());
        }
        words.extend(names);
        Ok(words)
    }

    /// `-run` with the names of the top-level tests.
    fn go_arguments(&self, tests: &[&str]) -> Vec<String> {
        let mut names: Vec<&str> = tests.iter().map(|test| test.split('/').next().unwrap_or(test)).collect();
        names.dedup();
        let names: Vec<String> = names.into_iter().map(regex::escape).collect();
        let mut words = without_option(self.words, &["-run", "--run"]);
        let at = words.iter().position(|word| word == "test").map_or(words.len(), |at| at + 1);
        words.splice(at..at, ["-run".to_owned(), format!("^({})$", names.join("|"))]);
        words
    }

    /// `-t` with the titles: a regex, matched against the suites' and the test's own, which jest and older versions of
    /// vitest join by spaces, and newer ones by ` > `.
    fn by_title(&self, tests: &[&str]) -> Result<Vec<String>, &'static str> {
        let pattern = |test: &str| {
            let parts = test.split(" › ").flat_map(|part| part.split(" > "));
            parts.map(regex::escape).collect::<Vec<_>>().join(" (> )?")
        };
        let titles: Vec<String> = tests.iter().map(|test| pattern(test)).collect();
        let mut words = without_option(self.words, &["-t", "--testNamePattern"]);
        let takes_dashes = self.words.first().is_some_and(|word| matches!(file_name(word), "npm" | "bun"));
        if self.is_script && takes_dashes && !words.iter().any(|word| word == "--") {
            words.push("--".to_owned());
        }
        words.extend(["-t".to_owned(), titles.join("|")]);
        Ok(words)
    }

    /// The command without its paths and name filters.
    fn without_selected(&self) -> Vec<String> {
        let selects = |word: &String| {
            let path = word.strip_prefix("./").unwrap_or(word);
            let path = path.strip_suffix('/').unwrap_or(path);
            !word.starts_with('-') && !is_subcommand(path) && self.selectors.iter().any(|selector| selector == path)
        };
        // The value of an option (`-k name`, `-p crate`) is a selector only together with it.
        self.words
            .iter()
            .enumerate()
            .filter(|(at, word)| *at == 0 || !selects(word))
            .map(|(_, word)| word.clone())
            .collect()
    }
}

/// Words that say what to do, not with what.
fn is_subcommand(word: &str) -> bool {
    matches!(word, "test" | "t" | "nextest" | "run" | "pytest" | "py.test")
}

/// `words` without an option and its value, `-t x` or `-t=x`.
fn without_option(words: &[String], names: &[&str]) -> Vec<String> {
    let mut kept = Vec::with_capacity(words.len());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if names.contains(&word.as_str()) {
            words.next();
        } else if !names.iter().any(|name| word.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))) {
            kept.push(word.clone());
        }
    }
    kept
}

fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `line` becomes when `tests` failed in `dir`.
    fn narrowed(line: &str, dir: &str, tests: &[&str]) -> Vec<String> {
        let words = shell_words::split(line).expect("a line");
        let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
        let check = Whitelist::shipped_only().decide_command(&argv).into_check();
        let selectors = check.map(|check| check.selectors).unwrap_or_default();
        let narrowing =
            RerunCommand { words: &words, selectors: &selectors, is_script: words[0] == "npm", dir: Path::new(dir) };
        let has = |name: &str| words.iter().any(|word| word == name);
        if has("pytest") {
            narrowing.pytest_arguments(tests)
        } else if has("cargo") {
            narrowing.cargo_arguments(tests).expect("runs tests")
        } else if has("go") {
            narrowing.go_arguments(tests)
        } else {
            narrowing.by_title(tests).expect("titles")
        }
    }

    #[test]
    fn pytest_takes_node_ids_in_place_of_paths() {
        let ids = ["app/test_a.py::test_one", "app/test_a.py::T::test_two"];
        assert_eq!(
            narrowed("pytest -q app -k 'one or two'", "", &ids),
            ["pytest", "-q", "-k", "one or two", ids[0], ids[1]]
        );
        assert_eq!(
            narrowed("uv run pytest ./test_a.py -x", "app", &ids),
            ["uv", "run", "pytest", "-x", "test_a.py::test_one", "test_a.py::T::test_two"]
        );
    }

    #[test]
    fn libtest_takes_names_behind_the_dashes() {
        assert_eq!(
            narrowed("cargo test -p core parser -- --nocapture", "", &["parser::splits", "joins"]),
            ["cargo", "test", "-p", "core", "--", "--nocapture", "parser::splits", "joins"]
        );
        assert_eq!(narrowed("cargo nextest run", "", &["a::b"]), ["cargo", "nextest", "run", "a::b"]);
        assert_eq!(narrowed("cargo test", "", &["a"]), ["cargo", "test", "--", "a"]);
    }

    #[test]
    fn go_runs_the_tests_of_failing_subtests() {
        assert_eq!(
            narrowed("go test -run Old ./...", "", &["TestAdd", "TestAdd/two", "TestPrice"]),
            ["go", "test", "-run", "^(TestAdd|TestPrice)$", "./..."]
        );
    }

    #[test]
    fn titles_are_quoted_for_vitest_and_jest() {
        assert_eq!(
            narrowed("npx vitest run src", "", &["sums > adds (two)"]),
            ["npx", "vitest", "run", "src", "-t", r"sums (> )?adds \(two\)"]
        );
        assert_eq!(narrowed("npm test", "", &["calc › a", "b"]), ["npm", "test", "--", "-t", "calc (> )?a|b"]);
    }
}
