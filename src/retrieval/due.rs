//! The warnings that are due: candidates that are news, do no harm and say enough, ranked, and held out by lot.

use std::collections::BTreeSet;

use super::candidates::{candidates_for_failure, find_candidates};
use super::delivery;
use super::detectors::PendingInsight;
use super::gotchas::{EntryLookup, entry_facts};
use super::harm::{self, HarmfulExclusions};
use super::pattern_remedies::{cause_and_rule, is_pinned, proven_remedy};
use super::question::{WarnQuestion, WarnRequest};
use crate::advice::ranking::{self, FileReach, RankedWarning, WarningCandidate, WarningConcern};
use crate::advice::{Warning, WarningFacts};
use crate::base::clock::Timestamp;
use crate::base::ids::RunId;
use crate::config::{Places, Settings};
use crate::event::DeliveryArm;
use crate::event::Event;
use crate::pattern::wording::brief_pattern_name;
use crate::store::note::WaitingNotes;
use crate::store::{Index, SegmentFolder, StoreError};

/// Files that a warning names.
const FILES_MAX: usize = 3;
/// Prefix for the session of a terminal without a name.
const TERMINAL: &str = "tty-";

/// What the index says is due before an edit or a command.
#[derive(Debug, Default)]
pub(crate) struct DueWarnings {
    /// The most pressing first.
    pub warnings: Vec<Warning>,
    /// Warnings that were due and are not shown, so that it can be known what happens without.
    pub held_out: usize,
    /// Patterns and entries that are left out, because warning of them was shown to do harm.
    pub harmful: HarmfulExclusions,
    /// The deliveries of these, to be recorded once the answer was written.
    pub deliveries: Vec<Event>,
}

/// What warnings are looked up with.
pub(crate) struct WarningSearch<'a> {
    /// The places of the repository.
    pub places: &'a Places,
    /// Notes of deliveries, read before the index was opened.
    pub waiting: &'a WaitingNotes<'a>,
    /// What is recorded.
    pub index: &'a Index,
    /// The same in full.
    pub segments: SegmentFolder,
    /// The settings.
    pub settings: &'a Settings,
    /// What detectors know.
    pub insight: PendingInsight<'a>,
    /// This moment.
    pub now: Timestamp,
}

