//! From what the wrapper knew and what the diagnosis found to the run that is recorded. No I/O.

use std::collections::{BTreeSet, HashMap};

use crate::base::clock::Timestamp;
use crate::base::ids::{self, IdKind, RunId};
use crate::base::limits::{FAILURE_FILES_MAX, LESSON_FILES_BYTES_MAX, LESSON_PATTERNS_MAX};
use crate::base::lossless::Lossless;
use crate::capture::SpoolHeader;
use crate::command;
use crate::diagnose::{self, Category, Diagnosis, Diagnostic as Found, RunnerSummary, Severity};
use crate::event::{DiagnosticRecord, ENDED_BY_SIGNAL, Failure, LessonDecision, NAMES_NO_PROBLEM, Run, Scope};
use crate::fingerprint;
use crate::lesson::{LessonFacts, LocalMachine};
use crate::redact;
use crate::run::CommandEnd;
use crate::whitelist::{self, CheckKind};

/// Branches that are not a task, when the repository doesn't say which one is its default.
pub(super) const DEFAULT_BRANCHES: [&str; 3] = ["main", "master", "trunk"];
/// The subject of a lesson whose diagnostics are empty.
pub(super) const UNNAMED_SUBJECT: &str = "failure";

/// The run without its failure.
pub(super) fn run(header: &SpoolHeader, default_branch: Option<&str>) -> Run {
    let repository = &header.repository;
    let branch = repository.head.as_deref().and_then(|head| head.strip_prefix("ref: refs/heads/")).map(without_secret);
    let dir = header.cwd.path().strip_prefix(repository.root.path());
    Run {
        argv: redact::redact_arguments(&header.argv),
        root: repository.root.clone(),
        dir: relative_folder(dir.map_or_else(|_| header.cwd.clone(), Lossless::from)),
        key: header.key.clone(),
        scope: Some(scope_from_header(header)),
        tool: header.check.as_ref().map(|check| check.tool.clone()),
        check: header.check.as_ref().map(|check| check.kind),
        started_at: header.started_at,
        ended_at: header.ended_at,
        duration_us: header.duration_us,
        ended: header.ended,
        task: without_secret(&task_of_run(
            header.identity.task.as_deref(),
            branch.as_deref(),
            default_branch,
            header.started_at,
        )),
        phase: None,
        session: header.identity.session.as_deref().map(without_secret),
        agent: header.identity.agent.as_deref().map(without_secret),
        model: header.identity.model.as_deref().and_then(redact::sanitize_name),
        branch,
        commit: repository.commit.clone(),
        kept_bytes: header.kept_bytes,
        cut_bytes: header.cut_bytes,
        shared: header.shared,
        partly_seen: header.partly_seen,
        tests: None,
        stopped_early: false,
        environment: header.environment.as_ref().map(|environment| environment.digest.clone()),
        program: None,
        observed_via: header.observed_via,
        call: header.call.as_deref().map(without_secret),
        failure: None,
    }
}

/// What ran of a check that tests, as its output says; how many only where the output is whole.
pub(crate) fn ran_from_header(header: &SpoolHeader, output: &[u8]) -> RunnerSummary {
    let is_test = header.check.as_ref().is_some_and(|check| check.kind == CheckKind::Test);
    let ran = if is_test { diagnose::count_ran(output) } else { RunnerSummary::default() };
    RunnerSummary { tests: ran.tests.filter(|_| header.cut_bytes == 0), ..ran }
}

/// What the run checked. Words of the command line that were secrets are left out, as they are of the command line.
fn scope_from_header(header: &SpoolHeader) -> Scope {
    let argv: Vec<_> = header.argv.iter().map(|arg| arg.0.clone()).collect();
    let check = header.check.as_ref();
    let parts = whitelist::command_key_parts(header.repository.root.path(), header.cwd.path(), check, &argv);
    let mut selectors = match check {
        Some(check) => redact::redact_args(&check.selectors).0,
        None => redact::redact_arguments(&header.argv).iter().skip(1).map(Lossless::display).collect(),
    };
    let sub = check.and_then(|check| check.sub.clone());
    if let Some(at) = sub.as_ref().and_then(|sub| selectors.iter().position(|selector| selector == sub)) {
        selectors.remove(at);
    }
    Scope {
        class: parts.class(),
        subject: parts.subject,
        sub,
        dir: relative_folder(Lossless::from(&parts.directory)),
        selectors,
        also: check.map_or_else(Vec::new, |check| check.also.clone()),
        foreign_status: check.is_some_and(|check| !check.status_is_own),
    }
}

