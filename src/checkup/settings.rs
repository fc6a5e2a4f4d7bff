//! What settings and the platform turn off.

use crate::config::{Settings, is_disabled};

use super::finding::{CheckStatus, Finding, new_finding, with_hint};

/// What is turned off, and who isn't warned.
pub(crate) fn check_advice(settings: &Settings) -> Vec<Finding> {
    let advice = &settings.advice;
    let off = [("warnings", advice.warnings), ("learning", advice.learning), ("injection", advice.injection)];
    let off = off.iter().filter(|(_, on)| !on).map(|(name, _)| format!("disabled: advice.{name}"));
    let mut findings: Vec<Finding> = off.map(|message| new_finding("advice", CheckStatus::Ok, message, None)).collect();
    let share = advice.held_out() * 100.0;
    let message = if share > 0.0 {
        format!(
            "{share:.0} % of tasks and families are held out from warnings, to measure whether warnings help; \
             advice.holdout = false turns that off"
        )
    } else {
        "the holdout is off: every task gets warnings, and their effect is not measured".to_owned()
    };
    findings.push(new_finding("advice", CheckStatus::Ok, message, None));
    findings
}

/// What this platform does differently.
pub(crate) fn check_platform() -> Vec<Finding> {
    let mut findings = Vec::new();
    if cfg!(target_os = "macos") {
        let message = "macOS is experimental: signals whose origin is unknown are not forwarded";
        findings.push(new_finding("platform", CheckStatus::Warning, message, None));
    }
    if is_disabled() {
        let message = "VERIFY_RUN_DISABLE is set: commands run bare and nothing is recorded";
        findings.push(with_hint(
            new_finding("environment", CheckStatus::Warning, message, None),
            "unset VERIFY_RUN_DISABLE",
        ));
    }
    findings
}
