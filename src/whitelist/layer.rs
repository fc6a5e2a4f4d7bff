//! A layer of the whitelist as it is written: the TOML of `whitelist.toml`. The file's own header is the manual.
//!
//! The build script compiles this module too, so it imports nothing but its neighbours and serde.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::kind::CheckKind;

/// The only version of the format so far: the value of `verify_run_schema`.
pub(super) const SCHEMA: i64 = 1;

/// A whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WhitelistLayer {
    /// [`SCHEMA`]; a file without it is not verify-run's.
    pub verify_run_schema: Option<i64>,
    /// Names of tools and runners of lower layers that are no longer recognised.
    pub remove: Vec<String>,
    /// What holds for every tool.
    pub every: EveryToolRules,
    /// Names of scripts and targets.
    pub scripts: WhitelistScripts,
    /// Packages whose program has another name.
    pub packages: BTreeMap<String, String>,
    /// Commands to see through.
    pub runner: Vec<WhitelistRunner>,
    /// Checks.
    pub tool: Vec<WhitelistTool>,
}

/// What holds for every tool.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct EveryToolRules {
    /// Arguments that make a call no check.
    pub deny: Vec<String>,
    /// The same, when it is the only argument.
    pub deny_alone: Vec<String>,
}

/// Which scripts and targets (npm scripts, make targets, …) are checks, by their names.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WhitelistScripts {
    /// First parts of a name.
    pub words: Vec<String>,
    /// The same, of targets and shell scripts alone: what other programs of such names do is anything.
    pub targets: Vec<String>,
    /// Parts that may precede the first one.
    pub prefixes: Vec<String>,
    /// Words that may be continued with letters and digits (`test1`, `tests`, `lintall`); `*check` is one that so ends.
    pub stems: Vec<String>,
    /// Last parts of a name of several.
    pub endings: Vec<String>,
    /// The same of a file that is run (`cart_test.rb`).
    pub file_endings: Vec<String>,
    /// Parts that make a name of several a check wherever they are (`docker-test-all`).
    pub inside: Vec<String>,
    /// Formatters: checks only with one of `check_args`.
    pub formatters: Vec<String>,
    /// Arguments that make a formatter a check.
    pub check_args: Vec<String>,
    /// Last parts of the names of files whose argument says what they do (`./ci.sh lint`).
    pub drivers: Vec<String>,
    /// Parts that make a name no check wherever they are.
    pub deny: Vec<String>,
    /// Parts that do so unless it is checked or verified (`verify-codegen`).
    pub deny_unasked: Vec<String>,
    /// Parts that do so at a name's end, unless something is linted or built of it (`ui`, `build:ui`).
    pub deny_last: Vec<String>,
    /// Arguments that make a call of a script no check.
    pub deny_args: Vec<String>,
    /// Beginnings of parts that tell the kind, and endings as `*fmt`; the first kind in the order test, lint, type, format, build wins.
    pub kinds: BTreeMap<String, Vec<String>>,
}

/// A check.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "each is a word of the file format")]
pub(super) struct WhitelistTool {
    pub name: String,
    pub kind: CheckKind,
    #[serde(default)]
    pub language: String,
    #[serde(default)]
    pub bins: Vec<String>,
    #[serde(default)]
    pub modules: Vec<String>,
    #[serde(default)]
    pub sub: Vec<String>,
    #[serde(default)]
    pub anywhere: bool,
    #[serde(default)]
    pub need: Vec<String>,
    #[serde(default)]
    pub need_for: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub contains: Vec<String>,
    #[serde(default)]
    pub deny: Vec<String>,
    #[serde(default)]
    pub fixes: Vec<String>,
    #[serde(default)]
    pub kind_of: BTreeMap<String, CheckKind>,
    #[serde(default)]
    pub value_options: Vec<String>,
    #[serde(default)]
    pub dir_options: Vec<String>,
    #[serde(default)]
    pub ignore: Vec<String>,
    #[serde(default)]
    pub task_options: Vec<String>,
    #[serde(default)]
    pub interpreter: bool,
    #[serde(default)]
    pub wrapper: bool,
    #[serde(default)]
    pub versioned: bool,
    #[serde(default)]
    pub exit: ExitCodeMeanings,
    #[serde(default)]
    pub evidence: String,
}

