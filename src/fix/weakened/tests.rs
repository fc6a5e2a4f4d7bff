//! Every rule's own examples, the rules of rules, and what no input may do.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::*;
use crate::fix::weakened::lazy::compile_regex;
use crate::fix::weakened::rule::{RuleFileText, RuleKind, WRITTEN, WeakenedRuleText};

fn all_rules() -> Vec<(&'static str, WeakenedRuleText)> {
    let read = |&(name, text): &(&'static str, &'static str)| {
        let file: RuleFileText = toml::from_str(text).unwrap_or_else(|error| panic!("{name}.toml: {error}"));
        file.rules.into_iter().map(move |rule| (name, rule))
    };
    WRITTEN.iter().flat_map(read).collect()
}

/// The file that a rule's examples are in.
fn path(rule: &WeakenedRuleText) -> &str {
    let by_language = |language: &str| match language {
        "javascript" => "src/a.ts",
        "python" => "src/a.py",
        "rust" => "src/a.rs",
        "go" => "a.go",
        "ruby" => "lib/a.rb",
        "php" => "src/A.php",
        "lua" => "src/a.lua",
        "shell" => "scripts/a.sh",
        "elixir" => "lib/a.ex",
        "swift" => "Sources/A.swift",
        "dart" => "lib/a.dart",
        other => panic!("{}: say the path of the examples ({other})", rule.id),
    };
    rule.path.as_deref().unwrap_or_else(|| by_language(rule.languages.first().map_or("none", String::as_str)))
}

/// A whole diff from what an example has: lines with their signs, or a whole one already.
fn diff(path: &str, example: &str) -> String {
    let body = example.strip_prefix('\n').unwrap_or(example);
    if body.starts_with("diff --git ") {
        return numbered(body);
    }
    let name = format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n");
    format!("{name}{}{body}", header(body))
}

fn header(body: &str) -> String {
    let count = |signs: [char; 2]| body.lines().filter(|line| line.is_empty() || line.starts_with(signs)).count();
    format!("@@ -1,{} +1,{} @@\n", count([' ', '-']), count([' ', '+']))
}

/// The same with the counts in the hunks' headers as they are: no one counts lines by hand.
fn numbered(diff: &str) -> String {
    let mut out = String::new();
    let mut lines = diff.lines().peekable();
    while let Some(line) = lines.next() {
        if !line.starts_with("@@ ") {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let mut body = String::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("@@ ") && !line.starts_with("diff --git ")) {
            let _ = writeln!(body, "{line}");
        }
        out.push_str(&header(&body));
        out.push_str(&body);
    }
    out
}

fn added(path: &str, lines: &str) -> String {
    // Text above and below, so that the lines are added to something.
    let context = if path.ends_with(".md") { " text\n" } else { " \n" };
    let body: String = lines.lines().map(|line| format!("+{line}\n")).collect();
    diff(path, &format!("{context}{body}{context}"))
}

fn marks(diff: &str) -> Vec<WeakenedCheck> {
    detect(&Patch::parse(diff.as_bytes()), None).marks
}

#[test]
fn every_rule_finds_its_examples_and_no_rule_what_is_none() {
    let mut failures = Vec::new();
    for (file, rule) in all_rules() {
        let path = path_or_none(&rule);
        let wanted =
            rule.add.iter().map(|lines| added(path, lines)).chain(rule.marked.iter().map(|body| diff(path, body)));
        for diff in wanted {
            let marks = marks(&diff);
            let rules: Vec<&str> = marks.iter().map(|mark| mark.rule.as_str()).collect();
            if rules.is_empty() || rules.iter().any(|found| *found != rule.id) {
                failures.push(format!("{file}.toml, {}: found {rules:?} in\n{diff}", rule.id));
            }
        }
        let unwanted =
            rule.keep.iter().map(|lines| added(path, lines)).chain(rule.clean.iter().map(|body| diff(path, body)));
        for diff in unwanted {
            let marks = marks(&diff);
            if !marks.is_empty() {
                failures.push(format!("{file}.toml, {}: found {marks:#?} where nothing is:\n{diff}", rule.id));
            }
        }
    }
    assert!(failures.is_empty(), "{} examples:\n{}", failures.len(), failures.join("\n----\n"));
}

fn path_or_none(rule: &WeakenedRuleText) -> &str {
    let whole = |example: &String| example.trim_start().starts_with("diff --git ");
    let none = rule.add.is_empty() && rule.keep.is_empty();
    if rule.path.is_none() && none && rule.marked.iter().chain(&rule.clean).all(whole) { "" } else { path(rule) }
}

