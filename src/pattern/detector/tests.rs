use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;
use crate::base::clock::Timestamp;
use crate::pattern::history::{FailurePattern, HistoryPattern, TaskFileChange};

/// A task that changed `changed`, with one failure for each list of (pattern, file).
fn task(n: usize, changed: &[&str], failures: &[&[(i64, &str)]]) -> HistoryTask {
    let failure = |(index, items): (usize, &&[(i64, &str)])| HistoryFailure {
        run: format!("{n:04}-{index}"),
        at: Timestamp(i64::try_from(n).expect("small")),
        category: "test_failure".into(),
        items: items.iter().map(|&(pattern, file)| FailurePattern { pattern, file: Some(file.to_owned()) }).collect(),
    };
    HistoryTask {
        name: format!("task-{n}"),
        changed: changed.iter().map(|file| ((*file).to_owned(), TaskFileChange::Content)).collect(),
        failures: failures.iter().enumerate().map(failure).collect(),
        runs: 1,
    }
}

fn history(tasks: Vec<HistoryTask>) -> TaskHistory {
    let known = |n: i64| {
        let (code, masked) = (Some(format!("E{n}")), format!("Cannot find module 'm{n}'"));
        (n, HistoryPattern { id: format!("p-{n}"), tool: "tsc".into(), code, masked })
    };
    TaskHistory {
        tasks,
        patterns: (1..9).map(known).collect::<BTreeMap<_, _>>().into(),
        categories: 8,
        ..TaskHistory::default()
    }
}

fn about(pattern: i64, history: &TaskHistory) -> Vec<DetectorFinding> {
    let (id, known) = (format!("p-{pattern}"), history.patterns.get().expect("named"));
    let subject = DetectorSubject { id: &id, patterns: &[pattern], family: &[pattern, 8], known };
    let (registry, faults) = DetectorRegistry::new(&[], &CategoryTable::default());
    assert_eq!(faults, []);
    registry.examine_pattern(&subject, history, &Settings::default())
}

fn overall(history: &TaskHistory) -> Vec<DetectorFinding> {
    DetectorRegistry::new(&[], &CategoryTable::default()).0.examine_history(history, &Settings::default())
}

fn of<'a>(findings: &'a [DetectorFinding], detector: &str) -> Option<&'a DetectorFinding> {
    findings.iter().find(|finding| finding.detector == detector)
}

#[test]
fn three_distinct_tasks_recur_and_three_runs_of_one_do_not() {
    let once: &[(i64, &str)] = &[(1, "a.ts")];
    let found = about(1, &history(vec![task(1, &[], &[once, once, once]), task(2, &[], &[once])]));
    assert_eq!(of(&found, "recurring"), None);
    let found = about(1, &history((1..=3).map(|n| task(n, &[], &[once])).collect()));
    assert_eq!(of(&found, "recurring").map(|finding| (finding.hits, finding.of)), Some((3, 3)));
    // The family counts, too.
    let other: &[(i64, &str)] = &[(8, "a.ts")];
    let found = about(1, &history(vec![task(1, &[], &[once]), task(2, &[], &[other]), task(3, &[], &[other])]));
    assert!(of(&found, "recurring").expect("found").summary.starts_with("This or a failure like it"), "{found:?}");
}

#[test]
fn a_file_pattern_is_found_by_lift() {
    let mut tasks: Vec<HistoryTask> = (1..=5)
        .map(|n| {
            task(n, &["README.md"], &[&[(1, ["db/a.sql", "db/b.sql", "db/c.sql", "db/d.sql", "db/e.sql"][n - 1])]])
        })
        .collect();
    tasks.extend((6..=20).map(|n| task(n, &["src/x.ts", "src/y.ts"], &[])));
    let found = about(1, &history(tasks.clone()));
    let files = of(&found, "files").expect("found");
    // db/**, db/*.sql and **/*.sql say the same; the folder is what a person would say.
    assert_eq!(files.files.as_deref(), Some("db/**"));
    assert_eq!((files.hits, files.of), (5, 5));
    // 5 of 40 touched files are in db/.
    assert!((files.lift.expect("a lift") - 8.0).abs() < 1e-9, "{files:?}");

    // Where everything that is touched is in db/, db/ is nothing special.
    tasks.truncate(5);
    tasks.iter_mut().for_each(|task| task.changed = [("db/z.sql".to_owned(), TaskFileChange::Content)].into());
    assert_eq!(of(&about(1, &history(tasks)), "files"), None);
}

