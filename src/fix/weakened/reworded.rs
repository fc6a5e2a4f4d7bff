//! Assertions that ask for the same in other words, or for the contrary: neither is less.

use std::collections::HashSet;
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

/// Functions that compare their first two arguments, under the names that frameworks give them.
const EQUALITIES: [&str; 18] = [
    "assert_eq!",
    "assertEqual",
    "assertEquals",
    "assertSame",
    "assertIs",
    "assertStrictEqual",
    "assert_equal",
    "assert_same",
    "equal",
    "strictEqual",
    "deepEqual",
    "deepStrictEqual",
    "Equal",
    "AreEqual",
    "AreSame",
    "EXPECT_EQ",
    "ASSERT_EQ",
    "XCTAssertEqual",
];

/// `x` in `assertEqual(x, x)`, `expect(x).toBe(x)`, `assert x == x`. A call may well give two different answers, and a
/// floating-point number differ from itself on purpose; only plain names and literals are compared.
pub(super) fn repeated_operand(line: &str) -> Option<&str> {
    let plain = |text: &str| {
        let text = text.trim();
        !text.is_empty() && !text.starts_with('[') && !text.contains(['(', '{', '!', '+', ','])
    };
    let line = line.trim().trim_end_matches(';');
    if let Some((before, after)) = line.split_once("==").or_else(|| line.split_once("===")) {
        let left = before.trim_start_matches("assert").trim_start_matches(['!', '(', ' ']).trim();
        let right = after.trim_start_matches('=').split(',').next()?.trim().trim_end_matches(')').trim();
        return (plain(left) && left == right).then_some(left);
    }
    let open = line.find('(')?;
    let inside = line[open + 1..].strip_suffix(')')?;
    if let Some((subject, rest)) = inside.split_once(')') {
        let matcher = rest.trim_start_matches(".to").trim_start_matches('.');
        let (name, argument) = matcher.split_once('(')?;
        let equality = ["Be", "Equal", "StrictEqual", "eq", "to eq", "Equal", "equal", "be"].contains(&name.trim());
        return (equality && plain(subject) && subject.trim() == argument.trim()).then_some(subject.trim());
    }
    let name = line[..open].rsplit(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '!')).next()?;
    let (left, right) = inside.split_once(',')?;
    let right = right.split(',').next()?.trim();
    (EQUALITIES.contains(&name) && plain(left) && left.trim() == right).then_some(left.trim())
}

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

/// Calls that make different values equal.
static NORMALIZES: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)^_?\w*(?:strip|normali[sz]e|trim|lower|upper|replace|sanitize|scrub|squish|squeeze|dedent|collapse|ignor|filter|casefold|round)\w*$")
        .expect("a regex")
});

/// Whether all that is new are calls that make different values equal: `strip(x) == y` or `x.strip() == y` for `x == y`,
/// or `strip(x) == strip(z)`.
pub(super) fn normalizes(old: &[String], new: &[String]) -> bool {
    let ((was, before), (is, after)) = (without_normalizing(old), without_normalizing(new));
    if after > before && is_alike(&was, &is) {
        return true;
    }
    // Both sides of a comparison are made equal that neither was.
    let is_both = || {
        let sides = new.iter().position(|token| token == "==").map(|at| new.split_at(at));
        sides.is_some_and(|(left, right)| without_normalizing(left).1 > 0 && without_normalizing(right).1 > 0)
    };
    let names = |tokens: &[String]| tokens.iter().filter(|token| is_word(token)).cloned().collect::<HashSet<_>>();
    if before == 0 && is_both() && old.contains(&"==".to_owned()) && names(&was).intersection(&names(&is)).count() > 1 {
        return true;
    }
    // The other side may be written in another way.
    let left = |tokens: &[String]| tokens.iter().position(|token| token == "==").map(|at| tokens[..at].to_vec());
    let (Some(old), Some(new)) = (left(old), left(new)) else { return false };
    let ((was, before), (is, after)) = (without_normalizing(&old), without_normalizing(&new));
    after > before && was.len() > 1 && was == is
}

