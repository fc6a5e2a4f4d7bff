//! Records waiting runs, and promotes what was learnt in finished tasks.

use std::path::Path;

use super::request::Request;
use super::{memory, receipt};
use crate::capture::RecorderWaiter;
use crate::config::{Environment, Places};
use crate::recorder::{self, DrainReport};
use crate::run;

/// Starts the recorder in a process of its own. To be called by a process of one thread.
pub(crate) fn start_recorder(places: &Places) {
    // Without a process, the next recorder takes what waits.
    let _ = run::run_detached(&[], || record_all(places, RecorderWaiter::default()));
}

/// The recorder's work. What it could not do is in its log; there is no user to show it to.
pub(crate) fn record_all(places: &Places, waiting: RecorderWaiter) {
    let drained = recorder::drain(places);
    promote_at(places, drained.as_ref().ok());
    // The first process of a container waits until everything is done: its end is everybody's.
    drop(waiting);
    ask_versions_at(places, drained.as_ref().ok());
}

/// As [`record_all`], but waits for a recorder that is at work: the caller wants to find this run recorded.
pub(crate) fn record_now(places: &Places, waiting: RecorderWaiter) {
    let drained = recorder::drain_sync(places, || drop(waiting));
    promote_at(places, drained.as_ref().ok());
    ask_versions_at(places, drained.as_ref().ok());
}

/// Records what waits, for a caller that recorded nothing yet of what it ran. What can't be recorded now waits on.
pub(crate) fn record_waiting(request: &Request) {
    let drained = recorder::drain_for_reading(&request.places);
    promote_at(&request.places, drained.as_ref().ok());
    ask_versions_at(&request.places, drained.as_ref().ok());
}

/// Whether a recording verify-run above this process records the same repository's failure already. (One that records
/// another repository, such as a test suite around this one, does not.)
pub(crate) fn is_recorded_above(places: &Places, environment: &Environment) -> bool {
    let same_root = |cwd: &Path| Places::find(cwd, environment).root == places.root;
    run::recording_ancestors().iter().any(|cwd| cwd.as_deref().is_none_or(same_root))
}

/// As [`promote_ended`], for a recorder, which has no request.
fn promote_at(places: &Places, drained: Option<&DrainReport>) {
    if let Some(drained) = drained.filter(|drained| drained.promotes) {
        promote_ended(&Request::at_places(places.clone(), Environment::from_process()), drained);
    }
}

/// Asks programs for their versions that receipts for other machines need, when no process waits for the recorder any more.
fn ask_versions_at(places: &Places, drained: Option<&DrainReport>) {
    if drained.is_none_or(|drained| !drained.asks_versions) {
        return;
    }
    let request = Request::at_places(places.clone(), Environment::from_process());
    if let Err(error) = receipt::ask_versions(&request) {
        recorder::note(places, &[format!("cannot keep the versions of tools: {error:#}")]);
    }
}

/// Makes knowledge of what was learnt in tasks that are over, where what was recorded says that something waits for that.
pub(super) fn promote_ended(request: &Request, drained: &DrainReport) {
    if !drained.promotes {
        return;
    }
    if let Err(error) = memory::promote_ended_tasks(request) {
        recorder::note(&request.places, &[format!("{error:#}")]);
    }
}
