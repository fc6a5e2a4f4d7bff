//! `promote list` and `show`: what has earned a line in CLAUDE.md or AGENTS.md, and the outcome of such lines.
//!
//! What is proposed follows from what was recorded and noted, without a request, and nothing is written before a
//! person approved it by name ([`review`]).

pub(crate) mod review;
mod target;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use anyhow::bail;
use serde::Serialize;

use super::library;
use super::pattern;
use super::reply::Reply;
use super::request::Request;
use crate::advice::{block, diff};
use crate::base::refusal::Refusal;
use crate::event::{Event, EventAuthor, EventBody, PromotionState, PromotionStep};
use crate::retrieval::pattern_reader::PatternReader;
use crate::retrieval::promotions::{self, PromotionItem};
use crate::store::{PromotionChangeRow, StoreError, note};

pub(crate) use target::TargetOptions;

/// What `promote list --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PromotionList {
    /// Strong ones first, then those of the most failures.
    pub promotions: Vec<PromotionItem>,
}

/// What `promote show --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PromotionDetail {
    /// The promotion.
    #[serde(flatten)]
    pub item: PromotionItem,
    /// What approving it would do to the target, of an approved one what rolling it back would: a unified diff.
    pub diff: String,
    /// Names exactly this change; `null` where there is none.
    pub change: Option<String>,
    /// Why there is no diff: the target can't be written as it is.
    pub refused: Option<String>,
    /// What was said of it, the first first.
    pub history: Vec<PromotionChangeRow>,
    /// All of it as a page.
    pub markdown: String,
}

/// What waits for a person: proposals, and approved ones that should go again; with `all` the decided ones, and proposals
/// that do not pass the gate any more, too. What is proposed for the first time is recorded.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn list_promotions(request: &Request, all: bool) -> anyhow::Result<Reply<PromotionList>> {
    list_noted(request, all, Some(record_proposals))
}

/// As [`list_promotions`], and records nothing.
///
/// # Errors
/// As [`list_promotions`].
pub(crate) fn read_promotions(request: &Request, all: bool) -> anyhow::Result<Reply<PromotionList>> {
    list_noted(request, all, None)
}

/// Records what is proposed for the first time; with notes for standard error.
type ProposalRecorder = fn(&Request, &[PromotionItem], &mut Vec<String>);

fn list_noted(request: &Request, all: bool, record: Option<ProposalRecorder>) -> anyhow::Result<Reply<PromotionList>> {
    let (desk, mut notes) = pattern::open_reader(request)?;
    let Some(desk) = desk else { return Ok(Reply::new(PromotionList { promotions: Vec::new() }, notes)) };
    let mut found = collect_promotions(request, &desk)?;
    record.iter().for_each(|record| record(request, &found, &mut notes));
    found.retain(|item| all || item.is_waiting());
    Ok(Reply::new(PromotionList { promotions: found }, notes))
}

/// Everything about one promotion, with the exact change. What is proposed for the first time is recorded.
///
/// # Errors
/// When there is none or more than one, or the store can't be read.
pub(crate) fn show_promotion(
    request: &Request,
    id: &str,
    wanted: &TargetOptions,
) -> anyhow::Result<Reply<PromotionDetail>> {
    show_noted(request, id, wanted, Some(record_proposals))
}

/// As [`show_promotion`], and records nothing.
///
/// # Errors
/// As [`show_promotion`].
pub(crate) fn read_promotion(request: &Request, id: &str) -> anyhow::Result<Reply<PromotionDetail>> {
    show_noted(request, id, &TargetOptions::default(), None)
}

