//! What kind of failure a run is: from how it ended, from what was found, and only then from what was run.

use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::run::Ended;
use crate::whitelist::CheckKind;

use super::catalog::{Catalog, constant};
use super::engine::Found;
use super::{Category, Input, Severity};

/// Ties are decided in this order; what somebody declared goes before it.
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

/// Texts that say what is wrong whoever prints them; the first that is found wins. Compiled when it is asked.
static CONTENT: [(Category, LazyLock<Regex>); 6] = [
    (
        Category::MissingDependency,
        LazyLock::new(|| {
            constant(
                r"command not found|(?m:^(?:\S+: )+not found$)|[Nn]o module named|Cannot find (?:module|package) '[^./]|cannot load such file|cannot find -l|[Uu]nable to resolve dependency|Could not resolve dependencies|is not recognized as an internal or external command|ERR_MODULE_NOT_FOUND|package \S+ is not in (?:GOROOT|std)|no required module provides package",
            )
        }),
    ),
    (
        Category::ConfigError,
        LazyLock::new(|| {
            constant(
                r"(?i)unknown (?:option|argument|flag|rule)|unrecognized (?:option|argument)|no such option|invalid (?:option|config)|configuration error|config(?:uration)? file|failed to (?:parse|load) .{0,60}config|no tests? (?:files? )?(?:were )?found|no tests ran|no rule to make target|missing script|(?m:^usage:)",
            )
        }),
    ),
    (
        Category::TestFailure,
        LazyLock::new(|| {
            constant(
                r"AssertionError|(?i:\b[1-9][0-9]* (?:tests? |examples? |specs? |scenarios? )?(?:failed|failures?|failing)\b)|(?m:^\s*(?:not ok|--- FAIL|FAIL|FAILED)\b)|(?m:^(?:FAILED|ERROR) +\S+::\S)|\bexpected\b.{1,80}\b(?:got|but|actual|received)\b",
            )
        }),
    ),
    (Category::TypeError, LazyLock::new(|| constant(r"error TS[0-9]+"))),
    (
        Category::BuildError,
        LazyLock::new(|| {
            constant(r"(?i)compilation (?:failed|error)|build failed|undefined reference to|ld returned 1|syntax error")
        }),
    ),
    (
        Category::RuntimeError,
        LazyLock::new(|| {
            constant(
                r"(?i:segmentation fault|core dumped|uncaught |unhandled |out of memory|panicked at|stack overflow)|\b[A-Z][A-Za-z]*(?:Error|Exception)\b|Traceback \(most recent",
            )
        }),
    ),
];

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
pub fn is_form_only(kind: CheckKind, catalog: &Catalog, named: &[bool], found: &Found<'_>) -> bool {
    if found.category.is_some() || found.code.is_some() || named[found.tool] {
        return false;
    }
    match catalog.tools[found.tool].category {
        // What is tested has to be built first.
        Some(Category::BuildError) => kind != CheckKind::Test && kind != CheckKind::Build,
        Some(Category::TypeError) => kind != CheckKind::Type,
        Some(Category::LintError) => kind != CheckKind::Lint && kind != CheckKind::Format,
        Some(Category::TestFailure) => kind != CheckKind::Test,
        _ => false,
    }
}

