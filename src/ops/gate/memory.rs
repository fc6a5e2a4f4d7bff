//! What memories say about a change: four questions to the project's own memory, each with a time limit, and the same to a
//! memory server where the user configured one. All of them are asked at once. Trouble is a warning and never decides
//! anything.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::change::Change;
use super::memory_server::{MemoryServer, ServerAnswers};
use super::own_program::{check_own_program, outside_path};
use crate::advice::Warning;
use crate::base::text;
use crate::event::{EntryTypeName, GateMemory, GateMemoryFindings, GateMemoryQuestion};
use crate::fix::patch::Patch;
use crate::gate::memory::MemorySubject;
use crate::host::process::OrphanReaper;
use crate::learn::library::ReintroducedChange;
use crate::ops::knowledge::query_entries;
use crate::ops::library::find_deprecated_changes;
use crate::ops::reply::Reply;
use crate::ops::request::Request;
use crate::ops::warn::{WarnReply, collect_warnings};
use crate::retrieval::entry_search::EntryQueryRequest;
use crate::retrieval::pattern_remedies::proven_remedy;
use crate::retrieval::question::WarnRequest;
use crate::store::EntryFilter;

/// Time of one question to the project's own memory.
const QUESTION_TIME: Duration = Duration::from_millis(700);
/// Results of a question.
const RESULTS_MAX: usize = 5;
/// Changed files that are asked about.
const FILES_MAX: usize = 50;
/// Results that the report names.
const NAMED_MAX: usize = 3;
/// A recommendation, and a finding, bytes.
const RECOMMENDATION_BYTES_MAX: usize = 240;
const FINDING_BYTES_MAX: usize = 120;
/// Time for ending a memory server, within that of all questions; and that of processes which it leaves.
const ENDING_TIME: Duration = Duration::from_millis(100);
const ORPHAN_TIME: Duration = Duration::from_millis(100);

/// Questions that were asked.
pub(super) struct MemorySearch {
    started: Instant,
    until: Instant,
    failures: OwnAnswer<Reply<WarnReply>>,
    patterns: OwnAnswer<Vec<String>>,
    decisions: OwnAnswer<Vec<String>>,
    files: OwnAnswer<Vec<(String, usize)>>,
    deprecated: OwnAnswer<Vec<String>>,
    server: Option<ServerSearch>,
    trouble: Option<String>,
}

/// An answer of the project's own memory that is on its way, with the time at which it came.
type OwnAnswer<T> = Receiver<(Instant, anyhow::Result<T>)>;

/// A memory server that is being asked.
struct ServerSearch {
    thread: Option<JoinHandle<ServerAnswers>>,
    is_cancelled: Arc<AtomicBool>,
    reaper: OrphanReaper,
}

/// What memories said.
pub(super) struct MemoryReading {
    /// For the report.
    pub memory: GateMemory,
    /// The earlier failures among them, to be recorded once the report has them.
    pub told: Option<Reply<WarnReply>>,
}

impl MemorySearch {
    /// Asks everything. What is under way goes on beside the caller.
    pub(super) fn begin(
        request: &Request,
        change: &Change,
        (evaluation, feature, stacks): (&str, &str, Vec<String>),
    ) -> MemorySearch {
        let started = Instant::now();
        let until = started + Duration::from_millis(request.settings().gate.memory_ms);
        let subject = MemorySubject { feature: feature.to_owned(), stacks, files: most_changed_files(change) };
        let mut trouble = None;
        let command = &request.settings().gate.memory.command;
        let server = if command.is_empty() {
            None
        } else if let Err(error) = check_own_program(command, "[gate.memory]") {
            trouble = Some(error.to_string());
            None
        } else {
            let (command, dir) = (command.clone(), request.places.root.clone());
            let until = until.checked_sub(ENDING_TIME).unwrap_or(until);
            let variables =
                vec![("PATH", outside_path(request)), ("VERIFY_RUN_EVALUATION", evaluation.to_owned().into())];
            Some(ServerSearch::begin(MemoryServer { command, dir, variables, subject: subject.clone(), until }))
        };
        let (words, decision_words) = (subject.pattern_words(), subject.decision_words());
        let (asked, files, patch) = (subject.clone(), subject.files, change.patch.clone());
        MemorySearch {
            started,
            until,
            failures: ask(request, move |request| due_warnings(request, &asked)),
            patterns: ask(request, move |request| entry_titles(request, words, EntryTypeName::PATTERN)),
            decisions: ask(request, move |request| entry_titles(request, decision_words, EntryTypeName::DECISION)),
            files: ask(request, move |request| files_with_history(request, files)),
            deprecated: ask(request, move |request| deprecated_patterns(request, &patch)),
            server,
            trouble,
        }
    }

