//! Definitions in layers: shipped < the user's < the project's. A later layer adds, replaces by name, or removes.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use crate::base::limits::DEFINITION_RULES_MAX;
use crate::base::text::line_number;
use crate::config::CategoryTable;

use super::catalog::{self, Catalog};
use super::definition::{self, DefinitionFileText, DefinitionRuleText, SCHEMA, ToolText};
use super::rule_regex;
use super::{Category, imported, inline};

/// The definitions in force.
#[derive(Debug)]
pub struct DefinitionSet(Option<Catalog>);

/// A file of definitions above the shipped ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionFile {
    /// Where it is, for messages.
    pub file: PathBuf,
    /// Which layer; 0 is the strongest.
    pub layer: usize,
    /// Its text.
    pub text: String,
    /// The files that it names ([`attachment_names`]), each with its text or why there is none.
    pub attached: Vec<(String, Result<String, String>)>,
}

/// The files that a definition file's `matcher` keys name.
pub fn attachment_names(text: &str) -> Vec<String> {
    let tools = definition::parse(text).map(|file| file.tools).unwrap_or_default();
    let names = tools.into_iter().filter_map(|tool| tool.matcher);
    let mut names: Vec<String> = names.flat_map(|names| names.as_slice().to_vec()).collect();
    names.sort();
    names.dedup();
    names
}

/// What is wrong in a file of definitions. Everything else stays in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionFault {
    /// The file.
    pub file: PathBuf,
    /// The line in it, from 1, where one is known.
    pub line: Option<usize>,
    /// What is wrong, a lowercase fragment.
    pub reason: String,
    /// What is out of force because of it; `None` when nothing is.
    pub without: Option<&'static str>,
}

/// What a fault puts out of force.
const THE_FILE: Option<&str> = Some("the file");
const THE_DEFINITION: Option<&str> = Some("the definition");
const THE_RULE: Option<&str> = Some("the rule");
const THAT_PART: Option<&str> = Some("that part");

impl DefinitionSet {
    /// The shipped ones alone.
    pub fn shipped_only() -> Self {
        DefinitionSet(None)
    }

    /// The shipped ones under `files`, which come strongest layer first and may name `categories`. Never fails: what
    /// can't be used is a [`DefinitionFault`], and everything else holds. Whether regexes compile is only seen by
    /// [`DefinitionSet::check_files`].
    pub fn from_layers(files: &[DefinitionFile], categories: &CategoryTable) -> (Self, Vec<DefinitionFault>) {
        if files.is_empty() {
            return (Self::shipped_only(), Vec::new());
        }
        let mut faults = Vec::new();
        let parsed: Vec<_> =
            files.iter().filter_map(|file| Some((file, read_file(file, categories, &mut faults)?))).collect();
        if parsed.iter().all(|(_, text)| text.tools.is_empty() && text.remove.is_empty()) {
            return (Self::shipped_only(), faults);
        }
        let mut tools: Vec<ToolText> = Vec::new();
        let mut hidden: HashSet<String> = HashSet::new();
        for layer in parsed.chunk_by(|(a, _), (b, _)| a.layer == b.layer) {
            let mut names: HashSet<String> = HashSet::new();
            let mut rules = 0;
            for (file, text) in layer {
                for tool in &text.tools {
                    rules += tool.rules.len();
                    let reason = if rules > DEFINITION_RULES_MAX {
                        format!("more than {DEFINITION_RULES_MAX} rules in this folder")
                    } else if !names.insert(tool.name.clone()) {
                        format!("`{}` is defined twice in this folder", tool.name)
                    } else {
                        if !hidden.contains(&tool.name) {
                            tools.push(tool.clone());
                        }
                        continue;
                    };
                    let line = TomlSpans::from_text(&file.text).name_line(&file.text, &tool.name);
                    faults.push(new_fault(file, line, reason, THE_DEFINITION));
                }
            }
            hidden.extend(names);
            hidden.extend(layer.iter().flat_map(|(_, text)| text.remove.iter().cloned()));
        }
        let shipped = catalog::shipped_tools();
        faults.extend(idle_removals(&parsed, shipped));
        tools.extend(shipped.iter().filter(|tool| !hidden.contains(&tool.name)).cloned());
        (DefinitionSet(Some(Catalog::new(tools))), faults)
    }

