//! `qa-checklist.yml`: what a change has to fulfil. Portuguese and English keys are equal.

use super::PolicyError;
use super::expression::Expression;
use super::metric::Metric;
use crate::base::yaml::{YamlEntry, YamlError, YamlNode, YamlValue, parse_yaml};

/// Most items of a checklist.
const ITEMS_MAX: usize = 200;
/// Complexity from which a function needs a comment, where the item does not say.
const COMPLEX_FROM: u64 = 6;

/// The categories that are known, each with its English key and its heading.
const CATEGORIES: [(&str, &str, &str); 3] = [
    ("funcionalidade", "functionality", "Functionality"),
    ("qualidade_codigo", "code_quality", "Code quality"),
    ("documentacao", "documentation", "Documentation"),
];

/// Keys of an item with their English names.
const ITEM_KEYS: [(&str, &str); 4] =
    [("criterio", "criterion"), ("validacao", "validation"), ("comando", "command"), ("metodo", "method")];

/// A checklist: categories in the order of the file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Checklist {
    /// `version`, as written.
    pub version: String,
    /// The categories.
    pub categories: Vec<ChecklistCategory>,
}

/// Items that belong together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChecklistCategory {
    /// The key in the file.
    pub key: String,
    /// `title`, where the file gives one.
    pub title: Option<String>,
    /// The items.
    pub items: Vec<ChecklistItem>,
}

/// One thing to fulfil.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChecklistItem {
    /// `F1`; unique in the file.
    pub id: String,
    /// The line of the item, from 1.
    pub line: usize,
    /// What is asked, for people.
    pub criterion: String,
    /// The condition, as written.
    pub validation: String,
    /// The condition.
    pub expression: Expression,
    /// Where the numbers come from.
    pub source: ItemSource,
    /// Whether it stops an approval.
    pub blocking: bool,
    /// What of the code is judged.
    pub scope: JudgedScope,
    /// Kinds of change that it applies to; empty for all.
    pub applies_to: Vec<ChangeKind>,
    /// A person says that it does not apply here.
    pub not_applicable: Option<NotApplicable>,
    /// Complexity from which a function needs a comment.
    pub complex_from: u64,
    /// Whether a test that covers a criterion must have been seen failing.
    pub red_evidence: RedEvidence,
    /// Whether only findings that the base does not have count.
    pub holds_the_line: bool,
    /// Whether weakened checks fail the item.
    pub has_guards: bool,
    /// A number that a command prints.
    pub printed: Option<PrintedMetric>,
    /// Whether a receipt may replace a run: not where the answer depends on something else than the files.
    pub reuses: bool,
}

/// What it means that a test which covers a criterion was never seen failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RedEvidence {
    /// Nothing.
    Off,
    /// The details say so.
    Warn,
    /// The criterion is not covered.
    Block,
}

/// Where the numbers of an item come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ItemSource {
    /// A command of the detected stack.
    Mapped(MappedCommand),
    /// A command line of the checklist's own.
    Command {
        /// The line as written.
        line: String,
        /// Whether a shell runs it.
        is_shell: bool,
    },
    /// A method of the gate.
    Method(Method),
}

/// A command that the tools mapping gives for each stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum MappedCommand {
    /// Tests.
    Test,
    /// Lint.
    Lint,
    /// Complexity.
    Complexity,
    /// Duplication.
    Duplication,
    /// Naming.
    Naming,
    /// Type check.
    Typecheck,
}

impl MappedCommand {
    /// Every command, with its key in the mapping.
    pub(crate) const ALL: [(MappedCommand, &'static str); 6] = [
        (MappedCommand::Test, "test"),
        (MappedCommand::Lint, "lint"),
        (MappedCommand::Complexity, "complexity"),
        (MappedCommand::Duplication, "duplication"),
        (MappedCommand::Naming, "naming"),
        (MappedCommand::Typecheck, "typecheck"),
    ];

    /// Its key in the mapping.
    pub(crate) fn key(self) -> &'static str {
        MappedCommand::ALL.iter().find(|(command, _)| *command == self).map_or("", |(_, key)| key)
    }

