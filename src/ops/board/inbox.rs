//! What waits for a person, the oldest first.

use serde::Serialize;

use super::Board;
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::text::{ellipsis, one_line};
use crate::checkup::CheckStatus;
use crate::event::PromotionState;
use crate::gate::cycle::{CyclePhase, CycleRules, WorkTreeGate};
use crate::ops::definitions::check_definitions;
use crate::ops::doctor::diagnose_installation;
use crate::ops::promote::list_promotions;
use crate::store::StoreError;

/// Rows of the list.
const ITEMS_MAX: usize = 200;
/// Waivers that end so soon are shown, days.
const WAIVER_DAYS: i64 = 7;
const DAY_US: i64 = 86_400_000_000;
/// A line, bytes.
const LINE_BYTES_MAX: usize = 300;

/// What waits for a person.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct InboxPage {
    /// The oldest first; what has no time comes last. At most 200.
    pub items: Vec<InboxItem>,
    /// How many there are in all.
    pub total: u64,
}

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct InboxItem {
    /// What it is.
    pub kind: InboxKind,
    /// Its id, where it has one.
    pub id: Option<String>,
    /// What it is about, one line.
    pub what: String,
    /// Since when it waits; of a waiver when it ends.
    pub at: Option<Timestamp>,
    /// What to type next.
    pub command: String,
}

/// Kinds of things that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum InboxKind {
    /// A line that is proposed for CLAUDE.md or AGENTS.md.
    Promotion,
    /// A line that should go again.
    Retirement,
    /// Work that the gate rejected too often.
    Escalation,
    /// A waiver that ends within a week.
    Waiver,
    /// A tool definition that is wrong.
    Definition,
    /// Something that does not work here.
    Problem,
}

impl Board<'_> {
    /// What waits for a person.
    ///
    /// # Errors
    /// When the store can't be read.
    pub(crate) fn inbox(&self) -> anyhow::Result<InboxPage> {
        let mut items = self.waiting_promotions()?;
        items.extend(self.gate_items()?);
        items.extend(self.faults());
        items.sort_by_key(|item| (item.at.is_none(), item.at));
        let total = items.len() as u64;
        items.truncate(ITEMS_MAX);
        Ok(InboxPage { items, total })
    }

    fn waiting_promotions(&self) -> anyhow::Result<Vec<InboxItem>> {
        let waiting = list_promotions(self.request, false)?.data.promotions.into_iter();
        let items = waiting.map(|item| {
            let is_proposal = item.state == PromotionState::Pending;
            let retirement = item.retirement.as_deref().filter(|_| !is_proposal);
            InboxItem {
                kind: if is_proposal { InboxKind::Promotion } else { InboxKind::Retirement },
                what: line(&match retirement {
                    Some(why) => format!("{}: {why}", item.title),
                    None => item.title.clone(),
                }),
                at: if is_proposal { item.proposed_at } else { item.decided_at },
                command: format!("verify-run promote show {}", item.id),
                id: Some(item.id),
            }
        });
        Ok(items.collect())
    }

    /// Escalated work, and waivers that end soon, in all work trees.
    fn gate_items(&self) -> Result<Vec<InboxItem>, StoreError> {
        let rules = CycleRules::from_settings(&self.settings().gate);
        let now = self.now();
        let mut items = Vec::new();
        for tree in self.index().gate_work_trees()? {
            let gate = WorkTreeGate::from_steps(&self.index().gate_steps(&tree)?, rules);
            let here = place_of(&tree, &Lossless::from(&self.request.places.root));
            if let Some(cycle) = gate.cycle().filter(|cycle| cycle.phase == CyclePhase::Escalated) {
                items.push(InboxItem {
                    kind: InboxKind::Escalation,
                    id: Some(cycle.id.clone()),
                    what: line(&format!("the gate rejected {} too often{here}", cycle.feature)),
                    at: cycle.last.as_ref().map(|last| last.at),
                    command: "verify-run gate resolve --by NAME --decision retry --reason WHY".to_owned(),
                });
            }
            for (person, waiver) in &gate.waivers {
                let left = waiver.until.0 - now.0;
                if left > 0 && left <= WAIVER_DAYS * DAY_US {
                    items.push(InboxItem {
                        kind: InboxKind::Waiver,
                        id: Some(waiver.item.clone()),
                        what: line(&format!("the waiver of {} by {person} ends{here}", waiver.item)),
                        at: Some(waiver.until),
                        command: "verify-run gate waive --list".to_owned(),
                    });
                }
            }
        }
        Ok(items)
    }

    /// What does not work here, as `doctor` and `whitelist check` say it.
    fn faults(&self) -> Vec<InboxItem> {
        let report = diagnose_installation(self.request).data;
        let problems = report.findings.into_iter().filter(|finding| finding.status == CheckStatus::Problem);
        // `whitelist check` says more about them.
        let problems = problems.filter(|finding| finding.name != "definitions").map(|finding| InboxItem {
            kind: InboxKind::Problem,
            id: Some(finding.name.to_owned()),
            what: line(&finding.message),
            at: None,
            command: finding.hint.unwrap_or_else(|| "verify-run doctor".to_owned()),
        });
        let definitions = check_definitions(self.request).problems.into_iter().map(|problem| InboxItem {
            kind: InboxKind::Definition,
            id: None,
            what: line(&format!("{}: {}", problem.file.display(), problem.reason)),
            at: None,
            command: "verify-run whitelist check".to_owned(),
        });
        problems.chain(definitions).collect()
    }
}

fn line(text: &str) -> String {
    ellipsis(one_line(text).trim(), LINE_BYTES_MAX)
}

/// Where something is, unless it is here.
fn place_of(tree: &Lossless, here: &Lossless) -> String {
    if tree == here { String::new() } else { format!(" in {}", tree.display()) }
}
