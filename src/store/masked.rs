//! An event with everything private removed, for export: output, command lines and changes are removed, counts and
//! keys stay.

use crate::base::lossless::Lossless;
use crate::capture::CheckedState;
use crate::event::{
    AtomList, Attempt, Event, EventBody, GateMemory, GateMemoryFindings, GateNote, GateReview, GateStep, LearnNote,
    LearnStep, LibraryNote, LibraryStep, MemoryChange, Run, ScenarioCommand, ScenarioRecord, TaskStep,
};

/// The text in place of a removed part.
const MASKED: &str = "(masked)";

/// The same event, same id, without messages, output, diffs, command lines beyond the program, folders outside the
/// project, branch, commit, changed dependencies, names and titles of tasks, and who worked where. What people wrote
/// (annotations, notes on fixes) stays: it was written to be read.
///
/// `None` for what is nothing without its private parts: a signature is about every byte of them.
pub(crate) fn mask_event(mut event: Event) -> Option<Event> {
    if let Some(by) = event.body.author_mut() {
        by.session = by.session.as_deref().map(hash_name);
        by.task = by.task.as_deref().map(mask_task_name);
    }
    match &mut event.body {
        EventBody::Run(run) => mask_run(run),
        EventBody::Snapshot(snapshot) => {
            snapshot.diff_cut += snapshot.diff.len() as u64;
            snapshot.diff.clear();
        }
        EventBody::Attempt(attempt) => mask_attempt(attempt),
        EventBody::Flake(flake) => {
            flake.task = mask_task_name(&flake.task);
            flake.root = mask_root(&flake.root);
            mask_atoms(&mut flake.atoms);
        }
        EventBody::Task(note) => {
            note.name = mask_task_name(&note.name);
            match &mut note.step {
                TaskStep::Started { title, files, depends_on, .. } => {
                    *title = None;
                    files.retain(|file| !file.starts_with('/'));
                    depends_on.iter_mut().for_each(|name| *name = mask_task_name(name));
                }
                // It may name a branch.
                TaskStep::Done { why, .. } => *why = None,
            }
        }
        EventBody::Delivery(delivery) => {
            delivery.session = hash_name(&delivery.session);
            delivery.files.retain(|file| !file.starts_with('/'));
            delivery.text = delivery.text.take().map(|_| MASKED.to_owned());
            delivery.task = mask_task_name(&delivery.task);
        }
        // An agent's own.
        EventBody::Memory(note) => {
            if let MemoryChange::Remembered { text, .. } = &mut note.change {
                *text = MASKED.to_owned();
            }
        }
        EventBody::Gate(note) => mask_gate_note(note),
        EventBody::Phase(note) => {
            note.work_tree = mask_root(&note.work_tree);
            note.task = mask_task_name(&note.task);
        }
        EventBody::Learn(note) => mask_learn_note(note),
        EventBody::Library(note) => mask_library_note(note),
        EventBody::Receipt(receipt) => {
            mask_command(&mut receipt.argv);
            receipt.root = mask_root(&receipt.root);
            if receipt.dir.path().is_absolute() {
                receipt.dir = Lossless::from(MASKED);
            }
            let tree = std::mem::take(&mut receipt.state.tree);
            receipt.state = CheckedState { tree, ..CheckedState::default() };
        }
        EventBody::SignedReceipt(_) => return None,
        // Written for everybody.
        EventBody::Knowledge(_)
        | EventBody::Strategy(_)
        | EventBody::Promotion(_)
        | EventBody::Ack(_)
        | EventBody::Lesson(_)
        | EventBody::FixNote(_)
        | EventBody::Purge(_)
        | EventBody::Merge(_)
        | EventBody::Split(_)
        | EventBody::Review(_) => {}
    }
    Some(event)
}