fn show_noted(
    request: &Request,
    id: &str,
    wanted: &TargetOptions,
    record: Option<ProposalRecorder>,
) -> anyhow::Result<Reply<PromotionDetail>> {
    let (desk, mut notes) = pattern::open_reader(request)?;
    let Some(desk) = desk else { return Err(StoreError::NoSuchId { id: id.to_owned() }.into()) };
    let found = collect_promotions(request, &desk)?;
    record.iter().for_each(|record| record(request, &found, &mut notes));
    let mut item = find_promotion(&found, id)?.clone();
    if item.state != PromotionState::Approved {
        item.target = target::find_target(request, wanted, &item)?;
    }
    let path = item.target.to_string_lossy().into_owned();
    let previewed = review::preview_change(request, &item, block::EditPolicy::Refuse, &found);
    let (diff, digest, refused) = match previewed {
        Ok(change) => {
            let diff = diff::unified_diff(&path, change.before.as_deref(), change.after.as_deref());
            (diff, Some(change.digest(&item.target)), None)
        }
        Err(error) => (String::new(), None, Some(format!("{error:#}"))),
    };
    let history = desk.index.promotion_changes(&item.id)?;
    let change = (!diff.is_empty()).then_some((path.as_str(), diff.as_str()));
    let markdown = item.proposal.to_markdown(&item.id, item.state.as_str(), &item.label, change);
    Ok(Reply::new(
        PromotionDetail { item, change: digest.filter(|_| !diff.is_empty()), diff, refused, history, markdown },
        notes,
    ))
}

/// The one that `id` names: a unique start of its own id, or the id of what it is about.
fn find_promotion<'a>(items: &'a [PromotionItem], id: &str) -> anyhow::Result<&'a PromotionItem> {
    let fits = |item: &&PromotionItem| {
        let own = item.id.strip_prefix("r-").unwrap_or(&item.id);
        let about = [&item.pattern, &item.entry].into_iter().any(|about| about.as_deref() == Some(id));
        item.id.starts_with(id) && id.len() > 2 || own.starts_with(id) || about
    };
    let mut found = items.iter().filter(fits);
    match (found.next(), found.next()) {
        (Some(item), None) => Ok(item),
        (Some(first), Some(second)) => {
            let examples = format!("{}, {}", first.id, second.id);
            Err(StoreError::Ambiguous { id: id.to_owned(), count: 2 + found.count(), examples }.into())
        }
        (None, _) => {
            bail!(Refusal::not_found(format!("no proposal has the id {id}")).then_run("promote list --all"))
        }
    }
}

/// All promotions, each with the file that has its line, or would get it.
fn collect_promotions(request: &Request, desk: &PatternReader) -> Result<Vec<PromotionItem>, StoreError> {
    let mut found = promotions::collect_promotions(desk)?;
    let is_open = |item: &PromotionItem| item.way.is_some() && item.state != PromotionState::Approved;
    if found.iter().any(is_open) {
        let withheld = library::withheld_patterns(request, &desk.index)?;
        for item in found.iter_mut().filter(|item| is_open(item)) {
            if let Some(reason) = item.pattern.as_ref().and_then(|pattern| withheld.get(pattern)) {
                (item.way, item.lapsed) = (None, Some(reason.clone()));
            }
        }
    }
    Ok(found.into_iter().map(|item| with_target(request, item)).collect())
}

/// A promotion with the file that has the line, or would get it.
fn with_target(request: &Request, mut item: PromotionItem) -> PromotionItem {
    let written =
        item.row.as_ref().filter(|_| item.state == PromotionState::Approved).and_then(|row| row.target.clone());
    match written {
        Some(path) => {
            item.target = PathBuf::from(path);
            item.missing = !review::is_in_file(&request.places, &item);
        }
        // What is wrong with it is said where it is to be written.
        None => item.target = target::find_target(request, &TargetOptions::default(), &item).unwrap_or_default(),
    }
    item
}

/// Records for the recorder what is proposed for the first time: a new candidate, a retirement.
fn record_proposals(request: &Request, items: &[PromotionItem], notes: &mut Vec<String>) {
    if !request.settings().advice.learning {
        return;
    }
    for item in items {
        let step = match (&item.row, &item.retirement) {
            // The library keeps it back.
            (None, _) if item.way.is_none() => continue,
            (None, _) => {
                let strong = item.label.strength == crate::advice::promotion::ProofStrength::Strong;
                PromotionStep::Proposed { strong, why: item.label.reason.clone() }
            }
            (Some(row), Some(why)) if !row.retirement_proposed => {
                PromotionStep::RetirementProposed { why: why.clone() }
            }
            _ => continue,
        };
        let said = item.to_event(step, EventAuthor::from_identity(&request.identity, None));
        // The writer is the store's that takes it.
        let event = Event::new(request.now(), "", EventBody::Promotion(Box::new(said)));
        if let Err(error) = note::write_note(&request.places, &event) {
            notes.push(format!("cannot record the proposal {}: {error}", item.id));
            return;
        }
    }
}
