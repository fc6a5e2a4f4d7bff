//! How good the retrieval of warnings is: a history is replayed task by task, and before each task it is asked what would
//! have been said.
//!
//! The mistakes are the failures of the recorded outputs of real tools (`tests/corpus/cases`) that name a file; a few are
//! made much more often than the others, as everywhere. The history is drawn from a seed ([`history`]): four tasks a day,
//! of which one of four touches files in which nothing ever fails, half of these in projects in which other files do and
//! under a command that fails there. The others touch the file of a mistake, or in three of ten cases a new one beside it
//! with the same ending, and up to three other files of the project. Half of these make one of the mistakes that belong to
//! the folder and ending of a touched file, in that file. Asked is with the files that the task touches and the command
//! that it will run, and what is known then is what the runs before it have shown. The mistake counts as known when two
//! tasks have made it before, wherever, or one in that very file: nothing younger is due (setting
//! `advice.occurrences_min`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::advice::ranking;
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::random::Random;
use crate::base::tree::FsTree;
use crate::config::Settings;
use crate::diagnose::{DefinitionSet, DiagnosisInput, diagnose_output};
use crate::event::sample::{failed_run, folder, passed_run, recorded};
use crate::event::{DiagnosticRecord, Event, EventBody, Scope};
use crate::retrieval::candidates;
use crate::retrieval::detectors::DetectorInsight;
use crate::retrieval::question::WarnQuestion;
use crate::run::CommandEnd;
use crate::store::{Index, Store, lock_store};

/// Larger outputs are the hostile ones.
const OUTPUT_BYTES_MAX: u64 = 200_000;
const TASKS: u64 = 550;
const TASK_SECONDS: u64 = 6 * 3_600;
/// Tasks before the first that counts: nothing is known at first.
const WARM_UP: u64 = 100;
const LIMIT: usize = 5;

/// The first ones more often: with 1/(n + 1) of the weight.
fn skewed(random: &mut Random, end: usize) -> usize {
    let weights: Vec<usize> = (1..=end).map(|n| 1_000_000 / n).collect();
    let mut drawn = random.below(weights.iter().sum());
    weights
        .iter()
        .position(|weight| {
            let is_it = drawn < *weight;
            drawn = drawn.saturating_sub(*weight);
            is_it
        })
        .expect("below the sum")
}

/// The mistakes, each once, in their projects' files.
fn mistakes() -> Vec<DiagnosticRecord> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let definitions = DefinitionSet::shipped_only();
    let mut cases: Vec<_> =
        fs::read_dir(corpus.join("cases")).expect("the corpus").flatten().map(|case| case.path()).collect();
    cases.sort();
    let mut found: BTreeMap<String, DiagnosticRecord> = BTreeMap::new();
    for case in cases {
        if !fs::metadata(case.join("output.txt")).is_ok_and(|file| file.len() < OUTPUT_BYTES_MAX) {
            continue;
        }
        let text = |name: &str| String::from_utf8_lossy(&fs::read(case.join(name)).expect("is there")).into_owned();
        let truth: serde_json::Value = serde_json::from_str(&text("truth.json")).expect("is JSON");
        let code = text("exit_code").trim().parse().unwrap_or(1);
        let Some(project) = truth["project"].as_str().filter(|_| code != 0) else { continue };
        let diagnosis = diagnose_output(&DiagnosisInput {
            output: text("output.txt").as_bytes(),
            command: &text("command"),
            tool: None,
            kind: None,
            ended: CommandEnd::Exit(code),
            dir: "",
            root: "/home/dev/project",
            tree: &FsTree::new(corpus.join("projects").join(project)),
            baseline: None,
            definitions: &definitions,
        });
        for mut item in diagnosis.items {
            if let Some(file) = &item.file {
                item.file = Some(format!("{project}/{file}"));
                let item = recorded(&item);
                found.entry(item.pattern.clone()).or_insert(item);
            }
        }
    }
    found.into_values().collect()
}

/// What a task touches, runs, and does wrong.
struct Task {
    files: Vec<String>,
    tool: String,
    /// The mistakes that it makes.
    made: Vec<DiagnosticRecord>,
    /// The patterns of all mistakes that belong to its files.
    relevant: BTreeSet<String>,
}

