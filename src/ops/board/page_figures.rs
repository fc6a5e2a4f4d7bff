//! The figures of the pages of a pattern, of the effect of advice, of the gate and of the library.

use super::figures::{BoardFigure, FigureCases, FigureDefinition, FigureList, FigureUnit};
use super::{Board, BoardFilter};
use crate::base::refusal::Refusal;

/// A page that has figures, beside the overview.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FigurePage {
    /// Of the pattern with this id.
    Pattern(String),
    Effect,
    Gate,
    Library,
}

const fn definition(
    name: &'static str,
    what: &'static str,
    unit: FigureUnit,
    case: &'static str,
    definition: &'static str,
) -> FigureDefinition {
    FigureDefinition { name, what, unit, definition, case, is_current: true }
}

/// The figures of all these pages. The first word of a name is that of its page.
const PAGE_FIGURES: [FigureDefinition; 21] = [
    definition(
        "pattern_failures",
        "failures of the pattern",
        FigureUnit::Count,
        "run",
        "Failed runs with the pattern, or with one that is merged with it. Failures of a proven flake are not counted.",
    ),
    definition(
        "pattern_tasks",
        "tasks with the pattern",
        FigureUnit::Count,
        "task",
        "Distinct tasks of the failures of the pattern.",
    ),
    definition(
        "pattern_confidence",
        "confidence of the pattern",
        FigureUnit::Number,
        "step",
        "The last value of its ledger: a start, and a step for each event that confirms or contradicts the pattern. A case is \
         a step.",
    ),
    definition(
        "pattern_fixed",
        "fixes after which the pattern was gone",
        FigureUnit::Share,
        "fix",
        "Fixes that made it go away, of those in which it was tried.",
    ),
    definition(
        "pattern_prevented",
        "warned tasks without the pattern",
        FigureUnit::Share,
        "warned task",
        "Tasks that were warned of the pattern and did not have it, of the warned tasks whose outcome is known. Observed, with \
         no control group: whether warnings are the cause is what `effect` says.",
    ),
    definition(
        "effect_evidence",
        "evidence against \"advice does nothing\"",
        FigureUnit::Number,
        "task",
        "An e-value of the tasks of both arms in which the mistake could be made; 20 is enough, whenever one looks.",
    ),
    definition(
        "effect_shown",
        "warned tasks that made the mistake",
        FigureUnit::Share,
        "task",
        "Tasks that made a mistake they were warned of, of the warned tasks in which it could be made.",
    ),
    definition(
        "effect_held_out",
        "held-out tasks that made the mistake",
        FigureUnit::Share,
        "task",
        "Tasks that made a mistake whose warning was held out, of the held-out tasks in which it could be made.",
    ),
    definition(
        "effect_lift",
        "mistakes avoided",
        FigureUnit::Share,
        "task",
        "How much less often warned tasks make the mistake than held-out ones: 1 minus the ratio of the two shares.",
    ),
    definition(
        "effect_needed",
        "held-out tasks still needed",
        FigureUnit::Count,
        "held-out task",
        "Held-out tasks that are missing to see a difference of 20 percentage points. A case is one that there was.",
    ),
    definition(
        "effect_observed",
        "prevention effectiveness, observed",
        FigureUnit::Share,
        "warning",
        "Warned tasks without the mistake, of the warned tasks whose outcome is known; one half without any. No control group: \
         this is no cause.",
    ),
    definition(
        "effect_missed",
        "known mistakes made without a warning",
        FigureUnit::Count,
        "task",
        "Tasks in which a known mistake was made and no warning was shown, once for each pattern, of all that was recorded.",
    ),
    definition(
        "effect_tokens_shown",
        "tokens of the warnings shown",
        FigureUnit::Count,
        "warning",
        "An estimate: the bytes of the texts that were shown, four to a token.",
    ),
    definition(
        "effect_tokens_saved",
        "tokens saved by reuse",
        FigureUnit::Count,
        "token",
        "An estimate: how often entries helped, times the setting knowledge.reuse_tokens, of all that was recorded.",
    ),
    definition(
        "effect_calibration",
        "correlation of confidence and outcome",
        FigureUnit::Number,
        "warning",
        "Pearson's correlation of the confidence at a warning and its outcome, of the warnings whose outcome is known.",
    ),
    definition(
        "gate_first_attempts",
        "features that the gate approved at the first attempt",
        FigureUnit::Share,
        "feature",
        "Features whose first verdict was APPROVE, of the features with a verdict.",
    ),
    definition(
        "library_jobs_with_evidence",
        "jobs of the library that ended with evidence",
        FigureUnit::Share,
        "job",
        "Jobs that ended with a candidate, a further proof or no need of a page, of the jobs that ended with one of these or \
         failed.",
    ),
    definition(
        "library_approved",
        "candidates that were approved",
        FigureUnit::Share,
        "decision",
        "Approvals, of all approvals and rejections of candidates.",
    ),
    definition(
        "library_review_hours",
        "hours until a candidate is decided about",
        FigureUnit::Number,
        "decision",
        "Median of hours from a page to the first decision about it.",
    ),
    definition(
        "library_deprecated",
        "deprecations of pages",
        FigureUnit::Count,
        "deprecation",
        "Times that a page of the library was deprecated.",
    ),
    definition(
        "library_served",
        "pages that agents read",
        FigureUnit::Count,
        "page",
        "Active pages of the library that are as they were approved.",
    ),
];

