//! `promote approve`, `reject` and `rollback`: what a person decides, by name and with a reason. The only place that
//! writes into CLAUDE.md or AGENTS.md.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;

use super::target::{self, TargetOptions, read_text};
use super::{collect_promotions, find_promotion};
use crate::advice::block::{self, BlockLine, EditPolicy};
use crate::base::file::{Durability, write_atomic};
use crate::base::refusal::Refusal;
use crate::config::{Places, Settings};
use crate::event::{Event, EventAuthor, EventBody, PromotionState, PromotionStep};
use crate::host::user::user_name;
use crate::ops::pattern;
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::redact::sanitize_name;
use crate::retrieval::promotions::PromotionItem;
use crate::store::PromotionRow;

/// What a person decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromotionDecision {
    /// Write it.
    Approve,
    /// Don't.
    Reject,
    /// Take it out again.
    RollBack,
}

/// A decision with who answers for it.
#[derive(Debug, Clone)]
pub(crate) struct PromotionReview {
    /// What is decided.
    pub decision: PromotionDecision,
    /// About what: unique starts of ids.
    pub ids: Vec<String>,
    /// The reviewer's name.
    pub person: Option<String>,
    /// Why.
    pub reason: String,
    /// Where to, of an approval.
    pub wanted: TargetOptions,
    /// What happens to edited lines.
    pub edits: EditPolicy,
    /// The change that the person was shown ([`TargetChange::digest`]); any without.
    pub shown: Option<String>,
}

/// What `promote approve`, `reject` and `rollback --json` print.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DecisionReply {
    /// What was decided on.
    pub promotions: Vec<DecidedPromotion>,
}

/// One promotion that was decided on.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct DecidedPromotion {
    /// `r-…`
    pub id: String,
    /// Its current state.
    pub state: PromotionState,
    /// The file that was written, relative to the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<PathBuf>,
    /// Its bytes are those from before the promotion, or it is gone as it was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_before: Option<bool>,
}

/// A file before and after; `None`: there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TargetChange {
    /// Its text now.
    pub before: Option<String>,
    /// Its text then.
    pub after: Option<String>,
}