#[test]
fn what_always_breaks_is_known_by_the_passes() {
    // 7 of 10 tasks that change database/ fail, 3 of 25 others.
    let failure: &[(i64, &str)] = &[(1, "tests/t.py")];
    let mut tasks: Vec<HistoryTask> = (0..10)
        .map(|n| task(n, &[&format!("database/{n}.py")], if n < 7 { std::slice::from_ref(&failure) } else { &[] }))
        .collect();
    tasks.extend(
        (10..35).map(|n| task(n, &[&format!("web/{n}.js")], if n < 13 { std::slice::from_ref(&failure) } else { &[] })),
    );
    let found = overall(&history(tasks.clone()));
    let finding = of(&found, "always-breaks").expect("found");
    let wanted = "70 % of tasks that modify database/** fail (7 of 10); 12 % of the others do (3 of 25).";
    assert_eq!(finding.summary, wanted);
    assert_eq!(finding.title, "changing database/** often breaks");
    assert_eq!(found.iter().filter(|finding| finding.detector == "always-breaks").count(), 1, "{found:?}");

    // Every one of six: the lower bound alone is enough.
    let always: Vec<HistoryTask> = (0..6)
        .map(|n| task(n, &["db/a.py"], std::slice::from_ref(&failure)))
        .chain((6..9).map(|n| task(n, &["web/a.js"], &[])))
        .collect();
    let found = about(1, &history(always));
    assert_eq!(of(&found, "always-breaks").expect("found").title, "changing db/a.py nearly always breaks");

    // Where all tasks fail it isn't the files, and without passes there is no share.
    let all: Vec<HistoryTask> = (0..9).map(|n| task(n, &["db/a.py"], std::slice::from_ref(&failure))).collect();
    assert_eq!(of(&overall(&history(tasks[10..].to_vec())), "always-breaks"), None);
    assert_eq!(of(&overall(&history(all[..2].to_vec())), "always-breaks"), None);
}

#[test]
fn a_category_dominates_by_share_and_bound() {
    let failure: &[(i64, &str)] = &[(1, "a")];
    let mut tasks: Vec<HistoryTask> = (0..5).map(|n| task(n, &[], &[failure])).collect();
    let found = overall(&history(tasks.clone()));
    assert_eq!(
        of(&found, "dominating-category").expect("found").summary,
        "100 % of the failures are test_failure (5 of 5)."
    );
    // Four are too few, and half is no dominance.
    assert_eq!(of(&overall(&history(tasks[..4].to_vec())), "dominating-category"), None);
    for task in tasks.iter_mut().take(3) {
        task.failures[0].category = "lint_error".into();
    }
    tasks.push(task(6, &[], &[failure]));
    assert_eq!(of(&overall(&history(tasks)), "dominating-category"), None);
}

#[test]
fn what_fails_together_is_a_group() {
    // 1, 2 and 3 in the same runs but for one; 4 now and then; 5 always alone.
    let both: &[(i64, &str)] = &[(1, "a"), (2, "b"), (3, "c")];
    let more: &[(i64, &str)] = &[(1, "a"), (2, "b"), (3, "c"), (4, "d")];
    let without: &[(i64, &str)] = &[(1, "a"), (2, "b")];
    let alone: &[(i64, &str)] = &[(5, "e")];
    let tasks = vec![task(1, &[], &[both, more, both, alone]), task(2, &[], &[both, without, alone, alone])];
    let found = overall(&history(tasks.clone()));
    let finding = of(&found, "fails-together").expect("found");
    assert_eq!(finding.patterns, ["p-1", "p-2", "p-3"]);
    assert_eq!((finding.hits, finding.of), (4, 5));
    let found = about(2, &history(tasks.clone()));
    let summary = &of(&found, "fails-together").expect("found").summary;
    assert!(summary.starts_with("It fails together with Cannot find module 'm1' (p-1), "), "{summary}");
    assert!(summary.ends_with("4 of 5 runs that had one of them had them all."), "{summary}");
    assert_eq!(of(&about(5, &history(tasks)), "fails-together"), None);
}

#[test]
fn what_fails_beside_a_pattern_does_so_in_enough_runs() {
    let [both, other]: [&[(i64, &str)]; 2] = [&[(1, "a"), (2, "a")], &[(1, "a"), (3, "a")]];
    let history = history(vec![task(1, &[], &[both, other]), task(2, &[], &[both]), task(3, &[], &[both])]);
    assert_eq!(history.patterns_beside(1, 3), [1, 2].into());
    assert_eq!(history.patterns_beside(1, 1), [1, 2, 3].into());
    assert_eq!(history.patterns_beside(3, 3), [3].into(), "a pattern is beside itself");
}

#[test]
fn a_hundred_tests_that_break_at_once_are_one_group() {
    let items: Vec<(i64, &str)> = (1..=300).map(|pattern| (pattern, "a")).collect();
    let tasks = (0..4).map(|n| task(n, &[], &[items.as_slice()])).collect();
    let history = TaskHistory {
        patterns: (1..=300)
            .map(|n| (n, HistoryPattern { id: format!("p-{n}"), ..HistoryPattern::default() }))
            .collect::<BTreeMap<_, _>>()
            .into(),
        ..history(tasks)
    };
    let found = overall(&history);
    assert_eq!(found.iter().filter(|finding| finding.detector == "fails-together").count(), 1);
    assert_eq!(of(&found, "fails-together").expect("found").patterns.len(), 300);
}

