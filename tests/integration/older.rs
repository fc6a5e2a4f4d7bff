//! What an older version wrote is read without loss: `tests/data/older` has a small store with something of everything,
//! and what that version printed of it.
//!
//! Keys of checks name their work tree, so the sample is read where it was made: below `/srv/ada`, in mounts of a test's
//! own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use serde_json::Value;
use verify_run::run::CommandEnd;

use crate::sandbox::{Invocation, Sandbox, VERIFY_RUN, can_mount, files_in, skip};

/// The home folder in which the sample was made.
const HOME: &str = "/srv/ada";
/// Fields that change by being read, or with the time.
const CHANGING: [&str; 3] = ["uses", "accesses", "weight"];
/// Fields that had another name in the version that made the sample: (then, now).
const RENAMED: [(&str, &str); 3] = [
    ("category_means", "category_description"),
    ("standing", "status_reason"),
    ("surroundings", "changed_dependencies"),
];

/// Parts of sentences that were reworded since, with their present form.
const REWORDED: [(&str, &str); 10] = [
    (" did without it", " avoided it"),
    ("tries of strategies that helped", "strategies that helped when tried"),
    (concat!("entries that helped some", "body else"), "entries that helped in another session"),
    ("held out yet to compare with", "held out yet for comparison"),
    ("what helps against it is believed at ", "what helps against it has confidence "),
    ("warnings that prevented", "warned tasks without the mistake"),
    ("effectiveness 1.00: ", "effectiveness 1.00, observed without a control group: "),
    ("proposed because warnings about it prevented it", "proposed because warned tasks avoided it"),
    ("not measurable: warnings tell gotchas, and it is ", "not measurable: warnings are about gotchas, and this is "),
    (
        "no recorded failure is what it comes from, or says what its pitfall says",
        "no recorded failure is its source or has the message of its pitfall",
    ),
];
/// Fields that name a row; the first that it has counts.
const ROW_NAMES: [&str; 4] = ["run", "id", "name", "key"];
/// Largest difference between a number and the printed one.
const NUMBER_TOLERANCE: f64 = 1e-9;

/// An earlier version's text in this version's words.
fn reworded(text: &str) -> String {
    REWORDED.iter().fold(text.to_owned(), |text, (before, since)| text.replace(before, since))
}

/// The pattern that has a proven flake as a member.
const FLAKY_PATTERN: &str = "p-dbj0pgs5";

/// The sample, copied to the home of a sandbox.
struct Sample {
    sandbox: Sandbox,
}

impl Sample {
    /// `None` where the test is skipped.
    fn copy() -> Option<Sample> {
        if !Path::new("/srv").is_dir() || Path::new(VERIFY_RUN).starts_with("/srv") {
            skip("no folder /srv to mount over");
            return None;
        }
        if !can_mount() {
            return None;
        }
        let sample = Sample { sandbox: Sandbox::new() };
        let from = data().join("sample");
        copy_folder(&from.join("home"), &sample.path(""));
        copy_folder(&from.join("bin"), &sample.path("bin"));
        for project in ["project", "shared"] {
            let from = from.join(project);
            copy_folder(&from.join("tree"), &sample.path(project));
            for line in ["git init --quiet", "git fetch --quiet \"$0\" main", "git reset --quiet FETCH_HEAD"] {
                sample.within(project, "sh", &["-c", line]).arg(from.join("git.bundle")).prints();
            }
            copy_folder(&from.join("state"), &sample.state(project));
        }
        // Neither folders without files nor a file that compresses well are kept as they were.
        for folder in fs::read_to_string(from.join("empty-folders")).expect("a list").lines() {
            let (project, below) = folder.split_once("/state/").expect("below a state folder");
            fs::create_dir_all(sample.state(project).join(below)).expect("an empty folder");
        }
        let packed = sample.state("project").join("store.db.zst");
        let index = zstd::decode_all(&fs::read(&packed).expect("the index")[..]).expect("zstd");
        fs::write(packed.with_extension(""), index).expect("the index");
        fs::remove_file(packed).expect("the packed index");
        Some(sample)
    }

