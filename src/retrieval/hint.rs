//! What is known of a failure at the moment it happens, in one line for each pattern.

use std::path::Path;

use super::detectors::detector_rule;
use super::pattern_remedies::{cause_and_rule, proven_remedy};
use super::shared_lessons::lessons_of_patterns;
use crate::base::clock::Timestamp;
use crate::base::text::{count, ellipsis, one_line};
use crate::config::Settings;
use crate::pattern::detector::DetectorRegistry;
use crate::pattern::wording::brief_pattern_name;
use crate::store::{EntryRow, Index, PatternBriefRow, SegmentFolder, StoreError};

/// Patterns of a failure that are looked up.
const PATTERNS_MAX: usize = 20;
/// What happens, and what was done about it, bytes each.
const TEXT_BYTES_MAX: usize = 160;

/// Where a hint is taken from.
pub(crate) struct HintSources<'a> {
    /// What is recorded.
    pub index: &'a Index,
    /// The same in full.
    pub segments: &'a SegmentFolder,
    /// Detectors, which know rules.
    pub registry: Option<&'a DetectorRegistry>,
    /// The settings.
    pub settings: &'a Settings,
    /// The work tree, whose shared lessons are shown.
    pub root: &'a Path,
}

impl HintSources<'_> {
    /// Why it happens and what to do about it, as a user, a shared lesson or a detector says.
    fn cause_and_rule_text(&self, row: &PatternBriefRow, lesson: Option<&EntryRow>) -> Result<String, StoreError> {
        if !self.settings.advice.injection {
            return Ok(String::new());
        }
        let (cause, rule) = cause_and_rule(self.index, self.segments, row.number)?;
        let taught = |name: &str| lesson.and_then(|lesson| lesson.text(name));
        let rule = rule.or_else(|| taught("rule")).or_else(|| detector_rule(self.registry?, row));
        Ok(line_part("why: ", cause.or_else(|| taught("cause"))) + &line_part("", rule))
    }

    /// What a shared lesson teaches about the patterns with these keys, and its path.
    fn find_lesson(&self, keys: &[String]) -> Result<Option<(EntryRow, String)>, StoreError> {
        if !self.settings.advice.injection {
            return Ok(None);
        }
        let keys = &keys[..keys.len().min(PATTERNS_MAX)];
        Ok(lessons_of_patterns(self.index, self.root, keys)?.into_iter().next())
    }
}

/// A part of the line; empty for an empty text.
fn line_part(lead: &str, text: Option<String>) -> String {
    let text = text.map(|text| ellipsis(one_line(&text).trim(), TEXT_BYTES_MAX));
    let text = text.map(|text| text.trim_end_matches('.').to_owned()).filter(|text| !text.is_empty());
    text.map(|text| format!("; {lead}{text}")).unwrap_or_default()
}

/// The line about a failure that only a shared lesson knows.
fn lesson_line((lesson, path): &(EntryRow, String)) -> String {
    let said = |name: &str| lesson.text(name);
    let what = ellipsis(&one_line(&lesson.title), TEXT_BYTES_MAX);
    let parts = line_part("fixed by ", said("fix")) + &line_part("why: ", said("cause")) + &line_part("", said("rule"));
    one_line(&format!("seen before: {what}{parts} [{path}]"))
}

/// As the hint of a run, of the patterns with these keys and what was recorded of them before that time: one each of the `max`
/// that were seen most often.
pub(crate) fn hint_lines(
    sources: &HintSources<'_>,
    keys: &[String],
    before: Timestamp,
    max: usize,
) -> Result<Vec<String>, StoreError> {
    let mut known: Vec<((u64, u64, i64), &String)> = Vec::new();
    for key in keys.iter().take(PATTERNS_MAX) {
        known.extend(sources.index.count_occurrences_before(key, before)?.map(|found| (found, key)));
    }
    if known.is_empty() {
        return Ok(sources.find_lesson(keys)?.as_ref().map(lesson_line).into_iter().collect());
    }
    known.sort_by(|a, b| b.cmp(a));
    known.dedup_by_key(|((.., number), _)| *number);
    let mut lines = Vec::new();
    for ((failures, tasks, number), key) in known {
        if lines.len() < max {
            lines.extend(pattern_line(sources, number, failures, tasks, key)?);
        }
    }
    Ok(lines)
}

/// The line about one pattern; `None` when it is muted.
fn pattern_line(
    sources: &HintSources<'_>,
    number: i64,
    failures: u64,
    tasks: u64,
    key: &String,
) -> Result<Option<String>, StoreError> {
    let HintSources { index, settings, .. } = *sources;
    let row = index.pattern_at(number)?;
    if row.muted || row.deprecated {
        return Ok(None);
    }
    let lesson = sources.find_lesson(std::slice::from_ref(key))?;
    let brief = index.brief_of_pattern(number)?;
    let what = ellipsis(&one_line(&brief_pattern_name(&brief)), TEXT_BYTES_MAX);
    let lesson = lesson.as_ref().map(|(lesson, _)| lesson);
    let said = sources.cause_and_rule_text(&brief, lesson)?;
    let fixed =
        if settings.advice.injection { proven_remedy(index, number, settings, Timestamp::now())? } else { None };
    let fixed = fixed.map(|it| {
        let what = ellipsis(&it.what, TEXT_BYTES_MAX);
        format!("; fixed by {what} ({} of {} times, {})", it.successes, it.tries, it.sure_word())
    });
    let (times, tasks, id) = (count(failures, "time"), count(tasks, "task"), row.id);
    let taught = || line_part("fixed by ", lesson.and_then(|lesson| lesson.text("fix")));
    let fixed = fixed.unwrap_or_else(taught);
    Ok(Some(one_line(&format!("seen before: {what}, {times} in {tasks}{fixed}{said} [{id}]"))))
}
