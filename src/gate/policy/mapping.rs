//! `qa-tools-mapping.yml`: how stacks are recognised, and which tool measures what in each.

use super::PolicyError;
use super::checklist::MappedCommand;
use crate::base::yaml::{YamlEntry, YamlError, YamlNode, YamlValue, parse_yaml};

/// Stacks of a mapping.
const STACKS_MAX: usize = 50;

/// The tools mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolsMapping {
    /// How stacks are recognised, in the order in which they are tried.
    pub detection: Vec<StackMarkers>,
    /// The commands of each stack.
    pub stacks: Vec<StackMapping>,
    /// Where documents are.
    pub documents: DocumentPlaces,
}

/// The files that mark a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StackMarkers {
    /// The stack.
    pub stack: String,
    /// Names or globs of files; one that ends in `/` is a folder.
    pub markers: Vec<String>,
    /// Whether all of them must be there, not just one.
    pub needs_all: bool,
    /// None of these may be there.
    pub excluded: Vec<String>,
}

/// The commands of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StackMapping {
    /// Its name.
    pub stack: String,
    /// What measures each thing; what is missing has no tool.
    pub commands: Vec<(MappedCommand, Vec<CommandSpec>)>,
    /// How the tests write a report that can be read.
    pub test_report: Option<TestReportSpec>,
}

/// What measures a thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommandSpec {
    /// A command.
    Command {
        /// Its line.
        line: String,
        /// The line in the file, from 1.
        file_line: usize,
        /// The adapter that reads what it prints; that of the tool where it is `None`.
        adapter: Option<String>,
        /// Only findings of these rules count; empty for all.
        rules: Vec<String>,
        /// Whether a shell runs it.
        is_shell: bool,
    },
    /// The gate's own measure.
    Builtin,
    /// Nothing, on purpose.
    None,
}

/// Another command line for the same tests, whose output says how each test ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestReportSpec {
    /// The line that replaces the test command.
    pub line: String,
    /// The adapter that reads what it prints.
    pub adapter: String,
}

/// Globs of documents, relative to the root of the work tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DocumentPlaces {
    /// READMEs.
    pub readme: Vec<String>,
    /// Folders of decision records, or the file that names one.
    pub adr: Vec<String>,
    /// Changelogs and their fragments.
    pub changelog: Vec<String>,
    /// OpenAPI documents.
    pub openapi: Vec<String>,
}

impl ToolsMapping {
    /// Reads a mapping. `file` is for errors.
    ///
    /// # Errors
    /// The first thing that is wrong, with the file and the line.
    pub(crate) fn parse(text: &str, file: &str) -> Result<ToolsMapping, PolicyError> {
        parse_mapping(text).map_err(|error| PolicyError::new(file, error))
    }

    /// The commands of a stack.
    pub(crate) fn stack(&self, name: &str) -> Option<&StackMapping> {
        self.stacks.iter().find(|mapping| mapping.stack == name)
    }
}

impl StackMapping {
    /// What measures this, in the order in which it is tried. Empty where the mapping has none.
    pub(crate) fn specs(&self, command: MappedCommand) -> &[CommandSpec] {
        self.commands.iter().find(|(known, _)| *known == command).map_or(&[], |(_, specs)| specs)
    }
}

fn parse_mapping(text: &str) -> Result<ToolsMapping, YamlError> {
    let root = parse_yaml(text)?;
    let [top] = root.as_map("the file")? else {
        return Err(YamlError::new(root.line, "expected one key `qa_tools`"));
    };
    if top.key != "qa_tools" {
        return Err(YamlError::new(top.line, format!("expected the key `qa_tools`, not `{}`", top.key)));
    }
    let mut mapping = ToolsMapping { detection: Vec::new(), stacks: Vec::new(), documents: DocumentPlaces::default() };
    let mut has_documents = false;
    for entry in top.node.as_map("qa_tools")? {
        match entry.key.as_str() {
            "version" => drop(entry.node.as_text("version")?),
            "detection" => {
                let entries = entry.node.as_map("detection")?;
                mapping.detection = entries.iter().map(parse_markers).collect::<Result<_, _>>()?;
            }
            "stacks" => {
                let entries = entry.node.as_map("stacks")?;
                mapping.stacks = entries.iter().map(parse_stack).collect::<Result<_, _>>()?;
            }
            "documentation" => {
                mapping.documents = parse_documents(entry)?;
                has_documents = true;
            }
            other => return Err(YamlError::new(entry.line, format!("unknown key `{other}` in qa_tools"))),
        }
    }
    if mapping.stacks.len() > STACKS_MAX {
        return Err(YamlError::new(top.line, format!("more than {STACKS_MAX} stacks")));
    }
    if !has_documents {
        mapping.documents = shipped_documents();
    }
    for markers in &mapping.detection {
        if mapping.stack(&markers.stack).is_none() {
            let reason = format!("stack `{}` is detected but has no commands under `stacks`", markers.stack);
            return Err(YamlError::new(top.line, reason));
        }
    }
    Ok(mapping)
}

/// The places of the shipped mapping, for a file without any.
fn shipped_documents() -> DocumentPlaces {
    parse_mapping(super::SHIPPED_MAPPING).map(|shipped| shipped.documents).unwrap_or_default()
}