    /// Waits for the answers, each until its time is up.
    pub(super) fn finish(self) -> MemoryReading {
        let own_until = self.until.min(self.started + QUESTION_TIME);
        let mut taken = TakenAnswers { started: self.started, until: own_until, ended: self.started, late: Vec::new() };
        let mut memory = GateMemory::default();
        let mut answered = BTreeSet::new();
        let told = taken.take(&self.failures, "earlier failures");
        if let Some(reply) = &told {
            let warnings = &reply.data.warnings;
            answered.insert(GateMemoryQuestion::Failures);
            memory.failures = warnings.len() as u64;
            memory.findings.failures = warnings.iter().map(|warning| bounded(&name_warning(warning))).collect();
            memory.recommendations = warnings.iter().map(recommendation).collect();
        }
        if let Some(mut titles) = taken.take(&self.patterns, "patterns") {
            let pages = told.iter().flat_map(|reply| &reply.data.pages);
            titles.extend(pages.map(|page| bounded(&format!("{} ({}, {})", page.title, page.evidence, page.id))));
            answered.insert(GateMemoryQuestion::Patterns);
            memory.patterns = titles.len() as u64;
            memory.findings.patterns = titles;
        }
        if let Some(titles) = taken.take(&self.decisions, "decisions") {
            answered.insert(GateMemoryQuestion::Decisions);
            memory.decisions = titles.len() as u64;
            memory.findings.decisions = titles;
        }
        // First, so that nothing pushes them out.
        let brought_back = taken.take(&self.deprecated, "deprecated patterns").unwrap_or_default();
        memory.recommendations.splice(0..0, brought_back);
        let mut files = BTreeSet::new();
        if let Some(known) = taken.take(&self.files, "the history of files") {
            answered.insert(GateMemoryQuestion::Files);
            let named =
                |(file, count): &(String, usize)| bounded(&format!("{file} ({})", text::count(*count, "pattern")));
            memory.findings.files = known.iter().map(named).collect();
            files.extend(known.into_iter().map(|(file, _)| file));
        }
        taken.late.extend(self.trouble);
        if let Some(said) = self.server.map(ServerSearch::finish) {
            add_server_answers(&mut memory, &said, &mut answered);
            taken.ended = taken.ended.max(said.ended.unwrap_or(self.until));
            files.extend(said.files);
            memory.server = said.answers;
            taken.late.extend(said.trouble);
        }
        memory.files = files.len() as u64;
        memory.queries = answered.len() as u64;
        memory.findings.cut_to(NAMED_MAX);
        memory.took_ms = whole_ms(taken.ended.duration_since(self.started));
        let late = taken.late.join("; ");
        memory.warning = (!late.is_empty()).then(|| format!("memory was not asked whole: {late}"));
        MemoryReading { memory, told }
    }
}

/// The questions of one evaluation. The answers are waited for before a command's run is recorded, because that is no memory;
/// those of a memory server before the first command starts: what it leaves behind would be taken for one of the server's.
#[derive(Default)]
pub(super) struct AskedMemory {
    search: Mutex<Option<MemorySearch>>,
    reading: Mutex<Option<MemoryReading>>,
}

impl AskedMemory {
    /// Questions that were asked; `None` where an evaluation asks nothing.
    pub(super) fn new(search: Option<MemorySearch>) -> AskedMemory {
        AskedMemory { search: Mutex::new(search), reading: Mutex::default() }
    }

