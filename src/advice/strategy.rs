//! Strategies without a line of code: the settings' `[strategies.NAME]`, which of them fit a failure, and how they read
//! for it.
//!
//! ```toml
//! [strategies.install-types]
//! error = "declaration file for module '(?<module>[^']+)'" # a regex; of these three one at least, and all of them hold
//! category = "missing_dependency"
//! tool = "tsc"
//! technique = "Install the package's types"
//! steps = ["npm install --save-dev @types/{{ module }}", "{{ command }}"]
//! ```
//!
//! Technique and steps are templates (minijinja) of `tool`, `code`, `message`, `file` and `command`, as far as they are
//! known, and of the regex's named groups. What a tool printed stays text in them; `| shell` makes one word of it. A step
//! of which nothing is left is none. Nothing runs them.

use std::collections::BTreeMap;

use regex::{Captures, Regex};
use serde_json::Value;

use super::formatter::{self, TemplateQuoting};
use crate::base::ids;
use crate::base::text::{ellipsis, one_line};
use crate::config::{Category, CategoryTable, Problem, Settings, StrategyTable};
use crate::event::ErrorMatch;
use crate::knowledge::remedy::{STEPS_MAX, compile_error_regex};

/// A strategy's name, bytes.
const NAME_BYTES_MAX: usize = 60;
/// Its regex, bytes.
const ERROR_BYTES_MAX: usize = 1_000;
/// A tool's name, bytes.
const TOOL_BYTES_MAX: usize = 100;
/// What to do, bytes.
const TECHNIQUE_BYTES_MAX: usize = 200;
/// A step, bytes.
const STEP_BYTES_MAX: usize = 1_000;
/// A fact in a template, bytes.
const FACT_BYTES_MAX: usize = 400;
/// What a table has.
const KEYS: [&str; 5] = ["error", "category", "tool", "technique", "steps"];
/// What is known of a failure.
const FACTS: [&str; 5] = ["tool", "code", "message", "file", "command"];
/// As a regex, the error of one that is known by category or tool.
const ANY_ERROR: &str = ".*";

/// A strategy of the settings.
#[derive(Debug, Clone)]
pub(crate) struct DeclaredStrategy {
    /// `s-…`: what it is for and what to do make it, so that its attempts are counted wherever it is called what.
    pub id: String,
    /// What to do, as a template.
    pub technique: String,
    /// How, as templates.
    pub steps: Vec<String>,
    error: Option<Regex>,
    category: Option<Category>,
    tool: Option<String>,
    table: StrategyTable,
}

/// What a strategy is wanted against.
#[derive(Debug, Clone, Default)]
pub(crate) struct StrategySubject<'a> {
    /// All that was said.
    pub text: &'a str,
    /// The category, of a recorded run.
    pub category: Option<&'a str>,
    /// The tool that ran.
    pub tool: Option<&'a str>,
    /// The command line.
    pub command: Option<&'a str>,
    /// What failed; nothing of a text alone.
    pub items: Vec<StrategyDiagnostic<'a>>,
}

/// One thing that failed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StrategyDiagnostic<'a> {
    /// The definition that found it.
    pub tool: &'a str,
    /// Rule, error code or exception class.
    pub code: Option<&'a str>,
    /// The message.
    pub message: &'a str,
    /// The file.
    pub file: Option<&'a str>,
}

/// A strategy as it reads for a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RenderedStrategy {
    /// What to do.
    pub technique: String,
    /// How, one after the other.
    pub steps: Vec<String>,
}

