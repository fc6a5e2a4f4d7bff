//! What people decide in the browser or by the API: each by the verb of its command, and recorded as an event.

use serde_json::Value;

use super::ask::HttpAsk;
use super::sent::SentFields;
use crate::advice::block::EditPolicy;
use crate::event::ReviewState;
use crate::host::user::user_name;
use crate::ops::board::lessons::{LessonReply, LessonShowReply};
use crate::ops::curate::{self, CurationReason};
use crate::ops::fix::{self, FixNoteText};
use crate::ops::lesson::{self, LessonAnnotation};
use crate::ops::library::{JobReview, JobReviewDecision, PageReview, PageReviewDecision, review_job, review_page};
use crate::ops::outcome::acknowledge_warning;
use crate::ops::promote::TargetOptions;
use crate::ops::promote::review::{PromotionDecision, PromotionReview, review_promotions};
use crate::ops::reply::Reply;
use crate::ops::{knowledge, request::Request};
use crate::redact::sanitize_name;

/// The person of the form, else the one whom git knows.
fn read_person(sent: &mut SentFields<'_>, request: &Request) -> Option<String> {
    sent.text("by").and_then(|by| sanitize_name(&by)).or_else(|| user_name(&request.places.root))
}

/// The author of a change and the reason for it.
fn read_reason(sent: &mut SentFields<'_>, request: &Request) -> CurationReason {
    CurationReason { by: read_person(sent, request), why: sent.text("reason").and_then(|why| sanitize_name(&why)) }
}

/// Reads the author and the reason, which are all that a form has.
fn read_only_reason(ask: &HttpAsk) -> anyhow::Result<CurationReason> {
    let mut sent = SentFields::new(ask)?;
    let saying = read_reason(&mut sent, &ask.request);
    sent.finish(&["by", "reason"])?;
    Ok(saying)
}

fn review_pattern(ask: &HttpAsk, state: ReviewState) -> anyhow::Result<Value> {
    to_document(&curate::review_pattern(&ask.request, ask.path_value(0), state, read_only_reason(ask)?)?)
}

/// `POST …/patterns/{id}/mute`
pub(super) fn mute_pattern(ask: &HttpAsk) -> anyhow::Result<Value> {
    review_pattern(ask, ReviewState::Muted)
}

/// `POST …/patterns/{id}/unmute`
pub(super) fn unmute_pattern(ask: &HttpAsk) -> anyhow::Result<Value> {
    review_pattern(ask, ReviewState::Unmuted)
}

/// `POST …/patterns/{id}/deprecate`
pub(super) fn deprecate_pattern(ask: &HttpAsk) -> anyhow::Result<Value> {
    review_pattern(ask, ReviewState::Deprecated)
}

/// `POST …/patterns/{id}/restore`
pub(super) fn restore_pattern(ask: &HttpAsk) -> anyhow::Result<Value> {
    review_pattern(ask, ReviewState::Restored)
}

/// `POST …/patterns/{id}/split`
pub(super) fn split_pattern(ask: &HttpAsk) -> anyhow::Result<Value> {
    to_document(&curate::split_pattern(&ask.request, ask.path_value(0), read_only_reason(ask)?)?)
}

/// `POST …/patterns/{id}/unsplit`
pub(super) fn unsplit_pattern(ask: &HttpAsk) -> anyhow::Result<Value> {
    to_document(&curate::undo_split(&ask.request, ask.path_value(0), read_only_reason(ask)?)?)
}

/// `POST …/patterns/{id}/merge`
pub(super) fn merge_pattern(ask: &HttpAsk) -> anyhow::Result<Value> {
    let mut sent = SentFields::new(ask)?;
    let (into, saying) = (sent.required("into"), read_reason(&mut sent, &ask.request));
    sent.finish(&["into", "by", "reason"])?;
    to_document(&curate::merge_patterns(&ask.request, ask.path_value(0), &into, saying)?)
}

