//! Assertions that are still there and let more through: an exact one that a vaguer one replaces, one that is made
//! only under a condition now, one that is compared with more leeway.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::language::Language;
use super::lazy::{LazySet, compile_regex};
use super::lexis::{identifiers_of, without_whitespace};
use super::slack;
use super::strength::{MatcherStrength, strength_of, tokens_of};
use super::view::DiffLine;

/// Says exactly what comes out.
static EXACT: LazyLock<LazySet> = LazyLock::new(|| {
    LazySet::from_sources(&[
        r"===?[^>]|\bis\s+(?:[A-MO-Za-mo-z_(]|N|n[a-np-z_])",
        r"(?i)\b(?:assert_?|expect_?|is_?|are_?|to_?|deep_?|strict_?|not_?)*(?:equals?|eq|eql|same|identical)\w*!?\s*[(:<\s]",
        r"(?i)\b\w*(?:_equals?|_eq|_same|equalto|_identical)\w*\s*[(<!]",
        r"(?i)\b(?:assert|expect|isDeep|toStrict|toDeep|toBe|XCTAssert|toHave)\w*(?:Equals?|Same|Identical)\w*\s*[(<]",
        r"\.(?:toBe|toHaveLength|toHaveText|toHaveBeenCalledTimes|toHaveBeenCalledWith|toHaveBeenCalledOnceWith)\(",
        r"\bassert_(?:called_once_with|called_with|has_calls)\(|\btimes\(\s*\d",
        r"(?i)\b(?:assert\w*exactly|containsExactly\w*|is_deeply|cmp_ok|hasSize|hasLength)\b",
        r"\btoThrow\(\s*[^)\s]|\btoThrowError\(\s*[^)\s]|\bmatch\s*=|Raises(?:Regex|RegexP)\b|expected\s*=",
    ])
});
/// Compares with a tolerance or a bound, whatever its name says of equality.
static NEARLY: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)(?:almost|approx\w*|nearly|close|greater\w*|less\w*|at_?least|at_?most)_?\w*equal|allclose")
        .expect("a regex")
});
/// Says something about what comes out.
static VAGUE: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(concat!(
        r"(?i)\b(?:\w*contain\w*|\w*include\w*|to_?match\w*|\w*matches\w*|assert_?match\w*|\w*regexp?\w*|starts_?with|ends_?with|has_?(?:prefix|suffix)",
        r"|\w*greater\w*|\w*less\w*|at_?least\w*|at_?most|\w*between|in_?range|is_?instance\w*|instance_?of|type_?of|assert_?in|isin|isoneof|anyof",
        r"|\w*approx\w*|\w*almost\w*|\w*close_?to|allclose|\w*_?near|\w*in_?delta|be_within|\w*subset\w*|\w*elements_?match|assert_?ne\w*|\w*not_?equals?\w*",
        r"|\w*not_?(?:null|nil|none|empty|undefined|be_nil)\w*|\w*defined|\w*truthy|is_some|is_ok|is_err|to_?exist\w*|exists?|be_?present|does_?not_?throw|not_?to_?throw",
        r"|assert_called|assert_called_once|match|has_?strict|any|anything|any_string|any_int|anyString|anyInt|called|called_once|toHaveBeenCalled|assert_?true|assert_?that|ok|notempty)\b",
        r"|\bin\b|\bis\s+not\b|\bor\b|>=|<=|!=|\s<\s|\s>\s|\|\|"
    ))
    .expect("a regex")
});
/// Leeway: what lets an exact comparison through that is not.
static LEEWAY: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"\b(?:rtol|atol|abs_tol|rel_tol|places|delta|decimal)\s*=|\bcheck_\w+\s*=\s*False|\bstrict\s*=\s*False|\b(?:mock\.)?ANY\b|\bexpect\.(?:any|anything|objectContaining|arrayContaining|stringContaining|stringMatching)\(|\bapprox\(|\bmock\.Anything\b|\bequal_nan\s*=\s*True|\bfetch_redirect_response\s*=\s*False|\bFuzzyInt\(|\b(?:ignore_\w+|any_order)\s*=\s*True|\bcmpopts\.\w+|\b(?:ignoring|[eE]xcluding)\w*\(",
    )
    .expect("a regex")
});
/// Values that a bare assertion says as well: `assert_eq!(x, true)` is `assert!(x)`.
static PLAIN: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r#"\b(?i:true|false|none|null|nil|undefined)\b|(?:==\s*|,\s*|\b(?:toBe|toEqual|eq|equal)\(\s*|\(\s*)0\s*(?:[),;:]|$)|\[\s*\]|\{\s*\}|,\s*\(\)\s*\)|""|''"#)
        .expect("a regex")
});
/// What makes an assertion conditional. A loop and a block of a resource are none.
static CONDITION: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^\s*(?:\}\s*)?(?:if|unless|guard)\b|^\s*#\s*if").expect("a regex"));
/// What lets one of two answers do.
static OR: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"\|\||\bor\b").expect("a regex"));
/// Asks whether something is one of several.
static MEMBER: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)\bin\b|\b(?:in_?set|one_?of|any_?of|is_?in|includes?|contains?|includedin|memberp?)\b\W|\bmatches!|\bisinstance\b").expect("a regex")
});
/// The same, as an assertion.
static ONE_OF: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)\bassert_?in\s*\(|\bto_?be_?(?:one_?of|in)\s*\(|\bis_?one_?of\s*\(|^\s*assert\b.*\bin\s*[\[({]")
        .expect("a regex")
});
/// Asks whether it is none of them.
static NO_MEMBER: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"\bnot\b|(?:^|[\s(&|])!\s*[\w(]|!=").expect("a regex"));
/// Says that a test is skipped.
static SAYS_SKIP: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r#"(?i)\(.*["'`][^"'`]*\bskip(?:s|ped|ping)?\b"#).expect("a regex"));
/// A value that an assertion names.
static VALUE: LazyLock<Regex> = LazyLock::new(|| compile_regex(r#""[^"]+"|'[^']+'|\b[0-9][\w.]*"#).expect("a regex"));
/// A name of one letter.
static LETTER: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"\b[a-zA-Z]\b").expect("a regex"));
/// Asks for a part of a message, in an argument of what is no assertion by its name.
static MESSAGE_PART: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"\bmatch\s*=|\bshould_panic\b.*\bexpected\s*=").expect("a regex"));
/// Gives a helper that checks something the error to come and a part of its message.
static CHECKS_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r#"^\s*(?:\w+\.)*(?:test|check|verify)[A-Z_]\w*\(.*\b[eE]rr\w*\s*,\s*"[^"]+"\s*\);?\s*$"#)
        .expect("a regex")
});
/// Asks for a text that may be a part of a longer one.
static HOLDS_TEXT: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(concat!(
        r"\b(?:toThrow(?:Error)?|toMatch|toContain(?:Text)?|stringContaining|assertIn|assert_in|have_(?:content|text)|assertSee\w*)\(",
        r"|^\s*assert\s+[frb]?[\x22'].*[\x22']\s+in\b",
        r"|(?i)\b\w*(?:contains|containing|raises_?regexp?|has_?substr|errors?_?contains|starts_?with|_match)\w*\(",
    ))
    .expect("a regex")
});
/// Asks that something is not so: the less it names, the more it denies.
static DENIES: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"(?i)not_?(?:in|contain|include|match)|\bnot\b|(?:assert|be|is|to)_?false|refute|does_?nt|assert!?\(!",
    )
    .expect("a regex")
});
/// Shorter texts are everywhere, bytes with their quotes.
const TEXT_BYTES_MIN: usize = 5;
/// Lines of one assertion.
const STATEMENT_LINES_MAX: usize = 24;
/// Ends the test as failed.
static FAILS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"\b(?:fail\w*|abort|panic|g_error|errx?|die|Fatalf?|Errorf?)\s*!?\(").expect("a regex")
});
/// Leaves what was begun.
static ENDS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:goto|throw|raise|exit|return\s+(?:-|[1-9]|false|err|nil|NULL|Err|E[A-Z]|[A-Z_]*FAIL))")
        .expect("a regex")
});
/// Lines of a condition's block that are looked at.
const GUARDED_LINES_MAX: usize = 6;
/// Goes on with a comparison.
static COMPARISON: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"^\s*(?:[=!]==?|[<>]=?|in|not\s+in|is)\s").expect("a regex"));
/// Words of assertions that say nothing about what they are of.
const VOCABULARY: [&str; 22] = [
    "assert", "self", "expect", "require", "is", "not", "to", "be", "cls", "this", "await", "in", "and", "or", "None",
    "True", "False", "null", "nil", "true", "false", "Assert",
];

