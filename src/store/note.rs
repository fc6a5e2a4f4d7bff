//! Notes: events that a command records without the recorder's lock, `spool/<event id>.event`, one line each.
//!
//! For commands that must answer at once (`warn`, hooks, queries): no lock, no sync, no index. The next drain appends
//! and applies them, once each: an event's id names its file and is known to the index.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;
use std::{fs, io};

use uuid::Uuid;

use crate::base::file::{self, Durability};
use crate::base::limits::NOTE_BYTES_MAX;
use crate::base::private;
use crate::capture::prepare_fallback;
use crate::config::{Places, StateDir};
use crate::event::{self, Event, EventBody, EventLine};

/// The end of a note's file name.
pub(crate) const NOTE_SUFFIX: &str = "event";

/// Why a file is no note.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoteError {
    /// It can't be read now.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A newer verify-run wrote it, and will read it.
    #[error("written by a newer verify-run (event version {v}, kind {kind:?})")]
    Newer {
        /// Its version.
        v: u32,
        kind: String,
    },
    /// It will never be one.
    #[error("not a note: {0}")]
    Bad(&'static str),
}

impl EventBody {
    /// Whether it may come as a note: a statement of a user, or what a user was shown. What the recorder finds out
    /// itself may not, neither may a purge, which removes text for good, and no review, which a person does.
    pub(crate) fn is_note(&self) -> bool {
        match self {
            EventBody::Lesson(_)
            | EventBody::FixNote(_)
            | EventBody::Merge(_)
            | EventBody::Split(_)
            | EventBody::Review(_)
            | EventBody::Task(_)
            | EventBody::Delivery(_)
            | EventBody::Ack(_)
            | EventBody::Knowledge(_)
            | EventBody::Strategy(_)
            | EventBody::Memory(_) => true,
            EventBody::Promotion(said) => !said.step.is_decision(),
            EventBody::Run(_)
            | EventBody::Attempt(_)
            | EventBody::Flake(_)
            | EventBody::Snapshot(_)
            | EventBody::Gate(_)
            | EventBody::Receipt(_)
            | EventBody::Phase(_)
            | EventBody::SignedReceipt(_)
            | EventBody::Learn(_)
            | EventBody::Library(_)
            | EventBody::Purge(_) => false,
        }
    }
}

/// Puts an event where the next drain finds it, whole or not at all: in the state folder's spool, else in one of its
/// fallbacks. Its text must hold no secret. The same event again replaces the file with an equal one.
///
/// # Errors
/// When it is too long, may not come as a note, or no place can be written.
pub(crate) fn write_note(places: &Places, event: &Event) -> io::Result<()> {
    let line = event.to_line();
    if !event.body.is_note() || line.len() as u64 > NOTE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a note, or too long"));
    }
    let name = note_name(event.id);
    let write = |state: &StateDir| {
        let spool = state.spool();
        file::create_private_dir(&spool)?;
        file::write_atomic(&spool.join(&name), &line, 0o600, Durability::Cached)
    };
    let mut result = write(&places.state);
    for place in &places.fallbacks {
        if result.is_ok() {
            break;
        }
        result = prepare_fallback(&places.root, place).and_then(|()| write(place));
    }
    result
}

/// The notes that wait for the recorder. To be read before the index is opened: the recorder removes a note once the index
/// has its event, so whoever opens the index first could find an event in neither.
#[derive(Debug)]
pub(crate) struct WaitingNotes<'a> {
    places: &'a Places,
    ids: HashSet<Uuid>,
}

impl<'a> WaitingNotes<'a> {
    /// Those that wait now.
    pub(crate) fn read(places: &'a Places) -> Self {
        let names = places.state_dirs().flat_map(|dir| fs::read_dir(dir.spool()).into_iter().flatten().flatten());
        let ids = names.filter_map(|entry| id_of_name(Path::new(&entry.file_name()))).collect();
        WaitingNotes { places, ids }
    }

    /// Whether a note of this event waited then, or does by now.
    pub(crate) fn contains(&self, id: Uuid) -> bool {
        self.ids.contains(&id) || self.places.state_dirs().any(|dir| dir.spool().join(note_name(id)).exists())
    }

    /// The event of a note that still waits.
    pub(crate) fn find(&self, id: Uuid) -> Option<Event> {
        self.places.state_dirs().find_map(|dir| read_note(&dir.spool().join(note_name(id))).ok())
    }
}

/// The file name of an event's note.
fn note_name(id: Uuid) -> String {
    format!("{}.{NOTE_SUFFIX}", id.hyphenated())
}

/// The event whose note has this file name.
fn id_of_name(name: &Path) -> Option<Uuid> {
    name.file_stem().and_then(OsStr::to_str).and_then(|name| Uuid::parse_str(name).ok())
}

/// Reads a note back.
///
/// # Errors
/// [`NoteError`]
pub(crate) fn read_note(path: &Path) -> Result<Event, NoteError> {
    let bytes = private::read_start(path, NOTE_BYTES_MAX + 1)?;
    if bytes.len() as u64 > NOTE_BYTES_MAX {
        return Err(NoteError::Bad("too long"));
    }
    let Some(line) = bytes.strip_suffix(b"\n").filter(|line| !line.contains(&b'\n')) else {
        return Err(NoteError::Bad("torn"));
    };
    let event = match event::parse_event_line(line) {
        EventLine::Event(event) => *event,
        EventLine::Newer { v, kind } => return Err(NoteError::Newer { v, kind }),
        EventLine::Bad => return Err(NoteError::Bad("not an event")),
    };
    if id_of_name(path) != Some(event.id) {
        return Err(NoteError::Bad("its name is not its event's id"));
    }
    if !event.body.is_note() {
        return Err(NoteError::Bad("an event that only the recorder writes"));
    }
    Ok(event)
}
