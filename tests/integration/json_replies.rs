//! What `--json` prints is what the schemas in docs/schema describe, and nothing else: in a story that runs every
//! command of docs/json.md, and in all that other tests of this binary print.

mod schema;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::LazyLock;

use nix::sys::signal::Signal;
use serde_json::Value;
use verify_run::run::CommandEnd;

pub(crate) use self::schema::ReplySchema;
use crate::dashboard::Dashboard;
use crate::fixes::check;
use crate::lab::has_namespaces;
use crate::learning::{agree, job_in, mend, mend_calc, python_project};
use crate::sandbox::{Outcome, Sandbox, files_in};
use crate::story::discount_story;

/// A row of the table in docs/json.md: a command line and the schema of its reply.
struct ReplyRow {
    /// Its words as the table has them, without `--json`.
    command: String,
    /// Name of the schema's file.
    schema: String,
}

static ROWS: LazyLock<Vec<ReplyRow>> = LazyLock::new(|| {
    let rows = include_str!("../../docs/json.md").lines().filter_map(|line| {
        let (command, rest) = line.strip_prefix("| `")?.split_once("` | [")?;
        let schema = rest.split_once(']')?.0.to_owned();
        Some(ReplyRow { command: command.trim_end_matches(" --json").to_owned(), schema })
    });
    rows.collect()
});

static SCHEMAS: LazyLock<BTreeMap<String, ReplySchema>> = LazyLock::new(|| {
    let schemas = files_in(&folder()).into_iter().map(|path| {
        let text = fs::read_to_string(&path).expect("a schema");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, ReplySchema::new(serde_json::from_str(&text).expect("a schema is JSON")))
    });
    schemas.collect()
});

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/schema"))
}

/// The row of a command line: its words begin the line, its options are on it, and no row with more words fits.
fn row_of(arguments: &[String]) -> Option<&'static ReplyRow> {
    let has_row = |row: &&ReplyRow| {
        let words: Vec<&str> = row.command.split(' ').collect();
        let first_option = words.iter().position(|word| word.starts_with("--")).unwrap_or(words.len());
        let (verb, options) = words.split_at(first_option);
        arguments.iter().zip(verb).filter(|(argument, word)| argument == *word).count() == verb.len()
            && options.iter().all(|option| arguments.iter().any(|argument| argument == option))
    };
    let asks = arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json")
        || arguments.first().is_some_and(|verb| verb == "parse");
    ROWS.iter().filter(|_| asks).filter(has_row).max_by_key(|row| row.command.split(' ').count())
}

/// Panics when a command line asks for JSON, and what it printed is not what its schema describes. Other command lines
/// and commands that only failed are no concern of it.
#[track_caller]
pub(crate) fn assert_documented(arguments: &[OsString], outcome: &Outcome) {
    let arguments: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let Some(row) = row_of(&arguments).filter(|_| !outcome.stdout.is_empty()) else { return };
    let documents: Vec<&str> =
        if row.schema == "parse-diagnostic.json" { outcome.stdout().lines().collect() } else { vec![outcome.stdout()] };
    for document in documents {
        let read = serde_json::from_str(document);
        let document: Value = read.unwrap_or_else(|error| panic!("{arguments:?} prints no JSON ({error}): {document}"));
        assert_valid(&row.schema, &document, &arguments.join(" "));
    }
}

/// Panics when a document is not what a schema of docs/schema describes.
#[track_caller]
pub(crate) fn assert_valid(schema: &str, document: &Value, from: &str) {
    let faults = SCHEMAS.get(schema).expect("a schema of this name").faults(document);
    assert!(faults.is_empty(), "{from}: not as docs/schema/{schema} says:\n{}\n{document:#}", faults.join("\n"));
}

