//! Documents that the tool printed: their content counts, and matches of rules in their text do not.

use std::collections::HashMap;
use std::fmt::Write;

use crate::base::limits::LINE_KEEP_BYTES_MAX;
use crate::base::text::{ellipsis, one_line};
use crate::diagnose::engine::LineRole;
use crate::diagnose::paths::{PathResolver, PathTrust};
use crate::diagnose::structured::{StructuredDocument, StructuredFinding};
use crate::diagnose::{Diagnostic, Severity};

use super::AssembledDiagnostics;
use super::caller::canonical_code;

impl AssembledDiagnostics<'_> {
    /// Rules are made for text; what they found inside a document is not what it says.
    pub(super) fn give_way_to(&mut self, documents: &[StructuredDocument]) {
        for (found, failing) in self.outcome.items.iter_mut().zip(&mut self.failing) {
            let line = found.span.0;
            let at = documents.partition_point(|document| document.lines.end <= line);
            if documents.get(at).is_some_and(|document| document.lines.contains(&line)) {
                found.tentative = true;
                *failing = false;
            }
        }
        for document in documents {
            if let Some(roles) = self.outcome.roles.get_mut(document.lines.clone()) {
                roles.fill(LineRole::Noise);
            }
        }
    }

    /// Makes items of what the documents say.
    pub(super) fn take_documents(&mut self, documents: Vec<StructuredDocument>, resolver: &PathResolver<'_>) {
        if documents.is_empty() {
            return;
        }
        let known = self.failing.iter().any(|failing| *failing);
        let entries = || documents.iter().flat_map(|document| &document.entries);
        let bad = |entry: &StructuredFinding| entry.severity.unwrap_or(Severity::Error);
        let worst = entries().map(bad).max().unwrap_or(Severity::Error);
        let needed = if known { Severity::Error } else { worst };
        let told = ReportedPlaces::from_assembled(self);
        for document in &documents {
            for entry in &document.entries {
                let item = build_from_finding(entry, document, resolver, self.by.printing_tool());
                if told.contains_diagnostic(&item) {
                    continue;
                }
                if bad(entry) < needed {
                    self.beside.push(item);
                    continue;
                }
                let file = entry.file.as_ref().and_then(|file| resolver.resolve_path(file, &[], PathTrust::Format));
                self.files.extend(file);
                self.written.entry(document.lines.start).or_default().push(written_key(&item));
                self.generic.push(item);
            }
            if document.cut > 0 {
                let cut = format!("… and {} more in this document", document.cut);
                self.written.entry(document.lines.start).or_default().push(cut);
            }
        }
    }
}

/// The messages that definitions found at each place: a document may repeat them for another reader.
struct ReportedPlaces(HashMap<(String, u32), Vec<String>>);

impl ReportedPlaces {
    fn from_assembled(assembled: &AssembledDiagnostics<'_>) -> Self {
        let mut told: HashMap<(String, u32), Vec<String>> = HashMap::new();
        for (found, file) in assembled.outcome.items.iter().zip(&assembled.places) {
            if let (Some(file), Some(line)) = (file, found.place.and_then(|place| place.line)) {
                told.entry((file.to_string(), line)).or_default().push(found.message.to_owned());
            }
        }
        ReportedPlaces(told)
    }

    fn contains_diagnostic(&self, item: &Diagnostic) -> bool {
        let place = item.file.clone().zip(item.line);
        let messages = place.and_then(|place| self.0.get(&place));
        messages.is_some_and(|messages| messages.iter().any(|message| item.message.contains(message.as_str())))
    }
}

fn build_from_finding(
    entry: &StructuredFinding,
    document: &StructuredDocument,
    resolver: &PathResolver<'_>,
    tool: &str,
) -> Diagnostic {
    let file = entry.file.as_deref().map(|file| resolver.shown_path(file, &[]));
    Diagnostic {
        tool: tool.to_owned(),
        code: entry.code.as_deref().map(canonical_code),
        severity: entry.severity.unwrap_or(Severity::Error),
        file,
        line: entry.line,
        col: entry.col,
        message: entry.message.clone(),
        test: entry.test.clone(),
        span: (document.lines.start, document.lines.end),
    }
}

/// An item as compilers would print it.
fn written_key(item: &Diagnostic) -> String {
    let mut text = item.file.clone().unwrap_or_default();
    for number in [item.line, item.col].into_iter().flatten() {
        let _ = write!(text, ":{number}");
    }
    let severity = match item.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    };
    let _ = write!(text, ": {severity}: {}", one_line(&item.message));
    if let Some(code) = &item.code {
        let _ = write!(text, " [{code}]");
    }
    ellipsis(text.trim_start_matches([':', ' ']), LINE_KEEP_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use crate::base::tree::EmptyTree;
    use crate::diagnose::{DefinitionSet, Diagnosis, DiagnosisInput, diagnose_output};
    use crate::run::CommandEnd;

    fn of(output: &str) -> Diagnosis {
        diagnose_output(&DiagnosisInput {
            output: output.as_bytes(),
            command: "",
            tool: None,
            kind: None,
            ended: CommandEnd::Exit(1),
            dir: "",
            root: "/p",
            tree: &EmptyTree,
            baseline: None,
            definitions: &DefinitionSet::shipped_only(),
        })
    }

    #[test]
    fn a_report_on_standard_output_is_items_and_lines_for_people() {
        let said = of(
            "> lint\n<checkstyle>\n <file name=\"/p/a.js\">\n  <error line=\"3\" column=\"1\" severity=\"error\" message=\"bad\" source=\"R\"/>\n  <error line=\"9\" severity=\"warning\" message=\"meh\" source=\"S\"/>\n </file>\n</checkstyle>\n",
        );
        assert_eq!(said.files, ["a.js"]);
        assert_eq!(said.lines, ["a.js:3:1: error: bad [R]"]);
        assert_eq!((said.items.len(), said.others.len()), (1, 1));
        assert_eq!((said.items[0].line, said.others[0].line), (Some(3), Some(9)));
    }

    #[test]
    fn warnings_alone_are_what_failed() {
        let said = of("{\"file\":\"a.py\",\"line\":2,\"level\":\"warning\",\"message\":\"m\"}\n");
        assert_eq!(said.items.len(), 1);
        assert_eq!(said.lines, ["a.py:2: warning: m"]);
    }

    #[test]
    fn what_is_repeated_for_a_ci_system_is_told_once() {
        let printed = "src/a.zig:3:1: error: bad thing\n";
        let said = of(&format!("{printed}::error file=src/a.zig,line=3::bad thing%0Aand why\n"));
        assert_eq!(said.items.len(), 1, "{said:?}");
        let said = of(&format!("{printed}::error file=src/b c.zig,line=3::bad thing\n"));
        assert_eq!(said.files, ["src/a.zig", "src/b c.zig"]);
    }

    #[test]
    fn several_documents_are_told_where_they_stand() {
        let document = |file: &str| format!("{{\"file\":\"{file}\",\"line\":2,\"message\":\"m\"}}\n");
        let said = of(&format!("{}src/x.c:1:2: error: e\n{}{}", document("a.py"), document("b.py"), document("c.py")));
        assert_eq!(said.lines, ["a.py:2: error: m", "src/x.c:1:2: error: e", "b.py:2: error: m", "c.py:2: error: m"]);
        assert_eq!(said.files, ["a.py", "b.py", "c.py", "src/x.c"]);
    }
}
