//! The metrics that a checklist's conditions are about.

use std::fmt;

/// A number or a fact that an item is judged by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Metric {
    /// Exit status of the command; unknown when the tool did not do its job.
    ExitCode,
    /// Tests that ran.
    TestsRun,
    /// Tests that passed.
    TestsPassing,
    /// Tests that failed.
    TestsFailing,
    /// Tests that were skipped.
    TestsSkipped,
    /// Whether the change weakens a check of the item's kind.
    Weakened,
    /// Acceptance criteria of the PRP.
    CriteriaTotal,
    /// Acceptance criteria with executed evidence.
    CriteriaCovered,
    /// Share of acceptance criteria with executed evidence, percent.
    CriteriaCoverage,
    /// Findings of severity error.
    Errors,
    /// Findings of severity warning.
    Warnings,
    /// Findings that the base does not have.
    Introduced,
    /// Highest cyclomatic complexity of a judged function.
    MaxComplexity,
    /// Share of duplicated lines, percent.
    DuplicationPercentage,
    /// Duplicated lines.
    DuplicatedLines,
    /// Findings about names.
    NamingViolations,
    /// Whether the README names the feature and the change adds to it.
    ReadmeContainsFeature,
    /// Whether the change has an architecture decision record.
    AdrFileExists,
    /// Whether every OpenAPI document is valid.
    OpenapiValid,
    /// Whether the change adds an entry to the changelog.
    ChangelogHasEntry,
    /// Whether every complex function has a comment.
    ComplexFuncsDocumented,
    /// Whether the item does not apply to this change.
    NotApplicable,
}

/// How the values of a metric are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetricKind {
    /// A count.
    Number,
    /// 0 to 100.
    Percent,
    /// True or false.
    Fact,
}

impl Metric {
    /// Every metric, with the name that a checklist uses.
    pub(crate) const ALL: [(Metric, &'static str); 22] = [
        (Metric::ExitCode, "exit_code"),
        (Metric::TestsRun, "tests_run"),
        (Metric::TestsPassing, "tests_passing"),
        (Metric::TestsFailing, "tests_failing"),
        (Metric::TestsSkipped, "tests_skipped"),
        (Metric::Weakened, "weakened"),
        (Metric::CriteriaTotal, "criteria_total"),
        (Metric::CriteriaCovered, "criteria_covered"),
        (Metric::CriteriaCoverage, "criteria_coverage"),
        (Metric::Errors, "errors"),
        (Metric::Warnings, "warnings"),
        (Metric::Introduced, "introduced"),
        (Metric::MaxComplexity, "max_complexity"),
        (Metric::DuplicationPercentage, "duplication_percentage"),
        (Metric::DuplicatedLines, "duplicated_lines"),
        (Metric::NamingViolations, "naming_violations"),
        (Metric::ReadmeContainsFeature, "readme_contains_feature"),
        (Metric::AdrFileExists, "adr_file_exists"),
        (Metric::OpenapiValid, "openapi_valid"),
        (Metric::ChangelogHasEntry, "changelog_has_entry"),
        (Metric::ComplexFuncsDocumented, "complex_funcs_documented"),
        (Metric::NotApplicable, "not_applicable"),
    ];

    /// The metric of this name.
    pub(crate) fn from_name(name: &str) -> Option<Metric> {
        Metric::ALL.iter().find(|(_, known)| *known == name).map(|(metric, _)| *metric)
    }

    /// The name that a checklist uses.
    pub(crate) fn name(self) -> &'static str {
        Metric::ALL.iter().find(|(metric, _)| *metric == self).map_or("", |(_, name)| name)
    }

    /// How its values are written.
    pub(crate) fn kind(self) -> MetricKind {
        match self {
            Metric::CriteriaCoverage | Metric::DuplicationPercentage => MetricKind::Percent,
            Metric::Weakened
            | Metric::ReadmeContainsFeature
            | Metric::AdrFileExists
            | Metric::OpenapiValid
            | Metric::ChangelogHasEntry
            | Metric::ComplexFuncsDocumented
            | Metric::NotApplicable => MetricKind::Fact,
            _ => MetricKind::Number,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
