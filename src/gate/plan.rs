//! What an evaluation would run: every item of the checklist in every project. Values in, values out.

use std::path::PathBuf;

use serde::Serialize;

use super::adapter::{Adapter, reading_command};
use super::policy::{
    ChangeKind, Checklist, ChecklistItem, CommandSpec, ItemSource, MappedCommand, ToolsMapping, english_category,
};
use super::stack::StackProject;

/// Programs that run another one, each with the words that come first. Options between them and the tool are skipped.
const RUNNERS: [&[&str]; 12] = [
    &["npx"],
    &["bunx"],
    &["pnpm", "exec"],
    &["pnpm", "dlx"],
    &["yarn", "exec"],
    &["yarn", "dlx"],
    &["uvx"],
    &["uv", "run"],
    &["poetry", "run"],
    &["pdm", "run"],
    &["hatch", "run"],
    &["bundle", "exec"],
];

/// The word of a command that is replaced by the changed files of a project.
const FILES: &str = "{files}";

/// An item in a project, or in the whole work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PlannedItem {
    /// `C2`
    pub item: String,
    /// The category's key, in English.
    pub category: String,
    /// Whether it stops an approval.
    pub blocking: bool,
    /// The condition, as written.
    pub validation: String,
    /// The project's folder; empty for the root; `null` for the whole work tree.
    pub dir: Option<String>,
    /// The project's stack.
    pub stack: Option<String>,
    /// What would give the numbers.
    pub source: PlannedSource,
    /// What a person should know about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What would give the numbers of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum PlannedSource {
    /// A command.
    Command {
        /// As the policy writes it.
        line: String,
        /// The words that are executed.
        argv: Vec<String>,
        /// Its program, as a file; `null` when it is not installed.
        program: Option<PathBuf>,
        /// What reads its output; `null` when only the exit status counts.
        adapter: Option<&'static str>,
        /// The file that names it, with the line; `null` when it is shipped.
        origin: Option<String>,
        /// Whether a shell runs it.
        is_shell: bool,
        /// The word of `argv` that names the tool; a package runner and its options come before it.
        #[serde(skip)]
        tool_at: usize,
        /// Whether a person approved the file that names it.
        trusted: bool,
    },
    /// The gate's own measure of this.
    Builtin {
        /// `complexity`
        measure: &'static str,
    },
    /// A method of the gate.
    Method {
        /// `grep_readme`
        method: &'static str,
    },
    /// Nothing: the item would not be evaluated.
    Nothing,
}

/// Where a policy file is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PolicyOrigin {
    /// The file; `None` for the shipped policy.
    pub file: Option<String>,
    /// Whether its commands may run: it is shipped or the user's own, or a person approved this content.
    pub trusted: bool,
}

/// The policy, with where it is from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedPolicy<'a> {
    /// The checklist.
    pub checklist: &'a Checklist,
    /// The file of the checklist.
    pub checklist_origin: &'a PolicyOrigin,
    /// The tools mapping.
    pub mapping: &'a ToolsMapping,
    /// The file of the mapping.
    pub mapping_origin: &'a PolicyOrigin,
}

/// Plans an evaluation. `find_program` finds a program by its name from a project's folder (relative to the root); `kind` is
/// the kind of the change, where it is known.
pub(crate) fn plan_items(
    policy: PlannedPolicy<'_>,
    projects: &[StackProject],
    kind: Option<ChangeKind>,
    find_program: &dyn Fn(&str, &str) -> Option<PathBuf>,
) -> Vec<PlannedItem> {
    let mut planned = Vec::new();
    for category in &policy.checklist.categories {
        for item in &category.items {
            let new = |project: Option<&StackProject>, (source, notes): (PlannedSource, Vec<String>)| PlannedItem {
                item: item.id.clone(),
                category: english_category(&category.key).to_owned(),
                blocking: item.blocking,
                validation: item.validation.clone(),
                dir: project.map(|project| project.dir.clone()),
                stack: project.map(|project| project.stack.clone()),
                source,
                notes: notes.into_iter().chain(applicability_note(item, kind)).collect(),
            };
            match &item.source {
                ItemSource::Method(method) => {
                    planned.push(new(None, (PlannedSource::Method { method: method.name() }, Vec::new())));
                }
                ItemSource::Command { line, is_shell } => {
                    let command = PlainCommand {
                        line,
                        is_shell: *is_shell,
                        adapter: None,
                        executed: None,
                        origin: policy.checklist_origin,
                        file_line: item.line,
                    };
                    planned.push(new(None, plan_command(command, None, "", find_program)));
                }
                ItemSource::Mapped(measure) if projects.is_empty() => {
                    let reason = format!("no stack is recognised here, so nothing measures its {}", measure.key());
                    planned.push(new(None, (PlannedSource::Nothing, vec![reason])));
                }
                ItemSource::Mapped(measure) => {
                    let each = projects
                        .iter()
                        .map(|project| new(Some(project), plan_measure(policy, *measure, project, find_program)));
                    planned.extend(each);
                }
            }
        }
    }
    planned
}

