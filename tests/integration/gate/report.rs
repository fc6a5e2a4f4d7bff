//! The report and the status block, as the specification has them.

use verify_run::run::CommandEnd;

use super::decisions::{failing_project, judge};
use super::ship::user_settings;
use super::{add_feature, evaluate, gate, python_project};
use crate::sandbox::{Outcome, Sandbox, need};

/// The folder with the parts of the specification, and the scripts that compare with them.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/gate");

/// Runs a script of [`DATA`] on a text. `None` without Python.
fn compare(sandbox: &Sandbox, script: &str, part: &str, further: &[&str], text: &str) -> Option<Outcome> {
    let python = need("python3")?;
    let arguments = [format!("{DATA}/{script}"), format!("{DATA}/{part}")];
    Some(sandbox.bare(python).args(arguments).args(further).stdin(text).outcome())
}

/// Whether a block is, line by line, that of the specification; `further` are values of STATUS that are admitted too.
fn read_block(sandbox: &Sandbox, further: &[&str], block: &str) -> Option<serde_json::Value> {
    let compared = compare(sandbox, "check-block.py", "specification-block.txt", further, block)?;
    assert_eq!(compared.ended, CommandEnd::Exit(0), "{compared:?}\n{block}");
    serde_json::from_str(compared.stdout()).ok()
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
    write_untitled_checklist(&sandbox);
    Some(sandbox)
}

/// The shipped checklist without its titles.
fn write_untitled_checklist(sandbox: &Sandbox) {
    sandbox.verify_run(["gate", "init"]).outcome();
    let checklist = sandbox.read(".verify-run/qa-checklist.yml");
    let lines = checklist.lines().filter(|line| !line.trim().starts_with("title:") && line.trim() != "items:");
    sandbox.write(".verify-run/qa-checklist.yml", lines.map(|line| format!("{line}\n")).collect::<String>());
}

#[test]
fn a_report_has_the_headings_and_tables_of_the_specification_once_and_in_order() {
    let Some(sandbox) = rejected_project() else { return };
    assert_eq!(evaluate(&sandbox)["verdict"], "reject");
    let report = sandbox.verify_run(["gate", "show"]).prints();
    let Some(compared) = compare(&sandbox, "check-report.py", "specification-report.md", &[], &report) else { return };
    assert_eq!((compared.ended, compared.stdout()), (CommandEnd::Exit(0), "31 parts\n"), "{compared:?}\n{report}");
    for table in report.split("\n\n").filter(|part| part.starts_with('|')) {
        let columns: Vec<usize> = table.lines().map(|row| row.replace("\\|", "").matches('|').count()).collect();
        assert!(columns.iter().all(|count| *count == columns[0]), "{table}");
    }
    assert!(report.contains("script") && !report.contains("<script>"), "{report}");
    let other = report.replacen("### Qualidade de Código", "### Code", 1);
    let compared = compare(&sandbox, "check-report.py", "specification-report.md", &[], &other).expect("Python");
    assert_eq!(compared.ended, CommandEnd::Exit(1), "another heading is noticed");
}

#[test]
fn an_approved_report_has_the_skeleton_of_the_specification_too() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    write_untitled_checklist(&sandbox);
    assert_eq!(evaluate(&sandbox)["verdict"], "approve");
    let report = sandbox.verify_run(["gate", "show"]).prints();
    let Some(compared) = compare(&sandbox, "check-report.py", "specification-report.md", &[], &report) else { return };
    assert_eq!(compared.ended, CommandEnd::Exit(0), "{compared:?}\n{report}");
}

#[test]
fn headings_are_english_where_the_settings_say_so() {
    let sandbox = failing_project();
    let untitled = super::checklist(&[("X1", "sh check.sh")]);
    sandbox.write(".verify-run/qa-checklist.yml", untitled.replace("functionality:", "funcionalidade:"));
    let heading = |setting: &str| {
        user_settings(&sandbox, setting);
        judge(&sandbox);
        let report = sandbox.verify_run(["gate", "show"]).prints();
        let headings: Vec<String> = report
            .lines()
            .filter(|line| line.starts_with("### F") || line.contains("Memory"))
            .map(str::to_owned)
            .collect();
        headings
    };
    assert_eq!(heading(""), ["## Memory Context (from claude-self-reflect)", "### Funcionalidade"]);
    assert_eq!(heading("[gate]\nheadings = \"en\"\n"), ["## Memory Context", "### Functionality"]);
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
    assert_eq!(checked.ended, CommandEnd::Exit(0), "{checked:?}\n{report}");
    let linted = sandbox.bare(markdownlint).arg("report.md").outcome();
    assert_eq!(linted.ended, CommandEnd::Exit(0), "{linted:?}\n{report}");
}

#[test]
fn the_status_block_has_the_lines_of_the_specification_and_nothing_else() {
    let Some(sandbox) = rejected_project() else { return };
    let outcome = gate(&sandbox).args(["--format", "block"]).outcome();
    let Some(values) = read_block(&sandbox, &[], outcome.stdout()) else { return };
    let count = |key: &str| values[key].as_str().and_then(|text| text.parse::<u64>().ok()).expect("a count");
    assert_eq!(count("CHECKS_PASSING") + count("CHECKS_FAILING"), count("CHECKS_TOTAL"));
    assert_eq!((&values["VERDICT"], &values["STATUS"]), (&"REJECT".into(), &"IN_PROGRESS".into()));
    let again = sandbox.verify_run(["gate", "status", "--block"]).prints();
    assert_eq!(read_block(&sandbox, &[], &again), Some(values));
    let other = again.replace("PHASE: QA", "PHASE: QA ");
    let compared = compare(&sandbox, "check-block.py", "specification-block.txt", &[], &other).expect("Python");
    assert_eq!(compared.ended, CommandEnd::Exit(1), "a blank at the end of a line is noticed");
}

#[test]
fn a_finished_block_is_complete_and_a_stopped_one_is_blocked_where_the_settings_say_so() {
    let Some(sandbox) = python_project() else { return };
    add_feature(&sandbox);
    let block = gate(&sandbox).args(["--exit-signal", "--format", "block"]).outcome();
    let Some(values) = read_block(&sandbox, &[], block.stdout()) else { return };
    assert_eq!((&values["STATUS"], &values["CAN_EXIT"]), (&"COMPLETE".into(), &"true".into()));
    let stopped = failing_project();
    stopped.write("note.txt", "a change\n");
    (0..3).for_each(|_| drop(judge(&stopped)));
    let status = || stopped.verify_run(["gate", "status", "--block"]).prints();
    let values = read_block(&stopped, &[], &status()).expect("a block");
    assert_eq!((&values["STATUS"], &values["STATE"]), (&"IN_PROGRESS".into(), &"OPEN".into()));
    user_settings(&stopped, "[gate]\nstatus_blocked = true\n");
    let values = read_block(&stopped, &["BLOCKED"], &status()).expect("a block");
    assert_eq!(values["STATUS"], "BLOCKED");
}
