//! How much a statement's matchers ask for, and the tokens it is made of.

use std::sync::LazyLock;

use regex::Regex;

use super::lazy::compile_regex;

/// Speaks of an error that has to come.
pub(super) static ERRORS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(
        r"(?i)\b\w*(?:throw|raises?\b|raises?_|raising|should_panic|death\b|fails_?with|has_?error|expect_?(?:error|warning|message|exception)|expected_?exception)\w*|\brejects?(?:ed\w*)?\b|[(,]\s*expected\s*=|\.(?:isInstanceOf|hasMessage)\w*\(",
    )
    .expect("a regex")
});
/// Sets up or asks for a call.
pub(super) static CALLS: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(concat!(
        r"\bEXPECT_CALL\b|\bEXPECT\(\)|\.expect_\w+\(|\b(?:co)?[vV]erify\w*\s*[({]|\.(?:On|expects?|with|withArgs|times|Times|Once|once|exactly)\(|\bhave_received\b|\bexpect_value\b|\bEXPECT_THAT\b|\bexpectedCount\b",
        r"|(?i)\b\w*called\w*\b|\bassert\w*(?:sent|dispatched|pushed|calls?)\b|\breceived?\(|^\s*(?:\d+|\(.{1,12}\))\s*\*\s*\w"
    ))
    .expect("a regex")
});
/// Begins a function, or imports something.
pub(super) static DEFINES: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(r"^\s*(?:[@#\[].*\)\s*)?(?:\w+\s+)*(?:func|fn|def|function|class)\s+\w|^\s*(?:from|import|use)\s+\S")
        .expect("a regex")
});
/// Takes anything.
pub(super) static ANYTHING: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(concat!(
        r"\b(?:mock\.)?ANY\b|\bany(?:\w*)?\(\)|\bany[A-Z]\w*\(|\bany\(\w*(?:\.class)?\)|\bIt\.IsAny\b|\b(?:expect|jasmine)\.any(?:thing)?\(|\bmatch\.any\b|\bmock\.Anything\b|\bgomock\.Any\b",
        r"|::_\b|\bmatch\._|\*_|\balways\(\)|\banything\b|\bkind_of\(|\bArg\.Any\b|\bA<\w+>\._"
    ))
    .expect("a regex")
});
/// What a matcher asks for, each more than those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MatcherStrength {
    /// That there is something.
    Anything,
    /// A part, a bound, a kind.
    Part,
    /// One value.
    Exact,
}

/// Names of matchers, in lower case, without underscores and without what frameworks put in front of them (`assert`,
/// `toBe`, `should`).
const EXACT_WORDS: &str = "eq equal equalt equals eql equalto same sameas identical identicalto strictequal deepequal deepstrictequal \
    containsexactly containexactly containsexactlyinanyorder elementsare orderedequals jsoneq yamleq \
    jsonstringequalsjsonstring text url length lengthof len size count single findsnwidgets findsonewidget status \
    matchsnapshot matchinlinesnapshot matchfilesnapshot snapshot screenshot matchesgoldenfile deeply \
    elementsmatch matcharray equivalent equivalentto thesameelementsas thesameelementsinorderas \
    calledoncewith calledwith calledtimes calledonce lastcalledwith beencalledwith beencalledtimes \
    beencalledonce beencalledoncewith beenlastcalledwith beennthcalledwith calledoncewithexactly \
    calledwithexactly noviolations numberofcalls numqueries redirects jsonequal formerror times once exactly disabled class value hascalls calls withmessage \
    message empty null nil none undefined zero output line by";
const PART_WORDS: &str = "arrayhaskey isint isfloat isbool isnumeric iscallable isiterable isresource contain contains containing include includes match matches matching like substr hasitem item key \
    haskey subset oneof anyof greater greaterthan greaterequal gt ge gte less lessthan lessequal lt le \
    lte atleast atmost above below between greaterthanorequal lessthanorequal greaterthanorequalto \
    lessthanorequalto closeto near indelta instanceof instance type typeof kindof startswith endswith \
    hasprefix hassuffix partial anycall ispositive positive isnegative negative objectcontaining \
    arraycontaining stringcontaining stringmatching findsatleastnwidgets byatleast hassubstr satisfy has \
    containsstring containsstringignoringcase containsall hasitems hasentry hasproperty matchespattern matchesregex \
    hassizegreaterthan hassizelessthan hassizebetween startwith endwith \
    fullymatch beginwith in isin isarray isobject isstring isnumber isboolean json messagecontaining messagematching errormatches regexp almostequal almostequals approximately approx isclose inepsilon allclose";
