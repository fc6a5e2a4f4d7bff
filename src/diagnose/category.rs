//! What kind of failure a run is: from how it ended, from what was found, and only then from what was run.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::run::CommandEnd;
use crate::whitelist::CheckKind;

use super::catalog::Catalog;
use super::engine::RawDiagnostic;
use super::form::FormedText;
use super::rule_regex::constant_regex;
use super::{Category, DiagnosisInput, Diagnostic, Severity, generic, missing};

mod content;

/// Ties are decided in this order; declared categories come first.
const ORDER: &[Category] = &[
    Category::TestFailure,
    Category::TypeError,
    Category::BuildError,
    Category::LintError,
    Category::RuntimeError,
    Category::MissingDependency,
    Category::ConfigError,
    Category::Other,
];

/// What the check is for.
pub(super) fn kind_of(input: &DiagnosisInput<'_>) -> Option<CheckKind> {
    input.kind.or_else(|| kind_of_words(input.command))
}

/// The purpose that a command's words suggest, where the check is unknown: the last part of a word that has a name
/// for it.
fn kind_of_words(command: &str) -> Option<CheckKind> {
    let words = super::command_words(&command.to_ascii_lowercase());
    // The last part of a name says what it is: a spec-validator is a validator.
    let parts =
        || words.iter().flat_map(|word| word.rsplit(|c: char| !c.is_ascii_alphanumeric())).take(COMMAND_PARTS_MAX);
    let ends = |part: &str, ends: &[&str]| ends.iter().any(|end| part.ends_with(end));
    let kind = |part: &str| match part {
        "test" | "tests" | "spec" | "specs" => Some(CheckKind::Test),
        "analyze" | "analyse" | "audit" => Some(CheckKind::Lint),
        "typecheck" => Some(CheckKind::Type),
        "build" | "compile" | "make" => Some(CheckKind::Build),
        _ if ends(part, &["fmt", "format", "formatter"]) => Some(CheckKind::Format),
        _ if ends(part, &["lint", "linter"]) => Some(CheckKind::Lint),
        _ => None,
    };
    // What checks and does nothing else is a linter.
    let checks = |part: &str| ends(part, &["check", "checker", "validate", "validator", "verify"]);
    let is_checker = words.first().is_some_and(|program| program.rsplit(['-', '_']).next().is_some_and(checks));
    let named = || parts().find_map(kind);
    let checked = || parts().any(checks).then_some(CheckKind::Lint);
    (if is_checker { checked().or_else(named) } else { named().or_else(checked) }).map(|kind| match kind {
        CheckKind::Lint if command.contains("type-check") || command.contains("check-types") => CheckKind::Type,
        kind => kind,
    })
}

/// Programs that are asked whether they can read their own configuration.
const OWN_CONFIGURATION: &[&str] = &[
    "amtool",
    "apache2",
    "apache2ctl",
    "apachectl",
    "caddy",
    "dnsmasq",
    "haproxy",
    "httpd",
    "named-checkconf",
    "named-checkzone",
    "nginx",
    "promtool",
    "sshd",
    "systemd-analyze",
    "visudo",
];

/// Whether a word of a command is such a program, or asks for it (`check-config`, `configtest`, `validate_conf`).
fn is_of_configuration(word: &str) -> bool {
    let asks = || ["check", "test", "valid", "verify"].iter().any(|asked| word.contains(asked));
    let is_name = || word.bytes().all(|byte| byte.is_ascii_lowercase() || b"-_".contains(&byte));
    OWN_CONFIGURATION.contains(&word) || word.contains("conf") && is_name() && asks()
}

/// Parts of a command's words that are looked at for what it is for.
const COMMAND_PARTS_MAX: usize = 20;

/// Whether an item is no more than a warning with a rule's name, of a tool that wasn't called.
fn is_rule_only(named: &[bool], found: &RawDiagnostic<'_>) -> bool {
    let is_option = |code: &str| code.starts_with('-');
    let has_rule = found.code.map_or(found.message.starts_with('['), |code| !is_option(code));
    !named[found.tool()] && found.severity < Severity::Error && has_rule
}

/// What a run of this kind of check fails with when nothing else is known.
fn of_kind(kind: CheckKind) -> Category {
    match kind {
        CheckKind::Test => Category::TestFailure,
        CheckKind::Lint | CheckKind::Format => Category::LintError,
        CheckKind::Type => Category::TypeError,
        CheckKind::Build => Category::BuildError,
    }
}

