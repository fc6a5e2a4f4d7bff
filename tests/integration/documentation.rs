//! The examples of README.md and of docs/, and the table of what agents' hooks can do.

use std::path::Path;

use verify_run::host::agent::{AGENTS, probe};
use verify_run::host::dialect::{DIALECTS, Moment, Rewriting};

use crate::sandbox::VERIFY_RUN;

#[test]
fn the_examples_of_the_documentation_are_true() {
    trycmd::TestCases::new()
        .register_bin("verify-run", std::path::Path::new(VERIFY_RUN))
        .case("README.md")
        .case("docs/*.md")
        .case("docs/*/*.md");
}

#[test]
fn the_documentation_says_what_the_hooks_of_each_agent_can_do() {
    let rows = DIALECTS.map(|dialect| {
        let agent = AGENTS.iter().find(|agent| agent.name == dialect.name).expect("an agent");
        let rewrites = match dialect.rewriting {
            Rewriting::Asks => "yes",
            Rewriting::Allows => "with `--rewrite`",
            Rewriting::Never => "no",
        };
        let ends = [("post-tool", Moment::AfterTool), ("post-fail", Moment::AfterFailure)].map(|(name, moment)| {
            let said = probe::payload(agent.name, name, Path::new("/p"))?;
            dialect.read(moment, &said).ended.filter(|ended| ended.code != 0)
        });
        let ended = ends.into_iter().flatten().next();
        let tells =
            ended.as_ref().map_or("no", |ended| if ended.output.is_some() { "yes" } else { "without its output" });
        let hears = |moment| dialect.hears.contains(&moment);
        let after = hears(Moment::AfterTool) || hears(Moment::AfterFailure);
        let texts = [
            ("edit, command", hears(Moment::BeforeTool)),
            ("failure", after && ended.is_some()),
            ("start", hears(Moment::SessionStart)),
            ("prompt", hears(Moment::Prompt)),
        ];
        let texts: Vec<&str> = texts.into_iter().filter(|(_, is_heard)| *is_heard).map(|(name, _)| name).collect();
        let texts = if texts.is_empty() { "never".to_owned() } else { texts.join(", ") };
        format!("| {} | {rewrites} | {tells} | {texts} |\n", agent.title)
    });
    let head = "| agent | puts verify-run before checks | tells how a check ended | passes texts on to the model |\n";
    let table = format!("{head}| --- | --- | --- | --- |\n{}\n", rows.concat());
    assert!(
        include_str!("../../docs/integrations/agents.md").contains(&table),
        "docs/integrations/agents.md should have:\n{table}"
    );
}
