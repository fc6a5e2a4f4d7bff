//! Secrets: whichever way they come, none is kept in clear.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::sandbox::{Sandbox, VERIFY_RUN, files_in};

/// Each put together here, so that no scanner finds one in this file: (what is printed, what must not be found).
fn secrets() -> Vec<(String, String)> {
    let random = |seed: usize, length: usize| -> String {
        let letters: Vec<char> = ('A'..='Z').chain('a'..='z').chain('0'..='9').collect();
        let next = |n: &usize| Some((n * 1_103 + 12_347) % 100_003);
        let numbers = std::iter::successors(Some(seed * 7_919 + 1), next).skip(1);
        // Begins with all three kinds, as real ones practically always have them.
        format!("Zq7{}", numbers.take(length - 3).map(|n| letters[n % letters.len()]).collect::<String>())
    };
    let token = |seed: usize, prefix: &str, length: usize| {
        let body = random(seed, length);
        (format!("{prefix}{body}"), body)
    };
    let within = |seed: usize, before: &str, length: usize, after: &str| {
        let body = random(seed, length);
        (format!("{before}{body}{after}"), body)
    };
    let key = random(1, 64);
    vec![
        token(2, "ghp_", 36),
        (format!("AK{}", "IA7Q2ZX4M9PLK3VT8R"), "7Q2ZX4M9PLK3VT8R".into()),
        token(3, "AWS_SECRET_ACCESS_KEY=", 40),
        token(4, "xoxb-", 40),
        token(5, "sk_live_", 24),
        token(6, "npm_", 36),
        token(7, "AIza", 35),
        token(8, "glpat-", 20),
        token(9, "Authorization: Bearer ", 40),
        (format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{}", random(10, 43)), random(10, 43)),
        within(11, "postgres://app:", 16, "@db.example.invalid/app"),
        token(12, "DB_PASSWORD=", 14),
        within(13, "{\"api_key\": \"", 24, "\"}"),
        (format!("-----BEGIN RSA PRIVATE KEY-----\n{key}\n{key}\n-----END RSA PRIVATE KEY-----"), key),
    ]
}

/// Every file below `dir`: its path and its bytes, unpacked where it is packed.
fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else if let Ok(bytes) = fs::read(&path) {
            let unpacked = zstd::decode_all(bytes.as_slice());
            found.push((path, unpacked.unwrap_or(bytes)));
        }
    }
    found
}

fn has(bytes: &[u8], part: &str) -> bool {
    memchr::memmem::find(bytes, part.as_bytes()).is_some()
}

/// Fails when a file below the project or the home holds a secret, or has one in its name.
#[track_caller]
fn assert_none_kept(sandbox: &Sandbox) {
    let mut found = Vec::new();
    for (path, bytes) in contents(&sandbox.work()).into_iter().chain(contents(&sandbox.home())) {
        for (printed, secret) in secrets() {
            if has(&bytes, &secret) || path.to_string_lossy().contains(&secret) {
                found.push(format!("{} in {}", printed.lines().next().unwrap_or_default(), path.display()));
            }
        }
    }
    assert!(found.is_empty(), "secrets in clear:\n{}", found.join("\n"));
}

/// Says each secret in a message, in a file's name and in a test's name, fails with `CODE`.
fn telling() -> Sandbox {
    let sandbox = Sandbox::repository();
    let mut output = String::new();
    for (n, (secret, _)) in secrets().iter().enumerate() {
        output += &format!("src/a{n}.py:{n}:1: error: refused {secret}\n");
        if !secret.contains([' ', '\n', '/', '"']) {
            output += &format!("src/{secret}.py:{n}:1: E902 error: no such file\n");
            output +=
                &format!("FAILED tests/test_a.py::test_login[{secret}] - AssertionError: assert '{secret}' == 1\n");
        }
    }
    let file = sandbox.tmp().join("output");
    fs::write(&file, output).expect("the output");
    for tool in ["pytest", "flake8"] {
        sandbox.tool(tool, &format!("cat {}; exit $CODE", file.display()));
    }
    sandbox
}

