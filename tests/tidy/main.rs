//! The rules of the tree that neither the compiler nor clippy can hold. Each finding says what to do instead.

mod circles;
mod vocabulary;
mod voice;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A source file that is longer hides a second noun.
const FILE_LINES_MAX: usize = 600;
/// The entry point only hands over.
const MAIN_LINES_MAX: usize = 40;
/// Names that say nothing about what is inside.
const CATCH_ALL: [&str; 12] =
    ["util", "utils", "helper", "helpers", "common", "misc", "imp", "impl", "stuff", "shared", "support", "tools_rs"];

/// A word of the code, the folders of `src/` that may use it, and what the others do instead.
const DOORS: [(&[&str], &[&str], &str); 11] = [
    (&["rusqlite"], &["store"], "only `store` knows SQL: give it a method"),
    (
        &["SELECT ", "INSERT INTO", "CREATE TABLE", "UPDATE OR", "DELETE FROM"],
        &["store"],
        "only `store` knows SQL: give it a method",
    ),
    (&["serde_saphyr"], &["lesson"], "only `lesson` knows YAML"),
    (&["granit_parser"], &["host", "base/yaml.rs"], "read YAML with `base::yaml`; only `host` edits that of others"),
    (
        &["toml::", "toml_edit"],
        &["config", "whitelist", "diagnose", "pattern", "fix/weakened", "host"],
        "only the layers, the definitions, the detectors, the rules and the hosts know TOML",
    ),
    (
        &["println!", "eprintln!", "print!(", "eprint!(", "io::stdout(", "io::stderr("],
        &["surface"],
        "only `surface` prints: return a value",
    ),
    (&["minijinja"], &["advice", "surface/http"], "only `advice` and the pages know templates"),
    (&["chrono"], &["base/clock.rs"], "use base::clock::Timestamp"),
    (&["clap"], &["surface"], "arguments are the surface's: take a value"),
    (
        &["libc::fork", "nix::unistd::fork", "unistd::fork"],
        &["run", "capture", "lab"],
        "only `run`, `capture` and `lab` fork",
    ),
    (
        &["std::net", "tokio::net", "TcpStream", "UdpSocket", "axum"],
        &["surface/http"],
        "only the dashboard listens, on the loopback",
    ),
];

/// Stages that take values and return values.
const PURE: [&str; 8] = ["redact", "event", "report", "diagnose", "fingerprint", "pattern", "knowledge", "advice"];
/// Parts of a stage that do the same, though another part of it doesn't.
const PURE_PARTS: [&str; 4] = ["src/fix/patch", "src/fix/regression", "src/fix/weakened", "src/gate"];
/// Words of code that touches the world.
const EFFECTS: [&str; 6] = ["std::fs", "fs::read", "File::open", "std::env", "std::process", "Timestamp::now"];

/// A file of the tree, with its path relative to the top.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// The lines with their numbers that are code of the program: no comments, no tests.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let tests = self.tests();
        let lines = self.text.lines().enumerate().take_while(|(_, line)| *line != "#[cfg(test)]");
        lines
            .filter(move |(_, line)| !tests && !line.trim_start().starts_with("//"))
            .map(|(index, line)| (index + 1, line))
    }

    /// Whether the whole file is tests.
    fn tests(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }

    /// The stage folder below `src/`; `None` for `lib.rs` and `main.rs`.
    fn stage(&self) -> Option<&str> {
        self.path.strip_prefix("src/")?.split_once('/').map(|(stage, _)| stage)
    }
}

#[test]
fn the_map_names_every_stage_once() {
    let mapped = stages();
    let folders: BTreeSet<String> = fs::read_dir(top().join("src"))
        .expect("src")
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().expect("UTF-8"))
        .collect();
    let unique: BTreeSet<String> = mapped.iter().cloned().collect();
    assert_eq!(unique.len(), mapped.len(), "a stage is twice in the map of src/lib.rs");
    assert_eq!(unique, folders, "the map of src/lib.rs and the folders of src/ differ");
}

#[test]
fn imports_go_with_the_stream() {
    let order = stages();
    let mut findings = Vec::new();
    for source in sources("src") {
        let Some(stage) = source.stage() else { continue };
        let own = order.iter().position(|other| other == stage).expect("a mapped stage");
        for (line, target) in imports(&source) {
            match order.iter().position(|other| *other == target) {
                Some(theirs) if theirs <= own => {}
                Some(_) => findings.push(format!(
                    "{}:{line}: `{stage}` comes before `{target}` and may not import it: move the shared type up, or \
                     let a later stage bring both together",
                    source.path
                )),
                None => findings.push(format!("{}:{line}: `crate::{target}` is no stage: name one", source.path)),
            }
        }
        for (index, line) in source.text.lines().enumerate() {
            let outermost = source.path.ends_with("/mod.rs") && !line.starts_with(' ');
            let code = !line.trim_start().starts_with("//");
            if code && (line.contains("super::super") || outermost && line.contains("super::")) {
                findings.push(format!("{}:{}: leaves its stage by `super`: write `crate::…`", source.path, index + 1));
            }
        }
    }
    report(&findings);
}

