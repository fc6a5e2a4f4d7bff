//! Events that commands recorded for the recorder ([`crate::store::note`]).

use std::fs;
use std::path::PathBuf;

use super::context::Recorder;
use super::queue::{self, SpoolEntryKind};
use crate::base::ids::RunId;
use crate::base::limits::NOTES_BATCH_MAX;
use crate::event::{Delivery, Event, EventBody};
use crate::store::note::{self, NoteError};
use crate::store::{Store, StoreError};

/// Appends and applies what waits, each event once, and then removes its file.
pub(super) fn record_notes(recorder: &mut Recorder<'_>) -> Result<(), StoreError> {
    let Recorder { projects, store, report, .. } = recorder;
    let notes = queue::pending_entries(projects.project_places()).into_iter();
    let notes = notes.filter(|pending| pending.kind == SpoolEntryKind::Note);
    let notes: Vec<PathBuf> = notes.map(|pending| pending.path).collect();
    for paths in notes.chunks(NOTES_BATCH_MAX) {
        let (mut events, mut done) = (Vec::<Event>::new(), Vec::new());
        for path in paths {
            match note::read_note(path) {
                Ok(mut event) => {
                    if let EventBody::Delivery(delivery) = &mut event.body {
                        quote_texts(store, delivery)?;
                    }
                    // In two of the folders, or appended by a recorder that was killed before it removed the file.
                    let is_known =
                        events.iter().any(|other| other.id == event.id) || store.index().has_event(RunId(event.id))?;
                    if !is_known {
                        events.push(Event { writer: store.writer_name().to_owned(), ..event });
                    }
                    done.push(path);
                }
                Err(NoteError::Bad(why)) => queue::set_aside(path, why, report),
                Err(error) => report.left.push((path.clone(), error.to_string())),
            }
        }
        store.append(&events)?;
        report.notes_taken += events.len();
        for path in done {
            if let Err(error) = fs::remove_file(path) {
                report.left.push((path.clone(), error.to_string()));
            }
        }
    }
    Ok(())
}

/// Notes whose messages are in the text that was shown, so that it goes with them. A text of which nothing is left in the
/// store was purged meanwhile.
fn quote_texts(store: &Store, delivery: &mut Delivery) -> Result<(), StoreError> {
    if let (Some(_), Some(pattern)) = (&delivery.text, &delivery.pattern) {
        delivery.runs = store.index().quoted_runs_of_pattern(pattern)?;
        if delivery.runs.is_empty() {
            delivery.text = None;
        }
    }
    Ok(())
}
