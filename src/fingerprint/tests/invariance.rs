//! The recorded outputs of real tools, as they would be on another machine, at another time, behind another command:
//! their keys are the same. With another word in the message they differ.
//!
//! Every change is made to all outputs. A change without a match leaves the output as it is; how many it did change
//! is asserted. What only few outputs have (a port, a seed) is also put into every message.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::compute_fingerprint;
use crate::base::tree::FsTree;
use crate::diagnose::{DefinitionSet, DiagnosisInput, Diagnostic, diagnose_output};
use crate::run::CommandEnd;

/// Where the outputs were recorded.
const ROOT: &str = "/home/dev/project";
/// Larger outputs are the hostile ones, of which the parser's own tests take care.
const OUTPUT_BYTES_MAX: u64 = 200_000;

struct Case {
    name: String,
    command: String,
    output: String,
    /// On a terminal.
    terminal: String,
    exit_code: u8,
    project: String,
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut cases: Vec<Case> = fs::read_dir(corpus.join("cases"))
        .expect("the corpus")
        .flatten()
        .filter(|case| fs::metadata(case.path().join("output.txt")).is_ok_and(|file| file.len() < OUTPUT_BYTES_MAX))
        .map(|case| {
            let read = |name: &str| fs::read(case.path().join(name)).expect("is there");
            let text = |name: &str| String::from_utf8_lossy(&read(name)).into_owned();
            let truth: serde_json::Value = serde_json::from_str(&text("truth.json")).expect("is JSON");
            let project = truth["project"].as_str().unwrap_or_default();
            Case {
                name: case.file_name().to_string_lossy().into_owned(),
                command: text("command"),
                output: text("output.txt"),
                terminal: text("output.tty"),
                exit_code: text("exit_code").trim().parse().unwrap_or(1),
                project: corpus.join("projects").join(project).to_string_lossy().into_owned(),
            }
        })
        .filter(|case| case.exit_code != 0)
        .collect();
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
});

/// What is found in each of the outputs as it is.
static ITEMS: LazyLock<Vec<Vec<Diagnostic>>> =
    LazyLock::new(|| CASES.iter().map(|case| items(case, &case.output, ROOT)).collect());

/// The items that say something else than those before them, each with the name of its case.
static SAID: LazyLock<Vec<(&str, &Diagnostic)>> = LazyLock::new(|| {
    let mut known = BTreeSet::new();
    let all = CASES.iter().zip(&*ITEMS).flat_map(|(case, items)| items.iter().map(|item| (&*case.name, item)));
    all.filter(|(_, item)| known.insert((&item.tool, &item.code, &item.message))).collect()
});

fn items(case: &Case, output: &str, root: &str) -> Vec<Diagnostic> {
    static DEFINITIONS: LazyLock<DefinitionSet> = LazyLock::new(DefinitionSet::shipped_only);
    diagnose_output(&DiagnosisInput {
        output: output.as_bytes(),
        command: &case.command,
        tool: None,
        kind: None,
        ended: CommandEnd::Exit(case.exit_code),
        dir: "",
        root,
        tree: &FsTree::new(Path::new(&case.project)),
        baseline: None,
        definitions: &DEFINITIONS,
    })
    .items
}

/// The pattern keys, of which the family is a part, each with its text.
fn pattern_keys(items: &[Diagnostic]) -> BTreeMap<String, String> {
    items.iter().map(compute_fingerprint).map(|keys| (keys.pattern, keys.masked)).collect()
}

/// What the keys before and after a change don't share, if anything.
fn difference(name: &str, before: &[Diagnostic], after: &[Diagnostic]) -> Option<String> {
    let (before, after) = (pattern_keys(before), pattern_keys(after));
    let only = |these: &BTreeMap<String, String>, others: &BTreeMap<String, String>| {
        let only = these.iter().filter(|(key, _)| !others.contains_key(*key));
        only.map(|(_, text)| text.clone()).take(3).collect::<Vec<_>>()
    };
    let (gone, new) = (only(&before, &after), only(&after, &before));
    (!gone.is_empty() || !new.is_empty()).then(|| format!("{name}: {gone:?} -> {new:?}"))
}

