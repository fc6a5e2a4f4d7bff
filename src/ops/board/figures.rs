//! Figures: what each is, and the command that prints it. Those of the overview are here, those of other pages in
//! [`super::page_figures`].

use serde::Serialize;

use super::filter::BoardPeriod;
use super::page_figures::{self, FigurePage};
use super::{Board, BoardFilter, RecordedKinds};
use crate::base::refusal::Refusal;

/// Cases in each period below which no change is shown.
const COMPARED_MIN: u64 = 20;

/// How a figure is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum FigureUnit {
    /// Part of a whole, 0 to 1.
    Share,
    Number,
    /// A whole number.
    Count,
    /// Relative to `before`: -0.25 is a quarter less.
    Change,
}

/// A figure that a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FigureDefinition {
    /// Its name in JSON.
    pub name: &'static str,
    /// What it is, for people.
    pub what: &'static str,
    pub unit: FigureUnit,
    /// How it is counted.
    pub definition: &'static str,
    /// What a case is, in the singular.
    pub case: &'static str,
    /// It is about this moment, not about the days.
    pub is_current: bool,
}

/// The figures, in the order of the overview.
pub(crate) const FIGURES: [FigureDefinition; 7] = [
    FigureDefinition {
        name: "failing_tasks",
        what: "tasks that fail",
        unit: FigureUnit::Share,
        definition: "Tasks with at least one failure, of the tasks with a run that counts. Cancelled runs, proven flakes and \
                     passes of a weakened check count as neither.",
        case: "task",
        is_current: false,
    },
    FigureDefinition {
        name: "failures",
        what: "failures",
        unit: FigureUnit::Count,
        definition: "Failed runs. Cancelled runs and proven flakes are not counted.",
        case: "run",
        is_current: false,
    },
    FigureDefinition {
        name: "first_time_pass",
        what: "checks that pass at the first run of a task",
        unit: FigureUnit::Share,
        definition: "First runs of a check in a task that passed, of all first runs of recognised checks.",
        case: "first run",
        is_current: false,
    },
    FigureDefinition {
        name: "attempts_to_fix",
        what: "attempts until a failure is fixed",
        unit: FigureUnit::Number,
        definition: "Mean number of runs with a change before them, from a failure to its pass, of the fixes of these days. \
                     Fixes of proven flakes, and passes of a weakened check, are not counted.",
        case: "fix",
        is_current: false,
    },
    FigureDefinition {
        name: "minutes_to_fix",
        what: "minutes until a failure is fixed",
        unit: FigureUnit::Number,
        definition: "Median time from the start of the first failing run to the pass, in minutes, of the fixes of these days.",
        case: "fix",
        is_current: false,
    },
    FigureDefinition {
        name: "open_failures",
        what: "open failures",
        unit: FigureUnit::Count,
        definition: "Failures whose check has not passed on its branch since, in the last days (setting fix.open_days). Cancelled \
                     runs and proven flakes are not counted.",
        case: "failure",
        is_current: true,
    },
    FigureDefinition {
        name: "warnings_prevent",
        what: "warned tasks without the mistake",
        unit: FigureUnit::Share,
        definition: "Warnings after which a check passed that would have shown the mistake, of those whose outcome is known. \
                     Observed, with no control group: whether warnings are the cause is what `effect` says.",
        case: "warning",
        is_current: false,
    },
];

/// A figure in a period and in the one before it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct BoardFigure {
    /// Its name in JSON.
    pub name: &'static str,
    /// What it is, for people.
    pub what: &'static str,
    /// How to read its values.
    pub unit: FigureUnit,
    /// Its value in the period; `null` without a case.
    pub value: Option<f64>,
    /// Cases of the period.
    pub cases: u64,
    /// Of a share, the cases that it counts.
    pub hits: Option<u64>,
    /// Its value in the equally long period before; `null` without a case, and of what is about this moment.
    pub previous: Option<f64>,
    /// Cases of the period before.
    pub previous_cases: u64,
    /// The difference between the two; `null` with fewer than 20 cases in one of them.
    pub change: Option<f64>,
    /// How it is counted.
    pub definition: &'static str,
    /// The command that prints it.
    pub command: String,
    /// Where its value is in what the command prints: a JSON pointer.
    pub pointer: String,
}

/// Figures, each with its definition.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct FigureList {
    /// In the order of their pages.
    pub figures: Vec<BoardFigure>,
}