/// Whether two statements are the same but for blanks at the ends of texts and how their letters are written.
fn is_alike(was: &[String], is: &[String]) -> bool {
    let bare = |token: &String| {
        let text = ["\\n", "\\r", "\\t"].iter().fold(token.to_lowercase(), |text, blank| text.replace(blank, ""));
        text.split_whitespace().collect::<String>().trim_matches(['"', '\'', '`']).to_owned()
    };
    let is_text = |token: &str| token.starts_with(['"', '\'', '`']);
    // Texts side by side are one.
    let joined = |tokens: &[String]| {
        let mut all: Vec<String> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let next = tokens.get(at + 1).is_some_and(|next| is_text(next));
            match all.last_mut() {
                _ if matches!(token.as_str(), "b" | "f" | "r" | "u") && next => {}
                Some(last) if is_text(last) && is_text(token) => {
                    last.pop();
                    last.push_str(&token[1..]);
                }
                _ => all.push(token.clone()),
            }
        }
        all
    };
    let same = |(was, is): (&String, &String)| was == is || is_text(was) && is_text(is) && bare(was) == bare(is);
    let (was, is) = (joined(was), joined(is));
    was.len() == is.len() && was.iter().zip(&is).all(same)
}

/// The tokens without the calls that make different values equal, and how many of these there are.
fn without_normalizing(tokens: &[String]) -> (Vec<String>, usize) {
    let called = |at: usize| {
        let is_call = tokens.get(at).is_some_and(|name| is_word(name) && NORMALIZES.is_match(name))
            && tokens.get(at + 1).is_some_and(|next| next == "(");
        is_call.then(|| closing_bracket(tokens, at + 1)).flatten()
    };
    let (mut rest, mut count, mut at) = (Vec::new(), 0, 0);
    while at < tokens.len() {
        if let Some(end) = called(at + 1).filter(|_| tokens[at] == ".") {
            (count, at) = (count + 1, end + 1);
        } else if let Some(end) = called(at) {
            // Further arguments say how it makes them equal.
            let inside = &tokens[at + 2..end];
            let mut depth = 0_usize;
            let first = inside.iter().position(|token| {
                match token.as_str() {
                    "(" | "[" | "{" => depth += 1,
                    ")" | "]" | "}" => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0 && token == ","
            });
            let (inner, more) = without_normalizing(&inside[..first.unwrap_or(inside.len())]);
            rest.extend(inner);
            (count, at) = (count + more + 1, end + 1);
        } else {
            rest.push(tokens[at].clone());
            at += 1;
        }
    }
    (rest, count)
}

/// Where the bracket at `open` is closed.
fn closing_bracket(tokens: &[String], open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    (open..tokens.len()).find(|&at| {
        match tokens[at].as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        depth == 0
    })
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
        assert!(
            is("assert a == b", "assert a.strip() == b.strip()")
                && is("assert a == load(x)", "assert strip(a) == strip(c)")
        );
        assert!(is("assert a == b", "assert b.strip() == c.strip()") && !is("assert a == b", "assert c.strip() == b"));
        assert!(is("assert a == \"b\\n\"", "assert a.strip() == \"b\"") && !is("f(a, \"b\")", "f(a.strip(), \"c\")"));
        assert!(!is("assert a.strip() == b", "assert a == b") && !is("assert a == b", "assert parse(a) == b"));
        assert!(!is("assert a == b", "assert strip(c) == b") && !is("a a", "strip(a"));
        assert_eq!(normalized_value("out = out.replace(a, b)").as_deref(), Some("out"));
        assert_eq!(normalized_value("out = strip_ansi(out)").as_deref(), Some("out"));
        assert!(normalized_value("out = run().strip()").is_none() && normalized_value("out = parse(out)").is_none());
    }
}
