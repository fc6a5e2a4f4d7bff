//! The shapes of the change that a page shows, as its jobs recorded them.

use std::collections::BTreeSet;

use crate::learn::job::Job;
use crate::store::{Index, StoreError};

/// The shapes of every job that wrote or proves a page.
///
/// # Errors
/// When the store can't be read.
pub(super) fn page_shapes(index: &Index, artifact: &str) -> Result<Vec<String>, StoreError> {
    let jobs: BTreeSet<String> = index.proofs_of_artifact(artifact)?.into_iter().map(|step| step.note.job).collect();
    let mut shapes = BTreeSet::new();
    for job in jobs {
        let harvest = Job::from_steps(&index.job_steps(&job)?).and_then(|job| job.harvest);
        shapes.extend(harvest.map(|harvest| harvest.shapes).unwrap_or_default());
    }
    Ok(shapes.into_iter().collect())
}