fn history(mistakes: &[DiagnosticRecord], seed: u64) -> Vec<Task> {
    let mut random = Random(seed);
    // Which are frequent is drawn, too.
    let mut order: Vec<&DiagnosticRecord> = mistakes.iter().collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at + 1));
    }
    let file = |item: &DiagnosticRecord| item.file.clone().expect("has one");
    let project = |path: &str| path.split('/').next().unwrap_or_default().to_owned();
    let mut tasks = Vec::new();
    for number in 0..TASKS {
        let about = order[skewed(&mut random, order.len())];
        if random.below(4) == 0 {
            let (folder, tool) = match random.below(2) {
                0 => (format!("notes/{}", number % 7), "spelling".to_owned()),
                _ => (format!("{}/quiet", project(&file(about))), about.tool.clone()),
            };
            let files = (0..=random.below(3)).map(|n| format!("{folder}/page{n}.txt")).collect();
            tasks.push(Task { files, tool, made: Vec::new(), relevant: BTreeSet::new() });
            continue;
        }
        let near: Vec<String> =
            order.iter().map(|item| file(item)).filter(|path| project(path) == project(&file(about))).collect();
        let others: Vec<String> = (0..random.below(4)).map(|_| near[random.below(near.len())].clone()).collect();
        let touched = if random.below(10) < 3 { beside(&file(about), number) } else { file(about) };
        let files: BTreeSet<String> = others.into_iter().chain([touched]).collect();
        let places: BTreeMap<(&str, &str), &String> = files.iter().map(|path| (place(path), path)).collect();
        let possible: Vec<&&DiagnosticRecord> =
            order.iter().filter(|item| places.contains_key(&place(&file(item)))).collect();
        let mut made = Vec::new();
        if random.below(2) == 0 {
            let mistake = *possible[skewed(&mut random, possible.len())];
            made.push(DiagnosticRecord {
                file: places.get(&place(&file(mistake))).copied().cloned(),
                ..mistake.clone()
            });
        }
        tasks.push(Task {
            tool: made.first().map_or_else(|| about.tool.clone(), |item: &DiagnosticRecord| item.tool.clone()),
            relevant: possible.iter().map(|item| item.pattern.clone()).collect(),
            files: files.into_iter().collect(),
            made,
        });
    }
    tasks
}

/// Its folder, and the ending of its name.
fn place(path: &str) -> (&str, &str) {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    (folder, name.rsplit_once('.').map_or("", |(_, ending)| ending))
}

/// A new file beside another one.
fn beside(path: &str, number: u64) -> String {
    let (folder, ending) = place(path);
    format!("{folder}/new{number}.{ending}")
}

fn run(task: &Task, number: u64, after: u64, fails: bool) -> Event {
    let (n, name) = (number * TASK_SECONDS + after, format!("task-{number}"));
    let mut event = if fails { failed_run(n, &name, &[]) } else { passed_run(n, &name) };
    if let EventBody::Run(run) = &mut event.body {
        run.argv = vec![Lossless::from(task.tool.as_str())];
        run.tool = Some(task.tool.clone());
        run.scope = Some(Scope { class: task.tool.clone(), subject: task.tool.clone(), ..Scope::default() });
        if let Some(failure) = &mut run.failure {
            failure.items.clone_from(&task.made);
            failure.files = task.made.iter().filter_map(|item| item.file.clone()).collect();
        }
    }
    event
}

/// What was counted over a history.
#[derive(Debug, Default)]
struct Counted {
    /// Tasks that made a mistake which was known.
    asked: u32,
    /// Those that would have been warned of it, or of its family.
    found: u32,
    /// Sum of 1/rank of that warning, and of the mistake's place among the five most frequent ones.
    reciprocal: f64,
    reciprocal_of_frequent: f64,
    /// Warnings, and those of a mistake that belongs to the touched files.
    shown: u32,
    relevant: u32,
    /// Tasks that had nothing to be warned of, and those that were shown nothing.
    irrelevant: u32,
    silent: u32,
}