    /// Regexes that don't compile and inline tests that don't hold, for `whitelist check`.
    pub fn check_files(&self, files: &[DefinitionFile]) -> Vec<DefinitionFault> {
        let mut faults = Vec::new();
        for file in files {
            let Ok(text) = definition::parse(&file.text) else { continue };
            let spans = TomlSpans::from_text(&file.text);
            for (index, tool) in text.tools.iter().enumerate() {
                for (at, rule) in tool.rules.iter().enumerate() {
                    if let Err(reason) = check_compiles(rule) {
                        let reason = format!("{}: {reason}", rule_name(tool, at));
                        faults.push(new_fault(file, spans.rule_line(&file.text, index, at), reason, THE_RULE));
                    }
                }
                for (at, test) in tool.tests.iter().enumerate() {
                    if let Err(reason) = inline::check_example(self, test) {
                        let reason =
                            format!("`{}`, test {}: {reason}; {}", tool.name, at + 1, list_hits(tool, &test.input));
                        faults.push(new_fault(file, spans.test_line(&file.text, index, at), reason, None));
                    }
                }
            }
        }
        faults
    }

    /// Names of the definitions in force, the first one winning where several match.
    pub fn definition_names(&self) -> impl Iterator<Item = &str> {
        self.catalog().tools.iter().map(|tool| tool.name.as_str())
    }

    pub(super) fn catalog(&self) -> &Catalog {
        self.0.as_ref().unwrap_or_else(|| catalog::shipped_catalog())
    }
}

fn new_fault(
    file: &DefinitionFile,
    line: Option<usize>,
    reason: String,
    without: Option<&'static str>,
) -> DefinitionFault {
    DefinitionFault { file: file.file.clone(), line, reason, without }
}

/// A file's definitions, without rules that could never hold and without those of undeclared categories.
fn read_file(
    file: &DefinitionFile,
    categories: &CategoryTable,
    faults: &mut Vec<DefinitionFault>,
) -> Option<DefinitionFileText> {
    let mut text = match definition::parse(&file.text) {
        Ok(text) => text,
        Err(error) => {
            let line = error.span().map(|span| line_number(&file.text, span.start));
            faults.push(new_fault(file, line, error.message().replace('\n', ", "), THE_FILE));
            return None;
        }
    };
    if let Some(schema) = text.verify_run_schema.filter(|schema| *schema != SCHEMA) {
        let reason = format!("this version knows `verify_run_schema = {SCHEMA}`, not {schema}");
        faults.push(new_fault(file, None, reason, THE_FILE));
        return None;
    }
    for (index, tool) in text.tools.iter_mut().enumerate() {
        let literals = |rule: &DefinitionRuleText| {
            let needs = rule.needs.as_slice();
            !needs.is_empty() && needs.iter().all(|literal| !literal.is_empty())
        };
        for (at, rule) in tool.rules.iter().enumerate() {
            if !literals(rule) {
                let line = TomlSpans::from_text(&file.text).rule_line(&file.text, index, at);
                let reason = format!("{}: `needs` must be a text that is in every matching line", rule_name(tool, at));
                faults.push(new_fault(file, line, reason, THE_RULE));
            }
        }
        tool.rules.retain(literals);
        let attached = |name: &str| match file.attached.iter().find(|(known, _)| known == name) {
            Some((_, text)) => text.clone(),
            None => Err("was not read".to_owned()),
        };
        let (found, wrong) = imported::import_formats(tool.errorformat.as_ref(), tool.matcher.as_ref(), attached);
        tool.imported = found;
        for reason in wrong {
            let line = TomlSpans::from_text(&file.text).name_line(&file.text, &tool.name);
            faults.push(new_fault(file, line, format!("`{}`: {reason}", tool.name), THAT_PART));
        }
    }
    let mut index = 0;
    text.tools.retain(|tool| {
        let refused = tool.all_categories().find_map(|category| Some((category, categories.refusal(category)?)));
        if let Some((category, reason)) = &refused {
            let line = TomlSpans::from_text(&file.text).category_line(&file.text, index, category);
            faults.push(new_fault(file, line, format!("`{}`: {reason}", tool.name), THE_DEFINITION));
        }
        index += 1;
        refused.is_none()
    });
    Some(text)
}

