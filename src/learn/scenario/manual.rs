//! A scenario that a person writes: the template, filled in as far as it is known, and the reader of what comes back. The
//! labels are those of the specification's template, line by line.

use std::fmt::Write as _;

use crate::event::{MissingScenario, ScenarioCommand, ScenarioRecord, ScenarioService, ScenarioSource};

/// A scenario file, bytes.
pub(crate) const MANUAL_BYTES_MAX: usize = 64 << 10;
/// Commands and services of one scenario.
const COMMANDS_MAX: usize = 20;
/// Seconds that a run of a scenario may take.
const TIME_LIMIT_S: u64 = 600;
/// Words that only a shell understands.
const SHELL_MARKS: [&str; 8] = ["|", ";", "&&", "||", ">", "<", "$(", "&"];

/// What is wrong with a scenario file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub(crate) struct ManualScenarioError {
    /// The line, from 1; 0 of something that is missing.
    pub line: usize,
    /// A lowercase fragment.
    pub reason: String,
}

/// A scenario that a person wrote and signed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ManualScenario {
    /// What it says.
    pub scenario: ScenarioRecord,
    /// Who signed it.
    pub approver: String,
    /// The date, as written.
    pub date: String,
    /// The signature or acknowledgement.
    pub signature: String,
}

/// The template with what is known of a job.
pub(crate) fn render_manual_template(task: &str, manifest: &str, snapshot: &str, missing: &MissingScenario) -> String {
    let partial = missing.partial.clone().unwrap_or_default();
    let commands = |list: &[ScenarioCommand]| {
        let spans: Vec<String> = list.iter().map(|command| format!("`{}`", shell_words::join(&command.argv))).collect();
        spans.join(", ")
    };
    let mut out = String::from("# Manual Scenario Template\n\n");
    let _ = writeln!(out, "- Task ID: {task}");
    let _ = writeln!(out, "- Run ID / Manifest path: {manifest}");
    let _ = write!(out, "- Snapshot tag / commit SHA / tarball digest: {snapshot}\n\n## Scenario\n\n");
    let _ = writeln!(out, "- Setup commands (install/build): {}", commands(&partial.setup));
    let entrypoint = if partial.entrypoint.argv.is_empty() { String::new() } else { commands(&[partial.entrypoint]) };
    let _ = writeln!(out, "- Entrypoint command: {entrypoint}");
    out.push_str("- Env vars / secrets (redact values):\n- Fixtures / data seeds:\n");
    out.push_str(
        "- Services to start (ports, health checks):\n- Expected signals (logs, exit codes, artifacts): exit 0\n\n",
    );
    let _ = write!(out, "## Notes\n\n- Source(s) used (execution history, prompts, diffs, templates):\n");
    let _ = write!(out, "- Risks or deviations from automated heuristics: {}\n\n", missing.why);
    out.push_str("## Approval\n\n- Approver (name/id):\n- Date:\n- Signature / acknowledgement:\n");
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

impl ManualScenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// What is wrong with it, at its line.
    pub(crate) fn parse(text: &str) -> Result<ManualScenario, ManualScenarioError> {
        let mut manual = ManualScenario::default();
        manual.scenario.source = ScenarioSource::Manual;
        manual.scenario.score = 100;
        manual.scenario.time_limit_s = TIME_LIMIT_S;
        for (line, text) in (1..).zip(text.lines()) {
            let Some((label, value)) = text.trim().strip_prefix("- ").and_then(|text| text.split_once(':')) else {
                continue;
            };
            let (label, value) = (label.trim(), value.trim());
            let at = |reason: String| ManualScenarioError { line, reason };
            match label {
                "Setup commands (install/build)" => {
                    manual.scenario.setup = read_commands(value).map_err(at)?;
                }
                "Entrypoint command" => {
                    let mut commands = read_commands(value).map_err(at)?;
                    if commands.len() > 1 {
                        return Err(at("more than one entrypoint: write one command".to_owned()));
                    }
                    manual.scenario.entrypoint = commands.pop().unwrap_or_default();
                }
                "Env vars / secrets (redact values)" => read_variables(value, &mut manual.scenario).map_err(at)?,
                "Services to start (ports, health checks)" => {
                    manual.scenario.services = read_services(value).map_err(at)?;
                }
                "Approver (name/id)" => value.clone_into(&mut manual.approver),
                "Date" => value.clone_into(&mut manual.date),
                "Signature / acknowledgement" => value.clone_into(&mut manual.signature),
                _ => {}
            }
        }
        let wanted = [
            ("Entrypoint command", manual.scenario.entrypoint.argv.is_empty()),
            ("Approver (name/id)", manual.approver.is_empty()),
            ("Date", manual.date.is_empty()),
            ("Signature / acknowledgement", manual.signature.is_empty()),
        ];
        match wanted.iter().find(|(_, is_missing)| *is_missing) {
            Some((label, _)) => Err(ManualScenarioError {
                line: line_of_label(text, label),
                reason: format!("\"{label}\" is not filled in"),
            }),
            None => Ok(manual),
        }
    }
}

fn line_of_label(text: &str, label: &str) -> usize {
    (1..)
        .zip(text.lines())
        .find(|(_, line)| line.trim().starts_with(&format!("- {label}:")))
        .map_or(0, |(line, _)| line)
}