/// The task: as given, else the branch when it isn't the default one, else what is worked on there that day.
pub(super) fn task_of_run(
    given: Option<&str>,
    branch: Option<&str>,
    default_branch: Option<&str>,
    started_at: Timestamp,
) -> String {
    let is_default = |branch: &str| match default_branch {
        Some(default) => branch == default,
        None => DEFAULT_BRANCHES.contains(&branch),
    };
    match (given.map(str::trim).filter(|task| !task.is_empty()), branch) {
        (Some(task), _) => task.to_owned(),
        (None, Some(branch)) if !is_default(branch) => branch.to_owned(),
        (None, branch) => format!("{}@{}", branch.unwrap_or("work"), started_at.local_day()),
    }
}

/// The failure with its items and keys.
pub(super) fn assemble_failure(
    id: RunId,
    diagnosis: &Diagnosis,
    items: Vec<DiagnosticRecord>,
    lesson: LessonDecision,
) -> Failure {
    let category = diagnosis.category.as_ref().filter(|_| !lesson.is_interrupted());
    Failure {
        id: ids::failure(id),
        category: category.unwrap_or(&Category::Other).as_str().to_owned(),
        category_description: None,
        files: diagnosis.files.iter().take(FAILURE_FILES_MAX).cloned().collect(),
        files_cut: diagnosis.files.len().saturating_sub(FAILURE_FILES_MAX),
        items,
        items_cut: diagnosis.items_cut,
        shortfalls: diagnosis.shortfalls.clone(),
        lines_cut: diagnosis.lines_cut,
        lines_unread: diagnosis.lines_unread,
        lines: diagnosis.lines.clone(),
        redactions: diagnosis.redactions,
        lesson,
    }
}

/// What a lesson is about: the test or the code of its leading diagnostic, else the masked message.
pub(super) fn lesson_subject(leading: &DiagnosticRecord) -> Option<&String> {
    let named = leading.test.as_ref().or(leading.code.as_ref());
    Some(named.unwrap_or(&leading.masked)).filter(|about| !about.is_empty())
}

/// What the lesson of a recorded run is made of; `None` when it has none. From the event alone, so that a lesson that
/// is written late is the same.
pub(crate) fn lesson_facts(run: &Run, local: &LocalMachine) -> Option<LessonFacts> {
    let failure = run.failure.as_ref()?;
    let LessonDecision::Written { id, elsewhere, .. } = &failure.lesson else { return None };
    let program = || {
        let program = run.argv.first().map(|program| program.path().to_owned()).unwrap_or_default();
        program.file_name().map_or_else(|| "command".to_owned(), |name| name.to_string_lossy().into_owned())
    };
    // What the lesson is about comes first, then what another lesson is about.
    let is_own = |item: &&DiagnosticRecord| !elsewhere.contains(&item.pattern);
    let own = failure.items.iter().filter(is_own);
    let patterns: BTreeSet<String> =
        own.clone().map(|item| ids::short(IdKind::Pattern, item.pattern.as_bytes())).collect();
    let about = own.clone().next().and_then(lesson_subject);
    let items = own.chain(failure.items.iter().filter(|item| !is_own(item)));
    let dir = run.dir.display();
    let strip = |text: &str| local.strip_local_names(text);
    let argv = run.argv.iter().enumerate().map(|(n, argument)| {
        let text = local.strip_local_names_in(&argument.display(), &dir);
        if n == 0 && text.starts_with('…') { text.rsplit('/').next().unwrap_or(&text).to_owned() } else { text }
    });
    let mut room = LESSON_FILES_BYTES_MAX;
    let fits = |file: &&String| {
        room = room.saturating_sub(file.len() + 1);
        room > 0
    };
    let files: Vec<String> = failure.files.iter().take_while(fits).map(|file| local.strip_local_names(file)).collect();
    let more: u32 = failure.items.iter().map(|item| item.count.saturating_sub(1)).sum();
    let items_cut = failure.items_cut + usize::try_from(more).unwrap_or(0);
    let named = failure.items.iter().filter(|item| !item.is_uninformative()).count();
    Some(LessonFacts {
        id: id.clone(),
        recorded_at: run.ended_at,
        tool: run.tool.clone().unwrap_or_else(program),
        about: about.map_or(UNNAMED_SUBJECT, String::as_str).to_owned(),
        command: shell_words::join(argv),
        dir: if dir.starts_with('/') { strip(&dir) } else { dir.clone() },
        ended: run.ended,
        category: Category::named(&failure.category).unwrap_or(Category::Other),
        files_cut: failure.files_cut + failure.files.len() - files.len(),
        files,
        items: items.map(|item| without_private_paths(item.to_diagnostic(), local)).collect(),
        items_cut,
        problems: named + items_cut,
        shortfalls: failure.shortfalls.clone(),
        lines: failure.lines.iter().map(|line| strip(line)).collect(),
        patterns_cut: patterns.len().saturating_sub(LESSON_PATTERNS_MAX),
        patterns: patterns.into_iter().take(LESSON_PATTERNS_MAX).collect(),
        task: Some(run.task.clone()),
        agent: run.agent.clone(),
        branch: run.branch.clone(),
        commit: run.commit.clone(),
        redactions: failure.redactions,
        cut_bytes: run.cut_bytes,
        cause: None,
        resolution: None,
        corrective_rule: None,
    })
}

