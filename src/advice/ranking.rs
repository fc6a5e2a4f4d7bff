//! Which warnings are due: relevance times confidence times frequency, one of a family, few, and often none.
//!
//! What concerns the task (a file, the command, its words) is put together as independent reasons are: one minus the
//! product of what each leaves open. The last place of a full list is for something that little is known about, by one
//! draw from its posterior (Thompson 1933): else new lessons never get evidence.

use std::collections::{HashMap, HashSet};
use std::ops::Add;

use serde::Serialize;

use crate::config::AdviceSettings;
use crate::pattern::confidence::ConfidenceEvidence;
use crate::pattern::statistics::beta_quantile;

/// A day, microseconds.
const DAY_US: f64 = 24.0 * 3600.0 * 1e6;
/// Files of a kind say nothing about the kind before there are this many.
const KIND_FILES_MIN: usize = 3;

/// How a file of the task concerns a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileReach {
    /// It failed in this very file, or a change of it brought it or mended it.
    File,
    /// It fails in this folder, in no one file of it.
    Folder,
    /// It fails in this kind of file, in no one folder.
    Kind,
}

/// What makes a pattern concern a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct WarningConcern {
    /// A file of the task, and how it does.
    pub file: Option<(String, FileReach)>,
    /// The tool class that is about to run reported it.
    pub command: Option<String>,
    /// How well the words of the task fit its message, 0 to 1.
    pub text: f64,
    /// The task's check has just failed in this very way.
    pub failed: bool,
    /// In how many tasks like this one it failed, of how many.
    pub similar: Option<(u64, u64)>,
    /// What is known about changes of the file: `70 % of tasks that modify database/** fail (7 of 10).`
    pub finding: Option<String>,
}

/// Something that may be worth a warning.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WarningCandidate {
    /// What identifies it: a pattern's key, an entry's id.
    pub key: String,
    /// What is said once and held out together.
    pub family: String,
    /// Failures so far.
    pub failures: u64,
    /// The ledger's value.
    pub confidence: f64,
    /// The evidence behind it.
    pub evidence: ConfidenceEvidence,
    /// How often recently, 0 to 1.
    pub frequency: f64,
    /// Warnings about it that were due before.
    pub exposures: u64,
    /// Whether anything says in which files it is: without, it belongs to its command.
    pub has_files: bool,
    /// The file in which a pattern failed most often.
    pub main_file: Option<String>,
    /// Warned tasks that did without the mistake …
    pub prevented: u64,
    /// … of those in which it could be seen.
    pub warned: u64,
    /// Why it concerns the task.
    pub concern: WarningConcern,
}

impl WarningCandidate {
    /// Whether it is an entry that was written, not a pattern.
    pub(crate) fn is_entry(&self) -> bool {
        self.key.starts_with("k-")
    }
}

/// A warning that is due, with the reason of its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RankedWarning {
    /// What it is about.
    pub candidate: WarningCandidate,
    /// From 1.
    pub rank: u32,
    /// How closely it concerns the task, 0 to 1.
    pub relevance: f64,
    /// Its confidence here, with a limit for what is unconfirmed.
    pub confidence: f64,
    /// Relevance × confidence × frequency.
    pub score: f64,
    /// Too young for confidence.
    pub unconfirmed: bool,
    /// It has its place so that something becomes known about it.
    pub exploring: bool,
    /// Why it is here, for people.
    pub reason: String,
}

