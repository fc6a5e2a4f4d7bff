//! Applies steps of promotions to their table.

use rusqlite::{Transaction, params};

use crate::event::{Promotion, PromotionStep};

pub(super) fn insert_promotion(
    transaction: &Transaction<'_>,
    event_id: &str,
    at: &str,
    promotion: &Promotion,
) -> rusqlite::Result<()> {
    let person = promotion.by.person.as_deref().filter(|person| !person.trim().is_empty());
    let (strong, reason, target, before, after) = match &promotion.step {
        PromotionStep::Proposed { strong, why } => (Some(*strong), why, None, None, None),
        PromotionStep::Approved { reason, target, before, after } => {
            (None, reason, Some(target), before.as_ref(), Some(after))
        }
        PromotionStep::Rejected { reason } => (None, reason, None, None, None),
        PromotionStep::RolledBack { reason, after } => (None, reason, None, None, after.as_ref()),
        PromotionStep::RetirementProposed { why } => (None, why, None, None, None),
    };
    // Lines written by hand: about nothing or two things, or a decision without a name.
    let is_decided = !promotion.step.is_decision() || person.is_some() && !reason.is_empty();
    if promotion.pattern.is_some() == promotion.entry.is_some() || !is_decided {
        return Ok(());
    }
    transaction
        .prepare_cached(
            "INSERT INTO promotion_changes VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?
        .execute(params![
            event_id,
            promotion.promotion,
            promotion.pattern,
            promotion.entry,
            at,
            promotion.step.kind(),
            strong,
            reason,
            person,
            promotion.by.agent,
            target,
            before,
            after
        ])?;
    Ok(())
}
