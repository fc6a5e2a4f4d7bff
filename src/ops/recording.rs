//! Records waiting runs, and promotes what was learnt in finished tasks.

use super::memory;
use super::request::Request;
use crate::config::{Environment, Places};
use crate::recorder::{self, Drained};
use crate::store::StoreError;

/// Records what waits, for the detached recorder.
///
/// # Errors
/// As [`recorder::drain`].
pub(crate) fn drain(places: &Places) -> Result<Drained, StoreError> {
    let drained = recorder::drain(places)?;
    promote_at(places, &drained);
    Ok(drained)
}

/// Records before the caller goes on (`--sync`).
///
/// # Errors
/// As [`recorder::drain_sync`].
pub(crate) fn drain_sync(places: &Places, recorded: impl FnOnce()) -> Result<Drained, StoreError> {
    let drained = recorder::drain_sync(places, recorded)?;
    promote_at(places, &drained);
    Ok(drained)
}

/// As [`promote_ended`], for a recorder, which nobody's request started.
fn promote_at(places: &Places, drained: &Drained) {
    if drained.promotes {
        promote_ended(&Request::at_places(places.clone(), Environment::from_process()), drained);
    }
}

/// Makes knowledge of what was learnt in tasks that are over, where what was recorded says that something waits for that.
pub(super) fn promote_ended(request: &Request, drained: &Drained) {
    if !drained.promotes {
        return;
    }
    if let Err(error) = memory::promote_ended_tasks(request) {
        recorder::note(&request.places, &[format!("{error:#}")]);
    }
}