fn review_promotion(ask: &HttpAsk, decision: PromotionDecision) -> anyhow::Result<Value> {
    let mut sent = SentFields::new(ask)?;
    let (person, reason) = (Some(sent.required("by")), sent.required("reason"));
    // What is written is what was shown, or nothing.
    let is_rejection = decision == PromotionDecision::Reject;
    let shown = if is_rejection { None } else { Some(sent.required("change")) };
    sent.finish(if is_rejection { &["by", "reason"] } else { &["by", "reason", "change"] })?;
    let review = PromotionReview {
        decision,
        ids: vec![ask.path_value(0).to_owned()],
        person,
        reason,
        wanted: TargetOptions::default(),
        edits: EditPolicy::Refuse,
        shown,
    };
    to_document(&review_promotions(&ask.request, &review)?)
}

/// `POST …/promotions/{id}/approve`
pub(super) fn approve_promotion(ask: &HttpAsk) -> anyhow::Result<Value> {
    review_promotion(ask, PromotionDecision::Approve)
}

/// `POST …/promotions/{id}/reject`
pub(super) fn reject_promotion(ask: &HttpAsk) -> anyhow::Result<Value> {
    review_promotion(ask, PromotionDecision::Reject)
}

/// `POST …/promotions/{id}/rollback`
pub(super) fn roll_back_promotion(ask: &HttpAsk) -> anyhow::Result<Value> {
    review_promotion(ask, PromotionDecision::RollBack)
}

fn decide_page(ask: &HttpAsk, decision: PageReviewDecision) -> anyhow::Result<Value> {
    let is_approval = decision == PageReviewDecision::Approve;
    let mut sent = SentFields::new(ask)?;
    let (person, reason) = (Some(sent.required("by")), Some(sent.required("reason")));
    let shown = if is_approval { Some(sent.required("digest")) } else { None };
    let accept_unproven = is_approval && sent.is_on("accept_unproven");
    sent.finish(if is_approval { &["by", "reason", "digest", "accept_unproven"] } else { &["by", "reason"] })?;
    let id = ask.path_value(0).to_owned();
    let (supersedes, replaced_by) = (Vec::new(), None);
    let review = PageReview { decision, id, person, reason, accept_unproven, supersedes, replaced_by, shown };
    to_document(&review_page(&ask.request, &review)?)
}

/// `POST …/library/{id}/approve`
pub(super) fn approve_page(ask: &HttpAsk) -> anyhow::Result<Value> {
    decide_page(ask, PageReviewDecision::Approve)
}

/// `POST …/library/{id}/reject`
pub(super) fn reject_page(ask: &HttpAsk) -> anyhow::Result<Value> {
    decide_page(ask, PageReviewDecision::Reject)
}

/// `POST …/library/{id}/deprecate`
pub(super) fn deprecate_page(ask: &HttpAsk) -> anyhow::Result<Value> {
    decide_page(ask, PageReviewDecision::Deprecate)
}

/// `POST …/library/{id}/restore`
pub(super) fn restore_page(ask: &HttpAsk) -> anyhow::Result<Value> {
    decide_page(ask, PageReviewDecision::Restore)
}

fn decide_job(ask: &HttpAsk, decision: JobReviewDecision) -> anyhow::Result<Value> {
    let mut sent = SentFields::new(ask)?;
    let (person, reason) = (sent.required("by"), sent.required("reason"));
    // What is run is what was shown. A scenario is signed in a file: no document can bring one.
    let is_requeue = decision == JobReviewDecision::Requeue;
    let shown = if is_requeue { Some(sent.required("digest")) } else { None };
    sent.finish(if is_requeue { &["by", "reason", "digest"] } else { &["by", "reason"] })?;
    let id = ask.path_value(0).to_owned();
    to_document(&review_job(&ask.request, &JobReview { decision, id, person, reason, scenario: None, shown })?)
}

/// `POST …/library/jobs/{id}/requeue`
pub(super) fn requeue_job(ask: &HttpAsk) -> anyhow::Result<Value> {
    decide_job(ask, JobReviewDecision::Requeue)
}