fn parse_markers(entry: &YamlEntry) -> Result<StackMarkers, YamlError> {
    let mut found =
        StackMarkers { stack: entry.key.clone(), markers: Vec::new(), needs_all: false, excluded: Vec::new() };
    for field in entry.node.as_map("a stack")? {
        match field.key.as_str() {
            "markers" => found.markers = field.node.as_texts("markers")?,
            "exclude_markers" => found.excluded = field.node.as_texts("exclude_markers")?,
            "require" => {
                found.needs_all = match field.node.as_text("require")? {
                    "all" => true,
                    "any" => false,
                    _ => return Err(YamlError::new(field.line, "require must be `all` or `any`")),
                };
            }
            other => {
                return Err(YamlError::new(field.line, format!("unknown key `{other}` in the detection of a stack")));
            }
        }
    }
    if found.markers.is_empty() {
        return Err(YamlError::new(entry.line, format!("stack `{}` has no markers", entry.key)));
    }
    Ok(found)
}

fn parse_stack(entry: &YamlEntry) -> Result<StackMapping, YamlError> {
    let mut mapping = StackMapping { stack: entry.key.clone(), commands: Vec::new(), test_report: None };
    for field in entry.node.as_map("a stack")? {
        if field.key == "test_report" {
            mapping.test_report = Some(parse_report(field)?);
            continue;
        }
        let known = MappedCommand::ALL.iter().find(|(_, key)| *key == field.key);
        let Some((command, _)) = known else {
            let keys = MappedCommand::ALL.map(|(_, key)| key).join(", ");
            let reason = format!("unknown key `{}` in stack `{}`: use {keys} or test_report", field.key, entry.key);
            return Err(YamlError::new(field.line, reason));
        };
        let specs = match &field.node.value {
            YamlValue::List(nodes) => nodes.iter().map(parse_spec).collect::<Result<Vec<_>, _>>()?,
            _ => vec![parse_spec(&field.node)?],
        };
        mapping.commands.push((*command, specs));
    }
    Ok(mapping)
}

fn parse_spec(node: &YamlNode) -> Result<CommandSpec, YamlError> {
    if let YamlValue::Scalar { text, .. } = &node.value {
        return match text.as_str() {
            "builtin" => Ok(CommandSpec::Builtin),
            "none" => Ok(CommandSpec::None),
            _ => command_spec(node, None, Vec::new(), false),
        };
    }
    let mut command = None;
    let (mut adapter, mut rules, mut is_shell) = (None, Vec::new(), false);
    for field in node.as_map("a command")? {
        match field.key.as_str() {
            "command" => command = Some(&field.node),
            "parse" => adapter = Some(known_adapter(field)?),
            "rules" => rules = field.node.as_texts("rules")?,
            "shell" => is_shell = field.node.as_bool("shell")?,
            other => return Err(YamlError::new(field.line, format!("unknown key `{other}` in a command"))),
        }
    }
    let command = command.ok_or_else(|| YamlError::new(node.line, "`command` is missing"))?;
    command_spec(command, adapter, rules, is_shell)
}

fn command_spec(
    node: &YamlNode,
    adapter: Option<String>,
    rules: Vec<String>,
    is_shell: bool,
) -> Result<CommandSpec, YamlError> {
    let line = node.as_text("command")?.to_owned();
    super::check_command_line(&line, is_shell).map_err(|reason| YamlError::new(node.line, reason))?;
    Ok(CommandSpec::Command { line, file_line: node.line, adapter, rules, is_shell })
}

fn known_adapter(field: &YamlEntry) -> Result<String, YamlError> {
    let name = field.node.as_text("parse")?;
    match crate::gate::adapter::Adapter::from_name(name) {
        Some(_) => Ok(name.to_owned()),
        None => {
            let names = crate::gate::adapter::names().join(", ");
            Err(YamlError::new(field.line, format!("unknown adapter `{name}`: use one of {names}")))
        }
    }
}

fn parse_report(entry: &YamlEntry) -> Result<TestReportSpec, YamlError> {
    let (mut line, mut adapter) = (None, None);
    for field in entry.node.as_map("test_report")? {
        match field.key.as_str() {
            "replace" => {
                let text = field.node.as_text("replace")?.to_owned();
                super::check_command_line(&text, false).map_err(|reason| YamlError::new(field.line, reason))?;
                line = Some(text);
            }
            "parse" => adapter = Some(known_adapter(field)?),
            other => return Err(YamlError::new(field.line, format!("unknown key `{other}` in test_report"))),
        }
    }
    let missing = |key: &str| YamlError::new(entry.line, format!("test_report needs {key}"));
    let line = line.ok_or_else(|| missing("`replace`"))?;
    Ok(TestReportSpec { line, adapter: adapter.ok_or_else(|| missing("`parse`"))? })
}

fn parse_documents(entry: &YamlEntry) -> Result<DocumentPlaces, YamlError> {
    let mut places = shipped_documents_unless_shipping(entry);
    for field in entry.node.as_map("documentation")? {
        let texts = field.node.as_texts(&field.key)?;
        match field.key.as_str() {
            "readme" => places.readme = texts,
            "adr" => places.adr = texts,
            "changelog" => places.changelog = texts,
            "openapi" => places.openapi = texts,
            other => return Err(YamlError::new(field.line, format!("unknown key `{other}` in documentation"))),
        }
    }
    Ok(places)
}

/// The shipped places for keys that the file leaves out. A file that has all four needs none, and the shipped one is such
/// a file, so reading it does not read it again.
fn shipped_documents_unless_shipping(entry: &YamlEntry) -> DocumentPlaces {
    let is_complete = matches!(&entry.node.value, YamlValue::Map(fields) if fields.len() >= 4);
    if is_complete { DocumentPlaces::default() } else { shipped_documents() }
}