    /// `{detected_test_command}` and its like; a `--rule naming` after the linter is the naming command.
    fn from_placeholder(text: &str) -> Option<MappedCommand> {
        if text == "{detected_lint_command} --rule naming" {
            return Some(MappedCommand::Naming);
        }
        let name = text.strip_prefix("{detected_")?.strip_suffix("_command}")?;
        MappedCommand::ALL.iter().find(|(_, key)| *key == name).map(|(command, _)| *command)
    }
}

/// A method of the gate that needs no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Acceptance criteria with executed evidence.
    ParsePrpAndVerify,
    /// The README names the feature.
    GrepReadme,
    /// An architecture decision record exists.
    CheckDocsAdr,
    /// OpenAPI documents are valid.
    ValidateOpenapi,
    /// Complex functions have comments.
    CheckComplexityComments,
    /// The changelog has an entry.
    GrepChangelog,
}

impl Method {
    const ALL: [(Method, &'static str); 6] = [
        (Method::ParsePrpAndVerify, "parse_prp_and_verify"),
        (Method::GrepReadme, "grep_readme"),
        (Method::CheckDocsAdr, "check_docs_adr"),
        (Method::ValidateOpenapi, "validate_openapi"),
        (Method::CheckComplexityComments, "check_complexity_comments"),
        (Method::GrepChangelog, "grep_changelog"),
    ];

    /// Its name in a checklist.
    pub(crate) fn name(self) -> &'static str {
        Method::ALL.iter().find(|(method, _)| *method == self).map_or("", |(_, name)| name)
    }
}

/// What of the code an item judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JudgedScope {
    /// What the change touches.
    Changed,
    /// The whole tree.
    All,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// New behaviour.
    Feature,
    /// A bug fix.
    Fix,
    /// The same behaviour, other code.
    Refactor,
    /// Documentation only.
    Docs,
    /// Everything else.
    Chore,
}

impl ChangeKind {
    /// Every kind with its name.
    pub(crate) const ALL: [(ChangeKind, &'static str); 5] = [
        (ChangeKind::Feature, "feature"),
        (ChangeKind::Fix, "fix"),
        (ChangeKind::Refactor, "refactor"),
        (ChangeKind::Docs, "docs"),
        (ChangeKind::Chore, "chore"),
    ];

    /// The kind of this name.
    pub(crate) fn from_name(name: &str) -> Option<ChangeKind> {
        ChangeKind::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        ChangeKind::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

/// A person's word that an item does not apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotApplicable {
    /// Why.
    pub reason: String,
    /// Who says so.
    pub by: String,
}

/// A number that a command prints, for a condition over a metric that the gate does not measure itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PrintedMetric {
    /// The metric that it is.
    pub metric: Metric,
    /// A regex whose first group is the number.
    pub pattern: String,
}

impl Checklist {
    /// Every item, in the order of the file.
    pub(crate) fn items(&self) -> impl Iterator<Item = &ChecklistItem> {
        self.categories.iter().flat_map(|category| &category.items)
    }

    /// Reads a checklist. `file` is for errors.
    ///
    /// # Errors
    /// The first thing that is wrong, with the file and the line.
    pub(crate) fn parse(text: &str, file: &str) -> Result<Checklist, PolicyError> {
        parse_checklist(text).map_err(|error| PolicyError::new(file, error))
    }
}

/// The English name of a category's key; a key that is not known is its own.
pub(crate) fn english_category(key: &str) -> &str {
    let known = CATEGORIES.iter().find(|(portuguese, ..)| *portuguese == key);
    known.map_or(key, |(_, english, _)| *english)
}

/// The heading of a category that is known by this key, in English.
pub(crate) fn english_heading(key: &str) -> Option<&'static str> {
    CATEGORIES.iter().find(|(portuguese, english, _)| [*portuguese, *english].contains(&key)).map(|(.., title)| *title)
}