/// The assertion of `removed` that has a vaguer one in its place, and that one.
pub(super) fn mark_vaguer<'s, 'p>(
    removed: &[&'s DiffLine<'p>],
    added: &[&'s DiffLine<'p>],
    language: &Language,
) -> Option<&'s DiffLine<'p>> {
    let asserts = |line: &&&DiffLine<'_>| language.asserts.is_match(&line.masked.code);
    let (old, new): (Vec<_>, Vec<_>) =
        (removed.iter().filter(asserts).collect(), added.iter().filter(asserts).collect());
    // More of them than before say more, each of them less.
    if new.len() > old.len() {
        return None;
    }
    let looser = |line: &&DiffLine<'_>| {
        old.iter().any(|old| {
            same_subject(old, line) && count_leeway(line) > count_leeway(old) && strength(line) <= strength(old)
        })
    };
    if let Some(line) = new.iter().copied().copied().find(looser) {
        return Some(line);
    }
    let wider = |line: &&DiffLine<'_>| {
        let now = join_statement(added, line);
        old.iter().any(|old| {
            let before = join_statement(removed, old);
            is_wider(&before, &now) && (same_subject(old, line) || shares_text(&before, &now))
                || catches_more(&before, &now)
        })
    };
    if let Some(line) = new.iter().copied().copied().find(wider) {
        return Some(line);
    }
    let exact_left = new.iter().filter(|line| is_exact(line) && count_leeway(line) == 0).count();
    let exact_before = old.iter().filter(|line| is_exact(line) && count_leeway(line) == 0).count();
    if exact_left >= exact_before {
        return None;
    }
    // It has the place of the one that names the most of what it names.
    let names = |line: &DiffLine<'_>| identifiers_of(&line.masked.code).map(str::to_owned).collect::<HashSet<_>>();
    let counterparts = |line: &DiffLine<'_>| {
        let own = names(line);
        let shared = move |old: &&&&DiffLine<'_>| names(old).intersection(&own).count();
        let most = old.iter().map(|line| shared(&line)).max().unwrap_or_default();
        old.iter().filter(move |line| shared(line) == most)
    };
    new.iter().copied().copied().find(|line| counterparts(line).any(|old| is_vaguer(old, line)))
}

