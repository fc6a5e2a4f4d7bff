//! What failed in tasks like the one at hand.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::question::WarnQuestion;
use crate::advice::ranking;
use crate::advice::similarity::{TaskProfile, TaskSimilarity, telling_words};
use crate::config::Settings;
use crate::store::{Index, StoreError, TaskDetails};

/// Tasks like this one that are looked at.
const TASKS_MAX: usize = 10;
/// Tasks that may be like another that are compared.
const COMPARED_MAX: usize = 200;
/// Files by which similar tasks are looked for.
const FILES_MAX: usize = 20;
/// A mistake of one task alone is no habit.
const TASKS_MIN: u64 = 2;

/// The patterns that failed in at least half of the tasks like this one, each with in how many of how many.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn patterns_in_similar_tasks(
    index: &Index,
    question: &WarnQuestion,
    settings: &Settings,
) -> Result<BTreeMap<i64, (u64, u64)>, StoreError> {
    let WarnQuestion { title, category, task, .. } = question;
    let found = similar_tasks(index, title, category.as_deref(), task, settings)?;
    let mut counted: BTreeMap<i64, u64> = BTreeMap::new();
    let mut of = 0;
    for other in found.into_iter().filter(|other| other.runs > 0).take(TASKS_MAX) {
        let Some(task) = index.find_task(&other.name)? else { continue };
        of += 1;
        index.patterns_of_task(task.number)?.into_iter().for_each(|pattern| *counted.entry(pattern).or_default() += 1);
    }
    counted.retain(|_, hits| *hits >= TASKS_MIN && *hits * 2 >= of);
    Ok(counted.into_iter().map(|(pattern, hits)| (pattern, (hits, of))).collect())
}

/// The tasks like one with this title and of this kind, the most alike first; not itself.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn similar_tasks(
    index: &Index,
    title: &str,
    category: Option<&str>,
    name: &str,
    settings: &Settings,
) -> Result<Vec<SimilarTask>, StoreError> {
    let words = telling_words(title);
    if words.is_empty() && category.is_none() {
        return Ok(Vec::new());
    }
    let described = DescribedTask { parts: &[], text: title, category, without: Some(name) };
    let mut found = tasks_like(index, settings, &described, usize::MAX)?;
    found.retain(|other| {
        let by_words = title_overlap(&words, &format!("{} {}", other.name, other.title.as_deref().unwrap_or_default()));
        let by_kind = category.is_some() && words.is_empty() && other.similarity.category >= 1.0;
        by_words >= settings.advice.alike || by_kind
    });
    Ok(found)
}

/// How many of the words of a title another one has, as a share of the shorter one.
fn title_overlap(words: &[String], other: &str) -> f64 {
    let others = telling_words(other);
    let shared = words.iter().filter(|word| others.contains(word)).count();
    shared as f64 / words.len().min(others.len()).max(1) as f64
}

/// A task that is like another.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct SimilarTask {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub title: Option<String>,
    /// Runs.
    pub runs: u64,
    /// Failed ones.
    pub failures: u64,
    /// How alike they are, and in what.
    #[serde(flatten)]
    pub similarity: TaskSimilarity,
}

/// A task that others are compared with.
pub(crate) struct DescribedTask<'a> {
    /// The parts of its signature.
    pub parts: &'a [(String, String)],
    /// Its name and title.
    pub text: &'a str,
    /// What kind of work it is.
    pub category: Option<&'a str>,
    /// The task itself.
    pub without: Option<&'a str>,
}

/// Tasks with words, files, folders or the kind of work in common, the most alike first.
pub(crate) fn tasks_like(
    index: &Index,
    settings: &Settings,
    described: &DescribedTask<'_>,
    limit: usize,
) -> Result<Vec<SimilarTask>, StoreError> {
    let DescribedTask { parts, text, category, without } = described;
    let pairs = |parts: &[(String, String)]| {
        TaskProfile::from_parts(parts.iter().map(|(part, value)| (part.as_str(), value.as_str())))
    };
    let words = ranking::score_shares(&index.tasks_with_words(&telling_words(text))?);
    let mut numbers: Vec<i64> = words.iter().map(|(task, _)| *task).collect();
    let files = parts.iter().filter(|(part, _)| part == "file").map(|(_, path)| path.as_str());
    for file in files.take(FILES_MAX) {
        numbers.extend(index.tasks_with_file(file)?);
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        numbers.extend(index.tasks_with_folder(folder)?);
    }
    let of_kind: HashSet<i64> = match category {
        Some(category) => index.tasks_of_category(category)?.into_iter().collect(),
        None => HashSet::new(),
    };
    let mut kind: Vec<i64> = of_kind.iter().copied().collect();
    kind.sort_unstable_by(|a, b| b.cmp(a));
    numbers.extend(kind);
    let mut seen = HashSet::new();
    numbers.retain(|number| seen.insert(*number));
    let own = pairs(parts);
    let mut found = Vec::new();
    for number in numbers.into_iter().take(COMPARED_MAX) {
        let name = index.task_name(number)?;
        if *without == Some(name.as_str()) {
            continue;
        }
        let share = words.iter().find(|(task, _)| *task == number).map_or(0.0, |(_, share)| *share);
        let similarity = own.similarity_to(&pairs(&index.task_profile(number)?), share, &settings.advice);
        let similarity = match category {
            Some(_) => similarity.with_category(of_kind.contains(&number), &settings.advice),
            None => similarity,
        };
        found.push((name, similarity));
    }
    found.sort_by(|a, b| b.1.score.total_cmp(&a.1.score).then_with(|| a.0.cmp(&b.0)));
    let mut tasks = Vec::new();
    for (name, similarity) in found.into_iter().take(limit) {
        let Some(task) = index.find_task(&name)? else { continue };
        let TaskDetails { title, runs, failures, .. } = task;
        tasks.push(SimilarTask { name, title, runs, failures, similarity });
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_alike_by_their_telling_words() {
        let words = |text| telling_words(text);
        assert_eq!(title_overlap(&words("Validation work Z"), "A Validation work A"), 1.0);
        assert_eq!(title_overlap(&words("Add email validation"), "t1 Add user validation"), 0.5);
        assert_eq!(title_overlap(&words("Print invoices"), "Mend the login form"), 0.0);
        assert_eq!(title_overlap(&[], ""), 0.0);
    }
}