fn mask_run(run: &mut Run) {
    run.task = mask_task_name(&run.task);
    mask_command(&mut run.argv);
    run.root = mask_root(&run.root);
    if run.dir.path().is_absolute() {
        run.dir = Lossless::from(MASKED);
    }
    if let Some(scope) = &mut run.scope {
        scope.selectors.clear();
        if scope.dir.path().is_absolute() {
            scope.dir = Lossless::from(MASKED);
        }
    }
    (run.session, run.branch, run.commit) = (None, None, None);
    // Whoever guesses a value could see that he was right.
    (run.environment, run.program) = (None, None);
    if let Some(failure) = &mut run.failure {
        failure.lines_cut += failure.lines.len();
        failure.lines.clear();
        failure.files.retain(|file| !file.starts_with('/'));
        for item in &mut failure.items {
            item.masked.clone_from(&item.masked_family);
            item.message.clone_from(&item.masked_family);
            item.file = item.file.take().filter(|file| !file.starts_with('/'));
        }
    }
}

/// The program alone, without its folder.
fn mask_command(argv: &mut Vec<Lossless>) {
    argv.truncate(1);
    if let Some(program) = argv.first_mut() {
        *program = Lossless::from(program.path().file_name().unwrap_or_default());
    }
}

fn mask_attempt(attempt: &mut Attempt) {
    attempt.task = mask_task_name(&attempt.task);
    attempt.root = mask_root(&attempt.root);
    attempt.diff_cut += attempt.diff.len();
    attempt.diff.clear();
    attempt.commands.iter_mut().for_each(|command| command.line = program_name(&command.line));
    attempt.recipes.iter_mut().for_each(|recipe| recipe.label = MASKED.to_owned());
    attempt.weakened.iter_mut().for_each(|mark| mark.text = MASKED.to_owned());
    let lists = [&mut attempt.fixed, &mut attempt.introduced, &mut attempt.persisted, &mut attempt.not_reached];
    lists.into_iter().for_each(mask_atoms);
}

/// The verdict and the states stay; what was found and what the work is called goes.
fn mask_gate_note(note: &mut GateNote) {
    note.work_tree = mask_root(&note.work_tree);
    match &mut note.step {
        GateStep::Started(start) => {
            (start.feature, start.prp) = (mask_task_name(&start.feature), None);
            start.base = MASKED.to_owned();
            start.differences.iter_mut().for_each(|difference| *difference = MASKED.to_owned());
        }
        GateStep::Verdict(outcome) => {
            mask_gate_memory(&mut outcome.memory);
            outcome.review.iter_mut().for_each(mask_gate_review);
            for item in &mut outcome.items {
                item.findings_cut += item.findings.len() as u64;
                item.findings.clear();
                item.commands.iter_mut().for_each(|command| *command = program_name(command));
                (item.details, item.reason) = (String::new(), None);
            }
            outcome.issues.iter_mut().for_each(|issue| issue.message = MASKED.to_owned());
        }
        GateStep::Abandoned { why } | GateStep::ShipFailed { why } => *why = MASKED.to_owned(),
        GateStep::Signal { .. }
        | GateStep::Waiver(_)
        | GateStep::Reset { .. }
        | GateStep::Resolved { .. }
        | GateStep::ShipStarted { .. }
        | GateStep::Shipped { .. } => {}
    }
}

/// The counts stay.
fn mask_gate_memory(memory: &mut GateMemory) {
    memory.recommendations.clear();
    memory.findings = GateMemoryFindings::default();
    memory.warning = memory.warning.take().map(|_| MASKED.to_owned());
    for answer in &mut memory.server {
        answer.cut_bytes += answer.text.len() as u64;
        answer.text.clear();
    }
}

/// The models, the severities and the counts stay.
fn mask_gate_review(review: &mut GateReview) {
    review.warning = review.warning.take().map(|_| MASKED.to_owned());
    review.verdict = review.verdict.take().map(|_| MASKED.to_owned());
    for issue in &mut review.issues {
        issue.message = MASKED.to_owned();
        (issue.path, issue.line, issue.fix) = (None, None, None);
    }
    for link in &mut review.links {
        link.test = MASKED.to_owned();
        link.reason = link.reason.take().map(|_| MASKED.to_owned());
    }
}