#[test]
fn forgetting_imports_when_moving_files_is_named_so() {
    let failure: &[(i64, &str)] = &[(1, "src/a.ts")];
    let moved = |n: usize, change: TaskFileChange| {
        let mut task = task(n, &["src/old.ts"], &[failure]);
        task.changed.values_mut().for_each(|one| *one = change);
        task
    };
    let found = about(1, &history((1..=4).map(|n| moved(n, TaskFileChange::Place)).collect()));
    let finding = of(&found, "imports-after-a-move").expect("found");
    assert_eq!(finding.title, "Forgetting to update imports when moving files");
    assert!(finding.names_pattern && finding.rule.is_some());
    assert!(finding.summary.starts_with("4 of the 4 tasks that had it had moved or removed files"), "{finding:?}");
    assert_eq!(
        of(&about(1, &history((1..=4).map(|n| moved(n, TaskFileChange::Content)).collect())), "imports-after-a-move"),
        None
    );
}

fn file(layer: usize, name: &str, text: &str) -> DefinitionFile {
    DefinitionFile { file: PathBuf::from(name), layer, text: text.into(), attached: Vec::new() }
}

#[test]
fn a_detector_is_added_replaced_and_taken_out_by_configuration_alone() {
    let text = "[[tool]]\nname = \"x\"\n\n[[detector]]\nname = \"migrations\"\ntitle = \"Migrations that {tool} refuses\"\n\
                summary = \"{percent} ({hits} of {of}) in {file}, {code}, {{left}}\"\nfile = [\"db/*.sql\"]\nmin_tasks = 2\n\n\
                [[detector]]\nname = \"unused-names\"\noff = true\n";
    let text = text.replace(", {{left}}", "");
    let weak = "[[detector]]\nname = \"migrations\"\ntitle = \"weaker\"\nsummary = \"x\"\ntool = [\"tsc\"]\n";
    let (registry, faults) =
        DetectorRegistry::new(&[file(0, "a.toml", &text), file(1, "b.toml", weak)], &CategoryTable::default());
    assert_eq!(faults, []);
    assert!(registry.detector_names().all(|name| name != "unused-names"));
    assert_eq!(registry.detector_names().filter(|name| *name == "migrations").count(), 1);
    let failure: &[(i64, &str)] = &[(1, "db/a.sql")];
    let found =
        registry.examine_history(&history((1..=2).map(|n| task(n, &[], &[failure])).collect()), &Settings::default());
    let finding = of(&found, "migrations").expect("found");
    assert_eq!(finding.title, "Migrations that tsc refuses");
    assert_eq!(finding.summary, "100 % (2 of 2) in db/a.sql, E1");
    assert_eq!(finding.patterns, ["p-1"]);
}

#[test]
fn a_bad_detector_is_named_with_its_line_and_the_others_hold() {
    let cases = [
        ("name = \"a b\"\ntitle = \"t\"\nsummary = \"s\"\ntool = [\"x\"]", "its name has"),
        ("name = \"a\"\nsummary = \"s\"\ntool = [\"x\"]", "it has no title"),
        ("name = \"a\"\ntitle = \"t\"\nsummary = \"{nothing}\"\ntool = [\"x\"]", "{nothing}"),
        ("name = \"a\"\ntitle = \"t\"\nsummary = \"s\"", "matches everything"),
        ("name = \"a\"\ntitle = \"t\"\nsummary = \"s\"\nmessage = ['(']", "message"),
        ("name = \"a\"\ntitle = \"t\"\nsummary = \"s\"\nmoved = true\nmin_share = 2.0", "min_share"),
        ("name = \"a\"\ntitle = \"t\"\nsummary = \"s\"\ncategory = [\"odd\"]", "unknown category `odd`"),
    ];
    for (text, wanted) in cases {
        let text = format!(
            "# first\n[[detector]]\n{text}\n[[detector]]\nname = \"good\"\ntitle = \"t\"\nsummary = \"s\"\nmoved = true\n"
        );
        let (registry, faults) = DetectorRegistry::new(&[file(0, "a.toml", &text)], &CategoryTable::default());
        assert_eq!(faults.len(), 1, "{text}");
        assert!(faults[0].reason.contains(wanted), "{faults:?}");
        assert_eq!(faults[0].line, Some(2), "{text}");
        assert!(registry.detector_names().any(|name| name == "good"));
    }
    let (_, faults) = DetectorRegistry::new(
        &[file(0, "a.toml", "[[detector]]\nname = \"a\"\nwhat = 1\n")],
        &CategoryTable::default(),
    );
    assert_eq!((faults.len(), faults[0].line), (1, Some(3)), "{faults:?}");
}

#[test]
fn every_shipped_detector_is_in_force() {
    let names: Vec<String> =
        DetectorRegistry::new(&[], &CategoryTable::default()).0.detector_names().map(str::to_owned).collect();
    let shipped = include_str!("shipped.toml").matches("[[detector]]").count();
    assert_eq!(names.len(), 5 + shipped, "{names:?}");
}
