//! What a project is made with, and checks that follow from it.

use std::path::Path;

use serde::Serialize;

use crate::base::file::read_start;
use crate::base::limits::CONFIG_FILE_BYTES_MAX;
use crate::host::document::yaml::YamlKeys;

/// Something that a project is made with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stack {
    /// `Rust`, `JavaScript`.
    pub name: &'static str,
    /// The file that says so.
    pub sign: &'static str,
    /// How its tests are run, where that is known.
    pub test: Option<&'static str>,
    /// What a file of it is looked at with, after the name of its language, where that is known.
    pub lint: Option<(&'static str, &'static str)>,
}

/// Name, file, and the tests' command where nothing more has to be known.
const SIGNS: [(&str, &str, Option<&str>); 12] = [
    ("Rust", "Cargo.toml", Some("cargo test")),
    ("JavaScript", "package.json", None),
    ("Python", "pyproject.toml", None),
    ("Python", "setup.py", None),
    ("Go", "go.mod", Some("go test ./...")),
    ("Ruby", "Gemfile", None),
    ("PHP", "composer.json", None),
    ("Java", "pom.xml", Some("mvn -q test")),
    ("Gradle", "build.gradle", None),
    ("Elixir", "mix.exs", Some("mix test")),
    ("Make", "Makefile", None),
    ("just", "justfile", None),
];

impl Stack {
    /// What the files at the top of a project say.
    pub fn of(root: &Path) -> Vec<Stack> {
        let mut found: Vec<Stack> = Vec::new();
        for (name, sign, test) in SIGNS {
            if !root.join(sign).is_file() || found.iter().any(|stack| stack.name == name) {
                continue;
            }
            let text = |file: &str| {
                let bytes = read_start(&root.join(file), CONFIG_FILE_BYTES_MAX).unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            };
            let (test, lint) = match name {
                "JavaScript" => (javascript(&text(sign)), None),
                "Python" => {
                    let settings = text("pyproject.toml");
                    let says = |word: &str, file: &str| settings.contains(word) || root.join(file).is_file();
                    let lint = says("[tool.ruff", "ruff.toml").then_some(("python", "ruff check"));
                    (says("[tool.pytest", "pytest.ini").then_some("pytest"), lint)
                }
                _ => (test, None),
            };
            found.push(Stack { name, sign, test, lint });
        }
        found
    }
}

/// `npm test`, if there is such a script that does something.
fn javascript(package: &str) -> Option<&'static str> {
    let package: serde_json::Value = serde_json::from_str(package).ok()?;
    let script = package.get("scripts")?.get("test")?.as_str()?;
    (!script.contains("no test specified")).then_some("npm test")
}

/// The commands that Aider runs on its own, with verify-run in front.
pub(super) fn keys(root: &Path, program: &str, comment: &str) -> YamlKeys {
    let stacks = Stack::of(root);
    let mut keys = Vec::new();
    if let Some(test) = stacks.iter().find_map(|stack| stack.test) {
        keys.push(("test-cmd", format!("test-cmd: {program} -- {test}\n")));
    }
    if let Some((language, lint)) = stacks.iter().find_map(|stack| stack.lint) {
        keys.push(("lint-cmd", format!("lint-cmd:\n  - \"{language}: {program} -- {lint}\"\n")));
    }
    YamlKeys { keys, comment: comment.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_a_project_is_made_with_says_how_it_is_tested() {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).expect("written");
        assert_eq!(Stack::of(dir.path()), []);
        write("package.json", r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#);
        write("pyproject.toml", "[tool.ruff]\n[tool.pytest.ini_options]\n");
        let found = Stack::of(dir.path());
        let told: Vec<_> = found.iter().map(|stack| (stack.name, stack.test, stack.lint.map(|lint| lint.1))).collect();
        assert_eq!(told, [("JavaScript", None, None), ("Python", Some("pytest"), Some("ruff check"))]);
        write("package.json", r#"{"scripts": {"test": "vitest"}}"#);
        assert_eq!(Stack::of(dir.path())[0].test, Some("npm test"));
        let keys = keys(dir.path(), "verify-run", "c").keys;
        assert_eq!(keys[0].1, "test-cmd: verify-run -- npm test\n");
        assert_eq!(keys[1].1, "lint-cmd:\n  - \"python: verify-run -- ruff check\"\n");
    }
}
