//! Expected texts with wildcards in the place of what was asked for to the letter.

use std::sync::LazyLock;

use regex::Regex;

use super::WeakenedCheckCollector;
use super::language::FileRole;
use super::lazy::compile_regex;
use super::rule::RuleSeverity;
use super::view::{DiffLine, DiffSide};

/// Pairs of lines looked at in one hunk.
const PAIRS_MAX: usize = 1_000;
/// What a pattern still says beside its wildcards, bytes.
const REST_BYTES_MIN: usize = 6;

/// Matches any text: in patterns, and in what FileCheck compares with.
static WILDCARD: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"\\?\.[*+]\??|\\[dwSs][*+]|\[\^[^\]]+\][*+]|\{\{[^}]*[*+][^}]*\}\}").expect("a regex")
});
/// The same in the sections of a PHP test (<https://qa.php.net/phpt_details.php>).
static PHPT: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"%[dsiaSAfxcwe]").expect("a regex"));
/// Brings names in, all of a kind.
static IMPORT: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^\s*(?:import|from|use|using|include|package|open)\b").expect("a regex"));

/// Marks lines of tests that differ from an old one by wildcards alone.
pub(super) fn mark_wildcards(sheet: &mut WeakenedCheckCollector<'_, '_>) {
    let views = sheet.views;
    for (file, view) in views.iter().enumerate().filter(|(_, view)| view.part == FileRole::Test) {
        let is_phpt = view.file.new.ends_with(".phpt");
        for sides in &view.hunks {
            let changed = |lines: &'_ [DiffLine<'_>]| lines.iter().filter(|line| line.changed).count();
            if changed(&sides.old) * changed(&sides.new) > PAIRS_MAX {
                continue;
            }
            let found = sides.new.iter().filter(|line| line.changed).find(|line| {
                let text = if is_phpt { line.raw } else { &line.masked.text };
                let wildcard = if is_phpt { &*PHPT } else { &*WILDCARD };
                let olds = sides.old.iter().filter(|old| old.changed);
                wildcard.is_match(text)
                    && (is_phpt || text.contains(['"', '\'', '`', '/']) && !IMPORT.is_match(text))
                    && olds.into_iter().any(|old| lets_more_through(old.raw, line.raw, wildcard))
            });
            if let Some(line) = found {
                sheet.add_named("expected-output-loosened", (file, DiffSide::New, line), RuleSeverity::Certain, "");
            }
        }
    }
}

/// Whether `new` is `old` with wildcards in the place of some of its text.
fn lets_more_through(old: &str, new: &str, wildcard: &Regex) -> bool {
    let (old, new) = (old.trim(), new.trim());
    let count = |text: &str| wildcard.find_iter(text).count();
    let pieces: Vec<&str> = wildcard.split(new).collect();
    let rest: usize = pieces.iter().map(|piece| piece.trim().len()).sum();
    let [first, between @ .., last] = pieces.as_slice() else { return false };
    let Some(mut middle) = old.strip_prefix(first).and_then(|old| old.strip_suffix(last)) else { return false };
    for piece in between {
        let Some((_, behind)) = middle.split_once(piece) else { return false };
        middle = behind;
    }
    rest >= REST_BYTES_MIN && count(new) > count(old)
}

#[cfg(test)]
mod tests {
    use super::{PHPT, WILDCARD, lets_more_through};

    #[test]
    fn text_gives_way_to_wildcards() {
        let more = |old, new| lets_more_through(old, new, &WILDCARD);
        assert!(more("/but got WeakMap \\{\\} instead/", "/but got WeakMap .* instead/"));
        assert!(more("match=\"took 3 ms of .*\"", "match=\"took \\d+ ms of .*\""));
        assert!(!more("/but got .* instead/", "/but got 3 instead/"));
        assert!(!more("/but got 3 instead/", "/but was .* instead/"));
        assert!(!more("'a'", ".*"));
        assert!(lets_more_through("float(0.0333333)", "float(0.0333%s)", &PHPT));
    }
}
