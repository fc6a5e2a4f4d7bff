//! What is known of a failure at the moment it happens, in one line.

use std::time::Duration;

use super::{definitions, knowledge, record, warn};
use crate::base::clock::Timestamp;
use crate::base::text::{count, ellipsis, one_line};
use crate::capture::Spooled;
use crate::config::{Environment, Places, Settings};
use crate::pattern::detector::Registry;
use crate::store::{BriefRow, Index, Segments, StoreError};

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
    let (registry, _) = Registry::new(&loaded.files, &settings.categories);
    let segments = Segments::new(places.events());
    let sources = Sources { index: &index, segments: &segments, registry: Some(&registry), settings: &settings };
    let told = seen_before(&sources, &keys, failed.header.started_at)?;
    Ok(told.map(|told| format!("verify-run: {told}")))
}

/// Where a hint is taken from.
pub(super) struct Sources<'a> {
    /// What is recorded.
    pub index: &'a Index,
    /// The same in full.
    pub segments: &'a Segments,
    /// Detectors, which know rules.
    pub registry: Option<&'a Registry>,
    /// The settings.
    pub settings: &'a Settings,
}

impl Sources<'_> {
    /// Why it happens and what to do about it, as somebody or a detector says.
    fn said(&self, row: &BriefRow) -> Result<String, StoreError> {
        if !self.settings.advice.injection {
            return Ok(String::new());
        }
        let (cause, rule) = knowledge::said(self.index, self.segments, row.number)?;
        let rule = rule.or_else(|| warn::rule_of(self.registry?, row));
        let part = |lead: &str, text: Option<String>| {
            let text = text.map(|text| ellipsis(one_line(&text).trim(), TEXT_BYTES_MAX));
            let text = text.map(|text| text.trim_end_matches('.').to_owned()).filter(|text| !text.is_empty());
            text.map(|text| format!("; {lead}{text}")).unwrap_or_default()
        };
        Ok(part("why: ", cause) + &part("", rule))
    }
}

/// As [`line()`], of the patterns with these keys and what was recorded of them before that time.
pub(super) fn seen_before(
    sources: &Sources<'_>,
    keys: &[String],
    before: Timestamp,
) -> Result<Option<String>, StoreError> {
    let Sources { index, settings, .. } = *sources;
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
    let brief = index.brief(number)?;
    let what = ellipsis(&one_line(&warn::name(&brief)), TEXT_BYTES_MAX);
    let said = sources.said(&brief)?;
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
    Ok(Some(one_line(&format!("seen before: {what}, {times} in {tasks}{fixed}{said} [{id}]"))))
}
