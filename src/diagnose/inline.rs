//! The inline tests of definitions: an output and its expected findings.

use crate::base::tree::EmptyTree;
use crate::run::CommandEnd;

use super::definition::{ExpectText, TestText};
use super::{Category, DefinitionSet, Diagnosis, DiagnosisInput, Diagnostic, Severity, examine_output};

/// Where the project of an inline test is.
pub(super) const ROOT: &str = "/home/dev/project";

/// Runs one test with everything in `definitions` in force.
///
/// # Errors
/// What was expected and what was found, in words.
pub(super) fn check_example(definitions: &DefinitionSet, test: &TestText) -> Result<(), String> {
    let mut kept = String::new();
    let input = DiagnosisInput {
        output: test.input.as_bytes(),
        command: "",
        tool: test.tool.as_deref(),
        kind: None,
        ended: CommandEnd::Exit(test.exit.unwrap_or(1)),
        dir: "",
        root: ROOT,
        tree: &EmptyTree,
        baseline: None,
        definitions,
    };
    let diagnosis = examine_output(&input, Some(&mut kept));
    let Diagnosis { items, category, files, .. } = &diagnosis;
    if items.len() != test.expect.len()
        || items.iter().zip(&test.expect).any(|(item, expect)| !fits_expectation(item, expect))
    {
        let expected: Vec<String> = test.expect.iter().map(expected_text).collect();
        let got: Vec<String> = items.iter().map(diagnostic_text).collect();
        return Err(format!("expected {}, got {}", join_texts(&expected), join_texts(&got)));
    }
    if let Some(want) = test.category.as_ref().filter(|want| category.as_ref() != Some(*want)) {
        let got = category.as_ref().map_or("none", Category::as_str);
        return Err(format!("expected the category {}, got {got}", want.as_str()));
    }
    if let Some(want) = test.files.as_ref().filter(|want| *want != files) {
        return Err(format!("expected the files {want:?}, got {files:?}"));
    }
    let short: Vec<(usize, usize)> = diagnosis.shortfalls.iter().map(|short| (short.said, short.found)).collect();
    if short != test.short {
        return Err(format!("expected of the tool's own count (said, found) {:?}, got {short:?}", test.short));
    }
    // The budget for context is a share of the output, which an example has too little of.
    if let Some(text) = test.keep.iter().find(|text| !kept.contains(*text)) {
        return Err(format!("expected {text:?} among the kept lines, got {kept:?}"));
    }
    if let Some(text) = test.drop.iter().find(|text| kept.contains(*text)) {
        return Err(format!("expected no {text:?} among the kept lines, got {kept:?}"));
    }
    Ok(())
}

fn fits_expectation(item: &Diagnostic, expect: &ExpectText) -> bool {
    let same = |want: &Option<String>, have: &Option<String>| want.is_none() || want == have;
    same(&expect.file, &item.file)
        && same(&expect.code, &item.code)
        && same(&expect.test, &item.test)
        && (expect.line.is_none() || expect.line == item.line)
        && (expect.col.is_none() || expect.col == item.col)
        && expect.severity.is_none_or(|severity| severity == item.severity)
        && expect.message.as_ref().is_none_or(|message| item.message.starts_with(message.as_str()))
}

fn join_texts(items: &[String]) -> String {
    if items.is_empty() { "nothing".to_owned() } else { items.join(", ") }
}

fn expected_text(expect: &ExpectText) -> String {
    join_fields([
        text_field("file", expect.file.as_deref()),
        number_field("line", expect.line),
        number_field("col", expect.col),
        text_field("severity", expect.severity.map(Severity::as_str)),
        text_field("code", expect.code.as_deref()),
        text_field("message", expect.message.as_deref()),
        text_field("test", expect.test.as_deref()),
    ])
}

fn diagnostic_text(item: &Diagnostic) -> String {
    join_fields([
        text_field("tool", Some(&item.tool)),
        text_field("file", item.file.as_deref()),
        number_field("line", item.line),
        number_field("col", item.col),
        text_field("severity", Some(item.severity.as_str())),
        text_field("code", item.code.as_deref()),
        text_field("message", Some(&item.message)),
        text_field("test", item.test.as_deref()),
    ])
}

fn text_field(name: &str, value: Option<&str>) -> Option<String> {
    Some(format!("{name} = {:?}", value?))
}

fn number_field(name: &str, value: Option<u32>) -> Option<String> {
    Some(format!("{name} = {}", value?))
}

fn join_fields<const N: usize>(fields: [Option<String>; N]) -> String {
    format!("{{ {} }}", fields.into_iter().flatten().collect::<Vec<_>>().join(", "))
}
