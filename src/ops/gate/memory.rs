//! What the project's memory says about a change: four questions, each with a time limit. Trouble is a warning and never
//! decides anything.

use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::change::Change;
use crate::advice::Warning;
use crate::base::text;
use crate::event::{EntryTypeName, GateMemory};
use crate::ops::knowledge::query_entries;
use crate::ops::request::Request;
use crate::ops::warn::collect_warnings;
use crate::retrieval::entry_search::EntryQueryRequest;
use crate::retrieval::pattern_remedies::proven_remedy;
use crate::retrieval::question::WarnRequest;
use crate::store::EntryFilter;

/// Time of one question.
const QUESTION_TIME: Duration = Duration::from_millis(700);
/// Results of a question.
const RESULTS_MAX: usize = 5;
/// Changed files that a question names.
const FILES_MAX: usize = 50;
/// A recommendation, bytes.
const RECOMMENDATION_BYTES_MAX: usize = 240;

/// Asks the four questions.
pub(super) fn ask_memory(request: &Request, change: &Change, feature: &str, stacks: &[String]) -> GateMemory {
    let mut memory = GateMemory::default();
    let mut late = Vec::new();
    let files: Vec<String> = change.files.iter().map(|file| file.path.clone()).take(FILES_MAX).collect();
    let (title, paths) = (feature.to_owned(), files.iter().map(|file| request.places.root.join(file)).collect());
    match ask_within(request, move |request| due_warnings(request, title, paths)) {
        Ok(warnings) => {
            // Earlier failures and the history of files are two readings of one answer.
            memory.queries += 2;
            memory.failures = warnings.len() as u64;
            let has_history = |file: &&String| warnings.iter().any(|warning| warning.files.contains(file));
            memory.files = files.iter().filter(has_history).count() as u64;
            memory.recommendations = warnings.iter().map(recommendation).collect();
        }
        Err(why) => late.push(format!("earlier failures: {why}")),
    }
    let words = format!("{} patterns conventions", stacks.join(" "));
    match ask_within(request, move |request| count_entries(request, words, EntryTypeName::PATTERN)) {
        Ok(count) => {
            memory.queries += 1;
            memory.patterns = count;
        }
        Err(why) => late.push(format!("patterns: {why}")),
    }
    let words = format!("architecture decision {feature}");
    match ask_within(request, move |request| count_entries(request, words, EntryTypeName::DECISION)) {
        Ok(count) => {
            memory.queries += 1;
            memory.decisions = count;
        }
        Err(why) => late.push(format!("decisions: {why}")),
    }
    memory.warning = (!late.is_empty()).then(|| format!("memory was not asked whole: {}", late.join("; ")));
    memory
}

/// What was done about a pattern before, where that helped.
pub(super) fn known_fix(request: &Request, pattern: &str) -> Option<String> {
    let index = request.open_as_it_is(&mut Vec::new()).ok()??;
    let number = index.find_pattern(pattern).ok()?.number;
    let remedy = proven_remedy(&index, number, request.settings(), request.now()).ok()??;
    let sure = if remedy.confirmed { "confirmed" } else { "unconfirmed" };
    let what = text::ellipsis(&text::one_line(&remedy.what), RECOMMENDATION_BYTES_MAX);
    Some(format!("fixed before by {what} ({sure}, {} of {} times)", remedy.successes, remedy.tries))
}

/// Asks on a thread of its own, which nothing waits for when the time is up.
fn ask_within<T: Send + 'static>(
    request: &Request,
    ask: impl FnOnce(&Request) -> anyhow::Result<T> + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = mpsc::channel();
    let request = request.clone();
    thread::spawn(move || sender.send(ask(&request)));
    match receiver.recv_timeout(QUESTION_TIME) {
        Ok(answer) => answer.map_err(|error| text::one_line(&format!("{error:#}"))),
        Err(_) => Err(format!("no answer within {} ms", QUESTION_TIME.as_millis())),
    }
}

fn due_warnings(request: &Request, title: String, files: Vec<PathBuf>) -> anyhow::Result<Vec<Warning>> {
    let asked = WarnRequest {
        identity: request.identity.clone(),
        title: Some(title),
        files,
        limit: Some(RESULTS_MAX),
        surface: "gate".to_owned(),
        ..WarnRequest::default()
    };
    Ok(collect_warnings(request, &asked)?.data.warnings)
}

fn count_entries(request: &Request, words: String, kind: EntryTypeName) -> anyhow::Result<u64> {
    let filter = EntryFilter { kind: Some(kind), ..EntryFilter::default() };
    let asked =
        EntryQueryRequest { text: words, filter, limit: Some(RESULTS_MAX), page: 1, ..EntryQueryRequest::default() };
    Ok(query_entries(request, &asked)?.data.entries.len() as u64)
}

/// `Memory found a similar failure, p-7c2k: …: verify that this change keeps its fix.`
fn recommendation(warning: &Warning) -> String {
    let id = warning.pattern.as_deref().or(warning.entry.as_deref()).unwrap_or(&warning.id);
    let helped = match (&warning.worked, &warning.avoid) {
        (Some(worked), _) => format!("; what helped: {}", worked.what),
        (None, Some(avoid)) => format!("; {avoid}"),
        (None, None) => String::new(),
    };
    let said = format!("Memory found {} ({id}, {}){helped}", warning.what, warning.how_often);
    text::ellipsis(&text::one_line(&said), RECOMMENDATION_BYTES_MAX)
}