fn parse_checklist(text: &str) -> Result<Checklist, YamlError> {
    let root = parse_yaml(text)?;
    let [top] = root.as_map("the file")? else {
        return Err(YamlError::new(root.line, "expected one key `qa_checklist`"));
    };
    if top.key != "qa_checklist" {
        return Err(YamlError::new(top.line, format!("expected the key `qa_checklist`, not `{}`", top.key)));
    }
    let mut checklist = Checklist { version: String::new(), categories: Vec::new() };
    for entry in top.node.as_map("qa_checklist")? {
        if entry.key == "version" {
            entry.node.as_text("version")?.clone_into(&mut checklist.version);
        } else {
            checklist.categories.push(parse_category(entry)?);
        }
    }
    check_categories(&checklist, top)?;
    Ok(checklist)
}

fn check_categories(checklist: &Checklist, top: &YamlEntry) -> Result<(), YamlError> {
    for (portuguese, english, _) in CATEGORIES {
        let has = |key: &str| checklist.categories.iter().any(|category| category.key == key);
        if has(portuguese) && has(english) {
            return Err(YamlError::new(top.line, format!("`{portuguese}` and `{english}` are the same category")));
        }
    }
    let mut ids: Vec<(&str, usize)> = Vec::new();
    for item in checklist.items() {
        if let Some((_, first)) = ids.iter().find(|(id, _)| *id == item.id) {
            return Err(YamlError::new(item.line, format!("item `{}` occurs twice (first in line {first})", item.id)));
        }
        ids.push((&item.id, item.line));
    }
    match ids.len() {
        0 => Err(YamlError::new(top.line, "a checklist without items approves everything: add one")),
        count if count > ITEMS_MAX => Err(YamlError::new(top.line, format!("more than {ITEMS_MAX} items"))),
        _ => Ok(()),
    }
}

/// `key: [items]`, or `key: {title: …, items: […]}`.
fn parse_category(entry: &YamlEntry) -> Result<ChecklistCategory, YamlError> {
    let (title, items) = match &entry.node.value {
        YamlValue::List(items) => (None, items.as_slice()),
        YamlValue::Map(fields) => {
            let mut title = None;
            let mut items: &[YamlNode] = &[];
            for field in fields {
                match field.key.as_str() {
                    "title" => title = Some(field.node.as_text("title")?.to_owned()),
                    "items" => items = field.node.as_list("items")?,
                    other => return Err(YamlError::new(field.line, format!("unknown key `{other}` in a category"))),
                }
            }
            (title, items)
        }
        YamlValue::Scalar { .. } => {
            return Err(YamlError::new(
                entry.line,
                format!("`{}` is neither `version` nor a category with items", entry.key),
            ));
        }
    };
    if items.is_empty() {
        return Err(YamlError::new(entry.line, format!("category `{}` has no items", entry.key)));
    }
    let items = items.iter().map(parse_item).collect::<Result<_, _>>()?;
    Ok(ChecklistCategory { key: entry.key.clone(), title, items })
}

/// The value of a key in either language.
fn field<'a>(fields: &'a [YamlEntry], portuguese: &str) -> Result<Option<&'a YamlNode>, YamlError> {
    let english = ITEM_KEYS.iter().find(|(known, _)| *known == portuguese).map_or(portuguese, |(_, english)| english);
    let of = |key: &str| fields.iter().find(|field| field.key == key);
    match (of(portuguese), of(english).filter(|_| english != portuguese)) {
        (Some(_), Some(second)) => {
            Err(YamlError::new(second.line, format!("`{portuguese}` and `{english}` are the same key")))
        }
        (first, second) => Ok(first.or(second).map(|field| &field.node)),
    }
}