/// Decides. `failing` are the items that made the run fail, `named` the tools that the command names, `live` those whose
/// output was seen, `kept` gives the kept text where it is needed, and `is_located` says whether something that no
/// definition knows was found at a place in a file.
pub fn decide<'f>(
    input: &Input<'_>,
    catalog: &Catalog,
    failing: impl Iterator<Item = &'f Found<'f>> + Clone,
    named: &[bool],
    live: &[bool],
    (is_located, kept): (bool, impl FnOnce() -> String),
) -> Category {
    match input.ended {
        Ended::Signal(4 | 6 | 7 | 8 | 11) => return Category::RuntimeError,
        Ended::Signal(_) => return Category::Other,
        Ended::Exit(127) => return Category::MissingDependency,
        Ended::Exit(126) => return Category::ConfigError,
        Ended::Exit(_) => {}
    }
    if let Some(category) = failing.clone().find(|found| found.decides).and_then(|found| found.category) {
        return category.clone();
    }
    if let Ended::Exit(code) = input.ended {
        let named_tools = catalog.tools.iter().zip(named).filter(|(_, named)| **named).map(|(tool, _)| tool);
        if named_tools.clone().any(|tool| tool.did_not_run.contains(&code)) {
            return Category::ConfigError;
        }
    }
    if let Some(category) = majority(input, catalog, named, failing.clone()) {
        return match (category, input.kind) {
            (Category::RuntimeError, Some(CheckKind::Test)) => Category::TestFailure,
            // A linter whose stack has no line of the project's broke by itself: it did not do its job.
            (Category::RuntimeError, Some(CheckKind::Lint | CheckKind::Format | CheckKind::Type))
                if failing.clone().all(|found| found.frames().is_empty()) =>
            {
                Category::ConfigError
            }
            (category, _) => category,
        };
    }
    let kept = kept();
    let content =
        CONTENT.iter().find(|(_, regex)| regex.is_match(kept.as_bytes())).map(|(category, _)| category.clone());
    match (content, input.kind) {
        (Some(Category::RuntimeError | Category::BuildError), Some(kind)) => of_kind(kind),
        // A check that looks at source found something there, whatever words it has for it.
        (Some(Category::TestFailure | Category::TypeError), Some(kind)) if kind != CheckKind::Test => of_kind(kind),
        (Some(Category::ConfigError), Some(kind)) if is_located && kind != CheckKind::Test => of_kind(kind),
        (Some(category), _) => category,
        (None, kind) => empty(catalog, named, live).or(kind.map(of_kind)).unwrap_or(Category::Other),
    }
}

/// What a tool that is here and found nothing makes of the run.
fn empty(catalog: &Catalog, named: &[bool], live: &[bool]) -> Option<Category> {
    let tools = catalog.tools.iter().zip(named.iter().zip(live));
    let mut seen = tools.filter(|(tool, (named, live))| **named || (**live && !tool.markers.is_empty()));
    seen.find_map(|(tool, _)| tool.empty.clone())
}

/// The category that most failing items have.
fn majority<'f>(
    input: &Input<'_>,
    catalog: &Catalog,
    named: &[bool],
    failing: impl Iterator<Item = &'f Found<'f>>,
) -> Option<Category> {
    let of_kind = input.kind.map(|kind| (kind, of_kind(kind)));
    let mut votes: Vec<(&Category, u64)> = Vec::new();
    let mut known: Vec<Option<Option<&Category>>> = vec![None; catalog.tools.len()];
    for found in failing {
        let of_tool = || {
            let tool = &catalog.tools[found.tool];
            let by_name = input.tool.and_then(|name| tool.category_of.get(name));
            by_name.or_else(|| by_command(input.command, tool)).or(tool.category.as_ref())
        };
        let category = found.category.or_else(|| *known[found.tool].get_or_insert_with(of_tool));
        let Some(category) = category else { continue };
        let by_kind = of_kind.as_ref().filter(|(kind, _)| is_form_only(*kind, catalog, named, found));
        let category = by_kind.map_or(category, |(_, category)| category);
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
    let words = super::words(command);
    tool.category_of.iter().find(|(name, _)| super::names(&words, name)).map(|(_, category)| category)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::tree::NoTree;
    use crate::diagnose::{Definitions, diagnose};

    #[test]
    fn every_text_compiles_and_reads_its_own() {
        let texts = [
            "sh: jest: command not found",
            "error: unknown option --x",
            "3 tests failed",
            "a.ts(1,2): error TS2304: x",
            "x.c:1: undefined reference to `y'",
            "Traceback (most recent call last):",
        ];
        assert_eq!(texts.len(), CONTENT.len());
        for (text, (category, regex)) in texts.iter().zip(&CONTENT) {
            assert!(regex.is_match(text.as_bytes()), "{category:?}: {text}");
        }
    }

    /// The category of an output, and the tools of its items.
    fn of(command: &str, tool: &str, kind: CheckKind, output: &str) -> (Category, Vec<String>) {
        let said = diagnose(&Input {
            output: output.as_bytes(),
            command,
            tool: Some(tool),
            kind: Some(kind),
            ended: Ended::Exit(1),
            dir: "",
            root: "/p",
            tree: &NoTree,
            baseline: None,
            definitions: &Definitions::shipped(),
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