/// The line of `added` that asks for a part of the text that a line of `removed` asked for, where a part does: of a
/// message, of what something contains.
pub(super) fn mark_shorter_text<'s, 'p>(
    removed: &[&DiffLine<'_>],
    added: &[&'s DiffLine<'p>],
    language: &Language,
) -> Option<&'s DiffLine<'p>> {
    let asks = |line: &&&DiffLine<'_>| {
        let text = &line.masked.text;
        let asserts = || HOLDS_TEXT.is_match(text) && language.asserts.is_match(&line.masked.code);
        (MESSAGE_PART.is_match(text) || CHECKS_TEXT.is_match(text) || asserts()) && !DENIES.is_match(text)
    };
    let texts = |line: &DiffLine<'_>| -> Vec<String> {
        let values = VALUE.find_iter(&line.masked.text).map(|value| value.as_str());
        values.filter(|text| text.starts_with(['"', '\''])).map(|text| text[1..text.len() - 1].to_owned()).collect()
    };
    let old: Vec<String> = removed.iter().filter(asks).flat_map(|line| texts(line)).collect();
    let is_part = |new: &String| {
        new.len() + 2 > TEXT_BYTES_MIN
            && !old.contains(new)
            && old.iter().any(|old| old.len() > new.len() + 1 && old.contains(new.as_str()))
    };
    // One of several parts says less than all of them.
    let one_each = || removed.iter().filter(asks).count() >= added.iter().filter(asks).count();
    added.iter().filter(asks).find(|line| texts(line).iter().any(is_part)).filter(|_| one_each()).copied()
}