fn replay(tasks: &[Task]) -> Counted {
    let dir = folder();
    let state = dir.path().into();
    let mut store = Store::open(&state, lock_store(&state, Duration::ZERO).expect("the only writer")).expect("opens");
    let (settings, mut counted) = (Settings::default(), Counted::default());
    let nothing = DetectorInsight::default();
    let mut frequency: BTreeMap<(String, String), u32> = BTreeMap::new();
    let mut places: BTreeSet<(String, Option<String>)> = BTreeSet::new();
    for (number, task) in (0..).zip(tasks) {
        if number >= WARM_UP {
            let index = Index::open_read(&dir.path().join("store.db")).expect("reads").expect("is there");
            let question = WarnQuestion {
                task: format!("task-{number}"),
                session: format!("s{number}"),
                files: task.files.clone(),
                class: Some(task.tool.clone()),
                title: String::new(),
                category: None,
                words: Vec::new(),
            };
            let now = Timestamp(i64::try_from(number * TASK_SECONDS).expect("small") * 1_000_000);
            let found = candidates::find_candidates(&index, &question, || Ok(&nothing), &settings, now).expect("reads");
            let due = ranking::rank_warnings(found, LIMIT, &settings.advice, &question.session);
            counted.shown += u32::try_from(due.len()).expect("five");
            let is_relevant = |key: &String| task.relevant.contains(key);
            counted.relevant +=
                u32::try_from(due.iter().filter(|it| is_relevant(&it.candidate.key)).count()).expect("five");
            if task.relevant.is_empty() {
                counted.irrelevant += 1;
                counted.silent += u32::from(due.is_empty());
            }
            let is_known = |item: &&DiagnosticRecord| {
                let made = frequency.get(&(item.pattern.clone(), item.family.clone())).copied().unwrap_or(0);
                made >= 2 || places.contains(&(item.pattern.clone(), item.file.clone()))
            };
            if let Some(item) = task.made.first().filter(is_known) {
                counted.asked += 1;
                let place =
                    due.iter().position(|it| it.candidate.key == item.pattern || it.candidate.family == item.family);
                counted.found += u32::from(place.is_some());
                counted.reciprocal += place.map_or(0.0, |place| 1.0 / (place + 1) as f64);
                let mut frequent: Vec<_> = frequency.iter().collect();
                frequent.sort_by_key(|(key, count)| (std::cmp::Reverse(**count), *key));
                let place = frequent
                    .iter()
                    .take(LIMIT)
                    .position(|((key, family), _)| *key == item.pattern || *family == item.family);
                counted.reciprocal_of_frequent += place.map_or(0.0, |place| 1.0 / (place + 1) as f64);
            }
        }
        if !task.made.is_empty() {
            store.append(&[run(task, number, 60, true)]).expect("appends");
        }
        store.append(&[run(task, number, 3_600, false)]).expect("appends");
        for item in &task.made {
            *frequency.entry((item.pattern.clone(), item.family.clone())).or_default() += 1;
            places.insert((item.pattern.clone(), item.file.clone()));
        }
    }
    counted
}

#[test]
fn the_next_mistake_is_among_five_warnings_and_where_there_is_none_nothing_is_said() {
    let mistakes = mistakes();
    assert!(mistakes.len() > 100, "{} mistakes", mistakes.len());
    for seed in [1, 2, 3] {
        let counted = replay(&history(&mistakes, seed));
        let share = |part: u32, whole: u32| f64::from(part) / f64::from(whole);
        let recall = share(counted.found, counted.asked);
        let ratio = counted.reciprocal / counted.reciprocal_of_frequent;
        let precision = share(counted.relevant, counted.shown);
        let silent = share(counted.silent, counted.irrelevant);
        let figures = format!(
            "seed {seed}: recall@5 {recall:.2}, MRR {ratio:.1} times, precision {precision:.2}, silent {silent:.2}: \
             {counted:?}"
        );
        assert!(counted.asked >= 40 && counted.irrelevant >= 50, "{figures}");
        assert!(recall >= 0.80, "{figures}");
        assert!(ratio >= 1.5, "{figures}");
        assert!(precision >= 0.5, "{figures}");
        assert!(silent >= 0.90, "{figures}");
    }
}
