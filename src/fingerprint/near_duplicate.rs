//! Near-duplicates: messages of one tool and code that say the same in almost the same words.
//!
//! Candidates come from MinHash (Broder, 1997) over the words and word pairs of the family's text, in 24 bands of two
//! (Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", 3.4): texts that share half of them meet with a
//! probability of 0.999. Each is verified by edit distance, and by a guard that looks at the words that differ.

use std::collections::HashMap;

use rapidfuzz::distance::levenshtein;
use serde::Serialize;

use super::FingerprintSteps;
use super::vocabulary::{ARTICLES, POLARITY};
use crate::base::text;
use crate::diagnose::Diagnostic;

/// Bands of a sketch.
pub(crate) const BANDS: usize = 24;
/// Candidates that are verified.
pub(crate) const CANDIDATES_MAX: usize = 50;
/// Least hashes in one band.
const ROWS: usize = 2;
/// A family's text is compared by its first so many bytes: as many as the store keeps.
pub(crate) const NEAR_TEXT_BYTES_MAX: usize = 300;
/// Words of this length may have one typo, those of [`LONG_WORD_CHARS`] two.
const TYPO_WORD_CHARS: usize = 8;
const LONG_WORD_CHARS: usize = 11;

/// What is needed to find and compare a pattern's near-duplicates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NearDuplicateSketch {
    /// Hash of what has to be equal: tool class, code or exception, subjects.
    pub scope: i64,
    /// The family's text as it is compared.
    pub text: String,
    /// The sketch: two patterns of one scope with an equal number are candidates.
    pub bands: [u32; BANDS],
}

/// Whether two texts are one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MessageComparison {
    /// From 0 to 1.
    pub similarity: f64,
    /// What the guard says.
    pub verdict: SimilarityVerdict,
}

/// Whether the guard lets two texts be one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub(crate) enum SimilarityVerdict {
    /// They say the same.
    Same,
    /// Not similar enough.
    TooDifferent,
    /// They differ in words that matter.
    OtherWords {
        /// Words that only the first has.
        here: Vec<String>,
        /// Words that only the second has.
        there: Vec<String>,
    },
    /// One of them says the opposite.
    Polarity {
        /// The word that turns it.
        word: String,
    },
    /// They differ in a literal or in a number that was kept.
    OtherLiterals,
}

impl SimilarityVerdict {
    /// For people.
    pub(crate) fn describe(&self) -> String {
        match self {
            SimilarityVerdict::Same => "the same".to_owned(),
            SimilarityVerdict::TooDifferent => "too different".to_owned(),
            SimilarityVerdict::OtherWords { here, there } => {
                format!("other words: {} / {}", here.join(" "), there.join(" "))
            }
            SimilarityVerdict::Polarity { word } => format!("the opposite: {word}"),
            SimilarityVerdict::OtherLiterals => "another literal or number".to_owned(),
        }
    }
}

