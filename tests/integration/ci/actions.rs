//! A composite action's steps, run as the runner runs them: `ScriptHandlerHelpers.cs`, `ProcessInvoker.cs`. The storage
//! between jobs (artifacts) is a folder.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::*;

/// The outcome of a step.
pub(super) struct Step {
    pub id: String,
    pub outcome: Outcome,
    /// What it wrote for the job's page.
    pub summary: String,
}

/// One use of the action in a job.
pub(super) struct Job<'a> {
    pub sandbox: &'a Sandbox,
    /// Values given; the others have their defaults.
    pub inputs: Vec<(&'a str, &'a str)>,
    /// Artifacts of the workflow's run.
    pub artifacts: &'a Path,
    /// What is on the page before each step.
    pub page: String,
    /// The name of the job.
    pub name: &'a str,
    /// The steps' stdin is closed, not only at its end.
    pub closed: bool,
}

/// The outcome of all steps, and the action's outputs.
pub(super) struct Done {
    pub steps: Vec<Step>,
    pub outputs: BTreeMap<String, String>,
}

impl Done {
    pub(super) fn step(&self, id: &str) -> &Step {
        self.steps.iter().find(|step| step.id == id).unwrap_or_else(|| panic!("{id} was skipped"))
    }
}

impl Job<'_> {
    /// Runs the steps one after the other; what one leaves behind is ended.
    pub(super) fn run(&self) -> Done {
        let action = yaml("hooks/ci/github/action.yml");
        assert_eq!(action["runs"]["using"], "composite");
        let mut values = self.values(&action);
        let mut done = Done { steps: Vec::new(), outputs: BTreeMap::new() };
        let mut has_failed = false;
        for (number, step) in action["runs"]["steps"].as_array().expect("steps").iter().enumerate() {
            let condition = step["if"].as_str().map_or("success()".to_owned(), |text| bare(text).to_owned());
            let wanted = condition.split("&&").all(|term| holds(term.trim(), &values));
            if !wanted || has_failed && !condition.contains("always()") {
                continue;
            }
            if let Some(uses) = step["uses"].as_str() {
                assert_eq!(step["continue-on-error"], true, "{uses}: storage fails no job");
                self.store(uses, &step["with"], &values);
                continue;
            }
            let id = step["id"].as_str().expect("an id").to_owned();
            let (outcome, outputs, summary) = self.script(number, step, &values);
            for (name, value) in outputs {
                values.insert(format!("steps.{id}.outputs.{name}"), value);
            }
            has_failed |= outcome.ended != CommandEnd::Exit(0);
            done.steps.push(Step { id, outcome, summary });
        }
        for (name, output) in action["outputs"].as_object().expect("outputs") {
            done.outputs.insert(name.clone(), filled(output["value"].as_str().expect("a value"), &values));
        }
        done
    }

    /// The contexts of expressions.
    fn values(&self, action: &Value) -> BTreeMap<String, String> {
        let mut values = BTreeMap::new();
        for (name, input) in action["inputs"].as_object().expect("inputs") {
            let given = self.inputs.iter().find(|(given, _)| given == name).map(|(_, value)| (*value).to_owned());
            let value = given.or_else(|| input["default"].as_str().map(str::to_owned));
            values.insert(format!("inputs.{name}"), value.unwrap_or_else(|| panic!("input {name} is required")));
        }
        let temp = self.temp();
        fs::create_dir_all(&temp).expect("the runner's temporary folder");
        let fixed = [
            ("runner.temp", temp.to_str().expect("UTF-8")),
            ("github.job", self.name),
            ("github.run_id", "77"),
            ("github.run_attempt", "1"),
            ("strategy.job-index", "0"),
        ];
        values.extend(fixed.map(|(name, value)| (name.to_owned(), value.to_owned())));
        values
    }

    fn temp(&self) -> PathBuf {
        self.sandbox.tmp().join("runner")
    }

    /// `run:` of a step: a file given to the shell, stdin at its end, stdout and stderr pipes.
    fn script(
        &self,
        number: usize,
        step: &Value,
        values: &BTreeMap<String, String>,
    ) -> (Outcome, Vec<(String, String)>, String) {
        assert_eq!(step["shell"], "bash");
        let file = |name: &str, text: &str| {
            let file = self.temp().join(format!("{number}-{name}"));
            fs::write(&file, text).expect("a file of the runner's");
            file
        };
        let script = file("script.sh", step["run"].as_str().expect("a script"));
        assert!(!step["run"].to_string().contains("${{"), "values are no part of a script");
        let (output, page) = (file("output", ""), file("summary", &self.page));
        let mut shell = self
            .sandbox
            .bare("bash")
            .args(["--noprofile", "--norc", "-e", "-o", "pipefail"])
            .arg(&script)
            .stdin("")
            .env("CI", "true")
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_RUN_ID", "77")
            .env("GITHUB_JOB", self.name)
            .env("GITHUB_OUTPUT", &output)
            .env("GITHUB_STEP_SUMMARY", &page)
            .env("RUNNER_TEMP", self.temp())
            .env("RUNNER_TRACKING_ID", "github_0a");
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            shell = shell.env(name, filled(value.as_str().expect("text"), values));
        }
        if let Some(folder) = step["working-directory"].as_str() {
            shell = shell.dir(filled(folder, values));
        }
        if self.closed {
            shell = shell.closed_fd(0);
        }
        let outcome = shell.outcome();
        kill_the_rest(self.sandbox);
        let outputs = fs::read_to_string(&output).expect("the outputs");
        let outputs = outputs.lines().map(|line| line.split_once('=').unwrap_or_else(|| panic!("no output: {line}")));
        let outputs = outputs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let page = fs::read_to_string(&page).expect("the page");
        let summary = page.strip_prefix(&self.page).expect("what was there stays").to_owned();
        assert!(page.len() <= 1 << 20, "GitHub drops the whole page");
        (outcome, outputs, summary)
    }

    /// `uses:` of a step: what the storage actions do to files.
    fn store(&self, uses: &str, with: &Value, values: &BTreeMap<String, String>) {
        let field = |name: &str| filled(with[name].as_str().unwrap_or_else(|| panic!("{uses}: {name}")), values);
        let folder = PathBuf::from(field("path"));
        match uses.split('@').next() {
            Some("actions/download-artifact") => {
                assert_eq!((field("pattern"), &with["merge-multiple"]), ("verify-run-*".to_owned(), &true.into()));
                for artifact in folders(self.artifacts) {
                    copy(&artifact, &folder);
                }
            }
            Some("actions/upload-artifact") => {
                let name = field("name");
                assert!(
                    name.starts_with("verify-run-") && !name.contains(['"', ':', '<', '>', '|', '*', '?', '/']),
                    "{name}"
                );
                copy(&folder, &self.artifacts.join(name));
            }
            Some("actions/cache/restore" | "actions/cache/save") => {
                assert!(field("key").starts_with("verify-run-77-1-"))
            }
            _ => panic!("{uses} is not known here"),
        }
    }
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