/// `POST …/library/jobs/{id}/cancel`
pub(super) fn cancel_job(ask: &HttpAsk) -> anyhow::Result<Value> {
    decide_job(ask, JobReviewDecision::Cancel)
}

/// Three texts of which one has to be there.
fn read_note(sent: &mut SentFields<'_>, names: [&str; 3]) -> [Option<String>; 3] {
    let texts = names.map(|name| sent.text(name));
    if texts.iter().all(Option::is_none) {
        sent.add_fault(names[0], &format!("give {}, {} or {}", names[0], names[1], names[2]));
    }
    texts
}

/// `POST …/fixes/{id}/note`
pub(super) fn note_fix(ask: &HttpAsk) -> anyhow::Result<Value> {
    let mut sent = SentFields::new(ask)?;
    let [cause, approach, rule] = read_note(&mut sent, ["cause", "approach", "rule"]);
    let by = read_person(&mut sent, &ask.request);
    sent.finish(&["cause", "approach", "rule", "by"])?;
    to_document(&fix::record_fix(&ask.request, ask.path_value(0), FixNoteText { cause, approach, rule, by })?)
}

/// `POST …/lessons/{id}/annotate`
pub(super) fn annotate_lesson(ask: &HttpAsk) -> anyhow::Result<Value> {
    let mut sent = SentFields::new(ask)?;
    let [cause, resolution, corrective_rule] = read_note(&mut sent, ["cause", "resolution", "rule"]);
    let by = read_person(&mut sent, &ask.request);
    sent.finish(&["cause", "resolution", "rule", "by"])?;
    let annotation = LessonAnnotation { cause, resolution, corrective_rule, by };
    let found = lesson::annotate_lesson(&ask.request, ask.path_value(0), annotation)?;
    to_document(&Reply::from(LessonShowReply { lesson: LessonReply::from_found(&found) }))
}

/// `POST …/warnings/{id}/ack`
pub(super) fn rate_warning(ask: &HttpAsk) -> anyhow::Result<Value> {
    let mut sent = SentFields::new(ask)?;
    let (useful, person) = (sent.choice("useful"), read_person(&mut sent, &ask.request));
    sent.finish(&["useful", "by"])?;
    to_document(&acknowledge_warning(&ask.request, ask.path_value(0), useful, person)?)
}

/// `POST …/knowledge/{id}/pin`
pub(super) fn pin_entry(ask: &HttpAsk) -> anyhow::Result<Value> {
    SentFields::new(ask)?.finish(&[])?;
    to_document(&knowledge::pin_entry(&ask.request, ask.path_value(0), true)?)
}

/// `POST …/knowledge/{id}/unpin`
pub(super) fn unpin_entry(ask: &HttpAsk) -> anyhow::Result<Value> {
    SentFields::new(ask)?.finish(&[])?;
    to_document(&knowledge::pin_entry(&ask.request, ask.path_value(0), false)?)
}

/// `POST …/knowledge/{id}/confidence`
pub(super) fn set_confidence(ask: &HttpAsk) -> anyhow::Result<Value> {
    let mut sent = SentFields::new(ask)?;
    let (value, person, reason) = (sent.number("value"), sent.required("by"), sent.required("reason"));
    sent.finish(&["value", "by", "reason"])?;
    to_document(&knowledge::set_confidence(&ask.request, ask.path_value(0), value, (&reason, Some(&person)))?)
}

/// `POST …/knowledge/{id}/supersede`
pub(super) fn supersede_entry(ask: &HttpAsk) -> anyhow::Result<Value> {
    let mut sent = SentFields::new(ask)?;
    let with = sent.required("with");
    sent.finish(&["with"])?;
    to_document(&knowledge::supersede_entry(&ask.request, ask.path_value(0), &with)?)
}

fn to_document<T: serde::Serialize>(reply: &Reply<T>) -> anyhow::Result<Value> {
    Ok(serde_json::to_value(reply)?)
}
