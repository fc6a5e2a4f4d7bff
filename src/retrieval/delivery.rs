//! What is remembered of advice that was due: to whom, about what, on which occasion, and whether it was shown.

use super::question::{WarnQuestion, WarnRequest};
use crate::advice::ranking::{FileReach, RankedWarning, WarningCandidate};
use crate::base::clock::Timestamp;
use crate::base::ids::{self, RunId};
use crate::event::{Delivery, DeliveryArm, Event, EventAuthor, EventBody, derived_id};
use crate::pattern::statistics::to_permille;
use crate::store::note::WaitingNotes;
use crate::store::{Index, StoreError};

/// Files of a delivery.
const DELIVERY_FILES_MAX: usize = 20;
/// What marks deliveries of the lesser occasions.
const MENTION: &str = "mention";
const COMMAND: &str = "command";
/// What marks deliveries to the quality gate.
const GATE: &str = "gate";

/// The occasion of a warning. A session is shown a warning once on each, at hand once for each file, and not again on
/// a lesser one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DeliveryOccasion {
    /// Beside other work: at the start of a session, at a prompt, at the edit of another file.
    Mention,
    /// Before the command that would report it, whatever file it will be in.
    Command,
    /// At the edit of the very file, before the command that is all it belongs to, at the failure, or when asked for.
    AtHand,
}

impl DeliveryOccasion {
    /// The occasion on which a candidate would be said.
    fn for_candidate(candidate: &WarningCandidate, asked: &WarnRequest) -> Self {
        let concern = &candidate.concern;
        if !asked.news || concern.failed {
            return DeliveryOccasion::AtHand;
        }
        match (&concern.file, asked.at_hand) {
            (_, false) => DeliveryOccasion::Mention,
            (Some((_, FileReach::File)), true) => DeliveryOccasion::AtHand,
            _ if candidate.is_entry() => DeliveryOccasion::AtHand,
            _ if concern.command.is_some() && !candidate.has_files => DeliveryOccasion::AtHand,
            _ if concern.command.is_some() => DeliveryOccasion::Command,
            _ => DeliveryOccasion::Mention,
        }
    }
}

/// What tells a delivery from others to the same session about the same thing; nothing for most. `None` where a
/// session that only wants news was shown it already, on this occasion or a better one, or held out of it.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn delivery_mark(
    waiting: &WaitingNotes<'_>,
    index: &Index,
    question: &WarnQuestion,
    candidate: &WarningCandidate,
    asked: &WarnRequest,
) -> Result<Option<String>, StoreError> {
    if asked.for_gate {
        return Ok(Some(GATE.to_owned()));
    }
    if !asked.news {
        return Ok(Some(String::new()));
    }
    let (session, key) = (question.session.as_str(), candidate.key.as_str());
    let is_told = |mark: &str| -> Result<bool, StoreError> {
        let id = event_id(session, key, mark);
        Ok(waiting.contains(id) || index.has_event(RunId(id))?)
    };
    let occasion = DeliveryOccasion::for_candidate(candidate, asked);
    let is_told_at_hand = is_told("")?;
    if occasion == DeliveryOccasion::AtHand {
        let file = candidate.concern.file.as_ref().filter(|_| !candidate.concern.failed).map(|(file, _)| file);
        return Ok(match (is_told_at_hand, file) {
            (false, _) => Some(String::new()),
            (true, None) => None,
            // It was shown for another file: that was about the other one.
            (true, Some(file)) => {
                let files = delivery_files(waiting, index, event_id(session, key, ""))?;
                let is_about = files.is_empty() || files.contains(file) || is_told(file)?;
                (!is_about).then(|| file.clone())
            }
        });
    }
    if is_told_at_hand || is_told(COMMAND)? || occasion == DeliveryOccasion::Mention && is_told(MENTION)? {
        return Ok(None);
    }
    Ok(Some(if occasion == DeliveryOccasion::Mention { MENTION } else { COMMAND }.to_owned()))
}

/// The files that a delivery was about.
fn delivery_files(waiting: &WaitingNotes<'_>, index: &Index, id: uuid::Uuid) -> Result<Vec<String>, StoreError> {
    if let Some(files) = index.files_of_delivery(&RunId(id).to_string())? {
        return Ok(files);
    }
    let body = waiting.find(id).map(|event| event.body);
    Ok(match body {
        Some(EventBody::Delivery(delivery)) => delivery.files,
        _ => Vec::new(),
    })
}

fn event_id(session: &str, key: &str, mark: &str) -> uuid::Uuid {
    match mark {
        "" => derived_id("delivery", &[session, key]),
        _ => derived_id("delivery", &[session, key, mark]),
    }
}

/// A delivery as it will be remembered.
pub(crate) fn delivery_event(
    ranked: &RankedWarning,
    mark: &str,
    arm: DeliveryArm,
    held_out: f64,
    question: &WarnQuestion,
    asked: &WarnRequest,
    now: Timestamp,
) -> Event {
    let candidate = &ranked.candidate;
    let subject = match mark {
        "" => candidate.key.clone(),
        _ => format!("{}\0{mark}", candidate.key),
    };
    let delivery = Delivery {
        warning: ids::warning(&question.session, &subject),
        task: question.task.clone(),
        session: question.session.clone(),
        pattern: (!candidate.is_entry()).then(|| candidate.key.clone()),
        entry: candidate.is_entry().then(|| candidate.key.clone()),
        family: candidate.family.clone(),
        rank: ranked.rank,
        score_permille: to_permille(ranked.score),
        arm,
        holdout_permille: to_permille(held_out),
        surface: asked.surface.clone(),
        files: question.files.iter().take(DELIVERY_FILES_MAX).cloned().collect(),
        command: question.class.clone(),
        text: None,
        runs: Vec::new(),
        by: EventAuthor::from_identity(&asked.identity, Some(&question.task)),
    };
    // The writer is the store's that takes it.
    let id = event_id(&question.session, &candidate.key, mark);
    Event { id, ..Event::new(now, "", EventBody::Delivery(Box::new(delivery))) }
}

/// `w-…` of a delivery.
pub(crate) fn warning_id(event: &Event) -> String {
    match &event.body {
        EventBody::Delivery(delivery) => delivery.warning.clone(),
        _ => String::new(),
    }
}
