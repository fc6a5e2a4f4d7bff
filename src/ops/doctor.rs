//! `doctor`: the checkup of everything that verify-run needs here.

use std::path::PathBuf;

use serde::Serialize;

use super::library;
use super::reply::Reply;
use super::request::Request;
use crate::checkup::{self, CheckDepth, CheckStatus, Finding, findings_of_problems};
use crate::event::EVENT_VERSION;
use crate::recorder;
use crate::whitelist::Whitelist;

/// Everything that was looked at.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DoctorReport {
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

/// Looks at everything, changes nothing but what recording waiting runs changes; what the trial of isolation showed is
/// remembered.
pub(crate) fn diagnose_installation(request: &Request, depth: CheckDepth) -> Reply<DoctorReport> {
    let (settings, problems) = (request.settings(), request.settings_problems().to_vec());
    let mut findings = vec![checkup::check_state_folder(&request.places)];
    findings.extend(checkup::check_waiting_runs(&request.places));
    findings.extend(checkup::check_store(&request.places, depth, &|damage| super::store::heal_index(request, damage)));
    findings.extend(checkup::check_snapshots(&request.places, settings, depth));
    findings.push(checkup::check_lessons_folder(&request.places, settings));
    findings.extend(checkup::check_lesson_files(&request.places, settings, depth));
    findings.extend(checkup::check_packagers(&request.places, settings));
    findings.extend(findings_of_problems("settings", "no problems in verify-run.toml", problems));
    let (_, problems) = Whitelist::load(&request.places, &request.environment);
    findings.extend(findings_of_problems("whitelist", "no problems in whitelist.toml", problems));
    let problems =
        recorder::definitions::load_definitions(&request.places, &request.environment, &settings.categories).problems;
    findings.extend(findings_of_problems("definitions", "no problems in the tool definitions", problems));
    findings.extend(checkup::check_advice(settings));
    findings.extend(checkup::check_promotions(&request.places));
    findings.extend(library_findings(request));
    let problems = super::warn::template_problems(request);
    findings.extend(findings_of_problems("formatters", "no problems in templates", problems));
    if let Some(problems) = super::strategy::settings_problems(settings) {
        findings.extend(findings_of_problems(
            "strategies",
            "no problems in the strategies of verify-run.toml",
            problems,
        ));
    }
    findings.extend(checkup::host_findings(&request.places, &request.environment));
    findings.push(checkup::check_isolation(&request.places.state));
    findings.extend(waiting_jobs(request));
    findings.extend(checkup::check_platform());
    Reply::from(DoctorReport {
        version: env!("CARGO_PKG_VERSION"),
        event_version: EVENT_VERSION,
        platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        root: request.places.root.clone(),
        findings,
    })
}

/// What is wrong in the pattern library, where there is one.
fn library_findings(request: &Request) -> Vec<Finding> {
    let found = match library::library_findings(request) {
        Ok(found) => found,
        Err(error) => return vec![checkup::library_unreadable(&error.to_string())],
    };
    found.iter().map(|it| checkup::library_finding(it.path.as_ref(), &it.why)).collect()
}

/// That jobs wait for isolation that this machine does not give, with the setting that decides it.
fn waiting_jobs(request: &Request) -> Option<Finding> {
    let (waiting, level) = library::jobs_without_isolation(request)?;
    Some(checkup::check_waiting_jobs(&request.places.state, waiting, level))
}