#[test]
fn every_rule_compiles_and_keeps_the_rules_of_rules() {
    let mut kept: BTreeMap<String, usize> = BTreeMap::new();
    let mut ids = Vec::new();
    for (file, rule) in all_rules() {
        let place = format!("{file}.toml, {}", rule.id);
        for source in [
            &rule.regex,
            &rule.before,
            &rule.unless,
            &rule.under,
            &rule.not_under,
            &rule.along,
            &rule.below,
            &rule.not_below,
            &rule.replaced_by,
            &rule.units_like,
            &rule.units_unlike,
            &rule.around,
            &rule.not_around,
        ]
        .into_iter()
        .flatten()
        {
            compile_regex(source).unwrap_or_else(|error| panic!("{place}: {error}"));
        }
        for glob in &rule.files {
            assert!(*glob == glob.to_lowercase(), "{place}: {glob} is not in lower case");
        }
        assert!(!ids.contains(&rule.id), "{place}: twice");
        let structure = rule.kind == RuleKind::Structure;
        assert!(rule.needs.is_none() || !structure, "{place}: `needs` goes with a regex");
        let literals = rule.needs.iter().flat_map(|needs| needs.as_slice());
        for literal in literals.filter(|literal| literal.len() == 1) {
            let common = literal.contains(|c: char| c.is_ascii_alphabetic() || " /.:=\"'".contains(c));
            assert!(!common, "{place}: {literal:?} is in every line; without `needs` each is looked at");
        }
        assert_eq!(rule.regex.is_none(), structure, "{place}: a rule without a regex needs code that looks");
        assert!(structure || !(rule.languages.is_empty() && rule.files.is_empty()), "{place}: looks everywhere");
        assert_eq!(rule.before.is_some(), rule.kind == RuleKind::Replaced, "{place}: `before` goes with `replaced`");
        for name in &rule.languages {
            assert!(
                include_str!("languages.toml").contains(&format!("name = \"{name}\"")),
                "{place}: no language {name}"
            );
        }
        let tested = rule.id == "fewer-tests" || !(rule.add.is_empty() && rule.marked.is_empty());
        let refuted = rule.id == "fewer-tests"
            || rule.id == "snapshot-deleted"
            || !(rule.keep.is_empty() && rule.clean.is_empty());
        assert!(tested && refuted, "{place}: needs an example that it finds and one that it doesn't");
        *kept.entry(rule.family.clone()).or_default() += rule.keep.len() + rule.clean.len();
        ids.push(rule.id);
    }
    for (family, count) in kept {
        assert!(count >= 3, "{family}: {count} examples of what is none");
    }
}

#[test]
fn a_literal_is_in_every_line_that_its_rule_finds() {
    for (file, rule) in all_rules() {
        let Some(needs) = &rule.needs else { continue };
        let regex = compile_regex(rule.regex.as_deref().expect("a regex")).expect("it compiles");
        let examples = rule.add.iter().flat_map(|lines| lines.lines());
        for line in examples.filter(|line| regex.is_match(line)) {
            let lower = line.to_lowercase();
            let there = needs.as_slice().iter().any(|literal| lower.contains(&literal.to_lowercase()));
            assert!(there, "{file}.toml, {}: no literal of `needs` is in {line:?}", rule.id);
        }
    }
}

