//! Which language models wrote a change: a set, because a cycle may have several.

use std::collections::BTreeSet;

use super::patience::open_index;
use crate::base::lossless::Lossless;
use crate::capture::session_models;
use crate::ops::request::Request;
use crate::recorder;
use crate::redact::sanitize_name;

/// Models that wrote the change, as the caller names them: by option, by variable, and what its host named to hooks of the
/// session.
pub(super) fn named_implementers(request: &Request, options: &[String]) -> BTreeSet<String> {
    let identity = &request.identity;
    let of_session = identity.session.iter().flat_map(|session| session_models(&request.environment, session));
    options.iter().chain(&identity.model).filter_map(|model| sanitize_name(model)).chain(of_session).collect()
}

/// The models of the task's recorded runs in this work tree, and what hosts named to hooks of their sessions; none where the
/// store can't be read.
pub(super) fn recorded_implementers(request: &Request, task: &str) -> BTreeSet<String> {
    let read = || {
        // A run that passed may wait to be recorded.
        let waits = !recorder::pending_entries(&request.places).is_empty();
        let index = if waits { request.open_for_reading().ok()?.index } else { open_index(request).ok()? }?;
        index.workers_of_task(task, &Lossless::from(&request.places.root)).ok()
    };
    let mut models = BTreeSet::new();
    for worker in read().unwrap_or_default() {
        // A run that named its model is of no other one of its session.
        let of_session =
            || worker.session.iter().flat_map(|session| session_models(&request.environment, session)).collect();
        models.extend(worker.model.map_or_else(of_session, |model| vec![model]));
    }
    models
}
