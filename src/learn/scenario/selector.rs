//! Commands that run chosen tests of a project, or all of them, by its stack: argument vectors, never a shell line.

use std::collections::BTreeSet;

use crate::event::ScenarioCommand;

/// Test files that one command is given.
const FILES_MAX: usize = 20;

/// The files of a kept tree, as far as a command is chosen by them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectFiles {
    /// Every file, relative to the root.
    pub paths: BTreeSet<String>,
    /// The text of each `package.json`, by its path.
    pub packages: Vec<(String, String)>,
}

/// How a stack runs tests.
struct TestRunner {
    /// Endings of its test files' names.
    extensions: &'static [&'static str],
    /// Files that make a folder a project of it; the folder is where its commands run. Without any the root is.
    manifests: &'static [&'static str],
    /// The words before the chosen tests.
    chosen: &'static [&'static str],
    /// How chosen tests are named.
    naming: TestNaming,
    /// The words that run all tests.
    all: &'static [&'static str],
    /// Words of a `package.json` that tell this runner from others of its stack; none of them for the last one.
    package_words: &'static [&'static str],
}

/// How a runner is given the tests to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestNaming {
    /// By their files.
    Files,
    /// By the folders of their files: `./pkg`.
    Folders,
    /// By the names of their files without the ending, each behind `--test`.
    Targets,
    /// By the names of their classes, joined by commas behind `-Dtest=`.
    Classes,
}

const SCRIPT_EXTENSIONS: &[&str] = &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"];
const PACKAGE: &[&str] = &["package.json"];

const RUNNERS: [TestRunner; 9] = [
    TestRunner {
        extensions: &["py"],
        manifests: &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini", "pytest.ini"],
        chosen: &["pytest"],
        naming: TestNaming::Files,
        all: &["pytest"],
        package_words: &[],
    },
    TestRunner {
        extensions: &["rs"],
        manifests: &["Cargo.toml"],
        chosen: &["cargo", "test", "--offline"],
        naming: TestNaming::Targets,
        all: &["cargo", "test", "--offline"],
        package_words: &[],
    },
    TestRunner {
        extensions: &["go"],
        manifests: &["go.mod"],
        chosen: &["go", "test"],
        naming: TestNaming::Folders,
        all: &["go", "test", "./..."],
        package_words: &[],
    },
    TestRunner {
        extensions: &["lua"],
        manifests: &[".busted"],
        chosen: &["busted"],
        naming: TestNaming::Files,
        all: &["busted"],
        package_words: &[],
    },
    TestRunner {
        extensions: &["java"],
        manifests: &["pom.xml"],
        chosen: &["mvn", "-o", "-q"],
        naming: TestNaming::Classes,
        all: &["mvn", "-o", "-q", "test"],
        package_words: &[],
    },
    script_runner(&["npx", "vitest", "run"], &["\"vitest\""]),
    script_runner(&["npx", "jest"], &["\"jest\""]),
    script_runner(&["npx", "mocha"], &["\"mocha\""]),
    script_runner(&["node", "--test"], &[]),
];

const fn script_runner(words: &'static [&'static str], package_words: &'static [&'static str]) -> TestRunner {
    TestRunner {
        extensions: SCRIPT_EXTENSIONS,
        manifests: PACKAGE,
        chosen: words,
        naming: TestNaming::Files,
        all: &["npm", "test"],
        package_words,
    }
}

/// Whether a file is code of a stack that has a runner.
pub(crate) fn is_code(path: &str) -> bool {
    let extension = path.rsplit_once('.').map(|(_, extension)| extension);
    extension.is_some_and(|extension| RUNNERS.iter().any(|runner| runner.extensions.contains(&extension)))
}

/// The commands that run these test files, one for each project, in the order of the files.
pub(crate) fn commands_for_tests(tests: &[&str], files: &ProjectFiles) -> Vec<ScenarioCommand> {
    let mut grouped: Vec<(usize, String, Vec<&str>)> = Vec::new();
    for test in tests {
        let Some((number, runner)) = runner_of(test, files) else { continue };
        if runner.naming == TestNaming::Targets && !is_cargo_target(test) {
            continue;
        }
        let dir = project_of(test, runner, files).unwrap_or_default();
        match grouped.iter_mut().find(|(known, folder, _)| *known == number && *folder == dir) {
            Some((_, _, chosen)) => chosen.push(test),
            None => grouped.push((number, dir, vec![test])),
        }
    }
    grouped.into_iter().map(|(number, dir, chosen)| chosen_command(&RUNNERS[number], dir, &chosen)).collect()
}

