//! Tests whose names have words of a criterion: a hint for people, never coverage.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::link::TestIndex;
use crate::base::words;
use crate::gate::prp::AcceptanceCriterion;

/// Suggestions for one criterion.
pub(crate) const SUGGESTIONS_MAX: usize = 3;
/// Tests of one word; a word of more tests says little about any of them.
const WORD_TESTS_MAX: usize = 500;
/// Words that a criterion and a test have in common, at least.
const COMMON_WORDS_MIN: usize = 2;
/// Twice the common words by the words of both, at least, in hundredths.
const SIMILARITY_MIN: usize = 40;
/// Words of every test's name.
const TEST_WORDS: [&str; 6] = ["test", "it", "ac", "spec", "describ", "work"];

/// A test that looks like a criterion's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestSuggestion {
    /// An index into the tests.
    pub test: usize,
    /// Twice the common words by the words of both, in hundredths.
    pub similarity: usize,
}

/// The tests whose names are most like each criterion, most similar first, in the order of the criteria.
pub(crate) fn suggest_tests(index: &TestIndex, criteria: &[AcceptanceCriterion]) -> Vec<Vec<TestSuggestion>> {
    let mut by_word: HashMap<String, Vec<usize>> = HashMap::new();
    let mut sizes = Vec::with_capacity(index.tests.len());
    for (test, declared) in index.tests.iter().enumerate() {
        let found = words_of(&declared.shown_name);
        sizes.push(found.len());
        for word in found {
            by_word.entry(word).or_default().push(test);
        }
    }
    let suggest = |criterion: &AcceptanceCriterion| {
        let wanted = words_of(&criterion.text);
        let mut common: BTreeMap<usize, usize> = BTreeMap::new();
        let postings = wanted.iter().filter_map(|word| by_word.get(word)).filter(|it| it.len() <= WORD_TESTS_MAX);
        postings.flatten().for_each(|test| *common.entry(*test).or_default() += 1);
        let rated = common.into_iter().map(|(test, common)| {
            let similarity = 200 * common / (wanted.len() + sizes[test]).max(1);
            (common, TestSuggestion { test, similarity })
        });
        let mut found: Vec<TestSuggestion> = rated
            .filter(|(common, it)| *common >= COMMON_WORDS_MIN && it.similarity >= SIMILARITY_MIN)
            .map(|(_, it)| it)
            .collect();
        found.sort_by_key(|it| (std::cmp::Reverse(it.similarity), it.test));
        found.truncate(SUGGESTIONS_MAX);
        found
    };
    criteria.iter().map(suggest).collect()
}

fn words_of(text: &str) -> HashSet<String> {
    let words = words::normalised(text).into_iter();
    words.filter(|word| !TEST_WORDS.contains(&word.as_str()) && !word.bytes().all(|it| it.is_ascii_digit())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::criteria::link::{TestSource, find_links, index_tests};
    use crate::gate::prp::Prp;

    #[test]
    fn words_that_look_alike_are_a_suggestion_and_no_link() {
        let prp =
            Prp::parse("## Acceptance criteria\n- The page size is at most 100\n- Logs are written\n").expect("a PRP");
        let text = "def test_page_size():\n    pass\ndef test_other():\n    pass\n";
        let index = index_tests(&[TestSource { path: "tests/test_api.py", text }], None);
        let found = suggest_tests(&index, &prp.criteria);
        assert_eq!(
            found[0].iter().map(|it| index.tests[it.test].name.as_str()).collect::<Vec<_>>(),
            ["test_page_size"]
        );
        assert!(found[1].is_empty());
        assert_eq!(find_links(&index, &prp.criteria, None), (Vec::new(), 0));
    }
}
