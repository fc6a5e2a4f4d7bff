//! What one API document has to have: a version, a title, paths, references that resolve.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::operation::check_operations;
use super::tree::{ApiNode, ApiValue};
use crate::base::text;
use crate::gate::document::{DOCUMENT_BYTES_MAX, DocumentFinding};

/// Findings of one document; further ones are not looked for.
pub(super) const DOCUMENT_FINDINGS_MAX: usize = 200;

/// What a valid document has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiSummary {
    /// `OpenAPI 3.1.0` or `Swagger 2.0`.
    pub version: String,
    /// Operations of paths and webhooks.
    pub operations: usize,
    /// Different references into other documents, which are not read.
    pub external_references: usize,
}

/// The version that a document says it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ApiVersion {
    Swagger2,
    OpenApi30,
    /// 3.1 and 3.2: paths are optional.
    OpenApi31,
}

static OPENAPI_VERSION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^3\.([012])(?:\.\d+(?:-\S+)?)?$").expect("a valid pattern"));

/// Checks a document.
///
/// # Errors
/// What is wrong with it, by line where the format gives lines; never empty.
pub(super) fn check_document(path: &str, text: &str) -> Result<ApiSummary, Vec<DocumentFinding>> {
    if text.len() >= DOCUMENT_BYTES_MAX - 4 {
        let message = format!("the document is too large to be checked (at most {DOCUMENT_BYTES_MAX} bytes)");
        return Err(vec![DocumentFinding::in_file(path, None, message)]);
    }
    let root =
        ApiNode::parse(path, text).map_err(|(line, reason)| vec![DocumentFinding::in_file(path, line, reason)])?;
    let mut check = DocumentCheck { path, root: &root, findings: Vec::new() };
    let version = check.check_version();
    check.check_info();
    if let Some((version, _)) = &version {
        check.check_parts(*version);
    }
    let external = check.check_references();
    let operations = check_operations(&mut check);
    let DocumentCheck { mut findings, .. } = check;
    match version {
        Some((_, shown)) if findings.is_empty() => {
            Ok(ApiSummary { version: shown, operations, external_references: external.len() })
        }
        _ => {
            findings.sort_by_key(|finding| finding.line);
            Err(findings)
        }
    }
}

/// A document that is being checked.
pub(super) struct DocumentCheck<'a> {
    path: &'a str,
    pub root: &'a ApiNode,
    findings: Vec<DocumentFinding>,
}

impl<'a> DocumentCheck<'a> {
    /// Adds a finding, if there is room for one more.
    pub(super) fn add_finding(&mut self, line: Option<u32>, message: String) {
        if self.findings.len() < DOCUMENT_FINDINGS_MAX {
            self.findings.push(DocumentFinding::in_file(self.path, line, message));
        }
    }

    fn check_version(&mut self) -> Option<(ApiVersion, String)> {
        if let Some(node) = self.root.get("openapi") {
            let written = node.text().unwrap_or_default();
            let minor = OPENAPI_VERSION.captures(written).and_then(|groups| groups.get(1));
            let Some(minor) = minor else {
                self.add_finding(node.line, format!("openapi is \"{written}\"; known are 3.0 to 3.2"));
                return None;
            };
            let version = if minor.as_str() == "0" { ApiVersion::OpenApi30 } else { ApiVersion::OpenApi31 };
            return Some((version, format!("OpenAPI {written}")));
        }
        match self.root.get("swagger") {
            Some(node) if node.text() == Some("2.0") => Some((ApiVersion::Swagger2, "Swagger 2.0".to_owned())),
            Some(node) => {
                self.add_finding(
                    node.line,
                    format!("swagger is \"{}\"; known is 2.0", node.text().unwrap_or_default()),
                );
                None
            }
            None => {
                self.add_finding(self.root.line, "has neither `openapi` nor `swagger`".to_owned());
                None
            }
        }
    }

    fn check_info(&mut self) {
        let info = self.root.get("info");
        let line = info.and_then(|node| node.line).or(self.root.line);
        for key in ["title", "version"] {
            if info.and_then(|node| node.get(key)).and_then(ApiNode::text).is_none() {
                self.add_finding(line, format!("`info.{key}` is missing"));
            }
        }
    }

    fn check_parts(&mut self, version: ApiVersion) {
        let has = |key: &str| matches!(self.root.get(key), Some(ApiNode { value: ApiValue::Map(_), .. }));
        let is_blank =
            self.root.get("paths").is_some_and(|node| matches!(&node.value, ApiValue::Scalar(text) if text.is_empty()));
        let has_paths = has("paths") || is_blank;
        if version != ApiVersion::OpenApi31 && !has_paths {
            self.add_finding(self.root.line, "`paths` is missing".to_owned());
        } else if !has_paths && !has("webhooks") && !has("components") {
            self.add_finding(self.root.line, "has neither `paths` nor `webhooks` nor `components`".to_owned());
        }
    }

    /// Looks up each local reference; returns the external ones.
    fn check_references(&mut self) -> BTreeSet<&'a str> {
        let mut references = Vec::new();
        let mut anchors = BTreeSet::new();
        collect_references(self.root, WalkPlace::Object, &mut references, &mut anchors);
        let mut external = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for (reference, line) in references {
            let Some(pointer) = reference.strip_prefix('#') else {
                external.insert(reference);
                continue;
            };
            let is_anchor = !pointer.is_empty() && !pointer.starts_with('/');
            let is_there = if is_anchor { anchors.contains(pointer) } else { self.root.resolve(reference).is_some() };
            if !is_there && seen.insert(reference) {
                self.add_finding(line, format!("$ref \"{}\" leads nowhere", text::ellipsis(reference, 200)));
            }
        }
        external
    }
}

/// What the keys of a map mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WalkPlace {
    /// Keys of the format.
    Object,
    /// Names that people gave, as below `properties`.
    Names,
    /// Names of examples: their values are data.
    Examples,
}

fn collect_references<'a>(
    node: &'a ApiNode,
    place: WalkPlace,
    references: &mut Vec<(&'a str, Option<u32>)>,
    anchors: &mut BTreeSet<&'a str>,
) {
    for item in node.items() {
        // A list of examples has data.
        if place != WalkPlace::Examples {
            collect_references(item, WalkPlace::Object, references, anchors);
        }
    }
    for (key, line, child) in node.entries() {
        if place == WalkPlace::Examples {
            references.extend(child.get("$ref").and_then(ApiNode::text).map(|reference| (reference, child.line)));
            continue;
        }
        if place == WalkPlace::Names {
            collect_references(child, WalkPlace::Object, references, anchors);
            continue;
        }
        match key {
            "$ref" => references.extend(child.text().map(|reference| (reference, line))),
            "$anchor" | "$dynamicAnchor" => anchors.extend(child.text()),
            "example" | "default" | "enum" | "const" | "value" => {}
            _ if key.starts_with("x-") => {}
            "examples" => collect_references(child, WalkPlace::Examples, references, anchors),
            "properties" | "patternProperties" | "definitions" | "$defs" | "schemas" | "dependentSchemas"
            | "parameters" | "responses" | "headers" | "requestBodies" | "callbacks" | "links" | "paths"
            | "webhooks" | "pathItems" | "content" | "encoding" | "securitySchemes" => {
                collect_references(child, WalkPlace::Names, references, anchors);
            }
            _ => collect_references(child, WalkPlace::Object, references, anchors),
        }
    }
}
