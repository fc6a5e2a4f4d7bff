//! The pages that agents get to read where they may matter: at most two at a time, each once a session, and held out from
//! some tasks, so that it can be known what they do.

use serde::Serialize;

use super::folder::FoundPage;
use super::page_list::recorded_evidence;
use super::standing::LibraryView;
use crate::base::glob;
use crate::base::ids::{self, RunId};
use crate::base::text::{ellipsis, one_line};
use crate::event::{
    Delivery, DeliveryArm, Event, EventAuthor, EventBody, EvidenceLabel, LibraryFolderName, derived_id,
};
use crate::learn::library::PageFrontMatter;
use crate::ops::request::Request;
use crate::pattern::statistics::to_permille;
use crate::retrieval::question::{WarnQuestion, WarnRequest};
use crate::store::note::WaitingNotes;
use crate::store::{Index, StoreError};

/// Pages that are served at once.
const PAGES_MAX: usize = 2;
/// Pages that git is asked about at once: it takes longer than a hook has for a whole library.
const LOOKED_AT: usize = 8;
/// Words of a page that have to be in the question, where no file says that it matters.
const WORDS_MIN: usize = 2;
/// Lines of its change that are quoted, and bytes of them.
const CHANGE_LINES_MAX: usize = 6;
const CHANGE_BYTES_MAX: usize = 400;

/// A page that an agent gets to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ServedPage {
    /// `a-…`
    pub id: String,
    /// What it is about, one line.
    pub title: String,
    /// Its file, relative to the root.
    pub path: String,
    /// How sure it is, as was found here and not as its file says: `proven`, `replayed` or `recorded`.
    pub evidence: String,
    /// The changed lines that it shows, as in a diff; cut where there are many.
    pub change: Vec<String>,
}

/// Pages that are served, and what has to be remembered of it.
#[derive(Debug, Default)]
pub(crate) struct ServedPages {
    /// The best match first.
    pub pages: Vec<ServedPage>,
    /// Pages that were due and are not shown.
    pub held_out: usize,
    /// To be recorded once the answer was written.
    pub deliveries: Vec<Event>,
}

/// The files of the pages that may be served.
pub(crate) struct ActivePages(LibraryView);

impl ActivePages {
    /// Reads them, without the store.
    pub(crate) fn read(request: &Request) -> Self {
        ActivePages(LibraryView::read_files(request, &[LibraryFolderName::Active]))
    }
}

