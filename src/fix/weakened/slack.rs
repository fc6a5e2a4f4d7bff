//! Statements of tests that ask for the same with less care: whatever the order, at some time, at least.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::lazy::compile_regex;
use super::strength::is_word;

/// Puts what it is called on, or what it is given, in an order of its own.
const ORDERS: [&str; 13] = [
    "sorted",
    "sort",
    "sort_by",
    "sortBy",
    "toSet",
    "to_set",
    "set",
    "Set",
    "frozenset",
    "Counter",
    "HashSet",
    "BTreeSet",
    "toSortedSet",
];
/// Matchers and those that ask for less of the same.
const LOOSER_TWINS: [(&str, &str); 48] = [
    ("toStrictEqual", "toEqual"),
    ("toStrictEqual", "toMatchObject"),
    ("toEqual", "toMatchObject"),
    ("strictEqual", "equal"),
    ("deepStrictEqual", "deepEqual"),
    ("assertSame", "assertEquals"),
    ("assertIs", "assertEqual"),
    ("containsExactly", "containsExactlyInAnyOrder"),
    ("containsExactly", "contains"),
    ("AreEqual", "AreEquivalent"),
    ("allOf", "anyOf"),
    ("assert_eq", "debug_assert_eq"),
    ("assert", "debug_assert"),
    ("exactly", "atLeast"),
    ("match_array", "include"),
    ("AreEqual", "BeEquivalentTo"),
    ("Equal", "BeEquivalentTo"),
    ("ThrowExactly", "Throw"),
    ("Times", "AnyTimes"),
    ("assertEquals", "assertEqualsNoOrder"),
    ("assertExactJson", "assertJson"),
    ("assertRaisesRegex", "assertRaises"),
    ("assertSame", "assertEqualsCanonicalizing"),
    ("assertWarnsRegex", "assertWarns"),
    ("assert_called_once", "assert_called"),
    ("assert_called_once_with", "assert_called_with"),
    ("contains", "hasItems"),
    ("errorCall", "anyErrorCall"),
    ("shouldBe", "shouldMatchList"),
    ("theSameElementsInOrderAs", "theSameElementsAs"),
    ("throwsA", "throwsException"),
    ("toBeVisible", "toBeAttached"),
    ("verifyOrder", "verifyAll"),
    ("verifySequence", "verifyAll"),
    ("eq", "match_array"),
    ("eq", "contain_exactly"),
    ("Equal", "ElementsMatch"),
    ("assertEqual", "assertCountEqual"),
    ("assertListEqual", "assertCountEqual"),
    ("assertEquals", "assertEqualsCanonicalizing"),
    ("shouldBe", "shouldContainExactlyInAnyOrder"),
    ("contain_exactly", "include"),
    ("greaterThan", "greaterThanOrEqualTo"),
    ("lessThan", "lessThanOrEqualTo"),
    ("toBeGreaterThan", "toBeGreaterThanOrEqual"),
    ("toBeLessThan", "toBeLessThanOrEqual"),
    ("assertGreater", "assertGreaterEqual"),
    ("assertLess", "assertLessEqual"),
];
/// Words that tell a lax name from that of the exact one: `expectedMinimumMessageCount`.
const LAX_WORDS: [&str; 10] = [
    "minimum",
    "atleast",
    "at_least",
    "maximum",
    "atmost",
    "at_most",
    "approximately",
    "eventually",
    "partial",
    "loosely",
];
/// Asks for something, with what it should be as the last argument.
static HOLDS_VALUE: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"(?i)^(?:to_?have|assert_?has|has|have|expected?|should_?have|assert_?)_?(?:file_?exists|property|attribute|header|param\w*|key|cookie|css|style|value|class|query\w*|session\w*|json\w*)$",
    )
    .expect("a regex")
});
/// Asks again until it is so.
static EVENTUALLY: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)\b\w*eventually\w*\s*[({]|\bawait(?:ility)?\(\)|\bwait_?(?:for|until)\w*\s*[({]|\b(?:re)?try_?until\w*\s*[({]|\bwithin\(\s*\d|\bverify\([^()]*,\s*(?:timeout|after|atLeast\w*|atMost)\(")
        .expect("a regex")
});

/// Whether the order of what comes out no longer matters: both are the same but for what sorts it.
pub(super) fn drops_order(old: &[String], new: &[String]) -> bool {
    let orders = |tokens: &[String]| tokens.iter().filter(|token| ORDERS.contains(&token.as_str())).count();
    let bare = |tokens: &[String]| -> BTreeMap<String, usize> {
        let mut counted = BTreeMap::new();
        let says =
            |token: &&String| is_word(token) || token.starts_with(|c: char| c.is_ascii_digit() || "\"'`".contains(c));
        for token in tokens.iter().filter(says).filter(|token| !ORDERS.contains(&token.as_str())) {
            *counted.entry(token.clone()).or_default() += 1;
        }
        counted
    };
    orders(new) > orders(old) && !bare(old).is_empty() && bare(old) == bare(new)
}

/// Whether one matcher asks for less than another that takes the same.
pub(super) fn is_looser(was: &str, is: &str) -> bool {
    LOOSER_TWINS.contains(&(was, is))
}

/// Whether a name is another one with a word in it that makes it lax.
pub(super) fn is_laxer_name(was: &str, is: &str) -> bool {
    let (was, is) = (was.to_ascii_lowercase(), is.to_ascii_lowercase());
    LAX_WORDS
        .iter()
        .any(|word| !was.contains(word) && is.contains(word) && is.replacen(word, "", 1).replace("__", "_") == was)
}

/// Whether only that something is there is asked for, and no longer what it is: `toHaveAttribute("href")`.
/// `gone` is what `old` has from `start` on and the new statement lacks.
pub(super) fn drops_value(old: &[String], gone: &[String], start: usize) -> bool {
    let Some(opens) = old[..start].iter().rposition(|token| token == "(") else { return false };
    let callee = opens.checked_sub(1).map_or("", |at| old[at].as_str());
    gone.first().is_some_and(|first| first == ",")
        && old[start + gone.len()..].first().is_some_and(|next| next == ")")
        && !gone[1..].iter().any(|token| token == ",")
        && HOLDS_VALUE.is_match(callee)
}

/// Whether two values that had to be equal only have to be in order: `EXPECT_LT` for `EXPECT_EQ`.
pub(super) fn is_bound_of(was: &str, is: &str) -> bool {
    let stem = |name: &str, ends: &[&str]| ends.iter().find_map(|end| name.strip_suffix(end).map(str::to_owned));
    let exact = stem(was, &["_EQ", "Equal", "Equals"]).filter(|stem| !stem.is_empty());
    let bound = stem(is, &["_LT", "_LE", "_GT", "_GE", "Less", "LessEqual", "Greater", "GreaterEqual"]);
    exact.is_some() && exact == bound
}

/// Whether what had to be so at once may become so.
pub(super) fn waits_longer(old: &str, new: &str) -> bool {
    EVENTUALLY.is_match(new) && !EVENTUALLY.is_match(old)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::weakened::strength::tokens_of;

    #[test]
    fn the_order_no_longer_matters() {
        let drops = |old, new| drops_order(&tokens_of(old), &tokens_of(new));
        assert!(drops("assert x == [1, 2]", "assert sorted(x) == [1, 2]"));
        assert!(drops("assert x == [1, 2]", "assert set(x) == {1, 2}"));
        assert!(drops("XCTAssertEqual(p.ids, [\"a\"])", "XCTAssertEqual(p.ids.sorted(), [\"a\"])"));
        assert!(!drops("assert sorted(x) == [1, 2]", "assert x == [1, 2]"));
        assert!(!drops("assert x == [1, 2]", "assert sorted(x) == [1, 2, 3]"));
    }

    #[test]
    fn only_that_something_is_there_is_asked_for() {
        let drops = |old: &str, gone: &str| {
            let (old, gone) = (tokens_of(old), tokens_of(gone));
            let start = old.windows(gone.len()).position(|tokens| tokens == gone);
            start.is_some_and(|start| drops_value(&old, &gone, start))
        };
        assert!(drops("expect(x).toHaveProperty('a', 1);", ", 1"));
        assert!(drops("mock.expectedFileExists(\"a.txt\", \"b\");", ", \"b\""));
        assert!(!drops("assertEquals(a, b, \"why\");", ", \"why\""));
        assert!(!drops("expect(x).toHaveProperty('a', 1, 2);", ", 1"));
    }

    #[test]
    fn names_and_waits_are_laxer() {
        assert!(is_laxer_name("expectedMessageCount", "expectedMinimumMessageCount"));
        assert!(!is_laxer_name("expectedMinimumMessageCount", "expectedMessageCount"));
        assert!(!is_laxer_name("minimumCount", "maximumCount"));
        assert!(is_bound_of("EXPECT_EQ", "EXPECT_LT") && is_bound_of("assertEqual", "assertLess"));
        assert!(!is_bound_of("EXPECT_LT", "EXPECT_EQ") && !is_bound_of("assertEqual", "assertIn"));
        assert!(waits_longer("verify(a).clear(b)", "verify(a, timeout(2000)).clear(b)"));
        assert!(!waits_longer("await().until(b)", "await().until(c)"));
    }
}
