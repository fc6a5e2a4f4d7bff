//! The template of the quality gate for GitHub Actions: its steps are run as GitHub runs them.

use std::fs;

use verify_run::run::CommandEnd;

use super::yaml;
use crate::gate::checklist;
use crate::sandbox::{Outcome, Sandbox};

/// Runs the step of this name with these variables.
fn run_step(sandbox: &Sandbox, name: &str, variables: &[(&str, &str)]) -> Outcome {
    let template = yaml("hooks/ci/github/gate.yml");
    let steps = template["jobs"]["gate"]["steps"].as_array().expect("steps");
    let step = steps.iter().find(|step| step["name"] == name).expect("the step");
    let script = step["run"].as_str().expect("a script");
    let mut invocation = sandbox.bare("bash").args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]);
    for (name, value) in variables {
        invocation = invocation.env(name, value);
    }
    invocation.outcome()
}

/// A project whose tests are a script, with verify-run on the PATH.
fn project(script: &str) -> Sandbox {
    let mut sandbox = Sandbox::repository();
    sandbox.add_path(std::path::Path::new(env!("CARGO_BIN_EXE_verify-run")).parent().expect("a folder").to_owned());
    sandbox.write("check.sh", script);
    sandbox.commit("The project");
    sandbox
}

#[test]
fn the_gate_of_a_pull_request_writes_its_report_and_ends_as_the_verdict_says() {
    let sandbox = project("exit 0\n");
    sandbox.write(".verify-run/qa-checklist.yml", checklist(&[("X1", "sh check.sh")]));
    sandbox.commit("The policy");
    let summary = sandbox.tmp().join("summary");
    let summary_path = summary.to_str().expect("UTF-8");
    let digest = sandbox.verify_run(["gate", "trust", "--digest"]).prints();
    let gate = |trust: &str| {
        run_step(&sandbox, "Gate", &[("BASE", "HEAD"), ("TRUST", trust), ("GITHUB_STEP_SUMMARY", summary_path)])
    };
    let untrusted = gate("");
    assert_eq!(untrusted.ended, CommandEnd::Exit(2), "{untrusted:?}");
    let approved = gate(digest.trim());
    assert_eq!(approved.ended, CommandEnd::Exit(0), "{approved:?}");
    let report = fs::read_to_string(&summary).expect("a summary");
    assert!(report.contains("## Verdict: ✅ APPROVED"), "{report}");
    sandbox.write("check.sh", "exit 1\n");
    let rejected = gate(digest.trim());
    assert_eq!(rejected.ended, CommandEnd::Exit(1), "{rejected:?}");
    assert!(rejected.stdout().contains("::error "), "{rejected:?}");
    assert!(fs::read_to_string(&summary).expect("a summary").contains("## Verdict: ❌ REJECTED"));
}

#[test]
fn only_a_signed_receipt_of_this_very_tree_skips_the_tests() {
    let sandbox = project("exit 0\n");
    let runs = |sandbox: &Sandbox| run_step(sandbox, "Tests", &[("COMMAND", "sh check.sh; echo it ran")]);
    assert!(runs(&sandbox).stdout().contains("it ran"));
    sandbox.write("gate-receipt.json", "{}\n");
    sandbox.write("gate-receipt.pub", "no key\n");
    let forged = runs(&sandbox);
    assert!(forged.stdout().contains("it ran") && forged.ended == CommandEnd::Exit(0), "{forged:?}");
}
