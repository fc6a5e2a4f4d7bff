//! Runs that a hook alone saw, and those that it wasn't alone in seeing.

use crate::base::clock::Timestamp;
use crate::capture::SpoolHeader;
use crate::store::{Store, StoreError};

/// Largest difference between the clocks of a host and of a wrapper, microseconds: the host counts from its own
/// start.
const SLACK_US: i64 = 2_000_000;
/// A hook that doesn't say how long the command took may speak of one that was started so long ago.
const UNKNOWN_US: i64 = 3_600_000_000;

/// Whether what a hook saw is recorded already: by a wrapper at the command or inside of it, or by the same hook that is
/// configured twice.
///
/// # Errors
/// When the store can't be read.
pub(super) fn is_recorded(store: &Store, header: &SpoolHeader) -> Result<bool, StoreError> {
    if header.observed_via.is_none() {
        return Ok(false);
    }
    let moved = |moment: Timestamp, us: i64| Timestamp(moment.0.saturating_add(us));
    let back = if header.duration_us == 0 { UNKNOWN_US } else { SLACK_US };
    let (from, to) = (moved(header.started_at, -back), moved(header.ended_at, SLACK_US));
    // Its end is always known. If its start is unknown, only a run that ended just now is the same.
    let ended_from = if header.duration_us == 0 { moved(header.ended_at, -SLACK_US) } else { from };
    for id in store.index().runs_between(&header.repository.root, ended_from, to)? {
        let Some(run) = store.index().read_run(store.segments(), &id)? else { continue };
        let same_session = run.session.is_some() && run.session == header.identity.session;
        let within = run.started_at >= from && run.ended_at >= ended_from && run.ended_at <= to;
        let is_double = match (&run.observed_via, &run.call, &header.call) {
            (None, ..) => run.key == header.key || same_session,
            (Some(_), Some(one), Some(other)) => one == other,
            (Some(_), ..) => run.key == header.key,
        };
        // A code that is the check's own says whether it is the same end.
        let is_own = header.check.as_ref().is_some_and(|check| check.status_is_own);
        let differs = is_own && run.key == header.key && run.ended != header.ended;
        if within && is_double && !differs && id != header.run.to_string() {
            return Ok(true);
        }
    }
    Ok(false)
}