/// The commands that run all tests of the projects around these files, the deepest first.
pub(crate) fn commands_for_projects(changed: &[&str], files: &ProjectFiles) -> Vec<ScenarioCommand> {
    let mut found: Vec<ScenarioCommand> = Vec::new();
    for path in changed {
        for runner in &RUNNERS {
            let Some(dir) = nearest_manifest(path, runner, files) else { continue };
            if runner.manifests == PACKAGE && !has_test_script(&dir, files) {
                continue;
            }
            let command = ScenarioCommand { argv: owned(runner.all), dir };
            if !found.contains(&command) {
                found.push(command);
            }
        }
    }
    found.sort_by_key(|command| std::cmp::Reverse(command.dir.len()));
    found
}

/// The script `test`, else `check`, of the package around each of these files, the deepest first.
pub(crate) fn package_scripts(changed: &[&str], files: &ProjectFiles) -> Vec<ScenarioCommand> {
    let mut found: Vec<ScenarioCommand> = Vec::new();
    for path in changed {
        let around = folders_around(path).find_map(|dir| Some((package_text(&dir, files)?, dir)));
        let Some((text, dir)) = around else { continue };
        let Some(script) = ["test", "check"].into_iter().find(|name| script_of(text, name).is_some()) else { continue };
        let argv = if script == "test" { owned(&["npm", "test"]) } else { owned(&["npm", "run", script]) };
        let command = ScenarioCommand { argv, dir };
        if !found.contains(&command) {
            found.push(command);
        }
    }
    found.sort_by_key(|command| std::cmp::Reverse(command.dir.len()));
    found
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The runner of a test file; its place in the table with it.
fn runner_of(path: &str, files: &ProjectFiles) -> Option<(usize, &'static TestRunner)> {
    let extension = path.rsplit_once('.')?.1;
    let fits = |runner: &TestRunner| {
        let is_told = || {
            let dir = nearest_manifest(path, runner, files).unwrap_or_default();
            let text = package_text(&dir, files).unwrap_or_default();
            runner.package_words.iter().any(|word| text.contains(word))
        };
        runner.extensions.contains(&extension) && (runner.package_words.is_empty() || is_told())
    };
    RUNNERS.iter().enumerate().find(|(_, runner)| fits(runner))
}

/// Where the commands of a runner are run for a file: Python's and Lua's run at the root, from where tests find the sources,
/// unless a manifest further down says otherwise.
fn project_of(path: &str, runner: &TestRunner, files: &ProjectFiles) -> Option<String> {
    nearest_manifest(path, runner, files)
}

/// The deepest folder around a file that has a manifest of a runner.
fn nearest_manifest(path: &str, runner: &TestRunner, files: &ProjectFiles) -> Option<String> {
    let has_manifest = |dir: &String| runner.manifests.iter().any(|name| files.paths.contains(&join_path(dir, name)));
    folders_around(path).find(has_manifest)
}

/// The folders around a file, the deepest first, the root (empty) last.
fn folders_around(path: &str) -> impl Iterator<Item = String> {
    let mut next = Some(path.rsplit_once('/').map_or("", |(dir, _)| dir).to_owned());
    std::iter::from_fn(move || {
        let dir = next.take()?;
        if !dir.is_empty() {
            next = Some(dir.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned());
        }
        Some(dir)
    })
}

fn join_path(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

fn package_text<'a>(dir: &str, files: &'a ProjectFiles) -> Option<&'a str> {
    let path = join_path(dir, "package.json");
    files.packages.iter().find(|(known, _)| *known == path).map(|(_, text)| text.as_str())
}

fn has_test_script(dir: &str, files: &ProjectFiles) -> bool {
    package_text(dir, files).is_some_and(|text| script_of(text, "test").is_some())
}

/// A script of a `package.json`; not the one that `npm init` writes, which only fails.
fn script_of(text: &str, name: &str) -> Option<String> {
    let package: serde_json::Value = serde_json::from_str(text).ok()?;
    let script = package.get("scripts")?.get(name)?.as_str()?;
    (!script.contains("no test specified")).then(|| script.to_owned())
}

/// Whether a file is a test target of its own: `tests/NAME.rs`. Tests beside sources have no name that a file tells.
fn is_cargo_target(path: &str) -> bool {
    path.rsplit_once('/').is_some_and(|(dir, _)| dir == "tests" || dir.ends_with("/tests"))
}