/// Those of the active pages that matter for a question. `waiting` was read before the index was opened.
///
/// # Errors
/// When the store can't be read.
pub(crate) fn find_served_pages(
    request: &Request,
    ActivePages(mut view): ActivePages,
    (index, waiting): (&Index, &WaitingNotes<'_>),
    question: &WarnQuestion,
    asked: &WarnRequest,
) -> Result<ServedPages, StoreError> {
    let mut served = ServedPages::default();
    if view.found.is_empty() {
        return Ok(served);
    }
    view.look_into_record(index)?;
    let matching = view.found.iter().filter_map(|page| {
        let front_matter = &page.front_matter;
        Some((std::cmp::Reverse(match_page(front_matter, question)?), front_matter.id.clone()))
    });
    let mut found: Vec<(std::cmp::Reverse<usize>, String)> = matching.collect();
    found.sort();
    found.dedup();
    let advice = &request.settings().advice;
    for some in found.chunks(LOOKED_AT) {
        if served.pages.len() == PAGES_MAX {
            break;
        }
        let mut due = Vec::new();
        for (_, id) in some {
            let event_id = derived_id("delivery", &[&question.session, id]);
            let is_told = waiting.contains(event_id) || index.has_event(RunId(event_id))?;
            if !(asked.news && is_told) {
                due.push((id, event_id, is_told));
            }
        }
        view.look_into_default_branch(request, |page| due.iter().any(|(id, ..)| **id == page.front_matter.id));
        for (id, event_id, is_told) in due {
            let mut pages = view.found.iter().filter(|page| page.front_matter.id == *id);
            let Some(page) = pages.find(|page| view.check_served(page).is_ok()) else { continue };
            if served.pages.len() == PAGES_MAX {
                break;
            }
            let drawn = DeliveryArm::draw_for_task(&question.task, id, advice.held_out(), &advice.salt);
            let arm = if asked.for_gate { DeliveryArm::Gate } else { drawn };
            if advice.learning && !is_told {
                let rank = u32::try_from(served.pages.len() + 1).unwrap_or(u32::MAX);
                let delivery = page_delivery(id, rank, arm, advice.held_out(), question, asked);
                let event = Event::new(request.now(), "", EventBody::Delivery(Box::new(delivery)));
                served.deliveries.push(Event { id: event_id, ..event });
            }
            match arm {
                DeliveryArm::Holdout => served.held_out += 1,
                DeliveryArm::Shown | DeliveryArm::Gate => {
                    let (evidence, _) = recorded_evidence(Some(index), view.recorded.pages.get(id))?;
                    served.pages.push(ServedPage::from_found(page, evidence));
                }
            }
        }
    }
    Ok(served)
}

/// How well a page fits a question; `None` if it has nothing to do with it.
fn match_page(page: &PageFrontMatter, question: &WarnQuestion) -> Option<usize> {
    let scope = &page.applies_to;
    let files = question.files.iter().filter(|file| scope.globs.iter().any(|glob| glob::matches(glob, file))).count();
    let words = question.words.iter().filter(|word| scope.words.contains(word)).count();
    let matters = files > 0 || words >= WORDS_MIN;
    matters.then_some(10 * files + words)
}

fn page_delivery(
    id: &str,
    rank: u32,
    arm: DeliveryArm,
    held_out: f64,
    question: &WarnQuestion,
    asked: &WarnRequest,
) -> Delivery {
    Delivery {
        warning: ids::warning(&question.session, id),
        task: question.task.clone(),
        session: question.session.clone(),
        pattern: None,
        entry: Some(id.to_owned()),
        family: id.to_owned(),
        rank,
        score_permille: 1_000,
        arm,
        holdout_permille: to_permille(held_out),
        surface: asked.surface.clone(),
        files: question.files.iter().take(20).cloned().collect(),
        command: question.class.clone(),
        text: None,
        runs: Vec::new(),
        by: EventAuthor::from_identity(&asked.identity, Some(&question.task)),
    }
}

impl ServedPage {
    fn from_found(page: &FoundPage, evidence: EvidenceLabel) -> Self {
        let front_matter = &page.front_matter;
        ServedPage {
            id: front_matter.id.clone(),
            title: one_line(&front_matter.title),
            path: page.path.to_string_lossy().into_owned(),
            evidence: evidence.as_str().to_owned(),
            change: changed_lines(&page.text),
        }
    }
}

/// The added and removed lines of the first diff in a page.
fn changed_lines(text: &str) -> Vec<String> {
    let block = text.split("```diff\n").nth(1).and_then(|rest| rest.split("\n```").next()).unwrap_or_default();
    let is_change = |line: &&str| {
        (line.starts_with('+') || line.starts_with('-')) && !line.starts_with("+++ ") && !line.starts_with("--- ")
    };
    let mut left = CHANGE_BYTES_MAX;
    let mut lines = Vec::new();
    for line in block.lines().filter(is_change).take(CHANGE_LINES_MAX) {
        let line = ellipsis(&one_line(line), left);
        left = left.saturating_sub(line.len());
        lines.push(line);
        if left == 0 {
            break;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::library::PageScope;

    #[test]
    fn a_page_matters_for_its_files_or_for_its_words() {
        let texts = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let applies_to =
            PageScope { globs: texts(&["src/api.ts"]), words: texts(&["await", "query"]), ..PageScope::default() };
        let page = PageFrontMatter { applies_to, ..PageFrontMatter::default() };
        let question = |files: &[&str], words: &[&str]| WarnQuestion {
            files: texts(files),
            words: texts(words),
            ..WarnQuestion::default()
        };
        assert_eq!(match_page(&page, &question(&["src/api.ts"], &["await"])), Some(11));
        assert_eq!(match_page(&page, &question(&["src/other.ts"], &["await", "query"])), Some(2));
        assert_eq!(match_page(&page, &question(&["src/other.ts"], &["await"])), None);
    }

    #[test]
    fn the_changed_lines_of_the_first_diff_are_quoted() {
        let page = "# A\n\n```diff\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n```\n";
        assert_eq!(changed_lines(page), ["-old", "+new"]);
        assert!(changed_lines("no diff").is_empty());
    }
}