/// Commands in code spans, or one command without any: each as words, without a shell.
fn read_commands(value: &str) -> Result<Vec<ScenarioCommand>, String> {
    let lines: Vec<&str> =
        if value.contains('`') { value.split('`').skip(1).step_by(2).collect() } else { vec![value] };
    let lines: Vec<&str> = lines.into_iter().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.len() > COMMANDS_MAX {
        return Err(format!("more than {COMMANDS_MAX} commands"));
    }
    lines.into_iter().map(read_command).collect()
}

fn read_command(line: &str) -> Result<ScenarioCommand, String> {
    let (dir, line) = match line.strip_prefix("cd ").and_then(|rest| rest.split_once("&&")) {
        Some((dir, rest)) => (dir.trim().trim_matches('/').to_owned(), rest.trim()),
        None => (String::new(), line),
    };
    if dir.split('/').any(|part| part == "..") {
        return Err(format!("the folder {dir:?} is outside of the project"));
    }
    let argv = shell_words::split(line).map_err(|error| format!("cannot read the command {line:?}: {error}"))?;
    if let Some(mark) = argv.iter().find(|word| SHELL_MARKS.contains(&word.as_str()) || word.contains("$(")) {
        return Err(format!(
            "{mark:?} needs a shell, and commands are run without one: write a script into the project"
        ));
    }
    Ok(ScenarioCommand { argv, dir })
}

fn read_variables(value: &str, scenario: &mut ScenarioRecord) -> Result<(), String> {
    for pair in value.replace('`', "").split([',', ' ']).filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or_else(|| format!("{pair:?} is not NAME=value"))?;
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            return Err(format!("{name:?} is not the name of a variable"));
        }
        scenario.environment.insert(name.to_owned(), value.to_owned());
    }
    Ok(())
}

/// Pairs of a command and its health check: `` `redis-server --port 7001`, `redis-cli -p 7001 ping` ``.
fn read_services(value: &str) -> Result<Vec<ScenarioService>, String> {
    let commands = if value.contains('`') { read_commands(value)? } else { Vec::new() };
    if !commands.len().is_multiple_of(2) {
        return Err(
            "each service needs two commands: one that starts it and one that exits with 0 once it is ready".to_owned()
        );
    }
    let pairs = commands.chunks_exact(2);
    Ok(pairs.map(|pair| ScenarioService { command: pair[0].clone(), health: pair[1].clone() }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ManualReason;

    fn template() -> String {
        let argv = ["pytest", "tests/test_a.py"].map(str::to_owned).to_vec();
        let partial =
            ScenarioRecord { entrypoint: ScenarioCommand { argv, dir: String::new() }, ..ScenarioRecord::default() };
        let why = "installed packages differ".to_owned();
        let missing = MissingScenario { reason: ManualReason::Dependencies, why, partial: Some(partial) };
        render_manual_template(
            "fix-login",
            ".runs/fix-login/learn/j-1/manifest.json",
            "tag / 4f1c / sha256:00",
            &missing,
        )
    }

    fn signed() -> String {
        template()
            .replace("install/build):", "install/build): `npm ci --offline`, `cd web && npm run build`")
            .replace("(redact values):", "(redact values): NODE_ENV=test, LANG=C")
            .replace("health checks):", "health checks): `redis-server --port 7001`, `redis-cli -p 7001 ping`")
            .replace("(name/id):", "(name/id): Ada")
            .replace("- Date:", "- Date: 2026-11-26")
            .replace("acknowledgement:", "acknowledgement: I have read it")
    }

    #[test]
    fn the_template_has_the_labels_of_the_specification() {
        insta::assert_snapshot!(template());
    }

    #[test]
    fn a_signed_scenario_is_read_back() {
        let manual = ManualScenario::parse(&signed()).expect("a scenario");
        let lines = |commands: &[ScenarioCommand]| -> Vec<(String, String)> {
            commands.iter().map(|command| (command.dir.clone(), command.argv.join(" "))).collect()
        };
        let setup = [("".to_owned(), "npm ci --offline".to_owned()), ("web".to_owned(), "npm run build".to_owned())];
        assert_eq!(lines(&manual.scenario.setup), setup);
        assert_eq!(manual.scenario.entrypoint.argv, ["pytest", "tests/test_a.py"]);
        assert_eq!(manual.scenario.environment["NODE_ENV"], "test");
        assert_eq!(manual.scenario.services[0].health.argv, ["redis-cli", "-p", "7001", "ping"]);
        assert_eq!((manual.approver.as_str(), manual.date.as_str()), ("Ada", "2026-11-26"));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named_with_its_line() {
        let broken = |text: String| ManualScenario::parse(&text).expect_err("broken").to_string();
        assert_eq!(broken(template()), "line 23: \"Approver (name/id)\" is not filled in");
        assert!(broken(signed().replace("pytest tests", "pytest | tests")).contains("needs a shell"));
        assert!(broken(signed().replace("cd web", "cd ../web")).contains("outside of the project"));
        assert!(broken(signed().replace("NODE_ENV=test", "NODE_ENV")).contains("is not NAME=value"));
        assert!(broken(signed().replace(", `redis-cli -p 7001 ping`", "")).contains("two commands"));
        assert!(broken(String::new()).contains("Entrypoint command"));
    }
}