/// Why an item would not be judged, where the policy or the kind of the change says so.
fn applicability_note(item: &ChecklistItem, kind: Option<ChangeKind>) -> Option<String> {
    if let Some(said) = &item.not_applicable {
        return Some(format!("does not apply: {} ({})", said.reason, said.by));
    }
    let kind = kind?;
    let is_left_out = !item.applies_to.is_empty() && !item.applies_to.contains(&kind);
    is_left_out.then(|| {
        let kinds: Vec<&str> = item.applies_to.iter().map(|kind| kind.name()).collect();
        format!("does not apply to a change of kind {}, only to {}", kind.name(), kinds.join(", "))
    })
}

/// A command of a policy.
#[derive(Debug, Clone, Copy)]
struct PlainCommand<'a> {
    line: &'a str,
    is_shell: bool,
    adapter: Option<&'a str>,
    /// Another line that is executed in its place.
    executed: Option<&'a str>,
    origin: &'a PolicyOrigin,
    file_line: usize,
}

/// What measures this in a project: the first command of the mapping whose program is installed, else the first one.
fn plan_measure(
    policy: PlannedPolicy<'_>,
    measure: MappedCommand,
    project: &StackProject,
    find_program: &dyn Fn(&str, &str) -> Option<PathBuf>,
) -> (PlannedSource, Vec<String>) {
    let stack = policy.mapping.stack(&project.stack);
    let specs = stack.map_or(&[][..], |stack| stack.specs(measure));
    let report = stack.and_then(|stack| stack.test_report.as_ref()).filter(|_| measure == MappedCommand::Test);
    let mut missing = Vec::new();
    let mut first = None;
    for spec in specs {
        let (source, mut notes) = match spec {
            CommandSpec::Builtin => (PlannedSource::Builtin { measure: measure.key() }, Vec::new()),
            // Whatever the mapping names: jscpd reads `node_modules` where nothing ignores it.
            CommandSpec::Command { .. } if measure == MappedCommand::Duplication => {
                (PlannedSource::Builtin { measure: measure.key() }, Vec::new())
            }
            CommandSpec::None => {
                (PlannedSource::Nothing, vec![format!("no tool for the {} of {}", measure.key(), project.stack)])
            }
            CommandSpec::Command { line, file_line, adapter, is_shell, .. } => {
                let command = PlainCommand {
                    line,
                    is_shell: *is_shell,
                    adapter: report.map(|report| report.adapter.as_str()).or(adapter.as_deref()),
                    executed: report.map(|report| report.line.as_str()),
                    origin: policy.mapping_origin,
                    file_line: *file_line,
                };
                plan_command(command, Some(measure), &project.dir, find_program)
            }
        };
        if !matches!(source, PlannedSource::Command { program: None, .. }) {
            missing.append(&mut notes);
            return (source, missing);
        }
        missing.extend(notes.iter().cloned());
        first.get_or_insert(source);
    }
    match first {
        Some(source) => (source, missing),
        None => (PlannedSource::Nothing, vec![format!("the mapping has no {} for {}", measure.key(), project.stack)]),
    }
}

