//! The pages that people read, as a whole: one story of two tasks, piped and on a terminal.
//!
//! `INSTA_UPDATE=always cargo nextest run --test integration pages` writes them again.

use std::sync::LazyLock;

use regex::Regex;
use verify_run::run::CommandEnd;

use crate::sandbox::Sandbox;
use crate::story::discount_story;
use crate::terminal::Terminal;

/// A page without what differs from run to run.
pub(crate) fn redacted(page: &str) -> String {
    static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        [
            // First, so that the texts behind colours begin a word.
            (r"\x1b\[(\d+)m", "‹$1›"),
            (r"\r", ""),
            (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "[run]"),
            (r"\b[0-9a-f]{8}-[0-9a-f]{4}\b", "[run]"),
            (r"\b([a-z])-[0-9a-z]{8}\b", "$1-[id]"),
            (r"\bbegin [0-9a-f]{16}\b", "begin [hash]"),
            (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "[time]"),
            (r"\d{4}-\d\d-\d\d", "[day]"),
            (r"\b(?:just now|\d+ (?:s|min) ago)", "[age]"),
            (r"( |\t)\d+\.\d( +|\t)pytest", "$1[s]${2}pytest"),
            (r"\bin \d+\.\d+s\b", "in [s]"),
            (r"\(\d+\.\d s\)", "([s])"),
            (r"\d+ s after the first failure", "[s] after the first failure"),
        ]
        .map(|(pattern, with)| (Regex::new(pattern).expect("a pattern"), with))
        .to_vec()
    });
    RULES.iter().fold(page.to_owned(), |page, (pattern, with)| pattern.replace_all(&page, *with).into_owned())
}

fn assert_page(name: &str, page: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("pages");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, redacted(page)));
}

fn id(sandbox: &Sandbox, list: &[&str], array: &str) -> String {
    let listed = sandbox.verify_run(list.iter().chain(&["--json"])).prints_json();
    listed[array][0]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn pages_are_plain_and_whole_when_piped() {
    let sandbox = discount_story();
    let (lesson, pattern) =
        (id(&sandbox, &["lesson", "list"], "lessons"), id(&sandbox, &["pattern", "list"], "patterns"));
    let fix = id(&sandbox, &["fix", "list", "--state", "success"], "fixes");
    let entry = id(&sandbox, &["knowledge", "query"], "entries");
    let pages: [(&str, &[&str]); 14] = [
        ("warn", &["warn", "--task", "refunds", "--session", "other", "--files", "app/pricing.py"]),
        ("log", &["log"]),
        ("last", &["last"]),
        ("lesson-list", &["lesson", "list"]),
        ("lesson-show", &["lesson", "show", &lesson]),
        ("fix-list", &["fix", "list"]),
        ("fix-show", &["fix", "show", &fix]),
        ("pattern-list", &["pattern", "list"]),
        ("pattern-show", &["pattern", "show", &pattern]),
        ("knowledge-query", &["knowledge", "query"]),
        ("knowledge-show", &["knowledge", "show", &entry]),
        ("task-list", &["task", "list"]),
        ("task-show", &["task", "show", "discount"]),
        ("stats", &["stats"]),
    ];
    for (name, arguments) in pages {
        assert_page(name, &sandbox.verify_run(arguments).prints());
    }
}

#[test]
fn pages_have_colours_and_ages_on_a_terminal() {
    let sandbox = discount_story();
    let fix = id(&sandbox, &["fix", "list", "--state", "success"], "fixes");
    let screen = |arguments: &[&str]| {
        let (ended, screen) = Terminal::start(sandbox.verify_run(arguments)).ends();
        assert_eq!(ended, CommandEnd::Exit(0));
        String::from_utf8(screen).expect("text")
    };
    let pages: [(&str, &[&str]); 4] = [
        ("terminal-log", &["log"]),
        ("terminal-fix-list", &["fix", "list"]),
        ("terminal-fix-show", &["fix", "show", &fix]),
        ("terminal-pattern-list", &["pattern", "list"]),
    ];
    for (name, arguments) in pages {
        assert_page(name, &screen(arguments));
    }
    let plain = Terminal::start(sandbox.verify_run(["log"]).env("NO_COLOR", "1")).ends().1;
    assert!(!plain.contains(&0x1b), "{}", String::from_utf8_lossy(&plain));
}

#[test]
fn a_pager_gets_the_page_when_asked_and_on_a_terminal_only() {
    let sandbox = discount_story();
    sandbox.tool("page", "sed 's/^/paged: /'");
    let paged = |arguments: &[&str]| sandbox.verify_run(arguments).env("PAGER", "page");
    let screen = |arguments: &[&str]| {
        let (ended, screen) = Terminal::start(paged(arguments)).ends();
        assert_eq!(ended, CommandEnd::Exit(0));
        String::from_utf8(screen).expect("text")
    };
    assert!(screen(&["fix", "list", "--pager"]).lines().all(|line| line.starts_with("paged: ")));
    assert!(!screen(&["fix", "list"]).contains("paged: "));
    assert!(!paged(&["fix", "list", "--pager"]).prints().contains("paged: "));
    // Whoever leaves early wants no error.
    sandbox.tool("page", "exit 0");
    assert_eq!(screen(&["log", "--pager"]), "");
}

#[test]
fn what_takes_long_says_so_on_a_terminal_and_leaves_nothing_there() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "exit 1");
    sandbox.verify_run(["--sync", "eslint", "."]).outcome();
    let lock = std::fs::File::open(sandbox.state().join("recorder.lock")).expect("the recorder's lock");
    lock.lock().expect("the lock is free");
    let terminal = Terminal::start(sandbox.verify_run(["store", "rebuild"]));
    terminal.shows("\r\u{1b}[2Krebuilding the index: 0 s");
    drop(lock);
    let (ended, screen) = terminal.ends();
    let screen = String::from_utf8(screen).expect("text");
    let left = screen.rsplit("\r\u{1b}[2K").next().expect("the rest");
    assert_eq!((ended, left), (CommandEnd::Exit(0), "rebuilt the index from 2 events\r\n"), "{screen:?}");
    assert_eq!(sandbox.verify_run(["store", "rebuild"]).outcome().stderr(), "");
}

#[test]
fn a_proposal_shows_its_evidence_and_its_diff() {
    let sandbox = Sandbox::repository();
    sandbox.tool("eslint", "test -z \"$MESSAGE\" || { printf 'src/a.js:1:1: error: %s\\n' \"$MESSAGE\"; exit 1; }");
    sandbox.write("src/a.js", "if (a) b();\n");
    let gate = "[promotion]\ntasks = 1\nconfidence = 0.5\n";
    sandbox.write("verify-run.toml", format!("[advice]\nholdout = false\n[snapshot]\nenabled = false\n{gate}"));
    let lint = |task: &str, message: &str, code: u8| {
        let run = sandbox.verify_run(["--sync", "--task", task, "eslint", "."]).env("MESSAGE", message);
        assert_eq!(run.env("VERIFY_RUN_SESSION", task).outcome().ended, CommandEnd::Exit(code));
    };
    lint("A", "Expected { after 'if' condition  curly", 1);
    sandbox.verify_run(["warn", "--task", "B", "--session", "B", "--files", "src/a.js"]).prints();
    lint("B", "", 0);
    let proposal = id(&sandbox, &["promote", "list"], "promotions");
    assert_page("promote-list", &sandbox.verify_run(["promote", "list"]).prints());
    assert_page("promote-show", &sandbox.verify_run(["promote", "show", &proposal]).prints());
}