#[test]
fn effects_have_one_door() {
    let mut findings = Vec::new();
    for source in sources("src") {
        if source.path.ends_with("/build.rs") {
            continue;
        }
        for (words, allowed, instead) in DOORS {
            if allowed.iter().any(|place| source.path.starts_with(&format!("src/{place}"))) {
                continue;
            }
            find(&source, source.code(), words, instead, &mut findings);
        }
        let pure_part = PURE_PARTS.iter().any(|part| source.path.starts_with(part));
        if pure_part || source.stage().is_some_and(|stage| PURE.contains(&stage)) {
            find(&source, source.code(), &EFFECTS, "this stage does no I/O: take a value", &mut findings);
        }
    }
    report(&findings);
}

#[test]
fn paths_of_the_state_folder_are_joined_in_one_place() {
    let joined = regex::Regex::new(concat!(
        r#"\.join\((?:format!\()?"(?:store\.db|recorder\.lo|writer"|backup"|events"|spool["/]|passes|open["/]|baseline["/]|"#,
        r#"raw["./]|unwritten["/]|environment"|objects"|snapshots["/]|install")"#
    ))
    .expect("a regex");
    let mut findings = Vec::new();
    for source in sources("src").into_iter().filter(|source| source.path != "src/config/state_dir.rs") {
        for (number, line) in source.code().filter(|(_, line)| joined.is_match(line)) {
            // The repository's own objects.
            if !line.contains("common_dir.join(\"objects\")") {
                findings
                    .push(format!("{}:{number}: a path of the state folder: use a method of StateDir", source.path));
            }
        }
    }
    report(&findings);
    assert!(
        joined.is_match(r#"state.join("open").join(key)"#) && joined.is_match(r#"dir.join(format!("raw/{id}.zst"))"#)
    );
    assert!(!joined.is_match(r#"common_dir.join("refs")"#));
}

#[test]
fn nothing_is_unfinished() {
    let words = ["#[ignore", "todo!(", "unimplemented!(", "FIXME", "XXX:", "assert!(true"];
    let mut findings = Vec::new();
    for source in sources("src").into_iter().chain(sources("tests")).chain(sources("benches")) {
        if source.path != "tests/tidy/main.rs" {
            let lines = source.text.lines().enumerate().map(|(index, line)| (index + 1, line));
            find(&source, lines, &words, "finish it or take it out", &mut findings);
        }
    }
    report(&findings);
}

#[test]
fn files_are_nouns_of_a_readable_size() {
    let mut findings = Vec::new();
    for source in sources("src").into_iter().chain(sources("tests")).chain(sources("benches")) {
        let lines = source.text.lines().count();
        let limit = if source.path == "src/main.rs" { MAIN_LINES_MAX } else { FILE_LINES_MAX };
        if lines > limit {
            findings.push(format!("{}: {lines} lines, at most {limit}: which noun hides in it?", source.path));
        }
        let name = Path::new(&source.path).file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if source.path.split('/').any(|part| CATCH_ALL.contains(&part)) || CATCH_ALL.contains(&name) {
            findings.push(format!("{}: a catch-all name: say what it is about", source.path));
        }
        if source.path.starts_with("src/") && !source.tests() && !source.text.starts_with("//!") {
            findings.push(format!("{}: begins without its purpose (`//! …`)", source.path));
        }
    }
    report(&findings);
}

#[test]
fn no_file_names_a_machine() {
    // Spelt in two parts, so that this file does not name one.
    let machine =
        regex::Regex::new(concat!("(^|[^a-zA-Z0-9.])/(wo", "rk|fa", "rm)/[a-z]|/ro", "ot/")).expect("a regex");
    let mut findings = Vec::new();
    for source in files(&top(), &|_| true) {
        let recorded = ["tests/corpus/", "lessons/", "whitelist.toml"];
        if recorded.iter().any(|place| source.path.starts_with(place)) {
            continue;
        }
        for (index, line) in source.text.lines().enumerate() {
            if machine.is_match(line) {
                findings.push(format!("{}:{}: a path of some machine: {}", source.path, index + 1, line.trim()));
            }
        }
    }
    report(&findings);
}

#[test]
fn every_crate_is_used_and_documented() {
    let manifest: toml::Table =
        fs::read_to_string(top().join("Cargo.toml")).expect("Cargo.toml").parse().expect("TOML");
    let page = fs::read_to_string(top().join("docs/dependencies.md")).expect("docs/dependencies.md");
    let mut findings = Vec::new();
    let mut wanted = BTreeSet::new();
    collect_dependencies(&manifest, &mut wanted);
    let code: Vec<Source> = sources("src").into_iter().chain(sources("tests")).collect();
    for name in wanted {
        let path = format!("{}::", name.replace('-', "_"));
        if !code.iter().any(|source| source.text.lines().any(|line| contains_word(line, &path))) {
            findings.push(format!("Cargo.toml: `{name}` is used nowhere: take it out"));
        }
        let row = page
            .lines()
            .any(|line| line.starts_with('|') && line.split('|').nth(1).is_some_and(|cell| names(cell, &name)));
        if !row {
            findings.push(format!("docs/dependencies.md: `{name}` of Cargo.toml has no row"));
        }
    }
    report(&findings);
}

/// All dependency names of a manifest, those of targets included.
fn collect_dependencies(table: &toml::Table, found: &mut BTreeSet<String>) {
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        if let Some(entries) = table.get(section).and_then(toml::Value::as_table) {
            found.extend(entries.keys().cloned());
        }
    }
    if let Some(targets) = table.get("target").and_then(toml::Value::as_table) {
        targets.values().filter_map(toml::Value::as_table).for_each(|target| collect_dependencies(target, found));
    }
}

/// Whether a cell of a table names `crate_name` in backquotes.
fn names(cell: &str, crate_name: &str) -> bool {
    cell.split('`').skip(1).step_by(2).any(|word| word == crate_name)
}

/// The stages in the order of the map in `src/lib.rs`.
fn stages() -> Vec<String> {
    let text = fs::read_to_string(top().join("src/lib.rs")).expect("src/lib.rs");
    let stage = |line: &str| Some(line.strip_prefix("//! - [`")?.split_once("`]:")?.0.to_owned());
    text.lines().filter_map(stage).collect()
}

/// The first part of every `crate::…` path of a file, tests included, with its line.
fn imports(source: &Source) -> Vec<(usize, String)> {
    let kept = |line: &str| if line.trim_start().starts_with("//") { String::new() } else { line.to_owned() };
    let text = source.text.lines().map(kept).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for (start, prefix) in text.match_indices("crate::") {
        if text[..start].ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == '$') {
            continue;
        }
        let line = text[..start].lines().count().max(1);
        let rest = &text[start + prefix.len()..];
        let firsts = if rest.starts_with('{') { group(rest) } else { vec![word(rest)] };
        found.extend(firsts.into_iter().map(|first| (line, first)));
    }
    found
}

/// The first part of every path in `{a::b, c::{d, e}}`.
fn group(text: &str) -> Vec<String> {
    let mut depth = 0;
    let mut firsts = Vec::new();
    for (index, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && (letter == '{' || letter == ',') {
            let first = word(text[index + 1..].trim_start());
            firsts.extend((!first.is_empty()).then_some(first));
        }
    }
    firsts
}

fn word(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
}

fn find<'a>(
    source: &Source,
    lines: impl Iterator<Item = (usize, &'a str)>,
    words: &[&str],
    instead: &str,
    findings: &mut Vec<String>,
) {
    for (number, line) in lines {
        for word in words.iter().filter(|word| contains_word(line, word)) {
            findings.push(format!("{}:{number}: `{word}`: {instead}", source.path));
        }
    }
}

/// Whether `line` has `word` where no longer identifier ends in it.
fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_')
            || !word.starts_with(|first: char| first.is_alphanumeric())
    })
}

fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The Rust files below one folder of the tree; the quickstart's project is not ours to keep tidy.
fn sources(folder: &str) -> Vec<Source> {
    files(&top().join(folder), &|path| path.ends_with(".rs") && !path.starts_with("tests/quickstart/"))
}

/// The text files below `folder` that git would track, sorted.
fn files(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let relative = path.strip_prefix(top()).expect("below the top").to_string_lossy().into_owned();
            let skipped = [
                ".git",
                "target",
                ".tools",
                "lessons/.state",
                "node_modules",
                "Cargo.lock",
                "tests/corpus/cases",
                "tests/corpus/projects",
                "tests/corpus/more",
                "tests/corpus/fresh",
            ];
            if path.is_symlink()
                || skipped.iter().any(|name| relative == *name || relative.ends_with(&format!("/{name}")))
            {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if wanted(&relative)
                && let Ok(text) = fs::read_to_string(&path)
            {
                found.push(Source { path: relative, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

#[track_caller]
fn report(findings: &[String]) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

#[test]
fn the_rules_find_what_they_look_for() {
    let text = "use crate::{config::Places, store::{Store, Index}, run::Ended};\nlet a = crate::ops::last();\n// crate::surface\n";
    let source = Source { path: "src/run/plan.rs".into(), text: text.into() };
    let found: Vec<String> = imports(&source).into_iter().map(|(line, stage)| format!("{line} {stage}")).collect();
    assert_eq!(found, ["1 config", "1 store", "1 run", "2 ops"]);
    assert!(contains_word("use rusqlite::Connection;", "rusqlite") && !contains_word("println!(x)", "print!("));
    assert!(contains_word("    eprintln!(x)", "eprintln!") && !contains_word("eprintln!(x)", "println!"));
    assert!(names(" `clap`, `clap_complete` ", "clap_complete") && !names(" `clap_complete` ", "clap"));
}