/// Copies the files of a folder that may not be there.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for file in crate::sandbox::files_in(from) {
        let name = file.file_name().expect("a name");
        assert!(!name.to_string_lossy().starts_with('.'), "hidden files are left out: {}", file.display());
        let copied = to.join(name);
        fs::copy(&file, &copied).expect("a copy");
        // An artifact is an archive that keeps no permissions.
        fs::set_permissions(copied, fs::Permissions::from_mode(0o644)).expect("permissions");
    }
}

/// What is inside of `${{ … }}`, if that is all.
fn bare(text: &str) -> &str {
    text.trim().strip_prefix("${{").and_then(|text| text.strip_suffix("}}")).unwrap_or(text).trim()
}

/// A text with its expressions replaced.
fn filled(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut rest = text;
    let mut written = String::new();
    while let Some((before, after)) = rest.split_once("${{") {
        let (expression, after) = after.split_once("}}").expect("the end of an expression");
        written.push_str(before);
        written.push_str(&value(expression.trim(), values));
        rest = after;
    }
    written + rest
}

/// A name's value, or a text in quotes. Of a step's outputs one that is missing is empty.
fn value(expression: &str, values: &BTreeMap<String, String>) -> String {
    if let Some(text) = expression.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        return text.to_owned();
    }
    let missing =
        || if expression.starts_with("steps.") { String::new() } else { panic!("no such value: {expression}") };
    values.get(expression).cloned().unwrap_or_else(missing)
}

fn holds(term: &str, values: &BTreeMap<String, String>) -> bool {
    if let "always()" | "success()" = term {
        return true;
    }
    let compared =
        |operator: &str| term.split_once(operator).map(|(a, b)| value(a.trim(), values) == value(b.trim(), values));
    compared("!=").map(|equal| !equal).or_else(|| compared("==")).unwrap_or_else(|| panic!("no condition: {term}"))
}
