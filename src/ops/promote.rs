//! `promote list` and `show`: what has earned a line in CLAUDE.md or AGENTS.md, and what became of such lines.
//!
//! What is proposed follows from what was recorded and written down: nobody has to ask for it, and nothing is written
//! before a person approved it by name ([`review`]).

mod entries;
pub mod review;
mod target;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use anyhow::bail;
use serde::Serialize;

use super::identity::by;
use super::pattern::{self, Desk};
use super::{knowledge, stats, warn};
use crate::advice::outcome::{Seen, trial};
use crate::advice::promotion::{
    Figures, Label, Since, Way, effectiveness, gate, label, outcomes, retirement, short_of,
};
use crate::advice::proposal::{Example, Facts, Proposal};
use crate::advice::{block, diff};
use crate::base::clock::Timestamp;
use crate::base::ids;
use crate::base::markdown::untagged;
use crate::base::text::{ellipsis, one_line};
use crate::capture::Identity;
use crate::config::{Environment, Places, Settings};
use crate::pattern::Page;
use crate::pattern::confidence::{self, Sighting, Told};
use crate::store::{
    Body, By, Event, PatternRow, Promotion, PromotionChangeRow, PromotionRow, PromotionStep, StoreError, note,
};

pub use target::Wanted;

/// Patterns that are looked at for candidates, those of the most failures.
const LOOKED_AT_MAX: usize = 500;
/// A title in a list, bytes.
const TITLE_BYTES_MAX: usize = 140;

/// Where a promotion stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits for a person.
    #[default]
    Pending,
    /// A person wanted it.
    Approved,
    /// A person didn't.
    Rejected,
    /// A person took it out again.
    RolledBack,
}

impl State {
    /// The word in events, tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Approved => "approved",
            State::Rejected => "rejected",
            State::RolledBack => "rolled_back",
        }
    }

    fn of(word: &str) -> Self {
        match word {
            "approved" => State::Approved,
            "rejected" => State::Rejected,
            "rolled_back" => State::RolledBack,
            _ => State::Pending,
        }
    }
}

/// What is promoted.
#[derive(Debug, Clone)]
enum About {
    /// A pattern, by its key.
    Pattern(String),
    /// An entry, by its id.
    Entry(String),
}

impl Default for About {
    fn default() -> Self {
        About::Pattern(String::new())
    }
}

/// A promotion: proposed now, or decided before.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Item {
    /// `r-…`; any unique start of it, or the id of what it is about, works as an argument.
    pub id: String,
    /// `p-…`, of one of a pattern.
    pub pattern: Option<String>,
    /// `k-…`, of one of an entry that somebody wrote.
    pub entry: Option<String>,
    /// What it is about, one line of plain text.
    pub title: String,
    /// Where it stands.
    pub state: State,
    /// By what it passes the gate now; `null` when it doesn't.
    pub way: Option<Way>,
    /// How well it is proven, and why.
    pub label: Label,
    /// What was measured.
    pub figures: Figures,
    /// What a reviewer reads; Markdown.
    pub proposal: Proposal,
    /// The file that has the line, or would get it; relative to the root.
    pub target: PathBuf,
    /// Why one that isn't approved does not pass the gate any more.
    pub lapsed: Option<String>,
    /// Why an approved one should go again.
    pub retirement: Option<String>,
    /// The line is not where it was written: somebody took it out by hand.
    pub missing: bool,
    /// When it was proposed first; `null` until that is recorded.
    pub proposed_at: Option<Timestamp>,
    /// When it was decided …
    pub decided_at: Option<Timestamp>,
    /// … by whom …
    pub by: Option<String>,
    /// … and why.
    pub reason: Option<String>,
    #[serde(skip)]
    about: About,
    #[serde(skip)]
    files: Vec<(String, u64)>,
    #[serde(skip)]
    glob: Option<String>,
    #[serde(skip)]
    row: Option<PromotionRow>,
}

impl Item {
    /// Of what was decided on so far, or of nothing yet; what it is about is filled in by the caller.
    fn decided(row: Option<PromotionRow>) -> Self {
        let state = row.as_ref().map_or(State::Pending, |row| State::of(&row.state));
        Item {
            state,
            proposed_at: row.as_ref().map(|row| row.proposed_at),
            decided_at: row.as_ref().and_then(|row| row.decided_at),
            by: row.as_ref().and_then(|row| row.person.clone()),
            reason: row.as_ref().filter(|_| state != State::Pending).map(|row| row.reason.clone()),
            row,
            ..Item::default()
        }
    }

    /// A person is to decide on it.
    fn waits(&self) -> bool {
        self.state == State::Pending && self.way.is_some() || self.retirement.is_some()
    }

