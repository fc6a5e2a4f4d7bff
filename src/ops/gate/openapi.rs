//! Has an installed tool judge OpenAPI documents whose structure is in order.

use super::evidence::finding_of;
use super::execute::failure_reason;
use super::measurement::Measurement;
use crate::fix::find_tool;
use crate::gate::adapter::{ToolVerdict, judge_exit};
use crate::gate::judge::ItemEvidence;
use crate::gate::policy::{Metric, MetricValue};

/// Tools that judge documents, the most thorough first, with the words before the files.
const OPENAPI_TOOLS: [(&str, &[&str]); 3] =
    [("redocly", &["lint"]), ("spectral", &["lint"]), ("openapi-spec-validator", &[])];

impl Measurement<'_> {
    /// The evidence with the verdict of the first tool that is installed and does its job.
    pub(super) fn add_openapi_tool(&self, evidence: ItemEvidence, documents: &[String]) -> ItemEvidence {
        let mut evidence = evidence;
        if documents.is_empty() || evidence.values.get(&Metric::OpenapiValid) != Some(&MetricValue::Fact(true)) {
            return evidence;
        }
        let root = &self.request.places.root;
        let path = std::env::var_os("PATH").unwrap_or_default();
        for (tool, words) in OPENAPI_TOOLS {
            let Some(program) = find_tool(tool, root, root, &path) else { continue };
            let words = std::iter::once(tool).chain(words.iter().copied()).map(str::to_owned);
            let argv: Vec<String> = words.chain(documents.iter().cloned()).collect();
            let command = self.command_in("", &argv, &program);
            let result = match self.run_check(&command) {
                Ok(result) => result,
                Err(error) => {
                    evidence.details.push(format!("{error:#}"));
                    continue;
                }
            };
            evidence.commands.push(argv.join(" "));
            if result.code.is_none_or(|code| judge_exit(tool, code) == ToolVerdict::Failed) {
                evidence.details.push(failure_reason(tool, &result));
                continue;
            }
            let is_valid = result.code == Some(0);
            evidence.values.insert(Metric::OpenapiValid, MetricValue::Fact(is_valid));
            evidence.details.push(format!("{tool}: {}", if is_valid { "valid" } else { "not valid" }));
            evidence.findings.extend(result.failures.iter().map(|failure| finding_of(failure, self, "")));
            return evidence;
        }
        evidence
    }
}