/// An item without anything of this machine.
fn without_private_paths(item: Found, local: &LocalMachine) -> Found {
    Found {
        file: item.file.map(|file| local.strip_local_names(&file)),
        message: local.strip_local_names(&item.message),
        test: item.test.map(|test| local.strip_local_names(&test)),
        ..item
    }
}

/// The diagnosis's items with their keys, equal ones in one file counted once. A failure in which nothing was found
/// has one item that says how the tool ended, so that it can be recognised too.
pub(super) fn diagnostic_records(header: &SpoolHeader, diagnosis: &Diagnosis) -> Vec<DiagnosticRecord> {
    let nothing_found;
    let found = if diagnosis.items.is_empty() {
        nothing_found = [how_it_ended(header)];
        &nothing_found[..]
    } else {
        &diagnosis.items
    };
    let mut items: Vec<DiagnosticRecord> = Vec::new();
    let mut seen: HashMap<(String, Option<String>), usize> = HashMap::new();
    for found in found {
        let keys = fingerprint::compute_fingerprint(found);
        match seen.get(&(keys.exact.clone(), found.file.clone())) {
            Some(&index) => items[index].add_equal(found.test.as_ref()),
            None => {
                seen.insert((keys.exact.clone(), found.file.clone()), items.len());
                items.push(DiagnosticRecord::new(found, keys));
            }
        }
    }
    items
}

fn how_it_ended(header: &SpoolHeader) -> Found {
    let tool = header.check.as_ref().map_or("command", |check| check.tool.as_str());
    let typed = shell_words::join(redact::redact_arguments(&header.argv).iter().map(Lossless::display));
    let what = if tool.starts_with("script:") { typed } else { command::typed(tool, &typed) };
    let message = match header.ended {
        CommandEnd::Exit(code) => format!("{what} ended with exit code {code} {NAMES_NO_PROBLEM}"),
        CommandEnd::Signal(signal) => format!("{what} {ENDED_BY_SIGNAL} {signal}"),
    };
    Found {
        tool: tool.to_owned(),
        code: None,
        severity: Severity::Error,
        file: None,
        line: None,
        col: None,
        message,
        test: None,
        span: (0, 0),
    }
}

/// Whether a user ended the run: then it proves nothing about the code.
pub(super) fn is_cancelled(ended: CommandEnd) -> bool {
    use nix::libc::{SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGTERM};
    /// What coreutils' `timeout` exits with.
    const TIMED_OUT: i32 = 124;
    let code = ended.shell_code();
    code == TIMED_OUT || [SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGKILL].iter().any(|signal| code == 128 + signal)
}

/// A folder's path, without the secret that may be in a name.
fn relative_folder(path: Lossless) -> Lossless {
    match redact::redact_text(&path.display()) {
        (_, 0) => path,
        (clean, _) => Lossless::from(&*clean),
    }
}

/// A name that a caller gave, without the secret that may have got into it.
pub(super) fn without_secret(name: &str) -> String {
    redact::redact_text(name).0.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_task_is_given_or_the_branch_or_the_day() {
        let at = Timestamp::parse("2026-11-21T12:00:00Z").expect("a time");
        let day = at.local_day();
        let cases = [
            (Some("T-1"), Some("topic"), None, "T-1".to_owned()),
            (Some(" "), Some("topic"), None, "topic".to_owned()),
            (None, Some("main"), None, format!("main@{day}")),
            (None, Some("develop"), Some("develop"), format!("develop@{day}")),
            (None, Some("main"), Some("develop"), "main".to_owned()),
            (None, None, None, format!("work@{day}")),
        ];
        for (given, branch, default, expected) in cases {
            assert_eq!(task_of_run(given, branch, default, at), expected);
        }
    }

    #[test]
    fn a_cancelled_run_is_known_by_signal_or_code() {
        for ended in [
            CommandEnd::Signal(2),
            CommandEnd::Signal(9),
            CommandEnd::Signal(13),
            CommandEnd::Exit(124),
            CommandEnd::Exit(143),
        ] {
            assert!(is_cancelled(ended), "{ended:?}");
        }
        for ended in [
            CommandEnd::Exit(1),
            CommandEnd::Exit(127),
            CommandEnd::Signal(11),
            CommandEnd::Signal(6),
            CommandEnd::Exit(134),
        ] {
            assert!(!is_cancelled(ended), "{ended:?}");
        }
    }
}
