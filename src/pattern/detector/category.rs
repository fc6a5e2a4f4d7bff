//! Detector: most failures have one category.

use std::collections::BTreeMap;

use super::{Detector, DetectorFinding, DetectorSubject, failing_tasks, format_percent};
use crate::config::Settings;
use crate::pattern::history::{HistoryFailure, TaskHistory};
use crate::pattern::statistics::wilson_bound;

/// Wilson's interval at 90 %, two-sided.
const Z: f64 = 1.645;

/// Share and Wilson's lower bound over an even spread.
#[derive(Debug)]
pub(super) struct DominatingCategoryDetector;

impl Detector for DominatingCategoryDetector {
    fn name(&self) -> &str {
        "dominating-category"
    }

    fn examine_pattern(
        &self,
        subject: &DetectorSubject<'_>,
        history: &TaskHistory,
        settings: &Settings,
    ) -> Option<DetectorFinding> {
        let failures = failing_tasks(history, subject.patterns).into_iter().flat_map(|(_, failures)| failures);
        let found = find_dominating_category(failures, history, settings)?;
        Some(DetectorFinding { patterns: vec![subject.id.to_owned()], ..found })
    }

    fn examine_history(&self, history: &TaskHistory, settings: &Settings) -> Vec<DetectorFinding> {
        let failures = history.tasks.iter().flat_map(|task| &task.failures);
        find_dominating_category(failures, history, settings).into_iter().collect()
    }
}

fn find_dominating_category<'a>(
    failures: impl Iterator<Item = &'a HistoryFailure>,
    history: &TaskHistory,
    settings: &Settings,
) -> Option<DetectorFinding> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for failure in failures {
        *counts.entry(&failure.category).or_default() += 1;
    }
    let of: u64 = counts.values().sum();
    let (category, &hits) = counts.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0)))?;
    let bound = wilson_bound(hits, of, Z);
    let dominates = of >= settings.patterns.category_failures
        && hits as f64 >= settings.patterns.category_share * of as f64
        && bound > 1.0 / history.categories.max(1) as f64;
    dominates.then(|| DetectorFinding {
        detector: "dominating-category".into(),
        title: format!("mostly {category}"),
        summary: format!("{} of the failures are {category} ({hits} of {of}).", format_percent(hits, of)),
        category: Some((*category).to_owned()),
        hits,
        of,
        lower_bound: Some(bound),
        ..DetectorFinding::default()
    })
}