#[test]
fn secrets_in_messages_file_names_and_test_names_are_kept_nowhere() {
    let sandbox = telling();
    for (tool, code) in [("pytest", "1"), ("pytest", "0"), ("flake8", "0"), ("flake8", "1"), ("flake8", "1")] {
        sandbox.as_bare(&[tool, "."], |run| run.env("CODE", code));
        sandbox.settle();
    }
    assert_eq!(sandbox.events().len(), 5);
    // What is looked for would be found: the files that could hold them are there, and say that something was hidden.
    let kept = contents(&sandbox.state());
    for folder in ["events", "raw", "backup", "store.db", "baseline"] {
        assert!(kept.iter().any(|(path, _)| path.starts_with(sandbox.state().join(folder))), "no {folder}");
    }
    for folder in ["events", "raw", "backup", "store.db"] {
        let hidden = kept.iter().filter(|(path, _)| path.starts_with(sandbox.state().join(folder)));
        assert!(hidden.clone().any(|(_, bytes)| has(bytes, "[redacted:")), "nothing was hidden in {folder}");
    }
    assert!(sandbox.lessons().iter().all(|lesson| lesson.text.contains("[redacted:")));
    assert_none_kept(&sandbox);
}

#[test]
fn a_secret_in_two_writes_is_one() {
    let sandbox = Sandbox::repository();
    // The second write comes when the first has reached the caller: it was relayed alone.
    let mut script = String::new();
    for (n, (secret, _)) in secrets().iter().enumerate() {
        let (first, second) = secret.split_at(secret.len() / 2);
        script +=
            &format!("printf %s 'src/a{n}.py:{n}:1: error: refused {first}'\nread x\nprintf '%s\\n' '{second}'\n");
    }
    sandbox.tool("flake8", &format!("{script}exit 1"));
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let (orders, gate) = std::io::pipe().expect("a pipe");
    let errors = std::fs::File::create(sandbox.tmp().join("errors")).expect("a file");
    let mut wrapper = sandbox.verify_run(["flake8", "."]).fd(2, errors).fd(1, writer).fd(0, orders).spawn();
    answer_every_first_half(reader, gate);
    assert_eq!(wrapper.wait().expect("a status").code(), Some(1));
    assert!(sandbox.lesson().text.contains("[redacted:"));
    assert_none_kept(&sandbox);
}

/// Lets the command go on each time that it has said the first half of a line.
fn answer_every_first_half(mut output: impl std::io::Read, mut gate: impl std::io::Write) {
    let wanted: Vec<usize> = secrets().iter().map(|(secret, _)| secret.len() / 2).collect();
    let (mut all, mut block) = (Vec::new(), [0; 4096]);
    let mut expected = 0;
    for (n, half) in wanted.iter().enumerate() {
        expected += format!("src/a{n}.py:{n}:1: error: refused ").len() + half;
        while all.len() < expected {
            let count = output.read(&mut block).expect("reads");
            assert_ne!(count, 0, "ended early: {}", String::from_utf8_lossy(&all));
            all.extend(&block[..count]);
        }
        expected += secrets()[n].0.len() - half + 1;
        gate.write_all(b"\n").expect("the command waits");
    }
    output.read_to_end(&mut all).expect("reads");
    assert_eq!(all.len(), expected);
}

/// Lines of 64 bytes, `bytes` together.
fn filling(bytes: usize) -> Vec<u8> {
    let line = format!("{:.<63}\n", "quiet");
    line.repeat(bytes / 64 + 1).into_bytes()[..bytes].to_vec()
}

