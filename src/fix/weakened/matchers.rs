//! An assertion in the place of one that is almost the same: with a matcher that says less, an error of any kind, any
//! argument, a larger tolerance, without what it waited for.
//!
//! Two lines are compared by their tokens. What is the same at their starts and ends is left out; what remains in the
//! middle is what was changed.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

use super::language::Language;
use super::lazy::compile_regex;
use super::loosened::{assertion_around, ends_in_failure, join_statement, same_subject};
use super::strength::{
    ANYTHING, CALLS, DEFINES, ERRORS, MatcherStrength, asks_for_error, is_number, is_word, says_plainly,
    says_something, strength_of, tokens_of,
};
use super::tolerance;
use super::view::{DiffLine, DiffSide};
use super::{reworded, slack, swallowed};

/// Pairs of lines looked at for one test.
const PAIRS_MAX: usize = 1_000;

/// Errors of which all others are kinds.
const ANY_ERROR: [&str; 11] = [
    "Exception",
    "Throwable",
    "BaseException",
    "RuntimeException",
    "StandardError",
    "Error",
    "exception",
    "anyException",
    "anything",
    "CatchableError",
    "SomeException",
];
/// A link of a chain that asks for something.
static LINK: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"^\s*(?:\.|->)(?:times|once|exactly|with|withArgs|withMessage\w*|hasMessage\w*|isInstanceOf|hasCause\w*)\(",
    )
    .expect("a regex")
});
/// Says how much there is of something.
const MEASURES: [&str; 11] =
    ["len", "Len", "HasLen", "length", "size", "count", "lines", "Count", "keys", "shape", "columns"];
/// Asserts how much there is of something.
static COUNTS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^(?i:assert_?(?:count|length|size)|to_?have_?(?:length|size|count)|has_?size|have_?count)$")
        .expect("a regex")
});
/// A text that every text has.
const ANY_TEXT: [&str; 5] = ["\".*\"", "\"*\"", "\"\"", "/./", "/.*/"];
/// Asks under which condition the test fails.
static GUARD: LazyLock<Regex> = LazyLock::new(|| compile_regex(r"^\s*(?:\}\s*else\s+)?if\b").expect("a regex"));
/// Matches a pattern.
static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"\bmatches!|\bassert_?[mM]atch\b|^\s*assert\s*[{\[%]|^\s*assert_receive(?:d)?\b|\ballOf\(|^\s*[{\[]")
        .expect("a regex")
});
/// Warns in the place of an assertion.
static WARNS: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"\b(?:BOOST_)?WARN\w*\(|\bWarn\.\w+\(|_NOFAIL\(").expect("a regex"));
/// Lets nothing of what was before it fail.
static SWALLOWS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^(?:\.catch\(.*\)|rescue(?:nil|true|false)|catch\{\}|\|\|(?:true|:))$").expect("a regex")
});
/// Asks for what comes later; without waiting for it nothing is asked.
static AWAITED: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"\.(?:rejects|resolves|eventually|rejected\w*|fulfilled)\b|\bexpectLater\(|\bassert\.(?:rejects|doesNotReject)\(|\bwaitFor\w*\(|\bexpect\((?:page|\w*[lL]ocator|page\.)|\.Should\(\)\.\w*Async\b|\bThrows\w*Async\b").expect("a regex")
});
/// Searches a text for a pattern.
static SEARCHES: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"\b(?:re|regex|regexp)\.(?:search|match|fullmatch|MatchString)\(|\bassert_?(?:Regex|Matches|Regexp|Match)\w*\(|\b(?:assert|require)\.Regexp\(|\bRegex::new\(|=~|\btoMatch\(|\bMatches\(|\bmatches\(")
        .expect("a regex")
});
/// Tokens of what takes anything: `any(Owner.class)`.
const ANYTHING_TOKENS_MAX: usize = 8;
/// Letters of a text that a pattern has in common with it.
const LETTERS_MIN: usize = 3;