/// How the files of a task concern a pattern that failed in `failed_in` (each with its number of failures); the
/// strongest. `exact` are files of the task that are known to be its own.
pub(crate) fn file_reach(
    asked: &[String],
    exact: &HashSet<&str>,
    failed_in: &[(String, u64)],
    settings: &AdviceSettings,
) -> Option<(String, FileReach)> {
    let own = |path: &&String| exact.contains(path.as_str()) || failed_in.iter().any(|(file, _)| file == *path);
    if let Some(path) = asked.iter().find(own) {
        return Some((path.clone(), FileReach::File));
    }
    let all: u64 = failed_in.iter().map(|(_, failures)| failures).sum();
    let is_most = |failures: u64| all > 0 && failures as f64 >= settings.coverage * all as f64;
    if failed_in.iter().any(|(_, failures)| is_most(*failures)) {
        return None;
    }
    // Folders with the number of files in and below them, and their failures.
    let mut folders: HashMap<&str, (usize, u64)> = HashMap::new();
    for (file, failures) in failed_in {
        for (slash, _) in file.match_indices('/') {
            let (files, sum) = folders.entry(&file[..slash]).or_default();
            *files += 1;
            *sum += failures;
        }
    }
    let folder = |path: &str| folders.get(path.rsplit_once('/')?.0).copied();
    let of_folder = |path: &&String| folder(path).is_some_and(|(files, failures)| files >= 2 && is_most(failures));
    if let Some(path) = asked.iter().find(of_folder) {
        return Some((path.clone(), FileReach::Folder));
    }
    if failed_in.iter().filter_map(|(file, _)| folder(file)).any(|(_, failures)| is_most(failures)) {
        return None;
    }
    let covers = |is_in: &dyn Fn(&str) -> bool| {
        let files = failed_in.iter().filter(|(file, _)| is_in(file));
        let (count, failures) = files.fold((0, 0), |(count, sum), (_, failures)| (count + 1, sum + failures));
        (count, is_most(failures))
    };
    let kind =
        |path: &str| path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, kind)| format!(".{kind}"));
    let of_kind = |path: &&String| {
        kind(path).is_some_and(|kind| matches!(covers(&|file| file.ends_with(&kind)), (KIND_FILES_MIN.., true)))
    };
    asked.iter().find(of_kind).map(|path| (path.clone(), FileReach::Kind))
}

/// t / (t + n), where t counts distinct tasks of these ages (microseconds), each half as much after every half-life.
pub(crate) fn recent_frequency(ages_us: impl Iterator<Item = u64>, settings: &AdviceSettings) -> f64 {
    let half_life = settings.half_life_days as f64 * DAY_US;
    // The sum of nothing would be -0.
    let tasks = ages_us.map(|age| (-(age as f64) / half_life).exp2()).fold(0.0, Add::add);
    tasks / (tasks + settings.frequency_tasks)
}

/// BM25 scores of one query as shares: the median one is a half.
pub(crate) fn score_shares(scores: &[(i64, f64)]) -> Vec<(i64, f64)> {
    let mut sorted: Vec<f64> = scores.iter().map(|(_, score)| score.max(0.0)).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(median) = sorted.get(sorted.len() / 2).copied() else { return Vec::new() };
    let share = |score: f64| if score + median > 0.0 { score / (score + median) } else { 0.0 };
    scores.iter().map(|(id, score)| (*id, share(score.max(0.0)))).collect()
}

/// The warnings that are due, at most `limit`. `seed` decides the draw of what is explored.
pub(crate) fn rank_warnings(
    candidates: Vec<WarningCandidate>,
    limit: usize,
    settings: &AdviceSettings,
    seed: &str,
) -> Vec<RankedWarning> {
    let mut due: Vec<RankedWarning> =
        candidates.into_iter().filter_map(|candidate| weigh_candidate(candidate, settings)).collect();
    // An entry about a family with enough confidence is shown in place of the family's patterns.
    let is_written = |ranked: &&RankedWarning| ranked.candidate.is_entry() && !ranked.unconfirmed;
    let written: HashSet<String> = due.iter().filter(is_written).map(|it| it.candidate.family.clone()).collect();
    due.retain(|ranked| ranked.candidate.is_entry() || !written.contains(&ranked.candidate.family));
    due.sort_by(|a, b| {
        let by_bound = b.candidate.evidence.lower_bound.total_cmp(&a.candidate.evidence.lower_bound);
        b.score.total_cmp(&a.score).then(by_bound).then_with(|| a.candidate.key.cmp(&b.candidate.key))
    });
    let mut families = HashSet::new();
    due.retain(|ranked| families.insert(ranked.candidate.family.clone()));
    if due.len() > limit && limit > 1 {
        explore_last_place(&mut due, limit, settings, seed);
    }
    due.truncate(limit);
    for (rank, ranked) in (1..).zip(&mut due) {
        ranked.rank = rank;
        ranked.reason = ranking_reason(ranked);
    }
    due
}

