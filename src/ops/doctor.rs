//! `doctor`: the checkup of everything that verify-run needs here.

use std::path::PathBuf;

use serde::Serialize;

use crate::checkup::{self, CheckStatus, Finding, findings_of_problems};
use crate::config::{Environment, Places, Settings};
use crate::event::EVENT_VERSION;
use crate::recorder;
use crate::whitelist::Whitelist;

/// Everything that was looked at.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DoctorReport {
    /// Version of this shape.
    pub schema: u32,
    /// Of the program.
    pub version: &'static str,
    /// Of the events it writes.
    pub event_version: u32,
    /// `linux x86_64`.
    pub platform: String,
    /// What paths are relative to.
    pub root: PathBuf,
    /// In the order in which a run meets them.
    pub findings: Vec<Finding>,
}

impl DoctorReport {
    /// Whether anything does not work.
    pub(crate) fn has_problems(&self) -> bool {
        self.findings.iter().any(|finding| finding.status == CheckStatus::Problem)
    }
}

/// Looks at everything, changes nothing but what recording waiting runs changes.
pub(crate) fn diagnose_installation(places: &Places, environment: &Environment) -> DoctorReport {
    let (settings, problems) = Settings::load(places, environment);
    let mut findings = vec![checkup::check_state_folder(places)];
    findings.extend(checkup::check_waiting_runs(places));
    findings.extend(checkup::check_store(places, &|damage| super::store::heal_index(places, damage)));
    findings.extend(checkup::check_snapshots(places, &settings));
    findings.push(checkup::check_lessons_folder(places, &settings));
    findings.extend(checkup::check_lesson_files(places, &settings));
    findings.extend(checkup::check_packagers(places, &settings));
    findings.extend(findings_of_problems("settings", "no problems in verify-run.toml", problems));
    let (_, problems) = Whitelist::load(places, environment);
    findings.extend(findings_of_problems("whitelist", "no problems in whitelist.toml", problems));
    let problems = recorder::definitions::load_definitions(places, environment, &settings.categories).problems;
    findings.extend(findings_of_problems("definitions", "no problems in the tool definitions", problems));
    findings.extend(checkup::check_advice(&settings));
    findings.extend(checkup::check_promotions(places));
    let problems = super::warn::template_problems(places, environment);
    findings.extend(findings_of_problems("formatters", "no problems in templates", problems));
    if let Some(problems) = super::strategy::settings_problems(&settings) {
        findings.extend(findings_of_problems(
            "strategies",
            "no problems in the strategies of verify-run.toml",
            problems,
        ));
    }
    findings.extend(checkup::host_findings(places, environment));
    findings.extend(checkup::check_platform());
    DoctorReport {
        schema: 1,
        version: env!("CARGO_PKG_VERSION"),
        event_version: EVENT_VERSION,
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        root: places.root.clone(),
        findings,
    }
}