impl FigurePage {
    /// The page of a word: `effect`, `gate` or `library`, else the pattern with this id.
    pub(crate) fn from_word(word: &str) -> Self {
        match word {
            "effect" => FigurePage::Effect,
            "gate" => FigurePage::Gate,
            "library" => FigurePage::Library,
            id => FigurePage::Pattern(id.to_owned()),
        }
    }

    /// The page that has the figure with this name; `None` for figures of the overview, and for none.
    ///
    /// # Errors
    /// When a pattern has the figure, and which one isn't known.
    pub(super) fn of_figure(name: &str, pattern: Option<&str>) -> anyhow::Result<Option<Self>> {
        if PAGE_FIGURES.iter().all(|figure| figure.name != name) {
            return Ok(None);
        }
        match (first_word(name), pattern) {
            ("pattern", None) => Err(Refusal::usage(format!("{name} needs `pattern`, the id of a pattern")).into()),
            ("pattern", Some(id)) => Ok(Some(FigurePage::Pattern(id.to_owned()))),
            (word, _) => Ok(Some(FigurePage::from_word(word))),
        }
    }

    fn word(&self) -> &str {
        match self {
            FigurePage::Pattern(id) => id,
            FigurePage::Effect => "effect",
            FigurePage::Gate => "gate",
            FigurePage::Library => "library",
        }
    }
}

/// Names of the figures.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    PAGE_FIGURES.iter().map(|figure| figure.name)
}

fn first_word(name: &str) -> &str {
    name.split('_').next().unwrap_or_default()
}