const ANYTHING_WORDS: &str = "notnull nonnull notnil notempty isnotempty notblank notzero zeronot notequal notequals notequalto ne \
    notundefined exist exists truthy defined some issome iserr isjust ok visible inthedocument present pass \
    called beencalled findswidgets anynumber maybe atleastonce successful isnotnull isnotnil notstrictequal \
    nothrow true just any anytimes nofail warn warneq warnunless notbe \
    false";
/// What frameworks put in front of them.
const STARTS: [&str; 21] = [
    "assert",
    "expect",
    "require",
    "check",
    "boost",
    "ck",
    "cr",
    "xct",
    "should",
    "to",
    "be",
    "have",
    "has",
    "is",
    "are",
    "that",
    "int",
    "str",
    "ptr",
    "collection",
    "cmp",
];
/// How words of matchers begin that are no calls: `a should equal b`, `assertEquals 1 "$a"`.
const NAMED: [&str; 16] = [
    "assert", "Assert", "expect", "should", "cmp_ok", "is_", "be_", "to", "have", "match", "CHECK", "REQUIRE", "finds",
    "is", "exactly", "atLeast",
];
/// Assertions of what is true or not.
const BARE: [&str; 10] = [
    "assert",
    "BOOST_CHECK",
    "BOOST_REQUIRE",
    "REQUIRE",
    "CHECK",
    "EXPECT_TRUE",
    "ASSERT_TRUE",
    "assertTrue",
    "assert_true",
    "ok",
];
/// Functions that compare their arguments.
const COMPARING: [&str; 16] = [
    "assert_eq",
    "assertEqual",
    "assertEquals",
    "assertSame",
    "assertStrictEqual",
    "assert_equal",
    "assert_same",
    "strictEqual",
    "deepEqual",
    "deepStrictEqual",
    "AreEqual",
    "AreSame",
    "EXPECT_EQ",
    "ASSERT_EQ",
    "XCTAssertEqual",
    "same",
];
/// Values that other matchers name: `assertEqual(x, None)` is `assertIsNone(x)`.
const PLAIN: [&str; 11] =
    ["true", "false", "True", "False", "None", "null", "nil", "undefined", "NULL", "nullptr", "0"];
/// Calls with a place as their argument.
const PLACES: [&str; 9] = ["get", "at", "first", "nth", "charAt", "elementAt", "item", "eq", "Return"];

/// A matcher of errors that leaves the kind open.
static SOME_ERROR: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(concat!(
        r"\b(?:\w+_ANY_THROW|\w+_THROWS|HaveOccurred|shouldThrowAny|assertFails|dies_ok|anyException|isError|raise_error|assert_raise|assert_raises|intercept)\b\s*(?:$|[({;,)\[])",
        r"|\bThrows\.Exception\b|\.is_err\(\)|\brequire\.Error\(|\bassert\.Error\(|\berr\s*==\s*nil\b|\bthrown\?"
    ))
    .expect("a regex")
});
/// One that says which.
static THIS_ERROR: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(concat!(
        r"\b(?:(?:EXPECT|ASSERT|CHECK|REQUIRE)_THROW|\w+_THROWS_AS|\w+_THROWS_WITH\w*|MatchError|shouldThrow|assertFailsWith|throws_ok|expectError|assert_raise_message|interceptMessage)\b",
        r"|\bThrows\.(?:TypeOf|InstanceOf)\b|\b(?:require|assert)\.(?:ErrorIs|ErrorAs|EqualError|ErrorContains)\(|!errors\.(?:Is|As)\(|\bthrown-with-msg\?|\braise_error\(\s*\w|\bassert_raises?\(\s*\w|\bassert_eq!.*\b(?:unwrap_err\(\)|Err\()|\b(?:assert_)?matches!\(.*\bErr\("
    ))
    .expect("a regex")
});

/// Whether a statement asks for any error, and whether it asks for a certain one.
pub(super) fn asks_for_error(text: &str) -> (bool, bool) {
    (SOME_ERROR.is_match(text), THIS_ERROR.is_match(text))
}