/// Asserts that no output's keys differ after `change`, and that it changes `at_least` this many outputs. A change
/// gives the output and the root, or `None` where it can't be made.
fn assert_same(what: &str, at_least: usize, change: impl Fn(&Case) -> Option<(String, String)>) {
    let (mut tried, mut found) = (0, Vec::new());
    for (case, before) in CASES.iter().zip(&*ITEMS) {
        let Some((output, root)) = change(case) else { continue };
        if output != case.output || root != ROOT {
            tried += 1;
            found.extend(difference(&case.name, before, &items(case, &output, &root)));
        }
    }
    assert!(tried >= at_least, "{what}: only {tried} outputs have any");
    assert!(found.is_empty(), "{what}: {} of {tried}\n{}", found.len(), found.join("\n"));
}

fn replaced(case: &Case, pattern: &str, by: impl Fn(&Captures<'_>) -> String) -> Option<(String, String)> {
    let regex = Regex::new(pattern).expect("a valid pattern");
    Some((regex.replace_all(&case.output, by).into_owned(), ROOT.to_owned()))
}

/// Each hex digit by another one of its kind, so that the shape stays.
fn other_digits(text: &str) -> String {
    let other = |c: char| match c {
        '0'..='8' | 'a'..='e' => char::from(c as u8 + 1),
        '9' => '1',
        'f' => 'a',
        other => other,
    };
    text.chars().map(other).collect()
}

fn elsewhere(case: &Case, root: &str) -> Option<(String, String)> {
    Some((case.output.replace(ROOT, root), root.to_owned()))
}

#[test]
fn in_another_place() {
    assert_same("root", 60, |case| elsewhere(case, "/srv/ci/build-7/work"));
    assert_same("work tree", 60, |case| elsewhere(case, "/home/dev/project/.worktrees/fix-1234567"));
    assert_same("temporary folder", 60, |case| elsewhere(case, "/tmp/tmp.Xa81bQ/project"));
    // Not only the project is in it: logs, caches, toolchains.
    assert_same("home", 60, |case| {
        Some((case.output.replace("/home/dev", "/Users/ann.b"), ROOT.replace("/home/dev", "/Users/ann.b")))
    });
}

#[test]
fn on_windows() {
    assert_same("path", 60, |case| {
        let path = Regex::new(r"/home/dev/project[\w./@+-]*").expect("a valid pattern");
        let windows =
            |found: &Captures<'_>| format!("C:\\Users\\ann\\project{}", found[0][ROOT.len()..].replace('/', "\\"));
        Some((path.replace_all(&case.output, windows).into_owned(), "C:\\Users\\ann\\project".to_owned()))
    });
    assert_same("CRLF", 130, |case| Some((case.output.replace('\n', "\r\n"), ROOT.to_owned())));
}

#[test]
fn on_a_terminal() {
    assert_same("colour", 130, |case| {
        let lines = case.output.lines().map(|line| match line.split_once(' ') {
            Some((first, rest)) => format!("\x1b[1;31m{first}\x1b[0m \x1b[38;5;250m{rest}\x1b[39m\n"),
            None => format!("\x1b[1;31m{line}\x1b[0m\n"),
        });
        Some((lines.collect(), ROOT.to_owned()))
    });
    assert_same("progress", 130, |case| {
        let lines = case.output.lines().enumerate().map(|(n, line)| match n % 3 {
            0 => format!("[{n}/40] working 45% \r\x1b[K{line}\n"),
            _ => format!("{line}\n"),
        });
        Some((lines.collect(), ROOT.to_owned()))
    });
    // With the colours that the tools have chosen.
    let colour = Regex::new("\x1b\\[[0-9;:]*m").expect("a valid pattern");
    let coloured = CASES.iter().filter(|case| colour.is_match(&case.terminal));
    let found = coloured.clone().filter_map(|case| {
        let plain = colour.replace_all(&case.terminal, "");
        difference(&case.name, &items(case, &case.terminal, ROOT), &items(case, &plain, ROOT))
    });
    let found: Vec<String> = found.collect();
    assert!(coloured.count() >= 40 && found.is_empty(), "own colours\n{}", found.join("\n"));
}

#[test]
fn at_another_time() {
    assert_same("timestamps", 8, |case| {
        replaced(case, r"\b\d{4}-\d\d-\d\d|\b\d\d:\d\d:\d\d(?:\.\d+)?", |found| match &found[0] {
            date if date.contains('-') => "2027-03-05".to_owned(),
            time => format!("11:52:07{}", if time.contains('.') { ".918" } else { "" }),
        })
    });
    assert_same("durations", 40, |case| {
        replaced(case, r"\b\d+(?:\.\d+)?( ?)(ms|s|seconds|µs)\b", |found| format!("7{}{}", &found[1], &found[2]))
    });
    assert_same("ids", 5, |case| {
        replaced(case, r"\b0x[0-9a-f]{4,}|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b", |found| {
            found[0]
                .strip_prefix("0x")
                .map_or_else(|| other_digits(&found[0]), |hex| format!("0x{}", other_digits(hex)))
        })
    });
    assert_same("ports", 1, |case| {
        replaced(case, r"((?:localhost|127\.0\.0\.1|::1\]?):)\d{2,5}\b", |found| format!("{}4711", &found[1]))
    });
    assert_same("seeds and processes", 1, |case| {
        replaced(case, r"(?i)\b((?:seed|pid)\b[ =:]+|==)\d+", |found| format!("{}86421", &found[1]))
    });
    assert_same("timestamps before every line", 130, |case| {
        let stamp = |(n, line): (usize, &str)| format!("2026-03-04T12:30:{:02}.{n:07}Z {line}\n", n % 60);
        Some((case.output.lines().enumerate().map(stamp).collect(), ROOT.to_owned()))
    });
}

#[test]
fn with_another_value_in_its_message() {
    let pairs = [
        ("timestamp", "at 2026-11-22T08:51:54.123Z", "at 2027-01-02 23:11:07"),
        ("time", "at 08:51:54", "at 11:02:33.120"),
        ("uuid", "in 7f3e9b1c-2d4a-4c6e-8f01-a2b3c4d5e6f7", "in 01020304-0506-4708-890a-0b0c0d0e0f10"),
        ("address", "at 0x7ffee4a1b2c8", "at 0x55d0c0de"),
        ("commit", "of 3f786850e387550f", "of 89e6c98d92887913"),
        ("port", "on localhost:3000", "on localhost:41234"),
        ("seed", "with seed 7", "with seed 1843213"),
        ("process", "in pid 4711", "in pid 86"),
        ("duration", "after 12.5ms", "after 3 s"),
        ("size", "of 12 MiB", "of 512 bytes"),
        ("line", "(line 12, column 3)", "(line 4711, column 80)"),
        ("temporary file", "in /tmp/tmp.Xa81bQ/out.txt", "in /tmp/pytest-of-ann/pytest-3/out.txt"),
        ("file at home", "in /home/dev/project/a/b.txt", "in C:\\Users\\ann\\project\\a\\b.txt"),
    ];
    for (what, one, other) in pairs {
        assert_pairs(what, 300, true, |item| Some((behind(item, one), behind(item, other))));
    }
}

/// The item with `text` at the end of the line by which it is keyed.
fn behind(item: &Diagnostic, text: &str) -> Diagnostic {
    let message = item.message.lines().find(|line| line.chars().any(char::is_alphanumeric)).unwrap_or_default();
    Diagnostic { message: format!("{} {text}", message.trim_end().trim_end_matches(':')), ..item.clone() }
}

/// Asserts for every message that its two variants have the same keys, or that they don't.
fn assert_pairs(
    what: &str,
    at_least: usize,
    same: bool,
    variants: impl Fn(&Diagnostic) -> Option<(Diagnostic, Diagnostic)>,
) {
    let (mut tried, mut found) = (0, Vec::new());
    for (name, item) in &*SAID {
        let Some((one, other)) = variants(item) else { continue };
        tried += 1;
        let (one, other) = (compute_fingerprint(&one), compute_fingerprint(&other));
        if (one.pattern == other.pattern) != same {
            found.push(format!("{name}: {:?} / {:?}", one.masked, other.masked));
        }
    }
    assert!(tried >= at_least, "{what}: only {tried} messages have any");
    assert!(found.is_empty(), "{what}: {} of {tried}\n{}", found.len(), found[..found.len().min(40)].join("\n"));
}

#[test]
fn with_the_code_moved() {
    let place = r"(?m)(\.\w+:)(\d+)(:\d+)?|\((\d+)(,\d+\))|\b([Ll]ine )(\d+)|^( *)(\d+)( \|)";
    assert_same("lines", 60, |case| {
        let shift = |number: &str| number.parse::<u64>().map_or(number.to_owned(), |number| (number + 1).to_string());
        replaced(case, place, |found| {
            let group = |n: usize| found.get(n).map_or("", |group| group.as_str());
            match (found.get(1), found.get(4), found.get(6)) {
                (Some(_), ..) => format!("{}{}{}", group(1), shift(group(2)), group(3)),
                (_, Some(_), _) => format!("({}{}", shift(group(4)), group(5)),
                (_, _, Some(_)) => format!("{}{}", group(6), shift(group(7))),
                _ => format!("{}{}{}", group(8), shift(group(9)), group(10)),
            }
        })
    });
}

/// Lines of the output, end exclusive.
type Span = (usize, usize);

/// The spans of the items in the output's own lines, where these are the cleaned ones.
fn spans(case: &Case, items: &[Diagnostic]) -> Option<(Vec<String>, Vec<Span>)> {
    let lines: Vec<String> = case.output.lines().map(str::to_owned).collect();
    let mut spans: Vec<Span> = items.iter().map(|item| item.span).collect();
    spans.sort_unstable();
    spans.dedup();
    let is_plain = !case.output.contains(['\r', '\x1b', '\x08']) && spans.iter().all(|span| span.1 <= lines.len());
    is_plain.then_some((lines, spans))
}

fn items_of(case: &Case) -> &'static [Diagnostic] {
    let at = CASES.iter().position(|other| other.name == case.name).expect("one of them");
    &ITEMS[at]
}