/// Whether only the form of its lines says what kind of failure an item is, so that what the check is for says it better:
/// its tool wasn't called, and nothing in it is that tool's own.
pub(super) fn is_form_only(kind: CheckKind, catalog: &Catalog, named: &[bool], found: &RawDiagnostic<'_>) -> bool {
    if found.category.is_some() || found.code.is_some() || named[found.tool()] {
        return false;
    }
    match catalog.tools[found.tool()].category {
        // What is tested has to be built first.
        Some(Category::BuildError) => kind != CheckKind::Test && kind != CheckKind::Build,
        Some(Category::TypeError) => kind != CheckKind::Type,
        Some(Category::LintError) => kind != CheckKind::Lint && kind != CheckKind::Format,
        Some(Category::TestFailure) => kind != CheckKind::Test,
        _ => false,
    }
}

/// Decides. `failing` are the items that made the run fail, `named` the tools that the command names, `live` those whose
/// output was seen, `kept` gives the kept text where it is needed, and `located` is what no definition knows
/// and was found at a place in a file.
pub(super) fn decide_category<'f, 'i>(
    input: &DiagnosisInput<'_>,
    catalog: &Catalog,
    failing: impl Iterator<Item = &'f RawDiagnostic<'f>> + Clone,
    named: &[bool],
    live: &[bool],
    (located, kept): (impl Iterator<Item = &'i Diagnostic> + Clone, impl FnOnce() -> String),
    lines: &[&str],
) -> Category {
    match input.ended {
        CommandEnd::Signal(4 | 6 | 7 | 8 | 11) => return Category::RuntimeError,
        CommandEnd::Signal(_) => return Category::Other,
        // Shells exit so when there is no such command, and some when they can't read a script.
        CommandEnd::Exit(127) if located.clone().next().is_none() => return Category::MissingDependency,
        CommandEnd::Exit(126) => return Category::ConfigError,
        CommandEnd::Exit(_) => {}
    }
    if let Some(category) = failing.clone().find(|found| found.decides).and_then(|found| found.category) {
        return category.clone();
    }
    if let CommandEnd::Exit(code) = input.ended {
        let named_tools = catalog.tools.iter().zip(named).filter(|(_, named)| **named).map(|(tool, _)| tool);
        if named_tools.clone().any(|tool| tool.did_not_run.contains(&code)) {
            return Category::ConfigError;
        }
    }
    let empty = || empty_run_category(catalog, named, live);
    match majority_category(input, catalog, named, failing.clone()) {
        // A line that begins with `Error:` is anybody's.
        Some(Category::RuntimeError) if failing.clone().all(|found| !named[found.tool()] && is_bare_message(found)) => {
            Some(of_unknown(input, located, &kept(), lines, empty))
                .filter(|category| *category != Category::Other)
                .unwrap_or(Category::RuntimeError)
        }
        Some(category) => of_known(category, input, named, failing, lines),
        None => of_unknown(input, located, &kept(), lines, empty),
    }
}

/// Whether an item is no more than a message behind `Error:`, without a place.
fn is_bare_message(found: &RawDiagnostic<'_>) -> bool {
    found.code == Some("Error")
        && found.category.is_none()
        && found.place.is_none()
        && found.all_frames().is_empty()
        && found.span.1 <= found.span.0 + 1
}

/// What most items say, corrected by what the check is for.
fn of_known<'f>(
    category: Category,
    input: &DiagnosisInput<'_>,
    named: &[bool],
    failing: impl Iterator<Item = &'f RawDiagnostic<'f>> + Clone,
    lines: &[&str],
) -> Category {
    let all = |is: &dyn Fn(&RawDiagnostic<'_>) -> bool| failing.clone().all(is);
    match (category, kind_of(input)) {
        (Category::TestFailure | Category::RuntimeError, _) if all(&is_missing) => Category::MissingDependency,
        (Category::RuntimeError, Some(CheckKind::Test) | None) if all(&is_uncompiled) => Category::BuildError,
        (Category::RuntimeError, Some(CheckKind::Test)) => Category::TestFailure,
        (Category::BuildError, Some(CheckKind::Test)) if all(&is_assertion) => Category::TestFailure,
        // What has a compiler's form and was printed by a program that counts its tests is a test's.
        (Category::BuildError | Category::RuntimeError, None)
            if all(&|found| !named[found.tool()]) && content::counts_failed_tests(lines) =>
        {
            Category::TestFailure
        }
        // A compiler that ends with an exception says so of what it compiles.
        (Category::RuntimeError, Some(CheckKind::Build))
            if input.tool.is_some() && all(&|found| found.all_frames().is_empty() && !named[found.tool()]) =>
        {
            Category::BuildError
        }
        // A linter whose stack has no line of the project's crashed: it did not do its job.
        (Category::RuntimeError, Some(kind @ (CheckKind::Lint | CheckKind::Format | CheckKind::Type)))
            if all(&|found| found.all_frames().is_empty()) =>
        {
            // Without a stack it is only a message that begins with `Error:`.
            let is_message = |found: &RawDiagnostic<'_>| {
                found.span.1 <= found.span.0 + 1 && !content::names_category(&Category::ConfigError, found.message)
            };
            if all(&is_message) { of_kind(kind) } else { Category::ConfigError }
        }
        (category, _) => category,
    }
}

