//! What has earned a line in CLAUDE.md or AGENTS.md, and what was decided about such lines.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use serde::Serialize;

use super::entry_promotions::entry_promotion;
use super::pattern_reader::PatternReader;
use super::pattern_remedies::{cause_and_rule, pattern_remedies, proven_remedy};
use crate::advice::outcome::{ObservedDelivery, holdout_trial};
use crate::advice::promotion::{
    ApprovalFollowUp, PromotionFigures, ProofLabel, Qualification, compute_effectiveness, count_outcomes,
    disqualification_reason, find_qualification, proof_label, retirement_reason,
};
use crate::advice::proposal::{FailureExample, PromotionFacts, PromotionProposal};
use crate::base::clock::Timestamp;
use crate::base::ids;
use crate::base::markdown::untagged;
use crate::base::text::{ellipsis, one_line};
use crate::event::{EventAuthor, Promotion, PromotionState, PromotionStep};
use crate::pattern::PatternPage;
use crate::pattern::confidence::{self, JudgedDelivery, PatternOccurrence};
use crate::pattern::wording::brief_pattern_name;
use crate::store::{PatternRow, PromotionRow, StoreError};

/// Patterns that are looked at for candidates, those of the most failures.
const LOOKED_AT_MAX: usize = 500;
/// A title in a list, bytes.
pub(super) const TITLE_BYTES_MAX: usize = 140;

/// What is promoted.
#[derive(Debug, Clone)]
pub(crate) enum PromotionSource {
    /// A pattern, by its key.
    Pattern(String),
    /// An entry, by its id.
    Entry(String),
}

impl Default for PromotionSource {
    fn default() -> Self {
        PromotionSource::Pattern(String::new())
    }
}

/// A promotion: proposed now, or decided before.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PromotionItem {
    /// `r-…`; any unique start of it, or the id of what it is about, works as an argument.
    pub id: String,
    /// `p-…`, of one of a pattern.
    pub pattern: Option<String>,
    /// `k-…`, of a promotion of a written entry.
    pub entry: Option<String>,
    /// What it is about, one line of plain text.
    pub title: String,
    /// Its state.
    pub state: PromotionState,
    /// By what it passes the gate now; `null` when it doesn't.
    pub way: Option<Qualification>,
    /// How well it is proven, and why.
    pub label: ProofLabel,
    /// What was measured.
    pub figures: PromotionFigures,
    /// What a reviewer reads; Markdown.
    pub proposal: PromotionProposal,
    /// The file that has the line, or would get it; relative to the root.
    pub target: PathBuf,
    /// Why one that isn't approved does not pass the gate any more.
    pub lapsed: Option<String>,
    /// Why an approved one should go again.
    pub retirement: Option<String>,
    /// The line is not where it was written: a user removed it by hand.
    pub missing: bool,
    /// When it was proposed first; `null` until that is recorded.
    pub proposed_at: Option<Timestamp>,
    /// When it was decided …
    pub decided_at: Option<Timestamp>,
    /// … by whom …
    pub by: Option<String>,
    /// … and why.
    pub reason: Option<String>,
    /// What it is about.
    #[serde(skip)]
    pub about: PromotionSource,
    /// Files that it is about, each with how often it failed there.
    #[serde(skip)]
    pub files: Vec<(String, u64)>,
    /// A pattern that these files have in common.
    #[serde(skip)]
    pub glob: Option<String>,
    /// What was decided so far.
    #[serde(skip)]
    pub row: Option<PromotionRow>,
}

impl PromotionItem {
    /// Of what was decided on so far, or of nothing yet; what it is about is filled in by the caller.
    pub(crate) fn from_row(row: Option<PromotionRow>) -> Self {
        let state = row.as_ref().map_or(PromotionState::Pending, |row| row.state);
        PromotionItem {
            state,
            proposed_at: row.as_ref().map(|row| row.proposed_at),
            decided_at: row.as_ref().and_then(|row| row.decided_at),
            by: row.as_ref().and_then(|row| row.person.clone()),
            reason: row.as_ref().filter(|_| state != PromotionState::Pending).map(|row| row.reason.clone()),
            row,
            ..PromotionItem::default()
        }
    }

    /// A person is to decide on it.
    pub(crate) fn is_waiting(&self) -> bool {
        self.state == PromotionState::Pending && self.way.is_some() || self.retirement.is_some()
    }

    /// What is said of it.
    pub(crate) fn to_event(&self, step: PromotionStep, by: EventAuthor) -> Promotion {
        let (pattern, entry) = match &self.about {
            PromotionSource::Pattern(key) => (Some(key.clone()), None),
            PromotionSource::Entry(id) => (None, Some(id.clone())),
        };
        Promotion { promotion: self.id.clone(), pattern, entry, step, by }
    }
}

