//! The real tools, from end to end: each one fails and then passes, in pipes and on a terminal, bare and wrapped.
//!
//! What a user would notice: the same bytes and the same exit code, one lesson that names the right file and says what
//! was wrong, and none for the pass.

use std::path::{Path, PathBuf};

use regex::bytes::Regex;
use verify_run::run::CommandEnd;

use crate::sandbox::{Invocation, Sandbox, need, skip, tools};
use crate::terminal::Terminal;

/// A project that fails and can be mended.
struct Case {
    /// The whitelist's name of the tool.
    tool: &'static str,
    /// The command, and the exit code of its failure.
    command: &'static [&'static str],
    fails_with: u8,
    /// The project's files.
    project: &'static [(&'static str, &'static str)],
    /// The file that is wrong, and its right content.
    mended: (&'static str, &'static str),
    /// What has to be recorded.
    category: &'static str,
    files: &'static [&'static str],
    /// Words of the output without which the lesson would be of no use.
    says: &'static [&'static str],
}

/// How the command's output is connected.
#[derive(Debug, Clone, Copy)]
enum Streams {
    Pipes,
    Terminal,
}

impl Case {
    fn check(&self) {
        for streams in [Streams::Pipes, Streams::Terminal] {
            let Some(sandbox) = self.sandbox() else { return };
            self.fails(&sandbox, streams);
            self.passes(&sandbox, streams);
        }
    }

    /// The project in a sandbox; `None` when the tool is not to be had.
    fn sandbox(&self) -> Option<Sandbox> {
        let mut sandbox = Sandbox::repository();
        if self.command[0] == "cargo" {
            sandbox.add_path(toolchain()?);
        } else {
            need(self.command[0])?;
        }
        sandbox.add_path(tools());
        for (path, content) in self.project {
            sandbox.write(path, content);
        }
        let packages = tools().join("../node/node_modules");
        if packages.is_dir() {
            std::os::unix::fs::symlink(packages, sandbox.path("node_modules")).expect("a link to the packages");
        }
        sandbox.write(".gitignore", "node_modules\ntarget\n*_cache\n__pycache__\n*.o\n");
        sandbox.commit("The project");
        Some(sandbox)
    }

    fn fails(&self, sandbox: &Sandbox, streams: Streams) {
        // The first run of a tool fills its caches and may say so.
        self.run(sandbox.bare(self.command[0]), streams);
        let bare = self.run(sandbox.bare(self.command[0]), streams);
        let wrapped = self.run(sandbox.verify_run([self.command[0]]), streams);
        assert_eq!(wrapped, bare, "{} in {streams:?}", self.tool);
        assert_eq!(bare.0, CommandEnd::Exit(self.fails_with), "{}", bare.1);

        let lesson = sandbox.lesson();
        assert_eq!(lesson.field("tool"), Some(self.tool), "{}", lesson.text);
        assert_eq!(lesson.field("category"), Some(self.category), "{}", lesson.text);
        assert_eq!(lesson.field("exit_code"), Some(self.fails_with.to_string().as_str()), "{}", lesson.text);
        assert_eq!(lesson.list("files"), self.files, "{}", lesson.text);
        assert!(!lesson.list("patterns").is_empty(), "{}", lesson.text);
        for words in self.says {
            assert!(lesson.text.contains(words), "{words:?} is missing in:\n{}", lesson.text);
        }
        assert_eq!(sandbox.git(["status", "--short"]), "", "a failure leaves the work tree clean");
    }

    fn passes(&self, sandbox: &Sandbox, streams: Streams) {
        sandbox.write(self.mended.0, self.mended.1);
        self.run(sandbox.bare(self.command[0]), streams);
        let bare = self.run(sandbox.bare(self.command[0]), streams);
        let wrapped = self.run(sandbox.verify_run([self.command[0]]), streams);
        assert_eq!(wrapped, bare, "{} in {streams:?}", self.tool);
        assert_eq!(bare.0, CommandEnd::Exit(0), "{}", bare.1);
        assert_eq!(sandbox.lessons().len(), 0, "a lesson without further use goes with its failure");
        self.is_learned(sandbox);
    }

    /// The pass is known as what made the failure go away, with the file that was mended and nothing else.
    fn is_learned(&self, sandbox: &Sandbox) {
        let list = sandbox.verify_run(["fix", "list", "--json"]).prints_json();
        let fix = &list["fixes"][0];
        assert_eq!((&fix["state"], &fix["attempts"]), (&"success".into(), &1.into()), "{list}");
        let id = fix["id"].as_str().expect("an id");
        let page = sandbox.verify_run(["fix", "show", id, "--json"]).prints_json();
        let files: Vec<_> =
            page["steps"][0]["files"].as_array().expect("files").iter().map(|file| &file["path"]).collect();
        assert_eq!(files, [self.mended.0], "{page}");
        assert_eq!(
            page["steps"][0]["fixed"]["count"],
            page["steps"][0]["fixed"]["first"].as_array().map_or(0, Vec::len)
        );
        let listed = sandbox.verify_run(["lesson", "list", "--all", "--json"]).prints_json();
        let lesson =
            sandbox.verify_run(["lesson", "show", listed["lessons"][0]["id"].as_str().expect("an id")]).prints();
        assert!(lesson.contains("```diff\n") && !lesson.contains("Not known yet."), "{lesson}");
    }

