//! Records waiting runs, and promotes what was learnt in finished tasks.

use super::memory;
use crate::config::Places;
use crate::recorder::{self, Drained};
use crate::store::StoreError;

/// Records what waits, for the detached recorder.
///
/// # Errors
/// As [`recorder::drain`].
pub(crate) fn drain(places: &Places) -> Result<Drained, StoreError> {
    let drained = recorder::drain(places)?;
    promote_ended(places, &drained);
    Ok(drained)
}

/// Records before the caller goes on (`--sync`).
///
/// # Errors
/// As [`recorder::drain_sync`].
pub(crate) fn drain_sync(places: &Places, recorded: impl FnOnce()) -> Result<Drained, StoreError> {
    let drained = recorder::drain_sync(places, recorded)?;
    promote_ended(places, &drained);
    Ok(drained)
}

/// Makes knowledge of what was learnt in tasks that are over, where what was recorded says that something waits for that.
pub(super) fn promote_ended(places: &Places, drained: &Drained) {
    if !drained.promotes {
        return;
    }
    if let Err(error) = memory::promote_ended_tasks(places) {
        recorder::note(places, &[format!("{error:#}")]);
    }
}
