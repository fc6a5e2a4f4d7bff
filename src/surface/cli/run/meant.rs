//! What a user meant who typed a word that is neither a program nor a subcommand. Asked only when nothing could be
//! run.

use std::ffi::OsStr;

use crate::surface::cli::RESERVED;

/// Words that people try, and what they are called here.
const MEANT: [(&str, &str); 16] = [
    ("list", "lesson list"),
    ("search", "lesson search"),
    ("status", "last"),
    ("runs", "log"),
    ("logs", "log"),
    ("history", "log"),
    ("rerun", "again"),
    ("retry", "again"),
    ("flakes", "fix list --flakes"),
    ("warnings", "warn"),
    ("recall", "memory recall"),
    ("remember", "memory remember"),
    ("install", "init"),
    ("setup", "init"),
    ("completion", "completions"),
    ("strategies", "strategy"),
];

/// No subcommand is that long, even with a typo.
const WORD_BYTES_MAX: usize = 16;

/// What to type instead, without `verify-run`.
pub(super) fn meant(word: &OsStr) -> Option<&'static str> {
    let word = word.to_str().filter(|word| word.len() <= WORD_BYTES_MAX)?;
    let known = MEANT.iter().find(|(typed, _)| *typed == word).map(|(_, meant)| *meant);
    known
        .or_else(|| RESERVED.into_iter().find(|ours| is_plural(word, ours)))
        .or_else(|| RESERVED.into_iter().find(|ours| ours.len() > 3 && is_one_slip_from(word, ours)))
}

fn is_plural(word: &str, ours: &str) -> bool {
    word.strip_suffix('s') == Some(ours)
        || word.strip_suffix("es") == Some(ours)
        || word.strip_suffix("ies").is_some_and(|stem| ours.strip_suffix('y') == Some(stem))
        || ours.strip_suffix('s') == Some(word)
}

/// Whether one letter is missing, too many, wrong, or two have changed places.
fn is_one_slip_from(word: &str, ours: &str) -> bool {
    let (word, ours): (Vec<char>, Vec<char>) = (word.chars().collect(), ours.chars().collect());
    let same = word.iter().zip(&ours).take_while(|(a, b)| a == b).count();
    let (word, ours) = (&word[same..], &ours[same..]);
    match (word, ours) {
        ([_, rest @ ..], [_, ours @ ..]) if rest == ours => true,
        ([_, rest @ ..], ours) if rest == ours => true,
        (word, [_, rest @ ..]) if word == rest => true,
        ([a, b, rest @ ..], [c, d, ours @ ..]) => (a, b) == (d, c) && rest == ours,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_other_words_and_slips_are_understood() {
        let cases = [
            ("lessons", "lesson"),
            ("fixes", "fix"),
            ("patterns", "pattern"),
            ("memories", "memory"),
            ("shim", "shims"),
            ("status", "last"),
            ("logs", "log"),
            ("lessno", "lesson"),
            ("doctr", "doctor"),
            ("initt", "init"),
            ("wern", "warn"),
        ];
        for (typed, wanted) in cases {
            assert_eq!(meant(OsStr::new(typed)), Some(wanted), "{typed}");
        }
        for other in ["npm", "pytest", "make", "x", "lss", "cargo", "", "./lessons"] {
            assert_eq!(meant(OsStr::new(other)), None, "{other}");
        }
    }
}