/// Names in `remove` that no lower layer defines.
fn idle_removals(parsed: &[(&DefinitionFile, DefinitionFileText)], shipped: &[ToolText]) -> Vec<DefinitionFault> {
    let mut faults = Vec::new();
    for (file, text) in parsed {
        let lower = parsed.iter().filter(|(other, _)| other.layer > file.layer).flat_map(|(_, text)| &text.tools);
        let lower: HashSet<&str> = lower.chain(shipped).map(|tool| tool.name.as_str()).collect();
        for name in text.remove.iter().filter(|name| !lower.contains(name.as_str())) {
            let reason = format!("`remove` names `{name}`, but no earlier layer has a definition of this name");
            faults.push(new_fault(file, None, reason, None));
        }
    }
    faults
}

fn check_compiles(rule: &DefinitionRuleText) -> Result<(), String> {
    for source in [Some(&rule.regex), rule.closing.as_ref()].into_iter().flatten() {
        rule_regex::compile_regex(source).map_err(|error| {
            let error = error.to_string();
            let said = error.lines().last().unwrap_or_default();
            format!("the regex does not compile: {}", said.trim_start_matches("error: "))
        })?;
    }
    Ok(())
}

fn rule_name(tool: &ToolText, at: usize) -> String {
    format!("`{}`, rule {} ({})", tool.name, at + 1, tool.rules[at].kind.as_str())
}

/// Which rules of the tool match some line of `input`.
fn list_hits(tool: &ToolText, input: &str) -> String {
    let matching = |rule: &DefinitionRuleText| {
        let regex = rule_regex::compile_regex(&rule.regex).ok()?;
        input.lines().position(|line| {
            rule.needs.as_slice().iter().any(|need| line.contains(need.as_str())) && regex.is_match(line.as_bytes())
        })
    };
    let rules = tool.rules.iter().enumerate();
    let hits: Vec<String> = rules
        .filter_map(|(at, rule)| {
            Some(format!("rule {} ({}) at line {}", at + 1, rule.kind.as_str(), matching(rule)? + 1))
        })
        .collect();
    if hits.is_empty() {
        "no rule matches a line of it".to_owned()
    } else {
        format!("first matches: {}", hits.join(", "))
    }
}

/// Where things stand in a file; parsed only to say what is wrong.
#[derive(Default, Deserialize)]
struct TomlSpans {
    #[serde(default)]
    tool: Vec<ToolSpans>,
}

#[derive(Deserialize)]
struct ToolSpans {
    name: Spanned<String>,
    category: Option<Spanned<String>>,
    empty: Option<Spanned<String>>,
    #[serde(default)]
    category_of: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    rule: Vec<RuleSpans>,
    #[serde(default)]
    test: Vec<TestSpans>,
}

#[derive(Deserialize)]
struct RuleSpans {
    regex: Spanned<String>,
    category: Option<Spanned<String>>,
}

#[derive(Deserialize)]
struct TestSpans {
    input: Spanned<String>,
    category: Option<Spanned<String>>,
}

impl TomlSpans {
    fn from_text(text: &str) -> Self {
        toml::from_str(text).unwrap_or_default()
    }

    /// The line of the last definition of this name.
    fn name_line(&self, text: &str, name: &str) -> Option<usize> {
        let tool = self.tool.iter().rfind(|tool| tool.name.get_ref() == name)?;
        Some(start_line(text, tool.name.span()))
    }

    /// The line where the definition first names a category.
    fn category_line(&self, text: &str, tool: usize, category: &Category) -> Option<usize> {
        let tool = self.tool.get(tool)?;
        let named = tool.category.iter().chain(&tool.empty).chain(tool.category_of.values());
        let named = named.chain(tool.rule.iter().filter_map(|rule| rule.category.as_ref()));
        let mut named = named.chain(tool.test.iter().filter_map(|test| test.category.as_ref()));
        let found = named.find(|named| named.get_ref() == category.as_str())?;
        Some(start_line(text, found.span()))
    }

    fn rule_line(&self, text: &str, tool: usize, rule: usize) -> Option<usize> {
        Some(start_line(text, self.tool.get(tool)?.rule.get(rule)?.regex.span()))
    }

    fn test_line(&self, text: &str, tool: usize, test: usize) -> Option<usize> {
        Some(start_line(text, self.tool.get(tool)?.test.get(test)?.input.span()))
    }
}

fn start_line(text: &str, span: Range<usize>) -> usize {
    line_number(text, span.start)
}

#[cfg(test)]
mod tests;