/// What is needed to compare `item`'s pattern with others; `None` when its message says too little for that.
pub(crate) fn sketch_message(item: &Diagnostic) -> Option<NearDuplicateSketch> {
    let steps = FingerprintSteps::from_diagnostic(item);
    if steps.masked.is_weak || !steps.site.is_empty() {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    for part in [steps.class, steps.keyed_code()].into_iter().chain(steps.masked.subjects.iter().map(String::as_str)) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut scope = [0; 8];
    scope.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    let scope = i64::from_le_bytes(scope);
    let text = comparable_text(&steps.masked.family);
    Some(NearDuplicateSketch { bands: sketch_bands(scope, &text), scope, text })
}

/// A family's text as it is compared, from the text itself or from what the store keeps of it.
pub(crate) fn comparable_text(masked_family: &str) -> String {
    text::ellipsis(&text::one_line(masked_family), NEAR_TEXT_BYTES_MAX).to_lowercase()
}

/// Compares two texts of one scope.
pub(crate) fn compare_messages(a: &str, b: &str, similarity_min: f64) -> MessageComparison {
    let fold = |text: &str| text.replace("<*>", "\u{1}");
    let (folded_a, folded_b) = (fold(a), fold(b));
    let arguments = levenshtein::Args::default().score_cutoff(similarity_min);
    let similarity = levenshtein::normalized_similarity_with_args(folded_a.chars(), folded_b.chars(), &arguments);
    let Some(similarity) = similarity.filter(|&similarity| similarity > similarity_min) else {
        let similarity = levenshtein::normalized_similarity(folded_a.chars(), folded_b.chars());
        return MessageComparison { similarity, verdict: SimilarityVerdict::TooDifferent };
    };
    MessageComparison { similarity, verdict: judge_differences(&folded_a, &folded_b) }
}

/// Looks at the words that only one of the texts has.
fn judge_differences(a: &str, b: &str) -> SimilarityVerdict {
    if kept_literals(a) != kept_literals(b) || marks_differ(a, b) {
        return SimilarityVerdict::OtherLiterals;
    }
    let (mut here, mut there) = (content_words(a), content_words(b));
    here.retain(|word| {
        there.iter().position(|other| other == word).is_none_or(|at| {
            there.swap_remove(at);
            false
        })
    });
    there.sort_unstable();
    if let Some(word) = here.iter().chain(&there).find(|word| is_polar(word)) {
        return SimilarityVerdict::Polarity { word: (*word).to_owned() };
    }
    let one_sided = here.is_empty() || there.is_empty();
    if (one_sided && (here.len() == there.len() || is_addition(a, b))) || has_pair_for_each(&here, there.clone()) {
        return SimilarityVerdict::Same;
    }
    let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect();
    SimilarityVerdict::OtherWords { here: owned(here), there: owned(there) }
}

/// Whether the words that only one text has are a clause behind it (`…; maybe 'y'?`), a label in front of it
/// (`option -d: …`), or stand where the other text has a slot. Words in between make another message: `cannot import
/// document nodes`, `cannot import document type nodes`.
fn is_addition(a: &str, b: &str) -> bool {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split_whitespace().collect(), b.split_whitespace().collect());
    let plain = |word: &str| word.trim_end_matches([';', ',', '.', ':', '?', '!']).to_owned();
    let same = |(x, y): &(&&str, &&str)| plain(x) == plain(y);
    let start = a.iter().zip(&b).take_while(same).count();
    let (rest_a, rest_b) = (&a[start..], &b[start..]);
    let end = rest_a.iter().rev().zip(rest_b.iter().rev()).take_while(same).count();
    let (only_a, only_b) = (&rest_a[..rest_a.len() - end], &rest_b[..rest_b.len() - end]);
    let slots = |words: &[&str]| !words.is_empty() && words.iter().all(|word| word.contains('\u{1}'));
    if slots(only_a) || slots(only_b) {
        return only_a.len() == only_b.len();
    }
    let added = match (only_a, only_b) {
        (added, []) => (added, &a),
        ([], added) => (added, &b),
        _ => return false,
    };
    let (added, longer) = added;
    let closes = |word: &&str| word.ends_with([';', ',', '.', ':', '?', '!']);
    if end == 0 {
        return start > 0
            && (closes(&longer[start - 1]) || added.first().is_some_and(|word| word.starts_with(['(', '['])));
    }
    start == 0 && added.last().is_some_and(|word| word.ends_with(':'))
}

/// Whether every word has one on the other side that is it in another number or with a typo.
fn has_pair_for_each(here: &[&str], mut there: Vec<&str>) -> bool {
    here.len() == there.len()
        && here.iter().all(|word| {
            let pair = there.iter().position(|other| is_variant(word, other));
            pair.map(|at| there.swap_remove(at)).is_some()
        })
}

/// Plural, or a typo. Words that begin differently are other words: valid and invalid, import and export.
fn is_variant(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let endings: &[&str] = if short.ends_with('y') { &["s", "ies"] } else { &["s", "es"] };
    let stem = short.strip_suffix('y').unwrap_or(short);
    let plural = |ending: &&str| long == format!("{}{ending}", if *ending == "ies" { stem } else { short });
    if short.chars().count() > 2 && endings.iter().any(plural) {
        return true;
    }
    // Names are numbered by their last letter (`part_a`, `part_b`); typos are inside.
    let ends = |word: &str| (word.chars().next(), word.chars().next_back());
    let chars = short.chars().count();
    let allowed = match chars {
        LONG_WORD_CHARS.. => 2,
        TYPO_WORD_CHARS.. => 1,
        _ => return false,
    };
    ends(a) == ends(b) && levenshtein::distance(a.chars(), b.chars()) <= allowed
}

fn is_polar(word: &str) -> bool {
    POLARITY.contains(&word) || word.ends_with("n't") || word.ends_with("n’t")
}

/// All words but articles and forms of "to be": `left` and `right` matter here, too.
fn content_words(text: &str) -> Vec<&str> {
    let split = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '\'' | '’'));
    let words = text.split(split).map(|word| word.trim_matches(['\'', '’']));
    words.filter(|word| word.chars().any(char::is_alphabetic) && !ARTICLES.contains(word)).collect()
}

