//! An evaluation as JUnit XML: a suite per category, a case per item. A warning is no failure: it is what its case printed.

use std::io;

use quick_xml::events::BytesText;

use super::problem::{describe_item, list_problems};
use super::{ReportedEvaluation, TOOL};
use crate::event::{GateItem, GateItemStatus};
use crate::report::xml::{XmlWriter, render_document, xml_text};

/// A case of a suite.
struct EvaluationCase {
    name: String,
    category: String,
    outcome: CaseOutcome,
}

/// How a case ended, with what is said of it.
enum CaseOutcome {
    Pass,
    /// It stops an approval.
    Failure(String),
    /// It does not pass, and stops nothing.
    Warning(String),
    /// It does not apply, or a person lets it pass.
    Skipped(String),
}

pub(super) fn render_junit(evaluation: &ReportedEvaluation<'_>) -> String {
    let cases = list_cases(evaluation);
    render_document("testsuites", &[("name", TOOL)], |writer| {
        let suites = cases.chunk_by(|one, next| one.category == next.category);
        suites.enumerate().try_for_each(|(id, cases)| write_suite(writer, evaluation, id, cases))
    })
}

fn list_cases(evaluation: &ReportedEvaluation<'_>) -> Vec<EvaluationCase> {
    let problems = list_problems(evaluation);
    let texts = |rule: &str| {
        let lines = problems.iter().filter(|problem| problem.rule == rule).map(|problem| {
            let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
            let place = problem.path.map(|path| format!("{path}{line}: ")).unwrap_or_default();
            format!("{place}{}", problem.message)
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let of_item = |item: &GateItem| {
        let is_blocking = problems.iter().any(|problem| problem.rule == item.id && problem.is_blocking);
        let outcome = match item.status {
            GateItemStatus::Pass => CaseOutcome::Pass,
            GateItemStatus::NotApplicable | GateItemStatus::Waived => CaseOutcome::Skipped(describe_item(item)),
            GateItemStatus::Fail | GateItemStatus::NotEvaluated if is_blocking => CaseOutcome::Failure(texts(&item.id)),
            GateItemStatus::Fail | GateItemStatus::NotEvaluated => CaseOutcome::Warning(texts(&item.id)),
        };
        EvaluationCase { name: format!("{} {}", item.id, item.criterion), category: item.category.clone(), outcome }
    };
    let of_issue = |issue: &crate::event::GateIssue| {
        let kind = issue.kind.as_str();
        let said = issue.message.clone();
        let outcome = if evaluation.is_approved() { CaseOutcome::Warning(said) } else { CaseOutcome::Failure(said) };
        EvaluationCase { name: kind.to_owned(), category: TOOL.to_owned(), outcome }
    };
    evaluation.items.iter().map(of_item).chain(evaluation.issues.iter().map(of_issue)).collect()
}

fn write_suite(
    writer: &mut XmlWriter,
    evaluation: &ReportedEvaluation<'_>,
    id: usize,
    cases: &[EvaluationCase],
) -> io::Result<()> {
    let category = xml_text(cases.first().map_or("", |case| case.category.as_str()));
    let count = |is_counted: fn(&CaseOutcome) -> bool| {
        cases.iter().filter(|case| is_counted(&case.outcome)).count().to_string()
    };
    let ended = evaluation.at.rfc3339();
    // The time of the whole evaluation is that of its first suite: no item has one of its own.
    let time = if id == 0 { evaluation.duration_us } else { 0 };
    let time = format!("{}.{:06}", time / 1_000_000, time % 1_000_000);
    let suite = writer.create_element("testsuite").with_attributes([
        ("name", category.as_str()),
        ("id", &id.to_string()),
        ("package", TOOL),
        ("hostname", "localhost"),
        ("timestamp", ended.get(..19).unwrap_or("1970-01-01T00:00:00")),
        ("tests", &cases.len().to_string()),
        ("failures", &count(|outcome| matches!(outcome, CaseOutcome::Failure(_)))),
        ("skipped", &count(|outcome| matches!(outcome, CaseOutcome::Skipped(_)))),
        ("errors", "0"),
        ("time", &time),
    ]);
    let properties = [("evaluation", evaluation.id), ("verdict", evaluation.verdict), ("tree", evaluation.tree)];
    suite.write_inner_content(|writer| {
        writer.create_element("properties").write_inner_content(|writer| {
            for (name, value) in properties.iter().filter_map(|(name, value)| Some((*name, (*value)?))) {
                let property = writer.create_element("property").with_attributes([("name", name), ("value", value)]);
                property.write_empty()?;
            }
            Ok(())
        })?;
        cases.iter().try_for_each(|case| write_case(writer, case))
    })?;
    Ok(())
}

fn write_case(writer: &mut XmlWriter, case: &EvaluationCase) -> io::Result<()> {
    let (name, class) = (xml_text(&case.name), xml_text(&case.category));
    let element = writer.create_element("testcase").with_attributes([
        ("name", name.as_str()),
        ("classname", &class),
        ("time", "0"),
    ]);
    let first_line = |text: &str| xml_text(text.lines().next().unwrap_or_default());
    element.write_inner_content(|writer| {
        match &case.outcome {
            CaseOutcome::Pass => {}
            CaseOutcome::Failure(text) => {
                let failure = writer.create_element("failure");
                let failure = failure.with_attributes([("type", "blocking"), ("message", &first_line(text))]);
                failure.write_text_content(BytesText::new(&xml_text(text)))?;
            }
            CaseOutcome::Warning(text) => {
                let warning = xml_text(&format!("warning: {text}"));
                writer.create_element("system-out").write_text_content(BytesText::new(&warning))?;
            }
            CaseOutcome::Skipped(text) => {
                // Jenkins' schema has no attribute for the reason.
                writer.create_element("skipped").write_text_content(BytesText::new(&xml_text(text)))?;
            }
        }
        Ok(())
    })?;
    Ok(())
}
