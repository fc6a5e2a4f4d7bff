//! Two sessions of an agent with real checks: the second one makes the mistakes of the first again. What it was
//! shown, when, and at what cost.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use verify_run::run::CommandEnd;

use super::{answer, hook};
use crate::sandbox::{Sandbox, VERIFY_RUN, need, tools};

/// Warned of at the edit or the command, of ten; a tenth of all tasks and kinds of mistakes is held out.
const WARNED_MIN: usize = 8;
/// Texts about the mistake at hand, of all texts, in percent.
const ABOUT_MIN: usize = 70;
/// What all texts of a session cost, bytes: four a token.
const BYTES_MAX: usize = 4 * 400;

/// A mistake that is made twice.
struct Mistake {
    file: &'static str,
    wrong: &'static str,
    right: &'static str,
    check: &'static str,
    /// What a text about it names.
    named: &'static str,
}

const MISTAKES: [Mistake; 10] = [
    Mistake {
        file: "app/pricing.py",
        wrong: "def total(prices):\n    return sum(prices) + 1\n",
        right: "def total(prices):\n    return sum(prices)\n",
        check: "pytest -q tests/test_pricing.py",
        named: "test_pricing",
    },
    Mistake {
        file: "app/names.py",
        wrong: "def initial(name):\n    return name[0].uper()\n",
        right: "def initial(name):\n    return name[0].upper()\n",
        check: "pytest -q tests/test_names.py",
        named: "uper",
    },
    Mistake {
        file: "app/table.py",
        wrong: "def find(table, key):\n    return table[key]\n",
        right: "def find(table, key):\n    return table.get(key)\n",
        check: "pytest -q tests/test_table.py",
        named: "KeyError",
    },
    Mistake {
        file: "app/ratio.py",
        wrong: "def ratio(a, b):\n    return a / b\n",
        right: "def ratio(a, b):\n    return a / b if b else 0\n",
        check: "pytest -q tests/test_ratio.py",
        named: "ZeroDivisionError",
    },
    Mistake {
        file: "app/report.py",
        wrong: "import os\n\nTITLE = 'a'\n",
        right: "TITLE = 'a'\n",
        check: "ruff check app/report.py",
        named: "F401",
    },
    Mistake {
        file: "app/mail.py",
        wrong: "def send():\n    sender = 1\n    return 2\n",
        right: "def send():\n    return 2\n",
        check: "ruff check app/mail.py",
        named: "F841",
    },
    Mistake {
        file: "app/flags.py",
        wrong: "def is_off(flag):\n    return flag == None\n",
        right: "def is_off(flag):\n    return flag is None\n",
        check: "ruff check app/flags.py",
        named: "E711",
    },
    Mistake {
        file: "app/words.py",
        wrong: "def first(words):\n    return wrods[0]\n",
        right: "def first(words):\n    return words[0]\n",
        check: "ruff check app/words.py",
        named: "F821",
    },
    Mistake {
        file: "web/util.mjs",
        wrong: "import fs from 'fs';\nexport const two = 2;\n",
        right: "export const two = 2;\n",
        check: "eslint web/util.mjs",
        named: "no-unused-vars",
    },
    Mistake {
        file: "web/page.mjs",
        wrong: "export const body = () => docment.body;\n",
        right: "export const body = () => globalThis.document.body;\n",
        check: "eslint web/page.mjs",
        named: "no-undef",
    },
];

fn project() -> Option<Sandbox> {
    for tool in ["pytest", "ruff", "eslint"] {
        need(tool)?;
    }
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(tools());
    let link = sandbox.tool("verify-run", "");
    std::fs::remove_file(&link).expect("a name");
    symlink(VERIFY_RUN, &link).expect("a link");
    sandbox.write(".gitignore", "__pycache__\n.pytest_cache\n.ruff_cache\n");
    sandbox.write("verify-run.toml", "[advice]\nhook_ms = 60000\n");
    sandbox.write(
        "pyproject.toml",
        "[tool.pytest.ini_options]\npythonpath = ['.']\n[tool.ruff.lint]\nselect = ['E', 'F']\n",
    );
    sandbox.write(
        "eslint.config.mjs",
        "export default [{ rules: { 'no-unused-vars': 'error', 'no-undef': 'error' } }];\n",
    );
    sandbox.write("app/__init__.py", "");
    let test = |name: &str, call: &str, value: &str| {
        let text = format!("from app import {name}\n\n\ndef test_{name}():\n    assert {name}.{call} == {value}\n");
        sandbox.write(format!("tests/test_{name}.py"), text);
    };
    test("pricing", "total([1, 2])", "3");
    test("names", "initial('ada')", "'A'");
    test("table", "find({'a': 1}, 'b')", "None");
    test("ratio", "ratio(1, 0)", "0");
    sandbox.commit("The project");
    Some(sandbox)
}

/// A session of Claude Code.
struct Session<'a> {
    sandbox: &'a Sandbox,
    name: &'static str,
    /// What the model was shown.
    texts: Vec<String>,
}

