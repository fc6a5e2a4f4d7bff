//! Assertions that ask for the same in other words, or for the contrary: neither is less.

use std::sync::LazyLock;

use regex::Regex;

use super::lazy::compile_regex;
use super::strength::{is_word, tokens_of};

/// Words of matchers and those that ask for the contrary, without underscores and in lower case.
const CONTRARIES: [(&str, &str); 12] = [
    ("==", "!="),
    ("===", "!=="),
    ("asserteq", "assertne"),
    ("expecteq", "expectne"),
    ("assertequal", "assertnotequal"),
    ("assertequals", "assertnotequals"),
    ("equal", "notequal"),
    ("strictequal", "notstrictequal"),
    ("deepequal", "notdeepequal"),
    ("asserttrue", "assertfalse"),
    ("assertin", "assertnotin"),
    ("assertis", "assertisnot"),
];
/// Types that are asked for by their own, though a kind of them would do.
const TYPES: [&str; 10] = ["list", "dict", "tuple", "set", "str", "int", "float", "bool", "bytes", "type"];
/// Waits for an error or a warning and says which words it has.
static SAYS_MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)\b(?:raises|warns|assert_?raises\w*|assert_?warns\w*|to_?throw\w*|throws\w*|rejects\w*|raise_error)\b\s*\(.*[`'\x22]")
        .expect("a regex")
});

/// Whether `new` asks for what `old` asked for, or for its contrary.
pub(super) fn says_as_much(old: &[String], new: &[String], text: &str) -> bool {
    is_contrary(old, new) || keeps_type(old, new) || keeps_message(old, new, text)
}

/// Whether a statement waits for an error or a warning with certain words.
pub(super) fn says_message(text: &str) -> bool {
    SAYS_MESSAGE.is_match(text)
}

/// Whether all that differs is that a thing must not be what it had to be, or must be what it must not.
fn is_contrary(old: &[String], new: &[String]) -> bool {
    let mut differing = old.iter().zip(new).filter(|(was, is)| was != is);
    let bare = |token: &str| token.replace('_', "").to_ascii_lowercase();
    let is_pair = |was: &str, is: &str| {
        let (was, is) = (bare(was), bare(is));
        CONTRARIES.iter().any(|&(one, other)| (was == one && is == other) || (was == other && is == one))
    };
    old.len() == new.len() && differing.next().is_some_and(|(was, is)| is_pair(was, is)) && differing.next().is_none()
}

/// `isinstance(x, list)` for `type(x) == list`.
fn keeps_type(old: &[String], new: &[String]) -> bool {
    let names = |tokens: &[String], word: &str| tokens.iter().any(|token| token == word);
    names(old, "type")
        && names(new, "isinstance")
        && old.last().is_some_and(|kind| TYPES.contains(&kind.as_str()) && names(new, kind))
}

/// `raises(Error, match="text")` for an assertion of the error's text.
fn keeps_message(old: &[String], new: &[String], text: &str) -> bool {
    let waits = |tokens: &[String]| {
        let words = ["raise", "throw", "warns", "reject"];
        tokens.iter().any(|token| words.iter().any(|word| token.to_ascii_lowercase().contains(word)))
    };
    let is_text = |token: &&String| token.len() > 2 && token.starts_with(['"', '`']);
    let mut texts = old.iter().filter(is_text).peekable();
    says_message(text) && !waits(old) && texts.peek().is_some() && texts.all(|text| new.contains(text))
}

/// The name of a call and its brackets.
const CALL_TOKENS_MIN: usize = 3;
/// Calls that make different values equal.
static NORMALIZES: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)^_?\w*(?:strip|normali[sz]e|trim|lower|upper|replace|sanitize|scrub|squish|squeeze|dedent|collapse|ignor|filter|casefold|round)\w*$")
        .expect("a regex")
});

/// Whether all that is new is a call that makes different values equal: `strip(x) == y` or `x.strip() == y` for `x == y`.
pub(super) fn normalizes(old: &[String], new: &[String]) -> bool {
    let Some(more) = new.len().checked_sub(old.len()).filter(|more| *more >= CALL_TOKENS_MIN) else { return false };
    let start = old.iter().zip(new).take_while(|(was, is)| was == is).count();
    let is_call = |at: usize| {
        new.get(at).is_some_and(|name| is_word(name) && NORMALIZES.is_match(name))
            && new.get(at + 1).is_some_and(|next| next == "(")
    };
    // `x.strip()`: all of it is in one place.
    if new.get(start).is_some_and(|dot| dot == ".") && is_call(start + 1) {
        return new[start + more..] == old[start..] && new[start + more - 1] == ")";
    }
    // `strip(x)`: around what was there.
    let inside = old[start..].iter().zip(&new[(start + 2).min(new.len())..]).take_while(|(was, is)| was == is).count();
    let rest = &old[start + inside..];
    is_call(start) && inside > 0 && new.ends_with(rest) && {
        let behind = &new[start + 2 + inside..new.len() - rest.len()];
        matches!(behind.first().map(String::as_str), Some(")" | ",")) && behind.last().is_some_and(|last| last == ")")
    }
}

/// The value that a statement replaces by what makes different values equal: `x` in `x = x.strip()`.
pub(super) fn normalized_value(text: &str) -> Option<String> {
    let tokens = tokens_of(text);
    let [name, equals, first, second, third, ..] = tokens.as_slice() else { return None };
    let normalizes = |word: &String| is_word(word) && NORMALIZES.is_match(word);
    let is_own =
        first == name && second == "." && normalizes(third) || third == name && second == "(" && normalizes(first);
    (is_word(name) && equals == "=" && is_own).then(|| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_words_and_contraries_are_no_less() {
        let says = |old, new| says_as_much(&tokens_of(old), &tokens_of(new), new);
        assert!(says("t.equal(a, b);", "t.notEqual(a, b);") && says("assert_eq!(a, b);", "assert_ne!(a, b);"));
        assert!(says("assert a == b", "assert a != b") && !says("assert a == b", "assert a != c"));
        assert!(says("assert type(a) == list", "assert isinstance(a, list)"));
        assert!(!says("assert type(a) == Cart", "assert isinstance(a, Cart)"));
        assert!(says("assert str(e.value) == \"no price\"", "with pytest.raises(CartError, match=\"no price\"):"));
        assert!(!says("assert str(e.value) == \"no price\"", "with pytest.raises(CartError):"));
    }

    #[test]
    fn a_call_makes_values_equal() {
        let is = |old, new| normalizes(&tokens_of(old), &tokens_of(new));
        assert!(is("assert p.url == expected", "assert normalize(p.url) == expected"));
        assert!(is("t.same(r.err, '');", "t.same(stripWarnings(r.err), '');"));
        assert!(is("assert a == b", "assert a.strip() == b") && is("f(a, b)", "f(a.lower(), b)"));
        assert!(is("assert a == 1.5", "assert round(a, 1) == 1.5"));
        assert!(!is("assert a.strip() == b", "assert a == b") && !is("assert a == b", "assert parse(a) == b"));
        assert!(!is("assert a == b", "assert strip(c) == b") && !is("a a", "strip(a"));
        assert_eq!(normalized_value("out = out.replace(a, b)").as_deref(), Some("out"));
        assert_eq!(normalized_value("out = strip_ansi(out)").as_deref(), Some("out"));
        assert!(normalized_value("out = run().strip()").is_none() && normalized_value("out = parse(out)").is_none());
    }
}