#[test]
fn a_comment_that_begins_in_one_hunk_and_ends_in_another_is_around_what_the_second_shows() {
    let path = "src/test/java/CartTest.java";
    let hunks = "@@ -3,3 +3,4 @@\n         Cart cart = new Cart();\n+        /*\n         try {\n             cart.load();\n\
                 @@ -20,4 +21,5 @@\n         } catch (Exception e) {\n             fail(\"cannot load\");\n         }\n\
                 +        */\n     }\n";
    let marks = marks(&format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n{hunks}"));
    assert_eq!(marks.iter().map(|mark| mark.rule.as_str()).collect::<Vec<_>>(), ["assertion-commented-out"]);
    assert_eq!(marks[0].text, "fail(\"cannot load\");");
}

#[test]
fn a_mark_says_where_and_what() {
    let text = diff(
        "tests/test_cart.py",
        " import cart\n \n-def test_total():\n-    assert cart.total() == 3\n-\n def test_empty():\n",
    );
    let found = marks(&text);
    let [mark] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!((mark.place().as_str(), mark.deleted), ("tests/test_cart.py:3", true));
    assert_eq!((mark.rule.as_str(), mark.family.as_str()), ("test-deleted", "deleted-test"));
    assert_eq!(mark.message, "deletes the test `test_total`");
    assert_eq!(mark.severity, RuleSeverity::Certain);
    assert_eq!(mark.text, "def test_total():");
}

#[test]
fn a_marks_text_is_short_and_without_secrets_and_control_characters() {
    let line = format!("+password = \"hunter2hunter2\"; x = '\x1b[31m{}'  # noqa\n", "x".repeat(500));
    let found = marks(&diff("a.py", &format!(" \n{line}")));
    let [mark] = found.as_slice() else { panic!("{found:#?}") };
    assert!(!mark.text.contains("hunter2") && !mark.text.contains('\x1b') && mark.text.len() <= 200, "{}", mark.text);
}

#[test]
fn fewer_collected_tests_are_a_mark_of_their_own() {
    let detect = |before, after| detect(&Patch::default(), Some(TestCounts { before, after })).marks;
    assert_eq!(
        detect(41, 40).first().map(|mark| (mark.rule.as_str(), mark.text.as_str())),
        Some(("fewer-tests", "41 before, 40 after"))
    );
    assert!(detect(40, 40).is_empty() && detect(40, 41).is_empty());
    let skipped =
        Patch::parse(diff("tests/test_a.py", "+@pytest.mark.skip\n def test_a():\n     assert f()\n").as_bytes());
    let marks = super::detect(&skipped, Some(TestCounts { before: 2, after: 1 })).marks;
    assert_eq!(marks.len(), 1, "the line says why: {marks:#?}");
}

#[test]
fn a_pass_is_weakened_by_what_is_certain_or_explains_it_for_that_kind_of_check() {
    let weakens = |path: &str, body: &str, kind| {
        marks(&diff(path, body)).iter().any(|mark| mark.concerns(Some(kind)) && mark.decides())
    };
    let noqa = "-import os\n+import os  # noqa\n x\n";
    assert!(weakens("a.py", noqa, CheckKind::Lint) && !weakens("a.py", noqa, CheckKind::Test));
    assert!(!weakens("a.py", "+import os  # noqa\n", CheckKind::Lint), "new code was never stricter");
    let fitted = " def test_a():\n-    assert f() == 1\n+    assert f() == 2\n";
    assert!(weakens("tests/test_a.py", fitted, CheckKind::Test), "likely, and nothing else changed");
}

#[test]
fn many_marks_are_cut_and_counted() {
    let body: String = (0..300).map(|n| format!("+import m{n}  # noqa: F401\n")).collect();
    let findings = detect(&Patch::parse(diff("a.py", &format!(" \n{body}")).as_bytes()), None);
    assert_eq!((findings.marks.len(), findings.cut), (200, 100));
    assert!(
        findings.marks.iter().skip(1).all(|mark| mark.severity == RuleSeverity::Likely),
        "new code was never stricter"
    );
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn no_diff_makes_it_fail(
            lines in prop::collection::vec("[-+ ](def test_|it\\(|#\\[test\\]|\"\"\"|/\\*|\\*/|'|\"|`|\\{|\\}|é|<<EOF|assert |\\P{C}){0,6}", 0..40),
            path in "(src/a|tests/test_a|\\.github/a)\\.(py|ts|rs|go|sh|yml|toml|md|c|rb|pl)",
        ) {
            let body: String = lines.iter().map(|line| format!("{line}\n")).collect();
            marks(&diff(&path, &body));
        }

        #[test]
        fn no_mixture_of_what_rules_look_for_makes_it_fail(
            picks in prop::collection::vec((0_usize..10_000, 0_usize..3), 1..60),
            file in 0_usize..10_000,
        ) {
            let rules = all_rules();
            let examples = rules.iter().flat_map(|(_, rule)| [&rule.add, &rule.keep, &rule.marked, &rule.clean]).flatten();
            let lines: Vec<&str> = examples.flat_map(|example| example.lines()).filter(|line| !line.starts_with("@@")).collect();
            let paths: Vec<&str> = rules.iter().filter_map(|(_, rule)| rule.path.as_deref()).collect();
            let sign = |n: usize| [' ', '+', '-'][n];
            let line = |&(n, kind): &(usize, usize)| format!("{}{}\n", sign(kind), lines[n % lines.len()].trim_start_matches(['+', '-']));
            let body: String = picks.iter().map(line).collect();
            marks(&diff(paths[file % paths.len()], &body));
        }

        #[test]
        fn taking_weakenings_back_is_none(index in 0_usize..1000) {
            // What only adds suppressions, read backwards, only takes them away.
            let rules = all_rules();
            let adds: Vec<(&WeakenedRuleText, &String)> =
                rules.iter().filter(|(_, rule)| rule.kind == RuleKind::Added).flat_map(|(_, rule)| rule.add.iter().map(move |line| (rule, line))).collect();
            let (rule, lines) = adds[index % adds.len()];
            let forwards = added(path(rule), lines);
            let backwards: String = forwards.lines().map(|line| match line.strip_prefix('+') {
                Some(rest) if !line.starts_with("+++") => format!("-{rest}\n"),
                _ if line.starts_with("@@") => {
                    let mut parts = line.split(' ');
                    let (_, old, new) = (parts.next(), parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
                    format!("@@ -{} +{} @@\n", &new[1..], &old[1..])
                }
                _ => format!("{line}\n"),
            }).collect();
            prop_assert!(marks(&backwards).iter().all(|mark| mark.family != rule.family), "{backwards}");
        }
    }
}