/// A candidate's figures; `None` when it is not due.
fn weigh_candidate(candidate: WarningCandidate, settings: &AdviceSettings) -> Option<RankedWarning> {
    let WarningConcern { file, command, text, failed, similar, finding } = &candidate.concern;
    // A written entry need not have failed here, and what is known about changes rests on more than one pattern.
    let is_rare = candidate.failures < settings.occurrences_min && !candidate.is_entry();
    let unconfirmed = (candidate.confidence < settings.confidence_min || is_rare) && finding.is_none();
    // Of what was hardly seen only the very place says enough.
    if unconfirmed && !failed && !matches!(file, Some((_, FileReach::File))) {
        return None;
    }
    let file = settings.weight_file
        * match file {
            Some((_, FileReach::File)) => 1.0,
            Some((_, FileReach::Folder)) => settings.folder,
            Some((_, FileReach::Kind)) => settings.extension,
            None => 0.0,
        };
    let command = if command.is_some() { settings.weight_command } else { 0.0 };
    let alike = similar.map_or(0.0, |(hits, of)| hits as f64 / of.max(1) as f64).clamp(0.0, 1.0);
    let relevance = match failed {
        true => 1.0,
        false => {
            let text = settings.weight_text * text.clamp(0.0, 1.0);
            1.0 - (1.0 - file) * (1.0 - command) * (1.0 - text) * (1.0 - settings.weight_similar * alike)
        }
    };
    let most = if unconfirmed { settings.young_confidence } else { 1.0 };
    let confidence = candidate.confidence.min(most);
    let score = relevance * confidence * candidate.frequency;
    let is_due = *failed || relevance >= settings.relevance_min && score >= settings.score_min;
    is_due.then(|| RankedWarning {
        candidate,
        rank: 0,
        relevance,
        confidence,
        score,
        unconfirmed,
        exploring: false,
        reason: String::new(),
    })
}

/// Puts one of those that little is known about into the last place: the best of one draw each.
fn explore_last_place(due: &mut Vec<RankedWarning>, limit: usize, settings: &AdviceSettings, seed: &str) {
    let drawn = due.iter().enumerate().skip(limit - 1);
    let drawn = drawn.filter(|(_, ranked)| ranked.candidate.exposures < settings.explore_exposures);
    let drawn = drawn.map(|(at, ranked)| {
        let ConfidenceEvidence { alpha, beta, .. } = ranked.candidate.evidence;
        (at, beta_quantile(seeded_fraction(seed, &ranked.candidate.key), alpha, beta))
    });
    if let Some((at, _)) = drawn.max_by(|a, b| a.1.total_cmp(&b.1)) {
        let mut chosen = due.remove(at);
        chosen.exploring = at >= limit;
        due.insert(limit - 1, chosen);
    }
}