    /// Waits for the answers, once, if a memory server is asked.
    pub(super) fn finish_server(&self) {
        let search = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        let asks_server = search.as_ref().is_some_and(|search| search.server.is_some());
        drop(search);
        if asks_server {
            self.finish();
        }
    }

    /// Waits for the answers, once.
    pub(super) fn finish(&self) {
        let mut search = self.search.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(search) = search.take() {
            *self.reading.lock().unwrap_or_else(PoisonError::into_inner) = Some(search.finish());
        }
    }

    /// The answers, which are waited for; `None` where nothing was asked.
    pub(super) fn take_reading(&self) -> Option<MemoryReading> {
        self.finish();
        self.reading.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for AskedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AskedMemory")
    }
}

/// Answers of the project's own memory as they are taken.
struct TakenAnswers {
    started: Instant,
    /// When their time is up.
    until: Instant,
    /// When the last one came.
    ended: Instant,
    /// Why something was not answered.
    late: Vec<String>,
}

impl TakenAnswers {
    fn take<T>(&mut self, answer: &OwnAnswer<T>, question: &str) -> Option<T> {
        let came = answer.recv_timeout(self.until.saturating_duration_since(Instant::now())).ok();
        // The evaluation may have been busy with something else while the time went by.
        let came = came.filter(|(at, _)| *at <= self.until);
        self.ended = self.ended.max(came.as_ref().map_or(self.until, |(at, _)| *at));
        let why = match came {
            Some((_, Ok(answer))) => return Some(answer),
            Some((_, Err(error))) => text::one_line(&format!("{error:#}")),
            None => format!("no answer within {} ms", whole_ms(self.until.duration_since(self.started))),
        };
        self.late.push(format!("{question}: {why}"));
        None
    }
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl ServerSearch {
    fn begin(server: MemoryServer) -> ServerSearch {
        // What the server starts and leaves is taken in from here on.
        let reaper = OrphanReaper::open();
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let thread = {
            let is_cancelled = Arc::clone(&is_cancelled);
            thread::spawn(move || server.ask(&is_cancelled))
        };
        ServerSearch { thread: Some(thread), is_cancelled, reaper }
    }

    fn finish(mut self) -> ServerAnswers {
        // It ends on its own when the time is up.
        let joined = self.thread.take().map(JoinHandle::join);
        let trouble = || Some("the memory server could not be asked".to_owned());
        joined.and_then(Result::ok).unwrap_or_else(|| ServerAnswers { trouble: trouble(), ..ServerAnswers::default() })
    }
}

impl Drop for ServerSearch {
    fn drop(&mut self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
        self.reaper.end_strangers(ORPHAN_TIME);
    }
}

/// Adds the counts of a server's answers.
fn add_server_answers(memory: &mut GateMemory, said: &ServerAnswers, answered: &mut BTreeSet<GateMemoryQuestion>) {
    for answer in &said.answers {
        answered.insert(answer.question);
        match answer.question {
            GateMemoryQuestion::Failures => memory.failures += answer.count,
            GateMemoryQuestion::Patterns => memory.patterns += answer.count,
            GateMemoryQuestion::Decisions => memory.decisions += answer.count,
            GateMemoryQuestion::Files => {}
        }
    }
}

impl GateMemoryFindings {
    fn cut_to(&mut self, most: usize) {
        for named in [&mut self.failures, &mut self.patterns, &mut self.decisions, &mut self.files] {
            named.truncate(most);
        }
    }
}

/// What was done about a pattern before, where that helped.
pub(super) fn known_fix(request: &Request, pattern: &str) -> Option<String> {
    let index = request.open_as_it_is(&mut Vec::new()).ok()??;
    let number = index.find_pattern_number(pattern).ok()?;
    let remedy = proven_remedy(&index, number, request.settings(), request.now()).ok()??;
    let sure = remedy.sure_word();
    let what = text::ellipsis(&text::one_line(&remedy.what), RECOMMENDATION_BYTES_MAX);
    Some(format!("fixed before by {what} ({sure}, {} of {} times)", remedy.successes, remedy.tries))
}

/// The changed files, those with the most changed lines first.
fn most_changed_files(change: &Change) -> Vec<String> {
    let mut files: Vec<_> = change.files.iter().map(|file| (file.touched.len(), &file.path)).collect();
    files.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(other.1)));
    files.into_iter().map(|(_, path)| path.clone()).take(FILES_MAX).collect()
}

