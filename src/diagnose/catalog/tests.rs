use super::*;
use crate::base::tree::NoTree;
use crate::diagnose::definition::{ExpectText, FileText, TestText};
use crate::diagnose::{Category, Diagnosis, Input, Item, diagnose};
use crate::run::Ended;

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
                if let Err(error) = check(test) {
                    failures.push(format!("{name}.toml, {}: {error}\n{}", tool.name, test.input));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n----\n"));
}

fn check(test: &TestText) -> Result<(), String> {
    let diagnosis = diagnose(&Input {
        output: test.input.as_bytes(),
        command: "",
        tool: test.tool.as_deref(),
        kind: None,
        ended: Ended::Exit(test.exit.unwrap_or(1)),
        dir: "",
        root: "/home/dev/project",
        tree: &NoTree,
        baseline: None,
    });
    let Diagnosis { items, lines, category, files, .. } = &diagnosis;
    if items.len() != test.expect.len() || items.iter().zip(&test.expect).any(|(item, expect)| !fits(item, expect)) {
        return Err(format!("expected {:#?}\ngot {items:#?}", test.expect));
    }
    let fits_category = |want: Category| *category == Some(want);
    if test.category.is_some_and(|want| !fits_category(want)) {
        return Err(format!("category is {category:?}"));
    }
    if test.files.as_ref().is_some_and(|want| want != files) {
        return Err(format!("files are {files:?}"));
    }
    let short: Vec<(usize, usize)> = diagnosis.shortfalls.iter().map(|short| (short.said, short.found)).collect();
    if short != test.short {
        return Err(format!("of the tool's own count, (said, found) is {short:?}"));
    }
    let kept = lines.join("\n");
    match (test.keep.iter().find(|text| !kept.contains(*text)), test.drop.iter().find(|text| kept.contains(*text))) {
        (Some(text), _) => Err(format!("lost {text:?} from\n{kept}")),
        (_, Some(text)) => Err(format!("kept {text:?} in\n{kept}")),
        _ => Ok(()),
    }
}

fn fits(item: &Item, expect: &ExpectText) -> bool {
    let same = |want: &Option<String>, have: &Option<String>| want.is_none() || want == have;
    same(&expect.file, &item.file)
        && same(&expect.code, &item.code)
        && same(&expect.test, &item.test)
        && (expect.line.is_none() || expect.line == item.line)
        && (expect.col.is_none() || expect.col == item.col)
        && expect.severity.is_none_or(|severity| severity == item.severity)
        && expect.message.as_ref().is_none_or(|message| item.message.starts_with(message.as_str()))
}
