//! `knowledge proposals`, and `knowledge add --from-fix`: what fixes that held propose to write down.

use anyhow::ensure;
use serde::Serialize;

use crate::advice::task;
use crate::base::refusal::Refusal;
use crate::event::FixState;
use crate::knowledge::EntryDraft;
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::retrieval::entry_proposals::{EntryProposal, fix_draft, task_proposals};
use crate::store::StoreError;

/// Tasks whose fixes are looked at, the last ones.
const TASKS_LOOKED_AT_MAX: usize = 100;

/// What `knowledge proposals --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct EntryProposalList {
    /// Those of the task that ended last first.
    pub proposals: Vec<EntryProposal>,
}

/// Proposals of finished tasks that are not decided yet.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn list_proposals(request: &Request) -> Result<Reply<EntryProposalList>, StoreError> {
    let reading = request.open_for_reading()?;
    let mut proposals = Vec::new();
    if let Some(index) = &reading.index {
        let now = request.now();
        for known in index.list_tasks(TASKS_LOOKED_AT_MAX)? {
            if task::task_end(&known, now, request.settings().fix.silence()).is_some() {
                proposals.append(&mut task_proposals(index, &reading.segments, &known.name)?);
            }
        }
    }
    Ok(Reply::new(EntryProposalList { proposals }, reading.notes))
}

/// The pattern that a fix makes, to be written down.
///
/// # Errors
/// When there is no such fix, it is none, nothing was changed in it, or the store can't be read.
pub(crate) fn draft_from_fix(request: &Request, id: &str) -> anyhow::Result<EntryDraft> {
    let reading = request.open_for_reading()?;
    let Some(index) = &reading.index else { return Err(StoreError::NoSuchId { id: id.to_owned() }.into()) };
    let row = index.find_fix(id)?;
    ensure!(
        row.state == FixState::Success,
        Refusal::conflict(format!("{} is no fix: {}", row.id, row.state)).then_run(format!("fix show {}", row.id))
    );
    let given = fix_draft(index, &reading.segments, &row)?;
    given.ok_or_else(|| anyhow::anyhow!("the changes of {} are unknown", row.id))
}