/// How much the matchers of a statement ask for: as little as the least of them. `None` where it has none.
pub(super) fn strength_of(tokens: &[String], text: &str) -> Option<MatcherStrength> {
    use MatcherStrength::{Anything, Exact, Part};
    let token = |at: usize| tokens.get(at).map_or("", String::as_str);
    let before = |at: usize| at.checked_sub(1).map_or("", token);
    if token(0) == "[" {
        return shell_strength(tokens);
    }
    // Erlang's takes a pattern, which may well be one value.
    if text.contains("?assertMatch") {
        return Some(if tokens.iter().any(|token| token == "_") { Part } else { Exact });
    }
    if compares_arguments(tokens) {
        return Some(Exact);
    }
    let comparisons = ["==", "!=", "===", "!==", "=", "<", ">", "<=", ">=", "in", "is", "not", "=~"];
    let compares = tokens.iter().any(|token| comparisons.contains(&token.as_str()));
    let mut found = Vec::new();
    for (at, sign) in tokens.iter().enumerate() {
        let sign = sign.as_str();
        // `mock.ANY` is an argument.
        if is_word(sign) && sign != "ANY" && !is_membership(tokens, at) {
            let next = token(at + 1);
            let is_called = matches!(next, "(" | "!" | "<" | "{" | "=" | "[");
            let is_chained = matches!(before(at), "." | "->" | "::" | "-" | "to" | "not_to" | "to_not");
            let of_list = text.starts_with('(') && before(at) == "(";
            // What is true says the comparison in it.
            let is_truth =
                compares && matches!(sign, "True" | "IsTrue" | "assertTrue" | "assert_true" | "isTrue" | "ok");
            // `Ok(3)` is a value.
            let is_value = matches!(sign, "Ok" | "Err" | "Some") && !is_chained;
            // `HTTPStatus.OK` is a value.
            let is_constant =
                before(at) == "." && next != "(" && sign.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            // `ok.Value` is one, too.
            let is_owner = at == 0 && sign == "ok" && matches!(next, "." | "?" | "->" | "[");
            if is_truth || is_value || is_owner || is_constant {
                continue;
            }
            // Jest and others put the arguments of the call there, Sinon the function that is called.
            let of_sinon = sign == "called" && at > 1 && token(at - 2) == "assert";
            if sign == "called" && next == "(" && token(at + 2) != ")" && !of_sinon {
                found.push(Exact);
            } else if is_called || is_chained || of_list || at == 0 || NAMED.iter().any(|start| sign.starts_with(start))
            {
                found.extend(word_strength(sign));
            }
            continue;
        }
        let quoted = sign.len() > 1 && sign.starts_with(['\'', '"']);
        found.extend(match sign {
            "==" | "===" => Some(Exact),
            "=" if of_lisp(text) && before(at) == "(" => Some(Exact),
            "!=" | "!==" => Some(Anything),
            ">=" | "<=" | "in" => Some(Part),
            ">" | "<" if before(at) == "be" || token(at + 1) == "0" => Some(Part),
            _ if quoted && text.contains(".should(") && before(at) == "(" => {
                sign.trim_matches(['\'', '"']).split('.').filter_map(word_strength).min()
            }
            _ if quoted && text.contains("cmp_ok") => match sign.trim_matches(['\'', '"']) {
                "==" | "eq" => Some(Exact),
                ">" | "<" | ">=" | "<=" | "gt" | "lt" | "ge" | "le" => Some(Part),
                "!=" | "ne" => Some(Anything),
                _ => None,
            },
            _ => None,
        });
    }
    // `expect(x, y)` compares, where the second argument is no matcher.
    let is_whole = || text.contains(',') && !text.contains(").");
    if found.is_empty() && token(0) == "expect" && token(1) == "(" && !compares && is_whole() {
        return Some(Exact);
    }
    let Some(least) = found.into_iter().min() else {
        // What a function with a name of its own asks for isn't known.
        let asks_own = tokens.iter().any(|token| token.starts_with(['"', '`']) || is_number(token));
        return (!compares && !asks_own && BARE.contains(&token(0))).then_some(Anything);
    };
    Some(if is_negated(tokens, text) { Anything } else { least })
}

/// Whether a word asks whether something is one of several, and is of no loop.
fn is_membership(tokens: &[String], at: usize) -> bool {
    tokens[at] == "in" && tokens[0] == "assert" && !tokens[..at].iter().any(|token| token == "for")
}