/// What is in quotes and has no letters (`';'`), and numbers: they were kept because they make a difference.
fn kept_literals(text: &str) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for (open, _) in text.match_indices(['\'', '"', '`']) {
        let rest = &text[open + 1..];
        let end = rest.find(&text[open..=open]).filter(|&end| (1..=3).contains(&end));
        found.extend(end.map(|end| &rest[..end]).filter(|inner| !inner.contains(char::is_alphanumeric)));
    }
    let numbers = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.contains(|c: char| c.is_ascii_digit()));
    found.extend(numbers);
    found.sort_unstable();
    found
}

/// Whether each text has a mark by itself that the other hasn't: `unexpected token )`, `unexpected token }`.
fn marks_differ(a: &str, b: &str) -> bool {
    let marks = |text: &'_ str| -> Vec<String> {
        let words = text.split_whitespace().map(|word| word.trim_end_matches([',', ';', '.', ':']));
        let alone = |word: &&str| !word.is_empty() && !word.contains(|c: char| c.is_alphanumeric() || c == '\u{1}');
        words.filter(alone).map(str::to_owned).collect()
    };
    let (a, b) = (marks(a), marks(b));
    a.iter().any(|mark| !b.contains(mark)) && b.iter().any(|mark| !a.contains(mark))
}

/// The sketch of a text in a scope. Bands of other scopes never meet but by chance.
fn sketch_bands(scope: i64, text: &str) -> [u32; BANDS] {
    let words: Vec<u64> = text.split_whitespace().map(|word| word_hash(word.as_bytes())).collect();
    let mut least = [u64::MAX; BANDS * ROWS];
    let pairs = words.windows(2).map(|pair| mix_bits(pair[0].rotate_left(1) ^ pair[1]));
    for shingle in words.iter().copied().chain(pairs) {
        for (seed, least) in (1_u64..).zip(&mut least) {
            *least = (*least).min(mix_bits(shingle ^ mix_bits(seed)));
        }
    }
    let mut bands = [0; BANDS];
    for ((band, rows), number) in bands.iter_mut().zip(least.chunks(ROWS)).zip(1_u64..) {
        let mixed = rows.iter().fold(mix_bits(scope.cast_unsigned() ^ number), |all, row| mix_bits(all ^ row));
        // 32 bits, so that a row of the store is small; what meets by chance is told apart by its scope.
        *band = u32::try_from(mixed >> 32).unwrap_or(u32::MAX);
    }
    bands
}

/// FNV-1a, 64 bits.
fn word_hash(word: &[u8]) -> u64 {
    word.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood, 2014).