impl Board<'_> {
    /// The figures of all pages but those of patterns, for a period where they are about one.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn list_figures(&self, filter: &BoardFilter) -> anyhow::Result<FigureList> {
        let mut figures = self.overview(filter)?.figures;
        let kinds = RecordedKinds::find(self.request);
        let pages = [(FigurePage::Effect, true), (FigurePage::Gate, kinds.gate), (FigurePage::Library, kinds.library)];
        for (page, _) in pages.iter().filter(|(_, is_recorded)| *is_recorded) {
            figures.extend(self.page_figures(page, filter)?.figures);
        }
        Ok(FigureList { figures })
    }

    /// One figure by its name; one of a pattern with the pattern's id.
    ///
    /// # Errors
    /// When there is none of this name, or the store can't be read.
    pub(crate) fn find_figure(
        &self,
        name: &str,
        pattern: Option<&str>,
        filter: &BoardFilter,
    ) -> anyhow::Result<BoardFigure> {
        let figures = match FigurePage::of_figure(name, pattern)? {
            Some(page) => self.page_figures(&page, filter)?.figures,
            None => self.overview(filter)?.figures,
        };
        let found = figures.into_iter().find(|figure| figure.name == name);
        let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).chain(page_figures::names()).collect();
        Ok(found
            .ok_or_else(|| Refusal::not_found(format!("there is no figure {name}; there are {}", names.join(", "))))?)
    }
}

/// Cases of a figure in a period.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct FigureCases {
    pub cases: u64,
    pub value: Option<f64>,
    pub hits: Option<u64>,
}

impl FigureCases {
    /// A share: hits of cases.
    pub(super) fn share(hits: u64, cases: u64) -> Self {
        FigureCases { cases, value: (cases > 0).then(|| hits as f64 / cases as f64), hits: Some(hits) }
    }

    /// A count of cases.
    pub(super) fn count(cases: u64) -> Self {
        FigureCases { cases, value: Some(cases as f64), hits: None }
    }

    /// A value that cases have together.
    pub(super) fn value(value: Option<f64>, cases: u64) -> Self {
        FigureCases { cases, value, hits: None }
    }
}

impl BoardFigure {
    /// A figure of a page that compares nothing, with the command that prints the page's figures and its place in them.
    pub(super) fn of_page(definition: &FigureDefinition, cases: FigureCases, command: String, number: usize) -> Self {
        let FigureDefinition { name, what, unit, definition, .. } = *definition;
        BoardFigure {
            name,
            what,
            unit,
            value: cases.value,
            cases: cases.cases,
            hits: cases.hits,
            previous: None,
            previous_cases: 0,
            change: None,
            definition,
            command,
            pointer: format!("/figures/{number}/value"),
        }
    }

    /// A figure of a period, with the one before it.
    pub(super) fn new(
        name: &str,
        [now, before]: [FigureCases; 2],
        filter: &BoardFilter,
        period: &BoardPeriod,
    ) -> Option<Self> {
        let number = FIGURES.iter().position(|figure| figure.name == name)?;
        let FigureDefinition { name, what, unit, definition, is_current, .. } = FIGURES[number];
        let is_compared = now.cases.min(before.cases) >= COMPARED_MIN && !is_current;
        let change = now.value.zip(before.value).filter(|_| is_compared).map(|(now, before)| now - before);
        Some(BoardFigure {
            name,
            what,
            unit,
            value: now.value,
            cases: now.cases,
            hits: now.hits,
            previous: before.value.filter(|_| !is_current),
            previous_cases: before.cases,
            change,
            definition,
            command: format!("verify-run stats --json{}", filter.options(period)),
            pointer: format!("/overview/figures/{number}/value"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::UtcDay;

    #[test]
    fn a_change_needs_twenty_cases_on_both_sides() {
        let period = BoardPeriod::new(UtcDay(0), UtcDay(29));
        let figure = |now: u64, before: u64| {
            let cases = [FigureCases::share(now / 2, now), FigureCases::share(before, before)];
            BoardFigure::new("failing_tasks", cases, &BoardFilter::default(), &period).expect("is known")
        };
        assert_eq!(
            (figure(40, 20).value, figure(40, 20).previous, figure(40, 20).change),
            (Some(0.5), Some(1.0), Some(-0.5))
        );
        assert_eq!((figure(40, 19).previous, figure(40, 19).change), (Some(1.0), None));
        assert_eq!((figure(0, 40).value, figure(0, 40).change), (None, None));
        assert_eq!(figure(2, 2).command, "verify-run stats --json --from 1970-01-01 --to 1970-01-30");
    }

    #[test]
    fn names_are_unique_and_definitions_are_sentences() {
        for (number, figure) in FIGURES.iter().enumerate() {
            assert!(figure.definition.ends_with('.') && !figure.definition.contains("  "), "{}", figure.name);
            assert!(FIGURES[..number].iter().all(|other| other.name != figure.name), "{}", figure.name);
        }
    }
}