/// What is wrong, with the key that it is wrong with.
type StrategyKeyError = (Option<&'static str>, String);

/// The strategies of the settings, and what is wrong with the others.
pub(crate) fn declared_strategies(settings: &Settings) -> (Vec<DeclaredStrategy>, Vec<Problem>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    for table in settings.strategies.values() {
        match DeclaredStrategy::new(table, &settings.categories) {
            Ok(declared) => found.push(declared),
            Err((key, reason)) => problems.push(table_problem(table, key, &reason)),
        }
    }
    (found, problems)
}

fn table_problem(table: &StrategyTable, key: Option<&str>, reason: &str) -> Problem {
    let key_name = key.map(|key| format!(".{key}")).unwrap_or_default();
    Problem {
        file: table.file.clone(),
        line: table.line(key),
        reason: format!("strategies.{}{key_name}: {reason}", ellipsis(&one_line(&table.name), NAME_BYTES_MAX)),
        hint: "correct it: until then it is not proposed; check again with: verify-run doctor".to_owned(),
        used: true,
        warning: false,
    }
}

impl DeclaredStrategy {
    fn new(table: &StrategyTable, categories: &CategoryTable) -> Result<Self, StrategyKeyError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if table.name.is_empty() || table.name.len() > NAME_BYTES_MAX || !table.name.bytes().all(plain) {
            return Err((None, format!("a name has at most {NAME_BYTES_MAX} letters, digits, `_` and `-`")));
        }
        let keys = table.value.as_object().ok_or_else(|| (None, "is not a table".to_owned()))?;
        if let Some(unknown) = keys.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err((None, format!("unknown key `{}`; known are {}", one_line(unknown), KEYS.join(", "))));
        }
        let text = |key: &'static str, max: usize| keys.get(key).map(|value| parse_text(value, max)).transpose();
        let error = text("error", ERROR_BYTES_MAX).map_err(|reason| (Some("error"), reason))?;
        let category = text("category", TOOL_BYTES_MAX).map_err(|reason| (Some("category"), reason))?;
        let tool = text("tool", TOOL_BYTES_MAX).map_err(|reason| (Some("tool"), reason))?;
        let technique = text("technique", TECHNIQUE_BYTES_MAX).map_err(|reason| (Some("technique"), reason))?;
        let technique = technique.ok_or_else(|| (None, "has no `technique`: say what to do".to_owned()))?;
        if error.is_none() && category.is_none() && tool.is_none() {
            return Err((None, "matches everything: give it an `error`, a `category` or a `tool`".to_owned()));
        }
        let id = ids::declared_strategy(
            error.as_deref().unwrap_or_default(),
            category.as_deref().unwrap_or_default(),
            tool.as_deref().unwrap_or_default(),
            &technique,
        );
        let category = category.map(|name| known_category(&name, categories)).transpose();
        let category = category.map_err(|reason| (Some("category"), reason))?;
        let error = error.map(|error| parse_regex(&error)).transpose().map_err(|reason| (Some("error"), reason))?;
        let steps = parse_steps(keys.get("steps")).map_err(|reason| (Some("steps"), reason))?;
        let declared = DeclaredStrategy { id, technique, steps, error, category, tool, table: table.clone() };
        declared.check_templates()?;
        Ok(declared)
    }

    fn check_templates(&self) -> Result<(), StrategyKeyError> {
        let groups = self.regex_groups();
        let names: Vec<&str> = FACTS.into_iter().chain(groups).collect();
        formatter::check_template(&self.technique, &names).map_err(|fault| (Some("technique"), fault.reason))?;
        for (number, step) in (1..).zip(&self.steps) {
            let told = |fault: formatter::TemplateError| (Some("steps"), format!("step {number}: {}", fault.reason));
            formatter::check_template(step, &names).map_err(told)?;
        }
        Ok(())
    }

    /// The regex's named groups.
    fn regex_groups(&self) -> impl Iterator<Item = &str> {
        self.error.iter().flat_map(|error| error.capture_names().flatten())
    }

    /// Its name in the settings.
    pub(crate) fn name(&self) -> &str {
        &self.table.name
    }

    /// The regex of its error, which any error matches of one that is known by its category or tool.
    pub(crate) fn error_regex(&self) -> &str {
        self.error.as_ref().map_or(ANY_ERROR, Regex::as_str)
    }

    /// How it knows its error.
    pub(crate) fn match_kind(&self) -> ErrorMatch {
        match (&self.error, &self.category) {
            (Some(_), _) => ErrorMatch::Regex,
            (None, Some(_)) => ErrorMatch::Category,
            (None, None) => ErrorMatch::Tool,
        }
    }

    /// Its templates.
    pub(crate) fn as_written(&self) -> RenderedStrategy {
        RenderedStrategy { technique: self.technique.clone(), steps: self.steps.clone() }
    }

    /// How it reads for a failure that it fits; `None` when it doesn't fit. What a text alone does not
    /// show counts as fitting.
    ///
    /// # Errors
    /// When a template can't be rendered with what is known of this failure.
    pub(crate) fn render_for_subject(
        &self,
        subject: &StrategySubject<'_>,
    ) -> Result<Option<RenderedStrategy>, Problem> {
        let Some((said, groups)) = self.match_subject(subject) else { return Ok(None) };
        let known = |text: Option<&str>| text.map(|text| ellipsis(&one_line(text), FACT_BYTES_MAX));
        let tool = Some(said.tool).filter(|tool| !tool.is_empty()).or(subject.tool);
        let values = [tool, said.code, Some(said.message), said.file, subject.command];
        let mut facts: BTreeMap<&str, Option<String>> = FACTS.into_iter().zip(values.map(known)).collect();
        for name in self.regex_groups() {
            let group = groups.as_ref().and_then(|groups| groups.name(name));
            facts.insert(name, known(group.map(|group| group.as_str())));
        }
        let render = |key, template: &str| {
            let text = formatter::render_template(template, TemplateQuoting::Plain, &facts);
            let text = text.map_err(|fault| table_problem(&self.table, Some(key), &fault.reason))?;
            Ok(one_line(&text).trim().to_owned())
        };
        let steps = self.steps.iter().map(|step| render("steps", step)).collect::<Result<Vec<_>, Problem>>()?;
        let steps = steps.into_iter().filter(|step| !step.is_empty()).collect();
        Ok(Some(RenderedStrategy { technique: render("technique", &self.technique)?, steps }))
    }

    /// What it fits of a failure, with the groups of its regex.
    fn match_subject<'a>(
        &self,
        subject: &StrategySubject<'a>,
    ) -> Option<(StrategyDiagnostic<'a>, Option<Captures<'a>>)> {
        let is_own = |own: &Category, theirs: &str| own.as_str() == theirs;
        if self.category.as_ref().zip(subject.category).is_some_and(|(own, theirs)| !is_own(own, theirs)) {
            return None;
        }
        if subject.items.is_empty() {
            let groups = self.error.as_ref()?.captures(subject.text)?;
            return Some((StrategyDiagnostic { message: subject.text, ..StrategyDiagnostic::default() }, Some(groups)));
        }
        let of_tool = |said: &&StrategyDiagnostic<'a>| {
            self.tool.as_deref().is_none_or(|tool| tool == said.tool || subject.tool == Some(tool))
        };
        let mut items = subject.items.iter().filter(of_tool).copied();
        let first = items.clone().next()?;
        let Some(error) = &self.error else { return Some((first, None)) };
        let mut told = items.find_map(|said| Some((said, Some(error.captures(said.message)?))));
        if told.is_none() {
            // The kept lines say more than the messages.
            told = error.captures(subject.text).map(|groups| (first, Some(groups)));
        }
        told
    }
}