/// An assertion's line and those that go on with it, in `lines`.
pub(super) fn join_statement(lines: &[&DiffLine<'_>], first: &DiffLine<'_>) -> String {
    let mut text = String::new();
    let mut open = 0_i32;
    let from = lines.iter().skip_while(|line| line.number != first.number);
    for line in from.take(STATEMENT_LINES_MAX) {
        let code = &line.masked.code;
        let count = |signs: [char; 2]| i32::try_from(code.matches(signs).count()).unwrap_or(i32::MAX);
        open += count(['(', '[']) - count([')', ']']);
        text.push_str(line.masked.text.trim_start());
        text.push(' ');
        // Arguments without brackets go on behind a comma.
        let goes_on = text.starts_with(char::is_alphabetic) && !text.contains('(') && code.trim_end().ends_with(',');
        if open <= 0 && !goes_on {
            break;
        }
    }
    text
}

/// Whether what a condition holds ends the test as failed, as far as its first lines say.
pub(super) fn ends_in_failure(all: &[&DiffLine<'_>], guard: &DiffLine<'_>, language: &Language) -> bool {
    let ends = |line: &DiffLine<'_>| fails(line, language) || ENDS.is_match(&line.masked.code);
    ends(guard) || guarded_lines(all, guard).any(ends)
}

/// Whether a line asserts something, or fails the test.
fn fails(line: &DiffLine<'_>, language: &Language) -> bool {
    language.asserts.is_match(&line.masked.code) || FAILS.is_match(&line.masked.code)
}

/// The first lines of what a condition holds; it may itself go on over lines.
fn guarded_lines<'l, 's, 'p>(
    all: &'l [&'s DiffLine<'p>],
    guard: &DiffLine<'_>,
) -> impl Iterator<Item = &'s DiffLine<'p>> + use<'l, 's, 'p> {
    let (number, indent) = (guard.number, guard.indent);
    let below = all.iter().copied().skip_while(move |line| line.number != number).skip(1);
    below.filter(|line| line.has_code()).take_while(move |line| line.indent > indent).take(GUARDED_LINES_MAX)
}

/// The unchanged line above `line` on which the assertion begins that goes on with a comparison on it.
pub(super) fn assertion_around<'s, 'p>(
    all: &[&'s DiffLine<'p>],
    line: &DiffLine<'_>,
    language: &Language,
) -> Option<&'s DiffLine<'p>> {
    if !COMPARISON.is_match(&line.masked.code) {
        return None;
    }
    let at = all.iter().position(|other| std::ptr::eq(*other, line))?;
    let mut open = 0_i32;
    for above in all[..at].iter().rev().take(STATEMENT_LINES_MAX) {
        let code = &above.masked.code;
        let count = |signs: [char; 3]| i32::try_from(code.matches(signs).count()).unwrap_or(i32::MAX);
        open += count(['(', '[', '{']) - count([')', ']', '}']);
        if open > 0 {
            if language.asserts.is_match(code) {
                return (!above.changed).then_some(above);
            }
            open = 0;
        }
    }
    None
}

