//! What is known to help against a pattern: for the pages of patterns and of fixes.

use std::collections::HashSet;

use crate::advice::ProvenRemedy;
use crate::base::clock::Timestamp;
use crate::config::Settings;
use crate::event::{EntryChangeKind, EventAuthor, EventBody, LessonChangeKind, Technique};
use crate::fix::{fix_status, has_held};
use crate::knowledge::ledger::{self, EntryHistory};
use crate::pattern::knowledge::{self, Gotcha, Strategy};
use crate::pattern::statistics::share_bound;
use crate::store::{Index, PatternBriefRow, PatternRow, ProvenRemedyRow, SegmentFolder, StoreError, StrategyRow};

/// What is known to help against a pattern.
pub(crate) struct PatternRemedies {
    /// What was tried, the most reliable first.
    pub strategies: Vec<Strategy>,
    /// What was learnt.
    pub gotcha: Option<Gotcha>,
    /// The strategies of each fix.
    tried: HashSet<(String, String)>,
}

impl PatternRemedies {
    /// What was tried in a fix.
    pub(crate) fn strategies_of_fix(&self, fix: &str) -> Vec<Strategy> {
        let of_fix = |strategy: &&Strategy| self.tried.contains(&(fix.to_owned(), strategy.id.clone()));
        self.strategies.iter().filter(of_fix).cloned().collect()
    }
}

/// Everything that is known to help against a pattern.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn pattern_remedies(
    index: &Index,
    segments: &SegmentFolder,
    pattern: &PatternRow,
    settings: &Settings,
    now: Timestamp,
) -> Result<PatternRemedies, StoreError> {
    let rows = index.strategies_of_pattern(pattern.number)?;
    let tried = rows.iter().flat_map(|row| row.tries.iter().map(|tried| (tried.fix.clone(), row.id.clone())));
    let tried = tried.collect();
    let mut strategies = knowledge::ranked_strategies(&pattern.id, rows, settings, now);
    for strategy in &mut strategies {
        update_confirmed(index, strategy, settings, now)?;
    }
    let about = (pattern.id.as_str(), pattern.masked.as_str());
    let gotcha = match index.gotcha_of_pattern(pattern.number)? {
        Some(id) => Gotcha::from_strategies(id, about, &strategies, cause_and_rule(index, segments, pattern.number)?),
        None => None,
    };
    let gotcha = match gotcha {
        Some(gotcha) => {
            let (gotcha, _) = with_history(index, gotcha, settings)?;
            Some(Gotcha { example: newest_message(index, pattern.number)?, ..gotcha })
        }
        None => None,
    };
    Ok(PatternRemedies { strategies, gotcha, tried })
}

/// The newest message of a pattern as it was printed, where there is one.
fn newest_message(index: &Index, pattern: i64) -> Result<Option<String>, StoreError> {
    let newest = index.occurrences_of_pattern(pattern, 1)?.pop();
    Ok(newest.map(|seen| seen.message).filter(|message| !message.trim().is_empty()))
}

/// A gotcha with what was said of it and came of using it since it was learnt.
fn with_history(index: &Index, gotcha: Gotcha, settings: &Settings) -> Result<(Gotcha, EntryHistory), StoreError> {
    let (changes, uses) = (index.entry_changes(&gotcha.id)?, index.entry_uses(&gotcha.id)?);
    let history = EntryHistory { changes, uses, ..EntryHistory::default() };
    let last = |kinds: &[EntryChangeKind]| history.changes.iter().rev().find(|change| kinds.contains(&change.change));
    let pinned = last(&[EntryChangeKind::Pinned, EntryChangeKind::Unpinned])
        .is_some_and(|change| change.change == EntryChangeKind::Pinned);
    let superseded_by = last(&[EntryChangeKind::Superseded]).and_then(|change| change.other.clone());
    let more = ledger::feedback_increments(&EventAuthor::default(), &history, settings);
    let confidence = gotcha.confidence.with_increments(more, !pinned, &settings.confidence);
    Ok((Gotcha { confidence, pinned, superseded_by, ..gotcha }, history))
}

/// Whether what was learnt about a pattern is pinned: it is never held out.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn is_pinned(index: &Index, pattern: i64) -> Result<bool, StoreError> {
    let Some(id) = index.gotcha_of_pattern(pattern)? else { return Ok(false) };
    let changes = index.entry_changes(&id)?;
    let is_about_pin = |kind| matches!(kind, EntryChangeKind::Pinned | EntryChangeKind::Unpinned);
    let last = changes.iter().rev().find(|change| is_about_pin(change.change));
    Ok(last.is_some_and(|change| change.change == EntryChangeKind::Pinned))
}