/// All promotions, decided or proposed by what is known now; which file has each line is not looked at.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn collect_promotions(desk: &PatternReader) -> Result<Vec<PromotionItem>, StoreError> {
    let silence = desk.settings.fix.silence();
    let mut families: HashMap<String, Vec<ObservedDelivery>> = HashMap::new();
    for row in desk.index.list_deliveries()? {
        let seen = ObservedDelivery::from_row(&row, desk.now, silence);
        families.entry(row.family).or_default().push(seen);
    }
    let mut found = Vec::new();
    let (mut looked_at, mut entries_looked_at) = (HashSet::new(), HashSet::new());
    // Of several that were merged since, those that are in a file speak for all.
    let mut rows = desk.index.list_promotions()?;
    rows.sort_by_key(|row| row.state != PromotionState::Approved);
    for row in rows {
        let is_approved = row.state == PromotionState::Approved;
        match (row.pattern.clone(), row.entry.clone()) {
            (Some(key), _) => match desk.index.pattern_of_key(&key)? {
                Some(pattern) => {
                    if looked_at.insert(pattern.number) || is_approved {
                        found.extend(pattern_promotion(desk, &families, pattern, Some(row))?);
                    }
                }
                None => {
                    let what = "its failures are no longer recorded";
                    found.extend(
                        is_approved.then(|| orphaned_promotion(desk, PromotionSource::Pattern(key), what, row)),
                    );
                }
            },
            (None, Some(id)) => match desk.index.leading_entry(&id)? {
                Some(entry) => {
                    if entries_looked_at.insert(entry.id.clone()) || is_approved {
                        found.extend(entry_promotion(desk, &families, entry, Some(row))?);
                    }
                }
                None => {
                    let what = "its entry no longer exists";
                    found.extend(is_approved.then(|| orphaned_promotion(desk, PromotionSource::Entry(id), what, row)));
                }
            },
            (None, None) => {}
        }
    }
    for id in desk.index.promotable_entries(LOOKED_AT_MAX)? {
        let Some(entry) = desk.index.leading_entry(&id)? else { continue };
        if entries_looked_at.insert(id) {
            found.extend(entry_promotion(desk, &families, entry, None)?);
        }
    }
    for key in desk.index.promotable_patterns(LOOKED_AT_MAX)? {
        let Some(pattern) = desk.index.pattern_of_key(&key)? else { continue };
        if looked_at.insert(pattern.number) {
            found.extend(pattern_promotion(desk, &families, pattern, None)?);
        }
    }
    found.sort_by(|a, b| {
        let strong = |item: &PromotionItem| std::cmp::Reverse(item.label.strength as u8);
        (strong(b), a.figures.failures, &b.id).cmp(&(strong(a), b.figures.failures, &a.id)).reverse()
    });
    Ok(found)
}

/// A pattern as a promotion; `None` when it was never proposed and does not pass the gate, or is muted.
fn pattern_promotion(
    desk: &PatternReader,
    families: &HashMap<String, Vec<ObservedDelivery>>,
    pattern: PatternRow,
    row: Option<PromotionRow>,
) -> Result<Option<PromotionItem>, StoreError> {
    let state = row.as_ref().map_or(PromotionState::Pending, |row| row.state);
    let settings = &desk.settings.promotion;
    let sightings = pattern_occurrences(desk, &pattern)?;
    let figures = pattern_figures(desk, families, &pattern, &sightings)?;
    let unwanted = match (pattern.muted, pattern.deprecated) {
        (true, _) => Some("its pattern is muted"),
        (_, true) => Some("its pattern is deprecated"),
        _ => None,
    };
    let way = find_qualification(&figures, settings).filter(|_| unwanted.is_none());
    if way.is_none() && row.is_none() {
        return Ok(None);
    }
    let lapsed = (way.is_none() && state != PromotionState::Approved)
        .then(|| unwanted.map_or_else(|| disqualification_reason(&figures, settings), str::to_owned));
    let label = proof_label(&figures, settings);
    let approved = row.as_ref().filter(|_| state == PromotionState::Approved).and_then(|row| row.decided_at);
    let retirement = approved.and_then(|approved| {
        let tasks = sightings.iter().filter(|seen| seen.at > approved).count() as u64;
        retirement_reason(&ApprovalFollowUp { approved, tasks, last_seen: pattern.last_seen }, settings, desk.now)
    });
    let key = row.as_ref().and_then(|row| row.pattern.clone()).unwrap_or_else(|| pattern.key.clone());
    let id = row.as_ref().map_or_else(|| ids::promotion(&key), |row| row.id.clone());
    let (number, pattern_id) = (pattern.number, pattern.id.clone());
    let what = brief_pattern_name(&desk.index.brief_of_pattern(number)?);
    let worked = proven_remedy(&desk.index, number, &desk.settings, desk.now)?;
    let (cause, rule) = cause_and_rule(&desk.index, &desk.segments, number)?;
    let (title, advised) = desk.told_by_detectors(number)?;
    let (cause, rule) = (cause.or(title), rule.or(advised));
    let (page, _) = desk.pattern_page(pattern)?;
    let name = cause.is_some().then(|| page.summary.name.clone());
    let finding = page.findings.iter().find(|finding| finding.is_about_changes).map(|found| found.summary.clone());
    let share = desk.count_tasks()?.map(|all| (figures.tasks, all));
    let facts = PromotionFacts { what, name, finding, share, worked, cause, rule, ..pattern_facts(&page) };
    let title = facts.name.as_ref().unwrap_or(&facts.what);
    let item = PromotionItem {
        id,
        pattern: Some(pattern_id),
        title: ellipsis(untagged(&one_line(title)).trim(), TITLE_BYTES_MAX),
        way,
        proposal: PromotionProposal::from_facts(&facts, &figures, way, &label),
        label,
        figures,
        lapsed,
        retirement,
        about: PromotionSource::Pattern(key),
        files: desk.index.pattern_files(number, 100)?,
        glob: facts.glob,
        ..PromotionItem::from_row(row)
    };
    Ok(Some(item))
}