/// Whether both name the same text.
fn shares_text(old: &str, new: &str) -> bool {
    let mut texts = VALUE.find_iter(old).map(|value| value.as_str()).filter(|value| value.len() > TEXT_BYTES_MIN);
    texts.any(|text| text.starts_with(['"', '\'']) && new.contains(text))
}

/// Whether `new` is true for one more reason than `old`, and says a value that `old` said.
fn is_wider(old: &str, new: &str) -> bool {
    let reasons = |text: &str| OR.find_iter(text).count();
    let values =
        |text: &str| -> HashSet<String> { VALUE.find_iter(text).map(|value| value.as_str().to_owned()).collect() };
    // What `old` says to its end, and then another answer.
    let goes_on = || {
        let (old, new) = (without_whitespace(old), without_whitespace(new));
        let rest = new.strip_prefix(old.trim_end_matches([';', ')', ':', '{']));
        !DENIES.is_match(&old)
            && rest.is_some_and(|rest| ["||", "or"].iter().any(|or| rest.trim_start_matches(')').starts_with(or)))
    };
    reasons(new) > reasons(old) && (!values(old).is_disjoint(&values(new)) || goes_on())
}

/// Whether `new` is content with one of several errors, of which `old` asked for one.
fn catches_more(old: &str, new: &str) -> bool {
    let several = |text: &str| without_whitespace(text).to_ascii_lowercase().contains("raises((");
    let words = |text: &str| identifiers_of(text).map(str::to_owned).collect::<HashSet<_>>();
    let (was, is) = (words(old), words(new));
    let is_covered = |word: &String| is.contains(word) || is.iter().any(|other| slack::is_base_error(word, other));
    several(new) && !several(old) && was.iter().all(is_covered)
}

/// Whether `new` says less of the same thing than `old`.
fn is_vaguer(old: &DiffLine<'_>, new: &DiffLine<'_>) -> bool {
    if !same_subject(old, new) || !is_exact(old) {
        return false;
    }
    if is_exact(new) && !is_negated(new) {
        return count_leeway(new) > count_leeway(old);
    }
    let words = |line: &DiffLine<'_>| VAGUE.find_iter(&line.masked.code).count();
    // A bare `assert x` has no word of its own.
    let vaguer = words(new) > words(old)
        || words(new) == 0 && (is_bare(new) || is_part(new, old))
        || is_negated(new) && !is_negated(old);
    let says_the_same = PLAIN.is_match(&old.masked.text) && words(new) <= 1 + words(old);
    vaguer && (!says_the_same || ONE_OF.is_match(&new.masked.code))
}

/// `assert x`: true or not, for any `x`. A helper's name does not tell what it checks.
fn is_bare(line: &DiffLine<'_>) -> bool {
    let code = line.masked.code.trim_start();
    ["assert ", "assert(", "assert!("].iter().any(|start| code.starts_with(start))
}

/// Whether `new` asserts nothing that `old` does not: `raises(Error)` for `raises(Error, match="…")`.
fn is_part(new: &DiffLine<'_>, old: &DiffLine<'_>) -> bool {
    let known: HashSet<&str> = identifiers_of(&old.masked.code).collect();
    let values = |line: &DiffLine<'_>| -> HashSet<String> {
        VALUE.find_iter(&line.masked.text).map(|value| value.as_str().to_owned()).collect()
    };
    let (was, is) = (values(old), values(new));
    let is_unwrapped = || !was.is_empty() && was == is && old.masked.code.contains("equals(");
    identifiers_of(&new.masked.code).all(|word| known.contains(word))
        && !is_unwrapped()
        && !old.masked.code.to_ascii_lowercase().contains("times(1)")
}

fn strength(line: &DiffLine<'_>) -> Option<MatcherStrength> {
    strength_of(&tokens_of(&line.masked.text), &line.masked.text)
}

