//! What tells a task from others: the words of its name, what it ran, what failed in it, where.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::glob;

/// Words of a name.
const WORDS_MAX: usize = 24;
/// A word, letters: what is shorter says nothing.
const WORD_LETTERS_MIN: usize = 3;
/// File patterns, those of the most files.
const GLOBS_MAX: usize = 12;

/// A task's signature.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct TaskSignature {
    /// Words of its label, lower case, without numbers.
    pub words: BTreeSet<String>,
    /// Tools that it ran.
    pub tools: BTreeSet<String>,
    /// Categories of its failures.
    pub categories: BTreeSet<String>,
    /// Folders and kinds of the files that it changed or that failed (`src/db/**`, `**/*.py`), those of the most files
    /// first.
    pub globs: Vec<String>,
}

impl TaskSignature {
    /// From what is recorded of a task: pairs of `label`, `tool`, `category` or `file` and its value, in any order.
    pub(crate) fn from_parts<'a>(parts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut signature = TaskSignature::default();
        let mut globs: BTreeMap<String, usize> = BTreeMap::new();
        for (part, value) in parts {
            match part {
                "label" => signature.words.extend(label_words(value)),
                "tool" => drop(signature.tools.insert(value.to_owned())),
                "category" => drop(signature.categories.insert(value.to_owned())),
                "file" => file_globs(value).for_each(|glob| *globs.entry(glob).or_default() += 1),
                _ => {}
            }
        }
        while signature.words.len() > WORDS_MAX {
            signature.words.pop_last();
        }
        let mut globs: Vec<(String, usize)> = globs.into_iter().collect();
        globs.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then_with(|| glob::glob_rank(b).cmp(&glob::glob_rank(a))));
        signature.globs = globs.into_iter().take(GLOBS_MAX).map(|(glob, _)| glob).collect();
        signature
    }
}

fn label_words(label: &str) -> impl Iterator<Item = String> {
    let words = label.split(|letter: char| !letter.is_alphanumeric());
    let words = words.filter(|word| word.chars().filter(|letter| letter.is_alphabetic()).count() >= WORD_LETTERS_MIN);
    words.map(str::to_lowercase)
}

/// The folder of a file, and its kind.
fn file_globs(path: &str) -> impl Iterator<Item = String> {
    let folder = path.rsplit_once('/').map(|(folder, _)| format!("{folder}/**"));
    glob::candidate_globs(path)
        .into_iter()
        .filter(move |glob| glob.starts_with("**/*.") || folder.as_ref() == Some(glob))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_known_by_its_words_tools_failures_and_places() {
        let parts = [
            ("label", "feature/ABC-123-Fix_login of main 2026-03-04"),
            ("tool", "pytest"),
            ("tool", "pytest"),
            ("category", "test_failure"),
            ("file", "db/models/user.py"),
            ("file", "db/models/order.py"),
            ("file", "README"),
            ("file", "web/app.ts"),
        ];
        let signature = TaskSignature::from_parts(parts);
        let words: Vec<&str> = signature.words.iter().map(String::as_str).collect();
        assert_eq!(words, ["abc", "feature", "fix", "login", "main"]);
        assert_eq!(signature.globs, ["db/models/**", "**/*.py", "web/**", "**/*.ts"]);
        assert_eq!((signature.tools.len(), signature.categories.len()), (1, 1));
        let mut reversed = parts;
        reversed.reverse();
        assert_eq!(TaskSignature::from_parts(reversed), signature);
        assert_eq!(TaskSignature::from_parts([]), TaskSignature::default());
    }
}