/// States, evidence and counts stay; what was run, changed and said of the work goes.
fn mask_learn_note(note: &mut LearnNote) {
    match &mut note.step {
        LearnStep::Harvested(harvest) => {
            harvest.task = mask_task_name(&harvest.task);
            harvest.root = mask_root(&harvest.root);
            mask_atoms(&mut harvest.fixed);
            (harvest.prompt, harvest.note, harvest.command) = (None, None, None);
            harvest.criteria.clear();
            harvest.changed_dependencies.clear();
        }
        LearnStep::Skipped(skipped) => {
            skipped.task = mask_task_name(&skipped.task);
            skipped.why = MASKED.to_owned();
        }
        LearnStep::Captured(capture) => capture.differing.clear(),
        LearnStep::SnapshotFailed { why, .. }
        | LearnStep::Dropped { why }
        | LearnStep::NoArtifact { why, .. }
        | LearnStep::Failed { why, .. } => *why = MASKED.to_owned(),
        LearnStep::Stalled { why, status } => (*why, *status) = (MASKED.to_owned(), String::new()),
        LearnStep::Scenario(scenario) => mask_scenario(scenario),
        LearnStep::NeedsManual(missing) => {
            missing.why = MASKED.to_owned();
            missing.partial.iter_mut().for_each(mask_scenario);
        }
        LearnStep::Requeued { scenario: Some(signed), .. } => {
            signed.path = MASKED.to_owned();
            mask_scenario(&mut signed.scenario);
        }
        LearnStep::Trial(trial) => {
            mask_atoms(&mut trial.atoms);
            trial.note = None;
        }
        LearnStep::Judged(judgement) => {
            mask_atoms(&mut judgement.fixed);
            judgement.notes.clear();
        }
        LearnStep::Requeued { scenario: None, .. }
        | LearnStep::Claimed(_)
        | LearnStep::Minimised(_)
        | LearnStep::Crystallised(_)
        | LearnStep::FurtherProof { .. }
        | LearnStep::Interrupted
        | LearnStep::Cancelled { .. }
        | LearnStep::Expired => {}
    }
}

fn mask_scenario(scenario: &mut ScenarioRecord) {
    let mask = |command: &mut ScenarioCommand| {
        command.argv.truncate(1);
        command.argv.iter_mut().for_each(|program| *program = program_name(program));
    };
    mask(&mut scenario.entrypoint);
    scenario.setup.iter_mut().chain(&mut scenario.narrow).for_each(mask);
    scenario.environment.clear();
    scenario.services.clear();
}

/// The page quotes the change.
fn mask_library_note(note: &mut LibraryNote) {
    match &mut note.step {
        LibraryStep::Written(page) => (page.text, page.fix_session) = (MASKED.to_owned(), None),
        LibraryStep::DeprecationProposed { why } | LibraryStep::Verified { why, .. } => *why = MASKED.to_owned(),
        LibraryStep::Approved { .. }
        | LibraryStep::Rejected { .. }
        | LibraryStep::Deprecated { .. }
        | LibraryStep::Restored { .. }
        | LibraryStep::Moved { .. }
        | LibraryStep::Edited { .. } => {}
    }
}

/// Sessions are distinguished, not named.
fn hash_name(session: &str) -> String {
    blake3::hash(session.as_bytes()).to_hex()[..16].to_owned()
}

/// Tasks are distinguished, not named: most names are branches.
fn mask_task_name(name: &str) -> String {
    format!("task-{}", &hash_name(name)[..8])
}

fn mask_atoms(list: &mut AtomList) {
    list.first.iter_mut().for_each(|atom| atom.text = MASKED.to_owned());
}

/// A project stays itself, but its place on this machine is private.
fn mask_root(root: &Lossless) -> Lossless {
    let name = root.path().file_name().unwrap_or_default();
    Lossless::from(&std::path::Path::new("/").join(name))
}

fn program_name(line: &str) -> String {
    line.split_whitespace().next().and_then(|word| word.rsplit('/').next()).unwrap_or(MASKED).to_owned()
}