/// What was learnt about a pattern, without a look at anything but the most reliable fix.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn learnt_gotcha(
    index: &Index,
    segments: &SegmentFolder,
    pattern: &PatternBriefRow,
    settings: &Settings,
    now: Timestamp,
) -> Result<Option<(Gotcha, EntryHistory)>, StoreError> {
    let Some(id) = index.gotcha_of_pattern(pattern.number)? else { return Ok(None) };
    for row in knowledge::sort_surest_first(index.strategies_without_tries(pattern.number)?, settings) {
        let tries = index.tries_of_strategy(pattern.number, &row)?;
        let mut strategy = knowledge::strategy_from_row(&pattern.id, StrategyRow { tries, ..row }, settings, now);
        if strategy.confidence.is_some() {
            update_confirmed(index, &mut strategy, settings, now)?;
            let said = cause_and_rule(index, segments, pattern.number)?;
            let gotcha = Gotcha::from_strategies(id, (&pattern.id, &pattern.masked), &[strategy], said);
            return gotcha.map(|gotcha| with_history(index, gotcha, settings)).transpose();
        }
    }
    Ok(None)
}

/// Looks whether a strategy worked twice, or one of its fixes is confirmed.
fn update_confirmed(
    index: &Index,
    strategy: &mut Strategy,
    settings: &Settings,
    now: Timestamp,
) -> Result<(), StoreError> {
    strategy.confirmed = strategy.successes > 1;
    for fix in &strategy.fixes {
        if strategy.confirmed {
            break;
        }
        strategy.confirmed = is_confirmed(index, fix, settings, now)?;
    }
    Ok(())
}

/// Whether a fix is confirmed; as `fix::fix_status` says it, but without a look at other fixes where those don't matter.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn is_confirmed(index: &Index, fix: &str, settings: &Settings, now: Timestamp) -> Result<bool, StoreError> {
    let silence = settings.fix.silence();
    let Some(solved) = index.solved_fix(fix)? else { return Ok(false) };
    match has_held(&solved, now, silence) {
        Some(held) => Ok(held),
        None => Ok(fix_status(&index.find_fix(fix)?, now, silence).is_some_and(|status| status.confirmed)),
    }
}

/// The newest cause and rule that a user wrote into a lesson about a pattern, else recorded with a fix of it.
pub(crate) fn cause_and_rule(
    index: &Index,
    segments: &SegmentFolder,
    pattern: i64,
) -> Result<(Option<String>, Option<String>), StoreError> {
    let (mut cause, mut rule) = (None, None);
    for id in index.annotations_of_pattern(pattern)? {
        let Some(event) = index.read_event(segments, &id)? else { continue };
        if let EventBody::Lesson(change) = event.body
            && let LessonChangeKind::Annotated { cause: said, corrective_rule, .. } = change.change
        {
            cause = cause.or(said);
            rule = rule.or(corrective_rule);
        }
    }
    let note = index.pattern_note(pattern)?;
    Ok((cause.or(note.cause), rule.or(note.rule)))
}

/// What made a pattern go away most reliably; nothing that never did. What worked twice is confirmed, what worked once when
/// its fix held.
pub(crate) fn proven_remedy(
    index: &Index,
    pattern: i64,
    settings: &Settings,
    now: Timestamp,
) -> Result<Option<ProvenRemedy>, StoreError> {
    let bound = |it: &ProvenRemedyRow| share_bound(it.successes, it.tries, settings.confidence.bound);
    // What was changed says more than where.
    let telling = |it: &ProvenRemedyRow| it.technique != Technique::Files;
    let rows = index.proven_remedies(pattern)?.into_iter().rev();
    let surest = rows.max_by(|a, b| bound(a).total_cmp(&bound(b)).then(telling(a).cmp(&telling(b))));
    let Some(it) = surest else { return Ok(None) };
    let confirmed = it.successes > 1
        || match index.last_successful_fix(it.strategy)? {
            Some(fix) => is_confirmed(index, &fix, settings, now)?,
            None => false,
        };
    let remedy = ProvenRemedy::from_figures(&it.label, it.technique, it.successes, it.tries, confirmed);
    Ok(Some(if index.is_strategy_proven(it.strategy)? { remedy.in_proven_fix() } else { remedy }))
}