/// What exit codes mean, as far as it was measured.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ExitCodeMeanings {
    pub findings: Vec<ExitCodeRange>,
    pub did_not_run: Vec<ExitCodeRange>,
    pub empty: Vec<ExitCodeRange>,
}

/// A code, or a range of codes written `"1-249"`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum ExitCodeRange {
    One(u8),
    Range(String),
}

impl ExitCodeRange {
    /// First and last code; `None` if it isn't a range.
    pub(super) fn bounds(&self) -> Option<(u8, u8)> {
        match self {
            ExitCodeRange::One(code) => Some((*code, *code)),
            ExitCodeRange::Range(text) => {
                let (first, last) = text.split_once('-')?;
                let bounds = (first.parse().ok()?, last.parse().ok()?);
                (bounds.0 <= bounds.1).then_some(bounds)
            }
        }
    }
}

/// What follows a runner's own options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RunnerTarget {
    /// A program with its arguments.
    Command,
    /// The name of a script or target; unless `or_command` and it is a program that a rule names.
    Script,
    /// Names of scripts, or whole lines as one argument each.
    Scripts,
    /// A file that the runner interprets.
    File,
    /// Words that a shell gets as one line.
    Line,
    /// The runner itself again, without the sub-command (`mix do test`).
    Again,
}

/// A command to see through.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "each is a word of the file format")]
pub(super) struct WhitelistRunner {
    pub name: String,
    pub bins: Vec<String>,
    pub then: RunnerTarget,
    #[serde(default)]
    pub sub: Vec<String>,
    #[serde(default)]
    pub deny: Vec<String>,
    #[serde(default)]
    pub value_options: Vec<String>,
    #[serde(default)]
    pub dir_options: Vec<String>,
    #[serde(default)]
    pub select_options: Vec<String>,
    #[serde(default)]
    pub select_flags: Vec<String>,
    #[serde(default)]
    pub line_options: Vec<String>,
    #[serde(default)]
    pub module_options: Vec<String>,
    #[serde(default)]
    pub command_options: Vec<String>,
    #[serde(default)]
    pub script_options: Vec<String>,
    #[serde(default)]
    pub script: String,
    #[serde(default)]
    pub manifest: String,
    #[serde(default)]
    pub skip: u8,
    #[serde(default)]
    pub skip_selects: bool,
    #[serde(default)]
    pub skip_versions: bool,
    #[serde(default)]
    pub assignments: bool,
    #[serde(default)]
    pub dashdash: bool,
    #[serde(default)]
    pub packages: bool,
    #[serde(default)]
    pub or_command: bool,
    #[serde(default)]
    pub many: bool,
    #[serde(default)]
    pub project: bool,
    #[serde(default)]
    pub late_options: bool,
    #[serde(default)]
    pub elsewhere: bool,
    #[serde(default)]
    pub own_status: bool,
    #[serde(default)]
    pub versioned: bool,
}

/// What is wrong with a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WhitelistError {
    /// The line, from 1, if one is known.
    pub line: Option<usize>,
    /// A lowercase fragment.
    pub reason: String,
    /// The layer can't be used.
    pub fatal: bool,
}

