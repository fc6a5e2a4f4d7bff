//! CI systems: which one this is, and where it takes reports.

mod job_report;

use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) use job_report::JobReport;

/// A CI system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CiSystem {
    /// GitHub Actions, and what speaks its language (Forgejo, Gitea).
    Github,
    /// GitLab CI.
    Gitlab,
    /// Buildkite.
    Buildkite,
    /// Jenkins.
    Jenkins,
    /// Any other.
    Other,
}

/// The job that this process is part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CiJob {
    /// The system.
    pub host: CiSystem,
    /// A file that takes Markdown for the job's page (`GITHUB_STEP_SUMMARY`).
    pub summary: Option<PathBuf>,
    /// A file that takes `name=value` for later steps (`GITHUB_OUTPUT`).
    pub outputs: Option<PathBuf>,
}

/// A system with the variable that it sets, and its value if that matters.
const SYSTEMS: [(CiSystem, &str, Option<&str>); 4] = [
    (CiSystem::Github, "GITHUB_ACTIONS", Some("true")),
    (CiSystem::Gitlab, "GITLAB_CI", Some("true")),
    (CiSystem::Buildkite, "BUILDKITE", Some("true")),
    (CiSystem::Jenkins, "JENKINS_URL", None),
];

/// Templates to start from, by host.
const TEMPLATES: [(CiSystem, &str); 4] = [
    (CiSystem::Github, include_str!("../../hooks/ci/github/action.yml")),
    (CiSystem::Gitlab, include_str!("../../hooks/ci/gitlab.yml")),
    (CiSystem::Buildkite, include_str!("../../hooks/ci/buildkite.yml")),
    (CiSystem::Jenkins, include_str!("../../hooks/ci/Jenkinsfile")),
];

impl CiJob {
    /// Recognised by the variables that the system sets; `None` outside of CI.
    pub fn recognise(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let is_named = |(_, name, wanted): &&(CiSystem, &str, Option<&str>)| {
            set(name).is_some_and(|value| wanted.is_none_or(|wanted| value == wanted))
        };
        let in_ci = || set("CI").is_some_and(|value| value != "false" && value != "0");
        let host = SYSTEMS.iter().find(is_named).map(|(host, ..)| *host);
        Some(Self::of(host.or_else(|| in_ci().then_some(CiSystem::Other))?, variable))
    }

    /// A job of this system.
    pub fn of(host: CiSystem, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let file = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let of_github = |name: &str| if host == CiSystem::Github { file(name) } else { None };
        CiJob { host, summary: of_github("GITHUB_STEP_SUMMARY"), outputs: of_github("GITHUB_OUTPUT") }
    }

    /// Appends to the job's page the first of these texts that it has room for; nothing where the job has no page.
    ///
    /// # Errors
    /// The operating system's.
    pub fn append_to_page(&self, texts: &[&str]) -> std::io::Result<()> {
        let Some(page) = &self.summary else { return Ok(()) };
        job_report::append_to_page(page, |room| {
            texts.iter().find(|text| text.len() <= room).map_or_else(String::new, |text| (*text).to_owned())
        })
    }
}

impl CiSystem {
    /// What people put into their repository to begin with; `None` for a system that we know nothing of.
    pub fn template(self) -> Option<&'static str> {
        TEMPLATES.iter().find(|(host, _)| *host == self).map(|(_, text)| *text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(variables: &[(&str, &str)]) -> Option<CiJob> {
        CiJob::recognise(|name| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn a_system_is_known_by_what_it_sets() {
        let host = |variables: &[(&str, &str)]| job(variables).map(|job| job.host);
        assert_eq!(host(&[("CI", "true"), ("GITHUB_ACTIONS", "true")]), Some(CiSystem::Github));
        assert_eq!(host(&[("CI", "true"), ("GITLAB_CI", "true")]), Some(CiSystem::Gitlab));
        assert_eq!(host(&[("BUILDKITE", "true")]), Some(CiSystem::Buildkite));
        assert_eq!(host(&[("JENKINS_URL", "http://localhost/")]), Some(CiSystem::Jenkins));
        assert_eq!(host(&[("CI", "1")]), Some(CiSystem::Other));
        assert_eq!(host(&[("CI", "false"), ("GITHUB_ACTIONS", "")]), None);
        assert_eq!(host(&[]), None);
    }

    #[test]
    fn only_github_s_files_are_written_and_only_by_a_whole_path() {
        let files = [("GITHUB_STEP_SUMMARY", "/tmp/s"), ("GITHUB_OUTPUT", "o")];
        let github = job(&[&[("GITHUB_ACTIONS", "true")][..], &files].concat()).expect("a job");
        assert_eq!((github.summary, github.outputs), (Some("/tmp/s".into()), None));
        assert_eq!(job(&[&[("CI", "true")][..], &files].concat()).expect("a job").summary, None);
    }
}
