//! What is recorded while a caller listens, as server-sent events: names, ids and addresses.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode};
use futures_core::Stream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::problem::HttpProblem;
use super::reply::HttpReply;
use super::site::{HttpSite, open_request};
use crate::ops::board::Board;
use crate::ops::board::changes::{RecordedChange, RecordedChanges, StorePosition};
use crate::store::StoreError;

/// How often the folder of the events is looked at.
const CHECK: Duration = Duration::from_millis(500);
/// How often a quiet connection is shown to be alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Messages that wait for a slow listener.
const MESSAGES_MAX: usize = 16;
/// Looks in a row at an index that is behind the files: half a line that a killed process left is never in it.
const BEHIND_MAX: u32 = 20;
/// The header of a browser that connects again.
const LAST_EVENT: &str = "last-event-id";

/// The address of the events.
pub(super) const ADDRESS: &str = "/api/v1/events";

/// Answers with events from the last one on that the caller has seen, else from the end of its page, else from now on.
///
/// # Errors
/// When too many listen.
pub(super) fn listen(site: &Arc<HttpSite>, headers: &HeaderMap, page: Option<&str>) -> Result<HttpReply, HttpProblem> {
    let Ok(place) = Arc::clone(&site.listeners).try_acquire_owned() else {
        let detail = "too many connections listen already";
        return Err(HttpProblem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail));
    };
    let last = headers.get(LAST_EVENT).and_then(|last| last.to_str().ok()).map(str::to_owned);
    let position = page.filter(|_| last.is_none()).and_then(|name| site.ends.find(name));
    let state = ListenerState { position, ..ListenerState::default() };
    let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
    tokio::spawn(send_changes(Arc::clone(site), last, state, sender, place));
    Ok(HttpReply::stream("text/event-stream", Body::from_stream(MessageStream(receiver))))
}

/// Messages as the body of an answer.
struct MessageStream(Receiver<Bytes>);

impl Stream for MessageStream {
    type Item = Result<Bytes, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|message| message.map(Ok))
    }
}

/// What was sent to one listener.
#[derive(Debug, Default)]
struct ListenerState {
    /// Length of each file of the events when it was last read.
    seen: BTreeMap<OsString, u64>,
    /// `None` before the first look into the store, unless the caller's page tells where to begin.
    position: Option<StorePosition>,
    /// Looks in a row that found the index behind the files.
    behind: u32,
}

/// Sends messages until the listener is gone.
async fn send_changes(
    site: Arc<HttpSite>,
    last: Option<String>,
    mut state: ListenerState,
    sender: Sender<Bytes>,
    place: OwnedSemaphorePermit,
) {
    let _place = place;
    let mut spoken = Instant::now();
    let mut is_greeted = false;
    loop {
        // A listener keeps the server running.
        site.note_request();
        let (root, after) = (site.root.clone(), last.clone());
        let Ok(permit) = Arc::clone(&site.questions).acquire_owned().await else { return };
        let look = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            look_for_changes(&root, state, after.as_deref())
        });
        // A panic is a defect of verify-run, and ends this connection alone: the browser connects again.
        let Ok((next, changes)) = look.await else { return };
        state = next;
        // Who hears this misses nothing from then on.
        if !is_greeted && state.position.is_some() {
            is_greeted = true;
            if sender.send(Bytes::from_static(b"retry: 2000\n\n")).await.is_err() {
                return;
            }
        }
        for change in &changes {
            spoken = Instant::now();
            if sender.send(Bytes::from(message_of(change))).await.is_err() {
                return;
            }
        }
        if spoken.elapsed() >= KEEP_ALIVE {
            spoken = Instant::now();
            if sender.send(Bytes::from_static(b":\n\n")).await.is_err() {
                return;
            }
        }
        if tokio::time::timeout(CHECK, sender.closed()).await.is_ok() {
            return;
        }
    }
}

/// What was recorded since the last look, or after an event.
fn look_for_changes(
    root: &Path,
    mut state: ListenerState,
    after: Option<&str>,
) -> (ListenerState, Vec<RecordedChange>) {
    let request = open_request(root);
    let seen = segment_lengths(&request.places.state.events());
    if state.position.is_some() && seen == state.seen {
        return (state, Vec::new());
    }
    let opened = Board::open(&request);
    let Some(board) = opened.as_ref().ok().and_then(|opened| opened.board.as_ref()) else {
        // There is no store, or not any more: the next one begins at its start.
        state.position.get_or_insert_default();
        return (state, Vec::new());
    };
    // What cannot be read now is tried again at the next look.
    match read_changes(board, state.position.as_ref(), after) {
        Ok(found) => {
            // Another process may have written a line that is not indexed yet: the lengths stay as if it were not there.
            let is_behind =
                state.behind < BEHIND_MAX && seen.iter().any(|(file, bytes)| is_ahead(file, *bytes, &found));
            let (seen, behind) = if is_behind { (state.seen, state.behind + 1) } else { (seen, 0) };
            (ListenerState { seen, position: Some(found.position), behind }, found.changes)
        }
        Err(_) => (state, Vec::new()),
    }
}

/// Whether a file of events is longer than what was read of it.
fn is_ahead(file: &OsStr, bytes: u64, found: &RecordedChanges) -> bool {
    let name = file.to_str().filter(|name| name.ends_with(".jsonl"));
    name.is_some_and(|name| found.position.get(name).is_none_or(|end| *end < bytes))
}

/// What was recorded after a position, else after an event; nothing yet without both.
fn read_changes(
    board: &Board<'_>,
    position: Option<&StorePosition>,
    after: Option<&str>,
) -> Result<RecordedChanges, StoreError> {
    if let Some(known) = position {
        return board.changes_after(known);
    }
    let Some(event) = after else {
        return Ok(RecordedChanges { changes: Vec::new(), position: board.position()? });
    };
    match board.position_after(event)? {
        Some(known) => board.changes_after(&known),
        None => Ok(RecordedChanges { changes: vec![board.store_changed()], position: board.position()? }),
    }
}

/// The files of the events with their lengths.
fn segment_lengths(folder: &Path) -> BTreeMap<OsString, u64> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name(), entry.metadata().ok()?.len()))).collect()
}

/// A change as a message.
fn message_of(change: &RecordedChange) -> String {
    let id = change.id.as_ref().map(|id| format!("id: {id}\n")).unwrap_or_default();
    let data = serde_json::to_string(change).unwrap_or_default();
    format!("event: {}\n{id}data: {data}\n\n", change.name)
}
