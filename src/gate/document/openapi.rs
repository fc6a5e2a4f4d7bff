//! D3: whether the API documents of a project are well formed.

mod document;
mod operation;
mod tree;

use self::document::check_document;
use super::route::RouteChange;
use super::{ChangedDocument, DocumentAnswer, DocumentFinding};
use crate::base::text;

/// Documents of a project; further ones are not read.
pub(crate) const API_DOCUMENTS_MAX: usize = 50;

/// Judges the API documents of the tree. Without one, the routes of the change decide whether one is missing.
pub(crate) fn judge_openapi(documents: &[ChangedDocument<'_>], routes: &[RouteChange]) -> DocumentAnswer {
    let present = documents.iter().filter_map(|document| Some((document.path, document.after?)));
    let present: Vec<_> = present.take(API_DOCUMENTS_MAX).collect();
    if present.is_empty() {
        if routes.is_empty() {
            let reason = "there is no API document, and the change adds or removes no route";
            return DocumentAnswer::not_applicable(reason);
        }
        let finding = |route: &RouteChange| {
            let message = format!("there is no API document, but the change {}", route.evidence);
            DocumentFinding::in_file(&route.path, route.line, message)
        };
        return DocumentAnswer::not_met(routes.iter().map(finding).collect());
    }
    let mut findings = Vec::new();
    let mut details = Vec::new();
    for (path, text) in present {
        match check_document(path, text) {
            Ok(summary) => {
                let external = match summary.external_references {
                    0 => String::new(),
                    n => format!(", {} not looked at", text::count(n, "external reference")),
                };
                let operations = text::count(summary.operations, "operation");
                details.push(format!("{path}: {}, {operations}{external}", summary.version));
            }
            Err(found) => findings.extend(found),
        }
    }
    if findings.is_empty() {
        return DocumentAnswer::met(details.join("; "));
    }
    DocumentAnswer::not_met(findings)
}