impl Board<'_> {
    /// The figures of a page. Only those of the effect depend on the filter.
    ///
    /// # Errors
    /// When there is no such pattern, or the store can't be read.
    pub(crate) fn page_figures(&self, page: &FigurePage, filter: &BoardFilter) -> anyhow::Result<FigureList> {
        let (kind, options, cases) = match page {
            FigurePage::Pattern(id) => ("pattern", String::new(), self.pattern_cases(id)?),
            FigurePage::Effect => ("effect", filter.asked_options(), self.effect_cases(filter)?),
            FigurePage::Gate => ("gate", String::new(), self.gate_cases()?),
            FigurePage::Library => ("library", String::new(), self.library_cases()?),
        };
        let command = format!("verify-run stats --json --page {}{options}", shell_words::quote(page.word()));
        let own = PAGE_FIGURES.iter().filter(|figure| first_word(figure.name) == kind).enumerate();
        let figures = own.filter_map(|(number, figure)| {
            let (_, cases) = cases.iter().find(|(name, _)| *name == figure.name)?;
            Some(BoardFigure::of_page(figure, *cases, command.clone(), number))
        });
        Ok(FigureList { figures: figures.collect() })
    }

    fn pattern_cases(&self, id: &str) -> anyhow::Result<Vec<(&'static str, FigureCases)>> {
        let detail = self.pattern(id)?;
        let (summary, warned) = (&detail.page.summary, &detail.warned);
        let steps = detail.page.ledger.steps.len() as u64;
        Ok(vec![
            ("pattern_failures", FigureCases::count(summary.failures)),
            ("pattern_tasks", FigureCases::count(summary.tasks)),
            ("pattern_confidence", FigureCases::value(Some(summary.confidence), steps)),
            ("pattern_fixed", FigureCases::share(detail.fixed, detail.fixes_tried)),
            ("pattern_prevented", FigureCases::share(warned.prevented, warned.prevented + warned.failed_anyway)),
        ])
    }

    fn effect_cases(&self, filter: &BoardFilter) -> anyhow::Result<Vec<(&'static str, FigureCases)>> {
        let page = self.effect(filter)?;
        let (shown, held_out) = (page.effect.trial.shown, page.effect.trial.held_out);
        let both = shown.exposures + held_out.exposures;
        let observed = FigureCases {
            cases: page.observed.prevented + page.observed.failed_anyway,
            value: Some(page.observed.effectiveness),
            hits: Some(page.observed.prevented),
        };
        let missing = page.needed.map(|needed| needed.missing as f64);
        let tokens_shown = Some(page.cost.tokens_shown_estimate as f64);
        Ok(vec![
            ("effect_evidence", FigureCases::value(Some(page.effect.e_value), both)),
            ("effect_shown", FigureCases::share(shown.recurrences, shown.exposures)),
            ("effect_held_out", FigureCases::share(held_out.recurrences, held_out.exposures)),
            ("effect_lift", FigureCases::value(page.effect.lift.map(|lift| lift.value), both)),
            ("effect_needed", FigureCases::value(missing, held_out.exposures)),
            ("effect_observed", observed),
            ("effect_missed", FigureCases::count(page.missed.total)),
            ("effect_tokens_shown", FigureCases::value(tokens_shown, page.cost.warnings)),
            ("effect_tokens_saved", FigureCases::count(page.cost.tokens_saved_estimate)),
            ("effect_calibration", FigureCases::value(page.calibration.correlation, page.calibration.cases)),
        ])
    }

    fn gate_cases(&self) -> anyhow::Result<Vec<(&'static str, FigureCases)>> {
        let first = self.gate_cycles()?.first_attempts;
        Ok(vec![("gate_first_attempts", FigureCases::share(first.approved, first.cycles))])
    }

    fn library_cases(&self) -> anyhow::Result<Vec<(&'static str, FigureCases)>> {
        let figures = self.library()?.figures;
        let ended = figures.jobs_with_evidence + figures.jobs_failed;
        let decided = figures.approved + figures.rejected;
        Ok(vec![
            ("library_jobs_with_evidence", FigureCases::share(figures.jobs_with_evidence, ended)),
            ("library_approved", FigureCases::share(figures.approved, decided)),
            ("library_review_hours", FigureCases::value(figures.review_hours_median, decided)),
            ("library_deprecated", FigureCases::count(figures.deprecated)),
            ("library_served", FigureCases::count(figures.served)),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::board::figures::FIGURES;

    #[test]
    fn names_begin_with_their_page_and_definitions_are_sentences() {
        let mut names = FIGURES.map(|figure| figure.name).to_vec();
        for figure in &PAGE_FIGURES {
            assert!(["pattern", "effect", "gate", "library"].contains(&first_word(figure.name)), "{}", figure.name);
            assert!(figure.definition.ends_with('.') && !figure.definition.contains("  "), "{}", figure.name);
            assert!(!names.contains(&figure.name), "{}", figure.name);
            names.push(figure.name);
        }
    }

    #[test]
    fn a_figure_of_a_pattern_needs_to_know_which() {
        let page = |name, pattern| FigurePage::of_figure(name, pattern).ok();
        assert_eq!(page("pattern_tasks", Some("p-1")), Some(Some(FigurePage::Pattern("p-1".into()))));
        assert_eq!(page("pattern_tasks", None), None);
        assert_eq!(page("gate_first_attempts", Some("p-1")), Some(Some(FigurePage::Gate)));
        assert_eq!((page("failures", None), page("gate_nope", None)), (Some(None), Some(None)));
    }
}
