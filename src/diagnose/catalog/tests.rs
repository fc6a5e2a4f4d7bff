use super::*;
use crate::diagnose::definition::FileText;
use crate::diagnose::{Definitions, inline};

fn files() -> Vec<(&'static str, FileText)> {
    let read = |&(name, text): &(&'static str, &'static str)| {
        (name, definition::parse(text).unwrap_or_else(|error| panic!("{name}.toml: {error}")))
    };
    SHIPPED.iter().map(read).collect()
}

#[test]
fn every_shipped_rule_compiles_and_holds_the_rules_of_rules() {
    for (name, file) in files() {
        for tool in &file.tools {
            assert!(!tool.from.is_empty(), "{name}: {} does not say what it was written from", tool.name);
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
fn every_inline_test_holds() {
    let mut failures = Vec::new();
    for (name, file) in files() {
        for tool in &file.tools {
            for test in &tool.tests {
                if let Err(error) = inline::check(&Definitions::shipped(), test) {
                    failures.push(format!("{name}.toml, {}: {error}\n{}", tool.name, test.input));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n----\n"));
}