#[test]
fn in_another_order() {
    // Items that follow each other with nothing in between, each with its lines, the last one first. Over what is in
    // between none is carried: a header of a file or a section holds for what comes below it.
    assert_same("order", 60, |case| {
        let (lines, spans) = spans(case, items_of(case))?;
        let mut said: Vec<&[String]> = Vec::new();
        let (mut at, mut next) = (0, 0);
        while next < spans.len() {
            let last = (next + 1..spans.len()).take_while(|&n| spans[n].0 == spans[n - 1].1).last().unwrap_or(next);
            let (from, until) = (spans[next].0.max(at), spans[last].1.max(at));
            said.push(&lines[at..from]);
            said.extend(spans[next..=last].iter().rev().map(|span| &lines[span.0.max(at)..span.1.max(at)]));
            (at, next) = (until, last + 1);
        }
        said.push(&lines[at..]);
        Some((said.concat().join("\n") + "\n", ROOT.to_owned()))
    });
}

#[test]
fn with_another_job_in_between() {
    assert_same("-j", 60, |case| {
        let (lines, spans) = spans(case, items_of(case))?;
        let mut out = String::new();
        for (n, line) in lines.iter().enumerate() {
            if spans.iter().any(|span| span.0 == n) && !spans.iter().any(|span| span.0 < n && n < span.1) {
                out.push_str("[12/40] Building object lib/other.o\n");
            }
            out.push_str(line);
            out.push('\n');
        }
        Some((out, ROOT.to_owned()))
    });
}

