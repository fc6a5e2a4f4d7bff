//! `verify-run --reuse`: a receipt instead of a run, or the reason why not.

use std::ffi::OsString;

use super::doubt_text;
use super::observe::{
    CheckedCommand, ObservedState, TreeState, changed_files, changed_files_text, has_input, observe_isolated_state,
    observe_state, path_outside, state_over,
};
use crate::base::text;
use crate::capture::{CheckedState, SpooledRun};
use crate::event::Receipt;
use crate::fix;
use crate::fix::snapshot::TakenSnapshot;
use crate::gate::receipt::{StateDifference, count_differences, find_difference};
use crate::lab::LabLevel;
use crate::ops::request::Request;
use crate::recorder;
use crate::store::{Index, ReceiptFilter, SegmentFolder, StoreError, own_writer};
use crate::whitelist::{CheckKind, Whitelist};

/// Receipts of one command that are looked at, the newest.
const RECEIPTS_MAX: usize = 32;
/// A receipt whose run ended later than this after now, microseconds: the clock was set back.
const FUTURE_US_MAX: u64 = 60_000_000;
/// Words of commands that look at what is staged or at the last commits, which no tree has.
const HISTORY_COMMANDS: [&str; 6] = ["lint-staged", "pre-commit", "lefthook", "commitlint", "danger", "overcommit"];

/// The answer to `--reuse` before the command runs.
#[derive(Debug)]
pub(crate) struct ReuseOffer {
    /// A receipt covers the command: the line to say.
    pub reused: Option<String>,
    /// None does, although the command passed before: the line to say.
    pub not_reused: Option<String>,
    /// What a receipt of the run would be about; else why it can have none.
    pub before: Result<ObservedState, String>,
}

/// Where receipts are read from.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiptStore<'a> {
    pub index: &'a Index,
    pub segments: &'a SegmentFolder,
}

/// A receipt of a command, and what keeps it from being reused.
pub(super) struct ReceiptCover {
    pub receipt: Receipt,
    pub obstacle: Option<ReuseObstacle>,
}

/// Why a receipt is not reused.
pub(super) struct ReuseObstacle {
    /// For people, a lowercase fragment.
    pub text: String,
    /// The files that differ.
    pub files: Vec<String>,
}

impl From<String> for ReuseObstacle {
    fn from(text: String) -> Self {
        ReuseObstacle { text, files: Vec::new() }
    }
}

/// Looks for a receipt that covers the command as it would run now. Whatever is unknown counts as different.
pub(crate) fn offer_reuse(request: &Request, command: &CheckedCommand<'_>) -> ReuseOffer {
    offer_for_state(request, command, || observe_state(request, command))
}

/// As [`offer_reuse`], of a command that would run in the lab on a tree.
pub(crate) fn offer_isolated_reuse(
    request: &Request,
    command: &CheckedCommand<'_>,
    tree: &str,
    level: LabLevel,
) -> ReuseOffer {
    offer_for_state(request, command, || observe_isolated_state(request, command, tree, level))
}

fn offer_for_state(
    request: &Request,
    command: &CheckedCommand<'_>,
    observe: impl FnOnce() -> Result<ObservedState, String>,
) -> ReuseOffer {
    let before = match refusal_of_command(request, command) {
        Some(why) => Err(why),
        None => observe(),
    };
    let found = find_recorded(request, command, before.as_ref());
    let (reused, not_reused) = match found {
        Ok(None) => (None, None),
        Ok(Some(ReceiptCover { receipt, obstacle: None })) => {
            (Some(format!("verify-run: reused: {}", describe_receipt(request, &receipt))), None)
        }
        Ok(Some(ReceiptCover { obstacle: Some(obstacle), .. })) => {
            (None, Some(format!("verify-run: not reused: {}", obstacle.text)))
        }
        Err(error) => (None, Some(format!("verify-run: not reused: {}", text::one_line(&error.to_string())))),
    };
    ReuseOffer { reused, not_reused, before }
}

/// `passed 3 min ago on this tree (e-…), 41 tests`
fn describe_receipt(request: &Request, receipt: &Receipt) -> String {
    let age = receipt.ended_at.age_at(request.now());
    let tests = receipt.tests.map(|tests| format!(", {}", text::count(tests, "test"))).unwrap_or_default();
    format!("passed {age} on this tree ({}){tests}", receipt.receipt)
}

