//! One line about a known failure, at the moment it happens.

use std::time::Duration;

use super::request::Request;
use crate::capture::SpooledRun;
use crate::lesson::LessonFolder;
use crate::pattern::detector::DetectorRegistry;
use crate::recorder;
use crate::retrieval::hint::{HintSources, hint_lines};
use crate::store::{SegmentFolder, StoreError};

/// How long a hint may take; `None` when nothing is to be said or nothing can be known.
pub(crate) fn time_limit(request: &Request) -> Option<Duration> {
    let settings = request.settings();
    let is_known = || {
        request.places.state.index().exists()
            || !LessonFolder::find(&request.places, settings).shared_files().is_empty()
    };
    let is_due = settings.advice.warnings && is_known();
    is_due.then(|| Duration::from_millis(settings.advice.hint_ms))
}

/// `seen before: …, n times in m tasks; fixed by …`, of the pattern of the failure that was seen most often; `None` when
/// it is new, muted, or nothing can be read.
pub(crate) fn hint_line(request: &Request, failed: &SpooledRun) -> Option<String> {
    find_hint(request, failed).ok().flatten()
}

fn find_hint(request: &Request, failed: &SpooledRun) -> Result<Option<String>, StoreError> {
    let settings = request.settings();
    let Some(index) = request.open_with_lessons(&mut Vec::new())? else {
        return Ok(None);
    };
    let loaded = recorder::definitions::load_definitions(&request.places, &request.environment, &settings.categories);
    let keys = recorder::pattern_keys(&request.places, &loaded.definitions, failed);
    let (registry, _) = DetectorRegistry::new(&loaded.files, &settings.categories);
    let segments = SegmentFolder::new(request.places.state.events());
    let (index, registry, root) = (&index, Some(&registry), request.places.root.as_path());
    let sources = HintSources { index, segments: &segments, registry, settings, root };
    let lines = hint_lines(&sources, &keys, failed.header.started_at, 1)?;
    Ok(lines.first().map(|line| format!("verify-run: {line}")))
}