fn chosen_command(runner: &TestRunner, dir: String, tests: &[&str]) -> ScenarioCommand {
    let mut argv = owned(runner.chosen);
    let tests = &tests[..tests.len().min(FILES_MAX)];
    let relative = |path: &str| {
        let inside =
            if dir.is_empty() { Some(path) } else { path.strip_prefix(&dir).map(|it| it.trim_start_matches('/')) };
        inside.unwrap_or(path).to_owned()
    };
    let stem = |path: &str| {
        let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
        name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
    };
    match runner.naming {
        TestNaming::Files => argv.extend(tests.iter().map(|path| relative(path))),
        TestNaming::Folders => {
            let folders: BTreeSet<String> = tests
                .iter()
                .map(|path| format!("./{}", folders_around(&relative(path)).next().unwrap_or_default()))
                .collect();
            argv.extend(folders);
        }
        TestNaming::Targets => argv.extend(tests.iter().flat_map(|path| ["--test".to_owned(), stem(path)])),
        TestNaming::Classes => {
            let classes: Vec<String> = tests.iter().map(|path| stem(path)).collect();
            argv.extend([format!("-Dtest={}", classes.join(",")), "test".to_owned()]);
        }
    }
    ScenarioCommand { argv, dir }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(paths: &[&str], packages: &[(&str, &str)]) -> ProjectFiles {
        let own = |text: &str| text.to_owned();
        let mut files = ProjectFiles {
            paths: paths.iter().map(|path| own(path)).collect(),
            packages: packages.iter().map(|(path, text)| (own(path), own(text))).collect(),
        };
        files.paths.extend(packages.iter().map(|(path, _)| own(path)));
        files
    }

    fn lines(commands: &[ScenarioCommand]) -> Vec<String> {
        commands.iter().map(|it| format!("{}: {}", it.dir, it.argv.join(" "))).collect()
    }

    #[test]
    fn each_stack_names_its_tests_in_its_own_way() {
        let chosen = |tests: &[&str], files: &ProjectFiles| lines(&commands_for_tests(tests, files));
        let python = project(&["tests/test_b.py"], &[]);
        assert_eq!(chosen(&["tests/test_b.py", "test_c.py"], &python), [": pytest tests/test_b.py test_c.py"]);
        let rust = project(&["core/Cargo.toml", "core/tests/api.rs"], &[]);
        assert_eq!(chosen(&["core/tests/api.rs", "core/src/a.rs"], &rust), ["core: cargo test --offline --test api"]);
        let go = project(&["go.mod", "pkg/a_test.go"], &[]);
        assert_eq!(chosen(&["pkg/a_test.go", "pkg/b_test.go"], &go), [": go test ./pkg"]);
        let java = project(&["pom.xml"], &[]);
        assert_eq!(chosen(&["src/test/java/ATest.java"], &java), [": mvn -o -q -Dtest=ATest test"]);
        assert_eq!(chosen(&["spec/a_spec.lua"], &project(&[], &[])), [": busted spec/a_spec.lua"]);
        let vitest = project(&[], &[("web/package.json", r#"{"devDependencies": {"vitest": "1"}}"#)]);
        assert_eq!(chosen(&["web/src/a.test.ts"], &vitest), ["web: npx vitest run src/a.test.ts"]);
        let node = project(&[], &[("package.json", "{}")]);
        assert_eq!(chosen(&["a.test.js"], &node), [": node --test a.test.js"]);
        assert!(chosen(&["README.md"], &python).is_empty());
    }

    #[test]
    fn a_package_runs_the_script_that_it_has() {
        let package = r#"{"scripts": {"check": "tsc", "test": "echo no test specified && exit 1"}}"#;
        let files = project(&["lib/a.js"], &[("package.json", package)]);
        assert_eq!(lines(&package_scripts(&["lib/a.js"], &files)), [": npm run check"]);
        assert!(commands_for_projects(&["lib/a.js"], &files).is_empty());
        let files =
            project(&["lib/a.js"], &[("lib/package.json", r#"{"scripts": {"test": "x"}}"#), ("package.json", package)]);
        assert_eq!(lines(&package_scripts(&["lib/a.js"], &files)), ["lib: npm test"]);
        assert_eq!(lines(&commands_for_projects(&["lib/a.js"], &files)), ["lib: npm test"]);
    }

    #[test]
    fn a_project_is_run_whole_where_its_manifest_is() {
        let files = project(&["pyproject.toml", "api/Cargo.toml"], &[]);
        assert_eq!(
            lines(&commands_for_projects(&["api/src/a.rs", "b.py"], &files)),
            ["api: cargo test --offline", ": pytest"]
        );
    }
}