    /// With the file that has the line, or would get it.
    fn placed(mut self, places: &Places, desk: &Desk) -> Self {
        let written = self.row.as_ref().filter(|_| self.state == State::Approved).and_then(|row| row.target.clone());
        match written {
            Some(path) => {
                self.target = PathBuf::from(path);
                self.missing = !review::is_in_file(places, &self);
            }
            // What is wrong with it is said where it is to be written.
            None => self.target = target::of(places, &desk.settings, &Wanted::default(), &self).unwrap_or_default(),
        }
        self
    }

    /// What is said of it.
    fn event(&self, step: PromotionStep, by: By) -> Promotion {
        let (pattern, entry) = match &self.about {
            About::Pattern(key) => (Some(key.clone()), None),
            About::Entry(id) => (None, Some(id.clone())),
        };
        Promotion { promotion: self.id.clone(), pattern, entry, step, by }
    }
}

/// What `promote list --json` prints.
#[derive(Debug, Serialize)]
pub struct List {
    /// Version of this shape.
    pub schema: u32,
    /// Strong ones first, then those of the most failures.
    pub promotions: Vec<Item>,
    /// For standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// What `promote show --json` prints.
#[derive(Debug, Serialize)]
pub struct Shown {
    /// Version of this shape.
    pub schema: u32,
    /// The promotion.
    #[serde(flatten)]
    pub item: Item,
    /// What approving it would do to the target, of an approved one what rolling it back would: a unified diff.
    pub diff: String,
    /// Why there is no diff: the target can't be written as it is.
    pub refused: Option<String>,
    /// What was said of it, the first first.
    pub history: Vec<PromotionChangeRow>,
    /// All of it as a page.
    pub markdown: String,
    /// For standard error.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// What waits for a person: proposals, and approved ones that should go again; with `all` the decided ones, and proposals
/// that do not pass the gate any more, too.
///
/// # Errors
/// When the store can't be read.
pub fn list(places: &Places, environment: &Environment, identity: &Identity, all: bool) -> anyhow::Result<List> {
    let (desk, mut notes) = pattern::desk(places, environment)?;
    let Some(desk) = desk else { return Ok(List { schema: 1, promotions: Vec::new(), notes }) };
    let mut found = items(places, &desk)?;
    remember(places, &desk.settings, identity, &found, &mut notes);
    found.retain(|item| all || item.waits());
    Ok(List { schema: 1, promotions: found, notes })
}

/// Everything about one promotion, with the exact change.
///
/// # Errors
/// When there is none or more than one, or the store can't be read.
pub fn show(
    places: &Places,
    environment: &Environment,
    identity: &Identity,
    id: &str,
    wanted: &Wanted,
) -> anyhow::Result<Shown> {
    let (desk, mut notes) = pattern::desk(places, environment)?;
    let Some(desk) = desk else { return Err(StoreError::NoSuchId { id: id.to_owned() }.into()) };
    let found = items(places, &desk)?;
    remember(places, &desk.settings, identity, &found, &mut notes);
    let mut item = find(&found, id)?.clone();
    if item.state != State::Approved {
        item.target = target::of(places, &desk.settings, wanted, &item)?;
    }
    let path = item.target.to_string_lossy().into_owned();
    let (diff, refused) = match review::change(places, &desk.settings, &item, block::Edits::Refuse) {
        Ok(change) => (diff::unified(&path, change.before.as_deref(), change.after.as_deref()), None),
        Err(error) => (String::new(), Some(format!("{error:#}"))),
    };
    let history = desk.index.promotion_changes(&item.id)?;
    let change = (!diff.is_empty()).then_some((path.as_str(), diff.as_str()));
    let markdown = item.proposal.markdown(&item.id, item.state.as_str(), &item.label, change);
    Ok(Shown { schema: 1, item, diff, refused, history, markdown, notes })
}

/// The one that `id` names: a unique start of its own id, or the id of what it is about.
fn find<'a>(items: &'a [Item], id: &str) -> anyhow::Result<&'a Item> {
    let fits = |item: &&Item| {
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
            bail!(
                "nothing that is or was proposed has the id {id}; look at what is with: verify-run promote list --all"
            )
        }
    }
}