/// What the words and the places say where no item has a category; `empty` is what a tool that found nothing makes of it.
fn of_unknown<'i>(
    input: &DiagnosisInput<'_>,
    located: impl Iterator<Item = &'i Diagnostic> + Clone,
    kept: &str,
    lines: &[&str],
    empty: impl FnOnce() -> Option<Category>,
) -> Category {
    let text = FormedText::new(kept);
    if missing::is_said_in(&text) {
        return Category::MissingDependency;
    }
    if super::command_words(input.command).iter().any(|word| is_of_configuration(word)) {
        return Category::ConfigError;
    }
    let kind = kind_of(input);
    let is_located = located.clone().next().is_some();
    let of_form = || of_located(located.clone());
    let said = match content::of_text(&text) {
        None | Some(Category::BuildError | Category::RuntimeError) if content::counts_failed_tests(lines) => {
            Some(Category::TestFailure)
        }
        said => said,
    };
    // What is wrong with a manifest is its configuration, whatever the check is for.
    let elsewhere = located.clone().any(|item| !item.file.as_deref().is_some_and(content::is_manifest));
    match (said, kind) {
        (Some(Category::RuntimeError), _) if content::has_crashed(&text, kind) => Category::RuntimeError,
        // What is tested has to be built first.
        (Some(Category::BuildError), Some(CheckKind::Test)) if is_located => Category::BuildError,
        (Some(Category::RuntimeError | Category::BuildError), Some(kind)) => of_kind(kind),
        // A check that looks at source found something there, whatever words it has for it.
        (Some(Category::TestFailure | Category::TypeError), Some(kind)) if kind != CheckKind::Test => of_kind(kind),
        (Some(Category::ConfigError), Some(kind)) if elsewhere && kind != CheckKind::Test => of_kind(kind),
        (Some(Category::RuntimeError), None) if kept.lines().any(generic::is_frame) => Category::RuntimeError,
        (Some(Category::ConfigError | Category::RuntimeError), None) if is_located => of_form(),
        (None, None) if !is_located && content::lists_findings(lines) => Category::LintError,
        (Some(category), _) => category,
        (None, Some(kind)) if is_located && kind != CheckKind::Test => of_kind(kind),
        (None, kind) => empty().or(kind.map(of_kind)).unwrap_or_else(of_form),
    }
}

/// Whether an item says of a place that it can't be compiled.
fn is_uncompiled(found: &RawDiagnostic<'_>) -> bool {
    found.place.is_some()
        && found.all_frames().is_empty()
        && content::names_category(&Category::BuildError, found.message)
}

/// Whether an item says that an assertion failed, whatever the form of its line.
fn is_assertion(found: &RawDiagnostic<'_>) -> bool {
    static ASSERTION: LazyLock<Regex> = LazyLock::new(|| {
        constant_regex(
            r"\b(?:[A-Z]{0,3}Assert[A-Za-z]*|XCT[A-Za-z]+|EXPECT_[A-Z]+|ASSERT_[A-Z]+|REQUIRE|CHECK|[Aa]ssertion)\b.{0,20}(?:fail|:|\()",
        )
    });
    ASSERTION.is_match(found.message.as_bytes())
}

/// Whether an item says that something isn't installed.
fn is_missing(found: &RawDiagnostic<'_>) -> bool {
    let said = format!("{}: {}", found.code.unwrap_or_default(), found.message);
    missing::is_said_in(&FormedText::new(&said))
}