/// Receipts of several commands over one state of the work tree, which nothing may have changed since.
#[derive(Debug)]
pub(crate) struct ReceiptLookup {
    trees: TreeState,
}

impl ReceiptLookup {
    /// For the work tree of which this snapshot was taken.
    ///
    /// # Errors
    /// Why receipts cannot be compared with it, a lowercase fragment.
    pub(crate) fn over_snapshot(request: &Request, taken: &TakenSnapshot) -> Result<ReceiptLookup, String> {
        Ok(ReceiptLookup { trees: TreeState::of_snapshot(request, taken)? })
    }

    /// The receipt that covers a command without input in the folder of `request`, for people: `passed 3 min ago on this tree
    /// (e-…), 41 tests`. `None` where there is none, or where that cannot be known.
    pub(crate) fn find_cover(&self, request: &Request, argv: &[OsString]) -> Option<String> {
        let whitelist = Whitelist::open(&request.places, &request.environment);
        let check = whitelist.decide_command(argv).into_check()?;
        let command = CheckedCommand { argv, check: &check, has_no_input: true };
        if refusal_of_command(request, &command).is_some() {
            return None;
        }
        let state = state_over(request, &command, &self.trees).ok()?;
        let cover = find_recorded(request, &command, Ok(&state)).ok()??;
        cover.obstacle.is_none().then(|| describe_receipt(request, &cover.receipt))
    }
}

/// What a receipt of the run that ended is about.
///
/// # Errors
/// Why it can have none, a lowercase fragment.
pub(crate) fn state_after(
    request: &Request,
    command: &CheckedCommand<'_>,
    before: ObservedState,
    finished: &SpooledRun,
) -> Result<CheckedState, String> {
    let header = &finished.header;
    // What is cut here may be whole for the recorder, which decides.
    let ran = recorder::ran_from_header(header, &finished.output);
    if let Some(why) = recorder::refusal_of_run(header, ran.tests, ran.stopped_early) {
        return Err(why.to_owned());
    }
    let after = observe_state(request, command)?;
    match find_difference(&before.state, &after.state) {
        None if after.changed_at <= before.changed_at => Ok(before.state),
        None => Err("a file was written while it ran".to_owned()),
        Some(StateDifference::Tree) => {
            let (files, count) = changed_files(request, &before.state.tree, &after.state.tree);
            Err(format!("{} while it ran", changed_files_text(&files, count)))
        }
        Some(difference) => Err(format!("{difference} while it ran")),
    }
}

/// The receipt that covers the command, else the newest one of it with what keeps it from that; `None` when there is none.
fn find_recorded(
    request: &Request,
    command: &CheckedCommand<'_>,
    before: Result<&ObservedState, &String>,
) -> Result<Option<ReceiptCover>, StoreError> {
    // A pass of a moment ago, or a failure, may still wait for the recorder.
    if !recorder::pending_entries(&request.places).is_empty() && recorder::drain_for_reading(&request.places)?.busy {
        return Ok(None);
    }
    let Some(index) = Index::open_read(&request.places.state.index())? else { return Ok(None) };
    let segments = SegmentFolder::new(request.places.state.events());
    let store = ReceiptStore { index: &index, segments: &segments };
    match before {
        Ok(before) => {
            let cover = find_cover(request, store, command, &before.state)?;
            Ok(cover.map(|cover| refuse_build(command, cover)))
        }
        Err(why) => {
            let newest = receipts_of(request, store, command, 1)?.pop();
            Ok(newest.map(|receipt| ReceiptCover { receipt, obstacle: Some(why.clone().into()) }))
        }
    }
}

/// What a build is for is what it writes, and git ignores that.
fn refuse_build(command: &CheckedCommand<'_>, cover: ReceiptCover) -> ReceiptCover {
    if command.check.kind != CheckKind::Build || cover.obstacle.is_some() {
        return cover;
    }
    let obstacle = Some("what a build writes may be gone".to_owned().into());
    ReceiptCover { obstacle, ..cover }
}