/// The commands that a story has run, by their rows.
#[derive(Default)]
struct Produced(RefCell<BTreeSet<&'static str>>);

impl Produced {
    /// Runs `verify-run ARGUMENTS… --json`; the document, which [`assert_documented`] has validated.
    #[track_caller]
    fn json(&self, sandbox: &Sandbox, arguments: &[&str]) -> Value {
        // What follows a command line that is explained is part of it.
        let (verb, rest) = arguments.split_at(arguments.len().min(2));
        let command = arguments.iter().position(|word| *word == "--");
        let words = if verb == ["whitelist", "explain"] {
            [verb, &["--json"], rest].concat()
        } else {
            let (ours, command) = arguments.split_at(command.unwrap_or(arguments.len()));
            [ours, &["--json"], command].concat()
        };
        let outcome = sandbox.verify_run(&words).env("VERIFY_RUN_SESSION", "reader").outcome();
        assert!(
            matches!(outcome.ended, CommandEnd::Exit(0 | 1 | 5)),
            "{words:?}: {:?} {}",
            outcome.ended,
            outcome.stderr()
        );
        self.add(&words);
        let said = serde_json::from_str(outcome.stdout());
        said.unwrap_or_else(|_| panic!("{words:?} prints no document: {}{}", outcome.stdout(), outcome.stderr()))
    }

    /// As [`Produced::json`], an id in the document.
    #[track_caller]
    fn id(&self, sandbox: &Sandbox, arguments: &[&str], pointer: &str) -> String {
        let document = self.json(sandbox, arguments);
        let id = document.pointer(pointer).and_then(Value::as_str);
        id.unwrap_or_else(|| panic!("{arguments:?}: no {pointer} in {document:#}")).to_owned()
    }

    fn add(&self, arguments: &[&str]) {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let row = row_of(&arguments).unwrap_or_else(|| panic!("docs/json.md has no row for {arguments:?}"));
        self.0.borrow_mut().insert(&row.command);
    }
}

#[test]
fn every_command_with_json_prints_what_its_schema_describes() {
    let produced = Produced::default();
    looks_back(&produced);
    learns(&produced);
    decides(&produced);
    maintains(&produced);
    sets_up(&produced);
    proves(&produced);
    judges(&produced);
    let has_lab = governs(&produced);
    let is_missing =
        |command: &&str| !produced.0.borrow().contains(command) && (has_lab || !command.starts_with("library "));
    let missing: Vec<&str> = ROWS.iter().map(|row| row.command.as_str()).filter(is_missing).collect();
    assert!(ROWS.len() > 70 && missing.is_empty(), "no case of this test runs: {missing:#?}");
}

/// Runs, lessons, patterns, fixes, flakes, tasks and warnings.
fn looks_back(produced: &Produced) {
    let sandbox = discount_story();
    let json = |arguments: &[&str]| produced.json(&sandbox, arguments);
    let run = produced.id(&sandbox, &["last"], "/run");
    json(&["show", &run]);
    json(&["log"]);
    json(&["log", "--failures"]);
    let lesson = produced.id(&sandbox, &["lesson", "list"], "/lessons/0/id");
    sandbox.verify_run(["lesson", "annotate", &lesson, "--cause", "the discount is a share"]).prints();
    json(&["lesson", "search", "discount"]);
    json(&["lesson", "show", &lesson]);
    json(&["stats"]);
    json(&["stats", "--page", "effect"]);
    let dashboard = Dashboard::start(&sandbox, &[]);
    produced.add(&["dashboard", "--json"]);
    json(&["dashboard", "url"]);
    dashboard.ends(Signal::SIGINT);

    let pattern = produced.id(&sandbox, &["pattern", "list"], "/patterns/0/id");
    json(&["pattern", "list", "--findings"]);
    for order in ["tasks", "failures", "last-seen", "confidence"] {
        assert_eq!(json(&["pattern", "list", "--order", order])["patterns"][0]["failures"], 2, "{order}");
    }
    for order in ["trending", "least-effective"] {
        json(&["pattern", "list", "--order", order]);
    }
    json(&["pattern", "show", &pattern]);
    json(&["pattern", "explain", &pattern]);
    json(&["pattern", "explain", "--text", "'x' is not defined", "--tool", "eslint", "--code", "no-undef"]);
    json(&["pattern", "show", &pattern, "--candidate"]);

    let fix = produced.id(&sandbox, &["fix", "list", "--state", "success"], "/fixes/0/id");
    json(&["fix", "list"]);
    json(&["fix", "show", &fix]);
    json(&["fix", "record", &fix, "--cause", "a share is no price", "--rule", "multiply", "--by", "Ada"]);

    json(&["task", "list"]);
    json(&["task", "show", "discount"]);
    json(&["task", "start", "more", "--title", "More discount", "--files", "app/pricing.py", "--category", "bug"]);
    json(&["task", "similar", "discount"]);
    json(&["task", "similar", "--title", "Discount", "--files", "app/pricing.py"]);
    let asked = ["warn", "--task", "more", "--session", "other", "--files", "app/pricing.py"];
    let warning = produced.id(&sandbox, &asked, "/warnings/0/id");
    json(&["outcome", "ack", &warning, "--not-useful"]);
    json(&["task", "done", "more", "--outcome", "completed"]);

    sandbox.write("tests/test_pricing.py", "import pytest\n");
    sandbox.write("app/pricing.py", "import os  # noqa: F401\n");
    assert_ne!(json(&["check-diff"])["weakened"], serde_json::json!([]));
    json(&["ci", "--host", "other"]);
    json(&["ci", "--host", "github", "--out", "report"]);

    // One tree, two results.
    sandbox.tool("luacheck", "[ -e $TMPDIR/sun ] && exit\necho 'a.lua:1:1: error: rain'\nexit 1");
    check(&sandbox, &["luacheck", "."]);
    fs::write(sandbox.tmp().join("sun"), "").expect("a file");
    check(&sandbox, &["luacheck", "."]);
    assert_ne!(json(&["fix", "list", "--flakes"])["flakes"], serde_json::json!([]));
}

/// Evaluations of the quality gate: rejected, and of some items.
fn judges(produced: &Produced) {
    let sandbox = Sandbox::repository();
    sandbox.write("package.json", "{}\n");
    sandbox.write("a.js", "function a(b) {\n  return b ? 1 : 2;\n}\n");
    assert_eq!(produced.json(&sandbox, &["gate", "plan"])["projects"][0]["stack"], "javascript");
    let judged = produced.json(&sandbox, &["gate", "run", "--no-prp"]);
    assert_eq!((&judged["verdict"], &judged["attempt"]), (&"reject".into(), &1.into()));
    assert_eq!(produced.json(&sandbox, &["gate", "status"])["items"], judged["items"]);
    sandbox.write("prp.md", "# PRP: A\n\n## Acceptance criteria\n\n- AC-1 it works\n");
    let listed = produced.json(&sandbox, &["gate", "criteria", "list", "--prp", "prp.md"]);
    assert_eq!(listed["criteria"][0]["id"], "AC-1");
    assert_eq!(produced.json(&sandbox, &["gate", "status", "--phase", "GREEN"])["circuit_breaker"], "CLOSED");
    assert_eq!(produced.json(&sandbox, &["task", "phase", "red"])["phase"], "RED");
    let some = produced.json(&sandbox, &["gate", "run", "--no-prp", "--only", "C2"]);
    assert_eq!(some["items"][0]["status"], "pass", "{some:#}");
}

/// Receipts.
fn proves(produced: &Produced) {
    let sandbox = Sandbox::repository();
    sandbox.tool("luacheck", "exit 0");
    sandbox.verify_run(["--reuse", "--sync", "luacheck", "."]).prints();
    let receipt = produced.id(&sandbox, &["gate", "receipt", "list"], "/receipts/0/id");
    produced.json(&sandbox, &["gate", "receipt", "show", &receipt]);
    let covered = produced.json(&sandbox, &["gate", "receipt", "check", "--", "luacheck", "."]);
    assert_eq!(covered["covered"], true, "{covered:#}");
    produced.json(&sandbox, &["gate", "receipt", "check", "--staged", "--", "luacheck", "src"]);
    sandbox.verify_run(["gate", "receipt", "key", "new"]).prints();
    let file = sandbox.tmp().join("signed.json");
    fs::write(&file, sandbox.verify_run(["gate", "receipt", "export", "--sign"]).prints()).expect("written");
    let file = file.to_str().expect("UTF-8");
    assert_eq!(produced.json(&sandbox, &["gate", "receipt", "verify", file])["verified"], true);
    assert_eq!(produced.json(&sandbox, &["gate", "receipt", "verify", file, "--tree", "0"])["verified"], false);
}

/// Recipes, proposals, entries, strategies and memories.
fn learns(produced: &Produced) {
    let sandbox = Sandbox::repository();
    let json = |arguments: &[&str]| produced.json(&sandbox, arguments);
    let found = "echo \"$file:1:8: F401 [*] \\`os\\` imported but unused\"; code=1";
    sandbox.tool(
        "ruff",
        &format!("for file in *.py; do grep -q 'import os' $file && {{ {found}; }}; done; exit ${{code:-0}}"),
    );
    for (number, task) in ["first", "second"].into_iter().enumerate() {
        let file = format!("module_{number}.py");
        sandbox.write(&file, format!("import os\n\n\ndef f():\n    return {number}\n"));
        sandbox.commit("A module");
        check(&sandbox, &["--task", task, "ruff", "check", "."]);
        sandbox.write(&file, format!("def f():\n    return {number}\n"));
        check(&sandbox, &["--task", task, "ruff", "check", "."]);
    }
    assert_ne!(json(&["fix", "list", "--recipes"])["recipes"], serde_json::json!([]));
    assert_ne!(json(&["task", "done", "first"])["proposals"], serde_json::json!([]));
    let fix = produced.id(&sandbox, &["knowledge", "proposals"], "/proposals/0/fix");
    json(&["knowledge", "decline", &fix, "--by", "Ada"]);

    let add = |title: &str| {
        let add = ["knowledge", "add", "gotcha", "--title", title, "--files", "db/**", "--tag", "db", "--by", "Ada"];
        let more = ["--set", "pitfall=it is forgotten", "--set", "fix=run `make migrate`"];
        produced.id(&sandbox, &[&add[..], &more].concat(), "/entry/id")
    };
    let (old, better, other) = (add("The migration"), add("The other migration"), add("Copies of tables"));
    json(&["knowledge", "query", "migration"]);
    json(&["knowledge", "relevant", "--files", "db/user.sql"]);
    json(&["knowledge", "boost", &other]);
    json(&["knowledge", "confidence", &other, "--set", "0.9", "--reason", "measured"]);
    json(&["knowledge", "pin", &other]);
    json(&["knowledge", "supersede", &old, "--with", &better]);
    json(&["knowledge", "merge", &other, "--into", &better]);
    json(&["knowledge", "show", &better]);
    json(&["knowledge", "export"]);
    json(&["knowledge", "log"]);
    json(&["knowledge", "types"]);

    let strategy = ["strategy", "add", "--error", "connection refused", "--technique", "Start the database"];
    let strategy = produced.id(&sandbox, &strategy, "/strategy/id");
    json(&["strategy", "attempt", &strategy, "--outcome", "success", "--note", "it was off"]);
    json(&["strategy", "suggest", "--error", "connection refused"]);
    json(&["strategy", "list"]);

    let memory = produced.id(&sandbox, &["memory", "remember", "the tests need a database"], "/memories/0/id");
    json(&["memory", "recall", "database"]);
    json(&["memory", "validate", &memory]);
    json(&["memory", "learn", "the database starts slowly", "--files", "db/**"]);
}

/// Decisions of people about proposals and patterns.
fn decides(produced: &Produced) {
    let sandbox = Sandbox::repository();
    let json = |arguments: &[&str]| produced.json(&sandbox, arguments);
    let gate = "[promotion]\ntasks = 1\nconfidence = 0.5\n";
    sandbox.write("verify-run.toml", format!("[advice]\nholdout = false\n{gate}"));
    sandbox.tool("eslint", "test -s findings || exit 0; cat findings; exit 1");
    let lint = |task: &str, findings: &str, code: u8| {
        sandbox.write("findings", findings);
        let run = sandbox.verify_run(["--sync", "--task", task, "eslint", "."]).env("VERIFY_RUN_SESSION", task);
        assert_eq!(run.outcome().ended, CommandEnd::Exit(code));
    };
    let files = ["src/a.js", "src/b.js", "src/c.js"];
    files.iter().for_each(|file| drop(sandbox.write(file, "if (a) b();\n")));
    let findings = "src/a.js:1:1: error: Expected { after 'if' condition  curly\n\
                    src/b.js:1:1: error: 'x' is not defined  no-undef\nsrc/c.js:1:1: error: Unexpected var  no-var\n";
    lint("A", findings, 1);
    let warnings = json(&["warn", "--task", "B", "--session", "B", "--files", files[0], files[1], files[2]]);
    assert_eq!(warnings["warnings"].as_array().map(Vec::len), Some(3), "{warnings}");
    lint("B", "", 0);
    let listed = json(&["promote", "list"]);
    let ids: Vec<&str> =
        listed["promotions"].as_array().expect("a list").iter().filter_map(|one| one["id"].as_str()).collect();
    let [first, second, ..] = ids[..] else { panic!("{listed}") };
    json(&["promote", "show", first]);
    let because = ["--by", "Ada", "--reason", "it recurs"];
    json(&[&["promote", "approve", first][..], &because].concat());
    json(&[&["promote", "reject", second][..], &because].concat());
    json(&["promote", "list", "--all"]);
    json(&["promote", "show", first]);
    json(&[&["promote", "rollback", first][..], &because].concat());
    json(&["promote", "list", "--all"]);

    let listed = json(&["pattern", "list"]);
    let patterns: Vec<&str> =
        listed["patterns"].as_array().expect("a list").iter().filter_map(|one| one["id"].as_str()).collect();
    let [first, second, third] = patterns[..] else { panic!("{listed}") };
    json(&["pattern", "merge", first, second, "--why", "one cause", "--by", "Ada"]);
    json(&["pattern", "show", second]);
    json(&["pattern", "split", first]);
    json(&["pattern", "mute", second]);
    json(&["pattern", "deprecate", third, "--why", "the rule is off"]);
    json(&["pattern", "list"]);
}

/// The store, the whitelist, and outputs that are only read.
fn maintains(produced: &Produced) {
    let sandbox = discount_story();
    let json = |arguments: &[&str]| produced.json(&sandbox, arguments);
    json(&["store", "status"]);
    json(&["store", "backup"]);
    json(&["store", "rebuild"]);
    json(&["store", "export", "--out", "events"]);
    sandbox.write("events/broken.jsonl", "no event\n");
    json(&["store", "import", "events"]);
    let run = produced.id(&sandbox, &["last"], "/run");
    json(&["store", "purge", &run]);
    json(&["store", "status"]);

    sandbox.write(
        ".verify-run/whitelist.toml",
        "[[entry]]\nnames = [\"mycheck\"]\nkind = \"lint\"\n[[entry]]\nnames = 3\n",
    );
    json(&["whitelist", "list"]);
    json(&["whitelist", "check"]);
    json(&["whitelist", "explain", "cd web && npx eslint ."]);
    json(&["whitelist", "explain", "ls"]);
    sandbox.write("output.txt", "src/a.js:1:1: error: 'x' is not defined (no-undef)\n");
    for (print, row) in [("json", "parse --print json"), ("diagnostics", "parse --print diagnostics")] {
        let words = ["parse", "output.txt", "--command", "eslint .", "--print", print];
        assert!(!sandbox.verify_run(words).prints().is_empty());
        produced.add(&words);
        assert!(produced.0.borrow().contains(row));
    }
}

/// Hosts and shims.
fn sets_up(produced: &Produced) {
    let sandbox = Sandbox::repository();
    let json = |arguments: &[&str]| produced.json(&sandbox, arguments);
    sandbox.write(".claude/settings.json", "{}\n");
    sandbox.tool("eslint", "exit 0");
    json(&["init"]);
    json(&["init", "--yes"]);
    json(&["hook", "status"]);
    json(&["doctor"]);
    sandbox.write("AGENTS.md", sandbox.read("AGENTS.md") + "\nMore.\n");
    json(&["hook", "status"]);
    json(&["doctor"]);
    json(&["uninstall"]);
    json(&["hook", "uninstall"]);
    json(&["hook", "install", "cursor", "--yes"]);
    json(&["shims", "install", "eslint"]);
    json(&["shims", "status"]);
    json(&["shims", "uninstall"]);
    json(&["uninstall", "--purge"]);
}

/// Jobs and pages of the pattern library; false where they can't run.
fn governs(produced: &Produced) -> bool {
    if !has_namespaces() {
        return false;
    }
    let Some(first) = python_project() else { return false };
    let by = ["--by", "Ada", "--reason", "it is right"];
    let page = candidate(produced, &first);
    let decide = |verb: &str| produced.json(&first, &[&["library", verb, &page], &by[..]].concat());
    produced.json(&first, &["library", "list"]);
    produced.json(&first, &["library", "show", &page]);
    produced.json(&first, &["library", "check"]);
    produced.json(&first, &["library", "stats"]);
    decide("approve");
    produced.json(&first, &["library", "verify", &page]);
    let bundle = first.tmp().join("proof.bundle");
    produced.json(&first, &["library", "export", &page, "--bundle", bundle.to_str().expect("UTF-8")]);
    decide("deprecate");
    decide("restore");
    produced.json(&first, &["library", "learn"]);

    let Some(second) = python_project() else { return false };
    let page = candidate(produced, &second);
    produced.json(&second, &[&["library", "reject", &page], &by[..]].concat());

    let Some(third) = python_project() else { return false };
    // The recorded command had a secret in it, so a person has to write what is run.
    mend(&third, &["pytest", "-q", "-o", "cache_dir=ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"], mend_calc);
    agree(&third);
    job_in(&third, "queued");
    let job = produced.id(&third, &["library", "work"], "/jobs/0/id");
    produced.json(&third, &["library", "scenario", &job]);
    produced.json(&third, &[&["library", "requeue", &job], &by[..]].concat());
    produced.json(&third, &[&["library", "cancel", &job], &by[..]].concat());
    true
}

/// Proves a fix; the id of its page.
fn candidate(produced: &Produced, sandbox: &Sandbox) -> String {
    mend(sandbox, &["pytest", "-q"], mend_calc);
    produced.json(sandbox, &["library", "init", "--by", "Ada"]);
    job_in(sandbox, "queued");
    let page = produced.id(sandbox, &["library", "work"], "/jobs/0/artifact");
    let job = produced.id(sandbox, &["library", "jobs"], "/jobs/0/id");
    produced.json(sandbox, &["library", "job", &job]);
    page
}

/// The front matter of a lesson's text, as JSON.
pub(crate) fn front_matter(lesson: &str) -> Value {
    let (front, _) = lesson.strip_prefix("---\n").and_then(|text| text.split_once("\n---\n")).expect("front matter");
    serde_saphyr::from_str(front).expect("YAML")
}

/// Schemas that describe files and the documents of a reviewer, and no reply.
const FILE_SCHEMAS: [&str; 5] = [
    "gate-review-answer.json",
    "gate-review-request.json",
    "lesson-front-matter.json",
    "settings.json",
    "spool-header.json",
];

#[test]
fn every_schema_is_of_a_reply_or_of_a_file() {
    let of_replies = ROWS.iter().map(|row| row.schema.as_str());
    let used: BTreeSet<&str> = of_replies.chain(FILE_SCHEMAS).collect();
    let there: BTreeSet<&str> = SCHEMAS.keys().map(String::as_str).collect();
    assert_eq!(there, used);
}

#[test]
fn files_are_as_their_schemas_describe_them() {
    let sandbox = discount_story();
    for lesson in sandbox.lessons() {
        assert_valid("lesson-front-matter.json", &front_matter(&lesson.text), &lesson.path.display().to_string());
    }
    let lock = File::create(sandbox.state().join("recorder.lock")).expect("a file");
    lock.lock().expect("no one else");
    sandbox.verify_run(["pytest", "-q"]).outcome();
    sandbox.settle();
    let [spooled] = &files_in(&sandbox.state().join("spool"))[..] else { panic!("one run waits") };
    let bytes = fs::read(spooled).expect("a spool file");
    let header = serde_json::from_slice(bytes.split(|byte| *byte == b'\n').next().expect("a line")).expect("JSON");
    assert_valid("spool-header.json", &header, "the spool file");
    drop(lock);
    sandbox.verify_run(["store", "status"]).prints();

    for settings in [sandbox.read("verify-run.toml"), "[learn]\nfalse_key = 1\n".to_owned()] {
        let document: Value = toml::from_str(&settings).expect("TOML");
        let faults = SCHEMAS["settings.json"].faults(&document);
        assert_eq!(faults.is_empty(), !settings.contains("false_key"), "{settings}: {faults:?}");
    }
}