/// Lines of a test that a small change takes away.
const REPLACED_LINES_MAX: usize = 6;

/// A changed line that asks for less, and on which side it is.
pub(super) type WeakerLine<'s, 'p> = (DiffSide, &'s DiffLine<'p>);

/// The line of `added` that has the place of one of `removed` and asks for less; or the line of `removed` that asked for
/// something. `before` and `after` are all the lines that these are from: a statement may go on where nothing changed.
/// `None` for a test with very many changed lines.
pub(super) fn mark_weaker<'s, 'p>(
    (removed, before): (&[&'s DiffLine<'p>], &[&'s DiffLine<'p>]),
    (added, after): (&[&'s DiffLine<'p>], &[&'s DiffLine<'p>]),
    language: &Language,
) -> Option<WeakerLine<'s, 'p>> {
    if removed.len() * added.len().max(1) > PAIRS_MAX {
        return None;
    }
    let olds = statements(removed, before, language);
    let news = statements(added, after, language);
    // What is still asked for, in other words or elsewhere, is no less.
    if news.len() > olds.len() + 1 {
        return None;
    }
    let gone: Vec<&(usize, Statement)> =
        olds.iter().filter(|(_, old)| !news.iter().any(|(_, new)| new.joined == old.joined)).collect();
    let goes_on = |at: usize| {
        added.get(at + 1).is_some_and(|next| next.masked.code.trim_start().starts_with(['.', '-', '&', '|']))
    };
    // To ask until it is so is better than to sleep.
    let sleeps = removed.iter().any(|line| line.masked.code.to_ascii_lowercase().contains("sleep"));
    // As many as before, each about what the one in its place was about: only these are compared.
    let in_order = olds.len() == news.len()
        && olds.len() > 1
        && olds.iter().zip(&news).all(|((_, old), (_, new))| new.shares_arguments(old));
    // One more than before may say the rest, and another may be nearer to what was asked.
    let is_kept = |of: (usize, &Statement), old: &Statement| {
        let more = news.len() > olds.len();
        news.iter().filter(|(at, new)| *at != of.0 && new.asserts).any(|(_, new)| {
            let as_much = new.strength >= old.strength || more && new.tokens.iter().any(|token| token == "in");
            let nearer = || new.shared_words(old) > of.1.shared_words(old);
            as_much && new.shares_arguments(old) && (more || nearer())
        })
    };
    let asks_arguments = news.iter().any(|(_, new)| slack::asks_arguments(&new.tokens));
    let weaker = news.iter().enumerate().find(|(index, (at, new))| {
        let alike = |pair: &&(usize, Statement)| {
            let (from, old) = *pair;
            (!in_order || std::ptr::eq(*pair, &olds[*index]))
                && (new.shares_arguments(old)
                    || same_subject(removed[*from], added[*at])
                    || reworded::normalizes(&old.tokens, &new.tokens))
        };
        gone.iter().copied().filter(alike).filter(|(_, old)| !is_kept((*at, new), old)).any(|(_, old)| {
            let elsewhere = || {
                let rest = new.rest_of(old);
                news.iter().any(|(other, text)| other != at && text.joined.ends_with(rest))
            };
            let halved = || {
                // One more than before may be the other half.
                let clause = new.clause_without(old).filter(|_| news.len() <= olds.len())?;
                Some(!news.iter().any(|(other, text)| other != at && text.joined.contains(&clause)))
            };
            new.is_shortened(old) && !goes_on(*at) && !elsewhere() && !new.loses_as_call(old, removed, added)
                || halved() == Some(true) && !goes_on(*at)
                || !asks_arguments && slack::asks_arguments(&old.tokens) && slack::counts_calls(&new.tokens)
                || new.is_weaker(old, language, sleeps)
        })
    });
    if let Some((_, (at, _))) = weaker {
        return Some((DiffSide::New, added[*at]));
    }
    let unlinked = || {
        let link = removed.iter().find(|line| LINK.is_match(&line.masked.code))?;
        let chained = |line: &&DiffLine<'_>| line.masked.code.trim_start().starts_with(['.', '-']);
        let alone = !added.iter().any(chained) && olds.len() <= 1 && added.len() <= 1;
        alone.then_some((DiffSide::Old, *link))
    };
    let outlived = || {
        let wants = olds.iter().any(|(_, old)| swallowed::WANTS_ERROR.is_match(&old.code));
        let found = swallowed::mark_outlived(removed, added, language).filter(|_| wants)?;
        Some((DiffSide::New, found))
    };
    // A shell's test has rules of its own for what it compares.
    let is_shell = matches!(language.name.as_str(), "shell" | "test-script");
    let replaced = || replaced_by_less(&gone, &news, (removed, before), (added, after)).filter(|_| !is_shell);
    outlived().or_else(unlinked).or_else(replaced)
}