/// A promotion whose source is gone, as `what` says: its line can still be taken out.
fn orphaned_promotion(desk: &PatternReader, about: PromotionSource, what: &str, row: PromotionRow) -> PromotionItem {
    let figures = PromotionFigures::default();
    let label = proof_label(&figures, &desk.settings.promotion);
    let title = format!("({what})");
    let facts = PromotionFacts { what: title.clone(), ..PromotionFacts::default() };
    PromotionItem {
        id: row.id.clone(),
        title,
        proposal: PromotionProposal::from_facts(&facts, &figures, None, &label),
        label,
        figures,
        retirement: Some(what.to_owned()),
        about,
        ..PromotionItem::from_row(Some(row))
    }
}

fn pattern_occurrences(desk: &PatternReader, pattern: &PatternRow) -> Result<Vec<PatternOccurrence>, StoreError> {
    let rows = desk.index.first_occurrences(pattern.number)?.into_iter();
    Ok(rows.map(|row| PatternOccurrence { run: row.run, at: row.at, task: row.task }).collect())
}

fn pattern_figures(
    desk: &PatternReader,
    families: &HashMap<String, Vec<ObservedDelivery>>,
    pattern: &PatternRow,
    sightings: &[PatternOccurrence],
) -> Result<PromotionFigures, StoreError> {
    let silence = desk.settings.fix.silence();
    let deliveries = desk.index.deliveries_of_pattern(pattern.number)?;
    let own: Vec<ObservedDelivery> =
        deliveries.iter().map(|row| ObservedDelivery::from_row(row, desk.now, silence)).collect();
    let told: Vec<JudgedDelivery> = deliveries.into_iter().filter_map(JudgedDelivery::from_outcome_row).collect();
    let believed = confidence::pattern_confidence(sightings, &told, &desk.settings.confidence);
    let helps = pattern_remedies(&desk.index, &desk.segments, pattern, &desk.settings, desk.now)?;
    let (prevented, failed_anyway) = count_outcomes(&told);
    Ok(PromotionFigures {
        confidence: believed.value,
        lower_bound: believed.evidence.lower_bound,
        tasks: pattern.tasks,
        failures: pattern.failures,
        prevented,
        failed_anyway,
        effectiveness: compute_effectiveness(prevented, failed_anyway),
        knowledge: helps.gotcha.map(|gotcha| gotcha.confidence.value),
        own: holdout_trial(&own),
        family: holdout_trial(families.get(&pattern.family).into_iter().flatten()),
    })
}

/// What a pattern's page says of it.
fn pattern_facts(page: &PatternPage) -> PromotionFacts {
    let summary = &page.summary;
    let newest = page.occurrences.first();
    PromotionFacts {
        tool: summary.tool.clone(),
        category: summary.category.clone(),
        glob: summary.files_pattern.clone(),
        files: page.files.iter().map(|file| file.path.clone()).collect(),
        example: newest.map(|seen| FailureExample {
            message: seen.message.clone(),
            file: seen.file.clone(),
            line: seen.line,
            task: seen.task.clone(),
            failure: seen.failure.clone(),
        }),
        first_seen: Some(summary.first_seen),
        last_seen: Some(summary.last_seen),
        ..PromotionFacts::default()
    }
}