/// What diagnostics at places say by their form alone: rules have codes and styles, compilers have errors.
fn of_located<'i>(mut located: impl Iterator<Item = &'i Diagnostic> + Clone) -> Category {
    let is_rule = |item: &Diagnostic| item.code.is_some() || item.severity < Severity::Error;
    match located.clone().next() {
        None => Category::Other,
        Some(_) if located.all(is_rule) => Category::LintError,
        Some(_) => Category::BuildError,
    }
}

/// What a tool that is here and found nothing makes of the run.
fn empty_run_category(catalog: &Catalog, named: &[bool], live: &[bool]) -> Option<Category> {
    let tools = catalog.tools.iter().zip(named.iter().zip(live));
    let mut seen = tools.filter(|(tool, (named, live))| **named || (**live && !tool.markers.is_empty()));
    seen.find_map(|(tool, _)| tool.empty.clone())
}

/// The category that most failing items have.
fn majority_category<'f>(
    input: &DiagnosisInput<'_>,
    catalog: &Catalog,
    named: &[bool],
    failing: impl Iterator<Item = &'f RawDiagnostic<'f>>,
) -> Option<Category> {
    let of_kind = kind_of(input).map(|kind| (kind, of_kind(kind)));
    let mut votes: Vec<(&Category, u64)> = Vec::new();
    let mut known: Vec<Option<Option<&Category>>> = vec![None; catalog.tools.len()];
    for found in failing {
        let of_tool = || {
            let tool = &catalog.tools[found.tool()];
            let by_name = input.tool.and_then(|name| tool.category_of.get(name));
            by_name.or_else(|| by_command(input.command, tool)).or(tool.category.as_ref())
        };
        let category = found.category.or_else(|| *known[found.tool()].get_or_insert_with(of_tool));
        let Some(category) = category else { continue };
        let of_many = catalog.tools[found.tool()].by_kind && found.category.is_none();
        let by_kind = of_kind
            .as_ref()
            .filter(|(kind, _)| of_many && *kind != CheckKind::Test || is_form_only(*kind, catalog, named, found));
        let category = by_kind.map_or(category, |(_, category)| category);
        let category = match category {
            // What looks like a compiler's warning with a rule's name, and made the run fail, is a linter's.
            Category::BuildError if is_rule_only(named, found) => &Category::LintError,
            category => category,
        };
        let vote = if found.severity == Severity::Error { 2 } else { 1 };
        match votes.iter_mut().find(|(known, _)| *known == category) {
            Some((_, votes)) => *votes += vote,
            None => votes.push((category, vote)),
        }
    }
    let place = |category: &Category| ORDER.iter().position(|known| known == category);
    let most = votes
        .into_iter()
        .max_by(|(a, of_a), (b, of_b)| of_a.cmp(of_b).then_with(|| place(b).cmp(&place(a))).then_with(|| b.cmp(a)));
    most.map(|(category, _)| category.clone())
}

