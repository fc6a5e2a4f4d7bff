//! What waits for a person, the oldest first.

use serde::Serialize;

use super::Board;
use crate::base::clock::Timestamp;
use crate::base::lossless::Lossless;
use crate::base::text::{ellipsis, one_line};
use crate::checkup::{CheckDepth, CheckStatus};
use crate::event::{JobState, PromotionState};
use crate::gate::cycle::{CyclePhase, CycleRules, CycleState, WorkTreeGate};
use crate::ops::definitions::check_definitions;
use crate::ops::doctor::diagnose_installation;
use crate::ops::library::list_jobs;
use crate::ops::promote::read_promotions;
use crate::store::StoreError;

/// Rows of the list.
const ITEMS_MAX: usize = 200;
/// Waivers that end so soon are shown, days.
const WAIVER_DAYS: i64 = 7;
const DAY_US: i64 = 86_400_000_000;
/// States of jobs that only a person can go on with.
const WAITING_JOBS: [JobState; 3] =
    [JobState::NeedsManualScenario, JobState::StalledSnapshot, JobState::SnapshotFailed];
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
    /// A page of the pattern library that no person has decided about.
    Candidate,
    /// A job that only a person can go on with.
    Job,
    /// Work that the gate rejected too often.
    Escalation,
    /// Work that the gate's circuit breaker stopped.
    Breaker,
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
        items.extend(self.library_items()?);
        items.extend(self.gate_items()?);
        items.extend(self.faults());
        items.sort_by_key(|item| (item.at.is_none(), item.at));
        let total = items.len() as u64;
        items.truncate(ITEMS_MAX);
        Ok(InboxPage { items, total })
    }

    fn waiting_promotions(&self) -> anyhow::Result<Vec<InboxItem>> {
        let waiting = read_promotions(self.request, false)?.data.promotions.into_iter();
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

    /// Pages without a decision, and jobs that wait for a person.
    fn library_items(&self) -> anyhow::Result<Vec<InboxItem>> {
        let candidates = self.waiting_pages()?.pages.into_iter().map(|page| InboxItem {
            kind: InboxKind::Candidate,
            what: line(&format!("{} ({})", page.title, page.evidence.as_str())),
            at: page.at,
            command: format!("verify-run library show {}", page.id),
            id: Some(page.id),
        });
        let jobs = list_jobs(self.request, &WAITING_JOBS, ITEMS_MAX)?.data.jobs.into_iter().map(|job| {
            let state = job.state.as_str().replace('_', " ");
            let about = job.why.as_ref().or(job.summary.as_ref()).unwrap_or(&job.task);
            InboxItem {
                kind: InboxKind::Job,
                what: line(&format!("{state}: {about}")),
                at: Some(job.at),
                command: match job.state {
                    JobState::NeedsManualScenario => format!("verify-run library scenario {}", job.id),
                    _ => format!("verify-run library job {}", job.id),
                },
                id: Some(job.id),
            }
        });
        Ok(candidates.chain(jobs).collect())
    }

    /// Work that was escalated or stopped, and waivers that end soon, in all work trees.
    fn gate_items(&self) -> Result<Vec<InboxItem>, StoreError> {
        let rules = CycleRules::from_settings(&self.settings().gate);
        let now = self.now();
        let mut items = Vec::new();
        for tree in self.index().gate_work_trees()? {
            let gate = WorkTreeGate::from_steps(&self.index().gate_steps(&tree)?, rules);
            let here = place_of(&tree, &Lossless::from(&self.request.places.root));
            items.extend(gate.cycle().and_then(|cycle| stopped_work(cycle, &here)));
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
        let report = diagnose_installation(self.request, CheckDepth::Brief).data;
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

/// Work that a person has to decide about.
fn stopped_work(cycle: &CycleState, here: &str) -> Option<InboxItem> {
    let (kind, what, command) = match cycle.phase {
        CyclePhase::Escalated => {
            let what = format!("the gate rejected {} too often{here}", cycle.feature);
            (InboxKind::Escalation, what, "verify-run gate resolve --by NAME --decision retry --reason WHY")
        }
        CyclePhase::Halted => {
            let what = format!("the gate's circuit breaker is open for {}{here}", cycle.feature);
            (InboxKind::Breaker, what, "verify-run gate reset --by NAME --reason WHY")
        }
        _ => return None,
    };
    let at = cycle.last.as_ref().map(|last| last.at);
    Some(InboxItem { kind, id: Some(cycle.id.clone()), what: line(&what), at, command: command.to_owned() })
}

fn line(text: &str) -> String {
    ellipsis(one_line(text).trim(), LINE_BYTES_MAX)
}

/// Where something is, unless it is here.
fn place_of(tree: &Lossless, here: &Lossless) -> String {
    if tree == here { String::new() } else { format!(" in {}", tree.display()) }
}
