//! Who runs the command: named by options and variables, else recognised from what agents and CI systems set.

use super::spool::Identity;

/// An agent: its name, the variables it sets for the commands it runs, that with the session's id, and that with the model.
type AgentRow = (&'static str, &'static [&'static str], Option<&'static str>, Option<&'static str>);

/// Agents by their variables, most telling first. A terminal that a person opens inside an editor may carry the editor's
/// variables, so this is a hint. (The order of vercel/detect-agent 1.2.7 and unjs/std-env 4.3.0.)
const AGENTS: &[AgentRow] = &[
    ("cursor", &["CURSOR_TRACE_ID", "CURSOR_AGENT"], Some("CURSOR_TRACE_ID"), None),
    ("gemini-cli", &["GEMINI_CLI"], Some("GEMINI_SESSION_ID"), None),
    ("codex", &["CODEX_SANDBOX", "CODEX_CI", "CODEX_THREAD_ID"], Some("CODEX_THREAD_ID"), None),
    ("antigravity", &["ANTIGRAVITY_AGENT"], None, None),
    ("augment", &["AUGMENT_AGENT"], None, None),
    ("opencode", &["OPENCODE", "OPENCODE_CLIENT"], Some("OPENCODE_SESSION_ID"), None),
    ("claude-code", &["CLAUDECODE", "CLAUDE_CODE"], Some("CLAUDE_CODE_SESSION_ID"), None),
    ("replit", &["REPL_ID"], None, None),
    (
        "copilot",
        &["COPILOT_MODEL", "COPILOT_ALLOW_ALL", "COPILOT_GITHUB_TOKEN", "COPILOT_CLI"],
        None,
        Some("COPILOT_MODEL"),
    ),
    ("goose", &["GOOSE_PROVIDER"], Some("AGENT_SESSION_ID"), Some("GOOSE_MODEL")),
];

/// The agent of the runs that the quality gate starts.
pub const GATE_AGENT: &str = "gate";

/// CI systems by a variable that is the same for all steps of one job.
const CI_JOBS: &[&str] = &["GITHUB_RUN_ID", "CI_JOB_ID", "BUILDKITE_JOB_ID", "CIRCLE_WORKFLOW_JOB_ID", "BUILD_TAG"];

/// Completes what the options said from `variable` (an environment) and the terminal's session.
///
/// An empty value counts as none.
pub fn identify(options: Identity, variable: impl Fn(&str) -> Option<String>, session: i32) -> Identity {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let row = AGENTS.iter().find(|(_, names, ..)| names.iter().any(|name| set(name).is_some()));
    // Older versions of Jenkins don't set CI.
    let in_ci = set("CI").is_some_and(|value| value != "false" && value != "0") || set("JENKINS_URL").is_some();
    // What agents that we know put into AI_AGENT has their version in it, and differs for what they start.
    let known = || row.map(|(name, ..)| (*name).to_owned()).or_else(|| set("AI_AGENT"));
    let other = || Some(if in_ci { "ci" } else { "human" }.to_owned());
    let agent = options.agent.or_else(|| set("VERIFY_RUN_AGENT")).or_else(known).or_else(other);
    let host = || row.and_then(|(_, _, session, _)| session.and_then(set));
    let job = || if in_ci { CI_JOBS.iter().find_map(|name| set(name)).map(|id| format!("ci-{id}")) } else { None };
    let model = || row.and_then(|(.., model)| model.and_then(set));
    let found = options.session.or_else(|| set("VERIFY_RUN_SESSION")).or_else(host).or_else(job);
    Identity {
        task: options.task.or_else(|| set("VERIFY_RUN_TASK")),
        session: Some(found.unwrap_or_else(|| format!("tty-{session}"))),
        agent,
        model: options.model.or_else(|| set("VERIFY_RUN_MODEL")).or_else(model),
        phase: options.phase.or_else(|| set("VERIFY_RUN_PHASE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &'static [(&'static str, &'static str)], options: Identity) -> Identity {
        let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        identify(options, find, 77)
    }

    #[test]
    fn a_person_is_named_by_the_terminal_session() {
        let identity = with(&[], Identity::default());
        assert_eq!((identity.agent.as_deref(), identity.session.as_deref()), (Some("human"), Some("tty-77")));
        assert_eq!(identity.task, None);
    }

    #[test]
    fn an_agent_brings_its_session_even_in_ci() {
        let identity =
            with(&[("CLAUDECODE", "1"), ("CLAUDE_CODE_SESSION_ID", "abc"), ("CI", "true")], Identity::default());
        assert_eq!((identity.agent.as_deref(), identity.session.as_deref()), (Some("claude-code"), Some("abc")));
    }

    #[test]
    fn goose_names_its_session_to_the_commands_it_runs() {
        let identity = with(&[("GOOSE_PROVIDER", "x"), ("AGENT_SESSION_ID", "abc")], Identity::default());
        assert_eq!((identity.agent.as_deref(), identity.session.as_deref()), (Some("goose"), Some("abc")));
    }

    #[test]
    fn an_agent_has_one_name_in_all_its_versions() {
        let named = |variables| with(variables, Identity::default()).agent;
        let claude = named(&[("CLAUDECODE", "1"), ("AI_AGENT", "claude-code_2-1-330_agent")]);
        assert_eq!(claude.as_deref(), Some("claude-code"));
        assert_eq!(named(&[("AI_AGENT", "new")]).as_deref(), Some("new"));
    }

    #[test]
    fn a_ci_job_is_one_session() {
        let identity = with(&[("CI", "true"), ("GITHUB_RUN_ID", "9")], Identity::default());
        assert_eq!((identity.agent.as_deref(), identity.session.as_deref()), (Some("ci"), Some("ci-9")));
    }

    #[test]
    fn options_win_over_variables_and_empty_values_say_nothing() {
        let options = Identity { task: Some("T".into()), agent: Some("me".into()), ..Identity::default() };
        let identity =
            with(&[("VERIFY_RUN_TASK", "V"), ("VERIFY_RUN_SESSION", "S"), ("VERIFY_RUN_AGENT", "")], options);
        assert_eq!(
            (identity.task.as_deref(), identity.session.as_deref(), identity.agent.as_deref()),
            (Some("T"), Some("S"), Some("me"))
        );
    }

    #[test]
    fn the_model_is_named_by_our_variable_or_that_of_the_recognised_agent() {
        let named = |variables| with(variables, Identity::default()).model;
        assert_eq!(named(&[("COPILOT_MODEL", "gpt-5")]).as_deref(), Some("gpt-5"));
        assert_eq!(named(&[("COPILOT_MODEL", "gpt-5"), ("VERIFY_RUN_MODEL", "opus")]).as_deref(), Some("opus"));
        assert_eq!(named(&[("CLAUDECODE", "1"), ("COPILOT_MODEL", "gpt-5")]), None, "another agent's variable");
        assert_eq!(named(&[("VERIFY_RUN_MODEL", "")]), None);
    }
}