/// The same of a shell's test.
fn shell_strength(tokens: &[String]) -> Option<MatcherStrength> {
    use MatcherStrength::{Anything, Exact, Part};
    let is_pattern = tokens.iter().any(|token| token == "*");
    let before = |at: usize| at.checked_sub(1).map_or("", |at| tokens[at].as_str());
    tokens.iter().enumerate().find_map(|(at, sign)| match (before(at), sign.as_str()) {
        (_, "=" | "==") if is_pattern => Some(Part),
        (_, "=" | "==") | ("-", "eq") => Some(Exact),
        (_, "=~") | ("-", "gt" | "ge" | "lt" | "le") => Some(Part),
        (_, "!=") | ("-", "n" | "ne") => Some(Anything),
        _ => None,
    })
}

/// Whether a statement is one call that compares its arguments, `assert_eq!(a, b)`, whatever these call: their names
/// are those of the program. One of what is true or false compares what the names in it say.
fn compares_arguments(tokens: &[String]) -> bool {
    let token = |at: usize| tokens.get(at).map_or("", String::as_str);
    let Some(open) = tokens.iter().position(|token| token == "(") else { return false };
    let name = if open > 1 && token(open - 1) == "!" { open - 2 } else { open.wrapping_sub(1) };
    let is_path =
        tokens[..open].iter().all(|token| is_word(token) || matches!(token.as_str(), "." | "::" | "->" | "!"));
    let (mut depth, mut end) = (0_usize, None);
    for (at, sign) in tokens.iter().enumerate().skip(open) {
        match sign.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "true" | "false" | "True" | "False" if depth == 1 => return false,
            "approx" | "ANY" | "anything" | "closeTo" | "isclose" | "allclose" => return false,
            _ => {}
        }
        if depth == 0 {
            end = Some(at);
            break;
        }
    }
    is_path
        && COMPARING.contains(&token(name))
        && end.is_some_and(|end| tokens[end + 1..].iter().all(|token| matches!(token.as_str(), ";" | "?" | ",")))
}

fn of_lisp(text: &str) -> bool {
    text.trim_start().starts_with('(')
}

/// `not.toBe`, `ShouldNot(…)`, `assert!(!…)`: all but one answer is right.
fn is_negated(tokens: &[String], text: &str) -> bool {
    // Rust's `assert!(` denies nothing.
    let of_macro = tokens.get(2).is_some_and(|token| token == "(");
    let words = tokens.windows(2).any(|pair| {
        let denies = pair[1] == "!" && (pair[0] == "(" || pair[0] == "assert" && !of_macro);
        matches!(pair[0].as_str(), "not" | "Not" | "to_not" | "not_to") || denies
    });
    words
        || text.contains("ShouldNot(")
        || text.contains("refute")
        || text.contains("_FALSE(")
        || text.contains("assertFalse(")
}

fn word_strength(word: &str) -> Option<MatcherStrength> {
    // Of C#'s FluentAssertions; elsewhere it leads to what is asked for.
    if word == "Be" {
        return Some(MatcherStrength::Exact);
    }
    let mut word: String = word.chars().filter(|c| *c != '_').collect::<String>().to_ascii_lowercase();
    if matches!(word.as_str(), "tobe" | "shouldbe") {
        return Some(MatcherStrength::Exact);
    }
    loop {
        if word == "is" {
            return Some(MatcherStrength::Exact);
        }
        for (words, strength) in [
            (EXACT_WORDS, MatcherStrength::Exact),
            (PART_WORDS, MatcherStrength::Part),
            (ANYTHING_WORDS, MatcherStrength::Anything),
        ] {
            if words.split(' ').any(|known| known == word) {
                return Some(strength);
            }
        }
        // `assertListEqual`, `assert_frame_equal`.
        let hedges = ["not", "almost", "near", "approx", "less", "greater", "close"];
        if (word.ends_with("equal") || word.ends_with("equals")) && !hedges.iter().any(|hedge| word.contains(hedge)) {
            return Some(MatcherStrength::Exact);
        }
        if let Some(rest) = word.strip_prefix("not") {
            return word_strength(rest).map(|_| MatcherStrength::Anything);
        }
        word = STARTS.iter().find_map(|start| word.strip_prefix(start)).filter(|rest| rest.len() > 1)?.to_owned();
    }
}