    /// A path in the home folder, as seen from outside of the mounts.
    fn path(&self, below: &str) -> PathBuf {
        self.sandbox.home().join(below)
    }

    fn state(&self, project: &str) -> PathBuf {
        self.path(project).join(".git/verify-run")
    }

    /// A program in a project of the sample.
    fn within(&self, project: &str, program: &str, arguments: &[&str]) -> Invocation<'_> {
        let home = self.path("");
        let mount = format!(
            "mount -t tmpfs none /srv && mkdir {HOME} && mount --bind '{}' {HOME} && cd {HOME}/{project}",
            home.display()
        );
        let invocation = self.sandbox.bare(program).args(arguments).env("HOME", HOME);
        let invocation = invocation.without("XDG_CONFIG_HOME").without("XDG_STATE_HOME").without("XDG_CACHE_HOME");
        invocation.env("PATH", format!("{HOME}/bin:/usr/local/bin:/usr/bin:/bin")).after_mounting(&mount)
    }

    /// The program in the project, as the agent calls it whose memories the sample has.
    fn verify_run(&self, arguments: &[&str]) -> Invocation<'_> {
        let invocation = self.within("project", VERIFY_RUN, arguments);
        invocation.env("VERIFY_RUN_AGENT", "claude").env("VERIFY_RUN_TASK", "checkout")
    }

    fn json(&self, arguments: &[&str]) -> Value {
        self.verify_run(&[arguments, &["--json"]].concat()).prints_json()
    }

    /// A check of the task that was being worked on.
    fn check(&self, command: &[&str]) -> CommandEnd {
        let options = ["--sync", "--task", "stock", "--session", "thursday", "--agent", "claude"];
        self.within("project", VERIFY_RUN, &[&options, command].concat()).outcome().ended
    }

    /// Takes the run away that no recorder had read; gives it back when it is called.
    fn hold_back_spool(&self) -> impl Fn() + use<> {
        let [file] = &files_in(&self.state("project").join("spool"))[..] else { panic!("one run waits") };
        let (file, aside) = (file.clone(), self.sandbox.tmp().join("run.spool"));
        fs::rename(&file, &aside).expect("moves");
        move || fs::rename(&aside, &file).expect("moves")
    }

    /// Lines of the segments.
    fn count_events(&self) -> usize {
        let segments = files_in(&self.state("project").join("events"));
        segments.iter().map(|path| fs::read_to_string(path).expect("a segment").lines().count()).sum()
    }

    fn index(&self) -> Connection {
        Connection::open(self.state("project").join("store.db")).expect("opens")
    }

    fn index_version(&self) -> u32 {
        self.index().query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a version")
    }

    /// Compares what is printed now with what was printed then.
    #[track_caller]
    fn still_prints(&self, name: &str, arguments: &[&str]) {
        same(name, &expected(name), &self.json(arguments));
    }

    /// As [`Sample::still_prints`], of the patterns. A proven flake counted as a failure of its pattern then.
    #[track_caller]
    fn still_prints_patterns(&self) {
        let mut then = expected("patterns");
        let rows = then["patterns"].as_array_mut().expect("a list");
        let flaky = rows.iter_mut().find(|row| row["id"] == FLAKY_PATTERN).expect("the flaky test's pattern");
        for pointer in
            ["/failures", "/tasks", "/family_tasks", "/frequency/failures_30_days", "/frequency/tasks_30_days"]
        {
            let count = flaky.pointer_mut(pointer).expect("a count");
            *count = (count.as_u64().expect("a number") - 1).into();
        }
        flaky["recurring"] = false.into();
        let summary =
            flaky["summary"].as_str().expect("a text").replace("2 failures in 2 tasks", "1 failure in 1 task");
        flaky["summary"] = summary.into();
        same("patterns", &then, &self.json(&["pattern", "list", "--all", "--limit", "100"]));
    }

    /// As [`Sample::still_prints`], of the figures. What is compared is the first and the last half of the cases now:
    /// of fifteen runs, of nine that are a task's first, and of two fixes that succeeded. The flake counted as a failure then.
    #[track_caller]
    fn still_prints_stats(&self) {
        let mut then = expected("stats");
        for (figure, cases) in
            [("categorised", 9 - 1), ("failure_rate", 15 / 2), ("first_time_pass", 9 / 2), ("attempts", 1)]
        {
            let mut figures = then["figures"].as_array_mut().expect("figures").iter_mut();
            figures.find(|row| row["name"] == figure).expect("the figure")["cases"] = cases.into();
        }
        same("stats", &then, &self.json(&["stats"]));
    }

    /// As [`Sample::still_prints`], with a page for each row.
    #[track_caller]
    fn still_shows(&self, name: &str, id: &str, verb: &[&str]) {
        let pages = expected(name);
        let pages = pages.as_array().expect("a list of pages");
        assert!(!pages.is_empty(), "{name}");
        for page in pages {
            let id = find_field(page, id).as_str().expect("an id");
            same(&format!("{name} {id}"), page, &self.json(&[verb, &[id]].concat()));
        }
    }
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/older")
}

