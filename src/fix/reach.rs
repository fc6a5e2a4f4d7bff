//! The progress of a failing run: what is missing in its output may not have been looked at.

use crate::base::lossless::Lossless;
use crate::config::Category;
use crate::event::{Atom, DiagnosticRecord, Run};
use crate::whitelist::CheckKind;

/// Options that end a run at the first failures, by how they begin.
const STOP_OPTIONS: [&str; 8] =
    ["-x", "--exitfirst", "--maxfail", "--bail", "--fail-fast", "--failfast", "-failfast", "--stop-on-f"];
/// Options and sub-commands with which the same command looks at what changed or failed last, as they are typed or
/// before a `=`: pytest, pytest-testmon, jest, vitest, ctest, rspec, nx and turbo, lerna.
const CHOOSING_OPTIONS: [&str; 18] = [
    "--lf",
    "--last-failed",
    "--sw",
    "--stepwise",
    "--testmon",
    "-o",
    "--onlyChanged",
    "--onlyFailures",
    "--changedSince",
    "--lastCommit",
    "--changed",
    "--rerun-failed",
    "--only-failures",
    "--next-failure",
    "--affected",
    "affected",
    "--since",
    "--rerun",
];
/// Categories of a run that didn't do its job: what it would have checked is unknown.
const DID_NOT_CHECK: [Category; 3] = [Category::BuildError, Category::ConfigError, Category::MissingDependency];

/// Where a failing run stopped looking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StopPoint {
    /// It looked at everything that it was asked to.
    End,
    /// What it did not get to is unknown.
    Unknown,
    /// Tests were not run: it looked at what is no test only.
    Tests,
    /// `cargo test` runs one target after the other and stops behind the first that fails: this one.
    Target(TestTarget),
}

/// A test target of a Rust package, in the order in which cargo runs them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TestTarget {
    package: String,
    /// Unit tests come first, then the integration tests by name.
    integration: Option<String>,
}

/// Whether the same command chooses each time what it looks at.
pub(crate) fn selects_anew(run: &Run) -> bool {
    has_choosing_option(run.argv.iter().map(Lossless::display))
}

/// Whether a word of a command line makes the command choose each time what it looks at.
pub(crate) fn has_choosing_option(mut words: impl Iterator<Item = String>) -> bool {
    let chooses = |argument: &str| {
        let option = argument.split_once('=').map_or(argument, |(option, _)| option);
        CHOOSING_OPTIONS.contains(&option)
    };
    words.any(|argument| argument.split_whitespace().any(chooses))
}

/// Where `later` stopped that followed a failure of category `before`.
pub(crate) fn stops_at(later: &Run, before: &str) -> StopPoint {
    let Some(failure) = &later.failure else { return StopPoint::End };
    let stops_early = later.argv.iter().any(|argument| {
        let argument = argument.display();
        STOP_OPTIONS.iter().any(|option| match option.len() {
            2 => argument == *option,
            _ => argument.starts_with(option),
        })
    });
    if stops_early || later.stopped_early || failure.items_cut > 0 || !failure.shortfalls.is_empty() {
        return StopPoint::Unknown;
    }
    let other_category = failure.category != before;
    if other_category && Category::named(&failure.category).is_some_and(|category| DID_NOT_CHECK.contains(&category)) {
        return StopPoint::Unknown;
    }
    if later.check != Some(CheckKind::Test) {
        return StopPoint::End;
    }
    let tests: Vec<&DiagnosticRecord> = failure.items.iter().filter(|item| item.test.is_some()).collect();
    if tests.is_empty() {
        return StopPoint::Tests;
    }
    let goes_on = later.argv.iter().any(|argument| argument.display() == "--no-fail-fast");
    let is_cargo = later.tool.as_deref() == Some("cargo-test");
    match tests.iter().filter_map(|item| target_of_file(item.file.as_deref())).max() {
        Some(last) if is_cargo && !goes_on => StopPoint::Target(last),
        _ => StopPoint::End,
    }
}

impl StopPoint {
    /// Whether the run would have shown this atom.
    pub(crate) fn is_reached(&self, atom: &Atom) -> bool {
        match self {
            StopPoint::End => true,
            StopPoint::Unknown => false,
            StopPoint::Tests => atom.test.is_none(),
            StopPoint::Target(last) => target_of_file(atom.file.as_deref())
                .is_none_or(|target| target.package == last.package && target <= *last),
        }
    }
}

/// The target that a file of a package belongs to, by cargo's folders.
fn target_of_file(file: Option<&str>) -> Option<TestTarget> {
    let file = file?;
    let split = |folder: &str| -> Option<(String, String)> {
        if let Some(rest) = file.strip_prefix(&format!("{folder}/")) {
            return Some((String::new(), rest.to_owned()));
        }
        let (package, rest) = file.split_once(&format!("/{folder}/"))?;
        Some((package.to_owned(), rest.to_owned()))
    };
    if let Some((package, _)) = split("src") {
        return Some(TestTarget { package, integration: None });
    }
    let (package, rest) = split("tests")?;
    let name = rest.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    Some(TestTarget { package, integration: Some(name.to_owned()) })
}
