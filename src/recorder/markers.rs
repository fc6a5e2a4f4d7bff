//! The markers of open failures (`open/KEY`): they tell the wrapper whose next pass it has to keep the output of.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::base::clock::Timestamp;
use crate::base::file::{self, Durability};
use crate::command::KeyParts;
use crate::config::{Places, StateDir};
use crate::event::{Run, Scope};
use crate::fix;
use crate::store::{Store, StoreError};

/// Sets the marker of a command key while the last run of the key failed, else removes it.
///
/// # Errors
/// When the store can't be read.
pub(super) fn mark_open(places: &Places, store: &Store, key: &str) -> Result<(), StoreError> {
    let marker = places.state.open_marker(&StateDir::key_name(key));
    if store.index().last_run_passed(key, Timestamp::now())? == Some(false) {
        write_marker(places, &marker);
    } else {
        let _ = fs::remove_file(marker);
    }
    Ok(())
}

/// Markers of the checks whose pass would close an open failure too: the wrapper then keeps their output and starts a
/// recorder at once.
pub(super) fn mark_covering(places: &Places, run: &Run, open: &[Scope], closed: &[Scope]) {
    let covering_keys = |scopes: &[Scope]| -> BTreeSet<String> {
        let covering = scopes.iter().flat_map(fix::covering_scopes);
        covering.map(|scope| key_of_scope(run, &scope)).filter(|key| *key != run.key).collect()
    };
    let own_keys =
        |scopes: &[Scope]| -> BTreeSet<String> { scopes.iter().map(|scope| key_of_scope(run, scope)).collect() };
    let (wanted, own) = (covering_keys(open), own_keys(open));
    for key in covering_keys(closed).iter().chain(&own_keys(closed)) {
        if !wanted.contains(key) && !own.contains(key) && *key != run.key {
            let _ = fs::remove_file(places.state.open_marker(&StateDir::key_name(key)));
        }
    }
    for key in wanted {
        let marker = places.state.open_marker(&StateDir::key_name(&key));
        if !marker.exists() {
            write_marker(places, &marker);
        }
    }
}

/// Nothing depends on a marker but the wrapper's choice of what to keep, so one that can't be written is left out.
fn write_marker(places: &Places, marker: &Path) {
    let made = file::create_private_dir(&places.state.open_markers());
    let _ = made.and_then(|()| file::write_atomic(marker, b"", 0o600, Durability::Cached));
}

/// The command key of a scope in the work tree of a run and of its kind.
fn key_of_scope(run: &Run, scope: &Scope) -> String {
    let mut selectors: Vec<String> = scope.selectors.iter().chain(&scope.sub).cloned().collect();
    if run.tool.is_some() {
        selectors.sort();
    }
    let parts = KeyParts {
        worktree: run.root.path().to_owned(),
        subject: scope.subject.clone(),
        kind: run.check.map(|kind| kind.as_str().to_owned()).unwrap_or_default(),
        directory: scope.dir.path().to_owned(),
        selectors: selectors.into_iter().map(Into::into).collect(),
    };
    parts.hash()
}
