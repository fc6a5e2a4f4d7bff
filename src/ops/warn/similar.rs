//! What failed in tasks like the one at hand.

use std::collections::BTreeMap;

use super::WarnQuestion;
use crate::advice::similarity::telling_words;
use crate::config::Settings;
use crate::ops::task::{self, Described, SimilarTask};
use crate::store::{Index, StoreError};

/// Tasks like this one that are looked at.
const TASKS_MAX: usize = 10;
/// A mistake of one task alone is no habit.
const TASKS_MIN: u64 = 2;

/// The patterns that failed in at least half of the tasks like this one, each with in how many of how many.
///
/// # Errors
/// When the store can't be read.
pub(super) fn patterns_in_similar_tasks(
    index: &Index,
    question: &WarnQuestion,
    settings: &Settings,
) -> Result<BTreeMap<i64, (u64, u64)>, StoreError> {
    let WarnQuestion { title, category, task, .. } = question;
    let found = similar_tasks(index, (title, category.as_deref(), task), settings)?;
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
pub(in crate::ops) fn similar_tasks(
    index: &Index,
    (title, category, name): (&str, Option<&str>, &str),
    settings: &Settings,
) -> Result<Vec<SimilarTask>, StoreError> {
    let words = telling_words(title);
    if words.is_empty() && category.is_none() {
        return Ok(Vec::new());
    }
    let described = Described { parts: &[], text: title, category, without: Some(name) };
    let mut found = task::tasks_like(index, settings, &described, usize::MAX)?;
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