    /// How it ended, and what it printed with everything that differs between any two runs taken out.
    fn run(&self, invocation: Invocation<'_>, streams: Streams) -> (CommandEnd, String) {
        // Tools that draw on a terminal draw by the clock; these switch that off and leave the colours.
        let invocation = invocation.args(&self.command[1..]).env("CARGO_TERM_PROGRESS_WHEN", "never").env("CI", "true");
        // Python takes a cached module for fresh when size and second of its source agree.
        let invocation = invocation.env("RUST_TEST_THREADS", "1").env("PYTHONDONTWRITEBYTECODE", "1");
        let (ended, bytes) = match streams {
            Streams::Terminal => Terminal::start(invocation).ends(),
            Streams::Pipes => {
                let outcome = invocation.outcome();
                (outcome.ended, [outcome.stdout, b"\n-- stderr --\n".to_vec(), outcome.stderr].concat())
            }
        };
        (ended, without_times(&bytes))
    }
}

/// Takes out durations and their shares, times of day, and the thread's number in a panic message.
fn without_times(bytes: &[u8]) -> String {
    let times = r"[0-9]+(\.[0-9]+)?(\x1b\[[0-9;]*m)* ?m?s\b|[0-9]{2}:[0-9]{2}:[0-9]{2}";
    let shares = r"\([a-z]+ [0-9]+%[^)]*\)";
    let threads = r"\([0-9]+\) panicked";
    let differing = Regex::new(&[times, shares, threads].join("|")).expect("a regex");
    let text = differing.replace_all(bytes, b"<time>".as_slice()).into_owned();
    String::from_utf8(text).expect("these tools print UTF-8")
}

/// The folder of the toolchain that runs the tests: cargo without rustup in front, which would want a home.
pub(crate) fn toolchain() -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO").map(PathBuf::from);
    let found = cargo.as_deref().and_then(Path::parent).map(Path::to_owned).filter(|dir| dir.join("rustc").is_file());
    if found.is_none() {
        skip("the toolchain's folder is unknown: run the tests with cargo");
    }
    found
}

