use regex::bytes::RegexBuilder;

use super::*;
use crate::base::literals::LONG_TEXT_BYTES_MIN;
use crate::base::tree::EmptyTree;
use crate::config::CategoryTable;
use crate::diagnose::definition::DefinitionFileText;
use crate::diagnose::{DefinitionFile, DefinitionSet, DiagnosisInput, diagnose_output, inline};
use crate::run::CommandEnd;

fn files() -> Vec<(&'static str, DefinitionFileText)> {
    let read = |&(name, text): &(&'static str, &'static str)| {
        (name, definition::parse(text).unwrap_or_else(|error| panic!("{name}.toml: {error}")))
    };
    WRITTEN.iter().map(read).collect()
}

#[test]
fn every_shipped_rule_compiles_and_holds_the_rules_of_rules() {
    for (name, file) in files() {
        for tool in &file.tools {
            assert!(!tool.from.is_empty(), "{name}: {} does not say what it was written from", tool.name);
            let odd = tool.all_categories().find_map(|category| CategoryTable::default().refusal(category));
            assert_eq!(odd, None, "{name}: {}", tool.name);
            for rule in &tool.rules {
                let place = format!("{name}.toml, {}, {}", tool.name, rule.regex);
                for source in [Some(&rule.regex), rule.closing.as_ref()].into_iter().flatten() {
                    RegexBuilder::new(source).unicode(false).build().unwrap_or_else(|error| panic!("{place}: {error}"));
                    let letters = source.split('\\').skip(1).filter_map(|rest| rest.chars().next());
                    let classes = letters.filter(|letter| "dwsDWSpP".contains(*letter)).count();
                    assert_eq!(classes, 0, "{place}: write the class out, it means Unicode elsewhere");
                }
                assert!(!rule.needs.as_slice().is_empty(), "{place}: needs a literal");
                assert!(rule.needs.as_slice().iter().all(|literal| !literal.is_empty()), "{place}: an empty literal");
            }
        }
    }
}

#[test]
fn what_the_build_leaves_of_a_file_says_the_same() {
    assert_eq!(SHIPPED.len(), WRITTEN.len());
    for ((name, file), json) in files().into_iter().zip(SHIPPED) {
        let built: PackedFile<'_> = serde_json::from_str(json).unwrap_or_else(|error| panic!("{name}.json: {error}"));
        let built: Vec<_> = built.tools.into_iter().map(read_packed).collect();
        let untested = file.tools.into_iter().map(|tool| ToolText { tests: Vec::new(), ..tool });
        assert_eq!(format!("{built:?}"), format!("{:?}", untested.collect::<Vec<_>>()), "{name}.toml");
    }
}

/// Short, middling and long outputs are scanned by different automata.
#[test]
fn a_line_has_the_same_literals_however_long_the_output_is() {
    let catalog = shipped_catalog();
    let lines: Vec<String> = catalog.literals.iter().map(|literal| format!("a {literal} b")).collect();
    let found = |count: usize, line: &str| {
        let pieces = std::iter::repeat_n("x", count).chain([line]);
        let mut found = Vec::new();
        catalog
            .build_scanner(pieces.map(|piece| piece.as_bytes().into()))
            .scan_line(line.as_bytes(), |literal| found.push(literal));
        found.sort_unstable();
        found.dedup();
        found
    };
    for (literal, line) in lines.iter().enumerate().step_by(97) {
        let short = found(0, line);
        assert!(short.contains(&literal), "{line}");
        for more in [SHORT_BYTES_MAX, LONG_TEXT_BYTES_MIN] {
            assert_eq!(found(more, line), short, "{line}");
        }
    }
}

#[test]
fn every_inline_test_holds() {
    let mut failures = Vec::new();
    for (name, file) in files() {
        for tool in &file.tools {
            for test in &tool.tests {
                if let Err(error) = inline::check_example(&DefinitionSet::shipped_only(), test) {
                    failures.push(format!("{name}.toml, {}: {error}\n{}", tool.name, test.input));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n----\n"));
}

#[test]
fn a_first_byte_rules_out_nothing_that_a_rule_matches() {
    let files = files();
    let tools = files.iter().flat_map(|(_, file)| &file.tools);
    let lines: Vec<&str> = tools.clone().flat_map(|tool| &tool.tests).flat_map(|test| test.input.lines()).collect();
    let mut ruled_out = 0;
    for rule in tools.flat_map(|tool| &tool.rules) {
        let (first, regex) = (FirstBytes::of_regex(&rule.regex), compile_regex(&rule.regex).expect("is sound"));
        let without = lines.iter().map(|line| line.as_bytes()).filter(|line| !first.may_begin(line));
        ruled_out += without.clone().count();
        let wrong = without.clone().find(|line| regex.is_match(line));
        assert_eq!(wrong.map(String::from_utf8_lossy), None, "{}", rule.regex);
    }
    assert!(ruled_out > lines.len(), "{ruled_out}");
}

#[test]
fn only_what_may_match_is_compiled() {
    let own = DefinitionFile {
        file: "own.toml".into(),
        layer: 0,
        text: "[[tool]]\nname = \"own\"\n".into(),
        attached: Vec::new(),
    };
    let definitions = DefinitionSet::from_layers(&[own], &CategoryTable::default()).0;
    let catalog = definitions.catalog();
    let output = "> eslint .\n\n/home/dev/project/src/a.js\n  1:7  error  'x' is never used  no-unused-vars\n\n\
                  ✖ 1 problem (1 error, 0 warnings)\n";
    for passed in [true, false] {
        let compiled = || catalog.rules.iter().filter(|rule| rule.compiled_count() > 0);
        assert_eq!(compiled().count(), 0, "before a failed run's output was seen");
        let said = diagnose_output(&DiagnosisInput {
            output: output.as_bytes(),
            command: "npm run lint",
            tool: None,
            kind: None,
            ended: CommandEnd::Exit(if passed { 0 } else { 1 }),
            dir: "",
            root: "",
            tree: &EmptyTree,
            baseline: None,
            definitions: &definitions,
        });
        assert_eq!(said.items.len(), usize::from(!passed));
    }
    let total = catalog.rules.len();
    let compiled: Vec<&DefinitionRule> = catalog.rules.iter().filter(|rule| rule.compiled_count() > 0).collect();
    for rule in &compiled {
        let there =
            |line: &str| rule.rule_text().needs.as_slice().iter().any(|literal| line.contains(literal.as_str()));
        assert!(output.lines().any(there), "compiled for nothing: {}", rule.rule_text().regex);
    }
    assert!(compiled.iter().any(|rule| catalog.tools[rule.tool].name == "eslint"));
    assert!(compiled.len() * 20 < total, "{} of {total} rules compiled", compiled.len());
}
