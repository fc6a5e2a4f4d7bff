//! What an error means to the caller: its kind, the exit code, and the hint. The only place that decides these.

use std::error::Error;

use crate::advice::block::BlockError;
use crate::base::refusal::{NextStep, Refusal, RefusalKind};
use crate::fix::snapshot::ChangesError;
use crate::host::install::InstallError;
use crate::host::shims::ShimError;
use crate::lesson;
use crate::ops::again::AgainError;
use crate::store::StoreError;
use crate::surface::cli::Exit;

/// What an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// The arguments are wrong.
    Usage,
    /// What was named is not there.
    NotFound,
    /// The state of what was named does not allow it.
    Conflict,
    /// A newer verify-run wrote the file.
    NewerFormat,
    /// Another process holds the store.
    StoreBusy,
    /// The index is damaged; the events are not.
    IndexDamaged,
    /// git is not installed.
    GitMissing,
    /// The folder is in no git work tree.
    NoRepository,
    /// Anything else, such as a file that can't be read.
    Internal,
}

impl FailureKind {
    /// The exit code of a subcommand that ends with such an error.
    pub(super) fn exit(self) -> Exit {
        match self {
            FailureKind::Usage => Exit::Usage,
            _ => Exit::Failure,
        }
    }
}

/// An error as the surfaces report it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FailureReport {
    /// What it is about.
    pub kind: FailureKind,
    /// The error with its causes.
    pub message: String,
    /// What helps.
    pub next: Option<NextStep>,
}

impl FailureReport {
    /// Classifies an error by the first of its causes that is known.
    pub(super) fn new(error: &anyhow::Error) -> Self {
        let known = error.chain().find_map(classify_cause);
        let (kind, next) = known.unwrap_or((FailureKind::Internal, None));
        FailureReport { kind, message: format!("{error:#}"), next }
    }

    /// The message, and the hint on a line of its own.
    pub(super) fn to_text(&self) -> String {
        match &self.next {
            Some(next) => format!("{}\n{}", self.message, hint_line(next)),
            None => self.message.clone(),
        }
    }
}

/// The one form of a hint.
pub(super) fn hint_line(next: &NextStep) -> String {
    match next {
        NextStep::Run(arguments) => format!("hint: run `verify-run {arguments}`"),
        NextStep::Do(step) => format!("hint: {step}"),
    }
}

