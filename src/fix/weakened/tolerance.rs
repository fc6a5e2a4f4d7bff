//! The difference that a test allows between two numbers or times.

use std::sync::LazyLock;

use regex::Regex;

use super::language::Language;
use super::lazy::compile_regex;
use super::strength::{callee, is_number, number_of};

/// Compares with a tolerance.
static NEAR: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(concat!(
        r"(?i)\b\w*(?:close_?to|near|approx\w*|delta|epsilon|tolerance|within|almost_?equals?|accuracy|plus_?or_?minus|offset|diff_?pixel\w*|double_eq_tol|float_eq|equals_?double)\w*\b",
        r"|\babs\b|CHECK_CLOSE\w*|\+-|(?i:assert_?timeout)|BeNumerically\(\x22~|\bfloat\b|\bthreshold\b"
    ))
    .expect("a regex")
});
/// Of it the digits are said that have to agree.
static DIGITS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"\btoBeCloseTo\(|\bplaces\s*=|\bdecimal\s*=|\b(?:assertAlmostEquals?|assert_almost_equal)\(|\bAssert\.Equal\(",
    )
    .expect("a regex")
});
/// A call of which any argument is the tolerance.
static TOLERANCE_CALL: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)^(?:be_?)?(?:within|epsilon|offset|tolerance|delta|margin|absolute|relative|eps|float|of(?:millis|seconds|minutes)|from(?:milli)?seconds|assert_?timeout\w*)$")
        .expect("a regex")
});
/// A matcher with the value first and the tolerance second.
static NEAR_MATCHER: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"(?i)^(?:to_?)?(?:be_?|is_?|should_?be_?)?(?:close_?to|approximately|within_?(?:abs|rel|ulp)\w*|numerically)$",
    )
    .expect("a regex")
});
/// An assertion with two values first and the tolerance third.
static NEAR_ASSERTION: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"(?i)delta|near|almost|approx|close|epsilon|within|(?:double|float)_eq|equals_?(?:double|float)|^(?:xct)?assert_?equals?$|^are_?equal$|^assert_?array_?equals$|^equal$")
        .expect("a regex")
});
/// How the names of spans of time begin, and their seconds.
const SPANS: [(&str, f64); 7] = [
    ("nano", 1e-9),
    ("micro", 1e-6),
    ("milli", 1e-3),
    ("sec", 1.0),
    ("min", 60.0),
    ("hour", 3_600.0),
    ("day", 86_400.0),
];
/// How they end.
const SPAN_ENDS: [&str; 9] = ["", "s", "ond", "onds", "ute", "utes", "second", "seconds", "secs"];

/// The seconds of a unit of time, by its name (`ms` is none) or that of a call that makes such a span: `ofMillis`.
pub(super) fn seconds_of(unit: &str) -> Option<f64> {
    let lower = unit.to_ascii_lowercase();
    let name = ["of", "from_", "from"].iter().find_map(|start| lower.strip_prefix(start)).unwrap_or(&lower);
    let mut spans = SPANS.iter().filter_map(|(start, seconds)| Some((name.strip_prefix(start)?, *seconds)));
    spans.find(|(end, _)| SPAN_ENDS.contains(end)).map(|(_, seconds)| seconds)
}

/// Whether the digits are said that have to agree, so that more of them ask for more.
pub(super) fn is_in_digits(text: &str, code: &str, number: &[String], language: &Language) -> bool {
    let is_whole = || number_of(&number.concat()).is_some_and(|number| number.fract() == 0.0);
    DIGITS.is_match(text) || language.name == "dotnet" && code.contains("Assert.Equal(") && is_whole()
}

/// Whether a tolerance grew from `was` to `is`.
pub(super) fn is_larger(was: &[String], is: &[String], in_digits: bool) -> bool {
    if let (Some(was), Some(is)) = (number_of(&was.concat()), number_of(&is.concat())) {
        return if in_digits { is < was } else { is > was };
    }
    let span = |tokens: &[String]| {
        let unit = tokens.iter().find_map(|token| seconds_of(token))?;
        Some(unit * tokens.iter().find_map(|token| number_of(token)).unwrap_or(1.0))
    };
    span(is).zip(span(was)).is_some_and(|(is, was)| is > was)
}

/// Whether an expression has a number in the place of one, and none in it is as small: `0.1 * scale + 0.01` for `1e-9`.
pub(super) fn is_sum_of_larger(was: &[String], is: &[String]) -> bool {
    let numbers: Vec<f64> = is.iter().filter_map(|token| number_of(token)).collect();
    let before = number_of(&was.concat());
    before.is_some_and(|was| was > 0.0 && !numbers.is_empty() && numbers.iter().all(|number| *number > was))
}

/// Whether the token at `at` is a tolerance, by its place in the call.
pub(super) fn is_tolerance(tokens: &[String], text: &str, at: usize) -> bool {
    let token = |at: usize| tokens.get(at).map_or("", String::as_str);
    let before = at.checked_sub(1).map_or("", token);
    let (name, index) = callee(tokens, at);
    if !NEAR.is_match(text) && !NEAR_ASSERTION.is_match(&name) {
        return false;
    }
    let named =
        |name: &str| TOLERANCE_CALL.is_match(name) || name.eq_ignore_ascii_case("accuracy") || name.starts_with("max");
    match before {
        "<" | ">" | "<=" | ">=" => text.contains("abs"),
        ":" | "=" => at > 1 && named(token(at - 2)),
        "-" => at > 1 && token(at - 2) == "+",
        "plusOrMinus" | "Absolute" | "Relative" | "float" => true,
        _ => {
            let values =
                if token(tokens.iter().position(|token| token == "(").unwrap_or(0) + 1) == "t" { 3 } else { 2 };
            TOLERANCE_CALL.is_match(&name) && index == 0
                || NEAR_MATCHER.is_match(&name) && index > 0
                || NEAR_ASSERTION.is_match(&name) && !NEAR_MATCHER.is_match(&name) && index >= values
        }
    }
}

/// Whether two values that had to be equal may differ by a third now.
pub(super) fn is_given(old: &[String], new: &[String]) -> bool {
    let is_last = |at: usize| new[at + 1..].iter().all(|token| matches!(token.as_str(), ")" | ";"));
    let Some(at) = new.iter().rposition(|token| is_number(token)).filter(|at| is_last(*at)) else {
        return false;
    };
    let (name, index) = callee(new, at);
    let was = old.iter().rposition(|token| token != ")" && token != ";").map(|at| callee(old, at).1);
    NEAR_ASSERTION.is_match(&name)
        && index == 2
        && was == Some(1)
        && new[at].contains(['.', 'e'])
        && number_of(&new[at]).is_some_and(|number| number > 0.0 && number < 1.0)
}
