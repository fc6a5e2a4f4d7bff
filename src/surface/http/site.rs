//! A running server: what all of its requests share.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::counts::RequestCounts;
use super::guard::RequestGuard;
use super::page_ends::PageEnds;
use super::view::PageView;
use crate::capture::Identity;
use crate::config::Environment;
use crate::ops::kept::KeptReads;
use crate::ops::request::Request;

/// Questions to the store at once.
const QUESTIONS_MAX: usize = 4;
/// Connections that listen for events.
const LISTENERS_MAX: usize = 8;

/// A running server, for all of its requests.
pub(super) struct HttpSite {
    pub guard: RequestGuard,
    /// The folder that it was started in.
    pub root: PathBuf,
    pub view: PageView,
    pub counts: RequestCounts,
    /// Where the store ended when pages were read.
    pub ends: PageEnds,
    /// What is kept from one request to the next.
    pub kept: KeptReads,
    /// Milliseconds from the start to the last request.
    last_request: AtomicU64,
    started: Instant,
    /// Free places for questions to the store.
    pub questions: Arc<Semaphore>,
    /// Free places for connections that listen.
    pub listeners: Arc<Semaphore>,
}

impl HttpSite {
    /// For a folder, with who may ask.
    pub(super) fn new(root: PathBuf, guard: RequestGuard) -> Self {
        HttpSite {
            guard,
            root,
            view: PageView::new(),
            counts: RequestCounts::default(),
            ends: PageEnds::default(),
            kept: KeptReads::for_many_calls(),
            last_request: AtomicU64::new(0),
            started: Instant::now(),
            questions: Arc::new(Semaphore::new(QUESTIONS_MAX)),
            listeners: Arc::new(Semaphore::new(LISTENERS_MAX)),
        }
    }

    /// How long no request has come.
    pub(super) fn idle_time(&self) -> Duration {
        self.started.elapsed().saturating_sub(Duration::from_millis(self.last_request.load(Ordering::Relaxed)))
    }

    /// A request has come.
    pub(super) fn note_request(&self) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_request.store(now, Ordering::Relaxed);
    }
}

/// Looks for everything again: nothing is kept from one request to the next but what is known to be as it was.
pub(super) fn open_request(root: &Path) -> Request {
    let identity = Request::identify_caller(Identity::default());
    Request::new(root.to_owned(), Environment::from_process(), identity)
}
