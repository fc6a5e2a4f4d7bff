//! The examples of README.md and of docs/, and the table of what agents' hooks can do.

mod blocks;

use std::path::Path;

use verify_run::host::agent::{AGENTS, probe};
use verify_run::host::dialect::{DIALECTS, HookEvent, RewritePolicy};

use crate::pages::redacted;
use crate::sandbox::{Sandbox, VERIFY_RUN, need, skip};

#[test]
fn the_examples_of_the_documentation_are_true() {
    let cases = trycmd::TestCases::new();
    cases.register_bin("verify-run", Path::new(VERIFY_RUN));
    for page in blocks::pages() {
        cases.case(page);
    }
}

/// Blocks that show commands of scripts/demo.
const DEMO_BLOCKS: usize = 6;

/// `scripts/demo` once more: its picture and its text, without what differs from run to run.
fn demo() -> Option<(String, Vec<String>)> {
    need("python3")?;
    let sandbox = Sandbox::new();
    let is_recent = "import sys; sys.exit(sys.version_info < (3, 11))";
    if !sandbox.bare("python3").args(["-c", is_recent]).outcome().ended.passed() {
        skip("python3 is older than 3.11 and names tests in another way");
        return None;
    }
    let (picture, text) = (sandbox.path("demo.svg"), sandbox.path("demo.txt"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/demo");
    let run = sandbox.bare("bash").arg(script).arg(&picture).arg(&text).env("VERIFY_RUN_PROGRAM", VERIFY_RUN);
    run.prints();
    let lines = sandbox.read("demo.txt").lines().map(comparable).collect();
    Some((sandbox.read("demo.svg").lines().map(comparable).collect::<Vec<_>>().join("\n"), lines))
}

/// A line whose columns may be wider by an age.
fn comparable(line: &str) -> String {
    redacted(line).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_demo_and_what_the_documentation_shows_of_it_are_what_the_program_prints() {
    let Some((picture, lines)) = demo() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &Path| std::fs::read_to_string(path).expect("a file");
    let stored: Vec<String> = read(&root.join("docs/demo.svg")).lines().map(comparable).collect();
    assert_eq!(stored.join("\n"), picture, "docs/demo.svg is stale: run scripts/demo");

    let concepts = std::fs::read_dir(root.join("docs/concepts")).expect("a folder");
    let pages = concepts.map(|entry| entry.expect("an entry").path()).chain([root.join("README.md")]);
    let is_shown = |line: &str| lines.contains(&comparable(line));
    let mut compared = 0;
    for page in pages {
        let text = read(&page);
        for block in text.split("```text\n").skip(1) {
            let block = block.split("\n```").next().unwrap_or_default();
            if !block.lines().next().is_some_and(|line| line.starts_with("$ verify-run ") && is_shown(line)) {
                continue;
            }
            compared += 1;
            let stale: Vec<&str> = block.lines().filter(|line| !is_shown(line)).collect();
            assert!(stale.is_empty(), "{} shows what scripts/demo does not:\n{}", page.display(), stale.join("\n"));
        }
    }
    assert_eq!(
        compared,
        DEMO_BLOCKS,
        "blocks of the documentation that show the demo; all lines:\n{}",
        lines.join("\n")
    );
}

#[test]
fn the_documentation_says_what_the_hooks_of_each_agent_can_do() {
    let rows = DIALECTS.map(|dialect| {
        let agent = AGENTS.iter().find(|agent| agent.name == dialect.name).expect("an agent");
        let rewrites = match dialect.rewriting {
            RewritePolicy::Asks => "yes",
            RewritePolicy::Allows => "with `--rewrite`",
            RewritePolicy::Never => "no",
        };
        let ends =
            [("post-tool", HookEvent::AfterTool), ("post-fail", HookEvent::AfterFailure)].map(|(name, moment)| {
                let said = probe::payload(agent.name, name, Path::new("/p"))?;
                dialect.read(moment, &said).ended.filter(|ended| ended.code != 0)
            });
        let ended = ends.into_iter().flatten().next();
        let tells =
            ended.as_ref().map_or("no", |ended| if ended.output.is_some() { "yes" } else { "without its output" });
        let hears = |moment| dialect.hears.contains(&moment);
        let after = hears(HookEvent::AfterTool) || hears(HookEvent::AfterFailure);
        let texts = [
            ("edit, command", hears(HookEvent::BeforeTool)),
            ("failure", after && ended.is_some()),
            ("start", hears(HookEvent::SessionStart)),
            ("prompt", hears(HookEvent::Prompt)),
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