/// All promotions, decided or proposed by what is known now.
fn items(places: &Places, desk: &Desk) -> Result<Vec<Item>, StoreError> {
    let silence = desk.settings.fix.silence();
    let mut families: HashMap<String, Vec<Seen>> = HashMap::new();
    for row in desk.index.deliveries()? {
        let seen = stats::seen(&row, desk.now, silence);
        families.entry(row.family).or_default().push(seen);
    }
    let mut found = Vec::new();
    let (mut looked_at, mut entries_looked_at) = (HashSet::new(), HashSet::new());
    // Of several that were merged since, those that are in a file speak for all.
    let mut rows = desk.index.promotions()?;
    rows.sort_by_key(|row| row.state != "approved");
    for row in rows {
        let is_approved = row.state == "approved";
        match (row.pattern.clone(), row.entry.clone()) {
            (Some(key), _) => match desk.index.pattern_of_key(&key)? {
                Some(pattern) => {
                    if looked_at.insert(pattern.number) || is_approved {
                        found.extend(item(places, desk, &families, pattern, Some(row))?);
                    }
                }
                None => {
                    let what = "its failures are not recorded any more";
                    found.extend(is_approved.then(|| forgotten(places, desk, About::Pattern(key), what, row)));
                }
            },
            (None, Some(id)) => match desk.index.leading_entry(&id)? {
                Some(entry) => {
                    if entries_looked_at.insert(entry.id.clone()) || is_approved {
                        found.extend(entries::item(places, desk, &families, entry, Some(row))?);
                    }
                }
                None => {
                    let what = "its entry is not there any more";
                    found.extend(is_approved.then(|| forgotten(places, desk, About::Entry(id), what, row)));
                }
            },
            (None, None) => {}
        }
    }
    for id in desk.index.promotable_entries(LOOKED_AT_MAX)? {
        let Some(entry) = desk.index.leading_entry(&id)? else { continue };
        if entries_looked_at.insert(id) {
            found.extend(entries::item(places, desk, &families, entry, None)?);
        }
    }
    for key in desk.index.promotable(LOOKED_AT_MAX)? {
        let Some(pattern) = desk.index.pattern_of_key(&key)? else { continue };
        if looked_at.insert(pattern.number) {
            found.extend(item(places, desk, &families, pattern, None)?);
        }
    }
    found.sort_by(|a, b| {
        let strong = |item: &Item| std::cmp::Reverse(item.label.strength as u8);
        (strong(b), a.figures.failures, &b.id).cmp(&(strong(a), b.figures.failures, &a.id)).reverse()
    });
    Ok(found)
}

/// A pattern as a promotion; `None` when it was never proposed and does not pass the gate, or nobody wants advice about it.
fn item(
    places: &Places,
    desk: &Desk,
    families: &HashMap<String, Vec<Seen>>,
    pattern: PatternRow,
    row: Option<PromotionRow>,
) -> Result<Option<Item>, StoreError> {
    let state = row.as_ref().map_or(State::Pending, |row| State::of(&row.state));
    let settings = &desk.settings.promotion;
    let sightings = sightings(desk, &pattern)?;
    let figures = figures(desk, families, &pattern, &sightings)?;
    let unwanted = match (pattern.muted, pattern.deprecated) {
        (true, _) => Some("its pattern is muted"),
        (_, true) => Some("its pattern is deprecated"),
        _ => None,
    };
    let way = gate(&figures, settings).filter(|_| unwanted.is_none());
    if way.is_none() && row.is_none() {
        return Ok(None);
    }
    let lapsed = (way.is_none() && state != State::Approved)
        .then(|| unwanted.map_or_else(|| short_of(&figures, settings), str::to_owned));
    let label = label(&figures, settings);
    let approved = row.as_ref().filter(|_| state == State::Approved).and_then(|row| row.decided_at);
    let retirement = approved.and_then(|approved| {
        let tasks = sightings.iter().filter(|seen| seen.at > approved).count() as u64;
        retirement(&Since { approved, tasks, last_seen: pattern.last_seen }, settings, desk.now)
    });
    let key = row.as_ref().and_then(|row| row.pattern.clone()).unwrap_or_else(|| pattern.key.clone());
    let id = row.as_ref().map_or_else(|| ids::promotion(&key), |row| row.id.clone());
    let (number, pattern_id) = (pattern.number, pattern.id.clone());
    let what = warn::name(&desk.index.brief(number)?);
    let worked = warn::worked(&desk.index, number, &desk.settings, desk.now)?;
    let (cause, rule) = knowledge::said(&desk.index, &desk.segments, number)?;
    let (title, advised) = desk.told_by_detectors(number)?;
    let (cause, rule) = (cause.or(title), rule.or(advised));
    let page = desk.page(pattern)?;
    let name = cause.is_some().then(|| page.summary.name.clone());
    let finding = page.findings.iter().find(|finding| finding.is_about_changes).map(|found| found.summary.clone());
    let share = desk.tasks().map(|all| (figures.tasks, all));
    let facts = Facts { what, name, finding, share, worked, cause, rule, ..facts(&page) };
    let title = facts.name.as_ref().unwrap_or(&facts.what);
    let item = Item {
        id,
        pattern: Some(pattern_id),
        title: ellipsis(untagged(&one_line(title)).trim(), TITLE_BYTES_MAX),
        way,
        proposal: Proposal::of(&facts, &figures, way, &label),
        label,
        figures,
        lapsed,
        retirement,
        about: About::Pattern(key),
        files: desk.index.pattern_files(number, 100)?,
        glob: facts.glob,
        ..Item::decided(row)
    };
    Ok(Some(item.placed(places, desk)))
}