impl WhitelistLayer {
    /// Reads a layer. `Ok(None)` when the file is not verify-run's.
    ///
    /// # Errors
    /// What is wrong, when the file can't be used.
    pub(super) fn parse(text: &str) -> Result<Option<WhitelistLayer>, WhitelistError> {
        if !text.contains("verify_run_schema") {
            return Ok(None);
        }
        let layer: WhitelistLayer = match toml::from_str(text) {
            Ok(layer) => layer,
            // A newer format may have words that this version does not know: its version is the better answer.
            Err(error) => match text.parse::<toml::Table>() {
                Ok(table) if !table.contains_key("verify_run_schema") => return Ok(None),
                Ok(table) if table["verify_run_schema"].as_integer() != Some(SCHEMA) => {
                    return Err(unknown_schema_error(text, &table["verify_run_schema"].to_string()));
                }
                _ => {
                    let line = error.span().map(|span| line_number_at(text, span.start));
                    let reason = error.message().lines().next().unwrap_or_default().to_owned();
                    return Err(WhitelistError { line, reason, fatal: true });
                }
            },
        };
        match layer.verify_run_schema {
            None => Ok(None),
            Some(SCHEMA) => match layer.find_errors(text).into_iter().find(|fault| fault.fatal) {
                Some(fault) => Err(fault),
                None => Ok(Some(layer)),
            },
            Some(other) => Err(unknown_schema_error(text, &other.to_string())),
        }
    }

    /// Everything that is wrong with a layer that could be read.
    pub(super) fn find_errors(&self, text: &str) -> Vec<WhitelistError> {
        let mut faults = Vec::new();
        let mut fault = |needle: &str, reason: String, fatal: bool| {
            faults.push(WhitelistError { line: find_line_number(text, needle), reason, fatal });
        };
        let mut names: Vec<&str> = Vec::new();
        let rules = self.tool.iter().map(|tool| &tool.name).chain(self.runner.iter().map(|runner| &runner.name));
        for name in rules {
            if name.is_empty() {
                fault("name = \"\"", "a rule has an empty name".to_owned(), true);
            } else if names.contains(&name.as_str()) {
                fault(name, format!("two rules are named `{name}`"), true);
            }
            names.push(name);
        }
        for tool in &self.tool {
            if tool.bins.is_empty() && tool.modules.is_empty() {
                fault(
                    &tool.name,
                    format!("`{}` names neither `bins` nor `modules`, so nothing matches it", tool.name),
                    true,
                );
            }
            let codes = [&tool.exit.findings, &tool.exit.did_not_run, &tool.exit.empty];
            for code in codes.into_iter().flatten() {
                if code.bounds().is_none() {
                    fault(
                        &tool.name,
                        format!("`{}` has an exit code that is neither 0-255 nor a range like \"1-9\"", tool.name),
                        true,
                    );
                }
            }
            for sub in tool.need_for.keys().chain(tool.kind_of.keys()) {
                let known =
                    tool.sub.iter().any(|entry| entry.split('|').any(|word| word == sub)) || tool.bins.contains(sub);
                if !known {
                    fault(
                        &tool.name,
                        format!("`{}` configures `{sub}`, which is not in its `sub` or `bins`", tool.name),
                        false,
                    );
                }
            }
        }
        for kind in self.scripts.kinds.keys() {
            if !KINDS.contains(&kind.as_str()) {
                fault(kind, format!("unknown kind `{kind}`: use one of {}", KINDS.join(", ")), true);
            }
        }
        faults
    }
}

/// The kinds in the order in which script names are asked for them.
pub(super) const KINDS: [&str; 5] = ["test", "lint", "type", "format", "build"];

fn unknown_schema_error(text: &str, schema: &str) -> WhitelistError {
    let reason = format!("verify_run_schema is {schema}, but this version of verify-run knows {SCHEMA}");
    WhitelistError { line: find_line_number(text, "verify_run_schema"), reason, fatal: true }
}

/// As `base::text::line_number`: the build script compiles this file without the crate.
fn line_number_at(text: &str, offset: usize) -> usize {
    1 + text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count()
}

/// The first line with a quoted or bare `needle`.
fn find_line_number(text: &str, needle: &str) -> Option<usize> {
    let quoted = format!("\"{needle}\"");
    let position = |needle: &str| text.lines().position(|line| line.contains(needle)).map(|index| index + 1);
    position(&quoted).or_else(|| position(needle))
}