fn classify_cause(cause: &(dyn Error + 'static)) -> Option<(FailureKind, Option<NextStep>)> {
    if let Some(refusal) = cause.downcast_ref::<Refusal>() {
        let kind = match refusal.kind {
            RefusalKind::Usage => FailureKind::Usage,
            RefusalKind::NotFound => FailureKind::NotFound,
            RefusalKind::Conflict => FailureKind::Conflict,
        };
        return Some((kind, refusal.next.clone()));
    }
    if let Some(error) = cause.downcast_ref::<StoreError>() {
        return Some(classify_store_error(error));
    }
    if let Some(error) = cause.downcast_ref::<AgainError>() {
        return Some(classify_again_error(error));
    }
    if let Some(error) = cause.downcast_ref::<ChangesError>() {
        let (kind, step) = match error {
            ChangesError::GitMissing => (FailureKind::GitMissing, Some("install git")),
            ChangesError::NoRepository(_) => (FailureKind::NoRepository, Some("change into a git work tree")),
            ChangesError::BadRange(_) => {
                (FailureKind::Usage, Some("give a range as for `git diff`, such as main...HEAD"))
            }
            ChangesError::Unreadable(_) => (FailureKind::Internal, None),
        };
        return Some((kind, step.map(|step| NextStep::Do(step.to_owned()))));
    }
    if let Some(error) = cause.downcast_ref::<InstallError>() {
        return Some(classify_install_error(error));
    }
    if cause.downcast_ref::<BlockError>().is_some() {
        // The message says what to do with the lines.
        return Some((FailureKind::Conflict, None));
    }
    if let Some(error) = cause.downcast_ref::<ShimError>() {
        return Some(classify_shim_error(error));
    }
    match cause.downcast_ref::<lesson::Error>()? {
        lesson::Error::Newer { .. } => Some((FailureKind::NewerFormat, Some(upgrade()))),
        lesson::Error::Io { .. } | lesson::Error::Parse { .. } => Some((FailureKind::Internal, None)),
    }
}

fn classify_store_error(error: &StoreError) -> (FailureKind, Option<NextStep>) {
    let run = |arguments: &str| Some(NextStep::Run(arguments.to_owned()));
    match error {
        StoreError::Newer { .. } => (FailureKind::NewerFormat, Some(upgrade())),
        StoreError::Busy { .. } => (FailureKind::StoreBusy, run("store status")),
        StoreError::NoSuchId { id } => (FailureKind::NotFound, run(listing_command(id))),
        StoreError::Ambiguous { .. } => (FailureKind::Usage, Some(NextStep::Do("type more of the id".to_owned()))),
        StoreError::Io { .. } | StoreError::Sql { .. } if error.is_damage() => {
            (FailureKind::IndexDamaged, run("store rebuild"))
        }
        StoreError::Io { .. } | StoreError::Sql { .. } => (FailureKind::Internal, None),
    }
}

fn classify_install_error(error: &InstallError) -> (FailureKind, Option<NextStep>) {
    match error {
        InstallError::UnknownHost { .. } | InstallError::NoAgentTakesRules => (FailureKind::Usage, None),
        InstallError::NotACheck { command } => {
            let arguments = format!("whitelist explain {}", shell_words::quote(command));
            (FailureKind::Usage, Some(NextStep::Run(arguments)))
        }
        InstallError::NewerLedger { .. } => (FailureKind::NewerFormat, Some(upgrade())),
        _ => (FailureKind::Internal, None),
    }
}

fn classify_shim_error(error: &ShimError) -> (FailureKind, Option<NextStep>) {
    match error {
        ShimError::NotInWhitelist { .. } => (FailureKind::Usage, Some(NextStep::Run("whitelist list".to_owned()))),
        ShimError::NoShim { .. } => (FailureKind::NotFound, Some(NextStep::Run("shims status".to_owned()))),
        _ => (FailureKind::Internal, None),
    }
}

fn classify_again_error(error: &AgainError) -> (FailureKind, Option<NextStep>) {
    match error {
        AgainError::Store(error) => classify_store_error(error),
        AgainError::Nothing(_) => (FailureKind::NotFound, Some(NextStep::Run("COMMAND".to_owned()))),
        AgainError::Redacted(_) => (FailureKind::Conflict, Some(NextStep::Do("type the command again".to_owned()))),
        AgainError::Passed(_) | AgainError::NotNarrowed { .. } => {
            (FailureKind::Conflict, Some(NextStep::Do("run `verify-run again` to run all of it".to_owned())))
        }
    }
}

fn upgrade() -> NextStep {
    NextStep::Do("run `cargo install verify-run`".to_owned())
}

/// The command that lists what ids of this kind name.
fn listing_command(id: &str) -> &'static str {
    match id.get(..2) {
        Some("x-") => "fix list",
        Some("k-") => "knowledge query",
        Some("s-") => "strategy list",
        Some("m-") => "memory recall",
        Some("w-") => "stats",
        Some("r-") => "promote list --all",
        Some("l-") => "lesson list",
        Some("p-") => "pattern list",
        Some("j-") => "library jobs",
        Some("a-") => "library list",
        _ => "log",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(error: impl Into<anyhow::Error>) -> FailureReport {
        FailureReport::new(&error.into())
    }

    #[test]
    fn an_unknown_id_names_the_command_that_lists_its_kind() {
        for (id, listing) in [
            ("x-zzz", "fix list"),
            ("k-z", "knowledge query"),
            ("s-z", "strategy list"),
            ("m-z", "memory recall"),
            ("zzz", "log"),
        ] {
            let report = report(StoreError::NoSuchId { id: id.into() });
            let text = format!("no record has the id {id}\nhint: run `verify-run {listing}`");
            assert_eq!((report.kind, report.to_text()), (FailureKind::NotFound, text));
        }
    }

    #[test]
    fn a_cause_decides_the_exit_code_and_the_hint_below_any_context() {
        let refusal = Refusal::usage("no title").then_run("knowledge types");
        let error = anyhow::Error::from(refusal).context("cannot add it");
        let report = FailureReport::new(&error);
        assert_eq!((report.kind, report.kind.exit()), (FailureKind::Usage, Exit::Usage));
        assert_eq!(report.to_text(), "cannot add it: no title\nhint: run `verify-run knowledge types`");
    }

    #[test]
    fn an_error_inside_a_verbs_own_is_classified_as_itself() {
        let busy = report(AgainError::Store(StoreError::Busy { path: "lock".into() }));
        assert_eq!((busy.kind, busy.kind.exit()), (FailureKind::StoreBusy, Exit::Failure));
        assert_eq!(busy.next, Some(NextStep::Run("store status".to_owned())));
    }

    #[test]
    fn what_nobody_knows_has_no_hint() {
        let report = report(anyhow::anyhow!("the disk is full"));
        assert_eq!((report.kind, report.to_text()), (FailureKind::Internal, "the disk is full".to_owned()));
    }

    #[test]
    fn a_missing_git_and_a_bad_range_are_told_apart() {
        assert_eq!(report(ChangesError::GitMissing).kind, FailureKind::GitMissing);
        assert_eq!(report(ChangesError::NoRepository("no".to_owned())).kind, FailureKind::NoRepository);
        assert_eq!(report(ChangesError::BadRange("no".to_owned())).kind, FailureKind::Usage);
    }
}