/// A promotion whose source is gone, as `what` says: its line can still be taken out.
fn forgotten(places: &Places, desk: &Desk, about: About, what: &str, row: PromotionRow) -> Item {
    let figures = Figures::default();
    let label = label(&figures, &desk.settings.promotion);
    let title = format!("({what})");
    let facts = Facts { what: title.clone(), ..Facts::default() };
    let mut item = Item {
        id: row.id.clone(),
        title,
        proposal: Proposal::of(&facts, &figures, None, &label),
        label,
        figures,
        target: row.target.as_ref().map(PathBuf::from).unwrap_or_default(),
        retirement: Some(what.to_owned()),
        about,
        ..Item::decided(Some(row))
    };
    item.missing = !review::is_in_file(places, &item);
    item
}

fn sightings(desk: &Desk, pattern: &PatternRow) -> Result<Vec<Sighting>, StoreError> {
    let rows = desk.index.sightings(pattern.number)?.into_iter();
    Ok(rows.map(|row| Sighting { run: row.run, at: row.at, task: row.task }).collect())
}

fn figures(
    desk: &Desk,
    families: &HashMap<String, Vec<Seen>>,
    pattern: &PatternRow,
    sightings: &[Sighting],
) -> Result<Figures, StoreError> {
    let silence = desk.settings.fix.silence();
    let deliveries = desk.index.deliveries_about(pattern.number)?;
    let own: Vec<Seen> = deliveries.iter().map(|row| stats::seen(row, desk.now, silence)).collect();
    let told: Vec<Told> = deliveries.into_iter().filter_map(Told::of).collect();
    let believed = confidence::of_pattern(sightings, &told, &desk.settings.confidence);
    let helps = knowledge::of_pattern(&desk.index, &desk.segments, pattern, &desk.settings, desk.now)?;
    let (prevented, failed_anyway) = outcomes(&told);
    Ok(Figures {
        confidence: believed.value,
        lower_bound: believed.evidence.lower_bound,
        tasks: pattern.tasks,
        failures: pattern.failures,
        prevented,
        failed_anyway,
        effectiveness: effectiveness(prevented, failed_anyway),
        knowledge: helps.gotcha.map(|gotcha| gotcha.confidence.value),
        own: trial(&own),
        family: trial(families.get(&pattern.family).into_iter().flatten()),
    })
}

/// What a pattern's page says of it.
fn facts(page: &Page) -> Facts {
    let summary = &page.summary;
    let newest = page.occurrences.first();
    Facts {
        tool: summary.tool.clone(),
        category: summary.category.clone(),
        glob: summary.files_pattern.clone(),
        files: page.files.iter().map(|file| file.path.clone()).collect(),
        example: newest.map(|seen| Example {
            message: seen.message.clone(),
            file: seen.file.clone(),
            line: seen.line,
            task: seen.task.clone(),
            failure: seen.failure.clone(),
        }),
        first_seen: Some(summary.first_seen),
        last_seen: Some(summary.last_seen),
        ..Facts::default()
    }
}

/// Puts down for the recorder what is proposed for the first time: a new candidate, a retirement.
fn remember(places: &Places, settings: &Settings, identity: &Identity, items: &[Item], notes: &mut Vec<String>) {
    if !settings.advice.learning {
        return;
    }
    for item in items {
        let step = match (&item.row, &item.retirement) {
            (None, _) => {
                let strong = item.label.strength == crate::advice::promotion::Strength::Strong;
                PromotionStep::Proposed { strong, why: item.label.reason.clone() }
            }
            (Some(row), Some(why)) if !row.retirement_proposed => {
                PromotionStep::RetirementProposed { why: why.clone() }
            }
            _ => continue,
        };
        let said = item.event(step, by(identity, None));
        // The writer is the store's that takes it.
        let event = Event::new(Timestamp::now(), "", Body::Promotion(Box::new(said)));
        if let Err(error) = note::put(places, &event) {
            notes.push(format!("cannot remember that {} was proposed: {error}", item.id));
            return;
        }
    }
}