impl TargetChange {
    /// What names exactly this change of exactly this file.
    pub(super) fn digest(&self, target: &Path) -> String {
        let mut hasher = blake3::Hasher::new();
        for part in [Some(target.to_string_lossy().as_ref()), self.before.as_deref(), self.after.as_deref()] {
            // A length tells where a part ends, and no file from an empty one.
            hasher.update(&part.map_or(u64::MAX, |part| part.len() as u64).to_le_bytes());
            hasher.update(part.unwrap_or_default().as_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// Files as they are going to be, each with what was read of it.
type StagedChanges = BTreeMap<PathBuf, TargetChange>;

/// Decides on all of `review.ids`, or, if one of them can't be, on none.
///
/// # Errors
/// When the name or the reason is missing, an id names nothing that this can be decided of, the target can't be written
/// or was edited between the marks.
pub(crate) fn review_promotions(request: &Request, review: &PromotionReview) -> anyhow::Result<Reply<DecisionReply>> {
    let person = match &review.person {
        Some(person) => sanitize_name(person),
        // An agent must not decide in the name of a person.
        None if matches!(request.identity.agent.as_deref(), None | Some("human")) => user_name(&request.places.root),
        None => None,
    };
    let reason = sanitize_name(&review.reason);
    let (Some(person), Some(reason)) = (person, reason) else {
        bail!(Refusal::usage("give the person who decides and the reason: --by NAME --reason TEXT"));
    };
    let (desk, mut notes) = pattern::open_reader(request)?;
    let Some(desk) = desk else { bail!(Refusal::not_found("nothing was recorded here yet")) };
    // From here on there is no other writer: what is read of files and decisions stays true.
    let mut store = request.open_store().context("cannot record the decision now")?;
    let items = collect_promotions(request, &desk)?;
    let (mut staged, mut events, mut decided) = (StagedChanges::new(), Vec::new(), Vec::new());
    for id in &review.ids {
        let mut item = find_promotion(&items, id)?.clone();
        if decided.iter().any(|one: &DecidedPromotion| one.id == item.id) {
            continue;
        }
        if let Some(target) = item.row.as_ref().and_then(|row| row.target.as_ref()) {
            // Where it was written last, also when it was taken out since: the line may have come back with the file.
            item.target = PathBuf::from(target);
        }
        ensure_allowed(&request.places, review.decision, &item)?;
        if review.decision == PromotionDecision::Approve {
            item.target = approval_target(request, &review.wanted, &item)?;
        }
        let (step, one) = decide_promotion(request, review, &item, &reason, &mut staged, &items)?;
        let by = EventAuthor { person: Some(person.clone()), ..EventAuthor::from_identity(&request.identity, None) };
        events.push(Event::new(
            request.now(),
            store.writer_name(),
            EventBody::Promotion(Box::new(item.to_event(step, by))),
        ));
        decided.push(one);
    }
    write_all(&request.places, &staged)?;
    store.append(&events).context("the files were written, but the decision was not recorded: decide it again")?;
    notes.extend(store.take_notes());
    Ok(Reply::new(DecisionReply { promotions: decided }, notes))
}

/// Whether this can be decided of it now.
fn ensure_allowed(places: &Places, decision: PromotionDecision, item: &PromotionItem) -> anyhow::Result<()> {
    let (id, state) = (&item.id, item.state.as_str());
    match decision {
        PromotionDecision::Approve => ensure!(
            item.way.is_some()
                || item.state == PromotionState::Approved && (item.pattern.is_some() || item.entry.is_some()),
            Refusal::conflict(format!(
                "{id} is no longer proposed: {}",
                item.lapsed.as_deref().unwrap_or("its subject no longer exists")
            ))
            .then_run(format!("promote show {id}"))
        ),
        PromotionDecision::Reject => ensure!(
            item.state != PromotionState::Approved,
            Refusal::conflict(format!("{id} is approved"))
                .then_run(format!("promote rollback {id} --by NAME --reason TEXT"))
        ),
        PromotionDecision::RollBack => ensure!(
            item.state == PromotionState::Approved || is_in_file(places, item),
            Refusal::conflict(format!("{id} is {state}: there is nothing to roll back"))
        ),
    }
    Ok(())
}

/// The target of an approval. One that is in a file stays there.
fn approval_target(request: &Request, wanted: &TargetOptions, item: &PromotionItem) -> anyhow::Result<PathBuf> {
    if item.state != PromotionState::Approved || item.missing {
        return target::find_target(request, wanted, item);
    }
    let elsewhere = *wanted != TargetOptions::default() && target::find_target(request, wanted, item)? != item.target;
    ensure!(
        !elsewhere,
        Refusal::conflict(format!("{} is in {} already", item.id, item.target.display()))
            .then_run(format!("promote rollback {} --by NAME --reason TEXT", item.id))
    );
    Ok(item.target.clone())
}

/// What is decided, with the file as it is going to be.
fn decide_promotion(
    request: &Request,
    review: &PromotionReview,
    item: &PromotionItem,
    reason: &str,
    staged: &mut StagedChanges,
    items: &[PromotionItem],
) -> anyhow::Result<(PromotionStep, DecidedPromotion)> {
    let reason = reason.to_owned();
    let one = |state, target, as_before| DecidedPromotion { id: item.id.clone(), state, target, as_before };
    if review.decision == PromotionDecision::Reject {
        return Ok((PromotionStep::Rejected { reason }, one(PromotionState::Rejected, None, None)));
    }
    let real = target::resolve_target(&request.places, &item.target)?;
    let now = match staged.get(&real) {
        Some(change) => change.after.clone(),
        None => read_text(&real)?,
    };
    let after = if review.decision == PromotionDecision::Approve {
        Some(text_with_line(request.settings(), item, now.as_deref(), review.edits)?)
    } else {
        text_without_line(item, now.as_deref(), review.edits, items)?
    };
    ensure_as_shown(review, item, &TargetChange { before: now.clone(), after: after.clone() })?;
    let (digest_before, digest_after) = (now.as_deref().map(text_digest), after.as_deref().map(text_digest));
    staged.entry(real).or_insert_with(|| TargetChange { before: now.clone(), after: None }).after = after;
    let target = item.target.to_string_lossy().into_owned();
    Ok(if review.decision == PromotionDecision::Approve {
        // Approved once more: what was there before it the first time is what a rollback gives back.
        let again = item.row.as_ref().filter(|_| item.state == PromotionState::Approved && !item.missing);
        let before = again.map_or(digest_before, |row| row.before.clone());
        let step = PromotionStep::Approved { reason, target, before, after: digest_after.unwrap_or_default() };
        (step, one(PromotionState::Approved, Some(item.target.clone()), None))
    } else {
        let as_before = item.row.as_ref().map(|row| row.before == digest_after);
        let step = PromotionStep::RolledBack { reason, after: digest_after };
        (step, one(PromotionState::RolledBack, Some(item.target.clone()), as_before))
    })
}

/// Whether a change is the one that the person was shown.
fn ensure_as_shown(review: &PromotionReview, item: &PromotionItem, change: &TargetChange) -> anyhow::Result<()> {
    let is_shown = review.shown.as_ref().is_none_or(|shown| *shown == change.digest(&item.target));
    let message = || format!("{} changed since the change was shown: nothing was written", item.target.display());
    ensure!(is_shown, Refusal::conflict(message()).then_run(format!("promote show {}", item.id)));
    Ok(())
}

/// What deciding on an item would do to its target: of an approved one taking it out, else writing it.
///
/// # Errors
/// As [`review_promotions`].
pub(super) fn preview_change(
    request: &Request,
    item: &PromotionItem,
    edits: EditPolicy,
    items: &[PromotionItem],
) -> anyhow::Result<TargetChange> {
    let before = read_text(&target::resolve_target(&request.places, &item.target)?)?;
    let after = if item.state == PromotionState::Approved {
        text_without_line(item, before.as_deref(), edits, items)?
    } else {
        Some(text_with_line(request.settings(), item, before.as_deref(), edits)?)
    };
    Ok(TargetChange { before, after })
}

/// Whether the line of an approved one is in its file.
pub(super) fn is_in_file(places: &Places, item: &PromotionItem) -> bool {
    let text = target::resolve_target(places, &item.target).and_then(|real| read_text(&real)).ok().flatten();
    text.is_some_and(|text| block::block_ids(&text).is_ok_and(|ids| ids.contains(&item.id)))
}

fn text_with_line(
    settings: &Settings,
    item: &PromotionItem,
    now: Option<&str>,
    edits: EditPolicy,
) -> anyhow::Result<String> {
    let line = BlockLine::new(&item.id, &item.proposal.line);
    let max = usize::try_from(settings.promotion.lines).unwrap_or(usize::MAX);
    let head = target::rule_file_head(&item.target, item);
    let text = now.map_or(head.as_str(), |now| now);
    block::with_line(text, &line, max, edits).with_context(|| item.target.display().to_string())
}

fn text_without_line(
    item: &PromotionItem,
    now: Option<&str>,
    edits: EditPolicy,
    items: &[PromotionItem],
) -> anyhow::Result<Option<String>> {
    let Some(now) = now else { return Ok(None) };
    let line = BlockLine::new(&item.id, &item.proposal.line);
    let text = block::without_line(now, &line, edits).with_context(|| item.target.display().to_string())?;
    // Made by one of verify-run's promotions: it is removed with the last line.
    let of_target = |row: &&PromotionRow| row.target.as_deref().map(Path::new) == Some(&item.target);
    let rows = items.iter().chain([item]).filter_map(|item| item.row.as_ref());
    let is_ours = rows.filter(of_target).any(|row| row.before.is_none());
    let is_empty = text.is_empty() || text == target::rule_file_head(&item.target, item);
    let is_untouched = item.row.as_ref().is_some_and(|row| row.before.is_none() && row.after == Some(text_digest(now)));
    Ok((!(is_untouched || is_ours && is_empty)).then_some(text))
}

fn text_digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Writes all files, or none: what was written before one that can't be is put back.
fn write_all(places: &Places, staged: &StagedChanges) -> anyhow::Result<()> {
    let mut written: Vec<(&PathBuf, &TargetChange)> = Vec::new();
    for (path, change) in staged.iter().filter(|(_, change)| change.before != change.after) {
        if let Err(error) = write_if_unchanged(places, path, change.before.as_deref(), change.after.as_deref()) {
            for (path, change) in written {
                let _ = write_if_unchanged(places, path, change.after.as_deref(), change.before.as_deref());
            }
            return Err(error);
        }
        written.push((path, change));
    }
    Ok(())
}

/// Removes the folder of rules that [`write_if_unchanged`] may have made, and `.claude` above it; neither while anything is in it.
fn remove_empty_folders(places: &Places, folder: &Path) {
    let above = places.root.join(".claude");
    for folder in folder.ancestors().take_while(|folder| folder.starts_with(&above)) {
        let _ = fs::remove_dir(folder);
    }
}

fn write_if_unchanged(places: &Places, path: &Path, before: Option<&str>, after: Option<&str>) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(&places.root);
    if folder.starts_with(places.root.join(".claude")) {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    // An editor knows nothing of our lock.
    let is_unchanged = read_text(path)?.as_deref() == before;
    let message = || format!("{} changed meanwhile: nothing was written; decide it again", path.display());
    ensure!(is_unchanged, Refusal::conflict(message()));
    let done = match after {
        None => fs::remove_file(path).inspect(|()| remove_empty_folders(places, folder)),
        Some(text) => {
            let mode = fs::metadata(path).map_or(0o644, |metadata| metadata.permissions().mode() & 0o7777);
            write_atomic(path, text.as_bytes(), mode, Durability::Synced)
        }
    };
    done.with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_together_or_not_at_all_and_never_over_a_change_of_somebody_else() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().to_owned();
        let places = Places { root, repository: None, state: dir.path().join("state").into(), fallbacks: Vec::new() };
        let (one, two) = (dir.path().join("A.md"), dir.path().join("B.md"));
        fs::write(&two, "another user's\n").expect("written");
        let change = |before: Option<&str>, after: &str| TargetChange {
            before: before.map(str::to_owned),
            after: Some(after.to_owned()),
        };
        let staged = StagedChanges::from([
            (one.clone(), change(None, "new\n")),
            (two.clone(), change(Some("as it was read\n"), "ours\n")),
        ]);
        let error = write_all(&places, &staged).expect_err("it was changed");
        assert!(error.to_string().contains("B.md changed meanwhile: nothing was written"), "{error}");
        assert!(!one.exists(), "rolled back");
        assert_eq!(fs::read_to_string(&two).expect("reads"), "another user's\n");
        let fine = StagedChanges::from([(one.clone(), change(None, "new\n"))]);
        write_all(&places, &fine).expect("writes");
        let gone = StagedChanges::from([(one.clone(), TargetChange { before: Some("new\n".into()), after: None })]);
        write_all(&places, &gone).expect("removes");
        assert!(!one.exists());
    }
}