/// As [`find_recorded`], in an open store and about a state.
pub(super) fn find_cover(
    request: &Request,
    store: ReceiptStore<'_>,
    command: &CheckedCommand<'_>,
    state: &CheckedState,
) -> Result<Option<ReceiptCover>, StoreError> {
    if let Some(why) = refusal_of_command(request, command) {
        let newest = receipts_of(request, store, command, 1)?.pop();
        return Ok(newest.map(|receipt| ReceiptCover { receipt, obstacle: Some(why.into()) }));
    }
    let mut closest: Option<ReceiptCover> = None;
    let mut distance = usize::MAX;
    for receipt in receipts_of(request, store, command, RECEIPTS_MAX)? {
        let differences = count_differences(&receipt.state, state);
        if differences >= distance {
            continue;
        }
        let obstacle = if differences == 0 { obstacle_of(request, store.index, &receipt)? } else { None };
        if differences == 0 && obstacle.is_none() {
            return Ok(Some(ReceiptCover { receipt, obstacle: None }));
        }
        // One with the same state says most, even if it does not count.
        distance = differences.max(1) - usize::from(obstacle.is_some());
        closest = Some(ReceiptCover { receipt, obstacle });
    }
    Ok(closest.map(|cover| {
        let obstacle = cover.obstacle.or_else(|| Some(describe_difference(request, &cover.receipt.state, state)));
        ReceiptCover { receipt: cover.receipt, obstacle }
    }))
}

fn receipts_of(
    request: &Request,
    store: ReceiptStore<'_>,
    command: &CheckedCommand<'_>,
    limit: usize,
) -> Result<Vec<Receipt>, StoreError> {
    let Some(writer) = own_writer(&request.places.state) else { return Ok(Vec::new()) };
    let digest = command.digest(request);
    store.index.list_receipts(store.segments, ReceiptFilter::Command { digest: &digest, writer: &writer }, limit)
}

/// What keeps a receipt of the present state from being reused.
fn obstacle_of(request: &Request, index: &Index, receipt: &Receipt) -> Result<Option<ReuseObstacle>, StoreError> {
    if let Some(why) = age_refusal(request, receipt) {
        return Ok(Some(why.into()));
    }
    let doubt = index.doubt_of_receipt(receipt)?;
    Ok(doubt.map(|doubt| doubt_text(doubt).to_owned().into()))
}

/// Why a receipt is too old, or not old at all.
pub(super) fn age_refusal(request: &Request, receipt: &Receipt) -> Option<String> {
    const DAY_US: u64 = 86_400_000_000;
    let (now, ended_at) = (request.now(), receipt.ended_at);
    let days = request.settings().receipts.days;
    if ended_at.micros_since(now) > FUTURE_US_MAX {
        return Some("it passed in the future: the clock was set back".to_owned());
    }
    let is_old = now.micros_since(ended_at) > days.saturating_mul(DAY_US);
    is_old.then(|| format!("it passed {} (setting `receipts.days` = {days})", ended_at.age_at(now)))
}

fn describe_difference(request: &Request, receipt: &CheckedState, now: &CheckedState) -> ReuseObstacle {
    match find_difference(receipt, now) {
        Some(StateDifference::Tree) => {
            let (files, count) = changed_files(request, &receipt.tree, &now.tree);
            ReuseObstacle { text: changed_files_text(&files, count), files }
        }
        Some(difference) => difference.to_string().into(),
        None => "something changed".to_owned().into(),
    }
}

/// Why no run of the command can have a receipt.
fn refusal_of_command(request: &Request, command: &CheckedCommand<'_>) -> Option<String> {
    let words = || command.argv.iter().map(|word| word.to_string_lossy().into_owned());
    let looks_back = |word: String| HISTORY_COMMANDS.iter().any(|name| word.contains(name));
    let fixed = [
        (command.check.elsewhere, "it runs in a container or on another machine"),
        (!command.check.status_is_own, "its exit code is not the check's own"),
        (fix::has_choosing_option(words()), "it chooses each time what it checks"),
        (words().any(looks_back), "it looks at commits or at what is staged"),
        (has_input(command), "it may read its standard input"),
    ];
    let refusal = fixed.into_iter().find(|(applies, _)| *applies).map(|(_, why)| why.to_owned());
    refusal.or_else(|| {
        path_outside(request, command).map(|path| format!("it reads {}, outside of the work tree", text::path(&path)))
    })
}