/// The assertion that came in the place of those that are gone, where none that came is as exact as the most exact of
/// them, whatever it is about: in the whole test, or between the same unchanged lines.
fn replaced_by_less<'s, 'p>(
    gone: &[&(usize, Statement)],
    news: &[(usize, Statement)],
    (removed, before): (&[&DiffLine<'_>], &[&DiffLine<'_>]),
    (added, after): (&[&'s DiffLine<'p>], &[&DiffLine<'_>]),
) -> Option<WeakerLine<'s, 'p>> {
    let asks = |(_, text): &&(usize, Statement)| text.asserts && !text.is_guard;
    let as_much = |old: &&(usize, Statement)| {
        news.iter().any(|(_, new)| reworded::says_as_much(&old.1.tokens, &new.tokens, &new.text))
    };
    let was: Vec<_> = gone.iter().copied().filter(asks).filter(|old| !as_much(old)).collect();
    let is: Vec<_> = news.iter().filter(asks).collect();
    let small = removed.len() <= REPLACED_LINES_MAX && added.len() <= removed.len() + 1;
    let found = asks_for_less(&was, &is).filter(|_| small);
    // The unchanged lines above it.
    let place = |all: &[&DiffLine<'_>], line: &DiffLine<'_>| {
        all.iter().take_while(|other| other.number != line.number).filter(|other| !other.changed).count()
    };
    let of_place = |at: usize| {
        let was: Vec<_> = was.iter().copied().filter(|(from, _)| place(before, removed[*from]) == at).collect();
        let is: Vec<_> = is.iter().copied().filter(|(to, _)| place(after, added[*to]) == at).collect();
        // Another one that replaces none may be where it went.
        let is_new = |at: usize| !gone.iter().any(|(from, _)| place(before, removed[*from]) == at);
        let elsewhere = |(_, old): &&(usize, Statement)| {
            let mut others = news.iter().map(|(to, new)| (place(after, added[*to]), new));
            others.any(|(other, new)| other != at && is_new(other) && new.shares_arguments(old))
        };
        asks_for_less(&was, &is).filter(|_| was.len() <= REPLACED_LINES_MAX && !was.iter().any(elsewhere))
    };
    let places = || is.iter().map(|(to, _)| place(after, added[*to]));
    let found = found.or_else(|| places().find_map(of_place))?;
    Some((DiffSide::New, added[found]))
}

/// The first of `is` where all that came asks for less than what was there.
fn asks_for_less(was: &[&(usize, Statement)], is: &[&(usize, Statement)]) -> Option<usize> {
    let strongest = |texts: &[&(usize, Statement)]| texts.iter().map(|(_, text)| text.strength).max().flatten();
    let plain = |(_, text): &&(usize, Statement)| says_plainly(&text.tokens, &text.text);
    let known = is.iter().all(|(_, new)| new.strength.is_some() && !reworded::says_message(&new.text));
    let less = strongest(is) < strongest(was) && strongest(was) == Some(MatcherStrength::Exact);
    // Nearly one value, and now within bounds.
    let is_bound = |(_, text): &&(usize, Statement)| slack::puts_in_order(&text.tokens);
    let is_near = |(_, text): &&(usize, Statement)| slack::is_near(&text.tokens);
    let bounded = was.len() == 1 && was.iter().all(is_near) && is.len() <= 2 && is.iter().all(is_bound);
    let less = less && is.len() <= was.len() || bounded;
    is.first().filter(|_| known && less && !was.iter().any(plain)).map(|(to, _)| *to)
}

/// The statements of `lines` that ask for something or list what is asked, and where they begin.
fn statements(lines: &[&DiffLine<'_>], all: &[&DiffLine<'_>], language: &Language) -> Vec<(usize, Statement)> {
    let asks = |line: &DiffLine<'_>| {
        let code = &line.masked.code;
        let regexes = [&*CALLS, &*ERRORS, &*GUARD, &*LINK, &*WARNS];
        let (some, this) = asks_for_error(code);
        !DEFINES.is_match(code)
            && (some || this || language.asserts.is_match(code) || regexes.iter().any(|regex| regex.is_match(code)))
    };
    let mut heads = HashSet::new();
    let found = lines.iter().enumerate().filter_map(|(at, line)| {
        if asks(line) {
            return Some((at, *line));
        }
        // An assertion that began above counts once.
        let head = assertion_around(all, line, language)?;
        heads.insert(head.number).then_some((at, head))
    });
    found
        .map(|(at, head)| {
            let fails = ends_in_failure(all, head, language);
            (at, Statement::new(join_statement(all, head), &head.masked.code, fails, language))
        })
        .collect()
}

/// A statement and its tokens. What is asked of it for each other one is found once.
struct Statement {
    text: String,
    /// Its first line without strings.
    code: String,
    tokens: Vec<String>,
    /// The tokens in a row, without the last semicolon.
    joined: String,
    strength: Option<MatcherStrength>,
    asserts: bool,
    is_guard: bool,
    /// A guard's block ends the test as failed.
    fails: bool,
    is_pattern: bool,
    speaks_of_errors: bool,
    speaks_of_calls: bool,
    /// It asks for any error, or for a certain one.
    asks_for: (bool, bool),
    /// Arguments that may be anything.
    anything: usize,
}

impl Statement {
    fn new(text: String, code: &str, fails: bool, language: &Language) -> Self {
        let tokens = tokens_of(&text);
        Statement {
            joined: tokens.concat().trim_end_matches(';').to_owned(),
            strength: strength_of(&tokens, &text),
            asserts: language.asserts.is_match(code),
            is_guard: GUARD.is_match(code),
            fails,
            speaks_of_errors: ERRORS.is_match(code),
            speaks_of_calls: CALLS.is_match(code),
            is_pattern: PATTERN.is_match(code),
            asks_for: asks_for_error(&text),
            anything: ANYTHING.find_iter(&text).count(),
            code: code.to_owned(),
            text,
            tokens,
        }
    }

    /// Whether it asks for less than `old`, as far as these two say it.
    fn is_weaker(&self, old: &Statement, language: &Language, sleeps: bool) -> bool {
        if reworded::says_as_much(&old.tokens, &self.tokens, &self.text) {
            return false;
        }
        self.waits_less(old)
            || slack::gives_time(&old.tokens, &self.tokens)
            || self.swallows(old)
            || self.takes_anything(old)
            || self.takes_any_error(old)
            || self.is_nearer(old, language)
            || self.is_looser_twin(old)
            || old.asserts && (self.takes_pattern(old) || self.searches_pattern(old))
            || self.measures(old)
            || self.asks_less(old)
            || old.asserts && slack::rounds_more(&old.tokens, &self.tokens)
            || self.is_guard && self.fails && old.is_guard && slack::guards_less(&old.tokens, &self.tokens)
            || tolerance::is_given(&old.tokens, &self.tokens) && self.shares_arguments(old)
            || self.is_slacker(old, sleeps)
    }

    /// What is between the tokens that both begin and end with: of `old`, of this one, and where it starts.
    fn changed<'s>(&'s self, old: &'s Statement) -> (&'s [String], &'s [String], usize) {
        let (old, new) = (&old.tokens, &self.tokens);
        let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let end = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        let end = end.min(old.len() - start).min(new.len() - start);
        (&old[start..old.len() - end], &new[start..new.len() - end], start)
    }

    /// What `old` has behind all that this one has.
    fn rest_of<'s>(&self, old: &'s Statement) -> &'s str {
        old.joined.strip_prefix(&self.joined).unwrap_or(&old.joined)
    }

    /// Whether the matcher at the end is gone, or an argument of one of errors or calls.
    fn is_shortened(&self, old: &Statement) -> bool {
        let bare = |tokens: &[String]| tokens.iter().rposition(|token| token != ";").map_or(0, |at| at + 1);
        let (own, was) = (&self.tokens[..bare(&self.tokens)], &old.tokens[..bare(&old.tokens)]);
        if self.asserts && own.len() > 2 && was.len() > own.len() && was.starts_with(own) {
            let links = matches!(was[own.len()].as_str(), "." | "->" | "to" | "?.");
            return links && own.last().is_some_and(|last| matches!(last.as_str(), ")" | "}"));
        }
        let (gone, put, start) = self.changed(old);
        let (Some(first), Some(last)) = (gone.first(), gone.last()) else { return false };
        let says = |token: &String| token.starts_with(['"', '\'', '/', '`']) || is_number(token) || is_word(token);
        let token = |at: usize| old.tokens.get(at).map_or("", String::as_str);
        let parts = [",", ".", "->"];
        let is_part = parts.contains(&first.as_str()) || parts.contains(&last.as_str());
        let is_whole =
            first == "(" && last == ")" || start > 0 && token(start - 1) == "(" && token(start + gone.len()) == ")";
        // How often it has to be there.
        let is_count = matches!(gone, [comma, name, equals, _] if comma == "," && matches!(name.as_str(), "count" | "times" | "exactly") && matches!(equals.as_str(), "=" | ":"));
        if put.is_empty() && old.asserts && is_count {
            return true;
        }
        // Whose method it is may go without saying.
        let orders = gone.iter().any(|token| token.to_ascii_lowercase().contains("order"));
        let is_receiver =
            !orders && last == "." && gone.len() <= 3 && gone.iter().filter(|token| is_word(token)).count() == 1;
        // `times(1)` is what is asked for without it.
        put.is_empty()
            && gone.iter().any(says)
            && (is_part || is_whole)
            && !is_receiver
            && (old.text.contains(".expect_") || !gone.join("").to_ascii_lowercase().contains("times(1)"))
            && (old.speaks_of_errors || is_part && (old.speaks_of_calls || old.is_pattern))
    }

    /// Whether the call that it is about has lost the same.
    fn loses_as_call(&self, old: &Statement, removed: &[&DiffLine<'_>], added: &[&DiffLine<'_>]) -> bool {
        old.speaks_of_calls && slack::is_lost_beside(self.changed(old).0, &old.text, removed, added)
    }

    /// The last of several things that `old` asked for at once, where this one asks for the others alone.
    fn clause_without(&self, old: &Statement) -> Option<String> {
        let (gone, put, _) = self.changed(old);
        let (and, clause) = gone.split_first()?;
        let denies = |text: &Statement| text.tokens.iter().any(|token| matches!(token.as_str(), "!" | "not"));
        let asks = old.asserts && self.asserts && !old.is_guard && !denies(old);
        let dropped = asks && put.is_empty() && matches!(and.as_str(), "and" | "&&");
        dropped.then(|| clause.concat().trim_end_matches(';').to_owned())
    }

    /// Whether it is as before, but isn't waited for.
    fn waits_less(&self, old: &Statement) -> bool {
        let was = match old.tokens.split_first() {
            Some((first, rest)) if matches!(first.as_str(), "await" | "return") => rest,
            _ => return false,
        };
        let own = self.tokens.iter().position(|token| !matches!(token.as_str(), "_" | "=" | "void")).unwrap_or(0);
        self.tokens[own..] == *was && AWAITED.is_match(&old.text)
    }

    /// Whether it is as before, and what fails in it is dropped.
    fn swallows(&self, old: &Statement) -> bool {
        let was = old.joined.strip_prefix("try").unwrap_or(&old.joined);
        self.joined.strip_prefix(was).is_some_and(|rest| SWALLOWS.is_match(rest))
    }

    /// Whether any argument will do where one was asked for, or any number of calls.
    fn takes_anything(&self, old: &Statement) -> bool {
        let (gone, put, _) = self.changed(old);
        let is_range = || {
            let put = put.join("");
            gone.len() == 1 && is_number(&gone[0]) && !gone[0].contains("..") && put.contains("..")
        };
        let blanks = |tokens: &[String]| tokens.iter().filter(|token| *token == "_").count();
        let fits = || {
            blanks(&self.tokens) > blanks(&old.tokens)
                && self.tokens.iter().all(|token| token == "_" || is_number(token) || old.tokens.contains(token))
        };
        if old.is_pattern && old.asserts && fits() {
            return true;
        }
        (self.speaks_of_calls || self.speaks_of_errors)
            && (old.speaks_of_calls || old.speaks_of_errors)
            && (is_range()
                || self.anything > old.anything
                    && (old.strength.is_none() || self.strength <= old.strength)
                    && (gone.len() < old.tokens.len() / 2 + 6 || put.len() < ANYTHING_TOKENS_MAX)
                    && put.len() < 24
                    && self.tokens.first() == old.tokens.first())
    }

    /// Whether any error will do, or any text of it.
    fn takes_any_error(&self, old: &Statement) -> bool {
        let (gone, put, _) = self.changed(old);
        // What equals the empty text is empty.
        let is_any_text = |tokens: &[String]| ANY_TEXT.contains(&tokens.join("").as_str());
        let equals = |text: &Statement| text.strength == Some(MatcherStrength::Exact) && !text.speaks_of_errors;
        if !gone.is_empty() && is_any_text(put) && !is_any_text(gone) && !equals(self) {
            return old.asserts || old.speaks_of_errors;
        }
        if old.asks_for.1 && !self.asks_for.1 && self.asks_for.0 {
            return self.shares_arguments(old);
        }
        let is_any = |token: &&String| ANY_ERROR.contains(&token.trim_start_matches('\\'));
        let named = |token: &&String| {
            is_word(token)
                && (token.ends_with("Exception") || token.ends_with("Error") || token.starts_with(char::is_uppercase))
        };
        self.speaks_of_errors
            && old.speaks_of_errors
            && put.iter().any(|token| is_any(&token))
            && !old.tokens.iter().any(|token| is_any(&token) && token != "Error" && token != "exception")
            && gone.iter().any(|token| named(&token) || token == "domain_error" || token.ends_with("_error"))
    }

    /// Whether it is as before, with a larger tolerance or fewer digits.
    fn is_nearer(&self, old: &Statement, language: &Language) -> bool {
        let (gone, put, start) = self.changed(old);
        let is_computed = || gone.len() == 1 && tolerance::is_sum_of_larger(gone, put);
        if gone.is_empty() || put.is_empty() || gone.len() > 3 || put.len() > 3 && !is_computed() {
            return false;
        }
        if !tolerance::is_tolerance(&old.tokens, &old.text, start) {
            return false;
        }
        let in_digits = tolerance::is_in_digits(&old.text, &old.code, gone, language);
        tolerance::is_larger(gone, put, in_digits) || put.len() > 3 && !in_digits
    }

    /// Whether a pattern that a part of the text fits is asked for in the place of the text.
    fn takes_pattern(&self, old: &Statement) -> bool {
        let (gone, put, _) = self.changed(old);
        // Flags may be behind it.
        let ([text], [pattern] | [pattern, _]) = (gone, put) else { return false };
        let quoted = |text: &String| text.starts_with(['"', '\'']);
        let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
        let inside = pattern.strip_prefix('/').and_then(|rest| rest.rsplit_once('/')).map(|(inside, _)| inside);
        let is_free = |inside: &str| !inside.starts_with('^') && !letters(inside).is_empty();
        quoted(text) && inside.is_some_and(|inside| is_free(inside) && letters(text).contains(&letters(inside)))
    }

    /// The same where a function searches for the pattern: `re.search("a.*c", text)` for `"a b c" in text`.
    fn searches_pattern(&self, old: &Statement) -> bool {
        let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
        let quoted = |text: &'_ Statement| -> Vec<String> {
            text.tokens.iter().filter(|token| token.starts_with(['"', '\''])).cloned().collect()
        };
        let is_free = |pattern: &String| [".*", ".+", "[^"].iter().any(|any| pattern.contains(any));
        let texts = quoted(old);
        // What is between two of its wildcards is in the text, in that order.
        let has_parts = |text: &str, pattern: &String| {
            let mut rest = text;
            pattern.split(".*").flat_map(|part| part.split(".+")).all(|part| {
                let after = rest.split_once(&letters(part)).map(|(_, after)| after);
                rest = after.unwrap_or(rest);
                after.is_some()
            })
        };
        let fits = |pattern: &String| {
            letters(pattern).len() >= LETTERS_MIN && texts.iter().any(|text| has_parts(&letters(text), pattern))
        };
        old.asserts
            && SEARCHES.is_match(&self.text)
            && !SEARCHES.is_match(&old.text)
            && quoted(self).iter().any(|pattern| is_free(pattern) && fits(pattern))
    }

    /// Whether it has the looser of two matchers that take the same.
    fn is_looser_twin(&self, old: &Statement) -> bool {
        let (gone, put, _) = self.changed(old);
        let (Some(was), Some(is)) = (gone.first(), put.first()) else { return false };
        // A framework's warning fails nothing.
        let warns =
            |word: &str| word.starts_with("WARN") || word.starts_with("BOOST_WARN") || word.ends_with("_NOFAIL");
        let names_warning = gone.len() == put.len() && put.len() <= 3 && (warns(is) || is == "Warn") && !warns(was);
        let asks = old.asserts || old.speaks_of_calls || old.speaks_of_errors;
        // What else is changed are its arguments.
        let called = |tokens: &[String]| -> Option<String> {
            let at = tokens.windows(2).position(|pair| is_word(&pair[0]) && pair[1] == "(")?;
            Some(tokens[at].clone())
        };
        let is_looser_call = || called(gone).zip(called(put)).is_some_and(|(was, is)| slack::is_looser(&was, &is));
        asks && (names_warning && old.asserts || slack::is_looser(was, is) || is_looser_call())
    }

    /// Whether it asks how much there is of what was asked for.
    fn measures(&self, old: &Statement) -> bool {
        let is_measure = |token: &String| MEASURES.contains(&token.as_str()) || COUNTS.is_match(token);
        let known = |token: &String| {
            !is_word(token)
                || is_measure(token)
                || old.tokens.contains(token)
                || token.starts_with("assert")
                || matches!(token.as_str(), "equal" | "toBe" | "toEqual" | "to" | "be" | "eq")
        };
        if self.is_guard && old.is_guard {
            let has = |text: &Statement, word: &str| text.tokens.iter().any(|token| token == word);
            return has(old, "DeepEqual") && has(self, "len") && !has(old, "len");
        }
        self.asserts
            && old.strength == Some(MatcherStrength::Exact)
            && !says_plainly(&old.tokens, &old.text)
            && self.tokens.iter().any(is_measure)
            && !old.tokens.iter().any(is_measure)
            && !self.is_guard
            && self.tokens.iter().all(known)
            && self.tokens.iter().any(|token| is_word(token) && !is_measure(token) && !token.starts_with("assert"))
    }

    /// Whether its matcher says less.
    fn asks_less(&self, old: &Statement) -> bool {
        if self.is_guard || old.is_guard {
            return false;
        }
        let (Some(was), Some(is)) = (old.strength, self.strength) else { return false };
        is < was && (old.speaks_of_calls || !says_plainly(&old.tokens, &old.text) || slack::puts_in_order(&self.tokens))
    }

    /// Whether most of its names and values are in `old`, too.
    fn shares_arguments(&self, old: &Statement) -> bool {
        // What a shell compares comes first.
        let compared = |text: &Statement| text.tokens.iter().find(|token| *token != "[").cloned();
        if self.tokens.first().is_some_and(|first| first == "[") {
            return compared(self) == compared(old);
        }
        let count = |text: &Statement| text.tokens.iter().filter(says_something).count();
        let shared = self.shared_words(old);
        shared > 0 && 2 * shared >= count(old).min(count(self))
    }

    /// How many of its names and values are in `old`, too. An index is no value.
    fn shared_words(&self, old: &Statement) -> usize {
        let indexes = |at: usize| {
            let [.., of, bracket] = &self.tokens[..at] else { return false };
            bracket == "[" && (is_word(of) || of == "]") && is_number(&self.tokens[at])
        };
        let words = self.tokens.iter().enumerate().filter(|(at, token)| says_something(token) && !indexes(*at));
        words.filter(|(_, token)| old.tokens.contains(token)).count()
    }

    /// Whether it asks for the same with less care.
    fn is_slacker(&self, old: &Statement, sleeps: bool) -> bool {
        let (gone, put, start) = self.changed(old);
        let alone = gone.len() == 1 && put.len() == 1;
        let pair = gone.first().zip(put.first());
        let is_bound = || pair.is_some_and(|(was, is)| slack::is_bound_of(was, is)) && self.shares_arguments(old);
        let renamed = || alone && pair.is_some_and(|(was, is)| slack::is_laxer_name(was, is));
        let asks = |text: &Statement| text.asserts || text.speaks_of_calls;
        asks(old) && slack::drops_order(&old.tokens, &self.tokens)
            || asks(old) && !sleeps && slack::waits_longer(&old.text, &self.text)
            || old.asserts && is_bound()
            || old.asserts && reworded::normalizes(&old.tokens, &self.tokens)
            || old.asserts && slack::takes_part(&old.tokens, &self.tokens)
            || old.asserts && slack::becomes_anything(&old.tokens, &self.tokens)
            || old.asserts && slack::expects_part(&old.tokens, &self.tokens)
            || old.asserts && !self.is_guard && slack::becomes_bound(&old.tokens, &self.tokens)
            || alone && !self.is_declared(start) && pair.is_some_and(|(was, is)| slack::is_base_error(was, is))
            || old.asserts
                && alone
                && pair.is_some_and(|(was, is)| slack::loses_anchor(was, is) || slack::makes_optional(was, is))
            || put == [".", "."] && !gone.is_empty()
            || put.is_empty() && slack::drops_value(&old.tokens, gone, start)
            || renamed()
    }

    /// Whether a token says what a function may throw, which asks nothing of it.
    fn is_declared(&self, token: usize) -> bool {
        token.checked_sub(1).is_some_and(|before| self.tokens[before] == "throws")
    }
}