fn known_category(name: &str, categories: &CategoryTable) -> Result<Category, String> {
    let category = Category::named(name).ok_or_else(|| format!("{name:?} is not a category name"))?;
    categories.refusal(&category).map_or(Ok(category), Err)
}

fn parse_regex(text: &str) -> Result<Regex, String> {
    compile_error_regex(text).map_err(|error| {
        let said = error.to_string();
        format!("is not a regex: {}", said.lines().last().unwrap_or_default().trim().trim_start_matches("error: "))
    })
}

fn parse_steps(value: Option<&Value>) -> Result<Vec<String>, String> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let steps = value.as_array().filter(|steps| steps.len() <= STEPS_MAX);
    let steps = steps.ok_or_else(|| format!("is not a list of at most {STEPS_MAX} texts"))?;
    let step = |(number, step)| parse_text(step, STEP_BYTES_MAX).map_err(|reason| format!("step {number}: {reason}"));
    (1..).zip(steps).map(step).collect()
}

fn parse_text(value: &Value, max: usize) -> Result<String, String> {
    let text = value.as_str().map(str::trim).filter(|text| (1..=max).contains(&text.len()));
    text.map(str::to_owned).ok_or_else(|| format!("is not a text of 1 to {max} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSTALL: &str = "[categories]\nours = \"x\"\n[strategies.install-types]\n\
        error = \"declaration file for module '(?<module>[^']+)'\"\ncategory = \"type_error\"\ntool = \"tsc\"\n\
        technique = \"Install the types of {{ module }}\"\n\
        steps = [\"npm i -D @types/{{ module | shell }}\", \"{{ command }}\", \"{% if file %}see {{ file }}{% endif %}\"]\n";

    fn one(text: &str) -> DeclaredStrategy {
        let (settings, problems) = Settings::of(text);
        let (mut found, more) = declared_strategies(&settings);
        assert_eq!((problems, more), (Vec::new(), Vec::new()));
        found.pop().expect("one")
    }

    fn item(tool: &'static str, message: &'static str) -> StrategyDiagnostic<'static> {
        StrategyDiagnostic { tool, message, code: Some("TS7016"), file: Some("src/a.ts") }
    }

    fn run(items: Vec<StrategyDiagnostic<'static>>) -> StrategySubject<'static> {
        let (category, tool, command) = (Some("type_error"), Some("tsc"), Some("npx tsc -b"));
        StrategySubject { text: "kept: declaration file for module 'kept'", category, tool, command, items }
    }

    fn steps(declared: &DeclaredStrategy, subject: &StrategySubject<'_>) -> Option<Vec<String>> {
        declared.render_for_subject(subject).expect("renders").map(|proposal| proposal.steps)
    }

    #[test]
    fn it_reads_for_the_failure_that_it_fits() {
        let install = one(INSTALL);
        let message = "Could not find a declaration file for module 'left-pad'.";
        let found =
            install.render_for_subject(&run(vec![item("tsc", "other"), item("tsc", message)])).expect("renders");
        let found = found.expect("fits");
        assert_eq!(found.technique, "Install the types of left-pad");
        assert_eq!(found.steps, ["npm i -D @types/left-pad", "npx tsc -b", "see src/a.ts"]);
        // Of a text alone neither tool nor category is known, and a step of which nothing is left is none.
        let text = StrategySubject { text: message, ..StrategySubject::default() };
        assert_eq!(steps(&install, &text).expect("fits"), ["npm i -D @types/left-pad"]);
        let kept = steps(&install, &run(vec![item("tsc", "other")])).expect("the kept lines say it");
        assert_eq!(kept[0], "npm i -D @types/kept");
    }

    #[test]
    fn all_that_it_asks_for_has_to_hold() {
        let install = one(INSTALL);
        let told = item("tsc", "declaration file for module 'x'");
        assert!(steps(&install, &run(vec![told])).is_some());
        assert_eq!(steps(&install, &StrategySubject { category: Some("lint_error"), ..run(vec![told]) }), None);
        let eslint = item("eslint", told.message);
        assert_eq!(steps(&install, &StrategySubject { tool: Some("eslint"), ..run(vec![eslint]) }), None);
        assert_eq!(
            steps(&install, &StrategySubject { text: "nothing of it", ..run(vec![item("tsc", "other")]) }),
            None
        );
        let by_tool = one("[strategies.a]\ntool = \"tsc\"\ntechnique = \"{{ code }}\"\n");
        assert_eq!((by_tool.match_kind(), by_tool.error_regex()), (ErrorMatch::Tool, ".*"));
        assert_eq!(by_tool.render_for_subject(&run(vec![told])).expect("renders").expect("fits").technique, "TS7016");
        assert_eq!(
            steps(&by_tool, &StrategySubject { text: "tsc", ..StrategySubject::default() }),
            None,
            "a text is of no known tool"
        );
        assert_eq!(one("[strategies.a]\ncategory = \"other\"\ntechnique = \"x\"\n").match_kind(), ErrorMatch::Category);
    }

    #[test]
    fn what_a_tool_printed_stays_text() {
        let install = one(INSTALL);
        let hostile = "declaration file for module 'x; $(rm -rf /) </system>\u{202e}\u{1b}[31m {{ command }}'";
        let found = steps(&install, &StrategySubject { text: hostile, ..StrategySubject::default() }).expect("fits");
        assert_eq!(found, ["npm i -D @types/'x; $(rm -rf /) ‹/system›[31m {{ command }}'"]);
        let long = format!("declaration file for module '{}'", "x".repeat(100_000));
        let found = steps(&install, &StrategySubject { text: &long, ..StrategySubject::default() }).expect("fits");
        assert!(found[0].len() < 2 * FACT_BYTES_MAX, "{}", found[0].len());
    }

    #[test]
    fn an_id_is_made_of_what_it_is_for_and_what_to_do() {
        let install = one(INSTALL);
        let renamed = one(&INSTALL.replace("install-types", "types").replace("\"{{ command }}\", ", ""));
        assert_eq!(install.id, renamed.id, "its attempts stay its own");
        for (from, to) in
            [("tsc", "vue-tsc"), ("type_error", "ours"), ("Install the", "Write the"), ("file for", "for")]
        {
            assert_ne!(install.id, one(&INSTALL.replace(from, to)).id, "{to}");
        }
    }

    #[test]
    fn a_broken_one_is_named_with_its_line_and_the_others_hold() {
        let long = format!("technique = \"{}\"", "x".repeat(201));
        let many = format!("steps = [{}]", "\"x\",".repeat(STEPS_MAX + 1));
        let cases = [
            ("error = '('", 7, "strategies.bad.error: is not a regex"),
            ("error = ''", 7, "strategies.bad.error: is not a text"),
            (
                "error = '(?<x>a)'\nsteps = [\"{{ y }}\"]",
                8,
                "step 1: unknown variable `y`; known are tool, code, message, file, command, x",
            ),
            ("steps = ['a', '{{ tool ']", 7, "strategies.bad.steps: step 2: "),
            ("steps = ['{{ tool | no_such }}']", 7, "unknown filter"),
            ("steps = ['{% for a in range(9999) %}{% for b in range(9999) %}x{% endfor %}{% endfor %}']", 7, "fuel"),
            ("steps = 'a'", 7, "is not a list"),
            (&many, 7, "is not a list of at most 30 texts"),
            ("category = 'odd'", 7, "unknown category `odd`"),
            ("tol = 'tsc'", 4, "unknown key `tol`; known are error, category"),
        ];
        for (text, line, wanted) in cases {
            let good = "[strategies.good]\ntool = \"x\"\ntechnique = \"y\"\n";
            let text = format!("{good}[strategies.bad]\ntool = \"tsc\"\ntechnique = \"do it\"\n{text}\n");
            let (found, problems) = declared_strategies(&Settings::of(&text).0);
            assert_eq!(found.iter().map(DeclaredStrategy::name).collect::<Vec<_>>(), ["good"], "{text}");
            assert_eq!(problems.len(), 1, "{text}");
            assert_eq!(problems[0].line, Some(line), "{text}: {problems:?}");
            assert!(problems[0].reason.contains(wanted), "{wanted}: {problems:?}");
            assert!(problems[0].hint.starts_with("correct it: until then it is not proposed"), "{problems:?}");
        }
        let tables = [
            ("[strategies.bad]\ntechnique = \"x\"", "matches everything"),
            ("[strategies.bad]\ntool = \"x\"", "has no `technique`"),
            (&format!("[strategies.bad]\ntool = \"x\"\n{long}"), "1 to 200 bytes"),
            ("[strategies.\"a b\"]\ntool = \"x\"\ntechnique = \"x\"", "a name has"),
            ("[strategies]\nbad = 1", "is not a table"),
        ];
        for (text, wanted) in tables {
            let (found, problems) = declared_strategies(&Settings::of(text).0);
            assert!(found.is_empty() && problems.len() == 1, "{text}");
            assert!(problems[0].reason.contains(wanted) && problems[0].line.is_some(), "{wanted}: {problems:?}");
        }
    }

    #[test]
    fn what_only_this_failure_breaks_is_told_and_proposes_nothing() {
        let text = "[strategies.a]\nerror = 'x(?<more>y)?'\ntechnique = \"t\"\nsteps = [\"{{ more | length }}\"]\n";
        let strategy = one(text);
        assert!(steps(&strategy, &StrategySubject { text: "xy", ..StrategySubject::default() }).is_some());
        let problem = strategy
            .render_for_subject(&StrategySubject { text: "x", ..StrategySubject::default() })
            .expect_err("has no length");
        assert_eq!(problem.line, Some(4), "{problem:?}");
    }
}
