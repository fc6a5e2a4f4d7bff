//! The report and the status block, as the specification has them.

use super::{add_feature, evaluate, gate, python_project};
use crate::sandbox::{Sandbox, need};

/// Headings and table headers of the specification's report, in their order.
const REPORT_LINES: [&str; 17] = [
    "# QA VALIDATION REPORT",
    "## Verdict: ",
    "## Memory Context (from claude-self-reflect)",
    "| Query | Results | Key Findings |",
    "## Checklist Results",
    "### Funcionalidade",
    "| ID | Check | Status | Details |",
    "### Qualidade de Código",
    "| ID | Check | Status | Details |",
    "### Documentação",
    "| ID | Check | Status | Details |",
    "## Issues Found",
    "### Blocking Issues (",
    "### Warnings (",
    "## Recommendations",
    "## Next Action",
    "## Basis",
];

/// Lines of the specification's status block: keys with their values' shapes.
const BLOCK_LINES: [(&str, BlockValue); 22] = [
    ("TIMESTAMP", BlockValue::Time),
    ("PHASE", BlockValue::Words(&["QA"])),
    ("STATUS", BlockValue::Words(&["IN_PROGRESS", "COMPLETE"])),
    ("ITERATION", BlockValue::Count),
    ("PROGRESS_PERCENT", BlockValue::Count),
    ("  CHECKS_TOTAL", BlockValue::Count),
    ("  CHECKS_PASSING", BlockValue::Count),
    ("  CHECKS_FAILING", BlockValue::Count),
    ("  BLOCKING_ISSUES", BlockValue::Count),
    ("  WARNING_ISSUES", BlockValue::Count),
    ("  QUERIES_EXECUTED", BlockValue::Count),
    ("  HISTORICAL_BUGS_FOUND", BlockValue::Count),
    ("  PATTERNS_IDENTIFIED", BlockValue::Count),
    ("VERDICT", BlockValue::Words(&["APPROVE", "REJECT"])),
    ("ATTEMPT", BlockValue::Count),
    ("  STATE", BlockValue::Words(&["CLOSED", "HALF_OPEN", "OPEN"])),
    ("  NO_PROGRESS_COUNT", BlockValue::Count),
    ("  GATE_1", BlockValue::Words(&["true", "false"])),
    ("  GATE_2", BlockValue::Words(&["true", "false"])),
    ("  CAN_EXIT", BlockValue::Words(&["true", "false"])),
    ("EXIT_SIGNAL", BlockValue::Words(&["true", "false"])),
    ("RECOMMENDATION", BlockValue::Text),
];

#[derive(Debug, Clone, Copy)]
enum BlockValue {
    Time,
    Count,
    Words(&'static [&'static str]),
    Text,
}

impl BlockValue {
    fn holds(self, value: &str) -> bool {
        match self {
            BlockValue::Time => value.len() == 20 && value.ends_with('Z') && value.as_bytes()[10] == b'T',
            BlockValue::Count => value.parse::<u32>().is_ok(),
            BlockValue::Words(words) => words.contains(&value),
            BlockValue::Text => !value.is_empty() && value.len() <= 300,
        }
    }
}

/// A rejected change whose messages have characters of Markdown in them, judged by a checklist without titles.
fn rejected_project() -> Option<Sandbox> {
    let sandbox = python_project()?;
    add_feature(&sandbox);
    sandbox.write(
        "test_rows.py",
        "import pytest\n\n\n@pytest.mark.parametrize(\"text\", [\"`|<script>|`\"])\ndef test_ac_1_subtract(text):\n    \
         assert text == \"|\"\n",
    );
    sandbox.verify_run(["gate", "init"]).outcome();
    let checklist = sandbox.read(".verify-run/qa-checklist.yml");
    let lines = checklist.lines().filter(|line| !line.trim().starts_with("title:") && line.trim() != "items:");
    sandbox.write(".verify-run/qa-checklist.yml", lines.map(|line| format!("{line}\n")).collect::<String>());
    Some(sandbox)
}

#[test]
fn a_report_has_the_headings_and_tables_of_the_specification_once_and_in_order() {
    let Some(sandbox) = rejected_project() else { return };
    assert_eq!(evaluate(&sandbox)["verdict"], "reject");
    let report = sandbox.verify_run(["gate", "show"]).prints();
    // Columns are as wide as their widest cell.
    let narrow = |line: &str| line.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let is_skeleton =
        |line: &String| line.starts_with('#') || ["| Query ", "| ID "].iter().any(|it| line.starts_with(it));
    let found: Vec<String> = report.lines().map(narrow).filter(is_skeleton).collect();
    assert_eq!(found.len(), REPORT_LINES.len(), "{found:#?}");
    for (found, wanted) in found.iter().zip(REPORT_LINES) {
        assert!(found.starts_with(wanted.trim_end()), "{found}, not {wanted}");
    }
    for table in report.split("\n\n").filter(|part| part.starts_with('|')) {
        let columns: Vec<usize> = table.lines().map(|row| row.replace("\\|", "").matches('|').count()).collect();
        assert!(columns.iter().all(|count| *count == columns[0]), "{table}");
    }
    assert!(report.contains("script") && !report.contains("<script>"), "{report}");
}

#[test]
fn a_report_passes_prettier_and_markdownlint_as_they_come() {
    let (Some(prettier), Some(markdownlint), Some(_)) = (need("prettier"), need("markdownlint"), need("node")) else {
        return;
    };
    let Some(sandbox) = rejected_project() else { return };
    evaluate(&sandbox);
    let report = sandbox.verify_run(["gate", "show"]).prints();
    sandbox.write("report.md", &report);
    let checked = sandbox.bare(prettier).args(["--check", "report.md"]).outcome();
    assert_eq!(checked.ended, verify_run::run::CommandEnd::Exit(0), "{checked:?}\n{report}");
    let linted = sandbox.bare(markdownlint).arg("report.md").outcome();
    assert_eq!(linted.ended, verify_run::run::CommandEnd::Exit(0), "{linted:?}\n{report}");
}

#[test]
fn the_status_block_has_the_lines_of_the_specification_and_nothing_else() {
    let Some(sandbox) = rejected_project() else { return };
    let outcome = gate(&sandbox).args(["--format", "block"]).outcome();
    let block = outcome.stdout();
    let (start, end) = ("---PRP_PHASE_STATUS---\n", "---END_PRP_PHASE_STATUS---\n");
    let lines = block.strip_prefix(start).and_then(|rest| rest.strip_suffix(end)).unwrap_or_else(|| panic!("{block}"));
    assert!(!lines.lines().any(|line| line.ends_with(' ')), "{block}");
    let sections = ["QA_METRICS:", "MEMORY_CONTEXT:", "CIRCUIT_BREAKER:", "DUAL_GATE:"];
    let values: Vec<&str> = lines.lines().filter(|line| !line.is_empty() && !sections.contains(line)).collect();
    assert_eq!(values.len(), BLOCK_LINES.len(), "{block}");
    for (line, (key, value)) in values.iter().zip(BLOCK_LINES) {
        let found = line.strip_prefix(key).and_then(|rest| rest.strip_prefix(": "));
        assert!(found.is_some_and(|found| value.holds(found)), "{line}: {key} {value:?}");
    }
}
