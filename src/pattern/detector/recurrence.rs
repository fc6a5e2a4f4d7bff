//! Detector: a pattern, or its family, that recurs in task after task.

use super::{Detector, DetectorFinding, DetectorSubject, failing_tasks};
use crate::base::text::count;
use crate::config::Settings;
use crate::pattern::history::TaskHistory;

/// Seen in `recurring_tasks` distinct tasks, itself or its family.
#[derive(Debug)]
pub(super) struct RecurrenceDetector;

impl Detector for RecurrenceDetector {
    fn name(&self) -> &str {
        "recurring"
    }

    fn examine_pattern(
        &self,
        subject: &DetectorSubject<'_>,
        history: &TaskHistory,
        settings: &Settings,
    ) -> Option<DetectorFinding> {
        let enough = settings.patterns.recurring_tasks;
        let own = failing_tasks(history, subject.patterns).len() as u64;
        let family = failing_tasks(history, subject.family).len() as u64;
        let (hits, what) = match (own >= enough, family >= enough) {
            (true, _) => (own, "It"),
            (false, true) => (family, "This or a failure like it"),
            (false, false) => return None,
        };
        let of = history.tasks.iter().filter(|task| !task.failures.is_empty()).count() as u64;
        Some(DetectorFinding {
            detector: self.name().into(),
            title: "comes back".into(),
            summary: format!("{what} occurred in {hits} of the last {} with a failure.", count(of, "task")),
            patterns: vec![subject.id.to_owned()],
            hits,
            of,
            ..DetectorFinding::default()
        })
    }
}