impl Session<'_> {
    fn call(&mut self, event: &str, more: Value) -> (String, Option<String>) {
        let mut said = json!({ "session_id": self.name, "cwd": self.sandbox.work(), "permission_mode": "default" });
        let fields = more.as_object().expect("an object").clone();
        said.as_object_mut().expect("an object").extend(fields);
        let text = answer(hook(self.sandbox, "claude", event, said.to_string()));
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let output = &answer["hookSpecificOutput"];
        let told = output["additionalContext"].as_str().unwrap_or_default().to_owned();
        if !told.is_empty() {
            self.texts.push(told.clone());
        }
        (told, output["updatedInput"]["command"].as_str().map(str::to_owned))
    }

    /// Writes a file as the model does; what it was shown before.
    fn edit(&mut self, file: &str, text: &str) -> String {
        let input = json!({ "file_path": self.sandbox.path(file), "content": text });
        let (told, _) = self.call("PreToolUse", json!({ "tool_name": "Write", "tool_input": input }));
        self.sandbox.write(file, text);
        told
    }

    /// Runs a check as the model does; what it was shown before, what after, and whether it passed.
    fn check(&mut self, line: &str) -> (String, String, bool) {
        let bash = |line: &str| json!({ "tool_name": "Bash", "tool_input": { "command": line }, "tool_use_id": line });
        let (before, other) = self.call("PreToolUse", bash(line));
        let line = other.expect("the line with the wrapper");
        assert!(line.starts_with("verify-run -- "), "{line}");
        let run = self.sandbox.bare("bash").args(["-c", &line]).env("CLAUDECODE", "1");
        let outcome = run.env("CLAUDE_CODE_SESSION_ID", self.name).env("PYTHONDONTWRITEBYTECODE", "1").outcome();
        self.sandbox.settle();
        let mut said = bash(&line);
        let passed = outcome.ended == CommandEnd::Exit(0);
        let event = if passed { "PostToolUse" } else { "PostToolUseFailure" };
        said["duration_ms"] = json!(100);
        if passed {
            said["tool_response"] = json!({ "stdout": outcome.stdout(), "stderr": "" })
        } else {
            said["error"] = json!(format!("Exit code 1\n{}{}", outcome.stdout(), outcome.stderr()))
        }
        let (after, _) = self.call(event, said);
        (before, after, passed)
    }
}

#[test]
fn of_ten_mistakes_made_again_at_least_eight_are_warned_of_in_time_and_in_few_words() {
    let Some(sandbox) = project() else { return };
    let mut first = Session { sandbox: &sandbox, name: "first", texts: Vec::new() };
    for it in &MISTAKES {
        first.edit(it.file, it.wrong);
        let (_, _, passed) = first.check(it.check);
        assert!(!passed, "{} is a mistake", it.file);
        first.edit(it.file, it.right);
        let (_, _, passed) = first.check(it.check);
        assert!(passed, "{} is mended", it.file);
    }
    assert_eq!(first.texts, Vec::<String>::new(), "nothing was known before, and its own failures are no news");
    sandbox.commit("What the first session made");
    sandbox.git(["checkout", "-q", "-b", "again"]);

    let mut second = Session { sandbox: &sandbox, name: "second", texts: Vec::new() };
    second.call("SessionStart", json!({ "source": "startup" }));
    second.call(
        "UserPromptSubmit",
        json!({ "prompt": "Go through the modules and make each of them do one more thing." }),
    );
    let (mut warned, mut about) = (0, 0);
    for it in &MISTAKES {
        let told = second.edit(it.file, &format!("{}\n", it.wrong));
        let (before, after, passed) = second.check(it.check);
        assert!(!passed, "{} is the mistake again", it.file);
        second.edit(it.file, it.right);
        warned += usize::from([&told, &before].iter().any(|text| text.contains(it.named)));
        for text in [told, before, after].iter().filter(|text| !text.is_empty()) {
            about += usize::from(text.contains(it.named));
        }
        second.call(
            "UserPromptSubmit",
            json!({ "prompt": "<task-notification><status>failed</status></task-notification>" }),
        );
    }
    let all = second.texts.len();
    let bytes: usize = second.texts.iter().map(String::len).sum();
    assert_eq!(sandbox.verify_run(["store", "status"]).outcome().ended, CommandEnd::Exit(0), "the notes are taken");
    let arms: Vec<Value> = sandbox.events().into_iter().filter(|event| event["kind"] == "delivery").collect();
    let held_out = arms.iter().filter(|event| event["arm"] == "holdout").count();
    let texts = second.texts.join("\n");
    let figures = format!("{warned} warned, {held_out} held out, {about} of {all} texts, {} tokens", bytes / 4);
    assert!(warned >= WARNED_MIN && warned + held_out >= MISTAKES.len(), "{figures}\n{texts}");
    assert!(about * 100 >= ABOUT_MIN * all, "{figures}\n{texts}");
    assert!(bytes < BYTES_MAX, "{figures}\n{texts}");
}
