//! The pattern library: its pages, the jobs that prove them, and figures in the order in which they matter: safety first,
//! throughput last.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Board;
use crate::advice::outcome::DeliveryOutcome;
use crate::event::{DeliveryArm, JobState, LibraryFolderName, LibraryStep};
use crate::ops::board::filter::BoardFilter;
use crate::ops::library::{PageList, list_jobs, list_pages};

/// Jobs that are counted, the newest.
const JOBS_MAX: usize = 10_000;
/// Failed jobs whose cause is looked up, the newest.
const FAILED_MAX: usize = 200;
const HOUR_US: f64 = 3_600e6;

/// The library with its figures.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LibraryBoard {
    /// What `library list --json` prints.
    #[serde(flatten)]
    pub list: PageList,
    /// Jobs by state, in the alphabet's order.
    pub jobs: Vec<JobStateCount>,
    /// In the order in which they matter.
    pub figures: LibraryFigures,
    /// What happened after agents got pages to read.
    pub uses: Vec<PageUses>,
}

/// Jobs in a state.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct JobStateCount {
    /// The state.
    pub state: JobState,
    /// How many.
    pub count: u64,
}

/// Figures about the library.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct LibraryFigures {
    /// Jobs that ended with evidence: with a candidate, a further proof, or no need of a page.
    pub jobs_with_evidence: u64,
    /// Jobs that ended without.
    pub jobs_failed: u64,
    /// Causes of the newest 200 failed jobs, by word.
    pub failure_causes: BTreeMap<String, u64>,
    /// Candidates that were approved.
    pub approved: u64,
    /// Candidates that were rejected.
    pub rejected: u64,
    /// Median of hours from a page to the first decision about it; `null` without one.
    pub review_hours_median: Option<f64>,
    /// Times that a page was deprecated.
    pub deprecated: u64,
    /// Times that a deprecated page was given back to agents.
    pub restored: u64,
    /// Pages that agents get to read.
    pub served: u64,
}

/// What happened after agents got a page to read.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PageUses {
    /// `a-…`
    pub page: String,
    /// Tasks that got it.
    pub shown: u64,
    /// Those of them that did without the mistake.
    pub prevented: u64,
    /// Those of them that made it.
    pub failed_anyway: u64,
    /// Tasks that it was held out from.
    pub held_out: u64,
}

impl Board<'_> {
    /// The library.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn library(&self) -> anyhow::Result<LibraryBoard> {
        let list = list_pages(self.request, None)?.data;
        let mut states: BTreeMap<&str, (JobState, u64)> = BTreeMap::new();
        for job in self.index().list_jobs(&[], JOBS_MAX)? {
            states.entry(job.state.as_str()).or_insert((job.state, 0)).1 += 1;
        }
        let figures = self.library_figures(&list, &states)?;
        let jobs = states.into_values().map(|(state, count)| JobStateCount { state, count }).collect();
        Ok(LibraryBoard { list, jobs, figures, uses: self.page_uses()? })
    }

    fn library_figures(
        &self,
        list: &PageList,
        states: &BTreeMap<&str, (JobState, u64)>,
    ) -> anyhow::Result<LibraryFigures> {
        let jobs_in = |wanted: &[JobState]| -> u64 {
            wanted.iter().filter_map(|state| states.get(state.as_str())).map(|(_, count)| count).sum()
        };
        let mut failure_causes: BTreeMap<String, u64> = BTreeMap::new();
        for job in list_jobs(self.request, &[JobState::Failed], FAILED_MAX)?.data.jobs {
            let cause = job.cause.map_or("unknown", |cause| cause.as_str());
            *failure_causes.entry(cause.to_owned()).or_default() += 1;
        }
        let (mut approved, mut rejected, mut deprecated, mut restored) = (0, 0, 0, 0);
        let (mut written, mut hours) = (BTreeMap::new(), Vec::new());
        for step in self.index().library_steps()? {
            let page = step.note.artifact.clone();
            match &step.note.step {
                LibraryStep::Approved { .. } => approved += 1,
                LibraryStep::Rejected { .. } => rejected += 1,
                LibraryStep::Deprecated { .. } => deprecated += 1,
                LibraryStep::Restored { .. } => restored += 1,
                LibraryStep::Written(_) => {
                    written.entry(page).or_insert(step.at);
                    continue;
                }
                _ => continue,
            }
            hours.extend(written.remove(&page).map(|at| (step.at.0 - at.0) as f64 / HOUR_US));
        }
        Ok(LibraryFigures {
            jobs_with_evidence: jobs_in(&[JobState::Candidate, JobState::FurtherProof, JobState::NoArtifact]),
            jobs_failed: jobs_in(&[JobState::Failed]),
            failure_causes,
            approved,
            rejected,
            review_hours_median: median(hours),
            deprecated,
            restored,
            served: list.pages.iter().filter(|page| page.served).count() as u64,
        })
    }

    /// Of each page that was due, the page of the most tasks first.
    fn page_uses(&self) -> anyhow::Result<Vec<PageUses>> {
        let told = self.deliveries(&BoardFilter::default())?;
        let mut uses: BTreeMap<&str, PageUses> = BTreeMap::new();
        for (row, seen) in told.rows.iter().zip(&told.seen) {
            let Some(page) = row.entry.as_deref().filter(|entry| entry.starts_with("a-")) else { continue };
            let page = uses.entry(page).or_insert_with(|| PageUses { page: page.to_owned(), ..PageUses::default() });
            page.held_out += u64::from(seen.arm == DeliveryArm::Holdout);
            page.shown += u64::from(seen.arm == DeliveryArm::Shown);
            if seen.arm == DeliveryArm::Shown {
                page.prevented += u64::from(seen.outcome() == DeliveryOutcome::Prevented);
                page.failed_anyway += u64::from(seen.outcome() == DeliveryOutcome::FailedAnyway);
            }
        }
        let mut uses: Vec<PageUses> = uses.into_values().collect();
        uses.sort_by(|a, b| b.shown.cmp(&a.shown).then_with(|| a.page.cmp(&b.page)));
        Ok(uses)
    }

    /// Pages that wait for a decision.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(super) fn waiting_pages(&self) -> anyhow::Result<PageList> {
        Ok(list_pages(self.request, Some(LibraryFolderName::Candidates))?.data)
    }
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.get(numbers.len() / 2)?;
    let value = if numbers.len() % 2 == 1 { *middle } else { (middle + numbers[numbers.len() / 2 - 1]) / 2.0 };
    Some((value * 10.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median(vec![5.0, 1.0, 3.0]), Some(3.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }
}
