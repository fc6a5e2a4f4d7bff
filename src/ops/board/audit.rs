//! What people, agents and the recorder decided, the newest first, page by page; and how to take it back.

use serde::Serialize;

use super::cursor::{cut_page, read_mark, standing_mark};
use super::{Board, PAGE_ROWS_MAX};
use crate::base::clock::Timestamp;
use crate::base::text::{ellipsis, one_line};
use crate::store::DecisionRow;

const LIST: &str = "audit";
/// A reason, bytes.
const REASON_BYTES_MAX: usize = 500;
/// A name, bytes.
const NAME_BYTES_MAX: usize = 200;

/// A page of decisions.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AuditLines {
    /// The newest first.
    pub decisions: Vec<AuditLine>,
    /// What the next page is asked for with; `null` at the end.
    pub next: Option<String>,
}

/// A decision.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AuditLine {
    /// The event's id.
    pub event: String,
    /// What kind of thing it is about: `pattern`, `promotion`, `entry`, `fix`, `lesson`, `warning`, `gate`, or `page` or
    /// `job` of the library.
    pub kind: String,
    /// When.
    pub at: Timestamp,
    /// The person who decided, else the agent; `null` when the recorder did, or nothing is known.
    pub who: Option<String>,
    /// What was done, one word: `muted`, `merged`, `approved`, …
    pub action: String,
    /// What it is about: an id, or the item that a waiver is for.
    pub about: String,
    /// The second thing that it is about.
    pub other: Option<String>,
    /// Why.
    pub why: Option<String>,
    /// The command that reverts it; `null` where there is none, or where it is reverted.
    pub undo: Option<String>,
    /// When it was reverted …
    pub reverted_at: Option<Timestamp>,
    /// … and by whom.
    pub reverted_by: Option<String>,
}

impl Board<'_> {
    /// A page of decisions, at most `limit` and at most 1,000, that follows the one that gave the cursor `after`.
    ///
    /// # Errors
    /// When the cursor is none, or the store can't be read.
    pub(crate) fn audit(&self, after: Option<&str>, limit: usize) -> anyhow::Result<AuditLines> {
        let limit = limit.clamp(1, PAGE_ROWS_MAX);
        let after = read_mark(LIST, after)?;
        let mut rows = self.index().list_decisions(after.as_ref(), limit + 1)?;
        let next = cut_page(&mut rows, limit, |row| standing_mark(LIST, (row.at, &row.event)));
        Ok(AuditLines { decisions: rows.into_iter().map(AuditLine::from_row).collect(), next })
    }
}

impl AuditLine {
    fn from_row(row: DecisionRow) -> Self {
        let line = |text: &str, max| ellipsis(one_line(text).trim(), max);
        let undo = undo_command(&row).filter(|_| row.reverted_at.is_none());
        AuditLine {
            undo,
            event: row.event,
            kind: row.kind,
            at: row.at,
            who: row.who.map(|who| line(&who, NAME_BYTES_MAX)),
            action: row.action,
            about: line(&row.about, NAME_BYTES_MAX),
            other: row.other.map(|other| line(&other, NAME_BYTES_MAX)),
            why: row.why.map(|why| line(&why, REASON_BYTES_MAX)).filter(|why| !why.is_empty()),
            reverted_at: row.reverted_at,
            reverted_by: row.reverted_by.map(|who| line(&who, NAME_BYTES_MAX)),
        }
    }
}

/// The command that reverts a decision.
fn undo_command(row: &DecisionRow) -> Option<String> {
    let about = shell_words::quote(&row.about);
    Some(match (row.kind.as_str(), row.action.as_str()) {
        ("pattern", "muted") => format!("verify-run pattern mute {about} --undo"),
        ("pattern", "deprecated") => format!("verify-run pattern deprecate {about} --undo"),
        ("pattern", "split") => format!("verify-run pattern split {about} --undo"),
        ("pattern", "merged") => format!("verify-run pattern split {about}"),
        ("promotion", "approved") => format!("verify-run promote rollback {about} --reason WHY"),
        ("page", "approved") => format!("verify-run library deprecate {about} --by NAME --reason WHY"),
        ("page", "deprecated") => format!("verify-run library restore {about} --by NAME --reason WHY"),
        ("entry", "pinned") => format!("verify-run knowledge pin {about} --off"),
        ("gate", "waived") => format!("verify-run gate waive {about} --withdraw --by NAME --reason WHY"),
        _ => return None,
    })
}