/// An item, its keys in Portuguese or in English. What is left out has its default.
fn parse_item(node: &YamlNode) -> Result<ChecklistItem, YamlError> {
    let fields = node.as_map("an item")?;
    check_keys(fields)?;
    let required = |key: &str| {
        field(fields, key)?.ok_or_else(|| YamlError::new(node.line, format!("`{key}` is missing in this item")))
    };
    let id = required("id")?;
    let validation = required("validacao")?;
    let text = validation.as_text("validacao")?;
    let expression = Expression::parse(text).map_err(|reason| YamlError::new(validation.line, reason))?;
    let source = parse_source(node, fields)?;
    let holds_the_line = parse_word(fields, "hold_the_line", &["false", "true"])? == Some(1);
    check_line_holder(node, &source, holds_the_line)?;
    let complex_from = field(fields, "complex_from")?.map(|node| node.as_number("complex_from")).transpose()?;
    Ok(ChecklistItem {
        id: id.as_text("id")?.to_owned(),
        line: node.line,
        criterion: required("criterio")?.as_text("criterio")?.to_owned(),
        validation: text.to_owned(),
        expression,
        source,
        holds_the_line,
        blocking: required("blocking")?.as_bool("blocking")?,
        scope: match parse_word(fields, "scope", &["changed", "all"])? {
            Some(1) => JudgedScope::All,
            _ => JudgedScope::Changed,
        },
        applies_to: parse_kinds(field(fields, "applies_to")?)?,
        not_applicable: field(fields, "not_applicable")?.map(parse_not_applicable).transpose()?,
        complex_from: complex_from.unwrap_or(COMPLEX_FROM),
        red_evidence: match parse_word(fields, "red_evidence", &["off", "warn", "block"])? {
            Some(1) => RedEvidence::Warn,
            Some(2) => RedEvidence::Block,
            _ => RedEvidence::Off,
        },
        has_guards: parse_word(fields, "guards", &["on", "off"])? != Some(1),
        printed: field(fields, "metric")?.map(parse_printed).transpose()?,
        reuses: field(fields, "reuse")?.map(|node| node.as_bool("reuse")).transpose()?.unwrap_or(true),
    })
}

/// The place of a field's text among the words that it may be; `None` where the item does not have the field.
fn parse_word(fields: &[YamlEntry], key: &str, words: &[&str]) -> Result<Option<usize>, YamlError> {
    let Some(node) = field(fields, key)? else { return Ok(None) };
    let text = node.as_text(key)?;
    match words.iter().position(|word| *word == text) {
        None => Err(YamlError::new(node.line, format!("{key} must be one of: {}", words.join(", ")))),
        known => Ok(known),
    }
}

/// Only a linter's findings can be compared with those of the base.
fn check_line_holder(item: &YamlNode, source: &ItemSource, holds_the_line: bool) -> Result<(), YamlError> {
    if holds_the_line && *source != ItemSource::Mapped(MappedCommand::Lint) {
        return Err(YamlError::new(item.line, "hold_the_line is for the lint command of the stack"));
    }
    Ok(())
}

fn check_keys(fields: &[YamlEntry]) -> Result<(), YamlError> {
    const KEYS: [&str; 12] = [
        "id",
        "blocking",
        "scope",
        "applies_to",
        "not_applicable",
        "red_evidence",
        "hold_the_line",
        "complex_from",
        "guards",
        "metric",
        "reuse",
        "shell",
    ];
    for entry in fields {
        let key = entry.key.as_str();
        let is_known = KEYS.contains(&key) || ITEM_KEYS.iter().any(|(one, other)| [*one, *other].contains(&key));
        if !is_known {
            return Err(YamlError::new(entry.line, format!("unknown key `{key}` in an item")));
        }
    }
    Ok(())
}

