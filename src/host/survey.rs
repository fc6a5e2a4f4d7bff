//! What a project has: what it is made with, who runs its hooks and its CI, which agents are at work in it.

use std::path::Path;

use serde::Serialize;

use super::agent::{AGENTS, Stack};

/// What a project is made with, and what is set up in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProjectSurvey {
    /// What it is made with.
    pub stacks: Vec<Stack>,
    /// Agents with something in the project.
    pub agents: Vec<&'static str>,
    /// Agents with something in the home folder.
    pub agents_at_home: Vec<&'static str>,
    /// What runs its git hooks.
    pub hook_managers: Vec<&'static str>,
    /// What runs its CI.
    pub ci: Vec<&'static str>,
}

const HOOK_MANAGERS: [(&str, &[&str]); 4] = [
    ("pre-commit", &[".pre-commit-config.yaml"]),
    ("lefthook", &["lefthook.yml", ".lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json"]),
    ("husky", &[".husky"]),
    ("hk", &["hk.pkl"]),
];
const CI: [(&str, &[&str]); 6] = [
    ("GitHub Actions", &[".github/workflows"]),
    ("GitLab CI", &[".gitlab-ci.yml"]),
    ("Buildkite", &[".buildkite"]),
    ("Jenkins", &["Jenkinsfile"]),
    ("CircleCI", &[".circleci"]),
    ("Azure Pipelines", &["azure-pipelines.yml"]),
];

impl ProjectSurvey {
    /// Looks at the names at the top of a project, and of the home folder.
    pub fn of(root: &Path, home: Option<&Path>) -> Self {
        let named = |list: &[(&'static str, &[&str])]| {
            let there = list.iter().filter(|(_, signs)| signs.iter().any(|sign| root.join(sign).exists()));
            there.map(|(name, _)| *name).collect()
        };
        // A project at the home folder itself has nothing of its own there.
        let in_project = AGENTS.iter().filter(|agent| home != Some(root) && agent.is_in(root));
        let at_home = AGENTS.iter().filter(|agent| home.is_some_and(|home| agent.is_at_home(home)));
        ProjectSurvey {
            stacks: Stack::of(root),
            agents: in_project.map(|agent| agent.name).collect(),
            agents_at_home: at_home.map(|agent| agent.name).collect(),
            hook_managers: named(&HOOK_MANAGERS),
            ci: named(&CI),
        }
    }
}