/// Asks on a thread of its own, which nothing waits for when the time is up.
fn ask<T: Send + 'static>(
    request: &Request,
    question: impl FnOnce(&Request) -> anyhow::Result<T> + Send + 'static,
) -> OwnAnswer<T> {
    let (sender, receiver) = mpsc::channel();
    let request = request.clone();
    thread::spawn(move || {
        let answer = question(&request);
        sender.send((Instant::now(), answer))
    });
    receiver
}

fn due_warnings(request: &Request, subject: &MemorySubject) -> anyhow::Result<Reply<WarnReply>> {
    let files: Vec<PathBuf> = subject.files.iter().map(|file| request.places.root.join(file)).collect();
    let asked = WarnRequest {
        identity: request.identity.clone(),
        title: Some(subject.feature.clone()),
        files,
        limit: Some(RESULTS_MAX),
        surface: "gate".to_owned(),
        for_gate: true,
        ..WarnRequest::default()
    };
    Ok(collect_warnings(request, &asked)?)
}

/// The titles of the entries of a kind that fit these words.
fn entry_titles(request: &Request, words: String, kind: EntryTypeName) -> anyhow::Result<Vec<String>> {
    let filter = EntryFilter { kind: Some(kind), ..EntryFilter::default() };
    let asked =
        EntryQueryRequest { text: words, filter, limit: Some(RESULTS_MAX), page: 1, ..EntryQueryRequest::default() };
    let found = query_entries(request, &asked)?.data.entries;
    Ok(found.iter().map(|page| bounded(&format!("{} ({})", page.title, page.id))).collect())
}

/// What the change brings back of deprecated pages: `brings back a-7c2k, deprecated because …`.
fn deprecated_patterns(request: &Request, patch: &Patch) -> anyhow::Result<Vec<String>> {
    let index = request.open_as_it_is(&mut Vec::new())?;
    let found = find_deprecated_changes(request, index.as_ref(), patch)?;
    let line = |it: &ReintroducedChange| {
        let why = it.reason.as_ref().map_or_else(String::new, |reason| format!(", deprecated because {reason}"));
        let said =
            format!("⚠️ {}:{} brings back the deprecated pattern {}{why}: {}", it.path, it.line, it.page, it.title);
        text::ellipsis(&text::one_line(&said), RECOMMENDATION_BYTES_MAX)
    };
    Ok(found.iter().take(NAMED_MAX).map(line).collect())
}

/// The changed files in which something failed before, each with its patterns.
fn files_with_history(request: &Request, files: Vec<String>) -> anyhow::Result<Vec<(String, usize)>> {
    let Some(index) = request.open_as_it_is(&mut Vec::new())? else { return Ok(Vec::new()) };
    let mut known = Vec::new();
    for file in files {
        let patterns = index.patterns_of_file(&file)?.len();
        if patterns > 0 {
            known.push((file, patterns));
        }
    }
    known.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    Ok(known)
}

fn bounded(line: &str) -> String {
    text::ellipsis(&text::one_line(line), FINDING_BYTES_MAX)
}

/// `assert 3 == 4 (p-7c2k)`
fn name_warning(warning: &Warning) -> String {
    format!("{} ({})", warning.what, subject_id(warning))
}

fn subject_id(warning: &Warning) -> &str {
    warning.pattern.as_deref().or(warning.entry.as_deref()).unwrap_or(&warning.id)
}

/// `Memory found a similar failure, p-7c2k: …: verify that this change keeps its fix.`
fn recommendation(warning: &Warning) -> String {
    let helped = match (&warning.worked, &warning.avoid) {
        (Some(worked), _) => format!("; what helped: {}", worked.what),
        (None, Some(avoid)) => format!("; {avoid}"),
        (None, None) => String::new(),
    };
    let said = format!("Memory found {} ({}, {}){helped}", warning.what, subject_id(warning), warning.how_often);
    text::ellipsis(&text::one_line(&said), RECOMMENDATION_BYTES_MAX)
}
