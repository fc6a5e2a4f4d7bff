//! Lines with the wrapper in them do what they did: each is executed as it was, and as a hook rewrites it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{answer, hook};
use crate::sandbox::{Sandbox, VERIFY_RUN};

/// What a program that is called here prints and leaves behind, so that another order, folder or argument shows.
const STUB: &str = r#"
printf '%s' "$(basename "$0")"; printf ' <%s>' "$@"; echo " in ${PWD##*/} ${FOO-} ${BAR-}"
echo "$(basename "$0") complains" >&2
printf 'ran %s\n' "$(basename "$0") $*" >>"$SCENE/trace"
if [ ! -t 0 ] && [ "${READS-}" ]; then cat; fi
case " $* " in *" --fail "*) exit 3 ;; *" --die "*) kill -TERM $$ ;; esac
exit "${CODE-0}"
"#;
/// Programs that are what they are; every other one is a stub.
const REAL: [&str; 25] = [
    "sh", "bash", "env", "timeout", "nice", "nohup", "cat", "tail", "head", "sort", "wc", "tee", "grep", "rm", "mkdir",
    "git", "sleep", "basename", "stdbuf", "setsid", "xargs", "find", "printf", "true", "false",
];

/// Ways to put a check (`C`) and another one (`D`) into a line.
const LINES: [&str; 62] = [
    "C",
    "C; echo $?",
    "C || true",
    "C --fail || true",
    "C --fail; echo $?",
    "C && D",
    "C --fail && D",
    "C || D",
    "C --fail || D",
    "C; D; echo $?",
    "C\nD --fail\necho $?",
    "cd web && C 2>&1 | tail -40",
    "cd web && C && pwd",
    "(cd web && C); pwd",
    "{ C; D; } 2>/dev/null",
    "FOO=1 C || true",
    "FOO=1 BAR='x y' C",
    "export FOO=2; C",
    "CODE=7 C; echo $?",
    "C >out.txt 2>err.txt; cat out.txt err.txt",
    "C >>out.txt; C >>out.txt; cat out.txt",
    "C 2>&1 >/dev/null | cat",
    "C | cat | sort",
    "echo input | READS=1 C",
    "READS=1 C <web/in.txt",
    "echo a; C; echo b",
    "C # a comment with C in it",
    "# C\nC",
    "C 'a b' \"c d\" e\\ f",
    "C \"$(echo one two)\" $(echo three four)",
    "C \"$HOME_OF_NOBODY\" $((1 + 2)) ${FOO:-default}",
    "C *.txt web/*",
    "C \\\n  --option \\\n  value",
    "X=$(C); echo \"got $X\"",
    "X=`C`; echo \"got $X\"",
    "if C --fail; then echo yes; else echo no; fi",
    "for i in 1 2; do C $i; done",
    "while C --fail; do echo never; done",
    "case x in x) C;; esac",
    "C <<EOF\ntext $FOO\nEOF",
    "cat <<'EOF' | READS=1 C\n$FOO\nEOF",
    "f() { C; }; f",
    "! C --fail; echo $?",
    "! C; echo $?",
    "set -e; C --fail; echo not reached",
    "set -eu; C; D; echo end",
    "set -x; C",
    "trap 'echo trapped' EXIT; C",
    "C & wait; echo $?",
    "C --fail & wait $!; echo $?",
    "exec C",
    "exec C --fail",
    "command C",
    "env FOO=3 C",
    "timeout 20 C",
    "nice C; echo $?",
    "sh -c 'C --fail'; echo $?",
    "eval 'C'",
    "PATH=/usr/bin:/bin; echo $PATH | wc -c",
    "PATH=\"$PATH:/nowhere\" C",
    "test -f web/in.txt && C; [ 1 = 1 ] && D",
    "C --die; echo $?",
];
/// Checks that are put into them.
const CHECKS: [(&str, &str); 4] = [
    ("npm test", "tsc --noEmit"),
    ("eslint .", "vitest run"),
    ("npx -y eslint src", "cargo test"),
    ("pytest -q", "ruff check ."),
];

/// What can be seen of a line that was run.
#[derive(Debug, PartialEq)]
struct Seen {
    stdout: String,
    stderr: String,
    status: String,
    files: BTreeMap<PathBuf, String>,
}