fn by_command<'c>(command: &str, tool: &'c super::definition::ToolText) -> Option<&'c Category> {
    let words = super::command_words(command);
    tool.category_of.iter().find(|(name, _)| super::names_program(&words, name)).map(|(_, category)| category)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tree::EmptyTree;
    use crate::diagnose::{DefinitionSet, diagnose_output};

    /// The category of an output, and the tools of its items.
    fn of(command: &str, tool: &str, kind: CheckKind, output: &str) -> (Category, Vec<String>) {
        let said = diagnose_output(&DiagnosisInput {
            output: output.as_bytes(),
            command,
            tool: Some(tool),
            kind: Some(kind),
            ended: CommandEnd::Exit(1),
            dir: "",
            root: "/p",
            tree: &EmptyTree,
            baseline: None,
            definitions: &DefinitionSet::shipped_only(),
        });
        (said.category.expect("it failed"), said.items.into_iter().map(|item| item.tool).collect())
    }

    #[test]
    fn what_a_check_is_for_decides_before_the_form_of_its_lines() {
        use CheckKind::{Build, Format, Lint, Test, Type};
        let go = "src/db/a.go:1:1: error: table without a key\n";
        let python = "src/validation.py:2: error: no docstring\n";
        for (kind, category) in
            [(Lint, Category::LintError), (Format, Category::LintError), (Type, Category::TypeError)]
        {
            let found = of("./scripts/rules.sh", "rules", kind, go);
            assert_eq!(found, (category, vec!["rules".to_owned()]), "{kind:?}");
        }
        for (kind, category) in
            [(Lint, Category::LintError), (Build, Category::BuildError), (Test, Category::TestFailure)]
        {
            let found = of("./scripts/rules.sh", "rules", kind, python);
            assert_eq!(found, (category, vec!["rules".to_owned()]), "{kind:?}");
        }
        // A linter that says FAILED, and one whose footer speaks of its configuration.
        assert_eq!(
            of("mylint", "mylint", Lint, "a.zz:3:1: bad name\nFAILED: see the config file\n").0,
            Category::LintError
        );
        // What is tested has to be built first, and a tool that was called speaks for itself.
        assert_eq!(of("make test", "make", Test, "a.c:1:2: error: expected ';'\n").0, Category::BuildError);
        let typed = "src/a.ts(1,5): error TS2322: Type 'string' is not assignable to type 'number'.\n";
        assert_eq!(
            of("npm run lint", "script:lint", Lint, &format!("> tsc --noEmit\n\n{typed}")).0,
            Category::TypeError
        );
    }

    #[test]
    fn only_decisive_evidence_moves_it() {
        let jest = "Error: Can't find a root directory while resolving a config file path.\nProvided path to resolve: nope.json\n";
        assert_eq!(of("npx jest --config nope.json", "jest", CheckKind::Test, jest).0, Category::ConfigError);
        let cargo = "error: manifest path `nope/Cargo.toml` does not exist\n";
        assert_eq!(of("cargo clippy", "cargo-clippy", CheckKind::Lint, cargo).0, Category::ConfigError);
        let missing = "sh: 1: golangci-lint: not found\n";
        assert_eq!(of("make lint", "make", CheckKind::Lint, missing).0, Category::MissingDependency);
    }

    #[test]
    fn what_is_not_installed_is_missing_whatever_the_check_is() {
        let cases = [
            ("npx mocha", "mocha", "Error: Cannot find module 'frob'\nRequire stack:\n- /p/test/a.test.js\n"),
            ("python manage.py test", "django-test", "ModuleNotFoundError: No module named 'frob'\n"),
            ("make check", "make", "Can't locate Frob.pm in @INC (you may need to install it) at t/a.t line 3.\n"),
        ];
        for (command, tool, output) in cases {
            assert_eq!(of(command, tool, CheckKind::Test, output).0, Category::MissingDependency, "{command}");
        }
        let assertion = "Error: expected 3 to be 4\n    at Context.<anonymous> (test/a.test.js:3:9)\n";
        assert_eq!(of("npx mocha", "mocha", CheckKind::Test, assertion).0, Category::TestFailure);
    }

    #[test]
    fn of_an_unknown_check_the_content_decides_and_then_its_name() {
        let of = |command: &str, output: &str| {
            diagnose_output(&DiagnosisInput {
                output: output.as_bytes(),
                command,
                tool: None,
                kind: None,
                ended: CommandEnd::Exit(1),
                dir: "",
                root: "/p",
                tree: &EmptyTree,
                baseline: None,
                definitions: &DefinitionSet::shipped_only(),
            })
            .category
        };
        assert_eq!(of("frob scan", "a.zz:3:1: FR012: no blank line (no-blank)\n"), Some(Category::LintError));
        assert_eq!(of("frob", "a.zz:2:19: y: unbound identifier\n"), Some(Category::BuildError));
        assert_eq!(
            of("frobfmt --check .", "a.zz failed the check\nNo config found, using defaults.\n"),
            Some(Category::LintError)
        );
        assert_eq!(of("frob test a.zz", "FAILURE\nname: adds\nactual: 1\n"), Some(Category::TestFailure));
        assert_eq!(of("frob test", "frob-core must be installed\n"), Some(Category::MissingDependency));
        assert_eq!(of("frob", "all is lost\n"), Some(Category::Other));
    }

    #[test]
    fn default_outputs_of_linters_are_lint_errors() {
        let outputs = [
            (
                "swiftlint",
                "/p/App/A.swift:12:5: error: Force Cast Violation: Force casts should be avoided (force_cast)\nDone linting! Found 1 violation, 1 serious in 1 file.\n",
            ),
            ("revive", "main.go:5:1: exported function Run should have comment or be unexported\n"),
            (
                "gosec",
                "[/p/main.go:9] - G101 (CWE-798): Potential hardcoded credentials (Confidence: LOW, Severity: HIGH)\n",
            ),
            ("ktlint", "/p/src/A.kt:1:1: error: File must end with a newline (standard:final-newline)\n"),
        ];
        for (tool, output) in outputs {
            assert_eq!(of(tool, tool, CheckKind::Lint, output).0, Category::LintError, "{tool}");
        }
    }
}