fn expected(name: &str) -> Value {
    let text = fs::read_to_string(data().join("expected").join(format!("{name}.json"))).expect("what was printed");
    serde_json::from_str(&text).expect("JSON")
}

/// Copies a folder with all that is in it, for its owner alone, as the program makes its folders.
fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    fs::set_permissions(to, fs::Permissions::from_mode(0o700)).expect("a private folder");
    for entry in fs::read_dir(from).expect("a folder of the sample").flatten() {
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("copies");
        }
    }
}

/// A field of a document, or of a document in it.
fn find_field<'a>(document: &'a Value, name: &str) -> &'a Value {
    let inner =
        || document.as_object().into_iter().flat_map(|fields| fields.values()).find(|value| value.get(name).is_some());
    document.get(name).or_else(|| inner()?.get(name)).unwrap_or_else(|| panic!("no {name} in {document}"))
}

#[track_caller]
fn same(name: &str, then: &Value, now: &Value) {
    let mut differences = Vec::new();
    compare(name, then, now, &mut differences);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Everything that was printed is printed still; there may be more.
fn compare(at: &str, then: &Value, now: &Value, differences: &mut Vec<String>) {
    match (then, now) {
        (Value::Object(fields), Value::Object(_)) => {
            for (field, then) in fields.iter().filter(|(field, _)| !CHANGING.contains(&field.as_str())) {
                let field = RENAMED.iter().find(|(old, _)| old == field).map_or(field.as_str(), |(_, new)| new);
                compare(&format!("{at}.{field}"), then, &now[field], differences);
            }
        }
        (Value::String(old), Value::String(new)) if reworded(old) == reworded(new) => {}
        (Value::Array(then), Value::Array(now)) => {
            if then.len() != now.len() {
                differences.push(format!("{at}: {} rows, then {}", now.len(), then.len()));
            }
            for (place, then) in then.iter().enumerate() {
                let named = |row: &Value| ROW_NAMES.iter().find_map(|name| row.get(name)).cloned();
                let same_row = |row: &&Value| named(row) == named(then);
                let found = if named(then).is_some() { now.iter().find(same_row) } else { now.get(place) };
                compare(&format!("{at}[{place}]"), then, found.unwrap_or(&Value::Null), differences);
            }
        }
        (Value::Number(then), Value::Number(now)) => {
            let (then, now) = (then.as_f64().unwrap_or(f64::NAN), now.as_f64().unwrap_or(f64::NAN));
            if (then - now).abs() > NUMBER_TOLERANCE * then.abs().max(1.0) {
                differences.push(format!("{at}: {now}, then {then}"));
            }
        }
        _ if then == now => {}
        _ => differences.push(format!("{at}: {now}, then {then}")),
    }
}

#[test]
fn every_record_of_an_older_version_is_listed_as_it_was() {
    let Some(sample) = Sample::copy() else { return };
    let _waits = sample.hold_back_spool();
    sample.still_prints("runs", &["log", "--limit", "100"]);
    // What was asked after this list of then is in the events too.
    let (mut then, now) = (expected("status"), sample.json(&["store", "status"]));
    then["counts"]["events"] = sample.count_events().into();
    for part in ["counts", "bad", "torn", "pending"] {
        same(part, &then[part], &now[part]);
    }
    sample.still_prints("last", &["last"]);
    sample.still_prints("lessons", &["lesson", "list", "--all"]);
    sample.still_prints_patterns();
    sample.still_prints("fixes", &["fix", "list", "--limit", "100"]);
    sample.still_prints("flakes", &["fix", "list", "--flakes"]);
    sample.still_prints("tasks", &["task", "list", "--limit", "100"]);
    sample.still_prints("knowledge", &["knowledge", "query", "--superseded", "--recent", "--limit", "100"]);
    sample.still_prints("strategies", &["strategy", "list"]);
    sample.still_prints("memories", &["memory", "recall", "--limit", "100"]);
    sample.still_prints("promotions", &["promote", "list", "--all"]);
    sample.still_shows("run-pages", "run", &["show"]);
    sample.still_shows("fix-pages", "id", &["fix", "show"]);
    sample.still_shows("entry-pages", "id", &["knowledge", "show"]);
    sample.still_shows("promotion-pages", "id", &["promote", "show"]);
    sample.still_prints_stats();
}

#[test]
fn figures_of_the_day_of_an_older_version_are_those_of_its_records() {
    let Some(sample) = Sample::copy() else { return };
    let _waits = sample.hold_back_spool();
    let stats = sample.json(&["stats", "--from", "2026-11-25", "--to", "2026-11-25"]);
    let figure = |name: &str| {
        let mut figures = stats["overview"]["figures"].as_array().expect("figures").iter();
        let found = figures.find(|figure| figure["name"] == name).unwrap_or_else(|| panic!("no {name}: {stats}"));
        serde_json::json!([found["value"], found["hits"], found["cases"]])
    };
    let has = |name: &str, value: f64, hits: Option<u64>, cases: u64| {
        assert_eq!(figure(name), serde_json::json!([value, hits, cases]), "{name}");
    };
    // Of the sixteen runs of seven tasks nine failed, one of them as a flake; two fixes took two attempts each.
    has("failing_tasks", 5.0 / 7.0, Some(5), 7);
    has("failures", 8.0, None, 8);
    has("first_time_pass", 3.0 / 9.0, Some(3), 9);
    has("attempts_to_fix", 2.0, None, 2);
    has("warnings_prevent", 1.0, Some(2), 2);
}

#[test]
fn an_index_of_an_older_version_or_none_is_built_from_the_events() {
    let Some(sample) = Sample::copy() else { return };
    let _waits = sample.hold_back_spool();
    let version = sample.index_version();
    let prints_as_before = || {
        sample.still_prints("runs", &["log", "--limit", "100"]);
        sample.still_prints_patterns();
        sample.still_prints("promotions", &["promote", "list", "--all"]);
        assert!(sample.index_version() >= version);
    };
    sample.index().pragma_update(None, "user_version", 1).expect("an earlier version");
    prints_as_before();
    fs::remove_file(sample.state("project").join("store.db")).expect("the index");
    let rebuilt = sample.verify_run(&["log"]).outcome();
    assert!(rebuilt.stderr().starts_with("the index was missing; rebuilt it from "), "{}", rebuilt.stderr());
    prints_as_before();
    // The other project never had one here, and its lessons are shared.
    let rebuilt = sample.within("shared", VERIFY_RUN, &["log"]).outcome();
    assert!(rebuilt.stderr().starts_with("the index was missing; rebuilt it from "), "{}", rebuilt.stderr());
    let json = |arguments: &[&str]| sample.within("shared", VERIFY_RUN, arguments).prints_json();
    same("shared-runs", &expected("shared-runs"), &json(&["log", "--json"]));
    let mut lessons = expected("shared-lessons");
    // A shared lesson says no time, so its file's is shown.
    lessons["lessons"][0].as_object_mut().expect("a lesson").remove("recorded_at");
    same("shared-lessons", &lessons, &json(&["lesson", "list", "--json"]));
    let file = find_field(&lessons["lessons"][0], "file").as_str().expect("a file").to_owned();
    assert!(file.contains("lessons/") && !file.contains(".lessons/"), "{file}");
}

#[test]
fn a_run_that_an_older_version_left_in_the_spool_is_recorded() {
    let Some(sample) = Sample::copy() else { return };
    let give_back = sample.hold_back_spool();
    let before = sample.json(&["log", "--limit", "100"]);
    give_back();
    let after = sample.json(&["log", "--limit", "100"]);
    let count = |log: &Value| log["runs"].as_array().expect("runs").len();
    assert_eq!(count(&after), count(&before) + 1);
    let last = sample.json(&["last"]);
    assert_eq!((&last["argv"][0], &last["task"], &last["exit_code"]), (&"pytest".into(), &"stock".into(), &1.into()));
    assert_eq!(last["items"][0]["test"], "test_shop.py::test_rates", "{last}");
    assert!(files_in(&sample.state("project").join("spool")).is_empty());
}

#[test]
fn a_failure_that_was_open_in_an_older_version_is_closed_by_its_fix() {
    let Some(sample) = Sample::copy() else { return };
    let open = || files_in(&sample.state("project").join("open")).len();
    let runs = expected("runs");
    let failure_of = |tool: &str| -> String {
        let mut rows = runs["runs"].as_array().expect("runs").iter();
        let row = rows.find(|row| row["tool"] == tool && row["passed"] == false).expect("a failed run");
        row["failure"].as_str().expect("a failure").to_owned()
    };
    let fix_of = |failure: &str| -> Value {
        let fixes = sample.json(&["fix", "list", "--limit", "100"]);
        let mut rows = fixes["fixes"].as_array().expect("fixes").iter();
        rows.find(|row| row["failure"] == failure).cloned().unwrap_or_default()
    };
    let (lint, acceptance) = (failure_of("eslint"), failure_of("acceptance"));
    let before = open();
    sample.json(&["last"]);
    fs::write(sample.path("project/src/cart.js"), "export const stock = () => []\n").expect("writes");
    assert_eq!(sample.check(&["eslint", "src"]), CommandEnd::Exit(0));
    let fix = fix_of(&lint);
    assert_eq!((&fix["state"], &fix["attempts"]), (&"success".into(), &1.into()), "{fix}");
    let page = sample.json(&["fix", "show", fix["id"].as_str().expect("an id")]);
    assert!(page.to_string().contains("missingStock"), "the old snapshot is what it is compared with: {page}");
    fs::write(sample.path("project/scripts/acceptance.sh"), "#!/bin/sh\necho 'ok 1 - order is shipped'\n")
        .expect("writes");
    assert_eq!(sample.check(&["scripts/acceptance.sh", "--suite", "slow"]), CommandEnd::Exit(0));
    assert_eq!(fix_of(&acceptance)["state"], "success");
    assert!(open() < before, "the markers are gone");
    assert_eq!(sample.json(&["task", "show", "stock"])["state"], "open", "the task goes on");
}

#[test]
fn settings_of_an_older_version_are_honoured() {
    let Some(sample) = Sample::copy() else { return };
    let explained = |line: &str| sample.verify_run(&["whitelist", "explain", line]).outcome().stdout().to_owned();
    assert!(explained("scripts/acceptance.sh --suite slow").starts_with("acceptance: a test check"));
    assert!(explained("prose-lint docs").starts_with("prose: a lint check"), "the user's own");
    assert!(!explained("shellcheck x.sh").contains("a lint check"), "{}", explained("shellcheck x.sh"));
    let types = sample.json(&["knowledge", "types"]).to_string();
    assert!(types.contains("What to do when something is down"), "{types}");
    let suggested =
        sample.json(&["strategy", "suggest", "--error", "'total' is not defined", "--limit", "9"]).to_string();
    assert!(suggested.contains("grep -rn total src"), "{suggested}");
    // Two tasks make a pattern recurring for this user, and the project's limit of warnings goes before the user's.
    let recurring = sample.json(&["pattern", "list", "--recurring"]);
    let tasks = |row: &Value| row["tasks"].as_u64();
    assert!(recurring["patterns"].as_array().expect("patterns").iter().any(|row| tasks(row) == Some(2)), "{recurring}");
    let found = sample.json(&["doctor"]).to_string();
    assert!(!found.contains("unknown"), "{found}");
}