impl WarningSearch<'_> {
    /// The warnings that are due, at most `limit`.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn find_due_warnings(
        &self,
        question: &WarnQuestion,
        asked: &WarnRequest,
        limit: usize,
    ) -> Result<DueWarnings, StoreError> {
        let mut found = self.collect_candidates(question, asked)?;
        let harmful = harm::remove_harmful(self.index, &mut found, self.settings, self.now)?;
        let mut due = DueWarnings { harmful, ..DueWarnings::default() };
        for ranked in ranking::rank_warnings(found, limit, &self.settings.advice, &question.session) {
            self.deliver_warning(&ranked, question, asked, &mut due)?;
        }
        Ok(due)
    }

    /// What may be worth a warning; where only news are asked for, nothing that a session was shown or has seen.
    fn collect_candidates(
        &self,
        question: &WarnQuestion,
        asked: &WarnRequest,
    ) -> Result<Vec<WarningCandidate>, StoreError> {
        let (index, settings, now) = (self.index, self.settings, self.now);
        let mut found = match &asked.failed {
            Some(failed) => candidates_for_failure(index, failed, settings, now)?,
            None => find_candidates(index, question, || self.insight.get(), settings, now)?,
        };
        if settings.advice.injection {
            let entries = EntryLookup { index, root: &self.places.root, settings, now };
            found.extend(match &asked.failed {
                Some(failed) => entries.candidates_for_failure(&failed.keys)?,
                None => entries.candidates_for_question(question)?,
            });
        }
        let mut kept = Vec::with_capacity(found.len());
        for mut candidate in found {
            let is_told = delivery::delivery_mark(self.waiting, index, question, &candidate, asked)?.is_none();
            if !is_told
                && self.is_news_to_session(&mut candidate, question, asked)?
                && self.is_worth_saying(&candidate)?
            {
                kept.push(candidate);
            }
        }
        Ok(kept)
    }

    /// Whether it failed outside of this session, and where only news are asked for, not in it; in the very file if that
    /// is why it is due. At a failure only what others have seen counts: the failure itself may be recorded already.
    fn is_news_to_session(
        &self,
        candidate: &mut WarningCandidate,
        question: &WarnQuestion,
        asked: &WarnRequest,
    ) -> Result<bool, StoreError> {
        // A terminal is open for weeks: what a user asks for there is always shown.
        let is_person = !asked.news && question.session.starts_with(TERMINAL);
        if is_person {
            return Ok(true);
        }
        if candidate.is_entry() {
            return Ok(!asked.news
                || candidate.concern.failed
                || !self.has_session_made_mistake(candidate, question)?);
        }
        if candidate.concern.failed {
            let before = asked.failed.as_ref().map(|failed| failed.started_at);
            candidate.failures = self.index.count_failures_elsewhere(&candidate.key, &question.session, before)?;
            return Ok(candidate.failures > 0);
        }
        let file = candidate.concern.file.as_ref().filter(|(_, reach)| *reach == FileReach::File).map(|(file, _)| file);
        let file = file.map(String::as_str);
        let seen = self.index.sessions_of_pattern(&candidate.key, &question.session, file)?;
        Ok(seen.elsewhere && !(seen.here && asked.news))
    }

    /// Whether a candidate is what a shared lesson teaches, and this session has made the mistake itself by now.
    fn has_session_made_mistake(
        &self,
        candidate: &WarningCandidate,
        question: &WarnQuestion,
    ) -> Result<bool, StoreError> {
        if !self.index.find_entry(&candidate.key)?.from_shared_lesson {
            return Ok(false);
        }
        for pattern in self.index.patterns_of_entry(&candidate.key)?.patterns {
            let key = self.index.advice_row(pattern)?.key;
            if self.index.sessions_of_pattern(&key, &question.session, None)?.here {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether there is more to say than the message, or the message alone is worth it: in the very file, or at the
    /// failure itself.
    fn is_worth_saying(&self, candidate: &WarningCandidate) -> Result<bool, StoreError> {
        let WarningConcern { file, failed, similar, finding, .. } = &candidate.concern;
        let is_near = *failed || similar.is_some() || finding.is_some() || matches!(file, Some((_, FileReach::File)));
        if is_near || candidate.is_entry() {
            return Ok(true);
        }
        self.has_advice(candidate)
    }

    /// Whether [`WarningSearch::warning_facts`] say what to do about it or why it happens. Asked of many that are not shown:
    /// what is looked up fastest comes first.
    fn has_advice(&self, candidate: &WarningCandidate) -> Result<bool, StoreError> {
        let (index, settings) = (self.index, self.settings);
        let number = if settings.advice.injection { index.leader_of_key(&candidate.key)? } else { None };
        let Some(number) = number else { return Ok(false) };
        if !index.proven_remedies(number)?.is_empty() || cause_and_rule(index, &self.segments, number)? != (None, None)
        {
            return Ok(true);
        }
        let Some(row) = index.names_of_patterns(&BTreeSet::from([number]))?.pop() else { return Ok(false) };
        Ok(self.insight.get()?.has_advice(row, candidate.main_file.as_deref(), settings))
    }

    /// Adds a warning that is due to what is due, or holds it out; either is to be remembered.
    fn deliver_warning(
        &self,
        ranked: &RankedWarning,
        question: &WarnQuestion,
        asked: &WarnRequest,
        due: &mut DueWarnings,
    ) -> Result<(), StoreError> {
        let candidate = &ranked.candidate;
        let Some(known) = self.warning_facts(candidate)? else { return Ok(()) };
        let is_pinned = if candidate.is_entry() {
            self.index.find_entry(&candidate.key)?.pinned
        } else {
            match &known.pattern {
                Some(pattern) => is_pinned(self.index, self.index.find_pattern_number(pattern)?)?,
                None => false,
            }
        };
        let share = if is_pinned { 0.0 } else { self.settings.advice.held_out() };
        let arm = if asked.for_gate {
            DeliveryArm::Gate
        } else {
            DeliveryArm::draw_for_task(&question.task, &candidate.family, share, &self.settings.advice.salt)
        };
        let mark = delivery::delivery_mark(self.waiting, self.index, question, candidate, asked)?.unwrap_or_default();
        let event = delivery::delivery_event(ranked, &mark, arm, share, question, asked, self.now);
        let id = delivery::warning_id(&event);
        if self.settings.advice.learning && !self.index.has_event(RunId(event.id))? {
            due.deliveries.push(event);
        }
        if arm == DeliveryArm::Holdout {
            due.held_out += 1;
            return Ok(());
        }
        // Numbered as they are shown: a gap would tell that something was held out.
        let rank = u32::try_from(due.warnings.len() + 1).unwrap_or(u32::MAX);
        due.warnings.push(Warning { rank, ..Warning::from_ranked(id, ranked, known) });
        Ok(())
    }

    /// What is known of it; `None` when it is gone meanwhile.
    fn warning_facts(&self, candidate: &WarningCandidate) -> Result<Option<WarningFacts>, StoreError> {
        if candidate.is_entry() {
            return entry_facts(self.index, &self.places.root, &candidate.key).map(Some);
        }
        let Some(row) = self.index.brief_of_key(&candidate.key)? else { return Ok(None) };
        let mut known = WarningFacts {
            pattern: Some(row.id.clone()),
            what: brief_pattern_name(&row),
            files: row.files.iter().take(FILES_MAX).map(|(path, _)| path.clone()).collect(),
            tasks: row.tasks,
            last_seen: Some(row.last_seen),
            ..WarningFacts::default()
        };
        if self.settings.advice.injection {
            (known.cause, known.rule) = cause_and_rule(self.index, &self.segments, row.number)?;
            self.insight.get()?.complete_facts(&mut known, &row, self.settings);
            known.worked = proven_remedy(self.index, row.number, self.settings, self.now)?;
        }
        Ok(Some(known))
    }
}

/// Whether an entry is kept from a task, so that it can be known what happens without.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn is_held_out(index: &Index, entry: &str, task: &str, settings: &Settings) -> Result<bool, StoreError> {
    let family = index.entry_family(entry)?.unwrap_or_else(|| entry.to_owned());
    let arm = DeliveryArm::draw_for_task(task, &family, settings.advice.held_out(), &settings.advice.salt);
    Ok(arm == DeliveryArm::Holdout && !index.find_entry(entry)?.pinned)
}