/// A number between 0 and 1 that is the same in every process.
fn seeded_fraction(seed: &str, key: &str) -> f64 {
    let hash = blake3::Hasher::new().update(seed.as_bytes()).update(b"\0").update(key.as_bytes()).finalize();
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.as_bytes()[..8]);
    ((u64::from_le_bytes(bytes) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

fn ranking_reason(ranked: &RankedWarning) -> String {
    let WarningConcern { file, command, text, failed, similar, .. } = &ranked.candidate.concern;
    let similar = similar.map(|(hits, of)| format!("it failed in {hits} of {of} tasks like this one"));
    let file = file.as_ref().map(|(path, reach)| match reach {
        FileReach::File => format!("it concerns {path}"),
        FileReach::Folder => format!("it happens in the folder of {path}"),
        FileReach::Kind => format!("it happens in files such as {path}"),
    });
    let command = command.as_ref().map(|class| format!("{class} reported it"));
    let text = (*text > 0.0).then(|| "the task's words are in its message".to_owned());
    let failed = failed.then(|| "it has just failed in this way".to_owned());
    let why: Vec<String> = failed.into_iter().chain(file).chain(command).chain(similar).chain(text).collect();
    let figures = format!(
        "relevance {:.2} × confidence {:.2} × frequency {:.2} = {:.2}",
        ranked.relevance, ranked.confidence, ranked.candidate.frequency, ranked.score
    );
    let exploring = if ranked.exploring { "; shown to measure whether it helps" } else { "" };
    format!("{}: {figures}{exploring}", why.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> AdviceSettings {
        AdviceSettings::default()
    }

    fn candidate(key: &str, confidence: f64, frequency: f64, concern: WarningConcern) -> WarningCandidate {
        let evidence = ConfidenceEvidence { alpha: 2.0, beta: 2.0, mean: 0.5, lower_bound: 0.2 };
        let (key, family) = (key.to_owned(), format!("family of {key}"));
        WarningCandidate {
            key,
            family,
            failures: 4,
            confidence,
            evidence,
            frequency,
            exposures: 9,
            has_files: true,
            main_file: None,
            prevented: 0,
            warned: 0,
            concern,
        }
    }

    fn in_file() -> WarningConcern {
        WarningConcern { file: Some(("src/a.py".into(), FileReach::File)), ..WarningConcern::default() }
    }

    fn keys(ranked: &[RankedWarning]) -> Vec<&str> {
        ranked.iter().map(|ranked| ranked.candidate.key.as_str()).collect()
    }

    #[test]
    fn warnings_are_ranked_by_relevance_times_confidence_times_frequency() {
        let with = |file: FileReach, command: bool, text: f64| WarningConcern {
            file: Some(("src/a.py".into(), file)),
            command: command.then(|| "pytest".into()),
            text,
            ..WarningConcern::default()
        };
        let candidates = vec![
            candidate("folder", 0.9, 0.5, with(FileReach::Folder, false, 0.0)),
            candidate("all", 0.8, 0.5, with(FileReach::File, true, 1.0)),
            candidate("file", 0.8, 0.5, with(FileReach::File, false, 0.0)),
        ];
        let ranked = rank_warnings(candidates, 5, &settings(), "s");
        assert_eq!(keys(&ranked), ["all", "file", "folder"]);
        let relevance: Vec<f64> = ranked.iter().map(|ranked| ranked.relevance).collect();
        for (found, wanted) in relevance.iter().zip([1.0 - 0.1 * 0.4 * 0.5, 0.9, 0.63]) {
            assert!((found - wanted).abs() < 1e-9, "{relevance:?}");
        }
        assert!((ranked[0].score - 0.98 * 0.8 * 0.5).abs() < 1e-9);
        assert_eq!(ranked.iter().map(|ranked| ranked.rank).collect::<Vec<_>>(), [1, 2, 3]);
        let reason = &ranked[1].reason;
        assert_eq!(reason, "it concerns src/a.py: relevance 0.90 × confidence 0.80 × frequency 0.50 = 0.36");
    }

    #[test]
    fn what_does_not_concern_the_task_or_is_rare_is_not_due_and_zero_is_fine() {
        let nothing = candidate("a", 0.9, 0.9, WarningConcern::default());
        let rare = candidate("b", 0.7, 0.06, in_file());
        let words = WarningConcern { text: 0.4, ..WarningConcern::default() };
        assert!(rank_warnings(vec![nothing, rare, candidate("c", 0.9, 0.9, words)], 5, &settings(), "s").is_empty());
        assert!(rank_warnings(vec![candidate("d", 0.9, 0.9, in_file())], 0, &settings(), "s").is_empty());
    }

    #[test]
    fn a_younger_one_is_marked_unconfirmed_and_only_due_in_the_very_file() {
        let young = |concern| WarningCandidate { failures: 1, ..candidate("a", 0.55, 0.25, concern) };
        let ranked = rank_warnings(vec![young(in_file())], 5, &settings(), "s");
        assert!(ranked[0].unconfirmed);
        assert_eq!(ranked[0].confidence, 0.5);
        let folder = WarningConcern {
            file: Some(("src/a.py".into(), FileReach::Folder)),
            command: Some("pytest".into()),
            text: 1.0,
            ..WarningConcern::default()
        };
        assert!(rank_warnings(vec![young(folder)], 5, &settings(), "s").is_empty());
        assert!(!rank_warnings(vec![candidate("b", 0.6, 0.5, in_file())], 5, &settings(), "s")[0].unconfirmed);
    }

    #[test]
    fn what_tasks_like_this_one_failed_in_is_due_and_so_is_what_is_known_about_a_folder() {
        let alike = |hits, of| WarningConcern { similar: Some((hits, of)), ..WarningConcern::default() };
        let ranked = rank_warnings(vec![candidate("a", 0.7, 0.6, alike(5, 5))], 5, &settings(), "s");
        assert_eq!(keys(&ranked), ["a"]);
        assert!(ranked[0].reason.starts_with("it failed in 5 of 5 tasks like this one: relevance 0.70"), "{ranked:?}");
        assert!(
            rank_warnings(vec![candidate("a", 0.7, 0.6, alike(1, 5))], 5, &settings(), "s").is_empty(),
            "one of five is little"
        );
        let folder = WarningConcern {
            file: Some(("database/new.sql".into(), FileReach::Folder)),
            finding: Some("71 % of tasks that modify database/** fail (5 of 7).".into()),
            ..WarningConcern::default()
        };
        let young = WarningCandidate { failures: 1, ..candidate("b", 0.5, 0.6, folder) };
        let ranked = rank_warnings(vec![young], 5, &settings(), "s");
        assert!(keys(&ranked) == ["b"] && !ranked[0].unconfirmed, "{ranked:?}");
    }

    #[test]
    fn one_of_a_family_and_at_most_five() {
        let many = (0..9).map(|n| candidate(&n.to_string(), 0.9 - f64::from(n) / 100.0, 0.5, in_file()));
        let mut many: Vec<WarningCandidate> = many.collect();
        many[1].family = many[0].family.clone();
        assert_eq!(keys(&rank_warnings(many, 5, &settings(), "s")), ["0", "2", "3", "4", "5"]);
    }

    #[test]
    fn what_is_written_and_believed_is_said_in_place_of_its_family() {
        let pattern = candidate("a", 0.9, 0.9, in_file());
        let entry = |confidence| WarningCandidate {
            family: pattern.family.clone(),
            ..candidate("k-1", confidence, 0.25, in_file())
        };
        let due = |entry: WarningCandidate| {
            let ranked =
                rank_warnings(vec![pattern.clone(), entry, candidate("b", 0.7, 0.5, in_file())], 5, &settings(), "s");
            keys(&ranked).into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(due(entry(0.7)), ["b", "k-1"], "at its own place");
        assert_eq!(due(entry(0.5)), ["a", "b"], "one of a family");
        let elsewhere = WarningCandidate { concern: WarningConcern::default(), ..entry(0.7) };
        assert_eq!(due(elsewhere), ["a", "b"], "it is not due itself");
    }

    #[test]
    fn the_last_place_of_a_full_list_explores_what_is_hardly_known() {
        let mut many: Vec<WarningCandidate> =
            (0..9).map(|n| candidate(&n.to_string(), 0.9 - f64::from(n) / 100.0, 0.5, in_file())).collect();
        many[7].exposures = 0;
        let ranked = rank_warnings(many.clone(), 5, &settings(), "s");
        assert_eq!(keys(&ranked), ["0", "1", "2", "3", "7"]);
        assert!(ranked[4].exploring && ranked[4].reason.ends_with("shown to measure whether it helps"));
        assert_eq!(rank_warnings(many.clone(), 5, &settings(), "s"), ranked, "the same every time");
        many.truncate(5);
        assert!(rank_warnings(many, 5, &settings(), "s").iter().all(|ranked| !ranked.exploring));
    }

    #[test]
    fn a_folder_stands_for_what_no_one_file_does_and_a_kind_for_what_no_folder_does() {
        let files = |files: &[(&str, u64)]| -> Vec<(String, u64)> {
            files.iter().map(|(file, failures)| ((*file).to_owned(), *failures)).collect()
        };
        let of = |asked: &str, failed: &[(&str, u64)]| {
            file_reach(&[asked.to_owned()], &HashSet::new(), &files(failed), &settings()).map(|(_, reach)| reach)
        };
        assert_eq!(of("src/a.py", &[("src/a.py", 1), ("src/b.py", 9)]), Some(FileReach::File));
        assert_eq!(of("src/c.py", &[("src/a.py", 5), ("src/b.py", 5)]), Some(FileReach::Folder));
        assert_eq!(of("src/c.py", &[("src/b.py", 9), ("src/a.py", 1)]), None, "it is b's");
        assert_eq!(of("web/c.py", &[("src/a.py", 5), ("src/b.py", 5)]), None, "it is src's");
        assert_eq!(of("x/d.py", &[("a/a.py", 2), ("b/b.py", 2), ("c/c.py", 2)]), Some(FileReach::Kind));
        assert_eq!(of("x/d.ts", &[("a/a.py", 2), ("b/b.py", 2), ("c/c.py", 2)]), None);
        assert_eq!(of("top.py", &[]), None);
        let exact = HashSet::from(["shop.py"]);
        let own = file_reach(&["shop.py".to_owned()], &exact, &files(&[("test_shop.py", 1)]), &settings());
        assert_eq!(own, Some(("shop.py".to_owned(), FileReach::File)));
    }

    #[test]
    fn older_tasks_count_less() {
        let day = 24 * 3600 * 1_000_000;
        let of = |ages: &[u64]| recent_frequency(ages.iter().copied(), &settings());
        assert!((of(&[0, 0, 0]) - 0.5).abs() < 1e-9);
        assert!((of(&[90 * day]) - 0.5 / 3.5).abs() < 1e-9);
        assert_eq!(of(&[]).to_string(), "0", "not -0");
    }

    #[test]
    fn the_median_of_a_text_search_is_a_half() {
        let found = score_shares(&[(1, 4.0), (2, 2.0), (3, 1.0)]);
        assert_eq!(found[1], (2, 0.5));
        assert!(found[0].1 > 0.5 && found[2].1 < 0.5);
        assert_eq!(score_shares(&[]), []);
    }
}
