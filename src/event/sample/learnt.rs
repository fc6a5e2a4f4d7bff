//! Jobs and pages for tests.

use super::{by, event, run_id};
use crate::event::{
    CaptureRecord, Event, EventAuthor, EventBody, HarvestRecord, HarvestRuns, LearnNote, LearnStep, LibraryFolderName,
    LibraryNote, LibraryStep, TrialOutcome, TrialRecord, WrittenPage,
};

/// A step of one of three jobs, in second `n`.
pub(crate) fn learn_step(n: u64) -> Event {
    let step = match n % 6 {
        0 => LearnStep::Captured(Box::new(CaptureRecord { commit: format!("{n:040x}"), ..CaptureRecord::default() })),
        1 => {
            let runs = HarvestRuns { before: Some(run_id(n)), pass: Some(run_id(n + 40)), base: None };
            let fix = Some(format!("x-{n}"));
            LearnStep::Harvested(Box::new(HarvestRecord { task: "one".into(), fix, runs, ..HarvestRecord::default() }))
        }
        2 => LearnStep::Trial(Box::new(TrialRecord { n, outcome: TrialOutcome::Passed, ..TrialRecord::default() })),
        3 => LearnStep::FurtherProof { artifact: format!("a-{n}") },
        4 => LearnStep::Cancelled { reason: format!("because of {n}") },
        _ => LearnStep::Interrupted,
    };
    let by = EventAuthor { person: Some("Ada".into()), ..by() };
    event(n, 21_000, EventBody::Learn(Box::new(LearnNote { job: format!("j-{}", n % 3), step, by })))
}

/// A step of one of three pages, in second `n`.
pub(crate) fn library_step(n: u64) -> Event {
    let (reason, digest) = (format!("because of {n}"), format!("sha256:{n}"));
    let step = match n % 4 {
        0 => LibraryStep::Approved { reason, digest, supersedes: Vec::new(), unproven: false },
        1 => {
            let page = WrittenPage { file: "a.md".into(), digest, quotes: vec![run_id(n)], ..WrittenPage::default() };
            LibraryStep::Written(Box::new(page))
        }
        2 => LibraryStep::Deprecated { reason, replaced_by: None },
        _ => LibraryStep::Moved { from: LibraryFolderName::Active, to: LibraryFolderName::Deprecated, commit: None },
    };
    let by = EventAuthor { person: Some("Ada".into()), ..by() };
    event(n, 22_000, EventBody::Library(Box::new(LibraryNote { artifact: format!("a-{}", n % 3), step, by })))
}