/// `!=`, `assert_ne`, `not.toBe`: all but one answer is right.
fn is_negated(line: &DiffLine<'_>) -> bool {
    let code = without_whitespace(&line.masked.code).to_ascii_lowercase();
    ["!=", "notequal", "not.to", "assert_ne", "_ne(", "isnot", "refute", "to.not"]
        .iter()
        .any(|sign| code.contains(sign))
}

fn is_exact(line: &DiffLine<'_>) -> bool {
    EXACT.is_match(&line.masked.code) && !NEARLY.is_match(&line.masked.code)
}

fn count_leeway(line: &DiffLine<'_>) -> usize {
    LEEWAY.find_iter(&line.masked.code).count()
}

/// Whether two assertions are about the same thing, by the names in them.
pub(super) fn same_subject(old: &DiffLine<'_>, new: &DiffLine<'_>) -> bool {
    let names = |line: &DiffLine<'_>| -> HashSet<String> {
        let subject = identifiers_of(&line.masked.code)
            .filter(|word| !VOCABULARY.contains(word) && !word.starts_with("assert") && !is_matcher(word));
        subject.map(str::to_owned).collect()
    };
    let letter = |line: &DiffLine<'_>| -> HashSet<String> {
        LETTER.find_iter(&line.masked.code).map(|name| name.as_str().to_owned()).collect()
    };
    let (mut old_names, mut new_names) = (names(old), names(new));
    if old_names.is_empty() && new_names.is_empty() {
        (old_names, new_names) = (letter(old), letter(new));
    }
    let shared = old_names.intersection(&new_names).count();
    let is_chain = |line: &DiffLine<'_>| line.masked.code.trim_start().starts_with(['.', '-']);
    is_chain(old) && is_chain(new) && old.indent == new.indent
        || shared > 0 && 2 * shared >= old_names.len().min(new_names.len())
}

/// `toBe`, `toHaveLength`.
fn is_matcher(word: &str) -> bool {
    word.strip_prefix("to").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// The condition in `body` that has to hold, besides the one that was there, before the test fails below it.
pub(super) fn mark_narrowed<'s, 'p>(
    body: &[&'s DiffLine<'p>],
    removed: &[&DiffLine<'_>],
    added: &[&'s DiffLine<'p>],
    language: &Language,
) -> Option<&'s DiffLine<'p>> {
    let is_added = |line: &DiffLine<'_>| added.iter().any(|other| std::ptr::eq(*other, line));
    let stem = |line: &DiffLine<'_>| {
        let code = without_whitespace(&line.masked.text);
        code.trim_end_matches(['{', ')', ':']).to_owned()
    };
    let guards = |line: &DiffLine<'_>| {
        is_added(line)
            && CONDITION.is_match(&line.masked.code)
            && guarded_lines(body, line).any(|inner| !inner.changed && fails(inner, language))
    };
    let narrower = |line: &DiffLine<'_>| {
        let now = stem(line);
        let rest =
            |old: &&DiffLine<'_>| now.strip_prefix(&stem(old)).map(|rest| rest.trim_start_matches(')').to_owned());
        let denied = now.contains("not(") || now.contains("!(");
        removed.iter().filter_map(rest).any(|rest| {
            let starts = |words: [&str; 2]| words.iter().any(|word| rest.starts_with(word));
            starts(["&&", "and"]) || denied && starts(["||", "or"])
        })
    };
    body.iter().copied().find(|line| guards(line) && narrower(line))
}

/// Whether a line says that the test is skipped.
pub(super) fn says_skip(line: &DiffLine<'_>) -> bool {
    SAYS_SKIP.is_match(&line.masked.text)
}