/// Whether what a statement asks for is true, false, nothing or empty: other words say the same.
pub(super) fn says_plainly(tokens: &[String], text: &str) -> bool {
    let token = |at: usize| tokens.get(at).map_or("", String::as_str);
    // The last token of a value that is plain.
    let plain_end = |at: usize| match (token(at), token(at + 1)) {
        ("[", "]") | ("{", "}") => Some(at + 1),
        ("\"\"" | "''", _) => Some(at),
        (word, _) if PLAIN.contains(&word) => Some(at),
        _ => None,
    };
    let is_asked = |at: usize| match token(at - 1) {
        "(" => at < 2 || asks(token(at - 2)),
        "," => asks(&callee(tokens, at).0),
        before => matches!(before, "=" | "==" | "===" | "is" | "be" | "eq" | "equal" | "shouldBe"),
    };
    let is_plain = |at: usize| {
        let closes = |end: usize| matches!(token(end + 1), ")" | "," | ";" | "");
        plain_end(at).is_some_and(closes) && is_asked(at)
    };
    // `assert!(x.is_none())`
    let names_plain = |pair: &[String]| {
        let name: String = pair[0].chars().filter(|c| *c != '_').collect::<String>().to_ascii_lowercase();
        pair[1] == "(" && matches!(name.as_str(), "isnone" | "isnull" | "isnil" | "isempty" | "isundefined")
    };
    if BARE.contains(&token(0)) && tokens.windows(2).any(names_plain) {
        return true;
    }
    // All that `Ok(())` says is that it is no error.
    (1..tokens.len()).any(is_plain) || ["Ok(())", ", ())"].iter().any(|unit| text.contains(unit))
}

/// Whether a call of this name compares its arguments with something: an assertion, a macro, a matcher.
fn asks(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    name == "!" || STARTS[..8].iter().any(|start| lower.starts_with(start)) || {
        !PLACES.contains(&name) && word_strength(name).is_some()
    }
}

/// The name of the call that the token at `at` is an argument of, and the how many-th argument.
pub(super) fn callee(tokens: &[String], at: usize) -> (String, usize) {
    let (mut depth, mut commas) = (0_usize, 0);
    for position in (0..at.min(tokens.len())).rev() {
        match tokens[position].as_str() {
            ")" | "]" | "}" => depth += 1,
            "(" if depth == 0 => {
                let name = position.checked_sub(1).map_or(String::new(), |at| tokens[at].clone());
                return (name, commas);
            }
            // A list is one argument.
            "[" | "{" if depth == 0 => commas = 0,
            "(" | "[" | "{" => depth = depth.saturating_sub(1),
            "," if depth == 0 => commas += 1,
            _ => {}
        }
    }
    (tokens.first().cloned().unwrap_or_default(), commas)
}

/// Whether a token is a name or a value, and not how an assertion is called.
pub(super) fn says_something(token: &&String) -> bool {
    (is_word(token) || is_number(token) || token.starts_with(['"', '\'']))
        && !token.to_lowercase().starts_with("assert")
}

/// Names, numbers, strings and signs, in their order. A sign of two or three characters is one.
pub(super) fn tokens_of(text: &str) -> Vec<String> {
    static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
        compile_regex(concat!(
            r#""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|/(?:[^/\\\s]|\\.)+/|[A-Za-z_$@][A-Za-z0-9_$]*|[0-9](?:[eE][+-]?[0-9]|[A-Za-z0-9_.])*"#,
            r"|===|!==|==|!=|>=|<=|=~|->|=>|::|&&|\|\||[^\s]"
        ))
        .expect("a regex")
    });
    let spelling = |token: &str| match token {
        "toThrowError" => "toThrow".to_owned(),
        // Which quotes a text has is a matter of style.
        _ if token.len() > 1 && token.starts_with('\'') && token.ends_with('\'') && !token.contains('"') => {
            token.replace('\'', "\"")
        }
        // An operator by its name: `a `shouldBe` b`.
        _ if token.len() > 2 && token.starts_with('`') && is_word(&token[1..]) && !token.contains(' ') => {
            token.trim_matches('`').to_owned()
        }
        _ => token.to_owned(),
    };
    TOKEN.find_iter(text).map(|token| spelling(token.as_str())).collect()
}

pub(super) fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '@'))
}

pub(super) fn is_number(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit())
}

/// A number as source code writes it: `1_000`, `0.5f`, `99.9m`, `1e-6`.
pub(super) fn number_of(text: &str) -> Option<f64> {
    text.replace('_', "").trim_end_matches(['f', 'F', 'm', 'M', 'd', 'D', 'L', 'u']).parse().ok()
}