#[test]
fn eslint() {
    Case {
        tool: "eslint",
        command: &["eslint", "src"],
        fails_with: 1,
        project: &[
            ("package.json", r#"{"name":"project","private":true,"type":"module"}"#),
            ("eslint.config.js", "export default [{ rules: { 'no-unused-vars': 'error', 'no-undef': 'error' } }];\n"),
            ("src/fine.js", "export const fine = 1;\n"),
            ("src/cart.js", "export function total(items) {\n  const tax = 0.2;\n  return sum(items);\n}\n"),
        ],
        mended: ("src/cart.js", "export function total(items) {\n  return items.length;\n}\n"),
        category: "lint_error",
        files: &["src/cart.js"],
        says: &["'tax' is assigned a value but never used", "no-unused-vars", "'sum' is not defined", "no-undef"],
    }
    .check();
}

#[test]
fn tsc() {
    Case {
        tool: "tsc",
        command: &["tsc", "--noEmit", "-p", "."],
        fails_with: 1,
        project: &[
            ("tsconfig.json", r#"{"compilerOptions":{"strict":true,"types":[]},"include":["src"]}"#),
            ("src/cart.ts", "export function total(items: number[]): number {\n  return items.join();\n}\n"),
        ],
        mended: ("src/cart.ts", "export function total(items: number[]): number {\n  return items.length;\n}\n"),
        category: "type_error",
        files: &["src/cart.ts"],
        says: &["TS2322", "Type 'string' is not assignable to type 'number'"],
    }
    .check();
}

#[test]
fn vitest() {
    Case {
        tool: "vitest",
        command: &["vitest", "run"],
        fails_with: 1,
        project: &[
            ("package.json", r#"{"name":"project","private":true,"type":"module"}"#),
            ("src/total.js", "export const total = (items) => items.length;\n"),
            (
                "src/total.test.js",
                "import { expect, test } from 'vitest';\nimport { total } from './total.js';\n\n\
                 test('adds the prices up', () => {\n  expect(total([20, 22])).toBe(42);\n});\n",
            ),
        ],
        mended: ("src/total.js", "export const total = (items) => items.reduce((sum, item) => sum + item, 0);\n"),
        category: "test_failure",
        files: &["src/total.test.js"],
        says: &["adds the prices up", "expected 2 to be 42"],
    }
    .check();
}

#[test]
fn pytest() {
    Case {
        tool: "pytest",
        command: &["pytest"],
        fails_with: 1,
        project: &[
            ("cart.py", "def total(items):\n    return len(items)\n"),
            (
                "test_cart.py",
                "from cart import total\n\n\ndef test_adds_the_prices_up():\n    assert total([20, 22]) == 42\n",
            ),
        ],
        mended: ("cart.py", "def total(items):\n    return sum(items)\n"),
        category: "test_failure",
        files: &["test_cart.py"],
        says: &["test_adds_the_prices_up", "assert 2 == 42"],
    }
    .check();
}

#[test]
fn ruff() {
    Case {
        tool: "ruff-check",
        command: &["ruff", "check"],
        fails_with: 1,
        project: &[
            ("pkg/cart.py", "import os\n\n\ndef total(items):\n    return sum(items)\n"),
            ("pkg/fine.py", "A = 1\n"),
        ],
        mended: ("pkg/cart.py", "def total(items):\n    return sum(items)\n"),
        category: "lint_error",
        files: &["pkg/cart.py"],
        says: &["F401", "`os` imported but unused"],
    }
    .check();
}

#[test]
fn mypy() {
    Case {
        tool: "mypy",
        command: &["mypy", "cart.py"],
        fails_with: 1,
        project: &[("cart.py", "def total(items: list[int]) -> int:\n    return str(sum(items))\n")],
        mended: ("cart.py", "def total(items: list[int]) -> int:\n    return sum(items)\n"),
        category: "type_error",
        files: &["cart.py"],
        says: &["Incompatible return value type", "return-value"],
    }
    .check();
}

#[test]
fn cargo_test() {
    Case {
        tool: "cargo-test",
        command: &["cargo", "test", "--lib"],
        fails_with: 101,
        project: &[
            ("Cargo.toml", include_str!("../quickstart/Cargo.toml")),
            ("Cargo.lock", include_str!("../quickstart/Cargo.lock")),
            ("src/lib.rs", include_str!("../quickstart/src/lib.rs")),
        ],
        mended: (
            "src/lib.rs",
            r#"//! Temperatures.

/// Degrees Fahrenheit to degrees Celsius.
pub fn celsius(fahrenheit: f64) -> f64 {
    (fahrenheit - 32.0) * 5.0 / 9.0
}

#[cfg(test)]
mod tests {
    use super::celsius;

    #[test]
    fn water_boils_at_100() {
        assert_eq!(celsius(212.0).round(), 100.0);
    }

    #[test]
    fn absolute_zero_is_below_zero() {
        assert!(celsius(-459.67) < 0.0);
    }
}
"#,
        ),
        category: "test_failure",
        files: &["src/lib.rs"],
        says: &["tests::water_boils_at_100", "assertion `left == right` failed", "right: 100.0"],
    }
    .check();
}

#[test]
fn cargo_build() {
    Case {
        tool: "cargo-check",
        command: &["cargo", "build", "--example", "report"],
        fails_with: 101,
        project: &[
            ("Cargo.toml", include_str!("../quickstart/Cargo.toml")),
            ("Cargo.lock", include_str!("../quickstart/Cargo.lock")),
            ("src/lib.rs", include_str!("../quickstart/src/lib.rs")),
            ("examples/report.rs", include_str!("../quickstart/examples/report.rs")),
        ],
        mended: ("examples/report.rs", "fn main() {}\n"),
        category: "build_error",
        files: &["examples/report.rs"],
        says: &["E0308", "mismatched types", "expected `f64`, found `&str`"],
    }
    .check();
}

#[test]
fn shellcheck() {
    Case {
        tool: "shellcheck",
        command: &["shellcheck", "deploy.sh"],
        fails_with: 1,
        project: &[("deploy.sh", "#!/bin/sh\ntarget=$1\nrm -rf $target/old\n")],
        mended: ("deploy.sh", "#!/bin/sh\ntarget=$1\nrm -rf \"${target:?}/old\"\n"),
        category: "lint_error",
        files: &["deploy.sh"],
        says: &["SC2086", "Double quote to prevent globbing and word splitting"],
    }
    .check();
}

#[test]
fn gcc() {
    Case {
        tool: "gcc",
        command: &["gcc", "-c", "src/main.c", "-o", "main.o"],
        fails_with: 1,
        project: &[
            ("src/main.c", "#include \"total.h\"\n\nint main(void) {\n    return total(1);\n}\n"),
            ("src/total.h", "int total(int, int);\n"),
        ],
        mended: ("src/main.c", "#include \"total.h\"\n\nint main(void) {\n    return total(1, 2);\n}\n"),
        category: "build_error",
        files: &["src/main.c"],
        says: &["too few arguments to function", "main.c:4"],
    }
    .check();
}