#[test]
fn half_a_secret_beside_the_cut_is_kept_nowhere() {
    let (head, tail) = (1 << 20, 15 << 20);
    let halves = [("Zq7Before0Ht5Wc", "Hx9After00Lm2Vd"), ("Rb4Before1Kn8Yf", "Gs6After11Pj3Tz")];
    let lines = halves.map(|(first, second)| format!("\nsrc/a.py:1:1: error: refused ghp_{first}{second}AAAAAA\n"));
    let middles = [0, 1].map(|n| lines[n].find(halves[n].1).expect("the second half"));
    // The first secret is torn where the kept beginning ends, the second one where the kept end begins.
    let output = [
        filling(head - middles[0]),
        lines[0].clone().into_bytes(),
        filling(1 << 20),
        lines[1].clone().into_bytes(),
        filling(tail - (lines[1].len() - middles[1])),
    ]
    .concat();
    for state_can_be_written in [true, false] {
        let sandbox = Sandbox::repository();
        let file = sandbox.tmp().join("output");
        fs::write(&file, &output).expect("the output");
        sandbox.tool("flake8", &format!("cat {}; exit 1", file.display()));
        if !state_can_be_written {
            fs::write(sandbox.state(), "in the way").expect("a file");
        }
        sandbox.as_bare(&["flake8", "."], |run| run);
        sandbox.settle();
        let kept = contents(&sandbox.work());
        assert!(kept.iter().any(|(_, bytes)| bytes.len() > head && has(bytes, "quiet")), "the output is kept");
        for (path, bytes) in kept {
            let found = halves.iter().flat_map(|(a, b)| [a, b]).find(|half| has(&bytes, half));
            assert_eq!(found, None, "in {}", path.display());
        }
    }
}

#[test]
fn secrets_on_the_command_line_are_kept_nowhere() {
    let sandbox = Sandbox::repository();
    sandbox.tool("flake8", "echo 'src/a.py:1:1: error: no'; exit ${CODE:-1}");
    for (secret, _) in secrets() {
        for code in ["1", "0"] {
            let variable = format!("TARGET={secret}");
            let commands: [&[&str]; 5] = [
                &["flake8", &secret],
                &["flake8", "--token", &secret],
                &["flake8", &format!("--password={secret}")],
                &["env", &variable, "flake8", "."],
                &["--shell", &format!("flake8 --token '{secret}' src")],
            ];
            for command in commands {
                sandbox.verify_run(command).env("CODE", code).outcome();
            }
        }
    }
    let outcome = sandbox.verify_run(["last"]).prints();
    assert!(secrets().iter().all(|(_, secret)| !outcome.contains(secret)), "{outcome}");
    assert_eq!(sandbox.events().len(), secrets().len() * 10);
    assert_none_kept(&sandbox);
}

#[test]
fn secrets_in_arguments_that_are_not_text_are_kept_nowhere() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::repository();
    sandbox.tool("flake8", "printf '%s\\n' \"src/a.py:1:1: error: no $*\"; exit 1");
    for (secret, _) in secrets() {
        let argument = [b"caf\xe9 ", secret.as_bytes(), b" \xff"].concat();
        sandbox.verify_run([OsStr::new("flake8"), OsStr::from_bytes(&argument)]).outcome();
    }
    assert_eq!(sandbox.events().len(), secrets().len());
    let encoded: Vec<_> = sandbox.events().iter().map(|event| event["argv"].to_string()).collect();
    assert_none_kept(&sandbox);
    assert!(encoded.iter().all(|argv| argv.contains("redacted")), "{encoded:?}");
}

#[test]
fn secrets_in_task_and_session_are_kept_nowhere() {
    let sandbox = Sandbox::repository();
    sandbox.tool("flake8", "echo 'src/a.py:1:1: error: no'; exit 1");
    for (secret, _) in secrets() {
        sandbox.verify_run(["--task", &secret, "--session", &secret, "--agent", &secret, "flake8"]).outcome();
    }
    sandbox.settle();
    assert_none_kept(&sandbox);
}