fn mix_bits(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Patterns in memory that others may be near-duplicates of.
#[derive(Debug, Default)]
pub(crate) struct PatternLeaders {
    leaders: Vec<NearDuplicateSketch>,
    by_band: HashMap<u32, Vec<usize>>,
}

impl PatternLeaders {
    /// Adds one; its number is the count of those before it.
    pub(crate) fn push(&mut self, near: NearDuplicateSketch) {
        for band in near.bands {
            self.by_band.entry(band).or_default().push(self.leaders.len());
        }
        self.leaders.push(near);
    }

    /// The number of the most similar one that the guard lets be the same; the first of equals.
    pub(crate) fn find_nearest(
        &self,
        near: &NearDuplicateSketch,
        similarity_min: f64,
    ) -> Option<(usize, MessageComparison)> {
        let mut shared: HashMap<usize, usize> = HashMap::new();
        for leader in near.bands.iter().filter_map(|band| self.by_band.get(band)).flatten() {
            *shared.entry(*leader).or_default() += 1;
        }
        let mut candidates: Vec<(usize, usize)> = shared.into_iter().collect();
        candidates.sort_by_key(|&(leader, bands)| (std::cmp::Reverse(bands), leader));
        let scope = candidates.into_iter().map(|(leader, _)| leader);
        let compared = scope
            .filter(|&leader| self.leaders[leader].scope == near.scope)
            .take(CANDIDATES_MAX)
            .map(|leader| (leader, compare_messages(&near.text, &self.leaders[leader].text, similarity_min)))
            .filter(|(_, compared)| compared.verdict == SimilarityVerdict::Same);
        compared.reduce(|best, next| {
            let better = next.1.similarity > best.1.similarity
                || (next.1.similarity - best.1.similarity).abs() < f64::EPSILON && next.0 < best.0;
            if better { next } else { best }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::limits::SIMILARITY_MIN;
    use crate::diagnose::Severity;

    fn item(message: &str) -> Diagnostic {
        Diagnostic {
            tool: "tool".to_owned(),
            code: None,
            severity: Severity::Error,
            file: None,
            line: None,
            col: None,
            message: message.to_owned(),
            test: None,
            span: (0, 0),
        }
    }

    fn merged(first: &str, second: &str) -> bool {
        let mut leaders = PatternLeaders::default();
        leaders.push(sketch_message(&item(first)).expect("says enough"));
        leaders.find_nearest(&sketch_message(&item(second)).expect("says enough"), SIMILARITY_MIN).is_some()
    }

    #[test]
    fn the_same_in_almost_the_same_words_is_merged() {
        for (a, b) in [
            ("seek on a closed file handle", "seek on closed file handle"),
            ("no overload matches the argument type here", "no overload matches the argument types here"),
            ("the separator of the columns is unusual", "the seperator of the columns is unusual"),
            (
                "far too many arguments were given for this one call of the function in question",
                "far too many arguments were given for this one call of the function in question; see help",
            ),
            ("value of the wrong kind at 5 in this place", "value of the wrong kind at head in this place"),
            (
                "option: a malformed name of some plugin came in from over there",
                "a malformed name of some plugin came in from over there",
            ),
        ] {
            assert!(merged(a, b) && merged(b, a), "{a} / {b}");
        }
    }

    #[test]
    fn a_word_that_matters_is_not_merged_away() {
        for (a, b) in [
            ("cannot read the settings of this project", "cannot write the settings of this project"),
            ("the value is below the min of the scale", "the value is below the max of the scale"),
            ("the settings of this project are valid", "the settings of this project are not valid"),
            ("the settings of this project are valid", "the settings of this project are invalid"),
            ("a broken import of this project's parts", "a broken export of this project's parts"),
            ("what parta of the project says is wrong", "what partb of the project says is wrong"),
            ("parameter implicitly has one any type", "variable implicitly has one any type"),
            ("cannot turn the document nodes into text", "cannot turn the document type nodes into text"),
            ("a long line that ends: expected ';'", "a long line that ends: expected ')'"),
            ("a long line has an unexpected token )", "a long line has an unexpected token }"),
            ("the worker ended, it had exit code 1 then", "the worker ended, it had exit code 2 then"),
            ("it does work on closed files as well", "it doesn't work on closed files as well"),
        ] {
            assert!(!merged(a, b) && !merged(b, a), "{a} / {b}");
        }
    }

    #[test]
    fn tool_code_and_subject_have_to_be_equal() {
        let text = "no overload matches the argument type here";
        let other = "no overload matches the argument types here";
        let mut leaders = PatternLeaders::default();
        leaders.push(sketch_message(&Diagnostic { code: Some("E1".into()), ..item(text) }).expect("says enough"));
        for (code, tool, found) in
            [(Some("E1"), "tool", true), (Some("E2"), "tool", false), (Some("E1"), "jest", false)]
        {
            let asked = Diagnostic { code: code.map(str::to_owned), tool: tool.to_owned(), ..item(other) };
            let found_now =
                leaders.find_nearest(&sketch_message(&asked).expect("says enough"), SIMILARITY_MIN).is_some();
            assert_eq!(found_now, found, "{code:?} {tool}");
        }
        assert!(!merged("cannot find module 'a' anywhere", "cannot find modules 'b' anywhere"));
        assert!(merged("cannot find module 'a' anywhere", "cannot find modules 'a' anywhere"));
        assert_eq!(sketch_message(&item("expected 5, got 7")), None, "says too little");
    }

    #[test]
    fn the_sketch_finds_what_the_comparison_accepts() {
        let words =
            ["cannot", "open", "settings", "project", "reader", "module", "worker", "buffer", "stream", "table"];
        let (mut found, mut all) = (0, 0);
        for n in 0..400_usize {
            let text: Vec<&str> = (0..6 + n % 5).map(|at| words[(n * 7 + at * (1 + n % 3)) % words.len()]).collect();
            let other = text.join(" ").replacen("module", "modules", 1).replacen("worker", "workers", 1);
            let (a, b) = (text.join(" "), other);
            if a == b || compare_messages(&a, &b, SIMILARITY_MIN).verdict != SimilarityVerdict::Same {
                continue;
            }
            let (a, b) = (sketch_bands(1, &a), sketch_bands(1, &b));
            all += 1;
            found += usize::from(a.iter().zip(&b).any(|(a, b)| a == b));
            assert!(sketch_bands(2, "x").iter().zip(&sketch_bands(1, "x")).all(|(a, b)| a != b), "another scope");
        }
        assert!(all > 100 && found * 100 >= all * 97, "{found} of {all}");
    }

    proptest::proptest! {
        #[test]
        fn comparing_is_symmetric_and_never_panics(a in r#"[a-c <*>.;:'é]{0,40}"#, b in r#"[a-c <*>.;:'é]{0,40}"#) {
            let (here, there) = (compare_messages(&a, &b, 0.5), compare_messages(&b, &a, 0.5));
            proptest::prop_assert_eq!(here.verdict == SimilarityVerdict::Same, there.verdict == SimilarityVerdict::Same);
        }
    }
}