fn plan_command(
    command: PlainCommand<'_>,
    measure: Option<MappedCommand>,
    dir: &str,
    find_program: &dyn Fn(&str, &str) -> Option<PathBuf>,
) -> (PlannedSource, Vec<String>) {
    let words = if command.is_shell {
        vec!["sh".to_owned(), "-c".to_owned(), command.line.to_owned()]
    } else {
        shell_words::split(command.executed.unwrap_or(command.line)).unwrap_or_default()
    };
    let tool_at = if command.is_shell { 0 } else { tool_position(&words) };
    let tool = words.get(tool_at).cloned().unwrap_or_default();
    let program = find_program(&tool, dir);
    let known = command.adapter.and_then(Adapter::from_name);
    let (argv, adapter) = match (known, measure) {
        (None, Some(measure)) if !command.is_shell => {
            let reading = reading_command(measure, &tool, tool_at, &words);
            (reading.words, reading.adapter)
        }
        _ => (words.clone(), known),
    };
    let mut notes = Vec::new();
    if program.is_none() {
        notes.push(format!("{tool} is not installed"));
    }
    let source = PlannedSource::Command {
        line: command.line.to_owned(),
        argv,
        program,
        adapter: adapter.map(Adapter::name),
        origin: command.origin.file.as_ref().map(|file| format!("{file}:{}", command.file_line)),
        is_shell: command.is_shell,
        tool_at,
        trusted: command.origin.trusted,
    };
    (source, notes)
}

/// The word that names the tool: the one behind a package runner, else the first.
fn tool_position(words: &[String]) -> usize {
    let is_runner = |runner: &&&[&str]| {
        words.len() > runner.len() && runner.iter().zip(words).all(|(expected, word)| word == expected)
    };
    let Some(runner) = RUNNERS.iter().find(is_runner) else { return 0 };
    let behind = words[runner.len()..].iter().position(|word| !word.starts_with('-') && word != FILES);
    behind.map_or(0, |at| runner.len() + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::policy::{SHIPPED_CHECKLIST, SHIPPED_MAPPING};

    fn plan(stack: &str, installed: &[&str], mapping: &str) -> Vec<String> {
        let checklist = Checklist::parse(SHIPPED_CHECKLIST, "c").expect("the shipped checklist");
        let mapping = ToolsMapping::parse(mapping, "m").expect("a mapping");
        let origin = PolicyOrigin { file: None, trusted: true };
        let policy = PlannedPolicy {
            checklist: &checklist,
            checklist_origin: &origin,
            mapping: &mapping,
            mapping_origin: &origin,
        };
        let projects = [StackProject { dir: String::new(), stack: stack.to_owned(), marker: String::new() }];
        let find = |name: &str, _: &str| installed.contains(&name).then(|| PathBuf::from("/bin").join(name));
        let planned = plan_items(policy, &projects, Some(ChangeKind::Fix), &find);
        let line = |it: &PlannedItem| match &it.source {
            PlannedSource::Command { argv, .. } => format!("{}: {} {:?}", it.item, argv.join(" "), it.notes),
            PlannedSource::Builtin { measure } => format!("{}: builtin {measure}", it.item),
            PlannedSource::Method { method } => format!("{}: {method} {:?}", it.item, it.notes),
            PlannedSource::Nothing => format!("{}: nothing {:?}", it.item, it.notes),
        };
        planned.iter().map(line).collect()
    }

    #[test]
    fn the_second_linter_stands_in_for_the_first_and_that_is_said() {
        let lines = plan("golang", &["go"], SHIPPED_MAPPING);
        assert_eq!(lines[0], "F1: go test -json ./... []");
        assert_eq!(lines[2], "C1: go vet ./... [\"golangci-lint is not installed\"]");
        assert_eq!(lines[3], "C2: gocyclo -over 0 {files} [\"gocyclo is not installed\"]");
        assert_eq!(lines[4], "C3: builtin duplication");
        assert_eq!(lines[6], "D1: grep_readme [\"does not apply to a change of kind fix, only to feature\"]");
    }

    #[test]
    fn a_package_runner_is_seen_through() {
        let lines = plan("javascript", &["npm", "eslint"], SHIPPED_MAPPING);
        assert_eq!(lines[2], "C1: npx eslint . []");
        assert_eq!(lines[4], "C3: builtin duplication");
        let words = |line: &str| shell_words::split(line).expect("words");
        let cases =
            [("npx --no-install eslint .", 2), ("uv run pytest -q", 2), ("pnpm test", 0), ("pytest", 0), ("npx", 0)];
        for (line, at) in cases {
            assert_eq!(tool_position(&words(line)), at, "{line}");
        }
    }

    #[test]
    fn a_stack_without_a_tool_says_so() {
        let lines = plan("lua", &[], SHIPPED_MAPPING);
        assert_eq!(lines[5], "C4: nothing [\"no tool for the naming of lua\"]");
        let none = plan("elixir", &[], SHIPPED_MAPPING);
        assert_eq!(none[0], "F1: nothing [\"the mapping has no test for elixir\"]");
    }
}