/// The condition in `body` under which the test is skipped, and that holds in more cases than before.
pub(super) fn skips_more<'s, 'p>(
    before: &[&DiffLine<'_>],
    body: &[&'s DiffLine<'p>],
    skips: impl Fn(&DiffLine<'_>) -> bool,
) -> Option<&'s DiffLine<'p>> {
    // The changed lines right above a line, but for a bracket that closes them.
    let above = |lines: &[&DiffLine<'_>], at: usize| -> Vec<usize> {
        let near = (0..at).rev().skip_while(|&at| !lines[at].changed && !lines[at].has_code());
        near.take_while(|&at| lines[at].changed).take(STATEMENT_LINES_MAX).collect()
    };
    let text = |lines: &[&DiffLine<'_>], at: &[usize]| -> String {
        at.iter().rev().map(|&at| lines[at].masked.text.as_str()).collect::<Vec<_>>().join(" ")
    };
    body.iter().enumerate().filter(|(_, line)| !line.changed && skips(line)).find_map(|(at, line)| {
        let own = without_whitespace(&line.masked.text);
        let old = before.iter().position(|other| !other.changed && without_whitespace(&other.masked.text) == own)?;
        let (was, is) = (above(before, old), above(body, at));
        let first = body[*is.last()?];
        let (was, is) = (text(before, &was), text(body, &is));
        let words = |text: &str| identifiers_of(text).map(str::to_owned).collect::<HashSet<_>>();
        let grown = OR.find_iter(&is).count() > OR.find_iter(&was).count() || is_longer_list(&was, &is);
        (CONDITION.is_match(&first.masked.code) && grown && words(&was).is_subset(&words(&is)) && !was.is_empty())
            .then_some(first)
    })
}

/// Whether `is` asks for one of more values than `was`, and is otherwise the same.
fn is_longer_list(was: &str, is: &str) -> bool {
    if !MEMBER.is_match(is) || NO_MEMBER.is_match(is) {
        return false;
    }
    let (was, is) = (without_whitespace(was), without_whitespace(is));
    let same = |pair: &(char, char)| pair.0 == pair.1;
    let above = was.chars().zip(is.chars()).take_while(same).count();
    let below = was.chars().rev().zip(is.chars().rev()).take_while(same).count();
    is.matches(',').count() > was.matches(',').count() && above + below >= was.chars().count()
}

/// The new condition in `body` for an assertion that was unconditional before.
pub(super) fn mark_conditional<'s, 'p>(
    body: &[&'s DiffLine<'p>],
    removed: &[&DiffLine<'_>],
    added: &[&'s DiffLine<'p>],
    language: &Language,
) -> Option<&'s DiffLine<'p>> {
    let asserts = |line: &DiffLine<'_>| language.asserts.is_match(&line.masked.code);
    // With others besides them they are cases of their own.
    if added.iter().any(|line| asserts(line)) {
        return None;
    }
    let is_added = |line: &DiffLine<'_>| added.iter().any(|other| std::ptr::eq(*other, line));
    let conditions =
        |lines: &[&DiffLine<'_>]| lines.iter().filter(|line| CONDITION.is_match(&line.masked.code)).count();
    let (was, is) = (conditions(removed), conditions(added));
    // One condition may be in another's place.
    let in_place = |line: &DiffLine<'_>| {
        let words: HashSet<&str> = identifiers_of(&line.masked.code).filter(|word| *word != "if").collect();
        let shares = |old: &&&DiffLine<'_>| identifiers_of(&old.masked.code).any(|word| words.contains(word));
        was > 0
            && (is <= was || removed.iter().filter(|old| CONDITION.is_match(&old.masked.code)).any(|old| shares(&old)))
    };
    body.iter().enumerate().find_map(|(at, line)| {
        let guards = is_added(line) && CONDITION.is_match(&line.masked.code) && !asserts(line) && !in_place(line);
        let preprocessed = line.masked.code.trim_start().starts_with('#');
        let mut within = body[at + 1..].iter().take_while(|inner| {
            let code = inner.masked.code.trim_start();
            inner.raw.trim().is_empty()
                || if preprocessed { !code.starts_with('#') } else { inner.indent > line.indent || code == "{" }
        });
        let moved = |inner: &DiffLine<'_>| asserts(inner) && !is_added(inner) && (preprocessed || inner.changed);
        (guards && within.any(|inner| moved(inner))).then_some(*line)
    })
}