#[test]
fn behind_another_command() {
    assert_same("npm", 100, |case| {
        let head = format!("\n> app@1.0.0 check\n> {}\n\n", case.command.trim());
        let tail = "npm error Lifecycle script `check` failed with error:\nnpm error code 1\n";
        Some((format!("{head}{}{tail}", case.output), ROOT.to_owned()))
    });
    assert_same("pnpm", 100, |case| {
        let head = format!("\n> app@1.0.0 check {ROOT}\n> {}\n\n", case.command.trim());
        Some((format!("{head}{} ELIFECYCLE  Command failed with exit code 1.\n", case.output), ROOT.to_owned()))
    });
    assert_same("make", 100, |case| {
        let (head, tail) = (case.command.trim(), "make: *** [Makefile:5: check] Error 1\n");
        Some((format!("{head}\n{}{tail}", case.output), ROOT.to_owned()))
    });
}

#[test]
fn with_another_word_it_is_another_failure() {
    let other_code = |item: &Diagnostic| Diagnostic { code: Some("another-rule".to_owned()), ..item.clone() };
    assert_pairs("rule", 300, false, |item| Some((item.clone(), other_code(item))));
    assert_pairs("exception", 40, false, |item| {
        let exception = |text: &str| text.ends_with("Error") || text.ends_with("Exception");
        let in_code = item.code.as_deref().filter(|code| exception(code));
        let said = item.message.split_once(": ").filter(|(class, _)| !class.contains(' ') && exception(class));
        let other = match (in_code, said) {
            (Some(_), _) => Diagnostic { code: Some("OtherError".to_owned()), ..item.clone() },
            (None, Some((_, message))) => Diagnostic { message: format!("OtherError: {message}"), ..item.clone() },
            (None, None) => return None,
        };
        item.message.lines().next()?;
        Some((item.clone(), other))
    });
    // A word that the family keeps, wherever in the message it is.
    let word_of = |item: &Diagnostic| {
        let kept = compute_fingerprint(item).masked_family;
        let words = |text: &str| -> Vec<String> {
            text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(str::to_owned).collect()
        };
        let kept = words(&kept);
        let first = item.message.lines().next().unwrap_or_default();
        words(first).into_iter().find(|word| word.len() > 3 && kept.contains(word))
    };
    let said = |item: &Diagnostic, word: &str, by: &str| {
        let word = Regex::new(&format!(r"(?-u:\b){word}(?-u:\b)")).expect("a valid pattern");
        Diagnostic { message: word.replace_all(&item.message, by).into_owned(), ..item.clone() }
    };
    assert_pairs("word", 300, false, |item| {
        let word = word_of(item)?;
        Some((item.clone(), said(item, &word, "zebra")))
    });
    assert_pairs("not", 300, false, |item| {
        let word = word_of(item)?;
        Some((item.clone(), said(item, &word, &format!("not {word}"))))
    });
    for (what, one, other) in [
        ("read and write", "while reading", "while writing"),
        ("read and write, in one word", "on read", "on write"),
        ("minimum and maximum", "below the min", "below the max"),
        ("is and is not", "is there", "is not there"),
    ] {
        assert_pairs(what, 300, false, |item| Some((behind(item, one), behind(item, other))));
    }
    // What a message about syntax asks for, not what it found there or speaks of besides.
    let asked = Regex::new(r"(?i)(expect(?:ed|ing) )'(?:;|\)|,)'").expect("a valid pattern");
    let asks_for = |item: &Diagnostic, mark: &str| {
        let message = asked.replace(&item.message, format!("${{1}}'{mark}'")).into_owned();
        Diagnostic { message, ..item.clone() }
    };
    assert_pairs("';' and ')'", 3, false, |item| {
        asked.is_match(item.message.lines().next()?).then(|| (asks_for(item, ";"), asks_for(item, ")")))
    });
    assert_pairs("';' and ')', said behind", 300, false, |item| {
        Some((behind(item, "expected ';'"), behind(item, "expected ')'")))
    });
    let missing = Regex::new(r#"(?i)((?:cannot find|no|resolve|missing|unresolved|find)[\w ]*(?:module|package|import|crate|library|gem)[\w ]*:? ['"`]?)([\w@./-]+)"#)
            .expect("a valid pattern");
    assert_pairs("missing module", 20, false, |item| {
        let message = item.message.lines().next()?;
        missing.is_match(message).then(|| {
            let other = missing.replace(message, "${1}otherwise").into_owned();
            (item.clone(), Diagnostic { message: other, ..item.clone() })
        })
    });
}
