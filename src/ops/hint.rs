//! What is known of a failure at the moment it happens, in one line.

use std::time::Duration;

use super::{definitions, record, warn};
use crate::base::clock::Timestamp;
use crate::base::text::{count, ellipsis, one_line};
use crate::capture::Spooled;
use crate::config::{Environment, Places, Settings};
use crate::store::{Index, StoreError};

/// Patterns of a failure that are looked up.
const PATTERNS_MAX: usize = 20;
/// What happens, and what was done about it, bytes each.
const TEXT_BYTES_MAX: usize = 160;

/// How long a hint may take; `None` when nothing is to be said or nothing can be known.
pub fn time_limit(places: &Places, environment: &Environment) -> Option<Duration> {
    let (settings, _) = Settings::load(places, environment);
    let is_due = settings.advice.warnings && places.index().exists();
    is_due.then(|| Duration::from_millis(settings.advice.hint_ms))
}

/// `seen before: …, n times in m tasks; fixed by …`, of the pattern of the failure that was seen most often; `None` when
/// it is new, muted, or nothing can be read.
pub fn line(places: &Places, environment: &Environment, failed: &Spooled) -> Option<String> {
    known(places, environment, failed).ok().flatten()
}

fn known(places: &Places, environment: &Environment, failed: &Spooled) -> Result<Option<String>, StoreError> {
    let Some(index) = Index::open_read(&places.index())? else { return Ok(None) };
    let (settings, _) = Settings::load(places, environment);
    let loaded = definitions::load(places, environment, &settings.categories);
    let keys = record::pattern_keys(places, &loaded.definitions, failed);
    let told = seen_before(&index, &settings, &keys, failed.header.started_at)?;
    Ok(told.map(|told| format!("verify-run: {told}")))
}

/// As [`line()`], of the patterns with these keys and what was recorded of them before that time.
pub(super) fn seen_before(
    index: &Index,
    settings: &Settings,
    keys: &[String],
    before: Timestamp,
) -> Result<Option<String>, StoreError> {
    let mut best: Option<(u64, u64, i64)> = None;
    for key in keys.iter().take(PATTERNS_MAX) {
        let found = index.seen_before(key, before)?;
        if found > best {
            best = found;
        }
    }
    let Some((failures, tasks, number)) = best else { return Ok(None) };
    let row = index.pattern_at(number)?;
    if row.muted || row.deprecated {
        return Ok(None);
    }
    let what = ellipsis(&one_line(&warn::name(&index.brief(number)?)), TEXT_BYTES_MAX);
    let fixed = match settings.advice.injection {
        true => warn::worked(index, number, settings, Timestamp::now())?,
        false => None,
    };
    let fixed = fixed.map(|it| {
        let sure = if it.confirmed { "confirmed" } else { "unconfirmed" };
        let what = ellipsis(&it.what, TEXT_BYTES_MAX);
        format!("; fixed by {what} ({} of {} times, {sure})", it.successes, it.tries)
    });
    let (times, tasks, id) = (count(failures, "time"), count(tasks, "task"), row.id);
    let fixed = fixed.unwrap_or_default();
    Ok(Some(one_line(&format!("seen before: {what}, {times} in {tasks}{fixed} [{id}]"))))
}
