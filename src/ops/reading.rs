//! The first step of every verb: record waiting runs, then open the store; or open the index as it is.

use std::time::Duration;

use super::recording;
use super::request::Request;
use crate::base::limits::LOCK_WAIT_MS_MAX;
use crate::base::lock::Lock;
use crate::recorder::{self, shared_lessons};
use crate::store::{Index, SegmentFolder, Store, StoreError, lock_store};

/// The store, open for reading.
pub(crate) struct StoreReader {
    /// `None` when nothing was ever recorded here.
    pub index: Option<Index>,
    /// The events.
    pub segments: SegmentFolder,
    /// What was found and put right on the way, or could not be done; for standard error.
    pub notes: Vec<String>,
}

impl Request {
    /// Records what waits, and opens the store for reading. Creates nothing where nothing was recorded.
    ///
    /// # Errors
    /// When a newer verify-run wrote it, or it can't be read.
    pub(crate) fn open_for_reading(&self) -> Result<StoreReader, StoreError> {
        let mut notes = Vec::new();
        let has_records = || self.places.state.events().exists() || !recorder::pending_entries(&self.places).is_empty();
        if !self.kept.is_recorded(&self.places) && has_records() {
            self.record_waiting(&mut notes)?;
        }
        let index = self.open_index()?;
        let index = self.with_lessons(index, &mut notes)?;
        Ok(StoreReader { index, segments: SegmentFolder::new(self.places.state.events()), notes })
    }

    /// Records what waits.
    fn record_waiting(&self, notes: &mut Vec<String>) -> Result<(), StoreError> {
        let before = self.kept.stamp_before(&self.places);
        // An index that is computed again has no lessons yet.
        self.kept.note_lessons(None);
        match recorder::drain_for_reading(&self.places) {
            Ok(drained) => {
                // A pass alone starts no recorder, and a task may be over without any.
                recording::promote_ended(self, &drained);
                self.kept.note_recorded(&self.places, before.as_ref(), &drained);
                notes.extend(drained.notes);
                if drained.busy {
                    notes.push("another verify-run is recording: the newest runs may be missing".into());
                }
                Ok(())
            }
            Err(error) if error.is_newer() => Err(error),
            // A read-only disk, another user's folder: what is there can still be read.
            Err(error) => {
                notes.push(format!("cannot record the waiting runs: {error}"));
                Ok(())
            }
        }
    }

    /// Opens the index as it is, whatever waits; `None` when there is none of this version.
    ///
    /// # Errors
    /// When a newer verify-run wrote it, or it can't be read.
    pub(crate) fn open_index(&self) -> Result<Option<Index>, StoreError> {
        let mut index = Index::open_kept(&self.places.state.index(), &self.kept.readers)?;
        if let Some((index, until)) = index.as_mut().zip(self.until) {
            index.give_up_at(until)?;
        }
        Ok(index)
    }

    /// The index with what shared lessons say now. What can't be taken over now is the next time, or never: the rest can
    /// still be read.
    fn with_lessons(&self, index: Option<Index>, notes: &mut Vec<String>) -> Result<Option<Index>, StoreError> {
        if index.is_some() && self.kept.knows_lessons(&self.places, self.settings()) {
            return Ok(index);
        }
        let before = self.kept.lessons_before(&self.places, self.settings());
        let refreshed = shared_lessons::refreshed_reading(index, &self.places, &self.environment, self.settings());
        self.kept.note_lessons(before.filter(|_| refreshed.is_ok()));
        refreshed.or_else(|error| {
            notes.push(format!("shared lessons could not be read: {error}"));
            self.open_index()
        })
    }

    /// Opens the index as it is, with what shared lessons say now: without waiting. Only where there is none yet is what
    /// waits recorded first.
    ///
    /// # Errors
    /// As [`Request::open_for_reading`].
    pub(crate) fn open_with_lessons(&self, notes: &mut Vec<String>) -> Result<Option<Index>, StoreError> {
        let index = self.open_as_it_is(notes)?;
        self.with_lessons(index, notes)
    }

    /// Opens the index as it is: without waiting. Only where there is none yet is what waits recorded first.
    ///
    /// # Errors
    /// As [`Request::open_for_reading`].
    pub(crate) fn open_as_it_is(&self, notes: &mut Vec<String>) -> Result<Option<Index>, StoreError> {
        if let Some(index) = self.open_index()? {
            return Ok(Some(index));
        }
        let reading = self.open_for_reading()?;
        notes.extend(reading.notes);
        Ok(reading.index)
    }

    /// Records what waits, and opens the store for writing; with notes for standard error.
    ///
    /// # Errors
    /// As [`Request::open_store`].
    pub(crate) fn open_for_writing(&self) -> Result<(Store, Vec<String>), StoreError> {
        let notes = recorder::drain_for_reading(&self.places)?.notes;
        Ok((self.open_store()?, notes))
    }

    /// Opens the store for writing. What waits is left to the recorder.
    ///
    /// # Errors
    /// When another process holds the store for too long, a newer verify-run wrote it, or it can't be written.
    pub(crate) fn open_store(&self) -> Result<Store, StoreError> {
        Store::open(&self.places.state, self.lock_store()?)
    }

    /// Keeps recorders out until the lock is dropped.
    ///
    /// # Errors
    /// When another process holds the store for longer than [`LOCK_WAIT_MS_MAX`].
    pub(crate) fn lock_store(&self) -> Result<Lock, StoreError> {
        lock_store(&self.places.state, Duration::from_millis(LOCK_WAIT_MS_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Timestamp;
    use crate::config::Environment;
    use crate::event::{Event, EventBody, FixNote};
    use crate::recorder::tests::World;
    use crate::store::note;

    #[test]
    fn a_reading_command_takes_the_notes_that_wait() {
        let world = World::new();
        let body =
            EventBody::FixNote(FixNote { fix: "x-1".into(), cause: Some("a cause".into()), ..FixNote::default() });
        note::write_note(&world.places, &Event::with_derived_id("said", &["1"], Timestamp(1), "", body)).expect("puts");
        let reading =
            Request::at_places(world.places.clone(), Environment::default()).open_for_reading().expect("reads");
        assert_eq!(reading.index.expect("is there").count_rows().expect("counts").events, 1);
        assert!(recorder::pending_entries(&world.places).is_empty());
    }
}