fn parse_source(item: &YamlNode, fields: &[YamlEntry]) -> Result<ItemSource, YamlError> {
    match (field(fields, "comando")?, field(fields, "metodo")?) {
        (Some(command), None) => {
            let line = command.as_text("comando")?;
            if let Some(mapped) = MappedCommand::from_placeholder(line) {
                return Ok(ItemSource::Mapped(mapped));
            }
            // A duplication tool's own threshold is replaced by the condition.
            if line.starts_with("jscpd ") || line.starts_with("npx jscpd ") {
                return Ok(ItemSource::Mapped(MappedCommand::Duplication));
            }
            let is_shell = field(fields, "shell")?.map(|node| node.as_bool("shell")).transpose()?.unwrap_or(false);
            super::check_command_line(line, is_shell).map_err(|reason| YamlError::new(command.line, reason))?;
            Ok(ItemSource::Command { line: line.to_owned(), is_shell })
        }
        (None, Some(method)) => {
            let name = method.as_text("metodo")?;
            let known = Method::ALL.iter().find(|(_, known)| *known == name);
            known.map(|(method, _)| ItemSource::Method(*method)).ok_or_else(|| {
                let names = Method::ALL.map(|(_, name)| name).join(", ");
                YamlError::new(method.line, format!("unknown metodo `{name}`: use one of {names}"))
            })
        }
        (Some(command), Some(_)) => {
            Err(YamlError::new(command.line, "an item has a `comando` or a `metodo`, not both"))
        }
        (None, None) => Err(YamlError::new(item.line, "this item has neither a `comando` nor a `metodo`")),
    }
}

fn parse_kinds(node: Option<&YamlNode>) -> Result<Vec<ChangeKind>, YamlError> {
    let Some(node) = node else { return Ok(Vec::new()) };
    let kind = |name: &String| {
        ChangeKind::from_name(name).ok_or_else(|| {
            let names = ChangeKind::ALL.map(|(_, name)| name).join(", ");
            YamlError::new(node.line, format!("unknown kind of change `{name}`: use {names}"))
        })
    };
    node.as_texts("applies_to")?.iter().map(kind).collect()
}

fn parse_not_applicable(node: &YamlNode) -> Result<NotApplicable, YamlError> {
    let fields = node.as_map("not_applicable")?;
    let text = |key: &str| match fields.iter().find(|field| field.key == key) {
        Some(field) => field.node.as_text(key).map(str::to_owned),
        None => Err(YamlError::new(node.line, format!("not_applicable needs `{key}`: a person answers for it"))),
    };
    if let Some(other) = fields.iter().find(|field| !["reason", "by"].contains(&field.key.as_str())) {
        return Err(YamlError::new(other.line, format!("unknown key `{}` in not_applicable", other.key)));
    }
    Ok(NotApplicable { reason: text("reason")?, by: text("by")? })
}

fn parse_printed(node: &YamlNode) -> Result<PrintedMetric, YamlError> {
    let fields = node.as_map("metric")?;
    let text = |key: &str| {
        let field = fields.iter().find(|field| field.key == key);
        let field = field.ok_or_else(|| YamlError::new(node.line, format!("metric needs `{key}`")))?;
        field.node.as_text(key).map(|text| (field.line, text.to_owned()))
    };
    let (line, name) = text("name")?;
    let metric = Metric::from_name(&name).ok_or_else(|| YamlError::new(line, format!("unknown metric `{name}`")))?;
    let (line, pattern) = text("regex")?;
    let regex = regex::Regex::new(&pattern).map_err(|error| {
        let reason = error.to_string();
        let last = reason.lines().last().unwrap_or_default().trim_start_matches("error: ");
        YamlError::new(line, format!("invalid regex: {last}"))
    })?;
    if regex.captures_len() < 2 {
        return Err(YamlError::new(line, "the regex needs a group around the number: (\\d+)"));
    }
    Ok(PrintedMetric { metric, pattern })
}
