//! The first step of every reading command: record waiting runs, then open the index; or open the index as it is.

use crate::config::{Environment, Places, Settings};
use crate::store::{Index, SegmentFolder, StoreError};

use super::recording;
use crate::recorder::{self, shared_lessons};

/// The store, open for reading.
pub(crate) struct Reading {
    /// `None` when nothing was ever recorded here.
    pub index: Option<Index>,
    /// The events.
    pub segments: SegmentFolder,
    /// What was found and put right on the way, or could not be done; for standard error.
    pub notes: Vec<String>,
}

/// Opens the store of these places. Creates nothing where nothing was recorded.
///
/// # Errors
/// When a newer verify-run wrote it, or it can't be read.
pub(crate) fn open_for_reading(places: &Places) -> Result<Reading, StoreError> {
    let mut notes = Vec::new();
    if places.state.events().exists() || !recorder::pending_entries(places).is_empty() {
        match recorder::drain_for_reading(places) {
            Ok(drained) => {
                // A pass alone starts no recorder, and a task may be over without any.
                recording::promote_ended(places, &drained);
                notes.extend(drained.notes);
                if drained.busy {
                    notes.push("another verify-run is recording: the newest runs may be missing".into());
                }
            }
            Err(error) if error.is_newer() => return Err(error),
            // A read-only disk, another user's folder: what is there can still be read.
            Err(error) => notes.push(format!("cannot record the waiting runs: {error}")),
        }
    }
    let environment = Environment::from_process();
    let (settings, _) = Settings::load(places, &environment);
    let index = Index::open_read(&places.state.index())?;
    let index = with_lessons(index, places, &environment, &settings, &mut notes)?;
    Ok(Reading { index, segments: SegmentFolder::new(places.state.events()), notes })
}

/// The index with what shared lessons say now. What can't be taken over now is the next time, or never: the rest can still
/// be read.
fn with_lessons(
    index: Option<Index>,
    places: &Places,
    environment: &Environment,
    settings: &Settings,
    notes: &mut Vec<String>,
) -> Result<Option<Index>, StoreError> {
    shared_lessons::refreshed_reading(index, places, environment, settings).or_else(|error| {
        notes.push(format!("shared lessons could not be read: {error}"));
        Index::open_read(&places.state.index())
    })
}

/// Opens the index as it is, with what shared lessons say now: without waiting. Only where there is none yet is what
/// waits recorded first.
///
/// # Errors
/// As [`open_for_reading`].
pub(crate) fn open_with_lessons(
    places: &Places,
    environment: &Environment,
    settings: &Settings,
    notes: &mut Vec<String>,
) -> Result<Option<Index>, StoreError> {
    let index = open_as_it_is(places, notes)?;
    with_lessons(index, places, environment, settings, notes)
}

/// Opens the index as it is: without waiting. Only where there is none yet is what waits recorded first.
///
/// # Errors
/// As [`open_for_reading`].
pub(crate) fn open_as_it_is(places: &Places, notes: &mut Vec<String>) -> Result<Option<Index>, StoreError> {
    if let Some(index) = Index::open_read(&places.state.index())? {
        return Ok(Some(index));
    }
    let reading = open_for_reading(places)?;
    notes.extend(reading.notes);
    Ok(reading.index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Timestamp;
    use crate::event::{Event, EventBody, FixNote};
    use crate::recorder::tests::World;
    use crate::store::note;

    #[test]
    fn a_reading_command_takes_the_notes_that_wait() {
        let world = World::new();
        let body =
            EventBody::FixNote(FixNote { fix: "x-1".into(), cause: Some("a cause".into()), ..FixNote::default() });
        note::write_note(&world.places, &Event::with_derived_id("said", &["1"], Timestamp(1), "", body)).expect("puts");
        let reading = open_for_reading(&world.places).expect("reads");
        assert_eq!(reading.index.expect("is there").count_rows().expect("counts").events, 1);
        assert!(recorder::pending_entries(&world.places).is_empty());
    }
}
