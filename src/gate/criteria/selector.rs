//! The command that runs one test and no other, as argument words. No text becomes a shell line.

use super::declaration::{TestDeclaration, TestLanguage};

/// A program that runs tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TestRunner {
    /// `pytest`.
    Pytest,
    /// `npx vitest`.
    Vitest,
    /// `npx jest`.
    Jest,
    /// `node --test`.
    NodeTest,
    /// `go test`.
    GoTest,
    /// `cargo test`.
    CargoTest,
    /// `busted`.
    Busted,
    /// `mvn test`.
    Maven,
}

impl TestRunner {
    /// The runner of a test file. JavaScript has several: the file's own import decides, then the project's
    /// `package.json`, then Node.js' own runner.
    pub(crate) fn of_file(language: TestLanguage, text: &str, package_json: Option<&str>) -> TestRunner {
        match language {
            TestLanguage::Python => TestRunner::Pytest,
            TestLanguage::Go => TestRunner::GoTest,
            TestLanguage::Lua => TestRunner::Busted,
            TestLanguage::Rust => TestRunner::CargoTest,
            TestLanguage::Java => TestRunner::Maven,
            TestLanguage::JavaScript => {
                let imports =
                    |name: &str| ["'", "\""].iter().any(|quote| text.contains(&format!("{quote}{name}{quote}")));
                let package = package_json.unwrap_or_default();
                let has_package = |name: &str| package.contains(&format!("\"{name}\""));
                let runners = [
                    (imports("node:test"), TestRunner::NodeTest),
                    (imports("vitest"), TestRunner::Vitest),
                    (imports("@jest/globals"), TestRunner::Jest),
                    (has_package("vitest"), TestRunner::Vitest),
                    (has_package("jest"), TestRunner::Jest),
                ];
                runners.iter().find(|(is_it, _)| *is_it).map_or(TestRunner::NodeTest, |(_, runner)| *runner)
            }
        }
    }

    /// The words that run this test of this file only. `path` is relative to the folder in which they are executed. Empty
    /// where the runner cannot name the test.
    pub(crate) fn selector_words(self, path: &str, test: &TestDeclaration) -> Vec<String> {
        let names: Vec<&str> = test.blocks.iter().map(String::as_str).chain([test.name.as_str()]).collect();
        let file = plain_path(path);
        let sentence = names.join(" ");
        let words: Vec<String> = match self {
            TestRunner::Pytest => vec!["pytest".into(), format!("{file}::{}", names.join("::"))],
            TestRunner::Vitest => {
                let pattern = format!("^{}$", escaped_pattern(&sentence));
                ["npx", "vitest", "run", &file, "-t", &pattern].map(String::from).into()
            }
            TestRunner::Jest => {
                let pattern = format!("^{}$", escaped_pattern(&sentence));
                ["npx", "jest", "--runTestsByPath", &file, "-t", &pattern].map(String::from).into()
            }
            TestRunner::NodeTest => {
                // Versions differ in whether the names of suites are part of the name.
                let suites = match test.blocks.as_slice() {
                    [] => String::new(),
                    blocks => format!("({} )?", escaped_pattern(&blocks.join(" "))),
                };
                let pattern = format!("--test-name-pattern=^{suites}{}$", escaped_pattern(&test.name));
                vec!["node".into(), "--test".into(), pattern, file]
            }
            TestRunner::GoTest => {
                let part = |name: &str| format!("^{}$", escaped_pattern(name));
                // A slash in a name is a level of its own.
                let written = go_subtest_name(&names.join("/"));
                let pattern = written.split('/').map(part).collect::<Vec<_>>().join("/");
                let folder = path.rsplit_once('/').map_or(".".to_owned(), |(folder, _)| format!("./{folder}"));
                vec!["go".into(), "test".into(), "-run".into(), pattern, folder]
            }
            TestRunner::CargoTest => cargo_words(path, &names),
            TestRunner::Busted => {
                // busted looks for the pattern in the names of all suites and the test.
                let pattern = format!("{}$", escaped_lua_pattern(&test.name));
                vec!["busted".into(), "--filter".into(), pattern, file]
            }
            TestRunner::Maven => {
                let class = test.blocks.join("$");
                if class.is_empty() {
                    return Vec::new();
                }
                ["mvn", "-q", "-B", "test"]
                    .map(String::from)
                    .into_iter()
                    .chain([format!("-Dtest={class}#{}", test.name)])
                    .collect()
            }
        };
        // No program takes a word with a zero byte.
        if words.iter().any(|word| word.contains('\0')) { Vec::new() } else { words }
    }
}

/// A path that no program takes for an option.
fn plain_path(path: &str) -> String {
    if path.starts_with('-') { format!("./{path}") } else { path.to_owned() }
}

/// A text in a regular expression of JavaScript or Go.
fn escaped_pattern(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    for letter in text.chars() {
        if "\\^$.|?*+()[]{}/".contains(letter) {
            found.push('\\');
        }
        found.push(letter);
    }
    found
}

fn escaped_lua_pattern(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_ascii_punctuation() {
            found.push('%');
        }
        found.push(letter);
    }
    found
}

/// The name of a Go subtest: blanks become underscores.
fn go_subtest_name(name: &str) -> String {
    name.chars().map(|letter| if letter.is_whitespace() { '_' } else { letter }).collect()
}

/// `cargo test` with the whole path of a test: modules of the file, modules in the file, name.
fn cargo_words(path: &str, names: &[&str]) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let Some(root) = parts.iter().position(|part| *part == "src" || *part == "tests") else { return Vec::new() };
    let inner = &parts[root + 1..];
    let mut modules: Vec<&str> = inner.iter().map(|part| part.strip_suffix(".rs").unwrap_or(part)).collect();
    let mut words = vec!["cargo".to_owned(), "test".to_owned()];
    if root > 0 {
        words.extend(["--manifest-path".to_owned(), plain_path(&format!("{}/Cargo.toml", parts[..root].join("/")))]);
    }
    if parts[root] == "tests" {
        if modules.is_empty() {
            return Vec::new();
        }
        words.extend(["--test".to_owned(), modules.remove(0).to_owned()]);
    } else if modules.first() == Some(&"bin") && modules.len() > 1 {
        words.extend(["--bin".to_owned(), modules[1].to_owned()]);
        modules.drain(..2);
    }
    if modules.last().is_some_and(|last| ["mod", "lib", "main"].contains(last)) {
        modules.pop();
    }
    let test = modules.iter().chain(names).copied().collect::<Vec<_>>().join("::");
    words.extend([test, "--".to_owned(), "--exact".to_owned()]);
    words
}