#[test]
fn secrets_in_names_of_branches_folders_and_tasks_are_kept_nowhere() {
    let sandbox = Sandbox::repository();
    sandbox.tool("flake8", "echo 'src/a.py:1:1: error: no'; exit 1");
    let is_name = |text: &str| !text.contains([' ', '\n', '/', '"', ':', '=']);
    let secrets: Vec<_> = secrets().into_iter().filter(|(text, _)| is_name(text)).take(3).collect();
    assert_eq!(secrets.len(), 3);
    for (secret, _) in &secrets {
        sandbox.git(["switch", "--quiet", "--create", &format!("fix/{secret}")]);
        fs::create_dir(sandbox.path(secret)).expect("a folder");
        let title = format!("Replace {secret}");
        sandbox.verify_run(["task", "start", secret, "--title", &title, "--files", secret]).outcome();
        sandbox.verify_run(["--sync", "flake8"]).dir(secret).outcome();
    }
    assert_eq!(sandbox.events().iter().filter(|event| event["argv"].is_array()).count(), 3);
    for (path, bytes) in contents(&sandbox.state()).into_iter().chain(contents(&sandbox.path(".lessons"))) {
        let found = secrets.iter().find(|(_, secret)| has(&bytes, secret) || path.to_string_lossy().contains(secret));
        assert_eq!(found, None, "in {}", path.display());
    }
}

#[test]
fn a_spool_file_in_the_work_tree_holds_no_secret() {
    let sandbox = telling();
    fs::write(sandbox.state(), "in the way").expect("a file");
    for (secret, _) in secrets() {
        let command = ["--task", &secret, "flake8", "--token", &secret, &format!("--password={secret}")];
        sandbox.verify_run(command).env("CODE", "1").outcome();
    }
    sandbox.settle();
    let spooled = contents(&sandbox.path(".lessons/.state/spool"));
    assert_eq!(spooled.len(), secrets().len());
    assert!(spooled.iter().all(|(_, bytes)| has(bytes, "[redacted:")));
    assert_none_kept(&sandbox);
    fs::remove_file(sandbox.state()).expect("our file");
    sandbox.verify_run(["flake8", "."]).env("CODE", "1").outcome();
    assert_eq!(sandbox.events().len(), secrets().len() + 1);
    assert_eq!(files_in(&sandbox.path(".lessons/.state/spool")), [] as [PathBuf; 0]);
    assert_none_kept(&sandbox);
}

#[test]
fn a_spool_is_private_and_gone_when_it_is_recorded() {
    let sandbox = telling();
    sandbox.keep_lessons();
    fs::create_dir_all(sandbox.state()).expect("the state folder");
    fs::set_permissions(sandbox.state(), fs::Permissions::from_mode(0o700)).expect("our folder");
    let lock = File::create(sandbox.state().join("recorder.lock")).expect("a file");
    lock.lock().expect("no one else");
    let open_to_all = |code: &str| {
        let line = format!("umask 0; exec {VERIFY_RUN} flake8 .");
        sandbox.bare("sh").args(["-c", &line]).env("CODE", code).outcome();
        sandbox.settle();
    };
    open_to_all("1");
    let spool = sandbox.state().join("spool");
    assert_eq!(files_in(&spool).len(), 1);
    assert_private(&sandbox.state());
    fs::remove_file(sandbox.state().join("recorder.lock")).expect("our file");
    drop(lock);
    for (n, code) in ["0", "0", "1", "1"].into_iter().enumerate() {
        // Without a change the pass would make a flake of the failure, and that has no lesson.
        sandbox.write("changed", n.to_string());
        open_to_all(code);
    }
    assert_eq!((sandbox.events().len(), files_in(&spool)), (5, Vec::new()));
    assert_private(&sandbox.state());
    let lesson = sandbox.lesson().path;
    assert_eq!(fs::metadata(lesson).expect("the lesson").permissions().mode() & 0o777, 0o644);
}

/// Folders 0700, files 0600, git's objects 0400 (but for a lock that this test made itself).
#[track_caller]
fn assert_private(dir: &Path) {
    let mode = |path: &Path| fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    assert_eq!(mode(dir), 0o700, "{}", dir.display());
    for entry in fs::read_dir(dir).expect("reads").flatten() {
        let path = entry.path();
        if path.is_dir() {
            assert_private(&path);
        } else if path.file_name().is_some_and(|name| name != "recorder.lock") {
            assert_eq!(mode(&path) | 0o200, 0o600, "{}", path.display());
        }
    }
}
