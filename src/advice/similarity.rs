//! How alike two tasks are: where they worked, what they are called, what was run in them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::config::AdviceSettings;

/// A word, letters: shorter words have no meaning.
const WORD_LETTERS_MIN: usize = 3;
/// Words of a task that are looked for.
const WORDS_MAX: usize = 8;
/// Words that say nothing about what a task is about.
const COMMON: [&str; 36] = [
    "the", "and", "for", "with", "from", "into", "that", "this", "not", "when", "new", "add", "fix", "use", "make",
    "all", "are", "was", "has", "have", "should", "must", "can", "task", "feature", "feat", "bug", "bugfix", "chore",
    "update", "change", "branch", "work", "main", "master", "error",
];

/// What is compared of a task.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TaskProfile {
    /// Every folder above its files, and the files: which share of the files is there, less the higher up.
    paths: BTreeMap<String, f64>,
    /// Tools that it ran.
    commands: BTreeSet<String>,
}

/// How alike two tasks are, 0 to 1 each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskSimilarity {
    /// All of it together.
    pub score: f64,
    /// Weighted Jaccard of path components.
    pub paths: f64,
    /// BM25 of the title's words, as a share.
    pub words: f64,
    /// Jaccard of commands.
    pub commands: f64,
    /// Whether they are the same kind of work: 0 or 1.
    pub category: f64,
}

impl TaskSimilarity {
    /// With what is known of the kind of work of both.
    pub(crate) fn with_category(self, is_same: bool, settings: &AdviceSettings) -> Self {
        let category = if is_same { 1.0 } else { 0.0 };
        let score = (1.0 - settings.similar_category) * self.score + settings.similar_category * category;
        TaskSimilarity { score, category, ..self }
    }
}

impl TaskProfile {
    /// From the parts of a task's signature: pairs of `file` or `tool` and its value; others are passed over.
    pub(crate) fn from_parts<'a>(parts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut profile = TaskProfile::default();
        let mut files = BTreeSet::new();
        for (part, value) in parts {
            match part {
                "file" => drop(files.insert(value)),
                "tool" => drop(profile.commands.insert(value.to_owned())),
                _ => {}
            }
        }
        for file in &files {
            let depth = file.split('/').count();
            let ends = file.match_indices('/').map(|(at, _)| at).chain([file.len()]);
            for (above, end) in (1..).zip(ends) {
                let weight = f64::from(above) / depth as f64 / files.len() as f64;
                *profile.paths.entry(file[..end].to_owned()).or_default() += weight;
            }
        }
        profile
    }

    /// How alike two are, with the share that a search for the words of one gave for the other.
    pub(crate) fn similarity_to(&self, other: &TaskProfile, words: f64, settings: &AdviceSettings) -> TaskSimilarity {
        let all: BTreeSet<&String> = self.paths.keys().chain(other.paths.keys()).collect();
        let weight = |profile: &TaskProfile, path: &str| profile.paths.get(path).copied().unwrap_or(0.0);
        let (both, either) = all.iter().fold((0.0, 0.0), |(both, either), path| {
            let (a, b) = (weight(self, path), weight(other, path));
            (both + a.min(b), either + a.max(b))
        });
        let paths = if either > 0.0 { both / either } else { 0.0 };
        let shared = self.commands.intersection(&other.commands).count();
        let commands = shared as f64 / self.commands.union(&other.commands).count().max(1) as f64;
        let score = settings.similar_paths * paths
            + settings.similar_words * words.clamp(0.0, 1.0)
            + settings.similar_commands * commands;
        TaskSimilarity { score, paths, words, commands, category: 0.0 }
    }
}

/// The words of a text that say what it is about, lower case, in their order.
pub(crate) fn telling_words(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric()) {
        let word = word.to_lowercase();
        let letters = word.chars().filter(|letter| letter.is_alphabetic()).count();
        if letters >= WORD_LETTERS_MIN && !COMMON.contains(&word.as_str()) && !found.contains(&word) {
            found.push(word);
        }
    }
    found.truncate(WORDS_MAX);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(files: &[&str], tools: &[&str]) -> TaskProfile {
        let files = files.iter().map(|file| ("file", *file));
        TaskProfile::from_parts(files.chain(tools.iter().map(|tool| ("tool", *tool))).chain([("label", "x")]))
    }

    #[test]
    fn tasks_are_alike_by_paths_words_and_commands() {
        let settings = AdviceSettings::default();
        let here = profile(&["src/db/user.py", "src/db/order.py"], &["pytest", "ruff"]);
        let same = here.similarity_to(&here, 1.0, &settings);
        assert!((same.score - 1.0).abs() < 1e-9, "{same:?}");
        let near = profile(&["src/db/user.py"], &["pytest"]).similarity_to(&here, 0.0, &settings);
        let far = profile(&["web/app.ts"], &["pytest"]).similarity_to(&here, 0.0, &settings);
        assert!(near.paths > 0.4 && far.paths == 0.0 && near.score > far.score, "{near:?} {far:?}");
        assert!((far.score - 0.2 * 0.5).abs() < 1e-9);
        assert!((profile(&[], &[]).similarity_to(&here, 0.5, &settings).score - 0.15).abs() < 1e-9);
    }

    #[test]
    fn a_shared_file_says_more_than_a_shared_folder_at_the_top() {
        let settings = AdviceSettings::default();
        let like = |file| profile(&[file], &[]).similarity_to(&profile(&["src/db/user.py"], &[]), 0.0, &settings).paths;
        assert!(like("src/db/user.py") > like("src/db/order.py"));
        assert!(like("src/db/order.py") > like("src/web/app.py"));
        assert!(like("src/web/app.py") > like("web/app.py"));
    }

    #[test]
    fn words_that_every_task_has_say_nothing() {
        assert_eq!(telling_words("Fix the login-form for new users (ABC-12)"), ["login", "form", "users", "abc"]);
        assert_eq!(telling_words("fix it"), Vec::<String>::new());
    }
}