/// A folder in which nothing is but the real programs and stubs for all others that the lines name.
fn scene(lines: &[String]) -> Sandbox {
    let sandbox = Sandbox::repository();
    let stub = sandbox.tool("npm", STUB);
    let bin = stub.parent().expect("a folder");
    let put = |name: &str, to: &Path| drop(std::os::unix::fs::symlink(to, bin.join(name)));
    for name in REAL {
        put(name, &std::fs::canonicalize(Path::new("/usr/bin").join(name)).expect("a program of the system"));
    }
    put("verify-run", Path::new(VERIFY_RUN));
    let mut names: Vec<&str> = lines.iter().flat_map(|line| line.split([' ', '\n', '(', '{', ';', '|', '&'])).collect();
    names.retain(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte))
    });
    for name in names {
        let (path, link) = (bin.join(name), bin.join("npm"));
        if fs::symlink_metadata(&path).is_err() && ![".", "..", "time"].contains(&name) {
            fs::hard_link(link, path).expect("a stub");
        }
    }
    sandbox
}

/// `PATH` with nothing else on it.
fn only(sandbox: &Sandbox) -> PathBuf {
    sandbox.tool("npm", STUB).parent().expect("a folder").to_owned()
}

/// Runs a line in a fresh folder; what it did, the folder's own name left out.
fn run(sandbox: &Sandbox, shell: &str, line: &str) -> Seen {
    let dir = sandbox.path("line");
    fs::create_dir_all(dir.join("web")).expect("folders");
    fs::write(dir.join("web/in.txt"), "from a file\n").expect("written");
    fs::write(dir.join("a.txt"), "").expect("written");
    let call = sandbox.bare(shell).args(["-c", line]).dir("line").env("SCENE", &dir).env("PATH", only(sandbox));
    let outcome = call.stdin("").outcome();
    let mut files = BTreeMap::new();
    collect(&dir, &dir, &mut files);
    fs::remove_dir_all(&dir).expect("removed");
    let status = format!("{:?}", outcome.ended);
    // The shell names the command that was killed, and `time` says how long it took.
    let differs =
        |line: &str| line.contains("Terminated") || ["real\t", "user\t", "sys\t"].iter().any(|it| line.starts_with(it));
    let stderr = outcome.stderr().lines().filter(|line| !differs(line)).collect::<Vec<_>>().join("\n");
    Seen { stdout: outcome.stdout().to_owned(), stderr, status, files }
}

fn collect(root: &Path, dir: &Path, files: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(dir).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, files)
        } else {
            let relative = path.strip_prefix(root).expect("inside").to_owned();
            drop(files.insert(relative, fs::read_to_string(&path).unwrap_or_default()));
        }
    }
}

/// The line as a hook wants it to be run.
pub(super) fn rewritten(sandbox: &Sandbox, line: &str) -> Option<String> {
    rewritten_where(sandbox, line, "default", ("CLAUDE_CODE_SESSION_ATTENDED", "1"))
}

fn rewritten_where(sandbox: &Sandbox, line: &str, mode: &str, (name, value): (&str, &str)) -> Option<String> {
    let said = json!({
        "session_id": "s", "cwd": sandbox.work(), "permission_mode": mode, "tool_name": "Bash",
        "tool_input": { "command": line },
    });
    let call = hook(sandbox, "claude", "pre-tool", said.to_string()).env("PATH", only(sandbox)).env(name, value);
    let text = answer(call);
    let answer: Value = serde_json::from_str(&text).ok()?;
    answer["hookSpecificOutput"]["updatedInput"]["command"].as_str().map(str::to_owned)
}

/// The lines of the recognition tests.
fn examples() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recognition.toml");
    let examples: toml::Table = fs::read_to_string(path).expect("the examples").parse().expect("TOML");
    let examples = examples["example"].as_array().expect("a list");
    examples.iter().filter_map(|example| example["line"].as_str()).map(str::to_owned).collect()
}

/// Every check in every kind of line.
fn lines() -> Vec<String> {
    let fill = |template: &str, (first, second): (&str, &str)| {
        let mut line = String::new();
        for (at, letter) in template.char_indices() {
            let alone =
                |at: usize| !template[at..].starts_with(|next: char| next.is_ascii_alphanumeric() || next == '=');
            let begins = !template[..at].ends_with(|before: char| before.is_ascii_alphanumeric());
            match letter {
                'C' if begins && alone(at + 1) => line.push_str(first),
                'D' if begins && alone(at + 1) => line.push_str(second),
                other => line.push(other),
            }
        }
        line
    };
    CHECKS.into_iter().flat_map(|checks| LINES.map(|template| fill(template, checks))).collect()
}

fn check(lines: &[String]) -> usize {
    let sandbox = scene(lines);
    let mut changed = 0;
    for line in lines {
        let Some(new) = rewritten(&sandbox, line) else { continue };
        changed += 1;
        assert_eq!(new.replace("verify-run -- ", ""), *line, "nothing else may move");
        for shell in ["bash", "sh"] {
            assert_eq!(run(&sandbox, shell, &new), run(&sandbox, shell, line), "{shell}: {new}");
        }
    }
    sandbox.settle();
    changed
}

#[test]
fn rewritten_lines_do_what_they_did() {
    let lines = lines();
    let changed = check(&lines);
    assert!(lines.len() == 248 && changed > 140, "{changed} of {} lines are rewritten", lines.len());
}

#[test]
fn examples_of_recognition_do_what_they_did() {
    let lines = examples();
    let changed = check(&lines);
    assert!(lines.len() >= 236 && changed > 100, "{changed} of {} lines are rewritten", lines.len());
}

#[test]
fn rules_about_permission_are_neither_widened_nor_lost() {
    let sandbox = scene(&["npm rm".to_owned()]);
    let settings = |text: Value| drop(sandbox.write(".claude/settings.json", text.to_string()));
    let ask = || rewritten(&sandbox, "npm test");
    assert_eq!(ask().as_deref(), Some("verify-run -- npm test"));
    // It runs unasked: as another command it would not.
    settings(json!({ "permissions": { "allow": ["Bash(npm test:*)"] } }));
    assert_eq!(ask(), None);
    // The user lets both run.
    settings(json!({ "permissions": { "allow": ["Bash(npm test:*)", "Bash(verify-run --only-checks -- npm test)"] } }));
    assert_eq!(ask().as_deref(), Some("verify-run --only-checks -- npm test"));
    settings(json!({ "permissions": { "allow": ["Bash"] } }));
    assert_eq!(ask().as_deref(), Some("verify-run -- npm test"));
    // A rule is against it.
    for kind in ["deny", "ask"] {
        settings(json!({ "permissions": { kind: ["Bash(npm *)"] } }));
        assert_eq!(ask(), None, "{kind}");
    }
    // Only a single check is run under a rule for checks.
    settings(json!({ "permissions": { "allow": ["Bash(verify-run --only-checks -- npm test)"] } }));
    assert_eq!(rewritten(&sandbox, "FOO=1 npm test").as_deref(), Some("FOO=1 verify-run -- npm test"));
    assert_eq!(rewritten(&sandbox, "rm -rf / ; npm run deploy"), None);
}

#[test]
fn where_nobody_can_be_asked_only_what_is_allowed_takes_the_place_of_a_line() {
    let sandbox = scene(&["npm rm".to_owned()]);
    let attended = ("CLAUDE_CODE_SESSION_ATTENDED", "1");
    for (mode, variable, expected) in [
        ("default", attended, true),
        ("dontAsk", attended, false),
        ("default", ("CLAUDE_CODE_SESSION_ATTENDED", "0"), false),
        ("default", ("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"), false),
        ("bypassPermissions", ("CLAUDE_CODE_SESSION_ATTENDED", "0"), true),
        // A model judges each command there, whether a person attends or not.
        ("auto", attended, true),
        ("auto", ("CLAUDE_CODE_SESSION_ATTENDED", "0"), true),
    ] {
        let line = rewritten_where(&sandbox, "npm test", mode, variable);
        assert_eq!(line.is_some(), expected, "{mode} {variable:?}");
    }
    let rule = json!({ "permissions": { "allow": ["Bash(verify-run --only-checks -- npm test)"] } });
    sandbox.write(".claude/settings.json", rule.to_string());
    let line = rewritten_where(&sandbox, "npm test", "dontAsk", attended);
    assert_eq!(line.as_deref(), Some("verify-run --only-checks -- npm test"));
}

#[test]
fn a_name_that_is_no_program_here_is_left_to_the_shell() {
    let sandbox = Sandbox::new();
    assert_eq!(rewritten(&sandbox, "mocha test"), None, "it may be a function of the shell's");
    let prepared = rewritten(&sandbox, ". ./env.sh && mocha test").expect("rewritten");
    assert!(prepared.ends_with("/verify-run -- mocha test"), "{prepared}");
}
